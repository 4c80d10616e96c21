//! Django: the models of a project, from its files.
//!
//! What a delete does is said at the field that has the column (`on_delete`), and done by the ORM, which collects what
//! goes with an object before anything is deleted. In the model it stands at the other end, as a rule of the
//! association that leads from what is deleted to what names it. Behind the ORM the database has a foreign key that
//! refuses.

mod classes;
mod python;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::classes::{Id, Kind as ClassKind, Project, foreign_base};
use self::python::{Assignment, Call, Value};
use super::File;
use super::sql::split_columns;
use crate::model::{
    Association, AssociationId, Class, ClassId, DataModel, DeleteRule, Framework, Join, JoinId, Kind, OnDelete, Path,
    Place, Reference, ReferenceId, Remark, Required, Side, Target, Uniqueness,
};

/// Models of Django itself and of what nearly everyone has beside it.
const KNOWN: &[&str] =
    &["User", "Group", "Permission", "ContentType", "Site", "Session", "LogEntry", "Page", "Image", "Document"];

/// Reads a project.
pub(crate) fn read(files: &[File]) -> DataModel {
    let project = Project::read(files);
    let mut reader = Reader::new(&project);
    let fields = reader.relations();
    fields.iter().for_each(|field| reader.column(field));
    fields.iter().filter(|field| field.kind == "GenericRelation").for_each(|field| reader.generic_relation(field));
    fields.iter().filter(|field| field.kind == "ManyToManyField").for_each(|field| reader.many_to_many(field));
    reader.uniqueness();
    reader.code();
    reader.empty_generic();
    let mut model = reader.model;
    model.remarks.extend(project.remarks.iter().cloned());
    in_order(model)
}

/// A relation of a class.
struct Field<'a> {
    owner: ClassId,
    /// The class that it is written in; names are looked up from there.
    written_in: Id,
    kind: &'a str,
    name: String,
    call: Call,
    place: Place,
}

struct Reader<'a> {
    project: &'a Project,
    model: DataModel,
    ids: BTreeMap<Id, ClassId>,
    /// Classes that are only named.
    foreign: BTreeMap<String, ClassId>,
}

impl<'a> Reader<'a> {
    fn new(project: &'a Project) -> Self {
        let concrete: Vec<Id> =
            (0..project.classes.len()).filter(|id| project.entry(*id).kind == ClassKind::Concrete).collect();
        let mut named: Vec<(String, Id)> =
            concrete.iter().map(|id| (class_name(project, &concrete, *id), *id)).collect();
        named.sort();
        let ids: BTreeMap<Id, ClassId> =
            named.iter().enumerate().map(|(index, (_, id))| (*id, ClassId(index))).collect();
        let class = |(name, id): &(String, Id)| {
            let entry = project.entry(*id);
            let table = entry.class.meta().and_then(|meta| meta.value("db_table")).and_then(Value::text);
            let default = format!("{}_{}", entry.app, entry.class.name.to_lowercase());
            let soft = |id: &Id| {
                let mut bases = project.entry(*id).class.bases.iter().filter_map(Value::last_name);
                bases.any(|base| ["SoftDeletableModel", "SafeDeleteModel"].contains(&base))
            };
            Class {
                name: name.as_str().into(),
                parent: project.parents(*id).first().and_then(|parent| ids.get(parent)).copied(),
                is_abstract: false,
                table: Some(table.map_or(default, str::to_owned).into()),
                soft_delete: project.line(*id).iter().any(soft),
                place: entry.class.place.clone(),
                ..Class::default()
            }
        };
        let classes = named.iter().map(class).collect();
        let model = DataModel { framework: Framework::Django, classes, ..DataModel::default() };
        Reader { project, model, ids, foreign: BTreeMap::new() }
    }

    fn remark(&mut self, message: impl Into<String>, place: &Place) {
        self.model.remarks.push(Remark { message: message.into(), place: place.clone() });
    }

    fn name(&self, class: ClassId) -> Arc<str> {
        self.model.class(class).name.clone()
    }

