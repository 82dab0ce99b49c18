//! The forms that are sent to the pages of recipients.

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use mailwright_core::ids::TopicId;

/// Most bytes of a form that are read. A form of RFC 8058 has 26, or some hundred as `multipart/form-data`; that of the
/// topics has about 90 for each topic, of which there are at most 50.
pub(super) const MAX_FORM: usize = 8 * 1024;

/// The field with which the button that ends the whole subscription is told from the one that leaves a topic.
pub(super) const ALL: &str = "all";
/// The field with the id of a topic that the form shows.
pub(super) const SHOWN: &str = "shown";
/// The field with the id of a topic that was chosen.
pub(super) const TOPIC: &str = "topic";

/// Whether the request comes from a browser: those ask for HTML by name, mail programs do not.
pub(super) fn takes_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted
        .flat_map(|value| value.split(','))
        .filter_map(|range| range.split(';').next())
        .any(|kind| kind.trim().eq_ignore_ascii_case("text/html"))
}

/// The form that came with a request; one that is too long counts as empty.
///
/// It is read even where it does not matter: a body that arrives after the answer would meet a closed connection, and
/// the client might never see the answer.
pub(super) async fn read(body: Body) -> Bytes {
    axum::body::to_bytes(body, MAX_FORM).await.unwrap_or_default()
}

/// Whether this is the form of RFC 8058, in either encoding. Our own form is empty.
pub(super) fn is_one_click(form: &[u8]) -> bool {
    let has = |word: &[u8]| form.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    has(b"List-Unsubscribe") && has(b"One-Click")
}

/// Whether a form asks to end the whole subscription.
pub(super) fn is_about_all(form: &[u8]) -> bool {
    form_urlencoded::parse(form).any(|(name, _)| name == ALL)
}

/// The topics that a form names in a field.
pub(super) fn topics(form: &[u8], field: &str) -> Vec<TopicId> {
    let named = form_urlencoded::parse(form).filter(|(name, _)| name == field);
    named.filter_map(|(_, value)| value.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use mailwright_core::time::Timestamp;

    use super::*;

    #[test]
    fn browsers_ask_for_html_by_name() {
        for (accept, expected) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
            ("application/json, Text/HTML;q=0.5", true),
            ("*/*", false),
            ("text/*", false),
            ("text/plain", false),
            ("text/htmlx", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(takes_html(&headers), expected, "{accept}");
        }
        assert!(!takes_html(&HeaderMap::new()));
    }

    #[test]
    fn the_form_of_rfc_8058_is_known_in_both_encodings() {
        let multipart =
            "--b\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--b--\r\n";
        for (form, expected) in
            [("List-Unsubscribe=One-Click", true), (multipart, true), ("", false), ("One-Click", false)]
        {
            assert_eq!(is_one_click(form.as_bytes()), expected, "{form}");
        }
    }

    #[tokio::test]
    async fn a_form_that_is_too_long_counts_as_empty() {
        assert_eq!(read(Body::from("x".repeat(MAX_FORM))).await.len(), MAX_FORM);
        assert!(read(Body::from("x".repeat(MAX_FORM + 1))).await.is_empty());
    }

    #[test]
    fn a_form_names_topics() {
        let [one, other] = [1, 2].map(|n| TopicId::new(Timestamp(n), [0; 10]));
        let form = format!("shown={one}&shown={other}&topic={other}&topic=nonsense&all=");
        assert_eq!(topics(form.as_bytes(), SHOWN), [one, other]);
        assert_eq!(topics(form.as_bytes(), TOPIC), [other]);
        assert!(is_about_all(form.as_bytes()) && !is_about_all(b"List-Unsubscribe=One-Click"));
        let longest = format!("{SHOWN}={one}&{TOPIC}={one}&").repeat(mailwright_core::topic::MAX_TOPICS);
        assert!(longest.len() < MAX_FORM);
    }
}
