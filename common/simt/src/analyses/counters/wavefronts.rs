//! An access to shared memory pass by pass: which lanes are served in each, and which word each bank delivers.

use super::passes::{copy_wavefronts, each, wavefronts};
use crate::lanes::select;
use crate::lower::Merged;
use crate::observe::CopyAccess;
use crate::{AccessKind, Kernel};

/// One pass through shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wavefront {
    /// The lanes that it serves, wholly or in part.
    pub lanes: u32,
    /// For each bank the word that it delivers or takes: its position in shared memory divided by four.
    pub words: [Option<u32>; 32],
}

/// The passes of an access, and the fewest possible for as many bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wavefronts {
    /// As many as the counters count.
    pub passes: Vec<Wavefront>,
    /// The fewest possible.
    pub fewest: u32,
}

impl Wavefronts {
    /// The passes of a load or store by an instruction of the kernel; none if another access does it, too, once it is assembled.
    pub fn of_access(
        kernel: &Kernel,
        instruction: u32,
        kind: AccessKind,
        lanes: u32,
        bytes: u32,
        addresses: &[u64; 32],
    ) -> Option<Self> {
        let merged = kernel.code.facts.get(instruction as usize).map_or(Merged::Alone, |facts| facts.merged);
        let (bytes, before) = merged.piece(bytes)?;
        let addresses = addresses.map(|address| address.wrapping_sub(before));
        let (count, fewest) = wavefronts(kind, lanes, bytes, &addresses);
        Some(Self { passes: passes(lanes, bytes, &addresses, count as usize), fewest })
    }

    /// The passes of an asynchronous copy.
    pub fn of_copy(copy: &CopyAccess<'_>) -> Self {
        let reading = select(copy.lanes, |lane| copy.source_bytes[lane] > 0);
        let (count, fewest) = copy_wavefronts(copy.lanes, reading, copy);
        Self { passes: passes(copy.lanes, copy.bytes, copy.to, count as usize), fewest }
    }
}

/// The words that lanes want, in `count` passes: a part of the warp after the other, and within a part the first word that a bank must
/// give, then its second. What is left over goes with the last pass.
fn passes(lanes: u32, bytes: u32, addresses: &[u64; 32], count: usize) -> Vec<Wavefront> {
    let words = u64::from(bytes.div_ceil(4)).max(1);
    let mut passes: Vec<Wavefront> = vec![];
    let mut first = 0;
    // Parts of the warp that go together, as many as it takes to end with no more passes than there are.
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

/// Puts a word into the first pass from number `first` on in which its bank is free, or delivers the same word.
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

/// Makes `count` passes of these: those beyond go with the last, and where there are too few, the lanes of the last are served
/// one after the other.
fn fold(mut passes: Vec<Wavefront>, count: usize) -> Vec<Wavefront> {
    while passes.len() > count.max(1) {
        let Some(extra) = passes.pop() else { break };
        let Some(last) = passes.last_mut() else { break };
        last.lanes |= extra.lanes;
        for (word, more) in last.words.iter_mut().zip(extra.words) {
            *word = word.or(more);
        }
    }
    while passes.len() < count {
        passes.push(passes.last().copied().unwrap_or(Wavefront { lanes: 0, words: [None; 32] }));
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(bytes: u32, address: impl Fn(u64) -> u64) -> (usize, usize) {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let (count, _) = wavefronts(AccessKind::Load, u32::MAX, bytes, &addresses);
        let passes = passes(u32::MAX, bytes, &addresses, count as usize);
        assert_eq!(passes.iter().fold(0, |lanes, pass| lanes | pass.lanes), u32::MAX);
        (count as usize, passes.len())
    }

    #[test]
    fn there_are_as_many_passes_as_are_counted() {
        for (bytes, stride, expected) in
            [(4, 4, 1), (4, 0, 1), (4, 128, 32), (4, 8, 2), (8, 8, 2), (16, 16, 4), (16, 0, 2)]
        {
            assert_eq!(counted(bytes, |lane| lane * stride), (expected, expected), "{bytes} bytes, {stride} apart");
        }
    }

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
