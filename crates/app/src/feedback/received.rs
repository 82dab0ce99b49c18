//! Mail that comes in for sender domains, by SMTP or by a notification of Amazon SES (reference 4.1).
//!
//! Every project that has the domain gets the mail of its own, one row for each recipient, with the event
//! `email.received`. Its sender becomes a contact, but not when a machine wrote it, and nobody is subscribed again by
//! writing. The address of a sender is only proved where DMARC passed: otherwise anybody may have written it, and a new
//! contact is not subscribed.
//!
//! A message is stored once by its hash, and a recipient gets the same message once for as long as it is kept, so whoever
//! brings a message may bring it again.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join;
use mailwright_core::address::{DomainName, EmailAddress};
use mailwright_core::billing::Category;
use mailwright_core::consent::{ConsentWay, Evidence};
use mailwright_core::contact::Subscription;
use mailwright_core::custom_data::DataPatch;
use mailwright_core::event::EMAIL_RECEIVED;
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;
use mailwright_mail::received::Received;
use mailwright_mail::sns::{Verdict, Verdicts};
use mailwright_store::audience::contact::{Contacts, Upsert};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::feedback::inbound::{self, Inbound, Volume};
use mailwright_store::feedback::origin;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::project;
use mailwright_store::project::billing::allowance::{self, Allowances};
use mailwright_store::sending::domain;
use mailwright_store::{Result as StoreResult, Tx, body};
use serde_json::{Value, json};

use crate::App;
use crate::error::{Error, Result};
use crate::project::billing::refusal::limit_reached;

/// Most message ids that a mail answers that are looked for.
const MOST_ANSWERED: usize = 8;
/// Most bytes of a body in the event that tells of a mail. The mail itself has all of it.
const MAX_EVENT_BODY: usize = 32 * 1024;

/// How a message comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// To our own listener: only for domains whose MX record points to it.
    Smtp,
    /// Told by a provider that takes the mail of the domain.
    Provider,
}

/// A project that gets a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Receiver {
    project: ProjectNumber,
    /// Whether it takes more mails today.
    pub(super) has_room: bool,
}

/// A recipient as its project sees it.
#[derive(Debug, Clone)]
pub(super) struct Addressee {
    /// The address, without what names a mail.
    address: String,
    /// The mail that the address named.
    answers: Option<EmailId>,
}

/// A message that came in.
#[derive(Debug)]
pub(super) struct Message {
    /// The message, if it was brought.
    pub(super) raw: Option<Vec<u8>>,
    /// Its SHA-256, or that of what its source calls it.
    pub(super) hash: [u8; 32],
    pub(super) mail: Received,
    pub(super) verdicts: Verdicts,
    /// Whether a machine wrote it, or it goes round in circles.
    pub(super) is_automatic: bool,
    /// The ids that it names as those of what it answers.
    pub(super) answers: Vec<String>,
    pub(super) processing_millis: u64,
}

/// What became of a message for a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Taken {
    /// The project takes no more mails today, or in this month.
    Full,
    /// All its recipients had it.
    Known,
    /// It is stored.
    Stored,
}

impl App {
    /// The projects that get mail for a domain.
    pub(super) async fn receivers(&self, domain: &str, way: Way) -> Result<Vec<Receiver>> {
        let Some(name) = DomainName::parse(domain) else { return Ok(Vec::new()) };
        let (leaves, now, per_day) =
            (self.mail_leaves(), self.clock().now(), self.settings().inbound.per_day);
        let free = self.free_allowance();
        let has_record = way == Way::Smtp && !self.takes_unproven_mail();
        let found = self.read(body!(async |rx| {
            let mut found = Vec::new();
            for project in origin::receivers(rx, name.as_str(), has_record).await? {
                let domain = domain::by_name(rx, project, &name).await?;
                if domain.is_some_and(|domain| domain.may_send(leaves)) {
                    let taken = inbound::taken(rx, project, now).await?;
                    let has_room = taken.mails < per_day.mails
                        && taken.bytes < per_day.bytes
                        && allowance::room_now(rx, free, project, Category::Inbound, now).await? != Some(0);
                    found.push(Receiver { project, has_room });
                }
            }
            Ok(found)
        }));
        found.await
    }

