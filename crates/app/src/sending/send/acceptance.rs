//! The transaction of a group of operations: it accepts all recipients of an operation or none.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use futures_util::future::{join, join3, join4, try_join_all};
use mailwright_core::address::EmailAddress;
use mailwright_core::billing::Category;
use mailwright_core::consent::Evidence;
use mailwright_core::custom_data::DataPatch;
use mailwright_core::email::EmailSource;
use mailwright_core::excess::{Excess, MAX_LOADED, MAX_VARIABLES};
use mailwright_core::ids::{ContactId, EmailId, ProjectNumber, TopicId};
use mailwright_core::month::Month;
use mailwright_core::template::TemplateType;
use mailwright_store::audience::contact::{Contacts, Upsert};
use mailwright_store::audience::event::{self, NewEvent};
use mailwright_store::audience::names::{Names, Wanted};
use mailwright_store::audience::suppression::Look;
use mailwright_store::audience::topic;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::project::billing::allowance::Allowances;
use mailwright_store::sending::content::{self, Bytes};
use mailwright_store::sending::domain;
use mailwright_store::sending::email::{self, NewEmail};
use mailwright_store::sending::idempotency::{self, Used};
use mailwright_store::{Tx, json_text};

use super::operation::Operation;
use super::request::{Accepted, Recipient, WAY};
use crate::project::key::{Stale, recheck};
use crate::sending::idempotency::claim_all;

#[derive(Debug)]
pub(crate) enum Refusal {
    Stale(Stale),
    Used(Used),
    DomainUnknown,
    DomainUnverified,
    Unsubscribed(EmailAddress),
    NotInTopic(EmailAddress),
    Excess(Excess),
    /// The project may not have so many more mails in this month.
    Limit(Category),
}

pub(crate) type Outcome = std::result::Result<Vec<Accepted>, Refusal>;

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
    let (claimed, mut allowances) = claim_and_hold(tx, operations).await?;
    let holders = async {
        match claimed {
            Some(holders) => Ok(holders),
            None => claim_all(tx, operations, |o| o.claim.as_ref()).await,
        }
    };
    let found = join(Contacts::load_within(tx, recipients.into_iter(), MAX_LOADED), Names::load(tx, &wanted));
    let ((callers, holders, domains, (contacts, names)), looks) = join(
        join4(
            recheck(tx, operations.iter().map(|o| (o.key, o.project)).collect()),
            holders,
            domain::may_send(tx, &senders, operations.iter().any(|o| o.leaves)),
            found,
        ),
        look(tx, operations),
    )
    .await;
    let (callers, holders, domains, mut contacts, mut names) =
        (callers?, holders?, domains?, contacts?, names?);
    let topics = topics(tx, operations, &contacts).await?;
    let mut out = Accepting { looks: looks?, ..Accepting::default() };
    let mut outcomes = Vec::with_capacity(operations.len());
    for ((operation, caller), holder) in operations.iter().zip(callers).zip(holders) {
        let known = caller.as_ref().ok().and_then(|caller| caller.double_opt_in);
        let double_opt_in = known.unwrap_or(operation.double_opt_in);
        let asked = Evidence::by(WAY).asks(double_opt_in);
        let outcome = match (caller, holder) {
            (_, Some(used)) => Err(Refusal::Used(used)),
            (Err(stale), None) => Err(Refusal::Stale(stale)),
            (Ok(_), None) => check(operation, asked, &domains, &contacts, &topics)
                .and_then(|()| fit(operation, &contacts, &mut names).map_err(Refusal::Excess))
                .and_then(|()| operation.take_from(&mut allowances))
                .map(|()| {
                    let (accepted, held_back) = out.accept(operation, double_opt_in, &mut contacts);
                    allowances.give_back(operation.project, operation.category(), operation.at, held_back);
                    accepted
                }),
        };
        let refused = matches!(&outcome, Err(refusal) if !matches!(refusal, Refusal::Used(_)));
        if let (true, Some(claim)) = (refused, &operation.claim) {
            // refused: the key stays free for a corrected request
            idempotency::release(tx, claim.project, &claim.key).await?;
        }
        outcomes.push(outcome);
    }
    let now = operations.iter().map(|o| o.at).max().unwrap_or_default();
    allowances.save(tx, now).await?;
    out.save(tx, operations, contacts).await?;
    Ok(outcomes)
}

