//! Verifies the step and its variants at many shapes, on every device there is.

fn main() -> std::process::ExitCode {
    common::testing::run(&step02_gpu_naive::STEP)
}
