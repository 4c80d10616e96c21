//! TLA+ values, and how TLC prints them.
//!
//! A function whose domain is `1..n` *is* a tuple (and a sequence), and one on strings is a record; so there is one
//! form for each value, and equality is equality of forms. Sets are sorted lists. Sets that are infinite or too large
//! to be listed for nothing ([`Lazy`]: `Nat`, `SUBSET S`, `[S -> T]`) are kept as they were written until somebody asks
//! for their elements; they never get into a state or into another value.

use std::fmt;
use std::sync::Arc;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// TRUE or FALSE.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A string.
    Str(Arc<str>),
    /// A model value: equal to itself only.
    Model(Arc<str>),
    /// A finite set: sorted, without duplicates.
    Set(Arc<Vec<Value>>),
    /// A function on `1..n`.
    Tuple(Arc<Vec<Value>>),
    /// Any other function.
    Function(Arc<Function>),
    /// A set that is not listed.
    Lazy(Arc<Lazy>),
}

/// A function: keys sorted, each with its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function {
    /// The domain.
    pub keys: Arc<Vec<Value>>,
    /// What each is mapped to.
    pub values: Vec<Value>,
}

/// A set that is not listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lazy {
    /// 0, 1, 2, ...
    Nat,
    /// All integers.
    Int,
    /// All strings.
    Strings,
    /// Everything.
    Anything,
    /// `a..b`
    Interval(i64, i64),
    /// `SUBSET S`
    Subsets(Value),
    /// `[S -> T]`
    Functions(Value, Value),
    /// `[a : S, b : T]`, sorted by name
    Records(Vec<(Arc<str>, Value)>),
    /// `S \X T`
    Product(Vec<Value>),
    /// `Seq(S)`
    Sequences(Value),
    /// `S \cup T`, of which one is infinite
    Union(Value, Value),
    /// `S \ T`, of which the first is infinite
    Minus(Value, Value),
}

/// Why a set operation has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// In words.
    pub message: String,
    /// Whether only we give up here, and the operation may have a value.
    pub is_limit: bool,
}

impl Why {
    /// A limit of ours that was reached.
    pub fn limit(message: impl Into<String>) -> Why {
        Why { message: message.into(), is_limit: true }
    }
}

impl<T: Into<String>> From<T> for Why {
    fn from(message: T) -> Why {
        Why { message: message.into(), is_limit: false }
    }
}

/// More elements than this are not listed.
const ELEMENTS_MAX: usize = 5_000_000;

impl Value {
    /// A string.
    pub fn text(text: &str) -> Value {
        Value::Str(text.into())
    }

    /// A set of these; they need be neither sorted nor different.
    pub fn set(mut elements: Vec<Value>) -> Result<Value, Why> {
        elements.sort_unstable();
        elements.dedup();
        mixed(&elements)?;
        Ok(Value::Set(Arc::new(elements)))
    }

    /// A set of sorted, different elements of one kind.
    pub(crate) fn sorted(elements: Vec<Value>) -> Value {
        Value::Set(Arc::new(elements))
    }

    /// A tuple.
    pub fn tuple(elements: Vec<Value>) -> Value {
        Value::Tuple(Arc::new(elements))
    }

    /// The function with these pairs; of equal keys the first counts.
    pub fn function(mut pairs: Vec<(Value, Value)>) -> Result<Value, Why> {
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        pairs.dedup_by(|b, a| a.0 == b.0);
        let (keys, values): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        mixed(&keys)?;
        Ok(Value::function_on(Arc::new(keys), values))
    }

    /// The function on a sorted domain.
    pub fn function_on(keys: Arc<Vec<Value>>, values: Vec<Value>) -> Value {
        let is_sequence = keys.iter().enumerate().all(|(at, key)| *key == Value::Int(at as i64 + 1));
        match is_sequence {
            true => Value::tuple(values),
            false => Value::Function(Arc::new(Function { keys, values })),
        }
    }

