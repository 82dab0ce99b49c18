//! `POST /v1/send`: accept a mail for each recipient, all of them or none.
//!
//! The way to the transaction is that of [`track`]. [`run`] also checks the sender's domain
//! and, for marketing templates, the subscription of every recipient, before it writes anything. It stores the content
//! once, by its hash, and one row of `emails` for each recipient with the values that its variables have now. From 1 KB
//! on, values that all recipients of the request share are part of the content. Then the feeder of the lane is woken;
//! the answer does not wait for delivery.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::{join, join3, join4};
use mailwright_core::address::{EmailAddress, Mailbox};
use mailwright_core::contact::Subscription;
use mailwright_core::custom_data::{self, Data, DataPatch};
use mailwright_core::email::{EmailSource, Lane};
use mailwright_core::event::subscription_event;
use mailwright_core::excess::{Excess, MAX_LOADED, MAX_VARIABLES};
use mailwright_core::header::HeaderError;
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber, TemplateId};
use mailwright_core::issue::Issue;
use mailwright_core::project::Project;
use mailwright_core::template::{Template, TemplateType};
use mailwright_core::template_language::MAX_OUTPUT;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::{Contacts, Upsert};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::audience::names::{Names, Wanted};
use mailwright_store::insight::counter::Deltas;
use mailwright_store::project::api_key::KeyHash;
use mailwright_store::sending::content::{self, Bytes, Content};
use mailwright_store::sending::email::{self, NewEmail};
use mailwright_store::sending::idempotency::{self, Claim, Used};
use mailwright_store::sending::{domain, template};
use mailwright_store::{Load, Tx, json_text};

use crate::App;
use crate::audience::contact::check_locale;
use crate::audience::track;
use crate::error::{Error, Resource, Result};
use crate::project::key::{Identity, Stale, recheck};
use crate::sending::content::{File, INLINE_KIND, Prepared, bound, compose, share};
use crate::sending::idempotency::{IdempotencyKey, claim_all, reused};

/// A recipient as the request names it.
#[derive(Debug, Clone)]
pub struct Recipient {
    /// Address.
    pub email: EmailAddress,
    /// Name, stored as `data.name` and shown with the address.
    pub name: Option<String>,
}

/// A checked request.
#[derive(Debug, Clone, Default)]
pub struct Send {
    /// Recipients, in order.
    pub to: Vec<Recipient>,
    /// Subject; from the template when absent.
    pub subject: Option<String>,
    /// HTML; from the template when absent.
    pub body: Option<String>,
    /// Plain text; made from the HTML when absent.
    pub text: Option<String>,
    /// Saved template.
    pub template: Option<TemplateId>,
    /// Sender; from the template when absent.
    pub from: Option<(EmailAddress, Option<String>)>,
    /// Deprecated sender name.
    pub from_name: Option<String>,
    /// Subscription asked for.
    pub subscribed: Option<bool>,
    /// Variables and contact data.
    pub data: Data,
    /// Custom headers.
    pub headers: Vec<(String, String)>,
    /// Reply address, with the name shown for it.
    pub reply: Option<(EmailAddress, Option<String>)>,
    /// Attachments.
    pub attachments: Vec<File>,
}

/// One accepted mail.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The recipient's contact.
    pub contact: ContactId,
    /// The recipient's address in its normal form.
    pub address: EmailAddress,
    /// The mail.
    pub email: EmailId,
}

#[derive(Debug, Clone)]
pub(crate) struct Operation {
    key: Option<KeyHash>,
    project: ProjectNumber,
    recipients: Vec<(Recipient, Arc<DataPatch>)>,
    /// Names of the fields that are stored with the contacts.
    names: Vec<String>,
    /// Bytes that it writes, about.
    bytes: usize,
    subscription: Subscription,
    content: Content,
    files: Vec<Bytes>,
    prepared: Arc<Prepared>,
    from: EmailAddress,
    from_name: Option<String>,
    reply_to: Option<EmailAddress>,
    template: Option<TemplateId>,
    kind: TemplateType,
    claim: Option<Claim>,
    at: Timestamp,
    /// Whether mail leaves the machine.
    leaves: bool,
}

#[derive(Debug)]
pub(crate) enum Refusal {
    Stale(Stale),
    Used(Used),
    DomainUnknown,
    DomainUnverified,
    Unsubscribed(EmailAddress),
    Excess(Excess),
}

pub(crate) type Outcome = std::result::Result<Vec<Accepted>, Refusal>;

