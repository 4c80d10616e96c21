//! Structured statements to jumps.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use isolde_sql::builtin::{Eval, SessionFunction};
use isolde_sql::catalog::Catalog;
use isolde_sql::typed::{
    self, ExprKind, OutputColumn, Place, Query, QueryBody, Raise, RaiseMessage, Routine, Select, Statement,
    StatementKind, Stmt, StmtKind, Variable,
};
use isolde_sql::{Span, Type, Value, builtin};

use super::cursor::Direction;
use super::{Code, HandlerCode, Instruction, RaiseCode, RaiseText, Then, TrySlots};
use crate::cursor::goes_back;
use crate::plan::{self, Expr};
use crate::prepare::Prepared;

impl Code {
    /// Compiles a bound routine.
    pub(crate) fn compile(catalog: &Catalog, routine: &Routine) -> Code {
        let mut compiler = Compiler {
            catalog,
            text: Source { text: &routine.text, offset: routine.offset },
            instructions: Vec::new(),
            variables: routine.variables.clone(),
            loops: 0,
            loop_places: Vec::new(),
            tries: 0,
            handlers: 0,
            labels: HashMap::new(),
            for_loops: Vec::new(),
        };
        compiler.block(&routine.body);
        compiler.emit(Instruction::Return(None));
        Code {
            name: routine.name.clone(),
            routine: None,
            id: isolde_digest::tagged(0x436f, (&routine.name, &routine.text, routine.offset)),
            instructions: compiler.instructions,
            variables: compiler.variables,
            found: routine.found,
            returns: routine.returns.clone(),
            stable: false,
            loops: compiler.loops,
            loop_places: compiler.loop_places,
        }
    }
}

/// The text of a routine's body and where it stands in its file.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
    offset: u32,
}

struct Compiler<'a> {
    catalog: &'a Catalog,
    text: Source<'a>,
    instructions: Vec<Instruction>,
    variables: Vec<Variable>,
    loops: usize,
    /// Where the loops are, and how each begins.
    loop_places: Vec<(Range<usize>, Arc<str>)>,
    /// Blocks with handlers open at this point, and handlers.
    tries: usize,
    handlers: usize,
    /// Where EXIT and CONTINUE go, by label.
    labels: HashMap<usize, Target>,
    /// The FOR loops open at this point, outermost first, by label: whichever way they are left, they set FOUND.
    for_loops: Vec<(usize, Ending)>,
}

/// What ends a FOR loop.
#[derive(Clone, Copy)]
enum Ending {
    Rows(usize),
    Numbers(usize),
    Cursor { cursor: usize, iterated: usize },
}

/// A loop or labelled block that is being compiled.
struct Target {
    /// Where CONTINUE jumps; `None` for a block, or while not known yet.
    again: Option<usize>,
    /// Jumps to be pointed at the end, and at the next round, once these are known.
    exits: Vec<usize>,
    continues: Vec<usize>,
    tries: usize,
    handlers: usize,
    for_loops: usize,
}

/// A jump whose target is not known yet.
const LATER: usize = usize::MAX;

