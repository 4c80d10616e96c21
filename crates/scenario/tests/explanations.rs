//! A checker of explanations: every sentence that is printed is true of the run that is printed beside it.
//!
//! It knows nothing of footprints, snapshots or conflicts. It reads the sentences as a user does, and looks up in the
//! trace what they say. That is possible because the generated programs write every value once: a value is the name of
//! a row version, and `v 3 → 17` says which version replaced which.
//!
//! A few hundred programs by default; `EXPLANATIONS=100000 cargo test -p isolde-scenario --test explanations` for more,
//! and `EXPLANATIONS_FROM=7` for those from seed 7 on.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use common::versions::{counters, program};
use isolde_explore::System;
use isolde_history::ANOMALIES;
use isolde_report::{ChangeKind, Counterexample, StepKind, StepResult, Style, TraceStep};
use isolde_scenario::file::{self, FileOptions, no_includes};
use isolde_scenario::spec::{self, Spec};
use isolde_scenario::{Choice, Options, Scenario, ScenarioSystem, State, check, replay_schedule};

fn counterexample(scenario: &Scenario) -> Option<Counterexample> {
    let settings = FileOptions { states_max: Some(3000), ..FileOptions::default() };
    check(scenario, &Options { settings, ..Options::default() }, &mut |_| ControlFlow::Continue(())).counterexample
}

