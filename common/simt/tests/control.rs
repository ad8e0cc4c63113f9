//! Divergence: random structured programs (nested conditions, loops with different trip counts, breaks, and a lock that each
//! thread takes for itself) against a plain interpreter that runs one thread at a time.

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
        let kernel = Module::parse(&text).and_then(|module| module.kernel("k")).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        let mut memory = GlobalMemory::new();
        let count = THREADS as usize * REGISTERS;
        let out = memory.alloc("out", 4 * count as u64, 4).unwrap();
        simt::launch(&kernel, &mut memory, &LaunchConfig::new(1, THREADS), &[Arg::Pointer(out)], &mut ())
            .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        let mut found = vec![0u32; count];
        memory.download(out, 0, &mut found).unwrap();
        for thread in 0..THREADS {
            let mut expected = initial(thread);
            interpret(&program, &mut expected);
            let found = &found[thread as usize * REGISTERS..][..REGISTERS];
            prop_assert_eq!(found, &expected[..], "thread {}\n{}", thread, text);
        }
    }
}

fn run(body: &str, registers: &str, threads: u32, words: usize) -> Result<Vec<u32>, simt::Error> {
    run_at_most(1_000_000, body, registers, threads, words)
}

/// Runs with a limit of instructions.
fn run_at_most(limit: u64, body: &str, registers: &str, threads: u32, words: usize) -> Result<Vec<u32>, simt::Error> {
    let text = format!(
        ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n{registers}\n\
         .reg .b64 %rd<9>; .reg .b32 %t; .reg .pred %p<9>;\nmov.u32 %t, %tid.x; ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %t, 4; add.u64 %rd3, %rd1, %rd2;\n{body}\n}}"
    );
    run_text(limit, &text, threads, words)
}

fn run_text(limit: u64, text: &str, threads: u32, words: usize) -> Result<Vec<u32>, simt::Error> {
    let kernel = Module::parse(text)?.kernel("k")?;
    let mut memory = GlobalMemory::new();
    let out = memory.alloc("out", 4 * words as u64, 4)?;
    let mut config = LaunchConfig::new(1, threads);
    config.instruction_limit = limit;
    simt::launch(&kernel, &mut memory, &config, &[Arg::Pointer(out)], &mut ())?;
    let mut found = vec![0u32; words];
    memory.download(out, 0, &mut found)?;
    Ok(found)
}

#[test]
fn shuffles_votes_and_matches() {
    let value = |lane: u32| lane * lane + 7;
    let head = "mad.lo.u32 %a, %t, %t, 7;";
    let registers = ".reg .b32 %a, %b, %c;";
    let store = "st.global.u32 [%rd3], %b; ret;";
    let check = |instruction: &str, model: &dyn Fn(u32) -> u32| {
        let found = run(&format!("{head} {instruction} {store}"), registers, 32, 32).unwrap();
        for lane in 0..32 {
            assert_eq!(found[lane as usize], model(lane), "{instruction}, lane {lane}");
        }
    };
    check("vote.sync.ballot.b32 %b, 1, -1;", &|_| u32::MAX);
    check("shfl.sync.idx.b32 %b, %a, 5, 31, -1;", &|_| value(5));
    check("shfl.sync.idx.b32 %b, %a, 2, 0x1807, -1;", &|lane| value(lane / 8 * 8 + 2));
    check("shfl.sync.up.b32 %b, %a, 3, 0, -1;", &|lane| value(if lane >= 3 { lane - 3 } else { lane }));
    check("shfl.sync.down.b32 %b|%p1, %a, 4, 31, -1; @!%p1 mov.u32 %b, 0;", &|lane| {
        if lane + 4 < 32 { value(lane + 4) } else { 0 }
    });
    check("shfl.sync.bfly.b32 %b, %a, 16, 31, -1;", &|lane| value(lane ^ 16));
    check("setp.lt.u32 %p1, %t, 10; vote.sync.ballot.b32 %b, %p1, -1;", &|_| 0x3ff);
    check("mov.pred %p1, 0; setp.lt.u32 %p2, %t, 10; @%p2 mov.pred %p1, -1; selp.u32 %b, 1, 0, %p1;", &|t| {
        u32::from(t < 10)
    });
    check("selp.u32 %b, 7, 8, 1; selp.u32 %a, 7, 8, 0; shl.b32 %a, %a, 8; or.b32 %b, %b, %a;", &|_| 0x807);
    check("setp.lt.u32 %p1, %t, 10; vote.sync.any.pred %p2, %p1, -1; selp.u32 %b, 1, 0, %p2;", &|_| 1);
    check("setp.lt.u32 %p1, %t, 10; vote.sync.all.pred %p2, %p1, -1; selp.u32 %b, 1, 0, %p2;", &|_| 0);
    check("and.b32 %c, %t, 3; match.any.sync.b32 %b, %c, -1;", &|lane| 0x1111_1111 << (lane & 3));
    check("redux.sync.add.u32 %b, %t, -1;", &|_| 496);
    check("redux.sync.max.s32 %b, %a, -1;", &|_| value(31));
    check("activemask.b32 %b;", &|_| u32::MAX);
    check("mov.u32 %b, 0; setp.lt.u32 %p1, %t, 4; @!%p1 bra L; activemask.b32 %b; L:", &|lane| {
        if lane < 4 { 15 } else { 0 }
    });
    check("mov.u32 %b, %lanemask_lt;", &|lane| (1u32 << lane) - 1);
    let error = run(
        &format!("{head} setp.lt.u32 %p1, %t, 4; @%p1 shfl.sync.idx.b32 %b, %a, 5, 31, -1; {store}"),
        registers,
        32,
        32,
    );
    assert!(matches!(error, Err(simt::Error::Fault(_))), "lanes that are named but absent");
}

