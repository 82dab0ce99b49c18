//! The bytes of a request body, up to a limit.

use axum::body::Body as RequestBody;
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;

use crate::body;
use crate::error::ApiError;

/// The body of a request, which is at most so long.
pub(crate) async fn read(request: Request, limit: usize) -> Result<Bytes, ApiError> {
    let length = body::length(request.headers());
    if length.is_some_and(|length| length > limit) {
        return Err(ApiError::body_too_large(limit));
    }
    collect(request.into_body(), length, limit).await
}

/// The whole of a body that is at most so long.
async fn collect(body: RequestBody, length: Option<usize>, limit: usize) -> Result<Bytes, ApiError> {
    let mut pieces = body.into_data_stream();
    let Some(first) = pieces.next().await else { return Ok(Bytes::new()) };
    let first = first.map_err(|error| body::failure(&error))?;
    if length == Some(first.len()) {
        return Ok(first);
    }
    // memory that is not written to yet costs nothing
    let mut all = BytesMut::with_capacity(length.unwrap_or_default().max(first.len()));
    let mut next = Some(first);
    while let Some(piece) = next {
        if all.len() + piece.len() > limit {
            return Err(ApiError::body_too_large(limit));
        }
        all.extend_from_slice(&piece);
        next = pieces.next().await.transpose().map_err(|error| body::failure(&error))?;
    }
    Ok(all.freeze())
}
