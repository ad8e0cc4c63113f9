//! The lines that are shown beside the places of a finding: those that set or declare what is used there, and the calls that lead
//! there.

use std::collections::BTreeSet;

use super::around::{LOOPS, Part, READ, is_shared};
use super::source::Set;
use super::spot::Spot;
use super::underline::Mark;
use crate::places;

/// Lines that set variables are shown in a picture, at most so many. With more, a learner no longer sees which of them matters.
const MOST_SETS: usize = 4;
const MOST_CONSTANTS: usize = 2;

impl Spot {
    /// The lines that set what a place uses.
    pub fn set_by(&self, part: Part) -> Vec<Mark> {
        let mut marks = self.marks_of(self.ranked(part, 2));
        let own: Vec<u32> = self.statement().map_or(vec![], |own| self.function(own).map(|at| self.line(at)).collect());
        for call in self.and_callers().skip(1) {
            // What the function returns is nothing that the place uses.
            let mut found = call.ranked(Part { array: part.array, ..READ }, 2);
            found.retain(|(.., line)| !own.contains(line));
            found.extend(
                call.statement().into_iter().flat_map(|at| self.operators(at)).map(|(name, line)| (1, name, line)),
            );
            marks.extend(self.marks_of(found).into_iter().map(|mark| Mark { rank: mark.rank + 2, ..mark }));
        }
        marks
    }

    /// Marks of the lines that set or compute these names, each with its rank and its line.
    pub fn marks_of(&self, found: Vec<(usize, String, u32)>) -> Vec<Mark> {
        let mark = |(number, (step, name, line)): (usize, (usize, String, u32))| {
            let how = if name.ends_with(')') { "computed" } else { "set" };
            let mut mark = self.at_line(line, format!("`{name}` is {how} here"));
            // Other statements of the line may stand before the one that sets it.
            let set = self.sets().iter().find(|set| set.line == line && set.path == name);
            let on_line = |at: &usize| self.line(*at) == line;
            if let Some(own) = set.and_then(|set| self.outwards(set.at).filter(on_line).last()) {
                mark.spot.at.column = self.words(&self.statements[own].tokens).first().map(|word| word.column);
            }
            // Four lines of a nearer step may come before one that is a step further away.
            Mark { rank: number + 3 * step, ..mark }
        };
        (1..).zip(found).map(mark).collect()
    }

    /// Conditions and loops in these lines, and the lines that set what they compare.
    pub fn conditions(&self, lines: impl IntoIterator<Item = u32>) -> Vec<Mark> {
        let mut marks = self.at_lines(lines, "it depends on this");
        let heads: Vec<Spot> = marks.iter().filter_map(|mark| Some(self.beside(mark.spot.at.line?))).collect();
        marks.extend(heads.iter().flat_map(|head| head.set_by(Part { condition: true, ..READ })));
        marks
    }

    /// The lines that set what a place sets, and the one that declares it.
    pub fn also_set(&self) -> Vec<Mark> {
        self.set_by_line().map_or(vec![], |set| self.declared_and_set(set.root()))
    }

    /// The line that declares a variable, and those that set it.
    pub fn declared_and_set(&self, name: &str) -> Vec<Mark> {
        let mut marks: Vec<Mark> = self.declared_above(name, "is declared").into_iter().collect();
        add(&mut marks, self.all_sets(name));
        marks
    }

    /// The lines that set the variable whose value a place stores: `all` in `C[row] = all;`.
    pub fn value_set(&self) -> Vec<Mark> {
        let set = self.access().and_then(|own| self.sets_of(own).find(|set| set.operator == "="));
        let name = set.and_then(|Set { value, .. }| {
            let is_variable = matches!(self.words(value).get(1).map_or("[", |after| &after.text), "[" | ".");
            self.names(value).into_iter().next().filter(|_| is_variable)
        });
        let mut marks = self.all_sets(&name.unwrap_or_default());
        // Where it begins with a number, nothing else is put into it.
        marks.retain(|mark| {
            let at = mark.spot.statement();
            at.is_none_or(|at| self.sets_of(at).any(|set| !set.declares || !self.names(&set.value).is_empty()))
        });
        marks
    }

    /// The other lines of the function that give a name a value, the first six.
    fn all_sets(&self, name: &str) -> Vec<Mark> {
        let Some(own) = self.access() else { return vec![] };
        let is_one = |set: &&Set| set.at != own && set.sets && (set.root() == name || set.path == name);
        self.other_lines(6, self.sets_around(own).filter(is_one), &format!("`{name}` is set here"))
    }

