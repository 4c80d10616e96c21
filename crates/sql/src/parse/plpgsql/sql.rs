//! The SQL inside PL/pgSQL: where it ends, and what is cut out of it.
//!
//! An expression ends at the first of its possible followers that stands outside parentheses and outside CASE ... END.
//! (PostgreSQL minds only the parentheses and takes the THEN of a bare CASE for that of the IF; we are kinder.)

use std::ops::Range;
use std::sync::Arc;

use super::{Parser, Result};
use crate::ast::plpgsql::{Into, StmtKind, Target};
use crate::ast::{Expr, ExprKind, Statement};
use crate::error::Diagnostic;
use crate::parse::{self, Fragment};

/// What may follow a piece of SQL: words or symbols, and how a message names them if none of them is found.
#[derive(Clone, Copy)]
pub(super) struct Followers {
    any_of: &'static [&'static str],
    expected: &'static str,
    noun: &'static str,
}

impl Followers {
    /// Behind an expression.
    pub(super) const fn of_expression(any_of: &'static [&'static str], expected: &'static str) -> Followers {
        Followers { any_of, expected, noun: "SQL expression" }
    }

    /// Behind a query or statement.
    pub(super) const fn of_statement(any_of: &'static [&'static str], expected: &'static str) -> Followers {
        Followers { any_of, expected, noun: "SQL statement" }
    }
}

/// `;` behind an expression.
pub(super) const SEMICOLON: Followers = Followers::of_expression(&[";"], ";");
/// `,` or `;`: the elements of a list at the end of a statement.
pub(super) const COMMA_OR_SEMICOLON: Followers = Followers::of_expression(&[",", ";"], ", or ;");
/// `;` or USING: behind a text that is executed.
pub(super) const SEMICOLON_OR_USING: Followers = Followers::of_expression(&[";", "USING"], ";");
const STATEMENT_END: Followers = Followers::of_statement(&[";"], ";");

const BRACKET: Followers = Followers::of_expression(&["]"], "]");

/// What is open while we look for the end.
#[derive(PartialEq)]
enum Open {
    Parenthesis,
    Case,
}

