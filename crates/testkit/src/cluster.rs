//! A throw-away PostgreSQL.
//!
//! A [`Cluster`] is a server in a temporary directory, reached by a socket in the same directory and by nothing else.
//! It trades durability for speed, speaks English, lives in UTC, and sorts by bytes.
//!
//! A test server must not outlive its test, however the test ends: a panic, `process::exit`, a signal, a debugger. So
//! nobody has to remember to stop it. The server is the child of a small shell that reads from a pipe whose other end
//! the test process holds. When the test process is gone, for whatever reason, the pipe is closed, the shell's `read`
//! returns, and the shell stops the server and removes the directory:
//!
//! ```text
//!   test process ══pipe══▶ sh: read ──▶ kill -QUIT server; wait; rm -r directory
//!                           └─ postgres
//! ```
//!
//! PostgreSQL refuses to run as root. Where tests do (in containers), the server runs as `postgres` or `nobody`.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use isolde_wire::quote::identifier;
use isolde_wire::{Connection, Encryption, Patience, Place, Settings};

use crate::version::Version;

/// A running PostgreSQL server, gone when it is dropped or when the process ends.
#[derive(Debug)]
pub struct Cluster {
    directory: PathBuf,
    port: u16,
    keeper: Child,
    databases: AtomicUsize,
}

impl Cluster {
    /// The one server of this test process, started by the first call.
    ///
    /// # Panics
    /// If no server can be started; the message says what to install.
    pub fn shared() -> &'static Arc<Cluster> {
        static SHARED: OnceLock<Arc<Cluster>> = OnceLock::new();
        let start = || Cluster::start().unwrap_or_else(|error| panic!("no PostgreSQL to test with: {error}"));
        SHARED.get_or_init(|| Arc::new(start()))
    }

    /// Initializes and starts a server of its own.
    pub fn start() -> io::Result<Cluster> {
        Cluster::start_with(PORT, &[])
    }

    /// The same with more settings, `name=value`; the port also names the socket.
    pub fn start_with(port: u16, settings: &[&str]) -> io::Result<Cluster> {
        let programs = find_programs()?;
        let directory = temporary_directory()?;
        let user = unprivileged_user(directory.path())?;
        if let Some(user) = &user {
            chown(directory.path(), Some(user.uid), Some(user.gid))?;
        }
        initialize(&programs, directory.path(), user.as_ref())?;
        let port_setting = format!("port={port}");
        let settings: Vec<&str> = [&*port_setting].into_iter().chain(settings.iter().copied()).collect();
        let keeper = spawn_kept(&programs, directory.path(), user.as_ref(), &settings)?;
        // From here on the keeper removes the directory.
        let cluster = Cluster { directory: directory.keep(), port, keeper, databases: AtomicUsize::new(0) };
        cluster.wait_until_ready()?;
        Ok(cluster)
    }

    /// The directory that holds the socket, for `psql -h`.
    pub fn socket_directory(&self) -> &Path {
        &self.directory
    }

    /// The version of the server.
    pub fn version(&self) -> io::Result<Version> {
        version_of(&self.connect("postgres", "")?)
    }

    /// Creates an empty database and returns its name.
    pub fn create_database(&self) -> io::Result<String> {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut control = self.connect("postgres", "")?;
        control.execute(&format!("CREATE DATABASE {}", identifier(&name)))?;
        Ok(name)
    }

    /// Drops a database that nobody is connected to any more.
    pub fn drop_database(&self, name: &str) -> io::Result<()> {
        self.connect("postgres", "")?.execute(&format!("DROP DATABASE {} WITH (FORCE)", identifier(name))).map(drop)
    }

    /// The databases and roles that a run of Isolde has made and not dropped. On the shared server those of other tests
    /// are among them, so who asks has a server of their own.
    pub fn left_behind(&self) -> io::Result<Vec<String>> {
        let mut control = self.connect("postgres", "")?;
        let names = control.execute(
            "SELECT datname FROM pg_database WHERE datname LIKE 'isolde\\_%' \
             UNION ALL SELECT 'role ' || rolname FROM pg_roles WHERE rolname LIKE 'isolde\\_%' ORDER BY 1",
        )?;
        Ok(names[0].rows().iter().filter_map(|row| row[0].clone()).collect())
    }

    /// Opens a session as superuser. `options` are server settings, `-c name=value`, that even `DISCARD ALL` keeps.
    pub fn connect(&self, database: &str, options: &str) -> io::Result<Connection> {
        Connection::open(&self.settings(database).with_options(options))
    }

    /// How to reach a database as superuser.
    pub fn settings(&self, database: &str) -> Settings {
        Settings {
            place: Place::Unix(self.directory.clone(), self.port),
            user: "postgres".into(),
            password: None,
            database: database.into(),
            options: String::new(),
            application_name: "isolde".into(),
            connect_timeout: Duration::from_secs(10),
            encryption: Encryption::default(),
            patience: Patience::default(),
        }
    }

    /// The same as a URL.
    pub fn url(&self, database: &str) -> String {
        self.settings(database).to_string()
    }

    fn wait_until_ready(&self) -> io::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match self.connect("postgres", "") {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > deadline => {
                    let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                    return Err(io::Error::other(format!("the server did not start: {error}\n{log}")));
                }
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// The version of the server at the other end.
pub(crate) fn version_of(connection: &Connection) -> io::Result<Version> {
    let text = connection.parameter("server_version").unwrap_or_default();
    Version::parse(text).ok_or_else(|| io::Error::other(format!("{text:?} is no version")))
}

/// A fresh directory, in memory where the system has a place for that.
fn temporary_directory() -> io::Result<tempfile::TempDir> {
    let builder = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix("isolde-pg-");
        builder
    };
    builder().tempdir_in("/dev/shm").or_else(|_| builder().tempdir())
}

