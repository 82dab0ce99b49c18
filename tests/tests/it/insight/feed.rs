//! The feed of everything that happens.

use std::collections::BTreeSet;

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{assert_only_keys, items, read, text, track_ok};

use super::live;
use crate::tracking::builder;

/// All entries of a query, read in pages of so many. They are in one order, and none is there twice.
async fn feed(app: &App, query: &str, limit: usize) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = read(app, &format!("/activity?limit={limit}&{query}{cursor}")).await;
        all.extend(items(&page["data"]).to_vec());
        assert_only_keys(&page, &["data", "cursor", "hasMore", "total"]);
        assert_eq!(page["hasMore"] == true, page["cursor"].is_string(), "{page}");
        let counted =
            if all.len() == items(&page["data"]).len() && page["hasMore"] == false { all.len() } else { 0 };
        assert_eq!(page["total"], counted, "{page}");
        assert!(items(&page["data"]).len() <= limit);
        let Some(next) = page["cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert!(all.windows(2).all(|pair| text(&pair[0]["timestamp"]) >= text(&pair[1]["timestamp"])), "{all:?}");
    let ids: BTreeSet<&str> = all.iter().map(|entry| text(&entry["id"])).collect();
    assert_eq!(ids.len(), all.len(), "{all:?}");
    all
}

fn types(entries: &[Value]) -> Vec<&str> {
    let mut types: Vec<&str> = entries.iter().map(|entry| text(&entry["type"])).collect();
    types.sort_unstable();
    types
}

const OF_MAIL: [&str; 3] = ["email.clicked", "email.opened", "email.sent"];

