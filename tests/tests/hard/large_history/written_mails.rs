//! Writes the campaigns and mails of a made-up history: accepted, handed over, and then learnt of.

use std::collections::HashMap;
use std::time::Duration;

use mailwright_core::attempt::{Attempt, AttemptOutcome};
use mailwright_core::campaign::{Audience, Campaign, CampaignStatus};
use mailwright_core::custom_data::Data;
use mailwright_core::email::{EmailSource, EmailStatus, Lane, Reason};
use mailwright_core::event::Activity;
use mailwright_core::ids::{CampaignId, EmailId, ProjectNumber};
use mailwright_core::suppression::{Match, MatchSource, SuppressionReason};
use mailwright_core::template::TemplateType;
use mailwright_core::time::Timestamp;
use mailwright_store::audience::event;
use mailwright_store::feedback::heat::{self, Heat};
use mailwright_store::feedback::mail as learnt;
use mailwright_store::insight::deltas::Deltas;
use mailwright_store::sending::campaign::{self, ledger, run};
use mailwright_store::sending::content::{self, Content};
use mailwright_store::sending::email::{self, ClaimRef, Mark, NewEmail, Origin, Outcome};
use mailwright_store::{Result, Tx, body};
use serde_json::json;

use super::made::{self, CampaignState, Fate, History, Left, Mail};
use super::moments::SECOND;
use super::written::Site;

/// Mails of one transaction.
const BATCH: usize = 500;

pub(super) async fn write(site: &Site, history: &History) {
    for number in 0..history.campaigns.len() {
        campaign_of(site, history, number).await;
    }
    let others = history.mails.partition_point(|mail| mail.campaign.is_some());
    for chunk in history.mails[others..].chunks(BATCH) {
        let new: Vec<NewEmail> = chunk.iter().map(|mail| new_email(site, history, mail)).collect();
        let batch = Batch::new(site, history, chunk);
        let written = site.db.write(body!(async |tx| {
            let mut deltas = Deltas::default();
            email::enqueue(tx, &new, &mut deltas).await?;
            batch.store(tx, deltas).await
        }));
        written.await.expect("mails are stored");
    }
}

/// Stores a campaign with its mails.
async fn campaign_of(site: &Site, history: &History, number: usize) {
    let (project, now) = (site.project, site.now);
    let made = &history.campaigns[number];
    let (draft, ended) = (draft(site, made), ended(site, made));
    let content = content(number, made);
    let heat: Vec<_> = made.links.iter().map(|link| (link.clicks, link.people, link.machines)).collect();
    let id = made.id;
    let written = site.db.write(body!(async |tx| {
        campaign::create(tx, project, &draft).await?;
        content::save(tx, &[(project, &content)], now).await?;
        if ended.sent_at.is_some() {
            run::start(tx, project, id, &content.hash).await?;
        }
        campaign::save_state(tx, project, &ended).await?;
        let mut deltas = Deltas::default();
        for (link, (clicks, people, machines)) in heat.into_iter().enumerate() {
            for of in [(Heat::Clicks, clicks), (Heat::People, people), (Heat::Machines, machines)] {
                heat::count(&mut deltas, project, id, link as i64, of);
            }
        }
        deltas.save(tx).await
    }));
    written.await.expect("a campaign is stored");
    let run = run_of(site, made, number);
    let mails = history.mails.iter().filter(|mail| mail.campaign == Some(number)).collect::<Vec<_>>();
    for chunk in mails.chunk_by(|one, other| one.at == other.at).flat_map(|same| same.chunks(BATCH)) {
        let entries: Vec<run::Entry> = chunk.iter().map(|mail| entry(history, mail)).collect();
        let (batch, run, at) = (Batch::new(site, history, chunk.iter().copied()), run.clone(), chunk[0].at);
        let written = site.db.write(body!(async |tx| {
            let mut deltas = Deltas::default();
            run::freeze(tx, &run, &entries, &mut deltas, Timestamp(at)).await?;
            batch.store(tx, deltas).await
        }));
        written.await.expect("mails of a campaign are stored");
    }
    if ended_at(made).is_some() {
        let ended = self::ended(site, made);
        let written = site.db.write(body!(async |tx| {
            let ledger = ledger::read(tx, project, &[id]).await?.remove(&id).unwrap_or_default();
            let ended = Campaign { recipients: ledger.recipients, ..ended };
            run::finish(tx, project, &ended, &ledger.equation()).await
        }));
        written.await.expect("a campaign is over");
    }
}

fn ended_at(made: &made::Campaign) -> Option<i64> {
    if let CampaignState::Sent(at) = made.state { Some(at + SECOND) } else { None }
}

