//! Which isolation level does a file need? The same file at every level, searched as it is.
//!
//! A row replaces the level of all threads, or of one section's; the others keep theirs. What is replaced is text: the
//! header says `isolation LEVEL`, and every statement of the section that names a level (BEGIN, START TRANSACTION, SET
//! TRANSACTION, SET SESSION CHARACTERISTICS, SET and RESET of `default_transaction_isolation`) names that one. So the
//! verdict of a row is that of a file that anybody could write, on the engine and on a server alike:
//!
//! ```text
//!   file ──rows──▶ texts ──ask──▶ verdict and cost of each ──▶ LevelsReport
//! ```
//!
//! A level that is set inside of a routine, a DO block or an executed text stays as it is, and a note says where.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use isolde_explore::{Limit, Progress, Visit, Visitor};
use isolde_report::{LevelCost, LevelRow, LevelScope, LevelsReport, PropertyStatus, Report, Stats, Verdict};
use isolde_sql::Span;
use isolde_sql::ast::{Isolation, SessionCommand, Set, Statement, StatementKind, TransactionModes};
use isolde_sql::facts::{Facts, SettingKind};

use super::patch::{Edit, Program};
use super::thread::{self, Change};
use crate::backend::Backend;
use crate::check::OnProgress;
use crate::checker::Effort;
use crate::embedded_check::{Options, examined};
use crate::file::{ClientStatement, FileOptions, Included, ScenarioFile, SearchKind, ThreadSection};
use crate::names;
use crate::scenario::Scenario;
use crate::search::{self, RUN_STEPS_MAX};
use crate::system::ScenarioSystem;

/// The levels, weakest first.
pub const LEVELS: [Isolation; 3] = [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];

/// What a search says about one row.
pub struct Answered {
    /// The answer about the file of this row.
    pub report: Report,
    /// What it costs, if every interleaving was counted.
    pub cost: Option<LevelCost>,
}

impl Answered {
    /// Nothing is known about the row, for this reason.
    pub fn undecided(file: &str, why: String) -> Answered {
        let report = Report::new("", file, Verdict::Inconclusive(why), Stats::default());
        Answered { report, cost: None }
    }
}

/// Asks about a file as it is written, with all threads at each level, and with one thread at each level. Files that
/// say the same are asked about once.
pub fn at_each_level<E>(
    file: &ScenarioFile,
    command: &str,
    ask: &mut dyn FnMut(&[Included]) -> Result<Answered, E>,
) -> Result<LevelsReport, E> {
    let sections = sections(file);
    let original = Program::of(&file.sources);
    let written: Vec<Option<Isolation>> = sections.iter().map(|section| section.written).collect();
    let answered = ask(&original.files)?;
    let mut report = LevelsReport::new(command, file.sources.name(), answered.report.verdict.clone());
    report.levels.push(row(LevelScope::Written, None, false, &answered));
    let mut known = BTreeMap::from([(written.clone(), answered)]);
    for (scope, chosen) in scopes(&sections) {
        for level in LEVELS {
            let mut wanted = written.clone();
            chosen.iter().for_each(|&section| wanted[section] = Some(level));
            if !known.contains_key(&wanted) {
                let changed = chosen.iter().filter(|&&section| written[section] != Some(level));
                let edits: Vec<Edit> =
                    changed.flat_map(|&section| sections[section].edits(level, file.sources.text())).collect();
                // Sections are apart from each other, and so are the statements of one.
                let edited = original.edited(&file.sources, &edits).unwrap_or_else(|| original.clone());
                known.insert(wanted.clone(), ask(&edited.files)?);
            }
            let as_written = wanted == written && written.iter().all(Option::is_some);
            report.levels.push(row(scope.clone(), Some(level), as_written, &known[&wanted]));
        }
    }
    report.weakest = weakest(&report.levels);
    report.notes = notes(file, &sections);
    Ok(report)
}

/// The threads of one section: copies of each other, which have one header.
struct LevelSection<'f> {
    names: Vec<String>,
    section: &'f ThreadSection,
    /// The level of all its transactions; `None` if there are several, or it is not known.
    written: Option<Isolation>,
}

fn sections(file: &ScenarioFile) -> Vec<LevelSection<'_>> {
    let mut sections: Vec<LevelSection<'_>> = Vec::new();
    for section in &file.threads {
        match sections.iter_mut().find(|known| known.section.span == section.span) {
            Some(known) => known.names.push(section.name.to_string()),
            None => sections.push(LevelSection {
                names: vec![section.name.to_string()],
                section,
                written: written(section, file),
            }),
        }
    }
    sections
}

