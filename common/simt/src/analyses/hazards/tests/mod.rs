//! The rules, driven by hand: accesses, copies, barriers and fences in a chosen order, and what is then reported.

mod driver;
mod kernels;

#[test]
fn rules() {
    crate::analyses::testing::script("hazards/tests/rules.txt", include_str!("rules.txt"), driver::run);
}
