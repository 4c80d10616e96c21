//! Expressions and statements, with their variables renamed.

use isolde_sql::typed::{Expr, Query, Returning, Select, Statement, StatementKind};

/// Calls `f` with every expression of a statement, those inside of queries included; `f` says whether to go on below.
pub(crate) fn each_expr(statement: &mut Statement, f: &mut dyn FnMut(&mut Expr) -> bool) {
    let mut walk = |expr: &mut Expr| expr.walk_mut(0, &mut |e, _| f(e));
    match &mut statement.kind {
        StatementKind::Query(query) => in_query(query, &mut walk),
        StatementKind::Insert(insert) => {
            in_query(&mut insert.source, &mut walk);
            insert.values.iter_mut().for_each(&mut walk);
            if let Some(update) = insert.on_conflict.as_mut().and_then(|c| c.update.as_mut()) {
                update.set.iter_mut().map(|(_, e)| e).chain(&mut update.filter).for_each(&mut walk);
            }
            in_returning(&mut insert.returning, &mut walk);
        }
        StatementKind::Update(update) => {
            in_select(&mut update.select, &mut walk);
            update.set.iter_mut().for_each(|(_, e)| walk(e));
            in_returning(&mut update.returning, &mut walk);
        }
        StatementKind::Delete(delete) => {
            in_select(&mut delete.select, &mut walk);
            in_returning(&mut delete.returning, &mut walk);
        }
        StatementKind::Call(_, args) => args.iter_mut().for_each(&mut walk),
        _ => {}
    }
}

/// The expressions of a query and of the queries in its FROM; those inside of expressions are found below them.
pub(super) fn in_query(query: &mut Query, walk: &mut dyn FnMut(&mut Expr)) {
    query.exprs_mut(&mut |e| walk(e));
    query.queries_mut(&mut |q| in_query(q, walk));
}

fn in_select(select: &mut Select, walk: &mut dyn FnMut(&mut Expr)) {
    select.exprs_mut(&mut |e| walk(e));
    select.queries_mut(&mut |q| in_query(q, walk));
}

fn in_returning(returning: &mut Option<Returning>, walk: &mut dyn FnMut(&mut Expr)) {
    returning.iter_mut().flat_map(|r| &mut r.exprs).for_each(walk);
}
