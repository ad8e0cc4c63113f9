//! Lowers a parsed program to the form that is executed.
//!
//! Calls are inlined, labels become instruction indices, registers become slots, constants become registers that are set once,
//! and every branch learns where its lanes reconverge. What the simulator does not support is refused here, before anything runs.

mod code;
mod decided;
mod decode;
mod emit;
mod facts;
mod flow;
mod follow;
pub mod inst;
mod layout;
mod linear;
pub mod matrix;
mod merging;
mod order;
mod places;
mod raw;
mod speculated;
mod ways;

use crate::error::Error;
use crate::parsed::Parsed;
pub use code::{Code, Facts, Flow, Home, Merged, ProductUse, RESERVED, Register, Role, Start, Way};
pub use decode::{COUNT_BITS, Form, forms};
pub use follow::flow;
pub use inst::{Index, LOCAL_WINDOW, Preset, SHARED_WINDOW, SharedLoad, Special};
pub use layout::SharedArray;
pub use matrix::WarpgroupProduct;
pub use order::{MemoryOrder, Scope};

/// Lowers the function with this number to a kernel that is ready to run.
pub fn lower(parsed: &Parsed, index: usize) -> Result<Code, Error> {
    let layout = layout::Layout::new(parsed, index)?;
    emit::emit(decode::decode(layout)?)
}
