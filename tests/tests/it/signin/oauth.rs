//! Signing in with a provider.

use mailwright_testkit::provider::{Account, Provider};
use mailwright_testkit::{App, Engine, OWNER, Response, both_engines};
use mailwright_tests::browser::Browser;
use mailwright_tests::{required_header, shown};
use serde_json::json;

/// Who comes back from the provider, and with what.
struct Traveller {
    /// The cookie of the sign-in.
    cookie: String,
    /// Where the provider leads back to.
    back: String,
}

async fn travel(app: &App, provider: &Provider, name: &str, account: &Account) -> Traveller {
    let answer = app.request("GET", &format!("/oauth/{name}/outbound")).send().await.assert_status(302);
    let set = required_header(&answer, "set-cookie");
    for part in ["Path=/oauth;", "HttpOnly", "SameSite=Lax", "Max-Age=600"] {
        assert!(set.contains(part), "{part} in {set}");
    }
    Traveller {
        cookie: mailwright_tests::browser::cookie(&answer),
        back: provider.allow(required_header(&answer, "location"), account),
    }
}

async fn arrive(app: &App, visitor: &Traveller) -> Response {
    app.request("GET", &visitor.back).header("cookie", &visitor.cookie).send().await.assert_status(302)
}

pub(super) async fn sign_in(app: &App, provider: &Provider, name: &str, account: &Account) -> Response {
    arrive(app, &travel(app, provider, name, account).await).await
}

/// The session that an answer starts.
pub(super) fn session(app: &App, answer: &Response) -> String {
    assert_eq!(required_header(answer, "location"), format!("{}/app/", app.base_url()), "{}", shown(answer));
    let cookies = answer.headers.get_all("set-cookie");
    let session = cookies.iter().find(|cookie| cookie.starts_with("mailwright_session="));
    assert!(
        cookies.iter().any(|cookie| cookie.starts_with("mailwright_oauth=;")),
        "the sign-in is over: {cookies:?}"
    );
    let session = session.unwrap_or_else(|| panic!("no session: {cookies:?}"));
    session.split(';').next().unwrap_or_default().to_owned()
}

/// The page that an answer leads to tells why nobody is signed in.
async fn assert_told(app: &App, answer: &Response, text: &str) {
    let location = required_header(answer, "location");
    let path = location.strip_prefix(app.base_url()).unwrap_or_else(|| panic!("{location} is ours"));
    let page = app.request("GET", path).send().await.assert_status(200);
    assert!(page.text().contains(text), "{text} on {}", page.text());
}

/// The answer signs nobody in and names the reason.
fn assert_refused(app: &App, answer: &Response, why: &str) {
    let location = required_header(answer, "location");
    assert_eq!(location, format!("{}/app/auth/login?message={why}", app.base_url()));
    let cookies = answer.headers.get_all("set-cookie");
    assert!(!cookies.iter().any(|cookie| cookie.starts_with("mailwright_session=")), "{cookies:?}");
}

async fn me(app: &App, session: &str) -> Response {
    app.request("GET", "/users/@me").header("cookie", session).send().await
}