#[test]
fn atomics_in_shared_and_global_memory() {
    let registers = ".reg .b32 %a, %b, %c; .shared .align 8 .b8 s[16];";
    let body = "st.shared.v2.u32 [s], {%a, %a}; bar.sync 0; atom.shared.add.u32 %b, [s], %t; red.shared.max.u32 [s+4], %t; bar.sync 0;\
                ld.shared.u32 %b, [s]; ld.shared.u32 %c, [s+4]; add.u32 %b, %b, %c; st.global.u32 [%rd3], %b; ret;";
    assert_eq!(run(body, registers, 64, 64).unwrap(), [64 * 63 / 2 + 63; 64]);
    let body = "atom.global.inc.u32 %a, [%rd1], 9; atom.global.cas.b32 %b, [%rd1+4], 0, 77; atom.add.f32 %a, [%rd1+8], 0f3F000000;\
                red.global.or.b32 [%rd1+12], %t; ret;";
    let found = run(body, registers, 64, 64).unwrap();
    assert_eq!(found[..4], [4, 77, 32f32.to_bits(), 63]);
    let body = "mov.u64 %rd4, s; cvta.shared.u64 %rd5, %rd4; isspacep.shared %p1, %rd5; selp.u32 %a, 5, 6, %p1; st.u32 [%rd5+8], %a;\
                ld.u32 %b, [%rd5+8]; st.u32 [%rd3], %b; ret;";
    assert_eq!(run(body, registers, 1, 1).unwrap(), [5]);
}

#[test]
fn barriers_with_reductions_and_counts() {
    let registers = ".reg .b32 %a, %b;";
    let body = "setp.lt.u32 %p1, %t, 40; barrier.sync 0; bar.red.popc.u32 %a, 0, %p1; bar.red.or.pred %p2, 0, %p1; bar.red.and.pred %p3, 0, %p1;\
                selp.u32 %b, 100, 0, %p2; add.u32 %a, %a, %b; selp.u32 %b, 1000, 0, %p3; add.u32 %a, %a, %b; st.global.u32 [%rd3], %a; ret;";
    assert_eq!(run(body, registers, 64, 64).unwrap(), [140; 64]);
    assert!(run("bar.sync 16; ret;", registers, 32, 1).is_err(), "there are 16 barriers");
    assert!(run("bar.sync 1, 40; ret;", registers, 64, 1).is_err(), "whole warps only");
}

