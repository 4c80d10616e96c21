//! A scenario made from an application: its tables and rows, and the statements that its threads were seen to send.
//!
//! What an application computes between its statements is not seen: where it reads 1 and writes 0, the scenario writes
//! 0, whatever it reads. So this is a beginning, to be edited: `\gset` keeps what a query returned, and `:name` stands
//! for it later. What is gained is the embedded engine: every interleaving in milliseconds, and all the fixes tried.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use isolde_report::StepKind;
use isolde_sql::parse;
use isolde_wire::Row;

use super::data::Data;
use super::stage::DISCONNECTS;
use crate::Trouble;
use crate::live::{Check, Part};

/// What threads do when they run alone, and what must hold.
pub(super) struct Sketch<'s> {
    /// Where it comes from.
    pub(super) file: &'s str,
    /// Each thread with what it did.
    pub(super) threads: Vec<(String, Vec<Part>)>,
    pub(super) invariants: &'s [Check],
    pub(super) finals: &'s [Check],
}

/// Rows of a table that are written down.
const ROWS_MAX: usize = 100;

impl Sketch<'_> {
    /// The text of the scenario. The database stands as it was set up.
    pub(super) fn write(&self, data: &mut Data) -> Result<String, Trouble> {
        let mut out = format!(
            "-- Made from {}: what its threads send when they run alone.\n\
             -- Values that were computed from what had been read are constants here. Keep what a query returns with \\gset,\n\
             -- and write :name for it where it is used.\n\n",
            self.file
        );
        for line in set_up(data, &self.mentioned())?.lines {
            let _ = match line {
                Line::Statement(statement) => writeln!(out, "{statement};"),
                Line::Remark(remark) => writeln!(out, "-- {remark}"),
            };
        }
        for (name, parts) in &self.threads {
            let _ = write!(out, "\n--@ thread {name}\n{}", statements(parts));
        }
        for (kind, checks) in [("invariant", self.invariants), ("final", self.finals)] {
            for Check { name, query } in checks {
                let name: String = name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
                let _ = write!(out, "\n--@ {kind} {name}\n{query};\n");
            }
        }
        Ok(out)
    }

    /// Everything that is said about tables.
    fn mentioned(&self) -> String {
        let statements = self.threads.iter().flat_map(|(_, parts)| parts.iter().map(|part| part.statement.as_str()));
        let checks = self.invariants.iter().chain(self.finals).map(|check| check.query.as_str());
        statements.chain(checks).collect::<Vec<_>>().join("\n")
    }
}

/// A thread's statements, with what was said about transactions before them.
fn statements(parts: &[Part]) -> String {
    let said = parts.iter().filter(|part| part.connection.is_some());
    // A lone statement is one in a scenario, too: there its commit is a step anyway.
    let said: Vec<&Part> = said.collect();
    let is_lone = |at: usize| {
        let (Some(part), Some(next)) = (said.get(at), said.get(at + 1)) else { return false };
        next.kind == StepKind::Commit && part.before.last().is_some_and(|text| text == "BEGIN")
    };
    let ends_lone = |at: usize| at.checked_sub(1).is_some_and(is_lone);
    let lines = said.iter().enumerate().filter(|(at, _)| !ends_lone(*at)).flat_map(|(at, part)| {
        let before = part.before.iter().map(String::as_str).take(part.before.len() - usize::from(is_lone(at)));
        before.chain([sent(part)])
    });
    lines.map(|text| format!("{};\n", text.trim_end_matches(';'))).collect()
}

/// What was sent, or amounts to what happened.
pub(super) fn sent(part: &Part) -> &str {
    if part.statement == DISCONNECTS { "ROLLBACK" } else { &part.statement }
}

/// What makes the tables, and what takes them away again.
#[derive(Clone, Debug, Default)]
pub(super) struct SetUp {
    pub(super) lines: Vec<Line>,
    pub(super) teardown: Vec<String>,
}

/// A line of a set-up.
#[derive(Clone, Debug)]
pub(super) enum Line {
    /// SQL, without its semicolon.
    Statement(String),
    /// For who reads it.
    Remark(String),
}

impl Line {
    /// The statement, if it is one.
    pub(super) fn statement(&self) -> Option<&str> {
        match self {
            Line::Statement(statement) => Some(statement),
            Line::Remark(_) => None,
        }
    }
}

