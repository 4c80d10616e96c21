//! `isolde model`: the data model of an application, verified.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use isolde_datamodel::check::{self, Options};
use isolde_datamodel::logic::{Limits, Schema, Semantics};
use isolde_datamodel::{Framework, picture};
use isolde_report::{Baseline, DeleteGraph, ModelReport, Verdict};
use isolde_smt::{INSTALL, Silence, Solver};

use crate::EXIT_INCONCLUSIVE;
use crate::args::{self, CheckOutput, Color, Html};
use crate::baseline::Baselines;
use crate::complain::Mistake;
use crate::guard::{Guard, Held, Limits as Bounds};
use crate::model_files::{Application, application, properties};
use crate::output::{self, write};
use crate::page::{self, Page};

pub(crate) const ABOUT: &str = "\
Verify the data model of an application: what deletes leave behind.

Reads the models of a Rails application (app/models, db/schema.rb or db/structure.sql), a Prisma schema, Django models or \
SQL tables, without booting anything and without a database. What should be true of every model is then decided for all data: \
nothing names what is gone, no delete passes over the rules of what it deletes, none is stopped by the database. What goes wrong \
is shown on the smallest data that show it, with the declaration that helps, tried out. With --props, the properties of a \
file are decided instead:

  every_photo:  all p: Photo | one p.profile
  bookmarks:    after delete u: User | no b: Bookmark | b.user = u
  can_be_empty: possible some t: Topic | no t.posts
  notes:        no dangling Note.project after Project";

pub(crate) const LONG_HELP: &str = "\
The proofs are those of an SMT solver, z3 or cvc5, which must be installed; --solver or ISOLDE_SOLVER names another.

What is so on purpose, a comment in the source says, with the name of the finding and a reason:
  # isolde:ignore dangling:Tag.photo:Photo tags are swept every night

Exit codes:
  0  holds: everything is proved for all data
  1  violated: something goes wrong, and was shown
  2  the command line or an input file has a mistake
  3  inconclusive: the solver is missing or does not know

Examples:
  isolde model path/to/rails-app
  isolde model path/to/rails-app --props shop.props
  isolde model path/to/rails-app --draw pictures
  isolde model path/to/rails-app --baseline isolde.baseline --format sarif -o isolde.sarif
  isolde model prisma/schema.prisma --format json";

/// `isolde model`
#[derive(Debug, Args)]
pub(crate) struct Model {
    /// The folder of an application, or a file
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Decide the properties of this file
    #[arg(long, value_name = "FILE")]
    props: Option<PathBuf>,

    /// Whose rules apply: rails, django, prisma, sql or paper
    ///
    /// Those of the framework, unless this says otherwise. `paper` is the semantics of Nijjar and Bultan (ASE 2012):
    /// every belongs_to names exactly one object, and only `destroy` and `delete` do anything.
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(Semantics::ALL.iter().map(|(name, _)| *name)))]
    semantics: Option<String>,

    /// Keep what a property cannot depend on, to compare
    #[arg(long)]
    no_projection: bool,

    /// How long the solver may think about one question
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = args::duration)]
    timeout: Duration,

    #[command(flatten)]
    bounds: Bounds,

    /// Objects of each class in a counterexample, at most
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = objects)]
    objects_max: usize,

    /// Ask this solver: z3, cvc5 or a path
    ///
    /// Otherwise the one that ISOLDE_SOLVER names, or the first of z3 and cvc5 that is installed.
    #[arg(long, value_name = "PROGRAM")]
    solver: Option<String>,

    #[command(flatten)]
    baselines: Baselines,

    /// Draw the classes and what their deletes do
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    svg: Option<PathBuf>,

    /// The same for Graphviz
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    dot: Option<PathBuf>,

    /// Draw the data of each finding into this folder
    ///
    /// Before the delete and after it, in two halves: NAME.svg is a picture, NAME.dot is for Graphviz. With --props,
    /// the data of each property. The folder is made if there is none.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    draw: Option<PathBuf>,

    /// Write the examples of all findings as SQL
    #[arg(long, value_name = "FILE", conflicts_with = "props", help_heading = "Output")]
    emit_sql: Option<PathBuf>,

    /// Write the questions of --props as SMT-LIB 2
    #[arg(long, value_name = "FILE", requires = "props", help_heading = "Output")]
    emit_smt2: Option<PathBuf>,

    #[command(flatten)]
    output: CheckOutput,

    #[command(flatten)]
    html: Html,
}

fn objects(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| (1..=20).contains(count)).ok_or_else(|| "write a number from 1 to 20".into())
}

