//! The embedded engine as a back-end of the checker: a state is a value, so everything is read off it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use isolde_engine::footprint::LockEventKind;
use isolde_engine::{
    Activity, Blocked, Generators, LockKey, Outcome as Did, PendingKind, Step, TableData, Tables, WaitsFor,
};
use isolde_explore::{Checkpoint, Done, Limit, Search};
use isolde_history::History;
use isolde_report::{FinalTable, Place, StepKind, StepResult, TraceStep};
use isolde_sql::budget::Exhausted;
use isolde_sql::catalog::TableId;
use isolde_sql::{Row, Span, Value, facts};

use crate::backend::{
    Alone, Backend, Capabilities, Completed, Failure, Fate, Holds, Member, Runs, Toll, Truth, Wait, WaitEnd, When,
};
use crate::checker::{Checker, Examination};
use crate::client::{Observation, Reaction, Status};
use crate::clock::{self, Pace, Way};
use crate::conflicts;
use crate::effects;
use crate::file::{FileOptions, Hashing, SearchKind, SerialCheck};
use crate::names;
use crate::outcome::{Outcome, RawAnswer, RawOutcome, RawSeen};
use crate::renaming::{DrawnTwice, Generator};
use crate::scenario::{Check, Scenario, Thread};
use crate::serially;
use crate::system::{Event, ScenarioSystem, State};
use crate::threads::ThreadSet;
use crate::trace::{self, ROWS_MAX, Run};
use crate::trouble::Trouble;

/// A thread that takes more steps than this on its own is taken to run for ever.
const STEPS_ALONE_MAX: usize = 200_000;
/// Other bases of generated values. The first is far from what set-up leaves; the second is for numbers of a fixed
/// small width.
const OTHER_GENERATORS: [Generators; 2] =
    [Generators { skipped: 4271, gap: 2, seed: 1 }, Generators { skipped: 59, gap: 1, seed: 2 }];
/// Steps executed in all attempts at a simpler counterexample.
const STEPS_MAX: usize = 100_000;
/// States that all searches for one counterexample look at.
const STATES_MAX: u64 = 20_000;
/// Rows of set-up at which half of these are enough: properties may read them all in every state.
const ROWS_MANY: u64 = 20_000;

