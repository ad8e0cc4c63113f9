//! Edits of whole statements: barriers, moves, first values, types, and a `return` that becomes a condition.

use super::edit::{Change, Proposals};
use super::lexer::Tokens;
use super::names::{Class, Names};
use super::outline::{Outline, Statement};

/// Types that hold less than the sum of a product needs, or than an index can be.
const NARROW: [&str; 14] = [
    "short",
    "char",
    "half",
    "__half",
    "__nv_bfloat16",
    "bool",
    "uint8_t",
    "int8_t",
    "uint16_t",
    "int16_t",
    "i16",
    "u16",
    "u8",
    "i8",
];

/// How many places a statement is moved over.
const FAR: usize = 5;

/// Proposes all of them.
pub fn propose(tokens: &Tokens, names: &Names, outline: &Outline, out: &mut Proposals) {
    barriers(tokens, outline, out);
    moves(tokens, outline, out);
    first_values(tokens, names, outline, out);
    types(tokens, out);
    heads(tokens, outline, out);
    returns(tokens, names, outline, out);
}

fn is_barrier(tokens: &Tokens, statement: &Statement) -> bool {
    let text = tokens.written(statement.first, statement.last);
    text.contains("sync") && !text.contains('=') && !text.contains("async") && text.len() < 40
}

/// The bytes of a statement with the white space before it, or of its whole line if nothing else is on it.
fn taken_out(tokens: &Tokens, first: usize, last: usize) -> std::ops::Range<usize> {
    let span = tokens.span(first, last);
    let before = &tokens.text[..span.start];
    let start = before.trim_end_matches([' ', '\t']).len();
    start..span.end
}

fn barriers(tokens: &Tokens, outline: &Outline, out: &mut Proposals) {
    let own: Vec<&Statement> = outline.statements.iter().filter(|it| is_barrier(tokens, it)).collect();
    let written = own.first().map(|it| tokens.written(it.first, it.last));
    let is_rust = tokens.text.contains("fn matmul");
    let block = if is_rust { "sync_threads();" } else { "__syncthreads();" };
    let text = written.filter(|text| !text.contains("warp")).unwrap_or(block).to_owned();
    for &place in &outline.places {
        let start = tokens.all[place].span.start;
        let near = tokens.near(place, -2).contains("sync") || tokens.of(place).contains("sync");
        if !near && !tokens.near(place, -1).is_empty() {
            let indent = indent_of(tokens, start);
            out.add(vec![Change::new(start..start, format!("{text}\n{indent}"))], 1, 3, "barrier put in".into());
        }
    }
    for barrier in own {
        let whole = taken_out(tokens, barrier.heads.first().map_or(barrier.first, |head| head.0), barrier.last);
        out.replace(whole.clone(), "", 2, 2, "barrier taken out".into());
        if tokens.written(barrier.first, barrier.last).contains("warp") {
            out.replace(tokens.span(barrier.first, barrier.last), block, 1, 1, "barrier of the block".into());
        }
        let at = outline.places.partition_point(|&place| place < barrier.first);
        for &place in outline.places[at.saturating_sub(FAR + 1)..].iter().take(2 * FAR + 3) {
            if (barrier.first..=barrier.last + 1).contains(&place) {
                continue;
            }
            let start = tokens.all[place].span.start;
            let indent = indent_of(tokens, start);
            let put = Change::new(start..start, format!("{text}\n{indent}"));
            out.add(vec![Change::new(whole.clone(), ""), put], 1, 4, "barrier moved".into());
        }
    }
}

/// The white space at the beginning of the line of a byte.
fn indent_of(tokens: &Tokens, at: usize) -> String {
    let line = tokens.text[..at].rfind('\n').map_or(0, |at| at + 1);
    tokens.text[line..at].chars().take_while(|c| c.is_whitespace()).collect()
}

