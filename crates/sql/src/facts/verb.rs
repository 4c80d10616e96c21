//! The kinds of statements.

use crate::ast::{SessionCommand, StatementKind};
use crate::typed;

/// What kind of statement it is: of `WITH w AS (...) UPDATE`, an UPDATE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Verb {
    /// SELECT, VALUES, TABLE
    Select,
    Insert,
    Update,
    Delete,
    Merge,
    /// COPY from what the client sends
    Copy,
    Truncate,
    /// LOCK TABLE
    Lock,
    Call,
    Do,
    /// BEGIN, START TRANSACTION
    Begin,
    /// COMMIT, END
    Commit,
    /// ROLLBACK, ABORT
    Rollback,
    Savepoint,
    RollbackTo,
    Release,
    /// SET TRANSACTION, SET SESSION CHARACTERISTICS
    SetTransaction,
    /// SET, RESET, SET ROLE, SET CONSTRAINTS
    Set,
    Show,
    /// PREPARE name AS
    Prepare,
    /// EXECUTE name
    Execute,
    Deallocate,
    Discard,
    /// DECLARE name CURSOR
    Declare,
    Fetch,
    Move,
    Close,
    Listen,
    Unlisten,
    Notify,
    /// PREPARE TRANSACTION
    PrepareTransaction,
    /// COMMIT PREPARED
    CommitPrepared,
    /// ROLLBACK PREPARED
    RollbackPrepared,
    /// CREATE, ALTER, DROP and their kin
    Define,
    /// VACUUM, ANALYZE, REINDEX, CHECKPOINT, CLUSTER
    Maintain,
    /// Something that we do not know.
    #[default]
    Other,
}

impl Verb {
    /// The verb of a statement that was parsed.
    pub(super) fn of(kind: &StatementKind) -> Verb {
        use SessionCommand as C;
        use StatementKind as S;
        match kind {
            S::Query(_) => Verb::Select,
            S::Insert(_) => Verb::Insert,
            S::Update(_) => Verb::Update,
            S::Delete(_) => Verb::Delete,
            S::Merge(_) => Verb::Merge,
            S::Copy(_) => Verb::Copy,
            S::Truncate(_) => Verb::Truncate,
            S::LockTable(_) => Verb::Lock,
            S::Call { .. } => Verb::Call,
            S::Do(_) => Verb::Do,
            S::Begin(_) => Verb::Begin,
            S::Commit { .. } => Verb::Commit,
            S::Rollback { .. } => Verb::Rollback,
            S::Savepoint(_) => Verb::Savepoint,
            S::RollbackTo(_) => Verb::RollbackTo,
            S::Release(_) => Verb::Release,
            S::SetTransaction(_) | S::SetSessionCharacteristics(_) => Verb::SetTransaction,
            S::Set(_) | S::SetConstraints(_) => Verb::Set,
            S::DeclareCursor(_) => Verb::Declare,
            S::Fetch(fetch) if fetch.moves => Verb::Move,
            S::Fetch(_) => Verb::Fetch,
            S::CloseCursor(_) => Verb::Close,
            S::Session(command) => match command {
                C::Show(_) => Verb::Show,
                C::Reset(_) => Verb::Set,
                C::Prepare { .. } => Verb::Prepare,
                C::Execute { .. } => Verb::Execute,
                C::Deallocate(_) => Verb::Deallocate,
                C::Discard(_) => Verb::Discard,
                C::Maintain { .. } => Verb::Maintain,
                C::Listen(_) => Verb::Listen,
                C::Unlisten(_) => Verb::Unlisten,
                C::Notify { .. } => Verb::Notify,
                C::PrepareTransaction(_) => Verb::PrepareTransaction,
                C::CommitPrepared(_) => Verb::CommitPrepared,
                C::RollbackPrepared(_) => Verb::RollbackPrepared,
            },
            // By the tag that the parser gave it.
            S::Ignored(ignored) => match ignored.tag {
                "SET" | "RESET" => Verb::Set,
                "ANALYZE" | "VACUUM" | "REINDEX" | "CLUSTER" | "CHECKPOINT" => Verb::Maintain,
                "" | "LOAD" => Verb::Other,
                _ => Verb::Define,
            },
            S::CreateTable(_) | S::CreateIndex(_) | S::CreateSequence(_) | S::CreateRoutine(_) => Verb::Define,
            S::CreateTrigger(_) | S::DropTrigger(_) | S::SwitchTriggers(_) | S::CreateType(_) => Verb::Define,
            S::CreateDomain(_) | S::AlterType(_) | S::AlterTable(_) | S::AlterSequence(_) => Verb::Define,
            S::AlterObject(_) | S::CreateView(_) | S::Refresh(_) | S::CreateTableAs(_) => Verb::Define,
            S::CreateSchema(_) | S::Drop(_) => Verb::Define,
        }
    }

