//! INSERT, UPDATE, DELETE and TRUNCATE on the tracked rows.

use std::sync::Arc;

use isolde_smt::{Sort, Term};
use isolde_sql::SqlState;
use isolde_sql::ast::Deferral;
use isolde_sql::catalog::{Index, Table, TableId};
use isolde_sql::typed::{Delete, Insert, OnConflict, QueryBody, Returning, Select, StatementKind, Update};

use super::Stepper;
use super::constraint::children;
use crate::ir::Write;
use crate::logic::{
    Answered, Level, Refusal, Residue, Result, Sym, Tuple, choice, conjuncts, key_equality, pins_unique_key, plain,
};
use crate::state::Slot;

/// A row that a statement has touched.
pub(super) struct Touched {
    /// Whether it has.
    pub(super) hit: Term,
    /// The row before; nothing for a new one.
    pub(super) old: Option<Slot>,
    /// Its place among the slots.
    pub(super) at: usize,
    /// The columns of the other relations that it was joined with.
    others: Vec<Option<Vec<Sym>>>,
}

/// What a row was joined with, if that is not open.
fn joined(choices: &[Tuple]) -> Vec<Option<Vec<Sym>>> {
    match choices {
        [(_, rows)] => rows.clone(),
        _ => vec![None; choices.first().map_or(1, |(_, rows)| rows.len())],
    }
}

impl Touched {
    /// A row that a foreign key has touched.
    pub(super) fn cascaded(hit: Term, old: Slot, at: usize) -> Touched {
        Touched { hit, old: Some(old), at, others: Vec::new() }
    }
}

