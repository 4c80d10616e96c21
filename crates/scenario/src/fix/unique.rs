//! A unique key where two inserts collide.
//!
//! Look, and insert if nothing is there: two sessions that both look first both insert. A unique key decides who was
//! first; what the other one makes of that is the second half of the fix, `ON CONFLICT DO NOTHING`, and for whatever
//! was to happen only once, `IF FOUND`:
//!
//! ```text
//! PERFORM email FROM person WHERE email = address;        INSERT INTO person VALUES (address)
//! IF NOT FOUND THEN                                  ──▶    ON CONFLICT (email) DO NOTHING;
//!   INSERT INTO person VALUES (address);                  IF FOUND THEN
//!   INSERT INTO welcome_mail VALUES (address);              INSERT INTO welcome_mail VALUES (address);
//! END IF;                                                 END IF;
//! ```

use isolde_engine::footprint::Write;
use isolde_sql::ast::plpgsql::{Stmt, StmtKind};
use isolde_sql::ast::{ColumnConstraintKind, ColumnDef, Expr, ExprKind, Insert, InsertSource, StatementKind, TypeName};
use isolde_sql::catalog::Table;
use isolde_sql::{Span, SqlState};

use super::patch::Edit;
use super::site::{Code, List, Site};
use super::{Candidate, Case, Kind, sql, thread};
use crate::scenario::mentions;

pub(super) struct UniqueKey;

impl Kind for UniqueKey {
    fn name(&self) -> &'static str {
        "unique key"
    }

    fn is_about_overlap(&self) -> bool {
        false
    }

    fn propose(&self, case: &Case<'_>) -> Vec<Candidate> {
        let Some(collision) = duplicates(case).or_else(|| refused(case)) else { return Vec::new() };
        let constraint = collision.constraint(case);
        let columns: Vec<String> =
            collision.columns.iter().map(|&c| sql::ident(&collision.table.columns[c].name)).collect();
        let columns = columns.join(", ");
        let target = if columns.is_empty() { String::new() } else { format!(" ({columns})") };
        let clause = format!("ON CONFLICT{target} DO NOTHING");
        let title = match &constraint {
            Some(_) => format!("UNIQUE ({columns}) for {}", collision.table.name),
            None => String::new(),
        };
        let mut candidates = Vec::new();
        let mut add = |what: String, edits: Vec<Edit>| {
            let parts = [title.as_str(), what.as_str()];
            let title = parts.iter().filter(|p| !p.is_empty()).copied().collect::<Vec<_>>().join(", ");
            candidates.push(Candidate::new(title, constraint.iter().cloned().chain(edits).collect()));
        };
        if constraint.is_some() {
            add(String::new(), Vec::new());
        }
        let inserts = &collision.inserts;
        if inserts.is_empty() {
            return candidates;
        }
        let lines = case.lines(inserts.iter().map(|site| site.span));
        let plain: Option<Vec<Edit>> = inserts.iter().map(|site| do_nothing(site, &clause)).collect();
        let asked: Option<Vec<Vec<Edit>>> = inserts.iter().map(|site| insert_first(case, site, &clause)).collect();
        if let Some(edits) = asked {
            add(format!("INSERT {clause} instead of looking first ({lines})"), edits.into_iter().flatten().collect());
        }
        if let Some(edits) = plain {
            add(format!("{clause} ({lines})"), edits);
        }
        candidates
    }
}

/// Two threads that insert what should be there once.
struct Collision<'a> {
    table: &'a Table,
    /// The columns that should differ.
    columns: Vec<usize>,
    /// The statements that insert.
    inserts: Vec<Site<'a>>,
}

