//! Expressions over the bits of a state, ready to be evaluated.
//!
//! Whatever compares slots with constants is one mask and one comparison of the whole state, however many slots it is
//! about; and so are its negation, and conjunctions of such. What says that certain things never stand together, as
//! most invariants do, is a list of these, gone through without a branch:
//!
//! ```text
//!   \A a, b \in RM : ~(rmState[a] = "aborted" /\ rmState[b] = "committed")      no (mask, want) of the list is met
//! ```

use super::Word;
use crate::compile::apply;
use crate::graph::BitSet;
use crate::packed::{Binary, Expr, Key, Layout, SlotKind};

/// An expression, ready to be evaluated.
pub(super) enum Node<W> {
    Const(i64),
    Slot(Place),
    /// A slot and a number.
    Plus(Place, i64),
    /// Whether a slot is between two numbers.
    Within(Place, i64, i64),
    /// Whether a slot is less than another.
    Less(Place, Place),
    Dynamic(Place, u32, usize, Box<Node<W>>),
    Match(W, W),
    Mismatch(W, W),
    /// No match.
    NoneOf(Vec<(W, W)>),
    /// Some match.
    SomeOf(Vec<(W, W)>),
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
    /// Its value in a state.
    pub(super) fn eval(&self, key: W) -> i64 {
        match self {
            Node::Const(value) => *value,
            Node::Slot(place) => place.get(key),
            Node::Plus(place, number) => place.get(key).saturating_add(*number),
            Node::Within(place, low, high) => i64::from((*low..=*high).contains(&place.get(key))),
            Node::Less(a, b) => i64::from(a.get(key) < b.get(key)),
            Node::Dynamic(place, stride, count, index) => {
                let index = index.eval(key).clamp(0, *count as i64 - 1) as u32;
                Place { shift: place.shift + stride * index, ..*place }.get(key)
            }
            Node::Match(mask, want) => i64::from(key.and(*mask) == *want),
            Node::Mismatch(mask, want) => i64::from(key.and(*mask) != *want),
            Node::NoneOf(list) => i64::from(!met(list, key)),
            Node::SomeOf(list) => i64::from(met(list, key)),
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

    /// An expression over the slots of a layout.
    pub(super) fn of(expr: &Expr, layout: &Layout) -> Node<W> {
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
            Expr::Binary(operator, a, b) => match Node::of_slots(*operator, a, b, layout) {
                Some(node) => node,
                None => Node::Binary(*operator, boxed(a), boxed(b)),
            },
            Expr::And(parts) => Node::joined(parts, layout, true),
            Expr::Or(parts) => Node::joined(parts, layout, false),
            Expr::If(a, b, c) => Node::If(Box::new([Node::of(a, layout), Node::of(b, layout), Node::of(c, layout)])),
        }
    }

    /// The most common operations, without a tree.
    fn of_slots(operator: Binary, a: &Expr, b: &Expr, layout: &Layout) -> Option<Node<W>> {
        let place = |slot: &usize| Place::of(layout, *slot);
        Some(match (operator, a, b) {
            (Binary::Add, Expr::Slot(slot), Expr::Const(n)) => Node::Plus(place(slot), *n),
            (Binary::Sub, Expr::Slot(slot), Expr::Const(n)) => Node::Plus(place(slot), n.checked_neg()?),
            (Binary::Lt, Expr::Slot(slot), Expr::Const(n)) => Node::Within(place(slot), i64::MIN, n.checked_sub(1)?),
            (Binary::Le, Expr::Slot(slot), Expr::Const(n)) => Node::Within(place(slot), i64::MIN, *n),
            (Binary::Lt, Expr::Const(n), Expr::Slot(slot)) => Node::Within(place(slot), n.checked_add(1)?, i64::MAX),
            (Binary::Le, Expr::Const(n), Expr::Slot(slot)) => Node::Within(place(slot), *n, i64::MAX),
            (Binary::Lt, Expr::Slot(a), Expr::Slot(b)) => Node::Less(place(a), place(b)),
            _ => return None,
        })
    }

    /// A conjunction, or else a disjunction.
    fn joined(parts: &[Expr], layout: &Layout, all: bool) -> Node<W> {
        let (mask, want, rest, open) = gathered(parts, layout, all);
        if !open {
            return Node::Const(i64::from(!all));
        }
        let (mut nodes, mut list) = (Vec::new(), Vec::new());
        if mask != 0 {
            let (mask, want) = (W::of(Key(mask)), W::of(Key(want)));
            nodes.push(if all { Node::Match(mask, want) } else { Node::Mismatch(mask, want) });
        }
        for part in rest {
            match (Node::of(part, layout), all) {
                (Node::Mismatch(mask, want), true) | (Node::Match(mask, want), false) => list.push((mask, want)),
                (Node::Const(value), _) if (value != 0) == all => {}
                (other, _) => nodes.push(other),
            }
        }
        if !list.is_empty() {
            let at = nodes.len().min(usize::from(mask != 0));
            nodes.insert(at, if all { Node::NoneOf(list) } else { Node::SomeOf(list) });
        }
        match (nodes.len(), all) {
            (1, _) => nodes.remove(0),
            (_, true) => Node::And(nodes),
            (_, false) => Node::Or(nodes),
        }
    }
}

/// Where a slot is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) shift: u32,
    pub(super) mask: u64,
    pub(super) bias: i64,
}

