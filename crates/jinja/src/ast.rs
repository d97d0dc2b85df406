//! The parsed template. It holds no runtime values, so that it can be shared
//! between threads and rendered many times.

use std::sync::Arc;

use crate::source::{Source, Span, Str};

#[derive(Debug)]
pub(crate) struct Ast {
    pub(crate) source: Arc<Source>,
    pub(crate) body: Vec<Stmt>,
    /// Blocks by name, those inside others included.
    pub(crate) blocks: Vec<Arc<BlockDef>>,
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) span: Span,
    pub(crate) kind: ExprKind,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Str),
    Name(Str),
    Tuple(Vec<Expr>),
    List(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Concat(Vec<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Negative(Box<Expr>),
    Positive(Box<Expr>),
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Compare(Box<Expr>, Vec<(CompareOp, Expr)>),
    Condition(Box<Condition>),
    /// A filter; without a value inside a filter block.
    Filter(Box<Applied>),
    Test(Box<Applied>),
    Call(Box<Expr>, Box<CallArgs>),
    Attribute(Box<Expr>, Str),
    Item(Box<Expr>, Box<Expr>),
    Slice(Box<[Option<Expr>; 3]>),
}

#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) test: Expr,
    pub(crate) then: Expr,
    pub(crate) otherwise: Option<Expr>,
}

#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) value: Option<Expr>,
    pub(crate) name: Str,
    pub(crate) args: CallArgs,
}

#[derive(Debug, Default)]
pub(crate) struct CallArgs {
    pub(crate) positional: Vec<Expr>,
    pub(crate) named: Vec<(Str, Expr)>,
    pub(crate) star: Option<Expr>,
    pub(crate) star_star: Option<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn,
}

#[derive(Debug)]
pub(crate) struct Stmt {
    pub(crate) span: Span,
    pub(crate) kind: StmtKind,
}

#[derive(Debug)]
pub(crate) enum StmtKind {
    Data(Str),
    Output(Expr),
    If(Vec<(Expr, Vec<Stmt>)>, Vec<Stmt>),
    For(Arc<For>),
    Set(Target, Expr),
    SetBlock(Target, Option<Expr>, Vec<Stmt>),
    With(Vec<(Target, Expr)>, Vec<Stmt>),
    Macro(Arc<MacroDef>),
    CallBlock(Arc<MacroDef>, Expr),
    FilterBlock(Expr, Vec<Stmt>),
    Do(Expr),
    Break,
    Continue,
    Include(Box<Include>),
    Import(Box<Import>),
    FromImport(Box<FromImport>),
    Block(Arc<BlockDef>),
    Extends(Expr),
    /// `autoescape`: its body only.
    Scope(Vec<Stmt>),
    /// `load_yaml` and its kin: the decoder's name, the target, the text.
    Load(&'static str, Target, Vec<Stmt>),
    /// `import_yaml` and its kin.
    ImportData(&'static str, Box<Import>),
    /// `profile`: a label that is evaluated, and the body in the same scope.
    Profile(Expr, Vec<Stmt>),
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) target: Target,
    pub(crate) iterable: Expr,
    pub(crate) test: Option<Expr>,
    pub(crate) recursive: bool,
    pub(crate) body: Vec<Stmt>,
    pub(crate) otherwise: Vec<Stmt>,
}

#[derive(Debug)]
pub(crate) enum Target {
    Name(Str),
    Tuple(Vec<Self>),
    /// `ns.attribute`.
    Attribute(Str, Str, Span),
}

#[derive(Debug)]
pub(crate) struct MacroDef {
    pub(crate) name: Option<Str>,
    pub(crate) parameters: Vec<(Str, Option<Expr>)>,
    pub(crate) body: Vec<Stmt>,
    pub(crate) takes_varargs: bool,
    pub(crate) takes_kwargs: bool,
    pub(crate) takes_caller: bool,
}

#[derive(Debug)]
pub(crate) struct BlockDef {
    pub(crate) name: Str,
    pub(crate) scoped: bool,
    pub(crate) required: bool,
    pub(crate) body: Vec<Stmt>,
    pub(crate) source: Arc<Source>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct Include {
    pub(crate) template: Expr,
    pub(crate) ignore_missing: bool,
    pub(crate) with_context: bool,
}

#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) template: Expr,
    pub(crate) target: Str,
    pub(crate) with_context: bool,
}

#[derive(Debug)]
pub(crate) struct FromImport {
    pub(crate) template: Expr,
    pub(crate) names: Vec<(Str, Str)>,
    pub(crate) with_context: bool,
}
