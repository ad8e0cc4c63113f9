//! Matrix instructions: `mma.sync`, `ldmatrix`, `stmatrix` and `wmma` of a warp, and `wgmma` of a warpgroup.

use super::decoder::{Decoder, Words, add, parts, space};
use crate::Error;
use crate::ast::{Operand, Statement, Type};
use crate::lower::inst::{Inst, Op, SHARED_WINDOW};
use crate::lower::matrix::{Fragment, Matrix, MatrixOp, Product, Scale, Spread, WarpgroupOp};
use crate::place::Space;

/// M, N and K: rows of A, columns of B, and the length of both.
type Shape = (u32, u32, u32);

/// Shapes of `mma` for each type of A.
const MMA: [(&[Type], &[Shape]); 4] = [
    (&[Type::F16, Type::Bf16], &[(16, 8, 8), (16, 8, 16)]),
    (&[Type::Tf32], &[(16, 8, 4), (16, 8, 8)]),
    (&[Type::F64], &[(8, 8, 4)]),
    (&[Type::S8, Type::U8], &[(8, 8, 16), (16, 8, 16), (16, 8, 32)]),
];

/// Shapes of `wmma` for each type of A.
const WMMA: [(&[Type], &[Shape]); 3] = [
    (&[Type::F16, Type::Bf16, Type::S8, Type::U8], &[(16, 16, 16), (32, 8, 16), (8, 32, 16)]),
    (&[Type::Tf32], &[(16, 16, 8)]),
    (&[Type::F64], &[(8, 8, 4)]),
];

/// Whether there is a product of this shape for a type of A that `fits`.
fn has(all: &[(&[Type], &[Shape])], shape: Shape, fits: impl Fn(Type) -> bool) -> bool {
    all.iter().any(|(kinds, shapes)| shapes.contains(&shape) && kinds.iter().any(|&kind| fits(kind)))
}

/// Whether products of numbers of type `kind` can be summed in type `sum`.
pub(super) const fn adds(kind: Type, sum: Type) -> bool {
    match kind {
        Type::F16 => matches!(sum, Type::F16 | Type::F32),
        Type::Bf16 | Type::Tf32 => matches!(sum, Type::F32),
        Type::F64 => matches!(sum, Type::F64),
        _ => matches!(sum, Type::S32),
    }
}

/// Returns the compute capability that introduced `mma` for this type of A and this shape.
const fn mma_target(kind: Type, shape: Shape) -> u32 {
    match (kind, shape) {
        (Type::F16, (.., 8)) | (Type::S8 | Type::U8, (8, ..)) => 75,
        _ => 80,
    }
}

/// Returns the compute capability that introduced `wmma` for matrices of this type.
const fn wmma_target(kind: Type) -> u32 {
    match kind {
        Type::F16 | Type::F32 => 70,
        Type::S8 | Type::U8 | Type::S32 => 72,
        _ => 80,
    }
}

/// Parses a shape such as `m16n8k16`.
pub(super) fn shape(word: &str) -> Option<Shape> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
}

/// Returns the fragment of A, B, C or D of a `wmma`.
fn wmma_fragment(part: char, kind: Type, (m, n, k): Shape, by_column: bool) -> Fragment {
    let size = match part {
        'a' => (m, k),
        'b' => (k, n),
        _ => (m, n),
    };
    // Elements that are consecutive in memory are consecutive in the registers. Products do not name the memory layout of C and D.
    let columns = by_column && matches!(part, 'a' | 'b');
    let mut fragment = Fragment::new(kind, size, if columns { Spread::Columns } else { Spread::Rows });
    if kind == Type::F16 && matches!(part, 'a' | 'b') {
        fragment.registers = 8;
    }
    fragment
}

