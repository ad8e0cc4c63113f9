//! Tables in Markdown.

/// A Markdown table. The first column is aligned to the left, and columns of numbers to the right.
pub fn markdown(head: &[impl AsRef<str>], rows: &[Vec<String>]) -> String {
    let numeric = |column: usize| {
        let is_number = |cell: &&String| cell.starts_with(|first: char| first.is_ascii_digit() || first == '–');
        let numbers = rows.iter().filter_map(|row| row.get(column)).filter(is_number).count();
        column > 0 && numbers * 2 > rows.len()
    };
    let rule: Vec<&str> = (0..head.len()).map(|column| if numeric(column) { "--:" } else { "---" }).collect();
    let mut table = line(head) + &format!("|{}|\n", rule.join("|"));
    for row in rows {
        table += &line(row);
    }
    table
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
        let rows = vec![vec!["a|b".to_owned(), "1.5".to_owned()]];
        assert_eq!(markdown(&["x", "y"], &rows), "| x | y |\n|---|--:|\n| a\\|b | 1.5 |\n");
    }
}
