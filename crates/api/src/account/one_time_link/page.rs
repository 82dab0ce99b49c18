//! The pages behind links that were sent to a person who has an account, or is to have one.
//!
//! They are in English, because the person is not known yet. The token of a link is in the page's own address and in
//! its form, nowhere else.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mailwright_app::account::password::{LONGEST, SHORTEST};
use mailwright_core::address::EmailAddress;
use mailwright_core::locale::Locale;
use mailwright_core::template_language::escape_html;

use crate::page::Page;

/// A page that says something and asks for nothing. The texts are HTML.
pub(crate) fn told(status: StatusCode, heading: &str, sentence: &str) -> Response {
    Page { status, locale: Locale::En, title: heading, heading, sentence, form: "" }.into_response()
}

/// A page with a form. The texts and the form are HTML.
pub(crate) fn asked(status: StatusCode, heading: &str, sentence: &str, form: &str) -> Response {
    let page = Page { status, locale: Locale::En, title: heading, heading, sentence, form };
    let mut response = page.into_response();
    // Never the address of the page, which holds the token. With `no-referrer` browsers would send `Origin: null` with
    // the form, which a page of any other site can send as well.
    response.headers_mut().insert(header::REFERRER_POLICY, HeaderValue::from_static("strict-origin"));
    response
}

/// The page for a link that leads nowhere.
pub(crate) fn dead_link(advice: &str) -> Response {
    let sentence = format!("It was used before, has expired, or is not complete. {advice}");
    told(StatusCode::NOT_FOUND, "This link does not work", &sentence)
}

/// A form that posts to the page's own path: what it carries unseen, its fields, its button. `alert` says what was
/// wrong with the last try.
pub(crate) fn form(path: &str, token: &str, alert: Option<&str>, fields: &str, button: &str) -> String {
    let token = escape_html(token);
    let alert = alert.map(|text| format!("<p role=\"alert\">{text}</p>")).unwrap_or_default();
    format!(
        "<form method=\"post\" action=\"{path}\"><input type=\"hidden\" name=\"token\" value=\"{token}\">{alert}{fields}\
         <button type=\"submit\" aria-describedby=\"about\">{button}</button></form>"
    )
}

/// The field of a password that is to be chosen.
pub(crate) fn new_password_field(name: &str) -> String {
    format!(
        "<label for=\"password\">New password, at least {SHORTEST} characters</label>\
         <input id=\"password\" name=\"{name}\" type=\"password\" autocomplete=\"new-password\" required \
         minlength=\"{SHORTEST}\" maxlength=\"{LONGEST}\">"
    )
}

/// What is wrong with a password that was chosen.
pub(crate) fn password_issue(password: Option<&str>) -> Option<String> {
    match password.map_or(0, |password| password.chars().count()) {
        length if length < SHORTEST => {
            Some(format!("The password must have at least {SHORTEST} characters."))
        }
        length if length > LONGEST => Some(format!("The password must have at most {LONGEST} characters.")),
        _ => None,
    }
}

const AGAIN: &str = "Ask for another one.";

/// What was wrong with the last try to verify an address.
pub(super) enum Wrong {
    /// The password of the account was not sent, and the user is no longer signed in.
    NoPassword,
    /// The password of the account.
    Password,
    /// The password that the account was to get.
    NewPassword(String),
}

/// Asks whether the address is to be verified. Whoever is not signed in with the account shows the password, or says
/// that somebody else made it.
pub(super) fn verify(email: &EmailAddress, token: &str, signed_in: bool, wrong: Option<&Wrong>) -> Response {
    let (status, alert, issue) = match wrong {
        None => (StatusCode::OK, None, None),
        Some(Wrong::NoPassword) => {
            (StatusCode::UNAUTHORIZED, Some("Enter the password of the account."), None)
        }
        Some(Wrong::Password) => (StatusCode::UNAUTHORIZED, Some("The password is wrong."), None),
        Some(Wrong::NewPassword(issue)) => (StatusCode::UNPROCESSABLE_ENTITY, None, Some(issue.as_str())),
    };
    let address = escape_html(email.as_str());
    let heading = "Confirm your email address";
    let form = |alert, fields: &str, button| form("verify-email", token, alert, fields, button);
    if signed_in {
        let sentence = format!("You receive mail at <b>{address}</b>.");
        return asked(status, heading, &sentence, &form(None, "", "Confirm the address"));
    }
    let sentence = format!("Somebody made an account with the address <b>{address}</b>.");
    let mine = form(
        alert,
        "<label for=\"current\">If it was you, enter the password of the account</label>\
         <input id=\"current\" name=\"password\" type=\"password\" autocomplete=\"current-password\" required \
         maxlength=\"1000\">",
        "Confirm the address",
    );
    let claim = form(
        issue,
        &format!(
            "<input type=\"hidden\" name=\"action\" value=\"claim\"><p>Set a new password: the account is \
             yours then, and the person who created it can no longer sign in.</p>{}",
            new_password_field("newPassword")
        ),
        "Set the password and confirm",
    );
    let disown = form(
        None,
        "<input type=\"hidden\" name=\"action\" value=\"disown\"><p>Or delete the account.</p>",
        "Delete the account",
    );
    let open = if issue.is_some() { " open" } else { "" };
    let forms = format!("{mine}<details{open}><summary>It was not me</summary>{claim}{disown}</details>");
    asked(status, heading, &sentence, &forms)
}

/// For a form with fields that do not belong to what it asks for; the page's own forms have none.
pub(super) fn contradictory(fields: &[&str]) -> Response {
    let sentence =
        format!("Nothing was changed. These fields do not belong to the action: {}.", fields.join(", "));
    told(StatusCode::UNPROCESSABLE_ENTITY, "The form contradicts itself", &sentence)
}

/// What is left to do, with its address as seen from these pages, which are below `/auth/`.
const SIGN_IN: &str = "<a href=\"../app/auth/login\">sign in</a>";

pub(super) fn verified() -> Response {
    told(StatusCode::OK, "Your address is confirmed", &format!("You can close this page, or {SIGN_IN}."))
}

pub(super) fn claimed() -> Response {
    let sentence =
        format!("The password was set, and all sessions of the account were ended. Now {SIGN_IN}.");
    told(StatusCode::OK, "The account is yours", &sentence)
}

pub(super) fn disowned(sentence: &str) -> Response {
    told(StatusCode::OK, "Thank you for telling us", sentence)
}

/// Asks for another password.
pub(super) fn reset(email: &EmailAddress, token: &str, alert: Option<&str>) -> Response {
    let status = if alert.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let sentence =
        format!("For the account of <b>{}</b>. All its sessions will be ended.", escape_html(email.as_str()));
    let form = form("reset-password", token, alert, &new_password_field("newPassword"), "Set the password");
    asked(status, "Choose another password", &sentence, &form)
}

pub(super) fn was_reset() -> Response {
    let sentence = format!("All sessions of the account were ended. Now {SIGN_IN}.");
    told(StatusCode::OK, "The password was set", &sentence)
}

pub(super) fn dead() -> Response {
    dead_link(AGAIN)
}
