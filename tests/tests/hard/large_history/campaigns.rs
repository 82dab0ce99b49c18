//! The figures of campaigns, counted again.

use std::collections::BTreeMap;

use mailwright_testkit::App;
use mailwright_tests::{items, read};
use serde_json::{Value, json};

use super::figures::period;
use super::made::{Campaign, CampaignState, Fate, History};

/// Most rows of the best campaigns, and of links.
const MOST_CAMPAIGNS: usize = 50;
const MOST_LINKS: usize = 100;

/// What became of the mails of a campaign.
#[derive(Debug, Default)]
struct Counted {
    audience: i64,
    recipients: i64,
    /// By state and reason.
    states: BTreeMap<(&'static str, Option<&'static str>), i64>,
    delivered: i64,
    opened: i64,
    clicked: i64,
    bounced: i64,
    complained: i64,
    unsubscribed: i64,
    opened_by_machines: i64,
}

impl Counted {
    fn accepted(&self) -> i64 {
        self.states.get(&("ACCEPTED", None)).copied().unwrap_or_default()
    }

    fn by_reason(&self, wanted: &str) -> Value {
        let of_state = self.states.iter().filter(|((state, _), _)| *state == wanted);
        of_state.map(|((_, reason), count)| (reason.unwrap_or("other").to_owned(), json!(count))).collect()
    }
}

/// Counts the mails of all campaigns.
fn count(history: &History) -> Vec<Counted> {
    let mut all: Vec<Counted> = history.campaigns.iter().map(|_| Counted::default()).collect();
    for mail in &history.mails {
        let Some(number) = mail.campaign else { continue };
        let counted = &mut all[number];
        let state = match mail.fate {
            Fate::Suppressed => ("SKIPPED", Some("suppressed")),
            Fate::Skipped => ("SKIPPED", Some("unsubscribed")),
            Fate::Waiting | Fate::BeingHandedOver => ("WAITING", None),
            Fate::Failed => ("FAILED", Some("rejected")),
            Fate::InDoubt => ("IN_DOUBT", None),
            Fate::Refused(_) => ("FAILED", Some("bounced")),
            Fate::Sent(_) => ("ACCEPTED", None),
        };
        *counted.states.entry(state).or_default() += 1;
        counted.audience += 1;
        counted.recipients += i64::from(state.0 != "SKIPPED");
        counted.bounced += i64::from(mail.is_bounced());
        let Some(left) = mail.left() else { continue };
        let is_lost = left.bounced.is_some() || left.complained.is_some();
        counted.delivered += i64::from(left.delivered.is_some());
        counted.opened += i64::from(!left.opens.is_empty());
        counted.clicked += i64::from(!left.clicks.is_empty());
        counted.complained += i64::from(left.complained.is_some());
        counted.unsubscribed += i64::from(left.unsubscribed.is_some() && !is_lost);
        counted.opened_by_machines += i64::from(left.is_opened_by_machine);
    }
    all
}

fn share(count: i64, of: i64) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * count as f64 / of as f64 }
}

fn rounded(count: i64, of: i64) -> f64 {
    (share(count, of) * 10.0).round() / 10.0
}

fn sent_at(campaign: &Campaign) -> Option<i64> {
    if let CampaignState::Sent(at) = campaign.state { Some(at) } else { None }
}

pub(super) async fn check(app: &App, history: &History, periods: &[(i64, i64)]) {
    let counted = count(history);
    for (campaign, counted) in history.campaigns.iter().zip(&counted) {
        ledger(app, campaign, counted).await;
    }
    for period in periods {
        compared(app, history, &counted, *period).await;
        links(app, history, *period).await;
    }
}

/// The statistics and the ledger of one.
async fn ledger(app: &App, campaign: &Campaign, counted: &Counted) {
    let sent = counted.accepted();
    let stats = read(app, &format!("/campaigns/{}/stats", campaign.id)).await;
    let expected = json!({
        "totalRecipients": counted.recipients, "sentCount": sent, "deliveredCount": counted.delivered,
        "openedCount": counted.opened, "clickedCount": counted.clicked, "bouncedCount": counted.bounced,
        "complainedCount": counted.complained, "unsubscribedCount": counted.unsubscribed,
        "machineOpenedCount": counted.opened_by_machines, "machineClickedCount": 0,
        "deliveryRate": share(counted.delivered, sent), "openRate": share(counted.opened, sent),
        "clickRate": share(counted.clicked, sent), "bounceRate": share(counted.bounced, sent),
        "complaintRate": share(counted.complained, sent), "unsubscribeRate": share(counted.unsubscribed, sent),
    });
    assert_eq!(stats, expected, "{campaign:?}");

    let ledger = read(app, &format!("/campaigns/{}/ledger", campaign.id)).await;
    let in_doubt = counted.states.get(&("IN_DOUBT", None)).copied().unwrap_or_default();
    let equation = json!({
        "audience": counted.audience, "waiting": 0, "accepted": sent, "skipped": counted.by_reason("SKIPPED"),
        "failed": counted.by_reason("FAILED"), "inDoubt": in_doubt, "balanced": true,
    });
    assert_eq!(ledger["equation"], equation, "{campaign:?}");
    if sent_at(campaign).is_some() {
        assert_eq!(ledger["balance"], equation, "{campaign:?}");
    }
    let totals: BTreeMap<(String, Option<String>), i64> = items(&ledger["totals"])
        .iter()
        .map(|total| {
            let of = total["state"].as_str().expect("a state").to_owned();
            ((of, total["reason"].as_str().map(str::to_owned)), total["count"].as_i64().expect("a number"))
        })
        .collect();
    let expected: BTreeMap<(String, Option<String>), i64> = counted
        .states
        .iter()
        .map(|((state, reason), count)| (((*state).to_owned(), reason.map(str::to_owned)), *count))
        .collect();
    assert_eq!(totals, expected, "{campaign:?}");
}

