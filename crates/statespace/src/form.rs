//! Which values a variable can have, and where they lie in the bits of a state.
//!
//! A [`Form`] is a set of values with a code for each: the other side of [`Shape`], which tells databases the same in
//! text. Forms come from what a type invariant says (`x \in 1..12`), or from values that were seen, and grow when a
//! value turns up that has no code.

use std::sync::Arc;

use crate::packed::{Key, Layout, Shape, Slot, SlotKind, VariableLayout};
use crate::tla::eval::Partial;
use crate::tla::value::{Lazy, Value};

/// A set of values with a code for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Integers, from the first to the last.
    Int(i64, i64),
    /// TRUE and FALSE.
    Bool,
    /// These values.
    Enum(Arc<Vec<Value>>),
    /// Sets of these values, sorted.
    Mask(Arc<Vec<Value>>),
    /// Functions on these keys.
    Function(Arc<Vec<Value>>, Vec<Form>),
    /// Tuples.
    Tuple(Vec<Form>),
    /// Sequences of at most so many elements.
    Sequence(Box<Form>, usize),
}

/// Sets over more values are numbered as a whole.
const MASK_MAX: usize = 62;
/// Larger sets of values are not listed.
const ENUM_MAX: usize = 4096;

impl Form {
    /// The form of the elements of a set, if there is one.
    pub fn of_set(set: &Value) -> Option<Form> {
        match set {
            Value::Lazy(lazy) => match &**lazy {
                Lazy::Interval(a, b) if a <= b => Some(Form::Int(*a, *b)),
                Lazy::Subsets(of) => {
                    let elements = of.elements().ok().filter(|elements| elements.len() <= MASK_MAX)?;
                    Some(Form::Mask(elements))
                }
                Lazy::Functions(from, to) => {
                    let keys = from.elements().ok().filter(|keys| keys.len() <= ENUM_MAX)?;
                    let to = Form::of_set(to)?;
                    Some(Form::function(&keys, vec![to; keys.len()]))
                }
                Lazy::Records(fields) => {
                    let keys: Vec<Value> = fields.iter().map(|(name, _)| Value::Str(name.clone())).collect();
                    let forms = fields.iter().map(|(_, set)| Form::of_set(set)).collect::<Option<_>>()?;
                    Some(Form::Function(Arc::new(keys), forms))
                }
                Lazy::Product(sets) => Some(Form::Tuple(sets.iter().map(Form::of_set).collect::<Option<_>>()?)),
                Lazy::Union(..) | Lazy::Minus(..) if !lazy.is_infinite() => Form::of_values(&set.elements().ok()?),
                _ => None,
            },
            Value::Set(elements) => Form::of_values(elements),
            _ => None,
        }
    }

    /// A form for all of these values, which need not have more.
    pub fn of_values(values: &[Value]) -> Option<Form> {
        let (first, rest) = values.split_first()?;
        let mut form = Form::of_value(first)?;
        for value in rest {
            form = form.with(value)?;
        }
        Some(form)
    }

    /// The form of one value.
    fn of_value(value: &Value) -> Option<Form> {
        Some(match value {
            Value::Bool(_) => Form::Bool,
            Value::Int(number) => Form::Int(*number, *number),
            Value::Str(_) | Value::Model(_) => Form::Enum(Arc::new(vec![value.clone()])),
            Value::Set(elements) if elements.len() <= MASK_MAX => Form::Mask(elements.clone()),
            Value::Tuple(elements) => Form::Tuple(elements.iter().map(Form::of_value).collect::<Option<_>>()?),
            Value::Function(function) => {
                let forms = function.values.iter().map(Form::of_value).collect::<Option<_>>()?;
                Form::Function(function.keys.clone(), forms)
            }
            Value::Set(_) | Value::Lazy(_) => return None,
        })
    }

    fn function(keys: &Arc<Vec<Value>>, forms: Vec<Form>) -> Form {
        let is_tuple = keys.iter().enumerate().all(|(at, key)| *key == Value::Int(at as i64 + 1));
        if is_tuple { Form::Tuple(forms) } else { Form::Function(keys.clone(), forms) }
    }

