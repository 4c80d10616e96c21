//! What a checker answers: verdicts, counterexamples and traces, as data; then as text, as JSON and as a page for
//! browsers.
//!
//! A [`Report`] is the whole answer. It is data first, so that every rendering says the same: [`text`] for people,
//! [`Report::to_json`] for programs, [`HtmlPage`] for browsers. It knows nothing of SQL, databases or searches: a step
//! is some text that a thread ran, a result is what came back, a change is a row's columns before and after.
//!
//! ```
//! use isolde_report::{Report, Stats, Style, Verdict};
//!
//! let report = Report::new("isolde explore bank.sql", "bank.sql", Verdict::Holds, Stats::default());
//! assert_eq!(report.verdict.exit_code(), 0);
//! assert!(report.to_text(Style::plain(80)).starts_with("holds"));
//! assert!(report.to_json().contains(r#""verdict": "holds""#));
//! ```
//!
//! What is *absent*: nothing here prints, reads a file or asks for the size of a terminal; the caller passes a
//! [`Style`].
//!
//! # The JSON format
//!
//! `"format": 1` is its version. Within a version fields are only added. The names are those of the structs below, in
//! `snake_case`; enumerations are lower-case words; an absent optional field is `null`.

mod ci;
mod columns;
mod deletes;
mod fix;
mod flow;
mod graph;
mod html;
mod instance;
mod kept;
mod layers;
mod levels;
mod model;
mod paint;
mod prove;
mod shell;
mod space;
pub mod text;
mod wrap;

use serde::{Deserialize, Serialize};

pub use deletes::{DeleteEdge, DeleteGraph, DeleteKind};
pub use fix::{Fix, FixCost, FixVerdict};
pub use flow::{FlowEdge, FlowGraph, FlowKind, FlowNode};
pub use graph::{EdgeEnd, EdgeKind, Graph, GraphEdge, Node};
pub use html::HtmlPage;
pub use instance::{DrawnLink, DrawnObject, Fate, InstanceGraph};
pub use kept::Answer;
pub use levels::{LevelCost, LevelRow, LevelScope, LevelsReport};
pub use model::{
    Baseline, Change, ChangedLines, Decided, Example, Finding, Ignored, ModelRemark, ModelReport, ModelSize,
    ObjectChange,
};
pub use paint::Style;
pub use prove::{
    ProofCell, ProofGap, ProofHelp, ProofInterference, ProofNote, ProofTogether, ProofWitness, ProveReport, TableChange,
};
pub use shell::shell_word;
pub use space::{Asked, Behaviour, Covered, Passed, SpaceReport, SpaceSize, TraceStyle};

/// The version of the JSON format.
pub const FORMAT: u32 = 1;

/// The whole answer to one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The version of this format: [`FORMAT`].
    pub format: u32,
    /// Who answers.
    pub tool: Tool,
    /// The command that was asked, as a user would type it.
    pub command: String,
    /// The file that was checked.
    pub file: String,
    /// The answer in one word, with the reason if there is none.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What was checked, and what came out for each.
    pub properties: Vec<PropertyResult>,
    /// How much was searched.
    pub stats: Stats,
    /// How it goes wrong, if it does.
    pub counterexample: Option<Counterexample>,
    /// Whether all distinct violations were asked for, not the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// Other violations that are not like the counterexample or each other, if they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Counterexample>,
    /// The run that was asked for, where one was and it is not a counterexample.
    pub trace: Option<Trace>,
    /// What the reader should know about the limits of this answer.
    pub warnings: Vec<String>,
}

/// Name and version of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// `isolde`
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The answer in one word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", content = "reason", rename_all = "lowercase")]
pub enum Verdict {
    /// Every possibility was looked at and none is bad.
    Holds,
    /// There is a bad one; it is in [`Report::counterexample`].
    Violated,
    /// Nothing bad was found, but not everything was looked at, for this reason.
    Inconclusive(String),
}

impl Verdict {
    /// What the process should exit with; 2 is for errors of usage or input, which give no report.
    pub fn exit_code(&self) -> u8 {
        match self {
            Verdict::Holds => 0,
            Verdict::Violated => 1,
            Verdict::Inconclusive(_) => 3,
        }
    }

    /// `holds`, `violated` or `inconclusive`.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            Verdict::Inconclusive(_) => "inconclusive",
        }
    }
}

