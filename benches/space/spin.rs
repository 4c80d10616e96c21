//! The models for Spin, in Promela: one process that takes any step that is possible. Compiled by the C compiler,
//! explored breadth first, without partial-order reduction, so that it sees the same states. Invariants are not asked
//! of it.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use super::models::Model;

/// A verifier that was made.
pub(crate) struct Verifier {
    folder: tempfile::TempDir,
}

/// What the verifier says.
pub(crate) struct Said {
    /// States that it stored.
    pub(crate) states: usize,
    /// Memory that it used.
    pub(crate) bytes: Option<u64>,
}

/// Makes the verifier of a model, if Spin and a C compiler are there.
pub(crate) fn make(model: Model) -> Option<Verifier> {
    let folder = tempfile::tempdir().ok()?;
    std::fs::write(folder.path().join("model.pml"), promela(model)).ok()?;
    run(folder.path(), "spin", &["-a", "model.pml"])?;
    let flags = ["-O2", "-w", "-DBFS", "-DSAFETY", "-DNOREDUCE", "-DMEMLIM=16000", "-o", "pan", "pan.c"];
    run(folder.path(), "cc", &flags)?;
    Some(Verifier { folder })
}

impl Verifier {
    /// Explores. The logarithm of the size of the hash table fits the number of states.
    pub(crate) fn states(&self, hash_bits: u32) -> Option<Said> {
        let pan = self.folder.path().join("pan");
        let text = run(self.folder.path(), &pan.display().to_string(), &["-E", &format!("-w{hash_bits}")])?;
        let line = |ending: &str| {
            let line = text.lines().find(|line| line.contains(ending))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        let bytes = line("total actual memory usage").map(|megabytes| (megabytes * 1_048_576.0) as u64);
        Some(Said { states: line("states, stored")? as usize, bytes })
    }
}

fn run(folder: &Path, program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(folder).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn promela(model: Model) -> String {
    let (variables, steps) = match model {
        Model::Grid(n) => (format!("byte c[{n}];"), grid(n)),
        Model::Lock(n) => (format!("byte pc[{n}]; byte level[{n}]; byte last[{n}];"), lock(n)),
        Model::Commit(n) => (format!("byte rm[{n}]; byte tm; short prepared; short msgs;"), commit(n)),
    };
    let mut text = format!("{variables}\nactive proctype steps() {{\n  do\n");
    for (guard, update) in steps {
        writeln!(text, "  :: d_step {{ {guard} -> {update} }}").expect("writing to a string cannot fail");
    }
    text + "  od\n}\n"
}

/// Guards and updates.
type Steps = Vec<(String, String)>;

fn grid(n: usize) -> Steps {
    (0..n).map(|i| (format!("c[{i}] < 9"), format!("c[{i}] = c[{i}] + 1"))).collect()
}

fn lock(n: usize) -> Steps {
    let of = |p: usize| {
        let others: Vec<String> = (0..n).filter(|q| *q != p).map(|q| format!("level[{q}] < level[{p}]")).collect();
        let (me, top, others) = (p + 1, n - 1, others.join(" && "));
        let passes = format!("pc[{p}] == 2 && (last[level[{p}]] != {me} || ({others}))");
        let passed =
            format!("if :: level[{p}] == {top} -> pc[{p}] = 3 :: else -> pc[{p}] = 1; level[{p}] = level[{p}] + 1 fi");
        [
            (format!("pc[{p}] == 0"), format!("pc[{p}] = 1; level[{p}] = 1")),
            (format!("pc[{p}] == 1"), format!("last[level[{p}]] = {me}; pc[{p}] = 2")),
            (passes, passed),
            (format!("pc[{p}] == 3"), format!("pc[{p}] = 0; level[{p}] = 0")),
        ]
    };
    (0..n).flat_map(of).collect()
}

fn commit(n: usize) -> Steps {
    let (commit, abort, all) = (1 << n, 2 << n, (1 << n) - 1);
    let mut steps = vec![
        (format!("tm == 0 && prepared == {all}"), format!("tm = 1; msgs = msgs | {commit}")),
        ("tm == 0".into(), format!("tm = 2; msgs = msgs | {abort}")),
    ];
    for r in 0..n {
        let bit = 1 << r;
        steps.extend([
            (format!("tm == 0 && (msgs & {bit})"), format!("prepared = prepared | {bit}")),
            (format!("rm[{r}] == 0"), format!("rm[{r}] = 1; msgs = msgs | {bit}")),
            (format!("rm[{r}] == 0"), format!("rm[{r}] = 3")),
            (format!("msgs & {commit}"), format!("rm[{r}] = 2")),
            (format!("msgs & {abort}"), format!("rm[{r}] = 3")),
        ]);
    }
    steps
}
