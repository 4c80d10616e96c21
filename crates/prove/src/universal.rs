//! Rules that speak about each row, or each combination of rows, by itself.
//!
//! Such a rule is a condition that no combination of rows may meet. It survives when rows go, so it can be asked of any
//! few rows of a large database; that is what a proof about loops needs. Four ways of writing it are recognised:
//!
//! ```text
//!   SELECT psi FROM t WHERE f                    a row with f, and psi not true
//!   SELECT bool_and(psi) FROM t WHERE f          the same (and somewhere psi is true: see `nonempty`)
//!   SELECT NOT EXISTS (SELECT FROM t, u WHERE f) a combination with f
//!   SELECT count(*) = 0 FROM t, u WHERE f        the same
//! ```
//!
//! A rule about each row of one table may also name counts and sums of others, and whether they have a row: see
//! [`observe`](crate::observe).

use isolde_smt::Term;
use isolde_sql::Value;
use isolde_sql::ast::JoinKind;
use isolde_sql::builtin::AggregateKind;
use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::typed::{Expr, ExprKind, From, Query, QueryBody, RelSource, Select, StatementKind};

use crate::ir::{Action, Graph};
use crate::logic::{Context, Evaluator, Level, Result, Sym};
use crate::observe::{Observed, observe};
use crate::program::Program;
use crate::state::{Slot, State};

/// A rule about combinations of rows.
#[derive(Clone, Debug)]
pub struct Universal {
    /// The tables that the rows are of.
    pub tables: Vec<TableId>,
    /// What must be true of a combination for the rule to concern it.
    conditions: Vec<Expr>,
    /// What the rule then wants to be true; nothing can be, if absent.
    wanted: Option<Expr>,
    /// The rule also wants that there is a row at all.
    pub nonempty: bool,
    /// Counts and sums that it names: the nth is `Param(n)` in its conditions.
    pub observed: Vec<Observed>,
    /// The rule as written, with counts for subqueries that ask for a row.
    counted: Option<Query>,
}

