//! Arrays: functions, operators, and what constructors and subscripts come to.

use std::sync::Arc;

use super::args::{Args, Result, error};
use super::list::{f, nullable};
use super::{Builtin, SetBuiltin};
use crate::budget;
use crate::error::{SqlError, SqlState};
use crate::refused::Construct;
use crate::types::Type::{self, *};
use crate::value::array::DIMENSIONS_MAX;
use crate::value::{Array as Elements, Json, Row, Value, json};

const ANY: Type = Array(&Unknown);
const TEXTS: Type = Array(&Text);
const INTS: Type = Array(&Int4);

/// `2202E array_subscript_error`
const SUBSCRIPT_ERROR: SqlState = SqlState(*b"2202E");

/// `ARRAY[a, b]`
pub static ARRAY: Builtin = Builtin { variadic: true, ..nullable("array", &[Unknown], ANY, construct) };
/// `ARRAY[a, b]` of arrays
pub static ARRAY_OF_ARRAYS: Builtin = Builtin { variadic: true, ..nullable("array", &[ANY], ANY, construct_nested) };
/// `a[1][2]`: the array, then a subscript per dimension
pub static SUBSCRIPT: Builtin = Builtin { variadic: true, ..f("subscript", &[ANY, Int4], Unknown, subscript) };
/// `a[1:2]`: the array, then two bounds per dimension
pub static SLICE: Builtin = Builtin { variadic: true, ..f("slice", &[ANY, Int4], ANY, slice) };
/// `SET a[1] = x`: the array, the new element, then a subscript per dimension
pub static ASSIGN: Builtin = Builtin { variadic: true, ..nullable("assign", &[ANY, Unknown, Int4], ANY, assign) };
/// `SET a[1:2] = x`: the array, the new elements, then two bounds
pub static ASSIGN_SLICE: Builtin =
    Builtin { variadic: true, ..nullable("assign_slice", &[ANY, ANY, Int4], ANY, assign_slice) };
/// `SET j['a'] = x`: the jsonb, the path, the new value
pub static ASSIGN_JSONB: Builtin = nullable("assign_jsonb", &[Jsonb, TEXTS, Jsonb], Jsonb, assign_jsonb);

/// Functions and operators.
pub(super) static FUNCTIONS: &[Builtin] = &[
    nullable("||", &[ANY, ANY], ANY, cat),
    nullable("||", &[ANY, Unknown], ANY, append),
    nullable("||", &[Unknown, ANY], ANY, prepend),
    f("@>", &[ANY, ANY], Bool, contains),
    f("<@", &[ANY, ANY], Bool, contained),
    f("&&", &[ANY, ANY], Bool, overlaps),
    nullable("array_append", &[ANY, Unknown], ANY, append),
    nullable("array_prepend", &[Unknown, ANY], ANY, prepend),
    nullable("array_cat", &[ANY, ANY], ANY, cat),
    nullable("array_remove", &[ANY, Unknown], ANY, remove),
    nullable("array_replace", &[ANY, Unknown, Unknown], ANY, replace),
    nullable("array_position", &[ANY, Unknown], Int4, position),
    nullable("array_position", &[ANY, Unknown, Int4], Int4, position),
    nullable("array_positions", &[ANY, Unknown], INTS, positions),
    f("array_length", &[ANY, Int4], Int4, length),
    f("array_lower", &[ANY, Int4], Int4, lower),
    f("array_upper", &[ANY, Int4], Int4, upper),
    f("array_ndims", &[ANY], Int4, ndims),
    f("array_dims", &[ANY], Text, dims),
    f("cardinality", &[ANY], Int4, cardinality),
    f("trim_array", &[ANY, Int4], ANY, trim),
    nullable("array_fill", &[Unknown, INTS], ANY, fill),
    nullable("array_fill", &[Unknown, INTS, INTS], ANY, fill),
    f("array_to_string", &[ANY, Text], Text, to_string),
    nullable("array_to_string", &[ANY, Text, Text], Text, to_string),
    nullable("string_to_array", &[Text, Text], TEXTS, from_string),
    nullable("string_to_array", &[Text, Text, Text], TEXTS, from_string),
];

