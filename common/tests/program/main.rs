//! Tests of what the steps' programs print and how they end, on step 4; of messages about wrong kernels; and those on a GPU.
//!
//! `SNAPSHOTS=overwrite cargo test -p common --test program` writes the outputs again; read the diff before you commit it.

mod command_line;
mod diagnostics;
mod drivers;
mod gpu;
#[path = "../../simt/tests/launch.rs"]
mod launch;
mod mistakes;
mod outputs;
mod repairs;
mod rust;
#[path = "../../simt/tests/sections/mod.rs"]
mod sections;
#[allow(dead_code, reason = "the step's program begins there, the test at the driver")]
#[path = "../../../step04_tiled/src/main.rs"]
mod step04;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use common::basics::workspace::root;
use findings::places::may_be_shown;
use libtest_mimic::{Arguments, Trial};
use snapbox::data::DataFormat;
use snapbox::{Data, assert_data_eq};

/// The environment variable with which this program runs step 4.
const STEP: &str = "COMMON_TESTS_STEP";

fn main() -> ExitCode {
    if let Some(mistake) = std::env::var_os(drivers::MISTAKE) {
        return drivers::run(&mistake);
    }
    // rustc is started without this program's environment.
    if std::env::var_os(STEP).is_some() || std::env::args().nth(1).as_deref() == Some("--rustc-for-its-parent") {
        return common::run(&step04_tiled::STEP, step04::multiply);
    }
    let arguments = Arguments::from_args();
    let all = [
        command_line::trials(),
        drivers::trials(),
        outputs::trials(),
        gpu::trials(),
        rust::trials(),
        repairs::trials(),
        vec![
            trial("each_mistake_is_named_with_its_line_and_its_remedy", mistakes::each),
            trial("every_defect_is_shown_with_its_lines_and_its_remedy", diagnostics::every),
        ],
    ];
    libtest_mimic::run(&arguments, all.into_iter().flatten().collect()).exit_code()
}

fn trial(name: &str, test: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name, move || test().map_err(|error| format!("{error:#}").into()))
}

/// Trials that need something; they are shown as ignored if it is missing.
fn needing(what: &str, found: Result<()>, trials: impl IntoIterator<Item = Trial>) -> Vec<Trial> {
    let missing = found.err().map(|error| format!("needs {what}: {error:#}"));
    let shown = |trial: Trial| match &missing {
        Some(missing) => trial.with_kind(missing.clone()).with_ignored_flag(true),
        None => trial,
    };
    trials.into_iter().map(shown).collect()
}

/// Step 4's program, in the step's folder.
fn program() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.env(STEP, "").current_dir(root().join("step04_tiled"));
    // The test wants no colours, even if the environment forces them.
    command.env_remove("CLICOLOR_FORCE");
    command
}

/// A separate folder for a test.
fn folder(name: &str) -> Result<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Compares the messages about each program with a file that has them below the program's name. The PTX of all programs is in one
/// file beside the folder of their sources. One folder after the other: some names are in both, and each name has one text at a time.
fn said_of_each(folder: &Path, file: &str, said: impl Fn(&str, &str, &str) -> String) -> Result<()> {
    static TEXTS: Mutex<()> = Mutex::new(());
    let _alone = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut text = String::new();
    for (name, ptx) in sections::read(folder.with_extension("ptx")) {
        let source = std::fs::read_to_string(folder.join(&name).with_extension("cu")).unwrap_or_default();
        may_be_shown(&format!("{name}.cu"), &source);
        text += &format!("# {name}\n\n{}\n", said(&name, &ptx, &source));
    }
    assert_data_eq!(text, expected(&root().join("common/tests").join(file)).raw());
    Ok(())
}

/// The text of a file; `[..]` in it matches any text.
fn expected(file: &Path) -> Data {
    Data::read_from(file, Some(DataFormat::Text))
}
