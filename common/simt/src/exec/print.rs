//! What kernels print: the texts of all blocks in order, and the conversions of `printf`.

use crate::memory::GlobalMemory;
use std::collections::BTreeMap;

/// The texts of a launch, by block, so that their order does not depend on which block runs first.
#[derive(Default)]
pub(super) struct Printed {
    blocks: BTreeMap<u64, String>,
    bytes: usize,
}

impl Printed {
    pub fn add(&mut self, block: u64, text: &str) {
        self.blocks.entry(block).or_default().push_str(text);
        self.bytes += text.len();
        // The texts of the last blocks are dropped if those of the others are already all that a launch can print.
        while let Some(last) = self.blocks.last_entry()
            && self.bytes - last.get().len() >= GlobalMemory::LARGEST_PRINT
        {
            self.bytes -= last.remove().len();
        }
        // One block alone can print too much.
        if self.bytes > 2 * GlobalMemory::LARGEST_PRINT
            && let Some(mut only) = self.blocks.first_entry()
            && only.get().len() > GlobalMemory::LARGEST_PRINT
        {
            self.bytes -= only.get().len();
            let kept = cut(only.get()).to_string();
            self.bytes += kept.len();
            *only.get_mut() = kept;
        }
    }

    /// Whether nothing that a block prints from now on will be seen.
    pub fn full(&self, block: u64) -> bool {
        self.bytes > GlobalMemory::LARGEST_PRINT && self.blocks.last_key_value().is_some_and(|(&last, _)| last <= block)
    }

    /// Returns all texts. If something is lost, the last line says so.
    pub fn text(&self) -> String {
        let all: String = self.blocks.values().map(String::as_str).collect();
        if all.len() <= GlobalMemory::LARGEST_PRINT {
            return all;
        }
        format!("{}\n... the rest of what the launch prints is lost: its buffer holds 1 MiB\n", cut(&all))
    }
}

/// Returns as much of a text as a launch can print.
fn cut(text: &str) -> &str {
    let mut end = GlobalMemory::LARGEST_PRINT.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // They are independent flags of C.
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

/// The widest field. A wider one is a mistake.
const WIDEST: usize = 4096;

/// The arguments, one after the other, each aligned to its size.
struct Arguments<F> {
    read: F,
    at: u64,
    count: u32,
}

impl<F: Fn(u64) -> Option<u8>> Arguments<F> {
    fn next(&mut self, bytes: u64) -> u64 {
        let start = self.at.next_multiple_of(bytes);
        self.at = start + bytes;
        self.count += 1;
        (0..bytes).fold(0, |sum, at| sum | u64::from((self.read)(start + at).unwrap_or(0)) << (8 * at))
    }

    fn signed(&mut self, long: bool) -> i64 {
        if long { self.next(8) as i64 } else { i64::from(self.next(4) as i32) }
    }
}

/// Returns the text of `printf`, and how many arguments it used. `byte` returns a byte of the arguments, `string` the text at an
/// address. If the text is not `seen`, it has no real numbers, because many digits of them take long.
pub(super) fn format(
    format: &str,
    seen: bool,
    byte: impl Fn(u64) -> Option<u8>,
    string: impl Fn(u64) -> String,
) -> (String, u32) {
    let mut arguments = Arguments { read: byte, at: 0, count: 0 };
    let mut out = String::new();
    let mut rest = format;
    // Stops early if the text is longer than a launch can print.
    while let Some(at) = rest.find('%').filter(|_| out.len() <= GlobalMemory::LARGEST_PRINT) {
        out += &rest[..at];
        rest = &rest[at + 1..];
        match one(rest, seen, &mut arguments, &string) {
            Some((text, used)) => {
                out += &text;
                rest = &rest[used..];
            }
            // A `%` without a conversion stands for itself.
            None => out.push('%'),
        }
    }
    out += rest;
    (out, arguments.count)
}

/// Returns the text of a conversion, and its length after the `%`.
fn one<F: Fn(u64) -> Option<u8>>(
    text: &str,
    seen: bool,
    arguments: &mut Arguments<F>,
    string: impl Fn(u64) -> String,
) -> Option<(String, usize)> {
    let bytes = text.as_bytes();
    let run = |at: usize, of: &[u8]| bytes[at..].iter().take_while(|byte| of.contains(byte)).count();
    let mut at = run(0, b"-+ 0#");
    let [left, plus, space, zero, alternate] = [b'-', b'+', b' ', b'0', b'#'].map(|flag| bytes[..at].contains(&flag));
    let mut c = Conversion { left, plus, space, zero, alternate, ..Conversion::default() };
    let mut number = |at: &mut usize| {
        if bytes.get(*at) == Some(&b'*') {
            *at += 1;
            return arguments.signed(false);
        }
        let digits = run(*at, b"0123456789");
        let value = text[*at..*at + digits].parse().unwrap_or(0);
        *at += digits;
        value
    };
    let width = number(&mut at);
    c.left |= width < 0;
    c.width = (width.unsigned_abs() as usize).min(WIDEST);
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        c.precision = usize::try_from(number(&mut at)).ok().map(|precision| precision.min(WIDEST));
    }
    let length = &bytes[at..][..run(at, b"hlzjtL")];
    // Whether the argument is 64 bits wide, and how many bits are left out of 64.
    let long = length.iter().any(|&letter| letter != b'h');
    let cut = match length {
        b"h" => 48,
        b"hh" => 56,
        _ => 0,
    };
    at += length.len();
    let kind = *bytes.get(at)?;
    let text = match kind {
        b'%' => return Some(("%".into(), at + 1)),
        b'd' | b'i' => {
            let value = arguments.signed(long) << cut >> cut;
            c.integer(value < 0, &value.unsigned_abs().to_string(), "")
        }
        b'u' | b'o' | b'x' | b'X' => {
            let value = arguments.next(if long { 8 } else { 4 }) & (u64::MAX >> cut);
            let (digits, prefix) = match kind {
                b'u' => (value.to_string(), ""),
                b'o' => (format!("{value:o}"), "0"),
                b'x' => (format!("{value:x}"), "0x"),
                _ => (format!("{value:X}"), "0X"),
            };
            (c.plus, c.space) = (false, false);
            c.integer(false, &digits, if c.alternate && value != 0 { prefix } else { "" })
        }
        b'c' => c.pad("", &char::from(arguments.next(4) as u8).to_string()),
        b's' => {
            let text = match arguments.next(8) {
                0 => "(null)".into(),
                address => string(address),
            };
            let text = c.precision.map_or(text.clone(), |most| text.chars().take(most).collect());
            c.zero = false;
            c.pad("", &text)
        }
        b'p' => {
            let value = arguments.next(8);
            c.pad("", &if value == 0 { "(nil)".into() } else { format!("{value:#x}") })
        }
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' => {
            let value = f64::from_bits(arguments.next(8));
            if seen { c.real(value, kind) } else { String::new() }
        }
        b'a' | b'A' => c.hexadecimal(f64::from_bits(arguments.next(8)), kind == b'A'),
        _ => return None,
    };
    Some((text, at + 1))
}

