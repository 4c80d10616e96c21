//! Classes of footprints: what decides which others a step depends on, and nothing else.
//!
//! A search that remembers what happened below a state must not remember it thousands of times because the same
//! statement was executed on thousands of paths. Which value a sequence gave, or which version of a row was seen, is
//! left out: the row and what was looked for are what others can be in the way of.

use std::hash::Hash;
use std::sync::Arc;

use isolde_digest::Digester;

use crate::footprint::{Footprint, HeavyEvent, LockEvent, Probe, Read, Write};

impl Footprint {
    /// Writes what decides its dependences. Conditions are told apart by where they are in memory, so a footprint of
    /// the class must be kept as long as others are compared with it.
    pub fn hash_class(&self, h: &mut Digester) {
        // All fields, so that a new one is not forgotten.
        let Footprint {
            snapshot,
            later,
            kept,
            reads,
            writes,
            undone,
            added,
            looked,
            locks,
            heavy,
            probes,
            sequences,
            defined,
            published,
            watched,
            ended,
            everything,
            quiet,
        } = self;
        (snapshot.map(|taken| taken as u8), later, kept, watched, ended, everything, quiet).hash(h);
        (added, looked, defined).hash(h);
        reads.len().hash(h);
        reads.iter().for_each(|read| hash_read(read, h));
        for list in [writes, undone, published] {
            list.len().hash(h);
            list.iter().for_each(|write| hash_write(write, h));
        }
        for LockEvent { table, row, strength, kind } in locks {
            (0u8, table, row, *strength as u8, *kind as u8).hash(h);
        }
        for HeavyEvent { key, mode, kind } in heavy {
            (1u8, key, *mode as u8, *kind as u8).hash(h);
        }
        for Probe { table, columns, key, kind } in probes {
            (2u8, table, columns, key, kind).hash(h);
        }
        sequences.iter().for_each(|(name, _)| (3u8, name).hash(h));
    }
}

fn hash_read(read: &Read, h: &mut Digester) {
    let Read { table, key, filter, params, columns, matched, current } = read;
    (table, key, params, columns, current).hash(h);
    filter.as_ref().map(|filter| Arc::as_ptr(filter) as usize).hash(h);
    matched.iter().for_each(|(row, _)| row.hash(h));
}

fn hash_write(write: &Write, h: &mut Digester) {
    let Write { table, row, before, after, set } = write;
    (table, row, before, after, set).hash(h);
}
