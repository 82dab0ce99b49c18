//! Texts with wildcards, and where they are found.

use std::borrow::Cow;
use std::ops::Range;

/// How many bytes a wildcard stands for.
const MAX_GAP: usize = 64;

/// A part of a text between wildcards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Part {
    pub(super) text: &'static str,
    /// Whether a word has to begin, and to end, at the ends of the part.
    begins: bool,
    ends: bool,
}

/// Takes a text of the table apart.
pub(super) fn parts(text: &'static str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut pieces = text.split('*').peekable();
    let mut is_first = true;
    while let Some(piece) = pieces.next() {
        let text = piece.trim();
        if !text.is_empty() {
            let begins = is_first || piece.starts_with(' ');
            let ends = pieces.peek().is_none() || piece.ends_with(' ');
            parts.push(Part { text, begins, ends });
        }
        is_first = false;
    }
    parts
}

impl Part {
    /// Whether the part is said where its bytes stand, which are `words` of a text or not.
    pub(super) fn fits(&self, words: Words) -> bool {
        (!self.begins || words.begins) && (!self.ends || words.ends)
    }
}

/// Whether a word begins and ends where a piece of a text does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    begins: bool,
    ends: bool,
}

impl Words {
    pub(super) fn of(text: &str, piece: Range<usize>) -> Self {
        Self { begins: is_start(text, piece.start), ends: is_end(text, piece.end) }
    }
}

/// Whether parts follow one another: each with its places in the text, in ascending order.
pub(super) fn follow<'a>(mut parts: impl Iterator<Item = (Part, &'a [u16])>) -> bool {
    let Some((mut part, first)) = parts.next() else { return false };
    let mut places = Cow::Borrowed(first);
    for (next, its_places) in parts {
        let length = part.text.len();
        let is_near = |place: &u16| {
            let place = usize::from(*place);
            let earlier = places.partition_point(|earlier| usize::from(*earlier) + length <= place);
            earlier > 0 && usize::from(places[earlier - 1]) + length + MAX_GAP >= place
        };
        let near: Vec<u16> = its_places.iter().copied().filter(is_near).collect();
        (part, places) = (next, Cow::Owned(near));
    }
    !places.is_empty()
}

/// Whether a word begins at a place. A label of a host name is no word: `full.example` does not say that something is
/// full.
fn is_start(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    if !begins_with_word(after) {
        return true;
    }
    match before.as_bytes() {
        [.., b'.' | b'-' | b'_'] => !ends_with_word(&before[..before.len() - 1]),
        _ => !ends_with_word(before),
    }
}

/// Whether a word ends at a place.
fn is_end(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    if !ends_with_word(before) {
        return true;
    }
    match after.as_bytes() {
        [b'.' | b'-' | b'_', ..] => !begins_with_word(&after[1..]),
        _ => !begins_with_word(after),
    }
}

fn begins_with_word(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(byte) if byte.is_ascii() => byte.is_ascii_alphanumeric(),
        _ => text.chars().next().is_some_and(char::is_alphanumeric),
    }
}

fn ends_with_word(text: &str) -> bool {
    match text.as_bytes().last() {
        Some(byte) if byte.is_ascii() => byte.is_ascii_alphanumeric(),
        _ => text.chars().next_back().is_some_and(char::is_alphanumeric),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_in(pattern: &'static str, text: &str) -> bool {
        let places: Vec<(Part, Vec<u16>)> = parts(pattern)
            .into_iter()
            .map(|part| {
                let places = text
                    .match_indices(part.text)
                    .map(|(at, _)| at)
                    .filter(|at| part.fits(Words::of(text, *at..*at + part.text.len())));
                (part, places.map(|at| at as u16).collect())
            })
            .collect();
        follow(places.iter().map(|(part, places)| (*part, places.as_slice())))
    }

    #[test]
    fn parts_are_found_in_order_and_as_words() {
        let far = format!("user {}unknown", "x ".repeat(40));
        for (pattern, text, expected) in [
            ("user unknown", "the user unknown here", true),
            ("user unknown", "superuser unknown", false),
            ("user unknown", "user unknowns", false),
            ("user * unknown", "user is unknown", true),
            ("user * unknown", "user unknown", true),
            ("user * unknown", "unknown user", false),
            ("user * unknown", "user user x. unknown", true),
            ("user * unknown", far.as_str(), false),
            ("user * not * found", "user was not in the list found", true),
            ("user * not * found", "not found user", false),
            ("user*", "users", true),
            ("*spamhaus*", "zen.spamhaus.org", true),
            ("spamhaus", "zen.spamhaus.org", false),
            ("full", "mx.full.example said", false),
            ("full", "it is full.", true),
            ("full", "<>...full", true),
            ("ptr * missing", "ptr: missing", true),
            ("bo*te pleine", "boîte pleine", true),
            ("*用户不存在*", "该用户不存在。", true),
            ("(bl)", "clarify.) (bl)", true),
        ] {
            assert_eq!(is_in(pattern, text), expected, "{pattern} in {text}");
        }
    }
}
