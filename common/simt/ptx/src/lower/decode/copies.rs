//! Asynchronous copies from global to shared memory (`cp.async`, `cp.async.bulk`), and the barriers in shared memory (`mbarrier`)
//! at which copies may arrive.
//!
//! The manual does not define the 64 bits of a barrier. Here they hold, from the lowest bit up: how many arrivals this phase still
//! expects, and how many every phase expects, in 29 bits each, then the lowest bits of the phase's number. The bytes that the phase
//! expects are stored elsewhere (`simt::exec::access::copies`). The manual allows counts of 20 bits, but `cuda_awbarrier.h` counts
//! every thread 32,769 times, so it needs the larger counts of the hardware.

use super::decoder::{Decoder, Words, add, space};
use crate::Error;
use crate::ast::{Operand, Statement, Type};
use crate::lower::inst::{Atomic, AtomicOp, Compare, Copy, CopyCount, Detail, Function, Inst, NONE, Op, Preset, Shape};
use crate::place::Space;

/// How many bits each count has.
pub const COUNT_BITS: u32 = 29;

/// The lowest bit of the phase's number.
const PHASE: u32 = 2 * COUNT_BITS;

impl Decoder<'_> {
    pub(super) fn copy(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        self.refuse_if(!words.take("async"), "this copy")?;
        self.needs_target(80, "cp.async", "asynchronous copies need")?;
        if words.take("bulk") {
            return self.bulk_copy(statement, words);
        }
        if words.take("mbarrier") && words.take("arrive") {
            return self.copies_arrive(statement, words);
        }
        for (word, op) in [("commit_group", Op::CopyCommit), ("wait_all", Op::CopyWaitAll)] {
            if words.take(word) {
                self.done(&words)?;
                return self.finish(Inst::new(op));
            }
        }
        if words.take("wait_group") {
            self.done(&words)?;
            let [Operand::Integer(count)] = self.operands::<1>(statement)? else {
                return Err(self.malformed("a number of groups that is no number"));
            };
            let imm = count.clamp(0, i64::from(i32::MAX)) as i32;
            return self.finish(Inst { imm, ..Inst::new(Op::CopyWait) });
        }
        let level = words.one_of(&[("ca", true), ("cg", false)]);
        words.hints();
        let (to, from) = (words.pick(space), words.pick(space));
        self.done(&words)?;
        let (Some(any_size), Some(Space::Shared), Some(Space::Global)) = (level, to, from) else {
            return Err(self.refuse("this copy"));
        };
        self.malformed_if(!matches!(statement.operands.len(), 3 | 4), "3 or 4 operands are needed")?;
        let (to, to_offset, wide_to) = self.address(&statement.operands[0], Space::Shared)?;
        let (from, from_offset, _) = self.address(&statement.operands[1], Space::Global)?;
        let Operand::Integer(bytes) = statement.operands[2] else {
            return Err(self.malformed("a size that is no number"));
        };
        self.malformed_if(!(bytes == 16 || any_size && matches!(bytes, 4 | 8)), "a size this copy does not have")?;
        let mut inst = Inst::new(Op::CopyAsync);
        (inst.a, inst.b) = (to, from);
        let bytes = bytes as u32;
        let mut copy =
            Copy { bytes, to_offset, from_offset, wide_to, bypass: !any_size, count: CopyCount::Bytes, bulk: None };
        if let Some(operand) = statement.operands.get(3) {
            let value = self.register_of(operand);
            if let Some(value) = value
                && self.values[value as usize].kind == Type::Pred
            {
                copy.count = CopyCount::Ignore;
                inst.c = value;
            } else {
                let kind = value.map_or(Type::U32, |value| self.values[value as usize].kind);
                copy.count = match kind.bytes() {
                    4 => CopyCount::Bytes,
                    8 => CopyCount::WideBytes,
                    _ => return Err(self.refuse("a size in a register of this width")),
                };
                inst.c = self.source(operand, kind)?;
            }
        }
        inst.imm = add(&mut self.code.copies, copy);
        self.finish(inst)
    }

    /// `cp.async.bulk`: a thread copies any number of bytes, which arrive at a barrier.
    fn bulk_copy(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        self.needs_target(90, "cp.async.bulk", "bulk copies need")?;
        if words.take("prefetch") {
            return self.finish(Inst::new(Op::Nop));
        }
        let arrives = words.take("mbarrier::complete_tx::bytes");
        words.hints();
        let (to, from) = (words.pick(space), words.pick(space));
        self.done(&words)?;
        let (Some(Space::Shared), Some(Space::Global), true) = (to, from, arrives) else {
            return Err(self.refuse("this bulk copy"));
        };
        let [to, from, bytes, barrier] = &self.operands::<4>(statement)?;
        let (a, to_offset, wide_to) = self.address(to, Space::Shared)?;
        let (b, from_offset, _) = self.address(from, Space::Global)?;
        let (e, offset, wide) = self.address(barrier, Space::Shared)?;
        let bulk = Some((offset, wide));
        let copy = Copy { bytes: 16, to_offset, from_offset, wide_to, bypass: true, count: CopyCount::Bytes, bulk };
        let (c, imm) = (self.source(bytes, Type::U32)?, add(&mut self.code.copies, copy));
        self.finish(Inst { a, b, c, e, imm, ..Inst::new(Op::CopyAsync) })
    }

    pub(super) fn mbarrier(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let name = statement.words.get(1).map_or("", String::as_str);
        let _ = words.take(name);
        words.hints();
        let place = self.barrier_space(&mut words)?;
        let parity = words.take("parity");
        let complete = !words.take("noComplete");
        let expects = name == "expect_tx" || words.take("expect_tx");
        let kind = self.last_kind(words)?;
        let operands = &statement.operands;
        let count = operands.len();
        let wait = matches!(name, "test_wait" | "try_wait");
        let arrive = matches!(name, "arrive" | "arrive_drop");
        let fits = (wait || !parity) && (arrive || complete && (!expects || name == "expect_tx"));
        self.refuse_if(kind != Type::B64 || !fits, "this form of the instruction")?;
        let (load, store) = match place {
            Space::Shared => (Op::LdShared, Op::StShared),
            _ => (Op::LdGeneric, Op::StGeneric),
        };
        match (name, count) {
            ("init", 2) => {
                let expected = self.source(&operands[1], Type::U32)?;
                // Multiplying by this puts the count into both places.
                let twice = self.preset(Preset::Constant(1 | 1 << COUNT_BITS), false);
                let twice = self.widened(twice);
                let expected = self.widened(expected);
                let state = self.temporary(Type::B64, Inst { a: expected, b: twice, ..Inst::new(Op::Mul64) });
                let address = self.near_address(&operands[0], place)?;
                self.word(store, state, address);
            }
            ("inval", 1) => {
                let nothing = self.preset(Preset::Constant(0), true);
                let address = self.near_address(&operands[0], place)?;
                self.word(store, nothing, address);
            }
            ("arrive" | "arrive_drop", 2 | 3) if count == 3 || !expects => {
                let d = self.result(&operands[0], Type::B64)?;
                let (one, none) = (&Operand::Integer(1), &Operand::Integer(0));
                let last = operands.get(2).unwrap_or(one);
                let (by, bytes) = if expects { (one, last) } else { (last, none) };
                let op = if name == "arrive" { AtomicOp::Arrive } else { AtomicOp::ArriveDrop };
                self.arrive(op, d, (&operands[1], place), [by, bytes])?;
            }
            // These change only how many bytes the phase expects.
            ("expect_tx" | "complete_tx", 2) => {
                let mut bytes = operands[1].clone();
                if name == "complete_tx" {
                    let Operand::Integer(number) = bytes else {
                        return Err(self.refuse("a number of bytes in a register"));
                    };
                    bytes = Operand::Integer(-number);
                }
                self.arrive(AtomicOp::Arrive, NONE, (&operands[0], place), [&Operand::Integer(0), &bytes])?;
            }
            ("test_wait" | "try_wait", 3 | 4) => {
                let d = self.destination(&operands[0], Type::Pred)?;
                let awaited = self.source(&operands[2], if parity { Type::U32 } else { Type::B64 })?;
                let awaited = if parity { self.widened(awaited) } else { self.phase(awaited) };
                let state = self.unnamed(Type::B64);
                let address = self.near_address(&operands[1], place)?;
                // A waiting thread lets others run. Then copies that the barrier expects arrive.
                self.word(Op::Yield, NONE, address);
                self.word(load, state, address);
                let mut phase = self.phase(state);
                if parity {
                    let one = self.preset(Preset::Constant(1), true);
                    phase = self.temporary(Type::B64, Inst { a: phase, b: one, ..Inst::new(Op::And64) });
                }
                let imm = self.detail(Detail { compare: Compare::Ne, ..Detail::new(Function::Set, Type::B64) });
                self.push(Inst { d, a: phase, b: awaited, imm, ..Inst::new(Op::Setp) });
                // A thread that finds the phase complete acquires what the arriving threads have released.
                let guard = self.guard.replace((d, false));
                self.push(Inst::new(Op::Fence));
                self.guard = guard;
            }
            ("pending_count", 2) => {
                let d = self.destination(&operands[0], Type::U32)?;
                let a = self.source(&operands[1], Type::B64)?;
                let ones = self.preset(Preset::Constant((1 << COUNT_BITS) - 1), true);
                let pending = self.temporary(Type::B64, Inst { a, b: ones, ..Inst::new(Op::And64) });
                self.push(Inst { d, a: pending, ..Inst::new(Op::Truncate) });
            }
            _ => return Err(self.refuse("this form of the instruction")),
        }
        Ok(())
    }

    /// `cp.async.mbarrier.arrive.shared.b64 [barrier];`: waits for the thread's copies so far, then arrives. Without `.noinc`, the
    /// barrier expects this arrival in addition to the others, so the count does not change.
    pub(super) fn copies_arrive(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let counted = words.take("noinc");
        words.hints();
        let place = self.barrier_space(&mut words)?;
        let kind = self.last_kind(words)?;
        self.refuse_if(kind != Type::B64, "this type")?;
        self.count(statement, 1)?;
        self.push(Inst::new(Op::CopyWaitAll));
        if counted {
            let [one, none] = [1, 0].map(Operand::Integer);
            self.arrive(AtomicOp::Arrive, NONE, (&statement.operands[0], place), [&one, &none])?;
        }
        Ok(())
    }

    /// Adds `by` arrivals, and makes the phase expect this many more bytes.
    fn arrive(&mut self, op: AtomicOp, d: u32, at: (&Operand, Space), [by, bytes]: [&Operand; 2]) -> Result<(), Error> {
        let (barrier, space) = at;
        let (a, offset, wide) = self.address(barrier, space)?;
        let a = if wide { a } else { self.widened(a) };
        let by = self.source(by, Type::U32)?;
        let b = self.widened(by);
        let c = match bytes {
            Operand::Integer(0) => NONE,
            Operand::Integer(_) => self.source(bytes, Type::B64)?,
            _ => {
                let bytes = self.source(bytes, Type::U32)?;
                self.widened(bytes)
            }
        };
        let imm = add(&mut self.code.atomics, Atomic { op, kind: Type::B64, space, offset, leaves: false });
        self.finish(Inst { d, a, b, c, imm, ..Inst::new(Op::Atom) })
    }

    /// Returns the memory space that the words name for a barrier: shared memory, or generic if they name none.
    fn barrier_space(&self, words: &mut Words<'_>) -> Result<Space, Error> {
        match words.pick(space).unwrap_or(Space::Generic) {
            place @ (Space::Shared | Space::Generic) => Ok(place),
            _ => Err(self.malformed("a barrier that is not in shared memory")),
        }
    }

    /// Adds a load or store of a barrier.
    fn word(&mut self, op: Op, d: u32, (a, imm, wide_address): (u32, i32, bool)) {
        let sub = Shape { bytes: 8, count: 1, signed: false, wide: true, wide_address }.pack();
        self.push(Inst { sub, d, a, imm, ..Inst::new(op) });
    }

    /// Computes the phase's number from the state of a barrier.
    fn phase(&mut self, a: u32) -> u32 {
        let b = self.preset(Preset::Constant(PHASE.into()), false);
        self.temporary(Type::B64, Inst { a, b, ..Inst::new(Op::ShrU64) })
    }
}
