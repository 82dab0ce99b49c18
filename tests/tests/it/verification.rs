//! `POST /v1/verify` and `/v1/verify/batch`.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::receiver::{Receiver, Reply};
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{issue, issues, items, text};

const FLAGS: [&str; 11] = [
    "valid",
    "isDisposable",
    "isAlias",
    "isTypo",
    "isPlusAddressed",
    "isPersonalEmail",
    "isRoleAddress",
    "isParked",
    "domainExists",
    "hasWebsite",
    "hasMxRecords",
];

/// A service whose name server knows `shop.test`, and `nomail.test` whose domain takes no mail.
async fn started(engine: Engine) -> (App, FakeDns) {
    let dns = FakeDns::start().await;
    dns.set_mx("shop.test", [(10, "mx.shop.test")]);
    dns.set_a("shop.test", ["192.0.2.1".parse().expect("an address")]);
    dns.set_mx("nomail.test", [(0, ".")]);
    let app = App::builder(engine).env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string()).start().await;
    (app, dns)
}

async fn verify(app: &App, email: &str) -> Value {
    let answer = app.post("/v1/verify").json(&json!({"email": email})).send().await.assert_status(200).json();
    assert_eq!(answer["success"], true);
    let found = answer["data"].clone();
    assert!(FLAGS.iter().all(|flag| found[*flag].is_boolean()), "{found}");
    assert!(!items(&found["reasons"]).is_empty(), "{found}");
    found
}

/// The flags that are set.
fn set(found: &Value) -> Vec<&str> {
    FLAGS.into_iter().filter(|flag| found[*flag] == true).collect()
}

