//! What the payment service tells: signed, once, in any order.

use mailwright_testkit::{Engine, both_engines};
use mailwright_tests::random::Random;
use mailwright_tests::text;
use serde_json::{Value, json};

use super::{World, checkout, invoice, subscription};

/// Projects whose events come in an order of their own.
const ORDERS: usize = 24;

/// Events of the customer `cus_<name>` of a project.
fn history(project: &str, name: &str) -> Vec<(String, &'static str, Value)> {
    let second = format!("{name}_second");
    let of_second = |mut object: Value| {
        object["customer"] = json!(format!("cus_{name}"));
        object
    };
    let first_invoice =
        mailwright_tests::with(invoice(name, 0), &json!({"billing_reason": "subscription_create"}));
    let events = [
        ("checkout.session.completed", checkout(project, name, 1_790_000_000)),
        ("invoice.payment_failed", first_invoice),
        ("invoice.paid", invoice(name, 1)),
        ("invoice.payment_failed", invoice(name, 2)),
        ("invoice.payment_failed", invoice(name, 2)),
        ("invoice.paid", invoice(name, 2)),
        ("customer.subscription.updated", subscription(name, "active")),
        ("customer.subscription.updated", subscription(name, "canceled")),
        ("customer.subscription.deleted", subscription(name, "canceled")),
        ("checkout.session.completed", of_second(checkout(project, &second, 1_790_500_000))),
        ("customer.subscription.updated", of_second(subscription(&second, "active"))),
        ("invoice.payment_failed", of_second(invoice(&second, 3))),
    ];
    let named = |(number, (kind, object))| (format!("evt_{name}_{number}"), kind, object);
    events.into_iter().enumerate().map(named).collect()
}

both_engines! {
    async fn events_lead_to_the_same_state_in_any_order(engine: Engine) {
        let world = World::start(engine).await;
        let mut random = Random::from_environment();
        let mut projects = Vec::new();
        for order in 0..ORDERS {
            let made = world.owner.create_project(&world.app, &format!("Order {order}")).await;
            projects.push(text(&made["id"]).to_owned());
        }
        for (order, project) in projects.iter().enumerate() {
            let mut events = history(project, &format!("p{order}"));
            if order > 0 {
                // some come twice
                let twice: Vec<_> = events.iter().filter(|_| random.below(2) == 0).cloned().collect();
                events.extend(twice);
                for last in (1..events.len()).rev() {
                    events.swap(last, random.below(last as u64 + 1) as usize);
                }
            }
            for (id, kind, object) in &events {
                world.tell_ok(id, kind, object).await;
            }
            let names: Vec<&str> = events.iter().map(|(id, ..)| id.as_str()).collect();
            let path = format!("/projects/{project}");
            let state = world.owner.request(&world.app, "GET", &format!("{path}/setup-state")).send().await;
            let security = world.owner.request(&world.app, "GET", &format!("{path}/security")).send().await;
            let subscribed = state.assert_status(200).json()["hasSubscription"].clone();
            let disabled = security.assert_status(200).json()["isDisabled"].clone();
            // the second subscription lasts, and the third invoice is not paid
            assert_eq!((subscribed, disabled), (json!(true), json!(true)), "{names:?}");
            world.tell_ok(&format!("evt_p{order}_last"), "invoice.paid", &json!({
                "id": format!("in_p{order}_second_3"), "customer": format!("cus_p{order}"),
            })).await;
            let security = world.owner.request(&world.app, "GET", &format!("{path}/security")).send().await;
            assert_eq!(security.assert_status(200).json()["isDisabled"], false, "{names:?}");
            let portal = format!("/users/@me/projects/{project}/billing-portal");
            let portal = world.owner.request(&world.app, "POST", &portal).send().await.assert_status(200).json();
            assert_eq!(portal["url"], format!("https://pay.test/portal/cus_p{order}"));
        }
        world.assert_good();
    }

    async fn an_event_is_applied_once_also_at_the_same_time(engine: Engine) {
        let world = World::start(engine).await;
        world.subscribe("acme").await;
        let (failed, paid) = (invoice("acme", 1), invoice("acme", 1));
        let all = (0..16).map(|_| world.tell("evt_failed", "invoice.payment_failed", &failed));
        for answer in futures_util::future::join_all(all).await {
            answer.assert_status(200);
        }
        world.tell_ok("evt_paid", "invoice.paid", &paid).await;
        // replayed: neither disables anything nor writes another mail
        world.tell_ok("evt_failed", "invoice.payment_failed", &failed).await;
        world.app.send_to("ada@example.com").await;
        world.eventually_told("an invoice could not be paid", 1).await;
        // the next one fails as well: the members are told once more
        world.tell_ok("evt_failed_2", "invoice.payment_failed", &invoice("acme", 2)).await;
        world.eventually_told("an invoice could not be paid", 2).await;
    }

    async fn what_is_not_signed_is_refused(engine: Engine) {
        let world = World::start(engine).await;
        let object = checkout(world.app.project_id(), "acme", 1_790_000_000);
        let now = world.app.now() / 1000;
        let event = |at: i64| world.payments.event("evt_1", "checkout.session.completed", &object, at);
        let (body, good) = event(now);
        let post = |header: Option<&str>, body: &str| {
            let request = world.app.request("POST", "/webhooks/incoming/payments");
            let request = match header {
                Some(header) => request.header("stripe-signature", header),
                None => request,
            };
            request.body(body.to_owned(), "application/json").send()
        };
        let old = event(now - 330);
        let ahead = event(now + 330);
        for (header, body) in [
            (None, body.as_str()),
            (Some(""), &body),
            (Some("t=1,v1=00"), &body),
            (Some(good.as_str()), "{}"),
            (Some(good.as_str()), &body.replace("acme", "evil")),
            (Some(old.1.as_str()), &old.0),
            (Some(ahead.1.as_str()), &ahead.0),
        ] {
            post(header, body).await.assert_error(400, "BAD_REQUEST");
        }
        let large = "x".repeat(1024 * 1024 + 1);
        post(Some(good.as_str()), &large).await.assert_error(413, "PAYLOAD_TOO_LARGE");
        assert!(!world.has_subscription().await);
        // what means nothing here is taken all the same, so that it is not sent again
        world.tell_ok("evt_2", "charge.refunded", &json!({"id": "ch_1", "customer": "cus_acme"})).await;
        let unknown = checkout("01890000-0000-7000-8000-000000000000", "nobody", 1_790_000_000);
        world.tell_ok("evt_3", "checkout.session.completed", &unknown).await;
        let request = world.app.request("POST", "/webhooks/incoming/stripe").header("stripe-signature", &good);
        request.body(body.clone(), "application/json").send().await.assert_status(200);
        assert!(world.has_subscription().await, "the other address does the same");
    }
}
