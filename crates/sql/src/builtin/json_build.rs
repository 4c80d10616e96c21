//! JSON from other values: `to_jsonb`, `row_to_json`, the builders and their aggregates.
//!
//! A value knows what it is, but a row does not know what its fields are called. So the binder passes a row through
//! [`ROW_AS_JSON`] with the names before it reaches any of these functions, which then meet it as a `json`.

use std::fmt::Write;
use std::sync::Arc;

use super::Builtin;
use super::args::{Args, Result, error};
use super::list::{f, nullable};
use crate::budget;
use crate::error::SqlState;
use crate::types::Type::{self, *};
use crate::value::json::quoted;
use crate::value::{Array as Elements, Json as Tree, Value};

const TEXTS: Type = Array(&Text);

/// A row, or an array of rows, and the names of its fields: see [`shape`].
pub static ROW_AS_JSON: Builtin = f("row_as_json", &[Unknown, Record], Json, row_as_json);

/// Functions.
pub(super) static FUNCTIONS: &[Builtin] = &[
    f("to_json", &[Unknown], Json, to_json),
    f("to_jsonb", &[Unknown], Jsonb, to_jsonb),
    f("row_to_json", &[Json], Json, row_to_json),
    f("array_to_json", &[Array(&Unknown)], Json, to_json),
    Builtin { variadic: true, ..nullable("json_build_array", &[Unknown], Json, build_array) },
    Builtin { variadic: true, ..nullable("jsonb_build_array", &[Unknown], Jsonb, build_array_b) },
    Builtin { variadic: true, ..nullable("json_build_object", &[Unknown], Json, build_object) },
    Builtin { variadic: true, ..nullable("jsonb_build_object", &[Unknown], Jsonb, build_object_b) },
    nullable("json_build_array", &[], Json, build_array),
    nullable("jsonb_build_array", &[], Jsonb, build_array_b),
    nullable("json_build_object", &[], Json, build_object),
    nullable("jsonb_build_object", &[], Jsonb, build_object_b),
    f("json_object", &[TEXTS], Json, object_of_pairs),
    f("jsonb_object", &[TEXTS], Jsonb, object_of_pairs_b),
    f("json_object", &[TEXTS, TEXTS], Json, object_of_lists),
    f("jsonb_object", &[TEXTS, TEXTS], Jsonb, object_of_lists_b),
];

/// Whether rows among the arguments of this function become JSON.
pub fn takes_rows(function: &str) -> bool {
    matches!(
        function,
        "to_json"
            | "to_jsonb"
            | "row_to_json"
            | "array_to_json"
            | "json_build_array"
            | "jsonb_build_array"
            | "json_build_object"
            | "jsonb_build_object"
            | "json_agg"
            | "jsonb_agg"
            | "json_object_agg"
            | "jsonb_object_agg"
    )
}

/// The shape of a row for [`ROW_AS_JSON`]: per field its name and, if it is a row too, its shape.
pub fn shape(fields: impl IntoIterator<Item = (Arc<str>, Option<Value>)>) -> Value {
    let field =
        |(name, inner): (Arc<str>, Option<Value>)| Value::record(vec![Value::Text(name), inner.unwrap_or(Value::Null)]);
    Value::record(fields.into_iter().map(field).collect::<Vec<_>>())
}

fn row_as_json(args: &[Value]) -> Result {
    let mut out = String::new();
    write_json(&mut out, args.any(0)?, args.any(1)?);
    Ok(Value::Json(out.into()))
}

/// Appends the JSON of a value, without blanks; `shape` names the fields of rows.
fn write_json(out: &mut String, value: &Value, shape: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(_) | Value::Numeric(_) => out.push_str(&value.to_string()),
        Value::Float(x) if x.is_finite() => out.push_str(&value.to_string()),
        Value::Real(x) if x.is_finite() => out.push_str(&value.to_string()),
        Value::Json(text) => out.push_str(text),
        Value::Jsonb(json) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{json}");
        }
        Value::Array(array) => write_array(out, array, shape, 0, 0),
        Value::Record(fields) => write_row(out, fields, shape),
        Value::Timestamp(i64::MAX | i64::MIN) | Value::Timestamptz(i64::MAX | i64::MIN) => {
            out.push_str(&quoted(&value.to_string()));
        }
        Value::Timestamp(_) => out.push_str(&quoted(&value.to_string().replacen(' ', "T", 1))),
        Value::Timestamptz(_) => {
            let text = value.to_string().replacen(' ', "T", 1).replacen("+00", "+00:00", 1);
            out.push_str(&quoted(&text));
        }
        other => out.push_str(&quoted(&other.to_string())),
    }
}

