//! What is known of a kernel before it runs.

use ptx::ast::Item;
use ptx::lower::inst::{Op, Shape};
use ptx::lower::{Code, MemoryOrder, lower};
use ptx::parsed::Parsed;
use ptx::parser::parse;

/// The text as read, and the code of its first kernel.
fn lowered(text: &str) -> (Parsed, Code) {
    let parsed = parse(text).and_then(|program| Parsed::new(0, text, program)).unwrap();
    let code = lower(&parsed, 0).unwrap();
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

/// Each line has an opcode, the bytes within which other threads may conflict with it, its scope, and what else it does.
#[test]
fn orders_follow_from_the_words() {
    for line in include_str!("order.txt").lines() {
        let (opcode, expected) = line.split_once(": ").unwrap();
        let order = MemoryOrder::of(&opcode.split('.').map(str::to_owned).collect::<Vec<_>>());
        let MemoryOrder { strong, read_only, volatile, acquire, release, later, barrier, scope, .. } = order;
        let mut found = format!("{strong} {scope:?}");
        for (holds, word) in [
            (read_only, " read_only"),
            (volatile, " volatile"),
            (acquire, " acquire"),
            (release, " release"),
            (later, " later"),
            (order.proxy, " proxy"),
            (order.proxy_global, " proxy of global memory"),
            (barrier, " barrier"),
        ] {
            found += if holds { word } else { "" };
        }
        assert_eq!(found, expected, "{opcode}");
    }
}

/// Returns the accesses to shared memory that remain, in the assembler's notation.
fn accesses(ptx: &str) -> String {
    let (_, code) = lowered(ptx);
    let mut found = vec![];
    for inst in &code.insts {
        let operation = match inst.op {
            Op::LdShared => "LDS",
            Op::StShared => "STS",
            _ => continue,
        };
        let shape = Shape::unpack(inst.sub);
        let merged = code.facts[inst.pc as usize].merged;
        let Some((bytes, _)) = merged.piece(shape.bytes * shape.count) else { continue };
        found.push(match bytes {
            4 => operation.to_owned(),
            2 => format!("{operation}.U16"),
            _ => format!("{operation}.{}", 8 * bytes),
        });
    }
    found.sort();
    found.join(" ")
}

/// Compares the merged accesses of each kernel with the assembler's own output.
#[test]
fn the_same_accesses_as_the_assembler() {
    let text = include_str!("../../tests/counters/merging.txt");
    let mut sections = text.split("\n//// ").skip(1);
    let (_, program) = sections.next().and_then(|section| section.split_once('\n')).unwrap();
    let (mut differences, mut kernels, mut merged) = (vec![], 0, 0);
    for section in sections {
        let (title, body) = section.split_once('\n').unwrap();
        let (name, assembled) = title.split_once(" = ").unwrap();
        let (mut declarations, body): (String, String) =
            body.lines().map(|line| format!("{line}\n")).partition(|line| line.starts_with('.'));
        if declarations.is_empty() {
            declarations += ".shared .align 4 .b8 s[16384];\n";
        }
        let found = accesses(&program.replace("DECLARATIONS\n", &declarations).replace("BODY\n", &body));
        kernels += 1;
        merged += usize::from(found.contains("64") || found.contains("128"));
        if found != assembled {
            differences.push(format!("{name}: {found}, but the assembler makes {assembled}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(kernels > 70 && merged > 40, "{kernels} kernels, {merged} with merged accesses");
}

/// Returns the file, the line and the column of an instruction after each of these texts after `.loc`.
fn places<const N: usize>(locs: [&str; N]) -> [(u32, u32, u32); N] {
    let body = locs.map(|loc| format!(".loc {loc}\nmembar.cta;\n")).concat();
    let program = parse(&format!(".version 8.0\n.target sm_75\n.address_size 64\n.entry k()\n{{\n{body}}}\n")).unwrap();
    let places = program.functions[0].body.iter().filter_map(|item| match item {
        Item::Statement(statement) => Some(statement.position),
        _ => None,
    });
    places.map(|at| (at.file, at.line, at.column)).collect::<Vec<_>>().try_into().unwrap()
}

#[test]
fn what_a_header_does_is_done_by_the_line_that_calls_it() {
    let found = places([
        "1 69 5",
        "1 50 17, function_name $L0, inlined_at 1 69 5", // a function of the same file, so its own line is more helpful
        "2 8 5, function_name $L1, inlined_at 1 50 17",
        "3 4 1, function_name $L2+8, inlined_at 2 8 5", // a header that is used by another one
        "1 50 17, function_name $L0, inlined_at 1 70 5",
        "2 8 5", // a function of a header that was not inlined
    ]);
    assert_eq!(found, [(1, 69, 5), (1, 50, 17), (1, 50, 17), (1, 50, 17), (1, 50, 17), (2, 8, 5)]);
}

#[test]
fn calls_in_a_circle_end() {
    let found = places(["4 1 1, function_name $L0, inlined_at 5 2 2", "5 2 2, function_name $L0, inlined_at 4 1 1"]);
    assert_eq!(found[0], (5, 2, 2));
    assert!([(4, 1, 1), (5, 2, 2)].contains(&found[1]));
}
