//! A scenario on a server and on the embedded engine, and what its runs come to.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use isolde_engine::Activity;
use isolde_explore::{Limit, Progress, Reduction, Search, Strategy, System, Visit, Visitor};
use isolde_postgres::Trouble;
use isolde_postgres::live::{self, Cursor, Ending, LiveSystem, Question, Standing};
use isolde_postgres::reads::Module;
use isolde_postgres::stage::{ScenarioStage, StageError, checks, settings};
use isolde_report::Report;
use isolde_scenario::file::{FileOptions, ScenarioFile};
use isolde_scenario::{Choice, Event, OnProgress, Options, Scenario, ScenarioSystem, State, Status, file};
use isolde_sql::Value;
use isolde_testkit::Cluster;
use isolde_wire::{Response, Settings};

/// Reads a text that is known to be right.
pub fn read(text: &str) -> ScenarioFile {
    file::read_texts("test.sql", text, &mut file::no_includes).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The scenario on the shared server, as superuser.
pub fn stage(file: &ScenarioFile) -> ScenarioStage {
    stage_at(file, &Cluster::shared().settings("postgres")).unwrap_or_else(|error| panic!("{error}"))
}

/// The scenario on some server.
pub fn stage_at(file: &ScenarioFile, server: &Settings) -> Result<ScenarioStage, String> {
    ScenarioStage::new(file, server).map_err(|error| match error {
        StageError::File(error) => error.to_string(),
        StageError::Trouble(trouble) => trouble.to_string(),
    })
}

/// The scenario on the shared server, with a module that tells what is read, or without.
pub fn stage_reading(file: &ScenarioFile, module: &Module) -> ScenarioStage {
    let server = Cluster::shared().settings("postgres");
    ScenarioStage::reading(file, &server, module.clone()).unwrap_or_else(|error| panic!("{error:?}"))
}

/// What a check of a stage says.
pub fn check(file: &ScenarioFile, stage: &mut ScenarioStage) -> Result<Report, Trouble> {
    check_until(file, stage, &mut |_| ControlFlow::Continue(()))
}

/// The same, until there was enough.
pub fn check_until(
    file: &ScenarioFile,
    stage: &mut ScenarioStage,
    progress: OnProgress<'_>,
) -> Result<Report, Trouble> {
    let (invariants, finals) = checks(file);
    let question = Question {
        command: String::new(),
        file: file.sources.name().into(),
        settings: settings(file, FileOptions::default()),
        invariants,
        finals,
        replay: &|schedule| schedule.to_string(),
        clock: None,
    };
    live::check(stage, &question, progress)
}

/// The same for a text, on the shared server.
pub fn on_server(text: &str) -> Report {
    let file = read(text);
    check(&file, &mut stage(&file)).unwrap_or_else(|trouble| panic!("{trouble}\n{text}"))
}

/// What the engine says about a text.
pub fn on_engine(text: &str) -> Report {
    let scenario = Scenario::parse("test.sql", text, &mut file::no_includes).unwrap();
    isolde_scenario::check(&scenario, &Options::default(), &mut |_| ControlFlow::Continue(()))
}

/// What a report says, in a line. On a server it is not known whether an overwritten value is lost, so that a stale
/// read has the same name here as a lost update.
pub fn gist(report: &Report) -> String {
    let found = report.counterexample.as_ref();
    let property = found.map_or("", |c| c.property.as_str());
    let anomaly = match found.and_then(|c| c.anomaly.as_deref()) {
        Some("stale read") => "lost update",
        anomaly => anomaly.unwrap_or("-"),
    };
    format!("{} {property} {anomaly}", report.verdict.word())
}

/// The ends of all runs: how each thread ended and what is in the tables. `None` if there are too many runs.
pub type Ends = Option<BTreeSet<String>>;

/// The ends that a search finds on a server.
pub fn ends_on_server(
    stage: &mut ScenarioStage,
    tables: &[&str],
    reduced: bool,
    runs_max: u64,
) -> Result<Ends, Trouble> {
    let cursor = Cursor::new(stage)?;
    let system = cursor.system();
    let strategy = if reduced { Strategy::Dpor(Reduction::Source) } else { Strategy::Depth };
    let search = Search { strategy, progress_every: 1, ..Search::default() };
    let mut visitor = Collect { cursor: &cursor, tables, runs_max, ends: BTreeSet::new(), trouble: None };
    let summary = search.run(&system, &mut visitor);
    if let Some(trouble) = visitor.trouble.or_else(|| cursor.trouble()) {
        return Err(trouble);
    }
    Ok((summary.leaves <= runs_max).then_some(visitor.ends))
}

struct Collect<'c, 's> {
    cursor: &'c Cursor<'s>,
    tables: &'c [&'c str],
    runs_max: u64,
    ends: BTreeSet<String>,
    trouble: Option<Trouble>,
}

