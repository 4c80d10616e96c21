//! `isolde model`: the data model of an application, verified.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use isolde_datamodel::check::{self, Options};
use isolde_datamodel::logic::{Limits, Semantics};
use isolde_datamodel::property::Properties;
use isolde_datamodel::read::{self, File};
use isolde_datamodel::{DataModel, Framework};
use isolde_smt::Solver;

use crate::args::{self, Color, Output};
use crate::complain::Mistake;
use crate::input;
use crate::page::{self, Page};

/// Nothing is known, because nobody can answer.
const EXIT_INCONCLUSIVE: u8 = 3;

/// More files than this are no application.
const FILES_MAX: usize = 200_000;

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
The proofs are those of an SMT solver, z3 or cvc5, which must be installed; ISOLDE_SOLVER names another.

Exit codes:
  0  holds: everything is proved for all data
  1  violated: something goes wrong, and was shown
  2  the command line or an input file has a mistake
  3  inconclusive: the solver is missing or does not know

Examples:
  isolde model path/to/rails-app
  isolde model path/to/rails-app --props shop.props
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
    /// Those of the framework, unless this says otherwise. `paper` is the semantics of Nijjar and Bultan (ASE 2012): every
    /// belongs_to names exactly one object, and only `destroy` and `delete` do anything.
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(Semantics::ALL.iter().map(|(name, _)| *name)))]
    semantics: Option<String>,

    /// Keep what a property cannot depend on, to compare
    #[arg(long)]
    no_projection: bool,

    /// How long the solver may think about one question
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = args::duration)]
    timeout: Duration,

    /// Objects of each class in a counterexample, at most
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = objects)]
    objects_max: usize,

    /// Write the questions of --props as SMT-LIB 2
    #[arg(long, value_name = "FILE", requires = "props")]
    emit_smt2: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

fn objects(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| (1..=20).contains(count)).ok_or_else(|| "write a number from 1 to 20".into())
}

/// Reads, decides and prints; says what to exit with.
pub(crate) fn run(args: &Model, color: Color) -> Result<u8, Mistake> {
    let model = model(&args.path)?;
    let properties = args.props.as_deref().map(|file| properties(file, &model)).transpose()?;
    let options = options(args, model.framework);
    if let (Some(path), Some(properties)) = (&args.emit_smt2, &properties) {
        let text = check::questions(&model, properties, &options);
        fs::write(path, text)
            .map_err(|error| Mistake::new(format!("{} cannot be written: {error}", path.display())))?;
    }
    let mut page = Page::open(&args.output, color)?;
    let answer =
        Solver::from_environment().and_then(|solver| check::check(&model, properties.as_ref(), &solver, &options));
    match answer {
        Ok(report) => {
            page.model(&report)?;
            Ok(report.verdict.exit_code())
        }
        Err(silence) => {
            page::complain(&Mistake::new(silence.to_string()), color);
            Ok(EXIT_INCONCLUSIVE)
        }
    }
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

fn model(path: &Path) -> Result<DataModel, Mistake> {
    let mut files = Vec::new();
    match path.is_dir() {
        true => gather(path, path, &mut files)?,
        false => files.push(file(path, path.file_name().map(Path::new).unwrap_or(path))?),
    }
    let Some(framework) = read::detect(&files) else {
        return Err(Mistake::Elsewhere {
            message: format!("{} has no data model that is understood", path.display()),
            hint: Some(
                "name the folder of a Rails or Django application, a Prisma schema or a file of SQL tables".into(),
            ),
        });
    };
    let model = read::read(framework, &files);
    match model.classes.is_empty() {
        true => Err(Mistake::new(format!("{} has no classes", path.display()))),
        false => Ok(model),
    }
}

/// The files of a folder that matter, in the order of their names.
fn gather(root: &Path, folder: &Path, files: &mut Vec<File>) -> Result<(), Mistake> {
    let cannot = |error: std::io::Error| Mistake::new(format!("{} cannot be read: {error}", folder.display()));
    let mut entries = fs::read_dir(folder).map_err(cannot)?.collect::<Result<Vec<_>, _>>().map_err(cannot)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let relative = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
        let kind = entry.file_type().map_err(cannot)?;
        // Links are not followed: they may lead round in circles.
        if kind.is_dir() && read::wanted(&format!("{}/x.rb", relative.display())) {
            gather(root, &path, files)?;
        } else if kind.is_file() && read::wanted(&relative.to_string_lossy()) {
            // A file that is no text has nothing to say about models.
            files.extend(file(&path, &relative).ok());
        }
        if files.len() > FILES_MAX {
            return Err(Mistake::new(format!("{} has too many files to be an application", root.display())));
        }
    }
    Ok(())
}

fn file(path: &Path, name: &Path) -> Result<File, Mistake> {
    let text = input::read_text(path).map_err(Mistake::new)?;
    Ok(File::new(name.to_string_lossy().replace('\\', "/"), text))
}

fn properties(path: &Path, model: &DataModel) -> Result<Properties, Mistake> {
    let text = input::read_text(path).map_err(Mistake::new)?;
    Properties::parse(&text, model).map_err(|error| Mistake::InText {
        file: path.display().to_string(),
        text: text.clone(),
        span: error.span,
        message: error.message,
        hint: error.hint,
    })
}
