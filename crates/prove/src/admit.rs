//! One concrete run, held against the terms.
//!
//! "Safe" is only as true as the terms: whatever the database does, they must allow. That is a law about every run, and
//! can be looked at run by run: fix the rows and the arguments, run the procedure on the engine, and ask whether the
//! terms allow the rows that it has left. [`admits`] asks. A "no" is a defect of this crate, whatever the rule.
//!
//! The database is exactly what is given, so what this looks at is how statements and expressions are encoded, not how
//! many rows are enough ([`plan`](crate::plan)).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use isolde_smt::{Answer, Silence, Solver, Term};
use isolde_sql::catalog::TableId;
use isolde_sql::typed::{Expr, ExprKind};
use isolde_sql::{Type, Value};

use crate::exact;
use crate::ir::{self, Graph};
use crate::logic::{Context, Evaluator, Result, Sym};
use crate::plan::Plan;
use crate::program::{Program, Rule};
use crate::state::{Slot, State};

/// The rows of each table.
pub type Contents = BTreeMap<TableId, Vec<Vec<Value>>>;

/// A run that went well, or that has committed something.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The rows before.
    pub before: &'a Contents,
    /// The arguments, one per input.
    pub arguments: &'a [Value],
    /// The rows behind.
    pub after: &'a Contents,
    /// Rules, and whether each holds of the rows behind.
    pub rules: &'a [(&'a Rule, bool)],
}

/// Whether the terms allow a run; `rounds` is how often a loop goes round at most.
pub fn admits(
    program: &Program,
    graph: &Graph,
    run: &Run<'_>,
    rounds: usize,
    solver: &Solver,
    timeout: Duration,
) -> Result<std::result::Result<bool, Silence>> {
    let graph = ir::unroll(graph, rounds);
    let ctx = question(program, &graph, run)?;
    Ok(match solver.ask(&ctx.script, timeout) {
        Ok(Answer::Sat) => Ok(true),
        // It may have gone round more often.
        Ok(Answer::Unsat) if graph.cut => Err(Silence::Unknown),
        Ok(Answer::Unsat) => Ok(false),
        Err(silence) => Err(silence),
    })
}

fn question(program: &Program, graph: &Graph, run: &Run<'_>) -> Result<Context> {
    let catalog = program.catalog();
    let mut ctx = Context::new();
    ctx.residues = false;
    let counts = catalog.tables().map(|table| (table.id, run.before.get(&table.id).map_or(0, Vec::len))).collect();
    let all = catalog.tables().flat_map(|t| t.foreign_keys.iter().map(|fk| (t.id, fk.name.clone())));
    let plan = Plan { counts, closed: all.collect(), incomplete: BTreeSet::new() };
    let start = exact::start(&mut ctx, program, graph, &plan)?;
    for (table, rows) in run.before {
        let types = types(program, *table);
        for (slot, row) in start.db.slots(*table).iter().zip(rows) {
            let is = is_row(&mut ctx, program, &start, slot, row, &types)?;
            ctx.say(is);
        }
    }
    for (variable, sym) in graph.variables.iter().zip(&start.variables) {
        if let Some(value) = variable.input.and_then(|at| run.arguments.get(at)) {
            let value = constant(&mut ctx, program, &start, value, variable.ty)?;
            ctx.say(sym.same(&value));
        }
    }
    let (mut ends, _) = exact::follow(&mut ctx, program, graph, &start, &[graph.exit])?;
    let Some((reached, end)) = ends.remove(&graph.exit) else {
        ctx.say(Term::False);
        return Ok(ctx);
    };
    ctx.say(reached);
    for table in catalog.tables() {
        let rows = run.after.get(&table.id).map_or(&[][..], Vec::as_slice);
        let (slots, types) = (end.db.slots(table.id).to_vec(), types(program, table.id));
        for row in rows {
            let each = slots.iter().map(|slot| is_row(&mut ctx, program, &end, slot, row, &types));
            let each = each.collect::<Result<Vec<_>>>()?;
            ctx.say(Term::or(each));
        }
        let alive = slots.iter().map(|slot| slot.alive.clone().ite(Term::Int(1), Term::Int(0)));
        ctx.say(alive.fold(Term::Int(0), Term::plus).equal(Term::Int(rows.len() as i128)));
    }
    for (rule, kept) in run.rules {
        let (holds, fails) = exact::rule_holds(&mut ctx, program, &end, &rule.query)?;
        let holds = Term::and([holds, fails.not()]);
        ctx.say(if *kept { holds } else { holds.not() });
    }
    Ok(ctx)
}

fn types(program: &Program, table: TableId) -> Vec<Type> {
    program.catalog().table(table).columns.iter().map(|column| column.ty).collect()
}

/// A slot is this row, and is there.
fn is_row(
    ctx: &mut Context,
    program: &Program,
    state: &State,
    slot: &Slot,
    row: &[Value],
    types: &[Type],
) -> Result<Term> {
    let mut parts = vec![slot.alive.clone()];
    for ((sym, value), ty) in slot.columns.iter().zip(row).zip(types) {
        parts.push(sym.same(&constant(ctx, program, state, value, *ty)?));
    }
    Ok(Term::and(parts))
}

fn constant(ctx: &mut Context, program: &Program, state: &State, value: &Value, ty: Type) -> Result<Sym> {
    let mut evaluator = Evaluator { ctx, catalog: program.catalog(), state, levels: Vec::new() };
    evaluator.expr(&Expr { kind: ExprKind::Const(value.clone()), ty })
}