fn draft(site: &Site, made: &made::Campaign) -> Campaign {
    Campaign {
        id: made.id,
        name: made.name.clone(),
        description: None,
        subject: format!("About {}", made.name),
        body: "<p>News</p>".to_owned(),
        from: site.from.clone(),
        from_name: None,
        reply_to: None,
        kind: TemplateType::Marketing,
        tracking: None,
        topic: None,
        status: CampaignStatus::Draft,
        audience: Audience::All,
        scheduled_for: None,
        recipients: 0,
        sent_at: None,
        paused_at: None,
        frozen_at: None,
        finished_at: None,
        note: None,
        created_at: Timestamp(made.at),
        updated_at: Timestamp(made.at),
    }
}

/// A campaign as it is today.
fn ended(site: &Site, made: &made::Campaign) -> Campaign {
    let draft = draft(site, made);
    match made.state {
        CampaignState::Draft => draft,
        CampaignState::Scheduled => {
            Campaign { status: CampaignStatus::Scheduled, scheduled_for: Some(site.far()), ..draft }
        }
        CampaignState::Cancelled => {
            Campaign { status: CampaignStatus::Cancelled, finished_at: Some(draft.created_at), ..draft }
        }
        CampaignState::Sent(at) => Campaign {
            status: CampaignStatus::Sent,
            sent_at: Some(Timestamp(at)),
            finished_at: ended_at(made).map(Timestamp),
            ..draft
        },
    }
}

fn content(number: usize, made: &made::Campaign) -> Content {
    let links: Vec<_> = made.links.iter().map(|link| json!([link.url, "Look", null])).collect();
    Content {
        hash: hash(number),
        subject: "News".to_owned(),
        body: "<p>News</p>".to_owned(),
        text: None,
        headers: json!([]),
        attachments: json!([]),
        shared: Data::default(),
        tracking: None,
        links: Some(json!(links).to_string().into()),
    }
}

fn hash(number: usize) -> [u8; 32] {
    [number as u8 + 1; 32]
}

fn run_of(site: &Site, made: &made::Campaign, number: usize) -> run::Run {
    run::Run {
        project: site.project,
        id: made.id,
        status: CampaignStatus::Sending,
        kind: TemplateType::Marketing,
        subject: "News".to_owned(),
        from: site.from.clone(),
        from_name: None,
        reply_to: None,
        audience: Audience::All,
        sent_at: Some(Timestamp(made.at)),
        content_hash: hash(number).to_vec(),
        frozen_to: None,
        frozen_at: None,
        retry: None,
        next_at: Timestamp(made.at),
        topic: None,
        is_held: false,
    }
}

fn suppression(history: &History, mail: &Mail) -> Option<Match> {
    let address = Site::address(&history.contacts[mail.contact].address);
    matches!(mail.fate, Fate::Suppressed)
        .then(|| Match::of_address(MatchSource::Project, &address, SuppressionReason::Manual))
}

fn entry(history: &History, mail: &Mail) -> run::Entry {
    let contact = &history.contacts[mail.contact];
    let skipped = match mail.fate {
        Fate::Suppressed => Some(Reason::Suppressed),
        Fate::Skipped => Some(Reason::Unsubscribed),
        _ => None,
    };
    run::Entry {
        id: mail.id,
        contact: contact.id,
        recipient: Site::address(&contact.address),
        variables: "{}".to_owned(),
        skipped,
        suppression: suppression(history, mail),
        message_id: format!("{}@example.com", mail.id),
    }
}

fn new_email(site: &Site, history: &History, mail: &Mail) -> NewEmail {
    let contact = &history.contacts[mail.contact];
    let step = mail.workflow.map(|number| {
        let (workflow, step) = site.workflows[number];
        Origin { workflow, step, execution: (*mail.id.as_uuid()).into() }
    });
    let (source, lane) = match step {
        Some(_) => (EmailSource::Workflow, Lane::Workflow),
        None => (EmailSource::Transactional, Lane::Transactional),
    };
    NewEmail {
        project: site.project,
        id: mail.id,
        contact: contact.id,
        recipient: Site::address(&contact.address),
        recipient_name: None,
        from: site.from.clone(),
        from_name: None,
        reply_to: None,
        subject: "Your order".to_owned(),
        content_hash: hash(200),
        variables: "{}".to_owned(),
        source,
        kind: TemplateType::Transactional,
        lane,
        template: mail.template.map(|number| site.templates[number]),
        topic: None,
        step,
        has_attachments: false,
        message_id: format!("{}@example.com", mail.id),
        suppression: suppression(history, mail),
        is_held: false,
        at: Timestamp(mail.at),
    }
}

/// What becomes of some mails that were accepted.
#[derive(Clone)]
struct Batch {
    project: ProjectNumber,
    outcomes: Vec<Outcome>,
    marks: Vec<Mark>,
    learnt: HashMap<EmailId, Vec<(Activity, Timestamp)>>,
    seen_by_machines: Vec<EmailId>,
    unsubscribed: Vec<(EmailId, Timestamp)>,
    events: Vec<event::NewEvent>,
    far: Timestamp,
    last: Timestamp,
}

