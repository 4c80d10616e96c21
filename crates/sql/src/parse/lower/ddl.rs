//! CREATE TABLE and CREATE INDEX: columns and constraints.
//!
//! What only concerns storage (fillfactor, tablespaces, INCLUDE, the direction of an index key) is read past: no
//! session can observe it.

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result, child, children, words};
use crate::ast::{
    ColumnConstraint, ColumnConstraintKind, ColumnDef, ConstraintOptions, CreateIndex, CreateTable, Deferral, Ident,
    IdentityDef, LikeClause, References, ReferentialAction, TableConstraint, TableConstraintKind,
};
use crate::error::Diagnostic;
use crate::refused::Construct;

impl Lower {
    pub(super) fn create_table(&self, create: &cst::CreateTable) -> Result<CreateTable> {
        let temporary = matches!(create.persistence(), Some(cst::Persistence::Temp(_)));
        self.refuse(create.inherits(), Construct::INHERITS)?;
        self.refuse(create.of_type(), Construct::CREATE_TABLE_OF_TYPE)?;
        self.on_commit(create.on_commit())?;
        self.refuse(create.partition_by(), Construct::PARTITION_BY)?;
        self.refuse(create.partition_of(), Construct::PARTITION_OF)?;
        self.access_method(create.using_method(), &["heap"])?;
        let (mut columns, mut constraints, mut likes) = (Vec::new(), Vec::new(), Vec::new());
        let list = self.need(create.table_arg_list(), create)?;
        for arg in list.args() {
            match &arg {
                cst::TableArg::Column(column) => columns.push(self.column_def(column)?),
                cst::TableArg::TableConstraint(constraint) => {
                    constraints.push(self.table_constraint(constraint)?);
                }
                cst::TableArg::LikeClause(like) => likes.push((columns.len(), self.like(like)?)),
            }
        }
        Ok(CreateTable {
            if_not_exists: create.if_not_exists().is_some(),
            name: self.name(&self.need(create.table_name(), create)?)?,
            columns,
            constraints,
            likes,
            temporary,
        })
    }

    /// Rows that go with their transaction.
    pub(super) fn on_commit(&self, on_commit: Option<cst::OnCommit>) -> Result<()> {
        match on_commit {
            Some(clause) if !clause.syntax().text().to_string().to_lowercase().contains("preserve") => {
                Err(self.unsupported(&clause, Construct::ON_COMMIT))
            }
            _ => Ok(()),
        }
    }

    fn like(&self, like: &cst::LikeClause) -> Result<LikeClause> {
        let mut clause = LikeClause {
            table: self.name(&self.need(like.relation_name_ref(), like)?)?,
            defaults: false,
            constraints: false,
            indexes: false,
            identity: false,
            generated: false,
        };
        for option in like.like_options() {
            let (property, including) = match &option {
                cst::LikeOption::IncludingProperty(p) => (self.need(p.table_property(), p)?, true),
                cst::LikeOption::ExcludingProperty(p) => (self.need(p.table_property(), p)?, false),
            };
            use cst::TableProperty as P;
            match property {
                P::PropertyAll(_) => {
                    clause.defaults = including;
                    clause.constraints = including;
                    clause.indexes = including;
                    clause.identity = including;
                    clause.generated = including;
                }
                P::PropertyDefaults(_) => clause.defaults = including,
                P::PropertyConstraints(_) => clause.constraints = including,
                P::PropertyIndexes(_) => clause.indexes = including,
                P::PropertyIdentity(_) => clause.identity = including,
                P::PropertyGenerated(_) => clause.generated = including,
                P::PropertyComments(_)
                | P::PropertyCompression(_)
                | P::PropertyStatistics(_)
                | P::PropertyStorage(_) => {}
            }
        }
        Ok(clause)
    }

    fn access_method(&self, method: Option<cst::UsingMethod>, known: &[&str]) -> Result<()> {
        let Some(method) = method else { return Ok(()) };
        let name = self.ident(&self.need(method.access_method_ref(), &method)?);
        if known.contains(&&*name.name) {
            return Ok(());
        }
        Err(Diagnostic::unsupported(name.span, Construct::ACCESS_METHOD.of(&name.name)))
    }

    fn column_def(&self, column: &cst::Column) -> Result<ColumnDef> {
        let mut constraints = Vec::new();
        for clause in column.clauses() {
            match &clause {
                cst::ColumnClause::ColumnConstraint(constraint) => {
                    constraints.push(self.column_constraint(constraint)?)
                }
                cst::ColumnClause::Collate(collate) => self.collate(collate)?,
                cst::ColumnClause::Storage(_) | cst::ColumnClause::CompressionMethod(_) => {}
                other => return Err(self.unsupported(other, Construct::OTHER.of(words(other.syntax().kind())))),
            }
        }
        Ok(ColumnDef {
            name: self.ident(&self.need(column.name(), column)?),
            ty: self.ty(&self.need(column.ty(), column)?)?,
            constraints,
        })
    }

