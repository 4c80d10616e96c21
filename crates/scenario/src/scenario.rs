//! A scenario ready to run: set-up executed, every statement bound, a session for every thread.

use std::collections::BTreeSet;
use std::sync::Arc;

use isolde_engine::footprint::ColumnSet;
use isolde_engine::{Activity, Database, Prepared, Reach, Reply, SessionId, StatementResult};
use isolde_sql::ast::{self, StatementKind as Ast};
use isolde_sql::budget::Budget;
use isolde_sql::catalog::{ReturnsDef, TableId};
use isolde_sql::facts::{Facts, Orders};
use isolde_sql::typed::{self, StatementKind};
use isolde_sql::{Diagnostic, Span, SqlError, SqlState, Type, Value, bind, parse};

use crate::ScenarioError;
use crate::clock::Clock;
use crate::dependence::order::Order;
use crate::dependence::{constant, reach};
use crate::file::{self, ClientStatement, FileOptions, Loader, QuerySection, ScenarioFile, Sources, ThreadSection};
use crate::outcome::{Generated, generated};
use crate::uses::{self, Uses};

/// A scenario ready to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(crate) sources: Sources,
    /// The database after set-up; sessions are open and idle.
    pub(crate) database: Database,
    pub(crate) threads: Vec<Thread>,
    pub(crate) invariants: Vec<Check>,
    pub(crate) finals: Vec<Check>,
    pub(crate) options: FileOptions,
    /// The columns whose values come from sequences.
    pub(crate) generated: Arc<Generated>,
    /// ROLLBACK, for a client that gives up.
    pub(crate) rollback: Arc<Prepared>,
    /// The columns of each table whose value no row ever changes.
    pub(crate) constant: Arc<[ColumnSet]>,
    /// Who takes rows in the order in which they lie.
    pub(crate) order: Arc<Order>,
    /// For each thread, what a transaction reaches that begins with its n-th statement, if that is known.
    pub(crate) reach: Option<Vec<Vec<Arc<Reach>>>>,
    /// How time may pass.
    pub(crate) clock: Arc<Clock>,
}

/// A thread: one session, and what its client sends.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its name.
    pub name: Arc<str>,
    /// Its session.
    pub session: SessionId,
    /// What it sends, in order.
    pub(crate) statements: Vec<Submission>,
    /// How often it starts an aborted transaction again.
    pub retries: u32,
    /// Statements of its routines are transactions of their own.
    pub autocommit: bool,
    /// Errors that are no violation.
    pub(crate) expected: Vec<SqlState>,
    /// The values its variables start with; unset ones are NULL.
    pub(crate) variables: Vec<Value>,
    /// Time may pass, and it may read the time: each of its statements is sent in a step.
    pub(crate) reads_clock: bool,
    /// Which of its answers can matter.
    pub uses: Arc<Uses>,
}

/// A statement to be sent, with where its parameters come from and where its result goes.
#[derive(Clone, Debug)]
pub(crate) struct Submission {
    pub(crate) prepared: Arc<Prepared>,
    /// The variable for each parameter.
    pub(crate) params: Vec<usize>,
    /// `\gset`: the variable for each column.
    pub(crate) gset: Option<Vec<usize>>,
    /// The order of its rows is part of its result.
    pub(crate) ordered: bool,
    /// It may write rows.
    pub(crate) writes: bool,
}

/// A query that must return true.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) name: Arc<str>,
    pub(crate) query: Arc<Prepared>,
    /// The tables that it reads; `None` if a routine may read any.
    pub(crate) watches: Option<BTreeSet<TableId>>,
}

impl Thread {
    /// Whether this error ends the thread as its author says it may.
    pub fn expects(&self, error: &SqlError) -> bool {
        self.expected.contains(&error.state)
    }
}

/// A statement of a set-up that was not carried out.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// The statement, as far as it was understood.
    pub statement: ast::Statement,
    /// Why.
    pub why: Diagnostic,
}

