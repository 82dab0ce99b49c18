//! The open elements that change how the text inside them is shown.

use super::element::Element;
use super::style::Look;
use super::tokens::Tag;

/// Most elements that are kept; what is nested deeper is shown like what is around it.
const MAX_DEPTH: usize = 64;
/// Most quotes and lists that a line shows before its text.
const MAX_LEVELS: usize = 8;
/// The highest number that a list begins with.
const MAX_START: u32 = 999_999;

/// How text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mode {
    /// The element is hidden.
    pub(super) hidden: bool,
    /// In letters without a size, unless an element in between gives them one.
    pub(super) tiny: bool,
    /// With its own spaces and line ends.
    pub(super) preformatted: bool,
}

#[derive(Debug)]
enum Kind {
    Plain,
    Quote,
    List(List),
    /// A table, and whether it has a header: then it holds data, and its columns matter.
    Table(bool),
}

#[derive(Debug, Default)]
struct List {
    /// The number of the next item; `None` in a list without numbers.
    number: Option<u32>,
    /// What stands before the next word.
    marker: Option<String>,
    /// How far the lines of the current item are indented.
    indent: usize,
}

#[derive(Debug)]
struct Open<'a> {
    name: &'a str,
    /// How many elements of that name were opened in it and not closed.
    nested: usize,
    /// The mode around it.
    outer: Mode,
    kind: Kind,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Nesting<'a> {
    open: Vec<Open<'a>>,
    pub(super) mode: Mode,
    /// An item outside of all lists has begun, and nothing of it was written.
    stray_item: bool,
    /// Whether the element of the last tag, which holds nothing, is hidden.
    is_tag_hidden: bool,
    /// How many bytes of indentation and quotes may still be written, so that no HTML grows by them beyond measure.
    allowance: usize,
}

impl<'a> Nesting<'a> {
    /// Nothing is open. The lines of the text have at most this many bytes of indentation and quotes together.
    pub(super) fn new(allowance: usize) -> Self {
        Self { allowance, ..Self::default() }
    }

    /// Takes note of an element that begins.
    pub(super) fn enter(&mut self, element: Element, tag: &Tag<'a>) {
        self.end_implied(element);
        self.is_tag_hidden = false;
        let look = Look::of(tag);
        if is_void(tag.name) {
            self.is_tag_hidden = look.hidden;
            return;
        }
        let mode = Mode {
            hidden: self.mode.hidden || look.hidden,
            tiny: look.tiny.unwrap_or(self.mode.tiny),
            preformatted: self.mode.preformatted || element == Element::Preformatted,
        };
        let kind = match element {
            Element::Quote => Kind::Quote,
            Element::List => Kind::List(List::of(tag)),
            Element::Table => Kind::Table(false),
            _ => Kind::Plain,
        };
        let changes = mode != self.mode || !matches!(kind, Kind::Plain);
        if changes && self.open.len() < MAX_DEPTH {
            self.open.push(Open { name: tag.name, nested: 0, outer: self.mode, kind });
            self.mode = mode;
        } else if let Some(same) = self.open.iter_mut().rev().find(|open| is_same(open.name, tag.name)) {
            same.nested += 1;
        }
        if tag.name.eq_ignore_ascii_case("th")
            && let Some(Kind::Table(has_header)) = self
                .open
                .iter_mut()
                .rev()
                .map(|open| &mut open.kind)
                .find(|kind| matches!(kind, Kind::Table(_)))
        {
            *has_header = true;
        }
    }

    /// Takes note of an element that ends, and of all in it that did not.
    pub(super) fn leave(&mut self, name: &str) {
        let Some(at) = self.open.iter().rposition(|open| is_same(open.name, name)) else { return };
        if self.open[at].nested > 0 {
            self.open[at].nested -= 1;
        } else {
            self.mode = self.open[at].outer;
            self.open.truncate(at);
        }
    }

    /// Ends what ends without an end tag: a paragraph before a block, an item before the next one.
    fn end_implied(&mut self, element: Element) {
        let ended = match element {
            Element::Inline
            | Element::Link
            | Element::Image
            | Element::Break
            | Element::Head
            | Element::Dropped => return,
            Element::Item => {
                let list = self.open.iter().rposition(|open| matches!(open.kind, Kind::List(_)));
                let from = list.map_or(0, |list| list + 1);
                self.open[from..].iter().position(|open| is_same(open.name, "li")).map(|at| from + at)
            }
            _ => None,
        };
        let paragraph =
            || self.open.last().filter(|open| is_same(open.name, "p")).map(|_| self.open.len() - 1);
        if let Some(at) = ended.or_else(paragraph) {
            self.mode = self.open[at].outer;
            self.open.truncate(at);
        }
    }

