//! What lies around a line of a kernel, by how it is written: the loops and conditions that it stands in, and the lines that
//! set what it uses.

use std::collections::BTreeSet;
use std::ops::Range;

use super::source::{Set, Source};
use super::spot::Spot;
use super::statements::{Statement, Token};
use super::underline::Mark;

/// The keywords of loops.
pub const LOOPS: &[&str] = &["for", "while"];
/// The keywords of all that a line may depend on.
pub const HEADS: &[&str] = &["for", "while", "if"];

/// What of a statement counts when one asks which lines decide about an element: without an array, all that stands before the
/// `=` if it is stored, and all behind it if it is read.
#[derive(Clone, Copy, Default)]
pub struct Part<'a> {
    /// The element is stored by the statement, and not read.
    pub stores: bool,
    /// Only the index of this array counts, if the statement has it.
    pub array: &'a str,
    /// Of that only what is multiplied by a size of a matrix, which tells the row in memory, or only the rest.
    pub by_size: Option<bool>,
    /// Of `a ? b : c` only the condition counts; otherwise the rest.
    pub condition: bool,
    /// Where a variable begins says more than how it goes on.
    pub begins: bool,
}

/// All of a statement that reads an element.
pub const READ: Part = Part { stores: false, array: "", by_size: None, condition: false, begins: false };
/// All of a statement that stores an element.
pub const STORE: Part = Part { stores: true, ..READ };

impl Part<'_> {
    fn names(&self, source: &Source, at: usize) -> Vec<String> {
        let Range { start, end } = source.statements[at].tokens;
        let access = source.uses(start..end, self.array).into_iter().find(|found| found.reads || self.stores);
        // In a call or in the head of a loop, the place is not on the left of the operator and the value on the right.
        let has_sides = |set: &&Set| !matches!(&set.operator[..], "." | "->" | "in");
        let mut part = match (access, source.sets_of(at).next().filter(has_sides)) {
            (Some(access), _) => access.tokens,
            (None, Some(set)) if self.stores => start..set.value.start - 1,
            (None, Some(set)) => set.value.clone(),
            (None, None) => {
                let equals = (start..end).find(|&at| source.text(at) == "=").unwrap_or(end);
                if self.stores { start..equals } else { start..end }
            }
        };
        match part.clone().find(|&at| source.text(at) == "?") {
            Some(at) if self.condition => part.end = at,
            Some(at) => part.start = at,
            None => {}
        }
        let is_it = |term: &Range<usize>| {
            let has_size = source.words(term).iter().any(|word| is_size(&word.text));
            self.by_size.is_none_or(|by_size| has_size == by_size)
        };
        // A sum that is added to says nothing about the place of what is added.
        let is_head = source.statements[at].keyword == "for";
        let sums: Vec<&str> = source.sets_of(at).filter(|_| !self.stores && !is_head).map(Set::root).collect();
        let terms = source.terms(&part).into_iter().filter(is_it);
        let mut found: Vec<String> = terms.flat_map(|term| source.names(&term)).collect();
        if found.is_empty() {
            found = source.names(&part);
        }
        found.retain(|name| !sums.contains(&name.as_str()));
        found
    }
}

impl Spot {
    /// The lines of the statements around a place that begin with one of these words, the innermost first; then of those around the
    /// call of its function.
    pub fn around(&self, words: &[&str]) -> Vec<u32> {
        let mut seen = BTreeSet::new();
        let own = self.and_callers().filter_map(|place| place.statement());
        let lines = own.flat_map(|own| self.heads(own, words)).map(|at| self.line(at));
        lines.filter(|line| seen.insert(*line)).collect()
    }

    /// The conditions that decide whether a thread comes to a place: those around it, and those above it under which a thread leaves
    /// its function, or a loop around the place.
    pub fn guards(&self) -> Vec<u32> {
        let mut found = self.around(&["if"]);
        for own in self.and_callers().filter_map(|place| place.statement()) {
            let own_loops = self.heads(own, LOOPS);
            for at in self.function(own).filter(|&at| at < own) {
                let leaves = match self.statements[at].keyword {
                    "return" => true,
                    "break" | "continue" => self.heads(at, LOOPS).first().is_some_and(|left| own_loops.contains(left)),
                    _ => false,
                };
                found.extend(self.condition(at).filter(|line| leaves && !found.contains(line)));
            }
        }
        found
    }

