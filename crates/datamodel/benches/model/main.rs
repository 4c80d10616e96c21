//! Data models: `cargo bench -p isolde-datamodel --bench model`.
//!
//! The fifty properties of Nijjar and Bultan, *Unbounded data model verification using SMT solvers* (ASE 2012):
//! verdicts, times and sizes with and without projection; the same over universes of 10 to 35 objects of each class, as
//! their figure 3 has it; then a large application. Words choose: `fifty`, `bounded`, `large`. Times are by the clock
//! on the wall, since the solver is another process.

mod applications;

use std::time::{Duration, Instant};

use isolde_datamodel::check::{self, Options};
use isolde_datamodel::logic::{Limits, Question, Schema, Semantics, Verdict, bounded, decide, encoded};
use isolde_datamodel::property::{Properties, Property};
use isolde_datamodel::{Framework, read};
use isolde_smt::Solver;

use applications::{Application, applications, large};

/// Mean times of the paper's table 3 in seconds, as published: not projected, projected.
const PUBLISHED: [(&str, f64, f64); 5] = [
    ("lovdbyless", 0.025, 0.015),
    ("tracks", 0.023, 0.014),
    ("opensourcerails", 0.016, 0.012),
    ("substruct", 0.025, 0.011),
    ("fatfreecrm", 0.022, 0.013),
];

/// Objects of each class, as in the paper's figure 3.
const BOUNDS: [usize; 6] = [10, 15, 20, 25, 30, 35];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    let solver = match Solver::from_environment() {
        Ok(solver) => solver,
        Err(silence) => return eprintln!("{silence}"),
    };
    println!("solver: {}", solver.program.display());
    let applications = applications();
    if is_wanted("fifty") {
        fifty(&applications, &solver);
    }
    if is_wanted("bounded") {
        against_bounds(&applications, &solver);
    }
    if is_wanted("large") {
        large_application(&solver);
    }
}

/// Prints the head of a table.
fn table<'a>(head: impl IntoIterator<Item = &'a str>) {
    let head: Vec<&str> = head.into_iter().collect();
    println!("| {} |\n|---{}", head.join(" | "), "|---:".repeat(head.len() - 1) + "|");
}

/// Prints a row.
fn row(cells: impl IntoIterator<Item = String>) {
    println!("| {} |", cells.into_iter().collect::<Vec<_>>().join(" | "));
}

fn limits(projection: bool) -> Limits {
    Limits { projection, timeout: Duration::from_secs(300), ..Limits::default() }
}

/// A property decided: the verdict, and how long it took.
fn decided(
    schema: &Schema<'_>,
    properties: &Properties,
    property: &Property,
    projection: bool,
    solver: &Solver,
) -> (String, f64) {
    let question = Question { schema, property, assumptions: &properties.assumptions };
    let started = Instant::now();
    let verdict = decide(question, solver, limits(projection));
    let elapsed = started.elapsed().as_secs_f64();
    let word = match verdict {
        Ok(Verdict::Holds(_)) => "yes",
        Ok(Verdict::Fails(_)) => "no",
        _ => "?",
    };
    (word.into(), elapsed)
}

