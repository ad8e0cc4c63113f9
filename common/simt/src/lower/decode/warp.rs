//! What the lanes of a warp do together: `shfl`, `vote`, `match`, `redux`, `activemask`.

use super::decoder::{A, B, C, D, Decoder, E};
use super::words::Words;
use crate::Error;
use crate::ast::{Operand, Statement, Type};
use crate::lower::inst::{Inst, Op, sub};

impl Decoder<'_> {
    pub(super) fn warp(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let name = statement.words[0].as_str();
        let sync = words.take("sync");
        if name != "activemask" && !sync {
            return Err(self.refuse("warp-wide instructions without .sync"));
        }
        let mode = words.pick(|word| {
            Some(match word {
                "up" => sub::UP,
                "down" => sub::DOWN,
                "bfly" => sub::BFLY,
                "idx" => sub::IDX,
                _ => return None,
            })
        });
        let vote = words.pick(|word| {
            Some(match word {
                "all" => sub::ALL,
                "any" => sub::ANY,
                "uni" => sub::UNI,
                "ballot" => sub::BALLOT,
                _ => return None,
            })
        });
        let reduction = words.pick(|word| {
            Some(match word {
                "add" => sub::ADD,
                "min" => sub::MIN_S,
                "max" => sub::MAX_S,
                "and" => sub::AND,
                "or" => sub::OR,
                "xor" => sub::XOR,
                _ => return None,
            })
        });
        let kind = self.kind(&mut words)?;
        self.done(&words)?;
        let operands = &statement.operands;
        let (first, second) = match operands.first() {
            Some(Operand::Pair(first, second)) => (&**first, Some(&**second)),
            Some(first) => (first, None),
            None => return Err(self.malformed("no operands")),
        };
        match (name, mode, vote, reduction) {
            ("activemask", ..) => {
                self.count(statement, 1)?;
                let mut inst = Inst::new(Op::ActiveMask);
                inst.d = self.destination(first, Type::B32)?;
                self.push(inst, D, D);
            }
            ("shfl", Some(mode), ..) => {
                self.count(statement, 5)?;
                let mut inst = Inst::new(Op::Shfl);
                inst.sub = mode;
                let mut fields = A | B | C;
                let mut defs = 0;
                if *first != Operand::Sink {
                    inst.d = self.destination(first, Type::B32)?;
                    defs |= D;
                }
                inst.a = self.source(&operands[1], Type::B32)?;
                inst.b = self.source(&operands[2], Type::U32)?;
                inst.c = self.source(&operands[3], Type::U32)?;
                if let Some(second) = second
                    && *second != Operand::Sink
                {
                    inst.e = self.destination(second, Type::Pred)?;
                    defs |= E;
                }
                // The mask is checked by an instruction of its own.
                let mut check = Inst::new(Op::WarpSync);
                check.a = self.source(&operands[4], Type::B32)?;
                check.imm = 1;
                self.push(check, A, 0);
                fields |= defs;
                self.push(inst, fields, defs);
            }
            ("vote", _, Some(mode), _) => {
                self.count(statement, 3)?;
                let mut inst = Inst::new(Op::Vote);
                inst.sub = mode;
                inst.d = self.destination(first, if mode == sub::BALLOT { Type::B32 } else { Type::Pred })?;
                let (value, negated) = self.condition(&operands[1])?;
                inst.a = value;
                inst.imm = i32::from(negated);
                inst.b = self.source(&operands[2], Type::B32)?;
                self.push(inst, D | A | B, D);
            }
            ("match", _, vote, _) => {
                self.count(statement, 3)?;
                let all = match vote {
                    Some(sub::ALL) => true,
                    Some(sub::ANY) => false,
                    _ => return Err(self.malformed("no .all or .any")),
                };
                let mut inst = Inst::new(Op::Match);
                inst.sub = u8::from(all);
                inst.d = self.destination(first, Type::B32)?;
                let (mut fields, mut defs) = (D | A | B, D);
                if let Some(second) = second {
                    inst.e = self.destination(second, Type::Pred)?;
                    fields |= E;
                    defs |= E;
                }
                inst.a = self.source(&operands[1], kind)?;
                inst.b = self.source(&operands[2], Type::B32)?;
                inst.imm = i32::from(kind.bytes() == 8);
                self.push(inst, fields, defs);
            }
            ("redux", _, _, Some(reduction)) => {
                self.count(statement, 3)?;
                if !matches!(kind, Type::U32 | Type::S32 | Type::B32) {
                    return Err(self.refuse("this type"));
                }
                let mut inst = Inst::new(Op::Redux);
                inst.sub = match (reduction, kind) {
                    (sub::MIN_S, Type::U32) => sub::MIN_U,
                    (sub::MAX_S, Type::U32) => sub::MAX_U,
                    (reduction, _) => reduction,
                };
                inst.d = self.destination(first, kind)?;
                inst.a = self.source(&operands[1], kind)?;
                inst.b = self.source(&operands[2], Type::B32)?;
                self.push(inst, D | A | B, D);
            }
            _ => return Err(self.malformed("a mode this instruction does not have")),
        }
        Ok(())
    }
}
