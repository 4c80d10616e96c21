//! Some data: a few objects, what they name, and how it looks as text, SQL and Ruby.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use isolde_sql::print::identifier;

use super::execute::Statement;
use super::schema::Schema;
use super::worlds::World;
use crate::model::{AssociationId, ClassId, Framework, JoinId, Path, ReferenceId, Side, Target};
use crate::property::Way;

/// Some data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// The objects; one that is gone keeps its place.
    pub objects: Vec<Object>,
    /// The pairs of joins, by objects.
    pub pairs: BTreeSet<(JoinId, usize, usize)>,
    /// Where associations lead that nobody understands.
    pub unknown: BTreeSet<(AssociationId, usize, usize)>,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its class, the lowest one.
    pub class: ClassId,
    /// What it names.
    pub references: BTreeMap<ReferenceId, usize>,
    /// Which conditions it meets.
    pub conditions: BTreeSet<usize>,
    /// Whether it exists.
    pub is_there: bool,
}

impl Object {
    /// An object that names nothing.
    pub fn new(class: ClassId) -> Object {
        Object { class, references: BTreeMap::new(), conditions: BTreeSet::new(), is_there: true }
    }
}

impl Instance {
    /// The objects that exist and are of a class.
    pub fn of<'a>(&'a self, schema: &'a Schema<'_>, class: ClassId) -> impl Iterator<Item = usize> + 'a {
        let of_class = move |(_, object): &(usize, &Object)| object.is_there && schema.model.is_a(object.class, class);
        self.objects.iter().enumerate().filter(of_class).map(|(index, _)| index)
    }

    /// The objects that exist and name one.
    pub fn naming(&self, reference: ReferenceId, target: usize) -> Vec<usize> {
        let names = |object: &Object| object.is_there && object.references.get(&reference) == Some(&target);
        (0..self.objects.len()).filter(|index| names(&self.objects[*index])).collect()
    }

    /// Where a way leads from an object: by rows that exist, possibly to one that does not.
    pub fn follow(&self, schema: &Schema<'_>, way: Way, from: usize) -> BTreeSet<usize> {
        match way {
            Way::Reference(reference) => self.named_by(from, reference),
            Way::Association(id) => self.associated(schema, id, from),
        }
    }

    fn named_by(&self, from: usize, reference: ReferenceId) -> BTreeSet<usize> {
        let object = &self.objects[from];
        object.references.get(&reference).filter(|_| object.is_there).copied().into_iter().collect()
    }

    fn associated(&self, schema: &Schema<'_>, id: AssociationId, from: usize) -> BTreeSet<usize> {
        let association = schema.model.association(id);
        let mut found: BTreeSet<usize> = match schema.path(id) {
            Path::Own(reference) => self.named_by(from, *reference),
            Path::Inverse(reference) => self.naming(*reference, from).into_iter().collect(),
            Path::Join(join, side) => {
                let pairs = self.pairs.iter().filter(|(j, _, _)| j == join);
                let ends =
                    pairs.map(|(_, left, right)| if *side == Side::Left { (*left, *right) } else { (*right, *left) });
                ends.filter(|(near, _)| *near == from).map(|(_, far)| far).collect()
            }
            Path::Through(first, last) => {
                let between = self.associated(schema, *first, from);
                between.into_iter().flat_map(|middle| self.associated(schema, *last, middle)).collect()
            }
            Path::Unknown => {
                self.unknown.iter().filter(|(a, near, _)| *a == id && *near == from).map(|(_, _, far)| *far).collect()
            }
        };
        if let Some(text) = &association.condition {
            let meets = |index: &usize| {
                let object = &self.objects[*index];
                let known = schema.condition(schema.root(object.class), text);
                known.is_some_and(|condition| object.conditions.contains(&condition))
            };
            found.retain(meets);
        }
        found
    }

    /// What the model forbids about these data, if it does.
    pub fn violation(&self, schema: &Schema<'_>) -> Option<String> {
        for object in self.objects.iter().filter(|object| object.is_there) {
            if !schema.is_concrete(object.class) {
                return Some(format!("{} is abstract", schema.model.class(object.class).name));
            }
            for (index, stored) in schema.references.iter().enumerate() {
                let reference = ReferenceId(index);
                if !schema.model.is_a(object.class, schema.child(reference)) {
                    continue;
                }
                let named = object.references.get(&reference).map(|target| &self.objects[*target]);
                let fits = |target: &Object| stored.targets.iter().any(|class| schema.model.is_a(target.class, *class));
                match named {
                    None if stored.filled => {
                        return Some(format!("{} names nothing", schema.model.reference(reference).name));
                    }
                    Some(target) if !target.is_there || !fits(target) => {
                        return Some(format!("{} names what it cannot", schema.model.reference(reference).name));
                    }
                    _ => {}
                }
            }
        }
        if let Some(index) = (0..self.objects.len()).find(|index| !self.is_possible(schema, *index)) {
            return Some(format!("{} meets conditions that exclude each other", self.name(schema, index)));
        }
        schema.unique.iter().find_map(|unique| self.duplicate(schema, unique))
    }

    /// Whether the conditions that an object meets can be met together.
    fn is_possible(&self, schema: &Schema<'_>, index: usize) -> bool {
        let Some(worlds) = schema.worlds.get(&schema.root(self.objects[index].class)) else { return true };
        let met: BTreeSet<usize> = self.understood(schema, index);
        self.worlds_of(worlds, index).any(|world| world.meets == met)
    }

    fn understood(&self, schema: &Schema<'_>, index: usize) -> BTreeSet<usize> {
        let met = self.objects[index].conditions.iter().copied();
        met.filter(|condition| schema.is_understood(*condition)).collect()
    }

    /// The worlds in which an object names what it names.
    fn worlds_of<'w>(&'w self, worlds: &'w [World], index: usize) -> impl Iterator<Item = &'w World> {
        let references = &self.objects[index].references;
        worlds.iter().filter(|world| {
            let mut filled = world.filled.iter();
            filled.all(|(reference, filled)| references.contains_key(reference) == *filled)
        })
    }

    /// Lets objects meet what they must meet, and as little as possible.
    fn settle_conditions(&mut self, schema: &Schema<'_>) {
        for index in 0..self.objects.len() {
            let Some(worlds) = schema.worlds.get(&schema.root(self.objects[index].class)) else { continue };
            if self.is_possible(schema, index) {
                continue;
            }
            let least = self.worlds_of(worlds, index).min_by_key(|world| world.meets.len()).cloned();
            if let Some(world) = least {
                let object = &mut self.objects[index];
                object.conditions.retain(|condition| !schema.is_understood(*condition));
                object.conditions.extend(world.meets);
            }
        }
    }

    fn duplicate(&self, schema: &Schema<'_>, unique: &super::schema::Unique) -> Option<String> {
        let mut seen = BTreeSet::new();
        for index in self.of(schema, unique.class) {
            let object = &self.objects[index];
            if unique.condition.is_some_and(|condition| !object.conditions.contains(&condition)) {
                continue;
            }
            let key: Option<Vec<usize>> = unique.references.iter().map(|r| object.references.get(r).copied()).collect();
            if key.is_some_and(|key| !seen.insert(key)) {
                return Some(format!("two of {} agree", schema.model.class(unique.class).name));
            }
        }
        None
    }

    /// Fills what must be filled: first so that what is there is left alone, then with as few new objects as possible.
    /// None, if that does not come to an end.
    pub fn completions(&self, schema: &Schema<'_>) -> Vec<Instance> {
        let apart = self.clone().completed_from(schema, self.objects.len());
        let shared = self.clone().completed_from(schema, 0);
        let mut found: Vec<Instance> = apart.into_iter().collect();
        found.extend(shared.filter(|shared| !found.contains(shared)));
        found
    }

    /// Fills what must be filled, with new objects and those that are there, beginning with this one.
    fn completed_from(mut self, schema: &Schema<'_>, first: usize) -> Option<Instance> {
        const OBJECTS_MAX: usize = 60;
        let mut at = 0;
        while at < self.objects.len() {
            if at > OBJECTS_MAX {
                return None;
            }
            let missing: Vec<ReferenceId> =
                (0..schema.references.len()).map(ReferenceId).filter(|r| self.lacks(schema, at, *r)).collect();
            for reference in missing {
                let target = self.candidate(schema, reference, first)?;
                self.objects[at].references.insert(reference, target);
            }
            at += 1;
        }
        self.settle_conditions(schema);
        Some(self)
    }

    fn lacks(&self, schema: &Schema<'_>, at: usize, reference: ReferenceId) -> bool {
        let object = &self.objects[at];
        schema.references[reference.0].filled
            && schema.model.is_a(object.class, schema.child(reference))
            && !object.references.contains_key(&reference)
    }

    /// Something that a reference may name: an object that is there, beginning with `first`, or a new one.
    fn candidate(&mut self, schema: &Schema<'_>, reference: ReferenceId, first: usize) -> Option<usize> {
        let targets = &schema.references[reference.0].targets;
        let unique = schema.unique.iter().any(|unique| unique.references.contains(&reference));
        let fits = |object: &Object| targets.iter().any(|class| schema.model.is_a(object.class, *class));
        let known = (first..self.objects.len())
            .rev()
            .find(|index| fits(&self.objects[*index]) && (!unique || self.naming(reference, *index).is_empty()));
        if known.is_some() {
            return known;
        }
        let class = (0..schema.model.classes.len()).map(ClassId).find(|class| {
            schema.is_concrete(*class) && targets.iter().any(|target| schema.model.is_a(*class, *target))
        })?;
        self.objects.push(Object::new(class));
        Some(self.objects.len() - 1)
    }

    /// Only what an object names, and what that names.
    pub fn reachable_from(&self, object: usize) -> Instance {
        let mut kept = vec![object];
        let mut at = 0;
        while at < kept.len() {
            let named = self.objects[kept[at]].references.values().copied();
            let new: Vec<usize> = named.filter(|target| !kept.contains(target)).collect();
            kept.extend(new);
            at += 1;
        }
        let renumbered = |target: &usize| kept.iter().position(|other| other == target);
        let copy = |index: &usize| {
            let mut object = self.objects[*index].clone();
            object.references = object.references.iter().filter_map(|(r, t)| Some((*r, renumbered(t)?))).collect();
            object
        };
        Instance { objects: kept.iter().map(copy).collect(), ..Instance::default() }
    }

    /// What an object is called: `photo1`.
    pub fn name(&self, schema: &Schema<'_>, index: usize) -> String {
        let class = self.objects[index].class;
        let number = self.objects[..=index].iter().filter(|object| object.class == class).count();
        format!("{}{number}", variable_name(&schema.model.class(class).name))
    }

    /// One line per object that exists, and per pair.
    pub fn to_text(&self, schema: &Schema<'_>) -> String {
        let objects = (0..self.objects.len()).filter(|index| self.objects[*index].is_there);
        let objects = objects.map(|index| self.drawn(schema, index));
        let pairs = self.pairs.iter().map(|pair| self.drawn_pair(schema, *pair));
        objects.chain(pairs).map(|line| line + "\n").collect()
    }

    /// Statements that put these data into tables: rows first, then what they name.
    pub fn to_sql(&self, schema: &Schema<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        let mut links = Vec::new();
        let mut there: Vec<usize> = Vec::new();
        for index in self.by_need() {
            let object = &self.objects[index];
            let table = identifier(&table_name(schema, object.class));
            let (mut columns, mut values) = (vec!["id".to_string()], vec![self.id(schema, index).to_string()]);
            if object.class != schema.root(object.class) {
                columns.push("type".into());
                values.push(text(&schema.model.class(object.class).name));
            }
            for (reference, target) in &object.references {
                let id = self.id(schema, *target).to_string();
                let column = identifier(&column_name(schema, *reference));
                // A column without a foreign key may name a row that comes later.
                let is_free = schema.references[reference.0].database.is_none();
                if there.contains(target) || *target == index || is_free {
                    columns.push(column.clone());
                    values.push(id);
                } else {
                    links.push(format!("UPDATE {table} SET {column} = {id} WHERE id = {};", self.id(schema, index)));
                }
                if let Some(column) = type_column(schema, *reference) {
                    columns.push(identifier(&column));
                    let root = schema.root(self.objects[*target].class);
                    values.push(text(&schema.model.class(root).name));
                }
            }
            there.push(index);
            lines.push(format!("INSERT INTO {table} ({}) VALUES ({});", columns.join(", "), values.join(", ")));
        }
        lines.extend(links);
        for (join, left, right) in &self.pairs {
            let (left, right) = (self.id(schema, *left), self.id(schema, *right));
            let table = identifier(&schema.model.join(*join).name);
            lines.push(format!("INSERT INTO {table} VALUES ({left}, {right});"));
        }
        lines
    }

    /// The statements of a delete as SQL.
    pub fn delete_sql(&self, schema: &Schema<'_>, sent: &[Statement]) -> Vec<String> {
        let row = |x: usize| (identifier(&table_name(schema, self.objects[x].class)), self.id(schema, x));
        let pairs = |join: &JoinId, side: &Side, x: usize| {
            let has = |(j, left, right): &&(JoinId, usize, usize)| {
                j == join && x == if *side == Side::Left { *left } else { *right }
            };
            self.pairs.iter().any(|pair| has(&pair))
        };
        let sent = sent.iter().filter(|statement| match statement {
            Statement::Separate(join, side, x) => pairs(join, side, *x),
            _ => true,
        });
        let line = |statement: &Statement| match statement {
            Statement::Delete(x) => {
                let (table, id) = row(*x);
                format!("DELETE FROM {table} WHERE id = {id};")
            }
            Statement::Nullify(reference, x) => {
                let ((table, id), column) = (row(*x), identifier(&column_name(schema, *reference)));
                format!("UPDATE {table} SET {column} = NULL WHERE id = {id};")
            }
            Statement::Separate(join, _, x) => {
                let column =
                    crate::read::Inflections::default().foreign_key(&schema.model.class(self.objects[*x].class).name);
                let (table, column) = (identifier(&schema.model.join(*join).name), identifier(&column));
                format!("DELETE FROM {table} WHERE {column} = {};", self.id(schema, *x))
            }
        };
        sent.map(line).collect()
    }

    /// An object and what it names: `tag1 ──taggable──▶ photo1`.
    pub fn drawn(&self, schema: &Schema<'_>, index: usize) -> String {
        let object = &self.objects[index];
        let mut out = self.name(schema, index);
        for (count, (reference, target)) in object.references.iter().enumerate() {
            let gone = if self.objects[*target].is_there { "" } else { " ✗" };
            let comma = if count == 0 { "" } else { "," };
            let (way, named) = (&schema.model.reference(*reference).name, self.name(schema, *target));
            let _ = write!(out, "{comma} ──{way}──▶ {named}{gone}");
        }
        for condition in &object.conditions {
            let _ = write!(out, "  [{}]", schema.conditions[*condition].text);
        }
        out
    }

    /// A pair of a join: `user1 ──roles_users── role1`.
    pub fn drawn_pair(&self, schema: &Schema<'_>, (join, left, right): (JoinId, usize, usize)) -> String {
        let end = |index: usize| {
            let gone = if self.objects[index].is_there { "" } else { " ✗" };
            format!("{}{gone}", self.name(schema, index))
        };
        format!("{} ──{}── {}", end(left), schema.model.join(join).name, end(right))
    }

    /// Whether an object names what is gone.
    pub fn dangles(&self, index: usize) -> bool {
        let object = &self.objects[index];
        object.is_there && object.references.values().any(|target| !self.objects[*target].is_there)
    }

    /// Lines for the console of the framework that make these data and delete one object.
    pub fn to_console(&self, schema: &Schema<'_>, deleted: Option<usize>) -> Vec<String> {
        let mut lines = Vec::new();
        // What names an object that is made later is told when that is there.
        let mut links = Vec::new();
        let mut there: BTreeSet<usize> = BTreeSet::new();
        let python = schema.model.framework == Framework::Django;
        for index in self.by_need() {
            let object = &self.objects[index];
            let class = &schema.model.class(object.class).name;
            let separator = if python { "=" } else { ": " };
            for (reference, target) in object.references.iter().filter(|(_, target)| !there.contains(target)) {
                let (name, far) = (self.name(schema, index), self.name(schema, *target));
                let column = column_name(schema, *reference);
                let way = &schema.model.reference(*reference).name;
                links.push(match python {
                    true => format!("{name}.{way} = {far}; {name}.save()"),
                    false => format!("{name}.update_columns({column}: {far}.id)"),
                });
            }
            let known = object.references.iter().filter(|(_, target)| there.contains(target));
            let named = known.map(|(reference, target)| {
                format!("{}{separator}{}", schema.model.reference(*reference).name, self.name(schema, *target))
            });
            let named = named.collect::<Vec<_>>().join(", ");
            let name = self.name(schema, index);
            lines.push(match (python, named.is_empty()) {
                (true, _) => format!("{name} = {class}.objects.create({named})"),
                (false, true) => format!("{name} = {class}.new.tap {{ _1.save!(validate: false) }}"),
                (false, false) => format!("{name} = {class}.new({named}).tap {{ _1.save!(validate: false) }}"),
            });
            there.insert(index);
        }
        lines.extend(links);
        for (join, left, right) in &self.pairs {
            let way = |side| {
                let found = schema.model.associations.iter().find(|a| a.path == Path::Join(*join, side));
                found.map(|association| association.name.clone())
            };
            let (near, name, far) = match (way(Side::Left), way(Side::Right)) {
                (Some(name), _) => (*left, name, *right),
                (None, Some(name)) => (*right, name, *left),
                (None, None) => continue,
            };
            let (near, far) = (self.name(schema, near), self.name(schema, far));
            lines.push(if python { format!("{near}.{name}.add({far})") } else { format!("{near}.{name} << {far}") });
        }
        if let Some(deleted) = deleted {
            let name = self.name(schema, deleted);
            lines.push(if python { format!("{name}.delete()") } else { format!("{name}.destroy!") });
        }
        lines
    }

    /// The number of an object among those of its table, from 1.
    pub fn id(&self, schema: &Schema<'_>, index: usize) -> usize {
        let root = |at: usize| schema.root(self.objects[at].class);
        (0..=index).filter(|other| root(*other) == root(index)).count()
    }

    /// Objects that are named before those that name them, as far as that goes.
    fn by_need(&self) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::new();
        let there = |index: &usize| self.objects[*index].is_there;
        while let Some(next) = {
            let ready =
                |index: &usize| self.objects[*index].references.values().all(|t| order.contains(t) || t == index);
            let mut left = (0..self.objects.len()).filter(there).filter(|index| !order.contains(index));
            let first = left.clone().next();
            left.find(ready).or(first)
        } {
            order.push(next);
        }
        order
    }
}

