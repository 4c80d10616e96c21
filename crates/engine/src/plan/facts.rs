//! What an expression depends on.

use std::collections::BTreeSet;

use isolde_sql::builtin::Eval;
use isolde_sql::typed::{Expr, ExprKind, Query, RelSource, Select};

use crate::footprint::ColumnSet;

/// The relations of one select.
pub(super) type RelSet = BTreeSet<usize>;

/// What evaluating an expression needs, as far as planning cares.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Relations of this level, also when a subquery refers to them.
    pub(super) rels: RelSet,
    /// It contains a subquery.
    pub(super) subquery: bool,
    /// Two evaluations may differ: it calls a routine, or draws from a sequence or the dice.
    pub(super) volatile: bool,
    /// It uses a variable.
    pub(super) params: bool,
    /// It can be evaluated from a row and the variables alone, by anybody, at any time.
    pub(super) local: bool,
}

/// The facts about an expression of this level.
pub(super) fn facts(e: &Expr) -> Facts {
    let mut facts = Facts { local: true, ..Facts::default() };
    e.walk(0, &mut |e, level| {
        facts.subquery |= e.subquery().is_some();
        match &e.kind {
            ExprKind::Column { depth, rel, .. } | ExprKind::WholeRow { depth, rel } => {
                if *depth == level {
                    facts.rels.insert(usize::from(*rel));
                }
                facts.local &= *depth == 0;
            }
            ExprKind::Group { .. } | ExprKind::Aggregated { .. } | ExprKind::Output(_) => facts.local = false,
            ExprKind::Windowed(_) | ExprKind::Expanded(_) => facts.local = false,
            ExprKind::Param(_) => facts.params = true,
            ExprKind::NamedField(..) => {
                facts.params = true;
                facts.local = false;
            }
            ExprKind::Routine(..) => facts.volatile = true,
            ExprKind::Call(builtin, _) => {
                if let Eval::Session(function) = builtin.eval {
                    facts.local = false;
                    facts.volatile |= !function.is_stable();
                }
            }
            _ => {}
        }
    });
    facts.local &= !facts.subquery && !facts.volatile;
    facts
}

/// The nearest enclosing query that `query` refers to: 1 is the one around it; `None` if it refers to none.
pub(super) fn outward(query: &Query) -> Option<u16> {
    let mut nearest: Option<u16> = None;
    query.walk(0, &mut |e, level| {
        let depth = match &e.kind {
            ExprKind::Column { depth, .. } | ExprKind::WholeRow { depth, .. } => *depth,
            ExprKind::Group { depth, .. } | ExprKind::Aggregated { depth, .. } => *depth,
            _ => return,
        };
        if depth > level {
            nearest = Some(nearest.map_or(depth - level, |n| n.min(depth - level)));
        }
    });
    // A WITH query has the same rows for one execution of the query it belongs to, while that is in progress other ones
    // each round.
    query.sources(0, &mut |source, level| {
        let depth = match source {
            RelSource::With { depth, .. } if *depth > level => *depth - level + 1,
            RelSource::Working { depth, .. } if *depth > level => *depth - level,
            _ => return,
        };
        nearest = Some(nearest.map_or(depth, |n| n.min(depth)));
    });
    nearest
}

/// The relations of the select around it that a relation's source refers to.
pub(super) fn source_rels(source: &RelSource) -> RelSet {
    let mut rels = RelSet::new();
    match source {
        RelSource::Table(_) | RelSource::With { .. } | RelSource::Working { .. } => {}
        RelSource::RowsFrom { parts, .. } => parts.iter().for_each(|part| rels.extend(source_rels(&part.source))),
        RelSource::Query { query, .. } => rels = query_rels(query),
        RelSource::Function(_, args) | RelSource::Routine(_, args) => {
            args.iter().for_each(|arg| rels.extend(facts(arg).rels));
        }
    }
    rels
}

/// The relations of the select around it that a query refers to.
pub(super) fn query_rels(query: &Query) -> RelSet {
    let mut rels = RelSet::new();
    query.walk(1, &mut |e, level| rels.extend(rel_at(e, level)));
    rels
}

fn rel_at(e: &Expr, level: u16) -> Option<usize> {
    match &e.kind {
        ExprKind::Column { depth, rel, .. } | ExprKind::WholeRow { depth, rel } if *depth == level => {
            Some((*rel).into())
        }
        _ => None,
    }
}

/// The columns used of each relation of a select, anywhere inside it.
pub(super) struct Used(Vec<ColumnSet>);

impl Used {
    pub(super) fn of_select(select: &Select, also: &[&Expr]) -> Used {
        let mut used = Used(vec![ColumnSet::NONE; select.rels.len()]);
        select.exprs(&mut |e| e.walk(0, &mut |e, level| used.add(e, level)));
        select.queries(&mut |q| q.walk(1, &mut |e, level| used.add(e, level)));
        also.iter().for_each(|e| e.walk(0, &mut |e, level| used.add(e, level)));
        used
    }

    pub(super) fn of_rel(&self, rel: usize) -> ColumnSet {
        self.0.get(rel).copied().unwrap_or(ColumnSet::ALL)
    }

    fn add(&mut self, e: &Expr, level: u16) {
        match &e.kind {
            ExprKind::Column { depth, rel, col } if *depth == level => {
                if let Some(set) = self.0.get_mut(usize::from(*rel)) {
                    set.insert(usize::from(*col));
                }
            }
            ExprKind::WholeRow { depth, rel } if *depth == level => {
                if let Some(set) = self.0.get_mut(usize::from(*rel)) {
                    *set = ColumnSet::ALL;
                }
            }
            _ => {}
        }
    }
}

/// The conjuncts of a condition, left to right.
pub(super) fn conjuncts<'e>(e: &'e Expr, out: &mut Vec<&'e Expr>) {
    match &e.kind {
        ExprKind::And(list) => list.iter().for_each(|e| conjuncts(e, out)),
        _ => out.push(e),
    }
}
