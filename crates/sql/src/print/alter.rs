//! Statements that change definitions, and definitions that stand on queries.

use std::fmt::{self, Display, Formatter};

use super::ddl::if_not_exists;
use super::{Clause, commas};
use crate::ast::{
    AlterAction, AlterObject, AlterSequence, AlterTable, CheckOption, ColumnAction, Copy, CreateSchema, CreateSequence,
    CreateTableAs, CreateView, Deferral, Ident, IdentityDef, ObjectAction, Refresh, SequenceOptions, SetConstraints,
    Truncate,
};

fn if_exists(yes: bool) -> &'static str {
    if yes { "IF EXISTS " } else { "" }
}

fn cascade(yes: bool) -> &'static str {
    if yes { " CASCADE" } else { "" }
}

impl Display for AlterTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ALTER TABLE {}{} {}", if_exists(self.if_exists), self.table, commas(&self.actions))
    }
}

impl Display for AlterAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            AlterAction::AddColumn { if_not_exists: yes, def } => write!(f, "ADD COLUMN {}{def}", if_not_exists(*yes)),
            AlterAction::DropColumn { name, if_exists: yes, cascade: all } => {
                write!(f, "DROP COLUMN {}{name}{}", if_exists(*yes), cascade(*all))
            }
            AlterAction::AlterColumn(name, action) => write!(f, "ALTER COLUMN {name} {action}"),
            AlterAction::RenameColumn(from, to) => write!(f, "RENAME COLUMN {from} TO {to}"),
            AlterAction::AddConstraint(constraint) => write!(f, "ADD {constraint}"),
            AlterAction::DropConstraint { name, if_exists: yes, cascade: all } => {
                write!(f, "DROP CONSTRAINT {}{name}{}", if_exists(*yes), cascade(*all))
            }
            AlterAction::ValidateConstraint(name) => write!(f, "VALIDATE CONSTRAINT {name}"),
            AlterAction::AlterConstraint(name, Deferral::NotDeferrable) => {
                write!(f, "ALTER CONSTRAINT {name} NOT DEFERRABLE")
            }
            AlterAction::AlterConstraint(name, deferral) => write!(f, "ALTER CONSTRAINT {name}{deferral}"),
            AlterAction::RenameConstraint(from, to) => write!(f, "RENAME CONSTRAINT {from} TO {to}"),
            AlterAction::RenameTo(name) => write!(f, "RENAME TO {name}"),
            AlterAction::SetSchema(schema) => write!(f, "SET SCHEMA {schema}"),
            AlterAction::Ignored => f.write_str("SET WITHOUT CLUSTER"),
        }
    }
}

impl Display for Deferral {
    /// With a blank before it; nothing for what is usual.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Deferral::NotDeferrable => "",
            Deferral::Immediate => " DEFERRABLE",
            Deferral::Deferred => " DEFERRABLE INITIALLY DEFERRED",
        })
    }
}

impl Display for ColumnAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ColumnAction::Type(ty, using) => write!(f, "TYPE {ty}{}", Clause("USING", using.as_ref())),
            ColumnAction::SetDefault(expr) => write!(f, "SET DEFAULT {expr}"),
            ColumnAction::DropDefault => f.write_str("DROP DEFAULT"),
            ColumnAction::SetNotNull => f.write_str("SET NOT NULL"),
            ColumnAction::DropNotNull => f.write_str("DROP NOT NULL"),
            ColumnAction::AddIdentity(identity) => write!(f, "ADD {identity}"),
            ColumnAction::SetIdentity { always, options } => {
                let generated =
                    always.map(|yes| format!("SET GENERATED {}", if yes { "ALWAYS" } else { "BY DEFAULT" }));
                let set = options.parts().into_iter().map(|part| match part.starts_with("RESTART") {
                    true => part,
                    false => format!("SET {part}"),
                });
                f.write_str(&generated.into_iter().chain(set).collect::<Vec<_>>().join(" "))
            }
            ColumnAction::DropIdentity { if_exists: yes } => write!(f, "DROP IDENTITY {}", if_exists(*yes).trim_end()),
            ColumnAction::DropExpression { if_exists: yes } => {
                write!(f, "DROP EXPRESSION {}", if_exists(*yes).trim_end())
            }
            ColumnAction::Ignored => f.write_str("SET STATISTICS -1"),
        }
    }
}

impl Display for IdentityDef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "GENERATED {} AS IDENTITY", if self.always { "ALWAYS" } else { "BY DEFAULT" })?;
        match self.options.parts() {
            parts if parts.is_empty() => Ok(()),
            parts => write!(f, " ({})", parts.join(" ")),
        }
    }
}

