//! Tests what is known of a kernel before it runs. The cases are in `facts.txt`.

use super::Code;
use crate::parsed::Parsed;
use crate::parser;

/// The file as read, and the code of its first kernel.
pub(super) fn lowered(text: &str) -> (Parsed, Code) {
    let parsed = parser::parse(text).and_then(|program| Parsed::new(0, text, program)).unwrap();
    let code = super::lower(&parsed, 0).unwrap();
    (parsed, code)
}

#[test]
fn facts() {
    for line in include_str!("facts.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (body, expected) = line.split_once(" = ").unwrap();
        let names = [("ATOM", "atom.global.add.u32 %r7, [%rd5], 1;"), ("STORE", "st.global.u32 [%rd6], %r2;")];
        let body = names.iter().fold(body.to_owned(), |body, (name, statement)| body.replace(name, statement));
        let (parsed, code) = lowered(&include_str!("facts.ptx").replace("BODY", &body));
        let store = code.facts.iter().rfind(|facts| parsed.text(facts.position).contains("st.global"));
        let known = [
            ("communicates", code.communicates),
            // Each parameter points into a different array.
            ("meets", code.traffic.meets(|_, _| false)),
            ("decided", store.is_some_and(|facts| facts.decided != 0)),
        ];
        let found: Vec<&str> = known.into_iter().filter(|(_, holds)| *holds).map(|(word, _)| word).collect();
        assert_eq!(found.join(" "), expected.trim_start_matches("nothing"), "{line}");
    }
}
