//! The actions on a campaign (reference 5.3): sending, scheduling, pausing, resuming, cancelling and retrying.

use futures_util::future::BoxFuture;
use mailwright_core::activity::{Place, Source};
use mailwright_core::audit::{Action, Actor};
use mailwright_core::campaign::{Campaign, CampaignStatus};
use mailwright_core::email::{Lane, Reason, RecipientState};
use mailwright_core::ids::{CampaignId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_core::time::Timestamp;
use mailwright_store::Tx;
use mailwright_store::body;
use mailwright_store::insight::activity_log;
use mailwright_store::insight::counter::{self, Counter};
use mailwright_store::project::audit::{self, Entry};
use mailwright_store::sending::campaign::ledger::{self, Retry};
use mailwright_store::sending::campaign::{self as store, audience, run};
use mailwright_store::sending::{content, held};
use serde_json::json;

use super::{Overview, check_editable, known, locked};
use crate::App;
use crate::error::{Error, Result, too_many_conditions};
use crate::sending::content::{Prepared, compose};
use crate::sending::domain::{Obstacle, check_may_send, sender_refused};

/// In a project with at most this many contacts an audience is counted completely when a campaign is sent. In a larger
/// one it is only checked that the audience is not empty, so that the first mail does not wait for a count.
const COUNTED: i64 = 50_000;

impl App {
    /// Sends a campaign, now or at a time in the future.
    pub async fn send_campaign(
        &self,
        project: &Project,
        actor: &Actor,
        id: CampaignId,
        at: Option<Timestamp>,
    ) -> Result<Overview> {
        let now = self.0.clock.now();
        let action = if at.is_some() { Action::CampaignScheduled } else { Action::CampaignSent };
        if let Some(at) = at.filter(|at| *at <= now) {
            return Err(Error::BadRequest(format!(
                "scheduledFor must be in the future. It was read as {at}, and the current time is {now}; \
                 without an offset it is UTC."
            )));
        }
        let recipients = match at {
            Some(_) => None,
            None => Some(self.recipients_now(project, id).await?),
        };
        let (number, leaves) = (project.number, self.mail_leaves());
        if let Some(recipients) = recipients {
            self.check_campaign_fits(project, id, recipients).await?;
        }
        let (sent, ()) = self
            .change_campaign(number, id, AuditedAction::new(actor, action, now), move |tx, campaign| {
                Box::pin(async move {
                    check_editable(campaign)?;
                    check_may_send(tx, number, &campaign.from, leaves).await?;
                    if !audience::can_be_found(tx, number, &campaign.audience, now).await? {
                        return Err(Error::BadRequest(too_many_conditions()));
                    }
                    campaign.updated_at = now;
                    campaign.note = None;
                    // whatever a restore lost of it, this is somebody's decision
                    held::hold::unmark_campaign(tx, number, id).await?;
                    match at {
                        Some(at) => {
                            campaign.status = CampaignStatus::Scheduled;
                            campaign.scheduled_for = Some(at);
                        }
                        None => start(tx, number, campaign, recipients, now).await?,
                    }
                    Ok(store::save_state(tx, number, campaign).await?)
                })
            })
            .await?;
        self.0.sending.campaigns.wake();
        Ok(sent)
    }

    /// Number of mails that a campaign would have now; an error if there are none. If the audience cannot be counted in
    /// time, the campaign starts all the same with the last known number: its audience is looked up later, without a
    /// limit of time.
    async fn recipients_now(&self, project: &Project, id: CampaignId) -> Result<i64> {
        let before = self.campaign(project, id).await?.campaign;
        check_editable(&before)?;
        let (number, now) = (project.number, self.0.clock.now());
        let counted = match self.count_quickly(number, &before).await? {
            Some(counted) => counted.recipients(),
            None => self.count_slowly(number, before, now).await?,
        };
        match counted {
            0 => Err(Error::BadRequest(
                "The campaign has no recipients: no contact of its audience would get a mail.".into(),
            )),
            recipients => Ok(recipients),
        }
    }

    async fn count_slowly(&self, number: ProjectNumber, before: Campaign, now: Timestamp) -> Result<i64> {
        let (known, mailing) = (before.recipients, self.mailing(number, &before).await?);
        let members =
            self.read(body!(async |rx| audience::resolve(rx, number, &before.audience).await)).await?;
        let split = self.split_members(number, &members, now).await?;
        let counted = self.read_slow(
            number,
            body!(async |rx| {
                let contacts = counter::value(rx, number, Counter::Contacts, "").await?;
                if contacts <= COUNTED || split.is_some() || matches!(members, audience::Members::All) {
                    let counted = audience::count(rx, number, &members, split, &mailing, now).await?;
                    return Ok(counted.recipients());
                }
                let any = audience::has_recipients(rx, number, &members, &mailing, now).await?;
                Ok(if any { known.max(1) } else { 0 })
            }),
        );
        match counted.await {
            Err(error) if error.is_too_slow() => Ok(known.max(1)),
            counted => counted,
        }
    }

    /// Cancels a campaign. One that has not started becomes a draft again; of one that is being sent, the mails that
    /// wait are skipped.
    pub async fn cancel_campaign(
        &self,
        project: &Project,
        actor: &Actor,
        id: CampaignId,
    ) -> Result<Overview> {
        let audited = AuditedAction::new(actor, Action::CampaignCancelled, self.0.clock.now());
        let cancelled = self
            .change_state(project.number, id, audited, |campaign| {
                match campaign.status {
                    CampaignStatus::Scheduled => {
                        campaign.status = CampaignStatus::Draft;
                        campaign.scheduled_for = None;
                    }
                    CampaignStatus::Sending => {
                        campaign.status = CampaignStatus::Cancelled;
                        campaign.paused_at = None;
                        campaign.note = None; // it may say why it did not go on
                    }
                    CampaignStatus::Draft | CampaignStatus::Sent | CampaignStatus::Cancelled => {
                        return Err(not_now(
                            campaign,
                            "Only a scheduled campaign, or one that is being sent, can be cancelled.",
                        ));
                    }
                }
                Ok(())
            })
            .await?;
        self.0.sending.campaigns.wake();
        Ok(cancelled)
    }

    /// Pauses a campaign that is being sent: no more of its mails are claimed. Those on the wire end as they end.
    pub async fn pause_campaign(&self, project: &Project, actor: &Actor, id: CampaignId) -> Result<Overview> {
        let now = self.0.clock.now();
        let audited = AuditedAction::new(actor, Action::CampaignPaused, now);
        self.change_state(project.number, id, audited, move |campaign| {
            if campaign.status != CampaignStatus::Sending || campaign.paused_at.is_some() {
                return Err(not_now(campaign, "Only a campaign that is being sent can be paused."));
            }
            campaign.paused_at = Some(now);
            campaign.note = None; // it may say why it does not go on
            Ok(())
        })
        .await
    }

    /// Goes on with a campaign that is paused.
    pub async fn resume_campaign(
        &self,
        project: &Project,
        actor: &Actor,
        id: CampaignId,
    ) -> Result<Overview> {
        let (number, now, leaves) = (project.number, self.0.clock.now(), self.mail_leaves());
        let audited = AuditedAction::new(actor, Action::CampaignResumed, now);
        let resumed = self.change_campaign(number, id, audited, move |tx, campaign| {
            Box::pin(async move {
                if campaign.paused_at.is_none() {
                    return Err(not_now(campaign, "Only a campaign that is paused can be resumed."));
                }
                check_may_send(tx, number, &campaign.from, leaves).await?;
                campaign.paused_at = None;
                campaign.note = None;
                campaign.updated_at = now;
                Ok(store::save_state(tx, number, campaign).await?)
            })
        });
        let (resumed, ()) = resumed.await?;
        self.dispatcher().wake(Lane::Campaign, number);
        Ok(resumed)
    }

    /// Pauses the campaigns that send from a domain which cannot be signed for any more: the owner removed the DKIM
    /// record, so the service must not sign for the domain. The reason is stored in each campaign and in the audit log.
    pub(crate) async fn withhold_campaigns(
        &self,
        number: ProjectNumber,
        domain: String,
        obstacle: Obstacle,
    ) -> Result<()> {
        let (now, leaves) = (self.0.clock.now(), self.mail_leaves());
        let paused = self.write(body!(async |tx| {
            let domain = domain.clone();

            if obstacle == Obstacle::Unverified
                && sender_refused(tx, number, &domain, leaves).await?.is_none()
            {
                return Ok(Vec::new()); // verified again meanwhile
            }
            let under_way = store::sending_from(tx, number, &domain).await?;
            for id in &under_way {
                withhold(tx, number, *id, obstacle.of_campaign(&domain), now).await?;
            }
            Ok(under_way)
        }));
        for id in paused.await? {
            tracing::warn!(campaign = %id, ?obstacle, "a campaign was paused, because of its sender's domain");
        }
        Ok(())
    }

    /// Sends the mails of a campaign again that failed or are in doubt, only those with `reason` if it is given.
    /// Returns their number.
    pub async fn retry_campaign(
        &self,
        project: &Project,
        actor: &Actor,
        id: CampaignId,
        recipient_state: RecipientState,
        reason: Option<Reason>,
    ) -> Result<(Overview, i64)> {
        let (number, now, leaves) = (project.number, self.0.clock.now(), self.mail_leaves());
        let audited = AuditedAction::new(actor, Action::CampaignRetried, now);
        let retried = self
            .change_campaign(number, id, audited, move |tx, campaign| {
                Box::pin(async move {
                    if !matches!(campaign.status, CampaignStatus::Sending | CampaignStatus::Sent) {
                        let text = "Only a campaign that was sent, or is being sent, can be retried.";
                        return Err(not_now(campaign, text));
                    }
                    check_may_send(tx, number, &campaign.from, leaves).await?;
                    if ledger::is_retrying(tx, number, id).await? {
                        let text = "A retry of this campaign is under way. Try again when it is done.";
                        return Err(Error::Conflict(text.into()));
                    }
                    let totals = ledger::read(tx, number, &[id]).await?.remove(&id).unwrap_or_default();
                    let count = match reason {
                        Some(reason) => totals.count_for(recipient_state, reason),
                        None => totals.count(recipient_state),
                    };
                    if count == 0 {
                        return Err(Error::BadRequest("There is nothing to retry.".into()));
                    }
                    campaign.status = CampaignStatus::Sending;
                    campaign.finished_at = None;
                    campaign.updated_at = now;
                    store::save_state(tx, number, campaign).await?;
                    let retry = Retry { recipient_state, reason, asked_at: now, after: None };
                    ledger::save_retry(tx, number, id, Some(&retry)).await?;
                    Ok(count)
                })
            })
            .await?;
        self.0.sending.campaigns.wake();
        Ok(retried)
    }

    /// Changes where a campaign stands by a rule that looks at nothing else.
    async fn change_state(
        &self,
        number: ProjectNumber,
        id: CampaignId,
        audited: AuditedAction,
        rule: impl Fn(&mut Campaign) -> Result<()> + Clone + Send + Sync + 'static,
    ) -> Result<Overview> {
        let now = audited.at;
        let change = self.change_campaign(number, id, audited, move |tx, campaign| {
            let ruled = rule(campaign);
            Box::pin(async move {
                ruled?;
                campaign.updated_at = now;
                Ok(store::save_state(tx, number, campaign).await?)
            })
        });
        let (changed, ()) = change.await?;
        Ok(changed)
    }

    /// Changes a campaign that nobody else changes meanwhile, and returns it with what the change returned. What was
    /// done goes into the audit log.
    async fn change_campaign<T>(
        &self,
        number: ProjectNumber,
        id: CampaignId,
        audited: AuditedAction,
        change: impl for<'t> Fn(&'t mut Tx<'_>, &'t mut Campaign) -> BoxFuture<'t, Result<T>>
        + Clone
        + Send
        + Sync
        + 'static,
    ) -> Result<(Overview, T)>
    where
        T: Send + 'static,
    {
        self.write(body!(async |tx| {
            let (change, audited) = (change.clone(), audited.clone());

            let mut campaign = locked(tx, number, id).await?;
            let outcome = change(tx, &mut campaign).await?;
            audit::record(tx, number, &audited.actor, &audited.entry(&campaign), audited.at).await?;
            Ok((known(tx, number, id).await?, outcome))
        }))
        .await
    }
}

