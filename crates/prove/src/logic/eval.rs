//! Expressions: from what the binder understood to what the solver sees.

use isolde_smt::{Sort, Term};
use isolde_sql::catalog::Catalog;
use isolde_sql::typed::{Expr, ExprKind};
use isolde_sql::value::EnumLabel;
use isolde_sql::{SqlState, Type, Value};

use super::context::{Context, Failure};
use super::value::{Sym, sort_of};
use super::{Refusal, Result, call};
use crate::state::State;

/// One query, or statement, around an expression: the row at hand of each of its relations.
#[derive(Clone, Debug, Default)]
pub struct Level {
    /// The row of each relation; `None` where there is none yet.
    pub rows: Vec<Option<Vec<Sym>>>,
    /// The keys of the group at hand.
    pub keys: Vec<Sym>,
    /// The aggregates of the group at hand.
    pub aggregates: Vec<Sym>,
    /// The columns that come out, in sort keys.
    pub outputs: Vec<Sym>,
}

impl Level {
    /// With these rows.
    pub fn of(rows: impl IntoIterator<Item = Vec<Sym>>) -> Level {
        Level { rows: rows.into_iter().map(Some).collect(), ..Level::default() }
    }
}

/// Takes expressions apart, in a state of the variables and the database.
pub struct Evaluator<'a> {
    /// Where everything is said.
    pub ctx: &'a mut Context,
    /// What the tables are.
    pub catalog: &'a Catalog,
    /// Variables and rows.
    pub state: &'a State,
    /// The queries around the place at hand, innermost last.
    pub levels: Vec<Level>,
}

