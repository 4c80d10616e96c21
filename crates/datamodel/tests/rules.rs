//! The rules of Rails, one by one: what its documentation says happens, and what we prove.

#![allow(clippy::unwrap_used)]

mod common;

use isolde_datamodel::logic::{Limits, Semantics};

/// The letters of the verdicts: holds, fails, unknown.
fn check(ruby: &str, properties: &str, expected: &str) {
    let ruby = common::unindented(ruby);
    let model = common::model(&ruby);
    let found = common::verdicts(&model, properties, Semantics::Rails, Limits::default(), &common::solver());
    assert_eq!(common::letters(&found), expected, "{ruby}\n{found:#?}");
}

#[test]
fn restrict_refuses_and_nothing_changes() {
    let ruby = &common::posts(", dependent: :restrict_with_error");
    check(ruby, "after delete u: User | not refused", "n");
    check(ruby, "possible after delete u: User | not refused", "y");
    check(ruby, "no dangling Post.user after User", "y");
    check(ruby, "after delete u: User | refused iff some old u.posts", "y");
}

#[test]
fn callbacks_run_in_the_order_of_declaration() {
    // The refusal comes first, and sees what would have gone.
    let refusing = "
        class User < ApplicationRecord
          has_many :kept, class_name: \"Post\", dependent: :restrict_with_error
          has_many :posts, dependent: :destroy
        end
        class Post < ApplicationRecord
          belongs_to :user
        end";
    check(
        &refusing.replace(":kept, class_name: \"Post\"", ":kept, class_name: \"Post\", foreign_key: :user_id"),
        "possible after delete u: User | some old u.posts and not refused",
        "n",
    );
    let destroying = "
        class User < ApplicationRecord
          has_many :posts, dependent: :destroy
          has_many :kept, class_name: \"Post\", foreign_key: :user_id, dependent: :restrict_with_error
        end
        class Post < ApplicationRecord
          belongs_to :user
        end";
    check(destroying, "after delete u: User | not refused", "y");
}

#[test]
fn nullify_cuts_off_unless_the_column_forbids_it() {
    let ruby = &common::posts(", dependent: :nullify");
    check(
        ruby,
        "no dangling Post.user after User\nno delete propagation User to Post\nafter delete u: User | not raises",
        "yyy",
    );
    let strict = common::posts_in_tables(", dependent: :nullify", ", null: false", None);
    check(&strict, "after delete u: User | not raises", "n");
}

#[test]
fn delete_all_passes_over_what_its_rows_would_take_along() {
    let ruby = &common::posts_with_comments(", dependent: :delete_all");
    check(
        ruby,
        "no dangling Post.user after User\nno dangling Comment.post after Post\nno dangling Comment.post after User",
        "yyn",
    );
    check(&ruby.replace("delete_all", "destroy"), "no dangling Comment.post after User", "y");
}

#[test]
fn a_rule_on_through_removes_the_rows_between() {
    let ruby = "
        class User < ApplicationRecord
          has_many :memberships
          has_many :groups, through: :memberships, dependent: :destroy
        end
        class Membership < ApplicationRecord
          belongs_to :user
          belongs_to :group
          validates :group, presence: true
        end
        class Group < ApplicationRecord
          has_many :memberships
        end";
    check(ruby, "no delete propagation User to Group\nno dangling Membership.user after User", "yy");
}

#[test]
fn what_belongs_to_can_take_along_what_it_belongs_to() {
    let ruby = "
        class Post < ApplicationRecord
          belongs_to :draft, dependent: :destroy
        end
        class Draft < ApplicationRecord
          has_many :posts
        end";
    check(ruby, "after delete p: Post | gone old p.draft\nno dangling Post.draft after Post", "yn");
}

#[test]
fn pairs_of_a_join_go_with_either_side() {
    let ruby = "
        class User < ApplicationRecord
          has_and_belongs_to_many :roles
        end
        class Role < ApplicationRecord
          has_and_belongs_to_many :users
        end";
    check(ruby, "after delete r: Role | all u: User | r not in u.roles\nno delete propagation Role to User", "yy");
}

#[test]
fn cycles_end_and_are_proved_by_rank() {
    let ruby = "
        class Comment < ApplicationRecord
          belongs_to :parent, class_name: \"Comment\"
          has_many :replies, class_name: \"Comment\", foreign_key: :parent_id, dependent: :destroy
          has_many :votes, dependent: :delete_all
        end
        class Vote < ApplicationRecord
          belongs_to :comment
        end
        class Tag < ApplicationRecord
        end";
    check(
        ruby,
        "no dangling Comment.parent after Comment\nno dangling Vote.comment after Comment\nno delete propagation Comment to Tag",
        "yyy",
    );
    // Nothing justifies itself: without replies nothing else goes.
    check(
        ruby,
        "after delete c: Comment | no old c.replies implies all d: old Comment | d != c implies not gone d",
        "y",
    );
}

#[test]
fn the_database_acts_behind_the_application() {
    let ruby = &common::posts_in_tables("", "", Some(""));
    check(ruby, "after delete u: User | not raises\nno dangling Post.user after User", "ny");
    let cascade = common::posts_in_tables("", "", Some(", on_delete: :cascade"));
    check(&cascade, "after delete u: User | not raises\ndelete propagates User to Post.user", "yy");
    let nullify = common::posts_in_tables("", "", Some(", on_delete: :nullify"));
    check(
        &nullify,
        "after delete u: User | not raises\nno delete propagation User to Post\nno dangling Post.user after User",
        "yyy",
    );
    // Jobs come too late for a foreign key.
    let later = common::posts_in_tables(", dependent: :destroy_async", "", Some(""));
    check(&later, "after delete u: User | not raises", "n");
}

