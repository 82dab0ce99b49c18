//! What the steps of a batch do, written together.

use std::collections::BTreeMap;
use std::sync::Arc;

use mailwright_core::address::EmailAddress;
use mailwright_core::consent::{ConsentWay, Evidence};
use mailwright_core::contact::{Contact, Subscription};
use mailwright_core::custom_data::{Data, DataPatch};
use mailwright_core::email::{EmailSource, Lane};
use mailwright_core::ids::{ContactId, EmailId, ExecutionId, ProjectNumber, SegmentId, TemplateId};
use mailwright_core::template::Template;
use mailwright_core::time::Timestamp;
use mailwright_core::workflow::scope::plain_context;
use mailwright_core::workflow::world::Answered;
use mailwright_store::audience::contact::{Contacts, Upsert};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::audience::segment;
use mailwright_store::automation::request::{self, NewRequest};
use mailwright_store::automation::signal;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::sending::content;
use mailwright_store::sending::email::{self, NewEmail, Origin};
use mailwright_store::sending::template;
use mailwright_store::{Result, Tx, json_text};

use crate::sending::content::{Contents, Prepared, compose};

/// A mail to put into the outbox.
pub(super) struct Mail {
    /// The contact as it is then.
    pub(super) contact: Contact,
    /// The context as it is then.
    pub(super) context: Data,
    pub(super) template: TemplateId,
    pub(super) to: Option<EmailAddress>,
    pub(super) at: Timestamp,
    pub(super) origin: Origin,
    /// Whether it may have been sent in a stretch that a restore lost.
    pub(super) is_held: bool,
}

/// A change of a contact.
pub(super) struct Change {
    pub(super) email: EmailAddress,
    pub(super) patch: Arc<DataPatch>,
    pub(super) subscribed: Option<bool>,
    pub(super) at: Timestamp,
}

/// A contact that joins or leaves a static segment.
pub(super) struct Move {
    pub(super) segment: SegmentId,
    pub(super) adds: bool,
    pub(super) contact: ContactId,
    pub(super) at: Timestamp,
}

/// What the steps of a batch do.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) mails: Vec<Mail>,
    pub(super) changes: Vec<Change>,
    pub(super) moves: Vec<Move>,
    pub(super) requests: Vec<NewRequest>,
    /// Requests that cannot be made, and why.
    pub(super) answers: Vec<(ExecutionId, ContactId, Answered, Timestamp)>,
}

impl Pending {
    /// Writes it all. It is counted in `deltas`, which the caller saves.
    pub(super) async fn save(
        self,
        tx: &mut Tx<'_>,
        project: ProjectNumber,
        contents: &Contents,
        deltas: &mut Deltas,
    ) -> Result<()> {
        change_contacts(tx, project, &self.changes, deltas).await?;
        move_contacts(tx, project, &self.moves, deltas).await?;
        send(tx, project, &self.mails, contents, deltas).await?;
        request::add(tx, project, &self.requests).await?;
        signal::answer(tx, project, self.answers).await
    }
}

async fn change_contacts(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    changes: &[Change],
    deltas: &mut Deltas,
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut contacts = Contacts::load(tx, changes.iter().map(|change| (project, &change.email))).await?;
    let evidence = Evidence::by(ConsentWay::Workflow);
    let mut events = Vec::new();
    for change in changes {
        let subscription =
            Subscription { given: change.subscribed, default_for_new: true, preserve_existing: false };
        let (email, patch) = (&change.email, &change.patch);
        let upsert = Upsert { project, email, subscription, patch, evidence, double_opt_in: false };
        let upserted = contacts.upsert(upsert, change.at);
        if let Some(subscribed) = upserted.flip {
            events.push(NewEvent::flip(project, upserted.contact.id, subscribed, evidence, change.at));
        }
    }
    contacts.save(tx, deltas).await?;
    event::append(tx, &events, deltas).await
}

