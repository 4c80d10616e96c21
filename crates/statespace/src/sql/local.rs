//! Exploration in the database of what has no SQL form: local transition tables.
//!
//! An action looks at some variables and leaves the others alone. What it does is a table over the former, whatever the
//! others are; so it is evaluated once for each combination of *their* values, and everything else is a join (Blom, van
//! de Pol and Weber, *LTSmin*, CAV 2010, in relational clothes):
//!
//! ```text
//!   part a of Next, over the bits m       local_a(reads, way, writes)
//!   asked    :=  distinct k & m of the frontier, without those that were asked
//!   local_a  +=  what the evaluator says of each
//!   next     +=  (k & ~m) | writes  of  frontier ⨝ local_a on k & m = reads,  without state
//! ```
//!
//! Every value of a variable has a number; the numbers side by side are the state, in at most 63 bits. When there are
//! more values than there is room for, the numbers get more of it, and exploration begins anew. At the end the numbers
//! are put into the order of the values, as everything that reads a store expects.
//!
//! SYMMETRY, VIEW and ACTION_CONSTRAINT are about whole states: then there is one part, over all bits.

use rustc_hash::FxHashSet;

use super::explore::{Explored, Form, Options, Stop};
use crate::explore::{Interpreter, Stepper, Trouble};
use crate::form::Forms;
use crate::space::Way;
use crate::store::{self, Cell, Database, Run, Store, Subject};
use crate::tla::Spec;
use crate::tla::builtin::Builtin;
use crate::tla::eval::{Env, Look};
use crate::tla::fault::Fault;
use crate::tla::ir::{DefinitionId, Expr, Kind, Level};
use crate::tla::step::Flow;
use crate::tla::value::Value;
use crate::written;

/// What was found.
#[derive(Debug)]
pub struct ByTables {
    /// How much there is.
    pub explored: Explored,
    /// What the keys mean.
    pub forms: Forms,
    /// How often the evaluator was asked what a part of the next-state relation does.
    pub evaluations: usize,
}

/// A key has so many bits.
const KEY_BITS: u32 = 63;
/// Room is made at most so often.
const ROUNDS_MAX: usize = 64;

/// Explores a specification into a store, level by level, with the transitions; the evaluator says what steps do.
pub fn explore_by_tables(
    store: &mut Store,
    spec: &Spec,
    run: &Run,
    options: &mut Options,
) -> Result<ByTables, Box<Fault>> {
    let mut interpreter = Interpreter::with_bits(spec, KEY_BITS)?;
    for _ in 0..ROUNDS_MAX {
        let parts = parts(spec, &interpreter);
        let mut explorer = Explorer { store, spec, interpreter: &mut interpreter, parts, evaluations: 0 };
        match explorer.explore(options) {
            Ok((depth, stop)) => return explorer.finish(run, depth, stop),
            Err(Trouble::Fault(fault)) => return Err(fault),
            Err(Trouble::Narrow) => drop(interpreter.widen()?),
        }
    }
    Err(Fault::new(Default::default(), "the values of the variables do not settle"))
}

/// A part of the next-state relation.
struct Part {
    /// The definition it stands in.
    definition: Option<DefinitionId>,
    expr: Expr,
    /// The variables that it looks at or changes.
    touched: Vec<bool>,
    /// Their bits.
    mask: i64,
}

fn parts(spec: &Spec, interpreter: &Interpreter<'_>) -> Vec<Part> {
    let Some(next) = &spec.next else { return Vec::new() };
    let count = spec.variables().len();
    let whole = !spec.symmetry.is_empty() || spec.view.is_some() || !spec.action_constraints.is_empty();
    let mut split = Vec::new();
    match whole {
        true => split.push((None, next.clone())),
        false => disjuncts(spec, None, next, &mut split),
    }
    let part = |(definition, expr): (Option<DefinitionId>, Expr)| {
        let mut touched = vec![whole; count];
        touch(spec, &expr, &mut touched, &mut FxHashSet::default());
        let mask = interpreter.mask((0..count).filter(|variable| touched[*variable])) as i64;
        Part { definition, expr, touched, mask }
    };
    split.into_iter().map(part).collect()
}