fn fifty(applications: &[Application], solver: &Solver) {
    println!("\n### The fifty properties\n");
    let head = [
        "property",
        "paper",
        "projected",
        "whole",
        "Rails is",
        "Rails",
        "ms projected",
        "ms whole",
        "size projected",
        "size whole",
    ];
    table(head);
    let mut means: Vec<Vec<String>> = Vec::new();
    for application in applications {
        let parsed = Properties::parse(&application.properties, &application.model);
        let properties = parsed.expect("the properties are about these models");
        let (paper, rails) =
            (Schema::new(&application.model, Semantics::Paper), Schema::new(&application.model, Semantics::Rails));
        let (mut times, mut sizes, mut agree) = ((0.0, 0.0), (0, 0), 0);
        for (index, property) in properties.list.iter().enumerate() {
            let projected = decided(&paper, &properties, property, true, solver);
            let whole = decided(&paper, &properties, property, false, solver);
            let real = decided(&rails, &properties, property, true, solver);
            let question = Question { schema: &paper, property, assumptions: &properties.assumptions };
            let size = |projection| {
                let script = encoded(question, limits(projection)).1.script;
                script.variables() + script.clauses()
            };
            let size = (size(true), size(false));
            times = (times.0 + projected.1, times.1 + whole.1);
            sizes = (sizes.0 + size.0, sizes.1 + size.1);
            let word = |holds: bool| if holds { "yes" } else { "no" }.to_string();
            let (expected, really) = (word(application.paper[index]), word(application.rails[index]));
            agree += usize::from(projected.0 == expected && whole.0 == expected && real.0 == really);
            row([
                property.name.clone(),
                expected,
                projected.0,
                whole.0,
                really,
                real.0,
                format!("{:.1}", projected.1 * 1e3),
                format!("{:.1}", whole.1 * 1e3),
                size.0.to_string(),
                size.1.to_string(),
            ]);
        }
        let count = properties.list.len();
        let published = PUBLISHED.iter().find(|(name, ..)| *name == application.name).copied().unwrap_or_default();
        means.push(vec![
            application.name.clone(),
            format!("{agree} of {count}"),
            format!("{:.1}", times.0 * 1e3 / count as f64),
            format!("{:.1}", times.1 * 1e3 / count as f64),
            format!("{:.0}", published.2 * 1e3),
            format!("{:.0}", published.1 * 1e3),
            format!("-{:.0} %", 100.0 - 100.0 * sizes.0 as f64 / sizes.1 as f64),
        ]);
    }
    println!("\nMeans; those of the paper are what it published, for the solver alone.\n");
    table(["application", "agree", "ms projected", "ms whole", "paper projected", "paper whole", "size"]);
    means.into_iter().for_each(row);
}

fn against_bounds(applications: &[Application], solver: &Solver) {
    println!("\n### Unbounded, and up to so many objects of each class\n");
    let bounds = &BOUNDS;
    let names: Vec<String> = bounds.iter().map(|bound| format!("{bound} objects")).collect();
    table(["ms a property", "unbounded"].into_iter().chain(names.iter().map(String::as_str)));
    let mut late = 0;
    for application in applications {
        let parsed = Properties::parse(&application.properties, &application.model);
        let properties = parsed.expect("the properties are about these models");
        let schema = Schema::new(&application.model, Semantics::Paper);
        let count = properties.list.len() as f64;
        let unbounded: f64 = properties.list.iter().map(|p| decided(&schema, &properties, p, true, solver).1).sum();
        let mut row = vec![application.name.clone(), format!("{:.1}", unbounded * 1e3 / count)];
        for bound in bounds {
            let (mut elapsed, mut missed) = (0.0, 0);
            for property in &properties.list {
                let question = Question { schema: &schema, property, assumptions: &properties.assumptions };
                let limits = Limits { timeout: Duration::from_secs(10), ..Limits::default() };
                let started = Instant::now();
                missed += usize::from(bounded(question, *bound, solver, limits).is_err());
                elapsed += started.elapsed().as_secs_f64();
            }
            late += missed;
            let more = if missed > 0 { ">" } else { "" };
            row.push(format!("{more}{:.0}", elapsed * 1e3 / count));
        }
        self::row(row);
    }
    println!("\nGiven up after 10 s: {late}.");
}

fn large_application(solver: &Solver) {
    println!("\n### A generated application\n");
    table(["classes", "associations", "s to read", "s to decide", "proved", "findings", "undecided"]);
    for (classes, associations) in [(100, 250), (200, 500), (400, 1000)] {
        let files = large(classes, associations);
        let started = Instant::now();
        let model = read::read(Framework::Rails, &files);
        let reading = started.elapsed().as_secs_f64();
        let options = Options {
            semantics: Semantics::Rails,
            limits: Limits::default(),
            command: String::new(),
            path: "large".into(),
        };
        let started = Instant::now();
        let report = check::check(&model, &files, None, solver, &options).expect("there is a solver");
        let deciding = started.elapsed().as_secs_f64();
        row([
            model.classes.len().to_string(),
            model.associations.len().to_string(),
            format!("{reading:.2}"),
            format!("{deciding:.2}"),
            report.proved.to_string(),
            report.findings.len().to_string(),
            report.undecided.len().to_string(),
        ]);
    }
}
