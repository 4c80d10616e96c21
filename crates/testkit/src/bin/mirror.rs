//! Compares the embedded engine with a real server on very many generated programs.
//!
//! ```text
//! cargo run -p isolde-testkit --release --bin mirror -- --programs 100000 --seed 1 --jobs 2 --directory differences
//! ```
//!
//! Goes on after differences; each kind of difference is reported once, shrunk, on standard output and as a file of the
//! directory. Exits with 1 if there were any.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use isolde_testkit::campaign::{self, Campaign, Count, Group, Tally};
use isolde_testkit::generate::GENERATORS;

fn main() -> ExitCode {
    let (campaign, directory) = match arguments(std::env::args().skip(1)) {
        Ok(parsed) => parsed,
        Err(complaint) => {
            eprintln!("{complaint}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    campaign::expect_panics();
    let progress = Progress { begin: Instant::now(), shown: Mutex::new((Instant::now(), 0)), directory };
    let tally = campaign.run(&|tally, new| progress.tell(&campaign, tally, new));
    println!("{}", summary(&campaign, &tally, progress.begin.elapsed()));
    if tally.total().different == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

const USAGE: &str = "usage: mirror [--programs N] [--seed N] [--generator NAME] [--jobs N] [--directory DIR]";

fn arguments(mut words: impl Iterator<Item = String>) -> Result<(Campaign, Option<PathBuf>), String> {
    let mut campaign = Campaign { seed: 1, programs: 1000, generator: None, jobs: 2 };
    let mut directory = None;
    while let Some(flag) = words.next() {
        let value = words.next().ok_or_else(|| format!("{flag} wants a value"))?;
        let number = || value.replace('_', "").parse::<u64>().map_err(|_| format!("{flag} wants a number: {value}"));
        match flag.as_str() {
            "--programs" => campaign.programs = number()?,
            "--seed" => campaign.seed = number()?,
            "--jobs" => campaign.jobs = usize::try_from(number()?).map_err(|error| error.to_string())?,
            "--directory" => directory = Some(PathBuf::from(&value)),
            "--generator" => campaign.generator = Some(campaign::generator(&value).ok_or_else(|| unknown(&value))?),
            _ => return Err(format!("unknown flag {flag}")),
        }
    }
    Ok((campaign, directory))
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = GENERATORS.iter().map(|generator| generator.name).collect();
    format!("no generator {name}; there are {}", names.join(", "))
}

/// Reports new groups at once, and how far it is every few seconds.
struct Progress {
    begin: Instant,
    /// When a line was last shown, and how many groups have been reported.
    shown: Mutex<(Instant, usize)>,
    directory: Option<PathBuf>,
}

const SHOW_EVERY: Duration = Duration::from_secs(20);

impl Progress {
    fn tell(&self, campaign: &Campaign, tally: &Tally, new: Option<&Group>) {
        let mut shown = self.shown.lock().expect("nothing panics while it is held");
        if let Some(group) = new {
            shown.1 += 1;
            self.report(group, shown.1);
        }
        if shown.0.elapsed() > SHOW_EVERY {
            shown.0 = Instant::now();
            let programs = tally.total().programs();
            let seconds = self.begin.elapsed().as_secs_f64();
            let rate = f64::from(u32::try_from(programs).unwrap_or(u32::MAX)) / seconds;
            eprintln!("{programs} of {}, {rate:.0}/s: {}", campaign.programs, words(&tally.total()));
        }
    }

    fn report(&self, group: &Group, number: usize) {
        println!("{}\n", group.report);
        let Some(directory) = &self.directory else { return };
        let (generator, seed) = group.example;
        let file = directory.join(format!("{generator}-{seed}-{number}.script"));
        if let Err(error) = fs::create_dir_all(directory).and_then(|()| fs::write(&file, &group.report)) {
            eprintln!("{}: {error}", file.display());
        }
    }
}

fn words(count: &Count) -> String {
    format!(
        "{} equal, {} unstable, {} refused, {} different",
        count.equal, count.unstable, count.refused, count.different
    )
}

fn summary(campaign: &Campaign, tally: &Tally, time: Duration) -> String {
    let mut groups: Vec<(&String, &Group)> = tally.groups.iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
    let mut text = String::new();
    for (signature, group) in groups {
        text +=
            &format!("{:7} x {signature}  (--generator {} --seed {})\n", group.count, group.example.0, group.example.1);
    }
    for (name, count) in &tally.generators {
        text += &format!("{name:14} {:7}: {}\n", count.programs(), words(count));
    }
    let total = tally.total();
    let (programs, seed) = (total.programs(), campaign.seed);
    text + &format!("{programs} programs from seed {seed} in {} s: {}", time.as_secs(), words(&total))
}
