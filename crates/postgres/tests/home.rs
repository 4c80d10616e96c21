//! What a run may touch: its own database, and nothing else on the server or on this machine.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use isolde_postgres::proxy::{Door, Event};
use isolde_postgres::{Home, Trouble};
use isolde_testkit::Cluster;
use isolde_wire::secret::Verifier;
use isolde_wire::{Complaint, Connection, Encryption, Mode, Place, Response, Settings};

fn names(cluster: &Cluster, query: &str) -> Vec<String> {
    let answer = cluster.connect("postgres", "").unwrap().execute(query).unwrap();
    answer[0].rows().iter().filter_map(|row| row[0].clone()).collect()
}

fn databases(cluster: &Cluster) -> Vec<String> {
    names(cluster, "SELECT datname FROM pg_database WHERE datname LIKE 'isolde%' ORDER BY 1")
}

/// Whatever a database is called and whatever its comment says: it is not ours.
#[test]
fn databases_of_others_are_left_alone() {
    let cluster = Cluster::start().unwrap();
    let mut control = cluster.connect("postgres", "").unwrap();
    let lookalike = format!("isolde_{}", "0123456789abcdef".repeat(2));
    let own = Home::create(&cluster.settings("postgres")).unwrap();
    let comment =
        format!("SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = '{}'", own.name());
    let comment = names(&cluster, &comment).remove(0);
    let old = "Isolde made this for a run and drops it afterwards: process 1, lock 7, through database postgres";
    let forged = ["isolde_prod2 WITH (FORCE)", "isolde_prod2", "isolde_APP", "isolde_app", "isolde_x", &lookalike];
    for (at, name) in forged.iter().enumerate() {
        control.execute(&format!("CREATE DATABASE \"{name}\"")).unwrap();
        let comment = if at % 2 == 0 { old } else { &comment };
        control.execute(&format!("COMMENT ON DATABASE \"{name}\" IS '{comment}'")).unwrap();
    }
    drop(own);
    drop(Home::create(&cluster.settings("postgres")).unwrap());
    let mut expected = forged.map(str::to_string).to_vec();
    expected.sort();
    let mut left = databases(&cluster);
    left.sort();
    assert_eq!(left, expected);
}

/// Set in the process that leaves a database behind: the URL of the server.
const LEAVES: &str = "ISOLDE_TEST_LEAVES_HOME_AT";

/// Not a test by itself: a run that is killed.
#[test]
fn a_run_that_is_killed() {
    let Ok(url) = std::env::var(LEAVES) else { return };
    let mut home = Home::create(&Settings::parse(&url, |_| None).unwrap()).unwrap();
    home.copy().unwrap();
    println!("made {}", home.name());
    std::mem::forget(home);
    std::process::abort();
}

/// What a killed run leaves is dropped by the next run of the same user, and only by one that has it in its list.
#[test]
fn what_a_killed_run_leaves_is_dropped_by_the_next() {
    let cluster = Cluster::start().unwrap();
    let state = tempfile::tempdir().unwrap();
    let run = |state: &std::path::Path| {
        let mut this = Command::new(std::env::current_exe().unwrap());
        this.args(["a_run_that_is_killed", "--exact", "--nocapture"]);
        this.env(LEAVES, cluster.url("postgres")).env("XDG_STATE_HOME", state).output().unwrap()
    };
    assert!(!run(state.path()).status.success());
    let left = cluster.left_behind().unwrap();
    assert_eq!(left.len(), 3, "a database, its copy and their role: {left:?}");
    // Somebody else's list does not know it.
    let other = tempfile::tempdir().unwrap();
    run(other.path());
    assert_eq!(cluster.left_behind().unwrap().len(), 6);
    // The next run drops what the first one left, and leaves its own.
    run(state.path());
    let now = cluster.left_behind().unwrap();
    assert_eq!(now.len(), 6, "{now:?}");
    assert!(left.iter().all(|name| !now.contains(name)), "{left:?} {now:?}");
}

/// A superuser's URL creates and drops. What is checked has no privilege beyond its database: the server says so
/// itself.
#[test]
fn checked_statements_are_no_superusers() {
    let cluster = Cluster::start().unwrap();
    cluster.connect("postgres", "").unwrap().execute("CREATE DATABASE \"shop\"").unwrap();
    let home = Home::create(&cluster.settings("postgres")).unwrap();
    let mut session = home.connect("").unwrap();
    session.execute("CREATE TABLE t (id int)").unwrap();
    session.execute("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'").unwrap();
    for attack in [
        "COPY t TO PROGRAM 'cat'",
        "COPY t FROM PROGRAM 'id'",
        "COPY t TO '/tmp/isolde_attack'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT lo_import('/etc/passwd')",
        "CREATE ROLE mallory SUPERUSER",
        "ALTER ROLE postgres PASSWORD 'x'",
        "ALTER ROLE CURRENT_USER SUPERUSER",
        "SET ROLE postgres",
        "SET SESSION AUTHORIZATION postgres",
        "RESET SESSION AUTHORIZATION; CREATE ROLE mallory",
        "DROP DATABASE \"shop\"",
        "ALTER DATABASE \"shop\" RENAME TO \"mine\"",
        "CREATE DATABASE \"other\"",
        "ALTER SYSTEM SET fsync = off",
        "CREATE FUNCTION evil() RETURNS int LANGUAGE c AS '/tmp/evil.so', 'evil'",
        "LOAD '/tmp/evil.so'",
        "SET session_preload_libraries = '/tmp/evil.so'",
        "CREATE EXTENSION dblink",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres' AND pid <> pg_backend_pid()",
        "GRANT pg_execute_server_program TO CURRENT_USER",
        "CREATE TABLESPACE mine LOCATION '/tmp'",
        "SELECT rolpassword FROM pg_authid",
    ] {
        let answers = session.query(attack).unwrap();
        let refused = answers.iter().find_map(Response::error);
        let code = refused.map(|error| error.sqlstate.as_str()).unwrap_or_default();
        assert!(["42501", "0A000"].contains(&code), "{attack}: {answers:?}");
    }
    drop((session, home));
    assert_eq!(cluster.left_behind().unwrap(), [""; 0]);
    assert_eq!(names(&cluster, "SELECT datname FROM pg_database WHERE datname = 'shop'"), ["shop"]);
}