both_engines! {
    async fn an_address_is_verified(engine: Engine) {
        let (app, _dns) = started(engine).await;
        let found = verify(&app, "Ada.Lovelace@Shop.test").await;
        assert_eq!(set(&found), ["valid", "domainExists", "hasWebsite", "hasMxRecords"]);
        assert_eq!(found["email"], "Ada.Lovelace@Shop.test");
        assert_eq!(found["reasons"], json!(["The address looks valid."]));
        let tagged = verify(&app, "info+news@shop.test").await;
        assert!(set(&tagged).contains(&"isPlusAddressed"), "{tagged}");
        let nowhere = verify(&app, "ada@nowhere.test").await;
        assert!(!set(&nowhere).contains(&"valid") && !set(&nowhere).contains(&"domainExists"), "{nowhere}");
        let refuses = verify(&app, "ada@nomail.test").await;
        assert!(!set(&refuses).contains(&"valid") && set(&refuses).contains(&"domainExists"), "{refuses}");
        let typo = verify(&app, "ada@gmial.com").await;
        assert_eq!((&typo["isTypo"], &typo["didYouMean"]), (&json!(true), &json!("ada@gmail.com")), "{typo}");
        assert_eq!(typo["suggestedEmail"], typo["didYouMean"]);
        assert!(set(&verify(&app, "ada@mailinator.com").await).contains(&"isDisposable"));
        assert!(set(&verify(&app, "ada@privaterelay.appleid.com").await).contains(&"isAlias"));
    }

    async fn a_name_server_that_is_away_makes_nothing_invalid(engine: Engine) {
        let (app, dns) = started(engine).await;
        dns.set_servfail("broken.test");
        let found = verify(&app, "ada@broken.test").await;
        assert_eq!(set(&found), ["valid"]);
        assert!(text(&found["reasons"][0]).ends_with("is unknown."), "{found}");
    }

    async fn a_project_has_two_batches_at_a_time(engine: Engine) {
        let (app, dns) = started(engine).await;
        dns.set_all_silent(true);
        let batch = |name: &str| {
            let emails: Vec<String> = (0..3).map(|n| format!("ada@{name}{n}.test")).collect();
            app.post("/v1/verify/batch").json(&json!({"emails": emails})).send()
        };
        let third = async {
            app.eventually("both are under way", async || {
                (dns.queries_for("one0.test") > 0 && dns.queries_for("two0.test") > 0).then_some(())
            })
            .await;
            batch("three").await.assert_error(429, "RATE_LIMIT_EXCEEDED");
            // one address is no batch
            assert_eq!(set(&verify(&app, "ada@four.test").await), ["valid"]);
        };
        let (one, two, ()) = tokio::join!(batch("one"), batch("two"), third);
        for answer in [one, two] {
            let found = answer.assert_status(200).json();
            assert!(items(&found["data"]).iter().all(|one| set(one) == ["valid"]), "{found}");
        }
        dns.set_all_silent(false);
        batch("five").await.assert_status(200);
    }

    async fn what_the_project_knows_counts(engine: Engine) {
        let (app, _dns) = started(engine).await;
        for (email, reason) in [("bounced@shop.test", "hard-bounce"), ("left@shop.test", "complaint")] {
            let body = json!({"email": email, "reason": reason});
            app.post("/suppressions/addresses").json(&body).send().await.assert_status(201);
        }
        let bounced = verify(&app, "Bounced@shop.test").await;
        assert!(bounced["valid"] == false && text(&bounced["reasons"][0]).contains("bounced before"), "{bounced}");
        let left = verify(&app, "left@shop.test").await;
        assert!(left["valid"] == true && text(&left["reasons"][0]).contains("suppressed: complaint"), "{left}");
    }

    async fn many_addresses_are_verified_in_their_order(engine: Engine) {
        let (app, dns) = started(engine).await;
        let emails: Vec<String> = (0..1_000).map(|n| if n % 4 == 3 { format!("not an address {n}") } else { format!("a{n}@shop.test") }).collect();
        let answer = app.post("/v1/verify/batch").json(&json!({"emails": emails})).send().await.assert_status(200).json();
        let found = items(&answer["data"]);
        assert_eq!(found.len(), 1_000);
        for (n, one) in found.iter().enumerate() {
            assert_eq!((text(&one["email"]), &one["valid"]), (emails[n].as_str(), &json!(n % 4 != 3)), "{one}");
        }
        let asked = dns.queries_for("shop.test");
        assert!(asked <= 6, "{asked} questions about one domain");
    }

    async fn what_has_not_the_form_of_an_address_is_refused(engine: Engine) {
        let (app, _dns) = started(engine).await;
        for body in [json!({}), json!({"email": "ada"}), json!({"email": 3}), json!({"email": "a@b@shop.test"})] {
            let answer = app.post("/v1/verify").json(&body).send().await.assert_status(422);
            assert_eq!(issues(&answer).iter().map(|(field, _)| field.as_str()).collect::<Vec<_>>(), ["email"]);
        }
        let many = |emails: Value| app.post("/v1/verify/batch").json(&json!({"emails": emails})).send();
        many(json!([])).await.assert_error(422, "VALIDATION_ERROR");
        many(json!(vec!["a@shop.test"; 1_001])).await.assert_error(422, "VALIDATION_ERROR");
        many(json!(["a".repeat(2_000)])).await.assert_error(422, "VALIDATION_ERROR");
    }

    async fn addresses_that_get_no_mail_get_no_account_where_the_instance_says_so(engine: Engine) {
        let dns = FakeDns::start().await;
        dns.set_mx("shop.test", [(10, "mx.shop.test")]);
        dns.set_mx("nomail.test", [(0, ".")]);
        dns.set_servfail("broken.test");
        let app = App::builder(engine)
            .env("MAILWRIGHT_DNS_SERVER", dns.addr.to_string())
            .env("MAILWRIGHT_VERIFY_EMAIL_ON_SIGNUP", "true")
            .start()
            .await;
        let sign_up = |email: &str| {
            let body = json!({"email": email, "password": "correct horse battery"});
            app.request("POST", "/auth/signup").json(&body).send()
        };
        for (email, why) in [
            ("ada@nomail.test", "No mail arrives at this address."),
            ("ada@nowhere.test", "No mail arrives at this address."),
            ("ada@mailinator.com", "This is a disposable address."),
        ] {
            let answer = sign_up(email).await;
            answer.assert_error(422, "VALIDATION_ERROR");
            let found = issue(&answer, "email");
            assert!(text(&found["message"]).starts_with(why), "{found}");
        }
        sign_up("ada+work@shop.test").await.assert_status(200);
        sign_up("bob@broken.test").await.assert_status(200);
    }

    async fn lists_are_refreshed_by_a_command_and_a_broken_one_is_refused(engine: Engine) {
        let (app, _dns) = started(engine).await;
        let shipped = app.run(&["verification", "lists"]).await;
        assert!(shipped.contains("disposable") && shipped.contains("personal") && shipped.contains("2026"), "{shipped}");
        assert!(set(&verify(&app, "ada@new-disposable.test").await).iter().all(|flag| *flag != "isDisposable"));

        let tiny = refresh(&app, "new-disposable.test\n".to_owned(), 404).await;
        assert!(tiny.1.contains("the list has 1 domains, and at least"), "{tiny:?}");
        assert!(tiny.1.contains("the answer is 404"), "{tiny:?}");
        assert_eq!(tiny.0, Some(2));
        let page = refresh(&app, "<html><body>Not here.</body></html>\n".repeat(9_000), 404).await;
        assert!(page.0 == Some(2) && page.1.contains("the text is no list of domains"), "{page:?}");
        assert_eq!(app.run(&["verification", "lists"]).await, shipped, "nothing changed");

        let domains = numbered('d', 9_000);
        let taken = refresh(&app, format!("new-disposable.test\n{domains}"), 200).await;
        assert_eq!(taken.0, Some(0), "{taken:?}");
        assert!(taken.1.contains("9001 domains  disposable  https://raw.githubusercontent.com/"), "{taken:?}");
        app.advance(std::time::Duration::from_mins(2)).await;
        app.eventually("the new list is in force", async || {
            set(&verify(&app, "ada@new-disposable.test").await).contains(&"isDisposable").then_some(())
        })
        .await;
        assert!(!set(&verify(&app, "ada@mailinator.com").await).contains(&"isDisposable"), "the old one is not");
        let lists = app.run(&["verification", "lists"]).await;
        assert!(lists.contains("9001 domains  disposable  https://") && lists.contains("fetched 20"), "{lists}");
    }
}

/// So many domains, one in each line.
fn numbered(letter: char, count: usize) -> String {
    let domains: Vec<String> = (0..count).map(|number| format!("{letter}{number}.test\n")).collect();
    domains.concat()
}

/// Fetches the lists from a mirror that has this one of disposable domains, and answers so for the other.
async fn refresh(app: &App, disposable: String, status: u16) -> (Option<i32>, String) {
    let personal = numbered('p', 6_000);
    let mirror = Receiver::start(move |call, _| match call.target.as_str() {
        "/raw.githubusercontent.com/disposable-email-domains/disposable-email-domains/main/disposable_email_blocklist.conf" => {
            Reply::Status(200, disposable.clone())
        }
        "/raw.githubusercontent.com/Kikobeats/free-email-domains/master/domains.json" => {
            Reply::Status(status, personal.clone())
        }
        _ => Reply::Status(500, String::new()),
    })
    .await;
    let done = app.try_run(&["verification", "refresh", "--mirror", &mirror.url("")]).await;
    (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
}
