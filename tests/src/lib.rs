//! What the contract tests share: reading answers, and the calls that many tests begin with.
//!
//! A helper here panics with the value it looked at, so that a failing test shows the answer itself.

pub mod authenticator;
pub mod browser;
pub mod copies;
pub mod picture;
pub mod random;
pub mod workflow;

use std::time::{Duration, UNIX_EPOCH};

pub use mailwright_testkit::encoded;
use mailwright_testkit::{App, Engine, Project, Request, Response};
use serde_json::{Map, Value, json};

/// A well-formed id that nothing has.
pub const UNKNOWN_ID: &str = "01890000-0000-7000-8000-00000000dead";
/// Endpoints that read, and are told with a body what: a disabled project can be read.
pub const READS_BY_BODY: &[&str] = &[
    "/contacts/lookup",
    "/contacts/search",
    "/contacts/import/preview",
    "/segments/preview",
    "/suppressions/preview",
    "/templates/check",
    "/preview",
];

/// The size of a test that can have two: `large` is for `make test-large`, which sets `MAILWRIGHT_TEST_LARGE`.
pub fn sized<T>(usual: T, large: T) -> T {
    let is_large = std::env::var_os("MAILWRIGHT_TEST_LARGE").is_some_and(|set| !set.is_empty());
    if is_large { large } else { usual }
}

/// The text in a JSON string.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("expected a string, found {value}"))
}

/// The elements of a JSON array.
pub fn items(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("expected an array, found {value}"))
}

/// The members of a JSON object.
pub fn members(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("expected an object, found {value}"))
}

/// One member of each element, as text.
pub fn column<'a>(rows: &'a Value, key: &str) -> Vec<&'a str> {
    items(rows).iter().map(|row| text(&row[key])).collect()
}

/// The object has these members and no others.
pub fn assert_only_keys(value: &Value, expected: &[&str]) {
    let mut found: Vec<&str> = members(value).keys().map(String::as_str).collect();
    let mut expected = expected.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "members of {value}");
}

/// The object has at least these members.
pub fn assert_keys(value: &Value, expected: &[&str]) {
    for key in expected {
        assert!(members(value).contains_key(*key), "no member {key} in {value}");
    }
}

/// ISO 8601 in UTC with milliseconds: `2026-01-31T09:30:00.125Z`.
pub fn assert_timestamp(value: &Value) {
    let shape: String = text(value).chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000Z", "not a timestamp with milliseconds: {value}");
}

/// A hyphenated lower-case UUID.
pub fn assert_uuid(value: &Value) {
    let lengths: Vec<usize> = text(value).split('-').map(str::len).collect();
    let hexadecimal = text(value).chars().all(|c| matches!(c, '0'..='9' | 'a'..='f' | '-'));
    assert!(lengths == [8, 4, 4, 4, 12] && hexadecimal, "not a UUID: {value}");
}

/// The legacy body `{error: <message>}` with this status.
pub fn assert_legacy(response: &Response, status: u16) {
    assert_eq!(response.status, status, "{}", shown(response));
    let body = response.json();
    assert_only_keys(&body, &["error"]);
    assert!(!text(&body["error"]).is_empty(), "an empty message: {body}");
}

/// The standard envelope with this status, whatever its code; returns the code.
pub fn assert_envelope(response: &Response, status: u16) -> String {
    assert_eq!(response.status, status, "{}", shown(response));
    let code = text(&response.json()["error"]["code"]).to_owned();
    response.assert_error(status, &code);
    code
}

/// The issues of a 422, as pairs of field and code.
pub fn issues(response: &Response) -> Vec<(String, String)> {
    let error = response.assert_error(422, "VALIDATION_ERROR");
    let pair = |issue: &Value| (text(&issue["field"]).to_owned(), text(&issue["code"]).to_owned());
    items(&error["errors"]).iter().map(pair).collect()
}

/// The one issue about `field`.
pub fn issue(response: &Response, field: &str) -> Value {
    let error = response.assert_error(422, "VALIDATION_ERROR");
    let found = items(&error["errors"]).iter().find(|issue| issue["field"] == field);
    found.unwrap_or_else(|| panic!("no issue about {field} in {error}")).clone()
}

/// An answer as a failing assertion shows it.
pub fn shown(response: &Response) -> String {
    format!("{} {}", response.status, String::from_utf8_lossy(&response.body))
}

/// The value of a response header.
pub fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers.get(name)
}

/// The value of a response header that must be there.
pub fn required_header<'a>(response: &'a Response, name: &str) -> &'a str {
    header(response, name).unwrap_or_else(|| panic!("no header {name}: {}", shown(response)))
}

/// `base` with the members of `changes` put over it.
pub fn with(mut base: Value, changes: &Value) -> Value {
    for (key, value) in members(changes) {
        base[key] = value.clone();
    }
    base
}

