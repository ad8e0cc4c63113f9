//! Decodes each statement to instructions. A statement is refused unless every word of its opcode is understood.
//!
//! Plain arithmetic follows from the table of instructions (`plain`). Each other family of instructions has its own file.

mod compare;
mod control;
mod copies;
mod decoder;
mod matrix;
mod memory;
mod moves;
mod operands;
mod plain;
mod warp;

use crate::Error;
use crate::ast::{Operand, Statement, Type};
use crate::lower::inst::{Inst, Op};
use crate::lower::layout::{Flat, Layout};
use crate::lower::order::MemoryOrder;
use crate::lower::raw::{Decoded, Value};
pub use copies::COUNT_BITS;
use decoder::{Decoder, Words};
pub use plain::{Form, forms};

pub(super) fn decode(layout: Layout<'_>) -> Result<Decoded, Error> {
    let mut decoder = Decoder::new(layout);
    // The registers of all frames come first, so that a register and its value have the same number.
    for frame in &decoder.layout.frames {
        let registers = &decoder.layout.inner.program.functions[frame.function].registers;
        decoder.values.extend(registers.iter().map(|r| Value { name: r.name.clone(), kind: r.kind, preset: None }));
    }
    decoder.layout.place_dynamic();
    let flat = std::mem::take(&mut decoder.layout.flat);
    for item in &flat {
        match item {
            Flat::Label(frame, name) => {
                decoder.labels.insert((*frame, name.clone()), decoder.raws.len() as u32);
            }
            Flat::Pass { to, from, position } => {
                (decoder.position, decoder.guard, decoder.order) = (*position, None, MemoryOrder::default());
                decoder.pass(to, from)?;
            }
            Flat::Statement(frame, statement) => {
                decoder.frame = *frame;
                decoder.position = statement.position;
                decoder.guard = None;
                decoder.order = MemoryOrder::of(&statement.words);
                if let Some((id, negated)) = statement.guard {
                    decoder.guard = Some((decoder.register(id, Type::Pred)?, negated));
                }
                decoder.statement(statement)?;
            }
        }
    }
    // A kernel may end without `ret`, and a label may be at its very end.
    decoder.guard = None;
    decoder.push(Inst::new(Op::Exit));
    for (index, frame, label) in std::mem::take(&mut decoder.branches) {
        let known = decoder.labels.get(&(frame, label.clone())).copied();
        let Some(target) = known else {
            let line = decoder.raws[index].position.ptx;
            // The name of a label ends where the mark of its scope begins.
            let hidden = decoder.labels.keys().any(|(_, known)| known.split(' ').next() == Some(&*label));
            let hidden = if hidden { " here: it is inside braces that this branch is outside of" } else { "" };
            return Err(Error::parse(line, format!("there is no label {label}{hidden}")));
        };
        decoder.raws[index].targets.push(target);
    }
    let Decoder { layout, raws, values, mut code, .. } = decoder;
    code.param_bytes = layout.param_bytes;
    code.target = layout.inner.program.target;
    code.variables.sort_unstable();
    code.variables.dedup();
    code.static_shared_bytes = u32::try_from(layout.shared_bytes)
        .map_err(|_| Error::usage("the kernel declares more than 4 GiB of shared memory"))?;
    code.dynamic_shared_offset = layout.dynamic_offset();
    code.local_bytes = layout.local_bytes.next_multiple_of(16) as u32;
    code.shared_arrays = layout.shared;
    Ok(Decoded { raws, values, code })
}

/// Whether a load or store accesses 32 bytes.
fn wide(words: &[String]) -> bool {
    let count = words.iter().find_map(|word| word.strip_prefix('v').and_then(|count| count.parse::<u32>().ok()));
    let kind = words.last().and_then(|word| Type::named(word));
    count.zip(kind).is_some_and(|(count, kind)| count.saturating_mul(kind.bytes()) == 32)
}

impl Decoder<'_> {
    fn statement(&mut self, statement: &Statement) -> Result<(), Error> {
        let words = Words::new(statement);
        // Cache hints have no effect here.
        if statement.words[1..].iter().any(|word| word == "L2::cache_hint") && !statement.operands.is_empty() {
            let mut plain = statement.clone();
            plain.words.retain(|word| word != "L2::cache_hint");
            if let Some(policy) = plain.operands.pop() {
                self.source(&policy, Type::B64)?;
            }
            return self.statement(&plain);
        }
        match statement.words[0].as_str() {
            "setp" => self.setp(statement, words),
            "selp" => self.selp(statement, words),
            "slct" => self.slct(statement, words),
            "set" => self.set(statement, words),
            "mov" => self.mov(statement, words),
            "cvt" => self.cvt(statement, words),
            "cvta" => self.cvta(statement, words),
            "isspacep" => self.isspacep(statement, words),
            "ld" | "st" if wide(&statement.words) => self.wide_access(statement),
            "createpolicy" => self.policy(statement),
            "ld" | "ldu" | "st" => self.memory(statement, words, statement.words[0] != "st"),
            "atom" | "red" => self.atomic(statement, words),
            "cp" => self.copy(statement, words),
            "mbarrier" => self.mbarrier(statement, words),
            "bra" | "ret" | "exit" | "trap" | "brkpt" | "brx" => self.control(statement, words),
            "mma" | "wmma" | "ldmatrix" | "stmatrix" => self.matrix(statement, words),
            "wgmma" => self.warpgroup(statement, words),
            "call" => self.system_call(statement),
            "bar" | "barrier" => self.barrier(statement, words),
            "membar" | "fence" => {
                if self.order.proxy {
                    self.needs_target(90, "fence.proxy.async", "it needs")?;
                }
                self.finish(Inst::new(Op::Fence))
            }
            "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" => self.warp(statement, words),
            "nanosleep" => self.finish(Inst::new(Op::Yield)),
            "prefetch" | "prefetchu" | "pmevent" | "discard" | "applypriority" | "griddepcontrol" | "setmaxnreg" => {
                self.finish(Inst::new(Op::Nop))
            }
            _ if plain::carries(statement) => self.carry(statement, words),
            _ => self.plain(statement, words),
        }
    }

    /// Makes a cache policy. Any number will do.
    fn policy(&mut self, statement: &Statement) -> Result<(), Error> {
        let Some(to) = statement.operands.first() else { return Err(self.malformed("no operands")) };
        self.compute(Inst::new(Op::Mov64), (to, Type::B64), &[(&Operand::Integer(0), Type::B64)])
    }
}
