//! Queries that nobody would write, on both sides.
//!
//! Joins of all kinds, conditions that fit no index, one or several; correlated subqueries, groups, set operations:
//! whatever the planner does with them, the answer must be PostgreSQL's. `QUERIES=5000` looks harder, `SEED=7`
//! elsewhere.

use isolde_testkit::generate::Dice;

use super::*;

const TABLES: &str = "
    CREATE TABLE a (x int PRIMARY KEY, y int, z int);
    CREATE TABLE b (x int, y int, z int);
    CREATE INDEX b_y ON b (y);
    CREATE TABLE c (x int, y int, z int, PRIMARY KEY (x, y));
    CREATE INDEX c_z ON c (z, x);";

/// Rows with few different values, so that conditions match, and NULLs.
fn contents(dice: &mut Dice) -> String {
    let mut small = |nullable: bool| match dice.below(7) {
        6 if nullable => "NULL".to_string(),
        n => n.to_string(),
    };
    let mut script = TABLES.to_string();
    for x in 0..12 {
        writeln!(script, "INSERT INTO a VALUES ({x}, {}, {});", small(true), small(true)).unwrap();
        writeln!(script, "INSERT INTO b VALUES ({}, {}, {});", small(true), small(true), small(true)).unwrap();
        writeln!(script, "INSERT INTO b VALUES ({}, {}, {});", small(true), small(true), small(true)).unwrap();
        writeln!(script, "INSERT INTO c VALUES ({}, {}, {});", x / 4, x % 4, small(true)).unwrap();
    }
    // Some rows move to the end of the heap.
    script + "UPDATE a SET z = z WHERE x % 3 = 0; UPDATE b SET z = z WHERE y = 2; DELETE FROM b WHERE x = 5;"
}

struct Generator<'d> {
    dice: &'d mut Dice,
    aliases: usize,
}

