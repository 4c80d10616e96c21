//! Window functions: what OVER refers to, and which windows are one.
//!
//! Windows are computed one after the other, each sorting the rows anew, and the rows come out in the order of the
//! last. So the order of windows shows, and PostgreSQL's is followed: those whose keys were named last come first.

use super::overload::{Choice, choose};
use super::query::order_key;
use super::{Binder, Result};
use crate::ast::{self, FrameUnits, Ident, Over};
use crate::builtin::{self, WindowFunction};
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{AggregateCall, Expr, ExprKind, Frame, FrameBound, FrameOffset, OrderKey, Window, WindowCall};
use crate::types::Type;

const WINDOWING: SqlState = SqlState(*b"42P20");

impl Binder<'_> {
    /// A call with OVER.
    pub(super) fn windowed(&mut self, call: &ast::Call, over: &Over, span: Span) -> Result<Expr> {
        let name = &*call.name.name.name;
        self.refuse_window(span)?;
        if call.distinct {
            return Err(unsupported(span, "DISTINCT is not implemented for window functions"));
        }
        if !call.within_group.is_empty() {
            let message = format!("OVER is not supported for ordered-set aggregate {name}");
            return Err(unsupported(span, &message));
        }
        if !call.order_by.is_empty() {
            return Err(unsupported(span, "aggregate ORDER BY is not implemented for window functions"));
        }
        let bound = match builtin::window_functions(name).next() {
            Some(_) => {
                if call.filter.is_some() {
                    let message = "FILTER is not implemented for non-aggregate window functions";
                    return Err(unsupported(span, message));
                }
                self.window_function(call, span)?
            }
            None if builtin::aggregates(name).next().is_some() => {
                WindowCall::Aggregate(self.window_aggregate(call, span)?)
            }
            None => {
                let message = format!("OVER specified, but {name} is not a window function nor an aggregate function");
                return Err(Diagnostic::new(span, SqlState::WRONG_OBJECT_TYPE, message));
            }
        };
        let ty = bound.ty();
        let window = self.over(over)?;
        let level = self.level();
        let number = level.windowed;
        level.windowed += 1;
        level.windows[window].calls.push((number, bound));
        Ok(Expr { kind: ExprKind::Windowed(number), ty })
    }

    /// Whether window functions may stand here.
    fn refuse_window(&mut self, span: Span) -> Result<()> {
        let Some(level) = self.levels.last() else {
            let message = "window functions are not allowed in PL/pgSQL expressions";
            return Err(Diagnostic::new(span, WINDOWING, message));
        };
        match level.clause.or(level.windowless) {
            Some("window functions") => Err(Diagnostic::new(span, WINDOWING, "window function calls cannot be nested")),
            Some("aggregates") => {
                let message = "aggregate function calls cannot contain window function calls";
                Err(Diagnostic::new(span, SqlState::GROUPING_ERROR, message))
            }
            Some(clause) => {
                Err(Diagnostic::new(span, WINDOWING, format!("window functions are not allowed in {clause}")))
            }
            None => Ok(()),
        }
    }

    /// Runs `bind` where aggregates are allowed and window functions are not.
    pub(super) fn windowless<T>(
        &mut self,
        clause: &'static str,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.levels.is_empty() {
            return bind(self);
        }
        let before = self.level().windowless.replace(clause);
        let result = bind(self);
        self.level().windowless = before;
        result
    }

    fn window_function(&mut self, call: &ast::Call, span: Span) -> Result<WindowCall> {
        let name = &*call.name.name.name;
        let operands = self.windowless("window functions", |b| b.operands(&call.args))?;
        let given: Vec<Type> = operands.iter().map(|(e, _)| e.ty).collect();
        let candidates: Vec<&'static WindowFunction> =
            builtin::window_functions(name).filter(|f| f.args.len() == given.len()).collect();
        let params: Vec<Vec<Type>> = candidates.iter().map(|f| f.args.to_vec()).collect();
        let (function, params) = match choose(&params, &given, false) {
            Choice::One(position, params) => (candidates[position], params),
            _ => return Err(self.no_such_function(&call.name, &given, span)),
        };
        let args = self.arguments(operands, &params)?;
        let ty = match function.returns {
            Type::Unknown => params.first().copied().unwrap_or(Type::Text),
            known => known,
        };
        Ok(WindowCall::Function { function, args, ty })
    }

    fn window_aggregate(&mut self, call: &ast::Call, span: Span) -> Result<AggregateCall> {
        self.windowless("window functions", |b| b.aggregate_call(call, span))
    }

    /// The window that OVER means: its position in the level's list.
    fn over(&mut self, over: &Over) -> Result<usize> {
        match over {
            Over::Name(name) => match self.named_window(name)? {
                found if found < self.level().windows.len() => Ok(found),
                _ => Err(no_window(name)),
            },
            Over::Spec(spec) => {
                let window = self.window(spec)?;
                let level = self.level();
                let named = level.named_windows.len().min(level.windows.len());
                let same = level.windows.iter().skip(named).position(|w| is_same(w, &window));
                match same {
                    Some(found) => Ok(named + found),
                    None => {
                        level.windows.push(window);
                        Ok(level.windows.len() - 1)
                    }
                }
            }
        }
    }

    /// The windows of WINDOW; each may refine those before it.
    pub(super) fn define_windows(&mut self, windows: &[(Ident, ast::WindowSpec)]) -> Result<()> {
        for (i, (name, spec)) in windows.iter().enumerate() {
            if windows[..i].iter().any(|(other, _)| other.name == name.name) {
                let message = format!("window \"{}\" is already defined", name.name);
                return Err(Diagnostic::new(name.span, WINDOWING, message));
            }
            let window = self.window(spec)?;
            let level = self.level();
            level.named_windows.push((name.clone(), spec.clone()));
            level.windows.push(window);
        }
        Ok(())
    }

    fn named_window(&mut self, name: &Ident) -> Result<usize> {
        let found = self.level().named_windows.iter().position(|(n, _)| n.name == name.name);
        found.ok_or_else(|| no_window(name))
    }

    fn window(&mut self, spec: &ast::WindowSpec) -> Result<Window> {
        let mut partition_by = Vec::new();
        let mut order_by = Vec::new();
        for key in &spec.partition_by {
            partition_by.push(self.windowless("window definitions", |b| b.value(key))?);
        }
        for key in &spec.order_by {
            let expr = self.windowless("window definitions", |b| b.value(&key.expr))?;
            order_by.push(order_key(key, expr));
        }
        if let Some(base) = &spec.base {
            let at = self.named_window(base)?;
            let refined = self.level().windows[at].clone();
            let refuse = |what: String| Err(Diagnostic::new(spec.span, WINDOWING, what));
            if !spec.partition_by.is_empty() {
                return refuse(format!("cannot override PARTITION BY clause of window \"{}\"", base.name));
            }
            if !spec.order_by.is_empty() && !refined.order_by.is_empty() {
                return refuse(format!("cannot override ORDER BY clause of window \"{}\"", base.name));
            }
            if self.level().named_windows[at].1.frame.is_some() {
                return refuse(format!("cannot copy window \"{}\" because it has a frame clause", base.name));
            }
            partition_by = refined.partition_by;
            if order_by.is_empty() {
                order_by = refined.order_by;
            }
        }
        let frame = match &spec.frame {
            Some(frame) => self.frame(frame, &order_by)?,
            None => Frame {
                units: FrameUnits::Range,
                start: FrameBound::UnboundedPreceding,
                end: FrameBound::CurrentRow,
                exclude: ast::FrameExclude::NoOthers,
            },
        };
        Ok(Window { partition_by, order_by, frame, calls: Vec::new() })
    }

    fn frame(&mut self, frame: &ast::Frame, order_by: &[OrderKey]) -> Result<Frame> {
        let refuse = |message: &str| Err(Diagnostic::new(frame.span, WINDOWING, message));
        if frame.units == FrameUnits::Groups && order_by.is_empty() {
            return refuse("GROUPS mode requires an ORDER BY clause");
        }
        let measured = [&frame.start, &frame.end]
            .iter()
            .any(|b| matches!(b, ast::FrameBound::Preceding(_) | ast::FrameBound::Following(_)));
        if frame.units == FrameUnits::Range && measured && order_by.len() != 1 {
            return refuse("RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column");
        }
        Ok(Frame {
            units: frame.units,
            start: self.bound(&frame.start, frame.units, order_by)?,
            end: self.bound(&frame.end, frame.units, order_by)?,
            exclude: frame.exclude,
        })
    }

    fn bound(&mut self, bound: &ast::FrameBound, units: FrameUnits, order_by: &[OrderKey]) -> Result<FrameBound> {
        Ok(match bound {
            ast::FrameBound::UnboundedPreceding => FrameBound::UnboundedPreceding,
            ast::FrameBound::UnboundedFollowing => FrameBound::UnboundedFollowing,
            ast::FrameBound::CurrentRow => FrameBound::CurrentRow,
            ast::FrameBound::Preceding(e) => FrameBound::Preceding(self.offset(e, units, order_by)?),
            ast::FrameBound::Following(e) => FrameBound::Following(self.offset(e, units, order_by)?),
        })
    }

    fn offset(&mut self, expr: &ast::Expr, units: FrameUnits, order_by: &[OrderKey]) -> Result<FrameOffset> {
        let (clause, windowless) = match units {
            FrameUnits::Rows => ("ROWS", "window ROWS"),
            FrameUnits::Groups => ("GROUPS", "window GROUPS"),
            FrameUnits::Range => ("RANGE", "window RANGE"),
        };
        let bound = self.in_clause(windowless, |b| b.expr(expr))?;
        let mut has_columns = false;
        bound.walk(0, &mut |e, d| {
            has_columns |=
                matches!(e.kind, ExprKind::Column { depth, .. } | ExprKind::WholeRow { depth, .. } if depth == d);
        });
        if has_columns {
            let message = format!("argument of {clause} must not contain variables");
            return Err(Diagnostic::new(expr.span, SqlState::INVALID_COLUMN_REFERENCE, message));
        }
        if units != FrameUnits::Range {
            let from = bound.ty;
            return match self.convert(bound, Type::Int8, crate::types::CastLevel::Assignment, expr.span)? {
                Some(distance) => Ok(FrameOffset { distance, reach: None }),
                None => {
                    let message = format!("argument of {clause} must be type bigint, not type {}", from.base());
                    Err(Diagnostic::new(expr.span, SqlState::DATATYPE_MISMATCH, message))
                }
            };
        }
        let key = order_by.first().map_or(Type::Text, |k| k.expr.ty.base());
        let wanted = match key {
            Type::Int2 | Type::Int4 | Type::Int8 | Type::Numeric(_) | Type::Float8 => match bound.ty {
                Type::Unknown => key,
                given if given.is_number() => given,
                _ => return Err(no_range(key, bound.ty, expr.span)),
            },
            Type::Date | Type::Timestamp | Type::Timestamptz | Type::Interval => match bound.ty {
                Type::Unknown | Type::Interval => Type::Interval,
                _ => return Err(no_range(key, bound.ty, expr.span)),
            },
            other => {
                let message = format!("RANGE with offset PRECEDING/FOLLOWING is not supported for column type {other}");
                return Err(unsupported(expr.span, &message));
            }
        };
        let fits = match (key, wanted) {
            (Type::Int2 | Type::Int4 | Type::Int8, w) => w.is_integer(),
            (Type::Numeric(_), w) => w.is_number() && w != Type::Float8,
            _ => true,
        };
        if !fits {
            return Err(no_range(key, wanted, expr.span));
        }
        // Distances are measured in the type of the key, where they cannot overflow.
        let (operand, distance_ty) = match key {
            Type::Int2 | Type::Int4 | Type::Int8 | Type::Numeric(_) => (Type::Numeric(None), Type::Numeric(None)),
            Type::Float8 => (Type::Float8, Type::Float8),
            Type::Date => (Type::Timestamp, Type::Interval),
            other => (other, Type::Interval),
        };
        let distance = self.implicit(bound, distance_ty, expr.span)?;
        let reach = builtin::find("-", &[operand, distance_ty]).zip(builtin::find("+", &[operand, distance_ty]));
        Ok(FrameOffset { distance, reach })
    }

    /// Brings windows into the order in which they are computed, and drops those that compute nothing.
    pub(super) fn arrange_windows(&self, windows: Vec<Window>, order_by: &[OrderKey]) -> Vec<Window> {
        let mut named: Vec<Expr> = Vec::new();
        let mut refer = |expr: &Expr| {
            if !named.iter().any(|n| n.same_as(expr)) {
                named.push(expr.clone());
            }
        };
        order_by.iter().for_each(|k| refer(&k.expr));
        for window in &windows {
            window.order_by.iter().for_each(|k| refer(&k.expr));
            window.partition_by.iter().for_each(&mut refer);
        }
        let reference = |expr: &Expr| named.iter().position(|n| n.same_as(expr)).unwrap_or(usize::MAX);
        let keys = |window: &Window| {
            let direction = |e: &Expr| {
                let ordered = window.order_by.iter().find(|k| k.expr.same_as(e));
                ordered.map_or((false, false), |k| (k.descending, k.nulls_first))
            };
            let partition = window.partition_by.iter().map(|e| (reference(e), direction(e).0, direction(e).1));
            let order = window.order_by.iter().map(|k| (reference(&k.expr), k.descending, k.nulls_first));
            let mut keys: Vec<(usize, bool, bool)> = Vec::new();
            for key in partition.chain(order) {
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
            keys
        };
        let mut active: Vec<Window> = windows.into_iter().filter(|w| !w.calls.is_empty()).collect();
        active.sort_by(|a, b| {
            let (a, b) = (keys(a), keys(b));
            let pairs = a.iter().zip(&b).map(|(x, y)| y.cmp(x)).find(|o| o.is_ne());
            pairs.unwrap_or_else(|| b.len().cmp(&a.len()))
        });
        active
    }
}

