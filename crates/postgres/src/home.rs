//! The database that a run lives in.
//!
//! Nothing of the user's is touched: a run creates a database of its own on the server, called `isolde_...`, and drops it
//! when it ends, well or badly. A run that is killed cannot; so its database says whose it is. Its comment names the run and
//! the number of an advisory lock that the run holds for as long as it lives, in the database that the user's URL names, and
//! whoever comes next drops what belongs to nobody any more:
//!
//! ```text
//!   comment says "Isolde", came through this database, its lock is free, nobody is connected   ⇒   dropped
//! ```
//!
//! A second database, a copy of the first as it was after set-up, is made where rows alone cannot be put back.

use std::hash::{BuildHasher, Hasher, RandomState};

use isolde_wire::{Connection, NotAdmitted, Response, Settings};

use crate::Trouble;

/// What the comment of a database of ours begins with.
const MARK: &str = "Isolde made this for a run and drops it afterwards";
/// The first half of the keys of our advisory locks.
const LOCK_SPACE: i32 = 0x1501de;
/// The versions of PostgreSQL that this was made for.
const VERSIONS: std::ops::RangeInclusive<u32> = 13..=18;

/// A database created for a run, dropped with this value.
#[derive(Debug)]
pub struct Home {
    /// A session in the user's database, which holds the lock.
    keeper: Connection,
    settings: Settings,
    version: Version,
    lock: i32,
    /// A copy of the database, to come back to.
    copied: bool,
}

/// The version of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// 15 of 15.4.
    pub major: u32,
    /// `15.4`, without what a distribution says about it.
    pub text: String,
}

impl Home {
    /// Creates a database on the server that these settings lead to, and clears away what runs that were killed have left.
    pub fn create(server: &Settings) -> Result<Home, Trouble> {
        let server = server.clone().with_application_name("isolde");
        let mut keeper = connect(&server)?;
        let version = version(&mut keeper)?;
        sweep(&mut keeper)?;
        let random = RandomState::new().build_hasher().finish();
        let lock = random as i32;
        let name = format!("isolde_{}_{:06x}", std::process::id(), (random >> 40) & 0xff_ffff);
        keeper.execute(&format!("SELECT pg_advisory_lock({LOCK_SPACE}, {lock})"))?;
        let settings = keeper.settings().with_database(&name);
        let mut home = Home { keeper, settings, version, lock, copied: false };
        home.make(&name, "template0")?;
        Ok(home)
    }

    /// How to connect to the database.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The name of the database.
    pub fn name(&self) -> &str {
        &self.settings.database
    }

    /// The version of the server.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// A session in the database, with these settings of the session.
    pub fn connect(&self, options: &str) -> Result<Connection, Trouble> {
        connect(&self.settings.with_options(options))
    }

    /// Keeps a copy of the database as it is now. Nobody may be connected to it.
    pub fn copy(&mut self) -> Result<(), Trouble> {
        self.copied = true;
        let (name, copy) = (self.name().to_string(), self.copy_name());
        self.make(&copy, &name)
    }

    /// Makes the database again from its copy, ending every session in it.
    pub fn return_to_copy(&mut self) -> Result<(), Trouble> {
        let (name, copy) = (self.name().to_string(), self.copy_name());
        self.keeper.execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
        self.make(&name, &copy)
    }

    fn copy_name(&self) -> String {
        format!("{}_copy", self.name())
    }

    fn make(&mut self, name: &str, template: &str) -> Result<(), Trouble> {
        let created = self.keeper.query(&format!("CREATE DATABASE {name} TEMPLATE {template}"))?;
        for response in created {
            match response {
                Response::Error(error) if error.sqlstate == "42501" => {
                    let user = &self.settings.user;
                    return Err(Trouble::Server(format!(
                        "{user} may not create databases on this server, and Isolde works in one of its own. \
                         As a superuser: ALTER ROLE \"{user}\" CREATEDB"
                    )));
                }
                Response::Error(error) => {
                    return Err(Trouble::Server(format!("no database can be created there: {}", error.message)));
                }
                _ => {}
            }
        }
        let by = format!("process {}, lock {}, through database", std::process::id(), self.lock);
        self.keeper.execute(&format!(
            "DO $isolde$ BEGIN EXECUTE format('COMMENT ON DATABASE {name} IS %L', '{MARK}: {by} ' || current_database()); END $isolde$"
        ))?;
        Ok(())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let mut names = vec![self.name().to_string()];
        names.extend(self.copied.then(|| self.copy_name()));
        for name in names {
            let drop_it = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
            // If the server is gone there is nothing to drop; if only the connection is, another one may do.
            if self.keeper.query(&drop_it).is_err()
                && let Ok(mut other) = Connection::open(self.keeper.settings())
            {
                let _ = other.query(&drop_it);
                self.keeper = other;
            }
        }
    }
}

/// A session, or why there is none.
fn connect(settings: &Settings) -> Result<Connection, Trouble> {
    let refused = |error: std::io::Error| Trouble::Server(format!("cannot connect to {settings}: {error}"));
    match Connection::open(settings) {
        // Who names no database means the server; everybody has one called postgres.
        Err(error) if settings.database == settings.user && is_absent(&error) => {
            Connection::open(&settings.with_database("postgres")).map_err(|_| refused(error))
        }
        connection => connection.map_err(refused),
    }
}

/// Whether there is no database of that name (3D000).
fn is_absent(error: &std::io::Error) -> bool {
    NotAdmitted::of(error).is_some_and(|said| said.sqlstate == "3D000")
}

fn version(connection: &mut Connection) -> Result<Version, Trouble> {
    let text = connection.parameter("server_version").unwrap_or_default();
    let text = text.split(' ').next().unwrap_or_default().to_string();
    let major = text.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok());
    match major {
        Some(major) if VERSIONS.contains(&major) => Ok(Version { major, text }),
        _ => Err(Trouble::Server(format!(
            "the server is PostgreSQL {text}; Isolde knows versions {} to {}",
            VERSIONS.start(),
            VERSIONS.end()
        ))),
    }
}

/// Drops the databases of runs that are no more.
fn sweep(keeper: &mut Connection) -> Result<(), Trouble> {
    let ours = format!(
        "SELECT datname, substring(comment FROM 'lock (-?[0-9]+),') FROM (
            SELECT datname, oid, shobj_description(oid, 'pg_database') AS comment FROM pg_database
        ) AS d
        WHERE datname LIKE 'isolde\\_%' AND comment LIKE '{MARK}%'
          AND substring(comment FROM 'through database (.*)$') = current_database()
          AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datid = d.oid)"
    );
    let found = keeper.execute(&ours)?;
    for row in found.first().map(Response::rows).unwrap_or_default() {
        let [Some(name), Some(lock)] = row.as_slice() else { continue };
        let asked = keeper.execute(&format!("SELECT pg_try_advisory_lock({LOCK_SPACE}, {lock})"))?;
        if asked.first().map(Response::rows) == Some(&[vec![Some("t".to_string())]]) {
            // Somebody else may have been quicker.
            keeper.query(&format!("DROP DATABASE IF EXISTS {name}"))?;
            keeper.execute(&format!("SELECT pg_advisory_unlock({LOCK_SPACE}, {lock})"))?;
        }
    }
    Ok(())
}