    /// The conditions under which the loop in this line is left.
    pub fn exits(&self, line: u32) -> Vec<u32> {
        let is_it = |at: usize| self.heads(at, LOOPS).first().is_some_and(|&at| self.line(at) == line);
        let leaves = |at: &usize| ["break", "return"].contains(&self.statements[*at].keyword) && is_it(*at);
        let ends = (0..self.statements.len()).filter(leaves);
        ends.map(|at| self.condition(at).filter(|head| *head > line).unwrap_or(self.line(at))).collect()
    }

    /// The lines that decide which thread of its block stores where: those that name the thread, or scale the number of a row or column.
    pub fn set_by_thread(&self) -> Vec<(usize, String, u32)> {
        let has = |line: u32, words: &[&str]| self.line_has(line, |word| words.contains(&word));
        let names_it = |line: u32| has(line, &["threadIdx", "thread_idx"]);
        let scales = |line: u32| {
            has(line, &["*", "/", "%", ">", "<<", "&"])
                && !has(line, &["blockIdx", "block_idx", "blockDim", "for", "while"])
        };
        let mut found = self.ranked(STORE, 3);
        found.retain(|(.., line)| names_it(*line) || scales(*line));
        found.sort_by_key(|(.., line)| !names_it(*line));
        found.into_iter().map(|(_, name, line)| (0, name, line)).collect()
    }

    /// The lines that set what a line uses, and what those lines use in turn, so many steps back, each with the steps and the name:
    /// first those that explain most about where an element lies.
    pub fn ranked(&self, part: Part, steps: usize) -> Vec<(usize, String, u32)> {
        let Some(own) = self.access() else { return vec![] };
        let sets: Vec<&Set> = self.sets_around(own).collect();
        let line = self.line(own);
        let mut found: Vec<(usize, String, u32)> = vec![];
        let mut waiting = vec![own];
        for step in 0..steps {
            let names = |at: usize| {
                let all = &self.statements[at].tokens;
                if at == own { part.names(self, at) } else { self.names(all) }
            };
            for (name, line) in waiting.iter().flat_map(|&at| self.returns(at)) {
                if line != self.line(own) && found.iter().all(|(.., known)| *known != line) {
                    found.push((step, name, line));
                }
            }
            let used: Vec<String> = waiting.drain(..).flat_map(names).collect();
            for name in used {
                // Lines that fill a tile, and loops over something other than the matrix, do not count.
                // Neither do those that set what a pointer points to.
                let is_local = |set: &&Set| {
                    set.path == name && set.declares && !self.is_pointer(set) && !self.has(set.at, is_shared)
                };
                let is_tile = name.starts_with(char::is_uppercase) || !sets.iter().any(is_local);
                let counts = |set: &Set| {
                    let first = self.sets_of(set.at).next().is_some_and(|first| first.path == set.path);
                    // If it goes on by a variable, the threads share the work, and each of them begins elsewhere.
                    let mut tokens = self.statements[set.at].tokens.clone();
                    let by = tokens.find(|&at| self.text(at) == "+=").map(|at| self.text(at + 1));
                    let shares = by.is_some_and(|by| by.starts_with(char::is_lowercase));
                    let is_for = self.statements[set.at].keyword == "for";
                    let counter = first && is_for && !shares && self.begins_with_number(set.at);
                    let loops = counter && (part.stores || !self.has(set.at, is_size));
                    let is_matrix = set.declares && !name.contains(char::is_lowercase);
                    let is_fill = !set.method.is_empty() || is_tile && set.indexed;
                    set.sets && ![loops, is_matrix, is_fill].contains(&true)
                };
                let is_it = |set: &Set| {
                    let whole = name.split('.').next() == Some(&set.path);
                    set.path == name || whole || set.root() == name && !set.indexed
                };
                // If several variables have the name, it means the one declared last before the line.
                let known = |set: &&&Set| set.at < own && set.declares && is_it(set) && self.is_seen(set.at, own);
                let nearest = sets.iter().rfind(known).map(|set| set.at);
                let is_set = |set: &&&Set| set.at != own && is_it(set) && counts(set);
                let is_seen = |set: &Set| nearest.is_none_or(|nearest| self.is_seen(nearest, set.at));
                let of_it = |set: &&&Set| Some(set.at) == nearest || !set.declares && is_seen(set);
                for set in sets.iter().filter(is_set).filter(of_it) {
                    let is_new = found.iter().all(|(.., known)| *known != set.line);
                    if set.line != line && is_new {
                        found.push((step, set.path.clone(), set.line));
                    }
                    if is_new && !waiting.contains(&set.at) {
                        waiting.push(set.at);
                    }
                }
            }
        }
        // Of lines as many steps away, those of a pointer into the array come first, then those in which a variable goes on, and then
        // those in which a pointer begins.
        let points = sets.iter().filter(|set| self.has(set.at, |word| word == part.array));
        let points: Vec<&str> = points.map(|set| &set.path[..]).collect();
        let decides = |name: &str, line: u32| {
            let one = |set: &Set| match () {
                () if points.contains(&name) => 0,
                () if !set.declares => 1 + 2 * usize::from(part.begins),
                () if self.is_pointer(set) => 2,
                () => 3,
            };
            sets.iter().copied().filter(|set| set.path == name && set.line == line).map(one).min()
        };
        found.sort_by_key(|(step, name, number)| (*step, decides(name, *number), line.abs_diff(*number)));
        // Every variable comes once before any comes again.
        let mut seen: Vec<String> = vec![];
        for (step, name, _) in &mut found {
            *step += usize::from(seen.contains(name) && !points.contains(&&name[..]));
            seen.push(name.clone());
        }
        found.sort_by_key(|(step, ..)| *step);
        found
    }

