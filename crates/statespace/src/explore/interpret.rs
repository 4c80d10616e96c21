//! States taken apart by the evaluator: for everything that has no packed form.
//!
//! Every value that a variable takes gets a number in the variable's dictionary, and the numbers side by side are the
//! state. How many bits each variable needs is not known before: room is made when a dictionary is full.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::symmetry::Symmetry;
use super::{Recode, Stepper, Trouble};
use crate::form::{Form, Forms, bits_for};
use crate::packed::Action;
use crate::space::Way;
use crate::tla::Spec;
use crate::tla::eval::{Env, Evaluator, Look, Partial};
use crate::tla::fault::Fault;
use crate::tla::ir::Expr;
use crate::tla::step::{Flow, Label};
use crate::tla::syntax::At;
use crate::tla::value::Value;

/// Steps by evaluating.
pub struct Interpreter<'s> {
    spec: &'s Spec,
    bits: u32,
    /// Evaluates expressions of the specification.
    pub evaluator: Evaluator<'s>,
    init: &'s Expr,
    next: Option<&'s Expr>,
    dicts: Vec<Dict>,
    ways: FxHashMap<Label, u32>,
    labels: Vec<Label>,
    symmetry: Symmetry,
    /// The first state that was seen of each class: of states that look the same, or differ only by names.
    classes: FxHashMap<Value, u128>,
}

/// The values of one variable.
#[derive(Debug, Default)]
struct Dict {
    values: Vec<Value>,
    numbers: FxHashMap<Value, u32>,
    /// How many bits there are for their numbers.
    width: u32,
    offset: u32,
}

/// How the number of a variable's value gets to another place: from where, how wide, and the bits that each number
/// becomes.
pub(crate) type Move = (u32, u32, Vec<u128>);

/// A state has so many bits, if nobody wants fewer.
const BITS: u32 = 128;
/// The number of a value has at most so many.
const NUMBER_BITS: u32 = 32;

/// Whether a step is one that is looked for.
type IsGoal<'g> = &'g mut dyn FnMut(&Label, &Partial) -> Result<bool, Box<Fault>>;

