//! The evidence of contacts' consent. Entries are appended in the transaction that makes the change, and are never
//! changed; of a contact with very many, the oldest go.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::consent::{ConsentChange, ConsentWay, Evidence, MAX_ENTRIES};
use mailwright_core::ids::{ConsentId, ContactId, EmailId, ProjectNumber, TopicId};
use mailwright_core::locale::Locale;
use mailwright_core::time::Timestamp;

use crate::args;
use crate::audience::confirmation;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;

/// A change of a contact's consent.
#[derive(Debug, Clone)]
pub struct NewConsent {
    /// Project.
    pub project: ProjectNumber,
    /// The contact.
    pub contact: ContactId,
    /// What changed.
    pub what: ConsentChange,
    /// The topic, and its name; `None` for the subscription as a whole.
    pub topic: Option<(TopicId, String)>,
    /// How that is known.
    pub evidence: Evidence,
    /// When.
    pub at: Timestamp,
}

/// What a transaction changes of the subscriptions of contacts, to be written with it.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    entries: Vec<NewConsent>,
    /// Contacts that existed before and whose subscription flipped: no request to confirm is left of them.
    settled: BTreeSet<(ProjectNumber, ContactId)>,
    /// Contacts that are asked to confirm; of several requests the first counts.
    asked: BTreeMap<(ProjectNumber, ContactId), (Evidence, Timestamp)>,
}

impl Changes {
    /// Notes that a subscription began or ended. A contact that is new and not subscribed consented to nothing.
    pub(crate) fn flip(
        &mut self,
        (project, contact): (ProjectNumber, ContactId),
        subscribed: bool,
        is_new: bool,
        evidence: Evidence,
        at: Timestamp,
    ) {
        if is_new && !subscribed {
            return;
        }
        if !is_new {
            self.settled.insert((project, contact));
        }
        let what = evidence.of_flip(subscribed);
        self.entries.push(NewConsent { project, contact, what, topic: None, evidence, at });
    }

    /// Notes that a contact is asked to confirm its subscription.
    pub(crate) fn ask(
        &mut self,
        project: ProjectNumber,
        contact: ContactId,
        evidence: Evidence,
        at: Timestamp,
    ) {
        self.asked.entry((project, contact)).or_insert((evidence, at));
    }

    /// Writes it. Costs nothing where nothing changed.
    pub(crate) async fn save(mut self, tx: &Tx<'_>) -> Result<()> {
        if self.entries.is_empty() && self.asked.is_empty() {
            return Ok(());
        }
        confirmation::settle(tx, &self.settled).await?;
        let wanted: Vec<_> = self.asked.iter().map(|(who, (_, at))| (who.0, who.1, None, *at)).collect();
        let asked = confirmation::ask(tx, &wanted).await?;
        for ((project, contact), (evidence, at)) in self.asked {
            if asked.contains(&(contact, None)) {
                let what = ConsentChange::Requested;
                self.entries.push(NewConsent { project, contact, what, topic: None, evidence, at });
            }
        }
        record(tx, &self.entries).await
    }
}

/// Appends entries.
pub async fn record(tx: &Tx<'_>, entries: &[NewConsent]) -> Result<()> {
    fn texts<'a>(entries: &'a [NewConsent], text: impl Fn(&'a NewConsent) -> Option<&'a str>) -> Arg<'a> {
        Arg::Texts(entries.iter().map(|entry| text(entry).map(Into::into)).collect())
    }
    if entries.is_empty() {
        return Ok(());
    }
    let addresses: Vec<Option<String>> =
        entries.iter().map(|entry| entry.evidence.client.map(|address| address.to_string())).collect();
    tx.insert_each(
        "insert into consents (project_id, contact_id, id, what, way, topic_id, topic, email_id, language, address, \
         created_at) select r.project_id, r.contact_id, r.id, r.what, r.way, r.topic_id, r.topic, r.email_id, \
         r.language, r.address, r.created_at \
         from {rows r: project_id int, contact_id id, id id, what text, way text, topic_id id, topic text, \
         email_id id, language text, address text, created_at int}",
        &[
            Arg::Ints(entries.iter().map(|entry| Some(entry.project.0)).collect()),
            Arg::Ids(entries.iter().map(|entry| Some(entry.contact.into())).collect()),
            Arg::Ids(
                entries.iter().map(|entry| Some(ConsentId::new(entry.at, rand::random()).into())).collect(),
            ),
            texts(entries, |entry| Some(entry.what.as_str())),
            texts(entries, |entry| Some(entry.evidence.way.as_str())),
            Arg::Ids(entries.iter().map(|entry| entry.topic.as_ref().map(|(id, _)| (*id).into())).collect()),
            texts(entries, |entry| entry.topic.as_ref().map(|(_, name)| name.as_str())),
            Arg::Ids(entries.iter().map(|entry| entry.evidence.mail.map(Into::into)).collect()),
            texts(entries, |entry| entry.evidence.language.map(Locale::tag)),
            Arg::Texts(addresses.iter().map(|address| address.as_deref().map(Into::into)).collect()),
            Arg::Ints(entries.iter().map(|entry| Some(entry.at.0)).collect()),
        ],
    )
    .await?;
    trim(tx, entries).await
}

