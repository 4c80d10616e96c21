//! CREATE FUNCTION, CREATE PROCEDURE, DO.
//!
//! A body is text in quotes, handed on with the place of its first byte, so that an error inside it points at the right
//! line. Where the quotes are single and something is escaped, places after the escape are off by its length.

use std::sync::Arc;

use squawk_syntax::ast::{self as cst, AstNode};
use squawk_syntax::{SyntaxKind as K, SyntaxToken};

use super::{Lower, Result};
use crate::ast::{
    CreateRoutine, Param, ParamMode, QualifiedName, Query, Returns, RoutineBody, Statement, StatementKind, Volatility,
};
use crate::error::{Diagnostic, Span, SqlState};
use crate::parse::{Fragment, plpgsql};
use crate::refused::Construct;

/// What CREATE FUNCTION and CREATE PROCEDURE have in common.
struct Parts {
    params: Option<cst::ParamList>,
    options: Option<cst::FuncOptionList>,
    body: Option<cst::RoutineBody>,
}

impl Lower {
    pub(super) fn create_function(&self, create: &cst::CreateFunction) -> Result<CreateRoutine> {
        let name = self.name(&self.need(create.name(), create)?)?;
        let returns = create.ret_type().map_or(Ok(Returns::Nothing), |ty| self.returns(&ty))?;
        let parts = Parts { params: create.param_list(), options: create.option_list(), body: create.body() };
        let or_replace = create.or_replace().is_some();
        self.create_routine(create, parts, name).map(|routine| CreateRoutine { or_replace, returns, ..routine })
    }

    pub(super) fn create_procedure(&self, create: &cst::CreateProcedure) -> Result<CreateRoutine> {
        let name = self.name(&self.need(create.name(), create)?)?;
        let parts = Parts { params: create.param_list(), options: create.option_list(), body: create.body() };
        let or_replace = create.or_replace().is_some();
        self.create_routine(create, parts, name).map(|routine| CreateRoutine { or_replace, procedure: true, ..routine })
    }

    fn create_routine(&self, create: &impl AstNode, parts: Parts, name: QualifiedName) -> Result<CreateRoutine> {
        let params = self.need(parts.params, create)?;
        Ok(CreateRoutine {
            or_replace: false,
            procedure: false,
            name,
            params: params.params().map(|param| self.param(&param)).collect::<Result<_>>()?,
            returns: Returns::Nothing,
            volatility: volatility(parts.options.as_ref()),
            strict: is_strict(parts.options.as_ref()),
            body: self.routine_body(create, parts.options, parts.body)?,
        })
    }

    fn param(&self, param: &cst::Param) -> Result<Param> {
        let mode = match param.mode() {
            None | Some(cst::ParamMode::ParamIn(_)) => ParamMode::In,
            Some(cst::ParamMode::ParamOut(_)) => ParamMode::Out,
            Some(cst::ParamMode::ParamInOut(_)) => ParamMode::InOut,
            Some(cst::ParamMode::ParamVariadic(variadic)) => {
                return Err(self.unsupported(&variadic, Construct::VARIADIC));
            }
        };
        let ty = self.need(param.func_type(), param)?;
        if self.is_setof(&ty) {
            return Err(definition(self.span(ty.syntax()), "functions cannot accept set arguments"));
        }
        Ok(Param {
            mode,
            name: param.name().map(|name| self.ident(&name)),
            ty: self.func_type(&ty)?,
            default: param.param_default().map(|default| self.sole(&default)).transpose()?,
        })
    }

    fn returns(&self, ty: &cst::RetType) -> Result<Returns> {
        if let Some(list) = ty.return_table_arg_list() {
            let mut columns = Vec::new();
            for column in list.args() {
                let name = self.ident(&self.need(column.name(), &column)?);
                columns.push((name, self.func_type(&self.need(column.func_type(), &column)?)?));
            }
            return Ok(Returns::Table(columns));
        }
        let ty = self.need(ty.func_type(), ty)?;
        let name = self.func_type(&ty)?;
        Ok(if self.is_setof(&ty) { Returns::SetOf(name) } else { Returns::Value(name) })
    }

