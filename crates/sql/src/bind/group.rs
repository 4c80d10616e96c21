//! Grouping: after GROUP BY, an expression may only look at keys and aggregates.
//!
//! Expressions are bound over the rows first. Then every part that equals a key becomes [`ExprKind::Group`], also
//! inside correlated subqueries; a column that remains is an error, unless the keys contain its table's primary key,
//! which determines it: then it becomes a further key.

use super::query::Item;
use super::scope::outward;
use super::{Binder, Result};
use crate::ast::{self, GroupItem};
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{Expr, ExprKind, Grouping, RelSource};
use crate::types::Type;

/// A column that is neither key nor aggregate.
struct Ungrouped {
    rel: u16,
    col: Option<u16>,
    in_subquery: bool,
}

/// More grouping sets than this are refused, as PostgreSQL does.
const SETS_MAX: usize = 4096;

/// GROUPING counts as a key from here on, until the number of keys is known.
const FIRST_MASK: usize = 1 << 32;

impl Binder<'_> {
    /// GROUP BY as the sets of keys it stands for: one without ROLLUP and its kin.
    pub(super) fn grouping_sets(&mut self, select: &ast::Select, items: &[Item]) -> Result<Vec<Vec<Expr>>> {
        let mut sets: Vec<Vec<Expr>> = vec![Vec::new()];
        for item in &select.group_by {
            let own = self.sets_of(item, items)?;
            if sets.len() * own.len() > SETS_MAX {
                let message = format!("too many grouping sets present (maximum {SETS_MAX})");
                return Err(Diagnostic::new(select.span, SqlState::STATEMENT_TOO_COMPLEX, message));
            }
            sets = sets.iter().flat_map(|set| own.iter().map(move |o| joined(set, o))).collect();
        }
        if select.group_distinct {
            let mut kept: Vec<Vec<Expr>> = Vec::new();
            for set in sets {
                if !kept.iter().any(|k| is_same_set(k, &set)) {
                    kept.push(set);
                }
            }
            sets = kept;
        }
        Ok(sets)
    }

    fn sets_of(&mut self, item: &GroupItem, items: &[Item]) -> Result<Vec<Vec<Expr>>> {
        Ok(match item {
            GroupItem::Empty(_) => vec![Vec::new()],
            GroupItem::Expr(expr) => vec![self.group_keys(expr, items)?],
            GroupItem::Rollup(list) => {
                let parts = self.group_parts(list, items)?;
                (0..=parts.len()).rev().map(|n| parts[..n].concat()).collect()
            }
            GroupItem::Cube(list) => {
                let parts = self.group_parts(list, items)?;
                if parts.len() > 12 {
                    let span = list.first().map_or(Span::default(), |e| e.span);
                    let message = "CUBE is limited to 12 elements";
                    return Err(Diagnostic::new(span, SqlState(*b"54011"), message));
                }
                let chosen = |mask: usize| {
                    let n = parts.len();
                    let part = |i: usize| mask & (1 << (n - 1 - i)) != 0;
                    (0..n).filter(|i| part(*i)).flat_map(|i| parts[i].clone()).collect::<Vec<Expr>>()
                };
                (0..1usize << parts.len()).rev().map(chosen).collect()
            }
            GroupItem::Sets(list) => {
                let mut sets = Vec::new();
                for item in list {
                    sets.extend(self.sets_of(item, items)?);
                }
                sets
            }
        })
    }

    fn group_parts(&mut self, list: &[ast::Expr], items: &[Item]) -> Result<Vec<Vec<Expr>>> {
        list.iter().map(|e| self.group_keys(e, items)).collect()
    }

    /// The keys that an expression of GROUP BY stands for: a row for its fields.
    fn group_keys(&mut self, expr: &ast::Expr, items: &[Item]) -> Result<Vec<Expr>> {
        match &expr.kind {
            ast::ExprKind::Row(fields) => fields.iter().map(|e| self.group_key(e, items)).collect(),
            _ => Ok(vec![self.group_key(expr, items)?]),
        }
    }

    /// `GROUPING(a, b)`: a number whose bits say which of these are left out.
    pub(super) fn grouping_mask(&mut self, args: &[ast::Expr], span: Span) -> Result<Expr> {
        if let Some(clause) = self.levels.last().and_then(|l| l.clause) {
            let message = format!("grouping operations are not allowed in {clause}");
            return Err(Diagnostic::new(span, SqlState::GROUPING_ERROR, message));
        }
        if args.len() > 31 {
            let message = "GROUPING must have fewer than 32 arguments";
            return Err(Diagnostic::new(span, SqlState(*b"54023"), message));
        }
        let mark = self.level().uses.len();
        let operands = args.iter().map(|e| self.value(e)).collect::<Result<Vec<Expr>>>()?;
        let level = self.level();
        level.uses.truncate(mark);
        level.masks.push(operands);
        // Its place is behind the keys, whose number is known later.
        Ok(Expr { kind: ExprKind::Group { depth: 0, key: FIRST_MASK + level.masks.len() - 1 }, ty: Type::Int4 })
    }

    /// The grouping of the innermost level, whose `exprs` are rewritten to look at it.
    pub(super) fn group(&mut self, sets: Vec<Vec<Expr>>, exprs: Vec<&mut Expr>) -> Result<Grouping> {
        let mut keys: Vec<Expr> = Vec::new();
        for key in sets.iter().flatten() {
            if !keys.iter().any(|k| k.same_as(key)) {
                keys.push(key.clone());
            }
        }
        let place = |keys: &[Expr], expr: &Expr| keys.iter().position(|k| k.same_as(expr));
        let mut places: Vec<Vec<usize>> = Vec::new();
        for set in &sets {
            let mut set: Vec<usize> = set.iter().filter_map(|e| place(&keys, e)).collect();
            set.sort_unstable();
            set.dedup();
            places.push(set);
        }
        let (sets, everywhere) = match places.len() {
            1 => (Vec::new(), keys.clone()),
            _ => {
                let common = |i: &usize| places.iter().all(|set| set.contains(i));
                let everywhere = (0..keys.len()).filter(common).map(|i| keys[i].clone()).collect();
                (places, everywhere)
            }
        };
        let masks = self.masks(&keys)?;
        let written_keys = keys.len();
        let written = everywhere;
        let mut bad: Option<Ungrouped> = None;
        let mut exprs = exprs;
        for expr in &mut exprs {
            expr.walk_mut(0, &mut |e, depth| self.regroup(e, depth, &written, &mut keys, &mut bad));
        }
        if let Some(bad) = bad {
            return Err(self.ungrouped(&bad));
        }
        for expr in exprs {
            expr.walk_mut(0, &mut |e, depth| {
                if let ExprKind::Group { depth: d, key } = &mut e.kind
                    && *d == depth
                    && *key >= FIRST_MASK
                {
                    *key = *key - FIRST_MASK + keys.len();
                }
                true
            });
        }
        let mut sets = sets;
        // Keys that came in because others determine them go wherever those are, which is everywhere.
        sets.iter_mut().for_each(|set| set.extend(written_keys..keys.len()));
        let calls = std::mem::take(&mut self.level().calls);
        Ok(Grouping { keys, sets, masks, calls, having: None })
    }

    /// The keys that each GROUPING of this level asks about.
    fn masks(&mut self, keys: &[Expr]) -> Result<Vec<Vec<usize>>> {
        let place = |expr: &Expr| {
            let found = keys.iter().position(|k| k.same_as(expr));
            found.ok_or_else(|| {
                let message = "arguments to GROUPING must be grouping expressions of the associated query level";
                Diagnostic::new(Span::default(), SqlState::GROUPING_ERROR, message)
            })
        };
        let masks = std::mem::take(&mut self.level().masks);
        masks.iter().map(|mask| mask.iter().map(place).collect()).collect()
    }

    /// One step of the rewriting; says whether to go on below.
    fn regroup(
        &self,
        expr: &mut Expr,
        depth: u16,
        written: &[Expr],
        keys: &mut Vec<Expr>,
        bad: &mut Option<Ungrouped>,
    ) -> bool {
        if let Some(key) = keys.iter().position(|key| outward(key.clone(), depth).same_as(&relabelled(expr, key.ty))) {
            expr.kind = ExprKind::Group { depth, key };
            return false;
        }
        match expr.kind {
            ExprKind::Column { depth: d, rel, col } if d == depth => {
                if self.is_determined(rel, written) {
                    keys.push(Expr { kind: ExprKind::Column { depth: 0, rel, col }, ty: self.column_type(rel, col) });
                    expr.kind = ExprKind::Group { depth, key: keys.len() - 1 };
                } else if bad.is_none() {
                    *bad = Some(Ungrouped { rel, col: Some(col), in_subquery: depth > 0 });
                }
                false
            }
            ExprKind::WholeRow { depth: d, rel } if d == depth => {
                if self.is_determined(rel, written) {
                    let width = self.levels.last().map_or(0, |l| l.rels[rel as usize].columns.len()) as u16;
                    let columns = (0..width)
                        .map(|col| Expr { kind: ExprKind::Column { depth, rel, col }, ty: self.column_type(rel, col) });
                    expr.kind = ExprKind::Row(columns.collect());
                    return true;
                }
                bad.get_or_insert(Ungrouped { rel, col: None, in_subquery: depth > 0 });
                false
            }
            _ => true,
        }
    }

    fn column_type(&self, rel: u16, col: u16) -> Type {
        self.levels.last().map_or(Type::Text, |l| l.rels[rel as usize].columns[col as usize].1)
    }

    /// Whether the keys contain the whole primary key of a table.
    fn is_determined(&self, rel: u16, keys: &[Expr]) -> bool {
        let Some(level) = self.levels.last() else { return false };
        let RelSource::Table(id) = level.rels[rel as usize].source else { return false };
        let Some(primary) = self.catalog.table(id).primary_key() else { return false };
        primary.columns.iter().all(|&pk| {
            keys.iter().any(
                |key| matches!(key.kind, ExprKind::Column { depth: 0, rel: r, col } if r == rel && col as usize == pk),
            )
        })
    }

    fn ungrouped(&mut self, bad: &Ungrouped) -> Diagnostic {
        let level = self.level();
        let rel = &level.rels[bad.rel as usize];
        let column = bad.col.map_or("*", |col| &*rel.columns[col as usize].0);
        let name = format!("{}.{column}", rel.alias);
        let used = level.uses.iter().find(|(r, c, _)| *r == bad.rel && bad.col.is_none_or(|col| col == *c));
        let span = used.map_or(Span::default(), |(.., span)| *span);
        let message = match bad.in_subquery {
            true => format!("subquery uses ungrouped column \"{name}\" from outer query"),
            false => {
                format!("column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function")
            }
        };
        Diagnostic::new(span, SqlState::GROUPING_ERROR, message)
    }
}

/// A column may have been relabelled (int to bigint) where it is used; it is the same value.
fn relabelled(expr: &Expr, ty: Type) -> Expr {
    match expr.kind {
        ExprKind::Column { .. } => Expr { ty, ..expr.clone() },
        _ => expr.clone(),
    }
}

fn joined(a: &[Expr], b: &[Expr]) -> Vec<Expr> {
    a.iter().chain(b).cloned().collect()
}

fn is_same_set(a: &[Expr], b: &[Expr]) -> bool {
    let within = |a: &[Expr], b: &[Expr]| a.iter().all(|x| b.iter().any(|y| x.same_as(y)));
    within(a, b) && within(b, a)
}
