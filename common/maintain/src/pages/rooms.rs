//! The rooms of the house, each with the idea that its file's documentation begins with.

use anyhow::Result;
use common::basics::workspace;

use crate::house::{self, CRATES};
use common::basics::table::markdown;

/// A table for each crate: the file, its floor, its idea. The top floor comes first.
pub fn table() -> Result<String> {
    let mut text = String::new();
    for name in CRATES {
        let rooms = house::rooms(&workspace::root().join(name))?;
        let row = |(room, floor): (&house::Room, usize)| {
            let file = room.name.trim_start_matches("src/").trim_end_matches(".rs");
            vec![format!("`{file}`"), floor.to_string(), room.idea.clone()]
        };
        let rows: Vec<Vec<String>> = house::floors(&rooms).into_iter().rev().map(row).collect();
        let table = markdown(&["file", "floor", "what is in it"], &rows);
        text += &format!("### {name}\n\n{} files\n\n{table}\n", rooms.len());
    }
    Ok(text)
}
