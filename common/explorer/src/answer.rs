//! Answers as JSON: numbers that JSON does not have are words, and counters have their names.

use serde_json::{Map, Value, json};
use simt::Counts;

/// The largest whole number up to which every one has its own value in JSON's numbers.
const EXACT: u64 = 1 << 53;

pub fn real(number: f64) -> Value {
    if number.is_finite() { json!(number) } else { json!(number.to_string()) }
}

pub fn whole(number: u64) -> Value {
    if number <= EXACT { json!(number) } else { json!(number.to_string()) }
}

/// Counters by name: all, or those that are not zero.
pub fn counts(counts: &Counts, all: bool) -> Value {
    let entries = counts.entries().into_iter().filter(|&(_, count)| all || count != 0);
    Value::Object(entries.map(|(name, count)| (name.to_owned(), whole(count))).collect::<Map<_, _>>())
}

/// `object` with the fields of `more` appended.
pub fn with(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}
