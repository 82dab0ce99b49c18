//! Where a request comes from: a page of this service or of another site, and which client.

use std::net::IpAddr;

use axum::http::HeaderMap;
use axum::http::header::{HOST, HeaderName, ORIGIN};

use crate::host::KnownHosts;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Where a proxy says from whom it has a request.
pub(crate) const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Whether a request can be meant by the person at the browser: it comes from a page of this service, or from no page
/// at all. Browsers say where a request comes from; other programs do not carry anybody's cookies unasked.
pub(super) fn is_own_site(headers: &HeaderMap, base_url: &str, hosts: &KnownHosts) -> bool {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
    if let Some(site) = text(&FETCH_SITE) {
        return site == "same-origin" || site == "none";
    }
    let Some(origin) = text(&ORIGIN) else { return true };
    let (scheme, authority) = origin.split_once("://").unwrap_or_default();
    // where pages come over TLS, one that came without may have been written by anybody on the way
    let sound = !base_url.starts_with("https://") || scheme.eq_ignore_ascii_case("https");
    origin.eq_ignore_ascii_case(origin_of(base_url))
        || (sound
            && !authority.is_empty()
            && hosts.knows(authority)
            && text(&HOST).is_some_and(|host| host.eq_ignore_ascii_case(authority)))
}

/// The scheme and authority of a URL.
fn origin_of(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + 3);
    url[authority..].find('/').map_or(url, |end| &url[..authority + end])
}

/// The path of a URL, which does not end with a slash.
pub(crate) fn path_of(url: &str) -> &str {
    url[origin_of(url).len()..].trim_end_matches('/')
}

/// The client's address: the connection's, or what the outermost of our own proxies says of it. Each proxy appends the
/// address that it sees, so that what stands further left was written by anybody.
pub(crate) fn client_address(headers: &HeaderMap, peer: Option<IpAddr>, proxies: usize) -> IpAddr {
    let peer = peer.unwrap_or(IpAddr::from([0, 0, 0, 0]));
    if proxies == 0 {
        return peer;
    }
    let lines = headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
    named.len().checked_sub(proxies).and_then(|at| named[at].parse().ok()).unwrap_or(peer)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn only_own_pages_and_programs_are_of_the_own_site() {
        let base = "https://mail.example.com/sub";
        let hosts = KnownHosts::new(base, &["mail.local".to_owned()]);
        for (given, own) in [
            (&[][..], true),
            (&[("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "none")], true),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "same-site"), ("origin", "https://mail.example.com")], false),
            (&[("origin", "https://mail.example.com")], true),
            (&[("origin", "https://mail.example.com.evil.example")], false),
            (&[("origin", "http://mail.example.com")], false),
            (&[("origin", "null")], false),
            (&[("origin", "https://mail.local"), ("host", "mail.local")], true),
            (&[("origin", "https://mail.evil"), ("host", "mail.evil")], false),
            (&[("origin", "https://10.0.0.7:8080"), ("host", "10.0.0.7:8080")], true),
            (&[("origin", "http://mail.example.com"), ("host", "mail.example.com")], false),
            (&[("origin", "https://evil.example"), ("host", "127.0.0.1:8080")], false),
        ] {
            assert_eq!(is_own_site(&headers(given), base, &hosts), own, "{given:?}");
        }
        let local = [("origin", "http://127.0.0.1:8080"), ("host", "127.0.0.1:8080")];
        assert!(is_own_site(&headers(&local), "http://mail.local", &hosts), "where nothing has TLS");
    }

    #[test]
    fn a_path_is_what_comes_after_the_host() {
        for (url, path) in [
            ("https://mail.example.com", ""),
            ("https://mail.example.com/", ""),
            ("http://127.0.0.1:8080/mail/in", "/mail/in"),
        ] {
            assert_eq!(path_of(url), path);
        }
    }

    #[test]
    fn a_forwarded_address_counts_from_the_own_proxies() {
        let peer: IpAddr = "10.0.0.1".parse().unwrap();
        let of = |given: &[(&'static str, &'static str)], proxies| {
            client_address(&headers(given), Some(peer), proxies).to_string()
        };
        let forged = [("x-forwarded-for", "1.1.1.1, 2.2.2.2"), ("x-forwarded-for", "3.3.3.3")];
        assert_eq!(of(&forged, 0), "10.0.0.1");
        assert_eq!(of(&forged, 1), "3.3.3.3");
        assert_eq!(of(&forged, 2), "2.2.2.2");
        assert_eq!(of(&forged, 9), "10.0.0.1");
        assert_eq!(of(&[("x-forwarded-for", "nonsense")], 1), "10.0.0.1");
    }
}
