//! PostgreSQL's own isolationtester, to record and check what `.spec` files print.
//!
//! It is installed with the server's build tools (`postgresql-server-dev` on Debian). A spec is run in a fresh database
//! of the test's [`Cluster`], with the settings of that cluster (UTC, ISO dates) and nothing from the environment,
//! except that sessions are called `isolation/NAME/SESSION` as under pg_isolation_regress. Both outputs go into one, as
//! they come.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Cluster;
use crate::cluster::find_programs;
use crate::version::{Answers, Needs, Version};

/// What was recorded of a spec.
///
/// `expected/NAME.out` is what the [reference](crate::version) prints; what other versions print differently is in
/// files that name those that were seen: `expected/NAME@17.10,18.4.out`.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Where, without the ending.
    stem: PathBuf,
    /// What is printed.
    pub answers: Answers,
    /// What the spec asks of a server.
    pub needs: Option<Needs>,
}

impl Recording {
    /// Reads what was recorded of a spec.
    pub fn of(spec: &Path) -> io::Result<Recording> {
        let stem = spec.with_file_name("expected").join(spec.file_stem().unwrap_or_default());
        let mut recording =
            Recording { stem, answers: Answers::default(), needs: Needs::find(&fs::read_to_string(spec)?) };
        recording.answers.usual = fs::read_to_string(recording.usual()).unwrap_or_default();
        for (path, versions) in recording.others()? {
            recording.answers.others.push((versions, fs::read_to_string(path)?));
        }
        Ok(recording)
    }

    /// Takes in what a server of this version printed.
    pub fn record(&mut self, version: Version, printed: &str) -> io::Result<()> {
        for (path, _) in self.others()? {
            fs::remove_file(path)?;
        }
        self.answers.record(version, printed);
        fs::write(self.usual(), &self.answers.usual)?;
        self.answers.others.iter().try_for_each(|(versions, text)| {
            let versions: Vec<String> = versions.iter().map(Version::to_string).collect();
            fs::write(with_ending(&self.stem, &format!("@{}.out", versions.join(","))), text)
        })
    }

    fn usual(&self) -> PathBuf {
        with_ending(&self.stem, ".out")
    }

    /// The files of other versions.
    fn others(&self) -> io::Result<Vec<(PathBuf, Vec<Version>)>> {
        let prefix = format!("{}@", self.stem.file_name().unwrap_or_default().to_string_lossy());
        let versions = |name: &str| {
            let list = name.strip_prefix(&prefix)?.strip_suffix(".out")?;
            list.split(',').map(Version::parse).collect::<Option<Vec<Version>>>()
        };
        let directory = self.stem.parent().unwrap_or(Path::new("."));
        let entries = fs::read_dir(directory)?.flatten().map(|entry| entry.path());
        let mut others: Vec<(PathBuf, Vec<Version>)> = entries
            .filter_map(|path| {
                let versions = versions(path.file_name()?.to_str()?)?;
                Some((path, versions))
            })
            .collect();
        others.sort();
        Ok(others)
    }
}

fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    let mut path = stem.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

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
