//! Operands: everything in an expression that is not an operator.

use squawk_syntax::ast::{self as cst, AstNode};
use squawk_syntax::{SyntaxElement, SyntaxKind as K, SyntaxNode};

use super::operators::{Run, runs, runs_below};
use super::{Lower, Result, child, children};
use crate::ast::{Expr, ExprKind, Ident, Query, Subscript, TypeName};
use crate::error::{Diagnostic, Span};
use crate::refused::Construct;

/// Keywords that are function calls without parentheses.
const BARE_FUNCTIONS: &[K] = &[
    K::CURRENT_CATALOG_KW,
    K::CURRENT_DATE_KW,
    K::CURRENT_ROLE_KW,
    K::CURRENT_SCHEMA_KW,
    K::CURRENT_TIME_KW,
    K::CURRENT_TIMESTAMP_KW,
    K::CURRENT_USER_KW,
    K::LOCALTIME_KW,
    K::LOCALTIMESTAMP_KW,
    K::SESSION_USER_KW,
    K::SYSTEM_USER_KW,
    K::USER_KW,
];

impl Lower {
    /// One operand of an expression.
    pub(super) fn operand(&self, node: &SyntaxNode) -> Result<Expr> {
        let span = self.span(node);
        let Some(expr) = cst::Expr::cast(node.clone()) else {
            return Err(Diagnostic::syntax(span, "syntax error at or near \":\""));
        };
        match expr {
            cst::Expr::Literal(literal) => self.literal(&literal),
            cst::Expr::NameRef(name) => Ok(self.name_ref(&name)),
            cst::Expr::FieldExpr(field) => self.field(&field),
            cst::Expr::ParenExpr(paren) => self.paren(&paren),
            cst::Expr::TupleExpr(tuple) => Ok(Expr { kind: ExprKind::Row(self.exprs(&tuple)?), span }),
            cst::Expr::CaseExpr(case) => self.case(&case),
            cst::Expr::CallExpr(call) => self.call(&call),
            cst::Expr::CastExpr(cast) => self.cast_call(&cast),
            cst::Expr::ArrayExpr(array) => self.array(&array),
            cst::Expr::IndexExpr(index) => self.subscripted(index.syntax()),
            cst::Expr::SliceExpr(slice) => self.subscripted(slice.syntax()),
            composite => self.run(&vec![composite.syntax().clone()]),
        }
    }

    /// `ARRAY[a, b]`, `ARRAY(SELECT ...)`, and `[a, b]` inside the former.
    fn array(&self, array: &cst::ArrayExpr) -> Result<Expr> {
        let span = self.span(array.syntax());
        let kind = match array.select_variant() {
            Some(query) => ExprKind::ArrayQuery(Box::new(self.query(&query)?)),
            None => ExprKind::Array(self.exprs(array)?),
        };
        Ok(Expr { kind, span })
    }

    /// `a[1]`, `a[1:2]`, one behind the other.
    fn subscripted(&self, node: &SyntaxNode) -> Result<Expr> {
        let span = self.span(node);
        let missing = || Diagnostic::syntax(span, "syntax error: an operand is missing");
        let base = node.first_child().ok_or_else(missing)?;
        let subscript = self.subscript_of(node)?;
        let kind = match self.operand(&base)? {
            // Parentheses make no difference between subscripts of one array.
            Expr { kind: ExprKind::Subscript(array, mut subscripts), .. } if !is_paren(&base) => {
                subscripts.push(subscript);
                ExprKind::Subscript(array, subscripts)
            }
            array => ExprKind::Subscript(Box::new(array), vec![subscript]),
        };
        Ok(Expr { kind, span })
    }

    /// What stands in the last brackets of a node.
    pub(super) fn subscript_of(&self, node: &SyntaxNode) -> Result<Subscript> {
        let (mut parts, mut inside, mut colon) = ([Vec::new(), Vec::new()], false, false);
        for element in node.children_with_tokens() {
            match element.kind() {
                K::L_BRACK => inside = true,
                K::COLON if inside => colon = true,
                _ => match element {
                    SyntaxElement::Node(part) if inside => parts[usize::from(colon)].push(part),
                    _ => {}
                },
            }
        }
        let bound = |run: &Run| if run.is_empty() { Ok(None) } else { self.run(run).map(Some) };
        let [first, second] = &parts;
        match (bound(first)?, bound(second)?, colon) {
            (Some(at), _, false) => Ok(Subscript::At(at)),
            (from, to, true) => Ok(Subscript::Slice(from, to)),
            (None, _, false) => Err(Diagnostic::syntax(self.span(node), "syntax error at or near \"]\"")),
        }
    }

