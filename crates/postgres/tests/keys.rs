//! Rows that come: who looks for a value meets those that have it, in whatever way it is written, and no others.

#![allow(clippy::unwrap_used)]

mod both;

use both::{check, ends_on_server, read, stage_reading};
use isolde_postgres::reads::Module;
use isolde_testkit::Cluster;

/// How many runs are needed for two threads. All of them come to the ends that are found.
fn runs(setup: &str, one: &str, two: &str) -> u64 {
    let text = format!(
        "{setup}\n--@ option serial off\n--@ expect error 23505\n--@ thread one\n{one};\n--@ thread two\n{two};\n"
    );
    let file = read(&text);
    let mut stage = stage_reading(&file, &Module::Unused);
    let all = ends_on_server(&mut stage, &["t"], false, 100).unwrap();
    assert_eq!(ends_on_server(&mut stage, &["t"], true, 100).unwrap(), all, "{text}");
    check(&file, &mut stage).unwrap_or_else(|trouble| panic!("{trouble}\n{text}")).stats.ends
}

/// Types, a value, how it may be written in another way, and another value.
const VALUES: &[(&str, &str, &str, &str)] = &[
    ("int", "7", "'007'", "8"),
    ("bigint", "7", "7.0", "8"),
    ("numeric", "1.50", "1.5", "1.51"),
    ("float8", "0.1", "1e-1", "0.2"),
    ("text", "'it''s'", "E'it\\'s'", "'its'"),
    ("varchar(10)", "'a'", "$$a$$", "'a '"),
    ("char(5)", "'a'", "'a  '", "'b'"),
    ("bool", "true", "'yes'", "false"),
    ("date", "'2024-02-01'", "'1 Feb 2024'", "'2024-01-02'"),
    ("timestamp", "'2024-02-01 10:00'", "'2024-02-01T10:00:00.000'", "'2024-02-01 10:01'"),
    ("timestamptz", "'2024-02-01 10:00+00'", "'2024-02-01 12:00+02'", "'2024-02-01 10:00+01'"),
    (
        "uuid",
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
        "'A0EEBC999C0B4EF8BB6D6BB9BD380A11'",
        "'00000000-9c0b-4ef8-bb6d-6bb9bd380a11'",
    ),
    ("bytea", "'\\x41'", "'A'", "'\\x42'"),
    ("interval", "'1 day'", "'24 hours'", "'2 days'"),
    ("inet", "'10.0.0.1'", "'10.0.0.1/32'", "'10.0.0.2'"),
    ("int[]", "'{1,2}'", "ARRAY[1,2]", "'{1,3}'"),
    ("jsonb", "'{\"a\": 1}'", "'{ \"a\" : 1.0 }'", "'{\"a\": 2}'"),
];

#[test]
fn values_are_met_however_they_are_written() {
    for (ty, value, same, other) in VALUES {
        let setup = format!("CREATE TABLE t (id int PRIMARY KEY, v {ty}); CREATE TABLE seen (n int);");
        let look = |value: &str| format!("INSERT INTO t SELECT 9, NULL FROM t WHERE v = {value}");
        let insert = format!("INSERT INTO t VALUES (1, {value})");
        assert_eq!(runs(&setup, &look(same), &insert), 2, "{ty}: {value} and {same}");
        assert!(runs(&setup, &look(other), &insert) <= 2, "{ty}: {value} and {other}");
    }
    let setup = "CREATE TABLE t (id int PRIMARY KEY, v text);";
    let insert = "INSERT INTO t VALUES (1, 'a')";
    assert_eq!(runs(setup, "SELECT count(*) FROM t WHERE v = 'b'", insert), 1);
    assert_eq!(runs(setup, "SELECT count(*) FROM t WHERE v = 'a'", insert), 2);
    assert_eq!(runs(setup, "SELECT count(*) FROM t WHERE v > 'b'", insert), 2);
}

#[test]
fn unique_keys_meet_only_their_like() {
    let setup = "CREATE TABLE t (id int PRIMARY KEY, mail text UNIQUE);";
    let insert = |id: u32, mail: &str| format!("INSERT INTO t VALUES ({id}, {mail})");
    assert_eq!(runs(setup, &insert(1, "'a'"), &insert(2, "'b'")), 1);
    assert_eq!(runs(setup, &insert(1, "NULL"), &insert(2, "'b'")), 1);
    assert!(runs(setup, &insert(1, "'a'"), &insert(2, "'a'")) > 1);
    assert!(runs(setup, &insert(1, "'a'"), &insert(1, "'b'")) > 1);
    // Here letters are the same in either case, and only the server knows.
    let mut session = Cluster::shared().connect("postgres", "").unwrap();
    let answer = session.execute("SELECT count(*) FROM pg_collation WHERE collprovider = 'i'").unwrap();
    if answer[0].rows()[0][0].as_deref() == Some("0") {
        return eprintln!("not tried: collations of this server's own, which is built without ICU");
    }
    let setup = "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE t (id int PRIMARY KEY, mail text COLLATE loose UNIQUE);";
    assert!(runs(setup, &insert(1, "'a'"), &insert(2, "'A'")) > 1);
}

#[test]
fn on_conflict_meets_the_rows_with_its_keys() {
    let setup = "CREATE TABLE t (id int PRIMARY KEY, mail text UNIQUE, n int DEFAULT 0); INSERT INTO t VALUES (1, 'a'), (2, 'b');";
    let upsert = |id: u32, mail: &str| {
        format!(
            "INSERT INTO t VALUES ({id}, '{mail}') ON CONFLICT (id) DO UPDATE SET n = t.n + 1, mail = excluded.mail"
        )
    };
    assert_eq!(runs(setup, &upsert(3, "c"), &upsert(4, "d")), 1);
    assert!(runs(setup, &upsert(1, "a"), &upsert(1, "a")) > 1);
    assert!(runs(setup, &upsert(1, "c"), &upsert(2, "c")) > 1);
    let nothing = |id: u32| format!("INSERT INTO t VALUES ({id}, 'x{id}') ON CONFLICT DO NOTHING");
    assert_eq!(runs(setup, &nothing(3), &nothing(4)), 1);
    assert!(runs(setup, &nothing(3), "INSERT INTO t VALUES (3, 'z')") > 1);
    assert!(runs(setup, &nothing(1), "DELETE FROM t WHERE id = 1") > 1);
    assert!(runs(setup, &nothing(3), "UPDATE t SET id = 3 WHERE id = 1") > 1);
}
