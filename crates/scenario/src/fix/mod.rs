//! Fixes that were tried.
//!
//! A violation comes with its run, and the run says who read what somebody else then changed. From that follow the
//! textbook's remedies, each a small edit of the file: a stronger isolation level, a lock on the culprit read, one
//! UPDATE in place of three statements, a unique key. None of them is believed. Each is applied to the text, the text
//! is read again, and all properties are checked over all interleavings of what it says now:
//!
//! ```text
//!   violation ──KINDS──▶ candidates ──patch──▶ changed file ──judge──▶ holds, at this cost
//!       ▲                                                          ├─▶ not decided
//!       └────────────── another violation: the next remedy ────────┴─▶ still fails
//! ```
//!
//! A change that cures one violation and uncovers another gets a companion for that one, up to [`DEPTH_MAX`] changes; a
//! change that holds but makes threads give up gets `retry`. Those that hold come first, the cheapest first: fewer
//! aborts, fewer waits, less text changed.
//!
//! To add a kind: a file here with a [`Kind`], and a line in [`KINDS`].
//!
//! What is *absent*: no clock. How much is tried is limited by states and attempts, so that the same violation always
//! has the same fixes. Statements that a routine puts together (`EXECUTE`) are not edited; nor is what set-up only
//! inserts.

mod atomic;
mod case;
mod exclusion;
mod foreign_key;
mod isolation;
mod judge;
mod lenient;
pub mod levels;
mod lock;
mod order;
mod patch;
mod retry;
mod site;
mod sql;
mod thread;
mod unique;

use std::collections::BTreeSet;

use isolde_explore::Schedule;
use isolde_report::{Counterexample, Fix, FixCost, FixVerdict, PropertyStatus, Report};

use self::case::Case;
use self::judge::{Judged, Standard};
use self::patch::{Edit, Loaded, Program};
use crate::check::{self, OnProgress};
use crate::embedded_check::{Options, without_trouble};
use crate::file::{FileOptions, Included};
use crate::scenario::Scenario;
use crate::search::STATES_MAX;
use crate::serially;
use crate::system::{Choice, ScenarioSystem};

/// Every kind of fix, in the order in which they are tried: those that tend to have fewer states first.
const KINDS: &[&dyn Kind] = &[
    &atomic::AtomicUpdate,
    &lock::RowLock,
    &unique::UniqueKey,
    &exclusion::Exclusion,
    &foreign_key::ForeignKey,
    &order::LockOrder,
    &isolation::StrongerIsolation,
    &retry::Retry,
    &lenient::TellInsteadOfFailing,
    &lock::TableLock,
];

/// Changes that are combined, at most.
pub const DEPTH_MAX: usize = 3;
/// Changed programs that are searched, at most.
pub const ATTEMPTS_MAX: usize = 96;
/// States that one changed program may have; beyond, it is not decided.
pub const STATES_EACH_MAX: u64 = 20_000;
/// States that it may have in any case, however many others wait.
const STATES_EACH_MIN: u64 = 1_000;
/// States that all of them may have.
const STATES_ALL_MAX: u64 = 100_000;
/// Rows that set-up may put into tables for all of them: each program runs it again.
const ROWS_ALL_MAX: u64 = 2_000_000;
/// With so many that hold, none is combined further.
const ENOUGH: usize = 2;

/// A way to fix violations.
trait Kind: Sync {
    /// Its name in a report.
    fn name(&self) -> &'static str;

    /// Whether it only changes how threads overlap. What goes wrong without an overlap, it cannot help.
    fn is_about_overlap(&self) -> bool {
        true
    }

    /// Whether it is about isolation levels. They are no answer to what was wrong without an overlap in the first
    /// place.
    fn is_about_levels(&self) -> bool {
        false
    }

    /// What might help; judging is left to others.
    fn propose(&self, case: &Case<'_>) -> Vec<Candidate>;
}

/// A change that might help.
#[derive(Clone, Debug)]
struct Candidate {
    title: String,
    edits: Vec<Edit>,
    /// A variation of another one, not worth telling of unless it helps.
    minor: bool,
    /// Less than another one of its kind, not worth trying if that one helps.
    fallback: bool,
    /// The embedded engine cannot run it.
    beyond_engine: bool,
}

impl Candidate {
    fn new(title: String, edits: Vec<Edit>) -> Candidate {
        Candidate { title, edits, minor: false, fallback: false, beyond_engine: false }
    }

    fn minor(self) -> Candidate {
        Candidate { minor: true, ..self }
    }

    fn beyond_engine(self) -> Candidate {
        Candidate { beyond_engine: true, ..self }
    }