    /// The lines of the file that store to an array, the first two.
    pub fn stores_of(&self, array: &str) -> Vec<Mark> {
        let is_one = |set: &&Set| set.indexed && (set.root() == array || set.last() == array);
        self.other_lines(2, self.sets().iter().filter(is_one), &format!("{array} is stored here"))
    }

    /// The lines that set a pointer to a place in an array, the first two.
    pub fn pointers_to(&self, array: &str) -> Vec<Mark> {
        let is_one = |set: &&Set| self.is_pointer(set) && self.names(&set.value).iter().any(|name| name == array);
        self.other_lines(2, self.sets().iter().filter(is_one), &format!("this points to {array}"))
    }

    /// The loops around a place that begin with a number other than 0.
    pub fn late(&self) -> Vec<Mark> {
        let begins = |at: usize| self.sets_of(at).next().map_or("", |set| self.text(set.value.start));
        let falls = |word: &str| matches!(word, "--" | "-=" | ">>=" | "/=");
        let is_late = |at: usize| self.begins_with_number(at) && begins(at).contains(|c| matches!(c, '1'..='9'));
        let late = |at: usize| is_late(at) && !self.has(at, falls);
        self.loops_that(late, "this loop does not begin with 0")
    }

    /// The loops around a place that may have one step too many or too few: those that go on with `<=`, and the innermost if it is late.
    fn odd_loops(&self) -> Vec<Mark> {
        let is_last = |word: &str| word.to_lowercase().contains("last");
        let is_odd = |at: usize| self.has(at, |word| word == "<=") && !self.has(at, is_last);
        let mut marks = self.loops_that(is_odd, "this loop goes on with `<=`");
        let innermost = self.around(LOOPS).first().copied();
        marks.extend(self.late().into_iter().filter(|mark| mark.spot.at.line == innermost));
        marks
    }

    /// The loops around a place whose heads are of this kind.
    fn loops_that(&self, is_it: impl Fn(usize) -> bool, label: &str) -> Vec<Mark> {
        // The body of a loop may stand in the line of its head.
        let is_head = |at: usize| LOOPS.contains(&self.statements[at].keyword) && is_it(at);
        let has_head = |line: &u32| (0..self.statements.len()).any(|at| self.line(at) == *line && is_head(at));
        self.at_lines(self.around(LOOPS).into_iter().filter(has_head), label)
    }

    /// The lines of what is set, but for that of the place: at most so many.
    fn other_lines<'a>(&self, most: usize, of: impl Iterator<Item = &'a Set>, label: &str) -> Vec<Mark> {
        let mut lines: Vec<u32> = of.map(|set| set.line).filter(|line| Some(*line) != self.at.line).collect();
        lines.dedup();
        self.at_lines(lines.into_iter().take(most), label)
    }

    /// The line that declares what a place sets.
    pub fn declared(&self) -> Option<Mark> {
        self.declared_above(self.set_by_line()?.root(), "is declared")
    }

    /// The line that declares a variable, the last one above the place.
    fn declared_above(&self, name: &str, how: &str) -> Option<Mark> {
        let own = self.access()?;
        let above = self.sets_around(own).filter(|set| set.at < own && set.declares && set.path == name);
        above.last().map(|set| self.at_line(set.line, format!("`{name}` {how} here")))
    }

    /// The lines that declare the variables which a place uses without a value, and those that set an element of them.
    pub fn without_value(&self) -> Vec<Mark> {
        let Some(own) = self.access() else { return vec![] };
        let is_bare = |name: &String| {
            self.sets_around(own)
                .any(|set| set.path == *name && set.declares && !set.sets && !self.has(set.at, is_shared))
        };
        let names = self.names(&self.statements[own].tokens).into_iter().filter(is_bare);
        let declared = names.filter_map(|name| Some((self.declared_above(&name, "has no value")?, name)));
        declared
            .flat_map(|(mark, name)| std::iter::once(mark).chain(self.all_sets(&name).into_iter().take(2)))
            .collect()
    }

    /// The declaration of an array.
    pub fn declared_array(&self, name: &str) -> Option<Mark> {
        self.shared(name).map(|set| self.at_line(set.line, format!("`{name}` is declared here")))
    }

    /// A whole line of the file that a place is in.
    pub fn at_line(&self, line: u32, label: impl Into<String>) -> Mark {
        let text = (line as usize).checked_sub(1).and_then(|at| self.lines.get(at)).map_or("", |text| text);
        let mut spot = self.beside(line);
        spot.at.column = Some((text.len() - text.trim_start().len()) as u32 + 1);
        Mark { spot, label: label.into(), aside: true, ..Mark::default() }
    }

    /// The loops and conditions around a place that begin with one of these words.
    pub fn depends(&self, words: &[&str]) -> Vec<Mark> {
        self.at_lines(self.around(words), "it depends on this")
    }

    /// Whole lines of the file that a place is in, with one label.
    pub fn at_lines(&self, lines: impl IntoIterator<Item = u32>, label: &str) -> Vec<Mark> {
        lines.into_iter().map(|line| self.at_line(line, label)).collect()
    }
}

