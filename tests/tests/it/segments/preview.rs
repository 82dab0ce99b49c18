//! POST /segments/preview.

use mailwright_testkit::{App, Engine, Response, both_engines};
use mailwright_tests::{UNKNOWN_ID, as_project, column, create_contact, items, make_events_endless, read};
use serde_json::{Value, json};

use super::{at, dynamic, list_of, member_of, only, plan, tracked};

async fn preview(app: &App, body: &Value) -> Response {
    app.post("/segments/preview").json(body).send().await
}

async fn found(app: &App, condition: &Value) -> Value {
    let body = json!({"condition": condition, "sample": 20});
    preview(app, &body).await.assert_status(200).json()
}

both_engines! {
    async fn it_counts_and_shows_the_newest_and_stores_nothing(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Other", "other.example").await;
        let stranger = json!({"email": "stranger@example.com", "data": {"plan": "pro"}});
        as_project(&app, &other, "POST", "/contacts").json(&stranger).send().await.assert_status(201);
        for n in 0..25 {
            let plan = if n % 5 == 0 { "free" } else { "pro" };
            create_contact(&app, &format!("c{n:02}@example.com"), true, json!({"plan": plan})).await;
        }
        let counted = preview(&app, &json!({"condition": plan("pro")})).await.assert_status(200).json();
        assert_eq!(counted, json!({"count": 20, "exact": true, "sample": []}));
        let three = preview(&app, &json!({"condition": plan("pro"), "sample": 3})).await.assert_status(200).json();
        assert_eq!((&three["count"], &three["exact"]), (&json!(20), &json!(true)));
        assert_eq!(column(&three["sample"], "email"), ["c24@example.com", "c23@example.com", "c22@example.com"]);
        let listed = read(&app, "/contacts?limit=1").await;
        assert_eq!(three["sample"][0], listed["data"][0], "a contact is shown as the list shows it");
        let nobody = found(&app, &plan("gold")).await;
        assert_eq!(nobody, json!({"count": 0, "exact": true, "sample": []}));
        assert_eq!(read(&app, "/segments").await, json!([]));

        // what is counted is what the segment then has
        let segment = dynamic(&app, "Pro", &plan("pro")).await;
        assert_eq!(segment["memberCount"], 20);
    }

    async fn it_looks_through_other_segments(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "pro@example.com", true, json!({"plan": "pro"})).await;
        let list = list_of(&app, "List", &["ann@example.com", "bob@example.com"]).await;
        let pro = dynamic(&app, "Pro", &plan("pro")).await;
        let through = dynamic(&app, "Through", &member_of(&pro)).await;
        let followed = tracked(&app, "Followed", &plan("pro")).await;
        app.post(&at(&followed, "/compute")).send().await.assert_status(200);
        for (segment, count) in [(&list, 2), (&pro, 1), (&through, 1), (&followed, 1)] {
            let found = found(&app, &member_of(segment)).await;
            assert_eq!((found["count"].as_i64(), items(&found["sample"]).len()), (Some(count), count as usize));
        }
    }

    async fn its_faults_are_those_of_segments(engine: Engine) {
        let app = App::start(engine).await;
        let unknown = json!({"field": format!("segment.{UNKNOWN_ID}"), "operator": "memberOfSegment"});
        let wrong = json!({"field": "data.plan", "operator": "resembles", "value": "pro"});
        let filters = json!([{"field": "subscribed", "operator": "equals", "value": "yes"}, wrong]);
        for condition in [
            only(&unknown),
            only(&wrong),
            json!({}),
            json!({"logic": "AND", "groups": []}),
            json!({"logic": "NOR", "groups": [{"filters": filters}]}),
        ] {
            let refused = preview(&app, &json!({"condition": condition})).await;
            let refused = refused.assert_error(400, "VALIDATION_ERROR");
            let segment = json!({"name": "New", "condition": condition});
            let as_segment = app.post("/segments").json(&segment).send().await;
            assert_eq!(refused["errors"], as_segment.assert_error(400, "VALIDATION_ERROR")["errors"]);
        }
        for body in [
            json!({}),
            json!({"condition": null}),
            json!({"condition": [plan("pro")]}),
            json!({"condition": plan("pro"), "sample": 21}),
            json!({"condition": plan("pro"), "sample": -1}),
        ] {
            preview(&app, &body).await.assert_error(422, "VALIDATION_ERROR");
        }
    }

    async fn a_count_that_takes_too_long_is_not_exact(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_DATABASE_SLOW_READ_MS", "700").start().await;
        app.track(json!({"email": "ann@example.com", "event": "seen"})).await.assert_status(200);
        make_events_endless(&app).await;
        let seen = only(&json!({"field": "event.seen", "operator": "triggered"}));
        let given_up = preview(&app, &json!({"condition": seen})).await.assert_status(200).json();
        assert_eq!(given_up, json!({"count": 0, "exact": false, "sample": []}));
        preview(&app, &json!({"condition": seen, "sample": 1})).await.assert_error(503, "DATABASE_ERROR");
        // others are counted as before
        let exact = app
            .eventually("the place of the read is free again", async || {
                let all = only(&json!({"field": "email", "operator": "contains", "value": "@"}));
                let answer = preview(&app, &json!({"condition": all, "sample": 1})).await;
                (answer.status == 200).then(|| answer.json())
            })
            .await;
        assert_eq!((&exact["count"], &exact["exact"]), (&json!(1), &json!(true)));
    }
}
