//! The anomalies, in one list.
//!
//! Each is a shape of cycle. First come those that no isolation level of PostgreSQL permits, then the more telling
//! before the less: of several shortest cycles, the one whose name comes first is told. The last entry matches every
//! cycle.
//!
//! The literature defines them between transactions. Where the units are threads that run several, the same shapes
//! occur one level up: a thread can read another's intermediate state although no transaction can.

use crate::ConflictKind::{ReadWrite, WriteRead, WriteWrite};
use crate::{Conflict, Cycle, OpKind};
use std::fmt;

/// A way in which concurrent transactions go wrong.
pub struct Anomaly {
    /// Its usual name.
    pub name: &'static str,
    /// The name as it ends a sentence: "a lost update".
    pub phrase: &'static str,
    /// Its numbers in the literature: `P` and `A` are Berenson's and others', `G` Adya's.
    pub code: &'static str,
    /// What it is, in one sentence.
    pub definition: &'static str,
    /// Whether a cycle has this shape.
    pub matches: fn(&Cycle<'_>) -> bool,
}

/// Every anomaly, in the order in which they are looked for. To add one: an entry here, a story in the tests, a line in
/// the reference.
pub static ANOMALIES: &[Anomaly] = &[
    Anomaly {
        name: "dirty write",
        phrase: "a dirty write",
        code: "P0, G0",
        definition: "A transaction overwrites a change that another has not yet committed.",
        matches: |cycle| cycle.all(WriteWrite) && cycle.any_dirty(),
    },
    Anomaly {
        name: "aborted read",
        phrase: "an aborted read",
        code: "G1a",
        definition: "A unit reads a change that is then rolled back, so that it has seen what never was.",
        matches: |cycle| cycle.is_aborted_read(),
    },
    Anomaly {
        name: "dirty read",
        phrase: "a dirty read",
        code: "P1",
        definition: "A transaction reads a change that another has not yet committed.",
        matches: |cycle| !cycle.any(ReadWrite) && cycle.any_dirty(),
    },
    Anomaly {
        name: "lost update",
        phrase: "a lost update",
        code: "P4",
        definition: "A unit reads a row, another one changes it, and the first overwrites the change with a value \
                     computed from its old read.",
        matches: |cycle| {
            cycle.pair_of(ReadWrite, WriteWrite, |read, write| read.item.overlaps(&write.item) && cycle.is_lost(write))
        },
    },
    Anomaly {
        name: "stale read",
        phrase: "a stale read",
        code: "G-single",
        definition: "A unit reads a row, another one changes it, and the first changes it again: what it read was out of \
                     date by then, although no change is lost.",
        matches: |cycle| cycle.pair_of(ReadWrite, WriteWrite, |read, write| read.item.overlaps(&write.item)),
    },
    Anomaly {
        name: "mixed writes",
        phrase: "mixed writes",
        code: "G0",
        definition: "Two units write the same rows in opposite orders, so that the result is partly of one and partly \
                     of the other.",
        matches: |cycle| cycle.all(WriteWrite),
    },
    Anomaly {
        name: "intermediate read",
        phrase: "an intermediate read",
        code: "G1b",
        definition: "A unit reads a row as another one has left it for the moment, before that one changes it again.",
        matches: |cycle| {
            cycle.pair_of(WriteRead, ReadWrite, |new, old| new.to == old.from && new.item.same_row(&old.item))
        },
    },
    Anomaly {
        name: "circular information flow",
        phrase: "circular information flow",
        code: "G1c",
        definition: "Units see or overwrite each other's work half done: each has taken in something of the other.",
        matches: |cycle| !cycle.any(ReadWrite),
    },
    Anomaly {
        name: "non-repeatable read",
        phrase: "a non-repeatable read",
        code: "P2, G-single",
        definition: "A unit reads a row twice and gets two answers, because another one changed it in between.",
        matches: |cycle| {
            cycle.pair_of(ReadWrite, WriteRead, |old, new| is_of_row(old, new) && old.item.overlaps(&new.item))
        },
    },
    Anomaly {
        name: "read skew",
        phrase: "read skew",
        code: "A5A, G-single",
        definition: "A unit sees part of the data as it was before a change by another one and part as it was after.",
        matches: |cycle| cycle.count(ReadWrite) == 1 && cycle.any(WriteRead) && !cycle.any_predicate(),
    },
    Anomaly {
        name: "write skew",
        phrase: "write skew",
        code: "A5B, G2-item",
        definition: "Each unit reads what the other is about to change, and each acts on what is no longer true.",
        matches: |cycle| cycle.all(ReadWrite) && !cycle.any_predicate(),
    },
    Anomaly {
        name: "read-only anomaly",
        phrase: "a read-only anomaly",
        code: "G2-item",
        definition: "Two units could go one after the other, but a third one, which only reads, has seen them in a \
                     state that fits no order.",
        matches: |cycle| {
            let three = (cycle.conflicts().len(), cycle.count(ReadWrite), cycle.count(WriteRead)) == (3, 2, 1);
            three && cycle.has_reader_only()
        },
    },
    Anomaly {
        name: "check-then-insert",
        phrase: "check-then-insert",
        code: "P3, G2",
        definition: "A unit looks for a row, finds none and inserts it, while another one does the same.",
        matches: |cycle| cycle.conflicts().len() == 2 && checks_then_inserts(cycle),
    },
    Anomaly {
        name: "phantom",
        phrase: "a phantom",
        code: "P3, G2",
        definition: "A unit searches for rows by a condition, and another one adds, removes or changes rows such that \
                     the search would have had another answer.",
        matches: |cycle| cycle.any_predicate(),
    },
    Anomaly {
        name: "serialization anomaly",
        phrase: "a serialization anomaly",
        code: "G2",
        definition: "The units depend on each other in a cycle, so that none of them can be the first.",
        matches: |_| true,
    },
];

fn is_of_row(old: &Conflict, new: &Conflict) -> bool {
    !old.predicate && !new.predicate
}

/// Whether some search that found nothing missed an INSERT, and all other conflicts are of this kind too, or an INSERT
/// that then ran into the other's row.
fn checks_then_inserts(cycle: &Cycle<'_>) -> bool {
    let missed = |conflict: &&Conflict| {
        let ends = cycle.ops(conflict);
        let fits = ends.is_some_and(|(search, insert)| search.found_none && insert.kind == OpKind::Insert);
        conflict.kind == ReadWrite && conflict.predicate && fits
    };
    let ran_into = |conflict: &&Conflict| {
        let ends = cycle.ops(conflict);
        conflict.kind == WriteRead && ends.is_some_and(|(a, b)| [a.kind, b.kind] == [OpKind::Insert; 2])
    };
    let conflicts = || cycle.conflicts().iter().copied();
    conflicts().any(|c| missed(&c)) && conflicts().all(|c| missed(&c) || ran_into(&c))
}

impl Anomaly {
    /// The first entry of the list that matches, and its place there.
    pub(crate) fn of(cycle: &Cycle<'_>) -> (usize, &'static Anomaly) {
        let found = ANOMALIES.iter().enumerate().find(|(_, anomaly)| (anomaly.matches)(cycle));
        found.expect("the last anomaly matches every cycle")
    }
}

impl PartialEq for Anomaly {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Anomaly {}

impl fmt::Debug for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Anomaly").field(&self.name).finish()
    }
}
