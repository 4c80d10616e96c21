//! What values mean, against what PostgreSQL 15 answered.
//!
//! Each line of `tests/golden/*.golden` is an expression, `=>`, and the server's answer: the text of the result, or
//! `ERROR` with its SQLSTATE and message. An expression is a literal with casts (`'1.5'::numeric::int4`), an operator
//! between two of them or before one, a function of some, or an aggregate over VALUES; a server evaluates the same
//! lines.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use isolde_sql::builtin::{self, Accumulator, Builtin, Eval};
use isolde_sql::{SqlError, Type, Value, value};

#[test]
fn casts() {
    check("cast");
}

#[test]
fn arithmetic() {
    check("arithmetic");
}

#[test]
fn comparisons() {
    check("compare");
}

#[test]
fn functions_of_numbers() {
    check("math");
}

#[test]
fn functions_of_text() {
    check("text");
}

#[test]
fn functions_of_time() {
    check("time");
}

#[test]
fn aggregates() {
    check("aggregate");
}

/// Runs every line of a file and shows those that differ.
fn check(file: &str) {
    let path = format!("{}/tests/golden/{file}.golden", env!("CARGO_MANIFEST_DIR"));
    let lines = std::fs::read_to_string(&path).unwrap();
    let wrong: Vec<String> = lines
        .lines()
        .filter_map(|line| {
            let (expression, expected) = line.split_once(" => ").unwrap();
            let answer = answer(expression);
            (answer != expected).then(|| format!("{expression}\n  expected {expected}\n  found    {answer}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} lines:\n{}", wrong.len(), lines.lines().count(), wrong.join("\n"));
}

fn answer(expression: &str) -> String {
    let mut reader = Reader { rest: expression };
    let result = if expression.contains(" from (values ") { reader.aggregate() } else { reader.expression() };
    match result {
        Ok(value) => value.to_string(),
        Err(e) => format!("ERROR {} {}", e.state, e.message),
    }
}

type Typed = (Value, Type);

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn expression(&mut self) -> Result<Value, SqlError> {
        self.rest = self.rest.strip_prefix("pg_catalog.").unwrap_or(self.rest);
        if self.at_operand() {
            let left = self.operand()?;
            if self.rest.is_empty() {
                return Ok(left.0);
            }
            let symbol = self.until(' ');
            return call(&symbol, vec![left, self.operand()?]);
        }
        if let Some(at) = self.rest.find('(').filter(|at| self.rest[..*at].bytes().all(|b| b != b' ')) {
            let name = self.rest[..at].to_owned();
            self.rest = &self.rest[at + 1..];
            let args = self.arguments()?;
            return call(&name, args);
        }
        let symbol = self.until(' ');
        call(&symbol, vec![self.operand()?])
    }

    /// `sum(x) from (values (...), (...)) v(x) [where false]`
    fn aggregate(&mut self) -> Result<Value, SqlError> {
        let name = self.until('(');
        self.rest = self.rest.split_once("values ").unwrap().1;
        let empty = self.rest.ends_with("where false");
        let mut rows = Vec::new();
        while let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            rows.push(self.arguments()?);
            self.rest = self.rest.strip_prefix(", ").unwrap_or(self.rest);
        }
        let types: Vec<Type> = rows[0].iter().map(|(_, ty)| *ty).collect();
        let fits = |params: &[Type]| params == types || name == "count" && params == [Type::Unknown];
        let aggregate = builtin::aggregates(&name).find(|a| fits(a.args)).unwrap();
        let mut accumulator = Accumulator::new(aggregate);
        for row in rows.into_iter().filter(|_| !empty) {
            accumulator.add(&row.into_iter().map(|(value, _)| value).collect::<Vec<_>>())?;
        }
        accumulator.finish()
    }

    /// What follows an opening parenthesis, and the closing one.
    fn arguments(&mut self) -> Result<Vec<Typed>, SqlError> {
        let mut args = Vec::new();
        while !self.rest.starts_with(')') {
            args.push(self.operand()?);
            self.rest = self.rest.strip_prefix(", ").unwrap_or(self.rest);
        }
        self.rest = &self.rest[1..];
        Ok(args)
    }

    fn at_operand(&self) -> bool {
        self.rest.starts_with('\'') || self.rest.starts_with("NULL::")
    }

    fn until(&mut self, end: char) -> String {
        let (word, rest) = self.rest.split_once(end).unwrap();
        self.rest = rest;
        word.to_owned()
    }

    /// A literal and its casts; the blank behind it is taken too.
    fn operand(&mut self) -> Result<Typed, SqlError> {
        let (mut value, mut ty) = (Value::Null, Type::Text);
        if let Some(rest) = self.rest.strip_prefix("NULL") {
            self.rest = rest;
        } else {
            let mut text = String::new();
            self.rest = &self.rest[1..];
            loop {
                text += &self.until('\'');
                match self.rest.strip_prefix('\'') {
                    Some(rest) => self.rest = rest,
                    None => break,
                }
                text.push('\'');
            }
            value = Value::text(text);
        }
        while let Some(rest) = self.rest.strip_prefix("::") {
            let name = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            let end = if rest[name..].starts_with('(') { rest.find(')').unwrap() + 1 } else { name };
            let to = type_by_name(&rest[..end]);
            self.rest = &rest[end..];
            value = value::cast(&value, ty, to, true)?;
            ty = to;
        }
        self.rest = self.rest.strip_prefix(' ').unwrap_or(self.rest);
        Ok((value, ty))
    }
}

fn type_by_name(name: &str) -> Type {
    let limits = |prefix: &str| -> Option<Vec<i64>> {
        let inner = name.strip_prefix(prefix)?.strip_prefix('(')?.strip_suffix(')')?;
        Some(inner.split(',').map(|n| n.parse().unwrap()).collect())
    };
    if let Some(limits) = limits("numeric") {
        return Type::Numeric(Some((limits[0] as u16, limits[1] as i16)));
    }
    if let Some(limits) = limits("varchar") {
        return Type::Varchar(Some(limits[0] as u32));
    }
    let names = [
        ("bool", Type::Bool),
        ("int2", Type::Int2),
        ("int4", Type::Int4),
        ("int8", Type::Int8),
        ("numeric", Type::Numeric(None)),
        ("float8", Type::Float8),
        ("text", Type::Text),
        ("date", Type::Date),
        ("timestamp", Type::Timestamp),
        ("timestamptz", Type::Timestamptz),
        ("interval", Type::Interval),
        ("uuid", Type::Uuid),
    ];
    names.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no type {name}")).1
}

fn call(name: &str, args: Vec<Typed>) -> Result<Value, SqlError> {
    let types: Vec<Type> = args.iter().map(|(_, ty)| *ty).collect();
    let variadic = || builtin::overloads(name).find(|f| f.variadic && f.args.len() <= types.len());
    let function = builtin::find(name, &types).or_else(variadic).unwrap_or_else(|| panic!("no {name}{types:?}"));
    let values: Vec<Value> = args.into_iter().map(|(value, _)| value).collect();
    evaluate(function, &values)
}

fn evaluate(function: &Builtin, values: &[Value]) -> Result<Value, SqlError> {
    match function.eval {
        _ if function.strict && values.iter().any(Value::is_null) => Ok(Value::Null),
        Eval::Pure(f) => f(values),
        Eval::Session(_) => panic!("{} needs a session", function.name),
    }
}

/// No two entries of the list are reached by the same call.
#[test]
#[allow(clippy::mutable_key_type, reason = "what is inside of an interned type is filled in once, and not compared")]
fn signatures_are_unique() {
    let mut seen = BTreeMap::new();
    for f in builtin::functions() {
        assert!(seen.insert((f.name, f.args, f.variadic), f).is_none(), "{}{:?} is listed twice", f.name, f.args);
        assert!(builtin::overloads(f.name).any(|g| std::ptr::eq(f, g)));
    }
}

/// A builtin whose arguments are not what it declares reports it; it does not panic.
#[test]
fn wrong_arguments_are_errors() {
    for f in builtin::functions().filter(|f| !f.args.is_empty()) {
        if let Eval::Pure(eval) = f.eval {
            let records = vec![Value::record(vec![]); f.args.len()];
            let _ = eval(&records);
            assert!(eval(&[]).is_err() || f.variadic, "{} accepts no arguments", f.name);
        }
    }
}
