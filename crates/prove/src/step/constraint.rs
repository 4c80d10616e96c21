//! What the schema demands of rows, and what it does when rows go.
//!
//! A constraint that is violated is an error, so it cuts the path. One that is not looked at here (a deferred one, an
//! index over expressions) cuts nothing: more is then thought possible than is, which never makes an unsafe procedure
//! safe.

use isolde_smt::Term;
use isolde_sql::ast::{Deferral, ReferentialAction};
use isolde_sql::catalog::{Catalog, ForeignKey, Index, Table, TableId};
use isolde_sql::{SqlState, Type};

use super::Stepper;
use super::write::Touched;
use crate::logic::{Evaluator, Level, Refusal, Result, Sym, sort_of};
use crate::state::{Slot, State};

/// Rows that go may take others with them, and these others; deeper than this is a cycle.
const CASCADES_MAX: usize = 8;

/// What is known of tracked rows before anything happens: each meets the checks of its table, no two share a key, and
/// every child has its parent where parents are tracked for it.
pub(crate) fn valid(
    evaluator: &mut Evaluator<'_>,
    table: &Table,
    closed: &dyn Fn(&ForeignKey) -> bool,
) -> Result<Vec<Term>> {
    let slots = evaluator.state.db.slots(table.id).to_vec();
    let mut facts = Vec::new();
    for (i, slot) in slots.iter().enumerate() {
        for check in table.checks.iter().filter(|check| check.validated) {
            let level = Level::of([slot.columns.clone()]);
            // A check that cannot be evaluated has not let the row in.
            let (sym, failures) = {
                let before = std::mem::take(&mut evaluator.ctx.failures);
                evaluator.levels.push(level);
                let sym = evaluator.expr(&check.expr);
                evaluator.levels.pop();
                (sym, std::mem::replace(&mut evaluator.ctx.failures, before))
            };
            let fine = failures.into_iter().map(|failure| failure.certain.not());
            let fine = Term::and(fine.chain([sym?.is_false().not()]));
            facts.push(slot.alive.clone().implies(fine));
        }
        for index in table.indexes.iter().filter(|index| is_checked(index)) {
            for other in &slots[i + 1..] {
                // A key that cannot be evaluated has not let the row in.
                let (same, _) = {
                    let before = std::mem::take(&mut evaluator.ctx.failures);
                    let same = same_key(evaluator, index, slot, other);
                    (same, std::mem::replace(&mut evaluator.ctx.failures, before))
                };
                facts.push(Term::and([slot.alive.clone(), other.alive.clone(), same?]).not());
            }
        }
        for fk in table.foreign_keys.iter().filter(|fk| fk.validated && closed(fk)) {
            facts.push(slot.alive.clone().implies(has_parent(evaluator.state, fk, slot)));
        }
    }
    Ok(facts)
}

/// What deferred foreign keys demand when a transaction ends.
pub(crate) fn deferred(state: &State, table: &Table, closed: &dyn Fn(&ForeignKey) -> bool) -> Vec<Term> {
    let late = table.foreign_keys.iter().filter(|fk| fk.deferral == Deferral::Deferred && fk.validated && closed(fk));
    let slots = state.db.slots(table.id);
    late.flat_map(|fk| slots.iter().map(|slot| slot.alive.clone().implies(has_parent(state, fk, slot)))).collect()
}

/// Uniqueness that holds at any moment.
fn is_checked(index: &Index) -> bool {
    index.unique && index.deferral != Deferral::Deferred
}

/// The columns whose values decide whether an index lets a row in.
fn columns_of(index: &Index) -> &[usize] {
    index.special.as_ref().map_or(&index.columns, |special| &special.columns)
}

/// Whether two rows that are there are in each other's way: both are in the index, with equal keys.
fn same_key(evaluator: &mut Evaluator<'_>, index: &Index, a: &Slot, b: &Slot) -> Result<Term> {
    let equal = |a: &Sym, b: &Sym| if index.nulls_not_distinct { a.same(b) } else { a.equals(b) };
    let Some(special) = &index.special else {
        return Ok(Term::and(index.columns.iter().map(|c| equal(&a.columns[*c], &b.columns[*c]))));
    };
    let mut side = |slot: &Slot| {
        evaluator.within(Level::of([slot.columns.clone()]), &slot.alive, |e| {
            let inside = special.filter.as_ref().map_or(Ok(Term::True), |filter| e.is_true(filter))?;
            Ok((inside, special.keys.iter().map(|key| e.expr(key)).collect::<Result<Vec<_>>>()?))
        })
    };
    let ((in_a, keys_a), (in_b, keys_b)) = (side(a)?, side(b)?);
    let keys = keys_a.iter().zip(&keys_b).map(|(a, b)| equal(a, b));
    Ok(Term::and([in_a, in_b].into_iter().chain(keys)))
}

