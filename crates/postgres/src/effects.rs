//! What statements write, told by the server itself.
//!
//! In the database of a run every table has a trigger more. Behind each row that is inserted, changed or deleted,
//! whoever did it (the statement itself, another trigger, a foreign key that cascades), it sends the row to the client
//! in the same round trip, as a message of level INFO, which is sent whatever the session has set:
//!
//! ```text
//!   UPDATE account SET balance = 40 WHERE id = 1
//!     INFO     isolde-effect 16385 U        the table's oid, and what happened
//!     DETAIL   (1,100)                      the row before
//!     HINT     (1,40)                       the row after
//!   UPDATE 1
//! ```
//!
//! The same goes into `isolde.log`, which is what [restoring](crate::Restore) works from: as a table it forgets what
//! was rolled back. Where that is known anyway, [nothing is logged](stop_logging), which halves the cost of telling.
//! The trigger's name sorts behind all others, so it sees what theirs made of a row.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use isolde_engine::RowId;
use isolde_engine::footprint::{ColumnSet, Write};
use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::value::cast;
use isolde_sql::{Row, Type, Value};
use isolde_wire::{Complaint, Connection};

use crate::Trouble;
use crate::catalog::Known;

/// What the messages begin with.
const PREFIX: &str = "isolde-effect ";

/// What is kept beside the user's tables.
const SCHEMA: &str = r#"
CREATE SCHEMA isolde;
CREATE UNLOGGED TABLE isolde.log (n bigserial, tab oid NOT NULL, op "char" NOT NULL, old text, new text);
GRANT USAGE ON SCHEMA isolde TO PUBLIC;
"#;

/// What the triggers call. `logs` keeps what is written in the log, too: whoever writes need not be allowed to write
/// that.
fn tell(logs: bool) -> String {
    let log = |columns: &str, values: &str| match logs {
        true => format!("INSERT INTO isolde.log (tab, op{columns}) VALUES (TG_RELID, {values});"),
        false => String::new(),
    };
    let (create, definer) = if logs { ("CREATE", "SECURITY DEFINER ") } else { ("CREATE OR REPLACE", "") };
    format!(
        r#"
{create} FUNCTION isolde.tell() RETURNS trigger LANGUAGE plpgsql {definer}AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    RAISE INFO 'isolde-effect % I', TG_RELID USING HINT = NEW;
    {insert}
  ELSIF TG_OP = 'UPDATE' THEN
    RAISE INFO 'isolde-effect % U', TG_RELID USING DETAIL = OLD, HINT = NEW;
    {update}
  ELSIF TG_OP = 'DELETE' THEN
    RAISE INFO 'isolde-effect % D', TG_RELID USING DETAIL = OLD;
    {delete}
  ELSE
    RAISE INFO 'isolde-effect % T', TG_RELID;
    {truncate}
  END IF;
  RETURN NULL;
END $$;
"#,
        insert = log(", new", "'I', NEW::text"),
        update = log(", old, new", "'U', OLD::text, NEW::text"),
        delete = log(", old", "'D', OLD::text"),
        truncate = log("", "'T'"),
    )
}

/// Gives every table its trigger, and lets nothing touch it in the background. New tables have none.
const TRIGGERS: &str = r#"
DO $isolde$
DECLARE t regclass;
BEGIN
  FOR t IN SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND c.relpersistence <> 't'
      AND n.nspname NOT LIKE 'pg\_%' AND n.nspname NOT IN ('information_schema', 'isolde')
      AND NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = c.oid AND g.tgname = '~isolde')
  LOOP
    EXECUTE format('CREATE TRIGGER "~isolde" AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION isolde.tell()', t);
    EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', t);
    EXECUTE format('CREATE TRIGGER "~isolde truncate" AFTER TRUNCATE ON %s EXECUTE FUNCTION isolde.tell()', t);
  END LOOP;
END $isolde$
"#;

/// Makes a database tell what is written. To be called when its tables are there; the role must own them.
pub fn install(connection: &mut Connection) -> Result<(), Trouble> {
    connection.execute(SCHEMA)?;
    connection.execute(&tell(true))?;
    connection.execute(TRIGGERS)?;
    Ok(())
}

/// From now on, what is written is told and not logged.
pub fn stop_logging(connection: &mut Connection) -> Result<(), Trouble> {
    connection.execute(&tell(false))?;
    Ok(())
}

/// What a message of a trigger says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The table, by oid.
    pub table: u32,
    /// What happened.
    pub kind: EffectKind,
    /// The row before, each column as text; dropped columns left out.
    pub before: Option<Vec<Option<String>>>,
    /// The row after.
    pub after: Option<Vec<Option<String>>>,
}

/// What happened to a row, or to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum EffectKind {
    Insert,
    Update,
    Delete,
    Truncate,
}

