//! Whatever the text, parsing ends, and never with a panic.

use arbtest::arbitrary::{Result, Unstructured};
use isolde_sql::parse::{self, Fragment};

use crate::{GOLDEN, cases};

/// Gives the text to every entry point; what comes out does not matter.
fn survive(text: &str) {
    let fragment = Fragment { text, offset: 7 };
    let _ = parse::script(text);
    let errors = [parse::statement(fragment).err(), parse::expr(fragment).err(), parse::query(fragment).err()];
    for span in errors.into_iter().flatten().map(|diagnostic| diagnostic.span) {
        assert!(span.start <= span.end && span.end as usize <= text.len() + 7, "{span:?} in {text:?}");
    }
}

#[test]
fn random_bytes() {
    arbtest::arbtest(|u| {
        let bytes: Vec<u8> = u.arbitrary()?;
        survive(&String::from_utf8_lossy(&bytes));
        Ok(())
    })
    .budget_ms(500);
}

/// Words that open, close and connect things.
const SOUP: &[&str] = &[
    "select",
    "from",
    "where",
    "insert",
    "into",
    "values",
    "update",
    "set",
    "delete",
    "create",
    "table",
    "function",
    "procedure",
    "returns",
    "language",
    "sql",
    "plpgsql",
    "as",
    "begin",
    "atomic",
    "end",
    "case",
    "when",
    "then",
    "else",
    "and",
    "or",
    "not",
    "in",
    "is",
    "null",
    "between",
    "like",
    "union",
    "all",
    "any",
    "exists",
    "with",
    "join",
    "on",
    "using",
    "left",
    "lateral",
    "group",
    "by",
    "order",
    "limit",
    "for",
    "of",
    "returning",
    "conflict",
    "do",
    "nothing",
    "primary",
    "key",
    "references",
    "default",
    "check",
    "cast",
    "extract",
    "array",
    "row",
    "distinct",
    "filter",
    "over",
    "collate",
    "escape",
    "at",
    "time",
    "zone",
    "interval",
    "alter",
    "add",
    "constraint",
    "drop",
    "call",
    "return",
    "only",
    "a",
    "b",
    "t",
    "\"q\"",
    "1",
    "2.5",
    "'s'",
    "$1",
    "$$x$$",
    "$$select 1$$",
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    ",",
    ";",
    ".",
    "*",
    "+",
    "-",
    "=",
    "<",
    ">",
    "::",
    ":",
    "||",
    "->",
    "int",
    "text",
    "%",
    "@",
    "~",
    "!",
    ":=",
    "=>",
    "..",
    "--x\n",
    "/*",
    "*/",
    "'",
    "\"",
    "$",
];

#[test]
fn token_soup() {
    arbtest::arbtest(|u| {
        survive(&soup(u)?);
        Ok(())
    })
    .budget_ms(1_500);
}

fn soup(u: &mut Unstructured<'_>) -> Result<String> {
    let mut text = String::new();
    for _ in 0..u.int_in_range(1..=40)? {
        text.push_str(u.choose(SOUP)?);
        if !u.ratio(1, 8)? {
            text.push(' ');
        }
    }
    Ok(text)
}

#[test]
fn mutated_statements() {
    let statements: Vec<String> = GOLDEN
        .iter()
        .flat_map(|(name, _)| {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/parse/{name}.golden"));
            cases(&std::fs::read_to_string(path).unwrap())
        })
        .map(|case| case.input)
        .collect();
    statements.iter().for_each(|s| survive(s));
    arbtest::arbtest(|u| {
        let mut text = u.choose(&statements)?.clone();
        for _ in 0..u.int_in_range(1..=4)? {
            mutate(u, &mut text)?;
        }
        survive(&text);
        Ok(())
    })
    .budget_ms(1_500);
}

/// Removes, repeats or inserts something somewhere.
fn mutate(u: &mut Unstructured<'_>, text: &mut String) -> Result<()> {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let (a, b) = (*u.choose(&places)?, *u.choose(&places)?);
    let (start, end) = (a.min(b), a.max(b).min(text.len()));
    match u.int_in_range(0..=3)? {
        0 => text.replace_range(start..end, ""),
        1 => text.extend_from_within(start..end),
        2 => text.insert_str(start, &format!(" {} ", u.choose(SOUP)?)),
        _ => text.truncate(end),
    }
    if text.len() > 4_000 {
        let cut = places.into_iter().take_while(|at| *at <= 2_000).last().unwrap_or(0);
        text.truncate(cut.min(text.len()));
    }
    Ok(())
}

