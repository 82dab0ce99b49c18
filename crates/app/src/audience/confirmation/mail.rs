//! The mail that asks a contact to confirm: from the project's template, or with the service's own words.

use std::collections::BTreeMap;
use std::sync::Arc;

use mailwright_core::address::EmailAddress;
use mailwright_core::billing::Category;
use mailwright_core::contact::Contact;
use mailwright_core::custom_data::Data;
use mailwright_core::email::{EmailSource, Lane};
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber, TemplateId};
use mailwright_core::locale::Locale;
use mailwright_core::locale::texts::{Values, plain};
use mailwright_core::project::Project;
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_core::topic::Topic;
use mailwright_store::audience::confirmation::{self as store, Open};
use mailwright_store::audience::{contact, topic};
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::project::billing::allowance::Allowances;
use mailwright_store::sending::content::{self, Content};
use mailwright_store::sending::email::{self, NewEmail};
use mailwright_store::sending::held::epoch;
use mailwright_store::sending::{domain, template};
use mailwright_store::{Tx, json_text, project};

use super::Ticket;
use crate::App;
use crate::error::Result;
use crate::sending::content::{Prepared, compose};

/// The variable that holds the link.
const LINK: &str = "confirmUrl";
/// The local part of the sender of the service's own words.
const SENDER: &str = "no-reply";
const SUBJECT: &str = "{{confirmation.subject}}";
const BODY: &str = "<!doctype html><html lang=\"{{confirmation.language}}\"><body>\
    <h1>{{confirmation.heading}}</h1><p>{{confirmation.request}}</p><p>{{confirmation.explanation}}</p>\
    <p><a href=\"{{confirmUrl}}\">{{confirmation.button}}</a></p><p>{{confirmation.ignore}}</p></body></html>";

/// What the mails are made of.
struct Letter {
    content: Content,
    prepared: Arc<Prepared>,
    template: Option<TemplateId>,
    from: EmailAddress,
    from_name: Option<String>,
    reply_to: Option<EmailAddress>,
}

/// Makes the mails of up to `most` requests that are due, and returns how many requests that were; `None` where the
/// project has no sender, or may not have more mails in this month.
pub(super) async fn make(
    tx: &mut Tx<'_>,
    app: &App,
    number: ProjectNumber,
    most: i64,
    now: Timestamp,
) -> Result<Option<usize>> {
    let Some(project) = project::get(tx, number).await? else { return Ok(Some(0)) };
    let Some(letter) = letter(tx, app, number).await? else { return Ok(None) };
    let mut allowances = Allowances::of_project(tx, app.free_allowance(), number, now).await?;
    let room = allowances.room(number, Category::Transactional, now);
    if room == Some(0) {
        return Ok(None); // asked again when there is room
    }
    let due = store::take_due(tx, number, room.map_or(most, |room| most.min(room)), now).await?;
    let stretch = epoch::stretch(tx).await?;
    let ids: Vec<ContactId> = due.iter().map(|open| open.contact).collect();
    let contacts = contact::some(tx, number, &ids).await?;
    let contacts: BTreeMap<ContactId, Contact> = contacts.into_iter().map(|one| (one.id, one)).collect();
    let topics = topic::all(tx, number).await?;
    let mut mails = Vec::with_capacity(due.len());
    for open in &due {
        let Some(contact) = contacts.get(&open.contact) else { continue };
        let topic = open.topic.map(|id| topics.iter().find(|topic| topic.id == id));
        if topic == Some(None) {
            continue; // it was deleted
        }
        let mut made = mail(app, &project, &letter, (contact, open, topic.flatten()), now)?;
        // it may have been asked for, and sent, in a stretch that a restore lost
        made.is_held = stretch.is_some_and(|stretch| stretch.covers(open.requested_at));
        mails.push(made);
    }
    if !mails.is_empty() {
        allowances.take(number, Category::Transactional, now, mails.len() as i64);
        allowances.save(tx, now).await?;
        let mut deltas = Deltas::default();
        content::save(tx, &[(number, &letter.content)], now).await?;
        email::enqueue(tx, &mails, &mut deltas).await?;
        deltas.save(tx).await?;
    }
    Ok(Some(due.len()))
}

