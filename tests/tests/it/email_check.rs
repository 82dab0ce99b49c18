//! Mails that are checked before they are sent: what receivers will find of them, and that nothing is left behind.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::spamd::FakeSpamd;
use mailwright_testkit::{App, Engine, OWNER, Response, Value, both_engines, json};
use mailwright_tests::browser::Browser;
use mailwright_tests::{
    UNKNOWN_ID, as_project, assert_only_keys, column, create_contact, create_template, issues, items, read,
    text, with,
};

const SHAPE: &[&str] = &[
    "authentication",
    "size",
    "htmlSize",
    "links",
    "pictures",
    "undescribed",
    "isCut",
    "warnings",
    "spam",
    "variables",
];
const GOOD: &str =
    "<p>Hello, your order is on its way. <a href=\"https://shop.example/orders/1\">Where it is</a></p>";

async fn asked(app: &App, path: &str, body: &Value) -> Response {
    app.post(path).json(body).send().await
}

async fn checked(app: &App, path: &str, body: &Value) -> Value {
    let answer = asked(app, path, body).await.assert_status(200).json();
    assert_eq!(answer["success"], true);
    assert_only_keys(&answer["data"], SHAPE);
    answer["data"].clone()
}

async fn check(app: &App, body: &Value) -> Value {
    checked(app, "/emails/check", body).await
}

fn mail(app: &App, changes: &Value) -> Value {
    with(json!({"subject": "Your order", "body": GOOD, "from": app.from()}), changes)
}

/// DKIM, SPF and DMARC.
fn results(found: &Value) -> [&str; 3] {
    ["dkim", "spf", "dmarc"].map(|name| text(&found["authentication"][name]))
}

async fn create_campaign(app: &App) -> Value {
    let new =
        json!({"name": "News", "subject": "News", "body": GOOD, "from": app.from(), "audienceType": "ALL"});
    let created = app.post("/campaigns").json(&new).send().await.assert_status(201).json();
    created["data"].clone()
}

