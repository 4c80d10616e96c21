//! [`crate::ast`] to [`crate::typed`]: names resolved against the catalog, types inferred, casts made explicit.
//!
//! One pass from the outside in. A [`Binder`] carries what is in sight (see [`scope`]); each construct binds its parts,
//! then asks for conversions ([`coerce`]) or an overload ([`overload`]). Mistakes are PostgreSQL's, word for word, with
//! the place and, where a name is nearly right, the name that was meant.

mod absent;
mod alter;
mod array;
mod call;
mod coerce;
mod constraint;
mod copy;
mod cursor;
mod ddl;
mod depend;
mod dml;
mod drop;
mod expr;
mod from;
mod group;
mod hint;
mod index;
mod json;
mod merge;
mod names;
mod overload;
mod plpgsql;
mod query;
mod raise;
mod returns;
mod routine;
mod rows;
mod scope;
mod sequence;
mod session;
mod text;
mod trigger;
mod types;
mod updatable;
mod view;
mod window;
mod with;

use std::sync::Arc;

use crate::ast::{self, StatementKind as S};
use crate::catalog::{Catalog, RoutineDef, Table, Trigger};
use crate::error::Diagnostic;
use crate::refused::Construct;
use crate::typed::{self, CursorCommand, StatementKind, Transaction};
use crate::types::Type;
use call::Wanted;
use scope::{Frame, Level, WithQuery};
pub use text::one_line;

pub use trigger::TRIGGER_VARIABLES;

pub(crate) type Result<T> = std::result::Result<T, Diagnostic>;

/// Binds a statement of a client. `source` is the file that `statement` was parsed from, for its text.
/// `params` are the types of `$1`, `$2`, ... in it; one of [`Type::Unknown`] takes the type its place wants.
pub fn statement(
    catalog: &Catalog,
    statement: &ast::Statement,
    source: &str,
    params: &[Type],
) -> Result<typed::Statement> {
    let mut binder = Binder::of_client(catalog, params);
    binder.frame.strict = true;
    binder.statement(statement, one_line(statement.span.of(source)))
}

/// The same where the text is known. What is wrong inside of a DO block fails when it is reached, as on a server.
pub fn statement_again(
    catalog: &Catalog,
    statement: &ast::Statement,
    text: Arc<str>,
    params: &[Type],
) -> Result<typed::Statement> {
    Binder::of_client(catalog, params).statement(statement, text)
}

pub use session::{execute_args, prepared_statement};

/// Binds a routine's body; done when it is first called, so that it may name tables created after it.
pub fn routine(catalog: &Catalog, def: &RoutineDef) -> Result<Arc<typed::Routine>> {
    routine::bind(catalog, def).map(Arc::new)
}

/// The same, as PostgreSQL does it: a statement that is wrong fails when it is reached, and not before.
pub fn routine_late(catalog: &Catalog, def: &RoutineDef) -> Result<Arc<typed::Routine>> {
    routine::bind_late(catalog, def).map(Arc::new)
}

/// Binds the function of a trigger to the table that the trigger is on.
pub fn trigger(catalog: &Catalog, table: &Table, trigger: &Trigger) -> Result<Arc<typed::Routine>> {
    trigger::bind(catalog, table, trigger).map(Arc::new)
}

/// What is in sight while a statement is bound.
pub(crate) struct Binder<'a> {
    catalog: &'a Catalog,
    /// The queries around the place at hand, innermost last.
    levels: Vec<Level>,
    /// WITH queries in sight, innermost last.
    with: Vec<WithQuery>,
    /// Variables and parameters.
    frame: Frame,
    /// The keys of views that were named.
    uses: Vec<Arc<str>>,
}

