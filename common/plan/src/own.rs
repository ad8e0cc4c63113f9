//! The launch that a learner asks for, with `--block`, `--tile` and `--shared` or in a comment of the kernel, and the constants
//! that their kernel defines itself.

use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};

use crate::plan::{Plan, Specialisation};
use crate::problem::Problem;

/// What the learner says about the launch. Everything else is as the step plans it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnLaunch {
    /// Threads per block in x and y.
    pub block: Option<[u32; 2]>,
    /// Columns and rows of C per block.
    pub tile: Option<[u32; 2]>,
    /// Dynamic shared memory in bytes.
    pub shared: Option<u32>,
}

/// Threads of a block if neither the learner nor the step chooses them.
const BLOCK: [u32; 2] = [32, 32];

impl OwnLaunch {
    /// Returns the launch that a learner's file asks for, in a line such as `// launch: block 32,4 tile 32,32 shared 4096`. Without
    /// such a line, nothing is chosen. The error names file and line.
    pub fn of(file: &str, text: &str) -> Result<Self> {
        let mut lines = (1..).zip(text.lines().map(str::trim));
        let found = lines
            .find_map(|(number, line)| Some((number, line.strip_prefix("//")?.trim_start().strip_prefix("launch:")?)));
        let Some((number, line)) = found else { return Ok(Self::default()) };
        let example = "write for example // launch: block 32,4 tile 32,32 shared 0";
        let wrong = |why: &str| anyhow!("{file}: line {number} is not a launch{why}; {example}");
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut launch = Self::default();
        for pair in words.chunks(2) {
            let [name, value] = pair else { return Err(wrong("")) };
            let numbers: Option<Vec<u32>> = value.split(',').map(|number| number.parse().ok()).collect();
            match (*name, &numbers.ok_or_else(|| wrong(&format!(": {value:?} is no number")))?[..]) {
                ("block", &[x, y]) if x > 0 && y > 0 => launch.block = Some([x, y]),
                ("tile", &[x, y]) if x > 0 && y > 0 => launch.tile = Some([x, y]),
                ("shared", &[bytes]) => launch.shared = Some(bytes),
                ("block" | "tile", _) => return Err(wrong(&format!(": {name} takes two numbers from 1 on"))),
                ("shared", _) => return Err(wrong(": shared takes one number")),
                _ => return Err(wrong(&format!(": {name:?} is unknown"))),
            }
        }
        if launch.block.is_none() { Err(wrong(": block is missing")) } else { Ok(launch) }
    }

    /// Combines two launches: what this one does not choose is as in the other one.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { block: self.block.or(other.block), tile: self.tile.or(other.tile), shared: self.shared.or(other.shared) }
    }

    /// Returns the step's plan for a learner's file with this text, changed as the learner asks.
    ///
    /// If the step refuses the problem, for example because it runs only one block, the learner's kernel may still be able to solve
    /// it. So the refusal counts only if the learner chooses neither a block nor a tile.
    pub fn plan<E>(&self, text: &str, problem: &Problem, steps: Result<Plan, E>) -> Result<Plan, E> {
        let mut plan = if self.block.or(self.tile).is_none() {
            steps?
        } else {
            let single = || Specialisation::single(problem.dtype, &[]);
            let steps = steps.unwrap_or_else(|_| Plan::tiled(problem, single(), BLOCK, BLOCK));
            let steps_block = steps.launches.first().map_or(BLOCK, |launch| [launch.block[0], launch.block[1]]);
            let block = self.block.unwrap_or(steps_block);
            let tile = self.tile.unwrap_or(block);
            Plan::tiled(problem, steps.specialisation, block, tile).with_tile_k(steps.tile_k)
        };
        if let Some(bytes) = self.shared {
            plan = plan.with_shared_bytes(bytes);
        }
        plan.specialisation.defines.retain(|(name, _)| !sets(text, name));
        Ok(plan)
    }
}

