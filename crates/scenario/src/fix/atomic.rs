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

use isolde_sql::Span;
use isolde_sql::ast::plpgsql::{Body, Stmt, StmtKind};
use isolde_sql::ast::{Assignment, Expr, ExprKind, Query, SelectItem, Statement, StatementKind, Update};
use isolde_sql::catalog::Table;

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
    /// The read at a site, if `names` are what its columns go into.
    fn new(case: &Case<'a>, query: &'a Query, names: Vec<String>) -> Option<Read<'a>> {
        let table = sql::table(query, case.catalog())?;
        let select = sql::select(query)?;
        let plain = sql::is_lockable(query)
            && query.order_by.is_empty()
            && query.limit.is_none()
            && query.with.is_empty()
            && sql::alias(query).is_none();
        sql::unique_key(select.filter.as_ref(), table, None).filter(|_| plain)?;
        let columns: Option<Vec<Expr>> = select.items.iter().map(|item| column_of(item, table)).collect();
        let columns = columns.filter(|columns| columns.len() == names.len())?;
        let holds = names.iter().cloned().zip(columns).collect();
        Some(Read { table, query, holds, variables: names })
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
        let key = sql::unique_key(self.filter(), self.table, None)?;
        let theirs = sql::equalities(update.filter.as_ref(), self.table, None);
        let same = |(column, value): &(usize, &Expr)| {
            theirs.iter().any(|(c, v)| c == column && spell[1](v) == spell[0](value))
        };
        if !key.iter().all(same) {
            return None;
        }
        let mut filter: Vec<Expr> = sql::conjuncts(update.filter.as_ref()).into_iter().cloned().collect();
        // What else the read asked of the row.
        let known: Vec<String> = filter.iter().map(|condition| spell[1](condition)).collect();
        let asked = sql::conjuncts(self.filter()).into_iter();
        filter.extend(asked.filter(|condition| !known.contains(&spell[0](condition))).cloned());
        filter.extend(sql::conjuncts(guard).into_iter().cloned());
        let filter: Option<Vec<Expr>> =
            filter.iter().map(|condition| sql::substitute(condition, &self.holds)).collect();
        let set = update.set.iter().map(|assignment| {
            Some(Assignment { value: sql::substitute(&assignment.value, &self.holds)?, ..assignment.clone() })
        });
        let span = Span::default();
        Some(Update {
            set: set.collect::<Option<_>>()?,
            filter: Some(Expr { kind: ExprKind::And(filter?), span }),
            ..update.clone()
        })
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

fn column_of(item: &SelectItem, table: &Table) -> Option<Expr> {
    match item {
        SelectItem::Expr { expr, .. } => sql::column(expr, table, None).map(|c| sql::name_of(&table.columns[c].name)),
        _ => None,
    }
}

/// The rewriting of a read in a routine and the UPDATE behind it, with the place of the latter.
fn in_routine<'a>(case: &Case<'a>, site: &Site<'a>) -> Option<(Span, Vec<Edit>)> {
    let text = case.text();
    let targets = site.stored_into()?.targets.iter().map(|target| match target.path.as_slice() {
        [one] if target.subscripts.is_empty() => Some(one.name.to_string()),
        _ => None,
    });
    let mut read = Read::new(case, site.query()?, targets.collect::<Option<_>>()?)?;
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
    let query = site.query()?;
    let names = sql::select(query)?.items.iter().map(|item| match item {
        SelectItem::Expr { expr: Expr { kind: ExprKind::Name(path), .. }, alias } => {
            Some(format!("{prefix}{}", alias.as_ref().or(path.last())?.name))
        }
        _ => None,
    });
    let mut read = Read::new(case, query, names.collect::<Option<_>>()?)?;
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
    if !sql::conjuncts(read.filter()).into_iter().all(|c| known.contains(&spell(&mine, c))) {
        return None;
    }
    let merged = read.merged(update(&user.ast)?, None, [&|e| spell(&mine, e), &|e| spell(&theirs, e)])?;
    let merged = spell_update(merged, &theirs);
    Some((user.ast.span, vec![sql::delete(site.span, case.text()), Edit::replace(user.ast.span, merged)]))
}

fn spell_update(update: Update, names: &[String]) -> String {
    sql::with_variables(&printed(update), &names.iter().map(String::as_str).collect::<Vec<_>>())
}
