//! Follows values through arithmetic with several operands.

use super::block::{BlockOrigins, values};
use super::nodes::{Node, Operation};
use crate::lanes::each;
use crate::lower::inst::Inst;
use crate::observe::Executed;

impl BlockOrigins {
    /// The result of an operation, if anything is known of its operands.
    pub(super) fn computed(&mut self, step: &Executed<'_>, inst: &Inst, wide: bool, operation: Operation) {
        // What a sum is divided by is a number, from wherever.
        let number = match operation {
            Operation::MultiplyAdd => 3,
            Operation::Divide => 1,
            _ => 2,
        };
        let operands = [inst.a, inst.b, inst.c].map(|place| self.operand(step, place));
        let mut out = [0; 32];
        let known = |lane: &usize| operands[..number].iter().all(|tags| tags[*lane] != 0);
        if each(step.lanes).any(|lane| known(&lane)) {
            let bits = values(step, inst.d, wide);
            for lane in each(step.lanes).filter(known) {
                let [a, b, c] = operands.map(|tags| tags[lane]);
                out[lane] = if [a, b, c].iter().take(number).all(|&tag| self.nodes.is_constant(tag)) {
                    self.nodes.constant(bits[lane])
                } else {
                    let (instruction, thread) = (step.instruction, 32 * step.warp + lane as u32);
                    let node = match operation {
                        Operation::Multiply => Node::Product { a, b, instruction, thread },
                        Operation::Divide if b != 0 && !self.nodes.is_constant(b) => continue,
                        Operation::Divide => {
                            // The divisor may be gone: the result has taken its register.
                            let [from, to] = [self.nodes.bits(a), bits[lane]].map(|bits| f32::from_bits(bits as u32));
                            let factor = if from == 0.0 { 1.0 } else { to / from };
                            let b = self.nodes.constant(factor.to_bits().into());
                            Node::Product { a, b, instruction, thread }
                        }
                        Operation::MultiplyAdd => Node::MultiplyAdd { a, b, c, instruction, thread },
                        Operation::Add => Node::Sum { a, b },
                        Operation::Subtract => {
                            let b = self.nodes.add(Node::Negated(b), 0);
                            Node::Sum { a, b }
                        }
                    };
                    self.nodes.add(node, bits[lane])
                };
            }
        }
        self.result(step, inst.d, wide, &out);
    }
}
