//! Statements about the session itself.

use std::fmt::{self, Display, Formatter};

use super::{Quoted, commas};
use crate::ast::SessionCommand;

impl Display for SessionCommand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SessionCommand::Show(name) => write!(f, "SHOW {}", name.name),
            SessionCommand::Reset(Some(name)) => write!(f, "RESET {}", name.name),
            SessionCommand::Reset(None) => f.write_str("RESET ALL"),
            SessionCommand::Prepare { name, types, statement } if types.is_empty() => {
                write!(f, "PREPARE {name} AS {statement}")
            }
            SessionCommand::Prepare { name, types, statement } => {
                write!(f, "PREPARE {name} ({}) AS {statement}", commas(types))
            }
            SessionCommand::Execute { name, args } if args.is_empty() => write!(f, "EXECUTE {name}"),
            SessionCommand::Execute { name, args } => write!(f, "EXECUTE {name}({})", commas(args)),
            SessionCommand::Deallocate(Some(name)) => write!(f, "DEALLOCATE {name}"),
            SessionCommand::Deallocate(None) => f.write_str("DEALLOCATE ALL"),
            SessionCommand::Discard(what) => f.write_str(what.name()),
            SessionCommand::Maintain { work, tables } => match tables.as_slice() {
                [] => f.write_str(work.name()),
                tables => write!(f, "{} {}", work.name(), commas(tables)),
            },
            SessionCommand::Listen(channel) => write!(f, "LISTEN {channel}"),
            SessionCommand::Unlisten(Some(channel)) => write!(f, "UNLISTEN {channel}"),
            SessionCommand::Unlisten(None) => f.write_str("UNLISTEN *"),
            SessionCommand::Notify { channel, payload: None } => write!(f, "NOTIFY {channel}"),
            SessionCommand::Notify { channel, payload: Some(text) } => {
                write!(f, "NOTIFY {channel}, {}", Quoted(text))
            }
            SessionCommand::PrepareTransaction(id) => write!(f, "PREPARE TRANSACTION {}", Quoted(id)),
            SessionCommand::CommitPrepared(id) => write!(f, "COMMIT PREPARED {}", Quoted(id)),
            SessionCommand::RollbackPrepared(id) => write!(f, "ROLLBACK PREPARED {}", Quoted(id)),
        }
    }
}
