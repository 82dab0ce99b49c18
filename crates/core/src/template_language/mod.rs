//! The template language: `{{name}}` placeholders as the contract says ("Template variable syntax"), with
//! conditionals, loops and filters in Liquid syntax as an extension.
//!
//! A [`Template`] is parsed once and rendered many times. Rendering is a pure function of the template, the
//! [`Scope`] and the [`Escape`] mode: it reads no clock, file, network or environment, leaves nothing behind for
//! the next render, never evaluates a data value as a template, and never fails.
//!
//! Where things are: `lex` cuts the source into text, outputs and tags; `reader`, `expr` and `condition` read what
//! stands inside the braces; `parse`, with `tags`, builds the `program`; `render` runs it over `value`s found through
//! `scope`, with `filters`, into a bounded `output`.
//!
//! Everything is bounded, because templates and data both come from outside: source ([`MAX_SOURCE`]), nesting
//! ([`MAX_DEPTH`]), output ([`MAX_OUTPUT`]), one computed value ([`MAX_VALUE`], [`MAX_LIST`]) and the work of one
//! render ([`MAX_WORK`]). When the work runs out, loops end and filters are skipped but the rest of the template
//! is still written, so that a mail keeps its footer.

mod budget;
mod compare;
mod condition;
mod edges;
mod expr;
mod filters;
mod lex;
mod mark;
mod names;
mod number;
mod output;
mod parse;
mod program;
mod reader;
mod render;
mod scope;
mod tags;
mod value;
mod written;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use mark::Marks;
use parse::Rules;
use program::Program;

pub use budget::Budget;
pub use mark::Mark;
pub use scope::{Fixed, Scope};

/// The longest source, in characters, that [`Template::parse`] accepts.
pub const MAX_SOURCE: usize = 2_000_000;
/// How many bytes longer than its source a render can be at most; what would come after is cut off.
pub const MAX_OUTPUT: usize = 1024 * 1024;
/// How many bytes longer than its source a render without values can be. Each byte of the values adds [`PER_BYTE`], up
/// to [`MAX_OUTPUT`], so that who wants much written brings much.
pub const FREE_OUTPUT: usize = 64 * 1024;
/// How many bytes longer a render can be for each byte of the values in its scope.
pub const PER_BYTE: usize = 64;
/// How deep blocks (`if`, `for`, ...) can stand inside each other.
pub const MAX_DEPTH: usize = 64;
/// The longest text, in bytes, that a filter or `capture` makes; longer ones are cut off.
pub const MAX_VALUE: usize = 1024 * 1024;
/// The most elements that a filter puts in a list.
pub const MAX_LIST: usize = 65_536;
/// The work one render can do. A unit is about one byte moved; a node of the program costs [`STEP_COST`].
pub const MAX_WORK: u64 = 32 * 1024 * 1024;
/// What running one node of the program, or one turn of a loop, costs in units of work.
pub const STEP_COST: u64 = 32;

/// `source` with everything in braces, and what `comment` blocks hold, replaced by as many letters `x`, so that none of
/// it is taken for the HTML around it.
pub fn masked(source: &str) -> String {
    lex::masked(source)
}

/// Where `source` has something else than text, in order and apart: placeholders, tags, and what `comment` blocks hold.
pub fn marked_up(source: &str) -> Vec<Range<usize>> {
    lex::marked_up(source)
}

/// `text` for HTML that the service writes itself, in elements and in quoted attributes: the same escaping that values
/// get in [`Escape::Html`].
pub fn escape_html(text: &str) -> String {
    output::escaped(text)
}

/// How values are written into the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// For HTML bodies: `&`, `<`, `>`, `"` and `'` in values become entities, and a list is written as `<li>`
    /// elements. `{{{ name }}}` and `| raw` write a value as it is.
    Html,
    /// For subjects and plain text: values are written as they are, and a list is joined with `, `.
    Text,
    /// For addresses (RFC 3986): the same as text, and all but unreserved characters of what is written is
    /// percent-encoded, also with `raw`.
    Url,
}

/// A compiled template. Cloning is cheap, and clones can be rendered from several threads at once.
#[derive(Debug, Clone)]
pub struct Template {
    program: Arc<Program>,
}

impl Template {
    /// Compiles `source`, refusing what is not well formed. For the time a template or campaign is saved.
    pub fn parse(source: &str) -> Result<Self, SyntaxError> {
        if longer_than(source, MAX_SOURCE) {
            let message = format!("The template is longer than {MAX_SOURCE} characters. Shorten it.");
            return Err(SyntaxError { line: 1, column: 1, message });
        }
        Ok(Self::from(parse::parse(source, Rules::Strict, &[])?))
    }

    /// Compiles `source` whatever it holds. For inline bodies of `/v1/send`, which a template never fails.
    ///
    /// Unknown filters are skipped, and a placeholder that is not well formed is read as one name. If a `{% %}`
    /// tag is at fault, only the placeholders are recognised and every tag stays as literal text.
    pub fn parse_lenient(source: &str) -> Self {
        Self::parse_marked(source, &[])
    }