impl<'s> Interpreter<'s> {
    /// Steps of a specification.
    pub fn new(spec: &'s Spec) -> Result<Interpreter<'s>, Box<Fault>> {
        Interpreter::with_bits(spec, BITS)
    }

    /// Steps of a specification whose states have at most so many bits.
    pub(crate) fn with_bits(spec: &'s Spec, bits: u32) -> Result<Interpreter<'s>, Box<Fault>> {
        let init =
            spec.init.as_ref().ok_or_else(|| Fault::new(At::default(), "nothing says where behaviours start"))?;
        let count = spec.variables().len() as u32;
        if count == 0 || count > bits {
            return Err(Fault::new(init.at, format!("there are no variables, or more than {bits}")));
        }
        let width = (bits / count).min(16);
        let dict = |index| Dict { width, offset: index * width, ..Dict::default() };
        Ok(Interpreter {
            spec,
            bits,
            evaluator: spec.evaluator(),
            init,
            next: spec.next.as_ref(),
            dicts: (0..count).map(dict).collect(),
            ways: FxHashMap::default(),
            labels: Vec::new(),
            symmetry: Symmetry::new(&spec.symmetry),
            classes: FxHashMap::default(),
        })
    }

    /// The values that a variable was seen to have.
    pub fn seen(&self, variable: usize) -> &[Value] {
        &self.dicts[variable].values
    }

    /// The values of the variables in a state.
    pub fn values(&self, state: u128) -> Partial {
        self.dicts.iter().map(|dict| dict.values.get(dict.code(state)).cloned()).collect()
    }

    /// The actions and the ways to take them, as far as they were seen.
    pub fn actions(&self) -> (Vec<Action>, Vec<Way>) {
        let mut actions: Vec<Action> = Vec::new();
        let ways = self.labels.iter().map(|label| {
            let action = self.spec.action(label.definition);
            let place = actions.iter().position(|known| *known == action).unwrap_or_else(|| {
                actions.push(action);
                actions.len() - 1
            });
            Way { action: place, binding: said(label) }
        });
        let ways = ways.collect();
        (actions, ways)
    }

    /// How the states lie in keys when everything is known: as small as can be. And how a state gets there.
    pub fn forms(&self) -> (Forms, Recode<u128>) {
        let (forms, moves) = self.moves();
        let recode = move |state: u128| {
            let part = |(from, width, bits): &Move| {
                bits.get((state >> from) as usize & ((1 << width) - 1)).copied().unwrap_or(0)
            };
            moves.iter().map(part).fold(0, |a, b| a | b)
        };
        (forms, Box::new(recode))
    }

    /// The same, variable by variable.
    pub(crate) fn moves(&self) -> (Forms, Vec<Move>) {
        let sorted = |dict: &Dict| {
            let mut values = dict.values.clone();
            values.sort();
            values
        };
        let named = self.dicts.iter().zip(self.spec.variables());
        let forms = Forms::new(named.map(|(dict, (name, _))| (name.clone(), Form::Enum(Arc::new(sorted(dict))))));
        let moves = self.dicts.iter().zip(&forms.layout.slots).map(|(dict, slot)| {
            let values = sorted(dict);
            let bits = |value: &Value| (values.binary_search(value).unwrap_or(0) as u128) << slot.offset;
            (dict.offset, dict.width, dict.values.iter().map(bits).collect())
        });
        let moves = moves.collect();
        (forms, moves)
    }

    /// The bits of some variables.
    pub(crate) fn mask(&self, variables: impl Iterator<Item = usize>) -> u128 {
        variables
            .map(|variable| &self.dicts[variable])
            .fold(0, |mask, dict| mask | ((1 << dict.width) - 1) << dict.offset)
    }

    /// A state; of variables without a value there are no bits.
    pub(crate) fn pack(&mut self, values: &Partial) -> Result<u128, Trouble> {
        let mut state = 0;
        for (dict, value) in self.dicts.iter_mut().zip(values) {
            let Some(value) = value else { continue };
            state |= u128::from(dict.number(value)?) << dict.offset;
        }
        Ok(state)
    }

    /// The state that stands for this one: the first that was seen of its class.
    pub(crate) fn pack_class(&mut self, values: &Partial) -> Result<u128, Trouble> {
        let state = self.pack(values)?;
        if !self.joins() {
            return Ok(state);
        }
        let class = self.class_of(values)?;
        Ok(*self.classes.entry(class).or_insert(state))
    }

    /// Whether several states are one class.
    fn joins(&self) -> bool {
        !self.symmetry.is_empty() || self.spec.view.is_some()
    }

    /// What all states of a class have in common, and no others.
    fn class_of(&self, values: &Partial) -> Result<Value, Box<Fault>> {
        let canonical = match self.symmetry.is_empty() {
            true => values.clone(),
            false => self.symmetry.canonical(values),
        };
        match &self.spec.view {
            Some(view) => self.evaluator.listed(view, Env::default(), Look::state(&canonical)),
            None => Ok(Value::tuple(canonical.into_iter().flatten().collect())),
        }
    }

    /// Whether two states are of one class.
    fn is_alike(&self, a: &Partial, b: &Partial) -> Result<bool, Box<Fault>> {
        Ok(a == b || self.joins() && self.class_of(a)? == self.class_of(b)?)
    }

    /// What the step from one state to another is called, and where it is written; nothing, if there is none.
    pub fn step_between(&mut self, from: &Partial, to: &Partial) -> Result<Option<(String, String)>, Box<Fault>> {
        let found = self.first_step(from, &mut |_, next| Ok(next == to))?;
        Ok(found.map(|(label, _)| {
            let action = self.spec.action(label.definition);
            let binding = said(&label);
            let name = if binding.is_empty() { action.name } else { format!("{}({binding})", action.name) };
            (name, format!("{} line {}", action.file, action.line))
        }))
    }

    /// The states of a class that follow a state.
    pub(crate) fn followers(&self, from: &Partial, class: &Partial) -> Result<Vec<Partial>, Box<Fault>> {
        let mut found: Vec<Partial> = Vec::new();
        self.first_step(from, &mut |_, next| {
            if self.is_alike(next, class)? && self.permitted(from, next)? && !found.contains(next) {
                found.push(next.clone());
            }
            Ok(false)
        })?;
        Ok(found)
    }

    /// The first step from a state that is a goal.
    fn first_step(&self, from: &Partial, is_goal: IsGoal<'_>) -> Result<Option<(Label, Partial)>, Box<Fault>> {
        let Some(next) = self.next else { return Ok(None) };
        let mut found = None;
        self.evaluator.steps(next, from, &mut |label, next| {
            let is = is_goal(label, next)?;
            if is {
                found = Some((label.clone(), next.clone()));
            }
            Ok(if is { Flow::Break(()) } else { Flow::Continue(()) })
        })?;
        Ok(found)
    }

    /// The number of a way to take an action.
    pub(crate) fn way(&mut self, label: &Label) -> u32 {
        if let Some(way) = self.ways.get(label) {
            return *way;
        }
        let way = self.labels.len() as u32;
        self.labels.push(label.clone());
        self.ways.insert(label.clone(), way);
        way
    }

    /// Whether the action constraints let a step be taken.
    pub(crate) fn permitted(&self, now: &Partial, next: &Partial) -> Result<bool, Box<Fault>> {
        for constraint in &self.spec.action_constraints {
            if !self.evaluator.truth(constraint, Env::default(), Look::step(now, next))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Stepper for Interpreter<'_> {
    type Word = u128;

    fn initial(&mut self, found: &mut dyn FnMut(u128)) -> Result<(), Trouble> {
        let mut states = Vec::new();
        self.evaluator.initial(self.init, &mut |state| {
            states.push(state.clone());
            Ok(Flow::Continue(()))
        })?;
        for state in &states {
            found(self.pack(state)?);
        }
        Ok(())
    }

    fn steps(&mut self, state: u128, found: &mut Vec<(u32, u128)>) -> Result<(), Trouble> {
        let Some(next) = self.next else { return Ok(()) };
        let now = self.values(state);
        let mut reached = Vec::new();
        self.evaluator.steps(next, &now, &mut |label, next| {
            reached.push((label.clone(), next.clone()));
            Ok(Flow::Continue(()))
        })?;
        for (label, next) in &reached {
            let state = self.pack(next)?;
            found.push((self.way(label), state));
        }
        Ok(())
    }

    fn is_quotient(&self) -> bool {
        self.joins() || !self.spec.action_constraints.is_empty()
    }

    fn class(&mut self, state: u128) -> Result<Option<u128>, Trouble> {
        let class = self.class_of(&self.values(state))?;
        Ok(self.classes.get(&class).copied())
    }

    fn stand_for_class(&mut self, state: u128) -> Result<(), Trouble> {
        let class = self.class_of(&self.values(state))?;
        self.classes.insert(class, state);
        Ok(())
    }

    fn is_permitted(&mut self, from: u128, to: u128) -> Result<bool, Trouble> {
        Ok(self.spec.action_constraints.is_empty() || self.permitted(&self.values(from), &self.values(to))?)
    }

    fn broken(&mut self, state: u128) -> Result<Option<usize>, Trouble> {
        if self.spec.invariants.is_empty() {
            return Ok(None);
        }
        let values = self.values(state);
        for (index, (_, invariant)) in self.spec.invariants.iter().enumerate() {
            if !self.evaluator.truth(invariant, Env::default(), Look::state(&values))? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    fn inside(&mut self, state: u128) -> Result<bool, Trouble> {
        if self.spec.constraints.is_empty() {
            return Ok(true);
        }
        let values = self.values(state);
        for constraint in &self.spec.constraints {
            if !self.evaluator.truth(constraint, Env::default(), Look::state(&values))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn widen(&mut self) -> Result<Recode<u128>, Box<Fault>> {
        let old: Vec<(u32, u32)> = self.dicts.iter().map(|dict| (dict.offset, dict.width)).collect();
        for dict in &mut self.dicts {
            dict.width = bits_for(dict.values.len()) + 1;
        }
        let used: u32 = self.dicts.iter().map(|dict| dict.width).sum();
        if used > self.bits {
            let message = format!("the values of the variables are too many to be numbered in {} bits", self.bits);
            return Err(Fault::new(self.init.at, message));
        }
        let spare = (self.bits - used) / self.dicts.len() as u32;
        let mut offset = 0;
        for dict in &mut self.dicts {
            (dict.width, dict.offset) = ((dict.width + spare).min(NUMBER_BITS), offset);
            offset += dict.width;
        }
        let moves = old.into_iter().zip(&self.dicts).map(|((offset, width), dict)| (offset, width, dict.offset));
        let recode = moved(moves.collect());
        self.classes.values_mut().for_each(|state| *state = recode(*state));
        Ok(recode)
    }
}

impl Dict {
    fn code(&self, state: u128) -> usize {
        (state >> self.offset) as usize & ((1 << self.width) - 1)
    }

    fn number(&mut self, value: &Value) -> Result<u32, Trouble> {
        if let Some(number) = self.numbers.get(value) {
            return Ok(*number);
        }
        let number = self.values.len() as u32;
        if u128::from(number) >> self.width != 0 {
            return Err(Trouble::Narrow);
        }
        self.values.push(value.clone());
        self.numbers.insert(value.clone(), number);
        Ok(number)
    }
}

/// Each part to another place: from where, how wide, to where.
fn moved(moves: Vec<(u32, u32, u32)>) -> Recode<u128> {
    Box::new(move |state| {
        moves.iter().map(|(from, width, to)| ((state >> from) & ((1 << width) - 1)) << to).fold(0, |a, b| a | b)
    })
}

/// `r = r1, m = 2`
pub(super) fn said(label: &Label) -> String {
    let parts: Vec<String> = label.binding.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    parts.join(", ")
}
