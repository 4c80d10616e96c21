//! What `isolde prove` answers: a matrix of procedures and rules, and for each violation the rows and the call that
//! show it.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::paint::{Paint, Style};
use crate::{Baseline, Confirmation, FORMAT, Tool, Verdict};

/// The whole answer about the procedures of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProveReport {
    /// The version of this format.
    pub format: u32,
    /// Who answers.
    pub tool: Tool,
    /// The command that was asked.
    pub command: String,
    /// The file.
    pub path: String,
    /// The answer in one word.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What is known about each procedure and each rule.
    pub cells: Vec<ProofCell>,
    /// Procedures that keep a rule alone and break it together, if that was asked.
    pub interferences: Vec<ProofInterference>,
    /// How much was looked at for these, if that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interference: Option<ProofTogether>,
    /// What every "safe" is about.
    #[serde(default)]
    pub safe_means: String,
    /// What is worth knowing about rules and procedures by themselves, and what was not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<ProofNote>,
    /// Cells that a baseline knows: they count for nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
    /// Cells that a baseline lists, and that are safe now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<String>,
}

/// Something about a rule or a procedure by itself, or a statement that was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofNote {
    /// `rule`, `procedure`; `skipped` for a statement that was not carried out, `open` if it would have had cells of
    /// its own.
    pub kind: String,
    /// What it is about.
    pub name: String,
    /// What is to be known.
    pub text: String,
}

/// How much was looked at, of two procedures at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofTogether {
    /// So many pairs of procedures that keep a rule alone.
    pub pairs: usize,
    /// Those of which nothing is known.
    pub gaps: Vec<ProofGap>,
}

/// Two procedures of which nothing is known together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofGap {
    /// The procedure that is interrupted.
    pub procedure: String,
    /// The one that comes between.
    pub intruder: String,
    /// The rule.
    pub rule: String,
    /// What stands in the way.
    pub why: String,
    /// The line that it stands in.
    pub line: Option<usize>,
}

/// Two procedures that break a rule together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofInterference {
    /// The procedure that is interrupted.
    pub procedure: String,
    /// The one that comes between.
    pub intruder: String,
    /// The rule.
    pub rule: String,
    /// Statements that insert the rows.
    pub rows: Vec<String>,
    /// The call that is interrupted.
    pub call: String,
    /// After how many of its statements.
    pub after: usize,
    /// The call that comes between.
    pub intruder_call: String,
    /// What the rule gives in the end.
    pub outcome: String,
    /// The same as a scenario file.
    pub scenario: String,
}

/// A procedure and a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofCell {
    /// The procedure.
    pub procedure: String,
    /// The line at which it is defined.
    pub line: usize,
    /// The rule.
    pub rule: String,
    /// The rule as it is written.
    pub rule_text: String,
    /// `safe`, `unsafe`, `bounded` or `unknown`.
    pub verdict: String,
    /// How it was proved, or why it is not known.
    pub meaning: String,
    /// The line that stands in the way.
    pub at_line: Option<usize>,
    /// What was taken for granted beyond what is said for all.
    pub assumptions: Vec<String>,
    /// Other rules that have to hold before the call, for the proof.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Why the answer says less than it seems to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// What the cell is about: another, when the answer may be another.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// What breaks the rule.
    pub witness: Option<ProofWitness>,
    /// What would help, proved to.
    pub helps: Vec<ProofHelp>,
}

/// Something with which the rule is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofHelp {
    /// `promise`, about arguments; or `constraint`, a statement.
    pub kind: String,
    /// The condition, or the statement.
    pub text: String,
}

/// Rows and a call that break a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofWitness {
    /// Statements that insert the rows.
    pub rows: Vec<String>,
    /// The call.
    pub call: String,
    /// Its arguments, by name.
    pub arguments: Vec<(String, String)>,
    /// The lines that are passed.
    pub lines: Vec<usize>,
    /// The tables that change.
    pub changes: Vec<TableChange>,
    /// What the rule gives in the end.
    pub outcome: String,
    /// What a real server says about it, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
}

