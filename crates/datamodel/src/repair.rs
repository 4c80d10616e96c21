//! Changes to a model, written into the files that it was read from.
//!
//! A remedy is proved on the model. Whether a line of Ruby, Python or Prisma says just that is another matter, so it is
//! not trusted either: all lines are changed in a copy of the files, the copy is read, and a change is shown as lines
//! only if the model that was read has it. Otherwise it is told in words.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::logic::Schema;
use crate::model::{Association, DataModel, Framework, OnDelete, Path, Place, Reference};
use crate::obligation::{Edit, Patch, Trouble};
use crate::read::{self, File};

/// Where a change is made: the file, the line, and what is put before it. Several lines can be put before one.
type Key = (Arc<str>, u32, Vec<String>);

/// Finds the lines to change for each remedy.
pub fn write(schema: &Schema<'_>, files: &[File], troubles: &mut [Trouble]) {
    let by_path: BTreeMap<Arc<str>, &File> = files.iter().map(|file| (file.path.clone(), file)).collect();
    let mut patches: BTreeMap<Key, Patch> = BTreeMap::new();
    for remedy in troubles.iter_mut().filter_map(|trouble| trouble.remedy.as_mut()) {
        let file = by_path.get(&remedy.place.file);
        let Some(patch) = file.and_then(|file| patch(schema, file, &remedy.edit, &remedy.place)) else { continue };
        let added = if patch.old.is_empty() { patch.new.clone() } else { Vec::new() };
        let key = (patch.file.clone(), patch.line, added);
        // Two changes of one line: the first is tried, the other is told in words unless it is the same.
        if *patches.entry(key).or_insert_with(|| patch.clone()) == patch {
            remedy.patch = Some(patch);
        }
    }
    if patches.is_empty() {
        return;
    }
    let changed: Vec<File> = files.iter().map(|file| patched(file, &patches)).collect();
    let read = read::read(schema.model.framework, &changed);
    let understood = read.remarks.len() <= schema.model.remarks.len();
    for remedy in troubles.iter_mut().filter_map(|trouble| trouble.remedy.as_mut()) {
        let has_change = understood && is_there(schema.model, &remedy.edit, &read);
        match remedy.patch.as_ref().filter(|_| has_change) {
            Some(patch) => remedy.code = patch.new.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n"),
            None => remedy.patch = None,
        }
    }
}

/// The file with all changes, from its end to its beginning.
fn patched(file: &File, patches: &BTreeMap<Key, Patch>) -> File {
    let mut lines: Vec<&str> = file.text.lines().collect();
    for patch in patches.values().rev().filter(|patch| patch.file == file.path) {
        let start = (patch.line as usize).saturating_sub(1).min(lines.len());
        let end = (start + patch.old.len()).min(lines.len());
        lines.splice(start..end, patch.new.iter().map(String::as_str));
    }
    File::new(file.path.clone(), lines.join("\n") + "\n")
}

/// Whether a model that was read has a change of another.
fn is_there(before: &DataModel, edit: &Edit, read: &DataModel) -> bool {
    let wanted = edit.apply(before);
    match edit {
        Edit::Dependent(id, _) => same_association(&wanted, wanted.association(*id), read),
        Edit::Declare(association) => same_association(&wanted, association, read),
        Edit::Field(id, _) => {
            let reference = wanted.reference(*id);
            let inverse = wanted.associations.iter().filter(|a| a.path == Path::Inverse(*id));
            let mut inverse = inverse.map(|association| same_association(&wanted, association, read));
            same_reference(&wanted, reference, read) && inverse.all(|same| same)
        }
        _ => false,
    }
}

fn same_association(wanted: &DataModel, association: &Association, read: &DataModel) -> bool {
    let owner = &wanted.class(association.owner).name;
    let found = read.class_named(owner).and_then(|class| read.association_named(class, &association.name));
    let path = |model: &DataModel, path: &Path| match path {
        Path::Inverse(id) => {
            Some((model.class(model.reference(*id).child).name.clone(), model.reference(*id).name.clone()))
        }
        _ => None,
    };
    found.map(|id| read.association(id)).is_some_and(|there| {
        there.on_delete == association.on_delete
            && there.condition == association.condition
            && path(read, &there.path) == path(wanted, &association.path)
    })
}

fn same_reference(wanted: &DataModel, reference: &Reference, read: &DataModel) -> bool {
    let child = read.class_named(&wanted.class(reference.child).name);
    let same = |other: &&Reference| Some(other.child) == child && other.name == reference.name;
    read.references.iter().find(same).is_some_and(|other| other.on_delete == reference.on_delete)
}

