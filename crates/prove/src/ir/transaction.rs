//! COMMIT and ROLLBACK inside of a procedure.
//!
//! What is committed is there for all to see, and stays if an error comes later. So at a COMMIT the procedure may as
//! well have ended: there is a way from it to the end, where the rule is looked at, and a way on. A ROLLBACK brings
//! back the rows of the last COMMIT, or those of the start; variables stay as they are.

use isolde_sql::{Span, SqlState};

use super::Action;
use super::lower::Lowering;

/// The rows of the last COMMIT are remembered under this number; blocks with handlers count from 1.
const COMMITTED: usize = 0;

impl Lowering<'_> {
    pub(super) fn committed(&mut self, at: usize, span: Span) -> usize {
        if self.is_inside_of_a_transaction() {
            return self.refused_by_the_server(at, span);
        }
        self.graph.commits = true;
        self.edge(at, self.graph.exit, Action::Skip, span);
        let at = self.act(at, Action::Save(COMMITTED), span);
        self.act(at, Action::Begin, span)
    }

    pub(super) fn rolled_back(&mut self, at: usize, span: Span) -> usize {
        match self.is_inside_of_a_transaction() {
            true => self.refused_by_the_server(at, span),
            false => {
                let at = self.act(at, Action::Restore(COMMITTED), span);
                self.act(at, Action::Begin, span)
            }
        }
    }

    /// Blocks with handlers, and functions, cannot end the transaction that they are in.
    fn is_inside_of_a_transaction(&self) -> bool {
        self.handler.is_some() || !self.calls.iter().all(|id| self.catalog.routine(*id).procedure)
    }

    fn refused_by_the_server(&mut self, at: usize, span: Span) -> usize {
        self.fail(at, Action::Raise(Some(SqlState::INVALID_TRANSACTION_TERMINATION)), span);
        // Nobody comes here.
        self.node(span)
    }

    /// The rows of the start are remembered if a ROLLBACK may bring them back; and no others, if none does.
    pub(super) fn remember_the_start(&mut self, span: Span) {
        let graph = &mut self.graph;
        if graph.edges.iter().any(|edge| matches!(edge.action, Action::Restore(COMMITTED))) {
            let (entry, begin) = (graph.entry, self.node(span));
            self.edge(begin, entry, Action::Save(COMMITTED), span);
            self.graph.entry = begin;
        } else {
            let saves = graph.edges.iter_mut().filter(|edge| matches!(edge.action, Action::Save(COMMITTED)));
            saves.for_each(|edge| edge.action = Action::Skip);
        }
    }
}
