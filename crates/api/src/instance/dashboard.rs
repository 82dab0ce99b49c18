//! The dashboard below `/app/`: its page, and the files that it loads.

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::accept::{takes_brotli, takes_gzip};

/// The page, which is the same at every address. Each answer has a nonce of its own, and the policy that names it. None
/// if the program was built without the dashboard.
pub(super) fn page(base: &str) -> Option<Response> {
    let nonce = BASE64.encode(rand::random::<[u8; 16]>());
    let page = mailwright_dashboard::page(base, &nonce)?;
    let policy = HeaderValue::from_str(&mailwright_dashboard::policy(&nonce)).ok()?;
    let mut response = Html(page).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // its forms ask for previews: under `no-referrer` browsers send `Origin: null` with them
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("strict-origin"));
    Some(response)
}

/// A file, compressed as the client takes it. What has its content's hash in its name is kept by browsers for a year.
pub(super) fn file(path: &str, asked: &HeaderMap) -> Option<Response> {
    let file = mailwright_dashboard::file(path)?;
    let (bytes, encoding) = match (file.brotli, file.gzip) {
        (Some(brotli), _) if takes_brotli(asked) => (brotli, Some("br")),
        (_, Some(gzip)) if takes_gzip(asked) => (gzip, Some("gzip")),
        _ => (file.plain, None),
    };
    let kept = if file.is_immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    let mut headers = HeaderMap::from_iter([
        (header::CONTENT_TYPE, HeaderValue::from_static(file.content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static(kept)),
        (header::VARY, HeaderValue::from_static("Accept-Encoding")),
    ]);
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    Some((headers, Bytes::from_static(bytes)).into_response())
}
