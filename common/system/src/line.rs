//! Command lines: help that fits the terminal, what is wrong in one sentence with a remedy, and completions for shells.

use std::ffi::OsString;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Parser};

use crate::output;

/// Reads a program's arguments, the first of which is its name. From here on what it prints fits the terminal.
pub fn read<T: Parser>(arguments: impl IntoIterator<Item = OsString>) -> Result<T, clap::Error> {
    read_as(T::command(), arguments)
}

/// Reads arguments as a command that was changed after it was derived.
pub fn read_as<T: Parser>(command: Command, arguments: impl IntoIterator<Item = OsString>) -> Result<T, clap::Error> {
    output::fit(columns());
    let command = command.term_width(output::width().min(output::SENTENCE));
    command.try_get_matches_from(arguments).and_then(|matches| T::from_arg_matches(&matches))
}

/// The columns of standard output's terminal. If it is none, as many as the variable `COLUMNS` says, else the usual ones.
fn columns() -> usize {
    // Some terminals say that they have none.
    const LEAST: usize = 20;
    let terminal = terminal_size::terminal_size_of(std::io::stdout()).map(|(columns, _)| usize::from(columns.0));
    let asked = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.or_else(asked).filter(|&columns| columns >= LEAST).unwrap_or(output::COLUMNS)
}

/// Clap's error as one sentence with its remedy, and the exit status. `--help` and `--version` are returned as they are, with status 0.
pub fn sentence(error: &clap::Error) -> (String, u8) {
    let text = error.to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return (text, 0);
    }
    let paragraph: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let text = paragraph.join(" ");
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let remedy = match meant(error) {
        Some(meant) => format!("; did you mean {meant}?"),
        None if text.contains(';') => String::new(),
        None => "; --help shows what can be given".into(),
    };
    (format!("error: {text}{remedy}\n"), 2)
}

/// The verb, option or value that is written almost like what was given.
fn meant(error: &clap::Error) -> Option<String> {
    let kinds = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(word) => Some(word.clone()),
        ContextValue::Strings(words) => words.last().cloned(),
        _ => None,
    })
}

/// Prints completions of a program for a shell.
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    /// Prints them for the program of this name.
    pub fn print<T: Parser>(&self, name: &str) -> Result<bool> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut T::command().bin_name(name), name, &mut script);
        output::print_whole(&String::from_utf8_lossy(&script)).map(|()| true)
    }
}
