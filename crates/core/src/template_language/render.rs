//! Runs a program.

use std::cmp::Ordering;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::budget::Budget;
use super::filters::Call;
use super::mark::{Edge, Marks};
use super::names::Symbol;
use super::number::Num;
use super::output::Output;
use super::program::{
    Comparison, Condition, Expr, Join, Key, Loop, Node, Path, Pipeline, Program, Step, Test,
};
use super::scope::Scope;
use super::value::{Turn, Val};
use super::{Escape, FREE_OUTPUT, MAX_OUTPUT, MAX_VALUE, PER_BYTE, STEP_COST};

/// What is not encoded in an address (RFC 3986, section 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Appends what `program` writes to `out`, up to `most` bytes more than its source. Whether that was enough: what is
/// cut off by the bound that every render has counts as enough.
pub(super) fn render(
    program: &Program,
    scope: &Scope<'_>,
    mode: Escape,
    most: usize,
    budget: &Budget,
    out: &mut String,
    marks: &mut Marks,
) -> bool {
    let room = room(scope);
    let slots = if program.defines { program.names.len() } else { 0 };
    let mut render = Render {
        program,
        scope,
        mode,
        // A literal text, however long, fits; what values and loops add to it is bounded.
        out: Output::new(std::mem::take(out), program.source.len().saturating_add(room.min(most))),
        locals: vec![None; slots],
        budget,
        marks: Some(marks),
    };
    render.block(&program.nodes);
    let is_enough = most >= room || !render.out.is_full();
    *out = render.out.into_text();
    is_enough
}

/// How many bytes values and loops may add to the source.
fn room(scope: &Scope<'_>) -> usize {
    scope.size().saturating_mul(PER_BYTE).saturating_add(FREE_OUTPUT).min(MAX_OUTPUT)
}

/// What comes after a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

struct Render<'r> {
    program: &'r Program,
    scope: &'r Scope<'r>,
    mode: Escape,
    out: Output,
    /// The template's own variables, by symbol.
    locals: Vec<Option<Val<'r>>>,
    budget: &'r Budget,
    /// Where marks are noted; `None` while what is written is captured.
    marks: Option<&'r mut Marks>,
}

