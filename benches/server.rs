//! What a run on a real server costs: `cargo bench -p isolde-benches --bench server`.
//!
//! Two sessions, each BEGIN, SELECT, UPDATE of the same row, COMMIT, on a server of this machine that is started for
//! the purpose. All their interleavings, again and again, beside the same statements in a plain loop that schedules
//! nothing, and beside PostgreSQL's own isolationtester with the same permutations. Every figure is measured in this
//! one run.

use std::io::Write;
use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use isolde_explore::{Matching, Search, Strategy, on_leaf};
use isolde_postgres::effects;
use isolde_postgres::live::{Cursor, LiveSystem};
use isolde_postgres::stage::ScenarioStage;
use isolde_scenario::file;
use isolde_testkit::{Cluster, isolation};
use isolde_wire::{Connection, Response};

const SCENARIO: &str = "
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account SELECT n, 100 FROM generate_series(1, 20) AS n;
--@ thread alice
BEGIN;
SELECT balance FROM account WHERE id = 1;
UPDATE account SET balance = balance - 60 WHERE id = 1;
COMMIT;
--@ thread bob
BEGIN;
SELECT balance FROM account WHERE id = 1;
UPDATE account SET balance = balance - 60 WHERE id = 1;
COMMIT;
";

const SPEC: &str = "
setup { CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
        INSERT INTO account SELECT n, 100 FROM generate_series(1, 20) AS n; }
teardown { DROP TABLE account; }
session alice
step ab { BEGIN; }
step ar { SELECT balance FROM account WHERE id = 1; }
step aw { UPDATE account SET balance = balance - 60 WHERE id = 1; }
step ac { COMMIT; }
session bob
step bb { BEGIN; }
step br { SELECT balance FROM account WHERE id = 1; }
step bw { UPDATE account SET balance = balance - 60 WHERE id = 1; }
step bc { COMMIT; }
";

/// What is compared takes turns.
const TURNS: u32 = 6;

/// Permutations without those in which a session must go on that waits, which the tester cannot run.
const PERMUTATIONS: &[&str] = &[
    "ab ar aw ac bb br bw bc",
    "ab bb ar br aw ac bw bc",
    "ab bb br ar aw ac bw bc",
    "ab bb ar br aw bw ac bc",
    "ab bb ar br bw aw bc ac",
    "bb br bw bc ab ar aw ac",
];

fn main() {
    // `cargo test --benches` runs this too: then one short round each, to see that it works.
    let quick = !std::env::args().any(|a| a == "--bench");
    let round = Duration::from_millis(if quick { 50 } else { 3_000 });
    let cluster = Cluster::shared();
    println!("two sessions x (BEGIN, SELECT, UPDATE, COMMIT)          {:>12} {:>10}", "executions/s", "ratio");
    let [raw, prepared, explored] = executions(cluster, round);
    row("the same statements in a plain loop", raw, raw);
    row("the same, prepared once", prepared, raw);
    row("isolde, all interleavings (stateless)", explored, raw);
    if let Some(rate) = tester(cluster, round) {
        row("isolationtester, 6 permutations that it can run", rate, raw);
    }
    println!();
    println!("one UPDATE by key, autocommit                           {:>12} {:>10}", "statements/s", "ratio");
    let [without, told, logged] = updates(cluster, round);
    row("without triggers", without, without);
    row("with what tells the changed rows", told, without);
    row("with what tells and logs them", logged, without);
}

fn row(what: &str, rate: f64, base: f64) {
    println!("  {what:<54}{rate:>12.0} {:>9.2}x", base / rate);
}

/// Executions per second in a plain loop, in one of prepared statements, and through the search. They take turns, so
/// that what else the machine does is the same for all.
fn executions(cluster: &'static Cluster, round: Duration) -> [f64; 3] {
    let database = cluster.create_database().expect("a database");
    let open = || cluster.connect(&database, "").expect("a session");
    let (mut alice, mut bob) = (open(), open());
    let setup = SCENARIO.split("--@").next().unwrap_or_default();
    alice.execute(setup).expect("the set-up is fine");
    let sections = file::read("server.sql", SCENARIO, &mut file::no_includes).expect("a scenario");
    let mut stage = ScenarioStage::new(&sections, &cluster.settings("postgres")).expect("a stage");
    let cursor = Cursor::new(&mut stage).expect("it starts");
    let system = cursor.system();
    let mut times = [0.0; 3];
    for _ in 0..TURNS {
        times[0] += 1.0 / measured(round / TURNS, || plain_execution(&mut alice, &mut bob, Connection::execute));
        times[1] +=
            1.0 / measured(round / TURNS, || plain_execution(&mut alice, &mut bob, Connection::execute_prepared));
        times[2] += 1.0 / measured(round / TURNS, || explore(&system));
    }
    assert!(cursor.trouble().is_none(), "{:?}", cursor.trouble());
    drop((alice, bob));
    cluster.drop_database(&database).expect("nobody is there");
    times.map(|time| f64::from(TURNS) / time)
}