    /// The same with marks: ranges of `source`, in order and apart, whose places in what is rendered
    /// [`Template::render_marked`] tells.
    pub fn parse_marked(source: &str, marks: &[Range<usize>]) -> Self {
        let parse = |rules| parse::parse(source, rules, marks).ok();
        let tags = if longer_than(source, MAX_SOURCE) { None } else { parse(Rules::Lenient) };
        let program = tags.or_else(|| parse(Rules::Placeholders)).unwrap_or_else(|| Program::literal(source));
        Self::from(program)
    }

    /// The template filled in from `scope`.
    pub fn render(&self, scope: &Scope<'_>, mode: Escape) -> String {
        let mut out = String::with_capacity(self.program.source.len() + 256);
        self.render_into(scope, mode, &mut out);
        out
    }

    /// Appends the template filled in from `scope` to `out`. It grows by at most the
    /// length of the source and [`MAX_OUTPUT`].
    pub fn render_into(&self, scope: &Scope<'_>, mode: Escape, out: &mut String) {
        let budget = Budget::full();
        render::render(&self.program, scope, mode, MAX_OUTPUT, &budget, out, &mut Marks::default());
    }

    /// The template filled in from `scope`, at most `room` bytes longer than its source; `None` when that is too
    /// little.
    pub fn render_within(&self, scope: &Scope<'_>, mode: Escape, room: usize) -> Option<String> {
        self.render_sharing(scope, mode, room, &Budget::full())
    }

    /// The same with the work that others have left of a budget.
    pub fn render_sharing(
        &self,
        scope: &Scope<'_>,
        mode: Escape,
        room: usize,
        budget: &Budget,
    ) -> Option<String> {
        let mut out = String::with_capacity(self.program.source.len() + 256);
        let marks = &mut Marks::default();
        render::render(&self.program, scope, mode, room, budget, &mut out, marks).then_some(out)
    }

    /// The template filled in from `scope`, at most `room` bytes longer than its source, with its marks in the order in
    /// which they were written; a mark in a loop is there for each turn. `None` when the room is too little.
    pub fn render_marked(&self, scope: &Scope<'_>, mode: Escape, room: usize) -> Option<(String, Vec<Mark>)> {
        let mut out = String::with_capacity(self.program.source.len() + 256);
        let (mut marks, budget) = (Marks::default(), Budget::full());
        let fits = render::render(&self.program, scope, mode, room, &budget, &mut out, &mut marks);
        fits.then(|| (out, marks.into_list()))
    }

    /// Whether it may write values as markup: by `{{{ name }}}`, the filter `raw` or a `capture`.
    pub fn writes_markup(&self) -> bool {
        self.program.writes_markup
    }

    /// How many bytes its source has.
    pub fn source_len(&self) -> usize {
        self.program.source.len()
    }

    /// The top-level names that the template looks up in its scope: `profile` for `{{profile.tier}}`. Loop
    /// variables, and names the template has assigned before it uses them, are not among them.
    pub fn variables(&self) -> BTreeSet<String> {
        self.program.free_names().map(str::to_owned).collect()
    }

    /// Those of [`Template::variables`] whose values are written without anything in their place, so that a reader sees a
    /// gap where there is none: not `{{name ?? "friend"}}`, and not what stands below a condition on it.
    pub fn bare_variables(&self) -> BTreeSet<String> {
        let named = |symbol: usize| self.program.names.get(symbol).filter(|name| name.free);
        written::bare(&self.program).into_iter().filter_map(named).map(|name| name.text.to_string()).collect()
    }

    /// How many of its conditions look at nothing, so that all recipients get the same: `{% if true %}`. Such a condition
    /// was most likely never set.
    pub fn constant_conditions(&self) -> usize {
        written::constant_conditions(&self.program.nodes)
    }

    /// Whether [`Template::variables`] has `name`.
    pub fn uses(&self, name: &str) -> bool {
        self.program.free_names().any(|free| free == name)
    }
}

impl From<Program> for Template {
    fn from(program: Program) -> Self {
        Self { program: Arc::new(program) }
    }
}

/// Why a template cannot be saved, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl SyntaxError {
    /// The error at byte `offset` of `source`.
    fn at(source: &str, offset: usize, message: String) -> Self {
        let before = source.get(..offset).unwrap_or(source);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line: line as u32, column: column as u32, message }
    }
}

/// A problem at a byte offset, before it is known what source the offset counts in.
#[derive(Debug)]
struct Fault {
    at: usize,
    message: String,
}

impl Fault {
    fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

/// Whether `text` has more than `limit` characters.
fn longer_than(text: &str, limit: usize) -> bool {
    text.len() > limit && text.chars().count() > limit
}

/// ` Did you mean ...?` when one of `known` is close to `word`, else nothing.
fn suggestion<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> String {
    // Half of a short word can be mistyped before the guess is worth nothing.
    let tolerated = (word.chars().count() / 2).min(2);
    let near = known.map(|name| (edits(word, name), name)).min().filter(|(edits, _)| *edits <= tolerated);
    near.map(|(_, name)| format!(" Did you mean `{name}`?")).unwrap_or_default()
}

/// How many characters must be inserted, removed or replaced to turn `from` into `to` (Levenshtein). Words too
/// long to be a typing slip count as infinitely far.
fn edits(from: &str, to: &str) -> usize {
    if from.len() > 40 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.chars().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}
