//! A report about a data model for people: what goes wrong, what it looks like, what to change.

use std::fmt::Write;

use super::{ChangedLines, Decided, Example, Finding, ModelReport, ModelSize};
use crate::paint::{Paint, Style};
use crate::wrap::{pad, width, wrap};
use crate::{Place, Verdict};

/// Where the text of a finding begins.
const INDENT: &str = "   ";

pub(super) fn write(out: &mut String, report: &ModelReport, style: Style) -> std::fmt::Result {
    let paint = match report.verdict {
        Verdict::Holds => Paint::Good,
        Verdict::Violated => Paint::Bad,
        Verdict::Inconclusive(_) => Paint::Unsure,
    };
    style.write(out, paint, report.verdict.word())?;
    let ModelSize { classes, references, associations } = report.size;
    writeln!(out, "  {}{}", report.path, exceptions(report))?;
    writeln!(
        out,
        "  {classes} classes, {references} references, {associations} associations; {} semantics",
        report.semantics
    )?;
    for property in &report.properties {
        write_property(out, style, property)?;
    }
    for (index, finding) in report.findings.iter().enumerate() {
        write_finding(out, style, index + 1, finding)?;
    }
    write_rest(out, report, style)
}

/// `, but for 3 known findings and 1 ignored`
pub(crate) fn exceptions(report: &ModelReport) -> String {
    let known = report.known.len() + report.properties.iter().filter(|property| property.known).count();
    let mut parts = Vec::new();
    if known > 0 {
        parts.push(format!("{known} known"));
    }
    if !report.ignored.is_empty() {
        parts.push(format!("{} ignored", report.ignored.len()));
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!("  (not counted: {})", parts.join(", ")),
    }
}

fn write_property(out: &mut String, style: Style, property: &Decided) -> std::fmt::Result {
    let paint = match property.verdict.as_str() {
        "holds" => Paint::Good,
        "fails" if !property.known => Paint::Bad,
        _ => Paint::Unsure,
    };
    out.push('\n');
    style.write(out, paint, &format!("{:<8}", property.verdict))?;
    style.write(out, Paint::Bold, &property.name)?;
    writeln!(out, "  {}{}", property.meaning, if property.known { "; known" } else { "" })?;
    if property.name != property.text {
        writeln!(out, "        {}", property.text)?;
    }
    match &property.example {
        Some(example) => write_example(out, style, example),
        None => Ok(()),
    }
}

fn write_finding(out: &mut String, style: Style, number: usize, finding: &Finding) -> std::fmt::Result {
    write!(out, "\n{number}. ")?;
    style.write(out, Paint::Bold, &finding.headline)?;
    out.push('\n');
    style.write(out, Paint::Dim, &format!("{INDENT}{}{}", told(finding.place.as_ref()), finding.id))?;
    out.push('\n');
    for line in wrap(&finding.why, style.width.saturating_sub(INDENT.len()), 0) {
        writeln!(out, "{INDENT}{line}")?;
    }
    write_example(out, style, &finding.example)?;
    if let Some(query) = &finding.query {
        lines(out, style, "your data", std::slice::from_ref(query))?;
    }
    let Some(change) = &finding.change else { return Ok(()) };
    match &change.lines {
        Some(lines) => write_lines(out, style, lines)?,
        None => {
            let told: Vec<String> = change.code.lines().map(str::to_owned).collect();
            let told: Vec<String> = match &change.place {
                Some(place) => told.iter().map(|line| format!("{}{line}", self::told(Some(place)))).collect(),
                None => told,
            };
            lines(out, style, if change.place.is_some() { "change" } else { "migrate" }, &told)?;
        }
    }
    let verdict = if change.verified { "proved to help, for all data" } else { "not proved to help" };
    writeln!(out, "{INDENT}{:<11}({verdict})", "")
}

/// The lines to change, as a diff.
fn write_lines(out: &mut String, style: Style, lines: &ChangedLines) -> std::fmt::Result {
    style.write(out, Paint::Dim, &format!("{INDENT}{:<11}", "change"))?;
    let what = if lines.old.is_empty() { "  a new line" } else { "" };
    writeln!(out, "{}:{}{what}", lines.file, lines.line)?;
    for (sign, line) in hunk(lines) {
        let paint = match sign {
            '-' => Paint::Bad,
            '+' => Paint::Good,
            _ => Paint::Plain,
        };
        write!(out, "{INDENT}{:<11}", "")?;
        style.write(out, paint, &format!("{sign} {line}"))?;
        out.push('\n');
    }
    Ok(())
}

