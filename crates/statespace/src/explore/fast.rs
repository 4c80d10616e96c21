//! States taken apart by a program: guards and updates on the bits of a key.
//!
//! Most of a guard compares slots with constants, and most updates put constants into slots. All comparisons of one guard are one
//! mask and one comparison of the whole key, and all constant updates two more masks:
//!
//! ```text
//!   tmState = "init" /\ rmState[r1] = "working"     key & 0b...11_0011 = 0b...00_0001
//!   rmState' = [rmState EXCEPT ![r1] = "aborted"]   key & !0b11_0000 | 0b11_0000
//! ```
//!
//! What is left is evaluated as a tree. Where the program has no meaning, or a value has no code, the evaluator is asked: it says what is
//! wrong, or what the form must grow to.

use super::interpret::Interpreter;
use super::{Recode, Stepper, Trouble, Word};
use crate::compile::{Compiled, NotCompiled, apply, compile_with};
use crate::form::Form;
use crate::graph::BitSet;
use crate::packed::{Binary, Expr, Key, Layout, SlotKind};
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
    instances: Vec<FastInstance<W>>,
    invariants: Vec<Node<W>>,
    constraint: Option<Node<W>>,
    interpreter: Interpreter<'s>,
    /// The ways to take actions: those of the program, and others that only the evaluator knows.
    pub ways: Vec<Way>,
    narrow_at: Option<W>,
    /// The forms that are needed, if they do not fit into the word.
    pub outgrown: Option<Vec<Form>>,
}

struct FastInstance<W> {
    mask: W,
    want: W,
    rest: Vec<Node<W>>,
    keep: W,
    put: W,
    updates: Vec<(Place, Node<W>)>,
    defined: Option<Node<W>>,
    in_range: Option<Node<W>>,
}

/// Where a slot is.
#[derive(Clone, Copy, Debug)]
struct Place {
    shift: u32,
    mask: u64,
    bias: i64,
}

/// An expression, ready to be evaluated.
enum Node<W> {
    Const(i64),
    Slot(Place),
    Dynamic(Place, u32, usize, Box<Node<W>>),
    Match(W, W),
    Mismatch(W, W),
    Not(Box<Node<W>>),
    Neg(Box<Node<W>>),
    BitNot(Box<Node<W>>),
    PopCount(Box<Node<W>>),
    Binary(Binary, Box<Node<W>>, Box<Node<W>>),
    And(Vec<Node<W>>),
    Or(Vec<Node<W>>),
    If(Box<[Node<W>; 3]>),
}

impl<W: Word> Node<W> {
    fn eval(&self, key: W) -> i64 {
        match self {
            Node::Const(value) => *value,
            Node::Slot(place) => place.get(key),
            Node::Dynamic(place, stride, count, index) => {
                let index = index.eval(key).clamp(0, *count as i64 - 1) as u32;
                Place { shift: place.shift + stride * index, ..*place }.get(key)
            }
            Node::Match(mask, want) => i64::from(key.and(*mask) == *want),
            Node::Mismatch(mask, want) => i64::from(key.and(*mask) != *want),
            Node::Not(a) => i64::from(a.eval(key) == 0),
            Node::Neg(a) => a.eval(key).saturating_neg(),
            Node::BitNot(a) => !a.eval(key),
            Node::PopCount(a) => i64::from(a.eval(key).count_ones()),
            Node::Binary(operator, a, b) => {
                let (a, b) = (a.eval(key), b.eval(key));
                match operator {
                    Binary::Eq => i64::from(a == b),
                    Binary::Ne => i64::from(a != b),
                    Binary::Lt => i64::from(a < b),
                    Binary::Le => i64::from(a <= b),
                    Binary::BitAnd => a & b,
                    Binary::BitOr => a | b,
                    // What is too large for 64 bits is too large for every slot.
                    Binary::Add => a.saturating_add(b),
                    Binary::Sub => a.saturating_sub(b),
                    Binary::Mul => a.saturating_mul(b),
                    other => apply(*other, a, b).unwrap_or(0),
                }
            }
            Node::And(parts) => i64::from(parts.iter().all(|part| part.eval(key) != 0)),
            Node::Or(parts) => i64::from(parts.iter().any(|part| part.eval(key) != 0)),
            Node::If(parts) => match parts[0].eval(key) {
                0 => parts[2].eval(key),
                _ => parts[1].eval(key),
            },
        }
    }

