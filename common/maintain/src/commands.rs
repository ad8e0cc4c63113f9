//! The commands that README and the book show: those of ```` ```sh ```` blocks are run, and must end as the page says.

use anyhow::{Context, Result, bail, ensure};
use common::basics::workspace;
use course::files::read;

use crate::{chapters, programs};

/// Commands that do not end as their page says, as `FILE: COMMAND: REASON`, and how many were tried.
pub fn failing() -> Result<(Vec<String>, usize)> {
    let (mut failing, mut tried) = (Vec::new(), 0);
    for path in chapters::all()? {
        // The workspace's own pages also show how to test, bench and install.
        let own = path.parent() == Some(workspace::root());
        for command in shown(&read(&path)?).into_iter().filter(|command| !own || is_ours(command)) {
            tried += 1;
            if let Err(error) = attempt(command.as_str()) {
                failing.push(format!("{}: {command}: {error:#}", workspace::display(&path)));
            }
        }
    }
    Ok((failing, tried))
}

/// The commands of a page's ```` ```sh ```` blocks.
fn shown(page: &str) -> Vec<String> {
    let mut inside = false;
    let mut commands = Vec::new();
    for line in page.lines() {
        match line.trim() {
            "```sh" => inside = true,
            fence if fence.starts_with("```") => inside = false,
            "" => {}
            command if inside => commands.push(command.to_owned()),
            _ => {}
        }
    }
    commands
}

/// Whether a command is of a kind that is tried.
fn is_ours(command: &str) -> bool {
    ["cargo run --release -p ", "cargo course"].iter().any(|start| command.starts_with(start))
}

/// Runs a command; it must end with the status that the page says (`# exit status N`), or else with 0.
fn attempt(line: &str) -> Result<()> {
    let (command, comment) = line.split_once('#').map_or((line, ""), |(command, comment)| (command, comment.trim()));
    let expected: i32 = match comment.strip_prefix("exit status ") {
        Some(status) => status.trim().parse().context("the exit status is not a number; write # exit status N")?,
        None => 0,
    };
    let words: Vec<&str> = command.split_whitespace().collect();
    let printed = match words.as_slice() {
        ["cargo", "run", "--release", "-p", step] => programs::output(step, &[])?,
        ["cargo", "run", "--release", "-p", step, "--", arguments @ ..] => programs::output(step, arguments)?,
        ["cargo", "course", arguments @ ..] => programs::output("course", arguments)?,
        _ => bail!("only cargo run --release -p STEP -- ... and cargo course ... are tried; use ```console for others"),
    };
    ensure!(
        printed.status == Some(expected),
        "it ends with {:?} and the page says {expected}: {}",
        printed.status,
        printed.stderr.trim()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_from_shell_blocks_only() {
        let page = "```sh\nrm -rf nothing\n```\n```console\ncargo frobnicate\n```\n";
        assert_eq!(shown(page), ["rm -rf nothing"]);
        assert!(attempt("rm -rf nothing").is_err());
    }

    #[test]
    fn a_command_must_end_as_the_page_says() {
        let command = "cargo run --release -p step03_single_block -- --size 1";
        attempt(command).unwrap();
        assert!(attempt(&format!("{command} # exit status 1")).is_err());
        assert!(attempt("cargo run --release -p step03_single_block -- --size none").is_err());
        attempt("cargo run --release -p step03_single_block -- --size none # exit status 2").unwrap();
    }
}
