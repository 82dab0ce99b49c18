//! The pages behind the links in mails, and the forms on them. A `GET` changes nothing.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use mailwright_app::audience::subscription::{Act, Door, PublicContact, Scope};
use mailwright_app::{App, Error};
use mailwright_core::ids::TopicId;
use utoipa::ToSchema;

use super::form::{SHOWN, TOPIC, is_about_all, is_one_click, read, takes_html, topics};
use super::of_contact;
use super::page::{self, Purpose};
use super::passed::pass;
use crate::auth::client::ClientAddress;
use crate::error::ApiError;
use crate::page::failed;
use crate::params::{Params, PathText};

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
/// By the link of a mail of a topic the contact leaves that topic, otherwise everything; so does a form with the field
/// `all`. The answer says which. Mail programs get plain text: 200, or 404 for an unknown id. A browser that sent the
/// page's form gets a page.
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
    ClientAddress(client): ClientAddress,
    params: Params,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let form = read(body).await;
    let scope = if is_about_all(&form) { Scope::Everything } else { Scope::Mail };
    let is_page = takes_html(&headers) && !is_one_click(&form);
    let door = if is_page { Door::Page } else { Door::OneClick };
    let done =
        of_contact(&id, async |id| app.opt_out(id, scope, &pass(&params), Act { door, client }).await).await;
    if is_page {
        return answer(done, &params, &headers, Purpose::Left(scope));
    }
    told(done.map(|contact| match contact.topic.filter(|_| scope == Scope::Mail && contact.subscribed) {
        Some(left) => format!("You are unsubscribed from {}.\n", left.topic.name),
        None => "You are unsubscribed.\n".to_owned(),
    }))
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
    ClientAddress(client): ClientAddress,
    params: Params,
    headers: HeaderMap,
    body: Body,
) -> Response {
    read(body).await;
    let is_page = takes_html(&headers);
    let door = if is_page { Door::Page } else { Door::OtherPage };
    let done =
        of_contact(&id, async |id| app.subscribe_by_link(id, &pass(&params), Act { door, client }).await)
            .await;
    if is_page {
        return answer(done, &params, &headers, Purpose::Done);
    }
    told(done.map(|_| "You are subscribed.\n".to_owned()))
}

/// The preferences page
///
/// Shows the subscription in the recipient's language, with a button to change it, and the topics that recipients
/// choose.
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

/// The form of the topics.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it documents the form, whose fields may be there several times")]
pub(crate) struct TopicsForm {
    /// The topics that the form shows; others stay as they are.
    shown: Vec<TopicId>,
    /// The topics that were chosen.
    topic: Vec<TopicId>,
}

/// Choose topics on the preferences page
///
/// Of the topics that the form shows, the chosen ones are joined, and the others left. Programs get plain text.
#[utoipa::path(post, path = "/manage/{id}", tag = "Recipients", operation_id = "chooseTopics",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The id of the mail whose link was followed"), ("t" = Option<String>, Query, description = "The tag in the links of mails")),
    request_body(content = Option<TopicsForm>, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "Done", content((String = "text/plain"), (String = "text/html"))),
        (status = 404, description = "No contact has this id", content((String = "text/plain"), (String = "text/html"))),
        (status = 429, description = "The subscription was changed too often in the last hour", content((String = "text/html"))),
    ))]
pub(crate) async fn manage_form(
    State(app): State<App>,
    PathText(id): PathText,
    ClientAddress(client): ClientAddress,
    params: Params,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let form = read(body).await;
    let is_page = takes_html(&headers);
    let door = if is_page { Door::Page } else { Door::OtherPage };
    let (shown, chosen) = (topics(&form, SHOWN), topics(&form, TOPIC));
    let done = of_contact(&id, async |id| {
        app.choose_topics(id, &shown, &chosen, &pass(&params), Act { door, client }).await
    })
    .await;
    if is_page {
        return answer(done, &params, &headers, Purpose::Saved);
    }
    told(done.map(|_| "Your choice is saved.\n".to_owned()))
}

/// Answers `GET`: looks the contact up and shows the page.
async fn show(app: &App, id: &str, params: &Params, headers: &HeaderMap, purpose: Purpose) -> Response {
    let found = of_contact(id, async |id| app.public_contact(id, &pass(params)).await).await;
    answer(found, params, headers, purpose)
}

fn answer(
    contact: Result<PublicContact, Error>,
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

/// Answers a program: says what was done, or that the link leads to nobody.
pub(super) fn told(done: Result<String, Error>) -> Response {
    match done {
        Ok(done) => done.into_response(),
        Err(Error::NotFound { .. }) => (StatusCode::NOT_FOUND, "This link is not valid.\n").into_response(),
        Err(error) => ApiError::from(error).into_response(),
    }
}
