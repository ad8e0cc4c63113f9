//! What is launched for a product of given sizes, as data: a rule that holds for all sizes, or a list of sizes.

use serde::{Deserialize, Serialize};

/// A size of the product, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// Rows of A and C.
    M,
    /// Columns of B and C.
    N,
    /// Columns of A, rows of B.
    K,
}

/// A number, or one of the sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Amount {
    /// A number.
    Fixed(u32),
    /// A size.
    Size(Side),
}

impl Amount {
    fn of(self, [m, n, k]: [u32; 3]) -> u32 {
        match self {
            Self::Fixed(number) => number,
            Self::Size(Side::M) => m,
            Self::Size(Side::N) => n,
            Self::Size(Side::K) => k,
        }
    }
}

/// One argument of a kernel. Offsets are in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// Matrix A, from this element on.
    A(u64),
    /// Matrix B, from this element on.
    B(u64),
    /// Matrix C, from this element on.
    C(u64),
    /// The scratch memory, from this element on.
    Workspace(u64),
    /// A 32-bit integer.
    Int(i32),
}

/// One launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Name of the kernel.
    pub entry: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// The arguments, in order.
    pub args: Vec<Argument>,
}

/// What is launched for one size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Columns and rows of C per block.
    pub tile: [u32; 2],
    /// Steps of K that one pass of the main loop covers.
    pub tile_k: u32,
    /// Scratch memory, in elements.
    #[serde(default)]
    pub workspace_elements: u64,
    /// The launches, in order.
    pub launches: Vec<Launch>,
}

/// Dynamic shared memory of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Shared {
    /// So many bytes.
    Bytes(u32),
    /// What A and B take together.
    Inputs(Inputs),
}

/// See [`Shared::Inputs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inputs {
    /// A and B.
    Inputs,
}

/// A launch of `matmul(A, B, C, M, N, K)` with a block for each tile of C.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Columns and rows of C per block.
    pub tile: [Amount; 2],
    /// Steps of K that one pass of the main loop covers.
    pub tile_k: Amount,
    /// Threads per block.
    pub block: [Amount; 2],
    /// Dynamic shared memory.
    pub shared: Shared,
    /// What M, N and K must be multiples of.
    pub multiples: [u32; 3],
}

/// The launches of one form of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// The constants that the kernel was compiled with.
    #[serde(default)]
    pub defines: Vec<(String, String)>,
    /// The rule, if one holds for all sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// The sizes that can be run, if no rule holds: M, N, K.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<[u32; 3]>>,
    /// What is launched for each of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub works: Vec<Work>,
}

/// Largest size of the matrices that are explored, but for the sizes that a plan lists.
pub const LARGEST: u32 = 64;

impl Rule {
    /// What is launched.
    pub fn work(&self, size: [u32; 3]) -> Work {
        let [m, n, k] = size;
        let tile = self.tile.map(|amount| amount.of(size).max(1));
        let shared_bytes = match self.shared {
            Shared::Bytes(bytes) => bytes,
            Shared::Inputs(_) => 4 * (m * k + k * n),
        };
        let sizes = size.map(|size| Argument::Int(size as i32));
        let args = [&[Argument::A(0), Argument::B(0), Argument::C(0)][..], &sizes].concat();
        let [x, y] = self.block.map(|amount| amount.of(size));
        let grid = [n.div_ceil(tile[0]), m.div_ceil(tile[1]), 1];
        let launch = Launch { entry: "matmul".into(), grid, block: [x, y, 1], shared_bytes, args };
        Work { tile, tile_k: self.tile_k.of(size).max(1), workspace_elements: 0, launches: vec![launch] }
    }
}