/// A property and what is known about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertyResult {
    /// What it is called: `serial outcome`, `invariant never_overdrawn`.
    pub name: String,
    /// By what it is judged, if there is a choice: `effects` or `strict`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What is known about it.
    pub status: PropertyStatus,
}

impl PropertyResult {
    /// Its name, and by what it is judged: `serial outcome by effects`.
    pub fn title(&self) -> String {
        match &self.by {
            Some(by) => format!("{} by {by}", self.name),
            None => self.name.clone(),
        }
    }
}

/// What is known about one property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PropertyStatus {
    /// It holds everywhere.
    Holds,
    /// The counterexample breaks it.
    Violated,
    /// The search ended before it could be decided.
    Undecided,
    /// It was not looked at; a warning says why.
    Skipped,
}

/// How much was searched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// The kind of search: `stateful`, `stateless`, `random`.
    pub search: String,
    /// Different states seen; 0 for a search that does not remember them.
    pub states: u64,
    /// Steps executed.
    pub transitions: u64,
    /// Ends reached: different end states of a stateful search, complete interleavings of a stateless one.
    pub ends: u64,
    /// Steps of the longest path followed.
    pub depth: u64,
    /// Whether everything was looked at.
    pub complete: bool,
    /// Wall-clock time, if the caller measured it; left out of golden tests.
    pub elapsed_ms: Option<u64>,
    /// What it took, if the caller wanted to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
}

/// What a search took: the statistics of the papers' tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// Which steps were taken to commute, if any.
    pub dependence: Option<String>,
    /// States looked at; those that are not remembered count each time.
    pub states_seen: u64,
    /// Pairs of steps that could have come the other way round, as far as a reduction looked for them.
    pub races: u64,
    /// Runs that a reduction began in vain.
    pub sleep_blocked: u64,
    /// Steps taken again to come back to a state; not among the transitions.
    pub steps_replayed: u64,
    /// Microseconds spent on digests of states.
    pub hash_us: u64,
    /// Microseconds spent on choosing the next step and coming back to its state.
    pub restore_us: u64,
    /// The most memory that the process has used, if that is known.
    pub memory_bytes: Option<u64>,
    /// What it ran on, if that is not the embedded engine, and how it came back to the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_end: Option<String>,
}

/// How it goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counterexample {
    /// The name of the property that is broken, as in [`Report::properties`].
    pub property: String,
    /// What went wrong, in terms of the data; or that no overlap is needed for it. Shown before everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What happens, in one sentence.
    pub headline: String,
    /// A serial order in which the same property is broken; none if it takes an overlap, or if that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serially: Vec<String>,
    /// What the literature calls it: `lost update`.
    pub anomaly: Option<String>,
    /// The choices that lead there, as `isolde replay` reads them.
    pub schedule: String,
    /// What happens on the way, as it was observed when the schedule was replayed.
    pub trace: Trace,
    /// Why, in paragraphs.
    pub explanation: Vec<String>,
    /// Who must come before whom, or waits for whom, if that goes round in a cycle.
    #[serde(default)]
    pub graph: Option<Graph>,
    /// What it could do without.
    #[serde(default)]
    pub not_needed: NotNeeded,
    /// Changes that were tried, those that help first, the cheapest of them first.
    #[serde(default)]
    pub fixes: Vec<Fix>,
    /// The command that shows it again.
    pub replay: String,
    /// What a real server says about it, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
}

/// What a real server says about a counterexample, or the witness of a proof, of the embedded engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// Which: `PostgreSQL 15.4`.
    pub server: String,
    /// Whether the same schedule breaks the same property there, the same call the same rule.
    pub confirmed: bool,
    /// What was different, otherwise.
    pub difference: Option<String>,
}

/// What a counterexample could do without: the same would happen if it were not in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotNeeded {
    /// Threads, which take no step in it.
    pub threads: Vec<String>,
    /// Statements of the threads that do act.
    pub statements: Vec<Place>,
}

/// What happens along one schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The threads, in the order of the file.
    pub threads: Vec<String>,
    /// The steps, in the order they happen.
    pub steps: Vec<TraceStep>,
    /// The tables afterwards, as committed; those that never change may be left out.
    pub tables: Vec<FinalTable>,
}