impl Parser<'_> {
    /// Walks to the first of `followers`, which stays unread, and returns the tokens passed.
    pub(super) fn scan(&mut self, followers: Followers) -> Result<Range<usize>> {
        let start = self.tokens.position();
        let mut open = Vec::new();
        loop {
            if open.is_empty() && self.at_any(followers.any_of) {
                break;
            }
            if self.tokens.is_done() || self.tokens.at_symbol(";") {
                return Err(self.no_follower(&open, followers));
            }
            self.track(&mut open)?;
            self.tokens.advance();
        }
        match self.tokens.position() {
            end if end == start && followers.noun == "SQL expression" => Err(self.tokens.near("missing expression")),
            end if end == start => Err(self.tokens.near("missing SQL statement")),
            end => Ok(start..end),
        }
    }

    fn at_any(&self, followers: &[&str]) -> bool {
        followers
            .iter()
            .any(|f| if f.starts_with(char::is_alphabetic) { self.at_keyword(f) } else { self.tokens.at_symbol(f) })
    }

    /// The word as a keyword: not as a field behind a dot, nor as a label behind AS.
    fn at_keyword(&self, word: &str) -> bool {
        let is_label = self
            .tokens
            .position()
            .checked_sub(1)
            .is_some_and(|before| self.tokens.is_symbol(before, ".") || self.tokens.is_word(before, "AS"));
        self.tokens.at_word(word) && !is_label
    }

    fn track(&self, open: &mut Vec<Open>) -> Result<()> {
        if self.tokens.at_symbol("(") || self.tokens.at_symbol("[") {
            open.push(Open::Parenthesis);
        } else if self.tokens.at_symbol(")") || self.tokens.at_symbol("]") {
            if open.pop() != Some(Open::Parenthesis) {
                return Err(self.tokens.near("mismatched parentheses"));
            }
        } else if self.at_keyword("CASE") {
            open.push(Open::Case);
        } else if self.at_keyword("END") {
            open.pop_if(|last| *last == Open::Case);
        }
        Ok(())
    }

    fn no_follower(&self, open: &[Open], followers: Followers) -> Diagnostic {
        if open.contains(&Open::Parenthesis) {
            return self.tokens.near("mismatched parentheses");
        }
        let message = format!("missing \"{}\" at end of {}", followers.expected, followers.noun);
        Diagnostic::syntax(self.tokens.here(), message)
    }

    /// An expression up to one of `followers`.
    pub(super) fn expression(&mut self, followers: Followers) -> Result<Expr> {
        let range = self.scan(followers)?;
        parse::expr(self.tokens.cut(range))
    }

    /// A list of expressions, from here through `,` to something else.
    pub(super) fn expressions(&mut self, followers: Followers) -> Result<Vec<Expr>> {
        let mut list = vec![self.expression(followers)?];
        while self.tokens.eat_symbol(",") {
            list.push(self.expression(followers)?);
        }
        Ok(list)
    }

    /// A query, or another statement that returns rows, up to the end of the statement.
    pub(super) fn row_statement(&mut self) -> Result<Statement> {
        let range = self.scan(STATEMENT_END)?;
        self.no_into(range.clone())?;
        parse::statement(self.tokens.cut(range))
    }

    /// A text to be executed and what it uses, EXECUTE being read.
    pub(super) fn dynamic(&mut self, text_ends: Followers, arg_ends: Followers) -> Result<(Expr, Vec<Expr>)> {
        let text = self.expression(text_ends)?;
        let using = if self.tokens.eat_word("USING") { self.expressions(arg_ends)? } else { Vec::new() };
        Ok((text, using))
    }

    /// `PERFORM ...`: the same text with SELECT in the place of PERFORM is a query.
    pub(super) fn perform(&mut self) -> Result<StmtKind> {
        const SELECT: &str = "SELECT ";
        let start = self.tokens.position();
        self.tokens.expect_word("PERFORM")?;
        let end = self.scan(STATEMENT_END)?.end;
        self.no_into(start..end)?;
        let fragment = self.tokens.cut(start..end);
        let text = format!("{SELECT}{}", fragment.text.get(SELECT.len()..).unwrap_or(""));
        Ok(StmtKind::Perform(Box::new(parse::query(Fragment { text: &text, offset: fragment.offset })?)))
    }

    /// Any statement of SQL, without its INTO.
    pub(super) fn sql_statement(&mut self) -> Result<StmtKind> {
        let start = self.tokens.position();
        while !self.tokens.is_done() && !self.tokens.at_symbol(";") {
            self.tokens.advance();
        }
        if self.tokens.is_done() {
            return Err(self.tokens.near("unexpected end of function definition"));
        }
        let range = start..self.tokens.position();
        let whole = self.tokens.cut(range.clone());
        let Some((into, clause)) = self.take_into(range)? else {
            return Ok(StmtKind::Sql(Box::new(parse::statement(whole)?), None));
        };
        let text = self.blanked(whole, clause);
        let statement = parse::statement(Fragment { text: &text, offset: whole.offset })?;
        Ok(StmtKind::Sql(Box::new(statement), Some(into)))
    }

    /// The INTO clause among these tokens and where it stands, the cursor being left where it was.
    fn take_into(&mut self, range: Range<usize>) -> Result<Option<(Into, Range<usize>)>> {
        let end = range.end;
        let Some(start) = self.find_into(range.clone()) else { return Ok(None) };
        self.tokens.set_position(start + 1);
        let into = self.strict_targets()?;
        let clause = start..self.tokens.position();
        if let Some(second) = self.find_into(clause.end..end) {
            self.tokens.set_position(second);
            return Err(self.tokens.near("INTO specified more than once"));
        }
        self.tokens.set_position(end);
        Ok(Some((into, clause)))
    }

    /// The first INTO that is not that of INSERT INTO or MERGE INTO.
    fn find_into(&self, mut range: Range<usize>) -> Option<usize> {
        range.find(|&at| {
            let before = at.checked_sub(1);
            let of_table = before.is_some_and(|b| self.tokens.is_word(b, "INSERT") || self.tokens.is_word(b, "MERGE"));
            self.tokens.is_word(at, "INTO") && !of_table
        })
    }

    /// Queries whose rows go elsewhere (a loop, the caller, nowhere) have no INTO.
    pub(super) fn no_into(&mut self, range: Range<usize>) -> Result<()> {
        match self.find_into(range) {
            Some(at) => {
                self.tokens.set_position(at);
                Err(self.tokens.unexpected())
            }
            None => Ok(()),
        }
    }

    /// `whole` with the tokens of `clause` turned into as many blanks.
    fn blanked(&self, whole: Fragment<'_>, clause: Range<usize>) -> String {
        let clause = self.tokens.cut(clause);
        let from = (clause.offset - whole.offset) as usize;
        let to = from + clause.text.len();
        let (before, after) = (whole.text.get(..from).unwrap_or(""), whole.text.get(to..).unwrap_or(""));
        format!("{before}{:blanks$}{after}", "", blanks = to - from)
    }

    /// `[STRICT] a, r.b`, behind INTO.
    pub(super) fn strict_targets(&mut self) -> Result<Into> {
        let strict = self.tokens.eat_word("STRICT");
        Ok(Into { strict, targets: self.targets()? })
    }

    pub(super) fn targets(&mut self) -> Result<Vec<Target>> {
        let mut targets = vec![self.target()?];
        while self.tokens.eat_symbol(",") {
            targets.push(self.target()?);
        }
        Ok(targets)
    }

    /// `x`, `r.field`, `$1`
    pub(super) fn target(&mut self) -> Result<Target> {
        let start = self.tokens.position();
        let first = match self.tokens.is_parameter(start) {
            true => self.tokens.any_ident()?,
            false => self.tokens.ident()?,
        };
        let mut path = vec![first];
        while self.tokens.eat_symbol(".") {
            path.push(self.tokens.any_ident()?);
        }
        let mut subscripts = Vec::new();
        while self.tokens.eat_symbol("[") {
            subscripts.push(self.expression(BRACKET)?);
            self.tokens.expect_symbol("]")?;
        }
        Ok(Target { path, subscripts, span: self.tokens.span_from(start) })
    }

    /// Does an assignment start here: a dotted name with `:=`, `=` or `[` behind it?
    pub(super) fn at_assignment(&self) -> bool {
        let mut at = self.tokens.position();
        if !self.tokens.is_name(at) && !self.tokens.is_parameter(at) {
            return false;
        }
        at += 1;
        while self.tokens.is_symbol(at, ".") {
            at += 2;
        }
        [":=", "=", "["].iter().any(|symbol| self.tokens.is_symbol(at, symbol))
    }

    /// `target := expr`, also with `=`.
    pub(super) fn assignment(&mut self) -> Result<StmtKind> {
        let target = self.target()?;
        if !self.tokens.eat_assign() {
            return Err(self.tokens.unexpected());
        }
        Ok(StmtKind::Assign(target, self.expression(SEMICOLON)?))
    }

    /// A string literal, if one stands here; the SQL parser knows the escapes.
    pub(super) fn string(&mut self) -> Result<Option<Arc<str>>> {
        let start = self.tokens.position();
        while self.tokens.is_string(self.tokens.position()) {
            self.tokens.advance();
        }
        if start == self.tokens.position() {
            return Ok(None);
        }
        match parse::expr(self.tokens.cut(start..self.tokens.position()))?.kind {
            ExprKind::String(text) => Ok(Some(text)),
            _ => {
                self.tokens.set_position(start);
                Err(self.tokens.unexpected())
            }
        }
    }
}