    /// A form that has this value, too.
    pub fn with(self, value: &Value) -> Option<Form> {
        if self.has(value) {
            return Some(self);
        }
        let each = |forms: Vec<Form>, values: &[Value]| -> Option<Vec<Form>> {
            forms.into_iter().zip(values).map(|(form, value)| form.with(value)).collect()
        };
        Some(match (self, value) {
            (Form::Int(a, b), Value::Int(number)) => Form::Int(a.min(*number), b.max(*number)),
            (Form::Mask(of), Value::Set(elements)) => {
                let mut all = of.to_vec();
                all.extend(elements.iter().cloned());
                all.sort();
                all.dedup();
                if all.len() > MASK_MAX {
                    return None;
                }
                Form::Mask(Arc::new(all))
            }
            (Form::Function(keys, forms), Value::Function(function)) if keys == function.keys => {
                Form::Function(keys, each(forms, &function.values)?)
            }
            (Form::Tuple(forms), Value::Tuple(elements)) if forms.len() == elements.len() => {
                Form::Tuple(each(forms, elements)?)
            }
            (Form::Tuple(forms), Value::Tuple(elements)) => {
                let longest = forms.len().max(elements.len());
                let mut one: Option<Form> = None;
                for form in forms {
                    one = Some(match one {
                        Some(known) => known.join(form)?,
                        None => form,
                    });
                }
                for element in elements.iter() {
                    one = Some(match one {
                        Some(known) => known.with(element)?,
                        None => Form::of_value(element)?,
                    });
                }
                Form::Sequence(Box::new(one?), longest)
            }
            (Form::Sequence(one, longest), Value::Tuple(elements)) => {
                let mut one = *one;
                for element in elements.iter() {
                    one = one.with(element)?;
                }
                Form::Sequence(Box::new(one), longest.max(elements.len()))
            }
            (form, value) => {
                let mut values = form.list()?;
                values.push(value.clone());
                values.sort();
                values.dedup();
                (values.len() <= ENUM_MAX).then(|| Form::Enum(Arc::new(values)))?
            }
        })
    }

    /// A form with room to grow where it has grown: twice as much as before.
    pub fn roomier(self, before: &Form) -> Form {
        let each = |forms: Vec<Form>, before: &[Form]| -> Vec<Form> {
            forms.into_iter().zip(before).map(|(form, before)| form.roomier(before)).collect()
        };
        match (self, before) {
            (Form::Int(a, b), Form::Int(c, d)) => {
                let more = b.saturating_sub(a).max(1);
                Form::Int(
                    if a < *c { a.saturating_sub(more) } else { a },
                    if b > *d { b.saturating_add(more) } else { b },
                )
            }
            (Form::Function(keys, forms), Form::Function(_, before)) => Form::Function(keys, each(forms, before)),
            (Form::Tuple(forms), Form::Tuple(before)) if forms.len() == before.len() => {
                Form::Tuple(each(forms, before))
            }
            (Form::Sequence(one, longest), Form::Sequence(old, shorter)) => {
                let longest = if longest > *shorter { longest + longest / 2 } else { longest };
                Form::Sequence(Box::new(one.roomier(old)), longest)
            }
            (form, _) => form,
        }
    }

    /// A form that has the values of both.
    pub fn join(self, other: Form) -> Option<Form> {
        if self == other {
            return Some(self);
        }
        match (self, other) {
            (Form::Int(a, b), Form::Int(c, d)) => Some(Form::Int(a.min(c), b.max(d))),
            (Form::Mask(a), Form::Mask(b)) => Form::Mask(a).with(&Value::Set(b)),
            (Form::Function(a, forms), Form::Function(b, others)) if a == b => {
                let joined = forms.into_iter().zip(others).map(|(a, b)| a.join(b));
                Some(Form::Function(a, joined.collect::<Option<_>>()?))
            }
            (Form::Tuple(a), Form::Tuple(b)) if a.len() == b.len() => {
                Some(Form::Tuple(a.into_iter().zip(b).map(|(a, b)| a.join(b)).collect::<Option<_>>()?))
            }
            (a, b) => {
                let mut form = a;
                for value in b.list()? {
                    form = form.with(&value)?;
                }
                Some(form)
            }
        }
    }

