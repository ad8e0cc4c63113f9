//! Verifies the step and its variants at many shapes, on every device there is.

#[allow(dead_code, reason = "the step's program begins there, the test at the driver")]
#[path = "../src/main.rs"]
mod host;

fn main() -> std::process::ExitCode {
    common::testing::run(&step02_gpu_naive::STEP, host::multiply)
}
