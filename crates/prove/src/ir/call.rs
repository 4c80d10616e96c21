//! Calls of other routines, written out in place.

use isolde_sql::ast::ParamMode;
use isolde_sql::catalog::{RoutineDef, RoutineId};
use isolde_sql::typed::{Expr, ExprKind, Routine, RoutineReturns};
use isolde_sql::{Span, Type, Value};

use super::Action;
use super::loops::param as variable_of;
use super::lower::{Lowering, Stands, bound};
use crate::logic::{Refusal, Result};

/// Calls within calls within calls: deeper than this is recursion by another name.
const CALLS_MAX: usize = 16;

impl Lowering<'_> {
    /// Writes a routine out in place. `args` are over the variables of the graph; gives the variables with its results.
    pub(super) fn call(&mut self, at: usize, id: RoutineId, args: &[Expr], span: Span) -> Result<(usize, Vec<usize>)> {
        let def = self.catalog.routine(id).clone();
        if self.calls.contains(&id) || self.calls.len() > CALLS_MAX {
            return Err(Refusal::new(format!("{}, which calls itself", def.name)).at(span));
        }
        let routine = bound(self.catalog, id)?;
        if matches!(routine.returns, RoutineReturns::Set(_) | RoutineReturns::Trigger(_)) {
            return Err(Refusal::new(format!("{}, which returns rows", def.name)).at(span));
        }
        let mut at = at;
        let mut given = Vec::new();
        for arg in args {
            let mut arg = arg.clone();
            at = self.hoist(at, &mut arg, span)?;
            given.push(arg);
        }
        let exit = self.node(span);
        self.enter(&routine, exit)?;
        self.calls.push(id);
        let done = self.called(at, &routine, &def, given, exit, span);
        self.calls.pop();
        let frame = self.frames.pop().expect("the frame that was entered");
        done?;
        let outs = match &routine.returns {
            RoutineReturns::Outs(slots) => {
                let variable = |slot: &usize| match frame.slots.get(*slot) {
                    Some(Stands::Scalar(variable)) => Ok(*variable),
                    _ => Err(Refusal::new("an OUT parameter that is a row").at(span)),
                };
                slots.iter().map(variable).collect::<Result<Vec<_>>>()?
            }
            _ => frame.result.into_iter().collect(),
        };
        Ok((exit, outs))
    }

    pub(super) fn called(
        &mut self,
        mut at: usize,
        routine: &Routine,
        def: &RoutineDef,
        args: Vec<Expr>,
        exit: usize,
        span: Span,
    ) -> Result<()> {
        // A routine that is called again begins with fresh variables.
        let variables = self.frame().slots.iter().flat_map(|slot| match slot {
            Stands::Scalar(variable) => vec![*variable],
            Stands::Row(fields) => fields.iter().map(|(_, variable)| *variable).collect(),
            Stands::Nothing => Vec::new(),
        });
        let variables: Vec<usize> = variables.chain(self.frame().result).collect();
        for variable in variables {
            let ty = self.graph.variables[variable].ty;
            if !self.graph.variables[variable].not_null {
                at = self.act(at, Action::Assign(variable, Expr { kind: ExprKind::Const(Value::Null), ty }), span);
            }
        }
        at = self.found_nothing(at, span);
        // CALL gives one argument per parameter, a function one per input.
        let inputs: Vec<usize> = match def.procedure {
            true => (0..def.params.len()).collect(),
            false => (0..def.params.len()).filter(|p| def.params[*p].mode != ParamMode::Out).collect(),
        };
        let mut null = None;
        for (param, arg) in inputs.into_iter().zip(args) {
            let variable = self.scalar(param)?;
            at = self.act(at, Action::Assign(variable, arg), span);
            if def.strict {
                let test = Expr {
                    kind: ExprKind::IsNull(Box::new(variable_of(variable, def.params[param].ty)), false),
                    ty: Type::Bool,
                };
                let end = self.act(at, Action::Assume(test.clone(), true), span);
                null.get_or_insert_with(Vec::new).push(end);
                at = self.act(at, Action::Assume(test, false), span);
            }
        }
        for end in null.into_iter().flatten() {
            self.edge(end, exit, Action::Skip, span);
        }
        if let Some(end) = self.block(at, &routine.body)? {
            if matches!(routine.returns, RoutineReturns::Value(_)) {
                // It should have returned something by now.
                self.may_fail(end, span);
            }
            self.edge(end, exit, Action::Skip, span);
        }
        Ok(())
    }
}
