//! How a value was formed: a graph of nodes that point to earlier nodes, and the list of products that follows from it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Number of a node. 0 is a value of unknown origin.
pub type Tag = u32;

/// One step in how a value was formed. Instructions, threads and positions are numbers, as observers see them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Node {
    /// A value that is not followed.
    Unknown,
    /// A constant of the kernel, and the instruction that put it into a register, if one did.
    Constant { instruction: Option<u32> },
    /// A word that was loaded from global memory, after so many floating-point instructions of its warp.
    Element { array: u32, word: u32, loaded: u32, after: u32 },
    /// The value after something has happened to it.
    Changed(Tag, Change),
    /// `a` · `b`
    Product { a: Tag, b: Tag, instruction: u32, thread: u32 },
    /// `a` + `b`
    Sum { a: Tag, b: Tag },
    /// `a` · `b` + `c`
    MultiplyAdd { a: Tag, b: Tag, c: Tag, instruction: u32, thread: u32 },
    /// The result of tensor cores for a row of A and a column of B (both are numbers of lists), added to `c`.
    Lines { a: u32, b: u32, c: Tag, instruction: u32, thread: u32 },
    /// Two numbers in one word, the lower half first.
    Halves([Tag; 2]),
}

/// What happens to a value without a second one. The numbers are those of the instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// It is read from shared memory.
    Passed(Passage),
    /// It gets another type, or some of its bits are taken.
    Converted(u32),
    /// It is the larger or the smaller of two values.
    Chosen(u32),
    /// It is taken from another lane.
    Shuffled(u32),
    Negated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Multiply,
    Divide,
    Add,
    Subtract,
    MultiplyAdd,
}

/// The most nodes that the blocks of a launch make together. Values after that are of unknown origin.
const MOST: usize = 24 << 20;

/// The most steps for which a sum is followed, the most terms that are kept of it, and the most words of a factor that is a sum.
const MOST_STEPS: usize = 1 << 18;
const MOST_TERMS: usize = 1 << 14;
const MOST_WORDS: usize = 1 << 9;

/// The most words of factors that are looked at in a search among all products.
const MOST_SOUGHT: usize = 1 << 24;

/// The nodes of a block, each with the bits of the value that it represents.
#[derive(Debug)]
pub struct Nodes {
    all: Vec<(Node, u64)>,
    constants: HashMap<u64, Tag>,
    lists: Vec<Vec<Tag>>,
    most: usize,
    /// Whether some value was not followed to its end, because it has too many parts.
    cut: AtomicBool,
}

impl Default for Nodes {
    fn default() -> Self {
        Self::after(0)
    }
}

impl Nodes {
    /// Makes the nodes of a block, given how many nodes the blocks before it have made.
    pub(super) fn after(made: usize) -> Self {
        let all = vec![(Node::Unknown, 0)];
        let most = MOST.saturating_sub(made);
        Self { all, constants: HashMap::new(), lists: vec![], most, cut: AtomicBool::new(false) }
    }

    /// Whether some value was not followed to its end, because there are too many values or it has too many parts.
    pub(super) fn is_cut(&self) -> bool {
        self.cut.load(Relaxed)
    }

    /// Returns the number of nodes. All tags are smaller, and a later node has a larger tag.
    pub fn count(&self) -> Tag {
        self.all.len() as Tag
    }

    /// Returns the products of the value's last step: the value itself if it is a product, or what was added last.
    pub fn products_of(&self, tag: Tag) -> Vec<Term> {
        let term = |[a, b]: [Tag; 2], instruction, thread, matrix| {
            let factors = [a, b].map(|factor| self.value(factor));
            let [one, other] = factors.map(|factor| factor.scale);
            let negative = factors[0].negated ^ factors[1].negated;
            Term { factors, tag, instruction, thread, negative, scale: one * other, scaled: None, matrix }
        };
        match self.all.get(tag as usize).map(|(node, _)| *node) {
            Some(Node::Product { a, b, instruction, thread } | Node::MultiplyAdd { a, b, instruction, thread, .. }) => {
                vec![term([a, b], instruction, thread, false)]
            }
            Some(Node::Lines { a, b, instruction, thread, .. }) => {
                let [a, b] = [a, b].map(|list| &self.lists[list as usize]);
                a.iter().zip(b).map(|(&a, &b)| term([a, b], instruction, thread, true)).collect()
            }
            _ => vec![],
        }
    }

