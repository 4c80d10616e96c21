//! What a session keeps from one transaction to the next: settings, prepared statements, channels.
//!
//! Settings and channels are transactional, prepared statements are not. What a transaction has done to them is
//! remembered with the depth of savepoints at which it was done, so that a rollback can take back exactly what came
//! behind a savepoint:
//!
//! ```text
//!   BEGIN; SET a = 1; SAVEPOINT s; SET a = 2; ROLLBACK TO s
//!            depth 0                 depth 1: what was before is put back
//! ```
//!
//! A notification is sent when its transaction commits, to every session that listens. It reaches the client of a
//! session that is in a transaction only when that ends.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use isolde_sql::typed::PreparedStatement;

use crate::database::Schema;
use crate::machine::Machine;
use crate::prepare::Prepared;
use crate::session::{SessionId, SessionOptions};
use crate::settings::Settings;

/// What a session keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) settings: Settings,
    /// What was set before this transaction, or before one of its savepoints, set something.
    undo: Vec<Undo>,
    /// Prepared statements by name.
    pub(crate) statements: OrdMap<Arc<str>, Arc<Named>>,
    /// Channels it listens on.
    pub(crate) listening: OrdSet<Arc<str>>,
    /// What the open transaction will do to channels when it commits, each with its depth of savepoints.
    pub(crate) pending: Vec<(usize, Message)>,
    /// Notifications that came during its transaction.
    queued: Vec<Notification>,
    /// Notifications that have reached its client.
    pub(crate) sent: Vec<Notification>,
}

/// A prepared statement, with the plan made for the catalog of the moment.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) definition: Arc<PreparedStatement>,
    pub(crate) prepared: Arc<Prepared>,
    /// The catalog that the plan is for.
    pub(crate) schema: Arc<Schema>,
}

#[derive(Clone, Debug)]
struct Undo {
    depth: usize,
    settings: Settings,
    options: SessionOptions,
}

/// What a commit does to channels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Message {
    Listen(Arc<str>),
    Unlisten(Arc<str>),
    UnlistenAll,
    Notify(Arc<str>, Arc<str>),
}

/// Something that was said on a channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Notification {
    /// The channel.
    pub channel: Arc<str>,
    /// What was said.
    pub payload: Arc<str>,
    /// Who said it.
    pub from: SessionId,
}

impl Kept {
    /// There is nothing in it.
    pub(crate) fn is_plain(&self) -> bool {
        self.settings.is_empty()
            && self.undo.is_empty()
            && self.statements.is_empty()
            && self.listening.is_empty()
            && self.pending.is_empty()
            && self.queued.is_empty()
            && self.sent.is_empty()
    }

    /// The end of a transaction has something to do.
    fn awaits_end(&self) -> bool {
        !self.undo.is_empty() || !self.pending.is_empty() || !self.queued.is_empty() || self.settings.has_local()
    }

    /// Says something when the transaction commits; what it has said already it does not repeat.
    pub(crate) fn say(&mut self, depth: usize, message: Message) {
        let repeated = matches!(message, Message::Notify(..)) && self.pending.iter().any(|(_, m)| *m == message);
        if !repeated {
            self.pending.push((depth, message));
        }
    }

    /// Remembers what is set, before something else is.
    pub(crate) fn remember(&mut self, depth: usize, options: SessionOptions) {
        if self.undo.last().is_none_or(|undo| undo.depth < depth) {
            self.undo.push(Undo { depth, settings: self.settings.clone(), options });
        }
    }

    /// Takes back what was set at this depth or deeper; says what the options were.
    fn restore(&mut self, depth: usize) -> Option<SessionOptions> {
        let at = self.undo.iter().position(|undo| undo.depth >= depth)?;
        let undo = self.undo.swap_remove(at);
        self.undo.truncate(at);
        self.settings.replace(undo.settings);
        Some(undo.options)
    }

    /// Nothing is deeper than this any more: savepoints were released.
    fn settle(&mut self, depth: usize) {
        self.pending.iter_mut().for_each(|(d, _)| *d = (*d).min(depth));
        self.undo.iter_mut().for_each(|undo| undo.depth = undo.depth.min(depth));
        self.undo.dedup_by_key(|undo| undo.depth);
    }
}

impl Hash for Kept {
    fn hash<H: Hasher>(&self, h: &mut H) {
        self.settings.hash(h);
        self.undo.len().hash(h);
        for undo in &self.undo {
            (undo.depth, &undo.settings, undo.options).hash(h);
        }
        for (name, named) in &self.statements {
            (name, named.prepared.id).hash(h);
        }
        (&self.listening, &self.pending, &self.queued, &self.sent).hash(h);
    }
}

impl Machine<'_> {
    /// The transaction is over: its settings stay or go, its messages are sent.
    pub(crate) fn end_kept(&mut self, committed: bool) {
        if !self.session.kept.awaits_end() {
            return;
        }
        let kept = Arc::make_mut(&mut self.session.kept);
        self.footprint.everything |= !kept.pending.is_empty() || !kept.queued.is_empty();
        let said = std::mem::take(&mut kept.pending);
        if committed {
            kept.undo.clear();
            if kept.settings.has_local() {
                kept.settings.end_transaction();
                Settings::INTERPRETED.iter().for_each(|name| kept.settings.interpret(name, &mut self.session.options));
            }
            said.into_iter().for_each(|(_, message)| self.send(message));
        } else if let Some(options) = kept.restore(0) {
            self.session.options = options;
        }
        let kept = Arc::make_mut(&mut self.session.kept);
        let queued = std::mem::take(&mut kept.queued);
        kept.sent.extend(queued);
    }

    /// The savepoint at this depth is as it was.
    pub(crate) fn rollback_kept(&mut self, depth: usize) {
        if self.session.kept.awaits_end() {
            let kept = Arc::make_mut(&mut self.session.kept);
            kept.pending.retain(|(d, _)| *d <= depth);
            if let Some(options) = kept.restore(depth + 1) {
                self.session.options = options;
            }
        }
    }

    /// Savepoints were released, or one is about to be set: what was done belongs to those that are there.
    pub(crate) fn settle_kept(&mut self) {
        if self.session.kept.awaits_end() {
            let depth = self.session.depth();
            Arc::make_mut(&mut self.session.kept).settle(depth);
        }
    }

    fn send(&mut self, message: Message) {
        let kept = Arc::make_mut(&mut self.session.kept);
        match message {
            Message::Listen(channel) => drop(kept.listening.insert(channel)),
            Message::Unlisten(channel) => drop(kept.listening.remove(&channel)),
            Message::UnlistenAll => kept.listening.clear(),
            Message::Notify(channel, payload) => {
                let from = self.me;
                let notification = Notification { channel, payload, from };
                if kept.listening.contains(&notification.channel) {
                    kept.sent.push(notification.clone());
                }
                for (id, slot) in self.db.sessions.iter_mut().enumerate() {
                    if id == from.0 || !slot.kept.listening.contains(&notification.channel) {
                        continue;
                    }
                    let busy = slot.transaction.is_some();
                    let kept = Arc::make_mut(&mut Arc::make_mut(slot).kept);
                    let list = if busy { &mut kept.queued } else { &mut kept.sent };
                    list.push(notification.clone());
                }
            }
        }
    }
}
