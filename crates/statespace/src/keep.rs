//! From one run to the next: a space that is in a store is read and not explored again, and labels are made once.
//!
//! Whether a store is of a specification is told by a hash of everything that its states depend on: the modules, and
//! the configuration without what is merely asked (INVARIANT, PROPERTY, CHECK_DEADLOCK). So another question, on the
//! command line or in the configuration, finds the space where it is; a changed specification does not, and the store
//! is made again.
//!
//! Invariants and deadlocks are asked of what was read as if it had just been found.

use crate::compile::{NotCompiled, compile};
use crate::ctl::{Formula, Labels};
use crate::explore::{Incomplete, Options, Watch, What};
use crate::explored::{Explored, Mistake};
use crate::form::Forms;
use crate::graph::{BitSet, StateId};
use crate::packed::{Key, Program};
use crate::space::Space;
use crate::sql;
use crate::store::{Run, Store, StoreError, StoredLabels, Subject};
use crate::tla::Spec;
use crate::tla::eval::{Env, Evaluator, Look, Partial};
use crate::tla::fault::Fault;
use crate::tla::ir::Expr;
use crate::tla::step::Flow;
use crate::written;

/// Where spaces are kept.
#[derive(Debug)]
pub struct Keeper<'s> {
    store: &'s mut Store,
    run: Run,
    engine: Engine,
    /// Everything is looked at, even if something is wrong: one may want to see all of it. Otherwise the first mistake
    /// is the end.
    pub whole: bool,
    /// The database decides formulas of CTL.
    pub ctl_in_sql: bool,
    /// Whether the space was there already.
    pub recalled: bool,
    /// Whether the store has the space: only then it can have labels of it.
    stored: bool,
    /// States are joined or steps cut off. A store has not what is needed to judge such steps, and a database does not
    /// join states: they are explored by this program, each time.
    is_quotient: bool,
}

/// Who explores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// This program, which then writes what it found.
    #[default]
    Rust,
    /// The database itself.
    Sql(sql::Form),
}

