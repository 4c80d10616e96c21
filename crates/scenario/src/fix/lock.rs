//! Row locks on the reads that missed something, so that nobody changes what was read before it is used.
//!
//! A query whose rows are rows of tables takes the lock itself. One that counts or adds up cannot; then the rows are
//! locked by a statement before it, in the order of their key, so that two of these do not deadlock. The subquery of a
//! statement that writes takes the lock where it stands, as a queue does with SKIP LOCKED. Rows that are not
//! there yet cannot be locked at all, but often the row that they will refer to can: who counts a member's loans locks
//! the member.

use isolde_sql::ast::Query;

use super::case::{Culprit, Taken};
use super::patch::Edit;
use super::site::Site;
use super::{Candidate, Case, Kind, sql};

pub(super) struct RowLock;

/// Reads that are tried alone, at most.
const ALONE_MAX: usize = 3;

impl Kind for RowLock {
    fn name(&self) -> &'static str {
        "row lock"
    }

    fn propose(&self, case: &Case<'_>) -> Vec<Candidate> {
        let culprits = case.culprits();
        let all: Vec<&Culprit<'_>> = culprits.iter().collect();
        let mut candidates = Vec::new();
        let [strong, weak] = ["FOR UPDATE", "FOR NO KEY UPDATE"].map(|strength| parents(case, &all, strength));
        let mut parents = strong.into_iter().chain(weak.map(Candidate::minor));
        // Who counts rows may count none, and then there is nothing but the row they would refer to.
        if all.iter().all(|c| own_lock(&c.site).is_none()) {
            candidates.extend(&mut parents);
        }
        candidates.extend(candidate(case, &all, "FOR UPDATE"));
        candidates.extend(candidate(case, &all, "FOR NO KEY UPDATE").map(Candidate::minor));
        // A statement that reads and writes is one step here. On a server two of them could both have the weak lock
        // when they come to the strong one.
        if !all.iter().any(|c| c.site.query().is_none() && own_lock(&c.site).is_some()) {
            candidates.extend(candidate(case, &all, "FOR SHARE"));
        }
        if all.iter().any(|c| c.site.read().is_some_and(|query| query.limit.is_some())) {
            candidates.extend(candidate(case, &all, "FOR UPDATE SKIP LOCKED"));
        }
        // Locks on some of them only if locks on all are too many.
        let parts = [Taken::Missed, Taken::Blamed].map(|part| culprits.iter().filter(|c| c.part <= part).collect());
        let alone = culprits.iter().filter(|_| culprits.len() <= ALONE_MAX).map(|culprit| vec![culprit]);
        for some in parts.into_iter().chain(alone).filter(|some: &Vec<_>| some.len() < all.len()) {
            candidates.extend(candidate(case, &some, "FOR UPDATE").map(Candidate::fallback));
        }
        candidates.extend(parents);
        candidates
    }
}

/// Locks of this strength on all these reads.
fn candidate(case: &Case<'_>, culprits: &[&Culprit<'_>], strength: &str) -> Option<Candidate> {
    let locked: Vec<(Site<'_>, Edit)> =
        culprits.iter().filter_map(|c| Some((c.site, edit(case, &c.site, strength)?))).collect();
    let sites: Vec<Site<'_>> = locked.iter().map(|(site, _)| *site).collect();
    if sites.is_empty() {
        return None;
    }
    let before = sites.iter().any(|site| own_lock(site).is_none());
    let (tables, lines) = (case.tables(&sites), case.lines(sites.iter().map(|site| site.span)));
    let title = match before {
        true => format!("{strength} on the rows of {tables} before {lines}"),
        false => format!("{strength} on the read of {tables} ({lines})"),
    };
    let edits = locked.into_iter().map(|(_, edit)| edit).collect();
    Some(with_transaction(case, culprits, Candidate::new(title, edits), before))
}

/// The lock on one read.
pub(super) fn edit(case: &Case<'_>, site: &Site<'_>, strength: &str) -> Option<Edit> {
    match own_lock(site) {
        Some(query) => Some(Edit::insert(query.span.end, format!(" {strength}"))),
        None => before(case, site, site.read()?, strength),
    }
}

/// The query that can lock what it reads: the statement itself, or the subquery of a statement that writes.
fn own_lock<'a>(site: &Site<'a>) -> Option<&'a Query> {
    let query = site.query().or_else(|| site.statement().and(site.inner_query()));
    query.filter(|query| sql::is_lockable(query))
}

