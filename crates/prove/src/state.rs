//! A state of a procedure and of the database under it, as terms.
//!
//! The database is a handful of *slots* per table: rows that are tracked, each alive or not. How many suffice is the
//! business of
//! [`plan`](crate::plan); that they suffice is the argument in the crate's introduction.

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_smt::{Sort, Term};
use isolde_sql::catalog::{Catalog, TableId};

use crate::logic::{Context, Residue, Result, Sym};

/// Everything that later statements depend on.
#[derive(Clone, Debug)]
pub struct State {
    /// The variables of the graph.
    pub variables: Vec<Sym>,
    /// The rows.
    pub db: Db,
    /// What is left of the queries that loops run over.
    pub cursors: BTreeMap<usize, Vec<CursorRow>>,
    /// The rows as they were when a block with handlers was entered.
    pub saved: BTreeMap<usize, Db>,
    /// The error that is being handled: its SQLSTATE as a number.
    pub error: Term,
    /// The number of the transaction, for what is the same within one: `now()`.
    pub transaction: Term,
}

impl State {
    /// At the start of a procedure, in its first transaction, with no error to handle.
    pub fn new(variables: Vec<Sym>, db: Db) -> State {
        let (cursors, saved) = (BTreeMap::new(), BTreeMap::new());
        State { variables, db, cursors, saved, error: Term::Int(0), transaction: Term::Int(0) }
    }
}

/// The tracked part of the database.
#[derive(Clone, Debug, Default)]
pub struct Db {
    /// The slots of each table.
    pub tables: BTreeMap<TableId, Vec<Slot>>,
    /// The rows of each table that are not tracked.
    pub rest: BTreeMap<TableId, Arc<Residue>>,
}

/// A row that is tracked.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// The same from state to state.
    pub id: usize,
    /// It is in the table.
    pub alive: Term,
    /// Its columns.
    pub columns: Vec<Sym>,
}

/// A row that a loop may still come to.
#[derive(Clone, Debug, PartialEq)]
pub struct CursorRow {
    /// The slot that it was read from, if it is one.
    pub slot: Option<usize>,
    /// It is in the result and was not visited.
    pub pending: Term,
    /// Its columns, as they were when the loop began.
    pub values: Vec<Sym>,
}

impl Db {
    /// So many rows of each table, of which nothing is known but their types and what the table demands of each row by
    /// itself.
    pub fn any(ctx: &mut Context, catalog: &Catalog, counts: &BTreeMap<TableId, usize>) -> Result<Db> {
        let mut db = Db::default();
        for (id, count) in counts {
            let table = catalog.table(*id);
            let mut slots = Vec::new();
            for n in 0..*count {
                slots.push(Slot::any(ctx, table, &format!("{}{}", table.name, n + 1))?);
            }
            db.tables.insert(*id, slots);
            db.rest.insert(*id, Arc::new(Residue::Rows(0)));
        }
        Ok(db)
    }

    /// The slots of a table; none if it is not tracked.
    pub fn slots(&self, table: TableId) -> &[Slot] {
        self.tables.get(&table).map_or(&[], Vec::as_slice)
    }
}

impl Slot {
    /// A row of which nothing is known.
    pub fn any(ctx: &mut Context, table: &isolde_sql::catalog::Table, hint: &str) -> Result<Slot> {
        let alive = ctx.fresh(&Sort::Bool, &format!("{hint}.alive"));
        let mut columns = Vec::new();
        for column in &table.columns {
            let mut sym = ctx.any(column.ty, &format!("{hint}.{}", column.name))?;
            if column.not_null {
                ctx.say(sym.null.clone().not());
                sym.null = Term::False;
            }
            columns.push(sym);
        }
        Ok(Slot { id: ctx.number(), alive, columns })
    }
}

/// One of two states: the first if `when`.
pub fn merged(
    ctx: &mut Context,
    when: &Term,
    a: &State,
    b: &State,
    types: &[isolde_sql::Type],
    catalog: &Catalog,
) -> State {
    let variables = a.variables.iter().zip(&b.variables).zip(types);
    let variables = variables.map(|((a, b), ty)| {
        let sym = Sym::ite(when, a, b);
        ctx.named_sym(sym, *ty, "var")
    });
    let variables = variables.collect();
    let db = merged_db(ctx, when, &a.db, &b.db, catalog);
    // What only one of them has is not read behind the place at which they meet.
    let saved = a.saved.iter().filter_map(|(key, mine)| {
        let theirs = b.saved.get(key)?;
        Some((*key, merged_db(ctx, when, mine, theirs, catalog)))
    });
    let saved = saved.collect();
    let cursors = a.cursors.iter().filter_map(|(key, mine)| {
        let theirs = b.cursors.get(key).filter(|theirs| theirs.len() == mine.len())?;
        let rows = mine.iter().zip(theirs).map(|(x, y)| CursorRow {
            slot: x.slot.filter(|_| x.slot == y.slot),
            pending: ctx.named_truth(when.clone().ite(x.pending.clone(), y.pending.clone()), "pending"),
            values: x.values.iter().zip(&y.values).map(|(x, y)| Sym::ite(when, x, y)).collect(),
        });
        Some((*key, rows.collect()))
    });
    let cursors = cursors.collect();
    let error = when.clone().ite(a.error.clone(), b.error.clone());
    let error = ctx.named(error, &Sort::Int, "error");
    let transaction = when.clone().ite(a.transaction.clone(), b.transaction.clone());
    let transaction = ctx.named(transaction, &Sort::Int, "transaction");
    State { variables, db, cursors, saved, error, transaction }
}

fn merged_db(ctx: &mut Context, when: &Term, a: &Db, b: &Db, catalog: &Catalog) -> Db {
    let mut db = Db::default();
    for (id, mine) in &a.tables {
        let theirs = b.slots(*id);
        let dead = |slot: &Slot| Slot { alive: Term::False, ..slot.clone() };
        let mut slots = Vec::new();
        for slot in mine {
            let other = theirs.iter().find(|other| other.id == slot.id).cloned().unwrap_or_else(|| dead(slot));
            slots.push(merged_slot(ctx, when, slot, &other, catalog.table(*id)));
        }
        for slot in theirs.iter().filter(|slot| !mine.iter().any(|other| other.id == slot.id)) {
            slots.push(merged_slot(ctx, when, &dead(slot), slot, catalog.table(*id)));
        }
        db.tables.insert(*id, slots);
    }
    for (id, mine) in &a.rest {
        let theirs = b.rest.get(id).unwrap_or(mine);
        let same = Arc::ptr_eq(mine, theirs) || mine == theirs;
        let rest =
            if same { mine.clone() } else { Arc::new(Residue::Either(when.clone(), mine.clone(), theirs.clone())) };
        db.rest.insert(*id, rest);
    }
    db
}

fn merged_slot(ctx: &mut Context, when: &Term, a: &Slot, b: &Slot, table: &isolde_sql::catalog::Table) -> Slot {
    if a == b {
        return a.clone();
    }
    let alive = ctx.named_truth(when.clone().ite(a.alive.clone(), b.alive.clone()), "alive");
    let columns = a.columns.iter().zip(&b.columns).zip(&table.columns);
    let columns = columns.map(|((x, y), column)| ctx.named_sym(Sym::ite(when, x, y), column.ty, &column.name));
    Slot { id: a.id, alive, columns: columns.collect() }
}