    fn name_ref(&self, name: &cst::NameRef) -> Expr {
        let ident = self.ident(name);
        let span = ident.span;
        let bare = name.syntax().children_with_tokens().any(|t| BARE_FUNCTIONS.contains(&t.kind()));
        let kind = if bare { super::call::plain(ident, Vec::new()) } else { ExprKind::Name(vec![ident]) };
        Expr { kind, span }
    }

    /// `a.b`, `s.t.c`, `t.*`, `(row).field`.
    fn field(&self, field: &cst::FieldExpr) -> Result<Expr> {
        let span = self.span(field.syntax());
        let base = self.need(field.base(), field)?;
        if field.star_token().is_some() {
            if matches!(base, cst::Expr::ParenExpr(_)) {
                return Err(self.unsupported(field, Construct::FIELDS_OF_ROW));
            }
            return match self.operand(base.syntax())?.kind {
                ExprKind::Name(mut path) if path.len() <= 2 => {
                    let table = self.need(path.pop(), field)?;
                    Ok(Expr { kind: ExprKind::WholeRow(table), span })
                }
                _ => Err(self.unsupported(field, Construct::FIELDS_OF_ROW)),
            };
        }
        let name = self.ident(&self.need(field.field(), field)?);
        let base = if matches!(base, cst::Expr::ParenExpr(_)) {
            self.operand(base.syntax())?
        } else {
            match self.operand(base.syntax())? {
                Expr { kind: ExprKind::Name(mut path), .. } => {
                    path.push(name);
                    if path.len() == 3 && path.first().is_some_and(|schema| &*schema.name == "public") {
                        path.remove(0);
                    }
                    return Ok(Expr { kind: ExprKind::Name(path), span });
                }
                other => other,
            }
        };
        Ok(Expr { kind: ExprKind::Field(Box::new(base), name), span })
    }

    /// `(expr)` or `(query)`.
    fn paren(&self, paren: &cst::ParenExpr) -> Result<Expr> {
        let span = self.span(paren.syntax());
        if let Some(query) = child::<cst::SelectVariant>(paren) {
            return Ok(Expr { kind: ExprKind::Subquery(Box::new(self.query(&query)?)), span });
        }
        self.refuse(child::<cst::FromListItem>(paren), Construct::JOIN_IN_AN_EXPRESSION)?;
        Ok(Expr { span, ..self.sole(paren)? })
    }

    fn case(&self, case: &cst::CaseExpr) -> Result<Expr> {
        let operand = match runs(case).first() {
            Some(run) => Some(Box::new(self.run(run)?)),
            None => None,
        };
        let list = self.need(case.when_clause_list(), case)?;
        let mut whens = Vec::new();
        for when in children::<cst::WhenClause>(&list) {
            let mut pair = self.exprs(&when)?.into_iter();
            let condition = self.need(pair.next(), &when)?;
            whens.push((condition, self.need(pair.next(), &when)?));
        }
        let otherwise = match case.else_clause() {
            Some(clause) => Some(Box::new(self.sole(&clause)?)),
            None => None,
        };
        Ok(Expr { kind: ExprKind::Case { operand, whens, otherwise }, span: self.span(case.syntax()) })
    }

    /// `CAST(a AS t)`, `t 'literal'`.
    fn cast_call(&self, cast: &cst::CastExpr) -> Result<Expr> {
        let span = self.span(cast.syntax());
        self.refuse_token(cast.treat_token(), Construct::TREAT)?;
        let ty = self.need(cast.ty(), cast)?;
        let value = self.sole(cast)?;
        if let Some(qualifier) = cast.interval_qualifier() {
            let value = self.qualified_interval(value, &qualifier)?;
            return Ok(Expr {
                kind: ExprKind::Cast(Box::new(value), TypeName::Known(crate::Type::Interval, span)),
                span,
            });
        }
        self.cast(value, &ty, span)
    }

