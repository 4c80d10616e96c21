//! What the reader makes of files, and what it says about bad ones.
#![allow(clippy::unwrap_used)]

use arbtest::arbtest;
use expect_test::{Expect, expect};

use super::*;

/// Includes `lib.sql`, which has a table, and `loop.sql`, which includes itself.
fn library(include: Include<'_>) -> Result<Included, String> {
    let text = match include.path {
        "lib.sql" => "CREATE TABLE a (x int);\n\\ir more.sql\n",
        "more.sql" if include.relative_to == Some("lib.sql") => "CREATE TABLE b (y int);",
        "broken.sql" => "SELECT 1;\nSELECT 'x",
        "loop.sql" => "\\i loop.sql",
        path => return Err(format!("cannot read {path}: no such file")),
    };
    Ok(Included { name: include.path.into(), text: text.into() })
}

fn describe(file: &ScenarioFile) -> String {
    let mut out = String::new();
    let mut line = |indent: &str, s: &ClientStatement| {
        let text = s.ast.span.of(file.sources.text()).split_whitespace().collect::<Vec<_>>().join(" ");
        let variables: Vec<&str> = s.variables.iter().map(|(n, _)| &**n).collect();
        let variables = if variables.is_empty() { String::new() } else { format!(" [{}]", variables.join(" ")) };
        let gset = s.gset.as_ref().map_or(String::new(), |p| format!(" gset {p:?}"));
        let (file, line) = file.sources.place(s.ast.span);
        out.push_str(&format!(
            "{indent}{}{line}: {text}{variables}{gset}\n",
            file.map_or(String::new(), |f| format!("{f}:"))
        ));
    };
    file.setup.iter().for_each(|s| line("", s));
    for thread in &file.threads {
        thread.body.iter().for_each(|s| line(&format!("{} ", thread.name), s));
    }
    file.invariants.iter().for_each(|q| line(&format!("invariant {} ", q.name), &q.statement));
    file.finals.iter().for_each(|q| line(&format!("final {} ", q.name), &q.statement));
    for thread in &file.threads {
        let ThreadSection { name, isolation, autocommit, retries, expected, .. } = thread;
        out.push_str(&format!(
            "{name}: {isolation:?} autocommit={autocommit} retries={retries} expected={expected:?}\n"
        ));
    }
    out.push_str(&format!("expected {:?}\n", file.expected));
    out
}

fn check(text: &str, expected: Expect) {
    let actual = match read("test.sql", text, &mut library) {
        Ok(file) => describe(&file),
        Err(error) => format!("{error}\n"),
    };
    expected.assert_eq(&actual);
}

