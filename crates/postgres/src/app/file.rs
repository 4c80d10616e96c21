//! `app.toml`: an application to be checked.
//!
//! ```toml
//! [database]
//! url = "postgres://localhost/postgres"        # the server; Isolde makes a database of its own there
//! setup = ["python manage.py migrate", "python manage.py loaddata shop"]
//!
//! [[server]]
//! name = "web"
//! command = "gunicorn shop.wsgi -b 127.0.0.1:$PORT"
//! ready = "/health"
//!
//! [[thread]]
//! name = "alice"
//! request = { method = "POST", url = "/buy", body = "item=1" }
//!
//! [[thread]]
//! name = "stock-taking"
//! command = "python manage.py take_stock"
//!
//! [[invariant]]
//! name = "never oversold"
//! sql = "SELECT bool_and(stock >= 0) FROM item"
//! ```
//!
//! Read by serde, which knows where everything stands: a mistake is shown in its place, and an unknown key is answered
//! with the nearest known one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use isolde_scenario::ScenarioError;
use isolde_scenario::file::{Choice, SerialCheck, did_you_mean};
use isolde_sql::ast::Isolation;
use isolde_sql::{Diagnostic, Span};
use regex_automata::meta::Regex;
use serde::Deserialize;
use toml::Spanned;

use crate::live::Check;
use crate::proxy::tokens;

/// An application, and what to check about it.
#[derive(Clone, Debug)]
pub struct AppFile {
    /// Where its data is, and how it gets there.
    pub database: Database,
    /// What must run before the threads.
    pub servers: Vec<ServerPlan>,
    /// What is to be interleaved.
    pub threads: Vec<ThreadPlan>,
    /// Queries that must be true after every commit.
    pub invariants: Vec<Check>,
    /// Queries that must be true when all threads have ended.
    pub finals: Vec<Check>,
    /// Output that may differ from run to run.
    pub masks: Vec<Regex>,
    /// `table.column`s that may.
    pub ignored_columns: Vec<(String, String)>,
    /// The level of transactions that ask for none.
    pub isolation: Option<Isolation>,
    /// How runs are compared with serial ones.
    pub serial: Option<SerialCheck>,
    /// How long anybody may neither say something to the database nor end.
    pub time_limit: Duration,
}

/// Where the data is, and how it gets there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    /// The server.
    pub url: String,
    /// Shell commands that make the initial data.
    #[serde(default)]
    pub setup: Vec<String>,
    /// SQL that does, before them.
    #[serde(default)]
    pub setup_sql: String,
    /// A shell command that makes the initial data again, where undoing what was changed is not enough.
    #[serde(default)]
    pub reset: Option<String>,
    /// SQL that does.
    #[serde(default)]
    pub reset_sql: Option<String>,
}

/// A process that serves requests.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPlan {
    /// What it is called.
    #[serde(default = "web")]
    pub name: String,
    /// A shell command. `$PORT` is a free port.
    pub command: String,
    /// When it is ready: a path that answers, a line of its output, or, left out, as soon as its port is open.
    #[serde(default)]
    pub ready: Option<String>,
    /// Seconds that may take.
    #[serde(default = "start_seconds")]
    pub timeout: f64,
    /// More variables of its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Something that talks to the database.
#[derive(Clone, Debug)]
pub struct ThreadPlan {
    /// What it is called.
    pub name: String,
    /// What it does.
    pub action: Action,
    /// How often it is begun anew when its transaction was aborted.
    pub retries: u32,
    /// Exit codes or statuses that are no failures.
    pub expect: Option<Vec<u16>>,
    /// More variables of its environment.
    pub env: BTreeMap<String, String>,
}

/// What a thread does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Runs a shell command.
    Command(String),
    /// Sends a request to a server.
    Request(Request),
}

/// An HTTP request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// `GET` unless there is a body.
    #[serde(default)]
    pub method: Option<String>,
    /// A path of the first server, or a URL; `${PORT}` is the port of the first server, `${web.PORT}` of another one.
    pub url: String,
    /// Headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body.
    #[serde(default)]
    pub body: Option<String>,
}

impl Request {
    /// `POST /buy`
    pub fn line(&self) -> String {
        format!("{} {}", self.method(), self.url)
    }

    /// What is asked of the server.
    pub fn method(&self) -> &str {
        self.method.as_deref().unwrap_or(if self.body.is_some() { "POST" } else { "GET" })
    }
}

fn web() -> String {
    "web".into()
}

fn start_seconds() -> f64 {
    30.0
}

