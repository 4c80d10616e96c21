//! The verdicts at each isolation level, as a table.

use maud::html;

use super::{Entry, Tone};
use crate::LevelsReport;

pub(super) fn entry(report: &LevelsReport) -> Entry {
    let table = report.table();
    let (headings, rows) = table.split_first().expect("a table has headings");
    let body = html! {
        section {
            table {
                thead { tr { @for heading in headings { th { (heading) } } } }
                tbody {
                    @for (cells, row) in rows.iter().zip(&report.levels) {
                        tr class=(Tone::from(&row.verdict).class()) { @for cell in cells { td { (cell) } } }
                    }
                }
            }
            p { (report.conclusion()) }
            @for note in &report.notes { p { (note) } }
        }
    };
    Entry {
        subject: report.file.clone(),
        tone: Tone::from(&report.verdict),
        verdict: report.verdict.word().into(),
        about: "as written; below, at each isolation level".into(),
        body,
    }
}