/// Most bytes of data that a request writes with its contacts and mails: recipients times what each is stored with.
const MAX_WRITTEN: usize = 8 * 1024 * 1024;
/// Most bytes of body and attachments that a request sends: recipients times what each is sent.
const MAX_SENT: usize = 1024 * 1024 * 1024;
/// Most bytes that values and loops add to what the mails of a request say, all mails together.
const MAX_GROWN: usize = 256 * 1024 * 1024;
/// From so many bytes on, values that are the same for several recipients are stored once.
const SHARED_FROM: usize = 1024;

impl App {
    /// Accepts a mail for each recipient. Once this returns, they are on disk and will be handed over.
    pub async fn send(
        &self,
        caller: &Identity,
        send: Send,
        key: Option<IdempotencyKey>,
    ) -> Result<(Vec<Accepted>, Timestamp)> {
        let project = &caller.project;
        let at = self.0.clock.now();
        check_locale(&send.data)?;
        self.check_headers(&send.headers)?;
        let template = match send.template {
            Some(id) => Some(self.template(project, id).await?),
            None => None,
        };
        let used_key = key.as_ref().map(|k| k.key.clone());
        let operation = self.operation(caller, send, template, key, at)?;
        if operation.recipients.is_empty() {
            return Ok((Vec::new(), at));
        }
        let route = track::route(project.number, &operation.recipients[0].0.email);
        let domain = operation.from.domain().to_owned();
        let load = Load { project: project.number, rows: operation.recipients.len(), bytes: operation.bytes };
        match self.0.sends.call_sized(route, load, operation).await? {
            Ok(accepted) => {
                self.0.dispatcher.wake(Lane::Transactional, project.number);
                Ok((accepted, at))
            }
            Err(Refusal::Used(used)) => Err(reused(used_key.unwrap_or_default(), used)),
            Err(Refusal::Stale(stale)) => Err(self.stale(caller, stale)),
            Err(Refusal::Excess(excess)) => Err(Error::Invalid(vec![excess.issue()])),
            Err(Refusal::DomainUnknown) => Err(Error::SenderRefused(format!(
                "The domain {domain} is not registered for this project. Add it and verify it before sending from it."
            ))),
            Err(Refusal::DomainUnverified) => Err(Error::SenderRefused(format!(
                "The domain {domain} is not verified. Create its DNS records and verify it before sending from it."
            ))),
            Err(Refusal::Unsubscribed(email)) => Err(Error::BadRequest(format!(
                "{email} is not subscribed, and the template is of type MARKETING. Use a TRANSACTIONAL template, or pass subscribed: true when the recipient has agreed."
            ))),
        }
    }

    /// Refuses headers that the operator keeps to the service.
    fn check_headers(&self, headers: &[(String, String)]) -> Result<()> {
        let reserved = headers.iter().filter(|(name, _)| self.0.settings.reserved_headers.has(name));
        let issues: Vec<_> = reserved
            .map(|(name, _)| {
                Issue::new(format!("headers.{name}"), "custom", HeaderError::Reserved.to_string())
            })
            .collect();
        if issues.is_empty() { Ok(()) } else { Err(Error::Invalid(issues)) }
    }

