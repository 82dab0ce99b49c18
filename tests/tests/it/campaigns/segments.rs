//! Campaigns to the members of segments.

use super::{act, body, contacts, draft, entries, get, path, post, send, settled};
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{as_project, issues, read, shown, text, with};
use std::collections::BTreeSet;

async fn segment(app: &App, body: &Value) -> Value {
    app.post("/segments").json(body).send().await.assert_status(201).json()
}

fn condition(field: &str, operator: &str, value: &Value) -> Value {
    json!({"logic": "AND", "groups": [{"filters": [{"field": field, "operator": operator, "value": value}]}]})
}

/// A condition of several filters, all of which must hold.
fn all(filters: &[Value]) -> Value {
    json!({"logic": "AND", "groups": [{"filters": filters}]})
}

/// A condition that names a segment several times.
fn naming(segment: &Value, times: usize) -> Value {
    let named = json!({"field": format!("segment.{}", text(&segment["id"])), "operator": "memberOfSegment"});
    all(&vec![named; times])
}

fn to_segment(segment: &Value) -> Value {
    json!({"audienceType": "SEGMENT", "segmentId": segment["id"]})
}

/// The addresses in the ledger of a campaign that is over.
async fn reached(app: &App, campaign: &Value) -> BTreeSet<String> {
    let entries = entries(app, campaign, "state=ACCEPTED").await;
    entries.iter().map(|entry| text(&entry["email"]).to_owned()).collect()
}

