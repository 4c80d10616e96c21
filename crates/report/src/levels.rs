//! What `isolde explore --levels` answers: the verdict of one scenario at each isolation level, and what each costs.
//!
//! ```text
//! threads      level            verdict   aborts   gives up  waits    what goes wrong
//! as written                    violated  0 of 6   0 of 6    2 of 6   serial outcome (lost update)
//! all threads  READ COMMITTED   as written
//!              REPEATABLE READ  holds     4 of 6   4 of 6    2 of 6
//! ```
//!
//! A row is one search: the file with the level of some threads replaced, everything else as it is.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use crate::paint::{Paint, Style};
use crate::text::write_paragraph;
use crate::wrap::{pad, width};
use crate::{FORMAT, Tool, Verdict};

/// The whole answer about the levels of one scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelsReport {
    /// The version of this format: [`FORMAT`].
    pub format: u32,
    /// Who answers.
    pub tool: Tool,
    /// The command that was asked, as a user would type it.
    pub command: String,
    /// The file that was checked.
    pub file: String,
    /// The verdict of the file as it is written.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The rows: first the file as it is written, then all threads at each level, then each thread alone.
    pub levels: Vec<LevelRow>,
    /// The weakest level at which the file holds if all threads have it.
    pub weakest: Option<String>,
    /// How the file names levels, and what of that was replaced.
    pub notes: Vec<String>,
}

/// One search: the file with the level of some threads replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelRow {
    /// Whose level is replaced.
    pub who: LevelScope,
    /// The level: `READ COMMITTED`; none for the file as it is written.
    pub level: Option<String>,
    /// The level is the one that the file gives these threads, so the verdict is that of the file.
    pub as_written: bool,
    /// What the search says.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The property that is broken, if one is.
    pub property: Option<String>,
    /// What the literature calls it.
    pub anomaly: Option<String>,
    /// Properties that could not be decided everywhere.
    pub skipped: Vec<String>,
    /// What it costs; none where not every interleaving was counted.
    pub cost: Option<LevelCost>,
    /// What the reader should know about this row.
    pub warnings: Vec<String>,
}

/// Whose level a row replaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LevelScope {
    /// Nobody's: the file as it is written.
    Written,
    /// Everybody's.
    All,
    /// Of these threads, the copies of one section; the others are as in the file.
    Only(Vec<String>),
}

/// What a level costs, in interleavings: of those that differ only in the order of steps that commute, one is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelCost {
    /// Interleavings.
    pub ends: u64,
    /// Those in which a transaction ended in a serialization failure or a deadlock, whether it was tried again or not.
    pub ends_aborted: u64,
    /// Those in which a thread was aborted and had no retry left.
    pub ends_given_up: u64,
    /// Those in which a statement waited for a lock.
    pub ends_waited: u64,
    /// Threads that reach the end of their statements in none of them.
    pub never_done: Vec<String>,
}

impl LevelsReport {
    /// A report without rows yet.
    pub fn new(command: impl Into<String>, file: impl Into<String>, verdict: Verdict) -> LevelsReport {
        LevelsReport {
            format: FORMAT,
            tool: Tool { name: "isolde".into(), version: env!("CARGO_PKG_VERSION").into() },
            command: command.into(),
            file: file.into(),
            verdict,
            levels: Vec::new(),
            weakest: None,
            notes: Vec::new(),
        }
    }

    /// The report for programs, indented, with a newline at its end.
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

    fn write(&self, out: &mut dyn Write, style: Style) -> fmt::Result {
        style.write(out, paint(&self.verdict), self.verdict.word())?;
        writeln!(out, "  {}: as written; below, at each isolation level", self.file)?;
        writeln!(out)?;
        let lines = self.table();
        let widths: [usize; COLUMNS] =
            std::array::from_fn(|column| lines.iter().map(|line| width(&line[column])).max().unwrap_or(0));
        for (number, line) in lines.iter().enumerate() {
            let mut text = String::new();
            for (column, cell) in line.iter().enumerate() {
                match (number.checked_sub(1).and_then(|row| self.levels.get(row)), column) {
                    (Some(row), VERDICT) if !row.as_written => {
                        style.write(&mut text, paint(&row.verdict), cell)?;
                        text.push_str(&" ".repeat(widths[column].saturating_sub(width(cell))));
                    }
                    (None, _) => style.write(&mut text, Paint::Bold, &pad(cell, widths[column]))?,
                    _ => text.push_str(&pad(cell, widths[column])),
                }
                text.push_str("  ");
            }
            writeln!(out, "{}", text.trim_end())?;
        }
        write_paragraph(out, "answer", &self.conclusion(), style)?;
        write_paragraph(out, "counted", COUNTED, style)?;
        self.notes.iter().try_for_each(|note| write_paragraph(out, "note", note, style))
    }