    /// Fills what the request leaves out from the template, and composes the content.
    fn operation(
        &self,
        caller: &Identity,
        send: Send,
        template: Option<Template>,
        key: Option<IdempotencyKey>,
        at: Timestamp,
    ) -> Result<Operation> {
        let project = &caller.project;
        let kind = template.as_ref().map_or(INLINE_KIND, |t| t.kind);
        let template_id = template.as_ref().map(|t| t.id);
        let (mut subject, mut body, mut from_template, mut name_template, mut reply_template) =
            Default::default();
        if let Some(t) = template {
            (subject, body) = (t.subject, t.body);
            (from_template, name_template, reply_template) =
                (EmailAddress::parse(&t.from), t.from_name, t.reply_to);
        }
        let (from, from_name) = match send.from {
            Some((address, name)) => (address, name.or(send.from_name)),
            None => (
                from_template.ok_or_else(|| {
                    Error::Invalid(vec![Issue::new(
                        "from",
                        "required",
                        "A sender is required: pass from, or a template that has one.",
                    )])
                })?,
                send.from_name,
            ),
        };
        let (reply, reply_name) = send.reply.unzip();
        let reply_to = reply.or_else(|| reply_template.as_deref().and_then(EmailAddress::parse));
        let reply_to = reply_to.or_else(|| Some(from.clone()));
        let mut headers = send.headers;
        add_reply_name(&mut headers, reply_to.as_ref(), reply_name.flatten());
        let (mut content, files) = compose(
            send.subject.unwrap_or(subject),
            send.body.unwrap_or(body),
            send.text,
            &headers,
            &send.attachments,
        );
        if let Some(room) = room_of_each(send.to.len()) {
            bound(&mut content, room);
        }
        let mut prepared = self.0.contents.prepare(project.number, &content, &send.attachments);
        let patch = Arc::new(DataPatch::new(send.data));
        let mut values = prepared.request_bytes(&patch.request);
        if send.to.len() > 1 && values >= SHARED_FROM {
            share(&mut content, &prepared, &patch.request);
            prepared = self.0.contents.prepare(project.number, &content, &send.attachments);
            values = 0;
        }
        let stored = custom_data::size(&patch.stored);
        let written = bounded(send.to.len(), stored, values)?;
        let text = content.text.as_ref().map_or(0, String::len);
        let bytes =
            content.body.len() + text + files.iter().map(|file| file.content.len()).sum::<usize>() + written;
        bounded_output(send.to.len(), content.body.len() + text, &files)?;
        let has_names = send.to.iter().any(|r| r.name.as_ref().is_some_and(|name| !name.is_empty()));
        let names = patch.names().chain(has_names.then_some("name")).map(str::to_owned).collect();
        let recipients = send.to.into_iter().map(|recipient| {
            let Some(name) = recipient.name.clone().filter(|name| !name.is_empty()) else {
                return (recipient, Arc::clone(&patch));
            };
            let mut own = DataPatch::clone(&patch);
            own.stored.insert("name".into(), name.as_str().into());
            own.request.insert("name".into(), name.into());
            (recipient, Arc::new(own))
        });
        Ok(Operation {
            key: caller.hash,
            project: project.number,
            recipients: recipients.collect(),
            names,
            bytes,
            subscription: Subscription {
                given: send.subscribed,
                default_for_new: false,
                preserve_existing: false,
            },
            content,
            files,
            prepared,
            from,
            from_name: from_name.or(name_template),
            reply_to,
            template: template_id,
            kind,
            claim: self.claim(caller, key),
            at,
            leaves: self.mail_leaves(),
        })
    }

    /// A mail of the instance itself: subject and HTML with the values of their variables, which the contact does not
    /// keep.
    pub(crate) fn own_operation(
        &self,
        project: &Project,
        from: EmailAddress,
        to: EmailAddress,
        (subject, body): (&str, String),
        values: Data,
    ) -> Operation {
        let headers = [("Auto-Submitted".to_owned(), "auto-generated".to_owned())];
        let (content, files) = compose(subject.to_owned(), body, None, &headers, &[]);
        let prepared = self.0.contents.prepare(project.number, &content, &[]);
        let patch = DataPatch { request: values, ..DataPatch::default() };
        Operation {
            key: None,
            project: project.number,
            recipients: vec![(Recipient { email: to, name: None }, Arc::new(patch))],
            names: Vec::new(),
            bytes: 0,
            subscription: Subscription { given: None, default_for_new: false, preserve_existing: true },
            content,
            files,
            prepared,
            from,
            from_name: None,
            reply_to: None,
            template: None,
            kind: INLINE_KIND,
            claim: None,
            at: self.0.clock.now(),
            leaves: self.mail_leaves(),
        }
    }

    /// A template of the project.
    pub(crate) async fn template(&self, project: &Project, id: TemplateId) -> Result<Template> {
        let number = project.number;
        let found =
            self.0.db.read(move |rx| Box::pin(async move { template::get(rx, number, id).await })).await?;
        found.ok_or_else(|| Error::not_found(Resource::Template, id))
    }
}

/// Refuses a request whose data would be written too often; how many bytes it writes otherwise.
fn bounded(recipients: usize, stored: usize, values: usize) -> Result<usize> {
    let written = recipients * (stored + values);
    if written <= MAX_WRITTEN {
        return Ok(written);
    }
    let (megabytes, fitting) = (MAX_WRITTEN / 1024 / 1024, (MAX_WRITTEN / (stored + values)).max(1));
    let message = format!(
        "{recipients} recipients times {} bytes of data are more than {megabytes} MB. Send to at most {fitting} recipients at a time, or send less data. Large values that need not be kept with the contacts can be sent as {{value, persistent: false}}.",
        stored + values
    );
    Err(Error::Invalid(vec![Issue::new("data", "too_big", message)]))
}

