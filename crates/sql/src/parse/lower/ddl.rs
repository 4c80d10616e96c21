//! CREATE TABLE, INDEX and SEQUENCE; ALTER TABLE ... ADD constraint.
//!
//! What only concerns storage (fillfactor, tablespaces, INCLUDE, the direction of an index key) is read past: no session
//! can observe it.

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result, child, children, words};
use crate::ast::{
    ColumnConstraint, ColumnConstraintKind, ColumnDef, CreateIndex, CreateSequence, CreateTable, ExprKind, Ident,
    References, ReferentialAction, StatementKind, TableConstraint, TableConstraintKind,
};
use crate::error::Diagnostic;

impl Lower {
    pub(super) fn create_table(&self, create: &cst::CreateTable) -> Result<CreateTable> {
        self.refuse_temporary(create.persistence(), "a temporary table")?;
        self.refuse(create.inherits(), "INHERITS")?;
        self.refuse(create.of_type(), "CREATE TABLE ... OF type")?;
        self.refuse(create.on_commit(), "ON COMMIT")?;
        self.refuse(create.partition_by(), "PARTITION BY")?;
        self.refuse(create.partition_of(), "PARTITION OF")?;
        self.access_method(create.using_method(), &["heap"])?;
        let (mut columns, mut constraints) = (Vec::new(), Vec::new());
        let list = self.need(create.table_arg_list(), create)?;
        for arg in list.args() {
            match &arg {
                cst::TableArg::Column(column) => columns.push(self.column_def(column)?),
                cst::TableArg::TableConstraint(constraint) => {
                    constraints.push(self.table_constraint(constraint)?);
                }
                cst::TableArg::LikeClause(like) => return Err(self.unsupported(like, "LIKE in CREATE TABLE")),
            }
        }
        Ok(CreateTable {
            if_not_exists: create.if_not_exists().is_some(),
            name: self.name(&self.need(create.table_name(), create)?)?,
            columns,
            constraints,
        })
    }

    fn refuse_temporary(&self, persistence: Option<cst::Persistence>, what: &str) -> Result<()> {
        match persistence {
            Some(cst::Persistence::Temp(temp)) => Err(self.unsupported(&temp, what)),
            Some(cst::Persistence::Unlogged(_)) | None => Ok(()),
        }
    }

    fn access_method(&self, method: Option<cst::UsingMethod>, known: &[&str]) -> Result<()> {
        let Some(method) = method else { return Ok(()) };
        let name = self.ident(&self.need(method.access_method_ref(), &method)?);
        if known.contains(&&*name.name) {
            return Ok(());
        }
        Err(Diagnostic::unsupported(name.span, format_args!("access method {}", name.name)))
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
                other => return Err(self.unsupported(other, &words(other.syntax().kind()))),
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
        self.constraint_options(constraint)?;
        let kind = match constraint {
            C::NullConstraint(_) => ColumnConstraintKind::Null,
            C::NotNullConstraint(_) => ColumnConstraintKind::NotNull,
            C::DefaultConstraint(default) => ColumnConstraintKind::Default(self.sole(default)?),
            C::CheckConstraint(check) => ColumnConstraintKind::Check(self.sole(check)?),
            C::PrimaryKeyConstraint(key) => {
                self.index_parameters(key.index_parameters())?;
                ColumnConstraintKind::PrimaryKey
            }
            C::UniqueConstraint(unique) => {
                self.index_parameters(unique.index_parameters())?;
                ColumnConstraintKind::Unique
            }
            C::ReferencesConstraint(references) => ColumnConstraintKind::References(References {
                columns: references.column().iter().map(|name| self.ident(name)).collect(),
                ..self.references(constraint, references.table())?
            }),
            C::GeneratedConstraint(generated) => ColumnConstraintKind::Identity(self.identity(generated)?),
            C::ExcludeConstraint(_) => return Err(self.unsupported(constraint, "EXCLUDE")),
        };
        Ok(ColumnConstraint { name: self.constraint_name(constraint), kind, span: self.span(constraint.syntax()) })
    }

    fn identity(&self, generated: &cst::GeneratedConstraint) -> Result<bool> {
        match self.need(generated.generated_as(), generated)? {
            cst::GeneratedAs::GeneratedIdentity(identity) => {
                self.refuse(identity.sequence_option_list(), "IDENTITY with sequence options")?;
                Ok(matches!(identity.generated_when(), Some(cst::GeneratedWhen::GeneratedAlways(_))))
            }
            cst::GeneratedAs::GeneratedStored(stored) => Err(self.unsupported(&stored, "a generated column")),
        }
    }

