//! `db/schema.rb`, or migrations one after another: the same language, run on a [`Schema`].

use std::collections::BTreeSet;
use std::sync::Arc;

use super::meaning;
use super::ruby::{self, Call, Kind, Node};
use crate::model::{OnDelete, Place, Remark};
use crate::read::File;
use crate::read::inflect::Inflections;
use crate::read::schema::{ForeignKey, Schema, Table, UniqueKey};

/// Reads `db/schema.rb`, or what is left of a table after all migrations.
pub(crate) fn read(files: &[&File], inflections: &Inflections) -> Schema {
    let mut reader = Reader { schema: Schema::default(), inflections, file: None };
    for file in files {
        let parsed = ruby::parse(&file.text);
        if let Some((line, message)) = parsed.error {
            let message = format!("Ruby syntax error: {message}; what could be read of the file is used");
            reader.schema.remarks.push(Remark { message, place: file.at(line) });
        }
        reader.file = Some(file);
        parsed.body.iter().for_each(|node| reader.statement(node));
    }
    reader.schema
}

struct Reader<'a> {
    schema: Schema,
    inflections: &'a Inflections,
    file: Option<&'a File>,
}

impl Reader<'_> {
    fn statement(&mut self, node: &Node) {
        match &node.kind {
            Kind::Call(call) => self.call(call, node.line),
            Kind::Class(_, _, body) | Kind::Module(_, body) | Kind::Branches(body) => {
                body.iter().for_each(|node| self.statement(node));
            }
            Kind::Def(def) if def.name != "down" => def.body.iter().for_each(|node| self.statement(node)),
            _ => {}
        }
    }

    fn place(&self, line: u32) -> Place {
        self.file.map(|file| file.at(line)).unwrap_or_default()
    }

    fn remark(&mut self, message: impl Into<String>, line: u32) {
        let place = self.place(line);
        self.schema.remarks.push(Remark { message: message.into(), place });
    }

    fn call(&mut self, call: &Call, line: u32) {
        let place = self.place(line);
        let inflections = self.inflections;
        let first = call.text_at(0);
        match (call.name.as_str(), first) {
            ("create_table", Some(name)) => self.create_table(call, name, line),
            ("create_join_table", Some(left)) => {
                let right = call.text_at(1).unwrap_or_default();
                let name = join_table_name(&inflections.pluralize(left), &inflections.pluralize(right));
                let name = call.option("table_name").and_then(Node::text).map_or(name, str::to_owned);
                let table = self.schema.table_mut(&name, &place);
                table.add_column(&format!("{}_id", inflections.singularize(left)), true);
                table.add_column(&format!("{}_id", inflections.singularize(right)), true);
                self.columns(call, &name);
            }
            ("change_table", Some(name)) => self.columns(call, name),
            ("drop_table" | "drop_join_table", Some(name)) => {
                self.schema.tables.remove(name);
            }
            ("rename_table", Some(name)) => self.schema.rename(name, call.text_at(1).unwrap_or(name)),
            ("execute", Some(sql)) => {
                let upper = sql.to_uppercase();
                if ["ALTER ", "CREATE ", "DROP ", "REFERENCES", "TRIGGER"].iter().any(|word| upper.contains(word)) {
                    self.remark("SQL in a migration is not followed", line);
                }
            }
            ("create_view" | "create_materialized_view", Some(name)) => {
                self.schema.views.insert(name.into());
            }
            ("drop_view" | "drop_materialized_view", Some(name)) => {
                self.schema.views.remove(name);
            }
            ("create_trigger", _) => self.remark("a trigger is not modelled", line),
            ("down" | "remove_table", _) => {}
            (name, Some(table)) if is_about_table(name) => {
                let Some((_, args)) = call.args.split_first() else { return };
                let short = Call { receiver: None, name: name.to_owned(), args: args.to_vec(), block: None };
                let table = table.to_owned();
                self.on_table(&table, &short, line);
            }
            _ => {
                for node in call.block.iter().flat_map(|block| &block.body) {
                    self.statement(node);
                }
            }
        }
    }

    fn create_table(&mut self, call: &Call, name: &str, line: u32) {
        let place = self.place(line);
        let table = self.schema.table_mut(name, &place);
        let key = call.option("primary_key").map(Node::texts).unwrap_or_default();
        let has_id = !matches!(call.option("id").map(|node| &node.kind), Some(Kind::False));
        let columns: Vec<&str> = if key.is_empty() { vec!["id"] } else { key };
        if has_id || call.option("primary_key").is_some() {
            columns.iter().for_each(|column| table.add_column(column, true));
            let columns = columns.into_iter().map(Into::into).collect();
            table.unique.push(UniqueKey {
                name: None,
                columns,
                partial: false,
                filter: None,
                folded: BTreeSet::new(),
                is_primary: true,
                place,
            });
        }
        self.columns(call, name);
        // MySQL: texts are equal whatever their case, unless the collation says otherwise.
        let collation = call.option("collation").and_then(Node::text).unwrap_or("_ci");
        let is_mysql = ["charset", "collation"].iter().any(|option| call.option(option).is_some());
        if let Some(table) = self.schema.tables.get_mut(name).filter(|_| is_mysql && collation.ends_with("_ci")) {
            table.unique.iter_mut().for_each(|key| key.folded = key.columns.iter().cloned().collect());
        }
    }

    fn columns(&mut self, call: &Call, table: &str) {
        let Some(block) = &call.block else { return };
        for node in &block.body {
            if let Some(inner) = node.as_call().filter(|inner| inner.receiver.is_some()) {
                self.on_table(table, inner, node.line);
            }
        }
    }

    /// `t.bigint "user_id"`, or `add_column "posts", "user_id", :bigint` without its first argument.
    fn on_table(&mut self, name: &str, call: &Call, line: u32) {
        let place = self.place(line);
        let not_null = matches!(call.option("null").map(|node| &node.kind), Some(Kind::False));
        let inflections = self.inflections;
        let table = self.schema.table_mut(name, &place);
        match call.name.as_str() {
            "index" | "add_index" | "unique_constraint" | "add_unique_constraint" => add_index(table, call, place),
            "references" | "belongs_to" | "add_reference" | "add_belongs_to" => {
                add_reference(table, call, not_null, inflections, &place);
            }
            "foreign_key" | "add_foreign_key" => {
                let Some(parent) = call.text_at(0) else { return };
                let default = format!("{}_id", inflections.singularize(parent));
                let columns = call.option("column").map(Node::texts).filter(|list| !list.is_empty());
                let columns = columns.unwrap_or_else(|| vec![&default]).into_iter().map(Into::into).collect();
                let name = call.option("name").and_then(Node::text).map(Into::into);
                let on_delete = action(call.option("on_delete"));
                table.foreign_keys.push(ForeignKey { name, columns, parent: parent.into(), on_delete, place });
            }
            "check_constraint" | "add_check_constraint" => {
                let Some(text) = call.text_at(0) else { return };
                match text.trim_matches(['(', ')']).to_uppercase().strip_suffix(" IS NOT NULL") {
                    Some(column) if !column.contains(' ') => table.set_not_null(&column.to_lowercase(), true),
                    _ => self.remark(format!("the check `{text}` is not modelled"), line),
                }
            }
            "add_column" | "column" => {
                call.text_at(0).into_iter().for_each(|column| table.add_column(column, not_null));
            }
            "change_column" | "change" => {
                if let (Some(column), Some(_)) = (call.text_at(0), call.option("null")) {
                    table.set_not_null(column, not_null);
                }
            }
            "change_column_null" | "change_null" => {
                if let Some(column) = call.text_at(0) {
                    table.set_not_null(column, call.args.get(1).is_some_and(|arg| arg.kind == Kind::False));
                }
            }
            "rename_column" | "rename" => {
                if let (Some(from), Some(to)) = (call.text_at(0), call.text_at(1)) {
                    table.rename_column(from, to);
                }
            }
            "remove_column" | "remove" => call.text_at(0).into_iter().for_each(|column| table.drop_column(column)),
            "remove_columns" => call.args.iter().filter_map(Node::text).for_each(|column| table.drop_column(column)),
            "remove_reference" | "remove_belongs_to" | "remove_references" => {
                if let Some(reference) = call.text_at(0) {
                    table.drop_column(&format!("{reference}_id"));
                    table.drop_column(&format!("{reference}_type"));
                }
            }
            "remove_index" | "remove_foreign_key" => remove(table, call),
            "timestamps" | "exclusion_constraint" | "comment" => {}
            _ => {
                let names = call.args.iter().filter_map(Node::text);
                names.for_each(|column| table.add_column(column, not_null));
                if call.name == "citext" {
                    let names = call.args.iter().filter_map(Node::text);
                    table.folding.extend(names.map(Arc::<str>::from));
                }
            }
        }
    }
}

