//! The tables of a server, as the embedded engine's catalog.
//!
//! What statements touch is told by binding them, and that takes a [`Catalog`]. It is made by reading the definitions
//! off the server and defining the same in an empty engine: plain tables with their keys, then views, functions and
//! triggers, each for itself. What the engine does not know is left out and so known to be unknown: a column of a
//! strange type is text, and
//! [opaque](Known::opaque); a statement that calls a function that is not there cannot be bound, and may touch
//! everything.

use std::collections::{BTreeMap, BTreeSet};

use isolde_engine::{Database, SessionId};
use isolde_sql::ast::{Expr, ExprKind, Statement};
use isolde_sql::catalog::{Catalog, TableId};
use isolde_sql::parse::{self, Fragment};
use isolde_sql::{Diagnostic, bind};
use isolde_wire::quote::identifier;
use isolde_wire::{Connection, Response, Row};

use crate::Trouble;

/// What is known of the tables of a server.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The definitions.
    pub catalog: Catalog,
    /// Columns whose values cannot be compared here as the server compares them; [`WHOLE`] stands for all of a table,
    /// whose rows may belong to another one.
    pub opaque: BTreeSet<(TableId, usize)>,
    /// The tables by their oids on the server.
    pub oids: BTreeMap<u32, TableId>,
    /// Their columns by the table's oid and the column's number there.
    pub columns: BTreeMap<(u32, i16), (TableId, usize)>,
    /// What had to be left out, in a few words each.
    pub missing: Vec<String>,
}

/// In [`Known::opaque`]: the table itself, because it is a partition or has some.
pub const WHOLE: usize = usize::MAX;

/// Tables whose rows are others' rows too.
const KIN: &str = "SELECT inhrelid FROM pg_inherits UNION SELECT inhparent FROM pg_inherits";

/// Schemas that are the server's, or ours.
const NOT_SYSTEM: &str = "n.nspname NOT LIKE 'pg\\_%' AND n.nspname NOT IN ('information_schema', 'isolde')";

/// Definitions that need no second look, in the order in which they are made: each query returns statements.
const FIRST: &[&str] = &[
    "SELECT format('CREATE SCHEMA %I', n.nspname) FROM pg_namespace n WHERE {user} AND n.nspname <> 'public'",
    "SELECT format('CREATE TYPE %I.%I AS ENUM (%s)', n.nspname, t.typname,
        (SELECT string_agg(quote_literal(enumlabel), ', ' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid))
     FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.typtype = 'e' AND {user} ORDER BY t.oid",
    "SELECT format('CREATE DOMAIN %I.%I AS %s', n.nspname, t.typname, format_type(t.typbasetype, t.typtypmod))
     FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.typtype = 'd' AND {user} ORDER BY t.oid",
    "SELECT format('CREATE SEQUENCE %I.%I', n.nspname, c.relname)
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind = 'S' AND {user} AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i'))
     ORDER BY c.oid",
];

/// One row per column, tables in the order of their oids.
const COLUMNS: &str = "
    SELECT c.oid, n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
        pg_get_expr(d.adbin, d.adrelid), a.attgenerated,
        pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname) IS NOT NULL,
        coalesce((SELECT NOT collisdeterministic FROM pg_collation l WHERE l.oid = a.attcollation), false), a.attnum
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relkind IN ('r', 'p') AND {user} ORDER BY c.oid, a.attnum";

/// Definitions that come after the tables.
const LAST: &[&str] = &[
    "SELECT format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s', n.nspname, c.relname, k.conname, pg_get_constraintdef(k.oid))
     FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE k.contype IN ('p', 'u') AND {user} ORDER BY k.contype, k.oid",
    "SELECT pg_get_indexdef(i.indexrelid)
     FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE i.indisunique AND {user} AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
     ORDER BY i.indexrelid",
    "SELECT format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s', n.nspname, c.relname, k.conname, pg_get_constraintdef(k.oid))
     FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE k.contype = 'f' AND {user} ORDER BY k.oid",
    "SELECT 'SET check_function_bodies = off'",
    "SELECT pg_get_functiondef(p.oid)
     FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang
     WHERE p.prokind IN ('f', 'p') AND l.lanname IN ('sql', 'plpgsql') AND {user}
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e') ORDER BY p.oid",
    "SELECT format('CREATE VIEW %I.%I AS %s', n.nspname, c.relname, pg_get_viewdef(c.oid))
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'v' AND {user} ORDER BY c.oid",
    "SELECT pg_get_triggerdef(g.oid)
     FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE NOT g.tgisinternal AND g.tgname NOT LIKE '~isolde%' AND {user} ORDER BY g.oid",
];

