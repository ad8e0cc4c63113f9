//! From the verdicts on all elements of C to one finding: the mistake that most of them show, with one of them worked out.

use std::collections::HashMap;

use rayon::prelude::*;

use super::asked::{Asked, Kind, Place};
use super::element::{Element, Origins};
use super::judge::{Verdict, judge, whole};
use super::rule;
use super::teller::Teller;
use findings::analysis::HazardReport;

/// Why a product is wrong; none if its elements are right, or could not be followed.
pub fn explain(origins: &Origins, asked: &Asked) -> Option<HazardReport> {
    let mut counts: HashMap<Key, u64> = HashMap::new();
    let mut kept: Vec<(Element, Verdict)> = vec![];
    let mut looked_at = 0;
    // The sums that are complete for some element, with where each is stored; and whether any sum is not.
    let mut sums: Vec<(Place, i64)> = vec![];
    let mut mixed = false;
    let stored = origins.stores_of_c();
    let mut products = 0;
    let order: Vec<u64> = Origins::order(asked).take(MOST_ELEMENTS).collect();
    let judged = |&index: &u64| {
        let element = origins.element(asked, index, &stored);
        (whole(&element), judge(origins, asked, &element), element)
    };
    for (of, verdict, element) in order.chunks(AT_ONCE).flat_map(|some| some.par_iter().map(judged).collect::<Vec<_>>())
    {
        // One more element that is wrong in the same way tells nothing new.
        if products > MOST_PRODUCTS || looked_at >= ENOUGH && kept.len() as u64 >= MOST_KEPT {
            break;
        }
        products += element.with_zeros.len();
        looked_at += 1;
        mixed |= of.is_none() && element.store.is_some();
        sums.extend(of.map(|of| (of, (element.needs[0] * asked.problem.n + element.needs[1]) as i64)));
        if matches!(verdict, Verdict::Right | Verdict::Unknown) {
            continue;
        }
        let count = counts.entry(key(&element, &verdict)).or_default();
        *count += 1;
        if *count <= MOST_KEPT {
            kept.push((element, verdict));
        }
    }
    // If complete sums are displaced by one rule, the store is wrong. Whole rows that are moved may also have been read wrongly.
    let n = asked.problem.n as i64;
    let moved = rule::affine(&sums)
        .filter(|_| asked.batch == 1)
        .filter(|&[row, col, start]| !mixed && ((row, col) != (n, 1) || start % n != 0));
    // A sum also belongs elsewhere if nothing was stored in the element that it is for.
    let mut changed = false;
    for (element, verdict) in &mut kept {
        let is_moved = |&(row, col): &Place| {
            let is_stored = stored.contains_key(&(row * asked.columns() + col % asked.columns()));
            (moved.is_some() || !is_stored) && [row, col] != element.needs
        };
        if let Some(of) = whole(element).filter(is_moved) {
            *verdict = Verdict::Elsewhere(of);
            changed = true;
        }
    }
    if changed {
        counts.clear();
        for (element, verdict) in &kept {
            *counts.entry(key(element, verdict)).or_default() += 1;
        }
    }
    // Of those that explain as much, the first one.
    let keys = kept.iter().rev().map(|(element, verdict)| key(element, verdict));
    let (commonest, count) = keys.map(|key| (key, counts[&key])).max_by_key(|(key, count)| (key.0, *count))?;
    let is_alike = |(element, verdict): &&(Element, Verdict)| key(element, verdict) == commonest;
    let alike: Vec<&(Element, Verdict)> = kept.iter().filter(is_alike).collect();
    // The clearest example has small indices, no two of them the same, and none that is 0.
    let clear = |(element, _): &&(Element, Verdict)| {
        let Element { needs: [row, col], depth, .. } = *element;
        (row == col, row == 0 || col == 0, asked.kind == Kind::Lower && depth < 6, row + col)
    };
    // One example from each block: in a block that never received the element, only the load can be wrong.
    let mut of_blocks: Vec<&(Element, Verdict)> = vec![];
    for one in alike.iter().copied() {
        let block = |(element, _): &(Element, Verdict)| element.store.map(|store| store.block);
        match of_blocks.iter_mut().find(|known| block(known) == block(one)) {
            Some(known) if clear(&one) < clear(known) => *known = one,
            Some(_) => {}
            None => of_blocks.push(one),
        }
    }
    let teller = Teller { origins, asked, alike: &alike, element: &of_blocks.first()?.0, moved, count, looked_at };
    let arrives = |one: &(Element, Verdict)| Teller { element: &one.0, ..teller }.has_arrived(&one.1);
    let (element, verdict) = of_blocks.iter().min_by_key(|one| (arrives(one), clear(one)))?;
    Teller { element, ..teller }.tell(verdict, &stored)
}

/// Elements of C that all cores judge together.
const AT_ONCE: usize = 64;
/// At most so many elements of C are looked at, products in them, and elements kept for each mistake.
const MOST_ELEMENTS: usize = 4096;
const ENOUGH: u64 = 1024;
const MOST_PRODUCTS: usize = 1 << 16;
const MOST_KEPT: u64 = 256;

/// What tells one mistake from another: how much it explains, the verdict, and the operand.
type Key = (u8, std::mem::Discriminant<Verdict>, Option<usize>);

fn key(element: &Element, verdict: &Verdict) -> Key {
    let side = if let Verdict::Factor(side, ..) = verdict { Some(*side as usize) } else { None };
    // An element that was never stored explains least: its sum may have gone to another element.
    let says = match verdict {
        Verdict::Unwritten => 0,
        Verdict::Zero(..) if element.pairs.is_empty() => 1,
        Verdict::Empty | Verdict::Rounded(..) => 1,
        // With B·A, the other blocks take elements from anywhere, so this explains most.
        Verdict::Swapped => 3,
        _ => 2,
    };
    (says, std::mem::discriminant(verdict), side)
}
