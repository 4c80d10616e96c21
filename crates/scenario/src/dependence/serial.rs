//! Steps of serializable transactions: when their order matters to who must fail.
//!
//! PostgreSQL lets a serializable transaction fail for what it and others have read and written, besides all that
//! matters at REPEATABLE READ. What a step has to do with that is in its footprint ([`Watched`]); two steps are
//! independent in this respect if none of these facts is asked for by one and changed by the other:
//!
//! | one step | the other | the order matters if |
//! |---|---|---|
//! | is remembered to have read something | writes it | it is the same row, page or relation |
//! | is remembered to have read something | does, too | a third may write it, and then ask which of the two came first |
//! | adds or removes an edge | asks for edges, adds or removes one | it is of the same transaction, and not the same edge added by both |
//! | dooms a transaction | is a step of it, or asks about it | always |
//! | takes writes back | reads | same table |
//! | changes a version that somebody does not see | reads from an earlier snapshot | same table |
//! | ends a transaction | begins or ends another | they may be two of three in a row; or it has left versions that the other comes to |
//! | begins a transaction | writes, takes that back, or ends one, and is not watched | always: open versions are in the way of searches |
//! | is READ ONLY, or doomed, or rare | is watched, or writes | always |
//!
//! Whether three transactions may be in a row is known from the statements of all threads where these can be foreseen
//! ([`super::conflict`]); otherwise it is possible. A transaction that cannot have edges with any other is not watched
//! at all.

use isolde_engine::footprint::{Mark, Watched};

use super::touch::Touch;

/// Whether the order of two events matters for what is known of serializable transactions.
pub(super) fn dependent(first: &Touch, second: &Touch) -> bool {
    match (&first.watched, &second.watched) {
        (None, None) => false,
        (Some(watched), None) => second.acts && is_noticed_by_others(watched),
        (None, Some(watched)) => first.acts && is_noticed_by_others(watched),
        (Some(a), Some(b)) => meet(a, b) || one_way(a, b) || one_way(b, a),
    }
}

fn is_noticed_by_others(watched: &Watched) -> bool {
    watched.wholly || watched.begins
}

fn meet(a: &Watched, b: &Watched) -> bool {
    a.wholly || b.wholly || same_edges(a, b) || (a.conflicts.are_ordered(&b.conflicts) && share(&a.held, &b.held))
}

/// Whether one changes edges that matter to the other. Which of two finds an edge first that both find does not.
fn same_edges(a: &Watched, b: &Watched) -> bool {
    let both_find = a.linked == b.linked && a.unlinked.is_empty() && b.unlinked.is_empty();
    let changes = |a: &Watched, b: &Watched| a.changed().meets(b.asked.union(b.changed()));
    !both_find && (changes(a, b) || changes(b, a))
}

fn one_way(a: &Watched, b: &Watched) -> bool {
    a.dooms.contains(b.session)
        || a.dooms.meets(b.asked.union(b.changed()))
        || (a.ends && (b.begins || b.ends) && a.conflicts.is_near(&b.conflicts))
        || a.wrote.meets(b.tables)
        || share(&a.held, &b.checked)
        || a.unwrote.meets(b.read)
        || (a.rewrote.meets(b.read) && !b.begins)
}

/// Whether two sorted lists have something in common.
fn share(a: &[Mark], b: &[Mark]) -> bool {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => drop(a.next()),
            std::cmp::Ordering::Greater => drop(b.next()),
            std::cmp::Ordering::Equal => return true,
        }
    }
    false
}
