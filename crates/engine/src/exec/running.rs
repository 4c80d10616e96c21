//! How far a statement has come.
//!
//! A statement that has begun is in one of three phases, and has in each what belongs to it: while it scans there are
//! no rows to go through yet, and once they are done nothing of them is left but what they queued.
//!
//! ```text
//!   Scan ──▶ Rows { input, next } ──▶ After { next }
//! ```

use std::sync::Arc;

use isolde_sql::Row;

use super::{After, Produced};
use crate::eval::Calls;
use crate::lock::RowRef;
use crate::plan::WithScope;
use crate::prepare::Plan;
use crate::query::Candidate;
use crate::transaction::Snapshot;
use crate::trigger::Triggered;

/// A statement that has begun.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    /// What it reads.
    pub(crate) view: Snapshot,
    /// Versions at or past this position are this statement's own work, which it does not see.
    pub(crate) start: u64,
    /// Results of routines called by the part that is being evaluated.
    pub(crate) calls: Calls,
    pub(crate) phase: Phase,
    /// The row that it goes through or that a cascade has come to.
    pub(crate) at_hand: AtHand,
    /// What is to be seen to after the rows.
    pub(crate) after: Vec<After>,
    /// What it will return.
    pub(crate) output: Vec<Row>,
    /// How many rows it is to return.
    pub(crate) wanted: Wanted,
    /// Where the rows of `output` come from, if a cursor wants to know.
    pub(crate) sources: Vec<Vec<RowRef>>,
    /// Rows changed or locked.
    pub(crate) count: u64,
    /// How far the triggers of its tables have come.
    pub(crate) triggered: Option<Box<Triggered>>,
    /// Rows that the routines it called have changed.
    pub(crate) disturbed: Vec<RowRef>,
    /// The WITH queries it sees.
    pub(crate) withs: WithScope,
    /// It is itself a WITH statement, whose rows go to this slot of the one around it.
    pub(crate) slot: Option<usize>,
}

/// What a statement is at.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// It reads the rows that it is about.
    Scan,
    /// It goes through them; so many are done.
    Rows { input: Input, next: usize },
    /// They are done. What remains are WITH statements whose rows were not asked for, and what the rows have queued:
    /// so much of that is done.
    After { next: usize },
}

/// What the row phase goes through.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Rows to insert.
    Rows(Arc<[Row]>),
    /// Joined rows to update, delete or lock.
    Candidates(Arc<[Candidate]>),
    /// The same for a locking SELECT, with its LIMIT and OFFSET.
    Limited(Arc<[Candidate]>, Option<u64>, u64),
}

/// How far the row at hand has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtHand {
    /// It is not written. `again`: it is taken up again after a wait, and what is evaluated before it is locked has
    /// been evaluated before.
    Unwritten { again: bool },
    /// It is written, and checked against the unique keys of the indexes before `index`. `enters`: the new version
    /// enters the indexes of its table; known where one of them can be deferred.
    Written { row: RowRef, index: usize, enters: bool },
}

/// How many rows a statement is to return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wanted {
    #[default]
    All,
    /// So many, and never more: see [`Prepared::rows_max`](crate::prepare::Prepared::rows_max).
    First(usize),
    /// So many now: see [`StatementFrame::fetch`](crate::session::StatementFrame::fetch).
    Next(usize),
}

impl Input {
    fn len(&self) -> usize {
        match self {
            Input::Rows(rows) => rows.len(),
            Input::Candidates(candidates) | Input::Limited(candidates, ..) => candidates.len(),
        }
    }
}

impl Running {
    /// A statement that begins now.
    pub(crate) fn new(view: Snapshot, start: u64) -> Self {
        Running {
            view,
            start,
            calls: Calls::default(),
            phase: Phase::Scan,
            at_hand: AtHand::Unwritten { again: false },
            after: Vec::new(),
            output: Vec::new(),
            wanted: Wanted::All,
            sources: Vec::new(),
            count: 0,
            triggered: None,
            disturbed: Vec::new(),
            withs: WithScope::default(),
            slot: None,
        }
    }

    /// Nothing but checks that are due, of rows that other statements have written.
    pub(crate) fn of_checks(view: Snapshot, start: u64, checks: Vec<After>) -> Self {
        Running { phase: Phase::After { next: 0 }, after: checks, ..Running::new(view, start) }
    }

    /// What the row phase goes through, and how many of that are done; `None` in the other phases.
    pub(crate) fn input(&self) -> Option<(&Input, usize)> {
        match &self.phase {
            Phase::Rows { input, next } => Some((input, *next)),
            Phase::Scan | Phase::After { .. } => None,
        }
    }

    /// The joined rows that are yet to be gone through.
    pub(crate) fn candidates_left(&self) -> &[Candidate] {
        match self.input() {
            Some((Input::Candidates(all) | Input::Limited(all, ..), next)) => all.get(next..).unwrap_or_default(),
            Some((Input::Rows(_), _)) | None => &[],
        }
    }