/// Functions that yield rows.
pub(super) static SETS: &[SetBuiltin] = &[
    SetBuiltin { name: "unnest", args: &[ANY], columns: &[("", Unknown)], strict: true, rows: unnest },
    SetBuiltin {
        name: "generate_subscripts",
        args: &[ANY, Int4],
        columns: &[("", Int4)],
        strict: true,
        rows: subscripts_of,
    },
    SetBuiltin {
        name: "generate_subscripts",
        args: &[ANY, Int4, Bool],
        columns: &[("", Int4)],
        strict: true,
        rows: subscripts_of,
    },
    SetBuiltin { name: "string_to_table", args: &[Text, Text], columns: &[("", Text)], strict: false, rows: to_table },
    SetBuiltin {
        name: "string_to_table",
        args: &[Text, Text, Text],
        columns: &[("", Text)],
        strict: false,
        rows: to_table,
    },
];

/// Wraps an array as a value.
fn array(array: Elements) -> Result {
    Ok(Value::Array(Arc::new(array)))
}

/// The array, unless it is NULL.
fn optional(args: &[Value], i: usize) -> Result<Option<&Elements>> {
    match args.any(i)? {
        Value::Null => Ok(None),
        _ => args.array(i).map(Some),
    }
}

fn construct(args: &[Value]) -> Result {
    args.any(0).or_else(|e| if args.is_empty() { Ok(&Value::Null) } else { Err(e) })?;
    Ok(Value::array(args.to_vec()))
}

fn construct_nested(args: &[Value]) -> Result {
    let mut inner: Option<&Elements> = None;
    let (mut elements, mut count) = (Vec::new(), 0);
    for i in 0..args.len() {
        // NULL and empty arrays vanish if all of them do.
        let Some(part) = optional(args, i)?.filter(|a| !a.dims.is_empty()) else {
            if inner.is_some() {
                return mismatched();
            }
            continue;
        };
        if inner.is_some_and(|first| first.dims != part.dims) || inner.is_none() && i > 0 {
            return mismatched();
        }
        inner = Some(part);
        elements.extend(part.elements.iter().cloned());
        count += 1;
    }
    let Some(inner) = inner else { return array(Elements::default()) };
    let dims = std::iter::once((count, 1)).chain(inner.dims.iter().copied()).collect::<Vec<_>>();
    if dims.len() > DIMENSIONS_MAX {
        let message =
            format!("number of array dimensions ({}) exceeds the maximum allowed ({DIMENSIONS_MAX})", dims.len());
        return error(SqlState::PROGRAM_LIMIT_EXCEEDED, message);
    }
    array(Elements { dims, elements })
}

fn mismatched<T>() -> Result<T> {
    error(SUBSCRIPT_ERROR, "multidimensional arrays must have array expressions with matching dimensions")
}

/// What `array_agg` comes to: of arrays, an array with a dimension more.
pub(super) fn collected(values: Vec<Value>) -> Result {
    if !values.iter().any(|v| matches!(v, Value::Array(_))) {
        return Ok(Value::array(values));
    }
    for value in &values {
        match value {
            Value::Array(a) if !a.dims.is_empty() => {}
            Value::Array(_) => return error(SUBSCRIPT_ERROR, "cannot accumulate empty arrays"),
            _ => return error(SqlState(*b"22004"), "cannot accumulate null arrays"),
        }
    }
    construct_nested(&values)
        .map_err(|_| SqlError::new(SUBSCRIPT_ERROR, "cannot accumulate arrays of different dimensionality"))
}

/// The integers from the `from`-th argument on; `None` if one is NULL.
fn integers(args: &[Value], from: usize) -> Result<Option<Vec<i64>>> {
    let mut list = Vec::new();
    for i in from..args.len() {
        match args.any(i)? {
            Value::Null => return Ok(None),
            _ => list.push(args.int(i)?),
        }
    }
    Ok(Some(list))
}

fn subscript(args: &[Value]) -> Result {
    let Some(subscripts) = integers(args, 1)? else { return Ok(Value::Null) };
    let array = args.array(0)?;
    Ok(array.position(&subscripts).and_then(|at| array.elements.get(at)).cloned().unwrap_or(Value::Null))
}

fn slice(args: &[Value]) -> Result {
    let Some(bounds) = integers(args, 1)? else { return Ok(Value::Null) };
    let bounds: Vec<(i64, i64)> = bounds.chunks(2).filter_map(|b| Some((*b.first()?, *b.get(1)?))).collect();
    array(args.array(0)?.slice(&bounds))
}