fn limit_seconds() -> f64 {
    10.0
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    mask: Vec<Spanned<String>>,
    #[serde(default)]
    ignore_columns: Vec<Spanned<String>>,
    #[serde(default)]
    isolation: Option<Spanned<String>>,
    #[serde(default)]
    serial: Option<Spanned<String>>,
    #[serde(default = "limit_seconds")]
    time_limit: f64,
    database: Database,
    #[serde(default)]
    server: Vec<ServerPlan>,
    #[serde(default)]
    thread: Vec<Spanned<WrittenThread>>,
    #[serde(default)]
    invariant: Vec<WrittenCheck>,
    #[serde(default, rename = "final")]
    finals: Vec<WrittenCheck>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenThread {
    name: String,
    command: Option<String>,
    request: Option<Request>,
    #[serde(default)]
    retries: u32,
    expect: Option<Vec<u16>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCheck {
    name: String,
    sql: String,
}

/// More threads than this are a typing mistake.
const THREADS_MAX: usize = 64;

impl AppFile {
    /// Reads the text of a file.
    pub fn parse(name: &str, text: &str) -> Result<AppFile, ScenarioError> {
        read(text).map_err(|diagnostic| ScenarioError { file: Arc::from(name), text: Arc::from(text), diagnostic })
    }

    /// Whether a thread sends its request to this server.
    pub(super) fn asks(&self, server: usize) -> bool {
        let named = self.servers.get(server).map(|server| format!("${{{}.PORT}}", server.name)).unwrap_or_default();
        let is_for =
            |url: &str| url.contains(&named) || (server == 0 && (url.starts_with('/') || url.contains("${PORT}")));
        self.threads.iter().any(|thread| matches!(&thread.action, Action::Request(request) if is_for(&request.url)))
    }
}

/// Whether nothing stands behind the first semicolon.
fn is_single(sql: &str) -> bool {
    let is_empty = |token: &str| token.trim().is_empty() || token.starts_with("--") || token.starts_with("/*");
    tokens(sql).skip_while(|token| *token != ";").skip(1).all(|token| is_empty(token) || token == ";")
}

fn read(text: &str) -> Result<AppFile, Diagnostic> {
    let written: Written = toml::from_str(text).map_err(|error| mistake(&error, text))?;
    if written.thread.is_empty() {
        let error = Diagnostic::syntax(Span::new(0, 0), "there is no [[thread]]");
        return Err(error.hint("each thread is a command or a request that talks to the database; races need two"));
    }
    let mut threads: Vec<ThreadPlan> = Vec::new();
    for spanned in written.thread {
        let span = Span::new(spanned.span().start, spanned.span().end);
        let plan = thread(spanned.into_inner(), span)?;
        if threads.len() == THREADS_MAX || threads.iter().any(|other| other.name == plan.name) {
            return Err(Diagnostic::syntax(span, format!("there is another thread \"{}\"", plan.name)));
        }
        if matches!(plan.action, Action::Request(_)) && written.server.is_empty() {
            let error = Diagnostic::syntax(span, format!("{} sends a request, and there is no [[server]]", plan.name));
            return Err(error.hint("say how to start it: [[server]] command = \"...\""));
        }
        threads.push(plan);
    }
    for check in written.invariant.iter().chain(&written.finals) {
        if !is_single(&check.sql) {
            let error = Diagnostic::syntax(Span::new(0, 0), format!("{} is more than one statement", check.name));
            return Err(error.hint("a check is one query, without anything behind its semicolon"));
        }
    }
    Ok(AppFile {
        database: written.database,
        servers: written.server,
        threads,
        invariants: written.invariant.into_iter().map(check).collect(),
        finals: written.finals.into_iter().map(check).collect(),
        masks: written.mask.into_iter().map(mask).collect::<Result<_, _>>()?,
        ignored_columns: written.ignore_columns.into_iter().map(column).collect::<Result<_, _>>()?,
        isolation: written.isolation.map(level).transpose()?,
        serial: written.serial.map(serial).transpose()?,
        time_limit: Duration::try_from_secs_f64(written.time_limit).unwrap_or(Duration::from_secs(10)),
    })
}

fn thread(written: WrittenThread, span: Span) -> Result<ThreadPlan, Diagnostic> {
    let WrittenThread { name, command, request, retries, expect, env } = written;
    if name.is_empty() || name.contains(char::is_whitespace) {
        let error = Diagnostic::syntax(span, format!("\"{name}\" cannot be the name of a thread"));
        return Err(error.hint("schedules list threads with spaces between them, so a name has none"));
    }
    let action = match (command, request) {
        (Some(command), None) => Action::Command(command),
        (None, Some(request)) => Action::Request(request),
        _ => {
            let error = Diagnostic::syntax(span, format!("what does {name} do?"));
            return Err(error.hint("a thread has either a command or a request"));
        }
    };
    Ok(ThreadPlan { name, action, retries, expect, env })
}

fn serial(name: Spanned<String>) -> Result<SerialCheck, Diagnostic> {
    let span = Span::new(name.span().start, name.span().end);
    SerialCheck::by_name(name.as_ref()).ok_or_else(|| {
        let words: Vec<&str> = SerialCheck::ALL.iter().map(|degree| degree.name()).collect();
        let error = Diagnostic::syntax(span, format!("unknown {} \"{}\"", SerialCheck::KIND, name.as_ref()));
        error.hint(format!("degrees are: {}", words.join(", ")))
    })
}

fn check(written: WrittenCheck) -> Check {
    Check { name: written.name, query: written.sql.trim().trim_end_matches(';').to_string() }
}

fn mask(pattern: Spanned<String>) -> Result<Regex, Diagnostic> {
    let span = Span::new(pattern.span().start, pattern.span().end);
    Regex::new(pattern.as_ref()).map_err(|error| Diagnostic::syntax(span, format!("not a regular expression: {error}")))
}

fn column(name: Spanned<String>) -> Result<(String, String), Diagnostic> {
    let span = Span::new(name.span().start, name.span().end);
    match name.as_ref().rsplit_once('.') {
        Some((table, column)) => Ok((table.to_string(), column.to_string())),
        None => Err(Diagnostic::syntax(span, "a column is named with its table: \"orders.created_at\"")),
    }
}

fn level(name: Spanned<String>) -> Result<Isolation, Diagnostic> {
    let span = Span::new(name.span().start, name.span().end);
    match name.as_ref().to_lowercase().as_str() {
        "read committed" => Ok(Isolation::ReadCommitted),
        "repeatable read" => Ok(Isolation::RepeatableRead),
        "serializable" => Ok(Isolation::Serializable),
        other => Err(Diagnostic::syntax(span, format!("unknown isolation level \"{other}\""))
            .hint("read committed, repeatable read or serializable")),
    }
}

/// What serde complains about, in its place.
fn mistake(error: &toml::de::Error, text: &str) -> Diagnostic {
    let span = error.span().unwrap_or(0..text.len().min(1));
    let message = error.message().lines().next().unwrap_or_default();
    let diagnostic = Diagnostic::syntax(Span::new(span.start, span.end), message);
    let mut names = message.split('`').skip(1).step_by(2);
    match names.next().filter(|_| message.starts_with("unknown field")) {
        Some(unknown) => {
            let known: Vec<&str> = names.collect();
            let all = format!("there are {}", known.join(", "));
            let short = Diagnostic::syntax(Span::new(span.start, span.end), format!("unknown key \"{unknown}\""));
            short.hint(did_you_mean(unknown, known.iter().copied(), &all))
        }
        None => diagnostic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = r#"
        mask = ['\d\d:\d\d']
        ignore_columns = ["orders.created_at"]
        time_limit = 2.5
        [database]
        url = "postgres://localhost"
        setup = ["make data"]
        [[server]]
        command = "serve"
        [[thread]]
        name = "alice"
        request = { url = "/buy", body = "item=1" }
        [[thread]]
        name = "bob"
        command = "buy 1"
        expect = [0, 3]
        [[invariant]]
        name = "stock"
        sql = "SELECT true;"
    "#;

    #[test]
    fn a_file_is_read() {
        let file = AppFile::parse("app.toml", SHOP).expect("it is fine");
        let Action::Request(request) = &file.threads[0].action else { panic!("alice sends a request") };
        assert_eq!(request.line(), "POST /buy");
        assert_eq!(file.threads[1].expect, Some(vec![0, 3]));
        assert_eq!(file.invariants[0].query, "SELECT true");
        assert_eq!(file.time_limit, Duration::from_millis(2500));
        assert_eq!(file.ignored_columns, [("orders".to_string(), "created_at".to_string())]);
    }

    #[test]
    fn mistakes_have_a_place_and_a_hint() {
        let mistake = |text: &str| {
            let error = AppFile::parse("app.toml", text).expect_err("it is wrong").diagnostic;
            (error.message, error.hint.unwrap_or_default(), error.span.of(text).to_string())
        };
        let (message, hint, place) = mistake(&SHOP.replace("setup =", "setpu ="));
        assert_eq!((&*message, &*hint, &*place), ("unknown key \"setpu\"", "did you mean \"setup\"?", "setpu"));
        let (message, hint, _) = mistake(&SHOP.replace("command = \"buy 1\"", ""));
        assert_eq!((&*message, &*hint), ("what does bob do?", "a thread has either a command or a request"));
        let (message, ..) = mistake(&SHOP.replace("\"bob\"", "\"alice\""));
        assert_eq!(message, "there is another thread \"alice\"");
        let (message, _, place) = mistake(&SHOP.replace("time_limit = 2.5", "time_limit = \"x\""));
        assert!(message.contains("invalid type") && place == "\"x\"", "{message}");
    }
}