impl Backend for ScenarioSystem<'_> {
    fn capabilities(&self) -> Capabilities {
        // Depends on the scenario alone, so that what is found does too.
        let tables = self.scenario.database.committed();
        let rows: u64 = (0..tables.len()).map(|id| tables.table(TableId(id as u32)).len() as u64).sum();
        Capabilities {
            runs: Runs::Scenario,
            exact: true,
            slow: false,
            attempts_max: usize::MAX,
            steps_max: STEPS_MAX,
            states_max: STATES_MAX * ROWS_MANY / (ROWS_MANY + rows),
        }
    }

    fn options(&self) -> &FileOptions {
        &self.scenario.options
    }

    fn serial(&self) -> SerialCheck {
        self.serial
    }

    fn threads(&self) -> usize {
        self.scenario.threads.len()
    }

    fn member(&self, thread: usize) -> Member<'_> {
        match self.scenario.threads.get(thread) {
            Some(Thread { name, retries, expected, .. }) => Member { name, retries: *retries, expected },
            None => Member { name: clock::NAME, retries: 0, expected: &[] },
        }
    }

    fn absent(&self) -> ThreadSet {
        self.absent
    }

    fn without(self, absent: ThreadSet) -> Self {
        ScenarioSystem { absent, ..self }
    }

    fn checks(&self, when: When) -> usize {
        self.checks_of(when).len()
    }

    fn check_name(&self, when: When, check: usize) -> &str {
        &self.checks_of(when)[check].name
    }

    fn ask(&self, state: &State, when: When, check: usize) -> Result<Truth, Trouble> {
        Ok(match state.database.query(&self.checks_of(when)[check].query) {
            // Not decided; the budget remembers it.
            Err(error) if error.is_cut() => Truth::Cut,
            Err(error) => Truth::Error(error.to_string()),
            Ok(rows) => match rows.iter().find_map(|row| row.first().filter(|v| !v.is_true())) {
                None => Truth::Holds,
                Some(Value::Null) => Truth::Unknown,
                Some(_) => Truth::Fails,
            },
        })
    }

    fn fate<'s>(&self, state: &'s State, thread: usize) -> Fate<'s> {
        match &state.clients[thread].status {
            Status::Running => Fate::Running,
            Status::Done => Fate::Done,
            Status::Aborted(error) => Fate::Aborted(error),
            Status::Failed(error) => Fate::Failed(Failure::Sql(error)),
        }
    }

    fn completed(&self, state: &State, thread: usize) -> Completed {
        let (client, thread) = (&state.clients[thread], &self.scenario.threads[thread]);
        match client.status {
            Status::Aborted(_) if client.partly => Completed::Unknown,
            _ => Completed::Statements(client.completed(thread)),
        }
    }

    fn deadlocked(&self, state: &State, _: Option<&Event>) -> Vec<usize> {
        ScenarioSystem::deadlocked(self, state)
    }

    fn actor(&self, event: &Event) -> usize {
        event.thread
    }

    fn published(&self, event: &Event) -> bool {
        event.published() || event.passed.is_some() && !event.watched.is_empty()
    }

    fn is_passing(&self, event: &Event) -> bool {
        event.passed.is_some()
    }

    fn clock_name(&self) -> Option<&str> {
        self.scenario.clock.runs().then_some(clock::NAME)
    }

    fn pace(&self, state: &State) -> Pace {
        match self.scenario.clock.runs() {
            true => self.times(state),
            false => Pace::new(),
        }
    }

    fn ways_alone(&self, state: &State, thread: usize, limit: usize, pace: &Pace) -> Result<Vec<Way<State>>, Trouble> {
        if !self.scenario.clock.is_read_by(thread) {
            let mut state = state.clone();
            let alone = self.run_alone(&mut state, thread, limit, STEPS_ALONE_MAX);
            return Ok(vec![Way { alone, state, times: Vec::new() }]);
        }
        Ok(self.all_ways(state, thread, limit, pace, STEPS_ALONE_MAX))
    }

    fn run_at(
        &self,
        state: &mut State,
        thread: usize,
        limit: usize,
        pace: &Pace,
        times: &[i64],
    ) -> Result<Alone, Trouble> {
        match self.scenario.clock.is_read_by(thread) {
            true => Ok(ScenarioSystem::run_at(self, state, thread, limit, pace, times)),
            false => Backend::run_alone(self, state, thread, limit),
        }
    }

    fn toll(&self, event: &Event) -> Toll {
        let left_open = event.reactions.contains(&Reaction::LeftOpen);
        Toll {
            waits: event.steps.iter().any(|s| matches!(s.outcome, Did::Blocked(_))),
            aborts: event.steps.iter().any(|s| matches!(&s.reply, Some(Err(error)) if error.is_abort())),
            left_open: left_open.then_some(event.thread),
        }
    }

    fn transactions_ended(&self, event: &Event, thread: usize) -> usize {
        let steps = event.steps.iter().filter(|_| event.thread == thread);
        steps.filter(|step| step.footprint.ended.is_some()).count()
    }

    fn run_alone(&self, state: &mut State, thread: usize, limit: usize) -> Result<Alone, Trouble> {
        Ok(ScenarioSystem::run_alone(self, state, thread, limit, STEPS_ALONE_MAX))
    }

    fn outcome(&self, state: &State, limits: &[usize]) -> Result<Outcome, Trouble> {
        Ok(outcome(self, state, limits))
    }

    fn effects(&self, state: &State, limits: &[usize]) -> Result<Option<Outcome>, Trouble> {
        Ok(Some(with_effects(self.scenario, state, limits, |raw| raw.outcome(&self.scenario.generated))))
    }

    fn effects_beside(&self, state: &State, other: &State, limits: &[usize]) -> Option<Outcome> {
        if state.is_cut() || other.is_cut() {
            return None;
        }
        with_effects(self.scenario, state, limits, |raw| {
            with_effects(self.scenario, other, limits, |beside| raw.beside(beside, random_twice(self, state, other)))
        })
    }

    fn gave_up(&self, state: &State, thread: usize) -> Result<bool, Trouble> {
        Ok(effects::gave_up(&state.clients[thread], &self.scenario.threads[thread]))
    }

    fn with_other_generators(&self, state: &State) -> Vec<Self> {
        let drew = state.clients.iter().zip(&self.scenario.threads).any(|(client, thread)| {
            client.progress.draws.backwards().next().is_some() || state.database.randoms(thread.session) > 0
        });
        let others = OTHER_GENERATORS.iter().filter(|_| drew && self.generators == Generators::default());
        others.map(|&generators| ScenarioSystem { generators, ..*self }).collect()
    }

    fn outcome_beside(&self, state: &State, other: &State, limits: &[usize]) -> Option<Outcome> {
        if state.is_cut() || other.is_cut() {
            return None;
        }
        let raw = |state| raw_outcome(self, state, limits);
        raw(state).beside(&raw(other), random_twice(self, state, other))
    }

    fn table_name(&self, table: TableId) -> String {
        let catalog = self.scenario.database.catalog();
        match catalog.has_table(table) {
            true => catalog.table(table).name.to_string(),
            false => "a new table".into(),
        }
    }

    fn place(&self, span: Span) -> Place {
        names::place(self.scenario, span)
    }

    fn trace_steps(&self, run: &Run<'_>, event: &Event) -> Vec<TraceStep> {
        if let Some(micros) = event.passed {
            return vec![TraceStep {
                thread: event.thread,
                kind: StepKind::Clock,
                statement: clock::passing(micros),
                place: None,
                result: StepResult::Done { tag: String::new() },
                changes: Vec::new(),
                notes: Vec::new(),
            }];
        }
        let mut steps: Vec<TraceStep> = Vec::new();
        for (i, step) in event.steps.iter().enumerate() {
            let given_up = matches!(step.outcome, Did::RolledBack) && i > 0 && !self.atomic;
            match steps.last_mut() {
                // The client gave up: a remark on the step that made it.
                Some(last) if given_up => last.notes.push("the transaction is rolled back".into()),
                _ => steps.push(trace_step(run, event, i, step)),
            }
        }
        if let Some(last) = steps.last_mut() {
            let name = &self.scenario.threads[event.thread].name;
            last.notes.extend(event.reactions.iter().map(|reaction| trace::remark(name, reaction)));
        }
        steps
    }

    fn final_tables(&self, run: &Run<'_>) -> Result<Vec<FinalTable>, Trouble> {
        let steps = run.events.iter().flat_map(|e| &e.steps);
        let changed: BTreeSet<TableId> = steps.flat_map(|s| &s.footprint.published).map(|w| w.table).collect();
        let tables = changed.into_iter().filter_map(|id| {
            let table = names::table(self.scenario, run.end.database.catalog(), id)?;
            let data = run.end.database.committed().table(id);
            let mut rows: Vec<Row> = data.iter().take(ROWS_MAX).map(|(_, tuple)| tuple.values.clone()).collect();
            rows.sort();
            Some(FinalTable {
                name: table.name.to_string(),
                columns: table.columns.iter().map(|c| c.name.to_string()).collect(),
                rows: rows.iter().map(trace::texts).collect(),
                rows_total: data.len() as u64,
            })
        });
        Ok(tables.collect())
    }

    fn history(&self, run: &Run<'_>) -> History {
        conflicts::of_run(run)
    }

    fn summary(&self, run: &Run<'_>) -> Option<String> {
        serially::summary(run)
    }

    fn waits(&self, run: &Run<'_>) -> Vec<Wait> {
        ScenarioSystem::deadlocked(self, &run.end).into_iter().flat_map(|thread| waits(run, thread)).collect()
    }

    fn is_cut(&self, state: &State) -> bool {
        state.is_cut()
    }

    fn first_cut(&self) -> Option<String> {
        self.scenario.database.budget().cut()
    }

    fn ended(&self) -> Option<Limit> {
        self.scenario.database.budget().ended().map(|why| match why {
            Exhausted::Interrupt => Limit::Interrupt,
            Exhausted::Memory => Limit::Memory,
            Exhausted::Time | Exhausted::Work => Limit::Time,
        })
    }

    fn release_budget(&self) {
        self.scenario.database.budget().release();
    }

    fn resume_budget(&self) {
        self.scenario.database.budget().resume();
    }

    fn comparing_states(self) -> Self {
        ScenarioSystem { hash: Hashing::default(), ..self }
    }

    fn for_long_runs(&self, settings: &FileOptions) -> Option<FileOptions> {
        let dependence = Some(self.dependence);
        Some(FileOptions { search: Some(SearchKind::Stateful), dependence, ..settings.clone() })
    }

    fn explore<'p>(
        examination: &Examination<'p, Self>,
        search: &Search,
        jobs: usize,
        from: Option<&Checkpoint>,
    ) -> Result<Done<Checker<'p, Self>>, String> {
        search.run_jobs(&examination.system, jobs, from, || examination.checker()).map_err(|e| e.to_string())
    }
}

