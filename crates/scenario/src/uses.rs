//! Which answers of a thread can matter, read off its text.
//!
//! A thread whose text writes nothing is there for what it reads: all of it counts. Of a thread that can write,
//!
//! - a column that `\gset` stores counts if a later statement uses the variable: variables are all that a client
//!   remembers;
//! - a query without `\gset` counts, since the file does not say what becomes of its answer, with one exception: a
//!   column of a single row that a later statement of the thread *reads again itself* (`SET stock = stock - 1`,
//!   `WHERE ... AND version = 3`). What was read before is then replaced by what is there when the row is written. So
//!   is a time that the statement replaces by another (`updated_at = now()`);
//! - what a statement that can write returns counts;
//! - what statements inside of a routine return counts by what the routine writes, raises and returns: its variables
//!   end with it. A call that can write nothing is there for what it reads, and all of that counts.
//!
//! An update that also gives a column a constant that it does not check (`SET stock = stock - 1, state = 'last one'`)
//! replaces nothing: the constant may come from what was read.
//!
//! A thread that leaves nothing may have given up. That takes a decision, and its text says whether it can take one: it
//! writes under a condition on columns of a table that it has read before (a version check; the primary key alone
//! checks nothing), says what to do about conflicts (ON CONFLICT,
//! SKIP LOCKED, NOWAIT, `pg_try_advisory_lock`), or calls a routine that branches or catches errors. A lone `DELETE
//! FROM website WHERE hits = 10` that misses its row decides nothing. `--@ accept` in a file adds to that.

use std::collections::BTreeSet;
use std::sync::Arc;

use isolde_sql::ast::plpgsql::StmtKind;
use isolde_sql::ast::{self, LockWait, Part, QualifiedName, RoutineBody};
use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::facts::{Facts, Verb};
use isolde_sql::typed::{Expr, ExprKind, Query, QueryBody, RelSource, Select, StatementKind};
use isolde_sql::{SqlState, Type, Value};

use crate::file::Accepted;
use crate::scenario::Submission;

/// What counts of the answers of a thread.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    /// Some statement of it may write rows.
    pub writes: bool,
    /// It may decide to leave nothing.
    pub decides: bool,
    /// Errors with which it may give up.
    pub accepted: Vec<SqlState>,
    answers: Vec<Counts>,
    /// The statements of which nothing counts but the answer and what they write: they may write rows, or store their
    /// answer in variables.
    closed: BTreeSet<usize>,
}

/// What counts of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counts {
    /// All of it.
    All,
    /// These columns of its rows.
    Columns(Vec<usize>),
    /// Nothing.
    Nothing,
}

impl Uses {
    /// Of a thread that sends these statements.
    pub(crate) fn of(catalog: &Catalog, statements: &[(&ast::Statement, &Submission)], accepted: &[Accepted]) -> Uses {
        let texts = || statements.iter().map(|(text, _)| *text);
        let submissions: Vec<&Submission> = statements.iter().map(|(_, submission)| *submission).collect();
        let writes = submissions.iter().any(|submission| submission.writes);
        let is_closed = |at: &usize| submissions[*at].writes || submissions[*at].gset.is_some();
        let closed = (0..statements.len()).filter(is_closed).collect();
        let decides = accepted.contains(&Accepted::Nothing) || Decisions::of(catalog, texts()).found;
        let errors = accepted.iter().filter_map(|accepted| accepted.error());
        let answers = (0..statements.len()).map(|at| counts(catalog, &submissions, at)).collect();
        Uses { writes, decides, accepted: errors.collect(), answers, closed }
    }

    /// Whether a thread that has left nothing has given up; `failed` is the error that it ended with.
    pub fn gives_up(&self, failed: Option<SqlState>) -> bool {
        match failed {
            None => self.writes && self.decides,
            Some(state) => self.accepted.contains(&state),
        }
    }

    /// What counts of the answer to the client's n-th statement, or to one `inside` of a routine that it calls.
    pub fn counts(&self, statement: usize, inside: bool) -> &Counts {
        match (self.writes, inside) {
            (false, _) => &Counts::All,
            (true, true) if self.closed.contains(&statement) => &Counts::Nothing,
            (true, true) => &Counts::All,
            (true, false) => self.answers.get(statement).unwrap_or(&Counts::All),
        }
    }
}

/// What counts of the answer to a statement of a thread that can write.
fn counts(catalog: &Catalog, thread: &[&Submission], at: usize) -> Counts {
    let (submission, later) = (thread[at], &thread[at + 1..]);
    let kept: Vec<usize> = match (&submission.gset, &submission.prepared.statement.kind) {
        (Some(slots), _) => {
            let is_used = |slot: &usize| later.iter().any(|submission| submission.params.contains(slot));
            slots.iter().enumerate().filter(|(_, slot)| is_used(slot)).map(|(column, _)| column).collect()
        }
        (None, StatementKind::Query(query)) if !submission.writes => {
            let replaced = replaced(catalog, query, thread, at);
            if replaced.is_empty() {
                return Counts::All;
            }
            let stays = |column: &usize| query.columns[*column].origin.is_none_or(|origin| !replaced.contains(&origin));
            (0..query.columns.len()).filter(stays).collect()
        }
        _ => return Counts::All,
    };
    if kept.is_empty() { Counts::Nothing } else { Counts::Columns(kept) }
}

