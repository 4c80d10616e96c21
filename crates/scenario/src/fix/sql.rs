//! Questions about SQL as written that several kinds of fixes ask, and statements put together from it.

use std::collections::BTreeMap;

use isolde_sql::Span;
use isolde_sql::ast::plpgsql::{Stmt, StmtKind};
use isolde_sql::ast::{Expr, ExprKind, Ident, OrderKey, Query, QueryBody, Select, SelectItem, TableRef};
use isolde_sql::builtin;
use isolde_sql::catalog::{Catalog, Table};

use super::patch::Edit;
use super::site::Site;
use super::thread;

/// The SELECT of a query, if it is one.
pub(super) fn select(query: &Query) -> Option<&Select> {
    match &query.body {
        QueryBody::Select(select) => Some(select),
        _ => None,
    }
}

/// The one table that a query reads.
pub(super) fn table<'c>(query: &Query, catalog: &'c Catalog) -> Option<&'c Table> {
    match select(query)?.from.as_slice() {
        [TableRef::Table { name, .. }] => catalog.table_by_name(&name.name.name).map(|table| &**table),
        _ => None,
    }
}

/// Whether rows of a query are rows of its tables, so that it can lock them.
pub(super) fn is_lockable(query: &Query) -> bool {
    let Some(select) = select(query) else { return false };
    let plain =
        select.group_by.is_empty() && select.having.is_none() && !select.distinct && select.distinct_on.is_empty();
    let aggregates = select.items.iter().any(|item| matches!(item, SelectItem::Expr { expr, .. } if aggregates(expr)));
    plain && !aggregates && reads_tables(query) && query.locking.is_empty()
}

/// Whether a query has tables in FROM, and nothing else.
pub(super) fn reads_tables(query: &Query) -> bool {
    select(query).is_some_and(|select| !select.from.is_empty() && select.from.iter().all(is_table))
}

fn is_table(from: &TableRef) -> bool {
    match from {
        TableRef::Table { .. } => true,
        TableRef::Join { left, right, .. } => is_table(left) && is_table(right),
        _ => false,
    }
}

/// Whether an expression of a select list makes one row of many.
fn aggregates(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(call) => {
            call.over.is_some()
                || builtin::aggregates(&call.name.name.name).next().is_some()
                || call.args.iter().any(aggregates)
        }
        ExprKind::Binary(_, left, right) => aggregates(left) || aggregates(right),
        ExprKind::Unary(_, inner) | ExprKind::Not(inner) | ExprKind::Cast(inner, _) => aggregates(inner),
        ExprKind::Is { expr, .. } => aggregates(expr),
        ExprKind::And(parts) | ExprKind::Or(parts) => parts.iter().any(aggregates),
        ExprKind::Case { .. } => true,
        _ => false,
    }
}

/// The conditions that must all hold.
pub(super) fn conjuncts(filter: Option<&Expr>) -> Vec<&Expr> {
    match filter {
        None => Vec::new(),
        Some(Expr { kind: ExprKind::And(parts), .. }) => parts.iter().flat_map(|part| conjuncts(Some(part))).collect(),
        Some(one) => vec![one],
    }
}

/// The other name of the one table that a query reads.
pub(super) fn alias(query: &Query) -> Option<&Ident> {
    match select(query)?.from.as_slice() {
        [TableRef::Table { alias, .. }] => alias.as_ref().map(|alias| &alias.name),
        _ => None,
    }
}

/// Columns that a condition equates with something else, and that.
pub(super) fn equalities<'e>(filter: Option<&'e Expr>, table: &Table, alias: Option<&Ident>) -> Vec<(usize, &'e Expr)> {
    let column = |expr: &Expr| column(expr, table, alias);
    let equality = |condition: &'e Expr| match &condition.kind {
        ExprKind::Binary(op, left, right) if &**op == "=" => match (column(left), column(right)) {
            (Some(column), None) => Some((column, &**right)),
            (None, Some(column)) => Some((column, &**left)),
            _ => None,
        },
        _ => None,
    };
    conjuncts(filter).into_iter().filter_map(equality).collect()
}

/// The column that a name stands for.
pub(super) fn column(expr: &Expr, table: &Table, alias: Option<&Ident>) -> Option<usize> {
    let ExprKind::Name(path) = &expr.kind else { return None };
    match path.as_slice() {
        [name] => table.column(&name.name),
        [of, name] if of.name == alias.map_or(&table.name, |alias| &alias.name).clone() => table.column(&name.name),
        _ => None,
    }
}

