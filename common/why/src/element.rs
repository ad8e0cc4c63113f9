//! A launch of a product as the simulator followed it: each element of C with the pairs of A and B that formed it.

use std::collections::BTreeMap;

use simt::analyses::provenance::{Arrived, Formed, Passage, Provenance, Source, Store, Term, Value, single};
use simt::{Kernel, Location};

use super::asked::{Asked, Kind, Place, Side};
use findings::element::unmangled;
use findings::layout::Field;
use findings::places::{index, told, triple};

/// What a factor is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Factor {
    Of(Side, Place),
    /// The number that the kernel uses for an element beyond the edge.
    Zero,
    Number(f32),
    /// A word of shared memory that nobody has stored.
    Unset,
    /// An element of another array, C for instance.
    Other,
    /// A product or a sum.
    Computed,
    Unknown,
}

impl Factor {
    pub fn name(&self, asked: &Asked) -> String {
        match self {
            Self::Of(side, place) => asked.name(*side, *place),
            Self::Number(number) => number.to_string(),
            Self::Other => "an element of C".into(),
            Self::Computed => "a product or a sum".into(),
            Self::Zero | Self::Unset | Self::Unknown => "something else".into(),
        }
    }

    /// As a part of a formula.
    pub fn symbol(&self, asked: &Asked) -> String {
        match self {
            Self::Of(..) | Self::Number(_) => self.name(asked),
            Self::Zero => "0".into(),
            Self::Other => "C".into(),
            Self::Computed => "(…)".into(),
            Self::Unset | Self::Unknown => "?".into(),
        }
    }
}

/// The stores to C, by the index of the element, each in order.
pub type StoresOfC = BTreeMap<u64, Vec<Store>>;

/// A product in a sum.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The factor from A first, if there is one.
    pub factors: [(Factor, Value); 2],
    pub term: Term,
}

impl Pair {
    pub fn is_zero(&self) -> bool {
        self.factors.iter().any(|(factor, _)| *factor == Factor::Zero)
    }

    /// Whether a factor is a number of fewer bits, split from an element.
    pub fn has_part(&self) -> bool {
        self.factors.iter().any(|(_, value)| value.part)
    }

    /// Whether the product adds what was lost when an element was rounded to fewer bits.
    pub(super) fn is_loss(&self, needs: [u64; 2]) -> bool {
        self.has_part() && self.k_of(needs).is_some() && self.term.scale.to_bits() == 1.0f32.to_bits()
    }

    /// The element of an operand that is multiplied here.
    pub fn of(&self, side: Side) -> Option<(Place, Value)> {
        self.factors.iter().find_map(|&(factor, value)| match factor {
            Factor::Of(of, place) if of == side => Some((place, value)),
            _ => None,
        })
    }

    /// How an element of an operand last went through shared memory, if it did.
    pub fn shared(&self, side: Side) -> Option<Passage> {
        self.of(side)?.1.shared
    }

    /// The elements of A and of B that are multiplied here, if it is one of each.
    pub fn places(&self) -> Option<[Place; 2]> {
        match &self.factors {
            [(Factor::Of(Side::A, a), _), (Factor::Of(Side::B, b), _)] => Some([*a, *b]),
            _ => None,
        }
    }

