//! Grades a learner's kernel on the simulator: right, free of hazards, and its counters as the lab asks.

use std::path::Path;

use anyhow::Result;

use crate::lab::candidate::Candidate;
use crate::lab::checklist::{Grade, Sheet};
use crate::lab::data::{Data, Lab, Task};
use crate::lab::shapes::{hidden, names, smallest_ragged};
use crate::lab::speed;

/// Grades a kernel. An error is a failure of the machinery (a missing NVRTC, say) and not of the kernel.
pub fn grade(lab: &Lab, kernel: &Path, seed: u64) -> Result<Grade> {
    let candidate = Candidate::read(&lab.step, kernel, seed)?;
    let (data, tasks) = (&lab.data, &lab.data.tasks);
    let hidden = hidden(&data.random, seed);
    let asked = tasks.iter().flat_map(|task| task.shapes.iter().chain(task.goals.iter().map(|goal| &goal.size)));
    let everything: Vec<[u64; 3]> = data.shapes.iter().chain(&hidden).chain(asked).copied().collect();
    candidate.plan_all(&everything)?;
    let mut sheet = Sheet::new(tasks, lines(data), seed);
    for (number, task) in tasks.iter().enumerate() {
        if number == 0 {
            sheet.ask(number, "compiles", || candidate.compiles(&data.shapes));
            sheet.ask(number, &format!("right at {}", names(&data.shapes)), || candidate.right(&data.shapes));
            sheet.ask(number, "right at hidden shapes", || candidate.right(&hidden));
            let small = smallest_ragged(&data.shapes);
            sheet.ask(number, &format!("no hazard at {}", names(&small)), || candidate.safe(&small));
        }
        if !task.shapes.is_empty() {
            sheet.ask(number, &format!("right at {}", names(&task.shapes)), || candidate.right(&task.shapes));
        }
        sheet.goals(number, &task.goals, |goal| candidate.goal(goal));
        if number == lab.last_required_task()
            && let Some(speed) = &data.speed
        {
            sheet.ask(number, &speed::words(speed), || candidate.speed(speed));
        }
    }
    Ok(sheet.grade)
}

/// How many lines the checklist will have: four for what every kernel must do, then each task's own.
fn lines(data: &Data) -> usize {
    let own = |task: &Task| usize::from(!task.shapes.is_empty()) + task.goals.len();
    4 + data.tasks.iter().map(own).sum::<usize>() + usize::from(data.speed.is_some())
}