    /// The recipients of a message by their project, given as local part and domain.
    pub(super) async fn addressees(
        &self,
        recipients: &[(&str, &str)],
        way: Way,
    ) -> Result<BTreeMap<ProjectNumber, Vec<Addressee>>> {
        let mut found: BTreeMap<ProjectNumber, Vec<Addressee>> = BTreeMap::new();
        for (local, domain) in recipients {
            let named = self.0.feedback.replies.untagged(local);
            let local = named.map_or(*local, |(local, ..)| local);
            let address = format!("{local}@{}", domain.to_ascii_lowercase());
            for Receiver { project, .. } in self.receivers(domain, way).await? {
                let answers = named.and_then(|(_, of, mail)| (of == project).then_some(mail));
                let addressees = found.entry(project).or_default();
                match addressees.iter_mut().find(|known| known.address == address) {
                    Some(known) => known.answers = known.answers.or(answers),
                    None => addressees.push(Addressee { address: address.clone(), answers }),
                }
            }
        }
        Ok(found)
    }

    /// Stores a message for the recipients of a project.
    pub(super) async fn take_received(
        &self,
        project: ProjectNumber,
        message: &Arc<Message>,
        addressees: Vec<Addressee>,
    ) -> Result<Taken> {
        let (now, settings) = (self.clock().now(), &self.settings().inbound);
        let (since, per_day, message) = (now.minus(settings.keep), settings.per_day, Arc::clone(message));
        let free = self.free_allowance();
        let taken = self.write(body!(async |tx| {
            let mut allowances = Allowances::of_project(tx, free, project, now).await?;
            if let Some(raw) = &message.raw {
                inbound::keep_raw(tx, project, &message.hash, raw, now).await?;
            }
            let known = inbound::recipients_of(tx, project, &message.hash, since).await?;
            let new: Vec<_> = addressees.iter().filter(|new| !known.contains(&new.address)).collect();
            if new.is_empty() {
                return Ok(Taken::Known);
            }
            if !allowances.take(project, Category::Inbound, now, new.len() as i64) {
                return Err(limit_reached(Category::Inbound, now));
            }
            let taken = inbound::count_taken(tx, project, message.volume(new.len()), now).await?;
            if taken.mails > per_day.mails || taken.bytes > per_day.bytes {
                return Err(Error::QueueFull("The project takes no more mails today.".into()));
            }
            let (text, html) = (message.mail.text.as_deref(), message.mail.html.as_deref());
            inbound::keep_contents(tx, project, &message.hash, text, html).await?;
            store(tx, project, &message, &new, now).await?;
            allowances.save(tx, now).await?;
            Ok(Taken::Stored)
        }));
        match taken.await {
            Ok(taken) => {
                self.wake_workflows();
                Ok(taken)
            }
            Err(Error::QueueFull(_)) => Ok(Taken::Full),
            Err(Error::LimitReached(_)) => {
                self.tell_of_refusal(project).await?;
                Ok(Taken::Full)
            }
            Err(error) => Err(error),
        }
    }
}

/// Stores a message for some recipients that have not got it, with what follows from it.
async fn store(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    message: &Message,
    new: &[&Addressee],
    now: Timestamp,
) -> StoreResult<()> {
    let mut deltas = Deltas::default();
    let contact = sender(tx, project, message, now, &mut deltas).await?;
    let answered = answered(tx, project, message).await?;
    // a mail of the project that comes back to it starts nothing: it would come back again
    let is_own = match message.mail.message_id.as_deref().and_then(mail_of) {
        Some(id) => origin::has_mail(tx, project, id).await?,
        None => false,
    };
    let recipients: Vec<&str> = new.iter().map(|addressee| addressee.address.as_str()).collect();
    let mut events = Vec::new();
    for addressee in new {
        let in_reply_to = match addressee.answers {
            Some(mail) if origin::has_mail(tx, project, mail).await? => Some(mail),
            _ => answered,
        };
        let mail = row(message, addressee, &recipients, (contact, in_reply_to), now);
        inbound::add(tx, project, &mail, &mut deltas).await?;
        if is_own {
            continue;
        }
        let data = event_data(message, &mail);
        match contact {
            Some(contact) => events.push(NewEvent {
                email: Some(mail.id),
                data: Some(data.to_string()),
                ..NewEvent::bare(project, EMAIL_RECEIVED, contact, now)
            }),
            None => {
                inbound::append_event(tx, project, EMAIL_RECEIVED, (mail.id, &data), now, &mut deltas)
                    .await?;
            }
        }
    }
    let appended = event::append(tx, &events, &mut deltas);
    let (appended, heard) = join(appended, deltas.write(tx)).await;
    appended?;
    heard?.tell(tx).await
}

