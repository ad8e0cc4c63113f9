//! Runs the step: `cargo run --release -p step04_tiled -- --help`.

fn main() -> std::process::ExitCode {
    common::run(&step04_tiled::STEP)
}
