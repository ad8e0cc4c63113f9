//! Benches the step at the sizes common to all steps.

fn main() {
    common::bench::run(&step03_single_block::STEP);
}
