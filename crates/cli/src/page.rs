//! Where answers go: the terminal, a pipe or a file; and how they look there.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anstream::{AutoStream, ColorChoice};
use isolde_report::{HtmlPage, LevelsReport, ModelReport, ProveReport, Report, SpaceReport, Style, TraceStyle};
use serde::de::DeserializeOwned;

use crate::args::{self, CheckFormat, Color, Html, Output};
use crate::complain::{Look, Mistake};
use crate::output::{self, Draft};
use crate::plain;

/// Width of a page that is not on a terminal. Fixed, so that the same input gives the same output.
const WIDTH: usize = 100;
/// Narrower or wider pages are not filled.
const WIDTHS: std::ops::RangeInclusive<usize> = 60..=160;

/// Of the longest verdict, so that lines of several files align.
const VERDICT_WIDTH: usize = "inconclusive".len();

/// Takes the answers of one command.
pub(crate) struct Page {
    to: To,
    /// How a failure to write is told.
    name: String,
    format: CheckFormat,
    style: Style,
    /// Answers that are written together.
    held: Vec<Report>,
    /// Files about which there is no answer, and why.
    mistakes: Vec<(String, String)>,
    /// A page for browsers, if one is wanted, and where it goes.
    html: Option<(HtmlPage, PathBuf)>,
}

impl Page {
    /// The page that the flags of most commands ask for.
    pub(crate) fn of(output: &Output, color: Color) -> Result<Page, Mistake> {
        Page::open(output.format.into(), output.output.as_deref(), color)
    }

    /// A page in this format: a file, or standard output.
    pub(crate) fn open(format: CheckFormat, file: Option<&Path>, color: Color) -> Result<Page, Mistake> {
        let page = match file {
            Some(path) => {
                output::declare(path)?;
                let to = To::File(Draft::open(path)?, false);
                Page { to, name: path.display().to_string(), ..Page::stdout(color) }
            }
            None => Page::stdout(color),
        };
        let color = page.style.color && (file.is_none() || color == Color::Always);
        let width = if file.is_some() { WIDTH } else { page.style.width };
        Ok(Page { format, style: Style { width, color }, ..page })
    }

    fn stdout(color: Color) -> Page {
        let style = Style { width: width(), color: colored(color, &io::stdout()) };
        let (name, format) = ("standard output".into(), CheckFormat::Text);
        Page { to: To::Stdout(io::stdout()), name, format, style, held: Vec::new(), mistakes: Vec::new(), html: None }
    }

    /// The same, with a page for browsers beside it if the flags ask for one.
    pub(crate) fn with(self, html: &Html) -> Result<Page, Mistake> {
        html.path.as_deref().map_or(Ok(()), output::declare)?;
        Ok(Page { html: html.path.clone().map(|path| (HtmlPage::default(), path)), ..self })
    }

    /// Writes a whole answer; or holds it, if answers are written [together](Page::finish).
    pub(crate) fn answer(&mut self, report: &Report) -> Result<(), Mistake> {
        self.show(|html| html.answer(report));
        self.whole(report)
    }

    /// Puts something on the page for browsers, if there is one.
    fn show(&mut self, what: impl FnOnce(&mut HtmlPage)) {
        if let Some((html, _)) = &mut self.html {
            what(html);
        }
    }

    fn whole(&mut self, report: &Report) -> Result<(), Mistake> {
        match self.format {
            CheckFormat::Text => self.write(&harmless(report, Report::to_json, |report| report.to_text(self.style))),
            CheckFormat::Json => self.write(&report.to_json()),
            CheckFormat::Sarif | CheckFormat::Junit => {
                self.held.push(report.clone());
                Ok(())
            }
        }
    }

    /// Notes that there is no answer about a file, for formats in which silence would be taken for success.
    pub(crate) fn mistaken(&mut self, file: &Path, mistake: &Mistake) {
        let why = mistake.draw(Look { color: false, lines: false });
        self.show(|html| html.mistake(&file.display().to_string(), why.trim_end()));
        self.mistakes.push((file.display().to_string(), why.trim_end().into()));
    }

    /// Writes the answers that were held, and the page for browsers.
    pub(crate) fn finish(mut self) -> Result<(), Mistake> {
        if let Some((html, path)) = self.html.take() {
            output::write(&path, &html.to_html(&args::command_line()))?;
        }
        self.write_held()?;
        match self.to {
            // A run without any answer leaves the older one.
            To::File(file, true) => file.finish().map_err(|error| unwritten(&self.name, &error)),
            To::File(_, false) | To::Stdout(_) => Ok(()),
        }
    }

    fn write_held(&mut self) -> Result<(), Mistake> {
        let (held, mistakes) = (std::mem::take(&mut self.held), std::mem::take(&mut self.mistakes));
        match self.format {
            _ if held.is_empty() && mistakes.is_empty() => Ok(()),
            CheckFormat::Text | CheckFormat::Json => Ok(()),
            CheckFormat::Sarif => self.write(&Report::to_sarif(&args::command_line(), &held, &mistakes)),
            CheckFormat::Junit => self.write(&Report::to_junit(&held, &mistakes)),
        }
    }

