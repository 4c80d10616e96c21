//! The predicates to begin with: what SQL itself suggests.
//!
//! Nearly every procedure is about the same few things: the rule, of an arbitrary row (`ok`); whether that row is the
//! one a statement looks up or writes (`hit`); if so, that a variable still holds what was read of it (`link`); what
//! the procedure branches on (`grd`); and the rule as a statement is going to leave it (`eff`, its weakest
//! precondition). With these most proofs need no refinement at all. None of them has to be right: they are only looked
//! at where the variables that they name are still read.

use std::collections::BTreeMap;

use isolde_smt::Term;
use isolde_sql::catalog::TableId;
use isolde_sql::typed::{Expr, ExprKind, Query, QueryBody, RelSource, Select, StatementKind};

use super::formula::{comparisons, pushed, written_out};
use super::{Origin, Predicate, Subject, named};
use crate::horn::{arbitrary, called, called_pending, called_row, kept};
use crate::ir::Action;
use crate::logic::{Context, Evaluator, Level, Result, Sym, conjuncts};
use crate::state::{Db, Slot, State};
use crate::step::step;
use crate::universal::Universal;

/// The predicates that the rule and the statements suggest.
pub fn seeds(subject: &Subject<'_>) -> Vec<Predicate> {
    let Some(universal) = Universal::of(subject.program.catalog(), &subject.rule.query) else { return Vec::new() };
    let rows = arbitrary(subject.program, subject.graph, subject.rule, &universal);
    let state = state(subject, &rows);
    let mut planter = Planter { subject, universal, rows, state, found: Vec::new() };
    planter.rule();
    for edge in &subject.graph.edges {
        // What cannot be expressed suggests nothing.
        let _ = planter.action(&edge.action);
    }
    planter.assumptions();
    let mut found = planter.found;
    found.sort_by_key(|(origin, _)| *origin);
    let asked = |term: &Term| subject.cuts.iter().any(|cut| subject.speaks_at(term, *cut));
    named(found.into_iter().filter(|(_, term)| term.size() < 60 && asked(term)), &[])
}

struct Planter<'s, 'a> {
    subject: &'s Subject<'a>,
    universal: Universal,
    rows: BTreeMap<TableId, usize>,
    /// The variables and one arbitrary row of each table, under their own names.
    state: State,
    found: Vec<(Origin, Term)>,
}

/// A value under its own name.
fn named_value(name: &str, not_null: bool) -> Sym {
    let null = if not_null { Term::False } else { Term::constant(format!("{name} is null")) };
    Sym { null, value: Term::constant(name) }
}

/// The state in which everything is called what it is called.
fn state(subject: &Subject<'_>, rows: &BTreeMap<TableId, usize>) -> State {
    let mut db = Db::default();
    for (table, count) in rows {
        let table = subject.program.catalog().table(*table);
        let slot = |place: usize| {
            let row = called_row(table, place, *count);
            let columns = table.columns.iter().map(|c| named_value(&format!("{row}.{}", c.name), c.not_null));
            Slot { id: place, alive: Term::constant(format!("{row} exists")), columns: columns.collect() }
        };
        db.tables.insert(table.id, (0..*count).map(slot).collect());
    }
    let variables = (0..subject.graph.variables.len())
        .map(|at| named_value(&called(subject.graph, at), subject.graph.variables[at].not_null));
    let variables = variables.collect();
    State::new(variables, db)
}

impl Planter<'_, '_> {
    fn context(&self) -> Context {
        self.context_in(&self.state)
    }

    /// Where the numbers that the rule observes of its row go by their names.
    fn context_in(&self, state: &State) -> Context {
        let mut ctx = Context::new();
        ctx.functions = false;
        let catalog = self.subject.program.catalog();
        if let Some(row) = self.universal.tables.first().and_then(|table| state.db.slots(*table).first()) {
            let observed = self.universal.observed.iter();
            observed.for_each(|number| number.go_by_name(&mut ctx, catalog, state, &row.columns));
        }
        ctx
    }

    /// The state without arbitrary rows of tables that are only counted: their number is what matters.
    fn bare(&self) -> State {
        let mut state = self.state.clone();
        for number in self.universal.observed.iter().filter(|number| !self.universal.tables.contains(&number.table)) {
            state.db.tables.insert(number.table, Vec::new());
        }
        state
    }

    fn note(&mut self, ctx: &Context, origin: Origin, term: &Term) {
        self.found.push((origin, pushed(&written_out(term, &ctx.script))));
    }

    /// The rule, of the arbitrary row.
    fn rule(&mut self) {
        let state = self.bare();
        let mut ctx = self.context_in(&state);
        if let Ok(holds) = kept(&mut ctx, self.subject.program, &self.universal, &state, &state.db.tables) {
            self.note(&ctx, Origin::Rule, &holds);
        }
    }

