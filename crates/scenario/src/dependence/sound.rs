//! The sound relation: what must hold for two neighbouring events to be swapped.
//!
//! Each reason for which an order can matter is a few lines here; two events are independent if there is none.
//!
//! | one event | the other | the order matters if |
//! |---|---|---|
//! | reads what is committed | publishes | a published row is, or was, among those looked for, and a column that matters has changed |
//! | takes a snapshot to keep | publishes | a published row is, or was, among those that [the transaction can still come to](super::reach); for a statement that waits, if it names the table |
//! | locks a row | locks it | the locks exclude each other, and somebody else could meet one of them |
//! | looks at a newest version | writes, publishes or takes back | same row |
//! | writes | writes | same row and column |
//! | probes a key | publishes | a row gains or loses the key |
//! | probes a key, uncommitted rows too | writes, takes back | the row has the key, before or after |
//! | a row enters an index | a row enters, or ON CONFLICT asks | same key |
//! | waits, or waits no longer | locks | as for locks; two in one queue always |
//! | is a victim | anything of a thread that waits | always |
//! | draws from a sequence | draws | same sequence |
//! | is watched as serializable | is watched, or writes | see [`super::serial`] |
//! | publishes | publishes | an invariant looks at both |
//! | writes a new version | writes a new version | somebody takes both rows [as they lie](super::order) |
//!
//! # Rows that change while they are written
//!
//! Two fleeting updates of different columns of one row are independent, and yet each one's picture of the row depends
//! on which came first. So a picture may be trusted only in the columns that the event *depends on*: those it set,
//! those it read, and those that [nobody ever changes](super::constant). `UPDATE t SET a = 1 WHERE id = 7` is certain
//! to be about the row 7, but whether it makes `a = 1 AND b = 5` true is for whoever sets `b` to say; so it is taken to
//! be possible ([`Read::may_hit`]).
//!
//! # Sums
//!
//! `SET n = n + 1` twice comes to the same in either order, if nothing else asks for `n`: no condition, no CHECK, no
//! key, no RETURNING. Whoever reads `n` still depends on both. The numbers must be small enough for no order to
//! overflow.
//!
//! # Invariants
//!
//! A reduction keeps the ends of runs, not the committed states on the way, and invariants are about these. Two events
//! that publish into tables of one invariant are therefore dependent. Then in all runs of a class such events come in
//! the same order, and each of them publishes the same; so the tables that the invariant reads go through the same
//! contents, and it is asked about all of them whichever run of the class is explored.
//!
//! # The order of rows
//!
//! Who takes rows as they lie reads all their columns: an update of any column moves the row to the end. And two events
//! that move rows which one statement, invariant or final takes so are dependent, whatever rows they are
//! ([`super::order`]). In tables that nobody takes so, two orders of the same inserts are one state, to the engine's
//! digest as well.

use isolde_engine::footprint::{ColumnSet, Footprint, Probe, ProbeKind, Read, Write};

use super::serial;
use super::touch::{RowTouch, Touch};
use crate::system::Event;

/// How closely rows and columns are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Precision {
    /// Which rows, or only which table.
    pub(super) rows: bool,
    /// Which columns.
    pub(super) columns: bool,
    /// Whether sums commute.
    pub(super) sums: bool,
}

/// Whether the order matters, where tables are all that is looked at, or more.
pub(super) fn dependent(first: &Event, second: &Event, precision: Precision) -> bool {
    let (a, b) = (first.touch(), second.touch());
    if beside_rows(first, second)
        || snapshot_meets(first, second, precision)
        || snapshot_meets(second, first, precision)
    {
        return true;
    }
    if !a.changed.meets(b.touched) && !b.changed.meets(a.touched) {
        return false;
    }
    if !precision.rows && !precision.columns {
        return true;
    }
    rows_conflict(a, b, precision)
        || reads_meet(first, second, precision)
        || reads_meet(second, first, precision)
        || probes_meet(first, second, precision)
        || probes_meet(second, first, precision)
        || entries_meet(first, second)
}

/// Whether the order matters if one event that others notice is enough.
pub(super) fn touching(first: &Event, second: &Event) -> bool {
    let (a, b) = (first.touch(), second.touch());
    beside_rows(first, second) || (a.is_noticed() && b.is_touching()) || (b.is_noticed() && a.is_touching())
}

/// Everything but rows and their locks.
fn beside_rows(first: &Event, second: &Event) -> bool {
    let (a, b) = (first.touch(), second.touch());
    let one_way = |x: &Event, a: &Touch, y: &Event, b: &Touch| {
        a.everything
            || x.cycle.contains(&y.thread)
            || a.later.meets(b.published)
            || (a.waits && b.waits && a.locks.iter().any(|lock| lock.queues()))
    };
    one_way(first, a, second, b)
        || one_way(second, b, first, a)
        || serial::dependent(a, b)
        || first.watched.meets(second.watched)
        || first.moved.meets(second.moved)
        || a.locks.iter().any(|lock| b.locks.iter().any(|other| lock.conflicts(other)))
        || a.sequences.iter().any(|name| b.sequences.binary_search(name).is_ok())
}

