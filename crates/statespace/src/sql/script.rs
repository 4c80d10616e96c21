//! Exploration as a script, for engines that are not linked.
//!
//! Spark SQL runs on many machines and takes SQL from a file. The script is the level-by-level form: every level is a
//! table of Parquet files, found by one statement from the one before, and a loop in the language of SQL scripts (Spark
//! 4) goes on until a level is empty. DuckDB's shell and psql get the closure, which is one statement there.

use super::{Dialect, Printer, Successor};
use crate::packed::Program;

/// A script that explores a program and says how many states each level has.
pub fn script(program: &Program, dialect: Dialect) -> String {
    let printer = Printer { dialect, layout: &program.layout, key: "k" };
    let successors: Vec<Successor> =
        (0..program.instances.len()).map(|place| printer.successor(program, place)).collect();
    let cases: Vec<String> = successors.iter().map(|s| format!("CASE WHEN {} THEN {} END", s.when, s.key)).collect();
    let left = program.constraint.as_ref().map_or("1 = 1".into(), |constraint| printer.condition(constraint));
    let initial: Vec<String> =
        program.initial.iter().map(|key| format!("({})", dialect.number(key.to_sql()))).collect();
    let parts = Parts { successors, cases, left, initial: initial.join(", "), broken: broken(program, &printer) };
    match dialect {
        Dialect::Spark => parts.levels(),
        _ => parts.closure(dialect),
    }
}

fn broken(program: &Program, printer: &Printer) -> String {
    let name = |name: &str| printer.dialect.text(name);
    let part = |(text, invariant): &(String, crate::packed::Expr)| {
        format!(
            "SELECT {} AS invariant, k FROM state WHERE k >= 0 AND NOT ({})",
            name(text),
            printer.condition(invariant)
        )
    };
    program.invariants.iter().map(part).collect::<Vec<_>>().join("\nUNION ALL ")
}

struct Parts {
    successors: Vec<Successor>,
    cases: Vec<String>,
    left: String,
    initial: String,
    broken: String,
}

impl Parts {
    /// With a loop.
    fn levels(&self) -> String {
        let source = format!("state WHERE lvl = level AND k >= 0 AND ({})", self.left);
        let each = Dialect::Spark.unnest(&self.cases, &source);
        let next = match self.cases.is_empty() {
            true => "SELECT k AS s FROM state WHERE 1 = 0".into(),
            false => format!("SELECT DISTINCT s FROM ({each}) x WHERE s IS NOT NULL"),
        };
        let broken = if self.broken.is_empty() { String::new() } else { format!("  {};\n", self.broken) };
        format!(
            "-- The states of each level, by Spark SQL 4 and later:\n\
             --   spark-sql --conf spark.sql.scripting.enabled=true -f THIS.sql\n\
             -- A negative k is a step that goes wrong.\n\
             BEGIN\n\
             \x20 DECLARE level INT DEFAULT 0;\n\
             \x20 DECLARE fresh BIGINT DEFAULT 1;\n\
             \x20 DROP TABLE IF EXISTS state;\n\
             \x20 CREATE TABLE state (k BIGINT, lvl INT) USING PARQUET PARTITIONED BY (lvl);\n\
             \x20 INSERT INTO state SELECT DISTINCT k, 0 FROM VALUES {} AS initial(k);\n\
             \x20 WHILE fresh > 0 DO\n\
             \x20   INSERT INTO state SELECT n.s, level + 1 FROM (\n{next}) n\n\
             \x20     LEFT ANTI JOIN state o ON o.k = n.s;\n\
             \x20   SET level = level + 1;\n\
             \x20   SET fresh = (SELECT count(*) FROM state WHERE lvl = level);\n\
             \x20 END WHILE;\n\
             {broken}\
             \x20 SELECT lvl, count(*) AS states FROM state GROUP BY lvl ORDER BY lvl;\n\
             END;\n",
            self.initial
        )
    }

    /// As one statement.
    fn closure(&self, dialect: Dialect) -> String {
        let step = match (self.cases.is_empty(), dialect) {
            (true, _) => String::new(),
            (false, Dialect::Sqlite) => {
                let left = &self.left;
                let term = |s: &Successor| {
                    format!("\n  UNION SELECT {} FROM r WHERE k >= 0 AND ({left}) AND ({})", s.key, s.when)
                };
                self.successors.iter().map(term).collect()
            }
            (false, _) => {
                let each = dialect.unnest(&self.cases, &format!("r WHERE k >= 0 AND ({})", self.left));
                format!("\n  UNION SELECT s FROM ({each}) x WHERE s IS NOT NULL")
            }
        };
        let broken = if self.broken.is_empty() { String::new() } else { format!("{};\n", self.broken) };
        format!(
            "-- All states. A negative k is a step that goes wrong.\n\
             CREATE TABLE state AS WITH RECURSIVE r(k) AS (SELECT * FROM (VALUES {}) initial{step})\nSELECT k FROM r;\n\
             {broken}SELECT count(*) AS states FROM state;\n",
            self.initial
        )
    }
}
