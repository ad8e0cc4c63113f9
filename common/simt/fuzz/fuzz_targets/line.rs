//! A line of PTX as words, and what kind of thing each of them is.

/// The kinds of registers: the letters that NVRTC and our pieces call them by, the types that they are declared with, and a
/// declaration for kernels that have none.
pub const REGISTERS: [(&[&str], &[&str], &str); 6] = [
    (&["p"], &["pred"], ".reg .pred %p<9>;"),
    (&["h", "rs"], &["b16", "u16", "s16", "f16", "bf16"], ".reg .b16 %h<9>;"),
    (&["r"], &["b32", "u32", "s32", "f16x2", "bf16x2"], ".reg .b32 %r<9>;"),
    (&["f"], &["f32"], ".reg .f32 %f<9>;"),
    (&["d", "rd"], &["b64", "u64", "s64"], ".reg .b64 %d<9>;"),
    (&["x", "fd"], &["f64"], ".reg .f64 %x<9>;"),
];

/// The spaces of variables, and a variable for kernels that have none. Parameters are of 8 bytes, or smaller.
pub const SPACES: [(&str, &str); 6] = [
    ("shared", ".shared .align 16 .b8 s[512];"),
    ("global", ".global .align 16 .b8 g[256];"),
    ("local", ".local .align 16 .b8 l[64];"),
    ("const", ".const .align 16 .b8 c[16] = {1, 2, 3};"),
    ("param", ""),
    ("param", ""),
];
pub const PARAM: usize = 4;

/// What a word is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// A register of this kind.
    Register(usize),
    /// A label that is branched to.
    Label,
    /// A variable, in this space where the word or its line tells.
    Variable(Option<usize>),
    /// A number.
    Number,
    /// A type or a modifier.
    Modifier,
    Other,
}

/// Names, numbers, and everything else character by character; together they are the line.
pub fn words(line: &str) -> Vec<&str> {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%');
    let mut words = vec![];
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = if part(first) { rest.find(|c| !part(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, after) = rest.split_at(length);
        words.push(word);
        rest = after;
    }
    words
}

/// Whether a word stands in the opcode, or in a declaration.
pub fn says(words: &[&str], word: &str) -> bool {
    words.windows(2).any(|pair| pair == [".", word])
}

/// The space that a line is about.
pub fn space(words: &[&str]) -> Option<usize> {
    let space = SPACES.iter().position(|(space, _)| says(words, space))?;
    let wide = ["u64", "s64", "b64"].iter().any(|word| says(words, word));
    Some(if space == PARAM && !wide { PARAM + 1 } else { space })
}

/// What word number `at` is.
pub fn kind(words: &[&str], at: usize) -> Word {
    let word = words[at];
    let before = if at > 0 { words[at - 1] } else { "" };
    let register = || {
        let letters = word.strip_prefix('%')?.trim_end_matches(|c: char| c.is_ascii_digit());
        let numbered = word.ends_with(|c: char| c.is_ascii_digit());
        REGISTERS.iter().position(|(names, ..)| numbered && names.contains(&letters))
    };
    if let Some(kind) = register() {
        Word::Register(kind)
    } else if before == "." {
        Word::Modifier
    } else if word.starts_with(|c: char| c.is_ascii_digit()) {
        Word::Number
    } else if words[..at].contains(&"bra")
        && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '$')
        && word != "uni"
    {
        Word::Label
    } else if word.starts_with("_Z") {
        Word::Variable(space(words))
    } else if word.contains("_param_") || matches!(word, "a" | "b") {
        Word::Variable(space(words).or(Some(PARAM)))
    } else if at > 0
        && let Some(space) = ["s", "g", "l", "c"].iter().position(|name| *name == word)
    {
        Word::Variable(Some(space))
    } else {
        Word::Other
    }
}
