//! Findings for code scanning: what a baseline knows or a comment ignores is a result that is suppressed.

use serde_json::{Value, json};

use super::{Finding, Ignored, ModelReport};
use crate::Place;
use crate::ci::sarif::{self, suppressed};

const IN_BASELINE: &str = "in the baseline";

pub(super) fn write(report: &ModelReport) -> String {
    let new = report.findings.iter().map(|finding| result(report, finding));
    let known = report.known.iter().map(|finding| suppressed(result(report, finding), "external", IN_BASELINE));
    let ignored = report
        .ignored
        .iter()
        .map(|Ignored { finding, reason, .. }| suppressed(result(report, finding), "inSource", reason));
    let idle = report.idle.iter().map(|remark| {
        simple(report, "idle-ignore", "warning", &remark.message, remark.place.as_ref(), &remark.message)
    });
    let properties = report.properties.iter().filter(|property| property.verdict == "fails").map(|property| {
        let message = format!("{} fails: {}", property.name, property.text);
        let id = format!("property:{}", property.name);
        let result = simple(report, "property", "error", &message, property.place.as_ref(), &id);
        if property.known { suppressed(result, "external", IN_BASELINE) } else { result }
    });
    sarif::document(&report.command, new.chain(known).chain(ignored).chain(properties).chain(idle).collect(), &[])
}

fn result(report: &ModelReport, finding: &Finding) -> Value {
    let mut message = format!("{}. {}", finding.headline, finding.why);
    if let Some(change) = &finding.change {
        message += &format!(" Change: {}", change.code.replace('\n', "; "));
    }
    simple(report, finding.kind(), "error", &message, finding.place.as_ref(), &finding.id)
}

fn simple(report: &ModelReport, rule: &str, level: &str, message: &str, place: Option<&Place>, id: &str) -> Value {
    let mut result = sarif::result(rule, level, message, id);
    if let Some(place) = place {
        result["locations"] = json!([sarif::location(&report.file(place), place.line)]);
    }
    result
}
