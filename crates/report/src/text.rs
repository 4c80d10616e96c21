//! The report for people: verdict first, then the shortest trace, then why, then the command that shows it again.

use std::fmt::{self, Write};

use crate::columns;
use crate::fix;
use crate::paint::{Paint, Style};
use crate::wrap::{pad, width, wrap};
use crate::{
    Confirmation, Counterexample, Details, FinalTable, NotNeeded, Place, PropertyStatus, Report, Stats, Trace, Verdict,
};

/// Rows of a final table that are shown.
const ROWS_SHOWN: usize = 12;

/// Writes the report.
pub fn write(out: &mut dyn Write, report: &Report, style: Style) -> fmt::Result {
    write_verdict(out, report, style)?;
    match report.others.len() {
        0 => {
            if let Some(counterexample) = &report.counterexample {
                write_sentences(out, counterexample, style)?;
                write_counterexample(out, counterexample, style)?;
            }
        }
        more => {
            for (number, counterexample) in report.counterexamples().enumerate() {
                writeln!(out)?;
                style.write(out, Paint::Bold, &format!("finding {} of {}", number + 1, more + 1))?;
                writeln!(out, "  {}", counterexample.title())?;
                write_sentences(out, counterexample, style)?;
                write_counterexample(out, counterexample, style)?;
                write_replay(out, counterexample, style)?;
            }
        }
    }
    if let Some(trace) = &report.trace {
        write_trace(out, trace, style)?;
    }
    write_properties(out, report, style)?;
    write_paragraph(out, "searched", &searched(report), style)?;
    if let Some(details) = &report.stats.details {
        write_details(out, &report.stats, details, style)?;
    }
    for warning in &report.warnings {
        write_paragraph(out, "warning", warning, style)?;
    }
    match &report.counterexample {
        Some(counterexample) if report.others.is_empty() => write_replay(out, counterexample, style),
        _ => Ok(()),
    }
}

fn write_replay(out: &mut dyn Write, counterexample: &Counterexample, style: Style) -> fmt::Result {
    // Not wrapped: it is to be copied.
    writeln!(out)?;
    style.write(out, Paint::Bold, "replay")?;
    writeln!(out, "  {}", counterexample.replay)?;
    match &counterexample.confirmation {
        Some(confirmation) => {
            let (heading, sentence) = confirmed(confirmation);
            write_paragraph(out, heading, &sentence, style)
        }
        None => Ok(()),
    }
}

/// What went wrong, in a sentence or two.
fn write_sentences(out: &mut dyn Write, counterexample: &Counterexample, style: Style) -> fmt::Result {
    counterexample.summary.iter().chain([&counterexample.headline]).try_for_each(|s| write_wrapped(out, s, style))
}

fn write_verdict(out: &mut dyn Write, report: &Report, style: Style) -> fmt::Result {
    let paint = match report.verdict {
        Verdict::Holds => Paint::Good,
        Verdict::Violated => Paint::Bad,
        Verdict::Inconclusive(_) => Paint::Unsure,
    };
    style.write(out, paint, report.verdict.word())?;
    match about(report) {
        Some(about) => writeln!(out, "  {}: {about}", report.file),
        None => writeln!(out, "  {}", report.file),
    }
}

/// What is to be said beside the verdict: why there is none, what is broken, or how many findings there are.
pub(crate) fn about(report: &Report) -> Option<String> {
    match (&report.verdict, &report.counterexample) {
        (Verdict::Inconclusive(reason), _) => Some(reason.clone()),
        (_, Some(_)) if !report.others.is_empty() => Some(format!("{} findings", report.others.len() + 1)),
        (_, Some(counterexample)) => Some(counterexample.title()),
        (_, None) => None,
    }
}

