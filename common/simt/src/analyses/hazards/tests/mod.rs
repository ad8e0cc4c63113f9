//! The rules, driven by hand: accesses, copies, barriers and fences in a chosen order, and what is then reported.

mod driver;
mod kernels;
mod lanes;

/// `SIMT_BLESS=1` writes what is reported again, to be reviewed as a diff.
#[test]
fn rules() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/analyses/hazards/tests/rules.txt");
    let expected = std::fs::read_to_string(&path).unwrap();
    let mut found = String::new();
    for line in expected.lines().filter(|line| !line.starts_with(' ')) {
        found += &format!("{line}\n");
        if !line.is_empty() && !line.starts_with('#') {
            for hazard in driver::run(line) {
                found += &format!("    {hazard}\n");
            }
        }
    }
    if std::env::var_os("SIMT_BLESS").is_some() {
        return std::fs::write(&path, &found).unwrap();
    }
    for (number, (found, expected)) in (1..).zip(found.lines().zip(expected.lines())) {
        assert_eq!(found, expected, "rules.txt, line {number}");
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}
