//! The explorer's engine: a kernel runs, is recorded, and a page asks what it looked like at any time.
//!
//! It knows PTX, the steps and their plans, and matrices, but not how a page draws. [`engine::Engine`] answers requests in JSON, which
//! `INTERFACE.md` describes. For the target `wasm32-unknown-unknown` the crate is a module with a few exported functions (`wasm`);
//! everywhere else it is a library, for tests and for the course's programs.
//!
//! # How it is built
//!
//! [`planner`] plans the launches and `matrices` makes their data. `recorder` watches the launches through `simt`'s observer and writes a
//! `log`: every instruction that a warp executes, with the values that it wrote, their origins, and its effects. `state` applies the log
//! forwards; the tape keeps whole states now and then, so that no time is far from one. The other files answer requests from these.

#![allow(missing_docs, reason = "what has no sentence is said by its name, or by INTERFACE.md")]

pub mod answer;
pub mod engine;
mod hazard;
pub mod instructions;
mod log;
mod look;
pub mod matrices;
mod meaning;
pub mod names;
pub mod planner;
mod recorder;
pub mod request;
pub mod run;
mod state;
mod step;
pub mod steps;
mod strips;
#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code, reason = "functions of a module are exported by name, and memory is handed over by address")]
mod wasm;
