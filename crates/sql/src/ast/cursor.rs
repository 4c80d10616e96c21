//! Cursors of SQL as written.

use super::*;

/// `DECLARE name [SCROLL] CURSOR [WITH HOLD] FOR query`
#[derive(Clone, Debug)]
pub struct DeclareCursor {
    /// Its name.
    pub name: Ident,
    /// `SCROLL` or `NO SCROLL`, if said.
    pub scroll: Option<bool>,
    /// `WITH HOLD`
    pub hold: bool,
    /// What it runs over.
    pub query: Query,
}

/// `FETCH` or `MOVE`
#[derive(Clone, Debug)]
pub struct Fetch {
    /// The cursor.
    pub cursor: Ident,
    /// Where to.
    pub direction: FetchDirection,
    /// `MOVE`: the rows are not shown.
    pub moves: bool,
}

/// Which rows FETCH takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FetchDirection {
    /// So many rows on; `i64::MAX` is all of them.
    Forward(i64),
    /// So many rows back; `i64::MAX` is all of them.
    Backward(i64),
    /// The n-th row, from the end if negative.
    Absolute(i64),
    /// The n-th row from here.
    Relative(i64),
}
