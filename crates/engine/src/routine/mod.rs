//! Procedures and functions: structured code compiled to jumps, and the frame that runs it.
//!
//! A frame is a position and a handful of values, so a session can rest between any two statements of a procedure and
//! be copied there. Only SQL is worth resting before: expressions that read no table are evaluated in passing. An
//! expression that does read one (`IF EXISTS (SELECT ...)`) becomes a SQL statement of its own that fills a hidden
//! variable, because that is what it is to everybody else.

mod compile;
mod cursor;
mod run;

pub(crate) use compile::draws;
pub(crate) use run::field_of;

use std::ops::Range;
use std::sync::Arc;

use isolde_sql::ast::plpgsql::RaiseLevel;
use isolde_sql::catalog::RoutineId;
use isolde_sql::typed::{AboutField, Catch, Into, OutputColumn, Place, RoutineReturns, Variable};
use isolde_sql::{Row, SqlError, SqlState, Type, Value};

use self::cursor::Direction;
use crate::cursor::goes_back;
use crate::plan::Expr;
use crate::prepare::Prepared;
use crate::session::StatementFrame;

/// A compiled routine.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) name: Arc<str>,
    /// Which routine it is; `None` for DO.
    pub(crate) routine: Option<RoutineId>,
    /// Tells routines apart in digests.
    pub(crate) id: u128,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) found: usize,
    pub(crate) returns: RoutineReturns,
    /// STABLE or IMMUTABLE: its queries see what its caller's do.
    pub(crate) stable: bool,
    /// How many loops over queries it has.
    pub(crate) loops: usize,
    /// Where its loops are, and how each begins.
    pub(crate) loop_places: Vec<(Range<usize>, Arc<str>)>,
}

/// One instruction. Jump targets are positions in [`Code::instructions`].
#[derive(Debug)]
pub(crate) enum Instruction {
    /// Runs a statement; then its result is used as said.
    Run(Arc<Prepared>, Then),
    /// Runs a text made at run time.
    Execute {
        text: Expr,
        using: Vec<(Expr, Type)>,
        then: Then,
    },
    Assign(Place, Expr),
    /// Like Assign, into a variable of the compiler's own.
    Store(usize, Expr),
    Jump(usize),
    JumpUnless(Expr, usize),
    /// Fetches the next row of a loop over a query, or leaves.
    NextRow {
        rows: usize,
        into: Vec<Place>,
        end: usize,
    },
    /// The loop is over: FOUND says whether it had rows.
    CloseLoop {
        rows: usize,
    },
    /// A loop over numbers is over: FOUND says what this variable of the compiler's own says.
    SetFound(usize),
    /// OPEN is about to open the cursor in this variable.
    CheckOpen(usize),
    /// FETCH, or MOVE if there is nothing to store into.
    Fetch {
        cursor: usize,
        direction: Direction,
        into: Option<Vec<Place>>,
    },
    /// The next row of a loop over a cursor, or its end.
    NextOfCursor {
        cursor: usize,
        into: Vec<Place>,
        /// The variable of the compiler's own that says whether there was a row.
        iterated: usize,
        end: usize,
    },
    CloseCursor(usize),
    /// FOREACH: the next element of the array in one variable, its number being in another.
    NextElement {
        array: usize,
        index: usize,
        slice: usize,
        element: Type,
        into: Vec<Place>,
        end: usize,
    },
    Fail(SqlError),
    /// A record has taken this shape.
    SetShape(usize, Shape),
    /// A record has taken the shape of another.
    CopyShape(usize, usize),
    /// Opens a block with handlers.
    Try(Arc<[HandlerCode]>, TrySlots),
    /// Leaves it without an error.
    EndTry,
    /// Leaves a handler.
    EndHandler,
    Return(Option<Expr>),
    ReturnNext(Vec<Expr>),
    Raise(Box<RaiseCode>),
    Assert(Expr, Option<Expr>),
    RowCount(Place),
    StackedDiagnostics(Vec<(Place, Arc<str>)>),
    CaseNotFound,
    /// `FOR i IN a..b BY c`: 22004 if a bound is NULL, 22023 if the step is not positive.
    CheckRange {
        from: usize,
        to: usize,
        by: usize,
    },
}

/// What becomes of a statement's result.
#[derive(Clone, Debug)]
pub(crate) enum Then {
    /// FOUND says whether there were rows.
    Found,
    /// Into variables; FOUND is set unless the SQL was dynamic.
    Into { into: Into, sets_found: bool },
    /// The single value, into a variable of the compiler's own. If `counts`, it is the result of a query: ROW_COUNT
    /// says so.
    Slot { slot: usize, counts: bool },
    /// To be looped over.
    Rows(usize),
    /// To be looped over after what is there.
    More(usize),
    /// Added to what the function returns.
    Return,
    /// The same, if its columns are those that were declared.
    ReturnChecked,
    /// To be fetched from by the cursor in this variable.
    Open { cursor: usize, scroll: Option<bool>, held: bool },
    /// More rows of this cursor.
    Fetched(Arc<str>),
    /// Nothing, not even FOUND.
    Nothing,
}

