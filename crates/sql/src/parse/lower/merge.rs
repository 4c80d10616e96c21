//! MERGE.

use squawk_syntax::ast::{self as cst, AstNode};

use super::dml::overriding;
use super::{Lower, Result};
use crate::ast::{Merge, MergeAction, MergeWhen};
use crate::error::Diagnostic;
use crate::refused::Construct;

impl Lower {
    pub(super) fn merge(&self, merge: &cst::Merge) -> Result<Merge> {
        self.refuse(merge.returning_clause(), Construct::MERGE_RETURNING)?;
        let using = self.need(merge.using_on_clause(), merge)?;
        Ok(Merge {
            with: self.optional_with(merge.with_clause())?,
            table: self.table_relation(&self.need(merge.table_relation_name(), merge)?)?,
            alias: merge.alias().and_then(|alias| alias.name()).map(|name| self.ident(&name)),
            source: self.table_ref(&self.need(using.from_list_item(), &using)?)?,
            on: self.sole(&self.need(using.on_clause(), &using)?)?,
            whens: merge.merge_when_clauses().map(|when| self.merge_when(&when)).collect::<Result<_>>()?,
        })
    }

    fn merge_when(&self, when: &cst::MergeWhenClause) -> Result<MergeWhen> {
        let span = self.span(when.syntax());
        let (matched, condition, action) = match when {
            cst::MergeWhenClause::MergeWhenMatched(w) => (true, w.merge_condition(), w.merge_action()),
            cst::MergeWhenClause::MergeWhenNotMatchedTarget(w) => {
                self.refuse(w.by_target(), Construct::WHEN_NOT_MATCHED_BY_TARGET)?;
                (false, w.merge_condition(), w.merge_action())
            }
            cst::MergeWhenClause::MergeWhenNotMatchedSource(w) => {
                return Err(self.unsupported(w, Construct::WHEN_NOT_MATCHED_BY_SOURCE));
            }
        };
        let condition = self.clause(condition)?;
        let written = self.need(action, when)?;
        let action = self.merge_action(&written)?;
        let fits = match &action {
            MergeAction::Update(_) | MergeAction::Delete => matched,
            MergeAction::Insert { .. } => !matched,
            MergeAction::Nothing => true,
        };
        match fits {
            true => Ok(MergeWhen { matched, condition, action, span }),
            false => {
                let verb = self.need(written.syntax().first_token(), &written)?;
                let message = format!("syntax error at or near \"{}\"", verb.text());
                Err(Diagnostic::syntax(self.token_span(&verb), message))
            }
        }
    }

    fn merge_action(&self, action: &cst::MergeAction) -> Result<MergeAction> {
        Ok(match action {
            cst::MergeAction::MergeUpdate(update) => {
                MergeAction::Update(self.set_clause(&self.need(update.set_clause(), update)?)?)
            }
            cst::MergeAction::MergeDelete(_) => MergeAction::Delete,
            cst::MergeAction::MergeDoNothing(_) => MergeAction::Nothing,
            cst::MergeAction::MergeInsert(insert) => {
                let values = match insert.values() {
                    Some(values) => {
                        let list = self.need(values.row_list(), &values)?;
                        let mut rows = list.rows();
                        let row = self.exprs(&self.need(rows.next(), &list)?)?;
                        if let Some(second) = rows.next() {
                            let span = self.span(second.syntax());
                            return Err(Diagnostic::syntax(span, "syntax error: MERGE inserts one row at a time"));
                        }
                        Some(row)
                    }
                    None => None,
                };
                MergeAction::Insert {
                    columns: insert.column_target_list().map_or(Ok(Vec::new()), |list| self.target_columns(&list))?,
                    overriding: insert.overriding_clause().map(|clause| overriding(&clause)),
                    values,
                }
            }
        })
    }
}