fn assign(args: &[Value]) -> Result {
    let Some(subscripts) = integers(args, 2)? else {
        return error(SqlState(*b"22004"), "array subscript in assignment must not be null");
    };
    let value = args.any(1)?;
    let mut changed = optional(args, 0)?.cloned().unwrap_or_default();
    if changed.dims.is_empty() {
        let lower = |s: &i64| i32::try_from(*s).map_err(|_| out_of_range());
        let dims = subscripts.iter().map(|s| Ok((1, lower(s)?))).collect::<Result<Vec<_>>>()?;
        return array(Elements { dims, elements: vec![value.clone()] });
    }
    if subscripts.len() != changed.dims.len() {
        return error(SUBSCRIPT_ERROR, "wrong number of array subscripts");
    }
    if let Some(at) = changed.position(&subscripts) {
        changed.elements[at] = value.clone();
        return array(changed);
    }
    let ([(length, lower)], [at]) = (&mut changed.dims[..], &subscripts[..]) else { return Err(out_of_range()) };
    extend(&mut changed.elements, length, lower, *at, *at)?;
    let place = usize::try_from(at - i64::from(*lower)).map_err(|_| out_of_range())?;
    changed.elements[place] = value.clone();
    array(changed)
}

/// Grows an array of one dimension, with NULLs, so that it has the elements from `from` to `to`.
fn extend(elements: &mut Vec<Value>, length: &mut usize, lower: &mut i32, from: i64, to: i64) -> Result<()> {
    const ELEMENTS_MAX: i64 = 134_217_727;
    let last = i64::from(*lower) + *length as i64 - 1;
    let (first, end) = (from.min((*lower).into()), to.max(last));
    if end - first >= ELEMENTS_MAX {
        let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
        return error(SqlState::PROGRAM_LIMIT_EXCEEDED, message);
    }
    let missing = (i64::from(*lower) - first) as usize;
    elements.splice(0..0, std::iter::repeat_n(Value::Null, missing));
    *length = (end - first + 1) as usize;
    elements.resize(*length, Value::Null);
    *lower = i32::try_from(first).map_err(|_| out_of_range())?;
    Ok(())
}

fn assign_slice(args: &[Value]) -> Result {
    let Some(bounds) = integers(args, 2)? else {
        return error(SqlState(*b"22004"), "array subscript in assignment must not be null");
    };
    let Some(source) = optional(args, 1)? else { return Ok(args.any(0)?.clone()) };
    let mut changed = optional(args, 0)?.cloned().unwrap_or_default();
    let [from, to] = bounds[..] else {
        return Err(SqlError::unsupported(Construct::ASSIGNMENT_TO_A_SLICE_OF_SEVERAL_DIMENSIONS));
    };
    if changed.dims.is_empty() {
        changed.dims.push((0, i32::try_from(from.max(i32::MIN.into())).map_err(|_| out_of_range())?));
    }
    let [(length, lower)] = &mut changed.dims[..] else { return Err(out_of_range()) };
    let from = if from == i64::MIN { (*lower).into() } else { from };
    let to = if to == i64::MAX { i64::from(*lower) + *length as i64 - 1 } else { to };
    if from > to {
        return error(SUBSCRIPT_ERROR, "upper bound cannot be less than lower bound");
    }
    if (source.elements.len() as i64) < to - from + 1 {
        return error(SUBSCRIPT_ERROR, "source array too small");
    }
    extend(&mut changed.elements, length, lower, from, to)?;
    let start = (from - i64::from(*lower)) as usize;
    for (i, value) in source.elements.iter().take((to - from + 1) as usize).enumerate() {
        changed.elements[start + i] = value.clone();
    }
    array(changed)
}

fn out_of_range() -> SqlError {
    SqlError::new(SUBSCRIPT_ERROR, "array subscript out of range")
}

/// As `jsonb_set`, except that what is missing on the way is made.
fn assign_jsonb(args: &[Value]) -> Result {
    let path = args.texts(1)?;
    let value = match args.any(2)? {
        Value::Null => Json::Null,
        _ => args.jsonb(2)?.clone(),
    };
    let target = match args.any(0)? {
        Value::Null => None,
        _ => Some(args.jsonb(0)?),
    };
    put(target, &path, value).map(Value::jsonb)
}

