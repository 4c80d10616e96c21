//! What was found, whoever looked for it: states with their values, steps with their names, and behaviours in words.

use isolde_report::{Behaviour, Passed};

use crate::compile::{Compiled, NotCompiled, compile, compile_with, predicate};
use crate::explore::{Fast, Incomplete, Interpreter, Options, Stepper, Trouble, Watch, What, Word, explore, label};
use crate::form::{Form, Forms};
use crate::graph::{BitSet, Graph, Path, StateId};
use crate::packed::{Action, Key, Program};
use crate::space::{Space, Way};
use crate::tla::Spec;
use crate::tla::eval::{Env, Look, Partial};
use crate::tla::fault::Fault;
use crate::tla::ir::Expr;

/// The states, in words as wide as they need.
#[derive(Debug)]
pub enum States {
    /// In 64 bits.
    Narrow(Vec<u64>),
    /// In 128 bits.
    Wide(Vec<u128>),
}

/// A state space with what is known about how it was found.
#[derive(Debug)]
pub struct Explored {
    /// The states.
    pub states: States,
    /// How their values lie in them.
    pub forms: Forms,
    /// The actions.
    pub actions: Vec<Action>,
    /// The ways to take them.
    pub ways: Vec<Way>,
    /// How often each way was taken, and led to a new state.
    pub taken: Vec<(u64, u64)>,
    /// How they follow each other, if that was asked for.
    pub graph: Option<Graph>,
    /// Where each transition of the graph really leads, if states are joined to classes (VIEW, SYMMETRY): the graph
    /// says only to which class.
    concrete: Option<Vec<Key>>,
    /// From which state each was found.
    parents: Vec<StateId>,
    /// How many steps each is away.
    level_ends: Vec<usize>,
    /// Starts and steps.
    pub generated: u64,
    /// What goes wrong.
    pub wrong: Option<Mistake>,
    /// Why not everything was looked at.
    pub incomplete: Option<Incomplete>,
    /// The program that found it, if one did.
    pub program: Option<Program>,
    /// Why there was none.
    pub not_compiled: Option<String>,
    /// What Print and PrintT printed, in order.
    pub printed: Vec<String>,
}

/// Something that goes wrong: what, the state in which or after which it does, and the values of a state that is no
/// part of the space. A start that is no part of it comes after nothing.
pub type Mistake = (What, Option<StateId>, Option<Partial>);

/// Conditions on more values without structure than this are not written out.
const WRITTEN_OUT_MAX: usize = 300;

/// Whether the values have outgrown their forms.
enum Outgrown {
    /// No: this was found.
    Not(Box<Explored>),
    /// They need these.
    By(Vec<Form>),
}

impl Explored {
    /// Explores by evaluating.
    pub fn by_evaluation(spec: &Spec, options: &Options, watch: &mut dyn Watch) -> Result<Explored, Box<Fault>> {
        let mut interpreter = Interpreter::new(spec)?;
        let found = explore(&mut interpreter, options, watch)?;
        let (forms, recode) = interpreter.forms();
        if !forms.layout.fits() {
            let message = "the values of the variables are too many to be numbered in 128 bits";
            return Err(Fault::new(Default::default(), message));
        }
        let (actions, ways) = interpreter.actions();
        let beyond = |state: u128| interpreter.values(state);
        let wrong = found.wrong;
        let wrong = wrong.map(|wrong| (wrong.what, wrong.state, wrong.beyond.map(beyond)));
        let joined = !spec.symmetry.is_empty() || spec.view.is_some();
        let concrete = joined.then(|| found.concrete.iter().map(|state| Key(recode(*state))).collect());
        let states = found.states.into_iter().map(recode).collect();
        Ok(Explored {
            concrete,
            states: States::Wide(states),
            forms,
            actions,
            ways,
            taken: found.taken,
            graph: found.graph,
            parents: found.parents,
            level_ends: found.level_ends,
            generated: found.generated,
            wrong,
            incomplete: found.incomplete,
            program: None,
            not_compiled: None,
            printed: interpreter.evaluator.printed.take(),
        })
    }

    /// The states of a behaviour as a space of their own, one after another, with the place to which the last one comes
    /// back.
    pub(crate) fn line(spec: &Spec, states: &[Partial], back_to: Option<usize>) -> Result<Explored, Box<Fault>> {
        let mut interpreter = Interpreter::new(spec)?;
        let number = states.len() as StateId;
        let back = back_to.map(|place| place as StateId);
        let step = |from: StateId| Some((from, 0, (from + 1 < number).then_some(from + 1).or(back)?));
        let graph = Graph::new(states.len(), (0..number).filter_map(step).collect());
        let mut keys = Vec::new();
        while keys.len() < states.len() {
            match interpreter.pack(&states[keys.len()]) {
                Ok(key) => keys.push(key),
                Err(Trouble::Fault(fault)) => return Err(fault),
                Err(Trouble::Narrow) => {
                    drop(interpreter.widen()?);
                    keys.clear();
                }
            }
        }
        let (forms, recode) = interpreter.forms();
        let space = Space {
            layout: forms.layout.clone(),
            actions: Vec::new(),
            ways: vec![Way { action: 0, binding: String::new() }],
            keys: keys.into_iter().map(|key| Key(recode(key))).collect(),
            levels: (0..number).collect(),
            graph: graph.map_err(|_| Fault::new(Default::default(), "the behaviour is too long"))?,
        };
        Ok(Explored::of_space(space, forms))
    }

