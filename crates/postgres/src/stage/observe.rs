//! What was observed of a run, with what differs from run to run left out: the checker compares it.

use std::borrow::Cow;
use std::sync::Arc;

use isolde_scenario::{Counts, Generated, Outcome, RawAnswer, RawOutcome, RawSeen, Uses, only, wrote};
use isolde_sql::catalog::Catalog;
use isolde_sql::typed::OutputColumn;
use isolde_sql::{Row, Type, Value};
use isolde_wire::Field;

use super::client::{Client, Doing, Observation, What};
use super::mask::{MASKED, Masks};
use super::net::Net;
use crate::catalog::Known;
use crate::live::Ending;

/// What was observed of a run.
pub(super) struct Observed<'s> {
    pub(super) generated: &'s Generated,
    pub(super) catalog: &'s Catalog,
    pub(super) clients: &'s [Client],
    pub(super) net: &'s Net,
    pub(super) masks: &'s Masks,
    /// Of each thread, which of its answers can matter; all do if nothing is said.
    pub(super) uses: Option<&'s [Arc<Uses>]>,
}

/// Something that was seen, with its columns and rows as they are compared.
struct Masked<'o> {
    observation: &'o Observation,
    columns: Vec<OutputColumn>,
    rows: Cow<'o, [Row]>,
    /// Only rows count, the command tag does not.
    only_rows: bool,
}

impl Observed<'_> {
    /// The outcome. Of each thread, only its first `limits` statements count.
    pub(super) fn outcome(&self, limits: &[usize]) -> Outcome {
        let members = || self.clients.iter().zip(limits).enumerate();
        let masked = members().map(|(thread, (client, &limit))| {
            let seen = client.progress.seen.iter().filter(|o| o.statement < limit);
            seen.filter_map(|observation| self.counts(thread, observation)).collect()
        });
        let masked: Vec<Vec<Masked<'_>>> = masked.collect();
        let threads = members().zip(&masked).map(|((thread, (client, &limit)), seen)| {
            let answers = seen.iter().map(|masked| answer(masked, self.masks));
            RawSeen {
                failed: match &client.doing {
                    Doing::Ended(Ending::Failed(error)) if limit > 0 => Some(error.state),
                    _ => None,
                },
                answers: answers.chain(self.wrote(thread, limit).map(RawAnswer::Line)).collect(),
                draws: client.progress.draws.iter().collect(),
            }
        });
        let tables: Vec<_> = self.net.rows().map(|(table, rows)| (table, self.masks.changes(table, rows))).collect();
        let changed = tables.iter().map(|(table, rows)| (*table, rows.iter().map(|(row, n)| (&**row, *n)).collect()));
        RawOutcome { threads: threads.collect(), changed: changed.collect() }.outcome(self.generated)
    }

    /// What counts of something that was seen, if anything does.
    fn counts<'o>(&self, thread: usize, observation: &'o Observation) -> Option<Masked<'o>> {
        let rows = self.masks.rows(observation);
        let columns: Vec<OutputColumn> = match &observation.what {
            What::Answer { columns, .. } => columns.clone(),
            What::Notice(_) => Vec::new(),
        };
        let uses = self.uses.map(|uses| &uses[thread]).filter(|uses| uses.writes);
        let Some(uses) = uses.filter(|_| matches!(observation.what, What::Answer { .. })) else {
            return Some(Masked { observation, columns, rows, only_rows: false });
        };
        let (columns, rows) = match uses.counts(observation.statement, observation.inner) {
            Counts::Nothing => return None,
            Counts::All if observation.inner => {
                return Some(Masked { observation, columns, rows, only_rows: false });
            }
            Counts::All if rows.is_empty() && columns.is_empty() => return None,
            Counts::All => (columns, rows),
            Counts::Columns(kept) => {
                let columns = kept.iter().filter_map(|&column| columns.get(column).cloned()).collect();
                (columns, Cow::Owned(rows.iter().map(|row| only(row, kept)).collect()))
            }
        };
        Some(Masked { observation, columns, rows, only_rows: true })
    }

    /// How many rows a thread has written, where that counts.
    fn wrote(&self, thread: usize, limit: usize) -> Option<Arc<str>> {
        let client = &self.clients[thread];
        let counts = self.uses.is_some_and(|uses| uses[thread].writes) && limit > 0;
        let name = |table| match self.catalog.has_table(table) {
            true => &*self.catalog.table(table).name,
            false => "a new table",
        };
        (counts && client.doing == Doing::Ended(Ending::Done)).then(|| wrote(&client.published, name))
    }
}

fn answer<'r>(masked: &'r Masked<'_>, masks: &Masks) -> RawAnswer<'r> {
    let observation = masked.observation;
    match &observation.what {
        What::Notice(_) if masks.hides_answer(observation.at, None) => RawAnswer::Message(MASKED.into()),
        What::Notice(message) => RawAnswer::Message(message.clone()),
        What::Answer { text, ordered, .. } => RawAnswer::Statement {
            at: Some(observation.at),
            text: if masked.only_rows { "".into() } else { text.clone() },
            columns: &masked.columns,
            rows: &masked.rows,
            ordered: *ordered,
        },
    }
}

impl Known {
    /// The columns of a result, with those of tables that they show.
    pub(super) fn columns(&self, fields: &[Field]) -> Vec<OutputColumn> {
        let column = |field: &Field| OutputColumn {
            name: "".into(),
            ty: Type::Text,
            origin: self.columns.get(&(field.table, field.column)).copied(),
        };
        fields.iter().map(column).collect()
    }
}

/// A row that the server sent. What a column of a table shows may be a number that was drawn from a sequence.
pub(super) fn row(row: &isolde_wire::Row, columns: &[OutputColumn]) -> Row {
    let origins = columns.iter().map(|column| column.origin.is_some()).chain(std::iter::repeat(false));
    let value = |(value, of_table): (&Option<String>, bool)| match value {
        None => Value::Null,
        Some(text) => match text.parse() {
            Ok(number) if of_table => Value::Int(number),
            _ => Value::text(text.as_str()),
        },
    };
    row.iter().zip(origins).map(value).collect()
}
