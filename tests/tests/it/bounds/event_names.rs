//! How many names the events of a project have.

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::shown;
use serde_json::json;

use super::{assert_refused, track_from_a_page, track_from_a_server};

/// Names of a project's events.
const MAX_EVENT_NAMES: usize = 10_000;

/// Names the project's events so often that `room` further names fit.
async fn fill_event_names(app: &App, room: usize) {
    let known = 1; // the test tracked one
    let fillers = app.numbers(1..=MAX_EVENT_NAMES - known - room);
    app.tamper(&format!(
        "insert into event_names (project_id, name, created_at) \
         select r.project_id, 'filler ' || i, 0 from {fillers}, (select project_id from event_names limit 1) r"
    ))
    .await;
}

both_engines! {
    async fn the_public_key_adds_to_half_of_the_names_of_events(engine: Engine) {
        let app = App::start(engine).await;
        track_from_a_page(&app, "a@example.com", "signed up", &json!({})).await.assert_status(200);
        fill_event_names(&app, MAX_EVENT_NAMES / 2 + 1).await;
        track_from_a_page(&app, "a@example.com", "fits", &json!({})).await.assert_status(200);
        let answer = track_from_a_page(&app, "a@example.com", "more", &json!({})).await;
        assert_refused(&answer, "event", "5000 names");
        track_from_a_server(&app, "a@example.com", "more", &json!({})).await.assert_status(200);
        track_from_a_page(&app, "a@example.com", "more", &json!({})).await.assert_status(200);
    }

    async fn a_project_has_events_of_a_bounded_number_of_names(engine: Engine) {
        let app = App::start(engine).await;
        track_from_a_server(&app, "a@example.com", "signed up", &json!({})).await.assert_status(200);
        fill_event_names(&app, 3).await;
        let names: Vec<_> = (0..8).map(|number| format!("new {number}")).collect();
        let empty = json!({});
        let answers = join_all(names.iter().map(|name| track_from_a_server(&app, "a@example.com", name, &empty))).await;
        let taken = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(taken, 3);
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            assert_refused(answer, "event", "10000 names");
        }
        for (name, answer) in names.iter().zip(&answers) {
            let again = track_from_a_server(&app, "b@example.com", name, &json!({})).await;
            assert_eq!(again.status, answer.status, "{name}: {}", shown(&again));
        }
        track_from_a_server(&app, "b@example.com", "signed up", &json!({})).await.assert_status(200);
        let internal = app.post("/events/track").json(&json!({"email": "b@example.com", "event": "newer"})).send().await;
        assert_refused(&internal, "event", "10000 names");
        // the service's own events have room
        app.post("/contacts").json(&json!({"email": "b@example.com", "subscribed": false})).send().await.assert_status(200);

        app.delete("/events/signed%20up").send().await.assert_status(200);
        track_from_a_server(&app, "b@example.com", "newest", &json!({})).await.assert_status(200);
        assert_refused(&track_from_a_server(&app, "b@example.com", "signed up", &json!({})).await, "event", "10000 names");
    }
}
