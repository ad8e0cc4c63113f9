//! Host drivers with a mistake in them, each as somebody would make it who edits a step's `main.rs` or the plan in its `lib.rs`: what is
//! said of it. `drivers.txt` has the texts. A mistake that options can make as well is answered in the same words.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};
use common::{Arg, Asked, DeviceInfo, Gpu, Launch, Plan, Problem, Report, Step, random_matrices};
use libtest_mimic::Trial;
use snapbox::assert_data_eq;

use super::outputs::said;
use super::{expected, program, root, trial};

/// The environment variable that names the mistake of the driver.
pub const MISTAKE: &str = "COMMON_TESTS_MISTAKE";

/// Runs a step's program with a mistake in its driver.
pub fn run(mistake: &OsString) -> ExitCode {
    let step = MISTAKES.iter().find(|(name, ..)| mistake == name).map_or(4, |(_, step, _)| *step);
    let step = if step == 3 { &step03_single_block::STEP } else { &step04_tiled::STEP };
    common::run(&Step { plan: if step.name.starts_with("step03") { plan_03 } else { plan_04 }, ..*step }, driver)
}

fn plan_03(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    Ok(changed((step03_single_block::STEP.plan)(problem, device)?, problem))
}

fn plan_04(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    Ok(changed((step04_tiled::STEP.plan)(problem, device)?, problem))
}

/// A step's plan with the mistake that the environment names, as if it were made in the step's `lib.rs`.
fn changed(mut plan: Plan, problem: &Problem) -> Plan {
    let launch = &mut plan.launches[0];
    match std::env::var(MISTAKE).unwrap_or_default().as_str() {
        "a grid rounded down" => launch.grid = [(problem.n / 32) as u32, (problem.m / 32) as u32, 1],
        "half the block in the plan" => launch.block = [32, 16, 1],
        "a block without threads" => launch.block = [32, 0, 1],
        "too large a block" => launch.block = [64, 32, 1],
        "B before A in the plan" => launch.args.swap(0, 1),
        "N before M" => launch.args.swap(3, 4),
        "A from its second element on" => launch.args[0] = Arg::A(1),
        "an argument too few" => drop(launch.args.pop()),
        "another entry" => launch.entry = "matmul_tiled".into(),
        "half the shared memory in the plan" => launch.shared_bytes /= 2,
        _ => {}
    }
    plan
}

/// The driver of steps 3 and 4, with the mistake that the environment names.
fn driver(asked: &Asked) -> Result<Report> {
    let mistake = std::env::var(MISTAKE)?;
    let mistake = mistake.as_str();
    let is = |name: &str| mistake == name;
    let mut gpu = Gpu::open(asked)?;
    let (problem, mut plan) = (gpu.problem(), gpu.plan()?);
    let launch = &mut plan.launches[0];
    match mistake {
        "a grid of one block" => launch.grid = [1, 1, 1],
        "half the block" => launch.block = [32, 16, 1],
        "K where N belongs" => launch.args[4] = launch.args[5],
        "half the shared memory" => launch.shared_bytes /= 2,
        "no shared memory" => launch.shared_bytes = 0,
        _ => {}
    }
    let mut matmul = gpu.compile(&plan)?;
    let (a, b) = random_matrices(&problem)?;

    let less = |name: &str| u64::from(is(name)) * 32;
    let gpu_a = gpu.allocate("A", problem.a_elements() - less("too little memory for A"))?;
    let gpu_b = gpu.allocate("B", problem.b_elements())?;
    let gpu_c = gpu.allocate("C", problem.c_elements() - less("too little memory for C"))?;
    match mistake {
        "A is not copied" => gpu.copy_to_device(&b, gpu_b)?,
        "B is copied to A" => gpu.copy_to_device(&a, gpu_a).and_then(|()| gpu.copy_to_device(&b, gpu_a))?,
        _ => gpu.copy_to_device(&a, gpu_a).and_then(|()| gpu.copy_to_device(&b, gpu_b))?,
    }
    let mut c = if is("C is copied back too early") { Some(gpu.copy_to_host(gpu_c)?) } else { None };
    for launch in plan.launches.iter().filter(|_| !is("no launch")) {
        if !is("shared memory is not allowed") {
            gpu.allow_shared_bytes(&mut matmul, launch.shared_bytes)?;
        }
        match mistake {
            "B before A in the launch" => gpu.launch(&matmul, launch, &[gpu_b, gpu_a, gpu_c])?,
            "C is not passed" => gpu.launch(&matmul, launch, &[gpu_a, gpu_b])?,
            "C before B in the launch" => gpu.launch(&matmul, launch, &[gpu_a, gpu_c, gpu_b])?,
            "the entry changes after compile" => {
                gpu.launch(&matmul, &Launch { entry: "other".into(), ..launch.clone() }, &[gpu_a, gpu_b, gpu_c])?;
            }
            _ => gpu.launch(&matmul, launch, &[gpu_a, gpu_b, gpu_c])?,
        }
    }
    if is("A is copied back") {
        c = Some(gpu.copy_to_host(gpu_a)?);
    }
    let c = c.map_or_else(|| gpu.copy_to_host(gpu_c), Ok)?;
    let verdict = match mistake {
        "A and B are exchanged in verify" => gpu.verify(&b, &a, &c)?,
        "B is verified as C" => gpu.verify(&a, &b, &b)?,
        _ => gpu.verify(&a, &b, &c)?,
    };
    let times = gpu.time(&verdict)?;
    gpu.report(verdict, times)
}