    /// The shared array of this name, where it is declared.
    pub fn shared(&self, array: &str) -> Option<&Set> {
        self.sets().iter().find(|set| set.declares && set.path == array && self.has(set.at, is_shared))
    }

    /// How a single variable is declared that threads share, `static` for instance, and where.
    pub fn shared_by_threads(&self, name: &str) -> Option<(&str, Mark)> {
        let set = self.sets().iter().find(|set| set.declares && set.path == name)?;
        let is_single = |at: usize| self.text(at) == name && self.text(at + 1) != "[";
        let words = self.statements[set.at].tokens.clone();
        let kind = |word: &str| ["static", "__device__", "__shared__"].contains(&word);
        let kind = words.clone().map(|at| self.text(at)).find(|word| kind(word))?;
        // A structure may hold arrays.
        let begins = |pair: &[Token]| matches!(&pair[0].text[..], "struct" | "class" | "union");
        let mut structures = self.tokens.windows(2).filter(|pair| begins(pair));
        let is_structure = structures.any(|pair| words.clone().any(|at| self.text(at) == pair[1].text));
        (!is_structure && words.clone().any(is_single))
            .then(|| (kind, self.at_line(set.line, format!("`{name}` is declared here"))))
    }

    /// The shared array that an access leaves which ends in this one, or behind it: the only one that its line names, or this.
    pub fn left(&self, ended: Option<&str>) -> Option<String> {
        if let [one] = &self.arrays()[..] { Some(one.clone()) } else { ended.map(str::to_owned) }
    }

    /// The shared arrays that a line names, or that its pointers point to.
    pub fn arrays(&self) -> Vec<String> {
        let mut names = self.names(&self.own_line());
        let points = |set: &&Set| self.is_pointer(set) && names.contains(&set.path);
        let behind: Vec<String> = self.sets().iter().filter(points).flat_map(|set| self.names(&set.value)).collect();
        names.extend(behind);
        names.retain(|name| self.shared(name).is_some());
        names
    }

    /// Whether a shared array is declared as one of words of four bytes.
    pub fn of_words(&self, array: &str) -> bool {
        let of = |word: &str| ["ELEMENT", "float", "int", "unsigned"].contains(&word);
        self.shared(array).is_some_and(|set| self.has(set.at, of))
    }

