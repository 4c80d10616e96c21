//! A table of statements and their facts.

use super::*;
use crate::ast::LockStrength;

#[test]
fn the_verb_is_the_statements_own() {
    let table = [
        ("SELECT 1", Verb::Select),
        ("VALUES (1)", Verb::Select),
        ("TABLE t", Verb::Select),
        ("WITH w AS (SELECT 60 AS amount) UPDATE account SET balance = amount FROM w", Verb::Update),
        ("WITH w AS (UPDATE t SET n = 1 RETURNING n) SELECT n FROM w", Verb::Select),
        ("WITH w AS (SELECT 1) INSERT INTO t SELECT * FROM w", Verb::Insert),
        ("/* app:web */ UPDATE account SET balance = 1", Verb::Update),
        ("-- hello\nDELETE FROM t", Verb::Delete),
        ("END", Verb::Commit),
        ("ABORT", Verb::Rollback),
        ("ROLLBACK TO s", Verb::RollbackTo),
        ("START TRANSACTION", Verb::Begin),
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", Verb::SetTransaction),
        ("SET NAMES 'utf8'", Verb::Set),
        ("SET ROLE bob", Verb::Set),
        ("EXPLAIN SELECT 1", Verb::Other),
        ("CREATE TABLE t (n int)", Verb::Define),
        ("SELECT 1 AS n INTO t", Verb::Define),
        ("COMMIT PREPARED 'x'", Verb::CommitPrepared),
        ("DO $$ BEGIN NULL; END $$", Verb::Do),
    ];
    for (text, verb) in table {
        assert_eq!(Facts::of_text(text).verb, verb, "{text}");
        assert!(Facts::of_text(text).understood || suspect::statement(text).verb == verb, "{text}");
    }
}

#[test]
fn only_the_query_that_returns_rows_asks_for_their_order() {
    let asked = [
        "SELECT id FROM t ORDER BY n",
        "SELECT id FROM t ORDER\n   BY n",
        "SELECT id FROM t order /* why */ by n LIMIT 1",
        "(SELECT id FROM t ORDER BY n)",
        "SELECT 1 UNION SELECT 2 ORDER BY 1",
        "WITH w AS (SELECT 1 AS n) SELECT n FROM w ORDER BY n",
        "VALUES (1), (2) ORDER BY 1",
    ];
    let any = [
        "SELECT id FROM t",
        "SELECT id FROM t WHERE 'order by' <> ''",
        "SELECT id FROM t WHERE id = ANY (ARRAY(SELECT id FROM u ORDER BY id))",
        "SELECT * FROM (SELECT id FROM t ORDER BY id) AS s",
        "SELECT id, row_number() OVER (ORDER BY id) FROM t",
        "SELECT array_agg(id ORDER BY id) FROM t GROUP BY n",
        "WITH w AS (SELECT id FROM t ORDER BY id) SELECT id FROM w",
        "SELECT id FROM t -- ORDER BY id",
        "SELECT id AS \"order by\" FROM t",
        "UPDATE t SET n = 1 RETURNING id",
        "(SELECT id FROM t ORDER BY id) UNION ALL (SELECT id FROM u ORDER BY id)",
    ];
    for (texts, order) in [(&asked[..], RowOrder::Asked), (&any[..], RowOrder::Any)] {
        for text in texts {
            let facts = Facts::of_text(text);
            assert!(facts.understood, "{text}");
            assert_eq!(facts.order, order, "{text}");
            assert_eq!(suspect::statement(text).order, order, "by its lexemes: {text}");
        }
    }
    assert_eq!(Facts::of_text("UPDATE t SET n = 1").order, RowOrder::None);
}

#[test]
fn rows_of_cursors_and_prepared_statements_follow_their_queries() {
    let script = "DECLARE a CURSOR FOR SELECT id FROM t ORDER BY id; DECLARE b CURSOR FOR SELECT id FROM t; \
        FETCH 2 FROM a; FETCH ALL IN b; PREPARE p AS SELECT id FROM t ORDER BY 1; PREPARE q AS TABLE t; \
        EXECUTE p; EXECUTE q; FETCH 2 FROM other";
    let asked = |routine: &str| -> Vec<bool> {
        let routine = Facts::of_body("plpgsql", routine);
        let mut orders = Orders::new([&routine]);
        let statements = crate::parse::script(script).expect("it is SQL");
        statements.iter().map(|statement| orders.asks(statement)).collect()
    };
    let opens = |query: &str| format!("DECLARE c refcursor; BEGIN OPEN c FOR {query}; RETURN c; END");
    let expected = [true, true, true, false, true, true, true, false];
    assert_eq!(asked(&opens("SELECT id FROM t"))[..8], expected);
    assert!(!asked(&opens("SELECT id FROM t"))[8]);
    assert!(asked(&opens("SELECT id FROM t ORDER BY id"))[8]);
}