impl Collision<'_> {
    /// The key, unless there is one.
    fn constraint(&self, case: &Case<'_>) -> Option<Edit> {
        let mut columns = self.columns.clone();
        columns.sort_unstable();
        let known = |index: &[usize]| {
            let mut index = index.to_vec();
            index.sort_unstable();
            index == columns
        };
        if columns.is_empty() || self.table.indexes.iter().any(|index| index.unique && known(&index.columns)) {
            return None;
        }
        let (create, span) = case.definition(&self.table.name)?;
        let names: Vec<&str> = self.columns.iter().map(|&c| &*self.table.columns[c].name).collect();
        if let [one] = names.as_slice() {
            let column = create.columns.iter().find(|column| *column.name.name == **one)?;
            return Some(Edit::insert(column_end(column), " UNIQUE"));
        }
        let listed: Vec<String> = names.iter().map(|name| sql::ident(name)).collect();
        let key = format!("CREATE UNIQUE INDEX ON {} ({});", sql::ident(&self.table.name), listed.join(", "));
        Some(Edit::insert(thread::end_of(span, case.text()), format!("\n{key}")))
    }
}

/// Where the definition of a column ends.
pub(super) fn column_end(column: &ColumnDef) -> u32 {
    let ty = match &column.ty {
        TypeName::Known(_, span) | TypeName::Serial(_, span) | TypeName::Array(_, span) => *span,
        TypeName::Reference { span, .. } => *span,
        TypeName::Named(name) => name.name.span,
    };
    let references = |kind: &ColumnConstraintKind| matches!(kind, ColumnConstraintKind::References(_));
    // UNIQUE goes before REFERENCES, as people write it.
    let constraints = column.constraints.iter().filter(|c| !references(&c.kind)).map(|c| c.span.end);
    constraints.chain([ty.end]).max().unwrap_or(ty.end)
}

/// Rows that two threads inserted after each had looked for the other's.
fn duplicates<'a>(case: &Case<'a>) -> Option<Collision<'a>> {
    let mut inserted: Vec<(usize, &Write, Span)> = Vec::new();
    for (thread, step) in case.steps() {
        let new = step.footprint.writes.iter().filter(|write| write.before.is_none());
        inserted.extend(new.map(|write| (thread, write, step.pending.span)));
    }
    for culprit in case.culprits() {
        let Some(query) = culprit.site.read() else { continue };
        let Some(table) = sql::table(query, case.catalog()) else { continue };
        let Some(select) = sql::select(query) else { continue };
        let equalities = sql::equalities(select.filter.as_ref(), table, sql::alias(query));
        let columns: Vec<usize> = equalities.iter().map(|(c, _)| *c).collect();
        // Who asks for more than equality does not look for a key.
        if sql::conjuncts(select.filter.as_ref()).len() > columns.len() {
            continue;
        }
        let rows: Vec<_> = inserted.iter().filter(|(_, write, _)| write.table == table.id).collect();
        let twins = |a: &Write, b: &Write| {
            let (Some(a), Some(b)) = (&a.after, &b.after) else { return false };
            columns.iter().all(|&c| a.get(c).is_some_and(|v| !v.is_null()) && a.get(c) == b.get(c))
        };
        let collide = rows.iter().any(|(s, a, _)| rows.iter().any(|(t, b, _)| s != t && twins(a, b)));
        if collide && !columns.is_empty() {
            let mut inserts: Vec<Site<'a>> = rows.iter().filter_map(|(_, _, span)| case.site_at(*span)).collect();
            inserts.sort_by_key(|site| site.span);
            inserts.dedup_by_key(|site| site.span);
            inserts.retain(|site| insert(site).is_some());
            return Some(Collision { table, columns, inserts });
        }
    }
    None
}

/// An insert that a unique key refused.
fn refused<'a>(case: &Case<'a>) -> Option<Collision<'a>> {
    let failed = case.steps().filter_map(|(_, step)| match &step.reply {
        Some(Err(error)) if error.state == SqlState::UNIQUE_VIOLATION => case.site_at(step.pending.span),
        _ => None,
    });
    let site = failed.last()?;
    let table = case.catalog().table_by_name(&insert(&site)?.table.name.name)?;
    Some(Collision { table, columns: Vec::new(), inserts: vec![site] })
}

