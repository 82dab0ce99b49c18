use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use mailwright_app::KeyKind;
use mailwright_app::project::key::Identity;
use mailwright_app::settings::BaseUrl;
use mailwright_core::audit::Actor;
use mailwright_core::ids::{ApiKeyId, ProjectId, ProjectNumber};
use mailwright_core::project::Project;
use mailwright_core::role::{Holder, Scopes};
use mailwright_core::time::Timestamp;

use super::cookie::{SESSION_COOKIE, cookie, session_cookie_name};
use super::key::Remembered;

#[test]
fn a_remembered_key_is_not_printed() {
    let project = Project {
        number: ProjectNumber(1),
        id: ProjectId::new(Timestamp(0), rand::random()),
        name: String::new(),
        language: "en".into(),
        disabled: false,
        tracking: mailwright_core::project::Tracking::Enabled,
        double_opt_in: false,
        consent_keeps_address: false,
    };
    let caller = Identity {
        kind: KeyKind::Secret,
        project,
        holder: Holder::Key(Scopes::everything()),
        actor: Actor::Key { id: ApiKeyId::new(Timestamp(0), rand::random()), name: None },
        hash: Some([77; 32]),
    };
    let shown = format!("{:?}", Remembered::new(caller, "sk_hidden"));
    assert!(!shown.contains("hidden") && !shown.contains("77"), "{shown}");
}

#[test]
fn the_session_cookie_is_found_among_others() {
    let found = |text: &'static str| {
        let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static(text))]);
        cookie(&headers, SESSION_COOKIE).map(str::to_owned)
    };
    assert_eq!(found("a=1; mailwright_session=abc.def.ghi; b=2").as_deref(), Some("abc.def.ghi"));
    assert_eq!(found("xmailwright_session=abc"), None);
    assert_eq!(found("__Host-mailwright_session=abc"), None);
}

#[test]
fn a_cookie_is_bound_to_the_host_where_browsers_can_do_that() {
    for (base_url, name) in [
        ("http://127.0.0.1:8080", "mailwright_session"),
        ("https://mail.example.com", "__Host-mailwright_session"),
        ("https://example.com/mail", "__Secure-mailwright_session"),
    ] {
        assert_eq!(session_cookie_name(&BaseUrl::parse(base_url).unwrap()), name);
    }
}
