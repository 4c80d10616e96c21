//! PostgreSQL's own isolationtester, to record and check what `.spec` files print.
//!
//! It is installed with the server's build tools (`postgresql-server-dev` on Debian). A spec is run in a fresh database of
//! the test's [`Cluster`], with the settings of that cluster (UTC, ISO dates) and nothing from the environment, except that
//! sessions are called `isolation/NAME/SESSION` as under pg_isolation_regress. Both outputs go into one, as they come.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Cluster;
use crate::cluster::find_programs;

/// Where the tester is, if it is installed.
pub fn isolationtester() -> Option<PathBuf> {
    const TESTER: &str = "pgxs/src/test/isolation/isolationtester";
    let programs = find_programs().ok()?;
    let beside = programs.parent()?.join("lib").join(TESTER);
    let asked = || {
        let output = Command::new("pg_config").arg("--pkglibdir").output().ok()?;
        let directory = String::from_utf8(output.stdout).ok()?;
        Some(Path::new(directory.trim()).join(TESTER))
    };
    [Some(beside), asked()].into_iter().flatten().find(|path| path.is_file())
}

/// What the tester prints for a spec.
pub fn run(cluster: &Cluster, tester: &Path, spec: &Path) -> io::Result<String> {
    let database = cluster.create_database()?;
    let name = spec.file_stem().unwrap_or_default().to_string_lossy();
    let connection = format!("host={} user=postgres dbname={database}", cluster.socket_directory().display());
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$1\" 2>&1"]).arg(tester).arg(connection);
    for (variable, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
        command.env_remove(variable);
    }
    command.env("PGAPPNAME", format!("isolation/{name}")).env("LC_ALL", "C");
    let output = command.stdin(File::open(spec)?).stderr(Stdio::null()).output()?;
    cluster.drop_database(&database)?;
    String::from_utf8(output.stdout).map_err(io::Error::other)
}
