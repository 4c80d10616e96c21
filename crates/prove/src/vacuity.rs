//! Proofs that say less than they seem to.
//!
//! A rule that the schema implies is kept by every procedure, and no row needs to be looked at. A rule that contradicts
//! the schema holds of empty tables only, and a procedure that never succeeds keeps every rule: both are proved, and
//! both are most likely mistakes. So each is asked about before the matrix, and said.

use isolde_smt::{Answer, Silence, Solver, Term};
use isolde_sql::catalog::RoutineId;
use isolde_sql::typed::{QueryBody, RelSource};

use crate::Limits;
use crate::exact;
use crate::ir::{self, Action, Edge, Graph, Node};
use crate::logic::{Context, Result as Modelled};
use crate::plan::{plan, plan_alone};
use crate::program::{Program, Rule};

/// How a rule stands to the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The schema implies it.
    Implied,
    /// It holds only where its tables are empty.
    OnlyEmpty,
    /// Neither is known.
    Plain,
}

/// What is said of a procedure that never succeeds.
pub const NEVER: &str = "it always fails: no call succeeds, whatever its arguments and the rows";

/// How a rule stands to the schema. What the solver does not know is [`Standing::Plain`].
pub fn standing(program: &Program, rule: &Rule, solver: &Solver, limits: &Limits) -> Result<Standing, Silence> {
    let Some(id) = program.procedures().into_iter().next() else { return Ok(Standing::Plain) };
    if program.gap(&rule.query.tables()).is_some() {
        return Ok(Standing::Plain);
    }
    let nothing = nothing(id);
    let ask = |question: Modelled<Option<Context>>| match question {
        Ok(Some(ctx)) => is_impossible(&ctx, solver, limits),
        _ => Ok(false),
    };
    if ask(broken(program, &nothing, rule))? {
        return Ok(Standing::Implied);
    }
    Ok(if ask(inhabited(program, &nothing, rule))? { Standing::OnlyEmpty } else { Standing::Plain })
}

/// Whether no call of a procedure succeeds. Only asked of procedures without loops.
pub fn never_succeeds(program: &Program, id: RoutineId, solver: &Solver, limits: &Limits) -> Result<bool, Silence> {
    let Ok(graph) = ir::lower(program.catalog(), id) else { return Ok(false) };
    if !graph.is_loop_free() {
        return Ok(false);
    }
    match reached(program, &graph) {
        Ok(Some(ctx)) => is_impossible(&ctx, solver, limits),
        _ => Ok(false),
    }
}

fn is_impossible(ctx: &Context, solver: &Solver, limits: &Limits) -> Result<bool, Silence> {
    match solver.ask(&ctx.script, limits.timeout / 4) {
        Ok(answer) => Ok(answer == Answer::Unsat),
        Err(silence @ Silence::Missing(_)) => Err(silence),
        Err(_) => Ok(false),
    }
}

/// A procedure that does nothing.
fn nothing(id: RoutineId) -> Graph {
    let span = isolde_sql::Span::default();
    let node = || Node { span, loops: Vec::new() };
    Graph {
        name: "".into(),
        routine: id,
        variables: Vec::new(),
        nodes: vec![node(), node()],
        edges: vec![Edge { from: 0, to: 1, action: Action::Skip, span, on_error: None }],
        entry: 0,
        exit: 1,
        heads: Vec::new(),
        commits: false,
        cut: false,
    }
}

/// Rows that meet the schema and break the rule; nothing, if so many may be needed that "none" would say little.
fn broken(program: &Program, graph: &Graph, rule: &Rule) -> Modelled<Option<Context>> {
    let plan = plan(program.catalog(), graph, &rule.query, 0);
    let mut ctx = Context::new();
    let start = exact::start(&mut ctx, program, graph, &plan)?;
    let (holds, fails) = exact::rule_holds(&mut ctx, program, &start, &rule.query)?;
    ctx.say(Term::or([holds.not(), fails]));
    Ok((plan.incomplete.is_empty() && ctx.incomplete.is_empty()).then_some(ctx))
}

/// Rows that meet the schema and the rule, one of each table that the rule ranges over; nothing, if it ranges over
/// none.
fn inhabited(program: &Program, graph: &Graph, rule: &Rule) -> Modelled<Option<Context>> {
    let QueryBody::Select(select) = &rule.query.body else { return Ok(None) };
    let plan = plan(program.catalog(), graph, &rule.query, 0);
    let mut ctx = Context::new();
    let start = exact::start(&mut ctx, program, graph, &plan)?;
    exact::assume_rule(&mut ctx, program, &start, &rule.query)?;
    let mut ranges = false;
    for rel in &select.rels {
        if let RelSource::Table(table) = rel.source {
            ranges = true;
            ctx.say(Term::or(start.db.slots(table).iter().map(|slot| slot.alive.clone())));
        }
    }
    Ok((ranges && plan.incomplete.is_empty() && ctx.incomplete.is_empty()).then_some(ctx))
}

/// Rows and arguments with which the procedure gets to its end.
fn reached(program: &Program, graph: &Graph) -> Modelled<Option<Context>> {
    let plan = plan_alone(program.catalog(), graph);
    if !plan.incomplete.is_empty() || program.gap(&plan.counts.keys().copied().collect()).is_some() {
        return Ok(None);
    }
    let mut ctx = Context::new();
    let start = exact::start(&mut ctx, program, graph, &plan)?;
    let (mut ends, _) = exact::follow(&mut ctx, program, graph, &start, &[graph.exit])?;
    let reached = ends.remove(&graph.exit).map_or(Term::False, |(reached, _)| reached);
    ctx.say(reached);
    Ok(ctx.incomplete.is_empty().then_some(ctx))
}
