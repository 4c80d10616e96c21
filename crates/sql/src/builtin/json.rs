//! JSON: looking inside, comparing, changing. What makes JSON of other values is in [`super::json_build`].
//!
//! The functions of `jsonb` work on the tree. Those of `json` cut pieces out of the text, so that what comes out is as
//! it was written.

use std::sync::Arc;

use super::args::{Args, Result, error};
use super::list::{f, nullable};
use super::{Builtin, SetBuiltin};
use crate::error::SqlState;
use crate::types::Type::{self, *};
use crate::value::json::{index, raw_elements, raw_members};
use crate::value::{Json as Tree, Row, Value};

const TEXTS: Type = Array(&Text);

/// Functions and operators.
pub(super) static FUNCTIONS: &[Builtin] = &[
    f("->", &[Json, Text], Json, json_field),
    f("->", &[Json, Int4], Json, json_element),
    f("->", &[Jsonb, Text], Jsonb, field),
    f("->", &[Jsonb, Int4], Jsonb, element),
    f("->>", &[Json, Text], Text, json_field_text),
    f("->>", &[Json, Int4], Text, json_element_text),
    f("->>", &[Jsonb, Text], Text, field_text),
    f("->>", &[Jsonb, Int4], Text, element_text),
    f("#>", &[Json, TEXTS], Json, json_path),
    f("#>", &[Jsonb, TEXTS], Jsonb, path),
    f("#>>", &[Json, TEXTS], Text, json_path_text),
    f("#>>", &[Jsonb, TEXTS], Text, path_text),
    f("@>", &[Jsonb, Jsonb], Bool, contains),
    f("<@", &[Jsonb, Jsonb], Bool, contained),
    f("?", &[Jsonb, Text], Bool, exists),
    f("?|", &[Jsonb, TEXTS], Bool, exists_any),
    f("?&", &[Jsonb, TEXTS], Bool, exists_all),
    f("||", &[Jsonb, Jsonb], Jsonb, concat),
    f("-", &[Jsonb, Text], Jsonb, delete_key),
    f("-", &[Jsonb, Int4], Jsonb, delete_index),
    f("-", &[Jsonb, TEXTS], Jsonb, delete_keys),
    f("#-", &[Jsonb, TEXTS], Jsonb, delete_path),
    Builtin { variadic: true, ..f("json_extract_path", &[Json, Text], Json, json_extract) },
    Builtin { variadic: true, ..f("jsonb_extract_path", &[Jsonb, Text], Jsonb, extract) },
    Builtin { variadic: true, ..f("json_extract_path_text", &[Json, Text], Text, json_extract_text) },
    Builtin { variadic: true, ..f("jsonb_extract_path_text", &[Jsonb, Text], Text, extract_text) },
    f("jsonb_set", &[Jsonb, TEXTS, Jsonb], Jsonb, set),
    f("jsonb_set", &[Jsonb, TEXTS, Jsonb, Bool], Jsonb, set),
    nullable("jsonb_set_lax", &[Jsonb, TEXTS, Jsonb], Jsonb, set_lax),
    f("jsonb_insert", &[Jsonb, TEXTS, Jsonb], Jsonb, insert),
    f("jsonb_insert", &[Jsonb, TEXTS, Jsonb, Bool], Jsonb, insert),
    f("json_typeof", &[Json], Text, json_typeof),
    f("jsonb_typeof", &[Jsonb], Text, jsonb_typeof),
    f("json_array_length", &[Json], Int4, json_array_length),
    f("jsonb_array_length", &[Jsonb], Int4, jsonb_array_length),
    f("json_strip_nulls", &[Json], Json, json_strip_nulls),
    f("jsonb_strip_nulls", &[Jsonb], Jsonb, jsonb_strip_nulls),
    f("jsonb_pretty", &[Jsonb], Text, pretty),
];

const fn set_of(
    name: &'static str,
    args: &'static [Type],
    columns: &'static [(&'static str, Type)],
    rows: fn(&[Value]) -> std::result::Result<Vec<Row>, crate::SqlError>,
) -> SetBuiltin {
    SetBuiltin { name, args, columns, strict: true, rows }
}

