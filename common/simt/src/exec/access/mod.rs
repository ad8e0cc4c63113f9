//! Memory: every request of a warp is checked (inside an array, aligned), shown to the observer, and then carried out,
//! lane by lane or at once.

mod atomics;
mod bulk;
mod copies;
mod elements;
mod generic;
mod global;
mod local;
mod matrix;
mod request;
mod shared;

pub(super) use atomics::atomic;
pub(super) use bulk::settle;
pub(super) use copies::{copy_async, land};
pub(super) use elements::sign_extend;
pub(super) use generic::generic;
pub(super) use global::{load_global, store_global};
pub(super) use local::{load_param, local};
pub(super) use matrix::matrix;
pub(super) use request::At;
pub(super) use shared::{bases, load_shared, show_run, store_shared};