/// Every expression of some windows, to be rewritten.
pub(super) fn window_exprs(windows: &mut [Window]) -> Vec<&mut Expr> {
    let mut all = Vec::new();
    for window in windows {
        all.extend(window.partition_by.iter_mut());
        all.extend(window.order_by.iter_mut().map(|k| &mut k.expr));
        for (_, call) in &mut window.calls {
            match call {
                WindowCall::Function { args, .. } => all.extend(args.iter_mut()),
                WindowCall::Aggregate(call) => all.extend(call.args.iter_mut().chain(&mut call.filter)),
            }
        }
    }
    all
}

fn is_same(a: &Window, b: &Window) -> bool {
    let bound = |x: &FrameBound, y: &FrameBound| match (x, y) {
        (FrameBound::Preceding(a), FrameBound::Preceding(b)) | (FrameBound::Following(a), FrameBound::Following(b)) => {
            a.distance.same_as(&b.distance)
        }
        _ => std::mem::discriminant(x) == std::mem::discriminant(y),
    };
    let partition = |a: &[Expr], b: &[Expr]| a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.same_as(y));
    let key = |x: &OrderKey, y: &OrderKey| {
        x.expr.same_as(&y.expr) && x.descending == y.descending && x.nulls_first == y.nulls_first
    };
    partition(&a.partition_by, &b.partition_by)
        && a.order_by.len() == b.order_by.len()
        && a.order_by.iter().zip(&b.order_by).all(|(x, y)| key(x, y))
        && (a.frame.units, a.frame.exclude) == (b.frame.units, b.frame.exclude)
        && bound(&a.frame.start, &b.frame.start)
        && bound(&a.frame.end, &b.frame.end)
}

fn unsupported(span: Span, message: &str) -> Diagnostic {
    Diagnostic::new(span, SqlState::FEATURE_NOT_SUPPORTED, message)
}

fn no_window(name: &Ident) -> Diagnostic {
    Diagnostic::new(name.span, SqlState::UNDEFINED_OBJECT, format!("window \"{}\" does not exist", name.name))
}

fn no_range(key: Type, distance: Type, span: Span) -> Diagnostic {
    let message = format!(
        "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {key} and offset type {}",
        distance.base()
    );
    unsupported(span, &message).hint("Cast the offset value to an appropriate type.")
}
