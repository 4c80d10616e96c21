//! Procedures called by chance: what a proof must survive.

use isolde_engine::{Database, SessionId};
use isolde_prove::{Program, Rule};
use isolde_sql::ast::ParamMode;
use isolde_sql::catalog::{RoutineId, Table};
use isolde_sql::{Type, Value, parse};

/// Numbers that look like chance, the same for the same seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// How many runs got as far as a call that went well, and the first that broke the rule.
pub(crate) struct Tried {
    pub(crate) went_well: usize,
    pub(crate) broken: Option<String>,
}

/// Calls a procedure on rows and with arguments by chance, wherever the rule holds before.
pub(crate) fn try_out(program: &Program, id: RoutineId, rule: &Rule, runs: usize, seed: u64) -> Tried {
    let mut dice = Dice::new(seed);
    let numbers = numbers(&program.source);
    let mut tried = Tried { went_well: 0, broken: None };
    let empty = emptied(program);
    for _ in 0..runs {
        let mut database = empty.clone();
        let session = database.open_session();
        let mut log = Vec::new();
        // Parents are mostly created before their children.
        for table in program.catalog().tables() {
            for _ in 0..dice.below(4) {
                let statement = insert(table, &numbers, &mut dice);
                let before = database.clone();
                if !execute(&mut database, session, &statement) {
                    continue;
                }
                // A row that breaks the rule is mostly taken back, so that most databases keep it.
                if holds(&database, rule) != Some(true) && dice.below(4) > 0 {
                    database = before;
                    continue;
                }
                log.push(statement);
            }
        }
        if holds(&database, rule) != Some(true) {
            continue;
        }
        let def = program.catalog().routine(id);
        let inputs = def.params.iter().filter(|p| p.mode != ParamMode::Out || def.procedure);
        let args: Vec<String> =
            inputs.map(|p| format!("{}::{}", value(p.ty, true, &numbers, &mut dice), p.ty)).collect();
        let verb = if def.procedure { "CALL" } else { "SELECT" };
        let call = format!("{verb} {}({})", def.name, args.join(", "));
        log.push(call.clone());
        if execute(&mut database, session, &call) {
            tried.went_well += 1;
        }
        if holds(&database, rule) != Some(true) {
            tried.broken = Some(log.join(";\n"));
            return tried;
        }
    }
    tried
}

/// Rows and arguments by chance, whatever the rule says about them.
pub(crate) fn database(program: &Program, id: RoutineId, dice: &mut Dice) -> (Database, Vec<(Value, Type)>) {
    let numbers = numbers(&program.source);
    let mut database = emptied(program);
    let session = database.open_session();
    for table in program.catalog().tables() {
        for _ in 0..dice.below(4) {
            execute(&mut database, session, &insert(table, &numbers, dice));
        }
    }
    let def = program.catalog().routine(id);
    let inputs = def.params.iter().filter(|p| p.mode != ParamMode::Out);
    let mut args = Vec::new();
    for param in inputs {
        let text = format!("SELECT {}::{}", value(param.ty, true, &numbers, dice), param.ty);
        let mut rows = super::compare::query(&mut database, session, &text);
        args.push((rows.remove(0).remove(0), param.ty));
    }
    (database, args)
}

fn emptied(program: &Program) -> Database {
    let mut database = program.database.clone();
    let session = database.open_session();
    let names: Vec<String> = program.catalog().tables().map(|table| table.name.to_string()).collect();
    assert!(execute(&mut database, session, &format!("TRUNCATE {}", names.join(", "))), "tables can be emptied");
    database
}

/// The numbers of a text and their neighbours, and some small ones.
fn numbers(source: &str) -> Vec<i64> {
    let words = source.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse::<i64>().ok());
    let mut all: Vec<i64> = words.filter(|n| *n < 1_000_000).flat_map(|n| [n - 1, n, n + 1]).collect();
    all.extend([-1, 0, 1, 2, 3, 0, 1, 2]);
    all
}

fn value(ty: Type, nullable: bool, numbers: &[i64], dice: &mut Dice) -> String {
    if nullable && dice.below(8) == 0 {
        return "NULL".into();
    }
    match ty.underlying().base() {
        Type::Bool => ["true", "false"][dice.below(2)].into(),
        Type::Int2 | Type::Int4 | Type::Int8 if dice.below(3) > 0 => (dice.below(4) as i64).to_string(),
        Type::Int2 | Type::Int4 | Type::Int8 | Type::Numeric(_) => dice.pick(numbers).to_string(),
        Type::Date => format!("'2000-01-0{}'", 1 + dice.below(4)),
        Type::Enum(user) => format!("'{}'", dice.pick(user.labels()).label),
        _ => format!("'{}'", dice.pick(&["a", "b", "c"])),
    }
}

fn insert(table: &Table, numbers: &[i64], dice: &mut Dice) -> String {
    let values: Vec<String> =
        table.columns.iter().map(|column| value(column.ty, !column.not_null, numbers, dice)).collect();
    format!("INSERT INTO {} VALUES ({})", table.name, values.join(", "))
}

/// Runs a statement; whether it went well.
pub(crate) fn execute(database: &mut Database, session: SessionId, text: &str) -> bool {
    let Some(statement) = parse::script(text).unwrap().pop() else { return false };
    let Ok(prepared) = database.prepare_in(session, &statement, text, &[]) else { return false };
    let mut reply = database.submit(session, &prepared, &[]);
    for _ in 0..5_000 {
        if let Some(reply) = reply {
            return reply.is_ok();
        }
        reply = database.step(session).reply;
    }
    // A loop without end commits nothing.
    false
}

fn holds(database: &Database, rule: &Rule) -> Option<bool> {
    let rows = database.query(&rule.prepared).ok()?;
    Some(rows.iter().all(|row| row.first().is_some_and(isolde_sql::Value::is_true)))
}
