//! What a running statement can touch.
//!
//! An [`Executor`] borrows, for the length of one call, the parts of a session that statements read and change: the
//! database, the session's own state, the footprint of the step. It does not have the session's stack: no statement can
//! answer the client, push a frame, or end its transaction. Where it needs something of the kind, it says so with a
//! [`Stop`](super::Stop), and the [`Machine`](crate::machine::Machine) sees to it.
//!
//! ```text
//!   Machine:   stack ─┬─ outcome, answers          who runs next, and where a result goes
//!                     │
//!   Executor:         ├─ database, session state, footprint, notices        what one statement does
//!                     │
//!   Locks:            └─ holders, queues, waits, lock events                who has what, who waits
//! ```

use std::sync::Arc;

use isolde_sql::Value;
use isolde_sql::catalog::Catalog;

use crate::database::{Database, Schema};
use crate::eval::{Calls, Context};
use crate::footprint::Footprint;
use crate::host::SessionHost;
use crate::lock::Locks;
use crate::routine::RoutineFrame;
use crate::session::{Notice, Session, SessionId, SessionState};
use crate::ssi::{Planner, Reader};
use crate::storage::Tables;
use crate::transaction::Transaction;

/// The parts of a session that statements work on, borrowed.
pub(crate) struct Executor<'m> {
    pub(crate) db: &'m mut Database,
    pub(crate) me: SessionId,
    pub(crate) session: &'m mut SessionState,
    /// The routine whose records expressions name, if one is at work.
    pub(crate) routine: Option<&'m RoutineFrame>,
    pub(crate) footprint: &'m mut Footprint,
    pub(crate) notices: &'m mut Vec<Notice>,
}

impl Executor<'_> {
    /// The session's locks, and everybody's.
    pub(crate) fn locks(&mut self) -> Locks<'_> {
        Locks {
            db: self.db,
            me: self.me,
            session: self.session,
            rows: &mut self.footprint.locks,
            heavy: &mut self.footprint.heavy,
            everything: &mut self.footprint.everything,
        }
    }

    /// Evaluates with everything an expression of a statement may need.
    pub(crate) fn with_context<R>(
        &mut self,
        view: &Tables,
        params: &[Value],
        calls: &mut Calls,
        act: impl FnOnce(&mut Context<'_>) -> R,
    ) -> R {
        let schema = Arc::clone(self.schema());
        let serial = self.session.transaction.as_ref().and_then(|t| t.serial);
        let mut ssi = serial.and_then(|_| self.db.ssi.take());
        let ambient = ssi.as_ref().map(|_| self.db.ambient.clone());
        let planner = if ssi.is_some() { Planner::of(&self.session.kept.settings) } else { Planner::default() };
        let mut host = SessionHost {
            catalog: &schema.catalog,
            db: self.db,
            session: self.session,
            me: self.me,
            drawn: &mut self.footprint.sequences,
            everything: &mut self.footprint.everything,
            rows: &mut self.footprint.locks,
            heavy: &mut self.footprint.heavy,
            notices: self.notices,
            routine: self.routine,
        };
        let reads = &mut self.footprint.reads;
        let reader = serial.zip(ssi.as_mut()).zip(ambient.as_ref()).map(|((me, ssi), ambient)| Reader {
            ssi: Arc::make_mut(ssi),
            me,
            catalog: &schema.catalog,
            statistics: &ambient.statistics,
            planner,
        });
        let result = act(&mut Context { view, params, host: &mut host, calls, reads, reader });
        self.return_ssi(ssi);
        result
    }

    /// The sessions other than this one.
    pub(crate) fn others(&self) -> impl Iterator<Item = (SessionId, &Session)> + Clone {
        self.db.sessions_except(self.me)
    }

    /// What is defined, as this session sees it.
    pub(crate) fn schema(&self) -> &Arc<Schema> {
        self.session.schema(self.db)
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.schema().catalog
    }

    pub(crate) fn transaction(&self) -> &Transaction {
        self.session.transaction()
    }

    pub(crate) fn transaction_mut(&mut self) -> &mut Transaction {
        self.session.transaction_mut()
    }

    /// REPEATABLE READ or above.
    pub(crate) fn keeps_snapshot(&self) -> bool {
        self.transaction().keeps_snapshot()
    }

    /// Whether conditions are looked at again on a newer version; only a broken engine in a test does not.
    pub(crate) fn rechecks(&self) -> bool {
        !self.db.faults.no_recheck
    }
}
