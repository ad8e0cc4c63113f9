//! Runs the step: `cargo run --release -p step03_single_block -- --help`.

fn main() -> std::process::ExitCode {
    common::run(&step03_single_block::STEP)
}