    /// The headings, then the cells of every row, as text.
    pub(crate) fn table(&self) -> Vec<[String; COLUMNS]> {
        std::iter::once(HEADINGS.map(String::from)).chain(self.lines()).collect()
    }

    /// The cells of every row, as text.
    fn lines(&self) -> impl Iterator<Item = [String; COLUMNS]> {
        let mut before = None;
        self.levels.iter().map(move |row| {
            let who = match before.replace(&row.who) {
                Some(before) if *before == row.who => String::new(),
                _ => row.who.text(),
            };
            let level = row.level.clone().unwrap_or_default();
            if row.as_written {
                return [who, level, "as written".into(), String::new(), String::new(), String::new(), String::new()];
            }
            let [aborts, gives_up, waits] = row.counts();
            [who, level, row.verdict.word().into(), aborts, gives_up, waits, row.wrong()]
        })
    }

    /// What follows, in a few sentences.
    pub(crate) fn conclusion(&self) -> String {
        std::iter::once(self.of_all()).chain(self.of_one()).collect::<Vec<_>>().join(" ")
    }

    /// Which thread alone would do, where the file as it is written does not hold.
    fn of_one(&self) -> Option<String> {
        let mut enough: Vec<(&LevelScope, String)> = Vec::new();
        for row in self.levels.iter().filter(|_| self.verdict == Verdict::Violated) {
            let holds = row.verdict == Verdict::Holds && row.skipped.is_empty();
            if let (LevelScope::Only(names), Some(level), true) = (&row.who, &row.level, holds)
                && !enough.iter().any(|(who, _)| **who == row.who)
            {
                enough.push((&row.who, format!("{} runs at {level}", names.join(" and "))));
            }
        }
        let ways: Vec<String> = enough.into_iter().map(|(_, way)| way).collect();
        (!ways.is_empty()).then(|| format!("It is enough that {}.", ways.join(", or that ")))
    }

    /// What follows for all threads together.
    fn of_all(&self) -> String {
        let all = || self.levels.iter().filter(|row| row.who == LevelScope::All);
        match &self.weakest {
            Some(level) => {
                let cost = all().find(|row| row.level.as_ref() == Some(level)).and_then(|row| row.cost.as_ref());
                let aborts = match cost {
                    Some(LevelCost { ends_given_up: 1.., .. }) => {
                        "; threads are aborted there and give up: a client must try again (`retry N`)"
                    }
                    Some(LevelCost { ends_aborted: 1.., .. }) => "; threads are aborted there and try again",
                    _ => "",
                };
                format!("It holds if all threads run at {level}{aborts}.")
            }
            None if all().all(|row| row.verdict == Verdict::Violated) => {
                "No isolation level helps: it goes wrong with all threads at SERIALIZABLE, too.".into()
            }
            None => "At no level was it shown to hold for all threads.".into(),
        }
    }
}

const COLUMNS: usize = 7;
/// The column of the verdict.
const VERDICT: usize = 2;
const HEADINGS: [&str; COLUMNS] = ["threads", "level", "verdict", "aborts", "gives up", "waits", "what goes wrong"];
const COUNTED: &str = "interleavings, one of each class, in which a transaction is aborted (serialization failure or \
                       deadlock), in which a thread gives up (aborted, no retry left), and in which a statement waits \
                       for a lock";

impl LevelScope {
    fn text(&self) -> String {
        match self {
            LevelScope::Written => "as written".into(),
            LevelScope::All => "all threads".into(),
            LevelScope::Only(names) => format!("only {}", names.join(", ")),
        }
    }
}

impl LevelRow {
    fn counts(&self) -> [String; 3] {
        match &self.cost {
            Some(LevelCost { ends, ends_aborted, ends_given_up, ends_waited, .. }) => {
                [ends_aborted, ends_given_up, ends_waited].map(|part| format!("{part} of {ends}"))
            }
            None => ["?", "?", "?"].map(String::from),
        }
    }

    fn wrong(&self) -> String {
        let broken = match (&self.verdict, &self.property, &self.anomaly) {
            (Verdict::Inconclusive(why), ..) => Some(why.clone()),
            (_, Some(property), Some(anomaly)) => Some(format!("{property} ({anomaly})")),
            (_, property, _) => property.clone(),
        };
        let skipped =
            (!self.skipped.is_empty()).then(|| format!("not checked everywhere: {}", self.skipped.join(", ")));
        let never = self.cost.iter().map(|cost| &cost.never_done).filter(|names| !names.is_empty());
        let never = never.map(|names| format!("never done: {}", names.join(", ")));
        broken.into_iter().chain(skipped).chain(never).collect::<Vec<_>>().join("; ")
    }
}

fn paint(verdict: &Verdict) -> Paint {
    match verdict {
        Verdict::Holds => Paint::Good,
        Verdict::Violated => Paint::Bad,
        Verdict::Inconclusive(_) => Paint::Unsure,
    }
}
