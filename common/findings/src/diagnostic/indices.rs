//! What is wrong with an index, given away by how it is written: it leaves a matrix because a comparison around the access lets
//! it, as `k <= K` or `row < N` do, or its row is multiplied by the wrong size, `C[row * M + col]`.

use std::ops::Range;

use super::around::{HEADS, READ, is_shared, is_size};
use super::source::Set;
use super::spot::Spot;
use super::statements::{Token, is_word};
use super::texts::{help, words};

/// The numbers of a thread and of its block.
const NUMBERS: [&str; 4] = ["threadIdx", "thread_idx", "blockIdx", "block_idx"];

pub struct Bound {
    pub line: u32,
    /// It compares with the size of another side of the matrix.
    pub of_other_side: bool,
    pub help: String,
}

impl Spot {
    /// What to do about an access out of bounds, if a comparison in its line, or in a condition or loop around it, is wrong.
    pub fn bounds(&self) -> Option<Bound> {
        let mut lines = self.around(HEADS);
        lines.extend(self.at.line.into_iter().chain(self.guards()));
        // A condition may be a function's.
        let calls = |at: &usize| lines.contains(&self.line(*at));
        let returns = (0..self.statements.len()).filter(calls).flat_map(|at| self.returns(at));
        lines.iter().copied().chain(returns.map(|(_, line)| line)).find_map(|line| self.wrong(line))
    }

    /// Whether the counter of a loop decides about an access: the line of the access, or one that sets what it uses, names it; or
    /// names none of the loops' counters.
    fn decides(&self, counter: &str) -> bool {
        let sets = self.ranked(READ, 2).into_iter().map(|(.., line)| line);
        let lines: Vec<u32> = self.at.line.into_iter().chain(sets).collect();
        let names = |name: &str| lines.iter().any(|&line| self.line_has(line, |word| word == name));
        let loops = self.around(&["for"]);
        let counts = |set: &&Set| loops.contains(&set.line) && self.statements[set.at].keyword == "for";
        names(counter) || !self.sets().iter().filter(counts).any(|set| names(&set.path))
    }

    /// What is wrong with the comparisons in a line, for an access.
    fn wrong(&self, line: u32) -> Option<Bound> {
        let bound = |cause, [before, size, right]: [&str; 3]| {
            let words = words([("before", before), ("size", size), ("right", right), ("line", &line.to_string())]);
            Some(Bound { line, of_other_side: cause == "compared with another side", help: help(cause, &words) })
        };
        let on_line = self.on_lines(line, 1);
        let all = self.words(&on_line);
        // How many parts, separated by the first operator, compare something with a name by the second one.
        let parts = |between: &str, operator: &str| {
            let compares = |part: &&[Token]| {
                let at = part.iter().position(|token| token.text == operator);
                at.and_then(|at| part.get(at + 1)).is_some_and(|size| is_word(&size.text))
            };
            all.split(|token| token.text == between).filter(compares).count()
        };
        // The condition may be what a function returns.
        let is_condition = |word: &str| word == "if" || word == "return" && Some(line) != self.at.line;
        if all.iter().any(|token| is_condition(&token.text)) && parts("||", "<") > 1 {
            return bound("one comparison is enough", [""; 3]);
        }
        let is_variable = |word: &str| is_word(word) && word.contains(|c: char| c.is_lowercase());
        let mut threes = all.windows(3).map(|part| [0, 1, 2].map(|at| part[at].text.as_str()));
        // Here a thread that is beyond the edge returns.
        let is_beyond = |[before, operator, size]: &[&str; 3]| *operator == ">" && is_size(size) && is_variable(before);
        if let Some([before, _, size]) = threes.find(is_beyond) {
            return bound("one too few", [before, size, ""]);
        }
        if parts("&&", ">=") > 1 {
            return bound("every comparison is needed", [""; 3]);
        }
        for at in 1..all.len().saturating_sub(1) {
            let [before, operator, size] = [at - 1, at, at + 1].map(|at| all[at].text.as_str());
            // A thread may count up to and including its own row, for instance, and a sum is compared with the end of what it begins.
            let is_sum = at > 1 && ["+", "-", "*"].contains(&all[at - 2].text.as_str());
            // A number, only if it is the extent of a shared array.
            let is_extent =
                |array: &Set| array.declares && self.has(array.at, is_shared) && self.has(array.at, |it| it == size);
            let of_thread = |set: &Set| set.path == size && self.has(set.at, |word| NUMBERS.contains(&word));
            let is_end = is_word(size) && !self.sets().iter().any(of_thread) || self.sets().iter().any(is_extent);
            if operator == "<=" && !is_sum && is_variable(before) && is_end {
                let less = all.get(at + 2).is_some_and(|after| after.text.starts_with('-'));
                let ends = |token: &Token| token.text.starts_with([';', ')', '&', '|', '?']);
                let end = all[at..].iter().position(ends).map_or(all.len(), |end| at + end);
                if !less && self.decides(before) {
                    let written = self.written(&(on_line.start + at + 1..on_line.start + end));
                    return bound("one too many", [before, written, ""]);
                }
            }
            let right = match before {
                _ if before.contains("row") => "M",
                _ if before.contains("col") => "N",
                "k" | "k0" => "K",
                _ => continue,
            };
            if operator == "<" && is_size(size) && size != right {
                return bound("compared with another side", [before, size, right]);
            }
        }
        None
    }

