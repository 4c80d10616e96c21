//! IF, CASE, loops, EXIT and RETURN.

use std::ops::Range;

use super::sql::{COMMA_OR_SEMICOLON, Followers, SEMICOLON, SEMICOLON_OR_USING};
use super::{Parser, Result};
use crate::ast::plpgsql::{Stmt, StmtKind};
use crate::ast::{Expr, Ident};
use crate::error::Diagnostic;
use crate::parse;

const THEN: Followers = Followers::of_expression(&["THEN"], "THEN");
const COMMA_OR_THEN: Followers = Followers::of_expression(&[",", "THEN"], "THEN");
const WHEN: Followers = Followers::of_expression(&["WHEN"], "WHEN");
const LOOP: Followers = Followers::of_expression(&["LOOP"], "LOOP");
const LOOP_OR_BY: Followers = Followers::of_expression(&["LOOP", "BY"], "LOOP");
const LOOP_OR_USING: Followers = Followers::of_expression(&["LOOP", "USING"], "LOOP");
const COMMA_OR_LOOP: Followers = Followers::of_expression(&[",", "LOOP"], "LOOP");
const LOOP_OR_RANGE: Followers = Followers::of_statement(&["..", "LOOP"], "LOOP");

impl Parser<'_> {
    /// `IF a THEN ... ELSIF b THEN ... ELSE ... END IF`
    pub(super) fn if_statement(&mut self) -> Result<StmtKind> {
        self.tokens.expect_word("IF")?;
        let mut branches = Vec::new();
        loop {
            let condition = self.expression(THEN)?;
            self.tokens.expect_word("THEN")?;
            branches.push((condition, self.statements()?));
            if !self.tokens.eat_word("ELSIF") && !self.tokens.eat_word("ELSEIF") {
                break;
            }
        }
        let otherwise = self.otherwise()?;
        self.end_of("IF")?;
        Ok(StmtKind::If(branches, otherwise))
    }

    /// `CASE [operand] WHEN a, b THEN ... ELSE ... END CASE`
    pub(super) fn case_statement(&mut self) -> Result<StmtKind> {
        self.tokens.expect_word("CASE")?;
        let operand = match self.tokens.at_word("WHEN") {
            true => None,
            false => Some(self.expression(WHEN)?),
        };
        let mut whens = Vec::new();
        while self.tokens.eat_word("WHEN") {
            let values = self.expressions(COMMA_OR_THEN)?;
            self.tokens.expect_word("THEN")?;
            whens.push((values, self.statements()?));
        }
        let otherwise = self.otherwise()?;
        self.end_of("CASE")?;
        Ok(StmtKind::Case { operand, whens, otherwise })
    }

    fn otherwise(&mut self) -> Result<Option<Vec<Stmt>>> {
        if self.tokens.eat_word("ELSE") { self.statements().map(Some) } else { Ok(None) }
    }

    /// `END IF`, `END CASE`
    fn end_of(&mut self, word: &str) -> Result<()> {
        self.tokens.expect_word("END")?;
        self.tokens.expect_word(word)
    }

    pub(super) fn simple_loop(&mut self, label: Option<Ident>) -> Result<StmtKind> {
        let body = self.loop_body(label.as_ref())?;
        Ok(StmtKind::Loop(label, body))
    }

    pub(super) fn while_loop(&mut self, label: Option<Ident>) -> Result<StmtKind> {
        self.tokens.expect_word("WHILE")?;
        let condition = self.expression(LOOP)?;
        let body = self.loop_body(label.as_ref())?;
        Ok(StmtKind::While(label, condition, body))
    }

    /// `LOOP ... END LOOP [label]`
    pub(super) fn loop_body(&mut self, label: Option<&Ident>) -> Result<Vec<Stmt>> {
        self.tokens.expect_word("LOOP")?;
        let body = self.statements()?;
        self.end_of("LOOP")?;
        self.end_label(label)?;
        Ok(body)
    }

    /// `FOR targets IN ...`: a range if `..` is found before LOOP, a query otherwise.
    pub(super) fn for_loop(&mut self, label: Option<Ident>) -> Result<StmtKind> {
        self.tokens.expect_word("FOR")?;
        let targets = self.targets()?;
        self.tokens.expect_word("IN")?;
        if self.tokens.eat_word("EXECUTE") {
            let (text, using) = self.dynamic(LOOP_OR_USING, COMMA_OR_LOOP)?;
            let body = self.loop_body(label.as_ref())?;
            return Ok(StmtKind::ForExecute { label, targets, text, using, body });
        }
        let reverse_at = self.tokens.here();
        let reverse = self.tokens.eat_word("REVERSE");
        let range = self.scan(LOOP_OR_RANGE)?;
        if self.tokens.at_symbol("..") {
            let variable = match <[_; 1]>::try_from(targets).map(|[target]| <[_; 1]>::try_from(target.path)) {
                Ok(Ok([variable])) => variable,
                _ => {
                    let message = "integer FOR loop must have only one target variable";
                    return Err(Diagnostic::syntax(self.tokens.here(), message));
                }
            };
            let from = parse::expr(self.tokens.cut(range))?;
            return self.for_range(label, variable, reverse, from);
        }
        if reverse {
            return Err(Diagnostic::syntax(reverse_at, "cannot specify REVERSE in query FOR loop"));
        }
        if self.is_cursor(range.clone()) {
            return self.for_cursor(label, targets, range);
        }
        self.no_into(range.clone())?;
        let query = Box::new(parse::statement(self.tokens.cut(range))?);
        let body = self.loop_body(label.as_ref())?;
        Ok(StmtKind::ForQuery { label, targets, query, body })
    }

    /// `c` or `c(args)` rather than a query.
    fn is_cursor(&self, range: Range<usize>) -> bool {
        let is_query = ["SELECT", "TABLE", "VALUES", "WITH"].iter().any(|word| self.tokens.is_word(range.start, word));
        let called = self.tokens.is_symbol(range.start + 1, "(");
        self.tokens.is_name(range.start) && !is_query && (range.len() == 1 || called)
    }

    /// `..to [BY step] LOOP ...`
    fn for_range(&mut self, label: Option<Ident>, variable: Ident, reverse: bool, from: Expr) -> Result<StmtKind> {
        self.tokens.expect_symbol("..")?;
        let to = self.expression(LOOP_OR_BY)?;
        let by = match self.tokens.eat_word("BY") {
            true => Some(self.expression(LOOP)?),
            false => None,
        };
        let body = self.loop_body(label.as_ref())?;
        Ok(StmtKind::ForRange { label, variable, reverse, from, to, by, body })
    }

    /// `EXIT [label] [WHEN condition]`, and CONTINUE.
    pub(super) fn exit(&mut self) -> Result<StmtKind> {
        let is_exit = self.tokens.at_word("EXIT");
        self.tokens.advance();
        let at_end = self.tokens.at_symbol(";") || self.tokens.at_word("WHEN");
        let label = if at_end { None } else { Some(self.tokens.ident()?) };
        let condition = match self.tokens.eat_word("WHEN") {
            true => Some(self.expression(SEMICOLON)?),
            false => None,
        };
        Ok(if is_exit { StmtKind::Exit(label, condition) } else { StmtKind::Continue(label, condition) })
    }

    /// `RETURN [expr]`, `RETURN NEXT [expr]`, `RETURN QUERY query`
    pub(super) fn return_statement(&mut self) -> Result<StmtKind> {
        self.tokens.expect_word("RETURN")?;
        if self.tokens.eat_word("NEXT") {
            let at_end = self.tokens.at_symbol(";");
            return Ok(StmtKind::ReturnNext(if at_end { None } else { Some(self.expression(SEMICOLON)?) }));
        }
        if self.tokens.eat_word("QUERY") {
            return self.return_query();
        }
        let at_end = self.tokens.at_symbol(";");
        Ok(StmtKind::Return(if at_end { None } else { Some(self.expression(SEMICOLON)?) }))
    }

    fn return_query(&mut self) -> Result<StmtKind> {
        if self.tokens.eat_word("EXECUTE") {
            let (text, using) = self.dynamic(SEMICOLON_OR_USING, COMMA_OR_SEMICOLON)?;
            return Ok(StmtKind::ReturnExecute { text, using });
        }
        Ok(StmtKind::ReturnQuery(Box::new(self.row_statement()?)))
    }
}
