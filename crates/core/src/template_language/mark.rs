//! Marks: ranges of a source whose places in what is rendered are wanted, such as the targets of links.
//!
//! Only text outside of braces can hold an edge of a mark. A mark of which the template runs only one edge, because the
//! other stands in a branch that is not taken, is not reported.

use std::ops::Range;

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