/// Whose level is replaced together: everybody's, then each section's.
fn scopes(sections: &[LevelSection<'_>]) -> Vec<(LevelScope, Vec<usize>)> {
    let mut scopes = vec![(LevelScope::All, (0..sections.len()).collect())];
    if sections.len() > 1 {
        let alone = sections.iter().enumerate();
        scopes.extend(alone.map(|(number, section)| (LevelScope::Only(section.names.clone()), vec![number])));
    }
    scopes
}

/// The level of all transactions of a thread, as the file has it; `None` if there are several, or it is not known.
fn written(section: &ThreadSection, file: &ScenarioFile) -> Option<Isolation> {
    let start = section.isolation.or(file.options.isolation).unwrap_or_default();
    let (mut session, mut open) = (start, None);
    let mut used = BTreeSet::new();
    for ClientStatement { ast, .. } in &section.body {
        match &ast.kind {
            StatementKind::Begin(modes) => open = Some(modes.isolation.unwrap_or(session)),
            StatementKind::SetTransaction(modes) => open = open.map(|level| modes.isolation.unwrap_or(level)),
            StatementKind::SetSessionCharacteristics(modes) => session = modes.isolation.unwrap_or(session),
            StatementKind::Commit { chain: false } | StatementKind::Rollback { chain: false } => {
                used.extend(open.take())
            }
            kind if Facts::of(ast).effects.sets_level => match level_set(kind) {
                Some((_, Some(level))) if open.is_none() => session = level,
                _ => return None,
            },
            _ => drop(used.insert(open.unwrap_or(session))),
        }
    }
    used.extend(open);
    match used.len() {
        0 => Some(start),
        1 => used.pop_first(),
        _ => None,
    }
}

/// Whether a statement sets the level of transactions to come, and which: SET or RESET. The scope is LOCAL or not.
fn level_set(kind: &StatementKind) -> Option<(bool, Option<Isolation>)> {
    match kind {
        StatementKind::Set(Set { local, name, value }) if SettingKind::of(&name.name) == SettingKind::Level => {
            let value = value.as_deref().unwrap_or_default();
            let named = LEVELS.into_iter().find(|level| thread::name(*level) == value);
            Some((*local, named))
        }
        _ => None,
    }
}

impl LevelSection<'_> {
    /// What makes all its transactions run at this level.
    fn edits(&self, level: Isolation, text: &str) -> Vec<Edit> {
        let change = Change { isolation: Some(level), ..Change::default() };
        let header = Edit::replace(self.section.span, thread::header(self.section, change, self.section.span.of(text)));
        let statements = self.section.body.iter().filter_map(|statement| {
            let (kind, span) = (replaced(&statement.ast.kind, level)?, statement.ast.span);
            Some(Edit::replace(span, Statement { kind, span }.to_string()))
        });
        std::iter::once(header).chain(statements).collect()
    }

    /// Where its own statements name a level.
    fn named(&self) -> impl Iterator<Item = Span> {
        let names = |s: &&ClientStatement| replaced(&s.ast.kind, Isolation::default()).is_some();
        self.section.body.iter().filter(names).map(|statement| statement.ast.span)
    }

    /// Statements that may set a level and cannot be replaced.
    fn kept(&self) -> impl Iterator<Item = Span> {
        let keeps = |s: &&ClientStatement| {
            Facts::of(&s.ast).effects.sets_level && replaced(&s.ast.kind, Isolation::default()).is_none()
        };
        self.section.body.iter().filter(keeps).map(|statement| statement.ast.span)
    }
}

/// A statement that names a level, with another level.
fn replaced(kind: &StatementKind, level: Isolation) -> Option<StatementKind> {
    let modes = |modes: &TransactionModes| {
        modes.isolation.is_some().then_some(TransactionModes { isolation: Some(level), ..*modes })
    };
    Some(match kind {
        StatementKind::Begin(named) => StatementKind::Begin(modes(named)?),
        StatementKind::SetTransaction(named) => StatementKind::SetTransaction(modes(named)?),
        StatementKind::SetSessionCharacteristics(named) => StatementKind::SetSessionCharacteristics(modes(named)?),
        StatementKind::Set(set) if SettingKind::of(&set.name.name) == SettingKind::Level => {
            StatementKind::Set(Set { value: Some(thread::name(level).into()), ..set.clone() })
        }
        StatementKind::Session(SessionCommand::Reset(Some(name)))
            if SettingKind::of(&name.name) == SettingKind::Level =>
        {
            StatementKind::Set(Set { local: false, name: name.clone(), value: Some(thread::name(level).into()) })
        }
        _ => return None,
    })
}

/// A row of the report.
fn row(who: LevelScope, level: Option<Isolation>, as_written: bool, answered: &Answered) -> LevelRow {
    let Report { verdict, properties, counterexample, warnings, .. } = &answered.report;
    let skipped = properties.iter().filter(|property| property.status == PropertyStatus::Skipped);
    LevelRow {
        who,
        level: level.map(shown),
        as_written,
        verdict: verdict.clone(),
        property: counterexample.as_ref().map(|found| found.property.clone()),
        anomaly: counterexample.as_ref().and_then(|found| found.anomaly.clone()),
        skipped: skipped.map(|property| property.name.clone()).collect(),
        cost: answered.cost.clone(),
        warnings: warnings.clone(),
    }
}

