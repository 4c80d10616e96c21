//! What must hold of a database that is a value, on generated programs and on nonsense. No server is needed.
//!
//! A longer run: `ISOLDE_PROPERTY_PROGRAMS=20000 cargo test -p isolde-engine --release --test properties`.
#![allow(clippy::unwrap_used)]

use isolde_testkit::generate::{self, Dice};
use isolde_testkit::mirror::Progress;
use isolde_testkit::{Engine, Observation, Program, Runner};

fn seeds(count: u64) -> std::ops::Range<u64> {
    let wanted = std::env::var("ISOLDE_PROPERTY_PROGRAMS").ok().map(|text| text.parse().unwrap());
    0..wanted.unwrap_or(count)
}

fn programs(count: u64) -> impl Iterator<Item = (u64, Program)> {
    let all = seeds(count).map(|seed| (seed, (generate::chosen_by(seed).generate)(seed)));
    // Schemas that are not supported have no future.
    all.filter(|(_, program)| Progress::begin(&mut Engine::new(), program).is_ok())
}

fn run_rest(progress: &mut Progress<'_>, engine: &mut Engine) -> Vec<Observation> {
    std::iter::from_fn(|| progress.step(engine)).collect()
}

/// What is done to a copy stays with the copy; and the copy goes the way that the original goes.
#[test]
fn a_copy_is_a_database_of_its_own() {
    for (seed, program) in programs(90) {
        let mut engine = Engine::new();
        let mut progress = Progress::new(&mut engine, &program);
        loop {
            let before = engine.database().digest();
            let (mut copy, mut copy_progress) = (engine.clone(), progress.clone());
            let ahead = run_rest(&mut copy_progress, &mut copy);
            assert_eq!(engine.database().digest(), before, "seed {seed}: a copy reached into its original\n{program}");
            let Some(observation) = progress.step(&mut engine) else { break };
            assert_eq!(Some(&observation), ahead.first(), "seed {seed}: a copy went another way\n{program}");
        }
    }
}

/// Sessions that touch nothing in common: in whatever order they act, the state is the same, before and after they
/// commit.
#[test]
fn the_order_of_what_commutes_leaves_no_trace() {
    for seed in seeds(200) {
        let mut dice = Dice::new(seed);
        let threads: Vec<Vec<String>> = (0..3).map(|session| apart(&mut dice, session)).collect();
        let digests: Vec<[u128; 2]> = (0..3).map(|_| digests_of(&shuffled(&mut dice, &threads))).collect();
        assert!(digests.iter().all(|d| *d == digests[0]), "seed {seed}: {digests:x?}\n{threads:#?}");
    }
}

/// Statements on rows that no other session touches.
fn apart(dice: &mut Dice, session: usize) -> Vec<String> {
    let mut statements = vec![dice.pick(&["BEGIN", "BEGIN; SAVEPOINT s"]).to_string()];
    for _ in 0..2 + dice.below(4) {
        let (id, n) = (10 * session + dice.below(4), dice.below(5));
        statements.push(match dice.below(6) {
            0 | 1 => format!("INSERT INTO item VALUES ({id}, {n}) ON CONFLICT (id) DO UPDATE SET n = {n}"),
            2 => format!("UPDATE item SET n = n + {n} WHERE id = {id}"),
            3 => format!("DELETE FROM item WHERE id = {id}"),
            4 => format!("INSERT INTO note VALUES ({n})"),
            _ => format!("SELECT * FROM item WHERE id = {id} FOR UPDATE"),
        });
    }
    statements
}

/// The steps of the threads in some order that keeps each thread's own.
fn shuffled(dice: &mut Dice, threads: &[Vec<String>]) -> Vec<(usize, String)> {
    let mut queues: Vec<_> = threads.iter().map(|thread| thread.iter()).collect();
    let mut steps = Vec::new();
    while queues.iter().any(|queue| queue.len() > 0) {
        let session = dice.below(threads.len());
        steps.extend(queues[session].next().map(|statement| (session, statement.clone())));
    }
    steps
}

fn digests_of(steps: &[(usize, String)]) -> [u128; 2] {
    let setup = "CREATE TABLE item (id int PRIMARY KEY, n int); CREATE TABLE note (n int);
        INSERT INTO item VALUES (0, 1), (1, 1), (10, 1), (12, 1), (20, 1), (23, 1)";
    let mut program = Program { setup: vec![setup.into()], sessions: 3, steps: steps.to_vec() };
    let mut engine = Engine::new();
    engine.run(&program);
    let open = engine.database().digest();
    program.steps.extend((0..3).map(|session| (session, "COMMIT".to_string())));
    engine.run(&program);
    [open, engine.database().digest()]
}