impl Compiler<'_> {
    fn emit(&mut self, instruction: Instruction) -> usize {
        self.instructions.push(instruction);
        self.instructions.len() - 1
    }

    fn here(&self) -> usize {
        self.instructions.len()
    }

    /// Points a jump at the present position.
    fn land(&mut self, jump: usize) {
        let here = self.here();
        self.aim(jump, here);
    }

    fn aim(&mut self, jump: usize, target: usize) {
        match &mut self.instructions[jump] {
            Instruction::Jump(to)
            | Instruction::JumpUnless(_, to)
            | Instruction::NextRow { end: to, .. }
            | Instruction::NextOfCursor { end: to, .. }
            | Instruction::NextElement { end: to, .. } => *to = target,
            other => unreachable!("{other:?} is not a jump"),
        }
    }

    fn hidden(&mut self, ty: Type) -> usize {
        self.variables.push(Variable { name: "".into(), ty, fields: None, not_null: false });
        self.variables.len() - 1
    }

    fn block(&mut self, body: &[Stmt]) {
        body.iter().for_each(|s| self.stmt(s));
    }

    /// An expression, evaluated in passing if it is local, else by a statement of its own just before.
    fn expr(&mut self, e: &typed::Expr, at: &Stmt) -> Expr {
        let mut counts = false;
        e.walk(0, &mut |e, _| counts |= e.subquery().is_some());
        if e.is_local() && !counts && !draws(e) && !sleeps(e) {
            return plan::expr(self.catalog, e);
        }
        let slot = self.hidden(e.ty);
        let prepared = Prepared::plan(self.catalog, Arc::new(self.select(e, at)));
        self.emit(Instruction::Run(Arc::new(prepared), Then::Slot { slot, counts }));
        plan::expr(self.catalog, &typed::Expr { kind: ExprKind::Param(slot), ty: e.ty })
    }

    fn exprs(&mut self, exprs: &[typed::Expr], at: &Stmt) -> Vec<Expr> {
        exprs.iter().map(|e| self.expr(e, at)).collect()
    }

    /// `SELECT e`, shown in traces as the statement it stands in.
    fn select(&self, e: &typed::Expr, at: &Stmt) -> Statement {
        let column = OutputColumn { name: "?column?".into(), ty: e.ty, origin: None };
        let body = QueryBody::Select(Box::new(Select::bare(vec![e.clone()])));
        let query = Query::of(vec![column], body);
        Statement { kind: StatementKind::Query(query), text: self.headline(at.span), span: at.span }
    }

    /// The beginning of a statement: up to THEN, LOOP or its end.
    fn headline(&self, span: Span) -> Arc<str> {
        let start = span.start.saturating_sub(self.text.offset) as usize;
        let end = span.end.saturating_sub(self.text.offset) as usize;
        let text = self.text.text.get(start..end).unwrap_or("");
        isolde_sql::bind::one_line(isolde_sql::parse::headline(text))
    }

    fn run(&mut self, statement: &Arc<Statement>, then: Then) {
        let prepared = Prepared::plan(self.catalog, statement.clone());
        self.emit(Instruction::Run(Arc::new(prepared), then));
    }

    fn stmt(&mut self, s: &Stmt) {
        let start = self.here();
        self.instructions_of(s);
        let loops = matches!(
            s.kind,
            StmtKind::Loop { .. }
                | StmtKind::While { .. }
                | StmtKind::ForRange { .. }
                | StmtKind::ForQuery { .. }
                | StmtKind::ForExecute { .. }
                | StmtKind::ForCursor { .. }
                | StmtKind::Foreach { .. }
        );
        if loops {
            // The position behind an instruction is that of the next one.
            let headline = format!("{} LOOP", self.headline(s.span)).trim_start().into();
            self.loop_places.push((start..self.here() + 1, headline));
        }
    }

    fn instructions_of(&mut self, s: &Stmt) {
        match &s.kind {
            StmtKind::Assign(place, e) => {
                let e = self.expr(e, s);
                self.emit(Instruction::Assign(place.clone(), e));
            }
            StmtKind::Sql { statement, into: Some(into) } => {
                let mut prepared = Prepared::plan(self.catalog, first_rows(statement, into.strict));
                prepared.rows_max = Some(2);
                // CALL leaves FOUND as it is.
                let sets_found = !matches!(statement.kind, StatementKind::Call(..));
                self.emit(Instruction::Run(Arc::new(prepared), Then::Into { into: into.clone(), sets_found }));
            }
            StmtKind::Sql { statement, into: None } => {
                let rows = matches!(
                    statement.kind,
                    StatementKind::Query(_)
                        | StatementKind::Insert(_)
                        | StatementKind::Update(_)
                        | StatementKind::Delete(_)
                        | StatementKind::Merge(_)
                );
                self.run(statement, if rows { Then::Found } else { Then::Nothing })
            }
            StmtKind::Perform(statement) => self.run(statement, Then::Found),
            StmtKind::Execute { text, into, using } => {
                let then = match into {
                    Some(into) => Then::Into { into: into.clone(), sets_found: false },
                    None => Then::Nothing,
                };
                self.execute(s, text, using, then);
            }
            StmtKind::If { branches, otherwise } => self.branches(s, branches, otherwise),
            StmtKind::Loop { label, body } => {
                let start = self.here();
                self.open(*label, Some(start));
                self.block(body);
                self.emit(Instruction::Jump(start));
                self.close(*label, start);
            }
            StmtKind::While { label, condition, body } => {
                let start = self.here();
                self.open(*label, Some(start));
                let condition = self.expr(condition, s);
                let leave = self.emit(Instruction::JumpUnless(condition, LATER));
                self.block(body);
                self.emit(Instruction::Jump(start));
                self.land(leave);
                self.close(*label, start);
            }
            StmtKind::ForRange { label, variable, from, to, by, reverse, body } => {
                self.for_range(s, *label, *variable, (from, to, by.as_ref(), *reverse), body)
            }
            StmtKind::ForQuery { label, into, query, body } => {
                let rows = self.loops;
                self.loops += 1;
                self.run(query, Then::Rows(rows));
                self.for_rows(rows, *label, into, body);
            }
            StmtKind::ForExecute { label, into, text, using, body } => {
                let rows = self.loops;
                self.loops += 1;
                self.execute(s, text, using, Then::Rows(rows));
                self.for_rows(rows, *label, into, body);
            }
            StmtKind::ForCursor { label, into, cursor, open, body } => {
                self.open_cursor(s, *cursor, open, true);
                let iterated = self.hidden(Type::Bool);
                self.emit_bool(iterated, false);
                let (cursor, into) = (*cursor, into.clone());
                let start = self.emit(Instruction::NextOfCursor { cursor, into, iterated, end: LATER });
                self.for_body(start, *label, Ending::Cursor { cursor, iterated }, body);
            }
            StmtKind::Foreach { label, into, array, slice, body } => {
                let [values, index] = [array.ty, Type::Int8].map(|ty| self.hidden(ty));
                let element = array.ty.element().unwrap_or(Type::Unknown);
                let array = self.expr(array, s);
                self.emit(Instruction::Store(values, array));
                let zero = plan::expr(self.catalog, &int(0));
                self.emit(Instruction::Store(index, zero));
                let iterated = self.hidden(Type::Bool);
                self.emit_bool(iterated, false);
                let (into, slice) = (into.clone(), *slice);
                let next = Instruction::NextElement { array: values, index, slice, element, into, end: LATER };
                let start = self.emit(next);
                self.open(*label, Some(start));
                self.emit_bool(iterated, true);
                self.for_loops.push((*label, Ending::Numbers(iterated)));
                self.end_loop(start, *label, body);
            }
            StmtKind::Open(cursor, open) => self.open_cursor(s, *cursor, open, false),
            StmtKind::Fetch { cursor, direction, into } => {
                let direction = Direction::new(direction, |e| self.expr(e, s));
                self.emit(Instruction::Fetch { cursor: *cursor, direction, into: into.clone() });
            }
            StmtKind::Close(cursor) => {
                self.emit(Instruction::CloseCursor(*cursor));
            }
            StmtKind::Shape(slot, fields) => {
                let column = |(name, ty): &(Arc<str>, Type)| OutputColumn { name: name.clone(), ty: *ty, origin: None };
                let shape = Some(fields.iter().map(column).collect());
                self.emit(Instruction::SetShape(*slot, shape));
            }
            StmtKind::ShapeOf(slot, other) => {
                self.emit(Instruction::CopyShape(*slot, *other));
            }
            StmtKind::Fail(error) => {
                self.emit(Instruction::Fail(error.clone()));
            }
            StmtKind::ReturnExecute { text, using } => self.execute(s, text, using, Then::ReturnChecked),
            StmtKind::Exit { label, when } => self.leave(s, *label, when.as_ref(), false),
            StmtKind::Continue { label, when } => self.leave(s, *label, when.as_ref(), true),
            StmtKind::Labelled { label, body } => {
                self.open(*label, None);
                self.block(body);
                let end = self.here();
                self.close(*label, end);
            }
            StmtKind::Try { body, handlers, state, message } => {
                self.try_block(body, handlers, TrySlots { state: *state, message: *message })
            }
            StmtKind::Return(e) => {
                let e = e.as_ref().map(|e| self.expr(e, s));
                self.emit(Instruction::Return(e));
            }
            StmtKind::ReturnNext(exprs) => {
                let exprs = self.exprs(exprs, s);
                self.emit(Instruction::ReturnNext(exprs));
            }
            StmtKind::ReturnQuery(query) => self.run(query, Then::Return),
            StmtKind::Raise(raise) => {
                let raise = self.raise(raise, s);
                self.emit(Instruction::Raise(Box::new(raise)));
            }
            StmtKind::Assert(condition, message) => {
                let condition = self.expr(condition, s);
                let message = message.as_ref().map(|m| self.expr(m, s));
                self.emit(Instruction::Assert(condition, message));
            }
            StmtKind::RowCount(place) => {
                self.emit(Instruction::RowCount(place.clone()));
            }
            StmtKind::StackedDiagnostics(items) => {
                self.emit(Instruction::StackedDiagnostics(items.clone()));
            }
            StmtKind::CaseNotFound => {
                self.emit(Instruction::CaseNotFound);
            }
        }
    }

    /// A text that is executed.
    fn execute(&mut self, s: &Stmt, text: &typed::Expr, using: &[typed::Expr], then: Then) {
        let text = self.expr(text, s);
        let using = using.iter().map(|e| (self.expr(e, s), e.ty)).collect();
        self.emit(Instruction::Execute { text, using, then });
    }

    fn open_cursor(&mut self, s: &Stmt, cursor: usize, open: &typed::Open, held: bool) {
        self.emit(Instruction::CheckOpen(cursor));
        for (slot, arg) in &open.args {
            let arg = self.expr(arg, s);
            self.emit(Instruction::Store(*slot, arg));
        }
        match &open.source {
            typed::OpenSource::Query(statement) => {
                let prepared = Prepared::cursor(self.catalog, statement.clone());
                let scroll = Some(open.scroll.unwrap_or_else(|| goes_back(&prepared)));
                self.emit(Instruction::Run(Arc::new(prepared), Then::Open { cursor, scroll, held }));
            }
            typed::OpenSource::Execute { text, using } => {
                self.execute(s, text, using, Then::Open { cursor, scroll: open.scroll, held });
            }
        }
    }

    /// A loop over rows that have been fetched.
    fn for_rows(&mut self, rows: usize, label: usize, into: &[Place], body: &[Stmt]) {
        let start = self.emit(Instruction::NextRow { rows, into: into.to_vec(), end: LATER });
        self.for_body(start, label, Ending::Rows(rows), body);
    }

    /// The body of a FOR loop whose next round begins with the instruction at `start`.
    fn for_body(&mut self, start: usize, label: usize, ending: Ending, body: &[Stmt]) {
        self.open(label, Some(start));
        self.for_loops.push((label, ending));
        self.end_loop(start, label, body);
    }

    fn end_loop(&mut self, start: usize, label: usize, body: &[Stmt]) {
        self.block(body);
        self.emit(Instruction::Jump(start));
        self.land(start);
        self.close(label, start);
        self.end_for();
    }

    fn branches(&mut self, s: &Stmt, branches: &[(typed::Expr, Vec<Stmt>)], otherwise: &[Stmt]) {
        let mut ends = Vec::new();
        for (condition, body) in branches {
            let condition = self.expr(condition, s);
            let next = self.emit(Instruction::JumpUnless(condition, LATER));
            self.block(body);
            ends.push(self.emit(Instruction::Jump(LATER)));
            self.land(next);
        }
        self.block(otherwise);
        ends.into_iter().for_each(|end| self.land(end));
    }

    /// The bounds are evaluated once; the counter is a copy, so that assigning the loop variable does not change it.
    fn for_range(
        &mut self,
        s: &Stmt,
        label: usize,
        variable: usize,
        (from, to, by, reverse): (&typed::Expr, &typed::Expr, Option<&typed::Expr>, bool),
        body: &[Stmt],
    ) {
        let [counter, last, step] = [(); 3].map(|()| self.hidden(Type::Int4));
        for (slot, e) in [(counter, Some(from)), (last, Some(to)), (step, by)] {
            let e = match e {
                Some(e) => self.expr(e, s),
                None => plan::expr(self.catalog, &int(1)),
            };
            self.emit(Instruction::Store(slot, e));
        }
        self.emit(Instruction::CheckRange { from: counter, to: last, by: step });
        let (in_range, advance) = if reverse { (">=", "-") } else { ("<=", "+") };
        let iterated = self.hidden(Type::Bool);
        self.emit_bool(iterated, false);
        let start = self.here();
        let condition = self.call(in_range, counter, last);
        let leave = self.emit(Instruction::JumpUnless(condition, LATER));
        let value = plan::expr(self.catalog, &param(counter));
        self.emit(Instruction::Store(variable, value));
        self.emit_bool(iterated, true);
        self.open(label, None);
        self.for_loops.push((label, Ending::Numbers(iterated)));
        self.block(body);
        let again = self.here();
        let next = self.call(advance, counter, step);
        self.emit(Instruction::Store(counter, next));
        self.emit(Instruction::Jump(start));
        self.land(leave);
        self.close(label, again);
        self.end_for();
    }

    fn emit_bool(&mut self, slot: usize, value: bool) {
        let value = typed::Expr { kind: ExprKind::Const(Value::Bool(value)), ty: Type::Bool };
        let value = plan::expr(self.catalog, &value);
        self.emit(Instruction::Store(slot, value));
    }

    /// The innermost FOR loop ends here.
    fn end_for(&mut self) {
        if let Some((_, ending)) = self.for_loops.pop() {
            self.emit_ending(ending);
        }
    }

    fn emit_ending(&mut self, ending: Ending) {
        if let Ending::Cursor { cursor, .. } = ending {
            self.emit(Instruction::CloseCursor(cursor));
        }
        self.emit(match ending {
            Ending::Rows(rows) => Instruction::CloseLoop { rows },
            Ending::Numbers(iterated) | Ending::Cursor { iterated, .. } => Instruction::SetFound(iterated),
        });
    }

    /// An integer operator on two variables of the compiler's own. Counters are computed as bigint: the last step of a
    /// loop up to the largest integer must end it, not overflow.
    fn call(&self, name: &str, a: usize, b: usize) -> Expr {
        let int8 = [Type::Int8, Type::Int8];
        let any = [Type::Unknown, Type::Unknown];
        let function = builtin::find(name, &int8).or_else(|| builtin::find(name, &any));
        let function = function.expect("integers can be added and compared");
        let ty = if function.returns == Type::Bool { Type::Bool } else { Type::Int8 };
        plan::expr(self.catalog, &typed::Expr { kind: ExprKind::Call(function, vec![param(a), param(b)]), ty })
    }

    fn try_block(&mut self, body: &[Stmt], handlers: &[typed::Handler], slots: TrySlots) {
        let opened = self.emit(Instruction::Jump(LATER)); // Becomes the Try below, once the handlers' places are known.
        self.tries += 1;
        self.block(body);
        self.tries -= 1;
        self.emit(Instruction::EndTry);
        let mut ends = vec![self.emit(Instruction::Jump(LATER))];
        let mut codes = Vec::new();
        self.handlers += 1;
        for handler in handlers {
            codes.push(HandlerCode { catches: handler.catches.clone(), target: self.here() });
            self.block(&handler.body);
            self.emit(Instruction::EndHandler);
            ends.push(self.emit(Instruction::Jump(LATER)));
        }
        self.handlers -= 1;
        self.instructions[opened] = Instruction::Try(codes.into(), slots);
        ends.into_iter().for_each(|end| self.land(end));
    }

    fn open(&mut self, label: usize, again: Option<usize>) {
        let (tries, handlers, for_loops) = (self.tries, self.handlers, self.for_loops.len());
        self.labels
            .insert(label, Target { again, exits: Vec::new(), continues: Vec::new(), tries, handlers, for_loops });
    }

    /// The end of a loop or block: its exits come here, what CONTINUEs goes to `again`.
    fn close(&mut self, label: usize, again: usize) {
        let Some(target) = self.labels.remove(&label) else { return };
        target.exits.into_iter().for_each(|jump| self.land(jump));
        target.continues.into_iter().for_each(|jump| self.aim(jump, again));
    }

    /// EXIT and CONTINUE: out of the blocks with handlers and the FOR loops between here and there first.
    fn leave(&mut self, s: &Stmt, label: usize, when: Option<&typed::Expr>, again: bool) {
        let skip = when.map(|when| {
            let condition = self.expr(when, s);
            self.emit(Instruction::JumpUnless(condition, LATER))
        });
        let Some(target) = self.labels.get(&label) else { return };
        let (tries, handlers) = (target.tries, target.handlers);
        let inner: Vec<Ending> =
            self.for_loops[target.for_loops..].iter().rev().filter(|(l, _)| *l != label).map(|(_, e)| *e).collect();
        inner.into_iter().for_each(|ending| self.emit_ending(ending));
        for _ in tries..self.tries {
            self.emit(Instruction::EndTry);
        }
        for _ in handlers..self.handlers {
            self.emit(Instruction::EndHandler);
        }
        let jump = self.emit(Instruction::Jump(LATER));
        let target = self.labels.get_mut(&label).expect("the label was just found");
        match (again, target.again) {
            (false, _) => target.exits.push(jump),
            (true, Some(start)) => self.aim(jump, start),
            (true, None) => target.continues.push(jump),
        }
        if let Some(skip) = skip {
            self.land(skip);
        }
    }

    fn raise(&mut self, raise: &Raise, s: &Stmt) -> RaiseCode {
        let message = match &raise.message {
            RaiseMessage::Format(format, args) => RaiseText::Format(format.clone(), self.exprs(args, s)),
            RaiseMessage::Expr(e) => RaiseText::Expr(self.expr(e, s)),
            RaiseMessage::Again => RaiseText::Again,
        };
        let mut optional = |e: &Option<typed::Expr>| e.as_ref().map(|e| self.expr(e, s));
        let (detail, hint, code) = (optional(&raise.detail), optional(&raise.hint), optional(&raise.code));
        let about = raise.about.iter().map(|(what, e)| (*what, self.expr(e, s))).collect();
        RaiseCode { level: raise.level, state: raise.state, message, detail, hint, code, about }
    }
}

