//! Which table a class is stored in, and what the database says about its columns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::config::Config;
use super::expand::Model;
use super::program::Program;
use super::ruby::{Kind, Node};
use crate::model::{ClassId, DataModel, Place, Reference, Remark, Required, Target, Uniqueness};
use crate::read::schema::{Schema, Table, UniqueKey};

/// `def self.table_name_prefix` of the innermost module around a class that has one.
pub(crate) fn prefix(program: &Program, name: &str) -> Option<String> {
    let mut outer = name;
    while let Some((front, _)) = outer.rsplit_once("::") {
        outer = front;
        let bodies = program.openings(outer).iter().flat_map(|opening| &opening.body);
        let mut found = bodies.rev().filter_map(|node| match &node.kind {
            Kind::Def(def) if def.on_self && def.name == "table_name_prefix" => def.body.last().and_then(Node::text),
            _ => None,
        });
        if let Some(prefix) = found.next() {
            return Some(prefix.to_owned());
        }
    }
    None
}

/// The table of a class that shares none: as it says, or as Rails would call it. If the schema has no such table, one
/// named after the class and its modules is looked for, as engines have them.
pub(crate) fn table_name(model: &Model, models: &BTreeMap<String, Model>, config: &Config, schema: &Schema) -> String {
    if let Some(table) = &model.table {
        return table.clone();
    }
    let inflections = &config.inflections;
    let prefix = model.table_prefix.as_deref().unwrap_or(&config.table_name_prefix);
    let outer =
        model.name.rsplit_once("::").and_then(|(outer, _)| models.get(outer)).filter(|outer| !outer.is_abstract);
    let contained = outer.map(|outer| {
        let table = outer.table.clone().unwrap_or_else(|| inflections.tableize(&outer.name));
        format!("{}_", inflections.singularize(&table))
    });
    let name = format!("{prefix}{}{}", contained.unwrap_or_default(), inflections.tableize(&model.name));
    let whole = inflections.tableize(&model.name.replace("::", ""));
    let known = |name: &str| schema.tables.contains_key(name);
    if !known(&name) && known(&whole) { whole } else { name }
}

/// Says about a reference what the database does.
pub(crate) fn constrain(reference: &mut Reference, table: Option<&Table>, type_column: Option<&str>) {
    let (Some(table), Some(column)) = (table, reference.column.clone()) else { return };
    if table.column(&column).is_some_and(|column| column.not_null) {
        reference.required = Required::NotNull;
    }
    reference.unique |= match type_column {
        Some(type_column) => table.is_unique(&[&column, type_column]),
        None => table.is_unique(&[&column]),
    };
    if let Some(key) = table.foreign_key(&column) {
        reference.on_delete = Some(key.on_delete);
    }
}

/// Adds references that only the database knows: foreign keys without an association.
pub(crate) fn add_foreign_keys(model: &mut DataModel, schema: &Schema, by_table: &BTreeMap<Arc<str>, ClassId>) {
    for (name, child) in by_table {
        let Some(table) = schema.tables.get(name) else { continue };
        for key in &table.foreign_keys {
            let [column] = key.columns.as_slice() else {
                let message = format!(
                    "the foreign key ({}) of {name} has several columns; it is not modelled",
                    key.columns.join(", ")
                );
                model.remarks.push(Remark { message, place: key.place.clone() });
                continue;
            };
            let is_it = |r: &Reference| r.column.as_ref() == Some(column) && (model.is_a(r.child, *child));
            let existing = model.references.iter().find(|r| is_it(r)).map(|r| r.target.clone());
            let Some(parent) = by_table.get(&key.parent).copied() else {
                let message = format!("{name}.{column} references {}, which no class is stored in", key.parent);
                model.remarks.push(Remark { message, place: key.place.clone() });
                continue;
            };
            match existing {
                Some(Target::Class(target)) if !model.is_a(target, parent) && !model.is_a(parent, target) => {
                    let (class, other) = (&model.class(target).name, &model.class(parent).name);
                    let message =
                        format!("{name}.{column} is declared to name {class}, and its foreign key names {other}");
                    model.remarks.push(Remark { message, place: key.place.clone() });
                }
                Some(_) => {}
                None => {
                    let name = column.strip_suffix("_id").unwrap_or(column);
                    let mut reference = Reference {
                        child: *child,
                        name: name.into(),
                        target: Target::Class(parent),
                        column: Some(column.clone()),
                        required: Required::No,
                        unique: false,
                        on_delete: None,
                        key: None,
                        place: key.place.clone(),
                    };
                    constrain(&mut reference, Some(table), None);
                    model.references.push(reference);
                }
            }
        }
    }
}

