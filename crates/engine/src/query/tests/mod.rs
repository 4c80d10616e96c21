//! Queries as text in, text out.
//!
//! Each file of `golden/` is a script; what follows a statement as `-->` lines is its answer, as `psql -At` prints it.
//! Two tests read the files: one runs them here (`UPDATE_GOLDEN=1` writes the answers down), the other on a real
//! PostgreSQL. So a line in these files is a claim about both.

#![allow(clippy::unwrap_used)]

mod calls;
mod generated;
mod reads;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use isolde_sql::builtin::SessionFunction;
use isolde_sql::catalog::Catalog;
use isolde_sql::typed::{self, Define, Edit, StatementKind};
use isolde_sql::{Row, SqlError, Value, bind, parse};
use isolde_testkit::{Cluster, Response};

use super::{candidates, run};
use crate::eval::{self, Calls, Context, Env, Host, Interrupt, RelRow};
use crate::footprint::Read;
use crate::plan;
use crate::storage::{RowId, TableData, Tables, Tuple};

/// Enough of a database to have something to query.
#[derive(Default)]
struct Fixture {
    catalog: Catalog,
    tables: Tables,
    next: u64,
    host: Sequences,
    calls: Calls,
    /// What the last statement read.
    reads: Vec<Read>,
}

#[derive(Default)]
struct Sequences(BTreeMap<String, i64>);

impl Host for Sequences {
    fn session_function(&mut self, function: SessionFunction, args: &[Value]) -> Result<Value, Interrupt> {
        match (function, args) {
            (SessionFunction::NextVal, [name]) => {
                let value = self.0.entry(name.to_string()).or_default();
                *value += 1;
                Ok(Value::Int(*value))
            }
            _ => Ok(Value::Null),
        }
    }
}

impl Fixture {
    /// A database after a script.
    fn new(script: &str) -> Fixture {
        let mut fixture = Fixture::default();
        for statement in parse::script(script).unwrap() {
            fixture.bound(&statement, script, &[]).unwrap();
        }
        fixture
    }

