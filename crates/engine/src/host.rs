//! Functions that need a session: sequences, time, pretended chance.
//!
//! Sequences are shared by all, never rolled back, and outside every snapshot; only a transaction that alters one has
//! its own until it commits. Time is the [clock](crate::Database::clock)'s, which
//! stands still unless somebody runs it: a schedule must give the same result whenever it is replayed. Random values
//! are a fixed function of the session, of how many it has drawn, and of the [base](crate::Generators).

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_sql::ast::TableLockMode;
use isolde_sql::builtin::{SequenceField, SessionFunction};
use isolde_sql::catalog::names::split_name;
use isolde_sql::catalog::{Catalog, Sequence};
use isolde_sql::{SqlError, SqlState, Value};

use crate::database::Database;
use crate::eval::{Host, Interrupt};
use crate::footprint::{HeavyEvent, LockEvent};
use crate::generators::{as_float, as_uuid};
use crate::lock::{LockKey, Locks, Target};
use crate::routine::{RoutineFrame, field_of};
use crate::session::{Granted, Notice, SessionId, SessionState};

/// The moment at which the clock starts: 2025-01-01 00:00:00 UTC, in microseconds since 2000.
const NOW: i64 = 9_132 * 24 * 60 * 60 * 1_000_000;

/// The state of all sequences; none of one that was never drawn from.
pub(crate) type Sequences = Arc<BTreeMap<Arc<str>, Option<Drawn>>>;

/// How far a sequence has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Drawn {
    /// This value was given out last. The log holds so many more in advance, which nobody but `SELECT * FROM sequence`
    /// can tell.
    Last(i64, u8),
    /// This one is the next to be given out.
    Next(i64),
}

/// How many values PostgreSQL logs in advance.
const LOGGED: u8 = 32;

/// A session's side of [`Host`].
pub(crate) struct SessionHost<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) db: &'a mut Database,
    pub(crate) session: &'a mut SessionState,
    pub(crate) me: SessionId,
    /// The routine at work, whose records expressions name.
    pub(crate) routine: Option<&'a RoutineFrame>,
    /// Draws of this step, for the footprint.
    pub(crate) drawn: &'a mut Vec<(Arc<str>, i64)>,
    /// The footprint's word for what has no entry: that a sequence has come to its end.
    pub(crate) everything: &'a mut bool,
    /// Lock events of this step, for the footprint.
    pub(crate) rows: &'a mut Vec<LockEvent>,
    pub(crate) heavy: &'a mut Vec<HeavyEvent>,
    /// What is said to the client.
    pub(crate) notices: &'a mut Vec<Notice>,
}

impl Host for SessionHost<'_> {
    fn session_function(&mut self, function: SessionFunction, args: &[Value]) -> Result<Value, Interrupt> {
        match function {
            SessionFunction::TransactionTimestamp => {
                let began = self.session.transaction.as_ref().map_or(self.db.clock, |t| t.began);
                Ok(Value::Timestamptz(NOW + began))
            }
            SessionFunction::StatementTimestamp => Ok(Value::Timestamptz(NOW + self.session.statement_began)),
            SessionFunction::ClockTimestamp => Ok(Value::Timestamptz(NOW + self.db.clock)),
            SessionFunction::NextVal => self.next_value(args),
            SessionFunction::CurrVal => self.current_value(args),
            SessionFunction::SetVal => self.set_value(args),
            SessionFunction::Sequence(field) => self.sequence_field(field, args),
            SessionFunction::LastVal => match self.session.drawn.last() {
                Some((_, value)) => Ok(Value::Int(*value)),
                None => Err(not_drawn("lastval is not yet defined in this session".into()).into()),
            },
            SessionFunction::Random => Ok(as_float(self.random())),
            SessionFunction::GenRandomUuid => Ok(as_uuid(self.random())),
            SessionFunction::PgSleep => self.sleep(args),
            SessionFunction::Advisory(function) => self.advisory(function, args),
            SessionFunction::CurrentUser => Ok(Value::text("isolde")),
            SessionFunction::CurrentSetting => Ok(self.current_setting(args)?),
            SessionFunction::SetConfig => Ok(self.set_config(args)?),
            SessionFunction::Notify => Ok(self.notify(args)?),
            SessionFunction::TxidCurrent | SessionFunction::BackendPid => Ok(Value::Int(self.me.0 as i64 + 1)),
        }
    }

    fn field(&mut self, slot: usize, name: &str) -> Result<usize, SqlError> {
        let Some(routine) = self.routine else { return field_of(&None, name, "") };
        let variable = routine.code.variables.get(slot).map_or("", |variable| &variable.name);
        field_of(routine.shapes.get(slot).unwrap_or(&None), name, variable)
    }
}

