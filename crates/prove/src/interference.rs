//! One procedure in the midst of another.
//!
//! What each procedure keeps, two of them can break: the one reads, the other writes, and the first goes on with what
//! it has read. This looks for one such accident: a whole run of an intruder between two statements of a procedure that
//! has not written yet, as READ COMMITTED lets it happen. (A procedure that has written, or has locked what it read,
//! makes the intruder wait for its rows; these places are left out.) So it finds lost updates and write skew; that it
//! finds none is no proof, and is not called one.
//!
//! ```text
//!     procedure, before it writes ───▶ intruder, whole ───▶ the rest of the procedure, from the same place
//! ```
//!
//! The accident is a graph like any other, and is asked about in the same way. What is found is run on the embedded
//! database, two sessions, the intruder let in after so many statements; and written down as a scenario for
//! `isolde explore`.

use std::sync::Arc;

use isolde_engine::{Activity, Reply};
use isolde_smt::{Answer, Silence, Solver};
use isolde_sql::catalog::RoutineId;
use isolde_sql::typed::{Expr, ExprKind};
use isolde_sql::{Type, Value, builtin, parse};

use crate::Limits;
use crate::exact::{self, Question};
use crate::ir::{self, Action, Edge, Graph, Node, Variable};
use crate::logic::{Refusal, Result as Modelled};
use crate::plan::plan;
use crate::program::{Program, Rule};
use crate::witness::{self, Proposal, emptied, execute, insertions, outcome};

/// Two procedures that break a rule together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interference {
    /// Statements that insert the rows.
    pub rows: Vec<String>,
    /// The call that is interrupted.
    pub call: String,
    /// After how many of its statements.
    pub after: usize,
    /// The call that comes between.
    pub intruder: String,
    /// What the rule gives in the end.
    pub outcome: String,
    /// The same as a file for `isolde explore`.
    pub scenario: String,
}

/// What came of looking at two procedures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Together {
    /// They break the rule.
    Found(Box<Interference>),
    /// Nothing was found; which is no proof.
    Nothing,
    /// They were not looked at.
    Open(Refusal),
}

/// Inputs of the intruder are counted from here.
pub(crate) const INTRUDER: usize = 1_000;

/// Looks for rows and arguments with which two procedures break a rule; both have loops written out once.
pub fn interference(
    program: &Program,
    (id, intruder): (RoutineId, RoutineId),
    rule: &Rule,
    solver: &Solver,
    limits: &Limits,
) -> Result<Together, Silence> {
    let catalog = program.catalog();
    let (both, question) = match asked(program, (id, intruder), rule) {
        Ok(asked) => asked,
        Err(refusal) => {
            let what = format!("not modelled: {}", refusal.what);
            return Ok(Together::Open(Refusal { what, ..refusal }));
        }
    };
    let mut session = solver.start()?;
    session.tell(&question.text());
    let proposal = match session.check(limits.timeout) {
        Ok(Answer::Unsat) => return Ok(Together::Nothing),
        Ok(Answer::Sat) => witness::propose(&mut session, program, &both, &question, limits),
        Err(silence) => Err(silence),
    };
    match proposal {
        Ok(None) => Ok(Together::Open(Refusal::new("the solver found an accident that cannot be written down"))),
        Ok(Some(proposal)) => Ok(match confirm(program, id, intruder, rule, &proposal) {
            Some(found) => Together::Found(Box::new(found)),
            None => {
                let (one, two) = (&catalog.routine(id).name, &catalog.routine(intruder).name);
                let what = format!("an accident of {one} and {two} that running them does not show");
                Together::Open(Refusal::new(format!("the solver found {what}")))
            }
        }),
        Err(silence @ (Silence::Unknown | Silence::Timeout(_) | Silence::Stopped(_))) => {
            Ok(Together::Open(Refusal::new(silence.to_string())))
        }
        Err(silence) => Err(silence),
    }
}

/// The question about two procedures, and the graph that it is about.
fn asked(program: &Program, (id, intruder): (RoutineId, RoutineId), rule: &Rule) -> Modelled<(Graph, Question)> {
    let catalog = program.catalog();
    let (first, second) = (ir::lower(catalog, id)?, ir::lower(catalog, intruder)?);
    let both = interrupted(&first, &second).ok_or_else(|| Refusal::new("so many places"))?;
    let both = ir::unroll(&both, 1);
    let plan = plan(catalog, &both, &rule.query, 0);
    let question = exact::question(program, &both, rule, &[], &plan, false)?;
    Ok((both, question))
}

