//! From a scenario file to a stage: a database is made, set up, taught to tell and to go back, and sessions are opened.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use isolde_scenario::file::{
    ClientStatement, FileOptions, Granularity, QuerySection, ScenarioFile, SerialCheck, Sources, ThreadSection,
};
use isolde_scenario::{Scenario, ScenarioError, Uses, generated};
use isolde_sql::ast::Isolation;
use isolde_sql::catalog::TableId;
use isolde_sql::facts::{Effects, Facts, Orders};
use isolde_sql::parse::{Lexeme, lexemes};
use isolde_sql::{Diagnostic, Span, SqlState};
use isolde_wire::{Complaint, Connection, Response, Settings, TransactionStatus};

use super::client::Client;
use super::mask::Masks;
use super::net::Net;
use super::script::{Script, Sent, Variables};
use super::{Open, ScenarioStage, told};
use crate::analysis::{Analyst, Ledger};
use crate::catalog::{self, Known};
use crate::effects::{self, Rows};
use crate::fault::fault;
use crate::gate::{self, GATES, Gates};
use crate::live::{Check, Standing};
use crate::reads::Module;
use crate::restore::Plan;
use crate::{Home, Restore, Sessions, Trouble};

/// Why a scenario cannot be put on a server.
#[derive(Clone, Debug)]
pub enum StageError {
    /// There is a mistake in the file.
    File(ScenarioError),
    /// Something else.
    Trouble(Trouble),
}

impl std::fmt::Display for StageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StageError::File(error) => error.fmt(f),
            StageError::Trouble(trouble) => trouble.fmt(f),
        }
    }
}

impl std::error::Error for StageError {}

impl From<Trouble> for StageError {
    fn from(trouble: Trouble) -> StageError {
        StageError::Trouble(trouble)
    }
}

impl From<std::io::Error> for StageError {
    fn from(error: std::io::Error) -> StageError {
        StageError::Trouble(error.into())
    }
}

/// Why a file that lets time pass is refused.
pub const CLOCK_CANNOT_BE_SET: &str = "the clock of a server cannot be set, and the file has a line `--@ clock`";

/// Settings of every session: nothing may depend on how busy the machine is.
pub(super) const SESSION_OPTIONS: &str = "-c max_parallel_workers_per_gather=0 -c jit=off -c statement_timeout=0 -c lock_timeout=0 \
    -c idle_in_transaction_session_timeout=0";

/// The oid of the type boolean.
const BOOLEAN: u32 = 16;

/// The checks of a file, as the server is asked them: invariants and finals.
pub fn checks(file: &ScenarioFile) -> (Vec<Check>, Vec<Check>) {
    let check = |section: &QuerySection| Check {
        name: section.name.to_string(),
        query: section.statement.ast.span.of(file.sources.text()).to_string(),
    };
    (file.invariants.iter().map(check).collect(), file.finals.iter().map(check).collect())
}

/// How to search, given what was asked for: what it leaves open, the file may say.
pub fn settings(file: &ScenarioFile, given: FileOptions) -> FileOptions {
    given.or(&file.options)
}

impl ScenarioStage {
    /// Puts a scenario on a server: in a database of its own, which is gone with the stage.
    pub fn new(file: &ScenarioFile, server: &Settings) -> Result<ScenarioStage, StageError> {
        ScenarioStage::reading(file, server, Module::Installed)
    }