    fn fallback(self) -> Candidate {
        Candidate { minor: true, fallback: true, ..self }
    }
}

/// A fix with the files as it leaves them.
#[derive(Clone, Debug)]
pub struct Tried {
    /// For the report.
    pub fix: Fix,
    /// The scenario's own file first, then what it includes.
    pub files: Vec<Included>,
    /// Told only if it helps.
    minor: bool,
    /// It locks a whole table.
    table_lock: bool,
    /// The last of its kinds, in the order of [`KINDS`].
    kind: usize,
    /// Only a server can judge it, because the embedded engine does not have what it uses.
    pub beyond_engine: bool,
    /// It holds by effects alone.
    lenient: bool,
}

/// Tries to fix what a report of [`check`] found first; those that hold come first, the best of them first.
pub fn try_fixes(scenario: &Scenario, report: &Report, options: &Options, progress: OnProgress<'_>) -> Vec<Tried> {
    let found = report.counterexample.as_ref();
    found.map(|found| try_fixes_of(found, scenario, report, options, progress)).unwrap_or_default()
}

/// The same for one of its counterexamples. What is said to hold mends the others as well.
pub fn try_fixes_of(
    counterexample: &Counterexample,
    scenario: &Scenario,
    report: &Report,
    options: &Options,
    progress: OnProgress<'_>,
) -> Vec<Tried> {
    let original = Program::of(scenario.sources());
    let Ok(loaded) = original.load() else { return Vec::new() };
    let settings = settings(&loaded.scenario, options);
    let system = ScenarioSystem::new(&loaded.scenario, &settings);
    let Some(schedule) = judge::reported(system, &counterexample.schedule) else { return Vec::new() };
    let skipped = report.properties.iter().filter(|p| p.status == PropertyStatus::Skipped).map(|p| p.name.clone());
    let standard = Standard::of(system, skipped.collect());
    let rows = rows(&loaded.scenario).max(1);
    let attempts = ATTEMPTS_MAX.min((ROWS_ALL_MAX / rows) as usize);
    let mut workshop = Workshop {
        original: original.clone(),
        options,
        standard,
        progress,
        known: BTreeSet::from([texts(&original)]),
        tried: Vec::new(),
        alone: BTreeSet::new(),
        attempts_left: attempts,
        states_left: STATES_ALL_MAX,
        share: STATES_EACH_MAX,
    };
    let broken = Broken {
        seen: vec![counterexample.headline.clone()],
        serially: !counterexample.serially.is_empty(),
        level_helps: counterexample.serially.is_empty(),
        program: original,
        loaded,
        schedule,
        kinds: Vec::new(),
        titles: Vec::new(),
    };
    workshop.repair(broken);
    workshop.result()
}

/// What the user and the file say about meaning, and not about searching: whatever search met the violation, fixes are
/// judged by the default one, which leaves nothing out, within the means of one attempt.
fn settings(scenario: &Scenario, options: &Options) -> FileOptions {
    let asked = options.settings.clone().or(scenario.options());
    FileOptions {
        isolation: asked.isolation,
        atomic: asked.atomic,
        serial: asked.serial,
        deadlock: asked.deadlock,
        // Which violation is met first would depend on who was faster.
        jobs: Some(1),
        states_max: Some(asked.states_max.unwrap_or(STATES_MAX).min(STATES_EACH_MAX)),
        ..FileOptions::default()
    }
}

fn rows(scenario: &Scenario) -> u64 {
    let database = scenario.database();
    database.catalog().tables().map(|table| database.committed().table(table.id).len() as u64).sum()
}

fn texts(program: &Program) -> Vec<String> {
    program.files.iter().map(|file| file.text.clone()).collect()
}

/// A program with a violation, and the changes that led to it.
struct Broken {
    program: Program,
    loaded: Loaded,
    schedule: Schedule<Choice>,
    /// What was seen to happen on the way here; the same again is no progress.
    seen: Vec<String>,
    /// The violation happens without an overlap too.
    serially: bool,
    /// No violation on the way here happens without an overlap: then a stronger level may be the answer.
    level_helps: bool,
    kinds: Vec<&'static str>,
    titles: Vec<String>,
}

impl Broken {
    /// What might help, by kind.
    fn candidates(&self, options: &Options, original: &Program) -> Vec<(&'static str, Candidate)> {
        let settings = settings(&self.loaded.scenario, options);
        let scenario = self.loaded.scenario.clone().with_options(settings.clone());
        let system = ScenarioSystem::new(&scenario, &settings);
        let run = without_trouble(check::follow(system, &self.schedule));
        let case = Case::new(&scenario, &self.loaded.file, &run, original);
        let kinds = KINDS.iter().filter(|kind| !self.serially || !kind.is_about_overlap());
        let kinds = kinds.filter(|kind| self.level_helps || !kind.is_about_levels());
        kinds.flat_map(|kind| kind.propose(&case).into_iter().map(|c| (kind.name(), c))).collect()
    }

