//! How long a product takes, what it is compared with, and whether it fits.

pub mod baseline;
#[cfg(feature = "bench")]
pub mod bench;
pub mod capacity;
pub mod cost;
pub mod timing;
