//! Random small models and properties: what the solver says against all data of up to two or three objects per class.
//!
//! A proof must have no counterexample among them; where there is one, the solver must not have missed it.
//! `CASES=5000 cargo test -p isolde-datamodel --test differential` looks at more.

#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use isolde_datamodel::logic::evaluate::{self, Scene};
use isolde_datamodel::logic::{self, Instance, Limits, Object, Order, Outcome, Question, Schema, Semantics, Verdict};
use isolde_datamodel::property::{Mode, Properties, Property};
use isolde_datamodel::*;

/// Numbers that look random, and are the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % sides
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())].clone()
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.roll(times) == 0
    }
}

const NAMES: [&str; 3] = ["Ann", "Bob", "Cid"];

fn random_model(dice: &mut Dice, framework: Framework) -> DataModel {
    let classes = 2 + dice.roll(2);
    let mut model = DataModel { framework, ..DataModel::default() };
    for name in &NAMES[..classes] {
        let (name, place): (Arc<str>, _) = ((*name).into(), Place::default());
        let soft_delete = dice.once_in(12);
        model.classes.push(Class {
            name,
            parent: None,
            is_abstract: false,
            table: None,
            soft_delete,
            place,
            ..Class::default()
        });
    }
    if dice.once_in(4) {
        // The last is a kind of the first.
        model.classes[classes - 1].parent = Some(ClassId(0));
    }
    let class = |dice: &mut Dice| ClassId(dice.roll(classes));
    for index in 0..1 + dice.roll(3) {
        let target = match dice.once_in(5) {
            true => Target::Any((0..classes).map(ClassId).filter(|c| model.class(*c).parent.is_none()).collect()),
            false => Target::Class(class(dice)),
        };
        model.references.push(Reference {
            child: class(dice),
            name: format!("r{index}").into(),
            target,
            column: Some(format!("c{index}").into()),
            required: dice.pick(&[Required::No, Required::No, Required::Validated, Required::NotNull]),
            unique: dice.once_in(6),
            on_delete: match framework {
                Framework::Sql => Some(dice.pick(&DATABASE)),
                _ => dice.once_in(3).then(|| dice.pick(&DATABASE)),
            },
            key: None,
            place: Place::default(),
        });
        declare(dice, &mut model, ReferenceId(index));
    }
    if dice.once_in(4) {
        let on_delete = dice.pick(&[None, Some(OnDelete::Cascade), Some(OnDelete::NoAction)]);
        let (left, right) = (class(dice), class(dice));
        model.joins.push(Join { name: "pairs".into(), left, right, on_delete, place: Place::default() });
        push(&mut model, left, "far", Kind::ManyToMany, Some(right), Path::Join(JoinId(0), Side::Left), None);
    }
    model
}

const DATABASE: [OnDelete; 4] = [OnDelete::Cascade, OnDelete::SetNull, OnDelete::NoAction, OnDelete::Restrict];

const RULES: [DeleteRule; 8] = [
    DeleteRule::Destroy,
    DeleteRule::Destroy,
    DeleteRule::Destroy,
    DeleteRule::Delete,
    DeleteRule::Nullify,
    DeleteRule::Restrict,
    DeleteRule::DestroyLater,
    DeleteRule::Nothing,
];

/// Associations on both sides of a reference.
fn declare(dice: &mut Dice, model: &mut DataModel, id: ReferenceId) {
    let reference = model.reference(id).clone();
    let (targets, target) = match &reference.target {
        Target::Class(class) => (vec![*class], Some(*class)),
        Target::Any(classes) => (classes.clone(), None),
    };
    let up = dice.once_in(8).then_some(dice.pick(&[DeleteRule::Destroy, DeleteRule::Delete]));
    let up = up.filter(|_| model.framework == Framework::Rails);
    push(model, reference.child, &reference.name, Kind::BelongsTo, target, Path::Own(id), up);
    for owner in targets {
        let rules: &[DeleteRule] = if model.framework == Framework::Django { &DJANGO } else { &RULES };
        let rule = (!dice.once_in(3)).then(|| dice.pick(rules));
        let name = format!("{}_of", reference.name);
        let kind = if dice.once_in(6) { Kind::HasOne } else { Kind::HasMany };
        push(model, owner, &name, kind, Some(reference.child), Path::Inverse(id), rule);
        if dice.once_in(5) && model.framework == Framework::Rails {
            let rule = dice.once_in(2).then(|| dice.pick(rules));
            push(model, owner, &format!("some_{name}"), Kind::HasMany, Some(reference.child), Path::Inverse(id), rule);
            let (text, meaning) = dice.pick(&CONDITIONS);
            model.associations.last_mut().unwrap().condition = Some(text.into());
            let meaning = meaning.iter().map(|(column, value, is_one)| ColumnFact {
                column: (*column).into(),
                values: vec![value.map(|value| Literal::Text(value.into()))],
                is_one: *is_one,
            });
            model.meanings.insert(text.into(), meaning.collect());
        }
    }
}

