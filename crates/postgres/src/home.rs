//! The database that a run lives in, and the role that lives there.
//!
//! Nothing of the user's is touched. A run creates a database of its own, under a random name, and drops it when it
//! ends, well or badly. What is checked is somebody's SQL, so it gets no more than that database: if the URL's role may
//! create roles, the database belongs to a role that was created for it and that has no privilege anywhere else, and
//! everything but creating and dropping is done by that role, over connections of its own:
//!
//! ```text
//!   URL's role ── keeper ──▶ CREATE ROLE, CREATE DATABASE ... OWNER, GRANT SET ON PARAMETER          DROP DATABASE, DROP ROLE
//!   own role   ── control, sessions, set-up, invariants, applications ──▶ COPY TO PROGRAM, CREATE ROLE, ...: refused by the server
//! ```
//!
//! Not even the connection that looks on is a superuser's: functions, defaults and index expressions that a checked
//! program has defined would run with its privileges. What looking on needs beyond those of an owner (when to look for
//! deadlocks, triggers that sleep while rows are put back) are four settings, which the role is granted ([`GRANTED`]).
//!
//! A role that may not create roles works as itself. A superuser that cannot log in as anybody else is refused.
//!
//! A run that is killed drops nothing. The next one at the same place does it: only what the
//! [registry](crate::registry) of this machine has written down, whose name has the generated shape, whose owner is the
//! role of that name or the URL's role, whose comment says so, and to which nobody else is connected.
//!
//! Clearing away must neither hang nor be fooled. A statement of the keeper that was lost on the way may still run: a
//! database could be created after we looked for it. So the keeper's sessions bear the name of the run, and as long as
//! there is another one of them, nothing is said to be gone.
//!
//! A second database, a copy of the first as it was after set-up, is made where rows alone cannot be put back.

use std::io::ErrorKind;
use std::net::ToSocketAddrs;
use std::time::Duration;

use isolde_wire::quote::{identifier, literal};
use isolde_wire::secret::{self, Verifier};
use isolde_wire::{Complaint, Connection, Patience, Place, Response, Row, SLICE, Settings};

use crate::Trouble;
use crate::registry::{Entry, is_generated};

/// What the comment of a database of ours begins with.
const MARK: &str = "Isolde made this for a run and drops it afterwards";
/// The versions of PostgreSQL that this was made for.
const VERSIONS: std::ops::RangeInclusive<u32> = 13..=18;

/// Settings that a role of ours may change in its sessions. None of them reaches beyond the session: they say when to
/// look for deadlocks, whether the client is told, and that triggers sleep.
const GRANTED: &str = "deadlock_timeout, log_lock_waits, log_min_messages, session_replication_role";
/// Since this version settings can be granted.
const GRANTS_SINCE: u32 = 15;
/// Grants are rows of one table: two runs must not change the same one at once.
const ONE_AT_A_TIME: &str = "LOCK TABLE pg_catalog.pg_parameter_acl IN SHARE ROW EXCLUSIVE MODE";

/// A server that says nothing for so long is gone. Set-ups and copies of databases take their time.
const SILENCE_MAX: Duration = Duration::from_secs(300);
/// How long clearing away may take.
const CLEARING_MAX: Duration = Duration::from_secs(30);
/// The same for who was ended from outside, or has seen the server fall silent. What is not done then, the server does
/// without us or the next run does.
const CLEARING_HASTILY: Duration = Duration::from_millis(600);

/// A database created for a run, dropped with this value.
#[derive(Debug)]
pub struct Home {
    /// A session in the user's database, as the URL's role.
    keeper: Connection,
    /// The database, as the role that works in it.
    settings: Settings,
    version: Version,
    entry: Entry,
    role: Role,
    /// The URL's role is a superuser.
    superuser: bool,
    /// A copy of the database, to come back to.
    copied: bool,
}

