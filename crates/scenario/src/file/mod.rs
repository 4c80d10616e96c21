//! Scenario files: text to sections of parsed statements.
//!
//! A scenario is a PostgreSQL script in sections. What stands before the first section sets up the database; `--@`
//! opens a section, and since that is a comment, psql and every editor still understand the file:
//!
//! ```text
//! CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
//! INSERT INTO account VALUES (1, 100);
//!
//! --@ thread alice retry 1
//! SELECT balance AS old FROM account WHERE id = 1 \gset
//! UPDATE account SET balance = :old - 60 WHERE id = 1;
//!
//! --@ invariant never_overdrawn
//! SELECT bool_and(balance >= 0) FROM account;
//! ```
//!
//! `expect`, `accept`, `option` and `clock` are single lines: they belong to the section they stand in (an `expect` in
//! a thread is about that thread) and do not end it. Of psql we know `\gset`, `:variables`, `\i` and `\ir`; a variable
//! is bound as a parameter with the type of the column it came from, never pasted as text.
//!
//! Nothing here looks at a catalog: names are resolved later, by [`crate::Scenario`].

mod header;
mod options;
mod scan;
mod sources;

use std::sync::Arc;

use isolde_sql::ast::{self, Isolation, StatementKind};
use isolde_sql::parse::{self, Fragment};
use isolde_sql::refused::Construct;
use isolde_sql::{Diagnostic, Span, SqlState};

use self::header::{Header, ThreadHeader};
use self::scan::{Mark, MarkKind};
use crate::ScenarioError;
use crate::clock;
use crate::spec::Spec;

pub use header::did_you_mean;
pub(crate) use header::of_thread;
pub use header::{OPTIONS, SECTIONS};
pub use options::{Choice, FileOptions, Granularity, Hashing, SearchKind, SerialCheck};
pub use sources::Sources;

/// A scenario file with everything it includes, parsed.
#[derive(Clone, Debug, Default)]
pub struct ScenarioFile {
    /// The texts.
    pub sources: Sources,
    /// What runs before the threads.
    pub setup: Vec<ClientStatement>,
    /// The threads, copies written out, in order.
    pub threads: Vec<ThreadSection>,
    /// Queries that hold in every committed state.
    pub invariants: Vec<QuerySection>,
    /// Queries that hold when all threads have ended.
    pub finals: Vec<QuerySection>,
    /// Queries that `isolde prove` proves; exploring passes over them.
    pub rules: Vec<QuerySection>,
    /// Conditions that callers of a procedure promise, by its name; for `isolde prove`.
    pub assumptions: Vec<QuerySection>,
    /// Errors that are no violation in any thread.
    pub expected: Vec<SqlState>,
    /// How any thread may give up.
    pub accepted: Vec<Accepted>,
    /// `option` lines.
    pub options: FileOptions,
    /// Times to which time may pass, in microseconds since the start; without any it stands still.
    pub clock: Vec<i64>,
}

/// An ending that counts as giving up: the other threads are judged without the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It leaves nothing, for whatever reason.
    Nothing,
    /// It leaves nothing and ends with this error, which is then no violation either.
    Error(SqlState),
}

impl Accepted {
    /// The error, if it is one.
    pub fn error(self) -> Option<SqlState> {
        match self {
            Accepted::Nothing => None,
            Accepted::Error(state) => Some(state),
        }
    }
}

/// A thread.
#[derive(Clone, Debug)]
pub struct ThreadSection {
    /// Its name; copies are numbered from 1.
    pub name: Arc<str>,
    /// The level of its transactions, if it says.
    pub isolation: Option<Isolation>,
    /// Each statement of a routine is its own transaction.
    pub autocommit: bool,
    /// How often it starts a transaction again that was aborted.
    pub retries: u32,
    /// Errors that are no violation in this thread.
    pub expected: Vec<SqlState>,
    /// How it may give up.
    pub accepted: Vec<Accepted>,
    /// What it runs.
    pub body: Vec<ClientStatement>,
    /// Its header.
    pub span: Span,
}

/// An invariant or a final check.
#[derive(Clone, Debug)]
pub struct QuerySection {
    /// Its name.
    pub name: Arc<str>,
    /// The query.
    pub statement: ClientStatement,
}

