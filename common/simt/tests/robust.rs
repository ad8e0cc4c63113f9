//! No input makes the library panic: random bytes, and programs with random damage.

mod attempt;

use super::sections;
use attempt::{LAUNCHES, attempt};
use proptest::prelude::*;
use simt::{Arg, GlobalMemory, LaunchConfig, Module};
use std::path::Path;
use std::sync::atomic::Ordering;

/// The programs of the corpus, with their names.
fn programs() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let corpus = ["corpus/fail.ptx", "corpus/pass.ptx"].into_iter().flat_map(|file| sections::read(&folder.join(file)));
    let bulk = std::fs::read_to_string(folder.join("verdicts/bulk_copies.ptx")).unwrap();
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
                // Another digit: other sizes, registers, offsets.
                _ => if let Some(digit) = text[at..].iter_mut().find(|byte| byte.is_ascii_digit()) { *digit = b'0' + (value % 10) as u8; },
            }
        }
        attempt(&String::from_utf8_lossy(&text));
    }
}

/// What the fuzzer has found: each of these made an earlier version panic, hang or fill the memory.
#[test]
fn found_by_fuzzing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/robust/found");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in &files {
        attempt(&String::from_utf8_lossy(&std::fs::read(file).unwrap()));
    }
    assert!(LAUNCHES[0].load(Ordering::Relaxed) >= 2, "one of them at least is a kernel");
}

const HEAD: &str = ".version 8.1\n.target sm_80\n.address_size 64\n";

/// A kernel with these declarations and this body.
fn kernel(body: &str) -> String {
    format!("{HEAD}.entry k() {{ .reg .b32 %r<60000>; .reg .pred %p; {body} }}")
}

/// A line for each number.
fn lines(range: impl Iterator<Item = u32>, line: impl Fn(u32) -> String) -> String {
    range.map(|number| line(number) + "\n").collect()
}

/// Things that go deep.
#[test]
fn deep() {
    for text in [
        "{".repeat(200_000),
        format!("{HEAD}.entry k() {}", "{".repeat(200_000)),
        format!("{HEAD}.entry k() {{ mov.u32 %r, {}1; }}", "-".repeat(200_000)),
        format!("{HEAD}.entry k() {{ foo {}; }}", "{a,".repeat(100_000)),
        format!("{HEAD}.func f() {{ call f; }} .entry k() {{ call f; ret; }}"),
        format!("{HEAD}.func f() {{ call g; call g; }} .func g() {{ call f; call f; }} .entry k() {{ call f; ret; }}"),
        format!("{HEAD}.entry k() {{ L: bra L; }}"),
        format!("{HEAD}.entry k() {{ .reg .pred %p; L: @%p bra M; bra L; M: bra L; }}"),
    ] {
        attempt(&text);
    }
}

/// Things that are declared large.
#[test]
fn large() {
    for text in [
        format!("{HEAD}.entry k() {{ .reg .b32 %r<4294967295>; mov.u32 %r7, 1; }}"),
        format!("{HEAD}.entry k() {{ .shared .b8 a[99999999999]; ret; }}"),
        format!("{HEAD}.entry k() {{ .local .b8 a[99999999999]; ret; }}"),
        format!("{HEAD}.entry k(.param .b8 a[4294967295]) {{ ret; }}"),
        format!("{HEAD}.entry k(.param .align 16 .b8 a[40], .param .u64 b) {{ ret; }}"),
        format!("{HEAD}.global .b8 a[18446744073709551615];"),
        // Only what is touched costs anything.
        format!(
            "{HEAD}.global .b8 a[1099511627776] = {{1}}; .entry k() {{ .reg .b32 %r; ld.global.u32 %r, [a]; ret; }}"
        ),
        kernel(".local .b32 a[131072]; mov.u32 %r1, 7; st.local.u32 [a+524284], %r1; ld.local.u32 %r2, [a+524284];"),
        // Copies that nobody waits for.
        format!(
            "{HEAD}.global .align 16 .b8 g[16]; .entry k() {{ .shared .align 16 .b8 s[16]; .reg .b64 %d; .reg .b32 %r;
             mov.u64 %d, g; mov.u32 %r, s; L: cp.async.ca.shared.global [%r], [%d], 16; bra L; }}"
        ),
        // A function with many variables, called often.
        format!(
            "{HEAD}.func f() {{ {} ret; }} .entry k() {{ {} }}",
            lines(0..20_000, |i| format!(".reg .b32 %v{i}; .param .b32 p{i};")),
            "call f;\n".repeat(20_000)
        ),
    ] {
        attempt(&text);
    }
}

