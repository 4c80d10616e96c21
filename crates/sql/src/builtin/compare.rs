//! The six comparisons, of any type: [`Value`]'s order is the type's B-tree order.

use std::cmp::Ordering;

use super::args::{Args, Result};
use crate::value::Value;

fn compare(args: &[Value], holds: fn(Ordering) -> bool) -> Result {
    Ok(Value::Bool(holds(args.any(0)?.cmp(args.any(1)?))))
}

pub(super) fn eq(args: &[Value]) -> Result {
    compare(args, Ordering::is_eq)
}

pub(super) fn ne(args: &[Value]) -> Result {
    compare(args, Ordering::is_ne)
}

pub(super) fn lt(args: &[Value]) -> Result {
    compare(args, Ordering::is_lt)
}

pub(super) fn le(args: &[Value]) -> Result {
    compare(args, Ordering::is_le)
}

pub(super) fn gt(args: &[Value]) -> Result {
    compare(args, Ordering::is_gt)
}

pub(super) fn ge(args: &[Value]) -> Result {
    compare(args, Ordering::is_ge)
}
