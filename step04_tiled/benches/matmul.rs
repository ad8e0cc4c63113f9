//! Benches the step at the sizes common to all steps.

fn main() {
    common::bench::run(&step04_tiled::STEP);
}
