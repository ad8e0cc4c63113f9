//! Tables in Markdown.

/// A Markdown table. The first column is aligned to the left, and columns of numbers to the right.
pub fn markdown(head: &[impl AsRef<str>], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let numeric = |column: usize| {
        let is_number = |cell: &&String| cell.starts_with(|first: char| first.is_ascii_digit() || first == '–');
        let numbers = rows.iter().filter_map(|row| row.get(column)).filter(is_number).count();
        column > 0 && numbers * 2 > rows.len()
    };
    let rule: Vec<&str> = (0..head.len()).map(|column| if numeric(column) { "--:" } else { "---" }).collect();
    let mut table = line(head) + &format!("|{}|\n", rule.join("|"));
    table.extend(rows.iter().map(|row| line(row)));
    table
}

/// A cell that may have nothing to show.
pub fn or_dash<T>(value: Option<T>, words: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), words)
}

fn line(cells: &[impl AsRef<str>]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.as_ref().replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_align_numbers_right() {
        let row = ["a|b", "1.5"].map(str::to_owned).to_vec();
        assert_eq!(markdown(&["x", "y"], [row]), "| x | y |\n|---|--:|\n| a\\|b | 1.5 |\n");
    }
}