    /// Runs one statement with values for `$1`, ...
    fn rows(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Interrupt> {
        let statement = &parse::script(sql).map_err(SqlError::from)?[0];
        self.bound(statement, sql, params)
    }

    fn bound(&mut self, s: &isolde_sql::ast::Statement, source: &str, params: &[Value]) -> Result<Vec<Row>, Interrupt> {
        let types: Vec<_> = params.iter().map(|_| isolde_sql::Type::Unknown).collect();
        let statement = bind::statement(&self.catalog, s, source, &types).map_err(SqlError::from)?;
        self.calls.rewind();
        self.reads.clear();
        match &statement.kind {
            StatementKind::Query(query) => {
                let plan = plan::query(&self.catalog, query);
                self.within(params, |ctx| run(ctx, &plan, None))
            }
            StatementKind::Define(define) => {
                self.define(define);
                Ok(Vec::new())
            }
            StatementKind::Insert(insert) => self.insert(insert, params),
            StatementKind::Update(update) => self.update(update, params),
            StatementKind::Delete(delete) => {
                for row in self.targets(&delete.select, params)? {
                    let table = self.catalog.table(delete.table).clone();
                    self.tables.table_mut(delete.table).remove(&table, row[0].id.unwrap());
                }
                Ok(Vec::new())
            }
            other => panic!("the fixture does not run {other:?}"),
        }
    }

    fn within<T>(&mut self, params: &[Value], f: impl FnOnce(&mut Context<'_>) -> T) -> T {
        f(&mut Context {
            view: &self.tables,
            params,
            host: &mut self.host,
            calls: &mut self.calls,
            reads: &mut self.reads,
            reader: None,
        })
    }

    fn define(&mut self, define: &Define) {
        if let Define::Change(change) = define {
            for edit in &change.edits {
                match edit {
                    Edit::AddTable(table) => self.tables.push(TableData::new(table.indexes.len())),
                    Edit::Table(edit) => {
                        let mut data = TableData::new(edit.table.indexes.len());
                        let old = self.tables.table(edit.table.id);
                        old.iter().for_each(|(row, tuple)| data.put(&edit.table, row, tuple.clone()));
                        *self.tables.table_mut(edit.table.id) = data;
                    }
                    _ => {}
                }
            }
        }
        define.apply(&mut self.catalog);
    }

    fn insert(&mut self, insert: &typed::Insert, params: &[Value]) -> Result<Vec<Row>, Interrupt> {
        let source = plan::query(&self.catalog, &insert.source);
        let values: Vec<_> = insert.values.iter().map(|e| plan::expr(&self.catalog, e)).collect();
        for row in self.within(params, |ctx| run(ctx, &source, None))? {
            let rows = [RelRow::new(row)];
            let values = self.within(params, |ctx| eval::row(ctx, &Env::new(&rows), &values))?;
            let table = self.catalog.table(insert.table).clone();
            self.next += 1;
            let tuple = Tuple::new(self.next, values);
            self.tables.table_mut(insert.table).put(&table, RowId(self.next), tuple);
        }
        Ok(Vec::new())
    }

    fn targets(&mut self, select: &typed::Select, params: &[Value]) -> Result<Vec<Vec<RelRow>>, Interrupt> {
        let select = plan::select(&self.catalog, select, &[]);
        let found = self.within(params, |ctx| candidates(ctx, &select, &plan::WithScope::default()))?;
        Ok(found.into_iter().map(|c| c.rows.into_vec()).collect())
    }

    fn update(&mut self, update: &typed::Update, params: &[Value]) -> Result<Vec<Row>, Interrupt> {
        for rows in self.targets(&update.select, params)? {
            let mut values = rows[0].values.to_vec();
            for (column, e) in &update.set {
                let e = plan::expr(&self.catalog, e);
                values[*column] = self.within(params, |ctx| eval::eval(ctx, &Env::new(&rows), &e))?;
            }
            let table = self.catalog.table(update.table).clone();
            self.next += 1;
            let tuple = Tuple::new(self.next, values.into());
            self.tables.table_mut(update.table).put(&table, rows[0].id.unwrap(), tuple);
        }
        Ok(Vec::new())
    }

    /// The answer as text.
    fn show(&mut self, sql: &str) -> String {
        match self.rows(sql, &[]) {
            Ok(rows) => rows.iter().map(|row| format!("{}\n", line(row.iter().map(text)))).collect(),
            Err(Interrupt::Error(error)) => format!("ERROR {}: {}\n", error.state, error.message),
            Err(Interrupt::Call(routine, args)) => format!("CALL {routine:?} {args:?}\n"),
            Err(Interrupt::Lock(query)) => format!("LOCK {query:?}\n"),
            Err(Interrupt::With(_, statement)) => format!("WITH {statement:?}\n"),
            Err(Interrupt::Wait(target)) => format!("WAIT {target:?}\n"),
        }
    }
}

fn text(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| value.to_string())
}

/// A row as `psql -At` prints it, NULL as `~`.
fn line(values: impl Iterator<Item = Option<String>>) -> String {
    let values: Vec<String> = values.map(|v| v.unwrap_or("~".into())).collect();
    values.join("|")
}

/// The statements of a golden file with their answers.
fn blocks(file: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    for block in file.split("\n\n").filter(|b| !b.trim().is_empty()) {
        let is_answer = |l: &&str| l.starts_with("-->");
        let sql: Vec<&str> = block.trim().lines().filter(|l| !is_answer(l)).collect();
        let answer = block.lines().filter(is_answer).map(|l| l.trim_start_matches("-->").trim_start());
        blocks.push((sql.join("\n"), answer.map(|l| format!("{l}\n")).collect()));
    }
    blocks
}

fn is_query(sql: &str) -> bool {
    let code = sql.lines().find(|l| !l.starts_with("--")).unwrap_or("");
    ["SELECT", "VALUES", "WITH", "("].iter().any(|k| code.starts_with(k))
}

fn golden_files() -> Vec<PathBuf> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/query/golden");
    let mut files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn golden_scripts() {
    for path in golden_files() {
        let file = std::fs::read_to_string(&path).unwrap();
        let mut fixture = Fixture::default();
        let mut actual = Vec::new();
        for (sql, _) in blocks(&file) {
            let mut block = format!("{sql}\n");
            if is_query(&sql) {
                fixture.show(&sql).lines().for_each(|l| writeln!(block, "--> {l}").unwrap());
            } else {
                for statement in parse::script(&sql).unwrap() {
                    fixture.bound(&statement, &sql, &[]).unwrap();
                }
            }
            actual.push(block);
        }
        let actual = actual.join("\n");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &actual).unwrap();
        } else {
            assert!(actual == file, "{}: run with UPDATE_GOLDEN=1 and look at the diff", path.display());
        }
    }
}

/// Rows whose order nobody asked for are compared without it.
#[test]
fn golden_scripts_on_postgresql() {
    let cluster = Cluster::start().expect("./test installs PostgreSQL where it is missing");
    let mut differences = String::new();
    for path in golden_files() {
        let database = cluster.create_database().unwrap();
        let mut session = cluster.connect(&database, "").unwrap();
        for (sql, expected) in blocks(&std::fs::read_to_string(&path).unwrap()) {
            let mut answer: Vec<String> = session.query(&sql).unwrap().into_iter().flat_map(lines).collect();
            let mut expected: Vec<&str> = expected.lines().collect();
            if !sql.contains("ORDER BY") || sql.contains("unordered") {
                answer.sort();
                expected.sort();
            }
            if answer != expected {
                writeln!(differences, "{sql}\n  server {answer:?}\n  here   {expected:?}").unwrap();
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

fn lines(response: impl Into<Response>) -> Vec<String> {
    match response.into() {
        Response::Rows { rows, .. } => rows.iter().map(|row| line(row.iter().cloned())).collect(),
        Response::Done { .. } => Vec::new(),
        Response::Error { sqlstate, message } => vec![format!("ERROR {sqlstate}: {message}")],
    }
}
