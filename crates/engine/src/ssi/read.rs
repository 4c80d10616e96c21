//! Reading: what is remembered of it, and who wrote what was not seen.
//!
//! A scan remembers what it went through and asks about every version on its way, also those that it may not see: a version
//! that is visible but has been replaced is an edge to whoever replaced it, one that is not visible yet an edge to whoever wrote
//! it. Which versions are on the way depends on the path: all of the heap, or those behind the entries of an index. Of versions
//! that share an entry it stops at the one it sees.

use isolde_sql::catalog::{Catalog, Table, TableId};
use isolde_sql::{Row, SqlError, Value};
use smallvec::SmallVec;

use super::target::{Held, Relation, Target};
use super::{NewVersion, Ssi, XactId, page};
use crate::database::row_digest;
use crate::lock::RowRef;
use crate::storage::{RowId, TableData, Tables, Tuple};

/// A serializable transaction that reads.
pub(crate) struct Reader<'a> {
    pub(crate) ssi: &'a mut Ssi,
    pub(crate) me: XactId,
    pub(crate) catalog: &'a Catalog,
    pub(crate) statistics: &'a Statistics,
    /// It reads or has read something that others may notice.
    pub(crate) noted: &'a mut bool,
}

/// What the planner knows of tables, which decides between index and sequential scans.
///
/// PostgreSQL takes a table that it has never looked at for ten pages long, and uses an index wherever a condition allows; once it knows
/// that there is but a page, it reads that from end to end. So the same program locks other things after ANALYZE.
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
    /// The versions that a search in an index comes to, if it searches there: the one that the view has, and the new one
    /// unless the view has another behind the same entry.
    pub(crate) fn on_the_way(&self, view: &Tables) -> SmallVec<[&Row; 2]> {
        let seen = view.version(self.row).map(|tuple| tuple.position);
        let old = self.old.iter().filter(|(position, _)| seen == Some(*position)).map(|(_, values)| values);
        let new = self.new.iter().filter(|new| seen.is_none_or(|seen| new.root > seen)).map(|new| &new.values);
        old.chain(new).collect()
    }

    /// Whether a scan of the whole heap meets it.
    fn is_met_by_scan(&self, view: &Tables) -> bool {
        let seen = view.version(self.row).map(|tuple| tuple.position);
        self.new.is_some() || self.old.as_ref().is_some_and(|(position, _)| seen == Some(*position))
    }
}

impl Reader<'_> {
    /// Whether there is anything to watch. A READ ONLY transaction that has become safe is forgotten here.
    pub(crate) fn watches(&mut self) -> bool {
        let safe = self.ssi.get(self.me).is_some_and(|x| x.safe == Some(true));
        if safe {
            *self.noted = true;
            self.ssi.forget(self.me);
        }
        let watches = self.ssi.watches(self.me);
        *self.noted |= watches;
        watches
    }

    /// Whether an index is passed over because the table is known to be small.
    pub(crate) fn skips_index(&self, table: TableId, view: &Tables) -> bool {
        self.statistics.skips_index(self.catalog.table(table), view.table(table))
    }

    /// A sequential scan.
    pub(crate) fn scan(&mut self, view: &Tables, table: TableId) -> Result<(), SqlError> {
        self.ssi.hold(self.me, Target::Relation(Relation::heap(table)), Held { page: 0, tuple: None });
        let unseen = self.unseen(table);
        let is_empty = view.table(table).is_unused() && unseen.is_empty();
        if !is_empty {
            self.ssi.visit(self.me)?;
        }
        for version in unseen.iter().filter(|u| u.is_met_by_scan(view)) {
            self.ssi.missed(self.me, version.writer)?;
        }
        Ok(())
    }

    /// A search in an index: the leaf of a key, or as many as there are.
    pub(crate) fn search(&mut self, view: &Tables, table: TableId, index: usize, key: Option<&Value>) {
        let relation = Relation::index(table, index);
        let (target, page) = match page::of_key(view.table(table), key) {
            Some(page) => (Target::Page(relation, page), page),
            None => (Target::Relation(relation), 0),
        };
        self.ssi.hold(self.me, target, Held { page, tuple: None });
    }

    /// A visible version behind an entry of an index.
    pub(crate) fn fetch(
        &mut self,
        view: &Tables,
        unseen: &[Unseen],
        row: RowRef,
        position: u64,
        values: &Row,
    ) -> Result<(), SqlError> {
        self.ssi.visit(self.me)?;
        let replaced = |u: &&Unseen| u.row == row && u.old.as_ref().is_some_and(|(old, _)| *old == position);
        for version in unseen.iter().filter(replaced) {
            self.ssi.missed(self.me, version.writer)?;
        }
        if !self.ssi.has_written(self.me, position) {
            let page = page::of_version(self.catalog.table(row.0), view.table(row.0), position);
            let target = Target::Tuple(Relation::heap(row.0), position);
            self.ssi.hold(self.me, target, Held { page, tuple: Some((row.1, row_digest(row.0, values))) });
        }
        Ok(())
    }

    /// A search met what it may not see.
    pub(crate) fn pass(&mut self, version: &Unseen) -> Result<(), SqlError> {
        self.ssi.visit(self.me)?;
        self.ssi.missed(self.me, version.writer)
    }

    /// What others have written in a table that the snapshot does not have.
    pub(crate) fn unseen(&self, table: TableId) -> Vec<Unseen> {
        let others = self.ssi.xacts.iter().filter(|x| x.id != self.me && !x.doomed && !self.ssi.sees(self.me, x.id));
        let versions = others.flat_map(|x| x.written.iter().map(move |w| (x.id, w)));
        versions
            .filter(|(_, w)| w.row.0 == table)
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
        let Some(index) = index.filter(|_| !self.skips_index(table, view)) else { return self.scan(view, table) };
        let first = self.catalog.table(table).indexes[index].columns.first();
        let leading = key.iter().find(|(column, _)| Some(column) == first).map(|(_, value)| value);
        self.search(view, table, index, leading);
        let unseen = self.unseen(table);
        let meets = |row: &Row| key.iter().all(|(column, value)| row[*column] == *value);
        let data = view.table(table);
        let found: Vec<(RowId, Tuple)> = match leading {
            Some(leading) => {
                data.lookup(index, std::slice::from_ref(leading)).map(|(row, t)| (row, t.clone())).collect()
            }
            None => data.iter().map(|(row, t)| (row, t.clone())).collect(),
        };
        for (row, tuple) in found.iter().filter(|(_, tuple)| meets(&tuple.values)) {
            self.fetch(view, &unseen, (table, *row), tuple.position, &tuple.values)?;
        }
        let met = unseen.iter().filter(|u| u.on_the_way(view).into_iter().any(meets));
        met.into_iter().try_for_each(|version| self.pass(version))
    }
}

impl Ssi {
    /// Whether a version is a transaction's own work.
    fn has_written(&self, me: XactId, position: u64) -> bool {
        let is_it = |new: &NewVersion| new.position == position;
        self.get(me).is_some_and(|x| x.written.iter().any(|w| w.new.as_ref().is_some_and(is_it)))
    }
}