    /// All values, if they are not many.
    pub fn list(&self) -> Option<Vec<Value>> {
        let product = |forms: &[Form], made: &dyn Fn(Vec<Value>) -> Value| -> Option<Vec<Value>> {
            let mut all = vec![Vec::new()];
            for form in forms {
                let values = form.list()?;
                if all.len().checked_mul(values.len())? > ENUM_MAX {
                    return None;
                }
                all = all
                    .iter()
                    .flat_map(|head: &Vec<Value>| values.iter().map(|v| [&head[..], std::slice::from_ref(v)].concat()))
                    .collect();
            }
            Some(all.into_iter().map(made).collect())
        };
        match self {
            Form::Int(a, b) => (b.checked_sub(*a)? < ENUM_MAX as i64).then(|| (*a..=*b).map(Value::Int).collect()),
            Form::Bool => Some(vec![Value::Bool(false), Value::Bool(true)]),
            Form::Enum(values) => Some(values.to_vec()),
            Form::Mask(of) if of.len() <= 10 => {
                let set = Value::Lazy(Arc::new(Lazy::Subsets(Value::Set(of.clone()))));
                Some(set.elements().ok()?.to_vec())
            }
            Form::Function(keys, forms) => product(forms, &|values| Value::function_on(keys.clone(), values)),
            Form::Tuple(forms) => product(forms, &|values| Value::tuple(values)),
            Form::Mask(_) | Form::Sequence(..) => None,
        }
    }

    /// Whether a value has a code.
    pub fn has(&self, value: &Value) -> bool {
        match (self, value) {
            (Form::Int(a, b), Value::Int(number)) => a <= number && number <= b,
            (Form::Bool, Value::Bool(_)) => true,
            (Form::Enum(values), _) => values.binary_search(value).is_ok(),
            (Form::Mask(of), Value::Set(elements)) => elements.iter().all(|e| of.binary_search(e).is_ok()),
            (Form::Function(keys, forms), Value::Function(function)) => {
                *keys == function.keys && forms.iter().zip(&function.values).all(|(form, value)| form.has(value))
            }
            (Form::Tuple(forms), Value::Tuple(elements)) => {
                forms.len() == elements.len() && forms.iter().zip(elements.iter()).all(|(form, value)| form.has(value))
            }
            (Form::Sequence(one, longest), Value::Tuple(elements)) => {
                elements.len() <= *longest && elements.iter().all(|value| one.has(value))
            }
            _ => false,
        }
    }

    /// How many slots it takes.
    pub fn slots(&self) -> usize {
        match self {
            Form::Int(..) | Form::Bool | Form::Enum(_) | Form::Mask(_) => 1,
            Form::Function(_, forms) | Form::Tuple(forms) => forms.iter().map(Form::slots).sum(),
            Form::Sequence(one, longest) => 1 + one.slots() * longest,
        }
    }

    fn shape(&self) -> Shape {
        match self {
            Form::Int(..) | Form::Bool | Form::Enum(_) | Form::Mask(_) => Shape::One,
            Form::Function(keys, forms) => {
                let parts: Vec<_> = keys.iter().zip(forms).map(|(key, form)| (key, form.shape())).collect();
                let records = parts.iter().map(|(key, _)| match key {
                    Value::Str(name) => Some(name.to_string()),
                    _ => None,
                });
                match records.collect::<Option<Vec<String>>>() {
                    Some(names) => {
                        Shape::Record(names.into_iter().zip(parts.into_iter().map(|(_, shape)| shape)).collect())
                    }
                    None => Shape::Function(parts.into_iter().map(|(key, shape)| (key.to_string(), shape)).collect()),
                }
            }
            Form::Tuple(forms) => Shape::Tuple(forms.iter().map(Form::shape).collect()),
            Form::Sequence(one, longest) => Shape::Sequence(Box::new(one.shape()), *longest),
        }
    }

