//! Errors that a statement makes before it has read anything.
//!
//! PostgreSQL computes what it can while it plans. So `SELECT 1 / 0 FROM t` fails whether or not there is a row in `t`, and where several
//! things are wrong with a statement, what is wrong with its constants is said first: those of the select list, then those of
//! what is returned, then those of conditions.

use isolde_sql::SqlError;
use isolde_sql::typed::{Expr, MergeAction, Query, QueryBody, Returning, Select, StatementKind};

use super::simplify::early_error;

/// The error that planning a statement comes to first.
pub(crate) fn of_statement(statement: &StatementKind) -> Option<SqlError> {
    match statement {
        StatementKind::Query(query) => of_query(query),
        StatementKind::Insert(insert) => {
            let update = insert.on_conflict.as_ref().and_then(|conflict| conflict.update.as_ref());
            let update = update.into_iter().flat_map(|u| u.set.iter().map(|(_, e)| e).chain(&u.filter));
            let own = insert.values.iter().chain(returned(&insert.returning)).chain(update);
            of_query(&insert.source).or_else(|| first(own))
        }
        StatementKind::Update(update) => {
            let set = update.set.iter().map(|(_, e)| e);
            first(set.chain(returned(&update.returning)).chain(&update.select.filter))
        }
        StatementKind::Delete(delete) => first(returned(&delete.returning).chain(&delete.select.filter)),
        StatementKind::Merge(merge) => merge.whens.iter().find_map(|when| {
            let actions = match &when.action {
                MergeAction::Update(set) => first(set.iter().map(|(_, e)| e)),
                MergeAction::Insert(values) => first(values),
                MergeAction::Delete | MergeAction::Nothing => None,
            };
            actions.or_else(|| first(&when.condition))
        }),
        _ => None,
    }
}

fn of_query(query: &Query) -> Option<SqlError> {
    let sorted = query.order_by.iter().map(|key| &key.expr);
    match &query.body {
        QueryBody::Select(select) => {
            let Select { projection, filter, .. } = &**select;
            first(projection.iter().chain(sorted).chain(filter))
        }
        QueryBody::Values(rows) => first(rows.iter().flatten()),
        QueryBody::SetOperation { .. } => None,
    }
}

fn returned(returning: &Option<Returning>) -> impl Iterator<Item = &Expr> {
    returning.iter().flat_map(|returning| &returning.exprs)
}

fn first<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> Option<SqlError> {
    exprs.into_iter().find_map(early_error)
}
