//! Prisma: `schema.prisma`, one file or several.
//!
//! A relation is two fields of which one says `fields: [...]`: that model has the column. What a delete does is said
//! there too, or follows from whether the field may be empty. With `relationMode = "prisma"` the database knows of no
//! foreign key and the client does it all, which is where `NoAction` leaves rows that name nothing.

mod syntax;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::syntax::{Field, Model, Parsed};
use super::File;
use super::sql::split_columns;
use crate::model::{
    Association, Class, ClassId, DataModel, DeleteRule, Framework, Join, JoinId, Kind, OnDelete, Path, Place,
    Reference, ReferenceId, Remark, Required, Side, Target, Uniqueness,
};

/// Types that are values.
const SCALARS: &[&str] =
    &["String", "Boolean", "Int", "BigInt", "Float", "Decimal", "DateTime", "Json", "Bytes", "Unsupported"];

/// Reads a schema.
pub(crate) fn read(files: &[File]) -> DataModel {
    let mut parsed = Parsed::default();
    files.iter().filter(|file| file.path.ends_with(".prisma")).for_each(|file| syntax::parse(file, &mut parsed));
    let mut reader = Reader::new(&parsed);
    reader.relations();
    reader.uniqueness();
    reader.model.remarks.extend(parsed.remarks.iter().cloned());
    reader.model
}

struct Reader<'a> {
    parsed: &'a Parsed,
    models: Vec<&'a Model>,
    ids: BTreeMap<&'a str, ClassId>,
    model: DataModel,
}

impl<'a> Reader<'a> {
    fn new(parsed: &'a Parsed) -> Self {
        let by_name: BTreeMap<&str, &Model> = parsed.models.iter().map(|model| (model.name.as_str(), model)).collect();
        let models: Vec<&Model> = by_name.values().copied().collect();
        let ids = models.iter().enumerate().map(|(index, model)| (model.name.as_str(), ClassId(index))).collect();
        let class = |model: &&Model| Class {
            name: model.name.as_str().into(),
            parent: None,
            is_abstract: false,
            table: Some(model.attribute("map").and_then(|a| a.text(0, "name")).unwrap_or(model.name.clone()).into()),
            soft_delete: false,
            place: model.place.clone(),
            ..Class::default()
        };
        let classes = models.iter().map(class).collect();
        let model = DataModel { framework: Framework::Prisma, classes, ..DataModel::default() };
        Reader { parsed, models, ids, model }
    }

    fn remark(&mut self, message: impl Into<String>, place: &Place) {
        self.model.remarks.push(Remark { message: message.into(), place: place.clone() });
    }

    fn relations(&mut self) {
        for model in self.models.clone() {
            for field in &model.fields {
                match self.ids.get(field.ty.as_str()).copied() {
                    Some(target) => self.relation(model, field, target),
                    None if SCALARS.contains(&field.ty.as_str()) || self.parsed.values.contains(&field.ty) => {}
                    None => self.remark(
                        format!("the type {} of {}.{} is not defined", field.ty, model.name, field.name),
                        &field.place,
                    ),
                }
            }
        }
    }

    /// A field that leads to a model. Each relation is made once: at the side with the column, or at the first of two
    /// lists.
    fn relation(&mut self, model: &'a Model, field: &'a Field, target: ClassId) {
        let Some(other) = self.models.get(target.0).copied() else { return };
        let back = opposite(model, field, other);
        if !field.columns().is_empty() {
            self.reference(model, field, target, back);
        } else if let (true, Some(back)) = (field.is_list, back.filter(|back| back.is_list)) {
            if (&model.name, &field.name) <= (&other.name, &back.name) {
                self.join(model, field, other, back);
            }
        } else if back.is_none_or(|back| back.columns().is_empty()) {
            let message = format!("{}.{} has no column on either side; it is not modelled", model.name, field.name);
            self.remark(message, &field.place);
        }
    }

    fn reference(&mut self, model: &'a Model, field: &'a Field, target: ClassId, back: Option<&'a Field>) {
        let Some(child) = self.ids.get(model.name.as_str()).copied() else { return };
        let columns = field.columns();
        let scalar = |name: &String| model.fields.iter().find(|field| field.name == *name);
        let is_optional =
            field.is_optional || columns.iter().any(|name| scalar(name).is_none_or(|field| field.is_optional));
        let action = self.action(field, is_optional);
        let id = ReferenceId(self.model.references.len());
        let is_emulated = self.parsed.is_emulated;
        let column = columns.join(",");
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let reference = Reference {
            child,
            name: field.name.as_str().into(),
            target: Target::Class(target),
            column: Some(column.into()),
            required: if is_optional { Required::No } else { Required::NotNull },
            unique: model
                .keys()
                .iter()
                .any(|key| key.len() == names.len() && key.iter().all(|k| names.contains(&k.as_str()))),
            on_delete: (!is_emulated).then_some(action),
            key: None,
            place: field.place.clone(),
        };
        self.model.references.push(reference);
        self.associate(child, field, Kind::BelongsTo, target, Path::Own(id), None);
        let rule = if is_emulated { self.emulated(action, field) } else { None };
        match back {
            Some(back) => {
                let kind = if back.is_list { Kind::HasMany } else { Kind::HasOne };
                self.associate(target, back, kind, child, Path::Inverse(id), rule);
            }
            None => self.remark(format!("{}.{} has no field on the other side", model.name, field.name), &field.place),
        }
    }

