//! What other programs use of `cargo simt`: the stand-in for the CUDA driver, built and put in the driver's place.

pub mod standin;
