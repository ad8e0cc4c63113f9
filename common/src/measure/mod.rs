//! How long a product takes, what it is compared with, and whether it fits.

pub mod baseline;
#[cfg(feature = "bench")]
pub mod bench;
pub mod capacity;
pub mod cost;
mod gpus;
mod host_product;
mod least_time;
pub mod timing;

pub use gpus::Gpu;
pub use host_product::{time_on_host, verify_on_host};
pub use least_time::{LeastTime, ResourceTime, of_product as least_time};
