//! GET /contacts/:id/segments, /executions and /standing: where a contact is, and whether it gets mail.

use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_only_keys, assert_timestamp, column, create_contact, create_template,
    encoded, items, read, text,
};
use serde_json::{Value, json};

fn at(contact: &Value, rest: &str) -> String {
    format!("/contacts/{}/{rest}", text(&contact["id"]))
}

async fn segment(app: &App, name: &str, changes: Value) -> Value {
    let mut body = json!({"name": name});
    for (key, value) in changes.as_object().expect("an object") {
        body[key] = value.clone();
    }
    app.post("/segments").json(&body).send().await.assert_status(201).json()
}

fn only(filter: &Value) -> Value {
    json!({"logic": "AND", "groups": [{"filters": [filter]}]})
}

/// The names of the segments of a contact.
async fn segments_of(app: &App, contact: &Value) -> Vec<String> {
    let found = read(app, &at(contact, "segments")).await;
    assert_only_keys(&found, &["data", "complete"]);
    assert_eq!(found["complete"], true);
    column(&found["data"], "name").into_iter().map(str::to_owned).collect()
}

/// What keeps mail from a contact: the reason, and the kinds of mail.
fn reasons(standing: &Value) -> Vec<(&str, Value)> {
    items(&standing["reasons"]).iter().map(|one| (text(&one["reason"]), one["types"].clone())).collect()
}

fn receives(standing: &Value) -> [&Value; 3] {
    ["transactional", "marketing", "headless"].map(|kind| &standing["canReceive"][kind])
}