/// Reads a message if it is one of ours; whoever shows messages to users leaves these out.
pub fn strip(notice: &Complaint) -> Option<Effect> {
    let (table, kind) = notice.message.strip_prefix(PREFIX)?.split_once(' ')?;
    let kind = match kind {
        "I" => EffectKind::Insert,
        "U" => EffectKind::Update,
        "D" => EffectKind::Delete,
        "T" => EffectKind::Truncate,
        _ => return None,
    };
    Some(Effect {
        table: table.parse().ok()?,
        kind,
        before: notice.detail.as_deref().map(fields),
        after: notice.hint.as_deref().map(fields),
    })
}

/// The columns of a row as PostgreSQL prints one: `(1,,"two words")`.
pub(crate) fn fields(text: &str) -> Vec<Option<String>> {
    let inside = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).unwrap_or(text);
    let mut columns = Vec::new();
    let (mut column, mut quoted, mut was_quoted) = (String::new(), false, false);
    let mut chars = inside.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                column.push('"');
            }
            '"' => {
                quoted = !quoted;
                was_quoted = true;
            }
            '\\' => column.extend(chars.next()),
            ',' if !quoted => {
                let done = std::mem::take(&mut column);
                columns.push((was_quoted || !done.is_empty()).then_some(done));
                was_quoted = false;
            }
            _ => column.push(c),
        }
    }
    columns.push((was_quoted || !column.is_empty()).then_some(column));
    columns
}

/// Turns effects into writes. Which row it is, is told by its primary key; where there is none, by what it has been
/// since the run began.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// In tables without a key: what the rows that are now like this were first.
    origins: BTreeMap<(TableId, Row), Vec<RowId>>,
}

impl Rows {
    /// The next run begins.
    pub fn restart(&mut self) {
        self.origins.clear();
    }

    /// The write that an effect stands for; `None` for a table that is not known, and for TRUNCATE.
    pub fn write(&mut self, known: &Known, effect: Effect) -> Option<Write> {
        let table = *known.oids.get(&effect.table)?;
        if effect.kind == EffectKind::Truncate {
            return None;
        }
        let before = effect.before.map(|texts| values(&known.catalog, table, texts));
        let after = effect.after.map(|texts| values(&known.catalog, table, texts));
        let row = self.identity(&known.catalog, table, before.as_ref(), after.as_ref());
        let mut write = Write { table, row, before, after, set: ColumnSet::ALL };
        write.set = write.changed();
        Some(write)
    }

    fn identity(&mut self, catalog: &Catalog, table: TableId, before: Option<&Row>, after: Option<&Row>) -> RowId {
        let Some(first) = before.or(after) else { return RowId(0) };
        match catalog.table(table).primary_key() {
            // The same in every run, so that events of different runs can be compared.
            Some(index) => number(table, index.columns.iter().filter_map(|&c| first.get(c))),
            None => {
                let known = before.and_then(|row| self.origins.get_mut(&(table, row.clone()))?.pop());
                let twins = before.is_none().then(|| self.origins.get(&(table, first.clone())).map_or(0, Vec::len));
                let id = known.unwrap_or_else(|| {
                    let RowId(id) = number(table, first.iter());
                    RowId(id.wrapping_add(twins.unwrap_or_default() as u64))
                });
                if let Some(after) = after {
                    self.origins.entry((table, after.clone())).or_default().push(id);
                }
                id
            }
        }
    }
}

/// What a row with a primary key is known by: the same in every run.
pub fn number<'v>(table: TableId, values: impl Iterator<Item = &'v Value>) -> RowId {
    let mut hasher = DefaultHasher::new();
    table.hash(&mut hasher);
    values.for_each(|value| value.hash(&mut hasher));
    RowId(hasher.finish())
}

/// A value from its text. What is not understood stays text.
pub(crate) fn value(text: String, ty: Type) -> Value {
    let text = Value::text(text);
    cast(&text, Type::Text, ty, false).unwrap_or(text)
}

/// A row from its texts.
fn values(catalog: &Catalog, table: TableId, texts: Vec<Option<String>>) -> Row {
    let columns = &catalog.table(table).columns;
    let types = columns.iter().map(|column| column.ty).chain(std::iter::repeat(Type::Text));
    let maybe = |(text, ty): (Option<String>, Type)| match text {
        None => Value::Null,
        Some(text) => value(text, ty),
    };
    texts.into_iter().zip(types).map(maybe).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_are_printed() {
        let read = |text: &str| fields(text).into_iter().map(|f| f.unwrap_or("NULL".into())).collect::<Vec<_>>();
        assert_eq!(read("(1,100)"), ["1", "100"]);
        assert_eq!(
            read(r#"(,"",a b,"a,b","say ""hi""","back\\slash")"#),
            ["NULL", "", "a b", "a,b", "say \"hi\"", "back\\slash"]
        );
        assert_eq!(read("()"), ["NULL"]);
    }

    #[test]
    fn only_our_messages_are_ours() {
        let notice = |message: &str| Complaint { message: message.into(), ..Complaint::default() };
        assert_eq!(strip(&notice("hello")), None);
        let truncated = Effect { table: 7, kind: EffectKind::Truncate, before: None, after: None };
        assert_eq!(strip(&notice("isolde-effect 7 T")), Some(truncated));
    }
}
