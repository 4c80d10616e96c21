//! States taken apart by a program: guards and updates on the bits of a key.
//!
//! Most of a guard compares slots with constants, and most updates put constants into slots. All comparisons of one
//! guard are one mask and one comparison of the whole key, and all constant updates two more masks:
//!
//! ```text
//!   tmState = "init" /\ rmState[r1] = "working"     key & 0b...11_0011 = 0b...00_0001
//!   rmState' = [rmState EXCEPT ![r1] = "aborted"]   key & !0b11_0000 | 0b11_0000
//! ```
//!
//! What is left is evaluated as a tree ([`Node`]). Where the program has no meaning, or a value has no code, the
//! evaluator is asked: it says what is wrong, or what the form must grow to.

use super::interpret::Interpreter;
use super::node::{Node, Place, gathered};
use super::{Recode, Stepper, Trouble, Word};
use crate::compile::{Compiled, NotCompiled, compile_with};
use crate::form::Form;
use crate::packed::{Binary, Expr, Key};
use crate::space::Way;
use crate::tla::Spec;
use crate::tla::eval::{Env, Look, Partial};
use crate::tla::fault::Fault;
use crate::tla::step::Flow;

/// Steps by a program.
pub struct Fast<'s, W> {
    spec: &'s Spec,
    /// The program.
    pub compiled: Compiled,
    /// The comparisons of each guard: which bits, and what they must be.
    guards: Vec<(W, W)>,
    instances: Vec<FastInstance<W>>,
    /// Where one of these is false the program has no meaning.
    defined: Vec<Node<W>>,
    invariants: Vec<Node<W>>,
    constraint: Option<Node<W>>,
    interpreter: Interpreter<'s>,
    /// The ways to take actions: those of the program, and others that only the evaluator knows.
    pub ways: Vec<Way>,
    narrow_at: Option<W>,
    /// The forms that are needed, if they do not fit into the word.
    pub outgrown: Option<Vec<Form>>,
}

/// What is left of an instance beside the comparisons of its guard.
struct FastInstance<W> {
    rest: Vec<Node<W>>,
    keep: W,
    put: W,
    updates: Vec<(Place, Node<W>)>,
    in_range: Option<Node<W>>,
}

impl<W: Word> FastInstance<W> {
    /// Where the step leads, if the rest of the guard holds.
    fn step(&self, state: W) -> Result<Option<W>, Trouble> {
        if self.rest.iter().any(|part| part.eval(state) == 0) {
            return Ok(None);
        }
        // The length of a sequence has codes that are longer than the sequence can be.
        if self.in_range.as_ref().is_some_and(|in_range| in_range.eval(state) == 0) {
            return Err(Trouble::Narrow);
        }
        let mut next = state.and(self.keep).or(self.put);
        for (place, value) in &self.updates {
            let code = value.eval(state).wrapping_sub(place.bias) as u64;
            if code > place.mask {
                return Err(Trouble::Narrow);
            }
            next = next.or(W::at(code, place.shift));
        }
        Ok(Some(next))
    }
}

