//! Cursors: queries whose rows are taken a few at a time.
//!
//! A cursor has its snapshot from the moment it is opened, so where it does not lock rows all its rows are known at
//! once; only where the cursor stands among them changes. One that locks (FOR UPDATE) keeps its statement, stopped, and
//! goes on with it whenever a row is wanted that has not been locked yet.
//!
//! A cursor lives as long as its transaction, or the subtransaction that opened it if that is rolled back; WITH HOLD
//! outlives a commit.

use std::sync::Arc;

use isolde_sql::ast::FetchDirection;
use isolde_sql::typed::{CursorCommand, OutputColumn, QueryBody, StatementKind};
use isolde_sql::{Row, SqlError, SqlState};

use crate::exec::Produced;
use crate::lock::RowRef;
use crate::machine::{Machine, Ran};
use crate::prepare::{Plan, Prepared};
use crate::session::{Frame, StatementFrame};

/// An open cursor.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    pub(crate) name: Arc<str>,
    pub(crate) columns: Arc<[OutputColumn]>,
    /// The rows known so far.
    pub(crate) rows: Vec<Row>,
    /// Where each of them comes from, for WHERE CURRENT OF.
    pub(crate) sources: Vec<Vec<RowRef>>,
    /// The row it stands on, counted from 1; 0 is before the first, one more than there are is behind the last.
    pub(crate) at: usize,
    /// Where further rows come from.
    pub(crate) rest: Option<Box<StatementFrame>>,
    /// It may go back.
    pub(crate) scrolls: bool,
    /// WITH HOLD, or of a loop: a commit leaves it alone.
    pub(crate) held: bool,
    /// How many savepoints there were when it was opened.
    pub(crate) depth: usize,
}

/// What FETCH finds.
pub(crate) enum Fetched {
    /// These rows.
    Rows(Vec<Row>),
    /// So many more rows must be taken first.
    Short(usize),
}

impl Cursor {
    /// A cursor on what a statement has produced so far.
    pub(crate) fn new(name: Arc<str>, produced: Produced, scrolls: bool) -> Self {
        Cursor {
            name,
            columns: produced.columns,
            rows: produced.rows,
            sources: produced.sources,
            at: 0,
            rest: produced.rest,
            scrolls,
            held: false,
            depth: 0,
        }
    }

    /// More rows have come.
    pub(crate) fn extend(&mut self, produced: Produced) {
        self.rows.extend(produced.rows);
        self.sources.extend(produced.sources);
        self.rest = produced.rest;
    }

    /// Moves, and says what it passed.
    pub(crate) fn fetch(&mut self, direction: FetchDirection) -> Result<Fetched, SqlError> {
        let known = self.rows.len();
        let all = i64::MAX;
        let clamp = |n: i64| usize::try_from(n.max(0)).unwrap_or(usize::MAX);
        // Where it goes to, and whether it shows all that it passes or only where it ends.
        let (to, passes) = match direction {
            FetchDirection::Forward(0) | FetchDirection::Backward(0) | FetchDirection::Relative(0) => {
                let here = self.at.checked_sub(1).and_then(|i| self.rows.get(i)).cloned();
                return Ok(Fetched::Rows(here.into_iter().collect()));
            }
            FetchDirection::Forward(n) if n == all => (usize::MAX, true),
            FetchDirection::Forward(n) if n > 0 => (self.at.saturating_add(clamp(n)), true),
            FetchDirection::Forward(n) => return self.fetch(FetchDirection::Backward(n.saturating_neg())),
            FetchDirection::Backward(n) if n < 0 => return self.fetch(FetchDirection::Forward(n.saturating_neg())),
            FetchDirection::Backward(n) => return self.fetch_back(clamp(n)),
            FetchDirection::Absolute(n) if n >= 0 => (clamp(n), false),
            FetchDirection::Absolute(n) => {
                if self.rest.is_some() {
                    return Ok(Fetched::Short(usize::MAX));
                }
                ((known + 1).saturating_sub(clamp(-n)), false)
            }
            FetchDirection::Relative(n) if n > 0 => (self.at.saturating_add(clamp(n)), false),
            FetchDirection::Relative(n) => (self.at.saturating_sub(clamp(-n)), false),
        };
        if to > known && self.rest.is_some() {
            return Ok(Fetched::Short(to - known));
        }
        if to < self.at {
            self.must_scroll()?;
        }
        let from = self.at;
        self.at = to.min(known + 1);
        Ok(Fetched::Rows(match passes {
            true => self.rows.get(from.min(known)..to.min(known)).unwrap_or_default().to_vec(),
            false => self.at.checked_sub(1).and_then(|i| self.rows.get(i)).cloned().into_iter().collect(),
        }))
    }

