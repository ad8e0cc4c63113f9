//! Single precision as a GPU computes it where the host's own arithmetic does: one NaN, and which of two zeros is the
//! smaller.

/// The only NaN a GPU's single-precision arithmetic produces.
pub(crate) const NAN: u32 = 0x7fff_ffff;

/// Bits of a single-precision result.
#[inline(always)]
pub(crate) fn canonical(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

/// Bits of a double-precision result: one NaN, whatever the host makes of the operands' NaNs.
#[inline(always)]
pub(crate) fn canonical64(value: f64) -> u64 {
    if value.is_nan() { 0xfff8 << 48 } else { value.to_bits() }
}

/// Turns a subnormal number into zero of the same sign, if asked to.
pub(crate) fn flush(value: f32, ftz: bool) -> f32 {
    if ftz && value.is_subnormal() { 0.0f32.copysign(value) } else { value }
}

/// IEEE 754-2008 minNum, with −0 below +0.
pub(crate) fn minimum(x: f32, y: f32) -> f32 {
    match (x.is_nan(), y.is_nan()) {
        (true, _) => y,
        (_, true) => x,
        _ if x.total_cmp(&y).is_lt() => x,
        _ => y,
    }
}

/// IEEE 754-2008 maxNum, with +0 above −0.
pub(crate) fn maximum(x: f32, y: f32) -> f32 {
    -minimum(-x, -y)
}

/// A magnitude with the sign that the product of two numbers has.
pub(crate) fn signed(magnitude: f32, x: f32, y: f32) -> f32 {
    magnitude.copysign(x) * 1.0f32.copysign(y)
}