/// Reads, decides and prints; says what to exit with.
pub(crate) fn run(args: &Model, color: Color) -> Result<u8, Mistake> {
    let page = Page::open(args.output.format, args.output.output.as_deref(), color)?.with(&args.html)?;
    let held = Held::new(page);
    let guard = guard(args, &held);
    let application = application(&args.path)?;
    guard.budget().begin("the proofs");
    let known = args.baselines.read()?;
    let properties = args.props.as_deref().map(|file| properties(file, &application.model)).transpose()?;
    let options = options(args, application.model.framework);
    if let (Some(path), Some(properties)) = (&args.emit_smt2, &properties) {
        write(path, &check::questions(&application.model, properties, &options))?;
    }
    let outputs = [&args.svg, &args.dot, &args.emit_sql, &args.emit_smt2];
    outputs.into_iter().flatten().map(PathBuf::as_path).try_for_each(output::declare)?;
    let Application { files, model, root } = &application;
    let solver = solver(args).map(|solver| solver.listening(guard.stop()));
    let answer = solver.and_then(|solver| check::check(model, files, properties.as_ref(), &solver, &options));
    drop(guard);
    let mut page = held.take();
    let mut report = match answer {
        Ok(report) => report,
        Err(silence) => {
            page::complain(&no_answer(&silence), color);
            return Ok(EXIT_INCONCLUSIVE);
        }
    };
    report.root = root.clone();
    if let Some(known) = &known {
        report.compare(known);
    }
    write_files(args, &application, &options, &report)?;
    page.model(&report)?;
    page.finish()?;
    Ok(report.verdict.exit_code())
}

/// A guard over reading and deciding.
fn guard(args: &Model, page: &Held<Page>) -> Guard {
    let (page, path) = (page.clone(), args.path.display().to_string());
    let guard = Guard::post(args.bounds, move |why| {
        let Some(mut page) = page.seize() else { return EXIT_INCONCLUSIVE };
        let mut report = ModelReport::new(&args::command_line(), &path, "");
        report.verdict = Verdict::Inconclusive(why.into());
        // If it cannot be written, the exit code still tells.
        let _ = page.model(&report).and_then(|()| page.remark(why)).and_then(|()| page.finish());
        EXIT_INCONCLUSIVE
    });
    guard.budget().begin("reading");
    guard
}

fn solver(args: &Model) -> Result<Solver, Silence> {
    match &args.solver {
        Some(program) => Solver::find(Some(program), std::env::var_os("PATH").as_deref()),
        None => Solver::from_environment(),
    }
}

/// Why nothing is known at all.
fn no_answer(silence: &Silence) -> Mistake {
    match silence {
        Silence::Missing(_) => Mistake::new(silence.to_string()),
        _ => Mistake::Elsewhere { message: silence.to_string(), hint: Some(INSTALL.into()) },
    }
}

/// What is written beside the answer.
fn write_files(
    args: &Model,
    application: &Application,
    options: &Options,
    report: &ModelReport,
) -> Result<(), Mistake> {
    args.baselines.write(|| Baseline::of(report))?;
    if let Some(path) = &args.emit_sql {
        write(path, &report.to_sql())?;
    }
    if let Some(folder) = &args.draw {
        draw_examples(folder, report)?;
    }
    type Draw = fn(&DeleteGraph) -> String;
    for (path, draw) in [(&args.svg, DeleteGraph::to_svg as Draw), (&args.dot, DeleteGraph::to_dot)] {
        let Some(path) = path else { continue };
        let schema = Schema::new(&application.model, options.semantics);
        let wrong = report.findings.iter().chain(&report.known).map(|finding| finding.id.as_str()).collect();
        write(path, &draw(&picture::graph(&schema, &report.path, &wrong)))?;
    }
    Ok(())
}

/// Draws what shows each finding, and each property for which there are data.
fn draw_examples(folder: &Path, report: &ModelReport) -> Result<(), Mistake> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Mistake::new(format!("{} cannot be made: {error}", folder.display())))?;
    for (name, example) in report.examples() {
        let file = |ending: &str| folder.join(format!("{}.{ending}", file_name(name)));
        let delete = example.delete.as_deref();
        write(&file("svg"), &example.graph.to_svg(name, delete))?;
        write(&file("dot"), &example.graph.to_dot(name, delete))?;
    }
    Ok(())
}

/// The name of a finding without what some file systems do not like: `dangling-Photo.profile-Profile`.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect()
}

fn options(args: &Model, framework: Framework) -> Options {
    let named = |name: &String| Semantics::ALL.iter().find(|(known, _)| known == name).map(|(_, semantics)| *semantics);
    Options {
        semantics: args.semantics.as_ref().and_then(named).unwrap_or(Semantics::of(framework)),
        limits: Limits { projection: !args.no_projection, timeout: args.timeout, objects_max: args.objects_max },
        command: args::command_line(),
        path: args.path.display().to_string(),
    }
}
