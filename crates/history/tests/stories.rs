//! One story for each anomaly: what was observed, and how it is explained.
//!
//! A story is text: a line for each operation in the order of the trace (`unit.transaction VERB line`; `none` behind it
//! says that it found nothing), then a line for each conflict (`rw 0 2 table [row] columns`, numbering the operations
//! from 0; `?` after the kind marks one through a condition). `aborted 2` says that transaction 2 was rolled back,
//! `snapshot 2` that it reads from one snapshot, `kept table [row] column` that no update of a column is lost.

#![allow(clippy::unwrap_used)]

use expect_test::{Expect, expect};
use isolde_history::{ANOMALIES, Change, Conflict, ConflictKind, History, Item, Op, OpId, OpKind, explain};

fn history(story: &str) -> History {
    let mut history = History::default();
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[0].split_once('.') {
            Some((unit, transaction)) => op(&mut history, unit, transaction.parse().unwrap(), &words[1..]),
            None if words[0] == "aborted" => {
                history.aborted.insert(words[1].parse().unwrap());
            }
            None if words[0] == "snapshot" => {
                history.snapshots.insert(words[1].parse().unwrap());
            }
            None if words[0] == "kept" => {
                let column = words[words.len() - 1].to_string();
                history.kept.insert((words[1].to_string(), id_of(line), column));
            }
            None => conflict(&mut history, line, &words),
        }
    }
    history
}

/// A number for the row in brackets.
fn id_of(line: &str) -> u64 {
    let row = line.split_once('[').unwrap().1.split_once(']').unwrap().0;
    row.bytes().fold(0, |id, byte| id * 31 % 1_000_003 + u64::from(byte))
}

fn op(history: &mut History, unit: &str, transaction: usize, words: &[&str]) {
    let verb = words[0];
    let known = history.units.iter().position(|known| known.name == unit).map(isolde_history::UnitId);
    let unit = known.unwrap_or_else(|| history.unit(unit));
    let kind = match verb {
        "SELECT" => OpKind::Select,
        "INSERT" => OpKind::Insert,
        "UPDATE" => OpKind::Update,
        "DELETE" => OpKind::Delete,
        "COMMIT" => OpKind::Commit,
        _ => OpKind::Other,
    };
    let (step, line) = (history.ops.len(), words.get(1).and_then(|line| line.parse().ok()));
    let found_none = words.last() == Some(&"none");
    let statement = format!("{verb} something that takes quite a few words\n  to spell out in full");
    history.op(Op { unit, transaction, step, through: step, kind, statement, file: None, line, found_none });
}

fn conflict(history: &mut History, line: &str, words: &[&str]) {
    let kind = match words[0].trim_end_matches('?') {
        "ww" => ConflictKind::WriteWrite,
        "wr" => ConflictKind::WriteRead,
        "rw" => ConflictKind::ReadWrite,
        other => panic!("{other} is no kind of conflict"),
    };
    let (row, columns) = line.split_once('[').unwrap().1.split_once(']').unwrap();
    let item = Item {
        table: words[3].to_string(),
        id: id_of(line),
        row: row.to_string(),
        columns: columns.split_whitespace().map(str::to_string).collect(),
    };
    let (from, to) = (OpId(words[1].parse().unwrap()), OpId(words[2].parse().unwrap()));
    let writer = if kind == ConflictKind::WriteRead { from } else { to };
    let change = match history.ops.get(writer.0).map_or(OpKind::Other, |op| op.kind) {
        OpKind::Insert => Change::Added,
        OpKind::Delete => Change::Removed,
        _ => Change::Changed,
    };
    let key = kind == ConflictKind::WriteRead && history.ops.get(to.0).is_some_and(|op| op.kind == OpKind::Insert);
    let predicate = words[0].ends_with('?');
    history.conflicts.push(Conflict { from, to, kind, item, predicate, change, key, direct: true });
}

fn check(name: &str, story: &str, expect: Expect) {
    let explanation = explain(&history(story)).unwrap();
    assert!(ANOMALIES.iter().any(|anomaly| anomaly.name == name), "{name} is not in the list");
    assert_eq!(explanation.anomaly.name, name);
    assert_eq!(explanation.to_string(), explanation.sentences.join(" "));
    expect.assert_eq(&explanation.sentences.join("\n"));
}

