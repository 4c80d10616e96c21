//! Runs very many whole commands on inputs that are nearly right; see [`isolde_testkit::commands`].
//!
//! ```text
//! cargo build -p isolde-cli && cargo run -p isolde-testkit --bin commands -- --runs 100000 --seed 1 --jobs 2 --directory failures
//! ```
//!
//! Each command that fails is told of with its seed, and kept in the directory with its input. Exits with 1 if there
//! were any. `--isolde` names another binary than `target/debug/isolde`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use isolde_testkit::commands;

const USAGE: &str = "usage: commands [--runs N] [--seed N] [--jobs N] [--isolde FILE] [--directory DIR]";

struct Wanted {
    runs: u64,
    seed: u64,
    jobs: usize,
    isolde: PathBuf,
    directory: Option<PathBuf>,
}

fn main() -> ExitCode {
    let wanted = match arguments(std::env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(complaint) => {
            eprintln!("{complaint}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let began = Instant::now();
    let seeds = wanted.seed..wanted.seed + wanted.runs;
    let failures = commands::campaign(&wanted.isolde, seeds, wanted.jobs, &|progress| {
        if let Some(failure) = &progress.failure {
            let kept = wanted.directory.as_deref().map(|directory| failure.keep(directory));
            let kept = kept.map_or(String::new(), |kept| match kept {
                Ok(folder) => format!(" ({})", folder.display()),
                Err(error) => format!(" (not kept: {error})"),
            });
            println!("seed {} {}: {}{kept}", failure.case.seed, failure.case.kind, failure.what);
        }
        if progress.done % 500 == 0 {
            eprintln!("{} commands after {} s", progress.done, began.elapsed().as_secs());
        }
    });
    let (runs, first, seconds) = (wanted.runs, wanted.seed, began.elapsed().as_secs());
    println!("{runs} commands from seed {first} in {seconds} s: {failures} failed");
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let isolde = PathBuf::from("target/debug/isolde");
    let mut wanted = Wanted { runs: 1000, seed: 1, jobs: 2, isolde, directory: None };
    while let Some(flag) = words.next() {
        let value = words.next().ok_or_else(|| format!("{flag} wants a value"))?;
        let number = || value.replace('_', "").parse::<u64>().map_err(|_| format!("{flag} wants a number: {value}"));
        match flag.as_str() {
            "--runs" => wanted.runs = number()?,
            "--seed" => wanted.seed = number()?,
            "--jobs" => wanted.jobs = usize::try_from(number()?).map_err(|error| error.to_string())?,
            "--isolde" => wanted.isolde = PathBuf::from(&value),
            "--directory" => wanted.directory = Some(PathBuf::from(&value)),
            _ => return Err(format!("unknown flag {flag}")),
        }
    }
    wanted.isolde = wanted.isolde.canonicalize().map_err(|error| format!("{}: {error}", wanted.isolde.display()))?;
    Ok(wanted)
}
