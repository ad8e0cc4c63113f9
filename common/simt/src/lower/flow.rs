//! The flow graph: basic blocks, and where diverged lanes meet again.

use super::NONE;

/// How a block ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    pub start: u32,
    pub end: u32,
    /// Following blocks.
    pub next: Vec<u32>,
    /// May end the thread.
    pub exits: bool,
}

/// For each block the first block that every path from it to the end of the kernel passes (its immediate
/// post-dominator), or [`NONE`] when paths only meet at the end.
pub(crate) fn meeting_points(blocks: &[Block]) -> Vec<u32> {
    // Post-dominators are the dominators of the reversed graph, whose root is the end of the kernel: node `count`.
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
    // Order of the reversed graph, by a walk with its own stack: recursion would overflow on long kernels.
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
    while changed {
        changed = false;
        for &node in order.iter().rev().filter(|&&node| node != end) {
            let block = &blocks[node];
            let successors = block.next.iter().map(|&next| next as usize).chain(block.exits.then_some(end));
            let mut best = usize::MAX;
            for next in successors.filter(|&next| parent[next] != usize::MAX) {
                best = if best == usize::MAX { next } else { meet(&parent, &number, best, next) };
            }
            if best != parent[node] {
                parent[node] = best;
                changed = true;
            }
        }
    }
    (0..count).map(|node| if parent[node] < count { parent[node] as u32 } else { NONE }).collect()
}

fn meet(parent: &[usize], number: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while number[a] < number[b] {
            a = parent[a];
        }
        while number[b] < number[a] {
            b = parent[b];
        }
    }
    a
}
