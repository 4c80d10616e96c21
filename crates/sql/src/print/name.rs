//! Names and types.
//!
//! A name goes without quotes if it comes back as it was: lower case, and no keyword. Like PostgreSQL's `quote_ident`
//! we quote every keyword that is reserved anywhere, so that one rule serves columns, functions and types. PL/pgSQL's
//! reserved words count everywhere, as any expression may end up in a procedure.

use std::fmt::{self, Display, Formatter};

use super::Separated;
use crate::ast::{Ident, QualifiedName, TypeName};

/// Reserved in SQL; reserved but for functions and types; reserved but for columns; reserved in PL/pgSQL.
const RESERVED: &str = "all analyse analyze and any array as asc asymmetric both case cast check collate column \
    constraint create current_catalog current_date current_role current_time current_timestamp current_user default \
    deferrable desc distinct do else end except false fetch for foreign from grant group having in initially intersect \
    into lateral leading limit localtime localtimestamp not null offset on only or order placing primary references \
    returning select session_user some symmetric system_user table then to trailing true union unique user using \
    variadic when where window with \
    authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull join left like \
    natural notnull outer overlaps right similar tablesample verbose \
    between bigint bit boolean char character coalesce dec decimal exists extract float graph_table greatest grouping \
    inout int integer interval json json_array json_arrayagg json_exists json_object json_objectagg json_query \
    json_scalar json_serialize json_table json_value least merge_action national nchar none normalize nullif numeric \
    out overlay position precision real row setof smallint substring time timestamp treat trim values varchar \
    xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable \
    begin by declare execute foreach if loop strict while";

/// A name as it is written in SQL, in quotes where it needs them: for texts that people read and that are parsed again.
pub fn identifier(name: &str) -> String {
    match is_plain(name) && !is_reserved(name) {
        true => name.to_string(),
        false => Delimited(name).to_string(),
    }
}

fn is_reserved(name: &str) -> bool {
    RESERVED.split(' ').any(|word| word == name)
}

/// Would the lexer read this as one unquoted word, unchanged?
fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '$')
}

/// A name in double quotes, whatever it is.
pub(super) struct Delimited<'a>(pub(super) &'a str);

impl Display for Delimited<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('"', "\"\""))
    }
}

impl Display for Ident {
    /// The name, in quotes where it needs them.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&identifier(&self.name))
    }
}

impl Display for QualifiedName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.qualifier() {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => self.name.fmt(f),
        }
    }
}

/// `a.b.c`
pub(super) struct Path<'a>(pub(super) &'a [Ident]);

impl Display for Path<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Separated(self.0, ".").fmt(f)
    }
}

impl Display for TypeName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TypeName::Known(ty, _) => ty.fmt(f),
            TypeName::Serial(2, _) => f.write_str("smallserial"),
            TypeName::Serial(4, _) => f.write_str("serial"),
            TypeName::Serial(_, _) => f.write_str("bigserial"),
            TypeName::Reference { path, row, .. } => {
                write!(f, "{}%{}", Path(path), if *row { "ROWTYPE" } else { "TYPE" })
            }
            TypeName::Array(element, _) => write!(f, "{element}[]"),
            TypeName::Named(name) => name.fmt(f),
        }
    }
}