/// The contact who wrote a message. A person becomes one, a machine does not. Whoever is one stays as subscribed as before.
async fn sender(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    message: &Message,
    now: Timestamp,
    deltas: &mut Deltas,
) -> StoreResult<Option<ContactId>> {
    let Some(address) = message.mail.from.as_deref().and_then(EmailAddress::parse) else { return Ok(None) };
    let mut contacts = Contacts::load(tx, std::iter::once((project, &address))).await?;
    // who is kept out of the project writes to it as nobody
    if message.is_automatic || contacts.is_kept_out(project, &address) {
        return Ok(contacts.get(project, &address).map(|contact| contact.id));
    }
    let subscription =
        Subscription { given: None, default_for_new: message.is_proven(), preserve_existing: true };
    let (none, evidence) = (DataPatch::default(), Evidence::by(ConsentWay::Inbound));
    let double_opt_in = project::get(tx, project).await?.is_some_and(|found| found.double_opt_in);
    let upsert = Upsert { project, email: &address, subscription, patch: &none, evidence, double_opt_in };
    let contact = contacts.upsert(upsert, now).contact.id;
    contacts.save(tx, deltas).await?;
    Ok(Some(contact))
}

/// The mail that a `Message-ID` names, if it is one of ours.
fn mail_of(id: &str) -> Option<EmailId> {
    id.rsplit_once('@')?.0.parse().ok()
}

/// The mail of the project that a message answers.
async fn answered(tx: &Tx<'_>, project: ProjectNumber, message: &Message) -> StoreResult<Option<EmailId>> {
    let ids = message.answers.iter().filter_map(|id| mail_of(id));
    for id in ids.take(MOST_ANSWERED) {
        if origin::has_mail(tx, project, id).await? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

fn row(
    message: &Message,
    addressee: &Addressee,
    recipients: &[&str],
    (contact, in_reply_to): (Option<ContactId>, Option<EmailId>),
    at: Timestamp,
) -> Inbound {
    let mail = &message.mail;
    let attachments = mail.attachments.iter().map(|file| {
        json!({
            "filename": file.filename, "contentType": file.content_type, "size": file.size,
            "contentId": file.content_id, "isInline": file.is_inline,
        })
    });
    Inbound {
        id: EmailId::new(at, rand::random()),
        contact,
        recipient: addressee.address.clone(),
        recipients: json!(recipients),
        from: mail.from.clone().unwrap_or_default(),
        from_name: mail.from_name.clone(),
        from_header: mail.from_header.clone(),
        subject: mail.subject.clone(),
        message_id: mail.message_id.clone().unwrap_or_default(),
        in_reply_to,
        is_automatic: message.is_automatic,
        attachments: attachments.collect(),
        verdicts: message.verdicts(),
        raw_hash: message.hash.to_vec(),
        size: message.raw.as_ref().map_or(0, Vec::len) as i64,
        at,
    }
}

/// What the event says (reference 6.1), and beside it what a client needs to find the mail and to judge its sender.
fn event_data(message: &Message, mail: &Inbound) -> Value {
    let mut data = json!({
        "messageId": mail.message_id,
        "from": mail.from,
        "fromHeader": mail.from_header,
        "to": mail.recipient,
        "subject": mail.subject,
        "timestamp": mail.at.to_string(),
        "recipients": mail.recipients,
        "hasContent": message.raw.is_some(),
        "body": message.event_body(),
        "processingTimeMillis": message.processing_millis,
        "emailId": mail.id,
        "inReplyTo": mail.in_reply_to,
        "isAutomatic": mail.is_automatic,
        "isSenderVerified": message.is_proven(),
        "attachmentCount": message.mail.attachments.len(),
    });
    if let (Value::Object(data), Value::Object(verdicts)) = (&mut data, message.verdicts()) {
        data.extend(verdicts);
    }
    data
}

impl Message {
    /// Whether the domain of its sender vouches for it.
    fn is_proven(&self) -> bool {
        self.verdicts.dmarc == Some(Verdict::Pass) && self.mail.has_one_author
    }

    /// What comes in when so many recipients get it. Each of them has an event of its own.
    fn volume(&self, recipients: usize) -> Volume {
        let raw = self.raw.as_ref().map_or(0, Vec::len);
        let told = self.event_body().map_or(0, str::len);
        Volume { mails: recipients as i64, bytes: (raw + told * recipients) as i64 }
    }

    fn event_body(&self) -> Option<&str> {
        let body = self.mail.html.as_deref().or(self.mail.text.as_deref())?;
        Some(&body[..body.floor_char_boundary(MAX_EVENT_BODY)])
    }

    fn verdicts(&self) -> Value {
        let name = |verdict: Option<Verdict>| verdict.map(Verdict::as_str);
        let Verdicts { spam, virus, spf, dkim, dmarc } = self.verdicts;
        json!({
            "spamVerdict": name(spam), "virusVerdict": name(virus), "spfVerdict": name(spf),
            "dkimVerdict": name(dkim), "dmarcVerdict": name(dmarc),
        })
    }
}