fn rows_conflict(a: &Touch, b: &Touch, precision: Precision) -> bool {
    match precision.rows {
        true => common(&a.rows, &b.rows, |x, y| x.conflicts(y, precision)),
        false => common(&a.tables, &b.tables, |x, y| x.conflicts(y, precision)),
    }
}

/// Whether something holds for the entries that two sorted lists have in common.
fn common<K: Ord, V>(a: &[(K, V)], b: &[(K, V)], holds: impl Fn(&V, &V) -> bool) -> bool {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    while let (Some((x, left)), Some((y, right))) = (a.peek(), b.peek()) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => drop(a.next()),
            std::cmp::Ordering::Greater => drop(b.next()),
            std::cmp::Ordering::Equal if holds(left, right) => return true,
            std::cmp::Ordering::Equal => {
                a.next();
                b.next();
            }
        }
    }
    false
}

/// Whether one event takes a snapshot to keep, and the other publishes what may be read from it.
fn snapshot_meets(taker: &Event, publisher: &Event, precision: Precision) -> bool {
    let touch = publisher.touch();
    let reaches = || footprints(taker).filter_map(|f| f.kept.as_ref());
    let writes = || footprints(publisher).flat_map(|f| &f.published);
    taker.touch().kept.meets(touch.published)
        && (!precision.rows || reaches().any(|reach| writes().any(|w| reach.concerns(w, stable(touch, w, precision)))))
}

/// Whether what one event publishes could matter to what another reads.
fn reads_meet(reader: &Event, publisher: &Event, precision: Precision) -> bool {
    let published = publisher.touch();
    if !published.published.meets(reader.touch().touched) {
        return false;
    }
    let reads = || {
        let fresh = footprints(reader).filter(|f| f.snapshot.is_some());
        fresh.flat_map(|f| &f.reads).filter(|read| published.published.contains(read.table.0 as usize))
    };
    let writes = || footprints(publisher).flat_map(|f| &f.published);
    let own = reader.touch();
    reads().any(|read| writes().any(|write| read_meets(read, write, own, published, precision)))
}

fn read_meets(read: &Read, write: &Write, reader: &Touch, touch: &Touch, precision: Precision) -> bool {
    let row = (write.table, write.row);
    let ignored = match (precision.sums, reader.row(row), touch.row(row)) {
        (true, Some(one), Some(other)) => one.added.common(other.added),
        _ => ColumnSet::NONE,
    };
    let stable = stable(touch, write, precision);
    match precision {
        Precision { rows: false, .. } => {
            read.table == write.table && (is_moved(write) || read.shows(write, ColumnSet::NONE))
        }
        Precision { columns: false, .. } => read.concerns(write) || read.may_hit(write, stable, ignored),
        _ => read.may_hit(write, stable, ignored),
    }
}

/// Whether what one event does to rows could matter to a key that another has looked for.
fn probes_meet(prober: &Event, writer: &Event, precision: Precision) -> bool {
    let touch = writer.touch();
    let probes = || footprints(prober).flat_map(|f| &f.probes).filter(|p| touch.changed.contains(p.table.0 as usize));
    probes().any(|probe| {
        let published = footprints(writer).flat_map(|f| &f.published).any(|w| probe_meets(probe, w, touch, precision));
        let pending = |f: &Footprint| f.writes.iter().chain(&f.undone).chain(&f.published).any(|w| probe.concerns(w));
        published || (probe.kind != ProbeKind::Reference && !touch.fleeting && footprints(writer).any(pending))
    })
}

fn probe_meets(probe: &Probe, write: &Write, touch: &Touch, precision: Precision) -> bool {
    let columns = || probe.columns.iter().copied().collect::<ColumnSet>();
    match precision {
        Precision { rows: false, .. } => {
            probe.table == write.table
                && (is_moved(write) || probe.columns.is_empty() || write.changed().meets(columns()))
        }
        Precision { columns: false, .. } => {
            probe.concerns(write) || probe.may_hit(write, stable(touch, write, precision))
        }
        _ => probe.may_hit(write, stable(touch, write, precision)),
    }
}

/// Whether rows of both want to enter an index under one key, or one asks for it.
fn entries_meet(first: &Event, second: &Event) -> bool {
    let unique = |event| footprints(event).flat_map(|f| &f.probes).filter(|p| p.kind != ProbeKind::Reference);
    let lasting = |event: &Event| !event.touch().fleeting;
    (lasting(first) || lasting(second))
        && unique(first).any(|a| {
            unique(second).any(|b| {
                let enters = a.kind == ProbeKind::Entry || b.kind == ProbeKind::Entry;
                enters && a.table == b.table && a.columns == b.columns && a.key == b.key
            })
        })
}

/// A row comes or goes.
fn is_moved(write: &Write) -> bool {
    write.before.is_none() || write.after.is_none()
}

fn stable(touch: &Touch, write: &Write, precision: Precision) -> ColumnSet {
    let added = |row: &RowTouch| if precision.sums { row.added } else { ColumnSet::NONE };
    touch.row((write.table, write.row)).map_or(ColumnSet::ALL, |row| row.stable.without(added(row)))
}

fn footprints(event: &Event) -> impl Iterator<Item = &Footprint> {
    event.steps.iter().map(|step| &step.footprint)
}
