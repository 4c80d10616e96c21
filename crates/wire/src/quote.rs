//! Names and texts inside SQL.
//!
//! Whatever is put into a statement is data until it is quoted here: a table may be called `"x; DROP DATABASE shop"`,
//! and an unquoted `isolde_APP` means another database. So every name goes through [`identifier`] and every text
//! through [`literal`], without asking whether this one would need it. A source test (`tests/quoting.rs` of this crate)
//! looks for statements that are put together in another way.

/// A name as SQL has it, in quotes. Zero bytes, which no name can have, are left out.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('\0', "").replace('"', "\"\""))
}

/// A name within a schema, both in quotes.
pub fn qualified(schema: Option<&str>, name: &str) -> String {
    match schema {
        Some(schema) => format!("{}.{}", identifier(schema), identifier(name)),
        None => identifier(name),
    }
}

/// A text as a literal that means the same whatever `standard_conforming_strings` is. Zero bytes, which no text can
/// have, are left out.
pub fn literal(text: &str) -> String {
    let text = text.replace('\0', "").replace('\'', "''");
    // The space keeps the E from a word before it.
    if text.contains('\\') { format!(" E'{}'", text.replace('\\', "\\\\")) } else { format!("'{text}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_quotes_early() {
        assert_eq!(identifier("isolde_prod2 WITH (FORCE)"), "\"isolde_prod2 WITH (FORCE)\"");
        assert_eq!(identifier("a\"; DROP TABLE b; --"), "\"a\"\"; DROP TABLE b; --\"");
        assert_eq!(qualified(Some("S"), "t"), "\"S\".\"t\"");
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("\\'; DROP TABLE b; --"), " E'\\\\''; DROP TABLE b; --'");
        assert_eq!(literal("a\0b"), "'ab'");
    }
}