fn put(target: Option<&Json>, path: &[Arc<str>], value: Json) -> Result<Json> {
    let Some((key, rest)) = path.split_first() else { return Ok(value) };
    let number = key.parse::<i64>().ok();
    match target {
        None | Some(Json::Null) => match number.and_then(|n| usize::try_from(n).ok()) {
            Some(at) => {
                let mut elements = vec![Json::Null; at];
                elements.push(put(None, rest, value)?);
                Ok(Json::Array(elements))
            }
            None => Ok(Json::object([(key.clone(), put(None, rest, value)?)])),
        },
        Some(object @ Json::Object(members)) => {
            let inner = put(object.get(key), rest, value)?;
            Ok(Json::object(members.iter().cloned().chain([(key.clone(), inner)])))
        }
        Some(Json::Array(elements)) => {
            let Some(at) = number else {
                let message = format!("path element at position 1 is not an integer: \"{key}\"");
                return error(SqlState::INVALID_TEXT_REPRESENTATION, message);
            };
            let mut elements = elements.clone();
            match json::index(at, elements.len()) {
                Some(at) => elements[at] = put(elements.get(at), rest, value)?,
                None if at < 0 => {
                    let message = format!("path element at position 1 is out of range: {at}");
                    return error(SqlState::INVALID_PARAMETER_VALUE, message);
                }
                None => {
                    elements.resize(at as usize, Json::Null);
                    elements.push(put(None, rest, value)?);
                }
            }
            Ok(Json::Array(elements))
        }
        Some(_) => {
            let error = SqlError::new(SqlState::INVALID_PARAMETER_VALUE, "cannot replace existing key");
            Err(error.detail("The path assumes key is a composite object, but it is a scalar value."))
        }
    }
}

fn append(args: &[Value]) -> Result {
    let (mut whole, value) = (optional(args, 0)?.cloned().unwrap_or_default(), args.any(1)?.clone());
    match &mut whole.dims[..] {
        [] => return Ok(Value::array(vec![value])),
        [(length, _)] => *length += 1,
        _ => return one_dimensional(),
    }
    whole.elements.push(value);
    array(whole)
}

fn prepend(args: &[Value]) -> Result {
    let (mut whole, value) = (optional(args, 1)?.cloned().unwrap_or_default(), args.any(0)?.clone());
    match &mut whole.dims[..] {
        [] => return Ok(Value::array(vec![value])),
        [(length, _)] => *length += 1,
        _ => return one_dimensional(),
    }
    whole.elements.insert(0, value);
    array(whole)
}

fn one_dimensional<T>() -> Result<T> {
    error(SqlState(*b"22000"), "argument must be empty or one-dimensional array")
}

fn cat(args: &[Value]) -> Result {
    let (Some(a), Some(b)) = (optional(args, 0)?, optional(args, 1)?) else {
        return Ok(args.any(usize::from(args.any(0)?.is_null()))?.clone());
    };
    budget::hold((a.elements.len() + b.elements.len()).saturating_mul(size_of::<Value>()))?;
    let elements = || a.elements.iter().chain(&b.elements).cloned().collect();
    let (x, y) = (&a.dims[..], &b.dims[..]);
    if x.is_empty() || y.is_empty() {
        return array(if x.is_empty() { b.clone() } else { a.clone() });
    }
    let dims = if x.len() == y.len() && x[1..] == y[1..] {
        std::iter::once((x[0].0 + y[0].0, x[0].1)).chain(x[1..].iter().copied()).collect()
    } else if x.len() == y.len() + 1 && x[1..] == *y {
        std::iter::once((x[0].0 + 1, x[0].1)).chain(x[1..].iter().copied()).collect()
    } else if y.len() == x.len() + 1 && y[1..] == *x {
        std::iter::once((y[0].0 + 1, y[0].1)).chain(y[1..].iter().copied()).collect()
    } else {
        let error = SqlError::new(SUBSCRIPT_ERROR, "cannot concatenate incompatible arrays");
        return Err(error.detail(match x.len().abs_diff(y.len()) {
            0 => "Arrays with differing element dimensions are not compatible for concatenation.".to_owned(),
            1 => "Arrays with differing dimensions are not compatible for concatenation.".to_owned(),
            _ => format!("Arrays of {} and {} dimensions are not compatible for concatenation.", x.len(), y.len()),
        }));
    };
    array(Elements { dims, elements: elements() })
}

fn contains(args: &[Value]) -> Result {
    has_all(args.array(0)?, args.array(1)?).map(Value::Bool)
}

fn contained(args: &[Value]) -> Result {
    has_all(args.array(1)?, args.array(0)?).map(Value::Bool)
}

