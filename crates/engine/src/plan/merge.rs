//! Which side of MERGE is read first.
//!
//! PostgreSQL goes through the source and looks for target rows, unless the source is a few VALUES. It rather hashes
//! these; then the target is read through, and what matches comes in the order of its heap, and only then the source
//! rows that have found nothing:
//!
//! ```text
//!   Hash Right Join
//!     ->  Seq Scan on target   rows=1250
//!     ->  Hash
//!           ->  Values Scan       rows=4
//! ```
//!
//! It shows where rows get in each other's way: a key that one of them gives up is free for another that is inserted.

use isolde_sql::catalog::Catalog;
use isolde_sql::typed::{Expr, ExprKind, From, QueryBody, RelSource, Select};

use super::estimate;
use super::facts::{self, RelSet, facts};
use crate::eval::Comparison;

/// Whether the joined rows of a MERGE come in the order of the target, its relation 0.
pub(crate) fn reads_target_first(catalog: &Catalog, select: &Select) -> bool {
    let [target, source] = select.rels.as_slice() else { return false };
    let RelSource::Table(target) = target.source else { return false };
    let Some(From::Join { on: Some(on), .. }) = &select.from else { return false };
    let mut conditions = Vec::new();
    facts::conjuncts(on, &mut conditions);
    if !conditions.iter().any(|condition| joins(condition)) {
        return false;
    }
    let RelSource::Query { query, .. } = &source.source else { return false };
    let QueryBody::Values(rows) = &query.body else { return false };
    (rows.len() as f64) < estimate::rows(catalog.table(target), 0, &[])
}

/// Whether a condition says that something of the target equals something of the source.
fn joins(condition: &Expr) -> bool {
    let ExprKind::Call(builtin, args) = &condition.kind else { return false };
    let sides: Vec<RelSet> = args.iter().map(|arg| facts(arg).rels).collect();
    let (target, source) = (RelSet::from([0]), RelSet::from([1]));
    let apart = sides == [target.clone(), source.clone()] || sides == [source, target];
    apart && matches!(Comparison::named(builtin.name), Some(Comparison::Equal))
}