/// Functions that yield rows.
pub(super) static SETS: &[SetBuiltin] = &[
    set_of("json_array_elements", &[Json], &[("value", Json)], json_elements),
    set_of("jsonb_array_elements", &[Jsonb], &[("value", Jsonb)], elements),
    set_of("json_array_elements_text", &[Json], &[("value", Text)], json_elements_text),
    set_of("jsonb_array_elements_text", &[Jsonb], &[("value", Text)], elements_text),
    set_of("json_each", &[Json], &[("key", Text), ("value", Json)], json_each),
    set_of("jsonb_each", &[Jsonb], &[("key", Text), ("value", Jsonb)], each),
    set_of("json_each_text", &[Json], &[("key", Text), ("value", Text)], json_each_text),
    set_of("jsonb_each_text", &[Jsonb], &[("key", Text), ("value", Text)], each_text),
    set_of("json_object_keys", &[Json], &[("", Text)], json_keys),
    set_of("jsonb_object_keys", &[Jsonb], &[("", Text)], keys),
];

fn optional(json: Option<&Tree>) -> Result {
    Ok(json.map_or(Value::Null, |j| Value::jsonb(j.clone())))
}

fn optional_text(json: Option<&Tree>) -> Result {
    Ok(json.map_or(Value::Null, Tree::to_text))
}

fn raw(piece: Option<&str>) -> Result {
    Ok(piece.map_or(Value::Null, |p| Value::Json(p.into())))
}

fn raw_text(piece: Option<&str>) -> Result {
    match piece {
        None => Ok(Value::Null),
        // Only a string changes; anything else stays as it was written.
        Some(p) if p.starts_with('"') => Ok(Tree::parse(p)?.to_text()),
        Some("null") => Ok(Value::Null),
        Some(p) => Ok(Value::text(p)),
    }
}

/// The last member of that name, as written.
fn raw_field<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>> {
    let members = raw_members(text)?.unwrap_or_default();
    Ok(members.into_iter().rev().find(|(k, _)| &**k == key).map(|(_, piece)| piece))
}

fn raw_element(text: &str, at: i64) -> Result<Option<&str>> {
    let elements = raw_elements(text)?.unwrap_or_default();
    Ok(index(at, elements.len()).and_then(|at| elements.get(at).copied()))
}

fn json_field(args: &[Value]) -> Result {
    raw(raw_field(args.json(0)?, args.text(1)?)?)
}

fn json_field_text(args: &[Value]) -> Result {
    raw_text(raw_field(args.json(0)?, args.text(1)?)?)
}

fn json_element(args: &[Value]) -> Result {
    raw(raw_element(args.json(0)?, args.int(1)?)?)
}

fn json_element_text(args: &[Value]) -> Result {
    raw_text(raw_element(args.json(0)?, args.int(1)?)?)
}

fn field(args: &[Value]) -> Result {
    optional(args.jsonb(0)?.get(args.text(1)?))
}

fn field_text(args: &[Value]) -> Result {
    optional_text(args.jsonb(0)?.get(args.text(1)?))
}

fn element(args: &[Value]) -> Result {
    optional(args.jsonb(0)?.element(args.int(1)?))
}

fn element_text(args: &[Value]) -> Result {
    optional_text(args.jsonb(0)?.element(args.int(1)?))
}

/// The keys of a path; `None` if one is NULL.
fn keys_of(args: &[Value], i: usize) -> Result<Option<Vec<Arc<str>>>> {
    let keys = args.texts(i)?;
    Ok((keys.len() == args.array(i)?.elements.len()).then_some(keys))
}

fn follow<'a>(json: &'a Tree, path: &[Arc<str>]) -> Option<&'a Tree> {
    path.iter().try_fold(json, |json, key| match json {
        Tree::Object(_) => json.get(key),
        Tree::Array(_) => json.element(position(key)?),
        _ => None,
    })
}

/// A path's key as a subscript.
fn position(key: &str) -> Option<i64> {
    key.trim_start().parse::<i32>().ok().map(i64::from)
}

