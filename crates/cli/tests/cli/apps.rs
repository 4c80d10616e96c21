//! Every application of `examples/apps` is a test: its race is found, and its fix holds. Where the runtime of its
//! language is not there, or its packages cannot be had, a line says that it is skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use isolde_testkit::{Cluster, skipped};

use crate::transcript::root;

/// What has to be on the machine for each of them.
const NEEDS: &[(&str, &[&str])] =
    &[("django-shop", &["python3"]), ("node-pool", &["node", "npm", "psql"]), ("rust-service", &["cargo", "psql"])];

#[test]
fn races_are_found_and_fixes_hold() {
    let cluster = Cluster::start().unwrap();
    for app in apps() {
        if let Err(reason) = prepare(&app) {
            skipped::note(&format!("the application {}", app.file_name().unwrap().display()), &reason);
            continue;
        }
        let readme = fs::read_to_string(app.join("README.md")).unwrap();
        let claims: Vec<(&str, &str)> = readme
            .lines()
            .filter_map(|line| line.strip_prefix("isolde explore "))
            .filter_map(|line| line.split_once('#'))
            .map(|(file, claim)| (file.trim(), claim.trim()))
            .collect();
        assert!(claims.len() >= 2, "{} has a bug and a fix", app.display());
        for (file, claim) in claims {
            let (code, answer) = explore(&cluster, &app, file);
            println!("{}/{file}: {}", app.display(), answer.lines().next().unwrap_or_default());
            let expected = if claim == "holds" { 0 } else { 1 };
            assert_eq!(code, Some(expected), "{claim}\n{answer}");
            if let Some(what) = claim.strip_prefix("violated: ") {
                assert!(answer.lines().next().unwrap().contains(what), "{claim}\n{answer}");
            }
        }
    }
    assert_eq!(cluster.left_behind().unwrap(), [""; 0]);
}

fn apps() -> Vec<PathBuf> {
    NEEDS.iter().map(|(name, _)| root().join("examples/apps").join(name)).collect()
}

/// Gets what an application needs, or says why that cannot be done.
fn prepare(app: &Path) -> Result<(), String> {
    let name = app.file_name().unwrap().to_str().unwrap();
    let needs = NEEDS.iter().find(|(app, _)| *app == name).unwrap().1;
    for program in needs {
        let there = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !there.is_ok_and(|status| status.success()) {
            return Err(format!("there is no {program}"));
        }
    }
    let output =
        Command::new(app.join("prepare")).env_remove("CARGO_TARGET_DIR").output().map_err(|e| e.to_string())?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().next_back().unwrap_or_default();
    output.status.success().then_some(()).ok_or_else(|| format!("its packages cannot be had: {last}"))
}

fn explore(cluster: &Cluster, app: &Path, file: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_isolde"));
    command.current_dir(app).args(["explore", "--no-fixes", file]);
    let output = on(cluster, &mut command).output().unwrap();
    let answer = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), answer)
}

/// An application that takes its time: it says something to the database and then sleeps.
const SLEEPER: &str = r#"
time_limit = 100
[database]
url = "postgres://"
setup_sql = "CREATE TABLE t (n int)"
[[thread]]
name = "sleeper"
command = "psql -Xqc 'SELECT n FROM t'; sleep SECONDS"
"#;

/// Ctrl-C: an answer that says so, and nothing is left. Without notice: no process is left, and the next run drops the
/// database.
#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    let what = "that an interrupted run of an application leaves nothing behind";
    if skipped::without("psql", what) || skipped::without("ps", what) {
        return;
    }
    // A time that nobody else sleeps for: another run of the tests may be under way.
    let seconds = format!("61.{}", std::process::id());
    let sleeps = || is_running(&format!("sleep {seconds}"));
    let cluster = Cluster::start().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sleeper.toml");
    fs::write(&file, SLEEPER.replace("SECONDS", &seconds)).unwrap();
    for (signal, code) in [("INT", Some(3)), ("KILL", None)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isolde"));
        command.arg("explore").arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = on(&cluster, &mut command).spawn().unwrap();
        until(sleeps, "the thread runs");
        assert!(shell(&format!("kill -s {signal} {}", run.id())));
        let output = run.wait_with_output().unwrap();
        let answer = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), code, "{answer}");
        until(|| !sleeps(), "its processes are gone");
        if signal == "INT" {
            assert!(answer.contains("interrupted"), "{answer}");
        } else {
            let left = cluster.left_behind().unwrap();
            assert_eq!(left.len(), 2, "a database and its role: {left:?}");
            fs::write(&file, SLEEPER.replace("; sleep SECONDS", "")).unwrap();
            let mut command = Command::new(env!("CARGO_BIN_EXE_isolde"));
            assert!(on(&cluster, command.arg("explore").arg(&file)).status().unwrap().success());
        }
        assert_eq!(cluster.left_behind().unwrap(), [""; 0]);
    }
}

/// Two scripts that lose an update.
const COUNTER: &str = r#"
[database]
url = "postgres://"
setup_sql = "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL); INSERT INTO counter VALUES (1, 0)"
[[thread]]
name = "ann"
command = """n=$(psql -XAtc 'SELECT n FROM counter WHERE id = 1') && psql -Xqc "UPDATE counter SET n = $n + 1 WHERE id = 1" """
[[thread]]
name = "ben"
command = """n=$(psql -XAtc 'SELECT n FROM counter WHERE id = 1') && psql -Xqc "UPDATE counter SET n = $n + 1 WHERE id = 1" """
"#;

/// What was found behind the proxy becomes a spec, which shows it again on the server and on the embedded engine.
#[test]
fn a_race_of_an_application_becomes_a_spec() {
    if skipped::without("psql", "races of applications as specs") {
        return;
    }
    let cluster = Cluster::shared();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("counter.toml"), COUNTER).unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isolde"));
        let output = on(cluster, command.current_dir(directory.path()).args(args)).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    };
    let (code, text) = run(&["explore", "counter.toml", "--no-fixes", "--emit-spec", "race.spec"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.ends_with("\nspec  isolde spec race.spec --on URL\n"), "{text}");
    let (code, on_server) = run(&["spec", "race.spec", "--on", "postgres://"]);
    assert_eq!(code, Some(0), "{on_server}");
    assert!(
        on_server.contains("step look: SELECT * FROM counter ORDER BY 1;\nid|n\n--+-\n 1|1\n(1 row)\n"),
        "{on_server}"
    );
    assert_eq!(run(&["spec", "race.spec"]), (Some(0), on_server));
}

fn on<'a>(cluster: &Cluster, command: &'a mut Command) -> &'a mut Command {
    command.env("PGHOST", cluster.socket_directory()).env("PGUSER", "postgres").env_remove("PGPORT")
}

/// Whether a process with this command line runs.
fn is_running(command: &str) -> bool {
    let listed = Command::new("ps").args(["-eo", "args"]).output().unwrap();
    String::from_utf8_lossy(&listed.stdout).lines().any(|line| line == command)
}

/// Whether a shell does something without complaint: it has a `kill` of its own on every machine.
fn shell(command: &str) -> bool {
    Command::new("sh").args(["-c", command]).stderr(Stdio::null()).status().unwrap().success()
}

fn until(is_true: impl Fn() -> bool, what: &str) {
    for _ in 0..600 {
        if is_true() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("waited in vain: {what}");
}
