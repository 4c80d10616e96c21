//! Solvers: programs found at run time, spoken to over a pipe.
//!
//! A solver may be missing, crash, think for ever or not know. None of these is an answer; each is a [`Silence`] with a
//! sentence that says what happened. The process is killed when its time is over or when nobody listens any more.
//!
//! To start a program takes longer than most questions. So one that has answered forgets everything (`reset`) and waits
//! for the next question, as long as its [`Solver`] is there.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::script::Script;
use crate::sexp::{Sexp, depth};
use crate::stop::Stop;
use crate::term::{self, Term};

/// How a solver can be had.
pub const INSTALL: &str = "install z3 (Debian and Ubuntu: apt install z3; macOS: brew install z3; or pip install z3-solver), or \
                           set ISOLDE_SOLVER to the program to use";

/// A program that answers scripts. Clones share its processes.
#[derive(Clone, Debug)]
pub struct Solver {
    /// The program.
    pub program: PathBuf,
    /// Processes that have answered and forgotten, and can be asked again.
    idle: Arc<Mutex<Vec<Session>>>,
    /// Who may end all questions.
    stop: Stop,
}

/// A script can be met, or it cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Something meets it.
    Sat,
    /// Nothing does.
    Unsat,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// There is no solver.
    Missing(String),
    /// It does not know.
    Unknown,
    /// It took too long and was stopped.
    Timeout(Duration),
    /// It was stopped from outside, for this reason, as all others are.
    Stopped(String),
    /// It ended, or said something that is no answer.
    Crash(String),
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Silence::Missing(what) => write!(f, "there is no solver: {what}; {INSTALL}"),
            Silence::Unknown => f.write_str("the solver does not know"),
            Silence::Timeout(after) => write!(f, "the solver was stopped after {} s", after.as_secs_f64()),
            Silence::Stopped(why) => f.write_str(why),
            Silence::Crash(what) => write!(f, "the solver failed: {what}"),
        }
    }
}

/// Programs that are looked for, best first.
const KNOWN: &[&str] = &["z3", "cvc5"];

/// Starts a program. One that has only just been written may still be open for that in a process that is itself being
/// started.
fn spawned(command: &mut Command) -> std::io::Result<Child> {
    for _ in 0..20 {
        match command.spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(5));
            }
            started => return started,
        }
    }
    command.spawn()
}

impl Solver {
    /// This program, whatever it is.
    pub fn new(program: impl Into<PathBuf>) -> Solver {
        Solver { program: program.into(), idle: Arc::default(), stop: Stop::default() }
    }

    /// The same, listening: once there is a reason to stop, every question ends with [`Silence::Stopped`].
    pub fn listening(self, stop: Stop) -> Solver {
        Solver { stop, ..self }
    }

    /// The solver that `ISOLDE_SOLVER` names (`chosen`), or the first of those known on the search path.
    pub fn find(chosen: Option<&str>, path: Option<&std::ffi::OsStr>) -> Result<Solver, Silence> {
        let folders: Vec<PathBuf> = path.map(|p| std::env::split_paths(p).collect()).unwrap_or_default();
        let on_path = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
        if let Some(name) = chosen.filter(|name| !name.is_empty()) {
            let found =
                if name.contains('/') { Some(PathBuf::from(name)).filter(|p| p.is_file()) } else { on_path(name) };
            let missing = || Silence::Missing(format!("it was to be {name}, which is not there"));
            return found.map(Solver::new).ok_or_else(missing);
        }
        let found = KNOWN.iter().find_map(|name| on_path(name));
        found.map(Solver::new).ok_or_else(|| Silence::Missing("neither z3 nor cvc5 was found".into()))
    }

    /// [`Solver::find`] in the environment of this process.
    pub fn from_environment() -> Result<Solver, Silence> {
        Solver::find(std::env::var("ISOLDE_SOLVER").ok().as_deref(), std::env::var_os("PATH").as_deref())
    }

    /// Whether anything meets a script, of whatever size.
    pub fn ask(&self, script: &Script, timeout: Duration) -> Result<Answer, Silence> {
        let text = script.to_string();
        self.with_session(|session| {
            session.tell(&text);
            session.check(timeout)
        })
    }

    /// Whether it answers at all: it is asked whether what is false can be true.
    pub fn probe(&self, timeout: Duration) -> Result<(), Silence> {
        let mut script = Script::default();
        script.assert(Term::False, "");
        match self.ask(&script, timeout)? {
            Answer::Unsat => Ok(()),
            Answer::Sat => Err(Silence::Crash("it takes what is false for true".into())),
        }
    }