    /// Keeps a row or column of a matrix, and returns the number of its list.
    pub(super) fn list(&mut self, tags: Vec<Tag>) -> u32 {
        self.lists.push(tags);
        (self.lists.len() - 1) as u32
    }

    /// Adds a word that holds two numbers. The tag is 0 if neither number has a known origin.
    pub(super) fn halves(&mut self, halves: [Tag; 2], bits: u64) -> Tag {
        if halves == [0, 0] { 0 } else { self.add(Node::Halves(halves), bits) }
    }

    /// Returns the two numbers in a word, if it was formed from two.
    pub(super) fn both(&self, tag: Tag) -> Option<[Tag; 2]> {
        if let Node::Halves(both) = self.all[tag as usize].0 { Some(both) } else { None }
    }

    /// Returns one of the two numbers in a word. If nobody has set the word, or it is 0, the same holds for both numbers.
    pub(super) fn half(&self, tag: Tag, at: usize) -> Tag {
        match self.all[tag as usize].0 {
            Node::Halves(both) => both[at & 1],
            Node::Changed(_, Change::Passed(Passage { stored: None, .. })) => tag,
            _ if self.value(tag).source == Source::Constant(0) => tag,
            _ => 0,
        }
    }

    /// Whether these are the bits of a known value, or of one half of it.
    pub(super) fn is(&self, tag: Tag, bits: u64) -> bool {
        let known = self.bits(tag);
        tag != 0 && (known == bits || known & 0xffff_ffff == bits || known >> 32 == bits)
    }

    /// Adds a choice between two values: the one that has these bits.
    pub(super) fn chosen(&mut self, values: [Tag; 2], bits: u64, instruction: u32) -> Tag {
        let value = values.into_iter().find(|&tag| self.bits(tag) == bits).filter(|_| !values.contains(&0));
        value.map_or(0, |value| self.add(Node::Changed(value, Change::Chosen(instruction)), bits))
    }

    pub(super) fn absolute(&mut self, from: Tag, bits: u64, instruction: u32) -> Tag {
        let same = from == 0 || self.bits(from) == bits;
        let value = if same { from } else { self.add(Node::Changed(from, Change::Negated), bits) };
        if value == 0 { 0 } else { self.add(Node::Changed(value, Change::Chosen(instruction)), bits) }
    }

    pub(super) fn shuffled(&mut self, value: Tag, instruction: u32) -> Tag {
        if self.is_constant(value) || self.both(value).is_some() {
            return value;
        }
        self.add(Node::Changed(value, Change::Shuffled(instruction)), self.bits(value))
    }

    pub(super) fn add(&mut self, node: Node, bits: u64) -> Tag {
        if self.all.len() >= self.most {
            self.cut.store(true, Relaxed);
            return 0;
        }
        self.all.push((node, bits));
        (self.all.len() - 1) as Tag
    }

    /// Returns the node of a constant that no instruction puts into a register.
    pub(super) fn constant(&mut self, bits: u64) -> Tag {
        if let Some(&tag) = self.constants.get(&bits) {
            return tag;
        }
        let tag = self.add(Node::Constant { instruction: None }, bits);
        self.constants.insert(bits, tag);
        tag
    }

    pub(super) fn is_constant(&self, tag: Tag) -> bool {
        matches!(self.all[tag as usize].0, Node::Constant { .. })
    }

    pub(super) fn bits(&self, tag: Tag) -> u64 {
        self.all[tag as usize].1
    }

