//! What is known of a statement is known however it is spelled: the engine and a server come to the same verdicts.

#![allow(clippy::unwrap_used)]

mod both;

use both::{gist, on_engine, on_server};

/// What both say about a text.
fn agreed(text: &str) -> String {
    let (engine, server) = (gist(&on_engine(text)), gist(&on_server(text)));
    assert_eq!(engine, server, "{text}");
    server
}

/// In between two updates the order by `n` is one that no serial run shows; the set of rows is always the same.
fn reading(setup: &str, read: &str) -> String {
    format!(
        "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO t VALUES (1, 1), (2, 2);
{setup}
--@ thread alice
UPDATE t SET n = 3 WHERE id = 1;
UPDATE t SET n = 4 WHERE id = 2;
--@ thread bob
{read}
"
    )
}

#[test]
fn order_counts_where_a_statement_asks_for_it() {
    let asked = [
        "SELECT id FROM t ORDER BY n;",
        "SELECT id FROM t ORDER\n  BY n;",
        "select id from t order /* why */ by n;",
        "/* app:web */ (SELECT id FROM t ORDER BY n);",
        "WITH w AS (SELECT id, n FROM t) SELECT id FROM w ORDER BY n;",
        "BEGIN; DECLARE c CURSOR FOR SELECT id FROM t ORDER BY n; FETCH ALL FROM c; COMMIT;",
        "PREPARE p AS SELECT id FROM t ORDER BY n; EXECUTE p;",
    ];
    let any = [
        "SELECT id FROM t;",
        "SELECT id FROM t WHERE 'order by' <> '';",
        "SELECT id AS \"order by\" FROM t;",
        "SELECT id FROM t -- ORDER BY n\n;",
        "SELECT id FROM t WHERE id = ANY (ARRAY(SELECT id FROM t AS u ORDER BY n));",
        "SELECT id FROM (SELECT id FROM t ORDER BY n LIMIT 2) AS s;",
        "BEGIN; DECLARE c CURSOR FOR SELECT id FROM t; FETCH ALL FROM c; COMMIT;",
        "PREPARE p AS SELECT id FROM t; EXECUTE p;",
    ];
    for read in asked {
        assert!(agreed(&reading("", read)).starts_with("violated serial outcome"), "{read}");
    }
    for read in any {
        assert!(agreed(&reading("", read)).starts_with("holds"), "{read}");
    }
}

/// A routine that runs a query: as rows that it returns, and in a loop.
fn routine(query: &str) -> [String; 2] {
    [
        format!("CREATE FUNCTION look() RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY {query}; END $$;"),
        format!(
            "CREATE FUNCTION look() RETURNS int LANGUAGE plpgsql AS $$ DECLARE i int; k int := 0; BEGIN
  FOR i IN {query} LOOP k := k + i; END LOOP; RETURN k; END $$;"
        ),
    ]
}

#[test]
fn order_inside_of_routines_follows_their_queries() {
    for setup in ["SELECT id FROM t", "SELECT id FROM t WHERE 'order by' <> ''"].iter().flat_map(|query| routine(query))
    {
        assert!(agreed(&reading(&setup, "SELECT count(*) FROM look();")).starts_with("holds"), "{setup}");
    }
    for setup in
        ["SELECT id FROM t ORDER BY n", "SELECT id FROM t ORDER\n BY n"].iter().flat_map(|query| routine(query))
    {
        let engine = gist(&on_engine(&reading(&setup, "SELECT count(*) FROM look();")));
        assert!(engine.starts_with("violated serial outcome"), "{setup}: {engine}");
    }
}

/// A procedure that reads and then writes what it computed.
fn withdrawing(declares: &str, begins: &str) -> String {
    format!(
        "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
CREATE PROCEDURE withdraw(acc int, amount int) LANGUAGE plpgsql AS $$
{begins}{declares}
BEGIN
  SELECT balance INTO beginning FROM account WHERE id = acc;
  IF beginning >= amount THEN
    UPDATE account SET balance = beginning - amount WHERE id = acc;
  END IF;
END $$;
--@ thread alice
CALL withdraw(1, 60);
--@ thread bob
CALL withdraw(1, 60);
"
    )
}

#[test]
fn a_block_begins_where_its_word_stands() {
    let blocks = [
        ("DECLARE beginning int;", ""),
        ("DECLARE beginning int; /* begin */", "<<begin_block>>\n"),
        ("declare beginning int; declared text := 'BEGIN';", "-- declare, begin\n<<declare_block>>\n"),
    ];
    for (declares, begins) in blocks {
        let text = withdrawing(declares, begins);
        assert_eq!(agreed(&text), "violated serial outcome lost update", "{text}");
    }
    let bare = "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
CREATE PROCEDURE withdraw(acc int) LANGUAGE plpgsql AS $$
<<begin_block>>
DECLARE BEGIN
  IF (SELECT balance FROM account WHERE id = acc) >= 60 THEN
    UPDATE account SET balance = balance - 60 WHERE id = acc;
  END IF;
END $$;
--@ thread alice
CALL withdraw(1);
--@ thread bob
CALL withdraw(1);
";
    for text in [bare.to_string(), bare.replace("DECLARE BEGIN", "BEGIN")] {
        assert!(on_server(&text).warnings.is_empty(), "{text}");
        assert!(agreed(&text).starts_with("violated serial outcome"), "{text}");
    }
}

#[test]
fn a_statement_is_called_by_its_own_name() {
    let text = |alice: &str, bob: &str| {
        format!(
            "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
--@ thread alice
SELECT balance AS b FROM account WHERE id = 1 \\gset
{alice} WHERE id = 1;
--@ thread bob
SELECT balance AS b FROM account WHERE id = 1 \\gset
{bob} WHERE id = 1;
"
        )
    };
    let plain = text("UPDATE account SET balance = :b - 60", "UPDATE account SET balance = :b - 30");
    let disguised = text(
        "WITH w AS (SELECT 60 AS amount) UPDATE account SET balance = :b - amount FROM w",
        "/* app:web */ UPDATE account SET balance = :b - 30",
    );
    assert_eq!(agreed(&plain), "violated serial outcome lost update");
    assert_eq!(agreed(&disguised), "violated serial outcome lost update");
}

#[test]
fn what_a_user_says_is_no_retry() {
    let text = |notice: &str| {
        format!(
            "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account VALUES (1, 100);
CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '{notice}'; RETURN NEW; END $$;
CREATE TRIGGER say BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION say();
--@ thread alice
BEGIN;
SELECT balance AS b FROM account WHERE id = 1 \\gset
UPDATE account SET balance = :b - 60 WHERE id = 1;
COMMIT;
--@ thread bob
BEGIN;
SELECT balance AS b FROM account WHERE id = 1 \\gset
UPDATE account SET balance = :b - 30 WHERE id = 1;
COMMIT;
"
        )
    };
    for notice in ["hello", "the job starts again", "alice starts again, for the last time"] {
        assert_eq!(agreed(&text(notice)), "violated serial outcome lost update", "{notice}");
    }
}
