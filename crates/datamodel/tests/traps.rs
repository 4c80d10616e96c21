//! What readers of Rails models trip over, one trap after another: each with a declaration that counts and one that
//! does not.
//!
//! A trap is avoided if the delete of what is named comes to what Rails does: the property "nothing dangles" holds of
//! the first application, and not of the second, which differs in the trap alone.

#![allow(clippy::unwrap_used)]

mod common;

use isolde_datamodel::logic::{Limits, Semantics};
use isolde_datamodel::read::{self, File};
use isolde_datamodel::{DataModel, Framework};

const PARTS: &str = "class Part < ApplicationRecord\n  belongs_to :car\nend\n";

fn model(files: &[(&str, &str)]) -> DataModel {
    let files: Vec<File> = files.iter().map(|(path, text)| File::new(*path, *text)).collect();
    read::read(Framework::Rails, &files)
}

fn decide(model: &DataModel, property: &str) -> String {
    common::letters(&common::verdicts(model, property, Semantics::Rails, Limits::default(), &common::solver()))
}

/// A car has parts; the first way of saying so takes them along, the second does not.
fn trap(good: &str, bad: &str) {
    for (text, expected) in [(good, "y"), (bad, "n")] {
        let car = format!("class Car < ApplicationRecord\n{text}\nend\n");
        let model = model(&[("app/models/car.rb", &car), ("app/models/part.rb", PARTS)]);
        assert_eq!(decide(&model, "no dangling Part.car after Car"), expected, "{text}\n{model}");
    }
}

/// The same for whole applications.
fn applications(good: &[(&str, &str)], bad: &[(&str, &str)], property: &str) {
    for (files, expected) in [(good, "y"), (bad, "n")] {
        let model = model(files);
        assert_eq!(decide(&model, property), expected, "{files:#?}\n{model}");
    }
}

#[test]
fn hash_rockets_and_new_syntax() {
    trap("has_many :parts, :dependent => :destroy", "has_many :parts, :validate => true");
    trap("has_many :parts, dependent: :destroy", "has_many :parts, validate: true");
    trap("has_many :parts, \"dependent\": :destroy", "# has_many :parts, dependent: :destroy\nhas_many :parts");
}

#[test]
fn several_lines_and_blocks() {
    trap(
        "has_many :parts,\n  inverse_of: :car,\n  dependent: :destroy",
        "has_many :parts,\n  inverse_of: :car,\n  autosave: true",
    );
    trap(
        "has_many(:parts, dependent: :destroy) do\n  def broken; where(broken: true); end\nend",
        "has_many(:parts) do\n  def dependent; :destroy; end\nend",
    );
    trap(
        "has_many :parts, -> { order(:name) }, dependent: :destroy",
        "has_many :parts, -> { where(name: \"x\") }, dependent: :destroy",
    );
    trap("has_many :parts, proc { order(:name) }, dependent: :destroy", "has_many :parts, proc { order(:name) }");
}

#[test]
fn with_options_nested_and_with_a_block_parameter() {
    trap(
        "with_options dependent: :destroy do\n  has_many :parts\nend",
        "with_options dependent: :destroy do\n  has_many :others, class_name: \"Part\", foreign_key: :other_id\nend\nhas_many :parts",
    );
    trap(
        "with_options dependent: :destroy do |car|\n  car.has_many :parts\nend",
        "with_options inverse_of: :car do |car|\n  car.has_many :parts\nend",
    );
    trap(
        "with_options inverse_of: :car do\n  with_options dependent: :destroy do\n    has_many :parts\n  end\nend",
        "with_options dependent: :destroy do\n  with_options dependent: nil do\n    has_many :parts\n  end\nend",
    );
}

#[test]
fn concerns_and_plain_modules() {
    let concern = "module Built\n  extend ActiveSupport::Concern\n  included do\n    has_many :parts, dependent: :destroy\n  end\nend\n";
    let plain = "module Built\n  def self.included(base)\n    base.class_eval do\n      has_many :parts, dependent: :destroy\n    end\n  end\nend\n";
    for module in [concern, plain] {
        let with = "class Car < ApplicationRecord\n  include Built\nend\n";
        let without = "class Car < ApplicationRecord\n  has_many :parts\nend\n";
        let files =
            |car| [("app/models/car.rb", car), ("app/models/part.rb", PARTS), ("app/models/concerns/built.rb", module)];
        applications(&files(with), &files(without), "no dangling Part.car after Car");
    }
}

#[test]
fn namespaces_and_absolute_names() {
    let outer = "class Part < ApplicationRecord\n  belongs_to :car\nend\n";
    let inner =
        "module Shop\n  class Part < ApplicationRecord\n    belongs_to :car, class_name: \"::Car\"\n  end\nend\n";
    let car = |name: &str| {
        format!("class Car < ApplicationRecord\n  has_many :parts, class_name: \"{name}\", dependent: :destroy\nend\n")
    };
    let (good, bad) = (car("::Part"), car("Shop::Part"));
    let files = |car| [("app/models/car.rb", car), ("app/models/part.rb", outer), ("app/models/shop/part.rb", inner)];
    applications(&files(&good), &files(&bad), "no dangling Part.car after Car");
}