/// NULL is equal to nothing, so an array with one is never contained.
fn has_all(whole: &Elements, part: &Elements) -> Result<bool> {
    for wanted in &part.elements {
        if !has(whole, wanted)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has(whole: &Elements, wanted: &Value) -> Result<bool> {
    budget::spend(whole.elements.len() as u64)?;
    Ok(!wanted.is_null() && whole.elements.contains(wanted))
}

fn overlaps(args: &[Value]) -> Result {
    let (a, b) = (args.array(0)?, args.array(1)?);
    for wanted in &a.elements {
        if has(b, wanted)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn remove(args: &[Value]) -> Result {
    let (Some(whole), value) = (optional(args, 0)?, args.any(1)?) else { return Ok(Value::Null) };
    match whole.dims[..] {
        [] => array(Elements::default()),
        [(_, lower)] => {
            let elements: Vec<Value> = whole.elements.iter().filter(|e| *e != value).cloned().collect();
            match elements.is_empty() {
                true => array(Elements::default()),
                false => array(Elements { dims: vec![(elements.len(), lower)], elements }),
            }
        }
        _ => error(SqlState::FEATURE_NOT_SUPPORTED, "removing elements from multidimensional arrays is not supported"),
    }
}

fn replace(args: &[Value]) -> Result {
    let (Some(whole), from, to) = (optional(args, 0)?, args.any(1)?, args.any(2)?) else { return Ok(Value::Null) };
    array(whole.map(|e| Ok(if e == from { to.clone() } else { e.clone() }))?)
}

fn only_dimension(whole: &Elements) -> Result<i64> {
    match whole.dims[..] {
        [] => Ok(1),
        [(_, lower)] => Ok(lower.into()),
        _ => {
            error(SqlState::FEATURE_NOT_SUPPORTED, "searching for elements in multidimensional arrays is not supported")
        }
    }
}

fn position(args: &[Value]) -> Result {
    let (Some(whole), value) = (optional(args, 0)?, args.any(1)?) else { return Ok(Value::Null) };
    let lower = only_dimension(whole)?;
    let from = match args.get(2) {
        None => lower,
        Some(Value::Null) => return error(SqlState(*b"22004"), "initial position must not be null"),
        Some(_) => args.int(2)?,
    };
    let found = whole.elements.iter().zip(lower..).find(|(e, at)| *at >= from && *e == value);
    Ok(found.map(|(_, at)| at).into())
}

fn positions(args: &[Value]) -> Result {
    let (Some(whole), value) = (optional(args, 0)?, args.any(1)?) else { return Ok(Value::Null) };
    let lower = only_dimension(whole)?;
    let found = whole.elements.iter().zip(lower..).filter(|(e, _)| *e == value);
    Ok(Value::array(found.map(|(_, at)| Value::Int(at)).collect()))
}

/// The dimension that the second argument names, counted from 1.
fn dimension(args: &[Value]) -> Result<Option<(usize, i32)>> {
    let n = usize::try_from(args.int(1)?).ok().and_then(|n| n.checked_sub(1));
    Ok(n.and_then(|n| args.array(0).ok()?.dims.get(n).copied()))
}

fn length(args: &[Value]) -> Result {
    Ok(dimension(args)?.map(|(n, _)| n as i64).into())
}

fn lower(args: &[Value]) -> Result {
    Ok(dimension(args)?.map(|(_, lower)| lower).into())
}

fn upper(args: &[Value]) -> Result {
    Ok(dimension(args)?.map(|(n, lower)| i64::from(lower) + n as i64 - 1).into())
}

fn ndims(args: &[Value]) -> Result {
    Ok(Some(args.array(0)?.dims.len() as i64).filter(|n| *n > 0).into())
}

fn dims(args: &[Value]) -> Result {
    let dims = &args.array(0)?.dims;
    let shown = dims.iter().map(|(n, lower)| format!("[{lower}:{}]", i64::from(*lower) + *n as i64 - 1));
    Ok(Some(shown.collect::<String>()).filter(|s| !s.is_empty()).into())
}

fn cardinality(args: &[Value]) -> Result {
    Ok(Value::Int(args.array(0)?.elements.len() as i64))
}

fn trim(args: &[Value]) -> Result {
    let (whole, n) = (args.array(0)?, args.int(1)?);
    let length = whole.dims.first().map_or(0, |(n, _)| *n);
    let Some(keep) = usize::try_from(n).ok().and_then(|n| length.checked_sub(n)) else {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return error(SUBSCRIPT_ERROR, message);
    };
    let lower = whole.dims.first().map_or(1, |(_, lower)| i64::from(*lower));
    array(whole.slice(&[(lower, lower + keep as i64 - 1)]))
}

fn fill(args: &[Value]) -> Result {
    let value = args.any(0)?;
    let (Some(lengths), lowers) = (optional(args, 1)?, args.get(2).map(|_| optional(args, 2)).transpose()?.flatten())
    else {
        return error(SqlState(*b"22004"), "dimension array or low bound array cannot be null");
    };
    let mut dims = Vec::new();
    for (i, length) in lengths.elements.iter().enumerate() {
        let lower = lowers.map_or(Some(1), |l| l.elements.get(i).and_then(Value::as_int));
        let (Some(length), Some(lower)) = (length.as_int(), lower) else {
            return error(SqlState(*b"22004"), "dimension values cannot be null");
        };
        let length = usize::try_from(length).map_err(|_| {
            SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "array size exceeds the maximum allowed (134217727)")
        })?;
        dims.push((length, i32::try_from(lower).map_err(|_| out_of_range())?));
    }
    let count = dims.iter().try_fold(1usize, |n, (length, _)| n.checked_mul(*length)).filter(|n| *n <= 134_217_727);
    match count {
        None => error(SqlState::PROGRAM_LIMIT_EXCEEDED, "array size exceeds the maximum allowed (134217727)"),
        Some(0) => array(Elements::default()),
        Some(_) if dims.is_empty() => array(Elements::default()),
        Some(count) => {
            budget::hold(count.saturating_mul(size_of::<Value>()))?;
            array(Elements { dims, elements: vec![value.clone(); count] })
        }
    }
}

fn to_string(args: &[Value]) -> Result {
    let (Some(whole), Some(delimiter)) = (optional(args, 0)?, args.any(1)?.as_text()) else { return Ok(Value::Null) };
    let null = args.get(2).and_then(Value::as_text);
    let parts = whole.elements.iter().filter_map(|e| match e {
        Value::Null => null.map(str::to_owned),
        other => Some(other.to_string()),
    });
    Ok(Value::text(parts.collect::<Vec<_>>().join(delimiter)))
}

fn from_string(args: &[Value]) -> Result {
    Ok(fields(args)?.map_or(Value::Null, Value::array))
}

/// A short text as a value, with its allocation.
const PIECE_BYTES: usize = size_of::<Value>() + 32;

/// The pieces of a text between delimiters; `None` if there is no text.
fn fields(args: &[Value]) -> Result<Option<Vec<Value>>> {
    let Some(text) = args.any(0)?.as_text() else { return Ok(None) };
    let null = args.get(2).and_then(Value::as_text);
    let value = |piece: &str| if null == Some(piece) { Value::Null } else { Value::text(piece) };
    let pieces = match args.any(1)?.as_text() {
        Some("") => 1,
        Some(delimiter) => text.matches(delimiter).count() + 1,
        None => text.len(),
    };
    budget::hold(pieces.saturating_mul(PIECE_BYTES))?;
    Ok(Some(match args.any(1)?.as_text() {
        _ if text.is_empty() => Vec::new(),
        None => text.chars().map(|c| value(c.encode_utf8(&mut [0; 4]))).collect(),
        Some("") => vec![value(text)],
        Some(delimiter) => text.split(delimiter).map(value).collect(),
    }))
}

fn to_table(args: &[Value]) -> std::result::Result<Vec<Row>, SqlError> {
    Ok(fields(args)?.unwrap_or_default().into_iter().map(|v| Arc::from([v])).collect())
}

fn unnest(args: &[Value]) -> std::result::Result<Vec<Row>, SqlError> {
    Ok(args.array(0)?.elements.iter().map(|v| Arc::from([v.clone()])).collect())
}

fn subscripts_of(args: &[Value]) -> std::result::Result<Vec<Row>, SqlError> {
    let Some((length, lower)) = dimension(args)? else { return Ok(Vec::new()) };
    let mut rows: Vec<Row> = (0..length as i64).map(|i| Arc::from([Value::Int(i64::from(lower) + i)])).collect();
    if args.get(2).is_some_and(Value::is_true) {
        rows.reverse();
    }
    Ok(rows)
}