impl<'s, W: Word> Fast<'s, W> {
    /// Steps of a program.
    pub fn new(spec: &'s Spec, compiled: Compiled) -> Result<Fast<'s, W>, Box<Fault>> {
        let ways = crate::space::Space::ways_of(&compiled.program);
        let mut fast = Fast {
            spec,
            compiled,
            guards: Vec::new(),
            instances: Vec::new(),
            defined: Vec::new(),
            invariants: Vec::new(),
            constraint: None,
            interpreter: Interpreter::new(spec)?,
            ways,
            narrow_at: None,
            outgrown: None,
        };
        fast.prepare();
        Ok(fast)
    }

    fn prepare(&mut self) {
        let layout = &self.compiled.program.layout;
        let node = |expr: &Expr| Node::of(expr, layout);
        self.invariants = self.compiled.program.invariants.iter().map(|(_, truth)| node(truth)).collect();
        self.constraint = self.compiled.program.constraint.as_ref().map(node);
        let instances = &self.compiled.program.instances;
        let partial = instances.iter().filter(|instance| instance.defined != Expr::Const(1));
        self.defined = partial.map(|instance| node(&instance.defined)).collect();
        (self.guards, self.instances) = instances
            .iter()
            .map(|instance| {
                let parts = match &instance.guard {
                    Expr::And(parts) => parts.clone(),
                    other => vec![other.clone()],
                };
                let (mask, want, rest, possible) = gathered(&parts, layout, true);
                let mut fast = FastInstance {
                    rest: if possible { rest.into_iter().map(node).collect() } else { vec![Node::Const(0)] },
                    keep: W::of(Key(u128::MAX)),
                    put: W::default(),
                    updates: Vec::new(),
                    in_range: (instance.in_range != Expr::Const(1)).then(|| node(&instance.in_range)),
                };
                let (mut keep, mut put) = (u128::MAX, 0);
                for (slot, value) in &instance.updates {
                    let place = &layout.slots[*slot];
                    let own = |x: &Expr| *x == Expr::Slot(*slot) && place.bias == 0;
                    match value {
                        Expr::Const(value) => {
                            keep &= !(place.mask() << place.offset);
                            put |= ((value - place.bias) as u128 & place.mask()) << place.offset;
                        }
                        Expr::Binary(Binary::BitOr, a, bits) if own(a) && matches!(**bits, Expr::Const(_)) => {
                            let Expr::Const(bits) = **bits else { continue };
                            put |= (bits as u64 as u128 & place.mask()) << place.offset;
                        }
                        Expr::Binary(Binary::BitAnd, a, bits) if own(a) && matches!(**bits, Expr::Const(_)) => {
                            let Expr::Const(bits) = **bits else { continue };
                            keep &= !((!(bits as u64 as u128) & place.mask()) << place.offset);
                        }
                        other => {
                            keep &= !(place.mask() << place.offset);
                            fast.updates.push((Place::of(layout, *slot), node(other)));
                        }
                    }
                }
                (fast.keep, fast.put) = (W::of(Key(keep)), W::of(Key(put)));
                ((W::of(Key(mask)), W::of(Key(want))), fast)
            })
            .unzip();
    }

    /// What Print and PrintT printed where the evaluator was asked.
    pub(crate) fn printed(&self) -> Vec<String> {
        self.interpreter.evaluator.printed.take()
    }

    fn values(&self, state: W) -> Partial {
        self.compiled.forms.decode(state.key())
    }

    /// Steps by the evaluator, where the program has no meaning.
    fn steps_by_evaluation(&mut self, state: W, found: &mut Vec<(u32, W)>) -> Result<(), Trouble> {
        let Some(next) = &self.spec.next else { return Ok(()) };
        let now = self.values(state);
        let mut reached = Vec::new();
        self.interpreter.evaluator.steps(next, &now, &mut |label, next| {
            reached.push((label.clone(), next.clone()));
            Ok(Flow::Continue(()))
        })?;
        for (label, next) in reached {
            let Ok(key) = self.compiled.forms.encode(&next) else {
                self.narrow_at = Some(state);
                return Err(Trouble::Narrow);
            };
            let action = self.spec.action(label.definition);
            let actions = &mut self.compiled.program.actions;
            let action = actions.iter().position(|known| *known == action).unwrap_or_else(|| {
                actions.push(action);
                actions.len() - 1
            });
            let way = Way { action, binding: super::interpret::said(&label) };
            let number = self.ways.iter().position(|known| *known == way).unwrap_or_else(|| {
                self.ways.push(way);
                self.ways.len() - 1
            });
            found.push((number as u32, W::of(key)));
        }
        Ok(())
    }

    /// Forms that have all values that can come next, and some more.
    fn wider(&self) -> Result<Vec<Form>, Box<Fault>> {
        let mut forms = self.compiled.forms.forms.clone();
        let (Some(state), Some(next)) = (self.narrow_at, &self.spec.next) else { return Ok(forms) };
        let mut missing = None;
        self.interpreter.evaluator.steps(next, &self.values(state), &mut |_, next| {
            for (variable, value) in next.iter().enumerate() {
                let Some(value) = value else { continue };
                if forms[variable].has(value) {
                    continue;
                }
                match forms[variable].clone().with(value) {
                    Some(form) => forms[variable] = form.roomier(&forms[variable]),
                    None => missing = Some(variable),
                }
            }
            Ok(Flow::Continue(()))
        })?;
        match missing {
            None => Ok(forms),
            Some(variable) => {
                let (name, at) = &self.spec.variables()[variable];
                Err(Fault::new(*at, format!("the values of `{name}` have no packed form")))
            }
        }
    }
}

impl<W: Word> Stepper for Fast<'_, W> {
    type Word = W;