    /// A space that was found before, with how its values lie in it.
    pub fn of_space(space: Space, forms: Forms) -> Explored {
        let mut level_ends = Vec::new();
        for (state, &level) in space.levels.iter().enumerate() {
            level_ends.resize((level as usize + 1).max(level_ends.len()), state);
            level_ends[level as usize] = state + 1;
        }
        let mut parents: Vec<StateId> = (0..space.states() as StateId).collect();
        let mut taken = vec![(0, 0); space.ways.len()];
        for (source, edge, target) in space.graph.all_edges() {
            let count = &mut taken[space.graph.action(edge) as usize];
            let first =
                parents[target as usize] == target && space.levels[target as usize] > space.levels[source as usize];
            *count = (count.0 + 1, count.1 + u64::from(first));
            if first {
                parents[target as usize] = source;
            }
        }
        Explored {
            generated: (level_ends.first().copied().unwrap_or(0) + space.graph.transitions()) as u64,
            states: States::Wide(space.keys.iter().map(|key| key.0).collect()),
            forms,
            concrete: None,
            actions: space.actions,
            ways: space.ways,
            taken,
            graph: Some(space.graph),
            parents,
            level_ends,
            wrong: None,
            incomplete: None,
            program: None,
            not_compiled: None,
            printed: Vec::new(),
        }
    }

