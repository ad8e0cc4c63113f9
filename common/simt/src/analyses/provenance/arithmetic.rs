//! Follows values through arithmetic with several operands, and through matrix instructions: into fragments of a warp's
//! registers, and through tensor cores.

use super::block::{BlockOrigins, Request, values, word};
use super::nodes::{Change, Node, Operation, Tag};
use crate::exec::warpgroup::Descriptor;
use crate::lanes::each;
use crate::observe::Executed;
use ptx::lower::Home;
use ptx::lower::inst::Inst;
use ptx::lower::matrix::{Fragment, MatrixOp, Product, Scale, WarpgroupOp};
use ptx::place::Space;

/// Returns a word of shared memory, or 0 if it does not have the address.
fn shared_word(step: &Executed<'_>, address: u64) -> u64 {
    step.shared.get(address as usize / 4).map_or(0, |&word| word.into())
}

impl BlockOrigins {
    /// Sets the tags of an operation's result in the lanes where the origins of its operands are known. A sum stays known if a
    /// number of unknown origin is added to it or multiplies it.
    pub(super) fn computed(&mut self, step: &Executed<'_>, inst: &Inst, wide: bool, operation: Operation) {
        let number = if operation == Operation::MultiplyAdd { 3 } else { 2 };
        let operands = [inst.a, inst.b, inst.c].map(|place| self.operand(step, place));
        let mut out = [0; 32];
        if each(step.lanes).any(|lane| operands[..number].iter().any(|tags| tags[lane] != 0)) {
            let bits = values(step, inst.d, wide);
            for lane in each(step.lanes) {
                let [a, b, c] = operands.map(|tags| tags[lane]);
                let all = &[a, b, c][..number];
                if all.iter().all(|&tag| self.nodes.is_constant(tag)) {
                    out[lane] = self.nodes.constant(bits[lane]);
                    continue;
                }
                if all.contains(&0) && !all.iter().any(|&tag| self.nodes.is_sum(tag)) {
                    continue;
                }
                let (instruction, thread) = (step.instruction, 32 * step.warp + lane as u32);
                let node = match operation {
                    Operation::Multiply => Node::Product { a, b, instruction, thread },
                    Operation::Divide if b != 0 && !self.nodes.is_constant(b) => continue,
                    Operation::Divide => {
                        // The divisor may have been overwritten by the result, so it is computed from the result.
                        let [from, to] = [self.nodes.bits(a), bits[lane]].map(|bits| f32::from_bits(bits as u32));
                        let factor = if from == 0.0 { 1.0 } else { to / from };
                        let b = self.nodes.constant(factor.to_bits().into());
                        Node::Product { a, b, instruction, thread }
                    }
                    Operation::MultiplyAdd => Node::MultiplyAdd { a, b, c, instruction, thread },
                    Operation::Add => Node::Sum { a, b },
                    Operation::Subtract => {
                        let b = self.nodes.add(Node::Changed(b, Change::Negated), 0);
                        Node::Sum { a, b }
                    }
                };
                out[lane] = self.nodes.add(node, bits[lane]);
            }
        }
        self.result(step, inst.d, wide, &out);
    }

    /// Packs two numbers into the halves of a word; `rounded` says that they are first converted to half the size.
    pub(super) fn joined(&mut self, step: &Executed<'_>, to: u32, from: [u32; 2], rounded: bool) {
        let from = from.map(|place| self.operand(step, place));
        let (bits, change) = (values(step, to, false), Change::Converted(step.instruction));
        let tags = std::array::from_fn(|lane| {
            let [low, high] = [0, 1].map(|at| match from[at][lane] {
                value if rounded && value != 0 => {
                    self.nodes.add(Node::Changed(value, change), bits[lane] >> (16 * at) & 0xffff)
                }
                value => value,
            });
            self.nodes.halves([low, high], bits[lane])
        });
        self.set(step, to, &tags);
    }

