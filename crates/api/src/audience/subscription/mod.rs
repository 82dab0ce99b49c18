//! What recipients reach without a key: their subscription, and the pages behind the links in mails.
//!
//! A `GET` never changes anything, because link scanners follow links. `POST /unsubscribe/<id>` serves two callers. A
//! form of ours, which asks for HTML, is answered with a page. Any other request (RFC 8058, one-click unsubscribe) is
//! answered with 200 in plain text.

mod page;

use crate::json::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use mailwright_app::audience::subscription::{Pass, PublicContact};
use mailwright_app::{App, Error, Resource};
use mailwright_core::ids::ContactId;
use serde::Serialize;
use utoipa::ToSchema;

use self::page::Purpose;
use crate::error::{ApiError, ErrorEnvelope, Result};
use crate::page::failed;
use crate::params::{self, Params, PathText};

/// Below these are the links of mails.
pub(crate) const PATHS: [&str; 4] = ["/contacts/public", "/manage", "/subscribe", "/unsubscribe"];

/// Whether a request unsubscribes somebody, or asks for the page on which that is done. It is never refused for being
/// one of many: a provider of mailboxes asks for all of its people from a few addresses, and a company has one for
/// everybody.
pub(crate) fn is_way_out(method: &Method, path: &str) -> bool {
    path.starts_with("/unsubscribe/")
        || (path.starts_with("/contacts/public/") && path.ends_with("/unsubscribe") && method == Method::POST)
}

/// Most bytes of a form that are read. A form of RFC 8058 has 26, or some hundred as `multipart/form-data`.
const MAX_FORM: usize = 4 * 1024;

/// A contact as the recipient's own pages show it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PublicView {
    id: ContactId,
    email: String,
    subscribed: bool,
    /// The contact's language, or the project's if the contact has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
}

impl PublicView {
    fn new(contact: PublicContact, with_language: bool) -> Self {
        Self {
            id: contact.id,
            email: contact.email,
            subscribed: contact.subscribed,
            language: with_language.then_some(contact.language),
        }
    }
}

/// Get a contact without a key
///
/// If an answer to the public key contained the contact's id, the request needs `t` or `e` as in the links of mails to
/// the contact.
#[utoipa::path(get, path = "/contacts/public/{id}", tag = "Recipients", operation_id = "getPublicContact",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The id of a mail to the contact"), ("t" = Option<String>, Query, description = "The tag in the links of mails")),
    responses((status = 200, body = PublicView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<PublicView>> {
    let contact = app.public_contact(params::id(&id, Resource::Contact)?, &pass(&params)).await?;
    Ok(Json(PublicView::new(contact, true)))
}

async fn set(app: &App, id: &str, subscribed: bool, params: &Params) -> Result<PublicContact> {
    Ok(app.set_subscription(params::id(id, Resource::Contact)?, subscribed, &pass(params)).await?)
}

/// Subscribe
#[utoipa::path(post, path = "/contacts/public/{id}/subscribe", tag = "Recipients", operation_id = "subscribeContact",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The id of the mail whose link was followed"), ("t" = Option<String>, Query, description = "The tag in the links of mails")),
    responses((status = 200, body = PublicView), (status = 404, body = ErrorEnvelope),
        (status = 429, description = "The subscription was changed too often in the last hour", body = ErrorEnvelope)))]
pub(crate) async fn subscribe(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<PublicView>> {
    Ok(Json(PublicView::new(set(&app, &id, true, &params).await?, false)))
}

/// Unsubscribe
#[utoipa::path(post, path = "/contacts/public/{id}/unsubscribe", tag = "Recipients", operation_id = "unsubscribeContact",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The id of the mail whose link was followed"), ("t" = Option<String>, Query, description = "The tag in the links of mails")),
    responses((status = 200, body = PublicView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn unsubscribe(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<PublicView>> {
    Ok(Json(PublicView::new(set(&app, &id, false, &params).await?, false)))
}

/// The mail and the tag in the link that was followed. A value that cannot be read counts as absent.
fn pass(params: &Params) -> Pass {
    Pass {
        mail: params.text("e").and_then(|text| text.parse().ok()),
        tag: params.text("t").map(str::to_owned),
    }
}

/// The unsubscribe page
///
/// The page is in the recipient's language and has a button that posts to the same path. A contact that is not
/// subscribed gets the preferences page.
#[utoipa::path(get, path = "/unsubscribe/{id}", tag = "Recipients", operation_id = "unsubscribePage",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The id of the mail whose link was followed"), ("t" = Option<String>, Query, description = "The tag in the links of mails")),
    responses(
        (status = 200, description = "A page with a button", content_type = "text/html", body = String),
        (status = 404, description = "A page that says that the link is not valid", content_type = "text/html", body = String),
    ))]
pub(crate) async fn unsubscribe_page(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
    headers: HeaderMap,
) -> Response {
    show(&app, &id, &params, &headers, Purpose::Unsubscribe).await
}

/// The form of RFC 8058.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it documents the form, in which two words are looked for")]
pub(crate) struct OneClick {
    /// `One-Click`.
    #[serde(rename = "List-Unsubscribe")]
    list_unsubscribe: Option<String>,
}

/// Unsubscribe with one click (RFC 8058), or from the page
///
/// Mail programs get plain text: 200, or 404 for an unknown id. A browser that sent the page's form gets a page.
#[utoipa::path(post, path = "/unsubscribe/{id}", tag = "Recipients", operation_id = "oneClickUnsubscribe",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The id of the mail whose link or header was used"), ("t" = Option<String>, Query, description = "The tag in the links of mails")),
    request_body(content((Option<OneClick> = "application/x-www-form-urlencoded"), (Option<OneClick> = "multipart/form-data")), description = "The form that mail programs send. The page's own form is empty; a body that cannot be read counts as empty."),
    responses(
        (status = 200, description = "Done", content((String = "text/plain"), (String = "text/html"))),
        (status = 404, description = "No contact has this id", content((String = "text/plain"), (String = "text/html"))),
    ))]
