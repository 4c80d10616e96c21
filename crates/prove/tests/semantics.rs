//! What the terms say about expressions, held against what the engine computes.
//!
//! Every builtin that is translated, for every type that it takes, every kind of expression and every conversion is
//! evaluated by a procedure on boundary values. The procedure stores the value, or which error was raised; the terms
//! must allow exactly that row to be stored. A builtin that is translated and not evaluated here fails the test: what
//! has no comparison is not modelled.
//!
//! `PROVE_VALUES=all cargo test -p isolde-prove --test semantics` takes all combinations of values, not a few of each.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;

use isolde_prove::logic::is_translated;
use isolde_smt::Solver;
use isolde_sql::Type;
use isolde_sql::builtin::{self, Builtin, Eval};
use isolde_sql::typed::{Expr, ExprKind};
use support::chance::Dice;
use support::compare::{Compared, Subject, query};

/// The types whose values are told apart, each with its boundary values.
const TYPES: &[(&str, &[&str])] = &[
    ("smallint", &["-32768", "-1", "0", "1", "2", "32767"]),
    ("integer", &["-2147483648", "-1", "0", "1", "3", "2147483647"]),
    ("bigint", &["-9223372036854775808", "-1", "0", "1", "7", "9223372036854775807"]),
    ("numeric", &["-2.5", "-0.5", "0", "0.5", "1.5", "2.00", "99999.995"]),
    ("numeric(5,2)", &["-999.99", "-0.01", "0", "0.01", "1.50", "999.99"]),
    ("numeric(2,-1)", &["-990", "-10", "0", "10", "990"]),
    ("boolean", &["true", "false"]),
    ("text", &["", "a", "b", "ab", "a "]),
    ("varchar(3)", &["", "a", "abc"]),
    ("character(3)", &["", "a", "abc"]),
    ("date", &["-infinity", "2000-01-01", "2024-02-29", "infinity"]),
    ("timestamp", &["-infinity", "2000-01-01 00:00:00", "2024-02-29 12:30:00.5", "infinity"]),
    ("timestamptz", &["-infinity", "2000-01-01 00:00:00+00", "infinity"]),
    ("time", &["00:00:00", "12:30:00", "23:59:59.999999"]),
    ("interval", &["0", "1 month", "30 days", "-1 day"]),
    ("double precision", &["-Infinity", "-1.5", "-0", "0", "0.5", "Infinity", "NaN"]),
    ("uuid", &["00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000001"]),
    ("mood", &["sad", "glad"]),
];

