//! The transcripts of `tests/golden`, run in `tests/input`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::transcript::{compare, isolde, replayed, root};

#[test]
fn transcripts() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut paths: Vec<PathBuf> = fs::read_dir(tests.join("golden")).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let mut failures = Vec::new();
    for path in paths {
        let transcript = fs::read_to_string(&path).unwrap();
        compare(&replayed(&transcript, &tests.join("input")), &path, &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// The README shows what the tool prints, not what it printed once.
#[test]
fn the_readme_shows_real_output() {
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let output = isolde(&root()).args(["explore", "examples/withdraw/withdraw.sql"]).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(readme.contains(&output), "README.md does not show this:\n{output}");
}

/// So does the guide, as far as it shows output at all.
#[test]
fn the_guide_shows_real_output() {
    let guide = fs::read_to_string(root().join("docs/guide.md")).unwrap();
    let shown = |arguments: &[&str]| {
        String::from_utf8(isolde(&root()).arg("explore").args(arguments).output().unwrap().stdout).unwrap()
    };
    let levels = shown(&["--levels", "examples/doctors/doctors.sql"]);
    assert!(guide.contains(&levels), "docs/guide.md does not show this:\n{levels}");
    let expired = shown(&["--no-fixes", "examples/reservation/reservation.sql"]);
    let trace = expired.split("\n  seat at the end").next().unwrap();
    assert!(guide.contains(trace), "docs/guide.md does not show this:\n{trace}");
}

#[test]
fn json_is_one_document_per_file() {
    let files = ["examples/withdraw/withdraw.sql", "examples/withdraw/fixed.sql"];
    let output = isolde(&root()).args(["explore", "--format", "json"]).args(files).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let documents: Vec<serde_json::Value> =
        serde_json::Deserializer::from_slice(&output.stdout).into_iter().map(Result::unwrap).collect();
    let verdicts: Vec<&str> = documents.iter().map(|d| d["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["violated", "holds"]);
    assert_eq!(documents[0]["file"], files[0]);
    assert_eq!(documents[0]["counterexample"]["anomaly"], "lost update");
    assert!(documents[0]["stats"]["elapsed_ms"].is_null());
}

#[test]
fn an_answer_can_go_to_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("answer.txt");
    let explore = |arguments: &[&str]| {
        isolde(&root()).args(["explore", "examples/withdraw/fixed.sql"]).args(arguments).output().unwrap()
    };
    let written = explore(&["--output", path.to_str().unwrap()]);
    assert_eq!((written.status.code(), written.stdout.as_slice()), (Some(0), b"".as_slice()));
    assert_eq!(fs::read(&path).unwrap(), explore(&[]).stdout);
    let refused = explore(&["--output", "no/such/directory/answer.txt"]);
    assert_eq!(refused.status.code(), Some(2));
}

/// What a page says, as text.
fn on_page(arguments: &[&str]) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("answer.html");
    let output = isolde(&root()).args(arguments).args(["--html", path.to_str().unwrap()]).output().unwrap();
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    let unescaped = page.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    (output.status.code(), unescaped)
}

/// The page has all that the answer has.
#[test]
fn an_answer_can_be_a_page() {
    for file in ["examples/withdraw/withdraw.sql", "examples/doctors/doctors.sql", "examples/transfers/transfers.sql"] {
        let json = isolde(&root()).args(["explore", "--format", "json", file]).output().unwrap().stdout;
        let answer: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let (code, page) = on_page(&["explore", file]);
        assert_eq!(code, Some(1));
        let found = &answer["counterexample"];
        let texts = |values: &serde_json::Value, field: &str| -> Vec<String> {
            values.as_array().unwrap().iter().map(|value| value[field].as_str().unwrap_or_default().into()).collect()
        };
        let mut parts = vec![file.to_string(), "stopped at the first violation".into()];
        parts.extend(["property", "headline", "replay"].map(|field| found[field].as_str().unwrap().into()));
        parts.extend(texts(&answer["properties"], "name"));
        parts.extend(texts(&found["fixes"], "title"));
        parts.extend(texts(&found["trace"]["steps"], "statement").into_iter().filter(|text| text != "COMMIT"));
        for part in parts {
            assert!(page.contains(&part), "{file}: {part}");
        }
        for paragraph in found["explanation"].as_array().unwrap() {
            let paragraph = paragraph.as_str().unwrap().split('`').next().unwrap();
            assert!(page.contains(paragraph), "{file}: {paragraph}");
        }
        assert!(page.contains("<svg") && page.contains("class=\"moment\" data-step=\"4\""));
    }
}

/// An answer that was kept says the same later.
#[test]
fn answers_are_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("answer.json");
    let kept = json.to_str().unwrap();
    let file = "examples/withdraw/withdraw.sql";
    isolde(&root()).args(["explore", file, "--format", "json", "--output", kept]).output().unwrap();
    let again = isolde(&root()).args(["report", kept]).output().unwrap();
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(again.stdout, isolde(&root()).args(["explore", file]).output().unwrap().stdout);
    let (_, page) = on_page(&["report", kept]);
    assert!(page.contains("No serial order of alice and bob has the effects of this run."));
    let refused = isolde(&root()).args(["report", file]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("not JSON"));
}

#[test]
fn pages_of_several_files_of_a_replay_and_of_nothing() {
    let (bug, fixed) = ("examples/withdraw/withdraw.sql", "examples/withdraw/fixed.sql");
    let (code, page) = on_page(&["explore", bug, fixed, "no-such-file.sql"]);
    assert_eq!(code, Some(2));
    assert!(page.contains("<h1>3 answers</h1>") && page.contains("1 violated, 1 holds, 1 no answer"));
    let (code, page) = on_page(&["replay", bug, "alice bob*3"]);
    assert_eq!(code, Some(3));
    assert!(page.contains("The run") && page.contains("SELECT balance INTO bal"));
    let (code, page) = on_page(&["space", "examples/hourclock/HourClock.tla"]);
    assert_eq!(code, Some(0));
    assert!(page.contains("720 states") && page.contains("TypeOK"));
    let refused = isolde(&root()).args(["explore", fixed, "--html", "no/such/directory.html"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

/// What `--fix` writes holds, and nothing is replaced without being asked to.
#[test]
fn the_best_fix_can_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fixed.sql");
    let path = path.to_str().unwrap();
    let code = |arguments: &[&str]| isolde(&root()).arg("explore").args(arguments).output().unwrap().status.code();
    let bug = "examples/withdraw/withdraw.sql";
    assert_eq!(code(&["--fix", path, bug]), Some(1));
    assert_eq!(code(&[path]), Some(0));
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains("WHERE id = acc AND balance >= amount;"), "{text}");
    fs::write(path, fs::read(root().join(bug)).unwrap()).unwrap();
    assert_eq!(code(&["--fix", path, bug]), Some(2));
    assert_eq!(code(&["--fix", path, "--overwrite", path]), Some(1));
    assert_eq!(fs::read_to_string(path).unwrap(), text);
    assert_eq!(code(&["--fix", path, "--no-fixes", bug]), Some(2));
    let unwritten = directory.path().join("nothing.sql");
    assert_eq!(code(&["--fix", unwritten.to_str().unwrap(), path]), Some(0));
    assert!(!unwritten.exists(), "there was nothing to fix");
}

#[test]
fn a_graph_can_go_to_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let draw = |name: &str, files: &[&str]| {
        let path = directory.path().join(name);
        let output = isolde(&root()).args(["explore", "--graph", path.to_str().unwrap()]).args(files).output().unwrap();
        (output, fs::read_to_string(&path).unwrap_or_default())
    };
    let bug = "examples/withdraw/withdraw.sql";
    let (output, svg) = draw("graph.svg", &[bug]);
    assert_eq!(output.status.code(), Some(1));
    assert!(svg.starts_with("<svg ") && svg.contains("lost update") && svg.contains(">alice</text>"), "{svg}");
    assert!(draw("graph.dot", &[bug]).1.starts_with("digraph \"lost update\" {"));
    let (nothing, svg) = draw("nothing.svg", &["examples/withdraw/fixed.sql"]);
    assert_eq!((nothing.status.code(), svg.as_str()), (Some(0), ""));
    assert!(String::from_utf8(nothing.stdout).unwrap().contains("no graph: there is no counterexample"));
    for (name, files) in [("graph.png", &[bug][..]), ("two.svg", &[bug, bug]), ("no/such/directory.svg", &[bug])] {
        assert_eq!(draw(name, files).0.status.code(), Some(2), "{name}");
    }
}

#[test]
fn colours_are_for_those_who_want_them() {
    let explore = |arguments: &[&str], variable: &str| {
        let mut command = isolde(&root());
        command.args(["explore", "examples/withdraw/fixed.sql"]).args(arguments).env(variable, "1");
        command.output().unwrap().stdout.contains(&0x1b)
    };
    assert!(!explore(&[], "SOMETHING"), "none in a pipe");
    assert!(explore(&[], "CLICOLOR_FORCE"));
    assert!(explore(&["--color", "always"], "NO_COLOR"));
    assert!(!explore(&["--color", "never"], "CLICOLOR_FORCE"));
    assert!(!explore(&[], "NO_COLOR"));
}

#[test]
fn completions_and_the_manual_are_there() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = isolde(&root()).args(["completions", shell]).output().unwrap();
        assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().contains("states-max"), "{shell}");
    }
    let manual = isolde(&root()).arg("man").output().unwrap();
    assert!(String::from_utf8(manual.stdout).unwrap().contains(".TH"));
}

/// What a search took is told on request only, since it differs from one time to the next.
#[test]
fn stats_are_told_on_request() {
    let stats = |flags: &[&str]| {
        let always = ["explore", "examples/withdraw/fixed.sql", "--format", "json", "--search", "dpor"];
        let output = isolde(&root()).args(always).args(flags).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["stats"].clone()
    };
    assert!(stats(&[])["details"].is_null() && stats(&[])["elapsed_ms"].is_null());
    let told = stats(&["--stats", "--dependence", "database"]);
    assert!(told["elapsed_ms"].is_u64());
    assert_eq!(told["details"]["dependence"], "database");
    assert!(told["details"]["races"].as_u64() > Some(0), "{told}");
}