    fn action(&mut self, action: &Action) -> Result<()> {
        match action {
            Action::Assume(condition, true) => self.branch(condition),
            Action::Read(read) => self.read(&read.query, &read.into, read.found),
            Action::Open(cursor, query) => self.opened(*cursor, query),
            Action::Write(write) => {
                let hits = match &write.statement.kind {
                    StatementKind::Update(update) => self.hits(&update.select)?,
                    StatementKind::Delete(delete) => self.hits(&delete.select)?,
                    _ => Vec::new(),
                };
                self.effect(action, &hits)
            }
            _ => Ok(()),
        }
    }

    /// What is branched on, one condition at a time.
    fn branch(&mut self, condition: &Expr) -> Result<()> {
        for part in conjuncts(condition) {
            let mut ctx = self.context();
            let catalog = self.subject.program.catalog();
            let holds = Evaluator { ctx: &mut ctx, catalog, state: &self.state, levels: Vec::new() }.is_true(part)?;
            self.note(&ctx, Origin::Branch, &holds);
        }
        Ok(())
    }

    /// What callers promise, and parameters that are not NULL.
    fn assumptions(&mut self) {
        let program = self.subject.program;
        let graph = self.subject.graph;
        let variable = |at: usize| graph.variables.iter().position(|v| v.input == Some(at));
        let params = program.catalog().routine(graph.routine).params.len();
        let given =
            (0..params).map(|at| variable(at).map_or_else(|| Sym::truth(false), |v| self.state.variables[v].clone()));
        let scope = State { variables: given.collect(), ..self.state.clone() };
        for assumption in crate::exact::assumptions(program, graph) {
            for part in conjuncts(&assumption.condition) {
                let mut ctx = self.context();
                let mut evaluator =
                    Evaluator { ctx: &mut ctx, catalog: program.catalog(), state: &scope, levels: Vec::new() };
                if let Ok(holds) = evaluator.is_true(part) {
                    self.note(&ctx, Origin::Branch, &holds);
                }
            }
        }
    }

    /// The row is one that a statement is about; for each arbitrary row of its table.
    fn hits(&mut self, select: &Select) -> Result<Vec<(Term, Slot)>> {
        let Some(RelSource::Table(table)) = select.rels.first().map(|rel| &rel.source) else { return Ok(Vec::new()) };
        if select.rels.len() != 1 || select.grouping.is_some() {
            return Ok(Vec::new());
        }
        let mut hits = Vec::new();
        for slot in self.state.db.slots(*table).to_vec() {
            let mut ctx = self.context();
            let level = Level::of([slot.columns.clone()]);
            let catalog = self.subject.program.catalog();
            let mut evaluator = Evaluator { ctx: &mut ctx, catalog, state: &self.state, levels: vec![level] };
            let chosen = select.filter.as_ref().map_or(Ok(Term::True), |filter| evaluator.is_true(filter))?;
            let hit = written_out(&Term::and([slot.alive.clone(), chosen]), &ctx.script);
            self.note(&ctx, Origin::Hit, &hit);
            hits.push((hit, slot));
        }
        Ok(hits)
    }

    /// If the row was read, the variables hold its columns, and FOUND says so.
    fn read(&mut self, query: &Query, into: &[(usize, isolde_sql::Type)], found: Option<usize>) -> Result<()> {
        let QueryBody::Select(select) = &query.body else { return Ok(()) };
        if select.grouping.is_some() {
            return self.counted(query, into);
        }
        for (hit, slot) in self.hits(select)? {
            for ((variable, _), column) in into.iter().zip(&select.projection) {
                let mut ctx = self.context();
                let level = Level::of([slot.columns.clone()]);
                let catalog = self.subject.program.catalog();
                let mut evaluator = Evaluator { ctx: &mut ctx, catalog, state: &self.state, levels: vec![level] };
                let value = evaluator.expr(column)?;
                let holds = self.state.variables[*variable].same(&value);
                self.note(&ctx, Origin::Link, &hit.clone().implies(holds));
            }
            if let Some(found) = found {
                let holds = self.state.variables[found].is_true();
                self.found.push((Origin::Link, pushed(&hit.implies(holds))));
            }
        }
        Ok(())
    }

    /// If what was counted is what the rule counts, a variable holds that number.
    fn counted(&mut self, query: &Query, into: &[(usize, isolde_sql::Type)]) -> Result<()> {
        let state = self.bare();
        let mut ctx = self.context_in(&state);
        let catalog = self.subject.program.catalog();
        let rows = Evaluator { ctx: &mut ctx, catalog, state: &state, levels: Vec::new() }.rows(query)?;
        for ((variable, _), value) in rows.iter().flat_map(|row| into.iter().zip(&row.values)) {
            for number in &self.universal.observed {
                let name = Term::constant(number.name.as_str());
                if let Some(when) = choice_of(&written_out(&value.value, &ctx.script), &name) {
                    let holds = self.state.variables[*variable].same(&Sym::known(name));
                    self.found.push((Origin::Link, pushed(&when.implies(holds))));
                }
            }
        }
        Ok(())
    }

