//! The pages behind the links in mails to recipients: a heading, a sentence, at most one button, and no script.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mailwright_app::audience::subscription::{Pass, PublicContact};
use mailwright_core::locale::Locale;
use mailwright_core::locale::texts::{Values, html};
use mailwright_core::template_language::escape_html;

use crate::page::Page;

/// What a page about a contact is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Asks whether to subscribe. Who is subscribed already sees the preferences.
    Subscribe,
    /// Asks whether to unsubscribe. Who is not subscribed sees the preferences.
    Unsubscribe,
    /// Shows the subscription and lets it be changed.
    Manage,
    /// Says what a form has just done, and offers the way back.
    Done,
}

/// The language of a visitor of whom nothing else is known.
pub(super) fn visitor_locale(headers: &HeaderMap) -> Locale {
    let header = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    header.map_or(Locale::En, Locale::accepted)
}

/// The page about a contact. What the link carried that was followed, the form passes on.
pub(super) fn about(contact: &PublicContact, purpose: Purpose, pass: &Pass) -> Response {
    let (texts, subscribed) = (contact.locale.texts(), contact.subscribed);
    let state = if subscribed { texts.is_subscribed } else { texts.not_subscribed };
    let way_out = Button { path: "unsubscribe", label: texts.unsubscribe, above: None };
    let way_in = Button { path: "subscribe", label: texts.subscribe, above: None };
    let (heading, sentence, button) = match (purpose, subscribed) {
        (Purpose::Subscribe, false) => (texts.subscribe_question, texts.subscribe_explanation, way_in),
        (Purpose::Unsubscribe, true) => (texts.unsubscribe_question, texts.unsubscribe_explanation, way_out),
        (Purpose::Done, true) => (texts.subscribed, state, way_out),
        (Purpose::Done, false) => {
            let again = Button { label: texts.subscribe_again, above: Some(texts.changed_mind), ..way_in };
            (texts.unsubscribed, state, again)
        }
        (Purpose::Manage | Purpose::Subscribe, true) => (texts.preferences, state, way_out),
        (Purpose::Manage | Purpose::Unsubscribe, false) => (texts.preferences, state, way_in),
    };
    // for whoever looks on; who has the link can ask for the whole address
    let values = Values { project: &contact.project.name, email: &masked(&contact.email) };
    let form = button.form(&format!("{}{}", contact.id, query(pass)));
    let title = format!("{heading} · {}", escape_html(&contact.project.name));
    page(StatusCode::OK, contact.locale, &title, heading, &html(sentence, values), &form)
}

/// What a link carries, as HTML has it. Anybody writes tags, so one that the service cannot have made is left out.
fn query(pass: &Pass) -> String {
    let mail = pass.mail.map(|mail| format!("e={mail}"));
    let made_here = |tag: &&String| tag.bytes().all(|byte| byte.is_ascii_hexdigit());
    let tag = pass.tag.as_ref().filter(made_here).map(|tag| format!("t={tag}"));
    let parts: Vec<String> = mail.into_iter().chain(tag).collect();
    if parts.is_empty() { String::new() } else { format!("?{}", parts.join("&amp;")) }
}

/// An address that its owner recognises and nobody else can write to: `a***@example.com`.
fn masked(address: &str) -> String {
    let (local, domain) = address.rsplit_once('@').unwrap_or((address, ""));
    let first = local.chars().next().map(String::from).unwrap_or_default();
    format!("{first}***@{domain}")
}

/// The page for a link that leads to nobody.
pub(super) fn invalid_link(locale: Locale) -> Response {
    let texts = locale.texts();
    page(StatusCode::NOT_FOUND, locale, texts.invalid_link, texts.invalid_link, texts.invalid_link_text, "")
}

/// The one thing that can be done on a page.
#[derive(Debug, Clone, Copy)]
struct Button {
    path: &'static str,
    label: &'static str,
    above: Option<&'static str>,
}

impl Button {
    /// The form that posts to the contact's own address. `target` is made of ids and tags alone.
    fn form(self, target: &str) -> String {
        let Self { path, label, above } = self;
        let above = above.map(|text| format!("<p>{text}</p>")).unwrap_or_default();
        format!(
            "<form method=\"post\" action=\"../{path}/{target}\">{above}\
             <button type=\"submit\" aria-describedby=\"about\">{label}</button></form>"
        )
    }
}

fn page(
    status: StatusCode,
    locale: Locale,
    title: &str,
    heading: &str,
    sentence: &str,
    form: &str,
) -> Response {
    Page { status, locale, title, heading, sentence, form }.into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_recognised_and_not_told() {
        for (address, expected) in [
            ("ann@example.com", "a***@example.com"),
            ("b@x.test", "b***@x.test"),
            ("o'brien@e.com", "o***@e.com"),
        ] {
            assert_eq!(masked(address), expected);
        }
    }
}
