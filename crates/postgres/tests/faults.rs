//! What goes wrong around an application: each ends with a sentence that says what happened, and nothing is left
//! behind.
#![allow(clippy::unwrap_used)]

mod common;

use common::{COUNTER, check_alone, check_on, without_psql};
use isolde_report::Verdict;
use isolde_testkit::{Cluster, skipped};

fn thread(name: &str, command: &str) -> String {
    format!("[[thread]]\nname = \"{name}\"\ncommand = '''{command}'''\n")
}

/// Why something cannot be checked, or not to its end.
fn trouble(text: &str) -> String {
    match check_alone(text).map(|report| report.verdict) {
        Ok(Verdict::Inconclusive(why)) => why,
        Ok(verdict) => panic!("it cannot be checked, and {verdict:?}"),
        Err(trouble) => trouble.to_string(),
    }
}

#[test]
fn a_thread_that_crashes_has_failed() {
    if without_psql("threads that crash") {
        return;
    }
    let crash = thread("alice", "psql -Xqc 'SELECT n FROM counter' >/dev/null; echo no violin >&2; kill -SEGV $$");
    let report = check_alone(&format!("{COUNTER}{crash}")).unwrap();
    assert_eq!(report.verdict, Verdict::Violated);
    let headline = report.counterexample.unwrap().headline;
    assert!(headline.starts_with("alice fails: ended by signal 11, no violin"), "{headline}");
}

/// A client that goes away in the middle of a transaction gives it up, and who waited for it goes on.
#[test]
fn who_disconnects_gives_up() {
    if without_psql("clients that go away in a transaction") {
        return;
    }
    let leaves = thread(
        "alice",
        "psql -Xq <<\"EOF\"\nBEGIN;\nUPDATE counter SET n = 5 WHERE id = 1;\n\\! kill -KILL $PPID\nEOF\ntrue",
    );
    let waits = thread("bob", "psql -Xqc 'UPDATE counter SET n = n + 1 WHERE id = 1'");
    let text = format!("{COUNTER}{leaves}{waits}[[final]]\nname = \"given_up\"\nsql = \"SELECT n = 1 FROM counter\"\n");
    let report = check_alone(&text).unwrap();
    let text = report.to_text(isolde_report::Style::plain(100));
    assert_eq!(report.verdict, Verdict::Holds, "{text}");
}

/// A client that is gone in the middle of a statement: the server finishes the statement, as servers do, and that is
/// waited for. The client is killed when the statement has told by a file that it runs, so no clock decides what is
/// tested. The server answers and closes the connection in one go: both threads, in both orders, have that behind them.
#[test]
fn who_disconnects_in_the_middle_is_waited_for() {
    if without_psql("clients that go away in a statement") {
        return;
    }
    let cluster = Cluster::start().unwrap();
    let directory = cluster.socket_directory().display().to_string();
    let function = |name: &str| {
        format!(
            "CREATE FUNCTION {name}_runs() RETURNS int LANGUAGE plpgsql AS $$ BEGIN \
             RAISE NOTICE 'at work'; PERFORM pg_sleep(0.3); RETURN 1; END $$;"
        )
    };
    let leaves = |name: &str| {
        let file = format!("{directory}/{name}");
        let command = format!(
            "rm -f {file}; psql -Xqc 'UPDATE counter SET n = n + {name}_runs()' 2> {file} & client=$!; \
             until [ -s {file} ]; do sleep 0.01; done; kill -KILL $client; wait; true"
        );
        thread(name, &command)
    };
    let counter = "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL); INSERT INTO counter VALUES (1, 0);";
    let text = format!(
        "setup_sql = \"{counter} {} {}\"\n{}{}[[final]]\nname = \"done_anyway\"\nsql = \"SELECT n = 2 FROM counter\"\n",
        function("alice"),
        function("bob"),
        leaves("alice"),
        leaves("bob")
    );
    let report = check_on(&cluster.settings("postgres"), &text).unwrap();
    let text = report.to_text(isolde_report::Style::plain(100));
    assert_eq!(report.verdict, Verdict::Holds, "{text}");
    assert_eq!(cluster.left_behind().unwrap(), [""; 0]);
}