impl ScenarioSystem<'_> {
    fn checks_of(&self, when: When) -> &[Check] {
        match when {
            When::Always => &self.scenario.invariants,
            When::AtEnd => &self.scenario.finals,
        }
    }
}

/// The outcome of the run that ended in `state`. Of each thread, only its first `limits` statements count.
fn outcome(system: &ScenarioSystem<'_>, state: &State, limits: &[usize]) -> Outcome {
    raw_outcome(system, state, limits).outcome(&system.scenario.generated)
}

/// The effects of the run that ended in `state`.
fn with_effects<T>(scenario: &Scenario, state: &State, limits: &[usize], look: impl FnOnce(&RawOutcome<'_>) -> T) -> T {
    let members = || state.clients.iter().zip(&scenario.threads);
    let told = members().zip(limits).map(|((client, thread), &limit)| effects::told(scenario, client, thread, limit));
    let told: Vec<Vec<effects::Told<'_>>> = told.collect();
    let threads = members().zip(&told).zip(limits);
    let threads = threads.map(|(((client, thread), told), &limit)| effects::seen(client, thread, told, limit));
    look(&RawOutcome { threads: threads.collect(), changed: changed_rows(scenario, state) })
}

/// The random values that each thread has drawn in two runs of a schedule.
fn random_twice(system: &ScenarioSystem<'_>, one: &State, other: &State) -> Vec<DrawnTwice> {
    let threads = system.scenario.threads.iter().map(|thread| {
        let values = |state: &State| state.database.random_values(thread.session).into_iter().flatten();
        values(one).zip(values(other)).map(|pair| (Generator::Random, pair)).collect()
    });
    threads.collect()
}

fn raw_outcome<'s>(system: &ScenarioSystem<'s>, state: &'s State, limits: &[usize]) -> RawOutcome<'s> {
    raw_outcome_of(system, state, limits, |_| true)
}

/// The same, of these observations.
fn raw_outcome_of<'s>(
    system: &ScenarioSystem<'s>,
    state: &'s State,
    limits: &[usize],
    counts: fn(&Observation) -> bool,
) -> RawOutcome<'s> {
    let scenario = system.scenario;
    let threads = state.clients.iter().zip(&scenario.threads).zip(limits).map(|((client, thread), &limit)| {
        let seen = client.progress.seen.to_vec().into_iter().filter(|o| o.statement() < limit && counts(o));
        RawSeen {
            failed: match &client.status {
                Status::Failed(error) => Some(error.state),
                _ => None,
            },
            answers: seen.map(|o| answer(thread, o)).collect(),
            draws: client.progress.draws.to_vec(),
        }
    });
    RawOutcome { threads: threads.collect(), changed: changed_rows(scenario, state) }
}

