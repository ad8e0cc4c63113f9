//! A few blocks of a launch in place of all: those at the edges of the grid, and two of those between.

/// Blocks that do the same work: the numbers of those that represent them, and how many there are.
pub type Class = (Vec<u64>, u64);

/// The classes of a grid of this size: in each direction the first, the last, and those between, which two represent.
pub fn classes(grid: [u32; 3]) -> Vec<Class> {
    // From z to x, as blocks are numbered.
    grid.into_iter().rev().map(u64::from).fold(vec![(vec![0], 1)], |classes, size| {
        let part_of = |(blocks, count): &Class, (indices, part): Class| {
            let numbers = blocks.iter().flat_map(|block| indices.iter().map(move |index| block * size + index));
            (numbers.collect(), count * part)
        };
        classes.iter().flat_map(|class| parts(size).into_iter().map(|part| part_of(class, part))).collect()
    })
}

/// Indices that represent all in one direction.
fn parts(size: u64) -> Vec<Class> {
    match size {
        0..=3 => (0..size).map(|index| (vec![index], 1)).collect(),
        _ => vec![(vec![0], 1), (vec![1, 2], size - 2), (vec![size - 1], 1)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_in_one_class() {
        for grid in [[1, 1, 1], [2, 3, 1], [4, 5, 6], [100, 7, 1], [33, 1, 4]] {
            let classes = classes(grid);
            let all: u64 = grid.map(u64::from).iter().product();
            assert_eq!(classes.iter().map(|(_, count)| count).sum::<u64>(), all, "{grid:?}");
            let mut seen = std::collections::HashSet::new();
            for (blocks, count) in &classes {
                assert!(!blocks.is_empty() && blocks.len() as u64 <= *count, "{blocks:?}");
                assert!(blocks.iter().all(|&block| block < all && seen.insert(block)), "{blocks:?}");
            }
        }
        assert_eq!(classes([4, 4, 1])[4], (vec![5, 6, 9, 10], 4));
    }
}
