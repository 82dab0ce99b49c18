//! What is wrong with a source, and where.

use std::fmt;

use mrml::prelude::parser::Error;

/// A place in a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

/// Why a source cannot be made into HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong and what to do about it.
    pub message: String,
    /// Where, if that is known.
    pub place: Option<Place>,
}

impl Fault {
    /// A fault of the source as a whole.
    pub(super) fn nowhere(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(Place { line, column }) => write!(f, "line {line}, column {column}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// A fault whose place counts in the bytes of a text that was made from the source.
#[derive(Debug)]
pub(super) struct Flaw {
    message: String,
    at: Option<usize>,
}

impl Flaw {
    pub(super) fn at(at: usize, message: impl Into<String>) -> Self {
        Self { message: message.into(), at: Some(at) }
    }

    pub(super) fn nowhere(message: impl Into<String>) -> Self {
        Self { message: message.into(), at: None }
    }

    /// The same in the source, where `to_source` finds what stands at a byte of the text.
    pub(super) fn in_source(self, source: &str, to_source: impl Fn(usize) -> usize) -> Fault {
        let place = |at: usize| {
            let mut end = to_source(at).min(source.len());
            while !source.is_char_boundary(end) {
                end -= 1;
            }
            let before = &source[..end];
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            Place { line: line as u32, column: column as u32 }
        };
        Fault { message: self.message, place: self.at.map(place) }
    }
}

/// The fault that `mrml` found.
pub(super) fn of_parser(error: Error) -> Flaw {
    match error {
        Error::UnexpectedElement { position, .. } => Flaw::at(
            position.start,
            "This element cannot stand here. Remove it, or move it to where MJML allows it.",
        ),
        Error::UnexpectedToken { position, .. } => Flaw::at(
            position.start,
            "This cannot stand here. An element before it may not be closed, or closed twice, or the text belongs into an \
             element such as `mj-text`.",
        ),
        Error::MissingAttribute { name, position, .. } => {
            Flaw::at(position.start, format!("The element needs the attribute `{name}`."))
        }
        Error::InvalidAttribute { position, .. } => {
            Flaw::at(position.start, "The attribute has a value that it cannot have.")
        }
        Error::InvalidFormat { position, .. } => Flaw::at(position.start, "This cannot be read."),
        Error::EndOfStream { .. } => Flaw::nowhere("The MJML ends before all of its elements are closed."),
        Error::SizeLimit { .. } => Flaw::nowhere("The MJML is too long."),
        Error::NoRootNode => {
            Flaw::nowhere("There is no `mjml` element. Put everything between `<mjml>` and `</mjml>`.")
        }
        Error::ParserError { source, .. } => Flaw::nowhere(format!("The MJML cannot be read: {source}.")),
        Error::IncludeLoaderError { position, .. } => Flaw::at(position.start, NO_INCLUDE),
    }
}

/// What is said of `mj-include`.
pub(super) const NO_INCLUDE: &str =
    "`mj-include` is not available: put what it would include into the MJML itself.";
