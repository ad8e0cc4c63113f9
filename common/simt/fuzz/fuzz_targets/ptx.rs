//! Whatever the text is: it is read, lowered and launched with every observer, and nothing panics, hangs or fills the memory.
//!
//! ```text
//! cd common/simt
//! RUSTC_BOOTSTRAP=1 cargo fuzz run ptx fuzz/corpus/ptx tests/corpus -- -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=4000000 -max_len=16384
//! ```

#![no_main]

#[path = "../../tests/robust/attempt.rs"]
mod attempt;
mod mutator;

use std::sync::atomic::Ordering::Relaxed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let before = attempt::LAUNCHES.load(Relaxed);
        attempt::attempt(text);
        let now = attempt::LAUNCHES.load(Relaxed);
        if before / 100_000 != now / 100_000 {
            eprintln!("{now} launches");
        }
    }
});

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutator::mutate(data, size, max_size, seed)
});
