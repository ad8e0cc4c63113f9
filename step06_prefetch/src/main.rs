//! Runs the step: `cargo run --release -p step06_prefetch -- --help`.

fn main() -> std::process::ExitCode {
    common::run(&step06_prefetch::STEP)
}
