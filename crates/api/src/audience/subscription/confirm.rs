//! `/confirm`: the page behind the link of a confirmation mail. Opening it confirms nothing.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use mailwright_app::audience::subscription::{Act, Door, ToConfirm};
use mailwright_app::{App, Error};

use super::form::{read, takes_html};
use super::of_contact;
use super::page;
use super::pages::told;
use crate::auth::client::ClientAddress;
use crate::page::failed;
use crate::params::{Params, PathText};

/// The page that asks to confirm
///
/// The page is in the recipient's language and has a button that posts to the same path. The link works for 30 days.
#[utoipa::path(get, path = "/confirm/{id}", tag = "Recipients", operation_id = "confirmPage",
    params(("id" = String, Path), ("t" = Option<String>, Query, description = "The tag in the link of the mail")),
    responses(
        (status = 200, description = "A page with a button", content_type = "text/html", body = String),
        (status = 404, description = "A page that says that the link is not valid", content_type = "text/html", body = String),
    ))]
pub(crate) async fn page(
    State(app): State<App>,
    PathText(id): PathText,
    params: Params,
    headers: HeaderMap,
) -> Response {
    let tag = params.text("t").unwrap_or_default();
    let found = of_contact(&id, async |id| app.to_confirm(id, tag).await).await;
    answer(found, tag, &headers)
}

/// Confirm a subscription from the page
///
/// Programs get plain text: 200, or 404 for a link that is not valid. A browser gets a page.
#[utoipa::path(post, path = "/confirm/{id}", tag = "Recipients", operation_id = "confirmForm",
    params(("id" = String, Path), ("t" = Option<String>, Query, description = "The tag in the link of the mail")),
    responses(
        (status = 200, description = "Done", content((String = "text/plain"), (String = "text/html"))),
        (status = 404, description = "The link is not valid", content((String = "text/plain"), (String = "text/html"))),
    ))]
pub(crate) async fn form(
    State(app): State<App>,
    PathText(id): PathText,
    ClientAddress(client): ClientAddress,
    params: Params,
    headers: HeaderMap,
    body: Body,
) -> Response {
    read(body).await;
    let (tag, is_page) = (params.text("t").unwrap_or_default(), takes_html(&headers));
    let door = if is_page { Door::Page } else { Door::OtherPage };
    let done = of_contact(&id, async |id| app.confirm(id, tag, Act { door, client }).await).await;
    if is_page {
        return answer(done, tag, &headers);
    }
    told(done.map(|_| "You are subscribed.\n".to_owned()))
}

fn answer(asked: Result<ToConfirm, Error>, tag: &str, headers: &HeaderMap) -> Response {
    match asked {
        Ok(asked) => page::about_confirmation(&asked, tag),
        Err(Error::NotFound { .. }) => page::invalid_link(page::visitor_locale(headers)),
        Err(error) => failed(page::visitor_locale(headers), error),
    }
}
