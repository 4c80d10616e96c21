//! Errors that a statement makes before it has read anything.
//!
//! PostgreSQL computes what it can while it plans. So `SELECT 1 / 0 FROM t` fails whether or not there is a row in `t`,
//! and where several things are wrong with a statement, what is wrong with its constants is said first: those of the
//! select list, then those of what is returned, then those of conditions.
//!
//! A statement with parameters is planned for their values, the first few times: then they are constants as well.

use isolde_sql::typed::{Expr, ExprKind, MergeAction, Query, QueryBody, Returning, Select, StatementKind};
use isolde_sql::{SqlError, Value};

use super::simplify::early_error;

/// What is wrong with an expression.
type Wrong<'w> = &'w dyn Fn(&Expr) -> Option<SqlError>;

/// The error that planning a statement comes to first.
pub(crate) fn of_statement(statement: &StatementKind) -> Option<SqlError> {
    of(statement, &early_error)
}

/// The error that planning a statement for these parameters comes to first, if it is one about them.
pub(crate) fn of_parameters(statement: &StatementKind, params: &[Value]) -> Option<SqlError> {
    of(statement, &|e| {
        let mut known = e.clone();
        let mut named = false;
        known.walk_mut(0, &mut |e, depth| {
            if let ExprKind::Param(index) = e.kind
                && depth == 0
                && let Some(value) = params.get(index)
            {
                (e.kind, named) = (ExprKind::Const(value.clone()), true);
            }
            depth == 0
        });
        if named { early_error(&known) } else { None }
    })
}

fn of(statement: &StatementKind, wrong: Wrong<'_>) -> Option<SqlError> {
    let of_query = |query| of_query(query, wrong);
    match statement {
        StatementKind::Query(query) => of_query(query),
        StatementKind::Insert(insert) => {
            let update = insert.on_conflict.as_ref().and_then(|conflict| conflict.update.as_ref());
            let update = update.into_iter().flat_map(|u| u.set.iter().map(|(_, e)| e).chain(&u.filter));
            let own = insert.values.iter().chain(returned(&insert.returning)).chain(update);
            of_query(&insert.source).or_else(|| first(own, wrong))
        }
        StatementKind::Update(update) => {
            let set = update.set.iter().map(|(_, e)| e);
            first(set.chain(returned(&update.returning)).chain(&update.select.filter), wrong)
        }
        StatementKind::Delete(delete) => first(returned(&delete.returning).chain(&delete.select.filter), wrong),
        StatementKind::Merge(merge) => merge.whens.iter().find_map(|when| {
            let actions = match &when.action {
                MergeAction::Update(set) => first(set.iter().map(|(_, e)| e), wrong),
                MergeAction::Insert(values) => first(values, wrong),
                MergeAction::Delete | MergeAction::Nothing => None,
            };
            actions.or_else(|| first(&when.condition, wrong))
        }),
        _ => None,
    }
}

fn of_query(query: &Query, wrong: Wrong<'_>) -> Option<SqlError> {
    let sorted = query.order_by.iter().map(|key| &key.expr);
    match &query.body {
        QueryBody::Select(select) => {
            let Select { projection, filter, .. } = &**select;
            first(projection.iter().chain(sorted).chain(filter), wrong)
        }
        QueryBody::Values(rows) => first(rows.iter().flatten(), wrong),
        QueryBody::SetOperation { .. } => None,
    }
}

fn returned(returning: &Option<Returning>) -> impl Iterator<Item = &Expr> {
    returning.iter().flat_map(|returning| &returning.exprs)
}

fn first<'e>(exprs: impl IntoIterator<Item = &'e Expr>, wrong: Wrong<'_>) -> Option<SqlError> {
    exprs.into_iter().find_map(wrong)
}
