//! The lines that are shown beside the places of a finding: those that set or declare what is used there, and the calls that lead
//! there.

use std::collections::BTreeSet;

use simt::Location;

use super::around::{Part, READ, and_callers, ranked, set_by_line, shared};
use super::source::{Set, Source};
use super::underline::Mark;
use super::underline::has_word;
use crate::code::places;

/// The lines that set what a place uses.
pub fn set_by(place: &Location, part: Part) -> Vec<Mark> {
    let mut marks = sets(place, ranked(place, part, 2));
    let of_callers = and_callers(place).skip(1).flat_map(|call| sets(place, ranked(&call, READ, 2)));
    marks.extend(of_callers.map(|mark| Mark { rank: mark.rank + 2, ..mark }));
    marks
}

pub fn sets(place: &Location, found: Vec<(usize, String, u32)>) -> Vec<Mark> {
    let mark = |(number, (step, name, line)): (usize, (usize, String, u32))| {
        let how = if name.ends_with(')') { "computed" } else { "set" };
        // Four lines of a nearer step may come before one that is a step further away.
        Mark { rank: number + 3 * step, ..at_line(place, line, format!("`{name}` is {how} here")) }
    };
    (1..).zip(found).map(mark).collect()
}

/// Conditions and loops in these lines, and the lines that set what they compare.
pub fn conditions(place: &Location, lines: impl IntoIterator<Item = u32>) -> Vec<Mark> {
    let mut marks = at_lines(place, lines, "it depends on this");
    for at in 0..marks.len() {
        let head = Location { column: None, ..marks[at].location.clone() };
        marks.extend(set_by(&head, Part { condition: true, ..READ }));
    }
    marks
}

/// The lines that set what a place sets, and the one that declares it.
pub fn also_set(place: &Location) -> Vec<Mark> {
    set_by_line(place).map_or(vec![], |set| sets_of(place, set.root()))
}

/// The line that declares a variable, and those that set it.
pub fn sets_of(place: &Location, name: &str) -> Vec<Mark> {
    let mut marks: Vec<Mark> = declared_above(place, name, "is declared").into_iter().collect();
    add(&mut marks, all_sets(place, name));
    marks
}

/// The lines that set the variable whose value a place stores: `all` in `C[row] = all;`.
pub fn value_set(place: &Location) -> Vec<Mark> {
    let source = Source::of(place);
    let set = source.access(place).and_then(|own| source.sets_of(own).find(|set| set.operator == "="));
    let name = set.and_then(|Set { value, .. }| {
        let is_variable = matches!(source.words(value).get(1).map_or("[", |after| &after.text), "[" | ".");
        source.names(value).into_iter().next().filter(|_| is_variable)
    });
    let mut marks = all_sets(place, &name.unwrap_or_default());
    // Where it begins with a number, nothing else is put into it.
    marks.retain(|mark| {
        let at = source.statement(&mark.location);
        at.is_none_or(|at| source.sets_of(at).any(|set| !set.declares || !source.names(&set.value).is_empty()))
    });
    marks
}

/// The other lines of the function that give a name a value, the first six.
fn all_sets(place: &Location, name: &str) -> Vec<Mark> {
    let source = Source::of(place);
    let Some(own) = source.access(place) else { return vec![] };
    let is_one = |set: &&Set| set.at != own && set.sets && (set.root() == name || set.path == name);
    other_lines(place, 6, source.sets_around(own).filter(is_one), &format!("`{name}` is set here"))
}

/// The lines of the file that store to an array, the first two.
pub fn stores_of(place: &Location, array: &str) -> Vec<Mark> {
    let is_one = |set: &&Set| set.indexed && (set.root() == array || set.last() == array);
    other_lines(place, 2, Source::of(place).sets().iter().filter(is_one), &format!("{array} is stored here"))
}

/// The lines of what is set, but for that of the place: at most so many.
fn other_lines<'a>(place: &Location, most: usize, of: impl Iterator<Item = &'a Set>, label: &str) -> Vec<Mark> {
    let mut lines: Vec<u32> = of.map(|set| set.line).filter(|line| Some(*line) != place.line).collect();
    lines.dedup();
    at_lines(place, lines.into_iter().take(most), label)
}

