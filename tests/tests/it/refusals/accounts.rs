//! Refusals about accounts: signing up and in, second factors, what a user does with the own account.

use mailwright_testkit::{App, OWNER, Response, Value, json};
use mailwright_tests::authenticator::{code, step};
use mailwright_tests::browser::{Browser, PASSWORD};
use mailwright_tests::{items, text};

use super::changes::Cause;
use super::refusal::Refusal;
use super::world::World;

/// What no link carries.
pub(crate) const NO_TOKEN: &str = "00000000000000000000000000000000000000000000000000000000000000ff";
/// What is no recovery code of anybody.
const WRONG_CODE: &str = "aaaa-aaaa-aaaa-aaaa";
const WRONG: &str = "the password of somebody else";

/// Confirms a second factor with a code of its seed; the recovery codes.
pub(crate) async fn confirm(app: &App, browser: &Browser, secret: &str) -> Vec<String> {
    let tried = async |step: u64| -> Response {
        let body = json!({"code": code(secret, step)});
        browser.request(app, "POST", "/users/@me/totp/confirm").json(&body).send().await
    };
    let mut answer = tried(step()).await;
    if answer.status != 200 {
        // a step may have ended in between
        answer = tried(step()).await;
    }
    let confirmed = answer.assert_status(200).json();
    items(&confirmed["recoveryCodes"]).iter().map(|code| text(code).to_owned()).collect()
}

pub(crate) fn refusals(world: &World) -> Vec<Refusal> {
    let parts = [
        signing_up(world),
        signing_in(world),
        without_mail(world),
        on_the_page(world),
        own_account(world),
        second_factor(world),
    ];
    parts.into_iter().flatten().collect()
}

fn signing_up(world: &World) -> Vec<Refusal> {
    let sign_up = |email: &str, invitation: Option<&str>| {
        let body = json!({"email": email, "password": PASSWORD, "name": "New", "invitation": invitation});
        world.open("post /auth/signup", &[]).json(&body)
    };
    let invitation = world.id("to a stranger");
    vec![
        sign_up("new@example.com", None).refused("nobody signs up", 403, "FORBIDDEN").counted(),
        sign_up("outsider@example.com", Some(world.id("into the banned")))
            .refused("the project is disabled", 403, "PROJECT_DISABLED")
            .counted(),
        sign_up("new@example.com", Some(invitation))
            .refused("an invitation of somebody else", 404, "RESOURCE_NOT_FOUND")
            .counted(),
        sign_up("member@example.com", Some(world.id("used invitation")))
            .refused("the invitation was used", 404, "RESOURCE_NOT_FOUND")
            .counted(),
        sign_up("free@example.com", Some(world.id("to somebody free")))
            .refused("there is an account", 409, "CONFLICT")
            .counted(),
        world
            .open("post /auth/signup", &[])
            .json(&json!({"email": "stranger@example.com", "password": "short", "invitation": invitation}))
            .refused("a short password", 422, "VALIDATION_ERROR"),
    ]
}

fn signing_in(world: &World) -> Vec<Refusal> {
    let log_in = |body: Value| world.open("post /auth/login", &[]).json(&body);
    let guarded = |code: Option<&str>| {
        log_in(json!({"email": world.guarded.email, "password": PASSWORD, "code": code}))
    };
    vec![
        log_in(json!({"email": OWNER.0, "password": WRONG}))
            .refused("a wrong password", 401, "INVALID_CREDENTIALS")
            .counted(),
        log_in(json!({"email": "nobody@example.com", "password": WRONG}))
            .refused("no account", 401, "INVALID_CREDENTIALS")
            .counted(),
        guarded(None).refused("no code", 401, "TOTP_REQUIRED").counted(),
        guarded(Some(WRONG_CODE)).refused("a wrong code", 401, "TOTP_INVALID").counted(),
        log_in(json!({"email": OWNER.0})).refused("no password", 422, "VALIDATION_ERROR"),
    ]
}

/// Links, where the instance sends no mail. Where it does, they are in `links.rs`.
fn without_mail(world: &World) -> Vec<Refusal> {
    vec![
        world.open("post /auth/request-password-reset", &[]).json(&json!({"email": OWNER.0})).refused(
            "no mail is sent",
            400,
            "BAD_REQUEST",
        ),
        world.by(&world.free, "post /auth/request-verification", &[]).refused(
            "no mail is sent",
            400,
            "BAD_REQUEST",
        ),
    ]
}

/// On the page of an invitation.
fn on_the_page(world: &World) -> Vec<Refusal> {
    let post = |token: &str, fields: &str| {
        let fields = format!("token={token}&{fields}");
        world.open("post /auth/invitation", &[]).form(&fields)
    };
    let (free, guarded, stranger) =
        (world.id("to somebody free"), world.id("to somebody guarded"), world.id("to a stranger"));
    vec![
        post(free, &format!("password={WRONG}")).refused_otherwise("a wrong password", 401).counted(),
        post(guarded, &format!("password={PASSWORD}")).refused_otherwise("no code", 401).counted(),
        post(guarded, &format!("password={PASSWORD}&code={WRONG_CODE}"))
            .refused_otherwise("a wrong code", 401)
            .counted(),
        post(world.id("free into the banned"), &format!("password={PASSWORD}"))
            .refused_otherwise("the project is disabled", 403),
        post(NO_TOKEN, &format!("password={PASSWORD}")).refused_otherwise("no invitation", 404),
        post(stranger, "password=short&name=New").refused_otherwise("a short password", 422),
        post(stranger, &format!("password={PASSWORD}&name={}", "x".repeat(101)))
            .refused_otherwise("a long name", 422),
    ]
}

