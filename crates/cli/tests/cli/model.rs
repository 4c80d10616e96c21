//! `isolde model`: what it prints, what it writes, and what it says when the solver does not answer.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::transcript::{isolde, root, tell};

#[test]
fn the_stories() {
    let mut failures = Vec::new();
    for story in ["rails-social", "django-library"] {
        let transcript = tell(story, &mut failures);
        assert!(transcript.matches("$ isolde").count() >= 3, "{transcript}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn social(arguments: &[&str]) -> Output {
    isolde(&root()).args(["model", "examples/rails-social"]).args(arguments).output().unwrap()
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn json_has_the_findings_with_their_names() {
    let report: serde_json::Value = serde_json::from_slice(&social(&["--format", "json"]).stdout).unwrap();
    assert_eq!(report["verdict"], "violated");
    let ids: Vec<&str> = report["findings"].as_array().unwrap().iter().map(|f| f["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&"dangling:Video.profile:Profile"), "{ids:?}");
    let change = &report["findings"][0]["change"];
    assert_eq!(change["lines"]["new"][0], "  has_many :tags, as: :taggable, dependent: :destroy");
    assert_eq!(change["verified"], true);
    let sql = report["findings"][0]["example"]["sql"].as_array().unwrap();
    assert_eq!(sql.last().unwrap(), "DELETE FROM photos WHERE id = 1;");
}

#[test]
fn sarif_and_junit_have_each_finding_at_its_place() {
    let sarif: serde_json::Value = serde_json::from_slice(&social(&["--format", "sarif"]).stdout).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "examples/rails-social/app/models/photo.rb");
    assert_eq!(place["region"]["startLine"], 3);
    assert_eq!(results[0]["partialFingerprints"]["isolde/v1"], "dangling:Tag.taggable:Photo");
    let junit = said(&social(&["--format", "junit"]).stdout);
    assert!(junit.contains("tests=\"4\" failures=\"3\" errors=\"0\" skipped=\"0\""), "{junit}");
    assert!(junit.contains("name=\"dangling:Tag.taggable:Photo\" file=\"examples/rails-social/app/models/photo.rb\""));
}

/// A team begins with what is there, and is told of what is new and of what was repaired.
#[test]
fn a_baseline_sets_aside_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("known");
    let file = file.to_str().unwrap();
    assert_eq!(social(&["--write-baseline", file]).status.code(), Some(1));
    let known = fs::read_to_string(file).unwrap();
    assert_eq!(known.lines().filter(|line| line.starts_with("dangling:")).count(), 3, "{known}");
    let quiet = social(&["--baseline", file]);
    assert_eq!(quiet.status.code(), Some(0));
    assert!(said(&quiet.stdout).starts_with("holds  examples/rails-social  (not counted: 3 known)"), "{quiet:?}");
    // One is new, and one is gone.
    let edited = known.replace("dangling:Video.profile:Profile", "dangling:Vid.profile:Profile");
    fs::write(file, edited).unwrap();
    let loud = social(&["--baseline", file]);
    assert_eq!(loud.status.code(), Some(1));
    let told = said(&loud.stdout);
    assert!(told.contains("1. Deleting a Profile leaves its Videos behind") && !told.contains("2. "), "{told}");
    assert!(told.contains("no longer there:\n  dangling:Vid.profile:Profile"), "{told}");
    let suppressed = said(&social(&["--baseline", file, "--format", "sarif"]).stdout);
    assert_eq!(suppressed.matches("in the baseline").count(), 2, "{suppressed}");
    let missing = social(&["--baseline", "no/such/file"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(said(&missing.stderr).contains("--write-baseline no/such/file"), "{missing:?}");
}

fn application(folder: &Path, models: &[(&str, &str)]) {
    fs::create_dir_all(folder.join("app/models")).unwrap();
    for (name, text) in models {
        fs::write(folder.join("app/models").join(name), text).unwrap();
    }
}

#[test]
fn comments_ignore_what_they_name_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let user = "class User < ApplicationRecord
  # isolde:ignore dangling swept every night
  has_many :posts
  has_many :notes # isolde:ignore dangling:Note.user:User kept for the archive
  # isolde:ignore danglin:Note.user:User a misspelling
  # isolde:ignore skipped:Note.user:User no longer true
  # isolde:ignore raises:User
  # isolde:ignored raises:User nearly
end
";
    let other = |name: &str| format!("class {name} < ApplicationRecord\n  belongs_to :user\nend\n");
    let (post, note, mail) = (other("Post"), other("Note"), other("Mail"));
    application(folder.path(), &[("user.rb", user), ("post.rb", &post), ("note.rb", &note)]);
    let output = isolde(folder.path()).args(["model", "."]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = said(&output.stdout);
    assert!(told.contains("(not counted: 2 ignored)"), "{told}");
    assert!(told.contains("user.rb:2  dangling:Post.user:User  swept every night"), "{told}");
    let idle = told.split("Comments that ignore nothing:").nth(1).unwrap();
    assert!(idle.contains("user.rb:5  `danglin` is no kind of finding"), "{told}");
    assert!(idle.contains("user.rb:6  there is no finding `skipped:Note.user:User` here"), "{told}");
    assert!(idle.contains("user.rb:7  give a reason"), "{told}");
    assert!(idle.contains("user.rb:8  `isolde:ignored` is not known"), "{told}");
    // What nobody ignores still counts.
    application(folder.path(), &[("mail.rb", &mail)]);
    let output = isolde(folder.path()).args(["model", "."]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output.stdout).contains("1. Deleting a User leaves its Mails behind"), "{output:?}");
}

#[test]
fn drawings_and_statements_are_written_beside_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    social(&["--svg", &at("a.svg"), "--dot", &at("a.dot"), "--emit-sql", &at("a.sql")]);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("a.svg").contains(">Profile</text>"));
    assert!(read("a.dot").contains("\"User\" -> \"Profile\" [label=\"profile: destroy\""), "{}", read("a.dot"));
    let sql = read("a.sql");
    assert!(sql.contains("INSERT INTO tags (id, taggable_id, taggable_type) VALUES (1, 1, 'Photo');"), "{sql}");
    assert_eq!(sql.matches("ROLLBACK;").count(), 3);
}

#[test]
fn the_data_of_each_finding_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let pictures = folder.path().join("new/pictures");
    let report = said(&social(&["--draw", pictures.to_str().unwrap(), "--format", "json"]).stdout);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        let file = finding["id"].as_str().unwrap().replace(':', "-");
        let svg = std::fs::read_to_string(pictures.join(format!("{file}.svg"))).unwrap();
        let dot = std::fs::read_to_string(pictures.join(format!("{file}.dot"))).unwrap();
        for object in finding["example"]["graph"]["objects"].as_array().unwrap() {
            let name = object["name"].as_str().unwrap();
            assert!(svg.contains(name) && dot.contains(name), "{file}: {name}");
        }
        let dangles = |link: &serde_json::Value| link["fate"] == "dangles";
        let dangling = finding["example"]["graph"]["links"].as_array().unwrap().iter().filter(|l| dangles(l)).count();
        assert_eq!(svg.matches("marker-start=\"url(#head-b00020)\"").count(), dangling, "{file}");
    }
}

