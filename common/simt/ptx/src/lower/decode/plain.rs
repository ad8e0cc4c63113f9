//! Plain instructions, which are defined by a row of the table, and sums with a carry: `add.cc`, `addc`, `sub.cc`, `subc`,
//! `mad.lo.cc`, `madc.hi` and the like.

use super::decoder::{Decoder, Words};
use crate::Error;
use crate::ast::{Operand, Statement, Type};
use crate::instructions::{Slot, slots, types};
use crate::lower::inst::{Detail, Function, Inst, NONE, Op, Rounding};
use std::collections::HashMap;
use std::sync::LazyLock;

/// A row of the table, in the form that the decoder needs.
struct Row {
    what: What,
    syntax: &'static str,
    types: u32,
    to: Slot,
    from: &'static [Slot],
}

/// The operation that executes a row.
enum What {
    Own(Op),
    Generic(Function),
}

macro_rules! rows {
    ($($section:ident {
        $($name:ident: $syntax:literal, $types:expr, $to:ident($($from:ident),*) => $_1:expr $(, $_2:literal)?;)*
    })*) => {
        [$($(Row {
            what: rows!($section $name),
            syntax: $syntax,
            types: {
                use types::*;
                $types
            },
            to: slots::$to,
            from: &[$(slots::$from),*],
        },)*)*]
    };
    (vector $name:ident) => { What::Own(Op::$name) };
    (predicate $name:ident) => { What::Own(Op::$name) };
    ($section:ident $name:ident) => { What::Generic(Function::$name) };
}
static ROWS: &[Row] = &crate::instructions!(rows);

/// The rows for each name, in the order of the table, because a search through hundreds of rows for each statement would be slow.
static BY_NAME: LazyLock<HashMap<&str, Vec<&Row>>> = LazyLock::new(|| {
    let mut rows: HashMap<&str, Vec<&Row>> = HashMap::new();
    for row in ROWS {
        for name in row.names() {
            rows.entry(name).or_default().push(row);
        }
    }
    rows
});

impl Row {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.syntax.split(['.', '{']).next().unwrap_or_default().split('|')
    }

    /// Returns the words after the name, and whether each is optional.
    fn words(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let words = self.syntax.split('.').skip(1);
        words.map(|word| (word.trim_end_matches(['{', '}']), word.contains('}')))
    }

    fn knows(&self, word: &str) -> bool {
        self.words().any(|(own, _)| match own {
            "rnd" => direction(word).is_some(),
            "type" => integer(word).is_some(),
            own => own == word,
        })
    }

    /// Returns the details of an instruction of this type if its words are exactly those of the row.
    fn fit(&self, mut words: Words<'_>, kind: Type) -> Option<Detail> {
        let mut found = Detail::new(Function::Set, kind);
        for (word, optional) in self.words() {
            let taken = match word {
                "rnd" => words.pick(direction).map(|rounding| found.rounding = rounding).is_some(),
                "type" => words.pick(integer).map(|second| found.source = second).is_some(),
                word => words.take(word),
            };
            found.ftz |= taken && word == "ftz";
            found.sat |= taken && word == "sat";
            found.relu |= taken && word == "relu";
            if !taken && !optional {
                return None;
            }
        }
        words.left().next().is_none().then_some(found)
    }
}

/// A form of a plain instruction: its opcode and the types of its operands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The instruction with its modifiers and types: `add.rz.f32`.
    pub opcode: String,
    /// Types of the result and the operands as in PTX, or `number` for an operand that must be a constant.
    pub operands: Vec<&'static str>,
}

/// Names of the types that occur in rows.
const TYPES: [&str; 16] = [
    "pred", "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f16", "f16x2", "bf16", "bf16x2", "f32",
    "f64",
];