impl Evaluator<'_> {
    /// What an expression is.
    pub fn expr(&mut self, expr: &Expr) -> Result<Sym> {
        match &expr.kind {
            ExprKind::Const(value) => self.constant(value, expr.ty),
            ExprKind::Column { depth, rel, col } => {
                let row = self.level(*depth)?.rows.get(usize::from(*rel)).and_then(Option::as_ref);
                let column = row.and_then(|row| row.get(usize::from(*col)));
                column.cloned().ok_or_else(|| Refusal::new("a column of a relation that is not tracked"))
            }
            ExprKind::Param(slot) => {
                self.state.variables.get(*slot).cloned().ok_or_else(|| Refusal::new("a variable that is a row"))
            }
            ExprKind::Group { depth, key } => {
                let found = self.level(*depth)?.keys.get(*key).cloned();
                found.ok_or_else(|| Refusal::new("a grouping key outside of its group"))
            }
            ExprKind::Aggregated { depth, call } => {
                let found = self.level(*depth)?.aggregates.get(*call).cloned();
                found.ok_or_else(|| Refusal::new("an aggregate outside of its group"))
            }
            ExprKind::Output(n) => {
                let found = self.level(0)?.outputs.get(*n).cloned();
                found.ok_or_else(|| Refusal::new("a sort key of a set operation"))
            }
            ExprKind::Call(builtin, args) => call::builtin(self, builtin, args, expr.ty),
            ExprKind::And(operands) => self.connective(operands, true),
            ExprKind::Or(operands) => self.connective(operands, false),
            ExprKind::Not(operand) => {
                let operand = self.expr(operand)?;
                Ok(Sym { value: operand.value.not(), ..operand })
            }
            ExprKind::IsNull(operand, negated) => {
                let null = self.expr(operand)?.null;
                Ok(Sym::known(if *negated { null.not() } else { null }))
            }
            ExprKind::IsTruth(operand, truth, negated) => {
                let operand = self.expr(operand)?;
                let is = match truth {
                    Some(true) => operand.is_true(),
                    Some(false) => operand.is_false(),
                    None => operand.null,
                };
                Ok(Sym::known(if *negated { is.not() } else { is }))
            }
            ExprKind::IsDistinct(a, b, negated) => {
                let same = self.expr(a)?.same(&self.expr(b)?);
                Ok(Sym::known(if *negated { same } else { same.not() }))
            }
            ExprKind::InList(operand, list, negated) => {
                let operand = self.expr(operand)?;
                let list = list.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>>>()?;
                Ok(any_equal(&operand, list.iter().map(|item| (Term::True, item.clone())), *negated))
            }
            ExprKind::Case(whens, otherwise) => self.case(whens, otherwise.as_deref(), expr.ty),
            ExprKind::Coalesce(operands) => self.coalesce(operands, expr.ty),
            ExprKind::Extreme(operands, greatest) => self.extreme(operands, *greatest, expr.ty),
            ExprKind::Cast { expr: inner, explicit } => {
                let sym = self.expr(inner)?;
                call::cast(self.ctx, &sym, inner.ty, expr.ty, *explicit)
            }
            ExprKind::Exists(query) => self.exists(query),
            ExprKind::Scalar(query) => self.scalar(query, expr.ty),
            ExprKind::Quantified(quantified) => self.quantified(quantified),
            ExprKind::Routine(id, _) => {
                Err(Refusal::new(format!("a call of {} inside of an expression", self.catalog.routine(*id).name)))
            }
            ExprKind::WholeRow { .. } | ExprKind::Row(_) | ExprKind::ScalarRow(_) => {
                Err(Refusal::new("a row as a value"))
            }
            ExprKind::Field(..) | ExprKind::NamedField(..) => Err(Refusal::new("a field of a row")),
            ExprKind::Windowed(_) => Err(Refusal::new("a window function")),
            ExprKind::Expanded(_) => Err(Refusal::new("a function of the select list that yields rows")),
            ExprKind::AnyOf(_) => Err(Refusal::new("ANY or ALL of an array")),
        }
    }

    /// Whether a condition is true.
    pub fn is_true(&mut self, expr: &Expr) -> Result<Term> {
        let sym = self.expr(expr)?;
        Ok(self.ctx.named_truth(sym.is_true(), "holds"))
    }

    /// Evaluates under one more level, and what fails in it fails only under a condition.
    pub(crate) fn within<T>(
        &mut self,
        level: Level,
        when: &Term,
        act: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.levels.push(level);
        let before = std::mem::take(&mut self.ctx.failures);
        let done = act(self);
        let failures = std::mem::replace(&mut self.ctx.failures, before);
        self.levels.pop();
        self.ctx.add_failures(failures, when);
        done
    }

    /// Evaluates, and gives what may fail beside.
    fn apart(&mut self, expr: &Expr) -> Result<(Sym, Vec<Failure>)> {
        let before = std::mem::take(&mut self.ctx.failures);
        let sym = self.expr(expr);
        let failures = std::mem::replace(&mut self.ctx.failures, before);
        Ok((sym?, failures))
    }

    fn level(&self, depth: u16) -> Result<&Level> {
        let at = self.levels.len().checked_sub(usize::from(depth) + 1);
        at.and_then(|at| self.levels.get(at)).ok_or_else(|| Refusal::new("a column of an outer query"))
    }

    fn constant(&mut self, value: &Value, ty: Type) -> Result<Sym> {
        let sort = sort_of(ty).ok_or_else(|| Refusal::new("a row as a value"))?;
        self.ctx.note(ty);
        Ok(match (value, ty.underlying().base()) {
            (Value::Null, _) => Sym::null(&sort),
            (Value::Bool(truth), _) => Sym::truth(*truth),
            (Value::Int(n), _) if sort == Sort::Real => Sym::known(Term::Real((*n).into(), 0)),
            (Value::Int(n), _) => Sym::known(Term::Int((*n).into())),
            (Value::Date(days), _) => Sym::known(Term::Int((*days).into())),
            (Value::Timestamp(us) | Value::Timestamptz(us) | Value::Time(us), _) => Sym::known(Term::Int((*us).into())),
            (Value::Text(text), Type::Text | Type::Varchar(_)) => Sym::known(self.ctx.text(text)),
            (Value::Bpchar(text), _) => Sym::known(self.ctx.text(text.trim_end_matches(' '))),
            (Value::Uuid(_), _) => Sym::known(self.ctx.text(&value.to_string())),
            (Value::Enum(label), Type::Enum(user)) => Sym::known(Term::Int(position(user.labels(), label))),
            (Value::Numeric(number), _) => match real(&number.normalized()) {
                Some(term) => Sym::known(term),
                None => self.literal(value, ty)?,
            },
            _ => self.literal(value, ty)?,
        })
    }

    /// A constant of a type of which little is known: it is what it is, and may equal others.
    fn literal(&mut self, value: &Value, ty: Type) -> Result<Sym> {
        let sym = self.ctx.unknown_call(&format!("'{value}'::{ty}"), &[], ty, true)?;
        Ok(Sym { null: Term::False, ..sym })
    }

    /// AND and OR. That an operand fails is certain only if no other one settles the matter first.
    fn connective(&mut self, operands: &[Expr], and: bool) -> Result<Sym> {
        let parts = operands.iter().map(|e| self.apart(e)).collect::<Result<Vec<_>>>()?;
        let settles = |sym: &Sym| if and { sym.is_false() } else { sym.is_true() };
        let settled: Vec<Term> = parts.iter().map(|(sym, _)| settles(sym)).collect();
        for (i, (_, failures)) in parts.iter().enumerate() {
            let others = settled.iter().enumerate().filter(|(j, _)| *j != i);
            let open = Term::or(others.map(|(_, term)| term.clone())).not();
            self.ctx.failures.extend(failures.iter().map(|failure| Failure {
                certain: Term::and([open.clone(), failure.certain.clone()]),
                ..failure.clone()
            }));
        }
        let any = Term::or(settled);
        let all = Term::and(parts.iter().map(|(sym, _)| if and { sym.is_true() } else { sym.is_false() }));
        let sym = if and { Sym::condition(all, any) } else { Sym::condition(any, all) };
        Ok(self.ctx.named_sym(sym, Type::Bool, "and"))
    }

    fn case(&mut self, whens: &[(Expr, Expr)], otherwise: Option<&Expr>, ty: Type) -> Result<Sym> {
        let mut arms = Vec::new();
        let mut open = Term::True;
        for (condition, result) in whens {
            let (condition, failures) = self.apart(condition)?;
            self.ctx.add_failures(failures, &open);
            let taken = self.ctx.named_truth(condition.is_true(), "when");
            let (result, failures) = self.apart(result)?;
            self.ctx.add_failures(failures, &Term::and([open.clone(), taken.clone()]));
            open = Term::and([open, taken.clone().not()]);
            arms.push((taken, result));
        }
        let sort = sort_of(ty).ok_or_else(|| Refusal::new("a row as a value"))?;
        let mut value = match otherwise {
            None => Sym::null(&sort),
            Some(otherwise) => {
                let (value, failures) = self.apart(otherwise)?;
                self.ctx.add_failures(failures, &open);
                value
            }
        };
        for (taken, result) in arms.iter().rev() {
            value = Sym::ite(taken, result, &value);
        }
        Ok(self.ctx.named_sym(value, ty, "case"))
    }

    fn coalesce(&mut self, operands: &[Expr], ty: Type) -> Result<Sym> {
        let mut parts = Vec::new();
        let mut open = Term::True;
        for operand in operands {
            let (sym, failures) = self.apart(operand)?;
            self.ctx.add_failures(failures, &open);
            open = Term::and([open, sym.null.clone()]);
            parts.push(sym);
        }
        let value = parts.into_iter().rev().reduce(|rest, sym| Sym {
            null: Term::and([sym.null.clone(), rest.null]),
            value: sym.null.ite(rest.value, sym.value),
        });
        let value = value.ok_or_else(|| Refusal::new("COALESCE of nothing"))?;
        Ok(self.ctx.named_sym(value, ty, "coalesce"))
    }

    fn extreme(&mut self, operands: &[Expr], greatest: bool, ty: Type) -> Result<Sym> {
        let parts = operands.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>>>()?;
        let mut best: Option<Sym> = None;
        for sym in parts {
            best = Some(match best {
                None => sym,
                Some(best) => {
                    let less = call::less(self.ctx, (&best, &sym), ty)?;
                    let better =
                        if greatest { less.is_true() } else { call::less(self.ctx, (&sym, &best), ty)?.is_true() };
                    let take = Term::or([best.null.clone(), Term::and([sym.null.clone().not(), better])]);
                    let chosen = Sym::ite(&take, &sym, &best);
                    self.ctx.named_sym(chosen, ty, "extreme")
                }
            });
        }
        best.ok_or_else(|| Refusal::new("GREATEST or LEAST of nothing"))
    }
}