impl Stepper<'_> {
    pub(super) fn write(&mut self, write: &Write) -> Result<()> {
        let (table, touched, returning, pinned) = match &write.statement.kind {
            StatementKind::Insert(insert) => (insert.table, self.insert(insert)?, insert.returning.as_ref(), true),
            StatementKind::Update(update) => {
                let pinned = self.is_pinned(update.table, &update.select);
                (update.table, self.update(update, pinned)?, update.returning.as_ref(), pinned)
            }
            StatementKind::Delete(delete) => {
                let pinned = self.is_pinned(delete.table, &delete.select);
                (delete.table, self.delete(delete, pinned)?, delete.returning.as_ref(), pinned)
            }
            StatementKind::Truncate(truncate) => {
                return truncate.tables.iter().try_for_each(|table| self.truncate(*table));
            }
            _ => return Err(Refusal::new("this statement")),
        };
        self.end_statement();
        let any = Term::or(touched.iter().map(|row| row.hit.clone()));
        let any = self.ctx.named_truth(any, "touched");
        if let Some(count) = write.count {
            let ones = touched.iter().map(|row| row.hit.clone().ite(Term::Int(1), Term::Int(0)));
            let mut total = ones.fold(Term::Int(0), Term::plus);
            if !pinned && self.ctx.residues {
                let rest = self.ctx.fresh(&Sort::Int, "rest");
                self.ctx.say(Term::Int(0).at_most(rest.clone()));
                total = total.plus(rest);
            }
            self.store(count, &Sym::known(total), isolde_sql::Type::Int8)?;
        }
        if let Some(returning) = returning.filter(|_| !write.into.is_empty() || write.strict) {
            let rows =
                self.returned(table, &touched, returning, matches!(write.statement.kind, StatementKind::Delete(_)))?;
            if write.strict {
                self.ctx.fails(SqlState::NO_DATA_FOUND, any.clone().not());
            }
            self.at_most_one(&rows, SqlState::TOO_MANY_ROWS);
            self.take(&rows, &write.into, true, &[])?;
        }
        self.set_found(write.found, &any);
        Ok(())
    }

    /// Whether a statement touches one row at most, found by its key.
    fn is_pinned(&self, table: TableId, select: &Select) -> bool {
        select.rels.len() == 1 && pins_unique_key(self.catalog, table, select.filter.as_ref())
    }

    /// The rows that RETURNING gives.
    fn returned(
        &mut self,
        table: TableId,
        touched: &[Touched],
        returning: &Returning,
        deleted: bool,
    ) -> Result<Vec<Answered>> {
        let mut rows = Vec::new();
        for row in touched {
            let columns = match (&row.old, deleted) {
                (Some(old), true) => old.columns.clone(),
                _ => self.after.db.slots(table)[row.at].columns.clone(),
            };
            let mut level = Level { rows: row.others.clone(), ..Level::default() };
            if level.rows.is_empty() {
                level.rows.push(None);
            }
            level.rows[0] = Some(columns);
            let values =
                self.evaluator().within(level, &row.hit, |e| returning.exprs.iter().map(|x| e.expr(x)).collect())?;
            rows.push(Answered { guard: row.hit.clone(), values, keys: Vec::new() });
        }
        Ok(rows)
    }

    fn table(&self, id: TableId) -> Result<Arc<Table>> {
        let table = self.catalog.table(id).clone();
        if let Some(trigger) = table.triggers.iter().find(|trigger| trigger.enabled) {
            return Err(Refusal::new(format!("the trigger {} on {}", trigger.name, table.name)));
        }
        if !self.after.db.tables.contains_key(&id) {
            return Err(Refusal::new(format!("{}, which is not tracked", table.name)));
        }
        Ok(table)
    }

    // UPDATE

    fn update(&mut self, update: &Update, pinned: bool) -> Result<Vec<Touched>> {
        if !update.with.is_empty() || !update.view_checks.is_empty() {
            return Err(Refusal::new("WITH, or a view with CHECK OPTION"));
        }
        let table = self.table(update.table)?;
        let mut touched = Vec::new();
        for (at, slot) in self.before.db.slots(update.table).to_vec().into_iter().enumerate() {
            let (hit, choices) = self.matches(&slot, &update.select)?;
            if hit == Term::False {
                continue;
            }
            let mut columns = slot.columns.clone();
            let mut values: Vec<Vec<Sym>> = Vec::new();
            for (guard, rows) in &choices {
                let level = Level { rows: rows.clone(), ..Level::default() };
                values.push(
                    self.evaluator().within(level, guard, |e| update.set.iter().map(|(_, x)| e.expr(x)).collect())?,
                );
            }
            for (n, (column, _)) in update.set.iter().enumerate() {
                let mut value = slot.columns[*column].clone();
                for ((guard, _), values) in choices.iter().zip(&values).rev() {
                    value = Sym::ite(guard, &values[n], &value);
                }
                columns[*column] = self.ctx.named_sym(value, table.columns[*column].ty, &table.columns[*column].name);
            }
            self.generate(&table, &hit, &mut columns)?;
            let others = joined(&choices);
            touched.push(Touched { hit, old: Some(slot.clone()), at, others });
            self.slots(update.table)[at].columns = columns;
        }
        let set: Vec<usize> = update.set.iter().map(|(column, _)| *column).collect();
        if !pinned {
            self.touch_rest(update.table, Some(set.clone()));
        }
        self.constrain(&table, &touched, Some(&set))?;
        self.keys_changed(&table, &touched, &set, !pinned, 0)?;
        Ok(touched)
    }

    /// Whether a statement touches a row, and with which combination of the other relations: exactly one is chosen.
    fn matches(&mut self, slot: &Slot, select: &Select) -> Result<(Term, Vec<Tuple>)> {
        let target = (slot.alive.clone(), slot.columns.clone());
        let mut tuples = self.evaluator().tuples_of(select, Some(&target))?;
        let hit = Term::or(tuples.iter().map(|(guard, _)| guard.clone()));
        let hit = self.ctx.named_truth(hit, "hit");
        if tuples.len() > 1 {
            let chosen = choice(self.ctx, tuples.len());
            for (i, (guard, _)) in tuples.iter_mut().enumerate() {
                *guard = Term::and([chosen.clone().equal(Term::Int(i as i128)), guard.clone()]);
            }
            self.guard.push(hit.clone().implies(Term::or(tuples.iter().map(|(guard, _)| guard.clone()))));
        }
        Ok((hit, tuples))
    }

    /// Fills in the columns that are computed from others.
    pub(super) fn generate(&mut self, table: &Table, hit: &Term, columns: &mut [Sym]) -> Result<()> {
        for (at, column) in table.columns.iter().enumerate() {
            if let Some(generated) = &column.generated {
                let level = Level::of([columns.to_vec()]);
                columns[at] = self.evaluator().within(level, hit, |e| e.expr(&generated.expr))?;
            }
        }
        Ok(())
    }

    pub(super) fn slots(&mut self, table: TableId) -> &mut Vec<Slot> {
        self.after.db.tables.entry(table).or_default()
    }

    // DELETE

    fn delete(&mut self, delete: &Delete, pinned: bool) -> Result<Vec<Touched>> {
        if !delete.with.is_empty() {
            return Err(Refusal::new("WITH"));
        }
        let table = self.table(delete.table)?;
        let mut touched = Vec::new();
        for (at, slot) in self.before.db.slots(delete.table).to_vec().into_iter().enumerate() {
            let (hit, choices) = self.matches(&slot, &delete.select)?;
            if hit == Term::False {
                continue;
            }
            let alive = Term::and([slot.alive.clone(), hit.clone().not()]);
            self.slots(delete.table)[at].alive = self.ctx.named_truth(alive, "alive");
            let others = joined(&choices);
            touched.push(Touched { hit, old: Some(slot), at, others });
        }
        if !pinned {
            self.clear_rest(delete)?;
        }
        self.gone(&table, &touched, 0)?;
        Ok(touched)
    }

    fn truncate(&mut self, id: TableId) -> Result<()> {
        let table = self.table(id)?;
        if self.catalog.tables().any(|child| child.id != id && child.foreign_keys.iter().any(|fk| fk.parent == id)) {
            return Err(Refusal::new(format!("TRUNCATE of {}, to which a foreign key points", table.name)));
        }
        self.slots(id).iter_mut().for_each(|slot| slot.alive = Term::False);
        self.after.db.rest.insert(
            id,
            Arc::new(Residue::Cleared {
                before: Arc::new(Residue::Rows(0)),
                when: Term::True,
                columns: Vec::new(),
                key: Vec::new(),
            }),
        );
        Ok(())
    }

    /// What a delete does to rows that are not tracked.
    fn clear_rest(&mut self, delete: &Delete) -> Result<()> {
        let parts = delete.select.filter.as_ref().map(conjuncts).unwrap_or_default();
        let pairs: Option<Vec<(usize, _)>> = parts.into_iter().map(key_equality).collect();
        let Some(pairs) = pairs.filter(|_| delete.select.rels.len() == 1) else {
            self.touch_rest(delete.table, None);
            return Ok(());
        };
        let mut key = Vec::new();
        for (_, expr) in &pairs {
            key.push(
                self.evaluator()
                    .within(Level { rows: vec![None], ..Level::default() }, &Term::True, |e| e.expr(expr))?,
            );
        }
        let columns = pairs.iter().map(|(column, _)| *column).collect();
        self.change_rest(delete.table, |before| Residue::Cleared { before, when: Term::True, columns, key });
        Ok(())
    }

    /// Rows that are not tracked may have been changed in these columns.
    pub(super) fn touch_rest(&mut self, table: TableId, columns: Option<Vec<usize>>) {
        let number = self.ctx.number();
        self.change_rest(table, |before| Residue::Touched { before, when: Term::True, columns, number });
    }

    fn change_rest(&mut self, table: TableId, change: impl FnOnce(Arc<Residue>) -> Residue) {
        if let Some(rest) = self.after.db.rest.get_mut(&table) {
            *rest = Arc::new(change(rest.clone()));
        }
    }

    // INSERT

    fn insert(&mut self, insert: &Insert) -> Result<Vec<Touched>> {
        if !insert.with.is_empty() || !insert.view_checks.is_empty() {
            return Err(Refusal::new("WITH, or a view with CHECK OPTION"));
        }
        let table = self.table(insert.table)?;
        let deferrable = |index: &&Index| index.unique && index.deferral != Deferral::NotDeferrable;
        if let Some(index) = table.indexes.iter().find(deferrable).filter(|_| insert.on_conflict.is_some()) {
            return Err(Refusal::new(format!("ON CONFLICT beside the deferrable constraint {}", index.name)));
        }
        plain(&insert.source)?;
        let bare = match &insert.source.body {
            QueryBody::Values(_) => true,
            QueryBody::Select(select) => select.is_bare(),
            QueryBody::SetOperation { .. } => false,
        };
        if !bare {
            self.touch_rest(insert.table, None);
        }
        let source = self.evaluator().rows(&insert.source)?;
        let several = !bare || source.len() > 1;
        let mut touched = Vec::new();
        for row in source {
            let level = Level::of([row.values.clone()]);
            let guard = row.guard.clone();
            let values = self
                .evaluator()
                .within(level, &guard, |e| insert.values.iter().map(|x| e.expr(x)).collect::<Result<Vec<_>>>())?;
            let named = values.into_iter().zip(&table.columns);
            let mut columns: Vec<Sym> = named.map(|(value, c)| self.ctx.named_sym(value, c.ty, &c.name)).collect();
            self.generate(&table, &guard, &mut columns)?;
            self.insert_row(&table, insert.on_conflict.as_ref(), guard, columns, &mut touched)?;
        }
        if several && insert.on_conflict.as_ref().is_some_and(|c| c.update.is_some()) {
            // A row that the same statement has already written cannot be written again.
            self.ctx.may_fail(Some(SqlState::CARDINALITY_VIOLATION), Term::True);
        }
        self.constrain(&table, &touched, None)?;
        Ok(touched)
    }

    fn insert_row(
        &mut self,
        table: &Table,
        on_conflict: Option<&OnConflict>,
        guard: Term,
        columns: Vec<Sym>,
        touched: &mut Vec<Touched>,
    ) -> Result<()> {
        let mut alive = guard;
        if let Some(on_conflict) = on_conflict {
            let mut conflicts = Vec::new();
            for at in 0..self.after.db.slots(table.id).len() {
                let slot = self.after.db.slots(table.id)[at].clone();
                let same = self.conflicts(table, on_conflict, &slot, &columns)?;
                let conflict = self.ctx.named_truth(Term::and([alive.clone(), slot.alive.clone(), same]), "conflict");
                if conflict == Term::False {
                    continue;
                }
                if let Some(update) = &on_conflict.update {
                    let level = Level::of([slot.columns.clone(), columns.clone()]);
                    let (set, wanted) = self.evaluator().within(level, &conflict, |e| {
                        let wanted = update.filter.as_ref().map_or(Ok(Term::True), |filter| e.is_true(filter))?;
                        Ok((update.set.iter().map(|(_, x)| e.expr(x)).collect::<Result<Vec<_>>>()?, wanted))
                    })?;
                    let hit = self.ctx.named_truth(Term::and([conflict.clone(), wanted]), "hit");
                    let mut new = slot.columns.clone();
                    for ((column, _), value) in update.set.iter().zip(&set) {
                        let value = Sym::ite(&hit, value, &new[*column]);
                        new[*column] =
                            self.ctx.named_sym(value, table.columns[*column].ty, &table.columns[*column].name);
                    }
                    self.generate(table, &hit, &mut new)?;
                    self.slots(table.id)[at].columns = new;
                    touched.push(Touched { hit, old: Some(slot), at, others: Vec::new() });
                }
                conflicts.push(conflict);
            }
            alive = Term::and([alive, Term::or(conflicts).not()]);
        }
        let alive = self.ctx.named_truth(alive, "inserted");
        let id = self.ctx.number();
        self.slots(table.id).push(Slot { id, alive: alive.clone(), columns });
        let at = self.after.db.slots(table.id).len() - 1;
        self.no_children(table, at);
        touched.push(Touched { hit: alive, old: None, at, others: Vec::new() });
        Ok(())
    }

    /// A row with a new key has no children, where a foreign key has seen to that: among rows that are not tracked,
    /// there are none.
    fn no_children(&mut self, table: &Table, at: usize) {
        for (child, fk) in children(self.catalog, table.id) {
            if fk.validated && fk.deferral == Deferral::NotDeferrable {
                let Slot { alive: when, columns, .. } = self.after.db.slots(table.id)[at].clone();
                let key = fk.parent_columns.iter().map(|column| columns[*column].clone()).collect();
                self.change_rest(child, |before| Residue::Cleared { before, when, columns: fk.columns, key });
            }
        }
    }

    /// Whether a row that is there has the key of a new one, in the indexes that arbitrate.
    fn conflicts(&self, table: &Table, on_conflict: &OnConflict, slot: &Slot, columns: &[Sym]) -> Result<Term> {
        let all: Vec<usize> = (0..table.indexes.len()).filter(|i| table.indexes[*i].unique).collect();
        let arbiters = if on_conflict.arbiters.is_empty() { &all } else { &on_conflict.arbiters };
        let mut any = Vec::new();
        for index in arbiters.iter().map(|i| &table.indexes[*i]) {
            if !index.is_plain() {
                return Err(Refusal::new(format!(
                    "ON CONFLICT by the index {}, over expressions or some rows",
                    index.name
                )));
            }
            any.push(Term::and(index.columns.iter().map(|c| match index.nulls_not_distinct {
                true => slot.columns[*c].same(&columns[*c]),
                false => slot.columns[*c].equals(&columns[*c]),
            })));
        }
        Ok(Term::or(any))
    }
}