    /// What a loop over rows asks of them holds of what it reads: of the row at hand, and of those that it will come
    /// to.
    fn opened(&mut self, cursor: usize, query: &Query) -> Result<()> {
        let QueryBody::Select(select) = &query.body else { return Ok(()) };
        let ([rel], Some(filter), None) = (select.rels.as_slice(), &select.filter, &select.grouping) else {
            return Ok(());
        };
        let RelSource::Table(table) = rel.source else { return Ok(()) };
        let read = |column: usize| {
            let is =
                |e: &Expr| matches!(e.kind, ExprKind::Column { depth: 0, rel: 0, col } if usize::from(col) == column);
            select.projection.iter().position(is)
        };
        let columns = self.subject.program.catalog().table(table).columns.len();
        // A column that is not read has a name that nothing else has.
        let row = |value: &dyn Fn(usize) -> Sym| {
            let each = (0..columns).map(|column| read(column).map_or_else(|| named_value("not read", false), value));
            each.collect::<Vec<Sym>>()
        };
        let mut rows: Vec<(Term, Vec<Sym>)> = Vec::new();
        for edge in &self.subject.graph.edges {
            if let Action::Fetch(other, into) = &edge.action
                && *other == cursor
            {
                // A column beyond the last variable is dropped.
                let taken = |n: usize| into.get(n).map(|(variable, _)| self.state.variables[*variable].clone());
                rows.push((Term::True, row(&|n| taken(n).unwrap_or_else(|| named_value("not read", false)))));
            }
        }
        let count = self.rows.get(&table).copied().unwrap_or(0);
        for place in 0..count {
            let name = called_row(self.subject.program.catalog().table(table), place, count);
            let (comes, read) = called_pending(cursor, &name);
            rows.push((Term::constant(comes), row(&|n| named_value(&read(n), false))));
        }
        for (when, columns) in rows {
            for part in conjuncts(filter) {
                let mut ctx = self.context();
                let catalog = self.subject.program.catalog();
                let levels = vec![Level::of([columns.clone()])];
                let holds = Evaluator { ctx: &mut ctx, catalog, state: &self.state, levels }.is_true(part)?;
                self.note(&ctx, Origin::Branch, &when.clone().implies(holds));
            }
        }
        Ok(())
    }

    /// The comparisons in the rule as it is after a statement, except those that say which rows it is about: of these
    /// rows.
    fn effect(&mut self, action: &Action, hits: &[(Term, Slot)]) -> Result<()> {
        let counts = self.universal.observed.iter().any(|number| writes_rows_of(action, number.table));
        let state = if counts { self.state.clone() } else { self.bare() };
        let mut ctx = self.context_in(&state);
        let after = step(&mut ctx, self.subject.program.catalog(), self.subject.graph, &state, action, false)?;
        let rows = self.rows.iter().map(|(table, count)| {
            let slots = after.state.db.slots(*table);
            (*table, slots[..(*count).min(slots.len())].to_vec())
        });
        let rows = rows.collect();
        let holds = kept(&mut ctx, self.subject.program, &self.universal, &after.state, &rows)?;
        let holds = pushed(&written_out(&holds, &ctx.script));
        let about: Vec<Term> = self.found.iter().flat_map(|(_, term)| comparisons(term)).collect();
        if !self.universal.observed.is_empty() {
            // Rows that this statement is about may break the rule for a while, others do not.
            let ok = self.found.iter().find(|(origin, _)| *origin == Origin::Rule).map(|(_, ok)| ok.clone());
            let others =
                hits.iter().zip(ok).map(|((hit, _), ok)| (Origin::Effect, pushed(&Term::or([hit.clone(), ok]))));
            self.found.extend(others.collect::<Vec<_>>());
        }
        let new = comparisons(&holds).into_iter().filter(|part| !about.contains(part) && part.size() < 12);
        for part in new {
            let of_rows = hits.iter().map(|(hit, _)| pushed(&hit.clone().implies(part.clone())));
            let seeds: Vec<Term> = if hits.is_empty() { vec![part.clone()] } else { of_rows.collect() };
            self.found.extend(seeds.into_iter().map(|seed| (Origin::Effect, seed)));
        }
        Ok(())
    }
}

/// An action changes or removes rows of a table that were there.
fn writes_rows_of(action: &Action, table: TableId) -> bool {
    let Action::Write(write) = action else { return false };
    match &write.statement.kind {
        StatementKind::Update(update) => update.table == table,
        StatementKind::Delete(delete) => delete.table == table,
        _ => false,
    }
}

/// When a choice between values comes to this one.
fn choice_of(term: &Term, value: &Term) -> Option<Term> {
    match term {
        Term::Ite(when, then, _) if **then == *value => Some((**when).clone()),
        Term::Ite(when, _, otherwise) => {
            choice_of(otherwise, value).map(|then| Term::and([(**when).clone().not(), then]))
        }
        _ => None,
    }
}