pub(crate) async fn one_click(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let form = read(body).await;
    if takes_html(&headers) && !is_one_click(&form) {
        return submit(&app, &id, &params, &headers, false).await;
    }
    confirm(&app, &id, &params, false, "You are unsubscribed.\n").await
}

/// The subscribe page
///
/// The page is in the recipient's language and has a button that posts to the same path. A contact that is subscribed
/// gets the preferences page.
#[utoipa::path(get, path = "/subscribe/{id}", tag = "Recipients", operation_id = "subscribePage",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The id of the mail whose link was followed"), ("t" = Option<String>, Query, description = "The tag in the links of mails")),
    responses(
        (status = 200, description = "A page with a button", content_type = "text/html", body = String),
        (status = 404, description = "A page that says that the link is not valid", content_type = "text/html", body = String),
    ))]
pub(crate) async fn subscribe_page(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
    headers: HeaderMap,
) -> Response {
    show(&app, &id, &params, &headers, Purpose::Subscribe).await
}

/// Subscribe from the page
///
/// Programs get plain text: 200, or 404 for an unknown id. A browser gets a page.
#[utoipa::path(post, path = "/subscribe/{id}", tag = "Recipients", operation_id = "subscribeForm",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The id of the mail whose link was followed"), ("t" = Option<String>, Query, description = "The tag in the links of mails")),
    responses(
        (status = 200, description = "Done", content((String = "text/plain"), (String = "text/html"))),
        (status = 404, description = "No contact has this id", content((String = "text/plain"), (String = "text/html"))),
    ))]
pub(crate) async fn subscribe_form(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
    headers: HeaderMap,
    body: Body,
) -> Response {
    read(body).await;
    if takes_html(&headers) {
        return submit(&app, &id, &params, &headers, true).await;
    }
    confirm(&app, &id, &params, true, "You are subscribed.\n").await
}

/// The preferences page
///
/// Shows the subscription in the recipient's language, with a button to change it.
#[utoipa::path(get, path = "/manage/{id}", tag = "Recipients", operation_id = "managePage",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The id of the mail whose link was followed"), ("t" = Option<String>, Query, description = "The tag in the links of mails")),
    responses(
        (status = 200, description = "A page with a button", content_type = "text/html", body = String),
        (status = 404, description = "A page that says that the link is not valid", content_type = "text/html", body = String),
    ))]
pub(crate) async fn manage_page(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
    headers: HeaderMap,
) -> Response {
    show(&app, &id, &params, &headers, Purpose::Manage).await
}

/// Whether the request comes from a browser: those ask for HTML by name, mail programs do not.
fn takes_html(headers: &HeaderMap) -> bool {
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
async fn read(body: Body) -> Bytes {
    axum::body::to_bytes(body, MAX_FORM).await.unwrap_or_default()
}

/// Whether this is the form of RFC 8058, in either encoding. Our own form is empty.
fn is_one_click(form: &[u8]) -> bool {
    let has = |word: &[u8]| form.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    has(b"List-Unsubscribe") && has(b"One-Click")
}

/// Answers `GET`: looks the contact up and shows the page.
async fn show(app: &App, id: &str, params: &Params, headers: &HeaderMap, purpose: Purpose) -> Response {
    let found = match id.parse() {
        Ok(id) => app.public_contact(id, &pass(params)).await,
        Err(_) => Err(Error::not_found(Resource::Contact, id)),
    };
    answer(found, params, headers, purpose)
}

/// Answers the form of a page: sets the subscription and says so.
async fn submit(app: &App, id: &str, params: &Params, headers: &HeaderMap, subscribed: bool) -> Response {
    let changed = match id.parse() {
        Ok(id) => app.set_subscription(id, subscribed, &pass(params)).await,
        Err(_) => Err(Error::not_found(Resource::Contact, id)),
    };
    answer(changed, params, headers, Purpose::Done)
}

fn answer(
    contact: std::result::Result<PublicContact, Error>,
    params: &Params,
    headers: &HeaderMap,
    purpose: Purpose,
) -> Response {
    match contact {
        Ok(contact) => page::about(&contact, purpose, &pass(params)),
        Err(Error::NotFound { .. }) => page::invalid_link(page::visitor_locale(headers)),
        Err(error) => failed(page::visitor_locale(headers), error),
    }
}

/// Answers a program: sets the subscription, or says that the link leads to nobody.
async fn confirm(app: &App, id: &str, params: &Params, subscribed: bool, done: &'static str) -> Response {
    let nobody = || (StatusCode::NOT_FOUND, "This link is not valid.\n").into_response();
    let Ok(id) = id.parse() else { return nobody() };
    match app.set_subscription(id, subscribed, &pass(params)).await {
        Ok(_) => done.into_response(),
        Err(Error::NotFound { .. }) => nobody(),
        Err(error) => ApiError::from(error).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

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
}
