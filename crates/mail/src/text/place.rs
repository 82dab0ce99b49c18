//! Finds the place in HTML from others where a block with a font size of its own, such as a footer, is seen.

use super::element::Element;
use super::style::Look;
use super::tokens::{Tag, Token, Tokens};

/// Most elements within each other that are followed. Beyond that nothing is sure, and the beginning is taken.
const MAX_DEPTH: usize = 256;
/// How often at most open elements are looked at, for each byte and in any case. HTML that asks for more is not meant
/// to be read.
const STEPS_PER_BYTE: usize = 4;
const LEAST_STEPS: usize = 10_000;
/// Elements whose content is text, whatever it looks like.
const RAW: [&str; 9] =
    ["script", "style", "title", "textarea", "iframe", "xmp", "noembed", "noframes", "plaintext"];
/// Elements in which nothing, or not everything, is shown. `details` and `dialog` are shown when they are open.
const HIDING: [&str; 13] = [
    "template", "select", "datalist", "noscript", "object", "video", "audio", "canvas", "svg", "math",
    "frameset", "details", "dialog",
];
/// Elements that begin again after the block around them has ended, until they are closed themselves.
const FORMATTING: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];
/// Elements that an end tag inside them does not reach beyond.
const FENCES: [&str; 8] = ["table", "td", "th", "caption", "template", "object", "marquee", "applet"];
/// Elements of tables, whose end tags reach up to the table.
const ROWS: [&str; 8] = ["table", "tbody", "thead", "tfoot", "tr", "td", "th", "caption"];
/// What may stand before the body.
const BEFORE_BODY: [&str; 9] = ["html", "head", "title", "meta", "link", "style", "base", "script", "body"];

/// The place before the end of the body where a block is seen. Where the end is inside of something that is not shown,
/// such as a comment that is never closed or a hidden element, it is before that, or at the beginning of the body.
///
/// Takes any text, in time linear in its length.
pub fn end_of_what_is_seen(html: &str) -> usize {
    let mut walk = Walk { steps: STEPS_PER_BYTE * html.len() + LEAST_STEPS, ..Walk::default() };
    let mut tokens = Tokens::new(html);
    let mut end = None;
    while let Some(token) = tokens.next() {
        let at = tokens.start();
        match token {
            Token::Text(text) if text.trim_ascii().is_empty() => {}
            Token::Text(_) => walk.content(at),
            Token::Open(tag) => {
                walk.open(&tag, at, tokens.at());
                if is_among(tag.name, &RAW) {
                    let from = tokens.at();
                    if tag.name.eq_ignore_ascii_case("plaintext") {
                        tokens.swallow();
                    } else {
                        tokens.skip_past_end_of(tag.name);
                    }
                    // a script that begins a comment can hold end tags of scripts
                    let is_script = tag.name.eq_ignore_ascii_case("script");
                    walk.unsure |= is_script
                        && memchr::memmem::find(&html.as_bytes()[from..tokens.at()], b"<!--").is_some();
                }
            }
            Token::Close(name) if name.eq_ignore_ascii_case("body") => end = Some((at, walk.is_seen())),
            Token::Close(name) => walk.close(name),
        }
    }
    let beginning = walk.beginning.or(tokens.swallowed()).unwrap_or(html.len());
    match (end, tokens.swallowed()) {
        (Some((at, true)), _) => at,
        (None, Some(at)) if walk.seen_before_raw(at) => at,
        (None, None) if walk.is_seen() => html.len(),
        _ => beginning,
    }
}

/// An element that is open.
struct Open<'a> {
    name: &'a str,
    hides: bool,
}

/// What is open where the scan is.
#[derive(Default)]
struct Walk<'a> {
    open: Vec<Open<'a>>,
    /// Hidden formatting elements that were not closed themselves.
    formatting: Vec<&'a str>,
    /// Where the body begins, once it has.
    beginning: Option<usize>,
    /// The tag `<body>` was met.
    has_body: bool,
    /// It is not known what a reader makes of it.
    unsure: bool,
    /// How often open elements may still be looked at.
    steps: usize,
}