    /// Every relation of every class, inherited from abstract classes or its own.
    fn relations(&mut self) -> Vec<Field<'a>> {
        let project = self.project;
        let mut fields = Vec::new();
        for (id, owner) in self.ids.clone() {
            if project.parents(id).len() > 1 {
                let place = project.entry(id).class.place.clone();
                self.remark(format!("{} extends several models; only the first is modelled", self.name(owner)), &place);
            }
            for (written_in, Assignment { name, value, place }) in project.fields(id) {
                let Value::Call(call) = value else { continue };
                match project.relation(&call) {
                    Some(kind) => fields.push(Field { owner, written_in, kind, name, call: *call, place }),
                    None if call.keyword("on_delete").is_some() => {
                        self.remark(format!("{} is not known; it is taken for a foreign key", call.function), &place);
                        fields.push(Field { owner, written_in, kind: "ForeignKey", name, call: *call, place });
                    }
                    None => {}
                }
            }
        }
        fields
    }

    /// What a field says where it leads to.
    fn target(&mut self, field: &Field<'a>) -> Option<ClassId> {
        let project = self.project;
        let to = field.call.argument(0, "to").cloned();
        let is_user = |name: &str| name == "AUTH_USER_MODEL" || name == "get_user_model";
        let (label, found) = match &to {
            Some(Value::Str(text)) if text == "self" => return Some(field.owner),
            Some(Value::Str(text)) => (text.clone(), project.find_by_label(text, field.written_in)),
            Some(Value::Name(_)) if to.as_ref().and_then(Value::last_name).is_some_and(is_user) => {
                ("User".to_owned(), project.user(field.written_in))
            }
            Some(Value::Call(call)) if is_user(call.last_name()) => ("User".to_owned(), project.user(field.written_in)),
            Some(Value::Name(name)) => (name.clone(), project.find(name, field.written_in)),
            _ => {
                let message =
                    format!("where {}.{} leads is computed; it is not modelled", self.name(field.owner), field.name);
                self.remark(message, &field.place);
                return None;
            }
        };
        let concrete = found.and_then(|id| project.concrete(id)).and_then(|id| self.ids.get(&id).copied());
        if concrete.is_none() && found.is_some() {
            let message = format!(
                "{}.{} leads to {label}, which has no table; it is not modelled",
                self.name(field.owner),
                field.name
            );
            self.remark(message, &field.place);
            return None;
        }
        Some(concrete.unwrap_or_else(|| self.foreign_class(&label, &field.place)))
    }

    /// A class that is named and not among the files.
    fn foreign_class(&mut self, label: &str, place: &Place) -> ClassId {
        let name = label.rsplit('.').next().unwrap_or(label).to_owned();
        if let Some(id) = self.foreign.get(&name) {
            return *id;
        }
        if !KNOWN.contains(&name.as_str()) {
            self.remark(format!("{label} is not among the files; nothing is known of its own relations"), place);
        }
        let id = ClassId(self.model.classes.len());
        self.model.classes.push(Class {
            name: name.as_str().into(),
            parent: None,
            is_abstract: false,
            table: None,
            soft_delete: false,
            place: place.clone(),
            ..Class::default()
        });
        self.foreign.insert(name, id);
        id
    }

    /// A field with a column: a foreign key, a one-to-one field, or a generic foreign key.
    fn column(&mut self, field: &Field<'a>) {
        match field.kind {
            "ForeignKey" | "OneToOneField" => self.foreign_key(field),
            "GenericForeignKey" => {
                let column = field.call.argument(1, "fk_field").and_then(Value::text).unwrap_or("object_id").to_owned();
                let required = if self.may_be_null(field, &column) { Required::No } else { Required::NotNull };
                let id = self.add_reference(field, Target::Any(Vec::new()), column, required);
                self.associate(field.owner, &field.name, Kind::BelongsTo, None, Path::Own(id), None, &field.place);
            }
            _ => {}
        }
    }

    /// Whether the plain field beside a generic foreign key may be empty.
    fn may_be_null(&self, field: &Field<'a>, column: &str) -> bool {
        let id = self.ids.iter().find(|(_, class)| **class == field.owner).map(|(id, _)| *id);
        let fields = id.map(|id| self.project.fields(id)).unwrap_or_default();
        let found = fields.into_iter().find(|(_, other)| other.name == column);
        found.is_none_or(|(_, other)| matches!(&other.value, Value::Call(call) if call.is("null")))
    }

    fn add_reference(&mut self, field: &Field<'a>, target: Target, column: String, required: Required) -> ReferenceId {
        self.model.references.push(Reference {
            child: field.owner,
            name: field.name.as_str().into(),
            target,
            column: Some(column.into()),
            required,
            unique: field.kind == "OneToOneField" || field.call.is("unique") || field.call.is("primary_key"),
            on_delete: None,
            key: None,
            place: field.place.clone(),
        });
        ReferenceId(self.model.references.len() - 1)
    }

    fn foreign_key(&mut self, field: &Field<'a>) {
        let Some(target) = self.target(field) else { return };
        let column = field.call.keyword("db_column").and_then(Value::text);
        let column = column.map_or_else(|| format!("{}_id", field.name), str::to_owned);
        let (rule, action, names_another) = self.on_delete(field);
        let required = if field.call.is("null") || names_another { Required::No } else { Required::NotNull };
        let id = self.add_reference(field, Target::Class(target), column, required);
        let has_constraint = field.call.keyword("db_constraint") != Some(&Value::Bool(false));
        if let Some(reference) = self.model.references.get_mut(id.0) {
            reference.on_delete = has_constraint.then_some(action);
        }
        self.associate(field.owner, &field.name, Kind::BelongsTo, Some(target), Path::Own(id), None, &field.place);
        let kind = if field.kind == "OneToOneField" { Kind::HasOne } else { Kind::HasMany };
        let name = self.reverse_name(field, target, kind == Kind::HasOne);
        self.associate(target, &name, kind, Some(field.owner), Path::Inverse(id), rule, &field.place);
    }

    /// What the ORM does, what the database does, and whether the column then names something else.
    fn on_delete(&mut self, field: &Field<'a>) -> (Option<DeleteRule>, OnDelete, bool) {
        let value = field.call.argument(1, "on_delete").cloned();
        let name = match &value {
            Some(Value::Call(call)) => call.last_name().to_owned(),
            Some(value) => value.last_name().unwrap_or_default().to_owned(),
            None => String::new(),
        };
        let by_orm = |rule| (Some(rule), OnDelete::NoAction, false);
        match name.as_str() {
            "CASCADE" => by_orm(DeleteRule::Destroy),
            "PROTECT" => by_orm(DeleteRule::Restrict),
            "RESTRICT" => by_orm(DeleteRule::RestrictOthers),
            "SET_NULL" => by_orm(DeleteRule::Nullify),
            "DO_NOTHING" => by_orm(DeleteRule::Nothing),
            "SET_DEFAULT" | "SET" => {
                let message =
                    format!("{} of {} makes it name something else; modelled as naming nothing", name, field.name);
                self.remark(message, &field.place);
                (Some(DeleteRule::Nullify), OnDelete::NoAction, true)
            }
            "DB_CASCADE" => (None, OnDelete::Cascade, false),
            "DB_SET_NULL" => (None, OnDelete::SetNull, false),
            "DB_SET_DEFAULT" => (None, OnDelete::SetDefault, false),
            // Mandatory since Django 2.0, and CASCADE before.
            "" if value.is_none() => by_orm(DeleteRule::Destroy),
            _ => {
                let message =
                    format!("what {} does at `on_delete` of {} is not known; it is left out", name, field.name);
                self.remark(message, &field.place);
                (None, OnDelete::NoAction, false)
            }
        }
    }

    /// The name of the way back: as said, or Django's; made up where there is none, since a delete takes it all the
    /// same.
    fn reverse_name(&self, field: &Field<'a>, target: ClassId, is_one: bool) -> String {
        let child = self.name(field.owner);
        let child = child.rsplit('.').next().unwrap_or_default().to_lowercase();
        let app =
            self.ids.iter().find(|(_, class)| **class == field.owner).map(|(id, _)| &*self.project.entry(*id).app);
        let written = field.call.keyword("related_name").and_then(Value::text);
        let written =
            written.map(|name| name.replace("%(class)s", &child).replace("%(app_label)s", app.unwrap_or_default()));
        let name = match written {
            Some(name) if name.ends_with('+') => format!("{child}_{}+", field.name),
            Some(name) => name,
            None if is_one => child,
            None => format!("{child}_set"),
        };
        let is_taken = self.model.associations.iter().any(|other| other.owner == target && *other.name == *name);
        if is_taken { format!("{name}_by_{}", field.name) } else { name }
    }

    #[allow(clippy::too_many_arguments, reason = "what an association consists of")]
    fn associate(
        &mut self,
        owner: ClassId,
        name: &str,
        kind: Kind,
        target: Option<ClassId>,
        path: Path,
        on_delete: Option<DeleteRule>,
        place: &Place,
    ) -> AssociationId {
        let (condition, is_choice) = (None, false);
        let (name, place) = (name.into(), place.clone());
        self.model.associations.push(Association {
            owner,
            name,
            kind,
            target,
            path,
            condition,
            is_choice,
            on_delete,
            place,
        });
        AssociationId(self.model.associations.len() - 1)
    }

    /// The other end of a generic foreign key: what it leads to goes with its owner.
    fn generic_relation(&mut self, field: &Field<'a>) {
        let Some(target) = self.target(field) else { return };
        let column = field.call.argument(1, "object_id_field").and_then(Value::text).unwrap_or("object_id").to_owned();
        let is_it = |r: &Reference| {
            r.child == target && r.column.as_deref() == Some(&column) && matches!(r.target, Target::Any(_))
        };
        let Some(index) = self.model.references.iter().position(is_it) else {
            let message =
                format!("{} has no generic foreign key in {column}; {} is not modelled", self.name(target), field.name);
            return self.remark(message, &field.place);
        };
        if let Some(Reference { target: Target::Any(classes), .. }) = self.model.references.get_mut(index) {
            classes.push(field.owner);
            classes.sort();
            classes.dedup();
        }
        let path = Path::Inverse(ReferenceId(index));
        let rule = Some(DeleteRule::Destroy);
        self.associate(field.owner, &field.name, Kind::HasMany, Some(target), path, rule, &field.place);
    }

    fn many_to_many(&mut self, field: &Field<'a>) {
        let Some(target) = self.target(field) else { return };
        let back = field.call.keyword("related_name").and_then(Value::text).unwrap_or_default().to_owned();
        // A class joined with itself is so both ways, unless it says otherwise.
        let is_symmetrical = field.owner == target && field.call.keyword("symmetrical") != Some(&Value::Bool(false));
        let has_back = !back.ends_with('+') && !is_symmetrical;
        if let Some(through) = field.call.keyword("through").cloned() {
            return self.through(field, target, &through, has_back);
        }
        let table = field.call.keyword("db_table").and_then(Value::text).map(str::to_owned);
        let owner_table = self.model.class(field.owner).table.clone().unwrap_or_default();
        let name: Arc<str> = table.unwrap_or_else(|| format!("{owner_table}_{}", field.name)).into();
        let id = JoinId(self.model.joins.len());
        let has_constraint = field.call.keyword("db_constraint") != Some(&Value::Bool(false));
        let on_delete = has_constraint.then_some(OnDelete::NoAction);
        self.model.joins.push(Join { name, left: field.owner, right: target, on_delete, place: field.place.clone() });
        let (left, right) = (Path::Join(id, Side::Left), Path::Join(id, Side::Right));
        self.associate(field.owner, &field.name, Kind::ManyToMany, Some(target), left, None, &field.place);
        if has_back {
            let name = self.reverse_name(field, target, false);
            self.associate(target, &name, Kind::ManyToMany, Some(field.owner), right, None, &field.place);
        }
    }

    /// A join with a class of its own: a way back along one of its foreign keys, and forth along the other.
    fn through(&mut self, field: &Field<'a>, target: ClassId, through: &Value, has_back: bool) {
        let project = self.project;
        let found = match through {
            Value::Str(label) => project.find_by_label(label, field.written_in),
            Value::Name(name) => project.find(name, field.written_in),
            _ => None,
        };
        let middle = found.and_then(|id| project.concrete(id)).and_then(|id| self.ids.get(&id).copied());
        let chosen: Vec<String> = field
            .call
            .keyword("through_fields")
            .map(Value::texts)
            .unwrap_or_default()
            .iter()
            .map(|s| (*s).to_owned())
            .collect();
        let key = |this: &Self, class: ClassId, name: Option<&String>, not: Option<ReferenceId>| {
            let fits = |(index, r): &(usize, &Reference)| {
                let leads = matches!(r.target, Target::Class(to) if this.model.is_a(class, to));
                let is_named = name.is_none_or(|name| *r.name == **name);
                Some(r.child) == middle && leads && is_named && Some(ReferenceId(*index)) != not
            };
            this.model.references.iter().enumerate().find(fits).map(|(index, _)| ReferenceId(index))
        };
        let first = key(self, field.owner, chosen.first(), None);
        let second = key(self, target, chosen.get(1), first);
        let (Some(first), Some(second)) = (first, second) else {
            let message = format!(
                "{}.{} goes through a class that does not lead there; it is not modelled",
                self.name(field.owner),
                field.name
            );
            self.remark(message, &field.place);
            self.associate(field.owner, &field.name, Kind::HasMany, Some(target), Path::Unknown, None, &field.place);
            return;
        };
        let by =
            |this: &Self, path: Path| this.model.associations.iter().position(|a| a.path == path).map(AssociationId);
        let ways = (
            by(self, Path::Inverse(first)),
            by(self, Path::Own(second)),
            by(self, Path::Inverse(second)),
            by(self, Path::Own(first)),
        );
        let (Some(to_middle), Some(onwards), Some(back_to_middle), Some(back)) = ways else { return };
        let path = Path::Through(to_middle, onwards);
        self.associate(field.owner, &field.name, Kind::HasMany, Some(target), path, None, &field.place);
        if has_back {
            let name = self.reverse_name(field, target, false);
            let path = Path::Through(back_to_middle, back);
            self.associate(target, &name, Kind::HasMany, Some(field.owner), path, None, &field.place);
        }
    }

    fn empty_generic(&mut self) {
        let is_empty = |r: &&Reference| matches!(&r.target, Target::Any(classes) if classes.is_empty());
        let empty: Vec<Reference> = self.model.references.iter().filter(is_empty).cloned().collect();
        for reference in empty {
            let child = self.name(reference.child);
            let message = format!(
                "no class has a GenericRelation to {child}; what {child}.{} names is not modelled",
                reference.name
            );
            self.remark(message, &reference.place);
        }
    }

    fn uniqueness(&mut self) {
        for (id, class) in self.ids.clone() {
            for (_, field) in self.project.fields(id) {
                let Value::Call(call) = &field.value else { continue };
                if call.is("unique") || self.project.relation(call) == Some("OneToOneField") {
                    self.unique(class, &[&field.name], false, &field.place);
                }
            }
            // Options of an abstract class count where the class has none of its own.
            let metas = self.project.line(id).into_iter().filter_map(|id| self.project.entry(id).class.meta());
            let metas: Vec<_> = metas.collect();
            let option = |name: &str| metas.iter().find_map(|meta| meta.assignment(name));
            if let Some(together) = option("unique_together") {
                let lists = together.value.items();
                let single = together.value.texts();
                let lists = if single.is_empty() { lists.iter().map(Value::texts).collect() } else { vec![single] };
                lists.iter().for_each(|list| self.unique(class, list, false, &together.place));
            }
            let constraints = option("constraints").map(|constraints| constraints.value.items()).unwrap_or_default();
            for constraint in constraints {
                let Value::Call(call) = constraint else { continue };
                match call.last_name() {
                    "UniqueConstraint" => {
                        let fields = call.keyword("fields").map(Value::texts).unwrap_or_default();
                        let partial = call.keyword("condition").is_some() || !call.args.is_empty();
                        self.unique(class, &fields, partial, &call.place);
                    }
                    other => self.remark(format!("{other} of {} is not modelled", self.name(class)), &call.place),
                }
            }
        }
    }

    fn unique(&mut self, class: ClassId, fields: &[&str], partial: bool, place: &Place) {
        let own = |field: &&str| self.model.references.iter().find(|r| r.child == class && *r.name == **field);
        let column = |field: &&str| own(field).and_then(|r| r.column.clone()).unwrap_or_else(|| (*field).into());
        let columns: Vec<Arc<str>> = fields.iter().map(column).collect();
        let (references, columns) = split_columns(&self.model, class, &columns);
        let place = place.clone();
        self.model.uniqueness.push(Uniqueness {
            class,
            references,
            columns,
            partial,
            validated: false,
            filter: None,
            folded: Default::default(),
            is_open: false,
            enforced: true,
            place,
        });
    }

    /// Code that runs when something is deleted, and relations that come with bases from elsewhere.
    fn code(&mut self) {
        for (id, class) in self.ids.clone() {
            for above in self.project.line(id) {
                let written = &self.project.entry(above).class;
                for (_, place) in written.methods.iter().filter(|(name, _)| name == "delete") {
                    let message =
                        format!("`delete` is overridden in {}; what it does instead is not modelled", self.name(class));
                    self.remark(message, place);
                }
                if let Some((base, place)) = foreign_base(written) {
                    self.remark(format!("the relations of {base} to groups and permissions are not modelled"), place);
                }
            }
        }
        let is_signal = |name: &str| name.ends_with("pre_delete") || name.ends_with("post_delete");
        for call in self.project.modules.iter().flat_map(|module| &module.calls) {
            let connects = call.function.strip_suffix(".connect").is_some_and(is_signal);
            let mut named =
                call.args.iter().flat_map(|arg| [arg].into_iter().chain(arg.items())).filter_map(Value::name);
            let receives = call.last_name() == "receiver" && named.any(is_signal);
            if connects || receives {
                let sender = call.keyword("sender").and_then(Value::last_name).unwrap_or("any class").to_owned();
                self.remark(
                    format!("code runs when {sender} is deleted (a signal); what it does is not modelled"),
                    &call.place,
                );
            }
        }
    }
}

