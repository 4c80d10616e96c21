//! What running a statement may do besides reading and writing rows.

use super::{Facts, RowOrder, SettingKind, TableUse, suspect};
use crate::ast::plpgsql::{DeclarationKind, OpenSource, StmtKind};
use crate::ast::{
    Discard, Expr, ExprKind, Isolation, LockStrength, Part, QualifiedName, QueryBody, RoutineBody, SessionCommand, Set,
    StatementKind, TransactionModes,
};

/// What running a statement may do besides reading and writing rows. Each field is true if it cannot be excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// It asks for rows or writes some.
    pub queries: bool,
    /// It changes definitions, owners or privileges.
    pub defines: bool,
    /// It empties tables: no trigger for rows hears of that.
    pub truncates: bool,
    /// An error is caught inside of it: what was done until then is undone, and the statement may succeed.
    pub catches: bool,
    /// A transaction is ended inside of it.
    pub ends: bool,
    /// A text is executed that is put together only then.
    pub executes: bool,
    /// Something stays in the session when its transaction has ended: settings, prepared statements, channels, session
    /// locks, holdable cursors, temporary tables, the last value of a sequence.
    pub keeps: bool,
    /// A prepared statement is forgotten.
    pub deallocates: bool,
    /// A transaction is prepared, or one that was prepared is ended.
    pub two_phase: bool,
    /// A setting is changed by which rows are printed in other words, or names are found elsewhere.
    pub rewords: bool,
    /// A transaction may become SERIALIZABLE.
    pub serializable: bool,
    /// An isolation level is set, here or for transactions to come.
    pub sets_level: bool,
    /// A lock on a table is taken that excludes more than the locks of reads and writes do.
    pub locks_tables: bool,
    /// The strongest row lock that a query asks for.
    pub locks_rows: Option<LockStrength>,
    /// A cursor is opened inside of a routine whose query asks for an order.
    pub opens_ordered: bool,
    /// Something outside of the database is changed: roles, databases, tablespaces, the server's settings.
    pub outside: bool,
}

/// Functions that leave something in the session, or whose answer depends on what was left there.
pub(super) const KEEPING: &[&str] = &[
    "currval",
    "lastval",
    "pg_advisory_lock",
    "pg_advisory_lock_shared",
    "pg_advisory_unlock",
    "pg_advisory_unlock_all",
    "pg_advisory_unlock_shared",
    "pg_try_advisory_lock",
    "pg_try_advisory_lock_shared",
    "setseed",
];

impl Effects {
    /// Whatever there is: of a text of which nothing is known.
    pub fn any() -> Effects {
        Effects {
            queries: true,
            defines: true,
            truncates: true,
            catches: true,
            ends: true,
            executes: true,
            keeps: true,
            deallocates: true,
            two_phase: true,
            rewords: true,
            serializable: true,
            sets_level: true,
            locks_tables: true,
            locks_rows: Some(LockStrength::Update),
            opens_ordered: true,
            // What is refused for this is refused by name only.
            outside: false,
        }
    }

    /// What either may do.
    pub fn or(self, other: Effects) -> Effects {
        Effects {
            queries: self.queries || other.queries,
            defines: self.defines || other.defines,
            truncates: self.truncates || other.truncates,
            catches: self.catches || other.catches,
            ends: self.ends || other.ends,
            executes: self.executes || other.executes,
            keeps: self.keeps || other.keeps,
            deallocates: self.deallocates || other.deallocates,
            two_phase: self.two_phase || other.two_phase,
            rewords: self.rewords || other.rewords,
            serializable: self.serializable || other.serializable,
            sets_level: self.sets_level || other.sets_level,
            locks_tables: self.locks_tables || other.locks_tables,
            locks_rows: self.locks_rows.max(other.locks_rows),
            opens_ordered: self.opens_ordered || other.opens_ordered,
            outside: self.outside || other.outside,
        }
    }

    /// What any of them may do.
    pub fn of_all<'f>(facts: impl IntoIterator<Item = &'f Facts>) -> Effects {
        facts.into_iter().fold(Effects::default(), |all, facts| all.or(facts.effects))
    }
}

pub(super) fn of_statement(kind: &StatementKind) -> Facts {
    let mut found = Finder::new(false);
    kind.walk(&mut |part| found.part(part));
    found.facts
}

pub(super) fn of_body(body: &RoutineBody) -> Facts {
    let mut found = Finder::new(true);
    body.walk(&mut |part| found.part(part));
    found.facts
}

struct Finder {
    facts: Facts,
    /// What is looked at is inside of a routine.
    inside: bool,
}

impl Finder {
    fn new(inside: bool) -> Finder {
        Finder { facts: Facts { understood: true, ..Facts::default() }, inside }
    }

    fn part(&mut self, part: Part<'_>) {
        let effects = &mut self.facts.effects;
        match part {
            Part::Statement(statement) => self.statement(statement),
            Part::Query(query) => {
                effects.queries = true;
                self.facts.selects_from |= matches!(&query.body, QueryBody::Select(select) if !select.from.is_empty());
                effects.locks_rows = effects.locks_rows.max(query.locking.iter().map(|l| l.strength).max());
            }
            Part::Table(name) => self.table(name, false),
            Part::Target(name) => self.table(name, true),
            Part::Routine(name, args) => self.call(name, args),
            Part::Expr(Expr { kind: ExprKind::Call(call), .. }) => self.call(&call.name, &call.args),
            Part::Expr(_) => {}
            Part::Block(block) => {
                effects.catches |= !block.handlers.is_empty();
                for declaration in &block.declarations {
                    if let DeclarationKind::Cursor { query, .. } = &declaration.kind {
                        effects.opens_ordered |= RowOrder::of_query(query) == RowOrder::Asked;
                    }
                }
            }
            Part::Stmt(stmt) => self.stmt(stmt),
        }
    }

