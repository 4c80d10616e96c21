//! `isolde prove`: the procedures of a file against its rules.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use isolde_prove::{Gap, Known, Limits, Named, Options, Program, abstraction, ir};
use isolde_report::{FlowGraph, ProofCell, ProveReport, Verdict};
use isolde_scenario::file::{self, QuerySection, ScenarioFile};
use isolde_smt::Solver;

use crate::args::{self, Color, Html, Output};
use crate::baseline::Baselines;
use crate::complain::Mistake;
use crate::guard::{Guard, Held, Limits as Bounds};
use crate::page::{self, Page};
use crate::server::{self, Server};
use crate::{EXIT_INCONCLUSIVE, input, output, prove_confirm};

pub(crate) const ABOUT: &str = "\
Prove that procedures keep the rules of the data, for all arguments and all rows.

Reads a SQL file with tables, procedures and rules: the `--@ invariant` sections of a scenario, and `--@ rule NAME` sections, \
each one query that must return true. Every procedure is decided against every rule, without running it: either it keeps the rule \
whatever it is called with and whatever is in the tables, or there are rows and arguments with which it does not, and these are run and \
shown. `--@ assume PROCEDURE` and `SELECT condition` say what callers see to.";

pub(crate) const LONG_HELP: &str = "\
The proofs are those of an SMT solver, z3 or cvc5, which must be installed; ISOLDE_SOLVER names another.

Exit codes:
  0  holds: every procedure keeps every rule
  1  violated: some procedure breaks a rule, and was shown to
  2  the command line or the file has a mistake
  3  inconclusive: something is not modelled, or the solver is missing or does not know

Examples:
  isolde prove examples/atm/withdraw.sql
  isolde prove bank.sql --procedure withdraw --rule never_overdrawn
  isolde prove bank.sql --procedure withdraw --explain
  isolde prove bank.sql --confirm postgres://localhost/postgres
  isolde prove bank.sql --emit cfg --procedure withdraw --output withdraw.svg";

/// `isolde prove`
#[derive(Debug, Args)]
pub(crate) struct Prove {
    /// A SQL file with tables, procedures and rules
    #[arg(value_name = "FILE")]
    path: PathBuf,

    /// Look at this procedure only
    #[arg(long, value_name = "NAME")]
    procedure: Option<String>,

    /// Look at this rule only
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,

    /// How long the solver may think about one question
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = args::duration)]
    timeout: Duration,

    #[command(flatten)]
    bounds: Bounds,

    /// How often loops are written out when looking for violations
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = rounds)]
    rounds_max: usize,

    /// Also look for procedures that break a rule together
    ///
    /// Of procedures that keep a rule alone, one is interrupted by a whole run of another before it writes, as READ
    /// COMMITTED lets it happen. That nothing is found is no proof: `isolde explore` looks at all interleavings of
    /// given calls.
    #[arg(long)]
    interference: bool,

    /// Run what breaks a rule on this server as well
    ///
    /// Rows and calls that break a rule have been run on the embedded engine. They are run once more on a real server,
    /// in a database that is created for that and dropped after it, and the answer says whether the rule is broken
    /// there too.
    #[arg(long, value_name = "URL", value_parser = server::parse)]
    confirm: Option<Server>,

    /// Tell how a proof is found by predicate abstraction
    ///
    /// Predicates, ways to the error and why they cannot happen, what was learnt.
    #[arg(long)]
    explain: bool,

    /// Print what is worked on instead of the answer
    ///
    /// `cfg` is the control-flow graph of each procedure, with line numbers: a picture if --output names a file that
    /// ends in .svg, otherwise for Graphviz; `boolean-program` is what is left of each procedure when it is
    /// looked at through predicates, before and after each refinement; `smt2` is every question that was put to the
    /// solver; `scenario` is what --interference has found, as a file for isolde explore.
    #[arg(long, value_name = "WHAT", conflicts_with = "html")]
    emit: Option<Emit>,

    /// How many cells are decided at once
    ///
    /// As many as there are processors unless given. The answer does not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    jobs: Option<u64>,

    /// Keep answers in this directory, and use those kept there
    ///
    /// A cell is asked again when the schema, a rule, its procedure or one that it calls has changed; not when another
    /// procedure has.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,

    /// Show each answer on standard error as it is decided
    ///
    /// Without it, only where that is a terminal.
    #[arg(long)]
    progress: bool,

    #[command(flatten)]
    baselines: Baselines,

    #[command(flatten)]
    output: Output,

    #[command(flatten)]
    html: Html,
}

