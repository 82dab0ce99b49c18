//! The mails of campaigns that wait to be handed over. They are claimed by campaign, so that the mails of a paused or
//! cancelled campaign are not in the way of others.
//!
//! A claim looks at the contacts again, in its transaction. The mail of a contact that was deleted, unsubscribed or
//! suppressed is skipped. The mail of a contact with another address goes to that address, unless the campaign has
//! written there already. A mail that a process left half handed over is claimed by its state, whether its campaign
//! still runs or not, and is held in doubt.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::join3;
use mailwright_core::address::EmailAddress;
use mailwright_core::campaign::{Recipient, excluded};
use mailwright_core::email::{EmailStatus, Reason};
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber};
use mailwright_core::time::Timestamp;

use super::{former, ledger};
use crate::args;
use crate::audience::suppression::Look;
use crate::audience::topic;
use crate::database::dialect::Sql;
use crate::database::error::Result;
use crate::database::tx::{Rx, Tx};
use crate::database::value::Arg;
use crate::insight::deltas::Deltas;
use crate::project;
use crate::sending::email::claim::{CLAIMED, Claimed, Taken, read_taken};
use crate::sending::email::{BACKLOG, ContactNow, Unsent, contacts_of};

/// The projects that may send and have a campaign under way with a mail due, or a campaign's mail that a process left
/// half handed over. As long as a campaign has such a mail it is looked at (`next_at`), so only the projects with such
/// campaigns are gone through.
pub async fn due_projects(rx: &mut Rx<'_>, now: Timestamp) -> Result<Vec<ProjectNumber>> {
    let due = rx
        .projects_with_work(
            Sql::Either {
whole: "with recursive under_way(project_id) as (select cast(0 as {int}) union all select \
             (select c.project_id from campaigns c where c.project_id > u.project_id and c.next_at is not null \
             order by c.project_id, c.next_at limit 1) from under_way u where u.project_id is not null) \
             select u.project_id from under_way u where u.project_id > 0 and ((select 1 from campaigns c \
             where c.project_id = u.project_id and c.next_at is not null and c.paused_at is null \
             and c.status = 'SENDING' and (select e.due_at from emails e where e.project_id = u.project_id \
             and e.campaign_id = c.id and e.due_at is not null order by e.due_at limit 1) <= $1 limit 1) is not null \
             or exists (select 1 from emails e where e.project_id = u.project_id and e.status = 'SENDING' \
             and e.campaign_id is not null and coalesce(e.due_at, 0) <= $1))",
divided: "select distinct e.project_id from emails e left join campaigns c on c.project_id = e.project_id and c.id = e.campaign_id \
where e.campaign_id is not null and (e.due_at <= $1 and c.next_at is not null and c.paused_at is null \
and c.status = 'SENDING' or e.status = 'SENDING' and coalesce(e.due_at, 0) <= $1)",
},
            args![now],
        )
        .await?;
    project::enabled(rx, due).await
}

/// The campaigns of a project that are being sent, are not paused and have a mail due.
pub async fn active(rx: &mut Rx<'_>, project: ProjectNumber, now: Timestamp) -> Result<Vec<CampaignId>> {
    rx.all(
        "select c.id from campaigns c where c.project_id = $1 and c.next_at is not null \
         and c.paused_at is null and c.status = 'SENDING' and exists \
         (select 1 from emails e where e.project_id = $1 and e.campaign_id = c.id and e.due_at <= $2)",
        args![project, now],
        |r| r.get(0),
    )
    .await
}

/// How many mails of some campaigns are due, counted up to `most`.
pub async fn due(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    campaigns: &[CampaignId],
    now: Timestamp,
    most: i64,
) -> Result<i64> {
    let mut due = 0;
    for campaign in campaigns {
        due += rx
            .one(
                "select count(*) from (select 1 from emails where project_id = $1 and campaign_id = $2 and due_at <= $3 \
                 limit $4) as due",
                args![project, *campaign, now, most - due],
                |r| r.get::<i64>(0),
            )
            .await?;
        if due >= most {
            break;
        }
    }
    Ok(due)
}

