//! Programs from a seed.
//!
//! A generated program takes one of a few small [`schema`]s and sends it statements of every kind we know, with NULLs,
//! duplicates and empty results never far. Tables are tiny and keys lie between 1 and 6, so sessions meet all the time.
//!
//! - [`single`]: one session. Exercises the meaning of SQL: expressions, joins, aggregates, constraints.
//! - [`concurrent`]: two or three sessions with open transactions. Exercises waiting, re-checking, isolation,
//!   deadlocks.
//! - [`world`] and [`concurrent_world`]: the same on generated schemas, with every kind of statement.
//! - [`serializable`]: two to four sessions at SERIALIZABLE. Exercises who fails for what others did.
//! - [`locks`]: two to four sessions with table locks, advisory locks, TRUNCATE and definitions.
//! - [`values`]: one session without tables. Exercises types, operators and functions.
//! - [`procedures`]: routines in PL/pgSQL, called by one session or two.
//!
//! The same seed gives the same program on every machine. What PostgreSQL leaves open is not generated: `LIMIT` comes
//! with an order of all columns, and expressions that may fail (division) stand in select lists only, because in which
//! order conditions are evaluated is the planner's business.

mod advanced;
mod dice;
mod expression;
mod locks;
mod merge;
mod procedure;
mod query;
pub mod schema;
mod serializable;
mod statement;
mod surface;
mod trigger;
mod values;
mod world;

pub use dice::Dice;
pub use locks::locks;
pub use serializable::serializable;
pub use values::values;

use crate::program::Program;
use procedure::{Routine, Style};
use schema::{SCHEMAS, Schema};
use statement::Statements;
use world::World;

/// Makes a program from a seed.
#[derive(Debug)]
pub struct Generator {
    /// What it is called.
    pub name: &'static str,
    /// How often it is chosen, compared with the others.
    pub weight: usize,
    /// The first major version whose answers are those of the engine. In 13, `extract` is a double precision number.
    pub since: u32,
    /// The program of a seed.
    pub generate: fn(u64) -> Program,
}

/// Every generator. To add one: a function, and a line here; the long comparisons use it from then on.
pub const GENERATORS: &[Generator] = &[
    Generator { name: "single", weight: 10, since: 13, generate: single },
    Generator { name: "concurrent", weight: 20, since: 13, generate: concurrent },
    Generator { name: "procedures", weight: 10, since: 13, generate: procedures },
    Generator { name: "world", weight: 20, since: 13, generate: world },
    Generator { name: "worlds", weight: 40, since: 13, generate: concurrent_world },
    Generator { name: "serializable", weight: 10, since: 13, generate: serializable },
    Generator { name: "values", weight: 10, since: 14, generate: values },
    Generator { name: "locks", weight: 15, since: 13, generate: locks },
];

/// The generator that this seed chooses, by weight.
pub fn chosen_by(seed: u64) -> &'static Generator {
    let total = GENERATORS.iter().map(|generator| generator.weight).sum();
    // Other dice than those of the program, which begin with the same seed.
    let mut left = Dice::new(!seed).below(total);
    for generator in GENERATORS {
        if left < generator.weight {
            return generator;
        }
        left -= generator.weight;
    }
    unreachable!("the weights add up to their total")
}

/// A program of one session.
pub fn single(seed: u64) -> Program {
    let mut dice = Dice::new(seed);
    let schema = dice.pick(SCHEMAS);
    let mut statements = Statements::alone(schema);
    let mut steps = Vec::new();
    while steps.len() < 12 {
        let statements =
            if dice.one_in(4) { transaction(&mut dice, &mut statements, 4) } else { vec![statements.any(&mut dice)] };
        steps.extend(statements.into_iter().map(|statement| (0, statement)));
    }
    finish(schema, 1, steps)
}

/// A program of two sessions, or sometimes three, whose statements are interleaved.
pub fn concurrent(seed: u64) -> Program {
    let mut dice = Dice::new(seed);
    let schema = dice.pick(SCHEMAS);
    let sessions = if dice.one_in(4) { 3 } else { 2 };
    let mut statements = Statements::among_others(schema);
    let queues = (0..sessions).map(|_| session(&mut dice, &mut statements).into_iter()).collect();
    let steps = interleave(&mut dice, queues);
    finish(schema, sessions, steps)
}

