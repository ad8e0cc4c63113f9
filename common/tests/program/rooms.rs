//! The rooms of `common` lie in an order, and each uses those below it alone.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::root;

/// The rooms from the top, as `common/src/lib.rs` says it.
const ROOMS: [&str; 8] = ["testing", "program", "measure", "verify", "device", "findings", "code", "basics"];

/// The rooms that a text names, in `use crate::ROOM` and in paths, comments aside.
fn named(text: &str) -> BTreeSet<&str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let after = code.flat_map(|line| line.split("crate::").skip(1));
    after.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()).collect()
}

/// The files of a folder and of those within it.
fn sources(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() { found.extend(sources(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

pub fn use_those_below_them() -> Result<()> {
    let folder = root().join("common/src");
    let mut seen = BTreeSet::new();
    for path in sources(&folder)? {
        let inside = path.strip_prefix(&folder)?;
        let first = inside.iter().next().and_then(|part| part.to_str()).unwrap_or_default().trim_end_matches(".rs");
        let Some(room) = ROOMS.iter().position(|room| *room == first) else {
            ensure!(first == "lib", "{} is in no room; add the room to ROOMS, in its place", inside.display());
            continue;
        };
        seen.insert(room);
        let text = std::fs::read_to_string(&path)?;
        for used in named(&text) {
            let place = ROOMS.iter().position(|known| *known == used);
            ensure!(
                place.is_some_and(|place| place >= room),
                "{} uses {used}, which is no room below {first}; move what it needs down, or itself up",
                inside.display()
            );
        }
    }
    ensure!(seen.len() == ROOMS.len(), "a room of {ROOMS:?} is gone; take it off the list");
    Ok(())
}
