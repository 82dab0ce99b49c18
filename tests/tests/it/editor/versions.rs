//! Former versions of templates and campaigns.

use mailwright_testkit::{App, Engine, OWNER, Value, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_only_keys, create_contact, items, read, text, without,
};

use super::{BOTH, Kind, mjml};

/// The numbers of all former versions, newest first.
async fn numbers(app: &App, kind: Kind, of: &Value) -> Vec<i64> {
    let all = app.list_all(&kind.path(of, "/versions")).await;
    all.iter().filter_map(|version| version["number"].as_i64()).collect()
}

/// What a version keeps of a template or campaign.
fn said(of: &Value) -> Vec<Value> {
    ["subject", "body", "mjml", "document", "from", "fromName", "replyTo"].map(|name| of[name].clone()).into()
}

both_engines! {
    async fn every_save_keeps_the_version_before(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        for kind in BOTH {
            let first = kind.create(&app, &json!({"mjml": mjml("One"), "document": {"n": 1}, "fromName": "Team"})).await;
            assert_eq!(numbers(&app, kind, &first).await, [0; 0]);
            let change = json!({"subject": "Two", "replyTo": "r@example.com"});
            let path = kind.path(&first, "");
            let method = if kind == Kind::Template { "PATCH" } else { "PUT" };
            let second = owner.in_project(&app, app.project_id(), method, &path).json(&change).send().await;
            let second = second.assert_status(200).json();
            assert_eq!((&second["version"], &second["savedBy"]), (&json!(2), &json!({"type": "user", "id": owner.id})));
            let third = kind.change(&app, &first, &json!({"body": "<p>Three</p>"})).await;
            // what is said is the same
            for same in [json!({}), json!({"name": "Other"}), json!({"subject": "Two"}), json!({"body": "<p>Three</p>"})] {
                assert_eq!(kind.change(&app, &first, &same).await["version"], 3, "{same}");
            }
            let page = read(&app, &kind.path(&first, "/versions")).await;
            assert_only_keys(&page, &["data", "cursor", "hasMore", "total"]);
            assert_eq!((&page["total"], &page["hasMore"], &page["cursor"]), (&json!(2), &json!(false), &Value::Null));
            let listed = items(&page["data"]);
            assert_only_keys(&listed[0], &["number", "subject", "size", "createdAt", "createdBy"]);
            assert_eq!((&listed[0]["number"], &listed[0]["subject"]), (&json!(2), &json!("Two")));
            assert_eq!((&listed[0]["createdBy"], &listed[0]["createdAt"]), (&second["savedBy"], &second["savedAt"]));
            assert_eq!((&listed[1]["number"], &listed[1]["createdBy"]), (&json!(1), &first["savedBy"]));
            assert_eq!(listed[1]["size"], text(&first["body"]).len());
            for (number, was) in [(1, &first), (2, &second)] {
                let version = read(&app, &kind.path(&first, &format!("/versions/{number}"))).await;
                assert_eq!((version["number"].as_i64(), said(&version)), (Some(number), said(was)), "{kind:?}");
            }

            let restored = app.post(&kind.path(&first, "/versions/1/restore")).send().await.assert_status(200).json();
            assert_eq!((said(&restored), &restored["version"]), (said(&first), &json!(4)));
            assert_eq!(restored["name"], "Other", "a version is what the mail says");
            assert_eq!(read(&app, &path).await, restored);
            assert_eq!(numbers(&app, kind, &first).await, [3, 2, 1], "nothing is lost");
            assert_eq!(said(&read(&app, &kind.path(&first, "/versions/3")).await), said(&third));
            // it is there already
            let again = app.post(&kind.path(&first, "/versions/1/restore")).send().await.assert_status(200).json();
            assert_eq!(without(again, "updatedAt"), without(restored, "updatedAt"));
        }
    }

    async fn fifty_versions_are_kept(engine: Engine) {
        let app = App::start(engine).await;
        for kind in BOTH {
            let made = kind.create(&app, &json!({"mjml": mjml("Always")})).await;
            for number in 2..=54 {
                let changed = kind.change(&app, &made, &json!({"subject": format!("S{number}")})).await;
                assert_eq!(changed["version"], number);
            }
            let first = read(&app, &kind.path(&made, "/versions?limit=30")).await;
            assert_eq!((&first["total"], &first["hasMore"], items(&first["data"]).len()), (&json!(50), &json!(true), 30));
            assert_eq!(numbers(&app, kind, &made).await, (4..=53).rev().collect::<Vec<_>>());
            app.get(&kind.path(&made, "/versions/3")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
            let last = read(&app, &kind.path(&made, "/versions/4")).await;
            assert_eq!((&last["subject"], &last["mjml"]), (&json!("S4"), &json!(mjml("Always"))));
            // the same texts are stored once, and go with the last version that has them
            let texts = app.rows().await["version_texts"].len();
            assert_eq!(texts, 2, "HTML and MJML of {kind:?}");
            for number in 55..=104 {
                kind.change(&app, &made, &json!({"body": format!("B{number}")})).await;
            }
            kind.change(&app, &made, &json!({"body": "last"})).await;
            let texts = app.rows().await["version_texts"].len();
            assert_eq!(texts, 50, "one HTML each, and none of before");
            let gone = app.delete(&kind.path(&made, "")).send().await;
            gone.assert_status(204);
            for table in ["version_texts", "mail_versions", "mail_sources"] {
                assert!(app.rows().await.get(table).is_none_or(Vec::is_empty), "{table} of {kind:?}");
            }
        }
    }

    async fn large_versions_leave_no_room_for_old_ones(engine: Engine) {
        let app = App::start(engine).await;
        let made = Kind::Template.create(&app, &json!({"body": "<p>Small</p>"})).await;
        let large = |text: &str| json!({"body": format!("<p>{}</p>", text.repeat(1_500_000))});
        for text in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            Kind::Template.change(&app, &made, &large(text)).await;
        }
        // of seven large ones, six have 9 MB together
        assert_eq!(numbers(&app, Kind::Template, &made).await, [8, 7, 6, 5, 4, 3]);
        assert_eq!(app.rows().await["version_texts"].len(), 6);
        // the newest is kept however large it is, and small ones find room beside it
        Kind::Template.change(&app, &made, &json!({"body": "<p>Small</p>"})).await;
        assert_eq!(numbers(&app, Kind::Template, &made).await, [9, 8, 7, 6, 5, 4]);
    }

    async fn what_is_not_there_or_not_ones_own_is_not_found(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        for kind in BOTH {
            let theirs = kind.of_another(&app, &other).await;
            let change = json!({"subject": "Changed"});
            let method = if kind == Kind::Template { "PATCH" } else { "PUT" };
            as_project(&app, &other, method, &kind.path(&theirs, "")).json(&change).send().await.assert_status(200);
            for id in [UNKNOWN_ID, text(&theirs["id"])] {
                let path = format!("{}/{id}/versions", kind.list());
                for request in [app.get(&path), app.get(&format!("{path}/1")), app.post(&format!("{path}/1/restore"))] {
                    request.send().await.assert_error(404, kind.missing());
                }
            }
            let mine = kind.create(&app, &json!({"mjml": mjml("Mine")})).await;
            for number in ["1", "2", "0", "-1", "x", "99999999999999999999"] {
                let path = kind.path(&mine, &format!("/versions/{number}"));
                app.get(&path).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
                app.post(&format!("{path}/restore")).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
            }
            let path = kind.path(&mine, "/versions?cursor=nonsense");
            app.get(&path).send().await.assert_error(400, "BAD_REQUEST");
            let kept = as_project(&app, &other, "GET", &kind.path(&theirs, "/versions/1")).send().await;
            assert_eq!(kept.assert_status(200).json()["mjml"], json!(mjml("Theirs")));
        }
    }

    async fn a_campaign_is_restored_only_while_it_can_be_changed(engine: Engine) {
        let app = App::start(engine).await;
        create_contact(&app, "ann@example.com", true, json!({})).await;
        let campaign = Kind::Campaign.create(&app, &json!({"mjml": mjml("One")})).await;
        Kind::Campaign.change(&app, &campaign, &json!({"body": "Two"})).await;
        app.post(&Kind::Campaign.path(&campaign, "/send")).json(&json!({})).send().await.assert_status(200);
        let restore = app.post(&Kind::Campaign.path(&campaign, "/versions/1/restore")).send().await;
        restore.assert_error(400, "BAD_REQUEST");
        let after = read(&app, &Kind::Campaign.path(&campaign, "")).await;
        assert_eq!((&after["body"], &after["version"]), (&json!("Two"), &json!(2)));
        assert_eq!(numbers(&app, Kind::Campaign, &campaign).await, [1]);
    }

    async fn saves_at_the_same_time_lose_nothing(engine: Engine) {
        let app = App::start(engine).await;
        for kind in BOTH {
            let made = kind.create(&app, &json!({"body": "0"})).await;
            let saves = (1..=8).map(|number| {
                let request = kind.update(&app, &made).json(&json!({"body": number.to_string()}));
                async move { request.send().await.assert_status(200).json()["version"].as_i64() }
            });
            let mut versions = futures_util::future::join_all(saves).await;
            versions.sort_unstable();
            assert_eq!(versions, (2..=9).map(Some).collect::<Vec<_>>());
            let mut bodies = vec![text(&read(&app, &kind.path(&made, "")).await["body"]).to_owned()];
            for number in 1..=8 {
                let version = read(&app, &kind.path(&made, &format!("/versions/{number}"))).await;
                bodies.push(text(&version["body"]).to_owned());
            }
            bodies.sort_unstable();
            assert_eq!(bodies, (0..=8).map(|number| number.to_string()).collect::<Vec<_>>());
        }
    }
}