/// A text in SQL.
fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// `Shop::LineItem` as a variable: `line_item`.
pub fn variable_name(class: &str) -> String {
    let last = class.rsplit("::").next().unwrap_or(class);
    let last = last.rsplit('.').next().unwrap_or(last);
    let mut out = String::new();
    for (index, c) in last.chars().enumerate() {
        if c.is_uppercase() && index > 0 {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// The table of a class; a guess, if the model does not know it.
pub fn table_name(schema: &Schema<'_>, class: ClassId) -> String {
    let known = schema.model.class(class).table.as_ref().or(schema.model.class(schema.root(class)).table.as_ref());
    known.map_or_else(
        || format!("{}s", variable_name(&schema.model.class(schema.root(class)).name)),
        ToString::to_string,
    )
}

/// The column of a reference; a guess, if the model does not know it.
pub fn column_name(schema: &Schema<'_>, reference: ReferenceId) -> String {
    let reference = schema.model.reference(reference);
    reference.column.as_ref().map_or_else(|| format!("{}_id", reference.name), ToString::to_string)
}

/// The column beside a polymorphic reference that says what it names.
pub fn type_column(schema: &Schema<'_>, reference: ReferenceId) -> Option<String> {
    let is_any = matches!(schema.model.reference(reference).target, Target::Any(_));
    is_any.then(|| column_name(schema, reference).replace("_id", "_type"))
}
