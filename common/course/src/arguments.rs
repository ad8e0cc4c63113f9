//! Arguments that several verbs share.

/// A seed; the error says what to give.
pub fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "not a seed; give a whole number, e.g. 7".into())
}
