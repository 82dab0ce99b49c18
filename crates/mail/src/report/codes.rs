//! Reply codes and status codes in texts.

/// An enhanced status code.
pub(super) type Status = (u8, u16, u16);

/// The status code at the beginning of a `Status` field; what follows may explain it.
pub(super) fn status(value: &str) -> Option<Status> {
    let value = value.trim_start();
    let end = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    read(value[..end].trim_end_matches('.'))
}

/// The status code that a text names: one behind a reply code or behind `#` before any other.
pub(super) fn status_in(text: &str) -> Option<Status> {
    let mut any = None;
    for (at, word) in words(text) {
        let Some(status) = read(word) else { continue };
        let before = text[..at].trim_end_matches(['(', '[', '"', '\'']);
        let is_marked = before.ends_with('#')
            || before.trim_end_matches([' ', '-']).ends_with(|c: char| c.is_ascii_digit());
        if is_marked {
            return Some(status);
        }
        any = any.or(Some(status));
    }
    any
}

/// The class of the reply code or of the status code that a text names: 4 or 5.
pub(super) fn class_in(text: &str) -> Option<u8> {
    let code = words(text).find(|(at, word)| {
        let after = text[at + word.len()..].chars().next();
        is_reply(word) && after.is_none_or(|c| matches!(c, ' ' | '-' | '\n' | ':' | ')' | ']'))
    });
    let code = code.map(|(_, word)| word.as_bytes()[0] - b'0');
    status_in(text).map(|status| status.0).or(code).filter(|class| *class != 2)
}

fn is_reply(word: &str) -> bool {
    let word = word.as_bytes();
    word.len() == 3
        && matches!(word[0], b'4' | b'5')
        && matches!(word[1], b'0'..=b'7')
        && word[2].is_ascii_digit()
}

/// Runs of digits and dots that no letter and no other such run touches, with where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let mut rest = 0;
    std::iter::from_fn(move || {
        while let Some(begin) = text[rest..].find(is_part) {
            let begin = rest + begin;
            let length = text[begin..].find(|c| !is_part(c)).unwrap_or(text.len() - begin);
            rest = begin + length;
            let word = text[begin..rest].trim_end_matches('.');
            if word.starts_with(['2', '4', '5'])
                && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
            {
                return Some((begin, word));
            }
        }
        None
    })
}

/// Reads `class.subject.detail`.
fn read(text: &str) -> Option<Status> {
    let mut parts = text.split('.');
    let mut part = || parts.next().filter(|part| (1..=3).contains(&part.len()))?.parse::<u16>().ok();
    let (class, subject, detail) = (part()?, part()?, part()?);
    (matches!(class, 2 | 4 | 5) && parts.next().is_none()).then_some((class as u8, subject, detail))
}

#[cfg(test)]
mod tests {
    use super::{class_in, status, status_in};

    #[test]
    fn fields_begin_with_a_code() {
        for (text, expected) in [
            ("5.1.1", Some((5, 1, 1))),
            (" 4.4.7 (expired)", Some((4, 4, 7))),
            ("5.1.10", Some((5, 1, 10))),
            ("2.0.0", Some((2, 0, 0))),
            ("5.1", None),
            ("3.1.1", None),
            ("5.1.1.1", None),
            ("5.1111.1", None),
            ("x5.1.1", None),
            ("", None),
        ] {
            assert_eq!(status(text), expected, "{text}");
        }
    }

    #[test]
    fn texts_name_codes() {
        for (text, expected, class) in [
            ("550 5.1.1 <a@b.example> unknown", Some((5, 1, 1)), Some(5)),
            ("550-5.1.1 unknown", Some((5, 1, 1)), Some(5)),
            ("host 4.1.2 said: 550 5.7.1 no", Some((5, 7, 1)), Some(5)),
            ("unknown (#5.1.1)", Some((5, 1, 1)), Some(5)),
            ("no (5.1.1).", Some((5, 1, 1)), Some(5)),
            ("from 5.1.1.20 with v4.9.2b", None, None),
            ("said 451 later", None, Some(4)),
            ("said: 550", None, Some(5)),
            ("550: no such user", None, Some(5)),
            ("5501 users and 550kB", None, None),
            ("all 250 2.0.0 fine", Some((2, 0, 0)), None),
            ("é5.1.1", Some((5, 1, 1)), Some(5)),
        ] {
            assert_eq!(status_in(text), expected, "{text}");
            assert_eq!(class_in(text), class, "{text}");
        }
    }
}
