//! Procedures in, canonical text out; mistakes in, message and place out.

#![allow(clippy::unwrap_used)]

use arbtest::arbtest;
use expect_test::{Expect, expect};

use super::body;
use crate::ast::plpgsql::{DeclarationKind, StmtKind};
use crate::ast::{QueryBody, SelectItem, StatementKind, TypeName};
use crate::parse::Fragment;

/// Parses and prints; an error is shown with the text it points at.
#[track_caller]
fn check(text: &str, expected: Expect) {
    // An offset that is not zero, so that a span that forgot it is seen.
    let offset = 100;
    let actual = match body(Fragment { text, offset }) {
        Ok(body) => format!("{body}\n"),
        Err(error) => {
            let (start, end) = (error.span.start - offset, error.span.end - offset);
            let covered = text.get(start as usize..end as usize).unwrap_or("OUTSIDE");
            format!("{start}..{end} `{covered}`: {error} ({})\n", error.state)
        }
    };
    expected.assert_eq(&actual);
}

#[test]
fn a_transfer() {
    check(
        r#"
        declare
          b numeric(10,2) not null := 0;  -- the balance
          who constant text default 'nobody';
          r account%ROWTYPE; id account.id % type;
          rest record;
        begin
          select balance into strict b from account where id = p_from for update;
          if b < p_amount then
            raise exception 'only % of %', b, p_amount using errcode = 'check_violation', hint = 'earn';
          elsif b = p_amount then NULL;
          else
            update account set balance = balance - p_amount where id = p_from returning balance into r.balance;
          end if;
          insert into log values (p_from, p_amount);
          commit;
        end
        "#,
        expect![[r#"
            DECLARE
              b numeric(10,2) NOT NULL := 0;
              who CONSTANT text := 'nobody';
              r account%ROWTYPE;
              id account.id%TYPE;
              rest record;
            BEGIN
              SELECT balance INTO STRICT b FROM account WHERE id = p_from FOR UPDATE;
              IF b < p_amount THEN
                RAISE EXCEPTION 'only % of %', b, p_amount USING ERRCODE = 'check_violation', HINT = 'earn';
              ELSIF b = p_amount THEN
                NULL;
              ELSE
                UPDATE account SET balance = balance - p_amount WHERE id = p_from RETURNING balance INTO r.balance;
              END IF;
              INSERT INTO log VALUES (p_from, p_amount);
              COMMIT;
            END
        "#]],
    );
}

#[test]
fn loops() {
    check(
        r#"<<outer>> BEGIN
        <<l>> LOOP EXIT l WHEN i > 3; CONTINUE; END LOOP l;
        WHILE i < 10 LOOP i := i + 1; END LOOP;
        FOR i IN 1..10 LOOP PERFORM pg_sleep(1); END LOOP;
        FOR i IN REVERSE n..coalesce(a, 1) BY 2 LOOP EXIT outer; END LOOP;
        FOR r IN SELECT id, name FROM t WHERE id IN (1, 2) ORDER BY id LOOP RETURN NEXT r; END LOOP;
        <<m>> FOR a, b IN UPDATE t SET x = 1 RETURNING a, b LOOP CONTINUE m WHEN a IS NULL; END LOOP m;
        END outer;"#,
        expect![[r#"
            <<"outer">>
            BEGIN
              <<l>>
              LOOP
                EXIT l WHEN i > 3;
                CONTINUE;
              END LOOP;
              WHILE i < 10 LOOP
                i := i + 1;
              END LOOP;
              FOR i IN 1..10 LOOP
                PERFORM pg_sleep(1);
              END LOOP;
              FOR i IN REVERSE n..coalesce(a, 1) BY 2 LOOP
                EXIT "outer";
              END LOOP;
              FOR r IN SELECT id, name FROM t WHERE id IN (1, 2) ORDER BY id LOOP
                RETURN NEXT r;
              END LOOP;
              <<m>>
              FOR a, b IN UPDATE t SET x = 1 RETURNING a, b LOOP
                CONTINUE m WHEN a IS NULL;
              END LOOP;
            END
        "#]],
    );
}

#[test]
fn branches() {
    check(
        r#"BEGIN
        IF a THEN x := 1; ELSEIF b THEN x = 2; ELSIF c THEN x := 3; END IF;
        IF CASE WHEN a THEN b ELSE c END THEN RETURN; END IF;
        CASE x WHEN 1, 2 THEN y := 1; WHEN 3 THEN NULL; ELSE y := case z when 1 then 2 end; END CASE;
        CASE WHEN x = 1 THEN RETURN x; END CASE;
        END"#,
        expect![[r#"
            BEGIN
              IF a THEN
                x := 1;
              ELSIF b THEN
                x := 2;
              ELSIF c THEN
                x := 3;
              END IF;
              IF CASE WHEN a THEN b ELSE c END THEN
                RETURN;
              END IF;
              CASE x
                WHEN 1, 2 THEN
                  y := 1;
                WHEN 3 THEN
                  NULL;
                ELSE
                  y := CASE z WHEN 1 THEN 2 END;
              END CASE;
              CASE
                WHEN x = 1 THEN
                  RETURN x;
              END CASE;
            END
        "#]],
    );
}

#[test]
fn handlers() {
    check(
        r#"BEGIN
        BEGIN
          INSERT INTO t VALUES (1);
        EXCEPTION
          WHEN unique_violation OR SQLSTATE '40001' THEN
            GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, r.d := pg_exception_detail;
            BEGIN x := 1/0; EXCEPTION WHEN division_by_zero THEN RAISE; END;
          WHEN others THEN NULL;
        END;
        GET DIAGNOSTICS n = ROW_COUNT;
        GET CURRENT DIAGNOSTICS n := row_count;
        END;"#,
        expect![[r#"
            BEGIN
              BEGIN
                INSERT INTO t VALUES (1);
              EXCEPTION
                WHEN unique_violation OR SQLSTATE '40001' THEN
                  GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, r.d = PG_EXCEPTION_DETAIL;
                  BEGIN
                    x := 1 / 0;
                  EXCEPTION
                    WHEN division_by_zero THEN
                      RAISE;
                  END;
                WHEN others THEN
                  NULL;
              END;
              GET DIAGNOSTICS n = ROW_COUNT;
              GET DIAGNOSTICS n = ROW_COUNT;
            END
        "#]],
    );
}

#[test]
fn raise_in_all_forms() {
    check(
        r#"BEGIN
        RAISE;
        RAISE 'bare';
        RAISE NOTICE 'it''s % and 100%%', now();
        RAISE WARNING E'tab\t% %', coalesce(a, b), c USING DETAIL = 'd' || x;
        END"#,
        expect![[r#"
            BEGIN
              RAISE;
              RAISE EXCEPTION 'bare';
              RAISE NOTICE 'it''s % and 100%%', now();
              RAISE WARNING 'tab	% %', coalesce(a, b), c USING DETAIL = 'd' || x;
            END
        "#]],
    );
    check(
        r#"BEGIN
        RAISE EXCEPTION 'a' 
          'b';
        RAISE division_by_zero;
        RAISE info SQLSTATE '22012' USING message = 'm';
        RAISE LOG USING MESSAGE := 'x' , ERRCODE = '22012';
        RAISE debug $$dollar$$;
        END"#,
        expect![[r#"
            BEGIN
              RAISE EXCEPTION 'ab';
              RAISE EXCEPTION division_by_zero;
              RAISE INFO SQLSTATE '22012' USING MESSAGE = 'm';
              RAISE LOG USING MESSAGE = 'x', ERRCODE = '22012';
              RAISE DEBUG 'dollar';
            END
        "#]],
    );
}

#[test]
fn into_is_cut_out_wherever_it_stands() {
    check(
        r#"BEGIN
        SELECT INTO a, b x, y FROM t;
        SELECT x, y INTO STRICT a, r.b FROM t;
        SELECT x FROM t WHERE id = 1 INTO a;
        SELECT x INTO /* here
          and */ a FROM t;
        WITH w AS (SELECT 1 AS id) SELECT id INTO a FROM w;
        INSERT INTO t (a) VALUES (1), (2) ON CONFLICT DO NOTHING RETURNING id INTO STRICT a;
        DELETE FROM t RETURNING a, b INTO a, "B";
        EXECUTE 'SELECT ' || x INTO a USING 1, b;
        EXECUTE format('x', y) USING coalesce(a, b) INTO STRICT c;
        EXECUTE x;
        END"#,
        expect![[r#"
            BEGIN
              SELECT x, y INTO a, b FROM t;
              SELECT x, y INTO STRICT a, r.b FROM t;
              SELECT x INTO a FROM t WHERE id = 1;
              SELECT x INTO a FROM t;
              WITH w AS (SELECT 1 AS id) SELECT id INTO a FROM w;
              INSERT INTO t (a) VALUES (1), (2) ON CONFLICT DO NOTHING RETURNING id INTO STRICT a;
              DELETE FROM t RETURNING a, b INTO a, "B";
              EXECUTE 'SELECT ' || x INTO a USING 1, b;
              EXECUTE format('x', y) INTO STRICT c USING coalesce(a, b);
              EXECUTE x;
            END
        "#]],
    );
}

#[test]
fn the_rest() {
    check(
        r#"DECLARE a ALIAS FOR $1; c CURSOR FOR SELECT * FROM t; DECLARE d CURSOR IS SELECT 1; "X y" timestamptz;
        BEGIN
        $1 := 5; r.a.b := 1; "X y" := now();
        n := count(*) FROM t WHERE a IS DISTINCT FROM b;
        return := 1; raise = 2; perform.x := 3;
        PERFORM f(x) FROM t WHERE y;
        perform(1);
        ASSERT n > 0; ASSERT n > 0, 'n is ' || n;
        RETURN QUERY SELECT 1 UNION SELECT 2; RETURN NEXT; RETURN (a, b);
        CALL p(1, x); COMMIT; ROLLBACK AND CHAIN; SET LOCAL lock_timeout = '1s';
        END;"#,
        expect![[r#"
            DECLARE
              a ALIAS FOR $1;
              c CURSOR FOR SELECT * FROM t;
              d CURSOR FOR SELECT 1;
              "X y" timestamp with time zone;
            BEGIN
              $1 := 5;
              r.a.b := 1;
              "X y" := now();
              n := (SELECT count(*) FROM t WHERE a IS DISTINCT FROM b);
              return := 1;
              raise := 2;
              perform.x := 3;
              PERFORM f(x) FROM t WHERE y;
              PERFORM 1;
              ASSERT n > 0;
              ASSERT n > 0, 'n is ' || n;
              RETURN QUERY SELECT 1 UNION SELECT 2;
              RETURN NEXT;
              RETURN ROW(a, b);
              CALL p(1, x);
              COMMIT;
              ROLLBACK AND CHAIN;
              SET LOCAL lock_timeout = '1s';
            END
        "#]],
    );
}

#[test]
fn mistakes_point_at_the_token() {
    check(
        "",
        expect![[r#"
        0..0 ``: syntax error at end of input (42601)
    "#]],
    );
    check(
        "BEGIN",
        expect![[r#"
        5..5 ``: syntax error at end of input (42601)
    "#]],
    );
    check(
        "BEGIN x := ; END",
        expect![[r#"
        11..12 `;`: missing expression at or near ";" (42601)
    "#]],
    );
    check(
        "BEGIN x := 1 END",
        expect![[r#"
        16..16 ``: missing ";" at end of SQL expression (42601)
    "#]],
    );
    check(
        "BEGIN x := (1; END",
        expect![[r#"
        13..14 `;`: mismatched parentheses at or near ";" (42601)
    "#]],
    );
    check(
        "BEGIN x := 1); END",
        expect![[r#"
        12..13 `)`: mismatched parentheses at or near ")" (42601)
    "#]],
    );
    check(
        "BEGIN IF a; END IF; END",
        expect![[r#"
        10..11 `;`: missing "THEN" at end of SQL expression (42601)
    "#]],
    );
    check(
        "BEGIN IF THEN END IF; END",
        expect![[r#"
        9..13 `THEN`: missing expression at or near "THEN" (42601)
    "#]],
    );
    check(
        "BEGIN IF a THEN x := 1; END; END",
        expect![[r#"
        27..28 `;`: syntax error at or near ";" (42601)
    "#]],
    );
    check(
        "BEGIN IF a THEN ELSE ELSE END IF; END",
        expect![[r#"
        21..25 `ELSE`: syntax error at or near "ELSE" (42601)
    "#]],
    );
    check(
        "BEGIN WHILE a; END LOOP; END",
        expect![[r#"
        13..14 `;`: missing "LOOP" at end of SQL expression (42601)
    "#]],
    );
    check(
        "BEGIN FOR i IN 1..2; END LOOP; END",
        expect![[r#"
        19..20 `;`: missing "LOOP" at end of SQL expression (42601)
    "#]],
    );
    check(
        "BEGIN FOR i, j IN 1..2 LOOP END LOOP; END",
        expect![[r#"
        19..21 `..`: integer FOR loop must have only one target variable (42601)
    "#]],
    );
    check(
        "BEGIN FOR r IN REVERSE SELECT 1 LOOP END LOOP; END",
        expect![[r#"
        15..22 `REVERSE`: cannot specify REVERSE in query FOR loop (42601)
    "#]],
    );
    check(
        "BEGIN <<l>> LOOP END LOOP k; END",
        expect![[r#"
        26..27 `k`: end label "k" differs from block's label "l" (42601)
    "#]],
    );
    check(
        "BEGIN LOOP END LOOP k; END",
        expect![[r#"
        20..21 `k`: end label "k" specified for unlabeled block (42601)
    "#]],
    );
    check(
        "BEGIN <<l>> x := 1; END",
        expect![[r#"
        12..13 `x`: syntax error at or near "x" (42601)
    "#]],
    );
    check(
        "BEGIN NULL; END; SELECT 1",
        expect![[r#"
        17..23 `SELECT`: syntax error at or near "SELECT" (42601)
    "#]],
    );
    check(
        "BEGIN SELECT 1",
        expect![[r#"
        14..14 ``: unexpected end of function definition at end of input (42601)
    "#]],
    );
    check(
        "BEGIN SELECT 1 INTO a INTO b; END",
        expect![[r#"
        22..26 `INTO`: INTO specified more than once at or near "INTO" (42601)
    "#]],
    );
    check(
        "BEGIN SELECT 1 INTO 5; END",
        expect![[r#"
        20..21 `5`: syntax error at or near "5" (42601)
    "#]],
    );
    check(
        "BEGIN PERFORM 1 INTO a; END",
        expect![[r#"
        16..20 `INTO`: syntax error at or near "INTO" (42601)
    "#]],
    );
    check(
        "BEGIN (SELECT 1); END",
        expect![[r#"
        6..7 `(`: syntax error at or near "(" (42601)
    "#]],
    );
    check(
        "BEGIN EXECUTE x INTO a INTO b; END",
        expect![[r#"
        23..27 `INTO`: syntax error at or near "INTO" (42601)
    "#]],
    );
    check(
        "BEGIN x := 'open; END",
        expect![[r#"
        11..21 `'open; END`: unterminated quoted string at or near "'open; END" (42601)
    "#]],
    );
    check(
        "BEGIN /* open",
        expect![[r#"
        6..13 `/* open`: unterminated /* comment at or near "/* open" (42601)
    "#]],
    );
    check(
        "BEGIN \"\" := 1; END",
        expect![[r#"
        6..8 `""`: zero-length delimited identifier at or near """" (42601)
    "#]],
    );
    check(
        "BEGIN NULL; EXCEPTION NULL; END",
        expect![[r#"
        22..26 `NULL`: syntax error at or near "NULL" (42601)
    "#]],
    );
    check(
        "BEGIN NULL; EXCEPTION WHEN SQLSTATE 'oops' THEN NULL; END",
        expect![[r#"
        36..42 `'oops'`: invalid SQLSTATE code at or near "oops" (42601)
    "#]],
    );
    check(
        "DECLARE begin int; BEGIN END",
        expect![[r#"
        14..17 `int`: syntax error at or near "int" (42601)
    "#]],
    );
    check(
        "DECLARE x; BEGIN END",
        expect![[r#"
        9..10 `;`: missing data type declaration at or near ";" (42601)
    "#]],
    );
    check(
        "DECLARE x numeric(1; BEGIN END",
        expect![[r#"
        19..20 `;`: mismatched parentheses at or near ";" (42601)
    "#]],
    );
    check(
        "DECLARE x t%KIND; BEGIN END",
        expect![[r#"
        12..16 `KIND`: syntax error at or near "KIND" (42601)
    "#]],
    );
    check(
        "DECLARE x int := 1",
        expect![[r#"
        18..18 ``: missing ";" at end of SQL expression (42601)
    "#]],
    );
}

#[test]
fn mistakes_in_raise_and_diagnostics() {
    check(
        "BEGIN RAISE NOTICE; END",
        expect![[r#"
        18..19 `;`: syntax error at or near ";" (42601)
    "#]],
    );
    check(
        "BEGIN RAISE 'a %'; END",
        expect![[r#"
        6..17 `RAISE 'a %'`: too few parameters specified for RAISE (42601)
    "#]],
    );
    check(
        "BEGIN RAISE 'a', 1; END",
        expect![[r#"
        6..18 `RAISE 'a', 1`: too many parameters specified for RAISE (42601)
    "#]],
    );
    check(
        "BEGIN RAISE 'a' USING color = 'red'; END",
        expect![[r#"
        22..27 `color`: unrecognized RAISE statement option at or near "color" (42601)
    "#]],
    );
    check(
        "BEGIN RAISE 'a' x; END",
        expect![[r#"
        16..17 `x`: syntax error at or near "x" (42601)
    "#]],
    );
    check(
        "BEGIN GET DIAGNOSTICS x = MESSAGE_TEXT; END",
        expect![[r#"
        26..38 `MESSAGE_TEXT`: diagnostics item MESSAGE_TEXT is not allowed in GET CURRENT DIAGNOSTICS (42601)
    "#]],
    );
    check(
        "BEGIN GET STACKED DIAGNOSTICS x = ROW_COUNT; END",
        expect![[r#"
        34..43 `ROW_COUNT`: diagnostics item ROW_COUNT is not allowed in GET STACKED DIAGNOSTICS (42601)
    "#]],
    );
    check(
        "BEGIN GET DIAGNOSTICS x = colour; END",
        expect![[r#"
        26..32 `colour`: unrecognized GET DIAGNOSTICS item at or near "colour" (42601)
    "#]],
    );
}

#[test]
fn mistakes_inside_sql_keep_their_place() {
    check(
        "BEGIN IF 1 + THEN NULL; END IF; END",
        expect![[r#"
        12..12 ``: syntax error at end of input (42601)
    "#]],
    );
    check(
        "BEGIN PERFORM 1 +; END",
        expect![[r#"
        17..17 ``: syntax error at end of input (42601)
    "#]],
    );
    check(
        "BEGIN SELECT a INTO b FROM t WHERE; END",
        expect![[r#"
        34..34 ``: syntax error at end of input (42601)
    "#]],
    );
    check(
        "BEGIN FOO BAR; END",
        expect![[r#"
        6..9 `FOO`: syntax error at or near "FOO" (42601)
    "#]],
    );
}

#[test]
fn what_the_engine_lacks_is_named() {
    check(
        "BEGIN FOR r IN EXECUTE 'x' LOOP END LOOP; END",
        expect![[r#"
            BEGIN
              FOR r IN EXECUTE 'x' LOOP
              END LOOP;
            END
        "#]],
    );
    check(
        "BEGIN FOREACH x IN ARRAY y LOOP END LOOP; END",
        expect![[r#"
            BEGIN
              FOREACH x IN ARRAY y LOOP
              END LOOP;
            END
        "#]],
    );
    check(
        "BEGIN FOR r IN c LOOP END LOOP; END",
        expect![[r#"
            BEGIN
              FOR r IN c LOOP
              END LOOP;
            END
        "#]],
    );
    check(
        "BEGIN OPEN c; END",
        expect![[r#"
            BEGIN
              OPEN c;
            END
        "#]],
    );
    check(
        "BEGIN a[1] := 2; END",
        expect![[r#"
            BEGIN
              a[1] := 2;
            END
        "#]],
    );
    check(
        "BEGIN RETURN QUERY EXECUTE 'x'; END",
        expect![[r#"
            BEGIN
              RETURN QUERY EXECUTE 'x';
            END
        "#]],
    );
    check(
        "DECLARE c CURSOR (x int) FOR SELECT 1; BEGIN END",
        expect![[r#"
            DECLARE
              c CURSOR (x integer) FOR SELECT 1;
            BEGIN
            END
        "#]],
    );
    check(
        "DECLARE x text COLLATE \"C\"; BEGIN END",
        expect![[r#"
        15..22 `COLLATE`: COLLATE is not supported by the embedded engine (0A000)
    "#]],
    );
    check(
        "#variable_conflict use_column\nBEGIN END",
        expect![[r#"
        0..1 `#`: a PL/pgSQL compiler option is not supported by the embedded engine (0A000)
    "#]],
    );
}

/// A span is relative to the file, also inside text that was patched before it was parsed.
#[test]
fn spans_are_the_files() {
    let file =
        "DO $$ DECLARE v numeric(5,2) := q; BEGIN SELECT 1 INTO v FROM t WHERE nope; PERFORM f(y); v := a + b; END $$";
    let offset = file.find("DECLARE").unwrap();
    let text = file[offset..].trim_end_matches("$$");
    let block = body(Fragment { text, offset: offset as u32 }).unwrap().block;

    let DeclarationKind::Variable { ty: TypeName::Known(_, ty), default: Some(default), .. } =
        &block.declarations[0].kind
    else {
        panic!("{block}")
    };
    assert_eq!((ty.of(file), default.span.of(file)), ("numeric(5,2)", "q"));
    let [StmtKind::Sql(select, Some(into)), StmtKind::Perform(perform), StmtKind::Assign(target, value)] =
        [0, 1, 2].map(|i| block.body[i].kind.clone())
    else {
        panic!("{block}")
    };
    let StatementKind::Query(query) = &select.kind else { panic!("{block}") };
    let QueryBody::Select(select) = &query.body else { panic!("{block}") };
    assert_eq!(select.filter.as_ref().unwrap().span.of(file), "nope");
    assert_eq!(into.targets[0].span.of(file), "v");
    let QueryBody::Select(perform) = &perform.body else { panic!("{block}") };
    let SelectItem::Expr { expr, .. } = &perform.items[0] else { panic!("{block}") };
    assert_eq!(expr.span.of(file), "f(y)");
    assert_eq!((target.span.of(file), value.span.of(file)), ("v", "a + b"));
    assert_eq!(block.body[0].span.of(file), "SELECT 1 INTO v FROM t WHERE nope");
}

#[test]
fn deep_nesting_is_refused_not_overflown() {
    let nested = |n: usize| format!("{}{}", "BEGIN ".repeat(n), "END;".repeat(n));
    assert!(body(Fragment { text: &nested(200), offset: 0 }).is_ok());
    let error = body(Fragment { text: &nested(100_000), offset: 0 }).unwrap_err();
    assert_eq!(error.message, "stack depth limit exceeded");
    let loops = "LOOP ".repeat(100_000);
    assert!(body(Fragment { text: &format!("BEGIN {loops}"), offset: 0 }).is_err());
}

const PROCEDURE: &str = r#"<<b>> DECLARE x int := 1; r t%ROWTYPE; a ALIAS FOR $1; c CURSOR FOR SELECT 1; BEGIN
    SELECT 'é', y INTO STRICT x, r.y FROM t WHERE z = $$q$$ FOR UPDATE; PERFORM "ü"(1); IF CASE WHEN a THEN b END THEN
    RAISE NOTICE 'a % b', x USING ERRCODE = '22012'; ELSIF x[1] THEN NULL; END IF; <<l>> FOR i IN REVERSE 1..2 BY 3 LOOP
    EXIT l WHEN x; END LOOP; EXECUTE 'a' INTO x USING 1, 2; GET DIAGNOSTICS x = ROW_COUNT; CASE x WHEN 1, 2 THEN RETURN;
    ELSE RETURN NEXT 1; END CASE; EXCEPTION WHEN others OR SQLSTATE '12345' THEN RAISE; END b;"#;

/// Pieces removed, doubled and swapped: the parser answers, and what it points at lies within the text.
#[test]
fn mutated_text_never_panics() {
    arbtest(|u| {
        let mut text: Vec<char> = PROCEDURE.chars().collect();
        for _ in 0..u.int_in_range(1..=6)? {
            let at = u.int_in_range(0..=text.len().saturating_sub(1))?;
            let len = u.int_in_range(0..=20)?.min(text.len() - at);
            match u.int_in_range(0..=2)? {
                0 => drop(text.drain(at..at + len)),
                1 => {
                    let piece: Vec<char> = text[at..at + len].to_vec();
                    let to = u.int_in_range(0..=text.len())?;
                    text.splice(to..to, piece);
                }
                _ => text.insert(at, *u.choose(&['\'', '"', '$', ';', '(', ')', '.', '<', '\0', 'é', ' ', '/', '*'])?),
            }
        }
        let text: String = text.into_iter().collect();
        if let Err(error) = body(Fragment { text: &text, offset: 0 }) {
            assert!(error.span.start <= error.span.end && error.span.end as usize <= text.len(), "{error:?} in {text}");
        }
        Ok(())
    });
}

#[test]
fn random_text_never_panics() {
    arbtest(|u| {
        let text: String = u.arbitrary()?;
        let _ = body(Fragment { text: &text, offset: 0 });
        let _ = body(Fragment { text: &format!("DECLARE {text} BEGIN {text} END"), offset: 0 });
        Ok(())
    });
}
