//! Values that are partly known: their parts are packed expressions.

use std::sync::Arc;

use super::build::{FALSE, TRUE, X, and, binary, bit, eq, if_else, known, look_up, not, or, range};
use crate::form::Form;
use crate::packed::{Binary, Expr, Slot};
use crate::tla::value::{Lazy, Value, Why};

/// A value of which the structure is known, if not the value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sym {
    /// A known value.
    Value(Value),
    /// An integer.
    Int(X),
    /// A boolean.
    Bool(X),
    /// One of these, by its place.
    Enum(Arc<Vec<Value>>, X),
    /// A set of some of these (sorted), a bit each.
    Mask(Arc<Vec<Value>>, X),
    /// A function on known keys.
    Function(Arc<Vec<Value>>, Vec<Sym>),
    /// A tuple.
    Tuple(Vec<Sym>),
    /// A sequence of at most so many elements.
    Sequence(X, Vec<Sym>),
}

/// There is no packed form; why.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NoForm(pub(super) String);

impl NoForm {
    /// An operation that has no value has no form either.
    pub(super) fn of(why: Why) -> NoForm {
        NoForm(why.message)
    }
}

pub(super) type Made<T> = Result<T, NoForm>;

pub(super) fn no<T>(why: impl Into<String>) -> Made<T> {
    Err(NoForm(why.into()))
}

/// Lists of values are not longer than this.
const LIST_MAX: usize = 4096;

impl Sym {
    /// The value of a variable, read from its slots.
    pub(super) fn read(form: &Form, slot: &mut usize) -> Sym {
        let mut next = || {
            *slot += 1;
            Expr::Slot(*slot - 1)
        };
        match form {
            Form::Int(..) => Sym::Int(next()),
            Form::Bool => Sym::Bool(next()),
            Form::Enum(values) => match values.len() {
                1 => {
                    next();
                    Sym::Value(values[0].clone())
                }
                _ => Sym::Enum(values.clone(), next()),
            },
            Form::Mask(of) => Sym::Mask(of.clone(), next()),
            Form::Function(keys, forms) => {
                Sym::Function(keys.clone(), forms.iter().map(|form| Sym::read(form, slot)).collect())
            }
            Form::Tuple(forms) => Sym::Tuple(forms.iter().map(|form| Sym::read(form, slot)).collect()),
            Form::Sequence(one, longest) => {
                let length = next();
                Sym::Sequence(length, (0..*longest).map(|_| Sym::read(one, slot)).collect())
            }
        }
    }

    /// The value with its structure opened, one level deep.
    pub(super) fn open(&self) -> Sym {
        match self {
            Sym::Value(Value::Bool(value)) => Sym::Bool(Expr::Const(i64::from(*value))),
            Sym::Value(Value::Int(number)) => Sym::Int(Expr::Const(*number)),
            Sym::Value(Value::Set(elements)) if elements.len() <= 62 => {
                Sym::Mask(elements.clone(), Expr::Const((1i64 << elements.len()) - 1))
            }
            Sym::Value(lazy @ Value::Lazy(_)) => match lazy.elements() {
                Ok(elements) if elements.len() <= 62 => Sym::Value(Value::Set(elements)).open(),
                _ => self.clone(),
            },
            Sym::Value(Value::Tuple(elements)) => Sym::Tuple(elements.iter().cloned().map(Sym::Value).collect()),
            Sym::Value(Value::Function(function)) => {
                Sym::Function(function.keys.clone(), function.values.iter().cloned().map(Sym::Value).collect())
            }
            Sym::Value(value) => Sym::Enum(Arc::new(vec![value.clone()]), Expr::Const(0)),
            other => other.clone(),
        }
    }