/// A table before and after a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableChange {
    /// Its name.
    pub table: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// Its rows before.
    pub before: Vec<Vec<String>>,
    /// Its rows after.
    pub after: Vec<Vec<String>>,
}

/// What every "safe" is about.
const MEANING: &str = "safe: for all arguments and all rows that meet the schema and the rules, one procedure at a time \
                       (isolde explore looks at several at once)";

impl ProveReport {
    /// A report about nothing yet.
    pub fn new(command: &str, path: &str) -> ProveReport {
        ProveReport {
            format: FORMAT,
            tool: Tool { name: "isolde".into(), version: env!("CARGO_PKG_VERSION").into() },
            command: command.into(),
            path: path.into(),
            verdict: Verdict::Holds,
            cells: Vec::new(),
            interferences: Vec::new(),
            interference: None,
            safe_means: MEANING.into(),
            notes: Vec::new(),
            known: Vec::new(),
            fixed: Vec::new(),
        }
    }

    /// Sets the verdict to what the cells amount to.
    pub fn settle(&mut self) {
        let new = |cell: &&ProofCell| !self.known.contains(&cell.id());
        let count = |verdict: &str| self.cells.iter().filter(|cell| cell.verdict == verdict).filter(new).count();
        let unread = |note: &&ProofNote| note.kind == "open" && !self.known.contains(&note.name);
        let lost = self.notes.iter().filter(unread).count();
        let open = count("unknown") + count("bounded") + lost;
        self.verdict = match (count("unsafe") + self.interferences.len(), open) {
            (0, 0) => Verdict::Holds,
            (0, open) => Verdict::Inconclusive(format!("{open} of {} not decided", self.cells.len() + lost)),
            _ => Verdict::Violated,
        };
    }

    /// What is not safe now, as a baseline: a line per cell.
    pub fn baseline(&self) -> String {
        let open = self.cells.iter().filter(|cell| cell.verdict != "safe");
        let mut lines: Vec<String> = open.map(|cell| format!("{}  # {}\n", cell.id(), cell.verdict)).collect();
        let unread = self.notes.iter().filter(|note| note.kind == "open");
        lines.extend(unread.map(|note| format!("{}  # not read\n", note.name)));
        lines.sort();
        format!("# What isolde prove is known not to prove here. What is new is not in it.\n{}", lines.concat())
    }

    /// Sets aside what a baseline knows. The verdict is that of the rest.
    pub fn compare(&mut self, baseline: &Baseline) {
        let (safe, open): (Vec<&ProofCell>, Vec<&ProofCell>) =
            self.cells.iter().partition(|cell| cell.verdict == "safe");
        let listed = |cells: Vec<&ProofCell>| -> Vec<String> {
            cells.into_iter().map(ProofCell::id).filter(|id| baseline.ids.contains(id)).collect()
        };
        (self.known, self.fixed) = (listed(open), listed(safe));
        let unread = self.notes.iter().filter(|note| note.kind == "open" && baseline.ids.contains(&note.name));
        self.known.extend(unread.map(|note| note.name.clone()));
        self.settle();
    }

