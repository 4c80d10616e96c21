//! What can be typed behind `isolde`.
//!
//! Each flag is one documented field: the first paragraph of its comment is its line under `-h`, the rest is what
//! `--help` adds. Nothing is decided here; a flag that was not given is `None`, so that an `option` line of the file
//! can speak.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use isolde_postgres::reads::Module;
use isolde_report::shell_word;
use isolde_scenario::Restore;
use isolde_scenario::dependence::Dependence;
use isolde_scenario::file::{Choice, FileOptions, Granularity, Hashing, SearchKind, SerialCheck};

use crate::guard::Limits;
use crate::model;
use crate::picture::Picture;
use crate::prove;
use crate::report;
use crate::server::{self, Server};
use crate::space;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Finds the interleaving of SQL statements that breaks an application, or shows that there is none.
///
/// Isolde runs the threads of a scenario, a plain PostgreSQL script, in every order in which two or more sessions of a
/// real server could interleave, on an embedded database that needs no server. If some order goes wrong it prints the
/// shortest one, step by step, and says why.
#[derive(Debug, Parser)]
#[command(name = "isolde", version, styles = STYLES, disable_help_subcommand = true)]
#[command(after_help = "Try: isolde explore examples/withdraw/withdraw.sql")]
#[command(after_long_help = MAIN_LONG_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Colours: auto, always or never
    ///
    /// `auto` colours a terminal, and respects NO_COLOR and CLICOLOR_FORCE.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    #[arg(hide_default_value = true)]
    pub(crate) color: Color,
}

const MAIN_LONG_HELP: &str = "\
Try:
  isolde explore examples/withdraw/withdraw.sql    a lost update, found and explained
  isolde explore examples/withdraw/fixed.sql       the same with a row lock: holds
  isolde explore --help                            what a scenario file is, and what is checked

Exit codes:
  0  holds: every interleaving was looked at and none is bad
  1  violated: there is a bad one, and it was printed
  2  the command line or an input file has a mistake
  3  inconclusive: a limit was reached first; the answer names it";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look at every interleaving of the threads of a scenario file
    #[command(long_about = EXPLORE_ABOUT, after_long_help = EXPLORE_LONG_HELP)]
    Explore(Box<Explore>),

    /// Run one schedule of a scenario file and show every step
    #[command(long_about = REPLAY_ABOUT, after_long_help = REPLAY_LONG_HELP)]
    Replay(Replay),

    /// Run PostgreSQL isolation specs and print what isolationtester prints
    #[command(long_about = SPEC_ABOUT, after_long_help = SPEC_LONG_HELP)]
    Spec(Spec),

    /// Verify the data model of an application: what deletes leave behind
    #[command(long_about = model::ABOUT, after_long_help = model::LONG_HELP)]
    Model(model::Model),

    /// Prove that procedures keep the rules of the data
    #[command(long_about = prove::ABOUT, after_long_help = prove::LONG_HELP)]
    Prove(prove::Prove),

    /// Explore the state space of a TLA+ specification
    #[command(long_about = space::ABOUT, after_long_help = space::LONG_HELP)]
    Space(Box<space::Space>),

    /// Show answers that were kept as JSON, as a page or as text
    #[command(long_about = report::ABOUT, after_long_help = report::LONG_HELP)]
    Report(report::Kept),

    /// Print a completion script for a shell
    ///
    /// For bash: isolde completions bash > ~/.local/share/bash-completion/completions/isolde
    Completions {
        /// bash, zsh, fish, elvish or powershell
        #[arg(hide_possible_values = true)]
        shell: Shell,
    },

    /// Print the manual page in roff
    #[command(hide = true)]
    Man,
}

const EXPLORE_ABOUT: &str = "\
Look at every interleaving of the threads of a scenario file.