/// The graph of a procedure that another one interrupts once, before it writes.
fn interrupted(main: &Graph, intruder: &Graph) -> Option<Graph> {
    let (size, other) = (main.nodes.len(), intruder.nodes.len());
    let shift = main.variables.len();
    let place = shift + intruder.variables.len();
    let mut variables = main.variables.clone();
    variables
        .extend(intruder.variables.iter().map(|v| Variable { input: v.input.map(|at| at + INTRUDER), ..v.clone() }));
    variables.push(Variable {
        name: "place".into(),
        ty: Type::Int4,
        not_null: false,
        input: None,
        starts_false: false,
    });
    let mut nodes: Vec<Node> = main.nodes.clone();
    nodes.extend(main.nodes.iter().map(|node| moved_node(node, size)));
    nodes.extend(intruder.nodes.iter().map(|node| moved_node(node, 2 * size)));
    // Before the intruder: only what writes and locks nothing.
    let harmless = main.edges.iter().filter(|edge| !writes_or_locks(&edge.action));
    let mut edges: Vec<Edge> = harmless.cloned().collect();
    edges.extend(main.edges.iter().map(|edge| moved(edge, size, edge.action.clone())));
    edges.extend(intruder.edges.iter().map(|edge| moved(edge, 2 * size, renamed(&edge.action, shift))));
    for node in 0..size {
        let acts =
            main.leaving(node).any(|edge| matches!(edge.action, Action::Read(_) | Action::Write(_) | Action::Open(..)));
        if !acts {
            continue;
        }
        let span = main.nodes[node].span;
        let number = Expr { kind: ExprKind::Const(Value::Int(i64::try_from(node).ok()?)), ty: Type::Int4 };
        let here = Expr {
            kind: ExprKind::Call(
                equals()?,
                vec![Expr { kind: ExprKind::Param(place), ty: Type::Int4 }, number.clone()],
            ),
            ty: Type::Bool,
        };
        edges.push(Edge {
            from: node,
            to: 2 * size + intruder.entry,
            action: Action::Assign(place, number),
            span,
            on_error: None,
        });
        edges.push(Edge {
            from: 2 * size + intruder.exit,
            to: size + node,
            action: Action::Assume(here, true),
            span,
            on_error: None,
        });
    }
    let heads = main
        .heads
        .iter()
        .flat_map(|head| [*head, head + size])
        .chain(intruder.heads.iter().map(|head| head + 2 * size));
    debug_assert_eq!(nodes.len(), 2 * size + other, "two copies of the one, and the other");
    Some(Graph { variables, nodes, edges, exit: size + main.exit, heads: heads.collect(), ..main.clone() })
}

fn equals() -> Option<&'static builtin::Builtin> {
    builtin::functions().find(|f| f.name == "=" && f.args == [Type::Unknown, Type::Unknown])
}

fn writes_or_locks(action: &Action) -> bool {
    match action {
        Action::Write(_) => true,
        Action::Read(read) => !read.query.locking.is_empty(),
        Action::Open(_, query) => !query.locking.is_empty(),
        _ => false,
    }
}

fn moved_node(node: &Node, by: usize) -> Node {
    Node { loops: node.loops.iter().map(|head| head + by).collect(), ..node.clone() }
}

fn moved(edge: &Edge, by: usize, action: Action) -> Edge {
    Edge {
        from: edge.from + by,
        to: edge.to + by,
        on_error: edge.on_error.map(|handler| handler + by),
        action,
        span: edge.span,
    }
}