impl<'a> Binder<'a> {
    fn new(catalog: &'a Catalog, frame: Frame) -> Binder<'a> {
        Binder { catalog, levels: Vec::new(), with: Vec::new(), frame, uses: Vec::new() }
    }
}

impl<'a> Binder<'a> {
    /// For a client's statement with parameters of these types.
    fn of_client(catalog: &'a Catalog, params: &[Type]) -> Self {
        let mut frame = Frame::default();
        for (i, ty) in params.iter().enumerate() {
            let slot = frame.add(&format!("${}", i + 1), *ty, None);
            frame.dollars.push(slot);
        }
        Binder::new(catalog, frame)
    }
}

impl Binder<'_> {
    /// Any statement; `text` is what it was written as.
    fn statement(&mut self, statement: &ast::Statement, text: Arc<str>) -> Result<typed::Statement> {
        let span = statement.span;
        let kind = match &statement.kind {
            S::Query(query) => StatementKind::Query(self.query(query)?),
            S::Insert(insert) => StatementKind::Insert(self.insert(insert)?),
            S::Update(update) => StatementKind::Update(self.update(update)?),
            S::Delete(delete) => StatementKind::Delete(self.delete(delete)?),
            S::Merge(merge) => StatementKind::Merge(Box::new(self.merge(merge)?)),
            S::CreateTable(create) => StatementKind::Define(self.create_table(create)?),
            S::CreateIndex(create) => StatementKind::Define(self.create_index(create)?),
            S::CreateSequence(create) => StatementKind::Define(self.create_sequence(create)?),
            S::CreateRoutine(create) => StatementKind::Define(self.create_routine(create, span)?),
            S::CreateTrigger(create) => StatementKind::Define(self.create_trigger(create, span)?),
            S::DropTrigger(drop) => StatementKind::Define(self.drop_trigger(drop)?),
            S::SwitchTriggers(switch) => StatementKind::Define(self.switch_triggers(switch)?),
            S::DeclareCursor(declare) => {
                let query = StatementKind::Query(self.query(&declare.query)?);
                let query = Arc::new(typed::Statement { kind: query, text: text.clone(), span });
                let (scroll, hold) = (declare.scroll, declare.hold);
                let name = declare.name.name.clone();
                StatementKind::Cursor(CursorCommand::Declare { name, query, scroll, hold })
            }
            S::Fetch(fetch) => {
                let cursor = fetch.cursor.name.clone();
                let (direction, moves) = (fetch.direction, fetch.moves);
                StatementKind::Cursor(CursorCommand::Fetch { cursor, direction, moves })
            }
            S::CloseCursor(name) => StatementKind::Cursor(CursorCommand::Close(name.as_ref().map(|n| n.name.clone()))),
            S::CreateType(create) => StatementKind::Define(self.create_type(create)?),
            S::CreateDomain(create) => StatementKind::Define(self.create_domain(create, span)?),
            S::AlterType(alter) => StatementKind::Define(self.alter_type(alter, span)?),
            S::CreateView(create) => StatementKind::Define(self.create_view(create)?),
            S::Refresh(refresh) => StatementKind::Define(self.refresh(refresh)?),
            S::CreateTableAs(create) => StatementKind::Define(self.create_table_as(create)?),
            S::CreateSchema(create) => StatementKind::Define(self.create_schema(create)?),
            S::AlterTable(alter) => StatementKind::Define(self.alter_table(alter)?),
            S::AlterSequence(alter) => StatementKind::Define(self.alter_sequence(alter)?),
            S::AlterObject(alter) => StatementKind::Define(self.alter_object(alter, drop::alter_tag(alter.object))?),
            S::Copy(copy) => StatementKind::Insert(self.copy(copy)?),
            S::SetConstraints(set) => StatementKind::SetConstraints(self.set_constraints(set)?),
            S::Ignored(ignored) => {
                StatementKind::Define(typed::Define::Change(Arc::new(typed::Change::new(ignored.tag, Vec::new()))))
            }
            S::Drop(drop) => StatementKind::Define(self.drop(drop, span)?),
            S::Truncate(truncate) => StatementKind::Truncate(self.truncate(truncate)?),
            S::LockTable(lock) => {
                let tables: Result<_> = lock.tables.iter().map(|n| Ok(self.table(n)?.id)).collect();
                StatementKind::LockTable { tables: tables?, mode: lock.mode, nowait: lock.nowait }
            }
            S::Begin(modes) => StatementKind::Transaction(Transaction::Begin(*modes)),
            S::Commit { chain } => StatementKind::Transaction(Transaction::Commit { chain: *chain }),
            S::Rollback { chain } => StatementKind::Transaction(Transaction::Rollback { chain: *chain }),
            S::Savepoint(name) => StatementKind::Transaction(Transaction::Savepoint(name.name.clone())),
            S::RollbackTo(name) => StatementKind::Transaction(Transaction::RollbackTo(name.name.clone())),
            S::Release(name) => StatementKind::Transaction(Transaction::Release(name.name.clone())),
            S::SetTransaction(modes) => StatementKind::Transaction(Transaction::Set(*modes)),
            S::SetSessionCharacteristics(modes) => StatementKind::Transaction(Transaction::SetSession(*modes)),
            S::Set(set) => {
                StatementKind::Set { local: set.local, name: set.name.name.clone(), value: set.value.clone() }
            }
            S::Call { name, args, named } => self.call_procedure(name, args, named, span)?,
            S::Session(command) => self.session_command(command)?,
            S::Do(body) => StatementKind::Do(Arc::new(routine::bind_block(self.catalog, body, self.frame.strict)?)),
        };
        Ok(typed::Statement { kind, text, span })
    }

    fn call_procedure(
        &mut self,
        name: &ast::QualifiedName,
        args: &[ast::Expr],
        named: &[(ast::Ident, ast::Expr)],
        span: crate::Span,
    ) -> Result<StatementKind> {
        let mut operands = self.operands(args)?;
        for (_, value) in named {
            operands.push((self.expr(value)?, value.span));
        }
        let names: Vec<&ast::Ident> = named.iter().map(|(name, _)| name).collect();
        match self.resolve(name, &operands, &names, Wanted::Procedure, span)? {
            Some((call::Callee::Routine(id, def, sources), params)) => {
                let args = self.arguments(operands, &params)?;
                let mut subqueries = false;
                args.iter().for_each(|arg| arg.walk(0, &mut |e, _| subqueries |= e.subquery().is_some()));
                if subqueries {
                    let message = "cannot use subquery in CALL argument";
                    return Err(Diagnostic::new(span, crate::SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                Ok(StatementKind::Call(id, call::routine_args(def, &sources, &args)))
            }
            _ => Err(Diagnostic::unsupported(span, Construct::CALL_OF_A_BUILTIN_FUNCTION)),
        }
    }
}