    /// Writes one line of an answer: the verdict and what it is about. Only text has a short form.
    pub(crate) fn verdict(&mut self, report: &Report) -> Result<(), Mistake> {
        self.show(|html| html.answer(report));
        match self.format {
            CheckFormat::Text => {
                let text = harmless(report, Report::to_json, |report| report.to_text(self.style));
                let (verdict, file) = text.lines().next().and_then(|line| line.split_once("  ")).unwrap_or_default();
                let space = " ".repeat(VERDICT_WIDTH.saturating_sub(report.verdict.word().len()));
                self.line(&format!("{verdict}{space}  {file}"))
            }
            _ => self.whole(report),
        }
    }

    /// Writes a whole answer about isolation levels.
    pub(crate) fn levels(&mut self, report: &LevelsReport) -> Result<(), Mistake> {
        self.show(|html| html.levels(report));
        match self.format {
            CheckFormat::Text => {
                self.write(&harmless(report, LevelsReport::to_json, |report| report.to_text(self.style)))
            }
            _ => self.write(&report.to_json()),
        }
    }

    /// Writes a whole answer about a data model.
    pub(crate) fn model(&mut self, report: &ModelReport) -> Result<(), Mistake> {
        self.show(|html| html.model(report));
        match self.format {
            CheckFormat::Text => {
                self.write(&harmless(report, ModelReport::to_json, |report| report.to_text(self.style)))
            }
            CheckFormat::Json => self.write(&report.to_json()),
            CheckFormat::Sarif => self.write(&report.to_sarif()),
            CheckFormat::Junit => self.write(&report.to_junit()),
        }
    }

    /// Writes a whole answer about a state space.
    pub(crate) fn space(&mut self, report: &SpaceReport, traces: TraceStyle) -> Result<(), Mistake> {
        self.show(|html| html.space(report));
        match self.format {
            CheckFormat::Text => {
                self.write(&harmless(report, SpaceReport::to_json, |report| report.to_text(self.style, traces)))
            }
            _ => self.write(&report.to_json()),
        }
    }

    /// Writes a whole answer about procedures.
    pub(crate) fn proof(&mut self, report: &ProveReport) -> Result<(), Mistake> {
        self.show(|html| html.proof(report));
        match self.format {
            CheckFormat::Text => {
                self.write(&harmless(report, ProveReport::to_json, |report| report.to_text(self.style)))
            }
            _ => self.write(&report.to_json()),
        }
    }

    /// Whether answers are for programs.
    pub(crate) fn is_json(&self) -> bool {
        self.format != CheckFormat::Text
    }

    /// Writes text as it is.
    pub(crate) fn verbatim(&mut self, text: &str) -> Result<(), Mistake> {
        match matches!(self.to, To::Stdout(_)) && io::stdout().is_terminal() {
            true => self.write(&plain::escaped(text)),
            false => self.write(text),
        }
    }

    /// Writes a line between answers, for people only.
    pub(crate) fn remark(&mut self, text: &str) -> Result<(), Mistake> {
        match self.format {
            CheckFormat::Text => self.line(&plain::escaped(text)),
            _ => Ok(()),
        }
    }

    fn line(&mut self, text: &str) -> Result<(), Mistake> {
        self.write(&format!("{text}\n"))
    }

    fn write(&mut self, text: &str) -> Result<(), Mistake> {
        let written = match &mut self.to {
            To::Stdout(out) => out.write_all(text.as_bytes()).and_then(|()| out.flush()),
            To::File(file, written) => {
                *written = true;
                file.write_all(text.as_bytes()).and_then(|()| file.flush())
            }
        };
        match written {
            // Whoever reads has seen enough, as `head` does.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(|error| unwritten(&self.name, &error)),
        }
    }
}

/// The text of a report in which nothing can be taken for a command by a terminal: what comes from data is escaped
/// before it is coloured.
fn harmless<R: DeserializeOwned>(report: &R, json: fn(&R) -> String, text: impl Fn(&R) -> String) -> String {
    let escaped = plain::escaped_document(&json(report)).and_then(|json| serde_json::from_str(&json).ok());
    match escaped {
        Some(escaped) => text(&escaped),
        None => text(report),
    }
}

fn unwritten(name: &str, error: &io::Error) -> Mistake {
    Mistake::new(format!("{name} cannot be written: {error}"))
}

/// Where an answer goes.
enum To {
    Stdout(io::Stdout),
    /// And whether there is something in it.
    File(Draft, bool),
}

/// Writes a mistake to standard error, where it belongs.
pub(crate) fn complain(mistake: &Mistake, color: Color) {
    let stderr = io::stderr();
    let look = Look { color: colored(color, &stderr), lines: stderr.is_terminal() };
    // If even this fails, the exit code still tells.
    let _ = stderr.lock().write_all(mistake.draw(look).as_bytes());
}

fn colored<S: anstream::stream::RawStream>(color: Color, stream: &S) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => AutoStream::choice(stream) != ColorChoice::Never,
    }
}

fn width() -> usize {
    match terminal_size::terminal_size() {
        Some((width, _)) if io::stdout().is_terminal() => usize::from(width.0).clamp(*WIDTHS.start(), *WIDTHS.end()),
        _ => WIDTH,
    }
}
