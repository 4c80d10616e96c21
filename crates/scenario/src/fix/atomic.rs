//! Read, decide, write: as one UPDATE with its guard.
//!
//! ```text
//! SELECT balance INTO bal FROM account WHERE id = acc;          UPDATE account SET balance = balance - amount
//! IF bal >= amount THEN                                    ──▶    WHERE id = acc AND balance >= amount;
//!   UPDATE account SET balance = bal - amount WHERE id = acc;
//! END IF;
//! ```
//!
//! What follows in the IF is then asked `IF FOUND`. It is the same program to a single session only if the row is the
//! same one, so both statements must pin the same unique key; if the condition cannot be true for a row that is not
//! there; and if nobody uses the variable for anything else. In a thread, `\gset` and `:variables` play the part of
//! INTO.

use std::collections::BTreeMap;

use isolde_sql::ast::plpgsql::{Body, DeclarationKind, Stmt, StmtKind, Target};
use isolde_sql::ast::{
    Assignment, Expr, ExprKind, Ident, IsTest, Part, Query, SelectItem, Statement, StatementKind, TypeName, Update,
};
use isolde_sql::catalog::Table;
use isolde_sql::{Span, Type};

use super::patch::Edit;
use super::site::{Code, List, Site};
use super::{Candidate, Case, Kind, sql};
use crate::file::ClientStatement;
use crate::scenario::mentions;

pub(super) struct AtomicUpdate;

impl Kind for AtomicUpdate {
    fn name(&self) -> &'static str {
        "atomic update"
    }

    fn propose(&self, case: &Case<'_>) -> Vec<Candidate> {
        let rewrites: Vec<(Span, Vec<Edit>)> = case
            .culprits()
            .iter()
            .filter_map(|culprit| match culprit.site.list {
                List::Body(..) => in_routine(case, &culprit.site),
                List::Thread(..) => in_thread(case, &culprit.site),
                List::Sql => None,
            })
            .collect();
        if rewrites.is_empty() {
            return Vec::new();
        }
        let lines = case.lines(rewrites.iter().map(|(span, _)| *span));
        let title = format!("one UPDATE that reads, decides and writes ({lines})");
        vec![Candidate::new(title, rewrites.into_iter().flat_map(|(_, edits)| edits).collect())]
    }
}

/// A read of one row, by a unique key, into variables.
struct Read<'a> {
    table: &'a Table,
    query: &'a Query,
    /// What each variable holds, in terms of the row's columns.
    holds: BTreeMap<String, Expr>,
    /// The variables' names.
    variables: Vec<String>,
}