    /// What is known of it through and through.
    pub(super) fn closed(self) -> Sym {
        let all = |parts: &[Sym]| -> Option<Vec<Value>> {
            parts
                .iter()
                .map(|part| match part {
                    Sym::Value(value) => Some(value.clone()),
                    _ => None,
                })
                .collect()
        };
        match &self {
            Sym::Int(Expr::Const(number)) => Sym::Value(Value::Int(*number)),
            Sym::Bool(Expr::Const(value)) => Sym::Value(Value::Bool(*value != 0)),
            Sym::Enum(values, Expr::Const(code)) => Sym::Value(values[*code as usize].clone()),
            Sym::Mask(of, Expr::Const(bits)) => {
                let chosen = of.iter().enumerate().filter(|(place, _)| bits >> place & 1 == 1);
                Sym::Value(Value::sorted(chosen.map(|(_, value)| value.clone()).collect()))
            }
            Sym::Tuple(parts) => all(parts).map_or(self.clone(), |values| Sym::Value(Value::tuple(values))),
            Sym::Function(keys, parts) => {
                all(parts).map_or(self.clone(), |values| Sym::Value(Value::function_on(keys.clone(), values)))
            }
            _ => self,
        }
    }

    /// Whether it has no more parts than are left.
    pub(super) fn is_small(&self, left: &mut usize) -> bool {
        match self {
            Sym::Value(_) => true,
            Sym::Int(x) | Sym::Bool(x) | Sym::Enum(_, x) | Sym::Mask(_, x) => super::build::is_small(x, left),
            Sym::Function(_, parts) | Sym::Tuple(parts) => parts.iter().all(|part| part.is_small(left)),
            Sym::Sequence(length, parts) => {
                super::build::is_small(length, left) && parts.iter().all(|part| part.is_small(left))
            }
        }
    }

    pub(super) fn int(&self) -> Made<X> {
        match self {
            Sym::Value(Value::Int(number)) => Ok(Expr::Const(*number)),
            Sym::Int(x) => Ok(x.clone()),
            Sym::Enum(values, code) if values.iter().all(|value| matches!(value, Value::Int(_))) => {
                let numbers: Vec<i64> = values.iter().map(|v| if let Value::Int(i) = v { *i } else { 0 }).collect();
                Ok(look_up(code.clone(), &numbers))
            }
            _ => no("an integer of several kinds"),
        }
    }

    pub(super) fn truth(&self) -> Made<X> {
        match self {
            Sym::Value(Value::Bool(value)) => Ok(Expr::Const(i64::from(*value))),
            Sym::Bool(x) => Ok(x.clone()),
            Sym::Enum(values, code) if values.iter().all(|value| matches!(value, Value::Bool(_))) => {
                let bits: Vec<i64> = values.iter().map(|v| i64::from(*v == Value::Bool(true))).collect();
                Ok(look_up(code.clone(), &bits))
            }
            _ => no("a condition that is no boolean"),
        }
    }

    /// A list of values (sorted) and the place in it.
    pub(super) fn code(&self, slots: &[Slot]) -> Made<(Arc<Vec<Value>>, X)> {
        match self {
            Sym::Value(value) => Ok((Arc::new(vec![value.clone()]), Expr::Const(0))),
            Sym::Enum(values, code) => Ok((values.clone(), code.clone())),
            Sym::Bool(x) => Ok((Arc::new(vec![Value::Bool(false), Value::Bool(true)]), x.clone())),
            Sym::Int(x) => match range(x, slots) {
                Some((least, most)) if most - least < LIST_MAX as i64 => {
                    let values = (least..=most).map(Value::Int).collect();
                    Ok((Arc::new(values), binary(Binary::Sub, x.clone(), Expr::Const(least))))
                }
                _ => no("an integer of unknown range"),
            },
            Sym::Tuple(parts) => self.product(parts, slots, &|values| Value::tuple(values)),
            Sym::Function(keys, parts) => {
                self.product(parts, slots, &|values| Value::function_on(keys.clone(), values))
            }
            Sym::Mask(of, bits) if of.len() <= 10 => {
                // Sets in the order of their bits are not sorted: the codes are looked up.
                let all = Value::Lazy(Arc::new(Lazy::Subsets(Value::Set(of.clone()))));
                let sorted = all.elements().map_err(NoForm::of)?;
                let set = |mask: usize| {
                    let kept = of.iter().enumerate().filter(|(place, _)| mask >> place & 1 == 1);
                    Value::sorted(kept.map(|(_, value)| value.clone()).collect())
                };
                let places: Vec<i64> =
                    (0..1 << of.len()).map(|mask| sorted.binary_search(&set(mask)).unwrap_or(0) as i64).collect();
                Ok((sorted, look_up(bits.clone(), &places)))
            }
            Sym::Mask(..) | Sym::Sequence(..) => no("a set or sequence as an element"),
        }
    }