impl<'r> Render<'r> {
    fn block(&mut self, nodes: &'r [Node]) -> Flow {
        for node in nodes {
            let flow = self.node(node);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    fn node(&mut self, node: &'r Node) -> Flow {
        // Outside loops a node runs once, however little work is left; loops ask before each turn.
        self.budget.spend(STEP_COST);
        match node {
            Node::Text(span) => self.out.push(&self.program.source[span.clone()]),
            Node::Edge(edge) => self.edge(*edge),
            Node::Output { value, raw } => {
                let value = self.pipeline(value);
                self.write(&value, *raw);
            }
            Node::If { branches, otherwise } => {
                let branch = branches.iter().find(|(condition, _)| self.holds(condition));
                return self.block(branch.map_or(otherwise, |(_, body)| body));
            }
            Node::Case { subject, branches, otherwise } => {
                let subject = self.value(subject);
                let listed = |values: &'r [Expr]| {
                    values.iter().any(|value| subject.equals(&self.value(value), self.budget))
                };
                let branch = branches.iter().find(|(values, _)| listed(values));
                return self.block(branch.map_or(otherwise, |(_, body)| body));
            }
            Node::For(looped) => return self.iterate(looped),
            Node::Assign { name, value } => {
                let value = self.pipeline(value);
                self.set(*name, Some(value));
            }
            Node::Capture { name, body } => return self.capture(*name, body),
            Node::Break => return Flow::Break,
            Node::Continue => return Flow::Continue,
        }
        Flow::Next
    }

    fn edge(&mut self, edge: Edge) {
        // what was cut off is not what the mark says
        if let Some(marks) = self.marks.as_mut().filter(|_| !self.out.is_full()) {
            marks.note(edge, self.out.len());
        }
    }

    fn iterate(&mut self, looped: &'r Loop) -> Flow {
        let sequence = self.value(&looped.source);
        self.budget.spend(sequence.weight());
        let sequence = sequence.into_sequence();
        let all = sequence.len().unwrap_or_default();
        let from = looped.offset.as_ref().map_or(0, |offset| self.count(offset)).min(all);
        let length = looped.limit.as_ref().map_or(all, |limit| self.count(limit)).min(all - from);
        if length == 0 {
            return self.block(&looped.otherwise);
        }
        let outer = (self.get(looped.variable), self.get(looped.info));
        for index in 0..length {
            if self.out.is_full() || !self.budget.spend(STEP_COST) {
                break;
            }
            let at = if looped.reversed { from + length - 1 - index } else { from + index };
            self.set(looped.variable, Some(sequence.item(at)));
            self.set(looped.info, Some(Val::Turn(Turn { index, length })));
            if self.block(&looped.body) == Flow::Break {
                break;
            }
        }
        self.set(looped.variable, outer.0);
        self.set(looped.info, outer.1);
        Flow::Next
    }

    /// The value of `limit` or `offset`.
    fn count(&self, expr: &'r Expr) -> usize {
        let number = self.value(expr).number().map_or(0.0, Num::float);
        number as usize
    }

    fn capture(&mut self, name: Symbol, body: &'r [Node]) -> Flow {
        let outer = std::mem::replace(&mut self.out, Output::new(String::new(), MAX_VALUE));
        let mode = self.mode;
        if mode == Escape::Url {
            // it is encoded when it is written
            self.mode = Escape::Text;
        }
        let marks = self.marks.take();
        let flow = self.block(body);
        self.marks = marks;
        self.mode = mode;
        let text = std::mem::replace(&mut self.out, outer).into_text();
        self.budget.spend(text.len() as u64);
        // In HTML mode, the values in the text have been escaped on their way in.
        let value = if self.is_html() { Val::markup(text) } else { Val::string(text) };
        self.set(name, Some(value));
        flow
    }

    /// Writes `value` as the mode says.
    fn write(&mut self, value: &Val<'r>, raw: bool) {
        if self.out.is_full() {
            return;
        }
        let Some(len) = value.len() else { return self.write_text(value, raw) };
        for index in 0..len {
            if self.out.is_full() {
                break;
            }
            if index > 0 {
                self.out.push(if self.is_html() { "\n" } else { ", " });
            }
            let item = value.item(index);
            if self.is_html() {
                self.out.push("<li>");
            }
            if item.is_compound() {
                self.write_text(&Val::string(item.json()), raw);
            } else {
                self.write_text(&item, raw);
            }
            if self.is_html() {
                self.out.push("</li>");
            }
        }
    }

    fn is_html(&self) -> bool {
        self.mode == Escape::Html
    }

    fn write_text(&mut self, value: &Val<'_>, raw: bool) {
        if self.mode == Escape::Url {
            self.out.push(&utf8_percent_encode(&value.text(), UNRESERVED).to_string());
        } else if !self.is_html() || raw || matches!(value, Val::Markup(_)) {
            self.out.push(&value.text());
        } else {
            self.out.push_escaped(&value.text());
        }
    }

    fn pipeline(&self, pipeline: &'r Pipeline) -> Val<'r> {
        let mut value = self.value(&pipeline.head);
        for step in &pipeline.steps {
            match step {
                Step::Fallback(text) if value.is_nil() => value = Val::borrowed(text),
                Step::Fallback(_) => {}
                Step::Filter(filter, arguments) => {
                    if !self.budget.spend(STEP_COST + value.weight()) {
                        continue;
                    }
                    let arguments: Vec<_> = arguments.iter().map(|argument| self.value(argument)).collect();
                    value = filter.apply(&Call {
                        input: value,
                        arguments,
                        html: self.is_html(),
                        budget: self.budget,
                    });
                    self.budget.spend(value.weight());
                }
            }
        }
        value
    }

    fn holds(&self, condition: &'r Condition) -> bool {
        let mut holds = self.passes(&condition.first);
        for (join, test) in &condition.rest {
            // The operators associate to the right, so the first one that is decided decides the whole.
            if holds == (*join == Join::Or) {
                break;
            }
            holds = self.passes(test);
        }
        holds != condition.negated
    }

    fn passes(&self, test: &'r Test) -> bool {
        self.budget.spend(STEP_COST);
        let left = self.value(&test.left);
        let Some((comparison, right)) = &test.compared else { return left.is_true() };
        let right = self.value(right);
        let ordering = || {
            self.budget.spend((left.weight() + right.weight()) / 16);
            left.compare(&right)
        };
        match comparison {
            Comparison::Equal => left.equals(&right, self.budget),
            Comparison::NotEqual => !left.equals(&right, self.budget),
            Comparison::Less => ordering().is_some_and(Ordering::is_lt),
            Comparison::LessOrEqual => ordering().is_some_and(Ordering::is_le),
            Comparison::Greater => ordering().is_some_and(Ordering::is_gt),
            Comparison::GreaterOrEqual => ordering().is_some_and(Ordering::is_ge),
            Comparison::Contains => self.contains(&left, &right),
        }
    }

    fn contains(&self, whole: &Val<'_>, part: &Val<'_>) -> bool {
        match whole {
            Val::Str(text) | Val::Markup(text) => {
                let searched = !part.is_nil()
                    && !part.is_compound()
                    && self.budget.spend(whole.weight() + part.weight());
                searched && text.contains(&*part.text())
            }
            Val::Object(_) => !whole.at(part).is_nil(),
            _ => (0..whole.len().unwrap_or_default())
                .take_while(|_| self.budget.spend(STEP_COST))
                .any(|index| whole.item(index).equals(part, self.budget)),
        }
    }

    fn value(&self, expr: &'r Expr) -> Val<'r> {
        match expr {
            Expr::Nil => Val::Nil,
            Expr::Bool(value) => Val::Bool(*value),
            Expr::Int(value) => Val::Int((*value).into()),
            Expr::Float(value) => Val::float(*value),
            Expr::Text(text) => Val::borrowed(text),
            Expr::Empty => Val::Empty,
            Expr::Blank => Val::Blank,
            Expr::Path(path) => self.path(path),
            Expr::Range(ends) => {
                let end = |expr| self.value(expr).number().map_or(0, |number| number.float() as i64);
                Val::Range(end(&ends.0), end(&ends.1))
            }
        }
    }

    fn path(&self, path: &'r Path) -> Val<'r> {
        let mut value =
            self.get(path.root).unwrap_or_else(|| self.scope.lookup(&self.program.names[path.root.0].text));
        for key in &path.rest {
            value = match key {
                Key::Fixed(key, index) => {
                    if let Val::Str(text) | Val::Markup(text) = &value {
                        // The one thing to ask of a text is its size, which is counted.
                        self.budget.spend(text.len() as u64 / 16);
                    }
                    value.member(key, *index)
                }
                Key::Computed(expr) => value.at(&self.value(expr)),
            };
        }
        value
    }

    fn get(&self, name: Symbol) -> Option<Val<'r>> {
        self.locals.get(name.0)?.clone()
    }

    fn set(&mut self, name: Symbol, value: Option<Val<'r>>) {
        if let Some(slot) = self.locals.get_mut(name.0) {
            *slot = value;
        }
    }
}
