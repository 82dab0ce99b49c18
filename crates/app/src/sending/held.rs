//! What a restore holds, and the decisions about it.
//!
//! [`hold_all`] raises the epoch of a database that was restored and is not served yet. It goes through all projects in
//! steps; one that is interrupted is gone on with when it is called again, and until it ends the database is not served.

use std::sync::Arc;

use mailwright_core::audit::{Action, Actor};
use mailwright_core::email::Lane;
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_core::role::Capability;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::contact_log;
use mailwright_store::insight::activity_log;
use mailwright_store::project::{self, audit};
use mailwright_store::sending::held::epoch::{self, Epoch};
use mailwright_store::sending::held::hold::{self, Waiting};
use mailwright_store::sending::held::{self as store, Counts, Decided, Decision, HeldEmail, Which};
use mailwright_store::{Db, body};
use serde_json::json;

use crate::App;
use crate::error::Result;
use crate::project::member::still_may;

/// Most steps of one decision of a member, each of 500 mails.
const STEPS: usize = 20;
/// Projects that are read at a time.
const PROJECTS: i64 = 500;

/// A page of held mails.
#[derive(Debug)]
pub struct HeldPage {
    /// The mails.
    pub mails: Vec<HeldEmail>,
    /// Whether more follow.
    pub has_more: bool,
    /// How many there are in all, on the first page; 0 on later ones.
    pub total: i64,
    /// All held mails of the project in numbers, on the first page.
    pub counts: Option<Counts>,
}

/// Raises the epoch, and holds everything that may have been handed over since the backup was made. Returns the epoch,
/// and how many mails are held.
pub async fn hold_all(db: &Db, now: Timestamp) -> Result<(Epoch, i64)> {
    let epoch: Epoch = db.write(body!(async |tx| epoch::raise(tx, now).await)).await?;
    let now = epoch.raised_at;
    let mut after = ProjectNumber(i64::MIN);
    loop {
        let numbers = db.read(body!(async |rx| project::numbers(rx, after, PROJECTS).await)).await?;
        let Some(last) = numbers.last() else { break };
        after = *last;
        for number in numbers {
            hold_project(db, number, now).await?;
        }
    }
    db.write(body!(async |tx| epoch::held(tx, epoch.number, now).await)).await?;
    let mails = db.read(body!(async |rx| store::count_everywhere(rx).await)).await?;
    Ok((epoch, mails))
}

async fn hold_project(db: &Db, number: ProjectNumber, now: Timestamp) -> Result<()> {
    db.write(body!(async |tx| {
        hold::mark_campaigns(tx, number, now).await?;
        hold::mark_segments(tx, number, now).await?;
        activity_log::LOG.forget_positions(tx, number).await?;
        contact_log::LOG.forget_positions(tx, number).await
    }))
    .await?;
    let mut place = None;
    loop {
        place = db.write(body!(async |tx| hold::mark_executions(tx, number, place, now).await)).await?;
        if place.is_none() {
            break;
        }
    }
    let campaigns = db.read(body!(async |rx| hold::campaigns(rx, number).await)).await?;
    let of_campaigns = campaigns.into_iter().map(Waiting::Of);
    for which in of_campaigns.chain([Waiting::NoCampaign, Waiting::OnTheWire]) {
        while db.write(body!(async |tx| hold::mails(tx, number, which, now).await)).await? {}
    }
    Ok(())
}

impl App {
    /// The projects, the instance's own among them, with how many mails of each are held.
    pub async fn held_by_project(&self) -> Result<Vec<(Project, i64)>> {
        let mut found = Vec::new();
        let mut after = ProjectNumber(i64::MIN);
        loop {
            let page = self
                .read(body!(async |rx| {
                    let mut page = Vec::new();
                    for number in project::numbers(rx, after, PROJECTS).await? {
                        page.push((number, store::count(rx, number, &Which::All).await?));
                    }
                    Ok(page)
                }))
                .await?;
            let Some((last, _)) = page.last() else { return Ok(found) };
            after = *last;
            for (number, held) in page.into_iter().filter(|(_, held)| *held > 0) {
                let project = self.read(body!(async |rx| project::get(rx, number).await)).await?;
                found.extend(project.map(|project| (project, held)));
            }
        }
    }

