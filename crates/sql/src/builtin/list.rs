//! The list of builtins. Overloads of one name stand together, the narrowest types first.

use super::{Builtin, Eval, SessionFunction, arithmetic as num, compare};
use crate::types::Type::{self, *};
use crate::value::Value;

const DECIMAL: Type = Numeric(None);

/// A pure function: NULL in, NULL out.
const fn f(
    name: &'static str,
    args: &'static [Type],
    returns: Type,
    eval: fn(&[Value]) -> Result<Value, crate::SqlError>,
) -> Builtin {
    Builtin { name, args, variadic: false, returns, strict: true, eval: Eval::Pure(eval) }
}

/// A function that needs the session.
const fn session(name: &'static str, args: &'static [Type], returns: Type, function: SessionFunction) -> Builtin {
    Builtin { name, args, variadic: false, returns, strict: true, eval: Eval::Session(function) }
}

/// Every function and operator.
pub static FUNCTIONS: &[Builtin] = &[
    // Comparisons of any type with itself.
    f("=", &[Unknown, Unknown], Bool, compare::eq),
    f("<>", &[Unknown, Unknown], Bool, compare::ne),
    f("<", &[Unknown, Unknown], Bool, compare::lt),
    f("<=", &[Unknown, Unknown], Bool, compare::le),
    f(">", &[Unknown, Unknown], Bool, compare::gt),
    f(">=", &[Unknown, Unknown], Bool, compare::ge),
    // Arithmetic.
    f("+", &[Int2, Int2], Int2, num::add_int2),
    f("+", &[Int4, Int4], Int4, num::add_int4),
    f("+", &[Int8, Int8], Int8, num::add_int8),
    f("+", &[DECIMAL, DECIMAL], DECIMAL, num::add_numeric),
    f("+", &[Float8, Float8], Float8, num::add_float),
    f("-", &[Int2, Int2], Int2, num::sub_int2),
    f("-", &[Int4, Int4], Int4, num::sub_int4),
    f("-", &[Int8, Int8], Int8, num::sub_int8),
    f("-", &[DECIMAL, DECIMAL], DECIMAL, num::sub_numeric),
    f("-", &[Float8, Float8], Float8, num::sub_float),
    f("*", &[Int2, Int2], Int2, num::mul_int2),
    f("*", &[Int4, Int4], Int4, num::mul_int4),
    f("*", &[Int8, Int8], Int8, num::mul_int8),
    f("*", &[DECIMAL, DECIMAL], DECIMAL, num::mul_numeric),
    f("*", &[Float8, Float8], Float8, num::mul_float),
    f("/", &[Int2, Int2], Int2, num::div_int2),
    f("/", &[Int4, Int4], Int4, num::div_int4),
    f("/", &[Int8, Int8], Int8, num::div_int8),
    f("/", &[DECIMAL, DECIMAL], DECIMAL, num::div_numeric),
    f("/", &[Float8, Float8], Float8, num::div_float),
    f("%", &[Int2, Int2], Int2, num::rem_int2),
    f("%", &[Int4, Int4], Int4, num::rem_int4),
    f("%", &[Int8, Int8], Int8, num::rem_int8),
    f("%", &[DECIMAL, DECIMAL], DECIMAL, num::rem_numeric),
    f("-", &[Int2], Int2, num::neg_int2),
    f("-", &[Int4], Int4, num::neg_int4),
    f("-", &[Int8], Int8, num::neg_int8),
    f("-", &[DECIMAL], DECIMAL, num::neg_numeric),
    f("-", &[Float8], Float8, num::neg_float),
    f("+", &[Int2], Int2, num::plus_int),
    f("+", &[Int4], Int4, num::plus_int),
    f("+", &[Int8], Int8, num::plus_int),
    f("+", &[DECIMAL], DECIMAL, num::plus_numeric),
    f("+", &[Float8], Float8, num::plus_float),
    f("abs", &[Int2], Int2, num::abs_int2),
    f("abs", &[Int4], Int4, num::abs_int4),
    f("abs", &[Int8], Int8, num::abs_int8),
    // The session.
    session("now", &[], Timestamptz, SessionFunction::TransactionTimestamp),
    session("current_timestamp", &[], Timestamptz, SessionFunction::TransactionTimestamp),
    session("transaction_timestamp", &[], Timestamptz, SessionFunction::TransactionTimestamp),
    session("statement_timestamp", &[], Timestamptz, SessionFunction::StatementTimestamp),
    session("clock_timestamp", &[], Timestamptz, SessionFunction::ClockTimestamp),
    session("nextval", &[Text], Int8, SessionFunction::NextVal),
    session("currval", &[Text], Int8, SessionFunction::CurrVal),
    session("setval", &[Text, Int8], Int8, SessionFunction::SetVal),
    session("setval", &[Text, Int8, Bool], Int8, SessionFunction::SetVal),
    session("lastval", &[], Int8, SessionFunction::LastVal),
    session("random", &[], Float8, SessionFunction::Random),
    session("gen_random_uuid", &[], Uuid, SessionFunction::GenRandomUuid),
    session("pg_sleep", &[Float8], Void, SessionFunction::PgSleep),
    session("current_user", &[], Text, SessionFunction::CurrentUser),
    session("session_user", &[], Text, SessionFunction::CurrentUser),
    session("user", &[], Text, SessionFunction::CurrentUser),
    session("current_setting", &[Text], Text, SessionFunction::CurrentSetting),
    session("current_setting", &[Text, Bool], Text, SessionFunction::CurrentSetting),
    session("txid_current", &[], Int8, SessionFunction::TxidCurrent),
    session("pg_backend_pid", &[], Int4, SessionFunction::BackendPid),
];
