//! Statements that change data or steer transactions.

use std::fmt::{self, Display, Formatter};

use super::ddl::DollarQuoted;
use super::window::Assignments;
use super::{Clause, ListClause, Quoted, commas, query};
use crate::ast::plpgsql::Into;
use crate::ast::{
    Assignment, ConflictTarget, Delete, Insert, InsertSource, Isolation, OnConflict, SelectItem, Set, Statement,
    StatementKind, TransactionModes, Update,
};

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl Display for StatementKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        statement(f, self, None)
    }
}

/// A statement with PL/pgSQL's INTO, where it has one.
pub(super) fn statement(f: &mut Formatter<'_>, kind: &StatementKind, into: Option<&Into>) -> fmt::Result {
    match kind {
        StatementKind::Query(query) => return query::query(f, query, into),
        StatementKind::Insert(insert) => insert.fmt(f)?,
        StatementKind::Update(update) => update.fmt(f)?,
        StatementKind::Delete(delete) => delete.fmt(f)?,
        StatementKind::Merge(merge) => merge.fmt(f)?,
        StatementKind::CreateTable(table) => table.fmt(f)?,
        StatementKind::CreateIndex(index) => index.fmt(f)?,
        StatementKind::CreateSequence(sequence) => sequence.fmt(f)?,
        StatementKind::CreateRoutine(routine) => routine.fmt(f)?,
        StatementKind::CreateTrigger(trigger) => trigger.fmt(f)?,
        StatementKind::DropTrigger(drop) => drop.fmt(f)?,
        StatementKind::SwitchTriggers(switch) => switch.fmt(f)?,
        StatementKind::DeclareCursor(declare) => declare.fmt(f)?,
        StatementKind::Fetch(fetch) => fetch.fmt(f)?,
        StatementKind::CloseCursor(Some(name)) => write!(f, "CLOSE {name}")?,
        StatementKind::CloseCursor(None) => write!(f, "CLOSE ALL")?,
        StatementKind::CreateType(create) => create.fmt(f)?,
        StatementKind::CreateDomain(create) => create.fmt(f)?,
        StatementKind::AlterType(alter) => alter.fmt(f)?,
        StatementKind::AlterTable(alter) => alter.fmt(f)?,
        StatementKind::AlterSequence(alter) => alter.fmt(f)?,
        StatementKind::AlterObject(alter) => alter.fmt(f)?,
        StatementKind::CreateView(create) => create.fmt(f)?,
        StatementKind::Refresh(refresh) => refresh.fmt(f)?,
        StatementKind::CreateTableAs(create) => create.fmt(f)?,
        StatementKind::CreateSchema(create) => create.fmt(f)?,
        StatementKind::SetConstraints(set) => set.fmt(f)?,
        StatementKind::Copy(copy) => copy.fmt(f)?,
        StatementKind::Ignored(ignored) => f.write_str(&ignored.text)?,
        StatementKind::Drop(drop) => drop.fmt(f)?,
        StatementKind::Truncate(truncate) => truncate.fmt(f)?,
        StatementKind::LockTable(lock) => {
            let nowait = if lock.nowait { " NOWAIT" } else { "" };
            write!(f, "LOCK TABLE {} IN {} MODE{nowait}", commas(&lock.tables), lock.mode)?;
        }
        StatementKind::Begin(modes) => write!(f, "BEGIN{}", begin_modes(modes))?,
        StatementKind::Commit { chain } => write!(f, "COMMIT{}", and_chain(*chain))?,
        StatementKind::Rollback { chain } => write!(f, "ROLLBACK{}", and_chain(*chain))?,
        StatementKind::Savepoint(name) => write!(f, "SAVEPOINT {name}")?,
        StatementKind::RollbackTo(name) => write!(f, "ROLLBACK TO {name}")?,
        StatementKind::Release(name) => write!(f, "RELEASE {name}")?,
        StatementKind::SetTransaction(modes) => write!(f, "SET TRANSACTION {modes}")?,
        StatementKind::SetSessionCharacteristics(modes) => {
            write!(f, "SET SESSION CHARACTERISTICS AS TRANSACTION {modes}")?;
        }
        StatementKind::Set(set) => set.fmt(f)?,
        StatementKind::Call { name, args, named } => {
            let positional = args.iter().map(|arg| arg.to_string());
            let named = named.iter().map(|(param, arg)| format!("{param} => {arg}"));
            write!(f, "CALL {}({})", name, commas(&positional.chain(named).collect::<Vec<_>>()))?;
        }
        StatementKind::Session(command) => command.fmt(f)?,
        StatementKind::Do(body) => write!(f, "DO {}", DollarQuoted(body))?,
    }
    match into {
        Some(into) => write!(f, " {into}"),
        None => Ok(()),
    }
}

