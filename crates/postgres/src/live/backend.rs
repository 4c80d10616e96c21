//! A stage as a back-end of the checker: what it can do, and what was observed on it.

use std::collections::BTreeSet;

use isolde_history::History;
use isolde_report::{FinalTable, Place, StepKind, StepResult, TraceStep};
use isolde_scenario::conflicts::{self, Observed};
use isolde_scenario::file::{FileOptions, SearchKind};
use isolde_scenario::{
    Alone, Backend, Capabilities, Completed, Failure, Fate, Holds, Member, Outcome, ROWS_MAX, Reaction, RunOf, Runs,
    ThreadSet, Toll, Truth, Wait, WaitEnd, When, remark, row_change,
};
use isolde_sql::catalog::{Catalog, Table, TableId};
use isolde_sql::{Span, SqlState};
use isolde_wire::{Response, quote};

use super::check::Check;
use super::system::{Event, LiveSystem, Spot};
use super::{Ending, Part, Standing};
use crate::Trouble;
use crate::fault::fault;

/// Runs that may be spent on a simpler counterexample.
const ATTEMPTS: usize = 48;
/// The same where a run starts programs.
const ATTEMPTS_OF_PROGRAMS: usize = 24;
/// Reasons for coarse reads that are told; of more, how many there are.
const REASONS_MAX: usize = 5;

impl Backend for LiveSystem<'_, '_> {
    fn capabilities(&self) -> Capabilities {
        let runs = self.cursor.stage.borrow().runs();
        Capabilities {
            runs,
            exact: false,
            slow: true,
            attempts_max: if runs == Runs::Scenario { ATTEMPTS } else { ATTEMPTS_OF_PROGRAMS },
            steps_max: usize::MAX,
            states_max: 0,
        }
    }

    fn options(&self) -> &FileOptions {
        &self.cursor.options
    }

    fn threads(&self) -> usize {
        self.cursor.names.len()
    }

