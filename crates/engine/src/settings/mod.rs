//! Settings: what SET sets, SHOW shows and RESET resets.
//!
//! A session remembers only what differs from the server's defaults, as the text that SHOW would start from. A setting
//! is known by name, with its kind and bounds ([`list`]); a name with a dot is the application's own. Few settings
//! change what the engine does: the isolation level, READ ONLY and the timeouts, which [`Settings::interpret`] puts
//! into
//! [`SessionOptions`]. The rest is remembered, checked as the server checks it, and shown.
//!
//! A setting belongs to the transaction that made it: [`Settings`] is a value, so rolling back is putting the old one
//! back, and SET LOCAL is a second map that the end of the transaction drops.

mod list;
mod names;

use imbl::OrdMap;
use isolde_sql::ast::Isolation;
use isolde_sql::refused::Construct;
use isolde_sql::{SqlError, SqlState};
use std::sync::Arc;

use crate::session::SessionOptions;
use list::SETTINGS;

/// What a session has set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Settings {
    /// Until the session ends.
    session: OrdMap<Arc<str>, Arc<str>>,
    /// Until the transaction ends; goes first.
    local: OrdMap<Arc<str>, Arc<str>>,
}

impl Settings {
    /// Nothing is set.
    pub(crate) fn is_empty(&self) -> bool {
        self.session.is_empty() && self.local.is_empty()
    }

    /// Sets, for the session or the transaction; `None` is the default. Says what will be shown.
    pub(crate) fn set(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<String, SqlError> {
        let (name, value) = match find(name) {
            Some(setting) => {
                setting.may_change()?;
                (setting.name.to_lowercase(), value.map(|v| setting.parse(v)).transpose()?)
            }
            None if is_custom(name) => (name.to_lowercase(), value.map(str::to_string)),
            None => return Err(unrecognized(name)),
        };
        let name: Arc<str> = name.into();
        if is_custom(&name) {
            self.session.entry(name.clone()).or_default();
        }
        if !local {
            self.local.remove(&name);
        }
        let (map, shadowed) = match local {
            true => (&mut self.local, true),
            false => (&mut self.session, false),
        };
        match value {
            Some(value) => drop(map.insert(name.clone(), value.into())),
            None if shadowed => drop(map.insert(name.clone(), default_of(&name).into())),
            None if is_custom(&name) => drop(map.insert(name.clone(), "".into())),
            None => drop(map.remove(&name)),
        }
        Ok(self.show(&name).unwrap_or_default())
    }

    /// RESET ALL.
    pub(crate) fn reset_all(&mut self) {
        self.replace(Settings::default());
    }

    /// Goes back to what was set before. The application's own settings, once named, stay known: as empty strings.
    pub(crate) fn replace(&mut self, before: Settings) {
        let now = std::mem::replace(self, before);
        for name in now.session.keys().filter(|name| is_custom(name)) {
            self.session.entry(name.clone()).or_default();
        }
    }

    /// The transaction is over: what was set for it alone is forgotten.
    pub(crate) fn end_transaction(&mut self) {
        self.local = OrdMap::new();
    }

    /// Whether something is set for the transaction alone.
    pub(crate) fn has_local(&self) -> bool {
        !self.local.is_empty()
    }

    /// A setting as SHOW shows it.
    pub(crate) fn show(&self, name: &str) -> Result<String, SqlError> {
        let set = self.raw(&name.to_lowercase());
        match (find(name), set) {
            (Some(setting), Some(value)) => Ok(setting.shown(&value)),
            (Some(setting), None) => Ok(setting.shown(&setting.default())),
            (None, Some(value)) => Ok(value.to_string()),
            (None, None) => Err(unrecognized(name)),
        }
    }

    /// A setting that was set, as it was given.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<str>> {
        self.raw(name)
    }

    fn raw(&self, name: &str) -> Option<Arc<str>> {
        self.local.get(name).or_else(|| self.session.get(name)).cloned()
    }

    /// A setting in milliseconds, in microseconds.
    fn micros(&self, name: &str) -> i64 {
        let value = self.raw(name).or_else(|| find(name).map(|s| s.default().into()));
        value.and_then(|v| v.parse::<i64>().ok()).unwrap_or(0) * 1000
    }

    fn is_on(&self, name: &str) -> bool {
        self.raw(name).is_some_and(|v| &*v == "on")
    }

    /// Whether something that is on by itself was switched off.
    pub(crate) fn is_off(&self, name: &str) -> bool {
        self.raw(name).is_some_and(|v| &*v == "off")
    }

