//! What recipients reach without a key: their subscription, and the pages behind the links in mails.
//!
//! A `GET` never changes anything, because link scanners follow links. `POST /unsubscribe/<id>` serves two callers. A
//! form of ours, which asks for HTML, is answered with a page. Any other request (RFC 8058, one-click unsubscribe) is
//! answered with 200 in plain text.

pub(crate) mod confirm;
mod form;
mod page;
pub(crate) mod pages;
mod passed;

use crate::json::Json;
use axum::extract::State;
use axum::http::Method;
use mailwright_app::audience::subscription::{Act, Door, PublicContact, Scope};
use mailwright_app::{App, Error, Resource};
use mailwright_core::ids::ContactId;
use serde::Serialize;
use utoipa::ToSchema;

use self::passed::pass;
use crate::auth::client::ClientAddress;
use crate::error::{ErrorEnvelope, Result};
use crate::params::{self, Params, PathText};

/// Below these are the links of mails.
pub(crate) const PATHS: [&str; 5] = ["/confirm", "/contacts/public", "/manage", "/subscribe", "/unsubscribe"];

/// Whether a request unsubscribes somebody, or asks for the page on which that is done. It is never refused for being
/// one of many: a provider of mailboxes asks for all of its people from a few addresses, and a company has one for
/// everybody.
pub(crate) fn is_way_out(method: &Method, path: &str) -> bool {
    path.starts_with("/unsubscribe/")
        || (path.starts_with("/contacts/public/") && path.ends_with("/unsubscribe") && method == Method::POST)
}

/// What becomes of a request for the contact that a path names. A text that is no id names nobody.
async fn of_contact<T>(
    id: &str,
    work: impl AsyncFnOnce(ContactId) -> std::result::Result<T, Error>,
) -> std::result::Result<T, Error> {
    match id.parse() {
        Ok(id) => work(id).await,
        Err(_) => Err(Error::not_found(Resource::Contact, id)),
    }
}

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

/// Subscribe
#[utoipa::path(post, path = "/contacts/public/{id}/subscribe", tag = "Recipients", operation_id = "subscribeContact",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The id of the mail whose link was followed"), ("t" = Option<String>, Query, description = "The tag in the links of mails")),
    responses((status = 200, body = PublicView), (status = 404, body = ErrorEnvelope),
        (status = 429, description = "The subscription was changed too often in the last hour", body = ErrorEnvelope)))]
pub(crate) async fn subscribe(
    State(app): State<App>,
    PathText(id): PathText,
    ClientAddress(client): ClientAddress,
    params: Params,
) -> Result<Json<PublicView>> {
    let (id, act) = (params::id(&id, Resource::Contact)?, Act { door: Door::OtherPage, client });
    Ok(Json(PublicView::new(app.subscribe_by_link(id, &pass(&params), act).await?, false)))
}

/// Unsubscribe
///
/// From everything, also by the link of a mail of a topic.
#[utoipa::path(post, path = "/contacts/public/{id}/unsubscribe", tag = "Recipients", operation_id = "unsubscribeContact",
    params(("id" = String, Path), ("e" = Option<String>, Query, description = "The id of the mail whose link was followed"), ("t" = Option<String>, Query, description = "The tag in the links of mails")),
    responses((status = 200, body = PublicView), (status = 404, body = ErrorEnvelope)))]
pub(crate) async fn unsubscribe(
    State(app): State<App>,
    PathText(id): PathText,
    ClientAddress(client): ClientAddress,
    params: Params,
) -> Result<Json<PublicView>> {
    let (id, act) = (params::id(&id, Resource::Contact)?, Act { door: Door::OtherPage, client });
    let contact = app.opt_out(id, Scope::Everything, &pass(&params), act).await?;
    Ok(Json(PublicView::new(contact, false)))
}
