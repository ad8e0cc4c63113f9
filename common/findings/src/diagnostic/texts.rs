//! The words of a finding by their name: that of its kind, or of its cause if a kind has several; `texts.txt` has them.

const TEXTS: &str = include_str!("texts.txt");

/// A name in braces, and what stands for it.
pub type Word = (&'static str, String);

/// The words with their names.
pub fn words<const COUNT: usize>(words: [(&'static str, impl ToString); COUNT]) -> [Word; COUNT] {
    words.map(|(name, word)| (name, word.to_string()))
}

/// What happens, and what to do about it.
pub fn text(name: &str, words: &[Word]) -> [String; 2] {
    text_of(TEXTS, name, words)
}

/// What another list of texts says of a name: what happens, and what to do about it.
pub fn text_of(texts: &str, name: &str, words: &[Word]) -> [String; 2] {
    let found = texts.split("\n\n").find_map(|part| {
        let (known, rest) = part.split_once('\n')?;
        let (happens, help) = rest.split_once('\n').filter(|_| known == name)?;
        Some([happens, help.trim_end()])
    });
    debug_assert!(found.is_some(), "the texts do not know {name:?}");
    let found = found.unwrap_or(["-", "look for the cause in the lines named here"]);
    let fill = |text: &str| {
        words.iter().fold(text.to_owned(), |text, (name, word)| text.replace(&format!("{{{name}}}"), word))
    };
    found.map(|text| if text == "-" { String::new() } else { fill(text) })
}

/// Only what to do, of the texts about hazards, faults and limits.
pub fn help(name: &str, words: &[Word]) -> String {
    let [_, help] = text(name, words);
    help
}

#[cfg(test)]
mod tests {
    use simt::HazardKind;

    use super::*;

    #[test]
    fn each_kind_of_hazard_has_its_text() {
        for kind in HazardKind::ALL {
            assert!(TEXTS.contains(&format!("\n\n{}\n", kind.name())), "{}", kind.name());
        }
        let words = [("one", "line 3".into()), ("two", "line 5".into())];
        let [happens, help] = text("atomic accesses of different widths", &words);
        assert!(happens.starts_with("is accessed") && help.starts_with("let line 3 and line 5 access"), "{help}");
    }
}