    /// Traces a value back to where it began: an element, a constant, or the last computation.
    pub fn value(&self, mut tag: Tag) -> Value {
        let mut value = Value { bits: self.bits(tag), scale: 1.0, ..Value::default() };
        loop {
            tag = match self.all[tag as usize].0 {
                Node::Changed(of, change) => {
                    match change {
                        Change::Passed(passage) => value.shared = value.shared.or(Some(passage)),
                        Change::Converted(instruction) => value.converted = value.converted.or(Some(instruction)),
                        Change::Shuffled(instruction) => value.shuffled = value.shuffled.or(Some(instruction)),
                        Change::Negated => value.negated = !value.negated,
                        Change::Chosen(_) => {}
                    }
                    of
                }
                // This arm and the next follow the part of a number that a conversion to fewer bits lost, perhaps times a factor.
                Node::Product { a, b, .. } if self.is_constant(a) || self.is_constant(b) => {
                    let (number, of) = if self.is_constant(a) { (a, b) } else { (b, a) };
                    value.scale *= single(self.bits(number));
                    of
                }
                Node::Sum { a, b } if value.converted.is_some() && self.is_loss(a, b) => {
                    value.part = true;
                    a
                }
                Node::Constant { instruction } => {
                    return Value { source: Source::Constant(self.bits(tag)), loaded: instruction, ..value };
                }
                Node::Element { array, word, loaded, after } => {
                    let source = Source::Element { array: array as usize, index: word.into() };
                    return Value { source, loaded: Some(loaded), after, ..value };
                }
                Node::Product { instruction, .. }
                | Node::MultiplyAdd { instruction, .. }
                | Node::Lines { instruction, .. } => {
                    return Value { source: Source::Computed, loaded: Some(instruction), ..value };
                }
                Node::Sum { .. } => return Value { source: Source::Computed, ..value },
                Node::Unknown | Node::Halves(_) => return value,
            };
        }
    }

    /// Whether the second value is the negated first one in another type, so that their sum is what the conversion lost.
    fn is_loss(&self, whole: Tag, part: Tag) -> bool {
        let [whole, part] = [whole, part].map(|tag| self.value(tag));
        whole.source == part.source
            && matches!(whole.source, Source::Element { .. })
            && part.negated
            && part.converted.is_some()
    }

    /// Returns the terms whose sum a value is.
    pub fn formed(&self, tag: Tag) -> Formed {
        let mut formed = Formed::default();
        // For each part still to visit: its tag, whether it is subtracted, and by which number and instruction it is scaled.
        let mut waiting = vec![(tag, false, (1.0, None))];
        // A sum that is added to itself again and again doubles its terms with each step, so the number of steps is limited.
        let mut steps = MOST_STEPS;
        while let Some((tag, negative, scale)) = waiting.pop() {
            if steps == 0 || formed.terms.len() >= MOST_TERMS {
                formed.rest.push(Value::default());
                self.cut.store(true, Relaxed);
                break;
            }
            steps -= 1;
            if let Some((factor, by, sum)) = self.scaled(tag) {
                waiting.push((sum, negative, (scale.0 * factor, by.or(scale.1))));
            } else {
                for term in self.products_of(tag).into_iter().rev().flat_map(|term| self.multiplied_out(term)) {
                    steps = steps.saturating_sub(1);
                    let [one, other] = term.factors.map(|factor| factor.negated);
                    let negative = negative ^ one ^ other;
                    formed.terms.push(Term { negative, scale: scale.0 * term.scale, scaled: scale.1, ..term });
                }
            }
            if self.is_sum(tag) {
                formed.sums.push(tag);
            }
            match self.all[tag as usize].0 {
                Node::Product { .. } => {}
                Node::MultiplyAdd { c, .. } | Node::Lines { c, .. } => waiting.push((c, negative, scale)),
                Node::Sum { a, b } if a == b && self.is_sum(a) => {}
                Node::Sum { a, b } => waiting.extend([(a, negative, scale), (b, negative, scale)]),
                Node::Changed(value, Change::Negated) => waiting.push((value, !negative, scale)),
                Node::Changed(value, change) if self.is_sum(value) || matches!(change, Change::Chosen(_)) => {
                    match change {
                        Change::Passed(passage) => formed.passages.push(passage),
                        Change::Converted(instruction) => formed.conversions.push(instruction),
                        Change::Chosen(instruction) => formed.chosen.push(instruction),
                        Change::Shuffled(_) | Change::Negated => {}
                    }
                    waiting.push((value, negative, scale));
                }
                _ => {
                    let value = self.value(tag);
                    let (negated, scale) = (value.negated ^ negative, value.scale * scale.0);
                    formed.rest.push(Value { negated, scale, ..value });
                }
            }
        }
        formed.terms.reverse();
        formed
    }

