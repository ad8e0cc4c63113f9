//! The bytes of the tape: values of the lanes of a warp, packed by their pattern.

/// How 32 values are packed.
const SAME: u8 = 0;
const EVEN: u8 = 1;
const EACH: u8 = 2;

/// The numbers of the lanes whose bits are set, in order.
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> + Clone {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

/// Writes a number in 7 bits a byte.
pub fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Writes the values of the lanes of a mask.
pub fn put_lanes(bytes: &mut Vec<u8>, mask: u32, values: &[u32; 32]) {
    let first = mask.trailing_zeros() as usize & 31;
    let second = (mask & mask.wrapping_sub(1)).trailing_zeros() as usize;
    let base = values[first];
    let step = match values.get(second) {
        Some(value) if (second - first).is_power_of_two() && second - first == 1 => value.wrapping_sub(base),
        _ => 0,
    };
    let at = |lane: usize| base.wrapping_add(step.wrapping_mul((lane - first) as u32));
    if lanes(mask).all(|lane| values[lane] == at(lane)) {
        bytes.push(if step == 0 { SAME } else { EVEN });
        bytes.extend(base.to_le_bytes());
        if step != 0 {
            bytes.extend(step.to_le_bytes());
        }
        return;
    }
    bytes.push(EACH);
    lanes(mask).for_each(|lane| bytes.extend(values[lane].to_le_bytes()));
}

/// Reads what was written, from the front. At the end of the bytes there is nothing but zeros.
#[derive(Clone, Copy)]
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    /// One byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number in 7 bits a byte.
    pub fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }

    fn word(&mut self) -> u32 {
        let Some((word, rest)) = self.0.split_first_chunk() else {
            self.0 = &[];
            return 0;
        };
        self.0 = rest;
        u32::from_le_bytes(*word)
    }

    /// The values of the lanes of a mask; zero in the others.
    pub fn lanes(&mut self, mask: u32) -> [u32; 32] {
        let mut values = [0; 32];
        let first = mask.trailing_zeros() as usize & 31;
        match self.byte() {
            EACH => lanes(mask).for_each(|lane| values[lane] = self.word()),
            kind => {
                let base = self.word();
                let step = if kind == EVEN { self.word() } else { 0 };
                for lane in lanes(mask) {
                    values[lane] = base.wrapping_add(step.wrapping_mul((lane - first) as u32));
                }
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let patterns: [[u32; 32]; 4] = [
            [7; 32],
            std::array::from_fn(|lane| 100 + 4 * lane as u32),
            std::array::from_fn(|lane| (lane * lane) as u32),
            std::array::from_fn(|lane| 5_u32.wrapping_sub(lane as u32)),
        ];
        for mask in [u32::MAX, 1, 0b1010, 0x8000_0001, 0xffff_0000, 0] {
            for values in &patterns {
                let mut bytes = vec![];
                put_lanes(&mut bytes, mask, values);
                put_number(&mut bytes, 300);
                let mut reader = Reader(&bytes);
                let read = reader.lanes(mask);
                assert!(lanes(mask).all(|lane| read[lane] == values[lane]), "{mask:#x}");
                assert_eq!(reader.number(), 300);
                assert!(reader.0.is_empty());
            }
        }
        assert_eq!(Reader(&[]).lanes(3), [0; 32]);
    }

    #[test]
    fn a_pattern_takes_few_bytes() {
        let size = |values: &[u32; 32]| {
            let mut bytes = vec![];
            put_lanes(&mut bytes, u32::MAX, values);
            bytes.len()
        };
        assert_eq!((size(&[1; 32]), size(&std::array::from_fn(|lane| lane as u32))), (5, 9));
    }
}