/// An action on a campaign, for the audit log.
#[derive(Debug, Clone)]
struct AuditedAction {
    actor: Actor,
    action: Action,
    at: Timestamp,
}

impl AuditedAction {
    fn new(actor: &Actor, action: Action, at: Timestamp) -> Self {
        Self { actor: actor.clone(), action, at }
    }

    fn entry(&self, campaign: &Campaign) -> Entry {
        let mut details = json!({ "name": campaign.name });
        if self.action == Action::CampaignScheduled {
            details["scheduledFor"] = json!(campaign.scheduled_for);
        }
        Entry::new(self.action, campaign.id.to_string()).with(details)
    }
}

fn not_now(campaign: &Campaign, text: &str) -> Error {
    let paused = if campaign.paused_at.is_some() { ", and paused" } else { "" };
    Error::BadRequest(format!("{text} This one is {}{paused}.", campaign.status.as_str()))
}

/// Pauses a campaign on the service's own decision, with a reason. Returns whether it was not paused before.
pub(super) async fn withhold(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    id: CampaignId,
    note: String,
    now: Timestamp,
) -> mailwright_store::Result<bool> {
    let is_sending =
        |campaign: &Campaign| campaign.status == CampaignStatus::Sending && campaign.paused_at.is_none();
    let Some(mut campaign) = store::get_for_update(tx, number, id).await?.filter(is_sending) else {
        return Ok(false);
    };
    let entry = Entry::new(Action::CampaignPaused, id.to_string())
        .with(json!({ "name": campaign.name, "reason": note }));
    campaign.paused_at = Some(now);
    campaign.note = Some(note);
    campaign.updated_at = now;
    store::save_state(tx, number, &campaign).await?;
    audit::record(tx, number, &Actor::Service, &entry, now).await.map(|()| true)
}

/// Starts a campaign: stores what its mails say, once for all of them. The caller stores its state.
pub(super) async fn start(
    tx: &mut Tx<'_>,
    number: ProjectNumber,
    campaign: &mut Campaign,
    recipients: Option<i64>,
    now: Timestamp,
) -> mailwright_store::Result<()> {
    let (subject, body) = (campaign.subject.clone(), campaign.body.clone());
    let (mut content, _) = compose(subject, body, None, &[], &[], campaign.tracking);
    content.links = Prepared::new(&content, Vec::new()).links.stored;
    content::save(tx, &[(number, &content)], now).await?;
    run::start(tx, number, campaign.id, &content.hash).await?;
    let sent = Place { at: now, id: campaign.id.into(), source: Source::Campaign };
    activity_log::append_one(tx, number, sent).await?;
    campaign.status = CampaignStatus::Sending;
    campaign.sent_at = Some(now);
    campaign.recipients = recipients.unwrap_or(campaign.recipients);
    campaign.updated_at = now;
    Ok(())
}
