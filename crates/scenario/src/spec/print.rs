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
//! A column is as wide as its longest value, in bytes. It stands to the left if any value in it does not look like a
//! number, and so does its name.

use std::fmt::Write;

use isolde_sql::value::calendar::{Civil, DAY, HOUR, MINUTE, SECOND};
use isolde_sql::{Type, Value, builtin};

use super::Style;

/// A result as a table; nothing if it has no columns.
pub fn table(names: &[String], rows: &[Vec<String>], out: &mut String) {
    if names.is_empty() {
        return;
    }
    let columns: Vec<Column> = names.iter().enumerate().map(|(i, name)| Column::of(name, i, rows)).collect();
    line(&columns, names, out);
    let dashes: Vec<String> = columns.iter().map(|column| "-".repeat(column.width)).collect();
    let _ = writeln!(out, "{}", dashes.join("+"));
    rows.iter().for_each(|row| line(&columns, row, out));
    let plural = if rows.len() == 1 { "" } else { "s" };
    let _ = writeln!(out, "({} row{plural})\n", rows.len());
}

/// The values of a row as the server sends them.
pub(super) fn texts(row: &[Value], style: Style) -> Vec<String> {
    row.iter().map(|value| text(value, style)).collect()
}

/// A value as the server sends it.
fn text(value: &Value, style: Style) -> String {
    match (value, style) {
        (Value::Null, _) => String::new(),
        (Value::Date(days), Style::Regress) if !matches!(*days, i32::MIN | i32::MAX) => month_first(i64::from(*days)),
        (Value::Timestamp(micros), Style::Regress) if is_finite(*micros) => old_style(*micros, ""),
        (Value::Timestamptz(micros), Style::Regress) if is_finite(*micros) => {
            let local = in_california(value).unwrap_or(*micros);
            let zone = match (micros - local) / HOUR {
                7 => " PDT",
                8 => " PST",
                _ => " LMT",
            };
            old_style(local, zone)
        }
        _ => value.to_string(),
    }
}

fn is_finite(micros: i64) -> bool {
    !matches!(micros, i64::MIN | i64::MAX)
}

/// `02-29-2024`
fn month_first(days: i64) -> String {
    let Civil { year, month, day } = Civil::from_days(days);
    let (year, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    format!("{month:02}-{day:02}-{year:04}{era}")
}

/// `Thu Feb 29 12:30:00.5 2024 PST`
fn old_style(micros: i64, zone: &str) -> String {
    const DAYS: [&str; 7] = ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (days, time) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    let Civil { year, month, day } = Civil::from_days(days);
    let (year, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
    let (weekday, month) = (DAYS[days.rem_euclid(7) as usize], MONTHS[(month - 1).clamp(0, 11) as usize]);
    let (hours, minutes, seconds) = (time / HOUR, time % HOUR / MINUTE, time % MINUTE / SECOND);
    let fraction = match time % SECOND {
        0 => String::new(),
        rest => format!(".{rest:06}").trim_end_matches('0').to_string(),
    };
    format!("{weekday} {month} {day:02} {hours:02}:{minutes:02}:{seconds:02}{fraction} {year:04}{zone}{era}")
}

/// What clocks in California show at a moment.
fn in_california(moment: &Value) -> Option<i64> {
    let function = builtin::find("timezone", &[Type::Text, Type::Timestamptz])?;
    let builtin::Eval::Pure(timezone) = function.eval else { return None };
    match timezone(&[Value::text("America/Los_Angeles"), moment.clone()]) {
        Ok(Value::Timestamp(local)) => Some(local),
        _ => None,
    }
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
    fn dates_in_the_style_of_old() {
        let shown = |value| text(&value, Style::Regress);
        assert_eq!(shown(Value::Date(3278)), "12-22-2008");
        assert_eq!(shown(Value::Timestamp(0)), "Sat Jan 01 00:00:00 2000");
        assert_eq!(shown(Value::Timestamp(8825 * DAY + 12 * HOUR + 500_000)), "Thu Feb 29 12:00:00.5 2024");
        assert_eq!(shown(Value::Timestamptz(0)), "Fri Dec 31 16:00:00 1999 PST");
        assert_eq!(text(&Value::Date(3278), Style::Plain), "2008-12-22");
    }

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