impl<'a> Read<'a> {
    /// The read of one row by this query. `stored` says which variable a column goes into, and by which name that is
    /// used later.
    fn new(case: &Case<'a>, query: &'a Query, stored: impl Fn(&[Column]) -> Option<Stored>) -> Option<Read<'a>> {
        let table = sql::table(query, case.catalog())?;
        let select = sql::select(query)?;
        let plain =
            sql::is_lockable(query) && query.order_by.is_empty() && query.limit.is_none() && query.with.is_empty();
        let alias = sql::alias(query);
        sql::unique_key(select.filter.as_ref(), table, alias).filter(|_| plain)?;
        let columns: Option<Vec<Vec<Column>>> =
            select.items.iter().map(|item| columns_of(item, table, alias)).collect();
        let columns = columns?.concat();
        let Stored { variables, uses } = stored(&columns)?;
        let holds = uses.into_iter().zip(columns.into_iter().map(|column| column.value));
        Some(Read { table, query, holds: holds.collect(), variables })
    }

    fn filter(&self) -> Option<&'a Expr> {
        sql::select(self.query)?.filter.as_ref()
    }

    /// The UPDATE of the same row that needs no variable any more. `spell` shows an expression as it is to be written
    /// in each statement, so that the keys can be compared.
    fn merged(&self, update: &Update, guard: Option<&Expr>, spell: [&dyn Fn(&Expr) -> String; 2]) -> Option<Update> {
        let same_table = update.table.name.name == self.table.name && update.alias.is_none();
        if !same_table || !update.from.is_empty() || !update.with.is_empty() || !update.returning.is_empty() {
            return None;
        }
        let key = self.key();
        let theirs = sql::equalities(update.filter.as_ref(), self.table, None);
        let same = |(column, value): &(usize, &Expr)| {
            theirs.iter().any(|(c, v)| c == column && spell[1](v) == spell[0](value))
        };
        if key.is_empty() || !key.iter().all(same) {
            return None;
        }
        let mut filter: Vec<Expr> = sql::conjuncts(update.filter.as_ref()).into_iter().cloned().collect();
        // What else the read asked of the row.
        let known: Vec<String> = filter.iter().map(|condition| spell[1](condition)).collect();
        let asked = sql::conjuncts(self.filter()).into_iter();
        let more: Vec<&Expr> = asked.filter(|c| !self.is_key(c) && !known.contains(&spell[0](c))).collect();
        if !more.is_empty() && sql::alias(self.query).is_some() {
            return None;
        }
        filter.extend(more.into_iter().cloned());
        filter.extend(sql::conjuncts(guard).into_iter().cloned());
        let filter: Option<Vec<Vec<Expr>>> =
            filter.iter().map(|condition| self.simplified(sql::substitute(condition, &self.holds)?)).collect();
        let set = update.set.iter().map(|assignment| {
            Some(Assignment { value: sql::substitute(&assignment.value, &self.holds)?, ..assignment.clone() })
        });
        let mut set: Vec<Assignment> = set.collect::<Option<_>>()?;
        // What was read back unchanged.
        set.retain(|a| !a.subscripts.is_empty() || self.column(&a.value) != self.table.column(&a.column.name));
        let filter = filter?.concat();
        let left = set.iter().map(|assignment| &assignment.value).chain(&filter).any(|e| self.uses_variable(e));
        if left || set.is_empty() {
            return None;
        }
        let span = Span::default();
        Some(Update { set, filter: Some(Expr { kind: ExprKind::And(filter), span }), ..update.clone() })
    }

    /// The columns of the key that pins the row, with their values.
    fn key(&self) -> Vec<(usize, &'a Expr)> {
        sql::unique_key(self.filter(), self.table, sql::alias(self.query)).unwrap_or_default()
    }

    /// Whether a condition of the read only pins the row.
    fn is_key(&self, condition: &Expr) -> bool {
        let equal = sql::equalities(Some(condition), self.table, sql::alias(self.query));
        equal.iter().any(|(_, value)| self.key().iter().any(|(_, pinned)| std::ptr::eq(*pinned, *value)))
    }

    fn column(&self, expr: &Expr) -> Option<usize> {
        sql::column(expr, self.table, None)
    }

    /// A condition without comparing a column with itself: that says at most that there is a value. `None` if it is
    /// never true.
    fn simplified(&self, condition: Expr) -> Option<Vec<Expr>> {
        let ExprKind::Binary(op, left, right) = &condition.kind else { return Some(vec![condition]) };
        let Some(column) = self.column(left).filter(|column| self.column(right) == Some(*column)) else {
            return Some(vec![condition]);
        };
        match (&**op, self.table.columns[column].not_null) {
            ("=" | ">=" | "<=", true) => Some(Vec::new()),
            ("=" | ">=" | "<=", false) => {
                let kind = ExprKind::Is { expr: left.clone(), test: IsTest::Null, negated: true };
                Some(vec![Expr { kind, span: condition.span }])
            }
            _ => None,
        }
    }

    /// Whether an expression needs one of the variables still.
    fn uses_variable(&self, expr: &Expr) -> bool {
        let mut used = false;
        expr.walk(&mut |part| {
            if let Part::Expr(Expr { kind: ExprKind::Name(path), .. }) = part {
                let head = path.first().filter(|head| self.table.column(&head.name).is_none());
                used |= head.is_some_and(|head| self.variables.iter().any(|variable| **variable == *head.name));
            }
        });
        used
    }

    /// Whether the variables mean something before the read or behind the decision: to other statements, or to whoever
    /// called. `None` outside of a body.
    fn is_used_elsewhere(&self, site: &Site<'_>, decision: &Stmt, text: &str) -> Option<bool> {
        let body = site.body?;
        let first = body.block.body.first()?.span.start;
        let before = Span { start: first, end: site.span.start };
        let behind = Span { start: decision.span.end, end: body.span.end };
        let used = [before, behind].iter().any(|span| self.is_used_in(span.of(text)));
        Some(used || self.variables.iter().any(|name| site.is_parameter(name)))
    }

    fn is_used_in(&self, text: &str) -> bool {
        let names: Vec<&str> = self.variables.iter().map(String::as_str).collect();
        mentions(text, &names)
    }
}

