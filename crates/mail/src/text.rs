//! The plain text part of a message, made from its HTML.
//!
//! The rules are those of the reference, section 4.4 "Plain text": style, script and head are dropped; a link becomes
//! `text (url)` when it is http or https; the ends of blocks, `br` and `hr` become line breaks, the ends of cells tabs;
//! entities are decoded; runs of white space and of blank lines collapse. Items of a list begin with `- `.

mod entities;
mod tokens;

use tokens::{Tag, Token, Tokens};

/// Makes readable plain text of `html`. Lines end with `\n`; there is no white space at either end.
///
/// Takes any text, well-formed or not, in time linear in its length.
pub fn html_to_text(html: &str) -> String {
    let mut writer = TextWriter { out: String::with_capacity(html.len() / 4), ..TextWriter::default() };
    let mut tokens = Tokens::new(html);
    while let Some(token) = tokens.next() {
        match token {
            Token::Text(text) => writer.text(text),
            Token::Open(tag) => {
                let element = Element::of(tag.name);
                if element == Element::Dropped {
                    tokens.skip_past_end_of(tag.name);
                } else {
                    writer.open(element, &tag);
                }
            }
            Token::Close(name) => writer.close(Element::of(name)),
        }
    }
    writer.end_link();
    writer.out
}

/// What an element means for the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    /// Never shown, with everything in it.
    Dropped,
    Head,
    Link,
    Image,
    Break,
    /// Begins and ends a line.
    Block,
    /// A block that has a blank line before and after it.
    Paragraph,
    Item,
    Cell,
    /// Leaves no trace.
    Inline,
}

impl Element {
    fn of(name: &str) -> Self {
        // Longer names are not of interest; a stack buffer spares an allocation per tag.
        let mut lower = [0; 10];
        let Some(lower) = lower.get_mut(..name.len()) else {
            return Self::Inline;
        };
        lower.copy_from_slice(name.as_bytes());
        lower.make_ascii_lowercase();
        match &*lower {
            b"script" | b"style" | b"title" | b"template" | b"iframe" | b"textarea" => Self::Dropped,
            b"head" => Self::Head,
            b"a" => Self::Link,
            b"img" => Self::Image,
            b"br" => Self::Break,
            b"p" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"ul" | b"ol" | b"blockquote" => {
                Self::Paragraph
            }
            b"address" | b"article" | b"aside" | b"body" | b"caption" | b"center" | b"dd" | b"details"
            | b"dialog" | b"div" | b"dl" | b"dt" | b"fieldset" | b"figcaption" | b"figure" | b"footer"
            | b"form" | b"header" | b"hr" | b"html" | b"legend" | b"main" | b"nav" | b"pre" | b"section"
            | b"summary" | b"table" | b"tbody" | b"tfoot" | b"thead" | b"tr" => Self::Block,
            b"li" => Self::Item,
            b"td" | b"th" => Self::Cell,
            _ => Self::Inline,
        }
    }
}

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
    url: String,
    /// Where in the output its text begins, white space before it included.
    start: usize,
}

#[derive(Default)]
struct TextWriter {
    out: String,
    gap: Gap,
    /// The next word begins an item of a list.
    bullet: bool,
    /// A zero width non-joiner came last.
    joiner: bool,
    in_head: bool,
    link: Option<Link>,
}

impl TextWriter {
    fn open(&mut self, element: Element, tag: &Tag<'_>) {
        match element {
            Element::Head => self.in_head = true,
            // As in a browser, the first element that cannot be in the head ends it.
            Element::Inline | Element::Dropped => {}
            _ => self.in_head = false,
        }
        match element {
            Element::Break => self.line_break(),
            Element::Block => self.need(Gap::Line),
            Element::Paragraph => self.need(Gap::BlankLine),
            Element::Item => {
                self.need(Gap::Line);
                self.bullet = true;
            }
            Element::Link => self.begin_link(tag),
            // A picture that is a link speaks for itself; others are decoration.
            Element::Image if self.link.is_some() => self.text(tag.attribute("alt").unwrap_or_default()),
            Element::Image | Element::Cell | Element::Inline | Element::Head | Element::Dropped => {}
        }
    }