impl Known {
    /// Takes the primary keys of some tables for unique keys like others: they change, so that no row can be known by
    /// them.
    pub(crate) fn forget_keys(&mut self, tables: &BTreeSet<TableId>) {
        for &table in tables {
            self.catalog.alter_table(table, |table| table.indexes.iter_mut().for_each(|index| index.primary = false));
        }
    }
}

/// Reads the definitions of the database that a connection is in.
pub fn read(connection: &mut Connection) -> Result<Known, Trouble> {
    let mut maker = Maker::default();
    for query in FIRST {
        maker.run_all(rows(connection, query)?);
    }
    maker.tables(rows(connection, COLUMNS)?);
    for query in LAST {
        maker.run_all(rows(connection, query)?);
    }
    for row in rows(connection, KIN)? {
        let oid = text(&row, 0).and_then(|oid| oid.parse().ok());
        if let Some(id) = oid.and_then(|oid: u32| maker.oids.get(&oid).copied()) {
            maker.opaque.insert((id, WHOLE));
        }
    }
    let Maker { database, opaque, oids, columns, missing, .. } = maker;
    Ok(Known { catalog: database.catalog().clone(), opaque, oids, columns, missing })
}

fn rows(connection: &mut Connection, query: &str) -> Result<Vec<Row>, Trouble> {
    let responses = connection.execute(&query.replace("{user}", NOT_SYSTEM))?;
    Ok(responses.first().map(|r: &Response| r.rows().to_vec()).unwrap_or_default())
}

/// An engine in which things are defined.
struct Maker {
    database: Database,
    session: SessionId,
    opaque: BTreeSet<(TableId, usize)>,
    oids: BTreeMap<u32, TableId>,
    columns: BTreeMap<(u32, i16), (TableId, usize)>,
    missing: Vec<String>,
}

impl Default for Maker {
    fn default() -> Maker {
        let mut database = Database::new();
        let session = database.open_session();
        let (oids, columns) = (BTreeMap::new(), BTreeMap::new());
        Maker { database, session, opaque: BTreeSet::new(), oids, columns, missing: Vec::new() }
    }
}

