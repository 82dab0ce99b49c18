//! How many sender domains a project has.

use futures_util::future::join_all;
use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::{items, read, shown};
use serde_json::json;

both_engines! {
    async fn domains_are_counted_when_they_are_added_at_once(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_DOMAINS_KEY_TYPE", "ed25519").start().await;
        let add = async |node: &App, number: usize| {
            let body = json!({"domain": format!("d{number}.example")});
            node.post("/domains").json(&body).send().await
        };
        for number in 0..97 {
            add(&app, number).await.assert_status(201);
        }
        // one was made with the project
        let other = if engine == Engine::Postgres { Some(app.second_node().await) } else { None };
        let nodes = [&app, other.as_ref().unwrap_or(&app)];
        let answers = join_all((100..112).map(|number| add(nodes[number % 2], number))).await;
        let added = answers.iter().filter(|answer| answer.status == 201).count();
        assert_eq!(added, 2, "{:?}", answers.iter().map(|answer| answer.status).collect::<Vec<_>>());
        for answer in answers.iter().filter(|answer| answer.status != 201) {
            assert!(answer.status == 400 && shown(answer).contains("100 domains"), "{}", shown(answer));
        }
        let listed = read(&app, &format!("/domains/project/{}", app.project_id())).await;
        assert_eq!(items(&listed).len(), 100);
    }
}
