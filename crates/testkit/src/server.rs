//! A real PostgreSQL, driven step by step.
//!
//! One connection per session, and one for control. The question is how to know that a session *waits*, soon and
//! without doubt. The server tells: with `log_lock_waits` and a `deadlock_timeout` of a millisecond, a session
//! that has waited that long looks for a deadlock, once, and then reports `still waiting for ...` to its own client
//! (`client_min_messages` lets the line through). On waking it reports `acquired ...`. So
//!
//! - a session waits if the last it said about locks is "still waiting"; and it has then looked for deadlocks already,
//!   which is why the victim of a deadlock is always the session that closes the cycle;
//! - after others have acted, `pg_blocking_pids` says whether it has been woken and has not yet told.
//!
//! All is at rest when every session is idle or has said that it waits, `pg_blocking_pids` agrees, and a last look at
//! all connections finds nothing new.
//!
//! Tables are scanned in the order of the heap (index scans are disabled), so that statements over several rows lock
//! them in a known order: the order in which the current versions were written.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cluster::{Cluster, version_of};
use crate::mirror::{Driver, SetupFailure, setup_one_by_one};
use crate::program::Response;
use crate::version::Version;
use isolde_wire::{Answer, Connection, Message, TransactionStatus};

/// A database of a [`Cluster`], emptied before each program.
#[derive(Debug)]
pub struct Server {
    cluster: Arc<Cluster>,
    database: String,
    version: Version,
    control: Connection,
    sessions: Vec<Session>,
    /// Something may be left behind outside of the schema `public`.
    untidy: bool,
    /// How many programs have been run: the catalogs are full of what they dropped.
    resets: usize,
}

#[derive(Debug)]
struct Session {
    connection: Connection,
    state: State,
}

#[derive(Debug)]
enum State {
    Idle,
    /// A statement is under way; `waits` is what the session last said about locks.
    Busy {
        answer: Answer,
        waits: bool,
    },
}

const SESSION_OPTIONS: &str = "-c deadlock_timeout=1ms -c log_lock_waits=on -c client_min_messages=log \
    -c enable_indexscan=off -c enable_indexonlyscan=off -c enable_bitmapscan=off -c max_parallel_workers_per_gather=0";

/// Statements whose effects are not gone with the schema `public`.
const UNTIDY: &[&str] = &["SCHEMA", "PREPARE TRANSACTION"];

/// Catalogs, and what each session remembers of them, grow with what is dropped, and slow down everything: now and then
/// a new database is cheaper.
const RESETS_PER_DATABASE: usize = 300;

/// How long to listen to one session before looking at the others.
const PATIENCE: Duration = Duration::from_millis(5);

/// A step that takes longer than this is a bug, in the program or here.
const STEP_TIME_MAX: Duration = Duration::from_secs(60);

impl Server {
    /// A fresh database on the shared cluster.
    ///
    /// # Panics
    /// If no server can be started.
    pub fn new() -> Server {
        Server::on(Cluster::shared().clone()).unwrap_or_else(|error| panic!("cannot open a test database: {error}"))
    }

    /// A fresh database on this cluster.
    pub fn on(cluster: Arc<Cluster>) -> io::Result<Server> {
        let database = cluster.create_database()?;
        let control = cluster.connect(&database, "")?;
        let version = version_of(&control)?;
        Ok(Server { cluster, database, version, control, sessions: Vec::new(), untidy: true, resets: 0 })
    }

    /// The control connection, for looking at the database from outside.
    pub fn control(&mut self) -> &mut Connection {
        &mut self.control
    }

    /// Ends every transaction, so that no session waits or holds a lock.
    fn finish_all(&mut self) -> io::Result<()> {
        if self.untidy {
            self.finish_prepared()?;
        }
        loop {
            let open = self
                .sessions
                .iter()
                .position(|session| session.is_idle() && session.connection.status() != TransactionStatus::Idle);
            if let Some(session) = open {
                self.sessions[session].submit("ROLLBACK")?;
                self.come_to_rest()?;
            } else if self.sessions.iter().all(Session::is_idle) {
                return Ok(());
            } else {
                self.release_advisory_locks()?;
                // If there was nobody to release any, all of them waited for what was prepared, and have been answered.
                self.come_to_rest()?;
            }
        }
    }

