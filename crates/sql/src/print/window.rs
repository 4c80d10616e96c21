//! Windows and grouping sets, functions in FROM, MERGE.

use std::fmt::{self, Display, Formatter};

use super::{Clause, ListClause, commas, query};
use crate::ast::{
    Assignment, Expr, ExprKind, Frame, FrameBound, FrameExclude, FrameUnits, FromFunction, GroupItem, Ident, Merge,
    MergeAction, MergeWhen, Over, Overriding, TypeName, WindowSpec,
};

impl Display for GroupItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            GroupItem::Expr(expr) => expr.fmt(f),
            GroupItem::Empty(_) => f.write_str("()"),
            GroupItem::Rollup(list) => write!(f, "ROLLUP ({})", commas(list)),
            GroupItem::Cube(list) => write!(f, "CUBE ({})", commas(list)),
            GroupItem::Sets(list) => write!(f, "GROUPING SETS ({})", commas(list)),
        }
    }
}

impl Display for Over {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Over::Name(name) => write!(f, " OVER {name}"),
            Over::Spec(spec) => write!(f, " OVER ({spec})"),
        }
    }
}

impl Display for WindowSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let base = self.base.as_ref().map(Ident::to_string).unwrap_or_default();
        let partition = ListClause("PARTITION BY", &self.partition_by).to_string();
        let order = ListClause("ORDER BY", &self.order_by).to_string();
        let frame = self.frame.as_ref().map(Frame::to_string).unwrap_or_default();
        let parts = [base.as_str(), partition.trim(), order.trim(), frame.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        f.write_str(&parts.join(" "))
    }
}

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let units = match self.units {
            FrameUnits::Rows => "ROWS",
            FrameUnits::Range => "RANGE",
            FrameUnits::Groups => "GROUPS",
        };
        write!(f, "{units} BETWEEN {} AND {}", self.start, self.end)?;
        f.write_str(match self.exclude {
            FrameExclude::NoOthers => "",
            FrameExclude::CurrentRow => " EXCLUDE CURRENT ROW",
            FrameExclude::Group => " EXCLUDE GROUP",
            FrameExclude::Ties => " EXCLUDE TIES",
        })
    }
}

impl Display for FrameBound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            FrameBound::UnboundedPreceding => f.write_str("UNBOUNDED PRECEDING"),
            FrameBound::Preceding(offset) => write!(f, "({offset}) PRECEDING"),
            FrameBound::CurrentRow => f.write_str("CURRENT ROW"),
            FrameBound::Following(offset) => write!(f, "({offset}) FOLLOWING"),
            FrameBound::UnboundedFollowing => f.write_str("UNBOUNDED FOLLOWING"),
        }
    }
}

/// `a int, b text`
pub(super) struct Definitions<'a>(pub(super) &'a [(Ident, TypeName)]);

impl Display for Definitions<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let columns: Vec<String> = self.0.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        commas(&columns).fmt(f)
    }
}

impl Display for FromFunction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, commas::<Expr>(&self.args))?;
        match self.columns.as_slice() {
            [] => Ok(()),
            columns => write!(f, " AS ({})", Definitions(columns)),
        }
    }
}

impl Display for Overriding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Overriding::System => "OVERRIDING SYSTEM VALUE",
            Overriding::User => "OVERRIDING USER VALUE",
        })
    }
}

/// What follows SET; `(a, b) = (SELECT ...)` is put together again.
pub(super) struct Assignments<'a>(pub(super) &'a [Assignment]);

impl Display for Assignments<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let mut rest = self.0;
        while let Some((first, others)) = rest.split_first() {
            let ExprKind::SubqueryColumn(query, _) = &first.value.kind else {
                parts.push(first.to_string());
                rest = others;
                continue;
            };
            let belongs =
                |(i, a): (usize, &Assignment)| matches!(a.value.kind, ExprKind::SubqueryColumn(_, n) if n == i + 1);
            let more = others.iter().enumerate().take_while(|(i, a)| belongs((*i, a))).count();
            let columns: Vec<&Ident> = rest[..=more].iter().map(|a| &a.column).collect();
            let names: Vec<String> = columns.iter().map(|c| c.to_string()).collect();
            parts.push(format!("({}) = ({query})", names.join(", ")));
            rest = &others[more..];
        }
        commas(&parts).fmt(f)
    }
}

impl Display for Merge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        query::with(f, &self.with)?;
        write!(f, "MERGE INTO {}{}", self.table, Clause("AS", self.alias.as_ref()))?;
        write!(f, " USING {} ON {}", self.source, self.on)?;
        self.whens.iter().try_for_each(|when| write!(f, " {when}"))
    }
}

impl Display for MergeWhen {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let not = if self.matched { "" } else { "NOT " };
        write!(f, "WHEN {not}MATCHED{} THEN {}", Clause("AND", self.condition.as_ref()), self.action)
    }
}

impl Display for MergeAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            MergeAction::Update(set) => write!(f, "UPDATE SET {}", Assignments(set)),
            MergeAction::Delete => f.write_str("DELETE"),
            MergeAction::Nothing => f.write_str("DO NOTHING"),
            MergeAction::Insert { columns, overriding, values } => {
                f.write_str("INSERT")?;
                if !columns.is_empty() {
                    write!(f, " ({})", commas(columns))?;
                }
                if let Some(overriding) = overriding {
                    write!(f, " {overriding}")?;
                }
                match values {
                    Some(values) => write!(f, " VALUES ({})", commas(values)),
                    None => f.write_str(" DEFAULT VALUES"),
                }
            }
        }
    }
}
