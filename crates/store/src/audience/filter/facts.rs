//! Loads the facts about a batch of contacts.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::contact::Contact;
use mailwright_core::filter::{Activity, Facts, References};
use mailwright_core::ids::{ContactId, EventId, ProjectNumber, SegmentId};
use mailwright_core::time::Timestamp;

use crate::audience::contact::record::{COLUMNS, read};
use crate::database::error::Result;
use crate::database::tx::Rx;
use crate::database::value::Arg;

/// The facts of one contact that the references of the filters name.
#[derive(Debug, Clone)]
pub struct FactsOf {
    contact: Contact,
    events: BTreeMap<String, Timestamp>,
    activities: BTreeMap<Activity, Timestamp>,
    segments: BTreeSet<SegmentId>,
}

impl FactsOf {
    /// A contact of which nothing else is known.
    pub fn new(contact: Contact) -> Self {
        Self { contact, events: BTreeMap::new(), activities: BTreeMap::new(), segments: BTreeSet::new() }
    }

    /// Notes an event.
    pub fn set_last_event(&mut self, name: &str, at: Timestamp) {
        self.events.insert(name.to_owned(), at);
    }

    /// The contact, to be changed.
    pub fn contact_mut(&mut self) -> &mut Contact {
        &mut self.contact
    }

    /// Notes that the contact entered a segment, or left it.
    pub fn set_member(&mut self, segment: SegmentId, member: bool) {
        if member {
            self.segments.insert(segment);
        } else {
            self.segments.remove(&segment);
        }
    }
}

impl Facts for FactsOf {
    fn contact(&self) -> &Contact {
        &self.contact
    }

    fn last_event(&self, name: &str) -> Option<Timestamp> {
        self.events.get(name).copied()
    }

    fn last_activity(&self, activity: Activity) -> Option<Timestamp> {
        self.activities.get(&activity).copied()
    }

    /// Whether it is a stored member: of a static or tracked segment.
    fn is_member(&self, segment: SegmentId) -> bool {
        self.segments.contains(&segment)
    }
}

/// Loads what `references` names of some contacts, at most four queries in all. Contacts that do not exist are left
/// out; the others come ordered by id.
pub async fn facts(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
    references: &References,
) -> Result<Vec<FactsOf>> {
    facts_before(rx, project, contacts, references, Timestamp::LAST).await
}

/// The same with the last events before an instant.
pub async fn facts_before(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
    references: &References,
    before: Timestamp,
) -> Result<Vec<FactsOf>> {
    let mut found = load(rx, project, contacts).await?;
    last_events(rx, project, (&references.events, before), &mut found).await?;
    last_activities(rx, project, &references.activities, &mut found).await?;
    memberships(rx, project, &references.segments, &mut found).await?;
    Ok(found.into_values().collect())
}

type Found = BTreeMap<ContactId, FactsOf>;

async fn load(rx: &Rx<'_>, project: ProjectNumber, contacts: &[ContactId]) -> Result<Found> {
    let rows = rx
        .all(
            format!("select {COLUMNS} from contacts c where c.project_id = $1 and c.id {{in $2}}"),
            &[project.into(), Arg::Ids(contacts.iter().map(|id| Some((*id).into())).collect())],
            read,
        )
        .await?;
    Ok(rows.into_iter().map(|contact| (contact.id, FactsOf::new(contact))).collect())
}

async fn last_events(
    rx: &Rx<'_>,
    project: ProjectNumber,
    (names, before): (&BTreeSet<String>, Timestamp),
    found: &mut Found,
) -> Result<()> {
    let contacts: Vec<_> = found.keys().copied().collect();
    for (contact, name, last) in newest_events(rx, project, &contacts, names, before).await? {
        if let (Some(facts), Some(last)) = (found.get_mut(&contact), last) {
            facts.events.insert(name, last.instant());
        }
    }
    Ok(())
}

/// The newest event of each name before an instant that each of some contacts has.
pub(in crate::audience) async fn newest_events(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
    names: &BTreeSet<String>,
    before: Timestamp,
) -> Result<Vec<(ContactId, String, Option<EventId>)>> {
    let pairs: Vec<_> = contacts.iter().flat_map(|id| names.iter().map(move |name| (*id, name))).collect();
    rx.each_returning(
        "select r.contact_id, r.name, (select e.id from events e where e.project_id = $3 \
         and e.contact_id = r.contact_id and e.name = r.name and e.id < $4 order by e.id desc limit 1) \
         from {rows r: contact_id id, name text}",
        &[
            Arg::Ids(pairs.iter().map(|(id, _)| Some((*id).into())).collect()),
            Arg::Texts(pairs.iter().map(|(_, name)| Some(name.as_str().into())).collect()),
            project.into(),
            EventId::first_of(before).into(),
        ],
        |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
    )
    .await
}

async fn last_activities(
    rx: &Rx<'_>,
    project: ProjectNumber,
    wanted: &BTreeSet<Activity>,
    found: &mut Found,
) -> Result<()> {
    if wanted.is_empty() || found.is_empty() {
        return Ok(());
    }
    let contacts: Vec<_> = found.keys().copied().collect();
    for (contact, times) in activities(rx, project, &contacts).await? {
        let Some(facts) = found.get_mut(&contact) else { continue };
        let seen = Activity::ALL.into_iter().zip(times).filter_map(|(kind, time)| Some((kind, time?)));
        facts.activities.extend(seen);
    }
    Ok(())
}

/// When each activity was last seen, in the order of [`Activity::ALL`].
pub(in crate::audience) type Times = Vec<Option<Timestamp>>;

/// When each activity was last seen on the mails of some contacts.
pub(in crate::audience) async fn activities(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
) -> Result<Vec<(ContactId, Times)>> {
    rx.all(
        "select contact_id, max(sent_at), max(delivered_at), max(opened_at), max(clicked_at), max(bounced_at), \
         max(complained_at) from emails where project_id = $1 and contact_id {in $2} group by contact_id",
        &[project.into(), Arg::Ids(contacts.iter().map(|id| Some((*id).into())).collect())],
        |r| {
            let times = (1..=Activity::ALL.len()).map(|column| r.get(column));
            Ok((r.get(0)?, times.collect::<Result<Times>>()?))
        },
    )
    .await
}

async fn memberships(
    rx: &Rx<'_>,
    project: ProjectNumber,
    segments: &BTreeSet<SegmentId>,
    found: &mut Found,
) -> Result<()> {
    let contacts: Vec<_> = found.keys().copied().collect();
    for (contact, segment) in stored_members(rx, project, &contacts, segments).await? {
        if let Some(facts) = found.get_mut(&contact) {
            facts.set_member(segment, true);
        }
    }
    Ok(())
}

/// Which of some segments each of some contacts is a stored member of.
pub(in crate::audience) async fn stored_members(
    rx: &Rx<'_>,
    project: ProjectNumber,
    contacts: &[ContactId],
    segments: &BTreeSet<SegmentId>,
) -> Result<Vec<(ContactId, SegmentId)>> {
    if segments.is_empty() || contacts.is_empty() {
        return Ok(Vec::new());
    }
    rx.all(
        "select contact_id, segment_id from segment_members where project_id = $1 and contact_id {in $2} \
         and segment_id {in $3} and exited_at is null",
        &[
            project.into(),
            Arg::Ids(contacts.iter().map(|id| Some((*id).into())).collect()),
            Arg::Ids(segments.iter().map(|id| Some((*id).into())).collect()),
        ],
        |r| Ok((r.get(0)?, r.get(1)?)),
    )
    .await
}