/// Two runs at once neither disturb each other nor leave roles.
#[test]
fn runs_at_once_leave_nothing() {
    let cluster = Cluster::start().unwrap();
    let settings = cluster.settings("postgres");
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..3 {
                    Home::create(&settings).unwrap().connect("").unwrap().execute("SELECT 1").unwrap();
                }
            });
        }
    });
    assert_eq!(cluster.left_behind().unwrap(), [""; 0]);
}

/// A role that may create roles and is no superuser does the same.
#[test]
fn an_ordinary_role_may_create_the_other() {
    let cluster = Cluster::start().unwrap();
    cluster.connect("postgres", "").unwrap().execute("CREATE ROLE \"builder\" LOGIN CREATEDB CREATEROLE").unwrap();
    let mut settings = cluster.settings("postgres");
    settings.user = "builder".into();
    let mut home = Home::create(&settings).unwrap();
    assert_ne!(home.settings().user, "builder");
    home.connect("").unwrap().execute("CREATE TABLE t (id int)").unwrap();
    home.copy().unwrap();
    home.return_to_copy().unwrap();
    home.connect("").unwrap().execute("SELECT * FROM t").unwrap();
    drop(home);
    assert_eq!(cluster.left_behind().unwrap(), [""; 0]);
}

/// A superuser who cannot log in as somebody else is told what to do, and nothing is left.
#[test]
fn a_superuser_alone_is_refused() {
    let cluster = Cluster::start().unwrap();
    let data = names(&cluster, "SHOW hba_file").remove(0);
    std::fs::write(&data, "local all postgres trust\nlocal all all reject\n").unwrap();
    cluster.connect("postgres", "").unwrap().execute("SELECT pg_reload_conf()").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let refused = Home::create(&cluster.settings("postgres")).unwrap_err();
    assert!(matches!(&refused, Trouble::Usage(why) if why.contains("CREATEDB")), "{refused:?}");
    assert_eq!(cluster.left_behind().unwrap(), [""; 0]);
}

/// A door to a database, with this password.
fn door(cluster: &Cluster, password: &str) -> (Door, std::sync::mpsc::Receiver<Event>) {
    let (sender, events) = channel::<Event>();
    let door = Door::open(&cluster.settings("postgres"), &Verifier::new(password).unwrap(), &sender).unwrap();
    (door, events)
}

fn through(door: &Door, password: Option<&str>) -> std::io::Result<Connection> {
    Connection::open(&Settings {
        place: Place::Tcp("127.0.0.1".into(), door.port()),
        user: "isolde".into(),
        password: password.map(str::to_string),
        database: "isolde".into(),
        options: String::new(),
        application_name: "test".into(),
        connect_timeout: Duration::from_secs(10),
        encryption: Encryption { mode: Mode::Disable, ..Encryption::default() },
        patience: isolde_wire::Patience::default(),
    })
}

/// Who does not know the password of the run gets nothing, not even a session of the server.
#[test]
fn the_door_asks_for_the_password() {
    let cluster = Cluster::shared();
    let (door, events) = door(cluster, "right");
    for wrong in [None, Some(""), Some("isolde"), Some("wrong")] {
        assert!(through(&door, wrong).is_err(), "{wrong:?}");
    }
    assert!(events.try_iter().all(|event| matches!(event, Event::Refused { .. })));
    let error = through(&door, Some("wrong")).unwrap_err();
    assert_eq!(Complaint::of(&error).map(|complaint| &*complaint.sqlstate), Some("28P01"), "{error}");
    drop(through(&door, Some("right")).unwrap());
    assert!(events.iter().any(|event| matches!(event, Event::Opened(_))));
}

/// What is no log-in ends the connection, and takes neither memory nor time.
#[test]
fn the_door_takes_no_nonsense() {
    let cluster = Cluster::shared();
    let (door, _events) = door(cluster, "right");
    let version = 196_608u32.to_be_bytes();
    let hello = |length: u32, rest: &[u8]| [&length.to_be_bytes()[..], &version, rest].concat();
    let good = hello(17, b"user\0x\0\0\0");
    for bytes in [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        hello(u32::MAX, b""),
        hello(4, b""),
        [good.clone(), b"Q\0\0\0\x0dSELECT 1\0".to_vec()].concat(),
        [good.clone(), b"p\xff\xff\xff\xff".to_vec()].concat(),
        [good.clone(), b"p\0\0\0\x08abc\0".to_vec()].concat(),
        [good, b"p\0\0\0\x16SCRAM-SHA-256\0\xff\xff\xff\xff".to_vec()].concat(),
        // Somebody cancels without a key of ours.
        [&16u32.to_be_bytes()[..], &80_877_102u32.to_be_bytes(), &[0; 8]].concat(),
    ] {
        let mut client = TcpStream::connect(("127.0.0.1", door.port())).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        client.write_all(&bytes).unwrap();
        let mut all = Vec::new();
        // A connection that is reset has ended as well.
        let _ = client.read_to_end(&mut all);
        assert!(!all.windows(5).any(|w| w == b"R\0\0\0\x08"), "somebody was let in: {bytes:?}");
    }
    drop(through(&door, Some("right")).unwrap());
}
