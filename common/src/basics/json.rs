//! JSON for files that people compare: the outer levels take several lines, and everything deeper is on one line.

use anyhow::Result;
use serde::Serialize;

/// The value as JSON that ends with a line feed. The outer `depth` levels of objects and arrays are broken into lines.
pub fn lines(value: &impl Serialize, depth: usize) -> Result<String> {
    let mut text = String::new();
    for line in serde_json::to_string_pretty(value)?.lines() {
        let part = line.trim_start();
        // Each level is two blanks deep. What closes a level that is on one line stands as far left as what opens it.
        let (level, closes) = ((line.len() - part.len()) / 2, part.starts_with([']', '}']));
        if level > depth || level == depth && closes || text.is_empty() {
            text.push_str(part);
            if level > depth && part.ends_with(',') {
                text.push(' ');
            }
        } else {
            text.push('\n');
            text.push_str(line);
        }
    }
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_outer_levels_take_lines_and_the_inner_ones_do_not() {
        let value = json!({"a": [[1, 2.5], [], {"b": null, "g": 1}], "c": {}, "d": [], "e": {"f": [3]}});
        let text = lines(&value, 2).unwrap();
        let expected = "{\n  \"a\": [\n    [1, 2.5],\n    [],\n    {\"b\": null, \"g\": 1}\n  ],\n  \"c\": {},\n  \"d\": [],\n  \
                        \"e\": {\n    \"f\": [3]\n  }\n}\n";
        assert_eq!(text, expected);
        assert_eq!(lines(&value, 9).unwrap(), serde_json::to_string_pretty(&value).unwrap() + "\n");
        assert_eq!(serde_json::from_str::<Value>(&lines(&value, 0).unwrap()).unwrap(), value);
    }
}
