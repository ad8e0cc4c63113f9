//! Edits of operators: another one, an operand dropped or put in, a bound, a condition.

use super::edit::{Change, Proposals};
use super::lexer::{Kind, Tokens};
use super::names::{Class, Names};
use super::outline::Outline;

/// What an operator is often taken for, and how likely that is.
const OTHERS: [(&str, &[(&str, u32)]); 22] = [
    ("<", &[("<=", 1), (">", 3), (">=", 3), ("!=", 3)]),
    ("<=", &[("<", 1), (">=", 3)]),
    (">", &[(">=", 1), ("<", 2)]),
    (">=", &[(">", 1), ("<", 2)]),
    ("==", &[("!=", 1)]),
    ("!=", &[("==", 1)]),
    ("&&", &[("||", 1)]),
    ("||", &[("&&", 1)]),
    ("=", &[("+=", 1)]),
    ("+=", &[("=", 1), ("-=", 3)]),
    ("-=", &[("+=", 1), ("=", 2)]),
    ("*=", &[("+=", 2), ("/=", 3)]),
    ("/=", &[("*=", 3)]),
    ("+", &[("-", 2), ("*", 2), ("^", 3)]),
    ("-", &[("+", 1), ("*", 3)]),
    ("*", &[("+", 1), ("/", 3), ("%", 3)]),
    ("/", &[("%", 1), ("*", 3)]),
    ("%", &[("/", 1)]),
    ("++", &[("--", 3)]),
    ("--", &[("++", 2)]),
    ("<<", &[(">>", 2), ("*", 3)]),
    (">>", &[("<<", 2), ("/", 3)]),
];

/// Proposes all of them.
pub fn propose(tokens: &Tokens, names: &Names, outline: &Outline, out: &mut Proposals) {
    let inside = |at: usize| !tokens.all[at].directive || tokens.all[at].kind != Kind::Sign || tokens.of(at) != "#";
    for at in (0..tokens.all.len()).filter(|&at| inside(at)) {
        let sign = tokens.of(at);
        if let Some((_, others)) = OTHERS.iter().find(|(known, _)| *known == sign) {
            let declares = tokens.near(at, -1) == "]" || names.declares(at.wrapping_sub(1));
            let pointer = sign == "*" && before(tokens, at).is_none();
            for (other, tier) in others.iter().filter(|_| !(pointer || sign == "=" && declares)) {
                out.replace(tokens.span(at, at), *other, *tier, 1, format!("{sign} becomes {other}"));
            }
        }
        if sign == "!" && tokens.of(at + 1) != "[" && tokens.of(at + 1) != "(" {
            out.replace(tokens.span(at, at), "", 2, 1, "! dropped".into());
        }
        operands(tokens, at, out);
        division(tokens, at, out);
        more(tokens, names, at, out);
    }
    conditions(tokens, outline, out);
}

/// The first token of the operand that ends before a sign.
pub fn before(tokens: &Tokens, sign: usize) -> Option<usize> {
    let mut at = sign.checked_sub(1)?;
    loop {
        if matches!(tokens.of(at), ")" | "]") {
            at = (0..at).rev().find(|&open| matches!(tokens.of(open), "(" | "[") && tokens.closing(open) == at)?;
            let is_group = tokens.of(at) == "(" && !tokens.is_word(at.wrapping_sub(1));
            if is_group || matches!(tokens.near(at, -1), "for" | "if" | "while" | "return") {
                return Some(at);
            }
            at = at.checked_sub(1)?;
            continue;
        }
        let is_value = tokens.all[at].kind != Kind::Sign
            && !matches!(tokens.of(at), "return" | "else" | "const" | "int" | "float");
        if !is_value {
            return None;
        }
        match tokens.near(at, -1) {
            "." | "->" | "::" => at = at.checked_sub(2)?,
            _ => return Some(at),
        }
    }
}

/// The last token of the operand that begins behind a sign.
pub fn behind(tokens: &Tokens, mut sign: usize) -> Option<usize> {
    loop {
        let mut at = sign + 1;
        if matches!(tokens.of(at), "-" | "!" | "&" | "*") {
            at += 1;
        }
        if tokens.of(at) == "(" {
            let close = tokens.closing(at);
            // A cast belongs to what follows.
            if tokens.all.get(close + 1).is_none_or(|next| next.kind == Kind::Sign) {
                return Some(close);
            }
            sign = close;
            continue;
        }
        if tokens.all.get(at)?.kind == Kind::Sign {
            return None;
        }
        while matches!(tokens.of(at + 1), "." | "->" | "::" | "[" | "(") {
            at = match tokens.of(at + 1) {
                "[" | "(" => tokens.closing(at + 1),
                _ => at + 2,
            };
        }
        return (at < tokens.all.len()).then_some(at);
    }
}

/// One of two operands is dropped.
fn operands(tokens: &Tokens, at: usize, out: &mut Proposals) {
    let sign = tokens.of(at);
    if !matches!(sign, "+" | "-" | "*" | "/" | "%" | "&&" | "||" | "&" | "^" | "<<" | ">>") {
        return;
    }
    let (Some(first), Some(last)) = (before(tokens, at), behind(tokens, at)) else { return };
    let tier = if matches!(sign, "&" | "^" | "<<" | ">>") { 2 } else { 1 };
    let dropped = tokens.written(at, last).to_owned();
    out.replace(tokens.all[at - 1].span.end..tokens.all[last].span.end, "", tier, 1, format!("{dropped} dropped"));
    let dropped = tokens.written(first, at).to_owned();
    out.replace(tokens.all[first].span.start..tokens.start(at + 1), "", tier, 1, format!("{dropped} dropped"));
    if matches!(sign, "-" | "/" | "%" | "<<" | ">>") {
        let (one, other) = (tokens.written(first, at - 1), tokens.written(at + 1, last));
        let new = format!("{other} {sign} {one}");
        out.replace(tokens.span(first, last), new, 2, 1, format!("{one} and {other} exchanged"));
    }
}