    /// The scan is done, and has found this.
    pub(crate) fn begin_rows(&mut self, input: Input) {
        debug_assert!(matches!(self.phase, Phase::Scan), "the rows of a statement are found once");
        self.calls.clear();
        self.phase = Phase::Rows { input, next: 0 };
    }

    /// The row at hand, by its place among those found, if there is one and its result is wanted.
    pub(super) fn row_at_hand(&self) -> Option<usize> {
        let (input, next) = self.input()?;
        let wanted = match self.wanted {
            Wanted::All => true,
            Wanted::First(max) | Wanted::Next(max) => self.output.len() < max,
        };
        (next < input.len() && wanted).then_some(next)
    }

    /// Whether it has begun to change rows, so that it matters which of them others change.
    pub(crate) fn has_found_rows(&self) -> bool {
        !matches!(self.phase, Phase::Scan) || self.triggered.is_some()
    }

    /// Whether it is through with its own rows.
    pub(crate) fn rows_are_done(&self) -> bool {
        matches!(self.phase, Phase::After { .. })
    }

    /// Whether it is a query that has returned the rows that were asked for, and has others.
    pub(super) fn may_be_asked_for_more(&self, plan: &Plan) -> bool {
        let left = self.input().is_some_and(|(input, next)| next < input.len());
        left && matches!(self.wanted, Wanted::Next(_)) && matches!(plan, Plan::Query(_))
    }

    /// Its own rows are done.
    pub(crate) fn end_rows(&mut self) {
        debug_assert!(!self.rows_are_done(), "the row phase ends once");
        debug_assert!(
            self.written().is_none(),
            "the unique keys of every row have been checked when the rows are done"
        );
        self.phase = Phase::After { next: 0 };
    }

    /// What it has produced so far, for whoever asked.
    pub(super) fn produce(&mut self, plan: &Plan) -> Produced {
        let (verb, columns) = plan.result();
        let (rows, sources) = (std::mem::take(&mut self.output), std::mem::take(&mut self.sources));
        let count = if let Plan::Query(_) = plan { rows.len() as u64 } else { self.count };
        Produced { verb, columns, rows, count, sources, rest: None }
    }

    /// The place in the queue of what is being seen to.
    pub(crate) fn check_at(&self) -> usize {
        match self.phase {
            Phase::After { next } => next,
            Phase::Scan | Phase::Rows { .. } => unreachable!("the queue is worked off when the rows are done"),
        }
    }

    /// What is being seen to.
    pub(super) fn check_mut(&mut self) -> &mut After {
        let at = self.check_at();
        &mut self.after[at]
    }

    /// Whether something in the queue is yet to be seen to.
    pub(super) fn has_check(&self) -> bool {
        self.check_at() < self.after.len()
    }

    /// What was at hand of the queue is done.
    pub(super) fn check_done(&mut self) {
        let next = self.check_at() + 1;
        self.phase = Phase::After { next };
        self.calls.clear();
        self.forget_row();
    }

    /// The row at hand is written: what came before is not evaluated again, what comes next starts with its unique
    /// keys.
    pub(crate) fn set_written(&mut self, row: RowRef, enters: bool) {
        debug_assert!(self.written().is_none(), "a row is written once, and its keys are checked before the next");
        self.at_hand = AtHand::Written { row, index: 0, enters };
        self.calls.clear();
    }

    /// The row that was just written and must be checked against unique keys, and the first index not yet checked.
    pub(crate) fn written(&self) -> Option<(RowRef, usize)> {
        match self.at_hand {
            AtHand::Written { row, index, .. } => Some((row, index)),
            AtHand::Unwritten { .. } => None,
        }
    }

    /// Whether the row at hand is taken up again after a wait.
    pub(super) fn is_again(&self) -> bool {
        self.at_hand == AtHand::Unwritten { again: true }
    }

    /// The row at hand is about to be locked: what comes behind has not been evaluated before.
    pub(super) fn not_again(&mut self) {
        if let AtHand::Unwritten { again } = &mut self.at_hand {
            *again = false;
        }
    }

    /// It waits, and will take up the same row again.
    pub(crate) fn wait(&mut self) {
        if let AtHand::Unwritten { again } = &mut self.at_hand {
            *again = true;
        }
    }

    /// The row at hand is done.
    pub(super) fn row_done(&mut self) {
        match &mut self.phase {
            Phase::Rows { next, .. } => *next += 1,
            Phase::Scan | Phase::After { .. } => unreachable!("only the row phase goes through rows"),
        }
        self.calls.clear();
        self.at_hand = AtHand::Unwritten { again: false };
        self.forget_row();
    }

    /// What triggers have made of the row at hand no longer matters.
    fn forget_row(&mut self) {
        if let Some(triggered) = &mut self.triggered {
            (triggered.row, triggered.conflict, triggered.written) = (None, None, None);
        }
    }
}
