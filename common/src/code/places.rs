//! Places in a kernel's source and threads of a launch: the lines of what was compiled, and words for both.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The texts that may be shown, by the names that line information gives them: those of kernels that were read, and of the
/// headers that came with them. Line information names what it likes, and nothing else of this machine is opened for it.
static TEXTS: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// Lets the lines of a text be shown.
pub fn may_be_shown(file: &str, text: &str) {
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner).insert(file.to_owned(), text.to_owned());
}

/// Lines of source files, read once each.
#[derive(Debug, Default)]
pub struct Sources(BTreeMap<String, Vec<String>>);

impl Sources {
    /// With a file that is on no disk.
    #[cfg(test)]
    pub fn with(file: &str, text: &str) -> Self {
        Self(BTreeMap::from([(file.to_owned(), text.lines().map(str::to_owned).collect())]))
    }

    /// All lines of a file; none if it may not be shown.
    pub fn lines(&mut self, file: &str) -> &[String] {
        self.0.entry(file.to_owned()).or_insert_with(|| {
            let texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
            texts.get(file).map(|text| text.lines().map(str::to_owned).collect()).unwrap_or_default()
        })
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
    fn only_what_was_read_is_shown() {
        may_be_shown("read.cu", "one\ntwo\n");
        assert_eq!(Sources::default().lines("read.cu"), ["one", "two"]);
        for file in ["/etc/passwd", "/dev/zero", "step02_gpu_naive/kernel.cu", "."] {
            assert!(Sources::default().lines(file).is_empty(), "{file}");
        }
    }
}
