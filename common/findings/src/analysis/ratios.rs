//! Terms of counters, such as `global_load_sectors / global_load_requests`: what tables, goals of labs and questions ask for.

use crate::analysis::counters::Counters;

/// The value of a term of names and numbers, worked out from left to right; none if one of them has no value.
pub fn term(term: &str, value: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let mut words = term.split_whitespace();
    let one = |word: &str| word.parse().ok().or_else(|| value(word));
    let mut result = one(words.next()?)?;
    while let Some(operation) = words.next() {
        let other = one(words.next()?)?;
        result = match operation {
            "+" => result + other,
            "*" => result * other,
            "/" => result / other,
            _ => return None,
        };
    }
    Some(result)
}

/// The ratios that the course compares kernels by: a name, and the term.
pub const RATIOS: [(&str, &str); 5] = [
    ("flop/byte", "flop_per_byte"),
    ("sectors/load", "global_load_sectors / global_load_requests"),
    ("sh. wavefronts/FMA", "shared_load_wavefronts / fma_threads * 32"),
    ("conflicts", "shared_load_bank_conflicts + shared_store_bank_conflicts"),
    ("barriers", "barriers"),
];

impl Counters {
    /// A counter, or what follows from the counters, by its name.
    pub fn named(&self, name: &str) -> Option<f64> {
        match name {
            "flop_per_byte" => Some(self.flop_per_byte),
            "flop_per_global_access" => Some(self.flop_per_global_access),
            name => self.total.get(name).map(|&count| count as f64),
        }
    }

    /// The value of a term of counters, if there is anything to divide by.
    pub fn term(&self, term: &str) -> Option<f64> {
        self::term(term, |name| self.named(name)).filter(|value| value.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_worked_out_from_left_to_right_and_needs_something_to_divide_by() {
        let counts = [("global_load_sectors", 8), ("global_load_requests", 2), ("fma_threads", 0)];
        let total = counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        let counters = Counters { total, flop_per_byte: 8.0, ..Counters::default() };
        assert_eq!(counters.term(RATIOS[1].1), Some(4.0));
        assert_eq!(counters.term("flop_per_byte + global_load_requests / 4 * 32"), Some(80.0));
        for none in ["", "cake", "8 / fma_threads", "8 /", "8 ^ 2"] {
            assert_eq!(counters.term(none), None, "{none}");
        }
    }
}
