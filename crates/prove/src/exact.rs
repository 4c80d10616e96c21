//! The exact question: is there a database and are there arguments with which the procedure breaks the rule?
//!
//! One formula for all paths. Every place has a literal that says whether it is reached, and a state; where paths meet,
//! the state is one of theirs. The rows are those that [`plan`](crate::plan) asks for, of which the rule and the schema
//! hold at the start. The question is whether the end can be reached with the rule not true.
//!
//! Without loops the answer is final in both directions. With loops, the graph was unrolled: then "no" is said about so
//! many rounds only.

use std::collections::BTreeMap;

use isolde_smt::{Sort, Term};
use isolde_sql::typed::Query;

use crate::ir::{Action, Graph};
use crate::logic::{Context, Evaluator, Refusal, Result, Sym, sort_of};
use crate::plan::Plan;
use crate::program::{Assumption, Program, Rule};
use crate::state::{Db, State, merged};
use crate::step::constraint::{deferred, valid};
use crate::step::step;

/// A question, and what is needed to read an answer.
pub struct Question {
    /// What the solver is asked.
    pub ctx: Context,
    /// The state at the start.
    pub start: State,
    /// For each edge, when it is taken.
    pub taken: Vec<(usize, Term)>,
    /// That the rule is broken at the end; the script says everything else.
    pub broken: Term,
}

/// Puts the question. `others` are rules that hold at the start too. `residues` says whether rows that are not tracked
/// may count in aggregates; without them the database consists of the tracked rows alone.
pub fn question(
    program: &Program,
    graph: &Graph,
    rule: &Rule,
    others: &[&Rule],
    plan: &Plan,
    residues: bool,
) -> Result<Question> {
    let mut ctx = Context::new();
    ctx.residues = residues;
    ctx.incomplete.extend(plan.incomplete.iter().cloned());
    let start = start(&mut ctx, program, graph, plan)?;
    assume_rule(&mut ctx, program, &start, &rule.query)?;
    for other in others {
        assume_rule(&mut ctx, program, &start, &other.query)?;
    }
    let (mut ends, taken) = follow(&mut ctx, program, graph, &start, &[graph.exit])?;
    let Some((reached, end)) = ends.remove(&graph.exit) else {
        ctx.say(Term::False);
        return Ok(Question { ctx, start, taken, broken: Term::True });
    };
    let (holds, fails) = rule_holds(&mut ctx, program, &end, &rule.query)?;
    ctx.say(reached);
    for table in plan.counts.keys() {
        let table = program.catalog().table(*table);
        deferred(&end, table, &|fk| plan.is_closed(table.id, fk)).into_iter().for_each(|fact| ctx.say(fact));
    }
    Ok(Question { ctx, start, taken, broken: Term::or([holds.not(), fails]) })
}

impl Question {
    /// Everything that is asked, as a script.
    pub fn text(&self) -> String {
        format!("{}(assert {})\n", self.ctx.script, self.broken)
    }
}

/// Any state in which the procedure may be called: arguments as promised, rows as the schema demands.
pub(crate) fn start(ctx: &mut Context, program: &Program, graph: &Graph, plan: &Plan) -> Result<State> {
    let catalog = program.catalog();
    let db = Db::any(ctx, catalog, &plan.counts)?;
    let mut variables = Vec::new();
    for variable in &graph.variables {
        variables.push(match variable.input {
            Some(_) => ctx.any(variable.ty, &variable.name)?,
            None if variable.starts_false => Sym::truth(false),
            None => Sym::null(&sort_of(variable.ty).ok_or_else(|| Refusal::new("a variable that is a row"))?),
        });
    }
    let state = State::new(variables, db);
    for table in plan.counts.keys() {
        let table = catalog.table(*table).clone();
        let mut evaluator = Evaluator { ctx, catalog, state: &state, levels: Vec::new() };
        let facts = valid(&mut evaluator, &table, &|fk| plan.is_closed(table.id, fk))?;
        facts.into_iter().for_each(|fact| ctx.say(fact));
    }
    for assumption in assumptions(program, graph) {
        let promised = promise(ctx, program, graph, &state, assumption)?;
        ctx.say(promised);
    }
    Ok(state)
}

/// What is promised about the arguments of a procedure.
pub(crate) fn assumptions<'p>(program: &'p Program, graph: &'p Graph) -> impl Iterator<Item = &'p Assumption> {
    program.assumptions.iter().filter(move |assumption| assumption.procedure == graph.name)
}

/// The promise, about the variables that stand for the parameters.
fn promise(
    ctx: &mut Context,
    program: &Program,
    graph: &Graph,
    state: &State,
    assumption: &Assumption,
) -> Result<Term> {
    let params = program.catalog().routine(graph.routine).params.len();
    let variable = |at: usize| graph.variables.iter().position(|v| v.input == Some(at));
    let given = (0..params).map(|at| variable(at).map_or_else(|| Sym::truth(false), |v| state.variables[v].clone()));
    let scope = State { variables: given.collect(), ..state.clone() };
    let mut evaluator = Evaluator { ctx, catalog: program.catalog(), state: &scope, levels: Vec::new() };
    evaluator.is_true(&assumption.condition)
}

