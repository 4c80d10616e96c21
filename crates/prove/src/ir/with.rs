//! WITH queries, written out where they are read.
//!
//! A WITH query that only reads gives the same rows wherever in its statement it stands, so it can stand in the FROM of
//! whoever reads it. Those that call themselves, and those that write, stay where they are, and are refused.

use isolde_sql::typed::{ExprKind, Query, QueryBody, RelSource, With, WithBody};

/// Writes out the WITH queries of a query and of all queries inside of it.
pub(crate) fn inlined(query: &mut Query) {
    query.exprs_mut(&mut |expr| {
        expr.walk_mut(0, &mut |e, _| {
            e.subquery_mut().into_iter().for_each(inlined);
            true
        });
    });
    query.queries_mut(&mut |inner| inlined(inner));
    if !query.with.iter().all(|with| matches!(with.body, WithBody::Query(_))) {
        return;
    }
    let mut done: Vec<Query> = Vec::new();
    for with in std::mem::take(&mut query.with) {
        let With { body: WithBody::Query(mut body), .. } = with else { continue };
        inlined(&mut body);
        // It stands one level inside, and may read those before it.
        put(&mut body, 1, &done);
        done.push(*body);
    }
    put(query, 0, &done);
}

/// Puts queries in the place of the relations that read them; `depth` levels inside of the query that they belong to.
fn put(query: &mut Query, depth: u16, done: &[Query]) {
    if let QueryBody::Select(select) = &mut query.body {
        for rel in &mut select.rels {
            if let RelSource::With { depth: of, index } = rel.source
                && of == depth
                && let Some(with) = done.get(index)
            {
                let mut with = with.clone();
                with.walk_mut(0, &mut |e, at| {
                    match &mut e.kind {
                        // What it names outside of itself is further away from here.
                        ExprKind::Column { depth: d, .. } | ExprKind::WholeRow { depth: d, .. } if *d > at => {
                            *d += depth
                        }
                        _ => {}
                    }
                    true
                });
                rel.source = RelSource::Query { query: with.into(), lateral: false };
            }
        }
    }
    let inside = |query: &mut Query| put(query, depth + 1, done);
    query.exprs_mut(&mut |expr| {
        let mut stack = vec![expr];
        while let Some(expr) = stack.pop() {
            if let Some(inner) = expr.subquery_mut() {
                inside(inner);
            }
            expr.children_mut(&mut |child| stack.push(child));
        }
    });
    query.queries_mut(&mut |inner| inside(inner));
}
