//! Reading: what is remembered of it, and who wrote what was not seen.
//!
//! A scan remembers what it went through and asks about every version on its way, also those that it may not see: a
//! version that is visible but has been replaced is an edge to whoever replaced it, one that is not visible yet an edge
//! to whoever wrote it. Which versions are on the way depends on the path: all of the heap, or those behind the entries
//! of an index. Of versions that share an entry it stops at the one it sees.

use isolde_sql::catalog::{Catalog, Table, TableId};
use isolde_sql::{Row, SqlError, Value};

use super::target::{Held, Relation, Target};
use super::{NewVersion, Ssi, Written, XactId, page};
use crate::database::row_digest;
use crate::lock::RowRef;
use crate::settings::Settings;
use crate::storage::{RowId, TableData, Tables, Tuple};

/// A serializable transaction that reads.
pub(crate) struct Reader<'a> {
    pub(crate) ssi: &'a mut Ssi,
    pub(crate) me: XactId,
    pub(crate) catalog: &'a Catalog,
    pub(crate) statistics: &'a Statistics,
    pub(crate) planner: Planner,
}

/// What the planner knows of tables, which decides between index and sequential scans.
///
/// PostgreSQL takes a table that it has never looked at for ten pages long, and uses an index wherever a condition
/// allows; once it knows that there is but a page, it reads that from end to end. So the same program locks other
/// things after ANALYZE.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statistics {
    /// Every table counts as looked at.
    pub(crate) analyzed: bool,
    /// Tables that were looked at, by ANALYZE or when an index was built over their rows.
    pub(crate) known: imbl::OrdSet<TableId>,
}

impl Statistics {
    /// Whether a table is read from end to end although an index would serve.
    fn skips_index(&self, table: &Table, data: &TableData) -> bool {
        (self.analyzed || self.known.contains(&table.id)) && page::is_tiny(table, data)
    }
}

/// What a session lets the planner do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planner {
    index: bool,
    bitmap: bool,
    sequential: bool,
}

impl Default for Planner {
    fn default() -> Self {
        Planner { index: true, bitmap: true, sequential: true }
    }
}

impl Planner {
    /// As `enable_indexscan` and its kin say.
    pub(crate) fn of(settings: &Settings) -> Self {
        Planner {
            index: !settings.is_off("enable_indexscan"),
            bitmap: !settings.is_off("enable_bitmapscan"),
            sequential: !settings.is_off("enable_seqscan"),
        }
    }
}

/// A version that somebody else has written, and which is not in the snapshot; or only the end of one that is.
#[derive(Clone, Debug)]
pub(crate) struct Unseen {
    writer: XactId,
    row: RowRef,
    /// The version replaced, by position and values.
    old: Option<(u64, Row)>,
    new: Option<NewVersion>,
}

impl Unseen {
    /// The new version, if a search in an index may come to it: not if the view has another behind the same entry, nor
    /// if it has none yet. With where its entry points to.
    pub(crate) fn behind_entry(&self, view: &Tables, index: usize) -> Option<(u64, &Row)> {
        let seen = view.version(self.row).map(|tuple| tuple.position);
        let new = self.new.as_ref().filter(|new| index < new.entered && seen.is_none_or(|seen| new.root > seen))?;
        Some((new.root, &new.values))
    }

    /// Where a scan of the whole heap meets it: at the version it replaced, if that is visible, and at its own.
    fn in_heap(&self, view: &Tables) -> impl Iterator<Item = u64> + use<'_> {
        let seen = view.version(self.row).map(|tuple| tuple.position);
        let old = self.old.as_ref().map(|(position, _)| *position).filter(|old| seen == Some(*old));
        // Whoever looks at the newest state may well see it.
        let new = self.new.as_ref().map(|new| new.position).filter(|new| seen != Some(*new));
        old.into_iter().chain(new)
    }
}

/// A version that a search in an index comes to.
pub(crate) enum Met<'a> {
    /// It is visible.
    Seen(RowId, u64, Row),
    /// It is not.
    Unseen(&'a Unseen),
}