/// The rule holds at the start.
pub(crate) fn assume_rule(ctx: &mut Context, program: &Program, state: &State, rule: &Query) -> Result<()> {
    let (holds, fails) = rule_holds(ctx, program, state, rule)?;
    ctx.say(holds);
    ctx.say(fails.not());
    Ok(())
}

/// Whether every row of the rule is true, and whether it cannot be evaluated.
pub(crate) fn rule_holds(ctx: &mut Context, program: &Program, state: &State, rule: &Query) -> Result<(Term, Term)> {
    let catalog = program.catalog();
    let (rows, failures) = ctx.caught(|ctx| Evaluator { ctx, catalog, state, levels: Vec::new() }.rows(rule))?;
    let each = rows.iter().map(|row| row.guard.clone().implies(row.values[0].is_true()));
    let holds = Term::and(each.collect::<Vec<_>>());
    Ok((ctx.named_truth(holds, "rule"), Term::or(failures.into_iter().map(|failure| failure.certain))))
}

/// Whether a place is reached, and with what.
pub(crate) type Reached = (Term, State);

/// The ends that can be reached, and when each edge is taken.
pub(crate) type Followed = (BTreeMap<usize, Reached>, Vec<(usize, Term)>);

/// Follows all paths; gives the ends that can be reached, and when each edge is taken.
pub(crate) fn follow(
    ctx: &mut Context,
    program: &Program,
    graph: &Graph,
    start: &State,
    ends: &[usize],
) -> Result<Followed> {
    let catalog = program.catalog();
    let types = graph.types();
    let mut arrived: BTreeMap<usize, Vec<Reached>> = BTreeMap::from([(graph.entry, vec![(Term::True, start.clone())])]);
    let mut taken = Vec::new();
    let mut reached_ends = BTreeMap::new();
    for node in graph.order() {
        let Some(ways) = arrived.remove(&node) else { continue };
        let (reached, state) = join(ctx, ways, &types, catalog);
        if ends.contains(&node) {
            reached_ends.insert(node, (reached, state));
            continue;
        }
        let open = fork(ctx, graph, node);
        for (way, (index, edge)) in graph.edges.iter().enumerate().filter(|(_, edge)| edge.from == node).enumerate() {
            let done = step(ctx, catalog, graph, &state, &edge.action, edge.on_error.is_some());
            let done = done.map_err(|refusal| refusal.at(edge.span))?;
            let chosen = open.clone().map_or(Term::True, |which| which.equal(Term::Int(way as i128)));
            let mut goes = vec![reached.clone(), chosen.clone(), done.guard];
            if let (Some(handler), Some((when, state))) = (edge.on_error, done.failed) {
                // Whether something fails may be open: then it does, or it does not, but not both.
                let fault = ctx.fresh(&Sort::Bool, "fault");
                goes.push(fault.clone().not());
                let fails = ctx.named_truth(Term::and([reached.clone(), chosen, fault, when]), "reach");
                taken.push((index, fails.clone()));
                arrived.entry(handler).or_default().push((fails, state));
            }
            let goes = ctx.named_truth(Term::and(goes), "reach");
            if goes != Term::False {
                taken.push((index, goes.clone()));
                arrived.entry(edge.to).or_default().push((goes, done.state));
            }
        }
    }
    Ok((reached_ends, taken))
}

/// Where several ways lead on and their conditions do not exclude each other, the number of the one that is taken. What
/// is said where ways meet relies on it that only one of them was.
fn fork(ctx: &mut Context, graph: &Graph, node: usize) -> Option<Term> {
    let exclusive = |action: &Action| {
        matches!(action, Action::Assume(..) | Action::Catch(..) | Action::Fetch(..) | Action::Drained(_))
    };
    let several = graph.leaving(node).count() > 1;
    let open = several && !graph.leaving(node).all(|edge| exclusive(&edge.action));
    open.then(|| ctx.fresh(&Sort::Int, "way"))
}

/// Where ways meet: one of them was taken.
fn join(
    ctx: &mut Context,
    ways: Vec<Reached>,
    types: &[isolde_sql::Type],
    catalog: &isolde_sql::catalog::Catalog,
) -> Reached {
    let reached = Term::or(ways.iter().map(|(when, _)| when.clone()));
    let reached = ctx.named_truth(reached, "reach");
    let mut ways = ways.into_iter().rev();
    let Some((_, mut state)) = ways.next() else { unreachable!("a place is arrived at by some way") };
    for (when, other) in ways {
        state = merged(ctx, &when, &other, &state, types, catalog);
    }
    (reached, state)
}
