//! Running a routine's code between its statements.

use std::sync::Arc;

use isolde_sql::ast::plpgsql::RaiseLevel;
use isolde_sql::budget::spend;
use isolde_sql::error::About;
use isolde_sql::typed::{AboutField, FieldRef, OutputColumn, Place, RoutineReturns};
use isolde_sql::{Row, SqlError, SqlState, Type, Value, value};

use super::{Instruction, OpenTry, QueryLoop, RaiseCode, RaiseText, RoutineFrame, Shape, Then};
use crate::eval::{self, CallResult, Calls, Env, Interrupt};
use crate::exec::Produced;
use crate::machine::{Machine, Ran};
use crate::plan::Expr;
use crate::prepare::{Plan, Prepared};
use crate::session::{Frame, Notice, StatementFrame};
use crate::storage::Tables;
use crate::trigger;

/// What an instruction costs. A routine that computes on and on never comes to rest; after some million instructions
/// without a step that others could notice it is cut off. See [`isolde_sql::budget`].
const INSTRUCTION_COST: u64 = 30;
/// What a byte of a statement costs that is put together at run time: it is parsed, bound and planned.
const PARSE_COST: u64 = 10;

/// How many rows a loop fetches at first, and then, unless its routine could end the transaction: then it is one at a
/// time.
const FETCHED_FIRST: usize = 10;
const FETCHED_LATER: usize = 50;

