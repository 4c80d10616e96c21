//! Time that may pass: every search agrees about it, and a serial run is never a violation, however slow its threads
//! are.
//!
//! Some hundred programs by default; `CLOCK_PROGRAMS=n` for more, `SEED=n` for a single one.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use isolde_explore::{Limits, Matching, Reduction, Search, Strategy, System, Visit, on_leaf};
use isolde_report::{Report, StepKind, Verdict};
use isolde_scenario::dependence::Dependence;
use isolde_scenario::file::{self, FileOptions, SearchKind};
use isolde_scenario::{Choice, Options, Restore, Scenario, ScenarioSystem, check, describe_end, replay_schedule};

fn scenario(text: &str) -> Scenario {
    Scenario::parse("t.sql", text, &mut file::no_includes).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn explored(text: &str, settings: FileOptions) -> Report {
    let options = Options { settings, ..Options::default() };
    check(&scenario(text), &options, &mut |_| ControlFlow::Continue(()))
}

/// `violated: sold_once`, or another verdict.
fn said(text: &str) -> String {
    let report = explored(text, FileOptions::default());
    match report.counterexample {
        Some(found) => format!("{}: {}", report.verdict.word(), found.property),
        None => report.verdict.word().into(),
    }
}

const LEASE: &str = "CREATE TABLE lease (id int PRIMARY KEY, taken int, until timestamptz);
INSERT INTO lease VALUES (1, 0, now());
--@ clock 0s 10m
--@ thread a
UPDATE lease SET taken = taken + 1, until = now() + interval '10 minutes' WHERE id = 1 AND until <= now();
--@ thread b
UPDATE lease SET taken = taken + 1, until = now() + interval '10 minutes' WHERE id = 1 AND until <= now();
";

/// Without a clock the lease is taken once; ten minutes later it is free again.
#[test]
fn what_expires_does_so_only_where_time_passes() {
    let taken_twice = format!("{LEASE}--@ final taken_once\nSELECT taken = 1 FROM lease;\n");
    assert_eq!(said(&taken_twice), "violated: final taken_once");
    assert_eq!(said(&taken_twice.replace("--@ clock 0s 10m\n", "")), "holds");
    assert_eq!(said(&taken_twice.replace("--@ clock 0s 10m\n", "--@ clock 9m\n")), "holds");
    assert_eq!(said(LEASE), "holds");
}

/// `now()` is when the transaction began, also if time passes between BEGIN and the first statement.
#[test]
fn a_transaction_keeps_the_time_at_which_it_began() {
    let text = "CREATE TABLE t (began timestamptz, sent timestamptz, read timestamptz);
--@ clock 0s 1m
--@ thread a
BEGIN;
INSERT INTO t VALUES (now(), statement_timestamp(), clock_timestamp());
COMMIT;
--@ final in_order
SELECT began <= sent AND sent <= read FROM t;
--@ final never_apart
SELECT began = sent FROM t;
";
    let report = explored(text, FileOptions::default());
    let found = report.counterexample.unwrap();
    assert_eq!((found.property.as_str(), found.schedule.as_str()), ("final never_apart", "a clock a a"));
    let clock = found.trace.steps.iter().find(|step| step.kind == StepKind::Clock).unwrap();
    assert_eq!((found.trace.threads[clock.thread].as_str(), clock.statement.as_str()), ("clock", "1 minute passes"));
}

/// Two correct transactions that overlap while time passes, and write down when they ran: nothing is wrong with that.
#[test]
fn slow_threads_are_no_violation() {
    let text = "CREATE TABLE log (who text, at timestamptz, done timestamptz);
--@ clock 0s 1m 2m
--@ thread a
BEGIN; INSERT INTO log VALUES ('a', clock_timestamp(), NULL);
UPDATE log SET done = clock_timestamp() WHERE who = 'a'; COMMIT;
--@ thread b
BEGIN; INSERT INTO log VALUES ('b', clock_timestamp(), NULL);
UPDATE log SET done = clock_timestamp() WHERE who = 'b'; COMMIT;
";
    assert_eq!(said(text), "holds");
    // Nor one that waits for the other, and writes down the later time.
    let waits = "CREATE TABLE t (id int PRIMARY KEY, n int, at timestamptz); INSERT INTO t VALUES (1, 0, now());
--@ clock 0s 1m
--@ thread a
BEGIN; UPDATE t SET n = n + 1 WHERE id = 1; COMMIT;
--@ thread b
UPDATE t SET n = n + 1, at = clock_timestamp() WHERE id = 1;
";
    assert_eq!(said(waits), "holds");
}

/// A check that was passed in time and a write that comes too late, with another thread in between.
#[test]
fn a_stale_check_is_not_serial() {
    let text = "CREATE TABLE seat (id int PRIMARY KEY, holder text, until timestamptz); CREATE TABLE sale (who text);
INSERT INTO seat VALUES (7, 'a', now() + interval '10 minutes');
CREATE PROCEDURE buy(me text) LANGUAGE plpgsql AS $$ BEGIN
  IF EXISTS (SELECT FROM seat WHERE holder = me AND until > now()) THEN INSERT INTO sale VALUES (me); END IF; END $$;
--@ clock 0s 10m
--@ thread a autocommit
CALL buy('a');
--@ thread b autocommit
UPDATE seat SET holder = 'b', until = now() + interval '10 minutes'
WHERE until <= now() AND NOT EXISTS (SELECT FROM sale);
CALL buy('b');
";
    assert_eq!(said(text), "violated: serial outcome");
}

/// A thread that waits for another one, and does not end alone, cannot be judged: that is no violation.
#[test]
fn who_polls_for_ever_alone_is_not_judged() {
    let text = "CREATE TABLE t (done boolean, at timestamptz); INSERT INTO t VALUES (false, now());
CREATE PROCEDURE poll() LANGUAGE plpgsql AS $$ BEGIN
  WHILE NOT EXISTS (SELECT FROM t WHERE done AND at <= now()) LOOP NULL; END LOOP; END $$;
--@ clock 0s 1m
--@ thread a autocommit
CALL poll();
--@ thread b
UPDATE t SET done = true;
";
    let report = explored(text, FileOptions { states_max: Some(5000), ..FileOptions::default() });
    assert!(report.counterexample.is_none(), "{report:?}");
}

/// An invariant that reads the time is asked again when it passes.
#[test]
fn invariants_see_time_pass() {
    let text = "CREATE TABLE t (until timestamptz); INSERT INTO t VALUES (now() + interval '1 minute');
--@ clock 0s 1m
--@ thread a
SELECT 1 FROM t;
--@ invariant fresh
SELECT until > now() FROM t;
";
    let report = explored(text, FileOptions::default());
    let found = report.counterexample.unwrap();
    assert_eq!(
        (found.headline.as_str(), found.schedule.as_str()),
        ("fresh is false because time has passed.", "clock")
    );
}

/// A thread that reads no time is not multiplied by the marks.
#[test]
fn who_reads_no_time_commutes_with_the_clock() {
    let text = |clock: &str| {
        format!(
            "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0), (2, 0);\n{clock}
--@ thread a\nUPDATE t SET n = n + 1 WHERE id = 1;\nUPDATE t SET n = n + 1 WHERE id = 2;
--@ thread b\nUPDATE t SET n = n + 1 WHERE id = 1;\n"
        )
    };
    let ends = |clock: &str| explored(&text(clock), FileOptions::default()).stats.ends;
    assert_eq!(ends("--@ clock 0s 1m 2m 3m"), ends(""));
}

/// Rows that set-up dates make nobody read the time; a default does.
#[test]
fn what_set_up_defines_counts_and_not_what_it_inserts() {
    let text = |column: &str, values: &str| {
        format!(
            "CREATE TABLE t (id int PRIMARY KEY, at timestamptz{column});\nINSERT INTO t VALUES (1, {values});
--@ clock 0s 1m\n--@ thread a\nINSERT INTO t VALUES (2);\n--@ thread b\nUPDATE t SET id = 3 WHERE id = 1;
--@ invariant dated\nSELECT count(*) > 0 FROM t;\n"
        )
    };
    let ends = |text: &str| explored(text, FileOptions::default()).stats.ends;
    let (dated, defaulted) = (text("", "now()"), text(" DEFAULT now()", "NULL"));
    assert_eq!(ends(&dated), ends(&dated.replace("--@ clock 0s 1m\n", "")));
    assert!(ends(&defaulted) > ends(&dated));
    // A view that reads the time does so in an invariant, too.
    let view = dated.replace(
        "--@ clock",
        "CREATE VIEW fresh AS SELECT 1 AS n FROM t WHERE at > now() - interval '30s';\n--@ clock",
    );
    assert_eq!(said(&view), "holds");
    assert_eq!(said(&view.replace("count(*) > 0 FROM t", "count(*) > 0 FROM fresh")), "violated: invariant dated");
}

/// A small deterministic source of choices.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

const STATEMENTS: &[&str] = &[
    "UPDATE t SET at = now() WHERE id = 1;",
    "UPDATE t SET n = n + 1 WHERE at <= now();",
    "UPDATE t SET n = n + 10 WHERE id = 2 AND at < clock_timestamp();",
    "SELECT count(*) FROM t WHERE at > now() - interval '5 minutes';",
    "UPDATE t SET n = n * 2 WHERE id = 2;",
    "INSERT INTO log SELECT n, statement_timestamp() FROM t WHERE id = 1;",
    "SELECT now();",
    "CALL stamp();",
];

/// A program of two or three threads. Every third thread reads no time.
fn program(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1);
    let mut text = String::from(
        "CREATE TABLE t (id int PRIMARY KEY, n int, at timestamptz); CREATE TABLE log (n int, at timestamptz);
INSERT INTO t VALUES (1, 1, '2025-01-01 00:00Z'), (2, 2, '2025-01-01 00:05Z');
CREATE PROCEDURE stamp() LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET n = n + 1 WHERE id = 1;
UPDATE t SET at = clock_timestamp() WHERE id = 2; END $$;\n",
    );
    // What set-up defines may be read by every thread, so some programs do without the procedure.
    let plain = dice.below(2) == 0;
    if plain {
        text = text.split("CREATE PROCEDURE").next().unwrap().to_string();
    }
    let statements = if plain { &STATEMENTS[..STATEMENTS.len() - 1] } else { STATEMENTS };
    text += dice.of(&["--@ clock 0s 5m\n", "--@ clock 10m\n", "--@ clock 0s 5m 10m\n"]);
    for thread in 0..2 + usize::from(dice.below(4) == 0) {
        let level = dice.of(&["", "", " isolation repeatable read", " isolation serializable"]);
        let retry = dice.of(&["", " retry 1"]);
        text += &format!("--@ thread t{thread}{level}{retry}\n");
        let block = dice.below(2) == 0;
        text += if block { "BEGIN;\n" } else { "" };
        for _ in 0..1 + dice.below(2) {
            text += &format!("{}\n", dice.of(statements));
        }
        text += if block { "COMMIT;\n" } else { "" };
    }
    text
}

