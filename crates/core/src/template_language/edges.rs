//! Puts the edges of marks into a program.

use std::ops::Range;

use super::mark::Edge;
use super::program::{Block, Node};

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
