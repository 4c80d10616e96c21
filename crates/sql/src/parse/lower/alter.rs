//! ALTER TABLE, and ALTER of what only has a name.
//!
//! What only concerns storage, owners or replication is read past: no session can observe it.

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result, words};
use crate::ast::{
    AlterAction, AlterObject, AlterTable, ColumnAction, ColumnDef, DropObject, Ident, IdentityDef, ObjectAction,
    QualifiedName, SequenceOptions, StatementKind,
};
use crate::refused::Construct;

impl Lower {
    pub(super) fn alter_table(&self, alter: &cst::AlterTable) -> Result<StatementKind> {
        self.refuse(alter.all_in_tablespace(), Construct::ALTER_TABLE_ALL_IN_TABLESPACE)?;
        let table = self.table_relation(&self.need(alter.table_relation_name(), alter)?)?;
        if let (Some(only), None) = (alter.actions().next(), alter.actions().nth(1))
            && let Some(switch) = self.switch_triggers(&table, &only)?
        {
            return Ok(StatementKind::SwitchTriggers(switch));
        }
        let actions = alter.actions().map(|action| self.alter_action(&action)).collect::<Result<_>>()?;
        let if_exists = alter.if_exists().is_some();
        Ok(StatementKind::AlterTable(Box::new(AlterTable { if_exists, table, actions })))
    }

    fn alter_action(&self, action: &cst::AlterTableAction) -> Result<AlterAction> {
        use cst::AlterTableAction as A;
        Ok(match action {
            A::AddColumn(add) => {
                AlterAction::AddColumn { if_not_exists: add.if_not_exists().is_some(), def: self.added_column(add)? }
            }
            A::DropColumn(drop) => AlterAction::DropColumn {
                name: self.ident(&self.need(drop.column_name_ref(), drop)?),
                if_exists: drop.if_exists().is_some(),
                cascade: cascades(drop.drop_behavior()),
            },
            A::AlterColumn(alter) => {
                let name = self.ident(&self.need(alter.column_name_ref(), alter)?);
                AlterAction::AlterColumn(name, self.column_action(&self.need(alter.option(), alter)?)?)
            }
            A::RenameColumn(rename) => {
                let (from, to) = self.rename_column(rename)?;
                AlterAction::RenameColumn(from, to)
            }
            A::AddConstraint(add) => {
                AlterAction::AddConstraint(self.table_constraint(&self.need(add.constraint(), add)?)?)
            }
            A::DropConstraint(drop) => AlterAction::DropConstraint {
                name: self.name_or_ident(&self.need(drop.constraint_name_ref(), drop)?)?.name,
                if_exists: drop.if_exists().is_some(),
                cascade: cascades(drop.drop_behavior()),
            },
            A::ValidateConstraint(validate) => AlterAction::ValidateConstraint(
                self.name_or_ident(&self.need(validate.constraint_name_ref(), validate)?)?.name,
            ),
            A::AlterConstraint(alter) => {
                let name = self.name_or_ident(&self.need(alter.constraint_name_ref(), alter)?)?.name;
                AlterAction::AlterConstraint(name, self.constraint_options(alter)?.deferral)
            }
            A::RenameConstraint(rename) => AlterAction::RenameConstraint(
                self.name_or_ident(&self.need(rename.constraint_name_ref(), rename)?)?.name,
                self.name_or_ident(&self.need(rename.constraint_name(), rename)?)?.name,
            ),
            A::TableRenameTo(rename) => {
                AlterAction::RenameTo(self.name(&self.need(rename.table_name(), rename)?)?.name)
            }
            A::SetSchema(schema) => AlterAction::SetSchema(self.schema_of(schema)?),
            A::OwnerTo(_)
            | A::ClusterOn(_)
            | A::ReplicaIdentity(_)
            | A::ResetOptions(_)
            | A::SetOptions(_)
            | A::SetAccessMethod(_)
            | A::SetLogged(_)
            | A::SetUnlogged(_)
            | A::SetTablespace(_)
            | A::SetWithoutCluster(_)
            | A::SetWithoutOids(_)
            | A::EnableRls(_)
            | A::DisableRls(_)
            | A::NoForceRls(_) => AlterAction::Ignored,
            other => return Err(self.unsupported(other, Construct::ALTER_TABLE.of(words(other.syntax().kind())))),
        })
    }

