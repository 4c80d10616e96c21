//! What a statement calls: routines, triggers, and parts of itself that are statements of their own.
//!
//! The statement is suspended in its frame, what it calls becomes a frame above it, and the result goes into its
//! [`Calls`] when that is done (see [`deliver`](super::deliver)). So whatever is called can wait for locks.

use super::*;

impl Machine<'_> {
    /// CALL: the arguments, then the routine.
    pub(super) fn run_call(
        &mut self,
        prepared: &Arc<Prepared>,
        routine: RoutineId,
        params: &[Value],
        progress: Progress,
    ) -> Ran {
        let Plan::Call(args) = &prepared.plan else { unreachable!("CALL has arguments") };
        let mut run = match progress {
            Progress::New => match self.begin_call(prepared) {
                Ok(run) => Box::new(run),
                Err(error) => return self.fail(error),
            },
            Progress::Arguments(run) => run,
            Progress::Called | Progress::Running(_) | Progress::Between(_) => {
                unreachable!("CALL goes through no rows, and is done when its routine is")
            }
        };
        run.calls.rewind();
        let values = self.exec().with_context(&run.view.tables, params, &mut run.calls, |ctx| {
            args.iter().map(|a| eval::eval(ctx, &Env::new(&[]), a)).collect::<Result<Vec<Value>, _>>()
        });
        let frame = self.stack.statement_mut();
        match values {
            Ok(values) => {
                frame.progress = Progress::Called;
                self.enter_routine(routine, values)
            }
            Err(Interrupt::Call(function, args)) => {
                frame.progress = Progress::Arguments(run);
                self.enter_routine(function, args)
            }
            Err(Interrupt::Wait(target)) => {
                frame.progress = Progress::Arguments(run);
                self.begin_wait(target)
            }
            Err(Interrupt::Error(error)) => self.fail(error),
            Err(Interrupt::Lock(_) | Interrupt::With(..)) => unreachable!("an argument of CALL has no subquery"),
        }
    }

    /// The routines in the arguments of CALL that are not volatile all read from one snapshot, if there are any.
    fn begin_call(&mut self, prepared: &Prepared) -> Result<Running, SqlError> {
        if !prepared.visible {
            return Ok(Running::new(Snapshot::empty(), 0));
        }
        if self.session.transaction.is_none() {
            self.session.begin_implicit(self.db.clock);
        }
        self.session.mark_queried();
        self.note_snapshot();
        Ok(match self.begin_in_stable_function(prepared, false)? {
            Some(run) => run,
            None => self.take_view(prepared),
        })
    }

    /// Runs a query inside the statement at the top, with its snapshot; the rows go to the statement.
    pub(super) fn enter_query(&mut self, query: Inner, params: &[Value], run: Box<Running>) -> Ran {
        if self.session.transaction().read_only {
            self.suspend(run);
            return self.fail(read_only(&verb_of(&query.statement)));
        }
        let mut inner = Running::new(run.view.clone(), run.start);
        let around = run.withs.own.clone().filter(|_| query.reads_with);
        inner.calls = Calls::knowing(if query.reads_with { run.calls.withs() } else { &[] });
        inner.withs = WithScope { own: query.statement.plan.withs(), around };
        self.suspend(run);
        let params = query.params.unwrap_or_else(|| params.into());
        let frame = StatementFrame {
            progress: Progress::Running(Box::new(inner)),
            ..StatementFrame::new(query.statement, params)
        };
        self.stack.frames.push(Frame::Statement(frame));
        Ran::On
    }

    /// Runs a WITH statement of the statement at the top, with its snapshot.
    pub(super) fn enter_with(
        &mut self,
        slot: usize,
        statement: Arc<Prepared>,
        params: &[Value],
        run: Box<Running>,
    ) -> Ran {
        let mut inner = Running::new(run.view.clone(), run.start);
        inner.calls = Calls::knowing(run.calls.withs());
        inner.slot = Some(slot);
        if let Some(triggered) = &run.triggered {
            inner.triggered().begun = triggered.begun.clone();
        }
        inner.withs = WithScope { own: statement.plan.withs(), around: run.withs.own.clone() };
        self.suspend(run);
        let frame = StatementFrame {
            progress: Progress::Running(Box::new(inner)),
            ..StatementFrame::new(statement, params.into())
        };
        self.stack.frames.push(Frame::Statement(frame));
        Ran::On
    }

    /// A WITH statement is done: its rows, and what it leaves to do, go to the statement around it.
    pub(super) fn keep_with(&mut self, slot: usize, rows: Vec<Row>, mut inner: Running) -> Ran {
        if let Some(run) = self.stack.statement_mut().progress.running_mut() {
            for (other, known) in inner.calls.withs().iter().enumerate() {
                if let Some(known) = known {
                    run.calls.keep_with(other, known.clone());
                }
            }
            run.calls.keep_with(slot, rows.into());
            run.adopt_triggers(&mut inner);
        }
        Ran::On
    }

    pub(super) fn enter_routine(&mut self, routine: RoutineId, args: Vec<Value>) -> Ran {
        let def = self.catalog().routine(routine);
        if def.strict && args.iter().any(Value::is_null) {
            // It is not called at all.
            let nothing = match def.returns {
                ReturnsDef::Set(_) => CallResult::Rows(Vec::new()),
                _ => CallResult::Value(Value::Null),
            };
            if let Some(calls) = self.stack.statement_mut().progress.calls_mut() {
                calls.push(nothing);
            }
            return Ran::On;
        }
        match self.schema().code(routine) {
            Ok(code) => self.enter(code, args),
            Err(error) => self.fail(error),
        }
    }

    /// Enters the function of a trigger.
    pub(crate) fn enter_trigger(&mut self, call: trigger::Call) -> Ran {
        match call.code(self.catalog()) {
            Ok(code) => self.enter(code, call.variables()),
            Err(error) => self.fail(error),
        }
    }

    /// The statement at the top stops here, until what it needs is there.
    pub(super) fn suspend(&mut self, run: Box<Running>) {
        let frame = self.stack.statement_mut();
        debug_assert!(frame.progress.is_new(), "the progress of a statement is in its frame or at work, never both");
        frame.progress = Progress::Running(run);
    }

    pub(crate) fn enter(&mut self, code: Arc<Code>, args: Vec<Value>) -> Ran {
        const FRAMES_MAX: usize = 200;
        if self.stack.frames.len() >= FRAMES_MAX {
            let message = "stack depth limit exceeded";
            return self.fail(SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, message));
        }
        self.stack.frames.push(Frame::Routine(Box::new(RoutineFrame::new(code, args))));
        Ran::On
    }
}
