//! Rails: a folder of an application, without booting it.
//!
//! ```text
//!   *.rb ──▶ ruby ──▶ program (classes, modules) ──▶ expand (declarations of each model) ──┐
//!   config/** ──▶ config (inflections, defaults) ───────────────────────────────────────────┼─▶ resolve ─▶ DataModel
//!   db/schema.rb, db/structure.sql, db/migrate ──▶ schema ─────────────────────────────────┘
//! ```

mod callbacks;
mod config;
mod expand;
mod harmless;
mod meaning;
mod plugins;
mod program;
mod resolve;
mod ruby;
mod schema_rb;
mod scopes;
mod tables;

use std::collections::{BTreeMap, BTreeSet};

use self::config::Config;
use self::expand::{Expander, Model};
use self::program::{Program, declares};
use self::ruby::{Kind, Node};
use super::File;
use super::schema::Schema;
use crate::model::{DataModel, Place, Remark};

/// Reads an application.
pub(crate) fn read(files: &[File]) -> DataModel {
    let config = config::read(files);
    let schema = schema(files, &config);
    let mut program = Program::default();
    files.iter().filter(|file| is_program(&file.path)).for_each(|file| program.read(file));
    add_gems(&mut program);
    let (models, mut remarks) = models(&program);
    remarks.extend(std::mem::take(&mut program.remarks));
    remarks.extend(config.remarks.iter().cloned());
    let is_new = program.definitions.contains_key("ApplicationRecord");
    if is_new && !config.is_there {
        let message =
            "config/application.rb is not among the files; a `belongs_to` is taken not to be required".to_owned();
        remarks.push(Remark { message, place: Place { file: "config/application.rb".into(), line: 0 } });
    }
    let mut model = resolve::resolve(models, &config, &schema);
    model.remarks.extend(remarks);
    model.remarks.extend(schema.remarks);
    model
}

/// Whether a file defines a model.
pub(crate) fn is_model_file(path: &str) -> bool {
    path.ends_with(".rb") && (path.starts_with("app/models/") || path.contains("/app/models/"))
}

/// Parts of an application that say nothing about its models. Serializers and the like even use the same macros for
/// something else.
const ELSEWHERE: &[&str] = &[
    "bin",
    "script",
    "controllers",
    "views",
    "helpers",
    "mailers",
    "jobs",
    "workers",
    "serializers",
    "graphql",
    "resources",
    "admin",
    "presenters",
    "policies",
    "components",
    "dashboards",
    "blueprints",
    "channels",
    "forms",
    "migrate",
];

/// Whether a file may define classes and modules that concern models.
fn is_program(path: &str) -> bool {
    let is_elsewhere = |folder: &str| ELSEWHERE.contains(&folder);
    path.ends_with(".rb") && (is_model_file(path) || (!path.starts_with("db/") && !path.split('/').any(is_elsewhere)))
}

/// What the database knows: from a dump, or from the migrations if there is none.
fn schema(files: &[File], config: &Config) -> Schema {
    let dumps: Vec<&File> = files.iter().filter(|file| file.path.ends_with("db/schema.rb")).collect();
    if !dumps.is_empty() {
        return schema_rb::read(&dumps, &config.inflections);
    }
    let dumps: Vec<&File> = files.iter().filter(|file| file.path.ends_with("db/structure.sql")).collect();
    if !dumps.is_empty() {
        return super::sql::schema(&dumps);
    }
    let is_migration = |file: &&File| file.path.starts_with("db/migrate/") || file.path.contains("/db/migrate/");
    let mut migrations: Vec<&File> = files.iter().filter(is_migration).collect();
    // In the order of their time stamps, whichever folder they are in.
    migrations.sort_by_key(|file| file.path.rsplit('/').next().unwrap_or_default().to_owned());
    schema_rb::read(&migrations, &config.inflections)
}

/// Adds the classes of gems whose macros are used.
fn add_gems(program: &mut Program) {
    let used: Vec<&plugins::Plugin> =
        plugins::PLUGINS.iter().filter(|plugin| program.called.contains(plugin.name)).collect();
    let mut done = BTreeSet::new();
    for plugin in used {
        if plugin.provides.is_empty() || !done.insert(plugin.provides) || program.macros.contains_key(plugin.name) {
            continue;
        }
        let parsed = ruby::parse(plugin.provides);
        let missing = |node: &Node| match &node.kind {
            Kind::Class(name, ..) => !program.definitions.contains_key(name),
            _ => false,
        };
        if parsed.body.iter().all(missing) {
            program.read(&File::new(plugin.name, plugin.provides));
        }
    }
}

