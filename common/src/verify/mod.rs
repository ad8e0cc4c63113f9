//! Verification of a product on a device: the room that knows both, so that verification itself, the crate `verify`,
//! knows no device.

pub mod on_device;

pub use ::verify::*;
