//! Rows and indexes, as persistent maps.
//!
//! A row is found by its [`RowId`], which it keeps for life, and carries the position at which PostgreSQL's heap would
//! hold its current version: every version goes to the end of the heap. A sequential scan returns rows by position, so
//! an unordered SELECT shows updated rows last, as the server does. The position doubles as version number: equal
//! positions mean the same version.
//!
//! Indexes map keys to row ids. An update that leaves the key alone does not touch the index.

use std::cmp::Ordering;
use std::ops::Bound;
use std::slice;
use std::sync::{Arc, LazyLock};

use equivalent::{Comparable, Equivalent};
use imbl::ordmap::DiffItem;
use imbl::{OrdMap, OrdSet};
use isolde_sql::catalog::{Catalog, Index, Table, TableId};
use isolde_sql::{Row, Value};
use smallvec::SmallVec;

/// A row's identity, for life; unique in its table.
///
/// It tells which session made the row and how many that session had made before, and so says the same in every run:
/// two sessions that each insert a row are not taken to have met because either would have been the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowId(pub u64);

impl RowId {
    /// What a session leaves for the rows of another.
    const OF_ONE_SESSION: u32 = 40;

    /// The row that a session makes at a position after so many others. The first session's rows, with which a database
    /// is filled, are named by their positions: as long as there are no others a scan need not sort.
    pub(crate) fn of_session(session: usize, made: u64, position: u64) -> Self {
        let of_session = |session: u64| RowId((session << Self::OF_ONE_SESSION) + made);
        if session == 0 { RowId(position) } else { of_session(session as u64) }
    }
}

/// One version of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// Where the heap holds it; larger is younger. Never the same for two versions.
    pub position: u64,
    /// The position of the oldest version since which no update was under a lock that conflicts with FOR KEY SHARE.
    pub key_position: u64,
    /// The position of the version whose entries the indexes find it by: its own, or an older one's if it did not enter
    /// them. Kept where a key of the table can be deferred, for there several may have a key, and the first of them
    /// counts.
    pub entry_position: u64,
    /// The position of the version that it replaced; 0 if it is the row's first.
    pub replaces: u64,
    /// The values.
    pub values: Row,
}

impl Tuple {
    /// A version that owes nothing to another.
    pub fn new(position: u64, values: Row) -> Self {
        Tuple { position, key_position: position, entry_position: position, replaces: 0, values }
    }
}

/// An index key.
pub(crate) type Key = SmallVec<[Value; 1]>;

/// An entry of an index, ordered by key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: Key,
    row: RowId,
}

/// A place in an index, for searching without building an entry: before, among (for unique keys) or behind all entries
/// whose key begins with `prefix`.
struct Edge<'p> {
    prefix: &'p [Value],
    side: Ordering,
}

impl<'p> Edge<'p> {
    fn before(prefix: &'p [Value]) -> Self {
        Edge { prefix, side: Ordering::Less }
    }

    fn behind(prefix: &'p [Value]) -> Self {
        Edge { prefix, side: Ordering::Greater }
    }
}

impl Equivalent<Entry> for Edge<'_> {
    fn equivalent(&self, entry: &Entry) -> bool {
        self.compare(entry).is_eq()
    }
}

impl Comparable<Entry> for Edge<'_> {
    fn compare(&self, entry: &Entry) -> Ordering {
        let differs = self.prefix.iter().zip(&entry.key).map(|(a, b)| a.cmp(b)).find(|o| o.is_ne());
        differs.unwrap_or(self.side)
    }
}

/// The rows and indexes of one table. Clones in O(1).
#[derive(Clone, Debug, Default)]
pub struct TableData {
    rows: OrdMap<RowId, Tuple>,
    /// One per index of the catalog's table, in its order.
    indexes: SmallVec<[OrdSet<Entry>; 2]>,
    /// Whether it has ever had a row, so that there is a page to look at.
    used: bool,
    /// Whether two rows may have one key of a unique index: a snapshot still has a row that was deleted since, and
    /// another has taken its key.
    ambiguous: bool,
    /// Whether some row's position differs from its id, so that a scan must sort.
    moved: bool,
    /// The position at which its heap begins: versions from before are in another one, which was thrown away.
    begin: u64,
}