/// The columns of a unique key that a condition pins down, with what it equates them to.
pub(super) fn unique_key<'e>(
    filter: Option<&'e Expr>,
    table: &Table,
    alias: Option<&Ident>,
) -> Option<Vec<(usize, &'e Expr)>> {
    let equalities = equalities(filter, table, alias);
    let value = |column: usize| equalities.iter().find(|(c, _)| *c == column).copied();
    let keys = table.indexes.iter().filter(|index| index.unique && index.special.is_none());
    keys.filter_map(|index| index.columns.iter().map(|&c| value(c)).collect()).next()
}

/// The key in whose order rows are locked.
pub(super) fn order_of(table: &Table) -> Vec<OrderKey> {
    let columns = table.primary_key().map(|key| key.columns.clone()).unwrap_or_default();
    columns.iter().filter_map(|&c| Some(order_key(&table.columns.get(c)?.name))).collect()
}

fn order_key(name: &str) -> OrderKey {
    OrderKey { expr: name_of(name), descending: false, nulls_first: None }
}

/// A name as an expression.
pub(super) fn name_of(name: &str) -> Expr {
    let span = Span::default();
    Expr { kind: ExprKind::Name(vec![Ident { name: name.into(), span }]), span }
}

/// A name as written where it must be.
pub(super) fn ident(name: &str) -> String {
    isolde_sql::print::identifier(name)
}

/// `SELECT 1 FROM ... WHERE ... ORDER BY key FOR UPDATE`, for the rows that a query reads.
pub(super) fn locking_query(query: &Query, table: Option<&Table>, strength: &str) -> Option<String> {
    let select = select(query)?;
    if !select.from.iter().all(is_table) || select.from.is_empty() {
        return None;
    }
    let span = Span::default();
    let one = SelectItem::Expr { expr: Expr { kind: ExprKind::Integer(1), span }, alias: None };
    let rows =
        Select { items: vec![one], from: select.from.clone(), filter: select.filter.clone(), ..Select::default() };
    let query = Query {
        with: query.with.clone(),
        body: QueryBody::Select(Box::new(rows)),
        order_by: table.map(order_of).unwrap_or_default(),
        limit: None,
        with_ties: false,
        offset: None,
        locking: Vec::new(),
        span,
    };
    Some(format!("{query} {strength}"))
}

/// A query as a statement whose result is dropped: PERFORM in a routine.
pub(super) fn run_query(site: &Site<'_>, query: &str) -> String {
    match site.body {
        Some(_) => query.replacen("SELECT", "PERFORM", 1),
        None => with_variables(query, &site.variables()),
    }
}

/// Parameters as the client's variables again.
pub(super) fn with_variables(sql: &str, names: &[&str]) -> String {
    if names.is_empty() {
        return sql.to_string();
    }
    let mut out = String::new();
    let mut quoted = false;
    let mut chars = sql.chars().peekable();
    while let Some(c) = chars.next() {
        quoted ^= c == '\'';
        if c != '$' || quoted {
            out.push(c);
            continue;
        }
        let mut digits = String::new();
        while let Some(digit) = chars.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        match digits.parse::<usize>().ok().and_then(|n| names.get(n.wrapping_sub(1))) {
            Some(name) => out.push_str(&format!(":{name}")),
            None => out.push_str(&format!("${digits}")),
        }
    }
    out
}

/// The blanks before a statement that begins its line.
pub(super) fn indent(at: u32, text: &str) -> Option<&str> {
    let before = text.get(..at as usize)?;
    let line = &before[before.rfind('\n').map_or(0, |i| i + 1)..];
    line.chars().all(char::is_whitespace).then_some(line)
}

/// A new statement before another one, on a line of its own if that begins one.
pub(super) fn insert_before(at: u32, statement: &str, text: &str) -> Edit {
    match indent(at, text) {
        Some(blanks) => Edit::insert(at, format!("{statement};\n{blanks}")),
        None => Edit::insert(at, format!("{statement}; ")),
    }
}

/// Takes a statement away, with its line if nothing else is on it.
pub(super) fn delete(span: Span, text: &str) -> Edit {
    let mut end = thread::end_of(span, text);
    let mut start = span.start;
    let rest = text.get(end as usize..).unwrap_or("");
    let line_rest = rest.split('\n').next().unwrap_or("");
    if let Some(blanks) = indent(start, text)
        && line_rest.trim().is_empty()
    {
        start -= blanks.len() as u32;
        end += (line_rest.len() + 1).min(rest.len()) as u32;
    }
    Edit::replace(Span { start, end }, "")
}

