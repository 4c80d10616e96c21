//! Procedures and rules by chance: every "safe" must survive being called, every "unsafe" has been seen.
//!
//! `PROVE_FUZZ=5000 cargo test -p isolde-prove --test fuzz` looks at more of them, `PROVE_FUZZ_FROM=100000` at others, `PROVE_SEED` at one.

#![allow(clippy::unwrap_used)]

mod support;

use isolde_prove::{Limits, Verdict, decide};
use isolde_smt::Solver;
use std::time::Duration;
use support::chance::{Dice, try_out};

const SCHEMA: &str = "
CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL, b int);
CREATE TABLE u (id int PRIMARY KEY, t int, n int NOT NULL);
CREATE TABLE v (id int PRIMARY KEY, t int NOT NULL REFERENCES t ON DELETE CASCADE, n int UNIQUE);
";

const RULES: &[&str] = &[
    "SELECT a >= 0 FROM t",
    "SELECT b IS NULL OR b <= 2 FROM t",
    "SELECT bool_and(a <= 3) FROM t",
    "SELECT NOT EXISTS (SELECT 1 FROM t x, t y WHERE x.id < y.id AND x.a = y.a)",
    "SELECT NOT EXISTS (SELECT 1 FROM u WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.id = u.t))",
    "SELECT a >= (SELECT count(*) FROM u WHERE u.t = t.id) FROM t",
    "SELECT a = (SELECT COALESCE(sum(n), 0) FROM u WHERE u.t = t.id) FROM t",
    "SELECT n IS NULL OR n >= 0 FROM v",
    "SELECT t IN (SELECT id FROM t) FROM v",
    "SELECT count(*) = 0 FROM u WHERE n > 2",
];

#[test]
fn what_is_proved_survives_chance() {
    let Ok(solver) = Solver::from_environment() else {
        eprintln!("skipped: there is no solver (install z3)");
        return;
    };
    let count: u64 = std::env::var("PROVE_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(25);
    let from: u64 = std::env::var("PROVE_FUZZ_FROM").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let only: Option<u64> = std::env::var("PROVE_SEED").ok().and_then(|n| n.parse().ok());
    let limits = Limits { timeout: Duration::from_secs(5), rounds_max: 2, guards: false };
    let (mut safe, mut unsafe_, mut bounded, mut unknown, mut runs) = (0, 0, 0, 0, 0);
    for seed in only.map_or(from..from + count, |seed| seed..seed + 1) {
        let text = program(seed);
        let loaded = support::load(&text);
        let (id, _) = loaded.program.catalog().routines_by_name("p").next().unwrap();
        let rule = &loaded.program.rules[0];
        let outcome = decide(&loaded.program, id, rule, &solver, &limits).unwrap();
        if only.is_some() {
            eprintln!("{text}\n{:?}", outcome.verdict);
        }
        match outcome.verdict {
            Verdict::Safe(how) => {
                safe += 1;
                let tried = try_out(&loaded.program, id, rule, 150, seed);
                runs += tried.went_well;
                assert!(
                    tried.broken.is_none(),
                    "seed {seed}: called safe ({how}), but:\n{}\n{text}",
                    tried.broken.unwrap_or_default()
                );
            }
            Verdict::Unsafe(_) => unsafe_ += 1,
            Verdict::Bounded(..) => bounded += 1,
            Verdict::Unknown(reason) => {
                unknown += 1;
                eprintln!("seed {seed}: unknown, {}", reason.what);
            }
        }
    }
    eprintln!("{safe} safe ({runs} calls went well), {unsafe_} unsafe, {bounded} bounded, {unknown} unknown");
    assert!(only.is_some() || safe > 0 && unsafe_ > 0, "both answers occur");
}

/// A procedure and a rule.
fn program(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let mut writer = Writer { dice: &mut dice, loops: 0, cursors: 0 };
    let body = writer.block(2, 1);
    let rule = RULES[writer.dice.below(RULES.len())];
    format!(
        "{SCHEMA}CREATE PROCEDURE p(p int, q int) LANGUAGE plpgsql AS $$\nDECLARE x int; y int := 1; c bigint;\nBEGIN\n{body}END $$;\n\
         --@ rule r\n{rule};\n"
    )
}

struct Writer<'d> {
    dice: &'d mut Dice,
    loops: usize,
    cursors: usize,
}

