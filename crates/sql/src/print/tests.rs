//! What is printed parses to the same tree.

#![allow(clippy::unwrap_used)]

use std::fmt::Debug;

use arbtest::arbtest;
use expect_test::{Expect, expect};

use super::generate;
use crate::ast::Statement;
use crate::error::Diagnostic;
use crate::parse::{self, Fragment};

fn whole(text: &str) -> Fragment<'_> {
    Fragment { text, offset: 0 }
}

/// A tree without its spans.
fn shape(tree: &impl Debug) -> String {
    let text = format!("{tree:?}");
    let mut pieces = text.split("Span { start: ");
    let mut shape = pieces.next().unwrap_or("").to_string();
    for piece in pieces {
        shape.push_str("Span");
        shape.push_str(piece.split_once('}').map_or("", |(_, rest)| rest));
    }
    shape
}

#[track_caller]
fn refused(text: &str, error: Diagnostic) -> ! {
    let (before, after) = text.split_at(error.span.start as usize);
    panic!("what was printed is refused: {error}\n{before}<<HERE>>{after}")
}

#[track_caller]
fn again(statement: &Statement) -> Statement {
    let text = statement.to_string();
    let again = parse::statement(whole(&text)).unwrap_or_else(|e| refused(&text, e));
    assert_eq!(text, again.to_string());
    again
}

/// One statement per line: canonical text out, and that text is a fixed point.
#[track_caller]
fn check(lines: &str, expected: Expect) {
    let mut output = String::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match parse::statement(whole(line)) {
            Ok(statement) => {
                again(&statement);
                output.push_str(&format!("{statement}\n"));
            }
            Err(error) => output.push_str(&format!("{line}\n  {error}\n")),
        }
    }
    expected.assert_eq(&output);
}

#[test]
fn random_expressions_come_back() {
    arbtest(|u| {
        let expr = generate::expr(u, 4)?;
        let text = expr.to_string();
        let again = parse::expr(whole(&text)).unwrap_or_else(|e| refused(&text, e));
        assert_eq!(text, again.to_string());
        assert_eq!(shape(&expr), shape(&again), "{text}");
        Ok(())
    })
    .budget_ms(300);
}

#[test]
fn random_statements_come_back() {
    arbtest(|u| {
        let statement = generate::statement(u, 3)?;
        assert_eq!(shape(&statement), shape(&again(&statement)), "{statement}");
        Ok(())
    })
    .budget_ms(300);
}

#[test]
fn random_procedures_come_back() {
    arbtest(|u| {
        let block = generate::block(u, 3)?;
        let text = block.to_string();
        let again = parse::plpgsql::body(whole(&text)).unwrap_or_else(|e| refused(&text, e));
        assert_eq!(text, again.to_string());
        // Where a level stands is only known of a text.
        let placed = shape(&again.block).replace("level_span: Some(Span)", "level_span: None");
        assert_eq!(shape(&block), placed, "{text}");
        Ok(())
    })
    .budget_ms(300);
}

