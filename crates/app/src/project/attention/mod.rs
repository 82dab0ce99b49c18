//! What of a project needs a person: a short list, of what is known already.
//!
//! Everything is read by an index or from a counter, and each kind of thing a few times at most, so that a page can ask
//! whenever it is opened.

mod items;

use std::collections::HashMap;
use std::time::Duration;

use mailwright_core::attention::{AttentionKind, Severity, TargetKind};
use mailwright_core::audit::Actor;
use mailwright_core::campaign::Ledger;
use mailwright_core::domain::Domain;
use mailwright_core::email::Lane;
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_core::reputation::Stats;
use mailwright_core::time::Timestamp;
use mailwright_store::account::user::{self, User};
use mailwright_store::background::job::Job;
use mailwright_store::background::job_list;
use mailwright_store::delivery::next_hop::{self, Known};
use mailwright_store::delivery::suspension::{self, Suspension};
use mailwright_store::sending::campaign::ledger;
use mailwright_store::sending::campaign::trouble::{self, Paused};
use mailwright_store::sending::email::{self, WaitingMail};
use mailwright_store::sending::{domain, held};
use mailwright_store::{Rx, body};

use crate::App;
use crate::delivery::reputation::evidence;
use crate::error::Result;

/// Most things that are told.
pub const MOST: usize = 20;
/// Most things of one kind.
const OF_A_KIND: usize = 5;
/// Most mails that are counted. More are told as so many "or more".
const COUNTED: i64 = 1_000;
/// Most waiting mails of a lane that are looked at.
const WAITING: i64 = 100;
/// How long a mail may wait for a reason outside of it before that is told. Many servers have a sender's first mail tried
/// again after some minutes.
const PATIENCE: Duration = Duration::from_mins(15);
/// For how long what is over is told.
const RECENT: Duration = Duration::from_hours(7 * 24);
/// Most campaigns whose sums are read.
const CAMPAIGNS: i64 = 10;

/// Something that needs a person.
#[derive(Debug, Clone)]
pub struct Attention {
    /// What it is.
    pub kind: AttentionKind,
    /// How urgent it is.
    pub severity: Severity,
    /// Since when, as far as that is known.
    pub since: Option<Timestamp>,
    /// It in a few words.
    pub title: String,
    /// More of it, and what to do.
    pub detail: String,
    /// What it is about, and its id if it has one.
    pub target: (TargetKind, Option<String>),
    /// The name of what it is about, where it has one.
    pub name: Option<String>,
    /// How many mails it is about, where it is about mails. As many as are counted at most mean that there may be more.
    pub count: Option<i64>,
}

/// What is read of a project.
struct Found {
    suspension: Option<Suspension>,
    domains: Vec<Domain>,
    hop: Option<Known>,
    waiting: Vec<WaitingMail>,
    held: i64,
    held_since: Option<Timestamp>,
    in_doubt: Vec<EmailId>,
    paused: Vec<Paused>,
    campaigns: Vec<(CampaignId, String)>,
    ledgers: HashMap<CampaignId, Ledger>,
    jobs: Vec<(Job, Timestamp)>,
    stats: Option<Stats>,
    user: Option<User>,
}

impl App {
    /// What of a project needs a person, the most urgent kinds first, and whether there is more.
    pub async fn attention(&self, project: &Project, actor: &Actor) -> Result<(Vec<Attention>, bool)> {
        let (number, now, hops) = (project.number, self.0.clock.now(), self.transports().next_hops());
        let caller = match actor {
            Actor::User { id, .. } => Some(*id),
            Actor::Key { .. } | Actor::Operator | Actor::Service => None,
        };
        let is_disabled = project.disabled;
        let found = self
            .read(body!(async |rx| {
                let mut found = read(rx, number, &hops, now).await?;
                if is_disabled {
                    found.suspension = suspension::recent(rx, number, 1).await?.into_iter().next();
                }
                if let Some(caller) = caller {
                    found.user = user::get(rx, caller).await?;
                }
                Ok(found)
            }))
            .await?;
        let limits = if self.bills() { Some(self.billing_limits(project).await?) } else { None };
        let mut all = Vec::new();
        if project.disabled {
            all.push(items::disabled(project, found.suspension.as_ref()));
        }
        all.extend(items::domains(&found.domains, self.mail_leaves()));
        all.extend(found.hop.as_ref().and_then(items::next_hop));
        all.extend(items::waiting(&found.waiting, now));
        all.extend(items::held_mails(found.held, found.held_since));
        if found.held == 0 {
            all.extend(items::in_doubt(&found.in_doubt));
        }
        all.extend(found.paused.iter().map(items::paused));
        all.extend(items::failures(&found.campaigns, &found.ledgers).take(OF_A_KIND));
        all.extend(found.jobs.iter().map(|(job, at)| items::of_job(job, *at)));
        all.extend(found.stats.as_ref().filter(|_| !project.disabled).and_then(items::reputation));
        all.extend(limits.iter().flat_map(items::of_limits));
        all.extend(found.user.as_ref().and_then(items::address));
        let has_more = all.len() > MOST;
        all.truncate(MOST);
        Ok((all, has_more))
    }
}

async fn read(
    rx: &mut Rx<'_>,
    number: ProjectNumber,
    hops: &[String],
    now: Timestamp,
) -> mailwright_store::Result<Found> {
    let recently = now.minus(RECENT);
    let mut waiting = Vec::new();
    for lane in Lane::ALL {
        waiting.extend(email::waiting(rx, number, lane, WAITING).await?);
    }
    let held = held::count_up_to(rx, number, COUNTED).await?;
    let campaigns = trouble::sent_since(rx, number, recently, CAMPAIGNS).await?;
    let ids: Vec<_> = campaigns.iter().map(|(id, _)| *id).collect();
    Ok(Found {
        suspension: None,
        domains: domain::all(rx, number).await?,
        hop: next_hop::worst(rx, hops, now).await?,
        waiting,
        held,
        held_since: match held {
            0 => None,
            _ => held::epoch::last(rx).await?.map(|epoch| epoch.raised_at),
        },
        in_doubt: email::in_doubt(rx, number, recently, COUNTED).await?,
        paused: trouble::paused(rx, number, OF_A_KIND as i64).await?,
        ledgers: ledger::read(rx, number, &ids).await?.into_iter().collect(),
        campaigns,
        jobs: job_list::in_trouble(rx, number, recently, OF_A_KIND as i64).await?,
        stats: evidence(rx, number, now).await?.map(|(_, stats)| stats),
        user: None,
    })
}