/// Adds what the unique indexes of a table say about its class.
pub(crate) fn add_unique_keys(model: &mut DataModel, schema: &Schema, by_table: &BTreeMap<Arc<str>, ClassId>) {
    for (name, class) in by_table {
        let Some(table) = schema.tables.get(name) else { continue };
        // That the primary key of Rails is unique is never in question.
        let says_something = |key: &&UniqueKey| !key.is_primary || key.columns.iter().any(|column| &**column != "id");
        for key in table.unique.iter().filter(says_something) {
            let filter = key.filter.clone();
            let said = Said { partial: key.partial, filter, folded: key.folded.clone(), is_open: false };
            add_unique(model, *class, &key.columns, said, Who::Database, &key.place);
        }
    }
}

/// What is said about a uniqueness besides its columns.
pub(crate) struct Said {
    pub partial: bool,
    /// Which objects are concerned, as SQL, if that is understood.
    pub filter: Option<Arc<str>>,
    pub folded: BTreeSet<Arc<str>>,
    pub is_open: bool,
}

/// Who checks that something is unique.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Who {
    Database,
    Orm,
}

/// Adds that columns are unique, or that somebody else checks it too.
pub(crate) fn add_unique(
    model: &mut DataModel,
    class: ClassId,
    columns: &[Arc<str>],
    said: Said,
    who: Who,
    place: &Place,
) {
    let (mut references, mut plain) = (Vec::new(), columns.to_vec());
    for (index, reference) in model.references.iter().enumerate() {
        let related = model.is_a(class, reference.child) || model.is_a(reference.child, class);
        let Some(column) = reference.column.as_ref().filter(|column| related && plain.contains(column)) else {
            continue;
        };
        let type_column = type_column(reference);
        if type_column.as_ref().is_some_and(|type_column| !plain.contains(type_column)) {
            continue;
        }
        plain.retain(|other| other != column && Some(other) != type_column.as_ref());
        references.push(crate::model::ReferenceId(index));
    }
    plain.sort();
    // What the database checks of fewer columns, of more objects, or whatever their case, it checks of these. A table's
    // indexes are those of every class that is stored in it.
    let table = model.class(class).table.clone();
    let implied = model.uniqueness.iter().any(|u| {
        let is_part =
            u.references.iter().all(|r| references.contains(r)) && u.columns.iter().all(|c| plain.contains(c));
        let covers = !u.partial || u.filter.is_some() && u.filter == said.filter;
        let compares = said.folded.is_subset(&u.folded);
        let here = model.is_a(class, u.class) || table.is_some() && model.class(u.class).table == table;
        u.enforced && is_part && covers && compares && here
    });
    let same = |u: &&mut Uniqueness| {
        let alike =
            (u.partial, &u.filter, &u.folded, u.is_open) == (said.partial, &said.filter, &said.folded, said.is_open);
        u.references == references && u.columns == plain && alike && u.class == class
    };
    let entry = match model.uniqueness.iter_mut().find(same) {
        Some(entry) => entry,
        None => {
            let (validated, enforced) = (false, implied);
            let place = place.clone();
            let Said { partial, filter, folded, is_open } = said;
            model.uniqueness.push(Uniqueness {
                class,
                references,
                columns: plain,
                partial,
                filter,
                folded,
                is_open,
                validated,
                enforced,
                place,
            });
            let Some(entry) = model.uniqueness.last_mut() else { return };
            entry
        }
    };
    match who {
        Who::Database => entry.enforced = true,
        Who::Orm => entry.validated = true,
    }
}

/// The column that says of which class the object is that a polymorphic reference names.
pub(crate) fn type_column(reference: &Reference) -> Option<Arc<str>> {
    match (&reference.target, &reference.column) {
        (Target::Any(_), Some(column)) => Some(format!("{}_type", column.strip_suffix("_id").unwrap_or(column)).into()),
        _ => None,
    }
}