    fn table_constraint(&self, constraint: &impl AstNode) -> Result<TableConstraint> {
        use cst::Constraint as C;
        self.constraint_options(constraint)?;
        let node = constraint.syntax().clone();
        let kind = match self.need(cst::Constraint::cast(node), constraint)? {
            C::CheckConstraint(check) => TableConstraintKind::Check(self.sole(&check)?),
            C::PrimaryKeyConstraint(key) => {
                self.refuse(key.using_index(), "USING INDEX")?;
                TableConstraintKind::PrimaryKey(self.index_parameters(key.index_parameters())?)
            }
            C::UniqueConstraint(unique) => {
                self.refuse(unique.using_index(), "USING INDEX")?;
                TableConstraintKind::Unique(self.index_parameters(unique.index_parameters())?)
            }
            C::ForeignKeyConstraint(key) => {
                let from = self.need(key.from_columns(), &key)?;
                let columns = self.key_columns(&from)?;
                if columns.len() > 1
                    && let Some(cst::MatchType::MatchFull(full)) = key.match_type()
                {
                    return Err(self.unsupported(&full, "MATCH FULL"));
                }
                let parents = key.to_columns().map_or(Ok(Vec::new()), |list| self.key_columns(&list))?;
                let references = self.references(&key, key.table_name_ref())?;
                TableConstraintKind::ForeignKey(columns, References { columns: parents, ..references })
            }
            other => return Err(self.unsupported(&other, &format!("{} on a table", words(other.syntax().kind())))),
        };
        Ok(TableConstraint { name: self.constraint_name(constraint), kind, span: self.span(constraint.syntax()) })
    }

    fn constraint_name(&self, constraint: &impl AstNode) -> Option<Ident> {
        let clause: cst::ConstraintNameClause = child(constraint)?;
        clause.constraint_name().map(|name| self.ident(&name))
    }

    /// Constraints are checked at once, and always.
    fn constraint_options(&self, constraint: &impl AstNode) -> Result<()> {
        for option in children::<cst::ConstraintOption>(constraint) {
            use cst::ConstraintOption as O;
            let what = match &option {
                O::DeferrableConstraintOption(_) => "a DEFERRABLE constraint",
                O::InitiallyDeferredConstraintOption(_) => "an INITIALLY DEFERRED constraint",
                O::NotValid(_) => "NOT VALID",
                O::NotEnforced(_) => "NOT ENFORCED",
                O::NotDeferrableConstraintOption(_)
                | O::InitiallyImmediateConstraintOption(_)
                | O::NoInherit(_)
                | O::Inherit(_)
                | O::Enforced(_) => continue,
            };
            return Err(self.unsupported(&option, what));
        }
        Ok(())
    }

    /// The columns of a key, behind its keywords.
    fn index_parameters(&self, parameters: Option<cst::IndexParameters>) -> Result<Vec<Ident>> {
        let Some(parameters) = parameters else { return Ok(Vec::new()) };
        if let Some(cst::NullsDistinctOption::NullsNotDistinct(nulls)) = parameters.nulls_distinct_option() {
            return Err(self.unsupported(&nulls, "NULLS NOT DISTINCT"));
        }
        let Some(list) = parameters.column_list() else { return Ok(Vec::new()) };
        self.refuse(list.without_overlaps(), "WITHOUT OVERLAPS")?;
        Ok(list.column_name_refs().map(|name| self.ident(&name)).collect())
    }

    fn key_columns(&self, list: &cst::ForeignKeyColumnList) -> Result<Vec<Ident>> {
        self.refuse(list.period_column(), "PERIOD")?;
        Ok(list.column_name_refs().map(|name| self.ident(&name)).collect())
    }

    /// The parent table and the actions; the caller knows where its columns stand.
    fn references(&self, constraint: &impl AstNode, table: Option<cst::TableNameRef>) -> Result<References> {
        let mut references = References {
            table: self.name(&self.need(table, constraint)?)?,
            columns: Vec::new(),
            on_delete: ReferentialAction::NoAction,
            on_update: ReferentialAction::NoAction,
        };
        if let Some(cst::MatchType::MatchPartial(partial)) = child(constraint) {
            return Err(self.unsupported(&partial, "MATCH PARTIAL"));
        }
        for action in children::<cst::ReferentialAction>(constraint) {
            match &action {
                cst::ReferentialAction::OnDeleteAction(on) => {
                    references.on_delete = self.action(on, on.ref_action())?
                }
                cst::ReferentialAction::OnUpdateAction(on) => {
                    references.on_update = self.action(on, on.ref_action())?
                }
            }
        }
        Ok(references)
    }

