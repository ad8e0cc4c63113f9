//! What a lab asks of a kernel, line by line: right, free of hazards, and its counters as the lab wants them; at shapes that are
//! shown, and at hidden ones.

use common::basics::progress::Progress;

use crate::lab::candidate::Candidate;
use crate::lab::checklist::{Grade, Part, Until, Verdict};
use crate::lab::data::Lab;
use crate::lab::goals;
use crate::lab::shapes::{hidden, names, smallest_ragged};

/// Grades a kernel.
pub fn grade(lab: &Lab, candidate: &Candidate, seed: u64, until: Until) -> Grade {
    let tasks = &lab.data.tasks;
    let mut grade = Grade::new(tasks, seed, until);
    let progress = Progress::new("grading, tasks", tasks.len() as u64);
    let mut ask =
        |task: usize, part: Part, words: String, find: &dyn Fn() -> Verdict| grade.ask(task, part, words, find);
    ask(0, Part::Compiles, "compiles".into(), &|| candidate.compiles(&tasks[0].shapes));
    for (number, task) in tasks.iter().enumerate() {
        if !task.shapes.is_empty() {
            let right = format!("right at {}", names(&task.shapes));
            ask(number, Part::Correct, right, &|| candidate.right(&task.shapes));
            if let Some(random) = &task.hidden {
                let shapes = hidden(random, seed ^ (number as u64) << 32).into_iter().map(|shape| lab.shape(shape));
                let shapes: Vec<[u64; 3]> = shapes.collect();
                ask(number, Part::Correct, "right at hidden shapes".into(), &|| candidate.right(&shapes));
            }
            let small = smallest_ragged(&task.shapes);
            ask(number, Part::Hazards, format!("no hazard at {}", names(&small)), &|| candidate.safe(&small));
        }
        for goal in &task.goals {
            ask(number, Part::Counters, goal.words.clone(), &|| candidate.goal(goal));
        }
        if let Some(speed) = &task.speed {
            ask(number, Part::Speed, goals::words(speed), &|| candidate.speed(speed));
        }
        progress.add(1);
    }
    grade
}
