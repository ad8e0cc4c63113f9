//! No input may make the library panic: neither random bytes, nor programs with random damage.

mod attempt;

use super::sections;
use attempt::{LAUNCHES, attempt};
use proptest::prelude::*;
use simt::{Arg, GlobalMemory, LaunchConfig, Module};
use std::sync::atomic::Ordering;

fn programs() -> Vec<(String, String)> {
    let corpus = ["corpus/fail.ptx", "corpus/pass.ptx"].into_iter().flat_map(sections::read);
    let bulk = sections::text("verdicts/bulk_copies.ptx");
    corpus.chain([("bulk_copies".into(), bulk)]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        attempt(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_words(words in proptest::collection::vec("\\.version 8\\.1|\\.entry|\\.reg|\\.b32|%r1|%r<9>|k|\\(|\\)|\\{|\\}|;|,|\\[|\\]|add\\.s32|ld\\.global\\.u32|bra|@|!|:|-|\\+|0x|7|0f|\"|\\.loc 1 1 1|\\.shared|\\.align 4|=", 0..60)) {
        attempt(&words.join(" "));
        attempt(&format!(".version 8.1\n.target sm_80\n.address_size 64\n.entry k() {{ {} }}", words.join(" ")));
    }

    #[test]
    fn damaged_programs(which in 0usize..1000, damage in proptest::collection::vec((any::<u32>(), 0u8..7, any::<u32>()), 1..6)) {
        let programs: Vec<String> = programs().into_iter().map(|(_, ptx)| ptx).collect();
        let mut text = programs[which % programs.len()].clone().into_bytes();
        for (place, kind, value) in damage {
            if text.is_empty() {
                break;
            }
            let at = place as usize % text.len();
            let other = value as usize % text.len();
            match kind {
                0 => { text.remove(at); }
                1 => text.insert(at, b"{}[]();,.%@0179-:\"rfx+"[value as usize % 22]),
                2 => text[at] = text[other],
                3 => text.truncate(at),
                4 => { let end = (at + other % 40).min(text.len()); let piece = text[at..end].to_vec(); text.splice(other..other, piece); }
                5 => { let end = (at + other % 40).min(text.len()); text.drain(at..end); }
                // Another digit changes a size, a register or an offset.
                _ => if let Some(digit) = text[at..].iter_mut().find(|byte| byte.is_ascii_digit()) { *digit = b'0' + (value % 10) as u8; },
            }
        }
        attempt(&String::from_utf8_lossy(&text));
    }
}

/// Programs that the fuzzer has found. Each made an earlier version panic, hang or fill the memory.
#[test]
fn found_by_fuzzing() {
    let files: Vec<_> =
        std::fs::read_dir(sections::path("robust/found")).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in &files {
        attempt(&String::from_utf8_lossy(&std::fs::read(file).unwrap()));
    }
    assert!(LAUNCHES[0].load(Ordering::Relaxed) >= 2, "one of them at least is a kernel");
}

/// Expands a text of `robust/shapes.txt`. The first lines of that file explain the notation.
fn expanded(text: &str) -> String {
    let head = ".version 8.1\n.target sm_80\n.address_size 64\n";
    let text = text.replace("KERNEL", "HEAD .entry k() { .reg .b32 %r<60000>; .reg .pred %p;").replace("HEAD", head);
    let line = |line: &str| {
        let repeated = line.strip_prefix('*').and_then(|line| line.split_once(' '));
        let Some((count, text)) = repeated else { return format!("{line}\n") };
        let count: i64 = count.parse().unwrap();
        let once = |at: i64| {
            let number = if count < 0 { -1 - count - at } else { at };
            let half = (3 * number / 2 + 2).min(19_999);
            let signs = [("#+", number + 1), ("#*", number + 20_000), ("#/", half), ("#", number)];
            signs.iter().fold(format!("{text}\n"), |text, (sign, number)| text.replace(sign, &number.to_string()))
        };
        (0..count.abs()).map(once).collect()
    };
    text.lines().map(line).collect()
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "takes half a minute"]
    fn deep_large_and_long() {
        let texts = sections::read("robust/shapes.txt");
        assert!(texts.len() > 30);
        for (_, text) in texts {
            attempt(&expanded(&text));
        }
    }
}

#[test]
fn bad_launches_are_refused() {
    let (_, naive) = programs().into_iter().find(|(name, _)| name == "naive").unwrap();
    let kernel = Module::parse(&naive).unwrap().kernel("matmul").unwrap();
    let mut memory = GlobalMemory::new();
    let pointer = memory.alloc("A", 64, 4).unwrap();
    let good =
        [Arg::Pointer(pointer), Arg::Pointer(pointer), Arg::Pointer(pointer), Arg::I32(1), Arg::I32(1), Arg::I32(1)];
    let mut wrong = good.clone();
    wrong[3] = Arg::Bytes(vec![1; 8]);
    let usual = LaunchConfig::new(1, 32);
    let mut large = usual;
    large.dynamic_shared_bytes = 60_000;
    for (config, arguments, words) in [
        (LaunchConfig::new(1, 2000), &good[..], "2000 threads"),
        (LaunchConfig::new(1, 0), &good[..], "at least 1"),
        (LaunchConfig::new((1, 70_000), 32), &good[..], "larger than the device allows"),
        (LaunchConfig::new(1, (1, 1, 65)), &good[..], "larger than the device allows"),
        (large, &good[..], "60000 bytes of shared memory"),
        (usual, &good[1..], "takes 6 parameters"),
        (usual, &wrong[..], "has 4 bytes"),
    ] {
        let error = simt::launch(&kernel, &mut memory, &config, arguments, &mut ()).unwrap_err();
        assert!(matches!(&error, simt::Error::Usage(said) if said.contains(words)), "{error}");
    }
    assert!(memory.alloc("B", 0, 4).is_err());
    assert!(memory.alloc("B", u64::MAX, 4).is_err());
    assert!(memory.upload(pointer, 15, &[1.0f32, 2.0]).is_err());
}
