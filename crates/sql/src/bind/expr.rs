//! Expressions: each gets its type, and its operands the types it needs.

use std::sync::Arc;

use super::coerce::common_type;
use super::overload::{Choice, choose};
use super::scope::Fields;
use super::{Binder, Result};
use crate::ast::{self, Ident, IsTest};
use crate::builtin::{self, Builtin};
use crate::catalog::ReturnsDef;
use crate::error::{Diagnostic, Span, SqlState};
use crate::refused::Construct;
use crate::typed::{Expr, ExprKind, Quantified, Query, QueryBody};
use crate::types::Type;
use crate::value::{self, Value};

/// A bound operand and where it stands.
pub(super) type Operand = (Expr, Span);

impl Binder<'_> {
    /// An expression whose type is settled.
    pub(super) fn value(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let bound = self.expr(expr)?;
        Ok(self.settled(bound))
    }

    /// A condition; `what` names its place in the message if it is not boolean.
    pub(super) fn condition(&mut self, expr: &ast::Expr, what: &str) -> Result<Expr> {
        let bound = self.expr(expr)?;
        self.boolean(bound, what, expr.span)
    }

    fn boolean(&self, expr: Expr, what: &str, span: Span) -> Result<Expr> {
        match expr.ty {
            Type::Bool => Ok(expr),
            Type::Unknown => self.implicit(expr, Type::Bool, span),
            other => {
                let message = format!("argument of {what} must be type boolean, not type {}", other.base());
                Err(Diagnostic::new(span, SqlState::DATATYPE_MISMATCH, message))
            }
        }
    }

    fn operand(&mut self, expr: &ast::Expr) -> Result<Operand> {
        Ok((self.expr(expr)?, expr.span))
    }

    pub(super) fn operands(&mut self, exprs: &[ast::Expr]) -> Result<Vec<Operand>> {
        exprs.iter().map(|e| self.operand(e)).collect()
    }

    /// An expression; a literal's type may still be open.
    pub(super) fn expr(&mut self, expr: &ast::Expr) -> Result<Expr> {
        use ast::ExprKind as A;
        let span = expr.span;
        match &expr.kind {
            A::Null => Ok(constant(Value::Null, Type::Unknown)),
            A::Bool(b) => Ok(constant(Value::Bool(*b), Type::Bool)),
            A::Integer(n) => Ok(integer(*n)),
            A::Decimal(text) => decimal(text, span),
            A::String(text) => Ok(constant(Value::Text(text.clone()), Type::Unknown)),
            A::Default => Err(Diagnostic::syntax(span, "DEFAULT is not allowed in this context")),
            A::Name(path) => self.name(path, span),
            A::WholeRow(alias) => match self.whole_row(alias) {
                Some(row) => Ok(row),
                None => self.name(std::slice::from_ref(alias), span),
            },
            A::Param(n) => self.dollar(*n, span),
            A::Unary(op, operand) => self.unary(op, operand, span),
            A::Binary(op, left, right) => self.binary(op, left, right, span),
            A::And(list) => Ok(boolean(ExprKind::And(self.conditions(list, "AND")?))),
            A::Or(list) => Ok(boolean(ExprKind::Or(self.conditions(list, "OR")?))),
            A::Not(operand) => Ok(not(self.condition(operand, "NOT")?)),
            A::Is { expr, test, negated } => self.is_test(expr, *test, *negated),
            A::IsDistinct { left, right, negated } => self.is_distinct(left, right, *negated, span),
            A::Between { expr, low, high, symmetric, negated } => {
                let bounded = self.between(expr, low, high, *symmetric, span)?;
                Ok(if *negated { not(bounded) } else { bounded })
            }
            A::InList { expr, list, negated } => self.in_list(expr, list, *negated, span),
            A::InQuery { expr, query, negated } => {
                let found = self.quantified(expr, "=", false, query, span)?;
                Ok(if *negated { not(found) } else { found })
            }
            A::Quantified { expr, op, all, query } => self.quantified(expr, op, *all, query, span),
            A::Exists(query) => Ok(boolean(ExprKind::Exists(Box::new(self.query(query)?)))),
            A::Subquery(query) => self.scalar(query),
            A::SubqueryColumn(query, n) => self.scalar_column(query, *n),
            A::Grouping(args) => self.grouping_mask(args, span),
            A::Call(call) => self.call(call, span),
            A::Case { operand, whens, otherwise } => self.case(operand.as_deref(), whens, otherwise.as_deref(), span),
            A::Cast(operand, ty) => {
                let (to, _) = self.type_name(ty)?;
                if let (A::Array(elements), Type::Array(_)) = (&operand.kind, to.underlying()) {
                    return self.array_as(elements, to, span);
                }
                let bound = self.expr(operand)?;
                self.explicit(bound, to, span)
            }
            A::Row(items) => self.row(items),
            A::Field(operand, field) => self.field(operand, field),
            A::AnyOf { expr, op, all, array } => self.any_of(expr, op, *all, array, span),
            A::Array(elements) => self.array(elements, span),
            A::ArrayQuery(query) => self.array_query(query),
            A::Subscript(operand, subscripts) => self.subscript(operand, subscripts, span),
        }
    }

    fn conditions(&mut self, list: &[ast::Expr], what: &str) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.condition(e, what)).collect()
    }

    fn dollar(&self, n: u32, span: Span) -> Result<Expr> {
        let slot = (n as usize).checked_sub(1).and_then(|i| self.frame.dollars.get(i).copied());
        let Some(slot) = slot else {
            let message = format!("there is no parameter ${n}");
            return Err(Diagnostic::new(span, SqlState::UNDEFINED_PARAMETER, message));
        };
        Ok(Expr { kind: ExprKind::Param(slot), ty: self.frame.variables[slot].ty })
    }

    fn unary(&mut self, op: &str, operand: &ast::Expr, span: Span) -> Result<Expr> {
        match (op, &operand.kind) {
            ("-", ast::ExprKind::Integer(n)) => return Ok(integer(-n)),
            ("-", ast::ExprKind::Decimal(text)) => return decimal(&format!("-{text}"), span),
            _ => {}
        }
        let operand = self.operand(operand)?;
        self.operator(op, vec![operand], span)
    }

    fn binary(&mut self, op: &str, left: &ast::Expr, right: &ast::Expr, span: Span) -> Result<Expr> {
        if let (ast::ExprKind::Row(a), ast::ExprKind::Row(b), "overlaps") = (&left.kind, &right.kind, op) {
            let mut operands = self.operands(a)?;
            operands.extend(self.operands(b)?);
            return self.operator(op, operands, span);
        }
        if let (ast::ExprKind::Row(a), ast::ExprKind::Row(b)) = (&left.kind, &right.kind) {
            return self.compare_rows(op, a, b, span);
        }
        if let (ast::ExprKind::Row(row), ast::ExprKind::Subquery(query)) = (&left.kind, &right.kind) {
            return self.compare_to_row(op, row, query, span);
        }
        let operands = vec![self.operand(left)?, self.operand(right)?];
        self.operator(op, operands, span)
    }

    /// `(a, b) = (c, d)`: by column.
    fn compare_rows(&mut self, op: &str, a: &[ast::Expr], b: &[ast::Expr], span: Span) -> Result<Expr> {
        if a.len() != b.len() {
            return Err(Diagnostic::syntax(span, "unequal number of entries in row expressions"));
        }
        if op == "=" || op == "<>" {
            let pairs: Result<Vec<Expr>> = a.iter().zip(b).map(|(a, b)| self.binary(op, a, b, span)).collect();
            return Ok(boolean(if op == "=" { ExprKind::And(pairs?) } else { ExprKind::Or(pairs?) }));
        }
        let pairs: Result<Vec<(Operand, Operand)>> =
            a.iter().zip(b).map(|(a, b)| Ok((self.operand(a)?, self.operand(b)?))).collect();
        self.lexicographic(op, pairs?, span)
    }

    /// `(a, b) < (c, d)` is `a < c OR a = c AND b < d`: the first fields that differ decide, and a NULL before them
    /// leaves it open.
    fn lexicographic(&self, op: &str, pairs: Vec<(Operand, Operand)>, span: Span) -> Result<Expr> {
        let strict = match op {
            "<" | "<=" => "<",
            ">" | ">=" => ">",
            _ => return Err(Diagnostic::unsupported(span, Construct::OPERATOR_BETWEEN_ROWS.of(op))),
        };
        let mut result: Option<Expr> = None;
        for (a, b) in pairs.into_iter().rev() {
            result = Some(match result {
                None => self.operator(op, vec![a, b], span)?,
                Some(rest) => {
                    let before = self.operator(strict, vec![a.clone(), b.clone()], span)?;
                    let same = boolean(ExprKind::And(vec![self.equal(a, b, span)?, rest]));
                    boolean(ExprKind::Or(vec![before, same]))
                }
            });
        }
        result.ok_or_else(|| Diagnostic::unsupported(span, Construct::COMPARING_ROWS_WITHOUT_FIELDS))
    }

    /// The expression as a value of the type that its domain, if it has one, restricts.
    pub(super) fn plain(&self, expr: Expr) -> Expr {
        Expr { ty: expr.ty.underlying(), ..expr }
    }

    /// An operator applied to operands.
    pub(super) fn operator(&self, op: &str, operands: Vec<Operand>, span: Span) -> Result<Expr> {
        let given: Vec<Type> = operands.iter().map(|(e, _)| e.ty).collect();
        let (builtin, params) = resolve_operator(op, &given, span)?;
        let ty = result_type(builtin, &params);
        let args = self.arguments(operands, &params)?;
        Ok(Expr { kind: ExprKind::Call(builtin, args), ty })
    }

    /// Arguments converted to the types their parameters have.
    pub(super) fn arguments(&self, operands: Vec<Operand>, params: &[Type]) -> Result<Vec<Expr>> {
        operands.into_iter().zip(params).map(|((e, span), ty)| self.implicit(e, *ty, span)).collect()
    }

    /// `left = right`
    pub(super) fn equal(&self, left: Operand, right: Operand, span: Span) -> Result<Expr> {
        self.operator("=", vec![left, right], span)
    }

    fn is_test(&mut self, operand: &ast::Expr, test: IsTest, negated: bool) -> Result<Expr> {
        let truth = match test {
            IsTest::Null => {
                let operand = self.value(operand)?;
                return Ok(boolean(ExprKind::IsNull(Box::new(operand), negated)));
            }
            IsTest::True => Some(true),
            IsTest::False => Some(false),
            IsTest::Unknown => None,
        };
        let name = match truth {
            Some(true) => "TRUE",
            Some(false) => "FALSE",
            None => "UNKNOWN",
        };
        let what = format!("IS {}{name}", if negated { "NOT " } else { "" });
        let operand = self.condition(operand, &what)?;
        Ok(boolean(ExprKind::IsTruth(Box::new(operand), truth, negated)))
    }

    fn is_distinct(&mut self, left: &ast::Expr, right: &ast::Expr, negated: bool, span: Span) -> Result<Expr> {
        let operands = vec![self.operand(left)?, self.operand(right)?];
        let compared = self.operator("=", operands, span)?;
        let ExprKind::Call(_, args) = compared.kind else { return Ok(compared) };
        let mut args = args.into_iter();
        match (args.next(), args.next()) {
            (Some(a), Some(b)) => Ok(boolean(ExprKind::IsDistinct(Box::new(a), Box::new(b), negated))),
            _ => Err(Diagnostic::unsupported(span, Construct::IS_DISTINCT_FROM_HERE)),
        }
    }

    fn between(
        &mut self,
        expr: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        symmetric: bool,
        span: Span,
    ) -> Result<Expr> {
        let inside = vec![self.binary(">=", expr, low, span)?, self.binary("<=", expr, high, span)?];
        let inside = boolean(ExprKind::And(inside));
        if !symmetric {
            return Ok(inside);
        }
        let swapped = vec![self.binary(">=", expr, high, span)?, self.binary("<=", expr, low, span)?];
        Ok(boolean(ExprKind::Or(vec![inside, boolean(ExprKind::And(swapped))])))
    }

    fn in_list(&mut self, expr: &ast::Expr, list: &[ast::Expr], negated: bool, span: Span) -> Result<Expr> {
        let is_row = matches!(expr.kind, ast::ExprKind::Row(_));
        if !is_row {
            let mut operands = vec![self.operand(expr)?];
            operands.extend(self.operands(list)?);
            let types: Vec<Type> = operands.iter().map(|(e, _)| e.ty).collect();
            if common_type(&types).is_ok() {
                let mut all = self.unify("IN", operands)?.0.into_iter();
                let Some(first) = all.next() else { return Err(Diagnostic::unsupported(span, Construct::IN_HERE)) };
                return Ok(boolean(ExprKind::InList(Box::new(first), all.collect(), negated)));
            }
        }
        let tests: Result<Vec<Expr>> = list.iter().map(|item| self.binary("=", expr, item, span)).collect();
        let any = boolean(ExprKind::Or(tests?));
        Ok(if negated { not(any) } else { any })
    }

    fn quantified(&mut self, expr: &ast::Expr, op: &str, all: bool, query: &ast::Query, span: Span) -> Result<Expr> {
        let left = match &expr.kind {
            ast::ExprKind::Row(items) => self.operands(items)?,
            _ => vec![self.operand(expr)?],
        };
        let query = self.query(query)?;
        if query.columns.len() != left.len() {
            let many = if query.columns.len() > left.len() { "many" } else { "few" };
            return Err(Diagnostic::syntax(span, format!("subquery has too {many} columns")));
        }
        if left.len() > 1 && op != "=" {
            // Rows differ if any of their fields do: the negation of equality.
            return match op {
                "<>" => Ok(not(self.quantified_by("=", !all, left, query, span)?)),
                _ => Err(Diagnostic::unsupported(span, Construct::ROW_BEFORE_ANY.of(op))),
            };
        }
        self.quantified_by(op, all, left, query, span)
    }

    fn quantified_by(&mut self, op: &str, all: bool, left: Vec<Operand>, mut query: Query, span: Span) -> Result<Expr> {
        let (mut operands, mut ops) = (Vec::new(), Vec::new());
        for (column, (operand, at)) in left.into_iter().enumerate() {
            let (builtin, params) = resolve_operator(op, &[operand.ty, query.columns[column].ty], span)?;
            operands.push(self.implicit(operand, params[0], at)?);
            self.convert_column(&mut query, column, params[1], span)?;
            ops.push(builtin);
        }
        Ok(boolean(ExprKind::Quantified(Box::new(Quantified { left: operands, ops, all, query }))))
    }

    /// The n-th column of a query's one row.
    fn scalar_column(&mut self, query: &ast::Query, n: usize) -> Result<Expr> {
        let query = self.query(query)?;
        let ty = query.columns.get(n).map_or(Type::Unknown, |c| c.ty);
        let row = Expr { kind: ExprKind::ScalarRow(Box::new(query)), ty: Type::Record };
        Ok(Expr { kind: ExprKind::Field(Box::new(row), n), ty })
    }

    /// `(a, b) op (SELECT x, y)`: the one row of the query, field by field.
    fn compare_to_row(&mut self, op: &str, row: &[ast::Expr], query: &ast::Query, span: Span) -> Result<Expr> {
        let left = self.operands(row)?;
        let query = self.query(query)?;
        if query.columns.len() != left.len() {
            let many = if query.columns.len() > left.len() { "many" } else { "few" };
            return Err(Diagnostic::syntax(span, format!("subquery has too {many} columns")));
        }
        let types: Vec<Type> = query.columns.iter().map(|c| c.ty).collect();
        let one = Expr { kind: ExprKind::ScalarRow(Box::new(query)), ty: Type::Record };
        let field = |n: usize, ty: Type| Expr { kind: ExprKind::Field(Box::new(one.clone()), n), ty };
        let right = types.iter().enumerate().map(|(n, ty)| (field(n, *ty), span));
        if op == "=" || op == "<>" {
            let pairs = left.into_iter().zip(right).map(|(a, b)| self.operator(op, vec![a, b], span));
            let pairs = pairs.collect::<Result<Vec<Expr>>>()?;
            return Ok(boolean(if op == "=" { ExprKind::And(pairs) } else { ExprKind::Or(pairs) }));
        }
        self.lexicographic(op, left.into_iter().zip(right).collect(), span)
    }

    pub(super) fn scalar(&mut self, query: &ast::Query) -> Result<Expr> {
        let span = query.span;
        let query = self.query(query)?;
        let [column] = &query.columns[..] else {
            return Err(Diagnostic::syntax(span, "subquery must return only one column"));
        };
        let ty = column.ty;
        Ok(Expr { kind: ExprKind::Scalar(Box::new(query)), ty })
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        whens: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
        span: Span,
    ) -> Result<Expr> {
        let operand = operand.map(|o| self.operand(o)).transpose()?;
        let (mut conditions, mut results) = (Vec::new(), Vec::new());
        for (when, then) in whens {
            conditions.push(match &operand {
                Some(operand) => {
                    let value = self.operand(when)?;
                    self.equal(operand.clone(), value, when.span)?
                }
                None => self.condition(when, "CASE/WHEN")?,
            });
            results.push(self.operand(then)?);
        }
        let has_else = otherwise.is_some();
        if let Some(otherwise) = otherwise {
            // First, as PostgreSQL does: its type is the one that wins a tie.
            results.insert(0, self.operand(otherwise)?);
        }
        let (results, ty) = self.unify("CASE", results).map_err(|e| Diagnostic { span: e.span.to(span), ..e })?;
        let mut results = results.into_iter();
        let otherwise = if has_else { results.next().map(Box::new) } else { None };
        let whens = conditions.into_iter().zip(results).collect();
        Ok(Expr { kind: ExprKind::Case(whens, otherwise), ty })
    }

    fn row(&mut self, items: &[ast::Expr]) -> Result<Expr> {
        let fields: Result<Vec<Expr>> = items.iter().map(|e| self.value(e)).collect();
        Ok(Expr { kind: ExprKind::Row(fields?), ty: Type::Record })
    }

    fn field(&mut self, operand: &ast::Expr, field: &Ident) -> Result<Expr> {
        let row = self.value(operand)?;
        if let ExprKind::Param(slot) = row.kind
            && row.ty == Type::Record
        {
            return self.variable(super::scope::VariableRef::Field(slot, field.clone()));
        }
        if !row.ty.is_row() {
            let message =
                format!("column notation .{} applied to type {}, which is not a composite type", field.name, row.ty);
            return Err(Diagnostic::new(field.span, SqlState::WRONG_OBJECT_TYPE, message));
        }
        let fields = self.fields_of(&row);
        let at = fields.as_ref().and_then(|f| f.iter().position(|(n, _)| *n == field.name));
        let (Some(fields), Some(at)) = (fields, at) else {
            let message = match (&row.kind, &operand.kind) {
                (ExprKind::WholeRow { .. }, ast::ExprKind::Name(path)) => {
                    let alias = path.last().map_or("", |i| &i.name);
                    format!("column {alias}.{} does not exist", field.name)
                }
                _ if row.ty != Type::Record => {
                    format!("column \"{}\" not found in data type {}", field.name, row.ty)
                }
                _ => format!("could not identify column \"{}\" in record data type", field.name),
            };
            return Err(Diagnostic::new(field.span, SqlState::UNDEFINED_COLUMN, message));
        };
        Ok(Expr { ty: fields[at].1, kind: ExprKind::Field(Box::new(row), at) })
    }

    /// The fields of a row value, where they can be known.
    pub(super) fn fields_of(&self, row: &Expr) -> Option<Fields> {
        if let Type::Composite(ty) = row.ty {
            return Some(ty.fields().into());
        }
        match &row.kind {
            ExprKind::Param(slot) => self.frame.fields(*slot),
            ExprKind::WholeRow { depth, rel } => {
                let level = self.levels.iter().rev().nth(*depth as usize)?;
                Some(level.rels.get(*rel as usize)?.columns.clone().into())
            }
            ExprKind::Row(items) => {
                Some(items.iter().enumerate().map(|(i, e)| (format!("f{}", i + 1).into(), e.ty)).collect())
            }
            ExprKind::Routine(id, _) => match &self.catalog.routine(*id).returns {
                ReturnsDef::Row(fields) => Some(fields.clone().into()),
                ReturnsDef::Outs => Some(self.catalog.routine(*id).outs().map(|p| (p.name.clone(), p.ty)).collect()),
                _ => None,
            },
            ExprKind::Scalar(query) => fields_of_first(query),
            _ => None,
        }
    }
}

