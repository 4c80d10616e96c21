//! Tables as libpq's `PQprint` draws them.
//!
//! ```text
//! id|name |n
//! --+-----+-
//!  1|alice|5
//!  2|bo   |
//! (2 rows)
//! ```
//!
//! A column is as wide as its longest value, in bytes. It stands to the left if any value in it does not look like a number,
//! and so does its name.

use std::fmt::Write;

use isolde_engine::StatementResult;

/// A result as a table; nothing if it has no columns.
pub(super) fn table(result: &StatementResult, out: &mut String) {
    if result.columns.is_empty() {
        return;
    }
    let cell = |value: &isolde_sql::Value| if value.is_null() { String::new() } else { value.to_string() };
    let rows: Vec<Vec<String>> = result.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let names: Vec<String> = result.columns.iter().map(|column| column.name.to_string()).collect();
    let columns: Vec<Column> = names.iter().enumerate().map(|(i, name)| Column::of(name, i, &rows)).collect();
    line(&columns, &names, out);
    let dashes: Vec<String> = columns.iter().map(|column| "-".repeat(column.width)).collect();
    let _ = writeln!(out, "{}", dashes.join("+"));
    rows.iter().for_each(|row| line(&columns, row, out));
    let plural = if rows.len() == 1 { "" } else { "s" };
    let _ = writeln!(out, "({} row{plural})\n", rows.len());
}

struct Column {
    width: usize,
    left: bool,
}

impl Column {
    fn of(name: &str, index: usize, rows: &[Vec<String>]) -> Column {
        let values = || rows.iter().filter_map(|row| row.get(index)).filter(|value| !value.is_empty());
        Column {
            width: values().map(String::len).fold(name.len(), usize::max),
            left: values().any(|value| !looks_numeric(value)),
        }
    }
}

fn looks_numeric(value: &str) -> bool {
    let plain = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'E' | b'e' | b' ' | b'-');
    value.bytes().all(plain) && !value.starts_with(['E', 'e']) && value.ends_with(|c: char| c.is_ascii_digit())
}

fn line(columns: &[Column], cells: &[String], out: &mut String) {
    for (i, (column, cell)) in columns.iter().zip(cells).enumerate() {
        if i > 0 {
            out.push('|');
        }
        let space = " ".repeat(column.width.saturating_sub(cell.len()));
        match column.left {
            true => out.extend([cell.as_str(), &space]),
            false => out.extend([&space, cell.as_str()]),
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_like_numbers() {
        for number in ["1", "-1.5", "2020-01-01", "1e5", " 7"] {
            assert!(looks_numeric(number), "{number}");
        }
        for other in ["t", "e5", "1.", "-", "10:00", "é1", "Infinity"] {
            assert!(!looks_numeric(other), "{other}");
        }
    }
}