    /// `INTERVAL '2' DAY`: a bare number is of that unit. What would cut fields off is refused.
    fn qualified_interval(&self, value: Expr, qualifier: &cst::IntervalQualifier) -> Result<Expr> {
        let words = qualifier.syntax().text().to_string().to_ascii_lowercase();
        let words: Vec<&str> = words.split_ascii_whitespace().collect();
        let ExprKind::String(text) = &value.kind else {
            return Err(self.unsupported(qualifier, Construct::INTERVAL_QUALIFIER_HERE));
        };
        let number = text.trim();
        let is_number =
            number.parse::<f64>().is_ok() && number.bytes().all(|b| b.is_ascii_digit() || b"+-.".contains(&b));
        let kind = match words[..] {
            [unit] if is_number => ExprKind::String(format!("{number} {unit}").into()),
            ["year", "to", "month"] if !is_number => value.kind.clone(),
            _ => return Err(self.unsupported(qualifier, Construct::INTERVAL_QUALIFIER_HERE)),
        };
        Ok(Expr { kind, ..value })
    }

    /// `value::ty`. A string cast to `regclass`, as dumps write in `nextval('s'::regclass)`, stays a string.
    pub(super) fn cast(&self, value: Expr, ty: &cst::Type, span: Span) -> Result<Expr> {
        if matches!(value.kind, ExprKind::String(_)) && ty.syntax().text().to_string().eq_ignore_ascii_case("regclass")
        {
            return Ok(Expr { span, ..value });
        }
        let ty: TypeName = self.ty(ty)?;
        Ok(Expr { kind: ExprKind::Cast(Box::new(value), ty), span })
    }

    /// What follows IN.
    pub(super) fn membership(&self, expr: Box<Expr>, node: &SyntaxNode, negated: bool) -> Result<ExprKind> {
        let list = match cst::Expr::cast(node.clone()) {
            Some(cst::Expr::TupleExpr(tuple)) if tuple.row_token().is_none() => self.exprs(&tuple)?,
            Some(cst::Expr::ParenExpr(paren)) => match self.paren(&paren)? {
                Expr { kind: ExprKind::Subquery(query), .. } if is_query(&paren) => {
                    return Ok(ExprKind::InQuery { expr, query, negated });
                }
                one => vec![one],
            },
            _ => {
                let shown = node.text().to_string();
                return Err(Diagnostic::syntax(self.span(node), format!("syntax error at or near \"{shown}\""))
                    .hint("IN needs parentheses around its list or query"));
            }
        };
        Ok(ExprKind::InList { expr, list, negated })
    }

    /// `ANY (query)` and `ALL (array)`, if the operand is one.
    pub(super) fn quantifier(&self, node: &SyntaxNode) -> Result<Option<(bool, Quantifier)>> {
        let Some(call) = cst::CallExpr::cast(node.clone()) else { return Ok(None) };
        let (all, query, list) = if let Some(f) = call.all_fn() {
            (true, f.select_variant(), f.syntax().clone())
        } else if let Some(f) = call.any_fn() {
            (false, f.select_variant(), f.syntax().clone())
        } else if let Some(f) = call.some_fn() {
            (false, f.select_variant(), f.syntax().clone())
        } else {
            return Ok(None);
        };
        match query {
            Some(query) => Ok(Some((all, Quantifier::Query(Box::new(self.query(&query)?))))),
            None => {
                let runs: Vec<Run> = runs_below(&list);
                let span = self.span(&list);
                let run = runs.first().ok_or_else(|| Diagnostic::syntax(span, "ANY and ALL need an array"))?;
                Ok(Some((all, Quantifier::Array(Box::new(self.run(run)?)))))
            }
        }
    }

    /// A column's name, where nothing else will do.
    pub(super) fn column(&self, expr: &Expr, what: Construct) -> Result<Ident> {
        match &expr.kind {
            ExprKind::Name(path) if path.len() == 1 => Ok(path[0].clone()),
            _ => Err(Diagnostic::unsupported(expr.span, what)),
        }
    }
}

/// What ANY and ALL range over.
pub(super) enum Quantifier {
    Query(Box<Query>),
    Array(Box<Expr>),
}

fn is_paren(node: &SyntaxNode) -> bool {
    cst::ParenExpr::can_cast(node.kind())
}

/// Whether the parentheses hold a query directly: `IN (SELECT ...)`, but not `IN ((SELECT ...) + 1)`.
fn is_query(paren: &cst::ParenExpr) -> bool {
    child::<cst::SelectVariant>(paren).is_some()
}

/// `SELECT expr`, for a body that is just `RETURN expr`.
pub(super) fn select_of(expr: Expr) -> Query {
    let span = expr.span;
    let items = vec![crate::ast::SelectItem::Expr { expr, alias: None }];
    super::query::bare(super::query::simple_select(items, Vec::new(), span), span)
}
