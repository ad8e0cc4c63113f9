//! A few blocks of a launch in place of all: those at the edges of the grid, and two of those between.

/// Blocks that do the same work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Numbers of the blocks that represent them.
    pub blocks: Vec<u64>,
    /// How many there are.
    pub count: u64,
}

/// The classes of a grid of this size: in each direction the first, the last, and those between, which two represent.
pub fn classes(grid: [u32; 3]) -> Vec<Class> {
    let whole = vec![Class { blocks: vec![0], count: 1 }];
    // From z to x, as blocks are numbered.
    grid.into_iter().rev().map(u64::from).fold(whole, |classes, size| {
        classes.iter().flat_map(|class| parts(size).into_iter().map(|part| class.divided(size, &part))).collect()
    })
}

impl Class {
    /// The part of the class in one more direction, which has this size.
    fn divided(&self, size: u64, part: &Self) -> Self {
        let blocks = self.blocks.iter().flat_map(|block| part.blocks.iter().map(move |index| block * size + index));
        Self { blocks: blocks.collect(), count: self.count * part.count }
    }
}

/// Indices that represent all in one direction.
fn parts(size: u64) -> Vec<Class> {
    let of = |blocks: &[u64], count| Class { blocks: blocks.to_vec(), count };
    match size {
        0..=3 => (0..size).map(|index| of(&[index], 1)).collect(),
        _ => vec![of(&[0], 1), of(&[1, 2], size - 2), of(&[size - 1], 1)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_in_one_class() {
        for grid in [[1, 1, 1], [2, 3, 1], [4, 5, 6], [100, 7, 1], [33, 1, 4]] {
            let classes = classes(grid);
            let blocks: u64 = grid.map(u64::from).iter().product();
            assert_eq!(classes.iter().map(|class| class.count).sum::<u64>(), blocks, "{grid:?}");
            let mut seen = std::collections::HashSet::new();
            for class in &classes {
                assert!(!class.blocks.is_empty() && class.blocks.len() as u64 <= class.count, "{class:?}");
                assert!(class.blocks.iter().all(|&block| block < blocks && seen.insert(block)), "{class:?}");
            }
        }
        let four_by_four = classes([4, 4, 1]);
        assert_eq!(four_by_four[4], Class { blocks: vec![5, 6, 9, 10], count: 4 });
    }
}