/// What is joined by `\/`, also below definitions and `\E`.
fn disjuncts(
    spec: &Spec,
    definition: Option<DefinitionId>,
    expr: &Expr,
    found: &mut Vec<(Option<DefinitionId>, Expr)>,
) {
    match &*expr.kind {
        Kind::Or(parts) => parts.iter().for_each(|part| disjuncts(spec, definition, part, found)),
        Kind::Defined(id, arguments) if arguments.is_empty() && spec.definitions()[*id].level == Level::Action => {
            disjuncts(spec, Some(*id), &spec.definitions()[*id].body, found);
        }
        Kind::Quantified(false, bounds, body) => {
            let mut inside = Vec::new();
            disjuncts(spec, definition, body, &mut inside);
            // A definition without parameters cannot mention what is bound here.
            found.extend(inside.into_iter().map(|(definition, part)| {
                (definition, Expr::new(expr.at, Kind::Quantified(false, bounds.clone(), part)))
            }));
        }
        _ => found.push((definition, expr.clone())),
    }
}

/// Which variables occur, but for those that merely stay as they are.
fn touch(spec: &Spec, expr: &Expr, touched: &mut [bool], seen: &mut FxHashSet<DefinitionId>) {
    match &*expr.kind {
        Kind::Variable(variable) | Kind::Next(variable) => touched[*variable] = true,
        Kind::Builtin(Builtin::Unchanged, same) if is_list(spec, &same[0]) => return,
        Kind::Square(action, same) if is_list(spec, same) => return touch(spec, action, touched, seen),
        Kind::Defined(id, _) if seen.insert(*id) => touch(spec, &spec.definitions()[*id].body, touched, seen),
        _ => {}
    }
    expr.parts().into_iter().for_each(|part| touch(spec, part, touched, seen));
}

/// Whether it is a variable, or a tuple of such.
fn is_list(spec: &Spec, expr: &Expr) -> bool {
    match &*expr.kind {
        Kind::Variable(_) => true,
        Kind::Builtin(Builtin::Tuple, parts) => parts.iter().all(|part| is_list(spec, part)),
        Kind::Defined(id, arguments) => arguments.is_empty() && is_list(spec, &spec.definitions()[*id].body),
        _ => false,
    }
}

struct Explorer<'a, 's> {
    store: &'a mut Store,
    spec: &'s Spec,
    interpreter: &'a mut Interpreter<'s>,
    parts: Vec<Part>,
    evaluations: usize,
}

impl Explorer<'_, '_> {
    fn database(&mut self) -> &mut dyn Database {
        &mut *self.store.database
    }

    fn execute(&mut self, sql: &str) -> Result<u64, Trouble> {
        self.database().execute(sql).map_err(|error| Trouble::Fault(error.into()))
    }

    /// All levels; says how many there are, and whether somebody has had enough.
    fn explore(&mut self, options: &mut Options) -> Result<(usize, Option<Stop>), Trouble> {
        self.tables()?;
        let mut initial = Vec::new();
        self.interpreter.initial(&mut |state| initial.push(state))?;
        let mut class = |state| {
            let values = self.interpreter.values(state);
            Ok(self.interpreter.pack_class(&values)? as i64)
        };
        let mut initial = initial.into_iter().map(&mut class).collect::<Result<Vec<i64>, Trouble>>()?;
        initial.sort_unstable();
        initial.dedup();
        let rows = &mut initial.into_iter().map(|key| vec![Cell::Int(key)]);
        self.database().load("isolde_next", rows).map_err(|error| Trouble::Fault(error.into()))?;
        let mut level = 0;
        loop {
            self.cut()?;
            let new = self.execute(&format!("INSERT INTO isolde_state SELECT k, {level} FROM isolde_next"))?;
            if new == 0 {
                return Ok((level, None));
            }
            level += 1;
            let states = self.number("SELECT count(*) FROM isolde_state")? as usize;
            if !(options.proceed)(level, states) {
                return Ok((level, Some(Stop::Interrupted)));
            }
            self.execute(
                "DELETE FROM isolde_frontier; INSERT INTO isolde_frontier SELECT k FROM isolde_next; DELETE FROM isolde_next",
            )?;
            for part in 0..self.parts.len() {
                self.learn(part)?;
                let sql = self.follow(part);
                self.execute(&sql)?;
            }
        }
    }

    fn number(&mut self, sql: &str) -> Result<i64, Trouble> {
        self.database().number(sql).map_err(|error| Trouble::Fault(error.into()))
    }

