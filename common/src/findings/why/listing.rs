//! What formed an element of C, in a few lines: for a right product too.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::asked::Asked;
use super::element::{Element, Factor, Origins, Pair};
use crate::code::places::{index, triple, who};

/// Products that are written out at the beginning of a sum; the last one follows.
const SHOWN: usize = 2;

/// The element as the sum that it is, who formed it in which lines, and the way of its first two factors.
pub fn listing(origins: &Origins, asked: &Asked, [row, col]: [u64; 2]) -> String {
    let element = &origins.at(asked, row, col);
    let Some(store) = element.store else {
        return format!("  C[{row}][{col}] was never stored\n");
    };
    let (name, who) = (&element.name, who(store.block, store.thread));
    let line = |instruction| origins.line(instruction).map_or_else(|| "?".to_owned(), |line| line.to_string());
    let mut text = format!("  {name} = {}\n", sum(element, asked));
    let count = element.pairs.len();
    let lines: BTreeSet<Option<u32>> = element.pairs.iter().map(|pair| origins.line(pair.term.instruction)).collect();
    let lines: Vec<String> = lines.into_iter().flatten().map(|line| line.to_string()).collect();
    let (products, lines) = (if count == 1 { "product" } else { "products" }, lines.join(", "));
    let _ =
        writeln!(text, "  by {who}, {count} {products} in line {lines}, stored in line {}", line(store.instruction));
    for (factor, value) in element.pairs.iter().take(1).flat_map(|pair| pair.factors) {
        let name = word(&factor, asked);
        let loaded = value.loaded.map(line).unwrap_or_default();
        let _ = match value.shared {
            None => writeln!(text, "  {name} was read in line {loaded}"),
            Some(passage) => {
                let (by, cell) = (triple(index(origins.thread(passage.by))), origins.word(passage.address));
                let stored = passage.stored.map(line).unwrap_or_default();
                let read = line(passage.loaded);
                writeln!(
                    text,
                    "  {name} was read in line {loaded}, stored in {cell} by thread {by} in line {stored}, and read there in line {read}"
                )
            }
        };
    }
    text
}

fn word(factor: &Factor, asked: &Asked) -> String {
    match factor {
        Factor::Of(side, place) => asked.name(*side, *place),
        Factor::Number(number) => number.to_string(),
        Factor::Zero => "0".into(),
        Factor::Other => "C".into(),
        Factor::Computed => "(…)".into(),
        Factor::Unset | Factor::Unknown => "?".into(),
    }
}

fn sum(element: &Element, asked: &Asked) -> String {
    let product = |pair: &Pair| {
        let [a, b] = pair.factors.map(|(factor, _)| word(&factor, asked));
        format!("{}{a}·{b}", if pair.term.negative { "-" } else { "" })
    };
    let Some((last, pairs)) = element.pairs.split_last() else { return "no product".into() };
    let mut parts: Vec<String> = pairs.iter().take(SHOWN).map(product).collect();
    parts.extend((pairs.len() > SHOWN).then(|| "…".to_owned()));
    parts.push(product(last));
    parts.join(" + ")
}