/// A query INTO variables stops after the first row, or after the second if there must not be one.
fn first_rows(statement: &Arc<Statement>, strict: bool) -> Arc<Statement> {
    match &statement.kind {
        StatementKind::Query(query) if query.limit.is_none() => {
            let limit = Some(int(if strict { 2 } else { 1 }));
            let kind = StatementKind::Query(Query { limit, ..query.clone() });
            Arc::new(Statement { kind, text: statement.text.clone(), span: statement.span })
        }
        _ => statement.clone(),
    }
}

fn param(slot: usize) -> typed::Expr {
    typed::Expr { kind: ExprKind::Param(slot), ty: Type::Int8 }
}

fn int(value: i64) -> typed::Expr {
    typed::Expr { kind: ExprKind::Const(Value::Int(value)), ty: Type::Int4 }
}

/// Whether it draws from a sequence or takes an advisory lock, which everybody shares.
pub(crate) fn draws(e: &typed::Expr) -> bool {
    let mut found = false;
    e.walk(0, &mut |e, _| {
        if let ExprKind::Call(function, _) = &e.kind {
            use SessionFunction::{Advisory, NextVal, Sequence, SetVal};
            found |= matches!(function.eval, Eval::Session(NextVal | SetVal | Sequence(_) | Advisory(_)));
        }
    });
    found
}

/// Whether it may wait for time.
fn sleeps(e: &typed::Expr) -> bool {
    let mut found = false;
    e.walk(0, &mut |e, _| {
        let sleep =
            |function: &isolde_sql::builtin::Builtin| matches!(function.eval, Eval::Session(SessionFunction::PgSleep));
        found |= matches!(&e.kind, ExprKind::Call(function, _) if sleep(function));
    });
    found
}
