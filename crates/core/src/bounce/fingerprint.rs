//! One row for many replies that say the same.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::text::{self, Token};

/// The longest fingerprint, in characters.
const MAX_FINGERPRINT: usize = 120;
/// Words that a name may follow.
const BEFORE_NAMES: &[&str] = &[
    "user",
    "mailbox",
    "account",
    "recipient",
    "address",
    "alias",
    "for",
    "to",
    "of",
    "from",
    "by",
    "named",
    "part",
];

/// The words of the table, which are no names.
static KNOWN: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let rows = include_str!("rules.tsv").lines().filter(|row| !row.starts_with('#'));
    let texts = rows.filter_map(|row| row.splitn(3, '\t').nth(2));
    texts
        .flat_map(|text| text.split([' ', '*']))
        .chain(["is", "was", "the", "this", "that", "has", "a", "an"])
        .collect()
});

/// What a reply says, without what differs from mail to mail: no addresses, names of hosts, numbers, identifiers, links
/// and quotations, and no words behind "user" and the like that are not in the table. At most 120 characters, of the first
/// 2 KiB of the text. Replies of one kind have one fingerprint, which holds no personal data as far as the text alone
/// tells; [`fingerprint_of`] takes out what is known of the mail as well.
pub fn fingerprint(text: &str) -> String {
    fingerprint_of(text, &[])
}

/// The same, also without the parts of `addresses`: those of the mail's recipient and sender, whose local parts stand in
/// replies as bare words.
pub fn fingerprint_of(text: &str, addresses: &[&str]) -> String {
    let parts: Vec<String> =
        addresses.iter().flat_map(|address| address.split('@')).map(text::folded).collect();
    let mut print = Print::default();
    for token in text::tokens(&text::folded(text)) {
        match token {
            Token::Code => {}
            Token::Link { before, .. } => {
                print.word(before, &parts);
                print.push("{link}");
            }
            Token::Address(word) => print.address(word),
            Token::Plain(word) | Token::Odd(word) => print.word(word, &parts),
        }
        if print.length >= MAX_FINGERPRINT {
            break;
        }
    }
    print.end()
}

#[derive(Debug, Default)]
struct Print {
    text: String,
    /// In characters.
    length: usize,
    last: String,
    /// The quotation mark that is open.
    quote: Option<char>,
}

impl Print {
    fn address(&mut self, word: &str) {
        if !self.is_quoted(word) {
            self.push("{address}");
        }
    }

    /// Whether a word stands in quotation marks, of which it may hold the closing one.
    fn is_quoted(&mut self, word: &str) -> bool {
        let Some(mark) = self.quote else { return false };
        if word.contains(mark) {
            self.quote = None;
        }
        true
    }

    fn word(&mut self, word: &str, parts: &[String]) {
        if self.is_quoted(word) {
            return;
        }
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        if let Some(mark) = word.chars().next().filter(|c| matches!(c, '"' | '\'' | '`' | '<' | '[')) {
            let closing = match mark {
                '<' => '>',
                '[' => ']',
                '`' => '\'',
                mark => mark,
            };
            let is_closed = word[mark.len_utf8()..].contains(closing);
            // an apostrophe quotes nothing but its word
            self.quote = (!is_closed && mark != '\'' && mark != '`').then_some(closing);
            self.push("{quoted}");
        } else if bare
            .contains(|c: char| c.is_numeric() || matches!(c, '.' | '_' | '=' | '+' | '#' | ':' | '\\'))
        {
            self.push("{id}");
        } else if parts.iter().any(|part| part == bare) || self.may_be_name(bare) {
            self.push("{name}");
        } else if !bare.is_empty() {
            self.push(bare);
        }
    }

    fn may_be_name(&self, word: &str) -> bool {
        BEFORE_NAMES.contains(&self.last.as_str()) && !KNOWN.contains(word)
    }

    /// Appends a word; the same placeholder stands only once.
    fn push(&mut self, word: &str) {
        if word.starts_with('{') && self.last == word {
            return;
        }
        if !self.text.is_empty() {
            self.text.push(' ');
            self.length += 1;
        }
        self.text.push_str(word);
        self.length += word.chars().count();
        self.last.clear();
        self.last.push_str(word);
    }

    fn end(mut self) -> String {
        if let Some((at, _)) = self.text.char_indices().nth(MAX_FINGERPRINT) {
            self.text.truncate(at);
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_of_one_kind_have_one_fingerprint() {
        for (one, other, expected) in [
            (
                "5.9.9 <ada@x.example>: frobnicated at mx1.x.example [192.0.2.1] (id 4F1B2C)",
                "5.9.9 <bob.s@y.example>: frobnicated at mail.y.example [2001:db8::1] (id 77AA01)",
                "{address} frobnicated at {id} {quoted} id {id}",
            ),
            (
                "550-5.9.9 Sorry, user ada is frobnicated\n550 5.9.9 see https://x.example/?u=ada",
                "Sorry, USER Bob is   frobnicated see http://y.example/b",
                "sorry user {name} is frobnicated see {link}",
            ),
            (
                "Frobnicated \"Ada Lovelace\" after 12 tries",
                "frobnicated \"bob\" after 3 tries",
                "frobnicated {quoted} after {id} tries",
            ),
            (
                "Frobnicated <Ada Lovelace ada@x.example> here",
                "frobnicated <bob> here",
                "frobnicated {quoted} here",
            ),
        ] {
            assert_eq!(fingerprint(one), expected);
            assert_eq!(fingerprint(other), expected);
        }
        assert_eq!(fingerprint(""), "");
        let known = fingerprint_of("there is no ada.l or Ada here", &["Ada@x.example"]);
        assert_eq!(known, "there is no {id} or {name} here");
        assert_eq!(fingerprint(&"frob ".repeat(500)).chars().count(), MAX_FINGERPRINT);
    }
}
