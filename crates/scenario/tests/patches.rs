//! Patches are for `patch`, and fixes do not depend on the style in which a bug is written.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use isolde_report::{FixVerdict, Report, Style, Verdict};
use isolde_scenario::file::{Include, Included, no_includes};
use isolde_scenario::fix::{Tried, try_fixes};
use isolde_scenario::{Options, Scenario, check};

fn explored(scenario: &Scenario) -> Report {
    check(scenario, &Options::default(), &mut |_| ControlFlow::Continue(()))
}

fn fixes(scenario: &Scenario) -> (Report, Vec<Tried>) {
    let report = explored(scenario);
    let mut tried = try_fixes(scenario, &report, &Options::default(), &mut |_| ControlFlow::Continue(()));
    tried.retain(|tried| tried.fix.verdict == FixVerdict::Holds);
    (report, tried)
}

/// A directory of its own, which goes with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("isolde-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn write(&self, files: &[(String, String)]) {
        files.iter().for_each(|(name, text)| std::fs::write(self.0.join(name), text).unwrap());
    }

    /// Runs `patch` on what stands here; the answer is what it says if it refuses.
    fn patch(&self, patch: &str) -> Result<(), String> {
        let mut command = Command::new("patch");
        command.args(["-p0", "--fuzz=0", "--no-backup-if-mismatch"]).current_dir(&self.0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(patch.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() { Ok(()) } else { Err(said) }
    }

    fn load(&self, name: &str) -> Scenario {
        let text = std::fs::read_to_string(self.0.join(name)).unwrap();
        let mut loader = |include: Include<'_>| {
            let text = std::fs::read_to_string(self.0.join(include.path)).map_err(|e| e.to_string())?;
            Ok(Included { name: include.path.into(), text })
        };
        Scenario::parse(name, &text, &mut loader).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing depends on it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `patch` gives the changed file, from the patch itself and from the answer that is printed, and the file holds.
#[test]
fn patch_applies_what_is_offered() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixes");
    let scratch = Scratch::new("patches");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        (name, std::fs::read_to_string(path).unwrap())
    };
    let all: Vec<(String, String)> = files.iter().map(named).collect();
    let mut applied = 0;
    for (name, _) in all.iter().filter(|(name, _)| name.ends_with(".sql")) {
        scratch.write(&all);
        let scenario = scratch.load(name);
        let (mut report, tried) = fixes(&scenario);
        for fix in &tried {
            scratch.write(&all);
            scratch.patch(&fix.fix.patch).unwrap_or_else(|said| panic!("{name}: {said}\n{}", fix.fix.patch));
            for file in &fix.files {
                let there = std::fs::read_to_string(scratch.0.join(&file.name)).unwrap();
                assert_eq!(there, file.text, "{name}: {}", fix.fix.title);
            }
            assert_eq!(explored(&scratch.load(name)).verdict, Verdict::Holds, "{name}: {}", fix.fix.title);
            applied += 1;
        }
        let Some(best) = tried.first() else { continue };
        scratch.write(&all);
        report.counterexample.as_mut().unwrap().fixes = tried.iter().map(|tried| tried.fix.clone()).collect();
        let printed = report.to_text(Style::plain(100));
        scratch.patch(&printed).unwrap_or_else(|said| panic!("{name}: {said}\n{printed}"));
        assert_eq!(std::fs::read_to_string(scratch.0.join(name)).unwrap(), best.files[0].text, "{name}");
    }
    assert!(applied > 40, "{applied} patches were applied");
}