both_engines! {
    async fn a_mail_with_every_fault_is_told_them_all(engine: Engine) {
        let rules = [" 2.7 MISSING_DATE           Missing Date: header", "-0.1 DKIM_VALID             It is signed"];
        let spamd = FakeSpamd::start("True ; 7.2 / 5.0", &rules).await;
        let app = App::builder(engine).env("MAILWRIGHT_CHECK_SPAMD", spamd.address()).start().await;
        let body = format!(
            "<a href='https://evil.example/'>https://bank.example/login</a><a href='http://acme.example'>Plain</a>\
             <a href='https://bit.ly/1'>Short</a><img src='https://acme.example/p.png'><form></form>\
             <p>{{{{name | upcas}}}}</p><!-- {} -->",
            "long ".repeat(22_000)
        );
        let subject = "BUY IT NOW ".repeat(9);
        let faulty = json!({"subject": subject, "body": body, "text": " ", "type": "HEADLESS"});
        let found = check(&app, &mail(&app, &faulty)).await;
        assert_eq!(column(&found["warnings"], "code"), [
            "MISLEADING_LINK", "ACTIVE_CONTENT", "NO_UNSUBSCRIBE", "INVALID_TEMPLATE", "CLIPPED", "UNDESCRIBED_PICTURE",
            "LITTLE_TEXT", "LONG_SUBJECT", "CAPITAL_SUBJECT", "EMPTY_TEXT", "INSECURE_LINK", "SHORT_LINK",
        ]);
        assert!(column(&found["warnings"], "message").iter().all(|message| message.ends_with('.')), "{found}");
        assert_eq!(column(&found["links"], "href"), ["https://evil.example/", "http://acme.example", "https://bit.ly/1"]);
        assert!(items(&found["links"]).iter().all(|link| link["isTracked"] == true), "{found}");
        assert_eq!((&found["pictures"], &found["undescribed"]), (&json!(1), &json!(["https://acme.example/p.png"])));
        assert!(found["htmlSize"].as_u64() > Some(110_000) && found["size"].as_u64() > found["htmlSize"].as_u64());
        let spam = &found["spam"];
        assert_only_keys(spam, &["score", "threshold", "isSpam", "rules"]);
        assert_eq!((&spam["score"], &spam["threshold"], &spam["isSpam"]), (&json!(7.2), &json!(5.0), &json!(true)));
        assert_eq!(column(&spam["rules"], "name"), ["MISSING_DATE", "DKIM_VALID"]);
        assert_eq!(spam["rules"][0]["points"], 2.7);

        // what is larger than SpamAssassin takes is looked at all the same
        let file = json!({"filename": "a.bin", "contentType": "application/octet-stream", "content": "AAAA".repeat(2_796_000)});
        let found = check(&app, &mail(&app, &json!({"attachments": [file]}))).await;
        assert_eq!(column(&found["warnings"], "code"), ["LARGE"]);
        assert_only_keys(&found["spam"], &["error"]);
        assert_eq!(spamd.mails().len(), 1);
    }

    async fn a_clean_mail_is_signed_and_leaves_nothing_behind(engine: Engine) {
        let spamd = FakeSpamd::start("False ; -0.1 / 5.0", &["-0.1 DKIM_VALID             It is signed"]).await;
        let app = App::builder(engine).env("MAILWRIGHT_CHECK_SPAMD", spamd.address()).start().await;
        let found = check(&app, &mail(&app, &json!({}))).await;
        assert_eq!((&found["warnings"], &found["isCut"]), (&json!([]), &json!(false)));
        assert_eq!(found["variables"], json!({"unknown": [], "empty": []}));
        assert_eq!((&found["spam"]["isSpam"], &found["spam"]["score"]), (&json!(false), &json!(-0.1)));
        // mail is captured here, so no record was looked up
        assert_eq!(results(&found), ["unknown", "unknown", "unknown"]);
        assert_eq!(found["authentication"]["isDomainVerified"], true);
        let sent = spamd.mails().pop().expect("a mail");
        assert!(sent.starts_with("DKIM-Signature:") && sent.contains("\r\nSubject: Your order\r\n"), "{sent}");
        assert_eq!(found["size"].as_u64(), Some(sent.len() as u64));

        let template = create_template(&app, &json!({"subject": "Hi", "body": GOOD})).await;
        for (path, body) in [
            ("/emails/check".to_owned(), json!({"templateId": template["id"]})),
            ("/emails/check".to_owned(), json!({"template": template["id"], "subject": "Other"})),
            (format!("/templates/{}/check", text(&template["id"])), json!({})),
        ] {
            assert_eq!(checked(&app, &path, &body).await["warnings"], json!([]), "{path} {body}");
        }
        let campaign = create_campaign(&app).await;
        for (path, body) in [
            ("/emails/check".to_owned(), json!({"campaignId": campaign["id"]})),
            (format!("/campaigns/{}/check", text(&campaign["id"])), json!({})),
        ] {
            let found = checked(&app, &path, &body).await;
            assert_eq!(found["authentication"]["hasListUnsubscribe"], true, "{path}");
            assert_eq!(found["warnings"], json!([]), "{path}");
            let sent = spamd.mails().pop().expect("a mail");
            assert!(sent.contains("\r\nPrecedence: bulk\r\n") && sent.contains("\r\nList-Unsubscribe:"), "{sent}");
        }
        assert_eq!(items(&read(&app, "/mailbox").await["data"]).len(), 0, "nothing was sent");
        assert_eq!(items(&read(&app, "/contacts").await["data"]).len(), 0, "nobody was created");
    }

    async fn variables_are_looked_at_for_their_reader(engine: Engine) {
        let app = App::start(engine).await;
        let ann = create_contact(&app, "ann@example.com", true, json!({"plan": "pro", "city": "Bonn"})).await;
        create_contact(&app, "bea@example.com", true, json!({"shoe": "42"})).await;
        let body = "<p>{{plan}} {{shoe}} {{plam}} {{city ?? \"there\"}} {{email}} {{order}}</p>";
        let template = create_template(&app, &json!({"subject": "Hi {{plan}}", "body": body})).await;
        let path = format!("/templates/{}/check", text(&template["id"]));
        for (asked, unknown, empty) in [
            (json!({}), json!(["order", "plam"]), json!(["plan", "shoe"])),
            (json!({"contactId": ann["id"]}), json!(["order", "plam"]), json!(["shoe"])),
            (json!({"contactId": ann["id"], "data": {"order": "7", "shoe": "41"}}), json!(["plam"]), json!([])),
            (json!({"data": {"order": " ", "plam": "x", "plan": "x", "shoe": "x"}}), json!([]), json!(["order"])),
        ] {
            let found = checked(&app, &path, &asked).await;
            assert_eq!(found["variables"], json!({"unknown": unknown, "empty": empty}), "{asked}");
            assert_eq!(found["spam"], Value::Null, "no filter is configured");
        }

        // whoever may not read contacts sees no mail as one of them
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let key = owner.create_key(&app, app.project_id(), "CI", &["campaigns"]).await;
        for (body, status) in [(json!({"contactId": ann["id"]}), 403), (json!({}), 200)] {
            let request = app.request("POST", &path).bearer(text(&key["key"])).json(&body);
            request.send().await.assert_status(status);
        }
        asked(&app, &path, &json!({"contactId": UNKNOWN_ID})).await.assert_error(404, "CONTACT_NOT_FOUND");
    }

    async fn records_that_are_missing_let_nothing_pass(engine: Engine) {
        let dns = FakeDns::start().await;
        let builder = App::builder(engine).env("MAILWRIGHT_TRANSPORT", "smtp://127.0.0.1:9?tls=none");
        let builder = builder.env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string());
        let app = builder.env("MAILWRIGHT_DOMAINS_SPF", "include:spf.host.example").start().await;
        let of = |from: &str| mail(&app, &json!({"from": from}));
        let found = check(&app, &of("hi@nobodys.example")).await;
        assert_eq!((results(&found)[0], &found["authentication"]["isDomainVerified"]), ("none", &Value::Null));

        let domain = app.post("/domains").json(&json!({"domain": "shop.example"})).send().await.assert_status(201).json();
        let verify = format!("/domains/{}/verify", text(&domain["id"]));
        read(&app, &verify).await;
        let found = check(&app, &of("hi@shop.example")).await;
        assert_eq!(results(&found), ["none", "none", "fail"]);
        let by = &found["authentication"];
        assert_eq!((&by["isDomainVerified"], &by["dmarcPolicy"]), (&json!(false), &Value::Null));
        assert_only_keys(&by["reasons"], &["dkim", "spf", "dmarc"]);
        assert!(text(&by["reasons"]["dkim"]).contains("shop.example is not verified"), "{by}");

        for record in items(&domain["records"]).iter().filter(|record| record["type"] == "TXT") {
            dns.set_txt(text(&record["name"]), [text(&record["value"])]);
        }
        dns.set_txt("_dmarc.shop.example", ["v=DMARC1; p=quarantine"]);
        read(&app, &verify).await;
        let found = check(&app, &of("hi@shop.example")).await;
        assert_eq!(results(&found), ["pass", "pass", "pass"]);
        let by = &found["authentication"];
        assert_eq!((&by["isDomainVerified"], &by["dmarcPolicy"]), (&json!(true), &json!("quarantine")));

        dns.set_txt("shop.example", ["v=spf1 -all"]);
        read(&app, &verify).await;
        assert_eq!(results(&check(&app, &of("hi@shop.example")).await), ["pass", "fail", "pass"]);
    }

    async fn a_request_names_one_mail_of_its_project(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let new = json!({"name": "Theirs", "subject": "Hi", "body": GOOD, "from": other.from, "type": "TRANSACTIONAL"});
        let theirs = as_project(&app, &other, "POST", "/templates").json(&new).send().await.assert_status(201).json();
        let campaign = with(new, &json!({"audienceType": "ALL"}));
        let created = as_project(&app, &other, "POST", "/campaigns").json(&campaign).send().await;
        let campaign = created.assert_status(201).json()["data"].clone();
        for (path, body, code) in [
            (format!("/templates/{}/check", text(&theirs["id"])), json!({}), "TEMPLATE_NOT_FOUND"),
            ("/emails/check".to_owned(), json!({"templateId": theirs["id"]}), "TEMPLATE_NOT_FOUND"),
            ("/emails/check".to_owned(), json!({"template": theirs["id"]}), "TEMPLATE_NOT_FOUND"),
            (format!("/campaigns/{}/check", text(&campaign["id"])), json!({}), "CAMPAIGN_NOT_FOUND"),
            ("/emails/check".to_owned(), json!({"campaignId": campaign["id"]}), "CAMPAIGN_NOT_FOUND"),
        ] {
            asked(&app, &path, &body).await.assert_error(404, code);
        }
        for (body, fields) in [
            (json!({}), vec!["template"]),
            (json!({"subject": "Hi", "from": app.from()}), vec!["template"]),
            (json!({"subject": "Hi", "body": GOOD}), vec!["from"]),
            (json!({"templateId": UNKNOWN_ID, "campaignId": UNKNOWN_ID}), vec!["templateId", "campaignId"]),
            (json!({"body": GOOD, "type": "HEADLESS", "templateId": UNKNOWN_ID}), vec!["body", "type", "templateId"]),
            (
                json!({"subject": "a\nb", "text": 5, "type": "LETTER", "from": "nobody", "contactId": "ann", "templateId": "x"}),
                vec!["contactId", "from", "subject", "templateId", "text", "type"],
            ),
        ] {
            let refused = asked(&app, "/emails/check", &body).await;
            let mut found: Vec<_> = issues(&refused).into_iter().map(|(field, _)| field).collect();
            let mut fields = fields;
            found.sort_unstable();
            fields.sort_unstable();
            assert_eq!(found, fields, "{body}");
        }
    }

    async fn a_filter_that_is_busy_or_away_is_told(engine: Engine) {
        let spamd = FakeSpamd::start("False ; 0.0 / 5.0", &[]).await;
        let mut app = App::builder(engine).env("MAILWRIGHT_CHECK_SPAMD", spamd.address()).start().await;
        let doctor = async |app: &App| String::from_utf8_lossy(&app.try_run(&["doctor"]).await.stdout).into_owned();
        let said = doctor(&app).await;
        assert!(said.contains(&format!("ok     spamd: {} answers", spamd.address())), "{said}");

        // a project has one mail judged at a time, another one is not kept waiting by that
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let good = mail(&app, &json!({}));
        spamd.hold(true);
        let first = asked(&app, "/emails/check", &good);
        let meanwhile = async {
            app.eventually("the filter is asked", async || (spamd.mails().len() == 1).then_some(())).await;
            let refused = asked(&app, "/emails/check", &good).await;
            refused.assert_error(429, "RATE_LIMIT_EXCEEDED");
            spamd.hold(false);
            let theirs = with(good.clone(), &json!({"from": other.from}));
            as_project(&app, &other, "POST", "/emails/check").json(&theirs).send().await.assert_status(200);
        };
        let (first, ()) = tokio::join!(first, meanwhile);
        assert_eq!(first.assert_status(200).json()["data"]["spam"]["rules"], json!([]));
        check(&app, &good).await;

        app.stop().await;
        app.restart_with(&[("MAILWRIGHT_CHECK_SPAMD", "127.0.0.1:9")]).await;
        let found = check(&app, &good).await;
        assert_only_keys(&found["spam"], &["error"]);
        assert_eq!((&found["warnings"], column(&found["links"], "href").len()), (&json!([]), 1));
        let said = doctor(&app).await;
        assert!(said.contains("WRONG  spamd: 127.0.0.1:9:"), "{said}");
    }
}