    /// A session that waits while no transaction is open waits for what a session holds by itself.
    fn release_advisory_locks(&mut self) -> io::Result<()> {
        for session in 0..self.sessions.len() {
            if self.sessions[session].is_idle() {
                self.sessions[session].submit("SELECT pg_advisory_unlock_all()")?;
                self.come_to_rest()?;
            }
        }
        Ok(())
    }

    /// Rolls back what is prepared: it belongs to no session any more.
    fn finish_prepared(&mut self) -> io::Result<()> {
        for gid in self.names("SELECT quote_literal(gid) FROM pg_prepared_xacts WHERE database = current_database()")? {
            self.control.execute(&format!("ROLLBACK PREPARED {gid}"))?;
        }
        Ok(())
    }

    /// The first column of a query.
    fn names(&mut self, query: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for response in self.control.query(query)? {
            names.extend(response.rows().iter().filter_map(|row| row.first().cloned().flatten()));
        }
        Ok(names)
    }

    /// What makes the database empty.
    fn clean_up(&mut self) -> io::Result<String> {
        self.resets += 1;
        if self.resets.is_multiple_of(RESETS_PER_DATABASE) {
            self.move_on()?;
        }
        self.control.execute("DISCARD ALL")?;
        let mut schemas = vec!["public".to_string()];
        if self.untidy {
            self.untidy = false;
            let others = "SELECT quote_ident(nspname) FROM pg_namespace \
                WHERE nspname NOT LIKE 'pg\\_%' AND nspname NOT IN ('public', 'information_schema')";
            schemas.extend(self.names(others)?);
        }
        Ok(format!("DROP SCHEMA IF EXISTS {} CASCADE; CREATE SCHEMA public", schemas.join(", ")))
    }

    /// Leaves the database for a fresh one.
    fn move_on(&mut self) -> io::Result<()> {
        let database = self.cluster.create_database()?;
        self.sessions.clear();
        self.control = self.cluster.connect(&database, "")?;
        self.cluster.drop_database(&self.database)?;
        self.database = database;
        Ok(())
    }

    /// Sessions like new ones, this many.
    fn open_sessions(&mut self, count: usize) -> io::Result<()> {
        self.sessions.iter_mut().try_for_each(|session| session.submit("DISCARD ALL"))?;
        self.come_to_rest()?;
        while self.sessions.len() < count {
            let connection = self.cluster.connect(&self.database, SESSION_OPTIONS)?;
            self.sessions.push(Session { connection, state: State::Idle });
        }
        Ok(())
    }

    fn remember(&mut self, statement: &str) {
        let statement = statement.to_ascii_uppercase();
        self.untidy |= UNTIDY.iter().any(|words| statement.contains(words));
    }

    fn come_to_rest(&mut self) -> io::Result<Vec<(usize, Vec<Response>)>> {
        let deadline = Instant::now() + STEP_TIME_MAX;
        let mut answers = Vec::new();
        while Instant::now() < deadline {
            if let Some(running) = self.sessions.iter().position(Session::is_running) {
                self.sessions[running].listen(running, PATIENCE, &mut answers)?;
                self.listen(&mut answers)?;
            } else {
                let at_rest = self.all_waiting_are_blocked()?;
                if !self.listen(&mut answers)? && at_rest {
                    return Ok(answers);
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "a statement neither finished nor waited for a lock"))
    }

    /// Takes in what the busy sessions have said; was there anything?
    fn listen(&mut self, answers: &mut Vec<(usize, Vec<Response>)>) -> io::Result<bool> {
        let mut heard = false;
        for (index, session) in self.sessions.iter_mut().enumerate().filter(|(_, session)| !session.is_idle()) {
            heard |= session.listen(index, Duration::ZERO, answers)?;
        }
        Ok(heard)
    }

    fn all_waiting_are_blocked(&mut self) -> io::Result<bool> {
        let busy: Vec<String> = self.sessions.iter().filter(|session| !session.is_idle()).map(Session::pid).collect();
        if busy.is_empty() {
            return Ok(true);
        }
        let blocked = "SELECT bool_and(cardinality(pg_blocking_pids(pid)) > 0) FROM unnest(ARRAY[";
        let responses = self.control.query(&format!("{blocked}{}]) AS pid", busy.join(", ")))?;
        Ok(matches!(responses.as_slice(), [response] if response.rows() == [[Some("t".to_string())]]))
    }
}

impl Default for Server {
    fn default() -> Server {
        Server::new()
    }
}

impl Driver for Server {
    fn reset(&mut self, sessions: usize) {
        self.finish_all()
            .and_then(|()| self.clean_up())
            .and_then(|clean| self.control.execute(&clean))
            .and_then(|_| self.open_sessions(sessions))
            .unwrap_or_else(|error| panic!("the test database cannot be reset: {error}"));
    }

