//! POST /segments/:id/compute and /refresh.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{create_contact, events_of, items, read, text};
use serde_json::{Value, json};

use super::{at, compute, count, dynamic, eventually_moves, list_of, member_of, moves, patch, plan, tracked};

async fn segment_events(app: &App) -> usize {
    let events = read(app, "/events?limit=1000").await;
    items(&events["events"]).iter().filter(|event| text(&event["name"]).starts_with("segment.")).count()
}

both_engines! {
    async fn computing_enrolls_and_emits_once(engine: Engine) {
        let app = App::start(engine).await;
        let mut contacts = Vec::new();
        for n in 0..5 {
            let plan = if n < 3 { "pro" } else { "free" };
            contacts.push(create_contact(&app, &format!("c{n}@example.com"), true, json!({"plan": plan})).await);
        }
        let pro = tracked(&app, "Pro", &plan("pro")).await;
        assert_eq!(pro["memberCount"], 3);
        assert_eq!(compute(&app, &pro).await, json!({"added": 3, "removed": 0, "total": 3}));
        for contact in &contacts[..3] {
            assert_eq!(moves(&app, &contact["id"]).await, ["segment.pro.entry"]);
        }
        assert!(moves(&app, &contacts[3]["id"]).await.is_empty());
        let event = &events_of(&app, &contacts[0]["id"]).await[0];
        assert_eq!(event["data"], json!({"segmentId": pro["id"], "segmentName": "Pro"}));
        assert_eq!(compute(&app, &pro).await, json!({"added": 0, "removed": 0, "total": 3}));
        assert_eq!(segment_events(&app).await, 3);

        // whether noticed on its own or by the call, a change is counted once and emitted once
        for (contact, plan) in [(&contacts[0], "free"), (&contacts[3], "pro"), (&contacts[4], "pro")] {
            let path = format!("/contacts/{}", text(&contact["id"]));
            app.patch(&path).json(&json!({"data": {"plan": plan}})).send().await.assert_status(200);
        }
        assert_eq!(compute(&app, &pro).await, json!({"added": 2, "removed": 1, "total": 4}));
        eventually_moves(&app, &contacts[0]["id"], &["segment.pro.entry", "segment.pro.exit"]).await;
        eventually_moves(&app, &contacts[4]["id"], &["segment.pro.entry"]).await;
        assert_eq!(compute(&app, &pro).await, json!({"added": 0, "removed": 0, "total": 4}));
        assert_eq!((segment_events(&app).await, count(&app, &pro).await), (6, json!(4)));

        // a new condition waits for the call
        let changed = patch(&app, &pro, json!({"condition": plan("free")})).await.assert_status(200).json();
        assert_eq!(changed["memberCount"], 1);
        assert_eq!(segment_events(&app).await, 6);
        assert_eq!(compute(&app, &pro).await, json!({"added": 1, "removed": 4, "total": 1}));
        assert_eq!(segment_events(&app).await, 11);
    }

    async fn computing_needs_tracking(engine: Engine) {
        let app = App::start(engine).await;
        let pro = dynamic(&app, "Pro", &plan("pro")).await;
        app.post(&at(&pro, "/compute")).send().await.assert_error(400, "BAD_REQUEST");
        let list = list_of(&app, "List", &["ann@example.com", "bob@example.com"]).await;
        assert_eq!(compute(&app, &list).await, json!({"added": 0, "removed": 0, "total": 2}));
        patch(&app, &pro, json!({"trackMembership": true})).await.assert_status(200);
        assert_eq!(compute(&app, &pro).await, json!({"added": 0, "removed": 0, "total": 0}));
    }

    async fn refreshing_emits_nothing(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"plan": "pro"})).await;
        let pro = tracked(&app, "Pro", &plan("pro")).await;
        let refreshed = app.post(&at(&pro, "/refresh")).send().await.assert_status(200).json();
        assert_eq!(refreshed, json!({"memberCount": 1}));
        assert_eq!((segment_events(&app).await, count(&app, &pro).await), (0, json!(1)));
        assert_eq!(compute(&app, &pro).await, json!({"added": 1, "removed": 0, "total": 1}), "nobody had joined");
    }

    async fn many_contacts_are_computed_in_parts(engine: Engine) {
        let app = App::start(engine).await;
        let emails = |from: usize| -> Vec<String> { (from..from + 500).map(|n| format!("c{n}@example.com")).collect() };
        let list = list_of(&app, "List", &[]).await;
        for from in [0, 500] {
            let body = json!({"emails": emails(from), "createMissing": true});
            app.post(&at(&list, "/members")).json(&body).send().await.assert_status(200);
        }
        let listed = tracked(&app, "Listed", &member_of(&list)).await;
        let dependent = tracked(&app, "Dependent", &member_of(&listed)).await;
        let (one, two) = tokio::join!(compute(&app, &listed), compute(&app, &listed));
        let sum = |key: &str| one[key].as_i64().unwrap_or(-1) + two[key].as_i64().unwrap_or(-1);
        assert_eq!((sum("added"), sum("removed"), sum("total")), (1000, 0, 2000), "{one} {two}");
        assert_eq!(segment_events(&app).await, 1000, "the list of events shows no more");
        let names: Value = read(&app, "/events/stats").await;
        let count_of = |name: &str| items(&names).iter().find(|row| row["name"] == name).map(|row| row["count"].clone());
        assert_eq!(count_of("segment.listed.entry"), Some(json!(1000)));
        assert_eq!(count_of("segment.dependent.entry"), Some(json!(1000)), "who depends on it follows");
        assert_eq!((count(&app, &listed).await, count(&app, &dependent).await), (json!(1000), json!(1000)));
    }
}
