//! Expressions over every type, without tables: what functions and operators make of values.
//!
//! A [`Kind`] has literals, NULL among them, and templates: `{a} || {i}` is an array and an integer, put together. What
//! may fail fails alike on both sides. Left out is what PostgreSQL leaves open, such as the last digits of a float.
//!
//! A template that begins with `!` stands at the top only: PostgreSQL does not take its value for a constant, so
//! whether an error below it comes to light would depend on what else is folded around it.

use super::Dice;
use crate::program::Program;

/// A type: the letter that stands for it in templates, its literals, and what makes a value of it.
struct Kind {
    letter: char,
    literals: &'static [&'static str],
    templates: &'static [&'static str],
}

const KINDS: &[Kind] = &[
    Kind {
        letter: 'i',
        literals: &["0", "1", "2", "3", "-1", "7", "NULL::int", "100"],
        templates: &[
            "({i} + {i})",
            "({i} * {i})",
            "array_length({a}, {i})",
            "cardinality({a})",
            "({a})[2]",
            "array_position({a}, {i})",
            "array_upper({a}, 1)",
            "length({t})",
            "strpos({t}, {t})",
            "({j} ->> 'a')::int",
            "extract(year from {d})::int",
            "extract(dow from {m})::int",
            "({d} - {d})",
            "regexp_count({t}, {x})",
            "ascii({t})",
            "lower({g})",
            "length({y})",
            "({i} & {i})",
            "({i} # {i})",
            "({i} << 2)",
            "num_nulls({i}, {t}, {a})",
            "array_length(string_to_array({t}, {t}), 1)",
            "date_part('month', {m})::int",
        ],
    },
    Kind {
        letter: 't',
        literals: &[
            "'a'",
            "'abc'",
            "''",
            "'b,c'",
            "'NULL'",
            "'x \"y\"'",
            "NULL::text",
            "'12'",
            "'{1,2}'",
            "'Hello World'",
            "'é'",
        ],
        templates: &[
            "({t} || {t})",
            "!{a}::text",
            "!{s}::text",
            "{j}::text",
            "!array_to_string({a}, {t})",
            "!array_to_string({s}, ',', '*')",
            "({s})[1]",
            "({j} ->> {t})",
            "({j} #>> {s})",
            "regexp_replace({t}, {x}, {t}, 'g')",
            "regexp_replace({t}, {x}, '[\\&]')",
            "substring({t} from {x})",
            "split_part({t}, ',', 1)",
            "left({t}, {i})",
            "lpad({t}, 5, 'x')",
            "translate({t}, 'abc', 'xy')",
            "quote_literal({t})",
            "quote_ident({t})",
            "!format('%s-%L', {t}, {i})",
            "!to_char({m}, 'YYYY-MM-DD HH24:MI:SS')",
            "!to_char({m}, 'FMDay DDth Mon YY, HH12 AM')",
            "!to_char({m}, 'IYYY-IW Q DDD WW')",
            "!to_char({i}, 'FM999,999')",
            "!to_char({n}, '999.99')",
            "!to_char({n}, 'S0999.9')",
            "!to_char({v}, 'HH24:MI:SS')",
            "jsonb_typeof({j})",
            "jsonb_pretty({j})",
            "encode({y}, 'hex')",
            "encode({y}, 'base64')",
            "md5({t})",
            "!{g}::text",
            "{v}::text",
            "!concat_ws(',', {t}, {i}, {t})",
            "overlay({t} placing 'Z' from 2)",
            "{t}::char(3)::text",
            "({t}::char(4) || '|')",
            "array_dims({a})",
        ],
    },
    Kind {
        letter: 'b',
        literals: &["true", "false", "NULL::bool"],
        templates: &[
            "({i} = ANY ({a}))",
            "({i} <> ALL ({a}))",
            "({i} < ANY ({a}))",
            "({t} = ANY ({s}))",
            "({a} @> {a})",
            "({a} && {a})",
            "({a} = {a})",
            "({a} < {a})",
            "({s} <@ {s})",
            "({j} @> {j})",
            "({j} ? {t})",
            "({j} ?| {s})",
            "({j} = {j})",
            "({j} < {j})",
            "({t} ~ {x})",
            "({t} ~* {x})",
            "({t} SIMILAR TO 'a%|(b|c)_*')",
            "({t} LIKE '%b%')",
            "({g} && {g})",
            "({g} @> {i})",
            "({g} < {g})",
            "({c} < {c})",
            "({v} > {v})",
            "!({m} < {z})",
            "!({d} <= {m})",
            "({y} < {y})",
            "!({r} = {n})",
            "({t}::char(3) = {t})",
            "(({m}, {m}) OVERLAPS ({m}, {v}))",
            "({a} IS NULL)",
            "({a} IS DISTINCT FROM {a})",
            "starts_with({t}, {t})",
        ],
    },
    Kind {
        letter: 'a',
        literals: &[
            "ARRAY[1,2,3]",
            "'{}'::int[]",
            "ARRAY[1,NULL]",
            "NULL::int[]",
            "'{{1,2},{3,4}}'::int[]",
            "'{5}'::int[]",
            "'[2:3]={7,8}'::int[]",
        ],
        templates: &[
            "({a} || {i})",
            "({i} || {a})",
            "({a} || {a})",
            "({a})[1:2]",
            "({a})[:2]",
            "array_append({a}, {i})",
            "array_remove({a}, {i})",
            "array_replace({a}, {i}, {i})",
            "array_positions({a}, {i})",
            "ARRAY[{i}, {i}]",
            "ARRAY[{a}, {a}]",
            "array_fill({i}, ARRAY[2])",
            "trim_array({a}, 1)",
            "!string_to_array('1,2,' || {i}, ',')::int[]",
            "!ARRAY(SELECT x + 1 FROM unnest({a}) AS x)",
        ],
    },
    Kind {
        letter: 's',
        literals: &[
            "ARRAY['a','b']",
            "'{}'::text[]",
            "ARRAY['x',NULL]",
            "NULL::text[]",
            "'{a,\"b c\",\"NULL\"}'::text[]",
        ],
        templates: &[
            "({s} || {t})",
            "string_to_array({t}, ',')",
            "string_to_array({t}, NULL)",
            "regexp_split_to_array({t}, {x})",
            "regexp_match({t}, {x})",
            "!{a}::text[]",
            "array_prepend({t}, {s})",
            "array_cat({s}, {s})",
        ],
    },
    Kind {
        letter: 'j',
        literals: &[
            "'{\"a\":1,\"b\":[1,2]}'::jsonb",
            "'[]'::jsonb",
            "'[1,\"x\",null]'::jsonb",
            "'null'::jsonb",
            "NULL::jsonb",
            "'\"a\"'::jsonb",
            "'{\"a\":{\"b\":{}}}'::jsonb",
            "'1.50'::jsonb",
        ],
        templates: &[
            "({j} -> {t})",
            "({j} -> {i})",
            "({j} #> {s})",
            "({j} || {j})",
            "({j} - {t})",
            "({j} - {i})",
            "({j} #- {s})",
            "jsonb_set({j}, {s}, {j})",
            "jsonb_set({j}, '{b,0}', {j}, false)",
            "jsonb_insert({j}, '{b,1}', {j})",
            "jsonb_strip_nulls({j})",
            "!to_jsonb({i})",
            "!to_jsonb({t})",
            "!to_jsonb({a})",
            "!to_jsonb({m})",
            "!jsonb_build_object('k', {i}, 'l', {j})",
            "!jsonb_build_array({t}, {n}, {b}, {s})",
            "!to_jsonb(ROW({i}, {t}))",
            "!row_to_json(ROW({i}, {d}))::jsonb",
            "!(SELECT jsonb_agg(x) FROM unnest({a}) AS x)",
        ],
    },
    Kind {
        letter: 'd',
        literals: &["date '2024-02-29'", "date '2023-12-31'", "NULL::date", "date '1999-01-01'"],
        templates: &["({d} + {i})", "{m}::date", "({d} - {i})", "make_date(2024, 1 + {i}, 5)"],
    },
    Kind {
        letter: 'm',
        literals: &[
            "timestamp '2024-05-06 07:08:09.123456'",
            "timestamp '2000-01-01'",
            "NULL::timestamp",
            "timestamp '1970-01-01 23:59:59'",
        ],
        templates: &[
            "({m} + {v})",
            "({m} - {v})",
            "({d} + {c})",
            "date_trunc('month', {m})",
            "date_trunc('week', {m})",
            "({z} AT TIME ZONE 'America/New_York')",
            "({z} AT TIME ZONE 'Asia/Kolkata')",
            "{m}::timestamp(1)",
            "date_bin('1 hour', {m}, {m})",
            "make_timestamp(2024, 5, 1 + {i}, 3, 4, 5.5)",
        ],
    },
    Kind {
        letter: 'z',
        literals: &["timestamptz '2024-07-01 12:00+02'", "timestamptz '2024-01-15 00:30+00'", "NULL::timestamptz"],
        templates: &[
            "({m} AT TIME ZONE 'Europe/Berlin')",
            "({m} AT TIME ZONE 'America/Los_Angeles')",
            "!({z} + {v})",
            "!date_trunc('day', {z}, 'Asia/Tokyo')",
            "!{m}::timestamptz",
        ],
    },
    Kind {
        letter: 'v',
        literals: &[
            "interval '1 day 02:03:04'",
            "interval '-1 month'",
            "NULL::interval",
            "interval '90 minutes'",
            "interval '1 year 2 days -3 hours'",
        ],
        templates: &[
            "({v} + {v})",
            "({v} * {i})",
            "({m} - {m})",
            "age({m}, {m})",
            "justify_interval({v})",
            "({c} - {c})",
            "(- {v})",
            "make_interval({i}, {i}, 0, {i}, 1, 2, 3.5)",
        ],
    },
    Kind {
        letter: 'c',
        literals: &["time '10:20:30'", "time '23:59:59.5'", "NULL::time", "time '00:00'"],
        templates: &["({c} + {v})", "({c} - {v})", "{m}::time", "make_time(3, 4, 5.25)"],
    },
    Kind {
        letter: 'n',
        literals: &["1.5", "0.00", "-12.345", "NULL::numeric", "1000000", "0.1"],
        templates: &[
            "({n} + {n})",
            "({n} * {n})",
            "round({n}, 1)",
            "trunc({n})",
            "{i}::numeric",
            "extract(epoch from {v})",
            "extract(second from {m})",
            "trim_scale({n})",
            "({j} -> 'a')::numeric",
        ],
    },
    Kind {
        letter: 'r',
        literals: &["1.5::real", "0.1::real", "NULL::real", "-2.25::real"],
        templates: &["({r} + {r})", "(- {r})", "{i}::real", "abs({r})"],
    },
    Kind {
        letter: 'y',
        literals: &["'\\x0102ff'::bytea", "''::bytea", "NULL::bytea", "'abc'::bytea"],
        templates: &["({y} || {y})", "convert_to({t}, 'UTF8')", "substring({y} from 2 for {i})", "sha256({y})"],
    },
    Kind {
        letter: 'g',
        literals: &[
            "'[1,5)'::int4range",
            "'empty'::int4range",
            "'(,3]'::int4range",
            "NULL::int4range",
            "int4range(2,9)",
        ],
        templates: &["int4range({i}, {i})", "({g} * {g})", "int4range({i}, {i}, '[]')"],
    },
    // Patterns: every one of them is well formed.
    Kind {
        letter: 'x',
        literals: &[
            "'b'",
            "'^a'",
            "'[a-c]+'",
            "'(a)(b)?'",
            "'\\d+'",
            "'x*'",
            "'a|ab|abc'",
            "'\\s'",
            "'l+?'",
            "'[^,]+$'",
            "'\\m\\w'",
            "'(?i)HELLO'",
            "'.{2,3}'",
            "'NULL::text'",
            "''",
        ],
        templates: &[],
    },
];