fn own_account(world: &World) -> Vec<Refusal> {
    let delete = |browser: &Browser, body: Value| world.by(browser, "delete /users/@me", &[]).json(&body);
    let accept = |browser: &Browser, token: &str| {
        world.by(browser, "post /users/@me/invitations", &[]).json(&json!({"token": token}))
    };
    let password =
        |browser: &Browser, body: Value| world.by(browser, "post /users/@me/password", &[]).json(&body);
    let create = |browser: &Browser, name: &str| {
        world.by(browser, "post /users/@me/projects", &[]).json(&json!({"name": name}))
    };
    vec![
        delete(&world.free, json!({})).refused("no password", 403, "PASSWORD_REQUIRED"),
        delete(&world.free, json!({"password": WRONG}))
            .refused("a wrong password", 401, "INVALID_CREDENTIALS")
            .counted(),
        delete(&world.guarded, json!({"password": PASSWORD}))
            .refused("no code", 401, "TOTP_REQUIRED")
            .counted(),
        delete(&world.guarded, json!({"password": PASSWORD, "code": WRONG_CODE}))
            .refused("a wrong code", 401, "TOTP_INVALID")
            .counted(),
        delete(&world.guarded, json!({"password": PASSWORD, "code": world.recovery[0]}))
            .refused("a member, with a code", 409, "CONFLICT")
            .leaving(&[Cause::Attempt, Cause::Code]),
        delete(&world.owner, json!({"password": OWNER.1})).refused("an owner", 409, "CONFLICT").counted(),
        world.by(&world.free, "patch /users/@me", &[]).json(&json!({"name": "two\nlines"})).refused(
            "no plain name",
            422,
            "VALIDATION_ERROR",
        ),
        accept(&world.free, world.id("free into the banned")).refused(
            "the project is disabled",
            403,
            "PROJECT_DISABLED",
        ),
        accept(&world.free, world.id("to a stranger")).refused(
            "not to this address",
            404,
            "RESOURCE_NOT_FOUND",
        ),
        accept(&world.member, world.id("used invitation")).refused("it was used", 404, "RESOURCE_NOT_FOUND"),
        password(&world.free, json!({"currentPassword": WRONG, "newPassword": "another long password"}))
            .refused("a wrong password", 401, "INVALID_CREDENTIALS")
            .counted(),
        password(&world.free, json!({"currentPassword": PASSWORD, "newPassword": "short"})).refused(
            "a short password",
            422,
            "VALIDATION_ERROR",
        ),
        create(&world.banned, "New").refused("a project of the user is disabled", 403, "PROJECT_DISABLED"),
        create(&world.owner, "New").refused("too many projects", 409, "CONFLICT"),
        create(&world.free, "").refused("no name", 422, "VALIDATION_ERROR"),
        world
            .by(&world.member, "delete /users/@me/sessions/{id}", &[world.id("session of the owner")])
            .refused("the session of somebody else", 404, "RESOURCE_NOT_FOUND"),
    ]
}

fn second_factor(world: &World) -> Vec<Refusal> {
    let begin = |browser: &Browser, password: &str| {
        world.by(browser, "post /users/@me/totp", &[]).json(&json!({"password": password}))
    };
    let confirm = |browser: &Browser| {
        world.by(browser, "post /users/@me/totp/confirm", &[]).json(&json!({"code": "aaaaaa"}))
    };
    let mut refusals = vec![
        begin(&world.free, WRONG).refused("a wrong password", 401, "INVALID_CREDENTIALS").counted(),
        begin(&world.guarded, PASSWORD).refused("there is one", 409, "CONFLICT").counted(),
        confirm(&world.free).refused("a wrong code", 401, "TOTP_INVALID").counted(),
        confirm(&world.admin).refused("nothing to confirm", 409, "CONFLICT").counted(),
        confirm(&world.guarded).refused("it is confirmed", 409, "CONFLICT").counted(),
    ];
    for operation in ["delete /users/@me/totp", "post /users/@me/totp/recovery-codes"] {
        let ask = |browser: &Browser, password: &str, code: &str| {
            world.by(browser, operation, &[]).json(&json!({"password": password, "code": code}))
        };
        refusals.extend([
            ask(&world.guarded, WRONG, &world.recovery[1])
                .refused("a wrong password", 401, "INVALID_CREDENTIALS")
                .counted(),
            ask(&world.guarded, PASSWORD, WRONG_CODE).refused("a wrong code", 401, "TOTP_INVALID").counted(),
            ask(&world.free, PASSWORD, WRONG_CODE).refused("it was not confirmed", 409, "CONFLICT").counted(),
            ask(&world.admin, PASSWORD, WRONG_CODE).refused("there is none", 409, "CONFLICT").counted(),
        ]);
    }
    refusals
}