fn write_counterexample(out: &mut dyn Write, counterexample: &Counterexample, style: Style) -> fmt::Result {
    write_trace(out, &counterexample.trace, style)?;
    if !counterexample.explanation.is_empty() {
        writeln!(out)?;
        style.write(out, Paint::Bold, "why")?;
        writeln!(out)?;
        for paragraph in &counterexample.explanation {
            write_wrapped(out, paragraph, style)?;
        }
    }
    let drawing = counterexample.graph.as_ref().map(|graph| graph.to_text(style.width.saturating_sub(2)));
    for (row, line) in drawing.iter().flatten().enumerate() {
        write!(out, "{}", if row == 0 { "\n" } else { "" })?;
        writeln!(out, "  {line}")?;
    }
    if let Some(text) = not_needed(&counterexample.not_needed) {
        write_paragraph(out, "not needed", &text, style)?;
    }
    fix::write(out, &counterexample.fixes, style)
}

/// `carol; the statements in lines 9 and 12`
pub(crate) fn not_needed(what: &NotNeeded) -> Option<String> {
    let place = |place: &Place| match &place.file {
        None => place.line.to_string(),
        Some(file) => format!("{} of {file}", place.line),
    };
    let lines: Vec<String> = what.statements.iter().map(place).collect();
    let statements = match &lines[..] {
        [] => None,
        [line] => Some(format!("the statement in line {line}")),
        [lines @ .., last] => Some(format!("the statements in lines {} and {last}", lines.join(", "))),
    };
    let parts: Vec<String> = what.threads.iter().cloned().chain(statements).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn write_trace(out: &mut dyn Write, trace: &Trace, style: Style) -> fmt::Result {
    if !trace.steps.is_empty() {
        writeln!(out)?;
        columns::write(out, trace, style)?;
    }
    for table in &trace.tables {
        writeln!(out)?;
        write_table(out, table, style)?;
    }
    Ok(())
}

/// Text wrapped to the page, indented by two.
fn write_wrapped(out: &mut dyn Write, text: &str, style: Style) -> fmt::Result {
    for line in wrap(text, style.width.saturating_sub(2).max(20), 0) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

/// A heading, then text that hangs behind it.
pub(crate) fn write_paragraph(out: &mut dyn Write, heading: &str, text: &str, style: Style) -> fmt::Result {
    writeln!(out)?;
    style.write(out, Paint::Bold, heading)?;
    let indent = width(heading) + 2;
    let lines = wrap(text, style.width.saturating_sub(indent).max(20), 0);
    for (i, line) in lines.iter().enumerate() {
        writeln!(out, "{}{line}", " ".repeat(if i == 0 { 2 } else { indent }))?;
    }
    Ok(())
}

fn write_properties(out: &mut dyn Write, report: &Report, style: Style) -> fmt::Result {
    let names = |status: PropertyStatus| {
        let of_status = report.properties.iter().filter(|p| p.status == status).map(|p| p.title());
        of_status.collect::<Vec<_>>().join(", ")
    };
    for (status, heading) in [
        (PropertyStatus::Holds, "checked"),
        (PropertyStatus::Skipped, "not checked"),
        // After a violation the search stops, unless all are wanted, so all others are undecided; not worth a line.
        (PropertyStatus::Undecided, "undecided"),
    ] {
        let names = names(status);
        let dull = status == PropertyStatus::Undecided && report.verdict == Verdict::Violated && !report.all;
        if !names.is_empty() && !dull {
            write_paragraph(out, heading, &names, style)?;
        }
    }
    Ok(())
}

fn write_table(out: &mut dyn Write, table: &FinalTable, style: Style) -> fmt::Result {
    let cell = |v: &Option<String>| columns::value_text(v).to_string();
    let shown: Vec<Vec<String>> = table.rows.iter().take(ROWS_SHOWN).map(|r| r.iter().map(cell).collect()).collect();
    let mut widths: Vec<usize> = table.columns.iter().map(|c| width(c)).collect();
    for row in &shown {
        for (w, cell) in widths.iter_mut().zip(row) {
            *w = (*w).max(width(cell));
        }
    }
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().zip(&widths).map(|(c, w)| pad(c, *w)).collect();
        cells.join("  ").trim_end().to_string()
    };
    let fits = |text: String| text.chars().take(style.width.saturating_sub(4)).collect::<String>();
    write!(out, "  ")?;
    style.write(out, Paint::Bold, &table.name)?;
    writeln!(out, " at the end{}", if table.rows.is_empty() { ": empty" } else { "" })?;
    if table.rows.is_empty() {
        return Ok(());
    }
    write!(out, "    ")?;
    style.write(out, Paint::Dim, &fits(line(&table.columns)))?;
    writeln!(out)?;
    for row in &shown {
        writeln!(out, "    {}", fits(line(row)))?;
    }
    let more = table.rows_total.saturating_sub(shown.len() as u64);
    if more > 0 {
        writeln!(out, "    and {more} more")?;
    }
    Ok(())
}

/// How much was searched, as a sentence.
pub(crate) fn searched(report: &Report) -> String {
    let stats = &report.stats;
    let mut parts = Vec::new();
    if stats.states > 0 {
        parts.push(counted(stats.states, "state"));
    }
    parts.push(counted(stats.transitions, "step"));
    let end = match &*stats.search {
        _ if stats.states > 0 => "end state",
        "dpor" | "source" => "inequivalent interleaving",
        _ => "interleaving",
    };
    parts.push(counted(stats.ends, end));
    parts.push(format!("at most {} deep", counted(stats.depth, "step")));
    let mut text = parts.join(", ");
    if !stats.search.is_empty() {
        text = format!("{}: {text}", stats.search);
    }
    if let Some(ms) = stats.elapsed_ms {
        text.push_str(&format!(", in {}", duration(ms)));
    }
    match (&report.verdict, stats.complete) {
        (_, true) => text + "; all of them",
        (Verdict::Violated, false) if !report.all => text + "; stopped at the first violation",
        (_, false) => text + "; not all of them",
    }
}

/// What a real server says: a heading, and a sentence.
pub(crate) fn confirmed(confirmation: &Confirmation) -> (&'static str, String) {
    let Confirmation { server, confirmed, difference } = confirmation;
    match (confirmed, difference) {
        (true, _) => ("confirmed", format!("on {server}: the same schedule breaks the same property there")),
        (false, None) => ("not confirmed", format!("on {server}")),
        (false, Some(difference)) => ("not confirmed", format!("on {server}: {difference}")),
    }
}

fn write_details(out: &mut dyn Write, stats: &Stats, details: &Details, style: Style) -> fmt::Result {
    writeln!(out)?;
    style.write(out, Paint::Bold, "stats")?;
    for (i, (name, value)) in detail_lines(stats, details).iter().enumerate() {
        writeln!(out, "{}{name:<14}  {value}", if i == 0 { "  " } else { "       " })?;
    }
    Ok(())
}

/// What the search took, a line for each number.
pub(crate) fn detail_lines(stats: &Stats, details: &Details) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("states", grouped(details.states_seen)),
        ("transitions", grouped(stats.transitions)),
        ("executions", grouped(stats.ends)),
    ];
    if let Some(dependence) = &details.dependence {
        lines.insert(0, ("dependence", dependence.clone()));
        lines.push(("races", grouped(details.races)));
        lines.push(("sleep-blocked", grouped(details.sleep_blocked)));
    }
    if details.steps_replayed > 0 {
        lines.push(("steps replayed", grouped(details.steps_replayed)));
    }
    if let Some(ms) = stats.elapsed_ms {
        lines.push(("time", duration(ms)));
        lines.push(("steps/s", grouped(stats.transitions * 1000 / ms.max(1))));
    }
    lines.push(("hash time", format!("{}.{:03} ms", grouped(details.hash_us / 1000), details.hash_us % 1000)));
    lines.push(("restore time", format!("{}.{:03} ms", grouped(details.restore_us / 1000), details.restore_us % 1000)));
    if let Some(bytes) = details.memory_bytes {
        lines.push(("memory", format!("{}.{} MB", grouped(bytes / 1_000_000), bytes / 100_000 % 10)));
    }
    if let Some(back_end) = &details.back_end {
        lines.insert(0, ("server", back_end.clone()));
    }
    lines
}

fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn duration(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms / 1000 % 60),
    }
}
