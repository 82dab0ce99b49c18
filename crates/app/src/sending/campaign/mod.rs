//! Campaigns: their records (here), what can be done with them (`state`), their statistics (`stats`), and the
//! background work that carries them out (`runner`).

pub(crate) mod runner;
mod state;
mod stats;

use std::sync::Arc;

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::campaign::{Audience, AudienceType, Campaign, CampaignStatus, Ledger};
use mailwright_core::filter::{Filter, References};
use mailwright_core::ids::{CampaignId, ProjectNumber, SegmentId};
use mailwright_core::issue::Issue;
use mailwright_core::patch::Patch;
use mailwright_core::project::Project;
use mailwright_core::segment::Segment;
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::segment;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::campaign::audience::{self, Counted};
use mailwright_store::sending::campaign::{self as store, List, ledger};
use mailwright_store::{Door, Error as StoreError, Rx, Tx, pause};
use serde_json::{Value, json};

use crate::App;
use crate::error::{Error, Resource, Result, too_many_conditions};
use crate::sending::domain::check_may_send;
use crate::sending::template::syntax_issues;

pub use stats::LedgerPage;

/// How often a change is begun again that another one got in the way of.
const TRIES: u32 = 10;

/// Fields of a new campaign, or of a change to one.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    /// Internal name.
    pub name: Option<String>,
    /// Internal note.
    pub description: Patch<String>,
    /// Subject.
    pub subject: Option<String>,
    /// HTML.
    pub body: Option<String>,
    /// Sender address.
    pub from: Option<EmailAddress>,
    /// Sender name.
    pub from_name: Patch<String>,
    /// Reply address.
    pub reply_to: Patch<EmailAddress>,
    /// Kind of mail.
    pub kind: Option<TemplateType>,
    /// What kind of audience it is for.
    pub audience: Option<AudienceType>,
    /// The segment, for an audience of that type.
    pub segment: Option<SegmentId>,
    /// The filter tree, for an audience of that type.
    pub condition: Option<Value>,
}

impl Fields {
    /// Errors in the templates' language, named by field with line and column (reference 4.3).
    fn check_syntax(&self) -> Result<()> {
        let issues = syntax_issues(self.subject.as_deref(), self.body.as_deref());
        if issues.is_empty() { Ok(()) } else { Err(Error::Syntax(issues)) }
    }

    /// The audience that the fields ask for, what they leave out taken from the one before.
    fn audience(&self, before: Option<&Audience>) -> Result<Audience> {
        let required = |field: &str, of: &str| {
            let text = format!("An audience of type {of} needs it.");
            Error::Invalid(vec![Issue::new(field, "required", text)])
        };
        match self.audience.or(before.map(Audience::kind)).unwrap_or(AudienceType::All) {
            AudienceType::All => Ok(Audience::All),
            AudienceType::Segment => {
                let given = self.segment.or(before.and_then(Audience::segment));
                given.map(Audience::Segment).ok_or_else(|| required("segmentId", "SEGMENT"))
            }
            AudienceType::Filtered => {
                if let Some(tree) = &self.condition {
                    check_condition(tree)?;
                }
                let given = self.condition.as_ref().or(before.and_then(Audience::condition));
                let tree = given.ok_or_else(|| required("audienceCondition", "FILTERED"))?;
                Ok(Audience::Filtered(tree.clone()))
            }
        }
    }

    fn apply(self, campaign: &mut Campaign) {
        fn set<T>(target: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *target = value;
            }
        }
        set(&mut campaign.name, self.name);
        self.description.apply(&mut campaign.description);
        set(&mut campaign.subject, self.subject);
        set(&mut campaign.body, self.body);
        set(&mut campaign.from, self.from.map(|from| from.to_string()));
        self.from_name.apply(&mut campaign.from_name);
        self.reply_to.map(|to| to.to_string()).apply(&mut campaign.reply_to);
        set(&mut campaign.kind, self.kind);
    }
}

/// Where a filter tree is wrong, each place named from the request's own root.
fn check_condition(tree: &Value) -> Result<()> {
    let named = |mut issue: Issue| {
        let dot = if issue.field.is_empty() { "" } else { "." };
        issue.field = format!("audienceCondition{dot}{}", issue.field);
        issue
    };
    match Filter::parse(tree) {
        Ok(_) => Ok(()),
        Err(issues) => Err(Error::Invalid(issues.into_iter().map(named).collect())),
    }
}