/// Claims the idempotency keys of a group of operations, and then holds the accounts of projects that have a limit on their
/// mails. Where billing is not configured, nothing is done: the claims go out together with what is read then.
async fn claim_and_hold(
    tx: &Tx<'_>,
    operations: &[Operation],
) -> mailwright_store::Result<(Option<Vec<Option<Used>>>, Allowances)> {
    let Some(free) = operations.iter().find_map(|operation| operation.free) else {
        return Ok((None, Allowances::default()));
    };
    let holders = claim_all(tx, operations, |o| o.claim.as_ref()).await?;
    let mut wanted: BTreeMap<ProjectNumber, BTreeSet<Month>> = BTreeMap::new();
    for operation in operations {
        wanted.entry(operation.project).or_default().insert(Month::of(operation.at));
    }
    let now = operations.iter().map(|o| o.at).max().unwrap_or_default();
    Ok((Some(holders), Allowances::hold(tx, Some(free), wanted, now).await?))
}

impl Operation {
    /// What its mails count for.
    pub(super) fn category(&self) -> Category {
        Category::of(EmailSource::Transactional, self.kind)
    }

    fn take_from(&self, allowances: &mut Allowances) -> std::result::Result<(), Refusal> {
        let mails = self.recipients.len() as i64;
        if allowances.take(self.project, self.category(), self.at, mails) {
            return Ok(());
        }
        Err(Refusal::Limit(self.category()))
    }
}

/// Everything that can refuse a send is looked at before anything of it is written.
fn check(
    operation: &Operation,
    asked: bool,
    domains: &HashMap<(ProjectNumber, String), bool>,
    contacts: &Contacts,
    topics: &Topics,
) -> std::result::Result<(), Refusal> {
    match domains.get(&(operation.project, operation.from.domain().to_owned())) {
        None => return Err(Refusal::DomainUnknown),
        Some(false) => return Err(Refusal::DomainUnverified),
        Some(true) => {}
    }
    if operation.kind != TemplateType::Marketing {
        return Ok(());
    }
    let topic = operation.topic.and_then(|topic| topics.get(&(operation.project, topic)));
    for (recipient, _) in &operation.recipients {
        let contact = contacts.get(operation.project, &recipient.email);
        let subscribed = match contact {
            // who is asked to confirm is not subscribed by that
            Some(contact) if asked && !contact.subscribed => false,
            Some(contact) => operation.subscription.for_existing(contact.subscribed),
            None => operation.subscription.for_new() && !asked,
        };
        if !subscribed {
            return Err(Refusal::Unsubscribed(recipient.email.clone()));
        }
        let is_outside = |(default, outside): &(bool, BTreeSet<ContactId>)| {
            contact.map_or(!default, |contact| outside.contains(&contact.id))
        };
        if topic.is_some_and(is_outside) {
            return Err(Refusal::NotInTopic(recipient.email.clone()));
        }
    }
    Ok(())
}

/// The topics of a group of operations: whether who has not chosen is in it, and which of the recipients are not.
type Topics = HashMap<(ProjectNumber, TopicId), (bool, BTreeSet<ContactId>)>;

async fn topics(
    tx: &Tx<'_>,
    operations: &[Operation],
    contacts: &Contacts,
) -> mailwright_store::Result<Topics> {
    let mut wanted: BTreeMap<(ProjectNumber, TopicId), Vec<ContactId>> = BTreeMap::new();
    for operation in operations.iter().filter(|operation| operation.kind == TemplateType::Marketing) {
        let Some(topic) = operation.topic else { continue };
        let known = operation.recipients.iter().filter_map(|(recipient, _)| {
            contacts.get(operation.project, &recipient.email).map(|contact| contact.id)
        });
        wanted.entry((operation.project, topic)).or_default().extend(known);
    }
    let mut topics = Topics::new();
    for ((project, id), contacts) in wanted {
        // the topic of a template that was read a moment ago may be gone by now
        if let Some(found) = topic::get(tx, project, id).await? {
            let outside = topic::outside(tx, project, &found, &contacts).await?;
            topics.insert((project, id), (found.default_subscribed, outside));
        }
    }
    Ok(topics)
}

/// Whether an operation stays within the limits of its contacts, its project, and the values that its mails keep.
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

/// A content that operations of a group store.
struct Stored<'o> {
    /// The first of them.
    operation: &'o Operation,
    /// The contact that all of them send it to, if that is one.
    sole: Option<ContactId>,
}

/// The rows that the accepted operations of a group write.
#[derive(Default)]
struct Accepting<'o> {
    contents: HashMap<(ProjectNumber, [u8; 32]), Stored<'o>>,
    emails: Vec<NewEmail>,
    events: Vec<NewEvent>,
    /// What holds back mail of each project.
    looks: HashMap<ProjectNumber, Look>,
    /// Those that subscribed again in this transaction.
    subscribed: HashSet<ContactId>,
}