/// A division is rounded up.
fn division(tokens: &Tokens, at: usize, out: &mut Proposals) {
    if tokens.of(at) != "/" {
        return;
    }
    if let (Some(first), Some(last)) = (before(tokens, at), behind(tokens, at)) {
        let (one, other) = (tokens.written(first, at - 1), tokens.written(at + 1, last));
        let new = format!("({one} + {other} - 1) / {other}");
        out.replace(tokens.span(first, last), new, 1, 2, format!("{one} / {other} rounded up"));
    }
}

/// A term or a factor is put in: at the end of an index, behind a bound, behind a name in a sum.
fn more(tokens: &Tokens, names: &Names, at: usize, out: &mut Proposals) {
    let sign = tokens.of(at);
    let is_bound = matches!(sign, "<" | "<=" | ">" | ">=") && before(tokens, at).is_some();
    if let Some(last) = behind(tokens, at).filter(|_| is_bound) {
        let end = tokens.all[last].span.end;
        for new in [" - 1", " + 1"] {
            out.replace(end..end, new, 1, 2, format!("{new} put in"));
        }
    }
    let ends =
        matches!(tokens.of(at + 1), "]" | ";" | "," | ")" | "?") || matches!(tokens.of(at + 1), "<" | "<=" | ">=");
    let is_value = names.uses(tokens, at, Class::Scalar)
        || sign == ")"
        || sign == "x"
        || sign == "y"
        || tokens.all[at].kind == Kind::Number;
    if !is_value || tokens.all[at].directive {
        return;
    }
    let end = tokens.all[at].span.end;
    let open = (0..at).rev().find(|&open| matches!(tokens.of(open), "[" | ";" | "{" | "}" | "="));
    let in_index = open.is_some_and(|open| tokens.of(open) == "[");
    if ends {
        for (name, known) in names.before(at, Class::Scalar).filter(|(name, _)| *name != sign) {
            let tier = if in_index && !known.constant { 2 } else { 4 };
            out.replace(end..end, format!(" + {name}"), tier, 2, format!("+ {name} put in"));
        }
    }
    if sign != ")" && !matches!(tokens.of(at + 1), "*" | "(" | "[" | "." | "++" | "+=" | "=") {
        for (name, known) in names.before(at, Class::Scalar).filter(|(name, _)| *name != sign) {
            let sizes = known.constant || names.alike(name, "K") || names.alike(name, "N");
            let tier = if sizes { 2 + u32::from(!in_index) } else { 4 };
            out.replace(end..end, format!(" * {name}"), tier, 2, format!("* {name} put in"));
        }
    }
}

/// The comparisons of a source: from the first token of one side to the last one of the other.
pub fn comparisons(tokens: &Tokens) -> Vec<(usize, usize)> {
    let is_it = |at: &usize| matches!(tokens.of(*at), "<" | "<=" | ">" | ">=" | "==" | "!=");
    let wider = |at: usize| {
        let (mut first, mut last) = (before(tokens, at)?, behind(tokens, at)?);
        while matches!(tokens.near(first, -1), "+" | "-" | "*" | "/" | "%") {
            first = before(tokens, first - 1)?;
        }
        while matches!(tokens.of(last + 1), "+" | "-" | "*" | "/" | "%") {
            last = behind(tokens, last + 1)?;
        }
        Some((first, last))
    };
    (0..tokens.all.len()).filter(|&at| !tokens.all[at].directive).filter(is_it).filter_map(wider).collect()
}

/// A condition is taken from elsewhere: beside another one, or in its place.
fn conditions(tokens: &Tokens, outline: &Outline, out: &mut Proposals) {
    let all = comparisons(tokens);
    let mut texts: Vec<&str> = all.iter().map(|&(first, last)| tokens.written(first, last)).collect();
    texts.sort_unstable();
    texts.dedup();
    for &(first, last) in &all {
        let own = tokens.written(first, last);
        let end = tokens.all[last].span.end;
        let in_loop = matches!(tokens.of(last + 1), ";");
        for other in texts.iter().filter(|other| **other != own && !in_loop) {
            out.replace(end..end, format!(" && {other}"), 2, 2, format!("&& {other} put in"));
            out.replace(tokens.span(first, last), *other, 3, 2, format!("{own} becomes {other}"));
        }
    }
    for &(first, last) in &outline.conditions {
        let own = tokens.written(first, last);
        out.replace(tokens.span(first, last), format!("!({own})"), 3, 2, format!("{own} negated"));
    }
    let ifs: Vec<&str> = outline.conditions.iter().map(|&(first, last)| tokens.written(first, last)).collect();
    for statement in &outline.statements {
        let has_index = (statement.first..statement.last).any(|at| tokens.of(at) == "[");
        let is_declaration = tokens.is_word(statement.first) && tokens.is_word(statement.first + 1);
        if !has_index || is_declaration {
            continue;
        }
        let start = tokens.all[statement.first].span.start;
        let conditions = texts.iter().chain(&ifs).filter(|text| text.len() < 80);
        for condition in conditions {
            let changes = vec![Change::new(start..start, format!("if ({condition}) "))];
            out.add(changes, 3, 3, format!("if ({condition}) put in"));
        }
    }
}
