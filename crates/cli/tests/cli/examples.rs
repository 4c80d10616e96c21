//! Every story of `examples/` is a test; a new directory is picked up by itself.

use std::fs;
use std::path::{Path, PathBuf};

use crate::transcript::{compare, root, run};

/// What the tool says about each file of a story is what `expected.txt` shows.
#[test]
fn the_tool_says_what_is_expected() {
    let mut failures = Vec::new();
    for story in stories() {
        let transcript: Vec<String> =
            files(&story).iter().map(|file| run(&format!("isolde explore {}", relative(file)), &root()).0).collect();
        compare(&transcript.join("\n"), &story.join("expected.txt"), &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// The commands at the end of each README come to what the README says: `# holds`, or `# violated: ` and a word that
/// occurs in the answer. Every story has a bug and a file without it.
#[test]
fn the_stories_are_true() {
    for story in stories() {
        let readme = fs::read_to_string(story.join("README.md")).unwrap();
        let claims: Vec<(&str, &str)> = readme
            .lines()
            .filter(|line| line.starts_with("isolde "))
            .filter_map(|line| line.split_once('#'))
            .map(|(command, claim)| (command.trim(), claim.trim()))
            .collect();
        assert!(claims.iter().any(|(_, claim)| claim.starts_with("violated")), "{}", story.display());
        assert!(
            claims.iter().any(|(command, claim)| command.ends_with("fixed.sql") && *claim == "holds"),
            "{}",
            story.display()
        );
        for (command, claim) in claims {
            let (answer, output) = run(command, &root());
            let code = if claim == "holds" { 0 } else { 1 };
            assert_eq!(output.status.code(), Some(code), "{claim}\n{answer}");
            if let Some(what) = claim.strip_prefix("violated: ") {
                let word = what.split_whitespace().next_back().unwrap();
                assert!(answer.to_lowercase().contains(&word.to_lowercase()), "{claim}\n{answer}");
            }
        }
    }
}

/// A counterexample can be seen again, by the command that it ends with.
#[test]
fn counterexamples_replay() {
    for file in stories().iter().flat_map(|story| files(story)) {
        let (explored, output) = run(&format!("isolde explore {}", relative(&file)), &root());
        if output.status.code() != Some(1) {
            continue;
        }
        let command = explored.lines().find_map(|line| line.strip_prefix("replay  ")).unwrap();
        let (replayed, output) = run(command, &root());
        assert_eq!(output.status.code(), Some(1), "{replayed}");
        let before = |text: &str, mark: &str| text.split(mark).next().unwrap().to_string();
        let upto_why = |text: &str| {
            let marks = ["\nfixes that were tried", "\nnot needed  ", "\nsearched  "];
            let text = marks.iter().fold(text.to_string(), |text, mark| before(&text, mark));
            text.split_once('\n').unwrap().1.to_string()
        };
        assert_eq!(upto_why(&explored), upto_why(&replayed));
    }
}

/// Depth first, every interleaving: slower, and of the same opinion.
#[test]
fn stateless_search_agrees() {
    for file in stories().iter().flat_map(|story| files(story)) {
        let stateful = run(&format!("isolde explore -q {}", relative(&file)), &root()).1;
        let stateless = run(&format!("isolde explore -q --search stateless {}", relative(&file)), &root()).1;
        assert_eq!(stateful.status.code(), stateless.status.code(), "{}", file.display());
    }
}

fn stories() -> Vec<PathBuf> {
    let mut stories: Vec<PathBuf> =
        fs::read_dir(root().join("examples")).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    // Applications are stories of their own: see `apps`, and `model` for those that are only looked at.
    stories.retain(|story| !story.ends_with("apps") && !files(story).is_empty());
    stories.sort();
    assert!(stories.len() >= 12, "the examples are found");
    stories
}

/// The scenarios of a story: the bug first, then the version without it.
fn files(story: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(story).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "sql"));
    // What is there to be proved has no threads: see `prove`.
    files.retain(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("--@ thread")));
    files.sort_by_key(|path| (path.ends_with("fixed.sql"), path.clone()));
    files
}

fn relative(file: &Path) -> String {
    file.strip_prefix(root()).unwrap().display().to_string()
}
