//! Places in a kernel's source and threads of a launch: the lines as they are on the disk, and words for both.

use std::collections::BTreeMap;
use std::path::Path;

use crate::basics::workspace;

/// Reads source files once each.
#[derive(Debug, Default)]
pub struct Sources(BTreeMap<String, Vec<String>>);

impl Sources {
    /// With a file that is on no disk.
    #[cfg(test)]
    pub fn with(file: &str, text: &str) -> Self {
        Self(BTreeMap::from([(file.to_owned(), text.lines().map(str::to_owned).collect())]))
    }

    /// All lines of a file; none if it cannot be read.
    pub fn lines(&mut self, file: &str) -> &[String] {
        self.0.entry(file.to_owned()).or_insert_with(|| source_lines(file))
    }

    /// One line, counted from 1.
    pub fn line(&mut self, file: &str, line: u32) -> Option<&str> {
        let at = (line as usize).checked_sub(1)?;
        self.lines(file).get(at).map(String::as_str)
    }

    /// File, line and text of a place; the PTX's line and the instruction if there is no line information.
    pub fn place(&mut self, location: &simt::Location) -> (Option<String>, u32, String) {
        match (&location.file, location.line) {
            (Some(file), Some(line)) => {
                let text = self.line(file, line).map(|text| text.trim().to_owned());
                (Some(file.clone()), line, text.unwrap_or_else(|| location.instruction.clone()))
            }
            _ => (None, location.ptx_line, location.instruction.clone()),
        }
    }
}

/// Bytes that a file of a kernel may have. The largest PTX of the course has a hundredth of it.
pub const LARGEST: u64 = 32 << 20;

/// The text of a source file, which PTX or an `#include` may name as it likes; `None` if it is no such file. A pipe would be
/// waited for, and a device has no end.
pub fn source_text(path: &Path) -> Option<String> {
    let file = std::fs::metadata(path).ok()?;
    (file.is_file() && file.len() <= LARGEST).then(|| std::fs::read_to_string(path).ok())?
}

/// The lines of a source file as it is on the disk now.
fn source_lines(file: &str) -> Vec<String> {
    let inside = workspace::root().join(file);
    let path = if inside.is_file() { inside } else { Path::new(file).to_owned() };
    source_text(&path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// An index as reports hold it.
pub fn index(at: simt::Dim3) -> [u32; 3] {
    [at.x, at.y, at.z]
}

/// An index for people, without a z of 0.
pub fn triple([x, y, z]: [u32; 3]) -> String {
    if z == 0 { format!("({x},{y})") } else { format!("({x},{y},{z})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_no_source() {
        assert!(Sources::default().lines("step02_gpu_naive/kernel.cu").len() > 10);
        for file in ["/dev/zero", "nothing", "."] {
            assert!(Sources::default().lines(file).is_empty(), "{file}");
        }
    }
}
