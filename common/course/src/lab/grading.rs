//! Grades a learner's kernel on the simulator: right, free of hazards, and its counters as the lab asks.

use std::path::Path;

use anyhow::Result;

use crate::lab::candidate::Candidate;
use crate::lab::checklist::{Grade, Part, Sheet, Until};
use crate::lab::data::Lab;
use crate::lab::shapes::{hidden, names, smallest_ragged};
use crate::lab::speed;
use crate::lab::task::Task;

/// Grades a kernel. An error is a failure of the machinery (a missing NVRTC, say) and not of the kernel.
pub fn grade(lab: &Lab, kernel: &Path, seed: u64, instruction_limit: Option<u64>) -> Result<Grade> {
    let mut candidate = Candidate::read(lab, kernel, seed)?;
    candidate.instruction_limit = instruction_limit;
    fill_in(lab, &candidate, seed, Until::FirstFailure)
}

/// Fills in the checklist of a kernel.
pub fn fill_in(lab: &Lab, candidate: &Candidate, seed: u64, until: Until) -> Result<Grade> {
    let tasks = &lab.data.tasks;
    let hidden: Vec<Vec<[u64; 3]>> = (0_u64..)
        .zip(tasks)
        .map(|(number, task)| {
            task.hidden
                .iter()
                .flat_map(|random| hidden(random, seed ^ number << 32))
                .map(|shape| lab.shape(shape))
                .collect()
        })
        .collect();
    let mut sheet = Sheet::new(tasks, tasks.iter().map(lines).sum::<usize>() + 1, seed, until);
    sheet.ask(0, Part::Compiles, "compiles", || candidate.compiles(&tasks[0].shapes));
    for (number, (task, hidden)) in tasks.iter().zip(&hidden).enumerate() {
        if !task.shapes.is_empty() {
            sheet.ask(number, Part::Correct, &format!("right at {}", names(&task.shapes)), || {
                candidate.right(&task.shapes)
            });
            if !hidden.is_empty() {
                sheet.ask(number, Part::Correct, "right at hidden shapes", || candidate.right(hidden));
            }
            let small = smallest_ragged(&task.shapes);
            sheet.ask(number, Part::Hazards, &format!("no hazard at {}", names(&small)), || candidate.safe(&small));
        }
        sheet.goals(number, &task.goals, |goal| candidate.goal(goal));
        if let Some(speed) = &task.speed {
            sheet.ask(number, Part::Speed, &speed::words(speed), || candidate.speed(speed));
        }
    }
    Ok(sheet.finish(candidate.source.text.clone()))
}

/// How many lines a task has on the checklist, that of the compiler aside.
fn lines(task: &Task) -> usize {
    let right = if task.shapes.is_empty() { 0 } else { 2 + usize::from(task.hidden.is_some()) };
    right + task.goals.len() + usize::from(task.speed.is_some())
}
