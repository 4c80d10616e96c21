//! What happened along a schedule: for people, and as a history.

use std::collections::BTreeSet;

use isolde_history::History;
use isolde_report::{FinalTable, StepKind, StepResult, Trace, TraceStep};
use isolde_scenario::conflicts::{self, Observed};
use isolde_scenario::row_change;
use isolde_sql::catalog::{Catalog, TableId};
use isolde_wire::quote;

use super::system::Event;
use super::{Part, Stage};
use crate::Trouble;

/// Rows of a table that a report holds.
const ROWS_MAX: usize = 100;

/// The run as a report shows it. The stage stands at its end.
pub(super) fn trace(stage: &mut dyn Stage, events: &[Event]) -> Result<Trace, Trouble> {
    let catalog = stage.catalog();
    let steps = events.iter().flat_map(|event| &event.parts).map(|part| step(catalog, part)).collect();
    let threads = stage.threads().to_vec();
    let settled = events.iter().flat_map(Event::touched).filter(|touched| touched.ended == Some(true));
    let changed: BTreeSet<TableId> = settled
        .flat_map(|touched| touched.settled.iter().map(|w| w.table).chain(touched.settled_all.iter().copied()))
        .collect();
    let named: Vec<_> = changed
        .into_iter()
        .filter(|id| catalog.has_table(*id))
        .map(|id| catalog.table(id))
        .map(|table| (table.schema.clone(), table.name.clone(), columns(table)))
        .collect();
    let mut tables = Vec::new();
    for (schema, table, columns) in named {
        let quoted = quote::qualified(schema.as_deref(), &table);
        let all = stage.ask(&format!("SELECT * FROM {quoted} ORDER BY 1"))?;
        let name = schema.map_or_else(|| table.to_string(), |schema| format!("{schema}.{table}"));
        let rows_total = all.rows().len() as u64;
        let rows = all.rows().iter().take(ROWS_MAX).cloned().collect();
        tables.push(FinalTable { name, columns, rows, rows_total });
    }
    Ok(Trace { threads, steps, tables })
}

fn columns(table: &isolde_sql::catalog::Table) -> Vec<String> {
    table.columns.iter().map(|column| column.name.to_string()).collect()
}

fn step(catalog: &Catalog, part: &Part) -> TraceStep {
    let failed = matches!(part.result, StepResult::Error { .. });
    let writes = part.touched.writes.iter().filter(|write| !failed && catalog.has_table(write.table));
    TraceStep {
        thread: part.thread,
        kind: part.kind,
        statement: part.statement.clone(),
        place: part.place.clone(),
        result: part.result.clone(),
        changes: writes.map(|write| row_change(catalog.table(write.table), write)).collect(),
        notes: part.notes.clone(),
    }
}

/// The run as a history: who touched what another did.
pub(super) fn history(catalog: &Catalog, threads: &[String], events: &[Event]) -> History {
    let mut keeps = vec![false; threads.len()];
    let parts = events.iter().flat_map(|event| &event.parts);
    let observed: Vec<Observed<'_>> = parts.map(|part| observe(part, &mut keeps)).collect();
    let table = |id| catalog.has_table(id).then(|| &**catalog.table(id));
    conflicts::history(threads.iter().map(String::as_str), observed, &table)
}

/// `keeps` says of each thread whether its transaction keeps its first snapshot.
fn observe<'p>(part: &'p Part, keeps: &mut [bool]) -> Observed<'p> {
    let touched = &part.touched;
    let begins = part.kind != StepKind::Resume && part.kind != StepKind::Victim;
    let snapshot = begins && (touched.snapshot || !keeps[part.thread]);
    keeps[part.thread] = (keeps[part.thread] || touched.snapshot) && touched.ended.is_none();
    // What went on has looked when it began.
    let looked = || touched.reads.iter().chain(&touched.locks).map(|look| &look.read);
    let none = match &part.result {
        StepResult::Rows { rows, .. } => rows.is_empty(),
        StepResult::Done { tag } => tag.ends_with(" 0"),
        StepResult::Waits { .. } | StepResult::Error { .. } => false,
    };
    Observed {
        thread: part.thread,
        kind: conflicts::kind_by_word(&part.statement),
        statement: &part.statement,
        file: part.place.as_ref().and_then(|place| place.file.clone()),
        line: part.place.as_ref().map(|place| place.line),
        snapshot,
        reads: if begins { looked().collect() } else { Vec::new() },
        probes: &[],
        writes: &touched.writes,
        published: if touched.ended == Some(true) { &touched.settled } else { &[] },
        waits: matches!(part.result, StepResult::Waits { .. }),
        ended: touched.ended.is_some(),
        unmatched: true,
        none: none && looked().count() == 1,
        again: part.notes.iter().any(|note| note.contains("starts again")),
    }
}