fn write_array(out: &mut String, array: &Elements, shape: &Value, depth: usize, offset: usize) {
    let length = array.dims.get(depth).map_or(0, |(n, _)| *n);
    let stride: usize = array.dims.iter().skip(depth + 1).map(|(n, _)| n).product();
    out.push('[');
    for i in 0..length {
        if i > 0 {
            out.push(',');
        }
        match depth + 1 < array.dims.len() {
            true => write_array(out, array, shape, depth + 1, offset + i * stride),
            false => write_json(out, &array.elements[offset + i], shape),
        }
    }
    out.push(']');
}

fn write_row(out: &mut String, fields: &[Value], shape: &Value) {
    let named = |i: usize| match shape {
        Value::Record(shapes) => match shapes.get(i) {
            Some(Value::Record(field)) => (field.first().and_then(Value::as_text), field.get(1)),
            _ => (None, None),
        },
        _ => (None, None),
    };
    out.push('{');
    for (i, value) in fields.iter().enumerate() {
        let (name, inner) = named(i);
        if i > 0 {
            out.push(',');
        }
        out.push_str(&quoted(name.unwrap_or(&format!("f{}", i + 1))));
        out.push(':');
        write_json(out, value, inner.unwrap_or(&Value::Null));
    }
    out.push('}');
}

fn text_of(value: &Value) -> String {
    let mut out = String::new();
    write_json(&mut out, value, &Value::Null);
    out
}

/// A value as a tree.
fn tree_of(value: &Value) -> Result<Tree> {
    match value {
        Value::Jsonb(json) => {
            budget::hold(json.size().saturating_mul(size_of::<Tree>()))?;
            Ok((**json).clone())
        }
        other => Tree::parse(&text_of(other)),
    }
}

fn to_json(args: &[Value]) -> Result {
    Ok(Value::Json(text_of(args.any(0)?).into()))
}

fn to_jsonb(args: &[Value]) -> Result {
    tree_of(args.any(0)?).map(Value::jsonb)
}

fn row_to_json(args: &[Value]) -> Result {
    args.json(0)?;
    Ok(args.any(0)?.clone())
}

fn build_array(args: &[Value]) -> Result {
    Ok(Value::Json(format!("[{}]", args.iter().map(text_of).collect::<Vec<_>>().join(", ")).into()))
}

fn build_array_b(args: &[Value]) -> Result {
    Ok(Value::jsonb(Tree::Array(args.iter().map(tree_of).collect::<Result<_>>()?)))
}

/// Keys and values in turn; what is wrong is said as the function of this name says it.
fn key_values<'a>(args: &'a [Value], function: &str) -> Result<Vec<(Arc<str>, &'a Value)>> {
    if !args.len().is_multiple_of(2) {
        let error = crate::SqlError::new(SqlState::INVALID_PARAMETER_VALUE, ODD);
        let hint = format!("The arguments of {function}() must consist of alternating keys and values.");
        return Err(error.hint(hint));
    }
    let pair = |(i, pair): (usize, &'a [Value])| match pair {
        [Value::Null, _] if function == "jsonb_build_object" => {
            error(SqlState::INVALID_PARAMETER_VALUE, format!("argument {}: key must not be null", 2 * i + 1))
        }
        [Value::Null, _] => {
            let error = crate::SqlError::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("argument {} cannot be null", 2 * i + 1),
            );
            Err(error.hint("Object keys should be text."))
        }
        [Value::Record(_) | Value::Array(_) | Value::Json(_) | Value::Jsonb(_), _] => {
            error(SqlState::INVALID_PARAMETER_VALUE, "key value must be scalar, not array, composite, or json")
        }
        [Value::Bool(b), value] => Ok((if *b { "true" } else { "false" }.into(), value)),
        [key, value] => Ok((key.to_string().into(), value)),
        _ => error(SqlState::INVALID_PARAMETER_VALUE, ODD),
    };
    args.chunks(2).enumerate().map(pair).collect()
}

const ODD: &str = "argument list must have even number of elements";