    /// Whether what the last tag began is hidden.
    pub(super) fn hides_tag(&self) -> bool {
        self.mode.hidden || self.is_tag_hidden
    }

    fn list(&mut self) -> Option<&mut List> {
        self.open.iter_mut().rev().find_map(|open| match &mut open.kind {
            Kind::List(list) => Some(list),
            _ => None,
        })
    }

    /// Whether a list is open around the innermost one.
    pub(super) fn has_outer_list(&self) -> bool {
        self.open.iter().filter(|open| matches!(open.kind, Kind::List(_))).count() > 1
    }

    /// An item begins: its marker stands before its first word.
    pub(super) fn begin_item(&mut self, tag: &Tag<'_>) {
        let given = tag.attribute("value").and_then(|value| value.trim().parse().ok());
        let Some(list) = self.list() else {
            self.stray_item = true;
            return;
        };
        let marker = match &mut list.number {
            Some(next) => {
                let number = given.map_or(*next, |number: u32| number.min(MAX_START));
                *next = number.saturating_add(1);
                format!("{number}. ")
            }
            None => "- ".to_owned(),
        };
        list.indent = marker.len();
        list.marker = Some(marker);
    }

    pub(super) fn end_item(&mut self) {
        self.stray_item = false;
        if let Some(list) = self.list() {
            (list.marker, list.indent) = (None, 0);
        }
    }

    /// Whether empty cells at the beginning of a row keep their place.
    pub(super) fn in_data_table(&self) -> bool {
        let innermost = self.open.iter().rev().find_map(|open| match open.kind {
            Kind::Table(has_header) => Some(has_header),
            _ => None,
        });
        innermost.unwrap_or(false)
    }

    /// Writes what stands before the text of a line: quotes, markers of items that begin, indentation of others.
    pub(super) fn begin_line(&mut self, out: &mut String) {
        let mut levels = 0;
        let allowance = &mut self.allowance;
        let mut grant = |bytes: usize| {
            let is_granted = *allowance >= bytes;
            *allowance = allowance.saturating_sub(bytes);
            is_granted
        };
        for open in &mut self.open {
            let is_level = !matches!(open.kind, Kind::Plain | Kind::Table(_));
            levels += usize::from(is_level);
            match &mut open.kind {
                Kind::List(list) => match list.marker.take() {
                    Some(marker) if levels <= MAX_LEVELS => out.push_str(&marker),
                    None if levels <= MAX_LEVELS && grant(list.indent) => {
                        out.extend(std::iter::repeat_n(' ', list.indent));
                    }
                    _ => {}
                },
                Kind::Quote if levels <= MAX_LEVELS && grant(2) => out.push_str("> "),
                Kind::Quote | Kind::Plain | Kind::Table(_) => {}
            }
        }
        if std::mem::take(&mut self.stray_item) {
            out.push_str("- ");
        }
    }

    /// How many quotes the line of a word is in: those around all lists.
    pub(super) fn quotes(&self) -> usize {
        let outer = self.open.iter().take_while(|open| !matches!(open.kind, Kind::List(_)));
        outer.filter(|open| matches!(open.kind, Kind::Quote)).count().min(MAX_LEVELS)
    }

    /// Of so many quotes, how many each of these lines without text shows: all, or none.
    pub(super) fn quotes_of_blank_lines(&mut self, quotes: usize, lines: usize) -> usize {
        let bytes = (2 * quotes).saturating_mul(lines);
        let quotes = if self.allowance >= bytes { quotes } else { 0 };
        self.allowance = self.allowance.saturating_sub(bytes);
        quotes
    }
}

impl List {
    fn of(tag: &Tag<'_>) -> Self {
        let start = || tag.attribute("start").and_then(|start| start.trim().parse().ok()).unwrap_or(1);
        let number = is_same(tag.name, "ol").then(|| start().min(MAX_START));
        Self { number, ..Self::default() }
    }
}

fn is_same(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

/// Elements that have no content and no end tag.
pub(super) fn is_void(name: &str) -> bool {
    const VOID: [&str; 13] = [
        "br", "img", "hr", "meta", "link", "input", "col", "area", "base", "wbr", "source", "embed", "track",
    ];
    VOID.iter().any(|void| is_same(void, name))
}