impl Machine<'_> {
    /// Runs the routine at the top of the stack up to its next statement, or its end.
    pub(crate) fn run_routine(&mut self) -> Ran {
        let Some(Frame::Routine(mut frame)) = self.stack.frames.pop() else {
            unreachable!("a routine is at the top of the stack")
        };
        let code = frame.code.clone();
        loop {
            if let Err(cut) = spend(INSTRUCTION_COST) {
                self.stack.frames.push(Frame::Routine(frame));
                return self.fail(cut);
            }
            let instruction = &code.instructions[frame.at];
            frame.at += 1;
            let done = match instruction {
                Instruction::Run(prepared, _) if ends_transaction(prepared) && frame.fetching().is_some() => {
                    // What an open loop has yet to fetch, it fetches before the transaction ends.
                    let rows = frame.fetching().unwrap_or_default();
                    return self.fetch_more(frame, rows, usize::MAX);
                }
                Instruction::Run(prepared, then) => {
                    frame.then = Some(then.clone());
                    let params = frame.locals.as_slice().into();
                    let fetch = self.fetch_size(prepared, then, FETCHED_FIRST);
                    self.stack.frames.push(Frame::Routine(frame));
                    let statement = StatementFrame { fetch, ..StatementFrame::new(prepared.clone(), params) };
                    self.stack.frames.push(Frame::Statement(statement));
                    return Ran::On;
                }
                Instruction::NextRow { rows, .. } if frame.is_short_of(*rows) => {
                    let size = if self.is_atomic() { FETCHED_LATER } else { 1 };
                    return self.fetch_more(frame, *rows, size);
                }
                Instruction::Execute { text, using, then } => match self.dynamic(&mut frame, text, using, then) {
                    Ok((prepared, params)) => {
                        let fetch = self.fetch_size(&prepared, then, FETCHED_FIRST);
                        frame.then = Some(then.settled(&prepared));
                        self.stack.frames.push(Frame::Routine(frame));
                        let statement = StatementFrame { fetch, ..StatementFrame::new(prepared, params) };
                        self.stack.frames.push(Frame::Statement(statement));
                        return Ran::On;
                    }
                    Err(error) => Err(error),
                },
                Instruction::Fetch { cursor, direction, into } => {
                    match self.fetch(&mut frame, *cursor, direction, into.as_deref()) {
                        Ok(Some((name, count))) => return self.take_for_routine(frame, name, count),
                        done => done.map(drop),
                    }
                }
                Instruction::NextOfCursor { cursor, into, iterated, end } => {
                    match self.next_of_cursor(&mut frame, *cursor, into, (*iterated, *end)) {
                        Ok(Some((name, count))) => return self.take_for_routine(frame, name, count),
                        done => done.map(drop),
                    }
                }
                Instruction::Return(value) => match value.as_ref().map(|e| self.value(&frame, e)).transpose() {
                    Ok(value) => return self.leave_routine(frame, value),
                    Err(error) => Err(error),
                },
                local => self.local(&mut frame, local),
            };
            if let Err(error) = done {
                self.stack.frames.push(Frame::Routine(frame));
                return self.fail(error);
            }
        }
    }

    /// How many rows of a statement are fetched before others have their turn. Only locks make a difference: rows
    /// that are only read come from one snapshot.
    fn fetch_size(&self, prepared: &Prepared, then: &Then, atomic: usize) -> Option<usize> {
        let locks = matches!(&prepared.plan, Plan::Query(plan) if !plan.locking.is_empty());
        if matches!(then, Then::Open { .. }) {
            return locks.then_some(0);
        }
        let fetches = locks && matches!(then, Then::Rows(_)) && !self.session.options.autocommit;
        fetches.then(|| if self.is_atomic() { atomic } else { 1 })
    }

    /// Whether the routine cannot end the transaction it runs in.
    fn is_atomic(&self) -> bool {
        !self.called_only() || self.session.transaction.as_ref().is_some_and(|t| t.explicit)
    }

    /// Goes on with the statement of a loop; then the same instruction once more.
    fn fetch_more(&mut self, mut frame: Box<RoutineFrame>, rows: usize, size: usize) -> Ran {
        let Some(mut rest) = frame.loops[rows].as_mut().and_then(|open| open.rest.take()) else {
            unreachable!("the loop was just seen to have more")
        };
        rest.fetch = Some(size);
        frame.at -= 1;
        frame.then = Some(Then::More(rows));
        self.stack.frames.push(Frame::Routine(frame));
        self.stack.frames.push(Frame::Statement(*rest));
        Ran::On
    }

    fn local(&mut self, frame: &mut RoutineFrame, instruction: &Instruction) -> Result<(), SqlError> {
        match instruction {
            Instruction::Assign(place, e) => {
                let value = self.value(frame, e)?;
                frame.assign(place, value, None)
            }
            Instruction::Store(slot, e) => {
                frame.locals[*slot] = self.value(frame, e)?;
                Ok(())
            }
            Instruction::Jump(target) => {
                frame.at = *target;
                Ok(())
            }
            Instruction::JumpUnless(condition, target) => {
                if !matches!(self.value(frame, condition)?, Value::Bool(true)) {
                    frame.at = *target;
                }
                Ok(())
            }
            Instruction::NextRow { rows, into, end } => frame.next_row(*rows, into, *end),
            Instruction::CloseLoop { rows } => {
                let had_rows = frame.loops[*rows].take().is_some_and(|l| l.any);
                frame.set_found(had_rows);
                Ok(())
            }
            Instruction::SetFound(slot) => {
                frame.set_found(frame.locals[*slot] == Value::Bool(true));
                Ok(())
            }
            Instruction::Try(handlers, slots) => {
                // In autocommit there is nothing to roll back to: every statement stands for itself, unless there is a
                // BEGIN.
                let savepoint = match &mut self.session.transaction {
                    Some(t) if t.explicit || !self.session.options.autocommit => {
                        t.save(None);
                        Some(t.savepoints.len() - 1)
                    }
                    _ => None,
                };
                frame.tries.push(OpenTry { handlers: handlers.clone(), slots: *slots, savepoint });
                Ok(())
            }
            Instruction::EndTry => {
                self.end_try(frame);
                Ok(())
            }
            Instruction::EndHandler => {
                frame.caught.pop();
                Ok(())
            }
            Instruction::ReturnNext(exprs) => {
                let row: Vec<Value> = exprs.iter().map(|e| self.value(frame, e)).collect::<Result<_, _>>()?;
                let row = match row.as_slice() {
                    [Value::Record(fields)] if frame.returns_columns() != 1 => fields.clone(),
                    _ => row.into(),
                };
                frame.returned.push(row);
                Ok(())
            }
            Instruction::Raise(raise) => self.raise(frame, raise),
            Instruction::Assert(condition, message) => {
                if matches!(self.value(frame, condition)?, Value::Bool(true)) {
                    return Ok(());
                }
                let message = match message.as_ref().map(|m| self.value(frame, m)).transpose()? {
                    Some(message) if !message.is_null() => message.to_string(),
                    _ => "assertion failed".into(),
                };
                Err(SqlError::new(SqlState::ASSERT_FAILURE, message))
            }
            Instruction::RowCount(place) => frame.assign(place, Value::Int(frame.row_count as i64), None),
            Instruction::StackedDiagnostics(items) => frame.stacked_diagnostics(items),
            Instruction::CaseNotFound => {
                Err(SqlError::new(SqlState::CASE_NOT_FOUND, "case not found")
                    .hint("CASE statement is missing ELSE part."))
            }
            Instruction::CheckRange { from, to, by } => frame.check_range(*from, *to, *by),
            Instruction::CheckOpen(cursor) => self.check_open(frame, *cursor),
            Instruction::CloseCursor(cursor) => self.close(frame, *cursor),
            Instruction::NextElement { array, index, slice, element, into, end } => {
                frame.next_element((*array, *index), *slice, *element, into, *end)
            }
            Instruction::Fail(error) => Err(error.clone()),
            Instruction::SetShape(slot, shape) => {
                frame.shapes[*slot] = shape.clone();
                Ok(())
            }
            Instruction::CopyShape(slot, other) => {
                frame.shapes[*slot] = frame.shapes[*other].clone();
                Ok(())
            }
            Instruction::Run(..)
            | Instruction::Execute { .. }
            | Instruction::Return(_)
            | Instruction::Fetch { .. }
            | Instruction::NextOfCursor { .. } => unreachable!("not a local instruction"),
        }
    }

    /// The value of a local expression.
    pub(super) fn value(&mut self, frame: &RoutineFrame, e: &Expr) -> Result<Value, SqlError> {
        let mut calls = Calls::default();
        let result = self
            .exec_for(frame)
            .with_context(Tables::none(), &frame.locals, &mut calls, |ctx| eval::eval(ctx, &Env::EMPTY, e));
        result.map_err(|interrupt| match interrupt {
            Interrupt::Error(error) => error,
            Interrupt::Call(..) | Interrupt::Lock(_) | Interrupt::Wait(_) | Interrupt::With(..) => {
                unreachable!("a local expression calls no routine, reads no table and takes no lock")
            }
        })
    }

    fn end_try(&mut self, frame: &mut RoutineFrame) {
        if let Some(OpenTry { savepoint: Some(depth), .. }) = frame.tries.pop()
            && let Some(t) = &mut self.session.transaction
        {
            t.release(depth);
            self.release_cursors(depth);
        }
    }

    /// Binds a text made at run time.
    fn dynamic(
        &mut self,
        frame: &mut RoutineFrame,
        text: &Expr,
        using: &[(Expr, Type)],
        then: &Then,
    ) -> Result<(Arc<Prepared>, Arc<[Value]>), SqlError> {
        let text = match self.value(frame, text)? {
            Value::Null => {
                let message = "query string argument of EXECUTE is null";
                return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
            }
            text => text.to_string(),
        };
        let params: Vec<Value> = using.iter().map(|(e, _)| self.value(frame, e)).collect::<Result<_, _>>()?;
        let types: Vec<Type> = using.iter().map(|(_, ty)| *ty).collect();
        spend(text.len() as u64 * PARSE_COST)?;
        let fragment = isolde_sql::parse::Fragment { text: &text, offset: 0 };
        let statement = isolde_sql::parse::statement(fragment)?;
        let prepared = Prepared::new(self.catalog(), &statement, &text, &types)?;
        let prepared = match then {
            Then::Open { .. } => Prepared::cursor(self.catalog(), prepared.statement),
            _ => prepared,
        };
        Ok((Arc::new(prepared), params.into()))
    }

    /// RAISE: an error, or a message to the client.
    fn raise(&mut self, frame: &RoutineFrame, raise: &RaiseCode) -> Result<(), SqlError> {
        let message = match &raise.message {
            RaiseText::Again => {
                return Err(frame.caught.last().cloned().unwrap_or_else(|| {
                    let message = "RAISE without parameters cannot be used outside an exception handler";
                    SqlError::new(SqlState::parse("0Z002").unwrap_or(SqlState::INTERNAL_ERROR), message)
                }));
            }
            RaiseText::Expr(e) => self.value(frame, e)?.to_string(),
            RaiseText::Format(format, args) => {
                let args: Vec<Value> = args.iter().map(|a| self.value(frame, a)).collect::<Result<_, _>>()?;
                fill(format, &args)
            }
        };
        let mut option = |e: &Option<Expr>| e.as_ref().map(|e| self.value(frame, e)).transpose();
        let (detail, hint, code) = (option(&raise.detail)?, option(&raise.hint)?, option(&raise.code)?);
        if raise.level != RaiseLevel::Exception {
            self.notices.push(Notice { level: raise.level, message: message.into() });
            return Ok(());
        }
        let mut constraint: Option<Arc<str>> = None;
        let named = code.map(|c| c.to_string());
        let named = named.and_then(|c| SqlState::parse(&c).or_else(|| SqlState::by_condition(&c)));
        let mut about = About::default();
        for (what, e) in &raise.about {
            let value = Some(self.value(frame, e)?.to_string().into());
            match what {
                AboutField::Table => about.table = value,
                AboutField::Column => about.column = value,
                AboutField::Schema => about.schema = value,
                AboutField::Datatype => about.datatype = value,
                AboutField::Constraint => constraint = value,
            }
        }
        let mut error = SqlError::new(named.unwrap_or(raise.state), message).about(about);
        if let Some(constraint) = constraint {
            error = error.constraint(constraint);
        }
        if let Some(detail) = detail {
            error = error.detail(detail.to_string());
        }
        if let Some(hint) = hint {
            error = error.hint(hint.to_string());
        }
        Err(error)
    }

    /// RETURN: the result goes to the caller.
    fn leave_routine(&mut self, mut frame: Box<RoutineFrame>, value: Option<Value>) -> Ran {
        while frame.is_trying() {
            self.end_try(&mut frame);
        }
        let code = frame.code.clone();
        let mut outs = Produced::nothing("CALL");
        let result = match &code.returns {
            RoutineReturns::Void => CallResult::Value(value.unwrap_or(Value::Null)),
            RoutineReturns::Value(_) if value.is_none() => {
                self.stack.frames.push(Frame::Routine(frame));
                let message = "control reached end of function without RETURN";
                return self.fail(SqlError::new(SqlState::parse("2F005").unwrap_or(SqlState::INTERNAL_ERROR), message));
            }
            RoutineReturns::Value(_) => CallResult::Value(value.unwrap_or(Value::Null)),
            RoutineReturns::Outs(slots) => {
                let row: Row = slots.iter().map(|&s| frame.locals[s].clone()).collect();
                let columns = slots.iter().map(|&s| &code.variables[s]);
                outs.columns = columns.map(|v| OutputColumn { name: v.name.clone(), ty: v.ty, origin: None }).collect();
                outs.rows.push(row.clone());
                CallResult::Value(if let [single] = &*row { single.clone() } else { Value::Record(row) })
            }
            RoutineReturns::Trigger(width) => match trigger::result(value, *width) {
                Ok(row) => CallResult::Value(row),
                Err(error) => {
                    self.stack.frames.push(Frame::Routine(frame));
                    return self.fail(error);
                }
            },
            RoutineReturns::Set(_) => CallResult::Rows(std::mem::take(&mut frame.returned)),
        };
        self.stack.frames.push(Frame::Routine(frame));
        self.returned(result, outs)
    }

    /// The statement that the routine at the top of the stack ran is done.
    pub(crate) fn take_result(&mut self, produced: Produced) -> Result<(), SqlError> {
        let Some(Frame::Routine(frame)) = self.stack.frames.last_mut() else {
            unreachable!("the routine that ran the statement is at the top")
        };
        match frame.then.take() {
            Some(Then::Open { cursor, scroll, held }) => {
                self.opened(cursor, scroll.unwrap_or_default(), held, produced);
                return Ok(());
            }
            Some(Then::Fetched(name)) => {
                if let Ok(cursor) = self.cursor_mut(&name) {
                    cursor.extend(produced);
                }
                return Ok(());
            }
            then => frame.then = then,
        }
        // A loop over a query counts for nothing, nor does CALL.
        let counts = !matches!(frame.then, Some(Then::Slot { counts: false, .. } | Then::Rows(_) | Then::More(_)));
        if counts && produced.verb != "CALL" {
            frame.row_count = produced.count;
        }
        let found = produced.count > 0;
        match frame.then.take() {
            None | Some(Then::Nothing) => {}
            Some(Then::Found) => frame.set_found(found),
            Some(Then::Slot { slot, .. }) => {
                frame.locals[slot] = produced.rows.first().and_then(|r| r.first()).cloned().unwrap_or(Value::Null);
            }
            Some(Then::Rows(rows)) => {
                let columns = produced.columns;
                let any = !produced.rows.is_empty();
                let (rows_now, rest) = (produced.rows.into(), produced.rest);
                frame.loops[rows] = Some(QueryLoop { columns, rows: rows_now, next: 0, any, rest });
            }
            Some(Then::More(rows)) => {
                if let Some(open) = &mut frame.loops[rows] {
                    open.rows = open.rows[open.next..].iter().cloned().chain(produced.rows).collect();
                    (open.next, open.rest) = (0, produced.rest);
                }
            }
            Some(Then::Open { .. } | Then::Fetched(_)) => unreachable!("cursors were seen to above"),
            Some(Then::ReturnChecked) => {
                frame.check_returned(&produced.columns)?;
                frame.returned.extend(produced.rows);
                frame.set_found(found);
            }
            Some(Then::Return) => {
                frame.returned.extend(produced.rows);
                frame.set_found(found);
            }
            Some(Then::Into { into, sets_found }) => {
                if sets_found {
                    frame.set_found(!produced.rows.is_empty());
                }
                if into.strict && produced.rows.is_empty() {
                    return Err(SqlError::new(SqlState::NO_DATA_FOUND, "query returned no rows"));
                }
                let modifies = produced.verb != "SELECT";
                if (into.strict || modifies) && produced.rows.len() > 1 {
                    return Err(SqlError::new(SqlState::TOO_MANY_ROWS, "query returned more than one row")
                        .hint("Make sure the query returns a single row, or use LIMIT 1."));
                }
                let row = produced.rows.into_iter().next();
                frame.store(&into.places, row.as_ref(), &produced.columns)?;
            }
        }
        Ok(())
    }
}