/// The name of a class, with its application where there is another of that name.
fn class_name(project: &Project, concrete: &[Id], id: Id) -> String {
    let entry = project.entry(id);
    let is_other = |other: &&Id| **other != id && project.entry(**other).class.name == entry.class.name;
    match concrete.iter().find(is_other) {
        Some(_) => format!("{}.{}", entry.app, entry.class.name),
        None => entry.class.name.clone(),
    }
}

/// Puts the classes in the order of their names; those that are only named came last.
fn in_order(mut model: DataModel) -> DataModel {
    let mut order: Vec<usize> = (0..model.classes.len()).collect();
    order.sort_by(|a, b| model.classes.get(*a).map(|c| &c.name).cmp(&model.classes.get(*b).map(|c| &c.name)));
    let new: BTreeMap<ClassId, ClassId> =
        order.iter().enumerate().map(|(to, from)| (ClassId(*from), ClassId(to))).collect();
    let moved = |id: &mut ClassId| *id = new.get(id).copied().unwrap_or(*id);
    let mut classes: Vec<(ClassId, Class)> =
        std::mem::take(&mut model.classes).into_iter().enumerate().map(|(i, c)| (ClassId(i), c)).collect();
    classes.iter_mut().for_each(|(id, class)| {
        moved(id);
        class.parent.iter_mut().for_each(moved);
    });
    classes.sort_by_key(|(id, _)| *id);
    model.classes = classes.into_iter().map(|(_, class)| class).collect();
    for reference in &mut model.references {
        moved(&mut reference.child);
        match &mut reference.target {
            Target::Class(class) => moved(class),
            Target::Any(classes) => classes.iter_mut().for_each(moved),
        }
    }
    for join in &mut model.joins {
        moved(&mut join.left);
        moved(&mut join.right);
    }
    for association in &mut model.associations {
        moved(&mut association.owner);
        association.target.iter_mut().for_each(moved);
    }
    model.uniqueness.iter_mut().for_each(|unique| moved(&mut unique.class));
    model
}
