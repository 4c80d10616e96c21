//! Cursors and arrays: OPEN, FETCH, MOVE, CLOSE, FOR over a cursor, FOREACH.

use std::ops::Range;

use super::sql::{COMMA_OR_SEMICOLON, Followers, SEMICOLON_OR_USING};
use super::{Parser, Result};
use crate::ast::plpgsql::{CursorArg, Direction, OpenSource, StmtKind, Target};
use crate::ast::{Expr, ExprKind, Ident};
use crate::error::{Diagnostic, SqlState};

const ARGUMENT: Followers = Followers::of_expression(&[",", ")"], ")");
const FROM_OR_IN: Followers = Followers::of_expression(&["FROM", "IN"], "FROM");
const LOOP: Followers = Followers::of_expression(&["LOOP"], "LOOP");
const IN: Followers = Followers::of_expression(&["IN"], "IN");

impl Parser<'_> {
    /// `OPEN c`, `OPEN c (args)`, `OPEN c FOR query`, `OPEN c FOR EXECUTE text USING ...`
    pub(super) fn open(&mut self) -> Result<StmtKind> {
        self.tokens.expect_word("OPEN")?;
        let cursor = self.target()?;
        if self.tokens.at_symbol(";") || self.tokens.at_symbol("(") {
            let source = OpenSource::Bound(self.cursor_args()?);
            return Ok(StmtKind::Open { cursor, scroll: None, source });
        }
        let scroll = self.scroll()?;
        self.tokens.expect_word("FOR")?;
        let source = match self.tokens.eat_word("EXECUTE") {
            true => {
                let (text, using) = self.dynamic(SEMICOLON_OR_USING, COMMA_OR_SEMICOLON)?;
                OpenSource::Execute(text, using)
            }
            false => OpenSource::Query(Box::new(self.row_statement()?)),
        };
        Ok(StmtKind::Open { cursor, scroll, source })
    }

    /// `(a, name := b)`, if it is there.
    fn cursor_args(&mut self) -> Result<Vec<CursorArg>> {
        let mut args = Vec::new();
        if !self.tokens.eat_symbol("(") {
            return Ok(args);
        }
        loop {
            let at = self.tokens.position();
            let named =
                self.tokens.is_name(at) && (self.tokens.is_symbol(at + 1, ":=") || self.tokens.is_symbol(at + 1, "=>"));
            let name = if named { Some(self.tokens.ident()?) } else { None };
            if named && !self.tokens.eat_symbol(":=") {
                self.tokens.eat_symbol("=>");
            }
            args.push((name, self.expression(ARGUMENT)?));
            if !self.tokens.eat_symbol(",") {
                break;
            }
        }
        self.tokens.expect_symbol(")")?;
        Ok(args)
    }

    /// `FETCH [direction FROM] c INTO ...`, and MOVE.
    pub(super) fn fetch(&mut self) -> Result<StmtKind> {
        let fetches = self.tokens.at_word("FETCH");
        self.tokens.advance();
        let direction = self.direction()?;
        let cursor = self.target()?;
        if !fetches {
            return Ok(StmtKind::Fetch { cursor, direction, into: None });
        }
        let single = match &direction {
            Direction::Forward(Some(n)) | Direction::Backward(Some(n)) => matches!(n.kind, ExprKind::Integer(1)),
            Direction::Forward(None) | Direction::Backward(None) => false,
            Direction::Absolute(_) | Direction::Relative(_) => true,
        };
        if !single {
            let message = "FETCH statement cannot return multiple rows";
            return Err(Diagnostic::new(cursor.span, SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        self.tokens.expect_word("INTO")?;
        Ok(StmtKind::Fetch { cursor, direction, into: Some(self.targets()?) })
    }

    fn direction(&mut self) -> Result<Direction> {
        let one = |parser: &Self| Expr { kind: ExprKind::Integer(1), span: parser.tokens.here() };
        let integer = |n, parser: &Self| Expr { kind: ExprKind::Integer(n), span: parser.tokens.here() };
        let direction = match self.tokens.keyword().as_str() {
            // A cursor may be called like a direction.
            _ if self.tokens.is_word(self.tokens.position() + 1, "INTO")
                || self.tokens.is_symbol(self.tokens.position() + 1, ";") =>
            {
                return Ok(Direction::Forward(Some(one(self))));
            }
            "NEXT" => self.fixed(Direction::Forward(Some(one(self)))),
            "PRIOR" => self.fixed(Direction::Backward(Some(one(self)))),
            "FIRST" => self.fixed(Direction::Absolute(integer(1, self))),
            "LAST" => self.fixed(Direction::Absolute(integer(-1, self))),
            "ABSOLUTE" => {
                self.tokens.advance();
                Direction::Absolute(self.expression(FROM_OR_IN)?)
            }
            "RELATIVE" => {
                self.tokens.advance();
                Direction::Relative(self.expression(FROM_OR_IN)?)
            }
            "ALL" => self.fixed(Direction::Forward(None)),
            "FORWARD" => {
                self.tokens.advance();
                Direction::Forward(self.count()?)
            }
            "BACKWARD" => {
                self.tokens.advance();
                Direction::Backward(self.count()?)
            }
            "FROM" | "IN" => Direction::Forward(Some(one(self))),
            _ => Direction::Forward(Some(self.expression(FROM_OR_IN)?)),
        };
        if !self.tokens.eat_word("FROM") && !self.tokens.eat_word("IN") {
            // FROM may be left out behind a direction that stands alone.
            let stands_alone = self.tokens.is_name(self.tokens.position());
            return if stands_alone { Ok(direction) } else { Err(self.tokens.unexpected()) };
        }
        Ok(direction)
    }

    fn fixed(&mut self, direction: Direction) -> Direction {
        self.tokens.advance();
        direction
    }

    /// Behind FORWARD and BACKWARD: ALL, a number, or nothing, which is one.
    fn count(&mut self) -> Result<Option<Expr>> {
        if self.tokens.eat_word("ALL") {
            return Ok(None);
        }
        let here = self.tokens.here();
        let bare = self.tokens.at_word("FROM") || self.tokens.at_word("IN");
        let followed = self.tokens.is_word(self.tokens.position() + 1, "INTO")
            || self.tokens.is_symbol(self.tokens.position() + 1, ";");
        match bare || followed {
            true => Ok(Some(Expr { kind: ExprKind::Integer(1), span: here })),
            false => self.expression(FROM_OR_IN).map(Some),
        }
    }

    pub(super) fn close(&mut self) -> Result<StmtKind> {
        self.tokens.expect_word("CLOSE")?;
        Ok(StmtKind::Close(self.target()?))
    }

    /// `FOR r IN c (args) LOOP`, the cursor standing in `range`.
    pub(super) fn for_cursor(
        &mut self,
        label: Option<Ident>,
        targets: Vec<Target>,
        range: Range<usize>,
    ) -> Result<StmtKind> {
        self.tokens.set_position(range.start);
        let cursor = self.tokens.ident()?;
        let args = self.cursor_args()?;
        let body = self.loop_body(label.as_ref())?;
        Ok(StmtKind::ForCursor { label, targets, cursor, args, body })
    }

    /// `FOREACH x [SLICE n] IN ARRAY expr LOOP`
    pub(super) fn foreach(&mut self, label: Option<Ident>) -> Result<StmtKind> {
        self.tokens.expect_word("FOREACH")?;
        let targets = self.targets()?;
        let mut slice = 0;
        if self.tokens.eat_word("SLICE") {
            let given = self.expression(IN)?;
            match given.kind {
                ExprKind::Integer(n) => slice = n,
                _ => return Err(Diagnostic::syntax(given.span, "syntax error: SLICE takes a number")),
            }
        }
        self.tokens.expect_word("IN")?;
        self.tokens.expect_word("ARRAY")?;
        let array = self.expression(LOOP)?;
        let body = self.loop_body(label.as_ref())?;
        Ok(StmtKind::Foreach { label, targets, slice, array, body })
    }
}
