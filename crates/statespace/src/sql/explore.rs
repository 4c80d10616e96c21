//! Exploring by closure and by levels.

use super::{Dialect, Printer, Successor, Trouble};
use crate::packed::{Key, Program};
use crate::space::Space;
use crate::store::{self, Cell, Database, Run, Store, StoreError, Subject};

/// How to explore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One recursive query, and levels if the database cannot do that.
    Closure,
    /// A level at a time.
    Levels,
}

/// What to look for, and for how long.
pub struct Options<'a> {
    /// Closure or levels.
    pub form: Form,
    /// A state that no step leaves is something to report.
    pub deadlock: bool,
    /// Shown every level that is complete and the states so far; says whether to go on.
    pub proceed: &'a mut dyn FnMut(usize, usize) -> bool,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// How many states there are.
    pub states: usize,
    /// How many levels; not known of a closure.
    pub depth: Option<usize>,
    /// How it was done in the end.
    pub form: Form,
    /// Why it ended early.
    pub stop: Option<Stop>,
}

/// Why exploration ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Something to report, with the states that lead there and the ways that were taken.
    Found(Finding, Vec<(Option<usize>, Key)>),
    /// Whoever watches did not want more.
    Interrupted,
}

/// Something to report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// This invariant, by its place, is false.
    Invariant(usize),
    /// No step leaves the state.
    Deadlock,
    /// A step from the state goes wrong.
    Trouble(Trouble),
}

/// Explores a program into a store. What an earlier run of the same specification left is gone on with.
pub fn explore(store: &mut Store, program: &Program, run: &Run, options: &mut Options) -> Result<Explored, StoreError> {
    if !program.layout.fits_sql() {
        let bits = program.layout.bits;
        return Err(StoreError::new(format!(
            "a state takes {bits} bits, and the database can explore only what fits into 63"
        ))
        .with_hint("leave out --engine: the default one explores it and can store it, too"));
    }
    let subject = Subject { layout: &program.layout, actions: &program.actions, ways: &Space::ways_of(program) };
    let mut explorer = Explorer::new(store, program);
    if options.form == Form::Closure {
        match explorer.closure(&subject, run) {
            Ok(Some(explored)) => return Ok(explored),
            // Something is wrong, or it did not fit: levels say what and where, and need less room.
            Ok(None) => {}
            Err(error) if explorer.store.held().is_err() => return Err(error),
            Err(_) => {}
        }
    }
    explorer.levels(&subject, run, options)
}

/// Builds the table of transitions, if it is not there; says how many there are. Where exploration has ended early,
/// they are those of the states that were looked at.
pub fn transitions(store: &mut Store, program: &Program) -> Result<usize, StoreError> {
    let held = store.held()?;
    let complete = held.as_ref().is_some_and(|held| held.complete);
    if let Some(count) = held.and_then(|held| held.transitions) {
        return Ok(count);
    }
    let explorer = Explorer::new(store, program);
    let statements = explorer.transition_steps(complete);
    store.database.atomically(|database| {
        database.execute("DELETE FROM trans")?;
        for statement in &statements {
            database.execute(statement)?;
        }
        store::index_transitions(database)?;
        database.execute("UPDATE isolde_run SET transitions = (SELECT count(*) FROM trans)")
    })?;
    Ok(store.held()?.and_then(|held| held.transitions).unwrap_or(0))
}

/// Something to report, in a state of a level.
struct Found {
    finding: Finding,
    state: i64,
    level: usize,
}

struct Explorer<'a> {
    store: &'a mut Store,
    program: &'a Program,
    dialect: Dialect,
    successors: Vec<Successor>,
}

/// Terms of one compound query: databases have limits on them.
const TERMS_MAX: usize = 200;

