//! What formed an element of C, in a few lines: for a right product too.

use std::collections::BTreeSet;

use super::asked::Asked;
use super::element::{Element, Origins, Pair};
use findings::places::who;

/// Products that are written out at the beginning of a sum; the last one follows.
const SHOWN: usize = 2;

/// The element as the sum that it is, who formed it in which lines, and the way of its first two factors.
pub fn listing(origins: &Origins, asked: &Asked, [row, col]: [u64; 2]) -> String {
    let element = &origins.element(asked, row * asked.columns() + col, &origins.stores_of_c());
    let Some(store) = element.store else {
        return format!("  C[{row}][{col}] was never stored\n");
    };
    let (name, who) = (&element.name, who(store.block, store.thread));
    let line = |instruction| origins.line(instruction).map_or_else(|| "?".to_owned(), |line| line.to_string());
    let lines: BTreeSet<Option<u32>> = element.pairs.iter().map(|pair| origins.line(pair.term.instruction)).collect();
    let lines: Vec<String> = lines.into_iter().flatten().map(|line| line.to_string()).collect();
    let (count, lines, stored) = (element.pairs.len(), lines.join(", "), line(store.instruction));
    let products = if count == 1 { "product" } else { "products" };
    let mut text = format!("  {name} = {}\n", sum(element, asked));
    text += &format!("  by {who}, {count} {products} in line {lines}, stored in line {stored}\n");
    for (factor, value) in element.pairs.iter().take(1).flat_map(|pair| pair.factors) {
        text += &format!("  {} was read in line {}", factor.symbol(asked), value.loaded.map(line).unwrap_or_default());
        if let Some(passage) = value.shared {
            let (by, cell) = (origins.thread(passage.by), origins.word(passage.address));
            let (stored, read) = (passage.stored.map(line).unwrap_or_default(), line(passage.loaded));
            text += &format!(", stored in {cell} by thread {by} in line {stored}, and read there in line {read}");
        }
        text.push('\n');
    }
    text
}

fn sum(element: &Element, asked: &Asked) -> String {
    let product = |pair: &Pair| {
        let [a, b] = pair.factors.map(|(factor, _)| factor.symbol(asked));
        format!("{}{a}·{b}", if pair.term.negative { "-" } else { "" })
    };
    let Some((last, pairs)) = element.pairs.split_last() else { return "no product".into() };
    let mut parts: Vec<String> = pairs.iter().take(SHOWN).map(product).collect();
    parts.extend((pairs.len() > SHOWN).then(|| "…".to_owned()));
    parts.push(product(last));
    parts.join(" + ")
}