    fn fetch_back(&mut self, count: usize) -> Result<Fetched, SqlError> {
        self.must_scroll()?;
        let from = self.at.saturating_sub(count);
        let passed = self.rows.get(from.saturating_sub(1)..self.at.saturating_sub(1)).unwrap_or_default();
        let mut rows: Vec<Row> =
            if from == 0 && self.at > 0 { self.rows[..self.at - 1].to_vec() } else { passed.to_vec() };
        rows.reverse();
        self.at = from;
        Ok(Fetched::Rows(rows))
    }

    fn must_scroll(&self) -> Result<(), SqlError> {
        match self.scrolls {
            true => Ok(()),
            false => Err(SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
                .hint("Declare it with SCROLL option to enable backward scan.")),
        }
    }
}

/// Whether a cursor that says nothing about it may go back: PostgreSQL allows it where its plan can, roughly where it
/// reads one table and locks nothing.
pub(crate) fn goes_back(prepared: &Prepared) -> bool {
    let StatementKind::Query(query) = &prepared.statement.kind else { return false };
    let QueryBody::Select(select) = &query.body else { return matches!(query.body, QueryBody::Values(_)) };
    let plain = select.grouping.is_none() && !select.distinct;
    query.locking.is_empty() && plain && (select.rels.len() == 1 || !query.order_by.is_empty())
}

