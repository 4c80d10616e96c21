//! The catalog: what tables, sequences and routines there are.
//!
//! A value like everything else: DDL makes a new one that shares what did not change, so a transaction that creates a
//! table and rolls back simply drops its catalog. How names find things is in [`names`].

mod merge;
pub mod names;

use std::any::Any;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::ast::{self, CheckOption, Deferral, ReferentialAction};
use crate::error::Span;
use crate::typed::{Expr, Query, SharedQuery};
use crate::types::{Type, UserType};
use crate::value::Value;

pub use names::{key, split_name};

/// A table's number: its position in [`Catalog::tables`], never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// A routine's number: its position in [`Catalog::routines`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RoutineId(pub u32);

/// Field names and types of a row.
pub type Fields = Arc<[(Arc<str>, Type)]>;

/// All that is defined.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    tables: Vec<Option<Arc<Table>>>,
    routines: Vec<Option<Arc<RoutineDef>>>,
    sequences: BTreeMap<Arc<str>, Arc<Sequence>>,
    table_names: BTreeMap<Arc<str>, TableId>,
    types: BTreeMap<Arc<str>, UserType>,
    /// Tells catalogs of one database apart; no part of what is defined.
    version: u64,
    views: BTreeMap<Arc<str>, Arc<View>>,
    /// Schemas besides `public`.
    schemas: BTreeSet<Arc<str>>,
    /// Schemas in which a name without one is looked for before `public`.
    search_path: Vec<Arc<str>>,
    /// Bodies of functions are not looked at before they are called: `check_function_bodies = off`.
    unchecked_bodies: bool,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its number; assigned by [`Catalog::add_table`].
    pub id: TableId,
    /// Its schema; `None` is `public`.
    pub schema: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its indexes; the primary key, if any, is one of them.
    pub indexes: Vec<Index>,
    /// `CHECK` constraints, in order of their names, as PostgreSQL checks them.
    pub checks: Vec<Check>,
    /// Foreign keys of which this table is the child.
    pub foreign_keys: Vec<ForeignKey>,
    /// Triggers, in order of their names, as PostgreSQL fires them.
    pub triggers: Vec<Trigger>,
    /// A materialized view: the query whose rows it keeps.
    pub materialized: Option<Arc<Query>>,
    /// It stands for a view that has triggers: with its name, columns and triggers, but not found by name and without
    /// rows.
    pub of_view: bool,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// `NOT NULL`
    pub not_null: bool,
    /// What is stored when nothing is given; casts included.
    pub default: Option<Expr>,
    /// The sequence its values are drawn from, for serial and identity columns.
    pub sequence: Option<Arc<str>>,
    /// `GENERATED ... AS IDENTITY`
    pub identity: Option<Identity>,
    /// `GENERATED ALWAYS AS (expr) STORED`
    pub generated: Option<Generated>,
}

/// How a generated column gets its value.
#[derive(Clone, Debug)]
pub struct Generated {
    /// From the other columns of the row (rel 0).
    pub expr: Expr,
    /// As written.
    pub source: Arc<ast::Expr>,
}

/// Who chooses the value of an identity column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// The sequence, always.
    Always,
    /// The sequence, unless a value is given.
    ByDefault,
}

/// An index.
#[derive(Clone, Debug)]
pub struct Index {
    /// Its name; also that of the constraint it serves.
    pub name: Arc<str>,
    /// Its key columns; none if some key is an expression.
    pub columns: Vec<usize>,
    /// At most one row per key (NULLs are never equal).
    pub unique: bool,
    /// The primary key.
    pub primary: bool,
    /// It serves a constraint rather than standing for itself.
    pub constraint: bool,
    /// When its constraint is checked.
    pub deferral: Deferral,
    /// NULLs are equal to each other.
    pub nulls_not_distinct: bool,
    /// What makes it more than a list of columns.
    pub special: Option<Arc<SpecialIndex>>,
}