/// One step of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceStep {
    /// Whose step: a position in [`Trace::threads`].
    pub thread: usize,
    /// What kind.
    pub kind: StepKind,
    /// The text of the statement, on one line.
    pub statement: String,
    /// Where it stands, if it stands in a file.
    pub place: Option<Place>,
    /// What came back.
    pub result: StepResult,
    /// Rows it changed.
    pub changes: Vec<RowChange>,
    /// What it had to say besides: `NOTICE: ...`, `alice starts again (1 retry left)`.
    pub notes: Vec<String>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file, if it is not the one that the report is about.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: u32,
}

/// What kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// A statement starts.
    Statement,
    /// A statement that waited goes on.
    Resume,
    /// A transaction that nobody wrote a COMMIT for commits.
    Commit,
    /// The thread is chosen to break a deadlock.
    Victim,
    /// A whole transaction runs as one step.
    Transaction,
    /// Time passes, and nothing else.
    Clock,
}

/// What a step gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum StepResult {
    /// Rows of a query.
    Rows {
        /// The names of the columns.
        columns: Vec<String>,
        /// The rows, each value as text; `None` is NULL.
        rows: Vec<Vec<Option<String>>>,
    },
    /// It is done; the command tag, if it has one: `UPDATE 1`.
    Done {
        /// The tag.
        tag: String,
    },
    /// It cannot go on before these threads do.
    Waits {
        /// Their names.
        on: Vec<String>,
    },
    /// It failed.
    Error {
        /// The SQLSTATE.
        code: String,
        /// The message.
        message: String,
    },
}

/// A row that a step changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowChange {
    /// The table.
    pub table: String,
    /// Which row: its primary key, or all its values.
    pub key: String,
    /// How.
    pub kind: ChangeKind,
    /// The columns that changed; all of them for a row that is new or gone.
    pub columns: Vec<ColumnChange>,
}

/// How a row changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It is new.
    Insert,
    /// Some of its columns differ.
    Update,
    /// It is gone.
    Delete,
}

/// A column of a changed row, as text; `None` is NULL, or no row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnChange {
    /// The column.
    pub column: String,
    /// Its value before.
    pub before: Option<String>,
    /// Its value after.
    pub after: Option<String>,
}

/// A table at the end of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalTable {
    /// Its name.
    pub name: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Its rows, each value as text; `None` is NULL. Of a large table, some.
    pub rows: Vec<Vec<Option<String>>>,
    /// How many rows it has.
    pub rows_total: u64,
}

impl Report {
    /// A report without properties, counterexample or warnings yet.
    pub fn new(command: impl Into<String>, file: impl Into<String>, verdict: Verdict, stats: Stats) -> Report {
        Report {
            format: FORMAT,
            tool: Tool { name: "isolde".into(), version: env!("CARGO_PKG_VERSION").into() },
            command: command.into(),
            file: file.into(),
            verdict,
            properties: Vec::new(),
            stats,
            counterexample: None,
            all: false,
            others: Vec::new(),
            trace: None,
            warnings: Vec::new(),
        }
    }

    /// Everything that goes wrong: the counterexample, and the others.
    pub fn counterexamples(&self) -> impl Iterator<Item = &Counterexample> {
        self.counterexample.iter().chain(&self.others)
    }

    /// The same, to be added to.
    pub fn counterexamples_mut(&mut self) -> impl Iterator<Item = &mut Counterexample> {
        self.counterexample.iter_mut().chain(&mut self.others)
    }

    /// The report for people; see [`text`].
    pub fn to_text(&self, style: Style) -> String {
        let mut out = String::new();
        text::write(&mut out, self, style).expect("writing to a string cannot fail");
        out
    }

    /// The report for programs, indented, with a newline at its end.
    pub fn to_json(&self) -> String {
        let mut out = serde_json::to_string_pretty(self).expect("a report has only string keys");
        out.push('\n');
        out
    }

    /// Reads what [`Report::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Report, String> {
        let report: Report = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if report.format != FORMAT {
            return Err(format!("format {} is not known to this version, which reads format {FORMAT}", report.format));
        }
        Ok(report)
    }
}

impl Counterexample {
    /// `final sum (lost update)`
    pub fn title(&self) -> String {
        match &self.anomaly {
            Some(anomaly) => format!("{} ({anomaly})", self.property),
            None => self.property.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