impl RoutineFrame {
    /// The innermost loop that it is in, in words: `WHILE true LOOP in function f`.
    pub(crate) fn looping(&self) -> Option<String> {
        let inside = self.code.loop_places.iter().filter(|(place, _)| place.contains(&self.at));
        let (_, headline) = inside.min_by_key(|(place, _)| place.len())?;
        let routine = match self.code.routine {
            Some(_) => format!("routine {}", self.code.name),
            None => "DO".to_string(),
        };
        Some(format!("{headline} in {routine}"))
    }

    /// Whether a loop has come to the end of what it has fetched, and there may be more.
    fn is_short_of(&self, rows: usize) -> bool {
        self.loops[rows].as_ref().is_some_and(|open| open.next >= open.rows.len() && open.rest.is_some())
    }

    /// A loop that has more to fetch.
    fn fetching(&self) -> Option<usize> {
        self.loops.iter().position(|open| open.as_ref().is_some_and(|open| open.rest.is_some()))
    }

    /// RETURN QUERY EXECUTE: the columns must be those that were declared.
    fn check_returned(&self, given: &[OutputColumn]) -> Result<(), SqlError> {
        let RoutineReturns::Set(wanted) = &self.code.returns else { return Ok(()) };
        if wanted.is_empty() {
            return Ok(());
        }
        let same = given.len() == wanted.len() && given.iter().zip(wanted).all(|(g, w)| g.ty.base() == w.ty.base());
        match same {
            true => Ok(()),
            false => {
                let message = "structure of query does not match function result type";
                Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message))
            }
        }
    }

    pub(super) fn set_found(&mut self, found: bool) {
        let slot = self.code.found;
        if let Some(local) = self.locals.get_mut(slot) {
            *local = Value::Bool(found);
        }
    }

    fn returns_columns(&self) -> usize {
        if let RoutineReturns::Set(columns) = &self.code.returns { columns.len() } else { 1 }
    }

    /// Stores a row into places: whole into one record, else column by column; no row is all NULLs.
    pub(super) fn store(
        &mut self,
        places: &[Place],
        row: Option<&Row>,
        columns: &Arc<[OutputColumn]>,
    ) -> Result<(), SqlError> {
        if let [place] = places
            && place.ty == Type::Record
            && place.field.is_none()
        {
            let value = row.map_or(Value::Null, |row| Value::Record(row.clone()));
            return self.assign(place, value, Some(columns.clone()));
        }
        for (i, place) in places.iter().enumerate() {
            let value = row.and_then(|row| row.get(i)).cloned().unwrap_or(Value::Null);
            let value = match columns.get(i) {
                Some(column) if column.ty.base() != place.ty.base() => value::cast(&value, column.ty, place.ty, false)?,
                _ => value,
            };
            self.assign(place, value, None)?;
        }
        Ok(())
    }

    pub(super) fn assign(&mut self, place: &Place, value: Value, shape: Shape) -> Result<(), SqlError> {
        let variable = &self.code.variables[place.slot];
        let Some(field) = &place.field else {
            if variable.not_null && value.is_null() {
                let message =
                    format!("null value cannot be assigned to variable \"{}\" declared NOT NULL", variable.name);
                return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
            }
            if shape.is_some() {
                self.shapes[place.slot] = shape;
            }
            self.locals[place.slot] = value;
            return Ok(());
        };
        let at = match field {
            FieldRef::At(at) => *at,
            FieldRef::Named(name) => field_of(&self.shapes[place.slot], name, &variable.name)?,
        };
        let width = variable.fields.as_ref().map_or(at + 1, |f| f.len());
        let mut fields = match &self.locals[place.slot] {
            Value::Record(row) => row.to_vec(),
            _ => vec![Value::Null; width],
        };
        if at < fields.len() {
            fields[at] = value;
        }
        self.locals[place.slot] = Value::Record(fields.into());
        Ok(())
    }

    fn next_row(&mut self, rows: usize, into: &[Place], end: usize) -> Result<(), SqlError> {
        let Some(open) = &mut self.loops[rows] else { unreachable!("the loop's query has run") };
        let columns = open.columns.clone();
        match open.rows.get(open.next).cloned() {
            Some(row) => {
                open.next += 1;
                self.store(into, Some(&row), &columns)
            }
            None => {
                self.at = end;
                let nothing_came = !open.any;
                if nothing_came { self.store(into, None, &columns) } else { Ok(()) }
            }
        }
    }

    fn check_range(&self, from: usize, to: usize, by: usize) -> Result<(), SqlError> {
        for (slot, what) in [(from, "lower bound"), (to, "upper bound"), (by, "BY value")] {
            if self.locals[slot].is_null() {
                let message = format!("{what} of FOR loop cannot be null");
                return Err(SqlError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
            }
        }
        match self.locals[by] {
            Value::Int(step) if step <= 0 => {
                Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, "BY value of FOR loop must be greater than zero"))
            }
            _ => Ok(()),
        }
    }

    fn stacked_diagnostics(&mut self, items: &[(Place, Arc<str>)]) -> Result<(), SqlError> {
        let Some(error) = self.caught.last().cloned() else {
            let message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
            return Err(SqlError::new(SqlState::parse("0Z002").unwrap_or(SqlState::INTERNAL_ERROR), message));
        };
        for (place, item) in items {
            let text = match &**item {
                "RETURNED_SQLSTATE" => Some(error.state.code()),
                "MESSAGE_TEXT" => Some(&*error.message),
                "PG_EXCEPTION_DETAIL" => error.detail.as_deref(),
                "PG_EXCEPTION_HINT" => error.hint.as_deref(),
                "CONSTRAINT_NAME" => error.constraint.as_deref(),
                "TABLE_NAME" => error.about.table.as_deref(),
                "COLUMN_NAME" => error.about.column.as_deref(),
                "SCHEMA_NAME" => error.about.schema.as_deref(),
                "PG_DATATYPE_NAME" => error.about.datatype.as_deref(),
                _ => None,
            };
            self.assign(place, Value::text(text.unwrap_or("")), None)?;
        }
        Ok(())
    }
}