/// A table, as its definition is written down.
struct Made {
    oid: String,
    /// Quoted and with its schema, as far as needed.
    name: String,
    /// The bare name.
    bare: String,
    definition: String,
    /// Some column draws its values itself.
    identity: bool,
}

/// Definitions and rows of the tables that are mentioned, and of those that they refer to.
pub(super) fn set_up(data: &mut Data, mentioned: &str) -> Result<SetUp, Trouble> {
    let mut made = SetUp::default();
    for (query, kind) in [(SCHEMAS, "SCHEMA"), (TYPES, "TYPE")] {
        for row in data.rows(query)? {
            let [Some(name), Some(statement)] = &row[..] else { continue };
            made.lines.push(Line::Statement(statement.clone()));
            made.teardown.push(format!("DROP {kind} {name} CASCADE;"));
        }
    }
    let tables: Vec<Made> = data.rows(TABLES)?.iter().filter_map(table).collect();
    let names: BTreeSet<String> = parse::names(mentioned).into_iter().collect();
    let mut wanted: Vec<bool> = tables.iter().map(|table| names.contains(&table.bare)).collect();
    let references = data.rows(REFERENCES)?;
    // Who refers to a table that is left out could not be defined.
    loop {
        let position = |name: &Option<String>| tables.iter().position(|table| Some(&table.oid) == name.as_ref());
        let more = references.iter().find_map(|row| match (position(row.first()?), position(row.get(1)?)) {
            (Some(child), Some(parent)) if wanted[child] && !wanted[parent] => Some(parent),
            _ => None,
        });
        match more {
            Some(parent) => wanted[parent] = true,
            None => break,
        }
    }
    let kept: Vec<&Made> = tables.iter().zip(&wanted).filter(|(_, wanted)| **wanted).map(|(table, _)| table).collect();
    for Made { name, definition, .. } in &kept {
        made.lines.push(Line::Statement(definition.clone()));
        made.teardown.push(format!("DROP TABLE {name} CASCADE;"));
    }
    for table in &kept {
        made.lines.extend(rows(data, table)?);
    }
    for table in &kept {
        made.lines.extend(texts(data, &CONSTRAINTS.replace("{oid}", &table.oid))?.into_iter().map(Line::Statement));
    }
    for row in data.rows(ROUTINES)? {
        let [Some(name), Some(statement)] = &row[..] else { continue };
        made.lines.push(Line::Statement(statement.trim_end().to_string()));
        made.teardown.push(format!("DROP ROUTINE {name} CASCADE;"));
    }
    for table in &kept {
        made.lines.extend(texts(data, &BEHIND.replace("{oid}", &table.oid))?.into_iter().map(Line::Statement));
    }
    // What was made first goes last.
    made.teardown.reverse();
    Ok(made)
}

fn table(row: &Row) -> Option<Made> {
    match &row[..] {
        [Some(oid), Some(name), Some(definition), Some(bare), Some(identity)] => Some(Made {
            oid: oid.clone(),
            name: name.clone(),
            bare: bare.clone(),
            definition: definition.clone(),
            identity: identity == "t",
        }),
        _ => None,
    }
}

/// The rows of a table, as INSERTs, and where its sequences stand.
fn rows(data: &mut Data, table: &Made) -> Result<Vec<Line>, Trouble> {
    let Made { oid, name, identity, .. } = table;
    let overriding = if *identity { " OVERRIDING SYSTEM VALUE" } else { "" };
    let columns = texts(data, &COLUMNS.replace("{oid}", oid))?;
    if columns.is_empty() {
        return Ok(Vec::new());
    }
    let values = columns.iter().map(|column| format!("quote_nullable({column}::text)")).collect::<Vec<_>>();
    let query = format!("SELECT concat_ws(', ', {}) FROM {name} LIMIT {}", values.join(", "), ROWS_MAX + 1);
    let found = texts(data, &query)?;
    let insert = |row: &String| format!("INSERT INTO {name} ({}){overriding} VALUES ({row})", columns.join(", "));
    let mut lines: Vec<Line> = found.iter().take(ROWS_MAX).map(insert).map(Line::Statement).collect();
    lines.extend((found.len() > ROWS_MAX).then(|| Line::Remark(format!("{name} has more rows than these"))));
    lines.extend(texts(data, &SEQUENCES.replace("{oid}", oid))?.into_iter().map(Line::Statement));
    Ok(lines)
}

