//! A model under one semantics.
//!
//! `paper` is that of Nijjar and Bultan (ASE 2012): every belongs_to names exactly one object, `has_one` is one-to-one,
//! only `dependent: destroy` and `delete` do anything, validations and the database do not exist. The others are what
//! the frameworks do: a reference is filled if a validation or NOT NULL says so, nullify and restrict count, and behind
//! the ORM stands the database with its own rules. With `sql` there is nothing but these; Prisma may emulate them.
//!
//! What is assumed of data before a delete, under all semantics: no reference names a row that does not exist. If no
//! delete breaks that, it stays true; this is what "no dangling" proves step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::worlds::{self, World};
use crate::model::{
    Association, AssociationId, ClassId, DataModel, DeleteRule, Framework, JoinId, Kind, OnDelete, Path, ReferenceId,
    Required, Side, Target,
};

/// Whose rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semantics {
    /// Those of the paper.
    Paper,
    /// Those of Ruby on Rails, and the database behind it.
    Rails,
    /// Those of Django: everything that goes is collected first.
    Django,
    /// Referential actions of Prisma.
    Prisma,
    /// The database alone.
    Sql,
}

impl Semantics {
    /// Every semantics, with what it is called.
    pub const ALL: &'static [(&'static str, Semantics)] = &[
        ("paper", Semantics::Paper),
        ("rails", Semantics::Rails),
        ("django", Semantics::Django),
        ("prisma", Semantics::Prisma),
        ("sql", Semantics::Sql),
    ];

    /// What a framework really does.
    pub fn of(framework: Framework) -> Semantics {
        match framework {
            Framework::Rails => Semantics::Rails,
            Framework::Django => Semantics::Django,
            Framework::Prisma => Semantics::Prisma,
            Framework::Sql => Semantics::Sql,
        }
    }

    /// Whether a delete follows rules outside the database, or is one statement to it.
    pub fn has_orm(self) -> bool {
        self != Semantics::Sql
    }
}

/// A model with what it means.
#[derive(Clone, Debug)]
pub struct Schema<'m> {
    /// What was read.
    pub model: &'m DataModel,
    /// Whose rules apply.
    pub semantics: Semantics,
    /// How associations lead where they lead, by association; a path that comes back to itself is [`Path::Unknown`].
    pub paths: Vec<Path>,
    /// The topmost class whose objects those of a class are, by class.
    pub roots: Vec<ClassId>,
    /// What is known of references, by reference.
    pub references: Vec<Stored>,
    /// What is unique.
    pub unique: Vec<Unique>,
    /// What a delete does, in the order in which it does it.
    pub rules: Vec<Rule>,
    /// Conditions of associations; nothing is known of them but which objects they are about.
    pub conditions: Vec<Condition>,
    /// Which of the conditions that are understood can be met together, by root.
    pub worlds: BTreeMap<ClassId, Vec<World>>,
    /// What happens when an object is deleted and is not understood.
    pub unclear: Vec<Unclear>,
    /// What else may go when an object of a root does.
    follows: BTreeMap<ClassId, Vec<Follows>>,
}

/// Something that happens when an object is deleted and is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unclear {
    /// Of this class.
    pub owner: ClassId,
    /// Why nothing can be said.
    pub reason: String,
}

/// What goes with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Follows {
    /// Of which root.
    root: ClassId,
    /// Only if the first goes with its rules, not past them.
    by_rule: bool,
    /// It goes with its own rules.
    with_rules: bool,
}

/// What the delete of an object can reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Roots of classes of which objects may be destroyed, with what follows.
    pub destroyed: BTreeSet<ClassId>,
    /// Roots of classes of which rows may be deleted without more.
    pub deleted: BTreeSet<ClassId>,
}

impl Reached {
    /// Whether objects of a root may be gone.
    pub fn contains(&self, root: ClassId) -> bool {
        self.destroyed.contains(&root) || self.deleted.contains(&root)
    }
}

/// What is known of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The classes of what it names.
    pub targets: Vec<ClassId>,
    /// It names something, as long as nothing is deleted.
    pub filled: bool,
    /// It cannot be made to name nothing.
    pub not_null: bool,
    /// What the database does.
    pub database: Option<OnDelete>,
}

/// No two objects of a class (that meet a condition) agree on these references, all of them filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unique {
    /// The class.
    pub class: ClassId,
    /// On what they would agree.
    pub references: Vec<ReferenceId>,
    /// Only objects that meet this are concerned.
    pub condition: Option<usize>,
}

