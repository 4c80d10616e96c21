//! Definitions that stand on queries: views, CREATE TABLE AS, SELECT INTO; and schemas.

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result};
use crate::ast::{
    CheckOption, CreateSchema, CreateTableAs, CreateView, Query, Refresh, SetConstraints, Statement, StatementKind,
};
use crate::refused::Construct;

impl Lower {
    pub(super) fn create_view(&self, create: &cst::CreateView) -> Result<CreateView> {
        self.refuse_token(create.recursive_token(), Construct::CREATE_RECURSIVE_VIEW)?;
        let check = create.with_check_option().map(|option| match option.check_option_level() {
            Some(cst::CheckOptionLevel::LocalCheckOption(_)) => CheckOption::Local,
            _ => CheckOption::Cascaded,
        });
        Ok(CreateView {
            or_replace: create.or_replace().is_some(),
            if_not_exists: false,
            materialized: None,
            name: self.name(&self.need(create.view(), create)?)?,
            columns: create.column_list().map_or_else(Vec::new, |list| self.column_names(&list)),
            query: self.query(&self.need(create.query(), create)?)?,
            check,
        })
    }

    pub(super) fn create_materialized_view(&self, create: &cst::CreateMaterializedView) -> Result<CreateView> {
        Ok(CreateView {
            or_replace: false,
            if_not_exists: create.if_not_exists().is_some(),
            materialized: Some(!is_without_data(create.data_option())),
            name: self.name(&self.need(create.view(), create)?)?,
            columns: create.column_list().map_or_else(Vec::new, |list| self.column_names(&list)),
            query: self.query(&self.need(create.query(), create)?)?,
            check: None,
        })
    }

    pub(super) fn refresh(&self, refresh: &cst::Refresh) -> Result<Refresh> {
        Ok(Refresh {
            name: self.name(&self.need(refresh.view_ref(), refresh)?)?,
            with_data: !is_without_data(refresh.data_option()),
        })
    }

    pub(super) fn create_table_as(&self, create: &cst::CreateTableAs) -> Result<CreateTableAs> {
        self.on_commit(create.on_commit())?;
        let query = match self.need(create.query(), create)? {
            cst::CreateTableAsQuery::SelectVariant(query) => self.query(&query)?,
            cst::CreateTableAsQuery::Execute(execute) => {
                return Err(self.unsupported(&execute, Construct::CREATE_TABLE_AS_EXECUTE));
            }
        };
        let mut columns = Vec::new();
        for arg in create.table_arg_list().iter().flat_map(|list| list.args()) {
            match &arg {
                cst::TableArg::Column(column) => columns.push(self.ident(&self.need(column.name(), column)?)),
                other => return Err(self.unsupported(other, Construct::COLUMN_LIST_OF_CREATE_TABLE_AS)),
            }
        }
        Ok(CreateTableAs {
            if_not_exists: create.if_not_exists().is_some(),
            name: self.name(&self.need(create.table_name(), create)?)?,
            columns,
            query,
            with_data: !is_without_data(create.data_option()),
            temporary: matches!(create.persistence(), Some(cst::Persistence::Temp(_))),
        })
    }

    /// `SELECT ... INTO t FROM ...` is CREATE TABLE t AS the same without INTO.
    pub(super) fn select_into(&self, select: &cst::SelectInto) -> Result<CreateTableAs> {
        let into = self.need(select.into_clause(), select)?;
        let (node, clause) = (select.syntax().text_range(), into.syntax().text_range());
        let text = select.syntax().text().to_string();
        let (from, to) = (usize::from(clause.start() - node.start()), usize::from(clause.end() - node.start()));
        let without = format!("{}{}{}", &text[..from], " ".repeat(to - from), &text[to..]);
        let start = u32::from(node.start());
        let place = self.place(start, start);
        let lower = Lower { before: 0, offset: place.start };
        Ok(CreateTableAs {
            if_not_exists: false,
            name: self.name(&self.need(into.table_name(), &into)?)?,
            columns: Vec::new(),
            query: lower.only_query(&without)?,
            with_data: true,
            temporary: matches!(into.persistence(), Some(cst::Persistence::Temp(_))),
        })
    }

    fn only_query(&self, text: &str) -> Result<Query> {
        let statement = self.only_statement(text)?;
        let query = cst::SelectVariant::cast(statement.syntax().clone());
        self.query(&self.need(query, &statement)?)
    }

    pub(super) fn create_schema(&self, create: &cst::CreateSchema) -> Result<CreateSchema> {
        let name = match self.need(create.create_schema_target(), create)? {
            cst::CreateSchemaTarget::NamedSchema(named) => self.ident(&self.need(named.schema(), &named)?),
            cst::CreateSchemaTarget::AuthorizationSchema(owner) => self.ident(&self.need(owner.role(), &owner)?),
        };
        let mut elements: Vec<Statement> = Vec::new();
        for element in create.schema_elements() {
            let statement = cst::Stmt::cast(element.syntax().clone());
            elements.push(self.statement(&self.need(statement, create)?)?);
        }
        Ok(CreateSchema { if_not_exists: create.if_not_exists().is_some(), name, elements })
    }

    pub(super) fn set_constraints(&self, set: &cst::SetConstraints) -> Result<StatementKind> {
        let names = match set.all_token() {
            Some(_) => None,
            None => Some(set.constraint_name_refs().map(|name| self.name_or_ident(&name)).collect::<Result<_>>()?),
        };
        let deferred = matches!(set.constraint_timing(), Some(cst::ConstraintTiming::Deferred(_)));
        Ok(StatementKind::SetConstraints(SetConstraints { names, deferred }))
    }
}

fn is_without_data(option: Option<cst::DataOption>) -> bool {
    matches!(option, Some(cst::DataOption::WithNoData(_)))
}
