//! How a command knows a file again that it has written and nobody has changed: it carries a checksum of itself.

use std::path::Path;

use anyhow::Result;
use common::basics::mix::mix;

use crate::files;

/// Stands in a text for its checksum.
pub const SEAL: &str = "seal-0000000000000000";

const ELSEWHERE: &str = "if somebody has changed it, that would be lost, so choose another name";

/// Writes a text that begins like this and has a [`SEAL`], in place of nothing or of what this has written there.
pub fn write(file: &Path, begin: &str, text: &str) -> Result<()> {
    let sum = sum(text.trim_start_matches('\u{feff}'));
    files::replace(file, &text.replacen(SEAL, &sum, 1), |old| is_ours(begin, old), ELSEWHERE)
}

/// Fails if [`write`] would not replace what is there.
pub fn check(file: &Path, begin: &str) -> Result<()> {
    files::check_replaceable(file, |old| is_ours(begin, old), ELSEWHERE)
}

fn sum(text: &str) -> String {
    format!("seal-{:016x}", text.bytes().fold(1, |sum, byte| mix(sum ^ u64::from(byte))))
}

fn is_ours(begin: &str, old: &str) -> bool {
    let seal = old.strip_prefix(begin).and_then(|rest| rest.find(SEAL.split_at(5).0).map(|at| begin.len() + at));
    let Some(seal) = seal.and_then(|at| old.get(at..at + SEAL.len())) else { return false };
    sum(&old.replacen(seal, SEAL, 1)) == seal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_changed_by_hand_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("class.csv");
        let text = |row: &str| format!("\u{feff}name,points,{SEAL}\r\n{row}\r\n");
        let written = |row| write(&file, "name,", &text(row));
        written("ada,16").unwrap();
        written("ada,20").unwrap();
        assert!(check(&file, "name,").is_ok() && check(&file, "other,").is_err());
        let ours = std::fs::read_to_string(&file).unwrap();
        for theirs in [ours.replace("20", "19"), ours.clone() + "bob,3", ours.replace(",points", ",mark,points")] {
            std::fs::write(&file, &theirs).unwrap();
            let said = written("ada,20").unwrap_err().to_string();
            assert!(
                said.ends_with("choose another name") && std::fs::read_to_string(&file).unwrap() == theirs,
                "{said}"
            );
        }
        std::fs::write(&file, text("ada,16")).unwrap();
        assert!(written("ada,20").is_err());
    }
}
