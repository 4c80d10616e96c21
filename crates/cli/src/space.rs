//! `isolde space`: the state space of a TLA+ specification, explored and asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use isolde_report::{SpaceReport, TraceStyle, Verdict};
use isolde_statespace::check::{self, Options};
use isolde_statespace::explore;
use isolde_statespace::keep::Engine;
use isolde_statespace::tla::Spec;
use isolde_statespace::tla::fault::Error;
use isolde_statespace::tla::spec::Files;

use crate::EXIT_INCONCLUSIVE;
use crate::args::{self, Color, Html, Output};
use crate::complain::Mistake;
use crate::guard::{Guard, Held, Limits};
use crate::input;
use crate::page::Page;
use crate::tables::{self, Kept, Questions, Tables};
use crate::watch::Watch;

pub(crate) const ABOUT: &str = "\
Explore the state space of a TLA+ specification and ask questions about it.

Reads a module and its configuration as TLC takes them: INIT and NEXT or SPECIFICATION, CONSTANTS, INVARIANTS, PROPERTIES, \
CONSTRAINTS, SYMMETRY. All states that can be reached are looked at; states are compared exactly and not by fingerprints. What \
fails is shown by a shortest behaviour. With --ctl, formulas of computation tree logic are decided, too:

  isolde space HourClock.tla --ctl 'AG EF (hr = 12 /\\ mn = 0)'

What stands between EX, AX, EF, AF, EG, AG, E[ U ], A[ U ], W and R is TLA+.";

pub(crate) const LONG_HELP: &str = "\
What is checked without asking:
  invariants   those of the configuration, in every state
  deadlock     in every state some step is possible, unless CHECK_DEADLOCK FALSE or --no-deadlock
  properties   those of the configuration, for every fair behaviour: [], <>, ~>, WF, SF, [][A]_v

Exit codes:
  0  holds: everything that was asked is true
  1  violated: something is not, and was shown
  2  the command line, the specification or its configuration has a mistake
  3  inconclusive: a limit was reached first; the answer names it

Examples:
  isolde space TwoPhase.tla
  isolde space TwoPhase.tla --config Large.cfg --coverage
  isolde space Queue.tla --invariant 'Len(q) <= 3'
  isolde space Queue.tla --db queue.sqlite --keep
  isolde space queue.sqlite --ctl 'AG EF (Len_q = 0)'";

/// `isolde space`
#[derive(Debug, Args)]
pub(crate) struct Space {
    /// A file with a TLA+ module, or states that were kept
    #[arg(value_name = "SPEC.tla")]
    file: PathBuf,

    /// The configuration [SPEC.cfg beside it, if there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Decide a formula of computation tree logic
    #[arg(long, value_name = "FORMULA")]
    ctl: Vec<String>,

    /// Check another invariant: an expression of TLA+
    #[arg(long, value_name = "EXPRESSION")]
    invariant: Vec<String>,

    /// States without steps are no mistake
    #[arg(long)]
    no_deadlock: bool,

    /// Tell how often each action was taken
    #[arg(long)]
    coverage: bool,

    /// Tell what it took
    #[arg(long)]
    stats: bool,

    /// How behaviours are written: table or tlc
    #[arg(long, value_name = "STYLE", default_value = "table", hide_possible_values = true)]
    trace: Traces,

    /// Stop when there are more states
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000_000)]
    states_max: usize,

    #[command(flatten)]
    limits: Limits,

    #[command(flatten)]
    tables: Tables,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    html: Html,
}

/// How behaviours are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Traces {
    /// A row for each state, with what changes
    Table,
    /// As TLC does
    Tlc,
}

