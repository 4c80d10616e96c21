//! What `option` lines and flags say, in the same words.
//!
//! Nothing has a value until somebody gives one: flags go before the file, and the defaults stand where they are used.
//! What can be chosen from a list has its names here; the command line offers the same list.

use isolde_explore::Restore;
use isolde_sql::ast::Isolation;

use crate::dependence::Dependence;

/// What `option` lines say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// The level of transactions where the thread names none.
    pub isolation: Option<Isolation>,
    /// Transactions are single steps.
    pub atomic: Option<bool>,
    /// How runs are compared with serial ones.
    pub serial: Option<SerialCheck>,
    /// Whether a deadlock is a violation.
    pub deadlock: Option<bool>,
    /// How to search.
    pub search: Option<SearchKind>,
    /// Which steps a reduction takes to commute.
    pub dependence: Option<Dependence>,
    /// How states are recognised.
    pub hash: Option<Hashing>,
    /// How a state that was left is come back to.
    pub restore: Option<Restore>,
    /// States to look at.
    pub states_max: Option<u64>,
    /// Length of a run.
    pub depth_max: Option<u64>,
    /// Switches away from a thread that could go on, in a run.
    pub preemptions: Option<u64>,
    /// Decides random choices.
    pub seed: Option<u64>,
    /// Random runs to draw.
    pub runs: Option<u64>,
    /// How many events must come in a certain order for what PCT looks for.
    pub bug_depth: Option<u64>,
    /// How many workers search at once.
    pub jobs: Option<u64>,
    /// Between what others may act.
    pub granularity: Option<Granularity>,
    /// The search goes on behind a violation, and all that are not alike are told.
    pub all: Option<bool>,
}

impl FileOptions {
    /// These, and the others where these say nothing.
    pub fn or(self, others: &FileOptions) -> FileOptions {
        FileOptions {
            isolation: self.isolation.or(others.isolation),
            atomic: self.atomic.or(others.atomic),
            serial: self.serial.or(others.serial),
            deadlock: self.deadlock.or(others.deadlock),
            search: self.search.or(others.search),
            dependence: self.dependence.or(others.dependence),
            hash: self.hash.or(others.hash),
            restore: self.restore.or(others.restore),
            states_max: self.states_max.or(others.states_max),
            depth_max: self.depth_max.or(others.depth_max),
            preemptions: self.preemptions.or(others.preemptions),
            seed: self.seed.or(others.seed),
            runs: self.runs.or(others.runs),
            bug_depth: self.bug_depth.or(others.bug_depth),
            jobs: self.jobs.or(others.jobs),
            granularity: self.granularity.or(others.granularity),
            all: self.all.or(others.all),
        }
    }
}

/// A choice from a list: what files and flags offer, and what a word stands for.
pub trait Choice: Copy + Send + Sync + 'static {
    /// What it is a choice of.
    const KIND: &'static str;

    /// Every one there is.
    fn all() -> &'static [Self];

    /// Its name in files and flags.
    fn word(self) -> &'static str;

    /// What it means, in a few words.
    fn about(self) -> &'static str;

    /// What to write instead of a word that was a choice once.
    fn instead_of(word: &str) -> Option<Self> {
        let _ = word;
        None
    }

    /// The one of this name.
    fn by_name(name: &str) -> Option<Self> {
        Self::all().iter().copied().find(|choice| choice.word() == name)
    }
}

/// A type with `ALL`, `name()` and the texts given here as a list of choices.
macro_rules! choice {
    ($type:ident, $kind:literal, |$value:pat_param| $about:expr $(, $former:literal => $now:expr)*) => {
        impl Choice for $type {
            const KIND: &'static str = $kind;

            fn all() -> &'static [$type] {
                &$type::ALL
            }

            fn word(self) -> &'static str {
                self.name()
            }

            fn about(self) -> &'static str {
                let $value = self;
                $about
            }

            fn instead_of(word: &str) -> Option<$type> {
                match word {
                    $($former => Some($now),)*
                    _ => None,
                }
            }
        }
    };
}

