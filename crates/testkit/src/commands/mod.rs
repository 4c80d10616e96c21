//! Whole commands on inputs that are nearly right.
//!
//! A seed chooses a kind of input (a scenario, a spec, procedures, a data model, a TLA+ module, an application), takes
//! one that is valid, generated or from this repository, [changes](mutate) a few of its statements, and runs the binary
//! on it as a user would, with flags of all sorts. What the answer says is not judged here; that there is one is:
//!
//! ```text
//!   seed ──▶ input ──mutate──▶ files in a directory ──▶ isolde explore x.sql --html ... ──▶ exit code 0 to 3,
//!                                                                                           no bug told of, in time,
//!                                                                                           within memory, outputs whole
//! ```
//!
//! `cargo run -p isolde-testkit --bin commands -- --runs 100000` does very many; `./test` a few.

mod input;
mod mutate;
mod outputs;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::generate::Dice;

pub use input::{Corpus, KINDS, Kind};

/// The limits that every command is given.
const TIME_MAX: &str = "2s";
const MEMORY_MAX: u64 = 600_000_000;
/// A command that is not over by then, on whatever machine, hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command with its input.
#[derive(Clone, Debug)]
pub struct Case {
    /// What makes it again.
    pub seed: u64,
    /// What kind of input it has.
    pub kind: &'static str,
    /// Files by name; the first is the one that the command is about.
    pub files: Vec<(String, String)>,
    /// What is typed behind `isolde`.
    pub arguments: Vec<String>,
}

/// A command that did not end as it should.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The command.
    pub case: Case,
    /// What is wrong.
    pub what: String,
    /// The end of what it printed.
    pub printed: String,
}

impl Case {
    /// The command of a seed.
    pub fn of(seed: u64, corpus: &Corpus) -> Case {
        let mut dice = Dice::new(seed);
        let kind = input::chosen(&mut dice);
        let (mut files, arguments) = (kind.make)(&mut dice, corpus, seed);
        // Most are changed, so that most are nearly right.
        if !dice.one_in(6)
            && let Some((_, text)) = files.first_mut()
        {
            let others = corpus.texts(kind.name);
            *text = mutate::mutated(&mut dice, text, others, kind.statements);
        }
        Case { seed, kind: kind.name, files, arguments }
    }

    /// Runs it in a directory of its own.
    pub fn run(&self, isolde: &Path) -> Result<(), Failure> {
        let directory = tempfile::tempdir().map_err(|error| self.failure(format!("no directory: {error}"), ""))?;
        for (name, text) in &self.files {
            fs::write(directory.path().join(name), text)
                .map_err(|error| self.failure(format!("{name} cannot be written: {error}"), ""))?;
        }
        let ended = ended(isolde, directory.path(), &self.arguments);
        let printed = ended.printed();
        // What goes to a file is not printed.
        let silent = ended.is_silent() && !self.arguments.iter().any(|word| word == "-o");
        let wrong = ended.wrong().or_else(|| silent.then(|| "silence".to_string()));
        let wrong = wrong.or_else(|| outputs::wrong(isolde, directory.path(), &self.arguments, &ended));
        wrong.map_or(Ok(()), |what| Err(self.failure(what, &printed)))
    }

    fn failure(&self, what: String, printed: &str) -> Failure {
        let from = printed.len().saturating_sub(2000);
        let from = (from..printed.len()).find(|at| printed.is_char_boundary(*at)).unwrap_or(0);
        Failure { case: self.clone(), what, printed: printed[from..].to_string() }
    }
}

impl Failure {
    /// Writes what repeats it into a directory, and says where.
    pub fn keep(&self, directory: &Path) -> std::io::Result<PathBuf> {
        let folder = directory.join(self.case.seed.to_string());
        fs::create_dir_all(&folder)?;
        for (name, text) in &self.case.files {
            fs::write(folder.join(name), text)?;
        }
        let story = format!("isolde {}\n{}\n\n{}\n", self.case.arguments.join(" "), self.what, self.printed);
        fs::write(folder.join("story.txt"), story)?;
        Ok(folder)
    }
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    stderr: String,
    hung: bool,
    memory_bytes: u64,
}

impl Ended {
    fn printed(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    fn wrong(&self) -> Option<String> {
        let told = |text: &str| text.contains("bug in Isolde");
        match self.code {
            _ if self.hung => Some(format!("no end after {} s", PATIENCE.as_secs())),
            None => Some("ended by a signal".into()),
            Some(code) if !(0..=3).contains(&code) => Some(format!("exit code {code}")),
            _ if told(&self.stdout) || told(&self.stderr) => Some("a bug is told of".into()),
            _ if self.memory_bytes > MEMORY_MAX / 10 * 11 => {
                Some(format!("{} MB of memory", self.memory_bytes / 1_000_000))
            }
            _ => None,
        }
    }

    fn is_silent(&self) -> bool {
        self.stdout.is_empty() && self.stderr.is_empty()
    }
}

/// Runs a command to its end.
pub(crate) fn ended(isolde: &Path, directory: &Path, arguments: &[String]) -> Ended {
    let command = Command::new(isolde)
        .args(arguments)
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let nothing = |stderr: String| Ended { code: None, stdout: String::new(), stderr, hung: false, memory_bytes: 0 };
    let mut child = match command {
        Ok(child) => child,
        Err(error) => return nothing(format!("cannot be started: {error}")),
    };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let stdout = thread::spawn(move || text(stdout));
    let stderr = thread::spawn(move || text(stderr));
    let (began, mut memory_bytes, mut hung) = (Instant::now(), 0, false);
    let code = loop {
        memory_bytes = peak(child.id()).unwrap_or(0).max(memory_bytes);
        match child.try_wait() {
            Ok(Some(status)) => break status.code(),
            Err(_) => break None,
            Ok(None) if began.elapsed() > PATIENCE => {
                hung = true;
                // It may have ended by now.
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            Ok(None) => thread::sleep(Duration::from_millis(5)),
        }
    };
    let joined = |reader: thread::JoinHandle<String>| reader.join().unwrap_or_default();
    Ended { code, stdout: joined(stdout), stderr: joined(stderr), hung, memory_bytes }
}

fn text(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        // What was read until then is what there is.
        let _ = from.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The most memory that a process has used so far, where the system tells.
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

/// Runs the commands of many seeds, several at once, and tells of each that fails.
pub fn campaign(isolde: &Path, seeds: std::ops::Range<u64>, jobs: usize, tell: &(dyn Fn(Progress) + Sync)) -> u64 {
    let corpus = Corpus::load();
    let (next, failures) = (AtomicU64::new(seeds.start), Mutex::new(0));
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let ran = Case::of(seed, &corpus).run(isolde);
                    let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
                    *failures += u64::from(ran.is_err());
                    tell(Progress { done: seed - seeds.start + 1, failure: ran.err() });
                }
            });
        }
    });
    failures.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// How far a campaign is.
#[derive(Debug)]
pub struct Progress {
    /// Commands that were begun, about.
    pub done: u64,
    /// What the last one did wrong.
    pub failure: Option<Failure>,
}
