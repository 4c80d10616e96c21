//! PL/pgSQL text to [`crate::ast::plpgsql`].
//!
//! The language is two languages. Its own half (blocks, loops, RAISE) is small and regular: one function per construct,
//! over squawk's tokens. The SQL half is not read here at all. Like PostgreSQL's own parser we walk over an expression
//! to the word that must follow it (THEN, LOOP, `;`), cut it out, and hand it to the SQL parser:
//!
//! ```text
//!   IF  balance < amount  THEN      SELECT balance  INTO STRICT b  FROM account WHERE id = p
//!       └── expr ──────┘            SELECT balance                 FROM account WHERE id = p
//!                                   └── statement, INTO blanked out so that spans stay right ┘
//! ```
//!
//! Messages are PostgreSQL's. What needs to know the variables (is this name one? does the label exist?) is left to
//! the binder.

mod command;
mod control;
mod cursor;
mod declare;
mod raise;
mod sql;
#[cfg(test)]
mod tests;
mod token;

use self::token::Tokens;
use super::Fragment;
use crate::ast::Ident;
use crate::ast::plpgsql::{Block, Body, Condition, Handler, Stmt, StmtKind};
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;

/// Parses the text between the quotes of a routine or DO block.
pub(crate) fn body(fragment: Fragment<'_>) -> Result<Body> {
    let mut parser = Parser { tokens: Tokens::new(fragment)?, depth: 0 };
    let block = parser.outermost()?;
    let span = Span::new(0, fragment.text.len()).shifted(fragment.offset);
    Ok(Body { block, text: fragment.text.into(), span })
}

type Result<T> = std::result::Result<T, Diagnostic>;

/// Blocks within blocks within blocks: deeper than this is refused, so that the stack is safe.
const DEPTH_MAX: u32 = 200;

/// The words that end a list of statements.
const LIST_ENDS: [&str; 6] = ["END", "ELSE", "ELSIF", "ELSEIF", "WHEN", "EXCEPTION"];

/// The recursive descent; its methods are spread over this folder by topic.
struct Parser<'a> {
    tokens: Tokens<'a>,
    depth: u32,
}

