//! Refusals where the instance sends mail of its own: links, and invitations by mail.

use mailwright_testkit::{OWNER, Value, json};
use mailwright_tests::browser::{Browser, PASSWORD};
use mailwright_tests::text;

use super::accounts::NO_TOKEN;
use super::refusal::Refusal;
use super::rules;
use super::seen::Seen;
use super::world::World;

const WRONG: &str = "the password of somebody else";

/// The token of the newest link to a page that an address was mailed, once there is one.
async fn token(world: &World, to: &str, page: &str) -> String {
    let link = format!("/auth/{page}?token=");
    world
        .app
        .eventually(&format!("a link to {page} for {to}"), async || {
            let printed = world.app.run(&["inbox", "--to", to, "--limit", "1", "--json"]).await;
            let mails: Value = serde_json::from_str(&printed).expect("a list of mails");
            let html = mails[0]["html"].as_str()?;
            let at = html.find(&link)? + link.len();
            Some(html[at..].chars().take_while(char::is_ascii_alphanumeric).collect())
        })
        .await
}

pub(crate) async fn check(world: &mut World, seen: &mut Seen) {
    world
        .restart(&[
            ("MAILWRIGHT_PLATFORM_FROM", "noreply@platform.test"),
            ("MAILWRIGHT_TRANSPORT", "capture"),
            ("MAILWRIGHT_DISABLE_SIGNUPS", "false"),
            ("MAILWRIGHT_HTTP_BODY_PAUSE_SECONDS", "1"),
        ])
        .await;
    let nora = Browser::sign_up(&world.app, "nora@example.com").await;
    let verify = token(world, "nora@example.com", "verify-email").await;
    let ask = json!({"email": OWNER.0});
    world.app.request("POST", "/auth/request-password-reset").json(&ask).send().await.assert_status(200);
    let reset = token(world, OWNER.0, "reset-password").await;
    seen.begin_anew(world).await;
    seen.check(world, good_links(world, &verify, &reset)).await;
    seen.check(world, unverified(world)).await;
    rules::check_slow(world, seen).await;

    let body = json!({"token": verify});
    nora.request(&world.app, "POST", "/auth/verify-email").json(&body).send().await.assert_status(200);
    for _ in 0..3 {
        let again = world.free.request(&world.app, "POST", "/auth/request-verification");
        again.send().await.assert_status(200);
    }
    invite_often(world).await;
    seen.begin_anew(world).await;
    seen.check(world, used_up(world, &verify)).await;
}

/// Links that are good, and remain so.
fn good_links(world: &World, verify: &str, reset: &str) -> Vec<Refusal> {
    let verifying = |body: Value| world.open("post /auth/verify-email", &[]).json(&body);
    let verifying_page = |fields: &str| world.open("post /auth/verify-email", &[]).form(fields);
    let resetting = |body: Value| world.open("post /auth/reset-password", &[]).json(&body);
    let resetting_page = |fields: &str| world.open("post /auth/reset-password", &[]).form(fields);
    vec![
        verifying(json!({"token": NO_TOKEN})).refused("no link", 400, "BAD_REQUEST"),
        verifying(json!({"token": NO_TOKEN, "newPassword": PASSWORD})).refused(
            "no link, to claim",
            400,
            "BAD_REQUEST",
        ),
        verifying(json!({"token": NO_TOKEN, "notMine": true})).refused(
            "no link, to disown",
            400,
            "BAD_REQUEST",
        ),
        verifying(json!({"token": reset})).refused("a link for something else", 400, "BAD_REQUEST"),
        verifying(json!({"token": verify})).refused("not signed in", 403, "PASSWORD_REQUIRED"),
        verifying(json!({"token": verify, "password": WRONG}))
            .refused("a wrong password", 401, "INVALID_CREDENTIALS")
            .counted(),
        verifying(json!({"token": verify, "password": PASSWORD, "notMine": true})).refused(
            "it contradicts itself",
            422,
            "VALIDATION_ERROR",
        ),
        verifying(json!({"token": verify, "newPassword": "short"})).refused(
            "a short password",
            422,
            "VALIDATION_ERROR",
        ),
        verifying_page(&format!("token={NO_TOKEN}")).refused_otherwise("no link, on the page", 404),
        verifying_page(&format!("token={verify}&action=claim&newPassword=short"))
            .refused_otherwise("a short password, on the page", 422),
        verifying_page(&format!("token={verify}&password={WRONG}"))
            .refused_otherwise("a wrong password, on the page", 401)
            .counted(),
        resetting(json!({"token": NO_TOKEN, "newPassword": PASSWORD})).refused("no link", 400, "BAD_REQUEST"),
        resetting(json!({"token": verify, "newPassword": PASSWORD})).refused(
            "a link for something else",
            400,
            "BAD_REQUEST",
        ),
        resetting(json!({"token": reset, "newPassword": "short"})).refused(
            "a short password",
            422,
            "VALIDATION_ERROR",
        ),
        resetting_page(&format!("token={NO_TOKEN}&newPassword={PASSWORD}"))
            .refused_otherwise("no link, on the page", 404),
        resetting_page(&format!("token={reset}&newPassword=short"))
            .refused_otherwise("a short password, on the page", 422),
    ]
}

