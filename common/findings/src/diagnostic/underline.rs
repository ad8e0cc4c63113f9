//! Which part of a line is underlined. The compiler tells the line and the column at which a statement starts; the access in it is
//! found by its array's name, among the tokens behind that column.

use std::ops::Range;
use std::sync::Arc;

use simt::{Location, Place};

use crate::element::{array_name, is_name};
use crate::places;

/// A place in a kernel, with the lines of its file as they were when something was seen there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The place.
    pub at: Location,
    /// All lines of its file; none if they are not known.
    pub lines: Arc<[String]>,
}

impl Spot {
    /// A place that was seen.
    pub fn of(place: &Location) -> Self {
        Self { at: place.clone(), lines: places::lines_of(place) }
    }

    /// Its line without the comment; empty if it is not known.
    pub fn code(&self) -> &str {
        let number = self.at.line.and_then(|line| (line as usize).checked_sub(1));
        number.and_then(|number| self.lines.get(number)).map_or("", |line| code(line))
    }
}

/// A line without the comment at its end.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim_end()
}

/// A place in the kernel, and who did what there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The place.
    pub spot: Spot,
    /// The element that is accessed, such as `As[3][17]`, if its array has a name.
    pub element: Option<Place>,
    /// The element is written there.
    pub writes: bool,
    /// Of two accesses that are alike, the second one is meant.
    pub second: bool,
    /// Who did what.
    pub label: String,
    /// It only helps to understand the other marks, and is underlined differently.
    pub aside: bool,
}

impl Mark {
    /// The statement at a place, as a whole.
    pub fn at(place: &Location, label: impl Into<String>) -> Self {
        Self { spot: Spot::of(place), label: label.into(), ..Self::default() }
    }
}

/// How many lines a statement may take. A longer search would find the access of another statement.
const LINES: usize = 6;

/// A word or an operator: its line, counted from 1, and the byte of it where it begins.
struct Token<'a> {
    text: &'a str,
    line: u32,
    start: usize,
}

impl Token<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// A use of an array, `As[y][k]`, as tokens.
struct Use {
    tokens: Range<usize>,
    reads: bool,
    writes: bool,
}

/// The line and the bytes of it to underline: the access of a mark by the statement that starts at its line and column.
pub fn access(mark: &Mark) -> (u32, Range<usize>) {
    let Mark { spot, element, writes, .. } = mark;
    let line = spot.at.line.unwrap_or_default();
    let all = tokens(&spot.lines, line);
    let own = all.iter().take_while(|token| token.line == line).count();
    let column = spot.at.column.unwrap_or_default() as usize;
    let begins = (0..own).find(|&at| all[at].end() >= column);
    // Of `As.load(y, k)` the compiler of Rust tells the column of `load`.
    let start = begins.map(|at| if at > 1 && all[at - 1].text == "." { at - 2 } else { at });
    let is_last = |at: usize| all.get(at + 1).is_none_or(|next| next.line != all[at].line);
    let end = (0..all.len()).find(|&at| matches!(all[at].text, ";" | "{" | "}") && is_last(at)).unwrap_or(all.len());
    let array = element.as_ref().and_then(array_name);
    let index = element.as_ref().map(Place::index).unwrap_or_default();
    let named = (start.unwrap_or(own)..end).filter(|&at| Some(all[at].text) == array);
    let found: Vec<Use> = named.filter_map(|at| one_use(&all, at)).collect();
    let written = |found: &Use| {
        let [first, last] = [&all[found.tokens.start], &all[found.tokens.end - 1]];
        &spot.lines[first.line as usize - 1][first.start..last.end()]
    };
    let value = |found: &Use| {
        let direction = if *writes { found.writes } else { found.reads };
        (direction, agrees(written(found), &index))
    };
    // Among equals, the one that comes first in the line, or the last one.
    let best =
        if mark.second { found.into_iter().max_by_key(value) } else { found.into_iter().rev().max_by_key(value) };
    match best {
        Some(Use { tokens, .. }) => (all[tokens.start].line, all[tokens.start].start..all[tokens.end - 1].end()),
        None if own > 0 => {
            let tokens = whole(&all, start.unwrap_or(0)..own);
            (line, all[tokens.start].start..all[tokens.end - 1].end())
        }
        // It has nothing but a line for the preprocessor.
        None => {
            let text = spot.lines.get(line as usize - 1).map_or("", |line| code(line)).trim_end_matches(';');
            (line, text.len() - text.trim_start().len()..text.len())
        }
    }
}