    /// `COLLATE "C"` says what holds anyway.
    pub(super) fn collate(&self, collate: &cst::Collate) -> Result<()> {
        let name = self.need(collate.collation_ref(), collate)?;
        self.collation(&name.syntax().text().to_string(), self.span(name.syntax()))
    }

    pub(super) fn column_constraint(&self, constraint: &cst::ColumnConstraint) -> Result<ColumnConstraint> {
        use cst::ColumnConstraint as C;
        let mut options = self.constraint_options(constraint)?;
        let kind = match constraint {
            C::NullConstraint(_) => ColumnConstraintKind::Null,
            C::NotNullConstraint(_) => ColumnConstraintKind::NotNull,
            C::DefaultConstraint(default) => ColumnConstraintKind::Default(self.sole(default)?),
            C::CheckConstraint(check) => ColumnConstraintKind::Check(self.sole(check)?),
            C::PrimaryKeyConstraint(key) => {
                self.index_parameters(key.index_parameters(), &mut options)?;
                ColumnConstraintKind::PrimaryKey
            }
            C::UniqueConstraint(unique) => {
                self.index_parameters(unique.index_parameters(), &mut options)?;
                ColumnConstraintKind::Unique
            }
            C::ReferencesConstraint(references) => ColumnConstraintKind::References(References {
                columns: references.column().iter().map(|name| self.ident(name)).collect(),
                ..self.references(constraint, references.table())?
            }),
            C::GeneratedConstraint(generated) => self.generated(generated)?,
            C::ExcludeConstraint(_) => return Err(self.unsupported(constraint, Construct::EXCLUDE)),
        };
        let (name, span) = (self.constraint_name(constraint), self.span(constraint.syntax()));
        let deferrable = matches!(
            kind,
            ColumnConstraintKind::PrimaryKey | ColumnConstraintKind::Unique | ColumnConstraintKind::References(_)
        );
        if options.deferral != Deferral::NotDeferrable && !deferrable {
            return Err(Diagnostic::syntax(span, "misplaced DEFERRABLE clause"));
        }
        Ok(ColumnConstraint { name, kind, options, span })
    }

    fn generated(&self, generated: &cst::GeneratedConstraint) -> Result<ColumnConstraintKind> {
        match self.need(generated.generated_as(), generated)? {
            cst::GeneratedAs::GeneratedIdentity(identity) => {
                let always = matches!(identity.generated_when(), Some(cst::GeneratedWhen::GeneratedAlways(_)));
                let options = self.sequence_options(identity.sequence_option_list(), &identity)?;
                Ok(ColumnConstraintKind::Identity(Box::new(IdentityDef { always, options })))
            }
            cst::GeneratedAs::GeneratedStored(stored) => {
                if let Some(cst::GeneratedKind::Virtual(kind)) = stored.generated_kind() {
                    return Err(self.unsupported(&kind, Construct::VIRTUAL_GENERATED_COLUMN));
                }
                Ok(ColumnConstraintKind::Generated(self.sole(&stored)?))
            }
        }
    }

    pub(super) fn table_constraint(&self, constraint: &impl AstNode) -> Result<TableConstraint> {
        use cst::Constraint as C;
        let mut options = self.constraint_options(constraint)?;
        let node = constraint.syntax().clone();
        let kind = match self.need(cst::Constraint::cast(node), constraint)? {
            C::CheckConstraint(check) => TableConstraintKind::Check(self.sole(&check)?),
            C::PrimaryKeyConstraint(key) => {
                options.using_index = self.using_index(key.using_index())?;
                TableConstraintKind::PrimaryKey(self.index_parameters(key.index_parameters(), &mut options)?)
            }
            C::UniqueConstraint(unique) => {
                options.using_index = self.using_index(unique.using_index())?;
                TableConstraintKind::Unique(self.index_parameters(unique.index_parameters(), &mut options)?)
            }
            C::ForeignKeyConstraint(key) => {
                let from = self.need(key.from_columns(), &key)?;
                let columns = self.key_columns(&from)?;
                let parents = key.to_columns().map_or(Ok(Vec::new()), |list| self.key_columns(&list))?;
                let references = self.references(&key, key.table_name_ref())?;
                TableConstraintKind::ForeignKey(columns, References { columns: parents, ..references })
            }
            other => return Err(self.unsupported(&other, Construct::TABLE_CONSTRAINT.of(words(other.syntax().kind())))),
        };
        let (name, span) = (self.constraint_name(constraint), self.span(constraint.syntax()));
        Ok(TableConstraint { name, kind, options, span })
    }

    fn using_index(&self, using: Option<cst::UsingIndexName>) -> Result<Option<Ident>> {
        let index = using.and_then(|using| using.index_ref());
        index.map(|index| Ok(self.name_or_ident(&index)?.name)).transpose()
    }

    fn constraint_name(&self, constraint: &impl AstNode) -> Option<Ident> {
        let clause: cst::ConstraintNameClause = child(constraint)?;
        clause.constraint_name().map(|name| self.ident(&name))
    }

