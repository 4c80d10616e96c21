//! The fifty properties of Nijjar and Bultan (ASE 2012) about five applications: their verdicts, and ours.

#![allow(clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use common::{app, letters, model, props, solver, verdicts};
use isolde_datamodel::logic::{Limits, Semantics};

/// Which hold under the paper's semantics, and under Rails as it is; in the order of the properties.
fn applications() -> Vec<(String, String, String)> {
    let text = include_str!("apps/verdicts.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let words = lines.map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    words.map(|words| <[String; 3]>::try_from(words).unwrap().into()).collect()
}

fn check(semantics: Semantics, projection: bool) {
    let solver = solver();
    for (name, paper, rails) in &applications() {
        let started = Instant::now();
        let limits = Limits { projection, ..Limits::default() };
        let found = verdicts(&model(&app(name)), &props(name), semantics, limits, &solver);
        let expected = if semantics == Semantics::Paper { paper } else { rails };
        assert_eq!(letters(&found), *expected, "{name}: {found:#?}");
        eprintln!("{name} {semantics:?} projection {projection}: {:?}", started.elapsed());
    }
}

#[test]
fn the_papers_verdicts_with_projection() {
    check(Semantics::Paper, true);
}

#[test]
fn the_papers_verdicts_without_projection() {
    check(Semantics::Paper, false);
}

#[test]
fn what_rails_really_does() {
    check(Semantics::Rails, true);
}

#[test]
fn what_rails_really_does_without_projection() {
    check(Semantics::Rails, false);
}

fn one(ruby: &str, property: &str, semantics: Semantics) -> String {
    let solver = solver();
    let limits = Limits { timeout: Duration::from_secs(10), ..Limits::default() };
    letters(&verdicts(&model(ruby), property, semantics, limits, &solver))
}

fn expect(ruby: &str, property: &str, semantics: Semantics, expected: &str) {
    assert_eq!(one(ruby, property, semantics), expected, "{property}");
}

#[test]
fn rows_that_can_be_read_in_two_ways() {
    let osr = app("opensourcerails");
    // As a predicate, O2 only says that two bookmarks may differ.
    expect(
        &osr,
        "possible all a, b: Bookmark | a.user = b.user and a.project = b.project implies a = b",
        Semantics::Paper,
        "y",
    );
    // With "Project's User" as its owner, O4 is another property.
    expect(&osr, "path equality Project.bookmarks.user = Project.owner", Semantics::Paper, "n");
    // As an equality of a thing and a set of things, F3 fails.
    let crm = app("fatfreecrm");
    expect(&crm, "all ao: AccountOpportunity | ao.opportunity = ao.account.opportunities", Semantics::Paper, "n");
    // L7 is also true of the profiles that are friends.
    let lovd = app("lovdbyless");
    expect(
        &lovd,
        "after delete p: Profile | all q: old Profile | q in old p.friends and q != p implies not gone q",
        Semantics::Paper,
        "y",
    );
}

#[test]
fn what_code_outside_the_model_decides() {
    // L5: a validation in Ruby; O9: an association that a plugin adds.
    let lovd = app("lovdbyless");
    let known = "assume all f: Friend | f.inviter != f.invited\nall f: Friend | f.inviter != f.invited";
    expect(&lovd, known, Semantics::Rails, "y");
    let osr = app("opensourcerails").replace(
        "class Project < ApplicationRecord\n",
        "class Project < ApplicationRecord\n  has_many :ratings, class_name: \"ProjectRating\", foreign_key: :rated_id, dependent: :delete_all\n",
    );
    expect(&osr, "delete propagates Project to ProjectRating.project", Semantics::Rails, "y");
}

#[test]
fn more_that_the_same_models_decide() {
    let substruct = app("substruct");
    // Addresses go with a user, orders are only cut off from it.
    expect(&substruct, "no dangling Order.billing_address after OrderUser", Semantics::Rails, "n");
    // A tree: circular rules, and still a proof.
    expect(&substruct, "delete propagates Section to Section.parent", Semantics::Rails, "y");
    expect(&substruct, "no dangling Section.parent after Section", Semantics::Rails, "y");
    expect(&substruct, "no delete propagation Section to Tag", Semantics::Rails, "y");
    expect(&substruct, "no delete propagation Section to Section", Semantics::Rails, "n");
    // delete_all passes over what todos would take along.
    let tracks = app("tracks");
    expect(&tracks, "no dangling Dependency.predecessor after Context", Semantics::Rails, "n");
    expect(&tracks, "no dangling Dependency.predecessor after Todo", Semantics::Rails, "y");
    let osr = app("opensourcerails");
    expect(&osr, "no dangling Project.owner after User", Semantics::Rails, "n");
}

#[test]
fn what_fails_in_infinite_data_only_is_no_bug() {
    let ring = "class Node < ApplicationRecord
  belongs_to :next, class_name: \"Node\"
  has_one :prev, class_name: \"Node\", foreign_key: :next_id
  validates :next, presence: true
end
";
    let found = one(ring, "always related Node.prev", Semantics::Rails);
    assert!(found != "n", "every finite set of nodes is a union of rings");
}
