//! Verifies the kernels beyond step 6 at many shapes, on every device there is.

fn main() -> std::process::ExitCode {
    common::testing::run_variants(&beyond::STEP)
}
