//! Paths and domains as commands have them (RFC 5321 section 4.1.2).

use std::fmt::{self, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Limits of RFC 5321 section 4.5.3.1, in octets.
const MOST_LOCAL: usize = 64;
const MOST_DOMAIN: usize = 255;
const MOST_PATH: usize = 256;

/// An address of an envelope. A source route that it was given with is left out (RFC 5321 appendix C).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path {
    local: String,
    domain: String,
}

impl Path {
    /// What stands before the `@`, without the quotation marks and backslashes of a quoted string.
    pub fn local(&self) -> &str {
        &self.local
    }

    /// What stands after the `@`, as it was written: a domain, an address literal in brackets, or nothing when the
    /// recipient is `postmaster` without a domain.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Whether the address can be sent without SMTPUTF8 (RFC 6531).
    pub fn is_ascii(&self) -> bool {
        self.local.is_ascii() && self.domain.is_ascii()
    }
}

/// The address without angle brackets, its local part quoted when it has to be.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_dot_string(&self.local) {
            f.write_str(&self.local)?;
        } else {
            f.write_char('"')?;
            for c in self.local.chars() {
                if matches!(c, '"' | '\\') {
                    f.write_char('\\')?;
                }
                f.write_char(c)?;
            }
            f.write_char('"')?;
        }
        if self.domain.is_empty() { Ok(()) } else { write!(f, "@{}", self.domain) }
    }
}

/// Whose path is read. Senders write local parts beyond the limit, such as VERP of VERP, and no harm comes of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Reverse,
    Forward,
}

/// What is wrong with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathError {
    Syntax,
    TooLong,
}

/// Reads the path at the beginning of `text`, which begins with `<`, and what follows it. `None` is the null sender.
pub(super) fn parse(text: &str, kind: Kind) -> Result<(Option<Path>, &str), PathError> {
    let rest = text.strip_prefix('<').ok_or(PathError::Syntax)?;
    if let (Kind::Reverse, Some(after)) = (kind, rest.strip_prefix('>')) {
        return Ok((None, after));
    }
    let rest = skip_route(rest).ok_or(PathError::Syntax)?;
    let (local, rest) = local_part(rest).ok_or(PathError::Syntax)?;
    let (domain, rest) = match rest.strip_prefix('@') {
        Some(rest) => domain(rest).ok_or(PathError::Syntax)?,
        None if kind == Kind::Forward && local.eq_ignore_ascii_case("postmaster") => ("", rest),
        None => return Err(PathError::Syntax),
    };
    let after = rest.strip_prefix('>').ok_or(PathError::Syntax)?;
    let is_long = kind == Kind::Forward && local.len() > MOST_LOCAL;
    if is_long || domain.len() > MOST_DOMAIN || text.len() - after.len() > MOST_PATH {
        return Err(PathError::TooLong);
    }
    Ok((Some(Path { local, domain: domain.to_owned() }), after))
}

/// Whether `text` will do as what a client says of itself in EHLO: loosely a domain or an address literal.
pub(super) fn is_client_name(text: &str) -> bool {
    let loose = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    match text.strip_prefix('[') {
        _ if text.len() > MOST_DOMAIN => false,
        Some(literal) => literal
            .strip_suffix(']')
            .is_some_and(|inside| !inside.is_empty() && inside.chars().all(|c| loose(c) || c == ':')),
        None => !text.is_empty() && text.chars().all(loose),
    }
}

/// `text` after a source route (`@one,@two:`), if it begins with one.
fn skip_route(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(hop) = rest.strip_prefix('@') {
        let (_, after) = domain(hop)?;
        if let Some(end) = after.strip_prefix(':') {
            return Some(end);
        }
        rest = after.strip_prefix(',')?;
    }
    // a comma is followed by another hop
    (rest.len() == text.len()).then_some(rest)
}

fn local_part(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(['@', '>']).unwrap_or(text.len());
        let (local, rest) = text.split_at(end);
        return is_dot_string(local).then(|| (local.to_owned(), rest));
    };
    let mut local = String::new();
    let mut characters = quoted.chars();
    loop {
        match characters.next()? {
            '"' => return Some((local, characters.as_str())),
            '\\' => local.push(characters.next().filter(|c| matches!(c, ' '..='~'))?),
            c if matches!(c, ' '..='~') || is_letter_beyond_ascii(c) => local.push(c),
            _ => return None,
        }
    }
}

fn domain(text: &str) -> Option<(&str, &str)> {
    if text.starts_with('[') {
        let (literal, rest) = text.split_at(text.find(']')? + 1);
        return is_literal(literal).then_some((literal, rest));
    }
    let end = text.find(['>', ':', ',']).unwrap_or(text.len());
    let (domain, rest) = text.split_at(end);
    let of_label = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || is_letter_beyond_ascii(c);
    let is_domain = domain.split('.').all(|label| !label.is_empty() && label.chars().all(of_label));
    is_domain.then_some((domain, rest))
}