    /// Talks to a process that knows nothing yet: one that has been asked before, or a new one.
    pub fn with_session<T>(&self, talk: impl Fn(&mut Session) -> Result<T, Silence>) -> Result<T, Silence> {
        let waiting = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        if let Some(mut session) = waiting {
            match talk(&mut session) {
                // It may have ended while nobody spoke to it.
                Err(Silence::Crash(_)) => {}
                answer => return self.keep(session, answer),
            }
        }
        let mut session = self.start()?;
        let answer = talk(&mut session);
        self.keep(session, answer)
    }

    /// Keeps a process for the next question, unless it is still at work on this one or gone.
    fn keep<T>(&self, mut session: Session, answer: Result<T, Silence>) -> Result<T, Silence> {
        if !session.is_lost
            && let Ok(mut idle) = self.idle.lock()
        {
            session.tell("(reset)\n");
            session.tell(&greeting("ALL"));
            idle.push(session);
        }
        answer
    }

    /// Starts the program.
    pub fn start(&self) -> Result<Session, Silence> {
        self.start_for("ALL")
    }

    /// Starts the program for questions of a logic that SMT-LIB names, or a solver does: `HORN`.
    pub fn start_for(&self, logic: &str) -> Result<Session, Silence> {
        let mut command = Command::new(&self.program);
        command.args(flags(&self.program)).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let missing = |error| Silence::Missing(format!("{} cannot be started: {error}", self.program.display()));
        let mut child = spawned(&mut command).map_err(missing)?;
        let (says, lines) = mpsc::channel();
        let (questions, hears) = mpsc::channel::<String>();
        if let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) {
            // A program that does not listen must not hold us up: its time is over when nothing comes back.
            std::thread::spawn(move || {
                let write = |text: String| stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush());
                hears.into_iter().try_for_each(write)
            });
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
                lines.all(|line| says.send(line).is_ok())
            });
        }
        let counts_steps = flags(&self.program) == Z3;
        let stop = self.stop.clone();
        let mut session = Session { child, questions, lines, is_lost: false, counts_steps, stop };
        session.tell(&greeting(logic));
        Ok(session)
    }
}

/// What every conversation begins with.
fn greeting(logic: &str) -> String {
    format!("(set-option :print-success false)\n(set-option :produce-models true)\n(set-logic {logic})\n")
}

/// While an answer is waited for: how often it is looked whether to stop.
const LISTEN_EVERY: Duration = Duration::from_millis(20);

/// How z3 is made to listen.
const Z3: &[&str] = &["-in", "-smt2"];

/// What z3 does in a second on an idle machine of today, in the steps that it counts.
const STEPS_PER_SECOND: u128 = 1_000_000;

/// A solver that counts its steps may take so many times as long as it was given: on a busy machine the steps decide,
/// not the clock.
const BUSY_MAX: u32 = 3;

fn flags(program: &Path) -> &'static [&'static str] {
    match program.file_name().and_then(|name| name.to_str()) {
        Some(name) if name.starts_with("z3") => Z3,
        Some(name) if name.starts_with("cvc5") => &["--lang=smt2", "--incremental"],
        _ => &[],
    }
}

/// A solver at work.
#[derive(Debug)]
pub struct Session {
    child: Child,
    questions: Sender<String>,
    lines: Receiver<String>,
    /// It did not answer when it should have, or not what it should have.
    is_lost: bool,
    /// It can be given a number of steps.
    counts_steps: bool,
    /// Who may end the question.
    stop: Stop,
}

impl Session {
    /// Tells it something that it does not answer.
    pub fn tell(&mut self, text: &str) {
        // If it is gone, that shows when an answer is read.
        let _ = self.questions.send(text.to_string());
    }

