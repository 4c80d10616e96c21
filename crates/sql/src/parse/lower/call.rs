//! Function calls, and the special syntax that is one: `EXTRACT(year FROM x)`, `TRIM(BOTH 'x' FROM y)`.

use squawk_syntax::ast::{self as cst, AstNode};
use squawk_syntax::{SyntaxKind as K, SyntaxNode};

use super::operators::runs;
use super::{Lower, Result, child, words};
use crate::ast::{Call, Expr, ExprKind, Ident, QualifiedName};
use crate::error::{Diagnostic, Span};
use crate::refused::Construct;

/// A call with positional arguments only.
pub(crate) fn plain(name: Ident, args: Vec<Expr>) -> ExprKind {
    let name = QualifiedName::bare(name);
    ExprKind::Call(Box::new(Call {
        name,
        args,
        named: Vec::new(),
        star: false,
        distinct: false,
        order_by: Vec::new(),
        filter: None,
        within_group: Vec::new(),
        over: None,
    }))
}

impl Lower {
    /// Any call.
    pub(super) fn call(&self, call: &cst::CallExpr) -> Result<Expr> {
        let span = self.span(call.syntax());
        self.refuse(call.null_treatment(), Construct::IGNORE_NULLS)?;
        let kind = match call.arg_list() {
            Some(args) => self.ordinary(call, &args)?,
            None => {
                self.refuse(call.filter_clause(), Construct::FILTER_HERE)?;
                self.refuse(call.over_clause(), Construct::OVER_HERE)?;
                self.refuse(call.within_clause(), Construct::WITHIN_GROUP_HERE)?;
                self.special(call)?
            }
        };
        Ok(Expr { kind, span })
    }

    fn ordinary(&self, call: &cst::CallExpr, list: &cst::ArgList) -> Result<ExprKind> {
        let base = self.need(call.expr(), call)?;
        let mut result = Call {
            name: self.function_name(base.syntax())?,
            args: Vec::new(),
            named: Vec::new(),
            star: list.star_token().is_some(),
            distinct: matches!(list.all_or_distinct(), Some(cst::AllOrDistinct::Distinct(_))),
            order_by: Vec::new(),
            filter: None,
            within_group: Vec::new(),
            over: None,
        };
        for arg in list.args() {
            self.argument(&arg, &mut result)?;
        }
        if let Some(filter) = call.filter_clause() {
            result.filter = Some(self.sole(&filter)?);
        }
        if let Some(order) = call.within_clause().and_then(|within| within.order_by_clause()) {
            result.within_group = self.order_by(&order)?;
        }
        result.over = call.over_clause().map(|over| self.over(&over)).transpose()?;
        if result.name.schema.is_none() && &*result.name.name.name == "grouping" {
            return Ok(ExprKind::Grouping(result.args));
        }
        Ok(ExprKind::Call(Box::new(result)))
    }

    fn argument(&self, arg: &cst::Arg, call: &mut Call) -> Result<()> {
        self.refuse_token(arg.variadic_token(), Construct::VARIADIC)?;
        if let Some(named) = child::<cst::NamedArg>(arg) {
            let name = self.ident(&self.need(named.name(), &named)?);
            call.named.push((name, self.sole(&named)?));
        } else if call.named.is_empty() {
            call.args.push(self.sole(arg)?);
        } else {
            let span = self.span(arg.syntax());
            return Err(Diagnostic::syntax(span, "positional argument cannot follow named argument"));
        }
        if let Some(order) = arg.order_by_clause() {
            call.order_by = self.order_by(&order)?;
        }
        Ok(())
    }

    /// `f` or `schema.f`.
    fn function_name(&self, node: &SyntaxNode) -> Result<QualifiedName> {
        let span = self.span(node);
        let mut path = Vec::new();
        self.dotted(node, &mut path)?;
        let name = path.pop().ok_or_else(|| Diagnostic::syntax(span, "a function name is expected here"))?;
        let schema = path.pop();
        match path.pop() {
            None => Ok(QualifiedName::new(schema, name)),
            Some(_) => Err(Diagnostic::unsupported(span, Construct::OTHER_DATABASE)),
        }
    }