    /// The pointers that are set to a place in an array, such as `As` in `float* As = shared;`.
    pub fn pointers(&self, array: &str) -> Vec<String> {
        let points = |set: &&Set| set.sets && set.declares && self.has(set.at, |word| word == "*");
        let is_one = |set: &&Set| points(set) && self.names(&set.value).iter().any(|name| name == array);
        self.sets().iter().filter(is_one).map(|set| set.path.clone()).collect()
    }

    /// A variable in the head of a loop around a place, the innermost that has one, which nothing in the loop changes; and that line.
    pub fn unchanged(&self) -> Option<(String, u32)> {
        self.and_callers().filter_map(|place| place.statement()).find_map(|own| {
            self.heads(own, LOOPS).into_iter().find_map(|head| {
                // What lies in memory may be changed by others.
                let names = self.names(&self.statements[head].tokens);
                let names = if self.has(head, |word| matches!(word, "[" | "*" | "->")) { vec![] } else { names };
                let is_variable =
                    |name: &&String| self.sets_around(own).any(|set| set.path == **name) && !is_size(name);
                let is_in = |at: usize| self.heads(at, LOOPS).contains(&head);
                // A function may change what it is given.
                let is_given = |at: usize, name: &str| {
                    let Statement { keyword, tokens, .. } = &self.statements[at];
                    let around = |at: usize| [self.text(at - 1), self.text(at + 1)];
                    let is = |at: usize| self.text(at) == name && matches!(around(at), ["(" | "," | "&", ")" | ","]);
                    keyword.is_empty() && tokens.clone().skip(1).any(is)
                };
                let changes = |name: &String| {
                    let given = self.function(own).filter(|&at| is_in(at)).any(|at| is_given(at, name));
                    given || self.sets_around(own).any(|set| set.path == *name && !set.declares && is_in(set.at))
                };
                let of_head: Vec<&String> = names.iter().filter(is_variable).collect();
                let name = of_head.first().filter(|_| !of_head.iter().any(|name| changes(name)))?;
                Some(((*name).clone(), self.line(head)))
            })
        })
    }

    /// What a place gives a value: `sum` in `sum[m] += a * b`.
    pub fn set_by_line(&self) -> Option<Set> {
        self.sets_of(self.access()?).find(|set| set.sets).cloned()
    }

    /// The line in the loops around a place that gives a variable a value without the one that it had, and the variable: one that the
    /// place sets, or one that is stored.
    pub fn replaced(&self, store: Option<&Self>) -> Option<(u32, String)> {
        let own = self.access()?;
        let loops = self.heads(own, LOOPS);
        let common = |set: &&Set| self.heads(set.at, LOOPS).iter().filter(|at| loops.contains(at)).count();
        let stored = store.and_then(|store| self.sets_of(store.access()?).next());
        let stored = stored.map_or(vec![], |set| self.names(&set.value));
        let is_sum = |set: &&Set| {
            let own = set.at == own || self.sets_of(own).any(|other| other.root() == set.root());
            own || stored.iter().any(|name| name == set.root())
        };
        let replaces = |set: &&Set| set.operator == "=" && !set.declares && !self.keeps(set) && common(set) > 0;
        let found = self.sets_around(own).filter(replaces).filter(is_sum).max_by_key(common)?;
        Some((found.line, found.root().to_owned()))
    }

    /// The line of a function that a place calls which replaces what the function returns, or what is not its own; and the variable.
    pub fn replaced_by_call(&self) -> Option<(u32, String)> {
        let own = self.access()?;
        let replaces = |set: &&Set| {
            let name = self.statements[set.at].function.checked_sub(1).map(|number| &self.functions[number]);
            let any = |is_it: &dyn Fn(usize) -> bool| self.function(set.at).any(is_it);
            let returns =
                |at: usize| self.statements[at].keyword == "return" && self.has(at, |word| word == set.root());
            let declares = |at: usize| self.sets_of(at).any(|it| it.declares && it.path == set.root());
            let is_result = !any(&declares) || any(&returns) && !self.heads(set.at, LOOPS).is_empty();
            let is_called = !any(&|at| at == own) && name.is_some_and(|name| self.has(own, |word| word == name));
            let is_new = set.operator == "=" && !set.declares && !set.indexed && !self.keeps(set);
            is_new && is_called && is_result && !self.names(&set.value).is_empty()
        };
        self.sets().iter().find(replaces).map(|set| (set.line, set.root().to_owned()))
    }