/// The template that the project names, if it has the link; otherwise the service's own words, from the first of the
/// domains that the project may send from.
async fn letter(tx: &mut Tx<'_>, app: &App, number: ProjectNumber) -> Result<Option<Letter>> {
    let contents = app.contents();
    // no answer of a machine may come back to it (RFC 3834)
    let headers = [("Auto-Submitted".to_owned(), "auto-generated".to_owned())];
    if let Some(id) = project::confirmation_template(tx, number).await?
        && let Some(found) = template::get(tx, number, id).await?
    {
        let (mut content, _) = compose(found.subject, found.body, None, &headers, &[], Some(false));
        let prepared = contents.prepare(number, &mut content, &[]);
        if prepared.names.contains(LINK) {
            let (from, reply_to) = (found.from, found.reply_to);
            let template = Some(id);
            return Ok(Some(Letter {
                content,
                prepared,
                template,
                from,
                from_name: found.from_name,
                reply_to,
            }));
        }
    }
    let mut domains = domain::all(tx, number).await?;
    domains.reverse();
    let senders: Vec<_> = domains.iter().map(|domain| (number, domain.name.as_str())).collect();
    let may_send = domain::may_send(tx, &senders, app.mail_leaves()).await?;
    let first =
        senders.into_iter().find(|(_, name)| may_send.get(&(number, (*name).to_owned())) == Some(&true));
    let Some(from) = first.and_then(|(_, name)| EmailAddress::parse(&format!("{SENDER}@{name}"))) else {
        return Ok(None);
    };
    let (mut content, _) = compose(SUBJECT.to_owned(), BODY.to_owned(), None, &headers, &[], Some(false));
    let prepared = contents.prepare(number, &mut content, &[]);
    Ok(Some(Letter { content, prepared, template: None, from, from_name: None, reply_to: None }))
}

fn mail(
    app: &App,
    project: &Project,
    letter: &Letter,
    (contact, open, topic): (&Contact, &Open, Option<&Topic>),
    now: Timestamp,
) -> Result<NewEmail> {
    let ticket = Ticket { project: project.number, topic: open.topic, at: open.requested_at };
    let tag = app.ticket(contact.id, ticket)?;
    let link = app.settings().base_url.link(&format!("/confirm/{}?t={tag}", contact.id));
    let values = values(project, contact, topic, link);
    let id = EmailId::new(now, rand::random());
    Ok(NewEmail {
        project: project.number,
        id,
        contact: contact.id,
        recipient: contact.email.clone(),
        recipient_name: None,
        from: letter.from.clone(),
        from_name: letter.from_name.clone(),
        reply_to: letter.reply_to.clone(),
        subject: letter.content.subject.clone(),
        content_hash: letter.content.hash,
        variables: json_text(&letter.prepared.variables(contact, &values)),
        source: EmailSource::Transactional,
        kind: TemplateType::Transactional,
        lane: Lane::Workflow,
        template: letter.template,
        topic: None,
        step: None,
        has_attachments: false,
        message_id: format!("{id}@{}", letter.from.domain()),
        suppression: None, // it is looked for when the mail is claimed
        is_held: false,
        at: now,
    })
}

/// What the variables of a mail are.
fn values(project: &Project, contact: &Contact, topic: Option<&Topic>, link: String) -> Data {
    let locale = Locale::resolve(contact.data.get("locale").and_then(|v| v.as_str()), &project.language);
    let (texts, name) = (locale.texts(), topic.map(|topic| topic.name.as_str()));
    let explanation = if topic.is_some() { texts.topic_join } else { texts.subscribe_explanation };
    let of =
        Values { project: &project.name, email: contact.email.as_str(), topic: name.unwrap_or_default() };
    let mut data = Data::new();
    data.insert(LINK.to_owned(), link.into());
    data.insert("project".to_owned(), project.name.as_str().into());
    data.insert("topic".to_owned(), name.into());
    data.insert(
        "confirmation".to_owned(),
        serde_json::json!({
            "language": locale.tag(),
            "subject": plain(texts.confirm_subject, of),
            "heading": texts.confirm_question,
            "request": plain(texts.confirm_request, of),
            "explanation": plain(explanation, of),
            "button": texts.confirm,
            "ignore": texts.confirm_ignore,
        }),
    );
    data
}