/// A condition of associations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The root of the classes whose objects may meet it.
    pub root: ClassId,
    /// As it is written.
    pub text: Arc<str>,
}

/// What the ORM does when an object is destroyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// To objects of this class,
    pub owner: ClassId,
    /// unless they are of one of these, which declare the association anew.
    pub except: Vec<ClassId>,
    /// What it is done to.
    pub reach: Reach,
    /// Only objects that meet this.
    pub condition: Option<usize>,
    /// Only objects whose reference is filled: the join rows of a `through`.
    pub filled: Option<ReferenceId>,
    /// What is done.
    pub action: Action,
    /// Where it is declared.
    pub association: AssociationId,
}

/// What a rule is applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The objects that name the owner by this reference; before the owner's row goes.
    Children(ReferenceId),
    /// The object that the owner names; after its row has gone.
    Parent(ReferenceId),
    /// The pairs of a join; before.
    Pairs(JoinId, Side),
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Destroys each, with what follows from that.
    Destroy,
    /// Destroys each, when everything else is done.
    Later,
    /// Deletes the rows.
    Delete,
    /// Makes them name nothing.
    Nullify,
    /// Declines if there are any.
    Refuse,
    /// Declines if there are any that would stay.
    RefuseOthers,
}

impl Action {
    /// Whether nothing is left of what it was applied to for later rules on the same reference.
    pub fn settles(self) -> bool {
        matches!(self, Action::Destroy | Action::Delete | Action::Nullify)
    }
}

