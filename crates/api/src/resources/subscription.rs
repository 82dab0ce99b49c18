//! What recipients reach without a key: their subscription, and the pages behind the links in mails.
//!
//! A `GET` never changes anything, because link scanners follow links.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use mailwright_app::subscription::PublicContact;
use mailwright_app::{App, Error, Resource};
use mailwright_core::ids::ContactId;
use mailwright_core::templating::escape_html;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{ErrorEnvelope, Result};
use crate::query::{self, Params, PathText};

/// Forms of our own pages post to our own origin; nothing else is loaded.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;background:#f6f6f7;color:#1c1c1e;margin:0}\
    main{max-width:28rem;margin:12vh auto;padding:2rem;background:#fff;border-radius:12px;box-shadow:0 1px 3px #0002}\
    h1{font-size:1.3rem;margin:0 0 .5rem}button{font:inherit;padding:.6rem 1.2rem;border:0;border-radius:8px;\
    background:#1c1c1e;color:#fff;cursor:pointer}";

/// A contact as its own pages know it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PublicView {
    id: ContactId,
    email: String,
    subscribed: bool,
    /// Language of the pages.
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
#[utoipa::path(get, path = "/contacts/public/{id}", tag = "Recipients", operation_id = "getPublicContact",
    params(("id" = String, Path)),
    responses((status = 200, body = PublicView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn get(State(app): State<App>, PathText(id): PathText) -> Result<Json<PublicView>> {
    let contact = app.public_contact(query::id(&id, Resource::Contact)?).await?;
    Ok(Json(PublicView::new(contact, true)))
}

async fn set(app: &App, id: &str, subscribed: bool, params: &Params) -> Result<PublicContact> {
    let because_of = params.text("e").and_then(|text| text.parse().ok());
    Ok(app.set_subscription(query::id(id, Resource::Contact)?, subscribed, because_of).await?)
}

/// Subscribe
#[utoipa::path(post, path = "/contacts/public/{id}/subscribe", tag = "Recipients", operation_id = "subscribeContact",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The mail whose link was followed")),
    responses((status = 200, body = PublicView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn subscribe(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<PublicView>> {
    Ok(Json(PublicView::new(set(&app, &id, true, &params).await?, false)))
}

/// Unsubscribe
#[utoipa::path(post, path = "/contacts/public/{id}/unsubscribe", tag = "Recipients", operation_id = "unsubscribeContact",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The mail whose link was followed")),
    responses((status = 200, body = PublicView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn unsubscribe(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<PublicView>> {
    Ok(Json(PublicView::new(set(&app, &id, false, &params).await?, false)))
}

/// The unsubscribe page
#[utoipa::path(get, path = "/unsubscribe/{id}", tag = "Recipients", operation_id = "unsubscribePage",
    params(("id" = String, Path)),
    responses((status = 200, description = "A page with a button", content_type = "text/html", body = String)))]
pub(crate) async fn unsubscribe_page(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
) -> Response {
    page(&app, &id, &params, false).await
}

/// Unsubscribe with one click (RFC 8058)
///
/// Answers 200 for unknown ids too. The body is ignored.
#[utoipa::path(post, path = "/unsubscribe/{id}", tag = "Recipients", operation_id = "oneClickUnsubscribe",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The mail whose header was used")),
    responses((status = 200, description = "Done", content_type = "text/plain", body = String)))]
pub(crate) async fn one_click(State(app): State<App>, PathText(id): PathText, params: Params) -> Response {
    match form(&app, &id, &params, false).await {
        Ok(()) => "You are unsubscribed.\n".into_response(),
        Err(error) => crate::error::ApiError::from(error).into_response(),
    }
}

/// The subscribe page
#[utoipa::path(get, path = "/subscribe/{id}", tag = "Recipients", operation_id = "subscribePage",
    params(("id" = String, Path)),
    responses((status = 200, description = "A page with a button", content_type = "text/html", body = String)))]
pub(crate) async fn subscribe_page(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
) -> Response {
    page(&app, &id, &params, true).await
}

/// Subscribe from the page
#[utoipa::path(post, path = "/subscribe/{id}", tag = "Recipients", operation_id = "subscribeForm",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The mail whose link was followed")),
    responses((status = 200, description = "Done", content_type = "text/plain", body = String)))]
pub(crate) async fn subscribe_form(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
) -> Response {
    match form(&app, &id, &params, true).await {
        Ok(()) => "You are subscribed.\n".into_response(),
        Err(error) => crate::error::ApiError::from(error).into_response(),
    }
}

/// The page to change the subscription either way
#[utoipa::path(get, path = "/manage/{id}", tag = "Recipients", operation_id = "managePage",
    params(("id" = String, Path)),
    responses((status = 200, description = "A page with a button", content_type = "text/html", body = String)))]
pub(crate) async fn manage_page(State(app): State<App>, PathText(id): PathText, params: Params) -> Response {
    let subscribed = match id.parse() {
        Ok(id) => app.public_contact(id).await.is_ok_and(|contact| contact.subscribed),
        Err(_) => false,
    };
    page(&app, &id, &params, !subscribed).await
}

/// Sets the subscription; an unknown contact is no error, so that the answer tells nobody which ids exist.
async fn form(app: &App, id: &str, params: &Params, subscribed: bool) -> std::result::Result<(), Error> {
    let Ok(id) = id.parse() else { return Ok(()) };
    let because_of = params.text("e").and_then(|text| text.parse().ok());
    match app.set_subscription(id, subscribed, because_of).await {
        Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A page that asks whether the subscription should become `subscribed`.
async fn page(app: &App, id: &str, params: &Params, subscribed: bool) -> Response {
    let contact = match id.parse() {
        Ok(id) => app.public_contact(id).await,
        Err(_) => Err(Error::not_found(Resource::Contact, id)),
    };
    let (status, body) = match contact {
        Ok(contact) => (StatusCode::OK, question(&contact, params, subscribed)),
        Err(Error::NotFound { .. }) => (
            StatusCode::NOT_FOUND,
            "<h1>This link is not valid</h1><p>It may have been cut off.</p>".to_owned(),
        ),
        Err(error) => return crate::error::ApiError::from(error).into_response(),
    };
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <meta name=\"robots\" content=\"noindex\"><title>Email preferences</title><style>{STYLE}</style></head>\
         <body><main>{body}</main></body></html>"
    );
    let mut response = (status, Html(html)).into_response();
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    response
}

fn question(contact: &PublicContact, params: &Params, subscribed: bool) -> String {
    let mail = params.text("e").and_then(|text| text.parse::<mailwright_core::ids::EmailId>().ok());
    let query = mail.map(|mail| format!("?e={mail}")).unwrap_or_default();
    let (email, project) = (escape_html(&contact.email), escape_html(&contact.project.name));
    let (path, verb, title) = if subscribed {
        ("subscribe", "Subscribe", "Subscribe to emails?")
    } else {
        ("unsubscribe", "Unsubscribe", "Unsubscribe from emails?")
    };
    let now = if contact.subscribed { "is subscribed" } else { "is not subscribed" };
    format!(
        "<h1>{title}</h1><p>{email} {now} to emails from {project}.</p>\
         <form method=\"post\" action=\"/{path}/{}{query}\"><button>{verb}</button></form>",
        contact.id
    )
}
