//! Evidence that runs: the SQL of an example is executed on the embedded engine before it is printed.
//!
//! The tables are made of what the model knows: keys, columns that name objects, NOT NULL, foreign keys. The rows are
//! inserted and the delete carried out as printed. SQL that does not run there, or ends differently, is not printed.
//! Other columns of the real tables are not known here.

use std::collections::{BTreeMap, BTreeSet};

use isolde_engine::{Activity, Database, SessionId};
use isolde_sql::parse;
use isolde_sql::print::identifier;

use crate::logic::instance::{column_name, table_name, type_column};
use crate::logic::{Instance, Outcome, Schema};
use crate::model::{ClassId, Framework, JoinId, OnDelete, ReferenceId};
use crate::read::Inflections;

/// More steps than any of these statements takes.
const STEPS_MAX: usize = 100_000;

/// Whether the rows can be inserted, and the delete ends as it is said to end.
pub(crate) fn runs(
    schema: &Schema<'_>,
    before: &Instance,
    rows: &[String],
    delete: &[String],
    outcome: Option<&Outcome>,
) -> bool {
    let mut database = Database::new();
    let session = database.open_session();
    let Some(tables) = definitions(schema, before) else { return false };
    if !tables.iter().chain(rows).all(|statement| succeeds(&mut database, session, statement)) {
        return false;
    }
    let mut done = delete.iter().map(|statement| succeeds(&mut database, session, statement));
    match outcome {
        // Constraints of Django are looked at when the transaction ends; these are not.
        _ if schema.model.framework == Framework::Django => true,
        Some(Outcome::Raised(_)) => done.any(|succeeded| !succeeded),
        _ => done.all(|succeeded| succeeded),
    }
}

/// The tables of the objects of an instance; `None` if a column is really several.
fn definitions(schema: &Schema<'_>, before: &Instance) -> Option<Vec<String>> {
    let classes: BTreeSet<ClassId> = before.objects.iter().map(|object| schema.root(object.class)).collect();
    let names: BTreeSet<String> = classes.iter().map(|class| table_name(schema, *class)).collect();
    let mut columns: BTreeMap<String, BTreeMap<String, &str>> =
        names.iter().map(|name| (name.clone(), BTreeMap::from([("type".to_owned(), "text")]))).collect();
    let mut keys = Vec::new();
    for reference in (0..schema.references.len()).map(ReferenceId) {
        let table = table_name(schema, schema.child(reference));
        let Some(known) = columns.get_mut(&table) else { continue };
        let column = column_name(schema, reference);
        if column.contains(',') {
            return None;
        }
        let stored = &schema.references[reference.0];
        let is_whole = schema.root(schema.child(reference)) == schema.child(reference);
        let ty = if stored.not_null && is_whole { "bigint NOT NULL" } else { "bigint" };
        known.entry(column.clone()).or_insert(ty);
        known.extend(type_column(schema, reference).map(|column| (column, "text")));
        keys.extend(foreign_key(schema, reference, &table, &column, &names));
    }
    let table = |(name, columns): (&String, &BTreeMap<String, &str>)| {
        let columns = columns.iter().filter(|(column, _)| *column != "id");
        let columns: Vec<String> = columns.map(|(column, ty)| format!(", {} {ty}", identifier(column))).collect();
        format!("CREATE TABLE {} (id bigint PRIMARY KEY{});", identifier(name), columns.concat())
    };
    let joins: BTreeSet<JoinId> = before.pairs.iter().map(|(join, ..)| *join).collect();
    let joins = joins.into_iter().map(|join| pairs(schema, join));
    Some(columns.iter().map(table).chain(joins).chain(keys).collect())
}

fn foreign_key(
    schema: &Schema<'_>,
    reference: ReferenceId,
    table: &str,
    column: &str,
    names: &BTreeSet<String>,
) -> Option<String> {
    let stored = &schema.references[reference.0];
    let [target] = stored.targets.as_slice() else { return None };
    let parent = table_name(schema, *target);
    let is_usual = schema.model.reference(reference).key.is_none() && schema.model.framework != Framework::Django;
    (is_usual && names.contains(&parent)).then_some(())?;
    let action = match stored.database? {
        OnDelete::NoAction => "NO ACTION",
        OnDelete::Restrict => "RESTRICT",
        OnDelete::Cascade => "CASCADE",
        OnDelete::SetNull => "SET NULL",
        OnDelete::SetDefault => "SET DEFAULT",
    };
    let (table, column, parent) = (identifier(table), identifier(column), identifier(&parent));
    Some(format!("ALTER TABLE {table} ADD FOREIGN KEY ({column}) REFERENCES {parent} (id) ON DELETE {action};"))
}

/// The table of a join, with the columns that Rails would give it.
fn pairs(schema: &Schema<'_>, join: JoinId) -> String {
    let declared = schema.model.join(join);
    let column = |class: ClassId| Inflections::default().foreign_key(&schema.model.class(class).name);
    let (left, right) = (column(declared.left), column(declared.right));
    let right = if left == right { format!("other_{right}") } else { right };
    let (left, right) = (identifier(&left), identifier(&right));
    format!("CREATE TABLE {} ({left} bigint, {right} bigint);", identifier(&declared.name))
}

/// Runs a statement to its end.
fn succeeds(database: &mut Database, session: SessionId, text: &str) -> bool {
    let Some(statement) = parse::script(text).ok().and_then(|mut statements| statements.pop()) else { return false };
    let Ok(prepared) = database.prepare_in(session, &statement, text, &[]) else { return false };
    if let Some(reply) = database.submit(session, &prepared, &[]) {
        return reply.is_ok();
    }
    for _ in 0..STEPS_MAX {
        if let Activity::Blocked(_) = database.activity(session) {
            return false;
        }
        if let Some(reply) = database.step(session).reply {
            return reply.is_ok();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::{Object, Semantics};
    use crate::model::{Class, DataModel};

    /// `User` without quotes is a reserved word, and a row that is there twice is refused.
    #[test]
    fn what_does_not_run_is_not_evidence() {
        let class = Class { name: "User".into(), table: Some("User".into()), ..Class::default() };
        let model = DataModel { classes: vec![class], ..DataModel::default() };
        let schema = Schema::new(&model, Semantics::Sql);
        let data = Instance { objects: vec![Object::new(ClassId(0))], ..Instance::default() };
        let run = |rows: &[&str]| {
            let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
            runs(&schema, &data, &rows, &[], None)
        };
        assert!(runs(&schema, &data, &data.to_sql(&schema), &[], None));
        assert!(!run(&["INSERT INTO User (id) VALUES (1);"]));
        assert!(!run(&["INSERT INTO \"User\" (id) VALUES (1);", "INSERT INTO \"User\" (id) VALUES (1);"]));
    }
}