impl<'a> Explorer<'a> {
    fn new(store: &'a mut Store, program: &'a Program) -> Explorer<'a> {
        let dialect = store.database.dialect();
        let printer = Printer { dialect, layout: &program.layout, key: "k" };
        let successors = (0..program.instances.len()).map(|place| printer.successor(program, place)).collect();
        Explorer { store, program, dialect, successors }
    }

    fn printer(&self) -> Printer<'a> {
        Printer { dialect: self.dialect, layout: &self.program.layout, key: "k" }
    }

    /// What must be true of a state for its steps to be looked at.
    fn left(&self) -> String {
        self.program.constraint.as_ref().map_or("1 = 1".into(), |constraint| self.printer().condition(constraint))
    }

    fn database(&mut self) -> &mut dyn Database {
        &mut *self.store.database
    }

    /// A table `isolde_next` of the states it starts in.
    fn start(&mut self) -> Result<(), StoreError> {
        let key = self.dialect.unique_key();
        self.database().execute(&format!(
            "DROP TABLE IF EXISTS isolde_frontier; DROP TABLE IF EXISTS isolde_next; \
             CREATE TEMPORARY TABLE isolde_frontier (k {key}); CREATE TEMPORARY TABLE isolde_next (k {key})"
        ))?;
        let mut initial: Vec<i64> = self.program.initial.iter().map(|key| key.to_sql()).collect();
        initial.sort_unstable();
        initial.dedup();
        let values: Vec<String> = initial.iter().map(|key| format!("({key})")).collect();
        for some in values.chunks(TERMS_MAX) {
            self.database().execute(&format!("INSERT INTO isolde_next VALUES {}", some.join(", ")))?;
        }
        Ok(())
    }

    /// One statement; nothing, if something is wrong in it, which levels will find.
    fn closure(&mut self, subject: &Subject, run: &Run) -> Result<Option<Explored>, StoreError> {
        if self.dialect == Dialect::Sqlite && self.successors.len() > TERMS_MAX {
            return Ok(None);
        }
        self.store.begin(subject, run)?;
        self.start()?;
        let (recursion, checks) = (self.recursion(), self.broken());
        let complete = self.store.database.atomically(|database| {
            database.execute(&recursion)?;
            database.execute("UPDATE state SET lvl = 0 WHERE k IN (SELECT k FROM isolde_next)")?;
            let good = database.number("SELECT count(*) FROM (SELECT 1 FROM state WHERE k < 0 LIMIT 1) x")? == 0
                && database.number(&format!("SELECT count(*) FROM (SELECT 1 FROM state WHERE {checks} LIMIT 1) x"))?
                    == 0;
            match good {
                true => store::finish(database, None, None).map(|()| true),
                // Levels begin anew, but what was done here must not look as if it were complete.
                false => database.execute("DELETE FROM state").map(|_| false),
            }
        })?;
        if !complete {
            return Ok(None);
        }
        let states = self.database().number("SELECT count(*) FROM state")? as usize;
        Ok(Some(Explored { states, depth: None, form: Form::Closure, stop: None }))
    }

    fn recursion(&self) -> String {
        let left = self.left();
        let step = match self.dialect {
            Dialect::Sqlite => {
                let term =
                    |s: &Successor| format!("SELECT {} FROM r WHERE k >= 0 AND ({left}) AND ({})", s.key, s.when);
                self.successors.iter().map(term).collect::<Vec<_>>().join("\n  UNION ")
            }
            _ => {
                let each = self.dialect.unnest(&self.cases(), &format!("r WHERE k >= 0 AND ({left})"));
                format!("SELECT s FROM ({each}) x WHERE s IS NOT NULL")
            }
        };
        let step = if self.successors.is_empty() { String::new() } else { format!("\n  UNION {step}") };
        // Who is outside was reached, and was not left; it is no part of the space.
        format!(
            "INSERT INTO state (k) WITH RECURSIVE r(k) AS (SELECT k FROM isolde_next{step})\nSELECT k FROM r WHERE k < 0 OR ({left})"
        )
    }

    fn cases(&self) -> Vec<String> {
        self.successors.iter().map(|s| format!("CASE WHEN {} THEN {} END", s.when, s.key)).collect()
    }

    /// Where an invariant is false.
    fn broken(&self) -> String {
        let printer = self.printer();
        let parts: Vec<String> = self
            .program
            .invariants
            .iter()
            .map(|(_, invariant)| format!("NOT ({})", printer.condition(invariant)))
            .collect();
        if parts.is_empty() { "1 = 0".into() } else { parts.join(" OR ") }
    }

    fn levels(&mut self, subject: &Subject, run: &Run, options: &mut Options) -> Result<Explored, StoreError> {
        let mut depth = match self.store.frontier_level(&run.spec, subject.layout)? {
            Some(depth) if depth > 0 => {
                self.start()?;
                self.database().execute(&format!(
                    "DELETE FROM isolde_next; INSERT INTO isolde_next SELECT k FROM state WHERE lvl = {}",
                    depth - 1
                ))?;
                depth
            }
            _ => {
                self.store.begin(subject, run)?;
                self.start()?;
                if let Some(stop) = self.enter_level(0)? {
                    return self.stopped(stop, 1);
                }
                1
            }
        };
        loop {
            let states = self.database().number("SELECT states FROM isolde_run")? as usize;
            if !(options.proceed)(depth, states) {
                return Ok(Explored { states, depth: Some(depth), form: Form::Levels, stop: Some(Stop::Interrupted) });
            }
            self.database().execute(
                "DELETE FROM isolde_frontier; INSERT INTO isolde_frontier SELECT k FROM isolde_next; DELETE FROM isolde_next",
            )?;
            if options.deadlock
                && let Some(stop) = self.stuck(depth - 1)?
            {
                return self.stopped(stop, depth);
            }
            if let Some(stop) = self.enter_level(depth)? {
                return self.stopped(stop, depth + 1);
            }
            if self.database().number("SELECT count(*) FROM (SELECT 1 FROM isolde_next LIMIT 1) x")? == 0 {
                break;
            }
            depth += 1;
        }
        store::finish(&mut *self.store.database, Some(depth), None)?;
        let states = self.database().number("SELECT states FROM isolde_run")? as usize;
        Ok(Explored { states, depth: Some(depth), form: Form::Levels, stop: None })
    }

    /// Finds the next level and puts it into the table, entirely or, if it is not as it should be, not at all.
    fn enter_level(&mut self, level: usize) -> Result<Option<Found>, StoreError> {
        let steps = if level == 0 { Vec::new() } else { self.level_steps() };
        let (insert, broken) =
            (format!("INSERT INTO state (k, lvl) SELECT k, {level} FROM isolde_next"), self.broken());
        let outside = self.program.constraint.as_ref().map(|constraint| self.printer().condition(constraint));
        let wrong = self.store.database.atomically(|database| {
            for step in &steps {
                database.execute(step)?;
            }
            let trouble = database.rows("SELECT k FROM isolde_next WHERE k < 0 LIMIT 1")?;
            if let Some(row) = trouble.first() {
                database.execute("DELETE FROM isolde_next")?;
                return Ok((Trouble::of(row[0].int()), None));
            }
            let broken = database.rows(&format!("SELECT k FROM isolde_next WHERE {broken} ORDER BY k LIMIT 1"))?;
            if let Some(inside) = &outside {
                database.execute(&format!("DELETE FROM isolde_next WHERE NOT ({inside})"))?;
            }
            let new = database.execute(&insert)?;
            if new > 0 {
                database.execute(&format!(
                    "UPDATE isolde_run SET depth = {}, states = COALESCE(states, 0) + {new}",
                    level + 1
                ))?;
            }
            Ok((None, broken.first().map(|row| row[0].int())))
        })?;
        match wrong {
            (Some(trouble), _) => {
                let state = self.where_from(trouble)?;
                Ok(Some(Found { finding: Finding::Trouble(trouble), state, level: level.saturating_sub(1) }))
            }
            (None, Some(state)) => {
                let finding = self.which_invariant(state)?;
                Ok(finding.map(|finding| Found { finding, state, level }))
            }
            (None, None) => Ok(None),
        }
    }

    /// The invariant that is false in a state.
    fn which_invariant(&mut self, state: i64) -> Result<Option<Finding>, StoreError> {
        let printer = self.printer();
        for (place, (_, invariant)) in self.program.invariants.iter().enumerate() {
            let condition = printer.condition(invariant);
            let key = self.dialect.key_type();
            let sql = format!("SELECT count(*) FROM (SELECT CAST({state} AS {key}) AS k) x WHERE NOT ({condition})");
            if self.database().number(&sql)? > 0 {
                return Ok(Some(Finding::Invariant(place)));
            }
        }
        Ok(None)
    }

    /// The statements that put the successors of the frontier that are new into `isolde_next`.
    fn level_steps(&self) -> Vec<String> {
        let left = self.left();
        let new = "NOT EXISTS (SELECT 1 FROM state WHERE k = s)";
        match self.dialect {
            Dialect::Sqlite => {
                let term = |s: &Successor| {
                    format!("SELECT {} AS s FROM isolde_frontier WHERE ({left}) AND ({})", s.key, s.when)
                };
                let terms: Vec<String> = self.successors.iter().map(term).collect();
                let insert = |terms: &[String]| {
                    format!(
                        "INSERT OR IGNORE INTO isolde_next SELECT s FROM (\n  {}) WHERE {new}",
                        terms.join("\n  UNION ALL ")
                    )
                };
                terms.chunks(TERMS_MAX).map(insert).collect()
            }
            _ if self.successors.is_empty() => Vec::new(),
            _ => {
                let each = self.dialect.unnest(&self.cases(), &format!("isolde_frontier WHERE {left}"));
                vec![format!("INSERT INTO isolde_next SELECT DISTINCT s FROM ({each}) x WHERE s IS NOT NULL AND {new}")]
            }
        }
    }

    /// A state of the frontier in which no step is possible.
    fn stuck(&mut self, level: usize) -> Result<Option<Found>, StoreError> {
        let (left, some) = (self.left(), self.some_step());
        let sql = format!("SELECT k FROM isolde_frontier WHERE ({left}) AND NOT ({some}) ORDER BY k LIMIT 1");
        let rows = self.database().rows(&sql)?;
        Ok(rows.first().map(|row| Found { finding: Finding::Deadlock, state: row[0].int(), level }))
    }

    fn some_step(&self) -> String {
        let guards: Vec<String> = self.successors.iter().map(|s| format!("({})", s.when)).collect();
        if guards.is_empty() { "1 = 0".into() } else { guards.join(" OR ") }
    }

    fn where_from(&mut self, trouble: Trouble) -> Result<i64, StoreError> {
        let (Trouble::OutOfRange(place) | Trouble::Undefined(place)) = trouble;
        let Successor { when, key } = &self.successors[place];
        let sql =
            format!("SELECT k FROM isolde_frontier WHERE ({when}) AND {key} = {} ORDER BY k LIMIT 1", trouble.code());
        Ok(self.database().rows(&sql)?.first().map_or(0, |row| row[0].int()))
    }

    /// Puts together how one gets to where something was found.
    fn stopped(&mut self, Found { finding, state, level }: Found, depth: usize) -> Result<Explored, StoreError> {
        let trace = self.trace(state, level)?;
        let states = self.database().number("SELECT count(*) FROM state")? as usize;
        let stop = Some(Stop::Found(finding, trace));
        Ok(Explored { states, depth: Some(depth), form: Form::Levels, stop })
    }

    /// From a state back to the start, a level at a time; no parent was ever written down.
    fn trace(&mut self, end: i64, mut level: usize) -> Result<Vec<(Option<usize>, Key)>, StoreError> {
        let (mut trace, mut state) = (Vec::new(), end);
        while level > 0 {
            level -= 1;
            let Some((before, way)) = self.predecessor(state, level)? else { break };
            trace.push((Some(way), Key::from_sql(state)));
            state = before;
        }
        trace.push((None, Key::from_sql(state)));
        trace.reverse();
        Ok(trace)
    }

    fn predecessor(&mut self, state: i64, level: usize) -> Result<Option<(i64, usize)>, StoreError> {
        let left = self.left();
        for place in 0..self.successors.len() {
            let Successor { when, key } = &self.successors[place];
            let sql = format!(
                "SELECT k FROM state WHERE lvl = {level} AND ({left}) AND ({when}) AND {key} = {state} ORDER BY k LIMIT 1"
            );
            if let Some(Cell::Int(before)) = self.database().rows(&sql)?.first().map(|row| Cell::Int(row[0].int())) {
                return Ok(Some((before, place)));
            }
        }
        Ok(None)
    }

    /// The statements that insert all transitions.
    fn transition_steps(&self, complete: bool) -> Vec<String> {
        let left = match complete {
            true => self.left(),
            false => format!("({}) AND lvl < (SELECT max(lvl) FROM state)", self.left()),
        };
        let inside = |key: &str| match self.program.constraint {
            Some(_) => format!(" AND {key} IN (SELECT k FROM state)"),
            None => String::new(),
        };
        match self.dialect {
            Dialect::Sqlite => {
                let insert = |(place, Successor { when, key }): (usize, &Successor)| {
                    let inside = inside(key);
                    format!("INSERT INTO trans SELECT k, {place}, {key} FROM state WHERE ({left}) AND ({when}){inside}")
                };
                self.successors.iter().enumerate().map(insert).collect()
            }
            _ if self.successors.is_empty() => Vec::new(),
            _ => {
                let places: Vec<String> = (0..self.successors.len()).map(|place| place.to_string()).collect();
                vec![format!(
                    "INSERT INTO trans SELECT src, act, dst FROM (SELECT k AS src, unnest(array[{}]) AS act, unnest(array[\n    {}]) AS dst \
                     FROM state WHERE {left}) x WHERE dst IS NOT NULL{}",
                    places.join(", "),
                    self.cases().join(",\n    "),
                    inside("dst")
                )]
            }
        }
    }
}
