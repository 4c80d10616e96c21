//! The text of a Prisma schema: blocks of fields with attributes. A line is a field, unless a parenthesis is still
//! open.

use std::collections::BTreeSet;

use crate::model::{Place, Remark};
use crate::read::File;

/// A field does not go over more lines than this.
const LINES_MAX: u32 = 100;

/// What schemas say, put together.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub models: Vec<Model>,
    /// Enums, composite types, and views: nothing to relate to.
    pub values: BTreeSet<String>,
    /// `relationMode = "prisma"`
    pub is_emulated: bool,
    pub remarks: Vec<Remark>,
}

/// `model Name { ... }`
#[derive(Debug)]
pub(crate) struct Model {
    pub name: String,
    pub fields: Vec<Field>,
    pub attributes: Vec<Attribute>,
    pub place: Place,
}

/// `author User? @relation(fields: [authorId], references: [id])`
#[derive(Debug)]
pub(crate) struct Field {
    pub name: String,
    pub ty: String,
    pub is_optional: bool,
    pub is_list: bool,
    pub attributes: Vec<Attribute>,
    pub place: Place,
}

/// `@unique`, `@@id([a, b])`, without its signs.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub name: String,
    /// With their names, where given.
    pub args: Vec<(Option<String>, String)>,
}

impl Attribute {
    /// An argument by its name.
    pub(crate) fn named(&self, name: &str) -> Option<String> {
        self.args.iter().find(|(key, _)| key.as_deref() == Some(name)).map(|(_, value)| value.clone())
    }

    /// A string by its place or name.
    pub(crate) fn text(&self, index: usize, name: &str) -> Option<String> {
        let by_place = || self.args.get(index).filter(|(key, _)| key.is_none()).map(|(_, value)| value.clone());
        let value = self.named(name).or_else(by_place)?;
        value.starts_with('"').then(|| value.trim_matches('"').to_owned())
    }

    /// The names in a list by its name, or in the first argument; options of an index (`a(sort: Desc)`) are dropped.
    fn list(&self, name: &str) -> Vec<String> {
        let by_place =
            || self.args.iter().find(|(key, value)| key.is_none() && value.starts_with('[')).map(|(_, v)| v.clone());
        let Some(value) = self.named(name).or_else(by_place) else { return Vec::new() };
        let inner = value.trim_start_matches('[').trim_end_matches(']');
        let names = split(inner).into_iter().map(|part| part.split('(').next().unwrap_or_default().trim().to_owned());
        names.filter(|name| !name.is_empty()).collect()
    }
}

impl Field {
    /// The attribute of this name.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// The columns that a relation is stored in, if it is stored here.
    pub(crate) fn columns(&self) -> Vec<String> {
        self.attribute("relation").filter(|r| r.named("fields").is_some()).map(|r| r.list("fields")).unwrap_or_default()
    }

    /// The name of the relation, if it has one.
    pub(crate) fn relation_name(&self) -> Option<String> {
        self.attribute("relation")?.text(0, "name")
    }
}

impl Model {
    /// The attribute of this name.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Fields, or lists of fields, that are unique.
    fn all_keys(&self) -> Vec<(Vec<String>, bool)> {
        let single = self.fields.iter().filter_map(|field| {
            let key = field.attributes.iter().find(|a| a.name == "id" || a.name == "unique")?;
            Some((vec![field.name.clone()], key.name == "id"))
        });
        let several = self.attributes.iter().filter(|a| a.name == "id" || a.name == "unique");
        single.chain(several.map(|a| (a.list("fields"), a.name == "id"))).filter(|(key, _)| !key.is_empty()).collect()
    }

    /// What is unique.
    pub(crate) fn keys(&self) -> Vec<Vec<String>> {
        self.all_keys().into_iter().map(|(key, _)| key).collect()
    }

    /// Which of [`keys`](Self::keys) are identifiers.
    pub(crate) fn keys_are_ids(&self) -> Vec<bool> {
        self.all_keys().into_iter().map(|(_, is_id)| is_id).collect()
    }
}

/// Reads a file.
pub(crate) fn parse(file: &File, parsed: &mut Parsed) {
    let mut block: Option<(String, Model)> = None;
    let mut pending = String::new();
    let mut pending_line = 0;
    for (index, line) in file.text.lines().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let line = without_comment(line);
        if pending.is_empty() {
            pending_line = number;
        }
        pending.push_str(line.trim());
        pending.push(' ');
        if open_parentheses(&pending) > 0 && number - pending_line < LINES_MAX && pending.len() < 1 << 16 {
            continue;
        }
        let text = std::mem::take(&mut pending);
        let text = text.trim();
        let place = file.at(pending_line);
        match &mut block {
            None if one_line(text).is_some() => {
                let (head, body) = one_line(text).unwrap_or_default();
                let mut inner = open(head, &place, parsed);
                if let Some((kind, model)) = &mut inner {
                    body.iter().for_each(|text| entry(kind, model, text, &place, parsed));
                }
                close(inner, parsed);
            }
            None => block = open(text, &place, parsed),
            Some((kind, model)) => {
                let (inner, closes) = match text.strip_suffix('}') {
                    Some(inner) if !inner.ends_with('{') => (inner.trim(), true),
                    _ => (text, false),
                };
                entry(kind, model, inner, &place, parsed);
                if closes {
                    close(block.take(), parsed);
                }
            }
        }
    }
    if let Some((_, model)) = &block {
        let message = format!("the block {} has no end", model.name);
        parsed.remarks.push(Remark { message, place: model.place.clone() });
    }
    close(block, parsed);
}

