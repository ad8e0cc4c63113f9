//! Tables of measured runs.

use common::basics::table;

/// A column: its head, and the cell of a row.
pub type Column<R> = (&'static str, fn(&R) -> String);

/// A table in Markdown.
pub fn of<'a, R: 'a>(rows: impl IntoIterator<Item = &'a R>, columns: &[Column<R>]) -> String {
    let cells = |row| columns.iter().map(|(_, cell)| cell(row)).collect();
    let rows: Vec<Vec<String>> = rows.into_iter().map(cells).collect();
    let head: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    table::markdown(&head, &rows)
}

/// A cell that may have nothing to show.
pub fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "–".to_owned())
}
