//! Which recorded results of the simulator's tests a GPU gave as well, and which nobody asked a GPU about.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use common::basics::{grouped, packed, table, workspace};

use super::timed::Records;

/// The records, and what each is about.
const RECORDS: [(&str, &str); 2] = [
    ("results.txt", "one instruction, with each of its types and modifiers"),
    ("products.txt", "one product of matrices by `mma`, `wmma` or `wgmma`"),
];

/// A table of the records, and what is missing in them.
pub fn table(_: &Records, _: &[&str]) -> Result<String> {
    let texts = RECORDS.iter().map(|(name, about)| {
        let path = packed::place(&workspace::root().join("common/simt/tests/instructions").join(name));
        let text = packed::read(&path).with_context(|| workspace::display(&path))?;
        Ok((*about, text))
    });
    Ok(words(&texts.collect::<Result<Vec<_>>>()?))
}

fn words(records: &[(&str, String)]) -> String {
    let mut missing: BTreeMap<String, u64> = BTreeMap::new();
    let mut rows = vec![];
    for (about, text) in records {
        let mut asked: BTreeMap<&str, u64> = BTreeMap::new();
        let (mut all, mut without) = (0, 0);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            all += 1;
            if let Some((_, mark)) = line.split_once("\tNVIDIA ") {
                // How far an approximation is from the GPU's is the record's own business.
                let mark = mark.split(", within").next().unwrap_or_default();
                *asked.entry(mark).or_default() += 1;
            } else {
                without += 1;
                *missing.entry(name(line)).or_default() += 1;
            }
        }
        let asked: Vec<String> =
            asked.iter().map(|(mark, count)| format!("{} (NVIDIA {mark})", grouped(*count))).collect();
        rows.push(vec![(*about).to_owned(), grouped(all), asked.join(", "), grouped(without)]);
    }
    let head = ["a result of", "recorded", "a GPU gave the same", "nobody asked a GPU"];
    let mut text = table::markdown(&head, rows);
    if !missing.is_empty() {
        let missing: Vec<String> = missing.iter().map(|(name, count)| format!("{name} ({count})")).collect();
        text += &format!("\nNobody asked a GPU about {}.\n", missing.join(", "));
    }
    text
}

/// The instruction of a line; of a test that needs several, its first one that is no help for the others.
fn name(line: &str) -> String {
    let opcode = |word: &&str| word.contains('.') && word.starts_with(|first: char| first.is_ascii_lowercase());
    let helps = ["shr", "shl", "mov", "and", "add", "mad", "ld"];
    let mut own = line.split([' ', '\t']).filter(opcode).map(|word| word.split('.').next().unwrap_or_default());
    let own = own.find(|word| !line.starts_with('{') || !helps.contains(word));
    format!("`{}`", own.unwrap_or("a statement"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_asked_about_is_counted_and_named() {
        let one = "# head\nadd.u32 in b32\t11\tNVIDIA H200, 2026-11-25\nex2.approx.f32 in b32\t12\tNVIDIA H200, 2026-11-25, within 1\n\
                   vmin4.u32 in b32\t13\n{ .reg .b32 %p; shl.b32 %p, 1; stmatrix.sync.x4 [%p]; } in b32\t14\n";
        let text = words(&[("one", one.to_owned()), ("other", "mma 8: 15\tNVIDIA H100, 2026-11-24\n".to_owned())]);
        assert!(text.contains("| one | 4 | 2 (NVIDIA H200, 2026-11-25) | 2 |"), "{text}");
        assert!(text.contains("| other | 1 | 1 (NVIDIA H100, 2026-11-24) | 0 |"), "{text}");
        assert!(text.ends_with("\nNobody asked a GPU about `stmatrix` (1), `vmin4` (1).\n"), "{text}");
    }
}
