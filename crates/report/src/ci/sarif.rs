//! SARIF 2.1.0, as code scanning reads it.
//!
//! A result has a name as fingerprint, so that it is recognised from run to run.

use serde_json::{Value, json};

/// A document about one run of a command; `mistakes` are what it could not do.
pub(crate) fn document(command: &str, results: Vec<Value>, mistakes: &[&str]) -> String {
    let mistake = |text: &&str| json!({ "level": "error", "message": { "text": text } });
    let mut invocation = json!({ "commandLine": command, "executionSuccessful": mistakes.is_empty() });
    if !mistakes.is_empty() {
        invocation["toolExecutionNotifications"] = mistakes.iter().map(mistake).collect();
    }
    let mut rules: Vec<&str> = results.iter().filter_map(|result| result["ruleId"].as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let rules: Vec<Value> = rules.into_iter().map(|id| json!({ "id": id, "name": id })).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "isolde", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "invocations": [invocation],
            "results": results,
        }],
    });
    let mut out = serde_json::to_string_pretty(&document).expect("a document has only string keys");
    out.push('\n');
    out
}

/// A result that is nowhere yet.
pub(crate) fn result(rule: &str, level: &str, message: &str, id: &str) -> Value {
    json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": message },
        "partialFingerprints": { "isolde/v1": id },
    })
}

/// A place in a file; all of it, if the line is 0.
pub(crate) fn location(file: &str, line: u32) -> Value {
    let mut physical = json!({ "artifactLocation": { "uri": file } });
    if line > 0 {
        physical["region"] = json!({ "startLine": line });
    }
    json!({ "physicalLocation": physical })
}

/// A result that does not count.
pub(crate) fn suppressed(mut result: Value, kind: &str, why: &str) -> Value {
    result["suppressions"] = json!([{ "kind": kind, "justification": why }]);
    result
}
