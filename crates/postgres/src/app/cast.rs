//! The cast: the threads and servers of an application as processes and requests, and how each of them ended.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use isolde_scenario::{Completed, Reaction};
use isolde_sql::SqlError;
use isolde_wire::secret::{self, Verifier};
use isolde_wire::{Complaint, Settings};
use regex_automata::meta::Regex;

use super::conductor::Event;
use super::file::{Action, AppFile, Request, ServerPlan, ThreadPlan};
use super::http::{self, Reply};
use super::normal::masked;
use super::process::{self, Environment, Exited, Process};
use crate::Trouble;
use crate::fault::fault;
use crate::live::{Ending, sql_error};
use crate::proxy::Door;

/// Everybody who takes part.
pub(super) struct Cast {
    actors: Vec<Actor>,
    servers: Vec<Server>,
    /// By which servers and the set-up come in.
    house_door: Door,
    /// What everybody who comes in has to know: given to processes in their environment, and to nobody else.
    password: String,
    events: Sender<Event>,
    directory: PathBuf,
    masks: Vec<Regex>,
    /// Processes and requests are told apart by number.
    jobs: u64,
    /// Why a connection was last refused.
    refusal: Option<String>,
    /// Something around the check has failed: no ending of a thread says anything.
    fault: Option<Trouble>,
    /// The set-up or reset command that runs, and what came of it.
    errand: Option<(u64, Process, Option<std::process::ExitStatus>)>,
}

/// A thread.
struct Actor {
    plan: ThreadPlan,
    /// Its own, if it is a command.
    door: Option<Door>,
    life: Life,
    process: Option<Process>,
    job: u64,
    retries_left: u32,
    /// What it showed to its user.
    shown: Vec<String>,
    /// The last error that the database gave it.
    last_error: Option<Complaint>,
    /// It says several things at once.
    parallel: bool,
    /// It was begun anew, and that has not been told.
    again: Option<Reaction>,
}

enum Life {
    /// Its request has not been sent.
    Unsent,
    Running,
    Ended(Ending),
}

struct Server {
    plan: ServerPlan,
    port: u16,
    process: Option<Process>,
    job: u64,
    /// Threads send requests to it, so it must listen.
    is_asked: bool,
    /// Asks whether it is ready. It may have to ask its database before it can answer, so nobody waits for this.
    asking: Option<JoinHandle<bool>>,
}

/// What the shell exits with when there is no such program, or it may not be run.
const NOT_STARTED: &[u16] = &[126, 127];

impl Cast {
    /// Everybody, not started yet; doors lead to what `settings` describe.
    pub(super) fn new(
        file: &AppFile,
        directory: PathBuf,
        settings: &Settings,
        events: Sender<Event>,
    ) -> Result<Cast, Trouble> {
        let password = secret::token()?;
        let verifier = Verifier::new(&password)?;
        let actor = |plan: &ThreadPlan| {
            let door = match plan.action {
                Action::Command(_) => Some(Door::open(settings, &verifier, &events)?),
                Action::Request(_) => None,
            };
            Ok(Actor {
                plan: plan.clone(),
                door,
                life: Life::Unsent,
                process: None,
                job: 0,
                retries_left: plan.retries,
                shown: Vec::new(),
                last_error: None,
                parallel: false,
                again: None,
            })
        };
        let actors = file.threads.iter().map(actor).collect::<std::io::Result<_>>()?;
        let server = |(at, plan): (usize, &ServerPlan)| {
            let (port, is_asked) = (free_port()?, file.asks(at));
            Ok(Server { plan: plan.clone(), port, process: None, job: 0, is_asked, asking: None })
        };
        Ok(Cast {
            actors,
            servers: file.servers.iter().enumerate().map(server).collect::<std::io::Result<_>>()?,
            house_door: Door::open(settings, &verifier, &events)?,
            password,
            events,
            directory,
            masks: file.masks.clone(),
            jobs: 0,
            refusal: None,
            fault: None,
            errand: None,
        })
    }