impl<'m> Schema<'m> {
    /// What a model means.
    pub fn new(model: &'m DataModel, semantics: Semantics) -> Schema<'m> {
        let classes = || (0..model.classes.len()).map(ClassId);
        let mut schema = Schema {
            model,
            semantics,
            paths: (0..model.associations.len()).map(|a| sane_path(model, AssociationId(a))).collect(),
            roots: classes().map(|class| root(model, class)).collect(),
            references: (0..model.references.len()).map(|r| stored(model, ReferenceId(r), semantics)).collect(),
            unique: Vec::new(),
            rules: Vec::new(),
            conditions: Vec::new(),
            worlds: BTreeMap::new(),
            unclear: Vec::new(),
            follows: BTreeMap::new(),
        };
        schema.find_conditions();
        schema.worlds = worlds::worlds(&schema);
        schema.find_rules();
        schema.find_code();
        schema.find_unique();
        schema.find_follows();
        schema
    }

    /// Code that runs when objects are destroyed. The paper knows none.
    fn find_code(&mut self) {
        if !matches!(self.semantics, Semantics::Rails | Semantics::Django) {
            return;
        }
        for (index, class) in self.model.classes.iter().enumerate() {
            let found = class
                .destroy_code
                .iter()
                .map(|code| Unclear { owner: ClassId(index), reason: format!("{} ({})", code.message, code.place) });
            self.unclear.extend(found);
        }
    }

    /// What is not understood about deletes that reach so far.
    pub fn unclear_in(&self, reached: &Reached) -> Option<&Unclear> {
        self.unclear.iter().find(|unclear| reached.destroyed.contains(&self.root(unclear.owner)))
    }

    /// Whether it is understood which objects meet a condition.
    pub fn is_understood(&self, condition: usize) -> bool {
        let Condition { root, text } = &self.conditions[condition];
        self.worlds.contains_key(root) && self.model.meanings.contains_key(text)
    }

    /// The condition of an association; of one that is a choice, that an object is the one that is chosen.
    fn condition_text(&self, association: &Association) -> Option<Arc<str>> {
        let chooses = association.is_choice
            && association.kind == Kind::HasOne
            && association.on_delete.is_some()
            && self.semantics != Semantics::Paper;
        association.condition.clone().or_else(|| chooses.then(|| "the one of several that it chooses".into()))
    }

    /// What the delete of an object of a class can reach, at most.
    pub fn reach(&self, class: ClassId) -> Reached {
        let mut reached = Reached::default();
        let mut queue = vec![(self.root(class), self.semantics.has_orm())];
        while let Some((root, with_rules)) = queue.pop() {
            let known = if with_rules { &mut reached.destroyed } else { &mut reached.deleted };
            if known.insert(root) {
                let next = self.follows.get(&root).into_iter().flatten();
                queue.extend(next.filter(|f| with_rules || !f.by_rule).map(|f| (f.root, f.with_rules)));
            }
        }
        reached
    }

    /// The root of a class.
    pub fn root(&self, class: ClassId) -> ClassId {
        self.roots[class.0]
    }

    /// The class that has a reference.
    pub fn child(&self, reference: ReferenceId) -> ClassId {
        self.model.reference(reference).child
    }

    /// The roots of what a reference names.
    pub fn target_roots(&self, reference: ReferenceId) -> Vec<ClassId> {
        let mut roots: Vec<ClassId> = self.references[reference.0].targets.iter().map(|t| self.root(*t)).collect();
        roots.sort();
        roots.dedup();
        roots
    }

    /// The condition of this text about objects of a root.
    pub fn condition(&self, root: ClassId, text: &str) -> Option<usize> {
        self.conditions.iter().position(|known| known.root == root && *known.text == *text)
    }

    /// The rules for objects of exactly this class, in their order.
    pub fn rules_of(&self, class: ClassId) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| {
            self.model.is_a(class, rule.owner) && !rule.except.iter().any(|other| self.model.is_a(class, *other))
        })
    }

    /// Whether objects of a class can exist that are of no class below it.
    pub fn is_concrete(&self, class: ClassId) -> bool {
        !self.model.class(class).is_abstract
    }

    /// The classes directly below one.
    pub fn below(&self, class: ClassId) -> Vec<ClassId> {
        let is_below = |other: &ClassId| *other != class && self.model.class(*other).parent == Some(class);
        let below = (0..self.model.classes.len()).map(ClassId).filter(is_below);
        below.filter(|other| self.root(*other) == self.root(class)).collect()
    }

    /// Whether a row of a class really goes, or is only marked.
    pub fn row_goes(&self, class: ClassId) -> bool {
        self.semantics == Semantics::Paper || !self.model.class(self.root(class)).soft_delete
    }

    /// Whether the database lets no pair of a join name what is gone.
    pub fn pairs_are_guarded(&self, join: JoinId) -> bool {
        match self.model.join(join).on_delete {
            Some(OnDelete::Cascade) => true,
            Some(_) => self.semantics != Semantics::Paper,
            None => false,
        }
    }

    /// How an association leads where it leads.
    pub fn path(&self, id: AssociationId) -> &Path {
        &self.paths[id.0]
    }

    fn find_conditions(&mut self) {
        for association in &self.model.associations {
            let Some(text) = &self.condition_text(association) else { continue };
            let targets = match association.target {
                Some(target) => vec![target],
                None => crate::property::Way::Association(self.id_of(association)).targets(self.model),
            };
            for target in targets {
                let root = self.root(target);
                if self.condition(root, text).is_none() {
                    self.conditions.push(Condition { root, text: text.clone() });
                }
            }
        }
    }

    fn id_of(&self, association: &Association) -> AssociationId {
        let at = self.model.associations.iter().position(|known| std::ptr::eq(known, association));
        AssociationId(at.expect("the association is one of the model's"))
    }

    fn find_rules(&mut self) {
        let model = self.model;
        // Of several associations with one name in one class the last counts.
        let last: BTreeMap<(ClassId, &str), usize> =
            model.associations.iter().enumerate().map(|(index, a)| ((a.owner, &*a.name), index)).collect();
        let ancestors: Vec<Vec<ClassId>> = (0..model.classes.len()).map(|c| ancestors(model, ClassId(c))).collect();
        let mut heirs: BTreeMap<ClassId, Vec<ClassId>> = BTreeMap::new();
        for (class, above) in ancestors.iter().enumerate() {
            above.iter().for_each(|ancestor| heirs.entry(*ancestor).or_default().push(ClassId(class)));
        }
        let mut rules: Vec<(usize, Rule)> = Vec::new();
        for (index, association) in model.associations.iter().enumerate() {
            let id = AssociationId(index);
            if last.get(&(association.owner, &*association.name)) != Some(&index) {
                continue;
            }
            let redeclares = |class: &&ClassId| last.contains_key(&(**class, &*association.name));
            let except = heirs.get(&association.owner).into_iter().flatten().filter(redeclares).copied().collect();
            match self.rule(id, except) {
                Some(rule) => rules.push((ancestors[association.owner.0].len(), rule)),
                None if self.is_unclear(id) => {
                    let owner = &model.class(association.owner).name;
                    let (name, place) = (&association.name, &association.place);
                    let reason =
                        format!("the delete goes by {owner}.{name}, and what that does is not understood ({place})");
                    self.unclear.push(Unclear { owner: association.owner, reason });
                }
                None => {}
            }
        }
        // Callbacks of a class run before those that a class below it adds.
        rules.sort_by_key(|(depth, _)| *depth);
        self.rules = rules.into_iter().map(|(_, rule)| rule).collect();
        if self.semantics == Semantics::Django {
            self.add_pairs();
        }
    }

    /// Django removes the pairs of a join with either side, whether or not that side has a name for the way back.
    fn add_pairs(&mut self) {
        for index in 0..self.model.associations.len() {
            let Path::Join(join, _) = self.paths[index] else { continue };
            let declared = self.model.join(join);
            for (side, owner) in [(Side::Left, declared.left), (Side::Right, declared.right)] {
                let reach = Reach::Pairs(join, side);
                if !self.rules.iter().any(|rule| rule.reach == reach) {
                    let id = AssociationId(index);
                    let (except, condition, filled) = (Vec::new(), None, None);
                    let action = Action::Delete;
                    self.rules.push(Rule { owner, except, reach, condition, filled, action, association: id });
                }
            }
        }
    }

    fn rule(&self, id: AssociationId, except: Vec<ClassId>) -> Option<Rule> {
        let association = self.model.association(id);
        let (reach, filled) = match (self.path(id), association.kind) {
            (Path::Inverse(reference), _) => (Reach::Children(*reference), None),
            (Path::Own(reference), _) => (Reach::Parent(*reference), None),
            (Path::Join(join, side), _) => (Reach::Pairs(*join, *side), None),
            (Path::Through(first, last), Kind::HasMany | Kind::ManyToMany) => self.join_rows(*first, *last)?,
            (Path::Through(..) | Path::Unknown, _) => return None,
        };
        let condition = match (&self.condition_text(association), reach, filled) {
            // The condition is one on the far objects, not on the join rows.
            (Some(_), _, Some(_)) => return None,
            (Some(text), _, None) => association.target.and_then(|target| self.condition(self.root(target), text)),
            (None, ..) => None,
        };
        let action = self.action(reach, association.on_delete)?;
        Some(Rule { owner: association.owner, except, reach, condition, filled, action, association: id })
    }

    /// Whether an association without a rule should have one: it leads to objects of a class, in a way that is too
    /// involved.
    fn is_unclear(&self, id: AssociationId) -> bool {
        let association = self.model.association(id);
        let involved = match self.path(id) {
            // Rails ignores it at a `has_one` that goes through another.
            Path::Through(..) => association.kind != Kind::HasOne,
            Path::Unknown => true,
            _ => false,
        };
        let acts = self.action(Reach::Children(ReferenceId(0)), association.on_delete).is_some();
        involved && acts && association.target.is_some()
    }

    fn find_follows(&mut self) {
        let mut follows: BTreeMap<ClassId, Vec<Follows>> = BTreeMap::new();
        for rule in &self.rules {
            let with_rules = match rule.action {
                Action::Destroy | Action::Later => true,
                Action::Delete => false,
                Action::Nullify | Action::Refuse | Action::RefuseOthers => continue,
            };
            let targets = match rule.reach {
                Reach::Children(reference) => vec![self.root(self.child(reference))],
                Reach::Parent(reference) => self.target_roots(reference),
                Reach::Pairs(..) => Vec::new(),
            };
            let next = follows.entry(self.root(rule.owner)).or_default();
            next.extend(targets.into_iter().map(|root| Follows { root, by_rule: true, with_rules }));
        }
        for (index, stored) in self.references.iter().enumerate() {
            if stored.database == Some(OnDelete::Cascade) {
                let root = self.root(self.child(ReferenceId(index)));
                for target in self.target_roots(ReferenceId(index)) {
                    let cascade = Follows { root, by_rule: false, with_rules: false };
                    follows.entry(target).or_default().push(cascade);
                }
            }
        }
        self.follows = follows;
    }

    /// A delete rule on `through` concerns the rows in between: those that lead on.
    fn join_rows(&self, first: AssociationId, last: AssociationId) -> Option<(Reach, Option<ReferenceId>)> {
        match (self.path(first), self.path(last)) {
            (Path::Inverse(near), Path::Own(far)) if self.model.association(first).condition.is_none() => {
                Some((Reach::Children(*near), Some(*far)))
            }
            _ => None,
        }
    }

    fn action(&self, reach: Reach, declared: Option<DeleteRule>) -> Option<Action> {
        if !self.semantics.has_orm() {
            return None;
        }
        if matches!(reach, Reach::Pairs(..)) {
            return Some(Action::Delete);
        }
        let action = match declared? {
            DeleteRule::Destroy => Action::Destroy,
            DeleteRule::DestroyLater => Action::Later,
            DeleteRule::Delete => Action::Delete,
            DeleteRule::Nullify => Action::Nullify,
            DeleteRule::Restrict => Action::Refuse,
            DeleteRule::RestrictOthers => Action::RefuseOthers,
            DeleteRule::Nothing => return None,
        };
        let in_paper = matches!(action, Action::Destroy | Action::Delete);
        let possible = !matches!(reach, Reach::Parent(_)) || in_paper || action == Action::Later;
        (possible && (in_paper || self.semantics != Semantics::Paper)).then_some(action)
    }

    fn find_unique(&mut self) {
        let mut found = Vec::new();
        for association in self.model.associations.iter().filter(|a| a.kind == Kind::HasOne && !a.is_choice) {
            let Path::Inverse(reference) = association.path else { continue };
            let several = |other: &Association| {
                other.kind == Kind::HasMany && other.path == Path::Inverse(reference) && other.condition.is_none()
            };
            let condition = association.target.zip(association.condition.as_ref());
            let condition = condition.and_then(|(target, text)| self.condition(self.root(target), text));
            // Where one class has many, another has one of them: a choice that nobody marked.
            if condition.is_some() || !self.model.associations.iter().any(several) {
                let class = self.child(reference);
                found.push(Unique { class, references: vec![reference], condition });
            }
        }
        if self.semantics != Semantics::Paper {
            for (index, reference) in self.model.references.iter().enumerate().filter(|(_, r)| r.unique) {
                let references = vec![ReferenceId(index)];
                found.push(Unique { class: reference.child, references, condition: None });
            }
            for known in &self.model.uniqueness {
                let about_references = known.columns.is_empty() && !known.references.is_empty() && !known.partial;
                if about_references && (known.validated || known.enforced) {
                    let references = known.references.clone();
                    found.push(Unique { class: known.class, references, condition: None });
                }
            }
        }
        for unique in found {
            if !self.unique.contains(&unique) {
                self.unique.push(unique);
            }
        }
    }
}