#[test]
fn expressions() {
    check(
        r#"
        SELECT ((a)) + (b * c) - (d - e), (a + b) * c, a ^ b ^ c, a || b || c, a || (b || c)
        SELECT not a = b, (not a) = b, not (a and b), not a and b, a and (b or c), a and b or c, a or (b or c)
        SELECT - a, -1, - -1, -(-a), 2 - -3, -(2)::int, (-2)::int, -2 ^ 2, + a, ~ a, @ -5
        SELECT a != b, a = b is null, a is not true, (a is null) = b, a isnull, a notnull, a is not unknown
        SELECT a between 1 and 2 and b, a + 1 not between symmetric b and (c or d), (a between b and c) between d and e
        SELECT a in (1, 2), a not in (select 1), (a, b) in (select 1, 2), (a = b) in (true), a = any (select 1), a <> all (select 2)
        SELECT a like 'x%', a not like 'y', a ilike b || 'c', not a like b, (a like b) is true
        SELECT case a when 1 then 2 else 3 end, case when a then b end + 1, exists (select 1), (select 1) + 1
        SELECT a::text, cast(a + 1 as bigint), date '2020-01-01', interval '1 day', a::numeric(10,2)::int, '5'::varchar(3)
        SELECT 'it''s', E'tab\t', $$dollar$$, 1.50, 1e10, .5, 12345678901234567890, true, null
        SELECT "Name", "select", t.a, "T".b, s.t.c, (t).a, (f(x)).y, row(1, 2), (1, 2), t.*, count(t.*)
        SELECT coalesce(a, b), nullif(a, b), greatest(1, 2), least(1), count(*), count(distinct a), sum(a) filter (where b)
        SELECT extract(year from a), substring(a from 2 for 3), position('a' in b), trim(both 'x' from a), trim(a)
        SELECT current_timestamp, current_date, now(), pg_catalog.now(), f(a, b => 1), string_agg(a, ',' order by b desc)
        SELECT overlay(a placing b from 2 for 3), a between 1 and 2 or b = 3, a = 3 or b between 1 and 2
        SELECT a is distinct from b, a is not distinct from b + 1, $1 + $2
        SELECT a between b and c or not d, overlay(a placing b from 2), a at time zone 'UTC'
        "#,
        expect![[r#"
            SELECT a + b * c - (d - e), (a + b) * c, a ^ b ^ c, a || b || c, a || (b || c)
            SELECT NOT a = b, (NOT a) = b, NOT (a AND b), NOT a AND b, a AND (b OR c), a AND b OR c, a OR b OR c
            SELECT -a, -1, 1, -(-a), 2 - -3, -2::integer, (-2)::integer, -2 ^ 2, +a, ~a, @(-5)
            SELECT a <> b, a = b IS NULL, a IS NOT TRUE, (a IS NULL) = b, a IS NULL, a IS NOT NULL, a IS NOT UNKNOWN
            SELECT a BETWEEN 1 AND 2 AND b, a + 1 NOT BETWEEN SYMMETRIC b AND (c OR d), (a BETWEEN b AND c) BETWEEN d AND e
            SELECT a IN (1, 2), a NOT IN (SELECT 1), ROW(a, b) IN (SELECT 1, 2), (a = b) IN (TRUE), a = ANY (SELECT 1), a <> ALL (SELECT 2)
            SELECT a LIKE 'x%', a NOT LIKE 'y', a ILIKE b || 'c', a NOT LIKE b, a LIKE b IS TRUE
            SELECT CASE a WHEN 1 THEN 2 ELSE 3 END, CASE WHEN a THEN b END + 1, EXISTS (SELECT 1), (SELECT 1) + 1
            SELECT a::text, (a + 1)::bigint, '2020-01-01'::date, '1 day'::interval, a::numeric(10,2)::integer, '5'::character varying(3)
            SELECT 'it''s', 'tab	', 'dollar', 1.50, 1e10, .5, 12345678901234567890, TRUE, NULL
            SELECT "Name", "select", t.a, "T".b, s.t.c, (t).a, (f(x)).y, ROW(1, 2), ROW(1, 2), t.*, count(t.*)
            SELECT coalesce(a, b), nullif(a, b), greatest(1, 2), least(1), count(*), count(DISTINCT a), sum(a) FILTER (WHERE b)
            SELECT extract('year' FROM a), substring(a, 2, 3), position('a' IN b), btrim(a, 'x'), btrim(a)
            SELECT current_timestamp, current_date, now(), pg_catalog.now(), f(a, b => 1), string_agg(a, ',' ORDER BY b DESC)
            SELECT overlay(a, b, 2, 3), (a BETWEEN 1 AND 2) OR b = 3, a = 3 OR b BETWEEN 1 AND 2
            SELECT a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b + 1, $1 + $2
            SELECT (a BETWEEN b AND c) OR NOT d, overlay(a, b, 2), timezone('UTC', a)
        "#]],
    );
}

#[test]
fn queries() {
    check(
        r#"
        select distinct a as x, b y from t, only u where a group by a, b having count(*) > 1 order by 1 desc, b nulls first limit 5 offset 2
        select from t
        select * from t for update
        select * from t a join u as b on a.x = b.x left outer join w using (x, y) cross join v natural full join z
        select * from a cross join b join c on a.x = c.x, d natural join e left join f using (x)
        select * from a join b join c on b.x = c.x on a.x = b.x
        select * from a join (b join c on true) on true, lateral (select 1) as s(x), generate_series(1, 3) as g, (values (1)) v
        select 1 union select 2 union all select 3 except select 4 intersect select 5
        select 1 union (select 2 union select 3)
        (select 1 union select 2) intersect select 3
        (select 1 order by 1 limit 1) union select 2 order by 1
        with a as (select 1), b (x, y) as (values (1, 2)) select * from a, b
        select * from t for no key update of t nowait for share skip locked for key share
        values (1, 'a'), (2, default)
        table t
        select a from t fetch first 3 rows only
        select a from public.t, other.u
        "#,
        expect![[r#"
            SELECT DISTINCT a AS x, b AS y FROM t, u WHERE a GROUP BY a, b HAVING count(*) > 1 ORDER BY 1 DESC, b NULLS FIRST LIMIT 5 OFFSET 2
            SELECT FROM t
            SELECT * FROM t FOR UPDATE
            SELECT * FROM t AS a JOIN u AS b ON a.x = b.x LEFT JOIN w USING (x, y) CROSS JOIN v NATURAL FULL JOIN z
            SELECT * FROM a CROSS JOIN b JOIN c ON a.x = c.x, d NATURAL JOIN e LEFT JOIN f USING (x)
            SELECT * FROM a JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x
            SELECT * FROM a JOIN (b JOIN c ON TRUE) ON TRUE, LATERAL (SELECT 1) AS s (x), generate_series(1, 3) AS g, (VALUES (1)) AS v
            SELECT 1 UNION SELECT 2 UNION ALL SELECT 3 EXCEPT SELECT 4 INTERSECT SELECT 5
            SELECT 1 UNION (SELECT 2 UNION SELECT 3)
            (SELECT 1 UNION SELECT 2) INTERSECT SELECT 3
            (SELECT 1 ORDER BY 1 LIMIT 1) UNION SELECT 2 ORDER BY 1
            WITH a AS (SELECT 1), b (x, y) AS (VALUES (1, 2)) SELECT * FROM a, b
            SELECT * FROM t FOR NO KEY UPDATE OF t NOWAIT FOR SHARE SKIP LOCKED FOR KEY SHARE
            values (1, 'a'), (2, default)
              DEFAULT is not allowed in this context
            SELECT * FROM t
            SELECT a FROM t LIMIT 3
            SELECT a FROM public.t, other.u
        "#]],
    );
}

#[test]
fn data_changes_and_transactions() {
    check(
        r#"
        insert into t values (1, default)
        insert into t as x (a, "B") select 1, 2 on conflict (a) do update set a = excluded.a, b = default where x.a > 1 returning *
        insert into t default values on conflict do nothing returning a as b
        insert into t (a) values (1), (2) on conflict on constraint t_pkey do nothing
        with w as (select 1) update t as x set a = a + 1, (b, c) = (1, 2) from u where x.id = u.id returning x.*
        delete from t using u where t.a = u.a returning 1
        begin
        start transaction isolation level repeatable read, read only, deferrable
        begin isolation level read uncommitted
        commit and chain
        end
        rollback
        abort
        savepoint s
        rollback to savepoint s
        release s
        set transaction isolation level serializable
        set session characteristics as transaction isolation level repeatable read
        set local lock_timeout = '1s'
        set statement_timeout to 100
        set myapp.user = 'x'
        set lock_timeout = default
        call p(1, 'x')
        truncate t, u
        "#,
        expect![[r#"
            INSERT INTO t VALUES (1, DEFAULT)
            INSERT INTO t AS x (a, "B") SELECT 1, 2 ON CONFLICT (a) DO UPDATE SET a = excluded.a, b = DEFAULT WHERE x.a > 1 RETURNING *
            INSERT INTO t DEFAULT VALUES ON CONFLICT DO NOTHING RETURNING a AS b
            INSERT INTO t (a) VALUES (1), (2) ON CONFLICT ON CONSTRAINT t_pkey DO NOTHING
            WITH w AS (SELECT 1) UPDATE t AS x SET a = a + 1, b = 1, c = 2 FROM u WHERE x.id = u.id RETURNING x.*
            DELETE FROM t USING u WHERE t.a = u.a RETURNING 1
            BEGIN
            BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY, DEFERRABLE
            BEGIN ISOLATION LEVEL READ COMMITTED
            COMMIT AND CHAIN
            COMMIT
            ROLLBACK
            ROLLBACK
            SAVEPOINT s
            ROLLBACK TO s
            RELEASE s
            SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
            SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ
            SET LOCAL lock_timeout = '1s'
            SET statement_timeout = '100'
            SET myapp.user = 'x'
            SET lock_timeout = DEFAULT
            CALL p(1, 'x')
            TRUNCATE t, u
        "#]],
    );
}

#[test]
fn definitions() {
    check(
        r#"
        create table if not exists t (id serial primary key, a int not null default 1 + 2, b numeric(10,2) check (b > 0) unique, c text default 'x' || 'y' constraint cc not null)
        create table t (id bigint generated always as identity, p int references q (id) on delete cascade on update set null, primary key (id, p), constraint u unique (p), foreign key (p) references q, check (p > 1 and id < 2))
        create table t (a boolean default (1 in (1, 2)), b varchar(3) default now(), c timestamptz null, d double precision, e uuid, f date)
        alter table t add constraint c check (a is not null)
        alter table t add foreign key (a, b) references u (c, d) on delete restrict
        create unique index i on t (a, lower(b), (a + b)) where a > 0
        create index on t (a)
        create index if not exists i on t using btree (a)
        create sequence s start with 5 increment by 2
        drop table if exists t, u cascade
        drop index i
        drop function f
        drop procedure p
        create function f(a int, out b text, inout c int default 5) returns int language sql as 'select 1'
        create or replace function f(int) returns setof t as $$ select * from t; select 2 $$ language sql
        create function f() returns table (a int, b text) language plpgsql as $f$ begin return query select 1, 'x'; end $f$
        create procedure p(x int) language plpgsql as $$ begin update t set a = x; commit; end $$
        create function f() returns void language plpgsql as $f$ begin perform '$' || '$'; raise '$$'; end $f$
        do $$ declare x int; begin x := 1; end $$
        "#,
        expect![[r#"
            CREATE TABLE IF NOT EXISTS t (id serial PRIMARY KEY, a integer NOT NULL DEFAULT 1 + 2, b numeric(10,2) CHECK (b > 0) UNIQUE, c text DEFAULT 'x' || 'y' CONSTRAINT cc NOT NULL)
            CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, p integer REFERENCES q (id) ON DELETE CASCADE ON UPDATE SET NULL, PRIMARY KEY (id, p), CONSTRAINT u UNIQUE (p), FOREIGN KEY (p) REFERENCES q, CHECK (p > 1 AND id < 2))
            CREATE TABLE t (a boolean DEFAULT (1 IN (1, 2)), b character varying(3) DEFAULT now(), c timestamp with time zone NULL, d double precision, e uuid, f date)
            ALTER TABLE t ADD CONSTRAINT c CHECK (a IS NOT NULL)
            ALTER TABLE t ADD FOREIGN KEY (a, b) REFERENCES u (c, d) ON DELETE RESTRICT
            CREATE UNIQUE INDEX i ON t (a, lower(b), (a + b)) WHERE a > 0
            CREATE INDEX ON t (a)
            CREATE INDEX IF NOT EXISTS i ON t (a)
            CREATE SEQUENCE s INCREMENT BY 2 START WITH 5
            DROP TABLE IF EXISTS t, u CASCADE
            DROP INDEX i
            DROP FUNCTION f
            DROP PROCEDURE p
            CREATE FUNCTION f(a integer, OUT b text, INOUT c integer DEFAULT 5) RETURNS integer LANGUAGE sql AS $$SELECT 1$$
            CREATE OR REPLACE FUNCTION f(integer) RETURNS SETOF t LANGUAGE sql AS $$SELECT * FROM t; SELECT 2$$
            CREATE FUNCTION f() RETURNS TABLE (a integer, b text) LANGUAGE plpgsql AS $$
            BEGIN
              RETURN QUERY SELECT 1, 'x';
            END
            $$
            CREATE PROCEDURE p(x integer) LANGUAGE plpgsql AS $$
            BEGIN
              UPDATE t SET a = x;
              COMMIT;
            END
            $$
            CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $body$
            BEGIN
              PERFORM '$' || '$';
              RAISE EXCEPTION '$$';
            END
            $body$
            DO $$
            DECLARE
              x integer;
            BEGIN
              x := 1;
            END
            $$
        "#]],
    );
}
