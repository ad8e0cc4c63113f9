//! JSON for files that people compare: the outer levels take several lines, and everything deeper is on one line.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Value, json};

/// The value as JSON that ends with a line feed. The outer `depth` levels of objects and arrays are broken into lines.
pub fn lines(value: &impl Serialize, depth: usize) -> Result<String> {
    Ok(text(&serde_json::to_value(value)?, depth, 0) + "\n")
}

fn text(value: &Value, depth: usize, indent: usize) -> String {
    let inner = |value| text(value, depth - 1, indent + 2);
    let (open, members, close): (_, Vec<String>, _) = match value {
        Value::Array(items) if depth > 0 && !items.is_empty() => ("[", items.iter().map(inner).collect(), "]"),
        Value::Object(fields) if depth > 0 && !fields.is_empty() => {
            ("{", fields.iter().map(|(name, value)| format!("{}: {}", json!(name), inner(value))).collect(), "}")
        }
        value => return value.to_string(),
    };
    let line = format!("\n{:indent$}", "");
    format!("{open}{line}  {}{line}{close}", members.join(&format!(",{line}  ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outer_levels_take_lines_and_the_inner_ones_do_not() {
        let value = json!({"a": [[1, 2.5], [], {"b": null}], "c": {}, "d": [], "e": {"f": [3]}});
        let text = lines(&value, 2).unwrap();
        let expected = "{\n  \"a\": [\n    [1,2.5],\n    [],\n    {\"b\":null}\n  ],\n  \"c\": {},\n  \"d\": [],\n  \
                        \"e\": {\n    \"f\": [3]\n  }\n}\n";
        assert_eq!(text, expected);
        assert_eq!(lines(&value, 9).unwrap(), serde_json::to_string_pretty(&value).unwrap() + "\n");
        assert_eq!(serde_json::from_str::<Value>(&lines(&value, 0).unwrap()).unwrap(), value);
    }
}
