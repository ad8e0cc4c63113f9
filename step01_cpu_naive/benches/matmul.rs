//! Benches the step at the sizes common to all steps.

fn main() -> std::process::ExitCode {
    common::measure::bench::run(&step01_cpu_naive::STEP)
}