/// A statement as a client sends it.
#[derive(Clone, Debug)]
pub struct ClientStatement {
    /// The statement, with psql's variables replaced by parameters.
    pub ast: ast::Statement,
    /// The variables that stand for `$1`, `$2`, ...
    pub variables: Vec<(Arc<str>, Span)>,
    /// Every place at which one stands, and its number in `variables`.
    pub places: Vec<(Span, usize)>,
    /// The lines behind `COPY ... FROM stdin`.
    pub data: Option<Span>,
    /// `\gset`: the prefix of the variables that its columns are stored in.
    pub gset: Option<Arc<str>>,
}

/// A file that another one asks for.
#[derive(Clone, Copy, Debug)]
pub struct Include<'a> {
    /// The path as written.
    pub path: &'a str,
    /// For `\ir`: the name of the file that asks, to whose directory the path is relative.
    pub relative_to: Option<&'a str>,
}

/// A file that was read for an [`Include`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// Its name, for messages and for paths relative to it.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Reads the files that a scenario includes; the error is a sentence.
pub type Loader<'a> = &'a mut dyn FnMut(Include<'_>) -> Result<Included, String>;

/// A loader for scenarios that include nothing.
pub fn no_includes(include: Include<'_>) -> Result<Included, String> {
    Err(format!("{} cannot be included here", include.path))
}

/// Reads a scenario; from a `.spec` file, the one that runs its sessions against each other.
pub fn read(name: &str, text: &str, loader: Loader<'_>) -> Result<ScenarioFile, ScenarioError> {
    read_as(name, text, loader, false, false)
}

/// Reads a scenario to prove things about its procedures: it need not have threads.
pub fn read_procedures(name: &str, text: &str, loader: Loader<'_>) -> Result<ScenarioFile, ScenarioError> {
    read_as(name, text, loader, true, true)
}

/// Reads a scenario for a server, which may understand what is refused here: such statements are
/// [ignored](StatementKind::Ignored) as far as their meaning goes, and only their texts count.
pub fn read_texts(name: &str, text: &str, loader: Loader<'_>) -> Result<ScenarioFile, ScenarioError> {
    read_as(name, text, loader, true, false)
}

fn read_as(
    name: &str,
    text: &str,
    loader: Loader<'_>,
    texts: bool,
    threadless: bool,
) -> Result<ScenarioFile, ScenarioError> {
    if name.ends_with(".spec") {
        return Spec::parse(name, text)?.scenario();
    }
    let mut reader = Reader {
        loader,
        texts,
        threadless,
        file: ScenarioFile::default(),
        copies: Vec::new(),
        queries: Vec::new(),
        section: Section::Setup,
        including: Vec::new(),
    };
    let result = reader.read(name, text, Span::default()).and_then(|()| reader.finish());
    reader.file.sources.finish();
    match result {
        Ok(()) => Ok(reader.file),
        Err(diagnostic) => Err(reader.file.sources.error(diagnostic)),
    }
}

/// Files within files within files: deeper than this is a cycle that changes its name.
const INCLUDE_DEPTH_MAX: usize = 32;

/// Commands of psql that change nothing we look at; schema dumps contain some of them.
const IGNORED_COMMANDS: &[&str] =
    &["c", "connect", "echo", "encoding", "pset", "qecho", "restrict", "timing", "unrestrict", "warn", "x"];

struct Reader<'l> {
    loader: Loader<'l>,
    /// Whether the texts are enough.
    texts: bool,
    /// Whether it may do without threads.
    threadless: bool,
    file: ScenarioFile,
    /// `xN` for each entry of `file.threads`, which holds one of the copies until [`Reader::finish`].
    copies: Vec<Option<u32>>,
    /// Invariants and finals with the statements found so far.
    queries: Vec<OpenQuery>,
    section: Section,
    /// The names of the files being read, outermost first.
    including: Vec<String>,
}

/// What a section with one query is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueryKind {
    Invariant,
    Final,
    Rule,
    Assumption,
}

/// A section with one query while it is read.
struct OpenQuery {
    name: Arc<str>,
    kind: QueryKind,
    span: Span,
    statements: Vec<ClientStatement>,
}

/// Where statements go.
enum Section {
    Setup,
    Thread(usize),
    Query(usize),
}

/// A file being read.
struct Text<'a> {
    name: &'a str,
    text: &'a str,
    /// Where it begins in the common text.
    start: u32,
}

