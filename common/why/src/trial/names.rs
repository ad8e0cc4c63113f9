//! What is known of a kernel's names from their places alone: which are indexed, called, declared, and which are alike.

use std::collections::{BTreeMap, BTreeSet};

use super::lexer::Tokens;

/// Words of CUDA C and Rust that name nothing of the kernel's own.
const KEYWORDS: [&str; 74] = [
    "alignas",
    "as",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "crate",
    "default",
    "define",
    "do",
    "double",
    "else",
    "endif",
    "enum",
    "extern",
    "f32",
    "f64",
    "false",
    "float",
    "fn",
    "for",
    "goto",
    "half",
    "i32",
    "i64",
    "if",
    "ifdef",
    "ifndef",
    "in",
    "include",
    "inline",
    "int",
    "let",
    "long",
    "loop",
    "match",
    "mod",
    "mut",
    "namespace",
    "once",
    "operator",
    "pragma",
    "pub",
    "return",
    "short",
    "signed",
    "size_t",
    "sizeof",
    "static",
    "static_cast",
    "struct",
    "switch",
    "template",
    "true",
    "typedef",
    "typename",
    "u32",
    "u64",
    "undef",
    "union",
    "unroll",
    "unsafe",
    "unsigned",
    "use",
    "using",
    "usize",
    "void",
    "while",
];

/// The built-in indices and extents.
pub const GRID: [&str; 4] = ["threadIdx", "blockIdx", "blockDim", "gridDim"];

/// What a name is, as its places show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// A number.
    #[default]
    Scalar,
    /// Something with elements: a pointer or an array.
    Indexed,
    /// A function, a type, or part of one.
    Other,
}

/// A name.
#[derive(Clone, Debug, Default)]
pub struct Name {
    /// What it is.
    pub class: Class,
    /// The token of its declaration: its first place.
    pub first: usize,
    /// The families it belongs to: names of one family are alike.
    families: BTreeSet<String>,
    /// Whether it is a constant of the file or of the host.
    pub constant: bool,
}

/// The names of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Names {
    all: BTreeMap<String, Name>,
    /// Tokens that declare a name.
    declares: BTreeSet<usize>,
    /// Tokens that are a name of this file.
    used: BTreeSet<usize>,
}

impl Names {
    /// Reads the names of a source; `constants` are those that the host defines.
    pub fn read(tokens: &Tokens, constants: &[String]) -> Self {
        let mut names = Self::default();
        for name in constants {
            let families = BTreeSet::from(["constant".to_owned()]);
            names.all.insert(name.clone(), Name { families, constant: true, ..Name::default() });
        }
        let is_name = |at: usize| {
            let word = tokens.of(at);
            let apart = matches!(tokens.near(at, -1), "." | "->" | "::" | "#") || tokens.of(at + 1) == "::";
            tokens.is_word(at) && !apart && KEYWORDS.binary_search(&word).is_err() && !GRID.contains(&word)
        };
        let mut types = BTreeSet::new();
        for at in (0..tokens.all.len()).filter(|&at| is_name(at)) {
            let (word, next) = (tokens.of(at), tokens.of(at + 1));
            let directive = tokens.all[at].directive;
            if word.starts_with("__") || directive && tokens.near(at, -1) == "pragma" {
                types.insert(word.to_owned());
                continue;
            }
            let defines = directive && tokens.near(at, -1) == "define";
            let called = next == "(" && !(defines && tokens.start(at + 1) > tokens.all[at].span.end);
            let is_type = tokens.is_word(at + 1) && !directive
                || next == "*"
                    && tokens.is_word(at + 2)
                    && matches!(tokens.near(at, -1), "const" | "(" | "," | ";" | "{" | "}");
            if called || is_type || next == "!" && tokens.near(at, 2) == "(" {
                types.insert(word.to_owned());
            }
            let name = names.all.entry(word.to_owned()).or_insert_with(|| {
                names.declares.insert(at);
                Name { first: at, constant: defines, ..Name::default() }
            });
            if defines {
                name.families.insert("constant".into());
                names.declares.insert(at);
            }
            // A type or a comma before it declares it again.
            let before = tokens.near(at, -1);
            if tokens.is_word(at.wrapping_sub(1))
                && !matches!(before, "return" | "else" | "case" | "in" | "sizeof")
                && !directive
            {
                names.declares.insert(at);
            }
            if next == "["
                || before == "*"
                    && tokens.is_word(at.wrapping_sub(2))
                    && matches!(next, "," | ")" | "=" | ";")
                    && names.declares.contains(&at)
            {
                name.class = Class::Indexed;
            }
            names.used.insert(at);
        }
        for word in types {
            names.all.entry(word).or_default().class = Class::Other;
        }
        names.group(tokens);
        names
    }