    /// Puts what changes behaviour into the session's options.
    pub(crate) fn interpret(&self, name: &str, options: &mut SessionOptions) {
        match name {
            "default_transaction_isolation" => {
                options.isolation = self.raw(name).and_then(|v| level(&v)).unwrap_or_default();
            }
            "default_transaction_read_only" => options.read_only = self.is_on(name),
            "default_transaction_deferrable" => options.deferrable = self.is_on(name),
            "lock_timeout" => options.timeouts.lock = self.micros(name),
            "statement_timeout" => options.timeouts.statement = self.micros(name),
            "deadlock_timeout" => options.timeouts.deadlock = self.micros(name),
            _ => {}
        }
    }

    /// The settings that [`Settings::interpret`] knows.
    pub(crate) const INTERPRETED: &[&str] = &[
        "default_transaction_isolation",
        "default_transaction_read_only",
        "default_transaction_deferrable",
        "lock_timeout",
        "statement_timeout",
        "deadlock_timeout",
    ];
}

/// The isolation level of this name, as settings spell it.
pub(crate) fn level(name: &str) -> Option<Isolation> {
    match name {
        "read committed" | "read uncommitted" => Some(Isolation::ReadCommitted),
        "repeatable read" => Some(Isolation::RepeatableRead),
        "serializable" => Some(Isolation::Serializable),
        _ => None,
    }
}

/// The name of an isolation level, as settings spell it.
pub(crate) fn level_name(level: Isolation) -> &'static str {
    match level {
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "repeatable read",
        Isolation::Serializable => "serializable",
    }
}

/// A setting that the server knows.
#[derive(Debug)]
struct Setting {
    name: &'static str,
    kind: Kind,
    change: Change,
}

/// What values a setting takes; the first field is the default.
#[derive(Debug)]
enum Kind {
    Bool(bool),
    Int(i64, Unit, i64, i64),
    Real(f64, Unit, f64, f64),
    Choice(&'static str, &'static [&'static str]),
    Text(&'static str),
}

/// Who may change a setting, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    BySet,
    AtConnection,
    ByFile,
    AtStart,
    Never,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    None,
    B,
    Kb,
    /// Blocks of 8 kB.
    Page,
    Mb,
    Ms,
    S,
    Min,
}

const fn bool(name: &'static str, default: bool) -> Setting {
    Setting { name, kind: Kind::Bool(default), change: Change::BySet }
}

const fn int(name: &'static str, unit: Unit, default: i64, min: i64, max: i64) -> Setting {
    Setting { name, kind: Kind::Int(default, unit, min, max), change: Change::BySet }
}

const fn real(name: &'static str, unit: Unit, default: f64, min: f64, max: f64) -> Setting {
    Setting { name, kind: Kind::Real(default, unit, min, max), change: Change::BySet }
}

const fn choice(name: &'static str, default: &'static str, values: &'static [&'static str]) -> Setting {
    Setting { name, kind: Kind::Choice(default, values), change: Change::BySet }
}

const fn text(name: &'static str, default: &'static str) -> Setting {
    Setting { name, kind: Kind::Text(default), change: Change::BySet }
}

/// A setting's name as the server spells it.
pub(crate) fn spelling(name: &str) -> &str {
    find(name).map_or(name, |setting| setting.name)
}

fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|s| s.name.eq_ignore_ascii_case(name))
}

fn default_of(name: &str) -> String {
    find(name).map(Setting::default).unwrap_or_default()
}

/// `app.user`: the application's own.
fn is_custom(name: &str) -> bool {
    let mut parts = name.split('.');
    name.contains('.')
        && parts.all(|part| {
            part.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
        })
}

fn unrecognized(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
}

impl Setting {
    const fn only(self, change: Change) -> Setting {
        Setting { change, ..self }
    }

    fn default(&self) -> String {
        match &self.kind {
            Kind::Bool(on) => on_off(*on).into(),
            Kind::Int(n, ..) => n.to_string(),
            Kind::Real(x, ..) => x.to_string(),
            Kind::Choice(value, _) | Kind::Text(value) => (*value).into(),
        }
    }

    fn may_change(&self) -> Result<(), SqlError> {
        let how = match self.change {
            Change::BySet => return Ok(()),
            Change::AtConnection => "cannot be set after connection start",
            Change::ByFile => "cannot be changed now",
            Change::AtStart => "cannot be changed without restarting the server",
            Change::Never => "cannot be changed",
        };
        let message = format!("parameter \"{}\" {how}", self.name);
        Err(SqlError::new(SqlState::CANT_CHANGE_RUNTIME_PARAM, message))
    }

