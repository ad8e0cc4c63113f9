//! The cost of memory requests: sectors of global memory, and passes through shared memory, both as numbers and one by one.
//! The rules were derived from readings of an H100 (`tests/counters`).

use crate::lanes::select;
use crate::observe::{Access, CopyAccess};
use crate::{AccessKind, Kernel};
use ptx::lower::Merged;
use std::collections::BTreeMap;
use std::ops::Range;

pub(super) fn each(lanes: u32, range: Range<usize>) -> impl Iterator<Item = usize> + Clone {
    range.filter(move |lane| lanes >> lane & 1 != 0)
}

/// Returns each number once, in increasing order.
fn distinct(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// How many lines of the first-level cache are looked up in one pass.
pub(super) const LINES: u32 = 4;

/// Returns how many 32-byte sectors and 128-byte lines a request to global memory touches.
pub(super) fn sectors_and_lines(lanes: u32, addresses: &[u64; 32]) -> (u32, u32) {
    // An aligned access of up to 16 bytes lies in one sector.
    let touched = distinct(each(lanes, 0..32).map(|lane| addresses[lane] / 32));
    let lines = touched.chunk_by(|one, next| one / 4 == next / 4).count();
    (touched.len() as u32, lines as u32)
}

/// Returns the sectors of an asynchronous copy. A copy through the first-level cache counts as a load does. A copy past it counts once
/// for each pair of a 128-byte line of global memory and 32 bytes of shared memory between which it moves data.
pub(super) fn copy_sectors(lanes: u32, copy: &CopyAccess<'_>) -> u32 {
    if !copy.bypass {
        return sectors_and_lines(lanes, copy.from).0;
    }
    distinct(each(lanes, 0..32).map(|lane| ((copy.from[lane] / 128) << 16) | (copy.to[lane] / 32))).len() as u32
}

/// Returns the passes that these words take together: the number of words in the bank that holds most of them.
fn bank_passes(words: impl IntoIterator<Item = u64>) -> u32 {
    let mut banks = [0u32; 32];
    words.into_iter().for_each(|word| banks[(word % 32) as usize] += 1);
    banks.into_iter().max().unwrap_or(0)
}

/// Whether all neighbouring lanes of the range (or all lanes two apart) share their address, so that the two parts of a wide
/// load can go together. `alone` says whether a lane counts as sharing when its neighbour is inactive.
fn sharing(lanes: u32, addresses: &[u64; 32], range: Range<usize>, alone: bool) -> bool {
    [1, 2].into_iter().any(|apart| {
        each(lanes, range.clone()).all(|lane| {
            let other = lane ^ apart;
            if lanes >> other & 1 == 0 { alone } else { addresses[lane] == addresses[other] }
        })
    })
}

/// Whether all active lanes have the same address.
fn uniform(lanes: u32, addresses: &[u64; 32]) -> bool {
    let first = addresses[lanes.trailing_zeros() as usize & 31];
    each(lanes, 0..32).all(|lane| addresses[lane] == first)
}

/// Whether the two parts of a wide load in the range can go together, provided that no two words are in the same bank.
///
/// For the first 16 lanes of a 16-byte load, the profiler does not let a lane share whose neighbour is inactive; but if lane 31 is
/// inactive, it lets any addresses go together.
fn mergeable(lanes: u32, bytes: u32, addresses: &[u64; 32], range: Range<usize>) -> bool {
    if bytes < 16 || range.start > 0 {
        return sharing(lanes, addresses, range, true);
    }
    lanes >> 31 == 0 || sharing(lanes, addresses, range, false) || uniform(lanes, addresses)
}

/// Returns the fewest passes in which `lanes` can move `bytes` bytes each.
fn fewest(lanes: u32, bytes: u32) -> u32 {
    (lanes.count_ones() * bytes).div_ceil(128)
}

/// Returns the passes of a shared load, store or atomic operation, and the fewest possible.
///
/// The whole warp is served at once in 4-byte accesses, half a warp in 8-byte ones, and a quarter of a warp in 16-byte ones. In
/// loads, two such parts go together if their lanes share addresses in pairs and no two words are in one bank. (This agrees with all
/// readings of `tests/counters/launches.json` and `sharing.json`, of which 1,068 are of shared memory.) Atomic operations on one word
/// are done lane after lane, as in the readings of `tensor_cores`.
pub(super) fn wavefronts(kind: AccessKind, lanes: u32, bytes: u32, addresses: &[u64; 32]) -> (u32, u32) {
    if kind == AccessKind::Atomic {
        let total = bank_passes(each(lanes, 0..32).map(|lane| addresses[lane] / 4));
        return (total, total.min(fewest(lanes, bytes)));
    }
    let load = kind == AccessKind::Load;
    let parts = (bytes as usize / 4).max(1);
    let words = u64::from(bytes.div_ceil(4));
    let size = 32 / parts;
    let wanted = |lane: usize| (0..words).map(move |word| addresses[lane] / 4 + word);
    let passes = |range| bank_passes(distinct(each(lanes, range).flat_map(wanted)));
    let mut total = 0;
    if parts == 1 || !load {
        total = (0..parts).map(|part| passes(part * size..(part + 1) * size)).sum();
    } else {
        for pair in 0..parts / 2 {
            let (start, middle, end) = (2 * pair * size, (2 * pair + 1) * size, (2 * pair + 2) * size);
            let apart = passes(start..middle) + passes(middle..end);
            let together = passes(start..end) <= 1 && mergeable(lanes, bytes, addresses, start..end);
            total += if together { apart.min(1) } else { apart };
        }
        if uniform(lanes, addresses) {
            total = total.min(fewest(lanes, bytes));
        }
    }
    (total, total.min(fewest(lanes, bytes)))
}

/// Returns the passes in which a product of a warpgroup reads the 16-byte pieces that a warp needs. `own` of them are rows of A that
/// only this warp needs. The tensor cores read B once for all four warps, and it is counted for the first of them.
///
/// A pass reads 128 bytes, as in the readings of swizzled tiles on an H200. It is not known what other layouts cost, nor whether
/// these passes compete with those of loads. So they are not part of [`super::Work`], whose counts must be certain.
pub(super) fn product_wavefronts(warp: u32, pieces: usize, own: usize) -> u64 {
    let read = if warp.is_multiple_of(4) { pieces } else { own };
    read as u64 / 8
}

/// Returns the passes of an asynchronous copy into shared memory, and the fewest possible. `reading` are the lanes that read from
/// global memory; the others only write zeros.
pub(super) fn copy_wavefronts(lanes: u32, reading: u32, copy: &CopyAccess<'_>) -> (u32, u32) {
    let through = cached_copy_wavefronts(lanes, reading, copy);
    if !copy.bypass {
        return (through, through.min(fewest(lanes, copy.bytes)));
    }
    // Past the cache, zeros are written in separate passes, but the reading lanes still count in these.
    let zeros = if reading == lanes { 0 } else { through };
    let data = bypassing_copy_wavefronts(reading, copy);
    (data + zeros, data.min(fewest(reading, copy.bytes)) + zeros.min(fewest(lanes, copy.bytes)))
}

/// Returns the passes of a copy through the first-level cache. The whole warp is served at once in 4-byte copies, half a warp in
/// 8-byte ones, and a quarter of a warp in 16-byte ones. In such a part, a lane waits for all lanes that read from its bank of the
/// cache, even the same word, and for all that write to its bank of shared memory. The longest wait counts. (This agrees with all 465
/// readings of `tests/counters/copies.json`.)
fn cached_copy_wavefronts(lanes: u32, reading: u32, copy: &CopyAccess<'_>) -> u32 {
    let bytes = u64::from(copy.bytes);
    let size = 128 / copy.bytes as usize;
    let bank = |address: u64| (address / bytes) as usize % size;
    let mut total = 0;
    for start in (0..32).step_by(size) {
        let part = start..start + size;
        let (mut from, mut to) = ([0u32; 32], [0u32; 32]);
        each(reading, part.clone()).for_each(|lane| from[bank(copy.from[lane])] |= 1 << lane);
        each(lanes, part.clone()).for_each(|lane| to[bank(copy.to[lane])] |= 1 << lane);
        let waits = each(lanes, part).map(|lane| {
            let same_source = if reading >> lane & 1 != 0 { from[bank(copy.from[lane])] } else { 0 };
            (same_source | to[bank(copy.to[lane])]).count_ones()
        });
        total += waits.max().unwrap_or(0);
    }
    total
}

/// Returns the passes of a 16-byte copy past the first-level cache, for the lanes that read.
///
/// All bytes that go from one 32-byte sector of global memory to one of shared memory move at once. Such moves go together, over the
/// whole warp, if they are between the same two 128-byte lines, all or none of them swap the two sectors of 64 bytes, and they move
/// the same halves to the same halves. (This agrees with all 178 readings of `tests/counters/copies.json` in which no two lanes read
/// the same 16 bytes, and with 48 of the 55 others. In the remaining 7 the reading is greater, and no rule was found.)
pub(super) fn bypassing_copy_wavefronts(reading: u32, copy: &CopyAccess<'_>) -> u32 {
    // Bit 2 * from + to of a set means that half `from` of the source moves to half `to`.
    let mut moves: BTreeMap<(u64, u64), u8> = BTreeMap::new();
    for lane in each(reading, 0..32) {
        let (from, to) = (copy.from[lane] / 16, copy.to[lane] / 16);
        *moves.entry((from / 2, to / 2)).or_default() |= 1 << (2 * (from % 2) + to % 2);
    }
    let mut passes: BTreeMap<_, BTreeMap<u64, u32>> = BTreeMap::new();
    for ((from, to), halves) in moves {
        // One pass moves a half to only one place.
        let twice = halves & 0b0011 == 0b0011 || halves & 0b1100 == 0b1100;
        let parts = if twice { [1, 2, 4, 8].map(|bit| halves & bit) } else { [halves, 0, 0, 0] };
        for part in parts.into_iter().filter(|&part| part != 0) {
            *passes.entry((from / 4, to / 4, (from ^ to) % 2, part)).or_default().entry(from).or_default() += 1;
        }
    }
    passes.values().map(|sectors| sectors.values().copied().max().unwrap_or(0)).sum()
}

/// One pass through shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wavefront {
    /// The lanes that the pass serves, completely or in part.
    pub lanes: u32,
    /// For each bank, the word that it reads or writes: the word's byte position in shared memory divided by four.
    pub words: [Option<u32>; 32],
}