pub(super) fn insert<'a>(site: &Site<'a>) -> Option<&'a Insert> {
    match &site.statement()?.kind {
        StatementKind::Insert(insert) if insert.on_conflict.is_none() => Some(insert),
        _ => None,
    }
}

/// `ON CONFLICT` behind an insert.
pub(super) fn do_nothing(site: &Site<'_>, clause: &str) -> Option<Edit> {
    let insert = insert(site)?;
    let end = match &insert.source {
        // Before RETURNING. Nothing is returned of a row that was there, so no variable may wait for it.
        InsertSource::Query(query) if !insert.returning.is_empty() => {
            let kept =
                matches!(site.code, Code::Client(client) if client.gset.is_some()) || site.stored_into().is_some();
            (!kept).then_some(query.span.end)?
        }
        _ => site.statement()?.span.end,
    };
    Some(Edit::insert(end, format!(" {clause}")))
}

/// Insert first, then ask whether that found a place.
pub(super) fn insert_first(case: &Case<'_>, site: &Site<'_>, clause: &str) -> Option<Vec<Edit>> {
    let text = case.text();
    let table = &insert(site)?.table.name.name;
    insert(site)?.returning.is_empty().then_some(())?;
    let decisions = case.sites().iter().filter_map(|decision| match decision.code {
        Code::Stmt(stmt) => Some((decision, stmt, head(stmt)?)),
        _ => None,
    });
    let (decision, stmt, condition) = decisions
        .into_iter()
        .find_map(|(d, stmt, (condition, first))| (first.span == site.span).then_some((d, stmt, condition)))?;
    let statement = format!("{} {clause}", site.span.of(text));
    let mut edits = sql::ask_found(stmt, 1, &statement, text)?;
    if let Some(query) = decision.inner_query() {
        let absent = matches!(&condition.kind, ExprKind::Not(inner) if matches!(inner.kind, ExprKind::Exists(_)));
        let same = sql::table(query, case.catalog()).is_some_and(|t| t.name == *table);
        return (absent && same).then_some(edits);
    }
    // The look before it goes, if all it says is whether something is there.
    let List::Body(list, at) = decision.list else { return None };
    let look = list.get(at.checked_sub(1)?)?;
    let looked = case.site_at(look.span).filter(|s| s.span == look.span)?;
    let same = sql::table(looked.query()?, case.catalog()).is_some_and(|t| t.name == *table);
    let unused = match looked.stored_into() {
        None => true,
        Some(into) => {
            let names: Vec<&str> = into.targets.iter().filter_map(|t| Some(&*t.path.last()?.name)).collect();
            let rest = Span { start: condition.span.end, end: looked.body?.span.end };
            !mentions(rest.of(text), &names) && !names.iter().any(|name| looked.is_parameter(name))
        }
    };
    let absent = is_not_found(condition) || (looked.stored_into().is_some() && is_zero(condition));
    (same && unused && absent).then(|| {
        edits.push(sql::delete(look.span, text));
        edits
    })
}

/// The condition of a simple IF and the first statement that depends on it.
fn head(stmt: &Stmt) -> Option<(&Expr, &Stmt)> {
    match &stmt.kind {
        StmtKind::If(branches, _) => match branches.as_slice() {
            [(condition, body)] => Some((condition, body.first()?)),
            _ => None,
        },
        _ => None,
    }
}

fn is_not_found(condition: &Expr) -> bool {
    matches!(&condition.kind, ExprKind::Not(inner) if sql::is_found(inner))
}

/// `n = 0`
fn is_zero(condition: &Expr) -> bool {
    match &condition.kind {
        ExprKind::Binary(op, left, right) if &**op == "=" => {
            matches!(left.kind, ExprKind::Name(_)) && matches!(right.kind, ExprKind::Integer(0))
        }
        _ => false,
    }
}
