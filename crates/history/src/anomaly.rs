//! The anomalies, in one list.
//!
//! Each is a shape of cycle. The list goes from the weakest to the strongest: what comes earlier is ruled out by lower
//! isolation levels, and the first entry that matches a cycle gives it its name. The last one matches every cycle.

use crate::ConflictKind::{ReadWrite, WriteRead, WriteWrite};
use crate::{Conflict, Cycle};
use std::fmt;

/// A way in which concurrent transactions go wrong.
pub struct Anomaly {
    /// Its usual name.
    pub name: &'static str,
    /// The name as it ends a sentence: "a lost update".
    pub phrase: &'static str,
    /// What it is, in one sentence.
    pub definition: &'static str,
    /// Whether a cycle has this shape.
    pub matches: fn(&Cycle<'_>) -> bool,
}

/// Every anomaly, weakest first; reports use this order. To add one: an entry here and a golden test.
pub static ANOMALIES: &[Anomaly] = &[
    Anomaly {
        name: "dirty write",
        phrase: "a dirty write",
        definition: "A transaction overwrites a change that another has not yet committed.",
        matches: |cycle| cycle.all(WriteWrite) && cycle.any_dirty(),
    },
    Anomaly {
        name: "mixed writes",
        phrase: "mixed writes",
        definition: "Two units write the same rows in opposite orders, so that the result is partly of one and partly \
                     of the other.",
        matches: |cycle| cycle.all(WriteWrite),
    },
    Anomaly {
        name: "dirty read",
        phrase: "a dirty read",
        definition: "A transaction reads a change that another has not yet committed.",
        matches: |cycle| !cycle.any(ReadWrite) && cycle.any_dirty(),
    },
    Anomaly {
        name: "intermediate read",
        phrase: "an intermediate read",
        definition: "A unit sees the work of another half done: some of its changes before, some after its own.",
        matches: |cycle| !cycle.any(ReadWrite),
    },
    Anomaly {
        name: "lost update",
        phrase: "a lost update",
        definition: "A unit reads a row, another one changes it, and the first overwrites the change with a value \
                     computed from its old read.",
        matches: |cycle| cycle.pair_of(ReadWrite, WriteWrite, |read, write| read.item.overlaps(&write.item)),
    },
    Anomaly {
        name: "non-repeatable read",
        phrase: "a non-repeatable read",
        definition: "A unit reads a row twice and gets two answers, because another one changed it in between.",
        matches: |cycle| {
            cycle.pair_of(ReadWrite, WriteRead, |old, new| is_of_row(old, new) && old.item.overlaps(&new.item))
        },
    },
    Anomaly {
        name: "read skew",
        phrase: "read skew",
        definition: "A unit sees part of the data as it was before a change by another one and part as it was after.",
        matches: |cycle| cycle.count(ReadWrite) == 1 && cycle.any(WriteRead) && !cycle.any_predicate(),
    },
    Anomaly {
        name: "write skew",
        phrase: "write skew",
        definition: "Each unit reads what the other is about to change, and each acts on what is no longer true.",
        matches: |cycle| cycle.all(ReadWrite) && !cycle.any_predicate(),
    },
    Anomaly {
        name: "phantom",
        phrase: "a phantom",
        definition: "A unit searches for rows by a condition, and another one adds, removes or changes rows such that \
                     the search would have had another answer.",
        matches: |cycle| cycle.any_predicate(),
    },
    Anomaly {
        name: "serialization anomaly",
        phrase: "a serialization anomaly",
        definition: "The units depend on each other in a circle, so that none of them can be the first.",
        matches: |_| true,
    },
];

fn is_of_row(old: &Conflict, new: &Conflict) -> bool {
    !old.predicate && !new.predicate
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
