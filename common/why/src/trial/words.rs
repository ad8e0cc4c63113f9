//! Edits of names and numbers: another one of the same kind, two exchanged, an index or a member exchanged.

use super::edit::{Change, Edit, Proposals};
use super::lexer::{Kind, Tokens};
use super::names::{Class, GRID, Names};

/// Proposes all of them.
pub fn propose(tokens: &Tokens, names: &Names, out: &mut Proposals) {
    for at in 0..tokens.all.len() {
        name(tokens, names, at, out);
        number(tokens, names, at, out);
        member(tokens, at, out);
    }
    exchanged(tokens, names, out);
}

/// A name becomes another one of its class.
fn name(tokens: &Tokens, names: &Names, at: usize, out: &mut Proposals) {
    let own = tokens.of(at);
    for class in [Class::Scalar, Class::Indexed] {
        if !names.uses(tokens, at, class) {
            continue;
        }
        for (other, _) in names.before(at, class).filter(|(other, _)| *other != own && !compares(tokens, at, other)) {
            let alike = names.alike(own, other);
            let tier = match class {
                Class::Indexed => 2,
                _ if alike => 1,
                _ => 3,
            };
            out.replace(tokens.span(at, at), other, tier, 1, format!("{own} becomes {other}"));
        }
        if class == Class::Scalar && matches!(tokens.near(at, -1), "<" | "<=" | "=" | "[") {
            for number in ["0", "1"] {
                out.replace(tokens.span(at, at), number, 3, 2, format!("{own} becomes {number}"));
            }
        }
    }
}

/// Whether a name that stands at a token would be compared with itself.
fn compares(tokens: &Tokens, at: usize, name: &str) -> bool {
    let is_sign = |sign: &str| matches!(sign, "<" | "<=" | ">" | ">=" | "==" | "!=");
    is_sign(tokens.near(at, -1)) && tokens.near(at, -2) == name
        || is_sign(tokens.of(at + 1)) && tokens.of(at + 2) == name
}

/// A number becomes one that is near, or a constant or size with a name.
fn number(tokens: &Tokens, names: &Names, at: usize, out: &mut Proposals) {
    let Some(token) = tokens.all.get(at).filter(|token| token.kind == Kind::Number) else { return };
    let own = tokens.of(at);
    let span = token.span.clone();
    let Ok(value) = own.parse::<i64>() else {
        if own.trim_end_matches(['f', 'F', '0', '.']).is_empty() {
            return;
        }
        if own.starts_with(|c: char| c.is_ascii_digit()) && own.contains('.') {
            out.replace(span, "0.0f", 2, 1, format!("{own} becomes 0"));
        }
        return;
    };
    let mut near = vec![value + 1, value * 2];
    near.extend((value > 0).then_some(value - 1));
    near.extend((value > 1 && value % 2 == 0).then_some(value / 2));
    near.extend((value > 1).then_some(0));
    near.extend((value > 2).then_some(1));
    near.dedup();
    // What changes nothing is an operand that can be dropped.
    let (sign, next) = (tokens.near(at, -1), tokens.of(at + 1));
    near.retain(|other| !(*other == 0 && matches!(sign, "+" | "-")));
    near.retain(|other| !(*other == 1 && (matches!(sign, "*" | "/" | "%") || next == "*")));
    for other in near {
        out.replace(span.clone(), other.to_string(), 1 + u32::from(value > 2), 1, format!("{own} becomes {other}"));
    }
    if !token.directive {
        for (other, known) in names.before(at, Class::Scalar) {
            let tier = if known.constant && value > 1 { 1 } else { 3 };
            out.replace(span.clone(), other, tier, 2, format!("{own} becomes {other}"));
        }
    }
}

/// A member of an index becomes another member, or that of another index.
fn member(tokens: &Tokens, at: usize, out: &mut Proposals) {
    let own = tokens.of(at);
    if !matches!(own, "x" | "y" | "z" | "w") || tokens.near(at, -1) != "." {
        return;
    }
    let base = if tokens.near(at, -2) == ")" { at.wrapping_sub(4) } else { at.wrapping_sub(2) };
    let grid = ["thread_idx", "block_idx", "block_dim", "grid_dim"];
    let of_grid = GRID.contains(&tokens.of(base)) || grid.contains(&tokens.of(base));
    for other in ["x", "y", "z", "w"].into_iter().filter(|other| *other != own && !(of_grid && *other == "w")) {
        let tier = match (of_grid, other) {
            (true, "z") => 4,
            _ => 1,
        };
        out.replace(tokens.span(at, at), other, tier, 1, format!(".{own} becomes .{other}"));
    }
    let all = if GRID.contains(&tokens.of(base)) { GRID } else { grid };
    for other in all.into_iter().filter(|other| of_grid && *other != tokens.of(base)) {
        out.replace(tokens.span(base, base), other, 2, 1, format!("{} becomes {other}", tokens.of(base)));
    }
}

