//! Processes of the application: started, listened to, and ended with all their children.
//!
//! Each is a shell command in a process group of its own, so that ending the group ends whatever it has started. And
//! nobody has to be alive to do that: in the group is a small shell that reads from a pipe whose other end is held
//! here, and when that is closed, for whatever reason, it ends the group.
//!
//! ```text
//!   isolde ══pipe══▶ sh: read ──▶ kill the group
//!                        └─ the command, and what it has started
//! ```
//!
//! What a process prints is collected by threads; that it has ended is told on the channel.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, Signal, kill_process_group};

/// Environment variables, with their values.
pub(super) type Environment = Vec<(String, String)>;

/// What runs before each command: somebody who ends the group when the pipe is closed, and is nobody's child.
const WATCH: &str = "exec 3<&0 </dev/null; ( ( read -r _ <&3; kill -s KILL -- -$$ ) >/dev/null 2>&1 & ); exec 3<&-";

/// A process, ended when it is dropped.
#[derive(Debug)]
pub(super) struct Process {
    group: Pid,
    /// While this is open the group may live.
    _leash: Option<ChildStdin>,
    out: Arc<Mutex<String>>,
    err: Arc<Mutex<String>>,
}

/// A process has ended.
#[derive(Debug)]
pub(super) struct Exited {
    /// By what name it was started.
    pub(super) name: u64,
    /// With what.
    pub(super) status: ExitStatus,
}

impl Process {
    /// Starts a shell command; when it ends, that is told under this name.
    pub(super) fn start<E: From<Exited> + Send + 'static>(
        command: &str,
        directory: &Path,
        environment: &Environment,
        name: u64,
        events: &Sender<E>,
    ) -> std::io::Result<Process> {
        let mut shell = Command::new("/bin/sh");
        shell
            .arg("-c")
            .arg(format!("{WATCH}\n{command}"))
            .current_dir(directory)
            .envs(environment.iter().map(|(k, v)| (k, v)));
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = shell.spawn()?;
        let (group, leash) = (Pid::from_child(&child), child.stdin.take());
        let (out, out_read) = collect(child.stdout.take());
        let (err, err_read) = collect(child.stderr.take());
        let events = events.clone();
        thread::Builder::new().spawn(move || {
            let Ok(status) = child.wait() else { return };
            // What it has printed arrives before the news that it is over. A child of its own may keep the pipes open.
            for reader in [out_read, err_read].into_iter().flatten() {
                wait_shortly(&reader);
            }
            let _ = events.send(Exited { name, status }.into());
        })?;
        Ok(Process { group, _leash: leash, out, err })
    }

    /// What it has printed so far.
    pub(super) fn output(&self) -> String {
        self.out.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it has printed as errors so far.
    pub(super) fn errors(&self) -> String {
        self.err.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

/// `exit code 3`, or the signal that ended it.
pub(super) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_string(),
    }
}

/// Collects lines until there are no more.
fn collect(pipe: Option<impl Read + Send + 'static>) -> (Arc<Mutex<String>>, Option<JoinHandle<()>>) {
    let text = Arc::new(Mutex::new(String::new()));
    let shared = text.clone();
    let reader = pipe.and_then(|pipe| {
        let read = move || {
            let mut lines = BufReader::new(pipe);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                let mut text = shared.lock().unwrap_or_else(PoisonError::into_inner);
                text.push_str(&String::from_utf8_lossy(&line));
                line.clear();
            }
        };
        thread::Builder::new().spawn(read).ok()
    });
    (text, reader)
}

/// Waits until a reader has read everything, but not for what keeps its pipe open for ever.
fn wait_shortly(reader: &JoinHandle<()>) {
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(1);
    for _ in 0..200 {
        if reader.is_finished() {
            return;
        }
        thread::sleep(PAUSE);
    }
}
