//! Email addresses and domain names, parsed once at the edge.

mod mailbox;

pub use mailbox::Mailbox;

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// The longest address that SMTP can carry (RFC 5321 section 4.5.3.1.3, less the angle brackets).
pub const MAX_ADDRESS: usize = 254;
/// The longest local part (RFC 5321 section 4.5.3.1.1).
pub const MAX_LOCAL_PART: usize = 64;

/// An address in its one stored form: trimmed, lower-cased, an internationalised domain as A-labels.
///
/// The syntax is the reference's: letters, digits and `_ ' + - .` in the local part, no leading, trailing or double
/// dot, a dotted domain whose last label has at least two letters. Beyond that the local part does not begin with `-`:
/// mail servers refuse such an address, since a program could take it for an option. Quoted local parts and address
/// literals are refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EmailAddress(Arc<str>);

impl EmailAddress {
    /// Parses and normalises an address; `None` when it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > MAX_ADDRESS * 4 {
            return None;
        }
        let (local, domain) = text.rsplit_once('@')?;
        if !is_local_part(local) {
            return None;
        }
        let domain = DomainName::parse_strict(domain)?;
        let address = format!("{}@{}", local.to_ascii_lowercase(), domain.as_str());
        (address.len() <= MAX_ADDRESS).then(|| Self(address.into()))
    }

    /// Takes a text that [`EmailAddress::parse`] made before: a stored address.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }

    /// The whole address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the `@`.
    pub fn local(&self) -> &str {
        self.0.rsplit_once('@').map_or("", |(local, _)| local)
    }

    /// The part after the `@`.
    pub fn domain(&self) -> &str {
        self.0.rsplit_once('@').map_or("", |(_, domain)| domain)
    }
}

fn is_local_part(local: &str) -> bool {
    !local.is_empty()
        && local.len() <= MAX_LOCAL_PART
        && !local.starts_with(['.', '-'])
        && !local.ends_with('.')
        && !local.contains("..")
        && local.bytes().all(|b| b.is_ascii_alphanumeric() || b"_'+-.".contains(&b))
}

impl fmt::Display for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for EmailAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A host name in its one stored form: lower-cased, A-labels, no final dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainName(Arc<str>);

impl DomainName {
    /// Parses and normalises a domain name of at least two labels; `None` when it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        Self::parse_strict(text.strip_suffix('.').unwrap_or(text))
    }

    fn parse_strict(text: &str) -> Option<Self> {
        if text.len() > 1024 {
            return None;
        }
        let name =
            if text.is_ascii() { text.to_ascii_lowercase() } else { idna::domain_to_ascii(text).ok()? };
        let top = name.rsplit_once('.')?.1;
        let top_ok =
            top.len() >= 2 && (top.bytes().all(|b| b.is_ascii_lowercase()) || top.starts_with("xn--"));
        (name.len() <= 253 && top_ok && name.split('.').all(is_label)).then(|| Self(name.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as people read it: letters beyond ASCII instead of A-labels. What cannot be decoded stays.
    pub fn unicode(&self) -> String {
        idna::domain_to_unicode(&self.0).0
    }
}

fn is_label(label: &str) -> bool {
    !label.is_empty()
        && label.len() <= 63
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for DomainName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalises_what_it_accepts() {
        for (given, stored) in [
            (" Ada@Example.COM ", "ada@example.com"),
            ("o'neil+tag@sub.example.co.uk", "o'neil+tag@sub.example.co.uk"),
            ("x@bücher.example", "x@xn--bcher-kva.example"),
        ] {
            assert_eq!(EmailAddress::parse(given).unwrap().as_str(), stored);
        }
    }

    #[test]
    fn refuses_what_is_no_address() {
        for bad in [
            "",
            "a",
            "a@",
            "@b.co",
            "a@b",
            "a@b.c",
            "a b@c.de",
            ".a@b.co",
            "-a@b.co",
            "a.@b.co",
            "a..b@c.de",
            "a@b@c.de",
            "\"a\"@b.co",
            "a@[1.2.3.4]",
            "a@-b.co",
            "a@b-.co",
            "a@b..co",
            "a@b.co\r\nBcc: x@y.zz",
            "a@b.1x",
            "a@b.co.",
        ] {
            assert!(EmailAddress::parse(bad).is_none(), "{bad:?}");
        }
        assert!(EmailAddress::parse(&format!("{}@b.co", "a".repeat(65))).is_none());
    }

    #[test]
    fn a_domain_may_end_with_a_dot() {
        assert_eq!(DomainName::parse("Mail.Example.com.").unwrap().as_str(), "mail.example.com");
        assert!(DomainName::parse("localhost").is_none());
    }

    #[test]
    fn a_domain_is_shown_with_its_own_letters() {
        for name in ["bücher.example", "mail.example.com"] {
            assert_eq!(DomainName::parse(name).unwrap().unicode(), name);
        }
    }
}
