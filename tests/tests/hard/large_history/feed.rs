//! The feed, put together again from the lists of the made-up history, and read page by page.

use std::cmp::Reverse;

use mailwright_core::ids::{CampaignId, TemplateId};
use mailwright_testkit::App;
use mailwright_tests::{items, read, text};
use serde_json::json;
use uuid::Uuid;

use super::figures::{instant, period};
use super::made::{About, CampaignState, History};
use super::moments::DAY;
use super::written::Site;

/// Entries of a page.
const PAGE: usize = 100;
/// Pages that are read of a part of the feed; all of it is read to its end.
const PAGES: usize = 40;

/// An entry, with what it is about.
struct Entry {
    at: i64,
    id: Uuid,
    /// Where entries of one time and id stand, and what is behind their id.
    source: (u8, &'static str),
    kind: &'static str,
    contact: Option<usize>,
    campaign: Option<usize>,
    workflow: Option<usize>,
    template: Option<usize>,
}

const EVENT: (u8, &str) = (0, "");
const CONTACT: (u8, &str) = (1, "_created");
const STARTED: (u8, &str) = (2, "_started");
const COMPLETED: (u8, &str) = (3, "_completed");
const CAMPAIGN: (u8, &str) = (4, "_sent");

/// The type of an event, by what the documentation says.
fn kind(name: &str) -> &'static str {
    match name {
        "email.sent" => "email.sent",
        "email.delivery" => "email.delivered",
        "email.received" => "email.received",
        "email.open" => "email.opened",
        "email.click" => "email.clicked",
        "email.bounce" => "email.bounced",
        "email.complaint" => "email.complaint",
        "email.unsubscribe" => "email.unsubscribed",
        "contact.subscribed" => "contact.subscribed",
        "contact.unsubscribed" => "contact.unsubscribed",
        name if name.starts_with("segment.") && name.ends_with(".entry") => "segment.entered",
        name if name.starts_with("segment.") && name.ends_with(".exit") => "segment.exited",
        _ => "event.triggered",
    }
}

/// Every entry, the newest first.
fn entries(history: &History) -> Vec<Entry> {
    let mut all = Vec::new();
    let bare = |at: i64, id: Uuid, source, kind| Entry {
        at,
        id,
        source,
        kind,
        contact: None,
        campaign: None,
        workflow: None,
        template: None,
    };
    for event in &history.events {
        let mut entry = bare(event.at, event.id.into(), EVENT, kind(&event.name));
        entry.contact = Some(event.contact);
        if let About::Mail(number) = event.about {
            let mail = &history.mails[number];
            (entry.campaign, entry.workflow, entry.template) = (mail.campaign, mail.workflow, mail.template);
        }
        all.push(entry);
    }
    for (number, contact) in history.contacts.iter().enumerate() {
        let entry = bare(contact.at, contact.id.into(), CONTACT, "contact.created");
        all.push(Entry { contact: Some(number), ..entry });
    }
    for one in &history.executions {
        let about = |entry| Entry { contact: Some(one.contact), workflow: Some(one.workflow), ..entry };
        all.push(about(bare(one.at, one.id.into(), STARTED, "workflow.started")));
        let ended = one.ended.map(|(at, _)| bare(at, one.id.into(), COMPLETED, "workflow.completed"));
        all.extend(ended.map(about));
    }
    for (number, campaign) in history.campaigns.iter().enumerate() {
        if let CampaignState::Sent(at) = campaign.state {
            let entry = bare(at, campaign.id.into(), CAMPAIGN, "campaign.sent");
            all.push(Entry { campaign: Some(number), ..entry });
        }
    }
    all.sort_by_key(|entry| Reverse((entry.at, entry.id, entry.source.0)));
    all
}

