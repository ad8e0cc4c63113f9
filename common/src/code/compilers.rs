//! The compilers of this machine, looked for where the course puts them as well.

use std::path::PathBuf;

use anyhow::Result;
use compile::nvrtc::{self, Nvrtc};
use compile::rustc::{self, Rustc};

use crate::basics::workspace;

/// The virtual environment of the workspace, into which a learner installs what the course needs of Python's packages.
pub fn environments() -> [PathBuf; 1] {
    [workspace::root().join(".venv")]
}

/// NVRTC; it may also be in the virtual environment of the workspace.
pub fn find_nvrtc() -> Result<&'static Nvrtc> {
    nvrtc::find(&environments())
}

/// rustc for GPUs, as the workspace's toolchain file chooses it.
pub fn find_rustc() -> Result<&'static Rustc> {
    rustc::find(workspace::root())
}