/// Accounts whose address nobody proved.
fn unverified(world: &World) -> Vec<Refusal> {
    let token = world.id("to somebody free");
    let required = "EMAIL_VERIFICATION_REQUIRED";
    vec![
        world
            .by(&world.free, "post /auth/invitation", &[])
            .form(&format!("token={token}"))
            .refused_otherwise("the address is not verified", 403),
        world.by(&world.free, "post /users/@me/invitations", &[]).json(&json!({"token": token})).refused(
            "the address is not verified",
            403,
            required,
        ),
        world.by(&world.free, "post /users/@me/projects", &[]).json(&json!({"name": "New"})).refused(
            "the address is not verified",
            403,
            required,
        ),
        world.by(&world.admin, "post /contacts", &[]).json(&json!({"email": "new@example.com"})).refused(
            "the address is not verified",
            403,
            required,
        ),
    ]
}

/// Has the owner mail an address as often as one person may, and then a key ask for the same.
async fn invite_often(world: &mut World) {
    let members = format!("/projects/{}/members", world.project);
    let body = json!({"email": "often@example.com"});
    for _ in 0..3 {
        let invite = world.owner.request(&world.app, "POST", &members).json(&body);
        let invited = invite.send().await.assert_status(202).json();
        let path = format!("/projects/{}/invitations/{}", world.project, text(&invited["invitationId"]));
        world.owner.request(&world.app, "DELETE", &path).send().await.assert_status(200);
    }
    let invited = world.app.post(&members).json(&body).send().await.assert_status(202).json();
    world.keep("invitation of a key, once more", &invited["invitationId"]);
}

/// What was used, or asked for as often as may be.
fn used_up(world: &World, verify: &str) -> Vec<Refusal> {
    let project = world.project.as_str();
    let verifying = |body: Value| world.open("post /auth/verify-email", &[]).json(&body);
    let confirm = "post /projects/{id}/invitations/{invitationId}/confirm";
    vec![
        verifying(json!({"token": verify, "password": PASSWORD})).refused(
            "the link was used",
            400,
            "BAD_REQUEST",
        ),
        verifying(json!({"token": verify, "newPassword": WRONG})).refused(
            "the link was used, to claim",
            400,
            "BAD_REQUEST",
        ),
        verifying(json!({"token": verify, "notMine": true})).refused(
            "the link was used, to disown",
            400,
            "BAD_REQUEST",
        ),
        world.by(&world.free, "post /auth/request-verification", &[]).refused(
            "three links were sent",
            429,
            "RATE_LIMIT_EXCEEDED",
        ),
        world
            .by(&world.owner, "post /projects/{id}/members", &[project])
            .json(&json!({"email": "often@example.com"}))
            .refused("three mails were sent", 429, "RATE_LIMIT_EXCEEDED")
            .counted(),
        world
            .by(&world.owner, confirm, &[project, world.id("invitation of a key, once more")])
            .refused("three mails were sent", 429, "RATE_LIMIT_EXCEEDED")
            .counted(),
    ]
}
