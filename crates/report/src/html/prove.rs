//! The answer about procedures: a matrix of procedures and rules, and for each violation the rows and the call that
//! show it.

use maud::{Markup, html};

use super::{Entry, Tone, chip};
use crate::{Confirmation, ProofCell, ProofHelp, ProofInterference, ProofWitness, ProveReport, TableChange, Verdict};

pub(super) fn entry(report: &ProveReport) -> Entry {
    let body = html! {
        section {
            h2 { "Procedures and rules" }
            (matrix(report))
            @if report.cells.iter().any(|cell| cell.verdict == "safe") { p class="remark" { (report.safe_means) } }
        }
        @for cell in &report.cells { (one(cell)) }
        @for found in &report.interferences { (interference(found)) }
        @if let Some(looked) = &report.interference {
            section {
                h2 { "Two at a time" }
                p { (looked.words(report.interferences.len())) "." }
                @if !looked.gaps.is_empty() {
                    ul {
                        @for gap in &looked.gaps {
                            li {
                                (gap.procedure) " interrupted by " (gap.intruder) ", and " (gap.rule) ": "
                                (chip(Tone::Unsure, "not known")) " " (gap.why) (in_line(gap.line))
                            }
                        }
                    }
                }
            }
        }
    };
    let alone = report.cells.iter().filter(|cell| cell.verdict == "unsafe");
    let alone = alone.map(|cell| format!("{} breaks {}", cell.procedure, cell.rule));
    let together = report.interferences.iter();
    let together = together.map(|found| format!("{} and {} break {}", found.procedure, found.intruder, found.rule));
    let about = match &report.verdict {
        Verdict::Inconclusive(reason) => reason.clone(),
        _ => alone.chain(together).collect::<Vec<_>>().join(", "),
    };
    Entry::of(&report.path, &report.verdict, about, body)
}

fn in_line(line: Option<usize>) -> String {
    line.map(|line| format!(" (line {line})")).unwrap_or_default()
}

fn matrix(report: &ProveReport) -> Markup {
    let (procedures, rules) = report.sides();
    html! {
        div class="wide" {
            table class="rows" {
                thead { tr { th {} @for rule in &rules { th { (rule) } } } }
                tbody {
                    @for procedure in procedures {
                        tr {
                            th { (procedure) }
                            @for rule in &rules {
                                td {
                                    @if let Some(cell) = report.cell(procedure, rule) {
                                        (chip(Tone::of_word(&cell.verdict), &cell.verdict))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn one(cell: &ProofCell) -> Markup {
    html! {
        @if let Some(witness) = &cell.witness {
            section {
                h3 { (cell.procedure) " breaks " (cell.rule) " (line " (cell.line) ")" }
                pre { code { (cell.rule_text) } }
                (shown(witness))
                @for help in &cell.helps { (helpful(help)) }
            }
        } @else if cell.verdict != "safe" {
            p class="remark" {
                strong { (cell.procedure) " and " (cell.rule) } " "
                (chip(Tone::of_word(&cell.verdict), &cell.verdict)) " " (cell.meaning) (in_line(cell.at_line))
            }
        } @else if !cell.assumptions.is_empty() {
            p class="remark" {
                strong { (cell.procedure) " and " (cell.rule) } " safe, taking for granted: " (cell.assumptions.join("; "))
            }
        }
    }
}

fn shown(witness: &ProofWitness) -> Markup {
    let lines: Vec<String> = witness.lines.iter().map(usize::to_string).collect();
    html! {
        pre { code { @for row in &witness.rows { (row) ";\n" } (witness.call) ";" } }
        div class="tables" { @for change in &witness.changes { (table(change)) } }
        p { "Then the rule is " strong { (witness.outcome) } "; lines passed: " (lines.join(", ")) "." }
        @if let Some(Confirmation { server, difference, .. }) = &witness.confirmation {
            @match difference {
                None => p { (chip(Tone::Good, "confirmed")) " on " (server) ": the same call breaks the same rule there" },
                Some(difference) => p { (chip(Tone::Unsure, "not confirmed")) " on " (server) ": " (difference) },
            }
        }
    }
}

/// What goes, struck through; then what comes.
fn table(change: &TableChange) -> Markup {
    let (gone, new) =
        (|row: &&Vec<String>| !change.after.contains(row), |row: &&Vec<String>| !change.before.contains(row));
    html! {
        div class="wide" {
            table class="rows" {
                caption { strong { (change.table) } }
                thead { tr { @for column in &change.columns { th { (column) } } } }
                tbody {
                    @for row in change.before.iter().filter(gone) { tr { @for value in row { td { del { (value) } } } } }
                    @for row in change.after.iter().filter(new) { tr { @for value in row { td { ins { (value) } } } } }
                }
            }
        }
    }
}

fn helpful(help: &ProofHelp) -> Markup {
    html! { p { (chip(Tone::Good, help.when())) " " code { (help.text) } " (proved)" } }
}

fn interference(found: &ProofInterference) -> Markup {
    let statements = if found.after == 1 { "statement" } else { "statements" };
    html! {
        section {
            h3 { (found.procedure) " and " (found.intruder) " together break " (found.rule) }
            pre {
                code {
                    @for row in &found.rows { (row) ";\n" }
                    (found.call) ";  -- interrupted after " (found.after) " " (statements) " by\n" (found.intruder_call) ";"
                }
            }
            p { "Then the rule is " strong { (found.outcome) } "." }
            details { summary { "The same as a scenario for isolde explore" } pre { code { (found.scenario) } } }
        }
    }
}
