//! Extents of `__shared__` arrays, read from CUDA source: `__shared__ float As[TILE][TILE + 1];` with the values of the
//! macros given. Not a parser of CUDA; what it does not understand it leaves out.

use std::collections::HashMap;

/// Extents of a shared array, for messages such as "As\[3\]\[17\]".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extents {
    /// Size of an element in bytes.
    pub element_bytes: u32,
    /// Extents, the slowest first; `float As[32][33]` has 32 and 33.
    pub extents: Vec<u32>,
}

/// The extents of every `__shared__` array in the source whose extents are sums and products of numbers, the given
/// constants, and `#define`s and `const`/`constexpr` integers of the source itself.
pub fn shared_extents(source: &str, constants: &[(&str, i64)]) -> Vec<(String, Extents)> {
    let source = without_comments(source);
    let mut known: HashMap<String, String> = HashMap::new();
    for line in source.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["#define", name, value @ ..] | ["#", "define", name, value @ ..] = &words[..]
            && !name.contains('(')
        {
            known.insert((*name).into(), value.join(" "));
        }
        // `constexpr int TILE_M = 64, TILE_N = 128;`
        if let Some((declaration, _)) = line.split_once(';')
            && (declaration.contains("const ") || declaration.contains("constexpr "))
        {
            for (left, right) in declaration.split(',').filter_map(|declarator| declarator.split_once('=')) {
                if let Some(name) = left.split_whitespace().last() {
                    known.insert(name.into(), right.trim().into());
                }
            }
        }
    }
    for (name, value) in constants {
        known.insert((*name).into(), value.to_string());
    }
    let mut found = vec![];
    for (at, word) in source.match_indices("__shared__") {
        let rest = &source[at + word.len()..];
        let Some(end) = rest.find(';') else { continue };
        declaration(&rest[..end], &known, &mut found);
    }
    found
}

/// `__align__(16) float As[8][64], Bs[8][64]`
fn declaration(text: &str, known: &HashMap<String, String>, found: &mut Vec<(String, Extents)>) {
    let mut element_bytes = 4;
    for declarator in text.split(',') {
        let Some(open) = declarator.find('[') else { continue };
        let (head, mut tail) = declarator.split_at(open);
        for word in head.split(|c: char| !c.is_alphanumeric() && c != '_') {
            element_bytes = match word {
                "char" | "int8_t" | "uint8_t" | "bool" => 1,
                "short" | "half" | "__half" | "int16_t" | "uint16_t" => 2,
                "float" | "int" | "unsigned" | "int32_t" | "uint32_t" => 4,
                "double" | "float2" | "int2" | "int64_t" | "uint64_t" | "size_t" => 8,
                "float4" | "int4" | "double2" => 16,
                _ => element_bytes,
            };
        }
        let Some(name) = head.split(|c: char| !c.is_alphanumeric() && c != '_').rfind(|word| !word.is_empty()) else {
            continue;
        };
        let mut extents = vec![];
        while let Some(inside) = tail.strip_prefix('[') {
            let Some(close) = inside.find(']') else { break };
            match evaluate(&inside[..close], known, 0) {
                Some(value) if value > 0 => extents.push(value as u32),
                _ => break,
            }
            tail = inside[close + 1..].trim_start();
        }
        if !extents.is_empty() && !tail.starts_with('[') {
            found.push((name.into(), Extents { element_bytes, extents }));
        }
    }
}

fn without_comments(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find('/') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
        } else {
            out.push('/');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

/// Sums, differences, products, quotients and parentheses.
fn evaluate(text: &str, known: &HashMap<String, String>, depth: u32) -> Option<i64> {
    if depth > 16 {
        return None;
    }
    let mut tokens = vec![];
    let mut chars = text.chars().peekable();
    while let Some(&c) = chars.peek() {
        if c.is_whitespace() {
            chars.next();
        } else if c.is_alphanumeric() || c == '_' {
            let mut word = String::new();
            while let Some(&c) = chars.peek().filter(|c| c.is_alphanumeric() || **c == '_') {
                word.push(c);
                chars.next();
            }
            tokens.push(word);
        } else {
            tokens.push(c.to_string());
            chars.next();
        }
    }
    let mut at = 0;
    let value = sum(&tokens, &mut at, known, depth)?;
    (at == tokens.len()).then_some(value)
}

fn sum(tokens: &[String], at: &mut usize, known: &HashMap<String, String>, depth: u32) -> Option<i64> {
    chain(tokens, at, ["+", "-"], |at| chain(tokens, at, ["*", "/"], |at| atom(tokens, at, known, depth)))
}

/// Parts with operators of one rank between them.
fn chain(
    tokens: &[String],
    at: &mut usize,
    operators: [&str; 2],
    part: impl Fn(&mut usize) -> Option<i64>,
) -> Option<i64> {
    let mut value = part(at)?;
    while let Some(operator) = tokens.get(*at).map(String::as_str).filter(|token| operators.contains(token)) {
        *at += 1;
        let other = part(at)?;
        value = match operator {
            "+" => value.checked_add(other)?,
            "-" => value.checked_sub(other)?,
            "*" => value.checked_mul(other)?,
            _ => value.checked_div(other)?,
        };
    }
    Some(value)
}

fn atom(tokens: &[String], at: &mut usize, known: &HashMap<String, String>, depth: u32) -> Option<i64> {
    if depth > 16 {
        return None;
    }
    let token = tokens.get(*at)?;
    *at += 1;
    if token == "(" {
        let value = sum(tokens, at, known, depth + 1)?;
        let closed = tokens.get(*at).is_some_and(|token| token == ")");
        *at += 1;
        return closed.then_some(value);
    }
    if let Ok(value) = token.trim_end_matches(['u', 'U', 'l', 'L']).parse() {
        return Some(value);
    }
    evaluate(known.get(token)?, known, depth + 1)
}
