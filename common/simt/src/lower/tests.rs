//! Tests what is known of a kernel before it runs. The cases are in `facts.txt`.

use crate::Module;

#[test]
fn facts() {
    for line in include_str!("facts.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (body, expected) = line.split_once(" = ").unwrap();
        let body = body.replace("ATOM", "atom.global.add.u32 %r7, [%rd5], 1;");
        let text = format!(
            ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b) {{
            .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; .shared .u32 s;
            ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; cvta.to.global.u64 %rd3, %rd1;
            mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd3, %rd4; add.s64 %rd6, %rd2, %rd4;
            {} ret; }}",
            body.replace("STORE", "st.global.u32 [%rd6], %r2;")
        );
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