    fn product(&self, parts: &[Sym], slots: &[Slot], made: &dyn Fn(Vec<Value>) -> Value) -> Made<(Arc<Vec<Value>>, X)> {
        let mut all: Vec<Vec<Value>> = vec![Vec::new()];
        let mut code = Expr::Const(0);
        for part in parts {
            let (values, place) = part.code(slots)?;
            if all.len() * values.len() > LIST_MAX {
                return no("a value with too many possibilities");
            }
            all = all
                .iter()
                .flat_map(|head| values.iter().map(|v| [&head[..], std::slice::from_ref(v)].concat()))
                .collect();
            code = binary(Binary::Add, binary(Binary::Mul, code, Expr::Const(values.len() as i64)), place);
        }
        Ok((Arc::new(all.into_iter().map(made).collect()), code))
    }
}

/// A value for each place of a list, as one value.
pub(super) fn table(results: Vec<Value>, code: X) -> Made<Sym> {
    let first = results.first().cloned().ok_or_else(|| NoForm("nothing to choose from".into()))?;
    if results.iter().all(|result| *result == first) {
        return Ok(Sym::Value(first));
    }
    if results.iter().all(|result| matches!(result, Value::Int(_))) {
        let numbers: Vec<i64> = results.iter().map(|v| if let Value::Int(i) = v { *i } else { 0 }).collect();
        return Ok(Sym::Int(look_up(code, &numbers)));
    }
    if results.iter().all(|result| matches!(result, Value::Bool(_))) {
        let bits: Vec<i64> = results.iter().map(|v| i64::from(*v == Value::Bool(true))).collect();
        return Ok(Sym::Bool(look_up(code, &bits)));
    }
    let mut distinct = results.clone();
    distinct.sort();
    distinct.dedup();
    let places: Vec<i64> = results.iter().map(|v| distinct.binary_search(v).unwrap_or(0) as i64).collect();
    Ok(Sym::Enum(Arc::new(distinct), look_up(code, &places)))
}

/// The list of both, and for each of the old lists its places in it.
fn joined(a: &[Value], b: &[Value]) -> (Arc<Vec<Value>>, Vec<i64>, Vec<i64>) {
    let mut all: Vec<Value> = a.iter().chain(b).cloned().collect();
    all.sort();
    all.dedup();
    let places = |of: &[Value]| of.iter().map(|v| all.binary_search(v).unwrap_or(0) as i64).collect();
    let (pa, pb) = (places(a), places(b));
    (Arc::new(all), pa, pb)
}

/// Bits moved to other places.
pub(super) fn moved(bits: X, places: &[i64]) -> X {
    if places.iter().enumerate().all(|(from, to)| from as i64 == *to) {
        return bits;
    }
    if let Expr::Const(bits) = bits {
        let set = places.iter().enumerate().filter(|(from, _)| bits >> from & 1 == 1);
        return Expr::Const(set.fold(0, |all, (_, to)| all | 1 << to));
    }
    let one =
        |(from, to): (usize, &i64)| binary(Binary::Shl, bit(bits.clone(), Expr::Const(from as i64)), Expr::Const(*to));
    places.iter().enumerate().map(one).fold(Expr::Const(0), |all, one| binary(Binary::BitOr, all, one))
}

/// Two sets over one list.
pub(super) fn masks(a: &Sym, b: &Sym) -> Made<(Arc<Vec<Value>>, X, X)> {
    let (Sym::Mask(u, x), Sym::Mask(v, y)) = (a.open(), b.open()) else { return no("a set that cannot be listed") };
    if u == v {
        return Ok((u, x, y));
    }
    let (all, pu, pv) = joined(&u, &v);
    match all.len() {
        0..=62 => Ok((all, moved(x, &pu), moved(y, &pv))),
        _ => no("a set over more than 62 values"),
    }
}

