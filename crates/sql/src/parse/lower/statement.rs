//! One statement: which kind it is.

use squawk_syntax::ast::{self as cst, AstNode};

use super::alter::cascades;
use super::{Lower, Result, child, children, words};
use crate::ast::{
    Drop, DropObject, Ident, LockTable, QualifiedName, Statement, StatementKind, TableLockMode, Truncate, TypeName,
};
use crate::error::Diagnostic;
use crate::refused::Construct;

impl Lower {
    /// Any statement.
    pub(super) fn statement(&self, statement: &cst::Stmt) -> Result<Statement> {
        Ok(Statement { kind: self.statement_kind(statement)?, span: self.span(statement.syntax()) })
    }

    fn statement_kind(&self, statement: &cst::Stmt) -> Result<StatementKind> {
        use cst::Stmt as S;
        if let S::SelectInto(into) = statement {
            return Ok(StatementKind::CreateTableAs(Box::new(self.select_into(into)?)));
        }
        if let Some(query) = cst::SelectVariant::cast(statement.syntax().clone()) {
            return Ok(StatementKind::Query(Box::new(self.query(&query)?)));
        }
        Ok(match statement {
            S::Insert(insert) => StatementKind::Insert(Box::new(self.insert(insert)?)),
            S::Update(update) => StatementKind::Update(Box::new(self.update(update)?)),
            S::Delete(delete) => StatementKind::Delete(Box::new(self.delete(delete)?)),
            S::Merge(merge) => StatementKind::Merge(Box::new(self.merge(merge)?)),
            S::CreateTable(create) => StatementKind::CreateTable(Box::new(self.create_table(create)?)),
            S::CreateIndex(create) => StatementKind::CreateIndex(Box::new(self.create_index(create)?)),
            S::CreateSequence(create) => StatementKind::CreateSequence(self.create_sequence(create)?),
            S::CreateFunction(create) => StatementKind::CreateRoutine(Box::new(self.create_function(create)?)),
            S::CreateProcedure(create) => StatementKind::CreateRoutine(Box::new(self.create_procedure(create)?)),
            S::CreateTrigger(create) => StatementKind::CreateTrigger(Box::new(self.create_trigger(create)?)),
            S::DropTrigger(drop) => StatementKind::DropTrigger(self.drop_trigger(drop)?),
            S::Declare(declare) => StatementKind::DeclareCursor(Box::new(self.declare_cursor(declare)?)),
            S::Fetch(fetch) => StatementKind::Fetch(self.fetch(fetch)?),
            S::Move(moves) => StatementKind::Fetch(self.move_cursor(moves)?),
            S::Close(close) => StatementKind::CloseCursor(self.close_cursor(close)),
            S::CreateType(create) => self.create_type(create)?,
            S::CreateDomain(create) => self.create_domain(create)?,
            S::AlterType(alter) => match self.ignored(statement) {
                Some(ignored) => ignored,
                None => self.alter_type(alter)?,
            },
            S::DropType(_) => self.drop_names::<cst::TypeNameRef>(statement, DropObject::Type)?,
            S::DropDomain(_) => self.drop_names::<cst::DomainRef>(statement, DropObject::Domain)?,
            S::CreateView(create) => StatementKind::CreateView(Box::new(self.create_view(create)?)),
            S::CreateMaterializedView(create) => {
                StatementKind::CreateView(Box::new(self.create_materialized_view(create)?))
            }
            S::Refresh(refresh) => StatementKind::Refresh(self.refresh(refresh)?),
            S::CreateTableAs(create) => StatementKind::CreateTableAs(Box::new(self.create_table_as(create)?)),
            S::CreateSchema(create) => StatementKind::CreateSchema(Box::new(self.create_schema(create)?)),
            S::Copy(copy) => StatementKind::Copy(Box::new(self.copy(copy)?)),
            S::SetConstraints(set) => self.set_constraints(set)?,
            S::AlterTable(alter) => self.alter_table(alter)?,
            S::AlterSequence(alter) => self.alter_sequence(alter)?,
            S::AlterIndex(alter) => self.alter_index(alter)?,
            S::AlterView(alter) => self.alter_view(alter)?,
            S::AlterMaterializedView(alter) => self.alter_materialized_view(alter)?,
            S::AlterSchema(alter) => self.alter_schema(alter)?,
            S::DropView(_) => self.drop_names::<cst::ViewRef>(statement, DropObject::View)?,
            S::DropMaterializedView(_) => self.drop_names::<cst::ViewRef>(statement, DropObject::MaterializedView)?,
            S::DropSchema(_) => self.drop_names::<cst::SchemaRef>(statement, DropObject::Schema)?,
            S::DropTable(_) => self.drop_names::<cst::TableNameRef>(statement, DropObject::Table)?,
            S::DropIndex(_) => self.drop_names::<cst::IndexRef>(statement, DropObject::Index)?,
            S::DropSequence(_) => self.drop_names::<cst::SequenceRef>(statement, DropObject::Sequence)?,
            S::DropFunction(_) => {
                self.drop_routines::<cst::FunctionSigList, cst::FunctionSig>(statement, DropObject::Function)?
            }
            S::DropProcedure(_) => {
                self.drop_routines::<cst::ProcedureSigList, cst::ProcedureSig>(statement, DropObject::Procedure)?
            }
            S::DropRoutine(_) => {
                self.drop_routines::<cst::RoutineSigList, cst::RoutineSig>(statement, DropObject::Routine)?
            }
            S::Truncate(truncate) => self.truncate(truncate)?,
            S::Lock(lock) => self.lock_table(lock)?,
            S::Begin(begin) => StatementKind::Begin(self.modes(begin.transaction_mode_list())?),
            S::Commit(commit) => self.commit(commit)?,
            S::Rollback(rollback) => self.rollback(rollback)?,
            S::SavepointCreate(savepoint) => {
                StatementKind::Savepoint(self.ident(&self.need(savepoint.savepoint(), savepoint)?))
            }
            S::ReleaseSavepoint(release) => {
                StatementKind::Release(self.ident(&self.need(release.savepoint_ref(), release)?))
            }
            S::SetTransaction(set) => self.set_transaction(set)?,
            S::Set(set) => self.set(set)?,
            S::Reset(reset) => self.reset(reset)?,
            S::Call(call) => self.call_statement(call)?,
            S::Do(block) => self.do_block(block)?,
            other => match self.session_command(other)?.map(StatementKind::Session).or_else(|| self.ignored(other)) {
                Some(kind) => kind,
                None => return Err(self.unsupported(other, Construct::OTHER.of(words(other.syntax().kind())))),
            },
        })
    }