/// The effects that a statement has, by name.
fn named(effects: Effects) -> Vec<&'static str> {
    let Effects { queries: _, locks_rows, .. } = effects;
    let list = [
        ("defines", effects.defines),
        ("truncates", effects.truncates),
        ("catches", effects.catches),
        ("ends", effects.ends),
        ("executes", effects.executes),
        ("keeps", effects.keeps),
        ("deallocates", effects.deallocates),
        ("two_phase", effects.two_phase),
        ("rewords", effects.rewords),
        ("serializable", effects.serializable),
        ("sets_level", effects.sets_level),
        ("locks_tables", effects.locks_tables),
        ("locks_rows", locks_rows.is_some()),
        ("opens_ordered", effects.opens_ordered),
        ("outside", effects.outside),
    ];
    list.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
}

#[test]
fn effects_of_statements() {
    let table: &[(&str, &[&str])] = &[
        ("UPDATE account SET balance = 1", &[]),
        ("INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 2", &[]),
        ("SELECT 'truncate t; SET a = 1; EXCEPTION WHEN'", &[]),
        ("SELECT id AS \"commit\" FROM t FOR UPDATE", &["locks_rows"]),
        ("SELECT pg_advisory_xact_lock(1)", &[]),
        ("SELECT pg_advisory_lock(1)", &["keeps"]),
        ("SET work_mem = '1MB'", &["keeps"]),
        ("SET LOCAL work_mem = '1MB'", &[]),
        ("SET TIME ZONE 'UTC'", &["keeps", "rewords"]),
        ("SET LOCAL search_path = x", &["rewords"]),
        ("RESET ALL", &["keeps", "rewords", "serializable", "sets_level"]),
        ("SELECT set_config('a.b', '1', false)", &["keeps"]),
        ("SELECT set_config('a.b', '1', true)", &[]),
        ("SELECT set_config(name, '1', true) FROM t", &["rewords", "sets_level"]),
        ("BEGIN ISOLATION LEVEL SERIALIZABLE", &["serializable", "sets_level"]),
        ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", &["sets_level"]),
        ("DO $$ BEGIN ROLLBACK; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; END $$", &["ends", "sets_level"]),
        ("SET default_transaction_isolation = 'serializable'", &["keeps", "serializable", "sets_level"]),
        ("DECLARE c CURSOR FOR SELECT 1", &[]),
        ("DECLARE c CURSOR WITH HOLD FOR SELECT 1", &["keeps"]),
        ("PREPARE p AS SELECT 1", &["keeps"]),
        ("LISTEN jobs", &["keeps"]),
        ("PREPARE TRANSACTION 'x'", &["two_phase"]),
        ("TRUNCATE t", &["truncates", "locks_tables"]),
        ("LOCK TABLE t", &["locks_tables"]),
        ("COMMIT", &[]),
        ("CREATE TEMP TABLE t (n int)", &["defines", "keeps", "locks_tables"]),
        ("CREATE ROLE bob", &["defines", "locks_tables", "outside"]),
        ("DROP DATABASE x", &["defines", "locks_tables", "outside"]),
        ("CREATE USER MAPPING FOR x SERVER y", &["defines", "locks_tables"]),
        ("DO $$ DECLARE n int; BEGIN UPDATE t SET n = 1; END $$", &[]),
        ("DO $$ BEGIN SET a.b = 1; END $$", &["keeps"]),
        ("DO $$ BEGIN UPDATE t SET n = 1; COMMIT; END $$", &["ends"]),
        ("DO $$ BEGIN RAISE EXCEPTION 'when'; END $$", &[]),
        ("DO $$ BEGIN NULL; EXCEPTION WHEN OTHERS THEN NULL; END $$", &["catches"]),
        ("DO $$ BEGIN EXECUTE 'UPDATE t SET n = 1'; END $$", &["executes"]),
        ("DO $$ BEGIN EXECUTE format('UPDATE %I SET n = 1', 't'); END $$", &["executes"]),
        ("DO $$ BEGIN EXECUTE 'SET a.b = 1'; END $$", &["executes", "keeps"]),
        (
            "DO $$ BEGIN EXECUTE 'TRUN' || 'CATE t'; END $$",
            &[
                "defines",
                "truncates",
                "catches",
                "ends",
                "executes",
                "keeps",
                "deallocates",
                "two_phase",
                "rewords",
                "serializable",
                "sets_level",
                "locks_tables",
                "locks_rows",
                "opens_ordered",
            ],
        ),
        ("CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$", &["defines", "locks_tables"]),
    ];
    for (text, expected) in table {
        assert_eq!(named(Facts::of_text(text).effects), *expected, "{text}");
    }
    assert_eq!(Facts::of_text("SELECT 1 FROM t FOR SHARE").effects.locks_rows, Some(LockStrength::Share));
}

