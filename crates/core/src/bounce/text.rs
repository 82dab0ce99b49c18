//! Replies in the form in which they are compared: what is said, without what it is said about.

use super::letters::fold;

/// How much of a reply's text is read.
const MAX_TEXT: usize = 2 * 1024;
/// In how many words codes are looked for, as in `host mail.example said: 550 5.1.1`.
const MAX_BEFORE_CODES: usize = 16;

/// A word of a reply, with the punctuation around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Letters and punctuation.
    Plain(&'a str),
    /// A word that holds digits, dots, hyphens or low lines, and no address.
    Odd(&'a str),
    /// A word that holds an address.
    Address(&'a str),
    /// A reply code or an enhanced code, at whatever place: each line of a reply begins with them.
    Code,
    /// A link, of which only the host is kept: what the path says is not said in the reply.
    Link {
        /// What stands before it without a space.
        before: &'a str,
        host: &'a str,
    },
}

/// What is read of a reply or a diagnostic, in small letters: the first 2 KiB, without the kind of the diagnostic
/// (`smtp;`, `X-Postfix;`, RFC 3464 section 2.3.6).
pub(super) fn folded(text: &str) -> String {
    let text = start(text);
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len() + 16);
    fold(text, &mut folded, MAX_TEXT);
    folded
}

fn start(text: &str) -> &str {
    let text = text[..text.floor_char_boundary(MAX_TEXT)].trim_start();
    let is_of_kind = |c: char| c.is_ascii_alphanumeric() || c == '-';
    match text.split_once(|c| !is_of_kind(c)) {
        Some((kind, rest))
            if text[kind.len()..].starts_with(';') && kind.contains(|c: char| c.is_ascii_alphabetic()) =>
        {
            rest
        }
        _ => text,
    }
}

/// What a byte tells about a word.
mod mark {
    pub(super) const GAP: u8 = 1;
    pub(super) const DIGIT: u8 = 2;
    pub(super) const AT: u8 = 4;
    pub(super) const SLASH: u8 = 8;
    pub(super) const JOINT: u8 = 16;

    /// The marks of all bytes.
    pub(super) const OF: [u8; 256] = {
        let mut of = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            of[byte] = match byte as u8 {
                0..=b' ' | 0x7f => GAP,
                b'0'..=b'9' => DIGIT,
                b'@' => AT,
                b'/' => SLASH,
                b'.' | b'-' | b'_' => JOINT,
                _ => 0,
            };
            byte += 1;
        }
        of
    };
}

/// The words of a text.
pub(super) fn tokens(folded: &str) -> impl Iterator<Item = Token<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let bytes = &folded.as_bytes()[at..];
        let gap = bytes.iter().position(|byte| mark::OF[usize::from(*byte)] != mark::GAP)?;
        let mut marks = 0;
        let length = bytes[gap..].iter().position(|byte| {
            let of_byte = mark::OF[usize::from(*byte)];
            marks |= of_byte;
            of_byte == mark::GAP
        });
        let start = at + gap;
        at = length.map_or(folded.len(), |length| start + length);
        Some(Token::of(&folded[start..at], marks))
    })
}

impl<'a> Token<'a> {
    fn of(word: &'a str, marks: u8) -> Self {
        let has = |mark: u8| marks & mark != 0;
        if marks & !mark::GAP == 0 {
            return Self::Plain(word);
        }
        let word = if has(mark::DIGIT) { without_code(word) } else { word };
        if has(mark::DIGIT) && is_code(word) {
            return Self::Code;
        }
        if has(mark::SLASH) {
            if let Some((before, link)) = word.split_once("://") {
                let before = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric());
                return Self::Link { before, host: host(link) };
            }
            // "www.spamhaus.org/query/ip/127.0.0.1"
            match word.split_once('/') {
                Some((start, _)) if start.contains('.') && !has(mark::AT) => {
                    return Self::Link { before: "", host: host(start) };
                }
                _ => {}
            }
        }
        if has(mark::AT) { Self::Address(word) } else { Self::Odd(word) }
    }
}

/// What follows `550-`, which each line of a reply begins with that is not the last.
fn without_code(word: &str) -> &str {
    match word.as_bytes() {
        [b'2'..=b'5', b'0'..=b'9', b'0'..=b'9', b'-', ..] => &word[4..],
        _ => word,
    }
}

/// Whether it is `550`, `5.1.1` or `(#5.1.1)`, or what remains of `550-`.
fn is_code(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.is_empty() || is_reply_code(word) || enhanced(word).is_some()
}

fn is_reply_code(word: &str) -> bool {
    matches!(word.as_bytes(), [b'2'..=b'5', b'0'..=b'9', b'0'..=b'9'])
}

/// The enhanced code that a word is.
fn enhanced(word: &str) -> Option<(u8, u16, u16)> {
    let mut parts = word.split('.');
    let class = match parts.next()? {
        "2" => 2,
        "4" => 4,
        "5" => 5,
        _ => return None,
    };
    let mut number = || {
        let part = parts.next()?;
        let is_number = part.len() <= 3 && part.bytes().all(|b| b.is_ascii_digit());
        if is_number { part.parse().ok() } else { None }
    };
    let (subject, detail) = (number()?, number()?);
    parts.next().is_none().then_some((class, subject, detail))
}