    /// For programs.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a report has only string keys");
        text.push('\n');
        text
    }

    /// For people.
    pub fn to_text(&self, style: Style) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut out, style);
        out
    }

    fn write(&self, out: &mut String, style: Style) -> std::fmt::Result {
        let paint = match self.verdict {
            Verdict::Holds => Paint::Good,
            Verdict::Violated => Paint::Bad,
            Verdict::Inconclusive(_) => Paint::Unsure,
        };
        style.write(out, paint, self.verdict.word())?;
        write!(out, "  {}", self.path)?;
        if let Verdict::Inconclusive(why) = &self.verdict {
            write!(out, ": {why}")?;
        }
        out.push_str("\n\n");
        self.matrix(out, style)?;
        self.write_notes(out, style)?;
        for cell in &self.cells {
            cell.write(out, style)?;
        }
        self.interferences.iter().try_for_each(|found| found.write(out, style))?;
        self.interference.iter().try_for_each(|looked| looked.write(out, self.interferences.len(), style))?;
        if self.cells.iter().any(|cell| cell.verdict == "safe") {
            out.push('\n');
            for line in crate::wrap::wrap(MEANING, style.width, 0) {
                style.write(out, Paint::Dim, &line)?;
                out.push('\n');
            }
        }
        Ok(())
    }

    /// Warnings first, then what was not read, then what a baseline knows.
    fn write_notes(&self, out: &mut String, style: Style) -> std::fmt::Result {
        if !self.notes.is_empty() {
            out.push('\n');
        }
        for ProofNote { kind, name, text } in &self.notes {
            let line = match kind.as_str() {
                "skipped" | "open" => format!("not read: {name} ({text})"),
                kind => format!("{kind} {name}: {text}"),
            };
            for line in crate::wrap::wrap(&line, style.width, 2) {
                style.write(out, Paint::Unsure, &line)?;
                out.push('\n');
            }
        }
        if !self.known.is_empty() {
            writeln!(out, "\nknown from the baseline: {}", self.known.join(", "))?;
        }
        if !self.fixed.is_empty() {
            writeln!(out, "\nin the baseline, and safe now: {}", self.fixed.join(", "))?;
        }
        Ok(())
    }

    /// A line per procedure, a column per rule.
    fn matrix(&self, out: &mut String, style: Style) -> std::fmt::Result {
        let (procedures, rules) = self.sides();
        let first = procedures.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let width = |rule: &str| rule.chars().count().max("unknown".len());
        write!(out, "  {:first$}", "")?;
        rules.iter().try_for_each(|rule| write!(out, "  {rule:w$}", w = width(rule)))?;
        trim(out);
        for procedure in procedures {
            write!(out, "  {procedure:first$}")?;
            for rule in &rules {
                let word = self.cell(procedure, rule).map_or("", |cell| cell.verdict.as_str());
                out.push_str("  ");
                style.write(out, paint(word), word)?;
                out.push_str(&" ".repeat(width(rule).saturating_sub(word.len())));
            }
            trim(out);
        }
        Ok(())
    }

    /// The procedures and the rules, each once.
    pub(crate) fn sides(&self) -> (Vec<&str>, Vec<&str>) {
        let (mut procedures, mut rules): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for cell in &self.cells {
            if !rules.contains(&cell.rule.as_str()) {
                rules.push(&cell.rule);
            }
            if !procedures.contains(&cell.procedure.as_str()) {
                procedures.push(&cell.procedure);
            }
        }
        (procedures, rules)
    }

    /// What is known about a procedure and a rule.
    pub(crate) fn cell(&self, procedure: &str, rule: &str) -> Option<&ProofCell> {
        self.cells.iter().find(|cell| cell.procedure == procedure && cell.rule == rule)
    }
}

fn paint(verdict: &str) -> Paint {
    match verdict {
        "safe" => Paint::Good,
        "unsafe" => Paint::Bad,
        _ => Paint::Unsure,
    }
}

/// Ends a line without blanks before its end.
fn trim(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
}

impl ProofCell {
    /// What a baseline calls it.
    pub fn id(&self) -> String {
        format!("{}:{}", self.procedure, self.rule)
    }

    fn write(&self, out: &mut String, style: Style) -> std::fmt::Result {
        if let Some(witness) = &self.witness {
            out.push('\n');
            style.write(out, Paint::Bold, &format!("{} breaks {}", self.procedure, self.rule))?;
            writeln!(out, " (line {})", self.line)?;
            witness.write(out, style)?;
            return self.helps.iter().try_for_each(|help| help.write(out, style));
        }
        if self.verdict != "safe" {
            let line = self.at_line.map(|line| format!(" (line {line})")).unwrap_or_default();
            write!(out, "\n{} and {}: ", self.procedure, self.rule)?;
            style.write(out, paint(&self.verdict), &self.verdict)?;
            writeln!(out, ", {}{line}", self.meaning)?;
            return Ok(());
        }
        let (procedure, rule) = (&self.procedure, &self.rule);
        if let Some(warning) = &self.warning {
            writeln!(out, "\n{procedure} and {rule}: {warning}")?;
        }
        if !self.needs.is_empty() {
            writeln!(
                out,
                "\n{procedure} and {rule}: safe, because before the call also holds: {}",
                self.needs.join(", ")
            )?;
        }
        if !self.assumptions.is_empty() {
            writeln!(out, "\n{procedure} and {rule}: safe, taking for granted: {}", self.assumptions.join("; "))?;
        }
        Ok(())
    }
}