pub(crate) fn answer<'s>(thread: &Thread, observation: &'s Observation) -> RawAnswer<'s> {
    match observation {
        Observation::Notice { message, .. } => RawAnswer::Message(message.clone()),
        Observation::Answer { statement, tag, columns, rows } => {
            let submission = thread.statements.get(*statement);
            let at = submission.map(|s| s.prepared.statement.span);
            let ordered = submission.is_some_and(|s| s.ordered);
            RawAnswer::Statement { at, text: tag.clone(), columns, rows, ordered }
        }
        Observation::Inner { span, ordered, text, columns, rows, .. } => {
            RawAnswer::Statement { at: Some(*span), text: text.clone(), columns, rows, ordered: *ordered }
        }
    }
}

/// The rows that are new since set-up (1) or gone (-1), by table.
fn changed_rows<'s>(scenario: &'s Scenario, state: &'s State) -> BTreeMap<TableId, Vec<(&'s [Value], i64)>> {
    let (before, after) = (scenario.database.committed(), state.database.committed());
    static NONE: LazyLock<TableData> = LazyLock::new(TableData::default);
    let data = |tables: &'s Tables, id: TableId| if (id.0 as usize) < tables.len() { tables.table(id) } else { &NONE };
    let tables = (0..after.len()).map(|id| {
        let id = TableId(id as u32);
        let changes = data(before, id).changes(data(after, id));
        let rows = changes.flat_map(|(old, new)| {
            old.map(|tuple| (&*tuple.values, -1)).into_iter().chain(new.map(|tuple| (&*tuple.values, 1)))
        });
        (id, rows.collect())
    });
    tables.collect()
}

