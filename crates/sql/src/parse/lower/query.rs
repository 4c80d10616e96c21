//! Queries: SELECT, VALUES, TABLE, set operations, and what may follow them.
//!
//! Two things follow PostgreSQL's parser rather than squawk's tree. Set operations are flattened and regrouped, because
//! INTERSECT binds more tightly than UNION and EXCEPT. And `(query) ORDER BY x` adds to the query inside the
//! parentheses, where a clause may stand only once.

use squawk_syntax::ast::{self as cst, AstNode};
use squawk_syntax::{SyntaxKind as K, SyntaxNode};

use super::{Lower, Result, child, children, has};
use crate::ast::{
    Cte, CteBody, Expr, ExprKind, GroupItem, LockStrength, LockWait, Locking, OrderKey, Query, QueryBody, Select,
    SelectItem, SetOperator, TableRef,
};
use crate::error::{Diagnostic, Span};
use crate::refused::Construct;

/// A query that is only a body.
pub(crate) fn bare(body: QueryBody, span: Span) -> Query {
    let (with, order_by, locking) = (Vec::new(), Vec::new(), Vec::new());
    Query { with, body, order_by, limit: None, with_ties: false, offset: None, locking, span }
}

/// `SELECT items FROM from`
pub(super) fn simple_select(items: Vec<SelectItem>, from: Vec<TableRef>, span: Span) -> QueryBody {
    QueryBody::Select(Box::new(Select {
        distinct: false,
        distinct_on: Vec::new(),
        items,
        from,
        filter: None,
        group_by: Vec::new(),
        group_distinct: false,
        having: None,
        windows: Vec::new(),
        span,
    }))
}

impl Lower {
    /// Any query.
    pub(super) fn query(&self, query: &cst::SelectVariant) -> Result<Query> {
        let span = self.span(query.syntax());
        let mut result = match query {
            cst::SelectVariant::Select(select) => bare(self.select(select)?, span),
            cst::SelectVariant::Values(values) => bare(self.values(values)?, span),
            cst::SelectVariant::Table(table) => bare(self.table(table)?, span),
            cst::SelectVariant::CompoundSelect(compound) => Query { span, ..self.compound(compound)? },
            cst::SelectVariant::ParenSelect(paren) => {
                let inner = self.need(paren.select(), paren)?;
                Query { span, ..self.query(&inner)? }
            }
            cst::SelectVariant::SelectInto(into) => {
                return Err(self
                    .unsupported(into, Construct::SELECT_INTO_A_NEW_TABLE)
                    .hint("CREATE TABLE first, then INSERT ... SELECT; in PL/pgSQL, SELECT INTO sets variables"));
            }
        };
        self.with(query.syntax(), &mut result)?;
        for clause in children::<cst::SelectTailClause>(query) {
            self.tail(&clause, &mut result)?;
        }
        Ok(result)
    }

    /// Reads the WITH clause below a node into the query it belongs to.
    fn with(&self, node: &SyntaxNode, query: &mut Query) -> Result<()> {
        let Some(clause) = node.children().find_map(cst::WithClause::cast) else { return Ok(()) };
        if !query.with.is_empty() {
            return Err(Diagnostic::syntax(self.span(clause.syntax()), "multiple WITH clauses not allowed"));
        }
        query.with = self.ctes(&clause)?;
        Ok(())
    }

    /// The queries of a WITH clause.
    pub(super) fn ctes(&self, clause: &cst::WithClause) -> Result<Vec<Cte>> {
        let recursive = clause.recursive_token().is_some();
        clause.with_tables().map(|table| self.cte(&table, recursive)).collect()
    }

