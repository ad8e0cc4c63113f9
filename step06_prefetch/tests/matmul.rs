//! Verifies the step and its variants at many shapes, on every device there is.

fn main() -> std::process::ExitCode {
    common::testing::run(&step06_prefetch::STEP)
}