/// The line that declares what a place sets.
pub fn declared(place: &Location) -> Option<Mark> {
    declared_above(place, set_by_line(place)?.root(), "is declared")
}

/// The line that declares a variable, the last one above the place.
fn declared_above(place: &Location, name: &str, how: &str) -> Option<Mark> {
    let source = Source::of(place);
    let own = source.access(place)?;
    let above = source.sets_around(own).filter(|set| set.at < own && set.declares && set.path == name);
    above.last().map(|set| at_line(place, set.line, format!("`{name}` {how} here")))
}

/// The lines that declare the variables which a place uses without a value.
pub fn without_value(place: &Location) -> Vec<Mark> {
    let source = Source::of(place);
    let Some(own) = source.access(place) else { return vec![] };
    let is_bare = |name: &String| source.sets_around(own).any(|set| set.path == *name && set.declares && !set.sets);
    let names = source.names(&source.statements[own].tokens).into_iter().filter(is_bare);
    names.filter_map(|name| declared_above(place, &name, "has no value")).collect()
}

pub fn declared_array(place: &Location, name: &str) -> Option<Mark> {
    shared(&Source::of(place), name).map(|set| at_line(place, set.line, format!("`{name}` is declared here")))
}

/// Lines that set variables are shown in a picture, at most so many. With more, a learner no longer sees which of them matters.
const MOST_SETS: usize = 4;

/// The marks with the first of those that set variables, the lines that call the functions in which they lie, and those that define the macros which they use.
pub fn with_calls(mut marks: Vec<Mark>) -> Vec<Mark> {
    // Two names of one line may come from two places.
    let mut seen = BTreeSet::new();
    marks.retain(|mark| !mark.aside || seen.insert((mark.location.line, mark.label.clone())));
    let mut sets: Vec<usize> = (0..marks.len()).filter(|&at| marks[at].rank > 0).collect();
    sets.sort_by_key(|&at| marks[at].rank);
    let left_out: Vec<u32> = sets.iter().skip(MOST_SETS).filter_map(|&at| marks[at].location.line).collect();
    marks.retain(|mark| mark.rank == 0 || mark.location.line.is_none_or(|line| !left_out.contains(&line)));
    let own: Vec<Location> = marks.iter().filter(|mark| !mark.aside).map(|mark| mark.location.clone()).collect();
    for place in own {
        for &(line, _) in &place.calls {
            let label = if places::is_ptx(&place, line) { "this is what it calls" } else { "it is called here" };
            add(&mut marks, [at_line(&place, line, label.into())]);
        }
        for (line, text) in (1..).zip(places::lines_of(&place).iter()) {
            let name = text.strip_prefix("#define ").and_then(|rest| rest.split_once('(')).map(|(name, _)| name);
            if name.is_some_and(|name| has_word(&place, |word| word == name)) {
                add(&mut marks, [at_line(&place, line, "it is defined here".into())]);
            }
        }
    }
    marks
}

/// Adds marks to lines that have none, or one that is left out before them.
pub fn add(marks: &mut Vec<Mark>, more: impl IntoIterator<Item = Mark>) {
    for mark in more {
        match marks.iter_mut().find(|known| known.location.line == mark.location.line) {
            Some(known) if mark.rank < known.rank => *known = mark,
            Some(_) => {}
            None => marks.push(mark),
        }
    }
}

/// A whole line of the file that a place is in.
pub fn at_line(place: &Location, line: u32, label: String) -> Mark {
    let text = places::line(place.file.as_deref().unwrap_or_default(), line).unwrap_or_default();
    let column = Some((text.len() - text.trim_start().len()) as u32 + 1);
    let location = Location { line: Some(line), column, ..place.clone() };
    Mark { location, label, aside: true, ..Mark::default() }
}

/// Whole lines of the file that a place is in, with one label.
pub fn at_lines(place: &Location, lines: impl IntoIterator<Item = u32>, label: &str) -> Vec<Mark> {
    lines.into_iter().map(|line| at_line(place, line, label.into())).collect()
}
