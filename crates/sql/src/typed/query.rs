//! Parts of queries that few of them have: WITH, windows, functions that yield rows, MERGE.

use super::*;
use crate::ast::{FrameExclude, FrameUnits};
use crate::builtin::WindowFunction;

/// A WITH query.
#[derive(Clone, Debug)]
pub struct With {
    /// What it is called.
    pub name: Arc<str>,
    /// What it is.
    pub body: WithBody,
}

/// What a WITH query is. Queries are computed when they are first read, and once; changes are made in any case.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum WithBody {
    Query(Box<Query>),
    /// `first UNION [ALL] step`, where `step` reads [`RelSource::Working`] until it finds nothing more.
    Recursive {
        first: Box<Query>,
        step: Box<Query>,
        all: bool,
    },
    /// INSERT, UPDATE or DELETE, with its rows from RETURNING. Only a statement of its own has such.
    Modify(Box<Statement>),
}

/// A window, and what is computed over it.
#[derive(Clone, Debug)]
pub struct Window {
    /// `PARTITION BY`
    pub partition_by: Vec<Expr>,
    /// `ORDER BY`
    pub order_by: Vec<OrderKey>,
    /// The rows that count.
    pub frame: Frame,
    /// What is computed, and the number it has as [`ExprKind::Windowed`].
    pub calls: Vec<(usize, WindowCall)>,
}

/// Which rows around the row at hand count.
#[derive(Clone, Debug)]
pub struct Frame {
    /// What bounds are measured in.
    pub units: FrameUnits,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
    /// Rows that do not count all the same.
    pub exclude: FrameExclude,
}

/// Where a frame begins or ends; offsets depend on no row.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(FrameOffset),
    CurrentRow,
    Following(FrameOffset),
    UnboundedFollowing,
}

/// How far a bound lies from the row at hand.
#[derive(Clone, Debug)]
pub struct FrameOffset {
    /// The distance.
    pub distance: Expr,
    /// RANGE: `key - distance` and `key + distance`.
    pub reach: Option<(&'static Builtin, &'static Builtin)>,
}

/// A function over a window.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum WindowCall {
    /// One that looks at rows by their places.
    Function { function: &'static WindowFunction, args: Vec<Expr>, ty: Type },
    /// An aggregate of the frame.
    Aggregate(AggregateCall),
}

impl WindowCall {
    /// The type of its result.
    pub fn ty(&self) -> Type {
        match self {
            WindowCall::Function { ty, .. } => *ty,
            WindowCall::Aggregate(call) => call.ty,
        }
    }
}

/// A function of the select list that yields rows.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Expansion {
    Function(SetFunction, Vec<Expr>),
    Routine(RoutineId, Vec<Expr>),
}

/// One of several functions in FROM.
#[derive(Clone, Debug)]
pub struct RowsPart {
    /// A function, a routine or a query of one row.
    pub source: RelSource,
    /// How many columns it has.
    pub width: usize,
}

/// `MERGE`: the target is rel 0, the source follows.
#[derive(Clone, Debug)]
pub struct Merge {
    /// `WITH`
    pub with: Vec<With>,
    /// The table.
    pub table: TableId,
    /// The source joined to the target; where rows may be inserted, by an outer join that keeps the source.
    pub select: Select,
    /// What to do, the first that fits.
    pub whens: Vec<MergeWhen>,
}

/// `WHEN [NOT] MATCHED [AND condition] THEN action`
#[derive(Clone, Debug)]
pub struct MergeWhen {
    /// For source rows that have found a target row.
    pub matched: bool,
    /// `AND`
    pub condition: Option<Expr>,
    /// `THEN`
    pub action: MergeAction,
}

impl MergeWhen {
    /// Its condition, and the values that it writes.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let (set, values): (&[_], &[_]) = match &self.action {
            MergeAction::Update(set) => (set, &[]),
            MergeAction::Insert(values) => (&[], values),
            MergeAction::Delete | MergeAction::Nothing => (&[], &[]),
        };
        self.condition.iter().chain(set.iter().map(|(_, e)| e)).chain(values)
    }
}

/// What MERGE does with a row.
#[derive(Clone, Debug)]
pub enum MergeAction {
    /// Column and new value.
    Update(Vec<(usize, Expr)>),
    /// `DELETE`
    Delete,
    /// One expression per table column, defaults and casts filled in.
    Insert(Vec<Expr>),
    /// `DO NOTHING`
    Nothing,
}

impl Query {
    /// A query that is only a body.
    pub fn of(columns: Vec<OutputColumn>, body: QueryBody) -> Query {
        let (with, order_by, locking) = (Vec::new(), Vec::new(), Vec::new());
        Query { with, columns, body, order_by, limit: None, with_ties: false, offset: None, locking }
    }
}

impl Select {
    /// `SELECT projection`, from nowhere.
    pub fn bare(projection: Vec<Expr>) -> Select {
        Select {
            rels: Vec::new(),
            from: None,
            filter: None,
            grouping: None,
            windows: Vec::new(),
            expansions: Vec::new(),
            projection,
            distinct: false,
            distinct_on: 0,
        }
    }
}
