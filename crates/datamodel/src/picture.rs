//! The classes of a model and what their deletes do, as a graph.

use std::collections::BTreeSet;

use isolde_report::{DeleteEdge, DeleteGraph, DeleteKind};

use crate::logic::{Action, Reach, Schema};
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