#[test]
fn names_of_classes_and_keys_as_strings_and_symbols() {
    for (class, key) in [("\"Part\"", "\"car_id\""), (":Part", ":car_id"), ("Part.name", ":car_id")] {
        trap(
            &format!("has_many :pieces, class_name: {class}, foreign_key: {key}, dependent: :destroy"),
            &format!("has_many :pieces, class_name: {class}, foreign_key: :other_id, dependent: :destroy"),
        );
    }
}

#[test]
fn two_associations_on_one_column() {
    trap(
        "has_many :parts\nhas_many :pieces, class_name: \"Part\", dependent: :destroy",
        "has_many :parts\nhas_many :pieces, class_name: \"Part\", foreign_key: :piece_of_id, dependent: :destroy",
    );
}

#[test]
fn one_name_twice_and_the_last_counts() {
    trap(
        "has_many :parts\nhas_many :parts, dependent: :destroy",
        "has_many :parts, dependent: :destroy\nhas_many :parts",
    );
}

#[test]
fn twins_with_a_condition() {
    trap(
        "has_many :parts, dependent: :destroy\nhas_many :old_parts, -> { where(old: true) }, class_name: \"Part\"",
        "has_many :parts\nhas_many :old_parts, -> { where(old: true) }, class_name: \"Part\", dependent: :destroy",
    );
    trap(
        "has_many :parts, :order => \"name\", :dependent => :destroy",
        "has_many :parts, :conditions => \"old\", :dependent => :destroy",
    );
}

/// A `has_one` that chooses among many says nothing about how many there are.
#[test]
fn has_one_over_a_column_of_many() {
    let many = "multiple allowed Car.parts";
    let car = |one: &str| format!("class Car < ApplicationRecord\n  has_many :parts\n  {one}\nend\n");
    let lone = "class Car < ApplicationRecord\n  has_one :part\nend\n";
    for one in ["has_one :latest, -> { order(:id) }, class_name: \"Part\"", "has_one :part"] {
        let model = model(&[("app/models/car.rb", &car(one)), ("app/models/part.rb", PARTS)]);
        assert_eq!(decide(&model, many), "y", "{one}\n{model}");
    }
    let model = model(&[("app/models/car.rb", lone), ("app/models/part.rb", PARTS)]);
    assert_eq!(decide(&model, "possible some c: Car | not lone c.part"), "n");
}

#[test]
fn macros_of_gems() {
    let tree = "class Section < ActiveRecord::Base\n  acts_as_tree\nend\n";
    let plain = "class Section < ActiveRecord::Base\n  belongs_to :parent, class_name: \"Section\"\n  has_many :children, class_name: \"Section\", foreign_key: :parent_id\nend\n";
    applications(
        &[("app/models/section.rb", tree)],
        &[("app/models/section.rb", plain)],
        "no dangling Section.parent after Section",
    );
    let comment = "class Comment < ActiveRecord::Base\n  belongs_to :commentable, polymorphic: true\nend\n";
    let post = |body: &str| format!("class Post < ActiveRecord::Base\n  {body}\nend\n");
    let (good, bad) = (post("acts_as_commentable"), post("has_many :comments, as: :commentable"));
    let files = |post| [("app/models/post.rb", post), ("app/models/comment.rb", comment)];
    applications(&files(&good), &files(&bad), "no dangling Comment.commentable after Post");
}

#[test]
fn a_class_that_is_opened_in_the_file_of_another() {
    let plugin = |body: &str| format!("class Plugin < ApplicationRecord\n  class ::Car\n    {body}\n  end\nend\n");
    let car = "class Car < ApplicationRecord\nend\n";
    let (good, bad) = (plugin("has_many :parts, dependent: :destroy"), plugin("has_many :parts"));
    let files = |plugin| [("app/models/car.rb", car), ("app/models/part.rb", PARTS), ("app/models/plugin.rb", plugin)];
    applications(&files(&good), &files(&bad), "no dangling Part.car after Car");
}

/// A class that is no longer there is told, and the rest is read.
#[test]
fn a_class_that_no_longer_exists() {
    trap(
        "has_many :wheels, dependent: :destroy\nhas_many :parts, dependent: :destroy",
        "has_many :wheels, dependent: :destroy\nhas_many :parts",
    );
    let car = "class Car < ApplicationRecord\n  has_many :wheels\nend\n";
    let remarks = model(&[("app/models/car.rb", car)]).remarks;
    assert!(remarks.iter().any(|remark| remark.message.contains("Wheel, which is not defined")), "{remarks:?}");
}

/// SQL of its own leads nobody knows where: what it says about deletes is no proof.
#[test]
fn finder_sql() {
    let car =
        "class Car < ApplicationRecord\n  has_many :parts, :finder_sql => \"SELECT 1\", :dependent => :destroy\nend\n";
    let model = model(&[("app/models/car.rb", car), ("app/models/part.rb", PARTS)]);
    assert_ne!(decide(&model, "no dangling Part.car after Car"), "y", "{model}");
    assert!(!model.remarks.is_empty());
}