#[test]
fn indexed_branches() {
    let registers = ".reg .b32 %a, %b;";
    let body = "rem.u32 %a, %t, 4; mov.u32 %b, 1; TABLE: .branchtargets A0, A1, OUT, A0; brx.idx %a, TABLE;\
                A0: add.u32 %b, %b, 10; A1: add.u32 %b, %b, 100; OUT: add.u32 %b, %b, 1000; st.global.u32 [%rd3], %b; ret;";
    let found = run(body, registers, 40, 40).unwrap();
    for (lane, found) in found.iter().enumerate() {
        assert_eq!(*found, [1111, 1101, 1001, 1111][lane % 4], "lane {lane}");
    }
    assert!(
        run("mov.u32 %a, 7; TABLE: .branchtargets X, Y; brx.idx %a, TABLE; X: ret; Y: ret;", registers, 32, 1).is_err()
    );
}

/// An instruction that names no memory space takes the address of the variable that it names.
#[test]
fn variables_named_where_any_space_may_be() {
    let registers = ".reg .b32 %a, %b; .reg .b64 %d; .shared .align 8 .b32 pad[3], s[4]; .local .align 8 .b32 m[2], l[4];\
                     .shared .align 8 .b64 barrier;";
    let shared = "st.u32 [s+4], 5; bar.sync 0; atom.add.u32 %b, [s+4], 2; red.add.u32 [s+4], 30; ld.shared.u32 %a, [s+4]; add.u32 %a, %a, %b;";
    let local = "st.v2.u32 [l+8], {100, 200}; ld.local.u32 %b, [l+12]; add.u32 %a, %a, %b; ld.u32 %b, [l+8]; add.u32 %a, %a, %b;";
    let waits = "mbarrier.init.b64 [barrier], 1; mbarrier.arrive.b64 %d, [barrier]; mbarrier.test_wait.b64 %p1, [barrier], %d; @!%p1 trap;";
    let body = format!("{shared} {local} {waits} st.global.u32 [%rd3], %a; ret;");
    assert_eq!(run(&body, registers, 1, 1).unwrap(), [342]);
    // A variable of the module.
    let text = ".version 8.1\n.target sm_80\n.address_size 64\n.shared .b32 s[4]; .entry k() { .reg .b32 %a; .reg .pred %p;\
                st.u32 [s+8], 7; ld.shared.u32 %a, [s+8]; setp.ne.u32 %p, %a, 7; @%p trap; ret; }";
    let kernel = Module::parse(text).unwrap().kernel("k").unwrap();
    simt::launch(&kernel, &mut GlobalMemory::new(), &LaunchConfig::new(1, 1), &[], &mut ()).unwrap();
    for wrong in ["ld.u64 %d, [out]; ret;", "{ .param .b32 p; ld.u32 %a, [p]; } ret;", "ld.global.u32 %a, [s]; ret;"] {
        let error = run(wrong, registers, 1, 1).unwrap_err().to_string();
        assert!(error.contains("a variable of another memory space"), "{wrong}: {error}");
    }
}

#[test]
fn words_of_an_opcode_may_stand_apart() {
    let body = "add .u32 %t, %t, 1; @%p1 bra .uni OUT; OUT: st.global .u32 [%rd3], %t; ld .global .v2 .u32 {%t, %t}, [%rd1]; ret;";
    assert_eq!(run(&format!("setp.eq.u32 %p1, 0, 0; {body}"), "", 2, 2).unwrap(), [1, 2]);
}