/// The passes of an access, and the fewest in which its bytes could move.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wavefronts {
    /// The passes, as many as the counters count.
    pub passes: Vec<Wavefront>,
    /// The fewest possible passes.
    pub fewest: u32,
}

impl Wavefronts {
    /// Returns the passes of a load or store of the kernel, or `None` if the assembler merges it into another access.
    pub fn of_access(kernel: &Kernel, access: &Access<'_>) -> Option<Self> {
        let &Access { instruction, kind, lanes, bytes, addresses, .. } = access;
        let merged = kernel.code.facts.get(instruction as usize).map_or(Merged::Alone, |facts| facts.merged);
        let (bytes, before) = merged.piece(bytes)?;
        let addresses = addresses.map(|address| address.wrapping_sub(before));
        let (count, fewest) = wavefronts(kind, lanes, bytes, &addresses);
        Some(Self { passes: passes(lanes, bytes, &addresses, count as usize), fewest })
    }

    /// Returns the passes of an asynchronous copy into shared memory.
    pub fn of_copy(copy: &CopyAccess<'_>) -> Self {
        let reading = select(copy.lanes, |lane| copy.source_bytes[lane] > 0);
        let (count, fewest) = copy_wavefronts(copy.lanes, reading, copy);
        Self { passes: passes(copy.lanes, copy.bytes, copy.to, count as usize), fewest }
    }
}

