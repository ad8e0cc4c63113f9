//! The words of a finding by the name of its kind, or of its cause if a kind has several; `texts.txt` has them.

const TEXTS: &str = include_str!("texts.txt");

/// What happens, and the rule that is behind it, with these words in place of their names in braces.
pub fn text(name: &str, words: &[(&'static str, String)]) -> [String; 2] {
    let found = TEXTS.split("\n\n").find_map(|part| {
        let (known, rest) = part.split_once('\n')?;
        let (happens, rule) = rest.split_once('\n').filter(|_| known == name)?;
        Some([happens, rule.trim_end()])
    });
    debug_assert!(found.is_some(), "the texts do not know {name:?}");
    let fill = |text: &str| {
        words.iter().fold(text.to_owned(), |text, (name, word)| text.replace(&format!("{{{name}}}"), word))
    };
    found.unwrap_or(["-", "-"]).map(|text| if text == "-" { String::new() } else { fill(text) })
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
        let [happens, rule] = text("misaligned access", &[("bytes", "16".into())]);
        assert_eq!((happens.as_str(), rule.contains("multiple of 16")), ("", true));
    }
}