    /// From now on the doors lead to what these settings describe.
    pub(super) fn lead_to(&self, settings: &Settings) {
        self.actors.iter().filter_map(|actor| actor.door.as_ref()).for_each(|door| door.lead_to(settings));
        self.house_door.lead_to(settings);
    }

    /// How many threads there are.
    pub(super) fn len(&self) -> usize {
        self.actors.len()
    }

    /// What a thread is called.
    pub(super) fn name(&self, thread: usize) -> String {
        self.actors.get(thread).map(|actor| actor.plan.name.clone()).unwrap_or_default()
    }

    /// The thread whose door has this port.
    pub(super) fn behind_door(&self, port: u16) -> Option<usize> {
        self.actors.iter().position(|actor| actor.door.as_ref().is_some_and(|door| door.port() == port))
    }

    /// Whether a thread has ended.
    pub(super) fn has_ended(&self, thread: usize) -> bool {
        self.ending(thread).is_some()
    }

    /// How a thread has ended.
    pub(super) fn ending(&self, thread: usize) -> Option<&Ending> {
        match &self.actors.get(thread)?.life {
            Life::Ended(ending) => Some(ending),
            _ => None,
        }
    }

    /// How often a thread is begun anew when it is aborted.
    pub(super) fn retries(&self, thread: usize) -> u32 {
        self.actors.get(thread).map_or(0, |actor| actor.plan.retries)
    }

    /// The request that a thread has not sent yet.
    pub(super) fn unsent(&self, thread: usize) -> Option<&Request> {
        let actor = self.actors.get(thread)?;
        match (&actor.life, &actor.plan.action) {
            (Life::Unsent, Action::Request(request)) => Some(request),
            _ => None,
        }
    }

    /// What a thread showed to its user.
    pub(super) fn shown(&self, thread: usize) -> Vec<String> {
        self.actors.get(thread).map(|actor| actor.shown.clone()).unwrap_or_default()
    }

    /// What is to be told about a thread that was begun anew.
    pub(super) fn take_again(&mut self, thread: usize) -> Option<Reaction> {
        self.actors.get_mut(thread)?.again.take()
    }

    pub(super) fn note_refusal(&mut self, reason: String, fault: bool) {
        if fault {
            self.fault = Some(Trouble::Fault(format!("the server refuses a connection: {reason}")));
        }
        self.refusal = Some(reason);
    }

    pub(super) fn note_fault(&mut self, why: String) {
        self.fault.get_or_insert(Trouble::Fault(why));
    }

    /// Why nothing can be concluded any more, if that is so.
    pub(super) fn fault(&mut self) -> Result<(), Trouble> {
        self.fault.take().map_or(Ok(()), Err)
    }

    pub(super) fn note_error(&mut self, thread: usize, error: Complaint) {
        self.fault = self.fault.take().or_else(|| fault(&self.name(thread), &error));
        if let Some(actor) = self.actors.get_mut(thread) {
            actor.last_error = Some(error);
        }
    }

    pub(super) fn note_parallel(&mut self, thread: usize, parallel: bool) {
        if let Some(actor) = self.actors.get_mut(thread) {
            actor.parallel |= parallel;
        }
    }

    /// Whether a thread has been seen to say several things at once.
    pub(super) fn is_parallel(&self, thread: usize) -> bool {
        self.actors.get(thread).is_some_and(|actor| actor.parallel)
    }

    /// Why a thread that says nothing may say nothing.
    pub(super) fn idle(&self, thread: usize, seconds: f64) -> String {
        let mut sentence = format!("it has neither sent a statement nor ended for {seconds} s");
        if let Some(refusal) = &self.refusal {
            sentence += &format!("; the server has refused a connection: {refusal}");
        } else if self.actors.get(thread).is_some_and(|actor| actor.door.is_none()) {
            sentence += "; perhaps all connections or workers of the server are taken by other threads: it needs as many as there are threads";
        }
        let printed = self.actors.get(thread).and_then(|actor| last_line(&actor.process.as_ref()?.errors()));
        printed.map_or(sentence.clone(), |line| format!("{sentence}; it last printed: {line}"))
    }

