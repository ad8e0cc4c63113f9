//! Numbers as PTX writes them.

use crate::ast::Operand;

/// An unsigned integer as PTX writes it.
pub(super) fn integer(text: &str) -> Option<u64> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'b' | b'B', ..] => (&text[2..], 2),
        [b'0', b'0'..=b'7', ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    if digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// A number of any sort.
pub(super) fn literal(text: &str) -> Option<Operand> {
    let bits = |prefix: [&str; 2], length: usize| {
        let digits = text.strip_prefix(prefix[0]).or_else(|| text.strip_prefix(prefix[1]))?;
        (digits.len() == length).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
    };
    if let Some(bits) = bits(["0f", "0F"], 8) {
        let single = f32::from_bits(bits as u32);
        return Some(Operand::Float { single: bits as u32, double: f64::from(single).to_bits() });
    }
    if let Some(bits) = bits(["0d", "0D"], 16) {
        return Some(Operand::Float { single: (f64::from_bits(bits) as f32).to_bits(), double: bits });
    }
    if let Some(value) = integer(text) {
        return Some(Operand::Integer(value as i64));
    }
    if text.contains('.')
        && let Ok(value) = text.parse::<f64>()
    {
        return Some(Operand::Float { single: (value as f32).to_bits(), double: value.to_bits() });
    }
    None
}
