//! Which part of a statement is underlined. The compiler tells the line and the column at which a statement starts; the
//! access in it is found by its array's name.

use std::ops::Range;

use simt::Place;

/// A use of an array, `As[y][k]`, as bytes of its line.
pub struct Use {
    pub span: Range<usize>,
    pub reads: bool,
    pub writes: bool,
}

/// Lines that a statement takes at most: a search beyond would find another statement's access.
const LINES: usize = 6;

/// A line without the comment at its end.
pub fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim_end()
}

pub fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a line of code has a word of this kind.
pub fn has_word(code: &str, is_it: impl Fn(&str) -> bool) -> bool {
    code.split(|c| !is_name(c)).any(is_it)
}

/// The line in `lines` (counted from 0) and the bytes of it to underline, for an access to an element such as `As[3][17]`
/// by the statement that starts in line `first`.
pub fn access(
    lines: &[String],
    first: usize,
    column: Option<u32>,
    element: Option<&Place>,
    writes: bool,
) -> (usize, Range<usize>) {
    let start = column.map_or(0, |column| column as usize - 1);
    let start = lines.get(first).map_or(start, |line| receiver(line, start));
    let ends = |line: &String| code(line).ends_with([';', '{', '}']);
    let count = lines.iter().skip(first).take(LINES).position(ends).map_or(LINES, |last| last + 1);
    let mut found: Vec<(usize, Use)> = Vec::new();
    if let Some(array) = element.and_then(array_name) {
        for (at, line) in lines.iter().enumerate().skip(first).take(count) {
            let from = if at == first { start } else { 0 };
            let uses = uses(code(line), array).into_iter().filter(|found| found.span.start >= from);
            found.extend(uses.map(|found| (at, found)));
        }
    }
    // The best is last: of several that are equal, the one that comes first in the line.
    let best = found.into_iter().rev().max_by_key(|(at, found)| {
        let direction = if writes { found.writes } else { found.reads };
        (direction, agrees(&lines[*at][found.span.clone()], &element.map(Place::index).unwrap_or_default()))
    });
    match best {
        Some((at, found)) => (at, found.span),
        None => (first, whole(lines.get(first).map_or("", String::as_str), start)),
    }
}

/// Whether no index that is written as a number contradicts the element: `As[1][x]` is no access to `As[0][5]`.
fn agrees(access: &str, element: &[u64]) -> bool {
    let index = |text: &str| text.split(']').next()?.trim().parse::<u64>().ok();
    access.split('[').skip(1).zip(element).all(|(one, other)| index(one).is_none_or(|one| one == *other))
}

/// The statement in a line that starts at a byte, without its semicolon.
fn whole(line: &str, start: usize) -> Range<usize> {
    let code = code(line);
    let start = if code.get(start..).is_some_and(|rest| !rest.trim_start().is_empty()) { start } else { 0 };
    let rest = &code[start..];
    let begin = start + rest.len() - rest.trim_start().len();
    let mut depth = 0_i32;
    let end = code[begin..].char_indices().find_map(|(at, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        (c == ';' && depth <= 0 && at > 0).then_some(begin + at)
    });
    begin..end.unwrap_or(code.len()).max(begin)
}

/// Where what a method is called on begins, if the byte is where the method's name does: of `As.load(y, k)` the compiler of Rust
/// tells the column of `load`.
fn receiver(line: &str, start: usize) -> usize {
    match line.get(..start).and_then(|before| before.strip_suffix('.')) {
        Some(before) => before.trim_end_matches(is_name).len(),
        None => start,
    }
}

/// The uses of an array in a line.
pub fn uses(code: &str, array: &str) -> Vec<Use> {
    code.match_indices(array)
        .filter(|&(at, _)| !code[..at].ends_with(is_name) && !code[at + array.len()..].starts_with(is_name))
        .filter_map(|(at, _)| {
            if let Some(method) = code[at + array.len()..].strip_prefix('.') {
                let end = code.len() - method.len() + after_call(method)?;
                let reads = method.starts_with("load") || method.starts_with("get");
                return Some(Use { span: at..end, reads, writes: !reads });
            }
            let end = after_brackets(code, at + array.len())?;
            let (before, after) = (code[..at].trim_end(), code[end..].trim_start());
            let changed = ["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"]
                .iter()
                .any(|operator| after.starts_with(operator));
            let changed = changed || before.ends_with("++") || before.ends_with("--");
            let set = after.starts_with('=') && !after.starts_with("==");
            // An address: what happens at it stands elsewhere.
            let address = before.ends_with('&') && !before.ends_with("&&");
            let span = at..end;
            Some(Use { span, reads: changed || address || !set, writes: changed || address || set })
        })
        .collect()
}

/// Where a call ends that begins with the function's name: `copy::<1>(row, col)`.
fn after_call(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    let open = text.find('(')?;
    if !text[..open].chars().all(|c| is_name(c) || "::<>".contains(c)) {
        return None; // a component of a vector: `pair.x = f(y)`
    }
    text[open..].char_indices().find_map(|(at, c)| {
        depth = (depth + u32::from(c == '(')).checked_sub(u32::from(c == ')'))?;
        (depth == 0).then_some(open + at + 1)
    })
}

/// Where the indices that begin here end; `None` if there are none, or they go on in the next line.
fn after_brackets(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0_u32;
    let mut end = None;
    for (at, c) in code[from..].char_indices() {
        match c {
            '[' => depth += 1,
            ']' => {
                depth = depth.checked_sub(1)?;
                end = (depth == 0).then_some(from + at + 1).or(end);
            }
            c if depth > 0 || c.is_whitespace() => {}
            _ => break,
        }
    }
    end.filter(|_| depth == 0)
}

/// The name of the array of a place.
pub fn array_name(place: &Place) -> Option<&str> {
    place.array().map(|array| array.name.as_str())
}