/// The fields of a query's only column, if it is the whole row of a relation.
fn fields_of_first(query: &Query) -> Option<Fields> {
    let QueryBody::Select(select) = &query.body else { return None };
    match &select.projection.first()?.kind {
        ExprKind::WholeRow { depth: 0, rel } => Some(select.rels.get(*rel as usize)?.columns.clone().into()),
        _ => None,
    }
}

/// The operator that these operand types mean, with the types it takes.
pub(super) fn resolve_operator(op: &str, given: &[Type], span: Span) -> Result<(&'static Builtin, Vec<Type>)> {
    let arrays = given.iter().any(|t| matches!(t.underlying(), Type::Array(_)));
    // Anything but an array is turned into text beside one.
    // A json text cannot be compared.
    let json = given.iter().any(|t| t.underlying() == Type::Json) && matches!(op, "=" | "<>" | "<" | "<=" | ">" | ">=");
    let fits =
        |b: &&Builtin| !json && b.args.len() == given.len() && !(arrays && op == "||" && b.args.contains(&Type::Text));
    let builtins: Vec<&'static Builtin> = builtin::overloads(op).filter(fits).collect();
    let candidates: Vec<Vec<Type>> = builtins.iter().map(|b| b.args.to_vec()).collect();
    let shown = match given {
        [operand] => format!("{op} {}", operand.base()),
        [left, right] => format!("{} {op} {}", left.base(), right.base()),
        _ => op.to_string(),
    };
    match choose(&candidates, given, true) {
        Choice::One(position, params) => Ok((builtins[position], params)),
        Choice::Nothing => {
            let message = format!("operator does not exist: {shown}");
            Err(Diagnostic::new(span, SqlState::UNDEFINED_FUNCTION, message).hint(
                "No operator matches the given name and argument types. You might need to add explicit type casts.",
            ))
        }
        Choice::Ambiguous => {
            let message = format!("operator is not unique: {shown}");
            Err(Diagnostic::new(span, SqlState::AMBIGUOUS_FUNCTION, message)
                .hint("Could not choose a best candidate operator. You might need to add explicit type casts."))
        }
    }
}