/// Who works in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// A role that was created for it, with the name of the database.
    Own,
    /// The URL's role.
    Given,
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
    /// Creates a database on the server that these settings lead to, and clears away what runs that were killed have
    /// left.
    pub fn create(server: &Settings) -> Result<Home, Trouble> {
        let patience = server.patience.renewed().with_silence_max(SILENCE_MAX);
        let server = server.with_application_name("isolde").with_patience(patience);
        let mut keeper = connect(&server, true)?;
        let version = version(&mut keeper)?;
        sweep(&mut keeper)?;
        let may = "SELECT rolsuper, rolsuper OR rolcreaterole FROM pg_catalog.pg_roles WHERE rolname = current_user";
        let may = keeper.execute(may)?;
        let may = |at: usize| may.iter().flat_map(Response::rows).any(|row| is_true(row, at));
        let (superuser, role) = (may(0), if may(1) { Role::Own } else { Role::Given });
        let entry = Entry::new(&place(&server))?;
        keeper.execute(&named(&entry.name))?;
        let settings = keeper.settings().with_database(&entry.name);
        let mut home = Home { keeper, settings, version, entry, role, superuser, copied: false };
        if role == Role::Own {
            home.move_in()?;
        } else {
            home.make(&home.entry.name.clone(), "template0")?;
        }
        Ok(home)
    }

    /// How to connect to the database.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The server, as it was given: for another database there.
    pub fn server(&self) -> &Settings {
        self.keeper.settings()
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
        connect(&self.settings.with_options(options), false)
    }

    /// Gives sessions that are opened from now on a value of a setting that only a superuser may set; whether that can
    /// be done.
    pub fn preset(&mut self, setting: &str, value: &str) -> Result<bool, Trouble> {
        if !self.superuser || self.role == Role::Given {
            return Ok(false);
        }
        let (role, setting) = (identifier(&self.settings.user), identifier(setting));
        self.keeper.execute(&format!("ALTER ROLE {role} SET {setting} = {}", literal(value)))?;
        Ok(true)
    }

    /// Whose privileges checked statements have, for `--stats`; nothing if they have none beyond their database.
    pub fn describe(&self) -> String {
        match self.role {
            Role::Own => String::new(),
            Role::Given => format!("; statements have the privileges of {}", self.settings.user),
        }
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
        self.keeper.execute(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", identifier(&name)))?;
        self.make(&name, &copy)
    }

    fn copy_name(&self) -> String {
        copy_of(self.name())
    }

    /// Creates a role and its database, and makes sure that it can log in.
    fn move_in(&mut self) -> Result<(), Trouble> {
        let name = self.entry.name.clone();
        let given = self.settings.user.clone();
        let password = secret::token()?;
        let hash = literal(&Verifier::new(&password)?.to_sql());
        let role = identifier(&name);
        // Who is no superuser must belong to the role to drop what it owns.
        let member = if self.superuser { String::new() } else { format!("ROLE {}", identifier(&given)) };
        let create = format!(
            "CREATE ROLE {role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD {hash} {member}"
        );
        match self.grants() {
            true => self.keeper.execute(&format!(
                "BEGIN; {ONE_AT_A_TIME}; {create}; GRANT SET ON PARAMETER {GRANTED} TO {role}; COMMIT"
            )),
            false => self.keeper.execute(&create),
        }?;
        self.settings = Settings { user: name.clone(), password: Some(password), ..self.settings.clone() };
        self.make(&name, "template0")?;
        let Err(error) = Connection::open(&self.settings) else { return Ok(()) };
        if !Complaint::of(&error).is_some_and(|complaint| complaint.sqlstate.starts_with("28")) {
            return Err(error.into());
        }
        if self.superuser {
            return Err(Trouble::Usage(format!(
                "{given} is a superuser, and the server lets no other role log in from here ({error}). What is checked is not \
                 run with a superuser's privileges. Give the URL of a role that may create databases: CREATE ROLE {} LOGIN \
                 CREATEDB",
                identifier("checker")
            )));
        }
        // It is an ordinary role, and works as itself.
        self.drop_all();
        self.keeper.set_patience(self.settings.patience.clone());
        (self.role, self.settings) = (Role::Given, self.keeper.settings().with_database(&name));
        self.make(&name, "template0")
    }

    /// Whether the role is granted settings.
    fn grants(&self) -> bool {
        self.superuser && self.version.major >= GRANTS_SINCE
    }

    fn make(&mut self, name: &str, template: &str) -> Result<(), Trouble> {
        let (database, owner) = (identifier(name), identifier(&self.settings.user));
        let template = identifier(template);
        let created = self.keeper.query(&format!("CREATE DATABASE {database} OWNER {owner} TEMPLATE {template}"))?;
        for response in created {
            match response {
                Response::Error(error) if error.sqlstate == "42501" => {
                    let user = &self.keeper.settings().user;
                    return Err(Trouble::Usage(format!(
                        "{user} may not create databases on this server, and Isolde works in one of its own. \
                         As a superuser: ALTER ROLE {} CREATEDB",
                        identifier(user)
                    )));
                }
                Response::Error(error) if error.is_fault() => {
                    return Err(Trouble::Fault(format!("no database can be created there: {}", error.message)));
                }
                Response::Error(error) => {
                    return Err(Trouble::Server(format!("no database can be created there: {}", error.message)));
                }
                _ => {}
            }
        }
        let comment = literal(&comment(&self.entry.token));
        self.keeper.execute(&format!("COMMENT ON DATABASE {database} IS {comment}"))?;
        Ok(())
    }

    /// Drops what there is; whether nothing is left, as far as the server says.
    fn drop_all(&mut self) -> bool {
        let silent = self.settings.patience.check().is_err() || !self.keeper.is_answered();
        let patience = Patience::lasting(if silent { CLEARING_HASTILY } else { CLEARING_MAX });
        self.keeper.set_patience(patience.clone());
        if self.keeper.is_answered() && self.try_to_drop().is_ok_and(|gone| gone) {
            return true;
        }
        // If the server is gone there is nothing to drop; if only the connection is, another one may do.
        let Ok(mut other) = Connection::open(&self.keeper.settings().with_patience(patience)) else { return false };
        if other.execute(&named(&self.entry.name)).is_err() || !is_alone(&mut other, &self.entry.name).unwrap_or(false)
        {
            return false;
        }
        self.keeper = other;
        self.try_to_drop().unwrap_or(false)
    }

    /// Says at once all that is to be dropped, so that the server goes on with it if it is not waited for; whether
    /// nothing is left.
    fn try_to_drop(&mut self) -> std::io::Result<bool> {
        let mut names = vec![self.entry.name.clone()];
        names.extend(self.copied.then(|| copy_of(&self.entry.name)));
        let mut all: Vec<String> =
            names.iter().map(|name| format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", identifier(name))).collect();
        all.extend((self.role == Role::Own).then(|| drop_role(&self.entry.name, self.grants())));
        // Something may have failed in a transaction.
        self.keeper.queue("ROLLBACK")?;
        let Some((last, first)) = all.split_last() else { return Ok(true) };
        first.iter().try_for_each(|sql| self.keeper.queue(sql))?;
        self.keeper.send(last)?;
        let mut gone = true;
        for at in 0..=all.len() {
            let responses = self.keeper.answers()?;
            gone &= at == 0 || !responses.iter().any(Response::is_error);
        }
        Ok(gone)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.drop_all() {
            self.entry.strike();
        }
    }
}

/// Gives a session the name of a run.
fn named(run: &str) -> String {
    format!("SET application_name = {}", literal(run))
}

/// Ends other sessions of the keeper of a run; whether none is left after a moment. What such a session was told and
/// we did not hear the answer of may still be done as long as it is there.
fn is_alone(keeper: &mut Connection, run: &str) -> std::io::Result<bool> {
    let others = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
         WHERE application_name = {} AND usename = current_user AND pid <> pg_backend_pid()",
        literal(run)
    );
    loop {
        let found = keeper.execute(&others)?;
        if found.iter().all(|response| response.rows().is_empty()) {
            return Ok(true);
        }
        if let Err(error) = keeper.patience().check() {
            return if error.kind() == ErrorKind::TimedOut { Ok(false) } else { Err(error) };
        }
        std::thread::sleep(SLICE);
    }
}

