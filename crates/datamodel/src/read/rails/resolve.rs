//! From declarations to the data model: names become classes, foreign keys become references, and both sides of a
//! relation meet in one reference.
//!
//! In the order in which one needs the other: what `belongs_to` stores; what `has_many` and `has_one` say about it
//! (they may be all there is); join tables; `through`, which goes by names; then what the database adds.

mod rules;
mod ways;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::config::Config;
use super::expand::{Declaration, Model};
use super::plugins;
use super::ruby::{Kind as Ruby, Node};
use super::scopes;
use super::tables;
use crate::model::{
    Association, AssociationId, Class, ClassId, ColumnFact, DataModel, DeleteRule, Framework, Kind, Path, Place,
    Reference, ReferenceId, Remark, Required, Target,
};
use crate::read::schema::{Schema, Table};

/// Puts the classes together.
pub(crate) fn resolve(models: BTreeMap<String, Model>, config: &Config, schema: &Schema) -> DataModel {
    let mut resolver = Resolver::new(&models, config, schema);
    let items = resolver.declare();
    items.iter().filter(|item| item.macro_name == "belongs_to").for_each(|item| resolver.belongs_to(item));
    items.iter().filter(|item| item.is_direct_has()).for_each(|item| resolver.has(item));
    items.iter().filter(|item| item.kind() == Kind::ManyToMany).for_each(|item| resolver.join(item));
    resolver.through(items.iter().filter(|item| item.is_through()).collect());
    resolver.choices();
    resolver.empty_polymorphic();
    resolver.database();
    resolver.validations();
    resolver.restrict();
    resolver.model
}

struct Resolver<'a> {
    models: &'a BTreeMap<String, Model>,
    config: &'a Config,
    schema: &'a Schema,
    model: DataModel,
    ids: BTreeMap<&'a str, ClassId>,
    /// The classes that share their table with no class above them, by table.
    by_table: BTreeMap<Arc<str>, ClassId>,
    /// Associations by their class and name.
    named: BTreeMap<(ClassId, Arc<str>), AssociationId>,
    /// References by their column.
    by_column: BTreeMap<Arc<str>, Vec<ReferenceId>>,
}

/// A declaration and the association that it becomes.
struct Item<'a> {
    id: AssociationId,
    owner: ClassId,
    declaration: &'a Declaration,
    macro_name: &'a str,
}

impl Item<'_> {
    fn kind(&self) -> Kind {
        match self.macro_name {
            "has_one" => Kind::HasOne,
            "has_many" => Kind::HasMany,
            "has_and_belongs_to_many" => Kind::ManyToMany,
            _ => Kind::BelongsTo,
        }
    }

    fn is_has(&self) -> bool {
        matches!(self.kind(), Kind::HasOne | Kind::HasMany)
    }

    fn is_through(&self) -> bool {
        self.is_has() && self.declaration.options.contains_key("through")
    }

    fn is_direct_has(&self) -> bool {
        self.is_has() && !self.is_through()
    }

    fn text(&self, option: &str) -> Option<&str> {
        self.declaration.options.get(option).and_then(Node::text)
    }

    fn is(&self, option: &str) -> Option<bool> {
        self.declaration.options.get(option).map(|node| !matches!(node.kind, Ruby::False | Ruby::Nil))
    }

    /// The column of `primary_key:`, if that is not the usual one.
    fn natural_key(&self) -> Option<String> {
        self.text("primary_key").filter(|key| *key != "id").map(str::to_owned)
    }

    /// The column of `foreign_key:`; several are joined.
    fn foreign_key(&self) -> Option<String> {
        let node = ["foreign_key", "query_constraints"].iter().find_map(|key| self.declaration.options.get(*key))?;
        let columns = node.texts();
        (!columns.is_empty()).then(|| columns.join(","))
    }
}