    /// The same, with the module that tells what is read at another place, or without it.
    pub fn reading(file: &ScenarioFile, server: &Settings, module: Module) -> Result<ScenarioStage, StageError> {
        if !file.clock.is_empty() {
            return Err(Trouble::Usage(CLOCK_CANNOT_BE_SET.into()).into());
        }
        stay_inside(file)?;
        let mut home = Home::create(server)?;
        module.admit(&mut home)?;
        let mut control = home.connect(SESSION_OPTIONS)?;
        let mut types = BTreeMap::new();
        let variables = run_setup(&mut control, file, &mut types)?;
        try_checks(&mut control, file)?;
        let mut known = catalog::read(&mut control)?;
        let analyst = Analyst::new(known.catalog.clone(), known.opaque.clone());
        known.forget_keys(&rekeyed(file, &analyst));
        let analyst = Analyst::new(known.catalog.clone(), known.opaque.clone());
        let ordered = ordered(file, &analyst);
        let analyst = Arc::new(analyst.ordering(ordered));
        let alertable = !control.query("SET deadlock_timeout = '1s'")?.iter().any(Response::is_error);
        effects::install(&mut control)?;
        control.execute(&gate::functions(alertable))?;
        let stated = Stated::of(file);
        let effects = stated.effects();
        let told = told::is_all(&mut control, file, effects)?.then(|| known.oids.keys().copied().collect());
        let mut warnings = Vec::new();
        let mut gates = Gates::default();
        rewrite_routines(&mut control, file, &mut gates, &mut warnings)?;
        let scripts: Vec<Script> = file.threads.iter().map(|t| script(t, file, &stated, &mut gates)).collect();
        let restore = match effects.defines {
            true => Restore::by_copy("threads change definitions"),
            false => Restore::prepare(&mut control, &Plan { told, ..plan(file, effects, &analyst, &known) })?,
        };
        if !restore.undoes() {
            drop(control);
            home.copy()?;
        }
        let opened = Open {
            isolation: file.threads.iter().map(|t| t.isolation.or(file.options.isolation)).collect(),
            autocommit: file.threads.iter().map(|t| t.autocommit).collect(),
            module,
            keeps: effects.keeps,
            prepares: restore.undoes() && !effects.keeps && !effects.deallocates,
        };
        let (sessions, tells_reads) = opened.sessions(&home, restore.undoes())?;
        let ledger = |level: &Option<Isolation>| Ledger::new(analyst.clone(), level.unwrap_or_default());
        let clients = scripts.iter().zip(&opened.isolation);
        let clients = clients.map(|(script, level)| Client::new(script, variables.clone(), ledger(level)));
        let (clients, count) = (clients.collect(), scripts.len());
        let generated = generated(&known.catalog);
        let mut stage = ScenarioStage {
            names: scripts.iter().map(|script| script.name.clone()).collect(),
            sources: file.sources.clone(),
            standings: vec![Standing::Waiting(Vec::new()); count],
            uses: uses(file),
            atomic: file.options.atomic == Some(true),
            whole: file.options.granularity == Some(Granularity::Whole),
            generated,
            scripts,
            clients,
            sessions,
            restore,
            known,
            analyst,
            rows: Rows::default(),
            net: Net::default(),
            types,
            variables,
            gates,
            passed: vec![None; count],
            alerted: vec![false; count],
            opened,
            tells_reads,
            warnings,
            masks: Masks::default(),
            waited: BTreeMap::new(),
            asks: true,
            fresh: true,
            home,
        };
        if file.options.serial != Some(SerialCheck::Off) {
            stage.find_masks()?;
        }
        Ok(stage)
    }
}

/// Of each thread, which of its answers can matter; `None` where the embedded engine does not understand the file, so
/// that all do.
fn uses(file: &ScenarioFile) -> Option<Vec<Arc<Uses>>> {
    let scenario = Scenario::new(file.clone()).ok()?;
    Some(scenario.threads().iter().map(|thread| thread.uses.clone()).collect())
}

/// What can be told of the runs before there is one.
fn plan(file: &ScenarioFile, effects: Effects, analyst: &Analyst, known: &Known) -> Plan {
    let levels = file.threads.iter().map(|t| t.isolation).chain([file.options.isolation]);
    let serializable = levels.flatten().any(|level| level == Isolation::Serializable) || effects.serializable;
    let exact = serializable || known.oids.values().any(|table| analyst.orders(*table));
    let truncates = effects.truncates;
    let Some(mut scanned) = scanned(file, analyst).filter(|_| !truncates) else {
        return Plan { truncates, exact, ..Plan::default() };
    };
    scanned.extend(known.oids.values().filter(|table| analyst.orders(**table)));
    // What a foreign key looks for in the table that has it is several rows.
    let is_keyed = |id: &TableId| {
        let table = known.catalog.table(*id);
        table.primary_key().is_some() && table.foreign_keys.is_empty() && !scanned.contains(id)
    };
    let keyed = known.oids.iter().filter(|(_, id)| is_keyed(id)).map(|(oid, _)| *oid).collect();
    let ordered = !scanned.is_empty() || known.oids.values().any(|id| !is_keyed(id));
    Plan { truncates, keyed, ordered, exact, told: None }
}