    /// The kinds of the changes that led here, and one more.
    fn with_kind(&self, kind: &'static str) -> Vec<&'static str> {
        let more = (!self.kinds.contains(&kind)).then_some(kind);
        self.kinds.iter().copied().chain(more).collect()
    }
}

/// A program that was changed once more, before it is judged.
struct Attempt {
    program: Program,
    loaded: Loaded,
    kinds: Vec<&'static str>,
    titles: Vec<String>,
    minor: bool,
}

/// Where fixes are tried.
struct Workshop<'o, 'p> {
    original: Program,
    options: &'o Options,
    standard: Standard,
    progress: OnProgress<'p>,
    /// Programs that were looked at already.
    known: BTreeSet<Vec<String>>,
    tried: Vec<Tried>,
    /// Titles of changes that hold without another one.
    alone: BTreeSet<String>,
    attempts_left: usize,
    states_left: u64,
    /// States that the attempt at hand may have.
    share: u64,
}

impl Workshop<'_, '_> {
    /// Tries every candidate, then companions for those that only uncovered another violation.
    fn repair(&mut self, broken: Broken) {
        let mut level = vec![broken];
        for depth in 1..=DEPTH_MAX {
            let mut next = Vec::new();
            for broken in &level {
                if depth > 1 && self.good() >= ENOUGH {
                    return;
                }
                let candidates = broken.candidates(self.options, &self.original);
                let count = candidates.len() as u64;
                for (i, (kind, candidate)) in (0..).zip(candidates) {
                    if self.attempts_left == 0 {
                        return;
                    }
                    // Twice, because most need less than their share.
                    self.share = (2 * self.states_left / (count - i)).max(STATES_EACH_MIN);
                    let needless = candidate.fallback && self.helped(broken, kind);
                    if needless || depth > 1 && self.alone.contains(&candidate.title) {
                        continue;
                    }
                    next.extend(self.attempt(broken, kind, candidate).and_then(|attempt| self.judge(attempt, broken)));
                }
            }
            if self.good() >= ENOUGH {
                return;
            }
            level = next;
        }
    }

    fn good(&self) -> usize {
        self.tried.iter().filter(|tried| tried.fix.verdict == FixVerdict::Holds).count()
    }

    /// Whether a change of this kind to this program holds.
    fn helped(&self, broken: &Broken, kind: &'static str) -> bool {
        let kinds = broken.with_kind(kind).join(" + ");
        self.tried.iter().any(|tried| tried.fix.verdict == FixVerdict::Holds && tried.fix.kind == kinds)
    }

    /// Applies a candidate; `None` if that gives nothing new, or nothing that can be read.
    fn attempt(&mut self, broken: &Broken, kind: &'static str, candidate: Candidate) -> Option<Attempt> {
        let edited = broken.program.edited(broken.loaded.scenario.sources(), &candidate.edits)?;
        if !self.known.insert(texts(&edited)) {
            return None;
        }
        if candidate.beyond_engine {
            self.leave_to_server(broken, kind, &candidate, &edited);
            return None;
        }
        Some(Attempt {
            loaded: edited.load().ok()?,
            program: edited,
            kinds: broken.with_kind(kind),
            titles: broken.titles.iter().cloned().chain([candidate.title]).collect(),
            minor: candidate.minor || !broken.titles.is_empty(),
        })
    }

    /// Keeps a change that the engine cannot run.
    fn leave_to_server(&mut self, broken: &Broken, kind: &'static str, candidate: &Candidate, edited: &Program) {
        let Some(patch) = edited.patch(&self.original) else { return };
        let why = "the embedded engine does not have it; --on a server tries it";
        let fix = Fix {
            kind: broken.with_kind(kind).join(" + "),
            title: broken.titles.iter().chain([&candidate.title]).cloned().collect::<Vec<_>>().join("; "),
            verdict: FixVerdict::Undecided(why.into()),
            cost: None,
            patch,
        };
        let files = edited.files.clone();
        self.tried.push(Tried {
            fix,
            files,
            minor: false,
            table_lock: false,
            kind: 0,
            beyond_engine: true,
            lenient: false,
        });
    }