/// Whether no index that is written as a number contradicts the element: `As[1][x]` is no access to `As[0][5]`.
fn agrees(access: &str, element: &[u64]) -> bool {
    let index = |text: &str| text.split(']').next()?.trim().parse::<u64>().ok();
    access.split('[').skip(1).zip(element).all(|(one, other)| index(one).is_none_or(|one| one == *other))
}

/// The first statement of these tokens, without its semicolon.
fn whole(all: &[Token], Range { start, end }: Range<usize>) -> Range<usize> {
    let mut depth = 0_i32;
    let ends = |at: &usize| {
        depth += i32::from(all[*at].text == "(") - i32::from(all[*at].text == ")");
        all[*at].text == ";" && depth <= 0 && *at > start
    };
    start..(start..end).find(ends).unwrap_or(end)
}

/// The use that begins with an array's name, if it ends in the same line: a call of a method, or the name with its indices.
fn one_use(all: &[Token], name: usize) -> Option<Use> {
    let text = |at: usize| all.get(at).map_or("", |token| token.text);
    let is_word = |at: usize| text(at).starts_with(|c| is_name(c) && !char::is_ascii_digit(&c));
    let mut end = name + 1;
    let mut indexed = false;
    loop {
        let is_member = is_word(end + 1) && !matches!(text(end + 2), "(" | "::" | "<");
        match text(end) {
            "[" => (end, indexed) = (behind(all, end), true),
            "." | "->" if is_member => end += 2,
            _ => break,
        }
    }
    let (reads, writes) = if text(name + 1) == "." && !indexed {
        let open = (name + 2..all.len()).find(|&at| text(at) == "(")?;
        // `pair.x = f(y)` sets a component of a vector, and is not a call of a method.
        let of_call = |at| text(at).chars().all(|c| is_name(c) || ":<>".contains(c));
        (name + 2..open).all(of_call).then_some(())?;
        end = behind(all, open);
        let reads = ["load", "get"].iter().any(|begin| text(name + 2).starts_with(begin));
        (reads, !reads)
    } else {
        indexed.then_some(())?;
        let (before, after) = (if name > 0 { text(name - 1) } else { "" }, text(end));
        let set = after == "=";
        let assigns = after.len() > 1 && after.ends_with('=') && !matches!(after, "==" | "!=" | "<=" | ">=");
        let changed = assigns || [before, after].iter().any(|it| matches!(*it, "++" | "--"));
        // The address is taken here, and used elsewhere.
        let address = before == "&";
        (changed || address || !set, changed || address || set)
    };
    (all[name].line == all[end - 1].line).then_some(Use { tokens: name..end, reads, writes })
}

/// The token behind the bracket that closes the one at this place.
fn behind(all: &[Token], open: usize) -> usize {
    let mut depth = 0_i32;
    let closes = |at: &usize| {
        depth += i32::from("([{".contains(all[*at].text)) - i32::from(")]}".contains(all[*at].text));
        depth == 0
    };
    (open..all.len()).find(closes).map_or(all.len(), |close| close + 1)
}

