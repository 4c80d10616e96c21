//! Which rows a query has found, by asking again.
//!
//! A condition that is not on a primary key does not tell rows apart for long: somebody may change the column that it
//! is about. And a condition over two tables cannot be asked about one row at all. But what a query has *found* can be
//! asked for: the same FROM and WHERE, with the keys of the rows in place of what was selected, while everybody else is
//! held.
//!
//! ```text
//!   SELECT sum(o.total) FROM orders o JOIN item i ON i.id = o.item WHERE o.customer = 7 GROUP BY ...
//!   SELECT o.id, i.id   FROM orders o JOIN item i ON i.id = o.item WHERE o.customer = 7
//! ```
//!
//! Then an UPDATE matters to the query if it changes a column that FROM or WHERE ask about, in whatever row; or another
//! column that the query asks for, in a row that was found. A row that was not found is not found either when something
//! else of it has changed. (Whoever changes what is asked about matters by itself, so what was found is the same
//! wherever the query comes after the same of those.) Rows that come and go matter as before.
//!
//! Only somebody who sees the same can be asked. At READ COMMITTED, what is committed is seen by everybody; a
//! transaction that has written itself is asked within, under a savepoint that is rolled back ([decision
//! 26](../../../../docs/decisions/0026-what-a-server-tells-of-reads.md)).

use std::sync::Arc;

use isolde_engine::RowId;
use isolde_engine::footprint::ColumnSet;
use isolde_sql::Value;
use isolde_sql::builtin::Eval;
use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::typed::{ExprKind, Query, QueryBody, Statement, StatementKind};
use isolde_wire::quote::identifier;
use isolde_wire::{Connection, Response};

use super::walk::{asked_about, tables_of};
use crate::effects;
use crate::live::{Found, Touched};
use crate::proxy::tokens;

/// If a query finds more, that is not kept.
const ROWS_MAX: usize = 1000;

/// How to ask a query again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Again {
    /// The keys of the rows that it finds.
    query: String,
    /// Whose these are, each with so many columns of the result.
    parts: Vec<AgainPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct AgainPart {
    /// The position among the reads.
    read: usize,
    table: TableId,
    /// The columns of its primary key.
    key: Vec<usize>,
    /// The columns that FROM and WHERE ask about.
    asked: ColumnSet,
}

impl Again {
    /// How to ask a statement again whose reads are these; none if that is not worth it or not possible.
    pub(super) fn of(catalog: &Catalog, statement: &Statement, text: &str, touched: &Touched) -> Option<Again> {
        let StatementKind::Query(query) = &statement.kind else { return None };
        let QueryBody::Select(select) = &query.body else { return None };
        let tables = tables_of(select);
        let plain = query.with.is_empty() && query.locking.is_empty() && tables.len() == select.rels.len();
        if !plain || touched.everything || !is_harmless(query) {
            return None;
        }
        let mut parts = Vec::new();
        let mut columns = Vec::new();
        for (read, (rel, table)) in tables.into_iter().enumerate() {
            let Some(index) = catalog.table(table).primary_key() else { continue };
            let fixed = &touched.reads.get(read).filter(|read| read.table == table)?.key;
            if index.columns.iter().all(|column| fixed.iter().any(|(fixed, _)| fixed == column)) {
                continue;
            }
            let rel_name = identifier(&select.rels[rel].alias);
            let name =
                |&column: &usize| format!("{rel_name}.{}", identifier(&catalog.table(table).columns[column].name));
            columns.extend(index.columns.iter().map(name));
            parts.push(AgainPart { read, table, key: index.columns.clone(), asked: asked_about(select, rel) });
        }
        if parts.is_empty() {
            return None;
        }
        let query = format!("SELECT {} {} LIMIT {}", columns.join(", "), sources(text)?, ROWS_MAX + 1);
        Some(Again { query, parts })
    }

    /// Asks somebody who sees what is committed, and keeps what was found. If that fails, nothing is lost but
    /// precision.
    pub(crate) fn ask(&self, control: &mut Connection, catalog: &Catalog, touched: &mut Touched) {
        let Ok(responses) = control.query(&self.query) else { return };
        self.keep(responses.first(), catalog, touched);
    }

    /// What is asked.
    pub(crate) fn query(&self) -> &str {
        &self.query
    }

    /// Keeps what was found.
    pub(crate) fn keep(&self, answer: Option<&Response>, catalog: &Catalog, touched: &mut Touched) {
        let Some(Response::Rows { rows, .. }) = answer else { return };
        if rows.len() > ROWS_MAX {
            return;
        }
        let mut first = 0;
        for part in &self.parts {
            let columns = first..first + part.key.len();
            first = columns.end;
            let ids = rows.iter().filter_map(|row| part.id(catalog, row.get(columns.clone())?));
            if let Some(look) = touched.reads.get_mut(part.read) {
                look.found = Some(Arc::new(Found { asked: part.asked, rows: ids.collect() }));
            }
            let whole = format!("{} is read whole", catalog.table(part.table).name);
            touched.coarse.retain(|reason| !reason.starts_with(&whole));
        }
    }
}

impl AgainPart {
    /// Which row it is; none where an outer join has found none.
    fn id(&self, catalog: &Catalog, key: &[Option<String>]) -> Option<RowId> {
        let texts = key.iter().cloned().collect::<Option<Vec<String>>>()?;
        let columns = &catalog.table(self.table).columns;
        let values: Vec<Value> =
            (self.key.iter().zip(texts)).map(|(&column, text)| effects::value(text, columns[column].ty)).collect();
        Some(effects::number(self.table, values.iter()))
    }
}

/// Whether a query does nothing but look.
fn is_harmless(query: &Query) -> bool {
    let mut harmless = true;
    query.walk(0, &mut |e, _| {
        harmless &= match &e.kind {
            ExprKind::Routine(..) => false,
            ExprKind::Call(builtin, _) => matches!(builtin.eval, Eval::Pure(_)),
            _ => true,
        }
    });
    harmless
}

/// Words that end what rows are looked for in.
const ENDS: &[&str] =
    &["GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "OFFSET", "FETCH", "FOR", "UNION", "INTERSECT", "EXCEPT", ";"];

/// FROM and WHERE of a SELECT, as they stand in its text.
fn sources(text: &str) -> Option<&str> {
    let (mut at, mut depth, mut before) = (0, 0, String::new());
    let (mut start, mut end) = (None, text.len());
    for token in tokens(text) {
        let word = token.to_uppercase();
        match &*word {
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            // IS DISTINCT FROM
            "FROM" if depth == 0 && start.is_none() && before != "DISTINCT" => start = Some(at),
            end_word if depth == 0 && start.is_some() && ENDS.contains(&end_word) => {
                end = at;
                break;
            }
            _ => {}
        }
        at += token.len();
        if !word.trim().is_empty() {
            before = word;
        }
    }
    text.get(start?..end).map(str::trim_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rows_are_looked_for_in_is_cut_out() {
        let cut = |text: &str| sources(text).map(str::to_string);
        assert_eq!(cut("SELECT 1").as_deref(), None);
        assert_eq!(
            cut("SELECT extract(day FROM d), a IS DISTINCT FROM b FROM t WHERE x IN (SELECT y FROM u LIMIT 1) ORDER BY 1")
                .as_deref(),
            Some("FROM t WHERE x IN (SELECT y FROM u LIMIT 1)")
        );
        assert_eq!(cut("SELECT * FROM t;").as_deref(), Some("FROM t"));
    }
}