/// A campaign with its stats.
#[derive(Debug, Clone)]
pub struct Overview {
    /// The campaign.
    pub campaign: Campaign,
    /// Where its mails stand.
    pub ledger: Ledger,
    /// The segment it is for, where it is for one.
    pub segment: Option<Segment>,
}

impl Overview {
    /// How many mails it makes: what was counted when it was saved, until its audience is frozen.
    pub fn recipients(&self) -> i64 {
        self.campaign.recipients.max(self.ledger.recipients)
    }
}

impl App {
    /// A page of campaigns and how many there are in all.
    pub async fn campaigns(&self, project: &Project, list: List) -> Result<(Vec<Overview>, i64)> {
        let number = project.number;
        let door = if list.search.is_some() { Door::Slow(number) } else { Door::Fast };
        let read = self.0.db.read_by(door, move |rx| {
            Box::pin(async move {
                let (page, total) = store::list(rx, number, &list).await?;
                let ids: Vec<_> = page.iter().map(|campaign| campaign.id).collect();
                let mut ledgers = ledger::read(rx, number, &ids).await?;
                let named = page.iter().filter_map(|campaign| campaign.audience.segment()).collect();
                let segments = segment::some(rx, number, &named).await?;
                let complete = |campaign: Campaign| {
                    let ledger = ledgers.remove(&campaign.id).unwrap_or_default();
                    let of = campaign.audience.segment();
                    let segment = segments.iter().find(|segment| Some(segment.id) == of).cloned();
                    Overview { campaign, ledger, segment }
                };
                Ok((page.into_iter().map(complete).collect(), total))
            })
        });
        Ok(read.await?)
    }

    /// One campaign.
    pub async fn campaign(&self, project: &Project, id: CampaignId) -> Result<Overview> {
        let number = project.number;
        let read = self.0.db.read(move |rx| Box::pin(async move { overview(rx, number, id).await }));
        read.await?.ok_or_else(|| Error::not_found(Resource::Campaign, id))
    }

    /// Creates a campaign, which is a draft.
    pub async fn create_campaign(&self, project: &Project, fields: Fields) -> Result<Overview> {
        fields.check_syntax()?;
        let audience = fields.audience(None)?;
        let mut campaign = blank(audience, self.0.clock.now());
        fields.apply(&mut campaign);
        campaign.recipients = self.count_audience(project, &campaign).await?.recipients();
        self.store_campaign(project.number, campaign, true).await
    }

    /// Copies a campaign, wherever it stands, into a draft.
    pub async fn duplicate_campaign(&self, project: &Project, id: CampaignId) -> Result<Overview> {
        let original = self.campaign(project, id).await?.campaign;
        let mut copy = Campaign {
            name: format!("{} (Copy)", original.name),
            description: original.description,
            subject: original.subject,
            body: original.body,
            from: original.from,
            from_name: original.from_name,
            reply_to: original.reply_to,
            kind: original.kind,
            ..blank(original.audience, self.0.clock.now())
        };
        copy.recipients = self.count_audience(project, &copy).await?.recipients();
        self.store_campaign(project.number, copy, false).await
    }

    async fn store_campaign(
        &self,
        number: ProjectNumber,
        campaign: Campaign,
        check_sender: bool,
    ) -> Result<Overview> {
        let leaves = self.mail_leaves();
        let written = self.write(move |tx| {
            Box::pin(async move {
                if check_sender {
                    check_may_send(tx, number, &campaign.from, leaves).await?;
                }
                store::create(tx, number, &campaign).await?;
                known(tx, number, campaign.id).await
            })
        });
        written.await
    }

    /// Changes a campaign that has not started. Fields that are left out stay as they are.
    pub async fn update_campaign(
        &self,
        project: &Project,
        id: CampaignId,
        fields: Fields,
    ) -> Result<Overview> {
        fields.check_syntax()?;
        let mut tries = 0;
        loop {
            let before = self.campaign(project, id).await?.campaign;
            let after = self.changed(project, &before, fields.clone()).await?;
            match self.replace(project.number, before, after, fields.from.is_some()).await {
                Err(Error::ChangedMeanwhile(_)) if tries < TRIES => {
                    tokio::time::sleep(pause(tries)).await;
                    tries += 1;
                }
                other => return other,
            }
        }
    }

