//! Makes a random number from a number, for seeds, hidden shapes and vectors that all follow from one seed.

/// A random number from a number (the finaliser of SplitMix64, by G. Steele, D. Lea and C. Flood, 2014).
pub fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::mix;

    #[test]
    fn the_first_numbers_are_those_of_splitmix64() {
        // The generator with seed 0: its state is the number of calls times the golden ratio.
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        let drawn = [0, GOLDEN, GOLDEN.wrapping_mul(2)].map(mix);
        assert_eq!(drawn, [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]);
    }
}
