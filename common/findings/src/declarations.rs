//! Extents of `__shared__` arrays, read from CUDA source such as `__shared__ float As[TILE][TILE + 1];`, with given values for
//! the macros. This is not a CUDA parser: it leaves out a declaration that it does not understand.

use ptx::parser::constant;
use simt::Extents;
use std::collections::HashMap;

/// Returns the name and extents of each `__shared__` array in the source. Extents may be expressions of numbers, the given constants,
/// and `#define`s and `const`/`constexpr` integers of the source itself; an array with any other extent is left out.
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

/// Reads a declaration such as `__align__(16) float As[8][64], Bs[8][64]`.
fn declaration(text: &str, known: &HashMap<String, String>, found: &mut Vec<(String, Extents)>) {
    let mut element_bytes = 4;
    for declarator in text.split(',') {
        let Some(open) = declarator.find('[') else { continue };
        let (head, mut tail) = declarator.split_at(open);
        let words = head.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        // Only the words before the name can be types, because an array may be named like one: `float half[32]`.
        let words: Vec<&str> = words.collect();
        let Some((name, types)) = words.split_last() else { continue };
        for word in types {
            element_bytes = match *word {
                "char" | "int8_t" | "uint8_t" | "bool" => 1,
                "short" | "half" | "__half" | "int16_t" | "uint16_t" => 2,
                "float" | "int" | "unsigned" | "int32_t" | "uint32_t" => 4,
                "double" | "float2" | "int2" | "int64_t" | "uint64_t" | "size_t" => 8,
                "float4" | "int4" | "double2" => 16,
                _ => element_bytes,
            };
        }
        let mut extents = vec![];
        while let Some(inside) = tail.strip_prefix('[') {
            let Some(close) = inside.find(']') else { break };
            match spelt_out(&inside[..close], known, 0).and_then(|text| constant(&text)) {
                Some(value) if value > 0 => extents.push(value as u32),
                _ => break,
            }
            tail = inside[close + 1..].trim_start();
        }
        if !extents.is_empty() && !tail.starts_with('[') {
            found.push(((*name).into(), Extents { element_bytes, extents }));
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

/// Replaces the names in an expression by their values, and strips the type suffixes of its numbers.
fn spelt_out(text: &str, known: &HashMap<String, String>, depth: u32) -> Option<String> {
    let mut out = String::new();
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if part(first) { rest.find(|c| !part(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, after) = rest.split_at(length);
        rest = after;
        let number = word.trim_end_matches(['u', 'U', 'l', 'L']);
        match known.get(word) {
            _ if !part(first) => out += word,
            _ if number.parse::<i64>().is_ok() => out += number,
            // Macros that name themselves would never end, and macros that name another one twice grow exponentially.
            Some(value) if depth < 16 && out.len() < 1 << 12 => {
                out += &format!("({})", spelt_out(value, known, depth + 1)?);
            }
            _ => return None,
        }
    }
    Some(out)
}