    /// Tables that are gone when the connection is.
    fn tables(&mut self) -> Result<(), Trouble> {
        let (key, unique) = (self.database().dialect().key_type(), self.database().dialect().unique_key());
        let mut tables = vec![
            format!("isolde_state (k {unique}, lvl INTEGER NOT NULL)"),
            format!("isolde_frontier (k {unique})"),
            format!("isolde_next (k {unique})"),
        ];
        for part in 0..self.parts.len() {
            tables.push(format!("isolde_asked_{part} (reads {unique})"));
            tables.push(format!(
                "isolde_local_{part} (reads {key} NOT NULL, way INTEGER NOT NULL, writes {key} NOT NULL, PRIMARY KEY (reads, way, writes))"
            ));
        }
        for table in tables {
            let name = table.split(' ').next().unwrap_or_default();
            self.execute(&format!("DROP TABLE IF EXISTS {name}; CREATE TEMPORARY TABLE {table}"))?;
        }
        Ok(())
    }

    /// Takes out of the next level what a constraint leaves out.
    fn cut(&mut self) -> Result<(), Trouble> {
        if self.spec.constraints.is_empty() {
            return Ok(());
        }
        let mut outside = Vec::new();
        for key in self.keys("SELECT k FROM isolde_next")? {
            let values = self.interpreter.values(key as u128);
            for constraint in &self.spec.constraints {
                if !self.interpreter.evaluator.truth(constraint, Env::default(), Look::state(&values))? {
                    outside.push(key);
                    break;
                }
            }
        }
        for some in outside.chunks(500) {
            let listed: Vec<String> = some.iter().map(i64::to_string).collect();
            self.execute(&format!("DELETE FROM isolde_next WHERE k IN ({})", listed.join(", ")))?;
        }
        Ok(())
    }

    fn keys(&mut self, sql: &str) -> Result<Vec<i64>, Trouble> {
        let mut keys = Vec::new();
        let each = &mut |row: &[Cell]| keys.extend(row.first().map(Cell::int));
        self.database().each(sql, each).map_err(|error| Trouble::Fault(error.into()))?;
        Ok(keys)
    }

    /// Asks the evaluator what a part does, for the values that are new.
    fn learn(&mut self, part: usize) -> Result<(), Trouble> {
        let mask = self.parts[part].mask;
        let new = self.keys(&format!(
            "SELECT DISTINCT k & {mask} FROM isolde_frontier f WHERE NOT EXISTS \
             (SELECT 1 FROM isolde_asked_{part} a WHERE a.reads = f.k & {mask})"
        ))?;
        let mut learned = Vec::new();
        for &reads in &new {
            self.evaluations += 1;
            learned.extend(self.steps(part, reads)?.into_iter().map(|(way, writes)| (reads, way, writes)));
        }
        learned.sort_unstable();
        learned.dedup();
        let rows =
            learned.into_iter().map(|(reads, way, writes)| vec![Cell::Int(reads), Cell::Int(way), Cell::Int(writes)]);
        let database = &mut *self.store.database;
        database
            .load(&format!("isolde_local_{part}"), &mut { rows })
            .and_then(|()| {
                let asked = new.into_iter().map(|reads| vec![Cell::Int(reads)]);
                database.load(&format!("isolde_asked_{part}"), &mut { asked })
            })
            .map_err(|error| Trouble::Fault(error.into()))
    }

    /// What a part does where the variables that it touches are these.
    fn steps(&mut self, part: usize, reads: i64) -> Result<Vec<(i64, i64)>, Trouble> {
        let Part { definition, expr, touched, .. } = &self.parts[part];
        // A variable that is not touched is something that equals nothing else, and stays.
        let unread = |variable: usize| Some(Value::Model(format!("?{variable}").into()));
        let mut now = self.interpreter.values(reads as u128);
        (0..now.len()).filter(|variable| !touched[*variable]).for_each(|variable| now[variable] = unread(variable));
        let mut reached = Vec::new();
        self.interpreter.evaluator.steps_of(*definition, expr, &now, &mut |label, next| {
            reached.push((label.clone(), next.clone()));
            Ok(Flow::Continue(()))
        })?;
        let mut steps = Vec::new();
        for (label, mut next) in reached {
            if !self.interpreter.permitted(&now, &next)? {
                continue;
            }
            (0..next.len()).filter(|variable| !touched[*variable]).for_each(|variable| next[variable] = None);
            let writes = self.interpreter.pack_class(&next)? as i64;
            steps.push((i64::from(self.interpreter.way(&label)), writes));
        }
        Ok(steps)
    }

