//! Sequences that a transaction has made, altered or dropped.
//!
//! What is drawn from a sequence is never given back; but ALTER SEQUENCE makes the sequence anew, and the new one is
//! the transaction's until it commits. So are the values drawn from it: if the transaction is rolled back, the old
//! sequence stands where it stood. Nobody else draws in between, because the sequence is locked.
//!
//! ```text
//!   nextval 3    ALTER RESTART 50    nextval 50    SAVEPOINT    nextval 51    ROLLBACK TO    nextval 52    ROLLBACK    nextval 4
//! ```
//!
//! Each such change adds an entry, which hides the older ones of the same name. Rolling back to a savepoint forgets the
//! entries added since, and nothing else: what was drawn from those that stay stays drawn.

use std::sync::Arc;

use isolde_sql::catalog::{Catalog, Sequence};

use crate::exec::Executor;
use crate::host::{Drawn, Sequences};

/// The changes of sequences by a transaction, in order.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct OwnSequences(Arc<Vec<(Arc<str>, Own)>>);

/// What has become of a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Own {
    /// It is new, with the last value drawn from it.
    New(Option<Drawn>),
    /// It is the one that had this name: still everybody's, if it was.
    Renamed(Arc<str>),
    /// There is none of this name any more.
    Gone,
}

impl OwnSequences {
    /// How many changes there were.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The last value of a sequence: the transaction's own one, or everybody's.
    pub(crate) fn last_mut<'a>(&'a mut self, all: &'a mut Sequences, name: &Arc<str>) -> &'a mut Option<Drawn> {
        let place = self.place(name);
        let own = place.as_ref().ok().and_then(|at| Arc::make_mut(&mut self.0).get_mut(*at));
        match own {
            Some((_, Own::New(last))) => last,
            _ => Arc::make_mut(all).entry(place.err().unwrap_or_else(|| name.clone())).or_default(),
        }
    }

    /// The same, to look at.
    fn last(&self, all: &Sequences, name: &Arc<str>) -> Option<Drawn> {
        match self.place(name).map(|at| &self.0[at].1) {
            Ok(Own::New(last)) => *last,
            Ok(_) => None,
            Err(shared) => all.get(&shared).copied().flatten(),
        }
    }

    /// The change that made a sequence anew; or, if there is none, the name by which everybody knows it.
    fn place(&self, name: &Arc<str>) -> Result<usize, Arc<str>> {
        let mut name = name;
        for (at, (changed, own)) in self.0.iter().enumerate().rev() {
            match own {
                _ if changed != name => {}
                Own::New(_) => return Ok(at),
                Own::Renamed(from) => name = from,
                Own::Gone => break,
            }
        }
        Err(name.clone())
    }

    /// Forgets all changes but the first ones.
    pub(crate) fn truncate(&mut self, len: usize) {
        if self.len() > len {
            Arc::make_mut(&mut self.0).truncate(len);
        }
    }

    fn push(&mut self, name: &Arc<str>, own: Own) {
        Arc::make_mut(&mut self.0).push((name.clone(), own));
    }

    /// Makes them everybody's.
    pub(crate) fn publish(&self, sequences: &mut Sequences) {
        for (name, own) in self.0.iter() {
            let sequences = Arc::make_mut(sequences);
            let last = match own {
                Own::New(last) => *last,
                Own::Renamed(from) => sequences.remove(from).flatten(),
                Own::Gone => None,
            };
            // One that was never drawn from is as good as none.
            match last {
                Some(last) => drop(sequences.insert(name.clone(), Some(last))),
                None => drop(sequences.remove(name)),
            }
        }
    }
}

impl Executor<'_> {
    /// A sequence is made, or gets other options.
    pub(super) fn change_sequence(&mut self, catalog: &Catalog, sequence: &Sequence) {
        match catalog.sequence(&sequence.name) {
            Some(old) if old.same_but_owner(sequence) => {}
            Some(_) => {
                let last = self.transaction().definitions.sequences.last(&self.db.sequences, &sequence.name);
                let logged_anew = |drawn| if let Drawn::Last(last, _) = drawn { Drawn::Last(last, 0) } else { drawn };
                self.own_sequence(&sequence.name, Own::New(last.map(logged_anew)));
            }
            None => self.own_sequence(&sequence.name, Own::New(None)),
        }
    }

    /// The next value of a sequence is this one.
    pub(super) fn restart_sequence(&mut self, name: &Arc<str>, value: i64) {
        self.own_sequence(name, Own::New(Some(Drawn::Next(value))));
    }

    /// What was counted under one name goes on under another.
    pub(super) fn rename_sequence(&mut self, from: &Arc<str>, to: &Arc<str>) {
        self.own_sequence(to, Own::Renamed(from.clone()));
    }

    pub(super) fn drop_sequence(&mut self, name: &Arc<str>) {
        self.own_sequence(name, Own::Gone);
    }

    fn own_sequence(&mut self, name: &Arc<str>, own: Own) {
        self.transaction_mut().definitions.sequences.push(name, own);
    }
}