/// How a statement is executed.
type Execute = fn(&mut Connection, &str) -> std::io::Result<Vec<Response>>;

/// Eight statements, one after another, and one that puts the row back.
fn plain_execution(alice: &mut Connection, bob: &mut Connection, execute: Execute) -> u64 {
    for session in [&mut *alice, bob] {
        for statement in [
            "BEGIN",
            "SELECT balance FROM account WHERE id = 1",
            "UPDATE account SET balance = balance - 60 WHERE id = 1",
            "COMMIT",
        ] {
            execute(session, statement).expect("it is fine");
        }
    }
    execute(alice, "UPDATE account SET balance = 100 WHERE id = 1").expect("it is fine");
    1
}

/// All interleavings once; how many.
fn explore(system: &LiveSystem<'_, '_>) -> u64 {
    let search = Search { strategy: Strategy::Depth, matching: Matching::Off, ..Search::default() };
    let mut count = 0;
    search.run(
        system,
        &mut on_leaf(|_| {
            count += 1;
            ControlFlow::Continue(())
        }),
    );
    count
}

/// The same permutations by PostgreSQL's own tester, start and end of the process included once per round.
fn tester(cluster: &'static Cluster, round: Duration) -> Option<f64> {
    let tester = isolation::isolationtester()?;
    let directory = tempfile::tempdir().ok()?;
    let path = directory.path().join("server.spec");
    let mut spec = std::fs::File::create(&path).ok()?;
    let lines = PERMUTATIONS.iter().cycle().take(60).map(|p| format!("permutation {p}\n")).collect::<String>();
    spec.write_all(format!("{SPEC}{lines}").as_bytes()).ok()?;
    let database = cluster.create_database().ok()?;
    let connection = format!("host={} user=postgres dbname={database}", cluster.socket_directory().display());
    let rate = measured(round, || {
        let input = std::fs::File::open(&path).expect("it was just written");
        let mut command = Command::new(&tester);
        command.arg(&connection).stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().expect("the tester starts").success());
        60
    });
    cluster.drop_database(&database).ok()?;
    Some(rate)
}

/// Statements per second without the triggers, with those that tell, and with those that log besides; also in turns.
fn updates(cluster: &'static Cluster, round: Duration) -> [f64; 3] {
    const STOP: &str = "ALTER TABLE account DISABLE TRIGGER USER";
    const START: &str = "ALTER TABLE account ENABLE TRIGGER USER";
    let open = |tells: bool| {
        let database = cluster.create_database().expect("a database");
        let mut session = cluster.connect(&database, "").expect("a session");
        session.execute(SCENARIO.split("--@").next().unwrap_or_default()).expect("the set-up is fine");
        effects::install(&mut session).expect("triggers can be made");
        if tells {
            effects::stop_logging(&mut session).expect("they can be changed");
        }
        (database, session)
    };
    let ((first, mut telling), (second, mut logging)) = (open(true), open(false));
    let update = |session: &mut Connection| {
        session.execute("UPDATE account SET balance = balance + 1 WHERE id = 1").expect("it is fine");
        1
    };
    let mut times = [0.0; 3];
    for _ in 0..TURNS {
        telling.execute(STOP).expect("it is ours");
        times[0] += 1.0 / measured(round / TURNS, || update(&mut telling));
        telling.execute(START).expect("it is ours");
        times[1] += 1.0 / measured(round / TURNS, || update(&mut telling));
        times[2] += 1.0 / measured(round / TURNS, || update(&mut logging));
    }
    drop((telling, logging));
    [first, second].iter().for_each(|database| cluster.drop_database(database).expect("nobody is there"));
    times.map(|time| f64::from(TURNS) / time)
}

/// How often per second; `act` says how much it did.
fn measured(round: Duration, mut act: impl FnMut() -> u64) -> f64 {
    act();
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < round {
        count += act();
    }
    count as f64 / start.elapsed().as_secs_f64()
}