/// One of two values.
pub(super) fn merge(when: &X, a: &Sym, b: &Sym, slots: &[Slot]) -> Made<Sym> {
    if a == b {
        return Ok(a.clone());
    }
    match known(when) {
        Some(0) => return Ok(b.clone()),
        Some(_) => return Ok(a.clone()),
        None => (),
    }
    let each =
        |a: &[Sym], b: &[Sym]| -> Made<Vec<Sym>> { a.iter().zip(b).map(|(a, b)| merge(when, a, b, slots)).collect() };
    match (a.open(), b.open()) {
        (Sym::Int(x), Sym::Int(y)) => Ok(Sym::Int(if_else(when.clone(), x, y))),
        (Sym::Bool(x), Sym::Bool(y)) => Ok(Sym::Bool(if_else(when.clone(), x, y))),
        (Sym::Mask(..), Sym::Mask(..)) => {
            let (of, x, y) = masks(a, b)?;
            Ok(Sym::Mask(of, if_else(when.clone(), x, y)))
        }
        (Sym::Tuple(x), Sym::Tuple(y)) if x.len() == y.len() => Ok(Sym::Tuple(each(&x, &y)?)),
        (Sym::Function(k, x), Sym::Function(l, y)) if k == l => Ok(Sym::Function(k, each(&x, &y)?)),
        (Sym::Tuple(_) | Sym::Sequence(..), Sym::Tuple(_) | Sym::Sequence(..)) => {
            let ((n, mut x), (m, mut y)) = (sequence(a)?, sequence(b)?);
            let longest = x.len().max(y.len());
            // What stands behind the end is never looked at.
            let filler = x.first().or(y.first()).cloned().unwrap_or(Sym::Value(Value::Int(0)));
            x.resize(longest, filler.clone());
            y.resize(longest, filler);
            Ok(Sym::Sequence(if_else(when.clone(), n, m), each(&x, &y)?))
        }
        _ => {
            let ((u, x), (v, y)) = (a.code(slots)?, b.code(slots)?);
            let (all, pu, pv) = joined(&u, &v);
            if all.len() > LIST_MAX {
                return no("a value with too many possibilities");
            }
            Ok(Sym::Enum(all, if_else(when.clone(), look_up(x, &pu), look_up(y, &pv))))
        }
    }
}

/// Length and elements.
pub(super) fn sequence(sym: &Sym) -> Made<(X, Vec<Sym>)> {
    match sym.open() {
        Sym::Tuple(elements) => Ok((Expr::Const(elements.len() as i64), elements)),
        Sym::Sequence(length, elements) => Ok((length, elements)),
        _ => no("a sequence of several kinds"),
    }
}

