//! Recorded results that say whether a GPU was asked about them: a line is the result, and behind a tab the GPU that gave the same, and
//! when. Only the scripts that ask a GPU write that; `SIMT_BLESS=1` keeps it for a line that stays as it is.

use std::collections::HashMap;

/// How the name of each GPU begins.
const GPU: &str = "\tNVIDIA ";

/// The lines without what is said of a GPU.
pub fn unmarked(text: &str) -> String {
    text.lines().flat_map(|line| [line.split(GPU).next().unwrap_or_default(), "\n"]).collect()
}

/// The lines that are recorded now, with the marks of those that were recorded before.
pub fn kept(new: &str, old: &str) -> String {
    let marks: HashMap<&str, &str> = old.lines().filter_map(|line| Some(line.split_at(line.find(GPU)?))).collect();
    new.lines().flat_map(|line| [line, marks.get(line).unwrap_or(&""), "\n"]).collect()
}

#[test]
fn a_result_that_changes_loses_its_mark() {
    let old = "# marks\nvmin4\t07\tNVIDIA H200, 2026-11-25\nadd\t11\tNVIDIA H200, 2026-11-25, within 1\nsub\t12\n";
    assert_eq!(unmarked(old), "# marks\nvmin4\t07\nadd\t11\nsub\t12\n");
    assert_eq!(kept(&unmarked(old), old), old);
    let new = kept("# marks\nvmin4\t08\nadd\t11\nvmax4\t08\n", old);
    assert_eq!(new, "# marks\nvmin4\t08\nadd\t11\tNVIDIA H200, 2026-11-25, within 1\nvmax4\t08\n");
}

/// Each mark names a GPU and a day, and no more than the distance in the last place.
#[test]
fn every_mark_says_which_gpu_and_when() {
    for name in ["instructions/results.txt", "instructions/products.txt"] {
        let text = super::sections::text(name);
        let marks: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once(GPU)?.1)).collect();
        assert!(marks.len() * 10 > text.lines().count() * 9, "{name}: {} lines are marked", marks.len());
        for mark in marks {
            let parts: Vec<&str> = mark.split(", ").collect();
            let is_day = |day: &str| day.len() == 10 && day.split('-').all(|part| part.parse::<u32>().is_ok());
            let is_distance = |words: &&str| words.strip_prefix("within ").is_some_and(|by| by.parse::<u32>().is_ok());
            assert!(matches!(&parts[..], [_, day] | [_, day, _] if is_day(day)), "{name}: {mark}");
            assert!(parts.get(2).is_none_or(is_distance), "{name}: {mark}");
        }
    }
}