impl Conversion {
    /// Puts a sign or a prefix before digits, and pads both to the width of the field.
    fn pad(&self, sign: &str, digits: &str) -> String {
        let (all, width) = (format!("{sign}{digits}"), self.width);
        match (self.left, self.zero) {
            (true, _) => format!("{all:<width$}"),
            (_, true) => format!("{sign}{digits:0>width$}", width = width.saturating_sub(sign.len())),
            _ => format!("{all:>width$}"),
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (.., true) => " ",
            _ => "",
        }
    }

    fn integer(&mut self, negative: bool, digits: &str, prefix: &str) -> String {
        self.zero &= self.precision.is_none();
        let least = self.precision.unwrap_or(1);
        let digits = format!("{:0>least$}", if digits == "0" { "" } else { digits });
        // The zero that marks an octal number may be there already.
        let prefix = if prefix == "0" && digits.starts_with('0') { "" } else { prefix };
        self.pad(&format!("{}{prefix}", self.sign(negative)), &digits)
    }

    fn real(&mut self, value: f64, kind: u8) -> String {
        let upper = kind.is_ascii_uppercase();
        let sign = self.sign(value.is_sign_negative());
        let size = value.abs();
        let precision = self.precision.unwrap_or(6);
        let text = match kind.to_ascii_lowercase() {
            _ if !size.is_finite() => {
                self.zero = false;
                if size.is_nan() { "nan".into() } else { "inf".into() }
            }
            b'f' => self.point(format!("{size:.precision$}")),
            b'e' => self.scientific(size, precision),
            _ => {
                let precision = precision.max(1);
                let exponent: i32 = format!("{size:.*e}", precision - 1)
                    .split_once('e')
                    .and_then(|(_, exponent)| exponent.parse().ok())
                    .unwrap_or(0);
                let text = if (-4..precision as i32).contains(&exponent) {
                    self.point(format!("{size:.*}", (precision as i32 - 1 - exponent) as usize))
                } else {
                    self.scientific(size, precision - 1)
                };
                if self.alternate { text } else { without_zeros(&text) }
            }
        };
        self.pad(sign, &if upper { text.to_uppercase() } else { text })
    }

