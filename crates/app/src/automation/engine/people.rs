//! What a batch knows of its project and contacts: read once, for as many contacts as there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use mailwright_core::address::EmailAddress;
use mailwright_core::filter::{Facts, References};
use mailwright_core::ids::{ContactId, ProjectNumber, SegmentId, TemplateId, WorkflowId};
use mailwright_core::project::MarketingCap;
use mailwright_core::suppression::Held;
use mailwright_core::time::Timestamp;
use mailwright_core::time_zone::Zone;
use mailwright_core::workflow::action::Action;
use mailwright_core::workflow::world::Sending;
use mailwright_store::audience::filter::{self, FactsOf, Segments};
use mailwright_store::audience::names::{Names, Wanted};
use mailwright_store::audience::{segment, suppression};
use mailwright_store::automation::execution::Stored;
use mailwright_store::automation::version::{self, Compiled};
use mailwright_store::sending::email;
use mailwright_store::{Result, Tx, project};

use crate::automation::sendings::sendings;

/// The versions that some executions run.
pub(super) type Versions = BTreeMap<(WorkflowId, i64), Arc<Compiled>>;

pub(super) async fn versions(tx: &Tx<'_>, project: ProjectNumber, executions: &[Stored]) -> Result<Versions> {
    let wanted: BTreeSet<_> = executions.iter().map(|stored| (stored.workflow, stored.version)).collect();
    let mut versions = Versions::new();
    for (workflow, number) in wanted {
        if let Some(compiled) = version::compiled(tx, project, workflow, number).await? {
            versions.insert((workflow, number), compiled);
        }
    }
    Ok(versions)
}

/// What is the same for all contacts of a batch.
pub(super) struct Surroundings {
    pub(super) zone: Zone,
    pub(super) cap: Option<MarketingCap>,
    pub(super) templates: BTreeMap<TemplateId, Sending>,
    pub(super) segments: Segments,
    pub(super) static_segments: BTreeSet<SegmentId>,
    /// Which fields the project has, and how many more it may have.
    pub(super) names: Mutex<Names>,
}

/// What the versions of a batch look at.
#[derive(Default)]
struct Needs {
    references: References,
    templates: BTreeSet<TemplateId>,
    segments: BTreeSet<SegmentId>,
    /// The fields that steps write.
    fields: BTreeSet<String>,
}

impl Needs {
    fn of(versions: &Versions) -> Self {
        let mut needs = Self::default();
        for compiled in versions.values() {
            needs.references.extend(compiled.version.references());
            needs.templates.extend(compiled.version.templates());
            needs.segments.extend(compiled.version.segments());
            for step in compiled.version.steps() {
                if let Ok(Action::Update { patch, .. }) = &step.action {
                    needs.fields.extend(patch.names().map(str::to_owned));
                }
            }
        }
        needs
    }
}

/// What is known of the contacts of a batch.
pub(super) struct People {
    pub(super) surroundings: Surroundings,
    pub(super) facts: BTreeMap<ContactId, FactsOf>,
    /// Which mail to their addresses is held back; those whose mail is not are missing.
    pub(super) held: BTreeMap<EmailAddress, Held>,
    /// When contacts got mails that the cap counts, the newest first; empty without a cap.
    pub(super) got: BTreeMap<ContactId, Vec<Timestamp>>,
}

impl People {
    pub(super) async fn load(
        tx: &mut Tx<'_>,
        project: ProjectNumber,
        contacts: &[ContactId],
        versions: &Versions,
        now: Timestamp,
    ) -> Result<Self> {
        let needs = Needs::of(versions);
        let settings = project::automation::get(tx, project).await?;
        let cap = settings.marketing_cap.filter(|_| !needs.templates.is_empty());
        let got = match cap {
            Some(cap) => email::times_counted_by_cap(tx, project, contacts, now.minus(cap.period())).await?,
            None => BTreeMap::new(),
        };
        let segments = segment::resolve_all(tx, project, needs.references.segments.clone()).await?;
        let references = segments.all_references(needs.references);
        let facts = filter::facts(tx, project, contacts, &references).await?;
        let held = if needs.templates.is_empty() {
            BTreeMap::new()
        } else {
            let emails = facts.iter().map(|facts| &facts.contact().email).collect();
            suppression::held(tx, project, &emails, now).await?
        };
        let mut wanted = Wanted::default();
        wanted.fields(project, needs.fields.iter().map(String::as_str));
        let names = if needs.fields.is_empty() { Names::default() } else { Names::load(tx, &wanted).await? };
        let static_segments = if needs.segments.is_empty() {
            BTreeSet::new()
        } else {
            segment::hold_static(tx, project, &needs.segments).await?
        };
        let surroundings = Surroundings {
            zone: settings.timezone.and_then(|name| Zone::parse(&name)).unwrap_or(Zone::UTC),
            cap,
            templates: sendings(tx, project, &needs.templates).await?,
            segments,
            static_segments,
            names: Mutex::new(names),
        };
        let facts = facts.into_iter().map(|facts| (facts.contact().id, facts)).collect();
        Ok(Self { surroundings, facts, held, got })
    }
}
