//! What `isolde model` answers: properties with their verdicts, and findings with what they look like and what to
//! change.
//!
//! Like [`Report`](crate::Report), it is data first: [text](ModelReport::to_text), JSON, [SARIF](ModelReport::to_sarif)
//! and
//! [JUnit](ModelReport::to_junit) say the same. An instance is a list of lines, because what an object looks like is
//! the business of whoever made it.
//!
//! A team that starts with a hundred findings keeps them in a [`Baseline`] and looks at what is new; what is so on
//! purpose, a comment in the source says, and the report keeps both apart from what counts.

mod baseline;
mod junit;
mod sarif;
pub(crate) mod text;

use serde::{Deserialize, Serialize};

use crate::paint::Style;
use crate::{FORMAT, InstanceGraph, Place, Tool, Verdict};

pub use baseline::Baseline;

/// The whole answer about a data model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelReport {
    /// The version of this format.
    pub format: u32,
    /// Who answers.
    pub tool: Tool,
    /// The command that was asked.
    pub command: String,
    /// The application.
    pub path: String,
    /// What stands before the names of files to find them from where the command was given: `path/to/app/`.
    #[serde(default)]
    pub root: String,
    /// Whose rules were applied: `rails`.
    pub semantics: String,
    /// The answer in one word.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// How much was read.
    pub size: ModelSize,
    /// What goes wrong, and counts.
    pub findings: Vec<Finding>,
    /// What goes wrong as the baseline knows, and does not count.
    #[serde(default)]
    pub known: Vec<Finding>,
    /// What goes wrong on purpose, as comments in the source say, and does not count.
    #[serde(default)]
    pub ignored: Vec<Ignored>,
    /// What the baseline knows and no longer goes wrong.
    #[serde(default)]
    pub fixed: Vec<String>,
    /// Comments that are to ignore something and do not, and why.
    #[serde(default)]
    pub idle: Vec<ModelRemark>,
    /// What was asked, and what came out.
    pub properties: Vec<Decided>,
    /// How many obligations were proved for all data.
    pub proved: usize,
    /// What was not decided, and why.
    pub undecided: Vec<String>,
    /// What was not understood.
    pub remarks: Vec<ModelRemark>,
}

/// How much was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSize {
    /// Classes.
    pub classes: usize,
    /// References.
    pub references: usize,
    /// Associations.
    pub associations: usize,
}

/// Something that goes wrong, with data that show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is called, the same from run to run: `dangling:Photo.profile:Profile`.
    pub id: String,
    /// What happens, in one sentence.
    pub headline: String,
    /// Where it is declared.
    pub place: Option<Place>,
    /// Why, in a sentence or two.
    pub why: String,
    /// Data that show it.
    pub example: Example,
    /// A query for rows of a real database that are in this state already.
    #[serde(default)]
    pub query: Option<String>,
    /// What to change.
    pub change: Option<Change>,
}

/// A finding that a comment in the source says is on purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    /// What is ignored.
    pub finding: Finding,
    /// Why, as the comment says.
    pub reason: String,
    /// Where it says so.
    pub place: Place,
}

/// Data, and what a delete does to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The objects before.
    pub before: Vec<String>,
    /// What is deleted.
    pub delete: Option<String>,
    /// The objects after; or what stood in the way.
    pub after: Vec<String>,
    /// What stood in the way, if the delete did not go through.
    #[serde(default)]
    pub declined: Option<String>,
    /// Each object and pair, before and after.
    #[serde(default)]
    pub objects: Vec<ObjectChange>,
    /// The same as a graph.
    #[serde(default)]
    pub graph: InstanceGraph,
    /// Statements that make the data, and delete.
    pub sql: Vec<String>,
    /// The same for the console of the framework.
    pub console: Vec<String>,
}

/// An object, or a pair of a join, before a delete and after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectChange {
    /// How it looks before: `tag1 ──taggable──▶ photo1`.
    pub before: String,
    /// How it looks after; `None` if it is gone.
    pub after: Option<String>,
    /// After the delete it names what is gone.
    pub dangles: bool,
}

/// Lines of a file, changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedLines {
    /// The file.
    pub file: String,
    /// The first line, from 1.
    pub line: u32,
    /// What stands there; nothing, if lines are put before it.
    pub old: Vec<String>,
    /// What should.
    pub new: Vec<String>,
}