    /// Formats like the C library on Linux: a digit, a point, thirteen digits without zeros at their end, and a power of two.
    fn hexadecimal(&mut self, value: f64, upper: bool) -> String {
        const DIGITS: usize = 13;
        if !value.is_finite() {
            return self.real(value, if upper { b'F' } else { b'f' });
        }
        let bits = value.abs().to_bits();
        let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
        let power = if bits == 0 { 0 } else { exponent.max(1) - 1023 };
        let mut digits = u64::from(exponent > 0) << 52 | fraction;
        if let Some(cut) = self.precision.and_then(|precision| DIGITS.checked_sub(precision)).filter(|&cut| cut > 0) {
            let (unit, half) = (1 << (4 * cut), 1 << (4 * cut - 1));
            let rest = digits % unit;
            let up = rest > half || rest == half && digits / unit % 2 == 1;
            digits = (digits / unit + u64::from(up)) * unit;
        }
        let text = format!("{:013x}", digits & ((1 << 52) - 1));
        let text = match self.precision {
            None => text.trim_end_matches('0').to_owned(),
            Some(precision) => format!("{text:0<precision$}").chars().take(precision).collect(),
        };
        let point = if self.alternate || !text.is_empty() { "." } else { "" };
        let text = format!("{}{point}{text}p{power:+}", digits >> 52);
        let sign = format!("{}0x", self.sign(value.is_sign_negative()));
        if upper { self.pad(&sign.to_uppercase(), &text.to_uppercase()) } else { self.pad(&sign, &text) }
    }

    /// Adds a point if `#` asks for one even though no digit follows.
    fn point(&self, text: String) -> String {
        if self.alternate && !text.contains('.') { text + "." } else { text }
    }

    fn scientific(&self, size: f64, precision: usize) -> String {
        let text = format!("{size:.precision$e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", self.point(digits.into()), exponent.abs())
    }
}

/// Returns a number without the zeros at the end of its fraction.
fn without_zeros(text: &str) -> String {
    let (digits, exponent) = text.split_at(text.find('e').unwrap_or(text.len()));
    let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    format!("{digits}{exponent}")
}

#[cfg(test)]
mod tests {
    use super::{Printed, format};
    use crate::memory::GlobalMemory;

    fn print(text: &str, bytes: &[u8]) -> String {
        format(text, true, |at| bytes.get(at as usize).copied(), |address| format!("text{address}")).0
    }

    /// 20,000 texts of 64 KiB would be more than a gigabyte, and so would 20,000 numbers of 2 GiB, which the widest arguments ask for.
    #[test]
    fn long_texts() {
        let long = |conversion: &str| {
            let (text, _) = format(
                &conversion.repeat(20_000),
                true,
                |at| Some([255, 255, 255, 127][at as usize % 4]),
                |_| "x".repeat(1 << 16),
            );
            assert!(text.len() < 2 * GlobalMemory::LARGEST_PRINT, "{conversion}");
            text
        };
        for conversion in ["%100000000d", "%*d", "%-*.*x", "%.2000000000f", "%.*a"] {
            long(conversion);
        }
        let text = long("%s");
        let mut printed = Printed::default();
        assert!(!printed.full(0));
        printed.add(3, &text);
        assert!(printed.full(3) && printed.full(4) && !printed.full(2), "an earlier block's text comes first");
    }

    #[test]
    fn a_text_that_nobody_sees_has_no_digits_and_uses_as_many_arguments() {
        let both = |seen| format("%d %.900f%e %s", seen, |_| Some(63), |_| "text".into());
        let [(text, count), (other, as_many)] = [true, false].map(both);
        assert!(text.len() > 900 && other.len() < 30, "{other}");
        assert_eq!((count, as_many), (4, 4));
    }

    #[test]
    fn conversions() {
        for line in include_str!("print.txt").lines().filter(|line| !line.starts_with('#')) {
            let [_, text, numbers, expected, _] = line.split('"').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let mut bytes: Vec<u8> = vec![];
            for number in numbers.trim_matches([',', ' ', ')', '=']).split(", ") {
                let whole = number.trim_end_matches('L').parse::<i64>();
                let word = match whole {
                    Ok(value) if !number.ends_with('L') => (value as u32).to_le_bytes().to_vec(),
                    Ok(value) => value.to_le_bytes().to_vec(),
                    Err(_) => number.parse::<f64>().unwrap().to_le_bytes().to_vec(),
                };
                // A 32-bit number before a 64-bit one leaves a gap.
                bytes.resize(bytes.len().next_multiple_of(word.len()), 9);
                bytes.extend(word);
            }
            assert_eq!(print(text, &bytes), expected, "{line}");
        }
    }

    #[test]
    fn the_first_mebibyte_in_the_order_of_blocks() {
        let half = "x".repeat(GlobalMemory::LARGEST_PRINT / 2);
        let mut printed = Printed::default();
        for block in [3, 1, 2, 0] {
            printed.add(block, &format!("{block}{half}"));
        }
        let text = printed.text();
        assert!(text.starts_with("0x") && text.contains("x1x") && !text.contains('2'), "{}", &text[..9]);
        assert!(text.ends_with("buffer holds 1 MiB\n"));
        for _ in 0..10 {
            printed.add(0, &half);
        }
        assert!(printed.bytes <= 3 * GlobalMemory::LARGEST_PRINT);
        assert!(printed.text().ends_with("buffer holds 1 MiB\n"));
    }
}
