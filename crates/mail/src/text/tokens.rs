//! HTML cut into text and tags, the way a browser would, without building a tree.

use memchr::{memchr, memchr3, memmem};

/// A piece of HTML.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text with its entities still encoded.
    Text(&'a str),
    Open(Tag<'a>),
    Close(&'a str),
}

/// A start tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    pub(super) name: &'a str,
    attributes: &'a str,
}

/// Where the scan is. Every search either moves it forward or finds that a thing is nowhere in the rest, which is
/// then remembered: this is what keeps the whole linear.
pub(super) struct Tokens<'a> {
    html: &'a str,
    at: usize,
    /// Where the last token begins.
    start: usize,
    /// Where that begins which is never closed and so has all of the rest.
    swallowed: Option<usize>,
    /// No `"` (first) or `'` (second) closes beyond this place any more.
    unclosed: [bool; 2],
}

impl<'a> Tokens<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self { html, at: 0, start: 0, swallowed: None, unclosed: [false; 2] }
    }

    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        loop {
            self.start = self.at;
            let rest = &self.html[self.at..];
            let bytes = rest.as_bytes();
            if *bytes.first()? != b'<' {
                return Some(self.take_text(0));
            }
            match bytes.get(1) {
                Some(byte) if byte.is_ascii_alphabetic() => return self.take_tag(1).map(Token::Open),
                Some(b'/') if bytes.get(2).is_some_and(u8::is_ascii_alphabetic) => {
                    return self.take_tag(2).map(|tag| Token::Close(tag.name));
                }
                Some(b'!' | b'?' | b'/') => self.skip_comment(),
                _ => return Some(self.take_text(1)),
            }
        }
    }

    /// Where the scan is: behind the last token.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Where the last token begins.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Where that begins which is never closed and so has all of the rest: a comment, a tag, an element of raw text.
    pub(super) fn swallowed(&self) -> Option<usize> {
        self.swallowed
    }

    /// Takes the rest for the content of the element that was just opened.
    pub(super) fn swallow(&mut self) {
        self.swallowed = Some(self.start);
        self.at = self.html.len();
    }

    /// Moves past the end tag of the element that was just opened, or to the end when it has none.
    pub(super) fn skip_past_end_of(&mut self, name: &str) {
        let rest = &self.html.as_bytes()[self.at..];
        let end = memmem::find_iter(rest, b"</").find(|&start| {
            let tag = &rest[start + 2..];
            tag.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
                && !tag.get(name.len()).is_some_and(u8::is_ascii_alphanumeric)
        });
        match end {
            // The end tag itself is left for `next`: a close of a dropped element says nothing.
            Some(end) => self.at += end,
            None => self.swallow(),
        }
    }

    /// Text up to the next `<`, looked for from `skip` bytes on.
    fn take_text(&mut self, skip: usize) -> Token<'a> {
        let start = self.at;
        let rest = &self.html.as_bytes()[start + skip..];
        self.at = memchr(b'<', rest).map_or(self.html.len(), |end| start + skip + end);
        Token::Text(&self.html[start..self.at])
    }

    /// A tag whose name begins `skip` bytes on. One that never ends swallows the rest, as in a browser.
    fn take_tag(&mut self, skip: usize) -> Option<Tag<'a>> {
        let start = self.at + skip;
        let Some(end) = self.tag_end(start) else {
            self.swallow();
            return None;
        };
        self.at = end + 1;
        let inside = &self.html[start..end];
        let name = inside.bytes().position(|b| b.is_ascii_whitespace() || b == b'/').unwrap_or(inside.len());
        Some(Tag { name: &inside[..name], attributes: &inside[name..] })
    }

    /// The place of the `>` that ends the tag; one inside a quoted value does not.
    fn tag_end(&mut self, start: usize) -> Option<usize> {
        let bytes = self.html.as_bytes();
        let mut at = start;
        loop {
            at += memchr3(b'>', b'"', b'\'', &bytes[at..])?;
            let found = bytes[at];
            if found == b'>' {
                return Some(at);
            }
            let kind = usize::from(found == b'\'');
            if !self.unclosed[kind] && opens_value(&bytes[start..at]) {
                match memchr(found, &bytes[at + 1..]) {
                    Some(end) => at += 1 + end,
                    None => self.unclosed[kind] = true,
                }
            }
            at += 1;
        }
    }

    fn skip_comment(&mut self) {
        let rest = &self.html.as_bytes()[self.at..];
        let length = if rest.starts_with(b"<!-->") || rest.starts_with(b"<!--->") {
            memchr(b'>', rest).map(|end| end + 1)
        } else if rest.starts_with(b"<!--") {
            memmem::find(&rest[4..], b"-->").map(|end| end + 7)
        } else {
            memchr(b'>', rest).map(|end| end + 1)
        };
        match length {
            Some(length) => self.at += length,
            None => self.swallow(),
        }
    }
}

/// Whether a quote after `before` begins a value: the last thing but white space is a `=`.
fn opens_value(before: &[u8]) -> bool {
    before.trim_ascii_end().last() == Some(&b'=')
}

impl<'a> Tag<'a> {
    /// The value of an attribute, its entities still encoded; empty when it has none.
    pub(super) fn attribute(&self, wanted: &str) -> Option<&'a str> {
        self.attributes().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
    }

    /// The attributes in their order: names, and values with their entities still encoded.
    pub(super) fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let mut rest = self.attributes;
        std::iter::from_fn(move || {
            let blank = rest.bytes().position(|b| !b.is_ascii_whitespace() && b != b'/')?;
            rest = &rest[blank..];
            // A `=` in first place is part of the name, so that every round moves on.
            let name_end =
                rest.bytes().skip(1).position(|b| b.is_ascii_whitespace() || matches!(b, b'=' | b'/'));
            let (name, after) = rest.split_at(name_end.map_or(rest.len(), |end| end + 1));
            let (value, after) = match after.trim_ascii_start().strip_prefix('=') {
                Some(value) => split_value(value.trim_ascii_start()),
                None => ("", after),
            };
            rest = after;
            Some((name, value))
        })
    }
}

/// Splits an attribute's value from what follows it.
fn split_value(text: &str) -> (&str, &str) {
    if let Some(quote @ (b'"' | b'\'')) = text.bytes().next()
        && let Some(end) = memchr(quote, &text.as_bytes()[1..])
    {
        return (&text[1..=end], &text[end + 2..]);
    }
    let end = text.bytes().position(|b| b.is_ascii_whitespace()).unwrap_or(text.len());
    text.split_at(end)
}
