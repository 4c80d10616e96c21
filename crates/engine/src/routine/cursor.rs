//! Cursors and arrays in a routine: opening, fetching, closing, one element after another.

use std::sync::Arc;

use isolde_sql::ast::FetchDirection;
use isolde_sql::typed::{self, Place};
use isolde_sql::{Row, SqlError, SqlState, Type, Value, value};

use super::{RoutineFrame, Then};
use crate::cursor::{Cursor, Fetched, in_use};
use crate::exec::Produced;
use crate::machine::{Machine, Ran};
use crate::plan::Expr;
use crate::session::Frame;

/// Where FETCH and MOVE go, compiled; a count of `None` is all.
#[derive(Debug)]
pub(crate) enum Direction {
    Forward(Option<Expr>),
    Backward(Option<Expr>),
    Absolute(Expr),
    Relative(Expr),
}

impl Direction {
    pub(super) fn new(direction: &typed::Direction, mut compile: impl FnMut(&typed::Expr) -> Expr) -> Direction {
        match direction {
            typed::Direction::Forward(n) => Direction::Forward(n.as_ref().map(&mut compile)),
            typed::Direction::Backward(n) => Direction::Backward(n.as_ref().map(&mut compile)),
            typed::Direction::Absolute(n) => Direction::Absolute(compile(n)),
            typed::Direction::Relative(n) => Direction::Relative(compile(n)),
        }
    }
}

impl Machine<'_> {
    /// OPEN: a cursor variable that has a name must not be that of an open cursor.
    pub(super) fn check_open(&mut self, frame: &RoutineFrame, slot: usize) -> Result<(), SqlError> {
        match &frame.locals[slot] {
            Value::Text(name) if self.stack.cursors.iter().any(|c| c.name == *name) => Err(in_use(name, "in use")),
            _ => Ok(()),
        }
    }

    /// The query of OPEN has begun; its cursor gets a name if it has none.
    pub(super) fn opened(&mut self, slot: usize, scrolls: bool, held: bool, produced: Produced) {
        let portals = self.stack.portals + 1;
        let Some(Frame::Routine(frame)) = self.stack.frames.last_mut() else { return };
        let name: Arc<str> = match &frame.locals[slot] {
            Value::Text(name) => name.clone(),
            _ => format!("<unnamed portal {portals}>").into(),
        };
        if frame.locals[slot].is_null() {
            self.stack.portals = portals;
        }
        frame.locals[slot] = Value::Text(name.clone());
        let mut cursor = Cursor::new(name, produced, scrolls);
        cursor.held = held;
        self.add_cursor(cursor);
    }

    /// The name in a cursor variable.
    fn cursor_name(&self, frame: &RoutineFrame, slot: usize) -> Result<Arc<str>, SqlError> {
        match &frame.locals[slot] {
            Value::Text(name) => Ok(name.clone()),
            _ => {
                let message = format!("cursor variable \"{}\" is null", frame.code.variables[slot].name);
                Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message))
            }
        }
    }

    fn direction(&mut self, frame: &RoutineFrame, direction: &Direction) -> Result<FetchDirection, SqlError> {
        let mut count = |e: &Expr| match self.value(frame, e)? {
            Value::Int(n) => Ok(n),
            _ => {
                let message = "relative or absolute cursor position is null";
                Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message))
            }
        };
        Ok(match direction {
            Direction::Forward(n) => FetchDirection::Forward(n.as_ref().map_or(Ok(i64::MAX), &mut count)?),
            Direction::Backward(n) => FetchDirection::Backward(n.as_ref().map_or(Ok(i64::MAX), &mut count)?),
            Direction::Absolute(n) => FetchDirection::Absolute(count(n)?),
            Direction::Relative(n) => FetchDirection::Relative(count(n)?),
        })
    }

    /// FETCH and MOVE. Says how many rows must be taken from which cursor first, if some must.
    pub(super) fn fetch(
        &mut self,
        frame: &mut RoutineFrame,
        slot: usize,
        direction: &Direction,
        into: Option<&[Place]>,
    ) -> Result<Option<(Arc<str>, usize)>, SqlError> {
        let name = self.cursor_name(frame, slot)?;
        let direction = self.direction(frame, direction)?;
        let cursor = self.cursor_mut(&name)?;
        let columns = cursor.columns.clone();
        let rows = match cursor.fetch(direction)? {
            Fetched::Short(count) => return Ok(Some((name, count))),
            Fetched::Rows(rows) => rows,
        };
        frame.row_count = rows.len() as u64;
        frame.set_found(!rows.is_empty());
        if let Some(into) = into {
            frame.store(into, rows.first(), &columns)?;
        }
        Ok(None)
    }

    /// The next row of a loop over a cursor, or its end.
    pub(super) fn next_of_cursor(
        &mut self,
        frame: &mut RoutineFrame,
        slot: usize,
        into: &[Place],
        (iterated, end): (usize, usize),
    ) -> Result<Option<(Arc<str>, usize)>, SqlError> {
        let name = self.cursor_name(frame, slot)?;
        let cursor = self.cursor_mut(&name)?;
        let columns = cursor.columns.clone();
        match cursor.fetch(FetchDirection::Forward(1))? {
            Fetched::Short(count) => return Ok(Some((name, count))),
            Fetched::Rows(rows) => match rows.first() {
                Some(row) => {
                    frame.locals[iterated] = Value::Bool(true);
                    frame.store(into, Some(row), &columns)?;
                }
                None => frame.at = end,
            },
        }
        Ok(None)
    }

    /// Goes on with a cursor's statement; then the same instruction once more.
    pub(super) fn take_for_routine(&mut self, mut frame: Box<RoutineFrame>, name: Arc<str>, count: usize) -> Ran {
        frame.at -= 1;
        let rest = self.cursor_mut(&name).ok().and_then(|cursor| cursor.rest.take());
        frame.then = Some(Then::Fetched(name));
        self.stack.frames.push(Frame::Routine(frame));
        if let Some(mut rest) = rest {
            rest.fetch = Some(count);
            self.stack.frames.push(Frame::Statement(*rest));
        }
        Ran::On
    }

    pub(super) fn close(&mut self, frame: &RoutineFrame, slot: usize) -> Result<(), SqlError> {
        let name = self.cursor_name(frame, slot)?;
        self.close_cursor(&name)
    }
}

