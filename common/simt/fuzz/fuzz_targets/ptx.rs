//! Reads, lowers and launches any text, with observers and without. Nothing may panic, hang or fill the memory.
//! `fuzz/README.md` says how to run it, and lists the runs so far.

#![no_main]

#[path = "../../tests/robust/attempt.rs"]
mod attempt;
mod mutator;
mod program;

use libfuzzer_sys::Corpus;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static EXECUTIONS: AtomicU64 = AtomicU64::new(0);

libfuzzer_sys::fuzz_target!(|data: &[u8]| -> Corpus {
    let executions = EXECUTIONS.fetch_add(1, Relaxed) + 1;
    let before = attempt::KERNELS.load(Relaxed);
    if let Ok(text) = std::str::from_utf8(data) {
        attempt::attempt(text);
    }
    if executions.is_multiple_of(1000) {
        let [launches, ended] = &attempt::LAUNCHES;
        let [kernels, launches, ended] = [&attempt::KERNELS, launches, ended].map(|count| count.load(Relaxed));
        eprintln!("{executions} executions, {kernels} kernels, {launches} launches, {ended} of them without an error");
    }
    // A refused text is a poor start for further changes. Some are kept anyway, to exercise the code that refuses them.
    let refused = attempt::KERNELS.load(Relaxed) == before;
    if refused && !data.len().is_multiple_of(16) { Corpus::Reject } else { Corpus::Keep }
});

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutator::mutate(data, size, max_size, seed)
});
