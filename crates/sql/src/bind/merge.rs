//! MERGE: a source joined to a target, and what becomes of each pair.

use super::dml::{default_of, fit_targets};
use super::{Binder, Result};
use crate::ast::{self, JoinKind};
use crate::catalog::Table;
use crate::error::{Diagnostic, SqlState};
use crate::typed::{Expr, From, Merge, MergeAction, MergeWhen, Select};

impl Binder<'_> {
    /// `MERGE`
    pub(super) fn merge(&mut self, merge: &ast::Merge) -> Result<Merge> {
        let (before, with) = self.push_with(&merge.with)?;
        let table = self.table(&merge.table)?;
        reachable(&merge.whens)?;
        let bind = |b: &mut Self| {
            let target = b.target(table, merge.alias.as_ref())?;
            let source = b.merge_source(&merge.source)?;
            let on = b.in_clause("JOIN conditions", |b| b.condition(&merge.on, "JOIN/ON"))?;
            let whens = merge.whens.iter().map(|when| b.merge_when(table, when)).collect::<Result<Vec<_>>>()?;
            Ok((target, source, on, whens))
        };
        let ((target, source, on, whens), level) = self.in_level(bind)?;
        self.with.truncate(before);
        // Source rows that match nothing count only if something may come of them.
        let kind = match whens.iter().any(|w| !w.matched) {
            true => JoinKind::Left,
            false => JoinKind::Inner,
        };
        let from = From::Join { kind, left: Box::new(source), right: Box::new(target), on: Some(on) };
        let select = Select { rels: level.rels, from: Some(from), ..Select::bare(Vec::new()) };
        Ok(Merge { with, table: table.id, select, whens })
    }

    fn merge_source(&mut self, source: &ast::TableRef) -> Result<From> {
        // The target stands before the source only for us: the source must not see it.
        let level = self.level();
        let hidden = (std::mem::take(&mut level.visible), std::mem::take(&mut level.columns));
        let part = self.from(std::slice::from_ref(source)).map_err(|e| match e.state {
            SqlState::DUPLICATE_ALIAS => Diagnostic { message: e.message.replacen("table name", "name", 1), ..e },
            _ => e,
        });
        let level = self.level();
        let (mut visible, mut columns) = hidden;
        visible.append(&mut level.visible);
        columns.append(&mut level.columns);
        (level.visible, level.columns) = (visible, columns);
        Ok(part?.expect("MERGE has a source"))
    }

    fn merge_when(&mut self, table: &Table, when: &ast::MergeWhen) -> Result<MergeWhen> {
        let hidden = match when.matched {
            true => None,
            false => Some(self.hide_target()),
        };
        let bound = self.merge_parts(table, when);
        if let Some((visible, columns)) = hidden {
            let level = self.level();
            (level.visible, level.columns) = (visible, columns);
        }
        bound
    }

    fn merge_parts(&mut self, table: &Table, when: &ast::MergeWhen) -> Result<MergeWhen> {
        let condition = when.condition.as_ref();
        let condition =
            condition.map(|c| self.in_clause("MERGE WHEN conditions", |b| b.condition(c, "WHEN"))).transpose()?;
        let action = match &when.action {
            ast::MergeAction::Nothing => MergeAction::Nothing,
            ast::MergeAction::Delete => MergeAction::Delete,
            ast::MergeAction::Update(set) => MergeAction::Update(self.assignments(table, &None, set)?),
            ast::MergeAction::Insert { columns, overriding, values } => {
                let mut targets = self.targets(table, columns)?;
                let values = match values {
                    None => {
                        targets.clear();
                        Vec::new()
                    }
                    Some(values) => {
                        fit_targets(&mut targets, values.len(), !columns.is_empty(), when.span)?;
                        self.insert_row(table, &targets, values, *overriding)?
                    }
                };
                MergeAction::Insert(all_columns(table, &targets, values))
            }
        };
        Ok(MergeWhen { matched: when.matched, condition, action })
    }

    /// There is no target row to look at.
    fn hide_target(&mut self) -> (Vec<usize>, Vec<super::scope::ScopeColumn>) {
        let level = self.level();
        let width = level.rels.first().map_or(0, |r| r.columns.len());
        let visible = level.visible.clone();
        let columns = level.columns.clone();
        level.visible.retain(|rel| *rel != 0);
        level.columns.drain(..width.min(level.columns.len()));
        (visible, columns)
    }
}

/// One value per column of the table.
fn all_columns(table: &Table, targets: &[usize], values: Vec<Expr>) -> Vec<Expr> {
    let mut given: Vec<(usize, Expr)> = targets.iter().copied().zip(values).collect();
    let value = |(i, column)| match given.iter().position(|(t, _)| *t == i) {
        Some(at) => given.swap_remove(at).1,
        None => default_of(column),
    };
    table.columns.iter().enumerate().map(value).collect()
}

/// A WHEN without condition hides those of its kind behind it.
fn reachable(whens: &[ast::MergeWhen]) -> Result<()> {
    for (i, when) in whens.iter().enumerate() {
        if whens[..i].iter().any(|w| w.matched == when.matched && w.condition.is_none()) {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(Diagnostic::new(when.span, SqlState::SYNTAX_ERROR, message));
        }
    }
    Ok(())
}