    /// The k of both factors, if they are of this row of A and of this column of B.
    pub fn k_of(&self, needs: [u64; 2]) -> Option<u64> {
        let [(row, p), (col, q)] = self.places()?;
        ([row, col] == needs && p == q).then_some(p)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Element {
    /// Its row of A and its column of B, as [`Asked`] counts them.
    pub needs: [u64; 2],
    pub depth: u64,
    /// The factor of all its products, and the factor of what was in C.
    pub weights: [f32; 2],
    /// The instruction that multiplied them so.
    pub scaled: Option<u32>,
    pub name: String,
    /// Who stored it last, if anybody did.
    pub store: Option<Store>,
    /// Without those with a zero.
    pub pairs: Vec<Pair>,
    pub with_zeros: Vec<Pair>,
    /// For each operand, whether what was lost when it was rounded to fewer bits is added.
    pub losses: [bool; 2],
    pub formed: Formed,
    /// It is the product of a sum.
    pub of_sums: bool,
    /// The instructions that read what was in C.
    pub reads_of_c: Vec<u32>,
    /// The stores before the last one.
    pub earlier: Vec<Store>,
}

impl Element {
    /// The row of A, or column of B, that it needs.
    pub fn own(&self, side: Side) -> u64 {
        self.needs[side as usize]
    }
}

/// A launch whose values were followed.
#[derive(Debug)]
pub struct Origins {
    kernel: Kernel,
    provenance: Provenance,
    /// The arrays in global memory, by their names.
    arrays: Vec<String>,
    fields: Vec<Field>,
}

impl Origins {
    /// Of a launch of this kernel on this memory.
    pub fn new(kernel: Kernel, provenance: Provenance, memory: &simt::GlobalMemory, fields: Vec<Field>) -> Self {
        let arrays = memory.allocations().iter().map(|array| array.name.clone()).collect();
        Self { kernel, provenance, arrays, fields }
    }

    /// The indices of all elements of C, in an order in which the first ones are spread over all of it.
    pub(super) fn order(asked: &Asked) -> impl Iterator<Item = u64> + use<> {
        const PRIME: u64 = 7919;
        let total = asked.rows() * asked.columns();
        // Each of them comes once, unless their number is a multiple of the prime.
        let step = if total.is_multiple_of(PRIME) { 1 } else { PRIME };
        (0..total).map(move |number| number * step % total)
    }

    /// The stores to each element of C that was stored, by its place in memory.
    pub(super) fn stores_of_c(&self) -> StoresOfC {
        let mut stores = StoresOfC::new();
        for store in self.provenance.stores().into_iter().filter(|store| self.arrays[store.array] == "C") {
            stores.entry(store.index).or_default().push(store);
        }
        stores
    }

    /// One element of C, of these stores.
    pub(super) fn element(&self, asked: &Asked, index: u64, stores: &StoresOfC) -> Element {
        let mut earlier = stores.get(&index).cloned().unwrap_or_default();
        let store = earlier.pop();
        let mut formed = store.as_ref().map(|store| self.provenance.formed(store)).unwrap_or_default();
        // A compiler doubles a factor by adding it to itself, which gives its product twice.
        formed.terms.dedup_by(|again, term| {
            let [one, other] = [&*again, &*term].map(|of| (of.tag, of.factors.map(|factor| factor.source)));
            let is_same = asked.is_scaled() && !term.matrix && one == other;
            term.scale += if is_same { again.scale } else { 0.0 };
            is_same
        });
        // A factor may be a sum itself, which gives several terms. Only the task of row sums can be solved in that way.
        let spread = |pair: &[Term]| {
            let one = pair[0].tag == pair[1].tag && !pair[0].matrix;
            one && pair[0].factors.map(|of| of.source) != pair[1].factors.map(|of| of.source)
        };
        let spreads = asked.kind != Kind::RowSums && formed.terms.windows(2).any(spread);
        // One such product alone cannot be right. Of several, nothing is known.
        let of_sums = spreads && formed.terms.windows(2).all(|pair| pair[0].tag == pair[1].tag);
        if spreads && !of_sums {
            formed.rest.push(Value::default());
        }
        let needs = asked.needs(index);
        let (depth, name, weights) = (asked.depth(needs[0]), asked.name_of_c(index), asked.weights);
        let mut all: Vec<Pair> = formed.terms.drain(..).map(|term| self.pair(asked, needs, &term)).collect();
        let mut element = Element { needs, depth, weights, name, store, of_sums, earlier, ..Element::default() };
        if asked.is_scaled() {
            element.weights[1] = 0.0;
            // A product with an element of C adds what was in C before.
            all.retain(|pair| match pair.factors.map(|(factor, _)| factor) {
                [Factor::Number(number), Factor::Other] | [Factor::Other, Factor::Number(number)] => {
                    element.weights[1] += pair.term.scale * if pair.term.negative { -number } else { number };
                    element.reads_of_c.extend(pair.factors.iter().filter_map(|(_, value)| value.loaded));
                    false
                }
                _ => true,
            });
            let weight = |value: &Value| if value.negated { -value.scale } else { value.scale };
            let of_c = formed.rest.extract_if(.., |value| self.factor(asked, value) == Factor::Other);
            let of_c: Vec<Value> = of_c.collect();
            element.weights[1] += of_c.iter().map(weight).sum::<f32>();
            element.reads_of_c.extend(of_c.iter().filter_map(|value| value.loaded));
        }
        let is_lost = |pair: &Pair, side| pair.is_loss(needs) && pair.of(side).is_some_and(|(_, value)| value.part);
        element.losses = Side::BOTH.map(|side| all.iter().any(|pair| is_lost(pair, side)));
        all.retain(|pair| !pair.is_loss(needs));
        if asked.is_scaled() && all.iter().all(|pair| pair.term.negative) {
            for Pair { term, .. } in &mut all {
                (term.negative, term.scale) = (false, -term.scale);
            }
        }
        let another = |pair: &&Pair| !pair.is_zero() && pair.term.scale.to_bits() != weights[0].to_bits();
        if let Some(Pair { term, .. }) = all.iter().find(another) {
            (element.weights[0], element.scaled) = (term.scale, term.scaled);
        }
        element.pairs = all.iter().filter(|pair| !pair.is_zero()).copied().collect();
        Element { with_zeros: all, formed, ..element }
    }

    /// The pairs of another store of the element.
    pub(super) fn pairs(&self, asked: &Asked, element: &Element, store: &Store) -> Vec<Pair> {
        let terms = self.provenance.formed(store).terms;
        let pairs = terms.iter().map(|term| self.pair(asked, element.needs, term));
        pairs.filter(|pair| !pair.is_loss(element.needs)).collect()
    }

    /// The first product of this kind that the block of an element formed (with `own`, the thread that stores it), and whether it
    /// goes on with the sum that was stored.
    pub(super) fn product(
        &self,
        asked: &Asked,
        of: &Element,
        own: bool,
        wanted: impl Fn(&Pair) -> bool,
    ) -> Option<(Pair, bool)> {
        let store = of.store.as_ref()?;
        let pair = |term: Term| {
            let formed = (!own || term.thread == store.number).then(|| self.pair(asked, of.needs, &term));
            formed.filter(&wanted)
        };
        self.provenance.product(store, pair)
    }

    fn pair(&self, asked: &Asked, [row, col]: [u64; 2], term: &Term) -> Pair {
        let mut factors = term.factors.map(|value| (self.factor(asked, &value), value));
        match &mut factors {
            [(Factor::Of(one, (r, _)), _), (Factor::Of(other, (c, _)), _)] if asked.kind == Kind::Symmetric => {
                // Both are of A: the one that lies in the element's row is the first.
                let second = usize::from(*r != row && *c == row || *r == col && *c != col);
                (*one, *other) = if second == 1 { (Side::B, Side::A) } else { (Side::A, Side::B) };
            }
            [(Factor::Of(Side::A, (_, k)), _), (Factor::Of(Side::B, (_, q)), _)]
            | [(Factor::Of(Side::B, (_, q)), _), (Factor::Of(Side::A, (_, k)), _)]
                if asked.kind == Kind::RowSums && *k / asked.problem.n == *q / asked.problem.n =>
            {
                *k = *q;
            }
            _ => {}
        }
        let [one, other] = factors.map(|(factor, _)| if let Factor::Of(side, _) = factor { Some(side) } else { None });
        if one != other && (other == Some(Side::A) || one == Some(Side::B)) {
            factors.swap(0, 1);
        }
        Pair { factors, term: *term }
    }

    pub(super) fn factor(&self, asked: &Asked, value: &Value) -> Factor {
        match value.source {
            // It is multiplied by a condition.
            Source::Element { .. } if value.scale == 0.0 => Factor::Zero,
            Source::Element { array, index } => match self.arrays[array].as_str() {
                "A" => Factor::Of(Side::A, asked.place(Side::A, index)),
                "B" => Factor::Of(Side::B, asked.place(Side::B, index)),
                _ => Factor::Other,
            },
            Source::Constant(bits) if single(bits) == 0.0 => Factor::Zero,
            Source::Constant(bits) => Factor::Number(single(bits)),
            Source::Computed => Factor::Computed,
            Source::Unknown if value.shared.is_some_and(|passage| passage.stored.is_none()) => Factor::Unset,
            Source::Unknown => Factor::Unknown,
        }
    }

    /// The variable in global memory from which a value comes, if that is no matrix.
    pub(super) fn variable(&self, value: &Value) -> Option<&str> {
        let Source::Element { array, .. } = value.source else { return None };
        Some(unmangled(&self.arrays[array])).filter(|name| !["A", "B", "C"].contains(name))
    }

    /// The elements of an operand that a block put into shared memory, in order.
    pub(super) fn arrived(&self, asked: &Asked, block: simt::Dim3, side: Side) -> Vec<(Place, Arrived)> {
        let place = |arrived: Arrived| match self.factor(asked, &arrived.value) {
            Factor::Of(of, place) if asked.array(of) == asked.array(side) => Some((place, arrived)),
            _ => None,
        };
        self.provenance.arrived(block).into_iter().filter_map(place).collect()
    }

    pub(super) fn location(&self, instruction: u32) -> Location {
        told(self.kernel.location(instruction))
    }

    pub(super) fn line(&self, instruction: u32) -> Option<u32> {
        self.location(instruction).line
    }

    /// Whether any instruction of the kernel multiplies numbers that are not whole.
    pub(super) fn multiplies(&self) -> bool {
        let has = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
        let does = |text: &str| has(text, &["fma.", "mma."]) || has(text, &["mul"]) && has(text, &[".f"]);
        self.instructions().any(|text| does(&text))
    }

    /// The text of all instructions of the kernel.
    pub(super) fn instructions(&self) -> impl Iterator<Item = String> {
        (0..self.kernel.instruction_count()).map(|number| self.kernel.location(number).instruction)
    }

    /// How many blocks ran, and the threads of each.
    pub(super) fn launched(&self) -> (usize, simt::Dim3) {
        self.provenance.launched()
    }

    /// The shared arrays that are declared without a size, by their names in the source.
    pub(super) fn dynamic_arrays(&self) -> impl Iterator<Item = &str> {
        let arrays = self.kernel.shared_arrays().iter().filter(|array| array.bytes == 0);
        arrays.map(|array| array.source_name.as_str())
    }

    pub(super) fn thread(&self, number: u32) -> String {
        triple(index(self.provenance.thread(number)))
    }

    /// The field of shared memory that a word is in. Its extents are empty if the launch gives its size, or if it is a structure
    /// that is not understood.
    pub(super) fn field(&self, at: u32) -> Option<&Field> {
        self.fields.iter().rfind(|field| field.offset <= at)
    }

    /// The buffer that a word is in, if there are several for one tile, and where it lies there.
    pub(super) fn in_buffer(&self, at: u32) -> (Option<u32>, (&str, &str, u32)) {
        let Some(field) = self.field(at) else { return (None, ("", "", at)) };
        let rest = at - field.offset;
        let (buffers, tile) = field.extents.split_first().unwrap_or((&1, &[]));
        let several = tile.len() == 2 || *buffers <= 4 && tile.iter().product::<u32>() >= 256;
        let buffer = (several && field.number.is_none()).then(|| field.bytes / buffers);
        let number = field.number.or(buffer.map(|bytes| rest / bytes));
        (number, (&field.root, &field.member, rest % buffer.unwrap_or(u32::MAX)))
    }

    /// The element of a shared array that a word of shared memory is.
    pub(super) fn word(&self, at: u32) -> simt::Place {
        self.field(at).map_or(simt::Place::Shared(at.into()), |field| field.element(at))
    }
}
