//! Calls that the simulator cannot follow: a recursive one, or one of a function that only a GPU's driver has. One sentence each,
//! with the learner's line.

use simt::Location;

use super::race::at;
use super::texts::help;

/// What to do about a call of the function of this name in the PTX.
pub fn call(function: &str, recursive: bool, location: &Location) -> String {
    let name = plain_name(function);
    let cause = match function {
        _ if recursive => "recursion",
        "malloc" | "free" => "memory of a kernel",
        _ if name.starts_with("__dp") => "function that is only declared",
        _ => "function that is not in the file",
    };
    help(cause, &[("line", at(location)), ("name", name.to_owned())])
}

/// The name as the source has it: `sum_of` for `_Z6sum_ofPKfi`.
fn plain_name(mangled: &str) -> &str {
    let Some(rest) = mangled.strip_prefix("_Z") else { return mangled };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let length: usize = rest[..digits].parse().unwrap_or(0);
    rest.get(digits..digits + length).filter(|name| !name.is_empty()).unwrap_or(mangled)
}