/// What holds back mail to the recipients, by project.
async fn look(
    tx: &Tx<'_>,
    operations: &[Operation],
) -> mailwright_store::Result<HashMap<ProjectNumber, Look>> {
    let mut addresses: BTreeMap<ProjectNumber, BTreeSet<&EmailAddress>> = BTreeMap::new();
    for operation in operations {
        let of_project = addresses.entry(operation.project).or_default();
        of_project.extend(operation.recipients.iter().map(|(recipient, _)| &recipient.email));
    }
    let now = operations.iter().map(|o| o.at).max().unwrap_or_default();
    let looks = addresses.iter().map(|(project, emails)| Look::at(tx, *project, emails, now));
    let looks = try_join_all(looks).await?;
    Ok(addresses.into_keys().zip(looks).collect())
}

impl<'o> Accepting<'o> {
    /// Accepts an operation. Returns also how many of its mails are held back.
    fn accept(
        &mut self,
        operation: &'o Operation,
        double_opt_in: bool,
        contacts: &mut Contacts,
    ) -> (Vec<Accepted>, i64) {
        let (recipients, before) = (operation.recipients.iter(), self.emails.len());
        let accepted: Vec<_> = recipients
            .map(|(r, patch)| self.accept_one(operation, double_opt_in, r, patch, contacts))
            .collect();
        let sole = accepted.first().map(|first| first.contact);
        let sole = sole.filter(|sole| accepted.iter().all(|one| one.contact == *sole));
        let key = (operation.project, operation.content.hash);
        let stored = self.contents.entry(key).or_insert(Stored { operation, sole });
        if stored.sole != sole {
            stored.sole = None;
        }
        let held_back = self.emails[before..].iter().filter(|mail| mail.suppression.is_some()).count();
        (accepted, held_back as i64)
    }

    fn accept_one(
        &mut self,
        operation: &Operation,
        double_opt_in: bool,
        recipient: &Recipient,
        patch: &DataPatch,
        contacts: &mut Contacts,
    ) -> Accepted {
        let upsert = Upsert {
            project: operation.project,
            email: &recipient.email,
            subscription: operation.subscription,
            patch,
            evidence: Evidence::by(WAY),
            double_opt_in,
        };
        let upserted = contacts.upsert(upsert, operation.at);
        let contact = upserted.contact.id;
        if let Some(subscribed) = upserted.flip {
            if subscribed {
                self.subscribed.insert(contact);
            }
            let evidence = Evidence::by(WAY);
            self.events.push(NewEvent::flip(operation.project, contact, subscribed, evidence, operation.at));
        }
        let has_subscribed = self.subscribed.contains(&contact);
        let look = self.looks.get(&operation.project);
        let suppression = look.and_then(|look| look.find(&recipient.email, operation.kind, has_subscribed));
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
            lane: operation.lane,
            template: operation.template,
            topic: operation.topic,
            step: None,
            has_attachments: !operation.files.is_empty(),
            message_id: format!("{id}@{}", operation.from.domain()),
            suppression,
            is_held: false,
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
        let contents: Vec<_> =
            sorted.iter().map(|((project, _), stored)| (*project, &stored.operation.content)).collect();
        let soles: Vec<_> = sorted.iter().map(|(_, stored)| stored.sole).collect();
        let contents = content::save_of(tx, &contents, &soles, now);
        let (files, holders) = files(&sorted);
        let files = content::save_attachments(tx, &files, &holders, now);
        let mut deltas = Deltas::default();
        let contacts = contacts.save(tx, &mut deltas);
        let emails = email::enqueue(tx, &self.emails, &mut deltas);
        let events = event::append(tx, &self.events, &mut deltas);
        let what = join3(contents, files, contacts);
        let ((contents, files, contacts), (emails, events, heard)) =
            join(what, join3(emails, events, deltas.write(tx))).await;
        contents.and(files).and(contacts).and(emails).and(events)?;
        heard?.tell(tx).await
    }
}

/// What is attached to contents, each file once, and the contact that all of its contents are sent to, if that is one.
fn files<'o>(
    contents: &[((ProjectNumber, [u8; 32]), Stored<'o>)],
) -> (Vec<(ProjectNumber, &'o Bytes)>, Vec<Option<ContactId>>) {
    let mut files = BTreeMap::new();
    for ((project, _), stored) in contents {
        for file in &stored.operation.files {
            let (_, sole) = files.entry((*project, file.hash)).or_insert((file, stored.sole));
            if *sole != stored.sole {
                *sole = None;
            }
        }
    }
    files.into_iter().map(|((project, _), (file, sole))| ((project, file), sole)).unzip()
}