/// The mistakes, each with the number of the step in which it is made, and the options of the run.
const MISTAKES: [(&str, u32, &str); 30] = [
    ("none", 4, "--size 40x44x48 --check"),
    ("a grid rounded down", 4, "--size 40x44x48 --check"),
    ("a grid of one block", 4, "--size 40x44x48"),
    ("half the block", 4, "--size 40x44x48 --check"),
    ("half the block in the plan", 4, "--size 40x44x48 --check"),
    ("a block without threads", 4, "--size 40x44x48"),
    ("too large a block", 4, "--size 40x44x48"),
    ("B before A in the plan", 4, "--size 40x44x48 --check"),
    ("N before M", 4, "--size 40x44x48 --check"),
    ("K where N belongs", 4, "--size 40x44x48 --check"),
    ("A from its second element on", 4, "--size 40x44x48 --check"),
    ("an argument too few", 4, "--size 40x44x48"),
    ("another entry", 4, "--size 40x44x48"),
    ("half the shared memory", 3, "--size 16x16x32 --check"),
    ("half the shared memory in the plan", 3, "--size 16x16x32 --check"),
    ("no shared memory", 3, "--size 16x16x32"),
    ("shared memory is not allowed", 3, "--size 32x32x256"),
    ("too little memory for A", 4, "--size 40x44x48"),
    ("too little memory for C", 4, "--size 40x44x48 --check"),
    ("A is not copied", 4, "--size 40x44x48"),
    ("B is copied to A", 4, "--size 40x44x48"),
    ("C is copied back too early", 4, "--size 40x44x48"),
    ("no launch", 4, "--size 40x44x48 --check"),
    ("B before A in the launch", 4, "--size 40x44x48 --check"),
    ("C is not passed", 4, "--size 40x44x48"),
    ("C before B in the launch", 4, "--size 40x44x48 --check"),
    ("the entry changes after compile", 4, "--size 40x44x48"),
    ("A is copied back", 4, "--size 40x48x48"),
    ("A and B are exchanged in verify", 4, "--size 40x44x48"),
    ("B is verified as C", 4, "--size 40x44x48"),
];

pub fn trials() -> Vec<Trial> {
    vec![
        trial("a_mistake_in_a_driver_is_named", each),
        trial("a_mistake_that_an_option_can_make_is_answered_like_it", as_by_options),
    ]
}

/// What a driver with this mistake says.
fn answer(mistake: &str, step: u32, options: &str) -> String {
    let mut command = program();
    let name = if step == 3 { "step03_single_block" } else { "step04_tiled" };
    command.args(["--device", "sim"]).args(options.split(' ')).env(MISTAKE, mistake);
    shortened(&said(&format!("$ {name} --device sim {options}"), &mut command))
}

/// An answer without what every run has, and without the single elements.
fn shortened(text: &str) -> String {
    let mut told = String::new();
    let mut row = "";
    for line in text.lines() {
        let name = line.strip_prefix("  ").unwrap_or_default().split(' ').next().unwrap_or_default();
        row = if name.is_empty() && line.starts_with("    ") { row } else { name };
        if !["device", "problem", "kernel", "occupancy"].contains(&row) && !line.starts_with("             C[") {
            told += &format!("{line}\n");
        }
    }
    told
}

fn each() -> Result<()> {
    let answers = MISTAKES.map(|(mistake, step, options)| format!("# {mistake}\n\n{}", answer(mistake, step, options)));
    assert_data_eq!(answers.join("\n"), expected(&root().join("common/tests/program/drivers.txt")).raw());
    Ok(())
}

/// The step's kernel launched with another block, by its driver and by `--block`.
fn as_by_options() -> Result<()> {
    // What is found in a kernel of one's own is shown once, and without a remedy that was not tried.
    let of = |text: &str| {
        let lines = text.lines().skip_while(|line| !line.contains("launch "));
        let title = text.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
        lines.take_while(|line| !line.contains("HAZARDS")).chain([title]).collect::<Vec<_>>().join("\n")
    };
    let by_driver = answer("half the block in the plan", 4, "--size 40x44x48 --check");
    let mut command: Command = program();
    command.args(
        "--device sim --size 40x44x48 --check --no-trial --kernel kernel.cu --block 32,16 --tile 32,32".split(' '),
    );
    let by_options = shortened(&said("", &mut command));
    ensure!(of(&by_driver) == of(&by_options), "by the driver:\n{by_driver}\nby options:\n{by_options}");
    ensure!(by_driver.contains("WRONG"), "{by_driver}");
    Ok(())
}
