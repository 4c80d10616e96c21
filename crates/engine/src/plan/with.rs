//! WITH queries, planned where they are written; those who read them find them at run time, so many levels outward.

use std::sync::Arc;

use isolde_sql::catalog::Catalog;
use isolde_sql::typed::{With, WithBody};

use super::Subquery;
use crate::prepare::Prepared;

/// How to compute a WITH query.
#[derive(Clone, Debug)]
pub(crate) enum WithPlan {
    Query(Box<Subquery>),
    Recursive {
        first: Box<Subquery>,
        step: Box<Subquery>,
        all: bool,
    },
    /// A statement of its own, which runs once; `slot` is where its rows are kept.
    Modify {
        slot: usize,
        statement: Arc<Prepared>,
    },
}

/// The WITH queries that a statement sees: its own, and if it stands in a WITH clause itself, those beside it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WithScope {
    pub(crate) own: Option<Arc<[WithPlan]>>,
    pub(crate) around: Option<Arc<[WithPlan]>>,
}

impl WithScope {
    /// There are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.own.is_none() && self.around.is_none()
    }
}

/// Plans the queries of a WITH clause.
pub(crate) fn withs(catalog: &Catalog, withs: &[With]) -> Vec<WithPlan> {
    let plan = |(slot, with): (usize, &With)| match &with.body {
        WithBody::Query(query) => WithPlan::Query(Box::new(Subquery::new(catalog, query))),
        WithBody::Recursive { first, step, all } => WithPlan::Recursive {
            first: Box::new(Subquery::new(catalog, first)),
            step: Box::new(Subquery::new(catalog, step)),
            all: *all,
        },
        WithBody::Modify(statement) => {
            let statement = Arc::new(Prepared::plan(catalog, Arc::new((**statement).clone())));
            WithPlan::Modify { slot, statement }
        }
    };
    withs.iter().enumerate().map(plan).collect()
}
