//! The learner's copy of a lab's starting kernel: made once, replaced only when they say yes, and never lost.

use std::io::{BufRead as _, Read as _};

use anyhow::{Result, ensure};
use common::basics::{output, workspace};

use crate::lab::data::Lab;
use crate::{files, mine};

/// Copies the start for a learner who has nothing yet, and says how to go on.
pub fn begin(lab: &Lab) -> Result<()> {
    let copy = lab.copy();
    // Another program may have created it a moment ago; anything but a file is in the way.
    let is_begun = files::create(&copy, &lab.begins_with()?.0)? || copy.is_file();
    ensure!(is_begun, "{} is there and is no file; move it away", workspace::display(&copy));
    begun(lab)
}

fn begun(lab: &Lab) -> Result<()> {
    let (copy, (_, start)) = (lab.copy(), lab.begins_with()?);
    let page = if lab.transfer.is_some() { &copy } else { &lab.page() };
    let (copy, page) = (workspace::display(&copy), workspace::display(page));
    let (tasks, command) = (&lab.data.tasks, lab.command());
    let text = format!(
        "{copy} is yours now, {start}\n\n  task 1 of {}: {}\n\n\
         {page} says what to do; edit the file, and have it graded:\n  \
         {command}            once\n  \
         {command} --watch    at each save\n  \
         {command} --hint     with a little help\n",
        tasks.len(),
        tasks[0].name,
    );
    output::print(&text)
}

/// Begins again if the learner agrees; the old file is kept under another name.
pub fn restart(lab: &Lab) -> Result<()> {
    let copy = lab.copy();
    if !copy.is_file() {
        return begin(lab);
    }
    let (copy_name, kept_name) = (workspace::display(&copy), workspace::display(&files::free_name(&copy)));
    output::print(&format!("{copy_name} becomes {kept_name}, and a new start takes its place; go on? [y/N] "))?;
    let mut answer = String::new();
    // Standard input may never end.
    std::io::stdin().lock().take(64).read_line(&mut answer).ok();
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        return output::print("nothing was changed\n");
    }
    // Another program may restart at the same time, and an editor may save at any time, so the present file is copied first.
    let _lock = files::lock(&mine::folder());
    let start = lab.begins_with()?.0;
    let kept = files::keep(&copy)?;
    // On a full disk the learner's file is where it was, and nowhere else.
    files::write(&copy, &start).inspect_err(|_| drop(std::fs::remove_file(&kept)))?;
    let kept = workspace::display(&kept);
    if kept != kept_name {
        output::print(&format!("{kept_name} has come to be meanwhile; your file is kept as {kept}\n"))?;
    }
    begun(lab)
}
