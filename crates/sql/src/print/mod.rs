//! [`crate::ast`] back to text: `Display` for statements, queries, expressions and PL/pgSQL bodies.
//!
//! The text parses to the same tree again (spans aside): tests hold every statement they see to that. It is canonical
//! and short, made for traces: keywords in upper case, SQL on one line, PL/pgSQL indented, no parentheses and no quotes
//! but those that are needed.
//!
//! ```text
//! select  "balance" from Account a where ((id=$1)) for update
//! SELECT balance FROM account AS a WHERE id = $1 FOR UPDATE
//! ```

mod alter;
mod ddl;
mod expr;
#[cfg(test)]
mod generate;
mod name;
mod plpgsql;
mod query;
mod session;
mod statement;
#[cfg(test)]
mod tests;
mod trigger;
mod types;
mod window;

use std::fmt::{self, Display, Formatter};

pub use name::identifier;

/// What stands between two elements of a list.
struct Separated<'a, T>(&'a [T], &'static str);

impl<T: Display> Display for Separated<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, item) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(self.1)?;
            }
            item.fmt(f)?;
        }
        Ok(())
    }
}

/// `a, b, c`
fn commas<T: Display>(items: &[T]) -> Separated<'_, T> {
    Separated(items, ", ")
}

/// ` WORD item`, or nothing.
struct Clause<'a, T>(&'static str, Option<&'a T>);

impl<T: Display> Display for Clause<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(item) => write!(f, " {} {item}", self.0),
            None => Ok(()),
        }
    }
}

/// ` WORD a, b`, or nothing if there are none.
struct ListClause<'a, T>(&'static str, &'a [T]);

impl<T: Display> Display for ListClause<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.1 {
            [] => Ok(()),
            items => write!(f, " {} {}", self.0, commas(items)),
        }
    }
}

/// A string literal: its quotes doubled, a backslash as it is.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.0.replace('\'', "''"))
    }
}
