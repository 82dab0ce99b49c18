//! GET /segments/:id/history.

use std::time::Duration;

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{UNKNOWN_ID, as_project, create_contact, items, read, text};
use serde_json::{Value, json};

use super::{at, compute, dynamic, list_of, only, plan, tracked};

const DAY: Duration = Duration::from_hours(24);

/// The sizes of a segment, the oldest first.
async fn sizes(app: &App, segment: &Value, query: &str) -> Vec<i64> {
    let found = read(app, &at(segment, &format!("/history{query}"))).await;
    let days: Vec<&str> = items(&found).iter().map(|one| text(&one["day"])).collect();
    assert!(days.is_sorted_by(|one, next| one < next), "each day once, in order: {days:?}");
    items(&found).iter().map(|one| one["memberCount"].as_i64().expect("a number")).collect()
}

both_engines! {
    async fn each_day_has_the_size_at_its_end(engine: Engine) {
        let app = App::start(engine).await;
        // what is done on a day must not end on the next
        let left = 86_400_000 - app.now().rem_euclid(86_400_000);
        app.advance(Duration::from_millis(left.unsigned_abs())).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let list = list_of(&app, "List", &["ann@example.com"]).await;
        let pro = tracked(&app, "Pro", &plan("pro")).await;
        let all = dynamic(&app, "All", &only(&json!({"field": "email", "operator": "contains", "value": "@"}))).await;
        assert_eq!(sizes(&app, &list, "").await, [1], "today is as it is now");
        for day in 0..3 {
            create_contact(&app, &format!("c{day}@example.com"), true, json!({"plan": "pro"})).await;
            let body = json!({"emails": [format!("m{day}@example.com")], "createMissing": true});
            app.post(&at(&list, "/members")).json(&body).send().await.assert_status(200);
            compute(&app, &pro).await;
            app.post(&at(&all, "/refresh")).send().await.assert_status(200);
            // the sizes are noted, and the next day begins
            app.advance(Duration::from_mins(20)).await;
            app.advance(DAY).await;
        }
        assert_eq!(sizes(&app, &list, "").await, [2, 3, 4, 4]);
        assert_eq!(sizes(&app, &pro, "").await, [1, 2, 3, 3]);
        assert_eq!(sizes(&app, &all, "").await, [3, 5, 7, 7]);
        assert_eq!(sizes(&app, &list, "?days=2").await, [4, 4]);
        assert_eq!(sizes(&app, &list, "?days=1").await, [4]);
        let found = read(&app, &at(&list, "/history?days=1")).await;
        let now = read(&app, &at(&list, "")).await;
        assert_eq!(found[0]["memberCount"], now["memberCount"]);
        let foreign = as_project(&app, &other, "GET", &at(&list, "/history")).send().await;
        foreign.assert_error(404, "RESOURCE_NOT_FOUND");
        app.get(&format!("/segments/{UNKNOWN_ID}/history")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");

        // it goes with the segment
        let days = async || app.rows().await.get("segment_days").map_or(0, Vec::len);
        assert!(days().await >= 9);
        for segment in [&list, &pro, &all] {
            app.delete(&at(segment, "")).send().await.assert_status(204);
        }
        assert_eq!(days().await, 0);
    }

    async fn what_is_older_than_is_kept_goes(engine: Engine) {
        let app = App::start(engine).await;
        let list = list_of(&app, "List", &["ann@example.com"]).await;
        app.advance(Duration::from_mins(20)).await;
        app.tamper("update segment_days set day = day - 390").await;
        app.advance(DAY).await;
        assert_eq!(sizes(&app, &list, "?days=400").await, [1, 1]);
        assert_eq!(sizes(&app, &list, "").await, [1]);
        app.advance(DAY * 10).await;
        let oldest = read(&app, &at(&list, "/history?days=400")).await;
        assert_eq!(items(&oldest).len(), 2, "the day of yesterday's note and today: {oldest}");
    }
}