/// The type of a builtin's result, its any-typed parameters being these.
pub(super) fn result_type(builtin: &Builtin, params: &[Type]) -> Type {
    filled(builtin.returns, builtin.args, params)
}

/// A result type in which any type is the one that the parameters have in its place.
pub(super) fn filled(returns: Type, declared: &[Type], params: &[Type]) -> Type {
    if !matches!(returns, Type::Unknown | Type::Array(Type::Unknown)) {
        return returns;
    }
    let mut pairs = declared.iter().zip(params);
    let any = pairs.find_map(|(declared, param)| match declared {
        Type::Unknown => Some(*param),
        Type::Array(Type::Unknown) => param.element(),
        _ => None,
    });
    let any = any.unwrap_or(Type::Text);
    if returns == Type::Unknown { any } else { any.array() }
}

pub(super) fn constant(value: Value, ty: Type) -> Expr {
    Expr { kind: ExprKind::Const(value), ty }
}

pub(super) fn boolean(kind: ExprKind) -> Expr {
    Expr { kind, ty: Type::Bool }
}

pub(super) fn not(expr: Expr) -> Expr {
    boolean(ExprKind::Not(Box::new(expr)))
}

pub(super) fn text(text: impl Into<Arc<str>>) -> Expr {
    constant(Value::Text(text.into()), Type::Text)
}

fn integer(n: i64) -> Expr {
    constant(Value::Int(n), if i32::try_from(n).is_ok() { Type::Int4 } else { Type::Int8 })
}

fn decimal(text: &str, span: Span) -> Result<Expr> {
    // What is too large for the parser's integers but, with its sign, fits bigint.
    if let Ok(n) = text.parse::<i64>() {
        return Ok(integer(n));
    }
    let ty = Type::Numeric(None);
    let number = value::cast(&Value::Text(text.into()), Type::Text, ty, true);
    number.map(|v| constant(v, ty)).map_err(|e| Diagnostic::new(span, e.state, &*e.message))
}