/// Programs that pretend to be solvers.
struct Pretenders(tempfile::TempDir);

impl Pretenders {
    fn make(&self, name: &str, text: &str) -> PathBuf {
        let program = self.0.path().join(name);
        fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        program
    }
}

/// Answers what is plainly false as a solver should, and everything else in this way.
fn else_(answer: &str) -> String {
    format!(
        "while read -r line; do case \"$line\" in *'(assert false)'*) plain=1;; *check-sat*) \
         if [ \"$plain\" = 1 ]; then echo unsat; plain=0; else {answer}; fi;; esac; done"
    )
}

/// Whatever the solver does instead of answering, nothing is claimed, and the exit code says so.
#[test]
fn without_an_answer_nothing_is_claimed() {
    let pretenders = Pretenders(tempfile::tempdir().unwrap());
    let ask = |program: &Path| {
        let props = root().join("examples/rails-social/social.props");
        social(&["--timeout", "1s", "--props", props.to_str().unwrap(), "--solver", program.to_str().unwrap()])
    };
    let missing = social(&["--solver", "no-such-solver"]);
    assert_eq!(missing.status.code(), Some(3));
    assert!(said(&missing.stderr).contains("no-such-solver, which is not there; install z3"), "{missing:?}");
    for (name, text, expected) in [
        ("dead", "exit 1".to_string(), "the solver failed: it ended without an answer"),
        ("odd", "echo '(error \"what\")'; cat > /dev/null".into(), "the solver failed: (error"),
        ("slow", "exec sleep 30".into(), "the solver was stopped after 1 s"),
        ("liar", "while read -r line; do echo sat; done".into(), "it takes what is false for true"),
    ] {
        let output = ask(&pretenders.make(name, &text));
        assert_eq!(output.status.code(), Some(3), "{name}: {output:?}");
        let told = said(&output.stderr);
        assert!(told.contains(expected) && told.contains("install z3"), "{name}: {told}");
        assert!(output.stdout.is_empty(), "{name}: {output:?}");
    }
    for (name, answer, expected) in [
        ("unsure", "echo unknown", "the solver does not know"),
        ("dies", "exit 1", "the solver failed"),
        ("sleeps", "sleep 30", "the solver was stopped after 1 s"),
    ] {
        let output = ask(&pretenders.make(name, &else_(answer)));
        assert_eq!(output.status.code(), Some(3), "{name}: {output:?}");
        let told = said(&output.stdout);
        assert!(told.starts_with("inconclusive") && told.contains(expected), "{name}: {told}");
        // Of one property nothing is left to ask: no rule leads there.
        assert_eq!(told.matches("\nunknown ").count(), 4, "{name}: {told}");
        assert!(!told.contains("\nfails"), "{name}: {told}");
    }
}

#[test]
fn the_solver_of_the_environment_is_asked() {
    let mut command = isolde(&root());
    let output =
        command.args(["model", "examples/rails-social"]).env("ISOLDE_SOLVER", "no-such-solver").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(said(&output.stderr).contains("install z3"));
}

#[test]
fn mistakes_are_told_where_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let props = folder.path().join("wrong.props");
    fs::write(&props, "all p: Photo | one p.profil\n").unwrap();
    let output = isolde(&root()).args(["model", "examples/rails-social", "--props"]).arg(&props).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = said(&output.stderr);
    assert!(told.contains("Photo has nothing called profil") && told.contains("it has profile, tags"), "{told}");
    let nothing = isolde(&root()).args(["model"]).arg(folder.path()).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
}
