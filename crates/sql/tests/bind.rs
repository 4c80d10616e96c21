//! What the binder makes of statements.
//!
//! The files in `tests/bind` hold statements (`> `, continued by `| `), each followed by what a PostgreSQL 15 server
//! answered: the names and types of the result's columns, `ok`, or the error. Definitions stay for the statements below
//! them; `names t` lists a table's constraints, indexes and sequences. A CALL also binds the procedure.
//!
//! The files in `tests/bind/typed` show our own typed trees instead; `UPDATE_GOLDEN=1` writes them anew.

#![allow(clippy::unwrap_used)]

mod dump;

use std::fmt::Write as _;

use isolde_sql::catalog::Catalog;
use isolde_sql::typed::{Define, OutputColumn, Statement, StatementKind};
use isolde_sql::{Diagnostic, bind, parse};

#[test]
fn output_columns_are_the_servers() {
    check("names");
}

#[test]
fn mistakes_are_the_servers() {
    check("errors");
}

#[test]
fn definitions_are_the_servers() {
    check("ddl");
}

#[test]
fn routines_are_the_servers() {
    check("plpgsql");
}

#[test]
fn hints_and_places() {
    check_own("hints", |_, _, _| String::from("ok\n"));
}

#[test]
fn typed_queries() {
    check_own("queries", |catalog, _, bound| dump::statement(catalog, bound));
}

#[test]
fn typed_changes() {
    check_own("changes", |catalog, _, bound| dump::statement(catalog, bound));
}

#[test]
fn typed_routines() {
    check_own("routines", |catalog, _, bound| dump::statement(catalog, bound));
}

/// Every example that needs no psql variables: all its statements and routines.
#[test]
fn examples_bind() {
    let mut bound_files = 0;
    for story in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")).unwrap() {
        let Ok(files) = std::fs::read_dir(story.unwrap().path()) else { continue };
        for file in files.map(|f| f.unwrap().path()).filter(|f| f.extension().is_some_and(|e| e == "sql")) {
            let source = std::fs::read_to_string(&file).unwrap();
            let Ok(statements) = parse::script(&source) else { continue };
            let mut catalog = Catalog::default();
            for parsed in &statements {
                let place = format!("{}: {}", file.display(), parsed.span.of(&source));
                let bound = bind::statement(&catalog, parsed, &source, &[]).unwrap_or_else(|e| panic!("{place}: {e}"));
                if let StatementKind::Define(define) = &bound.kind {
                    apply(&mut catalog, define);
                }
            }
            for (_, def) in catalog.routines() {
                bind::routine(&catalog, def).unwrap_or_else(|e| panic!("{} {}: {e}", file.display(), def.name));
            }
            bound_files += 1;
        }
    }
    assert!(bound_files > 0, "no example was bound");
}

/// A statement of a golden file and what follows it.
struct Case {
    sql: String,
    expected: String,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        if let Some(sql) = line.strip_prefix("> ") {
            cases.push(Case { sql: sql.into(), expected: String::new() });
        } else if let Some(more) = line.strip_prefix("| ") {
            let case = cases.last_mut().unwrap();
            case.sql.push('\n');
            case.sql.push_str(more);
        } else if let Some(case) = cases.last_mut() {
            case.expected.push_str(line);
            case.expected.push('\n');
        }
    }
    cases
}

fn path(file: &str) -> String {
    format!("{}/tests/bind/{file}.golden", env!("CARGO_MANIFEST_DIR"))
}

/// Compares a file with the server's answers.
fn check(file: &str) {
    let mut catalog = Catalog::default();
    let text = std::fs::read_to_string(path(file)).unwrap();
    let wrong: Vec<String> = cases(&text)
        .iter()
        .filter_map(|case| {
            let found = answer(&mut catalog, &case.sql);
            let expected = case.expected.trim_end();
            (found != expected).then(|| format!("{}\n  expected {expected}\n  found    {found}", case.sql))
        })
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn answer(catalog: &mut Catalog, sql: &str) -> String {
    if let Some(table) = sql.strip_prefix("names ") {
        return names(catalog, table);
    }
    match bound(catalog, sql) {
        Err(error) => format!("ERROR {} {}", error.state, error.message),
        Ok(statement) => shown(&statement),
    }
}

/// Binds a statement, and what a CALL or SELECT of a routine runs; keeps what it defines.
fn bound(catalog: &mut Catalog, sql: &str) -> Result<Statement, Diagnostic> {
    let parsed = parse::script(sql)?;
    let [parsed] = &parsed[..] else { panic!("one statement per case: {sql}") };
    let statement = bind::statement(catalog, parsed, sql, &[])?;
    for id in statement.routines() {
        bind::routine(catalog, catalog.routine(id))?;
    }
    if let StatementKind::Define(define) = &statement.kind {
        apply(catalog, define);
    }
    Ok(statement)
}

fn shown(statement: &Statement) -> String {
    let returning = match &statement.kind {
        StatementKind::Query(query) => return columns(&query.columns),
        StatementKind::Insert(insert) => &insert.returning,
        StatementKind::Update(update) => &update.returning,
        StatementKind::Delete(delete) => &delete.returning,
        _ => &None,
    };
    returning.as_ref().map_or("ok".into(), |r| columns(&r.columns))
}

fn columns(columns: &[OutputColumn]) -> String {
    match columns.is_empty() {
        true => "ok".into(),
        false => columns.iter().map(|c| format!("{} {}", c.name, c.ty)).collect::<Vec<_>>().join(", "),
    }
}

fn names(catalog: &Catalog, table: &str) -> String {
    let table = catalog.table_by_name(table).unwrap();
    let mut names: Vec<&str> = table.indexes.iter().map(|i| &*i.name).collect();
    names.extend(table.checks.iter().map(|c| &*c.name));
    names.extend(table.foreign_keys.iter().map(|k| &*k.name));
    names.extend(table.columns.iter().flat_map(|c| c.sequence.as_deref()));
    names.sort_unstable();
    names.join(" ")
}

/// What the engine does with a definition.
fn apply(catalog: &mut Catalog, define: &Define) {
    define.apply(catalog);
}

/// Compares a file of our own making, or writes it anew.
fn check_own(file: &str, show: impl Fn(&Catalog, &str, &Statement) -> String) {
    let path = path(&format!("typed/{file}"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut catalog = Catalog::default();
    let mut written = String::new();
    text.lines().take_while(|l| l.starts_with('#')).for_each(|l| writeln!(written, "{l}").unwrap());
    for case in cases(&text) {
        let mut lines = case.sql.lines();
        writeln!(written, "> {}", lines.next().unwrap_or("")).unwrap();
        lines.for_each(|l| writeln!(written, "| {l}").unwrap());
        match bound(&mut catalog, &case.sql) {
            Ok(statement) => written.push_str(&show(&catalog, &case.sql, &statement)),
            Err(error) => written.push_str(&pointed(&case.sql, &error)),
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, written).unwrap();
    } else {
        let first = written.lines().zip(text.lines()).find(|(a, b)| a != b);
        assert!(written == text, "{path} differs (UPDATE_GOLDEN=1 writes it anew), first here: {first:#?}");
    }
}

/// An error with the text it points at.
fn pointed(sql: &str, error: &Diagnostic) -> String {
    let hint = error.hint.as_ref().map_or(String::new(), |h| format!("  hint: {h}\n"));
    format!("ERROR {} {}\n  at: {}\n{hint}", error.state, error.message, error.span.of(sql).replace('\n', " "))
}
