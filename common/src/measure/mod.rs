//! Measures how long a product takes, compares it with a baseline, and checks whether it fits.

pub mod baseline;
#[cfg(feature = "bench")]
pub mod bench;
pub mod capacity;
mod gpus;
mod host_product;
mod least_time;
pub mod provenance;
pub mod timing;

pub use baseline::Baseline;
pub use gpus::Gpu;
pub use host_product::{multiply_on_host, samples_on_host, time_on_host};
pub use least_time::{LeastTime, ResourceTime, of_product as least_time};
pub use timing::{Cache, L2, Spread, Timing, geometric_mean};

/// The sizes [M, N, K] on a GPU to which the claims of the course refer.
pub const GPU_SIZES: [[u64; 3]; 13] = [
    [32, 32, 128],
    [256; 3],
    [512; 3],
    [1024; 3],
    [2048; 3],
    [4096; 3],
    [8192; 3],
    [1000; 3],
    [1023, 1025, 1027],
    [4095; 3],
    [64, 8192, 1024],
    [8192, 64, 1024],
    [512, 512, 16_384],
];
