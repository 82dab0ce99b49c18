//! How long it takes to erase a contact with a long history.

use std::time::{Duration, Instant};

use mailwright_testkit::{Engine, both_engines, json};
use mailwright_tests::{create_contact, sized};

use super::filled::started;
use super::{completed, erase, owner, rows_with};

/// How long it may take beside other tests.
const PATIENCE: Duration = Duration::from_mins(1);

both_engines! {
    async fn a_long_history_is_erased(engine: Engine) {
        let (app, _) = started(engine).await;
        let owner = owner(&app).await;
        let ann = create_contact(&app, "ann@people.example", true, json!({})).await;
        let one = json!({"email": "ann@people.example", "event": "viewed", "data": {"page": "canary-page"}});
        app.track(one).await.assert_status(200);
        let id = if engine == Engine::Sqlite { "randomblob(16)" } else { "gen_random_uuid()" };
        let most = sized(9_999, 99_999);
        let numbers = app.numbers(1..=most);
        app.tamper(&format!(
            "insert into events (project_id, id, name, contact_id, data, created_at) \
             select e.project_id, {id}, 'viewed', e.contact_id, e.data, e.created_at \
             from {numbers} cross join (select * from events where name = 'viewed' limit 1) e"
        ))
        .await;
        let began = Instant::now();
        let receipt = erase(&app, &owner, &ann["id"], json!({})).await;
        let answered = began.elapsed();
        let receipt = completed(&app, &owner, &receipt).await;
        // a second on a machine that does nothing else; this one runs other tests
        let complete = began.elapsed();
        assert!(complete < PATIENCE, "answered after {answered:?}, complete after {complete:?}");
        assert_eq!(receipt["counts"]["events"], most + 1);
        assert!(rows_with(&app, "canary-page").await.is_empty());
    }
}
