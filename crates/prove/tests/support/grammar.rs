//! Programs by chance: a schema, a procedure and a rule.
//!
//! Everything that `prove` models has a place here: narrow types, foreign keys with every action and deferral, keys
//! that move, INTO with fewer and more columns than variables, RETURNING, records, handlers, COMMIT and ROLLBACK,
//! calls, loops. What is generated may fail when it is run; that is what handlers are for.

use super::chance::Dice;

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
    "SELECT v.id >= 0 FROM v",
    "SELECT NOT EXISTS (SELECT 1 FROM u x, u y WHERE x.id <> y.id AND x.t = y.t AND x.n > 0 AND y.n > 0)",
];

/// A procedure `p` and a rule.
pub(crate) fn program(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let schema = schema(&mut dice);
    let mut writer = Writer { dice: &mut dice, loops: 0, handlers: 0 };
    let body = writer.block(2, 1);
    let rule = RULES[writer.dice.below(RULES.len())];
    format!(
        "{schema}CREATE PROCEDURE p(p int, q int) LANGUAGE plpgsql AS $$\nDECLARE x int; y int := 1; c bigint; s smallint := 1; r record; l t%ROWTYPE; \
         m timestamptz := now();\nBEGIN\n{body}END $$;\n--@ rule r\n{rule};\n"
    )
}