    /// Everybody is as before the start; processes of threads are ended.
    pub(super) fn clear(&mut self) {
        for actor in &mut self.actors {
            (actor.process, actor.life, actor.job) = (None, Life::Unsent, 0);
            (actor.retries_left, actor.last_error, actor.again) = (actor.plan.retries, None, None);
            actor.shown.clear();
        }
        self.refusal = None;
    }

    /// Ends the processes of threads, and nothing else.
    pub(super) fn end_commands(&mut self) {
        self.actors.iter_mut().for_each(|actor| actor.process = None);
    }

    /// Whether a request has been sent and is not answered.
    pub(super) fn has_request_under_way(&self) -> bool {
        let under_way = |actor: &Actor| matches!(actor.life, Life::Running) && actor.door.is_none();
        self.actors.iter().any(under_way)
    }

    /// Whether a thread is a command.
    pub(super) fn is_command(&self, thread: usize) -> bool {
        self.actors.get(thread).is_some_and(|actor| actor.door.is_some())
    }

    /// Starts a thread: its process, or its request.
    pub(super) fn begin(&mut self, thread: usize) -> Result<(), Trouble> {
        self.jobs += 1;
        let job = self.jobs;
        let urls: Vec<(String, u16)> = self.servers.iter().map(|s| (s.plan.name.clone(), s.port)).collect();
        let Some(actor) = self.actors.get_mut(thread) else { return Ok(()) };
        (actor.job, actor.life) = (job, Life::Running);
        match &actor.plan.action {
            Action::Command(command) => {
                let port = actor.door.as_ref().map_or(0, Door::port);
                let mut environment = environment(port, &self.password);
                environment.push(("ISOLDE_THREAD".into(), actor.plan.name.clone()));
                environment.extend(urls.first().map(|(_, port)| ("PORT".to_string(), port.to_string())));
                add(&mut environment, &actor.plan.env);
                actor.process = Some(Process::start(command, &self.directory, &environment, job, &self.events)?);
            }
            Action::Request(request) => {
                let (request, url) = (request.clone(), complete(&request.url, &urls));
                let events = self.events.clone();
                let send = move || {
                    let reply = http::send(&request, &url);
                    // Nobody may be left to hear of it.
                    let _ = events.send(Event::Replied(job, reply));
                };
                thread::Builder::new().spawn(send)?;
            }
        }
        Ok(())
    }

    /// A process has ended.
    pub(super) fn exited(&mut self, exited: &Exited) -> Result<(), Trouble> {
        if let Some((job, _, status)) = &mut self.errand
            && *job == exited.name
        {
            *status = Some(exited.status);
            return Ok(());
        }
        if let Some(server) = self.servers.iter().find(|server| server.job == exited.name && server.process.is_some()) {
            let errors = server.process.as_ref().map(Process::errors).unwrap_or_default();
            let sentence = format!("the server {} has ended: {}", server.plan.name, process::describe(exited.status));
            return Err(Trouble::Usage(with_tail(sentence, &errors)));
        }
        let Some(thread) = self.actors.iter().position(|actor| actor.job == exited.name && actor.process.is_some())
        else {
            return Ok(());
        };
        let actor = &mut self.actors[thread];
        let (output, errors) = actor.process.as_ref().map(|p| (p.output(), p.errors())).unwrap_or_default();
        actor.shown = output.lines().map(|line| masked(line, &self.masks)).collect();
        actor.shown.push(process::describe(exited.status));
        let code = exited.status.code().and_then(|code| u16::try_from(code).ok());
        let fine = code.is_some_and(|code| actor.plan.expect.as_ref().map_or(code == 0, |codes| codes.contains(&code)));
        let how = process::describe(exited.status);
        if !fine && code.is_some_and(|code| NOT_STARTED.contains(&code)) {
            let sentence = format!("the command of {} cannot be started: {how}", actor.plan.name);
            return Err(Trouble::Usage(with_tail(sentence, &errors)));
        }
        let ending = match fine {
            true => Ending::Done,
            false => actor.failure(last_line(&errors).map_or(how.clone(), |line| format!("{how}, {line}"))),
        };
        self.end(thread, ending)
    }

