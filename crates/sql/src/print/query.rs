//! Queries: SELECT, VALUES, set operations, joins, row locks.

use std::fmt::{self, Display, Formatter};

use super::expr::Parenthesized;
use super::window::Definitions;
use super::{Clause, ListClause, commas};
use crate::ast::plpgsql::Into;
use crate::ast::{
    Alias, Cte, CteBody, Expr, JoinCondition, JoinKind, LockStrength, LockWait, Locking, Query, QueryBody, Select,
    SelectItem, SetOperator, TableRef,
};

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        query(f, self, None)
    }
}

/// A query with PL/pgSQL's INTO: behind the select list, or at the end where there is no such list.
pub(super) fn query(f: &mut Formatter<'_>, query: &Query, into: Option<&Into>) -> fmt::Result {
    with(f, &query.with)?;
    let into = match &query.body {
        QueryBody::Select(select) => {
            write_select(f, select, into)?;
            None
        }
        QueryBody::Values(rows) => {
            let rows: Vec<String> = rows.iter().map(|row| format!("({})", commas(row))).collect();
            write!(f, "VALUES {}", commas(&rows))?;
            into
        }
        QueryBody::SetOperation { op, all, left, right } => {
            let all = if *all { " ALL" } else { "" };
            write!(f, "{} {}{all} {}", Operand(left, *op, false), name_of(*op), Operand(right, *op, true))?;
            into
        }
    };
    write!(f, "{}", ListClause("ORDER BY", &query.order_by))?;
    match &query.limit {
        Some(limit) if query.with_ties => {
            write!(f, "{}", Clause("OFFSET", query.offset.as_ref()))?;
            write!(f, " FETCH FIRST ({limit}) ROWS WITH TIES")?;
        }
        limit => write!(f, "{}{}", Clause("LIMIT", limit.as_ref()), Clause("OFFSET", query.offset.as_ref()))?,
    }
    for locking in &query.locking {
        write!(f, " {locking}")?;
    }
    match into {
        Some(into) => write!(f, " {into}"),
        None => Ok(()),
    }
}

/// `WITH a AS (...), b AS (...) `
pub(super) fn with(f: &mut Formatter<'_>, ctes: &[Cte]) -> fmt::Result {
    match ctes {
        [] => Ok(()),
        ctes => {
            let recursive = if ctes.iter().any(|cte| cte.recursive) { "RECURSIVE " } else { "" };
            write!(f, "WITH {recursive}{} ", commas(ctes))
        }
    }
}

impl Display for Cte {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        if !self.columns.is_empty() {
            write!(f, " ({})", commas(&self.columns))?;
        }
        let hint = match self.materialized {
            None => "",
            Some(true) => "MATERIALIZED ",
            Some(false) => "NOT MATERIALIZED ",
        };
        match &self.body {
            CteBody::Query(query) => write!(f, " AS {hint}({query})"),
            CteBody::Insert(insert) => write!(f, " AS {hint}({insert})"),
            CteBody::Update(update) => write!(f, " AS {hint}({update})"),
            CteBody::Delete(delete) => write!(f, " AS {hint}({delete})"),
        }
    }
}

fn name_of(op: SetOperator) -> &'static str {
    match op {
        SetOperator::Union => "UNION",
        SetOperator::Intersect => "INTERSECT",
        SetOperator::Except => "EXCEPT",
    }
}

fn tightness(op: SetOperator) -> u8 {
    u8::from(op == SetOperator::Intersect)
}

/// An operand of a set operation. INTERSECT binds tighter than the others; all group to the left.
struct Operand<'a>(&'a Query, SetOperator, bool);

impl Operand<'_> {
    fn needs_parentheses(&self) -> bool {
        let Operand(query, outer, is_right) = self;
        let has_tail = !query.order_by.is_empty() || query.limit.is_some() || query.offset.is_some();
        if has_tail || !query.with.is_empty() || !query.locking.is_empty() {
            return true;
        }
        match &query.body {
            QueryBody::SetOperation { op, .. } => {
                let (inner, outer) = (tightness(*op), tightness(*outer));
                inner < outer || (*is_right && inner == outer)
            }
            _ => false,
        }
    }
}

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.needs_parentheses() {
            true => Parenthesized(self.0).fmt(f),
            false => self.0.fmt(f),
        }
    }
}