/// Notes that a person refuses whom somebody else had unsubscribed before: undoing that must not bring them back. A person
/// who refused already adds nothing. The caller holds the contact, which is not subscribed.
pub async fn refuse_again(
    tx: &Tx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    evidence: Evidence,
    at: Timestamp,
) -> Result<()> {
    let last = tx
        .optional(
            "select way from consents where project_id = $1 and contact_id = $2 and topic_id is null \
             order by id desc limit 1",
            args![project, contact],
            |r| r.named(0, "consents.way", ConsentWay::from_name),
        )
        .await?;
    if !last.is_some_and(ConsentWay::is_asked_about) {
        return Ok(());
    }
    let what = evidence.of_flip(false);
    record(tx, &[NewConsent { project, contact, what, topic: None, evidence, at }]).await
}

/// Removes the oldest entries of contacts that have too many.
async fn trim(tx: &Tx<'_>, entries: &[NewConsent]) -> Result<()> {
    let mut contacts: BTreeMap<ProjectNumber, BTreeSet<ContactId>> = BTreeMap::new();
    // one that is new has none besides
    let known = entries.iter().filter(|entry| entry.contact.instant() < entry.at);
    for entry in known {
        contacts.entry(entry.project).or_default().insert(entry.contact);
    }
    for (project, contacts) in contacts {
        tx.execute(
            "delete from consents where project_id = $1 and contact_id {in $2} and id in \
             (select n.id from (select id, row_number() over (partition by contact_id order by id desc) as place \
             from consents where project_id = $1 and contact_id {in $2}) n where n.place > $3)",
            &[
                project.into(),
                Arg::Ids(contacts.iter().map(|id| Some((*id).into())).collect()),
                MAX_ENTRIES.into(),
            ],
        )
        .await?;
    }
    Ok(())
}

/// A stored entry.
#[derive(Debug, Clone)]
pub struct Consent {
    /// Identifier.
    pub id: ConsentId,
    /// What changed.
    pub what: ConsentChange,
    /// The way by which it came.
    pub way: ConsentWay,
    /// The topic.
    pub topic: Option<TopicId>,
    /// The topic's name at the time.
    pub topic_name: Option<String>,
    /// The mail whose link was followed, or that bounced or was complained about.
    pub mail: Option<EmailId>,
    /// The language of the page.
    pub language: Option<String>,
    /// The address of the client.
    pub address: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// A page of the evidence of a contact, newest first.
pub async fn list(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contact: ContactId,
    after: Option<ConsentId>,
    limit: usize,
) -> Result<Vec<Consent>> {
    let mut args = vec![Arg::from(project), contact.into(), limit.into()];
    let mut beyond = String::new();
    if let Some(after) = after {
        args.push(after.into());
        beyond = " and id < $4".into();
    }
    rx.all(
        format!(
            "select id, what, way, topic_id, topic, email_id, language, address, created_at from consents \
             where project_id = $1 and contact_id = $2{beyond} order by id desc limit $3"
        ),
        &args,
        |r| {
            Ok(Consent {
                id: r.get(0)?,
                what: r.named(1, "consents.what", ConsentChange::from_name)?,
                way: r.named(2, "consents.way", ConsentWay::from_name)?,
                topic: r.get(3)?,
                topic_name: r.get(4)?,
                mail: r.get(5)?,
                language: r.get(6)?,
                address: r.get(7)?,
                at: r.get(8)?,
            })
        },
    )
    .await
}

/// How many entries of evidence a contact has.
pub async fn count(rx: &mut Rx<'_>, project: ProjectNumber, contact: ContactId) -> Result<i64> {
    rx.one(
        "select count(*) from consents where project_id = $1 and contact_id = $2",
        args![project, contact],
        |r| r.get(0),
    )
    .await
}

/// Removes what is kept of the consent of a contact that is removed. It is bounded.
pub(crate) async fn forget_contact(tx: &Tx<'_>, project: ProjectNumber, contact: ContactId) -> Result<()> {
    for sql in [
        "delete from consents where project_id = $1 and contact_id = $2",
        "delete from topic_choices where project_id = $1 and contact_id = $2",
        "delete from confirmations where project_id = $1 and contact_id = $2",
    ] {
        tx.execute(sql, args![project, contact]).await?;
    }
    Ok(())
}