/// Every class of Active Record, by name, with what it declares.
fn models(program: &Program) -> (BTreeMap<String, Model>, Vec<Remark>) {
    let mut models = BTreeMap::new();
    let mut remarks = Vec::new();
    let mut unknown: BTreeMap<String, (Place, usize)> = BTreeMap::new();
    let mut families = Families { program, known: BTreeMap::new(), remarks: &mut remarks };
    let names: Vec<&String> = program.definitions.keys().collect();
    let found: Vec<(&String, Family)> = names.into_iter().map(|name| (name, families.of(name, 0))).collect();
    for (name, family) in found {
        let Family::Model(parent) = family else { continue };
        let openings = program.openings(name);
        // What defines the class is what names its superclass; the other openings add to it.
        let main = openings.iter().find(|opening| opening.superclass.is_some()).or(openings.first());
        let place = main.map(|opening| opening.place.clone()).unwrap_or_default();
        let is_abstract = name == "ApplicationRecord";
        let table_prefix = tables::prefix(program, name);
        let model = Model { name: name.clone(), parent, place, is_abstract, table_prefix, ..Model::default() };
        let mut expander = Expander::new(program, model);
        let (first, rest): (Vec<_>, Vec<_>) = openings.iter().partition(|opening| opening.superclass.is_some());
        first.into_iter().chain(rest).for_each(|opening| expander.open(opening));
        expander.finish();
        for (name, place) in expander.unknown {
            unknown.entry(name).or_insert((place, 0)).1 += 1;
        }
        remarks.extend(expander.remarks);
        models.insert(name.clone(), expander.model);
    }
    remarks.extend(unknown.into_iter().map(|(name, (place, count))| {
        let times = if count > 1 { format!(", in {count} classes") } else { String::new() };
        Remark { message: format!("`{name}` is not known; what it may declare is not modelled{times}"), place }
    }));
    (models, remarks)
}

/// What a class is.
#[derive(Clone, Debug, PartialEq)]
enum Family {
    /// A class of Active Record, with the one it inherits from.
    Model(Option<String>),
    /// Anything else.
    Other,
}

struct Families<'p> {
    program: &'p Program,
    known: BTreeMap<String, Family>,
    remarks: &'p mut Vec<Remark>,
}

impl Families<'_> {
    /// What a class is, by its ancestors.
    fn of(&mut self, name: &str, depth: usize) -> Family {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        // Until it is known: a class that is its own ancestor is none.
        self.known.insert(name.to_owned(), Family::Other);
        let family = if depth > 64 { Family::Other } else { self.find(name, depth) };
        self.known.insert(name.to_owned(), family.clone());
        family
    }

    fn find(&mut self, name: &str, depth: usize) -> Family {
        let openings = self.program.openings(name);
        if !openings.iter().any(|opening| opening.is_class) {
            return Family::Other;
        }
        let Some((opening, superclass)) =
            openings.iter().find_map(|opening| Some((opening, opening.superclass.as_ref()?)))
        else {
            return self.without_superclass(name);
        };
        match &superclass.kind {
            Kind::Const(base) => {
                // A class is not its own superclass: `class Shop::Item < Item` names the outer one.
                let outer = opening.nesting.get(..opening.nesting.len().saturating_sub(1)).unwrap_or_default();
                match self.program.resolve(base, outer).filter(|full| full != name) {
                    Some(full) => match self.of(&full, depth + 1) {
                        Family::Model(_) => Family::Model(Some(full)),
                        Family::Other => self.foreign(name, base, &full),
                    },
                    None => self.foreign(name, base, base),
                }
            }
            _ => self.computed(name, &opening.place),
        }
    }

    /// A superclass that the application does not define.
    fn foreign(&mut self, name: &str, base: &str, full: &str) -> Family {
        let base = base.trim_start_matches("::");
        if ["ActiveRecord::Base", "ApplicationRecord"].contains(&base) || base.ends_with("::ApplicationRecord") {
            return Family::Model(None);
        }
        let is_lookalike =
            ["Serializer", "Resource", "Blueprint", "Blueprinter::Base"].iter().any(|end| base.ends_with(end));
        if is_lookalike || !self.declares(name) {
            return Family::Other;
        }
        let message = format!("{name} inherits from {full}, which is not known to be a model; it is taken for one");
        self.remark(name, message)
    }

    fn computed(&mut self, name: &str, place: &Place) -> Family {
        if !is_model_file(&place.file) || !self.declares(name) {
            return Family::Other;
        }
        self.remark(name, format!("the superclass of {name} is computed; it is taken for a model"))
    }

    fn without_superclass(&mut self, name: &str) -> Family {
        if !self.declares(name) || name == "ActiveRecord::Base" {
            return Family::Other;
        }
        self.remark(name, format!("{name} is opened here and defined elsewhere; it is taken for a model"))
    }

    fn remark(&mut self, name: &str, message: String) -> Family {
        let place = self.program.openings(name).first().map(|opening| opening.place.clone()).unwrap_or_default();
        self.remarks.push(Remark { message, place });
        Family::Model(None)
    }

    fn declares(&self, name: &str) -> bool {
        self.program.openings(name).iter().any(|opening| declares(&opening.body))
    }
}
