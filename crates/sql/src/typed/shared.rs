//! A query in FROM that several statements may have in common.
//!
//! A view is bound once, and its query stands wherever the view is named. Were it copied there, views of views would
//! double in memory at each level; shared, a chain of `n` views takes the memory of `n` definitions. Whoever changes a
//! shared query changes a copy of its own, one level of it at a time.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::Query;

/// A query that is shared until it is changed. Clones are the same query.
#[derive(Clone, Debug)]
pub struct SharedQuery(Arc<Query>);

impl From<Query> for SharedQuery {
    fn from(query: Query) -> SharedQuery {
        SharedQuery(Arc::new(query))
    }
}

impl Deref for SharedQuery {
    type Target = Query;

    fn deref(&self) -> &Query {
        &self.0
    }
}

impl DerefMut for SharedQuery {
    fn deref_mut(&mut self) -> &mut Query {
        Arc::make_mut(&mut self.0)
    }
}
