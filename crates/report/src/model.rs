//! What `isolde model` answers: properties with their verdicts, and findings with what they look like and what to change.
//!
//! Like [`Report`](crate::Report), it is data first: text and JSON say the same. An instance is a list of lines, because what an
//! object looks like is the business of whoever made it.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::paint::{Paint, Style};
use crate::{FORMAT, Place, Tool, Verdict};

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
    /// Whose rules were applied: `rails`.
    pub semantics: String,
    /// The answer in one word.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// How much was read.
    pub size: ModelSize,
    /// What goes wrong.
    pub findings: Vec<Finding>,
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
    /// What to change.
    pub change: Option<Change>,
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
    /// Statements that make the data, and delete.
    pub sql: Vec<String>,
    /// The same for the console of the framework.
    pub console: Vec<String>,
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
}

/// A property, decided or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// Its name.
    pub name: String,
    /// As it is written.
    pub text: String,
    /// `holds`, `fails` or `unknown`.
    pub verdict: String,
    /// What that means here: `for all data`, or why it is not known.
    pub meaning: String,
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
            findings: Vec::new(),
            properties: Vec::new(),
            proved: 0,
            undecided: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Sets the verdict to what the parts amount to.
    pub fn settle(&mut self) {
        let fails = self.properties.iter().any(|property| property.verdict == "fails");
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
        self.write(&mut out, style).expect("writing to a string cannot fail");
        out
    }

    fn write(&self, out: &mut String, style: Style) -> std::fmt::Result {
        let paint = match self.verdict {
            Verdict::Holds => Paint::Good,
            Verdict::Violated => Paint::Bad,
            Verdict::Inconclusive(_) => Paint::Unsure,
        };
        style.write(out, paint, self.verdict.word())?;
        let ModelSize { classes, references, associations } = self.size;
        writeln!(out, "  {}", self.path)?;
        writeln!(
            out,
            "  {classes} classes, {references} references, {associations} associations; {} semantics",
            self.semantics
        )?;
        for property in &self.properties {
            self.write_property(out, style, property)?;
        }
        for (index, finding) in self.findings.iter().enumerate() {
            write_finding(out, style, index + 1, finding)?;
        }
        self.write_rest(out, style)
    }

    fn write_property(&self, out: &mut String, style: Style, property: &Decided) -> std::fmt::Result {
        let paint = match property.verdict.as_str() {
            "holds" => Paint::Good,
            "fails" => Paint::Bad,
            _ => Paint::Unsure,
        };
        out.push('\n');
        style.write(out, paint, &format!("{:<8}", property.verdict))?;
        style.write(out, Paint::Bold, &property.name)?;
        writeln!(out, "  {}", property.meaning)?;
        if property.name != property.text {
            writeln!(out, "        {}", property.text)?;
        }
        match &property.example {
            Some(example) => write_example(out, style, example),
            None => Ok(()),
        }
    }

    fn write_rest(&self, out: &mut String, style: Style) -> std::fmt::Result {
        if self.proved > 0 {
            let what = if self.proved == 1 { "obligation is" } else { "obligations are" };
            writeln!(out, "\n{} {what} proved for all data.", self.proved)?;
        }
        for undecided in &self.undecided {
            style.write(out, Paint::Unsure, "\nnot decided  ")?;
            writeln!(out, "{undecided}")?;
        }
        if !self.remarks.is_empty() {
            writeln!(out, "\nNot understood, and modelled generously:")?;
        }
        for remark in &self.remarks {
            writeln!(out, "  {}{}", told(remark.place.as_ref()), remark.message)?;
        }
        Ok(())
    }
}

fn told(place: Option<&Place>) -> String {
    match place {
        Some(Place { file: Some(file), line: 0 }) => format!("{file}  "),
        Some(Place { file: Some(file), line }) => format!("{file}:{line}  "),
        _ => String::new(),
    }
}

fn write_finding(out: &mut String, style: Style, number: usize, finding: &Finding) -> std::fmt::Result {
    write!(out, "\n{number}. ")?;
    style.write(out, Paint::Bold, &finding.headline)?;
    out.push('\n');
    style.write(out, Paint::Dim, &format!("   {}{}", told(finding.place.as_ref()), finding.id))?;
    writeln!(out, "\n   {}", finding.why)?;
    write_example(out, style, &finding.example)?;
    if let Some(change) = &finding.change {
        let verdict = if change.verified { "proved to help, for all data" } else { "not proved to help" };
        write!(out, "   change   {}", told(change.place.as_ref()))?;
        style.write(out, Paint::Change, &change.code)?;
        writeln!(out, "  ({verdict})")?;
    }
    Ok(())
}

fn write_example(out: &mut String, style: Style, example: &Example) -> std::fmt::Result {
    let columns = [("before", &example.before), ("after", &example.after), ("try", &example.console)];
    for (word, lines) in columns {
        if word == "after" {
            if let Some(delete) = &example.delete {
                style.write(out, Paint::Bad, "   delete   ")?;
                writeln!(out, "{delete}")?;
            }
            if example.after.is_empty() && example.delete.is_some() {
                writeln!(out, "   after    (nothing is left)")?;
            }
        }
        for (index, line) in lines.iter().enumerate() {
            style.write(out, Paint::Dim, &format!("   {:<9}", if index == 0 { word } else { "" }))?;
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