    fn close(&mut self, element: Element) {
        match element {
            Element::Head => self.in_head = false,
            Element::Link => self.end_link(),
            Element::Break => self.line_break(),
            Element::Block => self.need(Gap::Line),
            Element::Paragraph => self.need(Gap::BlankLine),
            Element::Item => {
                self.need(Gap::Line);
                self.bullet = false;
            }
            Element::Cell => self.need(Gap::Tab),
            Element::Image | Element::Inline | Element::Dropped => {}
        }
    }

    fn need(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn line_break(&mut self) {
        self.gap = if self.gap >= Gap::Line { Gap::BlankLine } else { Gap::Line };
    }

    fn begin_link(&mut self, tag: &Tag<'_>) {
        self.end_link();
        if let Some(url) = tag.attribute("href").and_then(web_url) {
            self.link = Some(Link { url, start: self.out.len() });
        }
    }

    fn end_link(&mut self) {
        let Some(Link { url, start }) = self.link.take() else {
            return;
        };
        let text = self.out[start..].trim_start_matches([' ', '\t', '\n']);
        if text.is_empty() {
            self.word(&url);
        } else if !names_the_same(text, &url) {
            // Before a gap that is owed: the address belongs to the text, not to what follows it.
            self.out.push_str(" (");
            self.out.push_str(&url);
            self.out.push(')');
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_head {
            return;
        }
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
            // Soft hyphen, joiners without width: invisible, and preview texts are padded with hundreds of them.
            '\u{ad}' | '\u{34f}' | '\u{200b}' | '\u{2060}' | '\u{feff}' => {}
            // This one shapes the letters around it in some scripts; next to a space it is padding again.
            '\u{200c}' => self.joiner = self.gap == Gap::None,
            c if c.is_whitespace() => self.need(Gap::Space),
            c if c.is_control() => {}
            c => self.word(c.encode_utf8(&mut [0; 4])),
        }
    }

    fn word(&mut self, word: &str) {
        let joiner = std::mem::take(&mut self.joiner);
        if !self.out.is_empty() {
            self.out.push_str(match self.gap {
                Gap::None if joiner => "\u{200c}",
                Gap::None => "",
                Gap::Space => " ",
                Gap::Tab => "\t",
                Gap::Line => "\n",
                Gap::BlankLine => "\n\n",
            });
        }
        self.gap = Gap::None;
        if std::mem::take(&mut self.bullet) {
            self.out.push_str("- ");
        }
        self.out.push_str(word);
    }
}

/// Whether a byte can be copied without a look: no space, no control, no `&`, not part of a character that
/// [`TextWriter::character`] treats apart (those begin with C2, CD, E1, E2, E3 or EF).
fn is_plain(byte: u8) -> bool {
    !matches!(byte, 0..=b' ' | 0x7f | b'&' | 0xc2 | 0xcd | 0xe1 | 0xe2 | 0xe3 | 0xef)
}

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

/// The character that `rest`, whose first byte is `first`, begins with, decoded, and its length as written.
fn next_character(rest: &str, first: u8) -> (char, usize) {
    let decoded = if first == b'&' { entities::decode(rest) } else { None };
    decoded.unwrap_or_else(|| {
        let c = rest.chars().next().unwrap_or(' ');
        (c, c.len_utf8())
    })
}

/// The address of a link with entities decoded, when it is http or https; spaces and controls are left out.
fn web_url(href: &str) -> Option<String> {
    let mut url = String::with_capacity(href.len());
    let mut rest = href;
    while let Some(first) = rest.bytes().next() {
        let (c, length) = next_character(rest, first);
        if !c.is_whitespace() && !c.is_control() {
            url.push(c);
        }
        rest = &rest[length..];
    }
    let is_web = ["http://", "https://"]
        .iter()
        .any(|scheme| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    is_web.then_some(url)
}

/// Whether the text of a link already is its address: with or without the scheme and a final slash.
fn names_the_same(text: &str, url: &str) -> bool {
    let bare = url.split_once("://").map_or(url, |(_, bare)| bare);
    let text = text.strip_suffix('/').unwrap_or(text);
    [url, bare].iter().any(|address| text == address.strip_suffix('/').unwrap_or(address))
}

#[cfg(test)]
mod tests;