/// The best campaigns of a period, and how all of it did.
async fn compared(app: &App, history: &History, counted: &[Counted], (from, until): (i64, i64)) {
    let within = |at: i64| at >= from && at < until;
    let mut sent: Vec<(&Campaign, &Counted)> = history
        .campaigns
        .iter()
        .zip(counted)
        .filter(|(campaign, _)| sent_at(campaign).is_some_and(within))
        .collect();
    sent.sort_by_key(|(campaign, counted)| std::cmp::Reverse((counted.opened, counted.clicked, campaign.id)));
    let row = |(campaign, counted): &(&Campaign, &Counted)| {
        let mails = counted.accepted();
        json!({
            "id": campaign.id, "name": campaign.name, "subject": format!("About {}", campaign.name),
            "sentCount": mails, "openedCount": counted.opened, "clickedCount": counted.clicked,
            "openRate": rounded(counted.opened, mails), "clickRate": rounded(counted.clicked, mails),
        })
    };
    let expected: Vec<Value> = sent.iter().take(MOST_CAMPAIGNS).map(row).collect();
    let asked = period((from, until));
    let found = read(app, &format!("/analytics/top-campaigns?limit={MOST_CAMPAIGNS}&{asked}")).await;
    assert_eq!(items(&found), expected, "{asked}");

    let created: Vec<&Campaign> = history.campaigns.iter().filter(|campaign| within(campaign.at)).collect();
    let of = |is: fn(&Campaign) -> bool| created.iter().filter(|campaign| is(campaign)).count();
    let sum = |count: fn(&Counted) -> i64| -> i64 { sent.iter().map(|(_, counted)| count(counted)).sum() };
    let mails = sum(Counted::accepted);
    let expected = json!({
        "total": created.len(),
        "active": of(|one| matches!(one.state, CampaignState::Draft | CampaignState::Scheduled)),
        "completed": of(|one| matches!(one.state, CampaignState::Sent(_))),
        "averageOpenRate": rounded(sum(|counted| counted.opened), mails),
        "averageClickRate": rounded(sum(|counted| counted.clicked), mails),
    });
    assert_eq!(read(app, &format!("/analytics/campaign-stats?{asked}")).await, expected, "{asked}");
}

/// The links of the campaigns that were sent in a period.
async fn links(app: &App, history: &History, (from, until): (i64, i64)) {
    /// Campaigns, clicks, people, machines.
    type Sums = [i64; 4];
    let mut of: BTreeMap<&str, Sums> = BTreeMap::new();
    let within = |campaign: &&Campaign| sent_at(campaign).is_some_and(|at| at >= from && at < until);
    for campaign in history.campaigns.iter().filter(within) {
        let mut seen = std::collections::BTreeSet::new();
        for link in &campaign.links {
            let sums = of.entry(&link.url).or_default();
            let first = i64::from(seen.insert(&link.url));
            for (sum, count) in sums.iter_mut().zip([first, link.clicks, link.people, link.machines]) {
                *sum += count;
            }
        }
    }
    let mut sorted: Vec<(&str, Sums)> = of.into_iter().collect();
    sorted.sort_by_key(|(url, [_, clicks, people, _])| (-clicks, -people, *url));
    let rows = sorted.into_iter().take(MOST_LINKS).map(|(url, [campaigns, clicks, people, machines])| {
        json!({
            "url": url, "campaigns": campaigns, "clicks": clicks, "uniqueClicks": people,
            "machineClicks": machines,
        })
    });
    let expected: Vec<Value> = rows.collect();
    let asked = period((from, until));
    let found = read(app, &format!("/analytics/links?limit={MOST_LINKS}&{asked}")).await;
    assert_eq!(items(&found), expected, "{asked}");
}
