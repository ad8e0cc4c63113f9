//! The words of a finding that follow from its kind alone; `texts.txt` has them.

const TEXTS: &str = include_str!("texts.txt");

/// What happens to the place of a finding of this kind, and what to do about it, with these words in place of their names.
pub fn of_kind(kind: &str, words: &[(&str, &str)]) -> (&'static str, String) {
    let mut parts = TEXTS.split("\n\n").map(|part| part.splitn(3, '\n').collect::<Vec<_>>());
    let found = parts.find_map(|part| match part[..] {
        [name, happens, help] if name == kind => Some((happens, help.trim_end())),
        _ => None,
    });
    // A kind that is newer than the file.
    let (happens, help) = found.unwrap_or(("-", "look for the cause in the lines named here"));
    let help = words.iter().fold(help.to_owned(), |text, (name, word)| text.replace(&format!("{{{name}}}"), word));
    (if happens == "-" { "" } else { happens }, help)
}

#[cfg(test)]
mod tests {
    use simt::HazardKind;

    use super::*;

    /// A kind is told by a text or, where it depends on more than the kind, by code.
    #[test]
    fn each_kind_of_hazard_has_its_text() {
        let by_code = [HazardKind::CopyNotWaited, HazardKind::CopyOverwritten, HazardKind::ExitBeforeBarrier];
        for kind in HazardKind::ALL.into_iter().filter(|kind| !by_code.contains(kind)) {
            assert!(TEXTS.contains(&format!("\n\n{}\n", kind.name())), "{}", kind.name());
        }
        let (happens, help) = of_kind("atomic accesses of different widths", &[("one", "line 3"), ("two", "line 5")]);
        assert!(happens.starts_with("is accessed") && help.starts_with("let line 3 and line 5 access"), "{help}");
    }
}
