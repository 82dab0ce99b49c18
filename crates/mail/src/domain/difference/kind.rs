//! What a difference is told with.

use mailwright_core::domain::DifferenceKind;

/// What is different about a record, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Which of the usual mistakes it is.
    pub kind: DifferenceKind,
    /// A sentence or two in plain words.
    pub text: String,
    /// The values in these words that the record does not have itself, by their names. What others published in their DNS
    /// is among them.
    pub details: Vec<(&'static str, String)>,
}

impl Difference {
    pub(super) fn new(kind: DifferenceKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), details: Vec::new() }
    }

    /// The same with a value of the text.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.details.push((name, value.into()));
        self
    }
}