/// Refuses a request whose messages are too much together, as far as that can be told before they are rendered.
fn bounded_output(recipients: usize, body: usize, files: &[Bytes]) -> Result<()> {
    let message = body + files.iter().map(|file| file.content.len()).sum::<usize>();
    if recipients * message <= MAX_SENT {
        return Ok(());
    }
    let (megabytes, fitting) = (MAX_SENT / 1024 / 1024, (MAX_SENT / message).max(1));
    let message = format!(
        "{recipients} recipients times {message} bytes of body and attachments are more than {megabytes} MB. Send to at most {fitting} recipients at a time, or send less."
    );
    Err(Error::Invalid(vec![Issue::new("to", "too_big", message)]))
}

/// How many bytes values and loops may add to each mail of a request to so many recipients; `None` where the bound that
/// every mail has is enough. Requests to nearly as many share one number, so that they share their content as well.
fn room_of_each(recipients: usize) -> Option<usize> {
    let room = MAX_GROWN / recipients.max(1).next_power_of_two();
    (room < MAX_OUTPUT).then_some(room)
}

/// A mail's row has the reply address; a name for it goes the way of the headers, unless the request has one of its own
/// there.
fn add_reply_name(headers: &mut Vec<(String, String)>, to: Option<&EmailAddress>, name: Option<String>) {
    let is_own = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("Reply-To"));
    if let (Some(address), Some(name), false) = (to, name, is_own) {
        let mailbox = Mailbox { name: Some(name), address: address.to_string() };
        headers.push(("Reply-To".to_owned(), mailbox.to_text()));
    }
}

pub(crate) async fn run(tx: &mut Tx<'_>, operations: &[Operation]) -> mailwright_store::Result<Vec<Outcome>> {
    let mut senders: Vec<_> = operations.iter().map(|o| (o.project, o.from.domain())).collect();
    senders.sort_unstable();
    senders.dedup();
    let mut recipients: Vec<(ProjectNumber, &EmailAddress)> = Vec::new();
    for operation in operations {
        recipients.extend(operation.recipients.iter().map(|(r, _)| (operation.project, &r.email)));
    }
    let mut wanted = Wanted::default();
    for operation in operations {
        wanted.fields(operation.project, operation.names.iter().map(String::as_str));
    }
    let found = join(Contacts::load_within(tx, recipients.into_iter(), MAX_LOADED), Names::load(tx, &wanted));
    let (stale, holders, domains, (contacts, names)) = join4(
        recheck(tx, operations.iter().map(|o| (o.key, o.project)).collect()),
        claim_all(tx, operations, |o| o.claim.as_ref()),
        domain::may_send(tx, &senders, operations.iter().any(|o| o.leaves)),
        found,
    )
    .await;
    let (stale, holders, domains, mut contacts, mut names) = (stale?, holders?, domains?, contacts?, names?);
    let mut out = Accepting::default();
    let mut outcomes = Vec::with_capacity(operations.len());
    for ((operation, stale), holder) in operations.iter().zip(stale).zip(holders) {
        let outcome = match (stale, holder) {
            (_, Some(used)) => Err(Refusal::Used(used)),
            (Some(stale), None) => Err(Refusal::Stale(stale)),
            (None, None) => check(operation, &domains, &contacts)
                .and_then(|()| fit(operation, &contacts, &mut names).map_err(Refusal::Excess))
                .map(|()| out.accept(operation, &mut contacts)),
        };
        let refused = matches!(&outcome, Err(refusal) if !matches!(refusal, Refusal::Used(_)));
        if let (true, Some(claim)) = (refused, &operation.claim) {
            // refused: the key stays free for a corrected request
            idempotency::release(tx, claim.project, &claim.key).await?;
        }
        outcomes.push(outcome);
    }
    out.save(tx, operations, contacts).await?;
    Ok(outcomes)
}

/// Everything that can refuse a send is looked at before anything of it is written.
fn check(
    operation: &Operation,
    domains: &HashMap<(ProjectNumber, String), bool>,
    contacts: &Contacts,
) -> std::result::Result<(), Refusal> {
    match domains.get(&(operation.project, operation.from.domain().to_owned())) {
        None => return Err(Refusal::DomainUnknown),
        Some(false) => return Err(Refusal::DomainUnverified),
        Some(true) => {}
    }
    if operation.kind != TemplateType::Marketing {
        return Ok(());
    }
    for (recipient, _) in &operation.recipients {
        let subscribed = match contacts.get(operation.project, &recipient.email) {
            Some(contact) => operation.subscription.for_existing(contact.subscribed),
            None => operation.subscription.for_new(),
        };
        if !subscribed {
            return Err(Refusal::Unsubscribed(recipient.email.clone()));
        }
    }
    Ok(())
}

