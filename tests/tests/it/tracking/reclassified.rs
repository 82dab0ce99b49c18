//! More becomes known of machines: lists are fetched, and what is stored is judged again.

use std::time::Duration;

use mailwright_testkit::receiver::{Receiver, Reply};
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{create_contact, read};

use super::{
    Mail, OTHER_PERSON, PERSON, campaign, column, counts, events, judged, later, sent, start, target, visit,
};

/// A list as one provider publishes it, with the network of [`PERSON`].
const LIST: &str = r#"{"prefixes": [{"ipv4Prefix": "203.0.113.0/24"}]}"#;

/// A mirror that has one of the lists.
async fn mirror() -> Receiver {
    Receiver::start(|call, _| match call.target.as_str() {
        "/www.bing.com/toolbox/bingbot.json" => Reply::Status(200, LIST.to_owned()),
        _ => Reply::Status(404, "{}".to_owned()),
    })
    .await
}

async fn refresh(app: &App) {
    let mirror = mirror().await;
    let refreshed = app.try_run(&["tracking", "refresh", "--mirror", &mirror.url("")]).await;
    let said = String::from_utf8_lossy(&refreshed.stdout).into_owned();
    assert_eq!(refreshed.status.code(), Some(2), "others could not be fetched: {said}");
    assert!(said.contains("1 networks  https://www.bing.com/toolbox/bingbot.json"), "{said}");
    assert!(said.contains("could not be fetched: the answer is 404"), "{said}");
    // running processes look every five minutes
    app.advance(Duration::from_mins(5)).await;
}

/// Has everything be judged again, and waits until it is.
async fn reclassify(app: &App, mail: &Mail, classes: &[&str]) {
    app.run(&["tracking", "reclassify", "--project", app.project_id()]).await;
    let path = format!("/emails/{}/hits", mail.id);
    app.eventually(&format!("the classes {classes:?}"), async || {
        (column(&app.list_all(&path).await, "class") == classes).then_some(())
    })
    .await;
}

/// The clicks of the first link of a campaign: of people, mails, and machines.
async fn heat(app: &App, id: &str) -> [Value; 3] {
    let links = read(app, &format!("/campaigns/{id}/links")).await;
    let link = &links["links"][0];
    ["clicks", "uniqueClicks", "machineClicks"].map(|key| link[key].clone())
}

both_engines! {
    async fn what_turns_out_to_be_a_machines_is_taken_back(engine: Engine) {
        let app = start(engine).await;
        let mail = sent(&app, &json!({})).await;
        later(&app).await;
        visit(&app, &mail.picture(), PERSON).await.assert_status(200);
        target(&app, &mail.links()[0], PERSON).await;
        later(&app).await;
        target(&app, &mail.links()[1], OTHER_PERSON).await;
        judged(&app, &mail, 3).await;
        assert_eq!(counts(&app, &mail).await, [1, 2, 0, 0]);
        refresh(&app).await;
        assert_eq!(counts(&app, &mail).await, [1, 2, 0, 0], "what is judged stays until it is judged again");

        reclassify(&app, &mail, &["scanner", "scanner", "human"]).await;
        assert_eq!(counts(&app, &mail).await, [0, 1, 1, 1]);
        let email = app.email(&mail.id).await;
        assert_eq!((&email["status"], &email["openedAt"]), (&json!("CLICKED"), &json!(null)));
        assert!(events(&app, &mail, "email.open").await.is_empty());
        let clicks = events(&app, &mail, "email.click").await;
        assert_eq!(clicks.len(), 1, "{clicks:?}");
        assert_eq!(clicks[0]["data"]["link"], "https://shop.test/two");
        // it says the same again
        reclassify(&app, &mail, &["scanner", "scanner", "human"]).await;
        assert_eq!(counts(&app, &mail).await, [0, 1, 1, 1]);
    }

    async fn the_counters_of_a_campaign_are_corrected(engine: Engine) {
        let app = start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({})).await;
        let (id, mails) = campaign(&app, &json!({})).await;
        later(&app).await;
        visit(&app, &mails[0].picture(), PERSON).await;
        target(&app, &mails[0].links()[0], PERSON).await;
        judged(&app, &mails[0], 2).await;
        let figures = async || {
            let stats = read(&app, &format!("/campaigns/{id}/stats")).await;
            [stats["openedCount"].clone(), stats["clickedCount"].clone()]
        };
        assert_eq!(figures().await, [json!(1), json!(1)]);
        assert_eq!(heat(&app, &id).await, [json!(1), json!(1), json!(0)]);
        refresh(&app).await;
        reclassify(&app, &mails[0], &["scanner", "scanner"]).await;
        assert_eq!(figures().await, [json!(0), json!(0)]);
        assert_eq!(heat(&app, &id).await, [json!(0), json!(0), json!(1)]);
        assert_eq!(app.email(&mails[0].id).await["status"], "SENT");
    }
}
