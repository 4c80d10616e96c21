//! How databases differ.
//!
//! One list for everything in which the dialects do not agree; everything else is written once. The traps are those
//! that were met: shift counts of PostgreSQL are 32 bits, `/` of DuckDB and Spark is not a division of integers, Spark
//! has functions for shifts, and only some count bits.

use std::fmt::Write;

use isolde_wire::quote;

/// A way to write SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// SQLite 3.35 and later.
    Sqlite,
    /// PostgreSQL 14 and later.
    Postgres,
    /// DuckDB.
    Duckdb,
    /// Spark SQL 3.5 and later.
    Spark,
}

impl Dialect {
    /// Every dialect, by name.
    pub const ALL: [(&'static str, Dialect); 4] = [
        ("sqlite", Dialect::Sqlite),
        ("postgres", Dialect::Postgres),
        ("duckdb", Dialect::Duckdb),
        ("spark", Dialect::Spark),
    ];

    /// `value << count`
    pub fn shift_left(self, value: &str, count: &str) -> String {
        match self {
            Dialect::Sqlite | Dialect::Duckdb => format!("({value} << {count})"),
            Dialect::Postgres => format!("({value} << ({count})::int)"),
            Dialect::Spark => format!("shiftleft({value}, CAST({count} AS INT))"),
        }
    }

    /// `value >> count`, of a value that is not negative
    pub fn shift_right(self, value: &str, count: &str) -> String {
        match self {
            Dialect::Sqlite | Dialect::Duckdb => format!("({value} >> {count})"),
            Dialect::Postgres => format!("({value} >> ({count})::int)"),
            Dialect::Spark => format!("shiftright({value}, CAST({count} AS INT))"),
        }
    }

    /// `a / b` of integers that are not negative
    pub fn divide(self, a: &str, b: &str) -> String {
        match self {
            Dialect::Sqlite | Dialect::Postgres => format!("({a} / {b})"),
            Dialect::Duckdb => format!("({a} // {b})"),
            Dialect::Spark => format!("({a} div {b})"),
        }
    }

    /// How many of the lowest bits are 1.
    pub fn pop_count(self, value: &str, bits: u32) -> String {
        match self {
            Dialect::Postgres => format!("bit_count(({value})::bit(64))"),
            Dialect::Duckdb | Dialect::Spark => format!("CAST(bit_count({value}) AS BIGINT)"),
            // It counts no bits. Few are added one by one; of many, first every second to its neighbour, then every
            // fourth.
            Dialect::Sqlite if bits <= 12 => {
                let bit = |bit: u32| format!("({value} >> {bit} & 1)");
                format!("({})", (0..bits.max(1)).map(bit).collect::<Vec<_>>().join(" + "))
            }
            Dialect::Sqlite => format!(
                "(SELECT (d + (d >> 8) + (d >> 16) + (d >> 24) + (d >> 32) + (d >> 40) + (d >> 48) + (d >> 56)) & 127 FROM \
                 (SELECT c + (c >> 4) & 1085102592571150095 AS d FROM \
                 (SELECT (b & 3689348814741910323) + (b >> 2 & 3689348814741910323) AS c FROM \
                 (SELECT a - (a >> 1 & 6148914691236517205) AS b FROM (SELECT {value} AS a)))))"
            ),
        }
    }

    /// A number; the least of all has no digits of its own.
    pub fn number(self, value: i64) -> String {
        match value {
            i64::MIN => format!("({} - 1)", i64::MIN + 1),
            // A literal must not be of a smaller type than what it is combined with.
            value if self == Dialect::Spark => format!("{value}L"),
            value if value < 0 => format!("({value})"),
            value if self == Dialect::Postgres && i32::try_from(value).is_ok() => format!("{value}::bigint"),
            value => value.to_string(),
        }
    }

    /// The type of keys.
    pub fn key_type(self) -> &'static str {
        match self {
            Dialect::Sqlite => "INTEGER",
            _ => "BIGINT",
        }
    }

    /// The type of a column of keys, each of which is there once.
    pub fn unique_key(self) -> &'static str {
        match self {
            Dialect::Sqlite => "INTEGER PRIMARY KEY",
            Dialect::Postgres => "BIGINT PRIMARY KEY",
            // An index costs more there than it is worth; we insert no key twice.
            Dialect::Duckdb | Dialect::Spark => "BIGINT NOT NULL",
        }
    }

    /// Text between quotes.
    pub fn text(self, text: &str) -> String {
        match self {
            // Spark reads backslashes, the others do not.
            Dialect::Spark => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
            // Sessions of ours have standard_conforming_strings on.
            _ => format!("'{}'", text.replace('\'', "''")),
        }
    }

    /// A name between quotes.
    pub fn name(self, name: &str) -> String {
        match self {
            Dialect::Spark => format!("`{}`", name.replace('`', "``")),
            _ => quote::identifier(name),
        }
    }

    /// Rows of one column `k`, from expressions over another row, of which some are NULL: what can be put after FROM a
    /// source. One pass over the source, whatever the number of expressions.
    pub fn unnest(self, expressions: &[String], source: &str) -> String {
        let list = expressions.join(",\n    ");
        match self {
            Dialect::Postgres | Dialect::Duckdb => format!("SELECT unnest(array[\n    {list}]) AS s FROM {source}"),
            Dialect::Spark => format!("SELECT explode(array(\n    {list})) AS s FROM {source}"),
            // It has no arrays: a pass for each.
            Dialect::Sqlite => {
                let mut out = String::new();
                for (place, expression) in expressions.iter().enumerate() {
                    let union = if place > 0 { "\n  UNION ALL " } else { "" };
                    write!(out, "{union}SELECT {expression} AS s FROM {source}")
                        .expect("writing to a string cannot fail");
                }
                out
            }
        }
    }
}