/// A block on one line, `datasource db { provider = "mysql" relationMode = "prisma" }`: its head and its settings. A
/// model with several fields on one line is not valid.
fn one_line(text: &str) -> Option<(&str, Vec<String>)> {
    let brace = text.find('{')?;
    let (head, rest) = text.split_at_checked(brace + 1)?;
    let body = rest.trim().strip_suffix('}')?.trim();
    if !head.starts_with("datasource") && !head.starts_with("generator") {
        return None;
    }
    let mut settings: Vec<String> = Vec::new();
    let words: Vec<&str> = body.split_whitespace().collect();
    for (index, word) in words.iter().enumerate() {
        match settings.last_mut() {
            Some(last) if words.get(index + 1) != Some(&"=") => *last += word,
            _ => settings.push((*word).to_owned()),
        }
    }
    Some((head, settings))
}

/// `model Name {`
fn open(text: &str, place: &Place, parsed: &mut Parsed) -> Option<(String, Model)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        [] => None,
        [kind, name, brace] if brace.starts_with('{') => {
            let model =
                Model { name: (*name).to_owned(), fields: Vec::new(), attributes: Vec::new(), place: place.clone() };
            let block = ((*kind).to_owned(), model);
            if brace.ends_with('}') {
                close(Some(block), parsed);
                return None;
            }
            Some(block)
        }
        _ => {
            parsed.remarks.push(Remark { message: "the line is not understood".to_owned(), place: place.clone() });
            None
        }
    }
}

fn close(block: Option<(String, Model)>, parsed: &mut Parsed) {
    match block {
        Some((kind, model)) if kind == "model" => parsed.models.push(model),
        Some((kind, model)) if ["enum", "type", "view"].contains(&kind.as_str()) => {
            parsed.values.insert(model.name);
        }
        _ => {}
    }
}

/// A line inside a block.
fn entry(kind: &str, model: &mut Model, text: &str, place: &Place, parsed: &mut Parsed) {
    if text.is_empty() {
        return;
    }
    if kind == "datasource" {
        let compact: String = text.split_whitespace().collect();
        parsed.is_emulated |= compact == "relationMode=\"prisma\"" || compact == "referentialIntegrity=\"prisma\"";
    }
    if kind != "model" {
        return;
    }
    if let Some(rest) = text.strip_prefix("@@") {
        model.attributes.extend(attributes(&format!("@{rest}")));
        return;
    }
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim_start();
    let end = rest.find(|c: char| c.is_whitespace() || c == '@').unwrap_or(rest.len());
    let (ty, rest) = rest.split_at(end);
    if ty.is_empty() {
        parsed.remarks.push(Remark { message: format!("the field {name} has no type"), place: place.clone() });
        return;
    }
    let is_list = ty.ends_with("[]");
    let is_optional = ty.ends_with('?');
    let ty = ty.trim_end_matches("[]").trim_end_matches('?');
    let ty = ty.split('(').next().unwrap_or(ty).to_owned();
    let attributes = attributes(rest);
    model.fields.push(Field { name: name.to_owned(), ty, is_optional, is_list, attributes, place: place.clone() });
}

/// `@id @default(autoincrement()) @db.Text`
fn attributes(text: &str) -> Vec<Attribute> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('@') {
        let end = after.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let (inner, after) = match after.strip_prefix('(') {
            Some(inner) => inner.split_at(closing(inner)),
            None => ("", after),
        };
        let arg = |part: String| match part.split_once(':') {
            Some((key, value)) if key.trim().chars().all(|c| c.is_alphanumeric() || c == '_') => {
                (Some(key.trim().to_owned()), value.trim().to_owned())
            }
            _ => (None, part),
        };
        found.push(Attribute { name: name.to_owned(), args: split(inner).into_iter().map(arg).collect() });
        rest = after;
    }
    found
}

/// Every character with how many brackets are open behind it and whether it stands in a string.
fn scan(text: &str) -> impl Iterator<Item = (usize, char, i32, bool)> {
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    text.char_indices().map(move |(at, c)| {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '(' | '[' if !in_string => depth += 1,
            ')' | ']' if !in_string => depth -= 1,
            _ => {}
        }
        (at, c, depth, in_string)
    })
}

/// Where the bracket closes that was opened before this text.
fn closing(text: &str) -> usize {
    scan(text).find(|(_, _, depth, _)| *depth < 0).map_or(text.len(), |(at, ..)| at)
}

/// The parts between commas outside brackets and strings, trimmed.
fn split(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, c, depth, in_string) in scan(text) {
        if c == ',' && depth == 0 && !in_string {
            parts.push(text.get(start..at).unwrap_or_default().trim().to_owned());
            start = at + 1;
        }
    }
    parts.push(text.get(start..).unwrap_or_default().trim().to_owned());
    parts.retain(|part| !part.is_empty());
    parts
}

fn open_parentheses(text: &str) -> i32 {
    scan(text).last().map_or(0, |(_, _, depth, _)| depth)
}

fn without_comment(line: &str) -> &str {
    let comment = scan(line)
        .find(|(at, c, _, in_string)| *c == '/' && !in_string && line.get(*at..).is_some_and(|r| r.starts_with("//")));
    comment.and_then(|(at, ..)| line.get(..at)).unwrap_or(line)
}
