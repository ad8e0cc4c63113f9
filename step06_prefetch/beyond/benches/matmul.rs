//! Benches the kernels beyond step 6 at the sizes common to all steps.

fn main() -> std::process::ExitCode {
    common::measure::bench::run(&beyond::STEP)
}