/// A level as SQL writes it.
fn shown(level: Isolation) -> String {
    let name = match level {
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    };
    name.into()
}

/// The weakest level that holds for all threads; everything was decided there, and no thread is lost by it.
fn weakest(rows: &[LevelRow]) -> Option<String> {
    let never = |row: &LevelRow| row.cost.as_ref().map(|cost| cost.never_done.clone()).unwrap_or_default();
    let before = rows.first().map(never).unwrap_or_default();
    let helps = |row: &&LevelRow| {
        row.who == LevelScope::All
            && row.verdict == Verdict::Holds
            && row.skipped.is_empty()
            && never(row).iter().all(|name| before.contains(name))
    };
    rows.iter().find(helps).and_then(|row| row.level.clone())
}

/// How the file names levels, and what of that is replaced.
fn notes(file: &ScenarioFile, sections: &[LevelSection<'_>]) -> Vec<String> {
    let levels = sections.iter().map(|section| {
        let level = section.written.map_or("several levels, or one that is not known".into(), shown);
        format!("{} at {level}", names::listed(&section.names))
    });
    let mut notes = vec![format!("as written: {}", levels.collect::<Vec<_>>().join(", "))];
    let place = |span: Span| match file.sources.place(span) {
        (None, line) => format!("line {line}"),
        (Some(name), line) => format!("{name} line {line}"),
    };
    let named: Vec<String> = sections.iter().flat_map(LevelSection::named).map(place).collect();
    if !named.is_empty() {
        notes.push(format!(
            "the level that {} names is replaced, too, in the rows that give the thread a level",
            names::listed(&named)
        ));
    }
    let routines = file.setup.iter().filter(|s| Facts::of_defined(&s.ast).is_some_and(|f| f.effects.sets_level));
    let routines = routines.map(|statement| statement.ast.span);
    let kept: Vec<String> = sections.iter().flat_map(LevelSection::kept).chain(routines).map(place).collect();
    if !kept.is_empty() {
        notes.push(format!(
            "{} may set a level by itself (in a routine, a DO block, by set_config or RESET ALL); that stays as it is",
            names::listed(&kept)
        ));
    }
    notes
}

/// States that are looked at to count what a file costs that is violated.
const STATES_COUNTED_MAX: u64 = 20_000;

/// What the embedded engine says about a scenario, with what it costs, also where something is violated.
pub fn ask(scenario: &Scenario, options: &Options, progress: OnProgress<'_>) -> Answered {
    let (report, cost) = examined(scenario, options, progress);
    let cost = match (cost, &report.verdict) {
        (None, Verdict::Holds | Verdict::Violated) => counted(scenario, options, progress),
        (cost, _) => cost,
    };
    Answered { report, cost }
}

/// Goes through every interleaving and counts, whatever goes wrong on the way.
fn counted(scenario: &Scenario, options: &Options, progress: OnProgress<'_>) -> Option<LevelCost> {
    let asked = options.settings.clone().or(scenario.options());
    let settings = FileOptions {
        search: Some(SearchKind::Dpor),
        dependence: None,
        preemptions: None,
        restore: None,
        hash: None,
        states_max: Some(asked.states_max.unwrap_or(STATES_COUNTED_MAX).min(STATES_COUNTED_MAX)),
        ..asked
    };
    let scenario = &scenario.clone().with_options(settings.clone());
    let system = ScenarioSystem::new(scenario, &settings);
    let mut counting = Counting { system, progress, effort: Effort::default(), cut: false };
    let summary = search::search(&settings).run(&system, &mut counting);
    let cost = counting.effort.cost(system, summary.leaves);
    cost.filter(|_| summary.is_complete() && !counting.cut)
}

/// Counts the ends of a search, and judges nothing.
struct Counting<'s, 'p> {
    system: ScenarioSystem<'s>,
    progress: OnProgress<'p>,
    effort: Effort,
    /// Some run was cut off.
    cut: bool,
}

impl<'s> Visitor<ScenarioSystem<'s>> for Counting<'s, '_> {
    fn state(&mut self, at: &Visit<'_, ScenarioSystem<'s>>) -> ControlFlow<()> {
        self.cut |= at.depth() > RUN_STEPS_MAX;
        if self.cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn leaf(&mut self, at: &Visit<'_, ScenarioSystem<'s>>) -> ControlFlow<()> {
        self.cut |= self.system.is_cut(at.state);
        self.effort.end(self.system, at);
        ControlFlow::Continue(())
    }

    fn progress(&mut self, progress: &Progress) -> ControlFlow<Limit> {
        (self.progress)(progress)
    }
}