    /// Follows a matrix instruction that has just been executed; `requests` are its accesses to memory, in order.
    pub(super) fn matrix(&mut self, step: &Executed<'_>, inst: &Inst, requests: &[Request]) {
        let launch = self.launch.clone();
        let matrix = &launch.code.matrices[inst.imm as usize];
        match &matrix.op {
            MatrixOp::Multiply([sum, a, b, c], _) => {
                let mut rest = &matrix.registers[sum.registers as usize..];
                let [a, b, c] = [a, b, c].map(|fragment| {
                    let (own, others) = rest.split_at(fragment.registers as usize);
                    rest = others;
                    self.elements(step, fragment, own)
                });
                let length = a.len() / sum.rows as usize;
                let columns = sum.columns as usize;
                let by_column = (0..b.len()).map(|at| b[at % length * columns + at / length]).collect::<Vec<_>>();
                self.multiplied(step, (sum, &matrix.registers), [&a, &by_column, &c]);
            }
            MatrixOp::Warpgroup(WarpgroupOp::Multiply(product)) => {
                self.multiplied_together(step, inst, product, &matrix.registers);
            }
            // A word of two halves is not followed into memory.
            MatrixOp::Rows { store: true, .. } => {
                for (request, lane) in requests.iter().flat_map(|request| (0..32).map(move |lane| (request, lane))) {
                    self.put(step, request.space, request.addresses[lane], lane, 0);
                }
            }
            MatrixOp::Rows { exchanged, .. } => {
                for (request, &place) in requests.iter().zip(&matrix.registers) {
                    let bits = values(step, place, false);
                    let tags = std::array::from_fn(|lane| {
                        if !exchanged {
                            return self.loaded(step, request.space, request.addresses[lane], lane, bits[lane]);
                        }
                        let half = |at: usize| {
                            let column = lane / 4;
                            request.addresses[4 * (2 * (lane % 4) + at) + column / 2] + 2 * (column as u64 % 2)
                        };
                        let halves = [0, 1].map(|at| self.cell(step, half(at), bits[lane] >> (16 * at) & 0xffff));
                        self.nodes.halves(halves, bits[lane])
                    });
                    self.set(step, place, &tags);
                }
            }
            MatrixOp::Move { fragment, by_column, store, .. } => {
                let Fragment { rows, columns, .. } = *fragment;
                let parts = fragment.parts() as usize;
                // Converts a position in memory order to one in row order.
                let element = |at: usize| {
                    if *by_column { at % rows as usize * columns as usize + at / rows as usize } else { at }
                };
                let words = requests.iter().flat_map(|request| (0..32).map(move |lane| (request, lane)));
                if *store {
                    let elements = self.elements(step, fragment, &matrix.registers);
                    for (at, (request, lane)) in words.enumerate() {
                        let tag = if parts == 1 { elements[element(at)] } else { 0 };
                        self.put(step, request.space, request.addresses[lane], lane, tag);
                    }
                    return;
                }
                let mut elements = vec![0; (rows * columns) as usize];
                for (at, (request, lane)) in words.enumerate() {
                    let (space, address) = (request.space, request.addresses[lane]);
                    let bits = if space == Space::Shared { shared_word(step, address) } else { word(step, address) };
                    let tag = self.loaded(step, space, address, lane, bits);
                    for part in 0..parts {
                        let of_part = if parts == 1 { tag } else { self.nodes.half(tag, part) };
                        elements[element(at * parts + part)] = of_part;
                    }
                }
                self.scatter(step, fragment, &matrix.registers, &elements);
            }
            MatrixOp::Warpgroup(_) => {}
        }
    }

