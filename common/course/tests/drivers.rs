//! The host drivers of the steps, each from its program's file.

#![allow(dead_code, reason = "the programs begin at main, a test at the driver")]

use std::ffi::OsStr;

use common::Step;
use common::program::{Driver, on_device};
use explorer::steps::BEYOND;

#[path = "../../../step01_cpu_naive/src/main.rs"]
mod step01;
#[path = "../../../step02_gpu_naive/src/main.rs"]
mod step02;
#[path = "../../../step03_single_block/src/main.rs"]
mod step03;
#[path = "../../../step04_tiled/src/main.rs"]
mod step04;
#[path = "../../../step05_thread_tile/src/main.rs"]
mod step05;
#[path = "../../../step06_prefetch/src/main.rs"]
mod step06;

/// A step, or what goes past the course, with its driver.
pub fn named(name: &OsStr) -> Option<(&'static Step, Driver)> {
    let drivers: [Driver; 6] =
        [step01::multiply, step02::multiply, step03::multiply, step04::multiply, step05::multiply, step06::multiply];
    // What goes past the course is step 6 with other variants, in a program of its own.
    let past = (name == "beyond").then_some((BEYOND, on_device as Driver));
    course::steps::STEPS.iter().copied().zip(drivers).find(|(step, _)| name == step.name).or(past)
}