/// What drops a role and what it was granted.
fn drop_role(name: &str, grants: bool) -> String {
    let role = identifier(name);
    match grants {
        true => format!(
            "BEGIN; {ONE_AT_A_TIME}; REVOKE SET ON PARAMETER {GRANTED} FROM {role}; DROP ROLE IF EXISTS {role}; COMMIT"
        ),
        false => format!("DROP ROLE IF EXISTS {role}"),
    }
}

fn copy_of(name: &str) -> String {
    format!("{name}_copy")
}

fn comment(token: &str) -> String {
    format!("{MARK}: run {token}")
}

/// Where a server is, as the registry has it.
fn place(server: &Settings) -> String {
    match &server.place {
        Place::Tcp(host, port) => format!("{}@{host}:{port}", server.user),
        Place::Unix(directory, port) => format!("{}@{}:{port}", server.user, directory.display()),
    }
}

fn is_true(row: &Row, at: usize) -> bool {
    row.get(at).and_then(Option::as_deref) == Some("t")
}

/// Whether the host is a name or address that this machine can resolve.
fn is_address(settings: &Settings) -> bool {
    match &settings.place {
        Place::Tcp(host, port) => (host.as_str(), *port).to_socket_addrs().is_ok(),
        Place::Unix(..) => true,
    }
}