fn raw_follow<'a>(text: &'a str, path: &[Arc<str>]) -> Result<Option<&'a str>> {
    let mut at = text.trim_matches([' ', '\t', '\n', '\r']);
    for key in path {
        let found = match at.chars().next() {
            Some('{') => raw_field(at, key)?,
            Some('[') => match position(key) {
                Some(i) => raw_element(at, i)?,
                None => None,
            },
            _ => None,
        };
        match found {
            Some(piece) => at = piece,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

fn path(args: &[Value]) -> Result {
    let Some(keys) = keys_of(args, 1)? else { return Ok(Value::Null) };
    optional(follow(args.jsonb(0)?, &keys))
}

fn path_text(args: &[Value]) -> Result {
    let Some(keys) = keys_of(args, 1)? else { return Ok(Value::Null) };
    optional_text(follow(args.jsonb(0)?, &keys))
}

fn json_path(args: &[Value]) -> Result {
    let Some(keys) = keys_of(args, 1)? else { return Ok(Value::Null) };
    raw(raw_follow(args.json(0)?, &keys)?)
}

fn json_path_text(args: &[Value]) -> Result {
    let Some(keys) = keys_of(args, 1)? else { return Ok(Value::Null) };
    raw_text(raw_follow(args.json(0)?, &keys)?)
}

/// The path that the arguments behind the first are.
fn rest(args: &[Value]) -> Result<Vec<Arc<str>>> {
    (1..args.len()).map(|i| Ok(args.text(i)?.into())).collect()
}

fn extract(args: &[Value]) -> Result {
    optional(follow(args.jsonb(0)?, &rest(args)?))
}

fn extract_text(args: &[Value]) -> Result {
    optional_text(follow(args.jsonb(0)?, &rest(args)?))
}

fn json_extract(args: &[Value]) -> Result {
    raw(raw_follow(args.json(0)?, &rest(args)?)?)
}

fn json_extract_text(args: &[Value]) -> Result {
    raw_text(raw_follow(args.json(0)?, &rest(args)?)?)
}

fn contains(args: &[Value]) -> Result {
    Ok(Value::Bool(args.jsonb(0)?.contains(args.jsonb(1)?)))
}

fn contained(args: &[Value]) -> Result {
    Ok(Value::Bool(args.jsonb(1)?.contains(args.jsonb(0)?)))
}

/// Whether a key, an element that is a string, or the string itself.
fn has(json: &Tree, key: &str) -> bool {
    let same = |j: &Tree| matches!(j, Tree::String(t) if &**t == key);
    match json {
        Tree::Object(_) => json.get(key).is_some(),
        Tree::Array(elements) => elements.iter().any(same),
        other => same(other),
    }
}

fn exists(args: &[Value]) -> Result {
    Ok(Value::Bool(has(args.jsonb(0)?, args.text(1)?)))
}

fn exists_any(args: &[Value]) -> Result {
    let json = args.jsonb(0)?;
    Ok(Value::Bool(args.texts(1)?.iter().any(|key| has(json, key))))
}

fn exists_all(args: &[Value]) -> Result {
    let json = args.jsonb(0)?;
    Ok(Value::Bool(args.texts(1)?.iter().all(|key| has(json, key))))
}

fn concat(args: &[Value]) -> Result {
    let (a, b) = (args.jsonb(0)?, args.jsonb(1)?);
    let list = |json: &Tree| match json {
        Tree::Array(elements) => elements.clone(),
        other => vec![other.clone()],
    };
    Ok(Value::jsonb(match (a, b) {
        (Tree::Object(x), Tree::Object(y)) => Tree::object(x.iter().chain(y).cloned()),
        _ => Tree::Array(list(a).into_iter().chain(list(b)).collect()),
    }))
}

fn delete_where(json: &Tree, goes: impl Fn(&str) -> bool) -> Result {
    Ok(Value::jsonb(match json {
        Tree::Object(members) => Tree::Object(members.iter().filter(|(k, _)| !goes(k)).cloned().collect()),
        Tree::Array(elements) => {
            let goes = |j: &&Tree| !matches!(j, Tree::String(t) if goes(t));
            Tree::Array(elements.iter().filter(goes).cloned().collect())
        }
        _ => return error(SqlState::INVALID_PARAMETER_VALUE, "cannot delete from scalar"),
    }))
}

fn delete_key(args: &[Value]) -> Result {
    let key = args.text(1)?;
    delete_where(args.jsonb(0)?, |k| k == key)
}

fn delete_keys(args: &[Value]) -> Result {
    let keys = args.texts(1)?;
    delete_where(args.jsonb(0)?, |k| keys.iter().any(|key| &**key == k))
}

fn delete_index(args: &[Value]) -> Result {
    let at = args.int(1)?;
    Ok(Value::jsonb(match args.jsonb(0)? {
        Tree::Array(elements) => {
            let mut elements = elements.clone();
            if let Some(at) = index(at, elements.len()) {
                elements.remove(at);
            }
            Tree::Array(elements)
        }
        Tree::Object(_) => {
            return error(SqlState::INVALID_PARAMETER_VALUE, "cannot delete from object using integer index");
        }
        _ => return error(SqlState::INVALID_PARAMETER_VALUE, "cannot delete from scalar"),
    }))
}

/// What is done at the end of a path.
#[derive(Clone, Copy)]
enum Change<'a> {
    Delete,
    /// Replace what is there, or create it.
    Set(&'a Tree, bool),
    /// Insert before, or after, what is there.
    Insert(&'a Tree, bool),
}

/// Changes a tree at the end of a path; where the path leads nowhere, nothing changes.
fn change(json: &Tree, path: &[Option<Arc<str>>], level: usize, what: Change<'_>) -> Result<Tree> {
    let Some((key, rest)) = path.split_first() else { return Ok(json.clone()) };
    let Some(key) = key else {
        return error(SqlState(*b"22004"), format!("path element at position {level} is null"));
    };
    if !matches!(json, Tree::Object(_) | Tree::Array(_)) {
        return Ok(json.clone());
    }
    match json {
        Tree::Object(members) => {
            let present = json.get(key);
            if !rest.is_empty() {
                let Some(inner) = present else { return Ok(json.clone()) };
                let inner = change(inner, rest, level + 1, what)?;
                return Ok(Tree::object(members.iter().cloned().chain([(key.clone(), inner)])));
            }
            let new = match what {
                Change::Delete => {
                    return Ok(Tree::Object(members.iter().filter(|(k, _)| k != key).cloned().collect()));
                }
                Change::Set(new, create) if present.is_some() || create => new,
                Change::Insert(..) if present.is_some() => {
                    let message = "cannot replace existing key";
                    let hint = "Try using the function jsonb_set to replace key value.";
                    return Err(crate::SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message).hint(hint));
                }
                Change::Insert(new, _) => new,
                Change::Set(..) => return Ok(json.clone()),
            };
            Ok(Tree::object(members.iter().cloned().chain([(key.clone(), new.clone())])))
        }
        Tree::Array(elements) => change_element(elements, key, rest, level, what),
        _ => Ok(json.clone()),
    }
}

fn change_element(
    elements: &[Tree],
    key: &str,
    rest: &[Option<Arc<str>>],
    level: usize,
    what: Change<'_>,
) -> Result<Tree> {
    let Some(at) = position(key) else {
        let message = format!("path element at position {level} is not an integer: \"{key}\"");
        return error(SqlState::INVALID_TEXT_REPRESENTATION, message);
    };
    let mut elements = elements.to_vec();
    let found = index(at, elements.len());
    match (found, what) {
        (Some(i), _) if !rest.is_empty() => elements[i] = change(&elements[i], rest, level + 1, what)?,
        (None, _) if !rest.is_empty() => {}
        (Some(i), Change::Delete) => drop(elements.remove(i)),
        (None, Change::Delete) => {}
        (Some(i), Change::Set(new, _)) => elements[i] = new.clone(),
        (Some(i), Change::Insert(new, after)) => elements.insert(i + usize::from(after), new.clone()),
        (None, Change::Set(_, false)) => {}
        // Beyond an end of the array is that end.
        (None, Change::Set(new, true) | Change::Insert(new, _)) => match at < 0 {
            true => elements.insert(0, new.clone()),
            false => elements.push(new.clone()),
        },
    }
    Ok(Tree::Array(elements))
}

/// Changes at the path that the second argument is.
fn changed(args: &[Value], what: Change<'_>) -> Result {
    let json = args.jsonb(0)?;
    if args.array(1)?.dims.len() > 1 {
        return error(SqlState(*b"2202E"), "wrong number of array subscripts");
    }
    if !matches!(json, Tree::Object(_) | Tree::Array(_)) {
        let verb = match what {
            Change::Delete => "cannot delete path in scalar",
            _ => "cannot set path in scalar",
        };
        return error(SqlState::INVALID_PARAMETER_VALUE, verb);
    }
    // In what is empty nothing can be found, so the path is not looked at.
    let empty = matches!(json, Tree::Object(members) if members.is_empty())
        || matches!(json, Tree::Array(elements) if elements.is_empty());
    if empty && matches!(what, Change::Delete | Change::Set(_, false)) {
        return Ok(Value::jsonb(json.clone()));
    }
    let key = |v: &Value| match v {
        Value::Text(t) => Some(t.clone()),
        _ => None,
    };
    let path: Vec<Option<Arc<str>>> = args.array(1)?.elements.iter().map(key).collect();
    change(json, &path, 1, what).map(Value::jsonb)
}

fn set(args: &[Value]) -> Result {
    let create = if args.len() > 3 { args.boolean(3)? } else { true };
    changed(args, Change::Set(args.jsonb(2)?, create))
}

fn set_lax(args: &[Value]) -> Result {
    if args.any(0)?.is_null() || args.any(1)?.is_null() {
        return Ok(Value::Null);
    }
    match args.any(2)? {
        Value::Null => changed(args, Change::Set(&Tree::Null, true)),
        _ => set(args),
    }
}

fn insert(args: &[Value]) -> Result {
    let after = args.len() > 3 && args.boolean(3)?;
    changed(args, Change::Insert(args.jsonb(2)?, after))
}

fn delete_path(args: &[Value]) -> Result {
    changed(args, Change::Delete)
}

fn json_typeof(args: &[Value]) -> Result {
    Ok(Value::text(Tree::parse(args.json(0)?)?.kind()))
}

fn jsonb_typeof(args: &[Value]) -> Result {
    Ok(Value::text(args.jsonb(0)?.kind()))
}

fn not_an_array<T>(is_object: bool) -> Result<T> {
    let what = if is_object { "a non-array" } else { "a scalar" };
    error(SqlState::INVALID_PARAMETER_VALUE, format!("cannot get array length of {what}"))
}

fn json_array_length(args: &[Value]) -> Result {
    let text = args.json(0)?;
    match raw_elements(text)? {
        Some(elements) => Ok(Value::Int(elements.len() as i64)),
        None => not_an_array(raw_members(text)?.is_some()),
    }
}

fn jsonb_array_length(args: &[Value]) -> Result {
    match args.jsonb(0)? {
        Tree::Array(elements) => Ok(Value::Int(elements.len() as i64)),
        other => not_an_array(matches!(other, Tree::Object(_))),
    }
}

fn stripped(json: &Tree) -> Tree {
    match json {
        Tree::Object(members) => {
            let kept = members.iter().filter(|(_, v)| !matches!(v, Tree::Null));
            Tree::Object(kept.map(|(k, v)| (k.clone(), stripped(v))).collect())
        }
        Tree::Array(elements) => Tree::Array(elements.iter().map(stripped).collect()),
        other => other.clone(),
    }
}

fn jsonb_strip_nulls(args: &[Value]) -> Result {
    Ok(Value::jsonb(stripped(args.jsonb(0)?)))
}

/// The text without members that are null, and without blanks.
fn json_strip_nulls(args: &[Value]) -> Result {
    raw_stripped(args.json(0)?).map(|t| Value::Json(t.into()))
}

fn raw_stripped(text: &str) -> Result<String> {
    if let Some(members) = raw_members(text)? {
        let mut shown = Vec::new();
        for (key, value) in members.into_iter().filter(|(_, v)| *v != "null") {
            shown.push(format!("{}:{}", crate::value::json::quoted(&key), raw_stripped(value)?));
        }
        return Ok(format!("{{{}}}", shown.join(",")));
    }
    if let Some(elements) = raw_elements(text)? {
        let shown = elements.into_iter().map(raw_stripped).collect::<Result<Vec<_>>>()?;
        return Ok(format!("[{}]", shown.join(",")));
    }
    Ok(text.trim_matches([' ', '\t', '\n', '\r']).to_owned())
}

fn pretty(args: &[Value]) -> Result {
    Ok(Value::text(args.jsonb(0)?.pretty()))
}

type Rows = std::result::Result<Vec<Row>, crate::SqlError>;

fn single(values: impl IntoIterator<Item = Value>) -> Vec<Row> {
    values.into_iter().map(|v| Arc::from([v])).collect()
}

fn pairs(values: impl IntoIterator<Item = (Arc<str>, Value)>) -> Vec<Row> {
    values.into_iter().map(|(k, v)| Arc::from([Value::Text(k), v])).collect()
}

fn array_of(args: &[Value]) -> std::result::Result<&[Tree], crate::SqlError> {
    match args.jsonb(0)? {
        Tree::Array(elements) => Ok(elements),
        Tree::Object(_) => error(SqlState::INVALID_PARAMETER_VALUE, "cannot extract elements from an object"),
        _ => error(SqlState::INVALID_PARAMETER_VALUE, "cannot extract elements from a scalar"),
    }
}

fn raw_array_of<'a>(args: &'a [Value], function: &str) -> std::result::Result<Vec<&'a str>, crate::SqlError> {
    let text = args.json(0)?;
    match raw_elements(text)? {
        Some(elements) => Ok(elements),
        None if raw_members(text)?.is_some() => {
            error(SqlState::INVALID_PARAMETER_VALUE, format!("cannot call {function} on a non-array"))
        }
        None => error(SqlState::INVALID_PARAMETER_VALUE, format!("cannot call {function} on a scalar")),
    }
}

