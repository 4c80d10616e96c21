//! Models for tests: the plain half of Ruby on Rails, one declaration a line.

#![allow(clippy::unwrap_used, dead_code)]

use std::collections::BTreeMap;
use std::sync::Arc;

use isolde_datamodel::logic::{self, Limits, Question, Schema, Semantics, Verdict};
use isolde_datamodel::property::Properties;
use isolde_datamodel::*;
use isolde_smt::Solver;

/// The models of an application under `tests/apps`.
pub(crate) fn app(name: &str) -> String {
    let folder = format!("{}/tests/apps/{name}/app/models", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// Its properties.
pub(crate) fn props(name: &str) -> String {
    let file = format!("{}/tests/apps/{name}/paper.props", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(file).unwrap()
}

/// The solver, unless there is none here.
pub(crate) fn solver() -> Option<Solver> {
    let solver = Solver::from_environment().ok();
    if solver.is_none() {
        eprintln!("no solver here: skipped");
    }
    solver
}

/// The verdicts of all properties of a text about a model.
pub(crate) fn verdicts(
    ruby: &str,
    properties: &str,
    semantics: Semantics,
    limits: Limits,
    solver: &Solver,
) -> Vec<(String, Verdict)> {
    let model = model(ruby);
    let properties = Properties::parse(properties, &model).unwrap_or_else(|error| panic!("{error:?}"));
    let schema = Schema::new(&model, semantics);
    let decide = |property| {
        let question = Question { schema: &schema, property, assumptions: &properties.assumptions };
        logic::decide(question, solver, limits).unwrap()
    };
    properties.list.iter().map(|property| (property.name.clone(), decide(property))).collect()
}

struct Declared {
    owner: ClassId,
    macro_name: String,
    name: String,
    options: BTreeMap<String, String>,
    condition: Option<Arc<str>>,
    ordered: bool,
    line: u32,
}

/// Reads models, one declaration a line.
pub(crate) fn model(ruby: &str) -> DataModel {
    let mut model = DataModel::default();
    let mut parents: Vec<(ClassId, String)> = Vec::new();
    let mut declared = Vec::new();
    let mut required = Vec::new();
    for (number, line) in ruby.lines().map(str::trim).enumerate() {
        let at = Place { file: "models.rb".into(), line: number as u32 + 1 };
        let owner = ClassId(model.classes.len().wrapping_sub(1));
        if let Some(head) = line.strip_prefix("class ") {
            let (name, parent) = head.split_once(" < ").unwrap_or((head, ""));
            parents.push((ClassId(model.classes.len()), parent.to_string()));
            let name: Arc<str> = name.into();
            model.classes.push(Class {
                name,
                parent: None,
                is_abstract: false,
                table: None,
                soft_delete: false,
                place: at,
            });
        } else if let Some(rest) = line.strip_prefix("validates :") {
            required.push((owner, rest.split(',').next().unwrap().to_string(), Required::Validated));
        } else if let Some(rest) = line.strip_prefix("not_null :") {
            required.push((owner, rest.to_string(), Required::NotNull));
        } else if let Some((macro_name, rest)) = line.split_once(" :") {
            declared.push(declaration(owner, macro_name, rest, number as u32 + 1));
        }
    }
    for (class, parent) in parents {
        model.classes[class.0].parent = model.class_named(&parent);
    }
    for one in declared.iter().filter(|d| d.macro_name == "belongs_to") {
        own(&mut model, one, &declared);
    }
    for one in &declared {
        associate(&mut model, one);
    }
    link_through(&mut model, &declared);
    for (class, name, how) in required {
        for reference in model.references.iter_mut().filter(|r| r.child == class) {
            if *reference.name == *name || reference.column.as_deref() == Some(&name) {
                reference.required = how;
            }
        }
    }
    model
}

fn declaration(owner: ClassId, macro_name: &str, rest: &str, line: u32) -> Declared {
    let (mut rest, mut condition, mut ordered) = (rest.to_string(), None, false);
    if let Some((before, scope)) = rest.clone().split_once(", -> { ") {
        let (scope, after) = scope.split_once(" }").unwrap();
        ordered = scope.starts_with("order");
        condition = scope.strip_prefix("where(").map(|text| text.trim_end_matches(')').trim_matches('"').into());
        rest = format!("{before}{after}");
    }
    let mut parts = rest.split(", ");
    let name = parts.next().unwrap().to_string();
    let option = |part: &str| {
        let (key, value) = part.split_once(": ").unwrap();
        (key.to_string(), value.trim_matches('"').trim_start_matches(':').to_string())
    };
    Declared {
        owner,
        macro_name: macro_name.into(),
        name,
        options: parts.map(option).collect(),
        condition,
        ordered,
        line,
    }
}

fn class_of(model: &DataModel, one: &Declared, singular: bool) -> Option<ClassId> {
    let name = match one.options.get("class_name") {
        Some(name) => name.clone(),
        None => camel(&if singular { one.name.clone() } else { singular_of(&one.name) }),
    };
    model.class_named(&name)
}

fn singular_of(name: &str) -> String {
    if let Some(stem) = name.strip_suffix("ies") {
        return format!("{stem}y");
    }
    name.strip_suffix("sses").map(|stem| format!("{stem}ss")).unwrap_or_else(|| name.trim_end_matches('s').to_string())
}

fn camel(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').filter(|word| !word.is_empty()).map(capital).collect()
}

fn own(model: &mut DataModel, one: &Declared, all: &[Declared]) {
    let column: Arc<str> = one.options.get("foreign_key").cloned().unwrap_or(format!("{}_id", one.name)).into();
    if model.references.iter().any(|r| r.child == one.owner && r.column.as_ref() == Some(&column)) {
        return;
    }
    let target = match one.options.contains_key("polymorphic") {
        true => {
            let as_this = |other: &&Declared| {
                other.options.get("as") == Some(&one.name)
                    && class_of(model, other, other.macro_name == "has_one") == Some(one.owner)
            };
            let mut classes: Vec<ClassId> = all.iter().filter(as_this).map(|other| other.owner).collect();
            classes.sort();
            classes.dedup();
            Target::Any(classes)
        }
        false => match class_of(model, one, true) {
            Some(class) => Target::Class(class),
            None => return,
        },
    };
    let place = Place { file: "models.rb".into(), line: one.line };
    let on_delete = one.options.get("on_delete").map(|word| match word.as_str() {
        "cascade" => OnDelete::Cascade,
        "set_null" => OnDelete::SetNull,
        "restrict" => OnDelete::Restrict,
        _ => OnDelete::NoAction,
    });
    let name: Arc<str> = one.name.as_str().into();
    let (required, unique) = (Required::No, one.options.contains_key("unique"));
    model.references.push(Reference {
        child: one.owner,
        name,
        target,
        column: Some(column),
        required,
        unique,
        on_delete,
        place,
    });
}

fn associate(model: &mut DataModel, one: &Declared) {
    let kind = match one.macro_name.as_str() {
        "belongs_to" => Kind::BelongsTo,
        "has_one" => Kind::HasOne,
        "has_many" => Kind::HasMany,
        _ => Kind::ManyToMany,
    };
    let mut target = class_of(model, one, kind == Kind::BelongsTo || kind == Kind::HasOne);
    let path = match kind {
        _ if one.options.contains_key("through") => Path::Unknown,
        Kind::BelongsTo => {
            let column = one.options.get("foreign_key").cloned().unwrap_or(format!("{}_id", one.name));
            let known = |r: &Reference| r.child == one.owner && r.column.as_deref() == Some(&column);
            match model.references.iter().position(known) {
                Some(reference) => Path::Own(ReferenceId(reference)),
                None => Path::Unknown,
            }
        }
        Kind::ManyToMany => join(model, one, target.unwrap()),
        Kind::HasOne | Kind::HasMany => inverse(model, one, target.unwrap()),
    };
    if one.options.contains_key("polymorphic") {
        target = None;
    }
    let on_delete = one.options.get("dependent").map(|word| match word.as_str() {
        "destroy" => DeleteRule::Destroy,
        "destroy_async" => DeleteRule::DestroyLater,
        "nullify" => DeleteRule::Nullify,
        "delete" | "delete_all" => DeleteRule::Delete,
        "restrict_with_error" => DeleteRule::Restrict,
        other => panic!("dependent: {other}"),
    });
    model.associations.push(Association {
        owner: one.owner,
        name: one.name.as_str().into(),
        kind,
        target,
        path,
        condition: one.condition.clone(),
        is_choice: one.ordered && kind == Kind::HasOne,
        on_delete,
        place: Place { file: "models.rb".into(), line: one.line },
    });
}

fn inverse(model: &mut DataModel, one: &Declared, target: ClassId) -> Path {
    let mut snake = String::new();
    for c in model.class(one.owner).name.chars() {
        if c.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    let base = one.options.get("as").cloned().unwrap_or(snake);
    let column: Arc<str> = one.options.get("foreign_key").cloned().unwrap_or(format!("{base}_id")).into();
    let known = |r: &Reference| model.is_a(target, r.child) && r.column.as_ref() == Some(&column);
    if let Some(reference) = model.references.iter().position(known) {
        return Path::Inverse(ReferenceId(reference));
    }
    panic!("{} is not declared, but used by {}", column, one.name);
}

fn join(model: &mut DataModel, one: &Declared, target: ClassId) -> Path {
    let pair = |join: &Join| (join.left, join.right);
    let known = model.joins.iter().position(|join| pair(join) == (target, one.owner));
    if let Some(known) = known.filter(|_| one.owner != target) {
        return Path::Join(JoinId(known), Side::Right);
    }
    model.joins.push(Join {
        name: format!("{}_{}", model.class(one.owner).name.to_lowercase(), one.name).into(),
        left: one.owner,
        right: target,
        on_delete: None,
        place: Place::default(),
    });
    Path::Join(JoinId(model.joins.len() - 1), Side::Left)
}

fn link_through(model: &mut DataModel, declared: &[Declared]) {
    for (index, one) in declared.iter().enumerate() {
        let Some(through) = one.options.get("through") else { continue };
        let Some(first) = model.association_named(one.owner, through) else { panic!("no {through}") };
        let between = model.association(first).target.unwrap();
        let source = one.options.get("source").cloned().unwrap_or(one.name.clone());
        let last = model
            .association_named(between, &source)
            .or_else(|| model.association_named(between, &singular_of(&source)))
            .unwrap_or_else(|| panic!("no {source} in {}", model.class(between).name));
        model.associations[index].path = Path::Through(first, last);
        model.associations[index].target = model.association(last).target;
    }
}
