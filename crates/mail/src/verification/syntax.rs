//! What an address may look like (RFC 5321 section 4.1.2, RFC 5322 section 3.4.1, RFC 6531 section 3.3).
//!
//! More liberal than [`EmailAddress`](mailwright_core::address::EmailAddress), which the service sends to: quoted local
//! parts, all of `atext` and characters beyond ASCII are taken, since such addresses exist. Stricter than RFC 5321:
//! address literals (`a@[192.0.2.1]`), names of one label (`a@localhost`), a final dot of the domain, comments and
//! folding white space are refused. White space around the whole address does not count.

use mailwright_core::address::{DomainName, MAX_ADDRESS, MAX_LOCAL_PART};

/// The longest text that is read at all, in bytes. Characters beyond ASCII make a domain longer than it is on the wire.
const MAX_TEXT: usize = MAX_ADDRESS * 4;

/// An address, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// What stands before the `@`, as it was written, with quotes if it has them.
    pub(super) local: &'a str,
    /// The domain in lower case, in A-labels.
    pub(super) domain: DomainName,
}

impl Parts<'_> {
    /// The local part in lower case, without quotes and without a tag after a plus.
    pub(super) fn base(&self) -> String {
        let text = self.unquoted();
        let end = self.plus().unwrap_or(text.len());
        text.get(..end).unwrap_or(text).to_lowercase()
    }

    /// Whether a tag is added to the local part with a plus (RFC 5233). A plus at the beginning adds to nothing.
    pub(super) fn is_plus_addressed(&self) -> bool {
        self.plus().is_some()
    }

    fn plus(&self) -> Option<usize> {
        self.unquoted().find('+').filter(|&at| at > 0)
    }

    fn unquoted(&self) -> &str {
        let inner = self.local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        inner.unwrap_or(self.local)
    }
}

/// Takes an address apart. The error ends the sentence "The address is malformed: ".
pub(super) fn parse(text: &str) -> Result<Parts<'_>, &'static str> {
    let text = text.trim();
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.len() > MAX_TEXT {
        return Err(TOO_LONG);
    }
    let (local, domain) = text.rsplit_once('@').ok_or("it has no @")?;
    check_local(local)?;
    let domain = check_domain(domain)?;
    if local.len() + 1 + domain.as_str().len() > MAX_ADDRESS {
        return Err(TOO_LONG);
    }
    Ok(Parts { local, domain })
}

const TOO_LONG: &str = "it is longer than 254 bytes";

fn check_local(local: &str) -> Result<(), &'static str> {
    if local.is_empty() {
        return Err("nothing stands before the @");
    }
    if local.len() > MAX_LOCAL_PART {
        return Err("the part before the @ is longer than 64 bytes");
    }
    match local.strip_prefix('"') {
        Some(rest) => check_quoted(rest),
        None => check_dot_atom(local),
    }
}

/// `Dot-string`, with characters beyond ASCII (RFC 6531).
fn check_dot_atom(local: &str) -> Result<(), &'static str> {
    if local.starts_with('.') || local.ends_with('.') || local.contains("..") {
        return Err(
            "a dot stands at the beginning or the end of the part before the @, or beside another dot",
        );
    }
    if local.contains('@') {
        return Err("it has more than one @");
    }
    let is_fine = |c: char| c == '.' || is_atext(c) || is_beyond_ascii(c);
    if local.chars().all(is_fine) {
        Ok(())
    } else {
        Err("the part before the @ has a character that may not stand there without quotes")
    }
}

/// `Quoted-string` without its first quote: printable characters, a quote and a backslash only after a backslash.
fn check_quoted(rest: &str) -> Result<(), &'static str> {
    const UNCLOSED: &str = "the quotes before the @ are not closed at its end";
    let inner = rest.strip_suffix('"').ok_or(UNCLOSED)?;
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(' '..='~') => {}
                _ => return Err(UNCLOSED),
            },
            '"' => return Err("a quote stands inside of the quoted part before the @"),
            ' '..='~' => {}
            c if is_beyond_ascii(c) => {}
            _ => return Err("the quoted part before the @ has a control character"),
        }
    }
    Ok(())
}

fn check_domain(domain: &str) -> Result<DomainName, &'static str> {
    if domain.is_empty() {
        return Err("nothing stands after the @");
    }
    if domain.starts_with('[') {
        return Err("a network address stands after the @ instead of a domain");
    }
    if domain.ends_with('.') || domain.trim() != domain {
        return Err("the part after the @ ends with a dot, or white space stands around it");
    }
    if !domain.contains('.') {
        return Err("the part after the @ has no dot");
    }
    DomainName::parse(domain).ok_or("the part after the @ is no domain name")
}

