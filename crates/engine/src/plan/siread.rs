//! The path that PostgreSQL's planner would take to the rows of a table.
//!
//! At SERIALIZABLE a transaction remembers what it went through, so it matters which way it went, even where two ways
//! find the same rows. PostgreSQL estimates; of a table that it has never looked at it knows nothing but the kinds of
//! conditions:
//!
//! ```text
//!   all columns of a unique index = values         1 row         an index serves
//!   column = value, or between two                 1/200         an index serves
//!   column < value, or > value                     1/3           an index serves
//!   the WHERE of a partial index                   1/200         that index serves
//!   ORDER BY an index's columns, no condition      all rows      that index serves
//!   anything else                                                sequential
//! ```
//!
//! The index with the fewest rows to look at wins, the later one if two are equal. A condition that joins serves only
//! if the other rows are at most one: otherwise both tables are read by themselves and hashed.
//!
//! Whether the table is known to be small after all is a question for later: see [`crate::ssi`].

use isolde_sql::catalog::{Catalog, Index, Table};
use isolde_sql::typed::{self, ExprKind};

use super::facts::{RelSet, conjuncts, facts};
use super::join::Condition;
use super::path::{self, column_versus, is_column, is_known};
use super::{Access, BodyPlan, Expr, Item, QueryPlan, Source, expr};
use crate::eval::Comparison;

/// A way to a table's rows.
#[derive(Clone, Debug)]
pub(crate) enum Siread {
    /// From end to end.
    Sequential,
    /// By these searches together.
    Index(Vec<Search>),
}

/// A search in an index.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) index: usize,
    /// How to find at least the rows that it finds.
    pub(crate) access: Access,
    /// What an entry must satisfy for its row to be looked at.
    pub(crate) conditions: Vec<Expr>,
    /// All columns of the index are equal to known values, so that conditions which contradict each other are noticed
    /// beforehand.
    pub(crate) exact: bool,
}

/// How many rows a table has that nobody has looked at.
const ROWS: f64 = 2_000.0;
/// The share of rows that are equal to something, or between two values.
const FEW: f64 = 0.005;
/// The share of rows on one side of a value.
const MANY: f64 = 1.0 / 3.0;

