//! Checks over a link on which messages are late, lost or the last.
//!
//! One law. Whatever goes wrong between us and the server, the answer is the right one or says that nothing can be
//! concluded; it is never the other verdict, and never a mistake of the user's. And nothing is left on the server: what
//! the run itself could not drop, the next one drops.
//!
//! A few schedules of faults each time; thousands by
//! `ISOLDE_FAULT_SEEDS=2000 cargo test -p isolde-postgres --test simulated -- --nocapture`, from
//! `ISOLDE_FAULT_FIRST` on.

#![allow(clippy::unwrap_used)]

mod both;
mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use both::{check, read};
use isolde_postgres::stage::{ScenarioStage, StageError};
use isolde_postgres::{Home, Trouble};
use isolde_report::Verdict;
use isolde_testkit::Cluster;
use isolde_testkit::link::{Fault, Link, Plan};
use isolde_wire::{Ended, Patience, Settings};

/// A server that says nothing for so long is taken to be gone. Longer than a message is late.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// How often what was left is looked for, until sessions that were cut off have noticed it.
const SWEEPS_MAX: usize = 40;

/// Something to check, and what is true about it.
struct Case {
    name: &'static str,
    text: &'static str,
    is_app: bool,
    holds: bool,
}

const CASES: &[Case] = &[
    Case {
        name: "increments",
        text: "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL);\nINSERT INTO counter VALUES (1, 0);\n\
            --@ thread ann\nBEGIN;\nUPDATE counter SET n = n + 1;\nCOMMIT;\n\
            --@ thread ben\nBEGIN;\nUPDATE counter SET n = n + 1;\nCOMMIT;\n\
            --@ final both\nSELECT n = 2 FROM counter;\n",
        is_app: false,
        holds: true,
    },
    Case {
        name: "read and write",
        text: "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL);\nINSERT INTO counter VALUES (1, 0);\n\
            --@ thread ann\nSELECT n AS seen FROM counter WHERE id = 1 \\gset\nUPDATE counter SET n = :seen + 1 WHERE id = 1;\n\
            --@ thread ben\nUPDATE counter SET n = n + 1 WHERE id = 1;\n\
            --@ final both\nSELECT n = 2 FROM counter;\n",
        is_app: false,
        holds: false,
    },
    Case {
        name: "opposite orders",
        text: "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL);\nINSERT INTO counter VALUES (1, 0), (2, 0);\n\
            --@ thread ann\nBEGIN;\nUPDATE counter SET n = 1 WHERE id = 1;\nUPDATE counter SET n = 1 WHERE id = 2;\nCOMMIT;\n\
            --@ thread ben\nBEGIN;\nUPDATE counter SET n = 1 WHERE id = 2;\nUPDATE counter SET n = 1 WHERE id = 1;\nCOMMIT;\n",
        is_app: false,
        holds: false,
    },
    Case {
        name: "incrementing application",
        text: "time_limit = 2\nsetup_sql = \"CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL); INSERT INTO counter VALUES (1, 0)\"\n\
            [[thread]]\nname = \"ann\"\ncommand = \"psql -Xqc 'UPDATE counter SET n = n + 1'\"\n\
            [[thread]]\nname = \"ben\"\ncommand = \"psql -Xqc 'UPDATE counter SET n = n + 1'\"\n\
            [[final]]\nname = \"both\"\nsql = \"SELECT n = 2 FROM counter\"\n",
        is_app: true,
        holds: true,
    },
    Case {
        name: "reading and writing application",
        text: "time_limit = 2\nsetup_sql = \"CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL); INSERT INTO counter VALUES (1, 0)\"\n\
            [[thread]]\nname = \"ann\"\ncommand = '''n=$(psql -XAtc 'SELECT n FROM counter') && psql -Xqc \"UPDATE counter SET n = $n + 1\"'''\n\
            [[thread]]\nname = \"ben\"\ncommand = \"psql -Xqc 'UPDATE counter SET n = n + 1'\"\n\
            [[final]]\nname = \"both\"\nsql = \"SELECT n = 2 FROM counter\"\n",
        is_app: true,
        holds: false,
    },
];

impl Case {
    fn verdict(&self, server: &Settings) -> Result<Verdict, Trouble> {
        if self.is_app {
            return common::check_on(server, self.text).map(|report| report.verdict);
        }
        let file = read(self.text);
        let mut stage = ScenarioStage::new(&file, server).map_err(|error| match error {
            StageError::File(error) => Trouble::Usage(error.to_string()),
            StageError::Trouble(trouble) => trouble,
        })?;
        check(&file, &mut stage).map(|report| report.verdict)
    }

    /// What is true, in the words of a verdict.
    fn truth(&self) -> Verdict {
        if self.holds { Verdict::Holds } else { Verdict::Violated }
    }
}

