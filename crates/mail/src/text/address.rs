//! The targets of links.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::entities;

/// The address of a link that a reader can use without the link.
pub(super) struct Destination {
    /// As it stands in the text: a web address whole, a mailbox or a telephone number without the scheme.
    pub(super) shown: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Web,
    Mailbox,
    Telephone,
}

impl Destination {
    /// Reads an `href` with entities in it: `http`, `https`, `mailto`, `tel` or `sms`. Spaces and controls are left
    /// out.
    pub(super) fn of(href: &str) -> Option<Self> {
        let mut url = String::with_capacity(href.len());
        let mut rest = href;
        loop {
            let plain = rest.bytes().position(|b| !is_graphic(b)).unwrap_or(rest.len());
            url.push_str(&rest[..plain]);
            rest = &rest[plain..];
            let Some(first) = rest.bytes().next() else { break };
            let (c, length) = next_character(rest, first);
            if !c.is_whitespace() && !c.is_control() {
                url.push(c);
            }
            rest = &rest[length..];
        }
        let after = |scheme: &str| {
            let start = url.get(..scheme.len())?;
            start.eq_ignore_ascii_case(scheme).then(|| &url[scheme.len()..])
        };
        if after("http://").or_else(|| after("https://")).is_some() {
            return Some(Self { shown: url, kind: Kind::Web });
        }
        let (path, kind) = match after("mailto:") {
            Some(path) => (path, Kind::Mailbox),
            None => (after("tel:").or_else(|| after("sms:"))?, Kind::Telephone),
        };
        let shown = unescape(path.split('?').next().unwrap_or_default());
        (!shown.is_empty()).then_some(Self { shown, kind })
    }

    /// Whether the text of a link already is its address.
    pub(super) fn is_named_by(&self, text: &str) -> bool {
        match self.kind {
            // with or without the scheme and a final slash
            Kind::Web => {
                let text = text.strip_suffix('/').unwrap_or(text);
                // both are what the address ends with, which most texts are not
                if !self.shown.strip_suffix('/').unwrap_or(&self.shown).ends_with(text) {
                    return false;
                }
                let bare = self.shown.split_once("://").map_or(&*self.shown, |(_, bare)| bare);
                [&self.shown, bare].iter().any(|known| text == known.strip_suffix('/').unwrap_or(known))
            }
            Kind::Mailbox => text.eq_ignore_ascii_case(&self.shown),
            Kind::Telephone => number(text) == number(&self.shown) && !number(text).is_empty(),
        }
    }
}

/// Whether a byte is a character of an address as it is: it is seen, and no entity begins with it.
fn is_graphic(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'&'
}

/// The digits of a telephone number, and its plus.
fn number(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_digit() || *c == '+').collect()
}

/// `%40` as the character it stands for; the text as it is where that would be none that can be shown.
fn unescape(text: &str) -> String {
    let decoded = percent_decode_str(text).decode_utf8().ok();
    decoded
        .filter(|text| !text.contains(|c: char| c.is_control() || c.is_whitespace()))
        .map_or_else(|| text.to_owned(), Cow::into_owned)
}

/// The character that `rest`, whose first byte is `first`, begins with, decoded, and its length as written.
pub(super) fn next_character(rest: &str, first: u8) -> (char, usize) {
    let decoded = if first == b'&' { entities::decode(rest) } else { None };
    decoded.unwrap_or_else(|| {
        let c = rest.chars().next().unwrap_or(' ');
        (c, c.len_utf8())
    })
}