    /// What a value is called in messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "an integer",
            Value::Str(_) => "a string",
            Value::Model(_) => "a model value",
            Value::Set(_) | Value::Lazy(_) => "a set",
            Value::Tuple(_) => "a tuple",
            Value::Function(function) if function.is_record() => "a record",
            Value::Function(_) => "a function",
        }
    }

    /// Whether two values may be compared at all.
    pub(crate) fn comparable(&self, other: &Value) -> bool {
        use Value::{Bool, Function, Int, Lazy, Model, Set, Str, Tuple};
        matches!(
            (self, other),
            (Model(_), _)
                | (_, Model(_))
                | (Bool(_), Bool(_))
                | (Int(_), Int(_))
                | (Str(_), Str(_))
                | (Set(_) | Lazy(_), Set(_) | Lazy(_))
                | (Tuple(_) | Function(_), Tuple(_) | Function(_))
        )
    }

    /// The value with every set listed.
    pub fn listed(self) -> Result<Value, Why> {
        match &self {
            Value::Lazy(_) => Ok(Value::Set(self.elements()?)),
            _ => Ok(self),
        }
    }

    /// The elements of a set, sorted.
    pub fn elements(&self) -> Result<Arc<Vec<Value>>, Why> {
        match self {
            Value::Set(elements) => Ok(elements.clone()),
            Value::Lazy(lazy) => Ok(Arc::new(lazy.list()?)),
            other => Err(format!("{other} is {} and not a set", other.kind()).into()),
        }
    }

    /// How many elements a set has.
    pub fn cardinality(&self) -> Result<i64, Why> {
        match self {
            Value::Set(elements) => Ok(elements.len() as i64),
            Value::Lazy(lazy) => match &**lazy {
                Lazy::Interval(a, b) => Ok((b - a + 1).max(0)),
                other => Ok(other.list()?.len() as i64),
            },
            other => Err(format!("{other} is {} and not a set", other.kind()).into()),
        }
    }

    /// Whether a set has this element.
    pub fn contains(&self, element: &Value) -> Result<bool, Why> {
        match self {
            Value::Set(elements) => match elements.first() {
                Some(first) if !first.comparable(element) && !elements.iter().any(|e| matches!(e, Value::Model(_))) => {
                    Err(format!("{element} is {}, and the elements of the set are not, as {first}", element.kind())
                        .into())
                }
                _ => Ok(elements.binary_search(element).is_ok()),
            },
            Value::Lazy(lazy) => lazy.contains(element),
            other => Err(format!("{other} is {} and not a set", other.kind()).into()),
        }
    }

    /// The domain of a function, sorted.
    pub fn domain(&self) -> Result<Value, Why> {
        match self {
            Value::Tuple(elements) => Ok(Value::Lazy(Arc::new(Lazy::Interval(1, elements.len() as i64)))),
            Value::Function(function) => Ok(Value::Set(function.keys.clone())),
            other => Err(format!("{other} is {} and not a function", other.kind()).into()),
        }
    }

    /// What a function maps an argument to.
    pub fn apply(&self, argument: &Value) -> Result<&Value, Why> {
        match self {
            Value::Tuple(elements) => match argument {
                Value::Int(at) if *at >= 1 && *at as usize <= elements.len() => Ok(&elements[*at as usize - 1]),
                _ => Err(format!("{argument} is not in the domain of {self}").into()),
            },
            Value::Function(function) => match function.keys.binary_search(argument) {
                Ok(at) => Ok(&function.values[at]),
                Err(_) if function.is_record() => Err(format!("the record {self} has no field {argument}").into()),
                Err(_) => Err(format!("{argument} is not in the domain of {self}").into()),
            },
            other => Err(format!("{other} is {} and not a function", other.kind()).into()),
        }
    }

    /// The function with another value at an argument; unchanged, if the argument is not in its domain, as TLA+ has it.
    pub fn except(&self, argument: &Value, value: Value) -> Result<Value, Why> {
        match self {
            Value::Tuple(elements) => Ok(match argument {
                Value::Int(at) if *at >= 1 && *at as usize <= elements.len() => {
                    let mut elements = elements.to_vec();
                    elements[*at as usize - 1] = value;
                    Value::tuple(elements)
                }
                _ => self.clone(),
            }),
            Value::Function(function) => Ok(match function.keys.binary_search(argument) {
                Ok(at) => {
                    let mut values = function.values.clone();
                    values[at] = value;
                    Value::Function(Arc::new(Function { keys: function.keys.clone(), values }))
                }
                Err(_) => self.clone(),
            }),
            other => Err(format!("{other} is {} and not a function", other.kind()).into()),
        }
    }

    /// Keys and values of a function.
    pub(crate) fn pairs(&self) -> Option<Vec<(Value, Value)>> {
        match self {
            Value::Tuple(elements) => {
                Some(elements.iter().enumerate().map(|(at, v)| (Value::Int(at as i64 + 1), v.clone())).collect())
            }
            Value::Function(function) => {
                Some(function.keys.iter().cloned().zip(function.values.iter().cloned()).collect())
            }
            _ => None,
        }
    }
}

