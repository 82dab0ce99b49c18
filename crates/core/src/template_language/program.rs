//! The compiled form of a template: a tree whose depth the parser has bounded.

use std::ops::Range;

use super::filters::Filter;
use super::mark::Edge;
use super::names::{Name, Symbol};

/// A compiled template.
#[derive(Debug)]
pub(super) struct Program {
    /// The source, which text nodes point into.
    pub(super) source: Box<str>,
    pub(super) nodes: Block,
    pub(super) names: Box<[Name]>,
    /// Whether rendering needs slots for the template's own variables.
    pub(super) defines: bool,
    /// Whether a value may be written as it is.
    pub(super) writes_markup: bool,
}

impl Program {
    /// The program that writes `source` as it is.
    pub(super) fn literal(source: &str) -> Self {
        let nodes = vec![Node::Text(0..source.len())];
        Self { source: source.into(), nodes, names: Box::default(), defines: false, writes_markup: false }
    }

    /// The names looked up in the scope.
    pub(super) fn free_names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter(|name| name.free).map(|name| &*name.text)
    }
}

/// Nodes run one after the other.
pub(super) type Block = Vec<Node>;

/// One thing a program does.
#[derive(Debug)]
pub(super) enum Node {
    /// Writes a piece of the source.
    Text(Range<usize>),
    /// A mark begins or ends here, see [`Edge`].
    Edge(Edge),
    /// Writes a value; `raw` keeps it as it is in either mode.
    Output { value: Pipeline, raw: bool },
    /// `if` and `unless`: runs the first branch whose condition holds.
    If { branches: Vec<(Condition, Block)>, otherwise: Block },
    /// `case`: runs the first branch that lists the subject.
    Case { subject: Expr, branches: Vec<(Vec<Expr>, Block)>, otherwise: Block },
    /// `for`.
    For(Box<Loop>),
    /// `assign`.
    Assign { name: Symbol, value: Pipeline },
    /// `capture`.
    Capture { name: Symbol, body: Block },
    /// `break`.
    Break,
    /// `continue`.
    Continue,
}

/// A `for` block.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) variable: Symbol,
    /// The symbol of `forloop`.
    pub(super) info: Symbol,
    pub(super) source: Expr,
    pub(super) limit: Option<Expr>,
    pub(super) offset: Option<Expr>,
    pub(super) reversed: bool,
    pub(super) body: Block,
    pub(super) otherwise: Block,
}

/// A value and what is done to it before it is used: `name ?? "friend" | upcase`.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) head: Expr,
    pub(super) steps: Vec<Step>,
}

/// One step of a [`Pipeline`].
#[derive(Debug)]
pub(super) enum Step {
    /// `?? text`: takes the place of a missing or null value.
    Fallback(Box<str>),
    /// `| filter: arguments`.
    Filter(&'static Filter, Vec<Expr>),
}

/// Tests joined by `and` and `or`. The operators associate to the right, as in Liquid: `a and b or c` is
/// `a and (b or c)`.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) first: Test,
    pub(super) rest: Vec<(Join, Test)>,
    /// Whether the whole is turned round (`unless`).
    pub(super) negated: bool,
}

/// How two tests are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    And,
    Or,
}

/// One comparison, or one value taken as true or false.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) left: Expr,
    pub(super) compared: Option<(Comparison, Expr)>,
}

/// The comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

/// What stands for a value.
#[derive(Debug)]
pub(super) enum Expr {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Box<str>),
    /// The literal `empty`.
    Empty,
    /// The literal `blank`.
    Blank,
    Path(Path),
    /// `(first..last)`.
    Range(Box<(Expr, Expr)>),
}

/// A name and the way from its value down: `profile.tags[0]`.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) root: Symbol,
    pub(super) rest: Vec<Key>,
}

/// One step of a [`Path`].
#[derive(Debug)]
pub(super) enum Key {
    /// A fixed key, and the index it is for a list if it reads as a number.
    Fixed(Box<str>, Option<i64>),
    /// `[name]`: the key is the value of another expression.
    Computed(Expr),
}

impl Key {
    /// The key written as `text`.
    pub(super) fn fixed(text: &str) -> Self {
        Self::Fixed(text.into(), text.parse().ok())
    }
}

impl Pipeline {
    /// Whether one of the steps is the filter `raw`.
    pub(super) fn is_raw(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Filter(filter, _) if filter.name == "raw"))
    }
}