impl TableData {
    /// An empty table with this many indexes.
    pub fn new(indexes: usize) -> Self {
        TableData {
            rows: OrdMap::new(),
            indexes: (0..indexes).map(|_| OrdSet::new()).collect(),
            used: false,
            ambiguous: false,
            moved: false,
            begin: 0,
        }
    }

    /// The same rows in a heap of their own, which begins at this position.
    pub(crate) fn in_new_heap(mut self, begin: u64) -> Self {
        self.begin = begin;
        self
    }

    /// The same rows in the heap of another state of the table.
    pub(crate) fn in_heap_of(self, other: &TableData) -> Self {
        self.in_new_heap(other.begin)
    }

    /// Whether a version that was written at this position is in its heap, seen or not.
    pub(crate) fn may_hold(&self, position: u64) -> bool {
        position >= self.begin
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// No rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// It has never had a row.
    pub(crate) fn is_unused(&self) -> bool {
        !self.used
    }

    /// The current version of a row.
    pub fn get(&self, row: RowId) -> Option<&Tuple> {
        self.rows.get(&row)
    }

    /// All rows, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (RowId, &Tuple)> {
        self.rows.iter().map(|(id, tuple)| (*id, tuple))
    }

    /// The rows that differ in a later version of this table, before and after. Costs what has changed, not what is
    /// there.
    pub fn changes<'a>(
        &'a self,
        later: &'a TableData,
    ) -> impl Iterator<Item = (Option<&'a Tuple>, Option<&'a Tuple>)> + use<'a> {
        self.rows.diff(&later.rows).map(|item| match item {
            DiffItem::Add(_, new) => (None, Some(new)),
            DiffItem::Update { old: (_, old), new: (_, new) } => (Some(old), Some(new)),
            DiffItem::Remove(_, old) => (Some(old), None),
        })
    }

    /// All rows in heap order.
    pub fn scan(&self) -> impl Iterator<Item = (RowId, &Tuple)> {
        let (in_order, mut sorted) =
            if self.moved { (None, self.iter().collect()) } else { (Some(self.iter()), vec![]) };
        // Nearly sorted: the stable sort finds the runs.
        sorted.sort_by_key(|(_, tuple)| tuple.position);
        in_order.into_iter().flatten().chain(sorted)
    }

    /// Whether [`TableData::find`] may not be all.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.ambiguous
    }

    /// Stores a version in a kept snapshot, which may have another row with the same key.
    pub(crate) fn put_beside(&mut self, table: &Table, row: RowId, tuple: Tuple) {
        let values = tuple.values.clone();
        self.put(table, row, tuple);
        let mut unique = table.indexes.iter().enumerate().filter(|(_, index)| index.unique);
        self.ambiguous |= unique.any(|(i, index)| {
            let key = key_of(index, &values).filter(|key| !key.iter().any(Value::is_null));
            key.is_some_and(|key| self.lookup(i, &key).nth(1).is_some())
        });
    }

    /// The row with this key in a unique index; no value of the key is NULL.
    pub fn find(&self, index: usize, key: &[Value]) -> Option<(RowId, &Tuple)> {
        let entry = self.indexes[index].get(&Edge { prefix: key, side: Ordering::Equal })?;
        Some((entry.row, self.rows.get(&entry.row)?))
    }

    /// The rows whose index key begins with `prefix`, in key order.
    pub fn lookup<'a>(
        &'a self,
        index: usize,
        prefix: &[Value],
    ) -> impl DoubleEndedIterator<Item = (RowId, &'a Tuple)> + use<'a> {
        self.between(index, Bound::Included(Edge::before(prefix)), Edge::behind(prefix))
    }

    /// The rows whose first index column lies between the bounds, in key order. NULL keys are never in range.
    pub fn range<'a>(
        &'a self,
        index: usize,
        low: Bound<&Value>,
        high: Bound<&Value>,
    ) -> impl DoubleEndedIterator<Item = (RowId, &'a Tuple)> + use<'a> {
        let low = match low {
            Bound::Included(v) => Bound::Included(Edge::before(slice::from_ref(v))),
            Bound::Excluded(v) => Bound::Included(Edge::behind(slice::from_ref(v))),
            Bound::Unbounded => Bound::Unbounded,
        };
        let high = match high {
            Bound::Included(v) => Edge::behind(slice::from_ref(v)),
            Bound::Excluded(v) => Edge::before(slice::from_ref(v)),
            Bound::Unbounded => Edge::before(&[Value::Null]),
        };
        self.between(index, low, high)
    }

    fn between<'a>(
        &'a self,
        index: usize,
        low: Bound<Edge<'_>>,
        high: Edge<'_>,
    ) -> impl DoubleEndedIterator<Item = (RowId, &'a Tuple)> + use<'a> {
        let entries = self.indexes[index].range((low, Bound::Excluded(high)));
        entries.filter_map(|e| Some((e.row, self.rows.get(&e.row)?)))
    }

    /// All rows in the order of an index, NULLs last.
    pub fn ordered(&self, index: usize) -> impl DoubleEndedIterator<Item = (RowId, &Tuple)> {
        self.indexes[index].iter().filter_map(|e| Some((e.row, self.rows.get(&e.row)?)))
    }

    /// Stores a version of a row, in place of the one before.
    pub fn put(&mut self, table: &Table, row: RowId, tuple: Tuple) {
        self.moved |= tuple.position != row.0;
        self.used = true;
        let new = tuple.values.clone();
        let old = self.rows.insert(row, tuple);
        for (index, entries) in table.indexes.iter().zip(&mut self.indexes) {
            let same = |old: &Tuple| index.mentions().iter().all(|&c| old.values[c] == new[c]);
            if old.as_ref().is_some_and(same) {
                continue;
            }
            if let Some(key) = old.as_ref().and_then(|old| key_of(index, &old.values)) {
                entries.remove(&Entry { key, row });
            }
            if let Some(key) = key_of(index, &new) {
                entries.insert(Entry { key, row });
            }
        }
    }

    /// Removes a row.
    pub fn remove(&mut self, table: &Table, row: RowId) {
        if let Some(old) = self.rows.remove(&row) {
            for (index, entries) in table.indexes.iter().zip(&mut self.indexes) {
                if let Some(key) = key_of(index, &old.values) {
                    entries.remove(&Entry { key, row });
                }
            }
        }
    }

    /// Whether the rows are the very same, whatever the indexes.
    pub(crate) fn same_rows(&self, other: &TableData) -> bool {
        self.rows.ptr_eq(&other.rows)
    }

    /// The same rows with the indexes that a table has now.
    pub(crate) fn reindexed(&self, table: &Table) -> TableData {
        let mut data = TableData { indexes: SmallVec::new(), ..self.clone() };
        table.indexes.iter().for_each(|index| data.add_index(index));
        data
    }

    /// The same versions with other values, and no indexes yet.
    pub(crate) fn reshaped(&self, shape: impl Fn(&Row) -> Row) -> TableData {
        let reshape = |(row, tuple): (&RowId, &Tuple)| (*row, Tuple { values: shape(&tuple.values), ..tuple.clone() });
        TableData { rows: self.rows.iter().map(reshape).collect(), indexes: SmallVec::new(), ..self.clone() }
    }

    /// The rows that differ in a later version of this table, before and after.
    pub(crate) fn changed_rows(&self, later: &TableData) -> Vec<(RowId, Option<Row>, Option<Row>)> {
        let values = |tuple: &Tuple| Some(tuple.values.clone());
        let changes = self.rows.diff(&later.rows).map(|item| match item {
            DiffItem::Add(row, new) => (*row, None, values(new)),
            DiffItem::Update { old: (row, old), new: (_, new) } => (*row, values(old), values(new)),
            DiffItem::Remove(row, old) => (*row, values(old), None),
        });
        changes.collect()
    }

    /// The versions here that another state of this table does not have.
    pub(crate) fn versions_beyond<'a>(&'a self, other: &'a TableData) -> impl Iterator<Item = (RowId, &'a Tuple)> {
        other.rows.diff(&self.rows).filter_map(|item| match item {
            DiffItem::Add(row, new) | DiffItem::Update { new: (row, new), .. } => Some((*row, new)),
            DiffItem::Remove(..) => None,
        })
    }

    /// The rows that differ in a later version of this table, as they are here, and what is known about the table.
    pub(crate) fn older(&self, later: &TableData) -> Older {
        let rows = self.rows.diff(&later.rows).map(|item| match item {
            DiffItem::Add(row, _) => (*row, None),
            DiffItem::Update { old: (row, old), .. } | DiffItem::Remove(row, old) => (*row, Some(old.clone())),
        });
        Older { rows: rows.collect(), used: self.used, ambiguous: self.ambiguous, moved: self.moved }
    }

    /// Puts back what a later version has changed, row by row.
    pub(crate) fn put_back(&mut self, table: &Table, older: Older) {
        for (row, tuple) in older.rows {
            match tuple {
                Some(tuple) => self.put(table, row, tuple),
                None => self.remove(table, row),
            }
        }
        (self.used, self.ambiguous, self.moved) = (older.used, older.ambiguous, older.moved);
    }

    /// Builds one index more, over the rows that are there.
    fn add_index(&mut self, index: &Index) {
        let entries = self.rows.iter().filter_map(|(row, t)| Some(Entry { key: key_of(index, &t.values)?, row: *row }));
        self.indexes.push(entries.collect());
    }
}