/// Claims up to `limit` mails of a campaign that are due, the longest due first, until `lease_until`.
pub async fn claim(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    campaign: CampaignId,
    limit: i64,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Taken> {
    let rows = tx.all(
        format!(
            "with picked as (select id from emails where project_id = $1 and campaign_id = $2 and due_at <= $3 \
             order by due_at limit $4 {{skip_locked}}) \
             update emails set due_at = $5, claim = claim + 1 \
             where project_id = $1 and id in (select id from picked) returning {CLAIMED}"
        ),
        args![project, campaign, now, limit, lease_until],
        read_taken,
    )
    .await?;
    Ok(Taken::of(rows))
}

/// Claims up to `limit` mails of campaigns that a process left half handed over, whether their campaign is still being
/// sent or not. Few mails are in that state, so they are looked for by it.
pub async fn claim_abandoned(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    limit: i64,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Taken> {
    let rows = tx.all(
        format!(
            "with doubtful as materialized (select id, campaign_id, due_at from emails \
             where project_id = $1 and status = 'SENDING'), \
             picked as (select id from emails where project_id = $1 and id in \
             (select id from doubtful where campaign_id is not null and due_at <= $2) order by id limit $3 {{skip_locked}}) \
             update emails set due_at = $4, claim = claim + 1 \
             where project_id = $1 and id in (select id from picked) returning {CLAIMED}"
        ),
        args![project, now, limit, lease_until],
        read_taken,
    )
    .await?;
    Ok(Taken::of(rows))
}

/// Looks at the contacts of claimed mails again. Returns the mails that are still to be sent, to where their contacts
/// are now; the others are skipped. Mails that were half handed over are returned as they are.
pub async fn recheck(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    claimed: Vec<Claimed>,
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<Vec<Claimed>> {
    let addresses: BTreeSet<&EmailAddress> = claimed.iter().map(|mail| &mail.recipient).collect();
    let (contacts, look, outside) = join3(
        contacts_of(tx, project, claimed.iter()),
        Look::at(tx, project, &addresses, now),
        topic::mails_outside(tx, project, claimed.iter().filter_map(Claimed::topic_heeded)),
    )
    .await;
    let (mut contacts, look, outside) = (contacts?, look?, outside?);
    // few have another address since their mail was frozen
    let known = |contact: &&ContactNow| !addresses.contains(&contact.email);
    let others: BTreeSet<EmailAddress> =
        contacts.values().filter(known).map(|contact| contact.email.clone()).collect();
    let look_at_others = Look::at(tx, project, &others.iter().collect(), now).await?;
    let mut kept = Vec::with_capacity(claimed.len());
    let mut skipped: Vec<(CampaignId, Unsent)> = Vec::new();
    let mut moved: Vec<(EmailId, EmailAddress)> = Vec::new();
    for mut mail in claimed {
        let campaign = match mail.campaign {
            Some(campaign) if mail.status == EmailStatus::Pending => campaign,
            _ => {
                kept.push(mail);
                continue;
            }
        };
        let Some(contact) = contacts.remove(&mail.id) else {
            skipped.push((campaign, Unsent::skipped(mail.id, Reason::Deleted)));
            continue;
        };
        let look = if others.contains(&contact.email) { &look_at_others } else { &look };
        if let Some(by) = look.find(&contact.email, mail.kind, false) {
            skipped.push((campaign, Unsent::suppressed(mail.id, by)));
            continue;
        }
        let (subscribed, in_topic) = (contact.subscribed, !outside.contains(&mail.id));
        let recipient = Recipient { subscribed, in_topic, suppressed: false };
        if let Some(reason) = excluded(mail.kind, recipient) {
            skipped.push((campaign, Unsent::skipped(mail.id, reason)));
            continue;
        }
        if contact.email != mail.recipient {
            if was_written_to(tx, project, campaign, &contact.email).await? {
                skipped.push((campaign, Unsent::skipped(mail.id, Reason::Duplicate)));
                continue;
            }
            moved.push((mail.id, contact.email.clone()));
            mail.recipient = contact.email;
        }
        kept.push(mail);
    }
    readdress(tx, project, &moved).await?;
    skip(tx, project, &skipped, deltas, now).await?;
    Ok(kept)
}

/// Whether a campaign has written to an address whose contact has left it since.
async fn was_written_to(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    campaign: CampaignId,
    email: &EmailAddress,
) -> Result<bool> {
    rx.exists(
        "select 1 from emails where project_id = $1 and campaign_id = $2 and former = $3 limit 1",
        args![project, campaign, former(campaign, email)],
    )
    .await
}

async fn readdress(tx: &mut Tx<'_>, project: ProjectNumber, moved: &[(EmailId, EmailAddress)]) -> Result<()> {
    tx.each(
        "update emails set recipient = r.recipient, recipient_name = null \
         from {rows r: project_id int, email_id id, recipient text} \
         where emails.project_id = r.project_id and emails.id = r.email_id",
        &[
            Arg::Ints(vec![Some(project.0); moved.len()]),
            Arg::Ids(moved.iter().map(|(id, _)| Some((*id).into())).collect()),
            Arg::Texts(moved.iter().map(|(_, email)| Some(email.as_str().into())).collect()),
        ],
    )
    .await?;
    Ok(())
}

async fn skip(
    tx: &mut Tx<'_>,
    project: ProjectNumber,
    skipped: &[(CampaignId, Unsent)],
    deltas: &mut Deltas,
    now: Timestamp,
) -> Result<()> {
    let mut by_campaign: HashMap<CampaignId, Vec<Unsent>> = HashMap::new();
    for (campaign, mail) in skipped {
        by_campaign.entry(*campaign).or_default().push(mail.clone());
    }
    for (campaign, mails) in by_campaign {
        ledger::skip(tx, project, campaign, &mails, deltas, now).await?;
    }
    let gone: Vec<_> =
        skipped.iter().filter(|(_, mail)| mail.reason == Reason::Deleted).map(|(_, mail)| mail.id).collect();
    ledger::blank(tx, project, &gone).await
}

/// How many mails of a project's campaigns are due, counted up to 100,000, and since when the first of them is.
pub async fn backlog(
    rx: &mut Rx<'_>,
    project: ProjectNumber,
    now: Timestamp,
) -> Result<(i64, Option<Timestamp>)> {
    let (mut depth, mut oldest) = (0, None::<Timestamp>);
    for campaign in active(rx, project, now).await? {
        let (count, since) = rx
            .one(
                "select count(*), min(due_at) from (select due_at from emails where project_id = $1 and campaign_id = $2 \
                 and due_at <= $3 order by due_at limit $4) as waiting",
                args![project, campaign, now, BACKLOG],
                |r| Ok((r.get::<i64>(0)?, r.get::<Option<Timestamp>>(1)?)),
            )
            .await?;
        depth += count;
        oldest = [oldest, since].into_iter().flatten().min();
    }
    Ok((depth.min(BACKLOG), oldest))
}
