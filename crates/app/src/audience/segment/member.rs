//! The lists of static segments.

use std::collections::BTreeSet;

use mailwright_core::address::EmailAddress;
use mailwright_core::consent::{ConsentWay, Evidence};
use mailwright_core::contact::Subscription;
use mailwright_core::custom_data::DataPatch;
use mailwright_core::ids::{ContactId, ProjectNumber, SegmentId};
use mailwright_core::project::Project;
use mailwright_core::segment::{Segment, SegmentType};
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact::{Contacts, Upsert};
use mailwright_store::audience::segment as store;
use mailwright_store::body;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::{Tx, project};

use crate::App;
use crate::error::{Error, Resource, Result};

/// The result of adding addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// Contacts of the request that are on the list now, including those that were on it before.
    pub added: usize,
    /// Contacts that were created for it.
    pub created: usize,
    /// Addresses that are no contacts, as they were given.
    pub not_found: Vec<String>,
}

/// The addresses of a request, as contacts.
#[derive(Debug, Clone)]
struct Wanted {
    project: ProjectNumber,
    segment: SegmentId,
    emails: BTreeSet<EmailAddress>,
    /// Whether the missing ones are created, and with which subscription.
    create: Option<bool>,
    at: Timestamp,
}

/// The contacts that were found or created.
struct Found {
    contacts: Vec<ContactId>,
    created: usize,
    missing: BTreeSet<EmailAddress>,
}

impl App {
    /// Puts contacts on the list of a static segment. With `create_missing`, addresses that are no contacts become
    /// contacts that are `subscribed`.
    pub async fn add_segment_members(
        &self,
        project: &Project,
        id: SegmentId,
        given: Vec<String>,
        create_missing: bool,
        subscribed: bool,
    ) -> Result<Added> {
        let segment = self.static_segment(project, id).await?;
        let create = create_missing.then_some(subscribed);
        let wanted = self.wanted(project, &segment, &given, create);
        let found = self.write(body!(async |tx| {
            let wanted = wanted.clone();
            add(tx, &wanted).await
        }));
        let found = found.await?;
        self.wake_segments();
        let is_missing =
            |text: &String| EmailAddress::parse(text).is_none_or(|email| found.missing.contains(&email));
        Ok(Added {
            added: found.contacts.len(),
            created: found.created,
            not_found: given.into_iter().filter(is_missing).collect(),
        })
    }

    /// Takes contacts off the list of a static segment. Returns how many of the addresses are contacts, on the list or
    /// not.
    pub async fn remove_segment_members(
        &self,
        project: &Project,
        id: SegmentId,
        given: &[String],
    ) -> Result<usize> {
        let segment = self.static_segment(project, id).await?;
        let wanted = self.wanted(project, &segment, given, None);
        let found = self.write(body!(async |tx| {
            let wanted = wanted.clone();
            Ok(remove(tx, &wanted).await?)
        }));
        let found = found.await?;
        self.wake_segments();
        Ok(found)
    }

    async fn static_segment(&self, project: &Project, id: SegmentId) -> Result<Segment> {
        let segment = self.segment(project, id).await?;
        match segment.kind {
            SegmentType::Static => Ok(segment),
            SegmentType::Dynamic => Err(Error::BadRequest(
                "The condition of a dynamic segment determines its members. Only static segments have a list \
                 of members."
                    .into(),
            )),
        }
    }

    fn wanted(&self, project: &Project, segment: &Segment, given: &[String], create: Option<bool>) -> Wanted {
        Wanted {
            project: project.number,
            segment: segment.id,
            emails: given.iter().filter_map(|text| EmailAddress::parse(text)).collect(),
            create,
            at: self.0.clock.now(),
        }
    }
}

impl Found {
    /// Notes that the contacts' places on the list changed, with whatever else did.
    async fn save(
        &self,
        tx: &mut Tx<'_>,
        wanted: &Wanted,
        mut deltas: Deltas,
    ) -> mailwright_store::Result<()> {
        for contact in &self.contacts {
            deltas.touch(wanted.project, *contact, wanted.at);
        }
        deltas.save(tx).await
    }
}

/// Finds the contacts, and keeps them from being removed before the transaction ends.
async fn find(tx: &mut Tx<'_>, wanted: &Wanted, deltas: &mut Deltas) -> mailwright_store::Result<Found> {
    let project = wanted.project;
    let mut contacts = Contacts::load(tx, wanted.emails.iter().map(|email| (project, email))).await?;
    let (mut ids, mut missing, mut created) = (Vec::new(), BTreeSet::new(), 0);
    let none = DataPatch::default();
    let evidence = Evidence::by(ConsentWay::Api);
    let double_opt_in = wanted.create == Some(true)
        && project::get(tx, project).await?.is_some_and(|project| project.double_opt_in);
    for email in &wanted.emails {
        if let Some(contact) = contacts.get(project, email) {
            ids.push(contact.id);
        } else if let Some(subscribed) = wanted.create
            && !contacts.is_kept_out(project, email)
        {
            let subscription =
                Subscription { given: None, default_for_new: subscribed, preserve_existing: true };
            let upsert = Upsert { project, email, subscription, patch: &none, evidence, double_opt_in };
            ids.push(contacts.upsert(upsert, wanted.at).contact.id);
            created += 1;
        } else {
            missing.insert(email.clone());
        }
    }
    contacts.save(tx, deltas).await?;
    let contacts = store::hold(tx, project, &ids).await?;
    Ok(Found { contacts, created, missing })
}

/// Refuses when the segment was removed meanwhile.
async fn add(tx: &mut Tx<'_>, wanted: &Wanted) -> Result<Found> {
    let project = wanted.project;
    let mut deltas = Deltas::default();
    let found = find(tx, wanted, &mut deltas).await?;
    // whoever removes the segment waits until its list has what is added here
    let segment = store::get_for_update(tx, project, wanted.segment).await?;
    segment.ok_or_else(|| Error::not_found(Resource::Segment, wanted.segment))?;
    store::add(tx, project, wanted.segment, &found.contacts, wanted.at).await?;
    found.save(tx, wanted, deltas).await?;
    Ok(found)
}

async fn remove(tx: &mut Tx<'_>, wanted: &Wanted) -> mailwright_store::Result<usize> {
    let mut deltas = Deltas::default();
    let found = find(tx, wanted, &mut deltas).await?;
    store::remove(tx, wanted.project, wanted.segment, &found.contacts, wanted.at).await?;
    found.save(tx, wanted, deltas).await?;
    Ok(found.contacts.len())
}