/// What the assembler takes and the simulator does not support is refused for the right reason; what is not PTX is called so.
#[test]
fn what_is_not_supported() {
    let cases = [
        ("fma.rz.bf16 %h, %h, %h, %h;", "supported by the simulator: this rounding ("),
        ("mma.sync.aligned.m8n8k32.row.col.s32.u4.u4.s32 {%t, %t}, {%t}, {%t}, {%t, %t};", "the type .u4"),
        (
            "ld.global.v8.b32 {%t, %t, %t, %t, %t, %t, %t, %t}, [%rd1];",
            "supported by the simulator: an access of 32 bytes on sm_90",
        ),
        ("ld.global.u32 %t, [%t];", "supported by the simulator: 32-bit addresses"),
        ("tex.2d.v4.f32.s32 {%f, %f, %f, %f}, [s, {%t, %t}];", "supported by the simulator: `tex`"),
        ("call f, (2, 3);", "supported by the simulator: a call with other parameters than the function declares"),
        ("call later, ();", "not valid PTX, line 7: later is called before it is declared"),
        ("ld.global.u32 %t, [behind];", "not valid PTX, line 7: behind is used before it is declared"),
    ];
    for (statement, says) in cases {
        let text = format!(
            ".version 8.1\n.target sm_90\n.address_size 64\n.func (.reg .u32 o) f(.reg .u32 a, .reg .u32 b) {{ add.u32 o, a, b; ret; }}\n\
             .entry k() {{ .reg .b16 %h; .reg .f32 %f; .reg .b32 %t; .reg .b64 %rd<3>;\n.shared .b32 s[4];\n{statement}\nret; }}\n\
             .func later() {{ ret; }}\n.global .b32 behind;"
        );
        let error = Module::parse(&text).and_then(|module| module.kernel("k")).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains(says)), "{statement}: {error:?}");
    }
}

/// Parameters and results of functions are registers, vectors of them, constants or memory, and a prototype may do without its
/// semicolon. Caches may be told what to keep.
#[test]
fn calls_and_policies() {
    let functions = ".func (.reg .u32 o) f(.reg .v2 .u32 a, .reg .u32 b, .reg .pred p)\n\
        .func (.param .u64 o) g(.param .u32 a, .param .u64 b)\n\
        .func (.reg .u32 o) f(.reg .v2 .u32 a, .reg .u32 b, .reg .pred p) { mad.lo.u32 o, a.x, b, a.y; @p add.u32 o, o, 1000; ret; }\n\
        .func (.param .u64 o) g(.param .u32 a, .param .u64 b) { .reg .u32 x; .reg .u64 y, z; ld.param.u32 x, [a]; ld.param.u64 y, [b]; \
        mad.wide.u32 z, x, 2, y; st.param.u64 [o], z; ret; }\n";
    let body = "{ .reg .v2 .u32 v; .reg .u64 w, q; .reg .pred p; .param .u64 r; mov.u32 v.x, %t; mov.u32 v.y, 5; setp.eq.u32 p, %t, 1; \
        call (%t), f, (v, 7, p); call (w), g, (%t, 100); call (r), g, (1, w); ld.param.u64 w, [r]; \
        createpolicy.fractional.L2::evict_first.b64 q, 0.5; cvt.u32.u64 %t, w; st.global.L2::cache_hint.u32 [%rd3], %t, q; \
        ld.global.L2::cache_hint.u32 %t, [%rd3], q; add.u32 %t, %t, 1; st.global.u32 [%rd3], %t; } ret;";
    let text = format!(
        ".version 8.1\n.target sm_80\n.address_size 64\n{functions}.visible .entry k(.param .u64 out)\n{{\n\
         .reg .b64 %rd<9>; .reg .b32 %t;\nmov.u32 %t, %tid.x; ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %t, 4; add.u64 %rd3, %rd1, %rd2;\n{body}\n}}"
    );
    let expected = |t: u32| 2 * (7 * t + 5 + if t == 1 { 1000 } else { 0 }) + 103;
    assert_eq!(run_text(1_000_000, &text, 3, 3).unwrap(), [0, 1, 2].map(expected));
}

