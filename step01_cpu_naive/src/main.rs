//! Runs the step: `cargo run --release -p step01_cpu_naive -- --help`.

fn main() -> std::process::ExitCode {
    common::run(&step01_cpu_naive::STEP)
}
