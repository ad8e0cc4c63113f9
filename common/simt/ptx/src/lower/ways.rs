//! The ways around barriers of all threads of a block.

use super::code::Way;
use super::flow::Graph;
use super::inst::{NONE, Op};
use super::raw::Raw;

/// If the search takes more steps, the ways that were found so far are all. Compiled kernels take a few steps for each block.
const MOST_STEPS: usize = 1 << 22;

/// Returns the ways around barriers without a number of threads. A way on which nothing follows but the end of the kernel is left
/// out: whoever takes it has ended, as far as others can tell.
pub(super) fn ways(raws: &[Raw], graph: &Graph) -> Vec<Way> {
    let whole = |raw: &Raw| matches!(raw.inst.op, Op::Bar | Op::BarRed) && raw.inst.b == NONE;
    let blocks = &graph.blocks;
    let range = |block: usize| &raws[blocks[block].start as usize..blocks[block].end as usize];
    let waits: Vec<bool> = (0..blocks.len()).map(|block| range(block).iter().any(whole)).collect();
    let mut found = vec![];
    let mut steps = 0;
    if !waits.contains(&true) {
        return found;
    }
    let ends = |block: usize| matches!(range(block), [raw] if raw.inst.op == Op::Exit && raw.guard.is_none());
    for branch in 0..blocks.len() {
        let meeting = graph.meeting[branch];
        if blocks[branch].next.len() < 2 || meeting == NONE || ends(meeting as usize) {
            continue;
        }
        let mut seen = vec![false; blocks.len()];
        steps += blocks.len() / 64;
        let mut ahead = blocks[branch].next.clone();
        while let Some(block) = ahead.pop() {
            if block == meeting || std::mem::replace(&mut seen[block as usize], true) {
                continue;
            }
            if waits[block as usize] {
                found.push(Way { branch: branch as u32, barrier: block, meeting });
            }
            ahead.extend(&blocks[block as usize].next);
            steps += blocks[block as usize].next.len();
        }
        if steps > MOST_STEPS {
            break;
        }
    }
    found
}