/// Three tables and two routines, with whatever constraints.
fn schema(dice: &mut Dice) -> String {
    let number = |dice: &mut Dice| *dice.pick(&["int", "int", "smallint", "bigint"]);
    let (a, b, n) = (number(dice), number(dice), number(dice));
    let check = dice.pick(&["", "", ", CHECK (a < 100)", ", CHECK (b IS NULL OR b >= -5)"]);
    let key = dice.pick(&["PRIMARY KEY", "PRIMARY KEY", "PRIMARY KEY DEFERRABLE"]);
    // A foreign key needs a key that is not deferrable.
    let delete =
        dice.pick(&["", "", " ON DELETE CASCADE", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON DELETE RESTRICT"]);
    let update = dice.pick(&["", "", "", " ON UPDATE CASCADE", " ON UPDATE SET NULL", " ON UPDATE RESTRICT"]);
    let deferral = dice.pick(&["", "", " DEFERRABLE INITIALLY DEFERRED", " DEFERRABLE"]);
    let null = if delete.contains("NULL") || update.contains("NULL") { "" } else { " NOT NULL" };
    let points = if key.contains("DEFERRABLE") {
        format!("t int{null}")
    } else {
        format!("t int{null} REFERENCES t{delete}{update}{deferral}")
    };
    let index = dice.pick(&[
        "",
        "",
        "CREATE UNIQUE INDEX one ON u (t) WHERE n > 0;\n",
        "CREATE UNIQUE INDEX one ON u ((n % 2), t);\n",
    ]);
    let unique = dice.pick(&["", " UNIQUE", " UNIQUE DEFERRABLE INITIALLY DEFERRED"]);
    format!(
        "CREATE TABLE t (id int {key}, a {a} NOT NULL, b {b}{check});
CREATE TABLE u (id int PRIMARY KEY, t int, n {n} NOT NULL);
CREATE TABLE v (id int PRIMARY KEY, {points}, n int{unique});
{index}CREATE FUNCTION f(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE u SET n = n + 1 WHERE id = i; IF i > 2 THEN RETURN NULL; END IF; RETURN i + 1; END $$;
CREATE FUNCTION nothing(i int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN DELETE FROM u WHERE id = i; END $$;
CREATE FUNCTION endless(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF i > 0 THEN RETURN 1; END IF; END $$;
CREATE PROCEDURE g(i int, INOUT o int) LANGUAGE plpgsql AS $$ BEGIN o := o + i; UPDATE t SET a = o WHERE id = i; END $$;
"
    )
}

struct Writer<'d> {
    dice: &'d mut Dice,
    loops: usize,
    handlers: usize,
}

impl Writer<'_> {
    fn block(&mut self, depth: usize, indent: usize) -> String {
        (0..1 + self.dice.below(3)).map(|_| self.statement(depth, indent)).collect()
    }

    fn statement(&mut self, depth: usize, indent: usize) -> String {
        let pad = "  ".repeat(indent);
        let kinds = if depth == 0 { 22 } else { 30 };
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
            9..22 => self.more(pad),
            22 | 23 => {
                let condition = self.test();
                let then = self.block(depth - 1, indent + 1);
                let otherwise = match self.dice.below(2) {
                    0 => String::new(),
                    _ => format!("{pad}ELSE\n{}", self.block(depth - 1, indent + 1)),
                };
                format!("{pad}IF {condition} THEN\n{then}{otherwise}{pad}END IF;\n")
            }
            24..27 => {
                self.handlers += 1;
                let body = self.block(depth - 1, indent + 1);
                self.handlers -= 1;
                let caught = self
                    .dice
                    .pick(&[
                        "OTHERS",
                        "OTHERS",
                        "unique_violation",
                        "division_by_zero",
                        "not_null_violation",
                        "numeric_value_out_of_range",
                        "foreign_key_violation",
                        "restrict_violation",
                        "check_violation",
                        "no_data_found OR too_many_rows",
                        "integrity_constraint_violation",
                        "cardinality_violation",
                    ])
                    .to_string();
                let handler = self.block(0, indent + 1);
                format!("{pad}BEGIN\n{body}{pad}EXCEPTION WHEN {caught} THEN\n{handler}{pad}END;\n")
            }
            27 if self.loops < 1 => {
                self.loops += 1;
                let body = self.block(depth - 1, indent + 1);
                format!("{pad}FOR i IN 1..{} LOOP\n{body}{pad}END LOOP;\n", self.dice.pick(&["2", "q", "p"]))
            }
            28 if self.loops < 1 => {
                self.loops += 1;
                let body = self.block(depth - 1, indent + 1);
                let inside =
                    format!("{pad}  UPDATE t SET a = {} WHERE id = y;\n", self.dice.pick(&["x", "x + 1", "p", "0"]));
                let body = if self.dice.below(2) == 0 { inside } else { body };
                let columns = self.dice.pick(&["a, id", "a, id", "id", "a, id, b"]).to_string();
                format!(
                    "{pad}FOR x, y IN SELECT {columns} FROM t WHERE {} LOOP\n{body}{pad}END LOOP;\n",
                    self.condition("t")
                )
            }
            29 if self.loops < 1 => {
                self.loops += 1;
                let body = self.block(depth - 1, indent + 1);
                let out = self.dice.pick(&["EXIT WHEN x > 1", "CONTINUE WHEN x > 2", "EXIT WHEN NOT FOUND"]);
                format!(
                    "{pad}x := 0;\n{pad}WHILE x < 2 LOOP\n{pad}  x := x + 1;\n{pad}  {out};\n{body}{pad}END LOOP;\n"
                )
            }
            _ => format!("{pad}IF NOT FOUND THEN RAISE EXCEPTION 'none'; END IF;\n"),
        }
    }

    /// Statements that give several values, move keys, end transactions, call.
    fn more(&mut self, pad: String) -> String {
        match self.dice.below(26) {
            0 => format!("{pad}SELECT a INTO x, y FROM t WHERE {};\n", self.condition("t")),
            1 => format!("{pad}SELECT a, b, id INTO x, y FROM t WHERE {};\n", self.condition("t")),
            2 => format!("{pad}SELECT a, b INTO STRICT x, y FROM t WHERE {};\n", self.condition("t")),
            3 => format!("{pad}SELECT a INTO x FROM t WHERE {} ORDER BY a DESC, id LIMIT 1;\n", self.condition("t")),
            4 => format!(
                "{pad}UPDATE t SET b = {} WHERE {} RETURNING {} INTO x, y;\n",
                self.value_of("t"),
                self.condition("t"),
                self.dice.pick(&["a", "a, b", "b, a, id"])
            ),
            5 => format!("{pad}DELETE FROM u WHERE {} RETURNING n INTO x, y;\n", self.on_child()),
            6 => format!(
                "{pad}INSERT INTO u VALUES ({}, {}, {}) RETURNING n, t INTO x, y;\n",
                self.value(),
                self.value(),
                self.value()
            ),
            7 => format!(
                "{pad}SELECT {} INTO r FROM t WHERE {};\n{pad}x := r.a;\n",
                self.dice.pick(&["a, b", "a, b"]),
                self.condition("t")
            ),
            8 => format!("{pad}y := r.b;\n"),
            9 => format!(
                "{pad}SELECT {} INTO l FROM t WHERE {};\n{pad}x := l.a;\n{pad}y := l.b;\n",
                self.dice.pick(&["*", "id", "id, a"]),
                self.condition("t")
            ),
            10 => format!("{pad}UPDATE t SET id = id + 1 WHERE id > {};\n", self.value()),
            11 => format!("{pad}UPDATE t SET id = {} WHERE id = {};\n", self.value(), self.value()),
            12 if self.handlers == 0 => format!("{pad}{};\n", self.dice.pick(&["COMMIT", "COMMIT", "ROLLBACK"])),
            13 => format!(
                "{pad}IF now() <> m THEN UPDATE t SET a = {} WHERE id = {}; END IF;\n",
                self.value(),
                self.value()
            ),
            14 => format!(
                "{pad}{};\n",
                self.dice.pick(&[
                    "s := x",
                    "s := s * 181",
                    "s := -s - s",
                    "x := abs(s)",
                    "x := s * s",
                    "s := y + 32766",
                    "x := -s",
                    "s := q"
                ])
            ),
            15 => format!("{pad}CALL g({}, x);\n", self.value()),
            16 => format!("{pad}PERFORM {}({});\n", self.dice.pick(&["f", "nothing", "endless"]), self.value()),
            17 => format!("{pad}x := {}({});\n", self.dice.pick(&["f", "endless"]), self.value()),
            18 => format!(
                "{pad}UPDATE u SET n = {} WHERE {};\n{pad}GET DIAGNOSTICS c = ROW_COUNT;\n{pad}x := c;\n",
                self.value_of("u"),
                self.on_child()
            ),
            19 => format!("{pad}CASE {} WHEN 0 THEN x := 1; WHEN 1 THEN y := 2; END CASE;\n", self.value()),
            20 => format!("{pad}RAISE NOTICE '%', {};\n", self.value()),
            21 => format!("{pad}ASSERT {};\n", self.test()),
            22 => format!(
                "{pad}INSERT INTO u SELECT id + {}, id, a FROM t WHERE {};\n",
                self.value(),
                self.condition("t")
            ),
            23 => format!(
                "{pad}INSERT INTO t VALUES ({}, {}, {}), ({}, {}, NULL){};\n",
                self.value(),
                self.value(),
                self.value(),
                self.value(),
                self.value(),
                self.dice.pick(&["", " ON CONFLICT (id) DO UPDATE SET a = excluded.a", " ON CONFLICT DO NOTHING"])
            ),
            24 => match self.dice.below(3) {
                0 => format!("{pad}UPDATE t SET a = u.n FROM u WHERE u.t = t.id AND u.n > {};\n", self.value()),
                1 => format!("{pad}DELETE FROM u USING t WHERE t.id = u.t AND t.a > {};\n", self.value()),
                _ => format!("{pad}TRUNCATE u;\n"),
            },
            _ => match self.dice.below(4) {
                0 => format!("{pad}DELETE FROM v WHERE {};\n", self.on_child()),
                1 => format!("{pad}UPDATE v SET t = {} WHERE {};\n", self.value(), self.on_child()),
                2 => format!("{pad}UPDATE v SET n = {} WHERE t = {};\n", self.value(), self.value()),
                _ => format!("{pad}RAISE EXCEPTION '%', {};\n", self.value()),
            },
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
