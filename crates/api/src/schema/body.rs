//! The extractors of request bodies.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;

use super::parse::parse;
use super::payload::Payload;
use super::read::read;
use crate::error::{ApiError, Failure};
use crate::visit::Visit;

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

impl<T: Payload> Body<T> {
    /// The same, for handlers that look at something else first.
    pub(crate) async fn read(request: Request) -> Result<Self, Failure> {
        KeptBody::of(request).parse().await.map(Self)
    }
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
