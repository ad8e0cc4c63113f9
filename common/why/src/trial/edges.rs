//! Edits at all places at once that read or write a matrix: what lies beyond its edge is taken as 0 and not stored.

use plan::Arg;

use super::edit::{Change, Edit, Proposals};
use super::lexer::Tokens;
use super::names::{Class, Names};
use super::outline::Outline;
use super::words::arguments;

/// The names of the kernel's parameters, in the order of the launch's arguments: the matrices, and M, N and K.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// A, B and C.
    pub matrices: [String; 3],
    /// M, N and K.
    pub sizes: [String; 3],
}

impl Parameters {
    /// Reads them from the head of the kernel that a launch with these arguments starts; none unless it takes A, B, C, M, N and K.
    pub fn read(tokens: &Tokens, entry: &str, args: &[Arg]) -> Option<Self> {
        let is_pointer = |arg: &Arg| !matches!(arg, Arg::Int(_));
        if args.len() != 6 || !args[..3].iter().all(is_pointer) || args[3..].iter().any(is_pointer) {
            return None;
        }
        let at = (0..tokens.all.len()).find(|&at| tokens.of(at) == entry && tokens.of(at + 1) == "(")?;
        let parts = arguments(tokens, at + 1);
        let rust = tokens.near(at, -1) == "fn";
        let name = |&(first, last): &(usize, usize)| tokens.of(if rust { first } else { last }).to_owned();
        let names: Vec<String> = parts.iter().map(name).collect();
        let [a, b, c, m, n, k] = <[String; 6]>::try_from(names).ok()?;
        Some(Self { matrices: [a, b, c], sizes: [m, n, k] })
    }
}

/// An access to a matrix: from its name to the closing bracket, and the condition under which it lies inside.
struct Access {
    first: usize,
    close: usize,
    stores: bool,
    inside: String,
    /// The part of the condition that speaks of K.
    deep: Option<String>,
}

/// Proposes to guard all accesses, by themselves and together with each other edit of a few kinds.
pub fn propose(tokens: &Tokens, names: &Names, outline: &Outline, parameters: &Parameters, out: &mut Proposals) {
    counts(tokens, names, parameters, out);
    let accesses = accesses(tokens, names, outline, parameters);
    if accesses.is_empty() || accesses.len() > 12 {
        return;
    }
    let guarded = |condition: &dyn Fn(&Access) -> Option<String>| {
        let mut changes = vec![];
        for access in &accesses {
            let Some(condition) = condition(access) else { continue };
            if access.stores {
                let start = tokens.all[access.first].span.start;
                changes.push(Change::new(start..start, format!("if ({condition}) ")));
            } else {
                let whole = tokens.written(access.first, access.close);
                changes
                    .push(Change::new(tokens.span(access.first, access.close), format!("({condition} ? {whole} : 0)")));
            }
        }
        changes.sort();
        Edit { cost: 3 + changes.len() as u32, changes, tier: 1, what: "accesses beyond the edge left out".into() }
    };
    let all = guarded(&|access| Some(access.inside.clone()));
    let deep = guarded(&|access| access.deep.clone());
    let store = guarded(&|access| access.stores.then(|| access.inside.clone()));
    let joined: Vec<Edit> = out
        .edits
        .iter()
        .filter(|edit| edit.what.ends_with("rounded up") || edit.what == "return taken out")
        .flat_map(|edit| [&all, &deep].map(|guard| edit.with(guard)))
        .flatten()
        .collect();
    for edit in [store, deep, all].into_iter().chain(joined) {
        if !edit.changes.is_empty() {
            out.add(edit.changes, 1, edit.cost, edit.what);
        }
    }
}

/// The bound of a loop, or what it was set from, becomes the number of tiles of one of the sizes.
fn counts(tokens: &Tokens, names: &Names, parameters: &Parameters, out: &mut Proposals) {
    for at in (0..tokens.all.len()).filter(|&at| !tokens.all[at].directive) {
        let sets = tokens.of(at) == "=" && names.declares(at.wrapping_sub(1));
        let ends = (at..tokens.all.len()).find(|&end| matches!(tokens.of(end), ";" | "," | "{" | ")"));
        let is_it = |end: &usize| (sets || tokens.of(at) == "<") && tokens.of(*end) == ";" && *end > at + 1;
        let Some(end) = ends.filter(is_it) else { continue };
        for size in &parameters.sizes {
            for (tile, _) in names.before(at, Class::Scalar).filter(|(_, known)| known.constant) {
                let new = format!("({size} + {tile} - 1) / {tile}");
                out.replace(tokens.span(at + 1, end - 1), new, 2, 3, format!("as many as {size} has tiles of {tile}"));
            }
        }
    }
}

