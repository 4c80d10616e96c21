//! Runs on the engine, each held against the terms.

use std::time::Duration;

use isolde_engine::{Database, SessionId};
use isolde_prove::admit::{Contents, Run, admits};
use isolde_prove::ir::{self, Graph};
use isolde_prove::{Program, Rule};
use isolde_smt::{Silence, Solver};
use isolde_sql::catalog::RoutineId;
use isolde_sql::{Type, Value, parse};

use super::chance::execute;

/// What came of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    /// The terms allow what the engine did.
    Allowed,
    /// They do not: a defect, with what was run.
    Excluded(String),
    /// The engine raised an error and changed nothing: there is nothing to allow.
    Failed,
    /// The terms say that they do not know the procedure.
    Refused(String),
    /// The solver does not know.
    Open,
}

/// A procedure, ready to be run and compared.
pub(crate) struct Subject<'p> {
    pub(crate) program: &'p Program,
    pub(crate) id: RoutineId,
    pub(crate) graph: Graph,
}

impl<'p> Subject<'p> {
    /// Lowers a procedure, or says why that cannot be.
    pub(crate) fn new(program: &'p Program, name: &str) -> Result<Subject<'p>, String> {
        let (id, _) = program.catalog().routines_by_name(name).next().expect("the procedure is there");
        let graph = ir::lower(program.catalog(), id).map_err(|refusal| refusal.what)?;
        Ok(Subject { program, id, graph })
    }

    /// Runs a call on a database, and asks whether the terms allow what it leaves.
    pub(crate) fn compare(
        &self,
        before: &Database,
        args: &[(Value, Type)],
        rounds: usize,
        solver: &Solver,
    ) -> Compared {
        let mut database = before.clone();
        let session = database.open_session();
        let def = self.program.catalog().routine(self.id);
        let list: Vec<String> = args.iter().map(|(value, ty)| literal(value, *ty)).collect();
        let call = format!("{} {}({})", if def.procedure { "CALL" } else { "SELECT" }, def.name, list.join(", "));
        let went_well = execute(&mut database, session, &call);
        if !went_well && !self.graph.commits {
            return Compared::Failed;
        }
        let (old, new) = (contents(self.program, before), contents(self.program, &database));
        let values: Vec<Value> = args.iter().map(|(value, _)| value.clone()).collect();
        let rules: Vec<(&Rule, bool)> = self.program.rules.iter().map(|rule| (rule, holds(&database, rule))).collect();
        if !went_well && old == new {
            return Compared::Failed;
        }
        let run = Run { before: &old, arguments: &values, after: &new, rules: &rules };
        match admits(self.program, &self.graph, &run, rounds, solver, Duration::from_secs(30)) {
            Err(refusal) => Compared::Refused(refusal.what),
            Ok(Ok(true)) => Compared::Allowed,
            Ok(Ok(false)) => Compared::Excluded(format!("{call}\nbefore: {old:?}\nafter:  {new:?}")),
            Ok(Err(Silence::Crash(what))) => panic!("{what}"),
            Ok(Err(_)) => Compared::Open,
        }
    }
}

/// A value as SQL, with its type.
pub(crate) fn literal(value: &Value, ty: Type) -> String {
    match value {
        Value::Null => format!("NULL::{ty}"),
        value => format!("'{}'::{ty}", value.to_string().replace('\'', "''")),
    }
}

/// All rows of all tables.
pub(crate) fn contents(program: &Program, database: &Database) -> Contents {
    let mut all = Contents::new();
    for table in program.catalog().tables() {
        let mut copy = database.clone();
        let session = copy.open_session();
        let rows = query(&mut copy, session, &format!("SELECT * FROM {}", table.name));
        all.insert(table.id, rows);
    }
    all
}

/// The rows of a query.
pub(crate) fn query(database: &mut Database, session: SessionId, text: &str) -> Vec<Vec<Value>> {
    let statement = parse::script(text).unwrap().pop().unwrap();
    let prepared = database.prepare_in(session, &statement, text, &[]).unwrap();
    let mut reply = database.submit(session, &prepared, &[]);
    while reply.is_none() {
        reply = database.step(session).reply;
    }
    reply.unwrap().unwrap().rows.iter().map(|row| row.iter().cloned().collect()).collect()
}

fn holds(database: &Database, rule: &Rule) -> bool {
    database.query(&rule.prepared).is_ok_and(|rows| rows.iter().all(|row| row.first().is_some_and(Value::is_true)))
}
