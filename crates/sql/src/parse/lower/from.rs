//! FROM and USING: tables, subqueries, functions, joins.

use squawk_syntax::ast::{self as cst, AstNode};
use squawk_syntax::{SyntaxKind as K, SyntaxNode};

use super::{Lower, Result, child, children};
use crate::ast::{Alias, ExprKind, FromFunction, Ident, JoinCondition, JoinKind, TableRef, TypeName};
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;

impl Lower {
    /// The comma-separated items of a FROM or USING clause.
    pub(super) fn table_refs(&self, clause: &impl AstNode) -> Result<Vec<TableRef>> {
        children::<cst::FromListItem>(clause).map(|item| self.table_ref(&item)).collect()
    }

    pub(super) fn table_ref(&self, item: &cst::FromListItem) -> Result<TableRef> {
        match item {
            cst::FromListItem::JoinExpr(join) => self.joins(join),
            cst::FromListItem::FromItem(cst::FromItem::RelationFromItem(table)) => self.relation(table),
            cst::FromListItem::FromItem(cst::FromItem::ParenFromItem(paren)) => self.parenthesised(paren),
            cst::FromListItem::FromItem(cst::FromItem::FunctionFromItem(function)) => self.function(function),
            cst::FromListItem::FromItem(cst::FromItem::RowsFromItem(item)) => self.rows_from(item),
            cst::FromListItem::FromItem(other) => {
                let what = super::words(other.syntax().kind());
                Err(self.unsupported(other, Construct::FROM_ITEM.of(what.trim_end_matches(" FROM ITEM"))))
            }
        }
    }

    fn relation(&self, table: &cst::RelationFromItem) -> Result<TableRef> {
        self.refuse(table.tablesample_clause(), Construct::TABLESAMPLE)?;
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
        self.refuse(paren.alias(), Construct::ALIAS_FOR_A_JOIN)?;
        let item = self.need(inner.children().find_map(cst::FromListItem::cast), paren)?;
        self.table_ref(&item)
    }

    /// A set-returning function. LATERAL says nothing here: a function always sees the items before it.
    fn function(&self, item: &cst::FunctionFromItem) -> Result<TableRef> {
        let span = self.span(item.syntax());
        let mut function = self.function_call(&self.need(item.call_expr(), item)?)?;
        let mut alias = item.alias();
        let defs = alias.as_ref().and_then(|a| a.columns());
        if let Some(cst::FromAliasColumns::ColumnDefList(list)) = defs {
            function.columns = self.column_defs(&list)?;
            let name = alias.take().and_then(|a| a.name()).map(|name| self.ident(&name));
            let alias = name.map(|name| Alias { name, columns: Vec::new() });
            let ordinality = item.with_ordinality().is_some();
            return Ok(TableRef::RowsFrom { functions: vec![function], ordinality, alias, span });
        }
        let alias = self.alias(alias)?;
        if item.with_ordinality().is_some() {
            return Ok(TableRef::RowsFrom { functions: vec![function], ordinality: true, alias, span });
        }
        Ok(TableRef::Function { name: function.name, args: function.args, alias, span })
    }

    /// `ROWS FROM (f(), g() AS (a int))`
    fn rows_from(&self, item: &cst::RowsFromItem) -> Result<TableRef> {
        let mut functions = Vec::new();
        for arg in item.rows_from_args() {
            let mut function = self.function_call(&self.need(arg.call_expr(), &arg)?)?;
            if let Some(list) = arg.column_def_list() {
                function.columns = self.column_defs(&list)?;
            }
            functions.push(function);
        }
        let ordinality = item.with_ordinality().is_some();
        let alias = self.alias(item.alias())?;
        Ok(TableRef::RowsFrom { functions, ordinality, alias, span: self.span(item.syntax()) })
    }

    fn function_call(&self, call: &cst::CallExpr) -> Result<FromFunction> {
        let call = self.call(call)?;
        let span = call.span;
        let simple = match call.kind {
            ExprKind::Call(call) => Some(call).filter(|c| {
                c.named.is_empty() && !c.star && !c.distinct && c.order_by.is_empty() && c.filter.is_none()
            }),
            _ => None,
        };
        let call = simple.ok_or_else(|| Diagnostic::unsupported(span, Construct::FORM_OF_FUNCTION_IN_FROM))?;
        if call.over.is_some() || !call.within_group.is_empty() {
            let message = "window functions are not allowed in functions in FROM";
            return Err(Diagnostic::new(span, SqlState(*b"42P20"), message));
        }
        Ok(FromFunction { name: call.name, args: call.args, columns: Vec::new(), span })
    }

    fn column_defs(&self, list: &cst::ColumnDefList) -> Result<Vec<(Ident, TypeName)>> {
        let column = |def: cst::ColumnDef| {
            let name = self.ident(&self.need(def.name(), &def)?);
            Ok((name, self.ty(&self.need(def.ty(), &def)?)?))
        };
        list.column_defs().map(column).collect()
    }

    fn alias(&self, alias: Option<cst::FromAlias>) -> Result<Option<Alias>> {
        let Some(alias) = alias else { return Ok(None) };
        let columns = match alias.columns() {
            Some(cst::FromAliasColumns::ColumnDefList(list)) => {
                return Err(self.unsupported(&list, Construct::COLUMN_DEFINITION_LIST));
            }
            Some(cst::FromAliasColumns::ColumnList(list)) => self.column_names(&list),
            None => Vec::new(),
        };
        Ok(Some(Alias { name: self.ident(&self.need(alias.name(), &alias)?), columns }))
    }

