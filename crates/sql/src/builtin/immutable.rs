//! What has the same result always and everywhere.
//!
//! PostgreSQL computes what is immutable while it plans, errors included. A function that depends on a setting, like
//! the text of a date on `datestyle`, is merely stable: it waits for the query to run, which may never come to it.

use super::{Builtin, Eval};
use crate::types::Type;

/// Functions that are stable whatever they are applied to.
const STABLE: &[&str] = &[
    "array_to_json",
    "array_to_string",
    "concat",
    "concat_ws",
    "convert_from",
    "convert_to",
    "enum_first",
    "enum_last",
    "enum_range",
    "format",
    "json_build_array",
    "json_build_object",
    "jsonb_build_array",
    "jsonb_build_object",
    "make_timestamptz",
    "row_as_json",
    "row_to_json",
    "to_char",
    "to_date",
    "to_json",
    "to_jsonb",
    "to_number",
];

/// Functions that depend on the session's time zone, if applied to a `timestamptz` and not to a zone.
const IN_ZONE: &[&str] = &["+", "date_part", "date_trunc", "extract", "overlaps"];

impl Builtin {
    /// Whether its result depends on its arguments, of these types, and on nothing else.
    pub fn is_immutable(&self, types: &[Type]) -> bool {
        let in_zone = self.args.contains(&Type::Timestamptz)
            && (IN_ZONE.contains(&self.name) || (self.name == "-" && self.args.contains(&Type::Interval)));
        let written = self.returns == Type::Text && self.args.contains(&Type::Unknown);
        let by_format = self.name == "to_timestamp" && self.args.len() == 2;
        let printed_in_zone = written && types.iter().any(|ty| !is_immutable_cast(*ty, Type::Text));
        let varies = STABLE.contains(&self.name) || in_zone || by_format || printed_in_zone;
        matches!(self.eval, Eval::Pure(_)) && !varies
    }
}

/// Whether a cast depends on its operand alone.
pub fn is_immutable_cast(from: Type, to: Type) -> bool {
    use Type::{Array, Date, Time, Timestamp, TimestampTo, Timestamptz, TimestamptzTo, Timetz};
    let (from, to) = (from.underlying(), to.underlying());
    let in_zone = |ty: Type| matches!(ty, Timestamptz | TimestamptzTo(_));
    match (from, to) {
        (Array(a), Array(b)) => is_immutable_cast(*a, *b),
        _ if is_string(from) && is_string(to) => true,
        _ if is_string(from) => !is_read_by_settings(to),
        _ if is_string(to) => !is_written_by_settings(from),
        (Date | Timestamp | TimestampTo(_), to) if in_zone(to) => false,
        (from, Date | Time | Timestamp | TimestampTo(_) | Timetz) if in_zone(from) => false,
        (Time, Timetz) => false,
        _ => true,
    }
}

fn is_string(ty: Type) -> bool {
    matches!(ty, Type::Text | Type::Varchar(_) | Type::Bpchar(_) | Type::Unknown)
}

fn is_written_by_settings(ty: Type) -> bool {
    use Type::{Array, Composite, Date, Enum, Interval, Range, Record, Timestamp, TimestampTo};
    matches!(ty, Date | Timestamp | TimestampTo(_) | Type::Timestamptz | Type::TimestamptzTo(_) | Interval)
        || matches!(ty, Array(_) | Range(_) | Enum(_) | Composite(_) | Record)
}

fn is_read_by_settings(ty: Type) -> bool {
    is_written_by_settings(ty) || matches!(ty, Type::Time | Type::Timetz)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_dates_depend_on_settings() {
        assert!(is_immutable_cast(Type::Int4, Type::Text));
        assert!(!is_immutable_cast(Type::Date, Type::Text));
        assert!(!is_immutable_cast(Type::Text, Type::Time));
        assert!(is_immutable_cast(Type::Time, Type::Text));
        assert!(!is_immutable_cast(Type::Int4.array(), Type::Text));
    }
}
