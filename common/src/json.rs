//! JSON for files that people compare: the outer levels over several lines, everything deeper on one line.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// The value with its outer `depth` levels of objects and arrays broken into lines, and a line end.
pub fn lines(value: &impl Serialize, depth: usize) -> Result<String> {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut text, Lines { depth, level: 0, empty: true }))?;
    text.push(b'\n');
    Ok(String::from_utf8(text)?)
}

struct Lines {
    depth: usize,
    /// Objects and arrays that are open.
    level: usize,
    /// Whether the one opened last holds nothing so far.
    empty: bool,
}

impl Lines {
    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.level += 1;
        self.empty = true;
        writer.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        if !self.empty {
            self.break_line(writer, self.level - 1)?;
        }
        self.level -= 1;
        self.empty = false;
        writer.write_all(bracket)
    }

    fn next<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.empty = false;
        self.break_line(writer, self.level)
    }

    /// A new line before a member of the container that is open, or before its end.
    fn break_line<W: ?Sized + Write>(&self, writer: &mut W, indent: usize) -> io::Result<()> {
        if self.level <= self.depth { write!(writer, "\n{:1$}", "", 2 * indent) } else { Ok(()) }
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.next(writer, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.next(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(if self.level <= self.depth { b": " } else { b":" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

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