/// Unless a test listens to the network, nobody else has this one: it only names a socket.
const PORT: u16 = 5432;

/// Settings that make a server quick to start and its answers the same everywhere.
const SETTINGS: &[&str] = &[
    "listen_addresses=",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "autovacuum=off",
    "shared_buffers=64MB",
    "max_wal_size=128MB",
    "checkpoint_timeout=1d",
    "bgwriter_lru_maxpages=0",
    "track_counts=off",
    "track_activities=off",
    "update_process_title=off",
    "jit=off",
    "max_prepared_transactions=10",
    "timezone=UTC",
    "datestyle=ISO, MDY",
];

/// What the shell does that keeps the server: start it, wait for the pipe to close, stop it, clean up.
const KEEPER: &str = r#"
directory=$1; shift
"$@" </dev/null >"$directory/log" 2>&1 &
server=$!
read -r _
kill -QUIT "$server" 2>/dev/null
wait "$server" 2>/dev/null
cd / && rm -rf "$directory"
"#;

fn spawn_kept(programs: &Path, directory: &Path, user: Option<&User>, more: &[&str]) -> io::Result<Child> {
    let mut command = command_as("sh", directory, user);
    command.args(["-c", KEEPER, "keeper"]).arg(directory).arg(programs.join("postgres"));
    command.arg("-D").arg(directory.join("data")).arg("-k").arg(directory);
    for setting in SETTINGS.iter().chain(more) {
        command.args(["-c", setting]);
    }
    // Its own process group, so that Ctrl-C on the tests reaches the keeper by the pipe only.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

fn initialize(programs: &Path, directory: &Path, user: Option<&User>) -> io::Result<()> {
    let output = command_as(programs.join("initdb"), directory, user)
        .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync", "--pgdata"])
        .arg(directory.join("data"))
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("initdb failed: {}", String::from_utf8_lossy(&output.stderr))))
}

/// A command that runs in `directory`, as `user` if one is given, without PostgreSQL settings from the environment.
fn command_as(program: impl AsRef<std::ffi::OsStr>, directory: &Path, user: Option<&User>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).env("LC_ALL", "C");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    if let Some(user) = user {
        command.uid(user.uid).gid(user.gid);
    }
    command
}

/// Names the directory of the programs, to test with another version.
const PROGRAMS: &str = "ISOLDE_PG_BIN";

/// The directory that holds `initdb` and `postgres`: the one that `ISOLDE_PG_BIN` names; else from `PATH`, or the
/// newest that Debian's packages installed.
pub(crate) fn find_programs() -> io::Result<PathBuf> {
    let complete = |directory: &PathBuf| ["initdb", "postgres"].iter().all(|name| directory.join(name).is_file());
    if let Some(named) = std::env::var_os(PROGRAMS).map(PathBuf::from) {
        let missing = format!("{PROGRAMS} is {}, and there is no initdb and postgres", named.display());
        return complete(&named).then_some(named).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, missing));
    }
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&on_path).find(complete);
    installed.or_else(|| packaged_programs().into_iter().find(complete)).ok_or_else(|| {
        let hint = "neither on PATH nor in /usr/lib/postgresql; on Debian: apt-get install postgresql";
        io::Error::new(io::ErrorKind::NotFound, format!("initdb and postgres not found ({hint})"))
    })
}

fn packaged_programs() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/usr/lib/postgresql") else { return Vec::new() };
    let mut versions: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, directory)| directory).collect()
}

#[derive(Clone, Debug, PartialEq)]
struct User {
    uid: u32,
    gid: u32,
}

/// Who shall run the server: nobody in particular (`None`), unless we are root, the owner of a directory just created.
fn unprivileged_user(just_created: &Path) -> io::Result<Option<User>> {
    if fs::metadata(just_created)?.uid() != 0 {
        return Ok(None);
    }
    let accounts = fs::read_to_string("/etc/passwd")?;
    let user = ["postgres", "nobody"].iter().find_map(|name| find_user(&accounts, name));
    user.map(Some).ok_or_else(|| io::Error::other("running as root, and there is no user postgres or nobody"))
}

fn find_user(accounts: &str, name: &str) -> Option<User> {
    let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some(User { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_dropped_cluster_leaves_nothing_behind() {
        let cluster = Cluster::start().unwrap();
        let directory = cluster.socket_directory().to_path_buf();
        assert!(directory.join("data").exists());
        drop(cluster);
        assert!(!directory.exists());
    }

    #[test]
    fn databases_are_separate() {
        let cluster = Cluster::shared();
        let (a, b) = (cluster.create_database().unwrap(), cluster.create_database().unwrap());
        cluster.connect(&a, "").unwrap().execute("CREATE TABLE t (id int)").unwrap();
        cluster.connect(&b, "").unwrap().execute("CREATE TABLE t (id int)").unwrap();
    }

    #[test]
    fn users_are_found_by_name() {
        let accounts = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65533:nobody:/:/bin/false\n";
        assert_eq!(find_user(accounts, "nobody"), Some(User { uid: 65534, gid: 65533 }));
        assert_eq!(find_user(accounts, "postgres"), None);
    }
}
