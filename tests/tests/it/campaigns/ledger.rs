//! What became of each mail.

use super::{act, contacts, draft, entries, get, path, send, settled};
use mailwright_testkit::smtp::{Answer, ScriptedServer};
use mailwright_testkit::{App, Engine, OWNER, Value, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{assert_only_keys, create_contact, items, read, text};
use std::collections::BTreeSet;

both_engines! {
    async fn every_mail_is_in_the_ledger_with_its_reason(engine: Engine) {
        let server = ScriptedServer::start(|to, attempt| match (to, attempt) {
            ("a0@example.com", _) => Answer::RefuseRcpt(550, "5.1.1 unknown"),
            ("a1@example.com", _) => Answer::RefuseData(554, "5.7.1 looks like spam"),
            ("a2@example.com", 1) => Answer::RefuseRcpt(451, "4.7.1 later"),
            ("a3@example.com", _) => Answer::DropAfterDot,
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        contacts(&app, "a", 8).await;
        create_contact(&app, "out@example.com", false, json!({})).await;
        let campaign = draft(&app, &json!({})).await;
        let empty = read(&app, &path(&campaign, "/ledger")).await;
        assert_eq!((&empty["equation"]["audience"], &empty["balance"]), (&json!(0), &Value::Null));
        send(&app, &campaign).await;
        let ledger = settled(&app, &campaign).await;
        assert_only_keys(
            &ledger,
            &["status", "frozen", "equation", "balance", "totals", "data", "cursor", "hasMore"],
        );
        assert_eq!((&ledger["status"], &ledger["frozen"]), (&json!("SENT"), &json!(true)));
        assert_eq!(
            ledger["equation"],
            json!({
                "audience": 9, "waiting": 0, "accepted": 5, "inDoubt": 1, "balanced": true,
                "skipped": {"unsubscribed": 1}, "failed": {"bounced": 1, "rejected": 1},
            })
        );
        let total = |state: &str, reason: Option<&str>| -> i64 {
            let found = items(&ledger["totals"]).iter().find(|t| t["state"] == state && t["reason"] == json!(reason));
            found.map_or(0, |t| t["count"].as_i64().expect("a count"))
        };
        assert_eq!((total("ACCEPTED", None), total("IN_DOUBT", None)), (5, 1));
        assert_eq!((total("FAILED", Some("bounced")), total("SKIPPED", Some("unsubscribed"))), (1, 1));

        for (query, emails) in [
            ("state=FAILED", vec!["a0@example.com", "a1@example.com"]),
            ("state=FAILED&reason=rejected", vec!["a1@example.com"]),
            ("state=FAILED&reason=expired", vec![]),
            ("state=IN_DOUBT", vec!["a3@example.com"]),
            ("state=SKIPPED", vec!["out@example.com"]),
            ("state=WAITING", vec![]),
        ] {
            let found: BTreeSet<String> =
                entries(&app, &campaign, query).await.iter().map(|e| text(&e["email"]).to_owned()).collect();
            assert_eq!(found, emails.into_iter().map(str::to_owned).collect(), "{query}");
        }
        let failed = entries(&app, &campaign, "state=FAILED&reason=bounced").await;
        assert_eq!((&failed[0]["status"], &failed[0]["reason"]), (&json!("BOUNCED"), &json!("bounced")));
        assert!(text(&failed[0]["error"]).contains("unknown"), "{}", failed[0]);
        assert_eq!(app.email(text(&failed[0]["emailId"])).await["reason"], "bounced");

        let stats = read(&app, &path(&campaign, "/stats")).await;
        assert_eq!((&stats["totalRecipients"], &stats["sentCount"]), (&json!(8), &json!(5)));
        assert_eq!((&stats["bouncedCount"], &stats["bounceRate"]), (&json!(1), &json!(20.0)));
        for zero in ["openRate", "clickRate", "deliveryRate", "complaintRate", "unsubscribeRate"] {
            assert_eq!(stats[zero], 0.0, "{zero}");
        }
        assert_eq!(get(&app, &campaign).await["bouncedCount"], 1);

        for wrong in ["state=nonsense", "state=FAILED&reason=nonsense", "state=FAILED&cursor=nonsense"] {
            let answer = app.get(&path(&campaign, &format!("/ledger?{wrong}"))).send().await;
            answer.assert_error(400, "BAD_REQUEST");
        }
    }

    async fn the_ledger_pages_through_rows_of_one_moment(engine: Engine) {
        let app = App::start(engine).await;
        let people = contacts(&app, "a", 45).await;
        for contact in &people[..20] {
            let path = format!("/contacts/{}", text(&contact["id"]));
            app.patch(&path).json(&json!({"subscribed": false})).send().await.assert_status(200);
        }
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
        for (state, count) in [("ACCEPTED", 25), ("SKIPPED", 20)] {
            let mut seen = BTreeSet::new();
            let mut cursor = String::new();
            loop {
                let query = format!("/ledger?state={state}&limit=7{cursor}");
                let page = read(&app, &path(&campaign, &query)).await;
                for entry in items(&page["data"]) {
                    assert_eq!(entry["state"], state);
                    assert!(seen.insert(text(&entry["emailId"]).to_owned()), "twice: {entry}");
                }
                assert!(items(&page["data"]).len() <= 7);
                match page["cursor"].as_str() {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => break,
                }
                assert_eq!(page["hasMore"], true);
            }
            assert_eq!(seen.len(), count, "{state}");
        }
    }

    async fn a_mail_that_cannot_be_read_is_left_out_of_the_ledgers_pages(engine: Engine) {
        let app = App::start(engine).await;
        contacts(&app, "a", 5).await;
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
        app.tamper("update emails set status = 'TELEPORTED' where recipient = 'a2@example.com'").await;
        let (mut seen, mut cursor) = (BTreeSet::new(), String::new());
        loop {
            let page = read(&app, &path(&campaign, &format!("/ledger?state=ACCEPTED&limit=1{cursor}"))).await;
            seen.extend(items(&page["data"]).iter().map(|entry| text(&entry["email"]).to_owned()));
            match page["cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let others = [0, 1, 3, 4].map(|number| format!("a{number}@example.com"));
        assert_eq!(seen, BTreeSet::from(others));
        assert!(app.log().contains("cannot be read"));
    }

    async fn every_state_is_paged_while_a_campaign_is_under_way(engine: Engine) {
        let number = |to: &str| -> usize {
            let digits: String = to.chars().take_while(|c| *c != '@').filter(char::is_ascii_digit).collect();
            digits.parse().unwrap_or_default()
        };
        let server = ScriptedServer::start(move |to, _| match number(to) % 4 {
            0 => Answer::RefuseRcpt(550, "5.1.1 unknown"),
            1 => Answer::DropAfterDot,
            2 => Answer::RefuseRcpt(451, "4.7.1 later"),
            _ => Answer::Accept,
        })
        .await;
        let app = App::builder(engine).smtp(server.port).start().await;
        contacts(&app, "a", 40).await;
        for number in 0..10 {
            create_contact(&app, &format!("out{number}@example.com"), false, json!({})).await;
        }
        let campaign = draft(&app, &json!({"type": "MARKETING"})).await;
        send(&app, &campaign).await;
        app.eventually("only those wait that were put off", async || {
            let ledger = read(&app, &path(&campaign, "/ledger")).await;
            (ledger["frozen"] == true && ledger["equation"]["waiting"] == 10).then_some(())
        })
        .await;
        for (query, rest) in [
            ("state=WAITING", Some(2)), ("state=ACCEPTED", Some(3)), ("state=IN_DOUBT", Some(1)),
            ("state=FAILED", Some(0)), ("state=FAILED&reason=bounced", Some(0)), ("state=SKIPPED", None),
            ("state=SKIPPED&reason=unsubscribed", None),
        ] {
            for limit in [1, 3, 10, 100] {
                let mut seen = Vec::new();
                let mut cursor = String::new();
                loop {
                    let page = read(&app, &path(&campaign, &format!("/ledger?{query}&limit={limit}{cursor}"))).await;
                    seen.extend(items(&page["data"]).iter().map(|entry| text(&entry["email"]).to_owned()));
                    assert!(items(&page["data"]).len() <= limit, "{query} {limit}");
                    match page["cursor"].as_str() {
                        Some(next) => cursor = format!("&cursor={next}"),
                        None => break,
                    }
                }
                assert_eq!(seen.len(), 10, "{query} {limit}: {seen:?}");
                let belongs = |to: &String| rest.map_or(to.starts_with("out"), |rest| number(to) % 4 == rest);
                assert!(seen.iter().all(belongs), "{query} {limit}: {seen:?}");
                assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 10, "{query} {limit}: {seen:?}");
            }
        }
        act(&app, &campaign, "/cancel").await.assert_status(200);
        let ledger = settled(&app, &campaign).await;
        assert_eq!(ledger["equation"]["skipped"], json!({"cancelled": 10, "unsubscribed": 10}), "{ledger}");
    }

    async fn who_unsubscribes_by_a_mail_is_counted_for_its_campaign_once(engine: Engine) {
        let app = App::start(engine).await;
        let people = contacts(&app, "a", 4).await;
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
        let mails = entries(&app, &campaign, "state=ACCEPTED").await;
        let mail_of = |contact: &Value| {
            let entry = mails.iter().find(|mail| mail["contactId"] == contact["id"]).expect("a mail");
            text(&entry["emailId"]).to_owned()
        };
        let unsubscribe = async |contact: &Value, mail: &str| {
            let path = format!("/unsubscribe/{}?e={mail}", text(&contact["id"]));
            app.request("POST", &path).send().await.assert_status(200);
        };
        unsubscribe(&people[0], &mail_of(&people[0])).await;
        unsubscribe(&people[0], &mail_of(&people[0])).await;
        // without a mail, with somebody else's, and a second time after coming back
        unsubscribe(&people[1], "").await;
        unsubscribe(&people[2], &mail_of(&people[3])).await;
        let back = json!({"email": "a0@example.com", "subscribed": true});
        app.post("/contacts").json(&back).send().await.assert_status(200);
        unsubscribe(&people[0], &mail_of(&people[0])).await;
        let stats = read(&app, &path(&campaign, "/stats")).await;
        assert_eq!((&stats["unsubscribedCount"], &stats["unsubscribeRate"]), (&json!(1), &json!(25.0)));
        assert_eq!(get(&app, &campaign).await["unsubscribedCount"], 1);
        unsubscribe(&people[3], &mail_of(&people[3])).await;
        assert_eq!(get(&app, &campaign).await["unsubscribedCount"], 2);
    }

    async fn a_key_for_campaigns_does_not_read_addresses(engine: Engine) {
        let server =
            ScriptedServer::start(|_, _| Answer::RefuseRcpt(550, "5.1.1 <a0@example.com> unknown")).await;
        let app = App::builder(engine).smtp(server.port).start().await;
        contacts(&app, "a", 1).await;
        let campaign = draft(&app, &json!({})).await;
        send(&app, &campaign).await;
        settled(&app, &campaign).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let failed = path(&campaign, "/ledger?state=FAILED");
        for (scopes, sees) in [(&["campaigns"][..], false), (&["campaigns", "contacts"], true), (&["read"], true)] {
            let key = owner.create_key(&app, app.project_id(), "CI", scopes).await;
            let ledger = app.request("GET", &failed).bearer(text(&key["key"])).send().await.assert_status(200);
            assert_eq!(ledger.text().contains("a0@example.com"), sees, "{scopes:?}: {}", ledger.text());
            assert_eq!(ledger.json()["data"][0]["email"].is_string(), sees, "{scopes:?}");
        }
        let shown = owner.in_project(&app, app.project_id(), "GET", &failed).send().await.assert_status(200).json();
        assert_eq!(shown["data"][0]["email"], "a0@example.com");
    }
}