    /// A value in its plain form: `on`, a number in the setting's unit, the spelling of the list.
    fn parse(&self, value: &str) -> Result<String, SqlError> {
        let invalid = || {
            let message = format!("invalid value for parameter \"{}\": \"{value}\"", self.name);
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        };
        match &self.kind {
            Kind::Bool(_) => truth(value).map(|on| on_off(on).into()).ok_or_else(|| {
                let message = format!("parameter \"{}\" requires a Boolean value", self.name);
                SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
            }),
            Kind::Int(_, unit, min, max) => {
                let n = amount(value, *unit).ok_or_else(invalid)?.round_ties_even();
                if n < *min as f64 || n > *max as f64 {
                    return Err(self.outside(&format!("{n}"), *unit, &min.to_string(), &max.to_string()));
                }
                Ok(format!("{n}"))
            }
            Kind::Real(_, unit, min, max) => {
                let n = amount(value, *unit).ok_or_else(invalid)?;
                if n < *min || n > *max {
                    return Err(self.outside(&short(n), *unit, &short(*min), &short(*max)));
                }
                Ok(n.to_string())
            }
            Kind::Choice(_, values) => {
                let found = values.iter().find(|v| v.eq_ignore_ascii_case(value));
                let hint = format!("Available values: {}.", values.join(", "));
                found.map(|v| (*v).into()).ok_or_else(|| invalid().hint(hint))
            }
            Kind::Text(_) if self.name == "DateStyle" => date_style(value).ok_or_else(invalid)?,
            Kind::Text(_) => Ok(value.into()),
        }
    }

    fn outside(&self, n: &str, unit: Unit, min: &str, max: &str) -> SqlError {
        let unit = unit.name().map(|u| format!(" {u}")).unwrap_or_default();
        let message = format!("{n}{unit} is outside the valid range for parameter \"{}\" ({min} .. {max})", self.name);
        SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
    }

    /// What SHOW makes of a plain value: numbers in the largest unit that leaves them whole.
    fn shown(&self, value: &str) -> String {
        match &self.kind {
            Kind::Int(_, unit, ..) => match value.parse::<i64>() {
                Ok(n) if self.name == "data_directory_mode" => format!("{n:04o}"),
                Ok(n) if n > 0 => unit.largest(n as f64),
                _ => value.into(),
            },
            Kind::Real(_, unit, ..) => match value.parse::<f64>() {
                Ok(x) if x > 0.0 && unit.name().is_some() => unit.largest(x),
                Ok(x) => short(x),
                Err(_) => value.into(),
            },
            _ => value.into(),
        }
    }
}

impl Unit {
    fn name(self) -> Option<&'static str> {
        match self {
            Unit::None => None,
            Unit::B => Some("B"),
            Unit::Kb => Some("kB"),
            Unit::Page => Some("8kB"),
            Unit::Mb => Some("MB"),
            Unit::Ms => Some("ms"),
            Unit::S => Some("s"),
            Unit::Min => Some("min"),
        }
    }

    /// Units of the same kind, largest first, with what they are in the smallest of the kind.
    fn family(self) -> &'static [(&'static str, f64)] {
        match self {
            Unit::None => &[],
            Unit::B | Unit::Kb | Unit::Page | Unit::Mb => {
                &[("TB", 1_099_511_627_776.0), ("GB", 1_073_741_824.0), ("MB", 1_048_576.0), ("kB", 1024.0), ("B", 1.0)]
            }
            Unit::Ms | Unit::S | Unit::Min => &[
                ("d", 86_400_000_000.0),
                ("h", 3_600_000_000.0),
                ("min", 60_000_000.0),
                ("s", 1_000_000.0),
                ("ms", 1000.0),
                ("us", 1.0),
            ],
        }
    }

    /// How much it is in the smallest of its kind.
    fn size(self) -> f64 {
        match self {
            Unit::Page => 8192.0,
            unit => unit.family().iter().find(|(name, _)| Some(*name) == unit.name()).map_or(1.0, |(_, size)| *size),
        }
    }

    fn largest(self, n: f64) -> String {
        let total = n * self.size();
        match self.family().iter().find(|(_, size)| total % size == 0.0) {
            Some((name, size)) => format!("{}{name}", total / size),
            None => n.to_string(),
        }
    }
}

/// A number with an optional unit, in the setting's unit.
fn amount(value: &str, unit: Unit) -> Option<f64> {
    let value = value.trim();
    let digits = value.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(value.len());
    // An exponent, or the beginning of a unit?
    let (number, rest) = match value[..digits].parse::<f64>() {
        Ok(number) => (number, value[digits..].trim()),
        Err(_) => (value[..digits].trim_end_matches(['e', 'E']).parse().ok()?, value[digits..].trim()),
    };
    if rest.is_empty() {
        return Some(number);
    }
    let (_, size) = unit.family().iter().find(|(name, _)| *name == rest)?;
    Some(number * size / unit.size())
}