impl Maker {
    /// Runs statements, each for itself; what fails is missing.
    fn run_all(&mut self, statements: Vec<Row>) {
        for text in statements.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
            if let Err(reason) = self.run(&text) {
                self.missing.push(format!("{}: {reason}", bind::one_line(&text).chars().take(80).collect::<String>()));
            }
        }
    }

    fn run(&mut self, text: &str) -> Result<(), String> {
        let text = text.trim().trim_end_matches(';');
        let said = |diagnostic: Diagnostic| diagnostic.message.to_string();
        let statement: Statement = parse::statement(Fragment { text, offset: 0 }).map_err(said)?;
        let prepared = self.database.prepare(&statement, text, &[]).map_err(said)?;
        let mut reply = self.database.submit(self.session, &prepared, &[]);
        while reply.is_none() {
            reply = self.database.step(self.session).reply;
        }
        reply.map_or(Ok(()), |reply| reply.map(drop).map_err(|error| error.message.to_string()))
    }

    fn tables(&mut self, columns: Vec<Row>) {
        let mut tables: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
        for row in columns {
            let oid = row.first().cloned().flatten().and_then(|oid| oid.parse().ok());
            tables.entry(oid.unwrap_or_default()).or_default().push(row);
        }
        for (oid, columns) in tables {
            self.table(oid, &columns);
        }
    }

    fn table(&mut self, oid: u32, columns: &[Row]) {
        let (Some(schema), Some(name)) = (text(&columns[0], 1), text(&columns[0], 2)) else { return };
        let mut strange = Vec::new();
        let mut definitions = Vec::new();
        for (position, column) in columns.iter().enumerate().filter(|(_, column)| text(column, 3).is_some()) {
            let (definition, is_strange) = self.column(column);
            definitions.push(definition);
            strange.extend(is_strange.then_some(position));
        }
        let make = |definitions: &[String]| {
            format!("CREATE TABLE {}.{} ({})", identifier(schema), identifier(name), definitions.join(", "))
        };
        if self.run(&make(&definitions)).is_err() {
            // With nothing but names and types, which are known to be fine.
            let plain = definitions.iter().map(|d| d.split(PLAIN_END).next().unwrap_or(d).to_string());
            if let Err(reason) = self.run(&make(&plain.collect::<Vec<_>>())) {
                self.missing.push(format!("table {name}: {reason}"));
                return;
            }
        }
        let schema = (schema != "public").then_some(schema);
        if let Some(table) = self.database.catalog().find_table(schema, name) {
            let id = table.id;
            self.oids.insert(oid, id);
            let numbers = columns.iter().map(|column| text(column, 11).and_then(|number| number.parse().ok()));
            self.columns.extend(numbers.enumerate().filter_map(|(at, number)| Some(((oid, number?), (id, at)))));
            self.opaque.extend(strange.into_iter().map(|column| (id, column)));
        }
    }

    /// The definition of a column, and whether its values are not understood.
    fn column(&self, column: &Row) -> (String, bool) {
        let flag = |at: usize| text(column, at) == Some("t");
        let (name, ty) = (identifier(text(column, 3).unwrap_or_default()), text(column, 4).unwrap_or("text"));
        let known = self.knows_type(ty);
        let shown = if known { ty } else { "text" };
        let serial = match shown {
            "integer" => "serial",
            "bigint" => "bigserial",
            "smallint" => "smallserial",
            _ => shown,
        };
        let is_generated = text(column, 8).is_some_and(|generated| !generated.is_empty());
        let is_identity = text(column, 6).is_some_and(|identity| !identity.is_empty());
        let drawn = flag(9) && !is_identity && text(column, 7).is_some_and(draws);
        let rest = match (text(column, 6), text(column, 7)) {
            (Some("a"), _) => " GENERATED ALWAYS AS IDENTITY".to_string(),
            (Some("d"), _) => " GENERATED BY DEFAULT AS IDENTITY".to_string(),
            (_, Some(default)) if !drawn && !is_generated && self.knows_value(default) => {
                format!(" DEFAULT {default}")
            }
            _ => String::new(),
        };
        let not_null = if flag(5) { " NOT NULL" } else { "" };
        let definition = format!("{name} {}{PLAIN_END}{not_null}{rest}", if drawn { serial } else { shown });
        // What is computed when it is read is not told by triggers.
        (definition, !known || flag(10) || text(column, 8) == Some("v"))
    }

    fn knows_type(&self, ty: &str) -> bool {
        self.binds(&format!("SELECT NULL::{ty}"))
    }

    fn knows_value(&self, value: &str) -> bool {
        self.binds(&format!("SELECT {value}"))
    }

    fn binds(&self, text: &str) -> bool {
        let parsed = parse::statement(Fragment { text, offset: 0 });
        parsed.and_then(|statement| bind::statement(self.database.catalog(), &statement, text, &[])).is_ok()
    }
}

/// Stands behind the type of a column in its definition: two spaces.
const PLAIN_END: &str = "  ";

fn text(row: &Row, at: usize) -> Option<&str> {
    row.get(at).and_then(Option::as_deref)
}

/// Whether a default is drawn from a sequence.
fn draws(default: &str) -> bool {
    let parsed = parse::expr(Fragment { text: default, offset: 0 });
    matches!(parsed, Ok(Expr { kind: ExprKind::Call(call), .. }) if &*call.name.name.name == "nextval")
}
