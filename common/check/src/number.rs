//! The types of numbers that an argument can have: how each is read, drawn at random, shown and compared.

use anyhow::{Context as _, Result, anyhow, ensure};
use simt::Type;
use system::escape;

/// A type of number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// As Rust calls it: `f32`.
    pub name: &'static str,
    class: Class,
    /// Size in bytes.
    pub bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Signed,
    Unsigned,
    Float,
}

/// What CUDA C calls the types, so that both languages' names are taken.
const NAMES: [(&str, &[&str], Class, usize); 10] = [
    ("f32", &["float"], Class::Float, 4),
    ("f64", &["double"], Class::Float, 8),
    ("i32", &["int", "int32_t"], Class::Signed, 4),
    ("u32", &["unsigned", "uint32_t"], Class::Unsigned, 4),
    ("i64", &["int64_t"], Class::Signed, 8),
    ("u64", &["uint64_t", "size_t"], Class::Unsigned, 8),
    ("i16", &["short", "int16_t"], Class::Signed, 2),
    ("u16", &["uint16_t"], Class::Unsigned, 2),
    ("i8", &["char", "int8_t"], Class::Signed, 1),
    ("u8", &["bool", "uint8_t"], Class::Unsigned, 1),
];

impl Number {
    /// The type of this name.
    pub fn named(name: &str) -> Option<Self> {
        let found = NAMES.iter().find(|(own, others, ..)| *own == name || others.contains(&name));
        found.map(|&(name, _, class, bytes)| Self { name, class, bytes })
    }

    /// Reads a number. The error says which numbers the type has.
    pub fn read(self, text: &str) -> Result<Vec<u8>> {
        let text = match text {
            "true" => "1",
            "false" => "0",
            text => text,
        };
        let not = || anyhow!("`{}` is no {}", escape(text), self.name);
        match (self.class, self.bytes) {
            (Class::Float, 4) => Ok(text.parse::<f32>().map_err(|_| not())?.to_le_bytes().into()),
            (Class::Float, _) => Ok(text.parse::<f64>().map_err(|_| not())?.to_le_bytes().into()),
            (class, bytes) => {
                let hexadecimal = text.strip_prefix("0x").map(|digits| i128::from_str_radix(digits, 16));
                let value = hexadecimal.unwrap_or_else(|| text.parse()).map_err(|_| not())?;
                self.whole(value).with_context(|| {
                    let bits = 8 * bytes as u32;
                    let signed = class == Class::Signed;
                    let [first, last] =
                        if signed { [-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1] } else { [0, (1 << bits) - 1] };
                    format!("{} holds {first} to {last}, not {value}", self.name)
                })
            }
        }
    }

    /// A whole number as it is stored; `None` if the type does not hold it.
    fn whole(self, value: i128) -> Option<Vec<u8>> {
        let bits = 8 * self.bytes as u32;
        let range = match self.class {
            Class::Signed => -(1 << (bits - 1))..=(1 << (bits - 1)) - 1,
            _ => 0..=(1_i128 << bits) - 1,
        };
        range.contains(&value).then(|| value.to_le_bytes()[..self.bytes].to_vec())
    }

    /// The number `value`, counted on from 0; numbers that the type cannot hold start again.
    pub fn counted(self, value: u64) -> Vec<u8> {
        match (self.class, self.bytes) {
            (Class::Float, 4) => (value as f32).to_le_bytes().into(),
            (Class::Float, _) => (value as f64).to_le_bytes().into(),
            _ => value.to_le_bytes()[..self.bytes].to_vec(),
        }
    }

    /// The number at a position of an array that is filled by seed: a multiple of 1/256 from -1 to 1, or a whole number from 0 to 9.
    pub fn drawn(self, seed: u64, at: u64) -> Vec<u8> {
        let mut bits = at.wrapping_add(seed.wrapping_mul(0xd134_2543_de82_ef95)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        match self.class {
            Class::Float => {
                let value = (bits % 513) as f32 / 256.0 - 1.0;
                if self.bytes == 4 { value.to_le_bytes().into() } else { f64::from(value).to_le_bytes().into() }
            }
            _ => self.counted(bits % 10),
        }
    }

    /// The number as text.
    pub fn shown(self, bytes: &[u8]) -> String {
        match self.class {
            Class::Float if self.bytes == 4 => (real(bytes) as f32).to_string(),
            Class::Float => real(bytes).to_string(),
            _ => self.integer(bytes).to_string(),
        }
    }

    fn integer(self, bytes: &[u8]) -> i128 {
        let negative = self.class == Class::Signed && bytes.last().is_some_and(|last| last >> 7 == 1);
        let mut wide = [if negative { 0xff } else { 0 }; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        i128::from_le_bytes(wide)
    }

    /// Whether a number is the expected one: integers exactly, others up to `tolerance` of the larger of 1 and the expected number.
    pub fn agrees(self, found: &[u8], expected: &[u8], tolerance: f64) -> bool {
        if self.class != Class::Float {
            return found == expected;
        }
        let [found, expected] = [found, expected].map(real);
        let close = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
        close || found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
    }

    /// Whether a parameter of this type can be given such a number.
    pub fn fits(self, kind: Type) -> bool {
        use Type::{B8, B16, B32, B64, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};
        let of_class = match self.class {
            Class::Float => matches!(kind, F32 | F64 | B32 | B64),
            _ => matches!(kind, B8 | B16 | B32 | B64 | S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64),
        };
        of_class && kind.bytes() as usize == self.bytes
    }

    /// The numbers of a text, with white space or commas between them.
    pub fn list(self, text: &str) -> Result<Vec<u8>> {
        let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
        let mut bytes = vec![];
        for word in words {
            bytes.extend(self.read(word)?);
        }
        ensure!(!bytes.is_empty(), "there is no number in it");
        Ok(bytes)
    }
}

/// A floating-point number of 4 or 8 bytes.
fn real(bytes: &[u8]) -> f64 {
    let wide = <[u8; 8]>::try_from(bytes).map(f64::from_le_bytes);
    let narrow = <[u8; 4]>::try_from(bytes).map(|bytes| f64::from(f32::from_le_bytes(bytes)));
    wide.or(narrow).unwrap_or(f64::NAN)
}