    /// Searches a changed program and keeps what came out; returns it if it breaks something new.
    fn judge(&mut self, attempt: Attempt, parent: &Broken) -> Option<Broken> {
        let judged = self.search(&attempt)?;
        let title = attempt.titles.last().cloned();
        let (attempt, judged) = self.let_retry(attempt, judged);
        if judged.verdict == FixVerdict::Holds {
            self.alone.extend(title.filter(|_| parent.titles.is_empty()));
        }
        self.keep(&attempt, &judged);
        let found = judged.found?;
        let headline = found.violation.headline.clone();
        if parent.seen.contains(&headline) {
            return None;
        }
        let Attempt { program, loaded, kinds, titles, .. } = attempt;
        let seen = parent.seen.iter().cloned().chain([headline]).collect();
        let settings = settings(&loaded.scenario, self.options);
        let scenario = loaded.scenario.clone().with_options(settings.clone());
        let system = ScenarioSystem::new(&scenario, &settings);
        let serially = !serially::breaks(system, found.property.on(), &found.violation).is_empty();
        let level_helps = parent.level_helps && !serially;
        let schedule = found.schedule;
        Some(Broken { program, loaded, schedule, seen, serially, level_helps, kinds, titles })
    }

    /// A change that makes threads give up, again with `retry` for them; that is told instead if it holds. Who may try
    /// again can make others give up, who then may as well.
    fn let_retry(&mut self, attempt: Attempt, judged: Judged) -> (Attempt, Judged) {
        let mut threads = BTreeSet::new();
        let mut gave_up = judged.gave_up.clone();
        let mut best = None;
        while !gave_up.is_subset(&threads) {
            threads.append(&mut gave_up);
            let Some(again) = self.with_retry(&attempt, &threads) else { break };
            let Some(better) = self.search(&again) else { break };
            gave_up = better.gave_up.clone();
            if better.verdict == FixVerdict::Holds {
                best = Some((again, better));
            }
        }
        best.unwrap_or((attempt, judged))
    }

    fn with_retry(&mut self, attempt: &Attempt, threads: &BTreeSet<usize>) -> Option<Attempt> {
        let sources = attempt.loaded.scenario.sources();
        let candidate = retry::candidate(&attempt.loaded.file, sources.text(), threads)?;
        let program = attempt.program.edited(sources, &candidate.edits)?;
        self.known.insert(texts(&program)).then_some(())?;
        Some(Attempt {
            loaded: program.load().ok()?,
            program,
            kinds: attempt.kinds.clone(),
            titles: attempt.titles.iter().cloned().chain([candidate.title]).collect(),
            minor: attempt.minor,
        })
    }

    fn search(&mut self, attempt: &Attempt) -> Option<Judged> {
        self.attempts_left = self.attempts_left.checked_sub(1)?;
        let mut settings = settings(&attempt.loaded.scenario, self.options);
        settings.states_max = settings.states_max.map(|n| n.min(self.states_left).min(self.share));
        let judged = self.standard.judge(&attempt.loaded.scenario, &settings, self.progress);
        self.states_left = self.states_left.saturating_sub(judged.states);
        if judged.stopped || self.states_left == 0 {
            self.attempts_left = 0;
        }
        Some(judged)
    }

    fn keep(&mut self, attempt: &Attempt, judged: &Judged) {
        let Some(patch) = attempt.program.patch(&self.original) else { return };
        let fix = Fix {
            kind: attempt.kinds.join(" + "),
            title: attempt.titles.join("; "),
            verdict: judged.verdict.clone(),
            cost: judged.cost,
            patch,
        };
        let minor = attempt.minor;
        let table_lock = attempt.kinds.contains(&lock::TableLock.name());
        let kind = KINDS.iter().rposition(|kind| attempt.kinds.contains(&kind.name())).unwrap_or(KINDS.len());
        self.tried.push(Tried {
            fix,
            files: attempt.program.files.clone(),
            minor,
            table_lock,
            kind,
            beyond_engine: false,
            lenient: judged.lenient,
        });
    }

    /// Those that hold, best first; then the others, as far as they are simple.
    fn result(self) -> Vec<Tried> {
        let (mut good, mut others): (Vec<Tried>, Vec<Tried>) =
            self.tried.into_iter().partition(|tried| tried.fix.verdict == FixVerdict::Holds);
        good.sort_by_key(rank);
        others.retain(|tried| !tried.minor);
        good.into_iter().chain(others).collect()
    }
}

/// Lower is better: no thread gives up, none is aborted, none waits; then in the order of the kinds, and in which
/// they were tried. How often threads wait is not compared, because it depends on how the statements are cut. A lock on
/// a whole table comes last: what it costs shows only with more sessions than a scenario has. Before it comes what
/// holds by effects alone, such as a lock on the rows that happen to be there.
fn rank(tried: &Tried) -> (bool, bool, [bool; 3], usize) {
    let FixCost { waits, aborts, ends_aborted, .. } = tried.fix.cost.unwrap_or_default();
    (tried.table_lock, tried.lenient, [ends_aborted > 0, aborts > 0, waits > 0], tried.kind)
}
