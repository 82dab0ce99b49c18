//! `GET /config`: what this instance offers, for anybody.

use crate::json::Json;
use axum::extract::State;
use mailwright_app::App;
use mailwright_app::account::oauth::Provider;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::Result;

/// What this instance offers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConfigView {
    urls: Urls,
    features: Features,
}

/// The addresses of the service.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Urls {
    /// The API.
    api: String,
    /// The address of the dashboard.
    dashboard: String,
    /// The reference of the API.
    docs: String,
}

/// What is switched on.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Features {
    signup: Signup,
    billing: Feature,
    storage: Storage,
    auth_providers: AuthProviders,
    mail: Mail,
    smtp: Feature,
}

/// Whether somebody can sign up.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Signup {
    /// Whether an account can be created now.
    enabled: bool,
    /// Whether it would be the first one of the instance.
    first_user: bool,
}

/// A feature that is on or off.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Feature {
    enabled: bool,
}

/// Uploading pictures.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Storage {
    /// Whether pictures can be uploaded.
    enabled: bool,
    /// The same. Clients that were written for S3 ask by this name; it is true for a folder as well.
    s3_enabled: bool,
}

/// What becomes of mail.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Mail {
    /// Whether mail goes out; otherwise it is captured.
    leaves: bool,
    /// Whether the instance sends mail of its own: links that prove an address, and invitations.
    own: bool,
}

/// Other ways to sign in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuthProviders {
    github: bool,
    google: bool,
}

/// Show what this instance offers
#[utoipa::path(get, path = "/config", tag = "Service", operation_id = "getConfig", security(()),
    responses((status = 200, body = ConfigView)))]
pub(crate) async fn get(State(app): State<App>) -> Result<Json<ConfigView>> {
    let first_user = app.has_no_users().await?;
    let settings = app.settings();
    let off = || Feature { enabled: false };
    Ok(Json(ConfigView {
        urls: Urls {
            api: settings.base_url.to_string(),
            dashboard: settings.base_url.link("/app"),
            docs: settings.base_url.link("/docs"),
        },
        features: Features {
            signup: Signup { enabled: first_user || !settings.accounts.disable_signups, first_user },
            billing: Feature { enabled: app.bills() },
            storage: Storage { enabled: true, s3_enabled: true },
            auth_providers: AuthProviders {
                github: app.offers(Provider::GitHub),
                google: app.offers(Provider::Google),
            },
            mail: Mail { leaves: app.mail_leaves(), own: app.sends_own_mail() },
            smtp: off(),
        },
    }))
}