    /// Follows a product of a warpgroup, D = ±A·±B or D = ±A·±B + D, for the sixteen rows of this warp.
    fn multiplied_together(&mut self, step: &Executed<'_>, inst: &Inst, product: &Product, registers: &[u32]) {
        let result = product.result();
        let (own, others) = registers.split_at(result.registers as usize);
        let adds = match product.scale {
            Scale::Never => false,
            Scale::Always => true,
            Scale::If { negated } => (step.registers.values(Home::Predicate(inst.c))[0] != 0) != negated,
        };
        let mut lines = |operand: usize, register: u32, first: u32, count: u32| {
            let mut tags = vec![0; (count * product.length()) as usize];
            let descriptor = Descriptor::read(step.registers.values(Home::Double(register))[0]);
            for piece in descriptor.iter().flat_map(|descriptor| descriptor.pieces(product, operand, first, count)) {
                for (address, place) in piece.elements(product) {
                    let word = shared_word(step, address.into());
                    tags[place] = match product.kind.bytes() {
                        2 => self.cell(step, address.into(), word >> (8 * (address % 4)) & 0xffff),
                        4 => self.cell(step, address.into(), word),
                        _ => 0,
                    };
                }
            }
            tags
        };
        let a = if product.in_registers { None } else { Some(lines(0, inst.a, 16 * (step.warp % 4), 16)) };
        let b = lines(1, inst.b, 0, product.columns);
        let a = a.unwrap_or_else(|| self.elements(step, &product.left(), &others[..4]));
        let [a, b] = [(a, product.negated[0]), (b, product.negated[1])].map(|(tags, negated)| {
            let changes = |tag: &Tag| negated && *tag != 0;
            let sign = |tag| if changes(&tag) { self.nodes.add(Node::Changed(tag, Change::Negated), 0) } else { tag };
            tags.into_iter().map(sign).collect::<Vec<_>>()
        });
        let zero = self.nodes.constant(0);
        let c = if adds { self.elements(step, &result, own) } else { vec![zero; 16 * product.columns as usize] };
        self.multiplied(step, (&result, own), [&a, &b, &c]);
    }

    /// Sets the tags of D = A·B + C. `a` holds the rows of A, `b` the columns of B, `c` is in row order, and D is in these registers.
    fn multiplied(&mut self, step: &Executed<'_>, (sum, registers): (&Fragment, &[u32]), [a, b, c]: [&[Tag]; 3]) {
        let (columns, length) = (sum.columns as usize, a.len() / sum.rows as usize);
        let [a, b] = [a, b]
            .map(|lines| lines.chunks_exact(length).map(|line| self.nodes.list(line.to_vec())).collect::<Vec<_>>());
        let (instruction, width) = (step.instruction, 32 / sum.parts());
        let held: Vec<_> = registers.iter().take(sum.registers as usize).map(|&at| values(step, at, false)).collect();
        let mut out = vec![0; c.len()];
        for (lane, register, part, at) in sum.places().filter(|place| c[place.3] != 0) {
            let bits = held[register][lane] >> (width * part as u32) & u64::MAX >> (64 - width);
            let (a, b, thread) = (a[at / columns], b[at % columns], 32 * step.warp + lane as u32);
            out[at] = self.nodes.add(Node::Lines { a, b, c: c[at], instruction, thread }, bits);
        }
        self.scatter(step, sum, registers, &out);
    }

    /// Returns the tags of a fragment's elements, in row order.
    fn elements(&mut self, step: &Executed<'_>, fragment: &Fragment, registers: &[u32]) -> Vec<Tag> {
        let mut out = vec![0; (fragment.rows * fragment.columns) as usize];
        let held: Vec<_> =
            registers.iter().take(fragment.registers as usize).map(|&place| self.operand(step, place)).collect();
        for (lane, register, part, at) in fragment.places() {
            let tag = held[register][lane];
            out[at] = match fragment.parts() {
                1 => tag,
                2 => self.nodes.half(tag, part),
                _ => 0,
            };
        }
        out
    }

    /// Sets the tags of a fragment's registers from those of its elements, which are in row order.
    fn scatter(&mut self, step: &Executed<'_>, fragment: &Fragment, registers: &[u32], elements: &[Tag]) {
        let mut held = vec![[0; 32]; fragment.registers as usize];
        let mut halves = vec![[[0; 2]; 32]; held.len()];
        for (lane, register, part, at) in fragment.places() {
            match fragment.parts() {
                1 => held[register][lane] = elements[at],
                2 => halves[register][lane][part] = elements[at],
                _ => {}
            }
        }
        for ((place, mut tags), halves) in registers.iter().zip(held).zip(halves) {
            let bits = values(step, *place, false);
            if fragment.parts() == 2 {
                tags = std::array::from_fn(|lane| self.nodes.halves(halves[lane], bits[lane]));
            }
            self.set(step, *place, &tags);
        }
    }
}