/// An index over expressions, or over some of the rows. No query is planned to use it: it is there for its uniqueness.
#[derive(Clone, Debug)]
pub struct SpecialIndex {
    /// All its keys, over the row as rel 0.
    pub keys: Vec<Expr>,
    /// How they are shown in messages.
    pub shown: Vec<Arc<str>>,
    /// `WHERE`: rows for which this is not true are not in the index.
    pub filter: Option<Expr>,
    /// Every column that is mentioned.
    pub columns: Vec<usize>,
    /// As written.
    pub source: Arc<ast::CreateIndex>,
    /// Where whoever evaluates it keeps what it made of it.
    pub compiled: Compiled,
}

/// Something made once from the thing it is kept with; a copy, which may be changed, starts without.
#[derive(Default)]
pub struct Compiled(OnceLock<Box<dyn Any + Send + Sync>>);

impl Compiled {
    /// What was made, or is made now; nothing if something of another type was.
    pub fn get<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.0.get_or_init(|| Box::new(make())).downcast_ref()
    }
}

impl Clone for Compiled {
    fn clone(&self) -> Self {
        Compiled::default()
    }
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Compiled")
    }
}

/// A view.
#[derive(Clone, Debug)]
pub struct View {
    /// Its schema; `None` is `public`.
    pub schema: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
    /// Its columns.
    pub columns: Vec<(Arc<str>, Type)>,
    /// What it shows.
    pub query: SharedQuery,
    /// `WITH CHECK OPTION`
    pub check: Option<CheckOption>,
    /// The keys of the views it names.
    pub uses: Vec<Arc<str>>,
    /// The table that stands for it where triggers are concerned; `None` if it never had any.
    pub stand_in: Option<TableId>,
    /// As written.
    pub source: Arc<ast::CreateView>,
}

/// A CHECK constraint.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its name.
    pub name: Arc<str>,
    /// Must not be false; the row is rel 0.
    pub expr: Expr,
    /// Not `NOT VALID`: all rows fulfil it.
    pub validated: bool,
    /// As written.
    pub source: Arc<ast::Expr>,
}

/// A foreign key, held by the child.
#[derive(Clone, Debug)]
pub struct ForeignKey {
    /// Its name.
    pub name: Arc<str>,
    /// The child's columns.
    pub columns: Vec<usize>,
    /// The parent.
    pub parent: TableId,
    /// The parent's columns.
    pub parent_columns: Vec<usize>,
    /// The position of the parent's unique index over them.
    pub parent_index: usize,
    /// When a parent is deleted.
    pub on_delete: ReferentialAction,
    /// When a parent's key changes.
    pub on_update: ReferentialAction,
    /// `ON DELETE SET NULL (columns)`: only these of the child's columns; all if empty.
    pub on_delete_columns: Vec<usize>,
    /// `MATCH FULL`: all columns are NULL, or none.
    pub match_full: bool,
    /// When it is checked.
    pub deferral: Deferral,
    /// Not `NOT VALID`.
    pub validated: bool,
}

/// A trigger of a table.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// Its name.
    pub name: Arc<str>,
    /// Its function.
    pub function: RoutineId,
    /// What the function is told in `TG_ARGV`.
    pub args: Vec<Arc<str>>,
    /// Before or after the event.
    pub timing: ast::TriggerTiming,
    /// Once per row rather than once per statement.
    pub each_row: bool,
    /// `INSERT`
    pub insert: bool,
    /// `UPDATE`
    pub update: bool,
    /// `UPDATE OF`; none is any.
    pub update_columns: Vec<usize>,
    /// `DELETE`
    pub delete: bool,
    /// `TRUNCATE`
    pub truncate: bool,
    /// `WHEN`; OLD is rel 0, NEW is rel 1.
    pub when: Option<Expr>,
    /// `REFERENCING OLD TABLE AS`
    pub old_table: Option<Arc<str>>,
    /// `REFERENCING NEW TABLE AS`
    pub new_table: Option<Arc<str>>,
    /// A constraint trigger.
    pub constraint: bool,
    /// `DEFERRABLE`
    pub deferrable: bool,
    /// `INITIALLY DEFERRED`
    pub deferred: bool,
    /// Not switched off by `ALTER TABLE ... DISABLE TRIGGER`.
    pub enabled: bool,
}