/// The codes that stand at the start of a text, as in `smtp; 550 5.1.1 User unknown`, or behind `said:`, and an enhanced
/// code behind a `#`.
pub(super) fn codes(folded: &str) -> (Option<u16>, Option<(u8, u16, u16)>) {
    let mut code = None;
    let mut status = None;
    let mut nth = 0;
    let is_gap = |c: char| c.is_whitespace() || matches!(c, '-' | '\'');
    for word in folded.split(is_gap).filter(|word| !word.is_empty()).take(MAX_BEFORE_CODES) {
        if word == "said:" {
            nth = 0;
            continue;
        }
        nth += 1;
        let word = bare(word);
        if nth == 1 && code.is_none() && is_reply_code(word) && matches!(word.as_bytes()[0], b'4' | b'5') {
            code = word.parse().ok();
        } else if nth <= 2 && status.is_none() {
            status = enhanced(word);
        }
    }
    let mut marked = folded.split('#').skip(1).take(MAX_BEFORE_CODES);
    let marked = || marked.find_map(|rest| enhanced(bare(rest.split(is_gap).next().unwrap_or_default())));
    (code, status.or_else(marked).filter(|(class, ..)| *class != 2))
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_ascii_alphanumeric())
}

/// The host that a link begins with.
fn host(link: &str) -> &str {
    let end = link.find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-'))).unwrap_or(link.len());
    &link[..end]
}

/// Whether a character may be part of an address as replies write it.
fn is_of_address(c: char) -> bool {
    !matches!(c, '<' | '>' | '(' | ')' | '[' | ']' | ',' | ';' | ':' | '"')
}

/// The pieces of a word that are no address.
fn around_addresses(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(word);
    std::iter::from_fn(move || {
        let word = rest?;
        let Some((before, after)) = word.split_once('@') else {
            rest = None;
            return Some(word);
        };
        let local = before.char_indices().rev().take_while(|(_, c)| is_of_address(*c)).last();
        // "ada@x.example...User unknown" is one word
        let mut last = '@';
        let end = after.char_indices().find(|(_, c)| {
            let is_end = !is_of_address(*c) || *c == '@' || (*c, last) == ('.', '.');
            last = *c;
            is_end
        });
        rest = Some(end.map_or("", |(end, _)| &after[end..]));
        Some(local.map_or(before, |(start, _)| &before[..start]))
    })
}

/// The text as rules are compared with it: one space between words, and no codes, addresses and paths.
pub(super) fn normal(folded: &str) -> String {
    let mut normal = String::with_capacity(folded.len() + 1);
    for token in tokens(folded) {
        match token {
            Token::Code => continue,
            Token::Plain(word) => normal.push_str(word),
            Token::Link { before, host } if before.contains(char::is_alphanumeric) => {
                normal.extend([before, " ", host]);
            }
            Token::Link { host, .. } => normal.push_str(host),
            Token::Odd(word) => push_parted(word, &mut normal),
            Token::Address(word) => {
                let from = normal.len();
                normal.extend(around_addresses(word));
                if !normal[from..].contains(char::is_alphanumeric) {
                    normal.truncate(from);
                }
            }
        }
        if !matches!(normal.as_bytes().last(), None | Some(b' ')) {
            normal.push(' ');
        }
    }
    normal.truncate(normal.trim_end().len());
    normal
}

/// Appends a word, with a space for `-` and `_` if it has no digits and dots: `over-quota`, but not `ofr_506`.
fn push_parted(word: &str, normal: &mut String) {
    if word.bytes().any(|b| b.is_ascii_digit() || b == b'.') {
        return normal.push_str(word);
    }
    let parts = word.split(['-', '_']).filter(|part| !part.is_empty());
    normal.extend(parts.enumerate().flat_map(|(nth, part)| [if nth > 0 { " " } else { "" }, part]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_compared_without_what_they_are_about() {
        for (text, expected) in [
            ("5.1.1 <Ada.Unknown@x.example>: User\n  Unknown", "user unknown"),
            ("<ada@x.example>... User unknown", "user unknown"),
            ("ada@x.example...User unknown", "..user unknown"),
            ("550-5.1.1 The account\n550-5.1.1 is gone. (#5.1.1)", "the account is gone."),
            ("550-Please log in", "please log in"),
            ("see https://x.example/unknown-user?x=1 now", "see x.example now"),
            ("(http://zen.spamhaus.org/query)", "zen.spamhaus.org"),
            ("不存在https://x.example/a", "不存在 x.example"),
            ("www.x.example/spam and/or", "www.x.example and/or"),
            ("over-quota OFR_506 mx-1.x.example", "over quota ofr_506 mx-1.x.example"),
            ("doesn\u{2019}t GRÖSSE", "doesn't grösse"),
            ("a - b -- \"x-\" - ", "a b \"x \""),
            ("a\u{1}b\tc\u{a0}d", "a b c d"),
            ("", ""),
            ("@ @@ <@>", ""),
            ("X-Outbound-Mail-Relay; Host not found", "host not found"),
            ("550; a", "a"),
        ] {
            assert_eq!(normal(&folded(text)), expected, "{text}");
        }
    }

    #[test]
    fn codes_are_found_at_the_start() {
        for (text, code, enhanced) in [
            ("smtp; 550 5.1.1 User unknown", Some(550), Some((5, 1, 1))),
            ("smtp;550-5.7.26 no", Some(550), Some((5, 7, 26))),
            ("X-Postfix; host x.example said: 554 5.6.0 no", Some(554), Some((5, 6, 0))),
            ("5.2.2 full", None, Some((5, 2, 2))),
            ("553 sorry, no (#5.7.1)", Some(553), Some((5, 7, 1))),
            ("smtp; 5.1.0 - Unknown address error 550-'5.1.1 no", None, Some((5, 1, 0))),
            ("the user has 550 mails since 5.1.1", None, None),
            ("2.0.0 250 ok", None, None),
            ("", None, None),
        ] {
            assert_eq!(codes(&folded(text)), (code, enhanced), "{text}");
        }
    }
}
