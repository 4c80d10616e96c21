//! DECLARE: variables, aliases, cursors.

use super::sql::{Followers, SEMICOLON};
use super::{Parser, Result};
use crate::ast::plpgsql::{Declaration, DeclarationKind};
use crate::ast::{ExprKind, TypeName};
use crate::error::Diagnostic;
use crate::parse::{self, Fragment};
use crate::refused::Construct;
use crate::types::Type;

/// What ends a type; `=` and `:=` as well.
const TYPE_ENDS: [&str; 3] = ["NOT", "DEFAULT", "COLLATE"];
const CURSOR_ENDS: Followers = Followers::of_statement(&[";"], ";");

impl Parser<'_> {
    /// `DECLARE ...` up to BEGIN, if it is there; the word may be repeated.
    pub(super) fn declarations(&mut self) -> Result<Vec<Declaration>> {
        let mut declarations = Vec::new();
        if !self.tokens.eat_word("DECLARE") {
            return Ok(declarations);
        }
        while !self.tokens.at_word("BEGIN") {
            if !self.tokens.eat_word("DECLARE") {
                declarations.push(self.declaration()?);
            }
        }
        Ok(declarations)
    }

    fn declaration(&mut self) -> Result<Declaration> {
        let name = self.tokens.ident()?;
        let kind = match self.tokens.keyword().as_str() {
            "ALIAS" => self.alias()?,
            "CURSOR" | "SCROLL" | "NO" => self.cursor()?,
            _ => self.variable()?,
        };
        self.tokens.expect_symbol(";")?;
        Ok(Declaration { name, kind })
    }

    /// `ALIAS FOR $1`
    fn alias(&mut self) -> Result<DeclarationKind> {
        self.tokens.expect_word("ALIAS")?;
        self.tokens.expect_word("FOR")?;
        let path = self.target()?.path;
        match <[_; 1]>::try_from(path) {
            Ok([name]) => Ok(DeclarationKind::Alias(name)),
            Err(_) => Err(Diagnostic::unsupported(self.tokens.here(), Construct::ALIAS_FOR_A_QUALIFIED_NAME)),
        }
    }

    /// `[NO] SCROLL CURSOR [(params)] FOR query`
    fn cursor(&mut self) -> Result<DeclarationKind> {
        let scroll = self.scroll()?;
        self.tokens.expect_word("CURSOR")?;
        let mut params = Vec::new();
        if self.tokens.eat_symbol("(") {
            loop {
                let name = self.tokens.ident()?;
                params.push((name, self.param_type()?));
                if !self.tokens.eat_symbol(",") {
                    break;
                }
            }
            self.tokens.expect_symbol(")")?;
        }
        if !self.tokens.eat_word("FOR") && !self.tokens.eat_word("IS") {
            return Err(self.tokens.unexpected());
        }
        let range = self.scan(CURSOR_ENDS)?;
        self.no_into(range.clone())?;
        let query = Box::new(parse::query(self.tokens.cut(range))?);
        Ok(DeclarationKind::Cursor { scroll, params, query })
    }

    /// `SCROLL`, `NO SCROLL` or nothing.
    pub(super) fn scroll(&mut self) -> Result<Option<bool>> {
        if self.tokens.eat_word("NO") {
            self.tokens.expect_word("SCROLL")?;
            return Ok(Some(false));
        }
        Ok(self.tokens.eat_word("SCROLL").then_some(true))
    }

    /// `[CONSTANT] type [NOT NULL] [:= expr]`
    fn variable(&mut self) -> Result<DeclarationKind> {
        let constant = self.tokens.eat_word("CONSTANT");
        let ty = self.type_name()?;
        if self.tokens.at_word("COLLATE") {
            return Err(Diagnostic::unsupported(self.tokens.here(), Construct::COLLATE));
        }
        let not_null = self.tokens.eat_word("NOT");
        if not_null {
            self.tokens.expect_word("NULL")?;
        }
        let default = match self.tokens.eat_word("DEFAULT") || self.tokens.eat_assign() {
            true => Some(self.expression(SEMICOLON)?),
            false => None,
        };
        Ok(DeclarationKind::Variable { constant, ty, not_null, default })
    }

    /// A type, up to what may follow it in a declaration.
    fn type_name(&mut self) -> Result<TypeName> {
        let start = self.tokens.position();
        let mut depth = 0_usize;
        while !self.tokens.is_done() && !self.tokens.at_symbol(";") {
            if depth == 0 && self.at_type_end() {
                break;
            }
            match self.tokens.text_at(self.tokens.position()) {
                "(" => depth += 1,
                ")" if depth == 0 => return Err(self.tokens.near("mismatched parentheses")),
                ")" => depth -= 1,
                _ => {}
            }
            self.tokens.advance();
        }
        let end = self.tokens.position();
        if start == end {
            return Err(self.tokens.near("missing data type declaration"));
        }
        if depth > 0 {
            return Err(self.tokens.near("mismatched parentheses"));
        }
        self.type_of(start, end)
    }

    /// The type of a cursor's parameter: up to the comma or the parenthesis.
    fn param_type(&mut self) -> Result<TypeName> {
        let start = self.tokens.position();
        let mut depth = 0_usize;
        while !self.tokens.is_done() && !self.tokens.at_symbol(";") {
            match self.tokens.text_at(self.tokens.position()) {
                "," | ")" if depth == 0 => break,
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            self.tokens.advance();
        }
        let end = self.tokens.position();
        if start == end {
            return Err(self.tokens.near("missing data type declaration"));
        }
        let ty = self.type_of(start, end)?;
        self.tokens.set_position(end);
        Ok(ty)
    }

    fn at_type_end(&self) -> bool {
        let symbol = self.tokens.at_symbol(":=") || self.tokens.at_symbol("=");
        symbol || TYPE_ENDS.iter().any(|word| self.tokens.at_word(word))
    }

    /// The type that these tokens spell.
    fn type_of(&mut self, start: usize, end: usize) -> Result<TypeName> {
        let fragment = self.tokens.cut(start..end);
        if fragment.text.eq_ignore_ascii_case("record") {
            return Ok(TypeName::Known(Type::Record, self.tokens.span_from(start)));
        }
        if (start..end).any(|at| self.tokens.is_symbol(at, "%")) {
            return self.type_reference(start, end);
        }
        // The SQL parser knows the names of types; in a cast it shows what it knows. DECLARE leaves room on the left.
        const CAST: &str = "NULL::";
        let text = format!("{CAST}{}", fragment.text);
        match parse::expr(Fragment { text: &text, offset: fragment.offset.saturating_sub(CAST.len() as u32) })?.kind {
            ExprKind::Cast(operand, ty) if matches!(operand.kind, ExprKind::Null) => Ok(ty),
            _ => {
                self.tokens.set_position(start);
                Err(self.tokens.unexpected())
            }
        }
    }

    /// `table.column%TYPE` or `table%ROWTYPE`.
    fn type_reference(&mut self, start: usize, end: usize) -> Result<TypeName> {
        self.tokens.set_position(start);
        let path = self.target()?.path;
        self.tokens.expect_symbol("%")?;
        let row = self.tokens.eat_word("ROWTYPE");
        if !row {
            self.tokens.expect_word("TYPE")?;
        }
        match self.tokens.position() == end {
            true => Ok(TypeName::Reference { path, row, span: self.tokens.span_from(start) }),
            false if self.tokens.at_symbol("[") || self.tokens.at_word("ARRAY") => {
                Err(Diagnostic::unsupported(self.tokens.here(), Construct::ARRAY))
            }
            false => Err(self.tokens.unexpected()),
        }
    }
}
