//! Generated parts of a page are between a comment that names the part and a comment that ends it.

use anyhow::{Context, Result, ensure};

const BEGIN: &str = "<!-- generated:";
const END: &str = "<!-- /generated -->";

/// The page with each generated part replaced by what `make` returns for the words of its marker.
pub fn replace(page: &str, mut make: impl FnMut(&[&str]) -> Result<String>) -> Result<String> {
    let mut fresh = String::new();
    let mut rest = page;
    while let Some(start) = rest.find(BEGIN) {
        let (before, marker) = rest.split_at(start);
        let close = marker.find("-->").context("a generated part's first line has no end; write -->")? + 3;
        let (head, body) = marker.split_at(close);
        let end = body.find(END).with_context(|| format!("{head} has no end; write {END} after it"))?;
        let words: Vec<&str> = head[BEGIN.len()..head.len() - 3].split_whitespace().collect();
        fresh += before;
        fresh += head;
        let part = make(&words).with_context(|| head.to_owned())?;
        // Otherwise the part would end there the next time, and the text after it would stay in the page for ever.
        ensure!(
            !part.contains(BEGIN) && !part.contains(END),
            "{head} makes a text with a marker in it; write the text otherwise"
        );
        fresh += &part;
        fresh += END;
        rest = &body[end + END.len()..];
    }
    Ok(fresh + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_without_an_end_and_a_part_with_a_marker_in_it_are_refused() {
        let whole = "<!-- generated:one --><!-- /generated -->";
        for (page, part, says) in [
            ("<!-- generated:one -->\n", "", "has no end"),
            ("<!-- generated:one ", "", "has no end"),
            (whole, BEGIN, "a marker in it"),
            (whole, END, "a marker in it"),
        ] {
            let error = replace(page, |_| Ok(part.to_owned())).unwrap_err().to_string();
            assert!(error.contains(says), "{page}: {error}");
        }
        assert!(replace("no part", |_| Ok(String::new())).is_ok());
    }
}