impl Batch {
    fn new<'m>(site: &Site, history: &History, mails: impl IntoIterator<Item = &'m Mail>) -> Self {
        let mut batch = Self {
            project: site.project,
            outcomes: Vec::new(),
            marks: Vec::new(),
            learnt: HashMap::new(),
            seen_by_machines: Vec::new(),
            unsubscribed: Vec::new(),
            events: Vec::new(),
            far: site.far(),
            last: Timestamp(history.end),
        };
        for mail in mails {
            let claim = ClaimRef { project: site.project, id: mail.id, claim: 0 };
            let campaign = mail.campaign.map(|number| history.campaigns[number].id);
            batch.outcomes.extend(outcome(claim, campaign, mail, batch.far));
            if matches!(mail.fate, Fate::BeingHandedOver) {
                let claim = ClaimRef { claim: 1, ..claim };
                batch.marks.push(Mark {
                    claim,
                    first_attempt_at: Timestamp(mail.at),
                    links: None,
                    transport: "default".into(),
                });
            }
            if let Fate::Sent(left) = &mail.fate {
                batch.learn(mail.id, left);
            }
            let events = history.events[mail.events.clone()].iter();
            batch.events.extend(events.map(|event| site.event(history, event)));
        }
        batch
    }

    fn learn(&mut self, mail: EmailId, left: &Left) {
        let mut learnt: Vec<(Activity, Timestamp)> = Vec::new();
        let mut add = |activity, at: Option<i64>| learnt.extend(at.map(|at| (activity, Timestamp(at))));
        add(Activity::Delivered, left.delivered);
        left.opens.iter().for_each(|at| add(Activity::Opened, Some(*at)));
        left.clicks.iter().for_each(|at| add(Activity::Clicked, Some(*at)));
        add(Activity::Bounced, left.bounced);
        add(Activity::Complained, left.complained);
        learnt.sort_by_key(|(_, at)| *at);
        if left.is_opened_by_machine {
            self.seen_by_machines.push(mail);
        }
        self.learnt.insert(mail, learnt);
        self.unsubscribed.extend(left.unsubscribed.map(|at| (mail, Timestamp(at))));
    }

    /// Stores it in the transaction in which the mails were accepted.
    async fn store(self, tx: &mut Tx<'_>, mut deltas: Deltas) -> Result<()> {
        let project = self.project;
        email::conclude(tx, &self.outcomes, &mut deltas, self.last).await?;
        // it is claimed, as it is by who hands it over
        let claims: Vec<ClaimRef> =
            self.marks.iter().map(|mark| ClaimRef { claim: 0, ..mark.claim }).collect();
        email::release(tx, &claims, self.far).await?;
        email::mark_sending(tx, &self.marks, self.far).await?;
        let ids: Vec<EmailId> = self.learnt.keys().copied().collect();
        let mut mails = learnt::lock(tx, project, &ids).await?;
        for mail in &mut mails {
            for (activity, at) in &self.learnt[&mail.id] {
                mail.now.learn(*activity, *at);
            }
            mail.now.machine_opens += i64::from(self.seen_by_machines.contains(&mail.id));
        }
        learnt::save(tx, project, &mails, self.last, &mut deltas).await?;
        for (mail, at) in &self.unsubscribed {
            ledger::count_unsubscribed(tx, project, *mail, &mut deltas, *at).await?;
        }
        event::append(tx, &self.events, &mut deltas).await?;
        deltas.save(tx).await
    }
}

/// The outcome of the hand-over of a mail that was tried.
fn outcome(claim: ClaimRef, campaign: Option<CampaignId>, mail: &Mail, far: Timestamp) -> Option<Outcome> {
    use AttemptOutcome as Of;
    let (status, of) = match &mail.fate {
        Fate::Suppressed | Fate::Skipped | Fate::BeingHandedOver => return None,
        Fate::Waiting => (EmailStatus::Pending, Of::Deferred),
        Fate::Failed => (EmailStatus::Failed, Of::Failed),
        Fate::InDoubt => (EmailStatus::InDoubt, Of::InDoubt),
        Fate::Refused(_) => (EmailStatus::Bounced, Of::Bounced),
        Fate::Sent(_) => (EmailStatus::Sent, Of::Sent),
    };
    let reason = match status {
        EmailStatus::Failed => Some(Reason::Rejected),
        EmailStatus::Bounced => Some(Reason::Bounced),
        _ => None,
    };
    let attempt = Attempt { at: Timestamp(mail.at).to_string(), outcome: Some(of), ..Attempt::default() };
    Some(Outcome {
        claim,
        campaign,
        from: EmailStatus::Pending,
        status,
        due_at: (status == EmailStatus::Pending).then_some(far),
        waits: Duration::ZERO,
        is_doubt: status == EmailStatus::InDoubt,
        attempt,
        error: None,
        reason,
        subject: None,
        sent_at: mail.left().map(|left| Timestamp(left.at)),
        bounced_at: if let Fate::Refused(at) = mail.fate { Some(Timestamp(at)) } else { None },
        has_left: mail.left().is_some(),
    })
}