/// The columns of the row that a query asks for which a later statement of the thread reads again itself.
fn replaced(catalog: &Catalog, query: &Query, thread: &[&Submission], at: usize) -> BTreeSet<(TableId, usize)> {
    let none = BTreeSet::new();
    let QueryBody::Select(select) = &query.body else { return none };
    let plain = select.grouping.is_none() && select.windows.is_empty() && select.expansions.is_empty();
    let [rel] = select.rels.as_slice() else { return none };
    let RelSource::Table(table) = rel.source else { return none };
    let Some(key) = catalog.has_table(table).then(|| catalog.table(table)).and_then(|table| table.primary_key()) else {
        return none;
    };
    let pinned = pins(select, thread[at]);
    if !plain || !query.with.is_empty() || !key.columns.iter().all(|k| pinned.iter().any(|(column, _)| column == k)) {
        return none;
    }
    let mut replaced = BTreeSet::new();
    for (i, later) in thread.iter().enumerate().skip(at + 1) {
        let (select, set) = match &later.prepared.statement.kind {
            StatementKind::Update(update) if update.table == table => (&update.select, update.set.as_slice()),
            StatementKind::Delete(delete) if delete.table == table => (&delete.select, Default::default()),
            _ => continue,
        };
        let theirs = pins(select, later);
        let is_set_between = |pin: &Pin| match pin {
            Pin::Variable(slot) => thread[at..i].iter().any(|s| s.gset.as_ref().is_some_and(|set| set.contains(slot))),
            Pin::Constant(_) => false,
        };
        let same_row = key.columns.iter().all(|k| {
            let of = |pins: &[(usize, Pin)]| pins.iter().find(|(column, _)| column == k).map(|(_, pin)| pin.clone());
            of(&pinned).is_some_and(|pin| !is_set_between(&pin) && of(&theirs) == Some(pin))
        });
        let in_filter = |column: usize| select.filter.iter().any(|filter| mentions(filter, column));
        let blind = |(column, value): &(usize, Expr)| is_constant(value) && !in_filter(*column);
        if set.iter().any(blind) {
            return none;
        }
        if !same_row {
            continue;
        }
        let width = rel.columns.len();
        let computed = |(to, value): &(usize, Expr), column: usize| {
            mentions(value, column) || (*to == column && is_moment(value.ty))
        };
        let again = |column: &usize| in_filter(*column) || set.iter().any(|set| computed(set, *column));
        replaced.extend((0..width).filter(again).map(|column| (table, column)));
    }
    replaced
}

/// A value that a column is compared with.
#[derive(Clone, Debug, PartialEq)]
enum Pin {
    Constant(Value),
    /// The value of a client's variable.
    Variable(usize),
}

/// The columns of the first relation that must equal a known value.
fn pins(select: &Select, submission: &Submission) -> Vec<(usize, Pin)> {
    let mut pins = Vec::new();
    let mut open: Vec<&Expr> = select.filter.iter().collect();
    while let Some(expr) = open.pop() {
        match &expr.kind {
            ExprKind::And(parts) => open.extend(parts),
            ExprKind::Call(function, args) if function.name == "=" => {
                let [one, other] = args.as_slice() else { continue };
                let pin = |column: &Expr, value: &Expr| match column.kind {
                    ExprKind::Column { depth: 0, rel: 0, col } => Some((usize::from(col), pin(value, submission)?)),
                    _ => None,
                };
                pins.extend(pin(one, other).or_else(|| pin(other, one)));
            }
            _ => {}
        }
    }
    pins
}

fn pin(value: &Expr, submission: &Submission) -> Option<Pin> {
    match &value.kind {
        ExprKind::Const(value) => Some(Pin::Constant(value.clone())),
        ExprKind::Param(number) => submission.params.get(*number).map(|slot| Pin::Variable(*slot)),
        ExprKind::Cast { expr, .. } => pin(expr, submission),
        _ => None,
    }
}

/// Whether a column of the first relation stands in an expression.
fn mentions(expr: &Expr, column: usize) -> bool {
    let mut found = false;
    expr.walk(0, &mut |expr, level| {
        found |= match expr.kind {
            ExprKind::Column { depth, rel: 0, col } => depth == level && usize::from(col) == column,
            ExprKind::WholeRow { depth, rel: 0 } => depth == level,
            _ => false,
        };
    });
    found
}

/// A value that is written into the statement. A moment is none: applications put the present time into rows.
fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        _ if is_moment(expr.ty) => false,
        ExprKind::Const(_) => true,
        ExprKind::Cast { expr, .. } => is_constant(expr),
        _ => false,
    }
}

