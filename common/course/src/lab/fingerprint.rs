//! Kernels that are alike but for names, comments and layout have the same fingerprint: that of their PTX, in which the
//! compiler has numbered everything but what the learner named.

use std::collections::BTreeMap;

use common::code::hash;

/// The fingerprint of PTX.
pub fn fingerprint(ptx: &str) -> String {
    let lines: Vec<&str> = ptx
        .lines()
        // What follows describes source lines.
        .take_while(|line| !line.trim_start().starts_with(".section"))
        .map(|line| line.split("//").next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty() && !line.starts_with(".loc") && !line.starts_with(".file"))
        .collect();
    let mut names = BTreeMap::new();
    for name in lines.iter().filter(|line| line.starts_with('.')).flat_map(|line| words(line)) {
        let number = names.len();
        if name.starts_with(|first: char| first.is_alphabetic() || first == '_') {
            names.entry(name).or_insert(number);
        }
    }
    let mut text = String::new();
    for line in lines {
        for word in words(line) {
            match names.get(word) {
                Some(number) => text += &format!("name{number}"),
                None => text += word,
            }
        }
        text.push('\n');
    }
    hash(&text)[..16].to_owned()
}

/// A line in words, with what stands between them.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let of_a_word = |c: char| c.is_alphanumeric() || "_$%.".contains(c);
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = if of_a_word(first) { rest.find(|c| !of_a_word(c)) } else { Some(first.len_utf8()) };
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_comments_and_lines_do_not_matter_and_numbers_do() {
        let kernel = |array: &str, row: u32, extra: &str| {
            format!(
                "// by somebody\n.version 8.1\n.visible .entry matmul(.param .u64 matmul_param_0)\n{{\n\t.shared .b8 \
                 {array}[4096];\n\t.loc 1 {row} 5\n\tmov.u32 %r1, {array};\n{extra}}}\n.file 1 \"{array}.cu\"\n.section \
                 .debug_str\n{{\n.b8 {row}\n}}\n"
            )
        };
        let one = fingerprint(&kernel("_ZZ6matmulE2As", 7, ""));
        assert_eq!(one, fingerprint(&kernel("tile", 12, "\n  // copied\n")));
        assert_ne!(one, fingerprint(&kernel("tile", 12, "add.u32 %r1, %r1, 1;\n")));
        assert_ne!(one, fingerprint(&kernel("tile", 12, "").replace("4096", "2048")));
    }
}
