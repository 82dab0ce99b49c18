//! What a rehearsal reads of a project: the scene, and contacts as they begin.

use std::collections::{BTreeMap, BTreeSet};

use mailwright_core::filter::{Facts, Filter, References};
use mailwright_core::ids::{ContactId, ProjectNumber, SegmentId, WorkflowId};
use mailwright_core::segment::SegmentType;
use mailwright_core::time::Timestamp;
use mailwright_core::time_zone::Zone;
use mailwright_core::workflow::trigger::Trigger;
use mailwright_store::audience::filter;
use mailwright_store::audience::{segment, suppression};
use mailwright_store::project::automation;
use mailwright_store::sending::email;
use mailwright_store::{Result, Rx};

use super::person::{Known, Scene};
use super::plan::Rehearsal;
use crate::automation::sendings::sendings;

/// What a rehearsal knows of its project.
pub(super) struct Setting {
    pub(super) scene: Scene,
    /// The names of the events that the versions look at.
    pub(super) events: BTreeSet<String>,
    references: References,
    /// When the rehearsal begins.
    from: Timestamp,
    workflow: WorkflowId,
}

impl Setting {
    pub(super) async fn load(rx: &mut Rx<'_>, project: ProjectNumber, of: &Rehearsal) -> Result<Self> {
        let mut references = References::default();
        let (mut templates, mut segments) = (BTreeSet::new(), BTreeSet::new());
        let mut events = BTreeSet::new();
        for prepared in of.both() {
            references.extend(prepared.version.references());
            templates.extend(prepared.version.templates());
            segments.extend(prepared.version.segments());
            events.extend(prepared.version.events().into_iter().map(str::to_owned));
            match &prepared.trigger {
                Trigger::Event { name, filter } => {
                    events.insert(name.clone());
                    references.extend(filter.as_ref().map(Filter::references).unwrap_or_default());
                }
                Trigger::Schedule { segment, .. } => drop(references.segments.insert(*segment)),
                Trigger::Manual => {}
            }
        }
        let resolved = segment::resolve_all(rx, project, references.segments.clone()).await?;
        let references = resolved.all_references(references);
        events.extend(references.events.iter().cloned());
        let settings = automation::get(rx, project).await?;
        let scene = Scene {
            zone: settings.timezone.and_then(|name| Zone::parse(&name)).unwrap_or(Zone::UTC),
            cap: settings.marketing_cap,
            templates: sendings(rx, project, &templates).await?,
            untracked: resolved.trees().clone(),
            static_segments: static_segments(rx, project, &segments).await?,
        };
        Ok(Self { scene, events, references, from: Timestamp(of.script.from), workflow: of.script.workflow })
    }

    /// Contacts as they begin: with their last events before an instant, and everything else as it is now.
    pub(super) async fn known(
        &self,
        rx: &mut Rx<'_>,
        project: ProjectNumber,
        contacts: &[ContactId],
        before: Timestamp,
    ) -> Result<BTreeMap<ContactId, Known>> {
        let facts = filter::facts_before(rx, project, contacts, &self.references, before).await?;
        let emails = facts.iter().map(|facts| &facts.contact().email).collect();
        let mut now_held = suppression::held(rx, project, &emails, self.from).await?;
        let mut got = self.mails(rx, project, contacts, before).await?;
        let known = facts.into_iter().map(|facts| {
            let held = now_held.remove(&facts.contact().email).unwrap_or_default();
            let got = got.remove(&facts.contact().id).unwrap_or_default();
            (facts.contact().id, Known { facts, held, got })
        });
        Ok(known.collect())
    }
}

impl Setting {
    /// When contacts got mails that the cap counts. Those that the workflow itself sent are left out once the rehearsal
    /// has begun: it makes them again.
    async fn mails(
        &self,
        rx: &Rx<'_>,
        project: ProjectNumber,
        contacts: &[ContactId],
        before: Timestamp,
    ) -> Result<BTreeMap<ContactId, Vec<Timestamp>>> {
        let mut got: BTreeMap<ContactId, Vec<Timestamp>> = BTreeMap::new();
        let Some(cap) = self.scene.cap else { return Ok(got) };
        let since = before.min(self.from).minus(cap.period());
        for mail in email::counted_by_cap(rx, project, contacts, since).await? {
            if mail.at < self.from || mail.workflow != Some(self.workflow) {
                got.entry(mail.contact).or_default().push(mail.at);
            }
        }
        Ok(got)
    }
}

async fn static_segments(
    rx: &Rx<'_>,
    project: ProjectNumber,
    ids: &BTreeSet<SegmentId>,
) -> Result<BTreeSet<SegmentId>> {
    let found = segment::some(rx, project, ids).await?;
    let of_kind = found.into_iter().filter(|segment| segment.kind == SegmentType::Static);
    Ok(of_kind.map(|segment| segment.id).collect())
}