fn write_select(f: &mut Formatter<'_>, select: &Select, into: Option<&Into>) -> fmt::Result {
    f.write_str("SELECT")?;
    if select.distinct {
        f.write_str(" DISTINCT")?;
    }
    if !select.distinct_on.is_empty() {
        write!(f, " DISTINCT ON ({})", commas(&select.distinct_on))?;
    }
    if !select.items.is_empty() {
        write!(f, " {}", commas(&select.items))?;
    }
    if let Some(into) = into {
        write!(f, " {into}")?;
    }
    write!(f, "{}{}", ListClause("FROM", &select.from), Clause("WHERE", select.filter.as_ref()))?;
    let group_by = if select.group_distinct { "GROUP BY DISTINCT" } else { "GROUP BY" };
    write!(f, "{}{}", ListClause(group_by, &select.group_by), Clause("HAVING", select.having.as_ref()))?;
    let windows: Vec<String> = select.windows.iter().map(|(name, spec)| format!("{name} AS ({spec})")).collect();
    write!(f, "{}", ListClause("WINDOW", &windows))
}

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_select(f, self, None)
    }
}

impl Display for SelectItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SelectItem::Wildcard(_) => f.write_str("*"),
            SelectItem::QualifiedWildcard(table) => write!(f, "{table}.*"),
            SelectItem::Expr { expr, alias } => write!(f, "{expr}{}", Clause("AS", alias.as_ref())),
        }
    }
}

impl Display for TableRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TableRef::Table { name, alias } => write!(f, "{name}{}", Clause("AS", alias.as_ref())),
            TableRef::Subquery { lateral, query, alias, .. } => {
                let lateral = if *lateral { "LATERAL " } else { "" };
                write!(f, "{lateral}({query}){}", Clause("AS", alias.as_ref()))
            }
            TableRef::Function { name, args, alias, .. } => {
                write!(f, "{}({}){}", name, commas::<Expr>(args), Clause("AS", alias.as_ref()))
            }
            TableRef::RowsFrom { functions, ordinality, alias, .. } => {
                let ordinality = if *ordinality { " WITH ORDINALITY" } else { "" };
                match functions.as_slice() {
                    [one] if !one.columns.is_empty() => {
                        let name = alias.as_ref().map(|a| a.name.to_string()).unwrap_or_default();
                        write!(f, "{}({}){ordinality} AS {name}", one.name, commas::<Expr>(&one.args))?;
                        write!(f, "({})", Definitions(&one.columns))
                    }
                    [one] => {
                        write!(f, "{}({}){ordinality}", one.name, commas::<Expr>(&one.args))?;
                        write!(f, "{}", Clause("AS", alias.as_ref()))
                    }
                    several => {
                        write!(f, "ROWS FROM ({}){ordinality}{}", commas(several), Clause("AS", alias.as_ref()))
                    }
                }
            }
            TableRef::Join { kind, left, right, on, .. } => join(f, *kind, left, right, on),
        }
    }
}

fn join(f: &mut Formatter<'_>, kind: JoinKind, left: &TableRef, right: &TableRef, on: &JoinCondition) -> fmt::Result {
    let words = match (kind, on) {
        (JoinKind::Inner, JoinCondition::None) | (JoinKind::Cross, _) => "CROSS JOIN",
        (JoinKind::Inner, _) => "JOIN",
        (JoinKind::Left, _) => "LEFT JOIN",
        (JoinKind::Right, _) => "RIGHT JOIN",
        (JoinKind::Full, _) => "FULL JOIN",
    };
    let natural = if matches!(on, JoinCondition::Natural) { "NATURAL " } else { "" };
    write!(f, "{left} {natural}{words} ")?;
    match right {
        TableRef::Join { .. } => write!(f, "({right})")?,
        right => right.fmt(f)?,
    }
    match on {
        JoinCondition::None | JoinCondition::Natural => Ok(()),
        JoinCondition::On(condition) => write!(f, " ON {condition}"),
        JoinCondition::Using(columns) => write!(f, " USING ({})", commas(columns)),
    }
}

impl Display for Alias {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.columns.as_slice() {
            [] => self.name.fmt(f),
            columns => write!(f, "{} ({})", self.name, commas(columns)),
        }
    }
}

impl Display for Locking {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "FOR {}{}", self.strength, ListClause("OF", &self.of))?;
        match self.wait {
            LockWait::Block => Ok(()),
            LockWait::NoWait => f.write_str(" NOWAIT"),
            LockWait::SkipLocked => f.write_str(" SKIP LOCKED"),
        }
    }
}

impl Display for LockStrength {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LockStrength::KeyShare => "KEY SHARE",
            LockStrength::Share => "SHARE",
            LockStrength::NoKeyUpdate => "NO KEY UPDATE",
            LockStrength::Update => "UPDATE",
        })
    }
}