impl Parser<'_> {
    /// The whole text: one block, and nothing behind it.
    fn outermost(&mut self) -> Result<Block> {
        if self.tokens.at_symbol("#") {
            return Err(Diagnostic::unsupported(self.tokens.here(), Construct::COMPILER_OPTION));
        }
        let start = self.tokens.position();
        let label = self.label()?;
        let block = self.block(start, label)?;
        self.tokens.eat_symbol(";");
        match self.tokens.is_done() {
            true => Ok(block),
            false => Err(self.tokens.unexpected()),
        }
    }

    /// `[DECLARE ...] BEGIN ... [EXCEPTION ...] END [label]`, its `<<label>>` already read.
    fn block(&mut self, start: usize, label: Option<Ident>) -> Result<Block> {
        let declare = self.tokens.at_word("DECLARE").then(|| self.tokens.here());
        let declarations = self.declarations()?;
        let begin = self.tokens.here();
        self.tokens.expect_word("BEGIN")?;
        let body = self.statements()?;
        let handlers = self.handlers()?;
        self.tokens.expect_word("END")?;
        self.end_label(label.as_ref())?;
        Ok(Block { label, declare, declarations, begin, body, handlers, span: self.tokens.span_from(start) })
    }

    fn handlers(&mut self) -> Result<Vec<Handler>> {
        let mut handlers = Vec::new();
        if !self.tokens.eat_word("EXCEPTION") {
            return Ok(handlers);
        }
        loop {
            let start = self.tokens.position();
            self.tokens.expect_word("WHEN")?;
            let mut conditions = vec![self.condition()?];
            while self.tokens.eat_word("OR") {
                conditions.push(self.condition()?);
            }
            self.tokens.expect_word("THEN")?;
            let body = self.statements()?;
            handlers.push(Handler { conditions, body, span: self.tokens.span_from(start) });
            if !self.tokens.at_word("WHEN") {
                return Ok(handlers);
            }
        }
    }

    /// `others`, `unique_violation` or `SQLSTATE '23505'`.
    fn condition(&mut self) -> Result<Condition> {
        if self.tokens.eat_word("OTHERS") {
            return Ok(Condition::Others);
        }
        if !self.tokens.eat_word("SQLSTATE") {
            return Ok(Condition::Named(self.tokens.ident()?));
        }
        let start = self.tokens.position();
        let Some(code) = self.string()? else { return Err(self.tokens.unexpected()) };
        let span = self.tokens.span_from(start);
        match SqlState::parse(&code) {
            Some(_) => Ok(Condition::State(code, span)),
            None => Err(Diagnostic::syntax(span, format!("invalid SQLSTATE code at or near \"{code}\""))),
        }
    }

    /// Statements up to END, ELSE, WHEN and the like, which stay unread.
    fn statements(&mut self) -> Result<Vec<Stmt>> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.tokens.error_here(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
        }
        let mut statements = Vec::new();
        while !self.tokens.is_done() && !self.at_list_end() {
            statements.push(self.statement()?);
        }
        self.depth -= 1;
        Ok(statements)
    }

    fn at_list_end(&self) -> bool {
        LIST_ENDS.iter().any(|word| self.tokens.at_word(word)) && !self.at_assignment()
    }

    /// One statement and its semicolon.
    fn statement(&mut self) -> Result<Stmt> {
        let start = self.tokens.position();
        let label = self.label()?;
        let kind = match label {
            Some(label) => self.labelled(start, label)?,
            None => self.unlabelled(start)?,
        };
        let span = self.tokens.span_from(start);
        self.tokens.expect_symbol(";")?;
        Ok(Stmt { kind, span })
    }

    /// A block or a loop: nothing else may carry a label.
    fn labelled(&mut self, start: usize, label: Ident) -> Result<StmtKind> {
        match self.tokens.keyword().as_str() {
            "DECLARE" | "BEGIN" => Ok(StmtKind::Block(self.block(start, Some(label))?)),
            "LOOP" => self.simple_loop(Some(label)),
            "WHILE" => self.while_loop(Some(label)),
            "FOR" => self.for_loop(Some(label)),
            "FOREACH" => self.foreach(Some(label)),
            _ => Err(self.tokens.unexpected()),
        }
    }

    fn unlabelled(&mut self, start: usize) -> Result<StmtKind> {
        // Most of PL/pgSQL's words are not reserved: `raise := 1` assigns to a variable of that name.
        if self.at_assignment() {
            return self.assignment();
        }
        let word = self.tokens.keyword();
        match word.as_str() {
            "DECLARE" | "BEGIN" => Ok(StmtKind::Block(self.block(start, None)?)),
            "LOOP" => self.simple_loop(None),
            "WHILE" => self.while_loop(None),
            "FOR" => self.for_loop(None),
            "IF" => self.if_statement(),
            "CASE" => self.case_statement(),
            "EXIT" | "CONTINUE" => self.exit(),
            "RETURN" => self.return_statement(),
            "RAISE" => self.raise(),
            "ASSERT" => self.assert(),
            "PERFORM" => self.perform(),
            "EXECUTE" => self.execute(),
            "GET" => self.get_diagnostics(),
            "NULL" => {
                self.tokens.expect_word("NULL")?;
                Ok(StmtKind::Null)
            }
            "FOREACH" => self.foreach(None),
            "OPEN" => self.open(),
            "FETCH" | "MOVE" => self.fetch(),
            "CLOSE" => self.close(),
            _ if self.tokens.at_any_word() => self.sql_statement(),
            _ => Err(self.tokens.unexpected()),
        }
    }

    /// `<<label>>`, if there is one.
    fn label(&mut self) -> Result<Option<Ident>> {
        if !self.tokens.eat_symbol("<<") {
            return Ok(None);
        }
        let label = self.tokens.ident()?;
        self.tokens.expect_symbol(">>")?;
        Ok(Some(label))
    }

    /// The label repeated behind END, which must be the one at the top.
    fn end_label(&mut self, label: Option<&Ident>) -> Result<()> {
        if self.tokens.is_done() || self.tokens.at_symbol(";") {
            return Ok(());
        }
        let end = self.tokens.ident()?;
        match label {
            Some(label) if label.name == end.name => Ok(()),
            Some(label) => {
                let message = format!("end label \"{}\" differs from block's label \"{}\"", end.name, label.name);
                Err(Diagnostic::syntax(end.span, message))
            }
            None => {
                let message = format!("end label \"{}\" specified for unlabeled block", end.name);
                Err(Diagnostic::syntax(end.span, message))
            }
        }
    }
}