/// An expression in which names (`v`, `row.column`, or parameters as `$n`) stand for others; `None` if it holds what we
/// do not look into.
pub(super) fn substitute(expr: &Expr, by: &BTreeMap<String, Expr>) -> Option<Expr> {
    let sub = |e: &Expr| substitute(e, by);
    let boxed = |e: &Expr| Some(Box::new(substitute(e, by)?));
    let all = |list: &[Expr]| list.iter().map(sub).collect::<Option<Vec<Expr>>>();
    let kind = match &expr.kind {
        ExprKind::Name(path) => {
            let parts: Vec<&str> = path.iter().map(|part| &*part.name).collect();
            match by.get(&parts.join(".")) {
                Some(other) => return Some(other.clone()),
                None => expr.kind.clone(),
            }
        }
        ExprKind::Param(n) => match by.get(&format!("${n}")) {
            Some(other) => return Some(other.clone()),
            None => expr.kind.clone(),
        },
        ExprKind::Null
        | ExprKind::Bool(_)
        | ExprKind::Integer(_)
        | ExprKind::Decimal(_)
        | ExprKind::String(_)
        | ExprKind::Default => expr.kind.clone(),
        ExprKind::Unary(op, inner) => ExprKind::Unary(op.clone(), boxed(inner)?),
        ExprKind::Binary(op, left, right) => ExprKind::Binary(op.clone(), boxed(left)?, boxed(right)?),
        ExprKind::And(parts) => ExprKind::And(all(parts)?),
        ExprKind::Or(parts) => ExprKind::Or(all(parts)?),
        ExprKind::Not(inner) => ExprKind::Not(boxed(inner)?),
        ExprKind::Is { expr, test, negated } => ExprKind::Is { expr: boxed(expr)?, test: *test, negated: *negated },
        ExprKind::Between { expr, low, high, symmetric, negated } => ExprKind::Between {
            expr: boxed(expr)?,
            low: boxed(low)?,
            high: boxed(high)?,
            symmetric: *symmetric,
            negated: *negated,
        },
        ExprKind::InList { expr, list, negated } => {
            ExprKind::InList { expr: boxed(expr)?, list: all(list)?, negated: *negated }
        }
        ExprKind::Cast(inner, ty) => ExprKind::Cast(boxed(inner)?, ty.clone()),
        ExprKind::Call(call) if call.over.is_none() && call.filter.is_none() && call.named.is_empty() => {
            let mut call = call.clone();
            call.args = all(&call.args)?;
            ExprKind::Call(call)
        }
        _ => return None,
    };
    Some(Expr { kind, span: expr.span })
}

/// Whether a condition cannot be true where what it compares is NULL: then a guard of an UPDATE decides as IF did.
pub(super) fn rejects_null(condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::Name(_) | ExprKind::Between { .. } | ExprKind::InList { .. } => true,
        ExprKind::Not(inner) => rejects_null(inner),
        ExprKind::Binary(_, left, right) => [left, right].iter().all(|side| is_strict(side)),
        ExprKind::And(parts) => parts.iter().all(rejects_null),
        _ => false,
    }
}

fn is_strict(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(_) | ExprKind::Case { .. } | ExprKind::Is { .. } | ExprKind::Or(_) => false,
        ExprKind::Binary(_, left, right) => is_strict(left) && is_strict(right),
        ExprKind::Unary(_, inner) | ExprKind::Cast(inner, _) => is_strict(inner),
        _ => true,
    }
}

/// `FOUND`
pub(super) fn is_found(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Name(path) if matches!(path.as_slice(), [one] if &*one.name == "found"))
}

/// An IF whose condition moves into a statement that comes first: what is left of it asks whether that found a row. The
/// first `taken` statements of its body go with it.
pub(super) fn ask_found(stmt: &Stmt, taken: usize, statement: &str, text: &str) -> Option<Vec<Edit>> {
    let StmtKind::If(branches, otherwise) = &stmt.kind else { return None };
    let [(_, body)] = branches.as_slice() else { return None };
    let blanks = indent(stmt.span.start, text)?;
    let (question, first) = match (body.get(taken), otherwise) {
        (Some(first), _) => ("FOUND", first),
        (None, Some(otherwise)) => ("NOT FOUND", otherwise.first()?),
        (None, None) => return Some(vec![Edit::replace(stmt.span, statement)]),
    };
    let inner = indent(first.span.start, text)?;
    let span = Span { start: stmt.span.start, end: first.span.start };
    Some(vec![Edit::replace(span, format!("{statement};\n{blanks}IF {question} THEN\n{inner}"))])
}