impl<'a> Resolver<'a> {
    fn new(models: &'a BTreeMap<String, Model>, config: &'a Config, schema: &'a Schema) -> Self {
        let concrete: Vec<&Model> = models.values().filter(|model| !model.is_abstract).collect();
        let ids: BTreeMap<&str, ClassId> =
            concrete.iter().enumerate().map(|(index, model)| (model.name.as_str(), ClassId(index))).collect();
        let parent = |model: &Model| -> Option<ClassId> {
            // Single-table inheritance starts anew below an abstract class.
            ids.get(model.parent.as_deref()?).copied()
        };
        let root = |model: &'a Model| -> &'a Model {
            let mut at = model;
            for _ in 0..64 {
                match at.parent.as_deref().and_then(|name| models.get(name)).filter(|parent| !parent.is_abstract) {
                    Some(parent) if at.table.is_none() => at = parent,
                    _ => break,
                }
            }
            at
        };
        let mut by_table = BTreeMap::new();
        let mut classes = Vec::new();
        for (index, model) in concrete.iter().enumerate() {
            let root = root(model);
            let table: Arc<str> = tables::table_name(root, models, config, schema).into();
            if root.name == model.name {
                // Of several classes of one table, the one among the models stands for it.
                let stands = |known: &ClassId| super::is_model_file(&concrete[known.0].place.file);
                if !by_table.get(&table).is_some_and(stands)
                    || stands(&ClassId(index)) && is_named_after(model, &table, config)
                {
                    by_table.insert(table.clone(), ClassId(index));
                }
            }
            let soft_delete = model.soft_delete || root.soft_delete;
            let line = lineage(models, &model.name);
            classes.push(Class {
                name: model.name.as_str().into(),
                parent: parent(model),
                is_abstract: false,
                table: Some(table.clone()),
                soft_delete,
                is_view: schema.views.contains(&table),
                is_foreign: plugins::find(&model.place.file).is_some(),
                destroy_code: line.iter().flat_map(|model| model.destroy_code.clone()).collect(),
                has_own_validation: line.iter().any(|model| model.has_own_validation),
                place: model.place.clone(),
            });
        }
        let model = DataModel { framework: Framework::Rails, classes, ..DataModel::default() };
        let (named, by_column) = Default::default();
        Resolver { models, config, schema, model, ids, by_table, named, by_column }
    }

    fn remark(&mut self, message: impl Into<String>, place: &Place) {
        self.model.remarks.push(Remark { message: message.into(), place: place.clone() });
    }

    fn name(&self, class: ClassId) -> Arc<str> {
        self.model.class(class).name.clone()
    }