fn is_about_table(name: &str) -> bool {
    (name.starts_with("add_") || name.starts_with("remove_") || name.starts_with("change_") || name == "rename_column")
        && !["add_extension", "remove_extension", "change_table"].contains(&name)
}

fn add_index(table: &mut Table, call: &Call, place: Place) {
    let is_unique = call.name.contains("unique") || call.option("unique").is_some_and(|node| node.kind == Kind::True);
    let columns = call.args.first().map(Node::texts).unwrap_or_default();
    if !is_unique || columns.is_empty() {
        return;
    }
    let is_folding = |column: &Arc<str>| table.folding.contains(column);
    let lower = columns.iter().filter(|text| text.contains("lower(")).flat_map(|text| lower_columns(text));
    let mut folded: BTreeSet<Arc<str>> = lower.collect();
    let columns: Vec<Arc<str>> = columns.into_iter().flat_map(index_columns).collect();
    folded.extend(columns.iter().filter(|column| is_folding(column)).cloned());
    let is_expression = columns.iter().any(|column| column.contains('('));
    let filter = call.option("where").map(|node| node.text().unwrap_or_default());
    table.unique.push(UniqueKey {
        name: call.option("name").and_then(Node::text).map(Into::into),
        partial: is_expression || filter.is_some_and(|filter| leaves_out(filter, &columns)),
        filter: filter.filter(|_| !is_expression).and_then(meaning::of_sql).map(|facts| meaning::to_sql(&facts).into()),
        folded,
        columns,
        is_primary: false,
        place,
    });
}

