//! How many elements of B one copy brings.

use plan::{DeviceInfo, Dtype, Problem};

/// Elements of B in one copy: with N a multiple of 4 every row starts on 16 bytes. Integers are committed once, in the form
/// that takes any N.
pub fn vector(problem: &Problem, device: &DeviceInfo) -> u32 {
    if problem.n.is_multiple_of(4) && (problem.dtype == Dtype::F32 || device.compiles) { 4 } else { 1 }
}