/// Whether two values are equal.
pub(super) fn equal(a: &Sym, b: &Sym, slots: &[Slot]) -> Made<X> {
    if a == b {
        return Ok(TRUE);
    }
    let each = |a: &[Sym], b: &[Sym]| -> Made<X> {
        Ok(and(a.iter().zip(b).map(|(a, b)| equal(a, b, slots)).collect::<Made<Vec<_>>>()?))
    };
    match (a.open(), b.open()) {
        (Sym::Int(x), Sym::Int(y)) | (Sym::Bool(x), Sym::Bool(y)) => Ok(eq(x, y)),
        (Sym::Mask(..), Sym::Mask(..)) => {
            let (_, x, y) = masks(a, b)?;
            Ok(eq(x, y))
        }
        (Sym::Tuple(x), Sym::Tuple(y)) => match x.len() == y.len() {
            true => each(&x, &y),
            false => Ok(FALSE),
        },
        (Sym::Function(k, x), Sym::Function(l, y)) => match k == l {
            true => each(&x, &y),
            false => Ok(FALSE),
        },
        (Sym::Tuple(_) | Sym::Sequence(..), Sym::Tuple(_) | Sym::Sequence(..)) => {
            let ((n, x), (m, y)) = (sequence(a)?, sequence(b)?);
            let mut parts = vec![eq(n.clone(), m)];
            for (place, (x, y)) in x.iter().zip(&y).enumerate() {
                let behind = binary(Binary::Le, n.clone(), Expr::Const(place as i64));
                parts.push(or([behind, equal(x, y, slots)?]));
            }
            Ok(and(parts))
        }
        _ => {
            let ((u, x), (v, y)) = (a.code(slots)?, b.code(slots)?);
            if u == v {
                return Ok(eq(x, y));
            }
            alike(&u, &v)?;
            let mut cases = Vec::new();
            for (place, value) in u.iter().enumerate() {
                if let Ok(other) = v.binary_search(value) {
                    let (place, other) = (Expr::Const(place as i64), Expr::Const(other as i64));
                    cases.push(and([eq(x.clone(), place), eq(y.clone(), other)]));
                }
            }
            Ok(or(cases))
        }
    }
}

/// Values of different kinds cannot be compared; the evaluator says so, where it happens.
fn alike(a: &[Value], b: &[Value]) -> Made<()> {
    match a.iter().all(|a| b.iter().all(|b| a.comparable(b))) {
        true => Ok(()),
        false => no("values of different kinds that are compared"),
    }
}

/// Whether a value is in a set.
pub(super) fn member(value: &Sym, set: &Sym, slots: &[Slot]) -> Made<X> {
    if let (Sym::Value(value), Sym::Value(set)) = (value, set) {
        return set.contains(value).map(|is| Expr::Const(i64::from(is))).map_err(NoForm::of);
    }
    match set {
        Sym::Value(Value::Lazy(lazy)) => member_lazy(value, lazy, set, slots),
        Sym::Value(Value::Set(elements)) => match value.open() {
            // A code against a list: bits of those that are meant.
            Sym::Enum(..) | Sym::Int(_) | Sym::Bool(_) if value.code(slots).is_ok_and(|(of, _)| of.len() <= 62) => {
                let (of, code) = value.code(slots)?;
                alike(&of, elements)?;
                let bits: Vec<i64> = of.iter().map(|v| i64::from(elements.binary_search(v).is_ok())).collect();
                Ok(look_up(code, &bits))
            }
            _ => {
                let cases = elements.iter().map(|e| equal(value, &Sym::Value(e.clone()), slots));
                Ok(or(cases.collect::<Made<Vec<_>>>()?))
            }
        },
        Sym::Mask(of, bits) => {
            let (values, code) = value.code(slots)?;
            alike(&values, of)?;
            let places: Vec<Option<usize>> = values.iter().map(|v| of.binary_search(v).ok()).collect();
            if let Expr::Const(code) = code {
                return Ok(match places[code as usize] {
                    Some(place) => bit(bits.clone(), Expr::Const(place as i64)),
                    None => FALSE,
                });
            }
            let somewhere: Vec<i64> = places.iter().map(|place| i64::from(place.is_some())).collect();
            let place: Vec<i64> = places.iter().map(|place| place.unwrap_or(0) as i64).collect();
            Ok(and([look_up(code.clone(), &somewhere), bit(bits.clone(), look_up(code, &place))]))
        }
        _ => no("membership in something that is no set of a known list"),
    }
}