both_engines! {
    async fn everything_that_happens_is_in_the_feed(engine: Engine) {
        let app = builder(engine).env("MAILWRIGHT_TRACKING_SETTLE_MS", "0").start().await;
        let lived = live(&app).await;
        let all = feed(&app, "", 100).await;
        assert_eq!(types(&all), [
            "campaign.sent", "contact.created", "contact.created", "email.clicked", "email.opened", "email.sent",
            "email.sent", "email.sent", "event.triggered", "event.triggered", "workflow.completed", "workflow.started",
        ]);
        // in pages of any size it is the same
        for limit in 1..=5 {
            assert_eq!(feed(&app, "", limit).await, all, "{limit}");
        }
        let find = |kind: &str| all.iter().find(|entry| entry["type"] == kind).unwrap_or_else(|| panic!("{kind}: {all:?}"));
        let opened = find("email.opened");
        assert_eq!(opened["contactEmail"], "ann@example.com");
        assert_eq!(opened["contactId"], lived.contact["id"]);
        assert_eq!(opened["metadata"]["totalOpens"], 1);
        assert_eq!(opened["metadata"]["sourceType"], "TRANSACTIONAL");
        assert_eq!(opened["metadata"]["templateId"], lived.template["id"]);
        assert_eq!(find("email.clicked")["metadata"]["totalClicks"], 1);
        let completed = find("workflow.completed");
        assert_eq!(completed["metadata"]["workflowName"], "begun");
        assert_eq!(completed["metadata"]["status"], "COMPLETED");
        assert_eq!(find("campaign.sent")["metadata"]["totalRecipients"], 2);
        let begun = all.iter().find(|entry| entry["metadata"]["eventName"] == "begun").expect("the event");
        assert_eq!(begun["metadata"]["eventData"], json!({"amount": 3}));
    }

    async fn the_feed_can_be_asked_for_a_part(engine: Engine) {
        let app = builder(engine).env("MAILWRIGHT_TRACKING_SETTLE_MS", "0").start().await;
        let lived = live(&app).await;
        let all = feed(&app, "", 100).await;
        let known = read(&app, "/activity/types").await;
        for kind in items(&known["types"]).iter().map(text) {
            let some = feed(&app, &format!("types={kind}"), 2).await;
            let expected: Vec<_> = all.iter().filter(|entry| entry["type"] == kind).cloned().collect();
            assert_eq!(some, expected, "{kind}");
        }
        let two = feed(&app, "types=email.sent,%20workflow.started,nothing", 2).await;
        assert_eq!(types(&two), ["email.sent", "email.sent", "email.sent", "workflow.started"]);
        assert!(feed(&app, "types=nothing", 2).await.is_empty());

        let of = async |query: String| feed(&app, &query, 2).await;
        let contact = of(format!("contactId={}", text(&lived.contact["id"]))).await;
        let expected: Vec<_> = all.iter().filter(|entry| entry["contactId"] == lived.contact["id"]).cloned().collect();
        assert_eq!(contact, expected);
        let both = of(format!("types=email.opened&contactId={}", text(&lived.contact["id"]))).await;
        assert_eq!(types(&both), ["email.opened"]);
        let campaign = of(format!("campaignId={}", text(&lived.campaign["id"]))).await;
        assert_eq!(types(&campaign), ["campaign.sent", "email.sent", "email.sent"]);
        let workflow = of(format!("workflowId={}", lived.workflow)).await;
        assert_eq!(types(&workflow), ["workflow.completed", "workflow.started"]);
        let template = of(format!("templateId={}", text(&lived.template["id"]))).await;
        assert_eq!(types(&template), OF_MAIL);

        // a period has its beginning in it, and not its end
        let middle = text(&all[5]["timestamp"]);
        let (from, until) = (of(format!("startDate={middle}")).await, of(format!("endDate={middle}")).await);
        assert!(from.iter().all(|entry| text(&entry["timestamp"]) >= middle));
        assert_eq!([from, until].concat(), all);
    }

    async fn what_cannot_be_read_is_refused(engine: Engine) {
        let app = App::start(engine).await;
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        for query in [
            "cursor=x", &format!("cursor=1_{id}_x"), "startDate=yesterday", "contactId=ann",
            &format!("contactId={id}&campaignId={id}"),
        ] {
            app.get(&format!("/activity?{query}")).send().await.assert_error(400, "BAD_REQUEST");
        }
        assert_eq!(read(&app, &format!("/activity?contactId={id}")).await, json!({"data": [], "cursor": null, "hasMore": false, "total": 0}));
        assert_eq!(read(&app, "/activity/recent-count").await, json!({"count": 0, "minutes": 5}));
    }

    async fn events_of_few_among_many_are_found(engine: Engine) {
        let app = App::start(engine).await;
        track_ok(&app, json!({"email": "ann@example.com", "event": "rare"})).await;
        // more than are looked through for those of many names
        let contact = text(&read(&app, "/contacts").await["data"][0]["id"]).to_owned();
        app.tamper(&many_events(engine, &contact)).await;
        let found = feed(&app, "types=event.triggered", 2).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0]["metadata"]["eventName"], "rare");
        assert_eq!(feed(&app, "types=contact.subscribed", 100).await.len(), 2_100);
        // and of more names than are looked up at once
        for number in 0..110 {
            track_ok(&app, json!({"email": "ann@example.com", "event": format!("rare.{number}")})).await;
        }
        assert_eq!(feed(&app, "types=event.triggered", 40).await.len(), 111);
    }
}

/// Adds 2,100 events of the service that happened later.
fn many_events(engine: Engine, contact: &str) -> String {
    let hex = contact.replace('-', "");
    match engine {
        Engine::Postgres => format!(
            "insert into events (project_id, id, name, contact_id, created_at) select (select min(number) from projects), \
             ('02000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'contact.subscribed', '{contact}', \
             2199023255552 from generate_series(1, 2100) n"
        ),
        Engine::Sqlite => format!(
            "with recursive n (n) as (select 1 union all select n + 1 from n where n < 2100) \
             insert into events (project_id, id, name, contact_id, created_at) select (select min(number) from projects), \
             unhex('02000000000070008000' || printf('%012d', n)), 'contact.subscribed', unhex('{hex}'), 2199023255552 from n"
        ),
    }
}