/// The way to a table, given its conditions; `single` are relations of which there is at most one row.
pub(super) fn choose(
    catalog: &Catalog,
    table: &Table,
    rel: usize,
    conditions: &[Condition<'_>],
    single: &RelSet,
) -> Siread {
    let whole = best_index(catalog, table, rel, conditions, single).map(|(rows, search)| (rows, vec![search]));
    let either = conditions.iter().filter_map(|c| either(catalog, table, rel, c, single));
    let best = whole.into_iter().chain(either).min_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map_or(Siread::Sequential, |(_, searches)| Siread::Index(searches))
}

/// A condition with OR is served if each of its sides is.
fn either(
    catalog: &Catalog,
    table: &Table,
    rel: usize,
    condition: &Condition<'_>,
    single: &RelSet,
) -> Option<(f64, Vec<Search>)> {
    let ExprKind::Or(sides) = &condition.expr.kind else { return None };
    let mut total = 0.0;
    let mut searches = Vec::new();
    for side in sides {
        let mut list = Vec::new();
        conjuncts(side, &mut list);
        let parts: Vec<Condition<'_>> = list.into_iter().map(|expr| Condition { expr, facts: facts(expr) }).collect();
        let (rows, search) = best_index(catalog, table, rel, &parts, single)?;
        total += rows;
        searches.push(search);
    }
    Some((total, searches))
}

fn best_index(
    catalog: &Catalog,
    table: &Table,
    rel: usize,
    conditions: &[Condition<'_>],
    single: &RelSet,
) -> Option<(f64, Search)> {
    let indexes = (0..table.indexes.len()).rev();
    let served = indexes.filter_map(|index| Some((rows_served(table, index, rel, conditions, single)?, index)));
    let (rows, index) = served.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let columns = &table.indexes[index].columns;
    let of_rows = of_rows(&table.indexes[index], rel, conditions)?;
    let of_keys = conditions.iter().filter(|c| columns.iter().any(|&column| share(c, rel, column, single).is_some()));
    let served: Vec<Condition<'_>> = of_keys.chain(of_rows).cloned().collect();
    let path = path::by_index(table, index, rel, &served, single).filter(|_| table.indexes[index].is_plain());
    let access = path.map_or(Access::Scan, |path| path.access(catalog, &mut 0));
    let conditions = served.iter().map(|c| expr(catalog, c.expr)).collect();
    let exact = matches!(&access, Access::Lookup { keys, .. } if keys.len() == columns.len());
    Some((rows, Search { index, access, conditions, exact }))
}

/// How many rows an index leaves to look at; `None` if it does not serve.
fn rows_served(table: &Table, index: usize, rel: usize, conditions: &[Condition<'_>], single: &RelSet) -> Option<f64> {
    let index = &table.indexes[index];
    let of_rows = of_rows(index, rel, conditions)?;
    let mut rows = ROWS * FEW.powi(of_rows.len() as i32);
    let (mut equalities, mut leading) = (0, !of_rows.is_empty());
    for (position, &column) in index.columns.iter().enumerate() {
        let shares: Vec<f64> = conditions.iter().filter_map(|c| share(c, rel, column, single)).collect();
        let sided = shares.iter().filter(|s| **s == MANY).count();
        let exact = shares.iter().copied().filter(|s| *s != MANY).min_by(f64::total_cmp);
        let Some(share) = exact.or(if sided > 1 { Some(FEW) } else { (sided == 1).then_some(MANY) }) else { continue };
        // Behind the first column, an index is only worth its while for a value.
        leading |= position == 0 || exact.is_some();
        equalities += usize::from(exact.is_some());
        rows *= share;
    }
    if index.unique && equalities == index.columns.len() && of_rows.is_empty() {
        // As many rows as there are values asked for.
        rows /= ROWS * FEW.powi(equalities as i32);
    }
    leading.then_some(rows)
}

/// The conditions that say which rows a partial index has, none for an index of all rows; `None` if the index cannot
/// serve because the query asks for other rows, or because it is over expressions.
fn of_rows<'c, 'e>(index: &Index, rel: usize, conditions: &'c [Condition<'e>]) -> Option<Vec<&'c Condition<'e>>> {
    let Some(special) = &index.special else { return Some(Vec::new()) };
    let filter = special.filter.as_ref().filter(|_| !index.columns.is_empty())?;
    let mut parts = Vec::new();
    conjuncts(filter, &mut parts);
    // Two expressions that read the same mean the same.
    let text = |e: &typed::Expr| format!("{e:?}");
    let find = |part: &typed::Expr| conditions.iter().find(|c| text(&path::renumbered(c.expr, rel)) == text(part));
    parts.into_iter().map(find).collect()
}

/// The share of rows that a condition on a column leaves.
fn share(c: &Condition<'_>, rel: usize, column: usize, single: &RelSet) -> Option<f64> {
    match &c.expr.kind {
        ExprKind::InList(operand, list, false) if is_column(operand, rel, column) => {
            list.iter().all(|e| is_known(e, single)).then_some(FEW * list.len() as f64)
        }
        ExprKind::IsNull(operand, false) if is_column(operand, rel, column) => Some(FEW),
        _ => match column_versus(c, rel, column, single)?.0 {
            Comparison::Equal => Some(FEW),
            Comparison::NotEqual => None,
            _ => Some(MANY),
        },
    }
}

/// ORDER BY the columns of an index, all of them ascending or all descending, follows that index unless conditions have
/// already decided.
pub(super) fn for_order(catalog: &Catalog, plan: &mut QueryPlan) {
    let Some((columns, _)) = super::order::sorted_columns(&plan.order_by) else { return };
    let BodyPlan::Select(select) = &mut plan.body else { return };
    let [step] = select.nest.steps.as_mut_slice() else { return };
    let conditions = !step.conditions.is_empty() || !select.nest.gates.is_empty();
    let Item::Rel(step) = &mut step.item else { return };
    let Source::Table(table) = step.source else { return };
    let plain = matches!(step.access, Access::Scan) && step.filter.is_empty() && !conditions;
    if select.grouping.is_some() || select.distinct || !plain {
        return;
    }
    let wanted: Vec<usize> = columns.iter().map(|(_, column)| usize::from(*column)).collect();
    let serves = |index: &Index| index.is_plain() && index.columns.starts_with(&wanted);
    if let Some(index) = catalog.table(table).indexes.iter().position(serves) {
        step.siread = Siread::Index(vec![Search { index, access: Access::Scan, conditions: Vec::new(), exact: false }]);
    }
}

/// A relation found by a unique key has at most one row.
pub(super) fn is_single(access: &Access, implied: &[Condition<'_>], single: &RelSet, rel: usize) -> bool {
    let known = |c: &Condition<'_>| c.facts.rels.iter().all(|r| *r == rel || single.contains(r));
    matches!(access, Access::Lookup { unique: true, .. }) && implied.iter().all(known)
}
