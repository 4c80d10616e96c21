//! Windows: OVER, WINDOW, and frames.

use squawk_syntax::ast::{self as cst, AstNode};

use super::{Lower, Result, children};
use crate::ast::{Frame, FrameBound, FrameExclude, FrameUnits, Ident, Over, WindowSpec};
use crate::error::{Diagnostic, Span, SqlState};

impl Lower {
    /// What follows OVER.
    pub(super) fn over(&self, clause: &cst::OverClause) -> Result<Over> {
        match self.need(clause.over_target(), clause)? {
            cst::OverTarget::WindowRef(name) => Ok(Over::Name(self.ident(&name))),
            cst::OverTarget::OverWindowSpec(spec) => {
                let span = self.span(spec.syntax());
                Ok(Over::Spec(Box::new(self.window_spec(spec.window_spec(), span)?)))
            }
        }
    }

    /// `WINDOW w AS (...), ...`
    pub(super) fn windows(&self, clause: &cst::WindowClause) -> Result<Vec<(Ident, WindowSpec)>> {
        let window = |def: cst::WindowDef| {
            let name = self.ident(&self.need(def.window(), &def)?);
            let span = self.span(def.syntax());
            Ok((name, self.window_spec(def.window_spec(), span)?))
        };
        clause.window_defs().map(window).collect()
    }

    fn window_spec(&self, spec: Option<cst::WindowSpec>, span: Span) -> Result<WindowSpec> {
        let Some(spec) = spec else {
            return Ok(WindowSpec { base: None, partition_by: Vec::new(), order_by: Vec::new(), frame: None, span });
        };
        Ok(WindowSpec {
            base: spec.window_ref().map(|name| self.ident(&name)),
            partition_by: spec.partition_by_clause().map_or(Ok(Vec::new()), |clause| self.exprs(&clause))?,
            order_by: spec.order_by_clause().map_or(Ok(Vec::new()), |clause| self.order_by(&clause))?,
            frame: spec.frame_clause().map(|clause| self.frame(&clause)).transpose()?,
            span,
        })
    }

    fn frame(&self, clause: &cst::FrameClause) -> Result<Frame> {
        let span = self.span(clause.syntax());
        let units = match self.need(clause.frame_units(), clause)? {
            cst::FrameUnits::FrameRows(_) => FrameUnits::Rows,
            cst::FrameUnits::FrameRange(_) => FrameUnits::Range,
            cst::FrameUnits::FrameGroups(_) => FrameUnits::Groups,
        };
        let (start, end) = match self.need(clause.frame_extent(), clause)? {
            cst::FrameExtent::FrameBound(bound) => (self.bound(&bound)?, FrameBound::CurrentRow),
            cst::FrameExtent::FrameBetween(between) => {
                let mut bounds = children::<cst::FrameBound>(&between);
                let (start, end) = (bounds.next(), bounds.next());
                (self.bound(&self.need(start, &between)?)?, self.bound(&self.need(end, &between)?)?)
            }
        };
        refuse_bounds(&start, &end, span)?;
        let exclude = match clause.frame_exclude().and_then(|e| e.frame_exclude_target()) {
            None | Some(cst::FrameExcludeTarget::NoOthers(_)) => FrameExclude::NoOthers,
            Some(cst::FrameExcludeTarget::CurrentRow(_)) => FrameExclude::CurrentRow,
            Some(cst::FrameExcludeTarget::Group(_)) => FrameExclude::Group,
            Some(cst::FrameExcludeTarget::Ties(_)) => FrameExclude::Ties,
        };
        Ok(Frame { units, start, end, exclude, span })
    }

    fn bound(&self, bound: &cst::FrameBound) -> Result<FrameBound> {
        Ok(match bound {
            cst::FrameBound::UnboundedPreceding(_) => FrameBound::UnboundedPreceding,
            cst::FrameBound::UnboundedFollowing(_) => FrameBound::UnboundedFollowing,
            cst::FrameBound::CurrentRow(_) => FrameBound::CurrentRow,
            cst::FrameBound::ExprPreceding(offset) => FrameBound::Preceding(self.sole(offset)?),
            cst::FrameBound::ExprFollowing(offset) => FrameBound::Following(self.sole(offset)?),
        })
    }
}

/// What no frame can be, in the words of PostgreSQL's grammar.
fn refuse_bounds(start: &FrameBound, end: &FrameBound, span: Span) -> Result<()> {
    use FrameBound as B;
    let message = match (start, end) {
        (B::UnboundedFollowing, _) => "frame start cannot be UNBOUNDED FOLLOWING",
        (_, B::UnboundedPreceding) => "frame end cannot be UNBOUNDED PRECEDING",
        (B::CurrentRow, B::Preceding(_)) => "frame starting from current row cannot have preceding rows",
        (B::Following(_), B::CurrentRow | B::Preceding(_)) => {
            "frame starting from following row cannot have preceding rows"
        }
        _ => return Ok(()),
    };
    Err(Diagnostic::new(span, SqlState(*b"42P20"), message))
}