impl SequenceOptions {
    /// Each option by itself.
    fn parts(&self) -> Vec<String> {
        let bound = |name: &str, bound: Option<Option<i64>>| {
            bound.map(|n| n.map_or_else(|| format!("NO {name}"), |n| format!("{name} {n}")))
        };
        let number = |name: &str, n: Option<i64>| n.map(|n| format!("{name} {n}"));
        let owned = self.owned_by.as_ref().map(|path| match path {
            None => "OWNED BY NONE".to_string(),
            Some(path) => format!("OWNED BY {}", path.iter().map(Ident::to_string).collect::<Vec<_>>().join(".")),
        });
        let parts = [
            self.name.as_ref().map(|name| format!("SEQUENCE NAME {name}")),
            self.ty.map(|ty| format!("AS {ty}")),
            number("INCREMENT BY", self.increment),
            bound("MINVALUE", self.min),
            bound("MAXVALUE", self.max),
            number("START WITH", self.start),
            number("CACHE", self.cache),
            self.cycle.map(|yes| if yes { "CYCLE" } else { "NO CYCLE" }.to_string()),
            self.restart.map(|n| n.map_or_else(|| "RESTART".to_string(), |n| format!("RESTART WITH {n}"))),
            owned,
        ];
        parts.into_iter().flatten().collect()
    }
}

impl Display for SequenceOptions {
    /// With a blank before each.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.parts().iter().try_for_each(|part| write!(f, " {part}"))
    }
}

impl Display for CreateSequence {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "CREATE SEQUENCE {}{}{}", if_not_exists(self.if_not_exists), self.name, self.options)
    }
}

impl Display for AlterSequence {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ALTER SEQUENCE {}{}{}", if_exists(self.if_exists), self.name, self.options)
    }
}

impl Display for AlterObject {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ALTER {} {}{} ", self.object, if_exists(self.if_exists), self.name)?;
        match &self.action {
            ObjectAction::RenameTo(name) => write!(f, "RENAME TO {name}"),
            ObjectAction::SetSchema(schema) => write!(f, "SET SCHEMA {schema}"),
            ObjectAction::RenameColumn(from, to) => write!(f, "RENAME COLUMN {from} TO {to}"),
            ObjectAction::Ignored => f.write_str("OWNER TO CURRENT_USER"),
        }
    }
}

impl Display for CreateView {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let or_replace = if self.or_replace { "OR REPLACE " } else { "" };
        let materialized = if self.materialized.is_some() { "MATERIALIZED " } else { "" };
        write!(f, "CREATE {or_replace}{materialized}VIEW {}{}", if_not_exists(self.if_not_exists), self.name)?;
        if !self.columns.is_empty() {
            write!(f, " ({})", commas(&self.columns))?;
        }
        write!(f, " AS {}", self.query)?;
        f.write_str(match self.check {
            None => "",
            Some(CheckOption::Local) => " WITH LOCAL CHECK OPTION",
            Some(CheckOption::Cascaded) => " WITH CASCADED CHECK OPTION",
        })?;
        f.write_str(if self.materialized == Some(false) { " WITH NO DATA" } else { "" })
    }
}

impl Display for Refresh {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let no_data = if self.with_data { "" } else { " WITH NO DATA" };
        write!(f, "REFRESH MATERIALIZED VIEW {}{no_data}", self.name)
    }
}

impl Display for CreateTableAs {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let temporary = if self.temporary { "TEMPORARY " } else { "" };
        write!(f, "CREATE {temporary}TABLE {}{}", if_not_exists(self.if_not_exists), self.name)?;
        if !self.columns.is_empty() {
            write!(f, " ({})", commas(&self.columns))?;
        }
        write!(f, " AS {}{}", self.query, if self.with_data { "" } else { " WITH NO DATA" })
    }
}

impl Display for CreateSchema {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "CREATE SCHEMA {}{}", if_not_exists(self.if_not_exists), self.name)?;
        self.elements.iter().try_for_each(|element| write!(f, " {element}"))
    }
}

impl Display for Truncate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let restart = if self.restart { " RESTART IDENTITY" } else { "" };
        write!(f, "TRUNCATE {}{restart}{}", commas(&self.tables), cascade(self.cascade))
    }
}

impl Display for SetConstraints {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let when = if self.deferred { "DEFERRED" } else { "IMMEDIATE" };
        match &self.names {
            None => write!(f, "SET CONSTRAINTS ALL {when}"),
            Some(names) => write!(f, "SET CONSTRAINTS {} {when}", commas(names)),
        }
    }
}

impl Display for Copy {
    /// The statement; its rows stand behind it.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "COPY {}", self.table)?;
        if !self.columns.is_empty() {
            write!(f, " ({})", commas(&self.columns))?;
        }
        f.write_str(" FROM stdin")?;
        f.write_str(if self.format.csv { " WITH (FORMAT csv)" } else { "" })
    }
}