#[test]
fn a_validation_is_no_invariant_under_deletes() {
    let ruby = &common::needed_posts(", dependent: :nullify");
    check(ruby, "always related Post.user\nafter delete u: User | all p: Post | some p.user", "yn");
}

#[test]
fn kinds_of_a_class_add_rules_of_their_own() {
    let ruby = "
        class Item < ApplicationRecord
          has_many :lines, dependent: :destroy
        end
        class Product < Item
          has_many :images, dependent: :destroy
        end
        class Line < ApplicationRecord
          belongs_to :item
        end
        class Image < ApplicationRecord
          belongs_to :product
        end";
    check(
        ruby,
        "no dangling Line.item after Product\nno dangling Image.product after Item\nno dangling Line.item after Item",
        "yyy",
    );
}

#[test]
fn only_what_meets_a_condition_goes() {
    let ruby = "
        class User < ApplicationRecord
          has_many :drafts, -> { where(draft: true) }, class_name: \"Post\", dependent: :destroy
          has_many :posts
        end
        class Post < ApplicationRecord
          belongs_to :user
        end";
    check(ruby, "no dangling Post.user after User\nafter delete u: User | gone old u.drafts", "ny");
}

#[test]
fn a_has_one_through_ignores_its_rule() {
    let ruby = "
        class User < ApplicationRecord
          has_one :membership
          has_one :group, through: :membership, dependent: :destroy
        end
        class Membership < ApplicationRecord
          belongs_to :user
          belongs_to :group
        end
        class Group < ApplicationRecord
          has_many :memberships
        end";
    check(
        ruby,
        "no delete propagation User to Group\nno delete propagation User to Membership\nno dangling Membership.user after User",
        "yyn",
    );
}

#[test]
fn what_belongs_to_deletes_past_the_rules_of_what_it_belongs_to() {
    let ruby = "
        class Post < ApplicationRecord
          belongs_to :draft, dependent: :delete
        end
        class Draft < ApplicationRecord
          has_many :posts
          has_many :notes, dependent: :destroy
        end
        class Note < ApplicationRecord
          belongs_to :draft
        end";
    check(ruby, "after delete p: Post | gone old p.draft\nno dangling Note.draft after Post", "yn");
    check(&ruby.replace("dependent: :delete\n", "dependent: :destroy\n"), "no dangling Note.draft after Post", "y");
}

#[test]
fn a_belongs_to_takes_along_what_it_belongs_to_after_its_own_row_has_gone() {
    // The foreign key does not stop it: nothing names the draft any more when it goes.
    let ruby = "
        class Post < ApplicationRecord
          belongs_to :draft, dependent: :destroy
        end
        class Draft < ApplicationRecord
          has_one :post
        end
        --- schema
        create_table \"drafts\" do |t|
        end
        create_table \"posts\" do |t|
          t.bigint \"draft_id\"
        end
        add_foreign_key \"posts\", \"drafts\"";
    check(ruby, "after delete p: Post | not raises\nafter delete p: Post | gone old p.draft", "yy");
}

#[test]
fn classes_that_destroy_each_other_come_to_an_end() {
    let ruby = "
        class User < ApplicationRecord
          has_one :profile, dependent: :destroy
        end
        class Profile < ApplicationRecord
          belongs_to :user, dependent: :destroy
        end";
    check(
        ruby,
        "no dangling Profile.user after User\nno dangling Profile.user after Profile\nafter delete p: Profile | gone old p.user",
        "yyy",
    );
}

#[test]
fn a_refusal_far_down_undoes_everything() {
    let ruby = "
        class User < ApplicationRecord
          has_many :posts, dependent: :destroy
        end
        class Post < ApplicationRecord
          belongs_to :user
          has_many :comments, dependent: :restrict_with_exception
        end
        class Comment < ApplicationRecord
          belongs_to :post
        end";
    check(ruby, "after delete u: User | refused iff some old u.posts.comments", "y");
    check(ruby, "no dangling Comment.post after User\nafter delete u: User | not raises", "yy");
}

#[test]
fn a_refusal_keeps_the_foreign_key_from_being_asked() {
    let ruby = &common::posts_in_tables(", dependent: :restrict_with_error", "", Some(""));
    check(ruby, "after delete u: User | not raises\nafter delete u: User | refused iff some old u.posts", "yy");
}

#[test]
fn unique_is_what_is_filled_and_always_looked_at() {
    let ruby = "
        class User < ApplicationRecord
        end
        class Card < ApplicationRecord
          belongs_to :user
          validates :user_id, uniqueness: true
        end";
    let alone = "all a, b: Card | some a.user and a.user = b.user implies a = b";
    let never_two = "possible some a, b: Card | a != b and no a.user and no b.user";
    check(ruby, &format!("{alone}\n{never_two}"), "yy");
    // A validation with a condition is no rule for all.
    check(&ruby.replace("uniqueness: true", "uniqueness: true, if: :active?"), alone, "n");
    check(&ruby.replace("uniqueness: true", "uniqueness: { scope: :kind }"), alone, "n");
}

#[test]
fn rows_that_are_only_marked_are_not_protected_by_the_database() {
    let plain = common::posts_in_tables("", "", Some(", on_delete: :cascade"));
    let marked = plain.replace("  has_many", "  acts_as_paranoid\n  has_many");
    check(&marked, "no dangling Post.user after User\nafter delete u: User | not raises", "ny");
    check(&plain, "no dangling Post.user after User", "y");
}