    fn call_statement(&self, call: &cst::Call) -> Result<StatementKind> {
        let name = self.name(&self.need(call.procedure_name_ref(), call)?)?;
        let list = self.need(call.arg_list(), call)?;
        self.refuse_token(list.star_token(), Construct::CALL_WITH_STAR)?;
        self.refuse(list.all_or_distinct(), Construct::DISTINCT_IN_CALL)?;
        let (mut args, mut named) = (Vec::new(), Vec::new());
        for arg in list.args() {
            self.refuse_token(arg.variadic_token(), Construct::VARIADIC)?;
            self.refuse(arg.order_by_clause(), Construct::ORDER_BY_IN_CALL)?;
            match child::<cst::NamedArg>(&arg) {
                Some(given) => {
                    let param = self.ident(&self.need(given.name(), &given)?);
                    named.push((param, self.sole(&given)?));
                }
                None if named.is_empty() => args.push(self.sole(&arg)?),
                None => {
                    let span = self.span(arg.syntax());
                    return Err(Diagnostic::syntax(span, "positional argument cannot follow named argument"));
                }
            }
        }
        Ok(StatementKind::Call { name, args, named })
    }

    fn truncate(&self, truncate: &cst::Truncate) -> Result<StatementKind> {
        let list = self.need(truncate.table_list(), truncate)?;
        let tables = children::<cst::TableRelationName>(&list).map(|t| self.table_relation(&t));
        Ok(StatementKind::Truncate(Truncate {
            tables: tables.collect::<Result<_>>()?,
            cascade: cascades(truncate.drop_behavior()),
            restart: matches!(truncate.identity_action(), Some(cst::IdentityAction::RestartIdentity(_))),
        }))
    }

