//! What is found without asking.

#![allow(clippy::unwrap_used)]

mod common;

use isolde_datamodel::check::{self, Options};
use isolde_datamodel::logic::{Limits, Semantics};

/// One line per finding: what it is called, and the change that helps.
fn findings(ruby: &str) -> Option<String> {
    let solver = common::solver()?;
    let ruby: String = ruby.lines().map(|line| format!("{}\n", line.trim())).collect();
    let options =
        Options { semantics: Semantics::Rails, limits: Limits::default(), command: String::new(), path: "app".into() };
    let report = check::check(&common::model(&ruby), None, &solver, &options).unwrap();
    let line = |finding: &isolde_report::Finding| {
        let change = finding
            .change
            .as_ref()
            .map(|change| format!(" => {}{}", change.code, if change.verified { "" } else { " ?" }));
        format!("{}{}\n", finding.id, change.unwrap_or_default())
    };
    Some(report.findings.iter().map(line).collect())
}

fn check(ruby: &str, expected: &str) {
    let expected: String =
        expected.lines().map(str::trim).filter(|l| !l.is_empty()).map(|l| format!("{l}\n")).collect();
    if let Some(found) = findings(ruby) {
        assert_eq!(found, expected);
    }
}

#[test]
fn what_a_delete_leaves_behind_and_what_helps() {
    check(
        "class User < ApplicationRecord
           has_many :photos
           has_many :notes
         end
         class Photo < ApplicationRecord
           belongs_to :user
           validates :user, presence: true
         end
         class Note < ApplicationRecord
           belongs_to :user
         end",
        "dangling:Note.user:User => has_many :notes with dependent: :nullify
         dangling:Photo.user:User => has_many :photos with dependent: :destroy",
    );
}

#[test]
fn a_model_that_takes_care_has_no_findings() {
    check(
        "class User < ApplicationRecord
           has_many :photos, dependent: :destroy
         end
         class Photo < ApplicationRecord
           belongs_to :user
         end",
        "",
    );
}

#[test]
fn a_cascade_that_is_skipped() {
    check(
        "class User < ApplicationRecord
           has_many :posts, dependent: :delete_all
         end
         class Post < ApplicationRecord
           belongs_to :user
           has_many :comments, dependent: :destroy
         end
         class Comment < ApplicationRecord
           belongs_to :post
         end",
        "skipped:Comment.post:User => has_many :posts with dependent: :destroy",
    );
}

#[test]
fn the_database_stands_in_the_way_or_disagrees() {
    let ruby = "class User < ApplicationRecord
           has_many :posts
         end
         class Post < ApplicationRecord
           belongs_to :user
         end
         --- schema
         create_table \"users\" do |t|
         end
         create_table \"posts\" do |t|
           t.bigint \"user_id\", null: false
         end
         add_foreign_key \"posts\", \"users\"";
    check(ruby, "raises:User => has_many :posts with dependent: :destroy");
    let disagreeing = ruby.replace("has_many :posts", "has_many :posts, dependent: :restrict_with_error");
    check(
        &disagreeing.replace("\"posts\", \"users\"", "\"posts\", \"users\", on_delete: :cascade"),
        "disagree:Post.user:User",
    );
}

#[test]
fn a_required_relation_that_is_emptied() {
    check(
        "class User < ApplicationRecord
           has_many :posts, dependent: :nullify
         end
         class Post < ApplicationRecord
           belongs_to :user
           validates :user, presence: true
         end",
        "emptied:Post.user:User",
    );
}

#[test]
fn unique_by_validation_only() {
    check(
        "class User < ApplicationRecord
           validates :email, uniqueness: true
         end
         class Post < ApplicationRecord
           validates :slug, uniqueness: true
         end
         --- schema
         create_table \"users\" do |t|
           t.string \"email\"
         end
         create_table \"posts\" do |t|
           t.string \"slug\"
           t.index [\"slug\"], name: \"index_posts_on_slug\", unique: true
         end",
        "racy:User:email => add_index :users, [:email], unique: true ?",
    );
}