/// What it takes to come back to an older version of a table.
#[derive(Clone, Debug)]
pub(crate) struct Older {
    /// Rows that have changed, as they were; none where there was none.
    rows: Vec<(RowId, Option<Tuple>)>,
    used: bool,
    ambiguous: bool,
    moved: bool,
}

/// The key of a row in an index, NULLs included; none if the row is not in the index.
pub(crate) fn key_of(index: &Index, values: &[Value]) -> Option<Key> {
    match &index.special {
        None => Some(index.columns.iter().map(|&c| values[c].clone()).collect()),
        // What cannot be computed was refused before it came here.
        Some(special) => crate::eval::special_key(special, values).ok().flatten(),
    }
}

/// Whether two versions of a row have the same place in every index of their table.
pub(crate) fn same_entries(table: &Table, old: &[Value], new: &[Value]) -> bool {
    table.indexes.iter().flat_map(Index::mentions).all(|&column| is_same(&old[column], &new[column]))
}

/// Whether two values are stored alike. Equal ones mostly are, but not `1.5` and `1.50`, or a day and 24 hours.
pub(crate) fn is_same(old: &Value, new: &Value) -> bool {
    let number = matches!(old, Value::Numeric(_) | Value::Float(_) | Value::Real(_));
    let time = matches!(old, Value::Interval(_) | Value::Timetz(_));
    let composed = matches!(old, Value::Jsonb(_) | Value::Array(_) | Value::Range(_) | Value::Record(_));
    let several_forms = number || time || composed || matches!(old, Value::Bpchar(_));
    old == new && (!several_forms || old.to_string() == new.to_string())
}

