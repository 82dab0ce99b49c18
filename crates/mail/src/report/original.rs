//! What a message tells about the mail that it is about.

use mailwright_core::name::is_hidden;

use super::address;
use super::fields::{Field, Head};
use super::incoming::Original;
use super::mime::{Leaf, Message};

/// How much of a returned mail is read, in bytes: its header, as a rule.
const MAX_RETURNED: usize = 256 * 1024;
/// The longest `Message-ID`; RFC 5322 section 2.1.1 has lines of at most 998 bytes, and real ones are far shorter.
const MAX_ID: usize = 512;
const MAX_ANSWERS: usize = 20;
const MAX_RECIPIENTS: usize = 50;

/// Types of parts that hold a mail, or the header of one.
pub(super) const RETURNED: [&str; 7] = [
    "message/rfc822",
    "message/global",
    "text/rfc822-headers",
    "message/global-headers",
    "message/rfc822-headers",
    "text/rfc822",
    "message/partial",
];
/// The fields that name recipients, those of hosts and providers at the end.
const RECIPIENTS: [&str; 8] = [
    "to",
    "cc",
    "bcc",
    "delivered-to",
    "x-original-to",
    "envelope-to",
    "x-envelope-to",
    "x-hmxmroriginalrecipient",
];

/// What the first returned mail or header tells, and what the message itself names as that which it answers.
pub(super) fn of(message: &Message<'_>) -> Option<Original> {
    let mut original = returned(message).unwrap_or_default();
    original.answers = answers(&message.head);
    (original != Original::default()).then_some(original)
}

/// The same with a header that stands in the words of a notice, where nothing else is returned.
pub(super) fn of_notice(message: &Message<'_>, copy: &str) -> Option<Original> {
    let in_words = || {
        let head = copy.trim_start_matches(|c: char| c.is_whitespace() || "-=*_>".contains(c));
        let original = of_head(&Head::split(head.as_bytes()).0);
        (original != Original::default()).then_some(original)
    };
    let mut original = returned(message).or_else(in_words).unwrap_or_default();
    if original.message_id.is_none() {
        original.message_id = id_in(copy);
    }
    original.answers = answers(&message.head);
    (original != Original::default()).then_some(original)
}

/// The header of a part that holds a mail.
pub(super) fn with_head<T>(leaf: &Leaf<'_>, read: impl FnOnce(&Head<'_>) -> T) -> T {
    let content = leaf.content(MAX_RETURNED);
    let begin = content.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(content.len());
    read(&Head::split(&content[begin..]).0)
}

fn returned(message: &Message<'_>) -> Option<Original> {
    let leaves = message.leaves.iter().filter(|leaf| RETURNED.contains(&&*leaf.media));
    leaves.map(|leaf| with_head(leaf, of_head)).find(|original| *original != Original::default())
}

fn of_head(head: &Head<'_>) -> Original {
    let address = |name: &str| head.get(name).and_then(|field| address::first(&field.text()));
    let mut original = Original {
        message_id: head.text("message-id").and_then(|text| ids(&text).next()),
        return_path: address("return-path"),
        from: address("from"),
        ..Original::default()
    };
    for text in RECIPIENTS.iter().flat_map(|name| head.all(name).take(MAX_RECIPIENTS)).map(Field::text) {
        for found in address::found(&text) {
            if original.recipients.len() >= MAX_RECIPIENTS {
                return original;
            }
            if !original.recipients.iter().any(|known| known == found.address) {
                original.recipients.push(found.address.to_owned());
            }
        }
    }
    original
}

/// What a header names as that which the mail answers: `In-Reply-To`, then `References` from the last on.
pub(super) fn answers(head: &Head<'_>) -> Vec<String> {
    let ids = |name: &str| head.text(name).map(|text| ids(&text).collect::<Vec<_>>()).unwrap_or_default();
    let mut answers: Vec<String> = Vec::new();
    for id in ids("in-reply-to").into_iter().chain(ids("references").into_iter().rev()) {
        if answers.len() < MAX_ANSWERS && !answers.contains(&id) {
            answers.push(id);
        }
    }
    answers
}

/// The ids in the value of a field. One without angle brackets counts, when it is all that stands there.
fn ids(text: &str) -> impl Iterator<Item = String> {
    let bare = (!text.contains('<')).then_some(text);
    let bracketed = text.split('<').skip(1).filter_map(|rest| rest.split_once('>').map(|(id, _)| id));
    let ids = bracketed.chain(bare).map(str::trim);
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || is_hidden(c);
    ids.filter(move |id| !id.is_empty() && id.len() <= MAX_ID && !id.contains(is_odd)).map(str::to_owned)
}

/// The id in a line `Message-ID: <...>` of a text.
fn id_in(text: &str) -> Option<String> {
    let lines = text.lines().map(|line| line.trim_start_matches(|c: char| c.is_whitespace() || c == '>'));
    let mut values = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("message-id").then_some(value)
    });
    values.find_map(|value| ids(value).next())
}