/// PostgreSQL's words for yes and no, abbreviated as far as they stay clear.
fn truth(value: &str) -> Option<bool> {
    let value = value.to_lowercase();
    let starts = |word: &str, least: usize| value.len() >= least && word.starts_with(&value);
    if starts("true", 1) || starts("yes", 1) || value == "on" || value == "1" {
        Some(true)
    } else if starts("false", 1) || starts("no", 1) || starts("off", 2) || value == "0" {
        Some(false)
    } else {
        None
    }
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// A floating-point number in six digits, as C's `%g` prints it.
fn short(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let exponent = x.abs().log10().floor() as i32;
    if (-4..6).contains(&exponent) {
        let digits = (5 - exponent).max(0) as usize;
        let fixed = format!("{x:.digits$}");
        return if fixed.contains('.') { fixed.trim_end_matches('0').trim_end_matches('.').into() } else { fixed };
    }
    let text = format!("{x:.5e}");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    let (sign, power) = power.strip_prefix('-').map_or(('+', power), |p| ('-', p));
    format!("{mantissa}e{sign}{power:0>2}")
}

/// `ISO`, with the order of day and month. The engine prints dates in no other style, so the others are refused.
fn date_style(value: &str) -> Option<Result<String, SqlError>> {
    let mut order = "MDY";
    for word in value.split(',').map(|w| w.trim().to_lowercase()).filter(|w| !w.is_empty()) {
        match word.as_str() {
            "iso" | "default" => {}
            "mdy" | "us" | "noneuro" | "noneuropean" => order = "MDY",
            "dmy" | "euro" | "european" => order = "DMY",
            "ymd" => order = "YMD",
            "postgres" | "sql" | "german" => {
                return Some(Err(SqlError::unsupported(Construct::DATE_STYLE.of(word))));
            }
            _ => return None,
        }
    }
    Some(Ok(format!("ISO, {order}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(name: &str, value: &str) -> String {
        let mut settings = Settings::default();
        match settings.set(name, Some(value), false) {
            Ok(_) => settings.show(name).unwrap_or_default(),
            Err(error) => error.message.to_string(),
        }
    }

    #[test]
    fn values_are_shown_as_the_server_shows_them() {
        assert_eq!(after("lock_timeout", "10 min"), "10min");
        assert_eq!(after("lock_timeout", "1500"), "1500ms");
        assert_eq!(after("Lock_Timeout", "1.5s"), "1500ms");
        assert_eq!(after("work_mem", "10MB"), "10MB");
        assert_eq!(after("vacuum_cost_delay", "2.5ms"), "2500us");
        assert_eq!(after("seq_page_cost", "1e10"), "1e+10");
        assert_eq!(after("enable_seqscan", "of"), "off");
        assert_eq!(after("default_transaction_isolation", "SERIALIZABLE"), "serializable");
        assert_eq!(after("my.thing", "a b"), "a b");
    }

    #[test]
    fn what_the_server_refuses_is_refused_in_its_words() {
        for (name, value, message) in [
            ("lock_timeout", "abc", "invalid value for parameter \"lock_timeout\": \"abc\""),
            ("lock_timeout", "5 parsecs", "invalid value for parameter \"lock_timeout\": \"5 parsecs\""),
            ("lock_timeout", "-1", "-1 ms is outside the valid range for parameter \"lock_timeout\" (0 .. 2147483647)"),
            ("work_mem", "1 kB", "1 kB is outside the valid range for parameter \"work_mem\" (64 .. 2147483647)"),
            (
                "seq_page_cost",
                "-1",
                "-1 is outside the valid range for parameter \"seq_page_cost\" (0 .. 1.79769e+308)",
            ),
            ("enable_seqscan", "maybe", "parameter \"enable_seqscan\" requires a Boolean value"),
            ("max_connections", "3", "parameter \"max_connections\" cannot be changed without restarting the server"),
            ("fsync", "on", "parameter \"fsync\" cannot be changed now"),
            ("block_size", "1", "parameter \"block_size\" cannot be changed"),
            ("log_connections", "on", "parameter \"log_connections\" cannot be set after connection start"),
            ("nosuch", "1", "unrecognized configuration parameter \"nosuch\""),
        ] {
            assert_eq!(after(name, value), message);
        }
    }

    #[test]
    fn a_local_value_goes_first_and_goes_away() {
        let mut settings = Settings::default();
        settings.set("app.who", Some("all"), false).unwrap_or_default();
        settings.set("app.who", Some("one"), true).unwrap_or_default();
        assert_eq!(settings.show("app.who").as_deref(), Ok("one"));
        settings.end_transaction();
        assert_eq!(settings.show("app.who").as_deref(), Ok("all"));
    }
}