/// The tables whose primary keys threads may change.
fn rekeyed(file: &ScenarioFile, analyst: &Analyst) -> BTreeSet<TableId> {
    let statements = file.threads.iter().flat_map(|thread| &thread.body);
    let texts = statements.map(|statement| Sent::new(statement, &file.sources).without_variables());
    texts.flat_map(|text| analyst.analyse(&text).rekeyed.clone()).collect()
}

/// The tables whose rows some statement or property takes in the order in which they lie. What the embedded engine does
/// not understand may do so with any table that is not reached by its primary key.
fn ordered(file: &ScenarioFile, analyst: &Analyst) -> BTreeSet<TableId> {
    let tables = || analyst.catalog().tables();
    match Scenario::new(file.clone()) {
        Ok(scenario) => {
            let names = scenario.ordered_tables();
            tables().filter(|table| names.contains(&table.name)).map(|table| table.id).collect()
        }
        Err(_) => {
            let checks = file.invariants.iter().chain(&file.finals).map(|check| &check.statement);
            let checks = checks.map(|check| analyst.analyse(&Sent::new(check, &file.sources).without_variables()));
            let all = || tables().map(|table| table.id).collect();
            let in_checks: BTreeSet<TableId> = checks.flat_map(|analysis| analysis.scanned.clone()).collect();
            scanned(file, analyst).map_or_else(all, |scanned| &scanned | &in_checks)
        }
    }
}

/// The tables that threads reach in another way than by their whole primary key; `None` if that is not known.
fn scanned(file: &ScenarioFile, analyst: &Analyst) -> Option<BTreeSet<TableId>> {
    let mut scanned = BTreeSet::new();
    for statement in file.threads.iter().flat_map(|thread| &thread.body) {
        let analysis = analyst.analyse(&Sent::new(statement, &file.sources).without_variables());
        if analysis.touched.everything {
            return None;
        }
        scanned.extend(&analysis.scanned);
    }
    Some(scanned)
}

impl Open {
    /// One session per thread, and the control connection, which closes all gates.
    /// Whether sessions tell what they read is said as well.
    pub(super) fn sessions(&self, home: &Home, undoes: bool) -> Result<(Sessions, bool), Trouble> {
        let mut control = home.connect(SESSION_OPTIONS)?;
        if undoes {
            control.execute("SET session_replication_role = replica")?;
        }
        let mut connections = Vec::new();
        let mut tell = true;
        for (thread, (level, autocommit)) in self.isolation.iter().zip(&self.autocommit).enumerate() {
            let level = match level {
                None => "",
                Some(Isolation::ReadCommitted) => " -c default_transaction_isolation=read\\ committed",
                Some(Isolation::RepeatableRead) => " -c default_transaction_isolation=repeatable\\ read",
                Some(Isolation::Serializable) => " -c default_transaction_isolation=serializable",
            };
            let autocommit = if *autocommit { "on" } else { "off" };
            let options =
                format!("{SESSION_OPTIONS}{level} -c isolde.thread={thread} -c isolde.autocommit={autocommit}");
            let mut connection = home.connect(&options)?;
            tell = tell && self.module.load(&mut connection)?;
            connections.push(connection);
        }
        let keys = 2 * connections.len();
        control.execute(&format!("SELECT pg_advisory_lock({GATES}, k) FROM generate_series(0, {keys}) AS k"))?;
        Ok((Sessions::new(control, connections)?, tell))
    }
}

