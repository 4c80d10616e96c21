//! How much work a statement may cost, and who ends it.
//!
//! Input can make a computation as long as it likes: a loop, a join, a recursion, a text that doubles. Every loop of
//! that kind [spends](spend) on a [`Budget`], which ends in two ways. Either what one step may cost is used up: that is
//! a number, the same in every run. Or somebody outside [ends](Budget::end) it, who has a clock, looks at the memory or
//! hears the interrupt; nothing here does.
//!
//! Functions of SQL are functions of their arguments alone, so the budget is none of these. A thread works under one
//! budget at a time, which it [enters](Budget::enter), and without one under none:
//!
//! ```text
//!   clock ── end(Time) ──▶ Budget ◀── enter ── a step of the engine
//!                             ▲                   │ loop: spend(1)? ── Err: the statement fails, no handler catches it
//!                             └── note_cut ───────┘ "WHILE true LOOP of DO does not end"
//! ```
//!
//! The end of a budget is no answer of a database. It has a [state](SqlState::OUT_OF_BUDGET) that PostgreSQL does not
//! have, and whoever meets it draws one conclusion: nothing is known. So that nobody overlooks it, the budget remembers
//! what was cut off first.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{SqlError, SqlState};

/// What one step may cost. A joined row costs 1; see the callers of [`spend`] for the rest.
pub const WORK_MAX: u64 = 100_000_000;

/// Work between two looks at whether the budget was ended from outside.
const LOOK_EVERY: u64 = 4096;

/// Bytes of a value from which on nothing but its size matters: it is cut off. PostgreSQL's own limit is 1 GB.
pub const VALUE_BYTES_MAX: usize = 128 << 20;

/// What work is done under. Clones are the same budget.
#[derive(Clone, Debug, Default)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The end, as a number; 0 for none.
    ended: AtomicU8,
    /// What was found is being repeated, to be shown: the end does not count meanwhile.
    released: AtomicBool,
    /// What was cut off first.
    cut: Mutex<Option<String>>,
    /// What is worked on now, for whoever ends the process because nothing else has.
    under_way: Mutex<Arc<str>>,
    /// Bytes that may still be taken, as last told.
    room: AtomicU64,
    /// Steps until it ends by itself; the largest number is never.
    fuse: AtomicU64,
}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            ended: AtomicU8::new(0),
            released: AtomicBool::new(false),
            cut: Mutex::default(),
            under_way: Mutex::new("".into()),
            room: AtomicU64::new(u64::MAX),
            fuse: AtomicU64::new(u64::MAX),
        }
    }
}

/// Why a budget has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exhausted {
    /// One step has cost [`WORK_MAX`].
    Work = 1,
    /// The time is over.
    Time,
    /// The memory is full.
    Memory,
    /// The user wants no more.
    Interrupt,
}

thread_local! {
    static CURRENT: RefCell<Option<Budget>> = const { RefCell::new(None) };
    /// Work left until the next look.
    static UNTIL_LOOK: Cell<u64> = const { Cell::new(0) };
    /// Work left after that.
    static AFTER_LOOK: Cell<u64> = const { Cell::new(u64::MAX) };
}

impl Budget {
    /// The budget that this thread works under; a new one, which nobody ends, if there is none.
    pub fn current() -> Budget {
        CURRENT.with_borrow(Option::clone).unwrap_or_default()
    }

    /// A budget whose time is over after so many steps, the same in every run: to try every moment at which a clock
    /// could end one.
    pub fn ending_after(steps: u64) -> Budget {
        Budget(Arc::new(Shared { fuse: AtomicU64::new(steps), ..Shared::default() }))
    }

    /// This thread works under the budget, with [`WORK_MAX`] to spend, until the result is dropped.
    #[must_use = "dropping it leaves the budget"]
    pub fn enter(&self) -> Entered {
        if self.0.fuse.load(Ordering::Relaxed) != u64::MAX && self.0.fuse.fetch_sub(1, Ordering::Relaxed) == 0 {
            self.0.fuse.store(u64::MAX, Ordering::Relaxed);
            self.end(Exhausted::Time);
        }
        let before = CURRENT.replace(Some(self.clone()));
        let left = (UNTIL_LOOK.replace(0), AFTER_LOOK.replace(WORK_MAX));
        Entered { before, left, thread: PhantomData }
    }

    /// The same for work of many statements, each of which [enters](Budget::enter) for itself: there is no limit to
    /// what it costs, but whoever ends the budget ends it.
    #[must_use = "dropping it leaves the budget"]
    pub fn enter_whole(&self) -> Entered {
        let entered = self.enter();
        AFTER_LOOK.set(u64::MAX);
        entered
    }