/// Carries out what can be carried out of a set-up: a statement that is not supported, or fails, leaves no trace but in
/// the list. What is no SQL at all is a mistake.
pub fn set_up_possible(file: &ScenarioFile) -> Result<(Database, Vec<Skipped>), ScenarioError> {
    let mut database = Database::new();
    let session = database.open_session();
    let mut variables = Variables::default();
    let mut orders = Orders::default();
    let mut skipped = Vec::new();
    for statement in &file.setup {
        let before = database.clone();
        let done = match unread(&statement.ast) {
            Some(why) => Err(why),
            None => run_one(&mut database, session, statement, &mut variables, &mut orders, &file.sources),
        };
        match done {
            Ok(()) => {}
            // What was cut off is not known to fail: nothing follows from a set-up without it.
            Err(why) if why.state == SqlState::SYNTAX_ERROR || why.state.is_cut() => {
                return Err(file.sources.error(why));
            }
            Err(why) => {
                database = before;
                skipped.push(Skipped { statement: statement.ast.clone(), why });
            }
        }
    }
    Ok((database, skipped))
}

/// Why a statement was not read.
fn unread(statement: &ast::Statement) -> Option<Diagnostic> {
    match &statement.kind {
        ast::StatementKind::Ignored(ignored) if ignored.tag.is_empty() => {
            parse::statement(parse::Fragment { text: &ignored.text, offset: statement.span.start }).err()
        }
        _ => None,
    }
}

impl Scenario {
    /// Reads a scenario, runs its set-up and binds its statements. `loader` reads the files it includes.
    pub fn parse(name: &str, text: &str, loader: Loader<'_>) -> Result<Scenario, ScenarioError> {
        Scenario::new(file::read(name, text, loader)?)
    }

    /// Runs the set-up of a file and binds its statements.
    pub fn new(file: ScenarioFile) -> Result<Scenario, ScenarioError> {
        let clock = Arc::new(Clock::of(&file));
        let ScenarioFile { sources, setup, threads, invariants, finals, expected, accepted, options, .. } = file;
        let built = (|| {
            let mut database = Database::new();
            let variables = run_setup(&mut database, &setup, &sources)?;
            check_routines(&database, &threads, &sources)?;
            let defines = locks_tables(&database, &threads);
            database.track_table_locks(defines);
            let threads = threads.into_iter().enumerate().map(|(number, section)| {
                let section = ThreadSection {
                    expected: expected.iter().chain(&section.expected).copied().collect(),
                    accepted: accepted.iter().chain(&section.accepted).copied().collect(),
                    ..section
                };
                let thread = bind_thread(&mut database, section, &options, variables.clone(), &sources, defines)?;
                Ok(Thread { reads_clock: clock.is_read_by(number), ..thread })
            });
            let threads: Vec<Thread> = threads.collect::<Result<_, _>>()?;
            let bind = |q: &QuerySection| bind_check(&database, q, &sources);
            let invariants: Vec<Check> = invariants.iter().map(bind).collect::<Result<_, _>>()?;
            let finals: Vec<Check> = finals.iter().map(bind).collect::<Result<_, _>>()?;
            let rollback = rollback(&database)?;
            let sources = sources.clone();
            let statements = || threads.iter().flat_map(|t: &Thread| &t.statements).map(|s| &*s.prepared.statement);
            let constant: Arc<[ColumnSet]> = constant::columns(database.catalog(), statements()).into();
            let checks = invariants.iter().chain(&finals).map(|check| &*check.query.statement);
            let order = Arc::new(Order::of(&database, &constant, statements(), checks));
            database.set_ordered(order.rows());
            let reach = reach::of_threads(&mut database, &threads);
            let generated = Arc::new(generated(database.catalog()));
            Ok(Scenario {
                sources,
                database,
                threads,
                invariants,
                finals,
                options,
                generated,
                rollback,
                constant,
                order,
                reach,
                clock,
            })
        })();
        built.map_err(|diagnostic| sources.error(diagnostic))
    }

    /// The same scenario with other options. Of these, `isolation` comes too late: sessions have it since they are
    /// open.
    pub(crate) fn with_options(mut self, options: FileOptions) -> Scenario {
        self.options = options;
        self
    }

    /// Lets all threads run at this level, whatever the file says.
    pub fn set_isolation(&mut self, level: ast::Isolation) {
        for thread in &self.threads {
            self.database.options_mut(thread.session).isolation = level;
        }
        self.reach = reach::of_threads(&mut self.database, &self.threads);
    }