A scenario is a plain PostgreSQL script in sections. What stands before the first `--@` sets up the database; `--@` \
is a comment to psql and opens a section here:

  CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
  INSERT INTO account VALUES (1, 100);

  --@ thread alice
  SELECT balance AS old FROM account WHERE id = 1 \\gset
  UPDATE account SET balance = :old - 60 WHERE id = 1;

  --@ thread bob isolation repeatable read retry 1
  CALL withdraw(1, 60);

  --@ invariant never_overdrawn
  SELECT bool_and(balance >= 0) FROM account;

Every SQL statement, also inside a procedure, is a place where another thread may act. A thread's header may say `xN` \
(N copies), `isolation LEVEL`, `autocommit` (each statement of a procedure is its own transaction) and `retry N` \
(start again after a serialization failure or a deadlock). `--@ invariant NAME` is a query that must be true in every \
committed state, `--@ final NAME` one for the end; `--@ expect error CODE` permits an error; `--@ clock 0s 10m` lets \
time pass to ten minutes past the start between any two steps; `--@ option KEY VALUE` sets what the flags below set, \
unless they do.";

const EXPLORE_LONG_HELP: &str = "\
What is checked without asking:
  serial outcome   what the threads leave, and were told as far as it is used, is possible in some serial order
  errors           no statement ends in an error that the program does not catch
  assertions       no ASSERT fails
  deadlocks        no threads wait for each other in a cycle

Exit codes:
  0  holds: every interleaving was looked at and none is bad
  1  violated: there is a bad one, and it was printed
  2  the command line or an input file has a mistake
  3  inconclusive: a limit was reached first, or the search was interrupted; the answer names it
  With several files: 2 if any has a mistake, else 1, else 3, else 0.