impl Trigger {
    /// When it fires, if it is a constraint trigger.
    pub fn deferral(&self) -> ast::Deferral {
        match (self.deferrable, self.deferred) {
            (false, _) => ast::Deferral::NotDeferrable,
            (true, false) => ast::Deferral::Immediate,
            (true, true) => ast::Deferral::Deferred,
        }
    }
}

/// A sequence; its current value is data, not schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Its name, behind that of its schema unless it is `public`.
    pub name: Arc<str>,
    /// Its first value.
    pub start: i64,
    /// The step.
    pub increment: i64,
    /// The smallest value.
    pub min: i64,
    /// The largest value (2^31-1 for `serial`).
    pub max: i64,
    /// Begins anew behind its last value.
    pub cycle: bool,
    /// The integer it counts in.
    pub ty: Type,
    /// The column it goes with.
    pub owner: Option<(TableId, Arc<str>)>,
}

impl Sequence {
    /// Whether it counts like another one.
    pub fn same_but_owner(&self, other: &Sequence) -> bool {
        Sequence { owner: other.owner.clone(), ..self.clone() } == *other
    }
}

/// A routine as defined.
#[derive(Clone, Debug)]
pub struct RoutineDef {
    /// Its schema; `None` is `public`.
    pub schema: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
    /// A procedure: only CALL reaches it.
    pub procedure: bool,
    /// Its parameters.
    pub params: Vec<ParamDef>,
    /// What it returns, resolved.
    pub returns: ReturnsDef,
    /// `IMMUTABLE`, `STABLE`, `VOLATILE`
    pub volatility: ast::Volatility,
    /// NULL if an argument is.
    pub strict: bool,
    /// What it does, unbound.
    pub body: ast::RoutineBody,
    /// Replaces one of the same name and argument types.
    pub or_replace: bool,
    /// Where names in its body are looked for: along the path of whoever defined it.
    pub search_path: Vec<Arc<str>>,
    /// Where it was defined.
    pub span: Span,
}

/// A parameter, resolved.
#[derive(Clone, Debug)]
pub struct ParamDef {
    /// Its name, or `$n`.
    pub name: Arc<str>,
    /// Its direction.
    pub mode: ast::ParamMode,
    /// Its type.
    pub ty: Type,
    /// Its default.
    pub default: Option<Expr>,
    /// Fields, when its type is a table's row.
    pub fields: Option<Fields>,
}

/// What a routine returns, resolved.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum ReturnsDef {
    Void,
    Value(Type),
    /// One row with these fields, as a record.
    Row(Vec<(Arc<str>, Type)>),
    /// Rows of one unnamed type, or of named columns; none if only the caller knows them (`SETOF record`).
    Set(Vec<(Arc<str>, Type)>),
    /// OUT parameters.
    Outs,
    /// It is the function of triggers.
    Trigger,
}

impl Catalog {
    /// Nothing is defined now, whatever was before.
    pub fn is_empty(&self) -> bool {
        // Taken apart, so that whoever adds something must think of it here.
        let Catalog {
            tables,
            routines,
            sequences,
            table_names,
            types,
            views,
            schemas,
            search_path,
            unchecked_bodies: _,
            version: _,
        } = self;
        tables.iter().all(Option::is_none)
            && routines.iter().all(Option::is_none)
            && sequences.is_empty()
            && table_names.is_empty()
            && types.is_empty()
            && views.is_empty()
            && schemas.is_empty()
            && search_path.is_empty()
    }

