//! What links lead to, and what is kept of who followed them, when contacts, contents and projects go.

use std::time::Duration;

use mailwright_testkit::{App, Engine, OWNER, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{create_contact, items, read, text};

use super::{Mail, PERSON, Visitor, builder, campaign, counts, judged, later, sent, start, target, visit};

const DAY: Duration = Duration::from_hours(24);
const SOMEBODY: Visitor = Visitor { agent: "Mozilla/5.0 (X11) Unmistakable/7.3.1", address: "203.0.113.177" };
/// The third link is one that nobody follows: who follows all at once is a machine.
const BODY: &str = "<a href=\"https://shop.test/fixed\">F</a><a href=\"https://shop.test/for/{{name}}\">V</a>\
    <a href=\"https://shop.test/rest\">R</a>";

/// Every table that has this in one of its rows.
async fn tables_with(app: &App, word: &str) -> Vec<String> {
    // SQLite keeps JSON as bytes
    let bytes = format!("{:02x?}", word.as_bytes());
    let bytes = bytes.trim_matches(['[', ']']);
    let has = |rows: &[String]| rows.iter().any(|row| row.contains(word) || row.contains(bytes));
    app.rows().await.into_iter().filter(|(_, rows)| has(rows)).map(|(table, _)| table).collect()
}

/// Somebody opens a mail and follows its first two links.
async fn followed(app: &App, mail: &Mail) {
    later(app).await;
    visit(app, &mail.picture(), SOMEBODY).await.assert_status(200);
    for link in &mail.links()[..2] {
        visit(app, link, SOMEBODY).await.assert_status(302);
    }
    judged(app, mail, 3).await;
    assert_eq!(counts(app, mail).await, [1, 2, 0, 0]);
}

async fn delete(app: &App, mail: &Mail) {
    app.delete(&format!("/contacts/{}", text(&mail.contact))).send().await.assert_status(204);
}

both_engines! {
    async fn the_links_of_a_campaign_lead_on_when_the_contact_is_deleted(engine: Engine) {
        let app = start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"name": "unforgettable-name"})).await;
        let (id, mut mails) = campaign(&app, &json!({"body": BODY})).await;
        let mail = mails.remove(0);
        followed(&app, &mail).await;
        let stats = async || {
            let stats = read(&app, &format!("/campaigns/{id}/stats")).await;
            [stats["openedCount"].clone(), stats["clickedCount"].clone()]
        };
        assert_eq!(stats().await, [1, 1]);
        delete(&app, &mail).await;
        later(&app).await;
        // whoever was deleted has the mail all the same
        assert_eq!(target(&app, &mail.links()[0], PERSON).await, "https://shop.test/fixed");
        visit(&app, &mail.picture(), PERSON).await.assert_status(200);
        app.eventually("it is counted, since the campaign stays", async || {
            let heat = read(&app, &format!("/campaigns/{id}/links")).await;
            (items(&heat["links"])[0]["clicks"] == 2).then_some(())
        })
        .await;
        assert_eq!(stats().await, [1, 1], "one mail");
        let events = read(&app, "/events").await;
        assert!(!events.to_string().contains("email.click"), "nothing is told of nobody: {events}");
    }

    async fn nothing_is_kept_of_who_opened_and_clicked_when_the_contact_is_deleted(engine: Engine) {
        let app = start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({"name": "unforgettable-name"})).await;
        let (_, mut mails) = campaign(&app, &json!({"body": BODY})).await;
        let single = json!({"body": BODY, "data": {"name": {"value": "unforgettable-name", "persistent": false}}});
        mails.push(sent(&app, &single).await);
        for mail in &mails {
            followed(&app, mail).await;
        }
        let words = [SOMEBODY.agent, SOMEBODY.address, "unforgettable-name"];
        for word in words {
            assert!(!tables_with(&app, word).await.is_empty(), "{word} is there before");
        }
        delete(&app, &mails[0]).await;
        let mut left = Vec::new();
        for word in words {
            left.push((word, tables_with(&app, word).await));
        }
        assert!(left.iter().all(|(_, tables)| tables.is_empty()), "{left:?}");
    }

    async fn a_single_mail_of_a_deleted_contact_leads_nowhere_and_keeps_nothing(engine: Engine) {
        let app = start(engine).await;
        let mail = sent(&app, &json!({"body": BODY, "data": {"name": "ann"}})).await;
        delete(&app, &mail).await;
        later(&app).await;
        for link in mail.links() {
            let answer = visit(&app, &link, SOMEBODY).await.assert_status(404);
            assert!(answer.text().contains("This link is not valid"));
        }
        // the picture is the same for every mail
        visit(&app, &mail.picture(), SOMEBODY).await.assert_status(200);
        let other = sent(&app, &json!({"to": "bob@example.com"})).await;
        later(&app).await;
        visit(&app, &other.picture(), PERSON).await;
        judged(&app, &other, 1).await;
        app.eventually("what came to nobody is gone", async || {
            tables_with(&app, SOMEBODY.address).await.is_empty().then_some(())
        })
        .await;
        app.get(&format!("/emails/{}/hits", mail.id)).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
    }

    async fn a_reset_or_deleted_project_has_no_links(engine: Engine) {
        for what in ["reset", "delete"] {
            let app = start(engine).await;
            let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
            let mail = sent(&app, &json!({})).await;
            followed(&app, &mail).await;
            let path = format!("/users/@me/projects/{}", app.project_id());
            let request = if what == "reset" {
                owner.request(&app, "POST", &format!("{path}/reset"))
            } else {
                owner.request(&app, "DELETE", &path)
            };
            request.send().await.assert_status(200);
            // what nobody finds any more leads nowhere, at once
            for link in mail.links() {
                let answer = visit(&app, &link, PERSON).await;
                assert_eq!((answer.status, answer.headers.get("location")), (404, None), "{what}: {link}");
            }
            visit(&app, &mail.picture(), PERSON).await.assert_status(200);
            app.eventually("the rows are gone", async || {
                app.advance(Duration::from_secs(10)).await;
                let rows = app.rows().await;
                (rows["hits"].is_empty() && rows["content_links"].is_empty() && rows["emails"].is_empty()).then_some(())
            })
            .await;
        }
    }

    async fn links_of_a_disabled_project_lead_on(engine: Engine) {
        let app = start(engine).await;
        let mail = sent(&app, &json!({})).await;
        later(&app).await;
        app.run(&["project", "disable", app.project_id(), "--reason", "Unpaid"]).await;
        later(&app).await;
        assert_eq!(target(&app, &mail.links()[0], PERSON).await, "https://shop.test/one");
        app.run(&["project", "enable", app.project_id()]).await;
        judged(&app, &mail, 1).await;
        assert_eq!(counts(&app, &mail).await, [0, 1, 0, 0]);
    }

    async fn links_outlive_the_content_of_their_mail(engine: Engine) {
        let mut app = start(engine).await;
        let mail = sent(&app, &json!({"body": BODY, "data": {"name": "ann"}})).await;
        app.eventually("the content is gone", async || {
            app.advance(4 * DAY).await;
            app.rows().await["contents"].is_empty().then_some(())
        })
        .await;
        // nothing of it is remembered either
        app.stop().await;
        app.restart().await;
        assert_eq!(target(&app, &mail.links()[0], PERSON).await, "https://shop.test/fixed");
        assert_eq!(target(&app, &mail.links()[1], PERSON).await, "https://shop.test/for/ann");
        judged(&app, &mail, 2).await;
        assert_eq!(counts(&app, &mail).await, [0, 2, 0, 0]);
        app.eventually("its links are gone after a year", async || {
            app.advance(120 * DAY).await;
            app.rows().await["content_links"].is_empty().then_some(())
        })
        .await;
        app.stop().await;
        app.restart().await;
        assert_eq!(visit(&app, &mail.links()[0], PERSON).await.status, 404);
    }

    async fn hits_are_forgotten_after_their_time_and_their_sums_stay(engine: Engine) {
        let app = builder(engine)
            .env("MAILWRIGHT_TRACKING_SETTLE_MS", "0")
            .env("MAILWRIGHT_TRACKING_HITS_DAYS", "2")
            .start()
            .await;
        create_contact(&app, "ann@example.com", true, json!({"name": "Ann"})).await;
        let (id, mut mails) = campaign(&app, &json!({"body": BODY})).await;
        let mail = mails.remove(0);
        followed(&app, &mail).await;
        app.advance(DAY).await;
        assert_eq!(judged(&app, &mail, 3).await.len(), 3);
        app.eventually("they are forgotten", async || {
            app.advance(DAY).await;
            app.rows().await["hits"].is_empty().then_some(())
        })
        .await;
        assert_eq!(counts(&app, &mail).await, [1, 2, 0, 0]);
        let stats = read(&app, &format!("/campaigns/{id}/stats")).await;
        assert_eq!(read(&app, &format!("/emails/{}/hits", mail.id)).await["total"], 0);
        // and a later one is added to them
        visit(&app, &mail.picture(), PERSON).await;
        app.eventually("it is counted", async || (counts(&app, &mail).await == [2, 2, 0, 0]).then_some(())).await;
        assert_eq!(read(&app, &format!("/campaigns/{id}/stats")).await["openedCount"], stats["openedCount"]);
    }
}