/// Elements that cannot be compared with each other are a mistake; they are sorted by kind, so the ends tell.
fn mixed(sorted: &[Value]) -> Result<(), Why> {
    let mut others = sorted.iter().filter(|value| !matches!(value, Value::Model(_)));
    match (others.next(), others.next_back()) {
        (Some(first), Some(last)) if !first.comparable(last) => {
            Err(format!("{first} is {} and {last} is {}: they cannot be in one set", first.kind(), last.kind()).into())
        }
        _ => Ok(()),
    }
}

impl Function {
    fn is_record(&self) -> bool {
        self.keys.iter().all(|key| matches!(key, Value::Str(name) if is_name(name)))
    }
}

fn is_name(text: &str) -> bool {
    text.chars().any(|c| c.is_ascii_alphabetic()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Lazy {
    /// Whether it can be listed at all.
    pub(crate) fn is_infinite(&self) -> bool {
        let infinite = |value: &Value| matches!(value, Value::Lazy(lazy) if lazy.is_infinite());
        match self {
            Lazy::Nat | Lazy::Int | Lazy::Strings | Lazy::Anything | Lazy::Sequences(_) => true,
            Lazy::Interval(..) => false,
            Lazy::Subsets(set) => infinite(set),
            Lazy::Functions(from, to) | Lazy::Union(from, to) => infinite(from) || infinite(to),
            Lazy::Minus(from, _) => infinite(from),
            Lazy::Records(fields) => fields.iter().any(|(_, set)| infinite(set)),
            Lazy::Product(sets) => sets.iter().any(infinite),
        }
    }

    /// Whether it is as well listed at once.
    pub(crate) fn is_small(&self) -> bool {
        self.size().is_some_and(|size| size <= 4096)
    }

    /// How many elements, if that is known and not very many.
    fn size(&self) -> Option<usize> {
        let of = |value: &Value| match value {
            Value::Set(elements) => Some(elements.len()),
            Value::Lazy(lazy) => lazy.size(),
            _ => None,
        };
        let product =
            |sizes: Vec<Option<usize>>| sizes.into_iter().try_fold(1usize, |product, size| product.checked_mul(size?));
        match self {
            Lazy::Interval(a, b) => usize::try_from(b.checked_sub(*a)?.checked_add(1)?.max(0)).ok(),
            Lazy::Subsets(set) => 1usize.checked_shl(u32::try_from(of(set)?).ok()?),
            Lazy::Functions(from, to) => of(to)?.checked_pow(u32::try_from(of(from)?).ok()?),
            Lazy::Records(fields) => product(fields.iter().map(|(_, set)| of(set)).collect()),
            Lazy::Product(sets) => product(sets.iter().map(of).collect()),
            Lazy::Union(a, b) => of(a)?.checked_add(of(b)?),
            Lazy::Minus(a, _) => of(a),
            Lazy::Nat | Lazy::Int | Lazy::Strings | Lazy::Anything | Lazy::Sequences(_) => None,
        }
    }

    fn list(&self) -> Result<Vec<Value>, Why> {
        if self.is_infinite() {
            return Err(format!("the elements of {self} cannot be listed: it is infinite").into());
        }
        let listed = match self {
            Lazy::Interval(a, b) if b.saturating_sub(*a) as usize >= ELEMENTS_MAX && b > a => {
                return Err(self.too_many());
            }
            Lazy::Interval(a, b) => (*a..=*b).map(Value::Int).collect(),
            Lazy::Subsets(set) => self.subsets(&set.elements()?)?,
            Lazy::Functions(from, to) => {
                let keys = from.elements()?;
                let choices = vec![to.elements()?; keys.len()];
                let made = |values| Value::function_on(keys.clone(), values);
                self.tuples(&choices, made)?
            }
            Lazy::Records(fields) => {
                let keys = Arc::new(fields.iter().map(|(name, _)| Value::Str(name.clone())).collect::<Vec<_>>());
                let choices = fields.iter().map(|(_, set)| set.elements()).collect::<Result<Vec<_>, _>>()?;
                self.tuples(&choices, |values| Value::function_on(keys.clone(), values))?
            }
            Lazy::Product(sets) => {
                let choices = sets.iter().map(Value::elements).collect::<Result<Vec<_>, _>>()?;
                self.tuples(&choices, Value::tuple)?
            }
            Lazy::Union(a, b) => {
                let mut all = a.elements()?.to_vec();
                all.extend(b.elements()?.iter().cloned());
                all
            }
            Lazy::Minus(a, b) => {
                let mut kept = Vec::new();
                for element in a.elements()?.iter() {
                    if !b.contains(element)? {
                        kept.push(element.clone());
                    }
                }
                kept
            }
            Lazy::Nat | Lazy::Int | Lazy::Strings | Lazy::Anything | Lazy::Sequences(_) => Vec::new(),
        };
        let mut listed: Vec<Value> = listed;
        if !listed.is_sorted() {
            listed.sort_unstable();
            listed.dedup();
        }
        Ok(listed)
    }

    fn too_many(&self) -> Why {
        Why::limit(format!("{self} has too many elements to be listed"))
    }

    fn subsets(&self, elements: &[Value]) -> Result<Vec<Value>, Why> {
        if elements.len() >= 22 {
            return Err(self.too_many());
        }
        let chosen = |mask: u32| {
            let kept = elements.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1).map(|(_, e)| e.clone());
            Value::sorted(kept.collect())
        };
        Ok((0..1u32 << elements.len()).map(chosen).collect())
    }

    /// Every choice of one from each.
    fn tuples(&self, choices: &[Arc<Vec<Value>>], made: impl Fn(Vec<Value>) -> Value) -> Result<Vec<Value>, Why> {
        let count = choices.iter().try_fold(1usize, |count, set| count.checked_mul(set.len()));
        let count = count.filter(|count| *count <= ELEMENTS_MAX).ok_or_else(|| self.too_many())?;
        let mut all = Vec::with_capacity(count);
        let mut at = vec![0; choices.len()];
        for _ in 0..count {
            all.push(made(at.iter().zip(choices).map(|(at, set)| set[*at].clone()).collect()));
            for (digit, set) in at.iter_mut().zip(choices).rev() {
                *digit += 1;
                if *digit < set.len() {
                    break;
                }
                *digit = 0;
            }
        }
        Ok(all)
    }

    fn contains(&self, element: &Value) -> Result<bool, Why> {
        let each = |set: &Value, elements: &[Value]| -> Result<bool, Why> {
            for element in elements {
                if !set.contains(element)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        Ok(match (self, element) {
            (Lazy::Anything, _) => true,
            (Lazy::Union(a, b), _) => match a.contains(element) {
                Ok(true) => true,
                Ok(false) => b.contains(element)?,
                // What is no candidate for the one may be for the other.
                Err(why) => b.contains(element).map_err(|_| why)?,
            },
            (Lazy::Minus(a, b), _) => a.contains(element)? && !b.contains(element)?,
            (_, Value::Model(_)) => false,
            (Lazy::Nat, Value::Int(i)) => *i >= 0,
            (Lazy::Int, Value::Int(_)) => true,
            (Lazy::Strings, Value::Str(_)) => true,
            (Lazy::Interval(a, b), Value::Int(i)) => a <= i && i <= b,
            (Lazy::Nat | Lazy::Int | Lazy::Interval(..), _) => {
                return Err(format!(
                    "{element} is {} and not an integer, as the elements of {self} are",
                    element.kind()
                )
                .into());
            }
            (Lazy::Subsets(set), Value::Set(_) | Value::Lazy(_)) => each(set, &element.elements()?)?,
            (Lazy::Functions(from, to), Value::Tuple(elements)) => {
                let domain = element.domain()?.elements()?;
                domain == from.elements()? && each(to, elements)?
            }
            (Lazy::Functions(from, to), Value::Function(function)) => {
                let same = match from {
                    Value::Set(keys) => *keys == function.keys,
                    other => other.elements()? == function.keys,
                };
                same && each(to, &function.values)?
            }
            (Lazy::Records(fields), Value::Function(function)) => {
                let names = fields.iter().map(|(name, _)| name);
                let same = fields.len() == function.keys.len()
                    && names.zip(function.keys.iter()).all(|(name, key)| matches!(key, Value::Str(k) if k == name));
                if !same {
                    return Ok(false);
                }
                for ((_, set), value) in fields.iter().zip(&function.values) {
                    if !set.contains(value)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Lazy::Product(sets), Value::Tuple(elements)) => {
                if sets.len() != elements.len() {
                    return Ok(false);
                }
                for (set, value) in sets.iter().zip(elements.iter()) {
                    if !set.contains(value)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Lazy::Sequences(set), Value::Tuple(elements)) => each(set, elements)?,
            _ => false,
        })
    }
}

/// Whether two values are equal; kinds that cannot be compared are a mistake.
pub(crate) fn equal(a: &Value, b: &Value) -> Result<bool, Why> {
    match (a, b) {
        (Value::Lazy(_), _) | (_, Value::Lazy(_)) if a.comparable(b) => match (a, b) {
            (Value::Model(_), _) | (_, Value::Model(_)) => Ok(false),
            _ if a == b => Ok(true),
            _ => Ok(a.elements()? == b.elements()?),
        },
        _ if a.comparable(b) => Ok(a == b),
        _ => Err(format!("{a} is {} and {b} is {}: they cannot be compared", a.kind(), b.kind()).into()),
    }
}

impl fmt::Display for Value {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(true) => to.write_str("TRUE"),
            Value::Bool(false) => to.write_str("FALSE"),
            Value::Int(number) => write!(to, "{number}"),
            Value::Str(text) => {
                write!(to, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
            }
            Value::Model(name) => to.write_str(name),
            Value::Set(elements) => list(to, "{", elements, "}"),
            Value::Tuple(elements) => list(to, "<<", elements, ">>"),
            Value::Function(function) => function.fmt(to),
            Value::Lazy(lazy) => lazy.fmt(to),
        }
    }
}

fn list(to: &mut fmt::Formatter<'_>, open: &str, elements: &[Value], close: &str) -> fmt::Result {
    to.write_str(open)?;
    for (at, element) in elements.iter().enumerate() {
        write!(to, "{}{element}", if at > 0 { ", " } else { "" })?;
    }
    to.write_str(close)
}

impl fmt::Display for Function {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_record = self.is_record();
        to.write_str(if is_record { "[" } else { "(" })?;
        for (at, (key, value)) in self.keys.iter().zip(&self.values).enumerate() {
            match (is_record, key) {
                (true, Value::Str(name)) => write!(to, "{}{name} |-> {value}", if at > 0 { ", " } else { "" })?,
                _ => write!(to, "{}{key} :> {value}", if at > 0 { " @@ " } else { "" })?,
            }
        }
        to.write_str(if is_record { "]" } else { ")" })
    }
}

impl fmt::Display for Lazy {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lazy::Nat => to.write_str("Nat"),
            Lazy::Int => to.write_str("Int"),
            Lazy::Strings => to.write_str("STRING"),
            Lazy::Anything => to.write_str("the set of everything"),
            Lazy::Interval(a, b) => write!(to, "{a}..{b}"),
            Lazy::Subsets(set) => write!(to, "SUBSET {set}"),
            Lazy::Functions(from, into) => write!(to, "[{from} -> {into}]"),
            Lazy::Records(fields) => {
                let fields: Vec<String> = fields.iter().map(|(name, set)| format!("{name}: {set}")).collect();
                write!(to, "[{}]", fields.join(", "))
            }
            Lazy::Product(sets) => {
                let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
                write!(to, "({})", sets.join(" \\X "))
            }
            Lazy::Sequences(set) => write!(to, "Seq({set})"),
            Lazy::Union(a, b) => write!(to, "({a} \\cup {b})"),
            Lazy::Minus(a, b) => write!(to, "({a} \\ {b})"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_function_on_one_to_n_is_a_tuple() {
        let pairs = vec![(Value::Int(2), Value::text("b")), (Value::Int(1), Value::text("a"))];
        assert_eq!(Value::function(pairs).unwrap().to_string(), "<<\"a\", \"b\">>");
    }

    #[test]
    fn kinds_do_not_mix() {
        let why = Value::set(vec![Value::Int(1), Value::text("a")]).unwrap_err();
        assert_eq!(why, "1 is an integer and \"a\" is a string: they cannot be in one set".into());
        assert!(Value::set(vec![Value::Int(1), Value::Model("none".into())]).is_ok());
    }

    #[test]
    fn large_sets_are_asked_without_being_listed() {
        let bits = Value::sorted(vec![Value::Int(0), Value::Int(1)]);
        let from = Value::Lazy(Arc::new(Lazy::Interval(1, 60)));
        let functions = Value::Lazy(Arc::new(Lazy::Functions(from, bits)));
        assert!(functions.contains(&Value::tuple(vec![Value::Int(1); 60])).unwrap());
        let why = functions.elements().unwrap_err();
        assert!(why.is_limit && why.message.contains("too many"), "our limit says nothing about the specification");
    }
}