/// All tables. Clones in O(1).
#[derive(Clone, Debug, Default)]
pub struct Tables(Arc<Vec<Arc<TableData>>>);

impl Tables {
    /// The rows of a table.
    pub fn table(&self, id: TableId) -> &TableData {
        &self.0[id.0 as usize]
    }

    /// The rows of a table, to be changed; the other tables stay shared.
    pub fn table_mut(&mut self, id: TableId) -> &mut TableData {
        Arc::make_mut(&mut Arc::make_mut(&mut self.0)[id.0 as usize])
    }

    /// The current version of a row; none too if these tables are older than the row's.
    pub(crate) fn version(&self, (table, row): (TableId, RowId)) -> Option<&Tuple> {
        self.0.get(table.0 as usize)?.get(row)
    }

    /// Appends an empty table, whose id is the number of tables so far.
    pub fn push(&mut self, data: TableData) {
        Arc::make_mut(&mut self.0).push(Arc::new(data));
    }

    /// Puts other rows in place of a table's.
    pub(crate) fn replace(&mut self, id: TableId, data: Arc<TableData>) {
        Arc::make_mut(&mut self.0)[id.0 as usize] = data;
    }

    /// Whether a table is the very same in both.
    pub(crate) fn same_table(&self, other: &Tables, id: TableId) -> bool {
        matches!((self.0.get(id.0 as usize), other.0.get(id.0 as usize)), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
    }

    /// Empty tables for those of the catalog that are not here yet.
    pub(crate) fn grow(&mut self, catalog: &Catalog) {
        while self.len() < catalog.table_count() {
            let id = TableId(self.len() as u32);
            let indexes = if catalog.has_table(id) { catalog.table(id).indexes.len() } else { 0 };
            self.push(TableData::new(indexes));
        }
    }

    /// Number of tables, dropped ones included.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// No tables at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// No tables; shared, because it is asked for often.
    pub(crate) fn none() -> &'static Tables {
        static NONE: LazyLock<Tables> = LazyLock::new(Tables::default);
        &NONE
    }
}
