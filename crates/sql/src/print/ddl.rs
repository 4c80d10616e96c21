//! Statements that define: tables, indexes, sequences, routines.

use std::fmt::{self, Display, Formatter};

use super::expr::{At, Level};
use super::{Clause, commas};
use crate::ast::{
    ColumnConstraint, ColumnConstraintKind, ColumnDef, ConstraintOptions, CreateIndex, CreateRoutine, CreateTable,
    Drop, DropObject, Expr, ExprKind, Ident, LikeClause, Param, ParamMode, References, ReferentialAction, Returns,
    RoutineBody, TableConstraint, TableConstraintKind, Volatility,
};

impl Display for CreateTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut elements: Vec<String> = self.columns.iter().map(ColumnDef::to_string).collect();
        for (at, like) in self.likes.iter().rev() {
            elements.insert(*at, like.to_string());
        }
        elements.extend(self.constraints.iter().map(TableConstraint::to_string));
        let temporary = if self.temporary { "TEMPORARY " } else { "" };
        write!(f, "CREATE {temporary}TABLE {}{} ({})", if_not_exists(self.if_not_exists), self.name, commas(&elements))
    }
}

impl Display for LikeClause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "LIKE {}", self.table)?;
        let options = [
            ("DEFAULTS", self.defaults),
            ("CONSTRAINTS", self.constraints),
            ("INDEXES", self.indexes),
            ("IDENTITY", self.identity),
            ("GENERATED", self.generated),
        ];
        options.iter().filter(|(_, yes)| *yes).try_for_each(|(name, _)| write!(f, " INCLUDING {name}"))
    }
}

pub(super) fn if_not_exists(yes: bool) -> &'static str {
    if yes { "IF NOT EXISTS " } else { "" }
}

impl Display for ColumnDef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.ty)?;
        self.constraints.iter().try_for_each(|constraint| write!(f, " {constraint}"))
    }
}

/// `CONSTRAINT name `, or nothing.
fn constraint_name(f: &mut Formatter<'_>, name: Option<&Ident>) -> fmt::Result {
    match name {
        Some(name) => write!(f, "CONSTRAINT {name} "),
        None => Ok(()),
    }
}

impl Display for ColumnConstraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        constraint_name(f, self.name.as_ref())?;
        match &self.kind {
            ColumnConstraintKind::Null => f.write_str("NULL"),
            ColumnConstraintKind::NotNull => f.write_str("NOT NULL"),
            // Words follow a default (NOT NULL, CHECK), so the grammar wants nothing here that ends in words.
            ColumnConstraintKind::Default(value) => write!(f, "DEFAULT {}", At(value, Level::Operator)),
            ColumnConstraintKind::Identity(identity) => identity.fmt(f),
            ColumnConstraintKind::Generated(expr) => write!(f, "GENERATED ALWAYS AS ({expr}) STORED"),
            ColumnConstraintKind::Check(condition) => write!(f, "CHECK ({condition})"),
            ColumnConstraintKind::PrimaryKey => f.write_str("PRIMARY KEY"),
            ColumnConstraintKind::Unique => write!(f, "UNIQUE{}", nulls(&self.options)),
            ColumnConstraintKind::References(references) => references.fmt(f),
        }?;
        write!(f, "{}", self.options.deferral)
    }
}

impl Display for TableConstraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        constraint_name(f, self.name.as_ref())?;
        match &self.kind {
            TableConstraintKind::Check(condition) => write!(f, "CHECK ({condition})"),
            TableConstraintKind::PrimaryKey(columns) => write!(f, "PRIMARY KEY{}", key(columns, &self.options)),
            TableConstraintKind::Unique(columns) => {
                write!(f, "UNIQUE{}{}", nulls(&self.options), key(columns, &self.options))
            }
            TableConstraintKind::ForeignKey(columns, references) => {
                write!(f, "FOREIGN KEY ({}) {references}", commas(columns))
            }
        }?;
        write!(f, "{}{}", self.options.deferral, if self.options.not_valid { " NOT VALID" } else { "" })
    }
}

fn nulls(options: &ConstraintOptions) -> &'static str {
    if options.nulls_not_distinct { " NULLS NOT DISTINCT" } else { "" }
}

/// ` (columns)` or ` USING INDEX name`
fn key(columns: &[Ident], options: &ConstraintOptions) -> String {
    match &options.using_index {
        Some(index) => format!(" USING INDEX {index}"),
        None => format!(" ({})", commas(columns)),
    }
}

impl Display for References {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "REFERENCES {}", self.table)?;
        if !self.columns.is_empty() {
            write!(f, " ({})", commas(&self.columns))?;
        }
        f.write_str(if self.match_full { " MATCH FULL" } else { "" })?;
        for (event, action) in [("DELETE", self.on_delete), ("UPDATE", self.on_update)] {
            if action != ReferentialAction::NoAction {
                write!(f, " ON {event} {action}")?;
                if event == "DELETE" && !self.on_delete_columns.is_empty() {
                    write!(f, " ({})", commas(&self.on_delete_columns))?;
                }
            }
        }
        Ok(())
    }
}

