//! Remedies: changes to a model that are tried before they are proposed.
//!
//! An [`Edit`] is a change to what an application declares. It is made to the model first, and proposed only if the
//! property that failed is then proved. How it looks in the files is for [`repair`](crate::repair) to find out.

use std::collections::BTreeSet;
use std::sync::Arc;

use isolde_smt::Silence;

use super::Work;
use super::database::{key_list, unique_columns};
use super::words::{macro_name, rule};
use crate::logic::Schema;
use crate::logic::instance::{column_name, table_name, variable_name};
use crate::model::{
    Association, AssociationId, ClassId, DataModel, DeleteRule, Framework, JoinId, Kind, OnDelete, Path, Place,
    ReferenceId, Required, Target,
};
use crate::property::Property;
use crate::read::Inflections;

/// A change that helps.
#[derive(Clone, Debug)]
pub struct Remedy {
    /// What is changed.
    pub edit: Edit,
    /// The declaration or statement to write.
    pub code: String,
    /// Where; nowhere in particular, if it is a migration.
    pub place: Place,
    /// The lines to change, if it was found out how, and if the model that is read from them has the change.
    pub patch: Option<Patch>,
}

/// Lines of a file, changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The file.
    pub file: Arc<str>,
    /// The first line, from 1.
    pub line: u32,
    /// What stands there; nothing, if lines are put before it.
    pub old: Vec<String>,
    /// What should.
    pub new: Vec<String>,
}

/// A change to what an application declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// What becomes of the objects of an association.
    Dependent(AssociationId, DeleteRule),
    /// Another association.
    Declare(Box<Association>),
    /// What the field that has the column says about deletes: in Django and Prisma.
    Field(ReferenceId, OnDelete),
    /// What the database does about a column.
    ForeignKey(ReferenceId, OnDelete),
    /// The database removes the rows of a join with either side.
    GuardPairs(JoinId),
    /// The database enforces what is unique.
    UniqueIndex(usize),
    /// The database enforces that a relation is filled.
    NotNull(ReferenceId),
}

impl Edit {
    /// The model with the change.
    pub fn apply(&self, model: &DataModel) -> DataModel {
        let mut changed = model.clone();
        match self {
            Edit::Dependent(id, rule) => changed.associations[id.0].on_delete = Some(*rule),
            Edit::Declare(association) => changed.associations.push((**association).clone()),
            Edit::Field(reference, action) => {
                let by_orm = match action {
                    OnDelete::Cascade => DeleteRule::Destroy,
                    OnDelete::SetNull => DeleteRule::Nullify,
                    _ => DeleteRule::Restrict,
                };
                let inverse = |association: &&mut Association| association.path == Path::Inverse(*reference);
                let emulated = changed.framework == Framework::Django
                    || model.associations.iter().any(|a| a.path == Path::Inverse(*reference) && a.on_delete.is_some());
                match emulated {
                    true => changed.associations.iter_mut().filter(inverse).for_each(|a| a.on_delete = Some(by_orm)),
                    false => changed.references[reference.0].on_delete = Some(*action),
                }
            }
            Edit::ForeignKey(reference, action) => changed.references[reference.0].on_delete = Some(*action),
            Edit::GuardPairs(join) => changed.joins[join.0].on_delete = Some(OnDelete::Cascade),
            Edit::UniqueIndex(index) => changed.uniqueness[*index].enforced = true,
            Edit::NotNull(reference) => changed.references[reference.0].required = Required::NotNull,
        }
        changed
    }

    /// The roots whose deletes it changes; none, if it only makes the database refuse what a validation refuses.
    fn concerns(&self, schema: &Schema<'_>) -> Vec<ClassId> {
        match self {
            Edit::Dependent(id, _) => vec![schema.root(schema.model.association(*id).owner)],
            Edit::Declare(association) => vec![schema.root(association.owner)],
            Edit::Field(reference, _) | Edit::ForeignKey(reference, _) => schema.target_roots(*reference),
            Edit::GuardPairs(join) => {
                let join = schema.model.join(*join);
                vec![schema.root(join.left), schema.root(join.right)]
            }
            Edit::UniqueIndex(_) | Edit::NotNull(_) => Vec::new(),
        }
    }

    /// Where it is to be made.
    fn place(&self, model: &DataModel) -> Place {
        match self {
            Edit::Dependent(id, _) => model.association(*id).place.clone(),
            Edit::Declare(association) => association.place.clone(),
            Edit::Field(reference, _) => model.reference(*reference).place.clone(),
            Edit::ForeignKey(..) | Edit::GuardPairs(_) | Edit::UniqueIndex(_) | Edit::NotNull(_) => Place::default(),
        }
    }

