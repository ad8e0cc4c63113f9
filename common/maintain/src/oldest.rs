//! The oldest Rust that the workspace states, beside what the locked versions of others' crates need.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use common::basics::{print, workspace};
use serde::Deserialize;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// None for one of ours.
    source: Option<String>,
    rust_version: Option<String>,
}

/// Prints the oldest Rust. Returns `false` if a locked crate needs a newer one.
pub fn check() -> Result<bool> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--locked", "--format-version", "1"]).current_dir(workspace::root());
    let output = cargo.output().context("cargo does not start; install Rust")?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo does not say which crates are locked: {}", log.trim());
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let (text, ok) = verdict(&metadata.packages)?;
    print(&text)?;
    Ok(ok)
}

/// A version as numbers that are compared; those left out are 0.
fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(u32::MAX));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}

fn verdict(packages: &[Package]) -> Result<(String, bool)> {
    let (ours, others): (Vec<&Package>, Vec<&Package>) = packages.iter().partition(|package| package.source.is_none());
    let stated =
        ours.iter().filter_map(|package| package.rust_version.as_deref()).min_by_key(|version| numbers(version));
    let stated = stated.context("Cargo.toml states no rust-version")?;
    let needs = |package: &Package| package.rust_version.as_deref().map_or([0; 3], numbers);
    let newer: Vec<String> = others
        .iter()
        .filter(|package| needs(package) > numbers(stated))
        .map(|package| {
            let needed = package.rust_version.as_deref().unwrap_or_default();
            format!(
                "{} {} needs Rust {needed}; lock an older version, or raise rust-version\n",
                package.name, package.version
            )
        })
        .collect();
    let count = others.len();
    let known = others.iter().filter(|package| package.rust_version.is_some()).count();
    let state = if newer.is_empty() { "none of them needs a newer one" } else { "these need a newer one:" };
    let text = format!("Rust {stated} is stated; of {count} locked crates {known} say what they need, and {state}\n");
    Ok((text + &newer.concat(), newer.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_crate_that_needs_a_newer_rust_is_named() {
        let package = |name: &str, source: Option<&str>, rust_version: Option<&str>| Package {
            name: name.into(),
            version: "1.2.3".into(),
            source: source.map(str::to_owned),
            rust_version: rust_version.map(str::to_owned),
        };
        let [registry, ours] = [Some("registry"), None];
        let mut all = vec![package("common", ours, Some("1.89")), package("old", registry, None)];
        all.push(package("same", registry, Some("1.89.0")));
        assert!(verdict(&all).unwrap().1);
        all.push(package("young", registry, Some("1.100")));
        let (text, ok) = verdict(&all).unwrap();
        assert!(!ok && text.contains("\nyoung 1.2.3 needs Rust 1.100; lock an older"), "{text}");
        assert!(verdict(&all[1..]).is_err());
    }
}