    /// The campaign that a change makes of another one.
    async fn changed(&self, project: &Project, before: &Campaign, fields: Fields) -> Result<Campaign> {
        check_editable(before)?;
        let mut after = Campaign { audience: fields.audience(Some(&before.audience))?, ..before.clone() };
        fields.apply(&mut after);
        let same_audience = after.audience == before.audience;
        if before.status == CampaignStatus::Scheduled && !same_audience {
            return Err(Error::BadRequest(
                "The audience of a scheduled campaign cannot be changed. Cancel the schedule first.".into(),
            ));
        }
        if !same_audience || after.kind != before.kind {
            after.recipients = self.count_audience(project, &after).await?.recipients();
        }
        after.updated_at = self.0.clock.now();
        Ok(after)
    }

    /// Stores a changed campaign, unless it was changed by somebody else meanwhile.
    async fn replace(
        &self,
        number: ProjectNumber,
        before: Campaign,
        after: Campaign,
        check_sender: bool,
    ) -> Result<Overview> {
        let (change, leaves) = (Arc::new((before, after)), self.mail_leaves());
        let written = self.write(move |tx| {
            let change = Arc::clone(&change);
            Box::pin(async move {
                let (before, after) = &*change;
                if locked(tx, number, before.id).await? != *before {
                    return Err(Error::ChangedMeanwhile(Resource::Campaign));
                }
                if check_sender {
                    check_may_send(tx, number, &after.from, leaves).await?;
                }
                store::update(tx, number, after).await?;
                known(tx, number, after.id).await
            })
        });
        written.await
    }

    /// Removes a campaign that is neither scheduled nor under way. Its mails stay.
    pub async fn delete_campaign(&self, project: &Project, actor: &Actor, id: CampaignId) -> Result<()> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        let removed = self.write(move |tx| {
            Box::pin(async move {
                let campaign = locked(tx, number, id).await?;
                let in_the_way = match campaign.status {
                    CampaignStatus::Scheduled => "The campaign is scheduled. Cancel it first.",
                    CampaignStatus::Sending => {
                        "The campaign is being sent. Cancel it, or wait until it is sent."
                    }
                    CampaignStatus::Cancelled if campaign.finished_at.is_none() => {
                        "The campaign is still being cancelled. Try again in a moment."
                    }
                    CampaignStatus::Draft | CampaignStatus::Sent | CampaignStatus::Cancelled => {
                        store::delete(tx, number, id).await?;
                        let entry = Entry::new(Action::CampaignDeleted, id.to_string())
                            .with(json!({ "name": campaign.name }));
                        return Ok(audit::record(tx, number, &actor, &entry, now).await?);
                    }
                };
                Err(Error::Conflict(in_the_way.into()))
            })
        });
        removed.await
    }

    /// The campaigns that are not over and whose filter looks at a field (`email`, `data.plan`), by id and name.
    pub async fn campaigns_with_field(
        &self,
        project: &Project,
        field: &str,
    ) -> Result<Vec<(CampaignId, String)>> {
        self.campaigns_with(project, |names| names.fields.contains(field)).await
    }

    /// The campaigns that are not over and whose filter looks at events of a name, by id and name.
    pub async fn campaigns_with_event(
        &self,
        project: &Project,
        event: &str,
    ) -> Result<Vec<(CampaignId, String)>> {
        self.campaigns_with(project, |names| names.events.contains(event)).await
    }

    async fn campaigns_with(
        &self,
        project: &Project,
        wanted: impl Fn(&References) -> bool + Send,
    ) -> Result<Vec<(CampaignId, String)>> {
        let number = project.number;
        let read = self.0.db.read(move |rx| Box::pin(async move { store::audiences(rx, number).await }));
        let looks_at_it = |audience: &Audience| {
            let tree = audience.condition().map(Filter::parse);
            tree.is_some_and(|tree| tree.is_ok_and(|tree| wanted(&tree.references())))
        };
        let mut found = read.await?;
        found.retain(|(.., audience)| looks_at_it(audience));
        Ok(found.into_iter().map(|(id, name, _)| (id, name)).collect())
    }

    /// Counts the audience of a campaign where that takes a few rows: everybody, unless many addresses are suppressed.
    async fn count_quickly(&self, number: ProjectNumber, campaign: &Campaign) -> Result<Option<Counted>> {
        if campaign.audience != Audience::All {
            return Ok(None);
        }
        let kind = campaign.kind;
        let counted =
            self.0.db.read(move |rx| Box::pin(async move { audience::count_all(rx, number, kind).await }));
        Ok(counted.await?)
    }

    /// Counts the audience of a campaign as it is now.
    async fn count_audience(&self, project: &Project, campaign: &Campaign) -> Result<Counted> {
        let (number, now) = (project.number, self.0.clock.now());
        if let Some(counted) = self.count_quickly(number, campaign).await? {
            return Ok(counted);
        }
        let (audience, kind) = (campaign.audience.clone(), campaign.kind);
        let named = audience.clone();
        let unknown =
            self.0.db.read(move |rx| Box::pin(async move { unknown_segment(rx, number, &named).await }));
        if let Some(refused) = unknown.await? {
            return Err(refused);
        }
        let counted = self.0.db.read_slow(number, move |rx| {
            Box::pin(async move {
                let members = audience::resolve(rx, number, &audience).await?;
                audience::count(rx, number, &members, kind, now).await
            })
        });
        counted.await.map_err(|error| match error {
            StoreError::TooManyConditions => {
                Error::Invalid(vec![Issue::new("audienceCondition", "too_big", too_many_conditions())])
            }
            other => other.into(),
        })
    }
}

