#![allow(clippy::unwrap_used)]

use super::*;
use crate::live::NamedLock;
use isolde_engine::RowId;
use isolde_engine::footprint::{ColumnSet, Write};
use isolde_sql::{Row, Value};

const SCHEMA: &str = "
    CREATE TABLE item (id int PRIMARY KEY, price int, name text);
    CREATE TABLE sale (id int PRIMARY KEY, item int REFERENCES item);
    CREATE FUNCTION total() RETURNS bigint LANGUAGE sql AS 'SELECT sum(price) FROM item';
";

fn analyst() -> Arc<Analyst> {
    let mut database = isolde_engine::Database::new();
    let session = database.open_session();
    for statement in parse::script(SCHEMA).unwrap() {
        let prepared = database.prepare(&statement, SCHEMA, &[]).unwrap();
        if database.submit(session, &prepared, &[]).is_none() {
            while database.step(session).reply.is_none() {}
        }
    }
    Arc::new(Analyst::new(database.catalog().clone(), BTreeSet::new()))
}

fn row(id: i64, price: i64) -> Option<Row> {
    Some([Value::Int(id), Value::Int(price), Value::text("x")].into())
}

fn write(before: Option<Row>, after: Option<Row>) -> Write {
    Write { table: TableId(0), row: RowId(1), before, after, set: ColumnSet::ALL }
}

#[test]
fn conditions_on_one_table_become_predicates() {
    let analyst = analyst();
    let analysis =
        analyst.analyse("SELECT count(*) FROM item JOIN sale ON sale.item = item.id WHERE price > '5' AND sale.id = 3");
    let [item, sale] = analysis.touched.reads.as_slice() else { panic!("{analysis:?}") };
    assert!(item.hit(&write(None, row(1, 6))) && !item.hit(&write(None, row(1, 5))));
    assert!(sale.key == [(0, Value::Int(3))] && analysis.touched.coarse.is_empty(), "{analysis:?}");
    let outer = analyst.analyse("SELECT 1 FROM item LEFT JOIN sale ON sale.item = item.id WHERE price > 5");
    assert!(outer.touched.reads.iter().all(|read| read.filter.is_none()) && !outer.touched.coarse.is_empty());
}

#[test]
fn what_is_changed_is_locked() {
    let analysis = analyst().analyse("UPDATE item SET price = price - 1 WHERE id = 1 AND price > 0");
    let [lock] = analysis.touched.locks.as_slice() else { panic!("{analysis:?}") };
    assert!(lock.hit(&write(row(1, 1), row(1, 2))) && !lock.hit(&write(row(2, 1), row(2, 2))));
}

#[test]
fn routines_stand_for_their_tables_and_the_unknown_for_everything() {
    let analyst = analyst();
    assert_eq!(analyst.analyse("SELECT total()").touched.reads.len(), 1);
    assert!(analyst.analyse("SELECT * FROM nowhere").touched.everything);
    assert!(analyst.analyse("SELECT 1").quiet && analyst.analyse("BEGIN").quiet);
    assert!(!analyst.analyse("COMMIT").quiet && !analyst.analyse("SELECT pg_advisory_lock(3)").quiet);
    assert_eq!(analyst.analyse("SELECT pg_advisory_lock(3)").touched.keys, [NamedLock::Advisory("3".into())]);
}

#[test]
fn the_end_of_a_transaction_settles_what_it_did() {
    let mut ledger = Ledger::new(analyst(), Isolation::ReadCommitted);
    ledger.statement("BEGIN", &[]);
    ledger.done(false, Status::Open, Vec::new());
    ledger.statement("UPDATE item SET price = 2 WHERE id = $1", &[Some("1".into())]);
    let touched = ledger.done(false, Status::Open, vec![write(row(1, 1), row(1, 2))]);
    assert_eq!((touched.ended, touched.locks.len()), (None, 1));
    ledger.statement("SAVEPOINT a", &[]);
    ledger.done(false, Status::Open, Vec::new());
    ledger.statement("INSERT INTO item VALUES (2, 3)", &[]);
    let touched = ledger.done(false, Status::Open, vec![write(None, row(2, 3))]);
    assert!(touched.locks[0].hit(&write(None, row(2, 9))) && !touched.locks[0].hit(&write(None, row(3, 9))));
    ledger.statement("ROLLBACK TO a", &[]);
    let touched = ledger.done(false, Status::Open, Vec::new());
    assert_eq!((touched.ended, touched.settled.len()), (Some(false), 1));
    ledger.statement("COMMIT", &[]);
    let touched = ledger.done(false, Status::Idle, Vec::new());
    assert_eq!((touched.ended, touched.settled.len(), touched.released.len()), (Some(true), 1, 1));
    assert!(!ledger.is_open());
}

#[test]
fn a_snapshot_is_taken_once() {
    let mut ledger = Ledger::new(analyst(), Isolation::ReadCommitted);
    ledger.statement("BEGIN ISOLATION LEVEL SERIALIZABLE", &[]);
    assert!(!ledger.done(false, Status::Open, Vec::new()).serializable);
    assert!(!ledger.is_quiet("SELECT 1", &[]));
    for first in [true, false] {
        ledger.statement("SELECT * FROM item", &[]);
        let touched = ledger.done(false, Status::Open, Vec::new());
        assert_eq!((touched.snapshot, touched.serializable), (first, true));
    }
    assert!(ledger.is_quiet("SELECT 1", &[]));
}
