//! The answer about a state space: how large it is, what holds of it, and behaviours that break what does not.

use maud::{Markup, html};

use super::{Entry, Tone, chip};
use crate::space::{ending, row};
use crate::text::grouped;
use crate::{Asked, Behaviour, SpaceReport, SpaceSize, Verdict};

pub(super) fn entry(report: &SpaceReport) -> Entry {
    let SpaceSize { states, initial, generated, depth } = report.size;
    let body = html! {
        p class="headline" {
            (grouped(states)) " states (" (grouped(initial)) " at the start), " (grouped(generated)) " generated, depth " (depth)
        }
        @for warning in &report.warnings { (super::warning(warning)) }
        @if !report.properties.is_empty() {
            section {
                h2 { "What was asked" }
                ul class="asked" { @for asked in &report.properties { li { (question(asked)) } } }
            }
        }
        (coverage(report))
        @if !report.stats.is_empty() {
            section {
                h2 { "What it took" }
                table class="numbers" { @for (name, value) in &report.stats { tr { th { (name) } td { (value) } } } }
            }
        }
    };
    let failing = report.properties.iter().filter(|asked| asked.verdict == "fails");
    let about = match &report.verdict {
        Verdict::Inconclusive(reason) => reason.clone(),
        _ => failing.map(|asked| format!("{} {}", asked.kind, asked.name)).collect::<Vec<_>>().join(", "),
    };
    Entry::of(&report.path, &report.verdict, about, body)
}

fn question(asked: &Asked) -> Markup {
    html! {
        (chip(Tone::of_word(&asked.verdict), &asked.verdict)) " " (asked.kind) " " code { (asked.name) }
        @if !asked.meaning.is_empty() { " " span class="remark" { (asked.meaning) } }
        @if let Some(trace) = &asked.trace { (behaviour(trace)) }
    }
}

/// A row for each state, with the variables that are not what they were.
fn behaviour(trace: &Behaviour) -> Markup {
    html! {
        div class="wide" {
            table class="rows" {
                thead { tr { th { "#" } th { "step" } @for variable in &trace.variables { th { (variable) } } } }
                tbody {
                    @for index in 0..trace.states.len() {
                        tr { @for cell in row(trace, index) { td { (cell) } } }
                    }
                }
            }
        }
        @if let Some(words) = ending(trace) { p class="remark" { (words) } }
    }
}

fn coverage(report: &SpaceReport) -> Markup {
    html! {
        @if !report.coverage.is_empty() {
            section {
                h2 { "How often each action was taken" }
                div class="wide" {
                    table class="rows" {
                        thead { tr { th { "action" } th { "taken" } th { "new" } th { "place" } } }
                        tbody {
                            @for covered in &report.coverage {
                                tr {
                                    td { (covered.action) }
                                    td { (grouped(covered.taken)) }
                                    td { (grouped(covered.new)) }
                                    td { (covered.place) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