    /// The tables whose rows some statement or property takes in the order in which they lie, by name.
    pub fn ordered_tables(&self) -> BTreeSet<Arc<str>> {
        let ordered = self.order.tables();
        let tables = self.database.catalog().tables().filter(|table| ordered.contains(table.id.0 as usize));
        tables.map(|table| table.name.clone()).collect()
    }

    /// Which statements let the order decide in which rows lie, where that order changes.
    pub(crate) fn order_warnings(&self) -> Vec<String> {
        let causes = self.order.causes.iter().filter(|(_, _, tables)| self.order.may_change(tables));
        let sentences = causes.map(|(span, cause, _)| {
            let (file, line) = self.sources.place(*span);
            let file = file.map_or(String::new(), |file| format!("{file} "));
            format!("{file}line {line} {}; explored as they lie, each new version last", cause.about())
        });
        sentences.collect::<BTreeSet<String>>().into_iter().collect()
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        self.sources.name()
    }

    /// Whether time may pass, as a `clock` line says.
    pub fn lets_time_pass(&self) -> bool {
        self.clock.runs()
    }

    /// The threads, in order.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// What the file's `option` lines say.
    pub fn options(&self) -> &FileOptions {
        &self.options
    }

    /// Its texts.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The database after set-up.
    pub fn database(&self) -> &Database {
        &self.database
    }
}

/// The variables of a client while its statements are bound, in program order.
#[derive(Clone, Debug, Default)]
struct Variables {
    names: Vec<Arc<str>>,
    types: Vec<Type>,
    values: Vec<Value>,
}

impl Variables {
    fn slot(&self, name: &str, span: Span) -> Result<usize, Diagnostic> {
        self.names.iter().position(|n| **n == *name).ok_or_else(|| {
            let error = Diagnostic::new(span, SqlState::UNDEFINED_PARAMETER, format!("variable {name} is not set"));
            let otherwise = "a query followed by \\gset sets one variable per column";
            error.hint(file::did_you_mean(name, self.names.iter().map(|n| &**n), otherwise))
        })
    }

    fn set(&mut self, name: String, ty: Type) -> usize {
        match self.names.iter().position(|n| **n == *name) {
            Some(slot) => {
                self.types[slot] = ty;
                slot
            }
            None => {
                self.names.push(name.into());
                self.types.push(ty);
                self.values.push(Value::Null);
                self.names.len() - 1
            }
        }
    }
}

/// Binds a statement, and updates the variables as far as that is known before it runs: their names and types.
fn bind_statement(
    database: &Database,
    session: SessionId,
    statement: &ClientStatement,
    variables: &mut Variables,
    orders: &mut Orders,
    sources: &Sources,
    redefines: bool,
) -> Result<Submission, Diagnostic> {
    // Each statement has as much to spend on being bound as it has on a step.
    let _entered = Budget::current().enter();
    let slots = statement.variables.iter().map(|(name, span)| variables.slot(name, *span));
    let params: Vec<usize> = slots.collect::<Result<_, _>>()?;
    let types: Vec<Type> = params.iter().map(|&slot| variables.types[slot]).collect();
    if matches!(statement.ast.kind, Ast::Do(_)) {
        // A server would find mistakes inside of the block when it comes to them; we want them before the search.
        bind::statement(database.catalog(), &statement.ast, sources.text(), &types)?;
    }
    let prepared = match database.prepare_in(session, &statement.ast, sources.text(), &types) {
        // Its tables may be there by the time it runs.
        Err(error) if redefines && is_absence(error.state) => {
            database.prepare_late(&statement.ast, sources.text(), &types)
        }
        prepared => prepared?,
    };
    let gset = match &statement.gset {
        None => None,
        Some(prefix) => {
            let columns = columns(&prepared.statement).ok_or_else(|| {
                Diagnostic::syntax(statement.ast.span, "\\gset needs a statement that returns columns")
            })?;
            Some(columns.iter().map(|c| variables.set(format!("{prefix}{}", c.name), c.ty)).collect())
        }
    };
    let ordered = orders.asks(&statement.ast);
    let writes = uses::writes(database.catalog(), &statement.ast);
    Ok(Submission { prepared, params, gset, ordered, writes })
}

