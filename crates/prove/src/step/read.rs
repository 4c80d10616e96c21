//! Queries whose first row counts, and rows that a loop comes to.

use isolde_smt::Term;
use isolde_sql::typed::{OrderKey, Query, QueryBody, RelSource};
use isolde_sql::{SqlState, Type};

use super::Stepper;
use crate::ir::Read;
use crate::logic::{Answered, Refusal, Result, Sym, choice, first_only, less, pins_unique_key, plain, sort_of};
use crate::state::CursorRow;

impl Stepper<'_> {
    /// SELECT INTO, PERFORM.
    pub(super) fn read(&mut self, read: &Read) -> Result<()> {
        first_only(&read.query)?;
        let rows = self.evaluator().rows(&read.query)?;
        let found = Term::or(rows.iter().map(|row| row.guard.clone()));
        let found = self.ctx.named_truth(found, "found");
        if read.strict {
            self.ctx.fails(SqlState::NO_DATA_FOUND, found.clone().not());
            self.at_most_one(&rows, SqlState::TOO_MANY_ROWS);
        }
        self.set_found(read.found, &found);
        let single = read.strict || self.is_single(&read.query);
        self.take(&rows, &read.into, single, &read.query.order_by)
    }

    /// Whether a query cannot have two rows.
    fn is_single(&self, query: &Query) -> bool {
        let QueryBody::Select(select) = &query.body else { return false };
        match (select.rels.as_slice(), &select.grouping) {
            (_, Some(grouping)) => grouping.keys.is_empty(),
            ([], None) => true,
            ([rel], None) => match rel.source {
                RelSource::Table(table) => pins_unique_key(self.catalog, table, select.filter.as_ref()),
                _ => false,
            },
            _ => false,
        }
    }

    /// Two rows are an error.
    pub(super) fn at_most_one(&mut self, rows: &[Answered], state: SqlState) {
        for (i, row) in rows.iter().enumerate() {
            for other in &rows[i + 1..] {
                self.ctx.fails(state, Term::and([row.guard.clone(), other.guard.clone()]));
            }
        }
    }

    /// Stores the columns of the first row, or NULLs. Which row is first is open, unless sort keys say.
    pub(super) fn take(
        &mut self,
        rows: &[Answered],
        into: &[(usize, Type)],
        single: bool,
        order: &[OrderKey],
    ) -> Result<()> {
        if into.is_empty() || rows.is_empty() && into.is_empty() {
            return Ok(());
        }
        let taken: Vec<Term> = match single || rows.len() <= 1 {
            true => rows.iter().map(|row| row.guard.clone()).collect(),
            false => {
                let chosen = choice(self.ctx, rows.len());
                let taken = (0..rows.len()).map(|i| chosen.clone().equal(Term::Int(i as i128)));
                let taken: Vec<Term> = taken.zip(rows).map(|(is, row)| Term::and([is, row.guard.clone()])).collect();
                let any = Term::or(rows.iter().map(|row| row.guard.clone()));
                self.guard.push(any.implies(Term::or(taken.clone())));
                self.first_by(rows, &taken, order)?;
                taken
            }
        };
        for (column, (variable, ty)) in into.iter().enumerate() {
            let sort = sort_of(*ty).ok_or_else(|| Refusal::new("a row as a value"))?;
            // A variable beyond the last column becomes NULL.
            let nothing = Sym::null(&sort);
            let mut value = nothing.clone();
            for (row, taken) in rows.iter().zip(&taken).rev() {
                value = Sym::ite(taken, row.values.get(column).unwrap_or(&nothing), &value);
            }
            let value = self.ctx.named_sym(value, *ty, "column");
            self.store(*variable, &value, *ty)?;
        }
        Ok(())
    }

    /// The row that is taken has no other before it.
    fn first_by(&mut self, rows: &[Answered], taken: &[Term], order: &[OrderKey]) -> Result<()> {
        if order.is_empty() {
            return Ok(());
        }
        for (i, row) in rows.iter().enumerate() {
            for (j, other) in rows.iter().enumerate().filter(|(j, _)| *j != i) {
                let before = self.precedes(&other.keys, &row.keys, order)?;
                debug_assert!(i != j, "a row is not compared with itself");
                self.guard.push(Term::and([taken[i].clone(), other.guard.clone()]).implies(before.not()));
            }
        }
        Ok(())
    }

    fn precedes(&mut self, a: &[Sym], b: &[Sym], order: &[OrderKey]) -> Result<Term> {
        let mut precedes = Term::False;
        for ((a, b), key) in a.iter().zip(b).zip(order).rev() {
            let pair = if key.descending { (b, a) } else { (a, b) };
            let values = less(self.ctx, pair, key.expr.ty)?.is_true();
            let (first, last) = if key.nulls_first { (a, b) } else { (b, a) };
            let nulls = Term::and([first.null.clone(), last.null.clone().not()]);
            precedes = Term::or([nulls, values, Term::and([a.same(b), precedes])]);
        }
        Ok(self.ctx.named_truth(precedes, "precedes"))
    }

    /// The rows that a loop will come to. Of a query over one table, each is the row of a slot.
    pub(super) fn opened(&mut self, query: &Query) -> Result<Vec<CursorRow>> {
        plain(query)?;
        let single = match &query.body {
            QueryBody::Select(select) => match select.rels.as_slice() {
                [rel] if select.grouping.is_none() => match rel.source {
                    RelSource::Table(table) => Some(table),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        let Some(table) = single else {
            let rows = self.evaluator().rows(query)?;
            return Ok(rows
                .into_iter()
                .map(|row| CursorRow { slot: None, pending: row.guard, values: row.values })
                .collect());
        };
        let mut opened = Vec::new();
        for slot in self.before.db.slots(table).to_vec() {
            let row = self.evaluator().row_of(query, &(slot.alive.clone(), slot.columns.clone()))?;
            let row = row.map(|row| CursorRow { slot: Some(slot.id), pending: row.guard, values: row.values });
            opened.extend(row);
        }
        Ok(opened)
    }

    /// The next row of a loop: any that is left.
    pub(super) fn fetch(&mut self, cursor: usize, into: &[(usize, Type)]) -> Result<()> {
        let rows = self.before.cursors.get(&cursor).cloned().unwrap_or_default();
        if rows.is_empty() {
            self.guard.push(Term::False);
            return Ok(());
        }
        let chosen = choice(self.ctx, rows.len());
        let taken: Vec<Term> = (0..rows.len()).map(|i| chosen.clone().equal(Term::Int(i as i128))).collect();
        self.guard
            .push(Term::or(taken.iter().zip(&rows).map(|(is, row)| Term::and([is.clone(), row.pending.clone()]))));
        for (column, (variable, ty)) in into.iter().enumerate() {
            let sort = sort_of(*ty).ok_or_else(|| Refusal::new("a row as a value"))?;
            // A variable beyond the last column becomes NULL.
            let nothing = Sym::null(&sort);
            let mut value = nothing.clone();
            for (row, taken) in rows.iter().zip(&taken).rev() {
                value = Sym::ite(taken, row.values.get(column).unwrap_or(&nothing), &value);
            }
            let value = self.ctx.named_sym(value, *ty, "column");
            self.store(*variable, &value, *ty)?;
        }
        let mut left = rows;
        for (row, taken) in left.iter_mut().zip(taken) {
            let pending = Term::and([row.pending.clone(), taken.not()]);
            row.pending = self.ctx.named_truth(pending, "pending");
        }
        self.after.cursors.insert(cursor, left);
        Ok(())
    }
}
