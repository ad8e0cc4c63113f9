//! Numbers for people: times with their unit, and counts with their thousands separated.

/// A time in milliseconds as text, with a unit that suits it.
pub fn ms(ms: f64) -> String {
    match ms {
        ms if ms < 1.0 => format!("{:.2} µs", ms * 1e3),
        ms if ms < 1e3 => format!("{ms:.3} ms"),
        ms => format!("{:.3} s", ms / 1e3),
    }
}

/// A count with a comma between thousands.
pub fn grouped(count: u64) -> String {
    if count < 1000 { count.to_string() } else { format!("{},{:03}", grouped(count / 1000), count % 1000) }
}

/// A value that is not negative: whole numbers like a count, all others with about three digits.
pub fn number(value: f64) -> String {
    match value {
        value if value.fract() == 0.0 => grouped(value as u64),
        value if value < 10.0 => format!("{value:.2}"),
        value => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_people() {
        assert_eq!([1_234_567.0, 999.0, 0.25, 16.5, 1000.0].map(number), ["1,234,567", "999", "0.25", "16.5", "1,000"]);
    }

    #[test]
    fn each_time_has_the_unit_that_suits_it() {
        assert_eq!([0.0125, 1.0, 999.9994, 1500.0].map(ms), ["12.50 µs", "1.000 ms", "999.999 ms", "1.500 s"]);
    }
}
