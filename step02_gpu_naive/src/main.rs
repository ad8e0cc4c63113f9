//! Runs the step: `cargo run --release -p step02_gpu_naive -- --help`.

fn main() -> std::process::ExitCode {
    common::run(&step02_gpu_naive::STEP)
}
