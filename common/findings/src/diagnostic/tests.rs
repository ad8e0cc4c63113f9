//! What is read out of a kernel's lines, and what is said of them: the tables of `cases.json`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::de::DeserializeOwned;
use simt::{AccessKind, Action, Array, Dim3, FaultKind, Hazard, HazardKind, Location, Party, Place, Space};

use super::around::{HEADS, Part, READ};
use super::source::{Set, Source};
use super::spot::Spot;
use super::underline::Mark;
use super::{call, remedy, underline};
use crate::places::may_be_shown;

fn cases<T: DeserializeOwned>(of: &str) -> T {
    let all: serde_json::Value = serde_json::from_str(include_str!("cases.json")).unwrap();
    serde_json::from_value(all[of].clone()).unwrap()
}

/// All of these are in the text, but none that begins with a `!`.
#[track_caller]
fn says(text: &str, words: &[impl AsRef<str>]) {
    for words in words.iter().map(AsRef::as_ref) {
        let absent = words.strip_prefix('!');
        assert_eq!(text.contains(absent.unwrap_or(words)), absent.is_none(), "{words:?} and {text:?}");
    }
}

/// The first line of a file.
fn first_line(code: &str) -> Spot {
    // Tests run side by side, and texts are kept by their names: each has its own.
    static READ: AtomicUsize = AtomicUsize::new(0);
    let file = format!("line{}.cu", READ.fetch_add(1, Ordering::Relaxed));
    may_be_shown(&file, code);
    Spot::of(&Location { file: Some(file), line: Some(1), ..Location::default() })
}

#[test]
fn a_comparison_is_wrong_if_it_lets_the_index_reach_the_size_or_compares_with_another_one() {
    for (code, words) in cases::<Vec<(String, Option<String>)>>("bounds") {
        let said = first_line(&code).bounds().map(|bound| bound.help);
        assert_eq!(said.is_some(), words.is_some(), "{code}: {said:?}");
        says(&said.unwrap_or_default(), words.as_slice());
    }
}

/// Nothing is said of what is not written there, nor of other arrays.
#[test]
fn the_size_in_an_index_is_the_matrix_s_columns_or_is_named() {
    for (code, array, wrong) in cases::<Vec<(String, String, Option<String>)>>("strides") {
        let said = first_line(&code).of_product(&array);
        assert_eq!(said.is_some(), wrong.is_some(), "{code}: {said:?}");
        says(&said.unwrap_or_default(), wrong.map(|wrong| format!("and not by {wrong}:")).as_slice());
    }
}

#[test]
fn each_call_has_its_line_its_name_and_a_way_out() {
    let location = Location { file: Some("k.cu".into()), line: Some(7), ..Location::default() };
    for (function, recursive, words) in cases::<Vec<(String, bool, Vec<String>)>>("calls") {
        says(&call(&function, recursive, &location), &words);
    }
}

/// By its array and direction, of which the wrong one is better than nothing; a column leaves out what stands before it. Without
/// an array it is the statement, which may take several lines.
#[test]
fn the_access_is_found() {
    // An element such as `s[1][5]`, or an array alone.
    let element = |text: &String| {
        let mut parts = text.split(['[', ']']).filter(|part| !part.is_empty());
        let name = parts.next().unwrap();
        underline::element_of(name, Space::Shared, parts.map(|index| index.parse().unwrap()).collect())
    };
    type Case = (String, Option<u32>, Option<String>, bool, String);
    for (text, column, array, writes, found) in cases::<Vec<Case>>("underlined") {
        let spot = first_line(&text).moved(Some(1), column);
        let mark = Mark { spot, element: array.as_ref().map(element), writes, ..Mark::default() };
        let (line, span) = underline::access(&mark);
        assert_eq!(mark.spot.lines[line as usize - 1][span], found, "{text}");
    }
    assert_eq!(underline::access(&Mark { spot: first_line(""), ..Mark::default() }), (1, 0..0));
}

/// A line's sets are told as `+sum` if they are declared and set, `!s` if they are declared alone, and `sum[]` for elements.
#[test]
fn statements_in_any_layout_have_what_is_around_them_and_what_they_set() {
    let one = |set: &Set| {
        let mark = if set.declares && set.sets { "+" } else { "!" };
        format!("{}{}{}", if set.declares { mark } else { "" }, set.path, if set.indexed { "[]" } else { "" })
    };
    type Case = (Vec<String>, Vec<(u32, String)>, Vec<(u32, u32, Vec<u32>)>, Vec<u32>, Vec<String>);
    for (lines, sets, around, barriers, functions) in cases::<Vec<Case>>("sources") {
        let source = Source::read(lines.clone());
        for (line, words) in sets {
            let on_line = (0..source.statements.len()).filter(|&at| source.line(at) == line);
            let told: Vec<String> = on_line.flat_map(|at| source.sets_of(at)).map(one).collect();
            assert_eq!(told.join(" "), words, "{line}");
        }
        for (line, column, found) in around {
            let at = source.statement_at(line, Some(column)).unwrap();
            let told = source.heads(at, HEADS).into_iter().map(|at| source.line(at));
            assert_eq!(told.collect::<Vec<_>>(), found, "{line}:{column}");
        }
        let waits = (0..source.statements.len()).filter(|&at| source.is_barrier(at)).map(|at| source.line(at));
        assert_eq!(waits.collect::<Vec<_>>(), barriers);
        assert_eq!(source.functions, functions);
        // Nothing is refused, and nothing is too deep.
        let text = lines.join("\n");
        for (part, _) in text.char_indices() {
            Source::read([text[part..].to_owned(), text[..part].to_owned()]);
        }
        Source::read(["{ if (a) ".repeat(100_000)]);
    }
}