    fn initial(&mut self, found: &mut dyn FnMut(W)) -> Result<(), Trouble> {
        self.compiled.program.initial.iter().for_each(|key| found(W::of(*key)));
        Ok(())
    }

    fn steps(&mut self, state: W, found: &mut Vec<(u32, W)>) -> Result<(), Trouble> {
        if self.defined.iter().any(|defined| defined.eval(state) == 0) {
            return self.steps_by_evaluation(state, found);
        }
        for (block, guards) in self.guards.chunks(64).enumerate() {
            // Which guards hold, a bit each, without a branch that could not be foreseen.
            let mut open = 0u64;
            for (place, (mask, want)) in guards.iter().enumerate() {
                open |= u64::from(state.and(*mask) == *want) << place;
            }
            while open != 0 {
                let number = block * 64 + open.trailing_zeros() as usize;
                open &= open - 1;
                match self.instances[number].step(state) {
                    Ok(Some(next)) => found.push((number as u32, next)),
                    Ok(None) => {}
                    Err(trouble) => {
                        self.narrow_at = Some(state);
                        return Err(trouble);
                    }
                }
            }
        }
        Ok(())
    }

    fn broken(&mut self, state: W) -> Result<Option<usize>, Trouble> {
        let broken = self.invariants.iter().position(|invariant| invariant.eval(state) == 0);
        if broken.is_some() || self.compiled.other_invariants.is_empty() {
            return Ok(broken.map(|place| self.compiled.invariants[place]));
        }
        let values = self.values(state);
        for index in &self.compiled.other_invariants {
            let invariant = &self.spec.invariants[*index].1;
            if !self.interpreter.evaluator.truth(invariant, Env::default(), Look::state(&values))? {
                return Ok(Some(*index));
            }
        }
        Ok(None)
    }

    fn inside(&mut self, state: W) -> Result<bool, Trouble> {
        if self.compiled.constrained {
            return Ok(self.constraint.as_ref().is_none_or(|constraint| constraint.eval(state) != 0));
        }
        let values = self.values(state);
        for constraint in &self.spec.constraints {
            if !self.interpreter.evaluator.truth(constraint, Env::default(), Look::state(&values))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn widen(&mut self) -> Result<Recode<W>, Box<Fault>> {
        let forms = self.wider()?;
        let old = self.compiled.forms.clone();
        let at = self.spec.next.as_ref().map(|next| next.at).unwrap_or_default();
        let gone = |this: &mut Self, forms| {
            this.outgrown = Some(forms);
            Fault::new(at, "the values have outgrown their form")
        };
        match compile_with(self.spec, forms.clone()) {
            Ok(compiled) if compiled.program.layout.bits <= W::BITS => self.compiled = compiled,
            Err(NotCompiled::Fault(fault)) => return Err(fault),
            _ => return Err(gone(self, forms)),
        }
        // Ways keep their numbers: the instances are the same, only wider.
        if crate::space::Space::ways_of(&self.compiled.program)[..]
            != self.ways[..self.compiled.program.instances.len().min(self.ways.len())]
        {
            return Err(gone(self, forms));
        }
        self.prepare();
        let new = self.compiled.forms.clone();
        Ok(Box::new(move |state: W| {
            let values = old.decode(state.key());
            W::of(new.encode(&values).unwrap_or_default())
        }))
    }
}