impl Universal {
    /// Recognises a rule.
    pub fn of(catalog: &Catalog, rule: &Query) -> Option<Universal> {
        let QueryBody::Select(select) = &rule.body else { return None };
        if rule.limit.is_some() || rule.offset.is_some() || !rule.with.is_empty() {
            return None;
        }
        match (&select.grouping, select.projection.as_slice()) {
            (None, [Expr { kind: ExprKind::Not(inner), .. }]) if select.is_bare() => match &inner.kind {
                ExprKind::Exists(query) => match &query.body {
                    QueryBody::Select(inner)
                        if inner.grouping.is_none() && query.limit.is_none() && query.offset.is_none() =>
                    {
                        Universal::over(catalog, query, inner, None, false)
                    }
                    _ => None,
                },
                _ => None,
            },
            (None, [wanted]) => Universal::over(catalog, rule, select, Some(wanted.clone()), false),
            (Some(grouping), [shown])
                if grouping.keys.is_empty() && grouping.having.is_none() && grouping.calls.len() == 1 =>
            {
                let call = &grouping.calls[0];
                match (call.aggregate.kind, &shown.kind) {
                    (AggregateKind::BoolAnd, ExprKind::Aggregated { depth: 0, call: 0 }) if call.filter.is_none() => {
                        Universal::over(catalog, rule, select, call.args.first().cloned(), true)
                    }
                    (AggregateKind::CountRows, ExprKind::Call(op, args)) if op.name == "=" && call.filter.is_none() => {
                        let zero = |e: &Expr| matches!(e.kind, ExprKind::Const(Value::Int(0)));
                        let counted = |e: &Expr| matches!(e.kind, ExprKind::Aggregated { depth: 0, call: 0 });
                        (args.iter().any(zero) && args.iter().any(counted))
                            .then(|| Universal::over(catalog, rule, select, None, false))?
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn over(
        catalog: &Catalog,
        query: &Query,
        select: &Select,
        mut wanted: Option<Expr>,
        nonempty: bool,
    ) -> Option<Universal> {
        let table = |rel: &isolde_sql::typed::Rel| match rel.source {
            RelSource::Table(table) => Some(table),
            _ => None,
        };
        let tables: Vec<TableId> = select.rels.iter().map(table).collect::<Option<_>>()?;
        let mut conditions: Vec<Expr> = select.filter.iter().cloned().collect();
        if let Some(from) = &select.from {
            joins(from, &mut conditions)?;
        }
        let mut observed = Vec::new();
        let names = |table: TableId| catalog.table(table).name.to_string();
        // To bool_and, NULL is not false.
        let parts =
            conditions.iter_mut().map(|part| (part, true)).chain(wanted.iter_mut().map(|part| (part, !nonempty)));
        let plain = { parts }
            .fold(true, |plain, (part, positive)| observe(part, positive, &names, &mut observed) && plain)
            && select.windows.is_empty()
            && select.expansions.is_empty();
        // Numbers are observed of one row.
        if !plain || tables.is_empty() || (!observed.is_empty() && tables.len() > 1) {
            return None;
        }
        let counted = (!observed.is_empty()).then(|| counted(query, select, &observed));
        Some(Universal { tables, conditions, wanted, nonempty, observed, counted })
    }

    /// The rule for whoever asks how many rows it needs: it is the one that was given, unless it observes numbers.
    pub(crate) fn planned<'q>(&'q self, rule: &'q Query) -> &'q Query {
        self.counted.as_ref().unwrap_or(rule)
    }

    /// The numbers that it observes of a row.
    pub(crate) fn numbers(&self, ctx: &mut Context, catalog: &Catalog, state: &State, row: &Slot) -> Result<Vec<Sym>> {
        self.observed.iter().map(|number| number.value(ctx, catalog, state, Some(&row.columns))).collect()
    }

    /// The procedure cannot take away the last row.
    pub fn stays_nonempty(&self, graph: &Graph) -> bool {
        let deletes = |action: &Action| match action {
            Action::Write(write) => {
                !matches!(write.statement.kind, StatementKind::Insert(_) | StatementKind::Update(_))
            }
            _ => false,
        };
        !self.nonempty || !graph.edges.iter().any(|edge| deletes(&edge.action))
    }

    /// A combination of rows breaks the rule. What is known of one that did not, before anything happened, is less
    /// where NULLs are passed over: `strictly` leaves these aside.
    pub fn broken(
        &self,
        ctx: &mut Context,
        program: &Program,
        state: &State,
        rows: &[&Slot],
        strictly: bool,
    ) -> Result<Term> {
        let catalog = program.catalog();
        // The conditions name no variables: what they call so are the numbers that are observed.
        let observing = match rows.first().filter(|_| !self.observed.is_empty()) {
            Some(row) => Some(State { variables: self.numbers(ctx, catalog, state, row)?, ..state.clone() }),
            None => None,
        };
        let state = observing.as_ref().unwrap_or(state);
        let level = Level::of(rows.iter().map(|slot| slot.columns.clone()));
        let mut parts: Vec<Term> = rows.iter().map(|slot| slot.alive.clone()).collect();
        let (found, failures) = ctx.caught(|ctx| {
            let mut evaluator = Evaluator { ctx, catalog, state, levels: vec![level] };
            let mut found = Vec::new();
            for condition in &self.conditions {
                found.push(evaluator.is_true(condition)?);
            }
            if let Some(wanted) = &self.wanted {
                let sym = evaluator.expr(wanted)?;
                found.push(if strictly && self.nonempty { sym.is_false() } else { sym.is_true().not() });
            }
            Ok(found)
        })?;
        // A rule that cannot be evaluated is broken.
        let fails = Term::or(failures.into_iter().map(|failure| failure.certain));
        let alive = Term::and(std::mem::take(&mut parts));
        Ok(ctx.named_truth(Term::and([alive, Term::or([Term::and(found), fails])]), "broken"))
    }

    /// No combination of tracked rows breaks the rule: what is known at the start.
    pub fn unbroken(&self, ctx: &mut Context, program: &Program, state: &State) -> Result<Vec<Term>> {
        let mut combinations: Vec<Vec<Slot>> = vec![Vec::new()];
        for table in &self.tables {
            let slots = state.db.slots(*table);
            let longer = combinations.iter().flat_map(|some| {
                slots.iter().map(|slot| {
                    let mut more = some.clone();
                    more.push(slot.clone());
                    more
                })
            });
            combinations = longer.collect();
        }
        let each = combinations.iter().map(|rows| {
            let rows: Vec<&Slot> = rows.iter().collect();
            Ok(self.broken(ctx, program, state, &rows, true)?.not())
        });
        each.collect()
    }
}

/// A rule about the rows of one table, as a query that has them and counts or sums what it observes of them.
fn counted(query: &Query, select: &Select, observed: &[Observed]) -> Query {
    let projection = observed.iter().map(|number| number.expr.clone()).collect();
    let select = Select { projection, grouping: None, filter: None, ..select.clone() };
    Query { body: QueryBody::Select(Box::new(select)), order_by: Vec::new(), ..query.clone() }
}

/// The conditions of inner joins.
fn joins(from: &From, conditions: &mut Vec<Expr>) -> Option<()> {
    match from {
        From::Rel(_) => Some(()),
        From::Join { kind: JoinKind::Inner | JoinKind::Cross, left, right, on } => {
            joins(left, conditions)?;
            joins(right, conditions)?;
            conditions.extend(on.iter().cloned());
            Some(())
        }
        From::Join { .. } => None,
    }
}
