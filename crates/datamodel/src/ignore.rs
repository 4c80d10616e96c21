//! Comments that say that something is so on purpose: `# isolde:ignore dangling:Tag.photo:Photo swept every night`.
//!
//! Behind the word stands the name of a finding, or its kind alone if the comment is on the line of the finding or on
//! the one before; then the reason. A comment that ignores nothing is reported, so that no misspelling and no repair
//! goes unnoticed.

use isolde_report as report;

use crate::obligation::KINDS;
use crate::read::File;

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Comment {
    file: String,
    line: u32,
    /// What stands behind `isolde:`.
    word: String,
    /// What is ignored.
    what: String,
    reason: String,
}

/// Sets aside what comments in these files say is on purpose, and reports those that ignore nothing.
pub fn apply(files: &[File], answer: &mut report::ModelReport) {
    let comments: Vec<Comment> = files.iter().flat_map(comments).collect();
    let mut used = vec![false; comments.len()];
    for finding in std::mem::take(&mut answer.findings) {
        let found = comments.iter().position(|comment| comment.complaint().is_none() && comment.is_about(&finding));
        match found {
            Some(index) => {
                used[index] = true;
                let comment = &comments[index];
                let place = comment.place();
                answer.ignored.push(report::Ignored { finding, reason: comment.reason.clone(), place });
            }
            None => answer.findings.push(finding),
        }
    }
    let idle = comments.iter().zip(used).filter(|(_, used)| !used).map(|(comment, _)| report::ModelRemark {
        message: comment.complaint().unwrap_or_else(|| format!("there is no finding `{}` here", comment.what)),
        place: Some(comment.place()),
    });
    answer.idle.extend(idle);
}

impl Comment {
    fn place(&self) -> report::Place {
        report::Place { file: Some(self.file.clone()), line: self.line }
    }

    /// What is wrong with it, whatever is found.
    fn complaint(&self) -> Option<String> {
        let kind = self.what.split(':').next().unwrap_or_default();
        if self.word != "ignore" {
            return Some(format!("`isolde:{}` is not known; write `isolde:ignore NAME REASON`", self.word));
        }
        if !KINDS.iter().any(|(known, _)| *known == kind) {
            let known: Vec<&str> = KINDS.iter().map(|(known, _)| *known).collect();
            return Some(format!("`{kind}` is no kind of finding; there are {}", known.join(", ")));
        }
        self.reason.is_empty().then(|| format!("give a reason: `isolde:ignore {} REASON`", self.what))
    }

    fn is_about(&self, finding: &report::Finding) -> bool {
        let here = finding.place.as_ref().is_some_and(|place| {
            let near = place.line == self.line || place.line == self.line + 1;
            near && place.file.as_deref() == Some(&*self.file)
        });
        finding.id == self.what || here && finding.kind() == self.what
    }
}

/// The comments of a file that are meant for us.
fn comments(file: &File) -> Vec<Comment> {
    let mut found = Vec::new();
    for (line, text) in (1..).zip(file.text.lines()) {
        let Some((before, after)) = text.split_once("isolde:") else { continue };
        if !["#", "//", "--"].iter().any(|mark| before.trim_end().ends_with(mark)) {
            continue;
        }
        let mut words = after.split_whitespace();
        let (word, what) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        found.push(Comment {
            file: file.path.to_string(),
            line,
            word: word.to_owned(),
            what: what.to_owned(),
            reason: words.collect::<Vec<_>>().join(" "),
        });
    }
    found
}
