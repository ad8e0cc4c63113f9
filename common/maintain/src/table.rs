//! A table in Markdown.

/// A Markdown table; the first column to the left, numbers to the right.
pub fn markdown(head: &[String], rows: &[Vec<String>]) -> String {
    let escape = |cell: &String| cell.replace('|', "\\|");
    let line = |cells: &[String]| format!("| {} |\n", cells.iter().map(escape).collect::<Vec<_>>().join(" | "));
    let numeric = |column: usize| {
        let cell = |row: &Vec<String>| {
            row.get(column).is_some_and(|cell| cell.starts_with(|first: char| first.is_ascii_digit() || first == '–'))
        };
        column > 0 && !rows.is_empty() && rows.iter().filter(|row| cell(row)).count() * 2 > rows.len()
    };
    let rule: Vec<&str> = (0..head.len()).map(|column| if numeric(column) { "--:" } else { "---" }).collect();
    let mut table = line(head) + &format!("|{}|\n", rule.join("|"));
    for row in rows {
        table += &line(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_align_numbers_right() {
        let rows = vec![vec!["a|b".to_owned(), "1.5".to_owned()]];
        let table = markdown(&["x".to_owned(), "y".to_owned()], &rows);
        assert_eq!(table, "| x | y |\n|---|--:|\n| a\\|b | 1.5 |\n");
    }
}