/// A program of one session on a generated schema.
pub fn world(seed: u64) -> Program {
    let mut dice = Dice::new(seed);
    let world = world::world(dice.below(world::WORLDS));
    let mut statements = Statements::in_world(world, false);
    let mut steps = Vec::new();
    while steps.len() < 14 {
        let statements =
            if dice.one_in(4) { transaction(&mut dice, &mut statements, 4) } else { vec![statements.any(&mut dice)] };
        steps.extend(statements.into_iter().map(|statement| (0, statement)));
    }
    finish_world(world, 1, steps)
}

/// A program of two or three sessions on a generated schema.
pub fn concurrent_world(seed: u64) -> Program {
    let mut dice = Dice::new(seed);
    let world = world::world(dice.below(world::WORLDS));
    let sessions = if dice.one_in(3) { 3 } else { 2 };
    let mut statements = Statements::in_world(world, true);
    let prepares = dice.one_in(10);
    let mut queues = Vec::new();
    for number in 0..sessions {
        let mut queue = session(&mut dice, &mut statements);
        if prepares {
            prepare_instead(&mut dice, &mut queue, number);
        }
        queues.push(queue.into_iter());
    }
    let mut steps = interleave(&mut dice, queues);
    for number in 0..sessions {
        if steps.iter().any(|(_, statement)| *statement == format!("PREPARE TRANSACTION 'p{number}'")) {
            let position = steps.len() - dice.below(3.min(steps.len()));
            let end = dice.pick(&["COMMIT", "COMMIT", "ROLLBACK"]);
            steps.insert(position, (dice.below(sessions), format!("{end} PREPARED 'p{number}'")));
            steps.push((dice.below(sessions), format!("ROLLBACK PREPARED 'p{number}'")));
        }
    }
    finish_world(world, sessions, steps)
}

/// The last COMMIT of a session becomes the first phase of two.
fn prepare_instead(dice: &mut Dice, queue: &mut [String], number: usize) {
    let commit = queue.iter_mut().rev().find(|statement| *statement == "COMMIT");
    if let (Some(commit), true) = (commit, dice.one_in(2)) {
        *commit = format!("PREPARE TRANSACTION 'p{number}'");
    }
}

/// Some order of the steps that keeps each session's own.
fn interleave(dice: &mut Dice, mut queues: Vec<std::vec::IntoIter<String>>) -> Vec<(usize, String)> {
    let mut steps = Vec::new();
    while queues.iter().any(|queue| queue.len() > 0) {
        let session = dice.below(queues.len());
        steps.extend(queues[session].next().map(|statement| (session, statement)));
    }
    steps
}

/// Ends all transactions and looks at everything.
fn finish_world(world: &World, sessions: usize, mut steps: Vec<(usize, String)>) -> Program {
    if steps.iter().any(|(_, statement)| statement.contains("advisory_lock")) {
        for _ in 0..sessions {
            steps.extend((0..sessions).map(|session| (session, "COMMIT".to_string())));
            steps.extend((0..sessions).map(|session| (session, "SELECT pg_advisory_unlock_all()".to_string())));
        }
    }
    let mut program = finish(&world.schema, sessions, steps);
    let others = world.look.iter().filter(|name| world.schema.tables.iter().all(|table| table.name != **name));
    program.steps.extend(others.map(|name| (0, format!("SELECT * FROM {name}"))));
    program
}

/// A program of one session or two that call a few routines.
pub fn procedures(seed: u64) -> Program {
    let mut dice = Dice::new(seed);
    let mut routines: Vec<Routine> = Vec::new();
    for number in 0..1 + dice.below(3) {
        let routine = procedure::routine(&mut dice, number, &routines);
        routines.push(routine);
    }
    let sessions = 1 + dice.below(2);
    let mut steps = Vec::new();
    let mut open = vec![false; sessions];
    for _ in 0..4 * sessions {
        let session = dice.below(sessions);
        let statement = match (open[session], dice.below(5)) {
            (false, 0) => dice.pick(BEGIN).to_string(),
            (true, 0) => dice.pick(&["COMMIT", "COMMIT", "ROLLBACK"]).to_string(),
            _ => call(&mut dice, &routines),
        };
        open[session] ^= statement.starts_with("BEGIN") || statement == "COMMIT" || statement == "ROLLBACK";
        steps.push((session, statement));
    }
    for _ in 0..sessions {
        steps.extend((0..sessions).map(|session| (session, "COMMIT".to_string())));
    }
    steps.extend(procedure::TABLES.iter().map(|table| (0, format!("SELECT * FROM {table}"))));
    let setup = procedure::SETUP.iter().map(|statement| statement.to_string());
    Program { setup: setup.chain(routines.into_iter().map(|routine| routine.text)).collect(), sessions, steps }
}