    /// A chain of joins, regrouped as PostgreSQL's parser does: CROSS and NATURAL joins take the item that follows
    /// them; other joins and their conditions nest like parentheses, so `a JOIN b JOIN c ON x ON y` joins `b` and `c`
    /// first.
    fn joins(&self, expr: &cst::JoinExpr) -> Result<TableRef> {
        let mut chain = Chain { items: Vec::new(), waiting: Vec::new() };
        self.chain(expr.syntax(), &mut chain)?;
        if let Some((_, span)) = chain.waiting.pop() {
            return Err(Diagnostic::syntax(span, "syntax error: this JOIN has no condition").hint("add ON or USING"));
        }
        self.need(chain.items.pop(), expr)
    }

    fn chain(&self, node: &SyntaxNode, chain: &mut Chain) -> Result<()> {
        let natural = node.children_with_tokens().any(|c| c.kind() == K::NATURAL_KW);
        let mut join = None;
        for part in node.children() {
            if let Some(kind) = cst::JoinType::cast(part.clone()) {
                join = Some((join_kind(&kind), self.span(&part)));
            } else if let Some(condition) = cst::JoinCondition::cast(part.clone()) {
                let on = self.join_condition(&condition)?;
                let span = self.span(&part);
                let right = chain.items.pop();
                match (chain.waiting.pop(), chain.items.pop(), right) {
                    (Some((kind, _)), Some(left), Some(right)) => chain.items.push(joined(kind, left, right, on, span)),
                    _ => return Err(Diagnostic::syntax(span, "syntax error: this condition belongs to no JOIN")),
                }
            } else if matches!(part.kind(), K::JOIN_EXPR | K::JOIN) {
                match join.take() {
                    Some(join) => self.right_chain(&part, join, natural, chain)?,
                    None => self.chain(&part, chain)?,
                }
            } else if let Some(item) = cst::FromListItem::cast(part) {
                let item = self.table_ref(&item)?;
                match join.take() {
                    Some(join) => chain.add(item, join, natural),
                    None => chain.items.push(item),
                }
            }
        }
        Ok(())
    }

    /// The right side of a join is itself a chain: its first item belongs to the join, the rest follows.
    fn right_chain(&self, node: &SyntaxNode, join: (JoinKind, Span), natural: bool, chain: &mut Chain) -> Result<()> {
        let first = node.children().next().filter(|c| cst::FromListItem::can_cast(c.kind()));
        match first {
            Some(first) if first.kind() == K::JOIN_EXPR => self.right_chain(&first, join, natural, chain)?,
            Some(first) => {
                let item = cst::FromListItem::cast(first).map(|item| self.table_ref(&item)).transpose()?;
                if let Some(item) = item {
                    chain.add(item, join, natural);
                }
            }
            None => return Err(Diagnostic::syntax(self.span(node), "syntax error: a table is expected here")),
        }
        for rest in node.children().skip(1) {
            self.chain(&rest, chain)?;
        }
        Ok(())
    }

    fn join_condition(&self, condition: &cst::JoinCondition) -> Result<JoinCondition> {
        match condition {
            cst::JoinCondition::OnClause(on) => Ok(JoinCondition::On(self.sole(on)?)),
            cst::JoinCondition::JoinUsingClause(using) => {
                self.refuse(using.alias(), Construct::JOIN_USING_ALIAS)?;
                Ok(JoinCondition::Using(self.column_refs(using)))
            }
        }
    }

    /// The names in the `(a, b)` below a node.
    pub(super) fn column_refs(&self, node: &impl AstNode) -> Vec<Ident> {
        child::<cst::ColumnRefList>(node)
            .map_or_else(Vec::new, |list| children::<cst::ColumnNameRef>(&list).map(|name| self.ident(&name)).collect())
    }
}

/// A chain of joins while it is read: items, and the joins between them that still wait for their condition.
struct Chain {
    items: Vec<TableRef>,
    waiting: Vec<(JoinKind, Span)>,
}

impl Chain {
    /// Adds the item on the right side of a join.
    fn add(&mut self, item: TableRef, (kind, at): (JoinKind, Span), natural: bool) {
        let on = match (natural, kind) {
            (true, _) => JoinCondition::Natural,
            (false, JoinKind::Cross) => JoinCondition::None,
            _ => {
                self.waiting.push((kind, at));
                self.items.push(item);
                return;
            }
        };
        match self.items.pop() {
            Some(left) => self.items.push(joined(kind, left, item, on, at)),
            None => self.items.push(item),
        }
    }
}

fn joined(kind: JoinKind, left: TableRef, right: TableRef, on: JoinCondition, end: Span) -> TableRef {
    let span = place(&left).to(place(&right)).to(end);
    TableRef::Join { kind, left: Box::new(left), right: Box::new(right), on, span }
}

fn place(item: &TableRef) -> Span {
    match item {
        TableRef::Table { name, alias } => alias.as_ref().map_or(name.name.span, |a| name.name.span.to(a.name.span)),
        TableRef::Subquery { span, .. } | TableRef::Function { span, .. } => *span,
        TableRef::RowsFrom { span, .. } | TableRef::Join { span, .. } => *span,
    }
}

fn join_kind(join: &cst::JoinType) -> JoinKind {
    match join {
        cst::JoinType::JoinInner(_) => JoinKind::Inner,
        cst::JoinType::JoinLeft(_) => JoinKind::Left,
        cst::JoinType::JoinRight(_) => JoinKind::Right,
        cst::JoinType::JoinFull(_) => JoinKind::Full,
        cst::JoinType::JoinCross(_) => JoinKind::Cross,
    }
}
