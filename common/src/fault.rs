//! Errors that are the kernel's own, and the exit status that tells them from all others.

use std::fmt;

/// The kernel did something no kernel may do: exit status 1, like a wrong product.
#[derive(Debug)]
pub struct KernelFault(pub String);

impl fmt::Display for KernelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KernelFault {}
