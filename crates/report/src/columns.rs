//! A trace with one column per thread, so that the eye sees who overtakes whom:
//!
//! ```text
//!   #  line  alice                          │ bob
//!  ─────────────────────────────────────────┼───────────────────────────────
//!   1     6  SELECT balance INTO bal FROM   │
//!              account WHERE id = acc       │
//!            → 100                          │
//!   2     6                                 │ SELECT balance INTO bal FROM
//!                                           │   account WHERE id = acc
//!                                           │ → 100
//! ```
//!
//! Columns are as wide as their content wants where the page allows it, and share the page fairly where it does not.
//! When a column would become narrower than [`COLUMN_MIN`] the trace is a list instead, with the thread's name in
//! front.

use std::fmt::{self, Write};

use crate::paint::{Paint, Style};
use crate::wrap::{pad, width, wrap};
use crate::{ChangeKind, Place, RowChange, StepKind, StepResult, Trace, TraceStep};

/// Narrower columns are not readable.
const COLUMN_MIN: usize = 26;
/// Rows of a result that are shown.
const ROWS_SHOWN: usize = 6;

/// Writes the trace, one column per thread or as a list.
pub(crate) fn write(out: &mut dyn Write, trace: &Trace, style: Style) -> fmt::Result {
    let trace = &without_idle(trace);
    let blocks: Vec<Vec<Piece>> = trace.steps.iter().map(pieces).collect();
    let gutter = Gutter::new(trace);
    match column_widths(trace, &blocks, style.width.saturating_sub(gutter.width())) {
        Some(widths) => write_columns(out, trace, &blocks, &gutter, &widths, style),
        None => write_list(out, trace, &blocks, &gutter, style),
    }
}

/// The trace without threads that take no step.
pub(crate) fn without_idle(trace: &Trace) -> Trace {
    let acts = |thread: usize| trace.steps.iter().any(|step| step.thread == thread);
    let threads = trace.threads.iter().enumerate().filter(|(thread, _)| acts(*thread));
    let steps = trace.steps.iter().map(|step| {
        let thread = (0..step.thread).filter(|&before| acts(before)).count();
        TraceStep { thread, ..step.clone() }
    });
    Trace { threads: threads.map(|(_, name)| name.clone()).collect(), steps: steps.collect(), tables: Vec::new() }
}

/// A paragraph of a step: the statement, its result, a change.
struct Piece {
    paint: Paint,
    text: String,
    hang: usize,
}

/// What is shown for a step, in order.
fn pieces(step: &TraceStep) -> Vec<Piece> {
    let mut pieces = vec![Piece { paint: Paint::Plain, text: heading(step), hang: 2 }];
    let result = result_text(&step.result);
    if !result.is_empty() {
        let paint = match step.result {
            StepResult::Error { .. } => Paint::Bad,
            StepResult::Waits { .. } => Paint::Unsure,
            _ => Paint::Dim,
        };
        pieces.push(Piece { paint, text: result, hang: 2 });
    }
    pieces.extend(step.changes.iter().map(|c| Piece { paint: Paint::Change, text: change_text(c), hang: 2 }));
    pieces.extend(step.notes.iter().map(|n| Piece { paint: Paint::Dim, text: n.clone(), hang: 2 }));
    pieces
}

/// What a step is called.
pub(crate) fn heading(step: &TraceStep) -> String {
    match step.kind {
        StepKind::Statement | StepKind::Transaction | StepKind::Clock => step.statement.clone(),
        // The statement stands further up in the same column.
        StepKind::Resume => "(goes on)".to_string(),
        StepKind::Commit => "(commits)".to_string(),
        StepKind::Victim => format!("(deadlock victim) {}", step.statement),
    }
}

/// What came back, on one line.
pub(crate) fn result_text(result: &StepResult) -> String {
    match result {
        StepResult::Rows { columns, rows } => rows_text(columns, rows),
        StepResult::Done { tag } if tag.is_empty() => String::new(),
        StepResult::Done { tag } => format!("→ {tag}"),
        StepResult::Waits { on } => format!("… waits for {}", on.join(", ")),
        StepResult::Error { code, message } => format!("✗ ERROR {code}: {message}"),
    }
}