fn build_object(args: &[Value]) -> Result {
    let members = key_values(args, "json_build_object")?;
    let shown = members.iter().map(|(key, value)| format!("{} : {}", quoted(key), text_of(value)));
    Ok(Value::Json(format!("{{{}}}", shown.collect::<Vec<_>>().join(", ")).into()))
}

fn build_object_b(args: &[Value]) -> Result {
    let members = key_values(args, "jsonb_build_object")?;
    let members = members.into_iter().map(|(key, value)| Ok((key, tree_of(value)?)));
    Ok(Value::jsonb(Tree::object(members.collect::<Result<Vec<_>>>()?)))
}

/// Keys and values from `{k1,v1,k2,v2}` or `{{k1,v1},{k2,v2}}`.
fn pairs_of(args: &[Value]) -> Result<Vec<(Arc<str>, Value)>> {
    let array = args.array(0)?;
    match array.dims[..] {
        [] | [_] if array.elements.len() % 2 == 0 => {}
        [_] => return error(SqlState(*b"2202E"), "array must have even number of elements"),
        [_, (2, _)] => {}
        [_, _] => return error(SqlState(*b"2202E"), "array must have two columns"),
        _ => return error(SqlState(*b"2202E"), "wrong number of array subscripts"),
    }
    array.elements.chunks(2).map(|pair| key_value(&pair[0], pair.get(1))).collect()
}

fn key_value(key: &Value, value: Option<&Value>) -> Result<(Arc<str>, Value)> {
    match key {
        Value::Text(key) => Ok((key.clone(), value.cloned().unwrap_or(Value::Null))),
        _ => error(SqlState(*b"22004"), "null value not allowed for object key"),
    }
}

fn lists_of(args: &[Value]) -> Result<Vec<(Arc<str>, Value)>> {
    let (keys, values) = (args.array(0)?, args.array(1)?);
    if keys.dims.len() > 1 || values.dims.len() > 1 {
        return error(SqlState(*b"2202E"), "wrong number of array subscripts");
    }
    if keys.elements.len() != values.elements.len() {
        return error(SqlState(*b"2202E"), "mismatched array dimensions");
    }
    keys.elements.iter().zip(&values.elements).map(|(k, v)| key_value(k, Some(v))).collect()
}

fn object_text(members: &[(Arc<str>, Value)]) -> Value {
    let shown = members.iter().map(|(key, value)| format!("{} : {}", quoted(key), text_of(value)));
    Value::Json(format!("{{{}}}", shown.collect::<Vec<_>>().join(", ")).into())
}

fn object_tree(members: Vec<(Arc<str>, Value)>) -> Result {
    let members = members.into_iter().map(|(key, value)| Ok((key, tree_of(&value)?)));
    Ok(Value::jsonb(Tree::object(members.collect::<Result<Vec<_>>>()?)))
}

fn object_of_pairs(args: &[Value]) -> Result {
    Ok(object_text(&pairs_of(args)?))
}

fn object_of_pairs_b(args: &[Value]) -> Result {
    object_tree(pairs_of(args)?)
}

fn object_of_lists(args: &[Value]) -> Result {
    Ok(object_text(&lists_of(args)?))
}

fn object_of_lists_b(args: &[Value]) -> Result {
    object_tree(lists_of(args)?)
}

/// What `json_agg` comes to.
pub(super) fn collected(values: &[Value], rows: bool) -> Result {
    // Rows and arrays stand on lines of their own.
    let lines = rows || values.iter().any(|v| matches!(v, Value::Array(_)));
    let separator = if lines { ", \n " } else { ", " };
    Ok(Value::Json(format!("[{}]", values.iter().map(text_of).collect::<Vec<_>>().join(separator)).into()))
}

/// What `jsonb_agg` comes to.
pub(super) fn collected_b(values: &[Value]) -> Result {
    build_array_b(values)
}

/// What `json_object_agg` comes to, keys and values in turn.
pub(super) fn collected_object(pairs: &[Value]) -> Result {
    let shown = pairs.chunks(2).map(|pair| {
        let key = pair.first().map(Value::to_string).unwrap_or_default();
        format!("{} : {}", quoted(&key), text_of(pair.get(1).unwrap_or(&Value::Null)))
    });
    Ok(Value::Json(format!("{{ {} }}", shown.collect::<Vec<_>>().join(", ")).into()))
}

/// What `jsonb_object_agg` comes to, keys and values in turn.
pub(super) fn collected_object_b(pairs: &[Value]) -> Result {
    build_object_b(pairs)
}