impl Display for ReferentialAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReferentialAction::NoAction => "NO ACTION",
            ReferentialAction::Restrict => "RESTRICT",
            ReferentialAction::Cascade => "CASCADE",
            ReferentialAction::SetNull => "SET NULL",
            ReferentialAction::SetDefault => "SET DEFAULT",
        })
    }
}

impl Display for CreateIndex {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let unique = if self.unique { "UNIQUE " } else { "" };
        write!(f, "CREATE {unique}INDEX {}", if_not_exists(self.if_not_exists))?;
        if let Some(name) = &self.name {
            write!(f, "{name} ")?;
        }
        let keys: Vec<String> = self.keys.iter().map(index_key).collect();
        let nulls = if self.nulls_not_distinct { " NULLS NOT DISTINCT" } else { "" };
        write!(f, "ON {} ({}){nulls}{}", self.table, commas(&keys), Clause("WHERE", self.filter.as_ref()))
    }
}

/// A column or a call as it is, anything else in parentheses.
pub(super) fn index_key(key: &Expr) -> String {
    match &key.kind {
        ExprKind::Name(_) | ExprKind::Call(_) => key.to_string(),
        _ => format!("({key})"),
    }
}

impl Display for Drop {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let if_exists = if self.if_exists { "IF EXISTS " } else { "" };
        let cascade = if self.cascade { " CASCADE" } else { "" };
        let signature = |types: &Vec<crate::ast::TypeName>| format!("({})", commas(types));
        let names: Vec<String> = (self.names.iter().enumerate())
            .map(|(at, name)| {
                let types = self.signatures.get(at).and_then(Option::as_ref);
                format!("{name}{}", types.map_or_else(String::new, signature))
            })
            .collect();
        write!(f, "DROP {} {if_exists}{}{cascade}", self.object, commas(&names))
    }
}

impl Display for DropObject {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DropObject::Table => "TABLE",
            DropObject::Index => "INDEX",
            DropObject::Sequence => "SEQUENCE",
            DropObject::Function => "FUNCTION",
            DropObject::Procedure => "PROCEDURE",
            DropObject::Routine => "ROUTINE",
            DropObject::Type => "TYPE",
            DropObject::Domain => "DOMAIN",
            DropObject::View => "VIEW",
            DropObject::MaterializedView => "MATERIALIZED VIEW",
            DropObject::Schema => "SCHEMA",
        })
    }
}

impl Display for CreateRoutine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let or_replace = if self.or_replace { "OR REPLACE " } else { "" };
        let what = if self.procedure { "PROCEDURE" } else { "FUNCTION" };
        write!(f, "CREATE {or_replace}{what} {}({})", self.name, commas(&self.params))?;
        let volatility = match self.volatility {
            Volatility::Volatile => "",
            Volatility::Stable => " STABLE",
            Volatility::Immutable => " IMMUTABLE",
        };
        let strict = if self.strict { " STRICT" } else { "" };
        write!(f, "{}{volatility}{strict} LANGUAGE ", self.returns)?;
        match &self.body {
            RoutineBody::PlPgSql(body) => write!(f, "plpgsql AS {}", DollarQuoted(body)),
            RoutineBody::Sql(statements) => {
                let body = super::Separated(statements, "; ");
                write!(f, "sql AS {}", DollarQuoted(&body))
            }
        }
    }
}

impl Display for Param {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.mode {
            ParamMode::In => "",
            ParamMode::Out => "OUT ",
            ParamMode::InOut => "INOUT ",
        })?;
        if let Some(name) = &self.name {
            write!(f, "{name} ")?;
        }
        write!(f, "{}{}", self.ty, Clause("DEFAULT", self.default.as_ref()))
    }
}

impl Display for Returns {
    /// With a blank before it.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Returns::Nothing => Ok(()),
            Returns::Value(ty) => write!(f, " RETURNS {ty}"),
            Returns::SetOf(ty) => write!(f, " RETURNS SETOF {ty}"),
            Returns::Table(columns) => {
                let columns: Vec<String> = columns.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
                write!(f, " RETURNS TABLE ({})", commas(&columns))
            }
        }
    }
}

/// A body between dollar quotes that do not occur in it.
pub(super) struct DollarQuoted<T>(pub(super) T);

impl<T: Display> Display for DollarQuoted<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        let tags = (0_u32..).map(|n| match n {
            0 => "$$".to_string(),
            1 => "$body$".to_string(),
            n => format!("$body{n}$"),
        });
        let tag = tags.into_iter().find(|tag| !text.contains(tag.as_str())).unwrap_or_default();
        let newline = if text.contains('\n') { "\n" } else { "" };
        write!(f, "{tag}{newline}{text}{newline}{tag}")
    }
}