impl SessionHost<'_> {
    /// `pg_sleep`: waits, if there is time.
    fn sleep(&mut self, args: &[Value]) -> Result<Value, Interrupt> {
        let slept = self.session.granted.take_if(|granted| *granted == Granted::Slept).is_some();
        match args {
            [Value::Float(seconds)] if self.db.timed && !slept && *seconds > 0.0 => {
                Err(Interrupt::Wait(Target::Time(self.db.clock + (seconds * 1e6) as i64)))
            }
            _ => Ok(Value::text("")),
        }
    }

    fn next_value(&mut self, args: &[Value]) -> Result<Value, Interrupt> {
        let sequence = self.sequence(args)?;
        self.open_sequence(&sequence.name)?;
        let (value, logged) = match *self.last_of(&sequence.name) {
            None => (sequence.start, LOGGED),
            Some(Drawn::Next(next)) => (next, LOGGED),
            Some(Drawn::Last(last, logged)) => {
                let skipped = 0..self.db.generators.gap;
                let last = skipped.fold(last, |last, _| next_in(&sequence, last).unwrap_or(last));
                let next = next_in(&sequence, last).inspect_err(|_| *self.everything = true)?;
                (next, logged.checked_sub(1).unwrap_or(LOGGED))
            }
        };
        *self.last_of(&sequence.name) = Some(Drawn::Last(value, logged));
        self.remember(&sequence.name, value);
        self.drawn.push((sequence.name.clone(), value));
        Ok(Value::Int(value))
    }

    fn current_value(&mut self, args: &[Value]) -> Result<Value, Interrupt> {
        let name = &self.sequence(args)?.name;
        self.open_sequence(name)?;
        match self.session.drawn.iter().find(|(n, _)| n == name) {
            Some((_, value)) => Ok(Value::Int(*value)),
            None => Err(not_drawn(format!("currval of sequence \"{name}\" is not yet defined in this session")).into()),
        }
    }

    /// `setval(name, value [, is_called])`
    fn set_value(&mut self, args: &[Value]) -> Result<Value, Interrupt> {
        let sequence = self.sequence(args)?;
        let Some(Value::Int(value)) = args.get(1) else { return Ok(Value::Null) };
        self.open_sequence(&sequence.name)?;
        if !(sequence.min..=sequence.max).contains(value) {
            let message = format!(
                "setval: value {value} is out of bounds for sequence \"{}\" ({}..{})",
                bare(&sequence.name),
                sequence.min,
                sequence.max
            );
            return Err(SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, message).into());
        }
        let called = !matches!(args.get(2), Some(Value::Bool(false)));
        *self.last_of(&sequence.name) = Some(if called { Drawn::Last(*value, 0) } else { Drawn::Next(*value) });
        if called {
            self.remember(&sequence.name, *value);
        }
        self.drawn.push((sequence.name.clone(), *value));
        Ok(Value::Int(*value))
    }

    /// `SELECT last_value FROM sequence`. Footprints know who draws from a sequence, not who looks at it.
    fn sequence_field(&mut self, field: SequenceField, args: &[Value]) -> Result<Value, Interrupt> {
        let sequence = self.sequence(args)?;
        self.lock_sequence(&sequence.name, TableLockMode::AccessShare)?;
        *self.everything = true;
        let drawn = *self.last_of(&sequence.name);
        let (value, logged, called) = match drawn {
            None => (sequence.start, 0, false),
            Some(Drawn::Next(next)) => (next, 0, false),
            Some(Drawn::Last(last, logged)) => (last, logged, true),
        };
        Ok(match field {
            SequenceField::LastDrawn if !called => Value::Null,
            SequenceField::LastDrawn | SequenceField::LastValue => Value::Int(value),
            SequenceField::LogCount => Value::Int(logged.into()),
            SequenceField::IsCalled => Value::Bool(called),
        })
    }

    /// Locks a sequence as those do who draw from it: against its being altered, until the transaction ends.
    fn open_sequence(&mut self, name: &str) -> Result<(), Interrupt> {
        self.lock_sequence(name, TableLockMode::RowExclusive)
    }

    fn lock_sequence(&mut self, name: &str, mode: TableLockMode) -> Result<(), Interrupt> {
        Ok(self.locks().lock_heavy(LockKey::sequence(name), mode, false)?)
    }

    /// The session's locks, and everybody's.
    pub(crate) fn locks(&mut self) -> Locks<'_> {
        let SessionHost { db, me, session, rows, heavy, everything, .. } = self;
        Locks { db, me: *me, session, rows, heavy, everything }
    }

    /// The last value of a sequence: the transaction's own one, or everybody's.
    fn last_of(&mut self, name: &Arc<str>) -> &mut Option<Drawn> {
        let own = self.session.transaction.as_mut().map(|t| &mut t.definitions.sequences);
        match own.filter(|own| !own.is_empty()) {
            Some(own) => own.last_mut(&mut self.db.sequences, name),
            None => Arc::make_mut(&mut self.db.sequences).entry(name.clone()).or_default(),
        }
    }

    fn sequence(&self, args: &[Value]) -> Result<Arc<Sequence>, SqlError> {
        let name = args.first().map(Value::to_string).unwrap_or_default();
        let found = match (split_name(&name), self.session.search_path()) {
            ((None, bare), Some(path)) => self.catalog.sequence_in(&path, &bare),
            _ => self.catalog.sequence(&name).or_else(|| self.catalog.sequence_by_text(&name)),
        };
        found.cloned().ok_or_else(|| {
            let name = name.trim_start_matches("public.").trim_matches('"');
            SqlError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
        })
    }

    fn remember(&mut self, name: &Arc<str>, value: i64) {
        let drawn = Arc::make_mut(&mut self.session.drawn);
        drawn.retain(|(n, _)| n != name);
        drawn.push((name.clone(), value));
    }

    fn random(&mut self) -> u128 {
        self.session.randoms += 1;
        self.db.generators.random(self.me, self.session.randoms)
    }
}

/// The value behind the last one.
fn next_in(sequence: &Sequence, last: i64) -> Result<i64, SqlError> {
    let next = last.checked_add(sequence.increment);
    let up = sequence.increment > 0;
    match next.filter(|n| if up { *n <= sequence.max } else { *n >= sequence.min }) {
        Some(next) => Ok(next),
        None if sequence.cycle => Ok(if up { sequence.min } else { sequence.max }),
        None => {
            let (which, limit) = if up { ("maximum", sequence.max) } else { ("minimum", sequence.min) };
            let name = bare(&sequence.name);
            let message = format!("nextval: reached {which} value of sequence \"{name}\" ({limit})");
            Err(SqlError::new(SqlState::SEQUENCE_LIMIT, message))
        }
    }
}

/// A sequence's name without its schema.
fn bare(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, name)| name)
}

fn not_drawn(message: String) -> SqlError {
    SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}