    fn table(&mut self, name: &QualifiedName, written: bool) {
        self.facts.effects.queries = true;
        self.facts.tables.push(TableUse { name: name.into(), written });
    }

    fn call(&mut self, name: &QualifiedName, args: &[Expr]) {
        self.facts.functions.push(name.into());
        let effects = &mut self.facts.effects;
        effects.keeps |= KEEPING.contains(&&*name.name.name);
        if &*name.name.name == "set_config" {
            let local = matches!(args.get(2), Some(Expr { kind: ExprKind::Bool(true), .. }));
            let constant = |at: usize| match args.get(at).map(|arg| &arg.kind) {
                Some(ExprKind::String(text)) => Some(&**text),
                _ => None,
            };
            set(effects, local, constant(0), constant(1));
        }
    }

    fn statement(&mut self, statement: &StatementKind) {
        use SessionCommand as C;
        use StatementKind as S;
        let inside = std::mem::replace(&mut self.inside, true);
        let effects = &mut self.facts.effects;
        match statement {
            S::Begin(modes) | S::SetTransaction(modes) => level(effects, modes),
            S::SetSessionCharacteristics(modes) => {
                effects.keeps = true;
                level(effects, modes);
            }
            S::Commit { .. } | S::Rollback { .. } => effects.ends |= inside,
            S::Set(Set { local, name, value }) => set(effects, *local, Some(&name.name), value.as_deref()),
            S::Session(command) => match command {
                C::Reset(name) => set(effects, false, name.as_ref().map(|name| &*name.name), None),
                C::Prepare { .. } | C::Listen(_) | C::Unlisten(_) => effects.keeps = true,
                C::Deallocate(_) => (effects.keeps, effects.deallocates) = (true, true),
                C::Discard(what) => {
                    (effects.keeps, effects.deallocates) = (true, true);
                    effects.rewords |= *what == Discard::All;
                    effects.sets_level |= *what == Discard::All;
                }
                C::PrepareTransaction(_) | C::CommitPrepared(_) | C::RollbackPrepared(_) => effects.two_phase = true,
                C::Maintain { .. } => effects.locks_tables = true,
                C::Show(_) | C::Execute { .. } | C::Notify { .. } => {}
            },
            // What was put off is looked at.
            S::SetConstraints(set) => effects.queries |= !set.deferred,
            S::DeclareCursor(cursor) => effects.keeps |= cursor.hold,
            S::Truncate(_) => (effects.truncates, effects.locks_tables) = (true, true),
            S::LockTable(_) => effects.locks_tables = true,
            S::CreateTable(create) => (effects.defines, effects.keeps) = (true, effects.keeps || create.temporary),
            S::CreateTableAs(create) => (effects.defines, effects.keeps) = (true, effects.keeps || create.temporary),
            S::Ignored(ignored) => match ignored.tag {
                "" => *effects = effects.or(suspect::statement(&ignored.text).effects),
                "SET" | "RESET" => effects.keeps = true,
                "ANALYZE" | "VACUUM" | "CHECKPOINT" => effects.locks_tables = true,
                tag => {
                    effects.defines = true;
                    effects.outside |= suspect::is_outside(tag);
                }
            },
            S::CreateIndex(_) | S::CreateSequence(_) | S::CreateRoutine(_) | S::CreateTrigger(_) => {
                effects.defines = true
            }
            S::DropTrigger(_) | S::SwitchTriggers(_) | S::CreateType(_) | S::CreateDomain(_) => effects.defines = true,
            S::AlterType(_) | S::AlterTable(_) | S::AlterSequence(_) | S::AlterObject(_) => effects.defines = true,
            S::CreateView(_) | S::Refresh(_) | S::CreateSchema(_) | S::Drop(_) => effects.defines = true,
            S::Query(_) | S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_) | S::Copy(_) => {}
            S::Fetch(_) | S::CloseCursor(_) | S::Savepoint(_) | S::RollbackTo(_) => {}
            S::Release(_) | S::Call { .. } | S::Do(_) => {}
        }
        self.facts.effects.locks_tables |= self.facts.effects.defines;
    }

    fn stmt(&mut self, stmt: &StmtKind) {
        let text = match stmt {
            StmtKind::Execute { text, .. }
            | StmtKind::ForExecute { text, .. }
            | StmtKind::ReturnExecute { text, .. } => text,
            StmtKind::Open { source: OpenSource::Execute(text, _), .. } => text,
            StmtKind::Open { source: OpenSource::Query(statement), .. } => {
                self.facts.effects.opens_ordered |= RowOrder::of(&statement.kind) == RowOrder::Asked;
                return;
            }
            _ => return,
        };
        let effects = &mut self.facts.effects;
        effects.executes = true;
        *effects = effects.or(suspect::dynamic(text));
    }
}

/// A setting is changed; `None` for a name or a value that is not known.
pub(super) fn set(effects: &mut Effects, local: bool, name: Option<&str>, value: Option<&str>) {
    let is_one = |kind: SettingKind| name.is_none_or(|name| SettingKind::of(name) == kind);
    effects.keeps |= !local;
    effects.rewords |= is_one(SettingKind::Wording);
    effects.sets_level |= is_one(SettingKind::Level);
    effects.serializable |=
        is_one(SettingKind::Level) && value.is_none_or(|value| value.eq_ignore_ascii_case("serializable"));
}

fn level(effects: &mut Effects, modes: &TransactionModes) {
    effects.sets_level |= modes.isolation.is_some();
    effects.serializable |= modes.isolation == Some(Isolation::Serializable);
}
