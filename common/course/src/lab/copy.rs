//! The learner's copy of a lab's starting kernel: made once, replaced only when they say yes, and never lost.

use std::io::BufRead as _;

use anyhow::Result;
use common::basics::output;
use common::basics::workspace;

use crate::files;
use crate::lab::data::Lab;

/// Copies the start for a learner who has nothing yet, and says how to go on.
pub fn begin(lab: &Lab) -> Result<()> {
    let copy = lab.copy();
    files::write(&copy, &files::read(&lab.start())?)?;
    let (copy, start) = (workspace::display(&copy), workspace::display(&lab.start()));
    let (tasks, name) = (&lab.data.tasks, lab.name());
    let text = format!(
        "{copy} is yours now, a copy of {start}\n\n  task 1 of {}: {}\n\n\
         {} says what to do; edit the file, and have it graded:\n  \
         cargo course lab {name}            once\n  \
         cargo course lab {name} --watch    at each save\n  \
         cargo course lab {name} --hint     with a little help\n",
        tasks.len(),
        tasks[0].name,
        workspace::display(&lab.page())
    );
    output::print(&text)
}

/// Begins again, when the learner says yes; the old file stays beside the new one.
pub fn restart(lab: &Lab) -> Result<()> {
    let copy = lab.copy();
    if !copy.is_file() {
        return begin(lab);
    }
    let kept = files::free_name(&copy)?;
    let (copy_name, kept_name) = (workspace::display(&copy), workspace::display(&kept));
    output::print(&format!("{copy_name} becomes {kept_name}, and a new start takes its place; go on? [y/N] "))?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).ok();
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        return output::print("nothing was changed\n");
    }
    files::rename(&copy, &kept)?;
    begin(lab)
}
