//! The answer about a data model: what goes wrong, what it looks like, what to change.

use maud::{Markup, PreEscaped, html};

use super::{Entry, Tone, chip, prose};
use crate::model::text::{exceptions, hunk, proved, told};
use crate::{Change, Decided, Example, Finding, ModelReport, ModelSize, Verdict};

pub(super) fn entry(report: &ModelReport) -> Entry {
    let ModelSize { classes, references, associations } = report.size;
    let body = html! {
        p class="headline" {
            (classes) " classes, " (references) " references, " (associations) " associations; " (report.semantics) " semantics"
            (exceptions(report))
        }
        @for property in &report.properties { (decided(property)) }
        @for (index, finding) in report.findings.iter().enumerate() { (found(index + 1, finding)) }
        (rest(report))
    };
    let about = match (&report.verdict, report.findings.len()) {
        (Verdict::Inconclusive(reason), _) => reason.clone(),
        (_, 0) => String::new(),
        (_, 1) => "1 finding".into(),
        (_, count) => format!("{count} findings"),
    };
    Entry::of(&report.path, &report.verdict, about, body)
}

fn decided(property: &Decided) -> Markup {
    let tone = if property.known { Tone::Unsure } else { Tone::of_word(&property.verdict) };
    html! {
        section {
            h2 { (property.name) }
            p { (chip(tone, &property.verdict)) " " (property.meaning) @if property.known { "; known" } }
            @if property.name != property.text { pre { code { (property.text) } } }
            @if let Some(example) = &property.example { (shown(&property.name, example)) }
        }
    }
}

fn found(number: usize, finding: &Finding) -> Markup {
    html! {
        section class="finding" {
            h3 { (number) ". " (finding.headline) }
            p class="subject" { (told(finding.place.as_ref())) (finding.id) }
            p { (prose(&finding.why)) }
            (shown(&finding.id, &finding.example))
            @if let Some(query) = &finding.query {
                p class="remark" { "Rows of your data that are in this state already:" }
                (super::answer::command(query))
            }
            @if let Some(change) = &finding.change { (changed(change)) }
        }
    }
}

/// The data before and after, drawn, and how to make them.
fn shown(name: &str, example: &Example) -> Markup {
    let delete = example.delete.as_deref();
    let attempt = if example.console.is_empty() { &example.sql } else { &example.console };
    html! {
        @if !example.graph.objects.is_empty() {
            figure class="picture" { (PreEscaped(example.graph.to_svg(name, delete))) }
        } @else if !example.before.is_empty() {
            pre { @for line in &example.before { (line) "\n" } }
        }
        @if let (Some(delete), Some(declined)) = (delete, &example.declined) { p { (delete) ": " (declined) } }
        @if !attempt.is_empty() {
            details { summary { "Try it" } pre { code { @for line in attempt { (line) "\n" } } } }
        }
    }
}

fn changed(change: &Change) -> Markup {
    let (tone, word) = match change.verified {
        true => (Tone::Good, "proved to help, for all data"),
        false => (Tone::Unsure, "not proved to help"),
    };
    html! {
        p { strong { "Change" } " " (chip(tone, word)) }
        @match &change.lines {
            Some(lines) => {
                p class="subject" { (lines.file) ":" (lines.line) }
                pre class="diff" {
                    @for (sign, line) in hunk(lines) {
                        @let class = match sign { '+' => "added", '-' => "removed", _ => "same" };
                        span class=(class) { (sign) " " (line) "\n" }
                    }
                }
            }
            None => {
                p class="subject" { (told(change.place.as_ref())) }
                pre { code { (change.code) } }
            }
        }
    }
}

/// What was proved, what was not decided, what does not count.
fn rest(report: &ModelReport) -> Markup {
    html! {
        section {
            h2 { "What was checked" }
            @if let Some(sentence) = proved(report) { p { (sentence) } }
            @for undecided in &report.undecided { p { (chip(Tone::Unsure, "not decided")) " " (undecided) } }
            (listed("Ignored, as comments say", report.ignored.iter().map(|ignored| {
                format!("{}{}  {}", told(Some(&ignored.place)), ignored.finding.id, ignored.reason)
            })))
            (listed("Known, as the baseline says", report.known.iter().map(|finding| finding.id.clone())))
            (listed("In the baseline, and no longer there", report.fixed.iter().cloned()))
            (listed("Comments that ignore nothing", report.idle.iter().map(|remark| {
                format!("{}{}", told(remark.place.as_ref()), remark.message)
            })))
            (listed("Not understood, and modelled generously", report.remarks.iter().map(|remark| {
                format!("{}{}", told(remark.place.as_ref()), remark.message)
            })))
        }
    }
}

fn listed(title: &str, lines: impl ExactSizeIterator<Item = String>) -> Markup {
    html! {
        @if lines.len() > 0 {
            details { summary { (title) " (" (lines.len()) ")" } ul { @for line in lines { li { (line) } } } }
        }
    }
}