/// Expressions over the parameters
/// `a integer, b integer, s smallint, n numeric, m numeric(5,2), t text, v boolean, w boolean`, one or more for each
/// kind of expression.
const EXPRESSIONS: &[&str] = &[
    "a",
    "1",
    "NULL::int",
    "a + b",
    "s + s",
    "s * s",
    "-s",
    "abs(s)",
    "abs(a)",
    "s / s",
    "s % s",
    "a / b",
    "a % b",
    "mod(a, b)",
    "a - b",
    "a * b",
    "-a",
    "a::bigint * b",
    "a::smallint",
    "n::smallint",
    "n::int",
    "n::bigint",
    "a::numeric(3,1)",
    "n::numeric(3,1)",
    "n * m",
    "n + m",
    "n - m",
    "n / m",
    "-n",
    "+n",
    "abs(n)",
    "floor(n)",
    "ceil(n)",
    "ceiling(n)",
    "round(n)",
    "trunc(n)",
    "round(n, 1)",
    "m * 2",
    "v AND w",
    "v OR w",
    "NOT v",
    "v IS TRUE",
    "v IS NOT TRUE",
    "v IS FALSE",
    "v IS UNKNOWN",
    "v = w",
    "v < w",
    "v >= w",
    "v IS DISTINCT FROM w",
    "a IS NULL",
    "a IS NOT NULL",
    "a IS DISTINCT FROM b",
    "a IS NOT DISTINCT FROM b",
    "a IN (1, b, NULL)",
    "a NOT IN (1, b)",
    "a BETWEEN 0 AND b",
    "CASE WHEN a > 0 THEN a WHEN b > 0 THEN b END",
    "CASE a WHEN 1 THEN 10 / b ELSE 0 END",
    "COALESCE(a, b, 10 / s)",
    "NULLIF(a, b)",
    "GREATEST(a, b)",
    "LEAST(a, b, 0)",
    "GREATEST(n, m)",
    "v::int",
    "a::boolean",
    "a < b",
    "a <= b",
    "a > n",
    "a >= b",
    "a <> b",
    "a = n",
    "t = 'a'",
    "t <> ''",
    "t || 'x'",
    "length(t)",
    "t < 'b'",
    "upper(t) = 'A'",
    "EXISTS (SELECT 1 FROM src WHERE x = a)",
    "(SELECT x FROM src WHERE id = a)",
    "(SELECT x FROM src)",
    "(SELECT count(*) FROM src)",
    "(SELECT count(x) FROM src WHERE x > a)",
    "(SELECT sum(x) FROM src)",
    "(SELECT sum(x) FROM src WHERE id > a)",
    "(SELECT min(x) FROM src)",
    "(SELECT max(x) FROM src WHERE id < a)",
    "(SELECT bool_and(x > a) FROM src)",
    "(SELECT bool_or(x > a) FROM src)",
    "(SELECT avg(x) FROM src)",
    "(SELECT sum(z) FROM src)",
    "(SELECT count(DISTINCT x) FROM src)",
    "(SELECT count(*) FILTER (WHERE x > 0) FROM src)",
    "a IN (SELECT x FROM src)",
    "a NOT IN (SELECT x FROM src)",
    "a > ALL (SELECT x FROM src)",
    "a < ANY (SELECT x FROM src)",
    "(a, b) IN (SELECT id, x FROM src)",
    "(SELECT COALESCE(sum(y.x), 0) FROM src y LEFT JOIN src z ON z.id = y.x)",
    "(SELECT x FROM (SELECT id AS i, x FROM src) q WHERE i = a)",
    "(WITH q AS (SELECT x FROM src WHERE id = a) SELECT x FROM q)",
    "(SELECT count(*) FROM (SELECT x FROM src UNION ALL SELECT id FROM src) q)",
    "EXISTS (SELECT x FROM src GROUP BY x HAVING count(*) > 1)",
    "EXISTS (SELECT 1 FROM src ORDER BY x LIMIT 1)",
    "EXISTS (SELECT x FROM src ORDER BY 1 LIMIT 1)",
    "twice(a)",
    "(v AND 1 / a > 0)",
    "(v OR 1 / a > 0)",
    "a::text",
    "n::text",
    "t::int",
];

/// The kinds of expressions; adding one to the language without a line here does not compile.
fn kind(expr: &ExprKind) -> &'static str {
    match expr {
        ExprKind::Const(_) => "constant",
        ExprKind::Column { .. } => "column",
        ExprKind::Param(_) => "variable",
        ExprKind::Group { .. } => "group",
        ExprKind::Aggregated { .. } => "aggregate",
        ExprKind::Call(..) => "call",
        ExprKind::Routine(..) => "routine",
        ExprKind::And(_) => "and",
        ExprKind::Or(_) => "or",
        ExprKind::Not(_) => "not",
        ExprKind::IsNull(..) => "is null",
        ExprKind::IsTruth(..) => "is true",
        ExprKind::IsDistinct(..) => "is distinct",
        ExprKind::InList(..) => "in list",
        ExprKind::Case(..) => "case",
        ExprKind::Coalesce(_) => "coalesce",
        ExprKind::Extreme(..) => "greatest",
        ExprKind::Cast { .. } => "cast",
        ExprKind::Scalar(_) => "scalar",
        ExprKind::Exists(_) => "exists",
        ExprKind::Quantified(_) => "quantified",
        ExprKind::Output(_) => "output",
        // Refused wherever they are evaluated.
        ExprKind::WholeRow { .. }
        | ExprKind::Row(_)
        | ExprKind::ScalarRow(_)
        | ExprKind::Field(..)
        | ExprKind::NamedField(..)
        | ExprKind::Windowed(_)
        | ExprKind::Expanded(_)
        | ExprKind::AnyOf(_) => "refused",
    }
}

/// Every kind that is not refused.
const KINDS: &[&str] = &[
    "constant",
    "column",
    "variable",
    "group",
    "aggregate",
    "call",
    "routine",
    "and",
    "or",
    "not",
    "is null",
    "is true",
    "is distinct",
    "in list",
    "case",
    "coalesce",
    "greatest",
    "cast",
    "scalar",
    "exists",
    "quantified",
    "output",
];

