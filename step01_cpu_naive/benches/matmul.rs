//! Benches the step at the sizes common to all steps.

fn main() {
    common::bench::run(&step01_cpu_naive::STEP);
}