/// A program that asks for values.
pub fn values(seed: u64) -> Program {
    let mut dice = Dice::new(seed);
    let mut steps = Vec::new();
    while steps.len() < 20 {
        // The last kind is that of patterns, which are no values of their own.
        let kind = dice.below(KINDS.len() - 1);
        let depth = 1 + dice.below(3);
        let value = expression(&mut dice, &KINDS[kind], depth, true);
        steps.push((0, format!("SELECT {value} AS v")));
    }
    Program { setup: Vec::new(), sessions: 1, steps }
}

fn expression(dice: &mut Dice, kind: &Kind, depth: usize, top: bool) -> String {
    let fitting: Vec<&str> = kind.templates.iter().copied().filter(|t| top || !t.starts_with('!')).collect();
    if depth == 0 || fitting.is_empty() || dice.one_in(6) {
        return (*dice.pick(kind.literals)).to_owned();
    }
    let mut rest = dice.pick(&fitting).trim_start_matches('!');
    let mut out = String::new();
    while let Some(at) = rest.find('{') {
        let letter = rest[at + 1..].chars().next();
        let operand = KINDS.iter().find(|k| Some(k.letter) == letter && rest[at + 2..].starts_with('}'));
        out.push_str(&rest[..at]);
        match operand {
            Some(operand) => {
                out.push_str(&expression(dice, operand, depth - 1, false));
                rest = &rest[at + 3..];
            }
            None => {
                out.push('{');
                rest = &rest[at + 1..];
            }
        }
    }
    out + rest
}
