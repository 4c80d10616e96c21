//! Answers as one page for browsers: to be attached to a pull request, kept, printed.
//!
//! The page is a single file. It fetches nothing (and says so, in a policy that browsers enforce), follows the reader's
//! light or dark colours, and is complete without its script, which only lets one walk through a run step by step.
//!
//! An [`HtmlPage`] takes one answer after another; several get a table of contents. Whatever comes from the user,
//! names, statements, values, is text: `maud` escapes it, and the drawings escape theirs.

mod answer;
mod fixes;
mod levels;
mod model;
mod prove;
mod run;
mod space;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{LevelsReport, ModelReport, ProveReport, Report, SpaceReport, Verdict};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// No page of ours has a reason to fetch anything.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// A page with answers.
#[derive(Debug, Default)]
pub struct HtmlPage {
    entries: Vec<Entry>,
}

/// One answer on the page.
#[derive(Debug)]
pub(crate) struct Entry {
    /// What it is about: a file.
    pub(crate) subject: String,
    pub(crate) tone: Tone,
    /// The verdict in a word or two.
    pub(crate) verdict: String,
    /// What the verdict is about: a property, a reason.
    pub(crate) about: String,
    /// Everything below the verdict.
    pub(crate) body: Markup,
}

/// How a verdict is meant; a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Unsure,
}

impl Tone {
    /// What a verdict in words is meant as.
    pub(crate) fn of_word(verdict: &str) -> Tone {
        match verdict {
            "holds" | "safe" => Tone::Good,
            "fails" | "unsafe" | "violated" => Tone::Bad,
            _ => Tone::Unsure,
        }
    }

    pub(crate) fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Bad => "bad",
            Tone::Unsure => "unsure",
        }
    }
}

impl From<&Verdict> for Tone {
    fn from(verdict: &Verdict) -> Tone {
        match verdict {
            Verdict::Holds => Tone::Good,
            Verdict::Violated => Tone::Bad,
            Verdict::Inconclusive(_) => Tone::Unsure,
        }
    }
}

impl HtmlPage {
    /// Adds an answer.
    pub fn answer(&mut self, report: &Report) {
        self.entries.push(answer::entry(report));
    }

    /// Adds an answer about isolation levels.
    pub fn levels(&mut self, report: &LevelsReport) {
        self.entries.push(levels::entry(report));
    }

    /// Adds an answer about a data model.
    pub fn model(&mut self, report: &ModelReport) {
        self.entries.push(model::entry(report));
    }

    /// Adds an answer about procedures.
    pub fn proof(&mut self, report: &ProveReport) {
        self.entries.push(prove::entry(report));
    }

    /// Adds an answer about a state space.
    pub fn space(&mut self, report: &SpaceReport) {
        self.entries.push(space::entry(report));
    }

    /// Adds a file about which there is no answer, and why.
    pub fn mistake(&mut self, file: &str, why: &str) {
        self.entries.push(Entry {
            subject: file.into(),
            tone: Tone::Unsure,
            verdict: "no answer".into(),
            about: "the input has a mistake".into(),
            body: html! { section { pre { (why) } } },
        });
    }

    /// The page, made by this command.
    pub fn to_html(&self, command: &str) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    title { (self.title()) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    main {
                        @if self.entries.len() > 1 { (self.contents()) }
                        @for (index, entry) in self.entries.iter().enumerate() { (entry.markup(index)) }
                    }
                    footer {
                        p { code { (command) } }
                        p { "Isolde " (env!("CARGO_PKG_VERSION")) }
                    }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        page.into_string() + "\n"
    }

    fn title(&self) -> String {
        match &self.entries[..] {
            [entry] => format!("{} {}", entry.subject, entry.verdict),
            entries => format!("{} answers", entries.len()),
        }
    }

    /// `16 holds, 13 violated`: each verdict, in the order in which they come.
    fn tally(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for entry in &self.entries {
            match counts.iter_mut().find(|(verdict, _)| *verdict == entry.verdict) {
                Some((_, count)) => *count += 1,
                None => counts.push((&entry.verdict, 1)),
            }
        }
        counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect::<Vec<_>>().join(", ")
    }

    fn contents(&self) -> Markup {
        html! {
            nav aria-label="contents" {
                h1 { (self.entries.len()) " answers" }
                p class="headline" { (self.tally()) }
                table class="contents" {
                    @for (index, entry) in self.entries.iter().enumerate() {
                        tr {
                            td { (chip(entry.tone, &entry.verdict)) }
                            td { a href={ "#answer-" (index + 1) } { (entry.subject) } }
                            td { (entry.about) }
                        }
                    }
                }
            }
        }
    }
}

impl Entry {
    pub(crate) fn of(subject: &str, verdict: &Verdict, about: String, body: Markup) -> Entry {
        Entry { subject: subject.into(), tone: Tone::from(verdict), verdict: verdict.word().into(), about, body }
    }

    fn markup(&self, index: usize) -> Markup {
        html! {
            article id={ "answer-" (index + 1) } class=(self.tone.class()) {
                header {
                    p class="subject" { (self.subject) }
                    h1 {
                        span class={ "verdict " (self.tone.class()) } { (self.verdict) }
                        @if !self.about.is_empty() { " " span class="about" { (self.about) } }
                    }
                }
                (self.body)
            }
        }
    }
}

/// A word in a coloured box.
fn chip(tone: Tone, word: &str) -> Markup {
    html! { span class={ "chip " (tone.class()) } { (word) } }
}

fn warning(text: &str) -> Markup {
    html! { aside class="warning" { strong { "Warning" } " " (text) } }
}

/// Text in which `backticks` set off code.
fn prose(text: &str) -> Markup {
    let paired = text.matches('`').count().is_multiple_of(2);
    html! {
        @if paired {
            @for (index, part) in text.split('`').enumerate() {
                @if index % 2 == 1 { code { (part) } } @else { (part) }
            }
        } @else { (text) }
    }
}

#[cfg(test)]
mod tests;
