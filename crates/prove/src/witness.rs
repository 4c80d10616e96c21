//! A violation to look at: rows and arguments that the solver found, run on the embedded database.
//!
//! Nothing that a solver says is believed. The rows are inserted into empty tables, the rule is seen to hold, the
//! procedure is called, and the rule is seen to be broken; then rows are left out one by one as long as it stays
//! broken. What cannot be seen this way is no witness.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use isolde_engine::{Activity, Database, Reply, SessionId};
use isolde_smt::{Session, Sexp, Silence, Sort, Term};
use isolde_sql::catalog::{Catalog, RoutineDef, Table, TableId};
use isolde_sql::print::identifier;
use isolde_sql::{Row, SqlError, SqlState, Type, Value, ast, parse};

use crate::Limits;
use crate::exact::Question;
use crate::interference::INTRUDER;
use crate::ir::{Action, Graph};
use crate::logic::{Sym, sort_of};
use crate::program::{Program, Rule};

/// Rows and arguments that break a rule, seen to do so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Statements that insert the rows.
    pub rows: Vec<String>,
    /// The call.
    pub call: String,
    /// The arguments, by name.
    pub arguments: Vec<(String, String)>,
    /// The lines of the source that are passed, first to last.
    pub lines: Vec<usize>,
    /// The tables that the call has changed: what was in them, and what is.
    pub changes: Vec<Changed>,
    /// What the rule gives in the end: `false`, `NULL`, or an error.
    pub outcome: String,
}

/// A table before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its name.
    pub table: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// Its rows before.
    pub before: Vec<Vec<String>>,
    /// Its rows after.
    pub after: Vec<Vec<String>>,
}

/// What the solver proposes, not yet run.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    /// The rows of each table, each value as SQL; `None` where the column is not given.
    pub(crate) rows: Vec<(TableId, Vec<Option<String>>)>,
    pub(crate) arguments: Vec<String>,
    /// The arguments of a second procedure, if there is one.
    pub(crate) intruder: Vec<String>,
    pub(crate) lines: Vec<usize>,
}

/// Bounds that are tried on numbers, so that people can read them; the last question has none.
const BOUNDS: &[i128] = &[3, 20, 1_100, 100_000];

/// Asks for an assignment with small numbers, and reads it.
pub(crate) fn propose(
    session: &mut Session,
    program: &Program,
    graph: &Graph,
    question: &Question,
    limits: &Limits,
) -> Result<Option<Proposal>, Silence> {
    let sizes = sizes(program.catalog(), graph, question);
    for bound in BOUNDS.iter().map(Some).chain([None]) {
        session.tell(&format!("(push 1)\n(assert {})\n", question.broken));
        for (term, ty) in &sizes {
            session.tell(&format!("(assert {})\n", nice(term, *ty, bound.copied())));
        }
        let patience = if bound.is_some() { limits.timeout / 4 } else { limits.timeout };
        match session.check(patience) {
            Ok(isolde_smt::Answer::Sat) => return read(session, program, graph, question, limits).map(Some),
            Ok(isolde_smt::Answer::Unsat) | Err(Silence::Unknown) => session.tell("(pop 1)\n"),
            Err(silence) => return Err(silence),
        }
    }
    Ok(None)
}

/// The numbers that a person will read, with their types.
fn sizes(catalog: &Catalog, graph: &Graph, question: &Question) -> Vec<(Term, Type)> {
    let inputs = graph.variables.iter().zip(&question.start.variables).filter(|(variable, _)| variable.input.is_some());
    let mut all: Vec<(Term, Type)> = inputs.map(|(variable, sym)| (sym.value.clone(), variable.ty)).collect();
    for (id, slots) in &question.start.db.tables {
        for slot in slots {
            let columns = slot.columns.iter().zip(&catalog.table(*id).columns);
            all.extend(columns.map(|(sym, column)| (sym.value.clone(), column.ty)));
        }
    }
    all
}

