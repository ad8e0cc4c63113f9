//! The rules, driven by hand: accesses, copies, barriers and fences in a chosen order, and what is then reported.

mod driver;
mod global;
mod shared;
mod waiting;
