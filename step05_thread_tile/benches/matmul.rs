//! Benches the step at the sizes common to all steps.

fn main() -> std::process::ExitCode {
    common::measure::bench::run(&step05_thread_tile::STEP)
}