    fn of(expr: &Expr, layout: &Layout) -> Node<W> {
        if let Some((mask, want, same)) = fixed(expr, layout) {
            return match same {
                true => Node::Match(W::of(Key(mask)), W::of(Key(want))),
                false => Node::Mismatch(W::of(Key(mask)), W::of(Key(want))),
            };
        }
        let boxed = |expr: &Expr| Box::new(Node::of(expr, layout));
        match expr {
            Expr::Const(value) => Node::Const(*value),
            Expr::Slot(slot) => Node::Slot(Place::of(layout, *slot)),
            Expr::Dynamic { base, stride, count, index } => {
                let distance = match layout.slots.get(base + stride) {
                    Some(next) => next.offset - layout.slots[*base].offset,
                    None => 0,
                };
                Node::Dynamic(Place::of(layout, *base), distance, *count, boxed(index))
            }
            Expr::Not(a) => Node::Not(boxed(a)),
            Expr::Neg(a) => Node::Neg(boxed(a)),
            Expr::BitNot(a) => Node::BitNot(boxed(a)),
            Expr::PopCount(a) => Node::PopCount(boxed(a)),
            Expr::Binary(operator, a, b) => Node::Binary(*operator, boxed(a), boxed(b)),
            Expr::And(parts) => {
                let (mask, want, rest, possible) = gathered(parts, layout, true);
                if !possible {
                    return Node::Const(0);
                }
                let mut nodes: Vec<Node<W>> = rest.into_iter().map(|part| Node::of(part, layout)).collect();
                if mask != 0 {
                    nodes.insert(0, Node::Match(W::of(Key(mask)), W::of(Key(want))));
                }
                Node::And(nodes)
            }
            Expr::Or(parts) => {
                let (mask, want, rest, possible) = gathered(parts, layout, false);
                if !possible {
                    return Node::Const(1);
                }
                let mut nodes: Vec<Node<W>> = rest.into_iter().map(|part| Node::of(part, layout)).collect();
                match (mask != 0, nodes.is_empty()) {
                    (true, true) => Node::Mismatch(W::of(Key(mask)), W::of(Key(want))),
                    (true, false) => {
                        nodes.insert(0, Node::Mismatch(W::of(Key(mask)), W::of(Key(want))));
                        Node::Or(nodes)
                    }
                    (false, _) => Node::Or(nodes),
                }
            }
            Expr::If(a, b, c) => Node::If(Box::new([Node::of(a, layout), Node::of(b, layout), Node::of(c, layout)])),
        }
    }
}

/// The states in which a packed expression is true.
pub(crate) fn label<W: Word>(expr: &Expr, layout: &Layout, states: &[W]) -> BitSet {
    let node = Node::of(expr, layout);
    BitSet::of(states.len(), |state| node.eval(states[state as usize]) != 0)
}

impl Place {
    fn of(layout: &Layout, slot: usize) -> Place {
        let slot = &layout.slots[slot];
        Place { shift: slot.offset, mask: slot.mask() as u64, bias: slot.bias }
    }

    fn get<W: Word>(self, key: W) -> i64 {
        key.field(self.shift, self.mask) as i64 + self.bias
    }
}

/// Comparisons with constants gathered into one: conjuncts that are equal, or disjuncts that are not. The rest besides. Last, whether
/// they can be met at all: by a conjunction; or missed at all, by a disjunction.
fn gathered<'e>(parts: &'e [Expr], layout: &Layout, same: bool) -> (u128, u128, Vec<&'e Expr>, bool) {
    let (mut mask, mut want, mut rest) = (0, 0, Vec::new());
    for part in parts {
        match fixed(part, layout) {
            Some((m, w, is)) if is == same => {
                if mask & m & (want ^ w) != 0 {
                    return (0, 0, Vec::new(), false);
                }
                (mask, want) = (mask | m, want | w);
            }
            _ => rest.push(part),
        }
    }
    (mask, want, rest, true)
}