    /// The tables that exist, in order of creation.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.iter().flatten().filter(|table| !table.of_view)
    }

    /// The tables that stand for views with triggers.
    pub fn stand_ins(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.iter().flatten().filter(|table| table.of_view)
    }

    /// The table with this number.
    ///
    /// # Panics
    /// If it was dropped: a bound statement that names it must have been bound again.
    pub fn table(&self, id: TableId) -> &Arc<Table> {
        self.tables[id.0 as usize].as_ref().expect("a bound statement names a table that exists")
    }

    /// Whether there is a table with this number.
    pub fn has_table(&self, id: TableId) -> bool {
        self.tables.get(id.0 as usize).is_some_and(Option::is_some)
    }

    /// Number of table numbers ever given out.
    pub fn table_count(&self) -> usize {
        self.tables.len()
    }

    /// The table with this name, on the search path.
    pub fn table_by_name(&self, name: &str) -> Option<&Arc<Table>> {
        self.find_table(None, name)
    }

    /// The number the next table will get.
    pub fn next_table_id(&self) -> TableId {
        TableId(self.tables.len() as u32)
    }

    /// Adds a table under the next number.
    pub fn add_table(&mut self, mut table: Table) -> TableId {
        let id = self.next_table_id();
        table.id = id;
        if !table.of_view {
            self.table_names.insert(table.key(), id);
        }
        self.tables.push(Some(Arc::new(table)));
        id
    }

    /// Puts a table in place of the one with its number.
    pub fn replace_table(&mut self, table: Table) {
        let slot = self.tables[table.id.0 as usize].as_mut().expect("a table that is changed exists");
        if !table.of_view {
            self.table_names.remove(&slot.key());
            self.table_names.insert(table.key(), table.id);
        }
        let id = table.id;
        *slot = Arc::new(table);
        self.find_parent_indexes(id);
    }

    /// Foreign keys know their parent's unique index by its position, which may have changed.
    fn find_parent_indexes(&mut self, parent: TableId) {
        let parents = self.table(parent).indexes.clone();
        for slot in self.tables.iter_mut().flatten() {
            let stale = |fk: &ForeignKey| {
                let at = |i: &Index| i.is_key() && i.columns == fk.parent_columns;
                (fk.parent == parent).then(|| parents.iter().position(at)).flatten().filter(|at| *at != fk.parent_index)
            };
            if slot.foreign_keys.iter().any(|fk| stale(fk).is_some()) {
                for fk in &mut Arc::make_mut(slot).foreign_keys {
                    fk.parent_index = stale(fk).unwrap_or(fk.parent_index);
                }
            }
        }
    }

    /// Changes a table in place (an index or a constraint more).
    pub fn alter_table(&mut self, id: TableId, change: impl FnOnce(&mut Table)) {
        let slot = self.tables[id.0 as usize].as_mut().expect("a bound statement names a table that exists");
        change(Arc::make_mut(slot));
    }

    /// Drops a table, its sequences, and the foreign keys that point at it.
    pub fn drop_table(&mut self, id: TableId) {
        if let Some(table) = self.tables[id.0 as usize].take() {
            if !table.of_view {
                self.table_names.remove(&table.key());
            }
            table.columns.iter().flat_map(|c| &c.sequence).for_each(|s| drop(self.sequences.remove(s)));
        }
        for slot in self.tables.iter_mut().flatten() {
            if slot.foreign_keys.iter().any(|fk| fk.parent == id) {
                Arc::make_mut(slot).foreign_keys.retain(|fk| fk.parent != id);
            }
        }
    }

    /// The foreign keys that point at a table: the child and the key's position in its list.
    pub fn references_to(&self, parent: TableId) -> impl Iterator<Item = (&Arc<Table>, usize)> {
        self.tables().flat_map(move |child| {
            let of_parent = child.foreign_keys.iter().enumerate().filter(move |(_, fk)| fk.parent == parent);
            of_parent.map(move |(i, _)| (child, i))
        })
    }

    /// The routine with this number.
    ///
    /// # Panics
    /// If it was dropped.
    pub fn routine(&self, id: RoutineId) -> &Arc<RoutineDef> {
        self.routines[id.0 as usize].as_ref().expect("a bound statement names a routine that exists")
    }

    /// Number of routine numbers ever given out.
    pub fn routine_count(&self) -> usize {
        self.routines.len()
    }

    /// All routines, in order of creation.
    pub fn routines(&self) -> impl Iterator<Item = (RoutineId, &Arc<RoutineDef>)> {
        let numbered = self.routines.iter().enumerate();
        numbered.filter_map(|(i, r)| Some((RoutineId(i as u32), r.as_ref()?)))
    }

    /// The routines with this name, in order of creation.
    pub fn routines_by_name<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (RoutineId, &'a Arc<RoutineDef>)> {
        self.routines().filter(move |(_, r)| &*r.name == name)
    }

    /// Adds a routine, or puts it in place of one with the same name and input types.
    pub fn add_routine(&mut self, routine: RoutineDef) -> RoutineId {
        let same = self
            .routines_by_name(&routine.name)
            .find(|(_, r)| r.schema == routine.schema && r.input_types().eq(routine.input_types()));
        match same.map(|(id, _)| id) {
            Some(id) => {
                self.routines[id.0 as usize] = Some(Arc::new(routine));
                id
            }
            None => {
                self.routines.push(Some(Arc::new(routine)));
                RoutineId(self.routines.len() as u32 - 1)
            }
        }
    }

    /// Puts a routine in place of the one with this number.
    pub fn replace_routine(&mut self, id: RoutineId, routine: Arc<RoutineDef>) {
        self.routines[id.0 as usize] = Some(routine);
    }

    /// Drops a routine.
    pub fn drop_routine(&mut self, id: RoutineId) {
        self.routines[id.0 as usize] = None;
        for table in self.tables.iter_mut().flatten() {
            if table.triggers.iter().any(|trigger| trigger.function == id) {
                Arc::make_mut(table).triggers.retain(|trigger| trigger.function != id);
            }
        }
    }

    /// The user's type with this name.
    pub fn user_type(&self, name: &str) -> Option<UserType> {
        self.types.get(name).copied()
    }

    /// All types of users, by name.
    pub fn user_types(&self) -> impl Iterator<Item = UserType> {
        self.types.values().copied()
    }

    /// Adds a type.
    pub fn add_type(&mut self, ty: UserType) {
        self.types.insert(ty.def().name.clone(), ty);
    }

    /// Whether a table or another type is made of this type.
    pub fn type_is_used(&self, ty: UserType) -> bool {
        let names = |other: Type| other.underlying_user() == Some(ty);
        let in_table = |t: &Arc<Table>| t.columns.iter().any(|c| names(c.ty));
        let returned = |r: &RoutineDef| match &r.returns {
            ReturnsDef::Value(ty) => names(*ty),
            ReturnsDef::Row(fields) | ReturnsDef::Set(fields) => fields.iter().any(|(_, ty)| names(*ty)),
            ReturnsDef::Void | ReturnsDef::Outs | ReturnsDef::Trigger => false,
        };
        if self.routines().any(|(_, r)| r.params.iter().any(|p| names(p.ty)) || returned(r)) {
            return true;
        }
        self.tables().any(in_table) || self.user_types().any(|u| u.parts().into_iter().any(names))
    }

    /// Puts a new definition in place of the type with this name, wherever it is named.
    pub fn alter_type(&mut self, name: &str, new: UserType) {
        let Some(old) = self.types.remove(name) else { return };
        self.types.insert(new.def().name.clone(), new);
        let renew = |ty: &mut Type| *ty = ty.renewed(old, new);
        for table in self.tables.iter_mut().flatten() {
            if table.columns.iter().any(|c| c.ty.underlying_user() == Some(old)) {
                Arc::make_mut(table).columns.iter_mut().for_each(|c| renew(&mut c.ty));
            }
        }
        for routine in self.routines.iter_mut().flatten() {
            if routine.params.iter().any(|p| p.ty.underlying_user() == Some(old)) {
                Arc::make_mut(routine).params.iter_mut().for_each(|p| renew(&mut p.ty));
            }
        }
    }

    /// Drops a type.
    pub fn drop_type(&mut self, name: &str) {
        self.types.remove(name);
    }

    /// The sequence with this key.
    pub fn sequence(&self, key: &str) -> Option<&Arc<Sequence>> {
        self.sequences.get(key)
    }

    /// All sequences, by name.
    pub fn sequences(&self) -> impl Iterator<Item = &Arc<Sequence>> {
        self.sequences.values()
    }

    /// Adds a sequence.
    pub fn add_sequence(&mut self, sequence: Sequence) {
        self.sequences.insert(sequence.name.clone(), Arc::new(sequence));
    }

    /// Drops a sequence.
    pub fn drop_sequence(&mut self, name: &str) {
        self.sequences.remove(name);
    }
}

