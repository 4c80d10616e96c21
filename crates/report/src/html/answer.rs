//! One answer, from the verdict to the command that shows it again: the same parts as in [text](crate::text), in the
//! same order.

use maud::{Markup, PreEscaped, html};

use super::{Entry, Tone, chip, fixes, prose, run, warning};
use crate::text::{about, confirmed, detail_lines, not_needed, searched};
use crate::{Counterexample, PropertyResult, PropertyStatus, Report};

pub(super) fn entry(report: &Report) -> Entry {
    Entry::of(&report.file, &report.verdict, about(report).unwrap_or_default(), body(report))
}

fn body(report: &Report) -> Markup {
    let alone = report.others.is_empty();
    html! {
        @if let (Some(counterexample), true) = (&report.counterexample, alone) { (how(counterexample)) }
        @if !alone {
            @for (number, counterexample) in report.counterexamples().enumerate() {
                section class="finding" {
                    h2 { "Finding " (number + 1) " of " (report.others.len() + 1) ": " (counterexample.title()) }
                    (how(counterexample))
                    (again(counterexample))
                }
            }
        }
        @if let Some(trace) = &report.trace { (run::section("The run", trace)) }
        (checked(report))
        @for text in &report.warnings { (warning(text)) }
        @if let (Some(counterexample), true) = (&report.counterexample, alone) { (again(counterexample)) }
    }
}

/// How it goes wrong, why, and what helps.
fn how(counterexample: &Counterexample) -> Markup {
    html! {
        @for sentence in counterexample.summary.iter().chain([&counterexample.headline]) {
            p class="headline" { (sentence) }
        }
        (run::section("How it happens", &counterexample.trace))
        @if !counterexample.explanation.is_empty() || counterexample.graph.is_some() {
            section class="why" {
                h2 { "Why" }
                @for paragraph in &counterexample.explanation { p { (prose(paragraph)) } }
                @if let Some(graph) = &counterexample.graph {
                    figure class="graph" { (PreEscaped(graph.to_svg())) }
                }
            }
        }
        @if let Some(what) = not_needed(&counterexample.not_needed) {
            p class="remark" { strong { "Not needed" } " " (what) }
        }
        (fixes::section(&counterexample.fixes))
    }
}

/// What was looked at, and how much of it.
fn checked(report: &Report) -> Markup {
    html! {
        section class="checked" {
            h2 { "What was checked" }
            @if !report.properties.is_empty() {
                ul class="properties" {
                    @for property in by_weight(&report.properties) {
                        @let (tone, word) = status(property.status);
                        li { @match tone { Some(tone) => (chip(tone, word)), None => span class="chip" { (word) } } " " (property.name) }
                    }
                }
            }
            p { strong { "Searched" } " " (searched(report)) "." }
            @if let Some(details) = &report.stats.details {
                table class="numbers" {
                    @for (name, value) in detail_lines(&report.stats, details) { tr { th { (name) } td { (value) } } }
                }
            }
        }
    }
}

/// What is broken first, what is not known last.
fn by_weight(properties: &[PropertyResult]) -> Vec<&PropertyResult> {
    let mut sorted: Vec<&PropertyResult> = properties.iter().collect();
    sorted.sort_by_key(|property| match property.status {
        PropertyStatus::Violated => 0,
        PropertyStatus::Skipped => 1,
        PropertyStatus::Holds => 2,
        PropertyStatus::Undecided => 3,
    });
    sorted
}

fn status(status: PropertyStatus) -> (Option<Tone>, &'static str) {
    match status {
        PropertyStatus::Holds => (Some(Tone::Good), "holds"),
        PropertyStatus::Violated => (Some(Tone::Bad), "violated"),
        PropertyStatus::Undecided => (None, "undecided"),
        PropertyStatus::Skipped => (Some(Tone::Unsure), "not checked"),
    }
}

/// The command that shows it again, and what a real server says.
fn again(counterexample: &Counterexample) -> Markup {
    html! {
        section class="replay" {
            h2 { "See it again" }
            (command(&counterexample.replay))
            @if let Some(confirmation) = &counterexample.confirmation {
                @let (heading, sentence) = confirmed(confirmation);
                @let tone = if confirmation.confirmed { Tone::Good } else { Tone::Unsure };
                p { (chip(tone, heading)) " " (sentence) }
            }
        }
    }
}

/// A command to be copied. The button is there only where it works.
pub(super) fn command(text: &str) -> Markup {
    html! {
        div class="command" {
            pre { code { (text) } }
            button type="button" class="copy" hidden { "Copy" }
        }
    }
}
