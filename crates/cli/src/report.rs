//! `isolde report`: answers that were kept as JSON, as text or as a page.

use std::path::PathBuf;

use clap::Args;
use isolde_report::{Answer, TraceStyle};

use crate::args::{CheckOutput, Color, Html};
use crate::complain::Mistake;
use crate::input;
use crate::page::Page;

pub(crate) const ABOUT: &str = "\
Show answers that were kept as JSON.

The other commands write their answers as JSON with --format json; this one reads them again, and writes them as a page, as text, or for \
continuous integration. So the answer of a long search can be kept, and looked at in any form later.";

pub(crate) const LONG_HELP: &str = "\
Exit codes:
  0  the answers were written, whatever they say
  2  the command line or a file has a mistake

Example:
  isolde explore --format json scenarios/*.sql > answers.json
  isolde report answers.json --html answers.html";

/// `isolde report`
#[derive(Debug, Args)]
pub(crate) struct Kept {
    /// Files with answers; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    output: CheckOutput,

    #[command(flatten)]
    html: Html,
}

/// Reads the answers and writes them again.
pub(crate) fn run(args: &Kept, color: Color) -> Result<u8, Mistake> {
    let mut page = Page::open(args.output.format, args.output.output.as_deref(), color)?.with(&args.html)?;
    for path in &args.files {
        let file = input::read(path)?;
        let answers = Answer::read(&file.text).map_err(|why| Mistake::new(format!("{}: {why}", file.name)))?;
        for (index, answer) in answers.iter().enumerate() {
            if index > 0 {
                page.remark("")?;
            }
            match answer {
                Answer::Explored(report) => page.answer(report)?,
                Answer::Leveled(report) => page.levels(report)?,
                Answer::Modelled(report) => page.model(report)?,
                Answer::Proved(report) => page.proof(report)?,
                Answer::Spaced(report) => page.space(report, TraceStyle::Table)?,
            }
        }
    }
    page.finish()?;
    Ok(0)
}
