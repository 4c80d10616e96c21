//! Which events may not be swapped, from what was observed of them on a server.
//!
//! The same reasons as on the embedded engine, from coarser facts. There a footprint names every row that was locked;
//! here a locking statement is known by the condition it looked for, so it is in the way of whoever writes a row that
//! meets it.
//!
//! | one | the other | why |
//! |---|---|---|
//! | reads or locks | commits a row that this concerns | it sees another version |
//! | takes the snapshot of its transaction | commits anything | all it reads later is of before or after |
//! | locks or writes | locks, writes, or ends a transaction that did | one waits for the other |
//! | writes | writes the same unique key, or the row that a foreign key refers to | the same |
//! | draws from a sequence | draws from it | they get each other's numbers |
//! | SERIALIZABLE | SERIALIZABLE | who is aborted is up to all that they do |
//! | writes a new version | writes one in the same table | somebody takes rows in the order in which they lie |
//!
//! A thread that took part in an event, be it that it was woken, comes after it.
//!
//! Of an UPDATE or DELETE, a condition is only trusted where it speaks of the primary key: of another column a third
//! event may have changed the value by the time that the two are neighbours. Which rows a statement has
//! [found](super::Found) is trusted as long as nobody changes the columns that it asks about.

use std::mem::discriminant;

use isolde_engine::footprint::{ColumnSet, Write};
use isolde_sql::Value;
use isolde_sql::catalog::{Catalog, TableId};

use super::system::Event;
use super::{By, Look, NamedLock, Touched};

/// Whether the order of two neighbouring events may matter.
pub(super) fn dependent(catalog: &Catalog, first: &Event, second: &Event) -> bool {
    let met = |one: &Event, other: &Event| one.parts.iter().any(|p| other.parts.iter().any(|q| p.thread == q.thread));
    met(first, second) || first.touched().any(|a| second.touched().any(|b| conflict(catalog, a, b)))
}

fn conflict(catalog: &Catalog, a: &Touched, b: &Touched) -> bool {
    let serializable = a.serializable && b.serializable;
    let sequences = a.sequences.iter().any(|name| b.sequences.contains(name));
    (a.everything && !b.is_nothing())
        || (b.everything && !a.is_nothing())
        || serializable
        || sequences
        || a.moves.iter().any(|table| b.moves.contains(table))
        || disturbs(catalog, a, b)
        || disturbs(catalog, b, a)
        || in_the_way(catalog, a, b)
}

/// Whether what `a` makes visible changes what `b` sees.
fn disturbs(catalog: &Catalog, a: &Touched, b: &Touched) -> bool {
    if a.ended != Some(true) || (a.settled.is_empty() && a.settled_all.is_empty()) {
        return false;
    }
    // From a snapshot that was taken before, only what is locked or checked is looked at anew.
    let looks = || b.reads.iter().filter(|look| !b.kept || look.current).chain(&b.locks);
    b.snapshot
        || a.settled.iter().any(|write| looks().any(|look| sees(catalog, look, write)))
        || a.settled_all.iter().any(|table| looks().any(|look| look.table == *table))
}

/// Whether a look may find something else once a row is written. That there is one row more or less is noticed whatever
/// columns are asked for: by `count(*)`.
fn sees(catalog: &Catalog, look: &Look, write: &Write) -> bool {
    let stable = stable(catalog, look.table);
    match (&write.before, &write.after) {
        (Some(_), Some(_)) => !look.misses(write) && look.may_hit(write, stable, ColumnSet::NONE),
        _ => !is_apart(look, write) && look.may_concern(write, stable),
    }
}

/// Whether a row is inserted that has other values than those looked for. All its values are those of who inserts it,
/// and nobody changes them before others can see it: so they are trusted in all columns.
fn is_apart(look: &Look, write: &Write) -> bool {
    let (None, Some(row)) = (&write.before, &write.after) else { return false };
    let differs = |(column, value): &(usize, Value)| row.get(*column).is_some_and(|theirs| differ(theirs, value));
    look.table == write.table && look.key.iter().any(differs)
}

/// Whether two values of a column are known to differ: what could not be read as one of its type is still a text.
fn differ(one: &Value, other: &Value) -> bool {
    one != other && (one.is_null() || other.is_null() || discriminant(one) == discriminant(other))
}

/// Whether one has, takes or gives up a lock that the other wants.
fn in_the_way(catalog: &Catalog, a: &Touched, b: &Touched) -> bool {
    let (ours, theirs) = (Locks(a), Locks(b));
    ours.meets(catalog, &theirs)
        || theirs.meets(catalog, &ours)
        || ours.conditions().any(|one| theirs.conditions().any(|other| may_overlap(catalog, one, other)))
        || ours.writes().any(|one| theirs.writes().any(|other| same_place(catalog, one, other)))
}

/// What an event locks, or has locked and gives up.
struct Locks<'t>(&'t Touched);

