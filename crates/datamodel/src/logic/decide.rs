//! Deciding a property: a proof for all data, or a small instance that was replayed.
//!
//! First the solver is asked without bounds, for a short time: "unsatisfiable" settles it. Otherwise universes of one,
//! two, three objects per sort are searched for the smallest instance. What is found is completed with the objects that
//! the rest of the model demands, the delete is carried out on it by [`execute`], and the property is looked at again.
//! Only then is it an answer. What exists in infinite universes only is not found in this way, and so is never reported
//! as a bug.

use std::time::Duration;

use isolde_smt::{Answer, Assignment, Silence, Sizes, Solver, finite};

use super::encode::{self, DELETED, Encoded, condition_name, is_name, join_name, reference_names, unknown_name};
use super::evaluate::{self, Scene};
use super::execute::{self, Order, Outcome};
use super::instance::{Instance, Object};
use super::project::Projection;
use super::schema::{Reach, Rule, Schema, Semantics};
use crate::model::ClassId;
use crate::property::{Mode, Property, Way};

/// A property to decide.
#[derive(Clone, Copy)]
pub struct Question<'a, 'm> {
    /// What the model means.
    pub schema: &'a Schema<'m>,
    /// What is asked.
    pub property: &'a Property,
    /// What may be assumed.
    pub assumptions: &'a [Property],
}

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Leave out what the property cannot depend on.
    pub projection: bool,
    /// How long the solver may think about one question.
    pub timeout: Duration,
    /// How many objects per sort a counterexample may have.
    pub objects_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { projection: true, timeout: Duration::from_secs(10), objects_max: 4 }
    }
}

/// What is known about a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An assertion is true of all data; a predicate is true of these.
    Holds(Option<Case>),
    /// An assertion is not true of these data; a predicate is true of none.
    Fails(Option<Case>),
    /// Nothing is known, for this reason.
    Unknown(String),
}

/// Some data, and what a delete does to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The data.
    pub before: Instance,
    /// What is deleted, and what becomes of it.
    pub delete: Option<(usize, Outcome)>,
}

impl Case {
    /// The data that are left: the same, if nothing was deleted or the delete did not go through.
    pub fn after(&self) -> &Instance {
        match &self.delete {
            Some((_, Outcome::Done(after))) => after,
            _ => &self.before,
        }
    }
}

/// Whether data with so many objects of each class break an assertion, or show a predicate; nothing is said about more.
pub fn bounded(question: Question<'_, '_>, size: usize, solver: &Solver, limits: Limits) -> Result<bool, Silence> {
    let encoded = encoded(question, limits).1;
    let found = finite::search(&encoded.script, &sizes(&encoded, size), &[], solver, limits.timeout)?;
    Ok(found.is_some())
}

/// The part of the model that is looked at, and the question about it.
pub fn encoded(question: Question<'_, '_>, limits: Limits) -> (Projection, Encoded) {
    let part = part(question, limits);
    let encoded = encode::encode(question.schema, &part, question.property, question.assumptions);
    (part, encoded)
}

fn part(Question { schema, property, assumptions }: Question<'_, '_>, limits: Limits) -> Projection {
    match limits.projection {
        true => Projection::of(schema, property, assumptions),
        false => Projection::whole(schema, property),
    }
}

/// What part of the time a first attempt at a proof may take.
const SHORT: u32 = 10;

/// Decides a property: of the part of the model that it can depend on. If data of that part break it and could not be
/// there in the whole, more of the model is looked at.
pub fn decide(question: Question<'_, '_>, solver: &Solver, limits: Limits) -> Result<Verdict, Silence> {
    let verdict = decide_as_written(question, solver, limits)?;
    let doubt = match &verdict {
        Verdict::Holds(Some(case)) | Verdict::Fails(Some(case)) => doubt(question.schema, case),
        _ => None,
    };
    Ok(doubt.map_or(verdict, Verdict::Unknown))
}

/// Why data that were found may not be what they seem: a rule concerns some of the objects only, and it is not
/// understood which.
pub fn doubt(schema: &Schema<'_>, case: &Case) -> Option<String> {
    case.delete.as_ref().filter(|_| schema.semantics != Semantics::Paper)?;
    let objects = &case.before.objects;
    let applies = |rule: &&Rule| {
        let Reach::Children(reference) = rule.reach else { return false };
        let named = objects.iter().filter_map(|object| object.references.get(&reference));
        named.into_iter().any(|target| schema.model.is_a(objects[*target].class, rule.owner))
    };
    let vague = |rule: &&Rule| rule.condition.is_some_and(|condition| !schema.is_understood(condition));
    let rule = schema.rules.iter().filter(vague).find(applies)?;
    let association = schema.model.association(rule.association);
    let owner = &schema.model.class(association.owner).name;
    let text = rule.condition.map(|condition| schema.conditions[condition].text.clone()).unwrap_or_default();
    let (name, place) = (&association.name, &association.place);
    Some(format!("{owner}.{name} concerns only some objects, and `{text}` is not understood ({place})"))
}

