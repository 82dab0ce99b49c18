//! The second factor.

use futures_util::future::join_all;
use mailwright_testkit::provider::{Account, Provider};
use mailwright_testkit::{App, Engine, OWNER, Response, Value, both_engines};
use mailwright_tests::authenticator::{bytes_of, code, step};
use mailwright_tests::browser::{Browser, PASSWORD, try_log_in};
use mailwright_tests::{column, items, shown, text};
use serde_json::json;

use crate::signin::oauth;

/// A user with a second factor.
struct Guarded {
    browser: Browser,
    secret: String,
    recovery: Vec<String>,
    /// The step of the code that confirmed it.
    confirmed: u64,
}

async fn begin(app: &App, browser: &Browser, password: &str) -> Response {
    browser.request(app, "POST", "/users/@me/totp").json(&json!({"password": password})).send().await
}

async fn confirm(app: &App, browser: &Browser, code: &str) -> Response {
    browser.request(app, "POST", "/users/@me/totp/confirm").json(&json!({"code": code})).send().await
}

async fn remove(app: &App, browser: &Browser, password: &str, code: &str) -> Response {
    let body = json!({"password": password, "code": code});
    browser.request(app, "DELETE", "/users/@me/totp").json(&body).send().await
}

async fn standing(app: &App, browser: &Browser) -> Value {
    browser.request(app, "GET", "/users/@me/totp").send().await.assert_status(200).json()
}

async fn guarded(app: &App) -> Guarded {
    let browser = Browser::sign_up(app, "ada@example.com").await;
    let begun = begin(app, &browser, PASSWORD).await.assert_status(200).json();
    let secret = text(&begun["secret"]).to_owned();
    // an older code, so that the current one and the next stay for the test
    let mut confirmed = step() - 1;
    let mut answer = confirm(app, &browser, &code(&secret, confirmed)).await;
    if answer.status != 200 && step() - 1 != confirmed {
        // the next step began in between, and made it one too old
        confirmed = step() - 1;
        answer = confirm(app, &browser, &code(&secret, confirmed)).await;
    }
    let answer = answer.assert_status(200).json();
    let recovery = items(&answer["recoveryCodes"]).iter().map(|code| text(code).to_owned()).collect();
    Guarded { browser, secret, recovery, confirmed }
}

/// A user of that kind, signed in.
pub(super) async fn guarded_browser(app: &App) -> Browser {
    guarded(app).await.browser
}

async fn log_in(app: &App, code: &str) -> Response {
    let body = json!({"email": "ada@example.com", "password": PASSWORD, "code": code});
    app.request("POST", "/auth/login").json(&body).send().await
}

