//! Has a kernel left A and B as they were? They are inputs: whoever calls it needs them again.

use anyhow::Result;
use rayon::prelude::*;

use crate::matrix::{Operands, Side};
use crate::verification::Verification;
use plan::Problem;

/// Bytes that are read and compared at a time.
const PANEL: usize = 16 << 20;

/// Reads bytes of an operand, from this one on, back from a device.
pub type Read<'a> = dyn FnMut(Side, u64, &mut [u8]) -> Result<()> + 'a;

impl Verification {
    /// The verdict if A and B must also be what they were before the run.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn with_inputs(self, problem: &Problem, operands: &Operands, read: &mut Read) -> Result<Self> {
        let columns = [problem.k, problem.n];
        for (side, before) in Side::BOTH.into_iter().zip(operands.bytes()) {
            let value = |word| problem.dtype.value(word);
            if let Some((at, [was, is])) = changed(before, &mut |first, bytes| read(side, first, bytes))? {
                let columns = columns[side as usize];
                let (row, col, was, is) = (at / columns, at % columns, value(was), value(is));
                return Ok(self.scribbled(side, &format!("{side:?}[{row}][{col}]"), was, is));
            }
        }
        Ok(self)
    }

    /// The verdict on a kernel that has changed an element of an input. Whatever else is wrong may follow from that.
    #[must_use]
    pub fn scribbled(self, side: Side, element: &str, was: f64, is: f64) -> Self {
        let words = format!(
            "the kernel writes into {side:?}, which it may only read: {element} was {was} before the run and is {is} after it"
        );
        Self { ok: false, diagnosis: Some(words), unclear: false, scribbles: true, ..self }
    }
}

/// The first word that is not what it was, counted in words, with both values.
///
/// # Errors
/// If the words cannot be read.
pub fn changed(before: &[u8], read: &mut dyn FnMut(u64, &mut [u8]) -> Result<()>) -> Result<Option<(u64, [u32; 2])>> {
    let mut now = vec![0_u8; before.len().min(PANEL)];
    for (panel, before) in before.chunks(PANEL).enumerate() {
        let (first, now) = ((panel * PANEL) as u64, &mut now[..before.len()]);
        read(first, now)?;
        let words = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap_or_default());
        let other = before.par_chunks(4).zip(now.par_chunks(4)).position_first(|(was, is)| was != is);
        if let Some(at) = other {
            let both = [before, now].map(|bytes| words(&bytes[4 * at..4 * at + 4]));
            return Ok(Some((first / 4 + at as u64, both)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Fill;

    #[test]
    fn one_changed_element_of_an_input_makes_a_right_product_wrong() {
        let problem = Problem { fill: Fill::Integers, ..Problem::uniform([3, 4, 5]) };
        let operands = Operands::new(&problem).unwrap();
        let [a, b] = operands.bytes().map(<[u8]>::to_vec);
        let judged = |a: &[u8], b: &[u8]| {
            let right = Verification { ok: true, ..Verification::default() };
            let mut read = |side, first: u64, bytes: &mut [u8]| {
                let of = if side == Side::A { a } else { b };
                bytes.copy_from_slice(&of[first as usize..][..bytes.len()]);
                Ok(())
            };
            right.with_inputs(&problem, &operands, &mut read).unwrap()
        };
        assert!(judged(&a, &b).ok);
        // The last element of each: A is 3×5 and B 5×4. NaN is another value, too.
        for (side, name) in
            [(0, "into A, which it may only read: A[2][4] was"), (1, "into B, which it may only read: B[4][3] was")]
        {
            let mut inputs = [a.clone(), b.clone()];
            let at = inputs[side].len() - 4;
            inputs[side][at..].copy_from_slice(&f32::NAN.to_le_bytes());
            let found = judged(&inputs[0], &inputs[1]);
            assert!(!found.ok && found.scribbles && found.diagnosis.as_deref().unwrap().contains(name), "{found:?}");
        }
    }
}
