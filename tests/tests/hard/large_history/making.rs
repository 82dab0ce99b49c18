//! Makes a history up: what a project did over more than a year. The same seed and end make the same one.

use mailwright_core::workflow::kind::ExecutionStatus;
use mailwright_tests::random::Random;
use uuid::Uuid;

use super::made::{
    About, Campaign, CampaignState, Contact, Event, Execution, Fate, History, Inbound, Left, Link, Mail,
    Size, ZONES, id, zone,
};
use super::moments::{DAY, MINUTE, Moments, SECOND};

/// How far back it goes: a year, and some days more, so that every change of clocks is in it.
const LENGTH: i64 = 380 * DAY;
/// How much earlier the first contacts are.
const BEFORE: i64 = 50 * DAY;
/// Domains of the recipients.
const DOMAINS: u64 = 40;
/// Names of frequent events, and how many of a hundred tracked events have each.
const FREQUENT: [(&str, u64); 8] = [
    ("page.viewed", 50),
    ("item.added", 20),
    ("order.placed", 10),
    ("signup", 8),
    ("contact.subscribed", 1),
    ("contact.unsubscribed", 1),
    ("segment.vip.entry", 1),
    ("segment.vip.exit", 1),
];
/// How many rare names there are.
const RARE: u64 = 30;
/// Executions that are still under way.
const ACTIVE: usize = 20;
/// Campaigns that were not sent: drafts, scheduled and cancelled ones.
const UNSENT: usize = 6;

impl History {
    /// Makes up a history that ends at `end`.
    pub(super) fn make(mut random: Random, size: Size, end: i64) -> Self {
        let start = end - LENGTH;
        let moments = Moments::new((start, end), &ZONES.map(zone));
        let mut made = Self {
            start,
            end,
            contacts: Vec::new(),
            campaigns: Vec::new(),
            mails: Vec::new(),
            events: Vec::new(),
            tracked: 0..0,
            executions: Vec::new(),
            inbound: Vec::new(),
        };
        for number in 0..size.contacts {
            let passed = (LENGTH + BEFORE) * number as i64 / size.contacts as i64;
            let address = format!("c{number}@host{}.test", random.below(DOMAINS));
            let contact = Contact { id: Uuid::nil().into(), at: start - BEFORE + passed, address };
            made.contacts.push(contact);
        }
        made.campaigns = campaigns(&mut random, size.campaigns, &moments);
        let mut making = Making { made, random, size, moments };
        making.mails_of_campaigns();
        making.other_mails();
        making.tracked();
        making.executions();
        making.made
    }
}

fn campaigns(random: &mut Random, count: usize, moments: &Moments) -> Vec<Campaign> {
    let mut campaigns = Vec::new();
    for number in 0..count {
        let at = moments.any(random);
        let state = match number {
            0..2 => CampaignState::Draft,
            2..4 => CampaignState::Scheduled,
            4..UNSENT => CampaignState::Cancelled,
            _ => CampaignState::Sent((at + random.below(3 * DAY as u64) as i64).min(moments.end() - 1)),
        };
        let mut link = || {
            let url = format!("https://shop.test/{}", random.below(15));
            Link { url, clicks: 0, people: 0, machines: 0 }
        };
        let links = (0..=number % 5).map(|_| link()).collect();
        campaigns.push(Campaign { id: id(at, random), name: format!("News {number}"), at, state, links });
    }
    campaigns
}

struct Making {
    made: History,
    random: Random,
    size: Size,
    moments: Moments,
}

impl Making {
    fn chance(&mut self, of_thousand: u64) -> bool {
        self.random.below(1_000) < of_thousand
    }

    fn one_of(&mut self, count: usize) -> Option<usize> {
        (count > 0).then(|| self.random.below(count as u64) as usize)
    }

    /// Half of all mails.
    fn mails_of_campaigns(&mut self) {
        let sent: Vec<(usize, i64)> = self
            .made
            .campaigns
            .iter()
            .enumerate()
            .filter_map(
                |(number, one)| {
                    if let CampaignState::Sent(at) = one.state { Some((number, at)) } else { None }
                },
            )
            .collect();
        let (contacts, each) = (self.size.contacts, self.size.mails / 2 / sent.len().max(1));
        for (campaign, at) in sent {
            // each contact gets one mail of a campaign at most
            let first = self.random.below(contacts as u64) as usize;
            for number in 0..each.min(contacts) {
                let at = (at + number as i64 / 200 * SECOND).min(self.made.end - 1);
                self.mail(at, (first + number) % contacts, Some(campaign));
            }
        }
    }

    fn other_mails(&mut self) {
        while self.made.mails.len() < self.size.mails {
            let contact = self.random.below(self.size.contacts as u64) as usize;
            let at = self.moments.any(&mut self.random);
            self.mail(at, contact, None);
        }
    }

    fn mail(&mut self, at: i64, contact: usize, campaign: Option<usize>) {
        let is_of_workflow = campaign.is_none() && self.chance(300);
        let (workflows, templates) = (self.size.workflows, self.size.templates);
        let workflow = if is_of_workflow { self.one_of(workflows) } else { None };
        let template = if campaign.is_none() && self.chance(500) { self.one_of(templates) } else { None };
        let fate = match self.random.below(1_000) {
            0..30 => Fate::Suppressed,
            30..60 if campaign.is_some() => Fate::Skipped,
            60..70 if campaign.is_none() => Fate::Waiting,
            70..73 if campaign.is_none() => Fate::BeingHandedOver,
            80..100 => Fate::Failed,
            100..110 => Fate::InDoubt,
            110..130 => Fate::Refused(at + SECOND),
            _ => Fate::Sent(self.left(at, campaign)),
        };
        let number = self.made.mails.len();
        let from = self.made.events.len();
        for (name, at) in told(&fate) {
            let about = About::Mail(number);
            self.made.events.push(Event {
                id: id(at, &mut self.random),
                at,
                name: name.to_owned(),
                contact,
                about,
            });
        }
        let (id, events) = (id(at, &mut self.random), from..self.made.events.len());
        self.made.mails.push(Mail { id, at, contact, campaign, workflow, template, fate, events });
    }

