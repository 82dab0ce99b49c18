//! The service's own pages: the shell, and the forms that they send.
//!
//! A page is a card with a heading, a sentence and its forms, mostly one. It works without JavaScript and loads
//! nothing. Addresses in it are relative, so they work under whatever path the service is published. Pages with a form
//! send `Referrer-Policy: strict-origin`: under `no-referrer` browsers send `Origin: null`, which the check of the
//! origin refuses.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use mailwright_core::locale::Locale;
use sha2::{Digest, Sha256};

use crate::error::ApiError;
use crate::schema;

/// Forms of our own pages post to our own origin, and the style is the one in the page; nothing else is loaded.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let style = BASE64.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    );
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});
const STYLE: &str = include_str!("page.css");
/// Most bytes of a form, as of a JSON body for accounts.
const MAX_FORM: usize = 16 * 1024;

/// A page. All texts are HTML already.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page<'a> {
    pub(crate) status: StatusCode,
    pub(crate) locale: Locale,
    pub(crate) title: &'a str,
    pub(crate) heading: &'a str,
    pub(crate) sentence: &'a str,
    pub(crate) form: &'a str,
}

impl IntoResponse for Page<'_> {
    fn into_response(self) -> Response {
        let Self { status, locale, title, heading, sentence, form } = self;
        let tag = locale.tag();
        let html = format!(
            "<!doctype html><html lang=\"{tag}\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><meta name=\"robots\" content=\"noindex\">\
             <title>{title}</title><style>{STYLE}</style></head>\
             <body><main><h1>{heading}</h1><p id=\"about\">{sentence}</p>{form}</main></body></html>"
        );
        let mut response = (status, Html(html)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
        headers.insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(tag));
        // it shows what is one person's, and what the next click can change
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// The page for what the service cannot do right now, with the status that the error has everywhere.
pub(crate) fn failed(locale: Locale, error: impl Into<ApiError>) -> Response {
    let answer = error.into().into_response();
    let texts = locale.texts();
    let page = Page {
        status: answer.status(),
        locale,
        title: texts.failed,
        heading: texts.failed,
        sentence: texts.failed_text,
        form: "",
    };
    let mut response = page.into_response();
    if let Some(seconds) = answer.headers().get(header::RETRY_AFTER) {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.clone());
    }
    response
}

/// The fields of a page's form.
pub(crate) struct Form(HashMap<String, String>);

impl Form {
    /// Whether a request brings a form rather than JSON.
    pub(crate) fn is_sent(headers: &HeaderMap) -> bool {
        let kind =
            headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/x-www-form-urlencoded")
    }

    /// Reads a form. What fails is shown as a page.
    pub(crate) async fn read(request: Request) -> Result<Self, Response> {
        let bytes = schema::read(request, MAX_FORM).await.map_err(|error| failed(Locale::En, error))?;
        Ok(Self(form_urlencoded::parse(&bytes).into_owned().collect()))
    }

    /// A field that is not empty and holds no NUL, which no stored text has.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty() && !text.contains('\0'))
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[tokio::test]
    async fn a_form_is_read_as_browsers_write_it() {
        let read = |body: String| Form::read(Request::new(Body::from(body)));
        let form = read("token=ab12&newPassword=p%C3%A4ss+w%26rd&empty=&nul=a%00".to_owned()).await.unwrap();
        assert_eq!((form.text("token"), form.text("newPassword")), (Some("ab12"), Some("päss w&rd")));
        assert_eq!((form.text("empty"), form.text("nul"), form.text("absent")), (None, None, None));
        let Err(refused) = read("a".repeat(MAX_FORM + 1)).await else { panic!("it is too long") };
        assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
        let longest = format!("newPassword={}", "%E4%B8%AD".repeat(1000));
        assert_eq!(read(longest).await.unwrap().text("newPassword").unwrap().chars().count(), 1000);
    }

    #[test]
    fn a_form_is_known_by_its_type() {
        for (kind, is_form) in [
            ("application/x-www-form-urlencoded", true),
            ("Application/X-WWW-Form-URLEncoded; charset=utf-8", true),
            ("application/json", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]);
            assert_eq!(Form::is_sent(&headers), is_form, "{kind}");
        }
        assert!(!Form::is_sent(&HeaderMap::new()));
    }
}
