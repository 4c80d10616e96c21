//! Who touches the world outside: clocks, files, processes, connections, the terminal.

use crate::check;
use crate::sources::{Source, sources};

/// What code says that does it, which crates may, and why.
const DOORS: &[(&[&str], &[&str])] = &[
    // Deadlines of solvers and sessions, and what a run took.
    (&["Instant::now", "SystemTime::now"], &["cli", "postgres", "smt", "wire"]),
    // `wire` reads the certificates that a URL names, `postgres` keeps the list of its own databases.
    (&["std::fs", "fs::read", "File::open", "File::create", "pem_file_iter"], &["cli", "postgres", "wire"]),
    // Solvers, and the commands of an application.
    (&["process::Command", "Command::new"], &["postgres", "smt"]),
    (&["std::net", "TcpStream", "UnixStream", "TcpListener"], &["postgres", "wire"]),
    (&["println!", "eprintln!", "process::exit", "std::io::stdin"], &["cli"]),
    // Where solvers are found, and where the list of databases is.
    (&["env::var", "env::args"], &["cli", "postgres", "smt"]),
    // `sql` parses on a stack that is deep enough, `prove` decides cells side by side.
    (&["thread::spawn", "thread::scope"], &["datamodel", "explore", "postgres", "prove", "smt", "sql"]),
];

#[test]
fn only_the_outer_layers_touch_the_world() {
    let sources: Vec<Source> = sources().into_iter().filter(Source::is_product).collect();
    let mut broken = Vec::new();
    for (words, crates) in DOORS {
        let mut used: Vec<&str> = Vec::new();
        for source in sources.iter().filter(|source| source.of_crate() != "testkit") {
            let lines: Vec<String> = words.iter().flat_map(|word| source.code_with(word)).collect();
            match crates.iter().find(|name| **name == source.of_crate()) {
                Some(name) if !lines.is_empty() => used.push(name),
                Some(_) => {}
                None => broken.extend(lines),
            }
        }
        let idle = crates.iter().filter(|name| !used.contains(name));
        broken.extend(idle.map(|name| format!("{name} does not need {words:?} any more")));
    }
    check("the core touches nothing outside itself", broken);
}

#[test]
fn nothing_is_left_to_chance() {
    let core = ["sql", "engine", "explore", "history", "scenario", "report"];
    let sources = sources().into_iter().filter(|source| source.is_product() && core.contains(&source.of_crate()));
    let broken = sources.flat_map(|source| {
        ["RandomState", "use rand::", "thread_rng", "getrandom"]
            .iter()
            .flat_map(|word| source.code_with(word))
            .collect::<Vec<_>>()
    });
    check("the same input gives the same output", broken.collect());
}
