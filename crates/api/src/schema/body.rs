//! The extractors of request bodies.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use serde_json::{Map, Value};

use super::count::has_more_values;
use super::parse::{MAX_VALUES, parse};
use super::payload::Payload;
use super::read::read;
use crate::error::{ApiError, Failure};
use crate::visit::Visit;

/// The most fields of a form. Each takes many times the two bytes that it can have in a body.
const MAX_FIELDS: usize = 100;
/// Bodies that are longer are read apart from the threads that requests are answered on.
const LONG: usize = 256 * 1024;

/// Extracts and checks a JSON body. An empty body counts as `{}`.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: Payload> FromRequest<S> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        Self::read(request).await
    }
}

/// Makes the JSON of a body of the fields of a form.
type FormToJson = fn(Vec<(String, String)>) -> Result<Map<String, Value>, ApiError>;

impl<T: Payload> Body<T> {
    /// The same, for handlers that look at something else first.
    pub(crate) async fn read(request: Request) -> Result<Self, Failure> {
        KeptBody::of(request).parse().await.map(Self)
    }

    /// The same from a form, of whose fields `json` makes those of the body.
    pub(crate) async fn of_form(request: Request, json: FormToJson) -> Result<Self, Failure> {
        let visit = request.extensions().get::<Visit>().cloned();
        let bytes = read(request, T::MAX_BODY).await?;
        let is_long = bytes.len() > LONG;
        let parse = move || {
            let fields: Vec<_> = form_urlencoded::parse(&bytes).into_owned().take(MAX_FIELDS + 1).collect();
            if fields.len() > MAX_FIELDS {
                return Err(ApiError::too_many_fields(MAX_FIELDS).into());
            }
            parse(&serde_json::to_vec(&json(fields)?).unwrap_or_default())
        };
        match visit {
            Some(visit) if is_long => visit.bodies().apart(parse).await?,
            _ => parse(),
        }
        .map(Self)
    }
}

/// The JSON that a text is; what is no JSON stays a text.
pub(crate) fn within_text(text: String) -> Result<Value, ApiError> {
    if has_more_values(text.as_bytes(), MAX_VALUES) {
        return Err(ApiError::too_many_values(MAX_VALUES));
    }
    Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// A body that is read when it is first asked for, and can be parsed again.
pub(crate) struct KeptBody {
    unread: Option<Request>,
    visit: Option<Visit>,
    read: Result<Bytes, ApiError>,
}

impl KeptBody {
    /// The body of a request.
    pub(crate) fn of(request: Request) -> Self {
        let visit = request.extensions().get::<Visit>().cloned();
        Self { unread: Some(request), visit, read: Ok(Bytes::new()) }
    }

    /// Reads the body, unless that was done, and parses it as [`Body`] does.
    pub(crate) async fn parse<T: Payload>(&mut self) -> Result<T, Failure> {
        if let Some(request) = self.unread.take() {
            self.read = read(request, T::MAX_BODY).await;
        }
        let bytes = self.read.clone()?;
        match &self.visit {
            Some(visit) if bytes.len() > LONG => visit.bodies().apart(move || parse(&bytes)).await?,
            _ => parse(if bytes.is_empty() { b"{}" } else { &bytes }),
        }
    }
}
