//! Runs the step: `cargo run --release -p step05_thread_tile -- --help`.

fn main() -> std::process::ExitCode {
    common::run(&step05_thread_tile::STEP)
}