fn decide_as_written(question: Question<'_, '_>, solver: &Solver, limits: Limits) -> Result<Verdict, Silence> {
    // A model of this size is beyond what is worth waiting for.
    const CLASSES_MAX: usize = 60;
    let Question { schema, property, assumptions } = question;
    if let Some(reason) = unclear(schema, property) {
        return Ok(Verdict::Unknown(reason));
    }
    let part = part(question, limits);
    let mut verdict = match attempt(question, &part, solver, limits)? {
        Attempt::Decided(verdict) => return Ok(verdict),
        Attempt::Unreal(verdict) => verdict,
    };
    let mut tried = vec![part];
    for wider in [Projection::demanded(schema, property, assumptions), Projection::whole(schema, property)] {
        if wider.classes.len() > CLASSES_MAX || tried.contains(&wider) {
            continue;
        }
        match attempt(question, &wider, solver, limits)? {
            Attempt::Decided(decided) => return Ok(decided),
            Attempt::Unreal(unreal) => verdict = unreal,
        }
        tried.push(wider);
    }
    Ok(verdict)
}

/// What came of looking at a part of the model.
enum Attempt {
    Decided(Verdict),
    /// Data of the part break it, and could not be there in the whole; what is left to say.
    Unreal(Verdict),
}

fn attempt(question: Question<'_, '_>, part: &Projection, solver: &Solver, limits: Limits) -> Result<Attempt, Silence> {
    let Question { schema, property, assumptions } = question;
    let encoded = encode::encode(schema, part, property, assumptions);
    // Small data often break what takes long to prove: a short question first, then these, then as long as it may take.
    let prove = |timeout| match solver.ask(&encoded.script, timeout) {
        Err(missing @ Silence::Missing(_)) => Err(missing),
        answer => Ok(answer),
    };
    let mut answer = prove(limits.timeout / SHORT)?;
    if answer == Ok(Answer::Unsat) {
        return Ok(Attempt::Decided(none(property.mode)));
    }
    let (mut unreal, mut gave_up) = (false, None);
    for size in 1..=limits.objects_max {
        match finite::search(&encoded.script, &sizes(&encoded, size), &encoded.existence, solver, limits.timeout) {
            Ok(Some(found)) => {
                let (instance, deleted) = read(schema, part, &encoded, &found, size, property);
                match replay(question, instance, deleted) {
                    Some(case) => return Ok(Attempt::Decided(some(property.mode, case))),
                    None => unreal = true,
                }
            }
            Ok(None) => {}
            Err(missing @ Silence::Missing(_)) => return Err(missing),
            Err(silence) => {
                gave_up = Some(format!("{silence}, at {size} objects of each class"));
                break;
            }
        }
    }
    if matches!(answer, Err(Silence::Timeout(_))) {
        answer = prove(limits.timeout)?;
    }
    if answer == Ok(Answer::Unsat) {
        return Ok(Attempt::Decided(none(property.mode)));
    }
    let most = limits.objects_max;
    let verdict = Verdict::Unknown(match (gave_up, unreal, answer) {
        (Some(reason), ..) => reason,
        (None, true, _) => "it depends on the order among objects in a way that is not modelled exactly".into(),
        (None, false, Err(silence)) => {
            format!("{silence}; up to {most} objects of each class there is no counterexample")
        }
        (None, false, Ok(_)) => {
            format!("no data with up to {most} objects of each class decide it, and no proof covers the rest")
        }
    });
    Ok(if unreal { Attempt::Unreal(verdict) } else { Attempt::Decided(verdict) })
}

/// What the model does not know and the property depends on: nothing can be claimed then.
fn unclear(schema: &Schema<'_>, property: &Property) -> Option<String> {
    let mut steps = property.formula.sets().into_iter().flat_map(|set| set.steps);
    if let Some((class, way)) = steps.find(|step| step.targets.is_empty()).and_then(|step| step.ways.first().copied()) {
        let name = match way {
            Way::Reference(reference) => &schema.model.reference(reference).name,
            Way::Association(id) => &schema.model.association(id).name,
        };
        return Some(format!("nothing is known of what {}.{name} may lead to", schema.model.class(class).name));
    }
    let reached = schema.reach(property.variables[property.delete?.0].class);
    schema.unclear_in(&reached).map(|unclear| unclear.reason.clone())
}

fn none(mode: Mode) -> Verdict {
    match mode {
        Mode::Always => Verdict::Holds(None),
        Mode::Possible => Verdict::Fails(None),
    }
}

fn some(mode: Mode, case: Case) -> Verdict {
    match mode {
        Mode::Always => Verdict::Fails(Some(case)),
        Mode::Possible => Verdict::Holds(Some(case)),
    }
}