    /// What a delete does: as written, or Prisma's default.
    fn action(&mut self, field: &Field, is_optional: bool) -> OnDelete {
        let default = if is_optional { OnDelete::SetNull } else { OnDelete::Restrict };
        match field.attribute("relation").and_then(|relation| relation.named("onDelete")).as_deref() {
            Some("Cascade") => OnDelete::Cascade,
            Some("Restrict") => OnDelete::Restrict,
            Some("NoAction") => OnDelete::NoAction,
            Some("SetNull") => OnDelete::SetNull,
            Some("SetDefault") => OnDelete::SetDefault,
            Some(other) => {
                self.remark(format!("onDelete: {other} is not known; the default is taken"), &field.place);
                default
            }
            None => default,
        }
    }

    /// What the client does where the database knows nothing.
    fn emulated(&mut self, action: OnDelete, field: &Field) -> Option<DeleteRule> {
        Some(match action {
            OnDelete::Cascade => DeleteRule::Destroy,
            OnDelete::SetNull => DeleteRule::Nullify,
            OnDelete::Restrict => DeleteRule::Restrict,
            OnDelete::NoAction => DeleteRule::Nothing,
            OnDelete::SetDefault => {
                self.remark("SetDefault does not exist with relationMode = \"prisma\"; it is left out", &field.place);
                return None;
            }
        })
    }

    fn associate(
        &mut self,
        owner: ClassId,
        field: &Field,
        kind: Kind,
        target: ClassId,
        path: Path,
        on_delete: Option<DeleteRule>,
    ) {
        self.model.associations.push(Association {
            owner,
            name: field.name.as_str().into(),
            kind,
            target: Some(target),
            path,
            condition: None,
            is_choice: false,
            on_delete,
            place: field.place.clone(),
        });
    }

    /// Two lists: a table of pairs that Prisma makes up, whose rows go with either side.
    fn join(&mut self, model: &'a Model, field: &'a Field, other: &'a Model, back: &'a Field) {
        let (Some(left), Some(right)) =
            (self.ids.get(model.name.as_str()).copied(), self.ids.get(other.name.as_str()).copied())
        else {
            return;
        };
        let name = field.relation_name().unwrap_or_else(|| format!("{}To{}", model.name, other.name));
        let id = JoinId(self.model.joins.len());
        let on_delete = (!self.parsed.is_emulated).then_some(OnDelete::Cascade);
        self.model.joins.push(Join {
            name: format!("_{name}").into(),
            left,
            right,
            on_delete,
            place: field.place.clone(),
        });
        self.associate(left, field, Kind::ManyToMany, right, Path::Join(id, Side::Left), None);
        if !std::ptr::eq(field, back) {
            self.associate(right, back, Kind::ManyToMany, left, Path::Join(id, Side::Right), None);
        }
    }

    fn uniqueness(&mut self) {
        for (index, model) in self.models.clone().into_iter().enumerate() {
            let class = ClassId(index);
            for (key, is_id) in model.keys().into_iter().zip(model.keys_are_ids()) {
                let columns: Vec<Arc<str>> = key.iter().map(|column| column.as_str().into()).collect();
                let (references, columns) = split_columns(&self.model, class, &columns);
                if is_id && references.is_empty() && columns.len() <= 1 {
                    continue;
                }
                let place = model.place.clone();
                let unique = Uniqueness {
                    class,
                    references,
                    columns,
                    partial: false,
                    filter: None,
                    folded: Default::default(),
                    is_open: false,
                    validated: false,
                    enforced: true,
                    place,
                };
                self.model.uniqueness.push(unique);
            }
        }
        // In the order of declaration within each class, whichever side made them.
        let line = |association: &Association| association.place.line;
        let mut order: Vec<Association> = std::mem::take(&mut self.model.associations);
        order.sort_by(|a, b| (a.owner, &a.place.file, line(a)).cmp(&(b.owner, &b.place.file, line(b))));
        self.model.associations = order;
    }
}

/// The field on the other side of a relation.
fn opposite<'a>(model: &Model, field: &Field, other: &'a Model) -> Option<&'a Field> {
    let fits = |back: &&Field| {
        back.ty == model.name
            && back.relation_name() == field.relation_name()
            && (back.columns().is_empty() || field.columns().is_empty())
            && !(other.name == model.name && back.name == field.name)
    };
    let itself = |back: &&Field| other.name == model.name && back.name == field.name && field.is_list;
    other.fields.iter().find(fits).or_else(|| other.fields.iter().find(itself))
}