/// Whether contacts and project can hold what an operation brings, and its mails what they keep of their contacts.
fn fit(operation: &Operation, contacts: &Contacts, names: &mut Names) -> std::result::Result<(), Excess> {
    let mut kept = 0;
    for (recipient, patch) in &operation.recipients {
        contacts.check(operation.project, &recipient.email, patch)?;
        let known = contacts.get(operation.project, &recipient.email);
        kept += known.map_or(0, |contact| operation.prepared.kept_bytes(contact));
        if kept > MAX_VARIABLES {
            return Err(Excess::Variables);
        }
    }
    names.take(operation.project, operation.names.iter().map(String::as_str), None, operation.at)
}

/// What the accepted operations of a group write.
#[derive(Default)]
struct Accepting<'o> {
    contents: HashMap<(ProjectNumber, [u8; 32]), &'o Operation>,
    emails: Vec<NewEmail>,
    events: Vec<NewEvent>,
}

impl<'o> Accepting<'o> {
    fn accept(&mut self, operation: &'o Operation, contacts: &mut Contacts) -> Vec<Accepted> {
        self.contents.insert((operation.project, operation.content.hash), operation);
        operation.recipients.iter().map(|(r, patch)| self.accept_one(operation, r, patch, contacts)).collect()
    }

    fn accept_one(
        &mut self,
        operation: &Operation,
        recipient: &Recipient,
        patch: &DataPatch,
        contacts: &mut Contacts,
    ) -> Accepted {
        let upsert = Upsert {
            project: operation.project,
            email: &recipient.email,
            subscription: operation.subscription,
            patch,
        };
        let upserted = contacts.upsert(upsert, operation.at);
        let contact = upserted.contact.id;
        if let Some(subscribed) = upserted.flip {
            self.events.push(NewEvent::bare(
                operation.project,
                subscription_event(subscribed),
                contact,
                operation.at,
            ));
        }
        let id = EmailId::new(operation.at, rand::random());
        self.emails.push(NewEmail {
            project: operation.project,
            id,
            contact,
            recipient: recipient.email.clone(),
            recipient_name: recipient.name.clone().filter(|name| !name.is_empty()),
            from: operation.from.clone(),
            from_name: operation.from_name.clone(),
            reply_to: operation.reply_to.clone(),
            subject: operation.content.subject.clone(),
            content_hash: operation.content.hash,
            variables: json_text(&operation.prepared.variables(&upserted.contact, &patch.request)),
            source: EmailSource::Transactional,
            kind: operation.kind,
            lane: Lane::Transactional,
            template: operation.template,
            message_id: format!("{id}@{}", operation.from.domain()),
            at: operation.at,
        });
        Accepted { contact, address: recipient.email.clone(), email: id }
    }

    async fn save(
        self,
        tx: &Tx<'_>,
        operations: &[Operation],
        contacts: Contacts,
    ) -> mailwright_store::Result<()> {
        let Some(now) = operations.iter().map(|o| o.at).max() else { return Ok(()) };
        let mut sorted: Vec<_> = self.contents.into_iter().collect();
        // rows are written in one order everywhere, so that two groups cannot wait for each other
        sorted.sort_unstable_by_key(|(key, _)| *key);
        let contents: Vec<_> = sorted.iter().map(|((project, _), o)| (*project, &o.content)).collect();
        let contents = content::save(tx, &contents, now);
        let mut files: Vec<_> =
            sorted.iter().flat_map(|((project, _), o)| o.files.iter().map(|file| (*project, file))).collect();
        files.sort_unstable_by_key(|(project, file)| (*project, file.hash));
        files.dedup_by_key(|(project, file)| (*project, file.hash));
        let files = content::save_attachments(tx, &files, now);
        let mut deltas = Deltas::default();
        let contacts = contacts.save(tx, &mut deltas);
        let emails = email::enqueue(tx, &self.emails, &mut deltas);
        let events = event::append(tx, &self.events, &mut deltas);
        let what = join3(contents, files, contacts);
        let ((contents, files, contacts), (emails, events, counted)) =
            join(what, join3(emails, events, deltas.save(tx))).await;
        contents.and(files).and(contacts).and(emails).and(events).and(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mails_of_a_request_share_what_they_may_grow_by() {
        let kb = 1024;
        for (recipients, room) in [
            (0, None),
            (1, None),
            (256, None),
            (257, Some(512 * kb)),
            (512, Some(512 * kb)),
            (513, Some(256 * kb)),
            (1000, Some(256 * kb)),
        ] {
            assert_eq!(room_of_each(recipients), room, "{recipients}");
            assert!(recipients * room.unwrap_or(MAX_OUTPUT) <= MAX_GROWN);
        }
    }
}
