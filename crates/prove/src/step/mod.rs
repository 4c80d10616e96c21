//! What an action does to a state.
//!
//! [`step`] takes a state apart into terms, does the action on every tracked row, and says under which condition it
//! goes well and under which it may fail. It is exact for the tracked rows; that they stand for all rows is argued in
//! the crate's introduction.

pub(crate) mod constraint;
mod read;
mod write;

use isolde_smt::{Sort, Term};
use isolde_sql::catalog::Catalog;
use isolde_sql::typed::Catch;
use isolde_sql::{SqlState, Type};

use crate::ir::{Action, Graph};
use crate::logic::{Context, Evaluator, Result, Sym, stored};
use crate::state::State;

/// What comes of an action.
pub struct Stepped {
    /// When it goes well.
    pub guard: Term,
    /// The state then.
    pub state: State,
    /// When it may fail, and the state of the variables then; only if somebody handles it.
    pub failed: Option<(Term, State)>,
}

/// Does an action. `handled` says whether errors lead somewhere.
pub fn step(
    ctx: &mut Context,
    catalog: &Catalog,
    graph: &Graph,
    state: &State,
    action: &Action,
    handled: bool,
) -> Result<Stepped> {
    let outer = std::mem::take(&mut ctx.failures);
    let mut stepper =
        Stepper { ctx, catalog, graph, before: state, after: state.clone(), guard: Vec::new(), orphans: Vec::new() };
    let done = stepper.act(action);
    let Stepper { ctx, after, mut guard, .. } = stepper;
    let failures = std::mem::replace(&mut ctx.failures, outer);
    done?;
    guard.extend(failures.iter().map(|failure| failure.certain.clone().not()));
    let guard = ctx.named_truth(Term::and(guard), "goes");
    let failed = handled.then(|| {
        let error = ctx.fresh(&Sort::Int, "error");
        let which = failures.iter().map(|failure| match failure.state {
            Some(state) => Term::and([failure.possible.clone(), error.clone().equal(code(state))]),
            None => failure.possible.clone(),
        });
        let raised = match action {
            Action::Again => Term::True,
            _ => Term::or(which),
        };
        let error = if matches!(action, Action::Again) { state.error.clone() } else { error };
        (ctx.named_truth(raised, "fails"), State { error, ..state.clone() })
    });
    let failed = failed.filter(|(when, _)| *when != Term::False);
    Ok(Stepped { guard, state: after, failed })
}

/// An error as a number.
pub fn code(state: SqlState) -> Term {
    Term::Int(state.0.iter().fold(0i128, |number, byte| number * 256 + i128::from(*byte)))
}

/// At work on one action.
pub(super) struct Stepper<'a> {
    pub(super) ctx: &'a mut Context,
    pub(super) catalog: &'a Catalog,
    pub(super) graph: &'a Graph,
    /// The state that the action finds.
    pub(super) before: &'a State,
    /// The state that it leaves.
    pub(super) after: State,
    /// Under which conditions.
    pub(super) guard: Vec<Term>,
    /// Foreign keys to be looked at when the statement has ended.
    pub(super) orphans: Vec<constraint::Orphans>,
}

impl Stepper<'_> {
    /// Evaluates in the state that the action finds.
    pub(super) fn evaluator(&mut self) -> Evaluator<'_> {
        Evaluator { ctx: self.ctx, catalog: self.catalog, state: self.before, levels: Vec::new() }
    }

    fn act(&mut self, action: &Action) -> Result<()> {
        match action {
            Action::Skip => Ok(()),
            Action::Assign(variable, expr) => {
                let value = self.evaluator().expr(expr)?;
                self.store(*variable, &value, expr.ty)
            }
            Action::Havoc(variable) => {
                let declared = &self.graph.variables[*variable];
                self.after.variables[*variable] = self.ctx.any(declared.ty, &declared.name)?;
                Ok(())
            }
            Action::Assume(condition, holds) => {
                let is_true = self.evaluator().is_true(condition)?;
                self.guard.push(if *holds { is_true } else { is_true.not() });
                Ok(())
            }
            Action::Read(read) => self.read(read),
            Action::Write(write) => self.write(write),
            Action::Open(cursor, query) => {
                let rows = self.opened(query)?;
                self.after.cursors.insert(*cursor, rows);
                Ok(())
            }
            Action::Fetch(cursor, into) => self.fetch(*cursor, into),
            Action::Drained(cursor) => {
                let rows = self.before.cursors.get(cursor).map_or(&[][..], Vec::as_slice);
                self.guard.extend(rows.iter().map(|row| row.pending.clone().not()));
                Ok(())
            }
            Action::Raise(state) => {
                match state {
                    Some(state) => self.ctx.fails(*state, Term::True),
                    None => self.ctx.may_fail(None, Term::True),
                }
                self.guard.push(Term::False);
                Ok(())
            }
            Action::Again => {
                self.guard.push(Term::False);
                Ok(())
            }
            Action::Save(mark) => {
                self.after.saved.insert(*mark, self.before.db.clone());
                Ok(())
            }
            Action::Restore(mark) => {
                if let Some(db) = self.before.saved.get(mark) {
                    self.after.db = db.clone();
                }
                Ok(())
            }
            Action::Begin => {
                self.after.transaction = self.ctx.fresh(&Sort::Int, "transaction");
                Ok(())
            }
            Action::Catch(catches, matches) => {
                let error = &self.before.error;
                let caught = Term::or(catches.iter().map(|catch| catches_error(*catch, error)));
                self.guard.push(if *matches { caught } else { caught.not() });
                Ok(())
            }
        }
    }

    /// Stores a value in a variable, converted as an assignment converts.
    pub(super) fn store(&mut self, variable: usize, value: &Sym, from: Type) -> Result<()> {
        let declared = &self.graph.variables[variable];
        let value = stored(self.ctx, value, from, declared.ty)?;
        if declared.not_null {
            self.ctx.fails(SqlState::NULL_VALUE_NOT_ALLOWED, value.null.clone());
        }
        self.after.variables[variable] = self.ctx.named_sym(value, declared.ty, &declared.name);
        Ok(())
    }

    /// Says in FOUND whether there was a row.
    pub(super) fn set_found(&mut self, variable: Option<usize>, found: &Term) {
        if let Some(variable) = variable {
            self.after.variables[variable] = Sym::known(found.clone());
        }
    }
}

/// Whether a handler takes an error. A state that ends in `000` stands for its class.
fn catches_error(catch: Catch, error: &Term) -> Term {
    match catch {
        Catch::Others => {
            let except = [SqlState::QUERY_CANCELED, SqlState::ASSERT_FAILURE];
            Term::and(except.map(|state| error.clone().equal(code(state)).not()))
        }
        Catch::State(state) if state.0.ends_with(b"000") => {
            let last = SqlState([state.0[0], state.0[1], 255, 255, 255]);
            let first = SqlState([state.0[0], state.0[1], 0, 0, 0]);
            Term::and([code(first).at_most(error.clone()), error.clone().at_most(code(last))])
        }
        Catch::State(state) => error.clone().equal(code(state)),
    }
}