impl Then {
    /// The same, once it is known which statement it is about.
    fn settled(&self, prepared: &Prepared) -> Then {
        match self {
            Then::Open { cursor, scroll: None, held } => {
                Then::Open { cursor: *cursor, scroll: Some(goes_back(prepared)), held: *held }
            }
            other => other.clone(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct HandlerCode {
    catches: Vec<Catch>,
    target: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TrySlots {
    state: usize,
    message: usize,
}

#[derive(Debug)]
pub(crate) struct RaiseCode {
    level: RaiseLevel,
    state: SqlState,
    message: RaiseText,
    detail: Option<Expr>,
    hint: Option<Expr>,
    code: Option<Expr>,
    about: Vec<(AboutField, Expr)>,
}

#[derive(Debug)]
enum RaiseText {
    Format(Arc<str>, Vec<Expr>),
    Expr(Expr),
    Again,
}

/// The columns of what a `record` variable holds, once it holds something.
pub(crate) type Shape = Option<Arc<[OutputColumn]>>;

/// A routine that runs.
#[derive(Clone, Debug)]
pub(crate) struct RoutineFrame {
    pub(crate) code: Arc<Code>,
    pub(crate) at: usize,
    pub(crate) locals: Vec<Value>,
    /// The column names of `record` variables, which take the shape of what they are given.
    pub(crate) shapes: Vec<Shape>,
    /// Loops over queries: rows and the next one.
    pub(crate) loops: Vec<Option<QueryLoop>>,
    /// Blocks with handlers that we are in, outermost first.
    tries: Vec<OpenTry>,
    /// Errors whose handlers we are in, outermost first.
    pub(crate) caught: Vec<SqlError>,
    /// Rows returned so far.
    pub(crate) returned: Vec<Row>,
    pub(crate) row_count: u64,
    /// What to do with the statement that is running.
    pub(crate) then: Option<Then>,
}

/// The rows of a loop over a query.
#[derive(Clone, Debug)]
pub(crate) struct QueryLoop {
    pub(crate) columns: Arc<[OutputColumn]>,
    pub(crate) rows: Arc<[Row]>,
    pub(crate) next: usize,
    /// Whether there has been a row at all.
    pub(crate) any: bool,
    /// Where further rows come from.
    pub(crate) rest: Option<Box<StatementFrame>>,
}

#[derive(Clone, Debug)]
struct OpenTry {
    handlers: Arc<[HandlerCode]>,
    slots: TrySlots,
    /// The savepoint to roll back to.
    savepoint: Option<usize>,
}

impl RoutineFrame {
    pub(crate) fn new(code: Arc<Code>, args: Vec<Value>) -> Self {
        let mut locals = args;
        locals.resize(code.variables.len(), Value::Null);
        if let Some(found) = locals.get_mut(code.found) {
            *found = Value::Bool(false);
        }
        RoutineFrame {
            at: 0,
            shapes: vec![None; locals.len()],
            locals,
            loops: vec![None; code.loops],
            tries: Vec::new(),
            caught: Vec::new(),
            returned: Vec::new(),
            row_count: 0,
            then: None,
            code,
        }
    }

    /// Whether it is inside a block with handlers.
    pub(crate) fn is_trying(&self) -> bool {
        !self.tries.is_empty()
    }

    /// Whether it has no use for the rows of the statement that it runs, only for whether there were any.
    pub(crate) fn ignores_rows(&self) -> bool {
        matches!(self.then, Some(Then::Found))
    }

    /// Goes to the innermost handler that takes an error; says which savepoint to roll back to first.
    pub(crate) fn catch(&mut self, error: &SqlError) -> Option<Option<usize>> {
        if error.is_cut() {
            return None;
        }
        while let Some(open) = self.tries.pop() {
            let handler = open.handlers.iter().find(|h| h.catches.iter().any(|c| takes(*c, error.state)));
            if let Some(handler) = handler {
                self.at = handler.target;
                self.then = None;
                self.locals[open.slots.state] = Value::text(error.state.code());
                self.locals[open.slots.message] = Value::text(error.message.clone());
                self.caught.push(error.clone());
                return Some(open.savepoint);
            }
        }
        None
    }
}

/// Whether a handler's condition covers a state; `XX000` stands for its class.
fn takes(catch: Catch, state: SqlState) -> bool {
    match catch {
        Catch::Others => !matches!(state, SqlState::QUERY_CANCELED | SqlState::ASSERT_FAILURE),
        Catch::State(s) => s == state || (s.0[2..] == *b"000" && s.0[..2] == state.0[..2]),
    }
}