/// An action of the intruder, over its own variables and marks.
fn renamed(action: &Action, shift: usize) -> Action {
    let expr = |e: &Expr| {
        let mut e = e.clone();
        e.walk_mut(0, &mut |e, _| shifted(e, shift));
        e
    };
    let query = |q: &Arc<isolde_sql::typed::Query>| {
        let mut q = (**q).clone();
        q.walk_mut(0, &mut |e, _| shifted(e, shift));
        Arc::new(q)
    };
    let places = |into: &[(usize, Type)]| into.iter().map(|(v, ty)| (v + shift, *ty)).collect::<Vec<_>>();
    match action {
        Action::Assign(variable, e) => Action::Assign(variable + shift, expr(e)),
        Action::Havoc(variable) => Action::Havoc(variable + shift),
        Action::Assume(e, holds) => Action::Assume(expr(e), *holds),
        Action::Read(read) => Action::Read(ir::Read {
            query: query(&read.query),
            into: places(&read.into),
            found: read.found.map(|v| v + shift),
            ..read.clone()
        }),
        Action::Write(write) => {
            let mut statement = (*write.statement).clone();
            ir::each_expr(&mut statement, &mut |e| shifted(e, shift));
            Action::Write(ir::Write {
                statement: Arc::new(statement),
                into: places(&write.into),
                found: write.found.map(|v| v + shift),
                count: write.count.map(|v| v + shift),
                ..write.clone()
            })
        }
        Action::Open(mark, q) => Action::Open(mark + INTRUDER, query(q)),
        Action::Fetch(mark, into) => Action::Fetch(mark + INTRUDER, places(into)),
        Action::Drained(mark) => Action::Drained(mark + INTRUDER),
        Action::Save(mark) => Action::Save(mark + INTRUDER),
        Action::Restore(mark) => Action::Restore(mark + INTRUDER),
        Action::Skip | Action::Begin | Action::Raise(_) | Action::Again | Action::Catch(..) => action.clone(),
    }
}

fn shifted(expr: &mut Expr, shift: usize) -> bool {
    if let ExprKind::Param(variable) = &mut expr.kind {
        *variable += shift;
    }
    true
}

/// More statements than this are not waited for.
const STATEMENTS_MAX: usize = 200;

/// Lets the intruder in after each statement in turn, until the rule is seen to break.
fn confirm(
    program: &Program,
    id: RoutineId,
    intruder: RoutineId,
    rule: &Rule,
    proposal: &Proposal,
) -> Option<Interference> {
    let catalog = program.catalog();
    let rows = insertions(catalog, proposal);
    let call = witness::call_of(catalog.routine(id), &proposal.arguments);
    let other = witness::call_of(catalog.routine(intruder), &proposal.intruder);
    let mut start = emptied(program)?;
    let session = start.open_session();
    for row in &rows {
        execute(&mut start, session, row).ok()?;
    }
    if outcome(&start, rule).is_some() {
        return None;
    }
    for after in 1..STATEMENTS_MAX {
        let mut database = start.clone();
        let (one, two) = (database.open_session(), database.open_session());
        let statement = parse::script(&call).ok()?.pop()?;
        let prepared = database.prepare_in(one, &statement, &call, &[]).ok()?;
        let mut reply: Option<Reply> = database.submit(one, &prepared, &[]);
        for _ in 0..after {
            if reply.is_none() {
                reply = database.step(one).reply;
            }
        }
        if reply.is_some() {
            return None;
        }
        if execute(&mut database, two, &other).is_err() {
            continue;
        }
        for _ in 0..STATEMENTS_MAX * 10 {
            if reply.is_some() || matches!(database.activity(one), Activity::Blocked(_)) {
                break;
            }
            reply = database.step(one).reply;
        }
        if let (Some(Ok(_)), Some(outcome)) = (reply, outcome(&database, rule)) {
            let scenario = scenario(program, rule, &rows, &call, &other);
            return Some(Interference { rows, call, after, intruder: other, outcome, scenario });
        }
    }
    None
}

/// A file that `isolde explore` finds the accident in.
fn scenario(program: &Program, rule: &Rule, rows: &[String], call: &str, intruder: &str) -> String {
    let source = &program.source;
    let setup = &source[..source.find("\n--@ ").map_or(source.len(), |at| at + 1)];
    let tables: Vec<String> = program.catalog().tables().map(|table| witness::name(table)).collect();
    let rows: String = rows.iter().map(|row| format!("{row};\n")).collect();
    format!(
        "{setup}TRUNCATE {};\n{rows}\n--@ option serial off\n\n--@ thread one\n{call};\n\n--@ thread two\n{intruder};\n\n--@ invariant {}\n{};\n",
        tables.join(", "),
        rule.name,
        rule.span.of(source)
    )
}