impl<'s> Keeper<'s> {
    /// A store for the spaces of a specification with its configuration.
    pub fn new(store: &'s mut Store, spec: &Spec, config: Option<&str>, engine: Engine) -> Keeper<'s> {
        let run = Run {
            name: spec.name.clone(),
            spec: fingerprint(spec, config),
            engine: "rust".into(),
            forms: String::new(),
        };
        let is_quotient = spec.is_quotient();
        Keeper { store, run, engine, whole: true, ctl_in_sql: false, recalled: false, stored: false, is_quotient }
    }

    /// The space: what is kept, else what is found, which is kept then.
    pub fn explored(&mut self, spec: &Spec, options: &Options, watch: &mut dyn Watch) -> Result<Explored, Box<Fault>> {
        if !self.is_quotient
            && let Some(explored) = self.recall(spec, options)?
        {
            (self.recalled, self.stored) = (true, true);
            return Ok(explored);
        }
        if !self.is_quotient
            && let Engine::Sql(form) = self.engine
        {
            return self.by_sql(spec, options, watch, form);
        }
        let mut explored = Explored::explore(spec, &Options { stop: !self.whole, ..*options }, watch)?;
        let all = self.whole && !matches!(explored.wrong, Some((What::Fault(_), ..))) || explored.wrong.is_none();
        if explored.incomplete.is_none() && all {
            let space = explored.to_space();
            self.run.forms = written::write(&explored.forms);
            self.store.write(&space, &self.run)?;
            explored.graph = Some(space.graph);
            self.stored = true;
        }
        Ok(explored)
    }

    /// Lets the database explore. Invariants are asked of what it found.
    fn by_sql(
        &mut self,
        spec: &Spec,
        options: &Options,
        watch: &mut dyn Watch,
        form: sql::Form,
    ) -> Result<Explored, Box<Fault>> {
        self.run.engine = "sql".into();
        let (mut program, mut forms) = match sql_program(spec)? {
            Some(program) => program,
            None => return self.by_tables(spec, options, watch),
        };
        loop {
            if !program.layout.fits_sql() {
                return self.by_tables(spec, options, watch);
            }
            if self.whole {
                program.invariants.clear();
            }
            self.run.forms = written::write(&forms);
            let mut stopped = None;
            let mut proceed = |level: usize, states: usize| enough(options, watch, level, states, &mut stopped);
            let deadlock = options.deadlock && !self.whole;
            let mut how = sql::Options { form, deadlock, proceed: &mut proceed };
            let found = sql::explore(self.store, &program, &self.run, &mut how)?;
            if let Some(sql::Stop::Found(finding, trace)) = found.stop {
                let what = match finding {
                    sql::Finding::Invariant(place) => number_of(spec, &program, place).map(What::Invariant),
                    sql::Finding::Deadlock => Some(What::Deadlock),
                    sql::Finding::Trouble(_) => None,
                };
                if let Some(what) = what {
                    return self.ended_at(what, &trace, &program, forms);
                }
                // Values have outgrown their slots, or a step means nothing where it is taken: the other engine tells
                // which, and how much room there must be.
                let explored = Explored::explore(spec, &Options { stop: false, graph: false, ..*options }, watch)?;
                let Some(widened) = explored.program.clone().filter(|other| other.layout != program.layout) else {
                    return match explored.wrong {
                        Some((What::Fault(_), ..)) => Ok(explored),
                        _ => Err(Fault::new(
                            Default::default(),
                            format!("the database finds what is not there: {finding:?}"),
                        )),
                    };
                };
                (program, forms) = (widened, explored.forms);
                continue;
            }
            if stopped.is_none() {
                sql::transitions(self.store, &program)?;
            }
            return self.completed(spec, options, forms, stopped);
        }
    }

    /// Lets the database explore what has no SQL form.
    fn by_tables(&mut self, spec: &Spec, options: &Options, watch: &mut dyn Watch) -> Result<Explored, Box<Fault>> {
        let mut stopped = None;
        let mut proceed = |level: usize, states: usize| enough(options, watch, level, states, &mut stopped);
        let mut how = sql::Options { form: sql::Form::Levels, deadlock: false, proceed: &mut proceed };
        let found = sql::explore_by_tables(self.store, spec, &self.run, &mut how)?;
        self.run.forms = written::write(&found.forms);
        self.completed(spec, options, found.forms, stopped)
    }

    /// What the database has found, with what it cannot find by itself.
    fn completed(
        &mut self,
        spec: &Spec,
        options: &Options,
        forms: Forms,
        stopped: Option<Incomplete>,
    ) -> Result<Explored, Box<Fault>> {
        let space = self.read(&forms)?;
        if stopped.is_none() {
            self.store.complete(&space)?;
        }
        let mut explored = Explored::of_space(space, forms);
        explored.incomplete = stopped;
        self.stored = stopped.is_none();
        explored.wrong = wrong(spec, options, &explored)?;
        Ok(explored)
    }

    /// The levels up to where something is wrong, which is at the end of a trace.
    fn ended_at(
        &mut self,
        what: What,
        trace: &[(Option<usize>, Key)],
        program: &Program,
        forms: Forms,
    ) -> Result<Explored, Box<Fault>> {
        sql::transitions(self.store, program)?;
        let mut explored = Explored::of_space(self.read(&forms)?, forms);
        let number = |explored: &Explored, place: Option<usize>| {
            let (_, key) = trace.get(place?)?;
            (0..explored.count() as StateId).find(|state| explored.key(*state) == *key)
        };
        let last = trace.len().checked_sub(1);
        explored.wrong = match number(&explored, last) {
            Some(state) => Some((what, Some(state), None)),
            // A constraint leaves the state out; the one before it is there.
            None => {
                let before = number(&explored, last.and_then(|last| last.checked_sub(1)));
                let beyond = trace.last().map(|(_, key)| explored.forms.decode(*key));
                Some((what, before, beyond))
            }
        };
        Ok(explored)
    }

    /// Lets the database decide formulas, if it is to do so; what it finds is a label like any other. Atoms are decided
    /// by whoever knows TLA+.
    pub fn decide<'f>(
        &mut self,
        formulas: impl Iterator<Item = &'f Formula>,
        explored: &Explored,
        mut atom: impl FnMut(&str) -> Result<BitSet, Box<Fault>>,
    ) -> Result<(), Box<Fault>> {
        if !self.ctl_in_sql || !self.stored {
            return Ok(());
        }
        for formula in formulas {
            for text in formula.atoms() {
                Keeper::labels(Some(self), explored, &mut atom).atom(text)?;
            }
            sql::SqlChecker::new(self.store).states(formula)?;
        }
        Ok(())
    }

    /// What is stored.
    fn read(&mut self, forms: &Forms) -> Result<Space, Box<Fault>> {
        let (actions, ways) = self.store.actions()?;
        let subject = Subject { layout: &forms.layout, actions: &actions, ways: &ways };
        Ok(self.store.read(&subject)?)
    }

