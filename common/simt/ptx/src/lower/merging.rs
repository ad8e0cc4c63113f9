//! Finds loads and stores of shared memory that the assembler merges.
//!
//! The assembler (`ptxas`) merges neighbouring accesses of a thread into one of 8 or 16 bytes, which then takes other passes
//! through shared memory than the PTX shows. Its rules were found by experiment (`tests/counters/merging.txt` of `simt`), and are the
//! same in versions 12.1 and 13.0:
//!
//! - Accesses are merged only if they are in one basic block, have elements of 4 or 8 bytes, are not `volatile`, and have addresses
//!   that are one register plus constants. The merged access must certainly be aligned: see [`super::linear`].
//! - Loads are merged unless an instruction between them may write to shared memory or waits for other threads. In 16 aligned
//!   bytes, three or four words become one load of 16 bytes, even with a gap. Two words become one load of 8 bytes if they
//!   fill an aligned half.
//! - Stores are merged only if no other instruction between them accesses shared memory, and only if they leave no gap.

use super::code::Merged;
use super::flow::Block;
use super::inst::{Op, Shape};
use super::linear::Sums;
use super::raw::{Decoded, Raw};
use crate::place::Space;
use std::collections::HashMap;

const WIDEST: i64 = 16;

struct Access {
    number: u32,
    window: Window,
    /// Position in the window, and size, in bytes.
    start: i64,
    bytes: i64,
}

/// The aligned bytes around an access. Only accesses with the same element size are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Window {
    base: u32,
    start: i64,
    bytes: i64,
    element: u32,
}

/// Returns for each instruction how the assembler merges it.
pub(super) fn merged(decoded: &Decoded, blocks: &[Block]) -> Vec<Merged> {
    let mut merged = vec![Merged::Alone; decoded.raws.len()];
    let accesses = decoded.raws.iter().filter(|raw| matches!(raw.inst.op, Op::LdShared | Op::StShared)).count();
    if accesses < 2 {
        return merged;
    }
    let mut sums = Sums::new(decoded);
    for (block, range) in (0u32..).zip(blocks).map(|(number, block)| (number, block.start..block.end)) {
        sums.block = block;
        let mut loads: HashMap<Window, Vec<Access>> = HashMap::new();
        let mut stores: Vec<Access> = vec![];
        for number in range {
            let raw = &decoded.raws[number as usize];
            let op = raw.inst.op;
            if may_write_shared(decoded, raw) || waits(raw) {
                for (_, loads) in loads.drain() {
                    join(&loads, true, &mut merged);
                }
            }
            let access = access(&mut sums, number, raw);
            let same_window = matches!((&access, stores.first()), (Some(a), Some(b)) if a.window == b.window);
            let shared = op == Op::LdShared || may_write_shared(decoded, raw);
            if waits(raw) || shared && !(op == Op::StShared && same_window) {
                join(&std::mem::take(&mut stores), false, &mut merged);
            }
            match access {
                Some(access) if op == Op::LdShared => loads.entry(access.window).or_default().push(access),
                Some(access) => stores.push(access),
                None => {}
            }
            sums.pass(number, raw);
        }
        for (_, loads) in loads.drain() {
            join(&loads, true, &mut merged);
        }
        join(&stores, false, &mut merged);
    }
    merged
}

fn may_write_shared(decoded: &Decoded, raw: &Raw) -> bool {
    match raw.inst.op {
        Op::StShared | Op::StGeneric | Op::CopyAsync => true,
        Op::Atom => decoded.code.atomics[raw.inst.imm as usize].space != Space::Global,
        _ => false,
    }
}

fn waits(raw: &Raw) -> bool {
    match raw.inst.op {
        Op::Bar | Op::BarRed | Op::Fence | Op::CopyWait | Op::CopyWaitAll => true,
        // A shuffle or vote does not count, because its lanes exchange registers only.
        Op::WarpSync => raw.inst.imm == 0,
        _ => false,
    }
}

/// Returns the load or store of shared memory if it may be merged with others.
fn access(sums: &mut Sums<'_>, number: u32, raw: &Raw) -> Option<Access> {
    let shape = Shape::unpack(raw.inst.sub);
    let shared = matches!(raw.inst.op, Op::LdShared | Op::StShared);
    if !shared || raw.order.is_strong() || raw.guard.is_some() || shape.bytes < 4 {
        return None;
    }
    let sum = sums.of(raw.inst.a);
    let place = sum.offset.wrapping_add(i64::from(raw.inst.imm));
    let (size, bytes) = (i64::from(sums.alignment(sum)), i64::from(shape.bytes * shape.count));
    if bytes > size || place.rem_euclid(bytes) != 0 {
        return None;
    }
    let start = place.rem_euclid(size);
    let window = Window { base: sum.base, start: place.wrapping_sub(start), bytes: size, element: shape.bytes };
    Some(Access { number, window, start, bytes })
}

/// Merges the accesses of a window: all of them if possible, else those of each half.
fn join(accesses: &[Access], loads: bool, merged: &mut [Merged]) {
    let Some(first) = accesses.first() else { return };
    let mut pieces = vec![(0, first.window.bytes)];
    while let Some((start, bytes)) = pieces.pop() {
        let inside = |access: &&Access| (start..start + bytes).contains(&access.start);
        let mut words = [false; WIDEST as usize / 4];
        for access in accesses.iter().filter(inside) {
            words[(access.start / 4) as usize..][..(access.bytes / 4) as usize].fill(true);
        }
        let wanted = 4 * words.iter().filter(|&&word| word).count() as i64;
        // A wide load may read words that nobody wants, but a store must write nothing else.
        let goes_wide = if loads { 2 * wanted > bytes } else { wanted == bytes };
        if wanted > 0 && !goes_wide {
            pieces.extend([(start, bytes / 2), (start + bytes / 2, bytes / 2)]);
            continue;
        }
        let mut inside = accesses.iter().filter(inside);
        let Some(leader) = inside.next() else { continue };
        if leader.bytes != bytes {
            merged[leader.number as usize] = Merged::Leads { bytes: bytes as u8, before: (leader.start - start) as u8 };
        }
        inside.for_each(|access| merged[access.number as usize] = Merged::Joins);
    }
}
