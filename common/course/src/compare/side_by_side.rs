//! Two saved comparisons side by side: another GPU, or before and after a change.

use crate::record::Record;

/// The second's speed over the first's, by kernel and size.
pub fn text(one: &Record, other: &Record) -> String {
    let mut text = format!("1: {}\n2: {}\n", one.provenance(), other.provenance());
    let mut names = one.names();
    names.extend(other.names().into_iter().filter(|name| !one.names().contains(name)));
    for name in names {
        let mut rows = String::new();
        for size in &one.sizes {
            let Some(twin) = other.size([size.m, size.n, size.k]) else { continue };
            if let (Some(first), Some(second)) = (size.gflops(name), twin.gflops(name)) {
                let ratio = second / first;
                rows += &format!("  {:>18}  {first:>10.1}  {second:>10.1} GFLOP/s  {ratio:.3} ×\n", size.words());
            }
        }
        let hash = |record: &Record| record.steps.iter().find(|step| step.name == name).map(|step| step.hash.clone());
        let changed = matches!((hash(one), hash(other)), (Some(a), Some(b)) if a != b);
        let note = if changed { " (another kernel)" } else { "" };
        if !rows.is_empty() {
            text += &format!("\n{name}{note}\n{rows}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::example;

    #[test]
    fn two_records_stand_side_by_side() {
        let (one, mut other) = (example(), example());
        other.steps[0].hash = "1".repeat(64);
        for sample in other.sizes[1].entries[1].samples_ms.iter_mut().flatten() {
            *sample /= 2.0;
        }
        let text = text(&one, &other);
        assert!(
            text.contains("step02_one (another kernel)") && text.contains("2.000 ×") && text.contains("1.000 ×"),
            "{text}"
        );
    }
}
