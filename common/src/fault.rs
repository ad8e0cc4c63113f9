//! Errors that are the kernel's own, and the exit status that tells them from all others.

use std::fmt;

use crate::analysis::HazardReport;

/// The kernel did something no kernel may do: exit status 1, like a wrong product.
#[derive(Debug)]
pub struct KernelFault {
    /// In one sentence.
    pub text: String,
    /// The same with thread and line, where the simulator found it.
    pub hazard: Option<HazardReport>,
}

impl KernelFault {
    /// A fault of which no more is known than the sentence.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), hazard: None }
    }
}

impl fmt::Display for KernelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for KernelFault {}
