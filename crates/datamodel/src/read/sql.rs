//! SQL: `CREATE TABLE` and what changes it, as a dump or as migrations one after another, to a [`Schema`] and on to a
//! model.
//!
//! Without an ORM a table is a class and a foreign key a reference; the database's own rules are all there are.
//! Triggers run code, and are only reported.

use std::collections::BTreeSet;
use std::sync::Arc;

use isolde_sql::ast::{
    AlterAction, ColumnAction, ColumnConstraintKind, ColumnDef, CreateIndex, CreateTable, DropObject, Expr, ExprKind,
    Ident, IsTest, QualifiedName, References, ReferentialAction, StatementKind, TableConstraint, TableConstraintKind,
    TriggerEvent,
};
use isolde_sql::parse::{self, Fragment};

use super::schema::{ForeignKey, Schema, Table, UniqueKey};
use super::{File, Lines, NESTING_MAX, nesting};
use crate::model::{
    Association, Class, ClassId, DataModel, Framework, Kind, OnDelete, Path, Place, Reference, ReferenceId, Remark,
    Required, Target, Uniqueness,
};

/// Reads the tables of a database.
pub(crate) fn read(files: &[File]) -> DataModel {
    let files: Vec<&File> = files.iter().filter(|file| file.path.ends_with(".sql")).collect();
    model(schema(&files))
}

/// Runs definitions, in the order of the files.
pub(crate) fn schema(files: &[&File]) -> Schema {
    let mut schema = Schema::default();
    for file in files {
        let lines = Lines::of(&file.text);
        let text = without_data(&file.text);
        // MySQL quotes names in its own way, and PostgreSQL has no use for that sign.
        let text = text.replace('`', "\"");
        for span in parse::split(&text) {
            let mut reader = Reader { schema: &mut schema, place: file.at(lines.line(span.start as usize)) };
            reader.statement(Fragment { text: span.of(&text), offset: span.start });
        }
    }
    schema
}

/// Blanks psql's commands and the rows behind `COPY ... FROM stdin`, so that offsets stay what they are.
fn without_data(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_data = false;
    for line in text.split_inclusive('\n') {
        let is_command = line.starts_with('\\');
        if in_data || is_command {
            out.extend(line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
            in_data = in_data && !line.starts_with("\\.");
        } else {
            out.push_str(line);
            in_data = line.starts_with("COPY ") && line.trim_end().to_lowercase().ends_with("from stdin;");
        }
    }
    out
}

struct Reader<'a> {
    schema: &'a mut Schema,
    place: Place,
}