fn elements(args: &[Value]) -> Rows {
    Ok(single(array_of(args)?.iter().map(|j| Value::jsonb(j.clone()))))
}

fn elements_text(args: &[Value]) -> Rows {
    Ok(single(array_of(args)?.iter().map(Tree::to_text)))
}

fn json_elements(args: &[Value]) -> Rows {
    Ok(single(raw_array_of(args, "json_array_elements")?.into_iter().map(|p| Value::Json(p.into()))))
}

fn json_elements_text(args: &[Value]) -> Rows {
    let pieces = raw_array_of(args, "json_array_elements_text")?;
    Ok(single(pieces.into_iter().map(|p| raw_text(Some(p))).collect::<Result<Vec<_>>>()?))
}

fn members_of<'a>(args: &'a [Value], function: &str) -> std::result::Result<&'a [(Arc<str>, Tree)], crate::SqlError> {
    match (args.jsonb(0)?, function) {
        (Tree::Object(members), _) => Ok(members),
        (Tree::Array(_), "jsonb_object_keys") => {
            error(SqlState::INVALID_PARAMETER_VALUE, format!("cannot call {function} on an array"))
        }
        (_, "jsonb_object_keys") => {
            error(SqlState::INVALID_PARAMETER_VALUE, format!("cannot call {function} on a scalar"))
        }
        _ => error(SqlState::INVALID_PARAMETER_VALUE, format!("cannot call {function} on a non-object")),
    }
}