    fn added_column(&self, add: &cst::AddColumn) -> Result<ColumnDef> {
        let mut constraints = Vec::new();
        for constraint in add.constraints() {
            let column = cst::ColumnConstraint::cast(constraint.syntax().clone());
            constraints.push(self.column_constraint(&self.need(column, add)?)?);
        }
        Ok(ColumnDef {
            name: self.ident(&self.need(add.column_name(), add)?),
            ty: self.ty(&self.need(add.ty(), add)?)?,
            constraints,
        })
    }

    fn column_action(&self, option: &cst::AlterColumnOption) -> Result<ColumnAction> {
        use cst::AlterColumnOption as O;
        let set = |always: Option<bool>, options: SequenceOptions| ColumnAction::SetIdentity { always, options };
        Ok(match option {
            O::SetType(set) => {
                let using = set.using_expr().map(|using| self.sole(&using)).transpose()?;
                ColumnAction::Type(self.ty(&self.need(set.ty(), set)?)?, using)
            }
            O::SetDefault(default) => ColumnAction::SetDefault(self.sole(default)?),
            O::DropDefault(_) => ColumnAction::DropDefault,
            O::SetNotNull(_) => ColumnAction::SetNotNull,
            O::DropNotNull(_) => ColumnAction::DropNotNull,
            O::AddGenerated(add) => ColumnAction::AddIdentity(IdentityDef {
                always: is_always(add.generated_when()),
                options: self.sequence_options(add.sequence_option_list(), add)?,
            }),
            O::SetGenerated(generated) => {
                set(Some(is_always(generated.generated_when())), self.sequence_options(None, generated)?)
            }
            O::SetSequenceOption(one) => {
                let mut options = self.sequence_options(None, one)?;
                self.sequence_option(&self.need(one.sequence_option(), one)?, &mut options)?;
                set(None, options)
            }
            O::Restart(restart) => set(None, self.restart(restart)?),
            O::SetGeneratedOptions(list) => {
                let (mut always, mut options) = (None, self.sequence_options(None, list)?);
                for item in list.set_generated_options() {
                    match &item {
                        cst::SetGeneratedOption::Restart(restart) => options.restart = self.restart(restart)?.restart,
                        cst::SetGeneratedOption::SetGenerated(set) => always = Some(is_always(set.generated_when())),
                        cst::SetGeneratedOption::SetSequenceOption(one) => {
                            self.sequence_option(&self.need(one.sequence_option(), one)?, &mut options)?;
                        }
                    }
                }
                set(always, options)
            }
            O::DropIdentity(drop) => ColumnAction::DropIdentity { if_exists: drop.if_exists().is_some() },
            O::DropExpression(drop) => ColumnAction::DropExpression { if_exists: drop.if_exists().is_some() },
            O::SetStatistics(_)
            | O::SetStorage(_)
            | O::SetCompression(_)
            | O::SetOptions(_)
            | O::SetOptionsList(_)
            | O::ResetOptions(_) => ColumnAction::Ignored,
            other => {
                let what = Construct::ALTER_COLUMN.of(words(other.syntax().kind()));
                return Err(self.unsupported(other, what));
            }
        })
    }

    fn restart(&self, restart: &cst::Restart) -> Result<SequenceOptions> {
        let mut options = self.sequence_options(None, restart)?;
        options.restart = Some(restart.expr().map(|_| self.number(restart)).transpose()?);
        Ok(options)
    }

    fn rename_column(&self, rename: &cst::RenameColumn) -> Result<(Ident, Ident)> {
        let from = self.ident(&self.need(rename.column_name_ref(), rename)?);
        Ok((from, self.ident(&self.need(rename.column_name(), rename)?)))
    }

    pub(super) fn schema_of(&self, set: &cst::SetSchema) -> Result<Ident> {
        Ok(self.name_or_ident(&self.need(set.schema_ref(), set)?)?.name)
    }

    pub(super) fn alter_index(&self, alter: &cst::AlterIndex) -> Result<StatementKind> {
        self.refuse(alter.all_in_tablespace(), Construct::ALTER_INDEX_ALL_IN_TABLESPACE)?;
        let name = self.name(&self.need(alter.index_ref(), alter)?)?;
        let action = match self.need(alter.action(), alter)? {
            cst::AlterIndexAction::IndexRenameTo(to) => {
                ObjectAction::RenameTo(self.name(&self.need(to.index(), &to)?)?.name)
            }
            cst::AlterIndexAction::AttachIndexPartition(attach) => {
                return Err(self.unsupported(&attach, Construct::ALTER_INDEX_ATTACH_PARTITION));
            }
            _ => ObjectAction::Ignored,
        };
        Ok(object(DropObject::Index, alter.if_exists().is_some(), name, action))
    }