    /// What becomes of a mail that was accepted at a time. What would come after the end does not happen.
    fn left(&mut self, accepted: i64, campaign: Option<usize>) -> Left {
        let end = self.made.end;
        let at = accepted + 1 + self.random.below(60 * SECOND as u64) as i64;
        let mut left = Left { at, ..Left::default() };
        let mut later =
            |most: i64| Some(at + 1 + self.random.below(most as u64) as i64).filter(|at| *at < end);
        let (soon, late, last) = (later(10 * MINUTE), later(5 * DAY), later(9 * DAY));
        let mut visits: Vec<i64> = [DAY, 10 * DAY, 70 * DAY].into_iter().filter_map(&mut later).collect();
        visits.sort_unstable();
        left.delivered = soon.filter(|_| self.chance(850));
        if self.chance(450) {
            let most = 1 + self.random.below(3) as usize;
            left.opens = visits.iter().copied().take(most).collect();
        }
        if !left.opens.is_empty() && self.chance(300) {
            let most = 1 + self.random.below(2) as usize;
            left.clicks = visits.iter().copied().take(most).collect();
        }
        match self.random.below(1_000) {
            0..10 => left.bounced = late,
            10..15 => left.complained = late,
            20..45 => left.unsubscribed = last,
            _ => {}
        }
        left.is_opened_by_machine = self.chance(100);
        if let Some(campaign) = campaign {
            self.follow_links(campaign, left.clicks.len());
        }
        left
    }

    /// A recipient of a campaign follows one of its links so many times, and sometimes a machine does.
    fn follow_links(&mut self, campaign: usize, clicks: usize) {
        let is_machine = self.chance(50);
        let links = &mut self.made.campaigns[campaign].links;
        let place = self.random.below(links.len() as u64) as usize;
        let link = &mut links[place];
        link.clicks += clicks as i64;
        link.people += i64::from(clicks > 0);
        link.machines += i64::from(is_machine);
    }

    /// Events that somebody recorded, and mails that came in.
    fn tracked(&mut self) {
        let first = self.made.events.len();
        for number in 0..self.size.inbound {
            let contact = self.random.below(self.size.contacts as u64) as usize;
            let at = self.moments.any(&mut self.random);
            self.made.inbound.push(Inbound { id: id(at, &mut self.random), at, contact });
            let (id, name) = (id(at, &mut self.random), "email.received".to_owned());
            self.made.events.push(Event { id, at, name, contact, about: About::Inbound(number) });
        }
        for _ in 0..self.size.tracked {
            let contact = self.random.below(self.size.contacts as u64) as usize;
            let at = self.moments.any(&mut self.random);
            let name = self.name();
            let id = id(at, &mut self.random);
            self.made.events.push(Event { id, at, name, contact, about: About::Nothing });
        }
        self.made.tracked = first..self.made.events.len();
    }

    fn name(&mut self) -> String {
        let mut number = self.random.below(100);
        for (name, share) in FREQUENT {
            if number < share {
                return name.to_owned();
            }
            number -= share;
        }
        format!("step.{:02}", self.random.below(RARE))
    }

    fn executions(&mut self) {
        let ended = [
            ExecutionStatus::Completed,
            ExecutionStatus::Exited,
            ExecutionStatus::Failed,
            ExecutionStatus::Cancelled,
        ];
        for number in 0..self.size.executions {
            let at = self.moments.any(&mut self.random);
            // a contact goes through a workflow once at a time
            let others = self.size.contacts - ACTIVE;
            let contact = if number < ACTIVE { number } else { ACTIVE + number * 7_919 % others };
            let after = 1 + self.random.below(20 * DAY as u64) as i64;
            let status = ended[self.random.below(ended.len() as u64) as usize];
            let ended = (number >= ACTIVE).then(|| ((at + after).min(self.made.end - 1).max(at), status));
            let workflow = number % self.size.workflows;
            let id = id(at, &mut self.random);
            self.made.executions.push(Execution { id, at, workflow, contact, ended });
        }
    }
}

/// The events that tell of a fate, in the order of time.
fn told(fate: &Fate) -> Vec<(&'static str, i64)> {
    let mut told = Vec::new();
    match fate {
        Fate::Refused(at) => told.push(("email.bounce", *at)),
        Fate::Sent(left) => {
            told.push(("email.sent", left.at));
            told.extend(left.delivered.map(|at| ("email.delivery", at)));
            told.extend(left.opens.iter().map(|at| ("email.open", *at)));
            told.extend(left.clicks.iter().map(|at| ("email.click", *at)));
            told.extend(left.bounced.map(|at| ("email.bounce", at)));
            told.extend(left.complained.map(|at| ("email.complaint", at)));
            told.extend(left.unsubscribed.map(|at| ("email.unsubscribe", at)));
        }
        _ => {}
    }
    told.sort_by_key(|(_, at)| *at);
    told
}
