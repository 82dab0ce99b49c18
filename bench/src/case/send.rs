//! `POST /v1/send`: how fast mails are accepted, with a next hop that is down, so that none is handed over meanwhile.

use std::sync::Arc;

use anyhow::Result;

use super::{Bench, CONNECTIONS, JUDGED, plural};
use crate::http::Endpoint;
use crate::letter;
use crate::limit::{self, Mail, Rows};
use crate::load::Requests;
use crate::people::{self, Kind};
use crate::random::Random;
use crate::report::{Bar, Unit};
use crate::seed::{RSA_DOMAIN, Site};

const CASE: &str = "send";
/// The part of the bare insert's rate that has to be reached.
const RATE_BAR: f64 = 0.5;
/// How many times the median the 99th percentile may be.
const TAIL_BAR: f64 = 5.0;
/// Bytes of the HTML.
const HTML: usize = 2 * 1024;
/// Nobody listens there.
const NOWHERE: &str = "smtp://127.0.0.1:1?tls=none";

pub(super) async fn run(bench: &mut Bench<'_>) -> Result<()> {
    let (from, html) = (format!("hello@{RSA_DOMAIN}"), letter::html(HTML));
    let rows = Rows::Send(Mail { from: from.clone(), subject: letter::SUBJECT, html: html.clone() });
    let bare = limit::best(bench, CASE, &rows).await?;
    // a copy: what waits in its queue would be sent during other measurements
    let site = bench.site.copy(&bench.home, CASE).await?;
    let (server, _) = bench.start_on(&site.database, &[("MAILWRIGHT_TRANSPORT", NOWHERE.to_owned())]).await?;
    for connections in CONNECTIONS {
        site.database.settle().await?;
        let measured =
            bench.load(&server, connections, requests(&site, &from, &html, To::SomeStrangers)).await?;
        bench.add(CASE, plural(connections), measured.per_second, Unit::PerSecond, |line| {
            let line = line
                .latency(measured.latency)
                .cost(measured.cost)
                .limit("bare insert", bare.at(connections))
                .errors(measured.errors);
            if connections == JUDGED { line.bar(Bar::OfLimit(RATE_BAR)) } else { line }
        });
        bench.add_tail(CASE, &plural(connections), measured.latency, TAIL_BAR);
    }
    bench.stop(server, CASE).await
}

/// Whom mails go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    /// To contacts.
    Contacts,
    /// To contacts, one in twenty to somebody new.
    SomeStrangers,
    /// To somebody at one of so many domains.
    Domains(usize),
    /// To somebody at one of the domains after the first `after` ones.
    LastDomains { of: usize, after: usize },
}

/// One of the domains.
pub(super) fn domain(number: usize) -> String {
    format!("domain{number}.example")
}

/// Calls of `/v1/send` with this content, each to one recipient.
pub(super) fn requests(
    site: &Site,
    from: &str,
    html: &str,
    to: To,
) -> impl Fn(usize) -> Requests + Send + 'static {
    let endpoint = Endpoint::post("/v1/send", &site.secret_key);
    let people = Arc::clone(&site.people);
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let content: Arc<str> =
        format!(r#""from":{},"subject":{},"body":{}"#, text(from), text(letter::SUBJECT), text(html)).into();
    move |connection| {
        let (endpoint, people, content) = (endpoint.clone(), Arc::clone(&people), Arc::clone(&content));
        let mut random = Random::new(connection as u64 + 1);
        Box::new(move |out| {
            let number = random.below(people.len());
            let (to, name) = match to {
                To::Domains(domains) => (format!("user{number}@{}", domain(random.below(domains))), "Ada"),
                To::LastDomains { of, after } => {
                    (format!("user{number}@{}", domain(after + random.below(of - after))), "Ada")
                }
                To::SomeStrangers if Kind::of(random.next()) == Kind::New => (people.stranger(), "Ada"),
                To::Contacts | To::SomeStrangers => (people::email(number), people::first_name(number)),
            };
            let data = letter::request_data(name, random.below(1_000_000));
            endpoint.write(format!(r#"{{"to":"{to}",{content},"data":{data}}}"#).as_bytes(), out);
        })
    }
}