/// A column of a select list: its name there, and what it is of the row.
#[derive(Clone)]
struct Column {
    name: String,
    value: Expr,
}

/// The variables that a read sets, and the names by which each of its columns is used.
struct Stored {
    variables: Vec<String>,
    uses: Vec<String>,
}

fn columns_of(item: &SelectItem, table: &Table, other_name: Option<&Ident>) -> Option<Vec<Column>> {
    let column = |name: &str, alias: &str| Column { name: alias.into(), value: sql::name_of(name) };
    let all = || table.columns.iter().map(|c| column(&c.name, &c.name)).collect();
    match item {
        SelectItem::Expr { expr, alias } => {
            let name = &table.columns[sql::column(expr, table, other_name)?].name;
            Some(vec![column(name, alias.as_ref().map_or(name, |alias| &alias.name))])
        }
        SelectItem::Wildcard(_) => Some(all()),
        SelectItem::QualifiedWildcard(of) => {
            (of.name == *other_name.map_or(&table.name, |other| &other.name)).then(all)
        }
    }
}

/// The query of a statement that keeps what it reads in variables, and these: `INTO`, or `v := (SELECT ...)`.
fn kept<'a>(site: &Site<'a>) -> Option<(&'a Query, Vec<String>)> {
    let name = |target: &Target| match target.path.as_slice() {
        [one] if target.subscripts.is_empty() => Some(one.name.to_string()),
        _ => None,
    };
    match site.code {
        Code::Stmt(Stmt { kind: StmtKind::Assign(target, value), .. }) => match &value.kind {
            ExprKind::Subquery(query) => Some((query, vec![name(target)?])),
            _ => None,
        },
        _ => Some((site.query()?, site.stored_into()?.targets.iter().map(name).collect::<Option<_>>()?)),
    }
}

/// Whether a variable holds a whole row.
fn is_row(case: &Case<'_>, site: &Site<'_>, variable: &str) -> bool {
    let declared = site.body.into_iter().flat_map(|body| &body.block.declarations);
    let mut declared = declared.filter(|declaration| *declaration.name.name == *variable);
    declared.any(|declaration| match &declaration.kind {
        DeclarationKind::Variable { ty: TypeName::Known(ty, _), .. } => *ty == Type::Record,
        DeclarationKind::Variable { ty: TypeName::Reference { row, .. }, .. } => *row,
        DeclarationKind::Variable { ty: TypeName::Named(name), .. } => {
            case.catalog().table_by_name(&name.name.name).is_some()
        }
        _ => false,
    })
}

/// The rewriting of a read in a routine and the UPDATE behind it, with the place of the latter.
fn in_routine<'a>(case: &Case<'a>, site: &Site<'a>) -> Option<(Span, Vec<Edit>)> {
    let text = case.text();
    let (query, variables) = kept(site)?;
    let mut read = Read::new(case, query, |columns| {
        let uses: Vec<String> = match variables.as_slice() {
            [row] if is_row(case, site, row) => columns.iter().map(|c| format!("{row}.{}", c.name)).collect(),
            several => several.to_vec(),
        };
        (uses.len() == columns.len()).then(|| Stored { variables: variables.clone(), uses })
    })?;
    let mut edits = vec![sql::delete(site.span, text)];
    let (assigned, rest) = assignments(&mut read, site.behind());
    edits.extend(assigned.iter().map(|stmt| sql::delete(stmt.span, text)));
    let decision = rest.first()?;
    if read.is_used_elsewhere(site, decision, text)? {
        return None;
    }
    let spell = |e: &Expr| e.to_string();
    let (span, mut rewritten) = match &decision.kind {
        StmtKind::Sql(statement, None) => {
            let merged = read.merged(update(statement)?, None, [&spell, &spell])?;
            (decision.span, vec![Edit::replace(decision.span, printed(merged))])
        }
        StmtKind::If(..) => guarded(&mut read, decision, text)?,
        _ => return None,
    };
    edits.append(&mut rewritten);
    edits.extend(site.body.and_then(|body| undeclared(&read, body)));
    Some((span, edits))
}

/// `v := v + 1`, as many as follow: what the variables hold then.
fn assignments<'s>(read: &mut Read<'_>, list: &'s [Stmt]) -> (&'s [Stmt], &'s [Stmt]) {
    let mut count = 0;
    for stmt in list {
        let StmtKind::Assign(target, value) = &stmt.kind else { break };
        let [name] = target.path.as_slice() else { break };
        let (true, Some(value)) = (read.holds.contains_key(&*name.name), sql::substitute(value, &read.holds)) else {
            break;
        };
        read.holds.insert(name.name.to_string(), value);
        count += 1;
    }
    list.split_at(count)
}

