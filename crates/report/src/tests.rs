//! Golden renderings of one lost update, wide, narrow, coloured and as JSON.
#![allow(clippy::unwrap_used)]

use expect_test::{Expect, expect};

use super::*;

fn step(thread: usize, kind: StepKind, statement: &str, line: u32, result: StepResult) -> TraceStep {
    let place = (line > 0).then_some(Place { file: None, line });
    TraceStep { thread, kind, statement: statement.into(), place, result, changes: Vec::new(), notes: Vec::new() }
}

fn balance(value: &str) -> StepResult {
    StepResult::Rows { columns: vec!["balance".into()], rows: vec![vec![Some(value.into())]] }
}

fn update(thread: usize) -> TraceStep {
    let statement = "UPDATE account SET balance = bal - amount WHERE id = acc";
    let done = StepResult::Done { tag: "UPDATE 1".into() };
    let mut step = step(thread, StepKind::Statement, statement, 8, done);
    step.changes.push(RowChange {
        table: "account".into(),
        key: "1".into(),
        kind: ChangeKind::Update,
        columns: vec![ColumnChange { column: "balance".into(), before: Some("100".into()), after: Some("40".into()) }],
    });
    step
}

pub(crate) fn lost_update() -> Report {
    let select = "SELECT balance INTO bal FROM account WHERE id = acc";
    let done = || StepResult::Done { tag: String::new() };
    let trace = Trace {
        threads: vec!["alice".into(), "bob".into()],
        steps: vec![
            step(0, StepKind::Statement, select, 6, balance("100")),
            step(1, StepKind::Statement, select, 6, balance("100")),
            update(0),
            step(
                1,
                StepKind::Statement,
                "UPDATE account SET balance = bal - amount WHERE id = acc",
                8,
                StepResult::Waits { on: vec!["alice".into()] },
            ),
            step(0, StepKind::Commit, "COMMIT", 0, done()),
            TraceStep { kind: StepKind::Resume, ..update(1) },
            step(1, StepKind::Commit, "COMMIT", 0, done()),
        ],
        tables: vec![FinalTable {
            name: "account".into(),
            columns: vec!["id".into(), "balance".into()],
            rows: vec![vec![Some("1".into()), Some("40".into())]],
            rows_total: 1,
        }],
    };
    let stats = Stats {
        search: "stateful".into(),
        states: 1234,
        transitions: 2345,
        ends: 3,
        depth: 8,
        complete: false,
        elapsed_ms: None,
        details: None,
    };
    let mut report = Report::new("isolde explore bank.sql", "bank.sql", Verdict::Violated, stats);
    report.properties = vec![
        PropertyResult { name: "uncaught error".into(), by: None, status: PropertyStatus::Undecided },
        PropertyResult { name: "serial outcome".into(), by: None, status: PropertyStatus::Violated },
    ];
    report.counterexample = Some(Counterexample {
        property: "serial outcome".into(),
        summary: None,
        headline: "What the threads saw and left behind is possible in no serial order of alice and bob.".into(),
        serially: Vec::new(),
        anomaly: Some("lost update".into()),
        schedule: "alice bob alice bob alice bob bob".into(),
        trace,
        explanation: vec![
            "bob's read of account 1 (line 6) missed alice's update (line 8), and bob's update overwrote it.".into(),
        ],
        graph: None,
        confirmation: None,
        not_needed: NotNeeded::default(),
        fixes: Vec::new(),
        replay: "isolde replay bank.sql 'alice bob alice bob alice bob bob'".into(),
    });
    report
}

fn check(actual: String, expected: Expect) {
    expected.assert_eq(&actual);
}

