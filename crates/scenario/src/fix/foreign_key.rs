//! A foreign key where rows are left without the row they refer to.
//!
//! One thread deletes a parent while another, which has just seen it, inserts a child. The database can rule that out;
//! `ON DELETE CASCADE` takes the children along, and a key-share lock on the parent as it is read lets the inserter be
//! first.

use isolde_engine::footprint::Write;
use isolde_sql::catalog::Table;

use super::case::Culprit;
use super::patch::Edit;
use super::{Candidate, Case, Kind, lock, sql, unique};

pub(super) struct ForeignKey;

impl Kind for ForeignKey {
    fn name(&self) -> &'static str {
        "foreign key"
    }

    fn is_about_overlap(&self) -> bool {
        false
    }

    fn propose(&self, case: &Case<'_>) -> Vec<Candidate> {
        let Some((child, column, parent)) = orphans(case) else { return Vec::new() };
        let Some(end) = case.definition(&child.name).and_then(|(create, _)| {
            create.columns.iter().find(|c| *c.name.name == *child.columns[column].name).map(unique::column_end)
        }) else {
            return Vec::new();
        };
        let reads: Vec<Culprit<'_>> = case.culprits();
        let of_parent = reads
            .iter()
            .filter(|c| c.site.read().and_then(|q| sql::table(q, case.catalog())).is_some_and(|t| t.id == parent.id));
        let locks: Vec<Edit> = of_parent.filter_map(|c| lock::edit(case, &c.site, "FOR KEY SHARE")).collect();
        let key = format!("{} ({})", child.name, child.columns[column].name);
        let mut candidates = Vec::new();
        for action in ["", " ON DELETE CASCADE"] {
            let references = format!("REFERENCES {}{action}", sql::ident(&parent.name));
            let edit = Edit::insert(end, format!(" {references}"));
            candidates.push(Candidate::new(format!("{references} for {key}"), vec![edit.clone()]));
            if !locks.is_empty() {
                let title = format!("{references} for {key}, FOR KEY SHARE on the read of {}", parent.name);
                candidates.push(Candidate::new(title, [edit].into_iter().chain(locks.iter().cloned()).collect()));
            }
        }
        candidates
    }
}

/// The table, its column, and the table whose row was deleted while a row that has its key there was inserted.
fn orphans<'a>(case: &Case<'a>) -> Option<(&'a Table, usize, &'a Table)> {
    let catalog = case.catalog();
    let writes: Vec<(usize, &Write)> =
        case.steps().flat_map(|(thread, step)| step.footprint.writes.iter().map(move |w| (thread, w))).collect();
    let inserted = || writes.iter().filter(|(_, w)| w.before.is_none());
    let deleted = || writes.iter().filter(|(_, w)| w.after.is_none());
    let known = |id| catalog.has_table(id).then(|| &**catalog.table(id));
    let mut found = Vec::new();
    for (deleter, gone) in deleted() {
        for (_, new) in inserted().filter(|(inserter, _)| inserter != deleter) {
            let (Some(parent), Some(child)) = (known(gone.table), known(new.table)) else { continue };
            let (Some(before), Some(after)) = (&gone.before, &new.after) else { continue };
            let Some([key]) = parent.primary_key().map(|index| index.columns.as_slice()) else { continue };
            let candidates = (0..child.columns.len()).filter(|&c| {
                let free = !child.foreign_keys.iter().any(|fk| fk.columns.contains(&c));
                let same_type = child.columns[c].ty == parent.columns[*key].ty;
                child.id != parent.id && free && same_type && after.get(c) == before.get(*key)
            });
            // The column that is named after the parent rather than any that happens to have the value.
            found.extend(candidates.map(|c| (!child.columns[c].name.contains(&*parent.name), c, child, parent)));
        }
    }
    let (_, column, child, parent) = found.into_iter().min_by_key(|(other, column, ..)| (*other, *column))?;
    Some((child, column, parent))
}
