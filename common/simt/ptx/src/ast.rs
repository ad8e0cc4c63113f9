//! The program as written: functions, variables, and instructions with their operands, not interpreted yet.

use crate::error::Error;
use crate::named::named;
use crate::place::Space;
use std::sync::Arc;

named! {
    /// A PTX type. Only its size and kind matter to the simulator.
    pub enum Type {
        Pred = "pred",
        B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128",
        U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64",
        S8 = "s8", S16 = "s16", S32 = "s32", S64 = "s64",
        F16 = "f16", F16x2 = "f16x2", Bf16 = "bf16", Bf16x2 = "bf16x2",
        E4m3x2 = "e4m3x2", E5m2x2 = "e5m2x2", Tf32 = "tf32", F32 = "f32", F64 = "f64",
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

impl Type {
    /// Size in bytes; 0 for a predicate.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Pred => 0,
            Self::B8 | Self::U8 | Self::S8 => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 | Self::E4m3x2 | Self::E5m2x2 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::Bf16x2 | Self::Tf32 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            Self::B128 => 16,
        }
    }

    /// Whether numbers of this type carry a sign in two's complement.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Whether this is an integer, with or without a sign.
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64) || self.is_signed()
    }

    /// Whether this is `.f32` or `.f64`.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Whether this is a half-precision type.
    pub const fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::F16x2 | Self::Bf16 | Self::Bf16x2)
    }

    /// Whether this is two numbers of eight bits.
    pub const fn is_brief(self) -> bool {
        matches!(self, Self::E4m3x2 | Self::E5m2x2)
    }

    /// Whether this is two numbers of half precision in one word.
    pub const fn is_packed(self) -> bool {
        matches!(self, Self::F16x2 | Self::Bf16x2)
    }
}

/// An address of a variable in initial bytes: position, name, addend, and a mask of the bits that are kept.
pub type Symbol = (usize, String, i64, u64);

#[derive(Debug, Clone)]
pub struct Variable {
    pub name: String,
    pub space: Space,
    pub align: u32,
    /// The type of an element.
    pub kind: Type,
    /// Size in bytes of the elements that messages count in.
    pub element_bytes: u32,
    /// Size in bytes; zero for `extern .shared` arrays, whose size is set at launch.
    pub bytes: u64,
    /// Declared `.extern`.
    pub external: bool,
    /// Initial bytes; the rest is zero.
    pub init: Vec<u8>,
    /// Pieces of `init` that are addresses of other variables.
    pub init_symbols: Vec<Symbol>,
    pub line: u32,
}

#[derive(Debug, Clone)]
pub struct Register {
    pub name: String,
    pub kind: Type,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A register of the function, by number; negated for `!%p`.
    Register { id: u32, negated: bool },
    /// A special register such as `%tid.x`, without the `%`.
    Special(String),
    /// An integer, wrapped to 64 bits.
    Integer(i64),
    /// `0fXXXXXXXX`, or a decimal fraction (then both bit patterns are correctly rounded).
    Float { single: u32, double: u64 },
    /// A variable of the function, by number, and a displacement.
    Local { id: u32, offset: i64 },
    /// A name that the function does not declare: a label, a function or a variable of the module.
    Name { name: Arc<str>, offset: i64 },
    /// `[base + offset]`.
    Address { base: Box<Operand>, offset: i64 },
    /// `%r1 + 4`.
    Sum { register: Box<Operand>, addend: i64 },
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `(a, b)`, of a call.
    List(Vec<Operand>),
    /// `a|b`: two destinations.
    Pair(Box<Operand>, Box<Operand>),
    /// `_`: the result is not wanted.
    Sink,
    /// An operand that occurs only in instructions that the simulator does not support.
    Opaque,
}

/// `@%p` or `@!%p`: the register, and whether it is negated.
pub type Guard = Option<(u32, bool)>;

#[derive(Debug, Clone)]
pub struct Statement {
    pub guard: Guard,
    /// Opcode and modifiers: `ld`, `global`, `f32`.
    pub words: Vec<String>,
    pub operands: Vec<Operand>,
    pub position: Position,
}

/// Where an instruction is in the PTX and in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Line of the PTX.
    pub ptx: u32,
    /// Number of the source file, and the line and column in it; zero if not known.
    pub file: u32,
    pub line: u32,
    pub column: u32,
    /// Where the inlined function was called, as an index into the program's `calls`; zero if it was not inlined.
    pub calls: u32,
    /// The instruction's text: start and end in the source, in bytes.
    pub text: (u32, u32),
}

/// A piece of a function's body.
#[derive(Debug, Clone)]
pub enum Item {
    /// Labels of one name in different scopes, and the branches to them, get different names: see `parser::scope`.
    Label(Arc<str>),
    Statement(Statement),
    /// `name: .branchtargets A, B;`
    Targets(Arc<str>, Vec<Arc<str>>),
}

#[derive(Debug, Clone, Default)]
pub struct Function {
    pub name: String,
    pub entry: bool,
    /// Whether it has a body.
    pub defined: bool,
    pub line: u32,
    /// Variables; those that are results or parameters come first.
    pub variables: Vec<Variable>,
    /// Registers, vectors of them, or variables.
    pub results: Vec<Operand>,
    pub params: Vec<Operand>,
    pub registers: Vec<Register>,
    pub body: Vec<Item>,
    pub max_threads: Option<[u32; 3]>,
    pub required_threads: Option<[u32; 3]>,
    /// Why nothing can call the function, if something in it is not supported.
    pub refused: Option<Error>,
}

#[derive(Debug, Clone, Default)]
pub struct Program {
    pub target: u32,
    pub target_name: String,
    pub files: Vec<(u32, String)>,
    /// Lines and columns of the kernel's file from which inlined functions are called, the innermost first.
    pub calls: Vec<Box<[(u32, u32)]>>,
    pub variables: Vec<Variable>,
    pub functions: Vec<Function>,
}
