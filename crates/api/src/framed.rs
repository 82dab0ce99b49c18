//! Mails as pages for a frame of the service's own pages. What a mail holds never acts: the policy of the answer gives it
//! no scripts, no forms, no origin, and no way out of its frame.

use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use utoipa::IntoParams;

use crate::params::Params;

/// The type of a page of HTML.
pub(crate) const HTML: &str = "text/html; charset=utf-8";
/// The type of a page of plain text.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

/// The policy of a page that shows pictures of ours and those that came with the mail.
const POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; \
                      form-action 'none'; base-uri 'none'; frame-ancestors 'self'";
/// The same with pictures from elsewhere, whose servers learn that somebody looks at the mail.
const WITH_PICTURES: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data: https:; \
                             form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

/// The parameter of a mail as a page.
#[expect(dead_code, reason = "it documents the parameter, which `Framed::new` reads")]
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FrameParams {
    /// `1` shows pictures from other servers, which learn of it
    images: Option<String>,
}

/// A mail as a page.
pub(crate) struct Framed {
    /// What is shown.
    pub(crate) page: String,
    /// Its type, with its character set.
    pub(crate) content_type: &'static str,
    /// Whether it shows pictures from elsewhere.
    pub(crate) shows_pictures: bool,
}

impl Framed {
    /// A page of HTML. With `images=1` among the parameters it shows pictures from elsewhere.
    pub(crate) fn new(page: String, params: &Params) -> Self {
        Self { page, content_type: HTML, shows_pictures: params.text("images") == Some("1") }
    }
}

impl IntoResponse for Framed {
    fn into_response(self) -> Response {
        let policy = if self.shows_pictures { WITH_PICTURES } else { POLICY };
        // the others are those of every answer
        let headers: [(HeaderName, &str); 4] = [
            (header::CONTENT_TYPE, self.content_type),
            (header::CONTENT_SECURITY_POLICY, policy),
            (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
            // the names of hosts in it are nobody's business either
            (HeaderName::from_static("x-dns-prefetch-control"), "off"),
        ];
        (headers, self.page).into_response()
    }
}
