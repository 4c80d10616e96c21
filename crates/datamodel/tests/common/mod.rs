//! What tests of the logic share: models from Ruby, and verdicts about them.

#![allow(clippy::unwrap_used, dead_code)]

use isolde_datamodel::logic::{self, Limits, Question, Schema, Semantics, Verdict};
use isolde_datamodel::property::Properties;
use isolde_datamodel::read::{self, File};
use isolde_datamodel::{DataModel, Framework};
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

/// Reads models of a Rails application; what stands behind `--- schema` is its db/schema.rb.
pub(crate) fn model(ruby: &str) -> DataModel {
    let (models, schema) = ruby.split_once("--- schema\n").unwrap_or((ruby, ""));
    let config = "module App\n  class Application < Rails::Application\n    config.active_record.belongs_to_required_by_default = false\n  end\nend\n";
    let mut files = vec![File::new("app/models/all.rb", models), File::new("config/application.rb", config)];
    if !schema.is_empty() {
        let schema = format!("ActiveRecord::Schema[7.1].define(version: 1) do\n{schema}end\n");
        files.push(File::new("db/schema.rb", schema));
    }
    read::read(Framework::Rails, &files)
}
