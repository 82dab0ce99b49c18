//! `POST /v1/verify` and `/v1/verify/batch`.

use mailwright_testkit::dns::FakeDns;
use mailwright_testkit::{App, Engine, Value, both_engines, json};
use mailwright_tests::{issues, items, text};

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
}
