//! INSERT, UPDATE, DELETE.

use squawk_syntax::SyntaxKind as K;
use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result, children, has};
use crate::ast::{
    Assignment, ConflictTarget, ConflictUpdate, Cte, Delete, Expr, ExprKind, Ident, Insert, InsertSource, OnConflict,
    Overriding, QualifiedName, SelectItem, Subscript, Update,
};
use crate::error::Diagnostic;
use crate::refused::Construct;

impl Lower {
    pub(super) fn insert(&self, insert: &cst::Insert) -> Result<Insert> {
        let source = match self.need(insert.insert_source(), insert)? {
            cst::InsertSource::DefaultValues(_) => InsertSource::DefaultValues,
            cst::InsertSource::SelectVariant(query) => InsertSource::Query(Box::new(self.query(&query)?)),
        };
        Ok(Insert {
            with: self.optional_with(insert.with_clause())?,
            table: self.name(&self.need(insert.relation_name_ref(), insert)?)?,
            alias: insert.alias().and_then(|alias| alias.name()).map(|name| self.ident(&name)),
            columns: insert.column_target_list().map_or(Ok(Vec::new()), |list| self.target_columns(&list))?,
            overriding: insert.overriding_clause().map(|clause| overriding(&clause)),
            source,
            on_conflict: insert.on_conflict_clause().map(|clause| self.on_conflict(&clause)).transpose()?,
            returning: self.returning(insert.returning_clause())?,
        })
    }

    pub(super) fn update(&self, update: &cst::Update) -> Result<Update> {
        self.refuse(update.for_portion_of(), Construct::FOR_PORTION_OF)?;
        Ok(Update {
            with: self.optional_with(update.with_clause())?,
            table: self.relation_name(&self.need(update.relation_name(), update)?)?,
            alias: update.alias().and_then(|alias| alias.name()).map(|name| self.ident(&name)),
            set: self.set_clause(&self.need(update.set_clause(), update)?)?,
            from: update.from_clause().map_or(Ok(Vec::new()), |clause| self.table_refs(&clause))?,
            filter: self.filter(update.where_clause_or_current_of())?,
            returning: self.returning(update.returning_clause())?,
        })
    }

    pub(super) fn delete(&self, delete: &cst::Delete) -> Result<Delete> {
        self.refuse(delete.for_portion_of(), Construct::FOR_PORTION_OF)?;
        Ok(Delete {
            with: self.optional_with(delete.with_clause())?,
            table: self.relation_name(&self.need(delete.relation_name(), delete)?)?,
            alias: delete.alias().and_then(|alias| alias.name()).map(|name| self.ident(&name)),
            using: delete.using_clause().map_or(Ok(Vec::new()), |clause| self.table_refs(&clause))?,
            filter: self.filter(delete.where_clause_or_current_of())?,
            returning: self.returning(delete.returning_clause())?,
        })
    }

    pub(super) fn optional_with(&self, clause: Option<cst::WithClause>) -> Result<Vec<Cte>> {
        clause.map_or(Ok(Vec::new()), |clause| self.ctes(&clause))
    }

    /// `t`, `ONLY t`, `t *`: without inheritance they are the same.
    pub(super) fn relation_name(&self, relation: &cst::RelationName) -> Result<QualifiedName> {
        self.name(&self.need(relation.relation_name_ref(), relation)?)
    }

    fn filter(&self, clause: Option<cst::WhereClauseOrCurrentOf>) -> Result<Option<Expr>> {
        match clause {
            None => Ok(None),
            Some(cst::WhereClauseOrCurrentOf::WhereClause(clause)) => Ok(Some(self.sole(&clause)?)),
            Some(cst::WhereClauseOrCurrentOf::WhereCurrentOf(clause)) => {
                Err(self.unsupported(&clause, Construct::WHERE_CURRENT_OF))
            }
        }
    }

    fn returning(&self, clause: Option<cst::ReturningClause>) -> Result<Vec<SelectItem>> {
        let Some(clause) = clause else { return Ok(Vec::new()) };
        self.refuse(clause.returning_option_list(), Construct::RETURNING_WITH)?;
        self.targets(&self.need(clause.target_list(), &clause)?)
    }

    pub(super) fn target_columns(&self, list: &cst::ColumnTargetList) -> Result<Vec<Ident>> {
        children::<cst::ColumnTarget>(list).map(|target| self.target_column(&target)).collect()
    }

    fn target_column(&self, target: &cst::ColumnTarget) -> Result<Ident> {
        self.refuse(super::child::<cst::Accessor>(target), Construct::ASSIGNING_TO_A_PART_OF_A_COLUMN)?;
        Ok(self.ident(&self.need(target.name(), target)?))
    }

    /// `column`, `column[1]`, `column[1:2]`
    fn subscripted_target(&self, target: &cst::ColumnTarget) -> Result<(Ident, Vec<Subscript>)> {
        let column = self.ident(&self.need(target.name(), target)?);
        let mut subscripts = Vec::new();
        for accessor in children::<cst::Accessor>(target) {
            match &accessor {
                cst::Accessor::FieldAccessor(field) => {
                    return Err(self.unsupported(field, Construct::ASSIGNING_TO_A_FIELD_OF_A_COLUMN));
                }
                part => subscripts.push(self.subscript_of(part.syntax())?),
            }
        }
        Ok((column, subscripts))
    }

