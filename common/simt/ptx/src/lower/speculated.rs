//! Loads whose value may be dropped, and loops that a thread leaves.
//!
//! Compilers load a value before they know whether it is needed, and choose later (`selp`), or use it only behind a branch. What races
//! with such a load does no harm if the value is dropped. Here are the loads for which that can happen: no instruction that certainly
//! follows needs the value, and what is computed from it before the choice is used nowhere else.

use super::code::{Code, Flow};
use super::flow::Graph;
use super::follow::flow;
use super::inst::{NONE, Op, Shape};
use super::raw::{Decoded, Effect, Raw};

/// The most instructions that are looked at for one load. If there are more, its value counts as needed.
const MOST: usize = 64;

fn loads(op: Op) -> bool {
    matches!(op, Op::LdShared | Op::LdGlobal | Op::LdGeneric)
}

/// Returns for each instruction whether it is a load whose value may be dropped.
pub(super) fn speculated(decoded: &Decoded, graph: &Graph) -> Vec<bool> {
    let effects: Vec<Effect> = decoded.raws.iter().map(Raw::effect).collect();
    let mut users = vec![vec![]; decoded.values.len()];
    for (index, effect) in effects.iter().enumerate() {
        effect.uses.iter().for_each(|&value| users[value as usize].push(index));
    }
    let dropped =
        |(index, raw): (usize, &Raw)| loads(raw.inst.op) && !is_needed(decoded, graph, &effects, &users, index);
    decoded.raws.iter().enumerate().map(dropped).collect()
}

/// Returns for each load the elements that no instruction reads, one bit for each.
pub(super) fn unread(decoded: &Decoded) -> Vec<u8> {
    let mut read = vec![false; decoded.values.len()];
    for effect in decoded.raws.iter().map(Raw::effect) {
        effect.uses.into_iter().for_each(|value| read[value as usize] = true);
    }
    let unread = |raw: &Raw| {
        let parts = raw.inst.data().into_iter().take(Shape::unpack(raw.inst.sub).count as usize);
        let parts = (0..).zip(parts).filter(|(_, value)| *value == NONE || !read[*value as usize]);
        if loads(raw.inst.op) { parts.fold(0, |bits, (part, _)| bits | 1 << part) } else { 0 }
    };
    decoded.raws.iter().map(unread).collect()
}

/// Whether an instruction that certainly follows needs what a load puts into its registers.
fn is_needed(decoded: &Decoded, graph: &Graph, effects: &[Effect], users: &[Vec<usize>], load: usize) -> bool {
    let home = graph.block_of[load];
    let follows = |block: u32| {
        let later = std::iter::successors(Some(home), |&at| Some(graph.meeting[at as usize]).filter(|&at| at != NONE));
        later.take(MOST).any(|at| at == block)
    };
    let mut known = effects[load].defs.clone();
    let mut next = 0;
    while let Some(&value) = known.get(next) {
        next += 1;
        for &user in &users[value as usize] {
            let raw = &decoded.raws[user];
            if user == load || raw.guard.is_some_and(|(guard, _)| guard != value) || !follows(graph.block_of[user]) {
                // Compilers do not compute much ahead of a condition.
                if next > effects[load].defs.len() {
                    return true;
                }
                continue;
            }
            match flow(&raw.inst, &decoded.code) {
                Flow::Select | Flow::Both { .. } | Flow::Compare { .. } => {}
                Flow::Decides => return true,
                _ => {
                    let new = effects[user].defs.iter().filter(|&value| !known.contains(value));
                    let new: Vec<u32> = new.copied().collect();
                    known.extend(new);
                }
            }
            if known.len() > MOST {
                return true;
            }
        }
    }
    false
}

/// Returns for each basic block the number of the loop that it is in, or [`NONE`]. Blocks that reach each other are in one loop.
pub(super) fn loops(graph: &Graph) -> Vec<u32> {
    let count = graph.blocks.len();
    let (mut number, mut low) = (vec![NONE; count], vec![NONE; count]);
    let mut found = vec![NONE; count];
    let (mut open, mut is_open, mut order) = (vec![], vec![false; count], 0);
    for root in 0..count {
        let mut path = if number[root] == NONE { vec![(root, 0)] } else { vec![] };
        while let Some((block, child)) = path.pop() {
            if child == 0 {
                (number[block], low[block]) = (order, order);
                order += 1;
                open.push(block);
                is_open[block] = true;
            } else {
                let last = graph.blocks[block].next[child - 1] as usize;
                if is_open[last] {
                    low[block] = low[block].min(low[last]);
                }
            }
            match graph.blocks[block].next.get(child) {
                Some(&next) => {
                    path.push((block, child + 1));
                    if number[next as usize] == NONE {
                        path.push((next as usize, 0));
                    }
                }
                None if low[block] == number[block] => {
                    let start = open.iter().rposition(|&one| one == block).unwrap_or(0);
                    let members = open.split_off(start);
                    let circle = members.len() > 1 || graph.blocks[block].next.contains(&(block as u32));
                    for member in members {
                        is_open[member] = false;
                        found[member] = if circle { block as u32 } else { NONE };
                    }
                }
                None => {}
            }
        }
    }
    found
}

impl Code {
    /// Whether a branch may leave a loop that an instruction is in.
    pub fn leaves_loop(&self, branch: u32, instruction: u32) -> bool {
        let block = |at: u32| self.blocks.partition_point(|block| block.end <= at);
        let of = |at: u32| self.loops.get(block(at)).copied().unwrap_or(NONE);
        of(instruction) != NONE
            && of(branch) == of(instruction)
            && self.leave.get(block(branch)).copied().unwrap_or(false)
    }
}