/// Reads a part of the feed page by page, as far as `pages` go: it has what is expected, each entry once and in order.
async fn walk(app: &App, query: &str, expected: &[&Entry], pages: usize) {
    let (mut place, mut cursor) = (0, String::new());
    for _ in 0..pages {
        let page = read(app, &format!("/activity?limit={PAGE}&{query}{cursor}")).await;
        let wanted = &expected[place..expected.len().min(place + PAGE)];
        let found = items(&page["data"]);
        for (entry, wanted) in found.iter().zip(wanted) {
            let id = format!("{}{}", wanted.id, wanted.source.1);
            let timestamp = format!("{:.3}", instant(wanted.at));
            let shown = json!([entry["id"], entry["type"], entry["timestamp"]]);
            assert_eq!(shown, json!([id, wanted.kind, timestamp]), "entry {place} of {query}: {entry}");
            place += 1;
        }
        assert_eq!(found.len(), wanted.len(), "at entry {place} of {query}");
        assert_eq!(page["hasMore"], place < expected.len(), "at entry {place} of {query}");
        match page["cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return assert_eq!(place, expected.len(), "{query}"),
        }
    }
}

/// All of the feed, and parts of it.
pub(super) async fn check(app: &App, history: &History, site: &Site, periods: &[(i64, i64)]) {
    let all = entries(history);
    let every: Vec<&Entry> = all.iter().collect();
    walk(app, "", &every, usize::MAX).await;

    let types = read(app, "/activity/types").await;
    let types: Vec<&str> = items(&types["types"]).iter().map(text).collect();
    assert!(all.iter().all(|entry| types.contains(&entry.kind)), "every type is listed: {types:?}");
    for kind in &types {
        let expected = part(&all, |entry| entry.kind == *kind);
        assert!(!expected.is_empty(), "the history has a {kind}");
        walk(app, &format!("types={kind}"), &expected, PAGES).await;
    }
    for some in [["email.opened", "workflow.started"], ["event.triggered", "contact.created"]] {
        let expected = part(&all, |entry| some.contains(&entry.kind));
        walk(app, &format!("types={}", some.join(",")), &expected, PAGES).await;
    }
    for (from, until) in periods {
        let within = |entry: &Entry| entry.at >= *from && entry.at < *until;
        let asked = period((*from, *until));
        walk(app, &asked, &part(&all, within), PAGES).await;
        let opened = part(&all, |entry| within(entry) && entry.kind == "email.opened");
        walk(app, &format!("types=email.opened&{asked}"), &opened, PAGES).await;
    }
    about(app, &all, history, site).await;
}

fn part(all: &[Entry], is_in: impl Fn(&Entry) -> bool) -> Vec<&Entry> {
    all.iter().filter(|entry| is_in(entry)).collect()
}

/// What is about one contact, campaign, workflow and template each.
async fn about(app: &App, all: &[Entry], history: &History, site: &Site) {
    let middle = history.contacts.len() / 2;
    for number in [0, middle, history.contacts.len() - 1] {
        let expected = part(all, |entry| entry.contact == Some(number));
        walk(app, &format!("contactId={}", history.contacts[number].id), &expected, PAGES).await;
    }
    let sent = history.campaigns.iter().position(|one| matches!(one.state, CampaignState::Sent(_)));
    for number in [sent.expect("a campaign that was sent"), history.campaigns.len() - 1] {
        let id: CampaignId = history.campaigns[number].id;
        let expected = part(all, |entry| entry.campaign == Some(number));
        walk(app, &format!("campaignId={id}"), &expected, PAGES).await;
        let clicked = part(all, |entry| entry.campaign == Some(number) && entry.kind == "email.clicked");
        walk(app, &format!("campaignId={id}&types=email.clicked"), &clicked, PAGES).await;
    }
    for (number, (workflow, _)) in site.workflows.iter().enumerate() {
        let expected = part(all, |entry| entry.workflow == Some(number));
        walk(app, &format!("workflowId={workflow}"), &expected, PAGES).await;
    }
    let (from, until) = (history.start + 100 * DAY, history.start + 200 * DAY);
    for (number, template) in site.templates.iter().enumerate() {
        let template: &TemplateId = template;
        let expected = part(all, |entry| entry.template == Some(number));
        walk(app, &format!("templateId={template}"), &expected, PAGES).await;
        let within = |entry: &Entry| entry.template == Some(number) && entry.at >= from && entry.at < until;
        let asked = period((from, until));
        walk(app, &format!("templateId={template}&{asked}"), &part(all, within), PAGES).await;
    }
}
