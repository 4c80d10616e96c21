//! Where a result goes.
//!
//! What a statement has produced goes to whoever waits for it: the statement or routine below it on the stack, or the
//! client. What it has failed with goes to the nearest handler, or ends the statement of the client. On the way the
//! results of whole statements are noted, each once.

use super::*;

impl Machine<'_> {
    /// In autocommit, a statement of a routine is a transaction of its own: it is committed with the statement, or in a
    /// step.
    pub(super) fn end_inner_statement(&mut self, prepared: &Prepared, produced: Produced) -> Ran {
        let inner = self.stack.frames.iter().any(|f| matches!(f, Frame::Routine(_)));
        let implicit = self.session.transaction.as_ref().is_some_and(|t| !t.explicit);
        if !(self.session.options.autocommit && inner && implicit && prepared.visible && self.called_only()) {
            self.note_whole(prepared, &produced);
            return self.deliver(produced);
        }
        if self.db.commit_steps && self.commits_apart() {
            self.note_whole(prepared, &produced);
            self.stack.committing_inside = Some(Box::new(produced));
            return Ran::On;
        }
        match self.commit() {
            Ok(()) => {
                self.note_whole(prepared, &produced);
                self.deliver(produced)
            }
            Err(error) => {
                let (statement, outcome) = (prepared.statement.clone(), Outcome::Error(error.clone()));
                self.returned.push(Returned { statement, outcome });
                self.fail_late(error)
            }
        }
    }

    /// Whether the commit of the statement that has just run is a step of its own: others can tell the transaction from
    /// none.
    pub(super) fn commits_apart(&self) -> bool {
        let others_notice = |t: &Transaction| !t.is_quiet() && (self.db.commit_steps || t.statements > 1);
        self.session.transaction.as_ref().is_some_and(others_notice)
    }

    /// A statement is done: its result goes to the routine that ran it, or to the client.
    pub(crate) fn deliver(&mut self, produced: Produced) -> Ran {
        match self.stack.frames.last_mut() {
            None => self.answer(produced),
            Some(Frame::Routine(_)) => match self.take_result(produced) {
                Ok(()) => Ran::On,
                Err(error) => self.fail(error),
            },
            Some(Frame::Statement(frame)) => {
                if let StatementKind::Cursor(command) = &frame.prepared.clone().statement.kind {
                    let prepared = frame.prepared.clone();
                    return self.cursor_rows(&prepared, command, produced);
                }
                if let Some(calls) = frame.progress.calls_mut() {
                    calls.push(CallResult::Rows(produced.rows));
                }
                Ran::On
            }
        }
    }

    /// A routine is done: its result goes to the statement that called it.
    pub(crate) fn returned(&mut self, result: CallResult, outs: Produced) -> Ran {
        self.stack.frames.pop();
        let Some(Frame::Statement(frame)) = self.stack.frames.last_mut() else {
            unreachable!("a routine is entered from a statement")
        };
        match &frame.prepared.statement.kind {
            StatementKind::Call(..) if matches!(frame.progress, Progress::Called) => {
                self.stack.frames.pop();
                self.take_snapshot_to_bind();
                self.deliver(outs)
            }
            // The transaction has its snapshot then, even if nothing was read.
            StatementKind::Do(_) => {
                debug_assert!(matches!(frame.progress, Progress::Called), "the routine of a DO was called by it");
                self.stack.frames.pop();
                self.take_snapshot_to_bind();
                self.deliver(Produced::nothing("DO"))
            }
            _ => {
                // SET CONSTRAINTS and COMMIT, which fire triggers, have no use for it.
                if let Some(calls) = frame.progress.calls_mut() {
                    calls.push(result);
                }
                Ran::On
            }
        }
    }

    /// The client's statement is done. What it opened by itself is committed: with it, or in a step of its own.
    pub(crate) fn answer(&mut self, produced: Produced) -> Ran {
        let result = produced.into_result();
        match &self.session.transaction {
            // More of the same string follows, and is part of the transaction.
            Some(t) if !t.explicit && self.stack.part == Part::More => Ran::Answered(Ok(result)),
            Some(t) if !t.explicit && self.commits_apart() => {
                self.stack.committing = Some(result);
                Ran::On
            }
            Some(t) if !t.explicit => self.commit_implicit(result),
            _ => Ran::Answered(Ok(result)),
        }
    }

    /// A statement was done, but its transaction could not be committed: its result is not.
    pub(crate) fn fail_late(&mut self, error: SqlError) -> Ran {
        self.outcome = None;
        self.fail(error)
    }

    /// An error: to the nearest handler that takes it, else to the client.
    pub(crate) fn fail(&mut self, error: SqlError) -> Ran {
        let error = if error.is_cut() { self.cut_off(&error) } else { error };
        self.outcome.get_or_insert_with(|| Outcome::Error(error.clone()));
        // An error between two statements of a routine is none of theirs.
        let tells = |(frame, in_routine): &(&StatementFrame, bool)| *in_routine && frame.prepared.tells;
        let failed = self.stack.whole_statement().filter(tells);
        if let Some(statement) = failed.map(|(frame, _)| frame.prepared.statement.clone()) {
            self.returned.push(Returned { statement, outcome: Outcome::Error(error.clone()) });
        }
        // Of several rows that would fail the first is named, and an update of any column moves a row to the end.
        let several = self.footprint.reads.iter_mut().filter(|read| read.matched.len() > 1);
        several.for_each(|read| read.columns = ColumnSet::ALL);
        let implicit = self.session.transaction.as_ref().is_some_and(|t| !t.explicit);
        if self.session.options.autocommit && implicit && self.below_called_only() {
            self.abort();
        }
        let mut commits = false;
        while let Some(frame) = self.stack.frames.pop() {
            if let Frame::Statement(frame) = &frame {
                let ends = |control: &Control| matches!(control, Control::Commit { .. } | Control::Prepare(_));
                commits = matches!(&frame.prepared.statement.kind, StatementKind::Transaction(c) if ends(c));
            }
            if let Frame::Routine(mut routine) = frame
                && let Some(savepoint) = routine.catch(&error)
            {
                if let Some(depth) = savepoint {
                    self.rollback_to(depth);
                    self.session.transaction_mut().release(depth);
                }
                self.stack.frames.push(Frame::Routine(routine));
                return Ran::On;
            }
        }
        self.stack.committing = None;
        self.stack.committing_inside = None;
        match &mut self.session.transaction {
            // COMMIT that fails has ended the transaction, and so has the first of two phases.
            Some(t) if t.explicit && !commits => self.fail_transaction(),
            _ => self.abort(),
        }
        Ran::Answered(Err(error))
    }

    /// A budget has ended: the error says what was cut off, the innermost loop or else the statement.
    pub(super) fn cut_off(&self, error: &SqlError) -> SqlError {
        if error.is_not_begun() {
            self.db.ambient.budget.note_cut(&error.message);
            return error.clone();
        }
        let looping = self.stack.frames.iter().rev().find_map(|frame| match frame {
            Frame::Routine(routine) => routine.looping(),
            Frame::Statement(_) => None,
        });
        let statement = || self.stack.whole_statement().map(|(frame, _)| shortened(&frame.prepared.statement.text));
        let message = match looping.or_else(statement) {
            Some(what) => format!("{what}: {}", error.message),
            None => error.message.to_string(),
        };
        self.db.ambient.budget.note_cut(&message);
        SqlError::new(error.state, message)
    }

    /// The statement that has just left the stack is done. If it was a whole one, and not part of the statement that is
    /// at the top now, this is what the step did, and what a routine that sent it gets.
    pub(super) fn note_whole(&mut self, prepared: &Prepared, produced: &Produced) {
        let reaches_routine = match self.stack.frames.last() {
            None => false,
            // PERFORM throws its rows away: the routine gets none of them.
            Some(Frame::Routine(routine)) => {
                !(matches!(prepared.statement.kind, StatementKind::Query(_)) && routine.ignores_rows())
            }
            Some(Frame::Statement(_)) => return,
        };
        if reaches_routine && prepared.tells {
            self.returned.push(Returned { statement: prepared.statement.clone(), outcome: produced.outcome() });
        }
        if prepared.visible {
            self.note_outcome(produced);
        }
    }

    pub(crate) fn note_outcome(&mut self, produced: &Produced) {
        self.outcome.get_or_insert_with(|| produced.outcome());
    }
}