#[test]
fn classes_that_share_a_table() {
    let vehicle = |body: &str| {
        format!(
            "class Vehicle < ApplicationRecord\n{body}end\nclass Car < Vehicle\n  has_many :parts, dependent: :destroy\nend\n"
        )
    };
    let part = "class Part < ApplicationRecord\n  belongs_to :car, class_name: \"Vehicle\"\nend\n";
    let (good, bad) = (vehicle("  has_many :parts, foreign_key: :car_id, dependent: :destroy\n"), vehicle(""));
    let files = |vehicle| [("app/models/vehicle.rb", vehicle), ("app/models/part.rb", part)];
    applications(&files(&good), &files(&bad), "no dangling Part.car after Vehicle");
}

#[test]
fn superclasses_of_engines() {
    let car = |base: &str, body: &str| format!("class Car < {base}\n  {body}\nend\n");
    let (good, bad) =
        (car("Spree.base_class", "has_many :parts, dependent: :destroy"), car("Spree::Base", "has_many :parts"));
    let files = |car| [("app/models/car.rb", car), ("app/models/part.rb", PARTS)];
    applications(&files(&good), &files(&bad), "no dangling Part.car after Car");
}

/// Whether a `belongs_to` is required: by default, by a flag, by itself.
#[test]
fn the_default_of_belongs_to() {
    let config = |line: &str| format!("class Application < Rails::Application\n  {line}\nend\n");
    let (new, old) = (config("config.load_defaults 7.1"), config("config.load_defaults 4.2"));
    let car = "class Car < ApplicationRecord\nend\n";
    let files = |config| [("app/models/car.rb", car), ("app/models/part.rb", PARTS), ("config/application.rb", config)];
    applications(&files(&new), &files(&old), "always related Part.car");
    let off = config("config.load_defaults 7.1\n  config.active_record.belongs_to_required_by_default = false");
    applications(&files(&new), &files(&off), "always related Part.car");
    let optional = PARTS.replace(":car\n", ":car, optional: true\n");
    let bad = [("app/models/car.rb", car), ("app/models/part.rb", &*optional), ("config/application.rb", &*new)];
    applications(&files(&new), &bad, "always related Part.car");
}

/// What the database does, from a dump in Ruby, a dump in SQL, or migrations alone.
#[test]
fn dumps_and_migrations() {
    let car = "class Car < ApplicationRecord\n  has_many :parts\nend\n";
    let ruby = |key: &str| {
        format!(
            "ActiveRecord::Schema[7.1].define(version: 1) do\n  create_table(\"cars\") {{ |t| }}\n  create_table(\"parts\") {{ |t| t.bigint \"car_id\" }}\n  {key}\nend\n"
        )
    };
    let sql = |key: &str| {
        format!(
            "CREATE TABLE public.cars (id bigint PRIMARY KEY);\nCREATE TABLE public.parts (id bigint PRIMARY KEY, car_id bigint);\n{key}\n"
        )
    };
    let migration = |key: &str| {
        format!(
            "class Create < ActiveRecord::Migration[7.1]\n  def change\n    create_table(:cars) {{ |t| }}\n    create_table(:parts) {{ |t| t.references :car{key} }}\n  end\nend\n"
        )
    };
    let cases = [
        ("db/schema.rb", ruby("add_foreign_key \"parts\", \"cars\", on_delete: :cascade"), ruby("")),
        (
            "db/structure.sql",
            sql(
                "ALTER TABLE ONLY public.parts ADD CONSTRAINT k FOREIGN KEY (car_id) REFERENCES public.cars(id) ON DELETE CASCADE;",
            ),
            sql(""),
        ),
        ("db/migrate/1_create.rb", migration(", foreign_key: { on_delete: :cascade }"), migration("")),
    ];
    for (path, good, bad) in &cases {
        let files = |text| [("app/models/car.rb", car), ("app/models/part.rb", PARTS), (*path, text)];
        applications(&files(good), &files(bad), "no dangling Part.car after Car");
    }
}

/// A table of another name is still the table of its class.
#[test]
fn a_table_of_another_name() {
    let part = |line: &str| format!("class Part < ApplicationRecord\n  {line}\n  belongs_to :car\nend\n");
    let car = "class Car < ApplicationRecord\n  has_many :parts\nend\n";
    let schema = "ActiveRecord::Schema[7.1].define(version: 1) do\n  create_table(\"cars\") { |t| }\n  create_table(\"pieces\") { |t| t.bigint \"car_id\" }\n  add_foreign_key \"pieces\", \"cars\", on_delete: :cascade\nend\n";
    let (good, bad) = (part("self.table_name = \"pieces\""), part("self.primary_key = \"pieces\""));
    let files = |part| [("app/models/car.rb", car), ("app/models/part.rb", part), ("db/schema.rb", schema)];
    applications(&files(&good), &files(&bad), "no dangling Part.car after Car");
}