impl Reader<'_> {
    /// Reads one file; `asked` is the command that includes it.
    fn read(&mut self, name: &str, text: &str, asked: Span) -> Result<(), Diagnostic> {
        if self.including.iter().any(|n| n == name) || self.including.len() >= INCLUDE_DEPTH_MAX {
            return Err(Diagnostic::syntax(asked, format!("{name} includes itself")));
        }
        let Some(start) = self.file.sources.add(name, text) else {
            return Err(Diagnostic::syntax(asked, format!("{name} is too large")));
        };
        let marks = scan::marks(text).map_err(|d| Diagnostic { span: d.span.shifted(start), ..d })?;
        self.including.push(name.to_string());
        self.sections(&Text { name, text, start }, &marks)?;
        self.including.pop();
        Ok(())
    }

    /// Walks through the marks of a file; what lies between them is SQL.
    fn sections(&mut self, file: &Text<'_>, marks: &[Mark]) -> Result<(), Diagnostic> {
        let mut from = 0;
        let mut variables = Vec::new();
        for mark in marks {
            if let MarkKind::Variable(quote) = mark.kind {
                variables.push((mark.span, quote));
                continue;
            }
            let chunk = Span { start: from, end: mark.span.start };
            let line = mark.span.of(file.text);
            let gset = (mark.kind == MarkKind::Command).then(|| gset_prefix(line)).flatten();
            let whole = mark.span.shifted(file.start);
            let count = self.statements(file, chunk, &variables, gset.map(Arc::from))?;
            variables.clear();
            from = mark.span.end;
            match mark.kind {
                MarkKind::Section => self.open(header::parse(line, whole.start)?, whole)?,
                MarkKind::Data => self.copied(line, whole)?,
                _ if gset.is_some() && count == 0 => {
                    return Err(Diagnostic::syntax(whole, "\\gset stands behind a query, and there is none"));
                }
                _ if gset.is_some() => {}
                _ => self.command(file, line, whole)?,
            }
        }
        self.statements(file, Span { start: from, end: file.text.len() as u32 }, &variables, None)?;
        Ok(())
    }

    /// Opens a section, or takes in a line that belongs to the one that is open.
    fn open(&mut self, header: Header, span: Span) -> Result<(), Diagnostic> {
        match header {
            Header::Thread(ThreadHeader { name, copies, isolation, autocommit, retries }) => {
                self.section = Section::Thread(self.file.threads.len());
                self.copies.push(copies);
                self.file.threads.push(ThreadSection {
                    name: name.into(),
                    isolation,
                    autocommit,
                    retries,
                    expected: Vec::new(),
                    accepted: Vec::new(),
                    body: Vec::new(),
                    span,
                });
            }
            Header::Invariant(name) => self.open_query(name, QueryKind::Invariant, span)?,
            Header::Final(name) => self.open_query(name, QueryKind::Final, span)?,
            Header::Rule(name) => self.open_query(name, QueryKind::Rule, span)?,
            Header::Assume(name) => self.open_query(name, QueryKind::Assumption, span)?,
            Header::ExpectError(state) => match self.section {
                Section::Thread(index) => self.file.threads[index].expected.push(state),
                _ => self.file.expected.push(state),
            },
            Header::Accept(accepted) => match self.section {
                Section::Thread(index) => self.file.threads[index].accepted.push(accepted),
                _ => self.file.accepted.push(accepted),
            },
            Header::Option(setting) => setting.apply(&mut self.file.options),
            Header::Clock(_) if !self.file.clock.is_empty() => {
                return Err(Diagnostic::syntax(span, "there are two clocks").hint("write all times on one line"));
            }
            Header::Clock(marks) => self.file.clock = marks,
        }
        Ok(())
    }

    fn open_query(&mut self, name: String, kind: QueryKind, span: Span) -> Result<(), Diagnostic> {
        // Of a procedure several things may be assumed.
        let clash = |q: &OpenQuery| *q.name == *name && q.kind != QueryKind::Assumption;
        if kind != QueryKind::Assumption && self.queries.iter().any(clash) {
            return Err(Diagnostic::syntax(span, format!("there are two checks named {name}")));
        }
        self.section = Section::Query(self.queries.len());
        self.queries.push(OpenQuery { name: name.into(), kind, span, statements: Vec::new() });
        Ok(())
    }

    /// The lines behind a COPY belong to it.
    fn copied(&mut self, data: &str, span: Span) -> Result<(), Diagnostic> {
        let last = match self.section {
            Section::Setup => self.file.setup.last_mut(),
            Section::Thread(index) => self.file.threads[index].body.last_mut(),
            Section::Query(index) => self.queries[index].statements.last_mut(),
        };
        let Some(statement) = last else { return Ok(()) };
        statement.data = Some(span);
        match &mut statement.ast.kind {
            // Where texts are enough, rows do not count.
            StatementKind::Copy(copy) => match parse::copy_rows(copy, data, span) {
                Err(_) if self.texts && self.threadless => Ok(()),
                read => read,
            },
            _ => Ok(()),
        }
    }

    /// A command of psql other than `\gset`.
    fn command(&mut self, file: &Text<'_>, line: &str, span: Span) -> Result<(), Diagnostic> {
        let (name, rest) = line[1..].split_once(char::is_whitespace).unwrap_or((&line[1..], ""));
        match name {
            "i" | "include" => self.include(Include { path: unquoted(rest), relative_to: None }, span),
            "ir" | "include_relative" => {
                self.include(Include { path: unquoted(rest), relative_to: Some(file.name) }, span)
            }
            _ if IGNORED_COMMANDS.contains(&name) || self.texts && self.threadless => Ok(()),
            _ => {
                let error = Diagnostic::unsupported(span, Construct::PSQL_COMMAND.of(name));
                Err(error.hint("of psql's commands, \\gset, \\i and \\ir are understood"))
            }
        }
    }

    fn include(&mut self, include: Include<'_>, span: Span) -> Result<(), Diagnostic> {
        let included = (self.loader)(include).map_err(|reason| {
            let relative = include.relative_to.map_or("the working directory", |_| "the file it stands in");
            Diagnostic::syntax(span, reason).hint(format!("the path is relative to {relative}"))
        })?;
        self.read(&included.name, &included.text, span)
    }

    /// Parses the statements of a piece of a file into the open section, and counts them. `gset` is for the last one.
    fn statements(
        &mut self,
        file: &Text<'_>,
        chunk: Span,
        variables: &[(Span, Option<u8>)],
        gset: Option<Arc<str>>,
    ) -> Result<usize, Diagnostic> {
        let numbered: Vec<_> = variables.iter().map(|v| (v.0, 1)).collect();
        let spans = parse::split(&masked(file.text, chunk, &numbered));
        let count = spans.len();
        for (i, local) in spans.into_iter().enumerate() {
            let mut statement = client_statement(file, local.shifted(chunk.start), variables, self.texts)?;
            statement.gset = gset.clone().filter(|_| i + 1 == count);
            match self.section {
                Section::Setup => self.file.setup.push(statement),
                Section::Thread(index) => self.file.threads[index].body.push(statement),
                Section::Query(index) => self.queries[index].statements.push(statement),
            }
        }
        Ok(count)
    }

    /// What can only be said once everything was read.
    fn finish(&mut self) -> Result<(), Diagnostic> {
        for query in std::mem::take(&mut self.queries) {
            let kind = match query.kind {
                QueryKind::Invariant => &mut self.file.invariants,
                QueryKind::Final => &mut self.file.finals,
                QueryKind::Rule => &mut self.file.rules,
                QueryKind::Assumption => &mut self.file.assumptions,
            };
            kind.push(query.finish()?);
        }
        let threads = std::mem::take(&mut self.file.threads);
        if threads.is_empty() && !self.threadless {
            let error = Diagnostic::syntax(Span::default(), "the file has no threads");
            return Err(error.hint("write `--@ thread NAME` on a line above the statements that one session runs"));
        }
        for (thread, copies) in threads.into_iter().zip(&self.copies) {
            if thread.body.is_empty() {
                return Err(Diagnostic::syntax(thread.span, format!("thread {} has no statements", thread.name)));
            }
            for name in copy_names(&thread.name, *copies) {
                if *name == *clock::NAME && !self.file.clock.is_empty() {
                    let error = Diagnostic::syntax(thread.span, "a thread cannot be named clock beside `--@ clock`");
                    return Err(error.hint("in schedules and traces the passing of time has that name"));
                }
                if self.file.threads.iter().any(|t| t.name == name) {
                    return Err(Diagnostic::syntax(thread.span, format!("there are two threads named {name}"))
                        .hint("copies of one thread are written `--@ thread NAME xN`"));
                }
                self.file.threads.push(ThreadSection { name, ..thread.clone() });
            }
        }
        Ok(())
    }
}

