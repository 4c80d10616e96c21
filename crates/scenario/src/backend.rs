//! The back-ends of the checker: what runs the threads, and what was observed of them.
//!
//! Properties, the serial oracle, the comparison of outcomes, minimisation, traces and explanations are written once,
//! over what was *observed* of a run. Where the run took place is a back-end:
//!
//! ```text
//!   property, oracle, outcome,          ┌── ScenarioSystem   the embedded engine: a state is a value
//!   minimise, trace, check   ──Backend──┼── LiveSystem       the sessions of a server (crate postgres)
//!   (each rule once)                    └── LiveSystem       an application behind the proxy
//! ```
//!
//! A back-end is a [`System`]: it starts, says which steps are enabled, takes one, and returns to earlier states. In
//! addition it answers questions about a state and about a run. It judges nothing. What one back-end can do and another
//! cannot is stated as its [`Capabilities`], and what a state cannot tell is a variant of the answer
//! ([`Completed::Unknown`]), never a guess.
//!
//! Whatever goes wrong outside of any verdict (a server that is gone, a run that is not repeatable) is a [`Trouble`].
//! The embedded engine has none.

use isolde_explore::{Checkpoint, Done, Limit, Search, System};
use isolde_history::History;
use isolde_report::{FinalTable, Place, TraceStep};
use isolde_sql::catalog::TableId;
use isolde_sql::{Span, SqlError, SqlState};

use crate::checker::{Checker, Examination};
use crate::clock::{Pace, Way};
use crate::file::{FileOptions, SerialCheck};
use crate::outcome::Outcome;
use crate::system::Choice;
use crate::threads::ThreadSet;
use crate::trace::RunOf;
use crate::trouble::Trouble;

/// Threads on some database, to be explored and judged.
pub trait Backend: System<Step = Choice> + Copy {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// What the user has asked for, as far as it is about properties.
    fn options(&self) -> &FileOptions;

    /// How runs are compared with serial ones.
    fn serial(&self) -> SerialCheck {
        self.options().serial.unwrap_or_default()
    }

    /// How many threads there are, those that are left out included.
    fn threads(&self) -> usize;

    /// What is written about a thread.
    fn member(&self, thread: usize) -> Member<'_>;

    /// The threads that do not act, as if they were not in the file.
    fn absent(&self) -> ThreadSet;

    /// The same without these threads.
    fn without(self, absent: ThreadSet) -> Self;

    /// How many checks are asked then.
    fn checks(&self, when: When) -> usize;

    /// The name of a check.
    fn check_name(&self, when: When, check: usize) -> &str;

    /// Asks a check about the committed tables.
    fn ask(&self, state: &Self::State, when: When, check: usize) -> Result<Truth, Trouble>;