    fn lay(&self, name: &str, layout: &mut Layout) {
        let texts = |values: &[Value]| values.iter().map(ToString::to_string).collect();
        let (width, bias, kind) = match self {
            Form::Int(a, b) => (bits_for(b.abs_diff(*a) as usize + 1), *a, SlotKind::Int),
            Form::Bool => (1, 0, SlotKind::Bool),
            Form::Enum(values) => (bits_for(values.len()), 0, SlotKind::Enum(texts(values))),
            Form::Mask(of) => (of.len() as u32, 0, SlotKind::Mask(texts(of))),
            Form::Function(keys, forms) => {
                for (key, form) in keys.iter().zip(forms) {
                    form.lay(&format!("{name}[{key}]"), layout);
                }
                return;
            }
            Form::Tuple(forms) => {
                for (index, form) in forms.iter().enumerate() {
                    form.lay(&format!("{name}[{}]", index + 1), layout);
                }
                return;
            }
            Form::Sequence(one, longest) => {
                let (width, kind) = (bits_for(longest + 1), SlotKind::Int);
                layout.slots.push(Slot { name: format!("Len({name})"), offset: layout.bits, width, bias: 0, kind });
                layout.bits += width;
                for index in 0..*longest {
                    one.lay(&format!("{name}[{}]", index + 1), layout);
                }
                return;
            }
        };
        layout.slots.push(Slot { name: name.into(), offset: layout.bits, width, bias, kind });
        layout.bits += width;
    }

    /// The value in a state, whose first slot is this one.
    fn decode(&self, slots: &[Slot], at: &mut usize, key: Key) -> Value {
        let mut code = || {
            *at += 1;
            slots[*at - 1].get(key)
        };
        match self {
            Form::Int(..) => Value::Int(code()),
            Form::Bool => Value::Bool(code() != 0),
            Form::Enum(values) => values[(code() as usize).min(values.len() - 1)].clone(),
            Form::Mask(of) => {
                let bits = code();
                let chosen = of.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
                Value::sorted(chosen.map(|(_, value)| value.clone()).collect())
            }
            Form::Function(keys, forms) => {
                let values = forms.iter().map(|form| form.decode(slots, at, key)).collect();
                Value::function_on(keys.clone(), values)
            }
            Form::Tuple(forms) => Value::tuple(forms.iter().map(|form| form.decode(slots, at, key)).collect()),
            Form::Sequence(one, longest) => {
                let length = code() as usize;
                let mut elements: Vec<Value> = (0..*longest).map(|_| one.decode(slots, at, key)).collect();
                elements.truncate(length);
                Value::tuple(elements)
            }
        }
    }

    /// The codes of a value, added to a state; nothing, if there are none.
    fn encode(&self, value: &Value, slots: &[Slot], at: &mut usize, key: Key) -> Option<Key> {
        let mut put = |key: Key, meaning: i64| {
            *at += 1;
            slots[*at - 1].set(key, meaning)
        };
        match (self, value) {
            (Form::Int(..), Value::Int(number)) => put(key, *number),
            (Form::Bool, Value::Bool(value)) => put(key, i64::from(*value)),
            (Form::Enum(values), _) => put(key, values.binary_search(value).ok()? as i64),
            (Form::Mask(of), Value::Set(elements)) => {
                let mut bits = 0i64;
                for element in elements.iter() {
                    bits |= 1 << of.binary_search(element).ok()?;
                }
                put(key, bits)
            }
            (Form::Function(keys, forms), Value::Function(function)) if *keys == function.keys => forms
                .iter()
                .zip(&function.values)
                .try_fold(key, |key, (form, value)| form.encode(value, slots, at, key)),
            (Form::Tuple(forms), Value::Tuple(elements)) if forms.len() == elements.len() => {
                forms.iter().zip(elements.iter()).try_fold(key, |key, (form, value)| form.encode(value, slots, at, key))
            }
            (Form::Sequence(one, longest), Value::Tuple(elements)) if elements.len() <= *longest => {
                let key = put(key, elements.len() as i64)?;
                let end = *at + one.slots() * longest;
                let key = elements.iter().try_fold(key, |key, value| one.encode(value, slots, at, key))?;
                *at = end;
                Some(key)
            }
            _ => None,
        }
    }
}

