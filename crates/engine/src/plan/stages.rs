//! What few queries do between joining and the select list: windows, functions that yield rows, DISTINCT ON.

use isolde_sql::Type;
use isolde_sql::ast::{FrameExclude, FrameUnits};
use isolde_sql::builtin::{Builtin, SetFunction, WindowKind};
use isolde_sql::catalog::{Catalog, RoutineId};
use isolde_sql::typed::{self, Expansion, FrameBound, FrameOffset, Select, WindowCall};

use super::expr::exprs;
use super::{AggregatePlan, Expr, SortKey, aggregate, expr, sort_keys};

/// The stages of a select that has any.
#[derive(Clone, Debug)]
pub(crate) struct StagesPlan {
    pub(crate) windows: Vec<WindowPlan>,
    /// How many functions all windows have.
    pub(crate) windowed: usize,
    pub(crate) expansions: Vec<ExpansionPlan>,
    /// How many of the first sort keys tell rows apart.
    pub(crate) distinct_on: usize,
}

/// How to compute over a window.
#[derive(Clone, Debug)]
pub(crate) struct WindowPlan {
    pub(crate) partition_by: Vec<SortKey>,
    pub(crate) order_by: Vec<SortKey>,
    pub(crate) frame: FramePlan,
    pub(crate) calls: Vec<(usize, CallPlan)>,
}

/// Which rows count.
#[derive(Clone, Debug)]
pub(crate) struct FramePlan {
    pub(crate) units: FrameUnits,
    pub(crate) start: BoundPlan,
    pub(crate) end: BoundPlan,
    pub(crate) exclude: FrameExclude,
    /// RANGE: what the sort key is converted to before distances are measured.
    pub(crate) measured: Option<(Type, Type)>,
}

/// Where a frame begins or ends.
#[derive(Clone, Debug)]
pub(crate) enum BoundPlan {
    UnboundedPreceding,
    Preceding(Expr, Option<Reach>),
    CurrentRow,
    Following(Expr, Option<Reach>),
    UnboundedFollowing,
}

/// `key - distance` and `key + distance`.
pub(crate) type Reach = (&'static Builtin, &'static Builtin);

/// What is computed over a window.
#[derive(Clone, Debug)]
pub(crate) enum CallPlan {
    Function(WindowKind, Vec<Expr>),
    Aggregate(AggregatePlan),
}

/// A function of the select list that yields rows.
#[derive(Clone, Debug)]
pub(crate) enum ExpansionPlan {
    Function(SetFunction, Vec<Expr>),
    Routine(RoutineId, Vec<Expr>),
}

/// Plans the stages of a select, if it has any.
pub(super) fn stages(catalog: &Catalog, s: &Select) -> Option<Box<StagesPlan>> {
    if s.windows.is_empty() && s.expansions.is_empty() && s.distinct_on == 0 {
        return None;
    }
    let expansion = |e: &Expansion| match e {
        Expansion::Function(f, args) => ExpansionPlan::Function(*f, exprs(catalog, args)),
        Expansion::Routine(id, args) => ExpansionPlan::Routine(*id, exprs(catalog, args)),
    };
    Some(Box::new(StagesPlan {
        windows: s.windows.iter().map(|w| window(catalog, w)).collect(),
        windowed: s.windows.iter().map(|w| w.calls.len()).sum(),
        expansions: s.expansions.iter().map(expansion).collect(),
        distinct_on: s.distinct_on,
    }))
}

fn window(catalog: &Catalog, w: &typed::Window) -> WindowPlan {
    let call = |(number, call): &(usize, WindowCall)| {
        let plan = match call {
            WindowCall::Function { function, args, .. } => CallPlan::Function(function.kind, exprs(catalog, args)),
            WindowCall::Aggregate(call) => CallPlan::Aggregate(aggregate(catalog, call)),
        };
        (*number, plan)
    };
    let reach = |offset: &FrameOffset| (expr(catalog, &offset.distance), offset.reach);
    let mut measured = None;
    let mut bound = |bound: &FrameBound| {
        if let FrameBound::Preceding(FrameOffset { reach: Some((minus, _)), .. })
        | FrameBound::Following(FrameOffset { reach: Some((minus, _)), .. }) = bound
        {
            measured = w.order_by.first().map(|key| (key.expr.ty, minus.args[0]));
        }
        match bound {
            FrameBound::UnboundedPreceding => BoundPlan::UnboundedPreceding,
            FrameBound::UnboundedFollowing => BoundPlan::UnboundedFollowing,
            FrameBound::CurrentRow => BoundPlan::CurrentRow,
            FrameBound::Preceding(offset) => {
                let (distance, reach) = reach(offset);
                BoundPlan::Preceding(distance, reach)
            }
            FrameBound::Following(offset) => {
                let (distance, reach) = reach(offset);
                BoundPlan::Following(distance, reach)
            }
        }
    };
    let (start, end) = (bound(&w.frame.start), bound(&w.frame.end));
    WindowPlan {
        partition_by: w.partition_by.iter().map(|e| partition_key(catalog, w, e)).collect(),
        order_by: sort_keys(catalog, &w.order_by),
        frame: FramePlan { units: w.frame.units, start, end, exclude: w.frame.exclude, measured },
        calls: w.calls.iter().map(call).collect(),
    }
}

/// Partitions are sorted upwards, unless the order says otherwise of the same expression.
fn partition_key(catalog: &Catalog, w: &typed::Window, e: &typed::Expr) -> SortKey {
    let ordered = w.order_by.iter().find(|key| key.expr.same_as(e));
    SortKey {
        expr: expr(catalog, e),
        descending: ordered.is_some_and(|key| key.descending),
        nulls_first: ordered.is_some_and(|key| key.nulls_first),
    }
}