fn sizes(encoded: &Encoded, size: usize) -> Sizes {
    let mut sizes: Sizes = encoded.sorts.values().map(|sort| (sort.clone(), size)).collect();
    if let Some((rank, roots)) = &encoded.ranks {
        sizes.insert(rank.clone(), size * roots.len());
    }
    sizes
}

/// The data of an assignment, and which of them is deleted.
fn read(
    schema: &Schema<'_>,
    part: &Projection,
    encoded: &Encoded,
    found: &Assignment,
    size: usize,
    property: &Property,
) -> (Instance, Option<usize>) {
    let mut instance = Instance::default();
    let mut known: Vec<(ClassId, usize)> = Vec::new();
    for root in encoded.sorts.keys() {
        for element in 0..size {
            if found.holds(&is_name(schema, *root), &[element]) {
                instance.objects.push(Object::new(lowest(schema, part, found, *root, element)));
                known.push((*root, element));
            }
        }
    }
    let at = |root: ClassId, element: usize| known.iter().position(|place| *place == (root, element));
    for (index, (root, element)) in known.iter().enumerate() {
        for reference in &part.references {
            for target in schema.target_roots(*reference) {
                let (filled, value) = reference_names(schema, *reference, target);
                let same = schema.root(schema.child(*reference)) == *root && found.holds(&filled, &[*element]);
                let named = found.value(&value, &[*element]).filter(|_| same).and_then(|value| at(target, value));
                if let Some(named) = named {
                    instance.objects[index].references.insert(*reference, named);
                }
            }
        }
        for (condition, _) in schema.conditions.iter().enumerate().filter(|(_, c)| c.root == *root) {
            if found.holds(&condition_name(condition), &[*element]) {
                instance.objects[index].conditions.insert(condition);
            }
        }
    }
    for (one, (root, element)) in known.iter().enumerate() {
        for (other, (far, far_element)) in known.iter().enumerate() {
            let row = [*element, *far_element];
            for join in &part.joins {
                let declared = schema.model.join(*join);
                let fits = (schema.root(declared.left), schema.root(declared.right)) == (*root, *far);
                if fits && found.holds(&join_name(schema, *join), &row) {
                    instance.pairs.insert((*join, one, other));
                }
            }
            for id in &part.unknown {
                let association = schema.model.association(*id);
                let target = association.target.map(|target| schema.root(target));
                let fits = schema.root(association.owner) == *root && target == Some(*far);
                if fits && found.holds(&unknown_name(*id), &row) {
                    instance.unknown.insert((*id, one, other));
                }
            }
        }
    }
    let deleted = property.delete.and_then(|variable| {
        let root = schema.root(property.variables[variable.0].class);
        at(root, found.value(DELETED, &[])?)
    });
    (instance, deleted)
}

/// The lowest class that an object is said to be of; one below it, if that is abstract.
fn lowest(schema: &Schema<'_>, part: &Projection, found: &Assignment, root: ClassId, element: usize) -> ClassId {
    let is = |class: &ClassId| part.classes.contains(class) && found.holds(&is_name(schema, *class), &[element]);
    let mut at = root;
    while let Some(below) = schema.below(at).into_iter().find(is) {
        at = below;
    }
    while !schema.is_concrete(at) {
        match schema.below(at).into_iter().find(|class| !part.classes.contains(class)) {
            Some(below) => at = below,
            None => break,
        }
    }
    at
}

/// Carries it out: the case, if it is what the solver said.
fn replay(question: Question<'_, '_>, instance: Instance, deleted: Option<usize>) -> Option<Case> {
    let schema = question.schema;
    instance.completions(schema).into_iter().find_map(|before| replay_with(question, before, deleted))
}

fn replay_with(question: Question<'_, '_>, before: Instance, deleted: Option<usize>) -> Option<Case> {
    let Question { schema, property, assumptions } = question;
    let state = Scene { schema, before: &before, outcome: None };
    let allowed = before.violation(schema).is_none() && assumptions.iter().all(|a| evaluate::is_true(state, a, None));
    if !allowed {
        return None;
    }
    let wanted = property.mode == Mode::Possible;
    let Some(deleted) = deleted else {
        return (evaluate::is_true(state, property, None) == wanted).then_some(Case { before, delete: None });
    };
    Order::ALL.into_iter().find_map(|order| {
        let outcome = execute::delete(schema, &before, deleted, order);
        let scene = Scene { schema, before: &before, outcome: Some(&outcome) };
        let counts = matches!(outcome, Outcome::Done(_)) || property.formula.asks_for_refusal();
        let shown = counts && evaluate::is_true(scene, property, Some(deleted)) == wanted;
        shown.then(|| Case { before: before.clone(), delete: Some((deleted, outcome)) })
    })
}
