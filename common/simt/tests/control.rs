//! Divergence: the kernels of `control.ptx`, and random structured programs (nested conditions, loops with different trip counts,
//! breaks, and a lock that each thread takes for itself) against a plain interpreter that runs one thread at a time.

use super::sections;
use proptest::prelude::*;
use simt::{Arg, GlobalMemory, LaunchConfig, Module};

/// Registers of a program.
const REGISTERS: usize = 5;
const THREADS: u32 = 70;

#[derive(Debug, Clone)]
enum Statement {
    /// `to = a op b`, by number of the operation
    Set(usize, usize, usize, usize),
    /// `if (a < b) ... else ...`
    If(usize, usize, Vec<Statement>, Vec<Statement>),
    /// `for (n = 0; n < (a & 3); ++n) { ...; if (b & 4) break; }`
    Loop(usize, usize, Vec<Statement>),
    /// `if (a == b) return;` with the registers stored before.
    Exit(usize, usize),
    /// Predicated: `if (a < b) to = to + 1`
    Guarded(usize, usize, usize),
    /// `while (atomicCAS(lock, 0, 1) != 0) {} ...; atomicExch(lock, 0);`
    Locked(Vec<Statement>),
    /// All threads that are left meet, each by one of three barriers: `if (a < b) { if (b < c) ... else ... } else ...`
    Meet(usize, usize, usize),
}