/// A procedure that evaluates an expression, and stores what came of it.
fn program(params: &str, expr: &str, result: &str) -> String {
    format!(
        "CREATE TYPE mood AS ENUM ('sad', 'so', 'glad');
CREATE TABLE src (id int PRIMARY KEY, x int, z bigint);
CREATE TABLE res (what int, value {result});
CREATE FUNCTION twice(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN i * 2; END $$;
CREATE PROCEDURE p({params}) LANGUAGE plpgsql AS $$
DECLARE r {result};
BEGIN
  BEGIN
    r := {expr};
    INSERT INTO res VALUES (0, r);
  EXCEPTION
    WHEN numeric_value_out_of_range THEN INSERT INTO res VALUES (1, NULL);
    WHEN division_by_zero THEN INSERT INTO res VALUES (2, NULL);
    WHEN cardinality_violation THEN INSERT INTO res VALUES (3, NULL);
    WHEN string_data_right_truncation THEN INSERT INTO res VALUES (4, NULL);
    WHEN OTHERS THEN INSERT INTO res VALUES (5, NULL);
  END;
END $$;
"
    )
}

/// How many argument lists of each procedure.
fn tries() -> usize {
    if std::env::var("PROVE_VALUES").is_ok_and(|v| v == "all") { 200 } else { 7 }
}

/// Lists of arguments: all combinations if there are few, otherwise some by chance, the extremes first.
fn arguments(types: &[&str], dice: &mut Dice) -> Vec<Vec<Option<String>>> {
    let values = |ty: &str| {
        let known = TYPES.iter().find(|(name, _)| *name == ty).expect("a type of the list").1;
        known.iter().map(|v| Some((*v).to_string())).chain([None]).collect::<Vec<_>>()
    };
    let each: Vec<Vec<Option<String>>> = types.iter().map(|ty| values(ty)).collect();
    let all: usize = each.iter().map(Vec::len).product();
    if all <= tries() {
        return (0..all)
            .map(|mut n| {
                let mut pick = |values: &Vec<Option<String>>| {
                    let value = values[n % values.len()].clone();
                    n /= values.len();
                    value
                };
                each.iter().map(&mut pick).collect()
            })
            .collect();
    }
    let mut lists: Vec<Vec<Option<String>>> = vec![
        each.iter().map(|values| values[0].clone()).collect(),
        each.iter().map(|values| values[values.len() - 2].clone()).collect(),
    ];
    while lists.len() < tries() {
        lists.push(each.iter().map(|values| values[dice.below(values.len())].clone()).collect());
    }
    lists
}

struct Comparison {
    solver: Solver,
    dice: Dice,
    runs: usize,
    wrong: Vec<String>,
}

impl Comparison {
    /// Compares one expression on many values; how many runs were compared.
    fn expression(&mut self, params: &[(&str, &str)], expr: &str, result: &str, what: &str) -> usize {
        let list: Vec<String> = params.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        let text = program(&list.join(", "), expr, result);
        let Ok(loaded) = support::try_load(&text) else { return 0 };
        let Ok(subject) = Subject::new(&loaded.program, "p") else { return 0 };
        let types: Vec<&str> = params.iter().map(|(_, ty)| *ty).collect();
        let mut compared = 0;
        for (n, values) in arguments(&types, &mut self.dice).into_iter().enumerate() {
            let mut database = loaded.program.database.clone();
            let session = database.open_session();
            if n % 3 > 0 && expr.contains("src") {
                for row in ["(1, 2, 9223372036854775807)", "(2, NULL, 1)", "(3, 2, NULL)"].iter().take(1 + n % 3) {
                    assert!(support::chance::execute(&mut database, session, &format!("INSERT INTO src VALUES {row}")));
                }
            }
            let mut args = Vec::new();
            for (value, ty) in values.iter().zip(&types) {
                let shown = value.as_ref().map_or("NULL".into(), |v| format!("'{v}'"));
                let mut row = query(&mut database, session, &format!("SELECT {shown}::{ty}"));
                args.push((row.remove(0).remove(0), parameter_type(&loaded.program, args.len())));
            }
            match subject.compare(&database, &args, 1, &self.solver) {
                Compared::Allowed => compared += 1,
                Compared::Excluded(run) => self.wrong.push(format!("{what}: {expr}\n{run}")),
                Compared::Failed => {
                    self.wrong.push(format!("{what}: {expr} has failed outside of its handlers, {values:?}"))
                }
                Compared::Refused(_) | Compared::Open => {}
            }
        }
        self.runs += compared;
        compared
    }
}

fn parameter_type(program: &isolde_prove::Program, at: usize) -> Type {
    program.catalog().routines_by_name("p").next().unwrap().1.params[at].ty
}

#[test]
fn expressions_are_what_the_engine_computes() {
    let Ok(solver) = Solver::from_environment() else {
        eprintln!("skipped: there is no solver (install z3)");
        return;
    };
    let mut comparison = Comparison { solver, dice: Dice::new(7), runs: 0, wrong: Vec::new() };
    let params = [
        ("a", "integer"),
        ("b", "integer"),
        ("s", "smallint"),
        ("n", "numeric"),
        ("m", "numeric(5,2)"),
        ("t", "text"),
        ("v", "boolean"),
        ("w", "boolean"),
    ];
    let only = std::env::var("PROVE_EXPR").ok();
    let mut uncompared = Vec::new();
    let mut kinds: BTreeSet<&str> = BTreeSet::new();
    for expr in EXPRESSIONS.iter().filter(|expr| only.as_ref().is_none_or(|only| only == *expr)) {
        let used: Vec<(&str, &str)> = params.iter().copied().filter(|(name, _)| mentions(expr, name)).collect();
        let results = ["integer", "bigint", "numeric", "boolean", "text", "smallint", "numeric(4,1)", "varchar(1)"];
        let compared: usize =
            results.iter().map(|result| comparison.expression(&used, expr, result, &format!("as {result}"))).sum();
        if compared == 0 {
            uncompared.push(*expr);
        }
        let list: Vec<String> = used.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        kinds.extend(kinds_of(&program(&list.join(", "), expr, "text")));
    }
    assert!(comparison.wrong.is_empty(), "{}", comparison.wrong.join("\n\n"));
    eprintln!("{} runs compared", comparison.runs);
    assert!(uncompared.is_empty(), "these were not compared: {uncompared:?}");
    let missing: Vec<&&str> = KINDS.iter().filter(|kind| !kinds.contains(**kind)).collect();
    assert!(missing.is_empty() || only.is_some(), "no expression of these kinds was compared: {missing:?}");
}

/// A name stands in a text as a word.
fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == name)
}

