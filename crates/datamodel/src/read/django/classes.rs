//! Which classes are models, what they inherit, and who is meant by a name.

use std::collections::{BTreeMap, BTreeSet};

use super::python::{Assignment, Call, Class, Module, Value};
use crate::model::{Place, Remark};
use crate::read::File;

/// The index of a class in [`Project::classes`].
pub(crate) type Id = usize;

/// All classes of a project.
#[derive(Default)]
pub(crate) struct Project {
    pub classes: Vec<Entry>,
    pub modules: Vec<Module>,
    /// `AUTH_USER_MODEL`
    pub user_model: Option<String>,
    pub remarks: Vec<Remark>,
    /// Classes of fields of the project's own, and the kind of field that they extend.
    pub field_kinds: BTreeMap<String, String>,
    by_name: BTreeMap<String, Vec<Id>>,
}

/// A class of a project.
pub(crate) struct Entry {
    pub class: Class,
    /// The application that it belongs to.
    pub app: String,
    module: usize,
    pub kind: Kind,
}

/// What a class is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Not a model.
    Plain,
    /// Carries fields to classes below it.
    Abstract,
    /// Another view of the class that it extends.
    Proxy,
    /// Has a table.
    Concrete,
}

/// Bases that Django and well-known packages provide. The first few bring relations of their own.
const BASES: &[&str] = &[
    "AbstractUser",
    "PermissionsMixin",
    "Model",
    "AbstractBaseUser",
    "MPTTModel",
    "TimeStampedModel",
    "ClusterableModel",
    "PolymorphicModel",
    "MP_Node",
    "NS_Node",
    "AL_Node",
    "SoftDeletableModel",
    "SafeDeleteModel",
    "UUIDModel",
    "TitleSlugDescriptionModel",
    "StatusModel",
    "TranslatableModel",
    "GeoModel",
    "AbstractBaseSession",
    "Page",
    "OrderedModel",
];

const RELATIONS: &[&str] = &["ForeignKey", "OneToOneField", "ManyToManyField", "GenericForeignKey", "GenericRelation"];

impl Project {
    /// Reads all files.
    pub(crate) fn read(files: &[File]) -> Self {
        let mut project = Project::default();
        for file in files.iter().filter(|file| is_source(&file.path)) {
            let mut module = super::python::parse(file);
            project.remarks.append(&mut module.remarks);
            let classes = std::mem::take(&mut module.classes);
            for assignment in &module.assignments {
                if let ("AUTH_USER_MODEL", Some(text)) = (assignment.name.as_str(), assignment.value.text()) {
                    project.user_model = Some(text.to_owned());
                }
            }
            project.modules.push(module);
            for class in classes {
                project.add(class, app_of(&file.path), project.modules.len() - 1);
            }
        }
        project.find_field_kinds();
        (0..project.classes.len()).for_each(|id| {
            let kind = project.find_kind(id, &mut BTreeSet::new());
            if let Some(entry) = project.classes.get_mut(id) {
                entry.kind = kind;
            }
        });
        project
    }

    fn add(&mut self, class: Class, app: String, module: usize) {
        self.by_name.entry(class.name.clone()).or_default().push(self.classes.len());
        self.classes.push(Entry { class, app, module, kind: Kind::Plain });
    }

    /// A class.
    pub(crate) fn entry(&self, id: Id) -> &Entry {
        &self.classes[id]
    }

    /// `class Key(models.ForeignKey)` is a foreign key as well.
    fn find_field_kinds(&mut self) {
        for _ in 0..4 {
            for entry in &self.classes {
                let bases = entry.class.bases.iter().filter_map(Value::last_name);
                let kind = bases.filter_map(|base| field_kind(base, &self.field_kinds)).next();
                if let Some(kind) = kind {
                    self.field_kinds.insert(entry.class.name.clone(), kind.to_owned());
                }
            }
        }
    }

    /// The kind of relation that a call declares, if it does.
    pub(crate) fn relation(&self, call: &Call) -> Option<&str> {
        field_kind(call.last_name(), &self.field_kinds)
    }

    fn find_kind(&mut self, id: Id, seen: &mut BTreeSet<Id>) -> Kind {
        if !seen.insert(id) || !self.is_model(id, &mut BTreeSet::new()) {
            return Kind::Plain;
        }
        match self.entry(id).class.meta() {
            Some(meta) if meta.flag("abstract") => Kind::Abstract,
            Some(meta) if meta.flag("proxy") => Kind::Proxy,
            _ => Kind::Concrete,
        }
    }