both_engines! {
    async fn a_verified_address_signs_in_and_stays_the_same_account(engine: Engine) {
        let provider = Provider::start().await;
        let app = provider.offered_by(App::builder(engine)).start().await;
        let config = app.request("GET", "/auth/oauth-config").send().await.assert_status(200).json();
        assert_eq!(config, json!({"github": true, "google": true}));
        for (name, id) in [("github", 7), ("google", 8)] {
            let account = Account::new(id, &format!("Ada{id}@Example.com"));
            let first = me(&app, &session(&app, &sign_in(&app, &provider, name, &account).await)).await.assert_status(200).json();
            assert_eq!((&first["email"], &first["type"], &first["emailVerified"]),
                (&json!(format!("ada{id}@example.com")), &json!("EXTERNAL"), &json!(true)));
            // another address at the provider is no other person
            let moved = Account::new(id, "elsewhere@example.com");
            let again = me(&app, &session(&app, &sign_in(&app, &provider, name, &moved).await)).await.assert_status(200).json();
            assert_eq!(again["id"], first["id"]);
        }
        // the same number at the other provider is somebody else
        let other = Account::new(7, "eve@example.com");
        let eve = me(&app, &session(&app, &sign_in(&app, &provider, "google", &other).await)).await.assert_status(200).json();
        assert_eq!(eve["email"], "eve@example.com");
    }

    async fn below_a_path_the_cookie_comes_back_as_well(engine: Engine) {
        let provider = Provider::start().await;
        let builder = provider.offered_by(App::builder(engine));
        let app = builder.env("MAILWRIGHT_BASE_URL", "https://example.com/mail").start().await;
        let answer = app.request("GET", "/oauth/github/outbound").send().await.assert_status(302);
        let back = mailwright_tests::encoded("https://example.com/mail/oauth/github/callback");
        let location = required_header(&answer, "location");
        assert!(location.contains(&back), "{back} in {location}");
        let set = required_header(&answer, "set-cookie");
        assert!(set.contains("; Path=/mail/oauth;"), "a browser sends it to the callback: {set}");
    }

    async fn no_neighbour_can_set_the_cookie_of_a_sign_in(engine: Engine) {
        let provider = Provider::start().await;
        let builder = provider.offered_by(App::builder(engine));
        let app = builder.env("MAILWRIGHT_BASE_URL", "https://mail.example.com").start().await;
        let answer = app.request("GET", "/oauth/github/outbound").send().await.assert_status(302);
        let set = required_header(&answer, "set-cookie");
        assert!(set.starts_with("__Host-mailwright_oauth=") && set.contains("; Path=/;"), "{set}");
        assert!(set.contains("; Secure") && !set.contains("Domain"), "{set}");
    }

    async fn the_page_for_who_is_not_signed_in_shows_nothing_of_its_address(engine: Engine) {
        let app = App::start(engine).await;
        // anybody can make a link: the page is the same whatever stands in it, and has a text for each code
        for odd in ["other-way", "<script>alert(1)</script>", "Call this number", ""] {
            let path = format!("/app/auth/login?message={}", mailwright_tests::encoded(odd));
            let shown = app.request("GET", &path).header("accept", "text/html").send().await.assert_status(200);
            assert!(required_header(&shown, "content-security-policy").starts_with("default-src 'none'"));
            assert!(odd.is_empty() || !shown.text().contains(odd), "{odd}");
        }
        app.request("GET", "/auth/login").send().await.assert_error(405, "METHOD_NOT_ALLOWED");
    }

    async fn only_the_browser_that_left_comes_back(engine: Engine) {
        let provider = Provider::start().await;
        let app = provider.offered_by(App::builder(engine)).start().await;
        let account = Account::new(1, "ada@example.com");
        let why = "not-begun-here";
        let ada = travel(&app, &provider, "github", &account).await;
        let eve = travel(&app, &provider, "github", &Account::new(2, "eve@example.com")).await;
        // no cookie, somebody else's, another provider's, a forged one
        let bare = app.request("GET", &ada.back).send().await.assert_status(302);
        assert_refused(&app, &bare, why);
        assert_told(&app, &bare, "not begun in this browser").await;
        let crossed = Traveller { cookie: eve.cookie.clone(), back: ada.back.clone() };
        assert_refused(&app, &arrive(&app, &crossed).await, why);
        let elsewhere = Traveller { cookie: ada.cookie.clone(), back: ada.back.replace("github", "google") };
        assert_refused(&app, &arrive(&app, &elsewhere).await, why);
        let forged = Traveller { cookie: "mailwright_oauth=AAAA".into(), back: ada.back.clone() };
        assert_refused(&app, &arrive(&app, &forged).await, why);
        let changed = Traveller { cookie: ada.cookie.clone(), back: ada.back.replace("state=", "state=x") };
        assert_refused(&app, &arrive(&app, &changed).await, why);
        // the sign-in itself was fine, and ends once
        session(&app, &arrive(&app, &ada).await);
        assert_refused(&app, &arrive(&app, &ada).await, why);
    }

    async fn a_sign_in_asks_the_provider_once_and_a_client_not_for_ever(engine: Engine) {
        let provider = Provider::start().await;
        let builder = provider.offered_by(App::builder(engine)).env("MAILWRIGHT_LOGIN_ATTEMPTS_PER_CLIENT", "3");
        let app = builder.start().await;
        let account = Account::new(1, "ada@example.com");
        let made_up = async || {
            let mut visitor = travel(&app, &provider, "github", &account).await;
            let (before, state) = visitor.back.split_once('&').expect("a code and a state");
            let path = before.split('?').next().unwrap_or_default();
            visitor.back = format!("{path}?code=made-up&{state}");
            visitor
        };
        let first = made_up().await;
        assert_refused(&app, &arrive(&app, &first).await, "provider-failed");
        for _ in 0..2 {
            assert_refused(&app, &arrive(&app, &first).await, "not-begun-here");
        }
        let later = made_up().await;
        let refused = app.request("GET", &later.back).header("cookie", &later.cookie).send().await;
        refused.assert_error(429, "RATE_LIMIT_EXCEEDED");
    }

    async fn a_sign_in_that_took_too_long_is_begun_anew(engine: Engine) {
        let provider = Provider::start().await;
        let app = provider.offered_by(App::builder(engine)).start().await;
        let account = Account::new(1, "ada@example.com");
        for name in ["github", "google"] {
            let left = app.request("GET", &format!("/oauth/{name}/outbound")).send().await.assert_status(302);
            assert!(required_header(&left, "set-cookie").contains("Max-Age=600"), "the browser forgets it as well");
            let late = Traveller {
                cookie: mailwright_tests::browser::cookie(&left),
                back: provider.allow(required_header(&left, "location"), &account),
            };
            app.advance(std::time::Duration::from_mins(10)).await;
            // a browser that did not forget the cookie is refused all the same
            assert_refused(&app, &arrive(&app, &late).await, "not-begun-here");
        }
        let users = app.request("POST", "/auth/signup").json(&json!({"email": "ada@example.com", "password": "a long password"}));
        users.send().await.assert_status(200);
    }

    async fn an_unverified_address_signs_nobody_in(engine: Engine) {
        let provider = Provider::start().await;
        let app = provider.offered_by(App::builder(engine)).start().await;
        for name in ["github", "google"] {
            let account = Account { verified: false, ..Account::new(3, OWNER.0) };
            assert_refused(&app, &sign_in(&app, &provider, name, &account).await, "no-verified-address");
        }
    }

    async fn an_account_with_a_password_is_not_opened_by_a_provider(engine: Engine) {
        let provider = Provider::start().await;
        let app = provider.offered_by(App::builder(engine)).start().await;
        let account = Account::new(4, OWNER.0);
        assert_refused(&app, &sign_in(&app, &provider, "github", &account).await, "other-way");
        // nor does a password open one of a provider
        session(&app, &sign_in(&app, &provider, "github", &Account::new(5, "ada@example.com")).await);
        mailwright_tests::browser::try_log_in(&app, "ada@example.com", "").await.assert_error(422, "VALIDATION_ERROR");
        mailwright_tests::browser::try_log_in(&app, "ada@example.com", "anything").await.assert_error(401, "INVALID_CREDENTIALS");
    }

    async fn an_account_that_a_stranger_made_passes_to_the_owner_of_its_address(engine: Engine) {
        let provider = Provider::start().await;
        let app = provider.offered_by(App::builder(engine)).start().await;
        // the stranger has a session, a project and a second factor
        let stranger = crate::signin::totp::guarded_browser(&app).await;
        let project = stranger.create_project(&app, "Trap").await;
        let ada = Account::new(10, &stranger.email);
        let cookie = session(&app, &sign_in(&app, &provider, "google", &ada).await);
        let owner = me(&app, &cookie).await.assert_status(200).json();
        assert_eq!((&owner["id"], &owner["type"], &owner["emailVerified"]), (&json!(stranger.id), &json!("EXTERNAL"), &json!(true)));

        stranger.request(&app, "GET", "/users/@me").send().await.assert_error(401, "UNAUTHORIZED");
        let again = mailwright_tests::browser::try_log_in(&app, &stranger.email, mailwright_tests::browser::PASSWORD).await;
        again.assert_error(401, "INVALID_CREDENTIALS");
        // everything of the account is the owner's, also the next time
        let cookie = session(&app, &sign_in(&app, &provider, "google", &ada).await);
        assert_eq!(me(&app, &cookie).await.assert_status(200).json()["id"], owner["id"]);
        let projects = app.request("GET", "/users/@me/projects").header("cookie", &cookie).send().await;
        assert_eq!(projects.assert_status(200).json()[0]["id"], project["id"]);
        // it is proven now, and no other account at a provider opens it
        let other = Account::new(11, &stranger.email);
        assert_refused(&app, &sign_in(&app, &provider, "github", &other).await, "other-way");
    }

    async fn where_signing_up_is_off_an_invitation_is_needed(engine: Engine) {
        let provider = Provider::start().await;
        let builder = provider.offered_by(App::builder(engine)).env("MAILWRIGHT_DISABLE_SIGNUPS", "true");
        let app = builder.start().await;
        let account = Account::new(6, "ada@example.com");
        assert_refused(&app, &sign_in(&app, &provider, "google", &account).await, "sign-ups-off");
        let owner = Browser::log_in(&app, OWNER.0, OWNER.1).await;
        let path = format!("/projects/{}/members", app.project_id());
        owner.request(&app, "POST", &path).json(&json!({"email": "ada@example.com"})).send().await.assert_status(202);
        let cookie = session(&app, &sign_in(&app, &provider, "google", &account).await);
        let projects = app.request("GET", "/users/@me/projects").header("cookie", &cookie).send().await;
        assert_eq!(projects.assert_status(200).json()[0]["role"], "MEMBER");
    }

    async fn a_provider_that_is_down_or_refuses_is_told(engine: Engine) {
        let provider = Provider::start().await;
        let app = provider.offered_by(App::builder(engine)).start().await;
        let mut ada = travel(&app, &provider, "github", &Account::new(1, "ada@example.com")).await;
        provider.fail();
        assert_refused(&app, &arrive(&app, &ada).await, "provider-failed");
        ada.back = ada.back.replace("code=", "error=access_denied&ignored=");
        assert_refused(&app, &arrive(&app, &ada).await, "denied");
    }

    async fn a_provider_that_is_not_configured_is_not_there(engine: Engine) {
        let app = App::start(engine).await;
        let config = app.request("GET", "/auth/oauth-config").send().await.assert_status(200).json();
        assert_eq!(config, json!({"github": false, "google": false}));
        for name in ["github", "google"] {
            let outbound = format!("/oauth/{name}/outbound");
            app.request("GET", &outbound).send().await.assert_error(404, "RESOURCE_NOT_FOUND");
            let back = app.request("GET", &format!("/oauth/{name}/callback?code=a&state=b")).send().await;
            assert_refused(&app, &back.assert_status(302), "not-configured");
        }
    }

    async fn nothing_of_a_sign_in_is_stored_or_logged(engine: Engine) {
        let provider = Provider::start().await;
        let app = provider.offered_by(App::builder(engine)).env("MAILWRIGHT_LOG", "trace").start().await;
        let visitor = travel(&app, &provider, "github", &Account::new(9, "ada@example.com")).await;
        let session = session(&app, &arrive(&app, &visitor).await);
        let (stored, log) = (app.stored().await, app.log());
        for secret in provider.secrets() {
            crate::signin::hygiene::assert_nowhere(&secret, "a secret of the provider", &stored, &log);
        }
        for (name, cookie) in [("a sign-in", &visitor.cookie), ("a session", &session)] {
            crate::signin::hygiene::assert_nowhere(cookie.split_once('=').map_or("", |(_, value)| value), name, &stored, &log);
        }
    }
}