impl<'t> Locks<'t> {
    fn conditions(&self) -> impl Iterator<Item = &'t Look> {
        self.0.locks.iter().chain(&self.0.released)
    }

    fn writes(&self) -> impl Iterator<Item = &'t Write> {
        self.0.writes.iter().chain(&self.0.settled)
    }

    fn tables(&self) -> impl Iterator<Item = TableId> {
        self.0.writes_all.iter().chain(&self.0.settled_all).copied()
    }

    fn keys(&self) -> impl Iterator<Item = &'t NamedLock> {
        self.0.keys.iter().chain(&self.0.released_keys)
    }

    fn uses(&self, table: TableId) -> bool {
        self.tables().any(|t| t == table)
            || self.conditions().any(|read| read.table == table)
            || self.writes().any(|write| write.table == table)
    }

    fn meets(&self, catalog: &Catalog, other: &Locks<'_>) -> bool {
        let concerns = |look: &Look, write: &Write| {
            !look.misses(write) && !is_apart(look, write) && look.may_concern(write, stable(catalog, look.table))
        };
        self.conditions().any(|look| other.writes().any(|write| concerns(look, write)))
            || self.tables().any(|table| other.uses(table))
            || self.keys().any(|key| other.keys().any(|theirs| theirs == key))
    }
}

/// Whether a row could meet both conditions, as far as that is easily told. Rows that were found by both are what they
/// meet in, if that is known: who makes another one meet a condition is in the way by itself.
fn may_overlap(catalog: &Catalog, one: &Look, other: &Look) -> bool {
    if let (Some(ours), Some(theirs)) = (&one.found, &other.found)
        && ours.rows.is_disjoint(&theirs.rows)
    {
        return false;
    }
    let stable = stable(catalog, one.table);
    // A key that is only asked for is in nobody's way: those who write it are.
    let columns = |look: &Look| look.key.iter().map(|(column, _)| *column).collect::<ColumnSet>();
    let (ours, theirs) = (columns(one), columns(other));
    let probes = one.by == By::Probe || other.by == By::Probe;
    if probes && ours != theirs && !ours.is_empty() && !theirs.is_empty() {
        return false;
    }
    // Keys are looked for in what is there now, and conditions perhaps in a snapshot, of before somebody changed a row.
    let both_now = one.by != By::Scan && other.by != By::Scan;
    let apart = |(column, value): &(usize, Value)| {
        (both_now || stable.contains(*column)) && other.key.iter().any(|(c, v)| c == column && differ(v, value))
    };
    one.table == other.table && !one.key.iter().any(apart)
}

/// The columns of a table whose values are taken to stay: its primary key.
fn stable(catalog: &Catalog, table: TableId) -> ColumnSet {
    let key = catalog.has_table(table).then(|| catalog.table(table).primary_key()).flatten();
    key.map_or(ColumnSet::NONE, |index| index.columns.iter().copied().collect())
}

/// Whether two writes are of one row, of one unique key, or of a row and one that refers to it.
fn same_place(catalog: &Catalog, one: &Write, other: &Write) -> bool {
    if one.table == other.table {
        return one.row == other.row || shares_a_key(catalog, one, other);
    }
    refers(catalog, one, other) || refers(catalog, other, one)
}

fn shares_a_key(catalog: &Catalog, one: &Write, other: &Write) -> bool {
    if !catalog.has_table(one.table) {
        return true;
    }
    let indexes = catalog.table(one.table).indexes.iter().filter(|index| index.unique);
    let mut indexes = indexes.map(|index| index.columns.as_slice());
    indexes.any(|columns| {
        // A key that is not made of columns may be any.
        columns.is_empty() || keys(one, columns).iter().any(|key| keys(other, columns).contains(key))
    })
}

/// Whether `child` refers to a row whose key `parent` takes away.
fn refers(catalog: &Catalog, child: &Write, parent: &Write) -> bool {
    if !catalog.has_table(child.table) {
        return true;
    }
    catalog.table(child.table).foreign_keys.iter().filter(|key| key.parent == parent.table).any(|key| {
        let (from, to) = (keys(child, &key.columns), keys(parent, &key.parent_columns));
        let kept = to.len() == 2 && to[0] == to[1];
        !kept && from.iter().any(|key| to.contains(key))
    })
}

/// The values of some columns, before and after a write.
fn keys(write: &Write, columns: &[usize]) -> Vec<Vec<Value>> {
    let rows = [&write.before, &write.after].into_iter().flatten();
    let key = |row: &isolde_sql::Row| columns.iter().map(|&c| row.get(c).cloned()).collect::<Option<Vec<Value>>>();
    rows.filter_map(key).collect()
}

impl Touched {
    /// Whether nobody could tell.
    pub(crate) fn is_nothing(&self) -> bool {
        self.reads.is_empty()
            && self.locks.is_empty()
            && self.writes.is_empty()
            && self.writes_all.is_empty()
            && self.keys.is_empty()
            && self.sequences.is_empty()
            && !self.snapshot
            && !self.serializable
            && self.ended.is_none()
            && !self.everything
    }
}
