//! Campaigns: their records (here), what they are made of (`fields`, `edit`), who gets them (`audience`), what can be done
//! with them (`state`), a look at them before (`review`), their statistics (`stats`), and the background work that carries
//! them out (`runner`).

mod audience;
mod edit;
mod fields;
mod review;
mod review_text;
pub(crate) mod runner;
mod state;
mod stats;

use mailwright_core::address::EmailAddress;
use mailwright_core::audit::{Action, Actor};
use mailwright_core::campaign::{Audience, Campaign, CampaignStatus, Ledger};
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_core::segment::Segment;
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::segment;
use mailwright_store::body;
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::campaign::{self as store, List, ledger};
use mailwright_store::{Door, Rx, Tx};
use serde_json::json;

use crate::App;
use crate::audience::topic::keep_topic;
use crate::error::{Error, Resource, Result};
use crate::sending::domain::{check_may_send, required_sender};
use crate::sending::source::{self, Change, Edited, Owner, Saver, Source};
use crate::sending::test_mail::Tested;

pub use fields::Fields;
pub use review::{Estimate, MissingValue, Problem, Review};
pub use stats::LedgerPage;

/// A campaign with its stats.
#[derive(Debug, Clone)]
pub struct Overview {
    /// The campaign.
    pub campaign: Campaign,
    /// The sums of its ledger.
    pub ledger: Ledger,
    /// The segment of its audience, if it has one.
    pub segment: Option<Segment>,
}

impl Overview {
    /// Number of its mails. Until its audience is frozen, it is the count from when the campaign was saved.
    pub fn recipients(&self) -> i64 {
        self.campaign.recipients.max(self.ledger.recipients)
    }
}

impl App {
    /// A page of campaigns and how many there are in all.
    pub async fn campaigns(&self, project: &Project, list: List) -> Result<(Vec<Overview>, i64)> {
        let number = project.number;
        let door = if list.search.is_some() { Door::Slow(number) } else { Door::Fast };
        let read = self.read_by(
            door,
            body!(async |rx| {
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
            }),
        );
        read.await
    }

    /// One campaign.
    pub async fn campaign(&self, project: &Project, id: CampaignId) -> Result<Overview> {
        let number = project.number;
        let read = self.read(body!(async |rx| overview(rx, number, id).await));
        read.await?.ok_or_else(|| Error::not_found(Resource::Campaign, id))
    }

    /// One campaign with what it is made from.
    pub async fn edited_campaign(&self, project: &Project, id: CampaignId) -> Result<Edited<Overview>> {
        let number = project.number;
        let read = self.read(body!(async |rx| {
            let Some(of) = overview(rx, number, id).await? else { return Ok(None) };
            let current = source::current(rx, number, Owner::Campaign(id), of.campaign.updated_at).await?;
            Ok(Some(Edited { of, current }))
        }));
        read.await?.ok_or_else(|| Error::not_found(Resource::Campaign, id))
    }

    /// Creates a campaign, which is a draft.
    pub async fn create_campaign(
        &self,
        project: &Project,
        actor: &Actor,
        mut fields: Fields,
    ) -> Result<Edited<Overview>> {
        fields.texts = self.complete(project, fields.texts).await?;
        let made_from = match fields.texts.change() {
            Change::Stays => Source::default(),
            Change::Is(source) => source,
        };
        let audience = fields.audience(None)?;
        let from = required_sender(fields.from.as_ref())?;
        let mut campaign = blank(audience, from, self.0.clock.now());
        fields.apply(&mut campaign);
        campaign.recipients = self.count_audience(project, &campaign).await?.recipients();
        self.store_campaign(project.number, actor, (campaign, made_from), true).await
    }

    /// Copies a campaign, wherever it stands, into a draft.
    pub async fn duplicate_campaign(
        &self,
        project: &Project,
        actor: &Actor,
        id: CampaignId,
    ) -> Result<Edited<Overview>> {
        let Edited { of, current } = self.edited_campaign(project, id).await?;
        let original = of.campaign;
        let topic = self.known_topic(project.number, original.topic).await?;
        let mut copy = Campaign {
            name: format!("{} (Copy)", original.name),
            description: original.description,
            subject: original.subject,
            body: original.body,
            from_name: original.from_name,
            reply_to: original.reply_to,
            kind: original.kind,
            tracking: original.tracking,
            topic: topic.map(|topic| topic.id),
            ..blank(original.audience, original.from, self.0.clock.now())
        };
        copy.recipients = self.count_audience(project, &copy).await?.recipients();
        self.store_campaign(project.number, actor, (copy, current.source), false).await
    }

    async fn store_campaign(
        &self,
        number: ProjectNumber,
        actor: &Actor,
        new: (Campaign, Source),
        check_sender: bool,
    ) -> Result<Edited<Overview>> {
        let leaves = self.mail_leaves();
        let saver = Saver { actor: actor.clone(), at: new.0.created_at };
        self.write(body!(async |tx| {
            let (campaign, made_from) = new;
            if check_sender {
                check_may_send(tx, number, &campaign.from, leaves).await?;
            }
            keep_topic(tx, number, campaign.topic).await?;
            store::create(tx, number, &campaign).await?;
            let owner = Owner::Campaign(campaign.id);
            let current = source::begin(tx, number, owner, made_from, &saver).await?;
            Ok(Edited { of: known(tx, number, campaign.id).await?, current })
        }))
        .await
    }

    /// Sends a campaign to one address, as a test. It is no part of the campaign's stats.
    pub async fn test_campaign(
        &self,
        project: &Project,
        id: CampaignId,
        to: EmailAddress,
    ) -> Result<EmailId> {
        let campaign = self.campaign(project, id).await?.campaign;
        let tested = Tested {
            subject: campaign.subject,
            body: campaign.body,
            from: campaign.from,
            from_name: campaign.from_name,
            reply_to: campaign.reply_to,
            kind: campaign.kind,
            topic: campaign.topic,
            campaign: Some(id),
        };
        self.send_test(project, tested, to).await
    }

    /// Removes a campaign that is neither scheduled nor under way. Its mails stay.
    pub async fn delete_campaign(&self, project: &Project, actor: &Actor, id: CampaignId) -> Result<()> {
        let (number, now, actor) = (project.number, self.0.clock.now(), actor.clone());
        self.write(body!(async |tx| {
            let campaign = locked(tx, number, id).await?;
            let in_the_way = match campaign.status {
                CampaignStatus::Scheduled => "The campaign is scheduled. Cancel it first.",
                CampaignStatus::Sending => "The campaign is being sent. Cancel it, or wait until it is sent.",
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
        }))
        .await
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

fn blank(audience: Audience, from: EmailAddress, now: Timestamp) -> Campaign {
    Campaign {
        id: CampaignId::new(now, rand::random()),
        name: String::new(),
        description: None,
        subject: String::new(),
        body: String::new(),
        from,
        from_name: None,
        reply_to: None,
        kind: TemplateType::Marketing,
        tracking: None,
        topic: None,
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