/// Returns every form of every plain instruction that the simulator accepts. It uses the same table as the decoder.
pub fn forms() -> Vec<Form> {
    let mut forms: Vec<Form> = vec![];
    for row in ROWS {
        for kind in
            TYPES.into_iter().filter(|word| Type::named(word).is_some_and(|kind| types::contains(row.types, kind)))
        {
            let operands: Vec<_> = std::iter::once(&row.to).chain(row.from).map(|&slot| slot.word(kind)).collect();
            for name in row.names() {
                let modifiers =
                    row.words().filter(|(word, _)| *word != "type").fold(vec![String::new()], |before, word| {
                        let choices: &[&str] = if word.0 == "rnd" { &["rn", "rz", "rm", "rp"] } else { &[word.0] };
                        let mut all = if word.1 { before.clone() } else { vec![] };
                        all.extend(
                            choices.iter().flat_map(|word| before.iter().map(move |text| format!("{text}.{word}"))),
                        );
                        all
                    });
                let second: &[&str] = if row.words().any(|word| word.0 == "type") { &[".u32", ".s32"] } else { &[""] };
                for (modifiers, second) in modifiers.iter().flat_map(|text| second.iter().map(move |kind| (text, kind)))
                {
                    let opcode = format!("{name}{modifiers}.{kind}{second}");
                    // If several rows fit, the first one counts.
                    if !forms.iter().any(|form| form.opcode == opcode) {
                        forms.push(Form { opcode, operands: operands.clone() });
                    }
                }
            }
        }
    }
    forms
}

/// Parses a rounding to a neighbouring floating-point number, not to an integer.
fn direction(word: &str) -> Option<Rounding> {
    Rounding::named(word).filter(|r| matches!(r, Rounding::Nearest | Rounding::Zero | Rounding::Down | Rounding::Up))
}

/// Parses the type of the second operand of a dot product.
fn integer(word: &str) -> Option<Type> {
    Type::named(word).filter(|&kind| types::contains(types::INT32, kind))
}

