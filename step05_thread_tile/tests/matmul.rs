//! Verifies the step and its variants at many shapes, on every device there is.

fn main() -> std::process::ExitCode {
    common::testing::run(&step05_thread_tile::STEP)
}
