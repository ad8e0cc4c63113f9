//! How an instruction passes on the doubts about its operands, byte by byte where it only moves bytes.

use super::doubts::{Bytes, width};
use super::quick::QuickMap;
use super::sets::{NOTHING, Set, Sets};
use crate::exec::source;
use crate::lanes::each;
use crate::observe::RegisterFile;
use ptx::lower::inst::{Function, Inst, Op};
use ptx::lower::{Code, Flow, Home};
use std::cell::OnceCell;
use std::sync::Arc;

/// The fields d, a, b, c and e of an instruction that is about to execute: the doubts about them, and their values.
pub(super) struct Operands<'a> {
    pub fields: [Option<Arc<Bytes>>; 5],
    homes: [Option<Home>; 5],
    registers: Option<&'a dyn RegisterFile>,
    known: [OnceCell<[u64; 32]>; 5],
}

impl<'a> Operands<'a> {
    pub(super) fn new(
        doubtful: &QuickMap<Home, Arc<Bytes>>,
        homes: &[Option<Home>; 5],
        registers: Option<&'a dyn RegisterFile>,
    ) -> Self {
        let fields = homes.map(|home| home.and_then(|home| doubtful.get(&home).cloned()));
        Self { fields, homes: *homes, registers, known: Default::default() }
    }

    fn bytes(&self, field: usize, lane: usize) -> [Set; 8] {
        self.fields[field].as_ref().map_or([NOTHING; 8], |bytes| bytes[lane])
    }

    fn is_doubtful(&self, field: usize, lane: usize) -> bool {
        self.bytes(field, lane) != [NOTHING; 8]
    }

    fn value(&self, field: usize, lane: usize) -> u64 {
        let values = || match (self.homes[field], self.registers) {
            (Some(home), Some(registers)) => registers.values(home),
            _ => [0; 32],
        };
        self.known[field].get_or_init(values)[lane]
    }
}

const A: usize = 1;
const B: usize = 2;
const C: usize = 3;

/// Whether an instruction has one result, each byte of which depends on all operands, whatever their values are.
pub(super) fn depends_on_all(inst: &Inst, homes: &[Option<Home>; 5]) -> bool {
    use Op::{And32, And64, Generic, Not32, Or32, Or64, Shl32, Shl64, ShrS32, ShrS64, ShrU32, ShrU64, Xor32, Xor64};
    let logic = matches!(inst.op, And32 | And64 | Not32 | Or32 | Or64 | Xor32 | Xor64 | Generic);
    let shifts = matches!(inst.op, Shl32 | Shl64 | ShrS32 | ShrS64 | ShrU32 | ShrU64);
    let moves = matches!(inst.op, Op::SignExtend | Op::Truncate | Op::ZeroExtend);
    let two = inst.op.writes()[4] && homes[4].is_some();
    inst.op.writes()[0] && !(logic || shifts || moves || two)
}

pub(super) struct Passing<'a> {
    pub sets: &'a mut Sets,
    pub inst: &'a Inst,
    pub code: &'a Code,
    pub operands: &'a Operands<'a>,
}

