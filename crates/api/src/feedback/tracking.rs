//! `/t`: the tracked links and pictures of mails. Every answer comes at once; who was there is stored after it.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mailwright_app::App;
use mailwright_app::feedback::{Followed, Visitor};
use mailwright_core::hit::is_prefetch;
use mailwright_core::locale::Locale;

use crate::auth::client::ClientAddress;
use crate::error::ApiError;
use crate::page::Page;
use crate::params::{Params, PathText, PathTexts};

/// Below it are the tracked links and pictures.
pub(crate) const PATH: &str = "/t";

/// A transparent picture of one pixel.
const PICTURE: [u8; 43] =
    *b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\
    \x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

/// The picture of a mail
///
/// A transparent pixel. That it was fetched shows that the mail was opened, by a person or by a machine. `HEAD` and
/// prefetches are answered and not counted.
#[utoipa::path(get, path = "/t/{token}/o.gif", tag = "Recipients", operation_id = "trackedPicture",
    params(("token" = String, Path, description = "Which mail it is of")),
    responses(
        (status = 200, description = "The picture", content_type = "image/gif", body = Vec<u8>),
        (status = 404, description = "The token is not valid", content_type = "text/html", body = String)))]
pub(crate) async fn picture(
    State(app): State<App>,
    PathText(token): PathText,
    ClientAddress(address): ClientAddress,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let Some(followed) = app.followed_picture(&token) else { return nothing(&headers) };
    note(&app, &followed, &method, &headers, address).await;
    let mut response = PICTURE.as_slice().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("image/gif"));
    response
}

/// A link of a mail
///
/// Leads to where the link in the mail led, and nowhere else. `HEAD` and prefetches are answered and not counted.
#[utoipa::path(get, path = "/t/{token}/{link}", tag = "Recipients", operation_id = "trackedLink",
    params(
        ("token" = String, Path, description = "Which mail it is of"),
        ("link" = String, Path, description = "The number of the link")),
    responses(
        (status = 204, description = "The link that no reader sees, for machines that follow every link"),
        (status = 302, description = "To the target of the link"),
        (status = 404, description = "The token is not valid, or the mail has no such link", content_type = "text/html", body = String)))]
pub(crate) async fn link(
    State(app): State<App>,
    PathTexts(token, link): PathTexts,
    ClientAddress(address): ClientAddress,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let followed = match app.followed_link(&token, &link).await {
        Ok(Some(followed)) => followed,
        Ok(None) => return nothing(&headers),
        Err(error) => return ApiError::from(error).into_response(),
    };
    note(&app, &followed, &method, &headers, address).await;
    let Some(target) = &followed.target else { return StatusCode::NO_CONTENT.into_response() };
    let Ok(location) = HeaderValue::from_str(target) else { return nothing(&headers) };
    (StatusCode::FOUND, [(header::LOCATION, location)]).into_response()
}

/// Ask whether a name is one for tracked links, or for the policy about a domain's mail
///
/// For proxies that get a certificate when a name is first asked for, such as Caddy with `on_demand_tls`.
#[utoipa::path(get, path = "/t/host", tag = "Recipients", operation_id = "trackedHost",
    params(("domain" = String, Query, description = "The name, such as track.example.com")),
    responses(
        (status = 204, description = "The name belongs to a sender domain"),
        (status = 404, description = "It belongs to none")))]
pub(crate) async fn host(State(app): State<App>, params: Params) -> Result<StatusCode, ApiError> {
    let is_known = match params.text("domain") {
        Some(name) => app.is_tracking_host(name).await? || app.mail_policy(name).await?.is_some(),
        None => false,
    };
    Ok(if is_known { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND })
}

/// Notes who was there, unless nobody was.
async fn note(
    app: &App,
    followed: &Followed,
    method: &Method,
    headers: &HeaderMap,
    address: std::net::IpAddr,
) {
    let named = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    if method != Method::GET || is_prefetch(named) {
        return;
    }
    let agent = headers.get(header::USER_AGENT).map(|agent| String::from_utf8_lossy(agent.as_bytes()));
    let visitor = Visitor { agent: agent.unwrap_or_default().into_owned(), address: Some(address) };
    app.note_hit(followed, &visitor).await;
}

/// The page for a link that leads nowhere.
fn nothing(headers: &HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let locale = accepted.map_or(Locale::En, Locale::accepted);
    let texts = locale.texts();
    let (title, sentence) = (texts.invalid_link, texts.invalid_link_text);
    Page { status: StatusCode::NOT_FOUND, locale, title, heading: title, sentence, form: "" }.into_response()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_picture_is_a_whole_gif() {
        assert!(super::PICTURE.starts_with(b"GIF89a") && super::PICTURE.ends_with(b";"));
    }
}
