//! The matrix: rules together, proofs that say little, cells that cost only themselves.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;

use isolde_prove::{Gap, Known, Limits, Options, check, check_telling};
use isolde_report::{Baseline, ProveReport, Verdict};
use isolde_smt::Solver;

const TOGETHER: &str = "
CREATE TABLE a (id int PRIMARY KEY, x int NOT NULL, y int NOT NULL);
CREATE PROCEDURE copy_x(k int) LANGUAGE plpgsql AS $$ BEGIN UPDATE a SET y = x WHERE id = k; END $$;
CREATE PROCEDURE less_x(k int) LANGUAGE plpgsql AS $$ BEGIN UPDATE a SET x = x - 1 WHERE id = k; END $$;
--@ rule x_nonneg
SELECT x >= 0 FROM a;
--@ rule y_nonneg
SELECT y >= 0 FROM a;
";

const VACUOUS: &str = "
CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL CHECK (v < 3));
CREATE PROCEDURE never(k int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (k, NULL); END $$;
CREATE PROCEDURE p(k int) LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET v = 2 WHERE id = k; END $$;
--@ rule impossible
SELECT v > 5 FROM t;
--@ rule fine
SELECT v < 100 FROM t;
--@ rule open
SELECT v >= 0 FROM t;
";

const TWO_TABLES: &str = "
CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
CREATE TABLE u (id int PRIMARY KEY, v int NOT NULL);
CREATE FUNCTION zero() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 0; END $$;
CREATE PROCEDURE on_t(k int) LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET v = zero() WHERE id = k; END $$;
CREATE PROCEDURE on_u(k int) LANGUAGE plpgsql AS $$ BEGIN UPDATE u SET v = 1 WHERE id = k; END $$;
--@ rule t_nonneg
SELECT v >= 0 FROM t;
--@ rule u_nonneg
SELECT v >= 0 FROM u;
";

fn options(jobs: usize) -> Options {
    Options { jobs, limits: Limits { guards: false, ..Limits::default() }, ..Options::default() }
}

fn checked(text: &str) -> Option<ProveReport> {
    let Ok(solver) = Solver::from_environment() else {
        eprintln!("skipped: there is no solver (install z3)");
        return None;
    };
    Some(check(&support::load(text).program, &solver, &options(2)).unwrap().0)
}

fn words(report: &ProveReport) -> Vec<String> {
    report.cells.iter().map(|cell| format!("{} {} {}", cell.procedure, cell.rule, cell.verdict)).collect()
}

#[test]
fn every_rule_holds_before_the_call_and_the_needed_ones_are_named() {
    let Some(report) = checked(TOGETHER) else { return };
    assert_eq!(
        words(&report),
        ["copy_x x_nonneg safe", "copy_x y_nonneg safe", "less_x x_nonneg unsafe", "less_x y_nonneg safe"]
    );
    let needs: Vec<&[String]> = report.cells.iter().map(|cell| cell.needs.as_slice()).collect();
    assert_eq!(needs, [&[][..], &["x_nonneg".to_string()][..], &[][..], &[][..]]);
}

#[test]
fn a_witness_meets_all_rules_before_the_call() {
    let Some(report) = checked(TOGETHER) else { return };
    let witness = report.cells[2].witness.as_ref().unwrap();
    let change = &witness.changes[0];
    assert!(
        change.before.iter().flatten().all(|value| !value.starts_with('-') || change.columns[0] == "id"),
        "{change:?}"
    );
}

#[test]
fn proofs_that_say_little_are_named() {
    let Some(report) = checked(VACUOUS) else { return };
    let notes: Vec<(&str, &str)> = report.notes.iter().map(|note| (note.kind.as_str(), note.name.as_str())).collect();
    assert_eq!(notes, [("rule", "impossible"), ("rule", "fine"), ("procedure", "never")]);
    let warned: Vec<String> = report.cells.iter().filter(|c| c.warning.is_some()).map(|c| c.id()).collect();
    assert_eq!(warned, ["never:impossible", "never:fine", "never:open"]);
    let implied = report.cells.iter().find(|cell| cell.id() == "p:fine").unwrap();
    assert_eq!(implied.meaning, "the schema implies the rule");
}

#[test]
fn a_statement_that_was_not_read_costs_the_cells_that_need_it() {
    let Ok(solver) = Solver::from_environment() else { return };
    let mut program = support::load(TWO_TABLES).program;
    let t = program.catalog().tables().next().unwrap().id;
    program.gaps.push(Gap {
        span: Default::default(),
        statement: "CREATE TRIGGER something ON t".into(),
        what: "not supported".into(),
        tables: BTreeSet::from([t]),
        is_routine: false,
    });
    let report = check(&program, &solver, &options(1)).unwrap().0;
    assert_eq!(
        words(&report),
        [
            "zero t_nonneg safe",
            "zero u_nonneg safe",
            "on_t t_nonneg unknown",
            "on_t u_nonneg unknown",
            "on_u t_nonneg safe",
            "on_u u_nonneg safe"
        ]
    );
    assert_eq!(report.notes.last().unwrap().kind, "skipped");
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let Ok(solver) = Solver::from_environment() else { return };
    let program = support::load(TOGETHER).program;
    let [one, four] = [1, 4].map(|jobs| check(&program, &solver, &options(jobs)).unwrap().0);
    assert_eq!(one, four);
}

#[test]
fn a_solver_that_dies_costs_its_cells() {
    let program = support::load(TOGETHER).program;
    let report = check(&program, &Solver::new("false"), &options(1)).unwrap().0;
    assert!(report.cells.iter().all(|cell| cell.verdict == "unknown"), "{:?}", words(&report));
    assert!(check(&program, &Solver::new("there-is-no-such-program"), &options(1)).is_err());
}

#[test]
fn what_a_cell_is_about_is_its_own() {
    let content = |text: &str, procedure: &str| {
        let program = support::load(text).program;
        let id = program.catalog().routines_by_name(procedure).next().unwrap().0;
        program.content(id, &program.rules[0], &Limits::default())
    };
    let other = TWO_TABLES.replace("SET v = 1", "SET v = 2");
    assert_eq!(content(TWO_TABLES, "on_t"), content(&other, "on_t"));
    assert_ne!(content(TWO_TABLES, "on_u"), content(&other, "on_u"));
    let called = TWO_TABLES.replace("RETURN 0", "RETURN -1");
    assert_ne!(content(TWO_TABLES, "on_t"), content(&called, "on_t"));
    let schema = TWO_TABLES.replace("CREATE TABLE u (id int", "CREATE TABLE u (id bigint");
    assert_ne!(content(TWO_TABLES, "on_t"), content(&schema, "on_t"));
    let moved = format!("\n\n{TWO_TABLES}");
    assert_eq!(content(TWO_TABLES, "on_t"), content(&moved, "on_t"));
}

#[test]
fn a_known_cell_is_not_asked_again() {
    let Ok(solver) = Solver::from_environment() else { return };
    let program = support::load(TOGETHER).program;
    let (report, scripts) = check(&program, &solver, &options(1)).unwrap();
    assert!(!scripts.is_empty());
    let known: Known = report.cells.iter().map(|cell| (cell.content.clone(), cell.clone())).collect();
    let told = std::sync::Mutex::new(0);
    let tell = |_: &_| *told.lock().unwrap() += 1;
    let (again, scripts) = check_telling(&program, &solver, &options(1), &known, &tell).unwrap();
    assert_eq!((again.cells, scripts.len()), (report.cells, 0));
    assert_eq!(*told.lock().unwrap(), 4);
}

#[test]
fn a_baseline_sets_aside_what_it_lists() {
    let Some(mut report) = checked(TOGETHER) else { return };
    assert_eq!(report.verdict, Verdict::Violated);
    let baseline = report.baseline();
    assert!(baseline.contains("less_x:x_nonneg  # unsafe\n"), "{baseline}");
    report.compare(&Baseline::parse(&format!("{baseline}copy_x:x_nonneg\n")));
    assert_eq!(report.verdict, Verdict::Holds);
    assert_eq!(
        (report.known, report.fixed),
        (vec!["less_x:x_nonneg".to_string()], vec!["copy_x:x_nonneg".to_string()])
    );
}
