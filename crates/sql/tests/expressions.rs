//! Expressions as people write them, from text to answer, against what PostgreSQL 15 answered.
//!
//! Where `tests/values.rs` calls builtins with exact types, here the parser and the binder choose: literals without a
//! type, integers beside decimals, `extract(year from ...)`. The small evaluator below knows constants, calls, casts
//! and the forms that are neither.

#![allow(clippy::unwrap_used)]

use isolde_sql::builtin::Eval;
use isolde_sql::catalog::Catalog;
use isolde_sql::typed::{Expr, ExprKind, QueryBody, StatementKind};
use isolde_sql::{SqlError, Value, bind, parse, value};

/// Every file, a family of types each.
#[test]
fn expressions() {
    let directory = format!("{}/tests/golden/expressions", env!("CARGO_MANIFEST_DIR"));
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        let lines = std::fs::read_to_string(&path).unwrap();
        let family = path.file_stem().unwrap().to_string_lossy().into_owned();
        for line in lines.lines() {
            count += 1;
            let (expression, expected) = line.split_once(" => ").unwrap();
            let answer = match answer(expression) {
                Ok(value) => value.to_string().replace('\n', "\\n"),
                Err(e) => format!("ERROR {} {}", e.state, e.message),
            };
            if answer != expected {
                wrong.push(format!("{family}: {expression}\n  expected {expected}\n  found    {answer}"));
            }
        }
    }
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {count} lines:\n{}", wrong.len(), wrong.join("\n"));
}

fn answer(expression: &str) -> Result<Value, SqlError> {
    let source = format!("SELECT {expression}");
    let statements = parse::script(&source)?;
    let bound = bind::statement(&Catalog::default(), &statements[0], &source, &[])?;
    let StatementKind::Query(query) = bound.kind else { panic!("{expression} is no query") };
    let QueryBody::Select(select) = query.body else { panic!("{expression} is no SELECT") };
    evaluate(&select.projection[0])
}

fn evaluate(expr: &Expr) -> Result<Value, SqlError> {
    let all = |exprs: &[Expr]| exprs.iter().map(evaluate).collect::<Result<Vec<_>, _>>();
    Ok(match &expr.kind {
        ExprKind::Const(value) => value.clone(),
        ExprKind::Cast { expr: inner, explicit } => value::cast(&evaluate(inner)?, inner.ty, expr.ty, *explicit)?,
        ExprKind::Call(builtin, args) => {
            let args = all(args)?;
            match builtin.eval {
                _ if builtin.strict && args.iter().any(Value::is_null) => Value::Null,
                Eval::Pure(f) => f(&args)?,
                Eval::Session(_) => Value::Timestamptz(0),
            }
        }
        ExprKind::And(parts) => kleene(&all(parts)?, false),
        ExprKind::Or(parts) => kleene(&all(parts)?, true),
        ExprKind::Not(inner) => evaluate(inner)?.as_bool().map(|b| !b).into(),
        ExprKind::IsNull(inner, negated) => Value::Bool(evaluate(inner)?.is_null() != *negated),
        ExprKind::IsDistinct(a, b, negated) => Value::Bool((evaluate(a)? != evaluate(b)?) != *negated),
        ExprKind::InList(operand, list, negated) => {
            let operand = evaluate(operand)?;
            let equal = |v: &Value| (!v.is_null() && !operand.is_null()).then(|| *v == operand).into();
            let found = kleene(&all(list)?.iter().map(equal).collect::<Vec<_>>(), true);
            found.as_bool().map(|b| b != *negated).into()
        }
        ExprKind::Case(branches, otherwise) => {
            for (condition, result) in branches {
                if evaluate(condition)?.is_true() {
                    return evaluate(result);
                }
            }
            otherwise.as_ref().map_or(Ok(Value::Null), |e| evaluate(e))?
        }
        ExprKind::Coalesce(parts) => all(parts)?.into_iter().find(|v| !v.is_null()).unwrap_or(Value::Null),
        ExprKind::Extreme(parts, greatest) => {
            let values = all(parts)?.into_iter().filter(|v| !v.is_null());
            if *greatest { values.max() } else { values.min() }.unwrap_or(Value::Null)
        }
        ExprKind::Row(fields) => Value::record(all(fields)?),
        ExprKind::AnyOf(any) => {
            let left = evaluate(&any.left)?;
            let Value::Array(array) = evaluate(&any.array)? else { return Ok(Value::Null) };
            let mut results = Vec::new();
            for element in &array.elements {
                let args = [left.clone(), element.clone()];
                results.push(match any.op.eval {
                    _ if args.iter().any(Value::is_null) => Value::Null,
                    Eval::Pure(f) => f(&args)?,
                    Eval::Session(_) => Value::Null,
                });
            }
            kleene(&results, !any.all)
        }
        ExprKind::Field(row, at) => match evaluate(row)? {
            Value::Record(fields) => fields[*at].clone(),
            _ => Value::Null,
        },
        other => panic!("{other:?} is not evaluated here"),
    })
}

/// AND and OR: decided by one `deciding` value, unknown if none decides and one is NULL.
fn kleene(values: &[Value], deciding: bool) -> Value {
    if values.contains(&Value::Bool(deciding)) {
        return Value::Bool(deciding);
    }
    if values.iter().any(Value::is_null) { Value::Null } else { Value::Bool(!deciding) }
}
