//! `pg_advisory_lock` and its family.
//!
//! An advisory lock is a lock on a number that means something to the application only. Those of a *transaction* are
//! entries of the transaction like table locks: savepoints and the end release them. Those of a *session* are counted,
//! survive COMMIT and ROLLBACK, and are given back one by one.
//!
//! A function that has to wait stops the evaluation around it ([`Interrupt::Wait`]). Once the wait is over the lock is
//! granted before evaluation goes on, and the call that is met again finds it in [`Session::granted`].

use isolde_sql::Value;
use isolde_sql::ast::TableLockMode;
use isolde_sql::ast::plpgsql::RaiseLevel;
use isolde_sql::builtin::AdvisoryFunction;

use super::{LockKey, Modes};
use crate::eval::Interrupt;
use crate::footprint::{HeavyEvent, LockEventKind};
use crate::host::SessionHost;
use crate::session::{Granted, Notice, SessionState};

/// How long a lock is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// Until the transaction ends.
    Transaction,
    /// Until it is given back, or the session ends.
    Session,
}

/// How often a session has taken an advisory lock in each mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Counts {
    exclusive: u32,
    shared: u32,
}

impl Counts {
    fn of(&mut self, mode: TableLockMode) -> &mut u32 {
        if mode == TableLockMode::Share { &mut self.shared } else { &mut self.exclusive }
    }
}

impl SessionState {
    /// The modes in which it holds an advisory lock by itself.
    pub(crate) fn advisory_modes(&self, key: LockKey) -> Modes {
        let counts = self.advisory.get(&key).copied().unwrap_or_default();
        let exclusive = if counts.exclusive > 0 { Modes::NONE.with(TableLockMode::Exclusive) } else { Modes::NONE };
        if counts.shared > 0 { exclusive.with(TableLockMode::Share) } else { exclusive }
    }

    /// Takes a lock that was granted.
    pub(crate) fn take_heavy(&mut self, key: LockKey, mode: TableLockMode, scope: Scope) {
        match scope {
            Scope::Session => *self.advisory.entry(key).or_default().of(mode) += 1,
            Scope::Transaction => {
                if let Some(t) = &mut self.transaction {
                    let held = t.heavy.get(&key).copied().unwrap_or_default();
                    t.heavy.insert(key, held.with(mode));
                }
            }
        }
    }

    /// Gives one session-level lock back; false if there is none.
    fn give_back(&mut self, key: LockKey, mode: TableLockMode) -> bool {
        let Some(counts) = self.advisory.get_mut(&key) else { return false };
        let count = counts.of(mode);
        if *count == 0 {
            return false;
        }
        *count -= 1;
        debug_assert!(self.transaction.is_some(), "a function that gives a lock back runs in a transaction");
        if *counts == Counts::default() {
            self.advisory.remove(&key);
        }
        true
    }
}

impl SessionHost<'_> {
    /// Calls one of the family.
    pub(crate) fn advisory(&mut self, function: AdvisoryFunction, args: &[Value]) -> Result<Value, Interrupt> {
        let mode = |shared| if shared { TableLockMode::Share } else { TableLockMode::Exclusive };
        match function {
            AdvisoryFunction::Lock { shared, transaction, tries } => {
                let scope = if transaction { Scope::Transaction } else { Scope::Session };
                let taken = self.advisory_lock(key_of(args), mode(shared), scope, tries)?;
                Ok(if tries { Value::Bool(taken) } else { Value::text("") })
            }
            AdvisoryFunction::Unlock { shared } => {
                let (key, mode) = (key_of(args), mode(shared));
                let owned = self.session.give_back(key, mode);
                if owned {
                    self.heavy.push(HeavyEvent { key, mode, kind: LockEventKind::Released });
                } else {
                    let name = if shared { "ShareLock" } else { "ExclusiveLock" };
                    let message = format!("you don't own a lock of type {name}").into();
                    self.notices.push(Notice { level: RaiseLevel::Warning, message });
                }
                Ok(Value::Bool(owned))
            }
            AdvisoryFunction::UnlockAll => {
                self.heavy.extend(release_all(self.session));
                Ok(Value::text(""))
            }
        }
    }

    fn advisory_lock(
        &mut self,
        key: LockKey,
        mode: TableLockMode,
        scope: Scope,
        tries: bool,
    ) -> Result<bool, Interrupt> {
        if self.session.granted.take_if(|granted| *granted == Granted::Lock(key, mode, scope)).is_some() {
            return Ok(true);
        }
        Ok(self.locks().ask(key, mode, scope, !tries)?)
    }
}

/// Forgets all session-level locks, and says so.
pub(crate) fn release_all(session: &mut SessionState) -> Vec<HeavyEvent> {
    let held = std::mem::take(&mut session.advisory);
    let modes = |counts: &Counts| {
        let exclusive = (counts.exclusive > 0).then_some(TableLockMode::Exclusive);
        exclusive.into_iter().chain((counts.shared > 0).then_some(TableLockMode::Share)).collect::<Vec<_>>()
    };
    let released = |(key, counts): (&LockKey, &Counts)| {
        let key = *key;
        modes(counts).into_iter().map(move |mode| HeavyEvent { key, mode, kind: LockEventKind::Released })
    };
    held.iter().flat_map(released).collect()
}

/// One `bigint`, or two `int`s: their own space.
fn key_of(args: &[Value]) -> LockKey {
    match args {
        [Value::Int(key)] => LockKey::Advisory(*key),
        [Value::Int(a), Value::Int(b)] => LockKey::AdvisoryPair(*a as i32, *b as i32),
        _ => unreachable!("the binder gives these functions one or two numbers, and they are strict: {args:?}"),
    }
}