    fn member(&self, thread: usize) -> Member<'_> {
        let cursor = self.cursor;
        Member { name: &cursor.names[thread], retries: cursor.retries[thread], expected: &cursor.expected[thread] }
    }

    fn absent(&self) -> ThreadSet {
        self.absent
    }

    fn without(self, absent: ThreadSet) -> Self {
        LiveSystem { absent, ..self }
    }

    fn checks(&self, when: When) -> usize {
        self.checks_of(when).len()
    }

    fn check_name(&self, when: When, check: usize) -> &str {
        &self.checks_of(when)[check].name
    }

    fn ask(&self, spot: &Spot, when: When, check: usize) -> Result<Truth, Trouble> {
        let answer = self.cursor.ask(spot, |stage| stage.ask(&self.checks_of(when)[check].query))?;
        answer.error().and_then(|error| fault(self.check_name(when, check), error)).map_or(Ok(()), Err)?;
        Ok(match &answer {
            Response::Error(error) => Truth::Error(format!("{} ({})", error.message, error.sqlstate)),
            _ => {
                let values = answer.rows().iter().filter_map(|row| row.first());
                let refuted = values.map(Option::as_deref).find(|value| !matches!(value, Some("t" | "true")));
                refuted.map_or(Truth::Holds, |value| value.map_or(Truth::Unknown, |_| Truth::Fails))
            }
        })
    }

    fn fate<'s>(&self, spot: &'s Spot, thread: usize) -> Fate<'s> {
        match spot.standings.get(thread) {
            Some(Standing::Ended(Ending::Done)) => Fate::Done,
            Some(Standing::Ended(Ending::Aborted(error, _))) => Fate::Aborted(error),
            Some(Standing::Ended(Ending::Failed(error))) => Fate::Failed(Failure::Sql(error)),
            Some(Standing::Ended(Ending::Program(how))) => Fate::Failed(Failure::Program(how)),
            Some(Standing::Ready(_) | Standing::Waiting(_)) | None => Fate::Running,
        }
    }

    fn completed(&self, spot: &Spot, thread: usize) -> Completed {
        match spot.standings.get(thread) {
            Some(Standing::Ended(Ending::Aborted(_, completed))) => *completed,
            Some(Standing::Ended(_)) => Completed::Statements(usize::MAX),
            Some(Standing::Ready(_) | Standing::Waiting(_)) | None => Completed::Unknown,
        }
    }

    fn deadlocked(&self, _: &Spot, event: Option<&Event>) -> Vec<usize> {
        let mut members = event.map(Event::cycle).unwrap_or_default().to_vec();
        members.sort_unstable();
        members.dedup();
        members
    }

    fn actor(&self, event: &Event) -> usize {
        event.thread
    }

    fn published(&self, event: &Event) -> bool {
        event.published()
    }

    fn toll(&self, event: &Event) -> Toll {
        let aborts = |part: &Part| match &part.result {
            StepResult::Error { code, .. } => SqlState::parse(code).is_some_and(is_abort),
            _ => false,
        };
        let left_open = event.parts.iter().find(|part| part.reactions.contains(&Reaction::LeftOpen));
        Toll {
            waits: event.parts.iter().any(|part| matches!(part.result, StepResult::Waits { .. })),
            aborts: event.parts.iter().any(aborts),
            left_open: left_open.map(|part| part.thread),
        }
    }

    fn transactions_ended(&self, event: &Event, thread: usize) -> usize {
        let parts = event.parts.iter().filter(|part| part.thread == thread && part.cycle.is_empty());
        parts.filter(|part| part.touched.ended.is_some()).count()
    }

    fn run_alone(&self, spot: &mut Spot, thread: usize, limit: usize) -> Result<Alone, Trouble> {
        self.cursor.run_alone(spot, thread, limit)
    }

    fn outcome(&self, spot: &Spot, limits: &[usize]) -> Result<Outcome, Trouble> {
        self.cursor.ask(spot, |stage| stage.outcome(limits))
    }

    fn effects(&self, spot: &Spot, limits: &[usize]) -> Result<Option<Outcome>, Trouble> {
        self.cursor.ask(spot, |stage| stage.effects(limits))
    }

    fn gave_up(&self, spot: &Spot, thread: usize) -> Result<bool, Trouble> {
        self.cursor.ask(spot, |stage| Ok(stage.gave_up(thread)))
    }

    fn table_name(&self, table: TableId) -> String {
        let stage = self.cursor.stage.borrow();
        match stage.catalog().has_table(table) {
            true => shown(stage.catalog().table(table)),
            false => "a table that is not understood".into(),
        }
    }

    fn place(&self, span: Span) -> Place {
        self.cursor.stage.borrow().place(span).unwrap_or(Place { file: None, line: 0 })
    }

    fn trace_steps(&self, _: &RunOf<Self>, event: &Event) -> Vec<TraceStep> {
        let stage = self.cursor.stage.borrow();
        event.parts.iter().map(|part| trace_step(stage.catalog(), &self.cursor.names, part)).collect()
    }

    fn final_tables(&self, run: &RunOf<Self>) -> Result<Vec<FinalTable>, Trouble> {
        let settled = run.events.iter().flat_map(Event::touched).filter(|touched| touched.ended == Some(true));
        let changed: BTreeSet<TableId> = settled
            .flat_map(|touched| touched.settled.iter().map(|w| w.table).chain(touched.settled_all.iter().copied()))
            .collect();
        self.cursor.ask(&run.end, |stage| {
            let mut tables = Vec::new();
            for id in changed.into_iter().filter(|id| stage.catalog().has_table(*id)).collect::<Vec<_>>() {
                let table = stage.catalog().table(id).clone();
                let quoted = quote::qualified(table.schema.as_deref(), &table.name);
                let all = stage.ask(&format!("SELECT * FROM {quoted} ORDER BY 1"))?;
                tables.push(FinalTable {
                    name: shown(&table),
                    columns: table.columns.iter().map(|column| column.name.to_string()).collect(),
                    rows: all.rows().iter().take(ROWS_MAX).cloned().collect(),
                    rows_total: all.rows().len() as u64,
                });
            }
            Ok(tables)
        })
    }

    fn history(&self, run: &RunOf<Self>) -> History {
        let stage = self.cursor.stage.borrow();
        let catalog = stage.catalog();
        let mut keeps = vec![false; self.threads()];
        let parts = run.events.iter().flat_map(|event| &event.parts);
        let observed: Vec<Observed<'_>> = parts.map(|part| observe(part, &mut keeps)).collect();
        let table = |id| catalog.has_table(id).then(|| &**catalog.table(id));
        conflicts::history(self.cursor.names.iter().map(String::as_str), observed, &table)
    }

    // Which lock it is, the server does not tell: only which process waits for which.
    fn waits(&self, run: &RunOf<Self>) -> Vec<Wait> {
        let cycle = run.last().map(Event::cycle).unwrap_or_default();
        let parts: Vec<&Part> = run.events.iter().flat_map(|event| &event.parts).collect();
        let waits = cycle.iter().zip(cycle.iter().cycle().skip(1)).filter_map(|(&thread, &holder)| {
            let waited = |part: &&&Part| {
                part.thread == thread && (!part.cycle.is_empty() || matches!(part.result, StepResult::Waits { .. }))
            };
            let part = parts.iter().rev().find(waited)?;
            let verb = part.verb.word().to_string();
            let wants = WaitEnd { verb, place: part.place.clone() };
            Some(Wait { thread, holder, item: None, wants, holds: Holds::Somehow })
        });
        let mut waits: Vec<Wait> = waits.collect();
        waits.sort_by_key(|wait| wait.thread);
        waits
    }

    fn adapted(&self, settings: FileOptions) -> Result<FileOptions, Trouble> {
        let search = match isolde_scenario::kind(&settings) {
            SearchKind::Dpor => SearchKind::Source,
            SearchKind::Stateful => {
                let sentence =
                    "the states of a server cannot be compared: --search stateful is for the embedded engine";
                return Err(Trouble::Usage(sentence.into()));
            }
            kind => kind,
        };
        // What commutes is found out on the server.
        Ok(FileOptions { search: Some(search), dependence: None, ..settings })
    }

    fn trouble(&self) -> Option<Trouble> {
        self.cursor.trouble()
    }

    // Without its server every thread fails, and that is not what should be said.
    fn is_alive(&self) -> Result<(), Trouble> {
        self.cursor.stage.borrow_mut().ask("SELECT 1").map(drop)
    }

    fn release_budget(&self) {
        self.cursor.stage.borrow_mut().release();
    }

    fn forget_trouble(&self) {
        self.cursor.forget_trouble();
    }

    fn steps_repeated(&self) -> Option<u64> {
        Some(self.cursor.replayed())
    }

    fn dependence(&self) -> Option<String> {
        let reasons = self.cursor.reasons.borrow();
        let mut told: Vec<&str> = reasons.iter().take(REASONS_MAX).map(String::as_str).collect();
        let more = format!("and {} more", reasons.len().saturating_sub(REASONS_MAX));
        told.extend((reasons.len() > REASONS_MAX).then_some(&*more));
        Some(match told.is_empty() {
            true => "rows and conditions".to_string(),
            false => format!("rows and conditions; by whole tables where {}", told.join("; ")),
        })
    }
}

