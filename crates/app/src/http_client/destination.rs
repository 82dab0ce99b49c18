//! Where requests go. Who named an address decides what it may be, so that each has a type of its own.

use std::fmt;

use url::{Host, Url};

use super::error::Refusal;

/// Ports at which other protocols than HTTP are spoken: those that browsers refuse (the "bad ports" of the Fetch
/// standard). What a user puts into a request must not be taken for a mail or for commands there. Any other port may be
/// that of a web server, so that a list of ports which are allowed would keep out what serves users.
const OTHER_PROTOCOLS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
    515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723,
    2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// Who named an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// The operator, in the configuration. It may be in a private network.
    Operator,
    /// A user, or a server in a redirect. It has to be public, unless the operator allows private networks.
    User,
}

/// An address that a request can go to.
pub trait Destination: sealed::Sealed + Clone + fmt::Debug + Send + Sync {
    /// Who named it.
    const NAMED_BY: NamedBy;

    /// The address.
    fn url(&self) -> &Url;
}

mod sealed {
    /// Nothing else is a destination.
    pub trait Sealed {}
}

/// An address that the operator configured.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfiguredUrl(Url);

/// An address that a user gave. Its host is looked at when a request goes there, and each time again, because a name can
/// stand for another address then.
#[derive(Clone, PartialEq, Eq)]
pub struct GivenUrl(Url);

impl ConfiguredUrl {
    /// Reads an address.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        Ok(Self(read(text, NamedBy::Operator)?))
    }
}

impl GivenUrl {
    /// Reads an address. What is wrong with it can be said before anything is looked up.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        Ok(Self(read(text, NamedBy::User)?))
    }
}

impl sealed::Sealed for ConfiguredUrl {}
impl sealed::Sealed for GivenUrl {}

impl Destination for ConfiguredUrl {
    const NAMED_BY: NamedBy = NamedBy::Operator;

    fn url(&self) -> &Url {
        &self.0
    }
}

impl Destination for GivenUrl {
    const NAMED_BY: NamedBy = NamedBy::User;

    fn url(&self) -> &Url {
        &self.0
    }
}

/// Without path and query, which can hold secrets.
impl fmt::Debug for ConfiguredUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConfiguredUrl({})", self.0.origin().ascii_serialization())
    }
}

/// Without path and query, which can hold secrets.
impl fmt::Debug for GivenUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GivenUrl({})", self.0.origin().ascii_serialization())
    }
}

fn read(text: &str, by: NamedBy) -> Result<Url, Refusal> {
    let mut url = Url::parse(text).map_err(|_| Refusal::Unreadable)?;
    url.set_fragment(None);
    check(&url, by)?;
    Ok(url)
}

/// Whether requests can go to an address, as far as the address itself tells. The parser has written hosts in one form:
/// `0x7f.1` is `127.0.0.1` here.
pub(super) fn check(url: &Url, by: NamedBy) -> Result<(), Refusal> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refusal::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refusal::UserInfo);
    }
    let port = url.port_or_known_default().ok_or(Refusal::Unreadable)?;
    let is_other = by == NamedBy::User && OTHER_PROTOCOLS.contains(&port);
    if is_other || port == 0 { Err(Refusal::Port(port)) } else { Ok(()) }
}

/// The host, in the form that places are counted by.
pub(super) fn host(url: &Url) -> String {
    match url.host() {
        Some(Host::Domain(name)) => name.trim_end_matches('.').to_owned(),
        Some(address) => address.to_string(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_refused() {
        for (text, refusal) in [
            ("https://example.com/hook?key=secret#part", None),
            ("http://example.com:8080", None),
            ("https://b\u{fc}cher.example/", None),
            ("https://[2606:4700::1]:8443/", None),
            ("example.com/hook", Some(Refusal::Unreadable)),
            ("/hook", Some(Refusal::Unreadable)),
            ("http://", Some(Refusal::Unreadable)),
            ("http://256.1.1.1/", Some(Refusal::Unreadable)),
            ("http://example.com:99999/", Some(Refusal::Unreadable)),
            ("http://exa mple.com/", Some(Refusal::Unreadable)),
            ("ftp://example.com/", Some(Refusal::Scheme)),
            ("file:///etc/passwd", Some(Refusal::Scheme)),
            ("gopher://example.com:70/", Some(Refusal::Scheme)),
            ("javascript:alert(1)", Some(Refusal::Scheme)),
            ("https://ada@example.com/", Some(Refusal::UserInfo)),
            ("https://ada:hunter2@example.com/", Some(Refusal::UserInfo)),
            ("https://:hunter2@example.com/", Some(Refusal::UserInfo)),
            ("http://example.com:0/", Some(Refusal::Port(0))),
            ("http://example.com:25/", Some(Refusal::Port(25))),
            ("https://example.com:587/", Some(Refusal::Port(587))),
            ("http://example.com:6667/", Some(Refusal::Port(6667))),
        ] {
            assert_eq!(GivenUrl::parse(text).err(), refusal, "{text}");
        }
        assert!(ConfiguredUrl::parse("http://provider.internal:6000/").is_ok(), "the operator knows");
        assert_eq!(ConfiguredUrl::parse("http://provider:0/"), Err(Refusal::Port(0)));
        assert_eq!(ConfiguredUrl::parse("https://a:b@provider/"), Err(Refusal::UserInfo));
    }

    #[test]
    fn hosts_have_one_form() {
        for (text, name) in [
            ("http://EXAMPLE.com./", "example.com"),
            ("http://0x7f.1/", "127.0.0.1"),
            ("http://2130706433/", "127.0.0.1"),
            ("http://0177.0.0.1/", "127.0.0.1"),
            ("http://[0:0::ffff:7f00:1]/", "[::ffff:7f00:1]"),
            ("http://\u{ff11}27.0.0.1/", "127.0.0.1"),
        ] {
            assert_eq!(host(&Url::parse(text).unwrap()), name, "{text}");
        }
    }

    #[test]
    fn addresses_are_shown_without_their_secrets() {
        let given = GivenUrl::parse("https://example.com/hook?key=secret").unwrap();
        assert_eq!(format!("{given:?}"), "GivenUrl(https://example.com)");
    }
}
