//! What still uses a thing although it is not part of a workflow any more as it is edited: the version in force, and
//! those that executions under way run.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::workflow::Flow;
use mailwright_tests::{column, create_contact, create_template, items, read, text};
use serde_json::{Value, json};

/// The names of the workflows in the usage of an event or a field.
async fn workflows(app: &App, path: &str) -> Vec<String> {
    let usage = read(app, path).await;
    column(&usage["usedInWorkflows"], "name").into_iter().map(str::to_owned).collect()
}

both_engines! {
    async fn what_executions_under_way_need_is_in_use(engine: Engine) {
        let app = App::start(engine).await;
        let template = create_template(&app, &json!({"name": "Second"})).await;
        let flow = Flow::new(&app, "began").await;
        let wait = flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid \"now\""})).await;
        let update = flow.then("UPDATE_CONTACT", json!({"updates": {"größe": 1}})).await;
        let made = flow.try_add("SEND_EMAIL", &json!({}), &json!({"templateId": template["id"]})).await;
        let mail = made.assert_status(201).json();
        flow.enable().await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"größe": 0})).await;
        let id = flow.start(&ann["id"], json!({})).await;
        flow.once(&id, "WAITING").await;

        let (event, field) = ("/events/paid%20%22now%22/usage", "/contacts/fields/gr%C3%B6%C3%9Fe/usage");
        let of_template = format!("/templates/{}", text(&template["id"]));
        let steps = async || {
            let usage = read(&app, &format!("{of_template}/usage")).await;
            items(&usage["workflowSteps"]).iter().map(|step| step["id"].clone()).collect::<Vec<Value>>()
        };
        let assert_used = async |when: &str, is_used: bool| {
            let names = if is_used { vec!["began"] } else { Vec::new() };
            assert_eq!(workflows(&app, event).await, names, "{when}");
            assert_eq!(workflows(&app, field).await, names, "{when}");
            let ids = if is_used { vec![mail["id"].clone()] } else { Vec::new() };
            assert_eq!(steps().await, ids, "{when}");
        };
        assert_used("as it is edited", true).await;
        for step in [&wait, &update, &text(&mail["id"]).to_owned()] {
            app.delete(&flow.path(&format!("/steps/{step}?splice=true"))).send().await.assert_status(204);
        }
        assert_used("in force", true).await;
        app.post(&flow.path("/publish")).send().await.assert_status(200);
        assert_used("under way", true).await;
        app.delete(&of_template).send().await.assert_status(409);
        app.delete(&flow.path(&format!("/executions/{id}"))).send().await.assert_status(200);
        assert_used("over", false).await;
        app.delete(&of_template).send().await.assert_status(204);
    }

    async fn a_segment_whose_events_start_workflows_stays(engine: Engine) {
        let app = App::start(engine).await;
        let condition = json!({"logic": "AND", "groups": [{"filters": [
            {"field": "data.plan", "operator": "equals", "value": "pro"},
        ]}]});
        let made = json!({"name": "Big Spenders", "condition": condition, "trackMembership": true});
        let segment = app.post("/segments").json(&made).send().await.assert_status(201).json();
        let path = format!("/segments/{}", text(&segment["id"]));
        let flow = Flow::new(&app, "segment.big-spenders.exit").await;
        let refused = app.delete(&path).send().await;
        let error = refused.assert_error(409, "CONFLICT");
        assert!(text(&error["message"]).contains("segment.big-spenders.exit"), "{error}");
        app.delete(&flow.path("")).send().await.assert_status(204);
        app.delete(&path).send().await.assert_status(204);
    }

    async fn names_and_places_make_no_version(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "began").await;
        let wait = flow.then("WAIT_FOR_EVENT", json!({"eventName": "paid"})).await;
        flow.enable().await;
        let step = flow.path(&format!("/steps/{wait}"));
        let looks = [json!({"name": "Paid?"}), json!({"position": {"x": 7, "y": 8}}), json!({})];
        let state = async || {
            let found = read(&app, &flow.path("")).await;
            (found["version"].clone(), found["isDraft"].clone())
        };
        for change in &looks {
            app.patch(&step).json(change).send().await.assert_status(200);
            assert_eq!(state().await, (json!(1), json!(false)), "{change}");
        }
        let ann = create_contact(&app, "ann@example.com", true, json!({})).await;
        let id = flow.start(&ann["id"], json!({})).await;
        flow.once(&id, "WAITING").await;
        let config = json!({"config": {"eventName": "bought"}});
        app.patch(&step).json(&config).send().await.assert_status(200);
        app.delete(&flow.path(&format!("/executions/{id}"))).send().await.assert_status(200);
        for change in &looks {
            app.patch(&step).json(change).send().await.assert_status(200);
            assert_eq!(state().await, (json!(1), json!(true)), "{change} publishes nothing");
        }
        app.patch(&step).json(&json!({"config": {"eventName": "left"}})).send().await.assert_status(200);
        assert_eq!(state().await, (json!(2), json!(false)));
    }

    async fn the_template_of_a_step_is_changed_by_what_is_changed_only(engine: Engine) {
        let app = App::start(engine).await;
        let first = create_template(&app, &json!({"name": "First"})).await["id"].clone();
        let second = create_template(&app, &json!({"name": "Second"})).await["id"].clone();
        let flow = Flow::new(&app, "began").await;
        let config = json!({"templateId": first});
        let made = flow.try_add("SEND_EMAIL", &config, &json!({"templateId": second})).await;
        let step = made.assert_status(201).json();
        assert_eq!(step["templateId"], second);
        let path = flow.path(&format!("/steps/{}", text(&step["id"])));
        let change = async |body: Value| app.patch(&path).json(&body).send().await.assert_status(200).json();
        let again = json!({"config": {"templateId": first, "recipient": {"type": "CONTACT"}}});
        assert_eq!(change(again).await["templateId"], second);
        assert_eq!(change(json!({"config": {"templateId": second}})).await["templateId"], second);
        assert_eq!(change(json!({"config": {"templateId": first}})).await["templateId"], first);
        // a template that does not exist is refused wherever it stands
        let unknown = json!({"templateId": mailwright_tests::UNKNOWN_ID});
        let exit = flow.try_add("EXIT", &json!({}), &unknown).await;
        exit.assert_error(404, "TEMPLATE_NOT_FOUND");
    }

    async fn steps_are_not_lost_by_a_slip(engine: Engine) {
        let app = App::start(engine).await;
        let flow = Flow::new(&app, "began").await;
        let step = flow.then("DELAY", json!({"amount": 1, "unit": "hours"})).await;
        flow.then("EXIT", json!({})).await;
        for splice in ["1", "yes", "TRUE"] {
            let path = flow.path(&format!("/steps/{step}?splice={splice}"));
            app.delete(&path).send().await.assert_error(400, "BAD_REQUEST");
        }
        assert_eq!(items(&read(&app, &flow.path("")).await["steps"]).len(), 3);
        app.delete(&flow.path(&format!("/steps/{step}?splice=false"))).send().await.assert_status(204);
        assert_eq!(items(&read(&app, &flow.path("")).await["steps"]).len(), 1);
        let ids = json!({"ids": [flow.id, mailwright_tests::UNKNOWN_ID]});
        app.post("/workflows/bulk-update").json(&ids).send().await.assert_error(404, "WORKFLOW_NOT_FOUND");
    }
}
