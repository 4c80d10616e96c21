//! What a query leaves in the footprint, and which writes it is sensitive to.

use super::*;
use crate::footprint::{ColumnSet, Write};

const SCHEMA: &str = "
    CREATE TABLE account (id int PRIMARY KEY, owner int, balance int);
    CREATE INDEX account_owner ON account (owner);
    CREATE TABLE note (account int, txt text);
    INSERT INTO account VALUES (1, 7, 100), (2, 7, 50), (3, 8, 0);
    INSERT INTO note VALUES (1, 'a'), (1, 'b'), (2, 'c');";

/// The reads of a statement: table, key, whether there is a filter, columns, ids of the matched rows.
fn reads(sql: &str, params: &[Value]) -> Vec<String> {
    let mut fixture = Fixture::new(SCHEMA);
    fixture.rows(sql, params).unwrap();
    let show = |read: &Read| {
        let table = fixture.catalog.table(read.table);
        let key: Vec<String> = read.key.iter().map(|(c, v)| format!("{}={v}", table.columns[*c].name)).collect();
        let used = table.columns.iter().enumerate().filter(|(i, _)| read.columns.contains(*i)).map(|(_, c)| &*c.name);
        let used: Vec<&str> = used.collect();
        let filter = if read.filter.is_some() { " filter" } else { "" };
        let matched: Vec<u64> = read.matched.iter().map(|(id, _)| id.0).collect();
        format!("{}[{}]{filter} {} {matched:?}", table.name, key.join(" "), used.join(","))
    };
    fixture.reads.iter().map(show).collect()
}

/// A change of `account` from one row to another, as `id owner balance`; empty for none.
fn write(before: &str, after: &str) -> Write {
    let row = |text: &str| -> Option<Row> {
        let values = text.split_whitespace().map(|n| n.parse::<i64>().map_or(Value::Null, Value::Int));
        (!text.is_empty()).then(|| values.collect())
    };
    Write {
        table: isolde_sql::catalog::TableId(0),
        row: RowId(99),
        before: row(before),
        after: row(after),
        set: ColumnSet::ALL,
    }
}

/// Whether a change of `account` matters to a statement.
fn hits(sql: &str, params: &[Value], before: &str, after: &str) -> bool {
    let mut fixture = Fixture::new(SCHEMA);
    // A statement that fails has read, too.
    let _ = fixture.rows(sql, params);
    fixture.reads.iter().any(|read| read.hit(&write(before, after)))
}

#[test]
fn a_key_is_read_by_its_values() {
    assert_eq!(reads("SELECT balance FROM account WHERE id = 2", &[]), ["account[id=2] id,balance [2]"]);
    assert_eq!(reads("SELECT balance FROM account WHERE id = 9", &[]), ["account[id=9] id,balance []"]);
    assert_eq!(reads("SELECT 1 FROM account WHERE id = NULL", &[]), [""; 0]);
    assert_eq!(
        reads("SELECT 1 FROM account WHERE owner = $1 AND balance > 60", &[Value::Int(7)]),
        ["account[owner=7] filter owner,balance [1]"]
    );
}

#[test]
fn a_list_is_one_read_per_value() {
    assert_eq!(
        reads("SELECT 1 FROM account WHERE id IN (3, 1, 1)", &[]),
        ["account[id=1] id [1]", "account[id=3] id [3]"]
    );
    assert_eq!(
        reads("SELECT 1 FROM account WHERE id IN (SELECT account FROM note WHERE txt <> 'c')", &[]),
        ["note[] filter account,txt [4, 5]", "account[id=1] id [1]"]
    );
}

#[test]
fn a_join_reads_each_probe_once() {
    assert_eq!(
        reads("SELECT n.txt FROM note n JOIN account a ON a.id = n.account", &[]),
        ["account[id=1] id [1]", "account[id=2] id [2]", "note[] account,txt [4, 5, 6]"]
    );
    assert_eq!(
        reads("SELECT (SELECT balance FROM account a WHERE a.id = n.account) FROM note n", &[]),
        ["account[id=1] id,balance [1]", "account[id=2] id,balance [2]", "note[] account [4, 5, 6]"]
    );
}