both_engines! {
    async fn a_code_is_asked_for_and_counts_once(engine: Engine) {
        let app = App::start(engine).await;
        let browser = Browser::sign_up(&app, "ada@example.com").await;
        assert_eq!(standing(&app, &browser).await, json!({"enabled": false, "recoveryCodesLeft": 0}));
        begin(&app, &browser, "wrong password").await.assert_error(401, "INVALID_CREDENTIALS");
        confirm(&app, &browser, "123456").await.assert_error(409, "CONFLICT");
        let begun = begin(&app, &browser, PASSWORD).await.assert_status(200).json();
        let secret = text(&begun["secret"]);
        assert_eq!(bytes_of(secret).len(), 20);
        let uri = format!("otpauth://totp/Mailwright:ada@example.com?secret={secret}&issuer=Mailwright");
        assert!(text(&begun["uri"]).starts_with(&uri), "{begun}");
        // it counts only when it is confirmed
        try_log_in(&app, "ada@example.com", PASSWORD).await.assert_status(200);
        let wrong = if code(secret, step()) == "000000" { "000001" } else { "000000" };
        confirm(&app, &browser, wrong).await.assert_error(401, "TOTP_INVALID");
        let first = step() - 1;
        let confirmed = confirm(&app, &browser, &code(secret, first)).await.assert_status(200).json();
        assert_eq!(items(&confirmed["recoveryCodes"]).len(), 10);
        assert_eq!(standing(&app, &browser).await, json!({"enabled": true, "recoveryCodesLeft": 10}));
        confirm(&app, &browser, &code(secret, step())).await.assert_error(409, "CONFLICT");
        begin(&app, &browser, PASSWORD).await.assert_error(409, "CONFLICT");

        try_log_in(&app, "ada@example.com", PASSWORD).await.assert_error(401, "TOTP_REQUIRED");
        try_log_in(&app, "ada@example.com", "wrong password").await.assert_error(401, "INVALID_CREDENTIALS");
        // the code that confirmed was used by that, and so is any other after its first use, on all ways at once
        log_in(&app, &code(secret, first)).await.assert_error(401, "TOTP_INVALID");
        let now = code(secret, first + 1);
        let answers = join_all((0..4).map(|_| log_in(&app, &now))).await;
        let let_in = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(let_in, 1, "{:?}", answers.iter().map(shown).collect::<Vec<_>>());
        log_in(&app, &now).await.assert_error(401, "TOTP_INVALID");
        let later = code(secret, first + 2);
        log_in(&app, &format!("{} {}", &later[..3], &later[3..])).await.assert_status(200);
    }

    async fn with_a_lost_secret_the_operator_removes_it(engine: Engine) {
        let mut app = App::start(engine).await;
        let ada = guarded(&app).await;
        app.stop().await;
        let another = [("MAILWRIGHT_SECRET", "another secret of this instance")];
        app.restart_as(&["--lost-secret"], &another).await;
        app.eventually("the secret is known", async || {
            app.log().contains("the next start needs no --lost-secret").then_some(())
        })
        .await;
        log_in(&app, &code(&ada.secret, ada.confirmed + 1)).await.assert_error(403, "FORBIDDEN");
        log_in(&app, &ada.recovery[0]).await.assert_error(401, "TOTP_INVALID");
        try_log_in(&app, "ada@example.com", PASSWORD).await.assert_error(401, "TOTP_REQUIRED");
        app.run(&["user", "remove-totp", "ada@example.com"]).await;
        try_log_in(&app, "ada@example.com", PASSWORD).await.assert_status(200);
        app.stop().await;
        app.restart_as(&[], &[]).await;
        try_log_in(&app, "ada@example.com", PASSWORD).await.assert_status(200);
    }

    async fn a_recovery_code_signs_in_once(engine: Engine) {
        let app = App::start(engine).await;
        let ada = guarded(&app).await;
        let answers = join_all((0..4).map(|_| log_in(&app, &ada.recovery[0]))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        log_in(&app, &ada.recovery[0]).await.assert_error(401, "TOTP_INVALID");
        log_in(&app, &ada.recovery[1].to_uppercase().replace('-', "")).await.assert_status(200);
        assert_eq!(standing(&app, &ada.browser).await["recoveryCodesLeft"], 8);
    }

    async fn guessing_codes_is_slowed_down_whatever_comes_between(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_LOGIN_ATTEMPTS_PER_ADDRESS", "4").start().await;
        let ada = guarded(&app).await;
        for _ in 0..4 {
            log_in(&app, "aaaa-aaaa-aaaa-aaaa").await.assert_error(401, "TOTP_INVALID");
            // asking for a code forgives nothing
            let asked = try_log_in(&app, "ada@example.com", PASSWORD).await;
            assert!(matches!(asked.status, 401 | 429), "{}", shown(&asked));
        }
        log_in(&app, &code(&ada.secret, ada.confirmed + 1)).await.assert_error(429, "RATE_LIMIT_EXCEEDED");
    }

    async fn recovery_codes_are_replaced_with_password_and_code(engine: Engine) {
        let app = App::start(engine).await;
        let ada = guarded(&app).await;
        let renew = async |password: &str, code: &str| {
            let body = json!({"password": password, "code": code});
            ada.browser.request(&app, "POST", "/users/@me/totp/recovery-codes").json(&body).send().await
        };
        renew("wrong password", &ada.recovery[0]).await.assert_error(401, "INVALID_CREDENTIALS");
        renew(PASSWORD, "aaaa-aaaa-aaaa-aaaa").await.assert_error(401, "TOTP_INVALID");
        assert_eq!(standing(&app, &ada.browser).await["recoveryCodesLeft"], 10);
        let renewed = renew(PASSWORD, &ada.recovery[0]).await.assert_status(200);
        assert_eq!(mailwright_tests::required_header(&renewed, "cache-control"), "no-store");
        let renewed = renewed.json();
        let codes: Vec<&str> = items(&renewed["recoveryCodes"]).iter().map(text).collect();
        assert_eq!((codes.len(), &standing(&app, &ada.browser).await["recoveryCodesLeft"]), (10, &json!(10)));
        log_in(&app, &ada.recovery[1]).await.assert_error(401, "TOTP_INVALID");
        log_in(&app, codes[0]).await.assert_status(200);
        remove(&app, &ada.browser, PASSWORD, codes[1]).await.assert_status(200);
        renew(PASSWORD, codes[2]).await.assert_error(409, "CONFLICT");
    }

    async fn removing_it_takes_password_and_code(engine: Engine) {
        let app = App::start(engine).await;
        let ada = guarded(&app).await;
        remove(&app, &ada.browser, "wrong password", &ada.recovery[0]).await.assert_error(401, "INVALID_CREDENTIALS");
        remove(&app, &ada.browser, PASSWORD, "aaaa-aaaa-aaaa-aaaa").await.assert_error(401, "TOTP_INVALID");
        remove(&app, &ada.browser, PASSWORD, &code(&ada.secret, ada.confirmed + 1)).await.assert_status(200);
        try_log_in(&app, "ada@example.com", PASSWORD).await.assert_status(200);
        remove(&app, &ada.browser, PASSWORD, &ada.recovery[0]).await.assert_error(409, "CONFLICT");
    }

    async fn switching_it_on_or_off_ends_other_sessions(engine: Engine) {
        let app = App::start(engine).await;
        Browser::sign_up(&app, "ada@example.com").await;
        let (ada, thief) = (
            Browser::log_in(&app, "ada@example.com", PASSWORD).await,
            Browser::log_in(&app, "ada@example.com", PASSWORD).await,
        );
        let me = async |browser: &Browser| browser.request(&app, "GET", "/users/@me").send().await.status;
        let secret = text(&begin(&app, &ada, PASSWORD).await.assert_status(200).json()["secret"]).to_owned();
        assert_eq!((me(&ada).await, me(&thief).await), (200, 200), "nothing is switched on yet");
        let first = step() - 1;
        let answer = confirm(&app, &ada, &code(&secret, first)).await.assert_status(200).json();
        assert_eq!((me(&ada).await, me(&thief).await), (200, 401));
        let recovery: Vec<&str> = items(&answer["recoveryCodes"]).iter().map(text).collect();
        let other = Browser::of(&log_in(&app, recovery[0]).await);
        remove(&app, &ada, PASSWORD, recovery[1]).await.assert_status(200);
        assert_eq!((me(&ada).await, me(&other).await), (200, 401));
    }

    async fn what_cannot_be_undone_takes_the_code_as_well(engine: Engine) {
        let app = App::start(engine).await;
        let ada = guarded(&app).await;
        app.tamper("update sessions set created_at = created_at - 600000").await;
        let delete = |body: Value| ada.browser.request(&app, "DELETE", "/users/@me").json(&body).send();
        delete(json!({})).await.assert_error(403, "PASSWORD_REQUIRED");
        delete(json!({"password": PASSWORD})).await.assert_error(401, "TOTP_REQUIRED");
        delete(json!({"password": PASSWORD, "code": "aaaa-aaaa-aaaa-aaaa"})).await.assert_error(401, "TOTP_INVALID");
        delete(json!({"password": PASSWORD, "code": ada.recovery[0]})).await.assert_status(200);
    }

    async fn the_operator_takes_an_account_over_without_the_factor_of_a_stranger(engine: Engine) {
        let app = App::start(engine).await;
        guarded(&app).await;
        let command = |email: &'static str, password: &'static str| {
            let command = ["bootstrap", "--email", email, "--password", password, "--project", "Own", "--domain"];
            [&command[..], &["own.example", "--reset-password"]].concat()
        };
        app.run(&command("ada@example.com", "the operator's password")).await;
        Browser::log_in(&app, "ada@example.com", "the operator's password").await;
        // one that belongs to a proven address guards it also against who only knows the command
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let secret = text(&begin(&app, &owner, OWNER.1).await.assert_status(200).json()["secret"]).to_owned();
        confirm(&app, &owner, &code(&secret, step())).await.assert_status(200);
        app.run(&command(OWNER.0, "the operator's password")).await;
        try_log_in(&app, OWNER.0, "the operator's password").await.assert_error(401, "TOTP_REQUIRED");
    }

    async fn the_operator_lets_in_who_lost_everything(engine: Engine) {
        let app = App::start(engine).await;
        guarded(&app).await;
        app.run(&["user", "remove-totp", "ada@example.com"]).await;
        try_log_in(&app, "ada@example.com", PASSWORD).await.assert_status(200);
    }

    async fn a_reset_of_the_password_leaves_it_on(engine: Engine) {
        let app = crate::signin::with_mail(engine).start().await;
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let begun = begin(&app, &owner, OWNER.1).await.assert_status(200).json();
        let secret = text(&begun["secret"]).to_owned();
        confirm(&app, &owner, &code(&secret, step())).await.assert_status(200);
        let body = json!({"email": OWNER.0});
        app.request("POST", "/auth/request-password-reset").json(&body).send().await.assert_status(200);
        let token = crate::signin::newest_token(&app, OWNER.0, "reset-password", 1).await;
        let body = json!({"token": token, "newPassword": PASSWORD});
        app.request("POST", "/auth/reset-password").json(&body).send().await.assert_status(200);
        try_log_in(&app, OWNER.0, PASSWORD).await.assert_error(401, "TOTP_REQUIRED");
    }

    async fn seed_and_recovery_codes_are_not_stored_or_logged(engine: Engine) {
        let app = App::builder(engine).env("MAILWRIGHT_LOG", "trace").start().await;
        let ada = guarded(&app).await;
        log_in(&app, &ada.recovery[0]).await.assert_status(200);
        let (stored, log) = (app.stored().await, app.log());
        crate::signin::hygiene::assert_nowhere(&ada.secret, "the seed", &stored, &log);
        let seed = bytes_of(&ada.secret);
        assert!(!stored.windows(seed.len()).any(|part| part == seed), "the seed is stored");
        let hex = seed.iter().fold(String::new(), |all, byte| all + &format!("{byte:02x}"));
        crate::signin::hygiene::assert_nowhere(&hex, "the seed", &stored, &log);
        for code in &ada.recovery {
            crate::signin::hygiene::assert_nowhere(code, "a recovery code", &stored, &log);
            crate::signin::hygiene::assert_nowhere(&code.replace('-', ""), "a recovery code", &stored, &log);
        }
    }

    async fn who_signs_in_elsewhere_has_the_second_factor_there(engine: Engine) {
        let provider = Provider::start().await;
        let app = provider.offered_by(App::builder(engine)).start().await;
        let account = Account::new(1, "ada@example.com");
        let cookie = &oauth::session(&app, &oauth::sign_in(&app, &provider, "github", &account).await);
        let body = json!({"password": "anything"});
        let answer = app.request("POST", "/users/@me/totp").header("cookie", cookie).json(&body).send().await;
        answer.assert_error(409, "CONFLICT");
        let projects = app.request("GET", "/users/@me/projects").header("cookie", cookie).send().await;
        assert!(column(&projects.assert_status(200).json(), "id").is_empty());
    }
}