#[test]
fn sections() {
    check(
        "\\i lib.sql
--@ expect error unique_violation
CREATE TABLE account (id int PRIMARY KEY); -- set-up goes on
--@ thread alice isolation repeatable read autocommit retry 3   -- a comment
--@ expect error 40001
SELECT 1; SELECT ';';
--@ thread tab x2
SELECT 2;
--@ invariant fine
SELECT true;
--@ option states_max 10
--@ final done
SELECT false",
        expect![[r#"
            lib.sql:1: CREATE TABLE a (x int)
            more.sql:1: CREATE TABLE b (y int)
            3: CREATE TABLE account (id int PRIMARY KEY)
            alice 6: SELECT 1
            alice 6: SELECT ';'
            tab1 8: SELECT 2
            tab2 8: SELECT 2
            invariant fine 10: SELECT true
            final done 13: SELECT false
            alice: Some(RepeatableRead) autocommit=true retries=3 expected=[40001]
            tab1: None autocommit=false retries=0 expected=[]
            tab2: None autocommit=false retries=0 expected=[]
            expected [23505]
        "#]],
    );
}

#[test]
fn variables() {
    check(
        "--@ thread a
SELECT x AS b, y AS longer FROM t
  WHERE z = 1 \\gset p_
UPDATE t SET x = :p_longer + :p_b - :p_longer::int, y = :'p_b' WHERE z = ':no';
SELECT 1; SELECT 2 \\gset
",
        expect![[r#"
            a 2: SELECT x AS b, y AS longer FROM t WHERE z = 1 gset "p_"
            a 4: UPDATE t SET x = :p_longer + :p_b - :p_longer::int, y = :'p_b' WHERE z = ':no' [p_b p_longer]
            a 5: SELECT 1
            a 5: SELECT 2 gset ""
            a: None autocommit=false retries=0 expected=[]
            expected []
        "#]],
    );
}

#[test]
fn mistakes() {
    for (text, expected) in [
        (
            "",
            expect![[r#"
            test.sql:1:1: the file has no threads
              hint: write `--@ thread NAME` on a line above the statements that one session runs
        "#]],
        ),
        (
            "SELECT 1;\n--@ tread alice\nSELECT 1;",
            expect![[r#"
            test.sql:2:5: unknown section "tread"
              hint: did you mean "thread"?
        "#]],
        ),
        (
            "--@",
            expect![[r#"
                test.sql:1:1: a section is missing
                  hint: sections are thread, invariant, final, rule, assume, expect, accept, option, clock
            "#]],
        ),
        (
            "--@ scenario",
            expect![[r#"
                test.sql:1:5: unknown section "scenario"
                  hint: sections are thread, invariant, final, rule, assume, expect, accept, option, clock
            "#]],
        ),
        (
            "--@ thread",
            expect![[r#"
            test.sql:1:1: a name is missing
              hint: write: --@ thread NAME [xN] [isolation LEVEL] [autocommit] [retry N]
        "#]],
        ),
        (
            "--@ thread 1",
            expect![[r#"
            test.sql:1:12: "1" is not a name
              hint: a name is a letter followed by letters, digits, `_`, `-` or `.`
        "#]],
        ),
        (
            "--@ thread a!",
            expect![[r#"
            test.sql:1:12: "a!" is not a name
              hint: a name is a letter followed by letters, digits, `_`, `-` or `.`
        "#]],
        ),
        (
            "--@ thread a",
            expect![[r#"
            test.sql:1:1: thread a has no statements
        "#]],
        ),
        (
            "--@ thread a x0\nSELECT 1",
            expect![[r#"
            test.sql:1:14: a thread may have 1 to 64 copies
        "#]],
        ),
        (
            "--@ thread a isolation snapshot\nSELECT 1",
            expect![[r#"
            test.sql:1:24: unknown isolation level "snapshot"
              hint: levels are: read committed, repeatable read, serializable
        "#]],
        ),
        (
            "--@ thread a isolation repeatable\nSELECT 1",
            expect![[r#"
            test.sql:1:1: the rest of the isolation level is missing
              hint: levels are: read committed, repeatable read, serializable
        "#]],
        ),
        (
            "--@ thread a retry many\nSELECT 1",
            expect![[r#"
            test.sql:1:20: "many" is not a number
              hint: write: --@ ... retry N
        "#]],
        ),
        (
            "--@ thread a autocomit\nSELECT 1",
            expect![[r#"
            test.sql:1:14: unknown thread setting "autocomit"
              hint: did you mean "autocommit"?
        "#]],
        ),
        (
            "--@ thread a\nSELECT 1;\n--@ thread a\nSELECT 1;",
            expect![[r#"
            test.sql:3:1: there are two threads named a
              hint: copies of one thread are written `--@ thread NAME xN`
        "#]],
        ),
        (
            "--@ invariant i j\n",
            expect![[r#"
            test.sql:1:17: unexpected "j"
              hint: write: --@ invariant NAME
        "#]],
        ),
        (
            "--@ invariant i\n",
            expect![[r#"
            test.sql:1:1: the invariant i has no query
              hint: it is one query that returns true
        "#]],
        ),
        (
            "--@ final f\nSELECT 1; SELECT 2",
            expect![[r#"
            test.sql:2:11: the final check f has a second statement
              hint: it is one query that returns true
        "#]],
        ),
        (
            "--@ invariant i\nSELECT :x",
            expect![[r#"
            test.sql:2:8: variable x belongs to a thread, not to a check
        "#]],
        ),
        (
            "--@ expect",
            expect![[r#"
            test.sql:1:1: what to expect is missing
              hint: write: --@ expect error CODE, a SQLSTATE such as 23505 or a name such as unique_violation
        "#]],
        ),
        (
            "--@ expect trouble",
            expect![[r#"
            test.sql:1:12: only errors can be expected
              hint: write: --@ expect error CODE, a SQLSTATE such as 23505 or a name such as unique_violation
        "#]],
        ),
        (
            "--@ expect error unique_violatoin",
            expect![[r#"
            test.sql:1:18: unknown error code "unique_violatoin"
              hint: did you mean "unique_violation"?
        "#]],
        ),
        (
            "--@ option",
            expect![[r#"
                test.sql:1:1: an option is missing
                  hint: options are isolation, atomic, serial, deadlock, search, dependence, hash, restore, states_max, depth_max, preemptions, seed, runs, bug_depth, jobs, granularity
            "#]],
        ),
        (
            "--@ option state_max 3",
            expect![[r#"
            test.sql:1:12: unknown option "state_max"
              hint: did you mean "states_max"?
        "#]],
        ),
        (
            "--@ option atomic yes",
            expect![[r#"
            test.sql:1:19: "yes" is neither on nor off
              hint: write: --@ option atomic on, or off
        "#]],
        ),
        (
            "--@ option search dfs",
            expect![[r#"
                test.sql:1:19: unknown search "dfs"
                  hint: write: --@ option search dpor, source, stateful, stateless, random or pct
            "#]],
        ),
        (
            "SELECT 1; --@ thread a",
            expect![[r#"
            test.sql:1:11: a section must begin at the start of a line
              hint: move `--@` to a line of its own
        "#]],
        ),
        (
            "\\gset",
            expect![[r#"
            test.sql:1:1: \gset stands behind a query, and there is none
        "#]],
        ),
        (
            "\\copy t from 'x'",
            expect![[r#"
            test.sql:1:1: psql's command \copy is not supported by the embedded engine
              hint: of psql's commands, \gset, \i and \ir are understood
        "#]],
        ),
        (
            "\n\\ir missing.sql",
            expect![[r#"
            test.sql:2:1: cannot read missing.sql: no such file
              hint: the path is relative to the file it stands in
        "#]],
        ),
        (
            "\\i loop.sql",
            expect![[r#"
            loop.sql:1:1: loop.sql includes itself
        "#]],
        ),
        (
            "SELECT 1;\n\\i broken.sql",
            expect![[r#"
            broken.sql:2:8: unterminated quoted string
        "#]],
        ),
        (
            "--@ thread a\nSELECT :\"x\"",
            expect![[r#"
            test.sql:2:8: a variable as an identifier is not supported by the embedded engine
              hint: write the name itself
        "#]],
        ),
        (
            "--@ thread a\nSELEKT 1;",
            expect![[r#"
            test.sql:2:1: syntax error at or near "SELEKT"
              hint: did you mean SELECT?
        "#]],
        ),
        (
            "--@ thread ä\nSELECT 'ä', §;",
            expect![[r#"
            ä 2: SELECT 'ä', §
            ä: None autocommit=false retries=0 expected=[]
            expected []
        "#]],
        ),
    ] {
        check(text, expected);
    }
}

#[test]
fn random_bytes_give_an_error_or_a_file_but_never_a_panic() {
    arbtest(|u| {
        let bytes: Vec<u8> = u.arbitrary()?;
        let text = String::from_utf8_lossy(&bytes);
        if let Err(error) = read("fuzz.sql", &text, &mut library) {
            let _ = (error.position(), error.to_string());
        }
        Ok(())
    })
    .budget_ms(300);
}

#[test]
fn mutated_scenarios_give_an_error_or_a_file_but_never_a_panic() {
    const SEED: &str = "CREATE TABLE t (x int, y text);\nINSERT INTO t VALUES (1, 'a''b');\n\\i lib.sql\n\
        CREATE PROCEDURE p(a int) LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET x = x + a; END $$;\n\
        --@ thread a x2 isolation repeatable read retry 1\nBEGIN; SELECT x AS v FROM t \\gset p_\n\
        UPDATE t SET x = :p_v, y = :'p_v' /* c */; COMMIT;\n--@ expect error 23505\nCALL p(1);\n\
        --@ invariant i\nSELECT count(*) > 0 FROM t;\n--@ option serial off\n";
    const PIECES: &[&str] =
        &["--@ ", "'", "$$", "\\gset", "\\i ", ":", ":v", "/*", "*/", "\n", ";", "x9", "ä", "(", "\0"];
    arbtest(|u| {
        let mut text = SEED.to_string();
        for _ in 0..u.int_in_range(1..=6)? {
            let boundary = |text: &str, mut at: usize| {
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                at
            };
            let (at, length) = (u.int_in_range(0..=text.len())?, u.int_in_range(0..=20)?);
            let from = boundary(&text, at);
            let to = boundary(&text, (from + length).min(text.len())).max(from);
            let piece = if u.ratio(1, 2)? { *u.choose(PIECES)? } else { "" };
            text.replace_range(from..to, piece);
        }
        if let Err(error) = read("fuzz.sql", &text, &mut library) {
            let _ = (error.position(), error.to_string());
        }
        Ok(())
    })
    .budget_ms(500);
}