type Operation = (&'static str, fn(u32, u32) -> u32);

/// Operations, and what they do.
const OPERATIONS: [Operation; 5] = [
    ("add.u32", u32::wrapping_add),
    ("sub.u32", u32::wrapping_sub),
    ("xor.b32", |a, b| a ^ b),
    ("mul.lo.u32", u32::wrapping_mul),
    ("shr.u32", |a, b| a.checked_shr(b).unwrap_or(0)),
];

fn statements(depth: u32) -> BoxedStrategy<Vec<Statement>> {
    let register = || 0..REGISTERS;
    let operation = 0..OPERATIONS.len();
    let set = (register(), operation, register(), register()).prop_map(|(to, op, a, b)| Statement::Set(to, op, a, b));
    let guarded = (register(), register(), register()).prop_map(|(to, a, b)| Statement::Guarded(to, a, b));
    let exit = (register(), register()).prop_map(|(a, b)| Statement::Exit(a, b));
    let owned = prop_oneof![set.clone(), guarded.clone()];
    let locked = proptest::collection::vec(owned, 0..3).prop_map(Statement::Locked);
    let leaf = prop_oneof![12 => set, 4 => guarded, 2 => exit, 1 => locked];
    if depth == 0 {
        return proptest::collection::vec(leaf, 0..4).boxed();
    }
    let inner = statements(depth - 1);
    let branch =
        (register(), register(), inner.clone(), inner.clone()).prop_map(|(a, b, yes, no)| Statement::If(a, b, yes, no));
    let repeat = (register(), register(), inner).prop_map(|(a, b, body)| Statement::Loop(a, b, body));
    proptest::collection::vec(prop_oneof![4 => leaf, 2 => branch, 2 => repeat], 0..5).boxed()
}

/// Programs whose threads meet between the statements that they go through by ways of their own.
fn meetings() -> BoxedStrategy<Vec<Statement>> {
    let register = || 0..REGISTERS;
    let meet = (register(), register(), register()).prop_map(|(a, b, c)| vec![Statement::Meet(a, b, c)]);
    proptest::collection::vec(prop_oneof![statements(2), meet], 1..6).prop_map(|parts| parts.concat()).boxed()
}

/// Writes the PTX of statements; `labels` and `loops` number what has been written.
fn emit(program: &[Statement], text: &mut String, labels: &mut u32) {
    for statement in program {
        *labels += 1;
        let label = *labels;
        match statement {
            Statement::Set(to, operation, a, b) => {
                *text += &format!("{} %x{to}, %x{a}, %x{b};\n", OPERATIONS[*operation].0);
            }
            Statement::If(a, b, yes, no) => {
                *text += &format!("setp.lt.u32 %p1, %x{a}, %x{b};\n@!%p1 bra ELSE{label};\n");
                emit(yes, text, labels);
                *text += &format!("bra END{label};\nELSE{label}:\n");
                emit(no, text, labels);
                *text += &format!("END{label}:\n");
            }
            Statement::Loop(a, b, body) => {
                *text += &format!(
                    "and.b32 %n{label}, %x{a}, 3;\nLOOP{label}:\nsetp.eq.u32 %p1, %n{label}, 0;\n@%p1 bra DONE{label};\n"
                );
                emit(body, text, labels);
                *text += &format!(
                    "sub.u32 %n{label}, %n{label}, 1;\nand.b32 %t, %x{b}, 4;\nsetp.ne.u32 %p2, %t, 0;\n@%p2 bra DONE{label};\nbra LOOP{label};\nDONE{label}:\n"
                );
            }
            Statement::Exit(a, b) => {
                *text += &format!("setp.eq.u32 %p1, %x{a}, %x{b};\n@!%p1 bra STAY{label};\n");
                store(text);
                *text += &format!("ret;\nSTAY{label}:\n");
            }
            Statement::Guarded(to, a, b) => {
                *text += &format!("setp.lt.u32 %p3, %x{a}, %x{b};\n@%p3 add.u32 %x{to}, %x{to}, 1;\n");
            }
            Statement::Locked(body) => {
                *text += &format!(
                    "TAKE{label}:\natom.shared.cas.b32 %t, [lock], 0, 1;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra TAKE{label};\n"
                );
                emit(body, text, labels);
                *text += "atom.shared.exch.b32 %t, [lock], 0;\n";
            }
            Statement::Meet(a, b, c) => {
                *text += &format!(
                    "setp.lt.u32 %p1, %x{a}, %x{b};\n@!%p1 bra ELSE{label};\nsetp.lt.u32 %p2, %x{b}, %x{c};\n\
                     @%p2 barrier.sync 0;\n@!%p2 barrier.sync 0;\nbra END{label};\nELSE{label}:\nbarrier.sync 0;\nEND{label}:\n"
                );
            }
        }
    }
}

fn store(text: &mut String) {
    for register in 0..REGISTERS {
        *text += &format!("st.global.u32 [%rd3+{}], %x{register};\n", 4 * register);
    }
}

/// Runs one thread; false when it has ended.
fn interpret(program: &[Statement], x: &mut [u32; REGISTERS]) -> bool {
    for statement in program {
        match statement {
            Statement::Set(to, operation, a, b) => {
                x[*to] = OPERATIONS[*operation].1(x[*a], x[*b]);
            }
            Statement::If(a, b, yes, no) => {
                let side = if x[*a] < x[*b] { yes } else { no };
                if !interpret(side, x) {
                    return false;
                }
            }
            Statement::Loop(a, b, body) => {
                let mut left = x[*a] & 3;
                while left > 0 {
                    if !interpret(body, x) {
                        return false;
                    }
                    left -= 1;
                    if x[*b] & 4 != 0 {
                        break;
                    }
                }
            }
            Statement::Exit(a, b) => {
                if x[*a] == x[*b] {
                    return false;
                }
            }
            Statement::Guarded(to, a, b) => {
                if x[*a] < x[*b] {
                    x[*to] = x[*to].wrapping_add(1);
                }
            }
            Statement::Locked(body) => {
                interpret(body, x);
            }
            Statement::Meet(..) => {}
        }
    }
    true
}

fn ptx(program: &[Statement]) -> String {
    let mut body = String::new();
    let mut labels = 0;
    emit(program, &mut body, &mut labels);
    let mut text = format!(
        ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .pred %p<4>; .reg .b32 %x<{REGISTERS}>; .reg .b32 %n<{}>; .reg .b32 %t; .reg .b64 %rd<4>;\n\
         .shared .align 4 .b8 lock[4];\nst.shared.u32 [lock], 0;\nbar.sync 0;\n\
         mov.u32 %x0, %tid.x;\nld.param.u64 %rd1, [out];\nmul.wide.u32 %rd2, %x0, {};\nadd.u64 %rd3, %rd1, %rd2;\n",
        labels + 1,
        4 * REGISTERS
    );
    for register in 1..REGISTERS {
        text += &format!(
            "mul.lo.u32 %x{register}, %x0, {};\nshr.u32 %x{register}, %x{register}, {};\n",
            2 * register + 1,
            register % 4
        );
    }
    text += &body;
    // Those who are still there meet, whatever turns they have taken.
    text += "bar.sync 0;\n";
    store(&mut text);
    text + "ret;\n}\n"
}

fn initial(thread: u32) -> [u32; REGISTERS] {
    std::array::from_fn(|register| {
        let register = register as u32;
        if register == 0 { thread } else { thread.wrapping_mul(2 * register + 1) >> (register % 4) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn random_programs(program in prop_oneof![statements(3), meetings()]) {
        let text = ptx(&program);
        let found = run(&text, THREADS, LaunchConfig::DEFAULT_INSTRUCTION_LIMIT)
            .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        for thread in 0..THREADS {
            let mut expected = initial(thread);
            interpret(&program, &mut expected);
            let found = &found[thread as usize * REGISTERS..][..REGISTERS];
            prop_assert_eq!(found, &expected[..], "thread {}\n{}", thread, text);
        }
    }
}

/// Warp instructions that a kernel may execute, if it does not say how many.
const LIMIT: u64 = 1_000_000;

/// Words of `out`.
const WORDS: usize = 512;

fn body(statements: &str) -> String {
    format!(
        ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b64 %rd<9>; .reg .b32 %t; .reg .pred %p<9>;\n\
         mov.u32 %t, %tid.x; ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %t, 4; add.u64 %rd3, %rd1, %rd2;\n{statements}\nret;\n}}"
    )
}

/// What a block of threads leaves in `out`.
fn run(text: &str, threads: u32, limit: u64) -> Result<Vec<u32>, simt::Error> {
    let kernel = Module::parse(text)?.kernel("k")?;
    let mut memory = GlobalMemory::new();
    let out = memory.alloc("out", 4 * WORDS as u64, 4)?;
    let config = LaunchConfig { instruction_limit: limit, ..LaunchConfig::new(1, threads) };
    simt::launch(&kernel, &mut memory, &config, &[Arg::Pointer(out)], &mut ())?;
    let mut found = vec![0u32; WORDS];
    memory.download(out, 0, &mut found)?;
    Ok(found)
}

/// The words of `9*32` and the like; none if it is something else.
fn words(text: &str) -> Option<Vec<u32>> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let times = |word: &str| {
        let (word, times) = word.split_once('*').unwrap_or((word, "1"));
        Some(vec![number(word)?; number(times)? as usize])
    };
    Some(text.split(' ').map(times).collect::<Option<Vec<_>>>()?.concat())
}

/// The kernels of `control.ptx`.
#[test]
fn kernels() {
    for (name, text) in sections::read("control.ptx") {
        let (launch, expected) = text.lines().next().and_then(|line| line.split_once(": ")).unwrap();
        let numbers: Vec<u64> = launch.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
        let (threads, limit) = (numbers[0] as u32, numbers.get(1).copied().unwrap_or(LIMIT));
        let each = text.lines().find_map(|line| line.strip_prefix("// EACH: ")).unwrap_or_default();
        for each in each.split(" | ") {
            let text = text.replace("EACH", each);
            let found = run(&if text.contains(".version") { text } else { body(&text) }, threads, limit);
            let right = match &found {
                Ok(found) => words(expected).is_some_and(|words| found.starts_with(&words)),
                Err(error) => error.to_string().contains(expected),
            };
            assert!(right, "{name}, {each}: {found:?}");
        }
    }
}

/// A block that waits for another one comes to no limit while that one works, however many threads the host has: what the one
/// needs, 15 million instructions, is nearly all there is.
#[test]
fn blocks_that_wait_for_one_that_works() {
    let text = ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n\
                .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p<3>;\n\
                ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 1; @%p1 bra WORK;\n\
                WAIT: nanosleep.u32 100; ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT; ret;\n\
                WORK: mov.u32 %r3, ROUNDS;\n\
                LOOP: sub.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra LOOP;\n\
                st.volatile.global.u32 [%rd1], 1; ret;\n}";
    let run = |rounds: &str, threads: usize| {
        let kernel = Module::parse(&text.replace("ROUNDS", rounds))?.kernel("k")?;
        let mut memory = GlobalMemory::new();
        let out = memory.alloc("out", 4, 4)?;
        let mut config = LaunchConfig::new(3, 32);
        (config.instruction_limit, config.threads) = (15_200_000, threads);
        simt::launch(&kernel, &mut memory, &config, &[Arg::Pointer(out)], &mut ())
    };
    for threads in [1, 2, 3] {
        assert!(run("5000000", threads).is_ok(), "{threads} threads");
        assert!(matches!(run("0", threads), Err(simt::Error::Limit(_))), "{threads} threads");
    }
}

/// A launch that has had its time ends as well, and says how long that was.
#[test]
fn an_endless_loop_reaches_its_seconds() {
    let kernel =
        Module::parse(".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k() { LOOP: bra LOOP; }");
    let mut config = LaunchConfig::new(1, 32);
    config.deadline = Some((std::time::Instant::now(), 7));
    let ended = simt::launch(&kernel.unwrap().kernel("k").unwrap(), &mut GlobalMemory::new(), &config, &[], &mut ());
    assert!(matches!(ended, Err(simt::Error::Limit(simt::Limit::Seconds { limit: 7, .. }))), "{ended:?}");
}