/// A row points nowhere, or at a row that is there.
fn has_parent(state: &State, fk: &ForeignKey, child: &Slot) -> Term {
    let nowhere = Term::or(fk.columns.iter().map(|c| child.columns[*c].null.clone()));
    let parents = state.db.slots(fk.parent).iter();
    let found = parents.map(|parent| Term::and([parent.alive.clone(), points_at(fk, child, &parent.columns)]));
    Term::or([nowhere].into_iter().chain(found))
}

fn points_at(fk: &ForeignKey, child: &Slot, parent: &[Sym]) -> Term {
    let pairs = fk.columns.iter().zip(&fk.parent_columns);
    Term::and(pairs.map(|(c, p)| child.columns[*c].equals(&parent[*p])))
}

/// The foreign keys that point at a table, with the tables they stand in.
pub(crate) fn children(catalog: &Catalog, parent: TableId) -> Vec<(TableId, ForeignKey)> {
    let each = |table: &std::sync::Arc<Table>| {
        let own = table.foreign_keys.iter().filter(|fk| fk.parent == parent);
        own.map(|fk| (table.id, fk.clone())).collect::<Vec<_>>()
    };
    catalog.tables().flat_map(each).collect()
}

/// Children of rows that are gone, to be looked at when the statement has ended.
pub(crate) struct Orphans {
    child: TableId,
    fk: ForeignKey,
    /// When each parent is gone, and what it was.
    left: Vec<(Term, Vec<Sym>)>,
}