fn member_lazy(value: &Sym, lazy: &Lazy, set: &Sym, slots: &[Slot]) -> Made<X> {
    let all = |parts: &[Sym], of: &Value| -> Made<X> {
        let parts = parts.iter().map(|part| member(part, &Sym::Value(of.clone()), slots));
        Ok(and(parts.collect::<Made<Vec<_>>>()?))
    };
    match (lazy, value.open()) {
        (Lazy::Anything, _) => Ok(TRUE),
        (Lazy::Union(a, b), _) => {
            Ok(or([member(value, &Sym::Value(a.clone()), slots)?, member(value, &Sym::Value(b.clone()), slots)?]))
        }
        (Lazy::Minus(a, b), _) => {
            Ok(and([member(value, &Sym::Value(a.clone()), slots)?, not(member(value, &Sym::Value(b.clone()), slots)?)]))
        }
        (Lazy::Int, Sym::Int(_)) => Ok(TRUE),
        (Lazy::Nat, Sym::Int(x)) => Ok(binary(Binary::Le, Expr::Const(0), x)),
        (Lazy::Interval(a, b), Sym::Int(x)) => {
            let within = |(least, most): (i64, i64)| (*a <= least, most <= *b);
            let (low, high) = range(&x, slots).map_or((false, false), within);
            let from = if low { TRUE } else { binary(Binary::Le, Expr::Const(*a), x.clone()) };
            Ok(and([from, if high { TRUE } else { binary(Binary::Le, x, Expr::Const(*b)) }]))
        }
        (Lazy::Subsets(of), Sym::Mask(..)) => subset(value, &Sym::Value(of.clone())),
        (Lazy::Functions(from, to), Sym::Function(keys, parts)) => match from.elements() {
            Ok(domain) if domain == keys => all(&parts, to),
            _ => Ok(FALSE),
        },
        (Lazy::Functions(from, to), Sym::Tuple(parts)) => match from.elements() {
            Ok(domain) if domain.len() == parts.len() && domain.first().is_none_or(|first| *first == Value::Int(1)) => {
                all(&parts, to)
            }
            _ => Ok(FALSE),
        },
        (Lazy::Records(fields), Sym::Function(keys, parts)) => {
            let same = fields.len() == keys.len()
                && fields.iter().zip(keys.iter()).all(|((name, _), key)| *key == Value::Str(name.clone()));
            if !same {
                return Ok(FALSE);
            }
            let parts = fields.iter().zip(&parts).map(|((_, of), part)| member(part, &Sym::Value(of.clone()), slots));
            Ok(and(parts.collect::<Made<Vec<_>>>()?))
        }
        (Lazy::Product(sets), Sym::Tuple(parts)) if sets.len() == parts.len() => {
            let parts = sets.iter().zip(&parts).map(|(of, part)| member(part, &Sym::Value(of.clone()), slots));
            Ok(and(parts.collect::<Made<Vec<_>>>()?))
        }
        (Lazy::Sequences(of), Sym::Tuple(parts)) => all(&parts, of),
        (Lazy::Sequences(of), Sym::Sequence(length, parts)) => {
            let mut conditions = Vec::new();
            for (place, part) in parts.iter().enumerate() {
                let behind = binary(Binary::Le, length.clone(), Expr::Const(place as i64));
                conditions.push(or([behind, member(part, &Sym::Value(of.clone()), slots)?]));
            }
            Ok(and(conditions))
        }
        _ => {
            // As a table over all that the value can be.
            let (of, code) = value.code(slots)?;
            let Sym::Value(set) = set else { return no("a set that is not known") };
            let bits = of.iter().map(|v| set.contains(v).map(i64::from)).collect::<Result<Vec<_>, _>>();
            Ok(look_up(code, &bits.map_err(NoForm::of)?))
        }
    }
}

/// Whether one set is part of another.
pub(super) fn subset(a: &Sym, b: &Sym) -> Made<X> {
    let (Sym::Mask(u, x), Sym::Value(whole)) = (a.open(), b) else {
        let (_, x, y) = masks(a, b)?;
        return Ok(eq(binary(Binary::BitAnd, x, complement(y)), Expr::Const(0)));
    };
    let mut outside = 0i64;
    for (place, value) in u.iter().enumerate() {
        if !whole.contains(value).map_err(NoForm::of)? {
            outside |= 1 << place;
        }
    }
    Ok(eq(binary(Binary::BitAnd, x, Expr::Const(outside)), Expr::Const(0)))
}

pub(super) fn complement(x: X) -> X {
    match x {
        Expr::Const(bits) => Expr::Const(!bits),
        other => Expr::BitNot(Box::new(other)),
    }
}