    fn dotted(&self, node: &SyntaxNode, path: &mut Vec<Ident>) -> Result<()> {
        match cst::Expr::cast(node.clone()) {
            Some(cst::Expr::NameRef(name)) => {
                path.push(self.ident(&name));
                Ok(())
            }
            Some(cst::Expr::FieldExpr(field)) if field.star_token().is_none() => {
                self.dotted(self.need(field.base(), &field)?.syntax(), path)?;
                path.push(self.ident(&self.need(field.field(), &field)?));
                Ok(())
            }
            _ => Err(Diagnostic::syntax(self.span(node), "a function name is expected here")),
        }
    }

    /// Calls with keywords among their arguments.
    fn special(&self, call: &cst::CallExpr) -> Result<ExprKind> {
        if let Some(f) = call.exists_fn() {
            let query = self.need(f.select_variant(), &f)?;
            return Ok(ExprKind::Exists(Box::new(self.query(&query)?)));
        }
        if let Some(f) = call.extract_fn() {
            return self.extract(&f);
        }
        if let Some(f) = call.substring_fn() {
            return self.substring(&f);
        }
        if let Some(f) = call.position_fn() {
            return self.keyword_call(&f, "position", self.exprs(&f)?);
        }
        if let Some(f) = call.trim_fn() {
            return self.trim(&f);
        }
        if let Some(f) = call.overlay_fn() {
            let args = self.need(f.overlay_args(), &f)?;
            self.refuse(child::<cst::NamedArg>(&args), Construct::NAMED_ARGUMENT_HERE)?;
            return self.keyword_call(&f, "overlay", self.exprs(&args)?);
        }
        let inner = self.need(call.syntax().first_child(), call)?;
        let span = self.span(&inner);
        match inner.kind() {
            K::ANY_FN | K::SOME_FN | K::ALL_FN => {
                Err(Diagnostic::syntax(span, "ANY and ALL need an operator before them"))
            }
            kind => Err(Diagnostic::unsupported(span, Construct::OTHER.of(words(kind).trim_end_matches(" FN")))),
        }
    }

    /// A call named after the keyword that opens it.
    fn keyword_call(&self, node: &impl AstNode, name: &str, args: Vec<Expr>) -> Result<ExprKind> {
        let keyword = self.need(node.syntax().first_token(), node)?;
        Ok(plain(Ident { name: name.into(), span: self.token_span(&keyword) }, args))
    }

    fn extract(&self, f: &cst::ExtractFn) -> Result<ExprKind> {
        let field = self.need(f.extract_field(), f)?;
        let span = self.span(field.syntax());
        let text = match &field {
            cst::ExtractField::ExtractFieldLiteral(l) => self.string(&self.need(l.literal(), l)?)?.to_lowercase(),
            cst::ExtractField::ExtractFieldName(n) => cst::normalize_name_node(n.syntax()),
        };
        let field = Expr { kind: ExprKind::String(text.into()), span };
        self.keyword_call(f, "extract", vec![field, self.sole(f)?])
    }

    fn substring(&self, f: &cst::SubstringFn) -> Result<ExprKind> {
        let args = self.need(f.substring_args(), f)?;
        let mut values = self.exprs(&args)?;
        match &args {
            cst::SubstringArgs::SubstringSimilarEscape(_) => {}
            // FOR without FROM counts from the first character; with both, they stand in the other order.
            cst::SubstringArgs::SubstringForFrom(_) if values.len() == 2 => {
                let span = values.first().map_or(Span::default(), |v| v.span);
                values.insert(1, Expr { kind: ExprKind::Integer(1), span });
            }
            cst::SubstringArgs::SubstringForFrom(_) => values.swap(1, 2),
            _ => self.refuse(child::<cst::NamedArg>(&args), Construct::NAMED_ARGUMENT_HERE)?,
        }
        self.keyword_call(f, "substring", values)
    }

    /// `TRIM([LEADING | TRAILING | BOTH] [chars FROM] text)`: the text comes first in the function.
    fn trim(&self, f: &cst::TrimFn) -> Result<ExprKind> {
        let name = match f.trim_side() {
            Some(cst::TrimSide::TrimLeading(_)) => "ltrim",
            Some(cst::TrimSide::TrimTrailing(_)) => "rtrim",
            Some(cst::TrimSide::TrimBoth(_)) | None => "btrim",
        };
        let args = self.need(f.trim_args(), f)?;
        let mut values = self.exprs(&args)?;
        if matches!(args, cst::TrimArgs::TrimExprFrom(_)) {
            values.rotate_left(1);
        }
        debug_assert_eq!(values.len(), runs(&args).len(), "every argument is kept");
        self.keyword_call(f, name, values)
    }
}