/// How the values of all variables lie in a state.
#[derive(Clone, Debug, Default)]
pub struct Forms {
    /// Of each variable.
    pub forms: Vec<Form>,
    /// Where they lie.
    pub layout: Layout,
}

impl Forms {
    /// Variables side by side, in order.
    pub fn new(variables: impl IntoIterator<Item = (String, Form)>) -> Forms {
        let mut forms = Forms::default();
        for (name, form) in variables {
            let first = forms.layout.slots.len();
            form.lay(&name, &mut forms.layout);
            let slots = first..forms.layout.slots.len();
            forms.layout.variables.push(VariableLayout { name, slots, shape: form.shape() });
            forms.forms.push(form);
        }
        forms
    }

    /// The values of the variables in a state.
    pub fn decode(&self, key: Key) -> Partial {
        let mut at = 0;
        self.forms.iter().map(|form| Some(form.decode(&self.layout.slots, &mut at, key))).collect()
    }

    /// The state with these values; or the variable whose value has no code.
    pub fn encode(&self, values: &Partial) -> Result<Key, usize> {
        let mut at = 0;
        let mut key = Key(0);
        for (variable, (form, value)) in self.forms.iter().zip(values).enumerate() {
            let encoded = value.as_ref().and_then(|value| form.encode(value, &self.layout.slots, &mut at, key));
            key = encoded.ok_or(variable)?;
        }
        Ok(key)
    }
}

/// The bits that numbers below a count need.
pub(crate) fn bits_for(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Every value of a form comes back from its code.
    #[test]
    fn codes_go_there_and_back() {
        let names: Arc<Vec<Value>> = Arc::new(["a", "b", "c"].map(Value::text).to_vec());
        let forms = [
            Form::Int(-3, 4),
            Form::Bool,
            Form::Enum(names.clone()),
            Form::Mask(names.clone()),
            Form::Function(names, vec![Form::Bool, Form::Int(0, 2), Form::Bool]),
            Form::Tuple(vec![Form::Int(1, 3), Form::Bool]),
        ];
        for form in forms {
            let all = Forms::new([("x".to_string(), Form::Bool), ("y".to_string(), form.clone())]);
            for value in form.list().unwrap() {
                let values = vec![Some(Value::Bool(true)), Some(value)];
                assert_eq!(all.decode(all.encode(&values).unwrap()), values);
            }
        }
    }

    #[test]
    fn sequences_have_one_code_each() {
        let forms = Forms::new([("q".to_string(), Form::Sequence(Box::new(Form::Int(1, 3)), 2))]);
        for value in [vec![], vec![Value::Int(1)], vec![Value::Int(3), Value::Int(2)]] {
            let values = vec![Some(Value::tuple(value))];
            assert_eq!(forms.decode(forms.encode(&values).unwrap()), values);
        }
        assert_eq!(forms.encode(&vec![Some(Value::tuple(vec![Value::Int(1); 3]))]), Err(0));
    }

    #[test]
    fn forms_grow() {
        let form = Form::of_values(&[Value::Int(1), Value::Model("none".into())]).unwrap();
        assert_eq!(form, Form::Enum(Arc::new(vec![Value::Int(1), Value::Model("none".into())])));
        assert_eq!(Form::Int(0, 3).with(&Value::Int(9)), Some(Form::Int(0, 9)));
        let lengths = Form::of_values(&[Value::tuple(vec![]), Value::tuple(vec![Value::Int(4)])]).unwrap();
        assert_eq!(lengths, Form::Sequence(Box::new(Form::Int(4, 4)), 1));
    }
}