fn ends_transaction(prepared: &Prepared) -> bool {
    use isolde_sql::typed::{StatementKind, Transaction};
    matches!(
        prepared.statement.kind,
        StatementKind::Transaction(Transaction::Commit { .. } | Transaction::Rollback { .. })
    )
}

/// The position of a field in a record of this shape.
pub(crate) fn field_of(shape: &Shape, field: &str, variable: &str) -> Result<usize, SqlError> {
    let Some(columns) = shape else {
        let message = format!("record \"{variable}\" is not assigned yet");
        return Err(SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
            .detail("The tuple structure of a not-yet-assigned record is indeterminate."));
    };
    columns.iter().position(|c| &*c.name == field).ok_or_else(|| {
        let message = format!("record \"{variable}\" has no field \"{field}\"");
        SqlError::new(SqlState::UNDEFINED_COLUMN, message)
    })
}

/// Puts the arguments in place of `%`; `%%` is a percent sign.
fn fill(format: &str, args: &[Value]) -> String {
    let mut args = args.iter();
    let mut out = String::with_capacity(format.len());
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '%' if chars.peek() == Some(&'%') => {
                chars.next();
                out.push('%');
            }
            '%' => match args.next() {
                Some(Value::Null) => out.push_str("<NULL>"),
                Some(value) => out.push_str(&value.to_string()),
                None => out.push('%'),
            },
            c => out.push(c),
        }
    }
    out
}