choice!(SearchKind, "search", |kind| match kind {
    SearchKind::Dpor => "One run of each class of runs that differ only in the order of steps that commute (default)",
    SearchKind::Source => "The same with less bookkeeping; may begin runs in vain",
    SearchKind::Stateful =>
        "Every state once, breadth first: the shortest counterexample. With --dependence only the states \
                             that are needed, depth first; also for threads that run for ever",
    SearchKind::Stateless => "Every interleaving, depth first: slow, but remembers nothing",
    SearchKind::Random => "Interleavings by chance: never says \"holds\"",
    SearchKind::Pct =>
        "Interleavings by random priorities that change at a few points; finds what needs few switches. Never \
                        says \"holds\"",
});
choice!(Granularity, "granularity", |unit| match unit {
    Granularity::Statement => "A statement is one step, except where it waits, and so is each commit (default)",
    Granularity::Row => "The same, and each row that a statement locks is a step",
    Granularity::Whole =>
        "A statement outside of a transaction commits in its own step, as published figures count: what \
                           others do between the two is not explored, and tables are sets",
});
choice!(SerialCheck, "setting", |kind| match kind {
    SerialCheck::Effects =>
        "What threads leave in the tables, their errors and messages count, and answers as far as they are used; a thread \
                             that decides to leave nothing has given up (default)",
    SerialCheck::Strict => "Every answer counts, also those inside of routines",
    SerialCheck::Off => "Runs are not compared with serial ones",
}, "on" => SerialCheck::Strict, "outcome" => SerialCheck::Effects);
choice!(Hashing, "hashing", |kind| match kind {
    Hashing::Incremental => "A digest that is kept up to date row by row (default)",
    Hashing::Full => "The same digest computed from all rows each time, as a database without it must",
    Hashing::Off => "No state is recognised",
});
choice!(Restore, "way to restore", |way| match way {
    Restore::Snapshot =>
        "Keep a copy of each state that will be needed; copies share what they have in common (default)",
    Restore::Rollback => "Keep one state, and undo what was done since, row by row, as savepoints do. Depth first",
    Restore::Replay => "Keep one state, and start again from the beginning. Depth first",
});
choice!(Dependence, "dependence", |level| level.about());

/// How runs are compared with serial ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SerialCheck {
    /// What the threads leave in the tables, their errors and messages, and what they were told as far as it was used.
    /// A thread that could write and decides to leave nothing counts as having given up.
    #[default]
    Effects,
    /// Every answer counts, also what the statements inside of routines returned.
    Strict,
    /// They are not compared.
    Off,
}

impl SerialCheck {
    /// Every kind.
    pub const ALL: [SerialCheck; 3] = [SerialCheck::Effects, SerialCheck::Strict, SerialCheck::Off];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            SerialCheck::Effects => "effects",
            SerialCheck::Strict => "strict",
            SerialCheck::Off => "off",
        }
    }
}

/// How to search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchKind {
    /// One run of each class of equivalent ones: Optimal-DPOR.
    #[default]
    Dpor,
    /// The same by source sets and sleep sets.
    Source,
    /// States matched. Breadth first, for the shortest counterexample; or reduced, if a dependence is given.
    Stateful,
    /// Depth first, every interleaving.
    Stateless,
    /// Interleavings by chance.
    Random,
    /// Interleavings by random priorities.
    Pct,
}

impl SearchKind {
    /// Every kind.
    pub const ALL: [SearchKind; 6] = [
        SearchKind::Dpor,
        SearchKind::Source,
        SearchKind::Stateful,
        SearchKind::Stateless,
        SearchKind::Random,
        SearchKind::Pct,
    ];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            SearchKind::Dpor => "dpor",
            SearchKind::Source => "source",
            SearchKind::Stateful => "stateful",
            SearchKind::Stateless => "stateless",
            SearchKind::Random => "random",
            SearchKind::Pct => "pct",
        }
    }
}

/// Between what others may act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Granularity {
    /// Statements and commits.
    #[default]
    Statement,
    /// Statements, the rows that one of them locks, and commits.
    Row,
    /// Statements, each with its commit where it is a transaction by itself.
    Whole,
}

impl Granularity {
    /// Every kind.
    pub const ALL: [Granularity; 3] = [Granularity::Statement, Granularity::Row, Granularity::Whole];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Granularity::Statement => "statement",
            Granularity::Row => "row",
            Granularity::Whole => "whole",
        }
    }
}

/// How states are recognised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hashing {
    /// By a digest that is kept up to date row by row.
    #[default]
    Incremental,
    /// By a digest computed from all rows, each time.
    Full,
    /// Not at all.
    Off,
}

impl Hashing {
    /// Every kind.
    pub const ALL: [Hashing; 3] = [Hashing::Incremental, Hashing::Full, Hashing::Off];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Hashing::Incremental => "incremental",
            Hashing::Full => "full",
            Hashing::Off => "off",
        }
    }
}