fn seeds(default: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("CLOCK_PROGRAMS").unwrap_or(default),
    }
}

/// The ends that a search comes to; `None` if there are too many runs.
fn ends(system: &ScenarioSystem<'_>, strategy: Strategy, matching: Matching) -> Option<BTreeSet<String>> {
    let mut ends = BTreeSet::new();
    let mut look = on_leaf(|at: &Visit<'_, ScenarioSystem<'_>>| {
        ends.insert(describe_end(at.system, at.state));
        ControlFlow::Continue(())
    });
    let limits = Limits { states_max: Some(4000), ..Limits::default() };
    let summary = Search { strategy, matching, limits, ..Search::default() }.run(system, &mut look);
    drop(look);
    summary.is_complete().then_some(ends)
}

#[test]
fn all_searches_come_to_the_same_ends() {
    let mut compared = 0;
    for seed in seeds(150) {
        let text = program(seed);
        let scenario = scenario(&text);
        let everything = ScenarioSystem::new(&scenario, &FileOptions::default());
        let Some(expected) = ends(&everything, Strategy::Depth, Matching::Digest) else { continue };
        compared += 1;
        for dependence in [Dependence::Database, Dependence::Cell] {
            let system = ScenarioSystem { dependence, ..everything };
            for (name, strategy, matching) in [
                ("optimal", Strategy::Dpor(Reduction::Optimal), Matching::Off),
                ("source", Strategy::Dpor(Reduction::Source), Matching::Off),
                ("stateful", Strategy::Reduced, Matching::Digest),
            ] {
                if let Some(found) = ends(&system, strategy, matching) {
                    assert_eq!(found, expected, "SEED={seed} {name} {}\n{text}", dependence.name());
                }
            }
        }
    }
    assert!(compared > 0);
}