/// A statement is moved over others, taken out, or exchanged with its neighbour.
fn moves(tokens: &Tokens, outline: &Outline, out: &mut Proposals) {
    for (number, statement) in outline.statements.iter().enumerate() {
        let text = tokens.written(statement.first, statement.last);
        if text.starts_with("__shared__")
            || text.starts_with("return") && text.len() < 8
            || is_barrier(tokens, statement)
        {
            continue;
        }
        let own = statement.heads.first().map_or(statement.first, |head| head.0);
        let whole = taken_out(tokens, own, statement.last);
        let is_declaration = tokens.is_word(statement.first) && tokens.is_word(statement.first + 1);
        if !is_declaration {
            out.replace(whole.clone(), "", 2, 3, format!("{text} dropped"));
        }
        let moved = tokens.written(own, statement.last).to_owned();
        let next = outline.statements.get(number + 1).filter(|next| next.first == statement.last + 1);
        if let Some(next) = next.filter(|next| next.heads.is_empty() && statement.heads.is_empty()) {
            let other = tokens.written(next.first, next.last);
            let spans = [tokens.span(statement.first, statement.last), tokens.span(next.first, next.last)];
            let [one, two] = spans;
            let tier = if text.contains("asm") || other.contains("asm") { 1 } else { 2 };
            let changes = vec![Change::new(one, other), Change::new(two, text)];
            if other != text && !is_barrier(tokens, next) {
                out.add(changes, tier, 2, "neighbours exchanged".into());
            }
        }
        let at = outline.places.partition_point(|&place| place < own);
        for (distance, &place) in outline.places.iter().enumerate() {
            let far = distance.abs_diff(at);
            if far > FAR || (own..=statement.last + 1).contains(&place) || place == own {
                continue;
            }
            let start = tokens.all[place].span.start;
            let put = format!("{moved}\n{}", indent_of(tokens, start));
            let mut changes = vec![Change::new(whole.clone(), ""), Change::new(start..start, put)];
            changes.sort();
            let crosses = tokens.near(place, -1) != ";" || tokens.of(place) == "}";
            out.add(changes, if crosses { 2 } else { 3 }, 3, "statement moved".into());
        }
    }
}

/// A variable begins with 0, or has a first value at all.
fn first_values(tokens: &Tokens, names: &Names, outline: &Outline, out: &mut Proposals) {
    for at in (0..tokens.all.len()).filter(|&at| names.declares(at) && !tokens.all[at].directive) {
        let Some(statement) = outline.statement_of(at) else { continue };
        let text = tokens.written(statement.first, statement.last);
        let shared = text.contains("__shared__") || text.contains("extern");
        let mut end = at;
        while tokens.of(end + 1) == "[" {
            end = tokens.closing(end + 1);
        }
        match tokens.of(end + 1) {
            ";" | "," if !shared => {
                let behind = tokens.all[end].span.end;
                let new = if end == at { " = 0" } else { " = {}" };
                out.replace(behind..behind, new, 1, 1, format!("{new} put in"));
            }
            "=" => {
                let mut last = end + 1;
                while last + 1 < statement.last && tokens.of(last + 1) != "," {
                    last += 1;
                    if matches!(tokens.of(last), "(" | "[" | "{") {
                        last = tokens.closing(last);
                    }
                }
                if last > end + 1 && tokens.of(end + 2) != "0" && names.class(tokens.of(at)) == Some(Class::Scalar) {
                    let float = tokens.written(end + 2, last).contains('.');
                    let new = if float { "0.0f" } else { "0" };
                    out.replace(tokens.span(end + 2, last), new, 1, 2, "first value becomes 0".into());
                }
            }
            _ => {}
        }
    }
}