impl<'c, 's> Visitor<LiveSystem<'c, 's>> for Collect<'c, 's> {
    fn leaf(&mut self, at: &Visit<'_, LiveSystem<'c, 's>>) -> ControlFlow<()> {
        if self.cursor.trouble().is_some() {
            return ControlFlow::Break(());
        }
        let fates: Vec<String> = at.state.standings.iter().map(fate).collect();
        let mut shown = Vec::new();
        for table in self.tables {
            let answer = self.cursor.ask(at.state, |stage| stage.ask(&format!("SELECT * FROM {table}")));
            match answer {
                Ok(response) => shown.push(format!("{table}: {}", rows(&response))),
                Err(trouble) => {
                    self.trouble = Some(trouble);
                    return ControlFlow::Break(());
                }
            }
        }
        self.ends.insert(format!("{fates:?} {}", shown.join(" ")));
        ControlFlow::Continue(())
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<Limit> {
        match progress.leaves > self.runs_max {
            true => ControlFlow::Break(Limit::Time),
            false => ControlFlow::Continue(()),
        }
    }
}

fn fate(standing: &Standing) -> String {
    match standing {
        Standing::Ended(Ending::Done) => "done".into(),
        Standing::Ended(Ending::Aborted(error, _)) => format!("aborted: {error}"),
        Standing::Ended(Ending::Failed(error)) => format!("failed: {error}"),
        Standing::Ended(Ending::Program(how)) => format!("failed: {how}"),
        Standing::Ready(_) | Standing::Waiting(_) => "stuck".into(),
    }
}

fn rows(response: &Response) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or("NULL".into());
    let row = |row: &isolde_wire::Row| format!("({})", row.iter().map(value).collect::<Vec<_>>().join(", "));
    let mut rows: Vec<String> = response.rows().iter().map(row).collect();
    rows.sort();
    rows.join(" ")
}

/// The ends of all runs on the embedded engine.
pub fn ends_on_engine(text: &str, tables: &[&str]) -> BTreeSet<String> {
    let scenario = Scenario::parse("test.sql", text, &mut file::no_includes).unwrap();
    let system = ScenarioSystem::new(&scenario, scenario.options());
    let mut ends = BTreeSet::new();
    let search = Search { strategy: Strategy::Depth, matching: isolde_explore::Matching::Digest, ..Search::default() };
    search.run(
        &system,
        &mut isolde_explore::on_leaf(|at: &Visit<'_, ScenarioSystem<'_>>| {
            ends.insert(end_on_engine(at.state, tables));
            ControlFlow::Continue(())
        }),
    );
    ends
}

/// The same under the rules of a server.
pub fn ends_on_engine_at_once(text: &str, tables: &[&str]) -> BTreeSet<String> {
    let scenario = Scenario::parse("test.sql", text, &mut file::no_includes).unwrap();
    let system = AtOnce(ScenarioSystem::new(&scenario, scenario.options()));
    let mut ends = BTreeSet::new();
    let search = Search { strategy: Strategy::Depth, matching: isolde_explore::Matching::Digest, ..Search::default() };
    search.run(
        &system,
        &mut isolde_explore::on_leaf(|at: &Visit<'_, AtOnce<'_>>| {
            ends.insert(end_on_engine(&at.state.state, tables));
            ControlFlow::Continue(())
        }),
    );
    ends
}

