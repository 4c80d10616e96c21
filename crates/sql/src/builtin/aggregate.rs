//! Aggregates, row by row.
//!
//! NULL arguments do not count, for `count(*)` every row does. Over no rows an aggregate is NULL, except that a count
//! is 0. Sums of `smallint` and `integer` are `bigint`, of `bigint` `numeric`; an average is a sum divided, and gets
//! its scale from the division.

use super::{Aggregate, AggregateKind, args, json_build, statistics};
use crate::budget;
use crate::error::{SqlError, SqlState};
use crate::types::Type::{self, *};
use crate::value::{Interval as Span, Value, numeric};

const DECIMAL: Type = Numeric(None);

const fn a(name: &'static str, args: &'static [Type], returns: Type, kind: AggregateKind) -> Aggregate {
    Aggregate { name, args, returns, kind }
}

/// Every aggregate.
pub static AGGREGATES: &[Aggregate] = &[
    a("count", &[], Int8, AggregateKind::CountRows),
    a("count", &[Unknown], Int8, AggregateKind::Count),
    a("sum", &[Int2], Int8, AggregateKind::Sum),
    a("sum", &[Int4], Int8, AggregateKind::Sum),
    a("sum", &[Int8], DECIMAL, AggregateKind::Sum),
    a("sum", &[DECIMAL], DECIMAL, AggregateKind::Sum),
    a("sum", &[Float8], Float8, AggregateKind::Sum),
    a("sum", &[Interval], Interval, AggregateKind::Sum),
    a("avg", &[Int2], DECIMAL, AggregateKind::Avg),
    a("avg", &[Int4], DECIMAL, AggregateKind::Avg),
    a("avg", &[Int8], DECIMAL, AggregateKind::Avg),
    a("avg", &[DECIMAL], DECIMAL, AggregateKind::Avg),
    a("avg", &[Float8], Float8, AggregateKind::Avg),
    a("avg", &[Interval], Interval, AggregateKind::Avg),
    a("min", &[Int2], Int2, AggregateKind::Min),
    a("min", &[Int4], Int4, AggregateKind::Min),
    a("min", &[Int8], Int8, AggregateKind::Min),
    a("min", &[DECIMAL], DECIMAL, AggregateKind::Min),
    a("min", &[Float8], Float8, AggregateKind::Min),
    a("min", &[Text], Text, AggregateKind::Min),
    a("min", &[Date], Date, AggregateKind::Min),
    a("min", &[Timestamp], Timestamp, AggregateKind::Min),
    a("min", &[Timestamptz], Timestamptz, AggregateKind::Min),
    a("min", &[Interval], Interval, AggregateKind::Min),
    a("max", &[Int2], Int2, AggregateKind::Max),
    a("max", &[Int4], Int4, AggregateKind::Max),
    a("max", &[Int8], Int8, AggregateKind::Max),
    a("max", &[DECIMAL], DECIMAL, AggregateKind::Max),
    a("max", &[Float8], Float8, AggregateKind::Max),
    a("max", &[Text], Text, AggregateKind::Max),
    a("max", &[Date], Date, AggregateKind::Max),
    a("max", &[Timestamp], Timestamp, AggregateKind::Max),
    a("max", &[Timestamptz], Timestamptz, AggregateKind::Max),
    a("max", &[Interval], Interval, AggregateKind::Max),
    a("min", &[Float4], Float4, AggregateKind::Min),
    a("min", &[Time], Time, AggregateKind::Min),
    a("min", &[Timetz], Timetz, AggregateKind::Min),
    a("min", &[Bpchar(None)], Bpchar(None), AggregateKind::Min),
    a("min", &[Unknown], Unknown, AggregateKind::Min),
    a("max", &[Float4], Float4, AggregateKind::Max),
    a("max", &[Time], Time, AggregateKind::Max),
    a("max", &[Timetz], Timetz, AggregateKind::Max),
    a("max", &[Bpchar(None)], Bpchar(None), AggregateKind::Max),
    a("max", &[Unknown], Unknown, AggregateKind::Max),
    a("sum", &[Float4], Float4, AggregateKind::Sum),
    a("avg", &[Float4], Float8, AggregateKind::Avg),
    a("stddev", &[Int2], DECIMAL, AggregateKind::StddevSamp),
    a("stddev", &[Int4], DECIMAL, AggregateKind::StddevSamp),
    a("stddev", &[Int8], DECIMAL, AggregateKind::StddevSamp),
    a("stddev", &[DECIMAL], DECIMAL, AggregateKind::StddevSamp),
    a("stddev", &[Float8], Float8, AggregateKind::StddevSamp),
    a("stddev_samp", &[Int2], DECIMAL, AggregateKind::StddevSamp),
    a("stddev_samp", &[Int4], DECIMAL, AggregateKind::StddevSamp),
    a("stddev_samp", &[Int8], DECIMAL, AggregateKind::StddevSamp),
    a("stddev_samp", &[DECIMAL], DECIMAL, AggregateKind::StddevSamp),
    a("stddev_samp", &[Float8], Float8, AggregateKind::StddevSamp),
    a("stddev_pop", &[Int2], DECIMAL, AggregateKind::StddevPop),
    a("stddev_pop", &[Int4], DECIMAL, AggregateKind::StddevPop),
    a("stddev_pop", &[Int8], DECIMAL, AggregateKind::StddevPop),
    a("stddev_pop", &[DECIMAL], DECIMAL, AggregateKind::StddevPop),
    a("stddev_pop", &[Float8], Float8, AggregateKind::StddevPop),
    a("variance", &[Int2], DECIMAL, AggregateKind::VarSamp),
    a("variance", &[Int4], DECIMAL, AggregateKind::VarSamp),
    a("variance", &[Int8], DECIMAL, AggregateKind::VarSamp),
    a("variance", &[DECIMAL], DECIMAL, AggregateKind::VarSamp),
    a("variance", &[Float8], Float8, AggregateKind::VarSamp),
    a("var_samp", &[Int2], DECIMAL, AggregateKind::VarSamp),
    a("var_samp", &[Int4], DECIMAL, AggregateKind::VarSamp),
    a("var_samp", &[Int8], DECIMAL, AggregateKind::VarSamp),
    a("var_samp", &[DECIMAL], DECIMAL, AggregateKind::VarSamp),
    a("var_samp", &[Float8], Float8, AggregateKind::VarSamp),
    a("var_pop", &[Int2], DECIMAL, AggregateKind::VarPop),
    a("var_pop", &[Int4], DECIMAL, AggregateKind::VarPop),
    a("var_pop", &[Int8], DECIMAL, AggregateKind::VarPop),
    a("var_pop", &[DECIMAL], DECIMAL, AggregateKind::VarPop),
    a("var_pop", &[Float8], Float8, AggregateKind::VarPop),
    a("bit_and", &[Int2], Int2, AggregateKind::BitAnd),
    a("bit_and", &[Int4], Int4, AggregateKind::BitAnd),
    a("bit_and", &[Int8], Int8, AggregateKind::BitAnd),
    a("bit_or", &[Int2], Int2, AggregateKind::BitOr),
    a("bit_or", &[Int4], Int4, AggregateKind::BitOr),
    a("bit_or", &[Int8], Int8, AggregateKind::BitOr),
    a("bit_xor", &[Int2], Int2, AggregateKind::BitXor),
    a("bit_xor", &[Int4], Int4, AggregateKind::BitXor),
    a("bit_xor", &[Int8], Int8, AggregateKind::BitXor),
    a("bool_and", &[Bool], Bool, AggregateKind::BoolAnd),
    a("every", &[Bool], Bool, AggregateKind::BoolAnd),
    a("bool_or", &[Bool], Bool, AggregateKind::BoolOr),
    a("string_agg", &[Text, Text], Text, AggregateKind::StringAgg),
    a("json_agg", &[Unknown], Json, AggregateKind::JsonAgg),
    a("jsonb_agg", &[Unknown], Jsonb, AggregateKind::JsonbAgg),
    a("json_object_agg", &[Text, Unknown], Json, AggregateKind::JsonObjectAgg),
    a("jsonb_object_agg", &[Text, Unknown], Jsonb, AggregateKind::JsonbObjectAgg),
    a("array_agg", &[Unknown], Array(&Unknown), AggregateKind::ArrayAgg),
    // Of ordered sets: the direct arguments come first, then what is sorted.
    a("percentile_cont", &[Float8, Float8], Float8, AggregateKind::PercentileCont),
    a("percentile_cont", &[Float8, Interval], Interval, AggregateKind::PercentileCont),
    a("percentile_disc", &[Float8, Unknown], Unknown, AggregateKind::PercentileDisc),
    a("mode", &[Unknown], Unknown, AggregateKind::Mode),
];