/// Whether a source defines a constant itself, by `#define NAME`, `#undef NAME` or `NAME =`. For example, `constexpr int TILE_M =
/// 64;` would not compile if the host defined `TILE_M`, too.
fn sets(source: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    source.lines().map(|line| line.split("//").next().unwrap_or("")).any(|line| {
        line.match_indices(name).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + name.len()..]);
            let whole = !before.ends_with(is_word) && !after.starts_with(is_word);
            let after = after.trim_start();
            let assigned = after.starts_with('=') && !after.starts_with("==");
            let directive = matches!(before.trim().replace("# ", "#").as_str(), "#define" | "#undef");
            whole && (assigned || directive)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Dtype, Fill};

    const PROBLEM: Problem = Problem { m: 100, n: 70, k: 30, dtype: Dtype::I32, fill: Fill::Uniform, seed: 1 };

    fn steps() -> Plan {
        let specialisation = Specialisation::named("large", Dtype::I32, &[("TILE", 64)]);
        Plan::tiled(&PROBLEM, specialisation, [16, 8], [64, 32]).with_tile_k(4).with_shared_bytes(512)
    }

    #[test]
    fn a_launch_is_read_from_a_comment() {
        let read = |text: &str| OwnLaunch::of("k.cu", text);
        let launch = read("// x\n  // launch: block 32,4 tile 32,64 shared 128\n").unwrap();
        assert_eq!(launch, OwnLaunch { block: Some([32, 4]), tile: Some([32, 64]), shared: Some(128) });
        // Spaces do not matter.
        for line in ["// launch: block 8,8", "//launch: block 8,8"] {
            assert_eq!(read(line).unwrap(), OwnLaunch { block: Some([8, 8]), tile: None, shared: None });
        }
        assert_eq!(read("int x;").unwrap(), OwnLaunch::default());
        for wrong in
            ["block", "block 8", "block 8,x", "tile 8,8", "block 0,8", "block 8,8 size 3,3", "block 8,8 shared 1,2"]
        {
            let error = read(&format!("// launch: {wrong}")).unwrap_err().to_string();
            assert!(error.starts_with("k.cu: line 1 is not a launch") && error.contains("; write"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_constant_that_the_file_sets_is_not_given_again() {
        let given = |source: &str| {
            let steps = Specialisation::single(Dtype::F32, &[("TILE_M", 64), ("TILE", 32)]);
            let steps = Plan::tiled(&PROBLEM, steps, [32, 32], [64, 64]);
            let plan = OwnLaunch::default().plan(source, &PROBLEM, Ok::<_, ()>(steps)).unwrap();
            let names = plan.specialisation.defines.into_iter().map(|(name, _)| name);
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(given("constexpr int ROWS = TILE_M / TILE; if (x == TILE_M) y = TILE;"), "TILE_M TILE");
        assert_eq!(given("constexpr int TILE_M = 128, TILE_N = 64;"), "TILE");
        assert_eq!(given("#define TILE 16"), "TILE_M");
        assert_eq!(given("  # define TILE 16\n#undef TILE_M"), "");
        assert_eq!(given("// TILE = 16\nif (TILE == 3 || MY_TILE_M = 4) TILE_MORE = 3;"), "TILE_M TILE");
    }

    #[test]
    fn what_is_not_said_is_the_steps() {
        let asked = |block, tile, shared| OwnLaunch { block, tile, shared };
        let planned = |launch: OwnLaunch| launch.plan("", &PROBLEM, Ok::<_, ()>(steps())).unwrap();
        assert_eq!(planned(asked(None, None, None)), steps());
        assert_eq!(planned(asked(None, None, Some(64))), steps().with_shared_bytes(64));
        // Without a tile, the block's size is the tile.
        for (launch, tile, block, grid, shared) in [
            (asked(None, Some([20, 10]), None), [20, 10], [16, 8, 1], [4, 10, 1], 0),
            (asked(Some([8, 4]), None, Some(32)), [8, 4], [8, 4, 1], [9, 25, 1], 32),
        ] {
            let plan = planned(launch);
            let first = &plan.launches[0];
            assert_eq!((plan.tile, first.block, first.grid), (tile, block, grid));
            assert_eq!((plan.tile_k, first.shared_bytes), (4, shared));
            assert_eq!(plan.specialisation, steps().specialisation);
        }
        // The step's refusal counts only if neither a block nor a tile is chosen.
        let refused = |launch: OwnLaunch| launch.plan("", &PROBLEM, Err("one block only"));
        assert_eq!(refused(asked(None, None, None)), Err("one block only"));
        assert_eq!(refused(asked(None, None, Some(64))), Err("one block only"));
        let plan = refused(asked(None, Some([10, 10]), None)).unwrap();
        assert_eq!((plan.launches[0].block, plan.tile, plan.tile_k), ([32, 32, 1], [10, 10], 1));
        assert_eq!(plan.specialisation, Specialisation::single(Dtype::I32, &[]));
    }
}
