//! Whether a statement asks for the order of its rows.
//!
//! Only ORDER BY of the query that returns the rows counts: one in a subquery, a window or an aggregate does not order
//! the result. FETCH returns rows of a cursor's query, and EXECUTE those of what was prepared, so these follow what
//! they name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Facts, suspect};
use crate::ast::{Query, SessionCommand, Statement, StatementKind};
use crate::typed;

/// Whether a statement asks for the order of its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RowOrder {
    /// It returns no rows, or never more than one, or (SHOW ALL) in an order of their own.
    #[default]
    None,
    /// It may return several, in any order.
    Any,
    /// It asks for an order.
    Asked,
    /// It returns rows of this cursor.
    Cursor(Arc<str>),
    /// It runs this prepared statement.
    Prepared(Arc<str>),
}

impl RowOrder {
    pub(super) fn of(kind: &StatementKind) -> RowOrder {
        use StatementKind as S;
        match kind {
            S::Query(query) => RowOrder::of_query(query),
            S::Insert(insert) => RowOrder::returned(insert.returning.len()),
            S::Update(update) => RowOrder::returned(update.returning.len()),
            S::Delete(delete) => RowOrder::returned(delete.returning.len()),
            S::Fetch(fetch) if !fetch.moves => RowOrder::Cursor(fetch.cursor.name.clone()),
            S::Session(SessionCommand::Execute { name, .. }) => RowOrder::Prepared(name.name.clone()),
            _ => RowOrder::None,
        }
    }

    pub(super) fn of_query(query: &Query) -> RowOrder {
        if query.order_by.is_empty() { RowOrder::Any } else { RowOrder::Asked }
    }

    fn returned(columns: usize) -> RowOrder {
        if columns == 0 { RowOrder::None } else { RowOrder::Any }
    }
}

impl typed::Statement {
    /// Whether the order of its rows is part of its answer. Where it returns none, nothing is lost by saying so.
    pub fn asks_order(&self) -> bool {
        use typed::StatementKind as S;
        match &self.kind {
            S::Query(query) => !query.order_by.is_empty(),
            S::Insert(insert) => insert.returning.is_none(),
            S::Update(update) => update.returning.is_none(),
            S::Delete(delete) => delete.returning.is_none(),
            _ => true,
        }
    }
}

/// The cursors and prepared statements of a session, as far as its statements tell: to be asked about one after the
/// other.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    cursors: BTreeMap<Arc<str>, RowOrder>,
    prepared: BTreeMap<Arc<str>, RowOrder>,
    /// Some routine opens a cursor whose query asks for an order: a cursor that no statement declares may be that one.
    opened: bool,
}

impl Orders {
    /// Nothing is declared yet; `routines` are what the session may call.
    pub fn new<'f>(routines: impl IntoIterator<Item = &'f Facts>) -> Orders {
        let opened = routines.into_iter().any(|facts| facts.effects.opens_ordered);
        Orders { opened, ..Orders::default() }
    }

    /// Whether the order of a statement's rows is part of its answer. What it declares is remembered.
    pub fn asks(&mut self, statement: &Statement) -> bool {
        match &statement.kind {
            StatementKind::DeclareCursor(cursor) => {
                self.cursors.insert(cursor.name.name.clone(), RowOrder::of_query(&cursor.query));
            }
            StatementKind::Session(SessionCommand::Prepare { name, statement, .. }) => {
                self.prepared.insert(name.name.clone(), RowOrder::of(&statement.kind));
            }
            StatementKind::Ignored(ignored) if ignored.tag.is_empty() => {
                if let Some((name, order)) = suspect::declared(&ignored.text) {
                    self.cursors.insert(name, order);
                }
            }
            _ => {}
        }
        self.is_asked(&Facts::of(statement).order)
    }

    fn is_asked(&self, order: &RowOrder) -> bool {
        match order {
            RowOrder::None | RowOrder::Asked => true,
            RowOrder::Any => false,
            RowOrder::Cursor(name) => self.cursors.get(name).map_or(self.opened, |order| *order == RowOrder::Asked),
            RowOrder::Prepared(name) => self.prepared.get(name).is_some_and(|order| self.is_asked(order)),
        }
    }
}