impl Passing<'_> {
    /// Returns the doubts about the results in d and e in some lanes, if there are any. `writes` says which fields are results.
    pub(super) fn results(&mut self, flow: Flow, lanes: u32, writes: [bool; 5]) -> [Option<Box<Bytes>>; 2] {
        let reads = |field: &usize| !writes[*field];
        if (0..5).filter(reads).all(|field| self.operands.fields[field].is_none()) {
            return [None, None];
        }
        let mut results = [Box::new([[NOTHING; 8]; 32]), Box::new([[NOTHING; 8]; 32])];
        let all_lanes = match flow {
            Flow::Lanes => each(lanes).fold(NOTHING, |all, lane| {
                let own = self.whole(lane, writes);
                self.sets.join(all, own)
            }),
            _ => NOTHING,
        };
        let second = writes[4] && self.operands.homes[4].is_some();
        // Lanes mostly have the same doubts as the lane before.
        let mut before: Option<(usize, Set)> = None;
        for lane in each(lanes) {
            let value = |field: usize| self.operands.value(field, lane);
            let [a, b, c] = [A, B, C].map(|field| self.operands.bytes(field, lane));
            let holds = |field: usize, decides: bool| (value(field) & 1 == 1) != decides;
            let result = match flow {
                Flow::Moves => Some(a),
                Flow::Select if c == [NOTHING; 8] => Some(if value(C) & 1 == 1 { a } else { b }),
                // An operand with the deciding value makes the other one irrelevant.
                Flow::Both { decides } => {
                    let open = |own: [Set; 8], other: [Set; 8], field: usize| {
                        if other != [NOTHING; 8] || holds(field, decides) { own[0] } else { NOTHING }
                    };
                    let both = [open(a, b, B), open(b, a, A)];
                    Some(self.everywhere(&both))
                }
                Flow::Compare { decides } if c == [NOTHING; 8] && !holds(C, decides) => Some([NOTHING; 8]),
                Flow::Shuffle { mode } => {
                    let from = source(mode, lane, value(B) as u32, value(C) as u32).0;
                    let mut moved = self.operands.bytes(A, from);
                    if self.operands.is_doubtful(B, lane) || self.operands.is_doubtful(C, lane) {
                        moved = self.everywhere(&[moved, b, c].concat());
                    }
                    Some(moved)
                }
                Flow::Lanes => Some([all_lanes; 8]),
                _ => self.by_bytes(lane, [a, b, c]),
            };
            let is_like = |other: usize| self.operands.fields.iter().flatten().all(|bytes| bytes[lane] == bytes[other]);
            let whole = match before {
                _ if result.is_some() && !second => NOTHING,
                Some((other, whole)) if is_like(other) => whole,
                _ => {
                    let whole = self.whole(lane, writes);
                    before = Some((lane, whole));
                    whole
                }
            };
            results[0][lane] = result.unwrap_or([whole; 8]);
            results[1][lane] = match flow {
                Flow::Lanes => [all_lanes; 8],
                // Whether the other lane is in the segment.
                Flow::Shuffle { .. } => self.everywhere(&[b, c].concat()),
                _ => [whole; 8],
            };
        }
        results.map(Some)
    }

    fn everywhere(&mut self, sets: &[Set]) -> [Set; 8] {
        let all = self.sets.joined(sets);
        [self.sets.computed(all); 8]
    }

    /// Returns the doubts about what is computed from all operands in a lane.
    fn whole(&mut self, lane: usize, writes: [bool; 5]) -> Set {
        let fields = self.operands.fields.iter().zip(writes).filter(|(_, writes)| !writes);
        let fields = fields.filter_map(|(field, _)| field.as_deref());
        fields.fold(NOTHING, |all, bytes| {
            // Sums of what was computed already are the same sets again.
            let own = self.sets.joined(&bytes[lane]);
            let own = self.sets.computed(own);
            self.sets.join(all, own)
        })
    }

    /// Returns the doubts about a result if each of its bytes depends on some bytes of the operands only.
    fn by_bytes(&mut self, lane: usize, [a, b, c]: [[Set; 8]; 3]) -> Option<[Set; 8]> {
        let value = |field: usize| self.operands.value(field, lane);
        let byte = |value: u64, at: usize| value >> (8 * at) as u64 & 0xff;
        let shift = |y: u64, b: [Set; 8]| (b == [NOTHING; 8]).then_some(y.min(64) as usize);
        let wide = self.operands.homes[A].map_or(4, width);
        Some(match self.inst.op {
            Op::And32 | Op::And64 | Op::Or32 | Op::Or64 => {
                // A byte of zeros (or of ones) determines the result alone.
                let decides = if matches!(self.inst.op, Op::And32 | Op::And64) { 0 } else { 0xff };
                let (x, y) = (value(A), value(B));
                std::array::from_fn(|at| {
                    let fixed =
                        a[at] == NOTHING && byte(x, at) == decides || b[at] == NOTHING && byte(y, at) == decides;
                    if fixed { NOTHING } else { self.sets.join(a[at], b[at]) }
                })
            }
            Op::Xor32 | Op::Xor64 => std::array::from_fn(|at| self.sets.join(a[at], b[at])),
            Op::Not32 | Op::ZeroExtend | Op::Truncate => a,
            Op::SignExtend => std::array::from_fn(|at| a[at.min(3)]),
            Op::Shl32 | Op::Shl64 => {
                let by = shift(value(B), b)?;
                std::array::from_fn(|at| {
                    let own = |down: usize| at.checked_sub(by / 8 + down).map_or(NOTHING, |from| a[from]);
                    let [low, high] = [own(0), if by % 8 == 0 { NOTHING } else { own(1) }];
                    self.sets.join(low, high)
                })
            }
            Op::ShrU32 | Op::ShrU64 | Op::ShrS32 | Op::ShrS64 => {
                let by = shift(value(B), b)?;
                let signed = matches!(self.inst.op, Op::ShrS32 | Op::ShrS64);
                let top = if signed { a[wide - 1] } else { NOTHING };
                std::array::from_fn(|at| {
                    let own = |up: usize| if at + by / 8 + up < wide { a[at + by / 8 + up] } else { top };
                    let [low, high] = [own(0), if by % 8 == 0 { NOTHING } else { own(1) }];
                    self.sets.join(low, high)
                })
            }
            Op::Generic => {
                let detail = &self.code.details[self.inst.imm as usize];
                let size = detail.kind.bytes() as usize;
                match detail.function {
                    Function::Not => a,
                    Function::Unpack => {
                        let start = usize::from(detail.lut) * size;
                        std::array::from_fn(|at| if at < size && start + at < 8 { a[start + at] } else { NOTHING })
                    }
                    Function::Pack => {
                        let e = self.operands.bytes(4, lane);
                        std::array::from_fn(|at| [a, b, c, e].get(at / size).map_or(NOTHING, |part| part[at % size]))
                    }
                    Function::Prmt if c == [NOTHING; 8] => std::array::from_fn(|at| {
                        let from = (value(C) >> (4 * at) & 7) as usize;
                        if at >= 4 { NOTHING } else { [a, b][from / 4][from % 4] }
                    }),
                    Function::Cvt if detail.kind.is_integer() && detail.source.is_integer() && !detail.sat => {
                        let kept = size.min(detail.source.bytes() as usize);
                        let top = if detail.source.is_signed() { a[kept - 1] } else { NOTHING };
                        std::array::from_fn(|at| if at < kept { a[at] } else { top })
                    }
                    _ => return None,
                }
            }
            _ => return None,
        })
    }
}