    /// Up to `limit` held mails of a project, or of one of its campaigns, in the order of their ids.
    pub async fn held_emails(
        &self,
        number: ProjectNumber,
        campaign: Option<CampaignId>,
        after: Option<EmailId>,
        limit: usize,
    ) -> Result<Vec<HeldEmail>> {
        self.read(body!(async |rx| store::page(rx, number, campaign, after, limit).await)).await
    }

    /// A page of the held mails of a project for its members, in the order of their ids, and on the first page how many
    /// there are.
    pub async fn held_page(
        &self,
        project: &Project,
        campaign: Option<CampaignId>,
        after: Option<EmailId>,
        limit: usize,
    ) -> Result<HeldPage> {
        let (number, is_first) = (project.number, after.is_none());
        let of = campaign.map_or(Which::All, Which::Campaign);
        let (mut mails, total, counts) = self
            .read_slow(
                number,
                body!(async |rx| {
                    let mails = store::page(rx, number, campaign, after, limit + 1).await?;
                    let total = if is_first { store::count(rx, number, &of).await? } else { 0 };
                    let counts = if is_first { Some(store::counts(rx, number).await?) } else { None };
                    Ok((mails, total, counts))
                }),
            )
            .await?;
        let has_more = mails.len() > limit;
        mails.truncate(limit);
        Ok(HeldPage { mails, has_more, total, counts })
    }

    /// Decides about all held mails of a project, or of one of its campaigns, in steps. What was decided is not decided
    /// again. The decision of the operator goes into the project's audit log.
    pub async fn decide_held(
        &self,
        number: ProjectNumber,
        campaign: Option<CampaignId>,
        decision: Decision,
    ) -> Result<Decided> {
        let which = campaign.map_or(Which::All, Which::Campaign);
        self.decide(number, Actor::Operator, which, decision, usize::MAX).await
    }

    /// The same for a member, about some of the mails, and about so many at a time that the answer comes soon: whoever has
    /// more decides again.
    pub async fn decide_held_as(
        &self,
        project: &Project,
        actor: &Actor,
        which: Which,
        decision: Decision,
    ) -> Result<Decided> {
        let decided = self.decide(project.number, actor.clone(), which, decision, STEPS).await?;
        if decided.resent > 0 {
            for lane in Lane::ALL {
                self.dispatcher().wake(lane, project.number);
            }
            self.campaign_hints().wake();
        }
        Ok(decided)
    }

    async fn decide(
        &self,
        number: ProjectNumber,
        actor: Actor,
        which: Which,
        decision: Decision,
        most: usize,
    ) -> Result<Decided> {
        let mut all = Decided::default();
        let (actor, which) = (Arc::new(actor), Arc::new(which));
        for step in 0..most {
            let (now, actor, which) = (self.clock().now(), Arc::clone(&actor), Arc::clone(&which));
            let done = self
                .write(body!(async |tx| {
                    if step == 0 {
                        still_may(tx, number, &actor, Capability::ManageProject).await?;
                        let held = store::count(tx, number, &which).await?;
                        if held == 0 {
                            return Ok(Decided::default());
                        }
                        audit::record(tx, number, &actor, &entry(&which, decision, held), now).await?;
                    }
                    Ok(store::decide(tx, number, &which, decision, now).await?)
                }))
                .await?;
            all.resent += done.resent;
            all.discarded += done.discarded;
            all.more = done.more;
            if !done.more {
                break;
            }
        }
        Ok(all)
    }
}

fn entry(which: &Which, decision: Decision, held: i64) -> audit::Entry {
    let action = match decision {
        Decision::Resend => Action::HeldMailsResent,
        Decision::Discard => Action::HeldMailsDiscarded,
    };
    let campaign = match which {
        Which::Campaign(id) => Some(id),
        Which::All | Which::These(_) => None,
    };
    audit::Entry::of_project(action).with(json!({ "held": held, "campaignId": campaign }))
}