fn raw_members_of<'a>(
    args: &'a [Value],
    function: &str,
) -> std::result::Result<Vec<(Arc<str>, &'a str)>, crate::SqlError> {
    let text = args.json(0)?;
    match (raw_members(text)?, function) {
        (Some(members), _) => Ok(members),
        (None, "json_object_keys") if raw_elements(text)?.is_some() => {
            error(SqlState::INVALID_PARAMETER_VALUE, format!("cannot call {function} on an array"))
        }
        (None, "json_object_keys") => {
            error(SqlState::INVALID_PARAMETER_VALUE, format!("cannot call {function} on a scalar"))
        }
        (None, _) if raw_elements(text)?.is_some() => {
            error(SqlState::INVALID_PARAMETER_VALUE, "cannot deconstruct an array as an object")
        }
        (None, _) => error(SqlState::INVALID_PARAMETER_VALUE, "cannot deconstruct a scalar"),
    }
}

fn each(args: &[Value]) -> Rows {
    let members = members_of(args, "jsonb_each")?;
    Ok(pairs(members.iter().map(|(k, v)| (k.clone(), Value::jsonb(v.clone())))))
}

fn each_text(args: &[Value]) -> Rows {
    let members = members_of(args, "jsonb_each_text")?;
    Ok(pairs(members.iter().map(|(k, v)| (k.clone(), v.to_text()))))
}

fn json_each(args: &[Value]) -> Rows {
    let members = raw_members_of(args, "json_each")?;
    Ok(pairs(members.into_iter().map(|(k, v)| (k, Value::Json(v.into())))))
}

fn json_each_text(args: &[Value]) -> Rows {
    let members = raw_members_of(args, "json_each_text")?;
    let texts = members.into_iter().map(|(k, v)| Ok((k, raw_text(Some(v))?)));
    Ok(pairs(texts.collect::<Result<Vec<_>>>()?))
}

fn keys(args: &[Value]) -> Rows {
    let members = members_of(args, "jsonb_object_keys")?;
    Ok(single(members.iter().map(|(k, _)| Value::Text(k.clone()))))
}

fn json_keys(args: &[Value]) -> Rows {
    let members = raw_members_of(args, "json_object_keys")?;
    Ok(single(members.into_iter().map(|(k, _)| Value::Text(k))))
}
