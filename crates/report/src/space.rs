//! What `isolde space` answers: how large the state space is, what holds of it, and behaviours that break what does
//! not.
//!
//! Like [`Report`](crate::Report), it is data first: text and JSON say the same. Values are TLA+ text, because what
//! they look like is the business of whoever made them.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::paint::{Paint, Style};
use crate::text::grouped;
use crate::{FORMAT, Tool, Verdict};

/// The whole answer about a state space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceReport {
    /// The version of this format.
    pub format: u32,
    /// Who answers.
    pub tool: Tool,
    /// The command that was asked.
    pub command: String,
    /// The specification.
    pub path: String,
    /// The answer in one word.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// How large it is.
    pub size: SpaceSize,
    /// What was asked, and what came out.
    pub properties: Vec<Asked>,
    /// How often each action was taken, if that was asked for.
    pub coverage: Vec<Covered>,
    /// What one should know.
    pub warnings: Vec<String>,
    /// What it took, if that was asked for: a name and a text each.
    pub stats: Vec<(String, String)>,
}

/// How large a state space is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceSize {
    /// Different states.
    pub states: u64,
    /// States that it can start in.
    pub initial: u64,
    /// Starts and steps that were made, with those that led to a known state.
    pub generated: u64,
    /// States on the way to the farthest.
    pub depth: u64,
}

/// A question, answered or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// What kind of question: `invariant`, `deadlock`, `ctl`, `property`.
    pub kind: String,
    /// The name or the formula.
    pub name: String,
    /// `holds`, `fails` or `unknown`.
    pub verdict: String,
    /// What happens, or why it is not known, in one sentence.
    pub meaning: String,
    /// A behaviour that shows it.
    pub trace: Option<Behaviour>,
}

/// States one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Behaviour {
    /// The names of the variables.
    pub variables: Vec<String>,
    /// The states.
    pub states: Vec<Passed>,
    /// The state, from 0, that comes again after the last one.
    pub back_to: Option<usize>,
    /// Whether the last state stays for ever.
    pub stays: bool,
}

/// A state that was passed, and the step that led there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// The step: `RMPrepare(r = r1)`; nothing at the start.
    pub action: Option<String>,
    /// Where the action is written.
    pub place: Option<String>,
    /// The values of the variables.
    pub values: Vec<String>,
}

/// How often an action was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covered {
    /// The action.
    pub action: String,
    /// Where it is written.
    pub place: String,
    /// Steps.
    pub taken: u64,
    /// Those of them that led to a new state.
    pub new: u64,
}

/// How a behaviour is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceStyle {
    /// A row for each state, with what changes; as TLC does, if that is too wide.
    #[default]
    Table,
    /// As TLC does.
    Tlc,
}

impl SpaceReport {
    /// A report about nothing yet.
    pub fn new(command: &str, path: &str) -> SpaceReport {
        SpaceReport {
            format: FORMAT,
            tool: Tool { name: "isolde".into(), version: env!("CARGO_PKG_VERSION").into() },
            command: command.into(),
            path: path.into(),
            verdict: Verdict::Holds,
            size: SpaceSize::default(),
            properties: Vec::new(),
            coverage: Vec::new(),
            warnings: Vec::new(),
            stats: Vec::new(),
        }
    }

    /// Sets the verdict to what the answers amount to.
    pub fn settle(&mut self) {
        let with = |verdict: &str| self.properties.iter().filter(|asked| asked.verdict == verdict).count();
        self.verdict = match (with("fails"), with("unknown")) {
            (0, 0) => Verdict::Holds,
            (0, unknown) => {
                let first = self.properties.iter().find(|asked| asked.verdict == "unknown");
                let why = first.map_or("", |asked| asked.meaning.as_str());
                Verdict::Inconclusive(if why.is_empty() { format!("{unknown} not decided") } else { why.into() })
            }
            _ => Verdict::Violated,
        };
    }

    /// The report for programs.
    pub fn to_json(&self) -> String {
        let mut out = serde_json::to_string_pretty(self).expect("a report has only string keys");
        out.push('\n');
        out
    }

