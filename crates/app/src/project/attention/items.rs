//! The words for what needs a person.

use std::collections::HashMap;

use mailwright_core::attention::{AttentionKind, Severity, TargetKind};
use mailwright_core::billing::Category;
use mailwright_core::campaign::Ledger;
use mailwright_core::domain::Domain;
use mailwright_core::email::RecipientState;
use mailwright_core::ids::{CampaignId, EmailId};
use mailwright_core::job::{JobKind, JobState};
use mailwright_core::project::Project;
use mailwright_core::reputation::{Health, Level, Stats};
use mailwright_core::time::Timestamp;
use mailwright_store::account::user::User;
use mailwright_store::background::job::Job;
use mailwright_store::delivery::next_hop::Known;
use mailwright_store::delivery::suspension::Suspension;
use mailwright_store::sending::campaign::trouble::Paused;
use mailwright_store::sending::email::WaitingMail;

use super::{Attention, COUNTED, OF_A_KIND, PATIENCE, WAITING};
use crate::project::billing::LimitsView;

pub(super) fn disabled(project: &Project, suspension: Option<&Suspension>) -> Attention {
    let reason = suspension.map_or("", |suspension| suspension.reason.as_str());
    Attention {
        kind: AttentionKind::ProjectDisabled,
        severity: Severity::Critical,
        since: suspension.map(|suspension| suspension.started_at),
        title: "The project is disabled".to_owned(),
        detail: format!("Nothing is sent, and nothing can be changed. {reason}").trim_end().to_owned(),
        target: (TargetKind::Project, Some(project.id.to_string())),
        name: None,
        count: None,
    }
}

pub(super) fn domains(all: &[Domain], leaves: bool) -> impl Iterator<Item = Attention> {
    all.iter().filter(move |domain| !domain.may_send(leaves)).take(OF_A_KIND).map(|domain| {
        let name = &domain.name;
        let is_new = domain.last_check.is_null();
        Attention {
            kind: AttentionKind::DomainUnverified,
            severity: if is_new { Severity::Warning } else { Severity::Critical },
            since: Some(domain.updated_at),
            title: format!("The domain {name} is not verified"),
            detail: "No mail can be sent from it. Create the DNS records that are missing, and verify it."
                .to_owned(),
            target: (TargetKind::Domain, Some(domain.id.to_string())),
            name: Some(name.to_string()),
            count: None,
        }
    })
}

/// What keeps all mail from leaving. That the next hop refuses some project's mail is told with the mails that wait.
pub(super) fn next_hop(known: &Known) -> Option<Attention> {
    let trouble = known.trouble.as_deref().filter(|trouble| *trouble != "refused")?;
    let title = match trouble {
        "login" => "The mail server refuses the login",
        _ => "The mail server cannot be reached",
    };
    Some(Attention {
        kind: AttentionKind::NextHopTrouble,
        severity: Severity::Critical,
        since: None,
        title: title.to_owned(),
        detail: "All mail waits, and is sent once the server takes it again. The operator of the service has to look \
                 at it."
            .to_owned(),
        target: (TargetKind::Delivery, None),
        name: None,
        count: None,
    })
}

pub(super) fn waiting(mails: &[WaitingMail], now: Timestamp) -> Option<Attention> {
    let explained =
        mails.iter().filter(|mail| mail.error.is_some() && now.since(mail.created_at) >= PATIENCE);
    let count = explained.clone().count();
    let oldest = explained.min_by_key(|mail| mail.created_at)?;
    let more = if mails.len() as i64 >= WAITING { " or more" } else { "" };
    Some(Attention {
        kind: AttentionKind::MailsWait,
        severity: Severity::Warning,
        since: Some(oldest.created_at),
        title: format!("{} waiting", mails_in_words(count, more)),
        detail: oldest.error.clone().unwrap_or_default(),
        target: (TargetKind::Delivery, None),
        name: None,
        count: Some(count as i64),
    })
}

fn mails_in_words(count: usize, more: &str) -> String {
    if count == 1 && more.is_empty() { "1 mail is".to_owned() } else { format!("{count}{more} mails are") }
}

pub(super) fn held_mails(count: i64, since: Option<Timestamp>) -> Option<Attention> {
    let more = if count >= COUNTED { " or more" } else { "" };
    (count > 0).then(|| Attention {
        kind: AttentionKind::HeldMails,
        severity: Severity::Critical,
        since,
        title: format!("{} held", mails_in_words(count as usize, more)),
        detail:
            "A backup was restored, and these may have been sent before. They leave, or are dropped, once \
                 somebody decides."
                .to_owned(),
        target: (TargetKind::Held, None),
        name: None,
        count: Some(count),
    })
}

pub(super) fn in_doubt(mails: &[EmailId]) -> Option<Attention> {
    let first = mails.first()?;
    let more = if mails.len() as i64 >= COUNTED { " or more" } else { "" };
    Some(Attention {
        kind: AttentionKind::MailsInDoubt,
        severity: Severity::Warning,
        since: Some(first.instant()),
        title: format!("{} in doubt", mails_in_words(mails.len(), more)),
        detail: "The service was interrupted while it handed them over, and nobody knows whether they were sent. They are \
                 not sent again by themselves."
            .to_owned(),
        target: (TargetKind::Emails, None),
        name: None,
        count: Some(mails.len() as i64),
    })
}