/// The classes above one, nearest first.
fn ancestors(model: &DataModel, class: ClassId) -> Vec<ClassId> {
    let mut found = Vec::new();
    let mut at = class;
    while let Some(parent) = model.class(at).parent.filter(|parent| *parent != class && !found.contains(parent)) {
        found.push(parent);
        at = parent;
    }
    found
}

/// The topmost class of a tree; what is abstract and has no table is no tree.
fn root(model: &DataModel, class: ClassId) -> ClassId {
    let mut at = class;
    for _ in 0..model.classes.len() {
        match model.class(at).parent {
            Some(parent) if parent != at && !is_mere_base(model, parent) => at = parent,
            _ => break,
        }
    }
    at
}

fn is_mere_base(model: &DataModel, class: ClassId) -> bool {
    model.class(class).is_abstract && model.class(class).table.is_none()
}

fn sane_path(model: &DataModel, id: AssociationId) -> Path {
    fn leads_back(model: &DataModel, at: AssociationId, seen: &mut Vec<AssociationId>) -> bool {
        let Path::Through(first, last) = model.association(at).path else { return false };
        if seen.contains(&at) {
            return true;
        }
        seen.push(at);
        let back = leads_back(model, first, seen) || leads_back(model, last, seen);
        seen.pop();
        back
    }
    match leads_back(model, id, &mut Vec::new()) {
        true => Path::Unknown,
        false => model.association(id).path.clone(),
    }
}

fn stored(model: &DataModel, id: ReferenceId, semantics: Semantics) -> Stored {
    let reference = model.reference(id);
    let targets = match &reference.target {
        Target::Class(class) => vec![*class],
        Target::Any(classes) => classes.clone(),
    };
    match semantics {
        Semantics::Paper => Stored { filled: !targets.is_empty(), targets, not_null: false, database: None },
        _ => Stored {
            filled: reference.required > Required::No && !targets.is_empty(),
            targets,
            not_null: reference.required == Required::NotNull,
            database: reference.on_delete,
        },
    }
}
