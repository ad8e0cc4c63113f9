//! Tests of the library's public interface. They are all in one program, because every test program must be built and linked
//! separately. `cargo test -p simt-gpu --test main corpus::` runs the tests of one file.

mod by_hand;
mod control;
mod corpus;
mod counters;
mod instructions;
mod launch;
mod library;
mod products;
mod provenance;
mod robust;
mod sections;
mod steps;
mod verdicts;

/// Compares a text with a file. `SIMT_BLESS=1` regenerates the file, to be reviewed as a diff.
fn compare(name: &str, found: &str) {
    if std::env::var_os("SIMT_BLESS").is_some() {
        return std::fs::write(sections::path(name), found).unwrap();
    }
    let recorded = sections::text(name);
    for (number, (found, recorded)) in (1..).zip(found.lines().zip(recorded.lines())) {
        assert_eq!(found, recorded, "{name}, line {number}");
    }
    assert!(found == recorded, "{name} ends otherwise");
}