    /// How far a thread has come.
    fn fate<'s>(&self, state: &'s Self::State, thread: usize) -> Fate<'s>;

    /// Which part of a thread counts in a run that ended in this state.
    fn completed(&self, state: &Self::State, thread: usize) -> Completed;

    /// The threads that wait for each other in a cycle, here or in the step that led here; in the order of the file.
    fn deadlocked(&self, state: &Self::State, event: Option<&Self::Event>) -> Vec<usize>;

    /// The thread that a step belongs to.
    fn actor(&self, event: &Self::Event) -> usize;

    /// Whether a step may have changed the committed tables.
    fn published(&self, event: &Self::Event) -> bool;

    /// What a step cost.
    fn toll(&self, event: &Self::Event) -> Toll;

    /// How many transactions of a thread have ended in a step; the one that a deadlock has cost it does not count.
    fn transactions_ended(&self, event: &Self::Event, thread: usize) -> usize;

    /// Runs the first `limit` statements of a thread while no other one acts, then ends its session: what serial orders
    /// are made of.
    fn run_alone(&self, state: &mut Self::State, thread: usize, limit: usize) -> Result<Alone, Trouble>;

    /// When the threads sent their statements in a run that ended in `state`; nothing where time stands still.
    fn pace(&self, state: &Self::State) -> Pace {
        let _ = state;
        Pace::new()
    }

    /// The ways in which a thread runs alone as for [`Backend::run_alone`], sending its statements at these times.
    fn ways_alone(
        &self,
        state: &Self::State,
        thread: usize,
        limit: usize,
        pace: &Pace,
    ) -> Result<Vec<Way<Self::State>>, Trouble> {
        let _ = pace;
        let mut state = state.clone();
        let alone = self.run_alone(&mut state, thread, limit)?;
        Ok(vec![Way { alone, state, times: Vec::new() }])
    }

    /// The same in one way: each step at the time at which it was taken there.
    fn run_at(
        &self,
        state: &mut Self::State,
        thread: usize,
        limit: usize,
        pace: &Pace,
        times: &[i64],
    ) -> Result<Alone, Trouble> {
        let _ = (pace, times);
        self.run_alone(state, thread, limit)
    }

    /// Whether time has passed in a step, and nothing else.
    fn is_passing(&self, event: &Self::Event) -> bool {
        let _ = event;
        false
    }

    /// What is named behind the threads in a trace: the clock, if time may pass.
    fn clock_name(&self) -> Option<&str> {
        None
    }

    /// The outcome of the run that ended in `state`. Of each thread, only its first `limits` statements count.
    fn outcome(&self, state: &Self::State, limits: &[usize]) -> Result<Outcome, Trouble>;

    /// The [effects](crate::file::SerialCheck::Effects) of the run that ended in `state`; `None` where they are not
    /// known.
    fn effects(&self, state: &Self::State, limits: &[usize]) -> Result<Option<Outcome>, Trouble> {
        let _ = (state, limits);
        Ok(None)
    }

    /// The same of a run that was repeated, as for [`Backend::outcome_beside`].
    fn effects_beside(&self, state: &Self::State, other: &Self::State, limits: &[usize]) -> Option<Outcome> {
        let _ = (state, other, limits);
        None
    }

    /// Whether a thread that could have written has decided to leave nothing.
    fn gave_up(&self, state: &Self::State, thread: usize) -> Result<bool, Trouble> {
        let _ = (state, thread);
        Ok(false)
    }

    /// The same threads with other generated values, if a run that ended in `state` drew any; each is another attempt
    /// to tell which values were generated. None where that cannot be had.
    fn with_other_generators(&self, state: &Self::State) -> Vec<Self> {
        let _ = state;
        Vec::new()
    }

    /// The outcome of a run that was repeated with [other generators](Backend::with_other_generators) and ended there
    /// in `other`, with generated values named after their origin; `None` if the two runs cannot be compared.
    fn outcome_beside(&self, state: &Self::State, other: &Self::State, limits: &[usize]) -> Option<Outcome> {
        let _ = (state, other, limits);
        None
    }

    /// A table's name, as reports show it.
    fn table_name(&self, table: TableId) -> String;

    /// Where a statement stands.
    fn place(&self, span: Span) -> Place;

    /// A step of a run as a report shows it.
    fn trace_steps(&self, run: &RunOf<Self>, event: &Self::Event) -> Vec<TraceStep>;

    /// The tables that a run has changed, as committed at its end.
    fn final_tables(&self, run: &RunOf<Self>) -> Result<Vec<FinalTable>, Trouble>;

    /// The conflicts between the threads of a run.
    fn history(&self, run: &RunOf<Self>) -> History;

    /// What a run leaves in the tables that no serial order of its threads leaves there, in a sentence, if it can tell.
    fn summary(&self, run: &RunOf<Self>) -> Option<String> {
        let _ = run;
        None
    }

    /// What the threads of a deadlock wait for, once for each thread that is in the way.
    fn waits(&self, run: &RunOf<Self>) -> Vec<Wait>;

    /// The settings as this back-end can follow them; an error if it cannot.
    fn adapted(&self, settings: FileOptions) -> Result<FileOptions, Trouble> {
        Ok(settings)
    }

    /// The same with states that can be compared, however it is searched otherwise.
    fn comparing_states(self) -> Self {
        self
    }

    /// The settings to search with instead, if runs turn out to be so long that they may have no end.
    fn for_long_runs(&self, settings: &FileOptions) -> Option<FileOptions> {
        let _ = settings;
        None
    }

    /// Searches with as many checkers as it can use. The error says why the search does not continue from the
    /// checkpoint.
    fn explore<'p>(
        examination: &Examination<'p, Self>,
        search: &Search,
        jobs: usize,
        from: Option<&Checkpoint>,
    ) -> Result<Done<Checker<'p, Self>>, String> {
        let _ = (jobs, from);
        let mut checker = examination.checker();
        let summary = search.run(&examination.system, &mut checker);
        Ok(Done { summary, visitors: vec![checker], checkpoint: None })
    }

    /// Why steps do nothing any more, if that is so.
    fn trouble(&self) -> Option<Trouble> {
        None
    }

    /// Whether a thread was cut off here because it used up its budget: nothing is known beyond that.
    fn is_cut(&self, state: &Self::State) -> bool {
        let _ = state;
        false
    }

    /// What was cut off first, wherever that was, in a sentence.
    fn first_cut(&self) -> Option<String> {
        None
    }

    /// The limit that has ended everything: what ran since then may have been cut off, and nothing follows from its
    /// absence.
    fn ended(&self) -> Option<Limit> {
        None
    }

    /// What follows repeats what was seen, and no limit ends it.
    fn release_budget(&self) {}

    /// What follows is ended by limits again.
    fn resume_budget(&self) {}

    /// Whether it still answers. Where it does not, nothing that was observed last counts.
    fn is_alive(&self) -> Result<(), Trouble> {
        Ok(())
    }

    /// A run that was only an attempt had trouble, which does not matter.
    fn forget_trouble(&self) {}

    /// Steps that were repeated to return to earlier states, if it counts them.
    fn steps_repeated(&self) -> Option<u64> {
        None
    }

    /// Which steps were taken to commute, if that is not one of the named relations.
    fn dependence(&self) -> Option<String> {
        None
    }

    /// The threads that take part.
    fn present(&self) -> impl Iterator<Item = usize> {
        let absent = self.absent();
        (0..self.threads()).filter(move |&thread| !absent.contains(thread))
    }
}