    /// What to write, in a line.
    pub(crate) fn code(&self, schema: &Schema<'_>) -> String {
        let model = schema.model;
        match self {
            Edit::Dependent(id, said) => {
                let association = model.association(*id);
                let (kind, said) = (association.kind, rule(model.framework, association.kind, *said));
                format!("{} :{} with dependent: {said}", macro_name(kind), association.name)
            }
            Edit::Declare(association) => declared(schema, association),
            Edit::Field(_, action) if model.framework == Framework::Django => {
                format!("on_delete=models.{}", if *action == OnDelete::Cascade { "CASCADE" } else { "SET_NULL" })
            }
            Edit::Field(_, action) => {
                format!("onDelete: {}", if *action == OnDelete::Cascade { "Cascade" } else { "SetNull" })
            }
            Edit::ForeignKey(reference, action) => {
                let child = table_name(schema, schema.child(*reference));
                let column = column_name(schema, *reference);
                let parents = schema.references[reference.0].targets.first();
                let parent = parents.map(|target| table_name(schema, *target)).unwrap_or_default();
                let action = if *action == OnDelete::Cascade { "CASCADE" } else { "SET NULL" };
                format!("ALTER TABLE {child} ADD FOREIGN KEY ({column}) REFERENCES {parent} ON DELETE {action};")
            }
            Edit::GuardPairs(join) => guard_pairs(schema, *join),
            Edit::UniqueIndex(index) => {
                let unique = &model.uniqueness[*index];
                let table = table_name(schema, unique.class);
                let filter = unique.filter.as_ref().map(|filter| format!(", where: {filter:?}")).unwrap_or_default();
                match !unique.folded.is_empty() {
                    // An index on expressions is written as text.
                    true => {
                        let keys = key_list(schema, unique).join(", ");
                        format!("add_index :{table}, {keys:?}, unique: true{filter}")
                    }
                    false => {
                        let columns = unique_columns(schema, unique).into_iter();
                        let symbols: Vec<String> = columns.map(|column| format!(":{column}")).collect();
                        format!("add_index :{table}, [{}], unique: true{filter}", symbols.join(", "))
                    }
                }
            }
            Edit::NotNull(reference) => {
                let table = table_name(schema, schema.child(*reference));
                format!("change_column_null :{table}, :{}, false", column_name(schema, *reference))
            }
        }
    }
}

/// A declaration of Rails, with the options that its names do not imply.
fn declared(schema: &Schema<'_>, association: &Association) -> String {
    let model = schema.model;
    let (Path::Inverse(reference), Some(target)) = (&association.path, association.target) else {
        return String::new();
    };
    let inflections = Inflections::default();
    let class = &model.class(target).name;
    let mut line = format!("{} :{}", macro_name(association.kind), association.name);
    let by_name = match association.kind {
        Kind::HasMany => inflections.camelize(&inflections.singularize(&association.name)),
        _ => inflections.camelize(&association.name),
    };
    if by_name != **class {
        line += &format!(", class_name: \"{class}\"");
    }
    let stored = model.reference(*reference);
    let column = column_name(schema, *reference);
    if matches!(stored.target, Target::Any(_)) {
        line += &format!(", as: :{}", stored.name);
    } else if inflections.foreign_key(&model.class(association.owner).name) != column {
        line += &format!(", foreign_key: :{column}");
    }
    if let Some(said) = association.on_delete {
        line += &format!(", dependent: {}", rule(Framework::Rails, association.kind, said));
    }
    line
}

fn guard_pairs(schema: &Schema<'_>, join: JoinId) -> String {
    let declared = schema.model.join(join);
    let sides = [declared.left, declared.right];
    let column = |class: ClassId| Inflections::default().foreign_key(&schema.model.class(class).name);
    let statement = |class: ClassId| {
        let table = table_name(schema, class);
        match schema.model.framework {
            Framework::Rails => format!("add_foreign_key :{}, :{table}, on_delete: :cascade", declared.name),
            _ => format!(
                "ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {table} ON DELETE CASCADE;",
                declared.name,
                column(class)
            ),
        }
    };
    match sides {
        [left, right] if left == right => format!("{}  # for either column", statement(left)),
        _ => sides.map(statement).join("\n"),
    }
}