    fn routine_body(
        &self,
        create: &impl AstNode,
        options: Option<cst::FuncOptionList>,
        body: Option<cst::RoutineBody>,
    ) -> Result<RoutineBody> {
        let (mut language, mut text) = (None, None);
        for option in options.iter().flat_map(|list| list.options()) {
            use cst::FuncOption as O;
            match &option {
                O::LanguageFuncOption(l) => language = l.language_name().map(|l| l.name.to_lowercase()),
                O::AsFuncOption(definition) => match self.need(definition.as_func_target(), definition)? {
                    cst::AsFuncTarget::AsDefinition(definition) => text = definition.literal(),
                    cst::AsFuncTarget::AsObjFile(file) => return Err(self.unsupported(&file, Construct::ROUTINE_IN_C)),
                },
                O::WindowFuncOption(_) => return Err(self.unsupported(&option, Construct::WINDOW_FUNCTION)),
                O::TransformFuncOption(_) => return Err(self.unsupported(&option, Construct::TRANSFORM)),
                O::SupportFuncOption(_) => return Err(self.unsupported(&option, Construct::SUPPORT)),
                // Hints to the planner, privileges and settings: nothing we model depends on them.
                _ => {}
            }
        }
        let span = self.span(create.syntax());
        match (language.as_deref(), text, body) {
            (None | Some("sql"), None, Some(body)) => Ok(RoutineBody::Sql(self.standard_body(&body)?.into())),
            (Some("plpgsql"), Some(text), None) => Ok(RoutineBody::PlPgSql(Arc::new(self.plpgsql(&text)?))),
            (Some("sql"), Some(text), None) => Ok(RoutineBody::Sql(self.sql_body(&text)?.into())),
            (Some("plpgsql" | "sql"), None, _) => Err(definition(span, "no function body specified")),
            (None, _, _) => Err(definition(span, "no language specified").hint("add LANGUAGE plpgsql or LANGUAGE sql")),
            (Some(other), _, _) => Err(Diagnostic::unsupported(span, Construct::LANGUAGE.of(other))),
        }
    }

    /// `BEGIN ATOMIC ... END` or `RETURN expr`.
    fn standard_body(&self, body: &cst::RoutineBody) -> Result<Vec<Statement>> {
        match body {
            cst::RoutineBody::ReturnStmt(stmt) => Ok(vec![self.return_statement(stmt)?]),
            cst::RoutineBody::AtomicBody(body) => body
                .routine_body_stmts()
                .filter(|s| !matches!(s, cst::RoutineBodyStmt::Stmt(cst::Stmt::EmptyStmt(_))))
                .map(|stmt| match &stmt {
                    cst::RoutineBodyStmt::ReturnStmt(stmt) => self.return_statement(stmt),
                    cst::RoutineBodyStmt::Stmt(stmt) => self.statement(stmt),
                })
                .collect(),
        }
    }

    fn return_statement(&self, stmt: &cst::ReturnStmt) -> Result<Statement> {
        let query: Query = super::expr::select_of(self.sole(stmt)?);
        Ok(Statement { kind: StatementKind::Query(Box::new(query)), span: self.span(stmt.syntax()) })
    }

    /// `DO [LANGUAGE plpgsql] 'body'`.
    pub(super) fn do_block(&self, block: &cst::Do) -> Result<StatementKind> {
        if let Some(language) = block.do_language().and_then(|l| l.language_name())
            && !language.name.eq_ignore_ascii_case("plpgsql")
        {
            return Err(self.unsupported(block, Construct::DO_LANGUAGE.of(&language.name)));
        }
        let text = self.need(block.body(), block)?;
        Ok(StatementKind::Do(Arc::new(self.plpgsql(&text)?)))
    }

    fn plpgsql(&self, literal: &cst::Literal) -> Result<crate::ast::plpgsql::Body> {
        let text = self.string(literal)?;
        plpgsql::body(Fragment { text: &text, offset: self.inside(literal)? })
    }

    fn sql_body(&self, literal: &cst::Literal) -> Result<Vec<Statement>> {
        let text = self.string(literal)?;
        let offset = self.inside(literal)?;
        let parse = |span: Span| super::statement(Fragment { text: span.of(&text), offset: offset + span.start });
        super::split(&text).into_iter().map(parse).collect()
    }

    /// Where the text inside a literal's quotes starts.
    fn inside(&self, literal: &cst::Literal) -> Result<u32> {
        let tokens = literal.syntax().children_with_tokens().filter_map(|e| e.into_token());
        let token: SyntaxToken = self.need(tokens.into_iter().find(|t| !t.kind().is_trivia()), literal)?;
        let quote = match token.kind() {
            K::DOLLAR_QUOTED_STRING => token.text().get(1..).and_then(|rest| rest.find('$')).map_or(0, |at| at + 2),
            _ => token.text().find('\'').map_or(0, |at| at + 1),
        };
        Ok(self.token_span(&token).start + quote as u32)
    }
}

/// A routine that is written correctly and still cannot be.
fn definition(span: Span, message: &str) -> Diagnostic {
    Diagnostic::new(span, SqlState::INVALID_FUNCTION_DEFINITION, message)
}

fn volatility(options: Option<&cst::FuncOptionList>) -> Volatility {
    let said = options.into_iter().flat_map(|list| list.options()).find_map(|option| match option {
        cst::FuncOption::VolatilityFuncOption(volatility) => Some(volatility),
        _ => None,
    });
    match said {
        Some(cst::VolatilityFuncOption::Immutable(_)) => Volatility::Immutable,
        Some(cst::VolatilityFuncOption::Stable(_)) => Volatility::Stable,
        Some(cst::VolatilityFuncOption::Volatile(_)) | None => Volatility::Volatile,
    }
}

fn is_strict(options: Option<&cst::FuncOptionList>) -> bool {
    use cst::FuncOption as O;
    let mut options = options.into_iter().flat_map(|list| list.options());
    options.any(|option| matches!(option, O::StrictFuncOption(_) | O::ReturnsNullOnNullInputFuncOption(_)))
}