    pub(super) fn constraint_options(&self, constraint: &impl AstNode) -> Result<ConstraintOptions> {
        let mut options = ConstraintOptions::default();
        let (mut deferrable, mut deferred) = (false, false);
        for option in children::<cst::ConstraintOption>(constraint) {
            use cst::ConstraintOption as O;
            match &option {
                O::DeferrableConstraintOption(_) => deferrable = true,
                O::InitiallyDeferredConstraintOption(_) => deferred = true,
                O::NotValid(_) => options.not_valid = true,
                O::NotEnforced(_) => return Err(self.unsupported(&option, Construct::NOT_ENFORCED)),
                O::NotDeferrableConstraintOption(_)
                | O::InitiallyImmediateConstraintOption(_)
                | O::NoInherit(_)
                | O::Inherit(_)
                | O::Enforced(_) => {}
            }
        }
        options.deferral = match (deferrable, deferred) {
            (_, true) => Deferral::Deferred,
            (true, false) => Deferral::Immediate,
            (false, false) => Deferral::NotDeferrable,
        };
        Ok(options)
    }

    /// The columns of a key, behind its keywords.
    fn index_parameters(
        &self,
        parameters: Option<cst::IndexParameters>,
        options: &mut ConstraintOptions,
    ) -> Result<Vec<Ident>> {
        let Some(parameters) = parameters else { return Ok(Vec::new()) };
        let nulls = parameters.nulls_distinct_option();
        options.nulls_not_distinct = matches!(nulls, Some(cst::NullsDistinctOption::NullsNotDistinct(_)));
        let Some(list) = parameters.column_list() else { return Ok(Vec::new()) };
        self.refuse(list.without_overlaps(), Construct::WITHOUT_OVERLAPS)?;
        Ok(list.column_name_refs().map(|name| self.ident(&name)).collect())
    }

    fn key_columns(&self, list: &cst::ForeignKeyColumnList) -> Result<Vec<Ident>> {
        self.refuse(list.period_column(), Construct::PERIOD)?;
        Ok(list.column_name_refs().map(|name| self.ident(&name)).collect())
    }

    /// The parent table and the actions; the caller knows where its columns stand.
    fn references(&self, constraint: &impl AstNode, table: Option<cst::TableNameRef>) -> Result<References> {
        let mut references = References {
            table: self.name(&self.need(table, constraint)?)?,
            columns: Vec::new(),
            on_delete: ReferentialAction::NoAction,
            on_update: ReferentialAction::NoAction,
            on_delete_columns: Vec::new(),
            match_full: false,
        };
        match child(constraint) {
            Some(cst::MatchType::MatchPartial(partial)) => {
                return Err(self.unsupported(&partial, Construct::MATCH_PARTIAL));
            }
            Some(cst::MatchType::MatchFull(_)) => references.match_full = true,
            _ => {}
        }
        for action in children::<cst::ReferentialAction>(constraint) {
            match &action {
                cst::ReferentialAction::OnDeleteAction(on) => {
                    references.on_delete = self.action(on, on.ref_action())?;
                    let columns = on.ref_action().map(|action| self.column_refs(&action));
                    references.on_delete_columns = columns.unwrap_or_default();
                }
                cst::ReferentialAction::OnUpdateAction(on) => {
                    references.on_update = self.action(on, on.ref_action())?;
                    let list = on.ref_action().and_then(|action| child::<cst::ColumnRefList>(&action));
                    self.refuse(list, Construct::ON_UPDATE_OF_SOME_COLUMNS)?;
                }
            }
        }
        Ok(references)
    }

    fn action(&self, parent: &impl AstNode, action: Option<cst::RefAction>) -> Result<ReferentialAction> {
        Ok(match self.need(action, parent)? {
            cst::RefAction::NoAction(_) => ReferentialAction::NoAction,
            cst::RefAction::Restrict(_) => ReferentialAction::Restrict,
            cst::RefAction::Cascade(_) => ReferentialAction::Cascade,
            cst::RefAction::SetNullColumns(_) => ReferentialAction::SetNull,
            cst::RefAction::SetDefaultColumns(_) => ReferentialAction::SetDefault,
        })
    }

    /// Which method only matters to those who wait for an answer.
    pub(super) fn create_index(&self, create: &cst::CreateIndex) -> Result<CreateIndex> {
        let list = self.need(create.partition_item_list(), create)?;
        let keys = children::<cst::PartitionItem>(&list).map(|item| self.sole(&item)).collect::<Result<_>>()?;
        let name = create.index().map(|index| self.name(&index)).transpose()?;
        let nulls = create.nulls_distinct_option();
        Ok(CreateIndex {
            unique: create.unique_token().is_some(),
            if_not_exists: create.if_not_exists().is_some(),
            name: name.map(|name| name.name),
            table: self.table_relation(&self.need(create.table_relation_name(), create)?)?,
            keys,
            filter: self.clause(create.where_clause())?,
            nulls_not_distinct: matches!(nulls, Some(cst::NullsDistinctOption::NullsNotDistinct(_))),
        })
    }
}