impl RoutineFrame {
    /// FOREACH: the next element or slice of an array, or the end of the loop.
    pub(super) fn next_element(
        &mut self,
        (array, index): (usize, usize),
        slice: usize,
        element: Type,
        into: &[Place],
        end: usize,
    ) -> Result<(), SqlError> {
        let Value::Array(value) = self.locals[array].clone() else {
            let message = "FOREACH expression must not be null";
            return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        };
        if slice > value.dims.len() {
            let message = format!("slice dimension ({slice}) is out of the valid range 0..{}", value.dims.len());
            return Err(SqlError::new(SqlState(*b"2202E"), message));
        }
        let Value::Int(at) = self.locals[index] else { return Ok(()) };
        let kept = &value.dims[value.dims.len() - slice..];
        let size: usize = kept.iter().map(|(length, _)| length).product();
        let start = at as usize * size;
        let Some(elements) = value.elements.get(start..start + size).filter(|e| !e.is_empty()) else {
            self.at = end;
            return Ok(());
        };
        self.locals[index] = Value::Int(at + 1);
        let item = match slice {
            0 => elements[0].clone(),
            _ => Value::Array(Arc::new(value::Array { dims: kept.to_vec(), elements: elements.to_vec() })),
        };
        self.store_element(item, if slice == 0 { element } else { element.array() }, into)
    }

    fn store_element(&mut self, item: Value, ty: Type, into: &[Place]) -> Result<(), SqlError> {
        if let [place] = into {
            let item = if place.ty.base() == ty.base() { item } else { value::cast(&item, ty, place.ty, false)? };
            return self.assign(place, item, None);
        }
        let fields: Row = if let Value::Record(fields) = item { fields } else { [item].into() };
        for (i, place) in into.iter().enumerate() {
            self.assign(place, fields.get(i).cloned().unwrap_or(Value::Null), None)?;
        }
        Ok(())
    }
}
