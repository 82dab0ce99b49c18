//! The text as it grows.

use super::address::{Destination, next_character};
use super::element::Element;
use super::nesting::Nesting;
use super::tokens::Tag;

/// The text for `hr`.
const RULE: &str = "----------";

/// White space that is owed before the next word; the greater one wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Gap {
    #[default]
    None,
    Space,
    Tab,
    Line,
    BlankLine,
}

/// A link that is open.
struct Link {
    to: Destination,
    /// Where in the output its text begins, once it has.
    start: Option<usize>,
}

/// What the last word was part of.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Last {
    #[default]
    Text,
    /// An address that ends where the next character would go on with it.
    Address,
    /// A link whose address stands in parentheses.
    Link,
}

#[derive(Default)]
pub(super) struct TextWriter<'a> {
    pub(super) out: String,
    gap: Gap,
    /// How many cells have ended since the last word or line break.
    tabs: usize,
    /// Line ends and then white space of preformatted text since the last word.
    own_lines: usize,
    own_space: String,
    nesting: Nesting<'a>,
    /// How many quotes the line of the last word was in.
    quotes: usize,
    /// A zero width non-joiner came last.
    joiner: bool,
    in_head: bool,
    link: Option<Link>,
    last: Last,
    /// What stands for pictures that were left out, a paragraph each, as HTML; of interest while there is no text.
    pub(super) alternatives: String,
}

impl<'a> TextWriter<'a> {
    /// A writer for HTML of so many bytes.
    pub(super) fn new(length: usize) -> Self {
        Self { out: String::with_capacity(length / 4), nesting: Nesting::new(length), ..Self::default() }
    }

    pub(super) fn open(&mut self, element: Element, tag: &Tag<'a>) {
        match element {
            Element::Head => self.in_head = true,
            // As in a browser, the first element that cannot be in the head ends it.
            Element::Inline | Element::Dropped => {}
            _ => self.in_head = false,
        }
        self.nesting.enter(element, tag);
        if self.nesting.hides_tag() {
            return;
        }
        match element {
            Element::Break => self.line_break(),
            Element::Rule => {
                self.need(Gap::Line);
                self.word(RULE);
                self.need(Gap::Line);
            }
            Element::Block | Element::Table => self.need(Gap::Line),
            Element::Paragraph | Element::Quote => self.need(Gap::BlankLine),
            Element::Preformatted => self.around_preformatted(),
            Element::List => self.around_list(),
            Element::Item => {
                self.need(Gap::Line);
                self.nesting.begin_item(tag);
            }
            Element::Link => self.begin_link(tag),
            // A picture that is a link speaks for itself; others are decoration.
            Element::Image if self.link.is_some() => self.words(tag.attribute("alt").unwrap_or_default()),
            Element::Image if self.out.is_empty() => self.keep_alternative(tag),
            Element::Image | Element::Cell | Element::Inline | Element::Head | Element::Dropped => {}
        }
    }

    fn keep_alternative(&mut self, tag: &Tag<'_>) {
        if let Some(text) = tag.attribute("alt") {
            self.alternatives.push_str("<p>");
            // a value is not markup, whatever it holds
            self.alternatives.push_str(&text.replace('<', "&lt;"));
        }
    }

    pub(super) fn close(&mut self, element: Element, name: &str) {
        if element == Element::Link {
            self.end_link();
        }
        let was_hidden = self.nesting.mode.hidden;
        if element == Element::List && !was_hidden {
            self.around_list();
        }
        self.nesting.leave(name);
        if was_hidden {
            return;
        }
        match element {
            Element::Head => self.in_head = false,
            Element::Break => self.line_break(),
            Element::Block | Element::Table => self.need(Gap::Line),
            Element::Paragraph | Element::Quote => self.need(Gap::BlankLine),
            Element::Preformatted => self.around_preformatted(),
            Element::Item => {
                self.need(Gap::Line);
                self.nesting.end_item();
            }
            Element::Cell => {
                self.need(Gap::Tab);
                self.tabs += 1;
            }
            Element::List
            | Element::Link
            | Element::Image
            | Element::Rule
            | Element::Inline
            | Element::Dropped => {}
        }
    }

    fn need(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
        if gap >= Gap::Line {
            self.tabs = 0;
        }
    }

    fn line_break(&mut self) {
        if self.nesting.mode.preformatted {
            self.own_lines += 1;
            self.own_space.clear();
            return;
        }
        let next = if self.gap >= Gap::Line { Gap::BlankLine } else { Gap::Line };
        self.need(next);
    }

    /// A list inside of another one stands close to it.
    fn around_list(&mut self) {
        let gap = if self.nesting.has_outer_list() { Gap::Line } else { Gap::BlankLine };
        self.need(gap);
    }

    fn around_preformatted(&mut self) {
        self.need(Gap::BlankLine);
        self.own_lines = 0;
        self.own_space.clear();
    }

    fn begin_link(&mut self, tag: &Tag<'_>) {
        self.end_link();
        if let Some(to) = tag.attribute("href").and_then(Destination::of) {
            self.link = Some(Link { to, start: None });
        }
    }

