//! What is known to go wrong: a file with a name on each line.
//!
//! It is text, sorted, with comments (`#`), so that a review shows what became known and what was repaired.

use std::collections::BTreeSet;

use super::ModelReport;

/// Names of what is known to go wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// Names of findings; `property:NAME` for properties that fail.
    pub ids: BTreeSet<String>,
}

impl Baseline {
    /// Reads a baseline. Every text is one.
    pub fn parse(text: &str) -> Baseline {
        let ids = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        Baseline { ids: ids.filter(|id| !id.is_empty()).map(str::to_owned).collect() }
    }

    /// What goes wrong now, known or not, as a baseline.
    pub fn of(report: &ModelReport) -> String {
        let mut lines: Vec<String> =
            report.findings.iter().chain(&report.known).map(|f| format!("{}  # {}\n", f.id, f.headline)).collect();
        let fails = report.properties.iter().filter(|property| property.verdict == "fails");
        lines.extend(fails.map(|property| format!("{}  # {}\n", id(&property.name), property.text.replace('\n', " "))));
        lines.sort();
        format!("# What isolde model is known to find here. New findings are not in it.\n{}", lines.concat())
    }
}

fn id(property: &str) -> String {
    format!("property:{property}")
}

impl ModelReport {
    /// Sets aside what a baseline knows. The verdict is that of the rest.
    pub fn compare(&mut self, baseline: &Baseline) {
        let (known, new) =
            std::mem::take(&mut self.findings).into_iter().partition(|finding| baseline.ids.contains(&finding.id));
        (self.known, self.findings) = (known, new);
        for property in self.properties.iter_mut().filter(|property| property.verdict == "fails") {
            property.known = baseline.ids.contains(&id(&property.name));
        }
        let findings = self.known.iter().chain(self.ignored.iter().map(|ignored| &ignored.finding));
        let findings = findings.map(|finding| finding.id.clone());
        let properties = self.properties.iter().filter(|property| property.known).map(|p| id(&p.name));
        let still: BTreeSet<String> = findings.chain(properties).collect();
        // A run over properties says nothing about findings, and the other way round.
        let about_properties = !self.properties.is_empty();
        let gone = baseline.ids.difference(&still).filter(|id| id.starts_with("property:") == about_properties);
        self.fixed = gone.cloned().collect();
        self.settle();
    }
}
