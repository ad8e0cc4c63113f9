//! The path inside a step: each rung with what it adds to the kernel before it, in lines and in speed.

use anyhow::{Context, Result};
use course::difference;
use course::files::read;
use course::record::{CUBLAS, Record, SizeRecord};
use course::steps::{Kernel, Role, STEPS};

use super::timed::{Records, foremost, or_dash, source_of_step, tflops, wanted};
use common::basics::table;

/// The rungs and the kernels of the course in order.
fn kernels() -> Vec<Kernel> {
    let all = STEPS.iter().flat_map(|step| Kernel::of(step));
    all.filter(|kernel| matches!(kernel.role(), Role::Rung | Role::Step)).collect()
}

fn text(kernel: &Kernel) -> Result<String> {
    read(&kernel.file())
}

/// The rungs and the kernel of one step.
pub fn of_step(records: &Records, words: &[&str]) -> Result<String> {
    let own = words.first().context("name a step")?;
    let rungs: Vec<&str> =
        words.iter().filter_map(|word| word.strip_prefix("rungs:")).flat_map(|list| list.split(',')).collect();
    let record = foremost(records, Record::has_rungs);
    let cube = |size: &&SizeRecord| size.is_cube() && size.m.is_power_of_two() && wanted(words, size);
    let sizes: Vec<&SizeRecord> = record.iter().flat_map(|(_, record)| record.sizes.iter().filter(cube)).collect();
    let speed = |size: &SizeRecord, kernel: &str| or_dash(size.gflops(kernel), tflops);
    let mut rows = Vec::new();
    let kernels = kernels();
    for (at, kernel) in kernels.iter().enumerate() {
        let named = kernel.variant_name().unwrap_or("kernel");
        let is_wanted = rungs.is_empty() || rungs.contains(&named);
        if kernel.step.name != *own || !is_wanted {
            continue;
        }
        let before = at.checked_sub(1).map(|at| text(&kernels[at])).transpose()?.unwrap_or_default();
        let (gone, new) = difference::size(&before, &text(kernel)?);
        let mut row = vec![format!("`{}`", kernel.variant_name().unwrap_or("kernel")), format!("+{new} −{gone}")];
        row.extend(sizes.iter().map(|size| speed(size, &kernel.name())));
        rows.push(row);
    }
    let mut head = vec!["kernel".to_owned(), "lines of code".to_owned()];
    head.extend(sizes.iter().map(|size| format!("TFLOP/s at {}", size.words())));
    let Some((name, record)) = record else { return Ok(table::markdown(&head, &rows)) };
    let mut library = vec![CUBLAS.to_owned(), "–".to_owned()];
    library.extend(sizes.iter().map(|size| speed(size, CUBLAS)));
    rows.push(library);
    Ok(format!("{}\n{}", table::markdown(&head, &rows), source_of_step(name, record, own)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One idea at a time: what a kernel adds to the one before it fits a page, and so does the kernel.
    #[test]
    fn every_rung_is_short_and_adds_little() {
        let all = kernels();
        let texts: Vec<String> = all.iter().map(|kernel| text(kernel).unwrap()).collect();
        let kernels: Vec<String> = all.iter().map(Kernel::name).collect();
        for (at, (kernel, text)) in kernels.iter().zip(&texts).enumerate() {
            let before = at.checked_sub(1).map_or("", |at| &texts[at]);
            let (_, new) = difference::size(before, text);
            assert!((1..=45).contains(&new), "{kernel} adds {new} lines");
            assert!(text.lines().count() <= 100, "{kernel} has {} lines", text.lines().count());
            let wide = text.lines().find(|line| line.chars().count() > 100);
            assert!(wide.is_none(), "{kernel} has a line of more than 100 columns: {wide:?}");
        }
        assert!(kernels.len() >= 13, "{kernels:?}");
    }
}
