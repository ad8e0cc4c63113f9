//! Memory: every request of a warp is checked (inside an array, aligned), shown to the observer, and then carried out,
//! lane by lane or at once.

mod atomics;
mod copies;
mod matrix;
mod plain;
mod request;

pub(super) use atomics::atomic;
pub(super) use copies::{copy_async, land, settle};
pub(super) use matrix::matrix;
pub(super) use plain::{generic, load_global, load_param, load_shared, local, store_global, store_shared};
pub(super) use request::{Arrangement, At, Pattern, bases, show_run, sign_extend};