impl ProofTogether {
    /// How much was looked at, if so many were found.
    pub(crate) fn words(&self, found: usize) -> String {
        let pairs = if self.pairs == 1 { "pair" } else { "pairs" };
        format!(
            "{} {pairs} of procedures that are safe alone were looked at, {found} found that break a rule together. \
             One run of the other, before the first write: that nothing is found is no proof",
            self.pairs
        )
    }

    fn write(&self, out: &mut String, found: usize, style: Style) -> std::fmt::Result {
        let text = format!("two at a time: {}", self.words(found));
        out.push('\n');
        crate::wrap::wrap(&text, style.width, 0).into_iter().try_for_each(|line| writeln!(out, "{line}"))?;
        for ProofGap { procedure, intruder, rule, why, line } in &self.gaps {
            let line = line.map(|line| format!(" (line {line})")).unwrap_or_default();
            write!(out, "  {procedure} interrupted by {intruder}, and {rule}: ")?;
            style.write(out, Paint::Unsure, "not known")?;
            writeln!(out, ", {why}{line}")?;
        }
        Ok(())
    }
}

impl ProofInterference {
    fn write(&self, out: &mut String, style: Style) -> std::fmt::Result {
        out.push('\n');
        style.write(
            out,
            Paint::Bold,
            &format!("{} and {} together break {}", self.procedure, self.intruder, self.rule),
        )?;
        out.push('\n');
        for row in &self.rows {
            writeln!(out, "  {row};")?;
        }
        let statements = if self.after == 1 { "statement" } else { "statements" };
        writeln!(out, "  {};  -- interrupted after {} {statements} by", self.call, self.after)?;
        writeln!(out, "  {};", self.intruder_call)?;
        writeln!(out, "  then the rule is {}; --emit scenario writes it for isolde explore", self.outcome)
    }
}

impl ProofHelp {
    /// When the rule is kept: with what follows.
    pub(crate) fn when(&self) -> &'static str {
        if self.kind == "promise" { "safe, if callers see to" } else { "safe, with" }
    }

    fn write(&self, out: &mut String, style: Style) -> std::fmt::Result {
        write!(out, "  {}: ", self.when())?;
        style.write(out, Paint::Good, &self.text)?;
        out.push_str(" (proved)\n");
        Ok(())
    }
}

impl ProofWitness {
    fn write(&self, out: &mut String, style: Style) -> std::fmt::Result {
        for row in &self.rows {
            writeln!(out, "  {row};")?;
        }
        writeln!(out, "  {};", self.call)?;
        for change in &self.changes {
            change.write(out, style)?;
        }
        let lines: Vec<String> = self.lines.iter().map(usize::to_string).collect();
        writeln!(out, "  then the rule is {}; lines passed: {}", self.outcome, lines.join(", "))?;
        let Some(Confirmation { server, difference, .. }) = &self.confirmation else { return Ok(()) };
        match difference {
            None => writeln!(out, "  confirmed on {server}: the same call breaks the same rule there"),
            Some(difference) => {
                style.write(out, Paint::Unsure, "  not confirmed")?;
                writeln!(out, " on {server}: {difference}")
            }
        }
    }
}

impl TableChange {
    fn write(&self, out: &mut String, style: Style) -> std::fmt::Result {
        let rows = |rows: &[Vec<String>], others: &[Vec<String>]| {
            let shown: Vec<String> =
                rows.iter().filter(|r| !others.contains(r)).map(|r| format!("({})", r.join(", "))).collect();
            if shown.is_empty() { "nothing".to_string() } else { shown.join(" ") }
        };
        write!(out, "  {} ({}): {} ", self.table, self.columns.join(", "), rows(&self.before, &self.after))?;
        style.write(out, Paint::Change, &format!("-> {}", rows(&self.after, &self.before)))?;
        out.push('\n');
        Ok(())
    }
}