/// Conditions on columns: of references, which exclude and complement each other, and on a plain one.
type Fact = (&'static str, Option<&'static str>, bool);
const CONDITIONS: [(&str, &[Fact]); 5] = [
    ("c0 is null", &[("c0", None, true)]),
    ("c0 is not null", &[("c0", None, false)]),
    ("c1 is null and kind is x", &[("c1", None, true), ("kind", Some("x"), true)]),
    ("kind is x", &[("kind", Some("x"), true)]),
    ("kind is not x", &[("kind", Some("x"), false)]),
];

const DJANGO: [DeleteRule; 5] =
    [DeleteRule::Destroy, DeleteRule::Nullify, DeleteRule::Restrict, DeleteRule::RestrictOthers, DeleteRule::Nothing];

fn push(
    model: &mut DataModel,
    owner: ClassId,
    name: &str,
    kind: Kind,
    target: Option<ClassId>,
    path: Path,
    on_delete: Option<DeleteRule>,
) {
    let (name, place) = (name.into(), Place::default());
    let (condition, is_choice) = (None, false);
    model.associations.push(Association { owner, name, kind, target, path, condition, is_choice, on_delete, place });
}

fn random_property(dice: &mut Dice, model: &DataModel) -> String {
    let class = |dice: &mut Dice| dice.pick(&model.classes).name.to_string();
    let id = dice.roll(model.associations.len());
    let association = &model.associations[id];
    let owner = &model.class(association.owner).name;
    let path = format!("{owner}.{}", association.name);
    let name = &association.name;
    let reference = dice.pick(&model.references);
    let stored = format!("{}.{}", model.class(reference.child).name, reference.name);
    let deleted = class(dice);
    match dice.roll(14) {
        0 => format!("always related {path}"),
        1 => format!("empty allowed {path}"),
        2 => format!("multiple allowed {path}"),
        3..=5 => format!("no dangling {stored} after {deleted}"),
        6 | 7 => format!("delete propagates {deleted} to {stored}"),
        8 => format!("no delete propagation {deleted} to {}", class(dice)),
        9 => format!("no orphans {path} after {deleted}"),
        10 => format!("after delete x: {deleted} | not raises"),
        11 => format!("after delete x: {deleted} | not refused"),
        12 => format!("all a: {owner} | one a.{name}"),
        _ => format!("possible after delete x: {deleted} | some a: {owner} | some old a.{name} and no a.{name}"),
    }
}

/// All data of a schema with up to so many objects per class; `None` if there are too many.
fn all_data(schema: &Schema<'_>, most: usize) -> Option<Vec<Instance>> {
    const TOO_MANY: usize = 8_000;
    let mut all = Vec::new();
    let classes = schema.model.classes.len();
    for counts in 0..(most + 1).pow(classes as u32) {
        let mut empty = Instance::default();
        for class in 0..classes {
            let count = counts / (most + 1).pow(class as u32) % (most + 1);
            empty.objects.extend((0..count).map(|_| Object::new(ClassId(class))));
        }
        let mut here = vec![empty.clone()];
        let objects = empty.objects.len();
        let class_of = |index: usize| empty.objects[index].class;
        for index in 0..objects {
            for reference in (0..schema.references.len()).map(ReferenceId) {
                if !schema.model.is_a(class_of(index), schema.child(reference)) {
                    continue;
                }
                let targets = &schema.references[reference.0].targets;
                let fits = |target: &usize| targets.iter().any(|c| schema.model.is_a(class_of(*target), *c));
                let mut choices: Vec<Option<usize>> = (0..objects).filter(fits).map(Some).collect();
                if !schema.references[reference.0].filled {
                    choices.push(None);
                }
                here = spread(here, &choices, |data, choice| {
                    if let Some(target) = choice {
                        data.objects[index].references.insert(reference, *target);
                    }
                });
            }
            let conditions = schema.conditions.iter().enumerate();
            for (condition, _) in conditions.filter(|(_, c)| c.root == schema.root(class_of(index))) {
                here = spread(here, &[true, false], |data, meets| {
                    if *meets {
                        data.objects[index].conditions.insert(condition);
                    }
                });
            }
            if here.len() > TOO_MANY {
                return None;
            }
        }
        for (join, declared) in schema.model.joins.iter().enumerate() {
            for left in 0..objects {
                for right in 0..objects {
                    let is = |at: usize, class| schema.model.is_a(class_of(at), class);
                    if is(left, declared.left) && is(right, declared.right) && here.len() <= TOO_MANY {
                        here = spread(here, &[true, false], |data, there| {
                            if *there {
                                data.pairs.insert((JoinId(join), left, right));
                            }
                        });
                    }
                }
            }
        }
        all.extend(here.into_iter().filter(|data| data.violation(schema).is_none()));
        if all.len() > TOO_MANY {
            return None;
        }
    }
    Some(all)
}