/// Whether an error says that something is not there, or not there yet.
fn is_absence(state: SqlState) -> bool {
    matches!(
        state,
        SqlState::UNDEFINED_TABLE
            | SqlState::UNDEFINED_COLUMN
            | SqlState::UNDEFINED_FUNCTION
            | SqlState::UNDEFINED_OBJECT
            | SqlState::DUPLICATE_TABLE
            | SqlState::DUPLICATE_COLUMN
            | SqlState::DUPLICATE_OBJECT
    )
}

/// The columns a statement returns, if it returns any.
fn columns(statement: &typed::Statement) -> Option<&[typed::OutputColumn]> {
    let columns = match &statement.kind {
        StatementKind::Query(query) => &query.columns,
        StatementKind::Insert(insert) => &insert.returning.as_ref()?.columns,
        StatementKind::Update(update) => &update.returning.as_ref()?.columns,
        StatementKind::Delete(delete) => &delete.returning.as_ref()?.columns,
        _ => return None,
    };
    Some(columns)
}

/// Stores the row that `\gset` takes; a client that gets none, or several, fails.
pub(crate) fn gset(slots: &[usize], result: &StatementResult, variables: &mut [Value]) -> Result<(), SqlError> {
    let row = match result.rows.as_slice() {
        [row] => row,
        [] => return Err(SqlError::new(SqlState::NO_DATA_FOUND, "no rows returned for \\gset")),
        _ => return Err(SqlError::new(SqlState::TOO_MANY_ROWS, "more than one row returned for \\gset")),
    };
    for (&slot, value) in slots.iter().zip(row.iter()) {
        variables[slot] = value.clone();
    }
    Ok(())
}

/// Runs the set-up in a session of its own. An error in it is a mistake in the file.
fn run_setup(
    database: &mut Database,
    statements: &[ClientStatement],
    sources: &Sources,
) -> Result<Variables, Diagnostic> {
    let session = database.open_session();
    let mut variables = Variables::default();
    let mut orders = Orders::default();
    for statement in statements {
        run_one(database, session, statement, &mut variables, &mut orders, sources)?;
    }
    if database.in_transaction(session) {
        let span = statements.last().map_or(Span::default(), |s| s.ast.span);
        return Err(Diagnostic::syntax(span, "set-up ends inside a transaction").hint("end it with COMMIT"));
    }
    Ok(variables)
}

fn run_one(
    database: &mut Database,
    session: SessionId,
    statement: &ClientStatement,
    variables: &mut Variables,
    orders: &mut Orders,
    sources: &Sources,
) -> Result<(), Diagnostic> {
    let span = statement.ast.span;
    database.budget().begin(&under_way(sources, span));
    let submission = bind_statement(database, session, statement, variables, orders, sources, false)?;
    let params: Vec<Value> = submission.params.iter().map(|&slot| variables.values[slot].clone()).collect();
    let reply = run_alone(database, session, &submission.prepared, &params);
    let result = reply.map_err(|e| during_setup(span, &e))?;
    if let Some(slots) = &submission.gset {
        gset(slots, &result, &mut variables.values).map_err(|e| during_setup(span, &e))?;
    }
    Ok(())
}

/// `line 7 of set-up`
fn under_way(sources: &Sources, span: Span) -> String {
    match sources.place(span) {
        (None, line) => format!("line {line} of set-up"),
        (Some(file), line) => format!("line {line} of set-up in {file}"),
    }
}

fn during_setup(span: Span, error: &SqlError) -> Diagnostic {
    let message = match error.is_cut() {
        true => format!("set-up is cut off in {}", error.message),
        false => format!("set-up fails: {error}"),
    };
    let diagnostic = Diagnostic::new(span, error.state, message);
    match error.hint.as_ref().or(error.detail.as_ref()) {
        Some(hint) => diagnostic.hint(hint.to_string()),
        None => diagnostic,
    }
}

/// A statement of set-up that runs more statements than this is taken to run for ever.
const SETUP_STEPS_MAX: usize = 1_000_000;

/// Runs a statement to its end while no other session does anything.
fn run_alone(database: &mut Database, session: SessionId, prepared: &Arc<Prepared>, params: &[Value]) -> Reply {
    if let Some(reply) = database.submit(session, prepared, params) {
        return reply;
    }
    for _ in 0..SETUP_STEPS_MAX {
        if let Activity::Blocked(_) = database.activity(session) {
            let message = "the statement waits for a lock that nobody will release";
            return Err(SqlError::new(SqlState::LOCK_NOT_AVAILABLE, message));
        }
        if let Some(reply) = database.step(session).reply {
            return reply;
        }
    }
    let message = format!("{}: no end after {SETUP_STEPS_MAX} statements", prepared.statement.text);
    Err(SqlError::new(SqlState::OUT_OF_BUDGET, message))
}

