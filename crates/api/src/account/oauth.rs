//! `/oauth`: signing in with an account at a provider.

use crate::json::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mailwright_app::account::oauth::{Callback, Provider};
use mailwright_app::settings::BaseUrl;
use mailwright_app::{App, Error};
use serde::Serialize;
use utoipa::ToSchema;

use crate::account::session::session_header;
use crate::auth::{Client, cookie};
use crate::error::{ApiError, ErrorEnvelope, Result};
use crate::params::Params;

/// The cookie of a sign-in with a provider, and the path it goes to. Over HTTPS browsers accept it only from this very
/// host, as the session's cookie: another host in the domain cannot set a sign-in of its own. That prefix allows no
/// path, so it comes with every request; under a path it goes to `/oauth` there. The path is the browser's: a proxy may
/// take a part of it away.
fn state_cookie(base_url: &BaseUrl) -> (&'static str, String) {
    match (base_url.is_https(), base_url.path()) {
        (true, "") => ("__Host-mailwright_oauth", "/".to_owned()),
        (true, path) => ("__Secure-mailwright_oauth", format!("{path}/oauth")),
        (false, path) => ("mailwright_oauth", format!("{path}/oauth")),
    }
}

/// Which providers people can sign in with.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProvidersView {
    github: bool,
    google: bool,
}

/// Show the providers to sign in with
#[utoipa::path(get, path = "/auth/oauth-config", tag = "Accounts", operation_id = "getOauthConfig", security(()),
    responses((status = 200, body = ProvidersView)))]
pub(crate) async fn config(State(app): State<App>) -> Json<ProvidersView> {
    Json(ProvidersView { github: app.offers(Provider::GitHub), google: app.offers(Provider::Google) })
}

/// Sign in with GitHub
///
/// Sends the browser to GitHub.
#[utoipa::path(get, path = "/oauth/github/outbound", tag = "Accounts", operation_id = "leaveForGithub", security(()),
    responses((status = 302), (status = 404, description = "Not configured", body = ErrorEnvelope)))]
pub(crate) async fn github_outbound(State(app): State<App>) -> Result<Response> {
    authorize(&app, Provider::GitHub)
}

/// Complete the sign-in with GitHub
///
/// Signs in and redirects to the dashboard. After a failure, its sign-in page shows the reason.
#[utoipa::path(get, path = "/oauth/github/callback", tag = "Accounts", operation_id = "githubCallback", security(()),
    params(("code" = Option<String>, Query), ("state" = Option<String>, Query)),
    responses((status = 302)))]
pub(crate) async fn github_callback(
    State(app): State<App>,
    Client(client): Client,
    headers: HeaderMap,
    params: Params,
) -> Result<Response> {
    callback(&app, Provider::GitHub, &headers, &params, client).await
}

/// Sign in with Google
///
/// Sends the browser to Google.
#[utoipa::path(get, path = "/oauth/google/outbound", tag = "Accounts", operation_id = "leaveForGoogle", security(()),
    responses((status = 302), (status = 404, description = "Not configured", body = ErrorEnvelope)))]
pub(crate) async fn google_outbound(State(app): State<App>) -> Result<Response> {
    authorize(&app, Provider::Google)
}

/// Complete the sign-in with Google
///
/// Signs in and redirects to the dashboard. After a failure, its sign-in page shows the reason.
#[utoipa::path(get, path = "/oauth/google/callback", tag = "Accounts", operation_id = "googleCallback", security(()),
    params(("code" = Option<String>, Query), ("state" = Option<String>, Query)),
    responses((status = 302)))]
pub(crate) async fn google_callback(
    State(app): State<App>,
    Client(client): Client,
    headers: HeaderMap,
    params: Params,
) -> Result<Response> {
    callback(&app, Provider::Google, &headers, &params, client).await
}

fn authorize(app: &App, provider: Provider) -> Result<Response> {
    let Some(redirection) = app.authorize(provider)? else {
        return Err(ApiError::not_configured(provider.label()));
    };
    let sign_in_state =
        state_header(app, &redirection.sign_in_state, app.settings().oauth.state_ttl.as_secs());
    Ok(redirect(&redirection.url, [sign_in_state]))
}

async fn callback(
    app: &App,
    provider: Provider,
    headers: &HeaderMap,
    params: &Params,
    client: mailwright_app::account::client_key::ClientKey,
) -> Result<Response> {
    let text = |name: &str| params.text(name).map(str::to_owned);
    let (name, _) = state_cookie(&app.settings().base_url);
    let sign_in_state = cookie(headers, name).map(str::to_owned);
    let arrival = Callback { sign_in_state, state: text("state"), code: text("code") };
    // a sign-in ends here, whether it succeeds or not
    let over = state_header(app, "", 0);
    let base_url = &app.settings().base_url;
    match app.callback(provider, arrival, client).await {
        Ok(found) => Ok(redirect(&base_url.link("/app/"), [over, session_header(app, &found)])),
        Err(Error::NotSignedIn(why)) => {
            Ok(redirect(&base_url.link(&format!("/app/auth/login?message={}", why.as_str())), [over]))
        }
        Err(error) => Err(error.into()),
    }
}

/// The cookie is of this site, and comes along when the provider leads back here.
fn state_header(app: &App, value: &str, seconds: u64) -> String {
    let base_url = &app.settings().base_url;
    let secure = if base_url.is_https() { "; Secure" } else { "" };
    let (name, path) = state_cookie(base_url);
    format!("{name}={value}; Path={path}; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}")
}

fn redirect<const N: usize>(to: &str, cookies: [String; N]) -> Response {
    let mut response = StatusCode::FOUND.into_response();
    let headers = response.headers_mut();
    for (name, text) in std::iter::once((header::LOCATION, to))
        .chain(cookies.iter().map(|cookie| (header::SET_COOKIE, cookie.as_str())))
    {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.append(name, value);
        }
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_neighbour_can_set_the_state_cookie() {
        for (base_url, name, path) in [
            ("http://127.0.0.1:8080", "mailwright_oauth", "/oauth"),
            ("https://mail.example.com", "__Host-mailwright_oauth", "/"),
            ("https://example.com/mail", "__Secure-mailwright_oauth", "/mail/oauth"),
        ] {
            let base = BaseUrl::parse(base_url).unwrap();
            assert_eq!(state_cookie(&base), (name, path.to_owned()), "{base_url}");
        }
    }
}