/// Whether some of these comparisons is met.
fn met<W: Word>(list: &[(W, W)], key: W) -> bool {
    list.iter().fold(false, |met, (mask, want)| met | (key.and(*mask) == *want))
}

/// The states in which a packed expression is true.
pub(crate) fn label<W: Word>(expr: &Expr, layout: &Layout, states: &[W]) -> BitSet {
    let node = Node::of(expr, layout);
    BitSet::of(states.len(), |state| node.eval(states[state as usize]) != 0)
}

impl Place {
    /// Where a slot of a layout is.
    pub(super) fn of(layout: &Layout, slot: usize) -> Place {
        let slot = &layout.slots[slot];
        Place { shift: slot.offset, mask: slot.mask() as u64, bias: slot.bias }
    }

    fn get<W: Word>(self, key: W) -> i64 {
        key.field(self.shift, self.mask) as i64 + self.bias
    }
}

/// Comparisons with constants gathered into one: conjuncts that are equal, or disjuncts that are not. The rest besides.
/// Last, whether they can be met at all: by a conjunction; or missed at all, by a disjunction.
pub(super) fn gathered<'e>(parts: &'e [Expr], layout: &Layout, same: bool) -> (u128, u128, Vec<&'e Expr>, bool) {
    let (mut mask, mut want, mut rest) = (0, 0, Vec::new());
    for part in parts {
        match fixed(part, layout).and_then(|fixed| turned(fixed, same)) {
            Some((m, w)) => {
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

/// A comparison as one for equality, or else for inequality: of a single bit, one is the other.
fn turned((mask, want, is): (u128, u128, bool), same: bool) -> Option<(u128, u128)> {
    match (is == same, mask.count_ones()) {
        (true, _) => Some((mask, want)),
        (false, 1) => Some((mask, mask ^ want)),
        _ => None,
    }
}

/// A comparison of bits with constants: which, with what, and whether it is one for equality.
fn fixed(expr: &Expr, layout: &Layout) -> Option<(u128, u128, bool)> {
    let one = |slot: usize, place: i64| {
        let bit = 1u128 << (layout.slots[slot].offset + u32::try_from(place).ok()?);
        Some((bit, bit, true))
    };
    match expr {
        Expr::Slot(slot) if layout.slots[*slot].kind == SlotKind::Bool && layout.slots[*slot].width > 0 => {
            one(*slot, 0)
        }
        Expr::And(parts) | Expr::Or(parts) => {
            let all = matches!(expr, Expr::And(_));
            let (mask, want, rest, open) = gathered(parts, layout, all);
            (open && mask != 0 && rest.is_empty()).then_some((mask, want, all))
        }
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