impl LiveSystem<'_, '_> {
    fn checks_of(&self, when: When) -> &[Check] {
        match when {
            When::Always => &self.cursor.invariants,
            When::AtEnd => &self.cursor.finals,
        }
    }
}

fn is_abort(state: SqlState) -> bool {
    matches!(state, SqlState::SERIALIZATION_FAILURE | SqlState::DEADLOCK_DETECTED)
}

/// A table's name, as reports show it.
fn shown(table: &Table) -> String {
    match &table.schema {
        None => table.name.to_string(),
        Some(schema) => format!("{schema}.{}", table.name),
    }
}

fn trace_step(catalog: &Catalog, names: &[String], part: &Part) -> TraceStep {
    let failed = matches!(part.result, StepResult::Error { .. });
    let writes = part.touched.writes.iter().filter(|write| !failed && catalog.has_table(write.table));
    let remarks = part.reactions.iter().map(|reaction| remark(&names[part.thread], reaction));
    TraceStep {
        thread: part.thread,
        kind: part.kind,
        statement: part.statement.clone(),
        place: part.place.clone(),
        result: part.result.clone(),
        changes: writes.map(|write| row_change(catalog.table(write.table), write)).collect(),
        notes: part.notes.iter().cloned().chain(remarks).collect(),
    }
}

/// `keeps` says of each thread whether its transaction keeps its first snapshot.
fn observe<'p>(part: &'p Part, keeps: &mut [bool]) -> Observed<'p> {
    let touched = &part.touched;
    let begins = part.kind != StepKind::Resume && part.kind != StepKind::Victim;
    let snapshot = begins && (touched.snapshot || !keeps[part.thread]);
    keeps[part.thread] = (keeps[part.thread] || touched.snapshot) && touched.ended.is_none();
    // What resumes has looked when it began.
    let looked = || touched.reads.iter().chain(&touched.locks).map(|look| &look.read);
    let none = match &part.result {
        StepResult::Rows { rows, .. } => rows.is_empty(),
        StepResult::Done { tag } => isolde_wire::rows_counted(tag) == Some(0),
        StepResult::Waits { .. } | StepResult::Error { .. } => false,
    };
    Observed {
        thread: part.thread,
        kind: conflicts::kind_of(part.verb),
        statement: &part.statement,
        file: part.place.as_ref().and_then(|place| place.file.clone()),
        line: part.place.as_ref().map(|place| place.line),
        snapshot,
        keeps: keeps[part.thread],
        reads: if begins { looked().collect() } else { Vec::new() },
        probes: &[],
        writes: &touched.writes,
        published: if touched.ended == Some(true) { &touched.settled } else { &[] },
        waits: matches!(part.result, StepResult::Waits { .. }),
        ended: touched.ended.is_some(),
        unmatched: true,
        none: none && looked().count() == 1,
        aborted: matches!(&part.result, StepResult::Error { code, .. } if SqlState::parse(code).is_some_and(is_abort)),
    }
}