#[test]
fn a_suspicion_is_never_less_than_what_is_known() {
    let texts = [
        "UPDATE t SET n = 1",
        "SELECT pg_advisory_lock(1)",
        "SELECT set_config('timezone', 'UTC', false)",
        "SET timezone = 'UTC'",
        "RESET search_path",
        "PREPARE p AS SELECT 1",
        "DEALLOCATE p",
        "TRUNCATE t",
        "LOCK TABLE t IN SHARE MODE",
        "SELECT id FROM t FOR UPDATE",
        "BEGIN ISOLATION LEVEL SERIALIZABLE",
        "PREPARE TRANSACTION 'x'",
        "CREATE TEMPORARY TABLE t (n int)",
        "DO $$ BEGIN EXECUTE 'SET a.b = 1'; END $$",
        "DO $$ BEGIN INSERT INTO t VALUES (1); EXCEPTION\n WHEN unique_violation THEN NULL; END $$",
        "DO $$ BEGIN UPDATE t SET n = 1; ROLLBACK; END $$",
        "DO $$ BEGIN IF true THEN SET a.b = 1; END IF; END $$",
        "DO $$ DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id; BEGIN OPEN c; END $$",
        "DROP ROLE bob",
    ];
    for text in texts {
        let (known, suspected) = (Facts::of_text(text), suspect::statement(text));
        assert!(known.understood && !suspected.understood, "{text}");
        if known.verb != Verb::Define {
            let (known, suspected) = (named(known.effects), named(suspected.effects));
            assert!(known.iter().all(|effect| suspected.contains(effect)), "{text}: {known:?}, {suspected:?}");
        }
    }
}

#[test]
fn tables_come_in_the_order_in_which_they_are_looked_up() {
    let tables = |text: &str| -> Vec<(String, bool)> {
        Facts::of_text(text).tables.iter().map(|used| (used.name.name.to_string(), used.written)).collect()
    };
    let one = |name: &str, written| (name.to_string(), written);
    assert_eq!(
        tables("WITH w AS (SELECT * FROM u) UPDATE t SET n = (SELECT max(n) FROM x) FROM w JOIN v USING (id)"),
        [one("u", false), one("t", true), one("v", false), one("x", false)]
    );
    assert_eq!(tables("VALUES ((SELECT v FROM t))"), [one("t", false)]);
    assert_eq!(tables("SELECT EXISTS (TABLE t LIMIT 1)"), [one("t", false)]);
    assert_eq!(tables("SELECT v FROM (t CROSS JOIN pg_namespace)"), [one("t", false), one("pg_namespace", false)]);
    assert_eq!(tables("SELECT version()"), []);
    assert_eq!(tables("SELECT v FROM version"), [one("version", false)]);
    assert_eq!(tables("CREATE INDEX ON t (n)"), [one("t", true)]);
    assert_eq!(tables("SELECT t.n FROM x.t, generate_series(1, 2)"), [one("t", false)]);
}

#[test]
fn blocks_know_where_their_words_stand() {
    let text = "<<begin_block>> DECLARE beginning int; /* begin */ BEGIN NULL; END";
    let body = parse::plpgsql::body(Fragment { text, offset: 0 }).expect("it is PL/pgSQL");
    assert_eq!(body.block.begin.of(text), "BEGIN");
    assert_eq!(body.block.begin.start as usize, text.find("BEGIN").expect("it is there"));
    assert_eq!(body.block.declare.map(|span| span.of(text)), Some("DECLARE"));
}
