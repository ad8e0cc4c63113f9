//! Benches the step at the sizes common to all steps.

fn main() -> std::process::ExitCode {
    common::measure::bench::run(&step02_gpu_naive::STEP)
}