Examples:
  isolde explore bank.sql
  isolde explore examples/*/*.sql                       a line for each
  isolde explore --search random --runs 10000 big.sql   a sample of very many
  isolde explore --format json bank.sql | jq .verdict
  isolde explore --levels bank.sql                      which isolation level does it need?";

const REPLAY_ABOUT: &str = "\
Run one schedule of a scenario file and show every step.

A schedule is the list of choices, first to last: names of threads, as the last line of a counterexample prints them. \
`alice*3` stands for three steps of alice. The schedule may end early; then what the steps so far did is shown.";

const REPLAY_LONG_HELP: &str = "\
Exit codes:
  1  violated: this run breaks a property
  2  a mistake, also if a step of the schedule is not possible when its turn comes
  3  inconclusive: this run breaks nothing; others may

Example:
  isolde replay examples/withdraw/withdraw.sql alice bob";

const SPEC_ABOUT: &str = "\
Run PostgreSQL isolation specs and print what isolationtester prints.

A .spec file, the format of PostgreSQL's own isolation tests, has sessions with steps, and permutations that say in \
which order the steps are sent; without permutations all interleavings are run. The output is that of isolationtester, \
byte for byte, but there is no server, and a run takes milliseconds: what waits for a timeout does not wait.

With --expected the output is compared with a directory of recorded ones, as pg_isolation_regress does: NAME.spec with \
NAME.out, or one of NAME_1.out to NAME_9.out.";

const SPEC_LONG_HELP: &str = "\
Exit codes:
  0  every spec was run, and printed what was expected
  1  some output differs, or isolationtester would have given up
  2  the command line or a spec has a mistake, or uses SQL that the engine does not support
  3  a limit was reached first, or it was interrupted

Examples:
  isolde spec deadlock.spec
  isolde spec --permutation 'a1 b1 a2' deadlock.spec
  isolde spec --expected expected specs/*.spec";

/// `isolde spec`
#[derive(Debug, Args)]
pub(crate) struct Spec {
    /// Spec files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Compare with the recorded outputs in this directory
    ///
    /// There is a line for each file, with a unified diff below it where the output differs.
    #[arg(long, value_name = "DIR")]
    pub(crate) expected: Option<PathBuf>,

    /// Print dates as under pg_isolation_regress
    ///
    /// That is in the style `Postgres, MDY` and in the time of America/Los_Angeles, as PostgreSQL's own recorded
    /// outputs have them. With --expected, an output that is the same but for that is as expected in any case.
    #[arg(long)]
    pub(crate) regress: bool,

    /// Run on this server: postgres://USER@HOST/DATABASE
    ///
    /// Instead of the embedded engine, in a database that is created for the run and dropped after it. What the URL
    /// leaves out is taken from PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE, as psql does.
    #[arg(long, value_name = "URL", value_parser = server::parse)]
    pub(crate) on: Option<Server>,

    /// Run only this permutation: names of steps
    #[arg(long, value_name = "STEPS")]
    pub(crate) permutation: Option<String>,

    #[command(flatten)]
    pub(crate) limits: Limits,

    #[command(flatten)]
    pub(crate) output: Output,

    /// Print a line for each file, and no outputs or diffs
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// Show no progress, even on a terminal
    #[arg(long, help_heading = "Output")]
    pub(crate) no_progress: bool,
}

/// `isolde explore`
#[derive(Debug, Args)]
pub(crate) struct Explore {
    /// Scenarios (.sql), specs (.spec) or applications (.toml)
    ///
    /// - is standard input, a scenario.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Run on this server: postgres://USER@HOST/DATABASE
    ///
    /// Instead of the embedded engine, in a database that is created for the run and dropped after it. What the URL
    /// leaves out is taken from PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE, as psql does.
    #[arg(long, value_name = "URL", value_parser = server::parse, help_heading = "Server")]
    pub(crate) on: Option<Server>,

    /// What tells what statements read: text, or a module's file
    ///
    /// With `text`, from what statements say, and by asking queries again. With the name of a file, from that module,
    /// which is loaded from there by a superuser. Left out, from the module if it is installed, else from the text.
    /// crates/postgres/module/README.md says how to build it.
    #[arg(long, value_name = "FROM", value_parser = server::module, help_heading = "Server")]
    pub(crate) reads: Option<Module>,

    /// Replay the counterexample on this server
    ///
    /// The search runs on the embedded engine. A schedule that breaks something is followed once more on real sessions,
    /// in a database that is created for that and dropped after it, and the answer says whether it breaks the same
    /// there.
    #[arg(long, value_name = "URL", value_parser = server::parse, conflicts_with = "on", help_heading = "Server")]
    pub(crate) confirm: Option<Server>,

    /// Ask at each isolation level: which one does this file need?
    ///
    /// One search for the file as it is written, for all threads at READ COMMITTED, REPEATABLE READ and SERIALIZABLE,
    /// and for each thread alone at each of them. The answer is a table of the verdicts, with what each level costs:
    /// the interleavings in which transactions are aborted, threads give up, and statements wait. A level that the
    /// thread's header or its statements name is replaced. The exit code is that of the file as it is written.
    #[arg(long, help_heading = "Search")]
    #[arg(conflicts_with_all = ["checkpoint", "graph", "store", "emit_spec", "emit_scenario", "fix", "confirm", "stats"])]
    pub(crate) levels: bool,

    /// Kind of search
    #[arg(long, value_name = "KIND", value_parser = choices::<SearchKind>(), help_heading = "Search")]
    pub(crate) search: Option<SearchKind>,

    /// Which steps a reduction takes to commute
    ///
    /// For the searches dpor, source and stateful. The finer the level, the fewer orders are tried; the answers are the
    /// same. `dpf-...` and `epor` are the relations of two papers, as printed there: they overlook some dependences, so
    /// they may miss an interleaving and never say "holds".
    #[arg(long, value_name = "LEVEL", value_parser = choices::<Dependence>(), help_heading = "Search")]
    pub(crate) dependence: Option<Dependence>,

    /// How many workers search at once
    ///
    /// For the search dpor; as many as there are processors unless given. The answer does not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024), help_heading = "Search")]
    pub(crate) jobs: Option<u64>,

    /// Keep a search that was stopped here, to go on later
    ///
    /// For the searches dpor and source. If a limit or Ctrl-C stops the search, what is left of it is written to the
    /// file, and the same command goes on from there. When everything was looked at, the file is removed.
    #[arg(long, value_name = "FILE", help_heading = "Search")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Report all violations, not the first
    ///
    /// The search goes on behind a violation. Each one that breaks another property, or breaks it by another cycle of
    /// statements, is told once, with its simplest run and its fixes; at most 20 of them. If the search comes to its
    /// end, the other properties hold.
    #[arg(long, conflicts_with = "checkpoint", help_heading = "Search")]
    pub(crate) all: bool,

    /// Where others may act: between statements, or also rows
    ///
    /// `row` makes each row that a statement locks a step of its own, as on a real server: two statements that lock the
    /// same rows in opposite orders then deadlock. There are many more interleavings.
    #[arg(long, value_name = "UNIT", value_parser = choices::<Granularity>(), help_heading = "Search")]
    pub(crate) granularity: Option<Granularity>,

    /// What counts when runs are compared with serial ones
    ///
    /// As `--@ option serial` in a scenario, and `serial = "..."` in the file of an application.
    #[arg(long, value_name = "DEGREE", value_parser = choices::<SerialCheck>(), help_heading = "Search")]
    pub(crate) oracle: Option<SerialCheck>,

    /// How states are recognised
    ///
    /// For the search stateful. The answers are the same, the times are not.
    #[arg(long, value_name = "HOW", value_parser = choices::<Hashing>(), help_heading = "Search")]
    pub(crate) hash: Option<Hashing>,

    /// How a state that was left is come back to
    ///
    /// For the searches stateful and stateless. The answers are the same, the times are not.
    #[arg(long, value_name = "HOW", value_parser = choices::<Restore>(), help_heading = "Search")]
    pub(crate) restore: Option<Restore>,

    /// Make every transaction a single step
    ///
    /// Transactions then interleave but never overlap, as if the database ran them one at a time. What goes wrong here
    /// goes wrong at every isolation level.
    #[arg(long, help_heading = "Search")]
    pub(crate) atomic: bool,

    /// Searches by chance: what decides the choices
    ///
    /// The same seed draws the same runs.
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) seed: Option<u64>,

    /// Searches by chance: how many runs to draw
    ///
    /// 1000 unless given.
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) runs: Option<u64>,

    /// PCT: how many steps in the right order a bug needs
    ///
    /// A run changes the priorities of threads at one point less than that. 3 unless given; most bugs need 1 to 3.
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub(crate) bug_depth: Option<u64>,

    /// Give up after this many states
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) states_max: Option<u64>,

    /// Follow no run beyond this many steps
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) depth_max: Option<u64>,

    /// Follow no run with more switches than this
    ///
    /// A switch counts if the thread switched away from could have gone on: a preemption. Most bugs show with one or
    /// two. For the searches stateful and stateless.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub(crate) preemptions: Option<u64>,

    /// Give up when the process uses this much: 500M, 4G
    ///
    /// Without it, most of what the machine or the container has.
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Limits")]
    pub(crate) memory_max: Option<u64>,

    /// Give up after this long: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Limits")]
    pub(crate) time_max: Option<Duration>,

    #[command(flatten)]
    pub(crate) output: CheckOutput,

    #[command(flatten)]
    pub(crate) html: Html,

    /// Draw who must come before whom: FILE.svg or FILE.dot
    ///
    /// A violation whose statements depend on each other in a cycle, or a deadlock, is drawn as a graph of its threads.
    /// The ending of the name says how: svg is a picture, dot is for Graphviz. There is one only for a single scenario.
    #[arg(long, value_name = "FILE", value_parser = Picture::parse, help_heading = "Output")]
    pub(crate) graph: Option<Picture>,

    /// Write every state and transition into a file of SQLite
    ///
    /// One row for each state: how far each thread is, and what is committed; the tables and views are those of
    /// `isolde space`, which takes the file, too: isolde space FILE --ctl 'AG EF (orders_1_status = "cancelled")'. All
    /// states are looked at, whatever the search.
    #[arg(long, value_name = "FILE", help_heading = "Output", conflicts_with = "on")]
    pub(crate) store: Option<PathBuf>,

    /// Write the counterexample as an isolation spec
    ///
    /// A test for PostgreSQL's own isolationtester, and for `isolde spec`: it sends the same statements in the same
    /// order, and then looks at the tables. Variables are written out; inside of routines, advisory locks give the
    /// order. Of an application, what it sent in that run. There is one only for a single file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) emit_spec: Option<PathBuf>,

    /// Write a scenario made from an application
    ///
    /// Its tables and rows, and the statements that each thread sends when it runs alone: a beginning for studying the
    /// race on the embedded engine. For applications (app.toml).
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) emit_scenario: Option<PathBuf>,

    /// Try no fixes for what goes wrong
    ///
    /// Otherwise changes to the file (locks, isolation levels, constraints, other statements) are made and checked over
    /// all interleavings, and the answer says which of them hold.
    #[arg(long, help_heading = "Fixes")]
    pub(crate) no_fixes: bool,

    /// Write the file with the best fix applied
    ///
    /// Only a fix that was checked and holds is written; if there is none, nothing is. An existing file stays as it is.
    #[arg(long, value_name = "FILE", conflicts_with = "no_fixes", help_heading = "Fixes")]
    pub(crate) fix: Option<PathBuf>,

    /// Let --fix replace an existing file, also the scenario itself
    #[arg(long, requires = "fix", help_heading = "Fixes")]
    pub(crate) overwrite: bool,

    /// Print only the verdict, a line for each file
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// Add what the search took: time, memory, steps/s
    ///
    /// Also states, transitions, executions, races, runs begun in vain, and the time spent on digests and on coming
    /// back to states. Without it the same input gives the same output, byte for byte.
    #[arg(long, help_heading = "Output")]
    pub(crate) stats: bool,

    /// Show no progress, even on a terminal
    #[arg(long, help_heading = "Output")]
    pub(crate) no_progress: bool,
}

/// `isolde replay`
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The scenario file; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Names of threads, in one argument or several
    #[arg(required = true, value_name = "SCHEDULE")]
    pub(crate) schedule: Vec<String>,

    /// Make every transaction a single step, as for explore
    #[arg(long)]
    pub(crate) atomic: bool,

    /// Between what others may act, as for explore
    #[arg(long, value_name = "UNIT", value_parser = choices::<Granularity>())]
    pub(crate) granularity: Option<Granularity>,

    /// Report all that the run violates, not the first
    #[arg(long)]
    pub(crate) all: bool,

    /// What counts in the serial outcome, as for explore
    #[arg(long, value_name = "DEGREE", value_parser = choices::<SerialCheck>())]
    pub(crate) oracle: Option<SerialCheck>,

    /// Run on this server: postgres://USER@HOST/DATABASE
    ///
    /// Instead of the embedded engine, in a database that is created for the run and dropped after it. What the URL
    /// leaves out is taken from PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE, as psql does.
    #[arg(long, value_name = "URL", value_parser = server::parse)]
    pub(crate) on: Option<Server>,

    #[command(flatten)]
    pub(crate) limits: Limits,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) html: Html,
}

/// A page beside the answer.
#[derive(Debug, Args)]
pub(crate) struct Html {
    /// Write the answer as a page for browsers, too
    ///
    /// One file that needs no other and no network: to be attached to a pull request, or printed. In it one can walk
    /// through a run step by step. Several answers share a page.
    #[arg(id = "html", long, value_name = "FILE", help_heading = "Output")]
    pub(crate) path: Option<PathBuf>,
}

/// Where an answer goes, and how it looks.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// text (default) or json
    ///
    /// With several files, json is one document for each, one after another.
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) format: Format,

    /// Write the answer to a file instead of standard output
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Where the answers of a check go that has its place in continuous integration, and how they look.
#[derive(Debug, Args)]
pub(crate) struct CheckOutput {
    /// text (default), json, sarif or junit
    ///
    /// With several files, json is one document for each, one after another; sarif (2.1.0, for code scanning) and junit
    /// are one document for all.
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) format: CheckFormat,

    /// Write the answer to a file instead of standard output
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
}

/// How the answer of a check is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// For code scanning
    Sarif,
    /// For whoever counts tests
    Junit,
}

impl From<Format> for CheckFormat {
    fn from(format: Format) -> CheckFormat {
        match format {
            Format::Text => CheckFormat::Text,
            Format::Json => CheckFormat::Json,
        }
    }
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The command that was given, as it can be given again.
pub(crate) fn command_line() -> String {
    let arguments =
        std::env::args_os().skip(1).map(|argument| shell_word(&server::masked(&argument.to_string_lossy())));
    std::iter::once("isolde".to_string()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// The command that follows a schedule on the server that this one has named.
pub(crate) fn replay_command(
    file: &str,
    schedule: &str,
    settings: &FileOptions,
    oracle: Option<SerialCheck>,
) -> String {
    let given: Vec<String> = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let url = given.iter().enumerate().find_map(|(at, argument)| match argument.strip_prefix("--on=") {
        Some(url) => Some(url.to_string()),
        None if argument == "--on" => given.get(at + 1).cloned(),
        None => None,
    });
    let mut words = vec!["isolde".to_string(), "replay".into(), shell_word(file), shell_word(schedule)];
    words.extend((settings.atomic == Some(true)).then(|| "--atomic".to_string()));
    words.extend((settings.all == Some(true)).then(|| "--all".to_string()));
    words.extend(oracle.into_iter().flat_map(|degree| ["--oracle".to_string(), degree.name().into()]));
    words.extend(url.into_iter().flat_map(|url| ["--on".to_string(), shell_word(&server::masked(&url))]));
    words.join(" ")
}

/// The names that scenario files know too.
fn choices<T: Choice>() -> impl TypedValueParser<Value = T> {
    let known = T::all().iter().map(|choice| PossibleValue::new(choice.word()).help(choice.about()));
    PossibleValuesParser::new(known)
        .map(|name| T::by_name(&name).expect("the parser lets through only names that are known"))
}

/// `500ms`, `30s`, `5m`, `1h`, `1.5h`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| "write a number and a unit, such as 30s".to_string())?;
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("unknown unit \"{other}\": write ms, s, m or h")),
    };
    Duration::try_from_secs_f64(number * seconds).map_err(|_| "that is too long".to_string())
}

/// `500M`, `4G`, `1.5GB`; a bare number is bytes.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| "write a number and a unit, such as 4G".to_string())?;
    let factor = match unit.trim().trim_end_matches(['b', 'B']).to_ascii_uppercase().as_str() {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return Err(format!("unknown unit \"{}\": write K, M, G or T", unit.trim())),
    };
    Ok((number * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn sizes() {
        assert_eq!(size("4G"), Ok(4_000_000_000));
        assert_eq!(size("1.5MB"), Ok(1_500_000));
        assert_eq!(size("100k"), Ok(100_000));
        assert_eq!(size("12"), Ok(12));
        for wrong in ["", "G", "-1G", "3 floppies", "..M"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_command_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn durations() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("30"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1.5h"), Ok(Duration::from_secs(5400)));
        for wrong in ["", "s", "-1s", "3 weeks", "1e999s", "..s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    /// `-h` stays a page of lines: nothing in it teaches, nothing is left without a word.
    #[test]
    fn every_flag_has_a_short_line() {
        for command in Cli::command().get_subcommands() {
            for flag in command.get_arguments() {
                let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.is_empty() && help.len() <= 60, "{} {}: {help:?}", command.get_name(), flag.get_id());
            }
        }
    }
}
