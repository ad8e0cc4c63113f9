//! What learners see, held as it is, in `outputs/`: what a program prints, and how it ends. `[..]` stands for what may differ.

use std::path::{Path, PathBuf};

use anyhow::Result;
use libtest_mimic::Trial;
use snapbox::assert_data_eq;

use super::{expected, program, root, sections, tests, trial};

/// The folder of small programs with one defect each; their PTX lies together in `fail.ptx`, beside this folder.
fn defects() -> PathBuf {
    root().join("common/simt/tests/corpus/fail")
}

/// Puts a program with a defect into a file of its own.
fn defect(name: &str) -> PathBuf {
    let programs = sections::read(&defects().with_extension("ptx"));
    let (_, ptx) = programs.into_iter().find(|(program, _)| program == name).unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("ptx");
    std::fs::write(&file, ptx).unwrap();
    // The source that PTX names is shown if it lies beside it.
    let source = defects().join(name).with_extension("cu");
    if source.is_file() {
        std::fs::copy(source, file.with_extension("cu")).unwrap();
    }
    file
}

/// What the program prints for a program with a defect.
fn of_defect(name: &str, arguments: &str) -> String {
    let file = defect(name);
    let (file, short) = (file.to_str().unwrap(), format!("{name}.ptx"));
    let inside = Path::new(file).strip_prefix(root()).map_or(file, |inside| inside.to_str().unwrap());
    printed(&format!("--kernel {file} {arguments}")).replace(file, &short).replace(inside, &short)
}

/// Runs the program on the simulator, in the folder of the programs with a defect: their PTX names its source so.
fn printed(arguments: &str) -> String {
    let words = arguments.split_whitespace();
    let output = program().args(["--device", "sim"]).args(words).current_dir(defects()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let status = output.status.code().unwrap();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let stderr = if stderr.is_empty() { stderr } else { format!("--- standard error\n{stderr}") };
    format!("$ step04_tiled --device sim {arguments}\n{stdout}{stderr}--- exit status {status}\n")
}

fn holds(name: &str, text: String) {
    assert_data_eq!(text, expected(&tests().join("program/outputs").join(name).with_extension("txt")));
}

/// Names of the files, and arguments.
const RUNS: [(&str, &str); 13] = [
    ("a_right_product", "--size 40x50x60 --fill integers --check"),
    ("a_race_within_a_block", "--size 64 --fill integers --variant no_first_barrier --check"),
    ("a_race_in_the_next_pass_of_a_loop", "--size 64 --fill integers --variant no_second_barrier --check"),
    ("out_of_bounds", "--size 65 --variant no_edges"),
    ("out_of_bounds_with_check", "--size 65 --variant no_edges --check"),
    ("help", "--help"),
    ("variants", "--list-variants"),
    ("json", "--size 40x50x60 --seed 7 --fill integers --json"),
    // What a harness outside of the course needs to launch the kernel by itself.
    ("a_plan", "--plan --size 40x50x60 --seed 7 --dtype i32"),
    ("a_plan_of_a_variant", "--plan --size 1x2048x4 --variant bands"),
    ("a_plan_of_a_learners_kernel", "--plan --size 64 --kernel ../../../../tests/mistakes/stride_of_a.cu"),
    ("no_plan", "--plan --size 33 --variant 1_multiples"),
    (
        "a_wrong_product_with_its_map",
        "--kernel ../../../../../step04_tiled/ptx/kernel-f32.sm75.ptx --size 70x200x32 --block 32,32 --tile 64,32 --fill integers",
    ),
];

pub fn trials() -> Vec<Trial> {
    let runs = RUNS.map(|(name, arguments)| {
        let run = move || {
            holds(name, printed(arguments));
            Ok(())
        };
        trial(&format!("outputs::{name}"), run)
    });
    let others = [trial("outputs::defects", programs_with_one_defect), trial("outputs::bad_usage", bad_usage)];
    runs.into_iter().chain(others).collect()
}

fn programs_with_one_defect() -> Result<()> {
    let race = "--size 1x32x1 --block 32,1 --tile 16,1 --fill integers --check";
    // Which block writes last is up to the host's threads, so the file leaves open what C holds.
    holds("a_race_between_blocks", of_defect("race_between_blocks", race));
    holds("a_divergent_barrier", of_defect("barrier_in_a_condition", "--size 1x32x1 --block 32,1 --check"));
    let uninitialised = "--size 1x32x1 --block 32,1 --fill integers --check";
    holds("uninitialised_shared", of_defect("uninitialised_shared", uninitialised));
    holds("an_unsupported_instruction", of_defect("unsupported_texture", "--size 32"));
    holds("an_instruction_limit", of_defect("endless_loop", "--size 32 --block 32,1 --instruction-limit 100000"));
    Ok(())
}

fn bad_usage() -> Result<()> {
    let usages =
        ["--size 12x", "--size 0", "--variant nonsense", "--block 8,8", "--kernel no/such/kernel.cu", "--frobnicate"];
    holds("bad_usage", usages.map(printed).join("\n"));
    Ok(())
}