/// `json_agg` of rows: each on a line of its own.
pub static JSON_ROWS_AGG: Aggregate = a("json_agg", &[Json], Json, AggregateKind::JsonRowsAgg);

/// An aggregate half way.
#[derive(Clone, Debug)]
pub struct Accumulator {
    aggregate: &'static Aggregate,
    /// Rows that counted.
    count: i64,
    /// What they come to; NULL before the first.
    state: Value,
    /// `string_agg`, which grows in place.
    text: String,
    /// `array_agg` and its kin, which keep every value.
    values: Vec<Value>,
}

impl Accumulator {
    /// Before any row.
    pub fn new(aggregate: &'static Aggregate) -> Self {
        Accumulator { aggregate, count: 0, state: Value::Null, text: String::new(), values: Vec::new() }
    }

    /// One row more; `args` as the aggregate takes them.
    pub fn add(&mut self, args: &[Value]) -> Result<(), SqlError> {
        use AggregateKind::*;
        let kind = self.aggregate.kind;
        if kind == CountRows {
            self.count += 1;
            return Ok(());
        }
        let value = args::Args::any(args, 0)?;
        budget::spend(1 + value.weight())?;
        if matches!(kind, ArrayAgg | JsonAgg | JsonRowsAgg | JsonbAgg) {
            self.count += 1;
            self.values.push(value.clone());
            return Ok(());
        }
        if matches!(kind, JsonObjectAgg | JsonbObjectAgg) {
            if value.is_null() {
                return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, "field name must not be null"));
            }
            self.count += 1;
            self.values.extend(args.iter().cloned());
            return Ok(());
        }
        if value.is_null() {
            return Ok(());
        }
        if kind.is_statistic() {
            self.count += 1;
            self.values.push(value.clone());
            return Ok(());
        }
        match kind {
            CountRows | Count | PercentileCont | PercentileDisc | Mode => {}
            ArrayAgg | JsonAgg | JsonRowsAgg | JsonbAgg | JsonObjectAgg | JsonbObjectAgg => {}
            StringAgg => self.append(value, args.get(1))?,
            _ if self.count == 0 => self.state = self.first(value),
            Sum | Avg => self.state = self.sum(value)?,
            Min if *value < self.state => self.state = value.clone(),
            Max if *value > self.state => self.state = value.clone(),
            Min | Max => {}
            BoolAnd => self.state = Value::Bool(self.state.is_true() && value.is_true()),
            BoolOr => self.state = Value::Bool(self.state.is_true() || value.is_true()),
            BitAnd => self.state = bits(&self.state, value, |a, b| a & b),
            BitOr => self.state = bits(&self.state, value, |a, b| a | b),
            BitXor => self.state = bits(&self.state, value, |a, b| a ^ b),
            StddevSamp | StddevPop | VarSamp | VarPop => {}
        }
        self.count += 1;
        Ok(())
    }

    /// The result.
    pub fn finish(self) -> Result<Value, SqlError> {
        use AggregateKind::*;
        match self.aggregate.kind {
            CountRows | Count => Ok(Value::Int(self.count)),
            _ if self.count == 0 => Ok(Value::Null),
            StringAgg => Ok(Value::text(self.text)),
            JsonAgg | JsonRowsAgg | JsonbAgg | JsonObjectAgg | JsonbObjectAgg => self.json(),
            ArrayAgg => super::array::collected(self.values),
            Avg => self.average(),
            Sum | Min | Max | BoolAnd | BoolOr | BitAnd | BitOr | BitXor => Ok(self.state),
            kind @ (StddevSamp | StddevPop | VarSamp | VarPop) => statistics::spread(
                &self.values,
                matches!(kind, StddevSamp | VarSamp),
                matches!(kind, StddevSamp | StddevPop),
            ),
            PercentileCont | PercentileDisc | Mode => Ok(Value::Null),
        }
    }

    /// All values as one document.
    fn json(&self) -> Result<Value, SqlError> {
        use AggregateKind::*;
        budget::hold(self.values.iter().map(Value::bytes).sum())?;
        match self.aggregate.kind {
            JsonAgg => json_build::collected(&self.values, false),
            JsonRowsAgg => json_build::collected(&self.values, true),
            JsonbAgg => json_build::collected_b(&self.values),
            JsonObjectAgg => json_build::collected_object(&self.values),
            _ => json_build::collected_object_b(&self.values),
        }
    }

    /// The first value, in the type that sums are computed in.
    fn first(&self, value: &Value) -> Value {
        let summed = matches!(self.aggregate.kind, AggregateKind::Sum | AggregateKind::Avg);
        match value {
            Value::Real(x) if self.aggregate.kind == AggregateKind::Avg => Value::Float((*x).into()),
            Value::Int(i) if summed && self.aggregate.returns == DECIMAL => Value::numeric(numeric::from_i64(*i)),
            other => other.clone(),
        }
    }

    fn sum(&self, value: &Value) -> Result<Value, SqlError> {
        Ok(match (&self.state, value) {
            (Value::Int(a), Value::Int(b)) => Value::Int(a.checked_add(*b).ok_or_else(bigint_out_of_range)?),
            (Value::Numeric(a), Value::Int(b)) => Value::numeric(numeric::add(a, &numeric::from_i64(*b))?),
            (Value::Numeric(a), Value::Numeric(b)) => Value::numeric(numeric::add(a, b)?),
            (Value::Float(a), Value::Float(b)) => super::arithmetic::finite(a + b, &[*a, *b])?,
            (Value::Float(a), Value::Real(b)) => Value::Float(a + f64::from(*b)),
            (Value::Real(a), Value::Real(b)) => Value::Real(a + b),
            (Value::Interval(a), Value::Interval(b)) => Value::Interval(a.checked_add(*b)?),
            (a, b) => {
                let message = format!("cannot add {b:?} to {a:?}");
                return Err(SqlError::new(SqlState::INTERNAL_ERROR, message));
            }
        })
    }

    fn average(self) -> Result<Value, SqlError> {
        Ok(match &self.state {
            Value::Numeric(sum) => Value::numeric(numeric::div(sum, &numeric::from_i64(self.count))?),
            Value::Float(sum) => Value::Float(sum / self.count as f64),
            Value::Interval(sum) => Value::Interval(Span::checked_div(*sum, self.count as f64)?),
            other => {
                let message = format!("cannot average {other:?}");
                return Err(SqlError::new(SqlState::INTERNAL_ERROR, message));
            }
        })
    }

    fn append(&mut self, value: &Value, delimiter: Option<&Value>) -> Result<(), SqlError> {
        if self.count > 0 {
            self.text.push_str(delimiter.and_then(Value::as_text).unwrap_or(""));
        }
        let text = value.as_text().unwrap_or("");
        budget::grow(self.text.len(), text.len())?;
        self.text.push_str(text);
        Ok(())
    }
}

fn bits(a: &Value, b: &Value, combine: fn(i64, i64) -> i64) -> Value {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(combine(*a, *b)),
        _ => Value::Null,
    }
}

fn bigint_out_of_range() -> SqlError {
    SqlError::new(SqlState::NUMERIC_OUT_OF_RANGE, "bigint out of range")
}