/// A statement before a read that locks the rows it will read.
fn before(case: &Case<'_>, site: &Site<'_>, query: &Query, strength: &str) -> Option<Edit> {
    let locking = sql::locking_query(query, sql::table(query, case.catalog()), strength)?;
    Some(sql::insert_before(site.span.start, &sql::run_query(site, &locking), case.text()))
}

/// Locks on the rows that what is read refers to.
fn parents(case: &Case<'_>, culprits: &[&Culprit<'_>], strength: &str) -> Option<Candidate> {
    let locked: Vec<(Site<'_>, String, Edit)> =
        culprits.iter().filter_map(|c| parent(case, &c.site, strength)).collect();
    let (first, parent, _) = locked.first()?;
    let lines = case.lines(locked.iter().map(|(site, _, _)| site.span));
    let what = if locked.len() == 1 { case.line(first.span) } else { lines };
    let title = format!("{strength} on the row of {parent} before {what}");
    let edits = locked.into_iter().map(|(_, _, edit)| edit).collect();
    Some(with_transaction(case, culprits, Candidate::new(title, edits), true))
}

/// The lock on the row that a foreign key of the table read refers to, by the value it is read with.
fn parent<'a>(case: &Case<'_>, site: &Site<'a>, strength: &str) -> Option<(Site<'a>, String, Edit)> {
    let query = site.read()?;
    let table = sql::table(query, case.catalog())?;
    let equalities = sql::equalities(sql::select(query)?.filter.as_ref(), table, sql::alias(query));
    let (key, value) = table.foreign_keys.iter().find_map(|key| match key.columns.as_slice() {
        [column] => equalities.iter().find(|(c, _)| c == column).map(|(_, value)| (key, *value)),
        _ => None,
    })?;
    let parent = case.catalog().table(key.parent);
    let column = parent.columns.get(*key.parent_columns.first()?)?;
    let lock =
        format!("SELECT 1 FROM {} WHERE {} = {value} {strength}", sql::ident(&parent.name), sql::ident(&column.name));
    let edit = sql::insert_before(site.span.start, &sql::run_query(site, &lock), case.text());
    Some((*site, parent.name.to_string(), edit))
}

/// A lock lasts as long as its transaction.
fn with_transaction(case: &Case<'_>, culprits: &[&Culprit<'_>], mut candidate: Candidate, grows: bool) -> Candidate {
    let threads = culprits.iter().flat_map(|c| c.threads.iter().copied()).collect();
    let sites: Vec<Site<'_>> = culprits.iter().map(|c| c.site).collect();
    let edits = case.one_transaction(&threads, &sites, grows);
    if !edits.is_empty() {
        candidate.title.push_str(", in one transaction");
        // BEGIN comes before what is to be in the transaction.
        candidate.edits.splice(..0, edits);
    }
    candidate
}

pub(super) struct TableLock;

impl Kind for TableLock {
    fn name(&self) -> &'static str {
        "table lock"
    }

    fn propose(&self, case: &Case<'_>) -> Vec<Candidate> {
        let culprits = case.culprits();
        let mut locks: Vec<(Site<'_>, Edit)> = Vec::new();
        for culprit in &culprits {
            let site = culprit.site;
            let read = site.read().and_then(|query| sql::table(query, case.catalog()));
            let Some(table) = read else { continue };
            let lock = format!("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", sql::ident(&table.name));
            let known = |(other, edit): &(Site<'_>, Edit)| other.same_list(&site) && edit.text.starts_with(&lock);
            if !locks.iter().any(known) {
                locks.push((site, sql::insert_before(site.span.start, &lock, case.text())));
            }
        }
        let sites: Vec<Site<'_>> = locks.iter().map(|(site, _)| *site).collect();
        if sites.is_empty() {
            return Vec::new();
        }
        let title =
            format!("LOCK TABLE {} before {}", case.tables(&sites), case.lines(sites.iter().map(|site| site.span)));
        let all: Vec<&Culprit<'_>> = culprits.iter().collect();
        let edits = locks.into_iter().map(|(_, edit)| edit).collect();
        vec![with_transaction(case, &all, Candidate::new(title, edits), true)]
    }
}