fn is_literal(literal: &str) -> bool {
    let inside = literal.trim_start_matches('[').trim_end_matches(']');
    let tag = "IPv6:";
    match inside.get(..tag.len()) {
        Some(begin) if begin.eq_ignore_ascii_case(tag) => inside[tag.len()..].parse::<Ipv6Addr>().is_ok(),
        _ => inside.parse::<Ipv4Addr>().is_ok(),
    }
}

fn is_dot_string(text: &str) -> bool {
    let of_atom =
        |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || is_letter_beyond_ascii(c);
    text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(of_atom))
}

/// RFC 6531 section 3.3 adds all of UTF-8 beyond ASCII; spaces and controls would only deceive.
fn is_letter_beyond_ascii(c: char) -> bool {
    !c.is_ascii() && !c.is_control() && !c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn forward(text: &str) -> Result<String, PathError> {
        parse(text, Kind::Forward).map(|(path, rest)| format!("{}{rest}", path.unwrap()))
    }

    #[test]
    fn paths_are_read() {
        for (text, path) in [
            ("<a@b.example>", "a@b.example"),
            ("<a.b+c=d@B.example> X", "a.b+c=d@B.example X"),
            ("<@x.example,@[10.0.0.1]:a@b>", "a@b"),
            ("<\"a b\\\"\"@b>", "\"a b\\\"\"@b"),
            ("<\"a\\b\"@b>", "ab@b"),
            ("<a@[192.0.2.1]>", "a@[192.0.2.1]"),
            ("<a@[ipv6:2001:db8::1]>", "a@[ipv6:2001:db8::1]"),
            ("<Postmaster>", "Postmaster"),
            ("<j\u{f6}rg@m\u{fc}ll.example>", "j\u{f6}rg@m\u{fc}ll.example"),
        ] {
            assert_eq!(forward(text).as_deref(), Ok(path), "{text}");
        }
        for text in [
            "",
            "a@b",
            "<>",
            "<a@b",
            "<a>",
            "<@b>",
            "<a@>",
            "<a@b@c>",
            "<a b@c>",
            "<a..b@c>",
            "<.a@c>",
            "<a.@c>",
            "<a@b..c>",
            "<a@.c>",
            "<a@b.>",
            "<@x:>",
            "<@x,:a@b>",
            "<@x,a@b>",
            "<@x a@b>",
            "<a@[1.2.3]>",
            "<a@[]>",
            "<a@[>",
            "<a@[IPv6:]>",
            "<a@[IPv4:10.0.0.1]>",
            "<\"a@b>",
            "<\"a\"b@c>",
            "<\"a\\\">",
            "<a\u{85}@b>",
            "<a@b\u{2028}>",
            "<a,b@c>",
            "<a@b:c>",
            "<a@b,c>",
            "<<a@b>>",
        ] {
            assert_eq!(forward(text), Err(PathError::Syntax), "{text}");
        }
    }

    #[test]
    fn the_null_sender_is_no_recipient() {
        assert_eq!(parse("<> SIZE=1", Kind::Reverse), Ok((None, " SIZE=1")));
        assert_eq!(parse("<postmaster>", Kind::Reverse), Err(PathError::Syntax));
    }

    #[test]
    fn lengths_are_limited() {
        let (l64, l65) = ("l".repeat(64), "l".repeat(65));
        assert!(forward(&format!("<{l64}@b>")).is_ok());
        assert_eq!(forward(&format!("<{l65}@b>")), Err(PathError::TooLong));
        assert!(parse(&format!("<{l65}@b>"), Kind::Reverse).is_ok());
        assert!(forward(&format!("<a@{}>", "d".repeat(252))).is_ok());
        assert_eq!(forward(&format!("<a@{}>", "d".repeat(253))), Err(PathError::TooLong));
    }

    #[test]
    fn clients_names_are_loose() {
        for name in ["a", "mail.example.com", "my_host", "[192.0.2.1]", "[IPv6:::1]", "[::1]", "localhost."] {
            assert!(is_client_name(name), "{name}");
        }
        for name in ["", "[]", "[", "a b", "a;b", "a(b)", "<a>", "\u{e4}", "[a b]", "[a", &"a".repeat(256)] {
            assert!(!is_client_name(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "<?[a.@\"\\\\>:,\\[\\]1 \u{e4}\u{85}]{0,30}") {
            for kind in [Kind::Reverse, Kind::Forward] {
                if let Ok((Some(path), _)) = parse(&text, kind) {
                    let written = format!("<{path}>");
                    prop_assert_eq!(parse(&written, kind), Ok((Some(path), "")));
                }
            }
        }
    }
}