/// What to print instead of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emit {
    Cfg,
    BooleanProgram,
    Smt2,
    Scenario,
}

fn rounds(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| (1..=10).contains(count)).ok_or_else(|| "write a number from 1 to 10".into())
}

/// Reads, decides and prints; says what to exit with.
pub(crate) fn run(args: &Prove, color: Color) -> Result<u8, Mistake> {
    let held = Held::new(Page::of(&args.output, color)?.with(&args.html)?);
    let guard = guard(args, &held);
    let (file, program) = match program(args) {
        Err(Mistake::InFile(error)) if error.is_cut() => return no_answer(held.take(), &args.path, &error.to_string()),
        read => read?,
    };
    guard.budget().begin("the proofs");
    if args.emit == Some(Emit::Cfg) {
        let mut page = held.take();
        page.verbatim(&graphs(&program, args)?)?;
        return page.finish().map(|()| 0);
    }
    let options = Options {
        limits: Limits { timeout: args.timeout, rounds_max: args.rounds_max, guards: true },
        procedure: args.procedure.clone(),
        rule: args.rule.clone(),
        interference: args.interference || args.emit == Some(Emit::Scenario),
        command: args::command_line(),
        path: args.path.display().to_string(),
        jobs: args.jobs.unwrap_or_else(processors) as usize,
    };
    let baseline = args.baselines.read()?;
    let known = args.cache.as_deref().map(cached).transpose()?.unwrap_or_default();
    let shows = args.progress || std::io::stderr().is_terminal();
    let tell = move |cell: &ProofCell| {
        if shows {
            eprintln!("{} {} {}", cell.procedure, cell.rule, cell.verdict);
        }
    };
    let solver = Solver::from_environment().map(|solver| solver.listening(guard.stop()));
    if args.emit == Some(Emit::BooleanProgram) {
        return match solver.and_then(|solver| abstraction::boolean_programs(&program, &solver, &options)) {
            Ok(text) => {
                let mut page = held.take();
                page.verbatim(&text).and_then(|()| page.finish()).map(|()| 0)
            }
            Err(silence) => {
                page::complain(&Mistake::new(silence.to_string()), color);
                Ok(EXIT_INCONCLUSIVE)
            }
        };
    }
    let asked = solver.and_then(|solver| {
        let story = args.explain.then(|| abstraction::explanations(&program, &solver, &options)).transpose()?;
        Ok((isolde_prove::check_telling(&program, &solver, &options, &known, &tell)?, story))
    });
    drop(guard);
    let mut page = held.take();
    match asked {
        Ok(((mut report, scripts), story)) => {
            if let Some(folder) = &args.cache {
                keep(folder, &known, &report)?;
            }
            args.baselines.write(|| report.baseline())?;
            if let Some(baseline) = &baseline {
                report.compare(baseline);
            }
            if let Some(server) = &args.confirm {
                prove_confirm::confirm(&mut report, &file, server)?;
            }
            match args.emit {
                Some(Emit::Smt2) => page.verbatim(&questions(&scripts))?,
                Some(Emit::Scenario) => {
                    let first = report.interferences.first();
                    page.verbatim(first.map_or("-- no interference was found\n", |found| &found.scenario))?;
                }
                _ => page.proof(&report)?,
            }
            if let Some(story) = story {
                page.remark(&format!("\n{}", story.trim_end()))?;
            }
            page.finish()?;
            Ok(report.verdict.exit_code())
        }
        Err(silence) => {
            page::complain(&Mistake::new(silence.to_string()), color);
            Ok(EXIT_INCONCLUSIVE)
        }
    }
}

/// A guard over reading and proving.
fn guard(args: &Prove, page: &Held<Page>) -> Guard {
    let (page, path) = (page.clone(), args.path.clone());
    let guard = Guard::post(args.bounds, move |why| match page.seize() {
        Some(page) => no_answer(page, &path, why).unwrap_or_else(|mistake| mistake.exit_code()),
        None => EXIT_INCONCLUSIVE,
    });
    guard.budget().begin("reading");
    guard
}