/// A session, or why there is none; `first` says that there was none before.
fn connect(settings: &Settings, first: bool) -> Result<Connection, Trouble> {
    /// There is no database of this name.
    const NO_SUCH_DATABASE: &str = "3D000";
    let refused = |error: std::io::Error| {
        let sentence = format!("cannot connect to {settings}: {error}");
        let missing = [ErrorKind::ConnectionRefused, ErrorKind::NotFound].contains(&error.kind());
        match Complaint::of(&error) {
            None if error.kind() == ErrorKind::Interrupted => Trouble::Interrupted,
            Some(complaint) if !complaint.is_fault() => Trouble::Usage(sentence),
            // Nobody was ever there: the URL is wrong, or the server is not started.
            None if first && (missing || !is_address(settings)) => Trouble::Usage(sentence),
            _ => Trouble::Fault(sentence),
        }
    };
    match Connection::open(settings) {
        // Who names no database means the server; everybody has one called postgres.
        Err(error)
            if settings.database == settings.user
                && Complaint::of(&error).is_some_and(|complaint| complaint.sqlstate == NO_SUCH_DATABASE) =>
        {
            Connection::open(&settings.with_database("postgres")).map_err(|_| refused(error))
        }
        connection => connection.map_err(refused),
    }
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

/// Drops the databases and roles of runs that are over. What cannot be dropped now is left to the next run.
fn sweep(keeper: &mut Connection) -> Result<(), Trouble> {
    for entry in Entry::abandoned(&place(keeper.settings())) {
        let names = [copy_of(&entry.name), entry.name.clone()];
        let mut gone = is_generated(&entry.name) && !is_at_work(keeper, &entry.name)?;
        if gone {
            end_sessions(keeper, &entry.name)?;
        }
        for name in &names {
            gone = gone && dropped(keeper, name, &entry)?;
        }
        let role = literal(&entry.name);
        let there = keeper.execute(&format!("SELECT 't' FROM pg_catalog.pg_roles WHERE rolname = {role}"))?;
        if gone && there.iter().any(|response| !response.rows().is_empty()) {
            let grants = keeper.execute(
                "SELECT to_regclass('pg_catalog.pg_parameter_acl') IS NOT NULL AND rolsuper \
                FROM pg_catalog.pg_roles WHERE rolname = current_user",
            )?;
            let grants = grants.iter().flat_map(Response::rows).any(|row| is_true(row, 0));
            let done = keeper.query(&drop_role(&entry.name, grants))?;
            gone = !done.iter().any(Response::is_error);
            if !gone {
                keeper.query("ROLLBACK")?;
            }
        }
        if gone {
            entry.strike();
        }
    }
    Ok(())
}

/// Ends the sessions of the role of a run that is over: they may sleep, and nobody hears them. They are given a moment.
fn end_sessions(keeper: &mut Connection, role: &str) -> Result<(), Trouble> {
    const LOOKS: usize = 25;
    let end = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE usename = {} AND usename <> current_user",
        literal(role)
    );
    for _ in 0..LOOKS {
        let found = keeper.query(&end)?;
        if found.iter().all(|response| response.rows().is_empty()) {
            break;
        }
        std::thread::sleep(SLICE);
    }
    Ok(())
}

/// Whether the keeper of a run that is over has a session still: what it was told last is not done yet.
fn is_at_work(keeper: &mut Connection, run: &str) -> Result<bool, Trouble> {
    let found = keeper.execute(&format!(
        "SELECT FROM pg_catalog.pg_stat_activity WHERE application_name = {} AND usename = current_user",
        literal(run)
    ))?;
    Ok(found.iter().any(|response| !response.rows().is_empty()))
}

/// Drops a database of a run that is over, if it is that; whether there is none any more.
fn dropped(keeper: &mut Connection, name: &str, entry: &Entry) -> Result<bool, Trouble> {
    let found = keeper.execute(&format!(
        "SELECT pg_get_userbyid(datdba) IN (current_user, {}) AND coalesce(shobj_description(oid, 'pg_database') = {}, true) \
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity a WHERE a.datid = d.oid) \
         FROM pg_catalog.pg_database d WHERE datname = {}",
        literal(&entry.name),
        literal(&comment(&entry.token)),
        literal(name)
    ))?;
    match found.iter().flat_map(Response::rows).next() {
        None => Ok(true),
        Some(row) if is_true(row, 0) => {
            let done = keeper.query(&format!("DROP DATABASE IF EXISTS {}", identifier(name)))?;
            Ok(!done.iter().any(Response::is_error))
        }
        Some(_) => Ok(false),
    }
}
