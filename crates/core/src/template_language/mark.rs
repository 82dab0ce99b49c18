//! Marks: ranges of a source whose places in what is rendered are wanted, such as the targets of links.
//!
//! Only text outside of braces can hold an edge of a mark. A mark of which the template runs only one edge, because the
//! other stands in a branch that is not taken, is not reported.

use std::ops::Range;

use super::program::{Block, Node};

/// Where a mark of the source begins or ends in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Begin(u32),
    End(u32),
}

/// A mark in what was rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The number of the mark: its place among those that the template was compiled with.
    pub number: u32,
    /// What was written between its edges.
    pub range: Range<usize>,
}

/// The edges that are not in the program yet, in the order of the source.
#[derive(Debug)]
pub(super) struct Edges {
    edges: std::vec::IntoIter<(usize, Edge)>,
}

impl Edges {
    /// The edges of marks, which stand in the order of the source and do not overlap.
    pub(super) fn new(marks: &[Range<usize>]) -> Self {
        let edges = marks.iter().enumerate().flat_map(|(number, mark)| {
            let number = number as u32;
            [(mark.start, Edge::Begin(number)), (mark.end, Edge::End(number))]
        });
        Self { edges: edges.collect::<Vec<_>>().into_iter() }
    }

    /// Adds the text `inner` to `nodes`, with the edges that stand in `whole`, which is the same before the white space
    /// next to trim markers was taken off.
    pub(super) fn cut(&mut self, whole: Range<usize>, inner: Range<usize>, nodes: &mut Block) {
        let mut from = inner.start;
        while let Some((at, edge)) = self.edges.as_slice().first().copied().filter(|(at, _)| *at <= whole.end)
        {
            self.edges.next();
            if at < whole.start {
                continue; // inside of braces
            }
            let at = at.clamp(from, inner.end);
            if from < at {
                nodes.push(Node::Text(from..at));
            }
            from = at;
            nodes.push(Node::Edge(edge));
        }
        if from < inner.end {
            nodes.push(Node::Text(from..inner.end));
        }
    }
}

/// Gathers the marks of one render.
#[derive(Debug, Default)]
pub(super) struct Marks {
    open: Option<(u32, usize)>,
    marks: Vec<Mark>,
}

impl Marks {
    /// Notes an edge after `written` bytes.
    pub(super) fn note(&mut self, edge: Edge, written: usize) {
        match edge {
            Edge::Begin(number) => self.open = Some((number, written)),
            Edge::End(number) => {
                let begun = self.open.take().filter(|(begun, _)| *begun == number);
                self.marks.extend(begun.map(|(_, start)| Mark { number, range: start..written }));
            }
        }
    }

    /// The marks, in the order in which they were written.
    pub(super) fn into_list(self) -> Vec<Mark> {
        self.marks
    }
}