#[test]
fn dirty_write() {
    check(
        "dirty write",
        "alice.1 UPDATE 3
         bob.2 UPDATE 7
         bob.2 UPDATE 8
         bob.2 COMMIT 9
         alice.1 UPDATE 4
         alice.1 COMMIT 5
         ww 0 1 car [id = 1] buyer
         ww 2 4 invoice [id = 1] buyer",
        expect![[r#"
            bob's UPDATE (line 7) overwrote alice's UPDATE of buyer of car id = 1 (line 3), so alice must come before bob.
            But alice's UPDATE (line 4) overwrote bob's UPDATE of buyer of invoice id = 1 (line 8), so bob must come before alice.
            No serial order of alice and bob explains this run: a dirty write."#]],
    );
}

#[test]
fn mixed_writes() {
    check(
        "mixed writes",
        "alice.1 UPDATE 3
         bob.2 UPDATE 7
         bob.3 DELETE 8
         alice.4 UPDATE 4
         ww 0 1 car [id = 1] buyer
         ww 2 3 invoice [id = 1]",
        expect![[r#"
            bob's UPDATE (line 7) overwrote alice's UPDATE of buyer of car id = 1 (line 3), so alice must come before bob.
            But alice's UPDATE (line 4) overwrote bob's DELETE of invoice id = 1 (line 8), so bob must come before alice.
            No serial order of alice and bob explains this run: mixed writes."#]],
    );
}

#[test]
fn dirty_read() {
    check(
        "dirty read",
        "alice.1 UPDATE 3
         bob.2 SELECT 7
         bob.2 UPDATE 8
         alice.1 UPDATE 4
         alice.1 COMMIT 5
         bob.2 COMMIT 9
         wr 0 1 account [id = 1] balance
         ww 2 3 account [id = 2] balance",
        expect![[r#"
            bob read balance of account id = 1 (line 7) as alice's UPDATE (line 3) had left it, so alice must come before bob.
            But alice's UPDATE (line 4) overwrote bob's UPDATE of balance of account id = 2 (line 8), so bob must come before alice.
            No serial order of alice and bob explains this run: a dirty read."#]],
    );
}

#[test]
fn aborted_read() {
    check(
        "aborted read",
        "alice.1 UPDATE 3
         bob.2 SELECT 7
         alice.1 ROLLBACK 4
         bob.2 INSERT 8
         bob.2 COMMIT 9
         aborted 1
         wr 0 1 account [id = 1] balance
         ww 0 3 audit [id = 2]",
        expect![[r#"
            bob read balance of account id = 1 (line 7) as alice's UPDATE (line 3) had left it.
            That was rolled back, so bob has seen what never was: an aborted read."#]],
    );
}

#[test]
fn intermediate_read() {
    check(
        "intermediate read",
        "alice.1 UPDATE 3
         bob.2 SELECT 7
         bob.2 INSERT 8
         alice.3 UPDATE 4
         wr 0 1 account [id = 1] balance
         rw 1 3 account [id = 1] balance",
        expect![[r#"
            bob read balance of account id = 1 (line 7) and did not see alice's UPDATE of it (line 4), so bob must come before alice.
            But the same SELECT did see alice's UPDATE of it (line 3), so alice must come before bob.
            No serial order of bob and alice explains this run: an intermediate read."#]],
    );
}

#[test]
fn circular_information_flow() {
    check(
        "circular information flow",
        "alice.1 UPDATE 3
         bob.2 SELECT 7
         bob.3 INSERT 8
         alice.4 SELECT 4
         wr 0 1 account [id = 1] balance
         wr 2 3 audit [id = 2]",
        expect![[r#"
            bob read balance of account id = 1 (line 7) as alice's UPDATE (line 3) had left it, so alice must come before bob.
            But alice read audit id = 2 (line 4) as bob's INSERT (line 8) had added it, so bob must come before alice.
            No serial order of alice and bob explains this run: circular information flow."#]],
    );
}

#[test]
fn lost_update() {
    check(
        "lost update",
        "alice.1 SELECT 6
         bob.2 SELECT 6
         bob.2 UPDATE 8
         bob.2 COMMIT
         alice.1 UPDATE 8
         alice.1 COMMIT
         rw 0 2 account [id = 1] balance
         rw 1 4 account [id = 1] balance
         ww 2 4 account [id = 1] balance",
        expect![[r#"
            alice read balance of account id = 1 (line 6) and did not see bob's UPDATE of it (line 8), so alice must come before bob.
            But alice's UPDATE (line 8) then overwrote bob's (line 8), so bob must come before alice.
            No serial order of alice and bob explains this run: a lost update."#]],
    );
}

#[test]
fn non_repeatable_read() {
    check(
        "non-repeatable read",
        "alice.1 SELECT 6
         bob.2 UPDATE 9
         bob.2 COMMIT
         alice.1 SELECT 7
         rw 0 1 account [id = 1] balance
         wr 1 3 account [id = 1] balance",
        expect![[r#"
            alice read balance of account id = 1 (line 6) and did not see bob's UPDATE of it (line 9), so alice must come before bob.
            But alice then read balance of account id = 1 (line 7) as bob's UPDATE (line 9) had left it, so bob must come before alice.
            No serial order of alice and bob explains this run: a non-repeatable read."#]],
    );
}

#[test]
fn read_skew() {
    check(
        "read skew",
        "alice.1 SELECT 6
         bob.2 UPDATE 9
         bob.2 UPDATE 10
         bob.2 COMMIT
         alice.1 SELECT 7
         rw 0 1 account [id = 1] balance
         wr 2 4 account [id = 2] balance",
        expect![[r#"
            alice read balance of account id = 1 (line 6) and did not see bob's UPDATE of it (line 9), so alice must come before bob.
            But alice read balance of account id = 2 (line 7) as bob's UPDATE (line 10) had left it, so bob must come before alice.
            No serial order of alice and bob explains this run: read skew."#]],
    );
}

#[test]
fn write_skew() {
    check(
        "write skew",
        "alice.1 SELECT 6
         bob.2 SELECT 6
         alice.1 UPDATE
         bob.2 UPDATE
         rw 0 3 doctor [name = 'bob'] on_call since
         rw 1 2 doctor [name = 'alice'] on_call since",
        expect![[r#"
            alice read on_call and since of doctor name = 'bob' (line 6) and did not see bob's UPDATE of it (`UPDATE something that takes quite a few words to s...`), so alice must come before bob.
            But bob read on_call and since of doctor name = 'alice' (line 6) and did not see alice's UPDATE of it (`UPDATE something that takes quite a few words to s...`), so bob must come before alice.
            No serial order of alice and bob explains this run: write skew."#]],
    );
}

#[test]
fn phantom() {
    check(
        "phantom",
        "alice.1 SELECT 6
         bob.2 SELECT 6
         alice.1 INSERT 7
         bob.2 INSERT 7
         rw? 0 3 booking [id = 2]
         rw? 1 2 booking [id = 1]",
        expect![[r#"
            alice's SELECT (line 6) did not find booking id = 2, which bob's INSERT (line 7) added, so alice must come before bob.
            But bob's SELECT (line 6) did not find booking id = 1, which alice's INSERT (line 7) added, so bob must come before alice.
            No serial order of alice and bob explains this run: a phantom."#]],
    );
}

#[test]
fn check_then_insert() {
    check(
        "check-then-insert",
        "first.1 SELECT 6 none
         second.2 SELECT 6 none
         first.1 INSERT 7
         second.2 INSERT 7
         rw? 0 3 person [id = 2]
         rw? 1 2 person [id = 1]",
        expect![[r#"
            first's SELECT (line 6) did not find person id = 2, which second's INSERT (line 7) added, so first must come before second.
            But second's SELECT (line 6) did not find person id = 1, which first's INSERT (line 7) added, so second must come before first.
            No serial order of first and second explains this run: check-then-insert."#]],
    );
    // With a unique key, the second one runs into the row that it did not find.
    check(
        "check-then-insert",
        "first.1 SELECT 6 none
         second.2 SELECT 6 none
         second.2 INSERT 7
         second.2 COMMIT
         first.1 INSERT 7
         rw? 0 2 person [email = 'eve']
         wr 2 4 person [email = 'eve']",
        expect![[r#"
            first's SELECT (line 6) did not find person email = 'eve', which second's INSERT (line 7) added, so first must come before second.
            But first's INSERT (line 7) then met person email = 'eve', which second's INSERT (line 7) had added, so second must come before first.
            No serial order of first and second explains this run: check-then-insert."#]],
    );
}

#[test]
fn phantoms_by_other_changes() {
    check(
        "phantom",
        "alice.1 SELECT 6
         bob.2 DELETE 7
         bob.2 UPDATE 8
         alice.1 SELECT 9
         rw? 0 1 booking [id = 2]
         wr? 2 3 booking [id = 1]",
        expect![[r#"
            alice's SELECT (line 6) ran before bob's DELETE (line 7) removed booking id = 2, so alice must come before bob.
            But alice's SELECT (line 9) evaluated its condition on the version of booking id = 1 that bob's UPDATE (line 8) wrote, so bob must come before alice.
            No serial order of alice and bob explains this run: a phantom."#]],
    );
    check(
        "phantom",
        "alice.1 UPDATE 6
         bob.2 UPDATE 7
         bob.2 DELETE 8
         alice.1 SELECT 9
         rw? 0 1 booking [id = 2]
         wr? 2 3 booking [id = 1]",
        expect![[r#"
            alice's UPDATE (line 6) evaluated its condition on the version of booking id = 2 before bob's UPDATE (line 7), so alice must come before bob.
            But alice's SELECT (line 9) no longer found booking id = 1, which bob's DELETE (line 8) had removed, so bob must come before alice.
            No serial order of alice and bob explains this run: a phantom."#]],
    );
}

/// A report sees a deposit but not an earlier withdrawal: the read-only transaction anomaly of snapshot isolation
/// (Fekete, O'Neil and O'Neil, 2004).
#[test]
fn read_only_anomaly() {
    check(
        "read-only anomaly",
        "withdrawal.1 SELECT 3
         deposit.2 UPDATE 7
         deposit.2 COMMIT
         report.3 SELECT 11
         withdrawal.1 UPDATE 4
         withdrawal.1 COMMIT
         rw 0 1 savings [id = 1]
         wr 1 3 savings [id = 1]
         rw 3 4 checking [id = 1]",
        expect![[r#"
            withdrawal read savings id = 1 (line 3) and did not see deposit's UPDATE of it (line 7), so withdrawal must come before deposit.
            report then read savings id = 1 (line 11) as deposit's UPDATE (line 7) had left it, so deposit must come before report.
            But report read checking id = 1 (line 11) and did not see withdrawal's UPDATE of it (line 4), so report must come before withdrawal.
            No serial order of withdrawal, deposit and report explains this run: a read-only anomaly."#]],
    );
}

/// If the third one writes too, it has no name of its own.
#[test]
fn serialization_anomaly() {
    check(
        "serialization anomaly",
        "withdrawal.1 SELECT 3
         deposit.2 UPDATE 7
         deposit.2 COMMIT
         report.3 SELECT 11
         report.3 INSERT 12
         withdrawal.1 UPDATE 4
         withdrawal.1 COMMIT
         rw 0 1 savings [id = 1]
         wr 1 3 savings [id = 1]
         rw 3 5 checking [id = 1]",
        expect![[r#"
            withdrawal read savings id = 1 (line 3) and did not see deposit's UPDATE of it (line 7), so withdrawal must come before deposit.
            report then read savings id = 1 (line 11) as deposit's UPDATE (line 7) had left it, so deposit must come before report.
            But report read checking id = 1 (line 11) and did not see withdrawal's UPDATE of it (line 4), so report must come before withdrawal.
            No serial order of withdrawal, deposit and report explains this run: a serialization anomaly."#]],
    );
}

#[test]
fn a_shorter_cycle_is_told_first() {
    let story = "a.1 SELECT 1
                 b.2 SELECT 2
                 c.3 SELECT 3
                 a.1 UPDATE 4
                 b.2 UPDATE 5
                 c.3 UPDATE 6
                 ww 3 4 t [id = 1]
                 ww 4 5 t [id = 2]
                 ww 5 3 t [id = 3]
                 rw 1 5 t [id = 4]
                 rw 2 4 t [id = 5]";
    let explanation = explain(&history(story)).unwrap();
    assert_eq!((explanation.cycle.len(), explanation.anomaly.name), (2, "write skew"));
}

/// Of several ways to tell the same two-unit cycle, the one that has a name.
#[test]
fn a_cycle_is_told_by_the_rows_that_give_it_a_name() {
    let mut story = String::from("alice.1 SELECT 1\nbob.2 UPDATE 2\nbob.2 COMMIT 3\nalice.1 UPDATE 4\n");
    for id in 0..500 {
        story += &format!("rw 0 1 t [id = {id}] x\nww 1 3 t [id = {}] x\n", id + 499);
    }
    let explanation = explain(&history(&story)).unwrap();
    assert_eq!(explanation.anomaly.name, "lost update");
    assert_eq!(explanation.cycle[0].conflict.item.row, "id = 499");
}

#[test]
fn no_cycle_no_explanation() {
    assert_eq!(explain(&History::default()), None);
    let story = "alice.1 UPDATE 1
                 bob.2 UPDATE 2
                 alice.1 COMMIT 3
                 ww 0 1 t [id = 1]
                 wr 0 1 t [id = 1]
                 ww 0 2 t [id = 1]
                 ww 1 99 t [id = 1]";
    assert_eq!(explain(&history(story)), None);
}

#[test]
fn every_anomaly_is_described() {
    let mut names = Vec::new();
    for anomaly in ANOMALIES {
        assert!(anomaly.phrase.ends_with(anomaly.name), "{anomaly:?}");
        assert!(anomaly.definition.ends_with('.') && anomaly.definition.len() < 160, "{anomaly:?}");
        let code = anomaly.code.split(", ").all(|code| code.starts_with(['P', 'A', 'G']));
        assert!(code, "{anomaly:?}: {}", anomaly.code);
        assert!(!names.contains(&anomaly.name), "{anomaly:?} is listed twice");
        names.push(anomaly.name);
    }
}

/// The reference lists them as the code does.
#[test]
fn the_reference_has_the_list() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    let reference = std::fs::read_to_string(path).unwrap();
    let rows = ANOMALIES.iter().map(|a| format!("| {} | {} | {} |\n", a.name, a.code, a.definition));
    let list = rows.collect::<String>();
    assert!(reference.contains(&list), "docs/reference.md does not have this:\n{list}");
}

const BOTH_INCREMENT: &str = "alice.1 SELECT 6
         bob.2 UPDATE 8
         bob.2 COMMIT 9
         alice.1 UPDATE 7
         alice.1 COMMIT 10
         rw 0 1 account [id = 1] balance
         ww 1 3 account [id = 1] balance";

#[test]
fn an_update_that_is_in_the_final_value_is_not_lost() {
    check(
        "stale read",
        &format!("{BOTH_INCREMENT}\nkept account [id = 1] balance"),
        expect![[r#"
            alice read balance of account id = 1 (line 6) and did not see bob's UPDATE of it (line 8), so alice must come before bob.
            But alice's UPDATE (line 7) then overwrote bob's (line 8), so bob must come before alice.
            No serial order of alice and bob explains this run: a stale read."#]],
    );
}

#[test]
fn what_a_level_excludes_is_not_explained() {
    assert_eq!(explain(&history(BOTH_INCREMENT)).unwrap().anomaly.name, "lost update");
    // At REPEATABLE READ the second writer would have been refused: what was observed cannot be true.
    assert_eq!(explain(&history(&format!("{BOTH_INCREMENT}\nsnapshot 1\nsnapshot 2"))), None);
    // One transaction that reads from a snapshot is not enough to exclude it.
    assert!(explain(&history(&format!("{BOTH_INCREMENT}\nsnapshot 2"))).is_some());
}