    fn recall(&mut self, spec: &Spec, options: &Options) -> Result<Option<Explored>, Box<Fault>> {
        let held = self.store.held()?;
        let whole = held.filter(|held| held.run.spec == self.run.spec && held.complete && held.transitions.is_some());
        let Some(forms) = whole.and_then(|held| written::read(&held.run.forms)) else { return Ok(None) };
        let mut explored = Explored::of_space(self.read(&forms)?, forms);
        explored.wrong = wrong(spec, options, &explored)?;
        Ok(Some(explored))
    }

    /// Labels of a space: those that are kept, if there is somebody who keeps them.
    pub fn labels<'k, A>(keeper: Option<&'k mut Keeper<'_>>, explored: &Explored, atom: A) -> KeptLabels<'k, A>
    where
        A: FnMut(&str) -> Result<BitSet, Box<Fault>>,
    {
        let keys = |explored: &Explored| {
            let fits = explored.forms.layout.fits_sql();
            let key = |state: StateId| if fits { explored.key(state).to_sql() } else { state.into() };
            (0..explored.count() as StateId).map(key).collect()
        };
        let stored =
            keeper.filter(|keeper| keeper.stored).map(|keeper| keeper.store.labels(keys(explored), never as Never));
        KeptLabels { stored, atom }
    }
}

/// Whether to go on, and if not, why.
fn enough(
    options: &Options,
    watch: &mut dyn Watch,
    level: usize,
    states: usize,
    stopped: &mut Option<Incomplete>,
) -> bool {
    let interrupted = (!watch.on(states, states, level)).then_some(Incomplete::Interrupted);
    *stopped = interrupted.or((states > options.states_max).then_some(Incomplete::States));
    stopped.is_none()
}

/// Which invariant of the specification one of its program is.
fn number_of(spec: &Spec, program: &Program, place: usize) -> Option<usize> {
    let (name, _) = program.invariants.get(place)?;
    spec.invariants.iter().position(|(other, _)| other == name)
}

/// The specification as a program that says all of its behaviour, if there is one.
fn sql_program(spec: &Spec) -> Result<Option<(Program, Forms)>, Box<Fault>> {
    match compile(spec) {
        Ok(compiled) if compiled.constrained || spec.constraints.is_empty() => {
            Ok(Some((compiled.program, compiled.forms)))
        }
        Ok(_) | Err(NotCompiled::NoForm(_)) => Ok(None),
        Err(NotCompiled::Fault(fault)) => Err(fault),
    }
}

/// The specification as a program, for a script.
pub fn program(spec: &Spec) -> Result<(Program, Forms), Box<Fault>> {
    let no_form = |why: &str| {
        let message = format!("this specification cannot be written as SQL: there is no packed form for {why}");
        Fault::with_hint(Default::default(), message, "--engine levels explores it in a database all the same")
    };
    match (sql_program(spec)?, compile(spec)) {
        (Some(program), _) => Ok(program),
        (None, Err(NotCompiled::NoForm(why))) => Err(no_form(&why)),
        (None, _) => Err(no_form("its constraint")),
    }
}