both_engines! {
    async fn each_kind_of_segment_is_an_audience(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 10).await;
        let fixed = segment(&app, &json!({"name": "Fixed", "type": "STATIC"})).await;
        let emails = json!({"emails": ["a1@example.com", "a2@example.com", "a3@example.com"]});
        let members = format!("/segments/{}/members", text(&fixed["id"]));
        app.post(&members).json(&emails).send().await.assert_status(200);
        let one = json!({"emails": ["a3@example.com"]});
        app.delete(&members).json(&one).send().await.assert_status(200);
        let live = json!({"name": "Live", "condition": condition("data.number", "greaterThan", &json!(7))});
        let live = segment(&app, &live).await;
        let tracked = json!({
            "name": "Tracked", "trackMembership": true, "condition": condition("data.number", "lessThan", &json!(1)),
        });
        let tracked = segment(&app, &tracked).await;
        app.eventually("the members of the tracked segment are known", async || {
            let found = read(&app, &format!("/segments/{}", text(&tracked["id"]))).await;
            (found["memberCount"] == 1).then_some(())
        })
        .await;

        for (segment, expected) in [(&fixed, vec![1, 2]), (&live, vec![8, 9]), (&tracked, vec![0])] {
            let campaign = draft(&app, &to_segment(segment)).await;
            let name = &segment["name"];
            assert_eq!(campaign["totalRecipients"], expected.len(), "{name}");
            assert_eq!((&campaign["segmentId"], &campaign["segment"]["name"]), (&segment["id"], name));
            send(&app, &campaign).await;
            let ledger = settled(&app, &campaign).await;
            assert_eq!(ledger["equation"]["audience"], expected.len(), "{name}");
            let expected = expected.into_iter().map(|number| format!("a{number}@example.com")).collect();
            assert_eq!(reached(&app, &campaign).await, expected, "{name}");
        }

        // a filter that names segments
        let either = json!({"logic": "OR", "groups": [
            {"filters": [{"field": format!("segment.{}", text(&live["id"])), "operator": "memberOfSegment"}]},
            {"filters": [{"field": format!("segment.{}", text(&fixed["id"])), "operator": "memberOfSegment"}]},
        ]});
        let change = json!({"audienceType": "FILTERED", "audienceCondition": either});
        let campaign = draft(&app, &change).await;
        assert_eq!(campaign["totalRecipients"], 4);
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
        let expected = [1, 2, 8, 9].map(|number| format!("a{number}@example.com"));
        assert_eq!(reached(&app, &campaign).await, expected.into());
    }

    async fn a_segment_that_a_campaign_needs_stays(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_SENDING_PER_SECOND", "1").start().await;
        contacts(&app, "a", 4).await;
        let needed = json!({"name": "All", "condition": condition("data.number", "exists", &Value::Null)});
        let needed = segment(&app, &needed).await;
        let remove = async || app.delete(&format!("/segments/{}", text(&needed["id"]))).send().await;
        let named = condition(&format!("segment.{}", text(&needed["id"])), "memberOfSegment", &Value::Null);
        let filtered = draft(&app, &json!({"audienceType": "FILTERED", "audienceCondition": named})).await;
        remove().await.assert_error(409, "CONFLICT");
        app.delete(&path(&filtered, "")).send().await.assert_status(204);
        let campaign = draft(&app, &to_segment(&needed)).await;
        remove().await.assert_error(409, "CONFLICT");
        let later = json!({"scheduledFor": "2099-01-31"});
        app.post(&path(&campaign, "/send")).json(&later).send().await.assert_status(200);
        remove().await.assert_error(409, "CONFLICT");
        send(&app, &campaign).await;
        act(&app, &campaign, "/pause").await.assert_status(200);
        remove().await.assert_error(409, "CONFLICT");
        act(&app, &campaign, "/resume").await.assert_status(200);
        settled(&app, &campaign).await;
        let removed = remove().await;
        assert!(removed.status < 300, "a campaign that was sent needs it no more: {}", shown(&removed));
        let sent = get(&app, &campaign).await;
        assert_eq!((&sent["segmentId"], &sent["segment"]), (&needed["id"], &Value::Null));
        let copy = act(&app, &campaign, "/duplicate").await;
        copy.assert_error(404, "RESOURCE_NOT_FOUND");
    }

    async fn an_audience_of_too_many_conditions_is_refused_and_noted(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 3).await;
        // of 199 conditions and of four times as many, and a campaign that names it twice: 2 + 2 * (4 + 4 * 199)
        let known = json!({"field": "data.number", "operator": "exists"});
        let leaf = segment(&app, &json!({"name": "Leaf", "condition": all(&vec![known; 199])})).await;
        let many = segment(&app, &json!({"name": "Many", "condition": naming(&leaf, 4)})).await;
        let twice = |times| json!({"audienceType": "FILTERED", "audienceCondition": naming(&many, times)});
        let campaign = draft(&app, &twice(2)).await;
        assert_eq!(campaign["totalRecipients"], 3);
        for refused in [
            post(&app, &with(body(&app), &twice(3))).await,
            app.put(&path(&campaign, "")).json(&twice(3)).send().await,
        ] {
            assert_eq!(issues(&refused), [("audienceCondition".to_owned(), "too_big".to_owned())]);
            assert!(shown(&refused).contains("2000 conditions"), "{}", shown(&refused));
        }
        let of_many = async |condition: &Value| {
            let change = json!({"condition": condition});
            app.patch(&format!("/segments/{}", text(&many["id"]))).json(&change).send().await.assert_status(200);
        };

        // the segment grows when the campaign is there: 2 + 2 * (5 + 5 * 199)
        let (due, under_way) = (draft(&app, &twice(2)).await, draft(&app, &twice(2)).await);
        of_many(&naming(&leaf, 5)).await;
        for when in [json!({}), json!({"scheduledFor": "2099-01-31"})] {
            let refused = app.post(&path(&campaign, "/send")).json(&when).send().await;
            assert!(text(&refused.assert_error(400, "BAD_REQUEST")["message"]).contains("2000 conditions"));
        }
        let audience = app.get(&path(&campaign, "/audience")).send().await;
        assert!(audience.status < 500, "{}", shown(&audience));
        of_many(&naming(&leaf, 4)).await;
        let later = json!({"scheduledFor": "2099-01-31"});
        app.post(&path(&due, "/send")).json(&later).send().await.assert_status(200);
        // as if another process had it, so that freezing waits
        app.tamper("update campaigns set lease_until = 9000000000000, lease_holder = 1 where status = 'DRAFT'").await;
        send(&app, &under_way).await;
        of_many(&naming(&leaf, 5)).await;
        app.tamper("update campaigns set lease_until = 0, lease_holder = 0").await;
        let now = std::time::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_millis();
        app.tamper(&format!("update campaigns set scheduled_for = {now}, next_at = {now} where status = 'SCHEDULED'")).await;
        let cancelled = app.eventually("the one that is due is cancelled", async || {
            let found = get(&app, &due).await;
            (found["status"] == "CANCELLED").then_some(found)
        }).await;
        assert!(text(&cancelled["note"]).contains("2000 conditions"), "{cancelled}");
        let noted = app.eventually("the one is paused", async || {
            let found = get(&app, &under_way).await;
            (!found["pausedAt"].is_null()).then_some(found)
        }).await;
        assert_eq!(noted["status"], "SENDING");
        assert!(text(&noted["note"]).contains("2000 conditions"), "{noted}");

        of_many(&naming(&leaf, 4)).await;
        act(&app, &under_way, "/resume").await.assert_status(200);
        assert_eq!(settled(&app, &under_way).await["equation"]["accepted"], 3);
    }

    async fn a_segment_of_another_project_is_unknown(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let theirs = as_project(&app, &other, "POST", "/segments").json(&json!({"name": "Theirs", "type": "STATIC"}));
        let theirs = theirs.send().await.assert_status(201).json();
        post(&app, &with(body(&app), &to_segment(&theirs))).await.assert_error(404, "RESOURCE_NOT_FOUND");
        let named = condition(&format!("segment.{}", text(&theirs["id"])), "memberOfSegment", &Value::Null);
        let change = json!({"audienceType": "FILTERED", "audienceCondition": named});
        let refused = post(&app, &with(body(&app), &change)).await;
        assert_eq!(issues(&refused)[0].0, "audienceCondition", "{}", shown(&refused));
    }

    async fn a_schedule_keeps_its_segment(engine: Engine) {
        let app = App::start(engine).await;
        let (one, two) = (json!({"name": "One", "type": "STATIC"}), json!({"name": "Two", "type": "STATIC"}));
        let (one, two) = (segment(&app, &one).await, segment(&app, &two).await);
        let campaign = draft(&app, &to_segment(&one)).await;
        let later = json!({"scheduledFor": "2099-01-31"});
        app.post(&path(&campaign, "/send")).json(&later).send().await.assert_status(200);
        let put = async |change: Value| app.put(&path(&campaign, "")).json(&change).send().await;
        put(to_segment(&two)).await.assert_error(400, "BAD_REQUEST");
        put(with(to_segment(&one), &json!({"name": "Renamed"}))).await.assert_status(200);
    }

    async fn an_event_knows_the_campaigns_that_look_at_it(engine: Engine) {
        let app = App::start(engine).await;
        let bought = |operator| {
            let filter = json!({"field": "event.bought", "operator": operator, "value": 3, "unit": "days"});
            json!({
                "audienceType": "FILTERED",
                "audienceCondition": {"logic": "OR", "groups": [{"filters": [], "conditions": {
                    "logic": "AND", "groups": [{"filters": [filter]}],
                }}]},
            })
        };
        let first = draft(&app, &bought("notTriggered")).await;
        let second = draft(&app, &bought("triggeredWithin")).await;
        let usage = read(&app, "/events/bought/usage").await;
        let mut found: Vec<_> = usage["usedInCampaigns"].as_array().expect("a list").clone();
        found.sort_by_key(|campaign| text(&campaign["id"]).to_owned());
        assert_eq!(found, [&first, &second].map(|c| json!({"id": c["id"], "name": "News"})));
        assert_eq!(read(&app, "/events/other/usage").await["usedInCampaigns"], json!([]));
    }

    async fn a_field_knows_the_campaigns_that_look_at_it(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 1).await;
        let change = json!({
            "audienceType": "FILTERED", "audienceCondition": condition("data.number", "exists", &Value::Null),
        });
        let campaign = draft(&app, &change).await;
        let usage = read(&app, "/contacts/fields/number/usage").await;
        assert_eq!(usage["usedInCampaigns"], json!([{"id": campaign["id"], "name": "News"}]));
        assert_eq!(read(&app, "/contacts/fields/other/usage").await["usedInCampaigns"], json!([]));
    }
}
