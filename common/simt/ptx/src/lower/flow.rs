//! The control flow graph: basic blocks, and the points where diverged lanes meet again.

use super::inst::{NONE, Op};
use super::raw::Raw;
use crate::error::Error;

#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    pub start: u32,
    pub end: u32,
    /// The blocks that may follow.
    pub next: Vec<u32>,
    /// Whether a thread may end here.
    pub exits: bool,
}

pub(super) struct Graph {
    pub blocks: Vec<Block>,
    /// For each instruction, the number of its block.
    pub block_of: Vec<u32>,
    /// For each block, where lanes that diverge at its end meet again. See [`meeting_points`].
    pub meeting: Vec<u32>,
}

/// If the search for meeting points takes more steps than this, the kernel is refused. Compiled kernels take a few steps for each
/// block. Only branches that were tangled on purpose take many.
const MOST_STEPS: u64 = 1 << 28;

impl Graph {
    /// Builds the graph of a kernel.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if its branches are so tangled that the search for meeting points would take too long.
    pub fn new(raws: &[Raw]) -> Result<Self, Error> {
        let (blocks, block_of) = blocks(raws);
        let meeting = meeting_points(&blocks).ok_or_else(|| {
            let line = raws.first().map_or(1, |raw| raw.position.ptx);
            Error::unsupported(line, "", format!("kernels with {} blocks that branch this wildly", blocks.len()))
        })?;
        Ok(Self { blocks, block_of, meeting })
    }
}

/// Splits a kernel into basic blocks, and returns them with the block number of each instruction. A block starts at every branch
/// target and after every branch. A block also starts after each warpgroup instruction, because observers hear of a whole block
/// when it starts, and must not hear of anything beyond that instruction yet.
fn blocks(raws: &[Raw]) -> (Vec<Block>, Vec<u32>) {
    let count = raws.len();
    let mut leader = vec![false; count + 1];
    leader[0] = true;
    for (index, raw) in raws.iter().enumerate() {
        for &target in &raw.targets {
            leader[target as usize] = true;
        }
        if matches!(raw.inst.op, Op::Bra | Op::Brx | Op::Exit | Op::Warpgroup) {
            leader[index + 1] = true;
        }
    }
    let starts: Vec<u32> = (0..count as u32).filter(|&index| leader[index as usize]).collect();
    let mut block_of = vec![0; count];
    let mut blocks = Vec::with_capacity(starts.len());
    for (number, &start) in (0u32..).zip(&starts) {
        let end = starts.get(number as usize + 1).copied().unwrap_or(count as u32);
        block_of[start as usize..end as usize].fill(number);
        blocks.push(Block { start, end, ..Block::default() });
    }
    for number in 0..blocks.len() {
        let last = &raws[blocks[number].end as usize - 1];
        let falls = match last.inst.op {
            Op::Bra | Op::Exit => last.guard.is_some(),
            Op::Brx => false,
            _ => true,
        };
        let mut next: Vec<u32> = last.targets.iter().map(|&target| block_of[target as usize]).collect();
        if falls && number + 1 < blocks.len() {
            next.push(number as u32 + 1);
        }
        next.sort_unstable();
        next.dedup();
        blocks[number].next = next;
        blocks[number].exits = last.inst.op == Op::Exit;
    }
    (blocks, block_of)
}

/// Turns conditional branches to (or around) a bare `ret` into conditional exits. The threads then end at once, as they do on a
/// GPU, and do not wait at the `ret` for the rest of their warp.
pub(super) fn end_early(raws: &mut [Raw]) {
    let bare: Vec<bool> = raws.iter().map(|raw| raw.inst.op == Op::Exit && raw.guard.is_none()).collect();
    let mut targeted = vec![false; raws.len()];
    raws.iter().flat_map(|raw| &raw.targets).for_each(|&target| targeted[target as usize] = true);
    for index in 0..raws.len() {
        let raw = &mut raws[index];
        let (Op::Bra, [target], Some((value, negated))) = (raw.inst.op, &raw.targets[..], raw.guard) else {
            continue;
        };
        if bare[*target as usize] {
            raw.inst.op = Op::Exit;
            raw.targets.clear();
        } else if bare.get(index + 1) == Some(&true) && !targeted[index + 1] {
            // `@p bra L; ret;` becomes `@!p ret; bra L;`.
            let targets = std::mem::take(&mut raw.targets);
            raw.inst.op = Op::Exit;
            raw.guard = Some((value, !negated));
            let next = &mut raws[index + 1];
            next.inst.op = Op::Bra;
            next.targets = targets;
        }
    }
}

/// Returns for each block its immediate post-dominator (the first block that every path from it to the end of the kernel passes),
/// or [`NONE`] if the paths meet only at the end. Returns `None` if the search takes more than [`MOST_STEPS`].
fn meeting_points(blocks: &[Block]) -> Option<Vec<u32>> {
    // Post-dominators are the dominators of the reversed graph. Its root is the end of the kernel, node `count`.
    let count = blocks.len();
    let end = count;
    let mut before: Vec<Vec<usize>> = vec![vec![]; count + 1];
    for (index, block) in blocks.iter().enumerate() {
        for &next in &block.next {
            before[next as usize].push(index);
        }
        if block.exits {
            before[end].push(index);
        }
    }
    // Post-order of the reversed graph. The walk has its own stack, because recursion would overflow in long kernels.
    let mut order = Vec::with_capacity(count + 1);
    let mut number = vec![usize::MAX; count + 1];
    let mut seen = vec![false; count + 1];
    let mut stack = vec![(end, 0)];
    seen[end] = true;
    while let Some((node, child)) = stack.pop() {
        if let Some(&next) = before[node].get(child) {
            stack.push((node, child + 1));
            if !seen[next] {
                seen[next] = true;
                stack.push((next, 0));
            }
        } else {
            number[node] = order.len();
            order.push(node);
        }
    }
    let mut parent = vec![usize::MAX; count + 1];
    parent[end] = end;
    let mut changed = true;
    let mut steps = 0;
    while changed {
        changed = false;
        for &node in order.iter().rev().filter(|&&node| node != end) {
            let block = &blocks[node];
            let successors = block.next.iter().map(|&next| next as usize).chain(block.exits.then_some(end));
            let mut best = usize::MAX;
            for next in successors.filter(|&next| parent[next] != usize::MAX) {
                best = if best == usize::MAX { next } else { meet(&parent, &number, best, next, &mut steps) };
                steps += 1;
            }
            if best != parent[node] {
                parent[node] = best;
                changed = true;
            }
            if steps > MOST_STEPS {
                return None;
            }
        }
    }
    Some((0..count).map(|node| if parent[node] < count { parent[node] as u32 } else { NONE }).collect())
}

fn meet(parent: &[usize], number: &[usize], mut a: usize, mut b: usize, steps: &mut u64) -> usize {
    while a != b {
        let earlier = if number[a] < number[b] { &mut a } else { &mut b };
        *earlier = parent[*earlier];
        *steps += 1;
    }
    a
}