/// A number that can be written down and is not too large. Dates lie in this century.
fn nice(term: &Term, ty: Type, bound: Option<i128>) -> Term {
    let between = |low: i128, high: i128| {
        Term::and([Term::Int(low).at_most(term.clone()), term.clone().at_most(Term::Int(high))])
    };
    const DAY: i128 = 86_400_000_000;
    match (sort_of(ty), ty.underlying().base()) {
        (_, Type::Date) => between(0, 10_000),
        (_, Type::Timestamp | Type::Timestamptz) => between(0, 10_000 * DAY),
        (_, Type::Time) => between(0, DAY - 1),
        (Some(Sort::Int), Type::Int2 | Type::Int4 | Type::Int8) => {
            bound.map_or(Term::True, |bound| between(-bound, bound))
        }
        (Some(Sort::Int), _) => between(0, 1_000_000),
        (Some(Sort::Real), _) => {
            let cents = term.clone().times(Term::Real(100, 0));
            let whole = cents.clone().floor().to_real().equal(cents);
            let bound = bound.unwrap_or(i128::from(i64::MAX));
            let small =
                Term::and([Term::Real(-bound, 0).at_most(term.clone()), term.clone().at_most(Term::Real(bound, 0))]);
            Term::and([whole, small])
        }
        _ => Term::True,
    }
}

fn read(
    session: &mut Session,
    program: &Program,
    graph: &Graph,
    question: &Question,
    limits: &Limits,
) -> Result<Proposal, Silence> {
    let catalog = program.catalog();
    let texts: BTreeMap<i128, Arc<str>> =
        question.ctx.texts().iter().map(|(text, code)| (*code, text.clone())).collect();
    let mut rows = Vec::new();
    for (id, slots) in &question.start.db.tables {
        let table = catalog.table(*id);
        for slot in slots {
            let alive = session.values(std::slice::from_ref(&slot.alive), limits.timeout)?;
            if !is_true(&alive[0]) {
                continue;
            }
            let values = literals(
                session,
                &slot.columns,
                &table.columns.iter().map(|c| c.ty).collect::<Vec<_>>(),
                &texts,
                limits,
            )?;
            let given = values
                .into_iter()
                .zip(&table.columns)
                .map(|(value, column)| value.filter(|_| column.generated.is_none()));
            rows.push((*id, given.collect()));
        }
    }
    let arguments = arguments(session, graph, question, &texts, 0..INTRUDER, limits)?;
    let intruder = self::arguments(session, graph, question, &texts, INTRUDER..usize::MAX, limits)?;
    let lines = path(session, program, graph, question, limits)?;
    Ok(Proposal { rows, arguments, intruder, lines })
}

/// The arguments of a procedure, in order: the inputs whose positions lie in a range.
fn arguments(
    session: &mut Session,
    graph: &Graph,
    question: &Question,
    texts: &BTreeMap<i128, Arc<str>>,
    range: std::ops::Range<usize>,
    limits: &Limits,
) -> Result<Vec<String>, Silence> {
    let variables = graph.variables.iter().zip(&question.start.variables);
    let inputs = variables.filter_map(|(variable, sym)| Some((variable.input?, variable.ty, sym.clone())));
    let mut inputs: Vec<(usize, Type, Sym)> = inputs.filter(|(at, _, _)| range.contains(at)).collect();
    inputs.sort_by_key(|(at, _, _)| *at);
    let types: Vec<Type> = inputs.iter().map(|(_, ty, _)| *ty).collect();
    let syms: Vec<Sym> = inputs.into_iter().map(|(_, _, sym)| sym).collect();
    let values = literals(session, &syms, &types, texts, limits)?;
    Ok(values.into_iter().map(|value| value.unwrap_or_else(|| "NULL".into())).collect())
}

fn is_true(value: &Sexp) -> bool {
    value.atom() == Some("true")
}

