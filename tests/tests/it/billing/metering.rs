//! Metering: what was used is reported once, whatever becomes of the payment service.

use std::time::Duration;

use mailwright_testkit::payments::Trouble;
use mailwright_testkit::{Engine, both_engines};
use serde_json::json;

use super::{OVER_A_MINUTE, World, send_to_many, subscription};

both_engines! {
    async fn what_was_used_is_reported_after_days_without_the_payment_service(engine: Engine) {
        let mut world = World::start(engine).await;
        send_to_many(&world.app, "before", 3).await.assert_status(200);
        world.subscribe("acme").await;
        world.payments.set_trouble(Trouble::Away);
        for day in 0..5_usize {
            send_to_many(&world.app, &format!("day{day}-"), day + 1).await.assert_status(200);
            world.app.advance(Duration::from_hours(24)).await;
        }
        assert_eq!(world.payments.units("cus_acme"), 0);
        // the process dies meanwhile
        world.app.kill();
        world.app.restart().await;
        send_to_many(&world.app, "after", 2).await.assert_status(200);
        world.payments.set_trouble(Trouble::None);
        world.app.advance(Duration::from_hours(2)).await;
        // what was sent before the subscription is not paid for
        world.eventually_metered("cus_acme", 15 + 2).await;
        let times = world.payments.times("cus_acme");
        let oldest = times.iter().min().copied().unwrap_or_default();
        let now = world.app.now() / 1000;
        assert!(now - oldest > 4 * 86_400 && now - oldest < 34 * 86_400, "each at its own time: {times:?}");
        assert!(times.len() >= 5, "{times:?}");
        world.assert_good();
    }

    async fn a_batch_whose_answer_is_lost_is_counted_once(engine: Engine) {
        let world = World::start(engine).await;
        world.subscribe("acme").await;
        world.payments.set_trouble(Trouble::LosesAnswers);
        for round in 0..4 {
            send_to_many(&world.app, &format!("r{round}-"), 5).await.assert_status(200);
            world.app.advance(OVER_A_MINUTE).await;
        }
        world.eventually_metered("cus_acme", 20).await;
        // by then the keys are forgotten, and only the identifiers tell
        world.payments.forget_keys();
        world.payments.set_trouble(Trouble::None);
        let before = world.payments.calls();
        world.app.advance(Duration::from_hours(2)).await;
        world.app.eventually("it was tried again", async || (world.payments.calls() > before).then_some(())).await;
        world.app.send_to("last@example.com").await;
        world.app.advance(OVER_A_MINUTE).await;
        world.eventually_metered("cus_acme", 21).await;
        world.app.eventually("nothing is left to report", async || {
            let calls = world.payments.calls();
            world.app.advance(Duration::from_hours(2)).await;
            (world.payments.calls() == calls).then_some(())
        })
        .await;
        assert_eq!(world.payments.units("cus_acme"), 21);
        world.assert_good();
    }

    async fn nothing_is_reported_without_a_subscription(engine: Engine) {
        let world = World::start(engine).await;
        send_to_many(&world.app, "a", 3).await.assert_status(200);
        world.app.advance(OVER_A_MINUTE).await;
        world.subscribe("acme").await;
        send_to_many(&world.app, "b", 2).await.assert_status(200);
        world.tell_ok("evt_end", "customer.subscription.deleted", &subscription("acme", "canceled")).await;
        send_to_many(&world.app, "c", 4).await.assert_status(200);
        world.app.advance(OVER_A_MINUTE).await;
        world.eventually_metered("cus_acme", 2).await;
        let used = world.limits().await;
        assert_eq!(used["transactional"]["usage"], json!(9));
        world.app.advance(Duration::from_hours(1)).await;
        assert_eq!(world.payments.units("cus_acme"), 2);
        world.assert_good();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_report_each_unit_once() {
    let world = World::start(Engine::Postgres).await;
    let second = world.app.second_node().await;
    world.subscribe("acme").await;
    for round in 0..6_usize {
        let node = if round % 2 == 0 { &world.app } else { &second };
        send_to_many(node, &format!("r{round}-"), 5).await.assert_status(200);
        world.app.advance(OVER_A_MINUTE).await;
    }
    world.eventually_metered("cus_acme", 30).await;
    world.app.advance(Duration::from_hours(2)).await;
    assert_eq!(world.payments.units("cus_acme"), 30);
    world.assert_good();
}