#[test]
fn all_searches_and_ways_back_give_the_same_verdict() {
    for seed in seeds(40) {
        let text = program(seed);
        let verdict = |settings: FileOptions| {
            let settings = FileOptions { states_max: Some(4000), ..settings };
            match explored(&text, settings).verdict {
                Verdict::Inconclusive(_) => None,
                verdict => Some(verdict),
            }
        };
        let expected = verdict(FileOptions::default());
        let others = [
            FileOptions { search: Some(SearchKind::Stateful), ..FileOptions::default() },
            FileOptions { search: Some(SearchKind::Stateless), ..FileOptions::default() },
            FileOptions {
                search: Some(SearchKind::Stateful),
                restore: Some(Restore::Rollback),
                ..FileOptions::default()
            },
            FileOptions {
                search: Some(SearchKind::Stateful),
                restore: Some(Restore::Replay),
                ..FileOptions::default()
            },
        ];
        for settings in others {
            let name = format!("{:?} {:?}", settings.search, settings.restore);
            if let (Some(expected), Some(found)) = (&expected, verdict(settings)) {
                assert_eq!(*expected, found, "SEED={seed} {name}\n{text}");
            }
        }
    }
}

/// Threads one after another, time passing anywhere: also inside of a thread, which may be slow.
#[test]
fn a_serial_run_is_never_a_violation() {
    for seed in seeds(150) {
        let text = program(seed);
        let scenario = scenario(&text);
        let system = ScenarioSystem::new(&scenario, &FileOptions::default());
        let mut dice = Dice(seed + 77);
        for _ in 0..4 {
            let threads = scenario.threads().len();
            let mut order: Vec<usize> = (0..threads).collect();
            (1..threads).rev().for_each(|last| order.swap(last, dice.below(last + 1)));
            let (mut state, mut schedule) = (system.initial(), Vec::new());
            loop {
                let mut enabled = Vec::new();
                system.enabled(&state, &mut enabled);
                let next = order.iter().map(|&thread| Choice::Step(thread)).find(|choice| enabled.contains(choice));
                let pass = enabled.iter().copied().find(|choice| matches!(choice, Choice::Pass(_)));
                let Some(choice) = pass.filter(|_| dice.below(3) == 0).or(next).or(pass) else { break };
                system.execute(&mut state, &choice);
                schedule.push(system.name(&choice));
            }
            let schedule = schedule.join(" ");
            let report = replay_schedule(&scenario, &schedule, &Options::default()).unwrap();
            assert!(report.counterexample.is_none(), "SEED={seed} '{schedule}'\n{text}\n{report:?}");
        }
    }
}
