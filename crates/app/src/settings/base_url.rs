//! The URL that links begin with.

use std::fmt;

use url::{Host, Url};

/// The beginning of URLs: a scheme, a host, and perhaps a port and a path. Links begin with it as it was written, so
/// they change only when somebody changes it.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl {
    written: String,
    parsed: Url,
}

/// Why a text is no [`BaseUrl`]. It does not repeat the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// It has a user or a password.
    #[error("it has a user or a password")]
    Credentials,
    /// It has a query or a fragment, which would come before the path of a link.
    #[error("it has a query or a fragment")]
    Query,
    /// It is no URL, has no host, or has another scheme than `http` and `https`.
    #[error("it is no http or https URL with a host")]
    Unreadable,
    /// It has characters that no URL has. Links go into headers, where nobody encodes them.
    #[error("it has characters that no URL has")]
    Characters {
        /// The same with the characters of a URL.
        encoded: String,
    },
}

impl BaseUrl {
    /// Reads a URL; slashes at its end do not count.
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
        let text = text.trim_end_matches('/');
        // looked for in the text, because `user:password@host` without a scheme is parsed as something else
        if text.contains('@') {
            return Err(BaseUrlError::Credentials);
        }
        let parsed = Url::parse(text).map_err(|_| BaseUrlError::Unreadable)?;
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(BaseUrlError::Query);
        }
        let is_web = matches!(parsed.scheme(), "http" | "https") && parsed.has_host();
        // the parser corrects `https:host`, `https:///host` and spaces around
        let has_authority = text.contains("://") && !text.contains(":///");
        if !is_web || !has_authority || text.contains(char::is_whitespace) {
            return Err(BaseUrlError::Unreadable);
        }
        // and encodes these
        if !text.is_ascii() || text.contains(['<', '>', '"', '\\', '{', '}', '|', '^', '`']) {
            return Err(BaseUrlError::Characters { encoded: parsed.into() });
        }
        Ok(Self { written: text.to_owned(), parsed })
    }

    /// The URL without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The URL of a path, which begins with a slash and may have a query.
    pub fn link(&self, path: &str) -> String {
        format!("{}{path}", self.written)
    }

    /// The same with another host, for names that point to this one.
    #[must_use]
    pub fn under(&self, host: &str) -> Self {
        let mut parsed = self.parsed.clone();
        if parsed.set_host(Some(host)).is_err() {
            return self.clone();
        }
        let written = parsed.as_str().trim_end_matches('/').to_owned();
        Self { written, parsed }
    }

    /// Whether connections to it are encrypted.
    pub fn is_https(&self) -> bool {
        self.parsed.scheme() == "https"
    }

    /// The host as browsers name it: in small letters, an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        self.parsed.host_str().unwrap_or_default()
    }

    /// The host where it is a name and no address.
    pub fn domain(&self) -> Option<&str> {
        self.parsed.domain()
    }

    /// Whether it leads to the machine of the client that uses it.
    pub fn is_local(&self) -> bool {
        match self.parsed.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
            Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
            None => false,
        }
    }

    /// Scheme, host and port as browsers write them in `Origin`.
    pub fn origin(&self) -> String {
        self.parsed.origin().ascii_serialization()
    }

    /// The path without a slash at its end; empty where there is none.
    pub fn path(&self) -> &str {
        self.parsed.path().trim_end_matches('/')
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.written, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> BaseUrl {
        BaseUrl::parse(text).unwrap()
    }

    #[test]
    fn links_begin_as_it_was_written() {
        let path = "/unsubscribe/1?e=2&t=3";
        for (text, link) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/unsubscribe/1?e=2&t=3"),
            ("https://mail.example.com/", "https://mail.example.com/unsubscribe/1?e=2&t=3"),
            ("https://mail.example.com/sub", "https://mail.example.com/sub/unsubscribe/1?e=2&t=3"),
            ("https://mail.example.com/sub//", "https://mail.example.com/sub/unsubscribe/1?e=2&t=3"),
            ("https://Mail.Example.com:443/Sub", "https://Mail.Example.com:443/Sub/unsubscribe/1?e=2&t=3"),
            ("https://mail.example.com/a%20b'", "https://mail.example.com/a%20b'/unsubscribe/1?e=2&t=3"),
        ] {
            assert_eq!(base(text).link(path), link, "{text}");
            assert_eq!(base(text).link(""), base(text).as_str(), "{text}");
        }
    }

    #[test]
    fn its_parts_are_what_browsers_make_of_it() {
        for (text, origin, host, path) in [
            ("https://mail.example.com", "https://mail.example.com", "mail.example.com", ""),
            ("HTTPS://Mail.Example.com:443/", "https://mail.example.com", "mail.example.com", ""),
            ("http://127.0.0.1:8080/mail/in/", "http://127.0.0.1:8080", "127.0.0.1", "/mail/in"),
            ("http://[::1]:8080/Sub", "http://[::1]:8080", "[::1]", "/Sub"),
        ] {
            let base = base(text);
            assert_eq!((&*base.origin(), base.host(), base.path()), (origin, host, path), "{text}");
            assert_eq!(base.is_https(), origin.starts_with("https:"), "{text}");
        }
        assert_eq!(base("https://192.0.2.1").domain(), None);
        assert_eq!(base("https://mail.example.com:8443").domain(), Some("mail.example.com"));
    }

    #[test]
    fn local_hosts_are_known() {
        for (text, is_local) in [
            ("http://localhost:8080", true),
            ("http://127.0.0.1", true),
            ("http://[::1]/sub", true),
            ("http://0.0.0.0:8080", true),
            ("https://localhost.example.com", false),
            ("https://mail.example.com/localhost", false),
            ("http://192.168.1.7", false),
        ] {
            assert_eq!(base(text).is_local(), is_local, "{text}");
        }
    }

    #[test]
    fn what_links_cannot_begin_with_is_refused() {
        use BaseUrlError::{Credentials, Query, Unreadable};
        for (text, error) in [
            ("", Unreadable),
            ("mail.example.com", Unreadable),
            ("localhost:8080", Unreadable),
            ("ftp://mail.example.com", Unreadable),
            ("https://", Unreadable),
            ("https:///mail.example.com", Unreadable),
            ("https:mail.example.com", Unreadable),
            ("http://:8080", Unreadable),
            (" https://mail.example.com", Unreadable),
            ("https://mail.example.com:99999", Unreadable),
            ("https://mail.example.com?", Query),
            ("https://mail.example.com/sub?page=1", Query),
            ("https://mail.example.com/#top", Query),
            ("https://you:hunter2@mail.example.com", Credentials),
            ("you:hunter2@mail.example.com", Credentials),
            ("https://mail.example.com?you@x", Credentials),
        ] {
            assert_eq!(BaseUrl::parse(text), Err(error), "{text}");
        }
        let encoded = "https://xn--mnchen-3ya.de/".to_owned();
        assert_eq!(BaseUrl::parse("https://münchen.de"), Err(BaseUrlError::Characters { encoded }));
    }
}