/// Refuses what would change the server outside of the database that is made for the run.
pub(super) fn stay_inside(file: &ScenarioFile) -> Result<(), StageError> {
    let threads = file.threads.iter().flat_map(|thread| &thread.body);
    for statement in file.setup.iter().chain(threads) {
        let span = statement.ast.span;
        if Facts::of(&statement.ast).effects.outside {
            let words = lexemes(span.of(file.sources.text())).filter(Lexeme::counts).take(2);
            let what = words.map(|word| word.text.to_uppercase()).collect::<Vec<_>>().join(" ");
            let message = format!("{what} changes the server outside of the database that is made for the run");
            let mistake = Diagnostic::new(span, SqlState::FEATURE_NOT_SUPPORTED, message)
                .hint("do that by hand before, and leave it out here");
            return Err(StageError::File(file.sources.error(mistake)));
        }
    }
    Ok(())
}

/// Runs the set-up. A mistake in it is one in the file.
pub(super) fn run_setup(
    connection: &mut Connection,
    file: &ScenarioFile,
    types: &mut BTreeMap<u32, Arc<str>>,
) -> Result<Variables, StageError> {
    let mut variables = Variables::default();
    for statement in &file.setup {
        let sent = Sent::new(statement, &file.sources);
        let undefined = |name: Arc<str>| {
            let message = format!("variable {name} is not set");
            StageError::File(file.sources.error(Diagnostic::new(
                statement.ast.span,
                SqlState::UNDEFINED_PARAMETER,
                message,
            )))
        };
        let text = sent.text(&variables).map_err(undefined)?;
        match statement.data {
            Some(lines) => {
                let lines = lines.of(file.sources.text()).trim_start_matches(['\r', '\n']);
                let end = lines.find("\n\\.").map_or(lines.len(), |at| at + 1);
                connection.send_copy(&text, if lines.starts_with("\\.") { "" } else { &lines[..end] })?;
            }
            None => connection.send(&text)?,
        }
        let responses = connection.answers()?;
        if let Some(Response::Error(error)) = responses.iter().find(|r| r.is_error()) {
            return Err(mistake(&file.sources, statement, error, "set-up fails: "));
        }
        if let (Some(prefix), Some(Response::Rows { columns, rows, .. })) = (&sent.gset, responses.last()) {
            let oids: Vec<u32> = connection.fields().iter().map(|field| field.type_oid).collect();
            let names = type_names(connection, types, &oids)?;
            let set = variables.set(prefix, columns, &names, rows);
            set.map_err(|(code, message)| {
                let error = Complaint { sqlstate: code.into(), message: message.into(), ..Complaint::default() };
                mistake(&file.sources, statement, &error, "set-up fails: ")
            })?;
        }
    }
    if connection.status() != TransactionStatus::Idle {
        let span = file.setup.last().map_or(Span::default(), |s| s.ast.span);
        let mistake = Diagnostic::syntax(span, "set-up ends inside a transaction").hint("end it with COMMIT");
        return Err(StageError::File(file.sources.error(mistake)));
    }
    Ok(variables)
}

/// The names of types.
pub(super) fn type_names(
    connection: &mut Connection,
    known: &mut BTreeMap<u32, Arc<str>>,
    oids: &[u32],
) -> Result<Vec<Arc<str>>, Trouble> {
    let mut names = Vec::new();
    for &oid in oids {
        let name = match known.entry(oid) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => {
                let answer = connection.execute(&format!("SELECT format_type({oid}, NULL)"))?;
                let name = answer.first().and_then(|r| r.rows().first()?.first()?.clone());
                new.insert(name.unwrap_or_else(|| "text".into()).into()).clone()
            }
        };
        names.push(name);
    }
    Ok(names)
}

/// A mistake that the server has found in a statement.
fn mistake(sources: &Sources, statement: &ClientStatement, error: &Complaint, when: &str) -> StageError {
    if let Some(fault) = fault(when.trim_end_matches([':', ' ']), error) {
        return StageError::Trouble(fault);
    }
    let span = statement.ast.span;
    // The place is only known where nothing was put into the text.
    let at = error.position.filter(|_| statement.places.is_empty()).and_then(|position| {
        let text = span.of(sources.text());
        let (byte, c) = text.char_indices().nth(position.checked_sub(1)?)?;
        Some(Span { start: span.start + byte as u32, end: span.start + (byte + c.len_utf8()) as u32 })
    });
    let state = SqlState::parse(&error.sqlstate).unwrap_or(SqlState::FEATURE_NOT_SUPPORTED);
    let message = format!("{when}{} ({})", error.message, error.sqlstate);
    let diagnostic = Diagnostic::new(at.unwrap_or(span), state, message);
    let diagnostic = match error.hint.as_ref().or(error.detail.as_ref()) {
        Some(hint) => diagnostic.hint(hint.clone()),
        None => diagnostic,
    };
    StageError::File(sources.error(diagnostic))
}

