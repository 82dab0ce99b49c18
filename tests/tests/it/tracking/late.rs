//! Later hits that show what earlier ones were.

use std::time::Duration;

use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{create_contact, items, read, text};

use super::{
    Mail, OTHER_PERSON, PERSON, Visitor, campaign, column, counts, events, judged, later, start, target,
    visit,
};

const SCANNER: Visitor = Visitor { agent: PERSON.agent, address: "192.0.2.200" };

/// What a campaign counts: opens and clicks of people and of machines, and the clicks on its second link.
async fn counted(app: &App, campaign: &str) -> ([i64; 4], [i64; 3]) {
    let stats = read(app, &format!("/campaigns/{campaign}/stats")).await;
    let shown = read(app, &format!("/campaigns/{campaign}")).await;
    for key in ["openedCount", "clickedCount"] {
        assert_eq!(stats[key], shown[key], "{key}");
    }
    let links = read(app, &format!("/campaigns/{campaign}/links")).await;
    let link = &items(&links["links"])[1];
    let number = |of: &Value, key: &str| of[key].as_i64().expect("a number");
    (
        ["openedCount", "clickedCount", "machineOpenedCount", "machineClickedCount"]
            .map(|key| number(&stats, key)),
        ["clicks", "uniqueClicks", "machineClicks"].map(|key| number(link, key)),
    )
}

/// How many contacts have the event of a click, as whoever chooses an audience sees it.
async fn clickers(app: &App) -> Value {
    let filter = json!({"field": "event.email.click", "operator": "triggered"});
    let draft = json!({
        "name": "n", "subject": "s", "body": "b", "from": app.from(), "audienceType": "FILTERED",
        "audienceCondition": {"logic": "AND", "groups": [{"filters": [filter]}]},
    });
    let made = app.post("/campaigns").json(&draft).send().await.assert_status(201).json();
    let id = text(&made["data"]["id"]);
    read(app, &format!("/campaigns/{id}/audience")).await["audience"].clone()
}

async fn one_mail(app: &App) -> (String, Mail) {
    create_contact(app, "ann@example.com", true, json!({})).await;
    let (id, mut mails) = campaign(app, &json!({})).await;
    later(app).await;
    (id, mails.remove(0))
}

both_engines! {
    async fn a_click_that_turns_out_to_be_a_scanners_is_taken_back_everywhere(engine: Engine) {
        let app = start(engine).await;
        let (id, mail) = one_mail(&app).await;
        target(&app, &mail.links()[1], SCANNER).await;
        let hits = judged(&app, &mail, 1).await;
        assert_eq!(column(&hits, "class"), ["human"], "nothing speaks against it yet: {hits:?}");
        assert_eq!(counted(&app, &id).await, ([0, 1, 0, 0], [1, 1, 0]));
        assert_eq!(events(&app, &mail, "email.click").await.len(), 1);
        assert_eq!(clickers(&app).await, 1);
        let usage = async || read(&app, "/events/stats").await;
        let before = usage().await;

        visit(&app, &mail.trap(), SCANNER).await.assert_status(204);
        app.eventually("the first is judged again", async || {
            (counts(&app, &mail).await == [0, 0, 0, 2]).then_some(())
        })
        .await;
        let hits = judged(&app, &mail, 2).await;
        assert_eq!((column(&hits, "class"), column(&hits, "reason")), (vec!["scanner"; 2], vec!["company", "trap"]), "{hits:?}");
        let email = app.email(&mail.id).await;
        assert_eq!((&email["status"], &email["clickedAt"]), (&json!("SENT"), &Value::Null), "{email}");
        assert_eq!(counted(&app, &id).await, ([0, 0, 0, 1], [0, 0, 1]));
        assert!(events(&app, &mail, "email.click").await.is_empty());
        assert_ne!(usage().await, before, "its event is counted no longer");
        assert_eq!(clickers(&app).await, 0);

        // and a person who comes then is one
        later(&app).await;
        target(&app, &mail.links()[1], OTHER_PERSON).await;
        judged(&app, &mail, 3).await;
        assert_eq!(counted(&app, &id).await, ([0, 1, 0, 1], [1, 1, 1]));
        let clicked = events(&app, &mail, "email.click").await;
        assert_eq!((clicked.len(), &clicked[0]["data"]["clicks"], &clicked[0]["data"]["isFirstClick"]), (1, &json!(1), &json!(true)));
    }

    async fn what_people_did_stays(engine: Engine) {
        let app = start(engine).await;
        let (id, mail) = one_mail(&app).await;
        visit(&app, &mail.picture(), OTHER_PERSON).await;
        judged(&app, &mail, 1).await;
        later(&app).await;
        target(&app, &mail.links()[1], SCANNER).await;
        judged(&app, &mail, 2).await;
        app.advance(Duration::from_secs(20)).await;
        target(&app, &mail.links()[1], OTHER_PERSON).await;
        let person = judged(&app, &mail, 3).await.remove(2);
        assert_eq!(counted(&app, &id).await, ([1, 1, 0, 0], [2, 1, 0]));
        visit(&app, &mail.trap(), Visitor { agent: "Mozilla/5.0 (X11) Unknown/1.0", ..SCANNER }).await;
        let hits = judged(&app, &mail, 4).await;
        app.eventually("the click is taken back", async || (counts(&app, &mail).await == [1, 1, 0, 2]).then_some(())).await;
        assert_eq!(counted(&app, &id).await, ([1, 1, 0, 1], [1, 1, 1]), "{hits:?}");
        let email = app.email(&mail.id).await;
        assert_eq!((&email["status"], &email["clickedAt"]), (&json!("CLICKED"), &person["at"]), "the person's click is the first: {email}");
        let clicked = events(&app, &mail, "email.click").await;
        assert_eq!(clicked.len(), 1, "{clicked:?}");
        assert_eq!(clicked[0]["data"]["clickedAt"], person["at"]);
        assert_eq!(events(&app, &mail, "email.open").await.len(), 1);
    }

    async fn an_open_that_a_scanner_made_leaves_the_mail_as_sent(engine: Engine) {
        let app = start(engine).await;
        let (id, mail) = one_mail(&app).await;
        visit(&app, &mail.picture(), SCANNER).await;
        judged(&app, &mail, 1).await;
        assert_eq!(app.email(&mail.id).await["status"], "OPENED");
        visit(&app, &mail.trap(), SCANNER).await;
        app.eventually("the open is taken back", async || (counts(&app, &mail).await == [0, 0, 1, 1]).then_some(())).await;
        let email = app.email(&mail.id).await;
        assert_eq!((&email["status"], &email["openedAt"]), (&json!("SENT"), &Value::Null), "{email}");
        assert_eq!(counted(&app, &id).await.0, [0, 0, 1, 1]);
        assert!(events(&app, &mail, "email.open").await.is_empty());
    }

    async fn what_became_of_a_mail_meanwhile_is_not_lost(engine: Engine) {
        let app = start(engine).await;
        let (_, mail) = one_mail(&app).await;
        target(&app, &mail.links()[0], SCANNER).await;
        judged(&app, &mail, 1).await;
        app.tamper("update emails set status = 'COMPLAINED', complained_at = sent_at").await;
        visit(&app, &mail.trap(), SCANNER).await;
        app.eventually("the click is taken back", async || (counts(&app, &mail).await == [0, 0, 0, 2]).then_some(())).await;
        assert_eq!(app.email(&mail.id).await["status"], "COMPLAINED");
    }
}
