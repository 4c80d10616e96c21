//! Locks taken in one order by everybody, so that nobody waits in a cycle.
//!
//! Who locks two rows one after another can lock both at first, in the order of their key. Who locks the rows of a
//! query can say in which order. Who takes a weak lock first and a stronger one later can take the strong one at once.
//! And where two statements simply stand in another order than elsewhere, they can change places.

use isolde_engine::Activity;
use isolde_sql::Span;
use isolde_sql::ast::{Expr, Ident, LockStrength, OrderKey, QualifiedName, Query, StatementKind};
use isolde_sql::catalog::Table;

use super::patch::Edit;
use super::site::Site;
use super::{Candidate, Case, Kind, sql};

pub(super) struct LockOrder;

impl Kind for LockOrder {
    fn name(&self) -> &'static str {
        "lock order"
    }

    fn propose(&self, case: &Case<'_>) -> Vec<Candidate> {
        let waits: Vec<Wait<'_>> = waits(case);
        let mut candidates = Vec::new();
        candidates.extend(lock_first(case, &waits));
        candidates.extend(ordered(case, &waits));
        candidates.extend(stronger(case, &waits));
        candidates.extend(waits.iter().filter_map(|wait| exchanged(case, wait, &waits)));
        candidates
    }
}

/// A thread of a deadlock: the statements that took its locks, and the one that waits.
struct Wait<'a> {
    thread: usize,
    held: Vec<Site<'a>>,
    waiting: Site<'a>,
}

fn waits<'a>(case: &Case<'a>) -> Vec<Wait<'a>> {
    let run = case.run;
    let members = run.system.deadlocked(&run.end);
    let wait = |thread: usize| {
        let session = case.scenario.threads.get(thread)?.session;
        let Activity::Blocked(blocked) = run.end.database.activity(session) else { return None };
        let waiting = case.site_at(blocked.pending.span)?;
        let own = case.steps().filter(|(t, _)| *t == thread);
        let mut held: Vec<Site<'a>> = own
            .filter_map(|(_, step)| Some((step, case.site_at(step.pending.span)?)))
            .filter(|(step, site)| !step.footprint.locks.is_empty() || locks_table(site))
            .map(|(_, site)| site)
            .collect();
        held.dedup_by_key(|site| site.span);
        Some(Wait { thread, held, waiting })
    };
    members.into_iter().filter_map(wait).collect()
}

/// Where the rows that a statement locks come from.
struct Target<'a> {
    table: &'a Table,
    alias: Option<&'a Ident>,
    filter: Option<&'a Expr>,
}

fn target<'a>(case: &Case<'a>, site: &Site<'a>) -> Option<Target<'a>> {
    let by_name = |name: &QualifiedName| case.catalog().table_by_name(&name.name.name).map(|table| &**table);
    if let Some(query) = site.query() {
        let table = sql::table(query, case.catalog())?;
        return Some(Target { table, alias: sql::alias(query), filter: sql::select(query)?.filter.as_ref() });
    }
    match &site.statement()?.kind {
        StatementKind::Update(update) if update.from.is_empty() => Some(Target {
            table: by_name(&update.table)?,
            alias: update.alias.as_ref(),
            filter: update.filter.as_ref(),
        }),
        StatementKind::Delete(delete) if delete.using.is_empty() => Some(Target {
            table: by_name(&delete.table)?,
            alias: delete.alias.as_ref(),
            filter: delete.filter.as_ref(),
        }),
        _ => None,
    }
}

/// All rows of the table that a thread will lock, before the first of them.
fn lock_first<'a>(case: &Case<'a>, waits: &[Wait<'a>]) -> Option<Candidate> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut places: Vec<Span> = Vec::new();
    let mut of = None;
    for wait in waits {
        let (table, first, statement) = lock_all(case, wait)?;
        edits.push(sql::insert_before(first.span.start, &statement, case.text()));
        places.push(first.span);
        of = Some(table);
    }
    edits.dedup();
    places.dedup();
    let table = of?;
    let key: Vec<String> = sql::order_of(table).iter().map(OrderKey::to_string).collect();
    let lines = case.lines(places);
    let title = format!("lock the rows of {} first, in the order of {} (before {lines})", table.name, key.join(", "));
    Some(Candidate::new(title, edits))
}