    fn action(&self, parent: &impl AstNode, action: Option<cst::RefAction>) -> Result<ReferentialAction> {
        let action = self.need(action, parent)?;
        self.refuse(child::<cst::ColumnRefList>(&action), "SET NULL or SET DEFAULT for some columns only")?;
        Ok(match action {
            cst::RefAction::NoAction(_) => ReferentialAction::NoAction,
            cst::RefAction::Restrict(_) => ReferentialAction::Restrict,
            cst::RefAction::Cascade(_) => ReferentialAction::Cascade,
            cst::RefAction::SetNullColumns(_) => ReferentialAction::SetNull,
            cst::RefAction::SetDefaultColumns(_) => ReferentialAction::SetDefault,
        })
    }

    pub(super) fn create_index(&self, create: &cst::CreateIndex) -> Result<CreateIndex> {
        self.access_method(create.using_method(), &["btree", "hash"])?;
        if let Some(cst::NullsDistinctOption::NullsNotDistinct(nulls)) = create.nulls_distinct_option() {
            return Err(self.unsupported(&nulls, "NULLS NOT DISTINCT"));
        }
        let list = self.need(create.partition_item_list(), create)?;
        let mut keys = Vec::new();
        for item in children::<cst::PartitionItem>(&list) {
            self.refuse(item.op_class_ref(), "an operator class")?;
            self.refuse(item.attribute_list(), "operator class parameters")?;
            keys.push(self.sole(&item)?);
        }
        let name = create.index().map(|index| self.name(&index)).transpose()?;
        Ok(CreateIndex {
            unique: create.unique_token().is_some(),
            if_not_exists: create.if_not_exists().is_some(),
            name: name.map(|name| name.name),
            table: self.table_relation(&self.need(create.table_relation_name(), create)?)?,
            keys,
            filter: self.clause(create.where_clause())?,
        })
    }

    pub(super) fn create_sequence(&self, create: &cst::CreateSequence) -> Result<CreateSequence> {
        self.refuse_temporary(create.persistence(), "a temporary sequence")?;
        self.refuse(create.if_not_exists(), "CREATE SEQUENCE IF NOT EXISTS")?;
        let mut sequence =
            CreateSequence { name: self.name(&self.need(create.sequence(), create)?)?, start: None, increment: None };
        for option in create.sequence_options() {
            use cst::SequenceOption as O;
            match &option {
                O::OptionStart(start) => sequence.start = Some(self.number(start)?),
                O::OptionIncrement(increment) => sequence.increment = Some(self.number(increment)?),
                O::OptionCache(cache) if self.number(cache)? == 1 => {}
                // Which integer only matters at its end.
                O::OptionAsType(_)
                | O::OptionNoMaxValue(_)
                | O::OptionNoMinValue(_)
                | O::OptionNoCycle(_)
                | O::OptionOwnedBy(_)
                | O::OptionLogged(_)
                | O::OptionUnlogged(_) => {}
                other => {
                    let what = words(other.syntax().kind());
                    return Err(
                        self.unsupported(other, &format!("{} of a sequence", what.trim_start_matches("OPTION ")))
                    );
                }
            }
        }
        Ok(sequence)
    }

    fn number(&self, option: &impl AstNode) -> Result<i64> {
        let expr = self.sole(option)?;
        match expr.kind {
            ExprKind::Integer(n) => Ok(n),
            _ => Err(Diagnostic::syntax(expr.span, "an integer is expected here")),
        }
    }

    pub(super) fn alter_table(&self, alter: &cst::AlterTable) -> Result<StatementKind> {
        self.refuse(alter.all_in_tablespace(), "ALTER TABLE ALL IN TABLESPACE")?;
        self.refuse(alter.if_exists(), "ALTER TABLE IF EXISTS")?;
        let table = self.table_relation(&self.need(alter.table_relation_name(), alter)?)?;
        let mut actions = alter.actions();
        let action = self.need(actions.next(), alter)?;
        self.refuse(actions.next(), "ALTER TABLE with several actions")
            .map_err(|d| d.hint("write one ALTER TABLE for each"))?;
        if let Some(switch) = self.switch_triggers(&table, &action)? {
            return Ok(StatementKind::SwitchTriggers(switch));
        }
        match &action {
            cst::AlterTableAction::AddConstraint(add) => {
                let constraint = self.table_constraint(&self.need(add.constraint(), add)?)?;
                Ok(StatementKind::AlterTableAdd { table, constraint })
            }
            other => Err(self.unsupported(other, &format!("ALTER TABLE ... {}", words(other.syntax().kind())))),
        }
    }
}