    fn cte(&self, table: &cst::WithTable, recursive: bool) -> Result<Cte> {
        self.refuse(table.search_clause(), Construct::SEARCH)?;
        self.refuse(table.cycle_clause(), Construct::CYCLE)?;
        let query = self.need(table.query(), table)?;
        let body = match &query {
            cst::WithQuery::Insert(insert) => CteBody::Insert(Box::new(self.insert(insert)?)),
            cst::WithQuery::Update(update) => CteBody::Update(Box::new(self.update(update)?)),
            cst::WithQuery::Delete(delete) => CteBody::Delete(Box::new(self.delete(delete)?)),
            cst::WithQuery::Merge(merge) => {
                let message = "MERGE not supported in WITH query";
                let span = self.span(merge.syntax());
                return Err(Diagnostic::new(span, crate::SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            _ => {
                let select = self.need(cst::SelectVariant::cast(query.syntax().clone()), table)?;
                CteBody::Query(Box::new(self.query(&select)?))
            }
        };
        let materialized =
            table.materialized_option().map(|option| matches!(option, cst::MaterializedOption::Materialized(_)));
        Ok(Cte {
            name: self.ident(&self.need(table.name(), table)?),
            columns: table.column_list().map_or_else(Vec::new, |list| self.column_names(&list)),
            body,
            recursive,
            materialized,
        })
    }

    /// The names in `(a, b)`.
    pub(super) fn column_names(&self, list: &cst::ColumnList) -> Vec<crate::ast::Ident> {
        list.column_names().map(|name| self.ident(&name)).collect()
    }

    fn select(&self, select: &cst::Select) -> Result<QueryBody> {
        self.refuse(select.filter_clause(), Construct::FILTER_HERE)?;
        let head = self.need(select.select_clause(), select)?;
        self.refuse_token(head.perform_token(), Construct::PERFORM_OUTSIDE_PLPGSQL)?;
        let (distinct, distinct_on) = match head.select_quantifier() {
            Some(cst::SelectQuantifier::DistinctClause(clause)) => match clause.distinct_on() {
                Some(on) => (false, self.exprs(&on)?),
                None => (true, Vec::new()),
            },
            Some(cst::SelectQuantifier::All(_)) | None => (false, Vec::new()),
        };
        let group = select.group_by_clause();
        let quantifier = group.as_ref().and_then(|clause| clause.all_or_distinct());
        let span = self.span(select.syntax());
        Ok(QueryBody::Select(Box::new(Select {
            distinct,
            distinct_on,
            items: head.target_list().map_or(Ok(Vec::new()), |list| self.targets(&list))?,
            from: select.from_clause().map_or(Ok(Vec::new()), |clause| self.table_refs(&clause))?,
            filter: self.clause(select.where_clause())?,
            group_by: group.map_or(Ok(Vec::new()), |clause| self.group_by(&clause))?,
            group_distinct: matches!(quantifier, Some(cst::AllOrDistinct::Distinct(_))),
            having: self.clause(select.having_clause())?,
            windows: select.window_clause().map_or(Ok(Vec::new()), |clause| self.windows(&clause))?,
            span,
        })))
    }

    /// The expression in an optional clause.
    pub(super) fn clause(&self, clause: Option<impl AstNode>) -> Result<Option<Expr>> {
        clause.map(|clause| self.sole(&clause)).transpose()
    }

    /// A select list, or what follows RETURNING.
    pub(super) fn targets(&self, list: &cst::TargetList) -> Result<Vec<SelectItem>> {
        list.targets().map(|target| self.target(&target)).collect()
    }

    fn target(&self, target: &cst::Target) -> Result<SelectItem> {
        let alias = target.as_name().and_then(|name| name.name()).map(|name| self.ident(&name));
        if has(target, K::STAR) {
            return Ok(SelectItem::Wildcard(self.span(target.syntax())));
        }
        let star = matches!(target.expr(), Some(cst::Expr::FieldExpr(f)) if f.star_token().is_some());
        Ok(match self.sole(target)? {
            Expr { kind: ExprKind::WholeRow(table), .. } if star => SelectItem::QualifiedWildcard(table),
            expr => SelectItem::Expr { expr, alias },
        })
    }

    fn group_by(&self, clause: &cst::GroupByClause) -> Result<Vec<GroupItem>> {
        let list = self.need(clause.group_by_list(), clause)?;
        children::<cst::GroupBy>(&list).map(|item| self.group_item(&item)).collect()
    }

    fn group_item(&self, item: &cst::GroupBy) -> Result<GroupItem> {
        Ok(match item {
            cst::GroupBy::GroupingExpr(expr) => {
                let mut letters = expr.syntax().text().to_string();
                letters.retain(|c| !c.is_whitespace());
                match letters.as_str() {
                    "()" => GroupItem::Empty(self.span(expr.syntax())),
                    _ => GroupItem::Expr(self.sole(expr)?),
                }
            }
            cst::GroupBy::GroupingRollup(rollup) => GroupItem::Rollup(self.exprs(rollup)?),
            cst::GroupBy::GroupingCube(cube) => GroupItem::Cube(self.exprs(cube)?),
            cst::GroupBy::GroupingSets(sets) => {
                GroupItem::Sets(sets.group_bys().map(|item| self.group_item(&item)).collect::<Result<_>>()?)
            }
        })
    }

    fn values(&self, values: &cst::Values) -> Result<QueryBody> {
        let list = self.need(values.row_list(), values)?;
        Ok(QueryBody::Values(list.rows().map(|row| self.exprs(&row)).collect::<Result<_>>()?))
    }

    /// `TABLE t` is `SELECT * FROM t`.
    fn table(&self, table: &cst::Table) -> Result<QueryBody> {
        let span = self.span(table.syntax());
        let relation = self.need(table.relation_name(), table)?;
        let name = self.name(&self.need(relation.relation_name_ref(), &relation)?)?;
        Ok(simple_select(vec![SelectItem::Wildcard(span)], vec![TableRef::Table { name, alias: None }], span))
    }

    /// `a UNION b INTERSECT c ...`, regrouped.
    fn compound(&self, compound: &cst::CompoundSelect) -> Result<Query> {
        let (mut operands, mut operators) = (Vec::new(), Vec::new());
        self.operands(compound, true, &mut operands, &mut operators)?;
        let mut operands = operands.into_iter();
        let mut stack = vec![self.need(operands.next(), compound)?];
        let mut waiting: Vec<(SetOperator, bool)> = Vec::new();
        for (op, right) in operators.into_iter().zip(operands) {
            while waiting.last().is_some_and(|(top, _)| level(*top) >= level(op.0)) {
                combine(&mut stack, &mut waiting);
            }
            waiting.push(op);
            stack.push(right);
        }
        while !waiting.is_empty() {
            combine(&mut stack, &mut waiting);
        }
        let mut query = self.need(stack.pop(), compound)?;
        // A WITH before the first SELECT belongs to the whole.
        if query.with.is_empty() && !is_parenthesised(compound) {
            query.with = take_first_with(&mut query.body);
        }
        Ok(query)
    }

    fn operands(
        &self,
        compound: &cst::CompoundSelect,
        outermost: bool,
        operands: &mut Vec<Query>,
        operators: &mut Vec<(SetOperator, bool)>,
    ) -> Result<()> {
        if !outermost && let Some(tail) = child::<cst::SelectTailClause>(compound) {
            return Err(Diagnostic::syntax(self.span(tail.syntax()), "syntax error: parenthesise this operand"));
        }
        self.set_operand(&self.need(compound.lhs_operand(), compound)?, operands, operators)?;
        let op = self.need(compound.op(), compound)?;
        let all = matches!(child::<cst::AllOrDistinct>(&op), Some(cst::AllOrDistinct::All(_)));
        operators.push(match op {
            cst::CompoundOp::Union(_) => (SetOperator::Union, all),
            cst::CompoundOp::Intersect(_) => (SetOperator::Intersect, all),
            cst::CompoundOp::Except(_) => (SetOperator::Except, all),
        });
        self.set_operand(&self.need(compound.rhs_operand(), compound)?, operands, operators)
    }

    fn set_operand(
        &self,
        operand: &cst::CompoundSelectOperand,
        operands: &mut Vec<Query>,
        operators: &mut Vec<(SetOperator, bool)>,
    ) -> Result<()> {
        match operand {
            cst::CompoundSelectOperand::SelectVariant(cst::SelectVariant::CompoundSelect(inner)) => {
                self.operands(inner, false, operands, operators)?;
            }
            cst::CompoundSelectOperand::SelectVariant(select) => operands.push(self.query(select)?),
            cst::CompoundSelectOperand::ParenExpr(_) => {
                let select = self.need(operand.select_variant(), operand)?;
                let span = self.span(operand.syntax());
                operands.push(Query { span, ..self.query(&select)? });
            }
        }
        Ok(())
    }

    /// ORDER BY, LIMIT, OFFSET, FETCH, FOR: each at most once.
    fn tail(&self, clause: &cst::SelectTailClause, query: &mut Query) -> Result<()> {
        let span = self.span(clause.syntax());
        let twice = |what: &str| Err(Diagnostic::syntax(span, format!("multiple {what} clauses not allowed")));
        match clause {
            cst::SelectTailClause::OrderByClause(_) if !query.order_by.is_empty() => return twice("ORDER BY"),
            cst::SelectTailClause::OrderByClause(order) => query.order_by = self.order_by(order)?,
            cst::SelectTailClause::LimitClause(_) | cst::SelectTailClause::FetchClause(_) if query.limit.is_some() => {
                return twice("LIMIT");
            }
            cst::SelectTailClause::LimitClause(limit) => {
                let all = matches!(limit.limit_value(), Some(cst::LimitValue::All(_)));
                query.limit = if all { None } else { Some(self.sole(limit)?) };
            }
            cst::SelectTailClause::FetchClause(fetch) => {
                query.with_ties = matches!(fetch.fetch_quantity(), Some(cst::FetchQuantity::WithTies(_)));
                let count = super::operators::runs(fetch).first().map(|run| self.run(run)).transpose()?;
                query.limit = Some(count.unwrap_or(Expr { kind: ExprKind::Integer(1), span }));
            }
            cst::SelectTailClause::OffsetClause(_) if query.offset.is_some() => return twice("OFFSET"),
            cst::SelectTailClause::OffsetClause(offset) => query.offset = Some(self.sole(offset)?),
            cst::SelectTailClause::LockingClause(locking) => query.locking.push(self.locking(locking)?),
        }
        Ok(())
    }

    /// The keys of an ORDER BY.
    pub(super) fn order_by(&self, clause: &cst::OrderByClause) -> Result<Vec<OrderKey>> {
        let list = self.need(clause.sort_by_list(), clause)?;
        children::<cst::SortBy>(&list).map(|key| self.order_key(&key)).collect()
    }

    fn order_key(&self, key: &cst::SortBy) -> Result<OrderKey> {
        let descending = match key.sort_order() {
            Some(cst::SortOrder::SortUsing(using)) => return Err(self.unsupported(&using, Construct::ORDER_BY_USING)),
            Some(cst::SortOrder::SortDesc(_)) => true,
            Some(cst::SortOrder::SortAsc(_)) | None => false,
        };
        let nulls_first = key.nulls_order().map(|order| matches!(order, cst::NullsOrder::NullsFirst(_)));
        Ok(OrderKey { expr: self.sole(key)?, descending, nulls_first })
    }

    fn locking(&self, clause: &cst::LockingClause) -> Result<Locking> {
        let strength = match self.need(clause.lock_strength(), clause)? {
            cst::LockStrength::ForUpdate(_) => LockStrength::Update,
            cst::LockStrength::ForNoKeyUpdate(_) => LockStrength::NoKeyUpdate,
            cst::LockStrength::ForShare(_) => LockStrength::Share,
            cst::LockStrength::ForKeyShare(_) => LockStrength::KeyShare,
        };
        let wait = match clause.lock_wait() {
            None => LockWait::Block,
            Some(cst::LockWait::Nowait(_)) => LockWait::NoWait,
            Some(cst::LockWait::SkipLocked(_)) => LockWait::SkipLocked,
        };
        let mut of = Vec::new();
        if let Some(list) = clause.locking_of() {
            for table in self.exprs(&list)? {
                of.push(self.column(&table, Construct::QUALIFIED_NAME_IN_FOR_OF)?);
            }
        }
        Ok(Locking { strength, of, wait, span: self.span(clause.syntax()) })
    }
}

fn level(op: SetOperator) -> u8 {
    match op {
        SetOperator::Union | SetOperator::Except => 1,
        SetOperator::Intersect => 2,
    }
}

/// Replaces the two topmost operands by their combination.
fn combine(stack: &mut Vec<Query>, waiting: &mut Vec<(SetOperator, bool)>) {
    if let (Some(right), Some(left), Some((op, all))) = (stack.pop(), stack.pop(), waiting.pop()) {
        let span = left.span.to(right.span);
        let body = QueryBody::SetOperation { op, all, left: Box::new(left), right: Box::new(right) };
        stack.push(bare(body, span));
    }
}

/// Whether the first operand stands in parentheses, so that its WITH is its own.
fn is_parenthesised(compound: &cst::CompoundSelect) -> bool {
    compound.syntax().first_token().is_some_and(|t| t.kind() == K::L_PAREN)
}

fn take_first_with(body: &mut QueryBody) -> Vec<Cte> {
    match body {
        QueryBody::SetOperation { left, .. } if left.with.is_empty() => take_first_with(&mut left.body),
        QueryBody::SetOperation { left, .. } => std::mem::take(&mut left.with),
        _ => Vec::new(),
    }
}
