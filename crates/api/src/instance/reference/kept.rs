//! What is made once and served again and again: the page, its style and its script.

use std::io::Write as _;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::accept::takes_gzip;

/// A file in memory, as it is and compressed.
#[derive(Debug)]
pub(super) struct Kept {
    kind: &'static str,
    policy: &'static str,
    plain: Bytes,
    gzip: Option<Bytes>,
    tag: HeaderValue,
}

impl Kept {
    pub(super) fn new(kind: &'static str, policy: &'static str, text: &str) -> Self {
        let name = BASE64.encode(Sha256::digest(text));
        // weak, because the compressed file has it as well
        let tag =
            HeaderValue::from_str(&format!("W/\"{name}\"")).unwrap_or(HeaderValue::from_static("W/\"\""));
        Self { kind, policy, plain: Bytes::copy_from_slice(text.as_bytes()), gzip: compressed(text), tag }
    }

    /// The answer to a request for it.
    pub(super) fn answer(&self, asked: &HeaderMap) -> Response {
        let mut headers = HeaderMap::new();
        headers.insert(header::ETAG, self.tag.clone());
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        // kept by browsers, and asked for again: an upgrade changes it under the same address
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(self.policy));
        if self.is_known(asked) {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        match &self.gzip {
            Some(gzip) if takes_gzip(asked) => {
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                (headers, gzip.clone()).into_response()
            }
            _ => (headers, self.plain.clone()).into_response(),
        }
    }

    /// Whether who asks has it already.
    fn is_known(&self, asked: &HeaderMap) -> bool {
        let known =
            asked.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let own = self.tag.to_str().unwrap_or_default();
        let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        known.split(',').any(|tag| tag.trim() == "*" || opaque(tag) == opaque(own))
    }
}

fn compressed(text: &str) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_compressed_for_who_takes_that_and_left_out_for_who_has_it() {
        let kept = Kept::new("text/css", "default-src 'none'", &"a { color: red } ".repeat(100));
        let asked = |name, value: &str| HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())]);
        let plain = kept.answer(&HeaderMap::new());
        assert!(!plain.headers().contains_key(header::CONTENT_ENCODING));
        let gzip = kept.answer(&asked(header::ACCEPT_ENCODING, "gzip, br"));
        assert_eq!(gzip.headers()[header::CONTENT_ENCODING], "gzip");
        let tag = plain.headers()[header::ETAG].to_str().unwrap();
        for known in [tag, &format!("\"other\", {}", &tag[2..]), "*"] {
            let answer = kept.answer(&asked(header::IF_NONE_MATCH, known));
            assert_eq!(answer.status(), StatusCode::NOT_MODIFIED, "{known}");
        }
        assert_eq!(kept.answer(&asked(header::IF_NONE_MATCH, "\"other\"")).status(), StatusCode::OK);
    }
}
