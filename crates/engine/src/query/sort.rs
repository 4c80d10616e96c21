//! Sorting.

use std::cmp::Ordering;

use isolde_sql::{Row, Value};
use smallvec::SmallVec;

use super::Window;
use crate::eval::{self, Context, Env, Interrupt};
use crate::plan::{Expr, SortKey};

/// Things with their sort keys. Stable: what is equal stays in the order in which it came.
pub(super) struct Sorter<'p, T> {
    order_by: &'p [SortKey],
    rows: Vec<(Keys, T)>,
    /// How many of the first ones are wanted.
    wanted: usize,
}

/// So many rows more than wanted are no burden.
const SPARE: usize = 64;

type Keys = SmallVec<[Value; 2]>;

impl<'p, T> Sorter<'p, T> {
    pub(super) fn new(order_by: &'p [SortKey]) -> Self {
        Sorter { order_by, rows: Vec::new(), wanted: usize::MAX }
    }

    /// The same, keeping only so many of the first ones.
    pub(super) fn first(self, wanted: u64) -> Self {
        Sorter { wanted: usize::try_from(wanted).unwrap_or(usize::MAX), ..self }
    }

    /// Whether a key names an output column.
    pub(super) fn uses_outputs(&self) -> bool {
        self.order_by.iter().any(|key| matches!(key.expr, Expr::Output(_)))
    }

    /// Adds something whose keys are computed over `env`.
    pub(super) fn push(&mut self, ctx: &mut Context<'_>, env: &Env<'_>, item: T) -> Result<(), Interrupt> {
        let mut keys = Keys::new();
        for key in self.order_by {
            keys.push(eval::eval(ctx, env, &key.expr)?);
        }
        self.rows.push((keys, item));
        if self.rows.len() / 2 > self.wanted.max(SPARE) {
            self.sort();
            self.rows.truncate(self.wanted);
        }
        Ok(())
    }

    /// Everything, sorted.
    pub(super) fn finish(mut self) -> Vec<T> {
        self.sort();
        self.rows.into_iter().map(|(_, item)| item).collect()
    }
}

impl<T> Sorter<'_, T> {
    /// What LIMIT and OFFSET leave; with ties, also what the keys do not tell from the last.
    pub(super) fn finish_within(mut self, window: Window, with_ties: bool) -> Vec<T> {
        if !with_ties {
            return window.of(self.finish());
        }
        self.sort();
        let last = usize::try_from(window.skip.saturating_add(window.take)).unwrap_or(usize::MAX);
        if let Some(last) = last.checked_sub(1).filter(|last| window.take > 0 && *last < self.rows.len()) {
            let order_by = self.order_by;
            let ties = self.rows[last + 1..]
                .iter()
                .take_while(|(keys, _)| compare(order_by, keys, &self.rows[last].0).is_eq());
            let end = last + 1 + ties.count();
            self.rows.truncate(end);
        } else if window.take == 0 {
            self.rows.clear();
        }
        let skip = usize::try_from(window.skip).unwrap_or(usize::MAX).min(self.rows.len());
        self.rows.drain(..skip);
        self.rows.into_iter().map(|(_, item)| item).collect()
    }

    /// Leaves the first of those that agree in so many of their first keys.
    pub(super) fn distinct_on(&mut self, keys: usize) {
        self.sort();
        self.rows.dedup_by(|(a, _), (b, _)| a[..keys] == b[..keys]);
    }

    fn sort(&mut self) {
        let order_by = self.order_by;
        if !order_by.is_empty() {
            self.rows.sort_by(|(a, _), (b, _)| compare(order_by, a, b));
        }
    }
}

impl Sorter<'_, Row> {
    /// Leaves one of each row, in the order of their values.
    pub(super) fn distinct(&mut self) {
        self.rows.sort_by(|(_, a), (_, b)| a.cmp(b));
        self.rows.dedup_by(|(_, a), (_, b)| a == b);
    }
}

/// The order of two lists of keys.
pub(super) fn compare(order_by: &[SortKey], a: &[Value], b: &[Value]) -> Ordering {
    let keys = order_by.iter().zip(a.iter().zip(b));
    keys.map(|(key, (a, b))| compare_key(key, a, b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
}

fn compare_key(key: &SortKey, a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) if key.nulls_first => Ordering::Less,
        (Value::Null, _) => Ordering::Greater,
        (_, Value::Null) if key.nulls_first => Ordering::Greater,
        (_, Value::Null) => Ordering::Less,
        (a, b) if key.descending => b.cmp(a),
        (a, b) => a.cmp(b),
    }
}
