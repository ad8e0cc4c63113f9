//! Papers for a class, to print. The concept inventory: twelve questions on what the course teaches, in which every wrong answer is a
//! misconception that somebody has; before and after a class, they tell a teacher what has changed. And an exam, whose answers are
//! numbers that a run counts.

use std::path::Path;

use anyhow::Result;
use common::basics::{output, workspace};

use crate::grade::{self, page::BEGIN};

pub const INVENTORY: &str = include_str!("../inventory.html");

/// In its key a question mark stands for each number: `<dt>1. ?</dt><dd>Why. <small>TERM of COMMAND</small></dd>`.
pub const EXAM: &str = include_str!("../exam.html");

/// Writes a paper, with the numbers that `computed` finds by a run for each command and term.
pub fn write(file: &Path, paper: &str, computed: impl Fn(&[String], &str) -> Result<String>) -> Result<()> {
    let mut page = BEGIN.to_owned();
    for line in paper.lines() {
        let run = line.split_once(". ?</dt>").and_then(|(_, why)| why.split_once("<small>")?.1.split_once(" of "));
        page += &match run.and_then(|(term, command)| Some((term, command.split_once("</small>")?.0))) {
            Some((term, command)) => {
                let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
                line.replacen('?', &computed(&words, term)?, 1)
            }
            None => line.to_owned(),
        };
        page.push('\n');
    }
    grade::write(file, BEGIN, &page)?;
    let questions = paper.matches("<dt>").count();
    output::print(&format!("{questions} questions, and the key behind them: {}\n", workspace::display(file)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    #[test]
    fn one_answer_is_right_and_the_others_say_where_a_belief_comes_from() {
        let mut right = [0; 4];
        for answers in INVENTORY.split("<dt>").skip(1) {
            let answers: Vec<&str> = answers.lines().filter(|line| line.starts_with("<dd>")).collect();
            let is_right = |answer: &&str| answer.contains("<b>right.</b>");
            assert!(answers.len() == 4 && answers.iter().filter(|answer| is_right(answer)).count() == 1, "{answers:?}");
            assert!(answers.iter().all(|answer| is_right(answer) != answer.contains("<small>")), "{answers:?}");
            right[answers.iter().position(is_right).unwrap()] += 1;
        }
        // Whoever always chooses one letter must not do well.
        assert!(right.iter().sum::<u32>() == 12 && right.iter().all(|&count| count >= 2), "{right:?}");
        assert_eq!(INVENTORY.matches("<ol type=A>").count(), 12);
    }

    #[test]
    fn occupancy_and_speed_of_the_inventory_are_those_that_a_gpu_has_measured() {
        let record = Record::read(&workspace::root().join("docs/results/h100.json")).unwrap();
        let at = record.size([4096; 3]).unwrap();
        let of = |kernel| (at.entry(kernel).unwrap().occupancy.clone().unwrap(), at.gflops(kernel).unwrap());
        let ((before, slow), (after, fast)) = (of("step04_tiled"), of("step05_thread_tile"));
        let [before, after] =
            [before, after].map(|of| (of.threads_per_block * of.blocks_per_sm, of.registers_per_thread));
        assert_eq!((before.0 / after.0, after.1, (fast / slow).round() as u32), (4, Some(128), 5));
    }
}
