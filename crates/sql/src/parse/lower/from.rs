//! FROM and USING: tables, subqueries, functions, joins.

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result, child, children};
use crate::ast::{Alias, ExprKind, Ident, JoinCondition, JoinKind, TableRef};
use crate::error::{Diagnostic, Span};

/// What is to be done with the first table of an item.
type First<'a> = Box<dyn FnOnce(TableRef) -> Result<TableRef> + 'a>;

impl Lower {
    /// The comma-separated items of a FROM or USING clause.
    pub(super) fn from_items(&self, clause: &impl AstNode) -> Result<Vec<TableRef>> {
        children::<cst::FromListItem>(clause).map(|item| self.from_item(&item)).collect()
    }

    fn from_item(&self, item: &cst::FromListItem) -> Result<TableRef> {
        match item {
            cst::FromListItem::JoinExpr(join) => self.join(join),
            cst::FromListItem::FromItem(cst::FromItem::RelationFromItem(table)) => self.relation(table),
            cst::FromListItem::FromItem(cst::FromItem::ParenFromItem(paren)) => self.parenthesised(paren),
            cst::FromListItem::FromItem(cst::FromItem::FunctionFromItem(function)) => self.function(function),
            cst::FromListItem::FromItem(other) => {
                let what = super::words(other.syntax().kind());
                Err(self.unsupported(other, &format!("{} in FROM", what.trim_end_matches(" FROM ITEM"))))
            }
        }
    }

    fn relation(&self, table: &cst::RelationFromItem) -> Result<TableRef> {
        self.refuse(table.tablesample_clause(), "TABLESAMPLE")?;
        let name = self.name(&self.need(table.relation_name_ref(), table)?)?;
        Ok(TableRef::Table { name, alias: self.alias(table.alias())? })
    }

    /// `(query) AS a`, or `(a JOIN b ON ...)`.
    fn parenthesised(&self, paren: &cst::ParenFromItem) -> Result<TableRef> {
        let inner = match paren.paren_expr() {
            Some(inner) => inner.syntax().clone(),
            None => paren.syntax().clone(),
        };
        if let Some(query) = inner.children().find_map(cst::SelectVariant::cast) {
            return Ok(TableRef::Subquery {
                lateral: paren.lateral_token().is_some(),
                query: Box::new(self.query(&query)?),
                alias: self.alias(paren.alias())?,
                span: self.span(paren.syntax()),
            });
        }
        self.refuse(paren.alias(), "an alias for a join")?;
        let item = self.need(inner.children().find_map(cst::FromListItem::cast), paren)?;
        self.from_item(&item)
    }

    /// A set-returning function. LATERAL says nothing here: a function always sees the items before it.
    fn function(&self, item: &cst::FunctionFromItem) -> Result<TableRef> {
        self.refuse(item.with_ordinality(), "WITH ORDINALITY")?;
        let span = self.span(item.syntax());
        let call = self.call(&self.need(item.call_expr(), item)?)?;
        let simple = match call.kind {
            ExprKind::Call(call) => Some(call).filter(|c| {
                c.named.is_empty() && !c.star && !c.distinct && c.order_by.is_empty() && c.filter.is_none()
            }),
            _ => None,
        };
        let call = simple.ok_or_else(|| Diagnostic::unsupported(call.span, "this form of a function in FROM"))?;
        Ok(TableRef::Function { name: call.name, args: call.args, alias: self.alias(item.alias())?, span })
    }

    fn alias(&self, alias: Option<cst::FromAlias>) -> Result<Option<Alias>> {
        let Some(alias) = alias else { return Ok(None) };
        let columns = match alias.columns() {
            Some(cst::FromAliasColumns::ColumnDefList(list)) => {
                return Err(self.unsupported(&list, "a column definition list"));
            }
            Some(cst::FromAliasColumns::ColumnList(list)) => self.column_names(&list),
            None => Vec::new(),
        };
        Ok(Some(Alias { name: self.ident(&self.need(alias.name(), &alias)?), columns }))
    }

    fn join(&self, expr: &cst::JoinExpr) -> Result<TableRef> {
        self.join_after(expr, Box::new(Ok))
    }

    /// An item whose first table, at its far left, is put through `first`.
    fn item_after(&self, item: &cst::FromListItem, first: First<'_>) -> Result<TableRef> {
        match item {
            cst::FromListItem::JoinExpr(join) => self.join_after(join, first),
            item => first(self.from_item(item)?),
        }
    }

    /// Joins group to the left. squawk takes all that follows a join without condition for its right side; of
    /// `a CROSS JOIN b JOIN c ON ...`, however, only `b` is that, and what is joined to `c` is `a CROSS JOIN b`.
    fn join_after(&self, expr: &cst::JoinExpr, first: First<'_>) -> Result<TableRef> {
        let join = self.need(expr.join(), expr)?;
        let (kind, on) = self.join_condition(expr, &join)?;
        let left = self.item_after(&self.need(expr.from_list_item(), expr)?, first)?;
        let item = self.need(join.from_list_item(), &join)?;
        let start = self.span(expr.syntax());
        let together = move |right, end: Span| {
            let span = Span { start: start.start, end: end.end };
            Ok(TableRef::Join { kind, left: Box::new(left), right: Box::new(right), on, span })
        };
        match join.join_condition() {
            None => {
                let end = self.span(leftmost(item.clone()).syntax());
                self.item_after(&item, Box::new(move |right| together(right, end)))
            }
            Some(_) => together(self.from_item(&item)?, start),
        }
    }

    fn join_condition(&self, expr: &cst::JoinExpr, join: &cst::Join) -> Result<(JoinKind, JoinCondition)> {
        let kind = match self.need(join.join_type(), join)? {
            cst::JoinType::JoinInner(_) => JoinKind::Inner,
            cst::JoinType::JoinLeft(_) => JoinKind::Left,
            cst::JoinType::JoinRight(_) => JoinKind::Right,
            cst::JoinType::JoinFull(_) => JoinKind::Full,
            cst::JoinType::JoinCross(_) => JoinKind::Cross,
        };
        let span = self.span(expr.syntax());
        let on = match join.join_condition() {
            Some(_) if kind == JoinKind::Cross => {
                return Err(Diagnostic::syntax(span, "syntax error: CROSS JOIN takes no condition"));
            }
            Some(cst::JoinCondition::OnClause(on)) => JoinCondition::On(self.sole(&on)?),
            Some(cst::JoinCondition::JoinUsingClause(using)) => {
                self.refuse(using.alias(), "JOIN ... USING (...) AS alias")?;
                JoinCondition::Using(self.column_refs(&using))
            }
            None if join.natural_token().is_some() => JoinCondition::Natural,
            None if kind == JoinKind::Cross => JoinCondition::None,
            None => {
                return Err(Diagnostic::syntax(span, "syntax error: this JOIN has no condition").hint("add ON or USING"));
            }
        };
        Ok((kind, on))
    }

    /// The names in the `(a, b)` below a node.
    pub(super) fn column_refs(&self, node: &impl AstNode) -> Vec<Ident> {
        child::<cst::ColumnRefList>(node)
            .map_or_else(Vec::new, |list| children::<cst::ColumnNameRef>(&list).map(|name| self.ident(&name)).collect())
    }
}

/// The first table of an item.
fn leftmost(mut item: cst::FromListItem) -> cst::FromListItem {
    while let cst::FromListItem::JoinExpr(join) = &item {
        match join.from_list_item() {
            Some(left) => item = left,
            None => break,
        }
    }
    item
}
