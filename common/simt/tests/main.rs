//! Tests of the library's public interface. They are all in one program, because every test program must be built and linked
//! separately. `cargo test -p simt-gpu --test main corpus::` runs the tests of one file.

mod by_hand;
mod control;
mod corpus;
mod counters;
mod instructions;
mod launch;
mod library;
mod marks;
mod products;
mod provenance;
mod robust;
mod sections;
mod steps;
mod verdicts;

/// Compares a text with a file. `SIMT_BLESS=1` regenerates the file, to be reviewed as a diff.
fn compare(name: &str, found: &str) {
    if std::env::var_os("SIMT_BLESS").is_some() {
        let old = std::fs::read_to_string(sections::path(name)).unwrap_or_default();
        return std::fs::write(sections::path(name), marks::kept(found, &old)).unwrap();
    }
    let recorded = marks::unmarked(&sections::text(name));
    for (number, (found, recorded)) in (1..).zip(found.lines().zip(recorded.lines())) {
        assert_eq!(found, recorded, "{name}, line {number}");
    }
    assert!(found == recorded, "{name} ends otherwise");
}
