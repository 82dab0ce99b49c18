//! What a client says it takes (RFC 9110 section 12.5).

use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, ACCEPT_ENCODING, AsHeaderName};

/// Whether a client rather has a page than JSON. Browsers name `text/html` when a person opens an address; programs
/// mostly take anything, which is no preference.
pub(crate) fn prefers_html(headers: &HeaderMap) -> bool {
    let html = weight(headers, ACCEPT, &["text/html"]);
    html > 0.0 && html > weight(headers, ACCEPT, &["application/json", "application/*", "*/*"])
}

/// Whether a client rather has CSV than JSON. Programs mostly take anything, which is no preference.
pub(crate) fn prefers_csv(headers: &HeaderMap) -> bool {
    let csv = weight(headers, ACCEPT, &["text/csv"]);
    csv > 0.0 && csv > weight(headers, ACCEPT, &["application/json", "application/*"])
}

/// Whether a client takes gzip.
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    weight(headers, ACCEPT_ENCODING, &["gzip", "x-gzip", "*"]) > 0.0
}

/// Whether a client takes Brotli (RFC 7932).
pub(crate) fn takes_brotli(headers: &HeaderMap) -> bool {
    weight(headers, ACCEPT_ENCODING, &["br", "*"]) > 0.0
}

/// The weight of the first of these names that a header lists; 0 when it lists none.
fn weight(headers: &HeaderMap, name: impl AsHeaderName, wanted: &[&str]) -> f32 {
    let listed: Vec<(String, f32)> = headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .map(entry)
        .collect();
    let found = wanted.iter().find_map(|name| listed.iter().find(|(listed, _)| listed == name));
    found.map_or(0.0, |(_, weight)| *weight)
}

/// One entry of a list, with its weight.
fn entry(text: &str) -> (String, f32) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    (name, weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0)))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn browsers_want_pages_and_programs_do_not() {
        for (accept, wanted) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
            ("text/html", true),
            ("TEXT/HTML; q=0.9, application/json;q=0.5", true),
            ("*/*", false),
            ("", false),
            ("application/json", false),
            ("application/json, text/html;q=0.9", false),
            ("text/html;q=0", false),
            ("text/html;q=x, */*", false),
            ("text/plain", false),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(prefers_html(&headers), wanted, "{accept}");
        }
        assert!(!prefers_html(&HeaderMap::new()));
    }

    #[test]
    fn gzip_is_for_who_names_it() {
        for (accept, wanted) in [
            ("gzip, deflate, br", true),
            ("*", true),
            ("gzip;q=0, *", false),
            ("br", false),
            ("gzip;q=0.5", true),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(accept))]);
            assert_eq!(takes_gzip(&headers), wanted, "{accept}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