/// Labels and tables of targets are known inside their braces only, where they hide those of the same name around them.
#[test]
fn labels_are_local_to_their_braces() {
    let registers = ".reg .b32 %a;";
    let waits =
        "{ .reg .pred %q; AGAIN: add.u32 %a, %a, 1; setp.lt.u32 %q, %a, LEAST; @!%q bra DONE; bra AGAIN; DONE: }";
    let [three, five] = ["3", "5"].map(|least| waits.replace("LEAST", least));
    let inner = "X: { bra X; trap; X: add.u32 %a, %a, 10; { bra OUT; } } trap; OUT:";
    let table = "{ mov.u32 %t, 1; T: .branchtargets A, B; brx.idx %t, T; A: trap; B: add.u32 %a, %a, 100; }";
    let hiding = "T: .branchtargets A, A; A: B:";
    let body = format!("mov.u32 %a, 0; {hiding} {three} {five} {inner} {table} {table} st.global.u32 [%rd3], %a; ret;");
    assert_eq!(run(&body, registers, 1, 1).unwrap(), [215]);
    for (wrong, says) in [
        ("bra L; { L: ret; }", "no label L here: it is inside braces"),
        ("{ L: } { bra L; } ret;", "no label L here: it is inside braces"),
        ("bra L; ret;", "no label L"),
        ("L: { L: } L: ret;", "the label L is there twice between the same braces"),
        ("{ T: .branchtargets L; T: } L: ret;", "the label T is there twice between the same braces"),
    ] {
        let error = run(wrong, registers, 1, 1).unwrap_err().to_string();
        assert!(error.starts_with("not valid PTX") && error.contains(says), "{wrong}: {error}");
    }
}

/// Lanes that wait for others of their own warp do not keep these from running, and meet them again where all are needed.
#[test]
fn lanes_take_turns() {
    let registers = ".reg .b32 %a, %b; .shared .align 4 .b8 place[8];";
    let head = "st.shared.u32 [place], 0; st.shared.u32 [place+4], 0; bar.sync 0;";
    let tail = "st.global.u32 [%rd3], %a; ret;";
    let take = "TAKE: atom.shared.cas.b32 %a, [place], 0, 1; setp.ne.u32 %p1, %a, 0; @%p1 bra TAKE;";
    let add = "ld.volatile.shared.u32 %b, [place+4]; add.u32 %b, %b, 1; st.volatile.shared.u32 [place+4], %b;";
    let give = "atom.shared.exch.b32 %a, [place], 0;";
    let count = |meet: &str| {
        let body = format!("{head} {take} {add} {give} {meet} ld.shared.u32 %a, [place+4]; {tail}");
        run_at_most(10_000_000, &body, registers, 96, 96)
    };
    for meet in ["bar.sync 0;", "barrier.sync 0, 96;", "bar.warp.sync -1; bar.sync 0;"] {
        assert_eq!(count(meet), Ok(vec![96; 96]), "{meet}");
    }
    let votes = format!(
        "{head} {take} {add} {give} mov.u32 %b, %t; shfl.sync.bfly.b32 %a, %b, 31, 31, -1; and.b32 %a, %a, 31; {tail}"
    );
    let reversed: Vec<u32> = (0..96).map(|thread| 31 - thread % 32).collect();
    assert_eq!(run_at_most(10_000_000, &votes, registers, 96, 96), Ok(reversed));
    // One side of a branch waits for the other.
    for negated in ["", "!"] {
        let body = format!(
            "{head} setp.eq.u32 %p1, %t, 3; @{negated}%p1 bra SET;\
             WAIT: ld.volatile.shared.u32 %a, [place]; setp.ne.u32 %p2, %a, 9; @%p2 bra WAIT; bra END;\
             SET: mov.u32 %a, 9; st.volatile.shared.u32 [place], %a; END: {tail}"
        );
        assert_eq!(run(&body, registers, 32, 32), Ok(vec![9; 32]), "{negated}");
    }
    // Barriers in two places are no meeting, and a lock that is not given back lets nobody in.
    assert!(matches!(
        count("setp.lt.u32 %p1, %t, 7; @%p1 bra HERE; bar.sync 0; bra END; HERE: bar.sync 0; END:"),
        Err(simt::Error::Fault(_))
    ));
    let kept = format!("{head} {take} bar.sync 0; {tail}");
    assert!(matches!(run(&kept, registers, 96, 96), Err(simt::Error::Limit(_))));
}