pub(super) fn paused(campaign: &Paused) -> Attention {
    let by_service = campaign.note.as_deref();
    Attention {
        kind: AttentionKind::CampaignPaused,
        severity: if by_service.is_some() { Severity::Critical } else { Severity::Info },
        since: Some(campaign.at),
        title: format!("The campaign {} is paused", campaign.name),
        detail: by_service.unwrap_or("Somebody paused it. Resume it, or cancel it.").to_owned(),
        target: (TargetKind::Campaign, Some(campaign.id.to_string())),
        name: Some(campaign.name.clone()),
        count: None,
    }
}

pub(super) fn failures(
    campaigns: &[(CampaignId, String)],
    ledgers: &HashMap<CampaignId, Ledger>,
) -> impl Iterator<Item = Attention> {
    campaigns.iter().filter_map(|(id, name)| {
        let ledger = ledgers.get(id)?;
        let count = |state| ledger.count(state);
        let (failed, doubt) = (count(RecipientState::Failed), count(RecipientState::InDoubt));
        let detail = match (failed, doubt) {
            (0, 0) => return None,
            (failed, 0) => format!("{failed} of its mails could not be sent."),
            (0, doubt) => format!("Of {doubt} of its mails nobody knows whether they were sent."),
            (failed, doubt) => {
                format!("{failed} of its mails could not be sent, and of {doubt} nobody knows.")
            }
        };
        Some(Attention {
            kind: AttentionKind::CampaignFailures,
            severity: Severity::Info,
            since: None,
            title: format!("Not all mails of the campaign {name} were sent"),
            detail: format!("{detail} They can be retried."),
            target: (TargetKind::Campaign, Some(id.to_string())),
            name: Some(name.clone()),
            count: Some(failed + doubt),
        })
    })
}

pub(super) fn of_job(job: &Job, at: Timestamp) -> Attention {
    let what = match job.kind {
        JobKind::ImportContacts => "An import of contacts",
        JobKind::ImportSuppressions => "An import of addresses that get no mail",
        JobKind::SubscribeContacts | JobKind::UnsubscribeContacts | JobKind::DeleteContacts => {
            "A change of many contacts"
        }
        JobKind::EnrolSegment => "An enrolment of a segment",
        JobKind::MigrateExecutions => "A move of executions to another version",
        JobKind::SimulateWorkflow => "A rehearsal of a workflow",
        JobKind::VerifyAddresses => "A verification of addresses",
    };
    let is_over = job.state == JobState::Failed;
    let (kind, severity, title) = if is_over {
        (AttentionKind::JobFailed, Severity::Warning, format!("{what} failed"))
    } else {
        (AttentionKind::JobDelayed, Severity::Warning, format!("{what} is delayed"))
    };
    let untold = if is_over { "It was given up." } else { "It failed, and is tried again." };
    Attention {
        kind,
        severity,
        since: Some(at),
        title,
        detail: job.failed_reason.clone().unwrap_or_else(|| untold.to_owned()),
        target: (TargetKind::Job, Some(job.id.to_string())),
        name: None,
        count: None,
    }
}

pub(super) fn reputation(stats: &Stats) -> Option<Attention> {
    let health = Health::of(stats);
    let (severity, words) = match health.worst() {
        Level::Healthy => return None,
        Level::Warning => (Severity::Warning, health.words(Level::Warning)),
        Level::Critical => (Severity::Critical, health.words(Level::Critical)),
    };
    Some(Attention {
        kind: AttentionKind::Reputation,
        severity,
        since: None,
        title: "The project may be disabled".to_owned(),
        detail: format!(
            "{} Remove addresses that do not exist, and write to people who asked for it.",
            words.join(" ")
        ),
        target: (TargetKind::Security, None),
        name: None,
        count: None,
    })
}

/// The limits that are reached or nearly so. One that all categories share is told once.
pub(super) fn of_limits(limits: &LimitsView) -> Vec<Attention> {
    let mut told = Vec::new();
    let [first, ..] = limits.categories;
    let is_shared =
        limits.categories.iter().all(|limit| (limit.limit, limit.usage) == (first.limit, first.usage));
    for limit in &limits.categories {
        let Some(most) = limit.limit.filter(|_| limit.is_warning || limit.is_blocked) else { continue };
        let (kind, severity, state) = if limit.is_blocked {
            (AttentionKind::LimitReached, Severity::Critical, "reached")
        } else {
            (AttentionKind::LimitNear, Severity::Warning, "nearly reached")
        };
        let of = if is_shared { "mails".to_owned() } else { mails_of(limit.category).to_owned() };
        told.push(Attention {
            kind,
            severity,
            since: None,
            title: format!("The limit on {of} of this month is {state}"),
            detail: format!(
                "{} of {most} are used. More are refused, or wait for the next month.",
                limit.usage
            ),
            target: (TargetKind::Billing, None),
            name: None,
            count: None,
        });
        if is_shared {
            break;
        }
    }
    told
}

fn mails_of(category: Category) -> &'static str {
    match category {
        Category::Workflows => "mails of workflows",
        Category::Campaigns => "mails of campaigns",
        Category::Transactional => "transactional mails",
        Category::Inbound => "mails that come in",
    }
}

pub(super) fn address(user: &User) -> Option<Attention> {
    (!user.email_verified).then(|| Attention {
        kind: AttentionKind::AddressUnverified,
        severity: Severity::Info,
        since: Some(user.created_at),
        title: "Your address is not verified".to_owned(),
        detail: "Follow the link in the mail that was sent to you, or ask for another one.".to_owned(),
        target: (TargetKind::User, Some(user.id.to_string())),
        name: None,
        count: None,
    })
}