/// The lines with their signs, without the blanks that all begin with.
pub(crate) fn hunk(lines: &ChangedLines) -> Vec<(char, &str)> {
    let indent = lines.old.iter().chain(&lines.new).map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    // What is the same at the beginning and at the end is shown once.
    let same = |a: &[String], b: &[String]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let first = same(&lines.old, &lines.new);
    let (old, new) = (&lines.old[first..], &lines.new[first..]);
    let last = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, rest) = old.split_at(old.len() - last);
    let new = &new[..new.len() - last];
    let parts = [(' ', &lines.old[..first]), ('-', old), ('+', new), (' ', rest)];
    let signed = parts.into_iter().flat_map(|(sign, part)| part.iter().map(move |line| (sign, line)));
    signed.map(|(sign, line)| (sign, line.get(indent..).unwrap_or(line))).collect()
}

fn write_example(out: &mut String, style: Style, example: &Example) -> std::fmt::Result {
    match (&example.delete, &example.declined) {
        (None, _) => lines(out, style, "data", &example.before)?,
        (Some(delete), Some(declined)) => {
            lines(out, style, "before", &example.before)?;
            lines(out, style, "delete", &[format!("{delete}: {declined}")])?;
        }
        (Some(delete), None) => write_picture(out, style, delete, example)?,
    }
    match example.console.is_empty() {
        true => lines(out, style, "try", &example.sql),
        false => lines(out, style, "try", &example.console),
    }
}

/// Before and after, side by side; one below the other, if the page is too narrow.
fn write_picture(out: &mut String, style: Style, delete: &str, example: &Example) -> std::fmt::Result {
    let title = format!("after deleting {delete}  (✗ gone)");
    let after = |object: &super::ObjectChange| object.after.clone().unwrap_or_else(|| "✗".into());
    let left = example.objects.iter().map(|object| width(&object.before)).max().unwrap_or(0).max("before".len());
    let right = example.objects.iter().map(|object| width(&after(object))).max().unwrap_or(0).max(width(&title));
    if INDENT.len() + left + right + 5 > style.width {
        lines(out, style, "before", &example.before)?;
        lines(out, style, "delete", &[delete.to_string()])?;
        let nothing = ["(nothing is left)".to_string()];
        return lines(out, style, "after", if example.after.is_empty() { &nothing } else { &example.after });
    }
    style.write(out, Paint::Dim, &format!("{INDENT}{}  │  {title}", pad("before", left)))?;
    out.push('\n');
    for object in &example.objects {
        write!(out, "{INDENT}{}  │  ", pad(&object.before, left))?;
        match object.dangles {
            true => style.write(out, Paint::Bad, &after(object))?,
            false => write!(out, "{}", after(object))?,
        }
        out.push('\n');
    }
    Ok(())
}

/// Lines behind a word.
fn lines(out: &mut String, style: Style, word: &str, lines: &[String]) -> std::fmt::Result {
    for (index, line) in lines.iter().enumerate() {
        style.write(out, Paint::Dim, &format!("{INDENT}{:<11}", if index == 0 { word } else { "" }))?;
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// How much was proved, if anything was.
pub(crate) fn proved(report: &ModelReport) -> Option<String> {
    let what = if report.proved == 1 { "obligation is" } else { "obligations are" };
    (report.proved > 0).then(|| format!("{} {what} proved for all data.", report.proved))
}

fn write_rest(out: &mut String, report: &ModelReport, style: Style) -> std::fmt::Result {
    if let Some(sentence) = proved(report) {
        writeln!(out, "\n{sentence}")?;
    }
    for undecided in &report.undecided {
        style.write(out, Paint::Unsure, "\nnot decided  ")?;
        writeln!(out, "{undecided}")?;
    }
    if !report.ignored.is_empty() {
        writeln!(out, "\nIgnored, as comments say:")?;
    }
    for ignored in &report.ignored {
        writeln!(out, "  {}{}  {}", told(Some(&ignored.place)), ignored.finding.id, ignored.reason)?;
    }
    if !report.fixed.is_empty() {
        writeln!(out, "\nIn the baseline, and no longer there:")?;
    }
    report.fixed.iter().try_for_each(|id| writeln!(out, "  {id}"))?;
    for (title, remarks) in
        [("Comments that ignore nothing:", &report.idle), ("Not understood, and modelled generously:", &report.remarks)]
    {
        if !remarks.is_empty() {
            writeln!(out, "\n{title}")?;
        }
        remarks.iter().try_for_each(|r| writeln!(out, "  {}{}", told(r.place.as_ref()), r.message))?;
    }
    Ok(())
}

/// `app/models/photo.rb:3  `
pub(crate) fn told(place: Option<&Place>) -> String {
    match place {
        Some(Place { file: Some(file), line: 0 }) => format!("{file}  "),
        Some(Place { file: Some(file), line }) => format!("{file}:{line}  "),
        _ => String::new(),
    }
}
