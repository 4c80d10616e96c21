//! What the operators of the standard modules do with values.

use std::sync::Arc;

use super::builtin::Builtin;
use super::value::{Lazy, Value, Why};

/// Applies an operator to values.
pub(crate) fn operate(builtin: Builtin, values: &[Value]) -> Result<Value, Why> {
    match (builtin, values) {
        (Builtin::Boolean, []) => Ok(Value::sorted(vec![Value::Bool(false), Value::Bool(true)])),
        (Builtin::Strings, []) => Ok(lazy(Lazy::Strings)),
        (Builtin::Anything, []) => Ok(lazy(Lazy::Anything)),
        (Builtin::Nat, []) => Ok(lazy(Lazy::Nat)),
        (Builtin::Int, []) => Ok(lazy(Lazy::Int)),
        (Builtin::EmptyBag, []) => Ok(Value::tuple(Vec::new())),
        (_, [value]) => unary(builtin, value),
        (_, [a, b]) => binary(builtin, a, b),
        (Builtin::Product, sets) => Ok(lazy(Lazy::Product(sets.to_vec()))),
        (Builtin::SubSeq, [sequence, from, to]) => {
            let (elements, from, to) = (sequence_of(sequence)?, int(from)?, int(to)?);
            if from > to {
                return Ok(Value::tuple(Vec::new()));
            }
            let range = usize::try_from(from - 1).ok().zip(usize::try_from(to).ok());
            let part = range.and_then(|(from, to)| elements.get(from..to));
            part.map(|part| Value::tuple(part.to_vec()))
                .ok_or_else(|| format!("{from}..{to} is not within {sequence}").into())
        }
        _ => Err(format!("`{}` is not supported here", builtin.name()).into()),
    }
}

fn lazy(set: Lazy) -> Value {
    Value::Lazy(Arc::new(set))
}

fn int(value: &Value) -> Result<i64, Why> {
    match value {
        Value::Int(number) => Ok(*number),
        other => Err(format!("{other} is {} and not an integer", other.kind()).into()),
    }
}

fn sequence_of(value: &Value) -> Result<&Arc<Vec<Value>>, Why> {
    match value {
        Value::Tuple(elements) => Ok(elements),
        other => Err(format!("{other} is {} and not a sequence", other.kind()).into()),
    }
}

fn unary(builtin: Builtin, value: &Value) -> Result<Value, Why> {
    Ok(match builtin {
        Builtin::Negate => Value::Int(int(value)?.checked_neg().ok_or("this number is too large")?),
        Builtin::Union => {
            let mut all = Vec::new();
            for set in value.elements()?.iter() {
                all.extend(set.elements()?.iter().cloned());
            }
            Value::set(all)?
        }
        Builtin::Subset => match value {
            Value::Set(_) | Value::Lazy(_) => lazy(Lazy::Subsets(value.clone())),
            other => return Err(format!("{other} is {} and not a set", other.kind()).into()),
        },
        Builtin::Domain => value.domain()?,
        Builtin::Cardinality => Value::Int(value.cardinality()?),
        Builtin::IsFiniteSet => Value::Bool(match value {
            Value::Set(_) => true,
            Value::Lazy(set) => !set.is_infinite(),
            _ => false,
        }),
        Builtin::Sequences => lazy(Lazy::Sequences(value.clone())),
        Builtin::Len => match value {
            Value::Str(text) => Value::Int(text.chars().count() as i64),
            other => Value::Int(sequence_of(other)?.len() as i64),
        },
        Builtin::Head => sequence_of(value)?.first().cloned().ok_or("Head of an empty sequence")?,
        Builtin::Tail => {
            let elements = sequence_of(value)?;
            Value::tuple(elements.get(1..).ok_or("Tail of an empty sequence")?.to_vec())
        }
        Builtin::TlcEval => value.clone().listed()?,
        Builtin::ToText => Value::text(&value.to_string()),
        Builtin::Permutations => permutations(&value.elements()?)?,
        Builtin::BagOne => {
            let pairs = value.elements()?.iter().map(|element| (element.clone(), Value::Int(1))).collect();
            Value::function(pairs)?
        }
        Builtin::BagToSet => value.domain()?.listed()?,
        Builtin::BagCardinality => {
            let mut sum = 0;
            for (_, count) in bag(value)? {
                sum += count;
            }
            Value::Int(sum)
        }
        Builtin::IsBag => Value::Bool(bag(value).is_ok_and(|bag| bag.iter().all(|(_, count)| *count > 0))),
        Builtin::Product => lazy(Lazy::Product(vec![value.clone()])),
        _ => return Err(format!("`{}` is not supported here", builtin.name()).into()),
    })
}

