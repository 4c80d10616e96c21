//! SARIF 2.1.0, as code scanning reads it.
//!
//! A finding is a result with its name as fingerprint, so that it is recognised from run to run; what a baseline knows or a
//! comment ignores is a result that is suppressed.

use serde_json::{Value, json};

use super::{Finding, Ignored, ModelReport};
use crate::Place;

pub(super) fn write(report: &ModelReport) -> String {
    let new = report.findings.iter().map(|finding| result(report, finding));
    let known = report.known.iter().map(|finding| {
        suppressed(result(report, finding), json!({ "kind": "external", "justification": "in the baseline" }))
    });
    let ignored = report.ignored.iter().map(|Ignored { finding, reason, .. }| {
        suppressed(result(report, finding), json!({ "kind": "inSource", "justification": reason }))
    });
    let idle = report.idle.iter().map(|remark| {
        simple(report, "idle-ignore", "warning", &remark.message, remark.place.as_ref(), &remark.message)
    });
    let properties = report.properties.iter().filter(|property| property.verdict == "fails").map(|property| {
        let result = simple(
            report,
            "property",
            "error",
            &format!("{} fails: {}", property.name, property.text),
            property.place.as_ref(),
            &format!("property:{}", property.name),
        );
        match property.known {
            true => suppressed(result, json!({ "kind": "external", "justification": "in the baseline" })),
            false => result,
        }
    });
    let results: Vec<Value> = new.chain(known).chain(ignored).chain(properties).chain(idle).collect();
    let mut rules: Vec<&str> = results.iter().filter_map(|result| result["ruleId"].as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let rules: Vec<Value> = rules.into_iter().map(|id| json!({ "id": id, "name": id })).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": report.tool.name, "version": report.tool.version, "rules": rules } },
            "invocations": [{ "commandLine": report.command, "executionSuccessful": true }],
            "results": results,
        }],
    });
    let mut out = serde_json::to_string_pretty(&document).expect("a document has only string keys");
    out.push('\n');
    out
}

fn result(report: &ModelReport, finding: &Finding) -> Value {
    let mut message = format!("{}. {}", finding.headline, finding.why);
    if let Some(change) = &finding.change {
        message += &format!(" Change: {}", change.code.replace('\n', "; "));
    }
    simple(report, finding.kind(), "error", &message, finding.place.as_ref(), &finding.id)
}

fn simple(report: &ModelReport, rule: &str, level: &str, message: &str, place: Option<&Place>, id: &str) -> Value {
    let mut result = json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": message },
        "partialFingerprints": { "isolde/v1": id },
    });
    if let Some(place) = place {
        let mut physical = json!({ "artifactLocation": { "uri": report.file(place) } });
        if place.line > 0 {
            physical["region"] = json!({ "startLine": place.line });
        }
        result["locations"] = json!([{ "physicalLocation": physical }]);
    }
    result
}

fn suppressed(mut result: Value, suppression: Value) -> Value {
    result["suppressions"] = json!([suppression]);
    result
}