/// A place without a column is its line.
#[test]
fn a_line_has_what_is_around_it_and_the_lines_that_set_what_it_uses() {
    type Case = (u32, Vec<u32>, bool, usize, Vec<(String, u32)>);
    let (lines, all) = cases::<(Vec<String>, Vec<Case>)>("setters");
    let first = first_line(&lines.join("\n"));
    for (line, heads, stores, most, set) in all {
        let place = first.on_line(line);
        let found = place.ranked(Part { stores, ..READ }, 2).into_iter().take(most);
        let found: Vec<(String, u32)> = found.map(|(_, name, line)| (name, line)).collect();
        assert_eq!((place.around(&["for", "if"]), found), (heads, set), "{line}");
    }
}

fn array(name: &str) -> Array {
    let space = if ["As", "line"].contains(&name) { Space::Shared } else { Space::Global };
    Array { name: name.into(), space }
}

/// The first element of an array of this name.
fn first_of(name: &str) -> Place {
    Place::Element { array: array(name), index: vec![0], bytes: 0 }
}

/// Block, thread, action and line of the kernel of the table; 0 for a place without one.
type Side<A = Action> = (u32, u32, A, u32);

fn remedy_of(kind: HazardKind, place: Place, sides: &[Side]) -> String {
    let party = |&(block, thread, action, line): &Side| {
        let known = (line > 0).then_some(line);
        let file = known.map(|_| "kernel.cu".to_owned());
        let location = Location { file, line: known, ptx_line: 77, ..Location::default() };
        Party::new((Dim3::new(block, 0, 0), Dim3::new(thread, 0, 0)), action, location)
    };
    may_be_shown("kernel.cu", &cases::<Vec<String>>("kernel").join("\n"));
    remedy::hazard(&Hazard::new(kind, place, sides.iter().map(party).collect()))
}

#[test]
fn a_race_has_the_remedy_of_its_place_and_its_lines() {
    type Case = (String, [Side<String>; 2], Vec<String>);
    let all = [Action::Reads, Action::Writes, Action::Updates, Action::Copies];
    let action = |word: &str| all.into_iter().find(|action| action.to_string().starts_with(word)).unwrap();
    for (name, sides, words) in cases::<BTreeMap<String, Vec<Case>>>("races").into_values().flatten() {
        let [one, other] = sides.map(|(block, thread, word, line)| (block, thread, action(&word), line));
        let text = remedy_of(HazardKind::Race, first_of(&name), &[one, other]);
        says(&text, &words);
        if one.0 != other.0 && name != "B" {
            says(&text, &["no barrier helps", "!__syncthreads"]);
        }
        let turned = remedy_of(HazardKind::Race, first_of(&name), &[other, one]);
        assert_eq!(text, turned, "the order of the sides is chance");
    }
}

/// What the course's programs with a defect do not show: `common/tests/diagnostics.txt` has the remedies of all other kinds.
#[test]
fn the_end_of_the_kernel_is_no_condition_and_sides_that_do_not_fit_still_give_a_remedy() {
    for (line, words) in [
        (2, ["reach the barrier in line 2", "the end of the kernel", "!return"]),
        (16, ["move the barrier in line 16 out of its condition", "", ""]),
    ] {
        let sides = [(0, 0, Action::Waits, line), (0, 40, Action::Ends, 9)];
        says(&remedy_of(HazardKind::ExitBeforeBarrier, Place::Barrier(0), &sides), &words);
    }
    says(&remedy_of(HazardKind::Race, first_of("C"), &[]), &["look for the cause in the lines named here"]);
}

#[test]
fn a_fault_has_the_remedy_of_its_array_and_of_reading_or_writing() {
    use AccessKind::{CopySource, Load, Store};
    use Space::{Global, Shared};
    let past = |name| Place::Outside { array: array(name), index: 64, bytes: 0, of: 64 };
    let outside = |space, access, place| FaultKind::OutOfBounds { space, access, bytes: 4, place };
    for (fault, words) in [
        (outside(Global, CopySource, past("B")), ["row < K, column < N", "take 0"]),
        (outside(Global, Store, past("A")), ["A is only read", "belongs to C"]),
        (outside(Global, Load, Place::NoArray(1 << 46)), ["how the address is computed", ""]),
        (outside(Shared, Load, Place::SharedAddress(0x9999)), ["extents of the array", ""]),
        (FaultKind::MissingLanes { named: 3, present: 1 }, ["name only lanes that come here together", ""]),
        (FaultKind::NoSuchBarrier { id: 16 }, ["name one barrier from 0 to 15", ""]),
    ] {
        says(&remedy::fault(&fault, &Location::default()), &words);
    }
}