    /// Expands a product whose factor is a sum of words: returns the product with each of these words, the last one first.
    fn multiplied_out(&self, term: Term) -> Vec<Term> {
        let (Node::Product { a, b, .. } | Node::MultiplyAdd { a, b, .. }) = self.all[term.tag as usize].0 else {
            return vec![term];
        };
        for (at, sum) in [a, b].into_iter().enumerate().filter(|(_, factor)| self.is_sum(*factor)) {
            let (mut words, mut waiting) = (vec![], vec![sum]);
            let is_element = |word: &Value| matches!(word.source, Source::Element { .. });
            for _ in 0..MOST_WORDS {
                let Some(tag) = waiting.pop() else { break };
                match self.all[tag as usize].0 {
                    Node::Sum { a, b } => waiting.extend([a, b]),
                    Node::Changed(value, Change::Passed(_) | Change::Shuffled(_)) if self.is_sum(value) => {
                        waiting.push(value);
                    }
                    _ if self.bits(tag) as u32 == 0 && self.is_constant(tag) => {}
                    _ => words.push(self.value(tag)),
                }
                if !words.last().is_none_or(is_element) {
                    break;
                }
            }
            if waiting.is_empty() && words.iter().all(is_element) {
                let with = |word| Term { factors: [[word, term.factors[1]], [term.factors[0], word]][at], ..term };
                return words.into_iter().map(with).collect();
            }
        }
        vec![term]
    }

    /// If a node multiplies a sum by a number, returns the number (NaN if it is not known), the instruction and the sum. A compiler
    /// may also add a sum to itself instead of doubling it.
    fn scaled(&self, tag: Tag) -> Option<(f32, Option<u32>, Tag)> {
        let (a, b, by) = match self.all[tag as usize].0 {
            Node::Product { a, b, instruction, .. } | Node::MultiplyAdd { a, b, instruction, .. } => {
                (a, b, instruction)
            }
            Node::Sum { a, b } if a == b && self.is_sum(a) => return Some((2.0, None, a)),
            _ => return None,
        };
        let (one, sum) = [(a, b), (b, a)].into_iter().find(|&(_, sum)| self.is_sum(sum))?;
        match self.value(one) {
            Value { source: Source::Constant(bits), .. } => Some((single(bits), Some(by), sum)),
            Value { source: Source::Unknown, shared: None, .. } => Some((f32::NAN, Some(by), sum)),
            _ => None,
        }
    }

    /// Whether this is a product or a sum, perhaps after conversions or a way through shared memory.
    pub fn is_sum(&self, mut tag: Tag) -> bool {
        loop {
            match self.all[tag as usize].0 {
                Node::Product { .. } | Node::MultiplyAdd { .. } | Node::Sum { .. } | Node::Lines { .. } => return true,
                Node::Changed(value, _) => tag = value,
                _ => return false,
            }
        }
    }

    /// Returns all products that were formed, in order.
    pub(super) fn products(&self) -> impl Iterator<Item = Term> {
        let mut left = MOST_SOUGHT;
        (0..self.count()).flat_map(|tag| self.products_of(tag)).flat_map(move |term| {
            let words = if left == 0 { vec![term] } else { self.multiplied_out(term) };
            left = left.saturating_sub(words.len());
            words
        })
    }

    /// Whether the sum `later` was formed by adding to the sum `earlier`.
    pub(super) fn continues(&self, mut later: Tag, earlier: Tag) -> bool {
        while later != earlier {
            later = match self.all[later as usize].0 {
                Node::MultiplyAdd { c, .. } | Node::Lines { c, .. } => c,
                Node::Sum { a, .. } if self.is_sum(a) => a,
                Node::Sum { b, .. } => b,
                Node::Changed(_, Change::Passed(_)) => return false,
                Node::Changed(value, _) => value,
                _ => return false,
            };
        }
        true
    }
}

/// Returns a number of 32 or 64 bits. The upper half of one of 64 bits is 0 only if it is 0 or next to it.
pub fn single(bits: u64) -> f32 {
    if bits >> 32 == 0 { f32::from_bits(bits as u32) } else { f64::from_bits(bits) as f32 }
}