fn and_chain(chain: bool) -> &'static str {
    if chain { " AND CHAIN" } else { "" }
}

impl Display for TransactionModes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let isolation = self.isolation.map(|level| format!("ISOLATION LEVEL {level}"));
        let read_only = self.read_only.map(|yes| if yes { "READ ONLY" } else { "READ WRITE" }.to_string());
        let deferrable = self.deferrable.map(|yes| if yes { "DEFERRABLE" } else { "NOT DEFERRABLE" }.to_string());
        let modes: Vec<String> = [isolation, read_only, deferrable].into_iter().flatten().collect();
        commas(&modes).fmt(f)
    }
}

/// ` ISOLATION LEVEL ...` behind BEGIN, or nothing.
fn begin_modes(modes: &TransactionModes) -> String {
    if *modes == TransactionModes::default() { String::new() } else { format!(" {modes}") }
}

impl Display for Isolation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Isolation::ReadCommitted => "READ COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE READ",
            Isolation::Serializable => "SERIALIZABLE",
        })
    }
}

impl Display for Set {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // The name of a setting is not an identifier: `myapp.user` is one name.
        write!(f, "SET {}{} = ", if self.local { "LOCAL " } else { "" }, self.name.name)?;
        match &self.value {
            Some(value) => Quoted(value).fmt(f),
            None => f.write_str("DEFAULT"),
        }
    }
}

impl Display for Insert {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        query::with(f, &self.with)?;
        write!(f, "INSERT INTO {}{}", self.table, Clause("AS", self.alias.as_ref()))?;
        if !self.columns.is_empty() {
            write!(f, " ({})", commas(&self.columns))?;
        }
        if let Some(overriding) = self.overriding {
            write!(f, " {overriding}")?;
        }
        match &self.source {
            InsertSource::DefaultValues => f.write_str(" DEFAULT VALUES")?,
            InsertSource::Query(query) => write!(f, " {query}")?,
        }
        if let Some(on_conflict) = &self.on_conflict {
            write!(f, " {on_conflict}")?;
        }
        returning(f, &self.returning)
    }
}

impl Display for OnConflict {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("ON CONFLICT")?;
        match &self.target {
            Some(ConflictTarget::Columns(columns)) => write!(f, " ({})", commas(columns))?,
            Some(ConflictTarget::Index { keys, filter }) => {
                let keys: Vec<String> = keys.iter().map(super::ddl::index_key).collect();
                write!(f, " ({}){}", commas(&keys), Clause("WHERE", filter.as_ref()))?;
            }
            Some(ConflictTarget::Constraint(name)) => write!(f, " ON CONSTRAINT {name}")?,
            None => {}
        }
        match &self.update {
            Some(update) => {
                write!(f, " DO UPDATE SET {}{}", Assignments(&update.set), Clause("WHERE", update.filter.as_ref()))
            }
            None => f.write_str(" DO NOTHING"),
        }
    }
}

impl Display for Assignment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.column)?;
        self.subscripts.iter().try_for_each(|s| write!(f, "{s}"))?;
        write!(f, " = {}", self.value)
    }
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        query::with(f, &self.with)?;
        write!(f, "UPDATE {}{} SET {}", self.table, Clause("AS", self.alias.as_ref()), Assignments(&self.set))?;
        write!(f, "{}{}", ListClause("FROM", &self.from), Clause("WHERE", self.filter.as_ref()))?;
        returning(f, &self.returning)
    }
}

impl Display for Delete {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        query::with(f, &self.with)?;
        write!(f, "DELETE FROM {}{}", self.table, Clause("AS", self.alias.as_ref()))?;
        write!(f, "{}{}", ListClause("USING", &self.using), Clause("WHERE", self.filter.as_ref()))?;
        returning(f, &self.returning)
    }
}

fn returning(f: &mut Formatter<'_>, items: &[SelectItem]) -> fmt::Result {
    ListClause("RETURNING", items).fmt(f)
}