/// The lines that the found run passes.
fn path(
    session: &mut Session,
    program: &Program,
    graph: &Graph,
    question: &Question,
    limits: &Limits,
) -> Result<Vec<usize>, Silence> {
    let terms: Vec<Term> = question.taken.iter().map(|(_, term)| term.clone()).collect();
    let values = session.values(&terms, limits.timeout)?;
    let mut lines: Vec<usize> = Vec::new();
    for ((edge, _), value) in question.taken.iter().zip(&values) {
        let edge = &graph.edges[*edge];
        let line = program.line(edge.span);
        if is_true(value) && !matches!(edge.action, Action::Skip) && lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    // The order of places is not that of time where branches are independent, but within one run it is.
    Ok(lines)
}

/// Values as SQL; `None` for what cannot be written down.
fn literals(
    session: &mut Session,
    syms: &[Sym],
    types: &[Type],
    texts: &BTreeMap<i128, Arc<str>>,
    limits: &Limits,
) -> Result<Vec<Option<String>>, Silence> {
    let terms: Vec<Term> = syms.iter().flat_map(|sym| [sym.null.clone(), sym.value.clone()]).collect();
    let values = session.values(&terms, limits.timeout)?;
    let each = values.chunks(2).zip(types).map(|(pair, ty)| match is_true(&pair[0]) {
        true => Some("NULL".to_string()),
        false => literal(&pair[1], *ty, texts),
    });
    Ok(each.collect())
}

fn literal(value: &Sexp, ty: Type, texts: &BTreeMap<i128, Arc<str>>) -> Option<String> {
    if sort_of(ty)? == Sort::Bool {
        return value.atom().map(str::to_string);
    }
    let (number, over) = value.number()?;
    let whole = (over == 1).then_some(number);
    match ty.underlying().base() {
        Type::Int2 | Type::Int4 | Type::Int8 => whole.map(|n| n.to_string()),
        Type::Numeric(_) | Type::Float4 | Type::Float8 => decimal(number, over),
        Type::Date => Some(format!("'{}'", Value::Date(i32::try_from(whole?).ok()?))),
        Type::Timestamp => Some(format!("'{}'", Value::Timestamp(i64::try_from(whole?).ok()?))),
        Type::Timestamptz => Some(format!("'{}'", Value::Timestamptz(i64::try_from(whole?).ok()?))),
        Type::Time => Some(format!("'{}'", Value::Time(i64::try_from(whole?).ok()?))),
        Type::Text | Type::Varchar(_) | Type::Bpchar(_) => Some(match texts.get(&whole?) {
            Some(text) => quoted(text),
            None => quoted(&format!("t{}", whole?)),
        }),
        Type::Uuid => Some(match texts.get(&whole?) {
            Some(text) => quoted(text),
            None => format!("'00000000-0000-0000-0000-{:012x}'", whole?.unsigned_abs() & 0xffff_ffff_ffff),
        }),
        Type::Enum(user) => user.labels().get(usize::try_from(whole?).ok()?).map(|label| quoted(&label.label)),
        _ => None,
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A fraction in decimal digits, if it has finitely many.
fn decimal(number: i128, over: i128) -> Option<String> {
    let mut scaled = number;
    let mut rest = over;
    for places in 0..18 {
        if scaled % rest == 0 {
            let digits = (scaled / rest).unsigned_abs().to_string();
            let digits = format!("{digits:0>width$}", width = places + 1);
            let (whole, fraction) = digits.split_at(digits.len() - places);
            let sign = if number < 0 { "-" } else { "" };
            return Some(if fraction.is_empty() {
                format!("{sign}{whole}")
            } else {
                format!("{sign}{whole}.{fraction}")
            });
        }
        scaled = scaled.checked_mul(10)?;
        rest = rest.max(1);
    }
    None
}

/// What came of running a proposal.
pub(crate) enum Confirmed {
    /// It shows the violation.
    Shown(Box<Witness>),
    /// It would, but these rules, by position, do not hold at the start.
    Needs(Vec<usize>),
    /// It does not show the violation, in any order of its rows.
    No,
}

/// Runs a proposal.
pub(crate) fn confirm(program: &Program, graph: &Graph, rule: &Rule, proposal: &Proposal) -> Confirmed {
    let others = |rows: &Proposal| broken_before(program, rule, rows);
    match shown(program, graph, rule, proposal) {
        Some(witness) => Confirmed::Shown(Box::new(witness)),
        None => match others(proposal) {
            Some(broken) if !broken.is_empty() => Confirmed::Needs(broken),
            _ => Confirmed::No,
        },
    }
}

/// The other rules that the rows of a proposal break, if the rule itself holds of them.
fn broken_before(program: &Program, rule: &Rule, proposal: &Proposal) -> Option<Vec<usize>> {
    let mut database = program.database.clone();
    let session = database.open_session();
    empty(&mut database, session)?;
    for statement in insertions(program.catalog(), proposal) {
        execute(&mut database, session, &statement).ok()?;
    }
    if outcome(&database, rule).is_some() {
        return None;
    }
    let rules = program.rules.iter().enumerate();
    Some(rules.filter(|(_, other)| outcome(&database, other).is_some()).map(|(at, _)| at).collect())
}

/// The rows of a proposal in the orders in which they are tried: as they were found, and by their values, each in both
/// directions. A statement that moves keys meets them in that order.
fn orders(proposal: &Proposal) -> Vec<Proposal> {
    let number = |value: &Option<String>| value.as_ref().and_then(|text| text.parse::<i128>().ok());
    let mut sorted = proposal.clone();
    sorted.rows.sort_by_cached_key(|(table, row)| (*table, row.iter().map(number).collect::<Vec<_>>()));
    let reversed = |of: &Proposal| Proposal { rows: of.rows.iter().rev().cloned().collect(), ..of.clone() };
    vec![proposal.clone(), reversed(proposal), reversed(&sorted), sorted]
}

fn shown(program: &Program, graph: &Graph, rule: &Rule, proposal: &Proposal) -> Option<Witness> {
    let mut found = orders(proposal).into_iter().find_map(|p| Some((run(program, graph, rule, &p)?, p)))?;
    // Rows that are not needed only distract.
    let mut at = 0;
    while at < found.1.rows.len() {
        let mut fewer = found.1.clone();
        fewer.rows.remove(at);
        match run(program, graph, rule, &fewer) {
            Some(witness) => found = (witness, fewer),
            None => at += 1,
        }
    }
    Some(found.0)
}

fn run(program: &Program, graph: &Graph, rule: &Rule, proposal: &Proposal) -> Option<Witness> {
    let catalog = program.catalog();
    let mut database = program.database.clone();
    let session = database.open_session();
    empty(&mut database, session)?;
    let inserted = insertions(catalog, proposal);
    for statement in &inserted {
        execute(&mut database, session, statement).ok()?;
    }
    // Every rule holds before the call.
    if [rule].into_iter().chain(&program.rules).any(|rule| outcome(&database, rule).is_some()) {
        return None;
    }
    let before = database.clone();
    let def = catalog.routine(graph.routine);
    let call = call_of(def, &proposal.arguments);
    let outcome = watched(&mut database, session, &call, graph.commits, rule)?;
    let inputs = def.params.iter().filter(|p| p.mode != ast::ParamMode::Out);
    let arguments = inputs.zip(&proposal.arguments).map(|(p, value)| (p.name.to_string(), value.clone())).collect();
    let changes = changes(catalog, &before, &database);
    Some(Witness { rows: inserted, call, arguments, lines: proposal.lines.clone(), changes, outcome })
}

/// The statements that insert the rows of a proposal.
pub(crate) fn insertions(catalog: &Catalog, proposal: &Proposal) -> Vec<String> {
    let rows = ordered(catalog, &with_parents(catalog, &proposal.rows));
    rows.iter().map(|(id, values)| insert(catalog.table(*id), values)).collect()
}

/// The rows, and parents for those that point at rows of tables that were not tracked.
fn with_parents(catalog: &Catalog, rows: &[(TableId, Vec<Option<String>>)]) -> Vec<(TableId, Vec<Option<String>>)> {
    let mut all = rows.to_vec();
    let mut at = 0;
    while at < all.len() && all.len() < 1_000 {
        let (id, values) = all[at].clone();
        for fk in &catalog.table(id).foreign_keys {
            let key: Option<Vec<&String>> =
                fk.columns.iter().map(|c| values[*c].as_ref().filter(|v| *v != "NULL")).collect();
            let Some(key) = key else { continue };
            let there = |row: &Vec<Option<String>>| {
                fk.parent_columns.iter().zip(&key).all(|(c, v)| row[*c].as_ref() == Some(v))
            };
            if !all.iter().any(|(table, row)| *table == fk.parent && there(row)) {
                all.push((fk.parent, filler(catalog.table(fk.parent), &fk.parent_columns, &key)));
            }
        }
        at += 1;
    }
    all
}

/// A row with this key, and something plain in every other column that must not be NULL.
fn filler(table: &Table, columns: &[usize], key: &[&String]) -> Vec<Option<String>> {
    let plain = |ty: Type| match (sort_of(ty), ty.underlying().base()) {
        (Some(Sort::Bool), _) => "false",
        (_, Type::Int2 | Type::Int4 | Type::Int8 | Type::Numeric(_) | Type::Float4 | Type::Float8) => "0",
        (_, Type::Date | Type::Timestamp | Type::Timestamptz) => "'2000-01-01'",
        _ => "''",
    };
    let value = |(at, column): (usize, &isolde_sql::catalog::Column)| match columns.iter().position(|c| *c == at) {
        Some(n) => Some(key[n].clone()),
        None if column.not_null && column.default.is_none() && column.identity.is_none() => {
            Some(plain(column.ty).to_string())
        }
        None => None,
    };
    table.columns.iter().enumerate().map(value).collect()
}

/// Parents before their children.
fn ordered(catalog: &Catalog, rows: &[(TableId, Vec<Option<String>>)]) -> Vec<(TableId, Vec<Option<String>>)> {
    let mut tables: Vec<TableId> = Vec::new();
    let mut left: Vec<TableId> = catalog.tables().map(|table| table.id).collect();
    while !left.is_empty() {
        let free = |id: &TableId| {
            catalog.table(*id).foreign_keys.iter().all(|fk| fk.parent == *id || !left.contains(&fk.parent))
        };
        let next = left.iter().position(free).unwrap_or(0);
        tables.push(left.remove(next));
    }
    let place = |id: &TableId| tables.iter().position(|table| table == id);
    let mut rows = rows.to_vec();
    rows.sort_by_key(|(id, _)| place(id));
    rows
}

/// The database of a program, without rows.
pub(crate) fn emptied(program: &Program) -> Option<Database> {
    let mut database = program.database.clone();
    let session = database.open_session();
    empty(&mut database, session)?;
    Some(database)
}

fn empty(database: &mut Database, session: SessionId) -> Option<()> {
    let names: Vec<String> =
        database.catalog().tables().filter(|t| t.materialized.is_none()).map(|t| name(t)).collect();
    if names.is_empty() {
        return Some(());
    }
    execute(database, session, &format!("TRUNCATE {}", names.join(", "))).ok().map(|_| ())
}

pub(crate) fn name(table: &Table) -> String {
    match &table.schema {
        Some(schema) => format!("{}.{}", identifier(schema), identifier(&table.name)),
        None => identifier(&table.name),
    }
}

fn insert(table: &Table, values: &[Option<String>]) -> String {
    let given: Vec<(&str, &String)> =
        table.columns.iter().zip(values).filter_map(|(column, value)| Some((&*column.name, value.as_ref()?))).collect();
    let columns: Vec<String> = given.iter().map(|(column, _)| identifier(column)).collect();
    let values: Vec<&str> = given.iter().map(|(_, value)| value.as_str()).collect();
    let always = table.columns.iter().any(|c| c.identity == Some(isolde_sql::catalog::Identity::Always));
    let overriding = if always { " OVERRIDING SYSTEM VALUE" } else { "" };
    format!("INSERT INTO {} ({}){overriding} VALUES ({})", name(table), columns.join(", "), values.join(", "))
}

/// The statement that calls a routine.
pub(crate) fn call_of(def: &RoutineDef, arguments: &[String]) -> String {
    let (params, procedure) = (&def.params, def.procedure);
    let mut given = arguments.iter();
    let mut list = Vec::new();
    for param in params {
        match param.mode {
            ast::ParamMode::Out if procedure => list.push("NULL".to_string()),
            ast::ParamMode::Out => {}
            // A literal without a type may fit several routines.
            _ => list.extend(given.next().map(|value| match value.starts_with('\'') || value == "NULL" {
                true => format!("{value}::{}", param.ty),
                // A number is an integer, which does not become smaller by itself.
                false if param.ty.underlying() == Type::Int2 => format!("'{value}'::{}", param.ty),
                false => value.clone(),
            })),
        }
    }
    let verb = if procedure { "CALL" } else { "SELECT" };
    format!("{verb} {}({})", identifier(&def.name), list.join(", "))
}

/// More steps than this are taken to be an endless loop.
const STEPS_MAX: usize = 200_000;

/// Runs a statement to its end.
pub(crate) fn execute(database: &mut Database, session: SessionId, text: &str) -> Reply {
    let mut statements = parse::script(text).map_err(SqlError::from)?;
    let statement = statements.pop().ok_or_else(|| SqlError::new(SqlState::SYNTAX_ERROR, "there is no statement"))?;
    let prepared = database.prepare_in(session, &statement, text, &[]).map_err(SqlError::from)?;
    if let Some(reply) = database.submit(session, &prepared, &[]) {
        return reply;
    }
    for _ in 0..STEPS_MAX {
        if let Activity::Blocked(_) = database.activity(session) {
            break;
        }
        if let Some(reply) = database.step(session).reply {
            return reply;
        }
    }
    Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "no end"))
}

/// Runs a call, and says how the rule is broken behind it; or on its way, if it commits there.
fn watched(database: &mut Database, session: SessionId, call: &str, commits: bool, rule: &Rule) -> Option<String> {
    if !commits {
        execute(database, session, call).ok()?;
        return outcome(database, rule);
    }
    let statement = parse::script(call).ok()?.pop()?;
    let prepared = database.prepare_in(session, &statement, call, &[]).ok()?;
    let mut reply = database.submit(session, &prepared, &[]);
    for _ in 0..STEPS_MAX {
        // An error undoes what was done since the last commit, and no more.
        if let Some(broken) = outcome(database, rule) {
            return Some(broken);
        }
        if reply.is_some() || matches!(database.activity(session), Activity::Blocked(_)) {
            return None;
        }
        reply = database.step(session).reply;
    }
    None
}

/// How the rule is broken; `None` if it holds.
pub(crate) fn outcome(database: &Database, rule: &Rule) -> Option<String> {
    match database.query(&rule.prepared) {
        Err(error) => Some(format!("error: {error}")),
        Ok(rows) => rows.iter().find_map(|row| row.first().filter(|value| !value.is_true())).map(|value| match value {
            Value::Null => "NULL".to_string(),
            _ => "false".to_string(),
        }),
    }
}

fn changes(catalog: &Catalog, before: &Database, after: &Database) -> Vec<Changed> {
    let mut changes = Vec::new();
    for table in catalog.tables().filter(|table| table.materialized.is_none()) {
        let (old, new) = (rows(before, table), rows(after, table));
        if old != new {
            let columns = table.columns.iter().map(|column| column.name.to_string()).collect();
            changes.push(Changed { table: table.name.to_string(), columns, before: old, after: new });
        }
    }
    changes
}

fn rows(database: &Database, table: &Table) -> Vec<Vec<String>> {
    let mut text = String::new();
    let _ = write!(text, "SELECT * FROM {}", name(table));
    let mut copy = database.clone();
    let session = copy.open_session();
    let reply = execute(&mut copy, session, &text);
    let shown =
        |row: &Row| row.iter().map(|value| if value.is_null() { "NULL".into() } else { value.to_string() }).collect();
    let mut rows: Vec<Vec<String>> = reply.map(|result| result.rows.iter().map(shown).collect()).unwrap_or_default();
    rows.sort();
    rows
}
