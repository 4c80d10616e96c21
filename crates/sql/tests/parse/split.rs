//! Scripts to statements.

use isolde_sql::parse;

fn check(source: &str, expected: &[&str]) {
    let found: Vec<&str> = parse::split(source).into_iter().map(|span| span.of(source)).collect();
    assert_eq!(found, expected, "{source}");
}

#[test]
fn at_semicolons() {
    check("select 1; select 2", &["select 1", "select 2"]);
    check("select 1;", &["select 1"]);
    check("", &[]);
    check(" ; ;; \n", &[]);
    check("  select 1  ;\n\n  select 2  ", &["select 1", "select 2"]);
}

#[test]
fn comments_around_statements_are_dropped_and_those_inside_kept() {
    check("-- one\nselect /* a */ 1; -- two\n/* three; */ select 2 -- four", &["select /* a */ 1", "select 2"]);
    check("-- only a comment;", &[]);
    check("/* /* nested; */ still; */ select 1", &["select 1"]);
}

#[test]
fn not_inside_quotes() {
    check("select ';'; select \"a;b\"", &["select ';'", "select \"a;b\""]);
    check("select 'it''s;'; select E'\\';'", &["select 'it''s;'", "select E'\\';'"]);
    check("do $$ begin; end $$; select $a$ ; $$ ; $a$", &["do $$ begin; end $$", "select $a$ ; $$ ; $a$"]);
    check("select 'never; ends", &["select 'never; ends"]);
}

#[test]
fn not_inside_parentheses() {
    check(
        "create rule r as on insert to t do (select 1; select 2); select 3",
        &["create rule r as on insert to t do (select 1; select 2)", "select 3"],
    );
    check("select 1); select 2", &["select 1)", "select 2"]);
}

#[test]
fn not_inside_an_atomic_body() {
    let body = "create function f() returns int begin atomic select 1; select case when true then 2 end; end";
    check(&format!("{body}; select 2"), &[body, "select 2"]);
    check("begin; select 1; end; select 2", &["begin", "select 1", "end", "select 2"]);
}