    pub(super) fn alter_view(&self, alter: &cst::AlterView) -> Result<StatementKind> {
        let name = self.name(&self.need(alter.view_ref(), alter)?)?;
        let action = match self.need(alter.action(), alter)? {
            cst::AlterViewAction::ViewRenameTo(to) => {
                ObjectAction::RenameTo(self.name(&self.need(to.view(), &to)?)?.name)
            }
            cst::AlterViewAction::SetSchema(schema) => ObjectAction::SetSchema(self.schema_of(&schema)?),
            cst::AlterViewAction::RenameColumn(rename) => {
                let (from, to) = self.rename_column(&rename)?;
                ObjectAction::RenameColumn(from, to)
            }
            cst::AlterViewAction::AlterViewColumn(column) => {
                return Err(self.unsupported(&column, Construct::ALTER_VIEW_ALTER_COLUMN));
            }
            cst::AlterViewAction::OwnerTo(_)
            | cst::AlterViewAction::SetOptions(_)
            | cst::AlterViewAction::ResetOptions(_) => ObjectAction::Ignored,
        };
        Ok(object(DropObject::View, alter.if_exists().is_some(), name, action))
    }

    pub(super) fn alter_materialized_view(&self, alter: &cst::AlterMaterializedView) -> Result<StatementKind> {
        self.refuse(alter.all_in_tablespace(), Construct::ALTER_MATERIALIZED_VIEW_ALL_IN_TABLESPACE)?;
        let name = self.name(&self.need(alter.view_ref(), alter)?)?;
        let mut action = ObjectAction::Ignored;
        for part in alter.action() {
            use cst::AlterMaterializedViewAction as A;
            action = match &part {
                A::ViewRenameTo(to) => ObjectAction::RenameTo(self.name(&self.need(to.view(), to)?)?.name),
                A::SetSchema(schema) => ObjectAction::SetSchema(self.schema_of(schema)?),
                A::RenameColumn(rename) => {
                    let (from, to) = self.rename_column(rename)?;
                    ObjectAction::RenameColumn(from, to)
                }
                A::AlterTableAction(action) => match self.alter_action(action)? {
                    AlterAction::Ignored => continue,
                    AlterAction::RenameTo(to) => ObjectAction::RenameTo(to),
                    AlterAction::SetSchema(schema) => ObjectAction::SetSchema(schema),
                    AlterAction::RenameColumn(from, to) => ObjectAction::RenameColumn(from, to),
                    _ => return Err(self.unsupported(&part, Construct::CHANGE_OF_A_MATERIALIZED_VIEW)),
                },
                A::DependsOnExtension(_) | A::NoDependsOnExtension(_) => continue,
            };
        }
        Ok(object(DropObject::MaterializedView, alter.if_exists().is_some(), name, action))
    }

    pub(super) fn alter_schema(&self, alter: &cst::AlterSchema) -> Result<StatementKind> {
        let name = self.name_or_ident(&self.need(alter.schema_ref(), alter)?)?.name;
        let action = match self.need(alter.action(), alter)? {
            cst::AlterSchemaAction::SchemaRenameTo(to) => {
                ObjectAction::RenameTo(self.ident(&self.need(to.schema(), &to)?))
            }
            cst::AlterSchemaAction::OwnerTo(_) => ObjectAction::Ignored,
        };
        Ok(object(DropObject::Schema, false, QualifiedName::bare(name), action))
    }
}

fn object(object: DropObject, if_exists: bool, name: QualifiedName, action: ObjectAction) -> StatementKind {
    StatementKind::AlterObject(Box::new(AlterObject { object, if_exists, name, action }))
}

pub(super) fn cascades(behavior: Option<cst::DropBehavior>) -> bool {
    matches!(behavior, Some(cst::DropBehavior::Cascade(_)))
}

fn is_always(when: Option<cst::GeneratedWhen>) -> bool {
    matches!(when, Some(cst::GeneratedWhen::GeneratedAlways(_)))
}
