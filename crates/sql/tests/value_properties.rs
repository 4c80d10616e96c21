//! Laws of values: the order is total, equality and hash agree with it, text reads back, digests tell rows apart.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use isolde_digest::digest_of;
use isolde_sql::builtin::{self, Builtin, Eval};
use isolde_sql::value::{Interval, Json, cast, numeric};
use isolde_sql::{Type, Value};

/// Any value, often one that is near another: small numbers, equal numbers of different scale, intervals of equal
/// length.
fn value(u: &mut Unstructured<'_>) -> Result<Value> {
    let small = |u: &mut Unstructured<'_>| u.int_in_range(-20i64..=20);
    Ok(match u.int_in_range(0..=18)? {
        0 => Value::Null,
        1 => Value::Bool(u.arbitrary()?),
        2 => Value::Int(small(u)?),
        3 => Value::Int(u.arbitrary()?),
        4 => {
            Value::Float(*u.choose(&[0.0, -0.0, 1.5, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300])?)
        }
        5 => Value::Float(u.arbitrary()?),
        6 => {
            Value::numeric(numeric::new((small(u)? * 10i64.pow(u.int_in_range(0..=6)?)).into(), u.int_in_range(0..=6)?))
        }
        7 => {
            let digits: i128 = u.arbitrary()?;
            let digits = numeric::new(digits.into(), u.int_in_range(0..=40)?);
            Value::numeric(numeric::mul(&digits, &numeric::new(small(u)?.into(), 0)).unwrap())
        }
        8 => Value::text(u.arbitrary::<&str>()?),
        9 => Value::Date(u.arbitrary::<i32>()? % 100_000),
        10 => Value::Timestamp(u.arbitrary::<i64>()? % 1_000_000_000_000_000),
        11 => {
            let (months, days) = (u.int_in_range(-2..=2)?, u.int_in_range(-60..=60)?);
            Value::Interval(Interval::new(months, days, small(u)? * 21_600_000_000))
        }
        12 => Value::Real(*u.choose(&[0.0, -0.0, 0.1, 1e30, f32::NAN, f32::INFINITY])?),
        13 => Value::Bpchar((*u.choose(&["a", "a  ", "a b ", "", "  "])?).into()),
        14 => Value::bytea(u.arbitrary::<&[u8]>()?),
        15 => Value::Time(u.int_in_range(0..=86_399_999_999)?),
        16 => Value::jsonb(json(u, 2)?),
        17 => {
            let text =
                |u: &mut Unstructured<'_>| Ok(Value::text(*u.choose(&["", "a", "NULL", "b c", "\"", "\\", "{", ","])?));
            Value::array((0..u.int_in_range(0..=3)?).map(|_| text(u)).collect::<Result<Vec<_>>>()?)
        }
        _ => Value::record((0..u.int_in_range(0..=3)?).map(|_| value(u)).collect::<Result<Vec<_>>>()?),
    })
}

fn json(u: &mut Unstructured<'_>, depth: usize) -> Result<Json> {
    let small = |u: &mut Unstructured<'_>| u.int_in_range(-3i64..=3);
    Ok(match u.int_in_range(0..=if depth == 0 { 3 } else { 5 })? {
        0 => Json::Null,
        1 => Json::Bool(u.arbitrary()?),
        2 => Json::Number(numeric::new(small(u)?.into(), u.int_in_range(0..=2)?)),
        3 => Json::String((*u.choose(&["", "a", "b\n", "\"", "\u{1}"])?).into()),
        4 => Json::Array((0..u.int_in_range(0..=2)?).map(|_| json(u, depth - 1)).collect::<Result<_>>()?),
        _ => {
            let member = |u: &mut Unstructured<'_>| Ok(((*u.choose(&["a", "b", "aa"])?).into(), json(u, depth - 1)?));
            Json::object((0..u.int_in_range(0..=2)?).map(|_| member(u)).collect::<Result<Vec<_>>>()?)
        }
    })
}