/// `operand [NOT] IN (items)`, each item counting under its condition.
pub(super) fn any_equal(operand: &Sym, items: impl Iterator<Item = (Term, Sym)>, negated: bool) -> Sym {
    let (mut is_true, mut unknown) = (Vec::new(), Vec::new());
    for (guard, item) in items {
        is_true.push(Term::and([guard.clone(), operand.equals(&item)]));
        unknown.push(Term::and([guard, Term::or([operand.null.clone(), item.null])]));
    }
    let is_true = Term::or(is_true);
    let is_false = Term::or([is_true.clone(), Term::or(unknown)]).not();
    if negated { Sym::condition(is_false, is_true) } else { Sym::condition(is_true, is_false) }
}

fn position(labels: &[std::sync::Arc<EnumLabel>], label: &EnumLabel) -> i128 {
    labels.iter().position(|known| known.label == label.label).map_or(-1, |at| at as i128)
}

/// A decimal number as a term.
fn real(number: &bigdecimal::BigDecimal) -> Option<Term> {
    let (digits, scale) = number.as_bigint_and_exponent();
    let digits: i128 = digits.to_string().parse().ok()?;
    match u32::try_from(scale) {
        Ok(places) => Some(Term::Real(digits, places)),
        Err(_) => digits.checked_mul(10i128.checked_pow(u32::try_from(-scale).ok()?)?).map(|n| Term::Real(n, 0)),
    }
}

/// The error that a comparison of more rows than one raises.
pub(super) const TOO_MANY: SqlState = SqlState::CARDINALITY_VIOLATION;
