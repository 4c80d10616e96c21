//! Nothing of the user's is lost, and nothing that comes from data or secrets is let loose on a terminal.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::transcript::isolde;

const SCENARIO: &str = "CREATE TABLE t (id int PRIMARY KEY, n int);\nINSERT INTO t VALUES (1, 1);\n\
    --@ thread a\nUPDATE t SET n = 2 WHERE id = 1;\n--@ thread b\nUPDATE t SET n = 3 WHERE id = 1;\n";

fn run(directory: &Path, arguments: &[&str]) -> Output {
    isolde(directory).args(arguments).output().unwrap()
}

fn all(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Every output of every command, onto every input: refused, and the input stays.
#[test]
fn an_output_never_overwrites_an_input() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("part.sql"), "INSERT INTO t VALUES (2, 2);\n").unwrap();
    fs::write(at("s.sql"), SCENARIO.replace("--@ thread a", "\\i part.sql\n--@ thread a")).unwrap();
    fs::hard_link(at("s.sql"), at("same.sql")).unwrap();
    std::os::unix::fs::symlink("s.sql", at("link.sql")).unwrap();
    let explored = run(directory.path(), &["explore", "s.sql", "--format", "json", "-o", "a.json"]);
    assert!(explored.status.success(), "{}", all(&explored));
    let kept: Vec<(&str, String)> =
        ["s.sql", "part.sql", "a.json"].map(|name| (name, fs::read_to_string(at(name)).unwrap())).to_vec();
    let commands: &[&[&str]] = &[
        &["explore", "s.sql", "-o", "s.sql"],
        &["explore", "s.sql", "-o", "./same.sql"],
        &["explore", "s.sql", "-o", "link.sql"],
        &["explore", "s.sql", "-o", "part.sql"],
        &["explore", "s.sql", "--html", "s.sql"],
        &["explore", "s.sql", "--html", "part.sql"],
        &["explore", "s.sql", "--emit-spec", "s.sql"],
        &["explore", "s.sql", "--checkpoint", "s.sql"],
        &["explore", "s.sql", "--store", "s.sql"],
        &["explore", "s.sql", "-o", "new.txt", "--html", "new.txt"],
        &["replay", "s.sql", "a b", "-o", "s.sql"],
        &["replay", "s.sql", "a b", "--html", "part.sql"],
        &["prove", "s.sql", "-o", "s.sql"],
        &["report", "a.json", "-o", "a.json"],
        &["report", "a.json", "--html", "a.json"],
        &["model", "s.sql", "--svg", "s.sql"],
        &["spec", "s.sql", "-o", "s.sql"],
        &["space", "s.sql", "-o", "s.sql"],
    ];
    for command in commands {
        let refused = run(directory.path(), command);
        assert_eq!(refused.status.code(), Some(2), "{command:?}: {}", all(&refused));
        for (name, text) in &kept {
            assert_eq!(&fs::read_to_string(at(name)).unwrap(), text, "{command:?}");
        }
    }
    assert!(!at("new.txt").exists());
}

/// A run that fails leaves the older answer, and nothing beside it.
#[test]
fn a_run_that_fails_leaves_the_older_answer() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("answer.txt"), "older").unwrap();
    fs::write(at("broken.sql"), "CREATE TABEL t;").unwrap();
    let failed = run(directory.path(), &["explore", "broken.sql", "-o", "answer.txt"]);
    assert_eq!(failed.status.code(), Some(2));
    assert_eq!(fs::read_to_string(at("answer.txt")).unwrap(), "older");
    fs::write(at("s.sql"), SCENARIO).unwrap();
    assert!(run(directory.path(), &["explore", "s.sql", "-o", "answer.txt"]).status.code() != Some(2));
    assert_ne!(fs::read_to_string(at("answer.txt")).unwrap(), "older");
    let names: Vec<String> = fs::read_dir(directory.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
    let nowhere = run(directory.path(), &["explore", "s.sql", "-o", "no/such/place.txt"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(run(directory.path(), &["explore", "s.sql", "-o", "/dev/null"]).status.code() != Some(2));
}

/// Wherever a password stands in a URL, and whatever is wrong with the URL: nobody reads it.
#[test]
fn passwords_are_never_shown() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("s.sql"), SCENARIO).unwrap();
    let urls = [
        "postgres://bob:s3cret@localhost:x/db",
        "postgres://bob:s3cret",
        "postgres://bob:a/s3cret@localhost/db",
        "postgres://bob:a?s3cret@localhost/db",
        "postgre://bob:s3cret@localhost/db",
        "postgres://bob:s3cret@localhost:1/db",
        "postgres://bob@localhost:1/db?password=s3cret",
        "postgres://localhost/db?password=s3cret&sslmode=never",
    ];
    for url in urls {
        for flags in
            [vec!["--on".to_string(), url.to_string()], vec![format!("--on={url}")], vec![format!("--onn={url}")]]
        {
            let output = isolde(directory.path()).args(["explore", "s.sql"]).args(&flags).output().unwrap();
            assert!(!all(&output).contains("s3cret"), "{flags:?}: {}", all(&output));
            assert!([Some(2), Some(3)].contains(&output.status.code()), "{flags:?}");
        }
    }
    let text =
        "[database]\nurl = \"postgres://bob:s3cret@localhost:1/db\n[[thread]]\nname = \"a\"\ncommand = \"true\"\n";
    for text in [text.to_string(), text.replace("1/db", "x/db\""), text.replace("1/db", "1/db\"")] {
        fs::write(directory.path().join("app.toml"), &text).unwrap();
        let output = run(directory.path(), &["explore", "app.toml"]);
        assert!(!all(&output).contains("s3cret"), "{}", all(&output));
    }
}