/// What is wrong in a space that was read, nearest to the start first.
///
/// What a constraint leaves out was not stored, and is looked at once more: an invariant may be broken there, and a
/// state whose steps all lead there is no deadlock.
fn wrong(spec: &Spec, options: &Options, explored: &Explored) -> Result<Option<Mistake>, Box<Fault>> {
    let evaluator = spec.evaluator();
    let labels: Vec<_> = spec.invariants.iter().map(|(_, invariant)| explored.packed_label(spec, invariant)).collect();
    if !spec.constraints.is_empty()
        && let Some(init) = &spec.init
    {
        let mut starts = Vec::new();
        evaluator.initial(init, &mut |state| {
            starts.push(state.clone());
            Ok(Flow::Continue(()))
        })?;
        if let Some(found) = wrong_outside(spec, &evaluator, None, &starts)? {
            return Ok(Some(found));
        }
    }
    for state in 0..explored.count() as StateId {
        for (place, ((_, invariant), label)) in spec.invariants.iter().zip(&labels).enumerate() {
            let holds = match label {
                Some(label) => label.contains(state),
                None => evaluator.truth(invariant, Env::default(), Look::state(&explored.values(state)))?,
            };
            if !holds {
                return Ok(Some((What::Invariant(place), Some(state), None)));
            }
        }
        let is_dead = explored.graph.as_ref().is_some_and(|graph| graph.is_dead(state));
        if spec.constraints.is_empty() {
            if options.deadlock && is_dead {
                return Ok(Some((What::Deadlock, Some(state), None)));
            }
            continue;
        }
        let mut next = Vec::new();
        if let Some(relation) = &spec.next {
            evaluator.steps(relation, &explored.values(state), &mut |_, state| {
                next.push(state.clone());
                Ok(Flow::Continue(()))
            })?;
        }
        if options.deadlock && next.is_empty() {
            return Ok(Some((What::Deadlock, Some(state), None)));
        }
        if let Some(found) = wrong_outside(spec, &evaluator, Some(state), &next)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// An invariant that is broken in one of these states, of those that a constraint leaves out.
fn wrong_outside(
    spec: &Spec,
    evaluator: &Evaluator<'_>,
    from: Option<StateId>,
    states: &[Partial],
) -> Result<Option<Mistake>, Box<Fault>> {
    for state in states {
        let is = |expr: &Expr| evaluator.truth(expr, Env::default(), Look::state(state));
        let mut outside = false;
        for constraint in &spec.constraints {
            outside = outside || !is(constraint)?;
        }
        for (place, (_, invariant)) in spec.invariants.iter().enumerate() {
            if outside && !is(invariant)? {
                return Ok(Some((What::Invariant(place), from, Some(state.clone()))));
            }
        }
    }
    Ok(None)
}

type Never = fn(&str) -> Result<BitSet, StoreError>;

/// Atoms are decided by whoever knows TLA+, not by the store.
fn never(text: &str) -> Result<BitSet, StoreError> {
    Err(StoreError::new(format!("`{text}` is not known to the store")))
}

/// Labels that may be kept.
#[derive(Debug)]
pub struct KeptLabels<'k, A> {
    stored: Option<StoredLabels<'k, Never>>,
    atom: A,
}

impl<A: FnMut(&str) -> Result<BitSet, Box<Fault>>> Labels for KeptLabels<'_, A> {
    type Error = Box<Fault>;

    fn atom(&mut self, text: &str) -> Result<BitSet, Box<Fault>> {
        if let Some(label) = self.known(text)? {
            return Ok(label);
        }
        let label = (self.atom)(text)?;
        self.learned(text, &label)?;
        Ok(label)
    }

    fn known(&mut self, name: &str) -> Result<Option<BitSet>, Box<Fault>> {
        self.stored.as_mut().map_or(Ok(None), |stored| Ok(stored.known(name)?))
    }

    fn learned(&mut self, name: &str, label: &BitSet) -> Result<(), Box<Fault>> {
        self.stored.as_mut().map_or(Ok(()), |stored| Ok(stored.learned(name, label)?))
    }
}

/// A hash of everything on which the states depend.
pub fn fingerprint(spec: &Spec, config: Option<&str>) -> String {
    let modules = spec.sources.files.iter().filter(|source| source.name.ends_with(".tla"));
    let mut texts: Vec<&str> = modules.map(|source| &*source.text).collect();
    let config = config.map(behaviour_words).unwrap_or_default();
    texts.push(&config);
    format!("{:032x}", isolde_digest::digest_of(&texts))
}

/// What a configuration says about behaviours, without what it merely asks.
fn behaviour_words(config: &str) -> String {
    const ASKED: [&str; 5] = ["INVARIANT", "INVARIANTS", "PROPERTY", "PROPERTIES", "CHECK_DEADLOCK"];
    const SAID: [&str; 13] = [
        "INIT",
        "NEXT",
        "SPECIFICATION",
        "CONSTANT",
        "CONSTANTS",
        "CONSTRAINT",
        "CONSTRAINTS",
        "ACTION_CONSTRAINT",
        "ACTION_CONSTRAINTS",
        "SYMMETRY",
        "VIEW",
        "ALIAS",
        "POSTCONDITION",
    ];
    let mut asked = false;
    let lines = config.lines().map(|line| line.split("\\*").next().unwrap_or(""));
    let words = lines.flat_map(str::split_whitespace).filter(|word| {
        if ASKED.contains(word) || SAID.contains(word) {
            asked = ASKED.contains(word);
        }
        !asked
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_no_part_of_the_behaviour() {
        let with = "INIT Init \\* start\nNEXT Next\nINVARIANTS A\n B\nCONSTANT N = 3\nCHECK_DEADLOCK FALSE";
        assert_eq!(behaviour_words(with), "INIT Init NEXT Next CONSTANT N = 3");
    }
}