impl Reader<'_> {
    /// Whether there is anything to watch. A READ ONLY transaction that has become safe is forgotten here.
    pub(crate) fn watches(&mut self) -> bool {
        let safe = self.ssi.get(self.me).is_some_and(|x| x.safe == Some(true));
        if safe {
            self.ssi.forget(self.me);
        }
        self.ssi.watches(self.me)
    }

    /// Whether an index is searched where it serves: not if the table is known to be small, or the session forbids it.
    pub(crate) fn searches(&self, table: TableId, view: &Tables) -> bool {
        let small = || self.statistics.skips_index(self.catalog.table(table), view.table(table));
        (self.planner.index || self.planner.bitmap) && !(self.planner.sequential && small())
    }

    /// Whether an index is followed for its order.
    pub(crate) fn follows(&self, table: TableId, view: &Tables) -> bool {
        self.planner.index && self.searches(table, view)
    }

    /// A sequential scan.
    pub(crate) fn scan(&mut self, view: &Tables, table: TableId) -> Result<(), SqlError> {
        self.ssi.hold(self.me, Target::Relation(Relation::heap(table)), Held::page(0));
        let unseen = self.unseen(view, table);
        let data = view.table(table);
        let is_empty = data.is_unused() && !self.ssi.has_remains(table, data);
        if !is_empty {
            self.ssi.visit(self.me)?;
        }
        let mut met: Vec<(u64, XactId)> =
            unseen.iter().flat_map(|u| u.in_heap(view).map(move |position| (position, u.writer))).collect();
        met.sort_unstable();
        met.into_iter().try_for_each(|(_, writer)| self.ssi.missed(self.me, writer))
    }

    /// A search in an index: the leaf of a key, or as many as there are.
    pub(crate) fn search(&mut self, view: &Tables, table: TableId, index: usize, key: Option<&Value>) {
        let relation = Relation::index(table, index);
        let (target, page) = match page::of_key(view.table(table), key) {
            Some(page) => (Target::Page(relation, page), page),
            None => (Target::Relation(relation), 0),
        };
        self.ssi.hold(self.me, target, Held::page(page));
    }

    /// Goes through the versions that a search came to, in order.
    pub(crate) fn walk<'m>(
        &mut self,
        view: &Tables,
        table: TableId,
        unseen: &[Unseen],
        met: impl IntoIterator<Item = Met<'m>>,
    ) -> Result<(), SqlError> {
        for version in met {
            self.ssi.visit(self.me)?;
            match version {
                Met::Seen(row, position, values) => self.fetch(view, unseen, (table, row), position, &values)?,
                Met::Unseen(version) => self.ssi.missed(self.me, version.writer)?,
            }
        }
        Ok(())
    }

    /// A version that was found by its key, visible or not.
    pub(crate) fn come_to(&mut self, view: &Tables, row: RowRef, version: &Tuple) -> Result<(), SqlError> {
        let unseen = self.unseen(view, row.0);
        let is_seen = view.version(row).is_some_and(|seen| seen.position == version.position);
        let is_it = |u: &&Unseen| u.new.as_ref().is_some_and(|new| new.position == version.position);
        let met = match is_seen {
            true => Some(Met::Seen(row.1, version.position, version.values.clone())),
            false => unseen.iter().find(is_it).map(Met::Unseen),
        };
        self.visit()?;
        self.walk(view, row.0, &unseen, met)
    }

    /// A visible version: somebody may have replaced it.
    fn fetch(
        &mut self,
        view: &Tables,
        unseen: &[Unseen],
        row: RowRef,
        position: u64,
        values: &Row,
    ) -> Result<(), SqlError> {
        let replaced = |u: &&Unseen| u.row == row && u.old.as_ref().is_some_and(|(old, _)| *old == position);
        for version in unseen.iter().filter(replaced) {
            self.ssi.missed(self.me, version.writer)?;
        }
        if !self.ssi.has_written(self.me, position) {
            let page = page::of_version(self.catalog.table(row.0), view.table(row.0), position);
            let target = Target::Tuple(Relation::heap(row.0), position);
            self.ssi.hold(self.me, target, Held::tuple(page, row.1, row_digest(row.0, values)));
        }
        Ok(())
    }

    /// Versions that are visible to nobody or to others alone, but that a search comes to all the same: one that must
    /// fail does so there. Nobody else need ask.
    pub(crate) fn dead(&self, view: &Tables, table: TableId, index: usize) -> Vec<Row> {
        if self.ssi.visit(self.me).is_ok() {
            return Vec::new();
        }
        let data = view.table(table);
        let here = |w: &&Written| w.row.0 == table && data.may_hold(w.position());
        let replaced = self.ssi.xacts.iter().flat_map(|x| &x.written).filter(here);
        let replaced = replaced.filter_map(|w| w.old.as_ref()).map(|(_, values)| values.clone());
        replaced.chain(self.ssi.remains_in(table, data, index).cloned()).collect()
    }

    /// A search came to such a version.
    pub(crate) fn visit(&self) -> Result<(), SqlError> {
        self.ssi.visit(self.me)
    }

    /// What others have written in a table that the snapshot does not have.
    pub(crate) fn unseen(&self, view: &Tables, table: TableId) -> Vec<Unseen> {
        let data = view.table(table);
        let others = self.ssi.xacts.iter().filter(|x| x.id != self.me && !self.ssi.sees(self.me, x.id));
        let versions = others.flat_map(|x| x.written.iter().map(move |w| (x.id, w)));
        versions
            .filter(|(_, w)| w.row.0 == table && data.may_hold(w.position()))
            .map(|(writer, w)| Unseen { writer, row: w.row, old: w.old.clone(), new: w.new.clone() })
            .collect()
    }

    /// A lookup of rows with these values in these columns, as a foreign key makes it: by an index if one serves.
    pub(crate) fn look_up(
        &mut self,
        view: &Tables,
        table: TableId,
        index: Option<usize>,
        key: &[(usize, Value)],
    ) -> Result<(), SqlError> {
        // It may look at the newest state, and so not miss what it would have missed before that was committed.
        let writers: Vec<XactId> = self.unseen(view, table).iter().map(|version| version.writer).collect();
        if !writers.is_empty() {
            self.ssi.trace_asked(writers.into_iter().chain([self.me]));
        }
        let Some(index) = index.filter(|_| self.searches(table, view)) else { return self.scan(view, table) };
        let first = self.catalog.table(table).indexes[index].columns.first();
        let leading = key.iter().find(|(column, _)| Some(column) == first).map(|(_, value)| value);
        self.search(view, table, index, leading);
        let unseen = self.unseen(view, table);
        let meets = |row: &Row| key.iter().all(|(column, value)| row[*column] == *value);
        let data = view.table(table);
        let seen = |(row, t): (RowId, &Tuple)| (t.position, Met::Seen(row, t.position, t.values.clone()));
        let matching = |(_, t): &(RowId, &Tuple)| meets(&t.values);
        let mut met: Vec<(u64, Met<'_>)> = match leading {
            Some(leading) => data.lookup(index, std::slice::from_ref(leading)).filter(matching).map(seen).collect(),
            None => data.iter().filter(matching).map(seen).collect(),
        };
        let behind = unseen.iter().filter_map(|u| Some((u.behind_entry(view, index)?, u)));
        met.extend(behind.filter(|((_, values), _)| meets(values)).map(|((at, _), u)| (at, Met::Unseen(u))));
        met.sort_by_key(|(at, _)| *at);
        if self.dead(view, table, index).iter().any(meets) {
            self.visit()?;
        }
        self.walk(view, table, &unseen, met.into_iter().map(|(_, met)| met))
    }
}

impl Ssi {
    /// Whether a version is a transaction's own work.
    fn has_written(&self, me: XactId, position: u64) -> bool {
        let is_it = |new: &NewVersion| new.position == position;
        self.get(me).is_some_and(|x| x.written.iter().any(|w| w.new.as_ref().is_some_and(is_it)))
    }
}
