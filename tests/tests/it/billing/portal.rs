//! What members ask for, and what they are answered where nothing is billed.

use mailwright_testkit::payments::{Trouble, UNIT_PRICE};
use mailwright_testkit::{App, Engine, OWNER, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{assert_only_keys, assert_timestamp, items, read};
use serde_json::{Value, json};

use super::{OVER_A_MINUTE, World, invoice, subscription};

both_engines! {
    async fn without_configuration_everything_is_unlimited(engine: Engine) {
        let app = App::start(engine).await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let path = |what: &str| format!("/users/@me/projects/{}/{what}", app.project_id());
        for (method, what) in [
            ("POST", "checkout"),
            ("POST", "billing-portal"),
            ("GET", "billing-consumption"),
            ("GET", "billing-invoices"),
        ] {
            owner.request(&app, method, &path(what)).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
        for hook in ["payments", "stripe"] {
            let request = app.request("POST", &format!("/webhooks/incoming/{hook}"));
            request.body("{}", "application/json").send().await.assert_error(404, "RESOURCE_NOT_FOUND");
        }
        let none = json!({"workflows": 1, "campaigns": null, "transactional": null, "inbound": null});
        let set = owner.request(&app, "PUT", &path("billing-limits")).json(&none).send().await;
        set.assert_error(400, "BAD_REQUEST");
        app.send_to("ada@example.com").await;
        let limits = owner.request(&app, "GET", &path("billing-limits")).send().await.assert_status(200).json();
        assert_only_keys(&limits, &["workflows", "campaigns", "transactional", "inbound", "currency"]);
        let unlimited = |usage: i64| json!({
            "limit": null, "usage": usage, "percentage": 0.0, "isWarning": false, "isBlocked": false,
        });
        assert_eq!((&limits["transactional"], &limits["inbound"]), (&unlimited(1), &unlimited(0)));
        assert_eq!(read(&app, "/config").await["features"]["billing"]["enabled"], false);
    }

    async fn a_project_is_subscribed_metered_limited_invoiced_disabled_and_cancelled(engine: Engine) {
        let world = World::start(engine).await;
        let app = &world.app;
        assert_eq!(read(app, "/config").await["features"]["billing"]["enabled"], true);
        // subscribe
        for (what, body) in [("billing-portal", None), ("checkout?currency=xyz", None)] {
            world.ask("POST", what, body).await.assert_error(400, "BAD_REQUEST");
        }
        world.ask("GET", "billing-consumption", None).await.assert_error(400, "BAD_REQUEST");
        world.ask("GET", "billing-invoices", None).await.assert_error(400, "BAD_REQUEST");
        let page = world.ask("POST", "checkout?currency=eur", None).await.assert_status(200).json();
        assert_eq!(page, json!({"url": "https://pay.test/cs_1"}));
        let asked = &world.payments.checkouts()[0];
        for (field, value) in [
            ("mode", "subscription"),
            ("client_reference_id", app.project_id()),
            ("currency", "eur"),
            ("line_items[0][price]", "price_usage"),
            ("line_items[1][price]", "price_onboarding"),
            ("line_items[1][quantity]", "1"),
        ] {
            assert_eq!(asked[field], value, "{asked:?}");
        }
        assert!(asked["success_url"].ends_with("/settings?tab=billing&success=true"), "{asked:?}");
        assert!(asked["cancel_url"].ends_with("/settings?tab=billing&canceled=true"), "{asked:?}");
        let anchor: i64 = asked["subscription_data[billing_cycle_anchor]"].parse().expect("a number");
        assert!(anchor > app.now() / 1000 && anchor < app.now() / 1000 + 32 * 86_400, "{anchor}");
        assert!(!world.has_subscription().await, "nobody has paid yet");
        world.subscribe("acme").await;
        world.ask("POST", "checkout", None).await.assert_error(400, "BAD_REQUEST");
        let portal = world.ask("POST", "billing-portal", None).await.assert_status(200).json();
        assert_eq!(portal, json!({"url": "https://pay.test/portal/cus_acme"}));
        // meter
        app.send_to("ada@example.com").await;
        let file = json!([{"filename": "a.txt", "content": "SGk=", "contentType": "text/plain"}]);
        let body = json!({
            "to": "bob@example.com", "subject": "s", "body": "<p>b</p>", "from": app.from(), "attachments": file,
        });
        app.send(body).await.assert_status(200);
        app.advance(OVER_A_MINUTE).await;
        world.eventually_metered("cus_acme", 3).await;
        let used = world.ask("GET", "billing-consumption", None).await.assert_status(200).json();
        assert_only_keys(&used, &["period", "usage", "credits", "upcomingInvoice"]);
        assert_timestamp(&used["period"]["start"]);
        assert_eq!(used["usage"], json!({"total": 3, "records": []}));
        let credits = json!({"balance": -250, "hasCredits": true, "creditAmount": 250, "currency": "eur"});
        assert_eq!(used["credits"], credits);
        assert_eq!(used["upcomingInvoice"]["amountDue"], 3 * UNIT_PRICE);
        // limit
        world.set_limits(json!({"transactional": 3})).await;
        app.send_to("cid@example.com").await;
        let body = json!({"to": "dan@example.com", "subject": "s", "body": "b", "from": app.from()});
        app.send(body.clone()).await.assert_error(429, "BILLING_LIMIT_EXCEEDED");
        let limits = world.limits().await;
        let reached = json!({"limit": 3, "usage": 3, "percentage": 100.0, "isWarning": true, "isBlocked": true});
        assert_eq!((&limits["transactional"], &limits["currency"]), (&reached, &json!("eur")));
        world.eventually_told("has reached a limit", 1).await;
        // invoice
        world.payments.add_invoice(json!({
            "id": "in_1", "customer": "cus_acme", "number": "A-1", "status": "open", "amount_due": 9, "amount_paid": 0,
            "currency": "eur", "created": 1_790_000_000, "subtotal": 9, "total": 9, "due_date": 1_790_100_000,
            "hosted_invoice_url": "https://pay.test/in_1", "invoice_pdf": "https://pay.test/in_1.pdf",
        }));
        let list = world.ask("GET", "billing-invoices", None).await.assert_status(200).json();
        assert_only_keys(&list, &["invoices", "hasUnpaidInvoices", "unpaidInvoices"]);
        assert_eq!((items(&list["invoices"]).len(), &list["hasUnpaidInvoices"]), (1, &json!(true)), "{list}");
        assert_only_keys(&list["invoices"][0], &[
            "id", "number", "status", "amountDue", "amountPaid", "currency", "created", "periodStart", "periodEnd",
            "hostedInvoiceUrl", "invoicePdf", "subtotal", "total", "paid",
        ]);
        assert_eq!(list["unpaidInvoices"][0]["hostedInvoiceUrl"], "https://pay.test/in_1");
        // a payment fails
        world.tell_ok("evt_failed", "invoice.payment_failed", &invoice("acme", 1)).await;
        app.send(body.clone()).await.assert_error(403, "PROJECT_DISABLED");
        let security = read(app, &format!("/projects/{}/security", app.project_id())).await;
        assert_eq!((&security["isDisabled"], &security["suspensions"][0]["reason"]), (&json!(true), &json!("PAYMENT_FAILED")));
        world.eventually_told("an invoice could not be paid", 1).await;
        world.ask("POST", "billing-portal", None).await.assert_status(200);
        world.ask("GET", "billing-invoices", None).await.assert_status(200);
        world.tell_ok("evt_paid", "invoice.paid", &invoice("acme", 1)).await;
        world.set_limits(json!({})).await;
        app.send(body.clone()).await.assert_status(200);
        // cancel
        world.tell_ok("evt_ended", "customer.subscription.deleted", &subscription("acme", "canceled")).await;
        assert!(!world.has_subscription().await);
        world.ask("GET", "billing-consumption", None).await.assert_error(400, "BAD_REQUEST");
        world.ask("GET", "billing-invoices", None).await.assert_status(200);
        assert_eq!(world.limits().await["campaigns"]["limit"], 1000, "the allowance without a subscription");
        app.advance(OVER_A_MINUTE).await;
        world.eventually_metered("cus_acme", 5).await;
        let audit = world.owner.audit(app, app.project_id()).await;
        let actions: Vec<&Value> = audit.iter().map(|entry| &entry["action"]).collect();
        for action in ["billing.subscription_started", "billing.limits_changed", "billing.subscription_ended"] {
            assert!(actions.contains(&&json!(action)), "{actions:?}");
        }
        world.assert_good();
    }

    async fn a_payment_service_that_is_away_is_told_of(engine: Engine) {
        let world = World::start(engine).await;
        world.subscribe("acme").await;
        world.payments.set_trouble(Trouble::Away);
        let answer = world.ask("POST", "billing-portal", None).await;
        answer.assert_error(502, "EXTERNAL_SERVICE_ERROR");
        world.app.send_to("ada@example.com").await;
        assert_eq!(world.limits().await["transactional"]["usage"], 1, "limits do not need it");
        world.payments.set_trouble(Trouble::None);
        world.ask("POST", "billing-portal", None).await.assert_status(200);
        world.assert_good();
    }

    async fn limits_are_numbers_of_mails_or_null(engine: Engine) {
        let world = World::start(engine).await;
        let all = json!({"workflows": 5, "campaigns": "6", "transactional": null, "inbound": 7.0});
        world.ask("PUT", "billing-limits", Some(all.clone())).await.assert_error(400, "BAD_REQUEST");
        world.subscribe("acme").await;
        let set = world.ask("PUT", "billing-limits", Some(all.clone())).await.assert_status(200).json();
        let limit = |category: &str| set[category]["limit"].clone();
        assert_eq!(
            [limit("workflows"), limit("campaigns"), limit("transactional"), limit("inbound")],
            [json!(5), json!(6), json!(null), json!(7)]
        );
        for (field, wrong) in [
            ("workflows", json!(0)),
            ("campaigns", json!(-1)),
            ("transactional", json!("many")),
            ("inbound", json!(1.5)),
            ("inbound", json!(1_000_000_001)),
        ] {
            let body = mailwright_tests::with(all.clone(), &json!({field: wrong}));
            let answer = world.ask("PUT", "billing-limits", Some(body)).await;
            answer.assert_error(422, "VALIDATION_ERROR");
        }
        let body = mailwright_tests::without(all, "inbound");
        world.ask("PUT", "billing-limits", Some(body)).await.assert_error(422, "VALIDATION_ERROR");
        assert_eq!(world.limits().await, set);
    }
}
