//! From one run to the next: a space that is in a store is read and not explored again, and labels are made once.
//!
//! Whether a store is of a specification is told by a hash of everything that its states depend on: the modules, and the
//! configuration without what is merely asked (INVARIANT, PROPERTY, CHECK_DEADLOCK). So another question, on the command line or in
//! the configuration, finds the space where it is; a changed specification does not, and the store is made again.
//!
//! Invariants and deadlocks are asked of what was read as if it had just been found.

use crate::compile::{NotCompiled, compile};
use crate::ctl::Labels;
use crate::explore::{Incomplete, Options, Watch, What};
use crate::explored::Explored;
use crate::form::Forms;
use crate::graph::{BitSet, StateId};
use crate::packed::Program;
use crate::space::Space;
use crate::sql;
use crate::store::{Run, Store, StoreError, StoredLabels, Subject};
use crate::tla::Spec;
use crate::tla::eval::{Env, Look};
use crate::tla::fault::Fault;
use crate::written;

/// Where spaces are kept.
#[derive(Debug)]
pub struct Keeper<'s> {
    store: &'s mut Store,
    run: Run,
    engine: Engine,
    /// Whether the space was there already.
    pub recalled: bool,
    /// Whether the store has the space: only then it can have labels of it.
    stored: bool,
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
        Keeper { store, run, engine, recalled: false, stored: false }
    }

    /// The space: what is kept, else what is found, which is kept then.
    pub fn explored(&mut self, spec: &Spec, options: &Options, watch: &mut dyn Watch) -> Result<Explored, Box<Fault>> {
        if let Some(explored) = self.recall(spec, options)? {
            (self.recalled, self.stored) = (true, true);
            return Ok(explored);
        }
        if let Engine::Sql(form) = self.engine {
            return self.by_sql(spec, options, watch, form);
        }
        // Everything is looked at, even if something is wrong: one may want to see all of it.
        let mut explored = Explored::explore(spec, &Options { stop: false, ..*options }, watch)?;
        if explored.incomplete.is_none() && !matches!(explored.wrong, Some((What::Fault(_), ..))) {
            let space = explored.to_space();
            self.run.forms = written::write(&explored.forms);
            self.store.write(&space, &self.run).map_err(fault)?;
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
        let (mut program, mut forms) = program(spec)?;
        self.run.engine = "sql".into();
        loop {
            program.invariants.clear();
            self.run.forms = written::write(&forms);
            let mut stopped = None;
            let mut proceed = |level: usize, states: usize| {
                let interrupted = (!watch.on(states, states, level)).then_some(Incomplete::Interrupted);
                stopped = interrupted.or((states > options.states_max).then_some(Incomplete::States));
                stopped.is_none()
            };
            let mut how = sql::Options { form, deadlock: false, proceed: &mut proceed };
            let found = sql::explore(self.store, &program, &self.run, &mut how).map_err(fault)?;
            if let Some(sql::Stop::Found(finding, _)) = found.stop {
                // Values have outgrown their slots, or a step means nothing where it is taken: the other engine tells which, and how
                // much room there must be.
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
                sql::transitions(self.store, &program).map_err(fault)?;
            }
            let space = self.read(&forms)?;
            if stopped.is_none() {
                self.store.complete(&space).map_err(fault)?;
            }
            let mut explored = Explored::of_space(space, forms);
            explored.incomplete = stopped;
            self.stored = stopped.is_none();
            explored.wrong = wrong(spec, options, &explored)?;
            return Ok(explored);
        }
    }

    /// What is stored.
    fn read(&mut self, forms: &Forms) -> Result<Space, Box<Fault>> {
        let (actions, ways) = self.store.actions().map_err(fault)?;
        let subject = Subject { layout: &forms.layout, actions: &actions, ways: &ways };
        self.store.read(&subject).map_err(fault)
    }

    fn recall(&mut self, spec: &Spec, options: &Options) -> Result<Option<Explored>, Box<Fault>> {
        let held = self.store.held().map_err(fault)?;
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

/// The specification as a program that says all of its behaviour.
pub fn program(spec: &Spec) -> Result<(Program, Forms), Box<Fault>> {
    let no_form = |why: &str| {
        let message = format!("a database cannot explore this specification: it has no packed form for {why}");
        Fault::with_hint(Default::default(), message, "leave out --engine: what is found is stored all the same")
    };
    match compile(spec) {
        Ok(compiled) if compiled.constrained || spec.constraints.is_empty() => Ok((compiled.program, compiled.forms)),
        Ok(_) => Err(no_form("its constraint")),
        Err(NotCompiled::NoForm(why)) => Err(no_form(&why)),
        Err(NotCompiled::Fault(fault)) => Err(fault),
    }
}

/// What is wrong in a space that was read, nearest to the start first.
type Wrong = Option<(What, StateId, Option<crate::tla::eval::Partial>)>;

fn wrong(spec: &Spec, options: &Options, explored: &Explored) -> Result<Wrong, Box<Fault>> {
    let evaluator = spec.evaluator();
    for state in 0..explored.count() as StateId {
        let values = explored.values(state);
        for (place, (_, invariant)) in spec.invariants.iter().enumerate() {
            if !evaluator.truth(invariant, Env::default(), Look::state(&values))? {
                return Ok(Some((What::Invariant(place), state, None)));
            }
        }
        if options.deadlock && explored.graph.as_ref().is_some_and(|graph| graph.is_dead(state)) {
            return Ok(Some((What::Deadlock, state, None)));
        }
    }
    Ok(None)
}

type Never = fn(&str) -> Result<BitSet, StoreError>;

/// Atoms are decided by whoever knows TLA+, not by the store.
fn never(text: &str) -> Result<BitSet, StoreError> {
    Err(StoreError::new(format!("`{text}` is not known to the store")))
}

fn fault(error: StoreError) -> Box<Fault> {
    Box::new(Fault { at: Default::default(), message: error.message, hint: error.hint })
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
        self.stored.as_mut().map_or(Ok(None), |stored| stored.known(name).map_err(fault))
    }

    fn learned(&mut self, name: &str, label: &BitSet) -> Result<(), Box<Fault>> {
        self.stored.as_mut().map_or(Ok(()), |stored| stored.learned(name, label).map_err(fault))
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