    /// The successors of the frontier by a part that are new.
    fn follow(&self, part: usize) -> String {
        let successor = self.successor(part, "f");
        format!(
            "INSERT INTO isolde_next SELECT s FROM (SELECT DISTINCT {successor} AS s FROM isolde_frontier f \
             JOIN isolde_local_{part} l ON l.reads = f.k & {mask}) x WHERE NOT EXISTS (SELECT 1 FROM isolde_state o WHERE o.k = s) \
             AND NOT EXISTS (SELECT 1 FROM isolde_next o WHERE o.k = s)",
            mask = self.parts[part].mask
        )
    }

    fn successor(&self, part: usize, from: &str) -> String {
        format!("(({from}.k & {}) | l.writes)", i64::MAX & !self.parts[part].mask)
    }

    /// Writes the store: states and transitions, with the numbers of values in the order of the values.
    fn finish(&mut self, run: &Run, depth: usize, stop: Option<Stop>) -> Result<ByTables, Box<Fault>> {
        let (forms, moves) = self.interpreter.moves();
        let (actions, ways): (_, Vec<Way>) = self.interpreter.actions();
        let subject = Subject { layout: &forms.layout, actions: &actions, ways: &ways };
        let run = Run { forms: written::write(&forms), ..run.clone() };
        self.store.begin(&subject, &run)?;
        let (key, shift) = {
            let dialect = self.database().dialect();
            (dialect.key_type(), move |k: &str, by: u32| dialect.shift_right(k, &by.to_string()))
        };
        self.database().execute(&format!(
            "DROP TABLE IF EXISTS isolde_map; CREATE TEMPORARY TABLE isolde_map (id {key} PRIMARY KEY, bits {key} NOT NULL)"
        ))?;
        let rows = moves.iter().enumerate().flat_map(|(variable, (_, _, bits))| {
            let id = move |code: usize| (variable as i64) << 32 | code as i64;
            bits.iter().enumerate().map(move |(code, bits)| vec![Cell::Int(id(code)), Cell::Int(*bits as i64)])
        });
        self.store.database.load("isolde_map", &mut { rows })?;
        let moved = |k: &str| {
            let one = |(variable, (from, width, _)): (usize, &(u32, u32, Vec<u128>))| {
                let code = format!("({} & {})", shift(k, *from), (1u64 << width) - 1);
                format!("(SELECT bits FROM isolde_map WHERE id = {} + {code})", (variable as i64) << 32)
            };
            moves.iter().enumerate().map(one).collect::<Vec<_>>().join(" | ")
        };
        let statements = self.statements(&moved, stop.is_none());
        let transitions = self.store.database.atomically(|database| {
            statements.iter().try_for_each(|sql| database.execute(sql).map(drop))?;
            store::index_transitions(database)?;
            let transitions = database.number("SELECT count(*) FROM trans")? as usize;
            if stop.is_none() {
                store::finish(database, Some(depth), Some(transitions))?;
            }
            Ok(transitions)
        })?;
        let states = self.database().number("SELECT count(*) FROM state")? as usize;
        debug_assert!(transitions > 0 || states > 0 || depth == 0, "what was found is written");
        let explored = Explored { states, depth: Some(depth), form: Form::Levels, stop };
        Ok(ByTables { explored, forms, evaluations: self.evaluations })
    }

    /// What fills `state` and `trans`; the last level was not looked at, if exploration was stopped.
    fn statements(&self, moved: &dyn Fn(&str) -> String, complete: bool) -> Vec<String> {
        let mut statements = vec![format!("INSERT INTO state (k, lvl) SELECT {}, lvl FROM isolde_state", moved("k"))];
        let (mut all, looked) =
            (Vec::new(), if complete { "" } else { "WHERE f.lvl < (SELECT max(lvl) FROM isolde_state)" });
        for part in 0..self.parts.len() {
            let (successor, mask) = (self.successor(part, "f"), self.parts[part].mask);
            all.push(format!(
                "SELECT f.k AS src, l.way AS act, {successor} AS dst FROM isolde_state f \
                 JOIN isolde_local_{part} l ON l.reads = f.k & {mask} {looked}"
            ));
        }
        if !all.is_empty() {
            // What a constraint leaves out is no state.
            statements.push(format!(
                "INSERT INTO trans SELECT {}, act, {} FROM (SELECT DISTINCT src, act, dst FROM ({}) x) y \
                 WHERE EXISTS (SELECT 1 FROM isolde_state o WHERE o.k = y.dst)",
                moved("src"),
                moved("dst"),
                all.join(" UNION ALL ")
            ));
        }
        statements
    }
}
