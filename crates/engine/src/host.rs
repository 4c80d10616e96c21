//! Functions that need a session: sequences, time, pretended chance.
//!
//! Sequences are shared by all, never rolled back, and outside every snapshot. Time stands still: `now()` and its kin are the
//! same in every run, because a schedule must give the same result whenever it is replayed. Random values are a fixed
//! function of the session and of how many it has drawn.

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_sql::builtin::SessionFunction;
use isolde_sql::catalog::{Catalog, Sequence};
use isolde_sql::{SqlError, SqlState, Value};

use crate::eval::Host;
use crate::routine::{Shape, field_of};
use crate::session::{Frame, Session, SessionId};

/// The moment at which everything happens: 2025-01-01 00:00:00 UTC, in microseconds since 2000.
const NOW: i64 = 9_132 * 24 * 60 * 60 * 1_000_000;

/// The state of all sequences: the last value given out, if any was.
pub(crate) type Sequences = Arc<BTreeMap<Arc<str>, Option<i64>>>;

/// A session's side of [`Host`].
pub(crate) struct SessionHost<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) sequences: &'a mut Sequences,
    pub(crate) session: &'a mut Session,
    pub(crate) me: SessionId,
    /// The records of the routine that is being evaluated; `None` for a statement, whose routine is on the stack.
    pub(crate) shapes: Option<&'a [Shape]>,
    /// Draws of this step, for the footprint.
    pub(crate) drawn: &'a mut Vec<(Arc<str>, i64)>,
}

impl Host for SessionHost<'_> {
    fn session_function(&mut self, function: SessionFunction, args: &[Value]) -> Result<Value, SqlError> {
        match function {
            SessionFunction::TransactionTimestamp
            | SessionFunction::StatementTimestamp
            | SessionFunction::ClockTimestamp => Ok(Value::Timestamptz(NOW)),
            SessionFunction::NextVal => self.next_value(args),
            SessionFunction::CurrVal => self.current_value(args),
            SessionFunction::SetVal => self.set_value(args),
            SessionFunction::LastVal => match self.session.drawn.last() {
                Some((_, value)) => Ok(Value::Int(*value)),
                None => Err(not_drawn("lastval is not yet defined in this session".into())),
            },
            SessionFunction::Random => Ok(Value::Float((self.random() >> 75) as f64 / (1u64 << 53) as f64)),
            SessionFunction::GenRandomUuid => {
                let bits = self.random() & !(0xf << 76) & !(0x3 << 62);
                Ok(Value::Uuid(bits | (0x4 << 76) | (0x2 << 62)))
            }
            SessionFunction::PgSleep => Ok(Value::text("")),
            SessionFunction::CurrentUser => Ok(Value::text("isolde")),
            SessionFunction::CurrentSetting => Ok(Value::text("")),
            SessionFunction::TxidCurrent | SessionFunction::BackendPid => Ok(Value::Int(self.me.0 as i64 + 1)),
        }
    }

    fn field(&mut self, slot: usize, name: &str) -> Result<usize, SqlError> {
        let on_stack = self.session.frames.iter().rev().find_map(|f| match f {
            Frame::Routine(routine) => Some(routine.shapes.as_slice()),
            Frame::Statement(_) => None,
        });
        let shapes = self.shapes.or(on_stack).unwrap_or_default();
        field_of(shapes.get(slot).unwrap_or(&None), name, "")
    }
}

impl SessionHost<'_> {
    fn next_value(&mut self, args: &[Value]) -> Result<Value, SqlError> {
        let sequence = self.sequence(args)?;
        let state = Arc::make_mut(self.sequences).entry(sequence.name.clone()).or_default();
        let value = match *state {
            None => sequence.start,
            Some(last) => last.checked_add(sequence.increment).filter(|v| *v <= sequence.max).ok_or_else(|| {
                let message =
                    format!("nextval: reached maximum value of sequence \"{}\" ({})", sequence.name, sequence.max);
                SqlError::new(SqlState::SEQUENCE_LIMIT, message)
            })?,
        };
        *state = Some(value);
        self.remember(&sequence.name, value);
        self.drawn.push((sequence.name.clone(), value));
        Ok(Value::Int(value))
    }

    fn current_value(&mut self, args: &[Value]) -> Result<Value, SqlError> {
        let name = &self.sequence(args)?.name;
        match self.session.drawn.iter().find(|(n, _)| n == name) {
            Some((_, value)) => Ok(Value::Int(*value)),
            None => Err(not_drawn(format!("currval of sequence \"{name}\" is not yet defined in this session"))),
        }
    }

    /// `setval(name, value [, is_called])`
    fn set_value(&mut self, args: &[Value]) -> Result<Value, SqlError> {
        let sequence = self.sequence(args)?;
        let Some(Value::Int(value)) = args.get(1) else { return Ok(Value::Null) };
        let called = !matches!(args.get(2), Some(Value::Bool(false)));
        let last = if called { Some(*value) } else { value.checked_sub(sequence.increment) };
        Arc::make_mut(self.sequences).insert(sequence.name.clone(), last);
        self.remember(&sequence.name, *value);
        self.drawn.push((sequence.name.clone(), *value));
        Ok(Value::Int(*value))
    }

    fn sequence(&self, args: &[Value]) -> Result<Arc<Sequence>, SqlError> {
        let name = args.first().map(Value::to_string).unwrap_or_default();
        let name = name.trim_start_matches("public.").trim_matches('"');
        self.catalog
            .sequence(name)
            .cloned()
            .ok_or_else(|| SqlError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist")))
    }

    fn remember(&mut self, name: &Arc<str>, value: i64) {
        let drawn = Arc::make_mut(&mut self.session.drawn);
        drawn.retain(|(n, _)| n != name);
        drawn.push((name.clone(), value));
    }

    fn random(&mut self) -> u128 {
        self.session.randoms += 1;
        isolde_digest::tagged(0x72, (self.me, self.session.randoms))
    }
}

fn not_drawn(message: String) -> SqlError {
    SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}
