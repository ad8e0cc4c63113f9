//! Errors that are the kernel's own, and the exit status that tells them from all others.

use crate::analysis::HazardReport;
use crate::diagnostic::Diagnostic;

/// The kernel did something no kernel may do: exit status 1, like a wrong product.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct KernelFault {
    /// In one sentence.
    pub text: String,
    /// What happened, with thread and line, if the simulator found it.
    pub hazard: Option<HazardReport>,
    /// Where a launch was that a limit stopped.
    pub stopped: Option<Diagnostic>,
}

impl KernelFault {
    /// A fault of which only the sentence is known.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), hazard: None, stopped: None }
    }

    /// The picture with the kernel's lines, if the simulator found the place.
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        self.hazard.as_ref().map(|hazard| &hazard.diagnostic).or(self.stopped.as_ref())
    }

    /// The fault behind an error, if it is one.
    pub fn behind(error: &anyhow::Error) -> Option<&Self> {
        error.chain().find_map(|cause| cause.downcast_ref())
    }
}