    /// Who looked.
    pub fn engine(&self) -> &'static str {
        match self.program {
            Some(_) => "compiled",
            None => "evaluated",
        }
    }

    /// Explores by a program, if the specification can be made one; else by evaluating.
    pub fn explore(spec: &Spec, options: &Options, watch: &mut dyn Watch) -> Result<Explored, Box<Fault>> {
        let mut compiled = compile(spec);
        loop {
            let outgrown = match compiled {
                Ok(program) if program.program.layout.bits <= 64 => {
                    Explored::by_program::<u64>(spec, program, options, watch, States::Narrow)?
                }
                Ok(program) => Explored::by_program::<u128>(spec, program, options, watch, States::Wide)?,
                Err(why @ (NotCompiled::Fault(_) | NotCompiled::NoForm(_))) => {
                    // What has no meaning where it is compiled may never be evaluated; if it is, a behaviour leads
                    // there.
                    let why = match why {
                        NotCompiled::NoForm(why) => why,
                        NotCompiled::Fault(fault) => fault.message,
                    };
                    let mut explored = Explored::by_evaluation(spec, options, watch)?;
                    explored.not_compiled = Some(why);
                    return Ok(explored);
                }
            };
            compiled = match outgrown {
                Outgrown::Not(explored) => return Ok(*explored),
                Outgrown::By(forms) => compile_with(spec, forms),
            };
        }
    }

    fn by_program<W: Word>(
        spec: &Spec,
        compiled: Compiled,
        options: &Options,
        watch: &mut dyn Watch,
        states: fn(Vec<W>) -> States,
    ) -> Result<Outgrown, Box<Fault>> {
        let mut fast = Fast::<W>::new(spec, compiled)?;
        let found = match explore(&mut fast, options, watch) {
            Ok(found) => found,
            Err(fault) => match fast.outgrown.take() {
                Some(forms) => return Ok(Outgrown::By(forms)),
                None => return Err(fault),
            },
        };
        let forms = fast.compiled.forms.clone();
        let wrong =
            found.wrong.map(|wrong| (wrong.what, wrong.state, wrong.beyond.map(|state| forms.decode(state.key()))));
        Ok(Outgrown::Not(Box::new(Explored {
            states: states(found.states),
            forms,
            concrete: None,
            actions: fast.compiled.program.actions.clone(),
            ways: fast.ways.clone(),
            taken: found.taken,
            graph: found.graph,
            parents: found.parents,
            level_ends: found.level_ends,
            generated: found.generated,
            wrong,
            incomplete: found.incomplete,
            printed: fast.printed(),
            program: Some(fast.compiled.program),
            not_compiled: None,
        })))
    }

    /// How many states there are.
    pub fn count(&self) -> usize {
        match &self.states {
            States::Narrow(states) => states.len(),
            States::Wide(states) => states.len(),
        }
    }

    /// How many states it can start in.
    pub fn initial(&self) -> usize {
        self.level_ends.first().copied().unwrap_or(0)
    }

    /// How many states there are on the way to the farthest, as TLC counts.
    pub fn depth(&self) -> usize {
        let mut ends = self.level_ends.clone();
        ends.dedup();
        if self.count() == 0 { 0 } else { ends.len() }
    }

    /// A state.
    pub fn key(&self, state: StateId) -> Key {
        match &self.states {
            States::Narrow(states) => states[state as usize].key(),
            States::Wide(states) => states[state as usize].key(),
        }
    }

    /// The values of the variables in a state.
    pub fn values(&self, state: StateId) -> Partial {
        self.forms.decode(self.key(state))
    }

    /// The values of the variables where a transition leads: not those of the state that stands for it.
    pub(crate) fn values_after(&self, edge: usize, target: StateId) -> Partial {
        match self.concrete.as_ref().and_then(|concrete| concrete.get(edge)) {
            Some(key) => self.forms.decode(*key),
            None => self.values(target),
        }
    }

    /// Whether states are joined to classes, so that paths of the graph need not be behaviours.
    pub fn is_joined(&self) -> bool {
        self.concrete.is_some()
    }

    /// The states in which an expression is true, if it has a packed form.
    pub fn packed_label(&self, spec: &Spec, expr: &Expr) -> Option<BitSet> {
        // Of values without structure there may be many, and writing out what is said about each would take longer than
        // asking.
        let structured = |form: &Form| !matches!(form, Form::Enum(values) if values.len() > WRITTEN_OUT_MAX);
        if !self.forms.forms.iter().all(structured) {
            return None;
        }
        let packed = predicate(spec, &self.forms, expr)?;
        Some(match &self.states {
            States::Narrow(states) => label(&packed, &self.forms.layout, states),
            States::Wide(states) => label(&packed, &self.forms.layout, states),
        })
    }

    /// The states in which an expression is true.
    pub fn label(&self, spec: &Spec, expr: &Expr) -> Result<BitSet, Box<Fault>> {
        if let Some(label) = self.packed_label(spec, expr) {
            return Ok(label);
        }
        let evaluator = spec.evaluator();
        let mut found = BitSet::none(self.count());
        for state in 0..self.count() as StateId {
            if evaluator.truth(expr, Env::default(), Look::state(&self.values(state)))? {
                found.insert(state);
            }
        }
        Ok(found)
    }

    /// The space by itself; takes the graph.
    pub fn to_space(&mut self) -> Space {
        let mut levels = Vec::with_capacity(self.count());
        for (level, end) in self.level_ends.iter().enumerate() {
            levels.resize(*end, level as u32);
        }
        Space {
            layout: self.forms.layout.clone(),
            actions: self.actions.clone(),
            ways: self.ways.clone(),
            keys: (0..self.count() as StateId).map(|state| self.key(state)).collect(),
            levels,
            graph: self.graph.take().unwrap_or_default(),
        }
    }

    /// What a way to take an action is called: `RMPrepare(r = r1)`.
    pub fn name(&self, way: usize) -> String {
        let Some(way) = self.ways.get(way) else { return String::new() };
        let name = &self.actions[way.action].name;
        if way.binding.is_empty() { name.clone() } else { format!("{name}({})", way.binding) }
    }

    /// The states from a start to a state, on a shortest way.
    fn way_to(&self, state: StateId) -> Vec<StateId> {
        let mut way = vec![state];
        let mut at = state;
        while self.parents[at as usize] != at {
            at = self.parents[at as usize];
            way.push(at);
        }
        way.reverse();
        way
    }

    /// The behaviour to a state, each step taken once more to see what it is called.
    ///
    /// Each state on the way was found from the one before it, so this is a behaviour also where states are joined to
    /// classes.
    pub fn behaviour_to(
        &self,
        spec: &Spec,
        state: Option<StateId>,
        beyond: Option<&Partial>,
    ) -> Result<Behaviour, Box<Fault>> {
        let way = state.map(|state| self.way_to(state)).unwrap_or_default();
        let mut all: Vec<Partial> = way.into_iter().map(|state| self.values(state)).collect();
        all.extend(beyond.cloned());
        self.behaviour(spec, &all)
    }

    /// A behaviour in words.
    pub fn behaviour(&self, spec: &Spec, states: &[Partial]) -> Result<Behaviour, Box<Fault>> {
        let mut interpreter = Interpreter::new(spec)?;
        let mut passed = Vec::new();
        for (index, values) in states.iter().enumerate() {
            let step = match index.checked_sub(1) {
                Some(before) => interpreter.step_between(&states[before], values)?,
                None => None,
            };
            let values = values.iter().flatten().map(ToString::to_string).collect();
            let (action, place) = step.unzip();
            passed.push(Passed { action, place, values });
        }
        let variables = spec.variables().iter().map(|(name, _)| name.clone()).collect();
        Ok(Behaviour { variables, states: passed, back_to: None, stays: false })
    }

    /// A path of the graph in words.
    pub fn path(&self, spec: &Spec, path: &Path) -> Result<Behaviour, Box<Fault>> {
        let states: Vec<Partial> = path.states.iter().map(|state| self.values(*state)).collect();
        let mut behaviour = self.behaviour(spec, &states)?;
        behaviour.back_to = path.back_to;
        Ok(behaviour)
    }
}