    /// Asks whether what it was told can be met. The time is counted in steps where the solver counts them, so that the
    /// answer does not depend on what else the machine does; the clock only stops one that hangs.
    pub fn check(&mut self, timeout: Duration) -> Result<Answer, Silence> {
        let patience = if self.counts_steps { timeout * BUSY_MAX } else { timeout };
        if self.counts_steps {
            let steps = (timeout.as_millis() * STEPS_PER_SECOND / 1000).clamp(1, u128::from(u32::MAX));
            self.tell(&format!("(set-option :rlimit {steps})\n"));
        }
        self.tell("(check-sat)\n");
        let deadline = Instant::now() + patience;
        match self.line(deadline, timeout)?.trim() {
            "sat" => Ok(Answer::Sat),
            "unsat" => Ok(Answer::Unsat),
            "unknown" if self.counts_steps => {
                let why = self.answer("(get-info :reason-unknown)", timeout)?.to_string();
                let spent = why.contains("resource limit") || why.contains("canceled");
                Err(if spent { Silence::Timeout(timeout) } else { Silence::Unknown })
            }
            "unknown" => Err(Silence::Unknown),
            other => {
                self.is_lost = true;
                Err(Silence::Crash(other.to_string()))
            }
        }
    }

    /// After "sat": the truth values of these constants.
    pub fn truths(&mut self, names: &[String], timeout: Duration) -> Result<Vec<bool>, Silence> {
        let deadline = Instant::now() + timeout;
        let mut truths = Vec::with_capacity(names.len());
        // In pieces: nobody promises to read a line of any length.
        for piece in names.chunks(200) {
            let terms: Vec<String> = piece.iter().map(|name| term::quoted(name)).collect();
            self.tell(&format!("(get-value ({}))\n", terms.join(" ")));
            let mut text = String::new();
            while text.is_empty() || depth(&text) > 0 {
                text.push_str(&self.line(deadline, timeout)?);
                text.push('\n');
            }
            let values = words(&text).into_iter().filter(|word| matches!(*word, "true" | "false"));
            let values: Vec<bool> = values.map(|word| word == "true").collect();
            if values.len() != piece.len() {
                self.is_lost = true;
                return Err(Silence::Crash(text.trim().to_string()));
            }
            truths.extend(values);
        }
        Ok(truths)
    }

    /// After "sat": what these terms are, in order.
    pub fn values(&mut self, terms: &[Term], timeout: Duration) -> Result<Vec<Sexp>, Silence> {
        let mut values = Vec::with_capacity(terms.len());
        // In pieces: nobody promises to read a line of any length.
        for piece in terms.chunks(100) {
            let texts: Vec<String> = piece.iter().map(Term::to_string).collect();
            let answer = self.answer(&format!("(get-value ({}))", texts.join(" ")), timeout)?;
            let pairs = answer.parts();
            if pairs.len() != piece.len() || pairs.iter().any(|pair| pair.parts().len() != 2) {
                return Err(Silence::Crash(answer.to_string()));
            }
            values.extend(pairs.iter().filter_map(|pair| pair.parts().get(1)).cloned());
        }
        Ok(values)
    }

    /// Gives a command, and reads the one thing that it answers.
    pub fn answer(&mut self, command: &str, timeout: Duration) -> Result<Sexp, Silence> {
        self.tell(&format!("{command}\n"));
        let deadline = Instant::now() + timeout;
        let mut text = String::new();
        while text.trim().is_empty() || depth(&text) > 0 {
            text.push_str(&self.line(deadline, timeout)?);
            text.push('\n');
        }
        let answer = Sexp::read(&text).into_iter().next();
        match answer {
            Some(Sexp::List(parts)) if parts.first().and_then(Sexp::atom) == Some("error") => {
                Err(Silence::Crash(text.trim().to_string()))
            }
            answer => answer.ok_or_else(|| Silence::Crash(text.trim().to_string())),
        }
    }

    fn line(&mut self, deadline: Instant, timeout: Duration) -> Result<String, Silence> {
        loop {
            if let Some(why) = self.stop.reason() {
                self.is_lost = true;
                return Err(Silence::Stopped(why.to_string()));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left.min(LISTEN_EVERY)) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Timeout) if left > LISTEN_EVERY => {}
                Err(silence) => {
                    self.is_lost = true;
                    return Err(match silence {
                        RecvTimeoutError::Timeout => Silence::Timeout(timeout),
                        RecvTimeoutError::Disconnected => ended(),
                    });
                }
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ended() -> Silence {
    Silence::Crash("it ended without an answer".into())
}

/// What stands between parentheses and spaces; `|names|` are one word.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace() && c != '(' && c != ')') {
        rest = &rest[start..];
        let end = match rest.strip_prefix('|') {
            Some(inner) => inner.find('|').map(|at| at + 2),
            None => rest.find(|c: char| c.is_whitespace() || c == '(' || c == ')'),
        };
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        found.push(word);
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_an_answer() {
        assert_eq!(words("((a true)\n (|b c (| false))"), ["a", "true", "|b c (|", "false"]);
    }
}