/// A declared type, or that of a cast, becomes a wider one.
fn types(tokens: &Tokens, out: &mut Proposals) {
    for at in 0..tokens.all.len() {
        let own = tokens.of(at);
        let cast = tokens.near(at, -1) == "(" && tokens.of(at + 1) == ")";
        let declares = tokens.is_word(at + 1) || tokens.of(at + 1) == "*";
        if cast && (NARROW.contains(&own) || matches!(own, "int" | "unsigned" | "float")) {
            let span = tokens.all[at - 1].span.start..tokens.all[at + 1].span.end;
            out.replace(span, "", 2, 1, format!("({own}) dropped"));
        }
        let narrow = NARROW.contains(&own);
        if !(narrow || matches!(own, "int" | "unsigned" | "double" | "i32" | "u32") && declares) {
            continue;
        }
        let unsigned = tokens.near(at, -1) == "unsigned" || tokens.near(at, -1) == "signed";
        let first = if unsigned { at - 1 } else { at };
        let is_rust = matches!(own, "i16" | "u16" | "u8" | "i8" | "i32" | "u32");
        let others = if is_rust { ["f32", "u32", "i32", "usize"] } else { ["float", "int", "unsigned", "long long"] };
        for (number, other) in others.into_iter().enumerate().filter(|(_, other)| *other != own) {
            let tier = match number {
                _ if narrow && number < 2 => 1,
                0 | 1 => 2,
                _ => 3,
            };
            out.replace(tokens.span(first, at), other, tier, 1, format!("{own} becomes {other}"));
        }
    }
}

/// What is done under a condition, or in a loop, is done without it.
fn heads(tokens: &Tokens, outline: &Outline, out: &mut Proposals) {
    let heads = outline.statements.iter().flat_map(|it| it.heads.iter().map(move |head| (*head, it.last)));
    for ((first, last), end) in heads {
        if tokens.of(first) == "if" && tokens.of(end + 1) != "else" && tokens.near(first, -1) != "else" {
            let span = tokens.all[first].span.start..tokens.start(last + 1);
            out.replace(span, "", 2, 2, "done without the condition".into());
        }
    }
    for &(first, last, close) in &outline.blocks {
        if tokens.of(first) == "if" && tokens.of(close + 1) != "else" && tokens.near(first, -1) != "else" {
            let span = tokens.all[first].span.start..tokens.all[last].span.end;
            out.replace(span, "", 3, 2, "done without the condition".into());
        }
    }
}

/// Threads that leave the kernel stay, and neither read nor write what lies beyond the edge.
fn returns(tokens: &Tokens, names: &Names, outline: &Outline, out: &mut Proposals) {
    for statement in &outline.statements {
        let is_it = tokens.of(statement.first) == "return" && statement.last == statement.first + 1;
        if !is_it {
            continue;
        }
        let headed = statement.heads.last().map(|&(first, last)| (first, last, statement.last));
        let block = || {
            outline
                .blocks
                .iter()
                .copied()
                .find(|&(_, last, close)| last + 2 == statement.first && close == statement.last + 1)
        };
        let Some((first, last, end)) = headed.or_else(block).filter(|head| tokens.of(head.0) == "if") else { continue };
        let bracketed = tokens.of(first + 1) == "(" && tokens.closing(first + 1) == last;
        let condition = if bracketed { tokens.written(first + 2, last - 1) } else { tokens.written(first + 1, last) };
        let own = format!("!({condition})");
        let mut changes = vec![Change::new(taken_out(tokens, first, end), "")];
        out.add(changes.clone(), 1, 2, "return taken out".into());
        let mut loads = 0;
        for at in end + 1..tokens.all.len() {
            let global = names.class(tokens.of(at)) == Some(Class::Indexed)
                && tokens.of(at + 1) == "["
                && is_global(tokens, names, tokens.of(at));
            if !global {
                continue;
            }
            let close = tokens.closing(at + 1);
            if outline.statement_of(at).is_some_and(|it| it.first == at && tokens.of(close + 1).ends_with('=')) {
                let start = tokens.all[at].span.start;
                changes.push(Change::new(start..start, format!("if ({own}) ")));
            } else {
                // A condition that is there already keeps its rest.
                let whole = tokens.written(at, close);
                changes.push(Change::new(tokens.span(at, close), format!("({own} ? {whole} : 0)")));
                loads += 1;
            }
        }
        if loads > 0 && changes.len() < 9 {
            changes.sort();
            out.add(changes, 1, 6, "return becomes conditions".into());
        }
    }
}

/// Whether a pointer is a parameter: its first place stands behind an asterisk and before a comma or a bracket.
fn is_global(tokens: &Tokens, names: &Names, name: &str) -> bool {
    let first = (0..tokens.all.len()).find(|&at| tokens.of(at) == name && names.declares(at));
    first.is_some_and(|at| matches!(tokens.of(at + 1), "," | ")"))
}
