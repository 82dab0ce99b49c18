//! Brings a report to a URL (RFC 8460 section 5.4), once at most.
//!
//! A report that certainly did not arrive is sent again for a day, each time later. Where that is in doubt it is given up: a
//! domain that gets a report twice counts its failures twice.

use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderValue};
use mailwright_core::pauses::Pauses;
use mailwright_core::time::Timestamp;
use mailwright_mail::tls_report::MEDIA_TYPE;
use mailwright_store::body;
use mailwright_store::delivery::tls_report::{self, Post};

use crate::App;
use crate::error::Result;
use crate::http_client::{Answer, Error, GivenUrl, Request};

/// For how long a report is sent again, from when it was made (RFC 8460 section 5.5).
const TRIED_FOR: Duration = Duration::from_hours(24);
/// Pauses between two tries.
const PAUSES: Pauses = Pauses { first: Duration::from_mins(5), longest: Duration::from_hours(4) };

/// What became of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tried {
    /// The server took it.
    Taken,
    /// It did not, and is asked again.
    Again(String),
    /// It is given up.
    GivenUp(String),
}

impl Tried {
    fn of(answer: &Result<Answer, Error>) -> Self {
        match answer {
            Ok(answer) if answer.status.is_success() => Self::Taken,
            Ok(answer) => Self::Again(format!("the answer has the status {}", answer.status.as_u16())),
            Err(error @ Error::NotSent(_)) => Self::Again(error.to_string()),
            Err(error) => Self::GivenUp(error.to_string()),
        }
    }

    /// The same of a report that is due again at a time, if that is not too late.
    fn in_time(self, due_at: Timestamp, first_at: Timestamp) -> Self {
        match self {
            Self::Again(error) if due_at.since(first_at) > TRIED_FOR => Self::GivenUp(error),
            other => other,
        }
    }
}

/// Brings a report to its URL. Returns whether it arrived, where that is decided.
pub(super) async fn post(app: &App, post: Post) -> Option<bool> {
    let host = url_host(&post.url);
    let earlier = u32::try_from(post.attempts - 1).unwrap_or_default();
    let answer = ask(app, &post).await;
    let due_at = app.clock().now().plus(PAUSES.after(earlier));
    let tried = Tried::of(&answer).in_time(due_at, post.first_at);
    match &tried {
        Tried::Taken => {}
        Tried::Again(error) => {
            tracing::debug!(domain = post.domain, host, error, "a report about TLS is sent again later");
        }
        Tried::GivenUp(error) => {
            tracing::info!(domain = post.domain, host, error, "a report about TLS is given up");
        }
    }
    let arrived = match &tried {
        Tried::Taken => Some(true),
        Tried::Again(_) => None,
        Tried::GivenUp(_) => Some(false),
    };
    if let Err(error) = settle(app, post, tried, due_at).await {
        tracing::warn!(%error, host, "what became of a report about TLS could not be stored, it is not sent again");
    }
    arrived
}

async fn ask(app: &App, post: &Post) -> Result<Answer, Error> {
    let url = GivenUrl::parse(&post.url).map_err(Error::Refused)?;
    let request = Request::post(url, post.report.clone());
    let request = request.header(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE)).keeping(0);
    app.0.delivery.http.send(request).await
}

async fn settle(app: &App, post: Post, tried: Tried, due_at: Timestamp) -> Result<()> {
    app.write(body!(async |tx| {
        match tried {
            Tried::Again(_) => tls_report::repeat_post(tx, &post, due_at).await?,
            Tried::Taken | Tried::GivenUp(_) => tls_report::end_post(tx, &post).await?,
        }
        Ok(())
    }))
    .await
}

/// The host of a URL, for the log: the rest of it may be a secret.
fn url_host(url: &str) -> String {
    url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, StatusCode};

    use super::*;
    use crate::http_client::{Failure, Refusal};

    fn status(status: u16) -> Answer {
        let status = StatusCode::from_u16(status).unwrap();
        Answer { status, headers: HeaderMap::new(), body: bytes::Bytes::new() }
    }

    #[test]
    fn what_is_in_doubt_is_not_sent_again() {
        let broken = || Failure::Exchange("reset".into());
        assert_eq!(Tried::of(&Ok(status(200))), Tried::Taken);
        assert_eq!(Tried::of(&Ok(status(201))), Tried::Taken);
        for answer in [Ok(status(302)), Ok(status(404)), Ok(status(503)), Err(Error::NotSent(broken()))] {
            assert!(matches!(Tried::of(&answer), Tried::Again(_)), "{answer:?}");
        }
        for error in [Error::InDoubt(broken()), Error::Refused(Refusal::Host("private"))] {
            assert!(matches!(Tried::of(&Err(error)), Tried::GivenUp(_)));
        }
    }

    #[test]
    fn a_report_is_tried_for_a_day() {
        let again = || Tried::Again("status 503".into());
        let begun = Timestamp(0);
        assert_eq!(again().in_time(begun.plus(TRIED_FOR), begun), again());
        let late = begun.plus(TRIED_FOR + Duration::from_millis(1));
        assert_eq!(again().in_time(late, begun), Tried::GivenUp("status 503".into()));
        assert_eq!(Tried::Taken.in_time(late, begun), Tried::Taken);
    }

    #[test]
    fn the_log_has_the_host_alone() {
        assert_eq!(url_host("https://a.example:8443/v1?key=secret"), "a.example");
    }
}