    fn lineage(&self, class: &str) -> Vec<&'a Model> {
        lineage(self.models, class)
    }

    /// Gives every declaration its association; of several with one name, the last counts.
    fn declare(&mut self) -> Vec<Item<'a>> {
        let mut items = Vec::new();
        let classes: Vec<(&'a str, ClassId)> = self.ids.iter().map(|(name, id)| (*name, *id)).collect();
        for (name, owner) in classes {
            let all: Vec<&'a Declaration> = self.lineage(name).iter().flat_map(|model| &model.declarations).collect();
            for (index, declaration) in all.iter().enumerate() {
                let later = all.iter().skip(index + 1).find(|other| other.name == declaration.name);
                if let Some(later) = later {
                    let message = format!(
                        "{name}.{} is declared again at {}, which is what counts",
                        declaration.name, later.place
                    );
                    self.remark(message, &declaration.place);
                    continue;
                }
                let macro_name = match declaration.macro_name.as_str() {
                    "delegated_type" => "belongs_to",
                    other => other,
                };
                let id = AssociationId(self.model.associations.len());
                let item = Item { id, owner, declaration, macro_name };
                let association = self.association(&item);
                self.named.insert((owner, association.name.clone()), id);
                self.model.associations.push(association);
                items.push(item);
            }
        }
        items
    }

    fn association(&mut self, item: &Item<'_>) -> Association {
        let effect = scopes::effect(item.declaration);
        if let (Some(text), Some(meaning)) = (&effect.condition, effect.meaning) {
            self.model.meanings.insert(text.clone(), meaning);
        }
        let is_choice = effect.limited || (effect.ordered && item.kind() == Kind::HasOne);
        Association {
            owner: item.owner,
            name: item.declaration.name.as_str().into(),
            kind: item.kind(),
            target: None,
            path: Path::Unknown,
            condition: effect.condition,
            is_choice,
            on_delete: self.delete_rule(item),
            place: item.declaration.place.clone(),
        }
    }

    fn delete_rule(&mut self, item: &Item<'_>) -> Option<DeleteRule> {
        let node = item.declaration.options.get("dependent")?;
        let (name, place) = (&item.declaration.name, &item.declaration.place);
        if item.kind() == Kind::HasOne && item.is_through() {
            self.remark(
                format!("`dependent` of {name} has no effect: a `has_one` that goes through another ignores it"),
                place,
            );
            return None;
        }
        let rule = match (&node.kind, node.text()) {
            (Ruby::Nil | Ruby::False, _) => DeleteRule::Nothing,
            (Ruby::True, _) | (_, Some("destroy")) => DeleteRule::Destroy,
            (_, Some("destroy_async")) => DeleteRule::DestroyLater,
            (_, Some("delete" | "delete_all")) => DeleteRule::Delete,
            (_, Some("nullify")) => DeleteRule::Nullify,
            (_, Some("restrict" | "restrict_with_error" | "restrict_with_exception")) => DeleteRule::Restrict,
            (_, text) => {
                let what = text.map_or_else(|| "what was computed".to_owned(), |text| format!("`:{text}`"));
                self.remark(format!("`dependent` of {name} is not known: {what}; it is left out"), place);
                return None;
            }
        };
        let allowed = match item.kind() {
            Kind::BelongsTo => matches!(rule, DeleteRule::Destroy | DeleteRule::Delete | DeleteRule::DestroyLater),
            _ => true,
        };
        if !allowed && rule != DeleteRule::Nothing {
            self.remark(
                format!("`dependent` of {name} is not allowed by Rails for a `belongs_to`; it is left out"),
                place,
            );
            return None;
        }
        Some(rule)
    }

    /// The class that an association leads to, by its option or its name; a remark if there is none.
    fn target(&mut self, item: &Item<'_>) -> Option<ClassId> {
        let inflections = &self.config.inflections;
        let name = &item.declaration.name;
        let default = match item.kind() {
            Kind::HasMany | Kind::ManyToMany => inflections.camelize(&inflections.singularize(name)),
            _ => inflections.camelize(name),
        };
        let class_name = match item.declaration.options.get("class_name").or(item.declaration.options.get("class")) {
            None => default,
            Some(node) => match (&node.kind, node.text()) {
                (Ruby::Const(name), _) => name.clone(),
                (_, Some(text)) => text.to_owned(),
                _ => {
                    let message = format!(
                        "the class of {}.{name} is computed; where it leads is not modelled",
                        self.name(item.owner)
                    );
                    self.remark(message, &item.declaration.place);
                    return None;
                }
            },
        };
        let found = self.find_class(&class_name, &self.name(item.owner));
        if found.is_none() {
            let is_abstract =
                self.models.get(class_name.trim_start_matches("::")).is_some_and(|model| model.is_abstract);
            let why = if is_abstract { "is abstract and has no table" } else { "is not defined" };
            let message = format!("{}.{name} leads to {class_name}, which {why}", self.name(item.owner));
            self.remark(message, &item.declaration.place);
        }
        found
    }

    /// The class of this name as seen from inside another.
    fn find_class(&self, name: &str, from: &str) -> Option<ClassId> {
        if let Some(absolute) = name.strip_prefix("::") {
            return self.ids.get(absolute).copied();
        }
        let mut outer = Some(from);
        while let Some(scope) = outer {
            if let Some(id) = self.ids.get(format!("{scope}::{name}").as_str()) {
                return Some(*id);
            }
            outer = scope.rsplit_once("::").map(|(front, _)| front);
        }
        self.ids.get(name).copied()
    }

    fn belongs_to(&mut self, item: &Item<'_>) {
        let declaration = item.declaration;
        let types = declaration.options.get("types").filter(|_| declaration.macro_name == "delegated_type");
        let is_polymorphic = types.is_some() || item.is("polymorphic") == Some(true);
        let target = if is_polymorphic {
            let named = types.map(|node| node.texts()).unwrap_or_default();
            let owner = self.name(item.owner);
            Target::Any(named.iter().filter_map(|name| self.find_class(name, &owner)).collect())
        } else {
            let Some(target) = self.target(item) else { return };
            self.set_target(item.id, Some(target));
            Target::Class(target)
        };
        let column = item.foreign_key().unwrap_or_else(|| format!("{}_id", declaration.name));
        let required = if self.is_required(item) { Required::Validated } else { Required::No };
        let type_column = is_polymorphic
            .then(|| item.text("foreign_type").map_or_else(|| format!("{}_type", declaration.name), str::to_owned));
        let id = match self.find_reference(item.owner, &column) {
            Some(id) => {
                if let Target::Class(target) = target {
                    self.widen(id, target, &declaration.place);
                }
                id
            }
            None => self.add_reference(item.owner, &declaration.name, &column, target, type_column, &declaration.place),
        };
        if let Some(reference) = self.model.references.get_mut(id.0) {
            reference.required = reference.required.max(required);
        }
        self.set_key(id, item.natural_key());
        self.set_path(item.id, Path::Own(id));
    }

    fn is_required(&self, item: &Item<'_>) -> bool {
        if let Some(node) = item.declaration.options.get("optional") {
            // A condition that is only known at run time: not always required.
            return matches!(node.kind, Ruby::False | Ruby::Nil);
        }
        if let Some(required) = item.is("required") {
            return required;
        }
        let mut at = self.models.get(&*self.name(item.owner));
        for _ in 0..64 {
            let Some(model) = at else { break };
            if let Some(required) = model.required_by_default {
                return required;
            }
            at = model.parent.as_deref().and_then(|name| self.models.get(name));
        }
        self.config.required_by_default
    }

    fn set_target(&mut self, id: AssociationId, target: Option<ClassId>) {
        if let Some(association) = self.model.associations.get_mut(id.0) {
            association.target = target;
        }
    }

    fn set_path(&mut self, id: AssociationId, path: Path) {
        if let Some(association) = self.model.associations.get_mut(id.0) {
            association.path = path;
        }
    }

    fn table(&self, class: ClassId) -> Option<&'a Table> {
        self.schema.tables.get(self.model.class(class).table.as_ref()?)
    }

    fn add_reference(
        &mut self,
        child: ClassId,
        name: &str,
        column: &str,
        target: Target,
        type_column: Option<String>,
        place: &Place,
    ) -> ReferenceId {
        let mut reference = Reference {
            child,
            name: name.into(),
            target,
            column: Some(column.into()),
            required: Required::No,
            unique: false,
            on_delete: None,
            key: None,
            place: place.clone(),
        };
        tables::constrain(&mut reference, self.table(child), type_column.as_deref());
        if let Some(table) = self.table(child) {
            let missing = column.split(',').find(|column| table.column(column).is_none());
            if let Some(missing) = missing {
                let message = format!(
                    "table {} has no column {missing}",
                    self.model.class(child).table.as_deref().unwrap_or("?")
                );
                self.remark(message, place);
            }
        }
        self.model.references.push(reference);
        let id = ReferenceId(self.model.references.len() - 1);
        self.by_column.entry(column.into()).or_default().push(id);
        id
    }

    /// The reference in this column of a class, be it declared there, above, or only in a class below: then all of the
    /// class have the column, since they share a table.
    fn find_reference(&mut self, child: ClassId, column: &str) -> Option<ReferenceId> {
        let with_column = self.by_column.get(column)?;
        let child_of = |id: &&ReferenceId| self.model.reference(**id).child;
        if let Some(id) = with_column.iter().find(|id| self.model.is_a(child, child_of(id))) {
            return Some(*id);
        }
        let below = with_column.iter().find(|id| self.model.is_a(child_of(id), child)).copied()?;
        if let Some(reference) = self.model.references.get_mut(below.0) {
            reference.child = child;
        }
        Some(below)
    }

    /// The association of this name that a class declares or inherits.
    fn association_named(&self, class: ClassId, name: &str) -> Option<AssociationId> {
        let name: Arc<str> = name.into();
        let mut at = Some(class);
        for _ in 0..64 {
            let class = at?;
            if let Some(id) = self.named.get(&(class, name.clone())) {
                return Some(*id);
            }
            at = self.model.class(class).parent;
        }
        None
    }

    /// A reference names objects of one more class.
    fn widen(&mut self, id: ReferenceId, class: ClassId, place: &Place) {
        let target = self.model.reference(id).target.clone();
        let target = match target {
            Target::Any(mut classes) => {
                if !classes.iter().any(|known| self.model.is_a(class, *known)) {
                    classes.push(class);
                    classes.sort();
                }
                Target::Any(classes)
            }
            Target::Class(known) if self.model.is_a(class, known) => Target::Class(known),
            Target::Class(known) if self.model.is_a(known, class) => Target::Class(class),
            Target::Class(known) => {
                let reference = self.model.reference(id);
                let child = self.name(reference.child);
                let column = reference.column.clone().unwrap_or_default();
                let message =
                    format!("{child}.{column} is declared to name both {} and {}", self.name(known), self.name(class));
                self.remark(message, place);
                Target::Any(vec![known.min(class), known.max(class)])
            }
        };
        if let Some(reference) = self.model.references.get_mut(id.0) {
            reference.target = target;
        }
    }

    fn has(&mut self, item: &Item<'_>) {
        let declaration = item.declaration;
        let Some(target) = self.target(item) else { return };
        self.set_target(item.id, Some(target));
        if scopes::is_query(&declaration.options) {
            return self.remark(
                format!("{} is found by SQL (`finder_sql`); it is not modelled", declaration.name),
                &declaration.place,
            );
        }
        let key = item.natural_key();
        if key.is_some() && !self.is_reference(item, target) {
            // Both sides have a value that is compared; neither names the other.
            return;
        }
        let owner_name = self.name(item.owner);
        let id = if let Some(role) = item.text("as") {
            let column = item.foreign_key().unwrap_or_else(|| format!("{role}_id"));
            let type_column = item.text("foreign_type").map_or_else(|| format!("{role}_type"), str::to_owned);
            self.find_reference(target, &column).unwrap_or_else(|| {
                let any = Target::Any(Vec::new());
                self.add_reference(target, role, &column, any, Some(type_column), &declaration.place)
            })
        } else {
            let inverse = item.text("inverse_of").and_then(|name| self.inverse_column(target, name));
            let default = || self.config.inflections.foreign_key(&owner_name);
            let column = item.foreign_key().or(inverse).unwrap_or_else(default);
            match self.find_reference(target, &column) {
                Some(id) => id,
                None => {
                    let name = column.strip_suffix("_id").unwrap_or(&column).to_owned();
                    self.add_reference(target, &name, &column, Target::Class(item.owner), None, &declaration.place)
                }
            }
        };
        self.widen(id, item.owner, &declaration.place);
        self.set_key(id, key);
        self.set_path(item.id, Path::Inverse(id));
    }

    fn set_key(&mut self, id: ReferenceId, key: Option<String>) {
        if let (Some(reference), Some(key)) = (self.model.references.get_mut(id.0), key) {
            reference.key = Some(key.into());
        }
    }

    /// Whether a `has_many` by a natural key has a `belongs_to`, a foreign key or a rule that makes it more than a
    /// comparison.
    fn is_reference(&self, item: &Item<'_>, target: ClassId) -> bool {
        let Some(column) = item.foreign_key() else { return true };
        let declared = self.by_column.get(column.as_str()).into_iter().flatten();
        let is_declared = declared.into_iter().any(|id| self.model.is_a(target, self.model.reference(*id).child));
        let is_key = self.table(target).is_some_and(|table| table.foreign_key(&column).is_some());
        is_declared || is_key || item.is("dependent") == Some(true)
    }

    /// The column of the `belongs_to` that `inverse_of` names.
    fn inverse_column(&self, target: ClassId, name: &str) -> Option<String> {
        let association = self.model.association(self.association_named(target, name)?);
        match association.path {
            Path::Own(id) => self.model.reference(id).column.as_deref().map(str::to_owned),
            _ => None,
        }
    }

    /// Conditions on columns that hold only some values are not understood, since it is not known which values these
    /// are.
    fn restrict(&mut self) {
        let mut vague: Vec<Arc<str>> = Vec::new();
        for association in &self.model.associations {
            let (Some(text), Some(target)) = (&association.condition, association.target) else { continue };
            let Some(facts) = self.model.meanings.get(text) else { continue };
            let classes = (0..self.model.classes.len()).map(ClassId);
            let related = classes.filter(|class| self.model.is_a(*class, target) || self.model.is_a(target, *class));
            let names: Vec<Arc<str>> = related.map(|class| self.name(class)).collect();
            let models = || names.iter().flat_map(|name| self.lineage(name));
            // Whether a column is empty is asked of the table; which values it has, of the class.
            let is_vague = |fact: &ColumnFact| {
                fact.values.iter().any(Option::is_some)
                    && models().any(|model| model.restricted.contains(&*fact.column))
            };
            if facts.iter().any(is_vague) {
                vague.push(text.clone());
            }
        }
        vague.iter().for_each(|text| drop(self.model.meanings.remove(text)));
    }

    fn empty_polymorphic(&mut self) {
        let is_empty = |r: &&Reference| matches!(&r.target, Target::Any(classes) if classes.is_empty());
        let empty: Vec<Reference> = self.model.references.iter().filter(is_empty).cloned().collect();
        for reference in empty {
            let child = self.name(reference.child);
            let name = &reference.name;
            let message = format!("no class is declared `as: :{name}`; what {child}.{name} names is not modelled");
            self.remark(message, &reference.place);
        }
    }
}

/// Whether a table is called as Rails would call that of a class.
fn is_named_after(model: &Model, table: &str, config: &Config) -> bool {
    model.table.is_none() && config.inflections.tableize(&model.name) == table && !model.name.contains("::")
}

/// A class itself and the abstract ones above it, outermost first: what it declares is what they do.
fn lineage<'a>(models: &'a BTreeMap<String, Model>, class: &str) -> Vec<&'a Model> {
    let mut line: Vec<&'a Model> = models.get(class).into_iter().collect();
    while let Some(parent) = line.last().and_then(|model| model.parent.as_deref()).and_then(|name| models.get(name)) {
        if !parent.is_abstract || line.len() > 64 {
            break;
        }
        line.push(parent);
    }
    line.reverse();
    line
}
