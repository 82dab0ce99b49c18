//! Where a request comes from: a page of this service, or of another site.

use axum::http::HeaderMap;
use axum::http::header::{HOST, HeaderName, ORIGIN};
use mailwright_app::settings::BaseUrl;

use crate::host::KnownHosts;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a request comes from a page of this service, or from no page at all, as far as the browser says so (Fetch
/// Metadata).
pub(super) fn is_said_to_be_own(headers: &HeaderMap) -> Option<bool> {
    headers.get(FETCH_SITE).map(|site| site == "same-origin" || site == "none")
}

/// Whether a request can be meant by the person at the browser: it comes from a page of this service, or from no page
/// at all. Browsers say where a request comes from; other programs do not carry anybody's cookies unasked.
pub(super) fn is_own_site(headers: &HeaderMap, base_url: &BaseUrl, hosts: &KnownHosts) -> bool {
    if let Some(own) = is_said_to_be_own(headers) {
        return own;
    }
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
    let Some(origin) = text(&ORIGIN) else { return true };
    let (scheme, authority) = origin.split_once("://").unwrap_or_default();
    // where pages come over TLS, one that came without may have been written by anybody on the way
    let sound = !base_url.is_https() || scheme.eq_ignore_ascii_case("https");
    origin.eq_ignore_ascii_case(&base_url.origin())
        || (sound
            && !authority.is_empty()
            && hosts.knows(authority)
            && text(&HOST).is_some_and(|host| host.eq_ignore_ascii_case(authority)))
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
        let base = BaseUrl::parse("https://mail.example.com/sub").unwrap();
        let hosts = KnownHosts::new(&base, &["mail.local".to_owned()]);
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
            assert_eq!(is_own_site(&headers(given), &base, &hosts), own, "{given:?}");
        }
        let local = [("origin", "http://127.0.0.1:8080"), ("host", "127.0.0.1:8080")];
        let base = BaseUrl::parse("http://mail.local").unwrap();
        assert!(is_own_site(&headers(&local), &base, &hosts), "where nothing has TLS");
    }
}