/// The lines to change for an edit, as far as that can be guessed.
fn patch(schema: &Schema<'_>, file: &File, edit: &Edit, place: &Place) -> Option<Patch> {
    let lines: Vec<&str> = file.text.lines().collect();
    let (line, old) = declaration(&lines, place.line)?;
    let new = match edit {
        Edit::Dependent(id, rule) => {
            let kind = schema.model.association(*id).kind;
            dependent(&old, crate::obligation::rule_word(Framework::Rails, kind, *rule))?
        }
        Edit::Declare(association) => {
            let indent: String = old.first()?.chars().take_while(|c| c.is_whitespace()).collect();
            let in_class = old.first()?.trim_start().starts_with("class ");
            let indent = if in_class { format!("{indent}  ") } else { indent };
            let new = vec![format!("{indent}{}", Edit::Declare(association.clone()).code(schema))];
            let line = line + u32::try_from(old.len()).ok()?;
            return Some(Patch { file: file.path.clone(), line, old: Vec::new(), new });
        }
        Edit::Field(_, action) => field(&old, schema.model.framework, *action)?,
        _ => return None,
    };
    let old = old.into_iter().map(str::to_owned).collect();
    Some(Patch { file: file.path.clone(), line, old, new })
}

/// The lines of a declaration: as many as it takes to close what it opens, and no more after a line that does not end
/// in a comma.
fn declaration<'a>(lines: &[&'a str], line: u32) -> Option<(u32, Vec<&'a str>)> {
    const LINES_MAX: usize = 30;
    let start = (line as usize).checked_sub(1)?;
    let mut found = Vec::new();
    let mut depth = 0i32;
    for text in lines.get(start..)?.iter().take(LINES_MAX) {
        found.push(*text);
        for c in text.chars() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
        }
        let ends = depth <= 0 && !text.trim_end().ends_with([',', '\\']);
        if ends || text.trim_start().starts_with("class ") {
            return Some((line, found));
        }
    }
    None
}

/// `dependent:` set in a declaration of Ruby.
fn dependent(old: &[&str], rule: &str) -> Option<Vec<String>> {
    let mut new: Vec<String> = old.iter().map(|line| (*line).to_owned()).collect();
    for line in &mut new {
        for key in ["dependent: ", ":dependent => "] {
            if let Some(at) = line.find(key) {
                let rest = &line[at + key.len()..];
                let value = rest.find(|c: char| c != ':' && c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
                let (start, end) = (at + key.len(), at + key.len() + value);
                line.replace_range(start..end, rule);
                return Some(new);
            }
        }
    }
    let rockets = old.iter().any(|line| line.contains("=>"));
    let option = if rockets { format!(", :dependent => {rule}") } else { format!(", dependent: {rule}") };
    let last = new.last_mut()?;
    let (code, comment) = last.split_once(" #").map_or((last.as_str(), ""), |(code, _)| (code, &last[code.len()..]));
    let code = code.trim_end();
    let block = code.rfind(" do").filter(|at| code[*at..].trim() == "do" || code[*at..].contains('|'));
    let at = block.unwrap_or(code.len() - usize::from(code.ends_with(')')));
    *last = format!("{}{option}{}{comment}", &code[..at], &code[at..]);
    Some(new)
}

/// What a field of Django or Prisma says about deletes, set.
fn field(old: &[&str], framework: Framework, action: OnDelete) -> Option<Vec<String>> {
    let mut new: Vec<String> = old.iter().map(|line| (*line).to_owned()).collect();
    let (known, word, key): (&[&str], &str, &str) = match framework {
        Framework::Django => {
            let word = if action == OnDelete::Cascade { "CASCADE" } else { "SET_NULL" };
            (&["DO_NOTHING", "PROTECT", "RESTRICT", "SET_NULL", "CASCADE"], word, "")
        }
        _ => {
            let word = if action == OnDelete::Cascade { "Cascade" } else { "SetNull" };
            (&["NoAction", "Restrict", "SetNull", "SetDefault", "Cascade"], word, "onDelete: ")
        }
    };
    for line in &mut new {
        for other in known {
            let written = format!("{key}{other}");
            if line.contains(&written) {
                *line = line.replacen(&written, &format!("{key}{word}"), 1);
                return Some(new);
            }
        }
    }
    let last = new.last_mut().filter(|_| framework == Framework::Prisma)?;
    let at = last.rfind(')')?;
    last.insert_str(at, &format!(", onDelete: {word}"));
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        assert_eq!(dependent(&[line], ":destroy").map(|lines| lines.join("\n")).as_deref(), Some(expected));
    }

    #[test]
    fn an_option_is_put_where_it_belongs() {
        check("  has_many :tags", "  has_many :tags, dependent: :destroy");
        check("  has_many(:tags, as: :x)", "  has_many(:tags, as: :x, dependent: :destroy)");
        check("  has_many :tags # all", "  has_many :tags, dependent: :destroy # all");
        check("  has_many :tags do", "  has_many :tags, dependent: :destroy do");
        check("  has_many :tags, :as => :x", "  has_many :tags, :as => :x, :dependent => :destroy");
        check("  has_many :tags, dependent: :delete_all, as: :x", "  has_many :tags, dependent: :destroy, as: :x");
        check("  has_many :tags, -> { where(a: 1) }", "  has_many :tags, -> { where(a: 1) }, dependent: :destroy");
    }

    #[test]
    fn a_declaration_ends_where_nothing_is_open() {
        let lines = ["class A", "  has_many :bs,", "    as: :x,", "    dependent: :destroy", "end"];
        assert_eq!(declaration(&lines, 2), Some((2, vec![lines[1], lines[2], lines[3]])));
        assert_eq!(declaration(&lines, 9), None);
    }
}