    fn setup(&mut self, statement: &str) -> Vec<Response> {
        self.remember(statement);
        let responses = self.control.query(statement).unwrap_or_else(|error| panic!("lost the server: {error}"));
        responses.into_iter().map(Response::from).collect()
    }

    /// All in one query string, which is one transaction and one round trip. What cannot be done so is done one by one.
    fn reset_and_setup(&mut self, sessions: usize, statements: &[String]) -> Result<(), SetupFailure> {
        let all = self.finish_all().and_then(|()| self.clean_up()).and_then(|clean| {
            statements.iter().for_each(|statement| self.remember(statement));
            self.open_sessions(sessions)?;
            self.control.query(&format!("{clean};\n{}", statements.join(";\n")))
        });
        let all = all.unwrap_or_else(|error| panic!("the test database cannot be reset: {error}"));
        if all.iter().any(isolde_wire::Response::is_error) {
            setup_one_by_one(self, sessions, statements)
        } else {
            Ok(())
        }
    }

    fn submit(&mut self, session: usize, statement: &str) {
        self.remember(statement);
        self.sessions[session].submit(statement).unwrap_or_else(|error| panic!("lost the server: {error}"));
    }

    fn version(&self) -> Option<Version> {
        Some(self.version)
    }

    fn settle(&mut self) -> Vec<(usize, Vec<Response>)> {
        self.come_to_rest().unwrap_or_else(|error| panic!("the server does not come to rest: {error}"))
    }
}

impl Session {
    fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    fn is_running(&self) -> bool {
        matches!(self.state, State::Busy { waits: false, .. })
    }

    fn pid(&self) -> String {
        self.connection.pid().to_string()
    }

    fn submit(&mut self, statement: &str) -> io::Result<()> {
        assert!(self.is_idle(), "a session sends one statement at a time");
        self.state = State::Busy { answer: Answer::default(), waits: false };
        self.connection.send(statement)
    }

    /// Takes in what the server has said; was there anything?
    fn listen(
        &mut self,
        index: usize,
        patience: Duration,
        answers: &mut Vec<(usize, Vec<Response>)>,
    ) -> io::Result<bool> {
        let mut heard = false;
        while let Some(message) = self.connection.receive(if heard { Some(Duration::ZERO) } else { Some(patience) })? {
            heard = true;
            let State::Busy { answer, waits } = &mut self.state else { continue };
            if let Message::Notice(report) = &message {
                *waits = says_it_waits(&report.message).unwrap_or(*waits);
            }
            if let Some(responses) = answer.push(message) {
                answers.push((index, responses.into_iter().map(Response::from).collect()));
                self.state = State::Idle;
            }
        }
        Ok(heard)
    }
}

/// What a line of `log_lock_waits` says: the session waits, or waits no longer.
fn says_it_waits(line: &str) -> Option<bool> {
    let of_lock_waits = line.starts_with("process ") && line.ends_with(" ms");
    let waits = [(" still waiting for ", true), (" acquired ", false), (" failed to acquire ", false)];
    waits.iter().find(|(words, _)| of_lock_waits && line.contains(words)).map(|(_, waits)| *waits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_lines_are_understood() {
        let line = |words| format!("process 7 {words} ShareLock on transaction 9 after 1.2 ms");
        assert_eq!(says_it_waits(&line("still waiting for")), Some(true));
        assert_eq!(says_it_waits(&line("acquired")), Some(false));
        assert_eq!(says_it_waits("you have acquired 3 ms"), None);
    }
}
