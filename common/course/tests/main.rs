//! The tests of the program `course`: it is run as a learner runs it.

mod attacks;
mod class;
mod drivers;
mod host;
mod labs;
mod mistakes;
mod outputs;
mod right;
mod support;
mod transfer;

use std::process::ExitCode;

use common::basics::workspace;
use libtest_mimic::Arguments;

fn main() -> ExitCode {
    if let Some(name) = std::env::var_os(support::STEP) {
        let (step, driver) = drivers::named(&name).expect("a test names a step");
        return common::run(step, driver);
    }
    // Where a learner stands: cargo starts tests in their package's folder.
    if let Err(error) = std::env::set_current_dir(workspace::root()) {
        eprintln!("the course's folder cannot be entered: {error}");
        return ExitCode::FAILURE;
    }
    let trials =
        [attacks::trials(), class::trials(), host::trials(), labs::trials(), outputs::trials(), transfer::trials()];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit_code()
}