/// The end of a run as a text: equal for two runs that an application could not tell apart, and that left as many rows
/// in the same tables. For tests of searches.
#[doc(hidden)]
pub fn describe_end(system: &ScenarioSystem<'_>, state: &State) -> String {
    describe(system, state, |_| true)
}

/// The same without what statements inside of routines returned.
#[doc(hidden)]
pub fn describe_answers(system: &ScenarioSystem<'_>, state: &State) -> String {
    describe(system, state, |observation| !matches!(observation, Observation::Inner { .. }))
}

fn describe(system: &ScenarioSystem<'_>, state: &State, counts: fn(&Observation) -> bool) -> String {
    let scenario = system.scenario;
    let raw = raw_outcome_of(system, state, &vec![usize::MAX; scenario.threads.len()], counts);
    let outcome = raw.outcome(&scenario.generated);
    let fates = state.clients.iter().map(|client| match &client.status {
        Status::Running => "stuck".to_string(),
        Status::Done => format!("done: {:?}", client.published),
        Status::Aborted(error) => format!("aborted: {error}"),
        Status::Failed(error) => format!("failed: {error}"),
    });
    format!("{:?}\n{outcome:?}", fates.collect::<Vec<_>>())
}

/// What each invariant answers in a state. For tests of searches.
#[doc(hidden)]
pub fn describe_invariants(system: &ScenarioSystem<'_>, state: &State) -> Vec<String> {
    let invariants = system.scenario.invariants.iter();
    invariants.map(|check| format!("{}: {:?}", check.name, state.database.query(&check.query))).collect()
}

fn trace_step(run: &Run<'_>, event: &Event, position: usize, step: &Step) -> TraceStep {
    let scenario = run.system.scenario;
    let implicit = step.pending.kind == PendingKind::ImplicitCommit;
    let kind = match position {
        _ if implicit => StepKind::Commit,
        0 if event.victim => StepKind::Victim,
        0 if event.resumed => StepKind::Resume,
        _ => StepKind::Statement,
    };
    // What a statement wrote before it failed is undone.
    let failed = matches!(step.outcome, Did::Error(_));
    let table = |id| names::table(scenario, run.end.database.catalog(), id);
    let writes = step.footprint.writes.iter().filter(|_| !failed);
    let changes = writes.filter_map(|write| table(write.table).map(|table| trace::row_change(table, write)));
    let notices = step.notices.iter().map(|n| format!("{}: {}", format!("{:?}", n.level).to_uppercase(), n.message));
    // The statement succeeded, but what the routine made of it did not.
    let then = step.reply.iter().filter_map(|reply| reply.as_ref().err()).filter(|_| !failed);
    let then = then.map(|error| format!("then fails: {error}"));
    TraceStep {
        thread: event.thread,
        kind,
        statement: step.pending.text.to_string(),
        place: (!implicit).then(|| names::place(scenario, step.pending.span)),
        result: result(run, step),
        changes: changes.collect(),
        notes: notices.chain(then).collect(),
    }
}