/// The statement that locks all rows of one thread at once, and where it goes.
fn lock_all<'a>(case: &Case<'a>, wait: &Wait<'a>) -> Option<(&'a Table, Site<'a>, String)> {
    let last = target(case, &wait.waiting)?;
    let mut sites: Vec<Site<'a>> = wait.held.iter().filter(|site| site.same_list(&wait.waiting)).copied().collect();
    sites.retain(|site| target(case, site).is_some_and(|t| t.table.id == last.table.id));
    if !sites.iter().any(|site| site.span == wait.waiting.span) {
        sites.push(wait.waiting);
    }
    sites.sort_by_key(|site| site.span);
    let first = *sites.first()?;
    let key = last.table.primary_key().map(|index| index.columns.clone())?;
    let name = |c: usize| last.table.columns.get(c).map(|column| sql::ident(&column.name));
    let spelled = |site: &Site<'_>, e: &Expr| sql::with_variables(&e.to_string(), &site.variables());
    let value = |site: &Site<'a>| {
        let Target { filter, alias, .. } = target(case, site)?;
        let equalities = sql::equalities(filter, last.table, alias);
        equalities.iter().find(|(c, _)| [*c] == key[..]).map(|(_, value)| spelled(site, value))
    };
    let values: Option<Vec<String>> = sites.iter().map(value).collect();
    let condition = match values {
        Some(mut values) => {
            values.dedup();
            let column = name(*key.first()?)?;
            match values.as_slice() {
                [one] => format!("{column} = {one}"),
                several => format!("{column} IN ({})", several.join(", ")),
            }
        }
        // One statement that locks many rows.
        None if sites.len() == 1 && last.alias.is_none() => spelled(&first, last.filter?),
        None => return None,
    };
    let order: Option<Vec<String>> = key.iter().map(|&c| name(c)).collect();
    let query = format!(
        "SELECT 1 FROM {} WHERE {condition} ORDER BY {} FOR UPDATE",
        sql::ident(&last.table.name),
        order?.join(", ")
    );
    let statement = if first.body.is_some() { query.replacen("SELECT", "PERFORM", 1) } else { query };
    Some((last.table, first, statement))
}

/// Queries that lock, of these threads.
fn locking<'a>(waits: &[Wait<'a>]) -> Vec<(Site<'a>, &'a Query)> {
    let all = waits.iter().flat_map(|wait| wait.held.iter().chain([&wait.waiting]));
    let mut queries: Vec<(Site<'a>, &Query)> =
        all.filter_map(|site| Some((*site, site.query().filter(|query| !query.locking.is_empty())?))).collect();
    queries.sort_by_key(|(site, _)| site.span);
    queries.dedup_by_key(|(site, _)| site.span);
    queries
}

/// ORDER BY for queries that lock rows in the order in which they find them.
fn ordered(case: &Case<'_>, waits: &[Wait<'_>]) -> Option<Candidate> {
    let queries: Vec<_> = locking(waits).into_iter().filter(|(_, query)| query.order_by.is_empty()).collect();
    let edits: Vec<Edit> = queries
        .iter()
        .filter_map(|(_, query)| {
            let key: Vec<String> =
                sql::order_of(sql::table(query, case.catalog())?).iter().map(OrderKey::to_string).collect();
            let at = query.locking.first()?.span.start;
            (!key.is_empty()).then(|| Edit::insert(at, format!("ORDER BY {} ", key.join(", "))))
        })
        .collect();
    let lines = case.lines(queries.iter().map(|(site, _)| site.span));
    (!edits.is_empty()).then(|| Candidate::new(format!("lock rows in the order of their key ({lines})"), edits))
}

/// FOR UPDATE where a weaker lock comes first.
fn stronger(case: &Case<'_>, waits: &[Wait<'_>]) -> Option<Candidate> {
    let weak = |query: &Query| query.locking.iter().all(|l| l.strength < LockStrength::NoKeyUpdate && l.of.is_empty());
    let queries: Vec<_> = locking(waits).into_iter().filter(|(_, query)| weak(query)).collect();
    let locks = queries.iter().flat_map(|(_, query)| &query.locking);
    let edits: Vec<Edit> = locks.map(|lock| Edit::replace(lock.span, "FOR UPDATE")).collect();
    let lines = case.lines(queries.iter().map(|(site, _)| site.span));
    (!edits.is_empty()).then(|| Candidate::new(format!("FOR UPDATE at once ({lines})"), edits))
}

/// The statement that holds and the one that waits change places, in a thread or routine that nobody else of the cycle
/// runs.
fn exchanged(case: &Case<'_>, wait: &Wait<'_>, waits: &[Wait<'_>]) -> Option<Candidate> {
    let shared = waits.iter().any(|other| other.thread != wait.thread && other.waiting.span == wait.waiting.span);
    let first = wait.held.iter().find(|site| site.span != wait.waiting.span && writes(site))?;
    let second = &wait.waiting;
    if shared || !first.same_list(second) || !writes(second) {
        return None;
    }
    let (a, b) = (first.span.of(case.text()), second.span.of(case.text()));
    let name = &case.scenario.threads.get(wait.thread)?.name;
    let lines = case.lines([first.span, second.span]);
    let edits = vec![Edit::replace(first.span, b), Edit::replace(second.span, a)];
    Some(Candidate::new(format!("exchange {lines}, in {name}"), edits))
}

fn writes(site: &Site<'_>) -> bool {
    let kind = site.statement().map(|statement| &statement.kind);
    matches!(kind, Some(StatementKind::Update(_) | StatementKind::Delete(_) | StatementKind::Insert(_)))
        || site.query().is_some_and(|query| !query.locking.is_empty())
        || locks_table(site)
}

fn locks_table(site: &Site<'_>) -> bool {
    matches!(site.statement().map(|statement| &statement.kind), Some(StatementKind::LockTable(_)))
}