fn row(u: &mut Unstructured<'_>) -> Result<Vec<Value>> {
    (0..u.int_in_range(0..=3)?).map(|_| value(u)).collect()
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn order_is_total_and_agrees_with_equality_and_hash() {
    arbtest(|u| {
        let (a, b, c) = (value(u)?, value(u)?, value(u)?);
        assert_eq!(a.cmp(&b), b.cmp(&a).reverse(), "{a:?} {b:?}");
        assert_eq!(a == b, a.cmp(&b).is_eq());
        if a <= b && b <= c {
            assert!(a <= c, "{a:?} {b:?} {c:?}");
        }
        if a == b {
            assert_eq!(hash(&a), hash(&b), "{a:?} {b:?}");
        }
        Ok(())
    });
}

#[test]
fn scales_do_not_matter_to_equality() {
    arbtest(|u| {
        let (digits, scale, zeros) = (u.arbitrary::<i128>()?, u.int_in_range(0..=50)?, u.int_in_range(0..=50)?);
        let short = numeric::new(digits.into(), scale);
        let long = numeric::round(&short, scale + zeros);
        let (short, long) = (Value::numeric(short), Value::numeric(long));
        assert_eq!(short, long);
        assert_eq!(hash(&short), hash(&long));
        assert_eq!(digest_of(&[short]), digest_of(&[long]));
        Ok(())
    });
}

#[test]
fn rows_have_equal_digests_when_equal() {
    arbtest(|u| {
        let (a, b) = (row(u)?, row(u)?);
        assert_eq!(a == b, digest_of(&a) == digest_of(&b), "{a:?} {b:?}");
        Ok(())
    });
}

/// States are compared by sums of digests: no two pairs of small rows may have one sum, as they have with a linear
/// hash.
#[test]
fn sums_of_digests_tell_multisets_apart() {
    let digests: Vec<u128> =
        (0..40i64).flat_map(|id| (0..40i64).map(move |n| digest_of(&[Value::Int(id), Value::Int(n)]))).collect();
    let mut sums = BTreeSet::new();
    for (i, a) in digests.iter().enumerate() {
        for b in &digests[i..] {
            assert!(sums.insert(a.wrapping_add(*b)), "two pairs of rows have one sum");
        }
    }
}

/// Each input bit flips about half of the digest.
#[test]
fn digests_avalanche() {
    let base = digest_of(&[Value::Int(0), Value::text("x")]);
    for bit in 0..64 {
        let flipped = digest_of(&[Value::Int(1 << bit), Value::text("x")]) ^ base;
        assert!((32..96).contains(&flipped.count_ones()), "bit {bit} flips {} bits", flipped.count_ones());
    }
}

#[test]
fn text_reads_back() {
    arbtest(|u| {
        let value = value(u)?;
        let ty = match &value {
            Value::Bool(_) => Type::Bool,
            Value::Int(_) => Type::Int8,
            Value::Float(_) => Type::Float8,
            Value::Numeric(_) => Type::Numeric(None),
            Value::Text(_) => Type::Text,
            Value::Date(_) => Type::Date,
            Value::Timestamp(_) => Type::Timestamp,
            Value::Interval(_) => Type::Interval,
            Value::Real(_) => Type::Float4,
            Value::Bytea(_) => Type::Bytea,
            Value::Time(_) => Type::Time,
            Value::Jsonb(_) => Type::Jsonb,
            Value::Array(_) => Type::Array(&Type::Text),
            _ => return Ok(()),
        };
        let text = cast(&value, ty, Type::Text, false).unwrap();
        let back = cast(&text, Type::Text, ty, false).unwrap();
        assert_eq!(value, back, "by way of {text}");
        assert_eq!(text, cast(&back, ty, Type::Text, false).unwrap());
        Ok(())
    });
}

/// Whatever text is cast to whatever type: a value or an error, never a panic.
#[test]
fn any_text_can_be_tried() {
    const PIECES: [&str; 38] = [
        "1", "-", "2024", "-01", ":", "30", ".5", " ", "t", "p", "jan", "day", "e9", "+", "/", "bc", "pm", "99", "y",
        "m", "infinity", "z", "é", "ago", "{", "}", "[", "]", "(", ")", "\"", "\\", ",", "=", "x", "null", "\\u00",
        "|",
    ];
    const TYPES: [Type; 26] = [
        Type::Float4,
        Type::Bpchar(Some(3)),
        Type::Bytea,
        Type::Time,
        Type::Timetz,
        Type::TimestampTo(2),
        Type::Json,
        Type::Jsonb,
        Type::Array(&Type::Int4),
        Type::Array(&Type::Text),
        Type::Array(&Type::Jsonb),
        Type::Range(&Type::Int8),
        Type::Range(&Type::Date),
        Type::Range(&Type::Timestamp),
        Type::Range(&Type::Numeric(None)),
        Type::Bool,
        Type::Int2,
        Type::Int8,
        Type::Numeric(Some((5, 2))),
        Type::Float8,
        Type::Varchar(Some(2)),
        Type::Date,
        Type::Timestamp,
        Type::Timestamptz,
        Type::Interval,
        Type::Uuid,
    ];
    arbtest(|u| {
        let count = u.int_in_range(0..=8)?;
        let text = (0..count).map(|_| u.choose(&PIECES).copied()).collect::<Result<String>>()?;
        for to in TYPES {
            let _ = cast(&Value::text(text.as_str()), Type::Text, to, false);
        }
        let values = [Value::text("1-x, {t} 2024"), Value::text(text)];
        let of_two_texts = |f: &&Builtin| f.args == [Type::Text, Type::Text];
        for function in builtin::functions().filter(of_two_texts) {
            if let Eval::Pure(eval) = function.eval {
                let _ = eval(&values);
            }
        }
        Ok(())
    });
}

/// Rows are made of values and copied about all the time: a new type must not make them larger.
#[test]
fn values_stay_small() {
    assert!(std::mem::size_of::<Value>() <= 32, "a value has {} bytes", std::mem::size_of::<Value>());
}
