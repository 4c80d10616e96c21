//! What was observed of a run, with what differs from run to run left out: the checker compares it.

use std::borrow::Cow;

use isolde_scenario::{Generated, Outcome, RawAnswer, RawOutcome, RawSeen};
use isolde_sql::typed::OutputColumn;
use isolde_sql::{Row, Type, Value};
use isolde_wire::Field;

use super::client::{Client, Doing, Observation, What};
use super::mask::{MASKED, Masks};
use super::net::Net;
use crate::catalog::Known;
use crate::live::Ending;

/// What the clients have seen. `inner` says whether what routines saw counts.
pub(super) fn seen(clients: &[Client], inner: bool) -> Vec<Vec<Observation>> {
    let seen = |client: &Client| client.progress.seen.iter().filter(|o| inner || !o.inner).cloned().collect();
    clients.iter().map(seen).collect()
}

/// Something that was seen, with its rows as they are compared.
type Masked<'o> = (&'o Observation, Cow<'o, [Row]>);

/// What the clients have seen and left behind. Of each, only its first `limits` statements count.
pub(super) fn outcome(
    generated: &Generated,
    clients: &[Client],
    net: &Net,
    masks: &Masks,
    inner: bool,
    limits: &[usize],
) -> Outcome {
    let masked = clients.iter().zip(limits).map(|(client, &limit)| {
        let seen = client.progress.seen.iter().filter(|o| (inner || !o.inner) && o.statement < limit);
        seen.map(|observation| (observation, masks.rows(observation))).collect()
    });
    let masked: Vec<Vec<Masked<'_>>> = masked.collect();
    let threads = clients.iter().zip(limits).zip(&masked).map(|((client, &limit), seen)| RawSeen {
        failed: match &client.doing {
            Doing::Ended(Ending::Failed(error)) if limit > 0 => Some(error.state),
            _ => None,
        },
        answers: seen.iter().map(|(observation, rows)| answer(observation, rows, masks)).collect(),
        draws: client.progress.draws.iter().collect(),
    });
    let tables: Vec<_> = net.rows().map(|(table, rows)| (table, masks.changes(table, rows))).collect();
    let changed = tables.iter().map(|(table, rows)| (*table, rows.iter().map(|(row, n)| (&**row, *n)).collect()));
    RawOutcome { threads: threads.collect(), changed: changed.collect() }.outcome(generated)
}

fn answer<'r>(observation: &'r Observation, rows: &'r [Row], masks: &Masks) -> RawAnswer<'r> {
    match &observation.what {
        What::Notice(_) if masks.hides_answer(observation.at, None) => RawAnswer::Message(MASKED.into()),
        What::Notice(message) => RawAnswer::Message(message.clone()),
        What::Answer { text, columns, ordered, .. } => {
            let at = Some(observation.at);
            RawAnswer::Statement { at, text: text.clone(), columns, rows, ordered: *ordered }
        }
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
