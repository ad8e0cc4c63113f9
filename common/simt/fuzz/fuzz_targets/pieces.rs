//! What is put into programs: statements of every form, idioms, and lines of real kernels.

use crate::attempt::Random;
use std::sync::LazyLock;

/// Lines that belong together.
pub type Piece = Vec<String>;

const IDIOMS: &str = include_str!("idioms.ptx");
const OTHERS: &str = include_str!("../../tests/instructions/others.txt");
const REAL: &[&str] = &[
    include_str!("../../tests/corpus/pass.ptx"),
    include_str!("../../tests/counters/copy.ptx"),
    include_str!("../../tests/counters/pattern.ptx"),
    include_str!("../../tests/products.ptx"),
    include_str!("../../tests/verdicts/accesses.ptx"),
    include_str!("../../tests/verdicts/barriers.ptx"),
    include_str!("../../tests/verdicts/copies.ptx"),
    include_str!("../../tests/verdicts/counters.ptx"),
    include_str!("../../tests/verdicts/flags.ptx"),
    include_str!("../../tests/verdicts/locks.ptx"),
    include_str!("../../tests/verdicts/warpgroups.ptx"),
    include_str!("../../tests/verdicts/warps.ptx"),
];

/// Whether the simulator takes a statement, in a kernel that declares what statements in `OTHERS` use.
fn is_known(statement: &str) -> bool {
    let text = format!(
        ".version 8.1 .target sm_90a .address_size 64
        .global .align 16 .b8 g[512]; .const .align 16 .b8 c[64]; .entry k(.param .u64 a, .param .u64 b) {{
        .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>; .reg .f64 %x<9>;
        .shared .align 16 .b8 s[512]; .local .align 16 .b8 l[64]; {statement} END: ret; }}"
    );
    simt::Module::parse(&text).and_then(|module| module.kernel("k")).is_ok()
}

/// Statements: those that compute, from the table that the simulator decodes by, and one or more of every other family.
static STATEMENTS: LazyLock<[Vec<String>; 2]> = LazyLock::new(|| {
    let operand = |(number, kind): (usize, &&str)| match *kind {
        "number" => "150".into(),
        "pred" => format!("%p{number}"),
        "f32" => format!("%f{number}"),
        "f64" => format!("%x{number}"),
        kind if kind.ends_with("64") => format!("%d{number}"),
        kind if kind.ends_with("32") || kind.ends_with("x2") => format!("%r{number}"),
        _ => format!("%h{number}"),
    };
    let computing = simt::forms().into_iter().map(|form| {
        let operands: Vec<String> = form.operands.iter().enumerate().map(operand).collect();
        format!("{} {};", form.opcode, operands.join(", "))
    });
    let others = OTHERS.lines().filter_map(|line| line.strip_prefix("+ "));
    let others = others.filter(|line| !line.starts_with(['.', '{']) && !line.contains("LOCAL") && is_known(line));
    [computing.collect(), others.map(Into::into).collect()]
});

static IDIOM_LIST: LazyLock<Vec<Piece>> = LazyLock::new(|| {
    let lines = |idiom: &str| idiom.lines().filter(|line| !line.starts_with("//")).map(Into::into).collect();
    IDIOMS.split("\n\n").map(lines).filter(|idiom: &Piece| !idiom.is_empty()).collect()
});

/// Lines of real kernels that stand by themselves: no declarations, no braces that other lines close.
static REAL_LINES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let whole = |line: &&str| {
        !line.is_empty()
            && !line.starts_with(['.', '/', '(', ')', '{', '}'])
            && line.ends_with([';', ':'])
            && line.matches('{').count() == line.matches('}').count()
            && !line.contains("call")
    };
    REAL.iter().flat_map(|text| text.lines()).map(str::trim).filter(whole).collect()
});

/// A piece to put in.
pub fn piece(random: &mut Random) -> Piece {
    match random.below(8) {
        0 => random.pick(&STATEMENTS[0]).into_iter().cloned().collect(),
        1..=3 => random.pick(&STATEMENTS[1]).into_iter().cloned().collect(),
        4 | 5 => random.pick(&IDIOM_LIST).cloned().unwrap_or_default(),
        _ => {
            let first = random.below(REAL_LINES.len());
            let length = 1 + random.below(12);
            REAL_LINES[first..].iter().take(length).map(|&line| line.into()).collect()
        }
    }
}
