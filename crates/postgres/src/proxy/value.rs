//! Values in PostgreSQL's binary form, as text.
//!
//! Some drivers (asyncpg, pgx, the Rust ones) send parameters and ask for results in binary. For showing them, and for
//! telling which rows a statement looks for, they are turned into the text that the server would have printed. Of a
//! type that is not known here the bytes are shown.

use std::fmt::Write as _;

use super::frame::Fields;

/// A value of the type with this oid, as text, whichever form it has.
pub(super) fn text(value: &[u8], oid: u32, binary: bool) -> String {
    if !binary {
        return String::from_utf8_lossy(value).into_owned();
    }
    decoded(value, oid).unwrap_or_else(|| hex(value))
}

/// Whether a value of this type may stand in SQL without quotes.
pub(super) fn is_number(oid: u32) -> bool {
    matches!(oid, INT2 | INT4 | INT8 | OID | FLOAT4 | FLOAT8 | NUMERIC)
}

const BOOL: u32 = 16;
const BYTEA: u32 = 17;
const INT8: u32 = 20;
const INT2: u32 = 21;
const INT4: u32 = 23;
const OID: u32 = 26;
const FLOAT4: u32 = 700;
const FLOAT8: u32 = 701;
const DATE: u32 = 1082;
const TIME: u32 = 1083;
const TIMESTAMP: u32 = 1114;
const TIMESTAMPTZ: u32 = 1184;
const NUMERIC: u32 = 1700;
const UUID: u32 = 2950;
const JSONB: u32 = 3802;
/// `name`, `text`, `json`, `xml`, `unknown`, `bpchar`, `varchar`.
const TEXTS: &[u32] = &[19, 25, 114, 142, 705, 1042, 1043];
/// The arrays of the types above, each with its element's type.
const ARRAYS: &[(u32, u32)] = &[
    (1000, BOOL),
    (1005, INT2),
    (1007, INT4),
    (1016, INT8),
    (1009, 25),
    (1015, 1043),
    (1021, FLOAT4),
    (1022, FLOAT8),
    (1231, NUMERIC),
    (2951, UUID),
    (1115, TIMESTAMP),
    (1185, TIMESTAMPTZ),
    (1182, DATE),
];

fn decoded(value: &[u8], oid: u32) -> Option<String> {
    let exact = |bytes: usize| (value.len() == bytes).then_some(Fields(value));
    Some(match oid {
        BOOL => if exact(1)?.byte() == 0 { "f" } else { "t" }.to_string(),
        INT2 => exact(2)?.int16().to_string(),
        INT4 => exact(4)?.int32().to_string(),
        OID => (exact(4)?.int32() as u32).to_string(),
        INT8 => int64(value)?.to_string(),
        FLOAT4 => f32::from_be_bytes(value.try_into().ok()?).to_string(),
        FLOAT8 => f64::from_be_bytes(value.try_into().ok()?).to_string(),
        NUMERIC => numeric(Fields(value))?,
        BYTEA => hex(value),
        UUID if value.len() == 16 => uuid(value),
        JSONB => String::from_utf8_lossy(value.get(1..)?).into_owned(),
        DATE => date(i64::from(exact(4)?.int32())),
        TIME => time(int64(value)?),
        TIMESTAMP => timestamp(int64(value)?),
        TIMESTAMPTZ => format!("{}+00", timestamp(int64(value)?)),
        known if TEXTS.contains(&known) => String::from_utf8_lossy(value).into_owned(),
        other => array(value, ARRAYS.iter().find(|(array, _)| *array == other)?.1)?,
    })
}

fn int64(value: &[u8]) -> Option<i64> {
    value.try_into().ok().map(i64::from_be_bytes)
}

