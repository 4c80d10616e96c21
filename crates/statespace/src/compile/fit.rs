//! Values put into the slots of their variable.

use super::build::{X, and, binary, if_else, known, look_up, range};
use super::sym::{NoForm, Sym, sequence};
use crate::form::Form;
use crate::packed::{Binary, Expr, Slot};
use crate::tla::value::Value;

/// Why a value could not be put into its slots.
#[derive(Debug)]
pub(super) enum Stop {
    /// With this form it could.
    Widen(Form),
    /// There is none.
    NoForm(NoForm),
}

impl From<NoForm> for Stop {
    fn from(why: NoForm) -> Stop {
        Stop::NoForm(why)
    }
}

/// What each slot means with this value; and when that is within its range.
pub(super) fn fit(
    value: &Sym,
    form: &Form,
    slots: &[Slot],
    slot: &mut usize,
    updates: &mut Vec<(usize, X)>,
    in_range: &mut Vec<X>,
) -> Result<(), Stop> {
    let widened = || widen(value, form, slots);
    match form {
        Form::Int(..) => {
            let x = match value {
                Sym::Value(Value::Int(number)) => Expr::Const(*number),
                Sym::Int(x) => x.clone(),
                _ => value.int().map_err(|_| widened())?,
            };
            let (least, most) = slots[*slot].range();
            let inside = range(&x, slots).is_some_and(|(a, b)| least <= a && b <= most);
            if let (false, Some(number)) = (inside, known(&x)) {
                return match form.clone().with(&Value::Int(number)) {
                    Some(form) => Err(Stop::Widen(form)),
                    None => Err(Stop::NoForm(NoForm("an integer among other values".into()))),
                };
            }
            if !inside && x != Expr::Slot(*slot) {
                in_range.push(and([
                    binary(Binary::Le, Expr::Const(least), x.clone()),
                    binary(Binary::Le, x.clone(), Expr::Const(most)),
                ]));
            }
            updates.push((*slot, x));
            *slot += 1;
        }
        Form::Bool => {
            updates.push((*slot, value.truth().map_err(|_| widened())?));
            *slot += 1;
        }
        Form::Enum(values) => {
            let (of, code) = value.code(slots)?;
            let places: Option<Vec<i64>> =
                of.iter().map(|v| values.binary_search(v).ok().map(|place| place as i64)).collect();
            updates.push((*slot, look_up(code, &places.ok_or_else(widened)?)));
            *slot += 1;
        }
        Form::Mask(of) => {
            let Sym::Mask(from, bits) = value.open() else { return Err(widened()) };
            let places: Option<Vec<i64>> =
                from.iter().map(|v| of.binary_search(v).ok().map(|place| place as i64)).collect();
            let bits = super::sym::moved(bits, &places.ok_or_else(widened)?);
            updates.push((*slot, bits));
            *slot += 1;
        }
        Form::Function(keys, forms) => match value.open() {
            Sym::Function(own, parts) if own == *keys => {
                for (index, (part, form)) in parts.iter().zip(forms).enumerate() {
                    fit(part, form, slots, slot, updates, in_range).map_err(|stop| {
                        inside(stop, |wider| {
                            let mut forms = forms.clone();
                            forms[index] = wider;
                            Form::Function(keys.clone(), forms)
                        })
                    })?;
                }
            }
            _ => return Err(widened()),
        },
        Form::Tuple(forms) => match value.open() {
            Sym::Tuple(parts) if parts.len() == forms.len() => {
                for (index, (part, form)) in parts.iter().zip(forms).enumerate() {
                    fit(part, form, slots, slot, updates, in_range).map_err(|stop| {
                        inside(stop, |wider| {
                            let mut forms = forms.clone();
                            forms[index] = wider;
                            Form::Tuple(forms)
                        })
                    })?;
                }
            }
            _ => return Err(widened()),
        },
        Form::Sequence(one, longest) => {
            let (length, parts) = sequence(value)?;
            if let Some(length) = known(&length)
                && length > *longest as i64
            {
                return Err(Stop::Widen(Form::Sequence(one.clone(), length as usize)));
            }
            let most = Expr::Const(*longest as i64);
            if range(&length, slots).is_none_or(|(_, b)| b > *longest as i64) && length != Expr::Slot(*slot) {
                in_range.push(binary(Binary::Le, length.clone(), most));
            }
            updates.push((*slot, length.clone()));
            *slot += 1;
            for place in 0..*longest {
                let first = updates.len();
                let at = *slot;
                match parts.get(place) {
                    Some(part) => {
                        let mut conditions = Vec::new();
                        fit(part, one, slots, slot, updates, &mut conditions)
                            .map_err(|stop| inside(stop, |wider| Form::Sequence(Box::new(wider), *longest)))?;
                        let there = binary(Binary::Lt, Expr::Const(place as i64), length.clone());
                        in_range.extend(
                            conditions.into_iter().map(|c| super::build::or([super::build::not(there.clone()), c])),
                        );
                        for (slot, x) in &mut updates[first..] {
                            // Behind the end everything is zero; what is so already stays.
                            if *x != Expr::Slot(*slot) || length_changes(&length, at - 1 - place * one.slots()) {
                                *x = if_else(there.clone(), x.clone(), Expr::Const(slots[*slot].bias));
                            }
                        }
                    }
                    None => {
                        for _ in 0..one.slots() {
                            updates.push((*slot, Expr::Const(slots[*slot].bias)));
                            *slot += 1;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// Whether a length is another than that which stands in its slot.
fn length_changes(length: &X, slot: usize) -> bool {
    *length != Expr::Slot(slot)
}

fn inside(stop: Stop, around: impl FnOnce(Form) -> Form) -> Stop {
    match stop {
        Stop::Widen(form) => Stop::Widen(around(form)),
        other => other,
    }
}

/// A form that has all that a value can be, too.
fn widen(value: &Sym, form: &Form, slots: &[Slot]) -> Stop {
    let wider = form_of(value, slots).and_then(|own| joined(form.clone(), own));
    match wider {
        Some(wider) => Stop::Widen(wider),
        None => Stop::NoForm(NoForm("a value of several kinds".into())),
    }
}

fn joined(a: Form, b: Form) -> Option<Form> {
    let one = |forms: Vec<Form>| -> Option<Option<Form>> {
        let mut all: Option<Form> = None;
        for form in forms {
            all = Some(match all {
                Some(known) => joined(known, form)?,
                None => form,
            });
        }
        Some(all)
    };
    match (a, b) {
        (Form::Tuple(a), Form::Tuple(b)) if a.len() != b.len() => {
            let longest = a.len().max(b.len());
            let all = one(a.into_iter().chain(b).collect())??;
            Some(Form::Sequence(Box::new(all), longest))
        }
        (Form::Tuple(parts), Form::Sequence(element, longest))
        | (Form::Sequence(element, longest), Form::Tuple(parts)) => {
            let longest = longest.max(parts.len());
            let all = one(parts.into_iter().chain([*element]).collect())??;
            Some(Form::Sequence(Box::new(all), longest))
        }
        (Form::Sequence(a, n), Form::Sequence(b, m)) => Some(Form::Sequence(Box::new(joined(*a, *b)?), n.max(m))),
        (a, b) => a.join(b),
    }
}

fn form_of(value: &Sym, slots: &[Slot]) -> Option<Form> {
    match value {
        Sym::Value(value) => Form::of_values(std::slice::from_ref(value)),
        Sym::Int(x) => range(x, slots).map(|(a, b)| Form::Int(a, b)),
        Sym::Bool(_) => Some(Form::Bool),
        Sym::Enum(values, _) => Form::of_values(values),
        Sym::Mask(of, _) => Some(Form::Mask(of.clone())),
        Sym::Function(keys, parts) => {
            let forms = parts.iter().map(|part| form_of(part, slots)).collect::<Option<_>>()?;
            Some(Form::Function(keys.clone(), forms))
        }
        Sym::Tuple(parts) => Some(Form::Tuple(parts.iter().map(|part| form_of(part, slots)).collect::<Option<_>>()?)),
        Sym::Sequence(_, parts) => {
            let mut all: Option<Form> = None;
            for part in parts {
                let form = form_of(part, slots)?;
                all = Some(match all {
                    Some(known) => joined(known, form)?,
                    None => form,
                });
            }
            Some(Form::Sequence(Box::new(all?), parts.len()))
        }
    }
}
