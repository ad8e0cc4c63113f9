//! Divergence: the kernels of `control.ptx`, and random structured programs (nested conditions, loops with different trip counts,
//! breaks, and a lock that each thread takes by itself). The threads of a program must compute the same in one block as when each
//! thread is alone in a block, where it cannot diverge.

use super::sections;
use proptest::collection::vec;
use proptest::prelude::*;
use simt::{Arg, GlobalMemory, LaunchConfig, Module};
use std::sync::LazyLock;

/// The number of registers of each thread in a random program, and the number of threads.
const REGISTERS: usize = 5;
const THREADS: u32 = 70;

/// The building blocks of random programs, with their names. `random.ptx` explains them.
static TEXTS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| sections::read("random.ptx"));

fn texts(name: &str) -> Vec<&'static str> {
    let named = |(known, text): &'static (String, String)| (known.split(':').next() == Some(name)).then_some(&**text);
    TEXTS.iter().filter_map(named).collect()
}

#[derive(Debug, Clone)]
struct Statement {
    text: &'static str,
    registers: [usize; 3],
    /// The statements that replace `BODY` and `OTHER`.
    bodies: [Vec<Statement>; 2],
}

type Statements = BoxedStrategy<Vec<Statement>>;

/// Generates statements with a name, and with other statements in them.
fn statement(name: &str, body: Statements, other: Statements) -> BoxedStrategy<Statement> {
    let parts = (proptest::sample::select(texts(name)), [0..REGISTERS, 0..REGISTERS, 0..REGISTERS], body, other);
    parts.prop_map(|(text, registers, body, other)| Statement { text, registers, bodies: [body, other] }).boxed()
}

fn statements(depth: u32) -> Statements {
    let simple = |name: &str| statement(name, Just(vec![]).boxed(), Just(vec![]).boxed());
    let [set, guarded, exit] = ["set", "guarded", "exit"].map(simple);
    let owned = vec(prop_oneof![set.clone(), guarded.clone()], 0..3).boxed();
    let locked = statement("locked", owned, Just(vec![]).boxed());
    let leaf = prop_oneof![12 => set, 4 => guarded, 2 => exit, 1 => locked];
    if depth == 0 {
        return vec(leaf, 0..4).boxed();
    }
    let inner = statements(depth - 1);
    let branch = statement("if", inner.clone(), inner.clone());
    let repeat = statement("loop", inner, Just(vec![]).boxed());
    vec(prop_oneof![4 => leaf, 2 => branch, 2 => repeat], 0..5).boxed()
}

/// Generates programs whose threads meet at barriers between statements in which they diverge.
fn meetings() -> Statements {
    let meet = vec(statement("meet", Just(vec![]).boxed(), Just(vec![]).boxed()), 1);
    vec(prop_oneof![statements(2), meet], 1..6).prop_map(|parts| parts.concat()).boxed()
}

/// Returns the PTX of statements. `count` numbers them, so that labels are unique.
fn ptx(program: &[Statement], count: &mut u32) -> String {
    let one = |Statement { text, registers: [a, b, c], bodies }: &Statement| {
        *count += 1;
        let text = text.replace('#', &count.to_string());
        let names = [("%A", a), ("%B", b), ("%C", c)];
        let text = names.iter().fold(text, |text, (name, register)| text.replace(name, &format!("%x{register}")));
        let [body, other] = bodies.each_ref().map(|body| ptx(body, count));
        text.replace("BODY", &body).replace("OTHER", &other)
    };
    program.iter().map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn random_programs(program in prop_oneof![statements(3), meetings()]) {
        let text = texts("kernel")[0].replace("BODY", &ptx(&program, &mut 0)).replace("STORE", texts("store")[0]);
        let found = [(1, THREADS), (THREADS, 1)].map(|shape| run(&text, shape, LaunchConfig::DEFAULT_INSTRUCTION_LIMIT, 1));
        let [together, alone] = found.map(|found| found.map_err(|error| TestCaseError::fail(format!("{error}\n{text}"))));
        let (together, alone) = (together?, alone?);
        for (thread, (together, alone)) in together.chunks(REGISTERS).zip(alone.chunks(REGISTERS)).enumerate() {
            prop_assert_eq!(together, alone, "thread {}\n{}", thread, text);
        }
    }
}

/// How many warp instructions a kernel may execute, unless its first line says otherwise.
const LIMIT: u64 = 1_000_000;

const WORDS: usize = 512;

/// Runs `blocks` blocks of `threads` threads on `host` host threads, and returns the contents of `out`.
fn run(text: &str, (blocks, threads): (u32, u32), limit: u64, host: usize) -> Result<Vec<u32>, simt::Error> {
    let kernel = Module::parse(text)?.kernel("k")?;
    let mut memory = GlobalMemory::new();
    let out = memory.alloc("out", 4 * WORDS as u64, 4)?;
    let mut config = LaunchConfig::new(blocks, threads);
    (config.instruction_limit, config.threads) = (limit, host);
    simt::launch(&kernel, &mut memory, &config, &[Arg::Pointer(out)], &mut ())?;
    let mut found = vec![0u32; WORDS];
    memory.download(out, 0, &mut found)?;
    Ok(found)
}

/// Parses a list of words such as `1 9*32` (1, then 9 for 32 times). Returns `None` if the text is not such a list.
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

#[test]
fn kernels() {
    for (name, text) in sections::read("control.ptx") {
        let (launch, expected) = text.lines().next().and_then(|line| line.split_once(": ")).unwrap();
        let numbers: Vec<u64> = launch.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
        let (blocks, numbers) = if launch.contains("blocks") { (numbers[0], &numbers[1..]) } else { (1, &numbers[..]) };
        let (shape, limit) = ((blocks as u32, numbers[0] as u32), numbers.get(1).copied().unwrap_or(LIMIT));
        let each = text.lines().find_map(|line| line.strip_prefix("// EACH: ")).unwrap_or_default();
        for each in each.split(" | ") {
            let text = text.replace("EACH", each);
            let text =
                if text.contains(".version") { text } else { include_str!("control_body.ptx").replace("BODY", &text) };
            for host in 1..=blocks.min(3) as usize {
                let found = run(&text, shape, limit, host);
                let right = match &found {
                    Ok(found) => words(expected).is_some_and(|words| found.starts_with(&words)),
                    Err(error) => error.to_string().contains(expected),
                };
                assert!(right, "{name}, {each}, {host} threads of the host: {found:?}");
            }
        }
    }
}

/// A launch that has used up its time ends with an error that says how long that was.
#[test]
fn an_endless_loop_reaches_its_seconds() {
    let kernel =
        Module::parse(".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k() { LOOP: bra LOOP; }");
    let mut config = LaunchConfig::new(1, 32);
    config.deadline = Some(simt::Deadline::after(1));
    let ended = simt::launch(&kernel.unwrap().kernel("k").unwrap(), &mut GlobalMemory::new(), &config, &[], &mut ());
    assert!(matches!(ended, Err(simt::Error::Limit(simt::Limit::Seconds { limit: 1, .. }))), "{ended:?}");
}