impl Column {
    /// A column with nothing but a name and a type.
    pub fn plain(name: Arc<str>, ty: Type) -> Column {
        Column { name, ty, not_null: false, default: None, sequence: None, identity: None, generated: None }
    }
}

impl Table {
    /// Takes the name and the columns of the view that it stands for.
    pub fn stand_for(&mut self, view: &View) {
        self.of_view = true;
        self.schema = view.schema.clone();
        self.name = view.name.clone();
        self.columns = view.columns.iter().map(|(name, ty)| Column::plain(name.clone(), *ty)).collect();
    }

    /// The position of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| &*c.name == name)
    }

    /// The primary key's index.
    pub fn primary_key(&self) -> Option<&Index> {
        self.indexes.iter().find(|i| i.primary)
    }

    /// Columns of some index that is locked as a key: an update of one of them takes the strongest row lock.
    pub fn is_key_column(&self, column: usize) -> bool {
        self.indexes.iter().any(|i| i.is_locked_as_key() && i.columns.contains(&column))
    }
}

impl Index {
    /// Whether a foreign key could point at it: unique at any moment, over columns, of all rows.
    pub fn is_key(&self) -> bool {
        self.is_locked_as_key() && self.deferral == Deferral::NotDeferrable
    }

    /// Whether those who refer to rows by a key would lock this one. To PostgreSQL it may also be one that can be
    /// deferred, though no foreign key can point at that.
    pub fn is_locked_as_key(&self) -> bool {
        self.unique && self.special.is_none()
    }