fn is_moment(ty: Type) -> bool {
    matches!(ty, Type::Date | Type::Timestamp | Type::Timestamptz | Type::TimestampTo(_) | Type::TimestamptzTo(_))
}

/// Whether a statement may write rows, by itself or through the routines that it calls.
pub(crate) fn writes(catalog: &Catalog, statement: &ast::Statement) -> bool {
    let facts = Facts::of(statement);
    let called = called(catalog, &facts);
    let unknown = facts.verb == Verb::Execute || (facts.verb == Verb::Call && called.is_empty());
    unknown || writes_itself(&facts) || called.iter().any(|(_, facts)| writes_itself(facts))
}

/// The routines that a statement may run, also through others, and what is known of them.
fn called<'c>(catalog: &'c Catalog, facts: &Facts) -> Vec<(&'c RoutineBody, Facts)> {
    let mut called: Vec<(&RoutineBody, Facts)> = Vec::new();
    let (mut names, mut open) = (BTreeSet::new(), facts.functions.clone());
    while let Some(function) = open.pop() {
        for (_, routine) in catalog.routines().filter(|(_, routine)| bare(&routine.name) == &*function.name) {
            if names.insert(routine.span) {
                let facts = Facts::of_routine(&routine.body);
                open.extend(facts.functions.iter().cloned());
                called.push((&routine.body, facts));
            }
        }
    }
    called
}

fn writes_itself(facts: &Facts) -> bool {
    let effects = facts.effects;
    let does = effects.truncates || effects.defines || effects.executes || effects.two_phase || effects.outside;
    !facts.understood || does || facts.tables.iter().any(|table| table.written)
}

/// A routine's name without its schema.
fn bare(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, name)| name)
}

/// Looks for decisions in the statements of a thread, first to last, and in the routines that they call.
struct Decisions<'c> {
    catalog: &'c Catalog,
    found: bool,
    /// Tables that statements before the present one name.
    known: BTreeSet<Arc<str>>,
    /// Tables that it names itself.
    now: BTreeSet<Arc<str>>,
}

impl Decisions<'_> {
    fn of<'c, 's>(catalog: &'c Catalog, statements: impl Iterator<Item = &'s ast::Statement>) -> Decisions<'c> {
        let (known, now) = (BTreeSet::new(), BTreeSet::new());
        let mut decisions = Decisions { catalog, found: false, known, now };
        for statement in statements {
            statement.kind.walk(&mut |part| decisions.look(part));
            for (body, _) in called(catalog, &Facts::of(statement)) {
                body.walk(&mut |part| decisions.look(part));
            }
        }
        decisions
    }

    fn look(&mut self, part: Part<'_>) {
        self.found |= match part {
            Part::Statement(statement) => {
                self.known.append(&mut self.now);
                match statement {
                    ast::StatementKind::Insert(insert) => insert.on_conflict.is_some(),
                    ast::StatementKind::Update(update) => self.checks(&update.table, update.filter.as_ref()),
                    ast::StatementKind::Delete(delete) => self.checks(&delete.table, delete.filter.as_ref()),
                    _ => false,
                }
            }
            Part::Query(query) => query.locking.iter().any(|locking| locking.wait != LockWait::Block),
            Part::Table(name) => {
                self.now.insert(name.name.name.clone());
                false
            }
            Part::Expr(ast::Expr { kind: ast::ExprKind::Call(call), .. }) => TRIES.contains(&&*call.name.name.name),
            Part::Routine(name, _) => TRIES.contains(&&*name.name.name),
            Part::Block(block) => !block.handlers.is_empty(),
            Part::Stmt(stmt) => matches!(
                stmt,
                StmtKind::If(..)
                    | StmtKind::Case { .. }
                    | StmtKind::While(..)
                    | StmtKind::Exit(_, Some(_))
                    | StmtKind::Continue(_, Some(_))
            ),
            Part::Expr(_) | Part::Target(_) => false,
        };
    }

    /// Whether a write asks its rows again for something that may have been read before: the table was named before,
    /// and the condition names a column that is not of the primary key.
    fn checks(&self, table: &QualifiedName, filter: Option<&ast::Expr>) -> bool {
        let name = &table.name.name;
        let (Some(filter), Some(table)) = (filter, self.catalog.table_by_name(name)) else { return false };
        let key = table.primary_key().map_or(&[][..], |key| &key.columns);
        let columns = || table.columns.iter().enumerate().filter(|(column, _)| !key.contains(column));
        let mut found = false;
        filter.walk(&mut |part| {
            if let Part::Expr(ast::Expr { kind: ast::ExprKind::Name(words), .. }) = part {
                found |= words.last().is_some_and(|word| columns().any(|(_, column)| column.name == word.name));
            }
        });
        found && self.known.contains(name)
    }
}

/// Functions that do not wait for a lock.
const TRIES: &[&str] = &[
    "pg_try_advisory_lock",
    "pg_try_advisory_lock_shared",
    "pg_try_advisory_xact_lock",
    "pg_try_advisory_xact_lock_shared",
];