/// The terms whose sum a stored value is.
#[derive(Debug, Clone, Default)]
pub struct Formed {
    /// The products, in the order in which they were added.
    pub terms: Vec<Term>,
    /// The intermediate sums, the last one first.
    pub sums: Vec<Tag>,
    /// Parts that are not products: the number that the sum began with, or values that were not followed.
    pub rest: Vec<Value>,
    /// Instructions that converted the sum to another type.
    pub conversions: Vec<u32>,
    /// Instructions that took the larger or the smaller of two values.
    pub chosen: Vec<u32>,
    /// How parts of the sum went through shared memory.
    pub passages: Vec<Passage>,
}

/// A product that is part of a sum.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)] // Only of fields: their names say enough.
pub struct Term {
    /// The factors, in the order of the instruction.
    pub factors: [Value; 2],
    /// The product, or the sum that it was added to.
    pub tag: Tag,
    pub instruction: u32,
    /// The number in its block of the thread that multiplies.
    pub thread: u32,
    pub negative: bool,
    /// The number by which the product was scaled, in its factors and afterwards; NaN if it is not known.
    pub scale: f32,
    /// The instruction that scaled the sum afterwards, if it was a multiplication.
    pub scaled: Option<u32>,
    /// Whether tensor cores computed it.
    pub matrix: bool,
}

/// A value, where it began, and what happened to it on its way.
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs)] // Only of fields: their names say enough.
pub struct Value {
    pub source: Source,
    /// Its bits at the place where it was used.
    pub bits: u64,
    /// The instruction that loaded it from global memory, set the constant, or computed it.
    pub loaded: Option<u32>,
    /// How many floating-point instructions the warp that loaded it had executed before. See [`super::Placed::after`].
    pub after: u32,
    /// How it last went through shared memory.
    pub shared: Option<Passage>,
    /// The latest instruction that converted it to another type or took some of its bits.
    pub converted: Option<u32>,
    /// The latest instruction that took it from another lane.
    pub shuffled: Option<u32>,
    pub negated: bool,
    /// Whether it is only the part that a conversion to fewer bits lost.
    pub part: bool,
    /// The number by which it was multiplied.
    pub scale: f32,
}

/// Where a value began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Source {
    /// It was not followed.
    #[default]
    Unknown,
    /// A constant of the kernel, by its bits.
    Constant(u64),
    /// A word of an array in global memory; the array is given by its place among the allocations.
    #[allow(missing_docs)] // The names say it.
    Element { array: usize, index: u64 },
    /// A product or a sum.
    Computed,
}

/// A value's way through shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// Its first byte in the block's shared memory.
    pub address: u32,
    /// The instruction that put it there, or `None` if nobody did.
    pub stored: Option<u32>,
    /// The number in its block of the thread that put it there.
    pub by: u32,
    /// The instruction that read it.
    pub loaded: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(nodes: &mut Nodes, word: u32) -> Tag {
        nodes.add(Node::Element { array: 0, word, loaded: 0, after: 0 }, 1)
    }

    /// Adds up `count` products of the same two factors.
    fn sum(nodes: &mut Nodes, [a, b]: [Tag; 2], count: usize) -> Tag {
        (0..count).fold(0, |c, _| nodes.add(Node::MultiplyAdd { a, b, c, instruction: 0, thread: 0 }, 1))
    }

    #[test]
    fn a_sum_of_products_with_sums_is_followed_within_bounds() {
        let mut nodes = Nodes::after(0);
        let factors = [0, 1].map(|word| element(&mut nodes, word));
        let long = sum(&mut nodes, factors, MOST_TERMS - 1);
        assert_eq!(nodes.formed(long).terms.len(), MOST_TERMS - 1);
        assert!(!nodes.is_cut());

        let mut row = factors[0];
        for word in 2..MOST_WORDS as u32 / 2 {
            let b = element(&mut nodes, word);
            row = nodes.add(Node::Sum { a: row, b }, 1);
        }
        let all = sum(&mut nodes, [row, factors[1]], 1 << 14);
        assert!(nodes.formed(all).terms.len() < MOST_TERMS + MOST_WORDS);
        assert!(nodes.is_cut());
        assert!(nodes.products().count() < 2 * MOST_SOUGHT);
    }

    #[test]
    fn all_blocks_together_make_so_many_nodes() {
        let mut nodes = Nodes::after(MOST - 3);
        let tags: Vec<Tag> = (0..4).map(|word| element(&mut nodes, word)).collect();
        assert_eq!(tags, [1, 2, 0, 0]);
        assert!(nodes.is_cut());
    }
}
