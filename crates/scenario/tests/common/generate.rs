//! Small scenarios from a seed: two to four threads that get into each other's way in every manner we know.
//!
//! Tables have three rows and keys lie between 1 and 4, so threads meet all the time. Each program has a *theme*, of
//! which it has much, and a little of everything else. What PostgreSQL leaves open is not generated: rows are found by
//! key or by an index, `LIMIT` comes with an order by key.

use isolde_testkit::generate::Dice;

use super::program::{Program, Thread};

/// From this seed on, all threads are serializable.
pub const SERIALIZABLE: u64 = 1 << 40;

/// From this seed on, statements have statements inside: WITH that writes, cursors that lock, EXECUTE, DO, CALL,
/// functions in FROM.
pub const INSIDE: u64 = 1 << 41;

/// The program of a seed.
pub fn generate(seed: u64) -> Program {
    let mut dice = Dice::new(seed);
    let all_serializable = (SERIALIZABLE..INSIDE).contains(&seed);
    let theme = if seed >= INSIDE { Theme::Inside } else { *dice.pick(THEMES) };
    let mut setup = setup(&mut dice, theme);
    if theme == Theme::Triggers {
        setup.extend(triggers(&mut dice));
    }
    if matches!(theme, Theme::Routines | Theme::Inside) {
        setup.extend(ROUTINES.iter().map(|text| text.to_string()));
    }
    if theme == Theme::Inside {
        setup.extend(INSIDE_ROUTINES.iter().map(|text| text.to_string()));
    }
    let threads = *dice.pick(&[2, 2, 2, 3, 3, 4]);
    let statements_max = [4, 4, 4, 3, 2][threads];
    let serializable = dice.one_in(5);
    let mut threads: Vec<Thread> =
        (0..threads).map(|_| thread(&mut dice, theme, statements_max, serializable)).collect();
    if all_serializable {
        threads.iter_mut().for_each(|thread| make_serializable(&mut dice, thread));
    }
    let invariants = if dice.one_in(4) { vec![invariant(&mut dice)] } else { Vec::new() };
    Program { setup, threads, invariants }
}

/// What a program has much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Theme {
    Rows,
    Columns,
    Locks,
    Keys,
    References,
    Deferred,
    Sequences,
    Advisory,
    Tables,
    Triggers,
    Routines,
    Merge,
    Savepoints,
    Inside,
}

const THEMES: &[Theme] = &[
    Theme::Rows,
    Theme::Rows,
    Theme::Columns,
    Theme::Columns,
    Theme::Locks,
    Theme::Locks,
    Theme::Keys,
    Theme::Keys,
    Theme::References,
    Theme::References,
    Theme::Deferred,
    Theme::Sequences,
    Theme::Advisory,
    Theme::Tables,
    Theme::Triggers,
    Theme::Routines,
    Theme::Merge,
    Theme::Savepoints,
];