/// What stands in rows, names and files is shown, not obeyed: with colours and without.
#[test]
fn control_characters_are_shown_not_obeyed() {
    let directory = tempfile::tempdir().unwrap();
    let text = "CREATE TABLE \"t\u{1b}[2J\" (id int PRIMARY KEY, n text);\nINSERT INTO \"t\u{1b}[2J\" VALUES (1, 'a\u{1b}]0;x\u{7}');\n\
        --@ invariant never\nSELECT false FROM \"t\u{1b}[2J\" WHERE n = 'b\u{1b}[8m';\n\
        --@ thread a\nUPDATE \"t\u{1b}[2J\" SET n = 'b\u{1b}[8m';\n--@ thread b\nSELECT n FROM \"t\u{1b}[2J\";\n";
    fs::write(directory.path().join("s.sql"), text).unwrap();
    fs::write(directory.path().join("broken.sql"), "SELECT '\u{1b}[2J' FROM nothing;\n--@ thread a\nSELECT 1;\n")
        .unwrap();
    for color in ["never", "always"] {
        let output = run(directory.path(), &["--color", color, "explore", "s.sql", "--no-fixes"]);
        let shown = all(&output);
        assert_eq!(output.status.code(), Some(1), "{shown}");
        let obeyed = ["\u{1b}[2J", "\u{1b}]0", "\u{1b}[8m", "\u{7}"];
        assert!(obeyed.iter().all(|code| !shown.contains(code)), "{color}: {shown:?}");
        assert!(shown.contains("\\x1b[8m"), "{shown}");
        assert_eq!(shown.contains('\u{1b}'), color == "always", "{shown:?}");
        let broken = all(&run(directory.path(), &["--color", color, "explore", "broken.sql"]));
        assert!(!broken.contains("\u{1b}[2J"), "{broken:?}");
    }
}

/// A search that is cut into pieces comes to the same, and a checkpoint that was changed is refused.
#[test]
fn a_search_is_kept_while_it_runs() {
    let directory = tempfile::tempdir().unwrap();
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/input/counter.sql");
    let explore = |pause: Option<&str>, flags: &[&str]| {
        let mut command = isolde(directory.path());
        command.args(["explore", "--search", "dpor", "--dependence", "database", "--jobs", "1", "--format", "json"]);
        pause.map(|pause| command.env("ISOLDE_CHECKPOINT_MS", pause));
        let output = command.args(flags).arg(&input).output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap_or_else(|_| panic!("{}", all(&output)))
    };
    let whole = explore(None, &[]);
    let pieces = explore(Some("1"), &["--checkpoint", "left"]);
    assert_eq!((&pieces["verdict"], &pieces["stats"]["ends"]), (&whole["verdict"], &whole["stats"]["ends"]));
    let left = directory.path().join("left");
    assert!(!left.exists());
    explore(None, &["--checkpoint", "left", "--states-max", "3"]);
    let text = fs::read_to_string(&left).unwrap();
    fs::write(&left, &text[..text.len() - 5]).unwrap();
    let output =
        isolde(directory.path()).args(["explore", "--search", "dpor", "--checkpoint", "left"]).arg(&input).output();
    let output = output.unwrap();
    assert!(output.status.code() == Some(2) && all(&output).contains("checksum"), "{}", all(&output));
}