#[test]
fn a_thread_without_statements_just_ends() {
    if without_psql("threads without statements") {
        return;
    }
    let text = format!("{COUNTER}{}{}", thread("alice", "true"), thread("bob", "psql -Xqc 'UPDATE counter SET n = 1'"));
    assert_eq!(check_alone(&text).unwrap().verdict, Verdict::Holds);
}

/// The server is stopped in the middle: that is said, and is no violation.
#[test]
fn a_server_that_goes_away_is_said() {
    if without_psql("a server that goes away") {
        return;
    }
    let cluster = Cluster::start().unwrap();
    let settings = cluster.settings("postgres");
    let script = "for i in 1 2 3 4 5 6; do psql -Xqc 'UPDATE counter SET n = n + 1'; done";
    let text = format!("{COUNTER}{}{}", thread("alice", script), thread("bob", script));
    let run = std::thread::spawn(move || check_on(&settings, &text));
    std::thread::sleep(std::time::Duration::from_secs(3));
    drop(cluster);
    match run.join().unwrap() {
        Ok(report) => assert!(matches!(report.verdict, Verdict::Inconclusive(_)), "{:?}", report.verdict),
        Err(trouble) => assert!(matches!(trouble, isolde_postgres::Trouble::Fault(_)), "{trouble:?}"),
    }
}

/// What is no statement's doing is no violation: nothing is concluded from it.
#[test]
fn faults_are_no_violations() {
    for (code, said) in
        [("53100", "disk full"), ("57P01", "terminating"), ("58030", "I/O error"), ("08006", "connection")]
    {
        let raise = format!("DO $x$ BEGIN RAISE EXCEPTION '{said}' USING ERRCODE = '{code}'; END $x$");
        let command = format!("psql -Xq -v ON_ERROR_STOP=1 <<\"EOF\"\n{raise};\nEOF\n");
        let why = match check_alone(&format!("{COUNTER}{}", thread("alice", &command))) {
            Ok(report) => match report.verdict {
                Verdict::Inconclusive(why) => why,
                other => panic!("{code}: {other:?}"),
            },
            Err(isolde_postgres::Trouble::Fault(why)) => why,
            Err(other) => panic!("{code}: {other:?}"),
        };
        assert!(why.contains(said) && why.contains(code), "{why}");
    }
}

#[test]
fn a_command_that_cannot_be_started_is_a_mistake() {
    let said = trouble(&format!("{COUNTER}{}", thread("alice", "no_such_program --help")));
    assert!(said.contains("the command of alice cannot be started") && said.contains("127"), "{said}");
}

/// A check is one query: nothing can be smuggled behind its semicolon.
#[test]
fn checks_are_one_query_each() {
    let text = |sql: &str| {
        let thread = thread("alice", "true");
        format!("[database]\nurl = \"\"\n{thread}[[invariant]]\nname = \"sly\"\nsql = '''{sql}'''\n")
    };
    let parse = |sql: &str| isolde_postgres::app::AppFile::parse("app.toml", &text(sql));
    for several in ["SELECT true; DROP TABLE t", "SELECT true;;SELECT 1", "SELECT ';' ; -- x\nSELECT 1"] {
        let error = parse(several).err().unwrap().to_string();
        assert!(error.contains("more than one statement"), "{several}: {error}");
    }
    let single = [
        "SELECT true",
        "SELECT true;",
        "SELECT ';' = ';' ; -- ; the end\n",
        "SELECT $$;$$ = E'\\';'",
        "SELECT 1 /* ; */",
    ];
    for single in single {
        assert!(parse(single).is_ok(), "{single}");
    }
}

