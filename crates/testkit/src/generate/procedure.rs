//! Routines in PL/pgSQL: every kind of statement, loops that end, errors that are caught or not.
//!
//! A routine has the variables of [`VARIABLES`], a row `r` of the table, and counters for its loops. Later routines
//! call earlier ones, so nothing recurses.

use super::dice::Dice;
use super::expression::{Scope, condition, expression};
use super::schema::Kind;

/// What the routines work on.
pub(super) const SETUP: &[&str] = &[
    "CREATE TABLE item (id int PRIMARY KEY, n int NOT NULL CHECK (n >= 0), name text)",
    "CREATE TABLE log (k int, line text)",
    "INSERT INTO item VALUES (1, 10, 'ann'), (2, 0, 'bob'), (3, 5, NULL)",
];

/// The tables, for a last look.
pub(super) const TABLES: &[&str] = &["item", "log"];

const VARIABLES: &[(&str, Kind)] =
    &[("p", Kind::Int), ("x", Kind::Int), ("y", Kind::Int), ("s", Kind::Text), ("b", Kind::Bool), ("r.n", Kind::Int)];

/// How a routine is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `CALL`.
    Procedure,
    /// In an expression; returns an int.
    Function,
    /// In FROM; returns rows of an int and a text.
    Set,
}

/// A routine with one int parameter.
#[derive(Clone, Debug)]
pub(super) struct Routine {
    pub(super) name: String,
    pub(super) style: Style,
    pub(super) text: String,
}

/// The `number`th routine of a program, which may call those before it.
pub(super) fn routine(dice: &mut Dice, number: usize, before: &[Routine]) -> Routine {
    let style = *dice.pick(&[Style::Procedure, Style::Procedure, Style::Function, Style::Function, Style::Set]);
    let name = format!("{}{number}", if style == Style::Procedure { "p" } else { "f" });
    let body = Body { dice, style, before, lines: Vec::new(), loops: Vec::new(), loops_made: 0, handler: false };
    let text = body.routine(&name);
    Routine { name, style, text }
}

/// A block without a name.
pub(super) fn anonymous(dice: &mut Dice, before: &[Routine]) -> String {
    let style = Style::Procedure;
    let body = Body { dice, style, before, lines: Vec::new(), loops: Vec::new(), loops_made: 0, handler: false };
    format!("DO $$\n{}\n$$", body.block("DECLARE p int := 1;"))
}

/// A body under construction.
struct Body<'a> {
    dice: &'a mut Dice,
    style: Style,
    before: &'a [Routine],
    lines: Vec<String>,
    /// The labels of the loops that we are in.
    loops: Vec<String>,
    /// How many loops there are: each has a counter of its own, so all of them end.
    loops_made: usize,
    /// Whether we are in a handler.
    handler: bool,
}