fn setup(dice: &mut Dice, theme: Theme) -> Vec<String> {
    let check =
        dice.pick(&["", "", ", CHECK (a + b < 60)", ", UNIQUE (a, b)", ", g int GENERATED ALWAYS AS (a + b) STORED"]);
    let unique = if theme == Theme::Keys { dice.pick(&[" UNIQUE", " UNIQUE DEFERRABLE", ""]) } else { &"" };
    let delete = dice.pick(&["", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON DELETE RESTRICT"]);
    let update = dice.pick(&["", " ON UPDATE CASCADE", " ON UPDATE SET NULL"]);
    let deferred = if theme == Theme::Deferred { " DEFERRABLE INITIALLY DEFERRED" } else { "" };
    let mut setup = vec![
        format!("CREATE TABLE t (id int PRIMARY KEY, a int, b int{unique}{check});"),
        format!("CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES t{delete}{update}{deferred}, v int);"),
        "INSERT INTO t (id, a, b) VALUES (1, 10, 11), (2, 20, 21), (3, 30, 23);".to_string(),
        "INSERT INTO c VALUES (1, 1, 5), (2, 3, 6);".to_string(),
    ];
    match theme {
        Theme::Sequences => setup.push("CREATE TABLE s (id serial PRIMARY KEY, v int);".into()),
        Theme::Keys => setup.push("CREATE UNIQUE INDEX half ON t (a) WHERE b > 15;".into()),
        Theme::Deferred => {
            setup.push("ALTER TABLE c ADD CONSTRAINT one UNIQUE (v) DEFERRABLE INITIALLY DEFERRED;".into())
        }
        _ => {}
    }
    setup
}

fn triggers(dice: &mut Dice) -> Vec<String> {
    let act = *dice.pick(&[
        "NEW.b = NEW.b + 1; RETURN NEW;",
        "IF OLD.b > 20 THEN RETURN NULL; END IF; RETURN NEW;",
        "UPDATE c SET v = v + 1 WHERE id = 1; RETURN NEW;",
        "IF OLD.b > 15 THEN RAISE EXCEPTION 'no'; END IF; RETURN NEW;",
    ]);
    let when = *dice.pick(&["BEFORE UPDATE", "AFTER UPDATE", "BEFORE UPDATE OF a"]);
    vec![
        format!("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {act} END $$;"),
        format!("CREATE TRIGGER g {when} ON t FOR EACH ROW EXECUTE FUNCTION f();"),
    ]
}

const ROUTINES: &[&str] = &[
    "CREATE PROCEDURE move(x int, y int, n int) LANGUAGE plpgsql AS $$ DECLARE m int; BEGIN
       SELECT a INTO m FROM t WHERE id = x; IF m >= n THEN
       UPDATE t SET a = m - n WHERE id = x; UPDATE t SET a = a + n WHERE id = y; END IF; END $$;",
    "CREATE PROCEDURE tries(x int) LANGUAGE plpgsql AS $$ BEGIN
       BEGIN INSERT INTO t (id, a, b) VALUES (x, 1, x * 7); UPDATE t SET a = a + 1 WHERE id = 1;
       IF x > 3 THEN RAISE EXCEPTION 'no'; END IF;
       EXCEPTION WHEN OTHERS THEN UPDATE t SET a = a + 5 WHERE id = 2; END; END $$;",
    "CREATE FUNCTION total() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT sum(a) FROM t $$;",
    "CREATE FUNCTION bump(x int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE m int; BEGIN
       UPDATE t SET a = a + 1 WHERE id = x RETURNING a INTO m; RETURN m; END $$;",
];

const INSIDE_ROUTINES: &[&str] = &[
    "CREATE FUNCTION each(x int) RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN
       RETURN QUERY UPDATE t SET a = a + 1 WHERE id <= x RETURNING a; END $$;",
    "CREATE FUNCTION once(x int) RETURNS int LANGUAGE sql AS $$ UPDATE t SET a = a + 1 WHERE id = x RETURNING a $$;",
    "CREATE PROCEDURE sums(INOUT x int) LANGUAGE plpgsql AS $$ BEGIN
       WITH z AS (UPDATE t SET a = a + 1 WHERE id <= x RETURNING a) SELECT sum(a) INTO x FROM z; END $$;",
    "CREATE PROCEDURE walks(x int) LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN
       FOR r IN SELECT id, a FROM t WHERE id <= x ORDER BY id FOR UPDATE LOOP
       UPDATE t SET a = r.a + 1 WHERE id = r.id; END LOOP; END $$;",
];

fn thread(dice: &mut Dice, theme: Theme, statements_max: usize, serializable: bool) -> Thread {
    let level = match dice.below(6) {
        _ if serializable && dice.one_in(2) => " isolation serializable",
        0 | 1 => " isolation repeatable read",
        _ => "",
    };
    let retry = if dice.one_in(5) { " retry 1" } else { "" };
    let autocommit = if theme == Theme::Routines && dice.one_in(4) { " autocommit" } else { "" };
    let count = 1 + dice.below(statements_max);
    let mut statements = Vec::new();
    let transaction = dice.below(5) < 3 || matches!(theme, Theme::Savepoints | Theme::Deferred);
    for _ in 0..count {
        if theme == Theme::Savepoints && dice.one_in(3) {
            statements.push("SAVEPOINT s;".to_string());
            statements.push(statement(dice, theme));
            statements.push(dice.pick(&["ROLLBACK TO s;", "ROLLBACK TO s;", "RELEASE s;"]).to_string());
        } else if theme == Theme::Inside {
            let number = statements.len();
            statements.extend(inside(dice, number));
        } else {
            statements.push(statement(dice, theme));
        }
    }
    let needs_block = |s: &String| ["SAVEPOINT", "LOCK", "DECLARE"].iter().any(|word| s.starts_with(word));
    if transaction || statements.iter().any(needs_block) {
        statements.insert(0, "BEGIN;".into());
        let end = if dice.one_in(6) { "ROLLBACK;" } else { "COMMIT;" };
        statements.push(end.into());
    } else if count == 1 && dice.one_in(2) {
        statements.push(statement(dice, theme));
    }
    Thread { options: format!("{level}{autocommit}{retry}").trim().to_string(), statements }
}

/// Raises a thread's level. Some of them read only, or have two transactions where there was one.
fn make_serializable(dice: &mut Dice, thread: &mut Thread) {
    let rest = thread.options.replace("isolation repeatable read", "").replace("isolation serializable", "");
    thread.options = format!("isolation serializable {}", rest.trim()).trim().to_string();
    if thread.statements[0] != "BEGIN;" {
        return;
    }
    if dice.one_in(12) {
        thread.statements[0] = "BEGIN READ ONLY;".into();
    }
    let plain = !thread.statements.iter().any(|s| s.starts_with("SAVEPOINT"));
    if plain && thread.statements.len() > 3 && dice.one_in(3) {
        let middle = 2 + dice.below(thread.statements.len() - 3);
        thread.statements.splice(middle..middle, ["COMMIT;".to_string(), "BEGIN;".to_string()]);
    }
}

fn statement(dice: &mut Dice, theme: Theme) -> String {
    if dice.one_in(4) {
        return rows(dice);
    }
    match theme {
        Theme::Rows | Theme::Savepoints | Theme::Triggers => rows(dice),
        Theme::Columns => columns(dice),
        Theme::Locks => locks(dice),
        Theme::Keys => keys(dice),
        Theme::References | Theme::Deferred => references(dice),
        Theme::Sequences => sequences(dice),
        Theme::Advisory => advisory(dice),
        Theme::Tables => tables(dice),
        Theme::Routines => routines(dice),
        Theme::Merge => merge(dice),
        Theme::Inside => inside(dice, 0).pop().unwrap_or_else(|| rows(dice)),
    }
}

/// Statements with statements inside. What is prepared or declared has this number in its name.
fn inside(dice: &mut Dice, number: usize) -> Vec<String> {
    let (k, n) = (key(dice), 1 + dice.below(5));
    let changed = format!("WITH z AS (UPDATE t SET a = a + {n} WHERE {} RETURNING a)", chosen(dice));
    let summed = format!("{changed} SELECT sum(a) FROM z");
    vec![match dice.below(16) {
        0 => format!("{summed};"),
        1 => format!("WITH z AS (DELETE FROM t WHERE id = {k} RETURNING a) SELECT count(*) FROM z;"),
        2 => format!(
            "WITH z AS (INSERT INTO t (id, a, b) VALUES ({k}, {n}, {n}) ON CONFLICT (id) DO UPDATE \
             SET a = t.a + excluded.a RETURNING a) SELECT a * 2 FROM z;"
        ),
        3 => format!("{changed} UPDATE c SET v = v + (SELECT count(a) FROM z) WHERE id = 1 RETURNING v;"),
        4 => format!("DO $$ DECLARE x int; BEGIN {summed} INTO x; UPDATE c SET v = x WHERE id = 1; END $$;"),
        5 => format!("CALL sums({k});"),
        6 => format!("SELECT * FROM each({k});"),
        7 => format!("SELECT bump({k});"),
        8 => format!("SELECT once({k}) + 1;"),
        9 => format!("SELECT sum(a) FROM (SELECT a FROM t WHERE id <= {k} FOR UPDATE) AS z;"),
        10 => {
            return vec![
                format!("DECLARE k{number} CURSOR FOR SELECT id, a FROM t WHERE id <= {k} ORDER BY id FOR UPDATE;"),
                format!("FETCH 1 FROM k{number};"),
                format!("FETCH ALL FROM k{number};"),
            ];
        }
        11 => return vec![format!("PREPARE q{number} AS {summed};"), format!("EXECUTE q{number};")],
        12 => format!("CALL walks({k});"),
        13 => "UPDATE t SET a = a + 1 WHERE id = (SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE) RETURNING a;".into(),
        14 => format!("DO $$ BEGIN EXECUTE 'UPDATE t SET a = a + {n} WHERE id = {k}'; END $$;"),
        _ => rows(dice),
    }]
}

fn key(dice: &mut Dice) -> usize {
    1 + dice.below(3)
}

/// Which rows: found by the primary key, in its order.
fn chosen(dice: &mut Dice) -> String {
    match dice.below(6) {
        0 => format!("id <= {}", key(dice)),
        1 => format!("id > {}", key(dice)),
        2 => format!("id = {} AND a > {}", key(dice), 5 * dice.below(6)),
        _ => format!("id = {}", key(dice)),
    }
}

fn rows(dice: &mut Dice) -> String {
    let (k, n) = (key(dice), 1 + dice.below(5));
    match dice.below(13) {
        0 => "SELECT count(*) FROM t;".to_string(),
        1 => format!("SELECT a FROM t WHERE id = {k};"),
        2 => format!("SELECT id, a FROM t WHERE {} ORDER BY id;", chosen(dice)),
        3 => format!("SELECT sum(b) FROM t WHERE a > {};", 5 * dice.below(7)),
        4 | 5 => format!("UPDATE t SET a = a + {n} WHERE {};", chosen(dice)),
        6 => format!("UPDATE t SET a = {n} WHERE {};", chosen(dice)),
        7 => format!("UPDATE t SET b = a + {n} WHERE id = {k};"),
        8 => format!("INSERT INTO t (id, a, b) VALUES ({}, {n}, {n});", k + 2),
        9 => format!("DELETE FROM t WHERE {};", chosen(dice)),
        10 => format!("SELECT a FROM t WHERE id = {k} FOR UPDATE;"),
        11 => format!("UPDATE t SET a = (SELECT count(*) FROM c) + {n} WHERE {};", chosen(dice)),
        _ => format!("SELECT t.a, c.v FROM t JOIN c ON c.p = t.id WHERE t.id = {k} ORDER BY c.id;"),
    }
}

/// Different columns of the same rows.
fn columns(dice: &mut Dice) -> String {
    let (k, n) = (key(dice).min(2), 1 + dice.below(40));
    match dice.below(11) {
        0 | 1 => format!("UPDATE t SET a = a + {n} WHERE id = {k};"),
        2 | 3 => format!("UPDATE t SET b = b + {n} WHERE id = {k};"),
        4 => format!("UPDATE t SET a = {n} WHERE id = {k};"),
        5 => format!("UPDATE t SET b = {n} WHERE id = {k};"),
        6 => format!("UPDATE t SET b = {n} WHERE a > {} AND id <= {k};", 5 * dice.below(7)),
        7 => format!("SELECT id FROM t WHERE a > {n} AND b > {n} ORDER BY id;"),
        8 => format!("SELECT b FROM t WHERE id = {k};"),
        9 => format!("UPDATE t SET id = {} WHERE id = {k};", k + 3),
        _ => format!("UPDATE t SET a = {n} WHERE b = {n} AND id = {k};"),
    }
}

fn locks(dice: &mut Dice) -> String {
    let strength = dice.pick(&["UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE"]);
    let wait = dice.pick(&["", "", "", " NOWAIT", " SKIP LOCKED"]);
    match dice.below(6) {
        0 => format!("SELECT id FROM t WHERE id <= 3 ORDER BY id LIMIT 1 FOR {strength}{wait};"),
        1 => format!("SELECT id, a FROM t WHERE {} ORDER BY id FOR {strength}{wait};", chosen(dice)),
        2 => format!("UPDATE t SET id = id + 3 WHERE id = {};", key(dice)),
        3 => format!("UPDATE t SET a = a + 1 WHERE id = {};", key(dice)),
        _ => format!("SELECT a FROM t WHERE id = {} FOR {strength}{wait};", key(dice)),
    }
}

fn keys(dice: &mut Dice) -> String {
    let (k, n) = (1 + dice.below(5), 10 + dice.below(3));
    let conflict = match dice.below(5) {
        0 => " ON CONFLICT DO NOTHING".to_string(),
        1 => " ON CONFLICT (id) DO NOTHING".to_string(),
        2 => format!(" ON CONFLICT (id) DO UPDATE SET a = t.a + {n}"),
        _ => String::new(),
    };
    match dice.below(8) {
        0..=3 => format!("INSERT INTO t (id, a, b) VALUES ({k}, {n}, {}){conflict};", n + 10 * dice.below(2)),
        4 => format!("UPDATE t SET b = {n} WHERE id = {};", key(dice)),
        5 => format!("UPDATE t SET a = {n} WHERE id = {};", key(dice)),
        6 => format!("UPDATE t SET id = {k} WHERE id = {};", key(dice)),
        _ => format!("DELETE FROM t WHERE id = {};", key(dice)),
    }
}

fn references(dice: &mut Dice) -> String {
    let (k, n) = (key(dice), 4 + dice.below(4));
    match dice.below(10) {
        0..=2 => {
            format!("INSERT INTO c VALUES ({}, {}, {n});", 2 + key(dice), dice.pick(&["1", "2", "3", "4", "NULL"]))
        }
        3 => format!("UPDATE c SET p = {k} WHERE id = {};", key(dice).min(2)),
        4 => format!("UPDATE c SET v = {n} WHERE id = {};", key(dice).min(2)),
        5 => format!("DELETE FROM c WHERE id = {};", key(dice).min(2)),
        6 => format!("DELETE FROM t WHERE id = {k};"),
        7 => format!("UPDATE t SET id = {} WHERE id = {k};", k + 3),
        8 => format!("UPDATE t SET a = a + {n} WHERE id = {k};"),
        _ => format!("INSERT INTO t (id, a, b) VALUES ({}, {n}, {n});", 3 + key(dice)),
    }
}

fn sequences(dice: &mut Dice) -> String {
    match dice.below(6) {
        0 => "SELECT nextval('s_id_seq');".to_string(),
        1 => "SELECT setval('s_id_seq', 7);".to_string(),
        2 => format!("UPDATE s SET v = v + 1 WHERE id = {};", key(dice)),
        _ => format!("INSERT INTO s (v) VALUES ({});", key(dice)),
    }
}

fn advisory(dice: &mut Dice) -> String {
    let (k, shared) = (1 + dice.below(2), dice.pick(&["", "", "_shared"]));
    match dice.below(6) {
        0 | 1 => format!("SELECT pg_advisory_lock{shared}({k});"),
        2 | 3 => format!("SELECT pg_advisory_xact_lock{shared}({k});"),
        4 => format!("SELECT pg_try_advisory_lock{shared}({k});"),
        _ => format!("SELECT pg_advisory_unlock{shared}({k});"),
    }
}

fn tables(dice: &mut Dice) -> String {
    let table = dice.pick(&["t", "c"]);
    let mode = dice.pick(&["ACCESS SHARE", "ROW EXCLUSIVE", "SHARE", "EXCLUSIVE", "ACCESS EXCLUSIVE"]);
    match dice.below(6) {
        0..=2 => format!("LOCK TABLE {table} IN {mode} MODE{};", dice.pick(&["", "", " NOWAIT"])),
        3 => "TRUNCATE c;".to_string(),
        _ => references(dice),
    }
}

fn routines(dice: &mut Dice) -> String {
    let (x, y) = (key(dice), key(dice));
    match dice.below(6) {
        0 | 1 => format!("CALL move({x}, {y}, {});", 5 * key(dice)),
        2 => format!("CALL tries({});", 2 + key(dice)),
        3 => "SELECT total();".to_string(),
        4 => format!("SELECT bump({x});"),
        _ => format!("UPDATE t SET b = total() WHERE id <= {x};"),
    }
}

fn merge(dice: &mut Dice) -> String {
    let (k, n) = (key(dice), 1 + dice.below(5));
    match dice.below(5) {
        0 | 1 => format!(
            "MERGE INTO t USING (VALUES ({}, {n})) AS s (id, a) ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = t.a + s.a \
             WHEN NOT MATCHED THEN INSERT (id, a, b) VALUES (s.id, s.a, 0);",
            1 + dice.below(4)
        ),
        2 => format!(
            "WITH gone AS (DELETE FROM c WHERE p = {k} RETURNING v) UPDATE t SET a = a + (SELECT coalesce(sum(v), 0) FROM gone) WHERE id = {k};"
        ),
        3 => format!("UPDATE t SET a = c.v FROM c WHERE c.p = t.id AND c.id = {};", k.min(2)),
        _ => format!("INSERT INTO c SELECT id + 2, id, a FROM t WHERE id = {k};"),
    }
}

fn invariant(dice: &mut Dice) -> String {
    dice.pick(&[
        "SELECT sum(a) < 70 FROM t;",
        "SELECT count(*) >= 3 FROM t;",
        "SELECT bool_and(a >= 5) FROM t WHERE id <= 2;",
        "SELECT count(*) < 3 FROM c;",
        "SELECT (SELECT count(*) FROM c) + (SELECT count(*) FROM t) < 7;",
    ])
    .to_string()
}