#[test]
fn what_cannot_be_set_up_is_said() {
    let failing = format!("setup = [\"echo no such thing >&2; exit 7\"]\n{}", thread("alice", "true"));
    let said = trouble(&failing);
    assert!(said.contains("fails: exit code 7") && said.contains("| no such thing"), "{said}");
    let wrong = format!("setup_sql = \"CREATE TABEL x ()\"\n{}", thread("alice", "true"));
    let said = trouble(&wrong);
    assert!(said.contains("setup_sql") && said.contains("syntax error"), "{said}");
}

#[test]
fn a_server_that_does_not_come_up_is_said() {
    let request = "[[thread]]\nname = \"alice\"\nrequest = { url = \"/\" }\n";
    let dies = format!("{COUNTER}[[server]]\ncommand = \"echo the port is taken >&2; exit 1\"\n{request}");
    let said = trouble(&dies);
    assert!(said.contains("the server web has ended: exit code 1") && said.contains("the port is taken"), "{said}");
    let sleeps = format!("{COUNTER}[[server]]\ncommand = \"sleep 60\"\ntimeout = 1\n{request}");
    assert!(trouble(&sleeps).contains("the server web is not ready after 1 s"));
}

/// A server with one worker: the second request is never begun.
#[test]
fn a_server_without_free_workers_is_said() {
    if without_psql("a server without free workers") || skipped::without("python3", "a server without free workers") {
        return;
    }
    let server = r#"
import http.server, subprocess
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        subprocess.run(["psql", "-Xqc", "BEGIN", "-c", "UPDATE counter SET n = n + 1", "-c", "COMMIT"], check=True)
        self.send_response(204)
        self.end_headers()
import os
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"#;
    let file = std::env::temp_dir().join(format!("isolde-one-worker-{}.py", std::process::id()));
    std::fs::write(&file, server).unwrap();
    let request = |name: &str| format!("[[thread]]\nname = \"{name}\"\nrequest = {{ url = \"/\" }}\n");
    let text = format!(
        "time_limit = 5\n{COUNTER}[[server]]\ncommand = \"exec python3 {}\"\n{}{}",
        file.display(),
        request("alice"),
        request("bob")
    );
    let said = trouble(&text);
    std::fs::remove_file(&file).unwrap();
    assert!(said.contains("all connections or workers of the server are taken"), "{said}");
}

#[test]
fn refused_connections_are_said() {
    let cluster = Cluster::shared();
    let mut control = cluster.connect("postgres", "").unwrap();
    control.query("DROP ROLE IF EXISTS few; CREATE ROLE few LOGIN SUPERUSER").unwrap();
    let mut settings = cluster.settings("postgres");
    settings.user = "nobody_there".into();
    let refused = check_on(&settings, &format!("{COUNTER}{}", thread("alice", "true"))).unwrap_err();
    assert!(refused.to_string().contains("nobody_there"), "{refused}");
}

/// A role that is no superuser: the database is made again from a copy instead of being put back.
#[test]
fn an_ordinary_role_will_do() {
    if without_psql("an ordinary role") {
        return;
    }
    let cluster = Cluster::start().unwrap();
    let mut control = cluster.connect("postgres", "").unwrap();
    control.query("CREATE ROLE ordinary LOGIN CREATEDB").unwrap();
    let mut settings = cluster.settings("postgres");
    settings.user = "ordinary".into();
    let script = "n=$(psql -XAtc 'SELECT n FROM counter') && psql -Xqc \"UPDATE counter SET n = $n + 1\"";
    let text = format!("{COUNTER}{}{}", thread("alice", script), thread("bob", script));
    let report = check_on(&settings, &text).unwrap();
    assert_eq!(report.counterexample.unwrap().anomaly.as_deref(), Some("lost update"));
    assert_eq!(cluster.left_behind().unwrap(), [""; 0]);
}
