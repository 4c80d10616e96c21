//! What lies on one page: an estimate.
//!
//! A table or index that fits on a page is one page. A larger heap is cut where its versions would fill pages one after
//! another, in the order in which they were written; a larger index over a number by its values, as if they had no
//! gaps; any other is read as a whole, which may see a conflict too many but never misses one.

use isolde_sql::catalog::Table;
use isolde_sql::{Type, Value};

use crate::storage::TableData;

/// Entries of a leaf, when keys come in order.
const LEAF: usize = 366;
/// Entries that fit on the first.
const LEAF_MAX: usize = 407;

/// How many versions of a table's rows fit on a page.
fn per_page(table: &Table) -> usize {
    let width: usize = table.columns.iter().map(|c| width(c.ty)).sum();
    8_168 / (28 + width.next_multiple_of(8))
}

fn width(ty: Type) -> usize {
    match ty {
        Type::Bool => 1,
        Type::Int2 => 2,
        Type::Int4 | Type::Date => 4,
        _ => 8,
    }
}

/// Whether a table is so small that a planner which knows it does not bother with an index.
pub(super) fn is_tiny(table: &Table, data: &TableData) -> bool {
    data.len() <= 2 * per_page(table)
}

/// The page of the version at a position.
pub(super) fn of_version(table: &Table, data: &TableData, position: u64) -> u64 {
    let per_page = per_page(table);
    if data.len() <= per_page { 0 } else { position / per_page as u64 + 1 }
}

/// The leaf of an index that holds a key; `None`: no telling, or all of them.
pub(super) fn of_key(data: &TableData, key: Option<&Value>) -> Option<u64> {
    match key {
        _ if data.len() <= LEAF_MAX => Some(0),
        Some(Value::Int(n)) => Some((n.div_euclid(LEAF as i64) as u64).wrapping_add(1).max(1)),
        _ => None,
    }
}