    pub(super) fn end_link(&mut self) {
        let Some(Link { to, start }) = self.link.take() else {
            return;
        };
        match start {
            None => {
                // nothing of it was written yet: what stands before it may be an address as well
                if self.last != Last::Text && self.gap == Gap::None {
                    self.gap = Gap::Space;
                }
                self.word(&to.shown);
                self.last = Last::Address;
            }
            Some(start) if to.is_named_by(&self.out[start..]) => self.last = Last::Address,
            Some(_) => {
                // Before a gap that is owed: the address belongs to the text, not to what follows it.
                self.out.push_str(" (");
                self.out.push_str(&to.shown);
                self.out.push(')');
                self.last = Last::Link;
            }
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        let mode = self.nesting.mode;
        if self.in_head || mode.hidden || mode.tiny {
            return;
        }
        if mode.preformatted {
            self.preformatted(text);
        } else {
            self.words(text);
        }
    }

    fn words(&mut self, text: &str) {
        let mut rest = text;
        while let Some(first) = rest.bytes().next() {
            let plain = plain_words(rest.as_bytes());
            if plain > 0 {
                // Every byte up to here is ASCII or belongs to an ordinary character, so this is a boundary.
                self.word(&rest[..plain]);
                rest = &rest[plain..];
                continue;
            }
            let (c, length) = next_character(rest, first);
            self.character(c);
            rest = &rest[length..];
        }
    }

    fn character(&mut self, c: char) {
        match c {
            c if is_invisible(c) => {}
            // This one shapes the letters around it in some scripts; next to a space it is padding again.
            '\u{200c}' => self.joiner = self.gap == Gap::None,
            c if c.is_whitespace() => self.need(Gap::Space),
            c if c.is_control() => {}
            c => self.word(c.encode_utf8(&mut [0; 4])),
        }
    }

    /// Text that keeps its lines and the spaces in them.
    fn preformatted(&mut self, text: &str) {
        let mut rest = text;
        while let Some(first) = rest.bytes().next() {
            let (c, length) = next_character(rest, first);
            rest = &rest[length..];
            match c {
                '\n' => {
                    self.own_lines += 1;
                    self.own_space.clear();
                }
                '\t' => self.own_space.push('\t'),
                '\r' | '\u{200c}' => {}
                c if is_invisible(c) => {}
                c if c.is_whitespace() => self.own_space.push(' '),
                c if c.is_control() => {}
                c => self.word(c.encode_utf8(&mut [0; 4])),
            }
        }
    }

    fn word(&mut self, word: &str) {
        self.begin_word(word.chars().next().unwrap_or(' '));
        self.out.push_str(word);
    }

    /// Writes what is owed before a word that begins with `first`.
    fn begin_word(&mut self, first: char) {
        let joiner = std::mem::take(&mut self.joiner);
        let gap = std::mem::take(&mut self.gap);
        let tabs = std::mem::take(&mut self.tabs);
        let lines = match gap {
            Gap::BlankLine => 2,
            Gap::Line => 1,
            Gap::None | Gap::Space | Gap::Tab => self.own_lines,
        };
        self.own_lines = 0;
        let last = std::mem::take(&mut self.last);
        if self.out.is_empty() {
            self.nesting.begin_line(&mut self.out);
            self.quotes = self.nesting.quotes();
            self.own_space.clear();
        } else if lines > 0 {
            // a blank line belongs to the quotes that both of its neighbours are in
            let quotes = self.quotes.min(self.nesting.quotes());
            let quotes = "> ".repeat(self.nesting.quotes_of_blank_lines(quotes, lines - 1));
            for _ in 1..lines {
                self.out.push('\n');
                self.out.push_str(quotes.trim_end());
            }
            self.out.push('\n');
            self.nesting.begin_line(&mut self.out);
            self.quotes = self.nesting.quotes();
            if self.nesting.in_data_table() {
                self.out.extend(std::iter::repeat_n('\t', tabs));
            }
        } else {
            match gap {
                Gap::Tab => self.out.extend(std::iter::repeat_n('\t', tabs)),
                Gap::Space => self.out.push(' '),
                _ if joiner => self.out.push('\u{200c}'),
                _ if self.would_join(last, first) => self.out.push(' '),
                _ => {}
            }
        }
        self.out.push_str(&self.own_space);
        self.own_space.clear();
        let place = self.out.len();
        if let Some(link) = &mut self.link {
            link.start.get_or_insert(place);
        }
    }

    /// Whether a word would be taken for a part of the address before it, or of the link.
    fn would_join(&self, last: Last, first: char) -> bool {
        let begins_link = self.link.as_ref().is_some_and(|link| link.start.is_none());
        match last {
            Last::Text => false,
            Last::Link => begins_link,
            Last::Address => begins_link || first.is_alphanumeric() || "/_-#?&=%~+@".contains(first),
        }
    }
}

/// Soft hyphen, joiners without width: invisible, and preview texts are padded with hundreds of them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// Whether a byte can be copied without a look: no space, no control, no `&`, not part of a character that
/// [`TextWriter::character`] treats apart (those begin with C2, CD, E1, E2, E3 or EF).
fn is_plain(byte: u8) -> bool {
    PLAIN[usize::from(byte)]
}

/// [`is_plain`] of every byte: every text of every mail is gone through.
const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut byte = 0;
    while byte < 256 {
        plain[byte] = !matches!(byte, 0..=0x20 | 0x7f | 0x26 | 0xc2 | 0xcd | 0xe1 | 0xe2 | 0xe3 | 0xef);
        byte += 1;
    }
    plain
};

/// How many bytes `text` begins with that are plain, or a single space between two that are: words as they are written
/// in most texts, which are copied together.
fn plain_words(text: &[u8]) -> usize {
    let mut end = 0;
    loop {
        end += text[end..].iter().position(|byte| !is_plain(*byte)).unwrap_or(text.len() - end);
        let goes_on =
            end > 0 && text.get(end) == Some(&b' ') && text.get(end + 1).is_some_and(|b| is_plain(*b));
        if !goes_on {
            return end;
        }
        end += 1;
    }
}
