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

/// The solver.
pub(crate) fn solver() -> Solver {
    Solver::from_environment().expect("these tests need a solver, which ./test installs")
}

/// The verdicts of all properties of a text about a model.
pub(crate) fn verdicts(
    model: &DataModel,
    properties: &str,
    semantics: Semantics,
    limits: Limits,
    solver: &Solver,
) -> Vec<(String, Verdict)> {
    let properties = Properties::parse(properties, model).unwrap_or_else(|error| panic!("{error:?}"));
    let schema = Schema::new(model, semantics);
    let decide = |property| {
        let question = Question { schema: &schema, property, assumptions: &properties.assumptions };
        logic::decide(question, solver, limits).unwrap()
    };
    properties.list.iter().map(|property| (property.name.clone(), decide(property))).collect()
}

/// The letters of verdicts: holds, fails, unknown.
pub(crate) fn letters(found: &[(String, Verdict)]) -> String {
    let letter = |verdict: &Verdict| match verdict {
        Verdict::Holds(_) => 'y',
        Verdict::Fails(_) => 'n',
        Verdict::Unknown(_) => '?',
    };
    found.iter().map(|(_, verdict)| letter(verdict)).collect()
}

/// A text without the indentation that it has inside a test: that of its first line.
pub(crate) fn unindented(text: &str) -> String {
    let indent = text.lines().find(|line| !line.trim().is_empty()).map_or(0, |l| l.len() - l.trim_start().len());
    text.lines().map(|line| format!("{}\n", line.get(indent..).unwrap_or(line.trim_start()))).collect()
}

/// A user has posts, with these options.
pub(crate) fn posts(options: &str) -> String {
    format!(
        "class User < ApplicationRecord\n  has_many :posts{options}\nend\n\
         class Post < ApplicationRecord\n  belongs_to :user\nend\n"
    )
}

/// The same, and a post needs its user.
pub(crate) fn needed_posts(options: &str) -> String {
    posts(options).replace(":user\n", ":user\n  validates :user, presence: true\n")
}

/// The same, and posts have comments, which go with them.
pub(crate) fn posts_with_comments(options: &str) -> String {
    let posts = posts(options).replace(":user\n", ":user\n  has_many :comments, dependent: :destroy\n");
    format!("{posts}class Comment < ApplicationRecord\n  belongs_to :post\nend\n")
}

/// The same with tables: options of the column, and of the foreign key, if there is to be one.
pub(crate) fn posts_in_tables(options: &str, column: &str, key: Option<&str>) -> String {
    let key = key.map(|key| format!("add_foreign_key \"posts\", \"users\"{key}\n")).unwrap_or_default();
    let tables = "create_table \"users\" do |t|\nend\ncreate_table \"posts\" do |t|\n  t.bigint \"user_id\"";
    format!("{}--- schema\n{tables}{column}\nend\n{key}", posts(options))
}

/// The files of a Rails application; what stands behind `--- schema` is its db/schema.rb.
pub(crate) fn rails_files(ruby: &str) -> Vec<File> {
    let (models, schema) = ruby.split_once("--- schema\n").unwrap_or((ruby, ""));
    let config = "module App\n  class Application < Rails::Application\n    config.active_record.belongs_to_required_by_default = false\n  end\nend\n";
    let mut files = vec![File::new("app/models/all.rb", models), File::new("config/application.rb", config)];
    if !schema.is_empty() {
        let schema = format!("ActiveRecord::Schema[7.1].define(version: 1) do\n{schema}end\n");
        files.push(File::new("db/schema.rb", schema));
    }
    files
}

/// Reads them.
pub(crate) fn model(ruby: &str) -> DataModel {
    read::read(Framework::Rails, &rails_files(ruby))
}