/// A comparison of bits with constants: which, with what, and whether it is one for equality.
fn fixed(expr: &Expr, layout: &Layout) -> Option<(u128, u128, bool)> {
    let one = |slot: usize, place: i64| {
        let bit = 1u128 << (layout.slots[slot].offset + u32::try_from(place).ok()?);
        Some((bit, bit, true))
    };
    match expr {
        Expr::Slot(slot) if layout.slots[*slot].kind == SlotKind::Bool => one(*slot, 0),
        Expr::Not(inner) => fixed(inner, layout).map(|(mask, want, same)| (mask, want, !same)),
        Expr::Binary(Binary::BitAnd, a, b) if **b == Expr::Const(1) => match &**a {
            Expr::Slot(slot) if layout.slots[*slot].bias == 0 => one(*slot, 0),
            Expr::Binary(Binary::Shr, a, place) => match (&**a, &**place) {
                (Expr::Slot(slot), Expr::Const(place))
                    if layout.slots[*slot].bias == 0 && *place < layout.slots[*slot].width.into() =>
                {
                    one(*slot, *place)
                }
                _ => None,
            },
            _ => None,
        },
        Expr::Binary(operator @ (Binary::Eq | Binary::Ne), a, b) => {
            let same = *operator == Binary::Eq;
            let Expr::Const(value) = &**b else { return None };
            match &**a {
                Expr::Slot(slot) => {
                    let slot = &layout.slots[*slot];
                    let code = u128::try_from(value.checked_sub(slot.bias)?).ok()?;
                    (code <= slot.mask()).then(|| (slot.mask() << slot.offset, code << slot.offset, same))
                }
                Expr::Binary(Binary::BitAnd, a, bits) => match (&**a, &**bits) {
                    (Expr::Slot(slot), Expr::Const(bits)) if layout.slots[*slot].bias == 0 => {
                        let slot = &layout.slots[*slot];
                        let bits = *bits as u64 as u128 & slot.mask();
                        let value = u128::try_from(*value).ok()?;
                        (value & !bits == 0).then(|| (bits << slot.offset, value << slot.offset, same))
                    }
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

impl<'s, W: Word> Fast<'s, W> {
    /// Steps of a program.
    pub fn new(spec: &'s Spec, compiled: Compiled) -> Result<Fast<'s, W>, Box<Fault>> {
        let ways = crate::space::Space::ways_of(&compiled.program);
        let mut fast = Fast {
            spec,
            compiled,
            instances: Vec::new(),
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
        self.instances = self
            .compiled
            .program
            .instances
            .iter()
            .map(|instance| {
                let parts = match &instance.guard {
                    Expr::And(parts) => parts.clone(),
                    other => vec![other.clone()],
                };
                let (mask, want, rest, possible) = gathered(&parts, layout, true);
                let mut fast = FastInstance {
                    mask: W::of(Key(mask)),
                    want: W::of(Key(want)),
                    rest: if possible { rest.into_iter().map(node).collect() } else { vec![Node::Const(0)] },
                    keep: W::of(Key(u128::MAX)),
                    put: W::default(),
                    updates: Vec::new(),
                    defined: (instance.defined != Expr::Const(1)).then(|| node(&instance.defined)),
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
                fast
            })
            .collect();
    }

    fn values(&self, state: W) -> Partial {
        self.compiled.forms.decode(state.key())
    }

    /// Steps by the evaluator, where the program has no meaning.
    fn steps_by_evaluation(&mut self, state: W, found: &mut Vec<(u32, W)>) -> Result<(), Trouble> {
        found.clear();
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
        for (number, instance) in self.instances.iter().enumerate() {
            if let Some(defined) = &instance.defined
                && defined.eval(state) == 0
            {
                return self.steps_by_evaluation(state, found);
            }
            if state.and(instance.mask) != instance.want || instance.rest.iter().any(|part| part.eval(state) == 0) {
                continue;
            }
            // The length of a sequence has codes that are longer than the sequence can be.
            if let Some(in_range) = &instance.in_range
                && in_range.eval(state) == 0
            {
                self.narrow_at = Some(state);
                return Err(Trouble::Narrow);
            }
            let mut next = state.and(instance.keep).or(instance.put);
            for (place, value) in &instance.updates {
                let code = value.eval(state).wrapping_sub(place.bias) as u64;
                if code > place.mask {
                    self.narrow_at = Some(state);
                    return Err(Trouble::Narrow);
                }
                next = next.or(W::at(code, place.shift));
            }
            found.push((number as u32, next));
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