impl Plan {
    /// What is launched for a product of these sizes; the error says why it cannot be.
    pub fn work(&self, size: [u32; 3]) -> Result<Work, String> {
        let [m, n, k] = size;
        let listed = self.sizes.iter().flatten().any(|known| *known == size);
        if !listed && size.iter().any(|&side| side == 0 || side > LARGEST) {
            return Err(format!("{m}×{n}×{k} cannot be explored; choose M, N and K from 1 to {LARGEST}"));
        }
        if let Some(rule) = &self.rule {
            let sides = [("M", m), ("N", n), ("K", k)].into_iter().zip(rule.multiples);
            for ((name, side), multiple) in sides.filter(|&(_, multiple)| multiple > 1) {
                if side % multiple != 0 {
                    return Err(format!(
                        "this kernel takes {name} that is a multiple of {multiple}, and {side} is not; choose another size or kernel"
                    ));
                }
            }
            let work = rule.work(size);
            let threads: u32 = work.launches.iter().map(|launch| launch.block.iter().product()).max().unwrap_or(0);
            if threads > 1024 {
                return Err(format!(
                    "this kernel computes C in one block, and a block has at most 1024 threads, not {threads}; choose M×N up to 1024"
                ));
            }
            return Ok(work);
        }
        let at = self.sizes.iter().flatten().position(|known| *known == size);
        at.and_then(|at| self.works.get(at)).cloned().ok_or_else(|| {
            let known: Vec<String> =
                self.sizes.iter().flatten().take(8).map(|[m, n, k]| format!("{m}×{n}×{k}")).collect();
            match known.as_slice() {
                [] => "this kernel has no launch that is known here; choose another kernel".to_owned(),
                known => format!("this kernel is not packed for {m}×{n}×{k}; choose {}", known.join(", ")),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(tile: Amount, multiples: [u32; 3]) -> Plan {
        let rule = Rule { tile: [tile; 2], tile_k: tile, block: [tile; 2], shared: Shared::Bytes(0), multiples };
        Plan { rule: Some(rule), ..Plan::default() }
    }

    #[test]
    fn a_rule_gives_a_block_for_each_tile() {
        let work = rule(Amount::Fixed(16), [1; 3]).work([33, 64, 5]).unwrap();
        assert_eq!((work.launches[0].grid, work.launches[0].block, work.tile), ([4, 3, 1], [16, 16, 1], [16, 16]));
        assert_eq!(work.launches[0].args[3..], [33, 64, 5].map(Argument::Int));
    }

    #[test]
    fn a_size_that_does_not_fit_is_refused_with_what_does() {
        let error = |plan: &Plan, size| plan.work(size).unwrap_err();
        let plan = rule(Amount::Fixed(32), [32, 1, 1]);
        assert!(error(&plan, [33, 32, 32]).contains("M that is a multiple of 32"));
        assert!(error(&plan, [65, 1, 1]).contains("from 1 to 64"));
        assert!(error(&plan, [32, 0, 1]).contains("from 1 to 64"));
        assert!(error(&rule(Amount::Size(Side::M), [1; 3]), [64, 64, 1]).contains("at most 1024 threads"));
        let table = Plan { sizes: Some(vec![[8, 8, 8]]), works: vec![], ..Plan::default() };
        assert!(error(&table, [8, 8, 9]).contains("choose 8×8×8"));
        let long = Plan { sizes: Some(vec![[64, 128, 64]]), ..table };
        assert!(error(&long, [64, 128, 32]).contains("from 1 to 64"));
        assert!(error(&long, [64, 128, 64]).contains("not packed"));
        assert!(error(&Plan::default(), [8, 8, 8]).contains("no launch"));
    }

    #[test]
    fn a_plan_is_the_same_as_data() {
        let plan = Plan {
            defines: vec![("TILE".into(), "32".into())],
            rule: Some(Rule {
                tile: [Amount::Size(Side::N), Amount::Fixed(4)],
                tile_k: Amount::Fixed(1),
                block: [Amount::Size(Side::N), Amount::Size(Side::M)],
                shared: Shared::Inputs(Inputs::Inputs),
                multiples: [1, 1, 4],
            }),
            ..Plan::default()
        };
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan, "{text}");
    }
}
