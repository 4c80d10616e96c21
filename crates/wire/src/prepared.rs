//! Statements that a session keeps prepared.
//!
//! Reading, analysing and planning a statement takes a server longer than executing it. So what is sent again and again
//! is prepared when it is first sent, in the same message, and from then on only named:
//!
//! ```text
//!   first    Parse s0 "SELECT ..."   Bind s0   Execute   Sync
//!   later                            Bind s0   Execute   Sync
//! ```
//!
//! A server keeps a statement once it has said so, whatever becomes of the transaction.

use std::collections::{BTreeMap, VecDeque};

/// More than so many are not kept; then statements are prepared each time.
const KEPT_MAX: usize = 256;

/// The statements of a session, by their texts.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    known: BTreeMap<String, Statement>,
    /// Texts whose preparation was sent and not answered; none is the end of what has one answer.
    under_way: VecDeque<Option<String>>,
}

#[derive(Debug)]
struct Statement {
    name: String,
    /// The server has it.
    kept: bool,
}

impl Prepared {
    /// The name of a statement, and whether it must be prepared first.
    pub(crate) fn name(&mut self, sql: &str) -> (&str, bool) {
        if !self.known.contains_key(sql) {
            if self.known.len() >= KEPT_MAX {
                self.under_way.push_back(Some(String::new()));
                return ("", true);
            }
            let name = format!("isolde_{}", self.known.len());
            self.known.insert(sql.to_string(), Statement { name, kept: false });
        }
        let statement = &self.known[sql];
        // Twice in one message: the first of them prepares it.
        let prepares = !statement.kept && !self.under_way.iter().any(|text| text.as_deref() == Some(sql));
        if prepares {
            self.under_way.push_back(Some(sql.to_string()));
        }
        (&statement.name, prepares)
    }

    /// The server has prepared what was sent first.
    pub(crate) fn complete(&mut self) {
        let text = self.under_way.pop_front().flatten().unwrap_or_default();
        if let Some(statement) = self.known.get_mut(&text) {
            statement.kept = true;
        }
    }

    /// What was said so far has one answer.
    pub(crate) fn end(&mut self) {
        self.under_way.push_back(None);
    }

    /// That answer is complete: what was not prepared until now will not be.
    pub(crate) fn ready(&mut self) {
        while let Some(Some(_)) = self.under_way.pop_front() {}
    }

    /// What was said was not sent.
    pub(crate) fn clear(&mut self) {
        self.under_way.clear();
    }
}
