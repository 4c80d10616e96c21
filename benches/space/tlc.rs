//! TLC on the same specification, by one worker.

use std::process::Command;

use super::models::Model;

/// What TLC says at the end.
pub(crate) struct Said {
    /// Distinct states.
    pub(crate) distinct: usize,
    /// All states that were generated.
    pub(crate) generated: u64,
    /// The depth of the graph.
    pub(crate) depth: Option<usize>,
}

/// Runs it.
pub(crate) fn run(jar: &str, model: Model) -> Option<Said> {
    let folder = tempfile::tempdir().ok()?;
    let module = format!("{}.tla", model.module());
    std::fs::write(folder.path().join(&module), model.text()).ok()?;
    std::fs::write(folder.path().join("bench.cfg"), model.config()).ok()?;
    let jar = std::path::absolute(jar).ok()?;
    let output = Command::new("java")
        .args(["-XX:+UseSerialGC", "-Xmx6g", "-cp"])
        .arg(jar)
        .args(["tlc2.TLC", "-workers", "1", "-deadlock", "-config", "bench.cfg", &module])
        .current_dir(folder.path())
        .output()
        .ok()?;
    said(&String::from_utf8_lossy(&output.stdout))
}

/// `1146 states generated, 288 distinct states found, 0 states left on queue.`
fn said(text: &str) -> Option<Said> {
    let line = text.lines().rev().find(|line| line.contains("distinct states found"))?;
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok()).collect();
    let depth = text.lines().find_map(|line| line.strip_prefix("The depth of the complete state graph search is "));
    let depth = depth.and_then(|depth| depth.trim_end_matches('.').parse().ok());
    Some(Said { generated: *numbers.first()?, distinct: *numbers.get(1)? as usize, depth })
}
