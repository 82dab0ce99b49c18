//! Bounded reading of JSON whose shape is somebody else's: what is not as it should be counts as absent, so that one odd
//! field does not lose the rest.

use std::net::IpAddr;

use mailwright_core::time::Timestamp;
use serde_json::Value;

/// The most bytes of a name, an id or a code.
pub(super) const SHORT: usize = 256;
/// The most bytes of a line that a server or a client wrote: a diagnostic text, a user agent, the value of a header.
pub(super) const LONG: usize = 2048;
/// The most bytes of an address of mail; RFC 5321 section 4.5.3.1 allows fewer.
const ADDRESS: usize = 512;
/// The most bytes of the target of a link.
const LINK: usize = 8192;

/// The text of a field on one line, cut to so many bytes: control characters are spaces, none are at its ends. `None`
/// when nothing is left.
pub(super) fn text(holder: &Value, name: &str, most: usize) -> Option<String> {
    line(holder.get(name)?.as_str()?, most)
}

/// As [`text`], for the text itself.
pub(super) fn line(text: &str, most: usize) -> Option<String> {
    let text = text.trim();
    let text = text[..text.floor_char_boundary(most)].replace(char::is_control, " ");
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// An id, which is whole or not there.
pub(super) fn id(holder: &Value, name: &str) -> Option<String> {
    whole(holder.get(name)?.as_str()?, SHORT)
}

/// The target of a link, which is whole or not there.
pub(super) fn link(holder: &Value, name: &str) -> Option<String> {
    whole(holder.get(name)?.as_str()?, LINK)
}

fn whole(text: &str, most: usize) -> Option<String> {
    let text = text.trim();
    let fits = !text.is_empty() && text.len() <= most && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

/// An instant in any form that SES writes, `2018-10-08T14:05:45 +0000` among them.
pub(super) fn instant(holder: &Value, name: &str) -> Option<Timestamp> {
    let text = holder.get(name)?.as_str().filter(|text| text.len() <= 64)?;
    let at = Timestamp::parse(text).or_else(|| Timestamp::parse(&text.replace(' ', "")))?;
    Timestamp::from_millis(at.0)
}

/// The address of a client.
pub(super) fn ip(holder: &Value, name: &str) -> Option<IpAddr> {
    holder.get(name)?.as_str()?.trim().parse().ok()
}

/// The address in a text that may have a name before it (`Name <address>`) or the type of the address (RFC 3464
/// section 2.3.2, `rfc822; address`).
pub(super) fn address(text: &str) -> Option<String> {
    let mut text = text.trim();
    if let Some((kind, rest)) = text.split_once(';')
        && kind.trim().eq_ignore_ascii_case("rfc822")
    {
        text = rest.trim();
    }
    if let Some(named) = text.strip_suffix('>')
        && let Some((_, inside)) = named.rsplit_once('<')
    {
        text = inside;
    }
    whole(text, ADDRESS)
}

/// Reads lists, and notes whether one was longer than what is kept of it.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) cut: bool,
}

impl Lists {
    /// The first elements of a list; none when there is no list.
    pub(super) fn first<'v>(&mut self, holder: &'v Value, name: &str, most: usize) -> &'v [Value] {
        let all = holder.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        self.cut |= all.len() > most;
        &all[..all.len().min(most)]
    }

    /// The lines of a list of texts.
    pub(super) fn lines(&mut self, holder: &Value, name: &str, most: usize) -> Vec<String> {
        self.first(holder, name, most).iter().filter_map(|value| line(value.as_str()?, LONG)).collect()
    }

    /// The addresses of a list of texts.
    pub(super) fn addresses(&mut self, holder: &Value, name: &str, most: usize) -> Vec<String> {
        self.first(holder, name, most).iter().filter_map(|value| address(value.as_str()?)).collect()
    }
}