/// Texts that would nest deeply, by what repeats in them.
const DEEP: &[(&str, &str, &str)] = &[
    ("select ", "(", "1"),
    ("select ", "((", "1"),
    ("select ", "not ", "a"),
    ("select ", "- ", "1"),
    ("select ", "case when ", "a"),
    ("select ", "case when a then ", "a end"),
    ("select ", "f(", "1"),
    ("select ", "a = ", "1"),
    ("select ", "a || ", "1"),
    ("select ", "a + ", "1"),
    ("select ", "a and ", "1"),
    ("select ", "a or not ", "1"),
    ("select ", "@ ", "1"),
    ("select ", "a.", "b"),
    ("select a", "::int", ""),
    ("select a", "[1]", ""),
    ("select a", " is null", ""),
    ("select a", " collate b", ""),
    ("select a", " between 1 and 2", ""),
    ("select a", " at time zone b", ""),
    ("select ", "array[", "1"),
    ("select ", "row(", "1"),
    ("select ", "exists (select ", "1"),
    ("select ", "cast(", "1"),
    ("select ", "a in (", "1"),
    ("select ", "(select ", "1"),
    ("", "(", "select 1"),
    ("", "select 1 union ", "select 1"),
    ("", "with a as (", "select 1"),
    ("select * from a ", "join b on true ", ""),
    ("select * from ", "a join ", "b"),
    ("select * from ", "(", "a"),
    ("select * from ", "(select * from ", "a"),
    ("select a from t ", "for update ", ""),
    ("insert into t values ", "(1),", "(2)"),
    ("create table t (a int ", "check (", "1"),
    ("create function f() returns int language sql as $$ select ", "(", "1 $$"),
    ("create function f() returns int language sql as 'select ", "(", "1'"),
    ("create function f() returns int language sql as E'select ", "\\x28", "1'"),
    ("create function f() returns int language sql as E'select ", "(", "1'"),
    ("create function f() returns int begin atomic ", "select 1;", " end"),
    ("do $$ ", "begin ", "$$"),
    ("do $$ begin ", "if a then ", "end $$"),
    ("do $$ begin x := ", "(", "1; end $$"),
    ("select '", "(", "'"),
    ("select ", "/*", ""),
    ("select ", "'a' ", ""),
    ("select ", "'a'\n", ""),
    ("select interval ", "interval ", "'1'"),
    ("explain ", "explain ", "select 1"),
    ("create schema s ", "create table t (a int) ", ""),
    ("select a", "\n;", ""),
    ("grant ", "a, ", "b on t to u"),
    ("create rule r as on insert to t do ", "(", "select 1"),
    ("prepare p as ", "prepare p as ", "select 1"),
    ("select * from t where ", "a like ", "b"),
    ("select ", "operator(+) ", "1"),
    ("select * from xmltable(", "(", "a"),
    ("select json_object(", "json_object(", ""),
    ("create view v as ", "(", "select 1"),
    ("select {", "{", ""),
    ("select ", "a[", "1"),
    ("select a::int", "[]", ""),
    ("select a from t group by ", "grouping sets (", "a"),
    ("select ", "((a) ", ""),
    ("select ", "(a, ", "1"),
];

#[test]
fn deep_nesting_is_refused_or_parsed_but_never_overflows() {
    for (before, repeated, after) in DEEP {
        for times in [10, 150, 2_000] {
            survive(&format!("{before}{}{after}", repeated.repeat(times)));
        }
    }
}

#[test]
fn long_but_flat_is_fine() {
    let row = "(1, 'a', null)";
    let rows = vec![row; 5_000].join(", ");
    parse::script(&format!("insert into t values {rows}")).unwrap();
    let terms = vec!["(a = 1 or b <> 2)"; 2_000].join(" and ");
    parse::script(&format!("select * from t where {terms}")).unwrap();
    let columns = (0..1_000).map(|i| format!("c{i} int not null default {i}")).collect::<Vec<_>>().join(", ");
    parse::script(&format!("create table t ({columns})")).unwrap();
    let body = "case a when 1 then b := c.d || e; end case; select * from t join u on t.a = u.a;\n".repeat(300);
    parse::script(&format!("do $$ begin {body} end $$")).unwrap();
    let sum = vec!["t.a"; 150].join(" + ");
    parse::script(&format!("select {sum}, {sum}, {sum}")).unwrap();
}
