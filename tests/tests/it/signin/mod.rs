//! Signing in beyond a password: links in mails, second factors, providers.

mod hygiene;
mod invitations;
mod oauth;
mod pages;
mod reset;
mod totp;
mod verification;

use std::time::Duration;

use mailwright_testkit::{App, AppBuilder, Engine, Value};
use mailwright_tests::text;

/// The sender of the instance's own mails.
const FROM: &str = "noreply@platform.test";
/// How long a link to verify an address or to reset a password is good, unless it is set.
const LINK: Duration = Duration::from_hours(1);
/// What no link carries.
const NO_TOKEN: &str = "00000000000000000000000000000000000000000000000000000000000000ff";

/// A server that sends mail of its own, which is captured.
fn with_mail(engine: Engine) -> AppBuilder {
    App::builder(engine).env("MAILWRIGHT_PLATFORM_FROM", FROM)
}

/// The instance's own mails to an address, newest first.
async fn own_mails(app: &App, to: &str) -> Vec<Value> {
    let printed = app.run(&["inbox", "--to", to, "--limit", "50", "--json"]).await;
    serde_json::from_str(printed.trim()).unwrap_or_else(|error| panic!("no JSON ({error}): {printed}"))
}

/// The own mails to an address, once there are as many.
async fn own_mails_once(app: &App, to: &str, many: usize) -> Vec<Value> {
    app.eventually(&format!("{many} own mails to {to}"), async || {
        let mails = own_mails(app, to).await;
        assert!(mails.len() <= many, "more than {many} mails to {to}: {mails:?}");
        (mails.len() == many).then_some(mails)
    })
    .await
}

/// The token of the link to a page in a mail.
fn token_in(app: &App, mail: &Value, page: &str) -> String {
    let html = text(&mail["html"]);
    let link = format!("{}/auth/{page}?token=", app.base_url());
    let at = html.find(&link).unwrap_or_else(|| panic!("no link to {page} in {html}"));
    let token: String = html[at + link.len()..].chars().take_while(char::is_ascii_alphanumeric).collect();
    assert_eq!(token.len(), 64, "{html}");
    token
}

/// The token of the newest mail to an address, once there are as many.
async fn newest_token(app: &App, to: &str, page: &str, many: usize) -> String {
    token_in(app, &own_mails_once(app, to, many).await[0], page)
}