/// A change that helps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The declaration or statement to write.
    pub code: String,
    /// Where.
    pub place: Option<Place>,
    /// With it, this was proved for all data; otherwise it is only a proposal.
    pub verified: bool,
    /// The lines to change, where it is known how.
    #[serde(default)]
    pub lines: Option<ChangedLines>,
}

/// A property, decided or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// Its name.
    pub name: String,
    /// As it is written.
    pub text: String,
    /// Where.
    #[serde(default)]
    pub place: Option<Place>,
    /// `holds`, `fails` or `unknown`.
    pub verdict: String,
    /// What that means here: `for all data`, or why it is not known.
    pub meaning: String,
    /// It fails as the baseline knows, and does not count.
    #[serde(default)]
    pub known: bool,
    /// Data that break it, or show it.
    pub example: Option<Example>,
}

/// Something that was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRemark {
    /// A sentence.
    pub message: String,
    /// Where.
    pub place: Option<Place>,
}

impl ModelReport {
    /// A report about nothing yet.
    pub fn new(command: &str, path: &str, semantics: &str) -> ModelReport {
        ModelReport {
            format: FORMAT,
            tool: Tool { name: "isolde".into(), version: env!("CARGO_PKG_VERSION").into() },
            command: command.into(),
            path: path.into(),
            semantics: semantics.into(),
            verdict: Verdict::Holds,
            size: ModelSize::default(),
            root: String::new(),
            findings: Vec::new(),
            known: Vec::new(),
            ignored: Vec::new(),
            fixed: Vec::new(),
            idle: Vec::new(),
            properties: Vec::new(),
            proved: 0,
            undecided: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// What shows each finding that is told, and each property for which there are data, by their names.
    pub fn examples(&self) -> impl Iterator<Item = (&str, &Example)> {
        let findings = self.findings.iter().chain(&self.known).map(|finding| (finding.id.as_str(), &finding.example));
        let properties = self.properties.iter();
        findings.chain(properties.filter_map(|decided| Some((decided.name.as_str(), decided.example.as_ref()?))))
    }

    /// Sets the verdict to what the parts amount to.
    pub fn settle(&mut self) {
        let fails = self.properties.iter().any(|property| property.verdict == "fails" && !property.known);
        let unknown = self.properties.iter().filter(|property| property.verdict == "unknown").count();
        let open = unknown + self.undecided.len();
        self.verdict = match (fails || !self.findings.is_empty(), open) {
            (true, _) => Verdict::Violated,
            (false, 0) => Verdict::Holds,
            (false, open) => Verdict::Inconclusive(format!("{open} not decided")),
        };
    }

    /// The report for programs.
    pub fn to_json(&self) -> String {
        let mut out = serde_json::to_string_pretty(self).expect("a report has only string keys");
        out.push('\n');
        out
    }

    /// The report for people.
    pub fn to_text(&self, style: Style) -> String {
        let mut out = String::new();
        text::write(&mut out, self, style).expect("writing to a string cannot fail");
        out
    }

    /// The report for code scanning: SARIF 2.1.0.
    pub fn to_sarif(&self) -> String {
        sarif::write(self)
    }

    /// The report for continuous integration: JUnit's XML.
    pub fn to_junit(&self) -> String {
        junit::write(self)
    }

    /// The examples of all findings as SQL, each in a transaction that is undone.
    pub fn to_sql(&self) -> String {
        let mut out = String::new();
        for finding in self.findings.iter().chain(&self.known) {
            out += &format!("-- {}\n-- {}\nBEGIN;\n", finding.id, finding.headline);
            finding.example.sql.iter().for_each(|line| out += &format!("{line}\n"));
            if let Some(query) = &finding.query {
                out += &format!("{query}\n");
            }
            out += "ROLLBACK;\n\n";
        }
        out
    }

    /// The file of a place, as seen from where the command was given.
    fn file(&self, place: &Place) -> String {
        format!("{}{}", self.root, place.file.as_deref().unwrap_or_default())
    }
}

impl Finding {
    /// What kind of finding it is: what its name begins with.
    pub fn kind(&self) -> &str {
        self.id.split(':').next().unwrap_or(&self.id)
    }
}
