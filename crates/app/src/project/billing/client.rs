//! Requests to the payment service: the API of Stripe, form-encoded, at an address that the operator configured.
//!
//! Every POST has an `Idempotency-Key`, which stays the same when it is sent again, so nothing is done twice. Neither what
//! is sent nor what is answered reaches a log.

use std::time::Duration;

use form_urlencoded::Serializer;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::Value;

use crate::error::Error;
use crate::http_client::{ConfiguredUrl, HttpClient, Request};
use crate::settings::BillingSettings;

/// The version of the API that is asked for. Accounts may have another one by default.
const VERSION: &str = "2025-03-31.basil";
/// How long to wait before each further try of a request that somebody waits for.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
/// Most bytes of what an error says of itself.
const LONGEST_CODE: usize = 100;

/// Why the payment service did not do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failed {
    /// It refused: the status, and its words for why. The message is not for logs.
    Refused { status: u16, code: String, message: String },
    /// It did not answer, or answered that it cannot now.
    Away(String),
}

impl Failed {
    /// What may be logged.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Refused { status, code, .. } => format!("it answered {status} ({code})"),
            Self::Away(why) => why.clone(),
        }
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        let reason = failed.reason();
        tracing::warn!(reason, "a request to the payment service failed");
        Self::PaymentService(reason)
    }
}

/// The payment service.
#[derive(Clone, Copy)]
pub(super) struct Client<'a> {
    http: &'a HttpClient,
    settings: &'a BillingSettings,
}

impl<'a> Client<'a> {
    pub(super) fn new(http: &'a HttpClient, settings: &'a BillingSettings) -> Self {
        Self { http, settings }
    }

    /// Asks for something, several times if need be.
    pub(super) async fn get(self, path: &str, query: &[(&str, &str)]) -> Result<Value, Failed> {
        let path = if query.is_empty() { path.to_owned() } else { format!("{path}?{}", form(query)) };
        self.again_and_again(|| self.request(&path, None)).await
    }

    /// Has something done, several times with the same key if need be.
    pub(super) async fn post(self, path: &str, fields: &[(&str, &str)], key: &str) -> Result<Value, Failed> {
        let body = form(fields);
        self.again_and_again(|| self.request(path, Some((&body, key)))).await
    }

    /// The same, tried once.
    pub(super) async fn post_once(
        self,
        path: &str,
        fields: &[(&str, &str)],
        key: &str,
    ) -> Result<Value, Failed> {
        self.request(path, Some((&form(fields), key))).await
    }

    async fn again_and_again<F>(self, request: impl Fn() -> F) -> Result<Value, Failed>
    where
        F: Future<Output = Result<Value, Failed>>,
    {
        for pause in PAUSES {
            match request().await {
                Err(Failed::Away(_)) => tokio::time::sleep(pause).await,
                answered => return answered,
            }
        }
        request().await
    }

    async fn request(self, path: &str, posted: Option<(&str, &str)>) -> Result<Value, Failed> {
        let away = Failed::Away;
        let url = ConfiguredUrl::parse(&self.settings.api_base.link(path))
            .map_err(|refusal| away(format!("its address cannot be used: {refusal}")))?;
        let header = |text: &str| {
            HeaderValue::try_from(text).map_err(|_| away("a setting cannot be in a header".to_owned()))
        };
        let request = match posted {
            None => Request::get(url).may_repeat(),
            // the key makes it harmless
            Some((body, key)) => Request::post(url, body.to_owned())
                .may_repeat()
                .header(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
                .header(HeaderName::from_static("idempotency-key"), header(key)?),
        };
        let request = request
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(HeaderName::from_static("stripe-version"), HeaderValue::from_static(VERSION))
            .header(AUTHORIZATION, header(&format!("Bearer {}", self.settings.secret_key.reveal()))?);
        let answer = self.http.send(request).await.map_err(|error| away(error.to_string()))?;
        let status = answer.status.as_u16();
        let body = serde_json::from_slice::<Value>(&answer.body);
        if answer.status.is_success() {
            return body.map_err(|_| away("it did not answer with JSON".to_owned()));
        }
        // 409: another request with the same key is under way
        if status == 409 || status == 429 || status >= 500 {
            return Err(away(format!("it answered {status}")));
        }
        let error = body.map(|body| body["error"].clone()).unwrap_or_default();
        let code = error["code"].as_str().or(error["type"].as_str()).unwrap_or("no code");
        let code = code.chars().filter(char::is_ascii_graphic).take(LONGEST_CODE).collect();
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        Err(Failed::Refused { status, code, message })
    }
}

fn form(fields: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// The id of something that is named by its id, or by an object that has it.
pub(super) fn id_of(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value["id"].as_str()).filter(|id| !id.is_empty())
}