/// An IF that decides about the UPDATE at the head of its body.
fn guarded(read: &mut Read<'_>, decision: &Stmt, text: &str) -> Option<(Span, Vec<Edit>)> {
    let StmtKind::If(branches, otherwise) = &decision.kind else { return None };
    let [(condition, body)] = branches.as_slice() else { return None };
    let guard = match sql::is_found(condition) {
        true => None,
        false => Some(sql::substitute(condition, &read.holds).filter(|_| sql::rejects_null(condition))?),
    };
    let (assigned, rest) = assignments(read, body);
    let (first, rest) = rest.split_first()?;
    let StmtKind::Sql(statement, None) = &first.kind else { return None };
    let mut others = rest.iter().chain(otherwise.iter().flatten());
    if others.any(|stmt| read.is_used_in(stmt.span.of(text))) {
        return None;
    }
    let spell = |e: &Expr| e.to_string();
    let merged = read.merged(update(statement)?, guard.as_ref(), [&spell, &spell])?;
    Some((first.span, sql::ask_found(decision, assigned.len() + 1, &printed(merged), text)?))
}

fn update(statement: &Statement) -> Option<&Update> {
    match &statement.kind {
        StatementKind::Update(update) => Some(update),
        _ => None,
    }
}

fn printed(update: Update) -> String {
    Statement { kind: StatementKind::Update(Box::new(update)), span: Span::default() }.to_string()
}

/// DECLARE goes if it declares nothing else.
fn undeclared(read: &Read<'_>, body: &Body) -> Option<Edit> {
    let block = &body.block;
    let unused = block.declarations.iter().all(|d| read.variables.iter().any(|v| **v == *d.name.name));
    let declare = block.declare?;
    (unused && !block.declarations.is_empty())
        .then(|| Edit::replace(Span { start: declare.start, end: block.begin.start }, ""))
}

/// The rewriting of a read of a client, by `\gset`, and the UPDATE that uses it.
fn in_thread<'a>(case: &Case<'a>, site: &Site<'a>) -> Option<(Span, Vec<Edit>)> {
    let (List::Thread(list, at), Code::Client(client)) = (site.list, site.code) else { return None };
    let prefix = client.gset.as_ref()?;
    let mut read = Read::new(case, site.query()?, |columns| {
        let variables: Vec<String> = columns.iter().map(|column| format!("{prefix}{}", column.name)).collect();
        Some(Stored { uses: variables.clone(), variables })
    })?;
    let uses = |statement: &&ClientStatement| {
        statement.variables.iter().any(|(name, _)| read.variables.iter().any(|v| **v == **name))
    };
    let mut users = list[at + 1..].iter().filter(uses);
    let (user, None) = (users.next()?, users.next()) else { return None };
    let names_of = |statement: &ClientStatement| -> Vec<String> {
        statement.variables.iter().map(|(name, _)| name.to_string()).collect()
    };
    let (mine, theirs) = (names_of(client), names_of(user));
    let spell = |names: &[String], e: &Expr| {
        sql::with_variables(&e.to_string(), &names.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // In the other statement a variable is a parameter of that statement.
    read.holds = theirs
        .iter()
        .enumerate()
        .filter_map(|(i, name)| Some((format!("${}", i + 1), read.holds.get(name)?.clone())))
        .collect();
    // What else the read asks would be in terms of its own parameters.
    let known: Vec<String> =
        sql::conjuncts(update(&user.ast)?.filter.as_ref()).into_iter().map(|c| spell(&theirs, c)).collect();
    if !sql::conjuncts(read.filter()).into_iter().all(|c| read.is_key(c) || known.contains(&spell(&mine, c))) {
        return None;
    }
    let merged = read.merged(update(&user.ast)?, None, [&|e| spell(&mine, e), &|e| spell(&theirs, e)])?;
    let merged = spell_update(merged, &theirs);
    Some((user.ast.span, vec![sql::delete(site.span, case.text()), Edit::replace(user.ast.span, merged)]))
}

fn spell_update(update: Update, names: &[String]) -> String {
    sql::with_variables(&printed(update), &names.iter().map(String::as_str).collect::<Vec<_>>())
}