fn binary(builtin: Builtin, a: &Value, b: &Value) -> Result<Value, Why> {
    let too_large = || Why::limit(format!("`{a} {} {b}` is too large", builtin.name()));
    Ok(match builtin {
        Builtin::Add => Value::Int(int(a)?.checked_add(int(b)?).ok_or_else(too_large)?),
        Builtin::Subtract => Value::Int(int(a)?.checked_sub(int(b)?).ok_or_else(too_large)?),
        Builtin::Multiply => Value::Int(int(a)?.checked_mul(int(b)?).ok_or_else(too_large)?),
        Builtin::Divide | Builtin::Modulo => {
            let (a, b) = (int(a)?, int(b)?);
            if b <= 0 {
                return Err(format!("the divisor of `{}` is {b} and not positive", builtin.name()).into());
            }
            Value::Int(if builtin == Builtin::Divide { a.div_euclid(b) } else { a.rem_euclid(b) })
        }
        Builtin::Power => {
            let exponent = u32::try_from(int(b)?).map_err(|_| format!("{b} is no exponent"))?;
            Value::Int(int(a)?.checked_pow(exponent).ok_or_else(too_large)?)
        }
        Builtin::Less => Value::Bool(int(a)? < int(b)?),
        Builtin::LessEq => Value::Bool(int(a)? <= int(b)?),
        Builtin::Greater => Value::Bool(int(a)? > int(b)?),
        Builtin::GreaterEq => Value::Bool(int(a)? >= int(b)?),
        Builtin::Interval => lazy(Lazy::Interval(int(a)?, int(b)?)),
        Builtin::Functions => lazy(Lazy::Functions(set(a)?.clone(), set(b)?.clone())),
        Builtin::Product => lazy(Lazy::Product(vec![set(a)?.clone(), set(b)?.clone()])),
        Builtin::SubsetEq => {
            for element in a.elements()?.iter() {
                if !b.contains(element)? {
                    return Ok(Value::Bool(false));
                }
            }
            Value::Bool(true)
        }
        Builtin::Cup => cup(a, b)?,
        Builtin::Cap => match (infinite(a), infinite(b)) {
            (true, false) => kept(b, |element| a.contains(element))?,
            _ => kept(a, |element| b.contains(element))?,
        },
        Builtin::Minus if infinite(a) => lazy(Lazy::Minus(a.clone(), b.clone())),
        Builtin::Minus => kept(a, |element| b.contains(element).map(|is_in| !is_in))?,
        Builtin::Concat => match (a, b) {
            (Value::Str(a), Value::Str(b)) => Value::text(&format!("{a}{b}")),
            _ => {
                let mut all = sequence_of(a)?.to_vec();
                all.extend(sequence_of(b)?.iter().cloned());
                Value::tuple(all)
            }
        },
        Builtin::Append => {
            let mut all = sequence_of(a)?.to_vec();
            all.push(b.clone().listed()?);
            Value::tuple(all)
        }
        Builtin::MapsTo => Value::function(vec![(a.clone().listed()?, b.clone().listed()?)])?,
        Builtin::Merge => {
            let not = |value: &Value| format!("{value} is {} and not a function", value.kind());
            let mut pairs = a.pairs().ok_or_else(|| not(a))?;
            pairs.extend(b.pairs().ok_or_else(|| not(b))?);
            Value::function(pairs)?
        }
        Builtin::BagIn => Value::Bool(b.domain()?.contains(a)?),
        Builtin::CopiesIn => Value::Int(bag(b)?.into_iter().find(|(key, _)| key == a).map_or(0, |(_, count)| count)),
        Builtin::BagAdd => combined(a, b, |x, y| x + y)?,
        Builtin::BagSubtract => combined(a, b, |x, y| x - y)?,
        Builtin::SqSubsetEq => {
            let theirs = bag(b)?;
            let has = |key: &Value| theirs.iter().find(|(other, _)| other == key).map_or(0, |(_, count)| *count);
            Value::Bool(bag(a)?.iter().all(|(key, count)| *count <= has(key)))
        }
        _ => return Err(format!("`{}` is not supported here", builtin.name()).into()),
    })
}