    /// Whether rows are found by it: its keys are columns, and all rows are in it.
    pub fn is_plain(&self) -> bool {
        self.special.is_none()
    }

    /// Whether two rows may have this key: part of it is NULL, and so equal to nothing.
    pub fn allows_twins(&self, key: &[Value]) -> bool {
        !self.nulls_not_distinct && key.iter().any(|v| matches!(v, Value::Null))
    }

    /// Every column that it looks at.
    pub fn mentions(&self) -> &[usize] {
        self.special.as_ref().map_or(&self.columns, |special| &special.columns)
    }
}

impl RoutineDef {
    /// The catalog as its body is to be bound to it: with its search path.
    pub(crate) fn names<'c>(&self, catalog: &'c Catalog) -> Cow<'c, Catalog> {
        if catalog.search_path == self.search_path {
            return Cow::Borrowed(catalog);
        }
        let mut own = catalog.clone();
        own.search_path.clone_from(&self.search_path);
        Cow::Owned(own)
    }

    /// The OUT and INOUT parameters.
    pub fn outs(&self) -> impl Iterator<Item = &ParamDef> {
        self.params.iter().filter(|p| p.mode != ast::ParamMode::In)
    }

    /// The types a call is matched against.
    pub fn input_types(&self) -> impl Iterator<Item = Type> {
        self.params.iter().filter(|p| p.mode != ast::ParamMode::Out).map(|p| p.ty.base())
    }
}