/// Long kernels, with what takes a quadratic algorithm minutes: the test ends, or it hangs.
#[test]
fn long() {
    const MANY: u32 = 50_000;
    for text in [
        kernel(&"ret;\n".repeat(50_000)),
        kernel(&lines(1..MANY, |i| format!("add.s32 %r{i}, %r{}, 1;", i - 1))),
        // Against the program's order: registers, blocks.
        kernel(&lines((1..MANY).rev(), |i| format!("add.s32 %r{i}, %r{}, 1;", i - 1))),
        kernel(&format!("bra L0;\n{}L{MANY}: ret;", lines((0..MANY).rev(), |i| format!("L{i}: bra L{};", i + 1)))),
        kernel(&format!(
            "bra L0;\n{}L6000: ret;",
            lines((0..6000).rev(), |i| format!(
                "L{i}: add.s32 %r{i}, %r{}, %r{}; @%p bra L0; bra L{};",
                i + 1,
                i + 20_000,
                i + 1
            ))
        )),
        // Every block reads registers that the first one sets.
        kernel(&format!(
            "{}{}",
            lines(0..20_000, |i| format!("mov.u32 %r{i}, {i};")),
            lines(0..20_000, |i| format!("@%p bra L{i}; add.s32 %r30000, %r{i}, 1; L{i}:"))
        )),
        // Loops in loops.
        kernel(&format!(
            "{}{}",
            lines(0..3000, |i| format!("L{i}:")),
            lines((0..3000).rev(), |i| format!("@%p bra L{i};"))
        )),
        // Branches that jump ahead by more and more.
        kernel(&format!(
            "{}L60000: ret;",
            lines(0..20_000, |i| format!("L{i}: @%p bra L{};", (3 * i / 2 + 2).min(19_999)))
        )),
        format!(
            "{HEAD}{}.entry k() {{ .reg .b32 %r; {} }}",
            lines(0..100_000, |i| format!(".global .u32 v{i} = {i};")),
            lines(0..100_000, |i| format!("ld.global.u32 %r, [v{i}];"))
        ),
        format!(
            "{HEAD}{}.entry k() {{ {} ret; }}",
            lines(0..20_000, |i| format!(".func f{i}() {{ ret; }}")),
            lines(0..20_000, |i| format!("call f{i};"))
        ),
        format!(
            "{HEAD}{}.entry k() {{ .reg .b32 %r; {} }}",
            lines(0..50_000, |i| format!(".extern .shared .b8 s{i}[];")),
            lines(0..50_000, |i| format!("mov.u32 %r, s{i};"))
        ),
    ] {
        attempt(&text);
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
    let mut refused = |config: LaunchConfig, args: &[Arg]| {
        let error = simt::launch(&kernel, &mut memory, &config, args, &mut ()).unwrap_err();
        assert!(matches!(error, simt::Error::Usage(_)), "{error}");
        error.to_string()
    };
    assert!(refused(LaunchConfig::new(1, 2000), &good).contains("2000 threads"));
    assert!(refused(LaunchConfig::new(1, 0), &good).contains("at least 1"));
    assert!(refused(LaunchConfig::new((1, 70_000), 32), &good).contains("larger than the device allows"));
    assert!(refused(LaunchConfig::new(1, (1, 1, 65)), &good).contains("larger than the device allows"));
    let mut config = LaunchConfig::new(1, 32);
    config.dynamic_shared_bytes = 60_000;
    assert!(refused(config, &good).contains("60000 bytes of shared memory"));
    assert!(refused(LaunchConfig::new(1, 32), &good[1..]).contains("takes 6 parameters"));
    let mut wrong = good.to_vec();
    wrong[3] = Arg::Bytes(vec![1; 8]);
    assert!(refused(LaunchConfig::new(1, 32), &wrong).contains("has 4 bytes"));
    assert!(memory.alloc("B", 0, 4).is_err());
    assert!(memory.alloc("B", u64::MAX, 4).is_err());
    assert!(memory.upload(pointer, 15, &[1.0f32, 2.0]).is_err());
}
