//! The names under which the service is reached.
//!
//! A page of another site can make its own name point to this machine (DNS rebinding). The browser then takes requests
//! to this service for requests to that site. Such a request carries the name of that site in `Host`.

use std::collections::HashSet;
use std::net::IpAddr;

use axum::http::header::HOST;
use axum::http::{HeaderMap, Uri};
use mailwright_app::settings::BaseUrl;

/// The names under which the service is reached. Addresses and `localhost` always count: nobody can make those point
/// elsewhere.
#[derive(Debug)]
pub(crate) struct KnownHosts(HashSet<String>);

impl KnownHosts {
    pub(crate) fn new(base_url: &BaseUrl, allowed: &[String]) -> Self {
        Self(std::iter::once(base_url.host()).chain(allowed.iter().map(String::as_str)).map(name).collect())
    }

    /// Whether a host, with or without a port, is this service.
    pub(crate) fn knows(&self, host: &str) -> bool {
        let name = name(host);
        if let Some(address) = name.strip_prefix('[') {
            return address.strip_suffix(']').is_some_and(|address| address.parse::<IpAddr>().is_ok());
        }
        name == "localhost" || name.parse::<IpAddr>().is_ok() || self.0.contains(&name)
    }
}

/// The host that a request is for; `None` when it does not say, or names several.
pub(crate) fn of<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    if let Some(authority) = uri.authority() {
        return Some(authority.as_str());
    }
    let mut named = headers.get_all(HOST).iter();
    let first = named.next()?.to_str().ok()?;
    named.next().is_none().then_some(first)
}

/// A host in small letters, without its port and the dot that ends a complete name.
pub(crate) fn name(host: &str) -> String {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    name.strip_suffix('.').unwrap_or(name).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_names_addresses_and_localhost_are_known() {
        let base = BaseUrl::parse("https://Mail.example.com:8443/sub").unwrap();
        let known = KnownHosts::new(&base, &["Mail.internal.:8080".to_owned()]);
        for (host, is_known) in [
            ("mail.example.com", true),
            ("MAIL.example.com:8443", true),
            ("mail.example.com.", true),
            ("mail.internal:80", true),
            ("localhost:3000", true),
            ("127.0.0.1:8080", true),
            ("192.168.1.7", true),
            ("[::1]:8080", true),
            ("[fe80::1]", true),
            ("example.com", false),
            ("mail.example.com.evil.example", false),
            ("evil.example:8080", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("[evil.example]", false),
            ("user@mail.example.com", false),
            ("", false),
        ] {
            assert_eq!(known.knows(host), is_known, "{host}");
        }
    }
}
