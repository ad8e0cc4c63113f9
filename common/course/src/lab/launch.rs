//! The launch that a learner's kernel asks for itself, in a comment.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, bail, ensure};
use common::{Dtype, Plan, Problem, Specialisation};

/// The launch that the learner asks for in a line of the kernel: `// launch: block 32,4 tile 32,32 shared 4096`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnLaunch {
    /// Threads per block in x and y.
    pub block: [u32; 2],
    /// Columns and rows of C per block.
    pub tile: [u32; 2],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
}

impl OwnLaunch {
    /// Reads it from a kernel; `None` if it has no such line.
    pub fn read(source: &str) -> Result<Option<Self>> {
        let Some((number, line)) = source
            .lines()
            .enumerate()
            .find_map(|(number, line)| Some((number + 1, line.trim().strip_prefix("// launch:")?)))
        else {
            return Ok(None);
        };
        let example = "write for example // launch: block 32,4 tile 32,32 shared 0";
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut values = BTreeMap::new();
        for pair in words.chunks(2) {
            let [name, value] = pair else { bail!("line {number} is not a launch; {example}") };
            let numbers: Option<Vec<u32>> = value.split(',').map(|number| number.parse().ok()).collect();
            let numbers = numbers.with_context(|| {
                format!("line {number} is not a launch: {value:?} is not made of whole numbers; {example}")
            })?;
            values.insert(*name, numbers);
        }
        let unknown = values.keys().find(|name| !["block", "tile", "shared"].contains(name));
        ensure!(unknown.is_none(), "line {number} is not a launch: {:?} is unknown; {example}", unknown.unwrap_or(&""));
        let pair = |name: &str| match values.get(name).map(Vec::as_slice) {
            Some(&[x, y]) if x > 0 && y > 0 => Ok(Some([x, y])),
            None => Ok(None),
            _ => bail!("line {number} is not a launch: {name} takes two numbers from 1 on; {example}"),
        };
        let block =
            pair("block")?.with_context(|| format!("line {number} is not a launch: block is missing; {example}"))?;
        let shared = match values.get("shared").map(Vec::as_slice) {
            None => 0,
            Some(&[bytes]) => bytes,
            _ => bail!("line {number} is not a launch: shared takes one number; {example}"),
        };
        Ok(Some(Self { block, tile: pair("tile")?.unwrap_or(block), shared }))
    }
}

/// The plan by which a kernel runs: the step's own, or, if the kernel asks for a launch, that launch with the step's
/// constants.
pub fn plan(launch: Option<OwnLaunch>, own: Result<Plan, String>, problem: &Problem) -> Result<Plan> {
    let Some(launch) = launch else { return own.map_err(|error| anyhow!("{error}")) };
    // A step that cannot do the size says nothing of its constants.
    let (specialisation, tile_k) =
        own.map_or_else(|_| (Specialisation::single(Dtype::F32, &[]), 1), |own| (own.specialisation, own.tile_k));
    let plan = Plan::tiled(problem, specialisation, launch.block, launch.tile);
    Ok(plan.with_tile_k(tile_k).with_shared_bytes(launch.shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_is_read_from_a_comment() {
        let launch = OwnLaunch::read("// x\n  // launch: block 32,4 tile 32,64 shared 128\n").unwrap();
        assert_eq!(launch, Some(OwnLaunch { block: [32, 4], tile: [32, 64], shared: 128 }));
        let launch = OwnLaunch::read("// launch: block 8,8").unwrap();
        assert_eq!(launch, Some(OwnLaunch { block: [8, 8], tile: [8, 8], shared: 0 }));
        assert_eq!(OwnLaunch::read("int x;").unwrap(), None);
        for wrong in
            ["block", "block 8", "block 8,x", "tile 8,8", "block 0,8", "block 8,8 size 3,3", "block 8,8 shared 1,2"]
        {
            let error = OwnLaunch::read(&format!("// launch: {wrong}")).unwrap_err().to_string();
            assert!(error.contains("line 1 is not a launch") && error.contains("; write"), "{wrong}: {error}");
        }
    }
}
