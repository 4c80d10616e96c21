//! The control-flow graph of a procedure.
//!
//! Nodes are places between statements, edges are what happens from one to the next. Everything that PL/pgSQL can do is
//! brought down to a dozen [`Action`]s over scalar variables: rows are taken apart into one variable per field, calls
//! of other routines are written out in place, integer loops count in a hidden variable, and a branch is a pair of
//! edges that assume a condition and its opposite.
//!
//! ```text
//!   SELECT balance INTO b ...   IF b >= amount THEN UPDATE ... END IF
//!
//!     0 ──Read──▶ 1 ──Assume b >= amount──▶ 2 ──Write──▶ 3
//!                 └──Assume not (b >= amount)───────────▶ 3 ──▶ exit
//! ```
//!
//! An action may fail. Then the procedure ends and its effects are undone, unless the edge has `on_error`: the place at
//! which the handlers of the block around it are tried. A node knows the loops it is in, so that unrolling ([`unroll`])
//! and cutting at loop heads need no analysis. What cannot be brought down to these actions is refused with its place:
//! see [`lower`].

mod call;
mod expand;
mod loops;
mod lower;
mod records;
mod show;
mod transaction;
mod unroll;
mod with;

use std::sync::Arc;

use isolde_sql::catalog::RoutineId;
use isolde_sql::typed::{Catch, Expr, Query, Statement};
use isolde_sql::{Span, SqlState, Type};

pub(crate) use expand::each_expr;
pub use lower::lower;
pub use show::to_flow;
pub(crate) use show::{described, line_of};
pub use unroll::unroll;
pub(crate) use with::inlined;

/// A procedure, ready to be reasoned about.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Its name.
    pub name: Arc<str>,
    /// Which routine it is.
    pub routine: RoutineId,
    /// Its variables, those of inlined routines and hidden ones included. All are scalars.
    pub variables: Vec<Variable>,
    /// The places.
    pub nodes: Vec<Node>,
    /// What happens between them.
    pub edges: Vec<Edge>,
    /// Where it begins.
    pub entry: usize,
    /// Where it ends well: what was done stays done.
    pub exit: usize,
    /// The nodes at which loops begin anew.
    pub heads: Vec<usize>,
    /// It commits on its way: what was done till then stays done, whatever comes.
    pub commits: bool,
    /// Edges were left out because a loop was cut: what is found to be impossible is impossible within the bound only.
    pub cut: bool,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// What it is called in the source.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// NULL cannot be stored in it.
    pub not_null: bool,
    /// The position of the parameter that it is, if its value comes from the caller.
    pub input: Option<usize>,
    /// It is false at the start, not NULL: FOUND.
    pub starts_false: bool,
}

/// A place between statements.
#[derive(Clone, Debug)]
pub struct Node {
    /// The statement that comes next.
    pub span: Span,
    /// The loops around it, outermost first: their heads.
    pub loops: Vec<usize>,
}

/// What happens from one place to another.
#[derive(Clone, Debug)]
pub struct Edge {
    /// From here.
    pub from: usize,
    /// To there.
    pub to: usize,
    /// What is done.
    pub action: Action,
    /// Where that is written.
    pub span: Span,
    /// Where it goes on if this fails; nowhere, if nobody handles errors.
    pub on_error: Option<usize>,
}

/// What an edge does.
#[derive(Clone, Debug)]
pub enum Action {
    /// Nothing.
    Skip,
    /// `variable := expr`, with the conversion of an assignment.
    Assign(usize, Expr),
    /// Some value is stored of which nothing is known.
    Havoc(usize),
    /// Goes on only if the condition is true; or, with `false`, only if it is not (false or NULL).
    Assume(Expr, bool),
    /// A query of which the first row counts.
    Read(Read),
    /// INSERT, UPDATE, DELETE or TRUNCATE.
    Write(Write),
    /// A loop over a query begins: what it will come to is fixed now.
    Open(usize, Arc<Query>),
    /// The loop comes to one more row; only if there is one.
    Fetch(usize, Vec<(usize, Type)>),
    /// The loop has come to all rows; only if it has.
    Drained(usize),
    /// An error is raised; `None` if it is not known which.
    Raise(Option<SqlState>),
    /// The error at hand is raised again.
    Again,
    /// A block with handlers is entered: the rows are remembered under this number.
    Save(usize),
    /// A handler is entered: the rows are again what was remembered.
    Restore(usize),
    /// A transaction begins: what is the same within one is another from here.
    Begin,
    /// Goes on only if the error at hand is one of these; or, with `false`, none of them.
    Catch(Vec<Catch>, bool),
}

/// A query, and where its first row goes.
#[derive(Clone, Debug)]
pub struct Read {
    /// The query.
    pub query: Arc<Query>,
    /// The variables that take its columns, with the type of each column.
    pub into: Vec<(usize, Type)>,
    /// Anything but one row is an error.
    pub strict: bool,
    /// The variable that says whether there was a row.
    pub found: Option<usize>,
}

/// A statement that changes rows.
#[derive(Clone, Debug)]
pub struct Write {
    /// The statement.
    pub statement: Arc<Statement>,
    /// The variables that take what RETURNING gives, with the type of each column.
    pub into: Vec<(usize, Type)>,
    /// No row is an error.
    pub strict: bool,
    /// The variable that says whether there was a row.
    pub found: Option<usize>,
    /// The variable that counts the rows.
    pub count: Option<usize>,
}

impl Graph {
    /// The types of its variables.
    pub fn types(&self) -> Vec<Type> {
        self.variables.iter().map(|variable| variable.ty).collect()
    }

    /// The edges that leave a node.
    pub fn leaving(&self, node: usize) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.from == node)
    }

    /// It has no loops.
    pub fn is_loop_free(&self) -> bool {
        self.heads.is_empty()
    }

    /// Nodes so that every edge leads on, if there are no loops.
    pub fn order(&self) -> Vec<usize> {
        let mut incoming = vec![0usize; self.nodes.len()];
        let ends = |edge: &Edge| [Some(edge.to), edge.on_error];
        for to in self.edges.iter().flat_map(ends).flatten() {
            incoming[to] += 1;
        }
        let mut ready: Vec<usize> = (0..self.nodes.len()).filter(|n| incoming[*n] == 0).collect();
        let mut order = Vec::new();
        while let Some(node) = ready.pop() {
            order.push(node);
            for to in self.leaving(node).flat_map(ends).flatten() {
                incoming[to] -= 1;
                if incoming[to] == 0 {
                    ready.push(to);
                }
            }
        }
        order
    }
}