/// `base` without one member.
pub fn without(mut base: Value, key: &str) -> Value {
    base.as_object_mut().expect("an object").remove(key);
    base
}

/// A request with the secret key of another project.
pub fn as_project(app: &App, project: &Project, method: &str, path: &str) -> Request {
    app.request(method, path).bearer(&project.secret_key)
}

/// Makes the reading of stored events endless. They can still be stored.
pub async fn make_events_endless(app: &App) {
    app.reshape(match app.engine() {
        Engine::Sqlite => &[
            "alter table events rename to events_before",
            "create view events as with recursive n (i) as (select 1 union all select i + 1 from n) \
             select e.* from n cross join events_before e where n.i < 0",
            "create trigger keep instead of insert on events begin \
             insert into events_before (project_id, id, name, contact_id, email_id, data, created_at) values \
             (new.project_id, new.id, new.name, new.contact_id, new.email_id, new.data, new.created_at); end",
        ],
        Engine::Postgres => &[
            "alter table events rename to events_before",
            "create function has_end() returns boolean language plpgsql as \
             $$ begin perform pg_sleep(600); return true; end $$",
            "create view events as select * from events_before where has_end()",
            "create function keep() returns trigger language plpgsql as \
             $$ begin insert into events_before values (new.*); return new; end $$",
            "create trigger keep instead of insert on events for each row execute function keep()",
        ],
    })
    .await;
}

/// Undoes [`make_events_endless`], once nobody reads events any more.
pub async fn make_events_readable(app: &App) {
    app.reshape(&["drop view events", "alter table events_before rename to events"]).await;
}

/// The number of a project, which its rows have (PostgreSQL only). With Citus, whoever locks rows has to name it.
pub async fn number_of(app: &App, project: &str) -> String {
    let found = app.ask(&format!("select number from projects where name = '{project}'")).await;
    found.first().and_then(|row| row.first()).expect("the project").clone()
}

/// A draft of a campaign of a project to whoever has an event; its path. Somebody has.
pub async fn campaign_by_event(app: &App, project: &Project, name: &str) -> String {
    let post = |path: &str, body: &Value| as_project(app, project, "POST", path).json(body).send();
    let event = json!({"email": "ann@example.com", "event": "seen", "subscribed": true});
    post("/v1/track", &event).await.assert_status(200);
    let filter = json!({"field": "event.seen", "operator": "triggered"});
    let campaign = json!({
        "name": name, "subject": "News", "body": "<p>News</p>", "from": project.from, "audienceType": "FILTERED",
        "audienceCondition": {"logic": "AND", "groups": [{"filters": [filter]}]},
    });
    let made = post("/campaigns", &campaign).await.assert_status(201).json();
    format!("/campaigns/{}", text(&made["data"]["id"]))
}

/// Has a campaign begin without a look at its audience, as a schedule does.
pub async fn begin(app: &App, project: &Project, campaign: &str) {
    let at = UNIX_EPOCH.elapsed().expect("a clock after 1970") + Duration::from_millis(500);
    let body = json!({"scheduledFor": at.as_millis() as u64});
    let path = format!("{campaign}/send");
    as_project(app, project, "POST", &path).json(&body).send().await.assert_status(200);
    app.eventually("the campaign begins", async || {
        let found = as_project(app, project, "GET", campaign).send().await.assert_status(200).json();
        (found["status"] == "SENDING").then_some(())
    })
    .await;
}

/// Moves the clock into the next minute if this one ends soon: what is counted by the minute must not fall into two.
pub async fn early_in_a_minute(app: &App) {
    let into_minute = app.now() % 60_000;
    if into_minute > 30_000 {
        app.advance(Duration::from_millis(60_000 - into_minute as u64)).await;
    }
}

/// GET with the secret key, answered with 200.
pub async fn read(app: &App, path: &str) -> Value {
    app.get(path).send().await.assert_status(200).json()
}

/// A send of inline content to `to`, complete as it is.
pub fn inline(app: &App, to: &Value) -> Value {
    json!({"to": to, "subject": "Hello", "body": "<p>Hello there</p>", "from": app.from()})
}

/// POST /v1/send, accepted; returns `data`.
pub async fn send_ok(app: &App, body: Value) -> Value {
    app.send(body).await.assert_status(200).json()["data"].clone()
}

/// Whether a secret can be found: in clear, in hexadecimal digits, or broken by the soft line ends of a mail.
pub fn holds(bytes: &[u8], secret: &str) -> bool {
    assert!(secret.len() >= 8, "too short to be looked for: {secret:?}");
    let text = String::from_utf8_lossy(bytes);
    let digits = hexadecimal(secret);
    text.contains(secret)
        || text.contains(&digits)
        || text.replace("=\r\n", "").contains(secret)
        || text.replace(&hexadecimal("=\r\n"), "").contains(&digits)
}