fn result(run: &Run<'_>, step: &Step) -> StepResult {
    let done = |tag: String| StepResult::Done { tag };
    match &step.outcome {
        Did::Rows { columns, rows } => StepResult::Rows {
            columns: columns.iter().map(|c| c.name.to_string()).collect(),
            rows: rows.iter().map(trace::texts).collect(),
        },
        Did::Count { verb, rows } => done(format!("{verb} {rows}")),
        Did::Blocked(blocked) => {
            let threads = blocked.on.iter().filter_map(|session| run.system.thread_of(*session));
            StepResult::Waits { on: threads.map(|t| run.system.scenario.threads[t].name.to_string()).collect() }
        }
        Did::Error(error) => StepResult::Error { code: error.state.to_string(), message: error.message.to_string() },
        Did::RolledBack => done("ROLLBACK".into()),
        Did::Committed | Did::Done => done(String::new()),
    }
}

/// What a thread waits for, once for each thread that is in its way.
fn waits(run: &Run<'_>, thread: usize) -> Vec<Wait> {
    let scenario = run.system.scenario;
    let Activity::Blocked(Blocked { pending, waits_for, on, .. }) =
        run.end.database.activity(scenario.threads[thread].session)
    else {
        return Vec::new();
    };
    let Some(item) = item(run, waits_for) else { return Vec::new() };
    let holders = on.iter().filter_map(|session| run.system.thread_of(*session));
    let waits = holders.map(|holder| Wait {
        thread,
        holder,
        item: Some(item.clone()),
        wants: wait_end(scenario, pending.span),
        holds: match locked_at(run, holder, waits_for) {
            Some(span) => Holds::Since(wait_end(scenario, span)),
            None => Holds::Queued,
        },
    });
    waits.collect()
}

fn wait_end(scenario: &Scenario, span: Span) -> WaitEnd {
    let verb = facts::word(span.of(scenario.sources.text()));
    WaitEnd { verb, place: Some(names::place(scenario, span)) }
}

/// What is waited for, by its name.
fn item(run: &Run<'_>, waits_for: WaitsFor) -> Option<String> {
    let scenario = run.system.scenario;
    Some(match waits_for {
        WaitsFor::Row { row: (table, row), .. } => {
            names::row(run.end.database.catalog(), run.end.database.committed(), table, row)
        }
        WaitsFor::Lock { key: LockKey::Table(table), .. } => {
            format!("table {}", names::table(scenario, run.end.database.catalog(), table)?.name)
        }
        WaitsFor::Lock { key: key @ LockKey::Sequence(_), .. } => {
            let mut sequences = run.end.database.catalog().sequences();
            format!("sequence {}", sequences.find(|sequence| LockKey::sequence(&sequence.name) == key)?.name)
        }
        WaitsFor::Lock { key: LockKey::Advisory(key), .. } => format!("advisory lock {key}"),
        WaitsFor::Lock { key: LockKey::AdvisoryPair(a, b), .. } => format!("advisory lock ({a}, {b})"),
        WaitsFor::Time(_) | WaitsFor::SafeSnapshot => return None,
    })
}

/// The statement by which a thread took a lock it still has.
fn locked_at(run: &Run<'_>, thread: usize, what: WaitsFor) -> Option<Span> {
    let mut statement = None;
    for event in run.events.iter().filter(|e| e.thread == thread) {
        for step in &event.steps {
            for kind in events(step, what) {
                match kind {
                    LockEventKind::Taken => statement = Some(step.pending.span),
                    LockEventKind::Released => statement = None,
                    LockEventKind::Queued | LockEventKind::Refused | LockEventKind::Left | LockEventKind::Moved => {}
                }
            }
        }
    }
    statement
}

/// What a step did to the lock that is waited for.
fn events(step: &Step, what: WaitsFor) -> Vec<LockEventKind> {
    match what {
        WaitsFor::Row { row, .. } => {
            step.footprint.locks.iter().filter(|l| (l.table, l.row) == row).map(|l| l.kind).collect()
        }
        WaitsFor::Lock { key, .. } => step.footprint.heavy.iter().filter(|l| l.key == key).map(|l| l.kind).collect(),
        WaitsFor::Time(_) | WaitsFor::SafeSnapshot => Vec::new(),
    }
}