    /// Ends it from outside: whoever works under it stops soon.
    pub fn end(&self, why: Exhausted) {
        // The first reason counts.
        let _ = self.0.ended.compare_exchange(0, why as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether it was ended from outside, and why.
    pub fn ended(&self) -> Option<Exhausted> {
        if self.is_released() {
            return None;
        }
        match self.0.ended.load(Ordering::Relaxed) {
            n if n == Exhausted::Time as u8 => Some(Exhausted::Time),
            n if n == Exhausted::Memory as u8 => Some(Exhausted::Memory),
            n if n == Exhausted::Interrupt as u8 => Some(Exhausted::Interrupt),
            _ => None,
        }
    }

    /// From here on it does not end from outside: what was found is being repeated, to be shown.
    pub fn release(&self) {
        self.0.released.store(true, Ordering::Relaxed);
    }

    /// Whether what was found is being repeated.
    pub fn is_released(&self) -> bool {
        self.0.released.load(Ordering::Relaxed)
    }

    /// The end counts again, also one that came meanwhile.
    pub fn resume(&self) {
        self.0.released.store(false, Ordering::Relaxed);
    }

    /// Says what is worked on from here on.
    pub fn begin(&self, what: &str) {
        *self.0.under_way.lock().unwrap_or_else(PoisonError::into_inner) = what.into();
    }

    /// What is worked on now, as far as somebody has [said](Budget::begin).
    pub fn under_way(&self) -> Arc<str> {
        self.0.under_way.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells how many bytes may still be taken: [larger values](make) are refused before they are made.
    pub fn set_room(&self, bytes: u64) {
        self.0.room.store(bytes, Ordering::Relaxed);
    }

    /// Takes memory, if there is room.
    fn take(&self, bytes: u64) -> Result<(), SqlError> {
        let left = |room: u64| if room == u64::MAX { Some(room) } else { room.checked_sub(bytes) };
        match self.0.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left) {
            Ok(_) => Ok(()),
            Err(_) => {
                self.end(Exhausted::Memory);
                Err(Exhausted::Memory.error())
            }
        }
    }

    /// Remembers what was cut off, if it is the first.
    pub fn note_cut(&self, what: &str) {
        let mut cut = self.0.cut.lock().unwrap_or_else(PoisonError::into_inner);
        cut.get_or_insert_with(|| what.to_string());
    }

    /// What was cut off first, in a sentence. Then nothing that was concluded after it says that all is well.
    pub fn cut(&self) -> Option<String> {
        self.0.cut.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A thread works under a budget as long as it has this.
#[derive(Debug)]
pub struct Entered {
    before: Option<Budget>,
    left: (u64, u64),
    /// It belongs to its thread.
    thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
        UNTIL_LOOK.set(self.left.0);
        AFTER_LOOK.set(self.left.1);
    }
}

/// Spends some work on the budget of this thread; an error if it has ended.
#[inline]
pub fn spend(work: u64) -> Result<(), SqlError> {
    let left = UNTIL_LOOK.get();
    if work < left {
        UNTIL_LOOK.set(left - work);
        return Ok(());
    }
    look(work - left)
}

/// Spends what goes beyond the next look, and looks.
#[cold]
fn look(work: u64) -> Result<(), SqlError> {
    UNTIL_LOOK.set(0);
    let left = AFTER_LOOK.get();
    if work > left {
        return Err(Exhausted::Work.error());
    }
    if let Some(why) = CURRENT.with_borrow(|current| current.as_ref().and_then(Budget::ended)) {
        let begun = left != WORK_MAX;
        let error = why.error();
        return Err(if begun { error } else { SqlError::new(SqlState::NOT_BEGUN, error.message.clone()) });
    }
    let next = LOOK_EVERY.min(left - work);
    UNTIL_LOOK.set(next);
    AFTER_LOOK.set(left - work - next);
    Ok(())
}

/// Spends what a value of so many bytes costs, before it is made. PostgreSQL refuses one of 1 GB; of what it would
/// make, we refuse to make what is larger than [`VALUE_BYTES_MAX`].
pub fn make(bytes: usize) -> Result<(), SqlError> {
    const POSTGRES_MAX: usize = (1 << 30) - 1;
    if bytes > POSTGRES_MAX {
        return Err(SqlError::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("invalid memory alloc request size {bytes}"),
        ));
    }
    hold(bytes)
}

/// The same for what takes so many bytes here, whatever it takes on a server: it is refused by us, never by PostgreSQL.
pub fn hold(bytes: usize) -> Result<(), SqlError> {
    if bytes > VALUE_BYTES_MAX {
        let message = format!("a value of {bytes} bytes is larger than the {VALUE_BYTES_MAX} that are kept in memory");
        return Err(SqlError::new(SqlState::OUT_OF_BUDGET, message));
    }
    if bytes > LARGE {
        CURRENT.with_borrow(|current| current.as_ref().map_or(Ok(()), |budget| budget.take(bytes as u64)))?;
    }
    spend(bytes as u64 / 16)
}

/// Spends what it costs to make a value of `bytes` bytes larger by some. Of one that is put together from many parts,
/// each is paid for once.
pub fn grow(bytes: usize, by: usize) -> Result<(), SqlError> {
    let grown = bytes.saturating_add(by);
    match grown > VALUE_BYTES_MAX || by > LARGE {
        true => make(grown),
        false => spend(by as u64 / 16),
    }
}

/// Bytes of a value that is looked at before it is made, and not only when it is there.
const LARGE: usize = 64 << 10;

impl Exhausted {
    /// The error that cuts a statement off.
    pub fn error(self) -> SqlError {
        let message = match self {
            Exhausted::Work => format!("no end after {WORK_MAX} operations"),
            Exhausted::Time => "the time limit was reached".to_string(),
            Exhausted::Memory => "the memory limit was reached".to_string(),
            Exhausted::Interrupt => "interrupted".to_string(),
        };
        SqlError::new(SqlState::OUT_OF_BUDGET, message)
    }
}

impl SqlState {
    /// A statement was cut off. No server has this state, and no program can raise or catch it: its letters are small.
    pub const OUT_OF_BUDGET: SqlState = SqlState(*b"isBGT");
    /// The budget had ended before the statement did anything: it is cut off, but not to blame.
    pub const NOT_BEGUN: SqlState = SqlState(*b"isEND");

    /// Whether a statement was cut off, because a budget had ended. No database says that.
    pub fn is_cut(self) -> bool {
        self == SqlState::OUT_OF_BUDGET || self == SqlState::NOT_BEGUN
    }
}

impl SqlError {
    /// Whether a statement was cut off, because a budget had ended. No database says that.
    pub fn is_cut(&self) -> bool {
        self.state.is_cut()
    }

    /// Whether it was cut off before it began.
    pub fn is_not_begun(&self) -> bool {
        self.state == SqlState::NOT_BEGUN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spend_all() -> SqlError {
        loop {
            if let Err(error) = spend(1000) {
                return error;
            }
        }
    }

    #[test]
    fn a_step_has_so_much_to_spend_and_the_next_one_as_much() {
        let budget = Budget::default();
        for _ in 0..2 {
            let _entered = budget.enter();
            assert!(spend(WORK_MAX - LOOK_EVERY).is_ok());
            assert!(spend_all().is_cut());
            assert!(spend(LOOK_EVERY).is_err(), "what is used up stays used up");
        }
        assert!(spend(WORK_MAX * 3).is_ok(), "without a budget there is no end");
    }

    #[test]
    fn who_ends_a_budget_ends_all_work_under_it() {
        let (budget, other) = (Budget::default(), Budget::default());
        let _outer = other.enter();
        {
            let _entered = budget.enter();
            assert!(spend(1).is_ok());
            budget.clone().end(Exhausted::Time);
            assert_eq!(spend_all(), Exhausted::Time.error());
            let _next = budget.enter();
            assert!(
                spend(1).is_err_and(|error| error.is_cut() && error.is_not_begun()),
                "the next step is not to blame"
            );
        }
        assert!(spend(1).is_ok(), "the budget around it has not ended");
        budget.end(Exhausted::Interrupt);
        assert_eq!(budget.ended(), Some(Exhausted::Time), "the first reason counts");
        budget.release();
        let _entered = budget.enter();
        assert!(spend(1).is_ok());
        budget.end(Exhausted::Memory);
        assert!(spend(LOOK_EVERY).is_ok(), "released is released");
        budget.resume();
        assert!(spend(LOOK_EVERY).is_err(), "until it is resumed");
    }

    #[test]
    fn a_fuse_ends_it_after_so_many_steps() {
        let budget = Budget::ending_after(2);
        let ended: Vec<bool> = (0..4).map(|_| spend_in(&budget).is_err()).collect();
        assert_eq!(ended, [false, false, true, true]);
    }

    fn spend_in(budget: &Budget) -> Result<(), SqlError> {
        let _entered = budget.enter();
        spend(1)
    }

    #[test]
    fn what_there_is_no_room_for_is_not_made() {
        let budget = Budget::default();
        let _entered = budget.enter();
        assert!(make(100 << 20).is_ok(), "nobody has told how much room there is");
        budget.set_room(30 << 20);
        assert!(make(20 << 20).is_ok());
        assert!(make(20 << 20).is_err_and(|error| error.is_cut()));
        assert_eq!(budget.ended(), Some(Exhausted::Memory));
    }

    #[test]
    fn large_values_are_refused_before_they_are_made() {
        let _entered = Budget::default().enter();
        assert!(make(1000).is_ok());
        assert!(make(VALUE_BYTES_MAX + 1).is_err_and(|error| error.is_cut()));
        assert!(make(1 << 30).is_err_and(|error| error.state == SqlState::PROGRAM_LIMIT_EXCEEDED));
        assert!(hold(1 << 30).is_err_and(|error| error.is_cut()), "a server may need less");
    }

    /// What is cut off in one database says nothing about another.
    #[test]
    fn who_enters_no_budget_has_one_of_their_own() {
        Budget::current().note_cut("LOOP");
        assert_eq!(Budget::current().cut(), None);
        let budget = Budget::default();
        let _entered = budget.enter();
        Budget::current().note_cut("LOOP");
        assert!(budget.cut().is_some());
    }

    #[test]
    fn the_first_cut_is_remembered() {
        let budget = Budget::default();
        budget.note_cut("LOOP");
        budget.clone().note_cut("another");
        assert_eq!(budget.cut().as_deref(), Some("LOOP"));
    }
}
