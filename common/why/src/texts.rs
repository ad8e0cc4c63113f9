//! The words of a finding about a product by their name; `texts.txt` has them.

use findings::diagnostic::{Word, text_of};

/// What happens, and what to do about it.
pub fn text(name: &str, words: &[Word]) -> [String; 2] {
    text_of(include_str!("texts.txt"), name, words)
}

/// Only what to do.
pub fn help(name: &str, words: &[Word]) -> String {
    let [_, help] = text(name, words);
    help
}