fn bind_thread(
    database: &mut Database,
    section: ThreadSection,
    options: &FileOptions,
    mut variables: Variables,
    sources: &Sources,
    redefines: bool,
) -> Result<Thread, Diagnostic> {
    let session = database.open_session();
    let session_options = database.options_mut(session);
    session_options.isolation = section.isolation.or(options.isolation).unwrap_or_default();
    session_options.autocommit = section.autocommit;
    let mut statements = Vec::new();
    let routines: Vec<Facts> =
        database.catalog().routines().map(|(_, routine)| Facts::of_routine(&routine.body)).collect();
    let mut orders = Orders::new(&routines);
    for statement in &section.body {
        let variables = &mut variables;
        statements.push(bind_statement(database, session, statement, variables, &mut orders, sources, redefines)?);
    }
    let texts: Vec<_> = section.body.iter().map(|statement| &statement.ast).zip(&statements).collect();
    let uses = Arc::new(Uses::of(database.catalog(), &texts, &section.accepted));
    let expected = section.expected.iter().chain(&uses.accepted).copied().collect();
    Ok(Thread {
        name: section.name,
        session,
        uses,
        statements,
        retries: section.retries,
        autocommit: section.autocommit,
        expected,
        variables: variables.values,
        reads_clock: false,
    })
}

/// Whether some statement of a thread, or of a routine, can take a strong table lock.
fn locks_tables(database: &Database, threads: &[ThreadSection]) -> bool {
    let statements = threads.iter().flat_map(|thread| &thread.body).map(|statement| Facts::of(&statement.ast));
    let routines = database.catalog().routines().map(|(_, routine)| Facts::of_routine(&routine.body));
    statements.chain(routines).any(|facts| facts.effects.locks_tables)
}

/// Whether one of these names stands in a text, outside of comments; in a string it counts.
pub(crate) fn mentions(text: &str, names: &[&str]) -> bool {
    parse::names(text).iter().any(|name| names.contains(&name.as_str()))
}

fn bind_check(database: &Database, section: &QuerySection, sources: &Sources) -> Result<Check, Diagnostic> {
    let span = section.statement.ast.span;
    let query = database.prepare(&section.statement.ast, sources.text(), &[])?;
    match &query.statement.kind {
        StatementKind::Query(q) if q.columns.len() == 1 && q.columns[0].ty == Type::Bool => {
            let statement = &query.statement;
            let watches = statement.routines().is_empty().then(|| statement.tables());
            Ok(Check { name: section.name.clone(), query, watches })
        }
        _ => Err(Diagnostic::new(
            span,
            SqlState::DATATYPE_MISMATCH,
            format!("{} is not a yes-or-no query", section.name),
        )
        .hint("write a SELECT with one column of type boolean; every row it returns must be true")),
    }
}

/// PostgreSQL binds a routine when it is first called; we want its mistakes before the search. Only routines that some
/// thread may reach are looked at: a schema dump may hold others that we could not run.
fn check_routines(database: &Database, threads: &[ThreadSection], sources: &Sources) -> Result<(), Diagnostic> {
    let catalog = database.catalog();
    let statements = threads.iter().flat_map(|t| &t.body);
    let mut texts: Vec<&str> = statements.map(|s| s.ast.span.of(sources.text())).collect();
    let mut reached = BTreeSet::new();
    while let Some(text) = texts.pop() {
        for name in parse::names(text) {
            for (id, routine) in catalog.routines_by_name(&name) {
                if reached.insert(id) {
                    if !matches!(routine.returns, ReturnsDef::Trigger) {
                        bind::routine(catalog, routine)?;
                    }
                    texts.push(routine.span.of(sources.text()));
                }
            }
        }
    }
    Ok(())
}

fn rollback(database: &Database) -> Result<Arc<Prepared>, Diagnostic> {
    const TEXT: &str = "ROLLBACK";
    let statement = parse::statement(parse::Fragment { text: TEXT, offset: 0 })?;
    database.prepare(&statement, TEXT, &[])
}