/// Distributes the words that the lanes access over `count` passes, one part of the warp after another. Within a part, each pass takes
/// the next word of every bank. The words that are left over go with the last pass.
fn passes(lanes: u32, bytes: u32, addresses: &[u64; 32], count: usize) -> Vec<Wavefront> {
    let words = u64::from(bytes.div_ceil(4)).max(1);
    let mut passes: Vec<Wavefront> = vec![];
    let mut first = 0;
    // Parts of the warp go together until there are no more parts than passes.
    let mut size = 32 / (words as usize).min(32);
    while size < 32 && (32 / size) > count.max(1) {
        size *= 2;
    }
    for start in (0..32).step_by(size.max(1)) {
        for lane in each(lanes, start..(start + size).min(32)) {
            for word in (0..words).map(|word| (addresses[lane] / 4 + word) as u32) {
                place(&mut passes, first, lane, word);
            }
        }
        first = passes.len();
    }
    fold(passes, count)
}

/// Puts a word into the first pass, from number `first` on, in which its bank is free or delivers the same word.
fn place(passes: &mut Vec<Wavefront>, first: usize, lane: usize, word: u32) {
    let bank = word as usize % 32;
    let free = |pass: &Wavefront| pass.words[bank].is_none_or(|known| known == word);
    let at = passes.iter().skip(first).position(free).map_or(passes.len(), |at| first + at);
    if at == passes.len() {
        passes.push(Wavefront { lanes: 0, words: [None; 32] });
    }
    passes[at].lanes |= 1 << lane;
    passes[at].words[bank] = Some(word);
}

/// Makes exactly `count` passes. If there are too many, the surplus is merged into the last one. If there are too few, the last one is
/// repeated.
fn fold(mut passes: Vec<Wavefront>, count: usize) -> Vec<Wavefront> {
    while passes.len() > count.max(1) {
        let (Some(extra), Some(last)) = (passes.pop(), passes.last_mut()) else { break };
        last.lanes |= extra.lanes;
        for (word, more) in last.words.iter_mut().zip(extra.words) {
            *word = word.or(more);
        }
    }
    let last = passes.last().copied().unwrap_or(Wavefront { lanes: 0, words: [None; 32] });
    passes.resize(passes.len().max(count), last);
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pass_of_a_column_delivers_one_word() {
        let addresses = std::array::from_fn(|lane| lane as u64 * 128);
        let passes = passes(u32::MAX, 4, &addresses, 32);
        for (row, pass) in passes.iter().enumerate() {
            assert_eq!((pass.lanes, pass.words[0]), (1 << row, Some(32 * row as u32)));
            assert_eq!(pass.words[1..], [None; 31]);
        }
    }
}