fn hexadecimal(text: &str) -> String {
    let halves = text.bytes().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(half.into(), 16)).collect()
}

/// POST /v1/track, accepted; returns `data`.
pub async fn track_ok(app: &App, body: Value) -> Value {
    app.track(body).await.assert_status(200).json()["data"].clone()
}

/// A contact made through POST /contacts.
pub async fn create_contact(app: &App, email: &str, subscribed: bool, data: Value) -> Value {
    let body = json!({"email": email, "subscribed": subscribed, "data": data});
    app.post("/contacts").json(&body).send().await.assert_status(201).json()
}

/// The contact with this id.
pub async fn contact(app: &App, id: &Value) -> Value {
    read(app, &format!("/contacts/{}", text(id))).await
}

/// The contact with this address, when there is one.
pub async fn contact_by_email(app: &App, email: &str) -> Option<Value> {
    let page = read(app, &format!("/contacts?limit=100&search={}", encoded(email))).await;
    items(&page["data"]).iter().find(|contact| contact["email"] == email).cloned()
}

/// All events of a contact, newest first.
pub async fn events_of(app: &App, contact: &Value) -> Vec<Value> {
    let body = read(app, &format!("/events/contact/{}", text(contact))).await;
    items(&body["events"]).to_vec()
}

/// The names of a contact's subscription events, oldest first. Other events are left out: those about emails
/// arrive when the worker gets to them.
pub async fn subscription_events(app: &App, contact: &Value) -> Vec<String> {
    let events = events_of(app, contact).await;
    let names = events.iter().rev().map(|event| text(&event["name"]).to_owned());
    names.filter(|name| name.starts_with("contact.")).collect()
}

/// A template made through POST /templates: plain, transactional, with `changes` put over it.
pub async fn create_template(app: &App, changes: &Value) -> Value {
    let body = with(
        json!({
            "name": "Welcome",
            "subject": "Welcome {{name}}",
            "body": "<p>Hello {{name}}</p>",
            "from": app.from(),
            "type": "TRANSACTIONAL",
        }),
        changes,
    );
    app.post("/templates").json(&body).send().await.assert_status(201).json()
}

/// The one message captured for an address, once it is there.
pub async fn mail_to(app: &App, to: &str) -> Value {
    app.eventually(&format!("a message for {to}"), async || {
        let messages = app.mailbox_for(to).await;
        assert!(messages.len() < 2, "more than one message for {to}");
        messages.into_iter().next()
    })
    .await
}

/// The values of all header lines of a captured message with this name, in any letter case.
pub fn mail_headers<'a>(mail: &'a Value, name: &str) -> Vec<&'a str> {
    let lines = items(&mail["headers"]).iter();
    lines.filter(|h| text(&h["name"]).eq_ignore_ascii_case(name)).map(|h| text(&h["value"])).collect()
}

/// The value of a header line that the message has exactly once.
pub fn mail_header<'a>(mail: &'a Value, name: &str) -> &'a str {
    match mail_headers(mail, name)[..] {
        [value] => value,
        ref values => panic!("{name} {} times in {}", values.len(), mail["headers"]),
    }
}

/// An email's record, once it is handed over.
pub async fn sent_email(app: &App, id: &Value) -> Value {
    app.email_in(text(id), &["SENT"]).await
}

/// What left since `began` was never more than the rate allows: what the time that passed is worth, and the second's
/// worth that the instance's bucket holds at the beginning.
pub fn assert_paced(times: impl Iterator<Item = std::time::Instant>, began: std::time::Instant, rate: usize) {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    for (index, at) in times.iter().enumerate() {
        let most = rate as f64 * ((*at - began).as_secs_f64() + 1.0);
        assert!((index + 1) as f64 <= most, "{} mails left within {:?}", index + 1, *at - began);
    }
}

/// Waits until so many transactions wait for a lock, which they get in the order in which they came.
pub async fn until_waiting(app: &mailwright_testkit::App, transactions: usize) {
    app.tamper(&format!(
        "do $$ declare began timestamptz := clock_timestamp(); begin \
         while (select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock') \
         < {transactions} loop \
         if clock_timestamp() > began + interval '20 seconds' then raise exception 'nobody waits'; end if; \
         perform pg_sleep(0.05); perform pg_stat_clear_snapshot(); end loop; end $$",
    ))
    .await;
}

#[cfg(test)]
mod tests {
    use super::{hexadecimal, holds};

    #[test]
    fn a_secret_is_found_in_every_form() {
        let broken = "a mail: 0123456789=\r\nabcdef";
        for text in ["x0123456789abcdefx", &hexadecimal("x0123456789abcdef"), broken, &hexadecimal(broken)] {
            assert!(holds(text.as_bytes(), "0123456789abcdef"), "{text}");
        }
        assert!(!holds(b"0123456789 abcdef", "0123456789abcdef"));
    }
}