impl Body<'_> {
    fn routine(self, name: &str) -> String {
        let head = match self.style {
            Style::Procedure => format!("CREATE PROCEDURE {name}(p int) LANGUAGE plpgsql AS $$"),
            Style::Function => format!("CREATE FUNCTION {name}(p int) RETURNS int LANGUAGE plpgsql AS $$"),
            Style::Set => {
                format!("CREATE FUNCTION {name}(p int) RETURNS TABLE (v int, t text) LANGUAGE plpgsql AS $$")
            }
        };
        format!("{head}\n{}\n$$", self.block("DECLARE"))
    }

    /// The outermost block.
    fn block(mut self, declare: &str) -> String {
        let count = 2 + self.dice.below(5);
        self.statements(count, 2);
        if self.style == Style::Function && !self.dice.one_in(12) {
            let value = self.int(1);
            self.line(format!("RETURN {value};"));
        }
        let counters: String = (0..self.loops_made).map(|i| format!(" k{i} int := 0;")).collect();
        let x = self.dice.pick(&["", " := 1", " NOT NULL := 2", " := p"]).to_string();
        format!(
            "{declare} x int{x}; y int; s text := 'a'; b boolean; r item%ROWTYPE;{counters}\nBEGIN\n{}\nEND",
            self.lines.join("\n")
        )
    }

    fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn int(&mut self, depth: usize) -> String {
        expression(self.dice, &Scope::variables(VARIABLES), Kind::Int, depth)
    }

    fn condition(&mut self) -> String {
        if self.dice.one_in(4) {
            return self.dice.pick(&["FOUND", "NOT FOUND"]).to_string();
        }
        condition(self.dice, &Scope::variables(VARIABLES), 1)
    }

    /// A small number or a variable: a key that may exist.
    fn key(&mut self) -> String {
        self.dice.pick(&["1", "1", "2", "3", "4", "p", "x", "y"]).to_string()
    }

    fn statements(&mut self, count: usize, depth: usize) {
        for _ in 0..count {
            self.statement(depth);
        }
    }

    /// A nested list of one or two statements.
    fn nested(&mut self, depth: usize) {
        let count = 1 + self.dice.below(2);
        self.statements(count, depth - 1);
    }

    fn statement(&mut self, depth: usize) {
        match self.dice.below(if depth > 0 { 26 } else { 17 }) {
            0..=2 => self.assign(),
            3 | 4 => self.select_into(),
            5..=8 => self.change(),
            9 => self.dynamic(),
            10 => self.perform(),
            11 => self.log(),
            12 => self.raise(),
            13 => self.call(),
            14 => self.leave(),
            15 => self.give_back(),
            16 => self.small(),
            17..=19 => self.branch(depth),
            20 => self.case(depth),
            21 | 22 => self.count_loop(depth),
            23 => self.row_loop(depth),
            _ => self.guarded(depth),
        }
    }

    fn assign(&mut self) {
        let scope = Scope::variables(VARIABLES);
        let (name, kind) = *self.dice.pick(&[
            ("x", Kind::Int),
            ("y", Kind::Int),
            ("y", Kind::Int),
            ("s", Kind::Text),
            ("b", Kind::Bool),
            ("r.n", Kind::Int),
        ]);
        let value = match self.dice.below(6) {
            0 if kind == Kind::Int => "(SELECT sum(n) FROM item)".to_string(),
            1 if kind == Kind::Bool => format!("EXISTS (SELECT 1 FROM item WHERE id = {})", self.key()),
            2 if kind == Kind::Int => format!("({} / {})", self.int(0), self.int(0)),
            _ => expression(self.dice, &scope, kind, 1),
        };
        self.line(format!("{name} := {value};"));
    }

    fn select_into(&mut self) {
        let strict = if self.dice.one_in(4) { "STRICT " } else { "" };
        let key = self.key();
        let locking = self.dice.pick(&["", "", "", " FOR UPDATE", " FOR SHARE"]).to_string();
        let line = match self.dice.below(4) {
            0 => format!("SELECT * INTO {strict}r FROM item WHERE id = {key}{locking};"),
            1 => format!("SELECT n, name INTO {strict}x, s FROM item WHERE id = {key}{locking};"),
            2 => "SELECT count(*), max(n) INTO x, y FROM item;".to_string(),
            _ => format!("SELECT n INTO {strict}y FROM item WHERE id >= {key} ORDER BY id{locking};"),
        };
        self.line(line);
    }

    /// INSERT, UPDATE, DELETE, some with RETURNING INTO.
    fn change(&mut self) {
        let (key, value) = (self.key(), self.int(1));
        let into = match self.dice.below(6) {
            0 => " RETURNING n INTO x",
            1 => " RETURNING id, name INTO STRICT y, s",
            2 => " RETURNING * INTO r",
            _ => "",
        };
        let line = match self.dice.below(7) {
            0 => format!("INSERT INTO item VALUES ({key}, {value}, s){into};"),
            1 => format!("INSERT INTO item VALUES ({key} + 1, 1, s) ON CONFLICT (id) DO UPDATE SET n = {value}{into};"),
            2 => format!("DELETE FROM item WHERE id = {key}{into};"),
            3 => format!("UPDATE item SET n = item.n + {value}{into};"),
            4 => format!("UPDATE item SET n = item.n - 1, name = s WHERE id >= {key}{into};"),
            _ => format!("UPDATE item SET n = {value} WHERE id = {key}{into};"),
        };
        self.line(line);
        if self.dice.one_in(4) {
            self.line("GET DIAGNOSTICS y = ROW_COUNT;");
        }
    }

    fn dynamic(&mut self) {
        let key = self.key();
        let line = match self.dice.below(4) {
            0 => format!("EXECUTE 'UPDATE item SET n = n + $1 WHERE id = $2' USING x, {key};"),
            1 => format!("EXECUTE format('SELECT %I FROM %I WHERE id = %L', 'n', 'item', {key}) INTO y;"),
            2 => "EXECUTE 'INSERT INTO log VALUES (' || x || ', ''dyn'')';".to_string(),
            _ => format!("EXECUTE 'SELECT * FROM item WHERE id = $1' INTO STRICT r USING {key};"),
        };
        self.line(line);
    }

    fn perform(&mut self) {
        let key = self.key();
        let locking = self.dice.pick(&["", "", " FOR UPDATE", " FOR KEY SHARE"]).to_string();
        self.line(format!("PERFORM n FROM item WHERE id = {key}{locking};"));
    }

    fn log(&mut self) {
        let k = self.int(0);
        self.line(format!("INSERT INTO log VALUES ({k}, s);"));
    }

    fn raise(&mut self) {
        let line = match self.dice.below(8) {
            0 | 1 => "RAISE NOTICE 'x is %, s is %', x, s;".to_string(),
            2 => format!("RAISE EXCEPTION 'no % and %', {}, b;", self.int(0)),
            3 => "RAISE EXCEPTION 'coded' USING ERRCODE = '22012';".to_string(),
            4 => "RAISE unique_violation USING MESSAGE = 'made up';".to_string(),
            5 if self.handler => "RAISE;".to_string(),
            6 => format!("ASSERT {}, 'asserted';", self.condition()),
            _ => "RAISE WARNING '100%% of %', y;".to_string(),
        };
        self.line(line);
    }

    fn call(&mut self) {
        if self.before.is_empty() {
            return self.log();
        }
        let callee = self.dice.pick(self.before).clone();
        let argument = self.int(0);
        let line = match callee.style {
            Style::Procedure => format!("CALL {}({argument});", callee.name),
            Style::Function if self.dice.one_in(3) => format!("PERFORM {}({argument});", callee.name),
            Style::Function => format!("y := {}({argument});", callee.name),
            Style::Set => format!("SELECT q.v, q.t INTO x, s FROM {}({argument}) AS q ORDER BY q.v, q.t;", callee.name),
        };
        self.line(line);
    }

    /// EXIT or CONTINUE, if there is a loop to leave.
    fn leave(&mut self) {
        let Some(label) = self.loops.last().cloned() else { return self.assign() };
        let label = if self.dice.one_in(3) { format!(" {}", self.dice.pick(&self.loops)) } else { format!(" {label}") };
        let label = if self.dice.one_in(2) { String::new() } else { label };
        let word = *self.dice.pick(&["EXIT", "CONTINUE"]);
        let condition = self.condition();
        self.line(format!("{word}{label} WHEN {condition};"));
    }

    /// RETURN in its forms, or a row of the result.
    fn give_back(&mut self) {
        let value = self.int(0);
        let line = match self.style {
            Style::Procedure if self.dice.one_in(3) => "RETURN;".to_string(),
            Style::Function if self.dice.one_in(3) => format!("RETURN {value};"),
            Style::Set => match self.dice.below(4) {
                0 => "RETURN QUERY SELECT item.n, item.name FROM item ORDER BY item.id;".to_string(),
                1 => "RETURN;".to_string(),
                _ => format!("v := {value}; t := s; RETURN NEXT;"),
            },
            _ => return self.change(),
        };
        self.line(line);
    }

    fn small(&mut self) {
        let line = match self.dice.below(4) {
            0 if self.style == Style::Procedure => "COMMIT;",
            1 if self.style == Style::Procedure => "ROLLBACK;",
            2 => "GET DIAGNOSTICS x = ROW_COUNT;",
            _ => "NULL;",
        };
        self.line(line);
    }

    fn branch(&mut self, depth: usize) {
        let condition = self.condition();
        self.line(format!("IF {condition} THEN"));
        self.nested(depth);
        if self.dice.one_in(3) {
            let condition = self.condition();
            self.line(format!("ELSIF {condition} THEN"));
            self.nested(depth);
        }
        if self.dice.one_in(2) {
            self.line("ELSE");
            self.nested(depth);
        }
        self.line("END IF;");
    }

    fn case(&mut self, depth: usize) {
        let searched = self.dice.one_in(2);
        self.line(if searched { "CASE" } else { "CASE x" });
        for _ in 0..1 + self.dice.below(2) {
            let when = if searched { self.condition() } else { self.dice.pick(&["1", "0, 2", "y", "10"]).to_string() };
            self.line(format!("WHEN {when} THEN"));
            self.nested(depth);
        }
        if !self.dice.one_in(3) {
            self.line("ELSE");
            self.nested(depth);
        }
        self.line("END CASE;");
    }

    /// LOOP, WHILE and FOR over numbers.
    fn count_loop(&mut self, depth: usize) {
        let number = self.loops_made;
        self.loops_made += 1;
        let label = format!("l{number}");
        let head = match self.dice.below(4) {
            0 => format!("LOOP k{number} := k{number} + 1; EXIT WHEN k{number} > 2;"),
            1 => {
                let condition = self.condition();
                format!("WHILE k{number} < 2 AND {condition} LOOP k{number} := k{number} + 1;")
            }
            2 => format!("FOR i IN REVERSE 2..{} LOOP", self.dice.pick(&["1", "0", "3", "least(x, 1)"])),
            _ => format!("FOR i IN {} LOOP", self.dice.pick(&["1..2", "x..x + 1", "0..4 BY 2", "2..1", "y..1"])),
        };
        self.line(format!("<<{label}>>\n{head}"));
        self.loops.push(label);
        self.nested(depth);
        self.loops.pop();
        self.line("END LOOP;");
    }

    fn row_loop(&mut self, depth: usize) {
        let number = self.loops_made;
        self.loops_made += 1;
        let label = format!("l{number}");
        let query = match self.dice.below(3) {
            0 => format!("SELECT * FROM item WHERE id <= {} ORDER BY id FOR UPDATE", self.key()),
            _ => format!("SELECT * FROM item WHERE id >= {} ORDER BY id DESC", self.key()),
        };
        self.line(format!("<<{label}>>\nFOR r IN {query} LOOP"));
        self.loops.push(label);
        self.nested(depth);
        self.loops.pop();
        self.line("END LOOP;");
    }

    /// A block with handlers.
    fn guarded(&mut self, depth: usize) {
        self.line("BEGIN");
        self.nested(depth);
        self.line("EXCEPTION");
        let was = std::mem::replace(&mut self.handler, true);
        if self.dice.one_in(2) {
            let named = [
                "unique_violation",
                "check_violation OR not_null_violation",
                "division_by_zero",
                "SQLSTATE 'P0001'",
                "no_data_found OR too_many_rows",
                "integrity_constraint_violation",
            ];
            let named = *self.dice.pick(&named);
            self.line(format!("WHEN {named} THEN"));
            self.nested(depth);
        }
        if !self.dice.one_in(3) {
            self.line("WHEN OTHERS THEN");
            self.line("INSERT INTO log VALUES (1, SQLSTATE || ' ' || SQLERRM);");
            self.nested(depth);
        } else {
            self.line("WHEN data_exception THEN NULL;");
        }
        self.handler = was;
        self.line("END;");
    }
}