async fn move_contacts(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    moves: &[Move],
    deltas: &mut Deltas,
) -> Result<()> {
    // what a contact does last with a segment counts
    let mut last: BTreeMap<(SegmentId, ContactId), (bool, Timestamp)> = BTreeMap::new();
    for one in moves {
        last.insert((one.segment, one.contact), (one.adds, one.at));
    }
    let mut groups: BTreeMap<(SegmentId, bool), (Vec<ContactId>, Timestamp)> = BTreeMap::new();
    for ((id, contact), (adds, at)) in last {
        let (contacts, latest) = groups.entry((id, adds)).or_insert_with(|| (Vec::new(), at));
        contacts.push(contact);
        *latest = (*latest).max(at);
        deltas.touch(project, contact, at);
    }
    for ((id, adds), (contacts, at)) in groups {
        if adds {
            segment::add(tx, project, id, &contacts, at).await?;
        } else {
            segment::remove(tx, project, id, &contacts, at).await?;
        }
    }
    Ok(())
}

async fn send(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    mails: &[Mail],
    contents: &Contents,
    deltas: &mut Deltas,
) -> Result<()> {
    let Some(latest) = mails.iter().map(|mail| mail.at).max() else { return Ok(()) };
    let ids = mails.iter().map(|mail| mail.template).collect();
    let templates: BTreeMap<TemplateId, Template> = by_id(template::some(tx, project, &ids).await?);
    let composed: BTreeMap<TemplateId, _> = templates
        .values()
        .map(|template| {
            let (subject, body) = (template.subject.clone(), template.body.clone());
            let (mut content, _) = compose(subject, body, None, &[], &[], template.tracking);
            let prepared = contents.prepare(project, &mut content, &[]);
            (template.id, (content, prepared))
        })
        .collect();
    let mut distinct: Vec<_> = composed.values().map(|(content, _)| (project, content)).collect();
    distinct.sort_unstable_by_key(|(_, content)| content.hash);
    distinct.dedup_by_key(|(_, content)| content.hash);
    content::save(tx, &distinct, latest).await?;
    let mut new = Vec::with_capacity(mails.len());
    for mail in mails {
        let (Some(template), Some((content, prepared))) =
            (templates.get(&mail.template), composed.get(&mail.template))
        else {
            continue;
        };
        new.push(new_email(project, mail, template, content.hash, prepared));
    }
    email::enqueue(tx, &new, deltas).await
}

fn by_id(templates: Vec<Template>) -> BTreeMap<TemplateId, Template> {
    templates.into_iter().map(|template| (template.id, template)).collect()
}

fn new_email(
    project: ProjectNumber,
    mail: &Mail,
    template: &Template,
    content_hash: [u8; 32],
    prepared: &Prepared,
) -> NewEmail {
    let id = EmailId::new(mail.at, rand::random());
    NewEmail {
        project,
        id,
        contact: mail.contact.id,
        recipient: mail.to.clone().unwrap_or_else(|| mail.contact.email.clone()),
        recipient_name: None,
        from: template.from.clone(),
        from_name: template.from_name.clone(),
        reply_to: template.reply_to.clone(),
        subject: template.subject.clone(),
        content_hash,
        variables: json_text(&variables(mail, prepared)),
        source: EmailSource::Workflow,
        kind: template.kind,
        lane: Lane::Workflow,
        template: Some(template.id),
        topic: template.topic,
        step: Some(mail.origin),
        has_attachments: false,
        message_id: format!("{id}@{}", template.from.domain()),
        suppression: None, // it is looked for when the mail is claimed
        is_held: mail.is_held,
        at: mail.at,
    }
}

/// What the variables of a mail are (reference 1.4): the values of the context come before those of the contact, `data`
/// has the contact's alone, and `event` those of the context.
fn variables(mail: &Mail, prepared: &Prepared) -> Data {
    let context = plain_context(&mail.context);
    let mut variables = prepared.variables(&mail.contact, &context);
    if prepared.names.contains("data") {
        variables.insert("data".to_owned(), mail.contact.data.clone().into());
    }
    if prepared.names.contains("event") {
        variables.insert("event".to_owned(), context.into());
    }
    variables
}