fn hex(value: &[u8]) -> String {
    value.iter().fold(String::from("\\x"), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn uuid(value: &[u8]) -> String {
    let digits = &hex(value)[2..];
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// Days since the year 2000, as a date of the Gregorian calendar (years of 400 form a cycle).
fn date(days: i64) -> String {
    // Counted from the first of March of the year 0, so that the leap day is a year's last.
    let days = days + 730_425;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Microseconds since midnight.
fn time(micros: i64) -> String {
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction > 0 {
        text.push_str(format!(".{fraction:06}").trim_end_matches('0'));
    }
    text
}

/// Microseconds since the year 2000.
fn timestamp(micros: i64) -> String {
    const DAY: i64 = 86_400_000_000;
    match micros {
        i64::MAX => "infinity".to_string(),
        i64::MIN => "-infinity".to_string(),
        _ => format!("{} {}", date(micros.div_euclid(DAY)), time(micros.rem_euclid(DAY))),
    }
}

/// Groups of four decimal digits, the weight of the first, a sign, and how many digits follow the point.
fn numeric(mut fields: Fields<'_>) -> Option<String> {
    let (groups, weight, sign, scale) = (fields.int16(), fields.int16(), fields.int16() as u16, fields.int16());
    match sign {
        0xC000 => return Some("NaN".to_string()),
        0xD000 => return Some("Infinity".to_string()),
        0xF000 => return Some("-Infinity".to_string()),
        _ => {}
    }
    let groups: Vec<i16> = (0..groups).map(|_| fields.int16()).collect();
    let group = |at: i16| usize::try_from(at).ok().and_then(|at| groups.get(at)).copied().unwrap_or(0);
    let mut whole: String = (0..=weight).map(|at| format!("{:04}", group(at))).collect();
    whole = whole.trim_start_matches('0').to_string();
    if whole.is_empty() {
        whole.push('0');
    }
    let mut fraction = String::new();
    let mut at = weight.checked_add(1)?;
    while fraction.len() < usize::try_from(scale).ok()? {
        let _ = write!(fraction, "{:04}", if at < 0 { 0 } else { group(at) });
        at = at.checked_add(1)?;
    }
    fraction.truncate(scale as usize);
    let sign = if sign == 0x4000 { "-" } else { "" };
    Some(if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") })
}

/// Of one dimension; others are shown as bytes.
fn array(value: &[u8], element: u32) -> Option<String> {
    let mut fields = Fields(value);
    let (dimensions, _has_null, _oid) = (fields.int32(), fields.int32(), fields.int32());
    if dimensions == 0 {
        return Some("{}".to_string());
    }
    let (count, _lower) = (fields.int32(), fields.int32());
    if dimensions != 1 || count < 0 || count as usize > value.len() {
        return None;
    }
    let item = |value: Option<&[u8]>| match value {
        None => "NULL".to_string(),
        Some(value) => {
            let text = text(value, element, true);
            match is_number(element) || element == BOOL {
                true => text,
                false => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            }
        }
    };
    let items: Vec<String> = (0..count).map(|_| item(fields.value())).collect();
    Some(format!("{{{}}}", items.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_values_read_as_the_server_prints_them() {
        let shown = |value: &[u8], oid| text(value, oid, true);
        assert_eq!(shown(&[1], BOOL), "t");
        assert_eq!(shown(&(-7i32).to_be_bytes(), INT4), "-7");
        assert_eq!(shown(&1.5f64.to_be_bytes(), FLOAT8), "1.5");
        // 12345.67: groups 1, 2345, 6700, weight 1, two digits behind the point.
        assert_eq!(shown(&[0, 3, 0, 1, 0, 0, 0, 2, 0, 1, 9, 41, 26, 44], NUMERIC), "12345.67");
        // -0.05: one group 500 of weight -1.
        assert_eq!(shown(&[0, 1, 255, 255, 64, 0, 0, 2, 1, 244], NUMERIC), "-0.05");
        assert_eq!(shown(&0i32.to_be_bytes(), DATE), "2000-01-01");
        assert_eq!(shown(&9555i32.to_be_bytes(), DATE), "2026-02-28");
        assert_eq!(shown(&(-1i64).to_be_bytes(), TIMESTAMP), "1999-12-31 23:59:59.999999");
        assert_eq!(shown(&[0xab; 16], UUID), "abababab-abab-abab-abab-abababababab");
        assert_eq!(shown(b"\x01{}", JSONB), "{}");
        assert_eq!(shown(b"ab", 600), "\\x6162");
        let array = [1i32, 0, 23, 2, 1, 4, 7, -1].iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>();
        assert_eq!(shown(&array, 1007), "{7,NULL}");
    }
}
