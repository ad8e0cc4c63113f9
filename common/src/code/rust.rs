//! What a kernel in Rust needs beside its text, and what it declares.

use anyhow::{Result, anyhow};
use compile::Headers;
use plan::Specialisation;

use crate::basics::{files, io_reason, workspace};

/// The shared arrays and the constants of a kernel in Rust, as CUDA C declarations: messages take the extents of arrays from them.
pub fn declarations(text: &str) -> String {
    let mut found = String::new();
    for code in text.lines().map(|line| line.split("//").next().unwrap_or_default().trim()) {
        if let Some(array) = code.strip_prefix("shared!(").and_then(|code| code.strip_suffix(");"))
            && let Some((name, extents)) = array.split_once(": Element, ")
        {
            found += &format!("__shared__ float {name}[{}];\n", extents.replace(", ", "]["));
        } else if let Some((name, value)) = code.strip_prefix("const ").and_then(|code| code.split_once(": u32 = ")) {
            found += &format!("const int {name} = {value}\n");
        }
    }
    found
}

/// The crate `host`: the element type, and the constants of a specialisation.
pub fn host(specialisation: &Specialisation) -> String {
    let text = format!("#![no_std]\npub type Element = {};\n", specialisation.dtype);
    let constants = specialisation.defines.iter().map(|(name, value)| format!("pub const {name}: u32 = {value};\n"));
    constants.fold(text, |text, constant| text + &constant)
}

/// The crate `gpu` that kernels in Rust use, treated like a header.
pub fn gpu() -> Result<Headers> {
    let file = workspace::root().join("common/gpu/src/lib.rs");
    let display = workspace::display(&file);
    let text = files::text(&file)
        .map_err(|error| anyhow!("{display} cannot be read ({}); bring it back with git", io_reason(&error)))?;
    Ok(vec![["gpu".into(), text, display]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_of_shared_arrays_are_known() {
        let text = "const EDGE: u32 = 4 * TILE; // rows\n    shared!(As: Element, EDGE, TILE + 1);\n";
        assert_eq!(declarations(text), "const int EDGE = 4 * TILE;\n__shared__ float As[EDGE][TILE + 1];\n");
    }
}