/// Asks every check once, for its mistakes.
fn try_checks(connection: &mut Connection, file: &ScenarioFile) -> Result<(), StageError> {
    for section in file.invariants.iter().chain(&file.finals) {
        let statement = &section.statement;
        connection.send(statement.ast.span.of(file.sources.text()))?;
        for response in connection.answers()? {
            if let Response::Error(error) = response {
                return Err(mistake(&file.sources, statement, &error, ""));
            }
        }
        if !matches!(connection.fields(), [field] if field.type_oid == BOOLEAN) {
            let message = format!("{} is not a yes-or-no query", section.name);
            let diagnostic = Diagnostic::new(statement.ast.span, SqlState::DATATYPE_MISMATCH, message)
                .hint("write a SELECT with one column of type boolean; every row it returns must be true");
            return Err(StageError::File(file.sources.error(diagnostic)));
        }
    }
    Ok(())
}

/// Puts gates into the routines of the set-up.
fn rewrite_routines(
    connection: &mut Connection,
    file: &ScenarioFile,
    gates: &mut Gates,
    warnings: &mut Vec<String>,
) -> Result<(), StageError> {
    for statement in &file.setup {
        let Some(routine) = Facts::of_defined(&statement.ast) else { continue };
        let Some(gated) = gates.rewrite(&statement.ast, &file.sources) else {
            if Facts::is_plpgsql(&statement.ast) && routine.effects.queries {
                let (_, line) = file.sources.place(statement.ast.span);
                warnings.push(format!("the routine at line {line} is not understood and runs in one step"));
            }
            continue;
        };
        if connection.query(&gated)?.iter().any(Response::is_error) {
            let (_, line) = file.sources.place(statement.ast.span);
            warnings.push(format!("the routine at line {line} cannot be stopped inside and runs in one step"));
        }
    }
    Ok(())
}

fn script(thread: &ThreadSection, file: &ScenarioFile, stated: &Stated, gates: &mut Gates) -> Script {
    let mut orders = Orders::new(&stated.routines);
    let statements = thread.body.iter().map(|statement| {
        let mut sent = Sent::new(statement, &file.sources);
        sent.ordered = orders.asks(&statement.ast);
        match gates.rewrite(&statement.ast, &file.sources) {
            Some(text) if statement.places.is_empty() => sent.with_text(text),
            _ => sent,
        }
    });
    let accepted = file.accepted.iter().chain(&thread.accepted).filter_map(|accepted| accepted.error());
    Script {
        name: thread.name.to_string(),
        statements: statements.collect(),
        retries: thread.retries,
        expected: file.expected.iter().chain(&thread.expected).copied().chain(accepted).collect(),
        autocommit: thread.autocommit,
    }
}

/// What is known of the statements of a file.
struct Stated {
    threads: Vec<Facts>,
    routines: Vec<Facts>,
}

impl Stated {
    fn of(file: &ScenarioFile) -> Stated {
        let threads = file.threads.iter().flat_map(|thread| &thread.body).map(|statement| Facts::of(&statement.ast));
        let routines = file.setup.iter().filter_map(|statement| Facts::of_defined(&statement.ast));
        Stated { threads: threads.collect(), routines: routines.collect() }
    }

    /// What threads and routines may do.
    fn effects(&self) -> Effects {
        Effects::of_all(self.threads.iter().chain(&self.routines))
    }
}

/// What is told of the tables.
impl Known {
    /// Tables and definitions that had to be left out.
    pub fn left_out(&self) -> &[String] {
        &self.missing
    }
}
