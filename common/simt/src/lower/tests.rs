//! Tests what is known of a kernel before it runs. The cases are in `facts.txt`.

use crate::Module;

#[test]
fn facts() {
    for line in include_str!("facts.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (body, expected) = line.split_once(" = ").unwrap();
        let names = [("ATOM", "atom.global.add.u32 %r7, [%rd5], 1;"), ("STORE", "st.global.u32 [%rd6], %r2;")];
        let body = names.iter().fold(body.to_owned(), |body, (name, statement)| body.replace(name, statement));
        let text = include_str!("facts.ptx").replace("BODY", &body);
        let kernel = Module::parse(&text).and_then(|module| module.kernel("k")).unwrap();
        let is_store = |&number: &u32| kernel.location(number).instruction.contains("st.global");
        let store = (0..kernel.instruction_count()).rfind(is_store);
        let known = [
            ("communicates", kernel.code.communicates),
            // Each parameter points into a different array.
            ("meets", kernel.code.traffic.meets(|_, _| false)),
            ("decided", store.is_some_and(|number| kernel.code.facts[number as usize].decided != 0)),
        ];
        let found: Vec<&str> = known.into_iter().filter(|(_, holds)| *holds).map(|(word, _)| word).collect();
        assert_eq!(found.join(" "), expected.trim_start_matches("nothing"), "{line}");
    }
}