fn spread<T>(data: Vec<Instance>, choices: &[T], choose: impl Fn(&mut Instance, &T)) -> Vec<Instance> {
    let each = data.into_iter().flat_map(|one| {
        let choose = &choose;
        choices.iter().map(move |choice| {
            let mut one = one.clone();
            choose(&mut one, choice);
            one
        })
    });
    each.collect()
}

/// Data that break an assertion, or show a predicate.
fn example<'a>(schema: &Schema<'_>, property: &Property, data: &'a [Instance]) -> Option<&'a Instance> {
    let wanted = property.mode == Mode::Possible;
    data.iter().find(|before| match property.delete {
        None => evaluate::is_true(Scene { schema, before, outcome: None }, property, None) == wanted,
        Some(variable) => {
            let class = property.variables[variable.0].class;
            before.of(schema, class).any(|object| {
                Order::ALL.into_iter().any(|order| {
                    let outcome = logic::delete(schema, before, object, order);
                    let counts = matches!(outcome, Outcome::Done(_)) || property.formula.asks_for_refusal();
                    let scene = Scene { schema, before, outcome: Some(&outcome) };
                    counts && evaluate::is_true(scene, property, Some(object)) == wanted
                })
            })
        }
    })
}

#[test]
fn solver_and_brute_force_agree() {
    let solver = common::solver();
    let cases: u64 = std::env::var("CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(16);
    let first: u64 = std::env::var("FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let (mut unknown, mut settled) = (0, 0);
    for case in first..first + cases {
        let mut dice = Dice(case.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed);
        dice.roll(2);
        let framework =
            dice.pick(&[Framework::Rails, Framework::Rails, Framework::Rails, Framework::Django, Framework::Sql]);
        let model = random_model(&mut dice, framework);
        let paper = framework == Framework::Rails && dice.once_in(4);
        let semantics = if paper { Semantics::Paper } else { Semantics::of(framework) };
        let schema = Schema::new(&model, semantics);
        let text = random_property(&mut dice, &model);
        let Ok(properties) = Properties::parse(&text, &model) else { continue };
        let property = &properties.list[0];
        let Some(data) = [3, 2, 1].into_iter().find_map(|most| all_data(&schema, most)) else { continue };
        let projection = !dice.once_in(3);
        let limits = Limits { projection, timeout: Duration::from_secs(20), objects_max: 3 };
        let question = Question { schema: &schema, property, assumptions: &[] };
        let verdict = logic::decide(question, &solver, limits).unwrap();
        let found = example(&schema, property, &data);
        let told = || {
            format!(
                "case {case}: {text} under {semantics:?}\n{model:#?}\n{verdict:#?}\n{}",
                found.map_or(String::new(), |d| d.to_text(&schema))
            )
        };
        match (&verdict, property.mode) {
            (Verdict::Unknown(reason), _) => {
                eprintln!("case {case}: {text} under {semantics:?}: {reason} (brute force: {})", found.is_some());
                unknown += 1;
            }
            (Verdict::Holds(None), _) | (Verdict::Fails(None), _) => assert!(found.is_none(), "{}", told()),
            (Verdict::Holds(Some(case)) | Verdict::Fails(Some(case)), _) => {
                let small = case.before.objects.len() <= 1;
                assert!(!small || found.is_some(), "{}", told());
            }
        }
        settled += 1;
    }
    assert!(unknown * 10 <= settled, "{unknown} of {settled} are not decided");
}

/// What is taken for plain, without a solver, has no counterexample either.
#[test]
fn what_is_plain_is_true() {
    let mut plain = 0;
    for case in 0..120u64 {
        let mut dice = Dice(case.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xface);
        dice.roll(2);
        let framework = dice.pick(&[Framework::Rails, Framework::Rails, Framework::Django, Framework::Sql]);
        let model = random_model(&mut dice, framework);
        let schema = Schema::new(&model, Semantics::of(framework));
        let named = |id: ClassId| &model.class(id).name;
        let texts = model.references.iter().flat_map(|reference| {
            let stored = format!("{}.{}", named(reference.child), reference.name);
            (0..model.classes.len()).map(move |class| format!("no dangling {stored} after {}", named(ClassId(class))))
        });
        let raises =
            (0..model.classes.len()).map(|class| format!("after delete x: {} | not raises", named(ClassId(class))));
        let texts: Vec<String> = texts.chain(raises).collect();
        let Ok(properties) = Properties::parse(&texts.join("\n"), &model) else { continue };
        let settled: Vec<&Property> = properties.list.iter().filter(|p| logic::settled(&schema, p)).collect();
        if settled.is_empty() {
            continue;
        }
        let Some(data) = [2, 1].into_iter().find_map(|most| all_data(&schema, most)) else { continue };
        for property in settled {
            plain += 1;
            let found = example(&schema, property, &data);
            assert!(found.is_none(), "case {case}: {}\n{model}\n{}", property.text, found.unwrap().to_text(&schema));
        }
    }
    assert!(plain > 30, "only {plain} are plain");
}