    pub(super) fn set_clause(&self, clause: &cst::SetClause) -> Result<Vec<Assignment>> {
        let list = self.need(clause.set_column_list(), clause)?;
        let mut set = Vec::new();
        for column in children::<cst::SetColumn>(&list) {
            match &column {
                cst::SetColumn::SetSingleColumn(single) => {
                    let target = self.need(single.column_target(), single)?;
                    let (column, subscripts) = self.subscripted_target(&target)?;
                    let value = self.set_value(&self.need(single.set_expr(), single)?)?;
                    set.push(Assignment { column, subscripts, value });
                }
                cst::SetColumn::SetMultipleColumns(several) => self.set_several(several, &mut set)?,
            }
        }
        Ok(set)
    }

    /// `(a, b) = (x, y)`: one assignment each; all right sides see the old row either way.
    fn set_several(&self, several: &cst::SetMultipleColumns, set: &mut Vec<Assignment>) -> Result<()> {
        let columns = self.target_columns(&self.need(several.column_target_list(), several)?)?;
        if let Some(paren) = several.paren_select() {
            let query = self.query(&cst::SelectVariant::ParenSelect(paren))?;
            set.extend(columns.into_iter().enumerate().map(|(i, column)| {
                let span = query.span;
                let value = Expr { kind: ExprKind::SubqueryColumn(Box::new(query.clone()), i), span };
                Assignment { column, subscripts: Vec::new(), value }
            }));
            return Ok(());
        }
        let list = self.need(several.set_expr_list(), several)?;
        if columns.len() == 1 && list.row_token().is_none() {
            let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
            let span = self.span(list.syntax());
            return Err(Diagnostic::new(span, crate::SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let values: Vec<Expr> =
            children::<cst::SetExpr>(&list).map(|value| self.set_value(&value)).collect::<Result<_>>()?;
        if columns.len() != values.len() {
            let span = self.span(several.syntax());
            return Err(Diagnostic::syntax(span, "number of columns does not match number of values"));
        }
        set.extend(columns.into_iter().zip(values).map(|(column, value)| Assignment {
            column,
            subscripts: Vec::new(),
            value,
        }));
        Ok(())
    }

    fn set_value(&self, value: &cst::SetExpr) -> Result<Expr> {
        if has(value, K::DEFAULT_KW) {
            return Ok(Expr { kind: ExprKind::Default, span: self.span(value.syntax()) });
        }
        self.sole(value)
    }

    fn on_conflict(&self, clause: &cst::OnConflictClause) -> Result<OnConflict> {
        let target = clause.conflict_target().map(|target| self.conflict_target(&target)).transpose()?;
        let update = match self.need(clause.conflict_action(), clause)? {
            cst::ConflictAction::ConflictDoNothing(_) => None,
            cst::ConflictAction::ConflictDoUpdateSet(action) => Some(ConflictUpdate {
                set: self.set_clause(&self.need(action.set_clause(), &action)?)?,
                filter: self.clause(action.where_clause())?,
            }),
            cst::ConflictAction::ConflictDoSelect(action) => {
                return Err(self.unsupported(&action, Construct::ON_CONFLICT_DO_SELECT));
            }
        };
        let span = self.span(clause.syntax());
        if update.is_some() && target.is_none() {
            let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
            return Err(Diagnostic::syntax(span, message).hint("for example, ON CONFLICT (column_name)"));
        }
        Ok(OnConflict { target, update, span })
    }

    fn conflict_target(&self, target: &cst::ConflictTarget) -> Result<ConflictTarget> {
        match target {
            cst::ConflictTarget::ConflictOnConstraint(constraint) => {
                let name = self.name(&self.need(constraint.constraint_name_ref(), constraint)?)?;
                Ok(ConflictTarget::Constraint(name.name))
            }
            cst::ConflictTarget::ConflictOnIndex(index) => {
                let filter = self.clause(index.where_clause())?;
                let list = self.need(index.conflict_index_item_list(), index)?;
                let items = children::<cst::ConflictIndexItem>(&list);
                let keys: Vec<Expr> = items.map(|item| self.sole(&item)).collect::<Result<_>>()?;
                let column = |key: &Expr| match &key.kind {
                    ExprKind::Name(path) if path.len() == 1 => path.first().cloned(),
                    _ => None,
                };
                match keys.iter().map(column).collect::<Option<Vec<Ident>>>() {
                    Some(columns) if filter.is_none() => Ok(ConflictTarget::Columns(columns)),
                    _ => Ok(ConflictTarget::Index { keys, filter }),
                }
            }
        }
    }
}

/// `OVERRIDING SYSTEM VALUE` or `OVERRIDING USER VALUE`.
pub(super) fn overriding(clause: &cst::OverridingClause) -> Overriding {
    match clause {
        cst::OverridingClause::OverridingSystemValue(_) => Overriding::System,
        cst::OverridingClause::OverridingUserValue(_) => Overriding::User,
    }
}