/// The marks with the first of those that set variables, the lines that call the functions in which they lie, and those that define the macros which they use.
pub fn with_calls(mut marks: Vec<Mark>) -> Vec<Mark> {
    // Two names of one line may come from two places.
    let mut seen = BTreeSet::new();
    marks.retain(|mark| !mark.aside || seen.insert((mark.spot.at.line, mark.label.clone())));
    let mut sets: Vec<usize> = (0..marks.len()).filter(|&at| marks[at].rank > 0).collect();
    sets.sort_by_key(|&at| marks[at].rank);
    let left_out: Vec<u32> = sets.iter().skip(MOST_SETS).filter_map(|&at| marks[at].spot.at.line).collect();
    marks.retain(|mark| mark.rank == 0 || mark.spot.at.line.is_none_or(|line| !left_out.contains(&line)));
    let own: Vec<(Spot, bool)> = marks.iter().map(|mark| (mark.spot.clone(), mark.aside)).collect();
    for (place, aside) in own {
        for &(line, _) in place.at.calls.iter().filter(|_| !aside) {
            let is_ptx = places::is_ptx(&place.at, line);
            let label = if is_ptx { "this is what it calls" } else { "it is called here" };
            let given = if is_ptx { String::new() } else { place.exchanged(line) };
            let with = if given.is_empty() { "" } else { ", with " };
            add(&mut marks, [place.at_line(line, format!("{label}{with}{given}"))]);
        }
        add(&mut marks, place.odd_loops());
        add(&mut marks, place.returned_under());
        let macros = place.macros(true).into_iter().filter(|(name, _)| place.has_word(|word| word == name));
        add(&mut marks, macros.map(|(_, line)| place.at_line(line, "it is defined here")));
    }
    let lost = marks.first().map(|mark| mark.spot.lost_sets());
    add(&mut marks, lost.into_iter().flatten());
    let constants = constants(&marks);
    add(&mut marks, constants);
    marks
}

/// The lines at the head of the file that define the constants which most of the marked lines use, the first two.
fn constants(marks: &[Mark]) -> Vec<Mark> {
    // Only if an index is in question.
    let Some(Mark { spot: file, .. }) = marks.first().filter(|_| marks.iter().any(|mark| mark.rank > 0)) else {
        return vec![];
    };
    let has = |set: &Set, words: &[&str]| file.has(set.at, |word| words.contains(&word));
    let is_constant = |set: &Set| has(set, &["const", "constexpr"]) && has(set, &["="]);
    let is_one = |set: &&Set| file.statements[set.at].function == 0 && is_constant(set);
    let mut known = file.macros(false);
    known.extend(file.sets().iter().filter(is_one).map(|set| (set.path.clone(), set.line)));
    let uses = |name: &str| marks.iter().filter(|mark| mark.spot.has_word(|word| word == name)).count();
    let mut used: Vec<(usize, String, u32)> = known.into_iter().map(|(name, line)| (uses(&name), name, line)).collect();
    used.retain(|(count, ..)| *count > 0);
    used.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    let mark = |(_, name, line)| file.at_line(line, format!("`{name}` is set here"));
    used.into_iter().take(MOST_CONSTANTS).map(mark).collect()
}

/// Adds marks to lines that have none, or one that is left out before them.
pub fn add(marks: &mut Vec<Mark>, more: impl IntoIterator<Item = Mark>) {
    for mark in more {
        match marks.iter_mut().find(|known| known.spot.at.line == mark.spot.at.line) {
            Some(known) if mark.rank < known.rank => *known = mark,
            Some(_) => {}
            None => marks.push(mark),
        }
    }
}