/// Two names, indices or arguments of one line are exchanged.
fn exchanged(tokens: &Tokens, names: &Names, out: &mut Proposals) {
    let lines: Vec<usize> = (0..tokens.all.len()).collect();
    for line in lines.chunk_by(|&a, &b| tokens.all[a].line == tokens.all[b].line) {
        // The parameters of a function are declared, and exchanged there.
        let is_parameter = |at: usize| names.declares(at) && matches!(tokens.of(at + 1), "," | ")" | ":");
        let is_it = |at: usize, class| {
            names.uses(tokens, at, class) || names.class(tokens.of(at)) == Some(class) && is_parameter(at)
        };
        for class in [Class::Scalar, Class::Indexed] {
            let at: Vec<usize> = line.iter().copied().filter(|&at| is_it(at, class)).collect();
            for (n, &one) in at.iter().enumerate() {
                for &other in &at[n + 1..] {
                    let [a, b] = [one, other].map(|at| tokens.of(at));
                    let same = compares(tokens, one, b) || compares(tokens, other, a);
                    if a == b || same || is_parameter(one) != is_parameter(other) {
                        continue;
                    }
                    let tier = if names.alike(a, b) || class == Class::Indexed { 1 } else { 2 };
                    let changes =
                        vec![Change::new(tokens.span(one, one), b), Change::new(tokens.span(other, other), a)];
                    out.add(changes, tier, 2, format!("{a} and {b} exchanged"));
                }
            }
        }
    }
    for at in 0..tokens.all.len() {
        // m[a][b] and f(a, b)
        if tokens.of(at) == "]" && tokens.of(at + 1) == "[" {
            let open = (0..at).rev().find(|&open| tokens.of(open) == "[" && tokens.closing(open) == at);
            let close = tokens.closing(at + 1);
            if let Some(open) = open.filter(|&open| open + 1 < at && at + 2 < close) {
                let [one, other] = [(open + 1, at - 1), (at + 2, close - 1)];
                pair(tokens, one, other, 1, out);
            }
        }
        if tokens.of(at) == "("
            && tokens.is_word(at.wrapping_sub(1))
            && !matches!(tokens.near(at, -1), "for" | "if" | "while")
        {
            let parts = arguments(tokens, at);
            for two in parts.windows(2) {
                pair(tokens, two[0], two[1], 2, out);
            }
        }
    }
}

fn pair(tokens: &Tokens, one: (usize, usize), other: (usize, usize), tier: u32, out: &mut Proposals) {
    let [a, b] = [one, other].map(|(from, to)| tokens.written(from, to));
    if a != b {
        let changes = vec![Change::new(tokens.span(one.0, one.1), b), Change::new(tokens.span(other.0, other.1), a)];
        out.add(changes, tier, 2, format!("{a} and {b} exchanged"));
    }
}

/// The parts of a list in brackets, separated by commas.
pub fn arguments(tokens: &Tokens, open: usize) -> Vec<(usize, usize)> {
    let (close, mut parts, mut from, mut at) = (tokens.closing(open), vec![], open + 1, open + 1);
    while at < close {
        match tokens.of(at) {
            "(" | "[" | "{" => at = tokens.closing(at),
            "," => {
                parts.extend((from < at).then_some((from, at - 1)));
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.extend((from < close).then(|| (from, close - 1)));
    parts
}

/// The line's names in the order of the source: one name becomes another wherever the line has it.
pub fn along_a_line(tokens: &Tokens, edits: &[Edit]) -> Vec<Edit> {
    let line_of = |edit: &Edit| {
        let at = edit.changes.first()?.from;
        let token = tokens.all.partition_point(|token| token.span.start <= at).checked_sub(1)?;
        Some(tokens.all[token].line)
    };
    let mut by: std::collections::BTreeMap<(usize, &str), Vec<&Edit>> = std::collections::BTreeMap::new();
    for edit in edits.iter().filter(|edit| edit.tier < 3) {
        if let Some(line) = line_of(edit) {
            by.entry((line, &edit.what)).or_default().push(edit);
        }
    }
    let all = by.into_values().filter(|same| (2..9).contains(&same.len()));
    all.filter_map(|same| {
        let mut joined = same[0].clone();
        for edit in &same[1..] {
            joined = Edit { tier: joined.tier, what: joined.what.clone(), ..joined.with(edit)? };
        }
        Some(Edit { cost: same[0].cost + 1, ..joined })
    })
    .collect()
}
