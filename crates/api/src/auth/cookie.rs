//! The cookie of a session.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use mailwright_app::App;
use mailwright_app::settings::BaseUrl;

/// The cookie that holds a session's token, where the service is not published over HTTPS.
pub(crate) const SESSION_COOKIE: &str = "mailwright_session";
/// The name over HTTPS. Browsers accept a cookie with this prefix only from this very host, and not from other hosts in
/// its domain.
const HOST_COOKIE: &str = "__Host-mailwright_session";
/// The same under a path, which the other prefix does not allow.
const SECURE_COOKIE: &str = "__Secure-mailwright_session";

/// The name of the session's cookie, where the service is published like this.
pub(crate) fn session_cookie_name(base_url: &BaseUrl) -> &'static str {
    match (base_url.is_https(), base_url.path()) {
        (false, _) => SESSION_COOKIE,
        (true, "") => HOST_COOKIE,
        (true, _) => SECURE_COOKIE,
    }
}

/// The token of the session that the request came with.
pub(crate) fn session_cookie<'h>(app: &App, headers: &'h HeaderMap) -> Option<&'h str> {
    cookie(headers, session_cookie_name(&app.settings().base_url))
}

/// The value of a cookie.
pub(crate) fn cookie<'h>(headers: &'h HeaderMap, wanted: &str) -> Option<&'h str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|text| text.split(';')).find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        (name.trim() == wanted).then(|| value.trim())
    })
}