    /// The report for people.
    pub fn to_text(&self, style: Style, traces: TraceStyle) -> String {
        let mut out = String::new();
        self.write(&mut out, style, traces).expect("writing to a string cannot fail");
        out
    }

    fn write(&self, out: &mut String, style: Style, traces: TraceStyle) -> std::fmt::Result {
        let paint = match self.verdict {
            Verdict::Holds => Paint::Good,
            Verdict::Violated => Paint::Bad,
            Verdict::Inconclusive(_) => Paint::Unsure,
        };
        style.write(out, paint, self.verdict.word())?;
        writeln!(out, "  {}", self.path)?;
        if let Verdict::Inconclusive(reason) = &self.verdict {
            writeln!(out, "  {reason}")?;
        }
        let SpaceSize { states, initial, generated, depth } = self.size;
        writeln!(
            out,
            "  {} states ({} at the start), {} generated, depth {depth}",
            grouped(states),
            grouped(initial),
            grouped(generated)
        )?;
        for warning in &self.warnings {
            style.write(out, Paint::Unsure, "\nwarning  ")?;
            writeln!(out, "{warning}")?;
        }
        if !self.properties.is_empty() {
            out.push('\n');
        }
        for asked in &self.properties {
            write_asked(out, style, asked, traces)?;
        }
        self.write_coverage(out, style)?;
        if !self.stats.is_empty() {
            out.push('\n');
        }
        for (name, value) in &self.stats {
            style.write(out, Paint::Dim, &format!("  {name:<12}"))?;
            writeln!(out, "{value}")?;
        }
        Ok(())
    }

    fn write_coverage(&self, out: &mut String, style: Style) -> std::fmt::Result {
        if self.coverage.is_empty() {
            return Ok(());
        }
        // What a search that has ended early has not seen may still be there.
        let whole = self.properties.iter().all(|asked| asked.verdict != "unknown");
        let wide = |of: fn(&Covered) -> usize| self.coverage.iter().map(of).max().unwrap_or(0);
        let (name, taken, new) = (
            wide(|covered| covered.action.chars().count()).max("action".len()),
            wide(|covered| grouped(covered.taken).len()).max("taken".len()),
            wide(|covered| grouped(covered.new).len()).max("new".len()),
        );
        out.push('\n');
        style.write(
            out,
            Paint::Dim,
            &format!("  {:<name$}  {:>taken$}  {:>new$}  place\n", "action", "taken", "new"),
        )?;
        for covered in &self.coverage {
            let never = covered.taken == 0;
            let word = if whole { "  never taken\n" } else { "  not taken so far\n" };
            let paint = if never { Paint::Unsure } else { Paint::Plain };
            style.write(out, paint, &format!("  {:<name$}", covered.action))?;
            write!(out, "  {:>taken$}  {:>new$}  {}", grouped(covered.taken), grouped(covered.new), covered.place)?;
            out.push_str(if never { word } else { "\n" });
        }
        Ok(())
    }
}

fn write_asked(out: &mut String, style: Style, asked: &Asked, traces: TraceStyle) -> std::fmt::Result {
    let paint = match asked.verdict.as_str() {
        "holds" => Paint::Good,
        "fails" => Paint::Bad,
        _ => Paint::Unsure,
    };
    style.write(out, paint, &format!("{:<9}", asked.verdict))?;
    write!(out, "{} ", asked.kind)?;
    style.write(out, Paint::Bold, &asked.name)?;
    writeln!(out, "{}{}", if asked.meaning.is_empty() { "" } else { "  " }, asked.meaning)?;
    match &asked.trace {
        Some(trace) => {
            out.push('\n');
            write_trace(out, style, trace, traces)?;
            out.push('\n');
            Ok(())
        }
        None => Ok(()),
    }
}

fn write_trace(out: &mut String, style: Style, trace: &Behaviour, traces: TraceStyle) -> std::fmt::Result {
    let widths = widths(trace);
    let fits = widths.iter().sum::<usize>() + 2 * widths.len() <= style.width;
    match traces {
        TraceStyle::Table if fits => write_table(out, style, trace, &widths),
        _ => write_states(out, style, trace),
    }
}