impl Machine<'_> {
    /// The open cursor of a name.
    pub(crate) fn cursor_mut(&mut self, name: &str) -> Result<&mut Cursor, SqlError> {
        let found = self.stack.cursors.iter_mut().find(|c| &*c.name == name);
        found.ok_or_else(|| no_cursor(name))
    }

    /// Adds an open cursor.
    pub(crate) fn add_cursor(&mut self, mut cursor: Cursor) {
        cursor.depth = self.session.transaction.as_ref().map_or(0, |t| t.savepoints.len());
        self.stack.cursors.push(cursor);
    }

    /// Closes a cursor.
    pub(crate) fn close_cursor(&mut self, name: &str) -> Result<(), SqlError> {
        let before = self.stack.cursors.len();
        self.stack.cursors.retain(|c| &*c.name != name);
        if self.stack.cursors.len() == before { Err(no_cursor(name)) } else { Ok(()) }
    }

    /// A transaction ends: what a commit does not hold is closed.
    pub(crate) fn end_cursors(&mut self, committed: bool) {
        if !self.stack.cursors.is_empty() && !self.session.options.autocommit {
            self.stack.cursors.retain(|c| c.held && (committed || c.depth == usize::MAX));
            self.stack.cursors.iter_mut().for_each(|c| c.depth = usize::MAX);
        }
    }

    /// A savepoint is rolled back to: what was opened since is closed.
    pub(crate) fn rollback_cursors(&mut self, depth: usize) {
        self.stack.cursors.retain(|c| c.depth <= depth || c.depth == usize::MAX);
    }

    /// A savepoint is forgotten: what was opened since belongs to what is around it.
    pub(crate) fn release_cursors(&mut self, depth: usize) {
        let opened_since = self.stack.cursors.iter_mut().filter(|c| c.depth > depth && c.depth != usize::MAX);
        opened_since.for_each(|c| c.depth = depth);
    }

    /// DECLARE, FETCH, MOVE and CLOSE of a client.
    pub(crate) fn run_cursor(&mut self, prepared: &Arc<Prepared>, command: &CursorCommand) -> Ran {
        match command {
            CursorCommand::Declare { name, query, scroll, hold } => {
                let explicit = self.session.transaction.as_ref().is_some_and(|t| t.explicit);
                if !explicit && !hold && self.stack.frames.len() == 1 {
                    let message = "DECLARE CURSOR can only be used in transaction blocks";
                    return self.fail(SqlError::new(SqlState::NO_ACTIVE_TRANSACTION, message));
                }
                if self.stack.cursors.iter().any(|c| c.name == *name) {
                    return self.fail(in_use(name, "exists"));
                }
                let Plan::Cursor(inner) = &prepared.plan else { unreachable!("DECLARE has a query") };
                let locks = matches!(&query.kind, StatementKind::Query(q) if !q.locking.is_empty());
                if locks && *hold {
                    let message = "DECLARE CURSOR WITH HOLD ... FOR UPDATE is not supported";
                    return self.fail(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                if locks && *scroll == Some(true) {
                    let message = "DECLARE SCROLL CURSOR ... FOR UPDATE is not supported";
                    return self.fail(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                let fetch = locks.then_some(0);
                let params = Arc::default();
                self.stack
                    .frames
                    .push(Frame::Statement(StatementFrame { fetch, ..StatementFrame::new(inner.clone(), params) }));
                self.run_statement_frame()
            }
            CursorCommand::Fetch { cursor, direction, moves } => self.fetch_rows(cursor, *direction, *moves),
            CursorCommand::Close(name) => {
                let closed = match name {
                    Some(name) => self.close_cursor(name).map(|()| "CLOSE CURSOR"),
                    None => {
                        self.stack.cursors.clear();
                        Ok("CLOSE CURSOR ALL")
                    }
                };
                self.statement_done(|_| closed)
            }
        }
    }

    /// FETCH or MOVE: the rows that are known, or those that are missing first.
    fn fetch_rows(&mut self, name: &Arc<str>, direction: FetchDirection, moves: bool) -> Ran {
        let fetched = match self.cursor_mut(name) {
            Ok(cursor) => cursor.fetch(direction).map(|fetched| (fetched, cursor.columns.clone())),
            Err(error) => Err(error),
        };
        match fetched {
            Err(error) => self.fail(error),
            Ok((Fetched::Short(count), _)) => self.take_more(name, count),
            Ok((Fetched::Rows(rows), columns)) => {
                self.stack.frames.pop();
                let count = rows.len() as u64;
                let produced = match moves {
                    true => Produced { count, ..Produced::nothing("MOVE") },
                    false => Produced { columns, rows, count, ..Produced::nothing("FETCH") },
                };
                self.note_outcome(&produced);
                self.deliver(produced)
            }
        }
    }

    /// Goes on with the statement of a cursor, for so many rows more.
    pub(crate) fn take_more(&mut self, name: &str, count: usize) -> Ran {
        let Ok(cursor) = self.cursor_mut(name) else { return Ran::On };
        let Some(mut rest) = cursor.rest.take() else { return Ran::On };
        rest.fetch = Some(count);
        rest.resume();
        self.stack.frames.push(Frame::Statement(*rest));
        self.run_statement_frame()
    }

    /// The query of DECLARE has begun, or that of FETCH has gone on: its rows belong to the cursor.
    pub(crate) fn cursor_rows(&mut self, prepared: &Arc<Prepared>, command: &CursorCommand, produced: Produced) -> Ran {
        match command {
            CursorCommand::Declare { name, scroll, hold, .. } => {
                let Plan::Cursor(inner) = &prepared.plan else { unreachable!("DECLARE has a query") };
                let scrolls = scroll.unwrap_or_else(|| goes_back(inner));
                let mut cursor = Cursor::new(name.clone(), produced, scrolls);
                cursor.held = *hold;
                self.add_cursor(cursor);
                self.stack.frames.pop();
                self.deliver(Produced::nothing("DECLARE CURSOR"))
            }
            CursorCommand::Fetch { cursor, direction, moves } => {
                if let Ok(open) = self.cursor_mut(cursor) {
                    open.extend(produced);
                }
                self.fetch_rows(cursor, *direction, *moves)
            }
            CursorCommand::Close(_) => Ran::On,
        }
    }
}

/// `cursor "c" does not exist`
pub(crate) fn no_cursor(name: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}

/// `cursor "c" already exists` (or is `in use`).
pub(crate) fn in_use(name: &str, how: &str) -> SqlError {
    SqlError::new(SqlState::DUPLICATE_CURSOR, format!("cursor \"{name}\" already {how}"))
}
