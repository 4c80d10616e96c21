//! Triggers and cursors.

use std::fmt::{self, Display, Formatter};

use super::{Clause, Quoted, commas};
use crate::ast::{
    CreateTrigger, DeclareCursor, DropTrigger, Fetch, FetchDirection, SwitchTriggers, TriggerEvent, TriggerTiming,
};

impl Display for CreateTrigger {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let or_replace = if self.or_replace { "OR REPLACE " } else { "" };
        let constraint = if self.constraint { "CONSTRAINT " } else { "" };
        let events: Vec<String> = self.events.iter().map(TriggerEvent::to_string).collect();
        write!(f, "CREATE {or_replace}{constraint}TRIGGER {} {} ", self.name, self.timing)?;
        write!(f, "{} ON {}", events.join(" OR "), self.table)?;
        if self.deferrable {
            write!(f, " DEFERRABLE{}", if self.deferred { " INITIALLY DEFERRED" } else { "" })?;
        }
        if self.old_table.is_some() || self.new_table.is_some() {
            f.write_str(" REFERENCING")?;
            write!(f, "{}", Clause("OLD TABLE AS", self.old_table.as_ref()))?;
            write!(f, "{}", Clause("NEW TABLE AS", self.new_table.as_ref()))?;
        }
        write!(f, " FOR EACH {}", if self.each_row { "ROW" } else { "STATEMENT" })?;
        if let Some(when) = &self.when {
            write!(f, " WHEN ({when})")?;
        }
        let args: Vec<String> = self.args.iter().map(|arg| Quoted(arg).to_string()).collect();
        write!(f, " EXECUTE FUNCTION {}({})", self.function, commas(&args))
    }
}

impl Display for TriggerTiming {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TriggerTiming::Before => "BEFORE",
            TriggerTiming::After => "AFTER",
            TriggerTiming::InsteadOf => "INSTEAD OF",
        })
    }
}

impl Display for TriggerEvent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TriggerEvent::Insert => f.write_str("INSERT"),
            TriggerEvent::Update(columns) if columns.is_empty() => f.write_str("UPDATE"),
            TriggerEvent::Update(columns) => write!(f, "UPDATE OF {}", commas(columns)),
            TriggerEvent::Delete => f.write_str("DELETE"),
            TriggerEvent::Truncate => f.write_str("TRUNCATE"),
        }
    }
}

impl Display for DropTrigger {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let if_exists = if self.if_exists { "IF EXISTS " } else { "" };
        write!(f, "DROP TRIGGER {if_exists}{} ON {}", self.name, self.table)
    }
}

impl Display for SwitchTriggers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let verb = if self.enabled { "ENABLE" } else { "DISABLE" };
        write!(f, "ALTER TABLE {} {verb} TRIGGER ", self.table)?;
        match &self.name {
            Some(name) => name.fmt(f),
            None => f.write_str("USER"),
        }
    }
}

impl Display for DeclareCursor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let scroll = match self.scroll {
            Some(true) => "SCROLL ",
            Some(false) => "NO SCROLL ",
            None => "",
        };
        let hold = if self.hold { "WITH HOLD " } else { "" };
        write!(f, "DECLARE {} {scroll}CURSOR {hold}FOR {}", self.name, self.query)
    }
}

impl Display for Fetch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let verb = if self.moves { "MOVE" } else { "FETCH" };
        write!(f, "{verb} {} FROM {}", self.direction, self.cursor)
    }
}

impl Display for FetchDirection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            FetchDirection::Forward(i64::MAX) => f.write_str("FORWARD ALL"),
            FetchDirection::Backward(i64::MAX) => f.write_str("BACKWARD ALL"),
            FetchDirection::Forward(n) => write!(f, "FORWARD {n}"),
            FetchDirection::Backward(n) => write!(f, "BACKWARD {n}"),
            FetchDirection::Absolute(n) => write!(f, "ABSOLUTE {n}"),
            FetchDirection::Relative(n) => write!(f, "RELATIVE {n}"),
        }
    }
}