impl Generator<'_> {
    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("t{}", self.aliases)
    }

    /// A query; `scope` are the relations around it. Columns are called `x`, `y`, `z` everywhere.
    fn query(&mut self, scope: &[String], depth: usize) -> String {
        if depth > 0 && self.dice.one_in(8) {
            let op = *self.dice.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL"]);
            return format!("({}) {op} ({})", self.select(scope, depth - 1), self.select(scope, depth - 1));
        }
        self.select(scope, depth)
    }

    fn select(&mut self, scope: &[String], depth: usize) -> String {
        let mut own = Vec::new();
        let from = self.from(scope, &mut own, depth);
        let all: Vec<String> = scope.iter().chain(&own).cloned().collect();
        let filter = if self.dice.one_in(4) { "true".into() } else { self.condition(&all, depth) };
        if self.dice.one_in(4) {
            let key = self.column(&own);
            let (sum, least) = (self.number(&own, 0), self.number(&own, 0));
            let having = self.dice.below(3);
            return format!(
                "SELECT {key} AS x, sum({sum}) AS y, min({least}) AS z FROM {from} WHERE {filter} \
                 GROUP BY {key} HAVING count(*) > {having}"
            );
        }
        let distinct = if self.dice.one_in(5) { "DISTINCT " } else { "" };
        let (x, y, z) = (self.number(&all, depth), self.number(&all, depth), self.number(&own, 0));
        let limit = match self.dice.below(6) {
            0 => " ORDER BY 1, 2, 3 LIMIT 3",
            1 => " ORDER BY 1 DESC, 2, 3 DESC LIMIT 4 OFFSET 2",
            _ => "",
        };
        format!("SELECT {distinct}{x} AS x, {y} AS y, {z} AS z FROM {from} WHERE {filter}{limit}")
    }

    fn from(&mut self, scope: &[String], own: &mut Vec<String>, depth: usize) -> String {
        let mut from = self.relation(scope, own, depth);
        for _ in 0..self.dice.below(3) {
            let before = own.clone();
            match self.dice.below(8) {
                0 => {
                    let right = self.relation(scope, own, depth);
                    from = format!("{from} CROSS JOIN {right}");
                }
                1 if depth > 0 => {
                    let inner: Vec<String> = scope.iter().chain(&before).cloned().collect();
                    let query = self.query(&inner, depth - 1);
                    let alias = self.alias();
                    own.push(alias.clone());
                    from = format!("{from} LEFT JOIN LATERAL ({query}) {alias} ON true");
                }
                2 => {
                    let right = self.relation(scope, own, depth);
                    let (l, r) = (self.column(&before), self.column(&own[before.len()..]));
                    from = format!("{from} FULL JOIN {right} ON {l} = {r}");
                }
                _ => {
                    let kind = *self.dice.pick(&["INNER", "LEFT", "RIGHT"]);
                    let right = self.joined(scope, own, depth);
                    let (l, r) = (self.column(&before), self.column(&own[before.len()..]));
                    let more = if self.dice.one_in(2) { self.condition(own, 0) } else { "true".into() };
                    from = format!("{from} {kind} JOIN {right} ON {l} = {r} AND {more}");
                }
            }
        }
        from
    }

    /// The right side of a join: a relation, or a join in parentheses.
    fn joined(&mut self, scope: &[String], own: &mut Vec<String>, depth: usize) -> String {
        if !self.dice.one_in(5) {
            return self.relation(scope, own, depth);
        }
        let before = own.len();
        let left = self.relation(scope, own, depth);
        let right = self.relation(scope, own, depth);
        let kind = *self.dice.pick(&["INNER", "LEFT", "RIGHT"]);
        let condition = self.condition(&own[before..], 0);
        format!("({left} {kind} JOIN {right} ON {condition})")
    }

    fn relation(&mut self, scope: &[String], own: &mut Vec<String>, depth: usize) -> String {
        let alias = self.alias();
        own.push(alias.clone());
        match self.dice.below(10) {
            0 if depth > 0 => format!("({}) {alias}", self.query(scope, depth - 1)),
            1 => format!("(VALUES (1, 2, 3), (4, NULL, 0), (2, 2, 2)) {alias}(x, y, z)"),
            n => format!("{} {alias}", ["a", "b", "c"][n % 3]),
        }
    }

    fn column(&mut self, scope: &[String]) -> String {
        format!("{}.{}", self.dice.pick(scope).clone(), *self.dice.pick(&["x", "y", "z"]))
    }

    fn number(&mut self, scope: &[String], depth: usize) -> String {
        match self.dice.below(12) {
            0 => self.dice.below(6).to_string(),
            1 => format!("{} + {}", self.column(scope), self.dice.below(3)),
            2 => format!("coalesce({}, {})", self.column(scope), self.column(scope)),
            3 => format!("CASE WHEN {} THEN {} ELSE 0 END", self.condition(scope, 0), self.column(scope)),
            4 if depth > 0 => {
                let alias = self.alias();
                let inner: Vec<String> = scope.iter().cloned().chain([alias.clone()]).collect();
                let condition = self.condition(&inner, depth - 1);
                let table = *self.dice.pick(&["a", "b", "c"]);
                format!("(SELECT max({alias}.y) FROM {table} {alias} WHERE {condition})")
            }
            _ => self.column(scope),
        }
    }

    fn condition(&mut self, scope: &[String], depth: usize) -> String {
        let op = *self.dice.pick(&["=", "=", "=", "<", ">=", "<>", "<=", ">"]);
        match self.dice.below(14) {
            0 => format!("{} IS NULL", self.column(scope)),
            1 => format!("{} IS NOT NULL", self.column(scope)),
            2 => format!("{} IN (1, 3, {})", self.column(scope), self.column(scope)),
            3 => format!("{} NOT IN (1, 3)", self.column(scope)),
            4 => format!("({} BETWEEN 1 AND {})", self.column(scope), self.dice.below(9)),
            5 => format!("({} AND {})", self.condition(scope, depth), self.condition(scope, depth)),
            6 => format!("({} OR {})", self.condition(scope, depth), self.condition(scope, depth)),
            7 => format!("NOT ({})", self.condition(scope, depth)),
            8 if depth > 0 => format!("EXISTS ({})", self.query(scope, depth - 1)),
            9 if depth > 0 => {
                let not = *self.dice.pick(&["", "NOT "]);
                let query = self.query(scope, depth - 1);
                format!("{} {not}IN (SELECT q.y FROM ({query}) q)", self.column(scope))
            }
            10 if depth > 0 => {
                let how = *self.dice.pick(&["ANY", "ALL"]);
                let query = self.query(scope, depth - 1);
                format!("{} {op} {how} (SELECT q.z FROM ({query}) q)", self.column(scope))
            }
            11 => format!("{} {op} {}", self.column(scope), self.dice.below(7)),
            _ => format!("{} {op} {}", self.column(scope), self.column(scope)),
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn generated_queries_on_postgresql() {
    let cluster = Cluster::start().expect("./test installs PostgreSQL where it is missing");
    let database = cluster.create_database().unwrap();
    let mut session = cluster.connect(&database, "-c statement_timeout=50").unwrap();
    let dice = &mut Dice::new(setting("SEED", 1));
    let script = contents(dice);
    session.execute(&script).unwrap();
    let mut fixture = Fixture::new(&script);
    for _ in 0..setting("QUERIES", 60) {
        let sql = Generator { dice: &mut *dice, aliases: 0 }.query(&[], 2);
        let mut expected: Vec<String> = session.query(&sql).unwrap().into_iter().flat_map(lines).collect();
        // What takes the server long is a large product, and says nothing more.
        if expected.iter().any(|l| l.starts_with("ERROR 57014")) {
            continue;
        }
        let actual = fixture.show(&sql);
        let mut actual: Vec<&str> = actual.lines().collect();
        expected.sort();
        actual.sort();
        assert_eq!(actual, expected, "here and on the server:\n{sql}");
    }
}