fn set(value: &Value) -> Result<&Value, Why> {
    match value {
        Value::Set(_) | Value::Lazy(_) => Ok(value),
        other => Err(format!("{other} is {} and not a set", other.kind()).into()),
    }
}

fn infinite(value: &Value) -> bool {
    matches!(value, Value::Lazy(lazy) if lazy.is_infinite())
}

fn cup(a: &Value, b: &Value) -> Result<Value, Why> {
    let large = |value: &Value| matches!(value, Value::Lazy(lazy) if !lazy.is_small());
    if large(set(a)?) || large(set(b)?) {
        return Ok(lazy(Lazy::Union(a.clone(), b.clone())));
    }
    let mut all = a.elements()?.to_vec();
    all.extend(b.elements()?.iter().cloned());
    Value::set(all)
}

fn kept(of: &Value, keep: impl Fn(&Value) -> Result<bool, Why>) -> Result<Value, Why> {
    let mut kept = Vec::new();
    for element in of.elements()?.iter() {
        if keep(element)? {
            kept.push(element.clone());
        }
    }
    Ok(Value::sorted(kept))
}

fn bag(value: &Value) -> Result<Vec<(Value, i64)>, Why> {
    let pairs = value.pairs().ok_or_else(|| format!("{value} is {} and not a bag", value.kind()))?;
    pairs.into_iter().map(|(key, count)| Ok((key, int(&count)?))).collect()
}

fn combined(a: &Value, b: &Value, with: impl Fn(i64, i64) -> i64) -> Result<Value, Why> {
    let (a, b) = (bag(a)?, bag(b)?);
    let count = |bag: &[(Value, i64)], key: &Value| bag.iter().find(|(k, _)| k == key).map_or(0, |(_, count)| *count);
    let mut keys: Vec<Value> = a.iter().chain(&b).map(|(key, _)| key.clone()).collect();
    keys.sort();
    keys.dedup();
    let pairs = keys.into_iter().map(|key| (key.clone(), with(count(&a, &key), count(&b, &key))));
    Value::function(pairs.filter(|(_, count)| *count > 0).map(|(key, count)| (key, Value::Int(count))).collect())
}

/// All one-to-one functions of a set onto itself.
fn permutations(elements: &[Value]) -> Result<Value, Why> {
    if elements.len() > 8 {
        return Err(Why::limit(format!("{} elements have too many permutations", elements.len())));
    }
    let mut orders: Vec<Vec<Value>> = vec![Vec::new()];
    for element in elements {
        let mut longer = Vec::new();
        for order in orders {
            for place in 0..=order.len() {
                let mut order = order.clone();
                order.insert(place, element.clone());
                longer.push(order);
            }
        }
        orders = longer;
    }
    let made = orders.into_iter().map(|order| Value::function(elements.iter().cloned().zip(order).collect()));
    Value::set(made.collect::<Result<Vec<_>, _>>()?)
}