fn rows_text(columns: &[String], rows: &[Vec<Option<String>>]) -> String {
    match rows {
        [] => "→ no rows".into(),
        [row] if row.is_empty() => "→ 1 row".into(),
        [row] => {
            let named = columns.iter().zip(row).map(|(c, v)| match c.as_str() {
                "?column?" => value_text(v).to_string(),
                _ => format!("{c} {}", value_text(v)),
            });
            format!("→ {}", named.collect::<Vec<_>>().join(", "))
        }
        _ => {
            let shown: Vec<String> = rows.iter().take(ROWS_SHOWN).map(|r| tuple_text(r)).collect();
            let more = rows.len().saturating_sub(ROWS_SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("→ {} rows: {}{more}", rows.len(), shown.join(" "))
        }
    }
}

fn tuple_text(row: &[Option<String>]) -> String {
    format!("({})", row.iter().map(value_text).collect::<Vec<_>>().join(", "))
}

pub(crate) fn value_text(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("NULL")
}

/// A changed row on one line: `account 1: balance 100 → 40`.
fn change_text(change: &RowChange) -> String {
    let RowChange { table, key, columns, .. } = change;
    match change.kind {
        ChangeKind::Update => {
            let columns = columns.iter();
            let columns = columns.map(|c| format!("{} {} → {}", c.column, value_text(&c.before), value_text(&c.after)));
            let columns = columns.collect::<Vec<_>>().join(", ");
            format!("~ {table} {key}: {}", if columns.is_empty() { "as before" } else { &columns })
        }
        ChangeKind::Insert => {
            let columns = columns.iter().map(|c| format!("{} {}", c.column, value_text(&c.after)));
            format!("+ {table}: {}", columns.collect::<Vec<_>>().join(", "))
        }
        ChangeKind::Delete => {
            let columns = columns.iter().map(|c| format!("{} {}", c.column, value_text(&c.before)));
            format!("- {table}: {}", columns.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The step's number and line, in front of everything.
struct Gutter {
    number: usize,
    line: usize,
}

impl Gutter {
    fn new(trace: &Trace) -> Gutter {
        let line = trace.steps.iter().map(|s| width(&place_text(s.place.as_ref()))).max();
        Gutter { number: trace.steps.len().to_string().len(), line: line.unwrap_or(0).max(4) }
    }

    fn width(&self) -> usize {
        self.text("", "").len()
    }

    fn text(&self, number: &str, line: &str) -> String {
        format!("  {number:>0$}  {line:>1$}  ", self.number, self.line)
    }
}

/// `8`, or `schema.sql:8` in another file.
pub(crate) fn place_text(place: Option<&Place>) -> String {
    match place {
        None => String::new(),
        Some(Place { file: None, line }) => line.to_string(),
        Some(Place { file: Some(file), line }) => format!("{file}:{line}"),
    }
}

/// A width per thread, or `None` if they do not fit on a page this wide.
fn column_widths(trace: &Trace, blocks: &[Vec<Piece>], page: usize) -> Option<Vec<usize>> {
    let threads = trace.threads.len();
    let page = page.checked_sub(3 * threads.saturating_sub(1))?;
    if threads == 0 || page / threads < COLUMN_MIN {
        return None;
    }
    let mut wanted: Vec<usize> = trace.threads.iter().map(|name| width(name).max(COLUMN_MIN / 2)).collect();
    for (step, pieces) in trace.steps.iter().zip(blocks) {
        let wanted = wanted.get_mut(step.thread)?;
        *wanted = pieces.iter().map(|p| width(&p.text)).fold(*wanted, usize::max);
    }
    Some(fair_shares(&wanted, page))
}

/// Gives everyone what they want, up to an equal share of what the modest ones leave over.
fn fair_shares(wanted: &[usize], page: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|&i| wanted[i]);
    let mut shares = vec![0; wanted.len()];
    let mut left = page;
    for (done, &i) in order.iter().enumerate() {
        shares[i] = wanted[i].min(left / (wanted.len() - done));
        left -= shares[i];
    }
    shares
}

fn write_columns(
    out: &mut dyn Write,
    trace: &Trace,
    blocks: &[Vec<Piece>],
    gutter: &Gutter,
    widths: &[usize],
    style: Style,
) -> fmt::Result {
    let head: Vec<(Paint, String)> = trace.threads.iter().map(|t| (Paint::Bold, t.clone())).collect();
    let fitted = head.iter().zip(widths).map(|((p, t), w)| (*p, wrap(t, *w, 0).swap_remove(0)));
    write_line(out, &gutter.text("#", "line"), &fitted.collect::<Vec<_>>(), widths, style)?;
    let rule: Vec<String> = widths.iter().map(|w| "─".repeat(*w)).collect();
    style.write(out, Paint::Dim, &format!("  {}{}", "─".repeat(gutter.width() - 2), rule.join("─┼─")))?;
    writeln!(out)?;
    for (number, (step, pieces)) in trace.steps.iter().zip(blocks).enumerate() {
        let mut front = gutter.text(&(number + 1).to_string(), &place_text(step.place.as_ref()));
        for piece in pieces {
            for line in wrap(&piece.text, widths[step.thread], piece.hang) {
                let mut cells = vec![(Paint::Plain, String::new()); widths.len()];
                cells[step.thread] = (piece.paint, line);
                write_line(out, &front, &cells, widths, style)?;
                front = gutter.text("", "");
            }
        }
    }
    Ok(())
}

fn write_line(
    out: &mut dyn Write,
    front: &str,
    cells: &[(Paint, String)],
    widths: &[usize],
    style: Style,
) -> fmt::Result {
    style.write(out, Paint::Dim, front)?;
    for (i, ((paint, text), width)) in cells.iter().zip(widths).enumerate() {
        let last = i + 1 == cells.len();
        // No spaces at the end of a line.
        let text = if last { text.clone() } else { pad(text, *width) };
        style.write(out, *paint, &text)?;
        if !last {
            let rest_empty = cells[i + 1..].iter().all(|(_, t)| t.is_empty());
            style.write(out, Paint::Dim, if rest_empty && i + 2 == cells.len() { " │" } else { " │ " })?;
        }
    }
    writeln!(out)
}

fn write_list(out: &mut dyn Write, trace: &Trace, blocks: &[Vec<Piece>], gutter: &Gutter, style: Style) -> fmt::Result {
    let names = trace.threads.iter().map(|t| width(t)).max().unwrap_or(0);
    for (number, (step, pieces)) in trace.steps.iter().zip(blocks).enumerate() {
        let name = trace.threads.get(step.thread).map_or("", String::as_str);
        let mut front = gutter.text(&(number + 1).to_string(), &place_text(step.place.as_ref()));
        let mut name = pad(name, names);
        let room = style.width.saturating_sub(width(&front) + names + 2).max(COLUMN_MIN);
        for piece in pieces {
            for line in wrap(&piece.text, room, piece.hang) {
                style.write(out, Paint::Dim, &front)?;
                style.write(out, Paint::Bold, &name)?;
                write!(out, "  ")?;
                style.write(out, piece.paint, &line)?;
                writeln!(out)?;
                front = gutter.text("", "");
                name = pad("", names);
            }
        }
    }
    Ok(())
}