fn end_on_engine(state: &State, tables: &[&str]) -> String {
    let fates: Vec<String> = (state.clients.iter())
        .map(|client| match &client.status {
            Status::Running => "stuck".to_string(),
            Status::Done => "done".to_string(),
            Status::Aborted(error) => format!("aborted: {error}"),
            Status::Failed(error) => format!("failed: {error}"),
        })
        .collect();
    let catalog = state.database.catalog();
    let shown = tables.iter().map(|table| {
        let id = catalog.table_by_name(table).unwrap().id;
        let value = |v: &Value| match v {
            Value::Bool(true) => "t".into(),
            Value::Bool(false) => "f".into(),
            v if v.is_null() => "NULL".into(),
            v => v.to_string(),
        };
        let row = |row: &isolde_sql::Row| format!("({})", row.iter().map(value).collect::<Vec<_>>().join(", "));
        let data = state.database.committed().table(id);
        let mut rows: Vec<String> = data.iter().map(|(_, tuple)| row(&tuple.values)).collect();
        rows.sort();
        format!("{table}: {}", rows.join(" "))
    });
    let shown: Vec<String> = shown.collect();
    format!("{fates:?} {}", shown.join(" "))
}

/// The engine under the rules of a server (decisions 16 and 23): what is woken goes on at once, who has waited longest
/// first, and the victim of a deadlock is who closed the cycle.
struct AtOnce<'s>(ScenarioSystem<'s>);

/// With the threads that wait, in the order in which they began to.
#[derive(Clone)]
struct Queued {
    state: State,
    waiting: Vec<usize>,
}

impl AtOnce<'_> {
    fn activity(&self, state: &State, thread: usize) -> Activity {
        state.database.activity(self.0.scenario.threads()[thread].session)
    }
}

impl System for AtOnce<'_> {
    type State = Queued;
    type Step = Choice;
    type Event = Event;

    fn initial(&self) -> Queued {
        Queued { state: self.0.initial(), waiting: Vec::new() }
    }

    fn enabled(&self, queued: &Queued, steps: &mut Vec<Choice>) {
        self.0.enabled(&queued.state, steps);
        let goes_on = |thread: &&usize| {
            steps.contains(&Choice::Step(**thread))
                && matches!(self.activity(&queued.state, **thread), Activity::Resumable(_))
        };
        let woken = queued.waiting.iter().find(goes_on).map(|thread| Choice::Step(*thread));
        let closes = queued.waiting.iter().rev().map(|thread| Choice::Victim(*thread));
        let victim = closes.into_iter().find(|choice| steps.contains(choice));
        if let Some(forced) = woken.or(victim) {
            *steps = vec![forced];
        }
    }

    fn execute(&self, queued: &mut Queued, choice: &Choice) -> Event {
        let event = self.0.execute(&mut queued.state, choice);
        let Queued { state, waiting } = queued;
        let waits = |thread: usize| {
            state.clients[thread].status == Status::Running
                && matches!(self.activity(state, thread), Activity::Blocked(_) | Activity::Resumable(_))
        };
        waiting.retain(|thread| waits(*thread));
        let more: Vec<usize> =
            (0..state.clients.len()).filter(|thread| waits(*thread) && !waiting.contains(thread)).collect();
        waiting.extend(more);
        event
    }

    fn digest(&self, queued: &Queued) -> Option<u128> {
        Some(isolde_explore::digest_of(&(self.0.digest(&queued.state)?, &queued.waiting)))
    }

    fn thread(&self, choice: &Choice) -> u64 {
        self.0.thread(choice)
    }
}