/// The kinds of expressions in the assignment of a program.
fn kinds_of(text: &str) -> BTreeSet<&'static str> {
    use isolde_sql::typed::StmtKind;
    let mut kinds = BTreeSet::new();
    let Ok(loaded) = support::try_load(text) else { return kinds };
    let catalog = loaded.program.catalog();
    let def = catalog.routines_by_name("p").next().unwrap().1;
    let Ok(routine) = isolde_sql::bind::routine(catalog, def) else { return kinds };
    let mut todo: Vec<_> = routine.body.iter().collect();
    let mut note = |expr: &Expr| {
        expr.walk(0, &mut |e, _| {
            kinds.insert(kind(&e.kind));
        })
    };
    while let Some(stmt) = todo.pop() {
        match &stmt.kind {
            StmtKind::Assign(_, expr) => note(expr),
            StmtKind::Try { body, .. } => todo.extend(body),
            _ => {}
        }
    }
    kinds
}

#[test]
fn builtins_are_what_the_engine_computes() {
    let Ok(solver) = Solver::from_environment() else {
        eprintln!("skipped: there is no solver (install z3)");
        return;
    };
    let mut comparison = Comparison { solver, dice: Dice::new(11), runs: 0, wrong: Vec::new() };
    let mut missing = Vec::new();
    let mut translated = 0;
    for function in builtin::functions().filter(|f| matches!(f.eval, Eval::Pure(_))) {
        let signatures = signatures(function);
        let mut compared = 0;
        for types in &signatures {
            if is_translated(function, &resolved(types)) {
                translated += 1;
                compared += call(&mut comparison, function, types);
            }
        }
        let is_modelled = signatures.iter().any(|types| is_translated(function, &resolved(types)));
        if is_modelled && compared == 0 {
            missing.push(format!("{}({:?})", function.name, function.args));
        }
    }
    assert!(comparison.wrong.is_empty(), "{}", comparison.wrong.join("\n\n"));
    assert!(missing.is_empty(), "translated, but never compared: {missing:?}");
    eprintln!("{translated} signatures, {} runs compared", comparison.runs);
}