    fn lock_table(&self, lock: &cst::Lock) -> Result<StatementKind> {
        use cst::LockMode as M;
        let list = self.need(lock.relation_list(), lock)?;
        let names = list.relation_names().map(|relation| self.name(&relation)).collect::<Result<Vec<_>>>()?;
        let mode = match lock.lock_mode_clause().and_then(|clause| clause.lock_mode()) {
            Some(M::AccessShare(_)) => TableLockMode::AccessShare,
            Some(M::RowShare(_)) => TableLockMode::RowShare,
            Some(M::RowExclusive(_)) => TableLockMode::RowExclusive,
            Some(M::ShareUpdateExclusive(_)) => TableLockMode::ShareUpdateExclusive,
            Some(M::Share(_)) => TableLockMode::Share,
            Some(M::ShareRowExclusive(_)) => TableLockMode::ShareRowExclusive,
            Some(M::Exclusive(_)) => TableLockMode::Exclusive,
            Some(M::AccessExclusive(_)) | None => TableLockMode::AccessExclusive,
        };
        Ok(StatementKind::LockTable(LockTable { tables: names, mode, nowait: lock.nowait().is_some() }))
    }

    /// `t`, `ONLY t`, `t *`.
    pub(super) fn table_relation(&self, relation: &cst::TableRelationName) -> Result<QualifiedName> {
        self.name(&self.need(relation.table_name_ref(), relation)?)
    }

    fn drop_names<N: AstNode>(&self, drop: &cst::Stmt, object: DropObject) -> Result<StatementKind> {
        let names = children::<N>(drop).map(|name| self.name_or_ident(&name)).collect::<Result<Vec<_>>>()?;
        self.drop_statement(drop, object, names, Vec::new())
    }

    /// Routines are dropped by name and, where it is given, the list of their parameters' types.
    fn drop_routines<L: AstNode, N: AstNode>(&self, drop: &cst::Stmt, object: DropObject) -> Result<StatementKind> {
        let list: L = self.need(child(drop), drop)?;
        let (mut names, mut signatures) = (Vec::new(), Vec::new());
        for signature in children::<N>(&list) {
            let name = self.need(signature.syntax().first_child(), &signature)?;
            let mut parts: Vec<Ident> = self.path(&name);
            let name = self.need(parts.pop(), &signature)?;
            names.push(QualifiedName::new(parts.pop(), name));
            let params = child::<cst::ParamList>(&signature).map(|list| self.signature(&list)).transpose()?;
            signatures.push(params);
        }
        self.drop_statement(drop, object, names, signatures)
    }

    /// The types that tell overloads apart.
    fn signature(&self, list: &cst::ParamList) -> Result<Vec<TypeName>> {
        let inputs = list.params().filter(|p| !matches!(p.mode(), Some(cst::ParamMode::ParamOut(_))));
        inputs.map(|p| self.func_type(&self.need(p.func_type(), &p)?)).collect()
    }

    fn drop_statement(
        &self,
        drop: &cst::Stmt,
        object: DropObject,
        names: Vec<QualifiedName>,
        signatures: Vec<Option<Vec<TypeName>>>,
    ) -> Result<StatementKind> {
        if names.is_empty() {
            return Err(Diagnostic::syntax(self.span(drop.syntax()), "syntax error: DROP needs a name"));
        }
        let if_exists = child::<cst::IfExists>(drop).is_some();
        let cascade = child::<cst::Cascade>(drop).is_some();
        Ok(StatementKind::Drop(Drop { object, if_exists, names, signatures, cascade }))
    }
}
