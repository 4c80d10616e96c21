//! Markdown tables that are also readable as text.

use std::fmt;

/// A table: a head, rows, and cells that are padded to the width of their column.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns. The first is aligned to the left, the others to the right.
    pub fn new<'a>(head: impl IntoIterator<Item = &'a str>) -> Table {
        Table { rows: vec![head.into_iter().map(String::from).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| self.rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0).max(3)).collect();
        for (number, row) in self.rows.iter().enumerate() {
            for (column, &width) in widths.iter().enumerate() {
                let cell = row.get(column).map_or("", String::as_str);
                match column {
                    0 => write!(f, "| {cell:<width$} ")?,
                    _ => write!(f, "| {cell:>width$} ")?,
                }
            }
            writeln!(f, "|")?;
            if number == 0 {
                for (column, &width) in widths.iter().enumerate() {
                    let colon = if column == 0 { "-" } else { ":" };
                    write!(f, "|-{}{colon}", "-".repeat(width))?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

/// A number with commas: `1,234,567`.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A ratio: `12 x`, `1.5 x`.
pub fn ratio(ours: f64, theirs: f64) -> String {
    match theirs / ours {
        r if !r.is_finite() => "-".into(),
        r if r >= 10.0 => format!("{} x", number(r.round() as u64)),
        r => format!("{r:.1} x"),
    }
}