#[test]
fn one_column_per_thread() {
    check(
        lost_update().to_text(Style::plain(100)),
        expect![[r#"
        violated  bank.sql: serial outcome (lost update)
          What the threads saw and left behind is possible in no serial order of alice and bob.

          #  line  alice                                       │ bob
          ─────────────────────────────────────────────────────┼────────────────────────────────────────────
          1     6  SELECT balance INTO bal FROM account WHERE  │
                     id = acc                                  │
                   → balance 100                               │
          2     6                                              │ SELECT balance INTO bal FROM account WHERE
                                                               │   id = acc
                                                               │ → balance 100
          3     8  UPDATE account SET balance = bal - amount   │
                     WHERE id = acc                            │
                   → UPDATE 1                                  │
                   ~ account 1: balance 100 → 40               │
          4     8                                              │ UPDATE account SET balance = bal - amount
                                                               │   WHERE id = acc
                                                               │ … waits for alice
          5        (commits)                                   │
          6     8                                              │ (goes on)
                                                               │ → UPDATE 1
                                                               │ ~ account 1: balance 100 → 40
          7                                                    │ (commits)

          account at the end
            id  balance
            1   40

        why
          bob's read of account 1 (line 6) missed alice's update (line 8), and bob's update overwrote it.

        searched  stateful: 1,234 states, 2,345 steps, 3 end states, at most 8 steps deep; stopped at the
                  first violation

        replay  isolde replay bank.sql 'alice bob alice bob alice bob bob'
    "#]],
    );
}

#[test]
fn a_narrow_page_gets_a_list() {
    check(
        lost_update().to_text(Style::plain(60)),
        expect![[r#"
        violated  bank.sql: serial outcome (lost update)
          What the threads saw and left behind is possible in no
          serial order of alice and bob.

          1     6  alice  SELECT balance INTO bal FROM account WHERE
                            id = acc
                          → balance 100
          2     6  bob    SELECT balance INTO bal FROM account WHERE
                            id = acc
                          → balance 100
          3     8  alice  UPDATE account SET balance = bal - amount
                            WHERE id = acc
                          → UPDATE 1
                          ~ account 1: balance 100 → 40
          4     8  bob    UPDATE account SET balance = bal - amount
                            WHERE id = acc
                          … waits for alice
          5        alice  (commits)
          6     8  bob    (goes on)
                          → UPDATE 1
                          ~ account 1: balance 100 → 40
          7        bob    (commits)

          account at the end
            id  balance
            1   40

        why
          bob's read of account 1 (line 6) missed alice's update
          (line 8), and bob's update overwrote it.

        searched  stateful: 1,234 states, 2,345 steps, 3 end states,
                  at most 8 steps deep; stopped at the first
                  violation

        replay  isolde replay bank.sql 'alice bob alice bob alice bob bob'
    "#]],
    );
}

#[test]
fn colours_do_not_move_columns() {
    let colored = lost_update().to_text(Style::colored(100));
    let mut plain = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    assert_ne!(colored, plain);
    assert_eq!(plain, lost_update().to_text(Style::plain(100)));
}

#[test]
fn no_line_is_wider_than_the_page_and_none_ends_in_a_space() {
    for page in 60..140 {
        let text = lost_update().to_text(Style::plain(page));
        for line in text.lines().filter(|l| !l.starts_with("replay")) {
            assert!(wrap::width(line) <= page, "{page}: {line}");
            assert_eq!(line.trim_end(), line);
        }
    }
}

#[test]
fn inconclusive_names_the_limit() {
    let stats = Stats { search: "stateful".into(), states: 10, transitions: 20, depth: 5, ..Stats::default() };
    let verdict = Verdict::Inconclusive("stopped at 10 states (--states-max)".into());
    let mut report = Report::new("isolde explore bank.sql", "bank.sql", verdict, stats);
    report.warnings.push("9 threads are too many for the serial oracle (at most 7)".into());
    report.properties.push(PropertyResult { name: "deadlock".into(), by: None, status: PropertyStatus::Undecided });
    report.properties.push(PropertyResult { name: "serial outcome".into(), by: None, status: PropertyStatus::Skipped });
    check(
        report.to_text(Style::plain(80)),
        expect![[r#"
        inconclusive  bank.sql: stopped at 10 states (--states-max)

        not checked  serial outcome

        undecided  deadlock

        searched  stateful: 10 states, 20 steps, 0 end states, at most 5 steps deep; not
                  all of them

        warning  9 threads are too many for the serial oracle (at most 7)
    "#]],
    );
}

#[test]
fn json_is_versioned_and_reads_back() {
    let report = lost_update();
    assert_eq!(Report::from_json(&report.to_json()).as_ref(), Ok(&report));
    let json = report.to_json();
    let head: Vec<&str> = json.lines().take(14).collect();
    check(
        head.join("\n") + "\n",
        expect![[r#"
        {
          "format": 1,
          "tool": {
            "name": "isolde",
            "version": "0.1.0"
          },
          "command": "isolde explore bank.sql",
          "file": "bank.sql",
          "verdict": "violated",
          "properties": [
            {
              "name": "uncaught error",
              "status": "undecided"
            },
    "#]],
    );
    let other = report.to_json().replace("\"format\": 1", "\"format\": 9");
    check(
        Report::from_json(&other).map(|_| ()).unwrap_err(),
        expect!["format 9 is not known to this version, which reads format 1"],
    );
}

#[test]
fn exit_codes() {
    let all = [Verdict::Holds, Verdict::Violated, Verdict::Inconclusive("x".into())];
    assert_eq!(all.map(|v| v.exit_code()), [0, 1, 3]);
}