    /// Of a line in a loop that stores a variable: the variable, the line in the loop that takes the next value into it, and whether
    /// something has been taken into it before the loop.
    pub fn taken(&self) -> Option<(String, u32, bool)> {
        let own = self.access()?;
        let head = *self.heads(own, LOOPS).last()?;
        let stored = self.names(&self.sets_of(own).find(|set| set.operator == "=")?.value);
        let is_it = |set: &&Set| set.sets && stored.iter().any(|name| name.split('.').next() == Some(set.root()));
        let is_inside = |set: &&Set| self.heads(set.at, LOOPS).contains(&head);
        let (inside, before): (Vec<&Set>, Vec<&Set>) = self.sets_around(own).filter(is_it).partition(is_inside);
        let take = inside.iter().find(|set| !set.declares && set.at != own && set.operator == "=")?;
        let taken = before.iter().any(|set| set.root() == take.root() && !self.begins_with_number(set.at));
        Some((take.root().to_owned(), take.line, taken))
    }

    /// A variable that a line in the loops around a place adds to, and that no other statement uses; and that line.
    pub fn dead_sum(&self) -> Option<(String, u32)> {
        let own = self.access()?;
        let loops = self.heads(own, LOOPS);
        let is_in = |set: &&Set| self.heads(set.at, LOOPS).iter().any(|at| loops.contains(at));
        // What counts in the head of a loop is used there.
        let is_sum = |set: &&Set| set.operator == "+=" && self.statements[set.at].keyword != "for";
        let is_used = |name: &str| {
            self.function(own).any(|at| {
                let sets = self.sets_of(at).any(|set| set.root() == name);
                !sets && self.has(at, |word| word == name)
            })
        };
        // What a parameter refers to is used by who calls.
        let is_own = |name: &str| self.sets_around(own).any(|set| set.declares && set.path == name);
        let mut sums = self.sets_around(own).filter(is_sum).filter(is_in);
        sums.find(|set| !is_used(set.root()) && is_own(set.root())).map(|set| (set.root().to_owned(), set.line))
    }

    /// How the index of a store to C names the row and the column.
    pub fn index_names(&self) -> [String; 2] {
        let own = self.access();
        let name = |by_size| {
            let names = own.map(|own| Part { array: "C", by_size: Some(by_size), ..STORE }.names(self, own));
            let is_index = |name: &String| name.starts_with(char::is_lowercase) && !name.ends_with("_t");
            names.into_iter().flatten().find(is_index).unwrap_or_default()
        };
        let [row, col] = [true, false].map(name);
        if row == col || row.is_empty() || col.is_empty() { ["row", "col"].map(str::to_owned) } else { [row, col] }
    }

    /// The lines of a file that have a word of this kind.
    pub fn lines_with(&self, is_it: impl Fn(&str) -> bool) -> Vec<u32> {
        (0..self.statements.len()).filter(|&at| self.has(at, &is_it)).map(|at| self.line(at)).collect()
    }

    /// The name of the function that a place calls, and the lines that call it.
    pub fn calls_of(&self) -> (String, BTreeSet<u32>) {
        let is_called = |at: usize| matches!(self.text(at + 1), "(" | "<");
        let name = self.on_from().find(|&at| is_called(at)).map_or("", |at| self.text(at));
        let calls = |at: &usize| {
            let Statement { keyword, tokens, .. } = &self.statements[*at];
            *keyword != "fn" && tokens.clone().any(|at| self.text(at) == name && is_called(at))
        };
        (name.to_owned(), (0..self.statements.len()).filter(calls).map(|at| self.line(at)).collect())
    }
}

/// Whether a word names a size of the matrices.
pub fn is_size(word: &str) -> bool {
    matches!(word, "M" | "N" | "K")
}

pub fn is_shared(word: &str) -> bool {
    matches!(word, "__shared__" | "shared")
}