/// A call of one of the routines, or a block of its own.
fn call(dice: &mut Dice, routines: &[Routine]) -> String {
    if dice.one_in(8) {
        return procedure::anonymous(dice, routines);
    }
    let routine = dice.pick(routines);
    let (name, argument) = (&routine.name, *dice.pick(&["1", "1", "2", "3", "0", "NULL"]));
    match routine.style {
        Style::Procedure => format!("CALL {name}({argument})"),
        Style::Function if dice.one_in(3) => format!("SELECT id, {name}(id) FROM item ORDER BY id"),
        Style::Function => format!("SELECT {name}({argument})"),
        Style::Set => format!("SELECT * FROM {name}({argument})"),
    }
}

/// What one of several sessions does: a transaction or two, perhaps a statement on its own.
fn session(dice: &mut Dice, statements: &mut Statements) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..1 + dice.below(2) {
        if dice.one_in(4) {
            all.push(statements.any(dice));
        }
        all.extend(transaction(dice, statements, 3));
    }
    all
}

const BEGIN: &[&str] = &[
    "BEGIN",
    "BEGIN",
    "BEGIN",
    "BEGIN",
    "BEGIN ISOLATION LEVEL REPEATABLE READ",
    "BEGIN ISOLATION LEVEL REPEATABLE READ",
    "BEGIN ISOLATION LEVEL REPEATABLE READ",
    "BEGIN ISOLATION LEVEL SERIALIZABLE",
    "BEGIN ISOLATION LEVEL SERIALIZABLE",
    "BEGIN ISOLATION LEVEL SERIALIZABLE",
    "BEGIN ISOLATION LEVEL READ COMMITTED",
    "BEGIN READ ONLY",
];

/// A transaction of up to `length` statements; some with a savepoint, one in six rolled back.
fn transaction(dice: &mut Dice, statements: &mut Statements, length: usize) -> Vec<String> {
    let mut all = vec![dice.pick(BEGIN).to_string()];
    let savepoint_at = if dice.one_in(4) { Some(dice.below(length)) } else { None };
    for position in 0..1 + dice.below(length) {
        if savepoint_at == Some(position) {
            all.push("SAVEPOINT s".to_string());
            all.push(statements.any(dice));
            all.push(
                dice.pick(&["ROLLBACK TO SAVEPOINT s", "ROLLBACK TO SAVEPOINT s", "RELEASE SAVEPOINT s"]).to_string(),
            );
        }
        all.push(statements.any(dice));
    }
    all.push(if dice.one_in(6) { "ROLLBACK" } else { "COMMIT" }.to_string());
    all
}

/// Ends all transactions, however the sessions wait for each other, and looks at what is left.
fn finish(schema: &Schema, sessions: usize, mut steps: Vec<(usize, String)>) -> Program {
    let rounds = if sessions == 1 { 0 } else { sessions };
    for _ in 0..rounds {
        steps.extend((0..sessions).map(|session| (session, "COMMIT".to_string())));
    }
    steps.extend(schema.tables.iter().map(|table| (0, format!("SELECT * FROM {}", table.name))));
    Program { setup: schema.setup.iter().map(|statement| statement.to_string()).collect(), sessions, steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_program() {
        for seed in 0..50 {
            assert_eq!(single(seed), single(seed));
            assert_eq!(concurrent(seed), concurrent(seed));
            assert_eq!(procedures(seed), procedures(seed));
        }
        assert_ne!(concurrent(1), concurrent(2));
    }

    #[test]
    fn programs_read_back_from_their_script() {
        for seed in 0..50 {
            for program in [concurrent(seed), procedures(seed)] {
                assert_eq!(Program::parse(&program.to_string()), Ok(program));
            }
        }
    }
}
