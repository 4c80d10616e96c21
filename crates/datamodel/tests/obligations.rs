//! What is found without asking.

#![allow(clippy::unwrap_used)]

mod common;

use isolde_datamodel::check::{self, Options};
use isolde_datamodel::logic::{Limits, Semantics};

/// One line per finding: what it is called, and the change that helps.
fn check(ruby: &str, expected: &str) {
    let ruby = common::unindented(ruby);
    let options =
        Options { semantics: Semantics::Rails, limits: Limits::default(), command: String::new(), path: "app".into() };
    let (model, files) = (common::model(&ruby), common::rails_files(&ruby));
    let report = check::check(&model, &files, None, &common::solver(), &options).unwrap();
    let line = |finding: &isolde_report::Finding| {
        let change = finding.change.as_ref().map(|change| format!(" => {}", change.code.replace('\n', "; ")));
        format!("{}{}\n", finding.id, change.unwrap_or_default())
    };
    let found: String = report.findings.iter().map(line).collect();
    let expected: String =
        expected.lines().map(str::trim).filter(|l| !l.is_empty()).map(|l| format!("{l}\n")).collect();
    assert_eq!(found, expected);
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
        "dangling:Note.user:User => has_many :notes, dependent: :nullify
         dangling:Photo.user:User => has_many :photos, dependent: :destroy",
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
        &common::posts_with_comments(", dependent: :delete_all"),
        "skipped:Comment.post:User => has_many :posts, dependent: :destroy",
    );
}

#[test]
fn the_database_stands_in_the_way_or_disagrees() {
    let ruby = &common::posts_in_tables("", ", null: false", Some(""));
    check(ruby, "raises:User => has_many :posts, dependent: :destroy");
    let disagreeing =
        common::posts_in_tables(", dependent: :restrict_with_error", ", null: false", Some(", on_delete: :cascade"));
    check(&disagreeing, "disagree:Post.user:User");
}

#[test]
fn a_required_relation_that_is_emptied() {
    check(
        &common::needed_posts(", dependent: :nullify"),
        "emptied:Post.user:User => has_many :posts, dependent: :destroy",
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
        "racy:User:email => add_index :users, [:email], unique: true",
    );
}

#[test]
fn rows_of_joins_are_left_by_the_side_that_does_not_declare_them() {
    let ruby = "
        class User < ApplicationRecord
          has_and_belongs_to_many :roles
        end
        class Role < ApplicationRecord
        end
        class Team < ApplicationRecord
          has_many :users, dependent: :delete_all
        end";
    let member = ruby.replace("belongs_to_many :roles", "belongs_to_many :roles\n          belongs_to :team");
    let keys = "add_foreign_key :roles_users, :users, on_delete: :cascade; add_foreign_key :roles_users, :roles, on_delete: :cascade";
    // Users that go with their team go without callbacks.
    check(&member, &format!("dangling:roles_users:Role => {keys}\ndangling:roles_users:Team => {keys}"));
    let both = member.replace(
        "class Role < ApplicationRecord",
        "class Role < ApplicationRecord\n          has_and_belongs_to_many :users",
    );
    check(&both.replace("delete_all", "destroy"), "");
}

#[test]
fn a_class_that_is_joined_with_itself_removes_the_rows_of_one_side() {
    check(
        "class Product < ApplicationRecord
           has_and_belongs_to_many :related, class_name: \"Product\", join_table: \"related\", foreign_key: :a_id, association_foreign_key: :b_id
         end",
        "dangling:related:Product => add_foreign_key :related, :products, on_delete: :cascade  # for either column",
    );
}

#[test]
fn what_no_class_declares_is_declared_by_the_remedy() {
    check(
        "class User < ApplicationRecord
         end
         class Photo < ApplicationRecord
           belongs_to :owner, class_name: \"User\"
           belongs_to :editor, class_name: \"User\"
         end",
        "dangling:Photo.owner:User => has_many :photos, foreign_key: :owner_id, dependent: :nullify
         dangling:Photo.editor:User => has_many :photos, foreign_key: :editor_id, dependent: :nullify",
    );
}

#[test]
fn a_rule_with_a_condition_is_kept_beside_one_without() {
    check(
        "class User < ApplicationRecord
           has_many :drafts, -> { where(draft: true) }, class_name: \"Post\", dependent: :destroy
         end
         class Post < ApplicationRecord
           belongs_to :user
           validates :user, presence: true
         end",
        "dangling:Post.user:User => has_many :all_drafts, class_name: \"Post\", dependent: :destroy",
    );
}

#[test]
fn a_required_relation_that_the_table_does_not_require() {
    check(
        "class User < ApplicationRecord
           has_many :posts, dependent: :destroy
         end
         class Post < ApplicationRecord
           belongs_to :user
           validates :user, presence: true
         end
         --- schema
         create_table \"users\" do |t|
         end
         create_table \"posts\" do |t|
           t.bigint \"user_id\"
         end",
        "nullable:Post.user => change_column_null :posts, :user_id, false",
    );
}

/// What a delete does is not known, so nothing is claimed about it.
#[test]
fn what_is_not_understood_is_not_decided() {
    let model = common::model(
        "class User < ApplicationRecord
  has_many :memberships, -> { where(open: true) }
  has_many :groups, through: :memberships, dependent: :destroy
end
class Membership < ApplicationRecord
  belongs_to :user
  belongs_to :group
end
class Group < ApplicationRecord
end
class Tag < ApplicationRecord
  belongs_to :taggable, polymorphic: true
end
",
    );
    let unknown = |property: &str| {
        let found = common::verdicts(&model, property, Semantics::Rails, Limits::default(), &common::solver());
        common::letters(&found)
    };
    assert_eq!(unknown("no delete propagation User to Membership"), "?");
    assert_eq!(unknown("always related Tag.taggable"), "?");
    assert_eq!(unknown("possible some t: Tag | some t.taggable"), "?");
    assert_eq!(unknown("no delete propagation Group to User"), "y");
}