impl Writer<'_> {
    fn block(&mut self, depth: usize, indent: usize) -> String {
        (0..1 + self.dice.below(3)).map(|_| self.statement(depth, indent)).collect()
    }

    fn statement(&mut self, depth: usize, indent: usize) -> String {
        let pad = "  ".repeat(indent);
        let kinds = if depth == 0 { 9 } else { 14 };
        match self.dice.below(kinds) {
            0 => format!("{pad}{} := {};\n", self.variable(), self.value()),
            1 => format!(
                "{pad}SELECT {} INTO x FROM t WHERE {};\n",
                self.dice.pick(&["a", "b", "id", "a + 1"]),
                self.condition("t")
            ),
            2 => format!("{pad}SELECT n INTO y FROM {} WHERE {};\n", self.dice.pick(&["u", "v"]), self.on_child()),
            3 => format!(
                "{pad}UPDATE t SET {} = {} WHERE {};\n",
                self.dice.pick(&["a", "b"]),
                self.value_of("t"),
                self.condition("t")
            ),
            4 => format!(
                "{pad}UPDATE u SET {} = {} WHERE {};\n",
                self.dice.pick(&["t", "n"]),
                self.value_of("u"),
                self.on_child()
            ),
            5 => {
                let conflict = self.dice.pick(&[
                    "",
                    "",
                    " ON CONFLICT DO NOTHING",
                    " ON CONFLICT (id) DO UPDATE SET a = excluded.a",
                ]);
                format!("{pad}INSERT INTO t VALUES ({}, {}, {}){conflict};\n", self.value(), self.value(), self.value())
            }
            6 => format!(
                "{pad}INSERT INTO {} VALUES ({}, {}, {});\n",
                self.dice.pick(&["u", "v"]),
                self.value(),
                self.value(),
                self.value()
            ),
            7 => match self.dice.below(3) {
                0 => format!("{pad}DELETE FROM t WHERE {};\n", self.condition("t")),
                1 => format!("{pad}DELETE FROM u WHERE {};\n", self.on_child()),
                _ => format!("{pad}DELETE FROM u WHERE t = {};\n", self.value()),
            },
            8 => match self.dice.below(3) {
                0 => format!(
                    "{pad}SELECT count(*) INTO c FROM u WHERE t = {};\n{pad}IF c >= {} THEN RETURN; END IF;\n",
                    self.value(),
                    self.value()
                ),
                1 => format!("{pad}SELECT sum(n) INTO c FROM u WHERE t = {};\n", self.value()),
                _ => format!("{pad}SELECT max(a) INTO x FROM t;\n"),
            },
            9 | 10 => {
                let condition = self.test();
                let then = self.block(depth - 1, indent + 1);
                let otherwise = match self.dice.below(2) {
                    0 => String::new(),
                    _ => format!("{pad}ELSE\n{}", self.block(depth - 1, indent + 1)),
                };
                format!("{pad}IF {condition} THEN\n{then}{otherwise}{pad}END IF;\n")
            }
            11 => {
                let body = self.block(depth - 1, indent + 1);
                let caught = self
                    .dice
                    .pick(&["OTHERS", "unique_violation", "division_by_zero", "not_null_violation"])
                    .to_string();
                let handler = self.block(0, indent + 1);
                format!("{pad}BEGIN\n{body}{pad}EXCEPTION WHEN {caught} THEN\n{handler}{pad}END;\n")
            }
            12 if self.loops < 1 => {
                self.loops += 1;
                let body = self.block(depth - 1, indent + 1);
                format!("{pad}FOR i IN 1..{} LOOP\n{body}{pad}END LOOP;\n", self.dice.pick(&["2", "q", "p"]))
            }
            13 if self.loops < 1 => {
                self.loops += 1;
                self.cursors += 1;
                let body = self.block(depth - 1, indent + 1);
                let inside =
                    format!("{pad}  UPDATE t SET a = {} WHERE id = y;\n", self.dice.pick(&["x", "x + 1", "p", "0"]));
                let body = if self.dice.below(2) == 0 { inside } else { body };
                format!(
                    "{pad}FOR x, y IN SELECT a, id FROM t WHERE {} LOOP\n{body}{pad}END LOOP;\n",
                    self.condition("t")
                )
            }
            _ => format!("{pad}IF NOT FOUND THEN RAISE EXCEPTION 'none'; END IF;\n"),
        }
    }

    fn variable(&mut self) -> &'static str {
        ["x", "y"][self.dice.below(2)]
    }

    /// Something that does not depend on a row.
    fn value(&mut self) -> String {
        match self.dice.below(8) {
            0 => "0".into(),
            1 => self.dice.below(4).to_string(),
            2 | 3 => "p".into(),
            4 => "q".into(),
            5 => self.variable().into(),
            6 => format!("{} + 1", self.variable()),
            _ => self
                .dice
                .pick(&["q / p", "p - 1", "COALESCE(x, 0)", "abs(q)", "GREATEST(p, 0)", "x * 2", "NULL"])
                .to_string(),
        }
    }

    /// Something that may.
    fn value_of(&mut self, table: &str) -> String {
        let columns: &[&str] =
            if table == "t" { &["a", "b", "a + 1", "a - 1", "LEAST(a, 3)"] } else { &["n", "t", "n + 1"] };
        if self.dice.below(2) == 0 { self.dice.pick(columns).to_string() } else { self.value() }
    }

    fn on_child(&mut self) -> String {
        match self.dice.below(4) {
            0 | 1 => format!("id = {}", self.value()),
            2 => format!("t = {} AND n > {}", self.value(), self.value()),
            _ => format!("n = {}", self.value()),
        }
    }

    fn condition(&mut self, _table: &str) -> String {
        match self.dice.below(8) {
            0..=3 => format!("id = {}", self.value()),
            4 => format!("a {} {}", self.compare(), self.value()),
            5 => format!("id = {} AND a {} {}", self.value(), self.compare(), self.value()),
            6 => format!("b {} {}", self.compare(), self.value()),
            _ => "EXISTS (SELECT 1 FROM u WHERE u.t = t.id AND u.n > 0)".into(),
        }
    }

    fn compare(&mut self) -> &'static str {
        ["=", "<", "<=", ">", ">=", "<>"][self.dice.below(6)]
    }

    fn test(&mut self) -> String {
        match self.dice.below(6) {
            0 => "FOUND".into(),
            1 => format!("EXISTS (SELECT 1 FROM t WHERE {})", self.condition("t")),
            2 => format!("{} IN (SELECT t FROM u)", self.value()),
            3 => format!("{} {} {} AND {} >= 0", self.value(), self.compare(), self.value(), self.value()),
            _ => format!("{} {} {}", self.value(), self.compare(), self.value()),
        }
    }
}
