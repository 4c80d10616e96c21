//! DECLARE, FETCH, MOVE and CLOSE.

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result};
use crate::ast::{DeclareCursor, Fetch, FetchDirection, Ident};
use crate::error::Diagnostic;
use crate::refused::Construct;

impl Lower {
    pub(super) fn declare_cursor(&self, declare: &cst::Declare) -> Result<DeclareCursor> {
        self.refuse_token(declare.binary_token(), Construct::BINARY_CURSOR)?;
        let query = self.query(&self.need(declare.query(), declare)?)?;
        Ok(DeclareCursor {
            name: self.ident(&self.need(declare.cursor(), declare)?),
            scroll: declare.cursor_scroll().map(|scroll| matches!(scroll, cst::CursorScroll::Scroll(_))),
            hold: matches!(declare.cursor_hold(), Some(cst::CursorHold::WithHold(_))),
            query,
        })
    }

    pub(super) fn fetch(&self, fetch: &cst::Fetch) -> Result<Fetch> {
        let cursor = self.ident(&self.need(fetch.cursor_ref(), fetch)?);
        Ok(Fetch { cursor, direction: self.direction(fetch.cursor_action())?, moves: false })
    }

    pub(super) fn move_cursor(&self, moves: &cst::Move) -> Result<Fetch> {
        let cursor = self.ident(&self.need(moves.cursor_ref(), moves)?);
        Ok(Fetch { cursor, direction: self.direction(moves.cursor_action())?, moves: true })
    }

    pub(super) fn close_cursor(&self, close: &cst::Close) -> Option<Ident> {
        close.cursor_ref().map(|cursor| self.ident(&cursor))
    }

    fn direction(&self, action: Option<cst::CursorAction>) -> Result<FetchDirection> {
        use cst::CursorAction as A;
        let count = |expr: Option<cst::Expr>, all: bool| match expr {
            _ if all => Ok(i64::MAX),
            Some(expr) => self.count(&expr),
            None => Ok(1),
        };
        Ok(match action {
            None | Some(A::Next(_)) => FetchDirection::Forward(1),
            Some(A::Prior(_)) => FetchDirection::Backward(1),
            Some(A::First(_)) => FetchDirection::Absolute(1),
            Some(A::Last(_)) => FetchDirection::Absolute(-1),
            Some(A::All(_)) => FetchDirection::Forward(i64::MAX),
            Some(A::Absolute(a)) => FetchDirection::Absolute(self.count(&self.need(a.expr(), &a)?)?),
            Some(A::Relative(r)) => FetchDirection::Relative(self.count(&self.need(r.expr(), &r)?)?),
            Some(A::Forward(f)) => signed(count(f.expr(), f.all_token().is_some())?),
            Some(A::Backward(b)) => match count(b.expr(), b.all_token().is_some())? {
                n if n < 0 => FetchDirection::Forward(-n),
                n => FetchDirection::Backward(n),
            },
            Some(A::Expr(expr)) => signed(self.count(&expr)?),
        })
    }

    fn count(&self, expr: &cst::Expr) -> Result<i64> {
        let text: String = expr.syntax().text().to_string().split_whitespace().collect();
        text.trim_start_matches('+')
            .parse()
            .map_err(|_| Diagnostic::syntax(self.span(expr.syntax()), format!("syntax error at or near \"{text}\"")))
    }
}

fn signed(n: i64) -> FetchDirection {
    if n < 0 { FetchDirection::Backward(-n) } else { FetchDirection::Forward(n) }
}