/// The columns of an index given as text: `lower((email)::text), shop_id`. What is unique whatever its case is unique;
/// other expressions stay as they are, and say nothing about a column.
fn index_columns(text: &str) -> Vec<Arc<str>> {
    if !text.contains('(') {
        return vec![text.into()];
    }
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let part = |part: &str| -> Arc<str> {
        let part = part.trim();
        let inner = part.strip_prefix("lower(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(part);
        let name = inner.split("::").next().unwrap_or(inner).trim_matches(['(', ')', '"', ' ']);
        if is_name(name) { name.into() } else { part.into() }
    };
    let is_whole = |part: &str| part.matches('(').count() == part.matches(')').count();
    if text.split(',').all(is_whole) { text.split(',').map(part).collect() } else { vec![text.into()] }
}

/// The columns of `lower(...)` in an index given as text.
fn lower_columns(text: &str) -> Vec<Arc<str>> {
    let parts = text.split(',').filter(|part| part.trim().starts_with("lower("));
    parts.flat_map(index_columns).collect()
}

/// Whether an index of these columns leaves rows out that could be twice: those without a value never are.
fn leaves_out(filter: &str, columns: &[Arc<str>]) -> bool {
    let filter = filter.trim_matches(['(', ')', ' ']);
    let column = filter.strip_suffix(" IS NOT NULL").or_else(|| filter.strip_suffix(" is not null"));
    !column.is_some_and(|column| columns.iter().any(|own| **own == *column.trim_matches(['(', ')', '"'])))
}

fn add_reference(table: &mut Table, call: &Call, not_null: bool, inflections: &Inflections, place: &Place) {
    for name in call.args.iter().filter_map(Node::text) {
        let column = format!("{name}_id");
        table.add_column(&column, not_null);
        if call.option("polymorphic").is_some_and(|node| node.kind != Kind::False) {
            table.add_column(&format!("{name}_type"), not_null);
        }
        let of = |node: Option<&Node>, key: &str| -> Option<Node> {
            node?.pairs().iter().find(|(k, _)| k.text() == Some(key)).map(|(_, value)| value.clone())
        };
        let key = call.option("foreign_key").filter(|node| !matches!(node.kind, Kind::False | Kind::Nil));
        if key.is_some() {
            let parent = of(key, "to_table").and_then(|node| node.text().map(str::to_owned));
            let parent = parent.unwrap_or_else(|| inflections.pluralize(name));
            let on_delete = action(of(key, "on_delete").as_ref());
            let columns = vec![column.as_str().into()];
            let key = ForeignKey { name: None, columns, parent: parent.into(), on_delete, place: place.clone() };
            table.foreign_keys.push(key);
        }
        if of(call.option("index"), "unique").is_some_and(|node| node.kind == Kind::True) {
            let columns = vec![column.as_str().into()];
            let partial = of(call.option("index"), "where").is_some();
            table.unique.push(UniqueKey {
                name: None,
                columns,
                partial,
                filter: None,
                folded: BTreeSet::new(),
                is_primary: false,
                place: place.clone(),
            });
        }
    }
}

/// `remove_index :posts, :user_id`, `remove_foreign_key :posts, :users`, `..., column: :author_id`, `..., name: "fk"`
fn remove(table: &mut Table, call: &Call) {
    if let Some(name) = call.option("name").and_then(Node::text) {
        return table.drop_named(name);
    }
    let columns = call.option("column").map(Node::texts).unwrap_or_default();
    if call.name == "remove_foreign_key" {
        let parent = call.text_at(0);
        table.foreign_keys.retain(|key| match parent {
            Some(parent) if columns.is_empty() => *key.parent != *parent,
            _ => !crate::read::schema::same_set(&key.columns, &columns),
        });
    } else {
        let columns = if columns.is_empty() { call.args.first().map(Node::texts).unwrap_or_default() } else { columns };
        table.unique.retain(|key| key.is_primary || !crate::read::schema::same_set(&key.columns, &columns));
    }
}

fn action(node: Option<&Node>) -> OnDelete {
    match node.and_then(Node::text) {
        Some("cascade") => OnDelete::Cascade,
        Some("nullify") => OnDelete::SetNull,
        Some("restrict") => OnDelete::Restrict,
        _ => OnDelete::NoAction,
    }
}

/// The table of a `has_and_belongs_to_many`: both names in order, a common prefix written once.
pub(crate) fn join_table_name(left: &str, right: &str) -> String {
    let (first, second) = if left <= right { (left, right) } else { (right, left) };
    let prefixes = first.rmatch_indices(['_', '.']).filter_map(|(at, _)| first.get(..=at));
    match prefixes.filter_map(|prefix| second.strip_prefix(prefix)).find(|rest| !rest.is_empty()) {
        Some(rest) => format!("{first}_{rest}"),
        None => format!("{first}_{second}"),
    }
}