/// The cells of a row: number, step, and the variables that are not what they were.
pub(crate) fn row(trace: &Behaviour, index: usize) -> Vec<String> {
    let passed = &trace.states[index];
    let before = index.checked_sub(1).map(|before| &trace.states[before]);
    let changed = passed.values.iter().enumerate().map(|(variable, value)| match before {
        Some(before) if before.values.get(variable) == Some(value) => String::new(),
        _ => value.clone(),
    });
    let action = passed.action.clone().unwrap_or_else(|| if index == 0 { "start".into() } else { "stutter".into() });
    [(index + 1).to_string(), action].into_iter().chain(changed).collect()
}

fn widths(trace: &Behaviour) -> Vec<usize> {
    let heads = ["", "step"].into_iter().chain(trace.variables.iter().map(String::as_str));
    let mut widths: Vec<usize> = heads.map(|head| head.chars().count()).collect();
    for index in 0..trace.states.len() {
        for (width, cell) in widths.iter_mut().zip(row(trace, index)) {
            *width = (*width).max(cell.chars().count());
        }
    }
    widths
}

fn write_table(out: &mut String, style: Style, trace: &Behaviour, widths: &[usize]) -> std::fmt::Result {
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("  {}", padded.collect::<Vec<_>>().join("  ")).trim_end().to_string()
    };
    let heads: Vec<String> =
        [String::new(), "step".into()].into_iter().chain(trace.variables.iter().cloned()).collect();
    style.write(out, Paint::Dim, &line(&heads))?;
    out.push('\n');
    for index in 0..trace.states.len() {
        writeln!(out, "{}", line(&row(trace, index)))?;
    }
    write_end(out, style, trace, "  ")
}

fn write_states(out: &mut String, style: Style, trace: &Behaviour) -> std::fmt::Result {
    for (index, passed) in trace.states.iter().enumerate() {
        let place = passed.place.as_ref().map(|place| format!(" {place}")).unwrap_or_default();
        let action = match &passed.action {
            Some(action) => format!("<{action}{place}>"),
            None if index == 0 => "<Initial predicate>".into(),
            None => "Stuttering".into(),
        };
        style.write(out, Paint::Dim, &format!("State {}: {action}", index + 1))?;
        out.push('\n');
        for (name, value) in trace.variables.iter().zip(&passed.values) {
            writeln!(out, "/\\ {name} = {value}")?;
        }
        if index + 1 < trace.states.len() {
            out.push('\n');
        }
    }
    write_end(out, style, trace, "")
}

fn write_end(out: &mut String, style: Style, trace: &Behaviour, indent: &str) -> std::fmt::Result {
    match ending(trace) {
        Some(words) => style.write(out, Paint::Change, &format!("{indent}{words}\n")),
        None => Ok(()),
    }
}

/// How a behaviour that does not end goes on.
pub(crate) fn ending(trace: &Behaviour) -> Option<String> {
    match trace.back_to {
        Some(back) if back + 1 == trace.states.len() => Some("and so on for ever".into()),
        Some(back) => Some(format!("back to state {}", back + 1)),
        None => trace.stays.then(|| "and nothing more, for ever".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_what_changes() {
        let passed = |action: Option<&str>, values: [&str; 2]| Passed {
            action: action.map(Into::into),
            place: None,
            values: values.map(String::from).to_vec(),
        };
        let trace = Behaviour {
            variables: vec!["hr".into(), "mn".into()],
            states: vec![passed(None, ["12", "0"]), passed(Some("Tick"), ["12", "1"])],
            back_to: Some(0),
            stays: false,
        };
        let mut out = String::new();
        write_trace(&mut out, Style::plain(80), &trace, TraceStyle::Table).expect("a string takes everything");
        assert_eq!(out, "     step   hr  mn\n  1  start  12  0\n  2  Tick       1\n  back to state 1\n");
    }
}
