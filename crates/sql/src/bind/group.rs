//! Grouping: after GROUP BY, an expression may only look at keys and aggregates.
//!
//! Expressions are bound over the rows first. Then every part that equals a key becomes [`ExprKind::Group`], also inside
//! correlated subqueries; a column that remains is an error, unless the keys contain its table's primary key, which
//! determines it: then it becomes a further key.

use super::scope::outward;
use super::{Binder, Result};
use crate::error::{Diagnostic, Span, SqlState};
use crate::typed::{Expr, ExprKind, Grouping, RelSource};
use crate::types::Type;

/// A column that is neither key nor aggregate.
struct Ungrouped {
    rel: u16,
    col: Option<u16>,
    in_subquery: bool,
}

impl Binder<'_> {
    /// The grouping of the innermost level, whose `exprs` are rewritten to look at it.
    pub(super) fn group(&mut self, mut keys: Vec<Expr>, exprs: Vec<&mut Expr>) -> Result<Grouping> {
        let written = keys.clone();
        let mut bad: Option<Ungrouped> = None;
        for expr in exprs {
            expr.walk_mut(0, &mut |e, depth| self.regroup(e, depth, &written, &mut keys, &mut bad));
        }
        if let Some(bad) = bad {
            return Err(self.ungrouped(&bad));
        }
        let calls = std::mem::take(&mut self.level().calls);
        Ok(Grouping { keys, calls, having: None })
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
