//! Stopping at user code, and the steps that only locking statements take.

use super::*;
use crate::eval::CallResult;
use crate::query::{locking_candidates, project, recheck};

const SCHEMA: &str = "
    CREATE FUNCTION f(x int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN x; END $$;
    CREATE FUNCTION rows() RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN RETURN; END $$;
    CREATE SEQUENCE s;
    CREATE TABLE t (id int PRIMARY KEY, v int);
    INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);";

/// Runs a statement as the engine does: answers each call with `answer` and evaluates again.
fn drive(sql: &str, answer: impl Fn(&[Value]) -> CallResult) -> (Vec<String>, usize) {
    let mut fixture = Fixture::new(SCHEMA);
    let mut calls = 0;
    loop {
        match fixture.rows(sql, &[]) {
            Ok(rows) => {
                let tables = fixture.reads.len();
                assert!(tables <= 1, "reads of abandoned evaluations are forgotten");
                return (rows.iter().map(|row| line(row.iter().map(text))).collect(), calls);
            }
            Err(Interrupt::Call(_, args)) => {
                calls += 1;
                fixture.calls.push(answer(&args));
            }
            Err(Interrupt::Lock(_) | Interrupt::Wait(_) | Interrupt::With(..)) => panic!("nothing is locked here"),
            Err(Interrupt::Error(error)) => panic!("{error}"),
        }
    }
}

fn double(args: &[Value]) -> CallResult {
    CallResult::Value(Value::Int(args[0].as_int().unwrap() * 2))
}

#[test]
fn each_call_is_made_once() {
    let (rows, calls) = drive("SELECT f(id), f(v) FROM t ORDER BY id", double);
    assert_eq!((rows, calls), (vec!["2|20".into(), "4|40".into(), "6|60".into()], 6));
}

#[test]
fn a_call_in_a_condition() {
    let (rows, calls) = drive("SELECT id FROM t WHERE f(v) > 30 AND id < 3", double);
    assert_eq!((rows, calls), (vec!["2".into()], 2));
}

#[test]
fn what_is_drawn_from_a_sequence_is_drawn_once() {
    let (rows, calls) = drive("SELECT nextval('s'), f(id), nextval('s') FROM t WHERE id < 3", double);
    assert_eq!((rows, calls), (vec!["1|2|2".into(), "3|4|4".into()], 2));
}

#[test]
fn a_routine_in_from_is_called_once() {
    let three = |_: &[Value]| CallResult::Rows((1..=3).map(|i| Row::from(vec![Value::Int(i)])).collect());
    let (rows, calls) = drive("SELECT t.id, r FROM t, rows() r WHERE r > t.id ORDER BY 1, 2", three);
    assert_eq!((rows, calls), (vec!["1|2".into(), "1|3".into(), "2|3".into()], 1));
}

#[test]
fn a_lateral_routine_is_called_per_row() {
    let (rows, calls) = drive("SELECT t.id, r FROM t, f(t.id) r ORDER BY 1", double);
    assert_eq!((rows, calls), (vec!["1|2".into(), "2|4".into(), "3|6".into()], 3));
}

/// The select of a query over `t`, run step by step as row locks require.
fn locking(sql: &str, check: impl FnOnce(&mut Context<'_>, &plan::QueryPlan)) {
    let mut fixture = Fixture::new(SCHEMA);
    let statement = bind::statement(&fixture.catalog, &parse::script(sql).unwrap()[0], sql, &[]).unwrap();
    let StatementKind::Query(query) = &statement.kind else { panic!("a query") };
    let plan = plan::query(&fixture.catalog, query);
    fixture.within(&[], |ctx| check(ctx, &plan));
}

#[test]
fn candidates_come_sorted_and_before_the_limit() {
    locking("SELECT v FROM t WHERE id > 1 ORDER BY id DESC LIMIT 1 OFFSET 1 FOR UPDATE", |ctx, plan| {
        let (found, limit, offset) = locking_candidates(ctx, plan, &crate::plan::WithScope::default()).unwrap();
        assert_eq!((found.len(), limit, offset), (2, Some(1), 1));
        let first = project(ctx, plan, &crate::plan::WithScope::default(), &found[0]).unwrap();
        assert_eq!(line(first.iter().map(text)), "30");
    });
}

#[test]
fn a_candidate_is_checked_again_with_its_newest_version() {
    let sql = "SELECT a.id FROM t a JOIN t b ON b.id = a.v WHERE a.id = 1 AND a.v < 50 FOR UPDATE OF a";
    locking(sql, |ctx, plan| {
        let select = plan.select().unwrap();
        let row = |id: i64, v: i64| RelRow::new(Row::from(vec![Value::Int(id), Value::Int(v)]));
        let mut holds = |a: RelRow, b: RelRow| {
            let candidate = crate::query::Candidate { rows: [a, b].into_iter().collect() };
            recheck(ctx, select, &crate::plan::WithScope::default(), &candidate).unwrap()
        };
        assert!(holds(row(1, 10), row(10, 0)));
        assert!(!holds(row(1, 11), row(10, 0)), "the join no longer holds");
        assert!(!holds(row(1, 60), row(60, 0)), "the filter no longer holds");
        assert!(!holds(row(2, 10), row(10, 0)), "the key no longer holds");
    });
}