impl Reader<'_> {
    fn remark(&mut self, message: impl Into<String>) {
        self.schema.remarks.push(Remark { message: message.into(), place: self.place.clone() });
    }

    fn table(&mut self, name: &QualifiedName) -> &mut Table {
        self.schema.table_mut(&full_name(name), &self.place)
    }

    fn statement(&mut self, fragment: Fragment<'_>) {
        if !is_definition(fragment.text) {
            return;
        }
        if nesting(fragment.text) > NESTING_MAX {
            return self.remark("the statement is nested too deeply to be read");
        }
        if let Some(view) = view_name(fragment.text) {
            self.schema.views.insert(view);
            return;
        }
        match parse::statement(fragment) {
            Ok(statement) => self.define(statement.kind),
            Err(_) if self.piecemeal(fragment.text) => {}
            Err(error) if concerns_tables(fragment.text) => {
                self.remark(format!("the statement is not understood and left out: {error}"));
            }
            Err(_) => {}
        }
    }

    /// A table that is not understood as a whole (a type of an extension, partitions) is read column by column. Whether
    /// it could be.
    fn piecemeal(&mut self, text: &str) -> bool {
        let Some((head, elements)) = elements(text) else { return false };
        let is_table = first_words(head).iter().take(3).any(|word| word == "TABLE");
        if !is_table || parse::statement(whole(&format!("{head} ()"))).is_err() {
            return false;
        }
        if let Ok(statement) = parse::statement(whole(&format!("{head} ()"))) {
            self.define(statement.kind);
        }
        let table = head.split_whitespace().last().unwrap_or_default();
        for element in elements.into_iter().filter(|element| !is_plain_index(element)) {
            let tries = [element.to_owned(), in_plain_words(element)];
            let parsed = tries
                .iter()
                .find_map(|element| parse::statement(whole(&format!("CREATE TABLE {table} ({element})"))).ok());
            match parsed.map(|statement| statement.kind) {
                Some(StatementKind::CreateTable(table)) => self.create_table(*table),
                _ => self.remark(format!("a part of table {table} is not understood and left out: {element}")),
            }
        }
        true
    }

    fn define(&mut self, kind: StatementKind) {
        match kind {
            StatementKind::CreateTable(table) => self.create_table(*table),
            StatementKind::CreateTableAs(_) => self.remark("CREATE TABLE AS is not modelled"),
            StatementKind::CreateIndex(index) => self.create_index(*index),
            StatementKind::AlterTable(alter) => {
                let name = alter.table;
                alter.actions.into_iter().for_each(|action| self.alter(&name, action));
            }
            StatementKind::CreateTrigger(trigger) => {
                let deletes = trigger.events.iter().any(|event| matches!(event, TriggerEvent::Delete));
                let when = if deletes { "runs when rows are deleted and " } else { "" };
                self.remark(format!(
                    "trigger {} of {} {when}is not modelled",
                    trigger.name.name,
                    full_name(&trigger.table)
                ));
            }
            StatementKind::Drop(drop) => {
                for name in &drop.names {
                    let full = full_name(name);
                    match drop.object {
                        DropObject::Table => {
                            self.schema.tables.remove(full.as_str());
                        }
                        DropObject::Index => {
                            self.schema.tables.values_mut().for_each(|table| table.drop_named(&full));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn create_table(&mut self, definition: CreateTable) {
        if definition.if_not_exists && self.schema.tables.contains_key(full_name(&definition.name).as_str()) {
            return;
        }
        if !definition.likes.is_empty() {
            self.remark("LIKE in CREATE TABLE is not followed");
        }
        let name = definition.name;
        self.table(&name);
        definition.columns.iter().for_each(|column| self.column(&name, column));
        definition.constraints.into_iter().for_each(|constraint| self.constraint(&name, constraint));
    }

    fn column(&mut self, table: &QualifiedName, column: &ColumnDef) {
        let place = self.place.clone();
        let own = vec![column.name.name.clone()];
        self.table(table).add_column(&column.name.name, false);
        for constraint in &column.constraints {
            let name = constraint.name.as_ref().map(|name| name.name.clone());
            match &constraint.kind {
                ColumnConstraintKind::NotNull => self.table(table).set_not_null(&column.name.name, true),
                ColumnConstraintKind::PrimaryKey => self.unique(table, name, own.clone(), true),
                ColumnConstraintKind::Unique => self.unique(table, name, own.clone(), false),
                ColumnConstraintKind::References(to) => {
                    self.table(table).foreign_keys.push(foreign_key(name, own.clone(), to, place.clone()));
                }
                ColumnConstraintKind::Check(check) => self.check(table, check),
                _ => {}
            }
        }
    }

    fn unique(&mut self, table: &QualifiedName, name: Option<Arc<str>>, columns: Vec<Arc<str>>, is_primary: bool) {
        let place = self.place.clone();
        let table = self.table(table);
        if is_primary {
            columns.iter().for_each(|column| table.set_not_null(column, true));
        }
        table.unique.push(UniqueKey {
            name,
            columns,
            partial: false,
            filter: None,
            folded: BTreeSet::new(),
            is_primary,
            place,
        });
    }

    fn constraint(&mut self, table: &QualifiedName, constraint: TableConstraint) {
        let name = constraint.name.map(|name| name.name);
        match constraint.kind {
            TableConstraintKind::Check(check) => self.check(table, &check),
            TableConstraintKind::PrimaryKey(columns) => self.unique(table, name, names(&columns), true),
            // A constraint on an index that is there already says nothing new.
            TableConstraintKind::Unique(columns) if columns.is_empty() => {}
            TableConstraintKind::Unique(columns) => self.unique(table, name, names(&columns), false),
            TableConstraintKind::ForeignKey(columns, to) => {
                let key = foreign_key(name, names(&columns), &to, self.place.clone());
                self.table(table).foreign_keys.push(key);
            }
        }
    }

    /// `CHECK (x IS NOT NULL)` is as good as NOT NULL; other checks are about values.
    fn check(&mut self, table: &QualifiedName, check: &Expr) {
        match not_null_column(check) {
            Some(column) => self.table(table).set_not_null(&column, true),
            None => self.remark(format!("a check of {} is not modelled", full_name(table))),
        }
    }

    fn create_index(&mut self, index: CreateIndex) {
        if !index.unique {
            return;
        }
        let columns: Vec<Option<Arc<str>>> = index.keys.iter().map(index_column).collect();
        let folded = index.keys.iter().filter(|key| is_lower(key)).filter_map(index_column).collect();
        let of_expressions = columns.iter().any(Option::is_none);
        // Rows without a value are never twice, so leaving those out leaves nothing out.
        let leaves_out = |filter: &Expr| not_null_column(filter).is_none_or(|column| !columns.contains(&Some(column)));
        let partial = of_expressions || index.filter.as_ref().is_some_and(leaves_out);
        let key = UniqueKey {
            name: index.name.map(|name| name.name),
            columns: columns.into_iter().map(|column| column.unwrap_or_else(|| "(expression)".into())).collect(),
            partial,
            filter: None,
            folded,
            is_primary: false,
            place: self.place.clone(),
        };
        self.table(&index.table).unique.push(key);
    }

    fn alter(&mut self, name: &QualifiedName, action: AlterAction) {
        match action {
            AlterAction::AddColumn { def, .. } => self.column(name, &def),
            AlterAction::DropColumn { name: column, .. } => self.table(name).drop_column(&column.name),
            AlterAction::AlterColumn(column, ColumnAction::SetNotNull) => {
                self.table(name).set_not_null(&column.name, true)
            }
            AlterAction::AlterColumn(column, ColumnAction::DropNotNull) => {
                self.table(name).set_not_null(&column.name, false);
            }
            AlterAction::RenameColumn(from, to) => self.table(name).rename_column(&from.name, &to.name),
            AlterAction::AddConstraint(constraint) => self.constraint(name, constraint),
            AlterAction::DropConstraint { name: constraint, .. } => {
                let table = self.table(name);
                let unnamed = |key: &ForeignKey| format!("{}_{}_fkey", name.name.name, key.columns.join("_"));
                table.foreign_keys.retain(|key| key.name.is_some() || unnamed(key) != *constraint.name);
                table.drop_named(&constraint.name);
            }
            AlterAction::RenameTo(to) => self.schema.rename(&full_name(name), &to.name),
            AlterAction::SetSchema(schema) => {
                let to = if *schema.name == *"public" {
                    name.name.name.to_string()
                } else {
                    format!("{}.{}", schema.name, name.name.name)
                };
                self.schema.rename(&full_name(name), &to);
            }
            _ => {}
        }
    }
}

/// The model of a database alone.
fn model(schema: Schema) -> DataModel {
    let ids = |name: &str| schema.tables.keys().position(|table| **table == *name).map(ClassId);
    let mut model = DataModel { framework: Framework::Sql, ..DataModel::default() };
    for (name, table) in &schema.tables {
        model.classes.push(Class {
            name: name.clone(),
            parent: None,
            is_abstract: false,
            table: Some(name.clone()),
            soft_delete: false,
            place: table.place.clone(),
            ..Class::default()
        });
    }
    for (index, table) in schema.tables.values().enumerate() {
        for key in &table.foreign_keys {
            match ids(&key.parent) {
                Some(parent) => reference(&mut model, ClassId(index), table, key, parent),
                None => {
                    let message = format!("a foreign key references {}, which is not defined", key.parent);
                    model.remarks.push(Remark { message, place: key.place.clone() });
                }
            }
        }
    }
    for (index, table) in schema.tables.values().enumerate() {
        let class = ClassId(index);
        // A primary key of one column that is no reference says nothing about relations.
        for key in &table.unique {
            let (references, columns) = split_columns(&model, class, &key.columns);
            if !key.is_primary || !references.is_empty() || columns.len() > 1 {
                let (partial, place) = (key.partial, key.place.clone());
                model.uniqueness.push(Uniqueness {
                    class,
                    references,
                    columns,
                    partial,
                    validated: false,
                    filter: None,
                    folded: BTreeSet::new(),
                    is_open: false,
                    enforced: true,
                    place,
                });
            }
        }
    }
    model.remarks.extend(schema.remarks);
    model
}

fn reference(model: &mut DataModel, child: ClassId, table: &Table, key: &ForeignKey, parent: ClassId) {
    let columns: Vec<&str> = key.columns.iter().map(|column| &**column).collect();
    let column = columns.join(",");
    let name: Arc<str> = column.strip_suffix("_id").unwrap_or(&column).into();
    let not_null = columns.iter().all(|column| table.column(column).is_some_and(|column| column.not_null));
    let id = ReferenceId(model.references.len());
    model.references.push(Reference {
        child,
        name: name.clone(),
        target: Target::Class(parent),
        column: Some(column.into()),
        required: if not_null { Required::NotNull } else { Required::No },
        unique: table.is_unique(&columns),
        on_delete: Some(key.on_delete),
        key: None,
        place: key.place.clone(),
    });
    model.associations.push(Association {
        owner: child,
        name,
        kind: Kind::BelongsTo,
        target: Some(parent),
        path: Path::Own(id),
        condition: None,
        is_choice: false,
        on_delete: None,
        place: key.place.clone(),
    });
}

/// Which of these columns are references of a class, and which are not.
pub(crate) fn split_columns(
    model: &DataModel,
    class: ClassId,
    columns: &[Arc<str>],
) -> (Vec<ReferenceId>, Vec<Arc<str>>) {
    let (mut references, mut plain) = (Vec::new(), columns.to_vec());
    for (index, reference) in model.references.iter().enumerate().filter(|(_, r)| r.child == class) {
        let parts: Vec<&str> = reference.column.as_deref().unwrap_or_default().split(',').collect();
        if parts.iter().all(|part| plain.iter().any(|column| **column == **part)) {
            plain.retain(|column| !parts.contains(&&**column));
            references.push(ReferenceId(index));
        }
    }
    (references, plain)
}

fn full_name(name: &QualifiedName) -> String {
    match &name.schema {
        Some(schema) if *schema.name != *"public" => format!("{}.{}", schema.name, name.name.name),
        _ => name.name.name.to_string(),
    }
}

fn names(idents: &[Ident]) -> Vec<Arc<str>> {
    idents.iter().map(|ident| ident.name.clone()).collect()
}

fn foreign_key(name: Option<Arc<str>>, columns: Vec<Arc<str>>, to: &References, place: Place) -> ForeignKey {
    let on_delete = match to.on_delete {
        ReferentialAction::NoAction => OnDelete::NoAction,
        ReferentialAction::Restrict => OnDelete::Restrict,
        ReferentialAction::Cascade => OnDelete::Cascade,
        ReferentialAction::SetNull => OnDelete::SetNull,
        ReferentialAction::SetDefault => OnDelete::SetDefault,
    };
    ForeignKey { name, columns, parent: full_name(&to.table).into(), on_delete, place }
}

fn first_words(text: &str) -> Vec<String> {
    text.split_whitespace().take(4).map(str::to_uppercase).collect()
}

/// Whether a statement defines anything that is looked at here.
fn is_definition(text: &str) -> bool {
    matches!(first_words(text).first().map(String::as_str), Some("CREATE" | "ALTER" | "DROP"))
}

/// Whether a statement that was not understood would have been looked at.
fn concerns_tables(text: &str) -> bool {
    let words = first_words(text);
    ["TABLE", "TRIGGER", "UNIQUE"].iter().any(|word| words.iter().any(|w| w == word))
}

fn is_lower(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call(call) if *call.name.name.name == *"lower")
}

/// The name of `CREATE [OR REPLACE] [MATERIALIZED] VIEW name`, whatever the view shows.
fn view_name(text: &str) -> Option<Arc<str>> {
    const BEFORE: &[&str] = &["CREATE", "OR", "REPLACE", "MATERIALIZED", "RECURSIVE", "TEMPORARY"];
    const AFTER: &[&str] = &["IF", "NOT", "EXISTS"];
    let is_one_of = |words: &[&str], word: &str| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    let mut words = text.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty());
    let view = words.find(|word| !is_one_of(BEFORE, word))?;
    let name = words.find(|word| !is_one_of(AFTER, word))?;
    let name = name.replace('"', "");
    view.eq_ignore_ascii_case("VIEW").then(|| name.strip_prefix("public.").unwrap_or(&name).into())
}

/// The column that an expression is; `lower(column)` is as good, where it is to be unique.
fn index_column(expr: &Expr) -> Option<Arc<str>> {
    match &expr.kind {
        ExprKind::Call(call) if *call.name.name.name == *"lower" => match call.args.as_slice() {
            [arg] => index_column(arg),
            _ => None,
        },
        ExprKind::Cast(expr, _) => index_column(expr),
        _ => column_name(expr),
    }
}

/// The column that an expression is.
fn column_name(expr: &Expr) -> Option<Arc<str>> {
    match &expr.kind {
        ExprKind::Name(path) => path.last().map(|ident| ident.name.clone()),
        _ => None,
    }
}

/// The column of `x IS NOT NULL`.
fn not_null_column(check: &Expr) -> Option<Arc<str>> {
    match &check.kind {
        ExprKind::Is { expr, test: IsTest::Null, negated: true } => column_name(expr),
        _ => None,
    }
}

fn whole(text: &str) -> Fragment<'_> {
    Fragment { text, offset: 0 }
}

/// What stands before the first parenthesis, and the parts between the commas in it.
fn elements(text: &str) -> Option<(&str, Vec<&str>)> {
    let open = text.find('(')?;
    let (head, rest) = (text.get(..open)?.trim(), text.get(open + 1..)?);
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0, None);
    for (at, c) in rest.char_indices() {
        match (quote, c) {
            (Some(open), _) => quote = if c == open { None } else { quote },
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') if depth > 0 => depth -= 1,
            (None, ',' | ')') if depth == 0 => {
                parts.push(rest.get(start..at)?.trim());
                start = at + 1;
                if c == ')' {
                    break;
                }
            }
            _ => {}
        }
    }
    parts.retain(|part| !part.is_empty());
    Some((head, parts))
}

/// A part of a table in words that every dialect shares: a column is what it must be, whatever its type and default; a
/// key is what is unique.
fn in_plain_words(element: &str) -> String {
    // Without what is quoted: a comment may say anything.
    let element: String = element.split('\'').step_by(2).collect();
    let upper = element.to_ascii_uppercase();
    if let Some(open) = upper.strip_prefix("UNIQUE KEY").and_then(|_| element.find('(')) {
        return format!("UNIQUE {}", element.get(open..).unwrap_or_default());
    }
    let name = element.split_whitespace().next().unwrap_or("_");
    let word = |text: &'static str| if upper.contains(text) { text } else { "" };
    let references = upper.find(" REFERENCES ").and_then(|at| element.get(at..)).unwrap_or_default();
    format!("{name} text {} {} {} {references}", word("NOT NULL"), word("PRIMARY KEY"), word(" UNIQUE"))
}

/// Whether a part of a table is an index that makes nothing unique.
fn is_plain_index(element: &str) -> bool {
    let words = first_words(element);
    matches!(words.first().map(String::as_str), Some("KEY" | "INDEX" | "FULLTEXT" | "SPATIAL"))
}