fn check_editable(campaign: &Campaign) -> Result<()> {
    match campaign.status {
        CampaignStatus::Draft | CampaignStatus::Scheduled => Ok(()),
        CampaignStatus::Sending | CampaignStatus::Sent | CampaignStatus::Cancelled => {
            Err(Error::BadRequest(format!(
                "A campaign can be changed while it is a draft or scheduled. This one is {}; duplicate it instead.",
                campaign.status.as_str()
            )))
        }
    }
}

/// What to answer when an audience names a segment that the project does not have.
async fn unknown_segment(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    audience: &Audience,
) -> mailwright_store::Result<Option<Error>> {
    match audience {
        Audience::All => Ok(None),
        Audience::Segment(id) => {
            let found = segment::get(rx, project, *id).await?;
            Ok(found.is_none().then(|| Error::not_found(Resource::Segment, id)))
        }
        Audience::Filtered(condition) => {
            let named = Filter::parse(condition).map(|tree| tree.references().segments).unwrap_or_default();
            let found = segment::some(rx, project, &named).await?;
            let missing = named.into_iter().filter(|id| found.iter().all(|segment| segment.id != *id));
            let issues: Vec<_> = missing
                .map(|id| {
                    let text = format!("There is no segment {id}.");
                    Issue::new("audienceCondition", "custom", text).received(id.to_string())
                })
                .collect();
            Ok((!issues.is_empty()).then_some(Error::Invalid(issues)))
        }
    }
}

/// A campaign that must be there, for a change that nobody else makes meanwhile.
async fn locked(tx: &mut Tx<'_>, project: ProjectNumber, id: CampaignId) -> Result<Campaign> {
    let found = store::get_for_update(tx, project, id).await?;
    found.ok_or_else(|| Error::not_found(Resource::Campaign, id))
}

/// The overview of a campaign that must be there.
async fn known(rx: &mut Rx<'_>, project: ProjectNumber, id: CampaignId) -> Result<Overview> {
    overview(rx, project, id).await?.ok_or_else(|| Error::not_found(Resource::Campaign, id))
}

async fn overview(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    id: CampaignId,
) -> mailwright_store::Result<Option<Overview>> {
    let Some(campaign) = store::get(rx, project, id).await? else { return Ok(None) };
    let ledger = ledger::read(rx, project, &[id]).await?.remove(&id).unwrap_or_default();
    let segment = match campaign.audience.segment() {
        Some(id) => segment::get(rx, project, id).await?,
        None => None,
    };
    Ok(Some(Overview { campaign, ledger, segment }))
}

fn blank(audience: Audience, now: Timestamp) -> Campaign {
    Campaign {
        id: CampaignId::new(now, rand::random()),
        name: String::new(),
        description: None,
        subject: String::new(),
        body: String::new(),
        from: String::new(),
        from_name: None,
        reply_to: None,
        kind: TemplateType::Marketing,
        status: CampaignStatus::Draft,
        audience,
        scheduled_for: None,
        recipients: 0,
        sent_at: None,
        paused_at: None,
        frozen_at: None,
        finished_at: None,
        note: None,
        created_at: now,
        updated_at: now,
    }
}
