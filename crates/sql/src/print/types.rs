//! Definitions of types.

use std::fmt::{self, Display, Formatter};

use super::{Quoted, commas};
use crate::ast::{AlterType, AlterTypeAction, CreateDomain, CreateType, CreateTypeKind, LabelPlace};

impl Display for CreateType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "CREATE TYPE {} AS ", self.name)?;
        match &self.kind {
            CreateTypeKind::Enum(labels) => {
                let labels: Vec<String> = labels.iter().map(|l| Quoted(l).to_string()).collect();
                write!(f, "ENUM ({})", commas(&labels))
            }
            CreateTypeKind::Composite(fields) => {
                let fields: Vec<String> = fields.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
                write!(f, "({})", commas(&fields))
            }
        }
    }
}

impl Display for CreateDomain {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "CREATE DOMAIN {} AS {}", self.name, self.base)?;
        self.constraints.iter().try_for_each(|c| write!(f, " {c}"))
    }
}

impl Display for AlterType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ALTER TYPE {} ", self.name)?;
        match &self.action {
            AlterTypeAction::AddValue { if_not_exists, label, place } => {
                let if_not_exists = if *if_not_exists { "IF NOT EXISTS " } else { "" };
                write!(f, "ADD VALUE {if_not_exists}{}", Quoted(label))?;
                match place {
                    None => Ok(()),
                    Some(LabelPlace::Before(other)) => write!(f, " BEFORE {}", Quoted(other)),
                    Some(LabelPlace::After(other)) => write!(f, " AFTER {}", Quoted(other)),
                }
            }
            AlterTypeAction::RenameValue(from, to) => write!(f, "RENAME VALUE {} TO {}", Quoted(from), Quoted(to)),
            AlterTypeAction::Rename(name) => write!(f, "RENAME TO {name}"),
        }
    }
}