    /// Puts names into families by the way in which they are declared.
    fn group(&mut self, tokens: &Tokens) {
        for name in self.all.values_mut() {
            let at = name.first;
            if at == 0 && name.constant {
                continue;
            }
            let (before, next) = (tokens.near(at, -1), tokens.of(at + 1));
            name.families.insert(format!("line {}", tokens.all[at].line));
            if matches!(next, "," | ")") && tokens.is_word(at.wrapping_sub(1)) {
                name.families.insert(format!("parameter {before}"));
            }
            // Names that are given values by formulas of one form are alike: `blockIdx.x * T + threadIdx.x`.
            if next == "=" {
                let form: Vec<&str> = (at + 2..tokens.all.len())
                    .map(|at| if tokens.is_word(at) { "w" } else { tokens.of(at) })
                    .take_while(|text| !matches!(*text, ";" | ","))
                    .take(40)
                    .collect();
                let is_number = form.len() == 1 && form[0] != "w";
                name.constant |= is_number && matches!(tokens.near(at, -2), "constexpr" | "const");
                name.families.insert(if is_number { "counter".into() } else { format!("form {}", form.concat()) });
            }
            if name.constant {
                name.families.insert("constant".into());
            }
        }
    }

    /// Whether this token is a name of the kernel that is not declared there, and has this class.
    pub fn uses(&self, tokens: &Tokens, at: usize, class: Class) -> bool {
        self.used.contains(&at) && !self.declares.contains(&at) && self.class(tokens.of(at)) == Some(class)
    }

    /// Whether the name is declared at this token.
    pub fn declares(&self, at: usize) -> bool {
        self.declares.contains(&at)
    }

    /// What a name is.
    pub fn class(&self, name: &str) -> Option<Class> {
        self.all.get(name).map(|name| name.class)
    }

    /// Whether two names are alike.
    pub fn alike(&self, one: &str, other: &str) -> bool {
        let [Some(one), Some(other)] = [one, other].map(|name| self.all.get(name)) else { return false };
        !one.families.is_disjoint(&other.families)
    }

    /// The names of a class that are declared before a token.
    pub fn before(&self, at: usize, class: Class) -> impl Iterator<Item = (&str, &Name)> {
        let known = self.all.iter().filter(move |(_, name)| name.class == class && (name.first < at || name.constant));
        known.map(|(text, name)| (text.as_str(), name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_by_their_places() {
        assert!(KEYWORDS.is_sorted());
        let text = "#define T 16\nextern \"C\" __global__ void matmul(const float* A, int M, int N) {\n int r = blockIdx.y * T + threadIdx.y, c = blockIdx.x * T + threadIdx.x;\n ELEMENT s = A[r * N + c]; f(s); }";
        let tokens = Tokens::read(text);
        let names = Names::read(&tokens, &["TILE".into()]);
        let class = |name: &str| names.class(name);
        assert_eq!(
            ["A", "M", "r", "T", "TILE"].map(class),
            [Some(Class::Indexed), Some(Class::Scalar), Some(Class::Scalar), Some(Class::Scalar), Some(Class::Scalar)]
        );
        assert_eq!(
            ["ELEMENT", "matmul", "f", "threadIdx"].map(class),
            [Some(Class::Other), Some(Class::Other), Some(Class::Other), None]
        );
        assert!(names.alike("M", "N") && names.alike("r", "c") && names.alike("T", "TILE") && !names.alike("M", "r"));
    }
}