fn texts(data: &mut Data, query: &str) -> Result<Vec<String>, Trouble> {
    Ok(data.rows(query)?.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

const SCHEMAS: &str = "SELECT quote_ident(nspname), format('CREATE SCHEMA %I', nspname) FROM pg_namespace \
    WHERE nspname NOT LIKE 'pg\\_%' AND nspname NOT IN ('information_schema', 'isolde', 'public') ORDER BY oid";

const TYPES: &str = "SELECT t.oid::regtype, format('CREATE TYPE %s AS ENUM (%s)', t.oid::regtype, \
    (SELECT string_agg(quote_literal(enumlabel), ', ' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid)) \
    FROM pg_type t WHERE t.typtype = 'e' ORDER BY t.oid";

/// Oid, name and definition of each table, without its constraints; its bare name, and whether it has an identity
/// column.
const TABLES: &str = "SELECT c.oid, c.oid::regclass::text, format('CREATE TABLE %s (%s)', c.oid::regclass, \
    (SELECT string_agg(format('%I %s%s', a.attname, \
        CASE WHEN pg_get_serial_sequence(c.oid::regclass::text, a.attname) IS NOT NULL AND a.attidentity = '' \
            THEN CASE a.atttypid WHEN 'bigint'::regtype THEN 'bigserial' WHEN 'smallint'::regtype THEN 'smallserial' ELSE 'serial' END \
            ELSE format_type(a.atttypid, a.atttypmod) END, \
        CASE WHEN a.attidentity = 'a' THEN ' GENERATED ALWAYS AS IDENTITY' \
            WHEN a.attidentity = 'd' THEN ' GENERATED BY DEFAULT AS IDENTITY' \
            WHEN a.attgenerated <> '' THEN ' GENERATED ALWAYS AS (' || pg_get_expr(d.adbin, d.adrelid) \
                || CASE a.attgenerated WHEN 's' THEN ') STORED' ELSE ') VIRTUAL' END \
            ELSE CASE WHEN d.adbin IS NOT NULL AND pg_get_serial_sequence(c.oid::regclass::text, a.attname) IS NULL \
                    THEN ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) ELSE '' END \
                || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END END), ', ' ORDER BY a.attnum) \
     FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum \
     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)), c.relname, \
    EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attidentity <> '' AND NOT a.attisdropped) \
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' \
    AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname NOT IN ('information_schema', 'isolde') ORDER BY c.oid";

const REFERENCES: &str = "SELECT conrelid, confrelid FROM pg_constraint WHERE contype = 'f'";

/// Columns that can be written.
const COLUMNS: &str = "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = {oid} AND attnum > 0 \
    AND NOT attisdropped AND attgenerated = '' ORDER BY attnum";

const SEQUENCES: &str = "SELECT format('SELECT setval(%L, %s)', s.name, pg_sequence_last_value(s.name::regclass)) \
    FROM (SELECT pg_get_serial_sequence({oid}::regclass::text, attname) AS name FROM pg_attribute \
        WHERE attrelid = {oid} AND attnum > 0 AND NOT attisdropped) AS s \
    WHERE s.name IS NOT NULL AND pg_sequence_last_value(s.name::regclass) IS NOT NULL";

/// Keys before the foreign keys that need them; NOT NULL stands with its column.
const CONSTRAINTS: &str = "SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, \
    pg_get_constraintdef(oid)) FROM pg_constraint WHERE conrelid = {oid} AND contype IN ('p', 'u', 'c', 'f') \
    ORDER BY contype = 'f', oid";

const ROUTINES: &str = "SELECT p.oid::regprocedure, pg_get_functiondef(p.oid) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace \
    JOIN pg_language l ON l.oid = p.prolang WHERE p.prokind IN ('f', 'p') AND l.lanname IN ('sql', 'plpgsql') \
    AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname NOT IN ('information_schema', 'isolde') \
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e') ORDER BY p.oid";

/// Unique indexes that are no constraints, and triggers.
const BEHIND: &str = "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = {oid} AND indisunique \
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid) \
    UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = {oid} AND NOT tgisinternal \
    AND tgname NOT LIKE '~isolde%'";