/// Reads, explores and prints; says what to exit with.
pub(crate) fn run(args: &Space, color: Color) -> Result<u8, Mistake> {
    let page = Page::of(&args.output, color)?.with(&args.html)?;
    if tables::is_store(&args.file) {
        return ask(args, page);
    }
    let page = Held::new(page);
    let guard = guard(args, &page);
    let text = input::read_text(&args.file).map_err(Mistake::new)?;
    let config = config(args)?;
    let name = args.file.display().to_string();
    let files =
        Files { name: &name, text: &text, config: config.as_ref().map(|(name, text)| (name.as_str(), text.as_str())) };
    let folder = args.file.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut find = |module: &str| beside(&folder, module);
    let mut spec = Spec::load(&files, &mut find).map_err(mistake)?;
    if let Some(script) = args.tables.script(&spec)? {
        let mut page = page.take();
        page.verbatim(&script)?;
        return page.finish().map(|()| 0);
    }
    guard.budget().begin("the exploration");
    let mut looking = Looking(Watch::start(&name, args.limits.time_max, true).limited(args.limits.memory_max));
    let mut kept = args.tables.open(&spec.name)?;
    let config = files.config.map(|(_, text)| text);
    let mut keeper = kept.as_mut().map(|kept| args.tables.keeper(&mut kept.store, &spec, config));
    let mut answer =
        check::check_kept(&mut spec, &options(args, &name), &mut looking, keeper.as_mut()).map_err(mistake)?;
    // What the specification prints is no part of the answer, which may be read by a program.
    answer.explored.printed.iter().for_each(|line| eprintln!("{line}"));
    let recalled = keeper.is_some_and(|keeper| keeper.recalled);
    if args.stats {
        answer.report.stats.extend(stats(&answer, looking.0.elapsed()));
        let by = match (recalled, args.tables.engine()) {
            (true, _) => Some("none: read from the store, not explored"),
            (false, Engine::Sql(_)) => Some("the database"),
            (false, Engine::Rust) => None,
        };
        for (name, value) in &mut answer.report.stats {
            if let ("engine", Some(by)) = (name.as_str(), by) {
                *value = by.into();
            }
        }
    }
    drop(looking);
    drop(guard);
    kept.map_or(Ok(()), Kept::close)?;
    tell(args, &answer.report, page.take())?;
    Ok(answer.report.verdict.exit_code())
}

/// A guard over reading and exploring.
fn guard(args: &Space, page: &Held<Page>) -> Guard {
    let (page, path, style) = (page.clone(), args.file.display().to_string(), style(args));
    let guard = Guard::post(args.limits, move |why| {
        let Some(mut page) = page.seize() else { return EXIT_INCONCLUSIVE };
        let mut report = SpaceReport::new(&args::command_line(), &path);
        report.verdict = Verdict::Inconclusive(why.into());
        // If it cannot be written, the exit code still tells.
        let _ = page.space(&report, style).and_then(|()| page.finish());
        EXIT_INCONCLUSIVE
    });
    guard.budget().begin("reading");
    guard
}

/// Answers from a space that was kept.
fn ask(args: &Space, page: Page) -> Result<u8, Mistake> {
    let (ctl, invariants, command) = (&args.ctl, &args.invariant, args::command_line());
    let questions = Questions { file: &args.file, ctl, invariants, tables: &args.tables, command };
    let report = questions.answer()?;
    tell(args, &report, page)?;
    Ok(report.verdict.exit_code())
}

fn tell(args: &Space, report: &SpaceReport, mut page: Page) -> Result<(), Mistake> {
    page.space(report, style(args))?;
    page.finish()
}

fn style(args: &Space) -> TraceStyle {
    match args.trace {
        Traces::Table => TraceStyle::Table,
        Traces::Tlc => TraceStyle::Tlc,
    }
}

fn options(args: &Space, path: &str) -> Options {
    Options {
        deadlock: args.no_deadlock.then_some(false),
        ctl: args.ctl.clone(),
        invariants: args.invariant.clone(),
        states_max: args.states_max,
        coverage: args.coverage,
        graph: false,
        command: args::command_line(),
        path: path.into(),
    }
}

fn stats(answer: &check::Answer, elapsed: Duration) -> Vec<(String, String)> {
    let states = answer.explored.count() as f64;
    let seconds = elapsed.as_secs_f64().max(1e-9);
    vec![
        ("engine".into(), answer.explored.engine().into()),
        ("state".into(), format!("{} bits", answer.explored.forms.layout.bits)),
        ("time".into(), format!("{seconds:.3} s")),
        ("rate".into(), format!("{:.0} states/s", states / seconds)),
    ]
}

fn config(args: &Space) -> Result<Option<(String, String)>, Mistake> {
    let path = match &args.config {
        Some(path) => path.clone(),
        None => {
            let beside = args.file.with_extension("cfg");
            if !beside.is_file() {
                return Ok(None);
            }
            beside
        }
    };
    let text = input::read_text(&path).map_err(Mistake::new)?;
    Ok(Some((path.display().to_string(), text)))
}

/// A module in a file of its name.
fn beside(folder: &Path, module: &str) -> Option<(String, String)> {
    let path = folder.join(format!("{module}.tla"));
    let text = fs::read_to_string(&path).ok()?;
    Some((path.display().to_string(), text))
}

fn mistake(error: Error) -> Mistake {
    match error.text.is_empty() {
        true => Mistake::Elsewhere { message: error.message, hint: error.hint },
        false => Mistake::InText {
            file: error.file,
            text: error.text.to_string(),
            span: error.span,
            message: error.message,
            hint: error.hint,
        },
    }
}

/// Looks on, and tells how far one is.
struct Looking(Watch);

impl explore::Watch for Looking {
    fn on(&mut self, states: usize, done: usize, level: usize) -> bool {
        let words = |_: Duration| format!("level {level}, {states} states, {} to look at", states - done);
        self.0.tell(words).is_continue()
    }
}