/// Writes that nothing is known.
fn no_answer(mut page: Page, path: &Path, why: &str) -> Result<u8, Mistake> {
    let mut report = ProveReport::new(&args::command_line(), &path.display().to_string());
    report.verdict = Verdict::Inconclusive(why.into());
    page.proof(&report)?;
    page.finish()?;
    Ok(EXIT_INCONCLUSIVE)
}

fn program(args: &Prove) -> Result<(ScenarioFile, Program), Mistake> {
    let included = input::read(&args.path)?;
    let file = file::read_procedures(&included.name, &included.text, &mut input::include)?;
    let (database, skipped) = isolde_scenario::set_up_possible(&file)?;
    let rules: Vec<Named<'_>> = file.invariants.iter().chain(&file.rules).map(named).collect();
    let assumptions: Vec<Named<'_>> = file.assumptions.iter().map(named).collect();
    let source = file.sources.text();
    let gaps = skipped.iter().map(|s| Gap::new(database.catalog(), source, &s.statement, &s.why)).collect();
    let program = Program::partly(database, source, &rules, &assumptions, gaps).map_err(|d| file.sources.error(d))?;
    let known = |id: &_| Some(&*program.catalog().routine(*id).name) == args.procedure.as_deref();
    if args.procedure.is_some() && !program.procedures().iter().any(known) {
        return Err(Mistake::new(format!(
            "{} has no procedure {}",
            included.name,
            args.procedure.as_deref().unwrap_or("")
        )));
    }
    if program.rules.is_empty() {
        return Err(Mistake::Elsewhere {
            message: format!("{} has no rules", included.name),
            hint: Some("write `--@ rule NAME` on a line above a query that must return true".into()),
        });
    }
    if program.procedures().is_empty() {
        return Err(Mistake::new(format!("{} has no procedures", included.name)));
    }
    Ok((file, program))
}

fn processors() -> u64 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u64)
}

/// The file of a cache: cells by what they are about.
const CELLS: &str = "cells.json";

/// What a cache knows; a file that cannot be read is as good as none.
fn cached(folder: &Path) -> Result<Known, Mistake> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Mistake::new(format!("{} cannot be made: {error}", folder.display())))?;
    let text = std::fs::read_to_string(folder.join(CELLS)).unwrap_or_default();
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

/// Adds what was decided for good to a cache: what a solver did not know is asked again.
fn keep(folder: &Path, known: &Known, report: &ProveReport) -> Result<(), Mistake> {
    let mut all = known.clone();
    let decided = report.cells.iter().filter(|cell| matches!(cell.verdict.as_str(), "safe" | "unsafe"));
    all.extend(decided.map(|cell| (cell.content.clone(), cell.clone())));
    let text = serde_json::to_string(&all).map_err(|error| Mistake::new(error.to_string()))?;
    output::write(&folder.join(CELLS), &text)
}

fn named(section: &QuerySection) -> Named<'_> {
    Named { name: &section.name, statement: &section.statement.ast }
}

/// The graphs of the procedures: a picture if the page is a file that is called one, otherwise for Graphviz.
fn graphs(program: &Program, args: &Prove) -> Result<String, Mistake> {
    let mut graphs = Vec::new();
    for id in program.procedures() {
        let name = &program.catalog().routine(id).name;
        if args.procedure.as_ref().is_some_and(|wanted| **wanted != **name) {
            continue;
        }
        let graph = ir::lower(program.catalog(), id).map_err(|refusal| {
            let line = refusal.span.map(|span| format!(" (line {})", program.line(span))).unwrap_or_default();
            Mistake::new(format!("{name}: not modelled: {}{line}", refusal.what))
        })?;
        graphs.push(ir::to_flow(&graph, &program.source));
    }
    let ending = args.output.output.as_ref().and_then(|path| path.extension());
    Ok(match ending.is_some_and(|ending| ending.eq_ignore_ascii_case("svg")) {
        true => FlowGraph::to_svg(&graphs),
        false => graphs.iter().map(FlowGraph::to_dot).collect(),
    })
}

fn questions(scripts: &[(String, String)]) -> String {
    scripts.iter().map(|(name, text)| format!("; {name}\n(reset)\n{text}(check-sat)\n\n")).collect()
}