impl Stepper<'_> {
    /// Rows that were written meet what their table demands. `set` are the columns that were changed; all of a new row.
    pub(super) fn constrain(&mut self, table: &Table, touched: &[Touched], set: Option<&[usize]>) -> Result<()> {
        let concerns = |columns: &[usize]| set.is_none_or(|set| columns.iter().any(|c| set.contains(c)));
        let slots = self.after.db.slots(table.id).to_vec();
        for row in touched {
            let slot = &slots[row.at];
            for (at, column) in table.columns.iter().enumerate().filter(|(_, column)| column.not_null) {
                let null = Term::and([row.hit.clone(), slot.columns[at].null.clone()]);
                self.ctx.fails(SqlState::NOT_NULL_VIOLATION, null);
                debug_assert!(column.not_null, "only such columns are looked at");
            }
            for check in &table.checks {
                let level = Level::of([slot.columns.clone()]);
                let fine = self.evaluator().within(level, &row.hit, |e| e.expr(&check.expr))?;
                self.ctx.fails(SqlState::CHECK_VIOLATION, Term::and([row.hit.clone(), fine.is_false()]));
            }
            for index in table.indexes.iter().filter(|index| is_checked(index) && concerns(columns_of(index))) {
                for (at, other) in slots.iter().enumerate().filter(|(at, _)| *at != row.at) {
                    let same = same_key(&mut self.evaluator(), index, slot, other)?;
                    let both = [row.hit.clone(), slot.alive.clone(), other.alive.clone(), same];
                    self.ctx.fails(SqlState::UNIQUE_VIOLATION, Term::and(both));
                    debug_assert!(at != row.at, "a row does not collide with itself");
                }
                // Rows are written one after another: one may get a key that another is about to give up.
                for other in touched.iter().filter(|other| other.at != row.at) {
                    let Some(old) = &other.old else { continue };
                    let same = same_key(&mut self.evaluator(), index, slot, old)?;
                    let meet = Term::and([row.hit.clone(), other.hit.clone(), same]);
                    self.ctx.may_fail(Some(SqlState::UNIQUE_VIOLATION), meet);
                }
            }
            for fk in table.foreign_keys.iter().filter(|fk| fk.deferral != Deferral::Deferred && concerns(&fk.columns))
            {
                self.parent_there(fk, row, slot);
            }
        }
        Ok(())
    }

    fn parent_there(&mut self, fk: &ForeignKey, row: &Touched, slot: &Slot) {
        if !self.after.db.tables.contains_key(&fk.parent) {
            // Nothing is known about the parents, so either may be.
            self.ctx.may_fail(Some(SqlState::FOREIGN_KEY_VIOLATION), row.hit.clone());
            return;
        }
        let orphan = Term::and([row.hit.clone(), slot.alive.clone(), has_parent(&self.after, fk, slot).not()]);
        let unchanged =
            row.old.as_ref().map(|old| Term::and(fk.columns.iter().map(|c| old.columns[*c].same(&slot.columns[*c]))));
        let orphan = Term::and([orphan, unchanged.unwrap_or(Term::False).not()]);
        self.ctx.fails(SqlState::FOREIGN_KEY_VIOLATION, orphan);
    }

    /// What becomes of children whose parents are gone.
    pub(super) fn gone(&mut self, parent: &Table, touched: &[Touched], depth: usize) -> Result<()> {
        for (child, fk) in children(self.catalog, parent.id) {
            let left: Vec<(Term, Vec<Sym>)> =
                touched.iter().filter_map(|row| Some((row.hit.clone(), row.old.as_ref()?.columns.clone()))).collect();
            match fk.on_delete {
                ReferentialAction::NoAction | ReferentialAction::Restrict => self.orphans_fail(child, &fk, left),
                ReferentialAction::Cascade => self.cascade(child, &fk, &left, depth)?,
                ReferentialAction::SetNull => {
                    let columns = if fk.on_delete_columns.is_empty() { &fk.columns } else { &fk.on_delete_columns };
                    let nulls = columns.iter().map(|c| (*c, None)).collect::<Vec<_>>();
                    self.rewrite(child, &fk, &left, &nulls, depth)?;
                }
                ReferentialAction::SetDefault => return Err(Refusal::new("ON DELETE SET DEFAULT")),
            }
        }
        Ok(())
    }

    /// What becomes of children whose parents have another key; `several` says whether a statement may have given some
    /// to more than one.
    pub(super) fn keys_changed(
        &mut self,
        parent: &Table,
        touched: &[Touched],
        set: &[usize],
        several: bool,
        depth: usize,
    ) -> Result<()> {
        for (child, fk) in children(self.catalog, parent.id) {
            if !fk.parent_columns.iter().any(|c| set.contains(c)) {
                continue;
            }
            for row in touched {
                let Some(old) = &row.old else { continue };
                let new = self.after.db.slots(parent.id)[row.at].clone();
                let same = Term::and(fk.parent_columns.iter().map(|c| old.columns[*c].same(&new.columns[*c])));
                let left = [(Term::and([row.hit.clone(), same.not()]), old.columns.clone())];
                match fk.on_update {
                    ReferentialAction::NoAction | ReferentialAction::Restrict => {
                        self.orphans_fail(child, &fk, left.to_vec());
                    }
                    _ if several => {
                        // Children follow one parent after another: one that has followed may be met again.
                        return Err(Refusal::new("keys of several rows changed at once, where children follow them"));
                    }
                    ReferentialAction::Cascade => {
                        let pairs = fk.columns.iter().zip(&fk.parent_columns);
                        let values: Vec<_> = pairs.map(|(c, p)| (*c, Some(new.columns[*p].clone()))).collect();
                        self.rewrite(child, &fk, &left, &values, depth)?;
                    }
                    ReferentialAction::SetNull => {
                        let nulls: Vec<_> = fk.columns.iter().map(|c| (*c, None)).collect();
                        self.rewrite(child, &fk, &left, &nulls, depth)?;
                    }
                    ReferentialAction::SetDefault => return Err(Refusal::new("ON UPDATE SET DEFAULT")),
                }
            }
        }
        Ok(())
    }

    /// A child that still points at a row that is gone is an error, unless another row has that key when the statement
    /// has ended.
    fn orphans_fail(&mut self, child: TableId, fk: &ForeignKey, left: Vec<(Term, Vec<Sym>)>) {
        self.orphans.push(Orphans { child, fk: fk.clone(), left });
    }

    /// What foreign keys look at when a statement has ended, with all that it has brought about.
    pub(super) fn end_statement(&mut self) {
        for Orphans { child, fk, left } in std::mem::take(&mut self.orphans) {
            let restricts = [fk.on_delete, fk.on_update].contains(&ReferentialAction::Restrict);
            let deferred = fk.deferral == Deferral::Deferred;
            for (hit, parent) in left {
                // Children that are not tracked may be in the way as well.
                if !deferred {
                    self.ctx.may_fail(Some(SqlState::FOREIGN_KEY_VIOLATION), hit.clone());
                }
                if restricts {
                    self.ctx.may_fail(Some(SqlState::FOREIGN_KEY_VIOLATION), hit.clone());
                    self.ctx.may_fail(Some(SqlState::RESTRICT_VIOLATION), hit.clone());
                }
                if deferred || !self.after.db.tables.contains_key(&fk.parent) {
                    continue;
                }
                for slot in self.after.db.slots(child).to_vec() {
                    let points = points_at(&fk, &slot, &parent);
                    let orphan = [hit.clone(), slot.alive.clone(), points, has_parent(&self.after, &fk, &slot).not()];
                    self.ctx.fails(SqlState::FOREIGN_KEY_VIOLATION, Term::and(orphan));
                }
            }
        }
    }

    fn cascade(&mut self, child: TableId, fk: &ForeignKey, left: &[(Term, Vec<Sym>)], depth: usize) -> Result<()> {
        let table = self.followed(child, depth)?;
        let Some(table) = table else { return Ok(()) };
        let mut touched = Vec::new();
        for (at, slot) in self.after.db.slots(child).to_vec().into_iter().enumerate() {
            let points = left.iter().map(|(hit, parent)| Term::and([hit.clone(), points_at(fk, &slot, parent)]));
            let hit = self.ctx.named_truth(Term::and([slot.alive.clone(), Term::or(points)]), "cascade");
            if hit != Term::False {
                let alive = Term::and([slot.alive.clone(), hit.clone().not()]);
                self.slots(child)[at].alive = self.ctx.named_truth(alive, "alive");
                touched.push(Touched::cascaded(hit, slot, at));
            }
        }
        self.touch_rest(child, None);
        self.gone(&table, &touched, depth + 1)
    }

    /// Gives children of rows that are gone other values: NULL where none is said.
    fn rewrite(
        &mut self,
        child: TableId,
        fk: &ForeignKey,
        left: &[(Term, Vec<Sym>)],
        values: &[(usize, Option<Sym>)],
        depth: usize,
    ) -> Result<()> {
        let table = self.followed(child, depth)?;
        let Some(table) = table else { return Ok(()) };
        let mut touched = Vec::new();
        for (at, slot) in self.after.db.slots(child).to_vec().into_iter().enumerate() {
            let points = left.iter().map(|(hit, parent)| Term::and([hit.clone(), points_at(fk, &slot, parent)]));
            let hit = self.ctx.named_truth(Term::and([slot.alive.clone(), Term::or(points)]), "cascade");
            if hit == Term::False {
                continue;
            }
            let mut columns = slot.columns.clone();
            for (column, value) in values {
                let ty: Type = table.columns[*column].ty;
                let null = Sym::null(&sort_of(ty).ok_or_else(|| Refusal::new("a row as a value"))?);
                let value = Sym::ite(&hit, value.as_ref().unwrap_or(&null), &columns[*column]);
                columns[*column] = self.ctx.named_sym(value, ty, &table.columns[*column].name);
            }
            self.generate(&table, &hit, &mut columns)?;
            self.slots(child)[at].columns = columns;
            touched.push(Touched::cascaded(hit, slot, at));
        }
        let set: Vec<usize> = values.iter().map(|(column, _)| *column).collect();
        self.touch_rest(child, Some(set.clone()));
        self.constrain(&table, &touched, Some(&set))?;
        self.keys_changed(&table, &touched, &set, false, depth + 1)
    }

    /// A table whose rows change with those of another; nothing, if it is not tracked and so cannot matter.
    fn followed(&self, id: TableId, depth: usize) -> Result<Option<std::sync::Arc<Table>>> {
        let table = self.catalog.table(id).clone();
        if depth > CASCADES_MAX {
            return Err(Refusal::new(format!("foreign keys that go round in cycles through {}", table.name)));
        }
        if let Some(trigger) = table.triggers.iter().find(|trigger| trigger.enabled) {
            return Err(Refusal::new(format!("the trigger {} on {}", trigger.name, table.name)));
        }
        Ok(self.after.db.tables.contains_key(&id).then_some(table))
    }
}