/// Whether an answer says that nothing can be concluded.
fn is_undecided(answer: &Result<Verdict, Trouble>) -> bool {
    match answer {
        Ok(verdict) => matches!(verdict, Verdict::Inconclusive(_)),
        Err(trouble) => matches!(
            trouble,
            Trouble::Fault(_) | Trouble::Stuck { .. } | Trouble::Nondeterministic { .. } | Trouble::Interrupted
        ),
    }
}

/// Lets the next run clear away; what is left then.
fn left_after_sweep(cluster: &Cluster, server: &Settings) -> Vec<String> {
    for _ in 0..SWEEPS_MAX {
        drop(Home::create(server).unwrap());
        if cluster.left_behind().unwrap().is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    cluster.left_behind().unwrap()
}

#[test]
fn faults_on_the_way_leave_the_answer_right_or_open_and_nothing_behind() {
    let cluster = Arc::new(Cluster::start().unwrap());
    let link = Link::to(cluster.clone()).unwrap();
    let server = link.settings("postgres").with_patience(Patience::default().with_silence_max(SILENCE_MAX));
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (first, count): (u64, u64) = (number("ISOLDE_FAULT_FIRST", 0), number("ISOLDE_FAULT_SEEDS", 25));
    let no_psql = common::without_psql("applications over a link with faults");
    let cases: Vec<&Case> = CASES.iter().filter(|case| !(case.is_app && no_psql)).collect();
    let messages: Vec<u64> = cases.iter().map(|case| calm(&link, case, &server)).collect();
    let (mut tally, mut wrong): (BTreeMap<&str, u64>, Vec<String>) = (BTreeMap::new(), Vec::new());
    for seed in first..first + count {
        let at = usize::try_from(seed).unwrap() % cases.len();
        let case = cases[at];
        let plan = Plan::of_seed(seed, messages[at]);
        let begun = Instant::now();
        link.begin(plan.clone());
        let answer = case.verdict(&server);
        let (_, hit) = link.end();
        let took = begun.elapsed().as_millis();
        let right = answer.as_ref().is_ok_and(|verdict| *verdict == case.truth());
        let undecided = is_undecided(&answer) && !hit.is_empty();
        eprintln!("seed {seed}, {}: {hit:?}: {answer:?} in {took} ms", case.name);
        *tally
            .entry(if right {
                "right"
            } else if undecided {
                "undecided"
            } else {
                "wrong"
            })
            .or_default() += 1;
        if !right && !undecided {
            wrong.push(format!("seed {seed}, {}: {hit:?} of {plan:?}: {answer:?}", case.name));
        }
        if !cluster.left_behind().unwrap().is_empty() {
            *tally.entry("left to the next run").or_default() += 1;
            let left = left_after_sweep(&cluster, &server);
            if !left.is_empty() {
                wrong.push(format!("seed {seed}, {}: {hit:?} of {plan:?}: left behind {left:?}", case.name));
            }
        }
    }
    eprintln!("seeds {first} to {}: {tally:?}", first + count);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tally.contains_key("right") || count < 25, "no schedule came to an answer");
}

/// The server falls silent, at one message after the other, and the user does not wait: the answer is that it was
/// interrupted. Nothing else would end the run for minutes.
#[test]
fn a_silent_server_can_be_interrupted_wherever_it_falls_silent() {
    const PLACES: u64 = 6;
    let cluster = Arc::new(Cluster::start().unwrap());
    let link = Link::to(cluster.clone()).unwrap();
    let no_psql = common::without_psql("applications over a link with faults");
    for case in CASES.iter().filter(|case| !(case.is_app && no_psql)).step_by(2) {
        let has_hit = link.watch();
        let patience = Patience::until(move || has_hit().then_some(Ended::Interrupt));
        let server = link.settings("postgres").with_patience(patience);
        let messages = calm(&link, case, &server);
        for at in (0..PLACES).map(|place| place * messages / PLACES) {
            link.begin(Plan { faults: vec![(at, Fault::Swallow)] });
            let answer = case.verdict(&server);
            let (_, hit) = link.end();
            let interrupted = match &answer {
                Ok(Verdict::Inconclusive(why)) => why.starts_with("interrupted"),
                Ok(_) => false,
                Err(trouble) => *trouble == Trouble::Interrupted,
            };
            let right = hit.is_empty() && answer == Ok(case.truth());
            assert!(interrupted || right, "{}, silent from message {at} on: {answer:?}", case.name);
            assert_eq!(left_after_sweep(&cluster, &link.settings("postgres")), [""; 0], "{}, {at}", case.name);
        }
    }
}

/// Checks a case while nothing goes wrong: how many messages that takes.
fn calm(link: &Link, case: &Case, server: &Settings) -> u64 {
    link.begin(Plan::default());
    assert_eq!(case.verdict(server), Ok(case.truth()), "{}", case.name);
    link.end().0
}