/// A warp that waits in a loop for another warp's flag does not keep it from running.
#[test]
fn warps_take_turns() {
    let registers = ".reg .b32 %a; .shared .align 4 .b8 flag[4];";
    let body = "setp.lt.u32 %p1, %t, 32; mov.u32 %a, 0; st.shared.u32 [flag], %a; bar.sync 0; @!%p1 bra SET;\
                WAIT: ld.volatile.shared.u32 %a, [flag]; setp.ne.u32 %p2, %a, 9; @%p2 bra WAIT; bra END;\
                SET: mov.u32 %a, 9; st.volatile.shared.u32 [flag], %a; END: st.global.u32 [%rd3], %a; ret;";
    // A turn ends after a few polls: then the second warp sets the flag.
    for poll in
        ["ld.volatile.shared.u32 %a, [flag]", "atom.shared.add.u32 %a, [flag], 0", "atom.shared.or.b32 %a, [flag], 0"]
    {
        let body = body.replace("ld.volatile.shared.u32 %a, [flag]", poll);
        assert_eq!(run_at_most(1000, &body, registers, 64, 64), Ok(vec![9; 64]), "{poll}");
    }
    // If the second warp sets it to something else, the first one waits to the limit.
    let limit = 10_000;
    let body = &body.replace("SET: mov.u32 %a, 9", "SET: mov.u32 %a, 8");
    match run_at_most(limit, body, registers, 64, 64) {
        Err(simt::Error::Limit(simt::Limit::Instructions { limit: reached, location })) => {
            assert_eq!(reached, limit);
            // That is where the instructions went.
            let waits = ["ld.volatile.shared.u32", "setp.ne.u32", "@%p2 bra WAIT"];
            let text = &location.instruction;
            assert!(waits.iter().any(|start| text.starts_with(start)), "stopped at `{text}`");
        }
        other => panic!("{other:?}"),
    }
}

/// A block that waits for another one comes to no limit while that one works, on whichever thread of the host: what the
/// one needs, 15 million instructions, is nearly all there is.
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

/// A barrier in an endless loop does not keep it from the limit: a tile loop whose step was forgotten ends as any other.
#[test]
fn an_endless_loop_with_barriers_reaches_the_limit() {
    for body in [
        "LOOP: bar.sync 0; bra LOOP;",
        "LOOP: bar.sync 0; add.u32 %a, %a, 0; bar.sync 0; setp.lt.u32 %p1, %a, 64; @%p1 bra LOOP; ret;",
        "LOOP: bar.arrive 1, 128; bar.sync 0; bra LOOP;",
    ] {
        for threads in [32, 64, 256] {
            match run_at_most(50_000, body, ".reg .b32 %a;", threads, 256) {
                Err(simt::Error::Limit(simt::Limit::Instructions { limit, .. })) => assert_eq!(limit, 50_000),
                other => panic!("{body} with {threads} threads: {other:?}"),
            }
        }
    }
}

/// The last addresses there are: what lies past them does not wrap around to the first.
#[test]
fn an_access_at_the_end_of_the_address_space_is_out_of_bounds() {
    for (access, address) in [
        ("ld.global.u32 %a, [%rd4]", "-4"),
        ("ld.global.v4.u32 {%a, %a, %a, %a}, [%rd4]", "-16"),
        ("ld.global.v4.u32 {%a, %a, %a, %a}, [%rd4+16]", "-16"),
        ("st.global.u8 [%rd4], %a", "-1"),
        ("st.global.u32 [%rd4+4], %a", "-8"),
        ("ld.u32 %a, [%rd4]", "-4"),
        ("st.u64 [%rd4], %rd4", "-8"),
        ("atom.global.add.u32 %a, [%rd4], 1", "-4"),
        ("ld.local.u32 %a, [%rd4]", "-4"),
        ("ld.shared.u32 %a, [%rd4]", "-4"),
        ("cp.async.ca.shared.global [%rd5], [%rd4], 16", "-16"),
        ("cp.async.ca.shared.global [%rd4], [%rd3], 4", "-4"),
    ] {
        let body = format!("mov.u64 %rd5, s; mov.u64 %rd4, {address}; {access}; ret;");
        let registers = ".reg .b32 %a; .shared .align 16 .b8 s[64]; .local .align 4 .b8 l[16];";
        match run_at_most(50_000, &body, registers, 32, 32) {
            Err(simt::Error::Fault(_)) => {}
            other => panic!("{access} at {address}: {other:?}"),
        }
    }
}