    /// A request was answered.
    pub(super) fn replied(&mut self, job: u64, reply: std::io::Result<Reply>) -> Result<(), Trouble> {
        let Some(thread) = self.actors.iter().position(|actor| actor.job == job && actor.door.is_none()) else {
            return Ok(());
        };
        let masks = &self.masks;
        let actor = &mut self.actors[thread];
        let ending = match reply {
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                return Err(Trouble::Usage(format!("the request of {} cannot be sent: {error}", actor.plan.name)));
            }
            Err(error) => actor.failure(format!("no answer: {error}")),
            Ok(Reply { status, body }) => {
                actor.shown = vec![format!("status {status}")];
                actor.shown.extend(body.lines().map(|line| masked(line, masks)));
                let listed = actor.plan.expect.as_ref().map(|statuses| statuses.contains(&status));
                match listed.unwrap_or(status < 500) {
                    true => Ending::Done,
                    false => {
                        let line = body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                        actor.failure(format!("status {status}, {}", line.chars().take(200).collect::<String>()))
                    }
                }
            }
        };
        self.end(thread, ending)
    }

    /// A thread has ended, unless it was aborted and tries again.
    fn end(&mut self, thread: usize, ending: Ending) -> Result<(), Trouble> {
        let actor = &mut self.actors[thread];
        match ending {
            Ending::Aborted(error, _) if actor.retries_left > 0 => {
                actor.retries_left -= 1;
                actor.again = Some(Reaction::Retried { error, left: actor.retries_left });
                actor.last_error = None;
                self.begin(thread)
            }
            ending => {
                actor.life = Life::Ended(ending);
                Ok(())
            }
        }
    }

    /// Starts the servers; they are ready when none is [`Cast::unready`].
    pub(super) fn start_servers(&mut self) -> Result<(), Trouble> {
        for server in &mut self.servers {
            self.jobs += 1;
            server.job = self.jobs;
            let mut environment = environment(self.house_door.port(), &self.password);
            environment.push(("PORT".into(), server.port.to_string()));
            add(&mut environment, &server.plan.env);
            let command = &server.plan.command;
            server.process = Some(Process::start(command, &self.directory, &environment, server.job, &self.events)?);
        }
        Ok(())
    }

    /// Ends the servers.
    pub(super) fn stop_servers(&mut self) {
        self.servers.iter_mut().for_each(|server| (server.process, server.job) = (None, 0));
    }

    /// A server that is not ready, in a sentence, with how long it may take.
    pub(super) fn unready(&mut self) -> Option<(String, Duration)> {
        let unready = self.servers.iter_mut().find_map(|server| (!server.is_ready()).then_some(&*server))?;
        let limit = Duration::try_from_secs_f64(unready.plan.timeout).unwrap_or(Duration::from_secs(30));
        let sentence = format!("the server {} is not ready after {} s", unready.plan.name, limit.as_secs_f64());
        let printed = unready.process.as_ref().map(|p| p.output() + &p.errors()).unwrap_or_default();
        Some((with_tail(sentence, &printed), limit))
    }

    /// Whether there are servers at all.
    pub(super) fn has_servers(&self) -> bool {
        !self.servers.is_empty()
    }

    /// Starts a command that is none of the threads.
    pub(super) fn run_errand(&mut self, command: &str) -> Result<(), Trouble> {
        self.jobs += 1;
        let environment = environment(self.house_door.port(), &self.password);
        let process = Process::start(command, &self.directory, &environment, self.jobs, &self.events)?;
        self.errand = Some((self.jobs, process, None));
        Ok(())
    }

    /// Whether that command has ended; a mistake if it failed.
    pub(super) fn errand_is_done(&mut self, command: &str) -> Result<bool, Trouble> {
        let Some((_, process, Some(status))) = &self.errand else { return Ok(self.errand.is_none()) };
        if !status.success() {
            let printed = process.errors();
            let printed = if printed.trim().is_empty() { process.output() } else { printed };
            return Err(Trouble::Usage(with_tail(
                format!("`{command}` fails: {}", process::describe(*status)),
                &printed,
            )));
        }
        self.errand = None;
        Ok(true)
    }
}

