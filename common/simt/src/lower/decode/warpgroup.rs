//! Instructions of a warpgroup: `wgmma`.

use super::decoder::Decoder;
use super::matrix::{adds, shape};
use super::words::Words;
use crate::Error;
use crate::ast::{Operand, Statement, Type};
use crate::lower::inst::{Inst, Op};
use crate::lower::matrix::{Matrix, MatrixOp, Product, Scale, WarpgroupOp};

impl Decoder<'_> {
    pub(super) fn warpgroup(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let target = &self.layout.inner.program.target_name;
        if target != "sm_90a" {
            return Err(self.refuse(format!("wgmma on {target}: it needs .target sm_90a")));
        }
        let name = statement.words.get(1).map_or("", String::as_str);
        let _ = words.take(name);
        if !words.take("sync") || !words.take("aligned") {
            return Err(self.refuse("an instruction of a warpgroup without .sync.aligned"));
        }
        let op = match name {
            "fence" => WarpgroupOp::Fence,
            "commit_group" => WarpgroupOp::Commit,
            "wait_group" => {
                self.done(&words)?;
                let [Operand::Integer(count @ 0..=0xffff_ffff)] = self.operands::<1>(statement)? else {
                    return Err(self.malformed("a number of groups that is no number"));
                };
                return self.push_warpgroup(WarpgroupOp::Wait(count as u32), vec![], 0, Inst::new(Op::Warpgroup));
            }
            "mma_async" => return self.product(statement, words),
            _ => return Err(self.refuse("this instruction")),
        };
        self.done(&words)?;
        self.count(statement, 0)?;
        self.push_warpgroup(op, vec![], 0, Inst::new(Op::Warpgroup))
    }

    /// `wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {d, ...}, {a, ...} or a, b, scale-d, ±1, ±1, transpositions;`
    fn product(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let (rows, columns, length) = words.pick(shape).ok_or_else(|| self.malformed("no shape"))?;
        if let Some(word) = words.left().find(|word| matches!(*word, "e4m3" | "e5m2" | "b1")) {
            return Err(self.refuse(format!("the type .{word}")));
        }
        let saturates = words.take("satfinite");
        let [sum, kind, right] = self.kinds::<3>(&mut words)?;
        self.done(&words)?;
        let adds = matches!(kind, Type::F16 | Type::Bf16 | Type::Tf32 | Type::S8 | Type::U8) && adds(kind, sum);
        let integers = sum.is_integer();
        let same = kind == right || integers && matches!(right, Type::S8 | Type::U8);
        // Of integers there are fewer shapes.
        let step = if integers && columns > 24 { 16 } else { 8 };
        let good = rows == 64 && columns.is_multiple_of(step) && (8..=256).contains(&columns);
        if !adds || !same || saturates && !integers || !good || length != 32 / kind.bytes() {
            return Err(self.refuse("this shape with these types"));
        }
        let operands = &statement.operands;
        let in_registers = matches!(operands.get(1), Some(Operand::Vector(_)));
        // Only of elements of 16 bits may rows and columns be exchanged, and not of those in registers.
        let flags = if kind.bytes() == 2 { 2 - usize::from(in_registers) } else { 0 };
        self.count(statement, if integers { 4 } else { 6 + flags })?;
        let mut inst = Inst::new(Op::Warpgroup);
        let scale = match &operands[3] {
            Operand::Integer(0) => Scale::Never,
            Operand::Integer(1) => Scale::Always,
            Operand::Integer(_) => return Err(self.malformed("a scale that is neither 0 nor 1")),
            operand => {
                let (value, negated) = self.condition(operand)?;
                inst.c = value;
                Scale::If { negated }
            }
        };
        let (mut negated, mut transposed) = ([false; 2], [false; 2]);
        for (flag, operand) in negated.iter_mut().zip(&operands[4..]) {
            *flag = self.choice(operand, [1, -1])?;
        }
        for (flag, operand) in transposed[2 - flags..].iter_mut().zip(operands.iter().skip(6)) {
            *flag = self.choice(operand, [0, 1])?;
        }
        let product = Product { kind, right, sum, columns, in_registers, transposed, negated, saturates, scale };
        let result = product.result();
        let mut registers = self.fragment(&operands[0], &result, true)?;
        if in_registers {
            registers.extend(self.fragment(&operands[1], &product.left(), false)?);
        } else {
            inst.a = self.source(&operands[1], Type::B64)?;
        }
        inst.b = self.source(&operands[2], Type::B64)?;
        if scale != Scale::Never {
            registers.extend_from_within(..result.registers as usize);
        }
        self.push_warpgroup(WarpgroupOp::Multiply(product), registers, result.registers, inst)
    }

    /// Whether a number is the second of two.
    fn choice(&self, operand: &Operand, choices: [i64; 2]) -> Result<bool, Error> {
        match operand {
            Operand::Integer(value) if *value == choices[0] => Ok(false),
            Operand::Integer(value) if *value == choices[1] => Ok(true),
            _ => Err(self.malformed(&format!("an operand that is neither {} nor {}", choices[0], choices[1]))),
        }
    }

    fn push_warpgroup(&mut self, op: WarpgroupOp, registers: Vec<u32>, results: u32, inst: Inst) -> Result<(), Error> {
        let op = MatrixOp::Warpgroup(op);
        self.push_matrix(Matrix { op, registers, results, offset: 0, wide: false }, inst)
    }
}