impl Decoder<'_> {
    pub(super) fn matrix(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let name = statement.words[0].as_str();
        let together = words.take("sync") && words.take("aligned");
        self.refuse_if(!together, "an instruction on matrices without .sync.aligned")?;
        match name {
            "ldmatrix" | "stmatrix" => self.move_rows(statement, words),
            "mma" => {
                let shape = words.pick(shape).ok_or_else(|| self.malformed("no shape"))?;
                self.refuse_if(!words.take("row") || !words.take("col"), "this layout")?;
                let saturates = words.take("satfinite");
                let kinds = self.kinds::<4>(&mut words)?;
                self.multiply(statement, &words, shape, (kinds, saturates), None)
            }
            _ if words.take("mma") => {
                let layouts = [self.layout_word(&mut words)?, self.layout_word(&mut words)?];
                let shape = words.pick(shape).ok_or_else(|| self.malformed("no shape"))?;
                // Only products in double precision may name their rounding.
                let (rounded, saturates) = (words.take("rn"), words.take("satfinite"));
                let kinds = if words.left().count() == 2 {
                    let [d, c] = self.kinds::<2>(&mut words)?;
                    [d, Type::F16, Type::F16, c]
                } else {
                    self.kinds::<4>(&mut words)?
                };
                self.malformed_if(rounded && kinds[1] != Type::F64, ".rn")?;
                self.multiply(statement, &words, shape, (kinds, saturates), Some(layouts))
            }
            _ => self.move_fragment(statement, words),
        }
    }

    fn layout_word(&self, words: &mut Words<'_>) -> Result<bool, Error> {
        words.one_of(&[("row", false), ("col", true)]).ok_or_else(|| self.malformed("no .row or .col"))
    }

    pub(super) fn kinds<const N: usize>(&self, words: &mut Words<'_>) -> Result<[Type; N], Error> {
        let mut kinds = [Type::Pred; N];
        for kind in &mut kinds {
            *kind = self.kind(words)?;
        }
        Ok(kinds)
    }

    /// D = A·B + C. `layouts` are those of A and B for `wmma`.
    fn multiply(
        &mut self,
        statement: &Statement,
        words: &Words<'_>,
        shape: Shape,
        ([d, a, b, c], saturates): ([Type; 4], bool),
        layouts: Option<[bool; 2]>,
    ) -> Result<(), Error> {
        self.done(words)?;
        let all: &[_] = if layouts.is_some() { &WMMA } else { &MMA };
        let known = has(all, shape, |kind| kind == a);
        let same = a == b || layouts.is_none() && matches!((a, b), (Type::S8, Type::U8) | (Type::U8, Type::S8));
        let mixed = layouts.is_none() && d != c;
        let clamped = saturates && !d.is_integer();
        let fits = known && same && !mixed && !clamped && adds(a, c) && adds(a, d);
        self.refuse_if(!fits, "this shape with these types")?;
        let least = if layouts.is_some() { wmma_target(a) } else { mma_target(a, shape) };
        self.needs_target(least, "this product of matrices", "it needs")?;
        let (m, n, k) = shape;
        let fragments = if let Some([left, right]) = layouts {
            [('d', d, false), ('a', a, left), ('b', b, right), ('c', c, false)]
                .map(|(part, kind, by_column)| wmma_fragment(part, kind, shape, by_column))
        } else {
            let spread = [
                (d, (m, n), Spread::Sum),
                (a, (m, k), Spread::Left),
                (b, (k, n), Spread::Right),
                (c, (m, n), Spread::Sum),
            ];
            spread.map(|(kind, size, spread)| Fragment::new(kind, size, spread))
        };
        let operands = self.operands::<4>(statement)?;
        let mut registers = vec![];
        for (index, (operand, fragment)) in operands.iter().zip(&fragments).enumerate() {
            registers.extend(self.fragment(operand, fragment, index == 0)?);
        }
        let results = fragments[0].registers;
        let op = MatrixOp::Multiply(fragments, saturates);
        self.push_matrix(Matrix { op, registers, results, offset: 0, wide: false }, Inst::new(Op::Matrix))
    }

    pub(super) fn fragment(&mut self, operand: &Operand, fragment: &Fragment, result: bool) -> Result<Vec<u32>, Error> {
        let parts = parts(operand);
        self.malformed_if(parts.len() != fragment.registers as usize, "a vector of another length")?;
        let kind = if fragment.kind.bytes() == 8 { Type::F64 } else { Type::B32 };
        let register = |part| if result { self.destination(part, kind) } else { self.source(part, kind) };
        parts.iter().map(register).collect()
    }

    /// `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {a, b, c, d}, [address];`, and `stmatrix` with its operands swapped.
    fn move_rows(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let eight = words.take("m8n8");
        let count =
            words.one_of(&[("x1", 1), ("x2", 2), ("x4", 4)]).ok_or_else(|| self.malformed("no .x1, .x2 or .x4"))?;
        let exchanged = words.take("trans");
        let place = words.pick(space).unwrap_or(Space::Generic);
        let kind = self.last_kind(words)?;
        let known = eight && kind == Type::B16 && matches!(place, Space::Shared | Space::Generic);
        self.refuse_if(!known, "this form of the instruction")?;
        let name = statement.words[0].as_str();
        let store = name == "stmatrix";
        self.needs_target(if store { 90 } else { 75 }, name, "it needs")?;
        let [to, from] = self.operands::<2>(statement)?;
        let (data, address) = if store { (from, to) } else { (to, from) };
        let whole = Fragment { kind: Type::B32, rows: 0, columns: 0, spread: Spread::Rows, registers: count };
        let registers = self.fragment(&data, &whole, !store)?;
        let (mut a, offset, wide) = self.address(&address, place)?;
        if place == Space::Generic {
            a = self.moved_by(a, SHARED_WINDOW.wrapping_neg());
        }
        let op = MatrixOp::Rows { count, exchanged, store };
        let results = if store { 0 } else { count };
        self.push_matrix(Matrix { op, registers, results, offset, wide }, Inst { a, ..Inst::new(Op::Matrix) })
    }

    /// `wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {...}, [address], stride;`, and the store of D.
    fn move_fragment(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let store = words.one_of(&[("load", false), ("store", true)]);
        let part = words.one_of(&[("a", 'a'), ("b", 'b'), ("c", 'c'), ("d", 'd')]);
        let (Some(store), Some(part)) = (store, part) else { return Err(self.refuse("this form of the instruction")) };
        let by_column = self.layout_word(&mut words)?;
        let shape = words.pick(shape).ok_or_else(|| self.malformed("no shape"))?;
        let place = words.pick(space).unwrap_or(Space::Generic);
        let kind = self.last_kind(words)?;
        let sum = matches!(part, 'c' | 'd');
        let known = has(&WMMA, shape, |of| if sum { adds(of, kind) } else { of == kind });
        let fits = store == (part == 'd') && matches!(place, Space::Generic | Space::Shared | Space::Global);
        self.refuse_if(!(known && fits), "this form of the instruction")?;
        self.needs_target(wmma_target(kind), "this matrix", "it needs")?;
        let fragment = wmma_fragment(part, kind, shape, by_column);
        self.malformed_if(!matches!(statement.operands.len(), 2 | 3), "2 or 3 operands are needed")?;
        let (data, address) = if store { (1, 0) } else { (0, 1) };
        let registers = self.fragment(&statement.operands[data], &fragment, !store)?;
        let (a, offset, wide) = self.address(&statement.operands[address], place)?;
        // Without a stride, the rows (or columns) are consecutive in memory.
        let usual = i64::from(if by_column { fragment.rows } else { fragment.columns });
        let stride = statement.operands.get(2).cloned().unwrap_or(Operand::Integer(usual));
        let b = self.source(&stride, Type::U32)?;
        let results = if store { 0 } else { fragment.registers };
        let op = MatrixOp::Move { fragment, by_column, space: place, store };
        self.push_matrix(Matrix { op, registers, results, offset, wide }, Inst { a, b, ..Inst::new(Op::Matrix) })
    }

    pub(super) fn push_matrix(&mut self, matrix: Matrix, inst: Inst) -> Result<(), Error> {
        let results = matrix.results as usize;
        let more = matrix.registers.iter().enumerate().map(|(index, &value)| (value, index < results)).collect();
        let imm = add(&mut self.code.matrices, matrix);
        self.push(Inst { imm, ..inst });
        if let Some(raw) = self.raws.last_mut() {
            raw.more = more;
        }
        Ok(())
    }

    pub(super) fn warpgroup(&mut self, statement: &Statement, mut words: Words<'_>) -> Result<(), Error> {
        let target = &self.layout.inner.program.target_name;
        if target != "sm_90a" {
            return Err(self.refuse(format!("wgmma on {target}: it needs .target sm_90a")));
        }
        let name = statement.words.get(1).map_or("", String::as_str);
        let _ = words.take(name);
        let together = words.take("sync") && words.take("aligned");
        self.refuse_if(!together, "an instruction of a warpgroup without .sync.aligned")?;
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
        // There are fewer shapes for integers.
        let step = if integers && columns > 24 { 16 } else { 8 };
        let good = rows == 64 && columns.is_multiple_of(step) && (8..=256).contains(&columns);
        let fits = adds && same && (integers || !saturates) && good && length == 32 / kind.bytes();
        self.refuse_if(!fits, "this shape with these types")?;
        let operands = &statement.operands;
        let in_registers = matches!(operands.get(1), Some(Operand::Vector(_)));
        // Only matrices of 16-bit elements can be transposed, and only in shared memory.
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

    /// Whether the operand is the second of two choices.
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