impl Actor {
    /// How it ends if that is a failure: as an abort, if the last that the database told it was one.
    fn failure(&self, how: String) -> Ending {
        match self.last_error.as_ref().map(sql_error).filter(SqlError::is_abort) {
            // What it has committed before is known to who has seen its statements.
            Some(abort) => Ending::Aborted(abort, Completed::Unknown),
            None => Ending::Program(how),
        }
    }
}

impl Server {
    fn is_ready(&mut self) -> bool {
        let Some(process) = &self.process else { return false };
        let port = self.port;
        match self.plan.ready.clone() {
            Some(path) if path.starts_with('/') => match self.asking.take() {
                Some(asking) if asking.is_finished() => asking.join().unwrap_or(false),
                Some(asking) => {
                    self.asking = Some(asking);
                    false
                }
                None => {
                    let request = Request { method: None, url: path.clone(), headers: Default::default(), body: None };
                    let ask = move || http::send(&request, &format!("http://127.0.0.1:{port}{path}")).is_ok();
                    self.asking = thread::Builder::new().spawn(ask).ok();
                    false
                }
            },
            Some(words) => process.output().contains(&words) || process.errors().contains(&words),
            None if self.is_asked => TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok(),
            None => true,
        }
    }
}

/// What commands find in their environment: the database behind a door.
fn environment(port: u16, password: &str) -> Environment {
    let mut all = vec![("DATABASE_URL".to_string(), format!("postgres://isolde:{password}@127.0.0.1:{port}/isolde"))];
    let port = port.to_string();
    let fixed = [
        ("PGHOST", "127.0.0.1"),
        ("PGPORT", &port),
        ("PGUSER", "isolde"),
        ("PGPASSWORD", password),
        ("PGDATABASE", "isolde"),
        ("PGSSLMODE", "disable"),
    ];
    all.extend(fixed.map(|(name, value)| (name.to_string(), value.to_string())));
    all
}

/// Adds variables, whose values may name those that are there: `$PGHOST` or `${PGHOST}`.
fn add(environment: &mut Environment, more: &BTreeMap<String, String>) {
    for (name, value) in more {
        let mut value = value.clone();
        // The longest first: $PORT is not the beginning of $PORTAL.
        let mut known: Vec<&(String, String)> = environment.iter().collect();
        known.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        for (known, its) in known {
            value = value.replace(&format!("${{{known}}}"), its).replace(&format!("${known}"), its);
        }
        environment.push((name.clone(), value));
    }
}

/// A URL with the ports of the servers.
fn complete(url: &str, servers: &[(String, u16)]) -> String {
    let first = servers.first().map_or(0, |(_, port)| *port);
    let mut url = url.replace("${PORT}", &first.to_string());
    for (name, port) in servers {
        url = url.replace(&format!("${{{name}.PORT}}"), &port.to_string());
    }
    if url.starts_with('/') { format!("http://127.0.0.1:{first}{url}") } else { url }
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn last_line(text: &str) -> Option<String> {
    text.lines().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_string())
}

/// A sentence with the last lines of what was printed.
fn with_tail(sentence: String, printed: &str) -> String {
    const LINES: usize = 12;
    let lines: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).collect();
    let tail: Vec<String> =
        lines.iter().skip(lines.len().saturating_sub(LINES)).map(|line| format!("\n  | {line}")).collect();
    sentence + &tail.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_may_name_others() {
        let mut all = environment(7000, "secret");
        let more = [("DSN".to_string(), "host=$PGHOST port=${PGPORT} $HOME".to_string())];
        add(&mut all, &more.into());
        assert_eq!(all.last().map(|(_, value)| value.as_str()), Some("host=127.0.0.1 port=7000 $HOME"));
    }

    #[test]
    fn urls_are_completed() {
        let servers = [("web".to_string(), 8000), ("api".to_string(), 9000)];
        assert_eq!(complete("/buy", &servers), "http://127.0.0.1:8000/buy");
        assert_eq!(complete("http://localhost:${api.PORT}/x", &servers), "http://localhost:9000/x");
    }
}