    fn is_model(&mut self, id: Id, seen: &mut BTreeSet<Id>) -> bool {
        if !seen.insert(id) {
            return false;
        }
        let bases: Vec<String> = self.entry(id).class.bases.iter().filter_map(Value::name).map(str::to_owned).collect();
        for base in &bases {
            let last = base.rsplit('.').next().unwrap_or(base);
            let found = self.find(base, id).filter(|other| *other != id);
            let is_one = match found {
                Some(other) => self.is_model(other, seen),
                None => BASES.contains(&last),
            };
            if is_one {
                return true;
            }
        }
        // A base from elsewhere, and fields that only a model can have.
        let own = self.entry(id).class.assignments.iter();
        let is_field = |call: &Call| self.relation(call).is_some() || call.function.starts_with("models.");
        let mut fields = own.filter(|field| matches!(&field.value, Value::Call(call) if is_field(call)));
        let is_from_elsewhere = bases.iter().any(|base| self.find(base, id).is_none());
        let is_one = is_from_elsewhere && fields.next().is_some();
        if is_one {
            let class = &self.entry(id).class;
            let message = format!(
                "{} inherits from {}, which is not known to be a model; it is taken for one",
                class.name,
                bases.join(", ")
            );
            let place = class.place.clone();
            if !self.remarks.iter().any(|remark| remark.place == place) {
                self.remarks.push(Remark { message, place });
            }
        }
        is_one
    }

    /// The class that a name means where class `from` stands: of the same file, imported, of the same application, or
    /// the only one of that name.
    pub(crate) fn find(&self, name: &str, from: Id) -> Option<Id> {
        let entry = self.entry(from);
        let (outer, last) = name.rsplit_once('.').map_or((None, name), |(outer, last)| (Some(outer), last));
        let imported = self.modules.get(entry.module).and_then(|module| {
            let first = name.split('.').next().unwrap_or(name);
            module.imports.iter().find(|(alias, ..)| alias == first)
        });
        // `from shop import models as shop_models` and `from shop.models import Item as Thing`
        let (last, app) = match (imported, outer) {
            (Some((_, module, original)), None) => (original.as_str(), Some(app_of_module(module))),
            (Some((_, module, original)), Some(_)) if original == "models" => (last, Some(app_of_module(module))),
            (_, Some(outer)) => (last, Some(outer.rsplit('.').next().unwrap_or(outer).to_owned())),
            (None, None) => (last, None),
        };
        if imported.is_some_and(|(_, module, _)| module.starts_with("django.")) {
            return None;
        }
        let candidates = self.candidates(last)?;
        let same_file = || candidates.iter().find(|id| self.entry(**id).module == entry.module && outer.is_none());
        let named_app = || candidates.iter().find(|id| app.as_ref().is_some_and(|app| self.entry(**id).app == *app));
        let same_app = || candidates.iter().find(|id| self.entry(**id).app == entry.app);
        let only = || candidates.first().filter(|_| candidates.len() == 1);
        let found = if app.is_some() { named_app().or_else(same_file) } else { same_file().or_else(same_app) };
        found.or_else(only).copied()
    }

    /// The classes of a name, those first that may be models. Types of an API and forms are often called like the model
    /// that they show, in a folder that is called like its application.
    fn candidates(&self, name: &str) -> Option<Vec<Id>> {
        let all = self.by_name.get(name)?;
        let (models, others): (Vec<Id>, Vec<Id>) =
            all.iter().partition(|id| self.entry(**id).class.bases.iter().any(|base| self.is_base(base)));
        let has_fields = |id: &Id| {
            let module = self.modules.get(self.entry(*id).module);
            module.is_some_and(|module| module.imports.iter().any(|(_, from, _)| from.starts_with("django.db")))
        };
        let (near, far): (Vec<Id>, Vec<Id>) = others.into_iter().partition(has_fields);
        Some(match models.is_empty() && near.is_empty() {
            true => far,
            false => models.into_iter().chain(near).chain(far).collect(),
        })
    }

    /// `models.Model` and the like.
    fn is_base(&self, base: &Value) -> bool {
        base.last_name().is_some_and(|last| BASES.contains(&last)) && base.name().is_some_and(|name| name != "Page")
    }

    /// The model that `app.Model` or `Model` means, as a text.
    pub(crate) fn find_by_label(&self, label: &str, from: Id) -> Option<Id> {
        match label.split_once('.') {
            Some((app, name)) => {
                let candidates = self.candidates(name)?;
                let fits = |id: &&Id| self.entry(**id).app == app || self.entry(**id).app.ends_with(&format!(".{app}"));
                candidates.iter().find(fits).or(candidates.first().filter(|_| candidates.len() == 1)).copied()
            }
            None => self.find(label, from),
        }
    }

    /// The class that users are of.
    pub(crate) fn user(&self, from: Id) -> Option<Id> {
        if let Some(label) = &self.user_model {
            return self.find_by_label(label, from);
        }
        let is_user = |entry: &Entry| {
            let mut bases = entry.class.bases.iter().filter_map(Value::last_name);
            entry.kind == Kind::Concrete && bases.any(|base| ["AbstractUser", "AbstractBaseUser"].contains(&base))
        };
        self.classes.iter().position(is_user)
    }

    /// The models that a class extends and does not merely take fields from, nearest first.
    pub(crate) fn parents(&self, id: Id) -> Vec<Id> {
        let mut found = Vec::new();
        self.collect_parents(id, &mut found, &mut BTreeSet::new());
        found
    }