/// Two orders of neighbouring steps that lead to one digest lead to one future.
#[test]
fn equal_digests_have_equal_futures() {
    let met = meetings(programs(75));
    assert!(met > 200, "only {met} pairs of orders met in one state");
}

/// The same where it also matters who has read what.
#[test]
fn equal_digests_have_equal_futures_at_serializable() {
    let met = meetings(seeds(25).map(|seed| (seed, generate::serializable(seed))));
    assert!(met > 50, "only {met} pairs of orders met in one state");
}

/// How many pairs of orders met in one state.
fn meetings(programs: impl Iterator<Item = (u64, Program)>) -> usize {
    let mut met = 0;
    for (seed, program) in programs {
        for index in 1..program.steps.len() {
            if program.steps[index].0 == program.steps[index - 1].0 {
                continue;
            }
            let mut swapped = program.clone();
            swapped.steps.swap(index - 1, index);
            let (digest, future) = split_run(&program, index + 1);
            let (other_digest, other_future) = split_run(&swapped, index + 1);
            if digest == other_digest {
                met += 1;
                assert_eq!(future, other_future, "seed {seed}, steps {} and {index}\n{program}", index - 1);
            }
        }
    }
    met
}

/// The digest after so many steps, and what is observed in the others.
fn split_run(program: &Program, steps: usize) -> (u128, Vec<Observation>) {
    let mut engine = Engine::new();
    let mut progress = Progress::new(&mut engine, program);
    (0..steps).for_each(|_| drop(progress.step(&mut engine)));
    (engine.database().digest(), run_rest(&mut progress, &mut engine))
}

/// Statements with words lost, doubled, exchanged or made up: errors, never a panic, and the database goes on.
#[test]
fn nonsense_is_refused() {
    for (seed, mut program) in programs(300) {
        let mut dice = Dice::new(seed);
        let steps = program.steps.iter_mut().map(|(_, statement)| statement);
        for statement in program.setup.iter_mut().filter(|_| seed % 4 == 0).chain(steps) {
            if dice.one_in(2) {
                *statement = garbled(&mut dice, statement);
            }
        }
        let _ = Engine::new().try_run(&program);
    }
}

fn garbled(dice: &mut Dice, statement: &str) -> String {
    const WORDS: &[&str] = &[
        "SELECT",
        "FROM",
        "WHERE",
        "(",
        ")",
        ",",
        "*",
        "NULL",
        "'",
        "\"",
        "$1",
        "$$",
        ";",
        "--",
        "/*",
        "::int",
        "1e999",
        "99999999999999999999",
        "-9223372036854775808",
        "account",
        "item",
        "id",
        "n",
        "t.",
        ".",
        "=",
        "<>",
        "||",
        "%",
        "/ 0",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT s",
        "ROLLBACK TO s",
        "LOOP",
        "END",
        "IF",
        "CREATE TABLE z (a int)",
        "DROP TABLE item",
        "TRUNCATE account",
        "CREATE INDEX ON item (n)",
        "ALTER TABLE item ADD UNIQUE (n)",
        "SET x = 1",
        "FOR UPDATE",
        "ORDER BY 7",
        "LIMIT -1",
        "OFFSET NULL",
        "GROUP BY",
        "count(*)",
        "generate_series(1, 3)",
        "now()",
        "nextval('s')",
        "repeat('x', 1000000000)",
        "generate_series(1, 1000000000)",
        "MERGE INTO item USING item AS o ON true",
        "OVER (ORDER BY id ROWS -1 PRECEDING)",
        "WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 1 FROM r)",
        "GROUPING SETS ((), (id))",
        "ARRAY[1, NULL]",
        "[1:2147483647]",
        "'[1'::jsonb",
        "INTERVAL '1e9 years'",
        "LATERAL",
        "RETURNING *",
        "FILTER (WHERE",
        "DEFERRABLE",
        "CASCADE",
        "CREATE TRIGGER x AFTER UPDATE ON item EXECUTE FUNCTION f()",
        "PREPARE TRANSACTION 'p'",
        "COMMIT PREPARED 'p'",
        "LOCK TABLE item",
        "FETCH ALL FROM c",
        "EXECUTE q(1)",
        "pg_advisory_lock(1)",
        "\u{0}",
        "é",
        "\n",
    ];
    let mut words: Vec<String> = statement.split(' ').map(str::to_string).collect();
    for _ in 0..1 + dice.below(3) {
        let (a, b) = (dice.below(words.len()), dice.below(words.len()));
        match dice.below(6) {
            0 if words.len() > 1 => drop(words.remove(a)),
            1 => words.swap(a, b),
            2 => words.insert(a, words[b].clone()),
            3 => words.truncate(a + 1),
            4 => words[a] = dice.pick(WORDS).to_string(),
            _ => words.insert(a, dice.pick(WORDS).to_string()),
        }
    }
    words.join(" ")
}