impl OpenQuery {
    fn finish(self) -> Result<QuerySection, Diagnostic> {
        let kind = match self.kind {
            QueryKind::Invariant => "invariant",
            QueryKind::Final => "final check",
            QueryKind::Rule => "rule",
            QueryKind::Assumption => "assumption about",
        };
        let hint = "it is one query that returns true";
        let mut statements = self.statements.into_iter();
        let Some(statement) = statements.next() else {
            let error = Diagnostic::syntax(self.span, format!("the {kind} {} has no query", self.name));
            return Err(error.hint(hint));
        };
        if let Some(second) = statements.next() {
            let error = Diagnostic::syntax(second.ast.span, format!("the {kind} {} has a second statement", self.name));
            return Err(error.hint(hint));
        }
        if let Some((name, span)) = statement.variables.first() {
            return Err(Diagnostic::syntax(*span, format!("variable {name} belongs to a thread, not to a check")));
        }
        Ok(QuerySection { name: self.name, statement })
    }
}

/// `tab x2` is tab1 and tab2.
fn copy_names(name: &Arc<str>, copies: Option<u32>) -> Vec<Arc<str>> {
    match copies {
        None => vec![name.clone()],
        Some(n) => (1..=n).map(|i| format!("{name}{i}").into()).collect(),
    }
}

