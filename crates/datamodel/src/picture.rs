//! Graphs to be drawn: the classes of a model and what their deletes do; some data, and what one delete makes of them.

use std::collections::BTreeSet;

use isolde_report::{DeleteEdge, DeleteGraph, DeleteKind, DrawnLink, DrawnObject, Fate, InstanceGraph};

use crate::logic::{Action, Instance, Reach, Schema};
use crate::model::{ClassId, OnDelete, ReferenceId};

/// Draws a model; `wrong` has the names of findings.
pub fn graph(schema: &Schema<'_>, name: &str, wrong: &BTreeSet<&str>) -> DeleteGraph {
    let model = schema.model;
    let mut edges: Vec<DeleteEdge> = Vec::new();
    let mut add = |from: ClassId, to: ClassId, label: &str, kind: DeleteKind, is_wrong: bool| {
        let edge = DeleteEdge { from: from.0, to: to.0, label: label.into(), kind, is_wrong };
        if !edges.contains(&edge) {
            edges.push(edge);
        }
    };
    let mut ruled: BTreeSet<(ReferenceId, ClassId)> = BTreeSet::new();
    let is_wrong = |reference: ReferenceId, target: ClassId| {
        let declared = model.reference(reference);
        let stored = format!("{}.{}", model.class(declared.child).name, declared.name);
        let (direct, any) = (format!("{stored}:{}", model.class(target).name), format!(":{stored}:"));
        wrong.iter().any(|id| {
            id.ends_with(&direct) && (id.starts_with("dangling:") || id.starts_with("emptied:"))
                || id.starts_with("skipped") && id.contains(&any) && id.ends_with(&direct)
        })
    };
    for rule in &schema.rules {
        let kind = match rule.action {
            Action::Destroy | Action::Later => DeleteKind::Destroy,
            Action::Delete => DeleteKind::Delete,
            Action::Nullify => DeleteKind::Nullify,
            Action::Refuse | Action::RefuseOthers => DeleteKind::Restrict,
        };
        let label = &model.association(rule.association).name;
        match rule.reach {
            Reach::Children(reference) => {
                ruled.insert((reference, rule.owner));
                add(rule.owner, schema.child(reference), label, kind, is_wrong(reference, rule.owner));
            }
            Reach::Parent(reference) => {
                for target in &schema.references[reference.0].targets {
                    add(rule.owner, *target, label, kind, false);
                }
            }
            Reach::Pairs(..) => {}
        }
    }
    for (index, stored) in schema.references.iter().enumerate() {
        let reference = ReferenceId(index);
        let kind = match stored.database {
            Some(OnDelete::Cascade) => DeleteKind::Cascade,
            Some(OnDelete::SetNull) => DeleteKind::Nullify,
            Some(_) => DeleteKind::Restrict,
            None => DeleteKind::Nothing,
        };
        for target in &stored.targets {
            if kind == DeleteKind::Cascade || !ruled.contains(&(reference, *target)) {
                let name = &model.reference(reference).name;
                add(*target, schema.child(reference), name, kind, is_wrong(reference, *target));
            }
        }
    }
    let classes = model.classes.iter().map(|class| class.name.to_string()).collect();
    DeleteGraph { name: name.into(), classes, edges }
}

/// Draws some data and what becomes of them; the same twice, if nothing does.
pub fn instance(schema: &Schema<'_>, before: &Instance, after: &Instance) -> InstanceGraph {
    let is_there = |index: usize| after.objects[index].is_there;
    let object = |index: usize| DrawnObject {
        name: before.name(schema, index),
        fate: if is_there(index) { Fate::Stays } else { Fate::Gone },
    };
    let fate = |stays: bool, ends: &[usize]| match (stays, ends.iter().all(|end| is_there(*end))) {
        (false, _) => Fate::Gone,
        (true, true) => Fate::Stays,
        (true, false) => Fate::Dangles,
    };
    let mut links = Vec::new();
    for (from, named) in before.objects.iter().enumerate() {
        for (reference, to) in &named.references {
            let stays = is_there(from) && after.objects[from].references.get(reference) == Some(to);
            let label = schema.model.reference(*reference).name.to_string();
            links.push(DrawnLink { from, to: *to, label, is_pair: false, fate: fate(stays, &[*to]) });
        }
    }
    for pair @ (join, from, to) in &before.pairs {
        let (label, stays) = (schema.model.join(*join).name.to_string(), after.pairs.contains(pair));
        links.push(DrawnLink { from: *from, to: *to, label, is_pair: true, fate: fate(stays, &[*from, *to]) });
    }
    InstanceGraph { objects: (0..before.objects.len()).map(object).collect(), links }
}
