//! Names of arrays and of their elements.

use simt::{Array, Place, Space};

/// Whether a character may be part of a name.
pub fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// An element of an array; without an index any of them.
pub fn element_of(name: &str, space: Space, index: Vec<u64>) -> Place {
    Place::Element { array: Array { name: name.to_owned(), space }, index, bytes: 0 }
}

/// The name of the array of a place; of a member of a structure, that of the variable.
pub fn array_name(place: &Place) -> Option<&str> {
    place.array()?.name.split(['[', '.']).next().map(unmangled)
}

/// The name of a static variable as the source has it: `sum` for `_ZZ6matmulE3sum`.
pub fn unmangled(name: &str) -> &str {
    let of_function = name.strip_prefix("_ZZ").and_then(|rest| rest.rsplit_once('E'));
    of_function.map_or(name, |(_, name)| name.trim_start_matches(|c: char| c.is_ascii_digit()))
}
