//! Fixes that were tried: what was changed, what came of it, what it costs, and the change itself.

use maud::{Markup, html};

use super::{Tone, chip};
use crate::fix::{DiffLine, diff_lines, remark};
use crate::{Fix, FixVerdict};

pub(super) fn section(fixes: &[Fix]) -> Markup {
    let best = fixes.iter().position(|fix| fix.verdict.helps());
    html! {
        @if !fixes.is_empty() {
            section class="fixes" {
                h2 { "Fixes that were tried" }
                ol {
                    @for (index, fix) in fixes.iter().enumerate() { li { (one(fix, best == Some(index))) } }
                }
            }
        }
    }
}

fn one(fix: &Fix, open: bool) -> Markup {
    let line = html! {
        (chip(tone(&fix.verdict), fix.verdict.words())) " " span class="title" { (fix.title) }
        @let remark = remark(fix);
        @if !remark.is_empty() { " " span class="remark" { (remark) } }
    };
    html! {
        @if fix.patch.is_empty() { div class="fix" { (line) } }
        @else {
            details class="fix" open[open] {
                summary { (line) }
                (diff(&fix.patch))
            }
        }
    }
}

fn tone(verdict: &FixVerdict) -> Tone {
    match verdict {
        FixVerdict::Holds => Tone::Good,
        FixVerdict::Fails(_) => Tone::Bad,
        FixVerdict::Undecided(_) => Tone::Unsure,
    }
}

/// A unified diff, its lines coloured.
fn diff(patch: &str) -> Markup {
    let class = |kind: DiffLine| match kind {
        DiffLine::File | DiffLine::Hunk => "header",
        DiffLine::Added => "added",
        DiffLine::Removed => "removed",
        DiffLine::Same => "same",
    };
    html! {
        pre class="diff" {
            @for (kind, line) in diff_lines(patch) { span class=(class(kind)) { (line) "\n" } }
        }
    }
}