/// What a back-end can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// What it runs.
    pub runs: Runs,
    /// The same schedule gives the same run, value by value.
    pub exact: bool,
    /// A step takes milliseconds: the user is asked after each whether to stop.
    pub slow: bool,
    /// Runs that may be spent on a simpler counterexample.
    pub attempts_max: usize,
    /// Steps that all of these may take together.
    pub steps_max: usize,
    /// States that may be looked at for the simplest counterexample; 0 if states cannot be compared.
    pub states_max: u64,
}

/// What a back-end runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// The threads of a scenario: what a client does after an error is written in the file.
    Scenario,
    /// Programs: only they know what they do after an error.
    Programs,
}

/// What is written about a thread.
#[derive(Clone, Copy, Debug)]
pub struct Member<'b> {
    /// Its name.
    pub name: &'b str,
    /// How often it starts an aborted transaction again.
    pub retries: u32,
    /// Errors that are no violation.
    pub expected: &'b [SqlState],
}

/// When a check is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// After every commit.
    Always,
    /// When all threads have ended.
    AtEnd,
}

/// What a check says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truth {
    /// Every row is true.
    Holds,
    /// Some row is false.
    Fails,
    /// Some row is NULL.
    Unknown,
    /// It cannot be evaluated, for this reason.
    Error(String),
    /// It was cut off: see [`Backend::first_cut`].
    Cut,
}

/// How far a thread has come.
#[derive(Clone, Copy, Debug)]
pub enum Fate<'s> {
    /// It has more to do, or waits.
    Running,
    /// It has ended as it should.
    Done,
    /// Its last transaction was aborted, and it does not try again.
    Aborted(&'s SqlError),
    /// It failed.
    Failed(Failure<'s>),
}

/// Why a thread failed.
#[derive(Clone, Copy, Debug)]
pub enum Failure<'s> {
    /// A statement was answered with this error.
    Sql(&'s SqlError),
    /// A program ended like this.
    Program(&'s str),
}

/// Which part of a thread counts in the outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completed {
    /// Its first statements, this many.
    Statements(usize),
    /// Something that it had committed before it was aborted or stuck, and that cannot be run by itself.
    Unknown,
}

/// How a thread ran while no other one acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
    /// To its end, or to its limit.
    Through,
    /// It did not end.
    Endless,
    /// It waits although no other thread acts.
    Waits,
}

/// What a step cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Toll {
    /// It met a lock and had to wait.
    pub waits: bool,
    /// It ended in a serialization failure or a deadlock.
    pub aborts: bool,
    /// A thread ended while its transaction was open.
    pub left_open: Option<usize>,
}

/// A thread that waits for something that another has locked.
#[derive(Clone, Debug)]
pub struct Wait {
    /// Who waits.
    pub thread: usize,
    /// Who is in the way.
    pub holder: usize,
    /// What is locked: `account id = 2`; `None` if that is not known.
    pub item: Option<String>,
    /// The statement that waits.
    pub wants: WaitEnd,
    /// What the holder has done.
    pub holds: Holds,
}

/// Why a thread is in the way of another.
#[derive(Clone, Debug)]
pub enum Holds {
    /// This statement took the lock.
    Since(WaitEnd),
    /// It only queues ahead.
    Queued,
    /// It holds the lock; which statement took it is not known.
    Somehow,
}

/// A statement at one end of a wait.
#[derive(Clone, Debug)]
pub struct WaitEnd {
    /// Its first word, in capitals.
    pub verb: String,
    /// Where it stands.
    pub place: Option<Place>,
}