/// The characters of RFC 5322 section 3.2.3.
fn is_atext(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c)
}

/// `UTF8-non-ascii` (RFC 6531 section 3.3), but no white space and nothing invisible that ends lines or turns text.
fn is_beyond_ascii(c: char) -> bool {
    !c.is_ascii()
        && !c.is_whitespace()
        && !c.is_control()
        && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_the_rfcs_allow() {
        for (text, local, domain) in [
            ("ada@example.com", "ada", "example.com"),
            ("  Ada.Lovelace@Example.COM\r\n", "Ada.Lovelace", "example.com"),
            ("!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~", "example.com"),
            (r#""a b"@example.com"#, r#""a b""#, "example.com"),
            (r#""a@b"@example.com"#, r#""a@b""#, "example.com"),
            (r#""a\"b\\"@example.com"#, r#""a\"b\\""#, "example.com"),
            (r#"""@example.com"#, r#""""#, "example.com"),
            ("jörg@bücher.example", "jörg", "xn--bcher-kva.example"),
            ("用户@例子.广告", "用户", "xn--fsqu00a.xn--4rr70v"),
            ("x@xn--bcher-kva.example", "x", "xn--bcher-kva.example"),
            ("-a@b.co", "-a", "b.co"),
        ] {
            let parts = parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!((parts.local, parts.domain.as_str()), (local, domain), "{text}");
        }
        assert!(parse(&format!("{}@b.co", "a".repeat(64))).is_ok());
        let long = format!("{}@{}.co", "a".repeat(60), format!("{}.", "b".repeat(60)).repeat(3) + "cccccc");
        assert_eq!((long.len(), parse(&long).is_ok()), (253, true));
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, why) in [
            ("", "it is empty"),
            (" \t", "it is empty"),
            ("ada", "it has no @"),
            ("@example.com", "nothing stands before"),
            ("ada@", "nothing stands after"),
            (".a@b.co", "a dot stands"),
            ("a.@b.co", "a dot stands"),
            ("a..b@b.co", "a dot stands"),
            ("a@b@c.co", "more than one @"),
            ("a b@c.co", "may not stand there"),
            ("a,b@c.co", "may not stand there"),
            ("a\u{a0}b@c.co", "may not stand there"),
            ("a\u{202e}b@c.co", "may not stand there"),
            ("\"a@c.co", "not closed"),
            ("\"a\\\"@c.co", "not closed"),
            ("\"a\"b\"@c.co", "a quote stands inside"),
            ("\"a\rb\"@c.co", "control character"),
            ("a@[192.0.2.1]", "a network address"),
            ("a@localhost", "no dot"),
            ("a@b.co.", "ends with a dot"),
            ("a@ b.co", "white space"),
            ("a@b..co", "no domain name"),
            ("a@-b.co", "no domain name"),
            ("a@b_c.co", "no domain name"),
            ("a@192.0.2.1", "no domain name"),
            ("a@b.c", "no domain name"),
            ("a@b.co\r\nBcc: x@y.zz", "more than one @"),
            ("a\r\nb@y.zz", "may not stand there"),
        ] {
            let found = parse(text).expect_err(text);
            assert!(found.contains(why), "{text:?}: {found}");
        }
        assert!(parse(&format!("{}@b.co", "a".repeat(65))).is_err());
        assert!(parse(&format!("{}@b.co", "ä".repeat(33))).is_err());
        assert!(parse(&"a".repeat(5000)).is_err());
        let long = format!("{}@{}.co", "a".repeat(64), format!("{}.", "b".repeat(60)).repeat(3) + "cccccc");
        assert_eq!(parse(&long), Err(TOO_LONG));
    }

    #[test]
    fn a_tag_is_what_follows_a_plus() {
        let parts = parse("Ada+News@example.com").unwrap();
        assert_eq!((parts.base(), parts.is_plus_addressed()), ("ada".into(), true));
        let parts = parse("+ada@example.com").unwrap();
        assert_eq!((parts.base(), parts.is_plus_addressed()), ("+ada".into(), false));
        let parts = parse("\"ada+x\"@example.com").unwrap();
        assert_eq!((parts.base(), parts.is_plus_addressed()), ("ada".into(), true));
    }
}