    /// The verb of a bound statement; an expression that a routine evaluates is a SELECT.
    pub fn of_bound(statement: &typed::Statement) -> Verb {
        use typed::StatementKind as S;
        use typed::Transaction as T;
        match &statement.kind {
            S::Query(_) => Verb::Select,
            S::Insert(_) => Verb::Insert,
            S::Update(_) => Verb::Update,
            S::Delete(_) => Verb::Delete,
            S::Merge(_) => Verb::Merge,
            S::Define(_) => Verb::Define,
            S::Truncate(_) => Verb::Truncate,
            S::LockTable { .. } => Verb::Lock,
            S::Transaction(transaction) => match transaction {
                T::Begin(_) => Verb::Begin,
                T::Commit { .. } => Verb::Commit,
                T::Rollback { .. } => Verb::Rollback,
                T::Savepoint(_) => Verb::Savepoint,
                T::RollbackTo(_) => Verb::RollbackTo,
                T::Release(_) => Verb::Release,
                T::Set(_) | T::SetSession(_) => Verb::SetTransaction,
                T::Prepare(_) => Verb::PrepareTransaction,
                T::CommitPrepared(_) => Verb::CommitPrepared,
                T::RollbackPrepared(_) => Verb::RollbackPrepared,
            },
            S::SetConstraints(_) | S::Set { .. } => Verb::Set,
            S::Call(..) => Verb::Call,
            S::Do(_) => Verb::Do,
            S::Session(_) | S::Cursor(_) => Verb::Other,
            S::Late(verb) => *verb,
        }
    }

    /// Whether it reads or writes rows and is planned before it runs.
    pub fn is_planned(self) -> bool {
        matches!(self, Verb::Select | Verb::Insert | Verb::Update | Verb::Delete | Verb::Merge)
    }

    /// Whether it is about a transaction: where it begins, ends, or can be rolled back to, or how it runs.
    pub fn is_about_transactions(self) -> bool {
        use Verb::*;
        matches!(self, Begin | Commit | Rollback | Savepoint | RollbackTo | Release | SetTransaction)
    }

    /// The word that it begins with, apart from WITH.
    pub fn word(self) -> &'static str {
        match self {
            Verb::Select => "SELECT",
            Verb::Insert => "INSERT",
            Verb::Update => "UPDATE",
            Verb::Delete => "DELETE",
            Verb::Merge => "MERGE",
            Verb::Copy => "COPY",
            Verb::Truncate => "TRUNCATE",
            Verb::Lock => "LOCK",
            Verb::Call => "CALL",
            Verb::Do => "DO",
            Verb::Begin => "BEGIN",
            Verb::Commit => "COMMIT",
            Verb::Rollback | Verb::RollbackTo => "ROLLBACK",
            Verb::Savepoint => "SAVEPOINT",
            Verb::Release => "RELEASE",
            Verb::SetTransaction | Verb::Set => "SET",
            Verb::Show => "SHOW",
            Verb::Prepare => "PREPARE",
            Verb::Execute => "EXECUTE",
            Verb::Deallocate => "DEALLOCATE",
            Verb::Discard => "DISCARD",
            Verb::Declare => "DECLARE",
            Verb::Fetch => "FETCH",
            Verb::Move => "MOVE",
            Verb::Close => "CLOSE",
            Verb::Listen => "LISTEN",
            Verb::Unlisten => "UNLISTEN",
            Verb::Notify => "NOTIFY",
            Verb::PrepareTransaction => "PREPARE TRANSACTION",
            Verb::CommitPrepared => "COMMIT PREPARED",
            Verb::RollbackPrepared => "ROLLBACK PREPARED",
            Verb::Define => "DEFINITION",
            Verb::Maintain => "MAINTENANCE",
            Verb::Other => "STATEMENT",
        }
    }
}