fn accesses(tokens: &Tokens, names: &Names, outline: &Outline, parameters: &Parameters) -> Vec<Access> {
    let [m, n, k] = &parameters.sizes;
    let mut found = vec![];
    for first in 0..tokens.all.len() {
        let Some(matrix) = parameters.matrices.iter().position(|name| name == tokens.of(first)) else { continue };
        if tokens.of(first + 1) != "[" || names.declares(first) || matches!(tokens.near(first, -1), "&" | "." | "->") {
            continue;
        }
        let close = tokens.closing(first + 1);
        let [rows, columns] = [[m, k], [k, n], [m, n]][matrix];
        let Some((row, column)) = index(tokens, first + 2, close - 1, columns) else { return vec![] };
        let conditions = [format!("{row} < {rows}"), format!("{column} < {columns}")];
        let statement = outline.statement_of(first);
        let stores = statement.is_some_and(|it| it.first == first && tokens.of(close + 1).ends_with('='));
        let deep = [rows, columns].into_iter().position(|size| size == k).map(|at| conditions[at].clone());
        found.push(Access { first, close, stores, inside: conditions.join(" && "), deep });
    }
    found
}

/// The row and the column of an index `row * columns + column`, in any order; none if it has another form.
fn index(tokens: &Tokens, first: usize, last: usize, columns: &str) -> Option<(String, String)> {
    let (mut terms, mut from, mut at) = (vec![], first, first);
    while at <= last {
        match tokens.of(at) {
            "(" | "[" => at = tokens.closing(at),
            "+" => {
                terms.push((from, at.checked_sub(1)?));
                from = at + 1;
            }
            "-" | "?" | "," => return None,
            _ => {}
        }
        at += 1;
    }
    terms.push((from, last));
    let product = |&(from, to): &(usize, usize)| {
        if to < from + 2 {
            return None;
        }
        let (behind, before) = (
            tokens.of(to) == columns && tokens.of(to - 1) == "*",
            tokens.of(from) == columns && tokens.of(from + 1) == "*",
        );
        match (behind, before) {
            (true, _) => Some((from, to - 2)),
            (_, true) => Some((from + 2, to)),
            _ => None,
        }
    };
    let at = terms.iter().position(|term| product(term).is_some())?;
    let (from, to) = product(&terms[at])?;
    let rest: Vec<&str> = terms
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != at)
        .map(|(_, &(from, to))| tokens.written(from, to))
        .collect();
    (!rest.is_empty()).then(|| (tokens.written(from, to).to_owned(), rest.join(" + ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_guarded_by_their_rows_and_columns() {
        let text = "void matmul(const float* X, const float* Y, float* Z, int p, int q, int r) {\n float s = X[i * r + t + j] * Y[q * (t + j) + c];\n Z[i * q + c] = s;\n}";
        let tokens = Tokens::read(text);
        let args = [Arg::A(0), Arg::B(0), Arg::C(0), Arg::Int(3), Arg::Int(4), Arg::Int(5)];
        let parameters = Parameters::read(&tokens, "matmul", &args).unwrap();
        assert_eq!(parameters.sizes, ["p", "q", "r"]);
        let mut out = Proposals::default();
        propose(&tokens, &Names::read(&tokens, &[]), &Outline::read(&tokens), &parameters, &mut out);
        let last = out.edits.last().unwrap().apply(text).unwrap();
        let line =
            " float s = (i < p && t + j < r ? X[i * r + t + j] : 0) * ((t + j) < r && c < q ? Y[q * (t + j) + c] : 0);";
        assert_eq!(last.lines().nth(1), Some(line));
        assert_eq!(last.lines().nth(2), Some(" if (i < p && c < q) Z[i * q + c] = s;"));
    }
}