impl Decoder<'_> {
    pub(super) fn plain(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let name = statement.words[0].as_str();
        let Some(rows) = BY_NAME.get(name) else { return Err(self.refuse(format!("`{name}`"))) };
        let kind = self.kind(&mut words)?;
        let fitting = rows
            .iter()
            .filter(|row| types::contains(row.types, kind))
            .find_map(|row| Some((row, row.fit(words.clone(), kind)?)));
        let Some((row, mut detail)) = fitting else { return Err(self.misfit(name, rows, kind, &words)) };
        let third = matches!(name, "min" | "max") && kind == Type::F32 && statement.operands.len() == 4;
        self.refuse_if(third, "a third operand")?;
        self.count(statement, row.from.len() + 1)?;
        let (to, from) = (&statement.operands[0], &statement.operands[1..]);
        let of = |slot: Slot| match slot {
            Slot::Own | Slot::Number => kind,
            Slot::Of(kind) => kind,
        };
        let number = row.from.iter().position(|&slot| slot == Slot::Number);
        let inputs: Vec<_> = from[..number.unwrap_or(from.len())]
            .iter()
            .zip(row.from)
            .map(|(operand, &slot)| (operand, of(slot)))
            .collect();
        match row.what {
            What::Own(op) => self.compute(Inst::new(op), (to, of(row.to)), &inputs),
            What::Generic(function) => {
                detail.function = function;
                if let Some(number) = number {
                    let Operand::Integer(value) = from[number] else {
                        return Err(self.malformed("a table that is no number"));
                    };
                    detail.lut = value as u8;
                }
                self.generic(detail, (to, of(row.to)), &inputs)
            }
        }
    }

    /// Makes the error for a statement that fits none of the rows with its name.
    fn misfit(&self, name: &str, rows: &[&Row], kind: Type, words: &Words<'_>) -> Error {
        let unknown = |rows: &[&Row]| words.left().find(|word| !rows.iter().any(|row| row.knows(word)));
        if let Some(word) = unknown(rows) {
            return match word {
                // PTX has these two words, but the simulator does not support them.
                "relu" | "xorsign" => self.refuse("this combination of words"),
                word => self.refuse(format!("the word .{word}")),
            };
        }
        // PTX has these roundings for sums of products, but for no other result of this precision.
        let directed = |word| direction(word).is_some_and(|rounding| rounding != Rounding::Nearest);
        if matches!(kind, Type::Bf16 | Type::Bf16x2) && name == "fma" && words.left().any(directed) {
            return self.refuse("this rounding");
        }
        let of_kind: Vec<&Row> = rows.iter().copied().filter(|row| types::contains(row.types, kind)).collect();
        let all = rows.iter().fold(0, |all, row| all | row.types);
        if of_kind.is_empty() {
            if all & types::BITS != 0 && kind != Type::Pred {
                return self.refuse("this form of the instruction");
            }
            let numbers = all & types::BITS == 0 && all & !types::FLOAT != 0;
            let strange = kind.is_half() || matches!(kind, Type::Pred | Type::B8 | Type::U8 | Type::S8 | Type::B128);
            if all & !types::FLOAT == 0 || numbers && strange {
                return self.refuse("this type");
            }
        }
        let required = |row: &Row| row.words().any(|(word, optional)| !optional && words.left().any(|w| w == word));
        if of_kind.is_empty() || unknown(&of_kind).is_some() {
            return self.malformed("a type this instruction does not have");
        }
        match name {
            "mul" | "mad" | "mul24" | "mad24" if !rows.iter().any(|row| required(row)) => {
                self.malformed("no .lo, .hi or .wide")
            }
            "dp2a" if !rows.iter().any(|row| required(row)) => self.malformed("no .lo or .hi"),
            "testp" if !rows.iter().any(|row| required(row)) => self.malformed("no class to test for"),
            "shf" | "bmsk" | "szext" => self.refuse("this form of the instruction"),
            _ => self.refuse("this combination of words"),
        }
    }

    pub(super) fn carry(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let name = statement.words[0].as_str();
        let product = words.one_of(&[("lo", Function::MulLo), ("hi", Function::MulHi)]);
        let (reads, writes) = (name.ends_with('c'), words.take("cc"));
        let kind = self.last_kind(words)?;
        self.refuse_if(kind.bytes() == 2, "a carry of 16 bits")?;
        if product.is_some() != name.starts_with("mad") || !kind.is_integer() || kind.bytes() < 4 {
            return Err(self.malformed("a form this instruction does not have"));
        }
        self.count(statement, if product.is_some() { 4 } else { 3 })?;
        let operands = &statement.operands;
        let mut inst = Inst::new(Op::Carry);
        inst.a = self.source(&operands[1], kind)?;
        inst.b = self.source(&operands[2], kind)?;
        let mut detail = Detail::new(product.unwrap_or(Function::AddInt), kind);
        detail.wide = [kind.bytes() == 8; 5];
        if product.is_some() {
            let imm = self.detail(detail);
            inst.a = self.temporary(kind, Inst { a: inst.a, b: inst.b, imm, ..Inst::new(Op::Generic) });
            inst.b = self.source(&operands[3], kind)?;
        }
        inst.d = self.destination(&operands[0], kind)?;
        let known = self.carry;
        let carry = known.unwrap_or_else(|| self.unnamed(Type::Pred));
        self.carry = Some(carry);
        (inst.c, inst.e) = (if reads { carry } else { NONE }, if writes { carry } else { NONE });
        detail.negate = name.starts_with("sub");
        inst.imm = self.detail(detail);
        self.finish(inst)
    }
}

pub(super) fn carries(statement: &Statement) -> bool {
    let name = statement.words[0].as_str();
    matches!(name, "addc" | "subc" | "madc")
        || matches!(name, "add" | "sub" | "mad") && statement.words.iter().any(|word| word == "cc")
}