    fn collect_parents(&self, id: Id, found: &mut Vec<Id>, seen: &mut BTreeSet<Id>) {
        if !seen.insert(id) {
            return;
        }
        for base in self.entry(id).class.bases.iter().filter_map(Value::name) {
            let Some(base) = self.find(base, id).filter(|base| *base != id) else { continue };
            match self.entry(base).kind {
                Kind::Concrete => found.push(base),
                Kind::Abstract | Kind::Proxy => self.collect_parents(base, found, seen),
                Kind::Plain => {}
            }
        }
    }

    /// The class with the table: of a proxy, what it is a proxy of.
    pub(crate) fn concrete(&self, id: Id) -> Option<Id> {
        match self.entry(id).kind {
            Kind::Concrete => Some(id),
            Kind::Proxy => self.parents(id).first().copied(),
            _ => None,
        }
    }

    /// What a class assigns and takes from abstract classes, those of the furthest first; of several with one name the
    /// nearest counts.
    pub(crate) fn fields(&self, id: Id) -> Vec<(Id, Assignment)> {
        let mut fields = Vec::new();
        self.collect_fields(id, &mut fields, &mut BTreeSet::new());
        fields
    }

    fn collect_fields(&self, id: Id, fields: &mut Vec<(Id, Assignment)>, seen: &mut BTreeSet<Id>) {
        if !seen.insert(id) {
            return;
        }
        for base in self.entry(id).class.bases.iter().filter_map(Value::name).rev() {
            let base = self.find(base, id).filter(|base| self.entry(*base).kind == Kind::Abstract);
            base.into_iter().for_each(|base| self.collect_fields(base, fields, seen));
        }
        for assignment in &self.entry(id).class.assignments {
            fields.retain(|(_, field)| field.name != assignment.name);
            fields.push((id, assignment.clone()));
        }
    }

    /// The classes whose methods and options a class has: itself, then abstract ones.
    pub(crate) fn line(&self, id: Id) -> Vec<Id> {
        let mut line = vec![id];
        let mut at = 0;
        while let Some(current) = line.get(at).copied() {
            at += 1;
            for base in self.entry(current).class.bases.iter().filter_map(Value::name) {
                let base = self.find(base, current).filter(|base| self.entry(*base).kind == Kind::Abstract);
                line.extend(base.filter(|base| !line.contains(base)));
            }
        }
        line
    }
}

impl Class {
    /// `class Meta:`
    pub(crate) fn meta(&self) -> Option<&Class> {
        self.classes.iter().find(|class| class.name == "Meta")
    }

    /// Whether `name = True`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.value(name) == Some(&Value::Bool(true))
    }

    /// What is assigned to a name.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.assignment(name).map(|assignment| &assignment.value)
    }

    /// The assignment to a name.
    pub(crate) fn assignment(&self, name: &str) -> Option<&Assignment> {
        self.assignments.iter().rev().find(|assignment| assignment.name == name)
    }
}

/// The kind of relation behind a field's class.
fn field_kind<'a>(name: &str, own: &'a BTreeMap<String, String>) -> Option<&'a str> {
    match name {
        "ParentalKey" | "TreeForeignKey" | "ForeignKeyWithDefault" => Some("ForeignKey"),
        "TreeOneToOneField" | "AutoOneToOneField" => Some("OneToOneField"),
        "ParentalManyToManyField" | "TreeManyToManyField" | "SortedManyToManyField" => Some("ManyToManyField"),
        name => {
            let known = RELATIONS.iter().find(|known| **known == name).copied();
            known.or_else(|| own.get(name).map(String::as_str))
        }
    }
}

/// What the bases from elsewhere bring along that is not modelled.
pub(crate) fn foreign_base(class: &Class) -> Option<(&str, &Place)> {
    let bases = class.bases.iter().filter_map(Value::last_name);
    let base = bases.into_iter().find(|base| BASES.iter().take(2).any(|known| known == base))?;
    Some((base, &class.place))
}

fn is_source(path: &str) -> bool {
    path.ends_with(".py") && !path.split('/').any(|part| part == "migrations" || part.starts_with("test"))
}

/// The application of a file: the folder of `models.py`, or of the package `models`.
fn app_of(path: &str) -> String {
    let mut folders: Vec<&str> = path.split('/').collect();
    folders.pop();
    while folders.last() == Some(&"models") {
        folders.pop();
    }
    folders.last().copied().unwrap_or("app").to_owned()
}

/// The application of a module: `shop` of `project.shop.models`.
fn app_of_module(module: &str) -> String {
    let parts: Vec<&str> = module.split('.').collect();
    let models = parts.iter().position(|part| *part == "models" || part.ends_with("models")).unwrap_or(parts.len());
    parts.get(models.wrapping_sub(1)).or(parts.last()).copied().unwrap_or_default().to_owned()
}
