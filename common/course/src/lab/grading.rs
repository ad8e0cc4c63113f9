//! What a lab asks of a kernel, line by line: right, free of hazards, and its counters as the lab wants them; at shapes that are
//! shown, and at hidden ones.

use crate::lab::candidate::Candidate;
use crate::lab::checklist::{Asked, Grade, Part, Until, Verdict, fill_in};
use crate::lab::data::Lab;
use crate::lab::goals;
use crate::lab::shapes::{hidden, names, smallest_ragged};

/// Grades a kernel.
pub fn grade<'a>(lab: &'a Lab, candidate: &'a Candidate, seed: u64, until: Until) -> Grade {
    let tasks = &lab.data.tasks;
    let mut asked: Vec<Asked<'a>> = vec![];
    let mut ask = |task, part, words: String, find: Box<dyn Fn() -> Verdict + 'a>| {
        asked.push(Asked { task, part, words, find });
    };
    ask(0, Part::Compiles, "compiles".into(), Box::new(|| candidate.compiles(&tasks[0].shapes)));
    for (number, task) in tasks.iter().enumerate() {
        if !task.shapes.is_empty() {
            let right = format!("right at {}", names(&task.shapes));
            ask(number, Part::Correct, right, Box::new(|| candidate.right(&task.shapes)));
            if let Some(random) = &task.hidden {
                let shapes = hidden(random, seed ^ (number as u64) << 32).into_iter().map(|shape| lab.shape(shape));
                let shapes: Vec<[u64; 3]> = shapes.collect();
                ask(number, Part::Correct, "right at hidden shapes".into(), Box::new(move || candidate.right(&shapes)));
            }
            let small = smallest_ragged(&task.shapes);
            let safe = format!("no hazard at {}", names(&small));
            ask(number, Part::Hazards, safe, Box::new(move || candidate.safe(&small)));
        }
        for goal in &task.goals {
            ask(number, Part::Counters, goal.words.clone(), Box::new(|| candidate.goal(goal)));
        }
        if let Some(speed) = &task.speed {
            ask(number, Part::Speed, goals::words(speed), Box::new(|| candidate.speed(speed)));
        }
    }
    Grade { seed, ..fill_in(tasks, asked, until) }
}
