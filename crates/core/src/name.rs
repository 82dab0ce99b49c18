//! Names that people give to projects, keys and themselves, and that other people are shown.

use std::borrow::Cow;

/// Whether a text can be shown as a name and is what it looks like: at least one visible character, no control
/// characters (so no line ends, which would end a mail header or a log line), and none that are invisible or turn the
/// direction of writing around.
pub fn is_plain(text: &str) -> bool {
    text.chars().any(|c| !c.is_whitespace()) && !holds_hidden(text)
}

/// Whether a text has control characters, line ends included, or some that are invisible or turn the direction of
/// writing around.
pub fn holds_hidden(text: &str) -> bool {
    text.chars().any(|c| c.is_control() || is_hidden(c))
}

/// Whether a text holds what every mail program makes a link of: `https://...`, `www...`, or `example.com/path`. The
/// bare name of a site is a name that people give to projects.
pub fn holds_link(text: &str) -> bool {
    text.to_lowercase().split_whitespace().any(|word| {
        let host = word.split('/').next().unwrap_or_default();
        word.contains("://") || word.contains("www.") || (host.len() < word.len() && has_site(host))
    })
}

/// A name as a mail shows it to somebody who does not know who gave it: with nothing that a mail program makes a link
/// of. `example.com` becomes `example[.]com`.
pub fn without_links(text: &str) -> Cow<'_, str> {
    if !text.contains("://") && !has_site(text) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("://", "[:]//");
    let mut shown = String::with_capacity(text.len() + 8);
    for (at, c) in text.char_indices() {
        if c == '.' && joins_labels(&text, at) {
            shown.push_str("[.]");
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

fn has_site(text: &str) -> bool {
    text.match_indices('.').any(|(at, _)| joins_labels(text, at))
}

/// Whether the dot at a place stands between two labels of a site's name. Version numbers and ends of sentences do not.
fn joins_labels(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + 1..].chars().next();
    before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphabetic)
}

/// Whether a character is invisible, or turns the direction of writing around.
///
/// Joiners (U+200C, U+200D) are not among these: some scripts, and emoji, cannot be written without them.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::{holds_hidden, holds_link, is_plain, without_links};

    #[test]
    fn names_are_what_they_look_like() {
        for fine in ["Acme", "Bücher & Söhne", "株式会社", "می\u{200c}خواهم", "a"] {
            assert!(is_plain(fine), "{fine:?}");
        }
        for bad in ["", " ", "a\r\nBcc: x@y.zz", "a\nb", "a\0b", "abc\u{202e}fed", "a\u{200b}b", "\u{feff}"] {
            assert!(!is_plain(bad), "{bad:?}");
        }
        assert!(holds_hidden("a\u{1b}[2J") && !holds_hidden("") && !holds_hidden(" a b "));
    }

    #[test]
    fn links_are_known_and_sites_are_names() {
        for link in
            ["Pay at http://evil.example/login", "HTTPS://x", "go www.evil.example", "evil.example/login now"]
        {
            assert!(holds_link(link), "{link}");
        }
        for name in ["acme.com", "Acme Inc.", "A/B tests", "Shop v1.2", "and/or", "株式会社", "Co. / Ltd."]
        {
            assert!(!holds_link(name), "{name}");
        }
    }

    #[test]
    fn nothing_in_a_mail_becomes_a_link() {
        for (name, shown) in [
            ("Acme", "Acme"),
            ("acme.com", "acme[.]com"),
            ("shop.acme.co.uk, v1.2", "shop[.]acme[.]co[.]uk, v1.2"),
            ("see https://evil.example", "see https[:]//evil[.]example"),
            ("Acme Inc. and Co.", "Acme Inc. and Co."),
            ("bücher.example", "bücher[.]example"),
        ] {
            assert_eq!(without_links(name), shown);
        }
    }
}