#[test]
fn a_false_gate_reads_nothing() {
    assert_eq!(reads("SELECT 1 FROM account WHERE $1 > 5", &[Value::Int(1)]), [""; 0]);
    assert_eq!(reads("SELECT 1 FROM account LIMIT 0", &[]), [""; 0]);
}

#[test]
fn existence_depends_on_no_column_of_the_list() {
    assert_eq!(reads("SELECT EXISTS (SELECT * FROM account WHERE id = 1)", &[]), ["account[id=1] id [1]"]);
    assert_eq!(reads("SELECT count(*) FROM account", &[]), ["account[]  [1, 2, 3]"]);
}

#[test]
fn writes_that_matter() {
    let balance_of_1 = "SELECT balance FROM account WHERE id = 1";
    assert!(hits(balance_of_1, &[], "1 7 100", "1 7 99"));
    assert!(!hits(balance_of_1, &[], "1 7 100", "1 8 100"), "the owner was not looked at");
    assert!(!hits(balance_of_1, &[], "2 7 100", "2 7 99"), "another row");
    assert!(hits(balance_of_1, &[], "5 7 100", "1 7 100"), "a row moves in");
    assert!(hits(balance_of_1, &[], "1 7 100", ""), "the row goes");
    assert!(hits("SELECT balance FROM account WHERE id = 9", &[], "", "9 1 1"), "a phantom");
    assert!(!hits("SELECT balance FROM account WHERE id = 9", &[], "", "8 1 1"));
}

#[test]
fn filters_are_asked_about_both_versions() {
    let rich = "SELECT count(*) FROM account WHERE balance >= $1";
    let sixty = [Value::Int(60)];
    assert!(hits(rich, &sixty, "1 7 100", "1 7 10"), "drops out");
    assert!(hits(rich, &sixty, "1 7 10", "1 7 100"), "comes in");
    assert!(!hits(rich, &sixty, "1 7 10", "1 7 20"), "poor before and after");
    assert!(hits(rich, &sixty, "1 7 100", "1 7 101"), "a column of the condition changes");
    assert!(!hits(rich, &sixty, "1 7 100", "1 8 100"));
    assert!(!hits(rich, &sixty, "1 7 NULL", ""), "NULL is not true");
    assert!(hits("SELECT 1 FROM account WHERE 10 / balance > 100", &[], "", "4 4 0"), "the condition fails on it");
}

#[test]
fn a_failing_statement_has_read() {
    assert!(hits("SELECT 1 / (balance - 100) FROM account WHERE id = 1", &[], "1 7 100", "1 7 0"));
}

/// An update moves its row to the end of the heap, which shows where the order of rows is left open.
#[test]
fn the_order_of_the_heap_shows_where_keys_leave_ties() {
    let fixture = Fixture::new(SCHEMA);
    let hit = |sql: &str| {
        let statement = bind::statement(&fixture.catalog, &parse::script(sql).unwrap()[0], sql, &[]).unwrap();
        !statement.order_reads(&fixture.catalog, isolde_sql::typed::Taken::Set).reads.is_empty()
    };
    assert!(hit("SELECT balance FROM account LIMIT 1"));
    assert!(hit("SELECT id FROM account ORDER BY balance"));
    assert!(!hit("SELECT balance FROM account ORDER BY balance"), "ties look alike");
    assert!(hit("SELECT string_agg(balance::text, ',') FROM account"));
    assert!(!hit("SELECT balance FROM account"), "a set of rows");
    assert!(!hit("SELECT balance FROM account ORDER BY id LIMIT 1"), "no ties");
    assert!(!hit("SELECT balance FROM account WHERE id = 1 LIMIT 1"), "one row");
    assert!(!hit("SELECT sum(balance) FROM account ORDER BY 1 LIMIT 1"), "one group");
    assert!(!hit("SELECT DISTINCT balance FROM account ORDER BY 1 LIMIT 1"), "sorted by all it has");
}