impl<'a> Walk<'a> {
    /// Something that only a body holds: it begins here at the latest.
    fn content(&mut self, at: usize) {
        self.beginning.get_or_insert(at);
    }

    fn open(&mut self, tag: &Tag<'a>, at: usize, after: usize) {
        let name = tag.name;
        if name.eq_ignore_ascii_case("body") && !self.has_body {
            self.has_body = true;
            // content before the tag is in the body as well, but not in what the tag says of it
            self.beginning.get_or_insert(after);
        } else if !is_among(name, &BEFORE_BODY) {
            self.content(at);
        }
        self.end_implied(tag);
        if super::nesting::is_void(name) || is_among(name, &RAW) {
            return;
        }
        let shows = |names: &[&str]| is_among(name, names) && tag.attribute("open").is_some();
        let hides = Look::of(tag).hidden || (is_among(name, &HIDING) && !shows(&["details", "dialog"]));
        if is_among(name, &FORMATTING) {
            if hides && self.formatting.len() < MAX_DEPTH {
                self.formatting.push(name);
            } else if hides {
                self.unsure = true;
            }
        } else if self.open.len() < MAX_DEPTH {
            self.open.push(Open { name, hides });
        } else {
            self.unsure = true;
        }
    }

    fn close(&mut self, name: &str) {
        if is_among(name, &FORMATTING) {
            self.steps = self.steps.saturating_sub(self.formatting.len());
            if self.steps <= 1 {
                self.unsure = true;
            } else if let Some(at) = self.formatting.iter().rposition(|open| open.eq_ignore_ascii_case(name))
            {
                self.formatting.remove(at);
            }
            return;
        }
        let fences: &[&str] = if is_among(name, &ROWS) { &["table", "template"] } else { &FENCES };
        self.end(&[name], fences);
    }

    /// Ends the innermost open element of these names, with all in it, unless a fence is in between.
    fn end(&mut self, names: &[&str], fences: &[&str]) {
        if self.unsure {
            return;
        }
        for at in (0..self.open.len()).rev() {
            self.steps -= 1;
            if self.steps == 0 {
                self.unsure = true;
                return;
            }
            if is_among(self.open[at].name, names) {
                self.open.truncate(at);
                return;
            }
            if is_among(self.open[at].name, fences) {
                return;
            }
        }
    }

    /// Ends what ends without an end tag where an element begins.
    fn end_implied(&mut self, tag: &Tag<'_>) {
        let is = |names: &[&str]| is_among(tag.name, names);
        match Element::of(tag.name) {
            Element::Item => self.end(&["li"], &["ul", "ol", "menu", "table", "td", "th", "template"]),
            Element::Cell => self.end(&["td", "th"], &["table", "template"]),
            _ if is(&["tr"]) => self.end(&["tr"], &["table", "template"]),
            _ if is(&["tbody", "thead", "tfoot"]) => {
                self.end(&["tbody", "thead", "tfoot"], &["table", "template"]);
            }
            _ if is(&["dd", "dt"]) => self.end(&["dd", "dt"], &["dl", "table", "td", "th", "template"]),
            Element::Inline
            | Element::Link
            | Element::Image
            | Element::Break
            | Element::Head
            | Element::Dropped => return,
            _ => {}
        }
        self.end_paragraph();
    }

    /// A block ends the paragraph that is open around it.
    fn end_paragraph(&mut self) {
        self.end(&["p"], &FENCES);
    }

    /// Whether a block is seen that stands here.
    fn is_seen(&mut self) -> bool {
        self.end_paragraph();
        !self.unsure && self.formatting.is_empty() && !self.open.iter().any(|open| open.hides)
    }

    /// The same for the place of something that is never closed.
    fn seen_before_raw(&mut self, at: usize) -> bool {
        self.beginning.is_none_or(|beginning| beginning <= at) && self.is_seen()
    }
}

fn is_among(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}
