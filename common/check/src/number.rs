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
const NAMES: [(&str, &[&str], Class, usize); 12] = [
    ("f32", &["float"], Class::Float, 4),
    ("f64", &["double"], Class::Float, 8),
    ("f16", &["half", "__half"], Class::Float, 2),
    ("bf16", &["__nv_bfloat16"], Class::Float, 2),
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
    /// A byte, of which structures are made.
    pub const BYTE: Self = Self { name: "u8", class: Class::Unsigned, bytes: 1 };

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
            (Class::Float, 8) => Ok(text.parse::<f64>().map_err(|_| not())?.to_le_bytes().into()),
            (Class::Float, _) => Ok(self.rounded(text.parse().map_err(|_| not())?)[..self.bytes].into()),
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

    /// The number `value`, counted on from 0, in the first bytes; numbers that the type cannot hold start again.
    pub fn counted(self, value: u64) -> [u8; 8] {
        match (self.class, self.bytes) {
            (Class::Float, 8) => (value as f64).to_le_bytes(),
            (Class::Float, _) => self.rounded(value as f32),
            _ => value.to_le_bytes(),
        }
    }

    /// The number at a position of an array that is filled by seed: a multiple of 1/256 from -1 to 1, or a whole number from 0 to 9.
    pub fn drawn(self, seed: u64, at: u64) -> [u8; 8] {
        let mut bits = at.wrapping_add(seed.wrapping_mul(0xd134_2543_de82_ef95)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        match self.class {
            Class::Float => {
                let value = (bits % 513) as f32 / 256.0 - 1.0;
                if self.bytes == 8 { f64::from(value).to_le_bytes() } else { self.rounded(value) }
            }
            _ => self.counted(bits % 10),
        }
    }

    /// The number as text.
    pub fn shown(self, bytes: &[u8]) -> String {
        match self.class {
            Class::Float if self.bytes == 8 => self.real(bytes).to_string(),
            Class::Float => (self.real(bytes) as f32).to_string(),
            _ => self.integer(bytes).to_string(),
        }
    }

    /// A number in 4 or 2 bytes: the nearest one that there is, of two equally near ones the even one.
    fn rounded(self, value: f32) -> [u8; 8] {
        let bits = value.to_bits();
        let even = |shift: u32| bits + ((1 << (shift - 1)) - 1) + (bits >> shift & 1);
        let stored = match (self.name, value.abs()) {
            ("f32", _) => bits,
            ("bf16", _) if value.is_nan() => 0x7fc0,
            ("bf16", _) => even(16) >> 16,
            _ if value.is_nan() => 0x7e00,
            (_, size) => {
                let number = match size {
                    size if size >= 65_520.0 => 0x7c00,
                    size if size < 2f32.powi(-14) => (size * 2f32.powi(24)).round_ties_even() as u32,
                    _ => ((even(13) & 0x7fff_ffff) - (112 << 23)) >> 13,
                };
                number | (bits >> 16 & 0x8000)
            }
        };
        u64::from(stored).to_le_bytes()
    }

    /// The value of a floating-point number.
    fn real(self, bytes: &[u8]) -> f64 {
        if let Ok(bytes) = bytes.try_into() {
            return f64::from_le_bytes(bytes);
        }
        if let Ok(bytes) = bytes.try_into() {
            return f64::from(f32::from_le_bytes(bytes));
        }
        let half = u32::from(bytes.try_into().map_or(0, u16::from_le_bytes));
        let (size, negative) = (half & 0x7fff, half >> 15 == 1);
        let value = match size {
            _ if self.name == "bf16" => f32::from_bits(size << 16),
            0..0x400 => size as f32 * 2f32.powi(-24),
            0x7c00 => f32::INFINITY,
            0x7c01.. => f32::NAN,
            _ => f32::from_bits((size << 13) + (112 << 23)),
        };
        f64::from(if negative { -value } else { value })
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
        let [found, expected] = [found, expected].map(|bytes| self.real(bytes));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_two_bytes_is_read_as_it_is_shown() {
        for name in ["f16", "bf16"] {
            let number = Number::named(name).unwrap();
            for bits in 0..=u16::MAX {
                let bytes = bits.to_le_bytes();
                let again = number.read(&number.shown(&bytes)).unwrap();
                assert!(again == bytes || number.real(&bytes).is_nan(), "{name} {bits:#x}");
            }
        }
        let f16 = |text: &str| Number::named("half").unwrap().shown(&Number::named("f16").unwrap().read(text).unwrap());
        assert_eq!(["2049", "2051", "65519", "65520", "1e-9"].map(f16), ["2048", "2052", "65504", "inf", "0"]);
        assert_eq!(f16("-0.1"), "-0.099975586");
    }
}