    /// What to do about a line in which a matrix of A·B has an index with another size than its own columns.
    pub fn of_product(&self, array: &str) -> Option<String> {
        let (element, columns) = match array {
            "A" => ("A[row * K + k]", "K"),
            "B" => ("B[k * N + col]", "N"),
            "C" => ("C[row * N + col]", "N"),
            _ => return None,
        };
        self.stride(array, columns, &format!("{array} has {columns} columns, so its elements are {element}"))
    }

    /// What to do about such a line, or a call that leads there, for a matrix with these columns, which is laid out as the last words
    /// say.
    pub fn stride(&self, array: &str, columns: &str, layout: &str) -> Option<String> {
        // The size by which an index multiplies, if it is not the right one.
        let wrong_factor = |index: Range<usize>| {
            let factors = index.filter(|&at| self.text(at) == "*").flat_map(|at| [at - 1, at + 1]);
            let sizes: Vec<&str> = factors.map(|at| self.text(at)).filter(|word| is_size(word)).collect();
            if sizes.contains(&columns) { None } else { sizes.first().copied() }
        };
        let wrong = |at: Self| {
            let own = at.own_line();
            let indexed = at.accesses(array).into_iter().map(|found| found.tokens);
            // Of a pointer into the array, what is added to it.
            let ends = |at: &usize| matches!(self.text(*at), "," | ";" | "?" | ":");
            let added = own.clone().filter(|&at| self.text(at) == array && self.text(at + 1) == "+");
            let added = added.map(|at| at..(at..own.end).find(ends).unwrap_or(own.end));
            indexed.chain(added).find_map(wrong_factor)
        };
        let wrong = self.and_callers().find_map(wrong)?;
        Some(help("row times another size", &words([("columns", columns), ("wrong", wrong), ("layout", layout)])))
    }

    /// What to do about a line that sets a pointer into a matrix, if its row is multiplied by the wrong size.
    pub fn of_pointer(&self, array: &str, columns: &str, layout: &str) -> Option<String> {
        let mut own = self.and_callers().filter_map(|place| place.statement());
        let is_one = |set: &&Set| self.is_pointer(set) && self.has(set.at, |word| word == array);
        own.find_map(|own| {
            let mut lines = self.sets_around(own).filter(is_one).map(|set| set.line);
            lines.find_map(|line| self.on_line(line).stride(array, columns, layout))
        })
    }

    /// What to do about a call, or a macro, that is told another size than the columns of a matrix.
    pub fn of_call(&self, wrong: &str, columns: &str, layout: &str) -> Option<String> {
        let is_between = |before: &str, after: &str| matches!((before, after), ("," | "(", "," | ")"));
        let is_argument =
            |at: usize| at > 0 && self.text(at) == wrong && is_between(self.text(at - 1), self.text(at + 1));
        let mut lines = self.and_callers().filter_map(|place| place.at.line);
        let line = lines.find(|line| self.on_lines(*line, 1).any(is_argument))?.to_string();
        let words = words([("wrong", wrong), ("line", &line), ("columns", columns), ("layout", layout)]);
        Some(help("call with another size", &words))
    }

    /// What to do about an index behind a pointer to vectors that counts elements.
    pub fn of_vector(&self) -> Option<String> {
        let own = self.own_line();
        let is_vector = |word: &str| word.starts_with("float") && word.ends_with(['2', '4']);
        let vector = self.words(&own).iter().find(|token| is_vector(&token.text))?;
        let index = own.clone().find(|&at| self.text(at) == ")" && self.text(at + 1) == "[")? + 1;
        // An index that goes on in the next line is not read.
        let index = Some(index + 1..self.behind(index, own.end) - 1).filter(|index| !index.is_empty())?;
        let divides = self.words(&index).iter().any(|token| matches!(&token.text[..], "/" | ">>"));
        let (vector, index) = (&vector.text, self.written(&index));
        let words =
            words([("index", index), ("line", &self.at.line?.to_string()), ("by", &vector[5..]), ("vector", vector)]);
        (!divides).then(|| help("index of vectors", &words))
    }
}
