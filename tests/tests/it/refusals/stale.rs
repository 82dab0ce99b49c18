//! Keys that a process remembers, and that open nothing any more: what notices it is the transaction of the use case.

use mailwright_testkit::{Value, json};
use mailwright_tests::with;

use super::refusal::{Asked, Refusal};
use super::seen::Seen;
use super::world::World;

/// What makes a remembered key useless, what undoes that, and what who comes with it is told.
const ENDS: &[(&str, &str, &str, u16, &str)] = &[
    (
        "the key was revoked",
        "update api_keys set revoked_at = 7 where name = 'send'",
        "update api_keys set revoked_at = null where name = 'send'",
        401,
        "INVALID_API_KEY",
    ),
    (
        "the project was disabled",
        "update projects set disabled_at = 7 where name = 'Acme'",
        "update projects set disabled_at = null where name = 'Acme'",
        403,
        "PROJECT_DISABLED",
    ),
];

/// A request with the key that is remembered, which would make a contact.
fn asked(world: &World, operation: &'static str, body: &Value) -> Asked {
    let asked = world.with_key(operation, &[], world.id("send"));
    asked.header("idempotency-key", "a new key").json(body)
}

pub(crate) async fn check(world: &World, seen: &mut Seen) {
    let data = json!({"data": {"first": "new"}, "subscribed": true});
    let tracked = with(json!({"email": "new@example.org", "event": "new event"}), &data);
    let many = json!({"to": ["new@example.org", "bob@example.com"]});
    for (why, end, mend, status, code) in ENDS {
        for (operation, body) in [
            ("post /v1/send", with(with(world.mail(), &data), &many)),
            ("post /v1/track", tracked.clone()),
            ("post /events/track", tracked.clone()),
        ] {
            // it is remembered from here on
            let remembered = asked(world, operation, &json!({})).refused("nothing", 422, "VALIDATION_ERROR");
            seen.check(world, vec![remembered]).await;
            world.app.tamper(end).await;
            seen.look_again(world).await;
            let refusal: Refusal = asked(world, operation, &body).refused(why, *status, code);
            seen.check(world, vec![refusal]).await;
            world.app.tamper(mend).await;
            seen.look_again(world).await;
        }
    }
}
