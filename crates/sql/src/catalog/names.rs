//! Names: how tables, views and sequences are found.
//!
//! A thing in schema `public` has its name for a key, any other has `schema.name`; so the keys of one schema are
//! distinct from those of another, and what most programs use costs nothing. A name without a schema is looked for
//! along the search path.

use std::sync::Arc;

use super::{Catalog, Sequence, Table, View};

/// The key of a name in a schema.
pub fn key(schema: Option<&str>, name: &str) -> Arc<str> {
    match schema {
        None | Some("public") => name.into(),
        Some(schema) => format!("{schema}.{name}").into(),
    }
}

impl Table {
    /// Its key among relations.
    pub fn key(&self) -> Arc<str> {
        key(self.schema.as_deref(), &self.name)
    }
}

impl View {
    /// Its key among relations.
    pub fn key(&self) -> Arc<str> {
        key(self.schema.as_deref(), &self.name)
    }
}

impl Catalog {
    /// The table with this name in a schema, or on the search path.
    pub fn find_table(&self, schema: Option<&str>, name: &str) -> Option<&Arc<Table>> {
        let id = self.along_path(schema, name, |key| self.table_names.get(key))?;
        Some(self.table(*id))
    }

    /// The view with this name in a schema, or on the search path.
    pub fn find_view(&self, schema: Option<&str>, name: &str) -> Option<&Arc<View>> {
        self.along_path(schema, name, |key| self.views.get(key))
    }

    /// The sequence with this name in a schema, or on the search path.
    pub fn find_sequence(&self, schema: Option<&str>, name: &str) -> Option<&Arc<Sequence>> {
        self.along_path(schema, name, |key| self.sequences.get(key))
    }

    /// The sequence that a text names, as `nextval` takes it: `s`, `schema.s`, `"S"`.
    pub fn sequence_by_text(&self, text: &str) -> Option<&Arc<Sequence>> {
        let (schema, name) = split_name(text);
        self.find_sequence(schema.as_deref(), &name)
    }

    /// The sequence with this name in the first of some schemas that has one.
    pub fn sequence_in(&self, schemas: &[Arc<str>], name: &str) -> Option<&Arc<Sequence>> {
        schemas.iter().find_map(|schema| self.sequences.get(&*key(Some(schema), name)))
    }

    fn along_path<T>(&self, schema: Option<&str>, name: &str, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        match schema {
            Some("pg_temp") | None if self.search_path.is_empty() => find(name),
            None => self.search_path.iter().find_map(|schema| find(&key(Some(schema), name))),
            Some(schema) => find(&key(Some(schema), name)),
        }
    }

    /// Whether a relation has this key.
    pub fn is_relation(&self, key: &str) -> bool {
        let index = |t: &Table| t.indexes.iter().any(|i| *super::names::key(t.schema.as_deref(), &i.name) == *key);
        self.table_names.contains_key(key)
            || self.views.contains_key(key)
            || self.sequences.contains_key(key)
            || self.tables().any(|t| index(t))
    }

    /// The schema in which new things are made: the first of the search path; `None` is `public`.
    pub fn creation_schema(&self) -> Option<Arc<str>> {
        self.search_path.first().filter(|schema| ***schema != *"public").cloned()
    }

    /// Whether there is such a schema.
    pub fn has_schema(&self, name: &str) -> bool {
        matches!(name, "public" | "pg_catalog" | "information_schema" | "pg_temp") || self.schemas.contains(name)
    }

    /// The schemas besides `public`.
    pub fn schemas(&self) -> impl Iterator<Item = &Arc<str>> {
        self.schemas.iter()
    }

    /// Adds a schema.
    pub fn add_schema(&mut self, name: Arc<str>) {
        self.schemas.insert(name);
    }

    /// Drops a schema, which is empty.
    pub fn drop_schema(&mut self, name: &str) {
        self.schemas.remove(name);
    }

    /// Where names without a schema are looked for; nowhere said is `public`.
    pub fn set_search_path(&mut self, path: Vec<Arc<str>>) {
        let usual = matches!(&path[..], [only] if **only == *"public");
        self.search_path = if usual { Vec::new() } else { path };
    }

    /// Whether what is in a schema is found without naming it; `None` is `public`.
    pub fn is_on_path(&self, schema: Option<&str>) -> bool {
        match self.search_path.is_empty() {
            true => schema.is_none(),
            false => self.search_path.iter().any(|on_path| **on_path == *schema.unwrap_or("public")),
        }
    }

    /// Where names without a schema are looked for; nothing stands for `public`.
    pub fn search_path(&self) -> &[Arc<str>] {
        &self.search_path
    }

    /// Whether bodies of functions are looked at when they are defined.
    pub fn checks_bodies(&self) -> bool {
        !self.unchecked_bodies
    }

    /// Bodies of functions are not looked at before they are called.
    pub fn leave_bodies_unchecked(&mut self) {
        self.unchecked_bodies = true;
    }

    /// All views, by key.
    pub fn views(&self) -> impl Iterator<Item = &Arc<View>> {
        self.views.values()
    }

    /// The view with this key.
    pub fn view(&self, key: &str) -> Option<&Arc<View>> {
        self.views.get(key)
    }

    /// Adds a view, or puts it in place of the one with its name.
    pub fn add_view(&mut self, view: View) {
        if let Some(stand_in) = view.stand_in {
            self.alter_table(stand_in, |table| table.stand_for(&view));
        }
        self.views.insert(view.key(), Arc::new(view));
    }

    /// Drops a view.
    pub fn drop_view(&mut self, key: &str) {
        self.views.remove(key);
    }

    /// Gives a sequence another key.
    pub fn rename_sequence(&mut self, from: &str, to: &Arc<str>) {
        if let Some(sequence) = self.sequences.remove(from) {
            self.sequences.insert(to.clone(), Arc::new(Sequence { name: to.clone(), ..(*sequence).clone() }));
        }
    }
}

/// `schema.name`, either of them perhaps quoted, folded as PostgreSQL folds names.
pub fn split_name(text: &str) -> (Option<String>, String) {
    let (mut parts, mut part, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                part.push('"');
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(std::mem::take(&mut part)),
            c if quoted => part.push(c),
            c => part.extend(c.to_lowercase()),
        }
    }
    (parts.pop(), part)
}

/// A text that names the thing with this key wherever it is read, whatever the search path.
pub fn text_of_key(key: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_plain = key.chars().all(plain) && !key.starts_with(|c: char| c.is_ascii_digit());
    match key.contains('.') {
        // It names its schema.
        true => key.to_string(),
        false if is_plain => format!("public.{key}"),
        false => format!("public.\"{}\"", key.replace('"', "\"\"")),
    }
}

/// Whether a text names the thing with this key.
pub fn is_named(text: &str, thing: &str) -> bool {
    let (schema, name) = split_name(text);
    *text == *thing || *key(schema.as_deref(), &name) == *thing
}