/// One lost update: two threads read a counter, and write what they have computed from it.
fn styles() -> Vec<(String, String)> {
    const TABLE: &str = "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL, note text NOT NULL);\n\
                         INSERT INTO counter VALUES (1, 100, 'x');\n";
    const END: &str = "--@ final both\nSELECT n = 80 FROM counter;\n";
    let mut styles = Vec::new();
    let reads = ["SELECT n", "SELECT *", "SELECT c.n", "SELECT c.*", "SELECT id, n AS n"];
    for read in reads {
        let (alias, of) = if read.contains("c.") { (" c", "c.") } else { ("", "") };
        for (begin, commit) in [("", ""), ("BEGIN;\n", "COMMIT;\n"), ("START TRANSACTION;\n", "END;\n")] {
            let body = format!(
                "{begin}{read} FROM counter{alias} WHERE {of}id = 1 \\gset\n\
                 UPDATE counter SET n = :n - 10 WHERE id = 1;\n{commit}"
            );
            let text = format!("{TABLE}--@ thread ann\n{body}--@ thread ben\n{body}{END}");
            styles.push((format!("client, {read}, {begin:?}"), text.clone()));
            styles.push((format!("lower case, {read}, {begin:?}"), format!("{TABLE}{}", lower(&text[TABLE.len()..]))));
            let copies = format!("{TABLE}--@ thread ann x2\n{body}{END}");
            styles.push((format!("copies, {read}, {begin:?}"), copies));
        }
    }
    let bodies = [
        ("v int", "SELECT n INTO v FROM counter WHERE id = 1;\n  UPDATE counter SET n = v - 10 WHERE id = 1;"),
        ("v int", "v := (SELECT n FROM counter WHERE id = 1);\n  UPDATE counter SET n = v - 10 WHERE id = 1;"),
        (
            "v int",
            "SELECT c.n INTO v FROM counter c WHERE c.id = 1;\n  v := v - 10;\n  UPDATE counter SET n = v WHERE id = 1;",
        ),
        ("r record", "SELECT * INTO r FROM counter WHERE id = 1;\n  UPDATE counter SET n = r.n - 10 WHERE id = 1;"),
        (
            "r counter%ROWTYPE",
            "SELECT * INTO r FROM counter WHERE id = 1;\n  UPDATE counter SET n = r.n - 10 WHERE id = 1;",
        ),
        (
            "r counter",
            "SELECT * INTO r FROM counter WHERE id = 1;\n  UPDATE counter SET n = r.n - 10, note = r.note WHERE id = 1;",
        ),
    ];
    for (declared, body) in bodies {
        let declared = format!("DECLARE {declared};\nBEGIN\n  {body}\n");
        let procedure = format!("CREATE PROCEDURE take() LANGUAGE plpgsql AS $$\n{declared}END $$;\n");
        let function = format!("CREATE FUNCTION take() RETURNS void LANGUAGE plpgsql AS $$\n{declared}END $$;\n");
        for (routine, call) in [(procedure, "CALL take();"), (function, "SELECT take();")] {
            let text = format!("{TABLE}{routine}--@ thread ann\n{call}\n--@ thread ben\n{call}\n{END}");
            styles.push((format!("{call}, {body}"), text.clone()));
            styles.push((format!("lower case, {call}, {body}"), format!("{TABLE}{}", lower(&text[TABLE.len()..]))));
        }
    }
    styles
}

fn lower(text: &str) -> String {
    text.to_lowercase()
}

/// A title without what depends on where statements stand: line numbers, whether a BEGIN is missing, and whether the
/// lock has a statement of its own.
fn gist(title: &str) -> String {
    let title = title.replace(", in one transaction", "").replace("on the rows of", "on the read of");
    let parts = title.split("; ").map(|part| part.split(" (").next().unwrap().split(" before ").next().unwrap());
    parts.collect::<Vec<_>>().join("; ")
}

/// However it is written, the same fixes hold, and the same one comes first.
#[test]
fn the_style_of_writing_does_not_matter() {
    let mut expected: Option<(BTreeSet<String>, String)> = None;
    for (style, text) in styles() {
        let scenario = Scenario::parse("style.sql", &text, &mut no_includes).unwrap_or_else(|e| panic!("{style}: {e}"));
        let (_, tried) = fixes(&scenario);
        let all: BTreeSet<String> = tried.iter().map(|tried| gist(&tried.fix.title)).collect();
        let first = tried.first().map(|tried| gist(&tried.fix.title)).unwrap_or_default();
        match &expected {
            None => expected = Some((all, first)),
            Some(expected) => assert_eq!(*expected, (all, first), "{style}\n{text}"),
        }
    }
    let (all, first) = expected.unwrap();
    assert_eq!(first, "one UPDATE that reads, decides and writes");
    assert!(all.contains("FOR UPDATE on the read of counter"), "{all:?}");
}