/// The tokens of a few lines, without comments and without what is for the preprocessor.
fn tokens(lines: &[String], first: u32) -> Vec<Token<'_>> {
    const OPERATORS: [&str; 21] = [
        "<<=", ">>=", "::", "->", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "==", "!=", "<=", ">=",
        "&&", "||", "..",
    ];
    let mut found = vec![];
    let mut comment = false;
    for (line, text) in (1..).zip(lines).skip((first as usize).saturating_sub(1)).take(LINES) {
        let skipped = text.trim_start().starts_with('#');
        let mut at = 0;
        while let Some(first) = text[at..].chars().next().filter(|_| !skipped) {
            let rest = &text[at..];
            if comment || rest.starts_with("/*") {
                let end = rest.find("*/").map(|end| end + 2);
                comment = end.is_none();
                at += end.unwrap_or(rest.len());
                continue;
            }
            let length = match first {
                _ if rest.starts_with("//") => break,
                '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
                _ if is_name(first) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
                _ => OPERATORS.iter().find(|it| rest.starts_with(**it)).map_or(first.len_utf8(), |it| it.len()),
            };
            if !first.is_whitespace() {
                found.push(Token { text: &rest[..length], line, start: at });
            }
            at += length;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use simt::Space;

    use super::*;
    use crate::element::element_of;

    const LINE: &str = "    As[y][x] = As[y][x - 1] * BAs[0] + Bs[k + i[2]][x];  // As[9][9]";
    const CALL: &str = "    sum = fma(As.load(y, k), Bs.load(k, f(x)), sum);";

    /// A text, the column, the element, whether it is written, and what is underlined.
    const CASES: [(&str, Option<u32>, &str, bool, &str); 22] = [
        (LINE, Some(5), "As", true, "As[y][x]"),
        (LINE, Some(5), "As", false, "As[y][x - 1]"),
        (LINE, None, "Bs", false, "Bs[k + i[2]][x]"),
        (LINE, None, "Bs", true, "Bs[k + i[2]][x]"),
        (CALL, Some(18), "As", false, "As.load(y, k)"),
        (CALL, Some(33), "Bs[3][1]", false, "Bs.load(k, f(x))"),
        ("As.copy::<1>(y, (x), a);", Some(4), "As", true, "As.copy::<1>(y, (x), a)"),
        ("    As.store(y", Some(8), "As", true, "As.store(y"),
        ("if (As[0] == 1) ++As[1];", None, "As", true, "As[1]"),
        ("x = s[0][t] + s[1][t];", None, "s[1][5]", false, "s[1][t]"),
        ("x = s[0][t] + s[1][t];", None, "s[2][5]", false, "s[0][t]"),
        ("atomicAdd(&C[row], sum);", None, "C", true, "C[row]"),
        ("if (s[0] < 1) s[1] = s[2];", Some(15), "s", false, "s[2]"),
        ("if (s[0] < 1) s[1] = s[2];", Some(5), "s", false, "s[0]"),
        ("    *c = sum;  // done", Some(5), "C", true, "*c = sum"),
        ("    x = 1; __syncthreads(); // all", Some(12), "", false, "__syncthreads()"),
        ("  for (int i = 0; i < 9; ++i) f(a[i]);", None, "", false, "for (int i = 0; i < 9; ++i) f(a[i])"),
        ("    __syncthreads();", Some(999), "", false, "__syncthreads()"),
        ("é = 1;", Some(2), "", false, "é = 1"),
        ("sum += factor *\n    As[y][k];\nAs[y][x] = 0;", Some(1), "As", false, "As[y][k]"),
        ("a[\n0];", None, "a", false, "a["),
        ("a = 1;\nb[0] = 1;", None, "b", true, "a = 1"),
    ];

    #[test]
    fn the_access_that_is_meant_is_underlined() {
        for (text, column, element, writes, underlined) in CASES {
            let lines: Arc<[String]> = text.lines().map(str::to_owned).collect();
            let at = Location { line: Some(1), column, ..Location::default() };
            let parts: Vec<&str> = element.split(['[', ']']).filter(|part| !part.is_empty()).collect();
            let place = parts.split_first().map(|(name, index)| {
                element_of(name, Space::Shared, index.iter().map(|index| index.parse().unwrap()).collect())
            });
            let mark = Mark { spot: Spot { at, lines: lines.clone() }, element: place, writes, ..Mark::default() };
            let (line, span) = access(&mark);
            assert_eq!(&lines[line as usize - 1][span], underlined, "{text} {element}");
        }
    }
}