#[test]
fn every_sentence_is_true_of_the_run() {
    let count: u64 = std::env::var("EXPLANATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let from: u64 = std::env::var("EXPLANATIONS_FROM").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut anomalies: BTreeMap<String, u64> = BTreeMap::new();
    for seed in from..from + count {
        let text = program(seed);
        let scenario = common::scenario(&text);
        let Some(shown) = counterexample(&scenario) else { continue };
        let told = shown.explanation.join("\n");
        if let Err(why) = check_explanation(&shown) {
            let report = check(&scenario, &Options::default(), &mut |_| ControlFlow::Continue(()));
            panic!("seed {seed}: {why}\n\n{told}\n\n{text}\n{}", report.to_text(Style::plain(120)));
        }
        *anomalies.entry(shown.anomaly.clone().unwrap_or_default()).or_default() += 1;
        let again = replay_schedule(&scenario, &shown.schedule, &Options::default()).unwrap();
        let again = again.counterexample.unwrap_or_else(|| panic!("seed {seed}: nothing goes wrong\n{text}"));
        assert_eq!((&again.property, &again.anomaly), (&shown.property, &shown.anomaly), "seed {seed}\n{text}");
    }
    assert!(anomalies.len() > 6, "few kinds of anomaly were met: {anomalies:?}");
}

#[test]
fn every_counterexample_is_written_as_a_spec() {
    let mut written = 0;
    for seed in 0..200 {
        let text = if seed % 2 == 0 { program(seed) } else { counters(seed) };
        let file = file::read("generated.sql", &text, &mut no_includes).unwrap();
        let Some(shown) = counterexample(&Scenario::new(file.clone()).unwrap()) else { continue };
        let emitted = spec::emit(&file, &shown.schedule).unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        let spec = Spec::parse("case.spec", &emitted).unwrap();
        let run = spec::run(&spec, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(run.gave_up, None, "seed {seed}\n{emitted}");
        for row in shown.trace.tables.iter().flat_map(|table| &table.rows) {
            let values: Vec<&str> = row.iter().map(|value| value.as_deref().unwrap_or("")).collect();
            let is_row = |line: &str| line.split('|').map(str::trim).eq(values.iter().map(|value| value.trim()));
            assert!(run.output.lines().any(is_row), "seed {seed}: no row {values:?} in\n{}", run.output);
        }
        written += 1;
    }
    assert!(written > 20, "only {written} counterexamples");
}

/// `t id = 1 ends with v = 7; one after another, t0 and t1 leave 5 or 6.`: the first is in the table, the others are
/// what all orders of the threads, run here one by one, come to.
#[test]
fn the_summary_compares_with_all_serial_orders() {
    let mut compared = 0;
    for seed in 0..150 {
        let text = counters(seed);
        let scenario = common::scenario(&text);
        let Some(shown) = counterexample(&scenario) else { continue };
        let Some(h) = shown.summary.as_ref().and_then(|s| holes("t id = {} ends with v = {}; {} leave {}.", s)) else {
            continue;
        };
        let system = common::system(&scenario);
        let present = (0..scenario.threads().len()).filter(|t| shown.trace.steps.iter().any(|s| s.thread == *t));
        let mut values = BTreeSet::new();
        serial_values(&system, &system.initial(), &present.collect::<Vec<_>>(), h[0], &mut values);
        let aborted = shown.trace.steps.iter().any(|step| matches!(&step.result, StepResult::Error { .. }));
        let rows = &shown.trace.tables.iter().find(|table| table.name == "t").unwrap().rows;
        assert!(rows.contains(&vec![Some(h[0].into()), Some(h[1].into())]), "seed {seed}: {:?}\n{text}", shown.summary);
        if !aborted {
            let said: BTreeSet<String> = h[3].split(" or ").map(String::from).collect();
            assert_eq!(said, values, "seed {seed}: {:?}\n{text}", shown.summary);
            assert!(!values.contains(h[1]), "seed {seed}: {:?}\n{text}", shown.summary);
            compared += 1;
        }
    }
    assert!(compared > 10, "only {compared} summaries");
}

fn serial_values(system: &ScenarioSystem<'_>, state: &State, left: &[usize], id: &str, values: &mut BTreeSet<String>) {
    if left.is_empty() {
        let catalog = state.database.catalog();
        let table = state.database.committed().table(catalog.table_by_name("t").unwrap().id);
        let row = table.iter().find(|(_, tuple)| tuple.values[0].to_string() == id);
        values.insert(row.map_or("no such row".into(), |(_, tuple)| tuple.values[1].to_string()));
    }
    for thread in left {
        let mut next = state.clone();
        let can_step = |state: &State| {
            let mut choices = Vec::new();
            system.enabled(state, &mut choices);
            choices.contains(&Choice::Step(*thread))
        };
        while can_step(&next) {
            system.execute(&mut next, &Choice::Step(*thread));
        }
        let rest: Vec<usize> = left.iter().copied().filter(|other| other != thread).collect();
        serial_values(system, &next, &rest, id, values);
    }
}

/// What goes wrong without an overlap is no matter of isolation.
#[test]
fn what_happens_serially_is_said_first_and_gets_no_isolation_fix() {
    let scenario = common::scenario(
        "CREATE TABLE users (id bigserial PRIMARY KEY, email text NOT NULL);
         --@ thread signup x2
         BEGIN;
         SELECT 1 AS one FROM users WHERE email = 'a@example.com' LIMIT 1;
         INSERT INTO users (email) VALUES ('a@example.com') RETURNING id;
         COMMIT;
         --@ final unique_email
         SELECT count(*) <= 1 FROM users WHERE email = 'a@example.com';",
    );
    let options = Options::default();
    let report = check(&scenario, &options, &mut |_| ControlFlow::Continue(()));
    let shown = report.counterexample.clone().unwrap();
    assert_eq!(shown.serially, ["signup1", "signup2"]);
    let said = report.to_text(Style::plain(120));
    assert!(said.lines().nth(1).unwrap().contains("No overlap is needed"), "{said}");
    let fixes = isolde_scenario::fix::try_fixes(&scenario, &report, &options, &mut |_| ControlFlow::Continue(()));
    let titles: Vec<&str> = fixes.iter().map(|tried| &*tried.fix.title).collect();
    assert!(!titles.is_empty() && titles.iter().all(|title| title.contains("UNIQUE")), "{titles:?}");
}

/// Runs that shortened, idled or failed in ways that a history must survive.
#[test]
fn unusual_runs_are_explained() {
    const ABORTED_WHILE_WAITING: &str = "CREATE TABLE t (id int PRIMARY KEY, v int);
        INSERT INTO t VALUES (1, 5), (2, 20), (3, 30);
        --@ option deadlock off
        --@ thread a isolation serializable
        BEGIN;
        DELETE FROM t WHERE v > 15;
        INSERT INTO t VALUES (1, 2) ON CONFLICT DO NOTHING;
        COMMIT;
        --@ thread b isolation serializable retry 1
        UPDATE t SET v = v + 4 WHERE id >= 1;
        --@ final f
        SELECT NOT (count(*) = 1 AND sum(v) = 5) FROM t;";
    const FOUR_IN_A_ROUTINE: &str = "CREATE TABLE pet(id int PRIMARY KEY, name text);
        INSERT INTO pet VALUES(7,''),(8,'');
        CREATE PROCEDURE delete_pet(given int) LANGUAGE plpgsql AS $$
        DECLARE pet_name text;
        BEGIN
          SELECT name INTO pet_name FROM pet WHERE id=given;
          IF NOT FOUND THEN RETURN; END IF;
          DELETE FROM pet WHERE id=given;
        END$$;
        --@ thread receptionist x3
        CALL delete_pet(7);
        --@ thread other
        CALL delete_pet(7);";
    const IDLE_THREAD: &str = "CREATE TABLE t(n int); INSERT INTO t VALUES (0);
        --@ thread a
        SELECT n AS x FROM t \\gset
        UPDATE t SET n = :x + 1;
        --@ thread b
        SELECT n AS x FROM t \\gset
        UPDATE t SET n = :x + 1;
        --@ thread c
        SELECT 1;";
    const DEFINITION_IN_AUTOCOMMIT: &str = "CREATE TABLE c(id int);
        CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM c; CREATE TABLE pet(id int); END $$;
        --@ thread x autocommit
        CALL p();";
    const TABLE_OF_AN_OPEN_TRANSACTION: &str = "CREATE TABLE person(id int PRIMARY KEY,email text);
        INSERT INTO person VALUES(1,'');
        --@ thread migration isolation serializable
        BEGIN;
        CREATE TABLE audit(person int REFERENCES person);
        INSERT INTO audit VALUES(1);
        COMMIT;
        --@ thread app isolation serializable
        INSERT INTO person VALUES(2,'bob@example.org');
        INSERT INTO person VALUES(3,'bob@example.org');";
    let all =
        [ABORTED_WHILE_WAITING, FOUR_IN_A_ROUTINE, IDLE_THREAD, DEFINITION_IN_AUTOCOMMIT, TABLE_OF_AN_OPEN_TRANSACTION];
    for text in all {
        let scenario = common::scenario(text);
        if let Some(shown) = counterexample(&scenario) {
            let again = replay_schedule(&scenario, &shown.schedule, &Options::default()).unwrap();
            assert_eq!(again.counterexample.map(|again| again.headline), Some(shown.headline), "{text}");
        }
    }
}

/// What an aborted attempt read is no read: only committed transactions, none of which is dirty, take part in the
/// cycle.
#[test]
fn an_aborted_attempt_has_read_nothing() {
    let scenario = common::scenario(
        "CREATE TABLE t (id int PRIMARY KEY, v int, w int);
         INSERT INTO t VALUES (1, 10, 2), (2, 20, 0);
         --@ thread a isolation repeatable read
         DELETE FROM t WHERE id = 2;
         SELECT v FROM t WHERE id = 3;
         --@ thread b isolation repeatable read
         INSERT INTO t VALUES (3, 9, 0);
         BEGIN;
         UPDATE t SET v = 30 WHERE id IN (1, 2);
         COMMIT;",
    );
    let schedules = ["a b b a", "b b a a", "b a b a", "b a a b"];
    for schedule in schedules {
        let Ok(report) = replay_schedule(&scenario, schedule, &Options::default()) else { continue };
        let Some(shown) = report.counterexample else { continue };
        let told = shown.explanation.join(" ");
        assert!(!told.contains("dirty") && !told.contains("UPDATE"), "{schedule}: {told}");
    }
}

/// What a thread did, as the trace shows it: the steps of attempts that were not aborted.
struct Told<'a> {
    steps: Vec<(usize, &'a TraceStep)>,
    threads: &'a [String],
    /// Of each version of a row, by key and value, the version that it replaced.
    replaced: BTreeMap<(String, String), Option<String>>,
}

impl<'a> Told<'a> {
    fn new(shown: &'a Counterexample) -> Told<'a> {
        let mut aborted = vec![false; shown.trace.steps.len()];
        for thread in 0..shown.trace.threads.len() {
            let own = shown.trace.steps.iter().enumerate().filter(|(_, step)| step.thread == thread);
            let mut attempt: Vec<usize> = Vec::new();
            for (at, step) in own {
                attempt.push(at);
                match &step.result {
                    StepResult::Error { code, .. } if code == "40001" || code == "40P01" => {
                        attempt.drain(..).for_each(|at| aborted[at] = true);
                    }
                    _ if ends_transaction(shown, thread, step) => attempt.clear(),
                    _ => {}
                }
            }
        }
        let steps = shown.trace.steps.iter().enumerate().filter(|(at, _)| !aborted[*at]).collect();
        let mut replaced = BTreeMap::new();
        for change in shown.trace.steps.iter().flat_map(|step| &step.changes) {
            let v = change.columns.iter().find(|column| column.column == "v");
            if let Some((v, after)) = v.and_then(|v| Some((v, v.after.clone()?))) {
                replaced.insert((change.key.clone(), after), v.before.clone());
            }
        }
        Told { steps, threads: &shown.trace.threads, replaced }
    }

    /// The steps of a thread at a line, with the given verb.
    fn at(&self, who: &str, verb: &str, line: &str) -> Result<Vec<(usize, &'a TraceStep)>, String> {
        let line: u32 = line.parse().map_err(|_| format!("{line} is no line"))?;
        let thread = self.threads.iter().position(|name| name == who).ok_or(format!("{who} is no thread"))?;
        let steps =
            self.steps.iter().copied().filter(|(_, step)| {
                step.thread == thread && step.place.as_ref().is_some_and(|place| place.line == line)
            });
        let steps: Vec<_> = steps.filter(|(_, step)| verb.is_empty() || verb_of(step) == verb).collect();
        if steps.is_empty() {
            return Err(format!("{who} has no {verb} at line {line} that counts"));
        }
        Ok(steps)
    }

    /// The versions of a row that the thread returned there.
    fn returned(&self, who: &str, line: &str, key: &str) -> Result<Vec<String>, String> {
        let mut values = Vec::new();
        for (_, step) in self.at(who, "", line)? {
            if let StepResult::Rows { columns, rows } = &step.result
                && let (Some(id), Some(v)) = (place(columns, "id"), place(columns, "v"))
            {
                let named = rows.iter().filter(|row| row[id].as_ref().is_some_and(|id| format!("id = {id}") == key));
                values.extend(named.filter_map(|row| row[v].clone()));
            }
        }
        Ok(values)
    }

    /// The change that the thread made to a row there.
    fn change(
        &self,
        who: &str,
        verb: &str,
        line: &str,
        key: &str,
    ) -> Result<(usize, ChangeKind, Option<String>), String> {
        let steps = self.at(who, verb, line)?;
        let found = steps.iter().find_map(|(at, step)| {
            let change = step.changes.iter().find(|change| change.key == key)?;
            let v = change.columns.iter().find(|column| column.column == "v");
            Some((*at, change.kind, v.and_then(|v| v.after.clone())))
        });
        found.ok_or(format!("{who}'s {verb} (line {line}) does not change {key}"))
    }

    /// Whether one version of a row is older than another.
    fn is_older(&self, key: &str, one: &str, other: &str) -> bool {
        let mut version = other.to_string();
        while let Some(Some(before)) = self.replaced.get(&(key.to_string(), version.clone())) {
            if before == one {
                return true;
            }
            version = before.clone();
        }
        false
    }
}

fn place(columns: &[String], name: &str) -> Option<usize> {
    columns.iter().position(|column| column == name)
}

fn verb_of(step: &TraceStep) -> String {
    step.statement.split_whitespace().next().unwrap_or("").trim_end_matches(';').to_uppercase()
}

/// Whether a step ends its thread's transaction: a COMMIT, a ROLLBACK, or a lone statement that is through.
fn ends_transaction(shown: &Counterexample, thread: usize, step: &TraceStep) -> bool {
    let in_block =
        shown.trace.steps.iter().any(|s| s.thread == thread && matches!(&*verb_of(s), "COMMIT" | "ROLLBACK"));
    let ends = step.kind == StepKind::Commit || matches!(&*verb_of(step), "COMMIT" | "ROLLBACK");
    ends || (!in_block && !matches!(step.result, StepResult::Waits { .. }))
}

/// The texts that stand in the places of `{}`.
fn holes<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut pieces = pattern.split("{}");
    let mut rest = text.strip_prefix(pieces.next()?)?;
    let mut found = Vec::new();
    let pieces: Vec<&str> = pieces.collect();
    for (number, piece) in pieces.iter().enumerate() {
        let at = match piece.is_empty() && number + 1 == pieces.len() {
            true => rest.len(),
            false => rest.find(piece)?,
        };
        found.push(&rest[..at]);
        rest = &rest[at + piece.len()..];
    }
    rest.is_empty().then_some(found)
}

/// The key in `v of t id = 1` or `t id = 1`.
fn key(item: &str) -> &str {
    let row = item.split_once(" of ").map_or(item, |(_, row)| row);
    row.split_once(' ').map_or(row, |(_, key)| key)
}

fn check_explanation(shown: &Counterexample) -> Result<(), String> {
    let told = Told::new(shown);
    if let Some(name) = &shown.anomaly
        && ["dirty write", "dirty read", "aborted read"].contains(&name.as_str())
    {
        return Err(format!("no level permits a {name}"));
    }
    let Some(paragraph) = shown.explanation.first().filter(|_| shown.anomaly.is_some()) else { return Ok(()) };
    let sentences: Vec<&str> = paragraph.trim_end_matches('.').split(". ").collect();
    let (conclusion, facts) = sentences.split_last().ok_or("nothing is said")?;
    let mut last: Option<(String, String)> = None;
    for (number, sentence) in facts.iter().enumerate() {
        let plain = sentence.strip_prefix("But ").unwrap_or(sentence);
        if sentence.starts_with("But ") != (number + 1 == facts.len()) {
            return Err(format!("the last fact begins with But: {sentence}"));
        }
        let (fact, order) = plain.rsplit_once(", so ").ok_or(format!("no conclusion: {sentence}"))?;
        let order = holes("{} must come before {}", order).ok_or(format!("no order: {sentence}"))?;
        let (first, second) = check_fact(&told, &fact.replace(" then ", " "), &mut last)?;
        if order != [&*first, &*second] {
            return Err(format!("{first} comes before {second}, not as in: {sentence}"));
        }
    }
    let (_, phrase) = conclusion.split_once(" explains this run: ").ok_or(format!("no name: {conclusion}"))?;
    let anomaly = ANOMALIES.iter().find(|anomaly| Some(anomaly.name) == shown.anomaly.as_deref());
    if anomaly.map(|anomaly| anomaly.phrase) != Some(phrase) {
        return Err(format!("{phrase} is not {:?}", shown.anomaly));
    }
    Ok(())
}

/// Looks up in the trace what a sentence says. Who must come first, and who second, if it is true; `last` is the read
/// that the sentence before was about.
fn check_fact(told: &Told<'_>, fact: &str, last: &mut Option<(String, String)>) -> Result<(String, String), String> {
    let fail = |why: &str| Err(format!("{why}: {fact}"));
    let pair = |first: &str, second: &str| Ok((first.to_string(), second.to_string()));
    if let Some(h) = holes("{} read{} (line {}) and did not see {}'s {} of it (line {})", fact) {
        let (reader, item, line, writer, verb, there) = (h[0], key(read_item(h[1])), h[2], h[3], h[4], h[5]);
        let (at, kind, after) = told.change(writer, verb, there, item)?;
        *last = Some((reader.to_string(), line.to_string()));
        for value in told.returned(reader, line, item)? {
            let newer = after.as_deref().is_some_and(|after| value == after || told.is_older(item, after, &value));
            if newer {
                return fail("it has seen that version or a later one");
            }
            if kind == ChangeKind::Delete && told.at(reader, "", line)?.iter().all(|(read, _)| *read > at) {
                // Then its snapshot is older, which only a transaction that keeps it can have.
                continue;
            }
        }
        return pair(reader, writer);
    }
    for (pattern, exact) in [
        ("{} read{} (line {}) as {}'s {} (line {}) had {} it", true),
        ("{} read{} (line {}) after {}'s {} (line {}) had {} it", false),
    ] {
        if let Some(h) = holes(pattern, fact) {
            let (reader, item, line, writer, verb, there) = (h[0], key(read_item(h[1])), h[2], h[3], h[4], h[5]);
            let (_, kind, after) = told.change(writer, verb, there, item)?;
            if (h[6] == "added") != (kind == ChangeKind::Insert) {
                return fail("the row was there, or was not");
            }
            let returned = told.returned(reader, line, item)?;
            let saw = |value: &String| {
                after.as_deref().is_some_and(|after| value == after || !exact && told.is_older(item, after, value))
            };
            if !returned.is_empty() && !returned.iter().any(saw) {
                return fail("it returned another version");
            }
            return pair(writer, reader);
        }
    }
    if let Some(h) = holes("the same SELECT did see {}'s {} of it (line {})", fact) {
        let (reader, _) = last.clone().ok_or(format!("which SELECT? {fact}"))?;
        told.at(h[0], h[1], h[2])?;
        return pair(h[0], &reader);
    }
    for did in ["overwrote", "deleted"] {
        let patterns = ["{}'s {} (line {}) DID {}'s {} of {} (line {})", "{}'s {} (line {}) DID {}'s {} (line {})"];
        for (number, pattern) in patterns.iter().enumerate() {
            let Some(h) = holes(&pattern.replace("DID", did), fact) else { continue };
            let line = if number == 0 { h[6] } else { h[5] };
            return check_overwrite(told, fact, (h[0], h[1], h[2]), (h[3], h[4], line), did == "deleted");
        }
        if let Some(h) = holes(&"{}'s {} (line {}) DID {}'s (line {})".replace("DID", did), fact) {
            return check_overwrite(told, fact, (h[0], h[1], h[2]), (h[3], h[1], h[4]), did == "deleted");
        }
    }
    for did in ["wrote", "removed"] {
        if let Some(h) = holes(&"{}'s {} (line {}) DID {} after {}'s {} (line {})".replace("DID", did), fact) {
            return check_overwrite(told, fact, (h[0], h[1], h[2]), (h[4], h[5], h[6]), did == "removed");
        }
    }
    if let Some(h) = holes("{}'s {} (line {}) did not find {}, which {}'s {} (line {}) added", fact) {
        let (_, kind, after) = told.change(h[4], h[5], h[6], key(h[3]))?;
        told.at(h[0], h[1], h[2])?;
        let found = told.returned(h[0], h[2], key(h[3]))?;
        if kind != ChangeKind::Insert || found.iter().any(|value| Some(value) == after.as_ref()) {
            return fail("the row was not added, or was found");
        }
        return pair(h[0], h[4]);
    }
    for word in ["found", "met"] {
        let pattern =
            format!("{{}}'s {{}} (line {{}}) no longer {word} {{}}, which {{}}'s {{}} (line {{}}) had removed");
        if let Some(h) = holes(&pattern, fact) {
            let (_, kind, _) = told.change(h[4], h[5], h[6], key(h[3]))?;
            told.at(h[0], h[1], h[2])?;
            if kind != ChangeKind::Delete || !told.returned(h[0], h[2], key(h[3]))?.is_empty() {
                return fail("the row was not removed, or was returned");
            }
            return pair(h[4], h[0]);
        }
    }
    if let Some(h) = holes("{}'s {} (line {}) met {}, which {}'s {} (line {}) had added", fact) {
        let (at, kind, _) = told.change(h[4], h[5], h[6], key(h[3]))?;
        let after = told.at(h[0], h[1], h[2])?.iter().any(|(check, _)| *check > at);
        return if after && kind == ChangeKind::Insert { pair(h[4], h[0]) } else { fail("it was not there yet") };
    }
    if let Some(h) = holes("{}'s {} (line {}) met {} as {}'s {} (line {}) had left it", fact) {
        told.change(h[4], h[5], h[6], key(h[3]))?;
        told.at(h[0], h[1], h[2])?;
        return pair(h[4], h[0]);
    }
    if let Some(h) = holes("{}'s {} (line {}) ran when {}'s {} (line {}) had added {}", fact) {
        let (at, kind, _) = told.change(h[3], h[4], h[5], key(h[6]))?;
        let after = told.at(h[0], h[1], h[2])?.iter().any(|(search, _)| *search > at);
        return if after && kind == ChangeKind::Insert { pair(h[3], h[0]) } else { fail("it was not there yet") };
    }
    if let Some(h) = holes("{}'s {} (line {}) ran before {}'s {} (line {}) removed {}", fact) {
        let (_, kind, _) = told.change(h[3], h[4], h[5], key(h[6]))?;
        told.at(h[0], h[1], h[2])?;
        return if kind == ChangeKind::Delete { pair(h[0], h[3]) } else { fail("it was not removed") };
    }
    let evaluated = "{}'s {} (line {}) evaluated its condition on the version of {}";
    if let Some(h) = holes(&format!("{evaluated} that {{}}'s {{}} (line {{}}) wrote"), fact) {
        let (at, kind, _) = told.change(h[4], h[5], h[6], key(h[3]))?;
        let after = told.at(h[0], h[1], h[2])?.iter().any(|(search, _)| *search > at);
        return if after && kind == ChangeKind::Update { pair(h[4], h[0]) } else { fail("it was not there yet") };
    }
    if let Some(h) = holes(&format!("{evaluated} before {{}}'s {{}} (line {{}})"), fact) {
        let (_, kind, after) = told.change(h[4], h[5], h[6], key(h[3]))?;
        let found = told.returned(h[0], h[2], key(h[3]))?;
        let saw = found.iter().any(|value| Some(value) == after.as_ref());
        return if kind == ChangeKind::Update && !saw { pair(h[0], h[4]) } else { fail("it has seen the change") };
    }
    if let Some(h) = holes("{}'s {} (line {}) checked a key before {}'s {} (line {}) changed that of {}", fact) {
        told.change(h[3], h[4], h[5], key(h[6]))?;
        return pair(h[0], h[3]);
    }
    fail("this checker does not know the sentence")
}

/// ` v of t id = 1` or ` by UPDATE t id = 1`, behind `read`.
fn read_item(text: &str) -> &str {
    let text = text.trim_start();
    text.strip_prefix("by ").and_then(|text| text.split_once(' ')).map_or(text, |(_, item)| item)
}

/// Where in the trace, the key of the row, what became of it, its value before and after.
type Written = (usize, String, ChangeKind, Option<String>, Option<String>);

/// The first of these wrote a row after the second.
fn check_overwrite(
    told: &Told<'_>,
    fact: &str,
    (writer, verb, line): (&str, &str, &str),
    (victim, victim_verb, victim_line): (&str, &str, &str),
    deleted: bool,
) -> Result<(String, String), String> {
    let keys = |who, verb, line| -> Result<Vec<Written>, String> {
        let steps = told.at(who, verb, line)?;
        let changes = steps.iter().flat_map(|(at, step)| step.changes.iter().map(move |change| (*at, change)));
        let changes = changes.map(|(at, change)| {
            let v = change.columns.iter().find(|column| column.column == "v");
            let (before, after) = (v.and_then(|v| v.before.clone()), v.and_then(|v| v.after.clone()));
            (at, change.key.clone(), change.kind, before, after)
        });
        Ok(changes.collect())
    };
    let (later, earlier) = (keys(writer, verb, line)?, keys(victim, victim_verb, victim_line)?);
    let fits = later.iter().any(|(at, key, kind, before, _)| {
        earlier.iter().any(|(other, other_key, _, _, after)| {
            let based = before.as_ref().zip(after.as_ref());
            let based = based.is_some_and(|(before, after)| before == after || told.is_older(key, after, before));
            at > other && key == other_key && based && (*kind == ChangeKind::Delete) == deleted
        })
    });
    if !fits {
        return Err(format!("that version was not replaced: {fact}"));
    }
    Ok((victim.to_string(), writer.to_string()))
}
