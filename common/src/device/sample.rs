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
    let [x, y, z] = grid.map(parts);
    let mut classes = Vec::new();
    for (layers, depth) in &z {
        for (rows, height) in &y {
            for (columns, width) in &x {
                let number = |x: u64, y: u64, z: u64| (z * u64::from(grid[1]) + y) * u64::from(grid[0]) + x;
                let mut blocks = Vec::new();
                for &layer in layers {
                    for &row in rows {
                        blocks.extend(columns.iter().map(|&column| number(column, row, layer)));
                    }
                }
                classes.push(Class { blocks, count: depth * height * width });
            }
        }
    }
    classes
}

/// Indices that represent all in one direction, and how many each group represents.
fn parts(size: u32) -> Vec<(Vec<u64>, u64)> {
    let size = u64::from(size);
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
