//! What the pages behind the links in mails look like: a heading, a sentence, the forms, and no script.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mailwright_app::audience::subscription::{Choice, Pass, PublicContact, Scope, ToConfirm};
use mailwright_core::locale::Locale;
use mailwright_core::locale::texts::{Values, html};
use mailwright_core::template_language::escape_html;

use super::form::{ALL, SHOWN, TOPIC};
use crate::page::Page;

/// What a page about a contact is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Asks whether to subscribe. Who is subscribed already sees the preferences.
    Subscribe,
    /// Asks whether to leave what the mail was about. Who gets none of it sees the preferences.
    Unsubscribe,
    /// Shows the subscription and lets it be changed.
    Manage,
    /// Says that a form has subscribed somebody, and offers the way back.
    Done,
    /// Says what a form has opted out of, and offers the way back.
    Left(Scope),
    /// Says that the topics were stored, and shows them.
    Saved,
}

/// The language of a visitor of whom nothing else is known.
pub(super) fn visitor_locale(headers: &HeaderMap) -> Locale {
    let header = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    header.map_or(Locale::En, Locale::accepted)
}

/// The page about a contact. What the link carried that was followed, the forms pass on.
pub(super) fn about(contact: &PublicContact, purpose: Purpose, pass: &Pass) -> Response {
    let (texts, subscribed) = (contact.locale.texts(), contact.subscribed);
    let target = format!("{}{}", contact.id, query(pass));
    let state = if subscribed { texts.is_subscribed } else { texts.not_subscribed };
    let way_out = Button { path: "unsubscribe", label: texts.unsubscribe, above: None };
    let way_in = Button { path: "subscribe", label: texts.subscribe, above: None };
    // of the mail whose link was followed, as long as there is something to leave
    let topic = contact.topic.as_ref().filter(|_| subscribed);
    let (heading, sentence, forms) = match (purpose, subscribed) {
        (Purpose::Subscribe, false) => {
            (texts.subscribe_question, texts.subscribe_explanation, way_in.form(&target))
        }
        (Purpose::Unsubscribe, true) if contact.is_in() => match topic {
            Some(_) => {
                let forms = way_out.form(&target) + &way_out_of_all(contact, &target);
                (texts.unsubscribe_question, texts.topic_leave, forms)
            }
            None => (texts.unsubscribe_question, texts.unsubscribe_explanation, way_out.form(&target)),
        },
        (Purpose::Left(Scope::Mail), true) if topic.is_some() => {
            (texts.unsubscribed, texts.topic_leave, preferences(contact, &target))
        }
        (Purpose::Done, true) => (texts.subscribed, state, preferences(contact, &target)),
        (Purpose::Done | Purpose::Left(_), false) => {
            let again = Button { label: texts.subscribe_again, above: Some(texts.changed_mind), ..way_in };
            (texts.unsubscribed, state, again.form(&target))
        }
        (Purpose::Saved, true) => (texts.saved, state, preferences(contact, &target)),
        (Purpose::Manage | Purpose::Subscribe | Purpose::Unsubscribe | Purpose::Left(_), true) => {
            (texts.preferences, state, preferences(contact, &target))
        }
        (Purpose::Manage | Purpose::Unsubscribe | Purpose::Saved, false) => {
            (texts.preferences, state, way_in.form(&target))
        }
    };
    let topic = topic.map(|choice| choice.topic.name.as_str()).unwrap_or_default();
    shown(contact, topic, (heading, sentence), &forms)
}

/// The page that asks a contact to confirm, or says that it has.
pub(super) fn about_confirmation(asked: &ToConfirm, tag: &str) -> Response {
    let (contact, texts) = (&asked.contact, asked.contact.locale.texts());
    let topic = asked.topic.as_ref().map(|topic| topic.name.as_str());
    let explanation = if topic.is_some() { texts.topic_join } else { texts.subscribe_explanation };
    let pass = Pass { mail: None, tag: Some(tag.to_owned()) };
    let (heading, form) = if asked.is_done {
        (texts.subscribed, String::new())
    } else {
        let button = Button { path: "confirm", label: texts.confirm, above: None };
        (texts.confirm_question, button.form(&format!("{}{}", contact.id, query(&pass))))
    };
    shown(contact, topic.unwrap_or_default(), (heading, explanation), &form)
}

fn shown(contact: &PublicContact, topic: &str, (heading, sentence): (&str, &str), forms: &str) -> Response {
    // for whoever looks on; who has the link can ask for the whole address
    let values = Values { project: &contact.project.name, email: &masked(&contact.email), topic };
    let title = format!("{heading} · {}", escape_html(&contact.project.name));
    page(StatusCode::OK, contact.locale, &title, heading, &html(sentence, values), forms)
}

/// What a subscribed contact can change: the topics, where there are some, and the subscription.
fn preferences(contact: &PublicContact, target: &str) -> String {
    if contact.choices.is_empty() && contact.topic.is_none() {
        let texts = contact.locale.texts();
        return Button { path: "unsubscribe", label: texts.unsubscribe, above: None }.form(target);
    }
    topics(contact, target) + &way_out_of_all(contact, target)
}

/// The form of the topics. Each names itself also where it is not chosen, so that one that is made meanwhile stays as it
/// is.
fn topics(contact: &PublicContact, target: &str) -> String {
    use std::fmt::Write as _;

    if contact.choices.is_empty() {
        return String::new();
    }
    let texts = contact.locale.texts();
    let mut rows = String::new();
    for Choice { topic, subscribed } in &contact.choices {
        let (id, name) = (topic.id, escape_html(&topic.name));
        let checked = if *subscribed { " checked" } else { "" };
        let about = topic.description.as_deref().filter(|text| !text.is_empty());
        let about = about.map(|text| format!("<p>{}</p>", escape_html(text))).unwrap_or_default();
        let _ = write!(
            rows,
            "<input type=\"hidden\" name=\"{SHOWN}\" value=\"{id}\"><label>\
             <input type=\"checkbox\" name=\"{TOPIC}\" value=\"{id}\"{checked}>{name}</label>{about}"
        );
    }
    format!(
        "<form method=\"post\" action=\"../manage/{target}\"><fieldset><legend>{}</legend>{rows}</fieldset>\
         <button type=\"submit\">{}</button></form>",
        texts.topics_question, texts.save
    )
}

/// The form that ends the whole subscription, where there is also less to leave.
fn way_out_of_all(contact: &PublicContact, target: &str) -> String {
    format!(
        "<form method=\"post\" action=\"../unsubscribe/{target}\">\
         <input type=\"hidden\" name=\"{ALL}\" value=\"1\"><button type=\"submit\">{}</button></form>",
        contact.locale.texts().unsubscribe_all
    )
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

/// A thing that can be done on a page.
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