/// The argument types to try, by name: where any type fits, each.
fn signatures(function: &Builtin) -> Vec<Vec<&'static str>> {
    if !function.args.contains(&Type::Unknown) {
        let named: Option<Vec<&str>> = function.args.iter().map(|ty| named(*ty)).collect();
        return named.into_iter().collect();
    }
    let each = TYPES.iter().map(|(name, _)| {
        let types = function.args.iter().map(|ty| if *ty == Type::Unknown { Some(*name) } else { named(*ty) });
        types.collect::<Option<Vec<_>>>()
    });
    each.flatten().collect()
}

fn named(ty: Type) -> Option<&'static str> {
    let shown = ty.to_string();
    let known = TYPES.iter().map(|(name, _)| *name).find(|name| *name == shown);
    known.or(match ty {
        Type::Timestamp => Some("timestamp"),
        Type::Timestamptz => Some("timestamptz"),
        Type::Time => Some("time"),
        Type::Varchar(None) => Some("varchar(3)"),
        Type::Bpchar(None) => Some("character(3)"),
        _ => None,
    })
}

/// The types that names stand for.
fn resolved(names: &[&str]) -> Vec<Type> {
    names.iter().map(|name| type_of(name)).collect()
}

fn type_of(name: &str) -> Type {
    thread_local! { static LOADED: support::Loaded = support::load(&program(&parameters(), "1", "integer")); }
    let at = TYPES.iter().position(|(known, _)| *known == name).expect("a type of the list");
    LOADED.with(|loaded| parameter_type(&loaded.program, at))
}

fn parameters() -> String {
    TYPES.iter().enumerate().map(|(at, (name, _))| format!("x{at} {name}")).collect::<Vec<_>>().join(", ")
}

/// Compares one signature; how many runs were compared.
fn call(comparison: &mut Comparison, function: &Builtin, types: &[&'static str]) -> usize {
    let is_word = function.name.starts_with(|c: char| c.is_ascii_alphabetic());
    let expr = match (is_word, types) {
        (true, [_]) => format!("{}(x0)", function.name),
        (true, [_, _]) => format!("{}(x0, x1)", function.name),
        (false, [_]) => format!("{} x0", function.name),
        (false, [_, _]) => format!("x0 {} x1", function.name),
        _ => return 0,
    };
    let params: Vec<(String, &str)> = types.iter().enumerate().map(|(at, ty)| (format!("x{at}"), *ty)).collect();
    let params: Vec<(&str, &str)> = params.iter().map(|(name, ty)| (name.as_str(), *ty)).collect();
    // Stored as what it returns, and as something wider.
    let results: &[&str] = match function.returns {
        Type::Bool => &["boolean"],
        Type::Int2 => &["smallint", "integer", "bigint"],
        Type::Int4 => &["integer", "bigint"],
        Type::Int8 => &["bigint", "numeric"],
        Type::Numeric(_) => &["numeric", "numeric(5,2)"],
        _ => &["text"],
    };
    let what = format!("{}({})", function.name, types.join(", "));
    results.iter().map(|result| comparison.expression(&params, &expr, result, &what)).sum()
}

/// A canary: a comparison that must notice. What the engine stores is one; a procedure that stores two is lowered.
#[test]
fn a_wrong_encoding_is_noticed() {
    let Ok(solver) = Solver::from_environment() else { return };
    let schema = "CREATE TABLE t (id int);\n";
    let right = support::load(&format!(
        "{schema}CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (1); END $$;"
    ));
    let wrong = support::load(&format!(
        "{schema}CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (2); END $$;"
    ));
    let mut subject = Subject::new(&right.program, "p").unwrap();
    assert_eq!(subject.compare(&right.program.database, &[], 1, &solver), Compared::Allowed);
    subject.graph = Subject::new(&wrong.program, "p").unwrap().graph;
    assert!(matches!(subject.compare(&right.program.database, &[], 1, &solver), Compared::Excluded(_)));
}