impl Work<'_, '_> {
    /// The first change that helps, about what names a deleted object: it goes too if it needs what it names, otherwise
    /// it is cut off.
    pub(super) fn remedy(&self, reference: ReferenceId, target: ClassId, property: &Property) -> Option<Remedy> {
        let needed = self.schema.model.reference(reference).required > Required::No;
        // What is compared with a natural key is data of its own; emptying it would lose them.
        let is_natural = self.schema.model.reference(reference).key.is_some();
        let order = if needed { [true, false] } else { [false, true] };
        let edits = order
            .into_iter()
            .filter(|destroy| !is_natural || *destroy && needed)
            .filter_map(|destroy| self.edit(reference, target, destroy));
        edits.into_iter().find_map(|edit| self.tried(edit, property))
    }

    fn edit(&self, reference: ReferenceId, target: ClassId, destroy: bool) -> Option<Edit> {
        let model = self.schema.model;
        let action = if destroy { OnDelete::Cascade } else { OnDelete::SetNull };
        let is_any = matches!(model.reference(reference).target, Target::Any(_));
        match model.framework {
            Framework::Rails => {}
            Framework::Sql => return Some(Edit::ForeignKey(reference, action)),
            Framework::Django | Framework::Prisma => return (!is_any).then_some(Edit::Field(reference, action)),
        }
        let said = if destroy { DeleteRule::Destroy } else { DeleteRule::Nullify };
        Some(match self.inverse(reference, target) {
            Some(id) if model.association(id).condition.is_none() => Edit::Dependent(id, said),
            // What the application means by its name stays as it is.
            Some(id) => {
                let near = model.association(id);
                let made = Association { place: near.place.clone(), ..self.added(reference, target, said) };
                Edit::Declare(Box::new(Association { name: format!("all_{}", near.name).into(), ..made }))
            }
            None => Edit::Declare(Box::new(self.added(reference, target, said))),
        })
    }

    fn added(&self, reference: ReferenceId, target: ClassId, rule: DeleteRule) -> Association {
        let child = self.schema.child(reference);
        let name = Inflections::default().pluralize(&variable_name(&self.name(child)));
        let taken = self.schema.model.association_named(target, &name).is_some();
        let stored = &self.schema.model.reference(reference).name;
        Association {
            owner: target,
            name: if taken { format!("{name}_as_{stored}").into() } else { name.into() },
            kind: Kind::HasMany,
            target: Some(child),
            path: Path::Inverse(reference),
            condition: None,
            is_choice: false,
            on_delete: Some(rule),
            place: self.schema.model.class(target).place.clone(),
        }
    }

    /// A change, if a property is proved with it.
    pub(super) fn tried(&self, edit: Edit, property: &Property) -> Option<Remedy> {
        self.scope.is_none().then_some(())?;
        self.holds_with(&edit.apply(self.schema.model), property).then(|| self.proposal(edit))
    }

    /// A change to the database that makes what is wrong impossible, because the database then refuses it.
    pub(super) fn migration(&self, edit: Edit) -> Remedy {
        self.proposal(edit)
    }

    /// Drops the changes that make something else go wrong: all that is asked is asked again of the changed model,
    /// about the deletes that the change can concern.
    pub(super) fn keep_safe_remedies(&mut self) -> Result<(), Silence> {
        let known: BTreeSet<String> = self.found.troubles.iter().map(|trouble| trouble.id.clone()).collect();
        let mut troubles = std::mem::take(&mut self.found.troubles);
        for trouble in &mut troubles {
            let Some(edit) = trouble.remedy.as_ref().map(|remedy| &remedy.edit) else { continue };
            let roots = edit.concerns(self.schema);
            if roots.is_empty() {
                continue;
            }
            let model = edit.apply(self.schema.model);
            let schema = Schema::new(&model, self.schema.semantics);
            let classes = (0..model.classes.len()).map(ClassId);
            let scope = classes.filter(|class| {
                let reached = schema.reach(*class);
                roots.iter().any(|root| reached.contains(*root))
            });
            let mut again = Work::new(&schema, self.solver, self.limits, Some(scope.collect()));
            again.all()?;
            if again.found.troubles.iter().any(|other| !known.contains(&other.id)) {
                trouble.remedy = None;
            }
        }
        self.found.troubles = troubles;
        Ok(())
    }

    fn proposal(&self, edit: Edit) -> Remedy {
        let (code, place) = (edit.code(self.schema), edit.place(self.schema.model));
        Remedy { edit, code, place, patch: None }
    }
}
