//! A run: one column for each thread, and what is the case after each step.
//!
//! Everything is in the page from the start. The script only chooses: after which step to look, which fades the steps
//! that come later and shows that step's *moment*, who waits for whom and which rows were written up to then.

use maud::{Markup, html};

use crate::columns::{heading, place_text, result_text, value_text, without_idle};
use crate::{ChangeKind, ColumnChange, FinalTable, RowChange, StepKind, StepResult, Trace, TraceStep};

/// Longer runs have no moments: they would outgrow the run.
const MOMENTS_MAX: usize = 200;

pub(super) fn section(title: &str, trace: &Trace) -> Markup {
    let run = without_idle(trace);
    html! {
        section class="run" data-steps=(run.steps.len()) {
            h2 { (title) }
            @if !run.steps.is_empty() {
                (steps(&run))
                @if run.steps.len() <= MOMENTS_MAX { (walk(&run)) }
            }
            @if !trace.tables.is_empty() {
                div class="tables" { @for table in &trace.tables { (final_table(table)) } }
            }
        }
    }
}

/// The steps, first to last, each in its thread's column.
fn steps(run: &Trace) -> Markup {
    html! {
        div class="wide" {
            table class="steps" {
                thead {
                    tr {
                        th class="number" { "#" }
                        th class="line" { "line" }
                        @for thread in &run.threads { th { (thread) } }
                    }
                }
                tbody {
                    @for (index, step) in run.steps.iter().enumerate() {
                        tr data-step=(index + 1) {
                            td class="number" { (index + 1) }
                            td class="line" { (place_text(step.place.as_ref())) }
                            @for (thread, name) in run.threads.iter().enumerate() {
                                @if thread == step.thread { td class="cell" data-thread=(name) { (block(step)) } }
                                @else if let Some(since) = waiting(run, thread, index) {
                                    td class="waiting" title={ (name) " waits since step " (since + 1) } {}
                                }
                                @else { td class="empty" {} }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Since which step a thread waits after this one, if it does.
fn waiting(run: &Trace, thread: usize, after: usize) -> Option<usize> {
    let last = run.steps[..=after].iter().rposition(|step| step.thread == thread)?;
    matches!(run.steps[last].result, StepResult::Waits { .. }).then_some(last)
}

/// What a thread did in a step, and what came of it.
fn block(step: &TraceStep) -> Markup {
    let result = result_text(&step.result);
    let class = match step.result {
        StepResult::Error { .. } => "result error",
        StepResult::Waits { .. } => "result waits",
        _ => "result",
    };
    let quiet = matches!(step.kind, StepKind::Resume | StepKind::Commit);
    html! {
        code class=[quiet.then_some("quiet")] { (heading(step)) }
        @if !result.is_empty() { div class=(class) { (result) } }
        @for change in &step.changes { div class="change" { (changed(change)) } }
        @for note in &step.notes { div class="note" { (note) } }
    }
}

/// `~ account 1: balance 100 → 40`
fn changed(change: &RowChange) -> Markup {
    let RowChange { table, key, columns, .. } = change;
    match change.kind {
        ChangeKind::Update => html! {
            span class="sign" { "~" } " " (table) " " (key) ": "
            @if columns.is_empty() { "as before" }
            (listed(columns, |c| html! { (c.column) " " del { (value_text(&c.before)) } " → " ins { (value_text(&c.after)) } }))
        },
        ChangeKind::Insert => html! {
            span class="sign" { "+" } " " (table) ": "
            (listed(columns, |c| html! { (c.column) " " ins { (value_text(&c.after)) } }))
        },
        ChangeKind::Delete => html! {
            span class="sign" { "-" } " " (table) ": "
            (listed(columns, |c| html! { (c.column) " " del { (value_text(&c.before)) } }))
        },
    }
}

fn listed(columns: &[ColumnChange], one: impl Fn(&ColumnChange) -> Markup) -> Markup {
    html! { @for (index, column) in columns.iter().enumerate() { @if index > 0 { ", " } (one(column)) } }
}

/// The slider, and a moment for each step.
fn walk(run: &Trace) -> Markup {
    let last = run.steps.len();
    html! {
        div class="walk" hidden {
            div class="slider" {
                button type="button" class="back" aria-label="one step back" { "◀" }
                input type="range" min="0" max=(last) value=(last) aria-label="step";
                button type="button" class="on" aria-label="one step on" { "▶" }
                span class="where" {}
                span class="keys" { "← →" }
            }
            @for after in 0..=last { (moment(run, after)) }
        }
    }
}

/// Who waits and which rows were written, after so many steps.
fn moment(run: &Trace, after: usize) -> Markup {
    let rows = written(&run.steps[..after]);
    html! {
        div class="moment" data-step=(after) {
            dl class="threads" {
                @for (thread, name) in run.threads.iter().enumerate() {
                    @let (class, words) = standing(run, thread, after);
                    div class=[class] { dt { (name) } dd { (words) } }
                }
            }
            @if !rows.is_empty() {
                table class="written" {
                    caption { "rows written so far, committed or not" }
                    @for row in rows { tr { td class="by" { (row.by(run)) } td { (changed(&row.change)) } } }
                }
            }
        }
    }
}

/// A row that was written: from what it was at first to what it is now, and whose steps did that.
struct Written {
    change: RowChange,
    steps: Vec<usize>,
}

/// The rows that these steps have written, in the order in which they were first written.
fn written(steps: &[TraceStep]) -> Vec<Written> {
    let mut rows: Vec<Written> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        for change in &step.changes {
            let same = |row: &&mut Written| (&row.change.table, &row.change.key) == (&change.table, &change.key);
            match rows.iter_mut().find(same) {
                Some(row) => row.then(index, change),
                None => rows.push(Written { change: change.clone(), steps: vec![index] }),
            }
        }
    }
    rows
}

impl Written {
    /// The row is written once more.
    fn then(&mut self, step: usize, next: &RowChange) {
        if self.steps.last() != Some(&step) {
            self.steps.push(step);
        }
        let gone = next.kind == ChangeKind::Delete;
        self.change.kind = match (self.change.kind, next.kind) {
            (ChangeKind::Delete, _) => ChangeKind::Update,
            (first, ChangeKind::Update | ChangeKind::Insert) => first,
            (_, ChangeKind::Delete) => ChangeKind::Delete,
        };
        for column in &next.columns {
            match self.change.columns.iter_mut().find(|known| known.column == column.column) {
                Some(known) if gone => known.before = known.before.take().or_else(|| column.before.clone()),
                Some(known) => known.after.clone_from(&column.after),
                None => self.change.columns.push(column.clone()),
            }
        }
    }

    /// `3 bob, 5 alice`
    fn by(&self, run: &Trace) -> String {
        let one = |index: &usize| format!("{} {}", index + 1, run.threads[run.steps[*index].thread]);
        self.steps.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// Where a thread stands after so many steps.
fn standing(run: &Trace, thread: usize, after: usize) -> (Option<&'static str>, String) {
    let last = run.steps[..after].iter().rfind(|step| step.thread == thread);
    let more = run.steps[after..].iter().any(|step| step.thread == thread);
    match last.map(|step| &step.result) {
        None => (Some("idle"), "has not begun".into()),
        Some(StepResult::Waits { on }) => (Some("waits"), format!("waits for {}", on.join(", "))),
        Some(StepResult::Error { code, .. }) => (Some("failed"), format!("has failed ({code})")),
        Some(_) if !more => (Some("idle"), "is done".into()),
        Some(_) => (None, "goes on later".into()),
    }
}

/// A table as the run leaves it.
fn final_table(table: &FinalTable) -> Markup {
    let more = table.rows_total.saturating_sub(table.rows.len() as u64);
    html! {
        div class="wide" {
            table class="rows" {
                caption { strong { (table.name) } " at the end" @if table.rows.is_empty() { ": empty" } }
                @if !table.rows.is_empty() {
                    thead { tr { @for column in &table.columns { th { (column) } } } }
                    tbody {
                        @for row in &table.rows {
                            tr { @for value in row { td class=[value.is_none().then_some("null")] { (value_text(value)) } } }
                        }
                    }
                }
            }
            @if more > 0 { p class="remark" { "and " (more) " more" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(kind: ChangeKind, before: Option<&str>, after: Option<&str>) -> RowChange {
        let column = ColumnChange { column: "b".into(), before: before.map(Into::into), after: after.map(Into::into) };
        // A write of the value that was there.
        let columns = if before == after { Vec::new() } else { vec![column] };
        RowChange { table: "t".into(), key: "id = 1".into(), kind, columns }
    }

    fn net(changes: Vec<RowChange>) -> String {
        let steps = changes.into_iter().map(|change| TraceStep {
            thread: 0,
            kind: StepKind::Statement,
            statement: String::new(),
            place: None,
            result: StepResult::Done { tag: String::new() },
            changes: vec![change],
            notes: Vec::new(),
        });
        let rows = written(&steps.collect::<Vec<_>>());
        let texts = rows.iter().map(|row| format!("{} {:?}", changed(&row.change).into_string(), row.steps));
        texts.collect::<Vec<_>>().join("\n").replace("<span class=\"sign\">", "").replace("</span>", "")
    }

    #[test]
    fn a_row_that_is_written_again_is_told_once() {
        use ChangeKind::{Delete, Insert, Update};
        let (one, two) = (Some("1"), Some("2"));
        let twice = net(vec![change(Update, one, two), change(Update, two, two)]);
        assert_eq!(twice, "~ t id = 1: b <del>1</del> → <ins>2</ins> [0, 1]");
        let changed = net(vec![change(Insert, None, one), change(Update, one, two)]);
        assert_eq!(changed, "+ t: b <ins>2</ins> [0, 1]");
        let gone = net(vec![change(Update, one, two), change(Delete, two, None)]);
        assert_eq!(gone, "- t: b <del>1</del> [0, 1]");
        let back = net(vec![change(Delete, one, None), change(Insert, None, two)]);
        assert_eq!(back, "~ t id = 1: b <del>1</del> → <ins>2</ins> [0, 1]");
    }
}