both_engines! {
    async fn a_contact_is_in_segments_of_every_kind(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"plan": "pro"})).await;
        let bob = create_contact(&app, "bob@example.com", true, json!({"plan": "free"})).await;
        let pro = only(&json!({"field": "data.plan", "operator": "equals", "value": "pro"}));
        let list = segment(&app, "List", json!({"type": "STATIC"})).await;
        let left = segment(&app, "Left", json!({"type": "STATIC"})).await;
        let live = segment(&app, "Live", json!({"condition": pro})).await;
        let tracked = segment(&app, "Tracked", json!({"condition": pro, "trackMembership": true})).await;
        let seen = only(&json!({"field": "event.seen", "operator": "triggered"}));
        segment(&app, "Seen", json!({"condition": seen})).await;
        let not = json!({"field": format!("segment.{}", text(&live["id"])), "operator": "notMemberOfSegment"});
        segment(&app, "Others", json!({"condition": only(&not)})).await;
        for of in [&list, &left] {
            let path = format!("/segments/{}/members", text(&of["id"]));
            app.post(&path).json(&json!({"emails": ["ann@example.com"]})).send().await.assert_status(200);
        }
        let path = format!("/segments/{}/members", text(&left["id"]));
        app.delete(&path).json(&json!({"emails": ["ann@example.com"]})).send().await.assert_status(200);
        app.post(&format!("/segments/{}/compute", text(&tracked["id"]))).send().await.assert_status(200);

        assert_eq!(segments_of(&app, &ann).await, ["Tracked", "Live", "List"]);
        assert_eq!(segments_of(&app, &bob).await, ["Others"]);
        let found = read(&app, &at(&ann, "segments")).await;
        for (index, kind, is_tracked) in [(0, "DYNAMIC", true), (1, "DYNAMIC", false), (2, "STATIC", false)] {
            let one = &found["data"][index];
            assert_eq!((&one["type"], &one["trackMembership"]), (&json!(kind), &json!(is_tracked)));
            if index == 1 { assert_eq!(one["since"], Value::Null) } else { assert_timestamp(&one["since"]) }
        }
        app.track(json!({"email": "bob@example.com", "event": "seen"})).await.assert_status(200);
        assert_eq!(segments_of(&app, &bob).await, ["Others", "Seen"]);

        // each segment that has the contact among its members lists it, and no other
        for one in items(&read(&app, "/segments").await) {
            let members = read(&app, &format!("/segments/{}/contacts", text(&one["id"]))).await;
            let members = column(&members["data"], "email");
            for contact in [&ann, &bob] {
                let is_in = segments_of(&app, contact).await.iter().any(|name| name == text(&one["name"]));
                assert_eq!(is_in, members.contains(&text(&contact["email"])), "{one}");
            }
        }
        app.get(&format!("/contacts/{UNKNOWN_ID}/segments")).send().await.assert_error(404, "CONTACT_NOT_FOUND");
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let foreign = as_project(&app, &other, "GET", &at(&ann, "segments")).send().await;
        foreign.assert_error(404, "CONTACT_NOT_FOUND");
    }

    async fn conditions_that_look_at_too_much_are_left_out(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        segment(&app, "All", json!({"condition": only(&json!({"field": "subscribed", "operator": "equals", "value": true}))})).await;
        let list = segment(&app, "List", json!({"type": "STATIC"})).await;
        let path = format!("/segments/{}/members", text(&list["id"]));
        app.post(&path).json(&json!({"emails": ["ann@example.com"]})).send().await.assert_status(200);
        assert_eq!(segments_of(&app, &ann).await, ["List", "All"]);
        for number in 0..11 {
            let filters: Vec<_> = (0..190)
                .map(|n| json!({"field": format!("event.e{number}-{n}"), "operator": "notTriggered"}))
                .collect();
            let condition = json!({"logic": "AND", "groups": [{"filters": filters}]});
            segment(&app, &format!("S{number}"), json!({"condition": condition})).await;
        }
        let found = read(&app, &at(&ann, "segments")).await;
        assert_eq!((&found["complete"], column(&found["data"], "name")), (&json!(false), vec!["List"]));
    }

    async fn a_contact_goes_through_workflows(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let bob = create_contact(&app, "bob@example.com", true, json!({})).await;
        let mut begun = Vec::new();
        for event in ["one", "two", "three"] {
            let flow = Flow::new(&app, event).await;
            let wait = flow.then("WAIT_FOR_EVENT", json!({"eventName": format!("{event}-paid")})).await;
            flow.then("EXIT", json!({})).await;
            flow.enable().await;
            let id = flow.start(&ann["id"], json!({})).await;
            flow.once(&id, "WAITING").await;
            let other = flow.start(&bob["id"], json!({})).await;
            flow.once(&other, "WAITING").await;
            begun.push((flow, id, wait));
        }
        app.track(json!({"email": "ann@example.com", "event": "one-paid"})).await.assert_status(200);
        begun[0].0.once(&begun[0].1, "EXITED").await;
        let page = read(&app, &at(&ann, "executions")).await;
        assert_only_keys(&page, &["data", "cursor", "hasMore", "total"]);
        assert_eq!(column(&page["data"], "id"), [&begun[2].1[..], &begun[1].1, &begun[0].1]);
        assert_eq!(column(&page["data"], "status"), ["WAITING", "WAITING", "EXITED"]);
        assert_eq!((&page["total"], &page["hasMore"]), (&json!(3), &json!(false)));
        for (one, (flow, id, wait)) in items(&page["data"]).iter().zip(begun.iter().rev()) {
            let workflow = read(&app, &flow.path("")).await;
            assert_eq!(one["workflow"], json!({"id": workflow["id"], "name": workflow["name"]}));
            assert_eq!(one["contactId"], ann["id"]);
            let told = flow.execution(id).await;
            assert_eq!(one["currentStepId"], told["currentStepId"]);
            assert_timestamp(&one["since"]);
            if one["status"] == "WAITING" {
                assert_eq!((&one["currentStep"]["id"], &one["currentStep"]["type"]), (&json!(wait), &json!("WAIT_FOR_EVENT")));
            } else {
                assert_eq!(one["since"], one["completedAt"]);
            }
        }
        // by cursor, each once
        let (mut path, mut found) = (at(&ann, "executions?limit=2"), Vec::new());
        loop {
            let page = read(&app, &path).await;
            found.extend(column(&page["data"], "id").into_iter().map(str::to_owned));
            if page["hasMore"] == false {
                assert_eq!((&page["cursor"], &page["total"]), (&Value::Null, &json!(0)));
                break;
            }
            path = at(&ann, &format!("executions?limit=2&cursor={}", encoded(text(&page["cursor"]))));
        }
        assert_eq!(found, column(&page["data"], "id"));
        app.get(&at(&ann, "executions?cursor=nonsense")).send().await.assert_error(400, "BAD_REQUEST");
        app.get(&format!("/contacts/{UNKNOWN_ID}/executions")).send().await.assert_error(404, "CONTACT_NOT_FOUND");
    }

    async fn what_keeps_mail_from_a_contact_is_told(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let path = at(&ann, "standing");
        let free = read(&app, &path).await;
        assert_eq!(receives(&free), [&json!(true); 3]);
        assert_eq!((&free["reasons"], &free["troubles"]), (&json!([]), &json!([])));
        assert_eq!((&free["id"], &free["email"]), (&ann["id"], &json!("ann@example.com")));

        let own = format!("/contacts/{}", text(&ann["id"]));
        app.patch(&own).json(&json!({"subscribed": false})).send().await.assert_status(200);
        let gone = read(&app, &path).await;
        let subscribers = json!(["MARKETING", "HEADLESS"]);
        assert_eq!(receives(&gone), [&json!(true), &json!(false), &json!(false)]);
        assert_eq!(reasons(&gone), [("unsubscribed", subscribers.clone())]);

        let listed = json!({"email": "ann@example.com", "reason": "unsubscribe-all", "expiresAt": "2040-01-31T00:00:00.000Z"});
        app.post("/suppressions/addresses").json(&listed).send().await.assert_status(201);
        let both = read(&app, &path).await;
        assert_eq!(receives(&both), [&json!(true), &json!(false), &json!(false)]);
        assert_eq!(reasons(&both), [("suppressed", subscribers.clone()), ("unsubscribed", subscribers.clone())]);
        let suppressed = &both["reasons"][0];
        assert_eq!((&suppressed["match"]["source"], &suppressed["match"]["reason"]), (&json!("project"), &json!("unsubscribe-all")));
        assert_eq!(suppressed["expiresAt"], listed["expiresAt"]);
        assert_timestamp(&suppressed["since"]);

        // subscribing ends that; a rule and a topic come
        app.patch(&own).json(&json!({"subscribed": true})).send().await.assert_status(200);
        let rule = json!({"name": "Held", "kind": "DOMAIN", "pattern": "example.com"});
        app.post("/suppressions").json(&rule).send().await.assert_status(201);
        let topic = json!({"name": "News", "defaultSubscribed": false});
        let topic = app.post("/topics").json(&topic).send().await.assert_status(201).json();
        let held = read(&app, &path).await;
        assert_eq!(receives(&held), [&json!(false); 3]);
        assert_eq!(reasons(&held), [("suppressed", json!(["TRANSACTIONAL", "MARKETING", "HEADLESS"])), ("not_in_topic", subscribers)]);
        assert_eq!(held["reasons"][0]["match"]["source"], "rule");
        assert_eq!(held["reasons"][0]["since"], Value::Null);
        assert_eq!(held["reasons"][1]["topic"], json!({"id": topic["id"], "name": "News"}));
        // the preview of suppressions and sending say the same
        let preview = json!({"address": "ann@example.com"});
        let preview = app.post("/suppressions/preview").json(&preview).send().await.assert_status(200).json();
        assert_eq!(preview["match"], held["reasons"][0]["match"]);
        let template = create_template(&app, &json!({"type": "MARKETING"})).await;
        let sent = app.send(json!({"to": "ann@example.com", "template": template["id"]})).await.assert_status(200).json();
        let mail = app.email_in(text(&sent["data"]["emails"][0]["email"]), &["SUPPRESSED"]).await;
        assert_eq!(mail["suppression"], held["reasons"][0]["match"]);
        app.get(&format!("/contacts/{UNKNOWN_ID}/standing")).send().await.assert_error(404, "CONTACT_NOT_FOUND");
    }

    async fn bounces_are_told(engine: Engine) {
        let server = ScriptedServer::start(|_, _| Answer::RefuseRcpt(550, "5.1.1 unknown")).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let mail = app.send_to("ann@example.com").await;
        app.email_in(&mail, &["BOUNCED"]).await;
        let told = read(&app, &at(&ann, "standing")).await;
        assert_eq!(receives(&told), [&json!(false); 3]);
        let all = json!(["TRANSACTIONAL", "MARKETING", "HEADLESS"]);
        assert_eq!(reasons(&told), [("suppressed", all), ("unsubscribed", json!(["MARKETING", "HEADLESS"]))]);
        assert_eq!((&told["reasons"][0]["emailId"], items(&told["troubles"]).len()), (&json!(mail), 1));
        let trouble = &told["troubles"][0];
        assert_eq!((&trouble["emailId"], &trouble["bounceClass"]), (&json!(mail), &json!("invalid-recipient")));
        assert_timestamp(&trouble["bouncedAt"]);
        assert_eq!(trouble["complainedAt"], Value::Null);
        assert!(text(&trouble["error"]).contains("5.1.1"), "{trouble}");
    }
}