/// What stands behind `\gset`, if the line is that.
fn gset_prefix(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("\\gset")?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim().trim_end_matches(';').trim_end())
}

fn unquoted(path: &str) -> &str {
    let path = path.trim();
    path.strip_prefix('\'').and_then(|p| p.strip_suffix('\'')).unwrap_or(path)
}

/// Parses the statement at `span` of a file, variables numbered.
fn client_statement(
    file: &Text<'_>,
    span: Span,
    variables: &[(Span, Option<u8>)],
    texts: bool,
) -> Result<ClientStatement, Diagnostic> {
    let inside: Vec<_> = variables.iter().filter(|(v, _)| span.start <= v.start && v.start < span.end).collect();
    if let Some((identifier, _)) = inside.iter().find(|(_, quote)| *quote == Some(b'"')) {
        let error = Diagnostic::unsupported(identifier.shifted(file.start), Construct::VARIABLE_AS_AN_IDENTIFIER);
        return Err(error.hint("write the name itself"));
    }
    let mut names: Vec<(Arc<str>, Span)> = Vec::new();
    for (variable, _) in &inside {
        let name = variable.of(file.text).trim_matches([':', '\'']);
        if !names.iter().any(|(n, _)| **n == *name) {
            names.push((name.into(), variable.shifted(file.start)));
        }
    }
    // Short names get short numbers, so that a number always fits in the place of its name.
    names.sort_by_key(|(name, _)| name.len());
    let mut numbered = Vec::new();
    for (variable, _) in inside {
        let name = variable.of(file.text).trim_matches([':', '\'']);
        let number = names.iter().position(|(n, _)| **n == *name).map_or(0, |i| i + 1);
        if number.to_string().len() >= (variable.end - variable.start) as usize {
            return Err(Diagnostic::syntax(variable.shifted(file.start), "too many variables in one statement"));
        }
        numbered.push((*variable, number));
    }
    let text = masked(file.text, span, &numbered);
    let ast = match parse::statement(Fragment { text: &text, offset: file.start + span.start }) {
        Err(_) if texts => ast::Statement {
            kind: StatementKind::Ignored(ast::Ignored { tag: "", text: text.as_str().into() }),
            span: span.shifted(file.start),
        },
        parsed => parsed?,
    };
    let places = numbered.iter().map(|(place, number)| (place.shifted(file.start), number - 1)).collect();
    Ok(ClientStatement { ast, variables: names, places, data: None, gset: None })
}

/// A piece of text in which variables are written as parameters, blanks keeping everything else in its place.
fn masked(text: &str, piece: Span, variables: &[(Span, usize)]) -> String {
    let mut out = String::with_capacity((piece.end - piece.start) as usize);
    let mut from = piece.start;
    for (variable, number) in variables {
        out.push_str(Span { start: from, end: variable.start }.of(text));
        let width = (variable.end - variable.start) as usize;
        // Blanks go before it, so that a statement that ends with a variable keeps its end.
        out.push_str(&format!("{:>width$}", format!("${number}")));
        from = variable.end;
    }
    out.push_str(Span { start: from, end: piece.end }.of(text));
    out
}

#[cfg(test)]
mod tests;
